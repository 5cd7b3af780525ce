//! Rates without loss: blocks of staircases that take turns, bracketed by echo servers.
//!
//! What varies are cases and numbers of workers. In a block every server, and two echo servers with as many workers, walk
//! a staircase each; from trial to trial it is another's turn, in random order. Only ratios within a block count. Blocks
//! whose echoes differ too much, or with a staircase that the hypervisor left no trial that counts, are discarded.
//!
//! Servers are started anew in every block, and the places that vary alternate; or, where loading takes long, they are
//! started once, and one place is measured after the other.
//!
//! After each block that counts generators of others check its rates ([`cross`]).
//!
//! A recipe may ask some of them in other ways too ([`Row`]). Of the usual one more is measured once the rates are known: rates without
//! any loss ([`loss_free`]), what is answered beyond the maximum ([`beyond`]), latencies and how they are distributed ([`distribution`]).

mod beyond;
mod block;
mod cross;
mod distribution;
mod loss_free;
mod octets;
mod report;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Instant,
};

use bench::random::Random;

use super::{Lab, Prepared, Rounds, Running, Subject, Values, latency, rated::Rated};
use crate::{
    Error,
    contender::{Bounds, EchoOptions, Role},
    data::Set,
    recipe::{Case, Effort, Name, Restart, Row, Sockets},
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
    /// How they are asked.
    row: Row,
    set: Set,
    sizes: PathBuf,
    /// Who takes part here and is alive.
    names: Vec<Name>,
    /// Where each one's staircase ended in the block before, by label.
    reached: BTreeMap<String, f64>,
}

/// Values of all blocks, and what was measured after them.
#[derive(Default)]
struct Found {
    rated: Rated,
    octets: octets::Octets,
    cross: cross::Cross,
    /// The highest rates without any loss.
    loss_free: Values,
    beyond: beyond::Beyond,
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
        if let Some((set, Prepared { running, sizes, .. })) = prepare(lab, &case, found)? {
            let names: Vec<Name> = running.iter().map(|(subject, _)| subject.name).collect();
            let place = |(workers, row)| spot(lab, &case, (workers, row), &set, &sizes, &names);
            spots.extend(ways(lab, &counts).into_iter().map(place));
        }
    }
    let mut order = Random::new(SEED);
    let (began, mut rounds, mut done) = (Instant::now(), Rounds::new(lab.effort.blocks), 0);
    while let Some(block) = rounds.next(lab) {
        let all = rounds.count() * spots.len();
        for spot in &mut spots {
            say_block(lab, (block, rounds.count()), spot, (began, done, all - done));
            let mut running = Running::new();
            spot.start(lab, &mut running)?;
            block::measure(lab, block, spot, &mut running, &mut order, found)?;
            done += 1;
        }
    }
    for spot in &mut spots {
        if spot.has_more(lab, found) {
            let mut running = Running::new();
            spot.start(lab, &mut running)?;
            spot.more(lab, running, found)?;
        }
    }
    Ok(spots)
}

/// Starts servers once a spot: with one worker, those whose answers were compared.
fn by_case(lab: &mut Lab, found: &mut Found) -> Result<Vec<Spot>, Error> {
    let (mut spots, counts) = (Vec::new(), workers(lab));
    let mut order = Random::new(SEED);
    let ways = ways(lab, &counts);
    let (began, mut all) = (Instant::now(), lab.effort.blocks * lab.recipe.cases.len() * ways.len());
    let mut done = 0;
    for case in lab.recipe.cases.clone() {
        let Some((set, Prepared { running, sizes, .. })) = prepare(lab, &case, found)? else {
            done += lab.effort.blocks * ways.len();
            continue;
        };
        let names: Vec<Name> = running.iter().map(|(subject, _)| subject.name).collect();
        let mut compared = Some(running);
        for (workers, row) in ways.clone() {
            let mut spot = spot(lab, &case, (workers, row), &set, &sizes, &names);
            let mut running = compared.take().filter(|_| workers == 1).unwrap_or_default();
            spot.start(lab, &mut running)?;
            let mut rounds = Rounds::new(lab.effort.blocks);
            while let Some(block) = rounds.next(lab) {
                // A spare block is one more than was thought of.
                all += usize::from(block > lab.effort.blocks);
                say_block(lab, (block, rounds.count()), &spot, (began, done, all - done));
                block::measure(lab, block, &mut spot, &mut running, &mut order, found)?;
                done += 1;
            }
            if spot.has_more(lab, found) {
                spot.more(lab, running, found)?;
            }
            spots.push(spot);
        }
    }
    Ok(spots)
}

