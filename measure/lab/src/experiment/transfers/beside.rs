//! Queries beside changes that come in by IXFR (the last table of ISC-TN-2008-1).
//!
//! A server is the secondary of a primary of ours, which changes a record so many times a second and tells of it. It is asked
//! as much as it answers, with and without changes, one directly after the other: only the two of such a pair are compared.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bench::{
    random::Random,
    transfer::{Feeder, Notices, drain, history::Churn},
};
use serde_json::{Value, json};
use wire::NameBuf;

use super::{
    super::{
        Lab, Mark, Values, interval_text, point, runs, table,
        validity::{self, Heard, gather_fields},
    },
    histories,
};
use crate::{
    Error,
    contender::{self, Server},
    data::Set,
    error::ServerProblem,
    known::Known,
    recipe::{Case, Name},
    record::{Chart, Role, Series},
    statistics,
};

/// A primary that changes all the time does not tell of every change: so often at most.
const NOTIFY_EVERY: Duration = Duration::from_millis(10);
/// Longest sleep between changes, so that an end is seen.
const SLEEP_MAX: Duration = Duration::from_millis(20);
/// How long a serial is waited for.
const ANSWER: Duration = Duration::from_millis(500);
/// Order of the servers, and choice of what changes.
const SEED: u64 = 7;

/// Names of metrics.
const OF_NONE: &str = "rate over none";
const SERVED: &str = "served at the end";

/// A server with one of the cases.
struct Way {
    name: Name,
    case: usize,
    keeps: bool,
}

#[derive(Default)]
struct Found {
    rates: Values,
    ratios: Values,
    served: Values,
    cpu: Values,
}

gather_fields!(Found: rates, ratios, served, cpu);

/// Measures all secondaries at all rates of changes.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let (mut places, mut ways) = (Vec::new(), Vec::new());
    for case in lab.recipe.cases.clone() {
        let Some(set) = lab.set_if_able(&case)? else { continue };
        places.push((case, set));
    }
    let primary = SocketAddr::from(([127, 0, 0, 1], 0));
    for keeps in [true, false] {
        let role = contender::Role::Secondary { primary, keeps };
        let what = if keeps { "" } else { " where nothing is kept" };
        for name in lab.able(role, what) {
            ways.extend((0..places.len()).map(|case| Way { name, case, keeps }));
        }
    }
    Random::new(SEED).shuffle(&mut ways);
    let (mut found, began, all) = (Found::default(), Instant::now(), ways.len());
    for (done, way) in ways.iter().enumerate() {
        lab.go_on()?;
        let (case, set) = &places[way.case];
        let text = format!("{}, {}", way.name.text(), at(case, way.keeps, None));
        lab.say_left(&text, began, done, all - done);
        match measure(lab, way, case, set, &mut found) {
            Err(error @ Error::Server { .. }) => lab.note(format!("{text} is left out: {error}")),
            result => result?,
        }
    }
    if lab.record.raw.is_empty() {
        return Err(Error::Nobody);
    }
    let order = lab.labels();
    let values = [&mut found.rates, &mut found.ratios, &mut found.served, &mut found.cpu];
    values.into_iter().for_each(|values| values.arrange(&order));
    for (case, keeps) in places.iter().flat_map(|(case, _)| [true, false].map(|keeps| (case, keeps))) {
        report(lab, &order, case, keeps, &found);
    }
    figures(lab, &found);
    Ok(())
}

/// `DNSSEC on, not kept, 32 changes/s`; without a rate what all of them have in common.
fn at(case: &Case, keeps: bool, rate: Option<u32>) -> String {
    let kept = if keeps { "kept" } else { "not kept" };
    match rate {
        None => format!("{}, {kept}", case.name),
        Some(rate) => format!("{}, {kept}, {}", case.name, rate_text(rate)),
    }
}

fn rate_text(rate: u32) -> String {
    if rate == 0 { "no changes".to_owned() } else { format!("{rate} changes/s") }
}

