//! What recipes are made of: zones, queries, contenders, echo servers, generators.

use ::engine::ProtectionKind;
use serde::{Deserialize, Deserializer, de::Error as _};

/// What a recipe measures.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Rates without loss, processor time, memory and latency.
    Rates,
    /// Memory after the load of the zones and after queries.
    Memory,
    /// Time from start to the first answer.
    Start,
    /// Limits of the response rate under floods with made-up sources.
    RateLimit,
    /// Instructions an answer takes.
    Instructions,
    /// Allocations, locks and atomic instructions an answer takes.
    Allocations,
    /// Echo servers: rates of many models, processes and cores.
    Echo,
    /// Settings of the generator against one echo server.
    Generator,
    /// A small name server with the locks of the paper, in process.
    Engine,
    /// The engine with more and more threads, and computed for more cores than there are.
    Scaling,
    /// Updates as fast as they are accepted.
    UpdateRate,
    /// Queries beside updates.
    Dynamic,
    /// Zones out and in.
    Transfer,
    /// Versions of a zone, one after the other, into secondaries.
    History,
    /// Queries beside changes that come in.
    Secondary,
    /// What is kept of updates without end.
    Endless,
    /// One update and a million in a large zone.
    Delta,
    /// Rates of resolvers by the share of queries that their caches answer.
    Caching,
    /// What the cache of a resolver is worth after it was ended and started.
    Restart,
    /// Clients of a resolver beside floods of random names.
    Flood,
    /// Clients of a resolver whose authoritative servers are gone.
    Stale,
    /// Resolvers that know nothing yet: what each name costs them.
    ColdCache,
}

impl Measure {
    /// Whether servers take part.
    pub fn has_contenders(self) -> bool {
        !matches!(self, Measure::Echo | Measure::Generator | Measure::Engine | Measure::Scaling)
    }

    /// Whether they serve zones that are made for them.
    pub fn has_cases(self) -> bool {
        self.has_contenders()
            && !matches!(self, Measure::History | Measure::Restart | Measure::Flood | Measure::Stale)
    }

    /// Whether who takes part resolves, and asks servers of ours.
    pub fn is_of_resolvers(self) -> bool {
        matches!(
            self,
            Measure::Caching | Measure::ColdCache | Measure::Restart | Measure::Flood | Measure::Stale
        )
    }

    /// Whether nothing goes over a network, so that none has to be made.
    pub fn is_in_process(self) -> bool {
        matches!(self, Measure::Engine | Measure::Scaling)
    }
}

/// A contender's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// The server of this project.
    Zonda,
    /// Another build of it, such as the one before a change.
    Before,
    /// It with rate limits that nobody reaches: what counting costs.
    Limited,
    /// BIND 9.
    Named,
    /// NSD.
    Nsd,
    /// Knot DNS.
    Knot,
    /// PowerDNS.
    Pdns,
    /// Unbound, which serves zones it is given as its own, or resolves.
    Unbound,
    /// Knot Resolver.
    Kresd,
    /// The recursor of PowerDNS.
    Recursor,
    /// The server that locks are compared in, under one of them.
    Engine(ProtectionKind),
    /// The limit program.
    Echo,
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let text = String::deserialize(deserializer)?;
        Name::from_text(&text).ok_or_else(|| D::Error::unknown_variant(&text, &Name::TEXTS))
    }
}

/// Zones to serve, and queries for them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// What it is called in tables and charts.
    pub name: String,
    /// Kind of the zone or zones.
    pub zone: ZoneKind,
    /// Records (net), zones (many), hosts (flat), delegations (com), children (caching), names that are asked for (internet) at scale 1; the root zone is as it is.
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

/// Most zones of a kind that are attacked: each is made, signed ones are signed, for every run with other data.
pub const VICTIMS_MAX: usize = 100;

/// A flood of queries for random names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flood {
    /// What it is called in tables and charts.
    pub name: String,
    /// What the servers of the zones do below which the names are.
    pub servers: Victims,
    /// How many zones.
    #[serde(default = "one")]
    pub victims: usize,
    /// Not in the short forms.
    #[serde(default)]
    pub full_only: bool,
}

/// Networks that the made-up sources of a flood are in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SourceNetworks {
    /// What they are called in tables and charts.
    pub name: String,
    /// How many networks of 24 bits.
    pub networks: u32,
    /// How far one is from the next: 1 for neighbours, 256 for one in each network of 16 bits.
    #[serde(default = "neighbours")]
    pub apart: u32,
}

/// Servers of zones that are attacked.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Victims {
    /// There is no flood: what clients get without.
    None,
    /// They say that the names do not exist.
    Deny,
    /// The same, with proof.
    Signed,
    /// The same, a second later.
    Slow,
    /// Nobody is there.
    Dead,
}

impl Victims {
    /// The first letter of the zones' names.
    pub fn letter(self) -> char {
        match self {
            Victims::None => 'k',
            Victims::Deny => 'n',
            Victims::Signed => 's',
            Victims::Slow => 'w',
            Victims::Dead => 'd',
        }
    }
}

