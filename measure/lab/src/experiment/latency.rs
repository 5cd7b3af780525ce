//! Latency at equal absolute loads: half and four fifths of what the slowest contender held, for all.

use std::{path::Path, time::Instant};

use bench::random::Random;
use serde_json::json;

use super::{
    Lab, Mark, Running, Values, table,
    validity::{self, Judged, Made},
};
use crate::{Error, known::Known, statistics};

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
    /// Share of the queries that were answered, one a run.
    answered: [Values; LOADS.len()],
}

/// Measures servers that run, at shares of the rate `weakest`. One that fails is left out with a note.
pub fn run(
    lab: &mut Lab,
    at: &str,
    running: &mut Running,
    queries: &Path,
    weakest: f64,
) -> Result<Latency, Error> {
    let mut found =
        Latency { at: at.to_owned(), weakest, values: Default::default(), answered: Default::default() };
    let (mut random, began) = (Random::new(SEED), Instant::now());
    let runs = lab.effort.latency_runs;
    for run in 0..runs {
        let text = format!("latency, run {} of {runs} {at}", run + 1);
        lab.say_left(text.trim_end(), began, run, runs - run);
        random.shuffle(running);
        for ((share, values), answered) in LOADS.iter().zip(&mut found.values).zip(&mut found.answered) {
            let rate = (weakest * share).max(1.0);
            let mut failed = Vec::new();
            for (subject, server) in running.iter_mut() {
                let label = format!("latency of {} at {rate:.0}/s, run {}", subject.label, run + 1);
                let judged = validity::judged(lab, &label, |lab| {
                    let outcome = lab.load(server, queries, &words(lab, rate))?["outcome"].take();
                    let raw = json!({
                        "latency_of": subject.label, "at": at, "rate": rate, "run": run + 1, "outcome": outcome,
                    });
                    Ok(Made { value: outcome.clone(), raw, outcome, answers_all: true })
                });
                let (outcome, conditions) = match judged {
                    Ok(Some(Judged { value, conditions })) => (value, conditions),
                    Ok(None) => continue,
                    Err(error) => {
                        failed.push(error);
                        continue;
                    }
                };
                let mark = Mark::of(run, &conditions);
                // What was lost would have come later than all else: percentiles of what was answered are too low.
                let of_answered = mark.known(Known::at_least_if(conditions.has_losses()));
                for (percentile, values) in PERCENTILES.iter().zip(values.iter_mut()) {
                    let latency = outcome["latency_us"][percentile].as_f64().unwrap_or(0.0);
                    values.push_marked(&subject.label, at, latency, of_answered);
                }
                answered.push_marked(&subject.label, at, 1.0 - conditions.lost.unwrap_or(0.0), mark);
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

/// `all`, or what share was answered in the worst run: then percentiles are those of what was answered.
fn answered_text(shares: &[f64]) -> String {
    match statistics::ends(shares).0 {
        least if least >= 1.0 => "all".to_owned(),
        // Rounded down: what lost something did not answer 100 %.
        least => format!("{:.3} %, percentiles of those", (least * 1e5).floor() / 1e3),
    }
}

/// Adds what was found to the record.
pub fn report(lab: &mut Lab, found: &Latency) {
    let Latency { at, weakest, values, answered } = found;
    for ((share, values), answered) in LOADS.iter().zip(values).zip(answered) {
        let percent = share * 100.0;
        let rate = weakest * share;
        for (percentile, values) in PERCENTILES.iter().zip(values) {
            let metric = format!("{percentile} at {percent:.0} %");
            lab.record.figures.extend(values.figures(&metric, "us", false));
        }
        let row = |name: &&str| {
            let cell = |values: &Values| {
                format!("{}{:.1}", values.known(name, at).sign(), statistics::median(values.of(name, at)))
            };
            let cells = values.iter().map(cell);
            let said = answered_text(answered.of(name, at));
            std::iter::once((*name).to_owned()).chain(cells).chain([said]).collect()
        };
        lab.record.figures.extend(answered.figures(&format!("answered at {percent:.0} %"), "", true));
        let rows = values[0].contenders().iter().map(row).collect();
        let place = if at.is_empty() { String::new() } else { format!(", {at}") };
        let title = format!("Latency at {rate:.0}/s, {percent:.0} % of the slowest{place}");
        let columns = ["server", "p50 us", "p99 us", "p99.9 us", "answered"];
        lab.record.tables.push(table(&title, &columns, rows, "Medians of all runs that count."));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_said() {
        assert_eq!(answered_text(&[1.0, 1.0]), "all");
        assert_eq!(answered_text(&[1.0, 0.999_999_9]), "99.999 %, percentiles of those");
        assert_eq!(answered_text(&[0.5]), "50.000 %, percentiles of those");
    }
}
