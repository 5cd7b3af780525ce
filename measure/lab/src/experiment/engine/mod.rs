//! `zonda-bench engine` in many variants: a small name server in process, with the locks of the paper and others.
//!
//! All variants of all panels alternate in rounds, each run a process of its own on the servers' cores and bounded in time.
//! Ratios are those of one round. A run during which the hypervisor took more than `stolen-share` of the machine's time is
//! made once more, and then discarded and counted.
//!
//! * `outcome`: what a run says. * `found`: runs, and values drawn from them. * `report`: figures and charts.
//! * `finding`: orders, targets, alarms. * `profile`: who waited for what. * `others`: what other programs took meanwhile.

mod finding;
mod found;
mod others;
mod outcome;
mod profile;
mod report;

use std::{
    thread,
    time::{Duration, Instant},
};

use bench::machine::Steal;
use serde_json::{Value, json};

use self::{
    found::{Found, Run},
    others::Others,
    outcome::Outcome,
};
use super::{Lab, runs};
use crate::{
    Error,
    process::{self, Process},
    recipe::{Cell, cells},
    record::Contender,
    statistics,
};

/// The command, for messages.
const PROGRAM: &str = "zonda-bench engine";
/// What a run may take beside its length: it makes its data first, on a machine that may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often is looked whether a run has ended: rarely, as it has all cores.
const LOOK: Duration = Duration::from_millis(10);
/// Runs of a kind in a round, where the hypervisor disturbs the first.
const ATTEMPTS: usize = 2;

/// Of all cores' time; a quiet system takes less.
const OTHERS_MOST: f64 = 0.05;

/// Why runs of a variant failed, and where.
struct Failure {
    variant: String,
    /// Cells.
    places: Vec<usize>,
    said: String,
}

