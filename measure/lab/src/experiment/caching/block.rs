//! One case in one block: staircases that take turns, with what arrived at the authoritative servers meanwhile.

use std::{thread, time::Duration};

use bench::{machine::Steal, random::Random};
use serde_json::{Value, json};

use super::{
    super::{Lab, Load, Running},
    Found, RELAY, RELAY_AGAIN, Spot,
    authorities::{Arrived, Authorities},
};
use crate::{Error, process::Cpu};

/// How often is looked whether queries still arrive: longer than a resolver waits for a server that is there.
const LOOK: Duration = Duration::from_millis(20);
/// Looks at most: a resolver that asks without end is not waited for.
const LOOKS_MAX: usize = 100;
/// A resolver that answers more than this share with SERVFAIL or REFUSED does other work than the others.
const FAILED_SHARE_MAX: f64 = 0.001;

/// What one came to in the block.
struct Walked {
    label: String,
    staircase: Value,
    arrived: Arrived,
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
    let mut all = std::mem::take(running);
    let relays = [RELAY, RELAY_AGAIN].map(|label| spot.relay(lab, label, authorities)).to_vec();
    let measured = lab
        .start_all(relays, &crate::data::Zones::default(), &mut all, &spot.at)
        .and_then(|()| lab.warm_all(&mut all, &spot.settle, &spot.at))
        .and_then(|()| staircases(lab, spot, &mut all, authorities, order));
    let result = match measured {
        Ok(raw) => {
            judge(lab, number, spot, &raw, found);
            Ok(())
        }
        Err(error) => {
            let said = error.to_string();
            let who = said.split_whitespace().next().unwrap_or("a server").to_owned();
            let left = lab.leave_out(&mut all, &spot.at, error);
            discard(lab, number, spot, &format!("{who} failed"));
            left
        }
    };
    all.retain(|(subject, _)| ![RELAY, RELAY_AGAIN].contains(&subject.label.as_str()));
    *running = all;
    result
}

fn staircases(
    lab: &Lab,
    spot: &Spot,
    running: &mut Running,
    authorities: &mut Authorities,
    order: &mut Random,
) -> Result<Vec<Walked>, Error> {
    let steal = Steal::new();
    let before: Vec<Cpu> = running.iter().map(|(_, server)| server.process.cpu()).collect();
    let mut loads: Vec<Load> = running
        .iter()
        .map(|(subject, server)| Load::start(lab, server, &spot.queries, &subject.label))
        .collect::<Result<_, _>>()?;
    let cpu = authorities.cpu();
    let arrived = take_turns(lab, &mut loads, authorities, order)?;
    let cpu = authorities.cpu() - cpu;
    let queries: u64 = arrived.iter().map(|arrived| arrived.parent + arrived.children).sum();
    let mut raw = Vec::new();
    for ((((subject, server), load), before), arrived) in
        running.iter_mut().zip(loads).zip(before).zip(arrived)
    {
        let mut staircase = load.finish(lab, server)?;
        let after = server.process.cpu();
        let answered = (sum(&staircase, "sent") - sum(&staircase, "lost")).max(1.0);
        staircase["cpu_us_per_answer"] = json!({
            "user": (after.user - before.user) * 1e6 / answered,
            "system": (after.system - before.system) * 1e6 / answered,
        });
        staircase["pss_octets"] = server.process.pss().into();
        staircase["stolen_share"] = steal.share().into();
        staircase["arrived"] = json!({ "parent": arrived.parent, "children": arrived.children });
        staircase["authorities_cpu_us_per_query"] = (cpu * 1e6 / queries.max(1) as f64).into();
        raw.push(Walked { label: subject.label.clone(), staircase, arrived });
    }
    Ok(raw)
}

