//! Queries beside so many updates a second (figure 4 of the paper of 2006).
//!
//! Each run has one server, started for it, which is asked at every rate of updates in turn, from none up: with as many queries
//! as it answers, then with half of what it answered without updates. The second shows what is lost, and what processor time
//! updates take: the same queries with them, and without them directly before, as a machine changes its pace within seconds.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};

use super::{LIMIT, Taker, failures, key_words, script::Script};
use crate::{
    Error, contender,
    data::Set,
    experiment::{
        Lab, Mark, Marked, Values, interval_text, rates, runs, table,
        validity::{self, Heard, gather_fields},
    },
    known::Known,
    recipe::{Case, Name},
    record::{Chart, Figure, Role, Series},
    statistics,
};

/// The load at which queries must not be lost, as share of what is answered without updates.
const HALF: f64 = 0.5;

/// A kind of run: a server with so many workers.
struct Way {
    /// The limit program without.
    name: Option<Name>,
    case: usize,
    workers: usize,
}

struct Place {
    case: Case,
    set: Set,
    script: Script,
}

/// Names of metrics.
const OF_NONE: &str = "rate over none";
const CPU: &str = "CPU an update";
const BEYOND: &str = "CPU an update beyond the limit program";
const LOST: &str = "lost at half load";
const LOST_MORE: &str = "queries lost at half load";

#[derive(Default)]
struct Found {
    rates: Values,
    /// Rates with updates over those without, in the same run.
    ratios: Values,
    lost: Values,
    /// As queries, beside how many were lost without updates in the same seconds.
    lost_queries: Values,
    cpu: Values,
    accepted: Values,
    /// Updates refused or lost, of all runs.
    failed: BTreeMap<(String, String), u64>,
}

gather_fields!(Found: rates, ratios, lost, lost_queries, cpu, accepted, failed);

/// Measures all contenders with all rates of updates.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let names = lab.able(contender::Role::Dynamic { is_signed: true }, "");
    if names.is_empty() {
        return Err(Error::Nobody);
    }
    let paces: Vec<u32> = [0].into_iter().chain(lab.recipe.changes.rates.clone()).collect();
    let mut places = places(lab, &paces)?;
    let counts = rates::workers(lab);
    let mut ways = Vec::new();
    for (case, &workers) in (0..places.len()).flat_map(|case| counts.iter().map(move |count| (case, count))) {
        ways.extend(names.iter().map(|&name| Way { name: Some(name), case, workers }));
    }
    ways.push(Way { name: None, case: 0, workers: 1 });
    let labels: Vec<String> = ways.iter().map(|way| label(lab, way)).collect();
    let mut found = Found::default();
    runs::alternate(lab, &labels, |lab, which, round| {
        let way = &ways[which];
        let place = &mut places[way.case];
        let label = format!("{}, round {round}", labels[which]);
        validity::gathered(lab, &label, round, &mut found, |lab, found| {
            place.script.rewind();
            match way.name {
                Some(name) => measure(lab, name, way.workers, place, &paces, round, found),
                None => measure_limit(lab, place, &paces, round, found).map(|()| Heard::default()),
            }
        })
        .map(drop)
    })?;
    let cases: Vec<String> = places.into_iter().map(|place| place.case.name).collect();
    let order: Vec<String> = names.iter().map(|name| name.text().to_owned()).collect();
    let Found { rates, ratios, lost, lost_queries, cpu, accepted, .. } = &mut found;
    for values in [rates, ratios, lost, lost_queries, cpu, accepted] {
        values.arrange(&order);
    }
    for (case, &workers) in cases.iter().flat_map(|case| counts.iter().map(move |count| (case, count))) {
        report(lab, &names, &paces, (case, workers), &found);
    }
    report_limit(lab, &paces, &found);
    runs::change_targets(lab, CPU, |metric, who, at| match metric {
        CPU => found.cpu.marked(who, at),
        BEYOND => beyond(&found, who, at, rate_of(&paces, at)),
        LOST => found.lost.marked(who, at),
        LOST_MORE => found.lost_queries.marked(who, at),
        OF_NONE => found.ratios.marked(who, at),
        _ => Vec::new(),
    });
    Ok(())
}

fn label(lab: &Lab, way: &Way) -> String {
    let who = way.name.map_or(LIMIT, Name::text);
    let workers =
        if lab.recipe.workers.len() > 1 { format!(", {} workers", way.workers) } else { String::new() };
    format!("{who}{workers}")
}

