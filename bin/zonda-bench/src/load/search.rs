//! `--find-maximum` and `--staircase`.

use std::fmt::Write;

use bench::{
    Error,
    join::Coordinator,
    load::{Generator, Outcome, Pace, Trial},
    search::{
        self, Step, Verdict,
        maximum::{self, Maximum, Plan},
        staircase,
    },
};
use serde_json::json;

use super::{options::Arguments, show::Shown};

/// What runs trials: one generator, or several that work as one.
pub trait Runner {
    /// Runs one trial.
    fn run(&mut self, trial: Trial) -> Result<Outcome, Error>;
}

impl Runner for Generator<'_> {
    fn run(&mut self, trial: Trial) -> Result<Outcome, Error> {
        Generator::run(self, trial)
    }
}

impl Runner for Coordinator {
    fn run(&mut self, trial: Trial) -> Result<Outcome, Error> {
        Coordinator::run(self, trial)
    }
}

/// How far beyond the maximum the overload trial goes.
const OVERLOAD: f64 = 1.5;

/// Searches the highest rate that holds.
pub fn find_maximum(arguments: &Arguments, generator: &mut dyn Runner) -> Result<Shown, Error> {
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
    let mut json = json!({ "maximum": maximum.to_json() });
    json["last_trial"] = last.map(|outcome| outcome.to_json()).into();
    json["overload"] = overload.as_ref().map(Outcome::to_json).into();
    Ok(Shown {
        is_success: maximum.rate > 0.0,
        text: maximum_text(&maximum, overload.as_ref()),
        json,
        fault: None,
    })
}

/// Searches the rate that half of all trials hold.
pub fn walk_staircase(
    arguments: &Arguments,
    trials: usize,
    generator: &mut dyn Runner,
) -> Result<Shown, Error> {
    let search = &arguments.search;
    let plan = staircase::Plan {
        trial_seconds: search.trial_seconds,
        trials,
        step: search.width,
        rate_start: search.rate_start,
        limits: search.limits(),
    };
    let found = staircase::walk(&plan, |rate, seconds| offer(arguments, generator, rate, seconds), tell)?;
    let (rate, spread) = (found.rate, found.spread * 100.0);
    let text = format!(
        "half of all trials hold {rate:.0}/s (spread of a trial {spread:.1} %)\n\
         {} of {trials} held; the others: {}\n{}",
        found.held,
        search::verdict_text(found.limit),
        warning(found.limit)
    );
    Ok(Shown { is_success: rate > 0.0, text, json: json!({ "staircase": found.to_json() }), fault: None })
}

/// One trial of a search; waits for its turn where asked to.
fn offer(
    arguments: &Arguments,
    generator: &mut dyn Runner,
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

fn maximum_text(maximum: &Maximum, overload: Option<&Outcome>) -> String {
    let confirmed = if maximum.confirmed { "confirmed" } else { "not confirmed" };
    let mut text = format!(
        "loss-free maximum {:.0}/s ({confirmed}); beyond it: {}\nup to {} % lost: {:.0}/s\n",
        maximum.rate,
        search::verdict_text(maximum.limit),
        maximum::NEARLY_SHARE * 100.0,
        maximum.rate_nearly
    );
    if let Some(outcome) = overload {
        let rate = outcome.answers_per_second();
        writeln!(text, "offered {OVERLOAD} times that: {rate:.0} answers/s").expect("a string takes all");
    }
    text + warning(maximum.limit)
}

/// A line that says so where it was not the server that ended a search.
fn warning(limit: Verdict) -> &'static str {
    match limit {
        Verdict::Behind => "warning: the generator was the limit, the server may do more\n",
        Verdict::Disturbed => "warning: the machine was never undisturbed, the server may do more\n",
        Verdict::Good | Verdict::Lost | Verdict::Slow => "",
    }
}
