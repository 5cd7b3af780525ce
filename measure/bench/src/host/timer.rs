//! The clock: where it is read from, what a reading costs, and how fine it is.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::system::System;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// One reading, in nanoseconds; the best of some runs.
    pub cost_ns: f64,
    /// Smallest step seen between two readings, in nanoseconds.
    pub resolution_ns: u64,
    /// Longest step between two readings in a row: how long this thread was stopped.
    pub longest_step_ns: u64,
}

/// Readings in a run: enough for a tenth of a nanosecond.
const READINGS: u32 = 20_000;

/// What the clock is read from.
pub fn source(system: &System) -> Option<String> {
    system.line("sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// What it could be read from too.
pub fn sources(system: &System) -> Vec<String> {
    let line = system.line("sys/devices/system/clocksource/clocksource0/available_clocksource");
    line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Measures for about `time`.
pub fn measure(time: Duration) -> Timer {
    let end = Instant::now() + time;
    let mut timer = Timer { cost_ns: f64::INFINITY, resolution_ns: u64::MAX, longest_step_ns: 0 };
    loop {
        let start = Instant::now();
        for _ in 0..READINGS {
            black_box(Instant::now());
        }
        let cost = start.elapsed().as_nanos() as f64 / f64::from(READINGS);
        timer.cost_ns = timer.cost_ns.min(cost);
        let mut last = Instant::now();
        for _ in 0..READINGS {
            let now = Instant::now();
            let step = now.duration_since(last).as_nanos() as u64;
            if step > 0 {
                timer.resolution_ns = timer.resolution_ns.min(step);
            }
            timer.longest_step_ns = timer.longest_step_ns.max(step);
            last = now;
        }
        if last >= end {
            return timer;
        }
    }
}

impl Timer {
    /// As a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "cost_ns": self.cost_ns,
            "resolution_ns": self.resolution_ns,
            "longest_step_ns": self.longest_step_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_takes_some_time() {
        let timer = measure(Duration::from_millis(5));
        assert!(timer.cost_ns > 0.1 && timer.cost_ns < 100_000.0, "{timer:?}");
        assert!(timer.resolution_ns >= 1 && timer.longest_step_ns >= timer.resolution_ns, "{timer:?}");
    }
}
