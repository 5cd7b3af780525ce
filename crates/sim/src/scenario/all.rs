//! All scenario files of a folder with one resolver: what passed, failed, is pending.

use super::{Failure, Scenario, run};
use crate::tested::Make;
use std::fs;
use std::path::{Path, PathBuf};

/// What came of all files.
#[derive(Debug, Default)]
pub struct Report {
    /// Names of those that passed, and were to.
    pub passed: Vec<String>,
    /// Names of those that are pending, and failed.
    pub pending: Vec<String>,
    /// Names of those that are pending, and passed: the line `pending` is to go.
    pub passed_though_pending: Vec<String>,
    /// Those that failed, with the story.
    pub failed: Vec<(String, Failure)>,
    /// Those that cannot be read.
    pub unreadable: Vec<String>,
}

impl Report {
    /// Whether the build goes on.
    pub fn is_good(&self) -> bool {
        self.passed_though_pending.is_empty() && self.failed.is_empty() && self.unreadable.is_empty()
    }

    /// In words: each failure, its story for the first `stories` of them, and counts.
    pub fn text(&self, stories: usize) -> String {
        let mut text = String::new();
        for error in &self.unreadable {
            text += &format!("{error}\n");
        }
        for name in &self.passed_though_pending {
            text += &format!("{name}: passes: its line `pending` is to go\n");
        }
        for (number, (name, failure)) in self.failed.iter().enumerate() {
            text += &format!("{name}:{}: {}\n", failure.line, failure.words);
            if number < stories {
                text += &failure.story;
            }
        }
        let (passed, failed, pending) = (self.passed.len(), self.failed.len(), self.pending.len());
        text + &format!("{passed} passed, {failed} failed, {pending} pending\n")
    }
}

/// The scenario files below a folder, by name, those whose name has `part`.
pub fn files(folder: &Path, part: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "scn")
                && path.to_string_lossy().contains(part)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs all of them.
pub fn run_all(files: &[PathBuf], make: &Make<'_>) -> Report {
    let mut report = Report::default();
    for path in files {
        let name = path.to_string_lossy().into_owned();
        let read = fs::read_to_string(path)
            .map_err(|error| format!("{name}: {error}"))
            .and_then(|text| Scenario::read(&name, &text));
        let scenario = match read {
            Ok(scenario) => scenario,
            Err(error) => {
                report.unreadable.push(error);
                continue;
            }
        };
        match (run(&scenario, make), scenario.pending) {
            (Ok(()), None) => report.passed.push(name),
            (Ok(()), Some(_)) => report.passed_though_pending.push(name),
            (Err(_), Some(_)) => report.pending.push(name),
            (Err(failure), None) => report.failed.push((name, failure)),
        }
    }
    report
}
