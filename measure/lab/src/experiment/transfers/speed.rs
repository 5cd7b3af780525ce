//! How fast zones go out of a server and come into one.
//!
//! | | from | to |
//! |---|---|---|
//! | out | the server, with zones from files | our client: records a second |
//! | changes out | the server, which took updates before | our client, by IXFR |
//! | in | our primary | the server: from its start until it answers for all zones |
//! | again | our primary, in which every zone has changed | the same server: from the first notice until it has all serials |
//!
//! Our client takes the zones from our primary too: the limit.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bench::transfer::{
    Notices, Wanted,
    drain::{self, Drained},
    history::Churn,
};
use serde_json::json;
use wire::NameBuf;

use super::{
    super::{
        Lab, Mark, Values, interval_text, runs, table,
        updates::{LIMIT, Place, Taker},
        validity::{self, Gather, Heard},
    },
    apexes, histories,
};
use crate::{
    Error,
    contender::{self, Role, Server},
    data::Zones,
    recipe::Name,
    record::Figure,
    statistics,
};

/// Zones that are taken at a time, where there are many.
const DRAINS: usize = 8;
/// How long a transfer may stand still.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Updates in flight before changes are taken.
const WINDOW: &str = "64";
/// Choice of what changes.
const SEED: u64 = 5;

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Out,
    ChangesOut,
    In,
}

impl Direction {
    fn text(self) -> &'static str {
        match self {
            Direction::Out => "out",
            Direction::ChangesOut => "changes out",
            Direction::In => "in",
        }
    }
}

struct Way {
    /// The feeder without.
    name: Option<Name>,
    case: usize,
    direction: Direction,
}

/// Values by metric.
#[derive(Default)]
struct Found {
    by: BTreeMap<&'static str, Values>,
}

/// Metrics: name, unit, whether more is better.
const METRICS: [(&str, &str, bool); 7] = [
    ("AXFR out", "records/s", true),
    ("AXFR out, CPU", "ns/record", false),
    ("IXFR out", "records/s", true),
    ("in until served", "s", false),
    ("in until served, CPU", "s", false),
    ("all current again", "s", false),
    ("PSS after transfer", "octets", false),
];

/// Measures all directions.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let places = lab.updated_places()?;
    let ways = ways(lab, &places);
    let label = |way: &Way| {
        let who = way.name.map_or(LIMIT, Name::text);
        format!("{who}, {}, {}", places[way.case].name, way.direction.text())
    };
    let labels: Vec<String> = ways.iter().map(label).collect();
    let mut found = Found::default();
    runs::alternate(lab, &labels, |lab, which, round| {
        let way = &ways[which];
        let place = &places[way.case];
        let label = format!("{}, round {round}", labels[which]);
        validity::gathered(lab, &label, round, &mut found, |lab, found| {
            match (way.direction, way.name) {
                (Direction::Out, None) => feeder_out(lab, place, round, found),
                (Direction::Out, Some(name)) => out(lab, name, place, round, found),
                (Direction::ChangesOut, Some(name)) => changes_out(lab, name, place, round, found),
                (Direction::In, Some(name)) => take_in(lab, name, place, round, found),
                (_, None) => Ok(()),
            }
            .map(|()| Heard::default())
        })
        .map(drop)
    })?;
    report(lab, &places, &mut found);
    Ok(())
}

fn ways(lab: &mut Lab, places: &[Place]) -> Vec<Way> {
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let givers = lab.able(Role::Primary, " of zones out");
    let changers = lab.able(Role::Dynamic { is_signed: false }, " of changes out");
    let takers = lab.able(Role::Secondary { primary: nowhere, keeps: true }, " of zones in");
    let mut ways = Vec::new();
    for (case, place) in places.iter().enumerate() {
        let mut add = |names: &[Name], direction| {
            ways.extend(names.iter().map(|&name| Way { name: Some(name), case, direction }));
        };
        add(&givers, Direction::Out);
        add(&takers, Direction::In);
        // Changes of many zones are many small transfers: those that come again are measured on the way in.
        if place.set.zones.list.len() == 1 {
            add(&changers, Direction::ChangesOut);
        }
        ways.push(Way { name: None, case, direction: Direction::Out });
    }
    ways
}

