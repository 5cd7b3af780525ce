//! Lengths and sizes of a run, each declared once with its default and its range.

use std::fmt;

use serde::Deserialize;

/// How often servers are started where rates are measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// In each block, so that no block inherits how memory was laid out in the one before.
    Block,
    /// Once for all blocks of a case, where loading takes long.
    Case,
}

impl fmt::Display for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Restart::Block => "block",
            Restart::Case => "case",
        })
    }
}

/// Which form of a recipe runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For figures.
    Full,
    /// Short but complete: good to see that all works.
    Quick,
    /// A self-check of seconds.
    Check,
}

/// Declares the numbers of a recipe once: as they stand in a file (all optional), and with their defaults filled in.
macro_rules! effort {
    ($($(#[$doc:meta])* $field:ident: $kind:ty = $default:expr, $range:expr;)*) => {
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct EffortText {
            $($field: Option<$kind>,)*
        }

        /// Nothing is said.
        const UNSAID: EffortText = EffortText { $($field: None,)* };

        /// Lengths and sizes of a run.
        #[derive(Clone, Debug)]
        pub struct Effort {
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl Effort {
            /// The first that says something counts.
            pub fn of(texts: &[&EffortText]) -> Effort {
                Effort { $($field: texts.iter().find_map(|text| text.$field).unwrap_or($default),)* }
            }

            /// The first number that is out of its range, and the range.
            pub fn fault(&self) -> Option<String> {
                $(if !$range.contains(&self.$field) {
                    let name = stringify!($field).replace('_', "-");
                    return Some(format!("{name} = {}: expected from {} to {}", self.$field, $range.start(), $range.end()));
                })*
                None
            }
        }
    };
}

effort! {
    /// Blocks: each measures every contender once.
    blocks: usize = 8, (1..=1000);
    /// Trials of a staircase that count.
    trials: usize = 100, (1..=10_000);
    /// Length of a trial: short, so that all have one before the machine changes its pace.
    trial_seconds: f64 = 0.3, (0.02..=60.0);
    /// Steps of a staircase, as share of the rate.
    width: f64 = 0.03, (0.001..=1.0);
    /// First rate tried.
    rate_start: f64 = 50_000.0, (1.0..=1e8);
    /// Echo servers that bracket a block: the limit that shares are of. Fewer where servers are compared with each other alone.
    echo_servers: usize = 2, (0..=2);
    /// Most the echoes of a block may differ.
    echo_spread: f64 = 0.05, (0.0..=10.0);
    /// Most of the used cores' time that the hypervisor may take in a run, or in a trial of a staircase, that counts: as much as
    /// other programs may take, since time taken is time taken. A rate loses as large a share, less than the three hundredths below
    /// which nothing is claimed of rates. Less would be a tick or none in a trial, and no run of half a minute on a shared machine.
    stolen_share: f64 = 0.02, (0.0..=1.0);
    /// How late the last reply of a trial may come, as share of its length.
    overtime_share: f64 = 0.01, (0.0..=1.0);
    /// How late the latest hundredth of the queries may leave.
    lateness_ms: f64 = 150.0, (0.001..=60_000.0);
    /// The same where latency is measured, which counts from when a query was to leave: five times what a generator with a core of
    /// its own shows where nothing disturbs it (12 to 22 us in the latency runs of a record of `root`). More would be in the
    /// 99th percentile of a server that answers in 20 us.
    latency_lateness_ms: f64 = 0.1, (0.001..=60_000.0);
    /// How often the generator sends what is due; it sleeps in between.
    gather_us: u64 = 250, (0..=100_000);
    /// When a reply counts as lost.
    timeout_ms: u64 = 500, (1..=60_000);
    /// Source ports.
    flows: usize = 1024, (1..=28_000);
    /// Warm-up of a server before its staircase.
    warm_seconds: f64 = 1.0, (0.01..=600.0);
    /// Runs at each of the loads that latency is measured at.
    latency_runs: usize = 5, (0..=1000);
    /// Length of each.
    latency_seconds: f64 = 8.0, (0.1..=3600.0);
    /// Length of the trials of the search for the rate without any loss; 0 for no search.
    loss_free_seconds: f64 = 0.0, (0.0..=600.0);
    /// Precision of that rate, as share of it.
    loss_free_width: f64 = 0.05, (0.001..=1.0);
    /// Length of the trials at shares of the rate, up to twice as much; 0 for none.
    beyond_seconds: f64 = 0.0, (0.0..=600.0);
    /// Runs at each of these shares.
    beyond_runs: usize = 1, (1..=1000);
    /// For how long another program's generator checks each rate, once a block; 0 for no check.
    cross_seconds: f64 = 0.0, (0.0..=600.0);
    /// Scale of generated zones.
    scale: f64 = 1.0, (1e-6..=10.0);
    /// Queries drawn from a zone.
    queries: usize = 1_000_000, (100..=20_000_000);
    /// Questions that all contenders are asked before they are timed.
    agreement: usize = 500, (0..=100_000);
    /// Most of all cores' time that programs outside the experiment may take in a run: a quiet system takes less than 1 %.
    others_share: f64 = 0.02, (0.0..=1.0);
    /// Runs of each echo server, generator or start.
    runs: usize = 10, (1..=1000);
    /// Of these the first in which contenders take part that no target is about.
    peer_runs: usize = 1000, (1..=1000);
    /// Pairs of runs with and without changes at rates of which a target says something; elsewhere as many as there are runs.
    pairs: usize = 1, (1..=1000);
    /// Length of a run.
    run_seconds: f64 = 10.0, (0.05..=3600.0);
    /// Queries of the shorter of two runs whose difference is counted; the other has twice as many. Few of them drown in the
    /// variation of starts.
    counted: usize = 50_000, (100..=10_000_000);
    /// Queries outstanding in closed loops.
    window: u64 = 500, (1..=1_048_576);
    /// Updates that are sent as fast as they are accepted, if the length of a run allows.
    updates: usize = 10_000, (1..=10_000_000);
    /// Versions of a history that are replayed, the first included; fewer where it has fewer.
    versions: usize = 1_000_000, (2..=1_000_000);
    /// When an update beside queries counts as lost: what comes later was overtaken by the end of its run.
    update_timeout_ms: u64 = 2000, (1..=600_000);
    /// How often servers are started.
    restart: Restart = Restart::Block, (Restart::Block..=Restart::Case);
    /// How long a server may take to load its zones.
    load_seconds: f64 = 900.0, (1.0..=86_400.0);
}

/// The self-check of every recipe, which states only what differs: the least of everything that still has all parts.
pub const CHECK: EffortText = EffortText {
    blocks: Some(1),
    trials: Some(1),
    trial_seconds: Some(0.05),
    width: Some(1.0),
    rate_start: Some(2000.0),
    echo_spread: Some(10.0),
    overtime_share: Some(1.0),
    flows: Some(64),
    warm_seconds: Some(0.05),
    latency_runs: Some(1),
    latency_seconds: Some(0.1),
    cross_seconds: Some(0.05),
    agreement: Some(40),
    queries: Some(1000),
    load_seconds: Some(60.0),
    runs: Some(1),
    run_seconds: Some(0.1),
    updates: Some(20),
    counted: Some(200),
    update_timeout_ms: Some(300),
    ..UNSAID
};