fn measure(lab: &mut Lab, way: &Way, case: &Case, set: &Set, found: &mut Found) -> Result<(), Error> {
    let mut histories = histories(&set.zones)?;
    histories.truncate(1);
    let Some(history) = histories.first() else { return Err(Error::Nobody) };
    let (apex, first) = (history.apex.clone(), history.serial());
    let churn = Mutex::new(Changing { churn: Churn::new(history, SEED), serial: first });
    let feeder = lab.feed(histories)?;
    let mut server = lab.start_secondary(way.name, &feeder, &set.zones, way.keeps)?;
    lab.wait_current(&mut server, &[(apex.clone(), first)], None)?;
    lab.warm(&mut server, &set.queries)?;
    let who = way.name.text();
    for (round, pair, rate) in pairs(lab, way, case) {
        let place = at(case, way.keeps, Some(rate));
        validity::gathered(lab, &format!("{who}, {place}, pair {pair}"), round, found, |lab, found| {
            // Now one is first, now the other: a machine that becomes slower favours neither.
            let mut run = |rate| -> Result<Run, Error> {
                let run = beside(lab, &mut server, set, &feeder, (&apex, rate), &churn)?;
                // What is still on its way must not be in the next run.
                let last = churn.lock().unwrap_or_else(PoisonError::into_inner).serial;
                let mut notices = Notices::new(&feeder, server.address, [apex.clone()]);
                lab.wait_current(&mut server, &[(apex.clone(), last)], Some(&mut notices))?;
                Ok(run)
            };
            let (none, some) = if pair % 2 == 1 {
                let none = run(0)?;
                (none, run(rate)?)
            } else {
                let some = run(rate)?;
                (run(0)?, some)
            };
            let of = |run: &Run| (run.rate, Mark::in_round(pair).known(run.known));
            found.rates.push_marked(who, &at(case, way.keeps, Some(0)), none.rate, of(&none).1);
            found.rates.push_marked(who, &place, some.rate, of(&some).1);
            for (ratio, mark) in runs::over(&[of(&some)], &[of(&none)]) {
                found.ratios.push_marked(who, &place, ratio, mark);
            }
            found.served.push(who, &place, some.served);
            let cpu = (some.cpu_an_answer - none.cpu_an_answer) * some.rate / f64::from(rate) * 1e6;
            found.cpu.push(who, &place, cpu);
            lab.record.raw.push(json!({
                "ixfr_into": who, "at": place, "pair": pair, "none": none.outcome, "changes": some.outcome,
                "published": some.published, "served_at_the_end": some.served,
            }));
            // Closed loops have no schedule.
            Ok(Heard::default())
        })?;
    }
    lab.record.blocks.kept += 1;
    Ok(())
}

/// Pairs of runs, each with a number of its own that all servers have in common, its number among those at that rate, and the rate: all rates
/// in turn, and then those again of which something is wanted, until they have as many as that takes.
fn pairs(lab: &Lab, way: &Way, case: &Case) -> Vec<(usize, usize, u32)> {
    let rates = &lab.recipe.changes.rates;
    let is_wanted = |rate: u32| {
        let place = at(case, way.keeps, Some(rate));
        lab.recipe.changes.targets.iter().any(|target| target.of == way.name && target.at == place)
    };
    let count = |rate: u32| match is_wanted(rate) {
        true => lab.effort.pairs.max(lab.effort.runs),
        false => lab.effort.runs,
    };
    let most = rates.iter().map(|&rate| count(rate)).max().unwrap_or(0);
    (1..=most)
        .flat_map(|pair| {
            let of_pair = rates.iter().enumerate().filter(move |(_, rate)| pair <= count(**rate));
            of_pair.map(move |(at, &rate)| (pair * rates.len() + at, pair, rate))
        })
        .collect()
}

/// What a run brought.
struct Run {
    rate: f64,
    known: Known,
    /// Seconds of the server's processor time.
    cpu_an_answer: f64,
    published: u32,
    /// Of the changes published those that were served when it ended, as share.
    served: f64,
    outcome: Value,
}

/// What changes, and the serial of the last change.
struct Changing {
    churn: Churn,
    serial: u32,
}

/// As many queries as are answered, beside so many changes a second.
fn beside(
    lab: &Lab,
    server: &mut Server,
    set: &Set,
    feeder: &Feeder,
    (apex, rate): (&NameBuf, u32),
    churn: &Mutex<Changing>,
) -> Result<Run, Error> {
    let serial = || churn.lock().unwrap_or_else(PoisonError::into_inner).serial;
    let (before, stop, address) = (serial(), AtomicBool::new(false), server.address);
    let place = lab.load_place();
    let numbers =
        [lab.effort.window.to_string(), lab.effort.run_seconds.to_string(), lab.effort.flows.to_string()];
    let words = ["--closed", &numbers[0], "--seconds", &numbers[1], "--flows", &numbers[2], "--trains"];
    let words = words.map(str::to_owned);
    // In ticks, with what processes that have ended used: NSD makes new ones for every version.
    let cpu_before = server.process.cpu();
    let result = thread::scope(|scope| {
        let changing = || place.enter(|| change(feeder, address, (apex, rate), churn, &stop));
        let running = (rate > 0).then(|| scope.spawn(changing));
        let result = lab.load(server, &set.queries, &words);
        stop.store(true, Ordering::Relaxed);
        let ended = running.map_or(Ok(Ok(())), thread::ScopedJoinHandle::join);
        match ended {
            Ok(ended) => ended.and(result),
            Err(_) => Err(Error::System { action: "change a zone", cause: std::io::ErrorKind::Other.into() }),
        }
    });
    let mut result = result?;
    let cpu = server.process.cpu();
    let cpu = cpu.user + cpu.system - cpu_before.user - cpu_before.system;
    let (published, served) = (serial() - before, served(lab, server, apex)?.saturating_sub(before));
    let rate = result["outcome"]["answers_per_second"].as_f64().unwrap_or(0.0);
    let answers = result["outcome"]["received"].as_f64().unwrap_or(0.0).max(1.0);
    Ok(Run {
        rate,
        known: validity::known_of(&result["outcome"]),
        cpu_an_answer: cpu / answers,
        published,
        served: f64::from(served) / f64::from(published.max(1)),
        outcome: result["outcome"].take(),
    })
}

