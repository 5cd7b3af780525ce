//! Servers under callgrind: what they executed while they answered.
//!
//! Each is run twice, with `N` queries and with `2N`; the difference leaves out start, loading and end. All processes, threads and
//! shared libraries count, the kernel does not. The queries are always up to so many at a time (`window`), so that servers can work in
//! batches; answers to them must fit a socket's buffer.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Lab, Subject};
use crate::{Error, data::Zones, error, error::ServerProblem, process, recipe::Case, recipe::ZoneKind};

/// The program.
const PROGRAM: &str = "valgrind";
/// How long a server may take to end: freeing millions of records takes fifty times as long there.
const STOP_SECONDS: u64 = 120;
/// How long a run may last, beside all time-outs: longer than any that ends by its count of queries.
const SECONDS: &str = "3000";

/// A run to its end.
pub struct Run {
    /// What callgrind wrote, a file for each process.
    pub files: Vec<PathBuf>,
    /// What the generator saw.
    pub outcome: Value,
}

impl Run {
    /// Queries that were answered. What was lost on the way was not worked on.
    pub fn answered(&self) -> f64 {
        self.outcome["received"].as_f64().unwrap_or(0.0)
    }
}

/// An error where the program is missing.
pub fn check() -> Result<(), Error> {
    let missing = || Error::Missing {
        program: PROGRAM.to_owned(),
        remedy: "it counts what servers execute; on Debian install valgrind",
    };
    process::find(PROGRAM).map(drop).ok_or_else(missing)
}

/// Queries for the longer of two runs: of recorded ones, laps that differ.
pub fn queries(lab: &Lab, case: &Case, set: &crate::data::Set) -> Result<PathBuf, Error> {
    match case.zone {
        ZoneKind::Root if !case.same_laps => lab.laps(set, 2 * lab.effort.counted),
        _ => Ok(set.queries.clone()),
    }
}

/// Two runs of a server, the second with twice as many queries. `options`: of callgrind. `read`: takes from a run what is wanted of it,
/// before the files of the next are written over its own.
pub fn twice<T>(
    lab: &mut Lab,
    subject: &Subject,
    zones: &Zones,
    queries: &Path,
    options: &[&str],
    mut read: impl FnMut(Run) -> Result<T, Error>,
) -> Result<[T; 2], Error> {
    let count = lab.effort.counted;
    let first = read(run(lab, subject, zones, queries, count, options)?)?;
    Ok([first, read(run(lab, subject, zones, queries, 2 * count, options)?)?])
}

fn run(
    lab: &mut Lab,
    subject: &Subject,
    zones: &Zones,
    queries: &Path,
    count: usize,
    options: &[&str],
) -> Result<Run, Error> {
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
    let mut result = lab.load(&mut server, queries, &words.map(str::to_owned))?;
    server.process.stop_within(STOP_SECONDS);
    let entries = fs::read_dir(&folder).map_err(error::file(&folder, "read"))?;
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    match files.is_empty() {
        true => Err(server.fault(ServerProblem::Uncounted)),
        false => Ok(Run { files, outcome: result["outcome"].take() }),
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
