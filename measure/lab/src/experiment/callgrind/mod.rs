//! Servers under callgrind: what they executed while they answered.
//!
//! Each is run twice, with `N` queries and with `2N`; the difference leaves out start, loading and end. All processes, threads and
//! shared libraries count, the kernel does not. The queries are always up to so many at a time (`window`), so that servers can work in
//! batches; answers to them must fit a socket's buffer.

pub mod atomics;
pub mod counts;
mod watching;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use bench::random::Random;
use serde_json::Value;

use super::{Lab, Running, Subject};
use crate::{
    Error,
    agreement::{self, Ttls},
    data::{Set, Zones},
    error,
    error::ServerProblem,
    process,
    recipe::{Case, ZoneKind},
};
use watching::Watching;

/// The program.
const PROGRAM: &str = "valgrind";
/// How long a server may take to end: freeing millions of records takes fifty times as long there.
const STOP_SECONDS: u64 = 120;
/// Order of the runs.
const SEED: u64 = 5;
/// How long a run may last, beside all time-outs: longer than any that ends by its count of queries.
const SECONDS: &str = "3000";

/// With this callgrind writes a file for each thread.
pub const BY_THREAD: [&str; 1] = ["--separate-threads=yes"];
/// What the names of functions have in them that workers alone execute: those that receive datagrams.
const RECEIVING: &str = "net::udp::Receiver::";

/// What the generator saw.
pub struct Outcome(pub Value);

impl Outcome {
    /// Queries that were answered. What was lost on the way was not worked on.
    pub fn answered(&self) -> f64 {
        self.0["received"].as_f64().unwrap_or(0.0)
    }
}

/// What each of the queries took that the second of two runs answered more.
pub fn an_answer<T>(two: &[(T, Outcome); 2], count: impl Fn(&T) -> u64) -> f64 {
    let [first, second] = two;
    (count(&second.0) as f64 - count(&first.0) as f64) / (second.1.answered() - first.1.answered()).max(1.0)
}

/// An error where the program is missing.
pub fn check() -> Result<(), Error> {
    let missing = || Error::Missing {
        program: PROGRAM.to_owned(),
        remedy: "it counts what servers execute; on Debian install valgrind",
    };
    process::find(PROGRAM).map(drop).ok_or_else(missing)
}

/// Runs all contenders in all cases, in as many rounds as the effort says: two runs each, the second with twice as many queries.
///
/// `options`: of callgrind. `read`: takes from a run what is wanted of it, before the files of the next are written. `take`: has what was
/// taken from both, and what the generator saw. A contender that fails in a case is left out of the rest of it with a note.
pub fn rounds<T>(
    lab: &mut Lab,
    options: &[&str],
    mut read: impl FnMut(&[PathBuf]) -> Result<T, Error>,
    mut take: impl FnMut(&mut Lab, &Subject, &str, [(T, Outcome); 2]) -> Result<(), Error>,
) -> Result<(), Error> {
    for case in lab.recipe.cases.clone() {
        let set = lab.set(&case)?;
        lab.record.notes.push(format!("{}: {} records, {}", case.name, set.zones.records, set.source));
        let mut subjects = alike(lab, &case, &set)?;
        let queries = queries(lab, &case, &set)?;
        let (began, rounds, at) = (Instant::now(), lab.effort.runs, case.name.as_str());
        let mut order = Random::new(SEED);
        for round in 0..rounds {
            if subjects.is_empty() {
                break;
            }
            let text = format!("{at}: counting, round {} of {rounds}", round + 1);
            lab.say_left(&text, began, round, rounds - round);
            let mut failed = Vec::new();
            order.shuffle(&mut subjects);
            for subject in &subjects {
                let two = twice(lab, subject, &set.zones, &queries, options, &mut read);
                match two.and_then(|two| take(lab, subject, at, two)) {
                    Err(error @ Error::Server { .. }) => {
                        failed.push(subject.label.clone());
                        lab.note(format!("{at}, {}: {error}", subject.label));
                    }
                    result => result?,
                }
            }
            subjects.retain(|subject| !failed.contains(&subject.label));
            lab.record.blocks.kept += usize::from(!subjects.is_empty());
        }
    }
    Ok(())
}

