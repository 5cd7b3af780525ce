//! Rates checked by generators of others: once a block, each server is offered four fifths of the rate that it held there.
//!
//! What is compared is what both generators mean by the same words: of queries offered at the same rate, the share that was answered, however late, and how
//! many that were a second; ours offers them directly afterwards, as fast as the other one in fact did. dnsperf does so in each block. On one core it offers less
//! than fast servers hold, so its own limit is measured against the block's echo server; kxdpgun, which takes some seconds to attach to a link, checks
//! those servers at the whole four fifths, asked in the usual way, in the first block of a place that counts.

mod report;
mod tools;

use serde_json::{Value, json};

pub use report::report;
pub use tools::Tools;

use super::{
    super::{
        Lab, Mark, Running, Values,
        foreign::{Counts, Foreign, Tool},
        validity::{self, Judged, Made},
    },
    ECHO_AGAIN, ECHO_SHARED, Found, Spot, beyond, open_loop_words,
};
use crate::{
    Error,
    recipe::{Name, Row},
};

/// What is offered, of the rate that half of all trials hold: nothing should be lost there.
const SHARE: f64 = 0.8;
/// Of fewer queries a hundredth is a handful, and where the first and the last gap begin and end tells as much: they are not compared.
const QUERIES_MIN: f64 = 1000.0;

/// What was found.
#[derive(Default)]
pub struct Cross {
    tools: Tools,
    dnsperf: Checked,
    kxdpgun: Checked,
}

/// What a program found, by contender and place.
#[derive(Default)]
pub struct Checked {
    /// The rate at which it can offer queries, of the echo server's place.
    can: Values,
    /// What it offered a second, and that of the rate held.
    offered: Values,
    of_rate: Values,
    theirs: Side,
    ours: Side,
    /// Share answered, and answers a second, as it counts over as ours does.
    share_ratio: Values,
    rate_ratio: Values,
}

/// What one of two generators counted.
#[derive(Default)]
struct Side {
    /// Share of the queries.
    answered: Values,
    latency: Values,
}

impl Cross {
    fn of(&mut self, which: Foreign) -> &mut Checked {
        match which {
            Foreign::Dnsperf => &mut self.dnsperf,
            Foreign::Kxdpgun => &mut self.kxdpgun,
        }
    }
}

/// One check: who, and how much is to be offered.
#[derive(Clone, Copy)]
struct Wish {
    /// In the list of those that run.
    place: usize,
    /// What it held in this block.
    held: f64,
}

/// Checks the rates of a block that counts. Programs that are missing or fail are noted and do not check; a server that fails is left out.
pub fn check(
    lab: &mut Lab,
    number: usize,
    spot: &mut Spot,
    running: &mut Running,
    found: &mut Found,
) -> Result<(), Error> {
    if lab.effort.cross_seconds <= 0.0 {
        return Ok(());
    }
    let mut left = wishes(spot, running);
    for which in Foreign::ALL {
        let is_known = !found.cross.of(which).can.of(Name::Echo.text(), &spot.at).is_empty();
        let is_turn = which == Foreign::Dnsperf || !is_known;
        if left.is_empty() || !is_turn {
            continue;
        }
        let Some(tool) = found.cross.tools.find(lab, which, &spot.row) else { continue };
        let Some(can) = limit(lab, &tool, (number, spot), running, found)? else { continue };
        let mut failed = Vec::new();
        for &Wish { place, held } in &left {
            let rates = (held, can);
            failed.extend(offer(lab, &tool, (number, spot), &mut running[place], rates, found).err());
        }
        if !failed.is_empty() {
            failed.into_iter().try_for_each(|error| lab.leave_out(running, &spot.at, error))?;
            spot.keep(running);
            return Ok(());
        }
        left.retain(|wish| wish.held * SHARE > can);
    }
    Ok(())
}

/// All contenders that held a rate in this block.
fn wishes(spot: &Spot, running: &Running) -> Vec<Wish> {
    let wish = |(place, (subject, _)): (usize, &(super::Subject, _))| {
        let held = spot.reached.get(&subject.label).copied().filter(|&held| held > 0.0)?;
        let is_limit = [Name::Echo.text(), ECHO_AGAIN, ECHO_SHARED].contains(&subject.label.as_str());
        (!is_limit).then_some(Wish { place, held })
    };
    running.iter().enumerate().filter_map(wish).collect()
}

/// What a program can offer a second: as much as it sends to the block's echo server where nobody limits it. `None` where it failed.
fn limit(
    lab: &mut Lab,
    tool: &Tool,
    (number, spot): (usize, &Spot),
    running: &mut Running,
    found: &mut Found,
) -> Result<Option<f64>, Error> {
    lab.go_on()?;
    let program = tool.which.program();
    let who = Name::Echo.text();
    lab.say(format!("rates checked by {program} {}", spot.at).trim_end());
    let Some((_, echo)) = running.iter_mut().find(|(subject, _)| subject.label == who) else {
        return Ok(None);
    };
    let (address, at) = (echo.address, &spot.at);
    let counted = validity::watched(lab, |lab| {
        let asked = (address, spot.row.tcp);
        let counts = match found.cross.tools.offer(lab, tool, &spot.set.queries, asked, None) {
            Ok(counts) => counts,
            // Its fault, and no server's.
            Err(error) => return Ok(Err(error)),
        };
        beyond::drain(lab, address.port())?;
        lab.record
            .raw
            .push(json!({ "cross_limit_of": program, "at": at, "block": number, "counted": told(&counts) }));
        Ok(Ok(counts))
    })?;
    match counted {
        Ok(counts) => {
            let checked = found.cross.of(tool.which);
            checked.can.push_marked(who, at, counts.rate(), Mark::in_round(number));
            Ok(Some(counts.rate()))
        }
        Err(error) => found.cross.tools.give_up(lab, tool.which, error).map(|()| None),
    }
}