impl Found {
    /// Adds values of a run in a round.
    fn push(&mut self, who: &str, at: &str, round: usize, values: &[(&'static str, f64)]) {
        for &(metric, value) in values {
            self.by.entry(metric).or_default().push_at(who, at, round, value);
        }
    }

    fn of(&self, metric: &str, who: &str, at: &str) -> &[f64] {
        self.by.get(metric).map_or(&[], |values| values.of(who, at))
    }
}

impl Gather for Found {
    fn gather(&mut self, run: Found, mark: Mark) {
        self.by.gather(run.by, mark);
    }
}

/// Takes all zones, several at a time, and returns what came of each and how long all took.
fn drain_all(lab: &Lab, from: SocketAddr, zones: &[NameBuf]) -> Result<(Vec<Drained>, f64), Error> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(zones.len())));
    let one = || {
        while let Some(apex) = zones.get(next.fetch_add(1, Ordering::Relaxed)) {
            let drained = drain::take(from, apex, Wanted::Whole, false, TIMEOUT)?;
            done.lock().unwrap_or_else(PoisonError::into_inner).push(drained);
        }
        Ok(())
    };
    let seconds = lab.load_place().enter(|| {
        let began = Instant::now();
        std::thread::scope(|scope| {
            let drains = DRAINS.min(zones.len());
            let threads: Vec<_> = (0..drains).map(|_| scope.spawn(one)).collect();
            let ended = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
            });
            ended.collect::<std::io::Result<()>>()
        })?;
        Ok(began.elapsed().as_secs_f64())
    })?;
    Ok((done.into_inner().unwrap_or_else(PoisonError::into_inner), seconds))
}

/// A transfer that failed is the server's fault.
fn of_server<T>(server: &Server, result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| match error {
        Error::System { cause, .. } => Error::Server {
            contender: server.name.text().to_owned(),
            problem: crate::error::ServerProblem::Load,
            said: format!("transfer: {cause}\n{}", server.process.said()),
        },
        error => error,
    })
}

fn rate(drained: &[Drained], seconds: f64) -> f64 {
    drained.iter().map(|drained| drained.records).sum::<u64>() as f64 / seconds.max(1e-9)
}

fn feeder_out(lab: &mut Lab, place: &Place, round: usize, found: &mut Found) -> Result<(), Error> {
    let feeder = lab.feed(histories(&place.set.zones)?)?;
    let (drained, seconds) = drain_all(lab, feeder.address(), &apexes(&place.set.zones))?;
    found.push(LIMIT, &place.name, round, &[("AXFR out", rate(&drained, seconds))]);
    Ok(())
}

fn out(lab: &mut Lab, name: Name, place: &Place, round: usize, found: &mut Found) -> Result<(), Error> {
    let subject = lab.subject_as(name, 1, Role::Primary);
    let server = lab.start(&subject, &place.set.zones)?;
    let before = server.process.cpu_fine();
    let drained = drain_all(lab, server.address, &apexes(&place.set.zones));
    let (drained, seconds) = of_server(&server, drained)?;
    let cpu = server.process.cpu_fine() - before;
    let octets: u64 = drained.iter().map(|drained| drained.octets).sum();
    let records: u64 = drained.iter().map(|drained| drained.records).sum();
    let rate = rate(&drained, seconds);
    let values = [("AXFR out", rate), ("AXFR out, CPU", cpu * 1e9 / records.max(1) as f64)];
    found.push(name.text(), &place.name, round, &values);
    lab.record.raw.push(json!({
        "axfr_out_of": name.text(), "at": place.name, "run": round, "seconds": seconds, "records_per_second": rate,
        "cpu_seconds": cpu, "records": records, "octets": octets, "zones": drained.len(),
    }));
    Ok(())
}

fn changes_out(
    lab: &mut Lab,
    name: Name,
    place: &Place,
    round: usize,
    found: &mut Found,
) -> Result<(), Error> {
    let subject = lab.subject_as(name, 1, Role::Dynamic { is_signed: false });
    let mut taker = lab.start_taker(Some(&subject), &place.set.zones)?;
    let (address, apexes) = (taker.address(), apexes(&place.set.zones));
    let Some(apex) = apexes.first() else { return Err(Error::Nobody) };
    let socket = contender::socket(&lab.bed, address)?;
    let cause = |cause| Error::System { action: "set a time-out", cause };
    socket.set_read_timeout(Some(TIMEOUT)).map_err(cause)?;
    let before = drain::serial(&socket, apex).unwrap_or(0);
    let seconds = lab.effort.load_seconds.to_string();
    let words = ["--update-rate", "max", "--update-window", WINDOW, "--seconds", &seconds];
    let updates = lab.update(&mut taker, &place.updates, &words.map(str::to_owned))?;
    let drained =
        lab.load_place().enter(|| drain::take(address, apex, Wanted::Since(before), false, TIMEOUT));
    let Taker::Server(server) = &taker else { return Ok(()) };
    let drained = of_server(server, drained)?;
    if drained.is_whole {
        lab.note(format!(
            "{} gave the whole zone in place of changes since {} updates ago ({})",
            name.text(),
            updates["accepted"],
            place.name
        ));
    } else {
        let rate = rate(&[drained], drained.seconds);
        found.push(name.text(), &place.name, round, &[("IXFR out", rate)]);
    }
    lab.record.raw.push(json!({
        "ixfr_out_of": name.text(), "at": place.name, "run": round, "seconds": drained.seconds, "is_whole": drained.is_whole,
        "records": drained.records, "octets": drained.octets, "updates": updates["accepted"],
    }));
    Ok(())
}

