//! Scaling: the engine with as many threads as there are cores and more, and simulated up to 64 cores.
//!
//! * `output`: what the engine says of a run. * `simulate`: models from what was measured, and their curves.
//! * `residual`: what is simulated beside what is measured. * `validate`: the seeds' curves. * `report`: tables, charts, targets.

mod output;
mod report;
mod residual;
mod simulate;
mod validate;

use std::time::Duration;

use ::engine::ProtectionKind;
use bench::host::sharing::{self, Sharing};
use serde_json::{Value, json};

use super::{
    Lab, Values, runs,
    validity::{self, Heard, Judged, Made, gather_fields},
};
use crate::{Error, place, place::Place, process, record::Contender};

use output::Output;
use simulate::{Inputs, Repeated};

/// A protection of the engine, and what goes with it.
struct Subject {
    protection: ProtectionKind,
    /// BIND 9 of then shared its memory; the paper's has areas, and a server with snapshots needs none that is shared.
    memory: &'static str,
    model: scaling::engine::Protection,
}

impl Subject {
    fn name(&self) -> &'static str {
        self.protection.name()
    }
}

/// In the order of the seeds.
const SUBJECTS: [Subject; 5] = [
    Subject {
        protection: ProtectionKind::Bind9,
        memory: "shared",
        model: scaling::engine::Protection::Bind9,
    },
    Subject { protection: ProtectionKind::Mutex, memory: "areas", model: scaling::engine::Protection::Mutex },
    Subject {
        protection: ProtectionKind::SystemAtomic,
        memory: "areas",
        model: scaling::engine::Protection::ReaderWriter,
    },
    Subject {
        protection: ProtectionKind::Paper,
        memory: "areas",
        model: scaling::engine::Protection::ReaderWriter,
    },
    Subject {
        protection: ProtectionKind::Snapshot,
        memory: "none",
        model: scaling::engine::Protection::Snapshot,
    },
];
/// How many times as many threads as cores are measured too.
const OVERSUBSCRIBED: [usize; 2] = [2, 4];
/// For all that cores pay for lines and sleep.
const SHARING_TIME: Duration = Duration::from_millis(300);
/// How often the inputs of the simulation are measured: their spread is what its intervals are made of.
const REPETITIONS: usize = 7;
const REPETITIONS_QUICK: usize = 2;
/// Threads that the engine takes at most.
const THREADS_MAX: usize = 256;

/// Values of all runs.
#[derive(Default)]
struct Measured {
    rates: Values,
    cpu: Values,
}

gather_fields!(Measured: rates, cpu);

/// What was measured.
struct Found {
    rates: Values,
    cpu: Values,
    /// Numbers of threads, rising.
    threads: Vec<usize>,
    /// How many of them have a core each.
    cores: usize,
}

/// Measures, simulates and reports.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let (sharing, inputs) = inputs(lab)?;
    let found = measure(lab)?;
    lab.go_on()?;
    if inputs.0.is_empty() {
        lab.note("nothing is simulated: no measurement of what cores pay counts".to_owned());
        report::measured(lab, &found);
        return Ok(());
    }
    lab.say("simulations");
    lab.record.raw.push(json!({ "inputs": inputs.json() }));
    note_inputs(lab, &sharing, &found);
    let effort = simulate::effort(&lab.effort);
    let curves = simulate::curves(&inputs, &found, effort, lab)?;
    report::report(lab, &sharing, &inputs.middle(), &found, &curves);
    validate::validate(lab, effort)
}

/// What the models know, of each time it was measured that counts; and the last of what cores pay.
fn inputs(lab: &mut Lab) -> Result<(Sharing, Repeated), Error> {
    let repetitions = if lab.record.quick { REPETITIONS_QUICK } else { REPETITIONS };
    let (mut last, mut all) = (Sharing::default(), Vec::new());
    for number in 1..=repetitions {
        lab.go_on()?;
        lab.say(&format!(
            "what cores pay for what they share, and the profile of the locks, {number} of {repetitions}"
        ));
        let label = format!("inputs of the simulation, {number}");
        let judged = validity::judged(lab, &label, |lab| {
            let sharing = sharing::measure(&place::cores(), SHARING_TIME);
            let (mutex, paper, bind9) = (
                profile(lab, ProtectionKind::Mutex)?,
                profile(lab, ProtectionKind::Paper)?,
                profile(lab, ProtectionKind::Bind9)?,
            );
            let raw = json!({ "sharing": sharing.json() });
            let value = (Inputs::of(&sharing, &mutex, &paper, &bind9), sharing);
            Ok(Made { value, raw, outcome: Value::Null, answers_all: false })
        })?;
        if let Some(Judged { value: (inputs, sharing), .. }) = judged {
            all.push(inputs);
            last = sharing;
        }
    }
    Ok((last, Repeated(all)))
}

