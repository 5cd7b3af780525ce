//! What feeder and server say to each other.
//!
//! ```text
//! frame      kind u8 | octets of the rest u32, big endian | rest
//! version    serial u32 | mark 16 octets, all zero where it is not known
//! zone       a name in wire form, lower case
//! ```
//!
//! What the feeder says is a stranger's for the server: its process may have been taken over. No octets lead to more than an error.

#[doc(hidden)]
pub mod fuzz;
mod write;

use std::fmt;

use wire::name::NAME_OCTETS_MAX;
use wire::{Name, NameBuf};

pub use self::write::{Once, Unwritten, WRITE_OCTETS_MAX, WRITES_OCTETS_MAX, Write, Written};
use crate::address::Address;
use crate::schema::PowerDns;

/// Octets of the rest of a frame: a message of DNS, or words.
pub const REST_OCTETS_MAX: usize = 65_535;
/// Octets before it.
pub const HEAD_OCTETS: usize = 5;
/// Octets of words: more helps nobody.
pub const WORDS_OCTETS_MAX: usize = 4_096;
/// Octets of certificates: systems have some 250 KiB of them, some with what they are in words.
pub const ROOTS_OCTETS_MAX: usize = 4 << 20;
/// Zones that are on their way at a time, and octets of these: the server's queue of changes has room for four times as many.
pub const ON_THEIR_WAY_MAX: (usize, usize) = (1_024, 16 << 20);

/// By which a version is told from others of the same serial.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(pub [u8; 16]);

impl Mark {
    /// That of a version of which it is not known.
    pub const NONE: Mark = Mark([0; 16]);

    /// Of 32 hexadecimal digits.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Mark> {
        let digits: &[u8; 32] = text.as_bytes().try_into().ok()?;
        let mut octets = [0; 16];
        for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *octet = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Some(Mark(octets))
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A version of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its serial.
    pub serial: u32,
    /// Its mark.
    pub mark: Mark,
}

/// What is said. Of which side it comes each says itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Server, first: names of zones that are wanted, `*.` and a name for all below it; without any the usual ones, as of catalogs.
    Names(NameBuf),
    /// Server, then: a piece of the certificates that a database is to show one of, in PEM; all pieces together are at most [`ROOTS_OCTETS_MAX`].
    Roots(Vec<u8>),
    /// Server, then: its tables are PowerDNS's, and are read like this.
    PowerDns(PowerDns),
    /// Server, after that: where the store is.
    Open(Address),
    /// Feeder: the store was opened; its identity, and whether this process may write it. What was on its way before is forgotten by both.
    Opened {
        /// 32 hexadecimal digits.
        identity: String,
        /// Whether changes by plain SQL can be made versions of.
        is_writable: bool,
    },
    /// Server, after that: a zone of the store, and what is served of it; none: it has no data.
    Held(NameBuf, Option<Version>),
    /// Server: those were all. From here on the feeder pushes.
    Go,
    /// Feeder: a push begins. `from`: the version that it leads on from; none: it has all of the zone.
    Begin {
        /// The zone.
        zone: NameBuf,
        /// What is to be there.
        from: Option<Version>,
        /// What it leads to.
        to: Version,
    },
    /// Feeder: a message of the push that has begun, as in the answer to IXFR or AXFR.
    Message(Vec<u8>),
    /// Feeder: that was the last message.
    End,
    /// Feeder: what has begun could not be read to its end; nothing of it counts.
    Broken,
    /// Feeder: a zone is not in the store any more.
    Gone(NameBuf),
    /// Feeder: a zone of the store is older than what is served, or another of the same serial: this is its newest serial.
    Back(NameBuf, u32),
    /// Feeder: what has changed in a zone cannot be pushed, and why.
    Unfit(NameBuf, String),
    /// Feeder: so many zones have names that are not in their one form, and are not looked at; the first of them, in words.
    Misnamed(u32, String),
    /// Feeder: what of a zone is not served, though it is a zone, in words; empty: all of it is.
    Without(NameBuf, String),
    /// Feeder: all that was there to be pushed was, for now. `Gone`s and `Back`s before it belong together.
    Looked,
    /// Feeder: the store cannot be read, and why; empty: it can again.
    Away(String),
    /// Feeder: the database says when something is new, and why that is not heard; empty: it is. `None`: it does not say so any more.
    Notices(Option<String>),
    /// Feeder: its rights could not be given up, as this kernel does not know how.
    Unconfined,
    /// Feeder: it is there still; said where there is nothing else to say.
    Beat,
    /// Server: all of a zone has come and waits to be served; its place is free.
    Arrived(NameBuf),
    /// Server: a version of a zone is served, on the disk too.
    Served(NameBuf, Version),
    /// Server: a push, or that a zone is gone, came to nothing for now.
    Refused(NameBuf),
    /// Server: what is served is not what the push leads on from: all of it, please.
    Whole(NameBuf),
    /// Server: a zone is served no more.
    Left(NameBuf),
    /// Server: have the store make a version of the zone as it is, above this serial.
    Raise(NameBuf, u32),
    /// Server: its settings are others, so that what was refused may be served now.
    Again,
    /// Server: a zone of the store is to be changed; records that go and come follow, and [`Frame::Commit`]: in one piece, as what is said in between is of no write.
    Write(Write),
    /// Server, after that: octets of records that go (`zone::change::Records`); records may be parted.
    Going(Vec<u8>),
    /// Server, after those: octets of records that come.
    Coming(Vec<u8>),
    /// Server, after those: that was all of the write.
    Commit,
    /// Feeder: a write is in the store.
    Written(Written),
    /// Feeder: the write of this number of a zone is not, or may not be, in the store, and why.
    Unwritten(NameBuf, u32, Unwritten, String),
}