fn say_block(
    lab: &Lab,
    (block, blocks): (usize, usize),
    spot: &Spot,
    (began, done, left): (Instant, usize, usize),
) {
    let text = format!("block {block} of {blocks} {}", spot.at);
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

/// Data of a case, and who came up with them; `None` where the data cannot be made or nobody came up.
fn prepare(lab: &mut Lab, case: &Case, found: &mut Found) -> Result<Option<(Set, Prepared)>, Error> {
    let Some(set) = lab.set_if_able(case)? else { return Ok(None) };
    match lab.prepare(case, &set) {
        Ok(prepared) => {
            let at = if lab.recipe.cases.len() > 1 { case.name.as_str() } else { "" };
            found.octets.add(at, &set.queries, &prepared)?;
            Ok(Some((set, prepared)))
        }
        Err(error @ Error::Nobody) => {
            lab.note(format!("{} is left out: {error}", case.name));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Numbers of workers, asked as usual; with the first of them also in all other ways of the recipe.
fn ways(lab: &Lab, counts: &[usize]) -> Vec<(usize, Row)> {
    let usual = counts.iter().map(|&workers| (workers, Row::default()));
    let others = lab.recipe.rows.iter().map(|row| (counts[0], row.clone()));
    usual.chain(others).collect()
}

fn spot(
    lab: &Lab,
    case: &Case,
    (workers, row): (usize, Row),
    set: &Set,
    sizes: &Path,
    names: &[Name],
) -> Spot {
    let mut at = Vec::new();
    if lab.recipe.cases.len() > 1 {
        at.push(case.name.clone());
    }
    if lab.recipe.workers.len() > 1 {
        at.push(format!("{workers} {}", if workers == 1 { "worker" } else { "workers" }));
    }
    if !row.name.is_empty() {
        at.push(row.name.clone());
    }
    let (case, set, sizes) = (case.clone(), set.clone(), sizes.to_owned());
    let names = names.iter().copied().filter(|&name| row.is_for(name)).collect();
    Spot { at: at.join(", "), case, workers, row, set, sizes, names, reached: BTreeMap::new() }
}

impl Spot {
    /// Who takes part in a block: an echo server, all contenders, another echo server.
    fn subjects(&self, lab: &Lab) -> Vec<Subject> {
        let Row { ipv6, keep_answers, .. } = self.row;
        let bounds = Bounds { ipv6, answers_anew: !keep_answers, ..Bounds::default() };
        let echo = |label: &str, sockets| Subject {
            label: label.to_owned(),
            name: Name::Echo,
            workers: self.workers,
            echo: EchoOptions {
                threads: self.workers,
                sockets,
                tcp: self.row.tcp,
                sizes: Some(self.sizes.clone()),
                ..EchoOptions::default()
            },
            cores: lab.server_cores.iter().copied().take(self.workers).collect(),
            role: Role::Static,
            bounds,
            under: Vec::new(),
        };
        let mut all = Vec::new();
        if lab.effort.echo_servers > 0 {
            all.push(echo(Name::Echo.text(), Sockets::Each));
        }
        all.extend(
            lab.subjects(&self.names, self.workers).into_iter().map(|subject| Subject { bounds, ..subject }),
        );
        if lab.recipe.workers.len() > 1 {
            all.push(echo(ECHO_SHARED, Sockets::Shared));
        }
        if lab.effort.echo_servers > 1 {
            all.push(echo(ECHO_AGAIN, Sockets::Each));
        }
        all
    }

    /// Starts those that do not run yet and warms all. Contenders that fail take no further part here.
    fn start(&mut self, lab: &mut Lab, running: &mut Running) -> Result<(), Error> {
        let lacking = if self.row.ipv6 { lab.bed.address_v6().err() } else { None };
        if let Some(error) = lacking {
            lab.note(format!("{} is left out: {error}", self.at));
            self.names.clear();
        }
        if self.names.is_empty() {
            return Ok(());
        }
        lab.start_all(self.subjects(lab), &self.set.zones, running, &self.at)?;
        lab.warm_all(running, &self.set.queries, &self.row, &self.at)?;
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

    /// Whether more is measured here than rates: of the usual way of asking, if anybody held a rate.
    fn has_more(&self, lab: &Lab, found: &Found) -> bool {
        let Effort { loss_free_seconds, beyond_seconds, latency_runs, .. } = lab.effort;
        let is_wanted = latency_runs > 0 || loss_free_seconds + beyond_seconds > 0.0;
        is_wanted && self.row.name.is_empty() && self.weakest(found).is_some()
    }

    /// Measures loss-free rates, what is answered beyond them, and latencies of those that run.
    fn more(&mut self, lab: &mut Lab, mut running: Running, found: &mut Found) -> Result<(), Error> {
        running.retain(|(subject, _)| ![ECHO_AGAIN, ECHO_SHARED].contains(&subject.label.as_str()));
        if lab.effort.loss_free_seconds > 0.0 {
            loss_free::run(lab, self, &mut running, found)?;
        }
        if lab.effort.beyond_seconds > 0.0 {
            beyond::run(lab, self, &mut running, found)?;
        }
        let weakest = self.weakest(found).filter(|_| lab.effort.latency_runs > 0);
        if let Some(weakest) = weakest {
            found.latencies.push(latency::run(lab, &self.at, &mut running, &self.set.queries, weakest)?);
        }
        self.keep(&running);
        Ok(())
    }
}

/// Options of the generator for an open loop in a way of asking.
fn open_loop_words(lab: &Lab, row: &Row) -> Vec<String> {
    let effort = &lab.effort;
    let numbers = [effort.lateness_ms.to_string(), effort.gather_us.to_string(), effort.flows.to_string()];
    let words = ["--lateness-ms", &numbers[0], "--gather-us", &numbers[1], "--flows", &numbers[2]];
    words.into_iter().map(str::to_owned).chain(row.words()).collect()
}