/// One check of one server, which `held` so much, by a program that `can` offer so much; then ours at the same rate.
fn offer(
    lab: &mut Lab,
    tool: &Tool,
    (number, spot): (usize, &Spot),
    (subject, server): &mut (super::Subject, crate::contender::Server),
    (held, can): (f64, f64),
    found: &mut Found,
) -> Result<(), Error> {
    let (program, who, at) = (tool.which.program(), subject.label.as_str(), &spot.at);
    let (rate, seconds) = ((held * SHARE).min(can), lab.effort.cross_seconds);
    let (address, label) = (server.address, format!("{who} checked by {program}"));
    let mut fault = None;
    let judged = validity::judged(lab, &label, |lab| {
        let mut raw = json!({
            "cross_of": who, "by": program, "at": at, "block": number, "held": held, "rate": rate,
        });
        let asked = (address, spot.row.tcp);
        let theirs = match found.cross.tools.offer(lab, tool, &spot.set.queries, asked, Some(rate)) {
            Ok(theirs) => theirs,
            Err(error) => {
                raw["failed"] = error.to_string().into();
                fault = Some(error);
                return Ok(Made { value: None, raw, outcome: Value::Null, answers_all: false });
            }
        };
        beyond::drain(lab, address.port())?;
        let mut words = ["--rate", &theirs.rate().max(1.0).to_string(), "--seconds", &seconds.to_string()]
            .map(str::to_owned)
            .to_vec();
        words.extend(open_loop_words(lab, &as_theirs(tool.which, &spot.row)));
        let ours = lab.load(server, &spot.set.queries, &words)?["outcome"].take();
        beyond::drain(lab, address.port())?;
        raw["counted"] = told(&theirs);
        raw["outcome"] = ours.clone();
        Ok(Made { value: Some((theirs, ours.clone())), raw, outcome: ours, answers_all: false })
    })?;
    if let Some(error) = fault {
        return found.cross.tools.give_up(lab, tool.which, error);
    }
    if let Some(Judged { value: Some((theirs, ours)), conditions }) = judged {
        let mark = Mark::of(number, &conditions);
        found.cross.of(tool.which).push((who, at), held, &theirs, &ours_counted(&ours), mark);
    }
    Ok(())
}

/// The way of asking that is like the other one's: at an even pace, and as many packets at a time. Those that come together cost a server's core less.
fn as_theirs(which: Foreign, row: &Row) -> Row {
    let trains = match which {
        Foreign::Dnsperf => false,
        // Ten in a batch, where single packets of so many a second would be more than the server's core can receive.
        Foreign::Kxdpgun => row.trains,
    };
    Row { trains, poisson: false, ..row.clone() }
}

impl Checked {
    fn push(&mut self, (who, at): (&str, &str), held: f64, theirs: &Counts, ours: &Counts, mark: Mark) {
        let push = |values: &mut Values, value: f64| values.push_marked(who, at, value, mark);
        push(&mut self.offered, theirs.rate());
        push(&mut self.of_rate, theirs.rate() / held);
        for (side, counts) in [(&mut self.theirs, theirs), (&mut self.ours, ours)] {
            push(&mut side.answered, counts.share());
            if let Some(latency) = counts.latency_us {
                push(&mut side.latency, latency);
            }
        }
        if ours.answered > 0.0 && theirs.sent.min(ours.sent) >= QUERIES_MIN {
            push(&mut self.share_ratio, theirs.share() / ours.share());
            push(&mut self.rate_ratio, theirs.rate() * theirs.share() / (ours.rate() * ours.share()));
        }
    }
}

/// What our generator counted, in the same words.
fn ours_counted(outcome: &Value) -> Counts {
    let number = |name: &str| outcome[name].as_f64().unwrap_or(0.0);
    let latency = outcome["latency_us"]["mean"].as_f64().filter(|&micros| micros > 0.0);
    Counts {
        sent: number("sent"),
        // Others wait for seconds, ours only as long as a trial may last.
        answered: number("received") + number("late"),
        seconds: number("seconds").max(f64::MIN_POSITIVE),
        latency_us: latency,
    }
}

/// For the record.
fn told(counts: &Counts) -> Value {
    let Counts { sent, answered, seconds, latency_us } = counts;
    json!({ "sent": sent, "answered": answered, "seconds": seconds, "mean_latency_us": latency_us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_asks_as_theirs_and_counts_what_is_late() {
        let usual = Row { poisson: true, ..Row::default() };
        let single = Row { trains: false, ..Row::default() };
        for (which, row, trains) in [
            (Foreign::Dnsperf, &usual, false),
            (Foreign::Kxdpgun, &usual, true),
            (Foreign::Kxdpgun, &single, false),
        ] {
            let asked = as_theirs(which, row);
            assert_eq!((asked.trains, asked.poisson), (trains, false), "{}", which.program());
        }
        let counts = ours_counted(&json!({ "sent": 10, "received": 6, "late": 3, "seconds": 1.0 }));
        assert_eq!((counts.sent, counts.answered), (10.0, 9.0));
    }
}
