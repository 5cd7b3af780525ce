//! What is answered: pieces, and an end.
//!
//! | kind | piece | an item |
//! |---|---|---|
//! | `v` | verbs | bits u16 |
//! | `r` | rows of zones | name, serial u32, notified serial u32, kind u8, bits u8 (signed, API-RECTIFY, with a tag, and two how it stands), account, SOA-EDIT-API, SOA-EDIT, tag |
//! | `R` | RRsets | see [`super::Set`] |
//! | `F` | what a search found | zone, RRset |
//! | `n` | numbers | name, label, value u64 |
//! | `k` | names of keys | a name |
//! | `N` | behind which name the next page of RRsets goes on | a name |
//! | `h` | versions | serial before u32 and after u32, seconds u64, octets u64 |
//! | `o` | what became of a zone | name, bits u8 (done, with a tag), status u16, serial before u32 and after u32, tag, words |
//! | `f` | what is wrong | zone u16, RRset u32, words |
//! | `e` | zones that are explained | name, status u16, words |
//! | `s` | sessions | see [`super::Session`] |
//! | `j` | a text as JSON, in parts | octets u16, and these |
//! | `x` | rules | zone u16, RRset u32, granted u8, whose u8, which u16, verdict u8, words |
//!
//! The order is that of the frames. RRsets and rules behind the outcome of a zone are of that zone.

use std::fmt;

use wire::Name;

use super::REST_OCTETS_MAX;
use super::ask::Cursor;
use super::octets::{Rest, Run, put_any, put_text};
use super::set::{Set, Sets};
use super::who::Session;
use crate::tag::Tag;

mod item;

/// Octets of words: more helps nobody.
pub const WORDS_OCTETS_MAX: usize = 4_096;

/// The RRset of a fault that is none's.
pub const FAULT_SETS_NONE: u32 = u32::MAX;

/// What a key may do: a bit a verb.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verbs(pub u16);

impl Verbs {
    /// Zones and records are told.
    pub const READ: Verbs = Verbs(1);
    /// RRsets are changed, and secondaries told.
    pub const CHANGE: Verbs = Verbs(1 << 1);
    /// Zones are made.
    pub const MAKE: Verbs = Verbs(1 << 2);
    /// Zones go.
    pub const DROP: Verbs = Verbs(1 << 3);
    /// Fields become others.
    pub const SET: Verbs = Verbs(1 << 4);
    /// Primaries are asked.
    pub const ACT: Verbs = Verbs(1 << 5);
    /// Rules are told.
    pub const EXPLAIN: Verbs = Verbs(1 << 6);
    /// What queries there are.
    pub const OBSERVE: Verbs = Verbs(1 << 7);
    /// What is told of the server.
    pub const SERVER: Verbs = Verbs(1 << 8);

    /// Whether it has all of these.
    #[must_use]
    pub fn has(self, verbs: Verbs) -> bool {
        self.0 & verbs.0 == verbs.0
    }
}

/// What a zone is said to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowKind {
    /// The server's own.
    #[default]
    Native,
    /// The same, by the other of its names.
    Master,
    /// Another server's.
    Slave,
}

/// How a zone stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// It is served, and nothing is wrong with it.
    #[default]
    Served,
    /// What is served is older than what there should be.
    Stale,
    /// It has no data.
    Absent,
}

impl Stands {
    /// All of these, in the order of their octets.
    pub const ALL: [Stands; 3] = [Stands::Served, Stands::Stale, Stands::Absent];

    /// The word for it, which `zonda ctl zones` has too.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Stands::Served => "served",
            Stands::Stale => "stale",
            Stands::Absent => "absent",
        }
    }
}

/// A zone as lists have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Its name.
    pub name: &'a Name,
    /// Its serial.
    pub serial: u32,
    /// The serial that its secondaries were told of.
    pub notified: u32,
    /// What it is said to be.
    pub kind: RowKind,
    /// How it stands, where that is told.
    pub stands: Stands,
    /// Whether it comes signed.
    pub is_signed: bool,
    /// What was asked to be kept.
    pub api_rectify: bool,
    /// Whose it is.
    pub account: &'a str,
    /// How its serial goes on, as it was sent.
    pub soa_edit_api: &'a str,
    /// What was asked to be kept.
    pub soa_edit: &'a str,
    /// Its version, where what follows is of one.
    pub tag: Option<Tag>,
}