/// Contenders that come up, asked a sample of the queries, without callgrind: who answers differently does other work.
fn alike(lab: &mut Lab, case: &Case, set: &Set) -> Result<Vec<Subject>, Error> {
    let mut running = Running::new();
    let mut subjects = lab.subjects(&lab.names, 1);
    for subject in &mut subjects {
        (subject.bounds.answers_anew, subject.bounds.watched) = (!case.keep_answers, case.watched);
    }
    lab.start_all(subjects, &set.zones, &mut running, &case.name)?;
    let sample = agreement::sample(&set.queries, lab.effort.agreement)?;
    lab.compare(&running, &sample, Ttls::Compared, case, &case.name)?;
    Ok(running.into_iter().map(|(subject, _)| subject).collect())
}

/// Queries for the longer of two runs: of recorded ones, laps that differ.
fn queries(lab: &Lab, case: &Case, set: &Set) -> Result<PathBuf, Error> {
    match case.zone {
        ZoneKind::Root if case.recorded && !case.same_laps => lab.laps(set, 2 * lab.effort.counted),
        _ => Ok(set.queries.clone()),
    }
}

fn twice<T>(
    lab: &mut Lab,
    subject: &Subject,
    zones: &Zones,
    queries: &Path,
    options: &[&str],
    read: &mut impl FnMut(&[PathBuf]) -> Result<T, Error>,
) -> Result<[(T, Outcome); 2], Error> {
    let count = lab.effort.counted;
    let mut one = |count| -> Result<_, Error> {
        let (files, outcome) = run(lab, subject, zones, queries, count, options)?;
        Ok((read(&files)?, outcome))
    };
    Ok([one(count)?, one(2 * count)?])
}

fn run(
    lab: &mut Lab,
    subject: &Subject,
    zones: &Zones,
    queries: &Path,
    count: usize,
    options: &[&str],
) -> Result<(Vec<PathBuf>, Outcome), Error> {
    lab.go_on()?;
    let folder = lab.work.join("callgrind");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(error::file(&folder, "empty"))?;
    }
    let folder = lab.folder("callgrind")?;
    let out = format!("--callgrind-out-file={}/%p", folder.display());
    let words = [&[PROGRAM, "--tool=callgrind", "--trace-children=yes", &out], options].concat();
    let under = words.into_iter().map(str::to_owned).collect();
    let mut server = lab.start(&Subject { under, ..subject.clone() }, zones)?;
    let (count, window) = (count.to_string(), lab.effort.window.to_string());
    let flows = lab.effort.flows.to_string();
    let words = ["--closed", &window, "--count", &count, "--seconds", SECONDS, "--flows", &flows];
    let watching = Watching::begin(lab, &server, subject.bounds.watched);
    let mut result = lab.load(&mut server, queries, &words.map(str::to_owned))?;
    drop(watching);
    server.process.stop_within(STOP_SECONDS);
    let entries = fs::read_dir(&folder).map_err(error::file(&folder, "read"))?;
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    match files.is_empty() {
        true => Err(server.fault(ServerProblem::Uncounted)),
        false => Ok((files, Outcome(result["outcome"].take()))),
    }
}

/// Instructions in callgrind's files of a run; 0 of a process that executed none there.
pub fn instructions(files: &[PathBuf]) -> Result<u64, Error> {
    let mut sum = 0;
    for path in files {
        let text = fs::read(path).map_err(error::file(path, "read"))?;
        sum += total(&String::from_utf8_lossy(&text));
    }
    Ok(sum)
}

/// The same of the threads that receive queries, where callgrind has written a file for each thread ([`BY_THREAD`]).
pub fn instructions_of_workers(files: &[PathBuf]) -> Result<u64, Error> {
    let mut sum = None;
    for path in files {
        let text = fs::read(path).map_err(error::file(path, "read"))?;
        let text = String::from_utf8_lossy(&text);
        if text.lines().any(is_of_worker) {
            *sum.get_or_insert(0) += total(&text);
        }
    }
    sum.ok_or(Error::Output { program: PROGRAM, wanted: "a thread that receives queries" })
}

/// Whether a line names a function of workers, as who executes or who is called; a name is written in full where it comes first.
fn is_of_worker(line: &str) -> bool {
    (line.starts_with("fn=") || line.starts_with("cfn=")) && line.contains(RECEIVING)
}

/// The sum of instructions in a file: what it has in its head or at its end, the greater of both.
fn total(text: &str) -> u64 {
    let number = |line: &str| {
        let rest = line.strip_prefix("summary:").or_else(|| line.strip_prefix("totals:"))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    text.lines().filter_map(number).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_a_file() {
        let text =
            "version: 1\nevents: Ir\nsummary: 120\n\nfn=(1) main\n0 7\ncalls=2 0\n0 50\n\ntotals: 123\n";
        assert_eq!((total(text), total("version: 1\n"), total("summary: 5 6\n")), (123, 0, 5));
    }
}
