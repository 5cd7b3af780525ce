//! Groups of clients that ask at the same time, each a generator of its own with addresses of its own.

use std::{net::Ipv4Addr, path::PathBuf, thread, time::Duration};

use serde_json::Value;

use super::{super::validity::Heard, Lab};
use crate::{Error, contender::Server, error::ServerProblem, process::Process};

/// How often is looked whether all have ended, and what a server takes meanwhile.
const LOOK: Duration = Duration::from_millis(50);

/// A group of clients.
pub struct Clients {
    /// What they are called.
    pub label: &'static str,
    /// What they ask.
    pub queries: PathBuf,
    /// How often, a second.
    pub rate: f64,
    /// For how long.
    pub seconds: f64,
    /// How long before they begin.
    pub after: Duration,
    /// Where from; from wherever the system likes without.
    pub sources: Vec<Ipv4Addr>,
    /// How long they wait for an answer.
    pub patience_ms: u64,
    /// Whether queries leave in trains, which costs their end little.
    pub trains: bool,
}

/// What a group got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Said {
    /// Queries.
    pub sent: u64,
    /// Answers of any kind, in time.
    pub answered: u64,
    /// With what was asked for.
    pub found: u64,
    /// Answers after their time.
    pub late: u64,
    /// That could not be told.
    pub failed: u64,
    /// Median and 99th percentile of the time until an answer, in milliseconds.
    pub median_ms: f64,
    /// See `median_ms`.
    pub p99_ms: f64,
    /// How long they asked.
    pub seconds: f64,
    /// Of their generator; what is lost is a result.
    pub heard: Heard,
}

impl Said {
    /// What `zonda-bench load --json` says.
    pub fn of(outcome: &Value) -> Said {
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let ms = |name: &str| outcome["latency_us"][name].as_f64().unwrap_or(0.0) / 1000.0;
        Said {
            sent: count(&outcome["sent"]),
            answered: count(&outcome["received"]),
            found: count(&outcome["rcodes"]["NOERROR"]),
            late: count(&outcome["late"]),
            failed: count(&outcome["rcodes"]["SERVFAIL"]),
            median_ms: ms("p50"),
            p99_ms: ms("p99"),
            seconds: outcome["seconds"].as_f64().unwrap_or(0.0),
            heard: Heard::of(outcome, false),
        }
    }

    /// The share of queries that were answered with what was asked for.
    pub fn share(&self) -> f64 {
        self.found as f64 / self.sent.max(1) as f64
    }
}

/// What came of all groups.
pub struct Together {
    /// By group.
    pub said: Vec<Said>,
    /// When something was looked at, from the start of the first group on in seconds, and what it was: a count that grows.
    pub looks: Vec<(f64, u64)>,
    /// The most memory that the server took, in octets.
    pub pss_most: u64,
}

impl Together {
    /// By how much the count grew a second, between two moments.
    pub fn growth(&self, from: f64, to: f64) -> f64 {
        let within: Vec<_> = self.looks.iter().filter(|(at, _)| (from..=to).contains(at)).collect();
        match (within.first(), within.last()) {
            (Some((first, before)), Some((last, after))) if last > first => {
                after.saturating_sub(*before) as f64 / (last - first)
            }
            _ => 0.0,
        }
    }
}

/// Lets all groups ask a server at the same time, and waits for the last of them; looks at a count of the caller's meanwhile.
pub fn together(
    lab: &Lab,
    server: &mut Server,
    groups: &[Clients],
    look: impl Fn() -> Result<u64, Error>,
) -> Result<Together, Error> {
    let mut waiting: Vec<&Clients> = groups.iter().collect();
    waiting.sort_by_key(|group| group.after);
    let began = std::time::Instant::now();
    let (mut running, mut looks, mut pss_most) = (Vec::new(), Vec::new(), 0);
    while !waiting.is_empty()
        || running.iter_mut().any(|(_, process): &mut (_, Process)| process.ended().is_none())
    {
        lab.go_on()?;
        while waiting.first().is_some_and(|group| group.after <= began.elapsed()) {
            let group = waiting.remove(0);
            running.push((group.label, start(lab, server, group)?));
        }
        if let Some(status) = server.process.ended() {
            return Err(server.fault(ServerProblem::Ended(status.code())));
        }
        looks.push((began.elapsed().as_secs_f64(), look()?));
        pss_most = pss_most.max(server.process.pss());
        thread::sleep(LOOK);
    }
    let said = |group: &Clients| {
        let process = running.iter().find(|(label, _)| *label == group.label).map(|(_, process)| process);
        let result = process.map(Process::result).unwrap_or_default();
        let value: Option<Value> = serde_json::from_str(&result).ok();
        value.map(|value| Said::of(&value["outcome"])).ok_or_else(|| {
            let contender = server.name.text().to_owned();
            let said = process.map(Process::said).unwrap_or_default();
            Error::Server { contender, problem: ServerProblem::Load, said }
        })
    };
    Ok(Together { said: groups.iter().map(said).collect::<Result<_, _>>()?, looks, pss_most })
}

fn start(lab: &Lab, server: &Server, group: &Clients) -> Result<Process, Error> {
    let words = [
        ("--rate", group.rate.to_string()),
        ("--seconds", group.seconds.to_string()),
        ("--flows", group.sources.len().max(64).to_string()),
        ("--timeout-ms", group.patience_ms.to_string()),
        ("--gather-us", "1000".to_owned()),
    ];
    let mut words: Vec<String> =
        words.into_iter().flat_map(|(option, value)| [option.to_owned(), value]).collect();
    if group.trains {
        words.push("--trains".to_owned());
    }
    if !group.sources.is_empty() {
        let list: Vec<String> = group.sources.iter().map(Ipv4Addr::to_string).collect();
        words.extend(["--source".to_owned(), list.join(",")]);
    }
    let mut command = lab.load_command(server, &group.queries, &[]);
    // The patience of the recipe is another one.
    if let Some(at) = command.iter().position(|word| word == "--timeout-ms") {
        command.drain(at..at + 2);
    }
    command.extend(words);
    Process::start(&command, &lab.load_place(), &lab.folder(&format!("load-{}", group.label))?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn growth_between_two_moments() {
        let looks = vec![(0.0, 5), (0.5, 5), (1.0, 105), (1.5, 205), (2.5, 1000)];
        let together = Together { said: Vec::new(), looks, pss_most: 0 };
        assert_eq!(together.growth(0.4, 2.0), 200.0);
        assert_eq!((together.growth(0.0, 0.6), together.growth(3.0, 4.0)), (0.0, 0.0));
    }

    #[test]
    fn what_a_generator_says() {
        let outcome = json!({
            "sent": 8, "received": 7, "late": 1, "seconds": 2.0, "rcodes": { "NOERROR": 6, "SERVFAIL": 1 },
            "latency_us": { "p50": 1500.0, "p99": 2500.0 },
        });
        let said = Said::of(&outcome);
        assert_eq!((said.sent, said.answered, said.found, said.failed, said.late), (8, 7, 6, 1, 1));
        assert_eq!((said.median_ms, said.p99_ms, said.share()), (1.5, 2.5, 0.75));
        assert_eq!(Said::of(&json!({})).share(), 0.0);
    }
}
