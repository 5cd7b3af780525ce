//! The two runs of a turn: the same load without reloads and with them.

use std::{
    io::ErrorKind,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use serde_json::{Value, json};

use super::{super::Lab, change::Changes};
use crate::{
    Error,
    contender::Server,
    data::Set,
    error::ServerProblem,
    experiment::validity::{self, Made},
    known::Known,
    process::Process,
};

/// The load beside reloads, as share of what is answered without them.
const HALF: f64 = 0.5;
/// How the threads of Zonda begin that answer.
const WORKERS: &str = "worker-";

/// A server and its load.
pub struct Turn<'a> {
    /// Who, started.
    pub server: &'a mut Server,
    /// What it serves.
    pub set: &'a Set,
    /// Queries a second.
    pub rate: f64,
    /// Zones in the order in which they are read again.
    pub order: Vec<usize>,
    /// How many were.
    pub next: usize,
}

/// One run.
pub struct Run {
    /// What the generator said.
    outcome: Value,
    /// From telling the server to the first answer with the new serial, of each reload in milliseconds.
    pub reloads_ms: Vec<f64>,
    /// Share of the time in which the threads that answer had no processor, where they are known.
    pub waited: Option<f64>,
}

impl Run {
    /// A percentile of the answers.
    pub fn latency_us(&self, percentile: &str) -> f64 {
        self.outcome["latency_us"][percentile].as_f64().unwrap_or(0.0)
    }

    /// What is known of these.
    pub fn known_latency(&self) -> Known {
        validity::known_of_latency(&self.outcome)
    }

    /// Queries without an answer.
    pub fn lost(&self) -> f64 {
        self.outcome["lost"].as_f64().unwrap_or(0.0)
    }

    /// Share of the queries that had one.
    pub fn answered(&self) -> f64 {
        1.0 - self.lost() / self.outcome["sent"].as_f64().unwrap_or(0.0).max(1.0)
    }

    fn json(&self) -> Value {
        json!({ "outcome": self.outcome, "reloads_ms": self.reloads_ms, "waited_share": self.waited })
    }
}

/// How many queries a second are sent: those of the recipe, or half of what the server answers. It is warm then.
pub fn rate(lab: &Lab, server: &mut Server, queries: &Path) -> Result<f64, Error> {
    if let Some(rate) = lab.recipe.changes.query_rate {
        lab.warm(server, queries)?;
        return Ok(rate.into());
    }
    let effort = &lab.effort;
    let numbers = [effort.window.to_string(), effort.warm_seconds.to_string(), effort.flows.to_string()];
    let words = ["--closed", &numbers[0], "--seconds", &numbers[1], "--flows", &numbers[2]];
    let result = lab.load(server, queries, &words.map(str::to_owned))?;
    Ok((result["outcome"]["answers_per_second"].as_f64().unwrap_or(0.0) * HALF).max(1.0))
}

impl Turn<'_> {
    /// Makes both runs. What is lost in them is what is measured, and no condition.
    pub fn make(&mut self, lab: &Lab, at: &str, round: usize) -> Result<Made<(Run, Run)>, Error> {
        let without = self.run(lab, false)?;
        let with = self.run(lab, true)?;
        let late = |run: &Run| run.outcome["lateness_us"]["p99"].as_f64().unwrap_or(0.0);
        Ok(Made {
            raw: json!({
                "reload_of": self.server.name.text(), "at": at, "round": round, "rate": self.rate,
                "without": without.json(), "with": with.json(),
            }),
            outcome: json!({ "lateness_us": { "p99": late(&without).max(late(&with)) } }),
            answers_all: false,
            value: (without, with),
        })
    }

    /// One run; zones are asked for their serials from the generator's core.
    fn run(&mut self, lab: &Lab, reloads: bool) -> Result<Run, Error> {
        let (scheduled, began) = (self.server.process.scheduled(WORKERS), Instant::now());
        let place = lab.load_place();
        let mut load = Process::start(&self.command(lab), &place, &lab.folder("load")?)?;
        let changes = Changes::new(lab, self.server, self.set)?;
        let is_over = AtomicBool::new(false);
        let has_ended = || is_over.load(Ordering::Relaxed);
        let beside = || match reloads {
            true => changes.go_on_until(&self.order, self.next, has_ended),
            false => changes.look_on_until(has_ended).map(|()| Vec::new()),
        };
        let (reloads_ms, waited) = thread::scope(|scope| {
            let beside = scope.spawn(|| place.enter(|| Ok(beside())));
            let ended = load.wait(&lab.stop);
            is_over.store(true, Ordering::Relaxed);
            // The last reload may go on for long without the load.
            let waited = waited(scheduled, self.server.process.scheduled(WORKERS), began);
            let done = beside.join().unwrap_or_else(|_| Err(panicked()));
            ended.and(done).map(|times| (times, waited))
        })?;
        self.next += reloads_ms.as_ref().map_or(0, Vec::len);
        Ok(Run { outcome: self.outcome(&mut load)?, reloads_ms: reloads_ms?, waited })
    }

    /// What the generator said.
    fn outcome(&mut self, load: &mut Process) -> Result<Value, Error> {
        if let Some(status) = self.server.process.ended() {
            return Err(self.server.fault(ServerProblem::Ended(status.code())));
        }
        let result: Option<Value> = serde_json::from_str(&load.result()).ok();
        let outcome = result.map(|mut result| result["outcome"].take()).filter(Value::is_object);
        outcome.ok_or_else(|| Error::Server {
            contender: self.server.name.text().to_owned(),
            problem: ServerProblem::Load,
            said: load.said(),
        })
    }

    /// The command line of the generator.
    fn command(&self, lab: &Lab) -> Vec<String> {
        let numbers = [self.rate, lab.effort.run_seconds].map(|number| number.to_string());
        let flows = lab.effort.flows.to_string();
        let words = ["--rate", &numbers[0], "--poisson", "--seconds", &numbers[1], "--flows", &flows];
        lab.load_command(self.server, &self.set.queries, &words.map(str::to_owned))
    }
}

/// The share of the time since `began` in which threads had no processor that could have run; `before` and `now`: seconds that they ran, and that they waited.
fn waited(before: Option<(f64, f64)>, now: Option<(f64, f64)>, began: Instant) -> Option<f64> {
    let ((_, before), (_, now)) = before.zip(now)?;
    Some((now - before).max(0.0) / began.elapsed().as_secs_f64())
}

fn panicked() -> Error {
    Error::System { action: "have zones read again", cause: ErrorKind::Other.into() }
}
