//! What happens to servers: changes of zones and what comes of them, histories, floods.

use serde::Deserialize;

use super::Name;

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

fn neighbours() -> u32 {
    1
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
    /// Where zones are read again: queries a second meanwhile; half of what a server answers without.
    pub query_rate: Option<u32>,
    /// There too: milliseconds from the end of one reload to the next.
    #[serde(default)]
    pub rest_ms: u32,
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

fn one() -> usize {
    1
}
