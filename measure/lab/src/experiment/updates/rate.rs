//! Updates as fast as they are accepted (section 6 of ISC-TN-2008-1), so many in flight, signed and not, of one zone and of many.
//!
//! In each round every way has one run, in random order, with a server that was started for it; in the same round are runs
//! of the limit program, which keeps each update and does nothing else, and of the disk alone.

use std::collections::BTreeMap;

use serde_json::json;

use super::{DISK, LIMIT, Place, failures, honesty, kept, key_words};
use crate::{
    Error,
    contender::Role,
    experiment::{
        Lab, Marked, Values, interval_text,
        runs::{self, Pair},
        table,
        validity::{self, Heard, gather_fields},
    },
    recipe::Name,
    record::Figure,
    statistics,
};

/// What an update took beside a write of the disk, the metric's name.
const BEYOND: &str = "p50 beyond a write";
/// When an update counts as lost: Knot answers when it has applied all that came before.
const TIMEOUT_MS: &str = "10000";

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
    disk_rates: Values,
    disk_medians: Values,
    /// Of the limit program, at places that are numbers in flight.
    limit_rates: Values,
    limit_medians: Values,
    limit_cpu: Values,
}

gather_fields!(Found: rates, medians, slow, cpu, failed, disk_rates, disk_medians, limit_rates, limit_medians, limit_cpu);

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
            let label = format!("{DISK}, round {round}");
            validity::gathered(lab, &label, round, &mut found, measure_disk)?;
        }
        let label = format!("{}, round {round}", labels[which]);
        validity::gathered(lab, &label, round, &mut found, |lab, found| {
            measure(lab, &ways[which], &places, round, found)
        })
        .map(drop)
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

fn measure_disk(lab: &mut Lab, found: &mut Found) -> Result<Heard, Error> {
    let disk = lab.disk()?;
    found.disk_rates.push(DISK, "", disk.rate);
    found.disk_medians.push(DISK, "", disk.median_us);
    Ok(Heard::default())
}

fn measure(
    lab: &mut Lab,
    way: &Way,
    places: &[Place],
    round: usize,
    found: &mut Found,
) -> Result<Heard, Error> {
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
        let at = way.window.to_string();
        found.limit_rates.push(LIMIT, &at, rate);
        found.limit_medians.push(LIMIT, &at, median);
        found.limit_cpu.push(LIMIT, &at, cpu);
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
    // As fast as they are accepted: there is no schedule, and what was lost is told beside the rate.
    Ok(Heard::default())
}

/// What the limit program did stands at every place with so many in flight.
fn beside_limit(ways: &[Way], places: &[Place], found: &mut Found) {
    for way in ways.iter().filter(|way| way.name.is_some()) {
        let at = at(&places[way.case].name, way);
        if !found.rates.of(LIMIT, &at).is_empty() || !way_has_values(found, way, &at) {
            continue;
        }
        let window = way.window.to_string();
        for (values, limit) in [
            (&mut found.rates, &found.limit_rates),
            (&mut found.medians, &found.limit_medians),
            (&mut found.cpu, &found.limit_cpu),
        ] {
            for (value, mark) in limit.of(LIMIT, &window).iter().zip(limit.marks(LIMIT, &window)) {
                values.push_marked(LIMIT, &at, *value, *mark);
            }
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
        for (value, mark) in values.marked(DISK, "") {
            alone.push_marked(what, "", value, mark);
        }
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
    let disk_us = statistics::median(found.disk_medians.of(DISK, ""));
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

/// Medians less that of a write of the disk alone in the same round, where both count.
fn beyond(found: &Found, who: &str, at: &str) -> Vec<Marked> {
    runs::less(&found.medians.marked(who, at), &found.disk_medians.marked(DISK, ""))
}

/// Looks whether updates are kept before they are answered.
fn check(lab: &mut Lab, names: &[Name], places: &[Place]) -> Result<(), Error> {
    let note = "System calls of all processes of a server, by strace, in runs that are not timed. RFC 2136 3.5 wants an update on stable \
                storage before the reply; of updates in flight together all may be kept by one sync.";
    kept::check(lab, names, note, |lab, name, window| check_one(lab, name, window, &places[0]))
}

fn check_one(lab: &mut Lab, name: Name, window: u64, place: &Place) -> Result<honesty::Seen, Error> {
    let trace = lab.folder("strace")?.join(format!("{}-{window}", name.text()));
    let mut subject = lab.subject_as(name, 1, Role::Dynamic { is_signed: true });
    subject.under = honesty::tracer(&trace);
    let mut taker = lab.start_taker(Some(&subject), &place.set.zones)?;
    let window = window.to_string();
    let words = ["--update-rate", "max", "--update-window", &window, "--count", kept::COUNT];
    let mut words = words.map(str::to_owned).to_vec();
    words.extend(["--seconds", kept::SECONDS, "--update-timeout-ms", TIMEOUT_MS].map(str::to_owned));
    words.extend(key_words(true));
    let result = lab.update(&mut taker, &place.updates, &words);
    kept::end_traced(&mut taker);
    result?;
    kept::read(&trace, honesty::Replies::Updates)
}
