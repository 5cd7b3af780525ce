//! One case in one block: staircases that take turns, with what arrived at the authoritative servers meanwhile, and who used the cores.

use std::{thread, time::Duration};

use bench::{machine::Steal, random::Random};
use serde_json::{Value, json};

use super::{
    super::{
        Lab, Load, Outset, Running,
        usage::{Ticks, Time},
        validity::{Conditions, Watch},
    },
    Found, RELAY, RELAY_AGAIN, Spot,
    authorities::{Arrived, Authorities},
    judge::{self, sum},
};
use crate::{Error, data::Zones, recipe::Row};

/// How often is looked whether queries still arrive: longer than a resolver waits for a server that is there.
const LOOK: Duration = Duration::from_millis(20);
/// Looks at most: a resolver that asks without end is not waited for.
const LOOKS_MAX: usize = 100;
/// Where one was in the block before its staircase begins again, with a step that finds it after few trials: the machine may have become
/// faster or slower by some hundredths.
const FIRST_STEP: f64 = 0.12;
/// In its first block it begins so much below what it reached with more hits, with larger steps.
const LOWER: f64 = 0.7;
const FIRST_STEP_LOWER: f64 = 0.4;

/// What one came to in the block.
pub struct Walked {
    pub label: String,
    pub staircase: Value,
    pub arrived: Arrived,
    /// How busy the cores were in the trials that held their rate.
    pub cores: Cores,
}

/// What became of the time of cores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cores {
    /// Of the resolvers.
    pub server: Ticks,
    /// Of the generator, which also has the authoritative servers where there are no others.
    pub load: Ticks,
}

/// All staircases of a block.
pub struct Block {
    pub walked: Vec<Walked>,
    /// The share of all cores' time that went to programs outside the experiment.
    pub conditions: Conditions,
}

/// Measures a case. A contender that fails is left out with a note, and the block is discarded for the case.
pub fn measure(
    lab: &mut Lab,
    number: usize,
    spot: &Spot,
    running: &mut Running,
    authorities: &mut Authorities,
    order: &mut Random,
    found: &mut Found,
) -> Result<(), Error> {
    lab.go_on()?;
    // The relays run in this case only: what they pass on differs from case to case.
    let subjects = [RELAY, RELAY_AGAIN].map(|label| spot.relay(lab, label, authorities)).to_vec();
    let mut relays = Running::new();
    let started = lab
        .start_all(subjects, &Zones::default(), &mut relays, &spot.at)
        .and_then(|()| lab.warm_all(&mut relays, &spot.settle, &Row::default(), &spot.at));
    running.append(&mut relays);
    let measured = started.and_then(|()| staircases(lab, spot, running, authorities, order, found));
    let result = match measured {
        Ok(block) => {
            judge::judge(lab, number, spot, &block, found);
            Ok(())
        }
        Err(error) => {
            let said = error.to_string();
            let who = said.split_whitespace().next().unwrap_or("a server").to_owned();
            let left = lab.leave_out(running, &spot.at, error);
            lab.validity.failed(1);
            judge::discard(lab, number, spot, &format!("{who} failed"));
            left
        }
    };
    running.retain(|(subject, _)| ![RELAY, RELAY_AGAIN].contains(&subject.label.as_str()));
    result
}

fn staircases(
    lab: &Lab,
    spot: &Spot,
    running: &mut Running,
    authorities: &mut Authorities,
    order: &mut Random,
    found: &Found,
) -> Result<Block, Error> {
    let (steal, watch) = (Steal::new(), Watch::begin(&lab.used_cores()));
    let before: Vec<Time> = running.iter().map(|(_, server)| Time::of(&server.process)).collect();
    let start = |(subject, server): &(super::Subject, super::Server)| {
        let outset = outset(lab, spot, &subject.label, found);
        Load::start(lab, server, &spot.queries, &subject.label, outset, &Row::default())
    };
    let mut loads: Vec<Load> = running.iter().map(start).collect::<Result<_, _>>()?;
    let cpu = authorities.cpu();
    let turns = take_turns(lab, &mut loads, authorities, order)?;
    let cpu = authorities.cpu() - cpu;
    let queries: u64 = turns.iter().map(|turns| turns.arrived.parent + turns.arrived.children).sum();
    let mut walked = Vec::new();
    for ((((subject, server), load), before), turns) in running.iter_mut().zip(loads).zip(before).zip(turns) {
        let mut staircase = load.finish(lab, server)?;
        let spent = Time::of(&server.process).since(before);
        let answered = (sum(&staircase, "sent") - sum(&staircase, "lost")).max(1.0);
        let (arrived, cores) = (turns.arrived, turns.held(&staircase));
        staircase["cpu_us_per_answer"] =
            json!({ "user": spent.user * 1e6 / answered, "system": spent.system * 1e6 / answered });
        staircase["pss_octets"] = server.process.pss().into();
        staircase["stolen_share"] = steal.share().into();
        staircase["arrived"] = json!({ "parent": arrived.parent, "children": arrived.children });
        staircase["authorities_cpu_us_per_query"] = (cpu * 1e6 / queries.max(1) as f64).into();
        staircase["cores_busy"] =
            json!({ "server": cores.server.busy_share(), "load": cores.load.busy_share() });
        walked.push(Walked { label: subject.label.clone(), staircase, arrived, cores });
    }
    Ok(Block { walked, conditions: watch.end() })
}

