//! What resolvers came to: figures, tables beside the paper's, charts over the share of hits.

use super::{
    super::{Lab, Values, interval_text, point, runs, table},
    Found, RELAY, Spot,
};
use crate::{
    published,
    recipe::{Name, Skew},
    record::{Chart, ChartKind, Figure, Role, Series, Table},
    statistics,
};

/// Adds all that was found to the record.
pub fn report(lab: &mut Lab, spots: &[Spot], found: &Found) {
    let beside = beside_published(&lab.recipe.name, spots, found);
    let record = &mut lab.record;
    let figures = [
        (&found.rates, "rate", "/s", true),
        (&found.shares, "share of relay", "", true),
        (&found.user, "user CPU", "us", false),
        (&found.system, "system CPU", "us", false),
        (&found.hits, "hits", "%", true),
        (&found.upstream, "upstream queries a query", "", false),
        (&found.pss, "PSS", "octets", false),
    ];
    for (values, metric, unit, more_is_better) in figures {
        record.figures.extend(values.figures(metric, unit, more_is_better));
    }
    record.tables.extend(beside);
    record.tables.extend(spots.iter().map(|spot| spot_table(spot, found)));
    let has_threads = spots.iter().any(|spot| spot.workers > 1);
    record.charts.extend(over_hits(spots, found));
    if has_threads {
        record.charts.extend(over_workers(spots, found));
    }
    let places: Vec<String> = spots.iter().map(|spot| spot.at.clone()).collect();
    record.charts.push(found.shares.bars("Share of the relay's rate", "share", &places, false));
    for (values, part) in [(&found.user, "in the program (user)"), (&found.system, "in the kernel (system)")]
    {
        let title = format!("Processor time an answer, {part}");
        record.charts.push(values.bars(&title, "microseconds", &places, false));
    }
    runs::change_targets(lab, "rate", |metric, who, at| {
        let who = if who == Name::Echo.text() { RELAY } else { who };
        match metric {
            "rate" => found.rates.of(who, at),
            "share of relay" => found.shares.of(who, at),
            "user CPU" => found.user.of(who, at),
            "upstream queries a query" => found.upstream.of(who, at),
            _ => &[],
        }
        .to_vec()
    });
}

/// All that was found at a spot.
fn spot_table(spot: &Spot, found: &Found) -> Table {
    let [rates, shares] = [&found.rates, &found.shares].map(|values| values.figures("", "", true));
    let median = |values: &Values, who: &str| statistics::median(values.of(who, &spot.at));
    let row = |figure: &Figure| {
        let who = figure.contender.as_str();
        let share = shares.iter().find(|share| share.contender == who && share.at == spot.at);
        vec![
            who.to_owned(),
            format!("{:.0}", figure.median),
            share.map_or_else(|| "1".to_owned(), |share| format!("{:.3}", share.median)),
            share.map_or_else(String::new, |share| interval_text(share, 3)),
            format!("{:.2}", median(&found.user, who)),
            format!("{:.2}", median(&found.system, who)),
            format!("{:.2}", median(&found.hits, who)),
            format!("{:.4}", median(&found.upstream, who)),
            format!("{:.1}", median(&found.pss, who) / f64::from(1 << 20)),
        ]
    };
    let rows = rates.iter().filter(|figure| figure.at == spot.at).map(row).collect();
    let title = if spot.at.is_empty() { spot.case.name.clone() } else { spot.at.clone() };
    let columns =
        ["resolver", "rate/s", "of relay", "95 %", "user us", "system us", "hits %", "upstream", "PSS MiB"];
    let note = "Processor time is by answer; hits and queries to upstreams by query are those that the authoritative servers counted.";
    table(&title, &columns, rows, note)
}

/// Rates by hits, the published ones of the same share in the same row.
fn beside_published(recipe: &str, spots: &[Spot], found: &Found) -> Option<Table> {
    let theirs = published::of(recipe).into_iter().flat_map(|published| published.tables).next();
    let mut columns = vec!["hits".to_owned()];
    let who: Vec<(&str, usize)> = found
        .rates
        .contenders()
        .into_iter()
        .flat_map(|name| workers_of(spots).into_iter().map(move |workers| (name, workers)))
        .collect();
    let has_threads = workers_of(spots).len() > 1;
    columns.extend(who.iter().map(|&(name, workers)| match has_threads {
        true => format!("{name}, {workers}"),
        false => name.to_owned(),
    }));
    if let Some(theirs) = &theirs {
        columns.extend(theirs.columns.iter().skip(1).map(|column| format!("2006: {column}")));
    }
    let mut rows = Vec::new();
    for first in
        spots.iter().filter(|spot| spot.workers == spots[0].workers && spot.case.skew == Skew::Uniform)
    {
        let hits = format!("{:.0} %", first.hits * 100.0);
        let mut row = vec![hits.clone()];
        row.extend(who.iter().map(|&(name, workers)| {
            let spot = spots.iter().find(|spot| spot.case.name == first.case.name && spot.workers == workers);
            let median =
                spot.map_or(0.0, |spot| statistics::median_of_logarithms(found.rates.of(name, &spot.at)));
            if median > 0.0 { format!("{median:.0}") } else { "-".to_owned() }
        }));
        if let Some(theirs) = &theirs {
            let same = theirs.rows.iter().find(|row| row[0] == hits);
            row.extend(
                (1..theirs.columns.len())
                    .map(|at| same.map_or_else(|| "-".to_owned(), |row| row[at].clone())),
            );
        }
        rows.push(row);
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let note = "The published rates are those of machines of 2006: how they fall from row to row compares, the numbers do not.";
    (!rows.is_empty()).then(|| table("Queries a second by hits, beside the paper's", &columns, rows, note))
}

/// Numbers of workers, each once.
fn workers_of(spots: &[Spot]) -> Vec<usize> {
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
            points: meant.iter().filter_map(|spot| point(x(spot), found.rates.of(name, &spot.at))).collect(),
        };
        found.rates.contenders().into_iter().map(line).collect()
    };
    (meant.len() > 1).then(|| Chart {
        title: "Rate that half of all trials hold, by hits".to_owned(),
        kind: ChartKind::Lines,
        x_label: "hits, %".to_owned(),
        y_label: "queries a second".to_owned(),
        y_log: false,
        categories: Vec::new(),
        series: lines(&|spot| spot.hits * 100.0, &meant),
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
                .filter_map(|spot| point(spot.workers as f64, found.rates.of(name, &spot.at)))
                .collect(),
        };
        Chart {
            title: format!("Rate by workers: {}", first.case.name),
            kind: ChartKind::Lines,
            x_label: "workers".to_owned(),
            y_label: "queries a second".to_owned(),
            y_log: false,
            categories: Vec::new(),
            series: found.rates.contenders().into_iter().map(line).collect(),
        }
    };
    cases.map(chart).collect()
}
