//! `--find-maximum` and `--staircase`.

use std::process::ExitCode;

use bench::{
    Error,
    load::{Generator, Outcome, Pace, Trial},
    machine,
    search::{
        self, Step, Verdict,
        maximum::{self, Maximum, Plan},
        staircase,
    },
};
use serde_json::json;

use super::options::Arguments;

/// How far beyond the maximum the overload trial goes.
const OVERLOAD: f64 = 1.5;

/// Searches the highest rate that holds.
pub fn find_maximum(arguments: &Arguments, generator: &mut Generator) -> Result<ExitCode, Error> {
    let search = &arguments.search;
    let plan = Plan {
        burst_seconds: search.burst_seconds,
        trial_seconds: search.trial_seconds,
        confirm_seconds: search.confirm_seconds,
        confirm_trials: search.confirm_trials,
        width: search.width,
        attempts: search.attempts,
        limits: search.limits(),
        rate_start: search.rate_start,
    };
    let mut last = None;
    let mut offer = |rate, seconds| {
        let outcome = offer(arguments, generator, rate, seconds)?;
        last = Some(outcome.clone());
        Ok(outcome)
    };
    let maximum = maximum::find_maximum(&plan, &mut offer, tell)?;
    let overload = match search.overload && maximum.rate > 0.0 {
        true => Some(offer(maximum.rate * OVERLOAD, search.trial_seconds)?),
        false => None,
    };
    if arguments.json {
        let mut value = json!({ "machine": machine::describe(), "maximum": maximum.to_json() });
        value["last_trial"] = last.map(|outcome| outcome.to_json()).into();
        value["overload"] = overload.map(|outcome| outcome.to_json()).into();
        println!("{value}");
    } else {
        show_maximum(&maximum, overload);
    }
    Ok(if maximum.rate > 0.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Searches the rate that half of all trials hold.
pub fn walk_staircase(
    arguments: &Arguments,
    trials: usize,
    generator: &mut Generator,
) -> Result<ExitCode, Error> {
    let search = &arguments.search;
    let plan = staircase::Plan {
        trial_seconds: search.trial_seconds,
        trials,
        step: search.width,
        rate_start: search.rate_start,
        limits: search.limits(),
    };
    let found = staircase::walk(&plan, |rate, seconds| offer(arguments, generator, rate, seconds), tell)?;
    if arguments.json {
        println!("{}", json!({ "machine": machine::describe(), "staircase": found.to_json() }));
    } else {
        let (rate, spread) = (found.rate, found.spread * 100.0);
        println!("half of all trials hold {rate:.0}/s (spread of a trial {spread:.1} %)");
        println!("{} of {trials} held; the others: {}", found.held, search::verdict_text(found.limit));
        warn_of(found.limit);
    }
    Ok(if found.rate > 0.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One trial of a search; waits for its turn where asked to.
fn offer(
    arguments: &Arguments,
    generator: &mut Generator,
    rate: f64,
    seconds: f64,
) -> Result<Outcome, Error> {
    if arguments.search.take_turns {
        let action = "wait for a line on standard input for";
        let read = std::io::stdin().read_line(&mut String::new());
        if read.map_err(|cause| Error::System { action, cause })? == 0 {
            let cause = std::io::ErrorKind::UnexpectedEof.into();
            return Err(Error::System { action, cause });
        }
    }
    let queries_max = arguments.count.unwrap_or(u64::MAX);
    generator.run(Trial { pace: Pace::Open { rate }, seconds, queries_max })
}

fn tell(step: &Step) {
    eprintln!("{step}");
}

fn show_maximum(maximum: &Maximum, overload: Option<Outcome>) {
    let confirmed = if maximum.confirmed { "confirmed" } else { "not confirmed" };
    println!(
        "loss-free maximum {:.0}/s ({confirmed}); beyond it: {}",
        maximum.rate,
        search::verdict_text(maximum.limit)
    );
    println!("up to {} % lost: {:.0}/s", maximum::NEARLY_SHARE * 100.0, maximum.rate_nearly);
    if let Some(outcome) = overload {
        println!("offered {OVERLOAD} times that: {:.0} answers/s", outcome.answers_per_second());
    }
    warn_of(maximum.limit);
}

/// Says so where it was not the server that ended a search.
fn warn_of(limit: Verdict) {
    match limit {
        Verdict::Behind => println!("warning: the generator was the limit, the server may do more"),
        Verdict::Disturbed => println!("warning: the machine was never undisturbed, the server may do more"),
        Verdict::Good | Verdict::Lost | Verdict::Slow => {}
    }
}
