//! The words of the control socket: one JSON object a line, a request and then replies until [`Reply::End`].

use std::fmt;

use serde::{Deserialize, Serialize};
use sync::profile::{Report, Summary};

/// What an operator can ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// How the server is.
    Status,
    /// Its zones, or one of them.
    Zones {
        /// The one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// Only those of which this is so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<ZoneState>,
    },
    /// What was counted.
    Stats,
    /// Who is limited now.
    RateLimit,
    /// Who takes which lock and who waits, as counted until now; and what becomes of the counting.
    Locks {
        /// Whether to count from now on; as before if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<bool>,
        /// Whether to begin anew.
        #[serde(default)]
        clear: bool,
    },
    /// Which messages the log has, and what is to be from now on.
    LogLevel {
        /// The least important that are written, one of [`crate::log::LEVELS`]; as before if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        level: Option<String>,
    },
    /// Read settings and zones again as far as they have changed, or some zones.
    Reload {
        /// One.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// More.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        zones: Vec<String>,
        /// Whether to read what has not changed too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Read the settings again.
    Reconfigure,
    /// Ask the primaries of a zone whether they have a newer version.
    Refresh {
        /// The zone.
        zone: String,
    },
    /// Transfer all of a zone, whatever the serial of its primary.
    Retransfer {
        /// The zone.
        zone: String,
    },
    /// Serve one more zone.
    AddZone {
        /// Its name.
        zone: String,
        /// Its file, an absolute path.
        file: String,
        /// The catalog made here that is to list it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        catalog: Option<String>,
        /// Its groups there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        groups: Vec<String>,
    },
    /// Serve a zone no longer.
    RemoveZone {
        /// Its name.
        zone: String,
    },
    /// Catalogs that are followed, or one of them.
    Catalogs {
        /// The one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        catalog: Option<String>,
    },
    /// Let what waits of a catalog go on.
    ConfirmCatalog {
        /// The catalog.
        catalog: String,
    },
    /// Start the program anew and hand it the sockets; end once it answers.
    Upgrade {
        /// The program, an absolute path; that which this server was started from if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
        /// Seconds until it must be ready.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_seconds: Option<u64>,
    },
    /// End the server.
    Stop,
}

impl Request {
    /// Whether it changes what is served.
    pub(crate) fn is_change(&self) -> bool {
        matches!(
            self,
            Request::Reload { .. }
                | Request::Reconfigure
                | Request::AddZone { .. }
                | Request::RemoveZone { .. }
                | Request::ConfirmCatalog { .. }
        )
    }
}

/// What zones can be listed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneState {
    /// Its data are those of its file.
    Served,
    /// They are older than that.
    Stale,
    /// There are none.
    Absent,
    /// Signatures have expired.
    Expired,
    /// Errors or warnings were found in it.
    Findings,
}

impl ZoneState {
    /// As they are written.
    pub const WORDS: [&str; 5] = ["served", "stale", "absent", "expired", "findings"];

    /// The one that is written so.
    pub fn named(word: &str) -> Option<ZoneState> {
        use ZoneState::{Absent, Expired, Findings, Served, Stale};
        let at = Self::WORDS.iter().position(|known| *known == word)?;
        [Served, Stale, Absent, Expired, Findings].get(at).copied()
    }
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// To `status`.
    Status(Status),
    /// To `zones`, one for each.
    Zone(ZoneLine),
    /// To `stats`.
    Stats(Stats),
    /// To `rate-limit`.
    RateLimit(RateLimit),
    /// To `locks`.
    Locks(Locks),
    /// To `log-level`.
    LogLevel(LogLevel),
    /// To `catalogs`, one for each.
    Catalog(CatalogLine),
    /// To `confirm-catalog`.
    Confirmed {
        /// What was done.
        text: String,
    },
    /// To what changes zones.
    Change(ChangeLine),
    /// To `upgrade`.
    Upgraded(Upgraded),
    /// The request could not be understood or obeyed.
    Error {
        /// Why.
        message: String,
    },
    /// Nothing follows.
    End {
        /// Whether all went well.
        ok: bool,
    },
}

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
    /// What is wrong, as lines; none: all is well.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// When the first signatures of a zone expire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// The zone.
    pub zone: String,
    /// Seconds since 1970.
    pub expires: u64,
}

/// One zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZoneLine {
    /// Its name.
    pub zone: String,
    /// `served`, `absent` (SERVFAIL), `stale`: served as it was before its file became broken, or `removed` by command.
    pub state: String,
    /// Serial of its SOA record, if served.
    pub serial: Option<u32>,
    /// Its records.
    pub records: u64,
    /// Its names.
    pub names: u32,
    /// `NSEC`, `NSEC3` or nothing.
    pub signed: Option<String>,
    /// Where its data come from.
    pub source: String,
    /// Whether a command made it other than the settings have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_command: Option<ByCommand>,
    /// What is wrong with that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// When the first of its signatures expire, in seconds since 1970, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// Whether they have.
    #[serde(default)]
    pub expired: bool,
    /// Errors found when it was read, 65,535 also for more.
    #[serde(default)]
    pub errors: u16,
    /// Warnings found then.
    #[serde(default)]
    pub warnings: u16,
    /// Some of these, as lines, where they are still known; in lists none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Who got it, if anybody ever asked for it; in lists nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<TransfersOut>,
    /// Who was told of its last serial, if anybody is to be; in lists nobody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<NoticeLine>,
    /// The catalog because of which it is served, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_of: Option<String>,
    /// Of a zone that is transferred from others: how it stands with that, in words; in lists nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary: Option<String>,
    /// What came of asking for it; in lists nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers_in: Option<Box<TransfersIn>>,
}