/// Measures all panels of the recipe.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let mut found = Found::new(cells(&lab.recipe, lab.record.quick, lab.server_cores.len()));
    let labels: Vec<String> = found.cells.iter().map(|cell| label(lab, cell)).collect();
    contenders(lab, &found.cells);
    let mut failures: Vec<Failure> = Vec::new();
    let mut is_out = vec![false; labels.len()];
    runs::alternate(lab, &labels, |lab, which, round| {
        let cell = found.cells[which].clone();
        if is_out[which] || lab.recipe.panels[cell.panel].runs.is_some_and(|runs| round > runs) {
            return Ok(());
        }
        match measure(lab, &cell, &labels[which], round) {
            Ok(outcome) => found.runs.extend(outcome.map(|outcome| Run { cell: which, round, outcome })),
            Err(error @ (Error::Program { .. } | Error::Output { .. })) => {
                is_out[which] = true;
                lab.say(&format!("{} fails", labels[which]));
                failed(&mut failures, cell.variant, which, &error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    for Failure { variant, mut places, said } in failures {
        places.sort_unstable();
        let place = |&which: &usize| {
            let cell = &found.cells[which];
            lab.recipe.panels[cell.panel].place(cell.value)
        };
        let places: Vec<String> = places.iter().map(place).collect();
        lab.note(format!("{variant} is left out at {}: {said}", places.join("; ")));
    }
    if found.runs.is_empty() && lab.record.blocks.discarded.is_empty() {
        return Err(Error::Nobody);
    }
    lab.record.blocks.kept = found.runs.len();
    note_others(lab);
    report::report(lab, &found);
    finding::report(lab, &found);
    profile::report(lab, &found);
    Ok(())
}

fn label(lab: &Lab, cell: &Cell) -> String {
    format!("{}, {}", cell.variant, lab.recipe.panels[cell.panel].place(cell.value))
}

/// Who takes part: each variant with the command line of its first run.
fn contenders(lab: &mut Lab, cells: &[Cell]) {
    let bench = lab.programs.bench.to_string_lossy().into_owned();
    let version = process::first_line(&[&bench, "--version"]).unwrap_or_else(|| "not told".to_owned());
    for variant in lab.recipe.variants.clone() {
        let Some(cell) = cells.iter().find(|cell| cell.variant == variant.name) else { continue };
        let mut command = command(lab, cell);
        command[0] = bench.rsplit('/').next().unwrap_or_default().to_owned();
        let (version, settings) = (version.clone(), String::new());
        lab.record.contenders.push(Contender { name: variant.name, version, command, settings });
    }
}

/// Keeps the failure with those of the variant that said the same.
fn failed(failures: &mut Vec<Failure>, variant: String, at: usize, error: &Error) {
    let said = match error {
        // Not the command line, which differs from place to place.
        Error::Program { status, said, .. } => format!("{status}; it said:\n{}", said.trim_end()),
        error => error.to_string(),
    };
    match failures.iter_mut().find(|known| known.variant == variant && known.said == said) {
        Some(known) => known.places.push(at),
        None => failures.push(Failure { variant, places: vec![at], said }),
    }
}

/// Says so where other programs had much of the machine.
fn note_others(lab: &mut Lab) {
    let shares = lab.record.raw.iter().filter_map(|raw| raw["others_share"].as_f64());
    let share = statistics::median(&shares.collect::<Vec<_>>());
    if share > OTHERS_MOST {
        let percent = share * 100.0;
        lab.note(format!(
            "other programs had {percent:.0} % of all cores' time during half of the runs: rates say little, measure on a quiet machine"
        ));
    }
}

/// One run; nothing where it was disturbed.
fn measure(lab: &mut Lab, cell: &Cell, label: &str, round: usize) -> Result<Option<Outcome>, Error> {
    let command = command(lab, cell);
    for attempt in 1..=ATTEMPTS {
        let (steal, others) = (Steal::new(), Others::new());
        let length = Duration::from_secs_f64(lab.effort.run_seconds + lab.effort.warm_seconds);
        let said = engine(lab, &command, length + PATIENCE)?;
        let (stolen, others) = (steal.share(), others.share());
        let raw: Value = serde_json::from_str(&said).map_err(|_| no_result())?;
        let outcome = Outcome::of(&raw).ok_or_else(no_result)?;
        let is_kept = stolen <= lab.effort.stolen_share;
        lab.record.raw.push(json!({
            "variant": cell.variant, "at": lab.recipe.panels[cell.panel].place(cell.value), "round": round,
            "stolen_share": stolen, "others_share": others, "kept": is_kept, "result": outcome::without_lockers(raw),
        }));
        if is_kept {
            return Ok(Some(outcome));
        }
        let percent = stolen * 100.0;
        let why = format!("round {round}, {label}, attempt {attempt}: {percent:.1} % of the time was stolen");
        lab.record.blocks.discarded.push(why);
    }
    Ok(None)
}

fn no_result() -> Error {
    Error::Output { program: PROGRAM, wanted: "a result with a rate" }
}

/// Runs the engine to its end, which must come within `limit`; what it said.
fn engine(lab: &Lab, command: &[String], limit: Duration) -> Result<String, Error> {
    let folder = lab.folder("engine")?;
    let mut process = Process::start(command, &lab.bed.server(), &folder)?;
    let until = Instant::now() + limit;
    let failed = |status: String, process: &Process| {
        Err(Error::Program { command: command.join(" "), status, said: process.said() })
    };
    loop {
        match process.ended() {
            Some(status) if status.success() => return Ok(process.result()),
            Some(status) => return failed(status.to_string(), &process),
            None => lab.go_on()?,
        }
        if Instant::now() > until {
            let seconds = limit.as_secs_f64();
            return failed(format!("did not end within {seconds:.0} s"), &process);
        }
        thread::sleep(LOOK);
    }
}

/// The command line of a cell.
fn command(lab: &Lab, cell: &Cell) -> Vec<String> {
    let mut command = vec![lab.programs.bench.display().to_string()];
    command.extend(["engine", "--json"].map(str::to_owned));
    let options = &cell.options;
    let threads = options.threads.map_or(1, |threads| threads.number(lab.server_cores.len()));
    let numbers = [
        ("--data", options.data.map(|data| data.to_string())),
        ("--protection", options.protection.map(|protection| protection.to_string())),
        ("--memory", options.memory.map(|memory| memory.to_string())),
        ("--threads", Some(threads.max(1).to_string())),
        ("--names", options.names.map(|names| names.to_string())),
        ("--nxdomain", options.nxdomain.map(|share| share.to_string())),
        ("--hits", options.hits.map(|share| share.to_string())),
        ("--writes", options.writes.map(|writes| writes.to_string())),
        ("--writers", options.writers.map(|writers| writers.to_string())),
        ("--quota", options.quota.map(|quota| quota.to_string())),
        ("--buckets", options.buckets.map(|buckets| buckets.to_string())),
        ("--seconds", Some(lab.effort.run_seconds.to_string())),
        ("--warm", Some(lab.effort.warm_seconds.to_string())),
    ];
    for (option, value) in numbers {
        command.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    }
    let flags =
        [("--own", options.own), ("--waits", options.waits), ("--profile-locks", options.profile_locks)];
    command.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_owned()));
    command
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