fn note_inputs(lab: &mut Lab, sharing: &Sharing, found: &Found) {
    if sharing.pairs.is_empty() {
        lab.note("one core: the way of a line was not measured; the simulation takes 100 ns".to_owned());
    }
    if found.cores < 4 {
        lab.note(format!(
            "{} cores: what is beyond is simulated, and the lines of a machine with more cores have further to go than between \
             these",
            found.cores
        ));
    }
}

fn engine(lab: &Lab, subject: &Subject, threads: usize, more: &[&str]) -> Result<Output, Error> {
    let words = command(lab, subject, threads, more);
    let text = process::run(&words, &Place::default(), &lab.folder("engine")?, &lab.stop)?;
    Output::parse(&text)
}

fn command(lab: &Lab, subject: &Subject, threads: usize, more: &[&str]) -> Vec<String> {
    let mut words = vec![lab.programs.bench.display().to_string()];
    let (seconds, warm) = (lab.effort.run_seconds.to_string(), lab.effort.warm_seconds.to_string());
    words.extend(["engine", "--protection", subject.name(), "--memory", subject.memory].map(str::to_owned));
    words.extend(["--threads", &threads.to_string(), "--seconds", &seconds].map(str::to_owned));
    words.extend(["--warm", &warm, "--json"].map(str::to_owned));
    words.extend(more.iter().map(|&word| word.to_owned()));
    words
}

/// The lock profile of one thread: nobody waits, so that it shows how often and how long.
fn profile(lab: &Lab, protection: ProtectionKind) -> Result<Output, Error> {
    let model = scaling::engine::Protection::Mutex;
    engine(lab, &Subject { protection, memory: "shared", model }, 1, &["--profile-locks"])
}

/// All protections with all numbers of threads, in rounds.
fn measure(lab: &mut Lab) -> Result<Found, Error> {
    let cores = lab.server_cores.len().max(1);
    let mut threads: Vec<usize> =
        lab.recipe.workers.iter().copied().filter(|&count| count <= cores).collect();
    threads.extend([1, cores]);
    threads.extend(OVERSUBSCRIBED.map(|factor| (cores * factor).min(THREADS_MAX)));
    threads.sort_unstable();
    threads.dedup();
    let kinds: Vec<(&Subject, usize)> =
        SUBJECTS.iter().flat_map(|subject| threads.iter().map(move |&count| (subject, count))).collect();
    let labels: Vec<String> =
        kinds.iter().map(|(subject, count)| format!("{}, {}", subject.name(), at(*count))).collect();
    lab.record.contenders.push(Contender {
        name: "engine".to_owned(),
        version: concat!("zonda-bench ", env!("CARGO_PKG_VERSION")).to_owned(),
        options: String::new(),
        command: command(lab, &SUBJECTS[4], cores, &[]).split_off(1),
        settings: String::new(),
    });
    let mut measured = Measured::default();
    runs::alternate(lab, &labels, |lab, which, run| {
        let (subject, count) = kinds[which];
        validity::gathered(
            lab,
            &format!("{}, round {run}", labels[which]),
            run,
            &mut measured,
            |lab, found| {
                let output = engine(lab, subject, count, &[])?;
                found.rates.push(subject.name(), &at(count), output.rate);
                found.cpu.push(subject.name(), &at(count), output.cpu_us_per_query);
                lab.record.raw.push(json!({
                    "protection": subject.name(), "threads": count, "run": run, "rate": output.rate,
                    "cpu_us_per_query": output.cpu_us_per_query,
                }));
                Ok(Heard::default())
            },
        )
        .map(drop)
    })?;
    let mut found = Found { rates: measured.rates, cpu: measured.cpu, threads, cores };
    let names: Vec<String> = SUBJECTS.iter().map(|subject| subject.name().to_owned()).collect();
    let places: Vec<String> = found.threads.iter().map(|&count| at(count)).collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    for values in [&mut found.rates, &mut found.cpu] {
        values.arrange(&names);
        values.arrange_places(&places);
    }
    Ok(found)
}

/// A place in what varies.
fn at(threads: usize) -> String {
    format!("{threads} {}", if threads == 1 { "thread" } else { "threads" })
}
