//! What the process that reads HTTP and the server say to each other.
//!
//! ```text
//! frame    octets of the rest u32 | ask u32 | kind u8 | rest                  numbers big endian
//! names    in wire form, without pointers
//!
//! child    'a' Ask                            an ask as a whole, in one frame
//!          'l' octets u32, 'p' octets ...     a longer one: said first, sent in parts after 'm'
//!          'c' u8                             so many pieces of the answer may come
//!          's' 'u'                            nobody reads this answer any more; rights could not be given up
//! server   'm'                                the parts, please
//!          'v' 'r' 'R' 'F' 's' ...            pieces of the answer, see [`Piece`]
//!          'd' Done                           its end
//!          't' Shown                          what is shown over TLS from now on; of no ask
//! ```
//!
//! What the child says is a stranger's for the server: its process may have been taken over. No octets lead to more than an error, and none to memory: all that is
//! read is borrowed from them. Whether RDATA has the form of its type is not looked at here (`zonefile::rdata::check`).

mod answer;
mod ask;
mod octets;
mod set;
mod who;

use std::fmt;

pub use answer::{
    Detail, Done, FAULT_SETS_NONE, Fault, KeyName, NextName, Number, Outcome, Piece, Row, RowKind, Rule,
    Shown, Standing, Stands, Verbs, Verdict, Version, WORDS_OCTETS_MAX,
};
pub use ask::{
    ACCOUNT_OCTETS_MAX, Act, Ask, Asked, Cursor, Ending, FOUND_MAX, Facts, Fields, KEY_OCTETS_MAX, Kind,
    Objects, PAGE_SETS_MAX, PATTERN_OCTETS_MAX, Part, REPEAT_OCTETS_MAX, RRSETS_MAX, View, ZONES_MAX, Zone,
    Zones, ZonesBuf, is_repeat,
};
pub use octets::{Item, Run};
pub use set::{RECORDS_MAX, Set, Sets, SetsBuf, TTL_MAX, What};
pub use who::{SESSION_NAME_OCTETS_MAX, SESSION_OCTETS, Secret, Session, Until, Who};

use octets::Rest;

/// Octets before the rest of a frame.
pub const HEAD_OCTETS: usize = 9;
/// Octets of that rest: 64 KiB hold nobody up, and the largest record fits with its owner and its zone: an answer has no record in parts.
pub const REST_OCTETS_MAX: usize = (64 << 10) + (1 << 10);
const _: () =
    assert!(REST_OCTETS_MAX >= 2 * wire::name::NAME_OCTETS_MAX + 2 + 1 + 4 + 2 + 2 + u16::MAX as usize);
/// Octets of an ask: the largest body that settings allow. RRsets have fewer octets than their JSON, but for a few types, of which no more is taken.
pub const ASK_OCTETS_MAX: usize = 64 << 20;

/// Octets that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFrame;

impl fmt::Display for NoFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was said is none of the words that both know")
    }
}

impl std::error::Error for NoFrame {}

/// A frame, before it is known what it says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame<'f> {
    /// Which ask it is about; of a number's own ask the child says which.
    pub ask: u32,
    kind: u8,
    rest: &'f [u8],
}

/// Without what it says: there are keys in it.
impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({}, {:?}, {} octets)", self.ask, char::from(self.kind), self.rest.len())
    }
}

impl<'f> Frame<'f> {
    /// The first frame of some octets, and how many it has; `None`: it is not there as a whole yet.
    pub fn read(octets: &'f [u8]) -> Result<Option<(Frame<'f>, usize)>, NoFrame> {
        let mut rest = Rest(octets);
        let (Some(length), Some(ask), Some(kind)) = (rest.u32(), rest.u32(), rest.u8()) else {
            return match octets.first_chunk() {
                Some(length) if u32::from_be_bytes(*length) as usize > REST_OCTETS_MAX => Err(NoFrame),
                _ => Ok(None),
            };
        };
        let length = length as usize;
        if length > REST_OCTETS_MAX {
            return Err(NoFrame);
        }
        let Some(rest) = rest.take(length) else { return Ok(None) };
        Ok(Some((Frame { ask, kind, rest }, HEAD_OCTETS + length)))
    }

    /// Appends a frame whose rest is what `rest` appends, as long as that fits; `false`: it does not, and nothing is appended.
    fn write(out: &mut Vec<u8>, ask: u32, kind: u8, rest: impl FnOnce(&mut Vec<u8>)) -> bool {
        let begin = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&ask.to_be_bytes());
        out.push(kind);
        rest(out);
        let length = out.len() - begin - HEAD_OCTETS;
        if length > REST_OCTETS_MAX {
            out.truncate(begin);
            return false;
        }
        out[begin..begin + 4].copy_from_slice(&(length as u32).to_be_bytes());
        true
    }
}

