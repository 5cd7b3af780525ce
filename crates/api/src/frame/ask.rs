//! What is asked for.
//!
//! ```text
//! ask        kind u8 | who, see [`Who`] | address of the client, 16 octets (RFC 4291 2.5.5.2 for IPv4) | by kind
//! zone       name | condition | octets of the RRsets u32 | RRsets
//! condition  0; 1: `*`; 2: count u8, tags of serial u32 and mark u64
//! view       which u8 | said u64; or any name; or name; or name, type u16, TCP u8, DO u8
//! fields     bits u8: which are there | SOA-EDIT-API, SOA-EDIT, account: octets u8, text | kind u8 | API-RECTIFY u8 | serial u32
//! any        0; or 1 and what is there
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use wire::Name;

use super::answer::Stands;
use super::octets::{Item, Rest, Run, put_any, put_short_text, put_text};
use super::set::{Sets, SetsBuf};
use super::who::{Secret, Who, secret};
use super::{ASK_OCTETS_MAX, NoFrame};
use crate::tag::Condition;

mod parts;

pub use parts::is_repeat;
use parts::{
    condition, fields, one_of, part, put_condition, put_fields, put_part, put_repeat, put_view, repeat, view,
    zones,
};
pub(super) use parts::{put_tag, tag};

/// Octets of a key: ours have 49, those that others chose are seldom longer.
pub const KEY_OCTETS_MAX: usize = u8::MAX as usize;
/// Octets of a key of repeats: a UUID has 36.
pub const REPEAT_OCTETS_MAX: usize = 64;
/// Octets of an account, as of `soa_edit` and its like: the column of PowerDNS's schema.
pub const ACCOUNT_OCTETS_MAX: usize = 40;
/// Octets of a pattern to be searched for: a name with each octet escaped.
pub const PATTERN_OCTETS_MAX: usize = 1_024;
/// What a search finds at most: some 500 KB of JSON.
pub const FOUND_MAX: u32 = 1_000;
/// Zones of one commit: each may be larger than all that a segment of the log has.
pub const ZONES_MAX: usize = 256;
/// RRsets of a page, but for those of the name that it ends with: it is put together at once.
pub const PAGE_SETS_MAX: u32 = 1_000;
/// RRsets of an ask, of all zones: the names that one commit may touch.
pub const RRSETS_MAX: usize = 65_536;

/// From where a list goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The start of the server that it is of.
    pub start: u64,
    /// The slot of the catalog that was looked at last.
    pub slot: u64,
}

/// What a search looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objects {
    /// Zones and records.
    #[default]
    All,
    /// Names of zones.
    Zones,
    /// Owners and contents of records.
    Records,
    /// Comments, of which there are none here.
    Comments,
}

/// All of these, in the order of their octets.
const OBJECTS: [Objects; 4] = [Objects::All, Objects::Zones, Objects::Records, Objects::Comments];

/// How much of a zone is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part<'a> {
    /// Its row, and all its RRsets.
    #[default]
    All,
    /// Its row.
    Row,
    /// Its row, and the RRsets of a name, or that of a type.
    Owner(&'a Name, Option<u16>),
    /// Its row, and so many RRsets about behind a name, or from the first on: all of each owner.
    Page(Option<&'a Name>, u32),
}

/// What is to be done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Tell its secondaries.
    Notify,
    /// Ask its primary.
    Retrieve,
    /// Put its proofs in order.
    Rectify,
}

/// What is asked of the server itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facts {
    /// Its numbers.
    Numbers,
    /// Names of TSIG keys.
    Keys,
}

/// What the server tells of itself, as JSON that it makes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View<'a> {
    /// How it is now, with lines of the log behind so many.
    Now {
        /// As many as were read.
        said: u64,
    },
    /// How it was in the last hour.
    Hour,
    /// Who asks for what.
    Asked,
    /// What its threads wait for.
    Locks,
    /// Its logs, stores and catalogs.
    Journals,
    /// Its resolver; of a name what that knows of it.
    Resolver(Option<&'a Name>),
    /// A zone: how it stands.
    Zone(&'a Name),
    /// Why a question is answered as it is.
    Why {
        /// The name asked for.
        name: &'a Name,
        /// The type.
        rtype: u16,
        /// Whether it comes over TCP.
        is_tcp: bool,
        /// Whether it has DO.
        dnssec_ok: bool,
    },
}

/// What a zone that is made may be.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Kind {
    /// `Native`.
    Native,
    /// `Master`, which others call `Primary`.
    Master,
}

/// Fields of a zone; those that are not given stay as they are, or are what they usually are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// Its kind.
    pub kind: Option<Kind>,
    /// How its serial goes on, as it was sent.
    pub soa_edit_api: Option<&'a str>,
    /// Kept, without effect.
    pub soa_edit: Option<&'a str>,
    /// Whose it is.
    pub account: Option<&'a str>,
    /// Kept, without effect.
    pub api_rectify: Option<bool>,
    /// Where its serial begins.
    pub serial: Option<u32>,
}

