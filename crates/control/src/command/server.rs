//! What is said of the server: its state, what it counted, its memory, limits and locks.

use std::fmt;

use serde::{Deserialize, Serialize};
use sync::profile::{Report, Summary};

/// How the server is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Seconds since its start.
    pub uptime_seconds: u64,
    /// Addresses it listens on.
    pub listen: Vec<String>,
    /// Threads that answer.
    pub workers: usize,
    /// Zones it answers from.
    pub zones_loaded: usize,
    /// Zones it has no data of: their queries get SERVFAIL.
    pub zones_absent: usize,
    /// Zones whose file could not be loaded when that was tried last.
    pub zones_broken: usize,
    /// Zones that are served as they were before their file, or the list that they are in, became broken.
    #[serde(default)]
    pub zones_stale: usize,
    /// Zones some of whose signatures have expired.
    #[serde(default)]
    pub zones_expired: usize,
    /// Zones in which errors were found when they were read.
    #[serde(default)]
    pub zones_with_errors: usize,
    /// Zones in which warnings and no errors were found.
    #[serde(default)]
    pub zones_with_warnings: usize,
    /// Zones that were made over the API.
    #[serde(default)]
    pub zones_made: usize,
    /// When all zones were looked at last for what is known of their records, findings and signatures, in seconds since 1970; none before the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<u64>,
    /// What the last reload of the settings said, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reload: Option<Reloaded>,
    /// Keys of the API that are in the settings and were revoked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_keys_revoked: Vec<String>,
    /// The zone whose signatures expire next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_expiry: Option<Expiry>,
    /// Records in all zones.
    pub records: u64,
    /// Packs they are in.
    pub packs: usize,
    /// Octets of the packs.
    pub pack_octets: u64,
    /// Memory of the process (proportional set size), where the system tells.
    pub memory_octets: Option<u64>,
    /// The settings file.
    pub settings: Option<String>,
    /// Of the resolver, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<ResolverStatus>,
    /// What the log had since the start.
    #[serde(default)]
    pub log: LogNumbers,
    /// What is wrong, as lines; none: all is well.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// What a reload of the settings said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reloaded {
    /// When it was over, in seconds since 1970.
    pub at: u64,
    /// Whether the settings were refused: they stay as they were, and so do all zones.
    pub refused: bool,
    /// What it did.
    pub summary: String,
    /// What was wrong, as lines; of many the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// How many lines there were beside these.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_errors: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// How the resolver is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResolverStatus {
    /// The access lists whose clients may recurse; none: nobody.
    pub clients: Vec<String>,
    /// Whether it validates.
    pub validates: bool,
    /// Zones that others than their servers are asked about: `[[forward]]` and `[[stub]]`.
    pub asks_elsewhere: Vec<String>,
    /// Entries in its cache.
    pub cache_entries: u64,
    /// Octets of these.
    pub cache_entry_octets: u64,
    /// Octets that it may have.
    pub cache_octets: u64,
    /// Whether no name server has answered for some seconds: there seems to be no network.
    pub is_network_out: bool,
}

/// When the first signatures of a zone expire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// The zone.
    pub zone: String,
    /// Seconds since 1970.
    pub expires: u64,
}

/// What was counted since the start, all workers together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Seconds since the start.
    pub uptime_seconds: u64,
    /// Queries, what they asked for and what became of them.
    pub answers: Vec<Count>,
    /// Queries by the type that they ask for; those that were asked for.
    #[serde(default)]
    pub types: Vec<Count>,
    /// Queries by how they come.
    #[serde(default)]
    pub queries: Vec<Count>,
    /// What the resolver answered and did, if there is one.
    #[serde(default)]
    pub resolver: Vec<Count>,
    /// Responses by code.
    pub rcodes: Vec<Count>,
    /// What others were told of queries, if anybody is told.
    #[serde(default)]
    pub observed: Vec<Count>,
    /// Answers beyond the limits of rates.
    #[serde(default)]
    pub limited: Vec<Count>,
    /// Datagrams, connections and what became of them.
    pub transport: Vec<Count>,
    /// Zones that are held for what takes long.
    #[serde(default)]
    pub zones: Vec<Count>,
    /// Memory, where the system tells.
    #[serde(default)]
    pub memory: Option<Memory>,
}

