//! Real changes of real zones, one version after the other, through a primary of ours into secondaries.
//!
//! Each version is published, told of (NOTIFY) and waited for; then the secondary gives its zone (AXFR), and what it gives is
//! compared with what the data say. Secondaries take turns whole: one has all versions, then the next.

use std::{
    env,
    path::PathBuf,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use bench::transfer::{History, Notices, Wanted, drain};
use serde_json::json;
use wire::NameBuf;

use super::super::{
    Lab, Values, table,
    validity::{self, Heard},
};
use crate::{
    Error,
    contender::Role,
    data::Zones,
    error::ServerProblem,
    place::Place,
    process,
    recipe::{HistoryFiles, Name},
};

/// Names a folder in which histories are looked for, beside the folder of generated zones.
const FOLDER: &str = "ZONDA_HISTORIES";
/// How long a transfer may stand still.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Differences that are told of each secondary.
const TOLD_MAX: usize = 5;
/// Delegations and versions that are made up where the real ones are not there.
const MADE_UP: (usize, usize) = (2000, 500);
/// Of what is made up.
const SEED: u64 = 6;

/// Names of metrics.
const EQUAL: &str = "equal versions";
const MEDIAN: &str = "until served, p50";
const HIGH: &str = "until served, p99";

/// From which column of the table on there are times.
const TIMES_FROM: usize = 6;

/// What came of one secondary.
#[derive(Default)]
struct Outcome {
    equal: u64,
    different: u64,
    /// From the publication to the first answer with the new serial, in milliseconds.
    delays: Vec<f64>,
    ixfr: u64,
    axfr: u64,
    seconds: f64,
}

/// Replays the history into all secondaries.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let Some(files) = lab.recipe.history.clone() else { return Err(Error::Nobody) };
    let history = history(lab, &files)?;
    let nowhere = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let names = lab.able(Role::Secondary { primary: nowhere, keeps: true }, "");
    let (mut rows, mut found) = (Vec::new(), Values::default());
    let began = Instant::now();
    for (done, &name) in names.iter().enumerate() {
        lab.go_on()?;
        let text = format!("{}: {} versions", name.text(), history.changes.len() + 1);
        lab.say_left(&text, began, done, names.len() - done);
        // That versions are equal is no matter of the machine; the times are of a run that takes hours and is not made again.
        let (mut times, mut all) = (Values::default(), None);
        let label = format!("{}, all versions", name.text());
        let replayed = validity::gathered_once(lab, &label, &mut times, |lab, times| {
            let outcome = replay(lab, name, &history)?;
            all = Some(report(lab, name, outcome, times));
            Ok(Heard::default())
        });
        match replayed {
            Ok(counts) => {
                if let Some((share, mut row)) = all {
                    found.push(name.text(), EQUAL, share);
                    if !counts {
                        row[TIMES_FROM..].iter_mut().for_each(|cell| "–".clone_into(cell));
                    }
                    rows.push(row);
                }
                for metric in [MEDIAN, HIGH] {
                    times
                        .of(name.text(), metric)
                        .iter()
                        .for_each(|&value| found.push(name.text(), metric, value));
                }
                lab.record.blocks.kept += usize::from(counts);
            }
            Err(error @ Error::Server { .. }) => lab.note(format!("{} is left out: {error}", name.text())),
            Err(error) => return Err(error),
        }
    }
    if rows.is_empty() {
        return Err(Error::Nobody);
    }
    let columns = [
        "server",
        "versions",
        "equal",
        "different",
        "IXFR",
        "AXFR",
        "until served ms: median",
        "99 %",
        "longest",
        "in all s",
    ];
    let note = "Versions as a secondary gave them by AXFR, beside what the data say: all records but their TTLs. Transfers that it asked for, of \
                changes and of the whole zone. No times: its run broke a rule, and does not count.";
    lab.record.tables.push(table("Versions replayed", &columns, rows, note));
    for (metric, unit, more) in [(EQUAL, "", true), (MEDIAN, "ms", false), (HIGH, "ms", false)] {
        let mut one = Values::default();
        for who in found.contenders() {
            found.of(who, metric).iter().for_each(|&value| one.push(who, "", value));
        }
        lab.record.figures.extend(one.figures(metric, unit, more));
    }
    let places = [MEDIAN, HIGH].map(str::to_owned);
    lab.record.charts.push(found.bars("From publication until served", "milliseconds", &places, true));
    Ok(())
}

/// The real history, or where it is not there one that is made up; as many of its versions as are wanted.
fn history(lab: &mut Lab, files: &HistoryFiles) -> Result<History, Error> {
    let base = unpacked(lab, &files.base)?;
    let changes = unpacked(lab, &files.changes)?;
    let mut history = match (base, changes) {
        (Some(base), Some(changes)) => {
            lab.record.notes.push(format!("history: {} and {}", files.base, files.changes));
            History::read(&base, Some(&changes))?
        }
        _ => {
            lab.note(format!(
                "{} and {} are not there, a history is made up: put them into the folder of --data, or name theirs with {FOLDER}",
                files.base, files.changes
            ));
            let (delegations, versions) = MADE_UP;
            History::made_up(wire::Name::root(), delegations, versions, SEED)
        }
    };
    history.changes.truncate(lab.effort.versions.saturating_sub(1));
    let mended = mend_serials(&mut history);
    if mended > 0 {
        lab.note(format!(
            "{mended} versions had a serial that was not greater than the one before, and got the next"
        ));
    }
    Ok(history)
}

/// A secondary takes no version whose serial is not greater than that of its own (RFC 1982): where one went back, as registries do at
/// times, it gets the next serial. Returns how often.
fn mend_serials(history: &mut History) -> usize {
    let (mut last, mut mended) = (history.serial(), 0);
    for change in &mut history.changes {
        if change.serial <= last {
            change.serial = last.wrapping_add(1);
            mended += 1;
        }
        last = change.serial;
    }
    mended
}

