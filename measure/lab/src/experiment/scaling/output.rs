//! What `zonda-bench engine --json` says of a run.

use serde::Deserialize;

use crate::Error;

/// The parts of it that are used here.
#[derive(Clone, Debug, Deserialize)]
pub struct Output {
    /// Queries a second.
    pub rate: f64,
    /// Queries answered.
    pub answered: f64,
    /// Processor time of a query.
    pub cpu_us_per_query: f64,
    /// Buckets of the zone.
    pub buckets: usize,
    /// The lock profile, where it was on.
    #[serde(default)]
    pub locks: Option<Locks>,
}

/// The profile.
#[derive(Clone, Debug, Deserialize)]
pub struct Locks {
    /// All locks that a line made.
    pub locks: Vec<Lock>,
}

/// Locks of one kind.
#[derive(Clone, Debug, Deserialize)]
pub struct Lock {
    /// What they are for.
    pub name: String,
    /// Acquisitions.
    pub count: f64,
    /// How long they were held, in all.
    pub held_s: f64,
}

impl Output {
    /// Reads it.
    pub fn parse(text: &str) -> Result<Output, Error> {
        let output: Option<Output> = serde_json::from_str(text.trim()).ok();
        let is_whole = |output: &Output| {
            let numbers = [output.rate, output.answered, output.cpu_us_per_query];
            numbers.iter().all(|number| number.is_finite() && *number >= 0.0) && output.rate > 0.0
        };
        let wanted = "what it answered, as JSON";
        output.filter(is_whole).ok_or(Error::Output { program: "zonda-bench engine", wanted })
    }

    /// How often a query takes the locks of a name, and for how long, in nanoseconds; `overhead_ns`: what the profiler's
    /// own clock adds to each. Zeros where there is no such lock.
    pub fn visits(&self, name: &str, overhead_ns: f64) -> scaling::engine::Visits {
        let locks = self.locks.iter().flat_map(|locks| &locks.locks).filter(|lock| lock.name == name);
        let (count, held_s) =
            locks.fold((0.0, 0.0), |(count, held), lock| (count + lock.count, held + lock.held_s));
        if count <= 0.0 || self.answered <= 0.0 {
            return scaling::engine::Visits::default();
        }
        scaling::engine::Visits {
            per_query: count / self.answered,
            held_ns: (held_s * 1e9 / count - overhead_ns).max(0.0),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod tests {
    use super::*;

    /// What the engine said once, with fewer locks.
    pub const SAMPLE: &str = include_str!("../../../tests/data/engine-mutex.json");

    #[test]
    fn a_run_is_read() {
        let output = Output::parse(SAMPLE).unwrap();
        assert!(output.rate > 1e4 && output.buckets == 7, "{output:?}");
        let table = output.visits("zone table", 0.0);
        assert!((table.per_query - 1.0).abs() < 0.05 && table.held_ns > 0.0, "{table:?}");
        assert!(output.visits("zone table", table.held_ns / 2.0).held_ns < table.held_ns);
        assert_eq!(output.visits("zone table", 1e9).held_ns, 0.0);
        assert!(output.visits("counter", 0.0).per_query > 2.0);
        assert_eq!(output.visits("no such lock", 0.0), scaling::engine::Visits::default());
    }

    #[test]
    fn anything_else_is_a_fault() {
        for text in ["", "{}", "answered 5", &SAMPLE.replace("\"rate\":", "\"rate\":-")] {
            assert!(Output::parse(text).unwrap_err().to_string().contains("zonda-bench engine did not say"));
        }
    }
}