/// One count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// Its name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// What is counted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}

/// The log of changes: what zones that are updated have until it is in their packs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangesLog {
    /// `ready`; `not begun`: nothing has changed since the start; `held`: another server may be about to take over; `refuses changes`.
    pub state: String,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Changes that wait for it.
    pub waiting: u64,
    /// Seconds that it has waited for the disk, if it does now.
    pub writing_seconds: u64,
    /// Its files.
    pub segments: u64,
    /// How many there may be.
    pub segments_max: u64,
    /// Groups written since it was begun: those that one sync is for.
    pub groups: u64,
    /// Versions in them, and other records.
    pub records: u64,
    /// Octets of these.
    pub octets: u64,
    /// Microseconds that a group took to be on the disk, the mean.
    pub write_us: u64,
    /// The longest.
    pub write_us_max: u64,
}

/// The audit of the HTTP API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditLine {
    /// Where it is.
    pub output: String,
    /// Lines written since the start.
    pub written: u64,
    /// Lines that were lost, as they found no room.
    pub lost: u64,
    /// Octets that wait to be written.
    pub waiting_octets: u64,
    /// Times that it could not be written to.
    pub failed: u64,
}

/// Memory of the process, in octets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// By what it is for.
    pub parts: Vec<Count>,
    /// The sum of the parts.
    pub sum: u64,
    /// What the process has (resident set size).
    pub resident: u64,
    /// What the system may keep beside that of datagrams that wait.
    pub system_max: u64,
}

/// Who is limited now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateLimit {
    /// `off`, `on`, or `log-only`.
    pub state: String,
    /// Those with most refusals in the last second first.
    pub accounts: Vec<LimitedAccount>,
}

/// An account that is full, or was a moment ago.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitedAccount {
    /// Whose: a prefix, or `all`.
    pub clients: String,
    /// Answers of which kind; `all` where that does not matter.
    pub answers: String,
    /// Which setting limits them.
    pub limit: String,
    /// For how long.
    pub seconds: u64,
    /// Refused in the last second.
    pub refused_per_second: u64,
    /// Refused since it began.
    pub refused: u64,
}

/// Who takes which lock, for how long, and who waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Locks {
    /// Whether it is counted now.
    pub on: bool,
    /// For how many seconds it was, since the start or the last `clear`.
    pub seconds: f64,
    /// Threads that answer.
    pub threads: usize,
    /// What these waited for, beside the time that they had.
    pub workers: Summary,
    /// The locks that any thread took.
    pub all: Report,
}

impl fmt::Display for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, workers) = (&self.all, &self.workers);
        writeln!(f, "{all}workers: {}", workers.waiting())
    }
}

/// How many warnings and errors the log had since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogNumbers {
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// When the last of both came, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<u64>,
}

/// A warning or an error of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// `error` or `warn`.
    pub level: String,
    /// What it says; of long ones the beginning.
    pub message: String,
    /// How often it came, as far as it was kept.
    pub count: u64,
    /// When it came first, in seconds since 1970.
    pub first_at: u64,
    /// When it came last.
    pub last_at: u64,
}

/// Which messages the log has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLevel {
    /// The least important that are written from now on.
    pub level: String,
    /// The same until now.
    pub was: String,
}

/// Which server answers from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upgraded {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The process that has handed over to it, and ends once the TCP connections that it has are closed or idle.
    pub old_pid: u32,
    /// From the start of the program until it had taken over.
    pub milliseconds: u64,
}

/// What becomes of dnstap or the query log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// It is written, to where the settings say.
    On,
    /// It is not, until an operator or other settings say so.
    Off,
    /// What it is written to is closed and opened again.
    Reopen,
}

impl Switch {
    /// As they are written.
    pub const WORDS: [&str; 3] = ["on", "off", "reopen"];

    /// The one that is written so.
    pub fn named(word: &str) -> Option<Switch> {
        let at = Self::WORDS.iter().position(|known| *known == word)?;
        [Switch::On, Switch::Off, Switch::Reopen].get(at).copied()
    }
}