/// Octets that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFrame;

impl fmt::Display for NoFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was said is none of the words that both know")
    }
}

impl std::error::Error for NoFrame {}

impl Frame {
    /// Appends it to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&[self.kind(), 0, 0, 0, 0]);
        match self {
            Frame::PowerDns(tables) => tables.write(out),
            Frame::Open(address) => address.write(out),
            Frame::Away(text) => words(out, text),
            Frame::Notices(text) => {
                out.push(u8::from(text.is_some()));
                text.iter().for_each(|text| words(out, text));
            }
            Frame::Opened { identity, is_writable } => {
                out.push(u8::from(*is_writable));
                words(out, identity);
            }
            Frame::Held(zone, version) => {
                out.extend_from_slice(zone.octets());
                version.iter().for_each(|version| put(out, *version));
            }
            Frame::Begin { zone, from, to } => {
                out.extend_from_slice(zone.octets());
                put(out, *to);
                from.iter().for_each(|version| put(out, *version));
            }
            Frame::Roots(octets) | Frame::Message(octets) | Frame::Going(octets) | Frame::Coming(octets) => {
                out.extend_from_slice(octets);
            }
            Frame::Write(write) => write.write(out),
            Frame::Written(written) => written.write(out),
            Frame::Unwritten(zone, number, why, text) => {
                out.extend_from_slice(zone.octets());
                out.extend_from_slice(&number.to_be_bytes());
                out.push(why.octet());
                words(out, text);
            }
            Frame::Served(zone, version) => {
                out.extend_from_slice(zone.octets());
                put(out, *version);
            }
            Frame::Back(zone, serial) | Frame::Raise(zone, serial) => {
                out.extend_from_slice(zone.octets());
                out.extend_from_slice(&serial.to_be_bytes());
            }
            Frame::Misnamed(count, text) => {
                out.extend_from_slice(&count.to_be_bytes());
                words(out, text);
            }
            Frame::Unfit(zone, text) | Frame::Without(zone, text) => {
                out.extend_from_slice(zone.octets());
                words(out, text);
            }
            Frame::Names(zone)
            | Frame::Gone(zone)
            | Frame::Arrived(zone)
            | Frame::Refused(zone)
            | Frame::Whole(zone)
            | Frame::Left(zone) => out.extend_from_slice(zone.octets()),
            Frame::Go
            | Frame::End
            | Frame::Broken
            | Frame::Looked
            | Frame::Unconfined
            | Frame::Beat
            | Frame::Commit
            | Frame::Again => {}
        }
        let rest = (out.len() - begin - HEAD_OCTETS) as u32;
        out[begin + 1..begin + HEAD_OCTETS].copy_from_slice(&rest.to_be_bytes());
    }

    /// Whether the first frame of some octets is there as a whole, or they are known to be none.
    #[must_use]
    pub fn is_there(octets: &[u8]) -> bool {
        octets.split_first_chunk::<HEAD_OCTETS>().is_some_and(|(head, rest)| {
            let length = length(*head);
            length > REST_OCTETS_MAX || rest.len() >= length
        })
    }

    /// The first frame of some octets, and how many it has; `None`: it is not there as a whole yet.
    pub fn read(octets: &[u8]) -> Result<Option<(Frame, usize)>, NoFrame> {
        let Some((head, rest)) = octets.split_first_chunk::<HEAD_OCTETS>() else { return Ok(None) };
        let length = length(*head);
        if length > REST_OCTETS_MAX {
            return Err(NoFrame);
        }
        let Some(rest) = rest.get(..length) else { return Ok(None) };
        let frame = Frame::of(head[0], rest).ok_or(NoFrame)?;
        Ok(Some((frame, HEAD_OCTETS + length)))
    }

    fn kind(&self) -> u8 {
        match self {
            Frame::Names(_) => b'n',
            Frame::Roots(_) => b'k',
            Frame::PowerDns(_) => b'p',
            Frame::Open(_) => b'o',
            Frame::Opened { .. } => b'O',
            Frame::Held(..) => b'h',
            Frame::Go => b'g',
            Frame::Begin { .. } => b'b',
            Frame::Message(_) => b'm',
            Frame::End => b'e',
            Frame::Broken => b'x',
            Frame::Gone(_) => b'G',
            Frame::Back(..) => b'B',
            Frame::Unfit(..) => b'u',
            Frame::Misnamed(..) => b'i',
            Frame::Without(..) => b'W',
            Frame::Looked => b'l',
            Frame::Away(_) => b'a',
            Frame::Notices(_) => b'N',
            Frame::Unconfined => b'c',
            Frame::Beat => b't',
            Frame::Again => b'y',
            Frame::Arrived(_) => b'A',
            Frame::Served(..) => b's',
            Frame::Refused(_) => b'r',
            Frame::Whole(_) => b'w',
            Frame::Left(_) => b'L',
            Frame::Raise(..) => b'R',
            Frame::Write(_) => b'C',
            Frame::Going(_) => b'-',
            Frame::Coming(_) => b'+',
            Frame::Commit => b'.',
            Frame::Written(_) => b'S',
            Frame::Unwritten(..) => b'U',
        }
    }

    fn of(kind: u8, rest: &[u8]) -> Option<Frame> {
        let mut rest = Rest(rest);
        let frame = match kind {
            b'n' => Frame::Names(rest.zone()?),
            b'k' => Frame::Roots(std::mem::take(&mut rest.0).to_vec()),
            b'p' => Frame::PowerDns(PowerDns::read(&mut rest)?),
            b'o' => Frame::Open(Address::read(&mut rest)?),
            b'O' => Frame::Opened { is_writable: rest.octets::<1>()?[0] != 0, identity: rest.words()? },
            b'h' => Frame::Held(rest.zone()?, rest.version_if_any()?),
            b'g' => Frame::Go,
            b'b' => {
                let (zone, to) = (rest.zone()?, rest.version()?);
                Frame::Begin { zone, from: rest.version_if_any()?, to }
            }
            b'm' => Frame::Message(std::mem::take(&mut rest.0).to_vec()),
            b'e' => Frame::End,
            b'x' => Frame::Broken,
            b'G' => Frame::Gone(rest.zone()?),
            b'B' => Frame::Back(rest.zone()?, rest.number()?),
            b'u' => Frame::Unfit(rest.zone()?, rest.words()?),
            b'i' => Frame::Misnamed(rest.number()?, rest.words()?),
            b'W' => Frame::Without(rest.zone()?, rest.words()?),
            b'l' => Frame::Looked,
            b'a' => Frame::Away(rest.words()?),
            b'N' => {
                let has_words = rest.octets::<1>()?[0] != 0;
                Frame::Notices(if has_words { Some(rest.words()?) } else { None })
            }
            b'c' => Frame::Unconfined,
            b't' => Frame::Beat,
            b'y' => Frame::Again,
            b'A' => Frame::Arrived(rest.zone()?),
            b's' => Frame::Served(rest.zone()?, rest.version()?),
            b'r' => Frame::Refused(rest.zone()?),
            b'w' => Frame::Whole(rest.zone()?),
            b'L' => Frame::Left(rest.zone()?),
            b'R' => Frame::Raise(rest.zone()?, rest.number()?),
            b'C' => Frame::Write(Write::read(&mut rest)?),
            b'-' => Frame::Going(std::mem::take(&mut rest.0).to_vec()),
            b'+' => Frame::Coming(std::mem::take(&mut rest.0).to_vec()),
            b'.' => Frame::Commit,
            b'S' => Frame::Written(Written::read(&mut rest)?),
            b'U' => {
                let (zone, number) = (rest.zone()?, rest.number()?);
                Frame::Unwritten(zone, number, Unwritten::of(rest.octets::<1>()?[0])?, rest.words()?)
            }
            _ => return None,
        };
        rest.0.is_empty().then_some(frame)
    }
}

