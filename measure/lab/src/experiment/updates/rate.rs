//! Updates as fast as they are accepted (section 6 of ISC-TN-2008-1), so many in flight, signed and not, of one zone and of many.
//!
//! In each round every way has one run, in random order, with a server that was started for it; in the same round are runs
//! of the limit program, which keeps each update and does nothing else, and of the disk alone.

use std::{collections::BTreeMap, thread, time::Duration};

use rustix::process::Signal;
use serde_json::json;

use super::{LIMIT, Place, Taker, failures, honesty, key_words};
use crate::{
    Error,
    contender::Role,
    error,
    experiment::{
        Lab, Mark, Marked, Values, interval_text,
        runs::{self, Pair},
        table,
    },
    process,
    recipe::Name,
    record::Figure,
    statistics,
};

/// What an update took beside a write of the disk, the metric's name.
const BEYOND: &str = "p50 beyond a write";
/// The disk's name in results.
const DISK: &str = "disk";
/// How long the disk is measured in each round, at most.
const DISK_SECONDS: f64 = 2.0;
/// When an update counts as lost: Knot answers when it has applied all that came before.
const TIMEOUT_MS: &str = "10000";
/// Updates of the check that they are kept, and how many of them in flight: one shows every reply that came too early, more
/// show those who cheat under load.
const CHECKED: &str = "50";
const CHECKED_WINDOWS: [u64; 2] = [1, 8];
/// How long such a run may take: every call costs many times its time.
const CHECKED_SECONDS: &str = "60";

/// A kind of run.
struct Way {
    /// The limit program without.
    name: Option<Name>,
    case: usize,
    is_signed: bool,
    window: u64,
}

impl Way {
    fn label(&self) -> &'static str {
        self.name.map_or(LIMIT, Name::text)
    }
}

#[derive(Default)]
struct Found {
    rates: Values,
    medians: Values,
    slow: Values,
    cpu: Values,
    /// Updates refused or lost, of all runs.
    failed: BTreeMap<(String, String), u64>,
    /// Of the disk alone, by round.
    disk_rates: Vec<Marked>,
    disk_medians: Vec<Marked>,
    /// Values of the limit program by window, with their rounds: the rate, the median and processor time.
    limits: BTreeMap<u64, Vec<(usize, [f64; 3])>>,
}

/// Measures all ways, then looks whether updates are kept.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let names = lab.able(Role::Dynamic { is_signed: true }, "");
    if names.is_empty() {
        return Err(Error::Nobody);
    }
    let places = lab.updated_places()?;
    let ways = ways(lab, &names, places.len());
    let mut found = Found::default();
    let labels: Vec<String> =
        ways.iter().map(|way| format!("{} at {}", way.label(), at(&places[way.case].name, way))).collect();
    let mut last_round = 0;
    runs::alternate(lab, &labels, |lab, which, round| {
        if round != last_round {
            last_round = round;
            measure_disk(lab, round, &mut found)?;
        }
        measure(lab, &ways[which], &places, round, &mut found)
    })?;
    beside_limit(&ways, &places, &mut found);
    let order: Vec<String> =
        names.iter().map(|name| name.text().to_owned()).chain([LIMIT.to_owned()]).collect();
    let mut names_at: Vec<String> = Vec::new();
    for way in ways.iter().filter(|way| way.name.is_some()) {
        let at = at(&places[way.case].name, way);
        if !names_at.contains(&at) {
            names_at.push(at);
        }
    }
    let places_at: Vec<&str> = names_at.iter().map(String::as_str).collect();
    for values in [&mut found.rates, &mut found.medians, &mut found.slow, &mut found.cpu] {
        values.arrange(&order);
        values.arrange_places(&places_at);
    }
    report(lab, &names_at, &found);
    check(lab, &names, &places)
}