/// What was found: a record set, and the zone that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail<'a> {
    /// The zone.
    pub zone: &'a Name,
    /// What was found in it.
    pub set: Set<'a>,
}

/// A number of the server; those of one name that have labels are a map, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<'a> {
    /// Its name.
    pub name: &'a str,
    /// Which of that name; empty: there is one.
    pub label: &'a str,
    /// The number.
    pub value: u64,
}

/// The name of a TSIG key.
pub type KeyName<'a> = &'a Name;

/// The name behind which the next page of RRsets goes on.
pub type NextName<'a> = &'a Name;

/// A version of a zone that is still known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The serial of the one before.
    pub before: u32,
    /// Its own.
    pub after: u32,
    /// When it came, in seconds since 1970.
    pub seconds: u64,
    /// Octets of the records that went and came.
    pub octets: u64,
}

/// What became, or in a dry run would become, of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The zone.
    pub zone: &'a Name,
    /// Whether its part was carried out; if not, `status` and `words` say whether it is why.
    pub is_done: bool,
    /// The status of its part.
    pub status: u16,
    /// Its serial before.
    pub before: u32,
    /// Its serial now.
    pub after: u32,
    /// Its version now, where nobody else can have been part of it.
    pub tag: Option<Tag>,
    /// Why not.
    pub words: &'a str,
}

/// What is wrong with an RRset, or a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault<'a> {
    /// The zone, by its number in the ask, from 0 on.
    pub zone: u16,
    /// The RRset of that zone, likewise; [`FAULT_SETS_NONE`]: none.
    pub set: u32,
    /// Why.
    pub words: &'a str,
}

/// Whether a zone takes changes now, whatever rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing<'a> {
    /// The zone.
    pub zone: &'a Name,
    /// The status that a change would have for what it is: 200, it takes changes.
    pub status: u16,
    /// Why not.
    pub words: &'a str,
}

/// What a rule that was looked at says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fits, and grants.
    Grants,
    /// It fits, and denies; or it is none, as none fits.
    Denies,
    /// It is about other senders.
    OtherSenders,
    /// It is about other names.
    OtherNames,
    /// It is about other types.
    OtherTypes,
}

/// A rule that was looked at for an RRset; the last one of a key or a zone decides for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'a> {
    /// The zone, by its number in the ask, from 0 on.
    pub zone: u16,
    /// The RRset of that zone, likewise.
    pub set: u32,
    /// Whether it may change: rules of the key and of the zone grant it.
    pub is_granted: bool,
    /// Whether the rule is the zone's, and not the key's.
    pub is_of_zone: bool,
    /// Which rule it is, from 1 on; 0: none fits.
    pub rule: u16,
    /// What it says.
    pub verdict: Verdict,
    /// The rule, as it is written.
    pub words: &'a str,
}