/// How many octets follow a head.
fn length([_, a, b, c, d]: [u8; HEAD_OCTETS]) -> usize {
    u32::from_be_bytes([a, b, c, d]) as usize
}

fn put(out: &mut Vec<u8>, version: Version) {
    out.extend_from_slice(&version.serial.to_be_bytes());
    out.extend_from_slice(&version.mark.0);
}

/// As much of a text as is said.
fn words(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&text.as_bytes()[..text.floor_char_boundary(WORDS_OCTETS_MAX)]);
}

/// What of a frame is not read.
pub(crate) struct Rest<'r>(&'r [u8]);

impl Rest<'_> {
    pub(crate) fn octets<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        self.octets().map(u32::from_be_bytes)
    }

    fn version(&mut self) -> Option<Version> {
        Some(Version { serial: self.number()?, mark: Mark(self.octets()?) })
    }

    /// A version, or the end.
    fn version_if_any(&mut self) -> Option<Option<Version>> {
        if self.0.is_empty() { Some(None) } else { self.version().map(Some) }
    }

    fn zone(&mut self) -> Option<NameBuf> {
        let (zone, rest) = Name::split_from(self.0).ok()?;
        let zone = (zone.octets().len() <= NAME_OCTETS_MAX).then(|| zone.to_lowercase())?;
        self.0 = rest;
        Some(zone)
    }

    /// A text with its length before it, of so many octets at most.
    pub(crate) fn text(&mut self, octets_max: usize) -> Option<String> {
        let length = usize::from(u16::from_be_bytes(self.octets()?));
        let (text, rest) = self.0.split_at_checked(length).filter(|_| length <= octets_max)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// All that is left, as text; what is none is shown as such.
    fn words(&mut self) -> Option<String> {
        let octets = std::mem::take(&mut self.0);
        (octets.len() <= WORDS_OCTETS_MAX).then(|| String::from_utf8_lossy(octets).into_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
