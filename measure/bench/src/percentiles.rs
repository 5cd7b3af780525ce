//! Percentiles of times, as every result of this tool has them: of histograms of nanoseconds, in microseconds.

use std::{
    fmt,
    io::{self, Write},
};

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

/// Those that results show: their names, and how many of a hundred values are no greater.
pub const SHOWN: [(&str, f64); 5] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)];
/// Decimal digits that values keep: 0.1 % is finer than any two runs agree.
const DIGITS: u8 = 3;
/// Steps of [`write`](fn@write) for each halving of what is left to 100 %, as HdrHistogram's own tools have it.
const TICKS: u32 = 5;

/// An empty histogram of times from a nanosecond to so many seconds, at least 1; longer ones count as those.
pub fn histogram(seconds_max: u32) -> Histogram<u64> {
    let ns_max = u64::from(seconds_max.max(1)) * 1_000_000_000;
    Histogram::new_with_bounds(1, ns_max, DIGITS).expect("bounds and digits that the type allows")
}

/// Microseconds of nanoseconds.
pub fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// The percentiles shown, by name.
pub fn json(times: &Histogram<u64>) -> Map<String, Value> {
    SHOWN
        .map(|(name, at)| (name.to_owned(), json!(micros(times.value_at_percentile(at)))))
        .into_iter()
        .collect()
}

/// The percentiles shown, as the rest of a line: ` p50 12.3 p90 … us`.
pub struct Words<'t>(pub &'t Histogram<u64>);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, at) in SHOWN {
            write!(f, " {name} {:.1}", micros(self.0.value_at_percentile(at)))?;
        }
        write!(f, " us")
    }
}

/// Writes all percentiles as the text that HdrHistogram's tools print and plot.
pub fn write(times: &Histogram<u64>, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    for step in times.iter_quantiles(TICKS) {
        let value = micros(step.value_iterated_to());
        let quantile = step.quantile_iterated_to();
        let below = times.count_between(0, step.value_iterated_to());
        match quantile < 1.0 {
            true => writeln!(to, "{value:12.3} {quantile:2.12} {below:10} {:14.2}", 1.0 / (1.0 - quantile))?,
            false => writeln!(to, "{value:12.3} {quantile:2.12} {below:10}")?,
        }
    }
    let (mean, deviation) = (times.mean() / 1e3, times.stdev() / 1e3);
    writeln!(to, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    writeln!(to, "#[Max     = {:12.3}, Total count    = {:12}]", micros(times.max()), times.len())?;
    let halves = (2 * 10u64.pow(times.sigfig().into())).next_power_of_two();
    writeln!(to, "#[Buckets = {:12}, SubBuckets     = {halves:12}]", times.buckets())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_in_all_forms() {
        let mut times = histogram(1);
        (1..=1000u64).for_each(|micros| times.saturating_record(micros * 1000));
        times.saturating_record(u64::MAX);
        let is_near = |name: &str, expected: f64| {
            let value = json(&times)[name].as_f64().unwrap_or(0.0);
            assert!((value / expected - 1.0).abs() < 0.002, "{name} {value}");
        };
        is_near("p50", 501.0);
        is_near("p99.9", 1000.0);
        is_near("max", 1e6);
        let words = Words(&times).to_string();
        assert!(words.starts_with(" p50 50") && words.ends_with(" us"), "{words}");
        assert_eq!(words.split(' ').count(), 2 * SHOWN.len() + 2);
        assert_eq!(json(&histogram(0)).len(), SHOWN.len());
    }
}