/// Each contender in all places and ways; the limit program once for each number in flight.
fn ways(lab: &Lab, names: &[Name], places: usize) -> Vec<Way> {
    let windows: Vec<(bool, u64)> = lab.recipe.windows().collect();
    let mut ways = Vec::new();
    for (case, &(is_signed, window)) in
        (0..places).flat_map(|case| windows.iter().map(move |way| (case, way)))
    {
        ways.extend(names.iter().map(|&name| Way { name: Some(name), case, is_signed, window }));
        let is_known = ways.iter().any(|way| way.name.is_none() && way.window == window);
        if !is_known {
            ways.push(Way { name: None, case: 0, is_signed: false, window });
        }
    }
    ways
}

/// `one zone, 8 in flight`.
fn at(case: &str, way: &Way) -> String {
    let unsigned = if way.is_signed { "" } else { ", unsigned" };
    format!("{case}, {} in flight{unsigned}", way.window)
}

fn measure_disk(lab: &mut Lab, round: usize, found: &mut Found) -> Result<(), Error> {
    let path = lab.folder(DISK)?.join("written");
    let time = Duration::from_secs_f64(lab.effort.run_seconds.min(DISK_SECONDS));
    let place = lab.bed.server();
    let disk = place.enter(|| Ok(bench::durable::measure(&path, time, bench::durable::Way::Direct)))??;
    found.disk_rates.push((disk.rate, Mark::in_round(round)));
    found.disk_medians.push((disk.median_us, Mark::in_round(round)));
    lab.record.raw.push(json!({ "disk": disk.json() }));
    Ok(())
}

fn measure(lab: &mut Lab, way: &Way, places: &[Place], round: usize, found: &mut Found) -> Result<(), Error> {
    let Place { name, set, updates } = &places[way.case];
    let (label, at) = (way.label(), at(name, way));
    let role = Role::Dynamic { is_signed: way.is_signed };
    let subject = way.name.map(|name| lab.subject_as(name, 1, role));
    let mut taker = lab.start_taker(subject.as_ref(), &set.zones)?;
    let (window, seconds) = (way.window.to_string(), lab.effort.run_seconds.to_string());
    let words = ["--update-rate", "max", "--update-window", &window, "--seconds", &seconds];
    let mut words = words.map(str::to_owned).to_vec();
    words.extend(["--update-timeout-ms", TIMEOUT_MS].map(str::to_owned));
    words.extend(key_words(way.is_signed && way.name.is_some()));
    let before = taker.process().cpu_fine();
    let result = lab.update(&mut taker, updates, &words)?;
    let cpu_us = (taker.process().cpu_fine() - before) * 1e6;
    let number = |part: &serde_json::Value| part.as_f64().unwrap_or(0.0);
    let rate = number(&result["accepted_per_second"]);
    let median = number(&result["latency_us"]["p50"]);
    let cpu = cpu_us / number(&result["accepted"]).max(1.0);
    if way.name.is_none() {
        found.limits.entry(way.window).or_default().push((round, [rate, median, cpu]));
    } else {
        found.rates.push_at(label, &at, round, rate);
        found.medians.push_at(label, &at, round, median);
        found.slow.push_at(label, &at, round, number(&result["latency_us"]["p99"]));
        found.cpu.push_at(label, &at, round, cpu);
        *found.failed.entry((label.to_owned(), at.clone())).or_default() += failures(&result);
    }
    lab.record.raw.push(json!({
        "updates_to": label, "at": at, "run": round, "cpu_us_an_update": cpu, "updates": result,
    }));
    Ok(())
}

/// What the limit program did stands at every place with so many in flight.
fn beside_limit(ways: &[Way], places: &[Place], found: &mut Found) {
    for way in ways.iter().filter(|way| way.name.is_some()) {
        let at = at(&places[way.case].name, way);
        if !found.rates.of(LIMIT, &at).is_empty() || !way_has_values(found, way, &at) {
            continue;
        }
        for (round, [rate, median, cpu]) in found.limits.get(&way.window).into_iter().flatten() {
            found.rates.push_at(LIMIT, &at, *round, *rate);
            found.medians.push_at(LIMIT, &at, *round, *median);
            found.cpu.push_at(LIMIT, &at, *round, *cpu);
        }
    }
}

