//! Latency at equal absolute loads: half and four fifths of what the slowest contender held, for all.

use std::{path::Path, time::Instant};

use bench::random::Random;
use serde_json::json;

use super::{Lab, Running, Values, table};
use crate::{Error, statistics};

/// Shares of the slowest contender's rate.
const LOADS: [f64; 2] = [0.5, 0.8];
/// Percentiles shown.
const PERCENTILES: [&str; 3] = ["p50", "p99", "p99.9"];
/// Order of the runs.
const SEED: u64 = 2;

/// What was found at a spot.
pub struct Latency {
    at: String,
    weakest: f64,
    values: [[Values; PERCENTILES.len()]; LOADS.len()],
}

/// Measures servers that run, at shares of the rate `weakest`. One that fails is left out with a note.
pub fn run(
    lab: &mut Lab,
    at: &str,
    running: &mut Running,
    queries: &Path,
    weakest: f64,
) -> Result<Latency, Error> {
    let mut found = Latency { at: at.to_owned(), weakest, values: Default::default() };
    let (mut random, began) = (Random::new(SEED), Instant::now());
    let runs = lab.effort.latency_runs;
    for run in 0..runs {
        let text = format!("latency, run {} of {runs} {at}", run + 1);
        lab.say_left(text.trim_end(), began, run, runs - run);
        random.shuffle(running);
        for (share, values) in LOADS.iter().zip(&mut found.values) {
            let rate = (weakest * share).max(1.0);
            let mut failed = Vec::new();
            for (subject, server) in running.iter_mut() {
                lab.go_on()?;
                let outcome = match lab.load(server, queries, &words(lab, rate)) {
                    Ok(mut result) => result["outcome"].take(),
                    Err(error) => {
                        failed.push(error);
                        continue;
                    }
                };
                for (percentile, values) in PERCENTILES.iter().zip(values.iter_mut()) {
                    let latency = outcome["latency_us"][percentile].as_f64().unwrap_or(0.0);
                    values.push(&subject.label, at, latency);
                }
                lab.record.raw.push(json!({
                    "latency_of": subject.label, "at": at, "rate": rate, "run": run + 1, "outcome": outcome,
                }));
            }
            failed.into_iter().try_for_each(|error| lab.leave_out(running, at, error))?;
        }
    }
    Ok(found)
}

fn words(lab: &Lab, rate: f64) -> Vec<String> {
    let numbers = [rate, lab.effort.latency_seconds].map(|number| number.to_string());
    let flows = lab.effort.flows.to_string();
    ["--rate", &numbers[0], "--seconds", &numbers[1], "--flows", &flows].map(str::to_owned).to_vec()
}

/// Adds what was found to the record.
pub fn report(lab: &mut Lab, found: &Latency) {
    let Latency { at, weakest, values } = found;
    for (share, values) in LOADS.iter().zip(values) {
        let percent = share * 100.0;
        let rate = weakest * share;
        for (percentile, values) in PERCENTILES.iter().zip(values) {
            let metric = format!("{percentile} at {percent:.0} %");
            lab.record.figures.extend(values.figures(&metric, "us", false));
        }
        let row = |name: &&str| {
            let cells = values.iter().map(|values| format!("{:.1}", statistics::median(values.of(name, at))));
            std::iter::once((*name).to_owned()).chain(cells).collect()
        };
        let rows = values[0].contenders().iter().map(row).collect();
        let place = if at.is_empty() { String::new() } else { format!(", {at}") };
        let title = format!("Latency at {rate:.0}/s, {percent:.0} % of the slowest{place}");
        let columns = ["server", "p50 us", "p99 us", "p99.9 us"];
        lab.record.tables.push(table(&title, &columns, rows, "Medians of all runs."));
        let mut by_percentile = Values::default();
        for (percentile, values) in PERCENTILES.iter().zip(values) {
            for name in values.contenders() {
                values.of(name, at).iter().for_each(|&value| by_percentile.push(name, percentile, value));
            }
        }
        let places = PERCENTILES.map(str::to_owned);
        lab.record.charts.push(by_percentile.bars(&title, "microseconds", &places, true));
    }
}
