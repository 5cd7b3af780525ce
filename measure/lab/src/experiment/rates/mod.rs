//! Rates without loss: blocks of staircases that take turns, bracketed by echo servers.
//!
//! What varies are cases and numbers of workers. In a block every server, and two echo servers with as many workers, walk
//! a staircase each; from trial to trial it is another's turn, in random order. Only ratios within a block count. Blocks
//! whose echoes differ too much, or with a staircase that the hypervisor left no trial that counts, are discarded.
//!
//! Servers are started anew in every block, and the places that vary alternate; or, where loading takes long, they are
//! started once, and one place is measured after the other.

mod block;
mod report;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use bench::random::Random;

use super::{Lab, Running, Subject, latency, rated::Rated};
use crate::{
    Error,
    contender::{Bounds, EchoOptions, Role},
    data::Set,
    recipe::{Case, Name, Restart, Sockets},
    statistics,
};

/// Order of the turns.
const SEED: u64 = 1;
/// The second echo of a block.
const ECHO_AGAIN: &str = "echo again";
/// The echo server whose threads share a socket.
const ECHO_SHARED: &str = "echo, one socket";

/// One of the places that are measured: a case and a number of workers.
struct Spot {
    at: String,
    case: Case,
    workers: usize,
    set: Set,
    sizes: PathBuf,
    /// Who takes part here and is alive.
    names: Vec<Name>,
}

/// Values of all blocks, and latencies.
#[derive(Default)]
struct Found {
    rated: Rated,
    latencies: Vec<latency::Latency>,
}

/// Measures all spots in blocks, then latencies.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let mut found = Found::default();
    let spots = match lab.effort.restart {
        Restart::Block => by_block(lab, &mut found)?,
        Restart::Case => by_case(lab, &mut found)?,
    };
    if spots.iter().all(|spot| spot.names.is_empty()) && lab.record.raw.is_empty() {
        return Err(Error::Nobody);
    }
    report::report(lab, &spots, &found);
    Ok(())
}

/// Starts servers in every block; all spots in a round.
fn by_block(lab: &mut Lab, found: &mut Found) -> Result<Vec<Spot>, Error> {
    let (mut spots, counts) = (Vec::new(), workers(lab));
    for case in lab.recipe.cases.clone() {
        if let Some((set, sizes, running)) = prepare(lab, &case)? {
            let names: Vec<Name> = running.iter().map(|(subject, _)| subject.name).collect();
            spots.extend(counts.iter().map(|&workers| spot(lab, &case, workers, &set, &sizes, &names)));
        }
    }
    let mut order = Random::new(SEED);
    let (began, all) = (Instant::now(), lab.effort.blocks * spots.len());
    for number in 0..all {
        let (block, at) = (number / spots.len() + 1, number % spots.len());
        say_block(lab, block, &spots[at], (began, number, all - number));
        let mut running = Running::new();
        spots[at].start(lab, &mut running)?;
        block::measure(lab, block, &mut spots[at], &mut running, &mut order, found)?;
    }
    for spot in &mut spots {
        if spot.has_latency(lab, found) {
            let mut running = Running::new();
            spot.start(lab, &mut running)?;
            spot.latency(lab, running, found)?;
        }
    }
    Ok(spots)
}

/// Starts servers once a spot: with one worker, those whose answers were compared.
fn by_case(lab: &mut Lab, found: &mut Found) -> Result<Vec<Spot>, Error> {
    let (mut spots, counts) = (Vec::new(), workers(lab));
    let mut order = Random::new(SEED);
    let (began, all) = (Instant::now(), lab.effort.blocks * lab.recipe.cases.len() * counts.len());
    let mut done = 0;
    for case in lab.recipe.cases.clone() {
        let Some((set, sizes, compared)) = prepare(lab, &case)? else {
            done += lab.effort.blocks * counts.len();
            continue;
        };
        let names: Vec<Name> = compared.iter().map(|(subject, _)| subject.name).collect();
        let mut compared = Some(compared);
        for &workers in &counts {
            let mut spot = spot(lab, &case, workers, &set, &sizes, &names);
            let mut running = compared.take().filter(|_| workers == 1).unwrap_or_default();
            spot.start(lab, &mut running)?;
            for block in 1..=lab.effort.blocks {
                say_block(lab, block, &spot, (began, done, all - done));
                block::measure(lab, block, &mut spot, &mut running, &mut order, found)?;
                done += 1;
            }
            if spot.has_latency(lab, found) {
                spot.latency(lab, running, found)?;
            }
            spots.push(spot);
        }
    }
    Ok(spots)
}

