//! What is answered of what is offered, below and beyond the rate that half of all trials hold.
//!
//! Beyond it queries pile up in the server's socket until that is full; what is answered then is answered late. So of each trial three things count:
//! what was answered in time, what was answered later than the generator waits, and what the socket dropped.

use std::{thread, time::Duration};

use bench::random::Random;
use serde_json::json;

use super::{
    super::{
        Lab, Mark, Running, Subject, Values, table,
        validity::{self, Bounds, Judged, Made},
    },
    Found, Spot,
};
use crate::{
    Error,
    contender::Server,
    known::Known,
    record::{Chart, Figure, Role, Series, Table},
    statistics,
};

/// What is offered, of the rate that half of all trials hold.
const SHARES: [f64; 6] = [0.5, 0.8, 1.0, 1.2, 1.5, 2.0];
/// Order of the trials.
const SEED: u64 = 6;
/// How often is looked whether a server has answered all that waited, and how often at most: ten seconds, in which the slowest empties its socket.
const DRAIN_LOOK: Duration = Duration::from_millis(50);
const DRAIN_LOOKS_MAX: usize = 200;

/// What was found, by contender and place, for each share: a second.
#[derive(Default)]
pub struct Beyond {
    offered: [Values; SHARES.len()],
    answered: [Values; SHARES.len()],
    late: [Values; SHARES.len()],
    dropped: [Values; SHARES.len()],
}

/// Offers all shares to all that run, in random order of servers. One that fails is left out with a note.
pub fn run(lab: &mut Lab, spot: &Spot, running: &mut Running, found: &mut Found) -> Result<(), Error> {
    let mut random = Random::new(SEED);
    for run in 0..lab.effort.beyond_runs {
        lab.say(&format!("up to twice the rate, run {} of {}", run + 1, lab.effort.beyond_runs));
        for (which, share) in SHARES.into_iter().enumerate() {
            random.shuffle(running);
            let mut failed = Vec::new();
            for (subject, server) in running.iter_mut() {
                lab.go_on()?;
                let held = statistics::median(found.rated.rates.of(&subject.label, &spot.at));
                if held > 0.0 {
                    let trial =
                        offer(lab, spot, (subject, server), (which, run, held * share), &mut found.beyond);
                    failed.extend(trial.err());
                }
            }
            failed.into_iter().try_for_each(|error| lab.leave_out(running, &spot.at, error))?;
        }
    }
    Ok(())
}

/// One trial, again where the machine was not quiet. Nothing is discarded because the generator was late: beyond what it can do it is, and then that stands beside the number.
fn offer(
    lab: &mut Lab,
    spot: &Spot,
    (subject, server): (&Subject, &mut Server),
    (which, run, rate): (usize, usize, f64),
    beyond: &mut Beyond,
) -> Result<(), Error> {
    let seconds = lab.effort.beyond_seconds;
    let mut words =
        ["--rate", &rate.max(1.0).to_string(), "--seconds", &seconds.to_string()].map(str::to_owned).to_vec();
    words.extend(super::open_loop_words(lab, &spot.row));
    let (who, at, port) = (&subject.label, &spot.at, server.address.port());
    let share = SHARES[which];
    let label = format!("run {}, {who} offered {share} times its rate {at}", run + 1);
    let bounds = Bounds { late_ms: f64::INFINITY, ..Bounds::of(lab) };
    let judged = validity::judged_by(lab, &bounds, label.trim_end(), |lab| {
        let before = lab.bed.sockets(port)?;
        let outcome = lab.load(server, &spot.set.queries, &words)?["outcome"].take();
        drain(lab, port)?;
        let dropped = lab.bed.sockets(port)?.dropped.saturating_sub(before.dropped);
        let raw = json!({
            "beyond_of": who, "at": at, "share": share, "rate": rate, "run": run + 1, "dropped": dropped, "outcome": outcome,
        });
        Ok(Made { value: (outcome.clone(), dropped), raw, outcome, answers_all: false })
    })?;
    let Some(Judged { value: (outcome, dropped), conditions }) = judged else { return Ok(()) };
    let count = |field: &str| outcome[field].as_f64().unwrap_or(0.0) / seconds;
    let mark = Mark::of(run, &conditions);
    // What a generator that kept no schedule offered was not so much: how much of that is answered is not known.
    let is_offered = outcome["kept_schedule"] == true;
    let answered = mark.known(if is_offered { Known::Exactly } else { Known::NotAtAll });
    beyond.offered[which].push_marked(who, at, count("sent"), mark);
    beyond.answered[which].push_marked(who, at, count("received"), answered);
    beyond.late[which].push_marked(who, at, count("late"), mark);
    beyond.dropped[which].push_marked(who, at, dropped as f64 / seconds, mark);
    Ok(())
}

/// Waits until nothing waits in the server's sockets, so that the next trial begins with nothing.
pub(super) fn drain(lab: &Lab, port: u16) -> Result<(), Error> {
    for _ in 0..DRAIN_LOOKS_MAX {
        lab.go_on()?;
        if lab.bed.sockets(port)?.queued == 0 {
            break;
        }
        thread::sleep(DRAIN_LOOK);
    }
    Ok(())
}

/// What was answered, as figures.
pub fn figures(beyond: &Beyond) -> Vec<Figure> {
    let of = |(values, share): (&Values, f64)| {
        values.figures(&format!("answered of {share} times the rate"), "/s", true)
    };
    beyond.answered.iter().zip(SHARES).flat_map(of).collect()
}

/// A table and a chart of a place, of contenders in that order; `None` where nothing was offered.
pub fn report(spot: &Spot, beyond: &Beyond, order: &[&str]) -> Option<(Table, Chart)> {
    let at = spot.at.as_str();
    // In the order of the rates: trials came in random order.
    let names: Vec<&str> =
        order.iter().copied().filter(|name| !beyond.answered[0].of(name, at).is_empty()).collect();
    if names.is_empty() {
        return None;
    }
    let place = if at.is_empty() { String::new() } else { format!(", {at}") };
    let row = |name: &str, which: usize| {
        let of = |values: &[Values]| statistics::median(values[which].of(name, at));
        let (offered, answered) = (of(&beyond.offered), of(&beyond.answered));
        let numbers =
            [offered, answered, of(&beyond.late), of(&beyond.dropped)].map(|number| format!("{number:.0}"));
        let mut cells = vec![name.to_owned(), format!("{:.1}", SHARES[which])];
        cells.extend(numbers);
        cells.push(format!("{:.1}", answered / offered.max(1.0) * 100.0));
        cells
    };
    let rows = names.iter().flat_map(|name| (0..SHARES.len()).map(|which| row(name, which))).collect();
    let columns = ["server", "times its rate", "offered/s", "in time/s", "late/s", "dropped/s", "in time %"];
    let note = "In time: within the time-out of the generator. Dropped: by the server's socket, as the kernel counts; what is in none of these columns was \
                answered after the generator had stopped waiting, or not at all.";
    let table = table(&format!("Answered of offered{place}"), &columns, rows, note);
    let series = |name: &&str| Series {
        name: (*name).to_owned(),
        role: Role::Measured,
        points: (0..SHARES.len())
            .filter_map(|which| {
                let offered = statistics::median(beyond.offered[which].of(name, at));
                beyond.answered[which].point(offered, name, at)
            })
            .collect(),
    };
    let title = format!("Answered of offered, up to twice the rate{place}");
    let labels = ["offered, queries a second", "answered in time, a second"];
    Some((table, Chart::lines(title, labels, names.iter().map(series).collect())))
}
