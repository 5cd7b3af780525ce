//! Where something is, and what each method does there.

use wire::NameBuf;
use wire::iana::rtype;

use super::query::Query;
use super::{
    Empty, FOUND_USUAL, LIMIT_MAX, NUMBER_NAME_OCTETS_MAX, Refusal, Request, SETS_USUAL, Viewed, Wanted, id,
    is_of_data, number,
};
use crate::frame::{ACCOUNT_OCTETS_MAX, Act, FOUND_MAX, Objects, PAGE_SETS_MAX, PATTERN_OCTETS_MAX};

const NO_PATH: Refusal = Refusal { status: 404, allow: None, words: "no such path" };
const NO_ZONE: Refusal = Refusal { status: 404, allow: None, words: "no such zone" };

/// Where something is, before it is known what is to be done with it.
pub(super) enum Place {
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
    Sets(NameBuf),
    History(NameBuf),
    Undo(NameBuf, u32),
    Session,
    Now,
    /// What is the same whatever stands behind `?`.
    View(Viewed),
    Resolver,
    Why,
}

/// Makes a place of the parts of a path that its template leaves open.
type Make = fn(&[&[u8]]) -> Result<Place, Refusal>;

/// All paths, as the description of the API has them (`openapi.json`): what stands in braces is left open.
pub(super) const PATHS: [(&str, Make); 38] = [
    ("/api", |_| Ok(Place::Versions)),
    ("/api/v1/servers", |_| Ok(Place::Servers)),
    ("/api/v1/servers/localhost", |_| Ok(Place::Server)),
    ("/api/v1/servers/localhost/config", |_| Ok(Place::Settings(Empty::List))),
    ("/api/v1/servers/localhost/autoprimaries", |_| Ok(Place::Settings(Empty::List))),
    ("/api/v1/servers/localhost/views", |_| Ok(Place::Settings(Empty::Views))),
    ("/api/v1/servers/localhost/networks", |_| Ok(Place::Settings(Empty::Networks))),
    ("/api/v1/servers/localhost/statistics", |_| Ok(Place::Numbers)),
    ("/api/v1/servers/localhost/cache/flush", |_| Ok(Place::Flush)),
    ("/api/v1/servers/localhost/search-data", |_| Ok(Place::Search)),
    ("/api/v1/servers/localhost/tsigkeys", |_| Ok(Place::Keys)),
    ("/api/v1/servers/localhost/tsigkeys/{tsigkey_id}", |_| Ok(Place::Key)),
    ("/api/v1/servers/localhost/zones", |_| Ok(Place::Zones)),
    ("/api/v1/servers/localhost/zones/{zone_id}", |open| of_zone(open, Place::Zone)),
    ("/api/v1/servers/localhost/zones/{zone_id}/export", |open| of_zone(open, Place::Export)),
    ("/api/v1/servers/localhost/zones/{zone_id}/notify", |open| {
        of_zone(open, |zone| Place::Act(zone, Act::Notify))
    }),
    ("/api/v1/servers/localhost/zones/{zone_id}/axfr-retrieve", |open| {
        of_zone(open, |zone| Place::Act(zone, Act::Retrieve))
    }),
    ("/api/v1/servers/localhost/zones/{zone_id}/rectify", |open| {
        of_zone(open, |zone| Place::Act(zone, Act::Rectify))
    }),
    ("/api/v1/servers/localhost/zones/{zone_id}/cryptokeys", |open| of_zone(open, Place::Signing)),
    ("/api/v1/servers/localhost/zones/{zone_id}/cryptokeys/{cryptokey_id}", |open| {
        of_zone(open, |_| Place::OneOfSigning)
    }),
    ("/api/v1/servers/localhost/zones/{zone_id}/metadata", |open| of_zone(open, Place::Metadata)),
    ("/api/v1/servers/localhost/zones/{zone_id}/metadata/{metadata_kind}", |open| {
        of_zone(open, |_| Place::OneOfMetadata)
    }),
    ("/api/zonda/v1/changes", |_| Ok(Place::Changes)),
    ("/api/zonda/v1/explain", |_| Ok(Place::Explain)),
    ("/api/zonda/v1/asked", |_| Ok(Place::View(Viewed::Asked))),
    ("/api/zonda/v1/hour", |_| Ok(Place::View(Viewed::Hour))),
    ("/api/zonda/v1/journals", |_| Ok(Place::View(Viewed::Journals))),
    ("/api/zonda/v1/locks", |_| Ok(Place::View(Viewed::Locks))),
    ("/api/zonda/v1/now", |_| Ok(Place::Now)),
    ("/api/zonda/v1/resolver", |_| Ok(Place::Resolver)),
    ("/api/zonda/v1/openapi.json", |_| Ok(Place::OpenApi)),
    ("/api/zonda/v1/session", |_| Ok(Place::Session)),
    ("/api/zonda/v1/why", |_| Ok(Place::Why)),
    ("/api/zonda/v1/zones", |_| Ok(Place::Rows)),
    ("/api/zonda/v1/zones/{zone_id}", |open| of_zone(open, |zone| Place::View(Viewed::Zone(zone)))),
    ("/api/zonda/v1/zones/{zone_id}/rrsets", |open| of_zone(open, Place::Sets)),
    ("/api/zonda/v1/zones/{zone_id}/history", |open| of_zone(open, Place::History)),
    ("/api/zonda/v1/zones/{zone_id}/history/{serial}/undo", undo),
];

/// Parts of the longest path: `api`, `zonda`, `v1`, `zones`, ID, `history`, serial, `undo`.
const PARTS_MAX: usize = 8;