fn way_has_values(found: &Found, way: &Way, at: &str) -> bool {
    !found.rates.of(way.label(), at).is_empty()
}

fn report(lab: &mut Lab, names_at: &[String], found: &Found) {
    let mut ratios = Values::default();
    for at in names_at {
        for who in found.rates.contenders().into_iter().filter(|&who| who != LIMIT) {
            runs::divide(&found.rates, &Pair { one: who, other: LIMIT, at }, who, &mut ratios);
        }
    }
    let rates = found.rates.figures("rate", "/s", true);
    for at in names_at {
        lab.record.tables.push(table_of(at, &rates, found));
    }
    targets(lab, found);
    let disk = ["rate", "median of a write"].map(|what| format!("{DISK}, {what}"));
    let mut alone = Values::default();
    for (what, values) in disk.iter().zip([&found.disk_rates, &found.disk_medians]) {
        values.iter().for_each(|&(value, mark)| alone.push_marked(what, "", value, mark));
    }
    let median = |what: &str| statistics::median(alone.of(what, ""));
    let row = vec![format!("{:.0}", median(&disk[0])), format!("{:.1}", median(&disk[1]))];
    let note = "Blocks of 4 KiB, each written in place and made durable before the next, past the system's cache where that can be.";
    lab.record.tables.push(table("The disk alone", &["writes/s", "median us"], vec![row], note));
    let record = &mut lab.record;
    record.figures.extend(rates);
    record.figures.extend(found.medians.figures("p50", "us", false));
    record.figures.extend(found.slow.figures("p99", "us", false));
    let mut beside_disk = Values::default();
    for (who, at) in
        found.medians.contenders().into_iter().flat_map(|who| names_at.iter().map(move |at| (who, at)))
    {
        for (value, mark) in beyond(found, who, at) {
            beside_disk.push_marked(who, at, value, mark);
        }
    }
    record.figures.extend(beside_disk.figures(BEYOND, "us", false));
    record.figures.extend(found.cpu.figures("CPU an update", "us", false));
    record.figures.extend(ratios.figures("share of limit", "", true));
    let bars = found.rates.bars("Updates accepted", "updates a second", names_at, true);
    record.charts.push(bars);
    let bars = found.cpu.bars("Processor time an update", "microseconds", names_at, true);
    record.charts.push(bars);
}

fn table_of(at: &str, rates: &[Figure], found: &Found) -> crate::record::Table {
    let disk: Vec<f64> = found.disk_medians.iter().map(|(median, _)| *median).collect();
    let disk_us = statistics::median(&disk);
    let limit = statistics::median(found.rates.of(LIMIT, at));
    let row = |figure: &Figure| {
        let who = figure.contender.as_str();
        let median = |values: &Values| statistics::median(values.of(who, at));
        let failed = found.failed.get(&(who.to_owned(), at.to_owned())).copied().unwrap_or(0);
        let share = if limit > 0.0 { format!("{:.3}", figure.median / limit) } else { String::new() };
        vec![
            who.to_owned(),
            format!("{:.0}", figure.median),
            interval_text(figure, 0),
            share,
            format!("{:.1}", median(&found.medians)),
            format!("{:.1}", median(&found.medians) - disk_us),
            format!("{:.1}", median(&found.cpu)),
            failed.to_string(),
        ]
    };
    let rows = rates.iter().filter(|figure| figure.at == at).map(row).collect();
    let columns =
        ["server", "updates/s", "95 %", "of limit", "median us", "beyond a write us", "CPU us", "failed"];
    let note = "Beyond a write: the median less that of the disk alone. Failed: refused or not answered, in all runs.";
    table(at, &columns, rows, note)
}

/// What the recipe wants, of values of the same round.
fn targets(lab: &mut Lab, found: &Found) {
    runs::change_targets(lab, "rate", |metric, who, at| match metric {
        "rate" => found.rates.marked(who, at),
        "p50" => found.medians.marked(who, at),
        BEYOND => beyond(found, who, at),
        _ => Vec::new(),
    });
}