/// Items of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // what their items are
pub enum Piece<'f> {
    Verbs(Run<'f, Verbs>),
    Rows(Run<'f, Row<'f>>),
    Sets(Sets<'f>),
    Found(Run<'f, Detail<'f>>),
    Numbers(Run<'f, Number<'f>>),
    Keys(Run<'f, KeyName<'f>>),
    Next(Run<'f, NextName<'f>>),
    Versions(Run<'f, Version>),
    Outcomes(Run<'f, Outcome<'f>>),
    Faults(Run<'f, Fault<'f>>),
    Standings(Run<'f, Standing<'f>>),
    Rules(Run<'f, Rule<'f>>),
    Sessions(Run<'f, Session<'f>>),
    Json(Run<'f, &'f [u8]>),
}

impl<'f> Piece<'f> {
    pub(super) fn of(kind: u8, rest: &'f [u8]) -> Option<Piece<'f>> {
        /// No item is empty.
        const ITEMS_MAX: usize = REST_OCTETS_MAX;
        Some(match kind {
            b'v' => Piece::Verbs(Run::of(rest, ITEMS_MAX)?),
            b'r' => Piece::Rows(Run::of(rest, ITEMS_MAX)?),
            b'R' => Piece::Sets(Run::of(rest, ITEMS_MAX)?),
            b'F' => Piece::Found(Run::of(rest, ITEMS_MAX)?),
            b'n' => Piece::Numbers(Run::of(rest, ITEMS_MAX)?),
            b'k' => Piece::Keys(Run::of(rest, ITEMS_MAX)?),
            b'N' => Piece::Next(Run::of(rest, ITEMS_MAX)?),
            b'h' => Piece::Versions(Run::of(rest, ITEMS_MAX)?),
            b'o' => Piece::Outcomes(Run::of(rest, ITEMS_MAX)?),
            b'f' => Piece::Faults(Run::of(rest, ITEMS_MAX)?),
            b'e' => Piece::Standings(Run::of(rest, ITEMS_MAX)?),
            b'x' => Piece::Rules(Run::of(rest, ITEMS_MAX)?),
            b's' => Piece::Sessions(Run::of(rest, ITEMS_MAX)?),
            b'j' => Piece::Json(Run::of(rest, ITEMS_MAX)?),
            _ => return None,
        })
    }

    pub(super) fn kind(&self) -> u8 {
        match self {
            Piece::Verbs(_) => b'v',
            Piece::Rows(_) => b'r',
            Piece::Sets(_) => b'R',
            Piece::Found(_) => b'F',
            Piece::Numbers(_) => b'n',
            Piece::Keys(_) => b'k',
            Piece::Next(_) => b'N',
            Piece::Versions(_) => b'h',
            Piece::Outcomes(_) => b'o',
            Piece::Faults(_) => b'f',
            Piece::Standings(_) => b'e',
            Piece::Rules(_) => b'x',
            Piece::Sessions(_) => b's',
            Piece::Json(_) => b'j',
        }
    }

    pub(super) fn octets(&self) -> &'f [u8] {
        match self {
            Piece::Verbs(run) => run.octets(),
            Piece::Rows(run) => run.octets(),
            Piece::Sets(run) => run.octets(),
            Piece::Found(run) => run.octets(),
            Piece::Numbers(run) => run.octets(),
            Piece::Keys(run) => run.octets(),
            Piece::Next(run) => run.octets(),
            Piece::Versions(run) => run.octets(),
            Piece::Outcomes(run) => run.octets(),
            Piece::Faults(run) => run.octets(),
            Piece::Standings(run) => run.octets(),
            Piece::Rules(run) => run.octets(),
            Piece::Sessions(run) => run.octets(),
            Piece::Json(run) => run.octets(),
        }
    }
}

/// What is shown over TLS from now on: the private key, then the certificate and those of who signed it, each in DER.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shown<'f>(pub Run<'f, &'f [u8]>);

/// Without the key.
impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shown({} octets)", self.0.octets().len())
    }
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done<'f> {
    /// Status of HTTP, 200 to 599.
    pub status: u16,
    /// After how many seconds the same may be asked again; 0: nothing is said of that.
    pub retry_after: u16,
    /// Whether a search ended before all was looked at. Then the words are why: `time`, or `size` of what it found.
    pub is_cut: bool,
    /// From where a list goes on, if it does.
    pub next: Option<Cursor>,
    /// Why not.
    pub words: &'f str,
}

impl<'f> Done<'f> {
    pub(super) fn read(octets: &'f [u8]) -> Option<Done<'f>> {
        let mut rest = Rest(octets);
        let done = Done {
            status: rest.u16().filter(|status| (200..600).contains(status))?,
            retry_after: rest.u16()?,
            is_cut: rest.flag()?,
            next: rest.any(|rest| Some(Cursor { start: rest.u64()?, slot: rest.u64()? }))?,
            words: rest.text(WORDS_OCTETS_MAX)?,
        };
        rest.0.is_empty().then_some(done)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.status.to_be_bytes());
        out.extend_from_slice(&self.retry_after.to_be_bytes());
        out.push(u8::from(self.is_cut));
        put_any(out, self.next, |out, next| {
            out.extend_from_slice(&next.start.to_be_bytes());
            out.extend_from_slice(&next.slot.to_be_bytes());
        });
        put_text(out, self.words, WORDS_OCTETS_MAX);
    }
}