/// Files of a history, packed or not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HistoryFiles {
    /// The first version.
    pub base: String,
    /// What leads from each version to the next.
    pub changes: String,
}

/// What is done to zones that change.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Changes {
    /// Signed updates outstanding, where they go as fast as they are accepted.
    #[serde(default)]
    pub windows: Vec<u64>,
    /// The same for updates without a signature.
    #[serde(default)]
    pub unsigned_windows: Vec<u64>,
    /// Changes a second beside queries. None at all is always measured too.
    #[serde(default)]
    pub rates: Vec<u32>,
    /// Where updates have no end: octets of what is kept of them for IXFR.
    pub history_octets: Option<u64>,
    /// The same for Zonda's log.
    pub log_octets: Option<u64>,
    /// Where a large zone changes: records that change.
    #[serde(default)]
    pub records: usize,
    /// Values and ratios that shall be at least or at most so much.
    #[serde(default, rename = "target")]
    pub targets: Vec<ChangeTarget>,
}

/// A value, or a ratio of values of the same round, that shall be at least or at most so much.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ChangeTarget {
    /// Of what, as figures are named; without, of what the measure is about first.
    pub metric: Option<String>,
    /// Whose.
    pub of: Name,
    /// Where.
    pub at: String,
    /// Over whose; of several the best one in each round. Without, the value itself is meant.
    #[serde(default)]
    pub over: Vec<Name>,
    /// Where that is; the same place without.
    pub over_at: Option<String>,
    /// The least that it shall be.
    pub least: Option<f64>,
    /// The most.
    pub most: Option<f64>,
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

/// Echo servers that differ in their number of processes or in their cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EchoGroup {
    /// Name of the line or bars.
    pub name: String,
    /// How packets are waited for and moved, as `zonda-bench echo --model` takes it.
    #[serde(default = "fast_model")]
    pub model: String,
    /// Whether it takes and sends trains of packets (`--trains`), with the model `mmsg`.
    #[serde(default)]
    pub trains: bool,
    /// Numbers of processes, or `cores`: one to as many as the server has cores.
    #[serde(default)]
    pub processes: Processes,
    /// Threads of each process.
    #[serde(default = "one")]
    pub threads: usize,
    /// One socket for all, or one each.
    #[serde(default)]
    pub sockets: Sockets,
    /// Which cores they run on.
    #[serde(default)]
    pub cores: Placement,
    /// Which core receives the packets.
    #[serde(default)]
    pub receive: Receive,
    /// With one process, the rate shall be so many times that of the model `blocking`.
    pub over_blocking: Option<f64>,
}

/// Which core receives what comes to the servers, as that of the interrupts does of a network card.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Receive {
    /// As the bed has it.
    #[default]
    Bed,
    /// The last core of the machine.
    Last,
}

/// How many processes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Processes {
    /// One.
    #[default]
    One,
    /// One to as many as there are cores.
    EachToCores,
}

/// Sockets of an echo server.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Sockets {
    /// One for all.
    Shared,
    /// One each.
    #[default]
    Each,
}

/// Cores of an echo server.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The server's, in order.
    #[default]
    Server,
    /// Each core of the machine in turn, one process.
    EachCore,
    /// Each pair of cores in turn, one process on each of the two.
    EachPair,
    /// Each three cores in turn.
    EachTriple,
}

/// Cores of which all pairs and triples are measured, as many as the machine of the source had: 28 and 56. Of more, so many that are
/// spread evenly over all.
pub const COMBINED_CORES_MAX: usize = 8;

impl Placement {
    /// Sets of so many cores, each of which is a place.
    pub fn sets(self, cores: &[usize]) -> Vec<Vec<usize>> {
        let count = cores.len().min(COMBINED_CORES_MAX);
        let spread: Vec<usize> = (0..count).map(|at| cores[at * cores.len() / count]).collect();
        match self {
            Placement::Server => Vec::new(),
            Placement::EachCore => cores.iter().map(|&core| vec![core]).collect(),
            Placement::EachPair => combinations(&spread, 2),
            Placement::EachTriple => combinations(&spread, 3),
        }
    }
}

/// All choices of so many.
fn combinations(of: &[usize], count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let with = |(at, &first): (usize, &usize)| {
        let rest = combinations(&of[at + 1..], count - 1);
        rest.into_iter().map(move |rest| [vec![first], rest].concat())
    };
    of.iter().enumerate().flat_map(with).collect()
}

/// Settings of the generator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Generator {
    /// Name in the table.
    pub name: String,
    /// Which program.
    #[serde(default)]
    pub program: GeneratorProgram,
    /// Its options.
    pub options: Vec<String>,
    /// Our best rate shall be so many times that of this one, which is there to be compared with.
    pub best_over: Option<f64>,
}

/// Load generators.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum GeneratorProgram {
    /// `zonda-bench load`.
    #[default]
    Load,
    /// dnsperf of DNS-OARC.
    Dnsperf,
}

fn one() -> usize {
    1
}

fn neighbours() -> u32 {
    1
}

fn records_each() -> usize {
    103
}

fn nxdomain() -> f64 {
    0.05
}

fn fast_model() -> String {
    "mmsg".to_owned()
}
