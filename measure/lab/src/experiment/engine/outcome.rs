//! What a run of the engine says, as far as it is shown.

use serde::Deserialize;
use serde_json::Value;

use crate::recipe::Shown;

/// Shorter waits are none: the engine counts in nanoseconds, from one up, and reading the clock takes some twenty.
const WAIT_LEAST_US: f64 = 0.01;

/// The result of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct Outcome {
    /// Answers a second.
    pub rate: f64,
    /// Processor time of the threads by query.
    cpu_us_per_query: Option<f64>,
    /// Changes.
    pub writes: Option<Writes>,
    /// Whole queries.
    query_us: Option<Times>,
    /// The part of them spent waiting for locks.
    wait_us: Option<Times>,
    /// What the profiler saw.
    pub locks: Option<Locks>,
}

/// Changes beside the queries.
#[derive(Clone, Debug, Deserialize)]
pub struct Writes {
    /// Asked for in all.
    pub asked: f64,
    /// Made in all.
    pub done: f64,
    /// How long each took.
    us: Option<Times>,
    /// Seconds of the run; filled in.
    #[serde(skip)]
    seconds: f64,
}

impl Writes {
    /// Made in a second.
    pub fn rate(&self) -> f64 {
        self.done / self.seconds
    }
}

/// Quantiles.
#[derive(Clone, Debug, Deserialize)]
struct Times {
    p99: f64,
    #[serde(rename = "p99.9")]
    p99_9: f64,
}

/// The profiler's report.
#[derive(Clone, Debug, Deserialize)]
pub struct Locks {
    /// Share of the threads' time that they waited.
    pub share_waited: f64,
    /// What for.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// All locks.
    #[serde(default)]
    pub locks: Vec<Lock>,
}

/// A reason to wait.
#[derive(Clone, Debug, Deserialize)]
pub struct Cause {
    /// What for.
    pub name: String,
    /// Share of the waiting.
    pub share: f64,
}

/// All locks that a line made.
#[derive(Clone, Debug, Deserialize)]
pub struct Lock {
    /// What they are for.
    pub name: String,
    /// The line that made them, and all acquisitions.
    #[serde(flatten)]
    pub made: Line,
    /// The lines that took them.
    #[serde(default)]
    pub lockers: Vec<Line>,
}

/// A line of the program and what happened there.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    /// Path as the compiler had it.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// Acquisitions.
    pub count: u64,
    /// Seconds held.
    pub held_s: f64,
    /// Seconds waited for.
    pub waited_s: f64,
}

impl Outcome {
    /// Reads a result; `None` without a rate.
    pub fn of(raw: &Value) -> Option<Outcome> {
        let mut outcome = Outcome::deserialize(raw).ok().filter(|outcome| outcome.rate > 0.0)?;
        if let Some(writes) = &mut outcome.writes {
            writes.seconds = raw["seconds"].as_f64().filter(|&seconds| seconds > 0.0)?;
        }
        Some(outcome)
    }

    /// The value of what is shown, where the run has it.
    pub fn value(&self, shown: Shown) -> Option<f64> {
        match shown {
            Shown::Rate => Some(self.rate),
            Shown::Cpu => self.cpu_us_per_query,
            Shown::Wait => self.wait_us.as_ref().map(|times| times.p99_9).map(waited),
            Shown::Query => self.query_us.as_ref().map(|times| times.p99_9),
            Shown::Write => Some(self.writes.as_ref()?.us.as_ref()?.p99),
            Shown::Written => self.writes.as_ref().map(Writes::rate),
            Shown::Waited => self.locks.as_ref().map(|locks| locks.share_waited),
            // Of two runs, or no number.
            Shown::Ratio | Shown::Lines => None,
        }
    }
}

/// Nothing, where it is less than a clock can tell.
fn waited(microseconds: f64) -> f64 {
    if microseconds < WAIT_LEAST_US { 0.0 } else { microseconds }
}

/// The result as it is kept: every line that takes a lock, of every run, would be most of the record.
pub fn without_lockers(mut raw: Value) -> Value {
    if let Some(locks) = raw["locks"].as_object_mut() {
        locks.remove("locks");
    }
    raw
}