fn take_in(lab: &mut Lab, name: Name, place: &Place, round: usize, found: &mut Found) -> Result<(), Error> {
    let zones: &Zones = &place.set.zones;
    let histories = histories(zones)?;
    let first: Vec<(NameBuf, u32)> =
        histories.iter().map(|history| (history.apex.clone(), history.serial())).collect();
    let changes: Vec<_> = histories
        .iter()
        .map(|history| (history.apex.clone(), Churn::new(history, SEED).next(history.serial() + 1)))
        .collect();
    let feeder = lab.feed(histories)?;
    let mut server = lab.start_secondary(name, &feeder, zones, true)?;
    let served = lab.wait_current(&mut server, &first, None)?;
    let seconds = (served - server.began).as_secs_f64();
    let cpu = server.process.cpu();
    let (who, at, pss) = (name.text(), place.name.as_str(), server.process.pss());
    let values = [
        ("in until served", seconds),
        ("in until served, CPU", cpu.user + cpu.system),
        ("PSS after transfer", pss as f64),
    ];
    found.push(who, at, round, &values);
    // Every zone changes while the primary says nothing, as one that was away; then it tells of all of them.
    let second: Vec<(NameBuf, u32)> = first.iter().map(|(apex, serial)| (apex.clone(), serial + 1)).collect();
    for (apex, change) in changes {
        feeder.publish(&apex, change);
    }
    let began = Instant::now();
    let zones_again = second.iter().map(|(apex, _)| apex.clone());
    let mut notices = Notices::new(&feeder, server.address, zones_again);
    let current = lab.wait_current(&mut server, &second, Some(&mut notices))?;
    let again = (current - began).as_secs_f64();
    found.push(who, at, round, &[("all current again", again)]);
    let (repeated, unheeded) = (notices.again, notices.unheeded);
    if unheeded > 0 {
        lab.note(format!(
            "{who} answered {unheeded} notices and did not ask for the zones within two seconds ({at})"
        ));
    }
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let counts = feeder.counts();
    lab.record.raw.push(json!({
        "in_to": who, "at": at, "run": round, "seconds": seconds, "cpu_seconds": cpu.user + cpu.system, "pss": pss,
        "again_seconds": again, "notices_repeated": repeated, "notices_unheeded": unheeded, "axfr": count(&counts.axfr), "ixfr": count(&counts.ixfr), "octets": count(&counts.octets),
    }));
    Ok(())
}

fn report(lab: &mut Lab, places: &[Place], found: &mut Found) {
    let mut order = lab.labels();
    order.push(LIMIT.to_owned());
    found.by.values_mut().for_each(|values| values.arrange(&order));
    let names_at: Vec<String> = places.iter().map(|place| place.name.clone()).collect();
    for at in &names_at {
        lab.record.tables.push(table_of(at, &order, found));
    }
    for (metric, unit, more_is_better) in METRICS {
        let Some(values) = found.by.get(metric) else { continue };
        let figures: Vec<Figure> = values.figures(metric, unit, more_is_better);
        lab.record.figures.extend(figures);
        if unit != "octets" {
            lab.record.charts.push(values.bars(metric, unit, &names_at, true));
        }
    }
    runs::change_targets(lab, "AXFR out", |metric, who, at| {
        found.by.get(metric).map_or_else(Vec::new, |values| values.marked(who, at))
    });
}

fn table_of(at: &str, order: &[String], found: &Found) -> crate::record::Table {
    let cell = |metric: &str, who: &str, scale: f64, digits: usize| {
        let values = found.of(metric, who, at);
        if values.is_empty() {
            return String::new();
        }
        format!("{:.digits$}", statistics::median(values) * scale)
    };
    let interval = |who: &str| {
        let figures =
            found.by.get("in until served").map_or_else(Vec::new, |values| values.figures("", "", false));
        let figure = figures.iter().find(|figure| figure.contender == who && figure.at == at);
        figure.map_or_else(String::new, |figure| interval_text(figure, 3))
    };
    let row = |who: &String| {
        vec![
            who.clone(),
            cell("AXFR out", who, 1.0, 0),
            cell("AXFR out, CPU", who, 1.0, 0),
            cell("IXFR out", who, 1.0, 0),
            cell("in until served", who, 1.0, 3),
            interval(who),
            cell("in until served, CPU", who, 1.0, 2),
            cell("all current again", who, 1e3, 1),
            cell("PSS after transfer", who, 1.0 / f64::from(1 << 20), 1),
        ]
    };
    let has_values = |row: &Vec<String>| row[1..].iter().any(|cell| !cell.is_empty());
    let rows = order.iter().map(row).filter(has_values).collect();
    let columns = [
        "server",
        "AXFR out records/s",
        "CPU ns a record",
        "IXFR out records/s",
        "in until served s",
        "95 %",
        "of it CPU s",
        "again ms",
        "PSS MiB",
    ];
    let note = "Out: to a client that only counts; limit: out of our own primary. In: from the server's start until it answers for all zones. \
                Again: one record of every zone changed; from the first notice until all are served.";
    table(at, &columns, rows, note)
}