/// Where a staircase begins: where it ended in the block before, or below what the same one reached in the case before.
fn outset(lab: &Lab, spot: &Spot, label: &str, found: &Found) -> Outset {
    let least = Outset::unknown(&lab.effort);
    let reached = |at: &str| found.reached.get(&(label.to_owned(), at.to_owned())).copied();
    let before = || found.reached_last.get(&(label.to_owned(), spot.workers)).copied();
    match (reached(&spot.at), before()) {
        (Some(rate), _) => Outset { rate, step: FIRST_STEP },
        (None, Some(rate)) => Outset { rate: (rate * LOWER).max(1.0), step: FIRST_STEP_LOWER },
        (None, None) => least,
    }
}

/// What happened in the trials of one.
#[derive(Clone, Default)]
struct Turns {
    arrived: Arrived,
    /// By trial.
    cores: Vec<Cores>,
}

impl Turns {
    /// The cores' time in those trials that count and held their rate: in the others all waited for what was lost.
    fn held(&self, staircase: &Value) -> Cores {
        let list = |part: &str| staircase[part].as_array().map_or(&[][..], Vec::as_slice);
        let (approach, steps) = (list("approach"), list("steps"));
        let mut sum = Cores::default();
        for (step, cores) in steps.iter().zip(self.cores.iter().skip(approach.len())) {
            if step["verdict"] == "good" {
                sum.server.add_since(Ticks::default(), cores.server);
                sum.load.add_since(Ticks::default(), cores.load);
            }
        }
        sum
    }
}

/// Gives each load one trial after the other, in random order, until all have ended; returns what happened in those of each.
fn take_turns(
    lab: &Lab,
    loads: &mut [Load],
    authorities: &mut Authorities,
    order: &mut Random,
) -> Result<Vec<Turns>, Error> {
    let mut turns = vec![Turns::default(); loads.len()];
    let mut running: Vec<usize> = (0..loads.len()).collect();
    let mut before = authorities.arrived(lab)?;
    while !running.is_empty() {
        order.shuffle(&mut running);
        let mut left = Vec::new();
        for at in running {
            lab.go_on()?;
            let [server, load] = [&lab.server_cores, &lab.load_cores].map(|cores| Ticks::of(cores));
            let is_there = loads[at].turn();
            let mut cores = Cores::default();
            cores.server.add_since(server, Ticks::of(&lab.server_cores));
            cores.load.add_since(load, Ticks::of(&lab.load_cores));
            let after = quiet(lab, authorities)?;
            turns[at].arrived.add(after.since(before));
            turns[at].cores.push(cores);
            before = after;
            left.extend(is_there.then_some(at));
        }
        running = left;
    }
    Ok(turns)
}

/// What has arrived once nothing more does: a server that was offered more than it can do goes on asking for a while, which is to count
/// as its own and not to slow down the next.
fn quiet(lab: &Lab, authorities: &Authorities) -> Result<Arrived, Error> {
    let mut before = authorities.arrived(lab)?;
    for _ in 0..LOOKS_MAX {
        thread::sleep(LOOK);
        let after = authorities.arrived(lab)?;
        if after == before {
            break;
        }
        before = after;
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trials_that_held_count() {
        let ticks = |busy, idle| Ticks { busy, idle, stolen: 0 };
        let cores = |busy| Cores { server: ticks(busy, 10 - busy), load: ticks(1, 9) };
        let turns = Turns { arrived: Arrived::default(), cores: [9, 8, 2, 7, 0].map(cores).to_vec() };
        let step = |verdict: &str| json!({ "verdict": verdict });
        let staircase = json!({ "approach": [step("good")], "steps": [step("good"), step("server lost queries"), step("good")] });
        let held = turns.held(&staircase);
        assert_eq!((held.server, held.load), (ticks(15, 5), ticks(2, 18)), "the last look found it ended");
        assert_eq!(held.server.busy_share(), 0.75);
    }
}