/// Gives each load one trial after the other, in random order, until all have ended; returns what arrived during those of each.
fn take_turns(
    lab: &Lab,
    loads: &mut [Load],
    authorities: &mut Authorities,
    order: &mut Random,
) -> Result<Vec<Arrived>, Error> {
    let mut arrived = vec![Arrived::default(); loads.len()];
    let mut running: Vec<usize> = (0..loads.len()).collect();
    let mut before = authorities.arrived(lab)?;
    while !running.is_empty() {
        order.shuffle(&mut running);
        let mut left = Vec::new();
        for at in running {
            lab.go_on()?;
            let is_there = loads[at].turn();
            let after = quiet(lab, authorities)?;
            arrived[at].add(after.since(before));
            before = after;
            left.extend(is_there.then_some(at));
        }
        running = left;
    }
    Ok(arrived)
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

/// The sum of a count over all trials.
fn sum(staircase: &Value, name: &str) -> f64 {
    let steps = ["approach", "steps"].into_iter().filter_map(|part| staircase[part].as_array()).flatten();
    steps.map(|step| step[name].as_f64().unwrap_or(0.0)).sum()
}

/// Keeps or discards the block for this case.
fn judge(lab: &mut Lab, number: usize, spot: &Spot, raw: &[Walked], found: &mut Found) {
    let rate = |result: &Walked| result.staircase["rate"].as_f64().unwrap_or(0.0);
    let of = |label: &str| raw.iter().find(|result| result.label == label).map_or(0.0, rate);
    let relays = [of(RELAY), of(RELAY_AGAIN)];
    let mean = f64::midpoint(relays[0], relays[1]);
    let mut why = Vec::new();
    if (relays[0] - relays[1]).abs() > lab.effort.echo_spread * mean {
        why.push(format!("the relays differ, {:.0} and {:.0}/s", relays[0], relays[1]));
    }
    for result in raw {
        let (failed, sent) = (sum(&result.staircase, "failed"), sum(&result.staircase, "sent"));
        if result.staircase["limit"] == "machine disturbed" {
            why.push(format!("{} was disturbed all the time", result.label));
        } else if rate(result) <= 0.0 {
            why.push(format!("{} held no rate", result.label));
        } else if failed > sent * FAILED_SHARE_MAX {
            why.push(format!("{} failed to answer {failed} of {sent}", result.label));
        }
    }
    for result in raw {
        let staircase = &result.staircase;
        let part = |name: &str| staircase["cpu_us_per_answer"][name].as_f64().unwrap_or(0.0);
        let (rate, user, system) = (rate(result), part("user"), part("system"));
        let sent = sum(staircase, "sent").max(1.0);
        let hits = 1.0 - result.arrived.children as f64 / sent;
        let upstream = (result.arrived.children + result.arrived.parent) as f64 / sent;
        let limit = staircase["limit"].as_str().unwrap_or("");
        eprintln!(
            "  {}: {rate:.0}/s ({limit}), {user:.2} us user and {system:.2} us system an answer, {:.2} % hits, \
             {upstream:.4} queries to upstreams a query",
            result.label,
            hits * 100.0
        );
        if why.is_empty() {
            let who = if result.label == RELAY_AGAIN { RELAY } else { &result.label };
            found.rates.push(who, &spot.at, rate);
            found.user.push(who, &spot.at, user);
            found.system.push(who, &spot.at, system);
            found.hits.push(who, &spot.at, hits * 100.0);
            found.upstream.push(who, &spot.at, upstream);
            found.pss.push(who, &spot.at, staircase["pss_octets"].as_f64().unwrap_or(0.0));
            if who != RELAY {
                found.shares.push(who, &spot.at, rate / mean);
            }
        }
    }
    let results: serde_json::Map<String, Value> =
        raw.iter().map(|result| (result.label.clone(), result.staircase.clone())).collect();
    lab.record.raw.push(json!({ "block": number, "at": spot.at, "discarded": why, "results": results }));
    if why.is_empty() {
        lab.record.blocks.kept += 1;
    } else {
        discard(lab, number, spot, &why.join("; "));
    }
}

fn discard(lab: &mut Lab, number: usize, spot: &Spot, why: &str) {
    let at = if spot.at.is_empty() { String::new() } else { format!(", {}", spot.at) };
    eprintln!("  discarded: {why}");
    lab.record.blocks.discarded.push(format!("block {number}{at}: {why}"));
}
