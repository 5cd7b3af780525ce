//! What threads count and time.

use std::time::{Duration, Instant};

use bench::percentiles::{self, Words};
use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

/// Longest time a histogram tells from longer ones.
const SECONDS_MAX: u32 = 60;

/// A histogram of times.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Times {
        Times(percentiles::histogram(SECONDS_MAX))
    }
}

impl Times {
    /// One more.
    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record((time.as_nanos() as u64).max(1));
    }

    /// Those of another.
    pub fn add(&mut self, other: &Times) {
        // Of the same bounds.
        let _ = self.0.add(&other.0);
    }

    /// Percentiles in microseconds.
    pub fn json(&self) -> Value {
        percentiles::json(&self.0).into()
    }

    /// The same in words.
    pub fn words(&self) -> Words<'_> {
        Words(&self.0)
    }
}

/// What one thread did while it was measured.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Questions.
    pub answered: u64,
    /// Those that the cache did not have.
    pub misses: u64,
    /// Those of them that did not find a place in it.
    pub unlearned: u64,
    /// Those that there was no memory for.
    pub starved: u64,
    /// For how long.
    pub time: Duration,
    /// Processor time.
    pub cpu: Duration,
    /// Of whole questions, where that is asked for.
    pub questions: Times,
    /// Of their waiting for locks.
    pub waits: Times,
}

/// When the measured part of a thread began.
pub struct Began {
    at: Instant,
    cpu: Duration,
}

impl Began {
    /// Now.
    pub fn now() -> Began {
        Began { at: Instant::now(), cpu: thread_cpu() }
    }

    /// Time and processor time since.
    pub fn until_now(&self) -> (Duration, Duration) {
        (self.at.elapsed(), thread_cpu().saturating_sub(self.cpu))
    }
}

fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