/// `10,000 records, 2 workers, 100 updates/s`.
fn at(lab: &Lab, case: &str, workers: usize, rate: u32) -> String {
    let mut parts = Vec::new();
    if lab.recipe.cases.len() > 1 {
        parts.push(case.to_owned());
    }
    if lab.recipe.workers.len() > 1 {
        parts.push(format!("{workers} {}", if workers == 1 { "worker" } else { "workers" }));
    }
    parts.push(rate_text(rate));
    parts.join(", ")
}

fn rate_text(rate: u32) -> String {
    if rate == 0 { "no updates".to_owned() } else { format!("{rate} updates/s") }
}

/// The rate of updates of a place, which ends with it.
fn rate_of(paces: &[u32], at: &str) -> u32 {
    paces.iter().copied().find(|&rate| at.rsplit(", ").next() == Some(&rate_text(rate))).unwrap_or(0)
}

/// Processor time of an update less that of the limit program at the same rate in the same round.
fn beyond(found: &Found, who: &str, at: &str, rate: u32) -> Vec<Marked> {
    runs::less(&found.cpu.marked(who, at), &found.cpu.marked(LIMIT, &rate_text(rate)))
}

/// Updates of a run: somewhat more than are sent, as a generator that was late sends what is due.
fn updates_of(rate: u32, seconds: f64) -> usize {
    (f64::from(rate) * (seconds + 2.0)).ceil() as usize
}

fn places(lab: &mut Lab, rates: &[u32]) -> Result<Vec<Place>, Error> {
    let seconds = lab.effort.run_seconds;
    let count: usize = rates.iter().map(|&rate| 2 * updates_of(rate, seconds)).sum();
    let mut places = Vec::new();
    for case in lab.recipe.cases.clone() {
        let set = lab.set(&case)?;
        let script = Script::read(&lab.updates(&set.zones, count)?)?;
        places.push(Place { case, set, script });
    }
    Ok(places)
}

fn measure(
    lab: &mut Lab,
    name: Name,
    workers: usize,
    place: &mut Place,
    rates: &[u32],
    round: usize,
    found: &mut Found,
) -> Result<Heard, Error> {
    let subject = lab.subject_as(name, workers, contender::Role::Dynamic { is_signed: true });
    let mut server = lab.start(&subject, &place.set.zones)?;
    lab.warm(&mut server, &place.set.queries)?;
    let mut taker = Taker::Server(server);
    let (seconds, who) = (lab.effort.run_seconds, name.text());
    let (mut half, mut alone, mut heard) = (0.0, (0.0, Known::Exactly), Heard::default());
    let of_round = Mark::in_round(round);
    for &rate in rates {
        let at = at(lab, &place.case.name, workers, rate);
        let (window, flows) = (lab.effort.window.to_string(), lab.effort.flows.to_string());
        let length = seconds.to_string();
        let closed =
            ["--closed", &window, "--seconds", &length, "--flows", &flows, "--trains"].map(str::to_owned);
        let busy = beside(lab, &mut taker, place, rate, &closed)?;
        let answered = busy["outcome"]["answers_per_second"].as_f64().unwrap_or(0.0);
        let known = validity::known_of(&busy["outcome"]);
        if rate == 0 {
            (half, alone) = ((answered * HALF).max(1.0), (answered, known));
        } else {
            let of_ratio = of_round.known(known.over(alone.1));
            found.ratios.push_marked(who, &at, answered / alone.0.max(1e-9), of_ratio);
        }
        found.rates.push_marked(who, &at, answered, of_round.known(known));
        let pace = half.to_string();
        let open = ["--rate", &pace, "--seconds", &length, "--flows", &flows].map(str::to_owned);
        let mut at_half = |rate: u32| -> Result<(Value, f64), Error> {
            let before = taker.process().cpu_fine();
            let calm = beside(lab, &mut taker, place, rate, &open)?;
            Ok((calm, taker.process().cpu_fine() - before))
        };
        let without = if rate == 0 { None } else { Some(at_half(0)?) };
        let (calm, cpu) = at_half(rate)?;
        found.lost.push_at(who, &at, round, lost_share(&calm["outcome"]));
        found.lost_queries.push_at(who, &at, round, calm["outcome"]["lost"].as_f64().unwrap_or(0.0));
        let accepted = calm["updates"]["accepted"].as_f64().unwrap_or(0.0);
        // What is lost at half of the rate is a result.
        heard = heard.and(Heard::of(&calm["outcome"], false));
        if let Some((without, cpu_without)) = &without {
            heard = heard.and(Heard::of(&without["outcome"], false));
            let planned = calm["updates"]["planned"].as_f64().unwrap_or(1.0);
            found.accepted.push_at(who, &at, round, accepted / planned.max(1.0));
            // Of few updates it may be less than nothing: what queries take differs by more from run to run.
            let more = cpu_more(cpu, &calm, *cpu_without, without) * 1e6;
            found.cpu.push_at(who, &at, round, more / accepted.max(1.0));
            *found.failed.entry((who.to_owned(), at.clone())).or_default() +=
                failures(&calm["updates"]) + failures(&busy["updates"]);
        }
        lab.record.raw.push(json!({
            "dynamic": who, "at": at, "run": round, "busy": busy["outcome"], "busy_updates": busy["updates"],
            "half_rate": half, "half": calm["outcome"], "half_updates": calm["updates"], "half_cpu_seconds": cpu,
            "half_without": without.as_ref().map(|(outcome, _)| &outcome["outcome"]),
            "half_without_cpu_seconds": without.as_ref().map(|(_, cpu)| *cpu),
        }));
    }
    Ok(heard)
}

