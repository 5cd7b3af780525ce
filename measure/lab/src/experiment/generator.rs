//! Generators that walk a staircase and take turns.

use std::{
    io::{BufRead, BufReader, Write},
    process::{ChildStderr, ChildStdin},
};

use serde_json::Value;

use super::Lab;
use crate::{
    Error,
    contender::Server,
    error::ServerProblem,
    process::Process,
    recipe::{Effort, Row},
};

/// A generator that waits for its turns.
pub struct Load {
    process: Process,
    turns: ChildStdin,
    steps: BufReader<ChildStderr>,
    last: String,
}

/// Where a staircase begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outset {
    /// First rate tried.
    pub rate: f64,
    /// First step, as share of it.
    pub step: f64,
}

impl Outset {
    /// Nothing is known: from the rate of the recipe on by doubling.
    pub fn unknown(effort: &Effort) -> Outset {
        Outset { rate: effort.rate_start, step: 1.0 }
    }
}

/// Options of a staircase. In a quick form all trials count, as all runs do.
fn staircase_words(effort: &Effort, outset: Outset, row: &Row, is_quick: bool) -> Vec<String> {
    let stolen_share = if is_quick { 1.0 } else { effort.stolen_share };
    let options = [
        ("--staircase", row.trials.unwrap_or(effort.trials).to_string()),
        ("--trial-seconds", (effort.trial_seconds * row.longer).to_string()),
        ("--width", effort.width.to_string()),
        ("--overtime-share", effort.overtime_share.max(row.overtime_share).to_string()),
        ("--stolen-share", stolen_share.to_string()),
        ("--rate-start", outset.rate.to_string()),
        ("--first-step", outset.step.to_string()),
        ("--lateness-ms", effort.lateness_ms.to_string()),
        ("--gather-us", effort.gather_us.to_string()),
        ("--flows", effort.flows.to_string()),
    ];
    let mut words: Vec<String> =
        options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]).collect();
    words.push("--take-turns".to_owned());
    words.extend(row.words());
    words
}

impl Load {
    /// Starts a staircase against a server; it waits for its first turn.
    pub fn start(
        lab: &Lab,
        server: &Server,
        queries: &std::path::Path,
        label: &str,
        outset: Outset,
        row: &Row,
    ) -> Result<Load, Error> {
        let folder = lab.folder(&format!("load-{label}"))?;
        let words = staircase_words(&lab.effort, outset, row, lab.record.quick);
        let command = lab.load_command(server, queries, &words);
        let mut process = Process::start_with(&command, &lab.load_place(), &folder, true)?;
        let child = process.child();
        let turns = child.stdin.take().expect("started with pipes");
        let steps = BufReader::new(child.stderr.take().expect("started with pipes"));
        Ok(Load { process, turns, steps, last: String::new() })
    }

    /// Lets it make one trial; false where it has ended.
    pub fn turn(&mut self) -> bool {
        let mut line = String::new();
        let told = self.turns.write_all(b"\n").and_then(|()| self.turns.flush());
        let is_there = told.is_ok() && self.steps.read_line(&mut line).is_ok_and(|octets| octets > 0);
        if is_there {
            self.last = line;
        }
        is_there
    }

    /// Its result, once it has ended.
    pub fn finish(mut self, lab: &Lab, server: &mut Server) -> Result<Value, Error> {
        let mut rest = String::new();
        while self.steps.read_line(&mut rest).is_ok_and(|octets| octets > 0) {}
        drop(self.turns);
        self.process.wait(&lab.stop)?;
        if let Some(status) = server.process.ended() {
            return Err(server.fault(ServerProblem::Ended(status.code())));
        }
        let result: Option<Value> = serde_json::from_str(&self.process.result()).ok();
        result.map(|mut value| value["staircase"].take()).filter(Value::is_object).ok_or_else(|| {
            let contender = server.name.text().to_owned();
            Error::Server { contender, problem: ServerProblem::Load, said: self.last + &rest }
        })
    }
}
