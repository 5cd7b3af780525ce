//! One block: staircases that take turns, and whether it counts.

use bench::{machine::Steal, random::Random};
use serde_json::{Value, json};

use super::{
    super::{
        Load, Mark, Outset,
        validity::{self, Bounds, Conditions, Decision, GENERATOR_BEHIND, Rule, Watch},
    },
    ECHO_AGAIN, Found, Lab, Running, Spot, cross,
};
use crate::{Error, contender::Server, known::Known, process::Cpu, recipe::Name};

/// Where one was in the block before its staircase begins again, with a step that finds it after few trials.
const FIRST_STEP: f64 = 0.12;

/// Measures a block, again where the machine was not quiet. A contender that fails is left out of the spot with a note, and the block is discarded: what the
/// others did meanwhile does not compare.
pub fn measure(
    lab: &mut Lab,
    number: usize,
    spot: &mut Spot,
    running: &mut Running,
    order: &mut Random,
    found: &mut Found,
) -> Result<(), Error> {
    lab.go_on()?;
    if spot.names.is_empty() {
        return Ok(());
    }
    for attempt in 1.. {
        let watch = Watch::begin(&lab.used_cores());
        match staircases(lab, spot, running, order) {
            Ok(raw) => {
                let turn = Turn { number, attempt, conditions: watch.end() };
                match judge(lab, &turn, spot, raw, found) {
                    Decision::Again => lab.go_on()?,
                    Decision::Counts => return cross::check(lab, number, spot, running, found),
                    Decision::Discarded => return Ok(()),
                }
            }
            Err(error) => {
                lab.leave_out(running, &spot.at, error)?;
                lab.validity.failed(attempt);
                let gone =
                    spot.names.iter().find(|name| !running.iter().any(|(subject, _)| subject.name == **name));
                let who = gone.map_or("a server", |name| name.text());
                discard(lab, number, spot, &format!("{who} failed"));
                spot.keep(running);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The raw results by label.
fn staircases(
    lab: &Lab,
    spot: &mut Spot,
    running: &mut Running,
    order: &mut Random,
) -> Result<Vec<(String, Value)>, Error> {
    let steal = Steal::new();
    let before: Vec<Cpu> = running.iter().map(|(_, server)| server.process.cpu()).collect();
    let start = |(subject, server): &(super::Subject, Server)| {
        let known = spot.reached.get(&subject.label).map(|&rate| Outset { rate, step: FIRST_STEP });
        let outset = known.unwrap_or(Outset::unknown(&lab.effort));
        Load::start(lab, server, &spot.set.queries, &subject.label, outset, &spot.row)
    };
    let mut loads: Vec<Load> = running.iter().map(start).collect::<Result<_, _>>()?;
    take_turns(lab, &mut loads, order)?;
    let mut raw = Vec::new();
    for (((subject, server), load), before) in running.iter_mut().zip(loads).zip(before) {
        let mut result = load.finish(lab, server)?;
        add_use(&mut result, before, server);
        result["stolen_share"] = steal.share().into();
        if let Some(rate) = result["rate"].as_f64().filter(|&rate| rate > 0.0) {
            spot.reached.insert(subject.label.clone(), rate);
        }
        raw.push((subject.label.clone(), result));
    }
    Ok(raw)
}

/// Gives each load one trial after the other, in random order, until all have ended.
fn take_turns(lab: &Lab, loads: &mut [Load], order: &mut Random) -> Result<(), Error> {
    let mut running: Vec<usize> = (0..loads.len()).collect();
    while !running.is_empty() {
        order.shuffle(&mut running);
        lab.go_on()?;
        running.retain(|&at| loads[at].turn());
    }
    Ok(())
}

/// Adds what an answer cost the server's own processes (work that the kernel does for it in interrupts counts where it
/// happens to run), and what memory they hold.
fn add_use(result: &mut Value, before: Cpu, server: &Server) {
    let after = server.process.cpu();
    let steps = ["approach", "steps"].into_iter().filter_map(|part| result[part].as_array()).flatten();
    let count = |step: &Value| step["sent"].as_f64().unwrap_or(0.0) - step["lost"].as_f64().unwrap_or(0.0);
    let answered = steps.map(count).sum::<f64>().max(1.0);
    let micros = |spent: f64| spent * 1e6 / answered;
    result["cpu_us_per_answer"] =
        json!({ "user": micros(after.user - before.user), "system": micros(after.system - before.system) });
    result["pss_octets"] = server.process.pss().into();
}

/// A block as it was made: its number, how often it was made, and what the machine did meanwhile.
struct Turn {
    number: usize,
    attempt: usize,
    conditions: Conditions,
}

/// Keeps a block, discards it or asks for it again.
fn judge(lab: &mut Lab, turn: &Turn, spot: &Spot, raw: Vec<(String, Value)>, found: &mut Found) -> Decision {
    let rate = |result: &Value| result["rate"].as_f64().unwrap_or(0.0);
    let known = |result: &Value| Known::at_least_if(result["limit"] == GENERATOR_BEHIND);
    let of = |label: &str| {
        let result = raw.iter().find(|(known, _)| known == label);
        result.map_or((0.0, Known::Exactly), |(_, result)| (rate(result), known(result)))
    };
    let echo = of(Name::Echo.text());
    let again = if lab.effort.echo_servers > 1 { of(ECHO_AGAIN) } else { echo };
    let echoes = [echo.0, again.0];
    let (mean, known_of_mean) = (f64::midpoint(echo.0, again.0), echo.1.and(again.1));
    let (broken, why) = faults(lab, turn, echoes, &raw);
    let decision = lab.validity.decide(&broken, turn.attempt, lab.record.quick);
    for (label, result) in &raw {
        let (rate, cpu) = (rate(result), &result["cpu_us_per_answer"]);
        let part = |name: &str| cpu[name].as_f64().unwrap_or(0.0);
        let limit = result["limit"].as_str().unwrap_or("");
        let (user, system) = (part("user"), part("system"));
        eprintln!("  {label}: {rate:.0}/s ({limit}), {user:.2} us user and {system:.2} us system an answer");
        if decision == Decision::Counts {
            let who = if label == ECHO_AGAIN { Name::Echo.text() } else { label };
            let mark = Mark::of(turn.number, &turn.conditions);
            let rated = mark.known(known(result));
            found.rated.rates.push_marked(who, &spot.at, rate, rated);
            found.rated.user.push_marked(who, &spot.at, user, mark);
            found.rated.system.push_marked(who, &spot.at, system, mark);
            let pss = result["pss_octets"].as_f64().unwrap_or(0.0);
            found.rated.pss.push_marked(who, &spot.at, pss, mark);
            if who != Name::Echo.text() && mean > 0.0 {
                found.rated.shares.push_marked(
                    who,
                    &spot.at,
                    rate / mean,
                    mark.known(rated.known.over(known_of_mean)),
                );
            }
        }
    }
    let results: serde_json::Map<String, Value> = raw.into_iter().collect();
    let mut raw = json!({ "block": turn.number, "at": spot.at, "discarded": why, "results": results });
    validity::write_down(&mut raw, &turn.conditions, &broken, decision == Decision::Counts);
    lab.record.raw.push(raw);
    match decision {
        Decision::Counts => {
            lab.validity.count(&turn.conditions);
            lab.record.blocks.kept += 1;
        }
        Decision::Again => eprintln!("  again: {}", why.join("; ")),
        Decision::Discarded => discard(lab, turn.number, spot, &why.join("; ")),
    }
    decision
}

/// The rules that a block broke, and how. Time stolen is judged by trial: a staircase leaves out those that were disturbed.
fn faults(lab: &Lab, turn: &Turn, echoes: [f64; 2], raw: &[(String, Value)]) -> (Vec<Rule>, Vec<String>) {
    let bounds = Bounds::of(lab);
    let of_block = Conditions { stolen: 0.0, ..turn.conditions.clone() };
    let mut broken = bounds.broken(&of_block);
    let mut why: Vec<String> =
        broken.iter().map(|&rule| bounds.words(&[rule], &of_block)).filter(|why| !why.is_empty()).collect();
    if (echoes[0] - echoes[1]).abs() > bounds.echoes * f64::midpoint(echoes[0], echoes[1]) {
        broken.push(Rule::Echoes);
        why.push(format!("the echoes differ, {:.0} and {:.0}/s", echoes[0], echoes[1]));
    }
    for (label, result) in raw {
        if result["limit"] == "machine disturbed" {
            broken.push(Rule::Stolen);
            why.push(format!("{label} was disturbed all the time"));
        } else if result["rate"].as_f64().unwrap_or(0.0) <= 0.0 {
            broken.push(Rule::Failed);
            why.push(format!("{label} held no rate"));
        }
        if result["limit"] == GENERATOR_BEHIND {
            broken.push(Rule::Generator);
        }
    }
    broken.sort_unstable();
    broken.dedup();
    (broken, why)
}

fn discard(lab: &mut Lab, number: usize, spot: &Spot, why: &str) {
    let at = if spot.at.is_empty() { String::new() } else { format!(", {}", spot.at) };
    eprintln!("  discarded: {why}");
    lab.record.blocks.discarded.push(format!("block {number}{at}: {why}"));
}