/// Seconds of processor time that a run took more than the one without updates, for as many answers.
fn cpu_more(cpu: f64, with: &Value, cpu_without: f64, without: &Value) -> f64 {
    let answers = |outcome: &Value| outcome["outcome"]["received"].as_f64().unwrap_or(0.0).max(1.0);
    cpu - cpu_without * answers(with) / answers(without)
}

/// Share of the queries without an answer.
fn lost_share(outcome: &Value) -> f64 {
    let number = |part: &str| outcome[part].as_f64().unwrap_or(0.0);
    number("lost") / number("sent").max(1.0)
}

/// Queries with updates beside them.
fn beside(
    lab: &Lab,
    taker: &mut Taker,
    place: &mut Place,
    rate: u32,
    words: &[String],
) -> Result<Value, Error> {
    let mut words = words.to_vec();
    if rate > 0 {
        words.extend(update_words(lab, &mut place.script, rate)?);
        words.extend(key_words(true));
    }
    lab.load_with_updates(taker, &place.set.queries, &words)
}

/// Options of a stream of the next updates at that rate.
fn update_words(lab: &Lab, script: &mut Script, rate: u32) -> Result<Vec<String>, Error> {
    let part = part(lab, script, rate)?;
    let (part, rate) = (part.display().to_string(), rate.to_string());
    let timeout = lab.effort.update_timeout_ms.to_string();
    let words = ["--updates", &part, "--update-rate", &rate, "--update-timeout-ms", &timeout];
    Ok(words.map(str::to_owned).to_vec())
}

fn part(lab: &Lab, script: &mut Script, rate: u32) -> Result<std::path::PathBuf, Error> {
    let part = lab.folder("updates")?.join("part");
    script.part(updates_of(rate, lab.effort.run_seconds), &part)?;
    Ok(part)
}

/// What the limit program takes for an update at each rate; it has no queries beside it.
fn measure_limit(
    lab: &mut Lab,
    place: &mut Place,
    rates: &[u32],
    round: usize,
    found: &mut Found,
) -> Result<(), Error> {
    let mut limit = lab.start_taker(None, &place.set.zones)?;
    for &rate in rates.iter().filter(|&&rate| rate > 0) {
        let part = part(lab, &mut place.script, rate)?;
        let cpu = limit_cpu(lab, &mut limit, &part, rate)?;
        found.cpu.push_at(LIMIT, &rate_text(rate), round, cpu);
    }
    Ok(())
}

/// Microseconds of processor time an update.
fn limit_cpu(lab: &mut Lab, limit: &mut Taker, part: &Path, rate: u32) -> Result<f64, Error> {
    let (pace, seconds) = (rate.to_string(), lab.effort.run_seconds.to_string());
    let timeout = lab.effort.update_timeout_ms.to_string();
    let words = ["--update-rate", &pace, "--seconds", &seconds, "--update-timeout-ms", &timeout];
    let before = limit.process().cpu_fine();
    let result = lab.update(limit, part, &words.map(str::to_owned))?;
    let cpu = limit.process().cpu_fine() - before;
    lab.record.raw.push(json!({ "limit_at": rate, "cpu_seconds": cpu, "updates": result }));
    Ok(cpu * 1e6 / result["accepted"].as_f64().unwrap_or(0.0).max(1.0))
}

