//! The words of the control socket: one JSON object a line, a request and then replies until [`Reply::End`].

mod cache;
mod server;
mod top;
mod transfers;
mod why;
mod zone;

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use self::cache::{
    AnchorLine, CacheCommand, CacheEntry, CacheStats, Explanation, NegativeCommand, RequestLine, ServerLine,
    Waited,
};
pub use self::server::{
    AuditLine, ChangesLog, Count, Expiry, LimitedAccount, Locks, LogLevel, LogLine, LogNumbers, Memory,
    RateLimit, Reloaded, ResolverStatus, Stats, Status, Switch, Upgraded,
};
pub use self::top::{Frequent, FrequentEntry, Percentile, TimeRange, Took, Top, TopAsked, WorkerCounts};
pub use self::transfers::{NoticeLine, PrimaryLine, TransferIn, TransferLine, TransfersIn, TransfersOut};
pub use self::why::{Response, Step, Why};
pub use self::zone::{ByCommand, CatalogLine, ChangeLine, Changes, Explained, StoreLine, TextLine, ZoneLine};

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
    /// Counts of a moment, and who asks most and for what: that is counted from the first of these on, until none has come for five seconds.
    Top {
        /// For how many seconds to look before the reply, at most 60; none if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
    },
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
    /// The last warnings and errors of the log.
    Log,
    /// Which messages the log has, and what is to be from now on.
    LogLevel {
        /// The least important that are written, one of [`crate::log::LEVELS`]; as before if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        level: Option<String>,
    },
    /// What is told to who collects queries and responses (dnstap).
    Dnstap {
        /// What becomes of it.
        switch: Switch,
    },
    /// Lines about queries.
    QueryLog {
        /// What becomes of them.
        switch: Switch,
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
    /// Write the texts of zones that have changed since these were read.
    Sync {
        /// Which.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        zones: Vec<String>,
        /// Whether all.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
        /// Whether also what includes other files, or was edited in a way that cannot be taken in.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Refuse updates of a zone, and write its text.
    Freeze {
        /// The zone.
        zone: String,
        /// As for `sync`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Read the text of a zone that is frozen, and let updates in again.
    Thaw {
        /// The zone.
        zone: String,
        /// Instead: let updates of a zone in again that the log has lost changes of.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        accept_loss: bool,
    },
    /// Say whether somebody may change something by an update, and which rule says so.
    ExplainUpdate {
        /// The zone.
        zone: String,
        /// The address that the update comes from.
        from: String,
        /// The key that signs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Whether it comes over TCP.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tcp: bool,
        /// The name that is to be changed.
        name: String,
        /// The types.
        types: Vec<String>,
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
    /// Stores that are followed, or one of them.
    Stores {
        /// The one, by its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        store: Option<String>,
    },
    /// Let what waits of a store go on.
    ConfirmStore {
        /// The store, by its name.
        store: String,
    },
    /// Let a key of the API in no more, at once and for good.
    RevokeApiKey {
        /// Its name.
        key: String,
    },
    /// Where the page of the API is, with a code that lets in once.
    Page,
    /// Sign everybody out of the page of the API.
    EndPageSessions,
    /// Let keys of the API in again, where nobody is as the file of those that were revoked is damaged.
    ConfirmApiKeys,
    /// The cache of the resolver.
    Cache {
        /// What of it.
        cache: CacheCommand,
    },
    /// Names that the resolver does not validate for a while.
    NegativeAnchor {
        /// What of them.
        anchor: NegativeCommand,
    },
    /// The trust anchors of the resolver.
    Anchors,
    /// What the resolver is finding out now.
    Requests,
    /// Find something out anew, and say how.
    Explain {
        /// The name.
        name: String,
        /// The type.
        #[serde(rename = "type")]
        rtype: String,
    },
    /// Why a question is answered as it is, from zones.
    Why {
        /// The name.
        name: String,
        /// The type.
        #[serde(rename = "type")]
        rtype: String,
        /// Whether it comes over TCP.
        #[serde(default)]
        tcp: bool,
        /// Whether it has DO.
        #[serde(default)]
        dnssec: bool,
        /// Of which client it is said whether it may ask.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<IpAddr>,
    },
    /// The servers that a name is asked of.
    Servers {
        /// The name.
        name: String,
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
    /// Whether it changes what is served, or who may change it.
    pub(crate) fn is_change(&self) -> bool {
        matches!(
            self,
            Request::Reload { .. }
                | Request::Reconfigure
                | Request::Sync { .. }
                | Request::Freeze { .. }
                | Request::Thaw { .. }
                | Request::AddZone { .. }
                | Request::RemoveZone { .. }
                | Request::ConfirmCatalog { .. }
                | Request::ConfirmStore { .. }
                | Request::RevokeApiKey { .. }
                | Request::ConfirmApiKeys
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

/// Where the page is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAddress {
    /// The address; behind `#in=` it has a code, which is good once.
    pub address: String,
    /// What is to be run first where the browser is, if the page is for this machine alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
    /// For how many seconds the code is good.
    pub seconds: u64,
}

/// Without the code.
impl fmt::Debug for PageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageAddress").field("seconds", &self.seconds).finish_non_exhaustive()
    }
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// To `status`.
    Status(Box<Status>),
    /// To `zones`, one for each.
    Zone(Box<ZoneLine>),
    /// To `stats`.
    Stats(Stats),
    /// To `top`.
    Top(Box<Top>),
    /// To `rate-limit`.
    RateLimit(RateLimit),
    /// To `locks`.
    Locks(Locks),
    /// To `log`, one for each.
    LogLine(LogLine),
    /// To `log-level`.
    LogLevel(LogLevel),
    /// To `catalogs`, one for each.
    Catalog(CatalogLine),
    /// To `stores`, one for each.
    Store(Box<StoreLine>),
    /// To `confirm-catalog`, `confirm-store`, `revoke-api-key`, `confirm-api-keys`, `end-page-sessions`, `dnstap` and `query-log`.
    Confirmed {
        /// What was done.
        text: String,
    },
    /// To `page`.
    Page(PageAddress),
    /// To what changes zones.
    Change(ChangeLine),
    /// To what is done to texts, one for each zone.
    Text(TextLine),
    /// To `explain-update`.
    Explained(Explained),
    /// To `cache stats`.
    CacheStats(CacheStats),
    /// To `cache show`, one for each entry.
    CacheEntry(CacheEntry),
    /// To `cache flush`.
    Flushed {
        /// How many entries were forgotten.
        entries: u64,
    },
    /// To `cache write`.
    Written {
        /// How many entries were written.
        entries: u64,
    },
    /// To `negative-anchor`, one for each.
    NegativeAnchor {
        /// Its name.
        name: String,
        /// Seconds that are left.
        seconds: u64,
    },
    /// To `anchors`, one for each key and DS record.
    Anchor(AnchorLine),
    /// To `requests`, one for each.
    Request(RequestLine),
    /// To `explain`.
    Explanation(Box<Explanation>),
    /// To `why`.
    Why(Why),
    /// To `servers`, one for each address.
    Server(ServerLine),
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