fn say_block(lab: &Lab, block: usize, spot: &Spot, (began, done, left): (Instant, usize, usize)) {
    let text = format!("block {block} of {} {}", lab.effort.blocks, spot.at);
    lab.say_left(text.trim_end(), began, done, left);
}

/// Numbers of workers that this machine has cores for.
pub fn workers(lab: &mut Lab) -> Vec<usize> {
    let (cores, wanted) = (lab.server_cores.len(), lab.recipe.workers.clone());
    let workers: Vec<usize> = wanted.iter().copied().filter(|&workers| workers <= cores).collect();
    let workers = if workers.is_empty() { vec![1] } else { workers };
    if workers.len() < wanted.len() {
        lab.note(format!("at most {cores} workers: the servers have so many cores (--cpus-server)"));
    }
    let most = workers.iter().copied().max().unwrap_or(1);
    if lab.server_cores.iter().take(most).any(|core| lab.load_cores.contains(core)) {
        lab.note(format!(
            "with {most} workers the servers share a core with the generator, which costs them rate"
        ));
    }
    workers
}

/// Data of a case, reply sizes, and the contenders that came up and were compared; `None` where the data cannot be made or
/// nobody came up.
fn prepare(lab: &mut Lab, case: &Case) -> Result<Option<(Set, PathBuf, Running)>, Error> {
    let Some(set) = lab.set_if_able(case)? else { return Ok(None) };
    match lab.prepare(case, &set) {
        Ok((sizes, running)) => Ok(Some((set, sizes, running))),
        Err(error @ Error::Nobody) => {
            lab.note(format!("{} is left out: {error}", case.name));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn spot(lab: &Lab, case: &Case, workers: usize, set: &Set, sizes: &Path, names: &[Name]) -> Spot {
    let mut at = Vec::new();
    if lab.recipe.cases.len() > 1 {
        at.push(case.name.clone());
    }
    if lab.recipe.workers.len() > 1 {
        at.push(format!("{workers} {}", if workers == 1 { "worker" } else { "workers" }));
    }
    let (case, set, sizes) = (case.clone(), set.clone(), sizes.to_owned());
    Spot { at: at.join(", "), case, workers, set, sizes, names: names.to_vec() }
}

impl Spot {
    /// Who takes part in a block: an echo server, all contenders, another echo server.
    fn subjects(&self, lab: &Lab) -> Vec<Subject> {
        let echo = |label: &str, sockets| Subject {
            label: label.to_owned(),
            name: Name::Echo,
            workers: self.workers,
            echo: EchoOptions {
                threads: self.workers,
                sockets,
                sizes: Some(self.sizes.clone()),
                ..EchoOptions::default()
            },
            cores: lab.server_cores.iter().copied().take(self.workers).collect(),
            role: Role::Static,
            bounds: Bounds::default(),
            under: Vec::new(),
        };
        let mut all = vec![echo(Name::Echo.text(), Sockets::Each)];
        all.extend(lab.subjects(&self.names, self.workers));
        if lab.recipe.workers.len() > 1 {
            all.push(echo(ECHO_SHARED, Sockets::Shared));
        }
        all.push(echo(ECHO_AGAIN, Sockets::Each));
        all
    }

    /// Starts those that do not run yet and warms all. Contenders that fail take no further part here.
    fn start(&mut self, lab: &mut Lab, running: &mut Running) -> Result<(), Error> {
        if self.names.is_empty() {
            return Ok(());
        }
        lab.start_all(self.subjects(lab), &self.set.zones, running, &self.at)?;
        lab.warm_all(running, &self.set.queries, &self.at)?;
        self.keep(running);
        Ok(())
    }

    /// Who is gone takes no further part here.
    fn keep(&mut self, running: &Running) {
        self.names.retain(|&name| running.iter().any(|(subject, _)| subject.name == name));
    }

    /// The rate of the slowest contender.
    fn weakest(&self, found: &Found) -> Option<f64> {
        let held =
            self.names.iter().map(|name| statistics::median(found.rated.rates.of(name.text(), &self.at)));
        held.filter(|&rate| rate > 0.0).min_by(f64::total_cmp)
    }

    fn has_latency(&self, lab: &Lab, found: &Found) -> bool {
        lab.effort.latency_runs > 0 && self.weakest(found).is_some()
    }

    /// Measures latencies of those that run.
    fn latency(&mut self, lab: &mut Lab, mut running: Running, found: &mut Found) -> Result<(), Error> {
        let Some(weakest) = self.weakest(found) else { return Ok(()) };
        running.retain(|(subject, _)| ![ECHO_AGAIN, ECHO_SHARED].contains(&subject.label.as_str()));
        found.latencies.push(latency::run(lab, &self.at, &mut running, &self.set.queries, weakest)?);
        self.keep(&running);
        Ok(())
    }
}
