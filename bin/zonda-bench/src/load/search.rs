//! `--find-maximum` and `--staircase`.

use std::{
    fmt::Write,
    sync::{
        atomic::Ordering,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::Duration,
};

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

    /// Whether a signal wants the search to end.
    fn is_stopped(&self) -> bool;
}

impl Runner for Generator<'_> {
    fn run(&mut self, trial: Trial) -> Result<Outcome, Error> {
        Generator::run(self, trial)
    }

    fn is_stopped(&self) -> bool {
        self.stop_flag().load(Ordering::Relaxed)
    }
}

impl Runner for Coordinator {
    fn run(&mut self, trial: Trial) -> Result<Outcome, Error> {
        Coordinator::run(self, trial)
    }

    fn is_stopped(&self) -> bool {
        Coordinator::is_stopped(self)
    }
}

/// How far beyond the maximum the overload trial goes.
const OVERLOAD: f64 = 1.5;
/// How often a search that waits for its turn looks whether a signal has come.
const LOOK_EACH: Duration = Duration::from_millis(50);

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
        first_step: search.first_step,
    };
    let (mut last, mut steps) = (None, Vec::new());
    let mut turns = Turns::new(arguments);
    let mut offer = |rate, seconds| {
        let outcome = turns.offer(generator, rate, seconds)?;
        last = Some(outcome.clone());
        Ok(outcome)
    };
    let maximum = match maximum::find_maximum(&plan, &mut offer, |step| tell(step, &mut steps)) {
        Err(Error::Interrupted) => return Ok(cut_short(&steps)),
        maximum => maximum?,
    };
    let overload = match search.overload && maximum.rate > 0.0 {
        true => match offer(maximum.rate * OVERLOAD, search.trial_seconds) {
            Err(Error::Interrupted) => return Ok(cut_short(&steps)),
            outcome => Some(outcome?),
        },
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
        first_step: search.first_step,
        limits: search.limits(),
    };
    let (mut turns, mut steps) = (Turns::new(arguments), Vec::new());
    let offer = |rate, seconds| turns.offer(generator, rate, seconds);
    let found = match staircase::walk(&plan, offer, |step| tell(step, &mut steps)) {
        Err(Error::Interrupted) => return Ok(cut_short(&steps)),
        found => found?,
    };
    let (rate, spread) = (found.rate, found.spread * 100.0);
    let text = format!(
        "half of all trials hold {rate:.0}/s (spread of a trial {spread:.1} %)\n\
         {} of {} held; the others: {}\n{}{}",
        found.held,
        found.counted(),
        search::verdict_text(found.limit),
        too_few(found.counted(), trials),
        warning(found.limit)
    );
    Ok(Shown { is_success: rate > 0.0, text, json: json!({ "staircase": found.to_json() }), fault: None })
}

/// Offers the trials of a search, each in its turn.
struct Turns {
    /// Lines of standard input, where each trial waits for one.
    lines: Option<Receiver<std::io::Result<usize>>>,
    queries_max: u64,
    /// Start of the random times of the next trial, where queries come at such.
    seed: Option<u64>,
}

impl Turns {
    fn new(arguments: &Arguments) -> Turns {
        let lines =
            arguments.search.take_turns.then(|| {
                let (line, lines) = mpsc::sync_channel(0);
                // Not joined: it may wait for a line that never comes.
                std::thread::spawn(move || {
                    while line.send(std::io::stdin().read_line(&mut String::new())).is_ok() {}
                });
                lines
            });
        let seed = arguments.poisson.then_some(arguments.input.seed);
        Turns { lines, queries_max: arguments.count.unwrap_or(u64::MAX), seed }
    }

    /// One trial; an error where a signal ended it, as it then says nothing about its rate.
    fn offer(&mut self, runner: &mut dyn Runner, rate: f64, seconds: f64) -> Result<Outcome, Error> {
        self.wait(runner)?;
        let pace = match &mut self.seed {
            None => Pace::Open { rate },
            Some(seed) => {
                *seed = seed.wrapping_add(1);
                Pace::Poisson { rate, seed: *seed }
            }
        };
        let outcome = runner.run(Trial { pace, seconds, queries_max: self.queries_max })?;
        if runner.is_stopped() { Err(Error::Interrupted) } else { Ok(outcome) }
    }

    fn wait(&self, runner: &dyn Runner) -> Result<(), Error> {
        let Some(lines) = &self.lines else { return Ok(()) };
        let fault = |cause| Error::System { action: "wait for a line on standard input for", cause };
        let ended = || fault(std::io::ErrorKind::UnexpectedEof.into());
        loop {
            match lines.recv_timeout(LOOK_EACH) {
                _ if runner.is_stopped() => return Err(Error::Interrupted),
                Ok(Ok(0)) | Err(RecvTimeoutError::Disconnected) => return Err(ended()),
                Ok(read) => return read.map(|_| ()).map_err(fault),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn tell(step: &Step, steps: &mut Vec<Step>) {
    eprintln!("{step}");
    steps.push(*step);
}

/// What there is of a search that a signal ended.
fn cut_short(steps: &[Step]) -> Shown {
    let held = steps.iter().filter(|step| step.verdict == Verdict::Good);
    let rate = held.map(|step| step.rate).fold(0.0, f64::max);
    let steps: Vec<_> = steps.iter().map(|&step| step.to_json()).collect();
    let text = format!("nothing found: {} trials, the highest rate that held one {rate:.0}/s\n", steps.len());
    let json = json!({ "search": { "rate_held": rate, "steps": steps } });
    Shown { is_success: false, text, json, fault: None }.ended_early(true)
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

/// A line that says so where disturbed trials left too few that count.
fn too_few(counted: usize, wanted: usize) -> String {
    if counted == 0 || counted >= wanted {
        return String::new();
    }
    format!(
        "warning: {counted} of {wanted} trials count, the machine was disturbed in the others (--stolen-share)\n"
    )
}

/// A line that says so where it was not the server that ended a search.
fn warning(limit: Verdict) -> &'static str {
    match limit {
        Verdict::Behind => "warning: the generator was the limit, the server may do more\n",
        Verdict::Disturbed => {
            "warning: a hypervisor disturbed all trials there, the server may do more (--stolen-share)\n"
        }
        Verdict::Good | Verdict::Lost | Verdict::Slow => "",
    }
}
