//! What is said of a zone or a catalog, and of what a command did to it.

use serde::{Deserialize, Serialize};

use super::ZoneState;
use super::transfers::{NoticeLine, TransfersIn, TransfersOut};

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
    /// The key of the API that made it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// The store that it comes from, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_store: Option<String>,
    /// How it stands with that, in words, and what another owner says of the zone; in lists nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub store: Vec<String>,
    /// What has changed since the text was read; in lists nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Box<Changes>>,
    /// Whether it takes no updates, as its text is being edited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// Why it takes no updates, as the log has lost some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Box<str>>,
    /// Of a zone that is transferred from others: how it stands with that, in words; in lists nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary: Option<String>,
    /// What came of asking for it; in lists nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers_in: Option<Box<TransfersIn>>,
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

/// What has changed in a zone since its text was read or written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The serial of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_serial: Option<u32>,
    /// Versions since the pack below was made.
    pub versions: u32,
    /// Octets of memory of what has changed since.
    pub octets: u64,
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

/// A store that is followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreLine {
    /// Its name.
    pub store: String,
    /// Where it is.
    pub url: String,
    /// `followed`; `starting` and `listing` before that; `away`: it cannot be read; `another`: there is another database at its address.
    pub state: String,
    /// By which its database is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Zones that are of it.
    pub zones: u64,
    /// Whose tables it has: `zonda`, `powerdns`.
    #[serde(default)]
    pub schema: String,
    /// Whether changes by plain SQL wait until somebody makes versions of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Zones that are not served as it has them.
    #[serde(default)]
    pub refused: u64,
    /// The first of them, with the reasons; in lists none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<String>,
    /// The first zones that are served without some of their rows, and which these are; in lists none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// What is gone or went back and waits, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// What was served last, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// When, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<u64>,
    /// Whether it is heard when the database says that something is new, in words; left out where it does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
    /// The number of the process that reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl StoreLine {
    /// Whether it is not as it should be.
    pub fn is_wrong(&self) -> bool {
        !self.problems.is_empty() || self.refused > 0 || self.waits.is_some()
    }
}

/// What became of the text of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextLine {
    /// The zone.
    pub zone: String,
    /// In words.
    pub message: String,
    /// The serial that was written, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<u32>,
}

/// Whether somebody may change something, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// Whether all of it would be granted.
    pub granted: bool,
    /// What was looked at, in its order, and what that says.
    pub lines: Vec<String>,
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