/// A file of a history without its compression; nothing where it is nowhere.
fn unpacked(lab: &Lab, name: &str) -> Result<Option<PathBuf>, Error> {
    let folders = [Some(lab.data.clone()), env::var_os(FOLDER).map(PathBuf::from)];
    let Some(path) =
        folders.into_iter().flatten().map(|folder| folder.join(name)).find(|path| path.is_file())
    else {
        return Ok(None);
    };
    let Some(stem) = name.strip_suffix(".zst") else { return Ok(Some(path)) };
    if process::find("zstd").is_none() {
        return Err(Error::Missing {
            program: "zstd".to_owned(),
            remedy: "install zstd, it unpacks histories",
        });
    }
    let to = lab.folder("history")?.join(stem);
    let words = ["zstd", "-q", "-f", "-d", &path.display().to_string(), "-o", &to.display().to_string()];
    process::run(&words.map(str::to_owned), &Place::default(), &lab.folder("generator")?, &lab.stop)?;
    Ok(Some(to))
}

fn replay(lab: &mut Lab, name: Name, history: &History) -> Result<Outcome, Error> {
    let apex = history.apex.clone();
    let feeder = lab.feed(vec![history.clone()])?;
    // Nothing is read from there: it says which zone.
    let list = vec![(apex.to_string(), PathBuf::from("none"))];
    let records = history.base.count() as u64 + 1;
    let zones = Zones { list, records, ..Zones::default() };
    let mut server = lab.start_secondary(name, &feeder, &zones, true)?;
    let mut outcome = Outcome::default();
    let began = Instant::now();
    let first = [(apex.clone(), history.serial())];
    let mut notices = Notices::new(&feeder, server.address, [apex.clone()]);
    lab.wait_current(&mut server, &first, Some(&mut notices))?;
    compare(lab, &server, &feeder, &apex, &mut outcome)?;
    for change in &history.changes {
        let published = Instant::now();
        let Some((serial, _)) = feeder.publish(&apex, change.clone()) else { return Err(Error::Nobody) };
        let mut notices = Notices::new(&feeder, server.address, [apex.clone()]);
        let served = lab.wait_current(&mut server, &[(apex.clone(), serial)], Some(&mut notices))?;
        outcome.delays.push((served - published).as_secs_f64() * 1e3);
        compare(lab, &server, &feeder, &apex, &mut outcome)?;
    }
    outcome.seconds = began.elapsed().as_secs_f64();
    outcome.ixfr = feeder.counts().ixfr.load(Ordering::Relaxed);
    outcome.axfr = feeder.counts().axfr.load(Ordering::Relaxed);
    Ok(outcome)
}

/// Takes the zone of a secondary and compares it with the version that is published.
fn compare(
    lab: &mut Lab,
    server: &crate::contender::Server,
    feeder: &bench::transfer::Feeder,
    apex: &NameBuf,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let place = lab.load_place();
    let taken = place.enter(|| drain::take(server.address, apex, Wanted::Whole, true, TIMEOUT));
    let taken = taken.map_err(|error| match error {
        Error::System { cause, .. } => Error::Server {
            contender: server.name.text().to_owned(),
            problem: ServerProblem::Load,
            said: format!("transfer: {cause}"),
        },
        error => error,
    })?;
    let Some((serial, digest)) = feeder.version(apex) else { return Err(Error::Nobody) };
    if taken.serial == serial && taken.digest == digest {
        outcome.equal += 1;
        return Ok(());
    }
    outcome.different += 1;
    if outcome.different as usize <= TOLD_MAX {
        lab.note(format!(
            "{}: version {serial} is different: {} records are {}, serial {}",
            server.name.text(),
            digest.records,
            taken.digest.records,
            taken.serial
        ));
    }
    Ok(())
}

/// Adds the times of a secondary; returns the share of versions that were equal, and its row.
fn report(lab: &mut Lab, name: Name, mut outcome: Outcome, times: &mut Values) -> (f64, Vec<String>) {
    outcome.delays.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = outcome.delays.len().saturating_sub(1);
        outcome.delays.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
    };
    let all = outcome.equal + outcome.different;
    let who = name.text();
    times.push(who, MEDIAN, at(0.5));
    times.push(who, HIGH, at(0.99));
    lab.record.raw.push(json!({
        "replayed_into": who, "versions": all, "equal": outcome.equal, "different": outcome.different, "ixfr": outcome.ixfr,
        "axfr": outcome.axfr, "seconds": outcome.seconds, "p50_ms": at(0.5), "p99_ms": at(0.99), "longest_ms": at(1.0),
    }));
    let numbers =
        [all, outcome.equal, outcome.different, outcome.ixfr, outcome.axfr].map(|number| number.to_string());
    let times = [at(0.5), at(0.99), at(1.0), outcome.seconds].map(|time| format!("{time:.1}"));
    let row = [who.to_owned()].into_iter().chain(numbers).chain(times).collect();
    (outcome.equal as f64 / all.max(1) as f64, row)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn serials_only_grow() {
        let mut history = History::made_up(wire::Name::root(), 3, 4, SEED);
        let serials =
            |history: &History| history.changes.iter().map(|change| change.serial).collect::<Vec<_>>();
        assert_eq!((serials(&history), mend_serials(&mut history.clone())), (vec![2, 3, 4, 5], 0));
        history.changes[1].serial = 1;
        history.changes[2].serial = 3;
        assert_eq!((mend_serials(&mut history), serials(&history)), (2, vec![2, 3, 4, 5]));
    }
}