/// The serial that a server has.
fn served(lab: &Lab, server: &Server, apex: &NameBuf) -> Result<u32, Error> {
    let socket = contender::socket(&lab.bed, server.address)?;
    let cause = |cause| Error::System { action: "set a time-out", cause };
    socket.set_read_timeout(Some(ANSWER)).map_err(cause)?;
    drain::serial(&socket, apex).ok_or_else(|| server.fault(ServerProblem::Silent(ANSWER.as_secs_f64())))
}

/// Changes a zone so many times a second, evenly, until `stop`, and tells of it.
fn change(
    feeder: &Feeder,
    server: SocketAddr,
    (apex, rate): (&NameBuf, u32),
    churn: &Mutex<Changing>,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let (began, mut made) = (Instant::now(), 0u64);
    let mut told = began.checked_sub(NOTIFY_EVERY).unwrap_or(began);
    let mut changing = churn.lock().unwrap_or_else(PoisonError::into_inner);
    let mut is_told = true;
    while !stop.load(Ordering::Relaxed) {
        let due = (began.elapsed().as_secs_f64() * f64::from(rate)) as u64 + 1;
        while made < due {
            let serial = changing.serial + 1;
            let next = changing.churn.next(serial);
            feeder.publish(apex, next);
            changing.serial = serial;
            made += 1;
            is_told = false;
        }
        if !is_told && told.elapsed() >= NOTIFY_EVERY {
            feeder.notify(server, apex);
            told = Instant::now();
            is_told = true;
        }
        let next = Duration::from_secs_f64(made as f64 / f64::from(rate)).saturating_sub(began.elapsed());
        let next = if is_told { next } else { next.min(NOTIFY_EVERY) };
        thread::sleep(next.min(SLEEP_MAX));
    }
    Ok(())
}

fn report(lab: &mut Lab, order: &[String], case: &Case, keeps: bool, found: &Found) {
    let rates: Vec<u32> = [0].into_iter().chain(lab.recipe.changes.rates.clone()).collect();
    let ratios = found.ratios.figures("", "", true);
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for who in order {
        let mut points = Vec::new();
        for (x, &rate) in rates.iter().enumerate() {
            let place = at(case, keeps, Some(rate));
            let values = found.rates.of(who, &place);
            let Some(shown) = point(x as f64, values) else { continue };
            points.push(shown);
            let ratio = ratios.iter().find(|figure| figure.contender == *who && figure.at == place);
            let text = |values: &[f64], scale: f64, digits: usize| match values.is_empty() {
                true => String::new(),
                false => format!("{:.digits$}", statistics::median(values) * scale),
            };
            rows.push(vec![
                who.clone(),
                rate_text(rate),
                found.rates.known(who, &place).sign().to_owned() + &text(values, 1.0, 0),
                ratio.map_or_else(
                    || "1".to_owned(),
                    |ratio| format!("{}{:.3}", ratio.known().sign(), ratio.median),
                ),
                ratio.map_or_else(String::new, |ratio| interval_text(ratio, 3)),
                ratio.map_or_else(String::new, |ratio| ratio.values.len().to_string()),
                text(found.served.of(who, &place), 100.0, 1),
                text(found.cpu.of(who, &place), 1.0, 1),
            ]);
        }
        if !points.is_empty() {
            series.push(Series { name: who.clone(), role: Role::Measured, points });
        }
    }
    if rows.is_empty() {
        return;
    }
    let title = format!("Queries beside IXFR: {}", at(case, keeps, None));
    let columns = [
        "server",
        "changes",
        "queries/s",
        "of none",
        "95 %",
        "pairs",
        "served at the end %",
        "CPU us a change",
    ];
    let note = "Of none: to the run without changes directly before or after it, the median of so many pairs. Served at the end: of the changes published in a run. Processor time: what \
                an answer took more, for as many answers as came to a change.";
    lab.record.tables.push(table(&title, &columns, rows, note));
    lab.record.charts.push(Chart::bars(
        title,
        "queries a second",
        rates.into_iter().map(rate_text).collect(),
        series,
    ));
}

fn figures(lab: &mut Lab, found: &Found) {
    runs::change_targets(lab, OF_NONE, |metric, who, at| match metric {
        OF_NONE => found.ratios.marked(who, at),
        SERVED => found.served.marked(who, at),
        _ => Vec::new(),
    });
    let record = &mut lab.record;
    record.figures.extend(found.rates.figures("rate", "/s", true));
    record.figures.extend(found.ratios.figures(OF_NONE, "", true));
    record.figures.extend(found.served.figures(SERVED, "", true));
    record.figures.extend(found.cpu.figures("CPU a change", "us", false));
}