/// Medians less that of a write of the disk alone in the same round.
fn beyond(found: &Found, who: &str, at: &str) -> Vec<Marked> {
    runs::less(&found.medians.marked(who, at), &found.disk_medians)
}

/// Looks whether updates are kept before they are answered.
fn check(lab: &mut Lab, names: &[Name], places: &[Place]) -> Result<(), Error> {
    if process::find("strace").is_none() {
        lab.note("whether updates are kept is not checked: on Debian install strace".to_owned());
        return Ok(());
    }
    lab.say("looking whether updates are kept before they are answered, under strace");
    let mut rows = Vec::new();
    for (name, window) in
        names.iter().map(Some).chain([None]).flat_map(|name| CHECKED_WINDOWS.map(|window| (name, window)))
    {
        lab.go_on()?;
        let who = name.map_or(LIMIT, |name| name.text());
        let seen = match name {
            Some(&name) => check_one(lab, name, window, &places[0]),
            // Who is compared with others is not above suspicion, but its text is short.
            None => continue,
        };
        let seen = match seen {
            Err(error @ (Error::Server { .. } | Error::Program { .. })) => {
                lab.note(format!("{who} is not checked: {error}"));
                continue;
            }
            seen => seen?,
        };
        if !seen.is_honest(window) {
            let (most, verdict) = (seen.unkept_max, seen.verdict(window));
            lab.note(format!(
                "{who}: {verdict}: of {} updates, {window} in flight, up to {most} were answered without a sync before",
                seen.replies
            ));
        }
        lab.record.raw.push(json!({
            "kept_by": who, "in_flight": window, "replies": seen.replies, "syncs": seen.syncs,
            "sync_file_range": seen.ranges, "unkept_max": seen.unkept_max, "is_honest": seen.is_honest(window),
        }));
        rows.push(vec![
            who.to_owned(),
            window.to_string(),
            seen.replies.to_string(),
            seen.syncs_text(),
            seen.unkept_max.to_string(),
            seen.verdict(window).to_owned(),
        ]);
    }
    let columns = ["server", "in flight", "replies", "syncs", "replies between two syncs, most", "verdict"];
    let note = "System calls of all processes of a server, by strace, in runs that are not timed. RFC 2136 3.5 wants an update on stable \
                storage before the reply; of updates in flight together all may be kept by one sync.";
    lab.record.tables.push(table("Kept before the reply?", &columns, rows, note));
    Ok(())
}

fn check_one(lab: &mut Lab, name: Name, window: u64, place: &Place) -> Result<honesty::Seen, Error> {
    let trace = lab.folder("strace")?.join(format!("{}-{window}", name.text()));
    let mut subject = lab.subject_as(name, 1, Role::Dynamic { is_signed: true });
    subject.under = honesty::tracer(&trace);
    let mut taker = lab.start_taker(Some(&subject), &place.set.zones)?;
    let window = window.to_string();
    let words = ["--update-rate", "max", "--update-window", &window, "--count", CHECKED];
    let mut words = words.map(str::to_owned).to_vec();
    words.extend(["--seconds", CHECKED_SECONDS, "--update-timeout-ms", TIMEOUT_MS].map(str::to_owned));
    words.extend(key_words(true));
    let result = lab.update(&mut taker, &place.updates, &words);
    end_traced(&mut taker);
    result?;
    let text = std::fs::read_to_string(&trace).map_err(error::file(&trace, "read"))?;
    Ok(honesty::read(&text))
}

/// Ends the server below the tracer, which ends by itself then; what it traced is whole.
fn end_traced(taker: &mut Taker) {
    let process = taker.process();
    let (_, below) =
        process.pids().split_first().map_or((0, Vec::new()), |(first, rest)| (*first, rest.to_vec()));
    below.iter().for_each(|&pid| process::signal(pid, Signal::TERM));
    // Ending is in the tracer's hands: look for as long as a server may take by itself.
    for _ in 0..400 {
        if process.ended().is_some() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}
