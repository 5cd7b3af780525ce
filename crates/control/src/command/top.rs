//! What is said of the server while it is looked at: counts of a moment, of which two make rates, and who asks most.

use serde::{Deserialize, Serialize};

use super::{Count, ResolverStatus};

/// The server at a moment. Counts are those of `stats`, without help.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Top {
    /// Its version.
    pub version: String,
    /// Its process: counts of another one begin anew.
    pub pid: u32,
    /// Seconds since its start.
    pub uptime_seconds: u64,
    /// When this was read, in seconds of a clock that is never set.
    pub clock_seconds: f64,
    /// Time of processors that it has used, in seconds.
    pub cpu_seconds: f64,
    /// Queries by how they come.
    pub queries: Vec<Count>,
    /// Queries by type, those that were asked for.
    pub types: Vec<Count>,
    /// Responses by code, those that were given.
    pub rcodes: Vec<Count>,
    /// Datagrams, connections and what became of them, of all workers.
    pub transport: Vec<Count>,
    /// Answers beyond the limits of rates.
    pub limited: Vec<Count>,
    /// Of each worker.
    pub workers: Vec<WorkerCounts>,
    /// How many zones are in which state: `served`, `absent`, and of both `broken` and `stale`.
    pub zones: Vec<Count>,
    /// What the resolver answered and did; empty without one.
    pub resolver: Vec<Count>,
    /// How the resolver is, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver_status: Option<ResolverStatus>,
    /// Octets of memory by what they are for, as far as that is known without a look at all of it.
    pub memory: Vec<Count>,
    /// Memory of the process (resident set size), where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident_octets: Option<u64>,
    /// Who asks most, and for what; left out where nobody looks at that.
    #[serde(skip_serializing_if = "TopAsked::is_none")]
    pub asked: TopAsked,
}

/// Of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerCounts {
    /// Queries of both kinds.
    pub queries: u64,
    /// Of these over UDP.
    pub udp_queries: u64,
    /// Receive calls that brought some.
    pub udp_batches: u64,
    /// Datagrams that the system dropped, as a receive buffer was full.
    pub udp_receive_overflows: u64,
    /// Connections open now.
    pub tcp_open: u64,
}

/// Who asks most, and for what, from samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopAsked {
    /// For how many seconds it has been counted: from when somebody began to look.
    pub seconds: f64,
    /// Queries that were taken since then.
    pub samples: u64,
    /// One query in so many is taken now.
    pub one_in: u32,
    /// What was asked for.
    pub names: Frequent,
    /// Names right above those that do not exist.
    pub missing: Frequent,
    /// Names that got SERVFAIL.
    pub failed: Frequent,
    /// Who asked: addresses of IPv4, networks (/64) of IPv6.
    pub clients: Frequent,
    /// Zones of this server that the names are in.
    pub zones: Frequent,
    /// How long answers took that waited for nobody.
    pub took: Took,
}

impl TopAsked {
    fn is_none(&self) -> bool {
        self.one_in == 0
    }
}

/// How long answers took in the server, from when their batch was taken off its socket until it was rendered; faded as counts are. What they waited in the socket is not in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Took {
    /// Answers that it is counted of.
    pub answers: f64,
    /// For some shares the time that so many of them took at most.
    pub percentiles: Vec<Percentile>,
    /// How many took how long, where there are any, the shortest first.
    pub ranges: Vec<TimeRange>,
}

/// A share of answers, and how long these took at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percentile {
    /// In a hundred.
    pub percent: f64,
    /// By at most a quarter more than it was; left out: more than 50 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microseconds: Option<f64>,
}

/// Answers that took so long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeRange {
    /// Less than that; left out: whatever is longer than all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microseconds: Option<f64>,
    /// How many.
    pub answers: f64,
}

/// The most frequent of a kind. Counts fade by half in ten seconds; what stands here is that of now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frequent {
    /// Queries of all of the kind.
    pub sum: f64,
    /// Those with most of them, first.
    pub most: Vec<FrequentEntry>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrequentEntry {
    /// A name as zone files have it, `...` before it where labels were left out, or a client.
    pub key: String,
    /// Queries; never less than there were.
    pub count: f64,
    /// By how much that may be more than there were.
    pub error: f64,
}
