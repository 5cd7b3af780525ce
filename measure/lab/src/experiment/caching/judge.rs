//! Whether a block counts, and what it adds to what was found.

use serde_json::{Value, json};

use super::{
    super::{
        Lab, Mark,
        validity::{self, Decision, GENERATOR_BEHIND, Rule},
    },
    Found, RELAY, RELAY_AGAIN, Spot,
    block::{Block, Walked},
};
use crate::known::Known;

/// A resolver that answers more than this share with SERVFAIL or REFUSED does other work than the others.
const FAILED_SHARE_MAX: f64 = 0.001;
/// Where other programs took more than this share of the cores' time, the record says so, whether the block counts or not: a program that compiles takes a half.
const OTHERS_SHARE_TOLD: f64 = 0.03;

/// What ended the rise of a staircase.
fn limit(result: &Walked) -> &str {
    result.staircase["limit"].as_str().unwrap_or("")
}

/// The sum of a count over all trials.
pub fn sum(staircase: &Value, name: &str) -> f64 {
    let steps = ["approach", "steps"].into_iter().filter_map(|part| staircase[part].as_array()).flatten();
    steps.map(|step| step[name].as_f64().unwrap_or(0.0)).sum()
}

/// Keeps or discards the block for this case.
pub fn judge(lab: &mut Lab, number: usize, spot: &Spot, block: &Block, found: &mut Found) {
    let raw = &block.walked;
    let rate = |result: &Walked| result.staircase["rate"].as_f64().unwrap_or(0.0);
    let known = |result: &Walked| Known::at_least_if(limit(result) == GENERATOR_BEHIND);
    let of = |label: &str| {
        let result = raw.iter().find(|result| result.label == label);
        result.map_or((0.0, Known::Exactly), |result| (rate(result), known(result)))
    };
    let [relay, again] = [of(RELAY), of(RELAY_AGAIN)];
    let relays = [relay.0, again.0];
    let (mean, known_of_mean) = (f64::midpoint(relay.0, again.0), relay.1.and(again.1));
    let (mut why, mut broken) = (Vec::new(), Vec::new());
    if (relays[0] - relays[1]).abs() > lab.effort.echo_spread * mean {
        broken.push(Rule::Echoes);
        why.push(format!("the relays differ, {:.0} and {:.0}/s", relays[0], relays[1]));
    }
    if block.conditions.others > OTHERS_SHARE_TOLD {
        lab.note(format!(
            "other programs took more than {:.0} % of the cores' time in some blocks: rates are too low, of resolvers more so than of relays",
            OTHERS_SHARE_TOLD * 100.0
        ));
    }
    if block.conditions.others > lab.effort.others_share {
        broken.push(Rule::Others);
        why.push(format!("other programs took {:.1} % of the cores' time", block.conditions.others * 100.0));
    }
    for result in raw {
        let (failed, sent) = (sum(&result.staircase, "failed"), sum(&result.staircase, "sent"));
        if result.staircase["limit"] == "machine disturbed" {
            broken.push(Rule::Stolen);
            why.push(format!("{} was disturbed all the time", result.label));
        } else if rate(result) <= 0.0 {
            broken.push(Rule::Failed);
            why.push(format!("{} held no rate", result.label));
        } else if failed > sent * FAILED_SHARE_MAX {
            broken.push(Rule::Failed);
            why.push(format!("{} failed to answer {failed} of {sent}", result.label));
        }
    }
    broken.extend(raw.iter().any(|result| limit(result) == GENERATOR_BEHIND).then_some(Rule::Generator));
    broken.sort_unstable();
    broken.dedup();
    // A block takes minutes, and the caches have moved on: it is not made again.
    let counts = lab.validity.decide_once(&broken, lab.record.quick) == Decision::Counts;
    let mark = Mark::of(number, &block.conditions);
    for result in raw {
        let staircase = &result.staircase;
        let part = |name: &str| staircase["cpu_us_per_answer"][name].as_f64().unwrap_or(0.0);
        let (rate, user, system) = (rate(result), part("user"), part("system"));
        let sent = sum(staircase, "sent").max(1.0);
        let hits = 1.0 - result.arrived.children as f64 / sent;
        let upstream = (result.arrived.children + result.arrived.parent) as f64 / sent;
        let limit = limit(result);
        let rated = mark.known(known(result));
        let [server, load] = [result.cores.server, result.cores.load].map(|cores| cores.busy_share() * 100.0);
        eprintln!(
            "  {}: {rate:.0}/s ({limit}), {user:.2} us user and {system:.2} us system an answer, {:.2} % hits, \
             {upstream:.4} queries to upstreams a query, cores {server:.0} and {load:.0} % busy",
            result.label,
            hits * 100.0
        );
        if rate > 0.0 {
            found.reached.insert((result.label.clone(), spot.at.clone()), rate);
            found.reached_last.insert((result.label.clone(), spot.workers), rate);
        }
        if counts {
            let who = if result.label == RELAY_AGAIN { RELAY } else { &result.label };
            found.rated.rates.push_marked(who, &spot.at, rate, rated);
            found.rated.user.push_marked(who, &spot.at, user, mark);
            found.rated.system.push_marked(who, &spot.at, system, mark);
            found.hits.push_marked(who, &spot.at, hits * 100.0, mark);
            found.upstream.push_marked(who, &spot.at, upstream, mark);
            let pss = staircase["pss_octets"].as_f64().unwrap_or(0.0);
            found.rated.pss.push_marked(who, &spot.at, pss, mark);
            found.busy.push_marked(who, &spot.at, server, mark);
            found.busy_load.push_marked(who, &spot.at, load, mark);
            if who != RELAY {
                let share = mark.known(rated.known.over(known_of_mean));
                found.rated.shares.push_marked(who, &spot.at, rate / mean, share);
            }
        }
    }
    if counts {
        found.limits.push_marked(RELAY, &spot.at, mean, mark.known(known_of_mean));
    }
    let results: serde_json::Map<String, Value> =
        raw.iter().map(|result| (result.label.clone(), result.staircase.clone())).collect();
    let mut raw = json!({
        "block": number, "at": spot.at, "discarded": why, "others_share": block.conditions.others, "results": results,
    });
    validity::write_down(&mut raw, &block.conditions, &broken, counts);
    lab.record.raw.push(raw);
    if counts {
        lab.validity.count(&block.conditions);
        lab.record.blocks.kept += 1;
    } else {
        discard(lab, number, spot, &why.join("; "));
    }
}

/// Says and records why a block does not count.
pub fn discard(lab: &mut Lab, number: usize, spot: &Spot, why: &str) {
    let at = if spot.at.is_empty() { String::new() } else { format!(", {}", spot.at) };
    eprintln!("  discarded: {why}");
    lab.record.blocks.discarded.push(format!("block {number}{at}: {why}"));
}
