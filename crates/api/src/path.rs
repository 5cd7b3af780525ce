//! What is asked for: method, path and query to a request, or to the status of what is none.
//!
//! ```text
//! /api                                    versions
//! /api/v1/servers/localhost/...           as PowerDNS has it
//! /api/zonda/v1/...                       what it has not: changes, explain, openapi.json, zones in pages, history
//! ```
//!
//! A path is split before it is decoded, once: what `%2f` or `=2e` stand for is part of a name and never of a path. What a body says is read elsewhere
//! ([`crate::json::read`]), and whether a key may ask for it is the server's to know; what is refused here is so whoever asks.

pub mod id;
mod query;

use wire::NameBuf;
use wire::iana::rtype;

use crate::frame::{ACCOUNT_OCTETS_MAX, Act, Cursor, FOUND_MAX, Objects, PATTERN_OCTETS_MAX, Part};
use query::Query;

pub use query::put_cursor;

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
    Rows { account: Option<String>, after: Option<Cursor>, limit: u32 },
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
}

impl Wanted {
    /// As an ask has it.
    #[must_use]
    pub fn part(&self) -> Part<'_> {
        match self {
            Wanted::All => Part::All,
            Wanted::Row => Part::Row,
            Wanted::Owner(owner, rtype) => Part::Owner(owner, *rtype),
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

const NO_PATH: Refusal = Refusal { status: 404, allow: None, words: "no such path" };
const NO_ZONE: Refusal = Refusal { status: 404, allow: None, words: "no such zone" };

/// Where something is, before it is known what is to be done with it.
enum Place {
    Versions,
    Servers,
    Server,
    /// What can be read, and is set in the settings alone.
    Settings(Empty),
    Numbers,
    Flush,
    Search,
    Keys,
    /// A key of the server.
    Key,
    Zones,
    Zone(NameBuf),
    Export(NameBuf),
    Act(NameBuf, Act),
    /// Keys of DNSSEC, or metadata.
    Signing(NameBuf),
    Metadata(NameBuf),
    /// One of these.
    OneOfSigning,
    OneOfMetadata,
    Rows,
    Changes,
    Explain,
    OpenApi,
    History(NameBuf),
    Undo(NameBuf, u32),
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

impl Place {
    fn of(path: &str) -> Result<Place, Refusal> {
        let mut parts = Vec::new();
        for part in path.strip_prefix('/').ok_or(NO_PATH)?.split('/') {
            if matches!(part, "" | "." | "..") || parts.len() == PARTS_MAX {
                return Err(NO_PATH);
            }
            parts.push(id::percent_decoded(part, false).ok_or(NO_PATH)?);
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        match parts.as_slice() {
            [b"api"] => Ok(Place::Versions),
            [b"api", b"v1", b"servers"] => Ok(Place::Servers),
            [b"api", b"v1", b"servers", b"localhost", rest @ ..] => Place::of_server(rest),
            [b"api", b"zonda", b"v1", rest @ ..] => Place::of_zonda(rest),
            _ => Err(NO_PATH),
        }
    }

    fn of_server(parts: &[&[u8]]) -> Result<Place, Refusal> {
        Ok(match parts {
            [] => Place::Server,
            [b"config" | b"autoprimaries"] => Place::Settings(Empty::List),
            [b"views"] => Place::Settings(Empty::Views),
            [b"networks"] => Place::Settings(Empty::Networks),
            [b"statistics"] => Place::Numbers,
            [b"cache", b"flush"] => Place::Flush,
            [b"search-data"] => Place::Search,
            [b"tsigkeys"] => Place::Keys,
            [b"tsigkeys", _] => Place::Key,
            [b"zones"] => Place::Zones,
            [b"zones", zone] => Place::Zone(zone_of(zone)?),
            [b"zones", zone, b"export"] => Place::Export(zone_of(zone)?),
            [b"zones", zone, b"notify"] => Place::Act(zone_of(zone)?, Act::Notify),
            [b"zones", zone, b"axfr-retrieve"] => Place::Act(zone_of(zone)?, Act::Retrieve),
            [b"zones", zone, b"rectify"] => Place::Act(zone_of(zone)?, Act::Rectify),
            [b"zones", zone, b"cryptokeys"] => Place::Signing(zone_of(zone)?),
            [b"zones", zone, b"metadata"] => Place::Metadata(zone_of(zone)?),
            [b"zones", zone, b"cryptokeys", _] => zone_of(zone).map(|_| Place::OneOfSigning)?,
            [b"zones", zone, b"metadata", _] => zone_of(zone).map(|_| Place::OneOfMetadata)?,
            _ => return Err(NO_PATH),
        })
    }

    fn of_zonda(parts: &[&[u8]]) -> Result<Place, Refusal> {
        Ok(match parts {
            [b"changes"] => Place::Changes,
            [b"explain"] => Place::Explain,
            [b"openapi.json"] => Place::OpenApi,
            [b"zones"] => Place::Rows,
            [b"zones", zone, b"history"] => Place::History(zone_of(zone)?),
            [b"zones", zone, b"history", serial, b"undo"] => {
                let serial = std::str::from_utf8(serial).ok().and_then(number);
                Place::Undo(zone_of(zone)?, serial.ok_or(NO_PATH)?)
            }
            _ => return Err(NO_PATH),
        })
    }

    /// Whether it is below `/api/zonda/v1`, however that was written.
    fn is_beyond(&self) -> bool {
        matches!(self, Place::Rows | Place::Changes | Place::Explain | Place::OpenApi)
            || matches!(self, Place::History(_) | Place::Undo(..))
    }

    /// As `Allow` has them.
    fn methods(&self) -> &'static str {
        match self {
            Place::Settings(_) | Place::Key | Place::OneOfSigning | Place::OneOfMetadata => {
                "GET, HEAD, POST, PUT, DELETE"
            }
            Place::Keys | Place::Zones | Place::Signing(_) | Place::Metadata(_) => "GET, HEAD, POST",
            Place::Zone(_) => "GET, HEAD, PATCH, PUT, DELETE",
            Place::Flush | Place::Act(..) => "PUT",
            Place::Changes | Place::Explain => "POST",
            Place::Versions
            | Place::Servers
            | Place::Server
            | Place::Numbers
            | Place::Search
            | Place::Export(_)
            | Place::Rows
            | Place::OpenApi
            | Place::History(_)
            | Place::Undo(..) => "GET, HEAD",
        }
    }

    /// `method`: one of [`Place::methods`].
    fn request(self, method: &str, query: &mut Query) -> Result<Request, Refusal> {
        let is_read = method == "GET";
        let refused = |words| Err(Refusal::new(422, words));
        Ok(match self {
            Place::Versions => Request::Versions,
            Place::Servers => Request::Servers,
            Place::Server => Request::Server,
            Place::Settings(empty) if is_read => Request::Empty(empty),
            Place::Settings(_) => return refused("this is set in the settings of the server"),
            Place::Numbers => {
                // Rings there are none, wanted or not.
                query.flag("includerings")?;
                let name = query.text("statistic", NUMBER_NAME_OCTETS_MAX)?;
                Request::Numbers(name.filter(|name| !name.is_empty()))
            }
            Place::Flush => Request::Flush,
            Place::Search => search(query)?,
            Place::Keys if is_read => Request::Keys,
            Place::Keys | Place::Key if !is_read => {
                return refused("keys are set in the settings of the server: [[key]]");
            }
            Place::Keys | Place::Key => return Err(Refusal::new(404, "secrets are not told")),
            Place::Zones if is_read => Request::Zones(query.name("zone")?),
            Place::Zones => {
                let with_rrsets = query.flag("rrsets")?.unwrap_or(true);
                not_dry(query, Request::Make { with_rrsets })?
            }
            Place::Zone(zone) => match method {
                "GET" => {
                    let wanted = wanted(query)?;
                    let with_dnssec = query.flag("dnssec-records")?.unwrap_or(false);
                    Request::Zone { zone, wanted, with_dnssec }
                }
                "PATCH" => Request::Change { zone, is_dry: query.flag("dry-run")?.unwrap_or(false) },
                "PUT" => not_dry(query, Request::Set(zone))?,
                _ => not_dry(query, Request::Drop(zone))?,
            },
            Place::Export(zone) => Request::Export(zone),
            Place::Act(zone, act) => not_dry(query, Request::Act(zone, act))?,
            Place::Signing(zone) | Place::Metadata(zone) if is_read => Request::EmptyOf(zone),
            Place::OneOfSigning | Place::OneOfMetadata if is_read => {
                return Err(Refusal::new(404, "no such key or metadata"));
            }
            Place::Signing(_) | Place::OneOfSigning => return refused("nothing is signed here"),
            Place::Metadata(_) | Place::OneOfMetadata => {
                return refused("this is set in the settings of the server, by `template` and [[zone]]");
            }
            Place::Rows => Request::Rows {
                account: query.text("account", ACCOUNT_OCTETS_MAX)?,
                after: query.cursor("after")?,
                limit: query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(0),
            },
            Place::Changes => Request::Changes,
            Place::Explain => Request::Explain,
            Place::OpenApi => Request::OpenApi,
            Place::History(zone) => Request::History(zone),
            Place::Undo(zone, serial) => Request::Undo(zone, serial),
        })
    }
}

/// Parts of the longest path: `api`, `zonda`, `v1`, `zones`, ID, `history`, serial, `undo`.
const PARTS_MAX: usize = 8;

fn zone_of(part: &[u8]) -> Result<NameBuf, Refusal> {
    id::zone(part).ok_or(NO_ZONE)
}

fn number(text: &str) -> Option<u32> {
    // A sign is none of a number's.
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Who wanted to see what would be must not have it done.
fn not_dry(query: &mut Query, request: Request) -> Result<Request, Refusal> {
    match query.flag("dry-run")? {
        Some(true) => Err(Refusal::new(422, "there is no dry run of this")),
        _ => Ok(request),
    }
}

fn search(query: &mut Query) -> Result<Request, Refusal> {
    let pattern = query.text("q", PATTERN_OCTETS_MAX)?.filter(|pattern| !pattern.is_empty());
    let pattern = pattern.ok_or(Refusal::new(422, "`q` says what is searched for"))?;
    let limit = query.number("max", 1..=u32::MAX)?.unwrap_or(FOUND_USUAL).min(FOUND_MAX);
    let objects = match query.take("object_type") {
        None | Some("all") => Objects::All,
        Some("zone") => Objects::Zones,
        Some("record") => Objects::Records,
        Some("comment") => Objects::Comments,
        Some(_) => return Err(Refusal::new(422, "`object_type` is all, zone, record or comment")),
    };
    Ok(Request::Search { pattern, objects, limit })
}

/// Whether records of this type can be in a zone: 0 is for signatures of messages (RFC 2931 4.1.1).
pub(crate) fn is_of_data(rtype: u16) -> bool {
    !rtype::is_meta(rtype) && rtype != 0
}

fn wanted(query: &mut Query) -> Result<Wanted, Refusal> {
    let has_rrsets = query.flag("rrsets")?.unwrap_or(true);
    let owner = query.name("rrset_name")?;
    let rtype = match query.take("rrset_type") {
        None => None,
        Some(text) => {
            let rtype = rtype::from_text(text.as_bytes()).filter(|rtype| is_of_data(*rtype));
            Some(rtype.ok_or(Refusal::new(422, "`rrset_type` is no type of records"))?)
        }
    };
    match (owner, rtype) {
        (None, Some(_)) => Err(Refusal::new(422, "`rrset_type` needs `rrset_name`")),
        _ if !has_rrsets => Ok(Wanted::Row),
        (Some(owner), rtype) => Ok(Wanted::Owner(owner, rtype)),
        (None, None) => Ok(Wanted::All),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
