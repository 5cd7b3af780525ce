//! What servers serve and are asked: zones of several kinds, queries, signatures, EDNS.

use serde::Deserialize;

/// Zones to serve, and queries for them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// What it is called in tables and charts.
    pub name: String,
    /// Kind of the zone or zones.
    pub zone: ZoneKind,
    /// Records (net), zones (many, panel), hosts (flat), delegations (com), children (caching), names that are asked for (internet) at scale 1; the root zone is as it is.
    #[serde(default)]
    pub size: usize,
    /// Records of each of many zones, SOA and NS included.
    #[serde(default = "records_each")]
    pub records_each: usize,
    /// Signatures.
    #[serde(default)]
    pub dnssec: Dnssec,
    /// Which queries have DO set.
    #[serde(default, rename = "do")]
    pub dnssec_ok: DnssecOk,
    /// Whether queries have EDNS, whatever they were recorded or drawn with.
    #[serde(default)]
    pub edns: EdnsWish,
    /// Share of names that do not exist, of queries drawn from the zone.
    #[serde(default = "nxdomain")]
    pub nxdomain: f64,
    /// A query for each RRset instead, once, for `measure = "start"`: memory is read again after all of them.
    #[serde(default)]
    pub every: bool,
    /// Zonda starts from a store in SQLite too, for `measure = "start"`.
    #[serde(default)]
    pub store: bool,
    /// Share of queries for names below an owner, of queries drawn from the zone.
    #[serde(default)]
    pub below: f64,
    /// Of resolvers: share of queries for names that stay in their caches.
    pub hits: Option<f64>,
    /// Of the root zone: the queries that were recorded, instead of as many different ones like them as are wanted.
    #[serde(default)]
    pub recorded: bool,
    /// With recorded queries that are counted, which are asked lap after lap: whether rare names are the same in each.
    #[serde(default)]
    pub same_laps: bool,
    /// Where instructions are counted: whether servers may give answers again that they gave before; otherwise those that can be told so make each anew.
    #[serde(default = "keep_answers")]
    pub keep_answers: bool,
    /// The same, of the workers of Zonda alone, while somebody watches it so. Either all cases of a recipe have it or none has.
    pub watched: Option<Watched>,
    /// How often each of these is asked for.
    #[serde(default)]
    pub skew: Skew,
    /// Of zones for resolvers: how many of a hundred are signed; of those of the kind caching all, if any.
    #[serde(default)]
    pub signed: u8,
    /// Whether resolvers validate.
    #[serde(default)]
    pub validate: bool,
}

/// Ways to watch a server.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Watched {
    /// Nobody does.
    Nothing,
    /// Its numbers are read each second.
    Numbers,
    /// It has a query log, of one query in a hundred.
    QueryLog,
    /// It tells all queries and responses (dnstap).
    Dnstap,
}

/// Laws of popularity, as `zonda-bench gen queries --skew` takes them.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Skew {
    /// Every name as often as any other.
    #[default]
    Uniform,
    /// By Zipf's law.
    Zipf,
}

impl Skew {
    /// As the option has it.
    pub fn text(self) -> &'static str {
        match self {
            Skew::Uniform => "uniform",
            Skew::Zipf => "zipf",
        }
    }
}

/// Kinds of zones.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneKind {
    /// The root zone that ships with the project and recorded queries; made up where neither is at hand.
    Root,
    /// The net zone of the paper.
    Net,
    /// Many small zones.
    Many,
    /// Zones as a hosting panel writes them, with services, mail and subdomains.
    Panel,
    /// One zone of many hosts with an address each.
    Flat,
    /// A com zone of today.
    Com,
    /// The zone of the paper for updates: so many records and the mandatory ones.
    Dynamic,
    /// The zones of the paper for a caching server: a root, a parent, and so many children of 200 addresses.
    Caching,
    /// A model Internet of real names: a root, TLDs and the zones of so many names.
    Internet,
}

impl ZoneKind {
    /// Whether nobody who is measured serves them: they are what resolvers ask for.
    pub fn is_of_resolvers(self) -> bool {
        matches!(self, ZoneKind::Caching | ZoneKind::Internet)
    }
}

/// What is done about signatures.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Dnssec {
    /// As the zone is.
    #[default]
    Keep,
    /// Everything of DNSSEC is taken out of it.
    Strip,
    /// Signed, with NSEC; a zone that is signed stays as it is.
    Nsec,
    /// Signed, with NSEC3.
    Nsec3,
}

/// What is done about DO.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum DnssecOk {
    /// As recorded or drawn.
    #[default]
    Keep,
    /// Set in all queries.
    All,
    /// Set in none.
    None,
}

/// What is done about EDNS.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum EdnsWish {
    /// As recorded or drawn.
    #[default]
    Keep,
    /// All queries have it, with a client's cookie (RFC 7873).
    Cookie,
    /// None has it.
    None,
}

fn records_each() -> usize {
    103
}

fn keep_answers() -> bool {
    true
}

fn nxdomain() -> f64 {
    0.05
}
