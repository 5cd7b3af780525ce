//! The highest rate without any loss: what operators call the maximum.
//!
//! Trials are long, and a single query lost is too much, whatever disturbed the machine meanwhile. So it lies below the rate that half of all short
//! trials hold, by as much as the machine is not quiet. It is searched once for each, beginning below that rate.

use bench::random::Random;
use serde_json::{Value, json};

use super::{
    super::{
        Lab, Mark, Running, Values, table,
        validity::{self, GENERATOR_BEHIND},
    },
    Found, Spot,
};
use crate::{Error, contender::Server, error::ServerProblem, known::Known, record::Table, statistics};

/// Order of the searches.
const SEED: u64 = 5;
/// Where a search begins, of the rate that half of all trials hold: below what most hold without loss.
const BEGIN: f64 = 0.75;
/// Its first step: three of them are beyond what half of all trials hold.
const FIRST_STEP: f64 = 0.15;
/// Trials at a rate, of which one must lose nothing.
const ATTEMPTS: usize = 2;
/// So often the rate that is found has to hold once more, each time in one of as many trials.
const CONFIRMED: usize = 2;
/// Length of the first trials, which only bracket the rate, of that of the others.
const BURST_SHARE: f64 = 0.25;

/// Searches the rate of each that it is wanted of, in random order. One that fails is left out with a note.
pub fn run(lab: &mut Lab, spot: &Spot, running: &mut Running, found: &mut Found) -> Result<(), Error> {
    let mut order: Vec<usize> = (0..running.len()).collect();
    Random::new(SEED).shuffle(&mut order);
    let mut failed = Vec::new();
    for at in order {
        let (subject, server) = &mut running[at];
        let wanted = &lab.recipe.loss_free;
        let held = statistics::median(found.rated.rates.of(&subject.label, &spot.at));
        if !(wanted.is_empty() || wanted.contains(&subject.name)) || held <= 0.0 {
            continue;
        }
        lab.go_on()?;
        lab.say(&format!("rate without loss of {}", subject.label));
        let label = subject.label.clone();
        let searched = validity::watched(lab, |lab| {
            let maximum = search(lab, spot, server, held)?;
            let raw = json!({ "loss_free_of": label, "at": spot.at, "maximum": maximum });
            lab.record.raw.push(raw);
            Ok(maximum)
        });
        match searched {
            Ok(maximum) => {
                let rate = maximum["rate"].as_f64().unwrap_or(0.0);
                eprintln!("  {label}: {rate:.0}/s, {held:.0}/s in half of all trials");
                let known = Known::at_least_if(maximum["limit"] == GENERATOR_BEHIND);
                found.loss_free.push_marked(&label, &spot.at, rate, Mark::default().known(known));
            }
            // It says so by its exit status.
            Err(Error::Server { problem: ServerProblem::Load, .. }) if server.process.ended().is_none() => {
                lab.note(format!("{label} held no rate without loss"));
            }
            Err(error) => failed.push(error),
        }
    }
    failed.into_iter().try_for_each(|error| lab.leave_out(running, &spot.at, error))
}

fn search(lab: &Lab, spot: &Spot, server: &mut Server, held: f64) -> Result<Value, Error> {
    let effort = &lab.effort;
    let seconds = effort.loss_free_seconds;
    let options = [
        ("--rate-start", (held * BEGIN).max(1.0)),
        ("--first-step", FIRST_STEP),
        ("--burst-seconds", (seconds * BURST_SHARE).max(0.001)),
        ("--trial-seconds", seconds),
        ("--confirm-seconds", seconds),
        ("--confirm-trials", CONFIRMED as f64),
        ("--width", effort.loss_free_width),
        ("--attempts", ATTEMPTS as f64),
        ("--overtime-share", effort.overtime_share),
        // A loss is one whoever had the processor: nothing is repeated for that.
        ("--stolen-share", 1.0),
    ];
    let mut words = vec!["--find-maximum".to_owned()];
    words.extend(options.into_iter().flat_map(|(option, value)| [option.to_owned(), value.to_string()]));
    words.extend(super::open_loop_words(lab, &spot.row));
    Ok(lab.load(server, &spot.set.queries, &words)?["maximum"].take())
}

/// Both rates beside each other; `None` where nothing was searched.
pub fn report(spot: &Spot, found: &Found) -> Option<Table> {
    let row = |name: &&str| {
        let of = |values: &Values| statistics::median(values.of(name, &spot.at));
        let (free, half) = (of(&found.loss_free), of(&found.rated.rates));
        let known = |values: &Values| values.known(name, &spot.at);
        let (free_known, half_known) = (known(&found.loss_free), known(&found.rated.rates));
        let over = free_known.over(half_known).sign();
        let share = if half > 0.0 { format!("{over}{:.2}", free / half) } else { String::new() };
        vec![
            (*name).to_owned(),
            format!("{}{free:.0}", free_known.sign()),
            format!("{}{half:.0}", half_known.sign()),
            share,
        ]
    };
    let is_here = |name: &&str| !found.loss_free.of(name, &spot.at).is_empty();
    let rows: Vec<_> = found.loss_free.contenders().iter().filter(|name| is_here(name)).map(row).collect();
    let place = if spot.at.is_empty() { String::new() } else { format!(", {}", spot.at) };
    let columns = ["server", "without loss/s", "half of all trials hold/s", "ratio"];
    let note = "Without loss: the highest rate at which long trials lost nothing, held twice more at the end, each time in one of two trials: by one search, so without an \
                interval. The other is the one that compares servers; how far apart the two are says how quiet the machine was.";
    (!rows.is_empty()).then(|| table(&format!("Rate without loss{place}"), &columns, rows, note))
}
