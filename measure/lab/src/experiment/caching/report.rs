//! What resolvers came to: figures, tables, charts over the share of hits; [`super::beside`] has those beside the paper's.

use super::{
    super::{Lab, Values, rated::COLUMNS, runs, table},
    Found, RELAY, Spot, beside, fit,
};
use crate::{
    recipe::{Name, Skew},
    record::{Chart, Role, Series, Table},
    statistics,
};

/// Adds all that was found to the record.
pub fn report(lab: &mut Lab, spots: &[Spot], found: &Found) {
    let costs = fit::costs(spots, found);
    let mut tables = beside::tables(&lab.recipe.name, spots, found);
    tables.extend(fit::cost_table(&costs));
    let record = &mut lab.record;
    record.figures.extend(found.rated.figures(RELAY));
    record.figures.extend(found.hits.figures("hits", "%", true));
    record.figures.extend(found.upstream.figures("upstream queries a query", "", false));
    for (values, metric) in costs.of.iter().zip(fit::METRICS) {
        record.figures.extend(values.figures(metric, "us", false));
    }
    record.tables.extend(tables);
    record.tables.extend(spots.iter().map(|spot| spot_table(spot, found)));
    let has_threads = spots.iter().any(|spot| spot.workers > 1);
    record.charts.extend(over_hits(spots, found));
    if has_threads {
        record.charts.extend(over_workers(spots, found));
    }
    let places: Vec<String> = spots.iter().map(|spot| spot.at.clone()).collect();
    record.charts.push(found.rated.shares.bars("Share of the relay's rate", "share", &places, false));
    record.charts.extend(found.rated.cpu_charts(&places));
    runs::change_targets(lab, "rate", |metric, who, at| {
        let is_limit = who == Name::Echo.text();
        match metric {
            "rate" if is_limit => found.limits.marked(RELAY, at),
            "rate" => found.rated.rates.marked(who, at),
            "share of relay" => found.rated.shares.marked(who, at),
            "user CPU" => found.rated.user.marked(who, at),
            "upstream queries a query" => found.upstream.marked(who, at),
            _ => fit::METRICS
                .iter()
                .position(|known| *known == metric)
                .map_or_else(Vec::new, |part| costs.of[part].marked(who, at)),
        }
    });
}

/// All that was found at a spot.
fn spot_table(spot: &Spot, found: &Found) -> Table {
    let median = |values: &Values, who: &str| statistics::median(values.of(who, &spot.at));
    let more = |who: &str| {
        vec![
            format!("{:.2}", median(&found.hits, who)),
            format!("{:.4}", median(&found.upstream, who)),
            found.rated.mib(who, &spot.at),
            format!("{:.0}", median(&found.busy, who)),
            format!("{:.0}", median(&found.busy_load, who)),
        ]
    };
    let rows = found.rated.rows(&spot.at, more);
    let title = if spot.at.is_empty() { spot.case.name.clone() } else { spot.at.clone() };
    let columns =
        [&["resolver"][..], &COLUMNS, &["hits %", "upstream", "PSS MiB", "core %", "other core %"]].concat();
    let note = "Processor time is by answer; hits and queries to upstreams by query are those that the authoritative servers counted. Core: how busy the resolver's was in trials that held their rate; \
                other core: the generator's. Where that is the busier one it was the limit, and the resolver may be faster than shown.";
    table(&title, &columns, rows, note)
}

/// Numbers of workers, each once.
pub fn workers_of(spots: &[Spot]) -> Vec<usize> {
    let mut all: Vec<usize> = spots.iter().map(|spot| spot.workers).collect();
    all.dedup();
    all
}

/// Rates over the share of hits, for the least number of workers; nothing where it does not vary.
fn over_hits(spots: &[Spot], found: &Found) -> Option<Chart> {
    let meant: Vec<&Spot> = spots
        .iter()
        .filter(|spot| spot.workers == spots[0].workers && spot.case.skew == Skew::Uniform)
        .collect();
    let lines = |x: &dyn Fn(&Spot) -> f64, meant: &[&Spot]| -> Vec<Series> {
        let line = |name: &str| Series {
            name: name.to_owned(),
            role: Role::Measured,
            points: meant
                .iter()
                .filter_map(|spot| found.rated.rates.point(x(spot), name, &spot.at))
                .collect(),
        };
        found.rated.rates.contenders().into_iter().map(line).collect()
    };
    (meant.len() > 1).then(|| {
        Chart::lines(
            "Rate that half of all trials hold, by hits",
            ["hits, %", "queries a second"],
            lines(&|spot| spot.hits * 100.0, &meant),
        )
    })
}

/// Rates over workers, a chart for each case.
fn over_workers(spots: &[Spot], found: &Found) -> Vec<Chart> {
    let cases = spots.iter().filter(|spot| spot.workers == spots[0].workers);
    let chart = |first: &Spot| {
        let meant: Vec<&Spot> = spots.iter().filter(|spot| spot.case.name == first.case.name).collect();
        let line = |name: &str| Series {
            name: name.to_owned(),
            role: Role::Measured,
            points: meant
                .iter()
                .filter_map(|spot| found.rated.rates.point(spot.workers as f64, name, &spot.at))
                .collect(),
        };
        Chart::lines(
            format!("Rate by workers: {}", first.case.name),
            ["workers", "queries a second"],
            found.rated.rates.contenders().into_iter().map(line).collect(),
        )
    };
    cases.map(chart).collect()
}