/// What the child says.
// Nearly all that is said is an ask, which lies here while it is read; a box would be memory for each.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Said<'f> {
    /// An ask.
    Ask(Ask<'f>),
    /// An ask of so many octets is to come, in parts, once it may.
    Long(usize),
    /// Octets of that ask, in order. Together they are read by [`Ask::read`].
    Part(&'f [u8]),
    /// So many more pieces may come.
    Credit(u8),
    /// The answer is not read any more: nothing more of it, please. What was asked is carried out all the same.
    Stop,
    /// Its rights could not be given up, or not all, as this kernel does not know how. Of no ask.
    Unconfined,
}

/// Without octets of parts, as of frames.
impl fmt::Debug for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Ask(ask) => ask.fmt(f),
            Said::Long(octets) => write!(f, "Long({octets})"),
            Said::Part(octets) => write!(f, "Part({} octets)", octets.len()),
            Said::Credit(pieces) => write!(f, "Credit({pieces})"),
            Said::Stop => f.write_str("Stop"),
            Said::Unconfined => f.write_str("Unconfined"),
        }
    }
}

impl<'f> Said<'f> {
    /// What a frame of the child says.
    pub fn of(frame: &Frame<'f>) -> Result<Said<'f>, NoFrame> {
        let mut rest = Rest(frame.rest);
        let said = match frame.kind {
            b'a' => return Ask::read(frame.rest).map(Said::Ask),
            b'l' => {
                rest.u32().map(|octets| octets as usize).filter(|octets| is_long(*octets)).map(Said::Long)
            }
            b'p' => Some(Said::Part(rest.take(frame.rest.len()).unwrap_or_default())),
            b'c' => rest.u8().map(Said::Credit),
            b's' => Some(Said::Stop),
            b'u' => Some(Said::Unconfined),
            _ => None,
        };
        said.filter(|_| rest.0.is_empty()).ok_or(NoFrame)
    }

    /// Appends its frame. `false`: an ask or a part that is too long for one, and nothing is appended; see [`Asking`].
    pub fn write(&self, ask: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Said::Ask(asked) => Frame::write(out, ask, b'a', |out| asked.write(out)),
            Said::Long(octets) => {
                Frame::write(out, ask, b'l', |out| out.extend_from_slice(&(*octets as u32).to_be_bytes()))
            }
            Said::Part(octets) => Frame::write(out, ask, b'p', |out| out.extend_from_slice(octets)),
            Said::Credit(pieces) => Frame::write(out, ask, b'c', |out| out.push(*pieces)),
            Said::Stop => Frame::write(out, ask, b's', |_| ()),
            Said::Unconfined => Frame::write(out, ask, b'u', |_| ()),
        }
    }
}

/// Whether an ask of so many octets comes in parts.
fn is_long(octets: usize) -> bool {
    octets > REST_OCTETS_MAX && octets <= ASK_OCTETS_MAX
}

/// An ask on its way: one frame, or one that announces it and then its parts, which are written as the socket takes them.
#[derive(Clone, PartialEq, Eq)]
pub struct Asking {
    number: u32,
    octets: Vec<u8>,
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asking({}, {} octets)", self.number, self.octets.len())
    }
}

impl Asking {
    /// `None`: it is longer than any may be, or has something that the other side would read otherwise or not at all, which would be
    /// the end of the child and of what others ask.
    #[must_use]
    pub fn of(number: u32, ask: &Ask<'_>) -> Option<Asking> {
        let mut octets = Vec::new();
        ask.write(&mut octets);
        let is_read = Ask::read(&octets).is_ok_and(|read| read.who == ask.who && read.asked == ask.asked);
        is_read.then_some(Asking { number, octets })
    }

    /// Appends its first frame: all of it, or, where there are parts, how long it is.
    pub fn begin(&self, out: &mut Vec<u8>) {
        if is_long(self.octets.len()) {
            Said::Long(self.octets.len()).write(self.number, out);
        } else {
            Frame::write(out, self.number, b'a', |out| out.extend_from_slice(&self.octets));
        }
    }

    /// Its parts, to be said once the server wants them; none where the first frame was all.
    pub fn parts(&self) -> impl Iterator<Item = Said<'_>> {
        let long = if is_long(self.octets.len()) { &self.octets[..] } else { &[] };
        long.chunks(REST_OCTETS_MAX).map(Said::Part)
    }
}

/// What the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'f> {
    /// There is room for the ask that was announced: its parts, please.
    More,
    /// A piece of what was asked for.
    Piece(Piece<'f>),
    /// That was all.
    Done(Done<'f>),
    /// What is shown over TLS from now on. Of no ask.
    Shown(Shown<'f>),
}

impl<'f> Answer<'f> {
    /// What a frame of the server says.
    pub fn of(frame: &Frame<'f>) -> Result<Answer<'f>, NoFrame> {
        match frame.kind {
            b'm' if frame.rest.is_empty() => Some(Answer::More),
            b'd' => Done::read(frame.rest).map(Answer::Done),
            b't' => Run::read(frame.rest).map(|parts| Answer::Shown(Shown(parts))),
            kind => Piece::of(kind, frame.rest).map(Answer::Piece),
        }
        .ok_or(NoFrame)
    }

    /// Appends its frame; `false`: it is too long for one, and nothing is appended.
    pub fn write(&self, ask: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Answer::More => Frame::write(out, ask, b'm', |_| ()),
            Answer::Piece(piece) => {
                Frame::write(out, ask, piece.kind(), |out| out.extend_from_slice(piece.octets()))
            }
            Answer::Done(done) => Frame::write(out, ask, b'd', |out| done.write(out)),
            Answer::Shown(Shown(parts)) => {
                Frame::write(out, ask, b't', |out| out.extend_from_slice(parts.octets()))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
