//! What a run brought.

use std::{fmt, time::Duration};

use serde_json::{Value, json};
use sync::profile::Summary;

use crate::{
    settings::Settings,
    tally::{Tally, Times},
    writer::Writes,
};

/// See the module.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was asked for.
    pub settings: Settings,
    /// How long it was measured.
    pub seconds: Duration,
    /// Of each thread.
    pub tallies: Vec<Tally>,
    /// Processor time of publishing what was learned.
    pub publisher_cpu: Duration,
    /// Where there was a writer.
    pub writes: Option<Writes>,
    /// Where the profiler was on.
    pub locks: Option<Summary>,
}

impl Outcome {
    /// Questions answered.
    pub fn answered(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.answered).sum()
    }

    /// Questions a second, all threads together; each by its own clock.
    pub fn rate(&self) -> f64 {
        let rate = |tally: &Tally| tally.answered as f64 / tally.time.as_secs_f64().max(1e-9);
        self.tallies.iter().map(rate).sum()
    }

    /// Processor time of the threads that answer, and of publishing for them.
    pub fn cpu(&self) -> Duration {
        self.tallies.iter().map(|tally| tally.cpu).sum::<Duration>() + self.publisher_cpu
    }

    /// Misses whose answers did not come into the cache.
    pub fn unlearned(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.unlearned).sum()
    }

    fn cpu_us_per_query(&self) -> f64 {
        self.cpu().as_secs_f64() * 1e6 / self.answered().max(1) as f64
    }

    fn times(&self, of: impl Fn(&Tally) -> &Times) -> Times {
        let mut all = Times::default();
        self.tallies.iter().for_each(|tally| all.add(of(tally)));
        all
    }

    /// As a JSON object: times in microseconds where the key ends in `us`, else in seconds.
    pub fn json(&self) -> Value {
        let Settings { protection, memory, data, threads, names, quota, .. } = &self.settings;
        let mut value = json!({
            "protection": protection.name(), "memory": memory.name(), "data": data.name(), "threads": threads,
            "own": self.settings.is_own(), "names": names.name(),
            "quota": quota, "buckets": self.settings.bucket_count(),
            "answered": self.answered(), "seconds": self.seconds.as_secs_f64(), "rate": self.rate(),
            "cpu_s": self.cpu().as_secs_f64(), "cpu_us_per_query": self.cpu_us_per_query(),
            "per_thread": self.tallies.iter().map(|tally| tally.answered).collect::<Vec<_>>(),
            "misses": self.tallies.iter().map(|tally| tally.misses).sum::<u64>(),
            "unlearned": self.unlearned(),
            "starved": self.tallies.iter().map(|tally| tally.starved).sum::<u64>(),
        });
        if let Some(writes) = &self.writes {
            value["writes"] = writes.json();
        }
        if self.settings.waits {
            value["query_us"] = self.times(|tally| &tally.questions).json();
            value["wait_us"] = self.times(|tally| &tally.waits).json();
        }
        if let Some(locks) = &self.locks {
            value["locks"] = serde_json::to_value(locks).unwrap_or_default();
        }
        value
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { protection, memory, data, threads, .. } = &self.settings;
        let own = if self.settings.is_own() { ", a copy each" } else { "" };
        writeln!(f, "{data}, {protection}, memory {memory}, {threads} threads{own}", data = data.name())?;
        writeln!(
            f,
            "answered    {:>12.0}/s  ({} in {:.2} s)",
            self.rate(),
            self.answered(),
            self.seconds.as_secs_f64()
        )?;
        writeln!(f, "processor   {:>12.3} us a question", self.cpu_us_per_query())?;
        if self.settings.waits {
            writeln!(f, "question   {}", self.times(|tally| &tally.questions).words())?;
            writeln!(f, "waiting    {}", self.times(|tally| &tally.waits).words())?;
        }
        if self.unlearned() > 0 {
            writeln!(f, "not kept    {:>12} answers that the cache did not have", self.unlearned())?;
        }
        if let Some(writes) = &self.writes {
            writeln!(f, "changes     {:>12} of {}", writes.done, writes.asked)?;
            writeln!(f, "           {}", writes.times.words())?;
        }
        if let Some(locks) = &self.locks {
            write!(f, "{}", locks.report)?;
            let share = locks.share_waited * 100.0;
            let (waited, working) = (locks.waited.as_secs_f64(), locks.working.as_secs_f64());
            writeln!(f, "waiting for locks: {share:.1} % ({waited:.2} of {working:.2} s)")?;
        }
        Ok(())
    }
}