/// RRsets of a zone that are to change, and on which condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone<'a> {
    /// The zone.
    pub name: &'a Name,
    /// What must be.
    pub condition: Condition,
    /// What changes.
    pub sets: Sets<'a>,
}

/// Zones of one commit.
pub type Zones<'a> = Run<'a, Zone<'a>>;

/// Zones that are put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZonesBuf {
    octets: Vec<u8>,
}

impl ZonesBuf {
    /// Adds one.
    pub fn push(&mut self, name: &Name, condition: Condition, sets: &SetsBuf) {
        Zone { name, condition, sets: sets.sets() }.write(&mut self.octets);
    }

    /// All.
    #[must_use]
    pub fn zones(&self) -> Zones<'_> {
        Run::of(&self.octets, usize::MAX).unwrap_or_default()
    }
}

/// An ask.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ask<'a> {
    /// Who asks, by what the request has.
    pub who: Who<'a>,
    /// The client's address, which is believed by nobody.
    pub address: IpAddr,
    /// What it is.
    pub asked: Asked<'a>,
}

/// Without what is secret of who asks.
impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("who", &self.who)
            .field("address", &self.address)
            .field("asked", &self.asked)
            .finish()
    }
}

/// What is asked for. A key of repeats is `repeat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fields that their types tell
pub enum Asked<'a> {
    /// What the key may do.
    Who,
    /// Zones: the one of a name, those of an account, those that stand so; after a cursor; 0: as many as there are.
    List {
        name: Option<&'a Name>,
        account: Option<&'a str>,
        stands: Option<Stands>,
        after: Option<Cursor>,
        limit: u32,
    },
    /// What a pattern with `*` and `?` fits, so many at most.
    Search { pattern: &'a str, objects: Objects, limit: u32 },
    /// A zone; with the records of DNSSEC or without.
    Zone { zone: &'a Name, part: Part<'a>, with_dnssec: bool },
    /// Versions of a zone; of a serial: what leads back to it.
    History { zone: &'a Name, undo: Option<u32> },
    /// RRsets are to change; a dry run says what would.
    Change { repeat: Option<&'a str>, is_dry: bool, zones: Zones<'a> },
    /// Which rules would be looked at if they were.
    Explain(Zones<'a>),
    /// A zone is to be made of all these records.
    Make { zone: &'a Name, repeat: Option<&'a str>, fields: Fields<'a>, sets: Sets<'a> },
    /// A zone is to go.
    Drop { zone: &'a Name, repeat: Option<&'a str>, condition: Condition },
    /// Fields of a zone are to be others.
    Set { zone: &'a Name, repeat: Option<&'a str>, condition: Condition, fields: Fields<'a> },
    /// Something is to be done with a zone.
    Act { zone: &'a Name, act: Act },
    /// Something of the server.
    Facts(Facts),
    /// A session is to begin, with a key or a code; one that the browser had ends with that.
    SignIn { ending: Option<Ending<'a>> },
    /// What the session is, or what the key may do.
    Session,
    /// The session is to end.
    SignOut,
    /// What the server tells of itself.
    View(View<'a>),
}

/// The secret of a session that is to end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ending<'a>(pub &'a Secret);

/// Without it.
impl fmt::Debug for Ending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a session")
    }
}

impl<'a> Ask<'a> {
    /// Reads one of all of the octets.
    pub fn read(octets: &'a [u8]) -> Result<Ask<'a>, NoFrame> {
        let mut rest = Rest(octets);
        let fits = octets.len() <= ASK_OCTETS_MAX;
        let ask = fits.then(|| Ask::take(&mut rest)).flatten();
        ask.filter(|_| rest.0.is_empty()).ok_or(NoFrame)
    }

    fn take(rest: &mut Rest<'a>) -> Option<Ask<'a>> {
        let (kind, who) = (rest.u8()?, Who::take(rest)?);
        let address = IpAddr::V6(Ipv6Addr::from(rest.array::<16>()?)).to_canonical();
        Some(Ask { who, address, asked: Asked::take(kind, rest)? })
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.asked.kind());
        self.who.write(out);
        let address = match self.address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        out.extend_from_slice(&address.octets());
        self.asked.write(out);
    }
}

impl<'a> Asked<'a> {
    fn kind(&self) -> u8 {
        match self {
            Asked::Who => b'w',
            Asked::List { .. } => b'l',
            Asked::Search { .. } => b's',
            Asked::Zone { .. } => b'z',
            Asked::History { .. } => b'h',
            Asked::Change { .. } => b'c',
            Asked::Explain(_) => b'e',
            Asked::Make { .. } => b'm',
            Asked::Drop { .. } => b'd',
            Asked::Set { .. } => b'f',
            Asked::Act { .. } => b'a',
            Asked::Facts(_) => b'n',
            Asked::SignIn { .. } => b'i',
            Asked::Session => b'S',
            Asked::SignOut => b'o',
            Asked::View(_) => b'v',
        }
    }

    fn take(kind: u8, rest: &mut Rest<'a>) -> Option<Asked<'a>> {
        Some(match kind {
            b'w' => Asked::Who,
            b'l' => Asked::List {
                name: rest.any(Rest::name)?,
                account: rest.any(|rest| rest.short_text(ACCOUNT_OCTETS_MAX))?,
                stands: rest.any(|rest| one_of(rest, Stands::ALL))?,
                after: rest.any(|rest| Some(Cursor { start: rest.u64()?, slot: rest.u64()? }))?,
                limit: rest.u32()?,
            },
            b's' => Asked::Search {
                pattern: rest.text(PATTERN_OCTETS_MAX)?,
                objects: one_of(rest, OBJECTS)?,
                limit: rest.u32()?,
            },
            b'z' => Asked::Zone { zone: rest.name()?, part: part(rest)?, with_dnssec: rest.flag()? },
            b'h' => Asked::History { zone: rest.name()?, undo: rest.any(Rest::u32)? },
            b'c' => Asked::Change { repeat: repeat(rest)?, is_dry: rest.flag()?, zones: zones(rest)? },
            b'e' => Asked::Explain(zones(rest)?),
            b'm' => Asked::Make {
                zone: rest.name()?,
                repeat: repeat(rest)?,
                fields: fields(rest)?,
                sets: Run::of(std::mem::take(&mut rest.0), RRSETS_MAX)?,
            },
            b'd' => Asked::Drop { zone: rest.name()?, repeat: repeat(rest)?, condition: condition(rest)? },
            b'f' => Asked::Set {
                zone: rest.name()?,
                repeat: repeat(rest)?,
                condition: condition(rest)?,
                fields: fields(rest)?,
            },
            b'a' => Asked::Act {
                zone: rest.name()?,
                act: one_of(rest, [Act::Notify, Act::Retrieve, Act::Rectify])?,
            },
            b'n' => Asked::Facts(one_of(rest, [Facts::Numbers, Facts::Keys])?),
            b'i' => Asked::SignIn { ending: rest.any(|rest| secret(rest).map(Ending))? },
            b'S' => Asked::Session,
            b'o' => Asked::SignOut,
            b'v' => Asked::View(view(rest)?),
            _ => return None,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Asked::Who | Asked::Session | Asked::SignOut => {}
            Asked::List { name, account, stands, after, limit } => {
                put_any(out, *name, |out, name| name.write(out));
                put_any(out, *account, |out, account| put_short_text(out, account, ACCOUNT_OCTETS_MAX));
                put_any(out, *stands, |out, stands| out.push(stands as u8));
                put_any(out, *after, |out, cursor| {
                    out.extend_from_slice(&cursor.start.to_be_bytes());
                    out.extend_from_slice(&cursor.slot.to_be_bytes());
                });
                out.extend_from_slice(&limit.to_be_bytes());
            }
            Asked::Search { pattern, objects, limit } => {
                put_text(out, pattern, PATTERN_OCTETS_MAX);
                out.push(*objects as u8);
                out.extend_from_slice(&limit.to_be_bytes());
            }
            Asked::Zone { zone, part, with_dnssec } => {
                zone.write(out);
                put_part(out, part);
                out.push(u8::from(*with_dnssec));
            }
            Asked::History { zone, undo } => {
                zone.write(out);
                put_any(out, *undo, |out, serial| out.extend_from_slice(&serial.to_be_bytes()));
            }
            Asked::Change { repeat, is_dry, zones } => {
                put_repeat(out, *repeat);
                out.push(u8::from(*is_dry));
                out.extend_from_slice(zones.octets());
            }
            Asked::Explain(zones) => out.extend_from_slice(zones.octets()),
            Asked::Make { zone, repeat, fields, sets } => {
                zone.write(out);
                put_repeat(out, *repeat);
                put_fields(out, fields);
                out.extend_from_slice(sets.octets());
            }
            Asked::Drop { zone, repeat, condition } => {
                zone.write(out);
                put_repeat(out, *repeat);
                put_condition(out, condition);
            }
            Asked::Set { zone, repeat, condition, fields } => {
                zone.write(out);
                put_repeat(out, *repeat);
                put_condition(out, condition);
                put_fields(out, fields);
            }
            Asked::Act { zone, act } => {
                zone.write(out);
                out.push(*act as u8);
            }
            Asked::Facts(facts) => out.push(*facts as u8),
            Asked::View(view) => put_view(out, view),
            Asked::SignIn { ending } => {
                put_any(out, *ending, |out, Ending(secret)| out.extend_from_slice(secret));
            }
        }
    }
}