/// What came of asking others for a zone since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransfersIn {
    /// Checks that were answered.
    pub checks: u64,
    /// Transfers of all of it.
    pub axfr: u64,
    /// Transfers of differences.
    pub ixfr: u64,
    /// Checks and transfers that came to nothing.
    pub in_vain: u64,
    /// The last transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<TransferIn>,
    /// The servers that it is asked of, in their order.
    pub primaries: Vec<PrimaryLine>,
}

/// A transfer that is served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferIn {
    /// `AXFR`, `IXFR`, or `AXFR in place of IXFR`.
    pub what: String,
    /// Whom it came from.
    pub primary: String,
    /// The serial that it led to.
    pub serial: u32,
    /// How many versions that were.
    pub versions: u64,
    /// Records that came.
    pub records: u64,
    /// Those of them that are not of the zone, which were left out.
    pub left_out: u64,
    /// Octets of messages.
    pub octets: u64,
    /// How long it took to come.
    pub millis: u64,
    /// For how many seconds it has been served.
    pub seconds: u64,
}

/// A server that a zone is asked of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PrimaryLine {
    /// What the settings call it, and its address.
    pub name: String,
    /// Whether it answers, in words.
    pub state: String,
    /// What it did wrong when this zone was asked for last, completing "the server".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Where to look because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// For how many seconds that has been so.
    #[serde(default)]
    pub seconds: u64,
}

/// A catalog that is followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CatalogLine {
    /// Its name.
    pub catalog: String,
    /// `followed`; `waits`: some of what it says waits until it is confirmed; `broken` or `absent`: its members stay as they are.
    pub state: String,
    /// Its serial, if it has data.
    pub serial: Option<u32>,
    /// Zones that it lists, as far as that was carried out.
    pub members: u64,
    /// Those of them that are served because of it.
    pub served: u64,
    /// What waits, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// What was done last, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    /// When, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<u64>,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The first members that are not served as it says, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clashes: Vec<String>,
    /// The first members, with their templates; in lists none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

impl CatalogLine {
    /// Whether it is not as it should be.
    pub fn is_wrong(&self) -> bool {
        self.state != "followed" || !self.problems.is_empty()
    }
}

/// How it stands with telling another server of a new serial (NOTIFY).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoticeLine {
    /// The name of the server in the settings.
    pub remote: String,
    /// The serial.
    pub serial: u32,
    /// Whether it heard, in words.
    pub state: String,
    /// For how many seconds it has stood so.
    pub seconds: u64,
}

/// Transfers of a zone to others since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransfersOut {
    /// Under way.
    pub now: usize,
    /// Begun.
    pub begun: u64,
    /// Sent to their end.
    pub completed: u64,
    /// Broken off.
    pub broken: u64,
    /// Requests that got none.
    pub refused: u64,
    /// Octets sent.
    pub octets: u64,
    /// The last one that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<TransferLine>,
}

/// A transfer that is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferLine {
    /// Address of who got it.
    pub client: String,
    /// The key of its request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `AXFR`, `IXFR`, or `SOA` where there was nothing newer.
    pub what: String,
    /// The serial of what was sent.
    pub serial: u32,
    /// Records sent.
    pub records: u64,
    /// Octets sent.
    pub octets: u64,
    /// When it was over, in seconds since 1970.
    pub at: u64,
    /// Why it is not complete, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ZoneLine {
    /// Whether it is not as it should be: without data, or with old ones or old signatures.
    pub fn is_wrong(&self) -> bool {
        self.expired || matches!(self.state.as_str(), "absent" | "stale")
    }

    /// Whether it is one of those.
    pub fn is(&self, state: ZoneState) -> bool {
        match state {
            ZoneState::Served => self.state == "served",
            ZoneState::Stale => self.state == "stale",
            ZoneState::Absent => self.state == "absent",
            ZoneState::Expired => self.expired,
            ZoneState::Findings => self.errors > 0 || self.warnings > 0,
        }
    }
}

/// How a zone is not as the settings say, until the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ByCommand {
    /// They do not have it, or from elsewhere.
    Added,
    /// They have it, and it is not served.
    Removed,
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
    /// Responses by code.
    pub rcodes: Vec<Count>,
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

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeLine {
    /// In words.
    pub summary: String,
    /// Zones loaded anew.
    pub loaded: usize,
    /// Zones whose files had not changed.
    pub unchanged: usize,
    /// Zones not served before.
    pub added: usize,
    /// Zones no longer served.
    pub removed: usize,
    /// Zones that could not be loaded.
    pub failed: Vec<String>,
    /// What is wrong, as lines.
    pub errors: Vec<String>,
    /// What is merely odd, as lines.
    pub warnings: Vec<String>,
    /// How long it took.
    pub milliseconds: f64,
}
