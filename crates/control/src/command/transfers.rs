//! What is said of the transfers of a zone, from others and to others, and of telling them.

use serde::{Deserialize, Serialize};

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