fn report(lab: &mut Lab, names: &[Name], rates: &[u32], (case, workers): (&str, usize), found: &Found) {
    let places: Vec<String> = rates.iter().map(|&rate| at(lab, case, workers, rate)).collect();
    let (mut rows, mut series, mut beyonds) = (Vec::new(), Vec::new(), Values::default());
    for name in names.iter().map(|name| name.text()) {
        for (place, &rate) in places.iter().zip(rates) {
            rows.extend(row(name, place, rate, found));
            for (value, mark) in beyond(found, name, place, rate) {
                beyonds.push_marked(name, place, value, mark);
            }
        }
        let points = places.iter().enumerate();
        let points = points.filter_map(|(x, at)| found.rates.point(x as f64, name, at));
        series.push(Series { name: name.to_owned(), role: Role::Measured, points: points.collect() });
    }
    let mut title = format!("Queries beside updates: {case}");
    if lab.recipe.workers.len() > 1 {
        title += &format!(", {workers} {}", if workers == 1 { "worker" } else { "workers" });
    }
    let columns = [
        "server",
        "updates",
        "queries/s",
        "of none",
        "95 %",
        "lost at half load %",
        "lost, queries",
        "accepted %",
        "CPU us an update",
        "beyond limit us",
        "95 %",
        "failed",
    ];
    let note = "Accepted, lost and processor time at half of the rate without updates. Processor time: with updates less without, in runs directly one after the other, \
                divided by the updates accepted; of few updates it is uncertain, as its interval says. Beyond limit: less what the limit program takes at the same rate. \
                Failed: updates refused or not answered.";
    lab.record.tables.push(table(&title, &columns, rows, note));
    lab.record.charts.push(Chart::bars(
        title,
        "queries a second",
        rates.iter().map(|&rate| rate_text(rate)).collect(),
        series,
    ));
    let is_here = |figure: &Figure| figure.contender != LIMIT && places.contains(&figure.at);
    let keep = |figures: Vec<Figure>| figures.into_iter().filter(is_here).collect::<Vec<_>>();
    let record = &mut lab.record;
    record.figures.extend(keep(found.rates.figures("rate", "/s", true)));
    record.figures.extend(keep(found.ratios.figures(OF_NONE, "", true)));
    record.figures.extend(keep(found.lost.figures(LOST, "", false)));
    record.figures.extend(keep(found.accepted.figures("updates accepted", "", true)));
    record.figures.extend(keep(found.cpu.figures(CPU, "us", false)));
    record.figures.extend(beyonds.figures(BEYOND, "us", false));
}

/// Processor time of the limit program, at places of its own, as it has no queries beside it.
fn report_limit(lab: &mut Lab, rates: &[u32], found: &Found) {
    let mut alone = Values::default();
    for at in rates.iter().map(|&rate| rate_text(rate)) {
        found.cpu.of(LIMIT, &at).iter().for_each(|&value| alone.push(LIMIT, &at, value));
    }
    lab.record.figures.extend(alone.figures(CPU, "us", false));
}

/// A row of the table; none where there are no values.
fn row(name: &str, place: &str, rate: u32, found: &Found) -> Option<Vec<String>> {
    let median = |values: &Values| {
        Some(values.of(name, place)).filter(|values| !values.is_empty()).map(statistics::median)
    };
    let text = |value: Option<f64>, digits: usize| {
        value.map_or_else(String::new, |value| format!("{value:.digits$}"))
    };
    let queries = median(&found.rates)?;
    let mut alone = Values::default();
    for (value, mark) in beyond(found, name, place, rate) {
        alone.push_marked(name, place, value, mark);
    }
    let beyond = alone.figures("", "", false).pop();
    let figures = found.ratios.figures("", "", true);
    let ratio = figures.iter().find(|figure| figure.contender == name && figure.at == place);
    let failed = found.failed.get(&(name.to_owned(), place.to_owned()));
    let interval = |figure: Option<&Figure>, digits| {
        figure.map_or_else(String::new, |figure| interval_text(figure, digits))
    };
    Some(vec![
        name.to_owned(),
        rate_text(rate),
        format!("{}{queries:.0}", found.rates.known(name, place).sign()),
        ratio.map_or_else(|| "1".to_owned(), |ratio| format!("{}{:.3}", ratio.known().sign(), ratio.median)),
        interval(ratio, 3),
        text(median(&found.lost).map(|share| share * 100.0), 2),
        text(median(&found.lost_queries), 0),
        text(median(&found.accepted).map(|share| share * 100.0), 1),
        text(median(&found.cpu), 1),
        text(beyond.as_ref().map(|beyond| beyond.median), 1),
        interval(beyond.as_ref(), 1),
        failed.map_or_else(String::new, u64::to_string),
    ])
}
