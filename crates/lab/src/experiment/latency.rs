//! Latency at equal absolute loads: half and four fifths of what the slowest contender held, for all.

use std::{path::Path, time::Instant};

use bench::random::Random;
use serde_json::json;

use super::{Lab, Subject, Values, table};
use crate::{
    Error,
    contender::EchoOptions,
    data::Set,
    recipe::{Name, Sockets},
    statistics,
};

/// Shares of the slowest contender's rate.
const LOADS: [f64; 2] = [0.5, 0.8];
/// Percentiles shown.
const PERCENTILES: [&str; 3] = ["p50", "p99", "p99.9"];
/// Order of the runs.
const SEED: u64 = 2;

/// Measures all contenders and an echo server at a spot.
pub fn run(
    lab: &mut Lab,
    at: &str,
    workers: usize,
    set: &Set,
    sizes: &Path,
    weakest: f64,
) -> Result<(), Error> {
    let mut subjects = lab.subjects(workers);
    subjects.push(Subject {
        label: Name::Echo.text().to_owned(),
        name: Name::Echo,
        workers,
        echo: EchoOptions {
            threads: workers,
            sockets: Sockets::Each,
            sizes: Some(sizes.to_owned()),
            ..EchoOptions::default()
        },
        cores: lab.server_cores.iter().copied().take(workers).collect(),
    });
    let mut servers = Vec::new();
    for subject in &subjects {
        let mut server = lab.start(subject, &set.zones)?;
        lab.warm(&mut server, &set.queries)?;
        servers.push(server);
    }
    let mut values: [[Values; PERCENTILES.len()]; LOADS.len()] = Default::default();
    let mut order: Vec<usize> = (0..servers.len()).collect();
    let (mut random, began) = (Random::new(SEED), Instant::now());
    let runs = lab.effort.latency_runs;
    for run in 0..runs {
        lab.say_left(&format!("latency, run {} of {runs} {at}", run + 1), began, run, runs - run);
        random.shuffle(&mut order);
        for (share, values) in LOADS.iter().zip(&mut values) {
            for &which in &order {
                let rate = (weakest * share).max(1.0);
                let numbers = [rate, lab.effort.latency_seconds].map(|number| number.to_string());
                let flows = lab.effort.flows.to_string();
                let words = ["--rate", &numbers[0], "--seconds", &numbers[1], "--flows", &flows];
                let words = words.map(str::to_owned);
                let result = lab.load(&mut servers[which], &set.queries, &words)?;
                let outcome = &result["outcome"];
                let label = &subjects[which].label;
                for (percentile, values) in PERCENTILES.iter().zip(values.iter_mut()) {
                    values.push(label, at, outcome["latency_us"][percentile].as_f64().unwrap_or(0.0));
                }
                lab.record.raw.push(json!({
                    "latency_of": label, "at": at, "rate": rate, "run": run + 1, "outcome": outcome,
                }));
            }
        }
    }
    report(lab, at, weakest, &values);
    Ok(())
}

fn report(lab: &mut Lab, at: &str, weakest: f64, values: &[[Values; PERCENTILES.len()]; LOADS.len()]) {
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
