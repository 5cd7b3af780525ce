//! What is asked for: method, path and query to a request, or to the status of what is none.
//!
//! ```text
//! /api                                    versions
//! /api/v1/servers/localhost/...           as PowerDNS has it
//! /api/zonda/v1/...                       what it has not: changes, explain, openapi.json, session, zones in pages, history, what the server tells of itself
//! ```
//!
//! A path is split before it is decoded, once: what `%2f` or `=2e` stand for is part of a name and never of a path. What a body says is read elsewhere
//! ([`crate::json::read`]), and whether a key may ask for it is the server's to know; what is refused here is so whoever asks.

pub mod id;
mod place;
mod query;

use wire::NameBuf;
use wire::iana::rtype;

use crate::frame::{Act, Cursor, Objects, Part, Stands, View};
use place::Place;
use query::Query;

pub use query::put_cursor;

/// RRsets of a page, where it is not said.
const SETS_USUAL: u32 = 200;
/// Zones of a page: more would keep other lists waiting, and who wants all asks without `limit`.
pub const LIMIT_MAX: u32 = 10_000;
/// Octets of the name of a number.
const NUMBER_NAME_OCTETS_MAX: usize = u8::MAX as usize;
/// What a search finds, unless it says how much: as PowerDNS has it.
const FOUND_USUAL: u32 = 100;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // zones, serials and parts that their types tell
pub enum Request {
    /// Versions of the API.
    Versions,
    /// All servers: this one.
    Servers,
    /// This server.
    Server,
    /// What is empty here.
    Empty(Empty),
    /// What is empty of a zone, if there is such a zone.
    EmptyOf(NameBuf),
    /// Numbers of the server; the one of a name.
    Numbers(Option<String>),
    /// Answers that are kept are to go: there are none that are wrong.
    Flush,
    /// Names of TSIG keys.
    Keys,
    /// A search.
    Search { pattern: String, objects: Objects, limit: u32 },
    /// All zones, or the one of a name.
    Zones(Option<NameBuf>),
    /// A zone is to be made, and told with its RRsets or without.
    Make { with_rrsets: bool },
    /// A zone.
    Zone { zone: NameBuf, wanted: Wanted, with_dnssec: bool },
    /// RRsets of a zone are to change.
    Change { zone: NameBuf, is_dry: bool },
    /// Fields of a zone are to be others.
    Set(NameBuf),
    /// A zone is to go.
    Drop(NameBuf),
    /// A zone as a text.
    Export(NameBuf),
    /// Something is to be done with a zone.
    Act(NameBuf, Act),
    /// Zones in pages; 0: all.
    Rows { account: Option<String>, stands: Option<Stands>, after: Option<Cursor>, limit: u32 },
    /// RRsets of several zones are to change, in one commit.
    Changes,
    /// Which rules would be looked at if they were.
    Explain,
    /// This API, for programs.
    OpenApi,
    /// Versions of a zone.
    History(NameBuf),
    /// What leads back to one of them.
    Undo(NameBuf, u32),
    /// What the session is, or what the key may do.
    Session,
    /// A session is to begin.
    SignIn,
    /// The session is to end.
    SignOut,
    /// What the server tells of itself.
    View(Viewed),
}

/// What the server tells of itself, as [`View`] borrows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // as there
pub enum Viewed {
    Now { said: u64 },
    Hour,
    Asked,
    Locks,
    Journals,
    Resolver(Option<NameBuf>),
    Zone(NameBuf),
    Why { name: NameBuf, rtype: u16, is_tcp: bool, dnssec_ok: bool },
}

impl Viewed {
    /// As an ask has it.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        match self {
            Viewed::Now { said } => View::Now { said: *said },
            Viewed::Hour => View::Hour,
            Viewed::Asked => View::Asked,
            Viewed::Locks => View::Locks,
            Viewed::Journals => View::Journals,
            Viewed::Resolver(name) => View::Resolver(name.as_deref()),
            Viewed::Zone(zone) => View::Zone(zone),
            Viewed::Why { name, rtype, is_tcp, dnssec_ok } => {
                View::Why { name, rtype: *rtype, is_tcp: *is_tcp, dnssec_ok: *dnssec_ok }
            }
        }
    }
}

/// Lists of PowerDNS that are empty here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// A list.
    List,
    /// `views`.
    Views,
    /// `networks`.
    Networks,
}

/// How much of a zone is wanted, as [`Part`] borrows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All.
    All,
    /// No RRsets.
    Row,
    /// Those of a name, or of a name and a type.
    Owner(NameBuf, Option<u16>),
    /// So many behind a name, or from the first on.
    Page(Option<NameBuf>, u32),
}

impl Wanted {
    /// As an ask has it.
    #[must_use]
    pub fn part(&self) -> Part<'_> {
        match self {
            Wanted::All => Part::All,
            Wanted::Row => Part::Row,
            Wanted::Owner(owner, rtype) => Part::Owner(owner, *rtype),
            Wanted::Page(after, limit) => Part::Page(after.as_deref(), *limit),
        }
    }
}

/// What is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status of HTTP.
    pub status: u16,
    /// Of 405: the methods that there are.
    pub allow: Option<&'static str>,
    /// Why.
    pub words: &'static str,
}

impl Refusal {
    fn new(status: u16, words: &'static str) -> Refusal {
        Refusal { status, allow: None, words }
    }
}

impl Request {
    /// What is asked for. `path` and `query` as they are on the wire, without `?`.
    pub fn of(method: &str, path: &str, query: &str) -> Result<Request, Refusal> {
        let place = Place::of(path)?;
        // Of an answer to HEAD the body is left out by who writes it.
        let method = if method == "HEAD" { "GET" } else { method };
        let allow = place.methods();
        if !allow.split(", ").any(|allowed| allowed == method) {
            return Err(Refusal { status: 405, allow: Some(allow), words: "no such method here" });
        }
        let is_beyond = place.is_beyond();
        let mut query = Query::new(query)?;
        let request = place.request(method, &mut query)?;
        if is_beyond {
            query.finish()?;
        }
        Ok(request)
    }
}

/// Whether records of this type can be in a zone: 0 is for signatures of messages (RFC 2931 4.1.1).
pub(crate) fn is_of_data(rtype: u16) -> bool {
    !rtype::is_meta(rtype) && rtype != 0
}

fn number(text: &str) -> Option<u32> {
    // A sign is none of a number's.
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod described;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