impl Place {
    pub(super) fn of(path: &str) -> Result<Place, Refusal> {
        let mut parts = Vec::new();
        for part in path.strip_prefix('/').ok_or(NO_PATH)?.split('/') {
            if matches!(part, "" | "." | "..") || parts.len() == PARTS_MAX {
                return Err(NO_PATH);
            }
            parts.push(id::percent_decoded(part, false).ok_or(NO_PATH)?);
        }
        let found = PATHS.iter().find_map(|(template, make)| Some((make, open_parts(template, &parts)?)));
        let (make, open) = found.ok_or(NO_PATH)?;
        make(&open)
    }

    /// Whether it is below `/api/zonda/v1`, however that was written.
    pub(super) fn is_beyond(&self) -> bool {
        matches!(self, Place::Rows | Place::Changes | Place::Explain | Place::OpenApi | Place::Session)
            || matches!(self, Place::Sets(_) | Place::History(_) | Place::Undo(..))
            || matches!(self, Place::Now | Place::View(_) | Place::Resolver | Place::Why)
    }

    /// As `Allow` has them.
    pub(super) fn methods(&self) -> &'static str {
        match self {
            Place::Settings(_) | Place::Key | Place::OneOfSigning | Place::OneOfMetadata => {
                "GET, HEAD, POST, PUT, DELETE"
            }
            Place::Keys | Place::Zones | Place::Signing(_) | Place::Metadata(_) => "GET, HEAD, POST",
            Place::Zone(_) => "GET, HEAD, PATCH, PUT, DELETE",
            Place::Flush | Place::Act(..) => "PUT",
            Place::Changes | Place::Explain => "POST",
            Place::Session => "GET, HEAD, POST, DELETE",
            Place::Versions
            | Place::Servers
            | Place::Server
            | Place::Numbers
            | Place::Search
            | Place::Export(_)
            | Place::Rows
            | Place::OpenApi
            | Place::Sets(_)
            | Place::History(_)
            | Place::Undo(..)
            | Place::Now
            | Place::View(_)
            | Place::Resolver
            | Place::Why => "GET, HEAD",
        }
    }

    /// `method`: one of [`Place::methods`].
    pub(super) fn request(self, method: &str, query: &mut Query) -> Result<Request, Refusal> {
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
                stands: query.stands("state")?,
                after: query.cursor("after")?,
                limit: query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(0),
            },
            Place::Changes => Request::Changes,
            Place::Explain => Request::Explain,
            Place::OpenApi => Request::OpenApi,
            Place::Sets(zone) => {
                let (after, limit) = (query.name("after")?, query.number("limit", 1..=PAGE_SETS_MAX)?);
                let wanted = Wanted::Page(after, limit.unwrap_or(SETS_USUAL));
                let with_dnssec = query.flag("dnssec-records")?.unwrap_or(false);
                Request::Zone { zone, wanted, with_dnssec }
            }
            Place::History(zone) => Request::History(zone),
            Place::Undo(zone, serial) => Request::Undo(zone, serial),
            Place::Now => {
                let said = query.number("said", 0..=u32::MAX)?.unwrap_or(0).into();
                Request::View(Viewed::Now { said })
            }
            Place::View(view) => Request::View(view),
            Place::Why => Request::View(why(query)?),
            Place::Resolver => Request::View(Viewed::Resolver(query.name("name")?)),
            Place::Session => match method {
                "GET" => Request::Session,
                "POST" => Request::SignIn,
                _ => Request::SignOut,
            },
        })
    }
}

/// The parts of a path that a template leaves open; `None`: it is another path.
fn open_parts<'p>(template: &str, parts: &'p [Vec<u8>]) -> Option<Vec<&'p [u8]>> {
    let mut open = Vec::new();
    let mut words = template.split('/').skip(1);
    for part in parts {
        match words.next()? {
            word if word.starts_with('{') => open.push(&**part),
            word if word.as_bytes() == &**part => {}
            _ => return None,
        }
    }
    words.next().is_none().then_some(open)
}

/// A place that is of a zone, whose name is the first part that is left open.
fn of_zone(open: &[&[u8]], place: impl FnOnce(NameBuf) -> Place) -> Result<Place, Refusal> {
    let zone = open.first().and_then(|part| id::zone(part));
    zone.map(place).ok_or(NO_ZONE)
}

fn undo(open: &[&[u8]]) -> Result<Place, Refusal> {
    let serial = open.last().and_then(|part| std::str::from_utf8(part).ok()).and_then(number);
    let serial = serial.ok_or(NO_PATH)?;
    of_zone(open, |zone| Place::Undo(zone, serial))
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

/// A question as clients ask it: of any type but those that are none of data, but ANY and RRSIG, which ask for some of these.
fn why(query: &mut Query) -> Result<Viewed, Refusal> {
    let name = query.name("name")?;
    let of = match query.take("type") {
        None => Some(rtype::A),
        Some(text) => rtype::from_text(text.as_bytes()).filter(|of| is_of_data(*of) || *of == rtype::ANY),
    };
    let rtype = of.ok_or(Refusal::new(422, "`type` is no type of records"))?;
    let (is_tcp, dnssec_ok) = (query.flag("tcp")?.unwrap_or(false), query.flag("dnssec")?.unwrap_or(false));
    let name = name.ok_or(Refusal::new(422, "`name` is the name that is asked for"))?;
    Ok(Viewed::Why { name, rtype, is_tcp, dnssec_ok })
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
