//! Rates as figures, tables and charts.

use super::{
    super::{Lab, Values, interval_text, latency, point, table},
    Found, Spot,
};
use crate::{
    recipe::Name,
    record::{Chart, ChartKind, Figure, Point, Role, Series, Table},
    statistics,
};

/// What one processor more shall bring, of the rate of one: the line that the paper drew.
const TARGET_SHARE: f64 = 0.5;

/// Adds all that was found to the record.
pub fn report(lab: &mut Lab, spots: &[Spot], found: &Found) {
    let record = &mut lab.record;
    record.figures.extend(found.rates.figures("rate", "/s", true));
    record.figures.extend(found.shares.figures("share of echo", "", true));
    record.figures.extend(found.user.figures("user CPU", "us", false));
    record.figures.extend(found.system.figures("system CPU", "us", false));
    record.figures.extend(found.pss.figures("PSS", "octets", false));
    let places: Vec<String> = spots.iter().map(|spot| spot.at.clone()).collect();
    for spot in spots {
        record.tables.push(rate_table(spot, found));
    }
    let title = "Rate that half of all trials hold";
    if spots.iter().any(|spot| spot.workers > 1) {
        for case in &lab.recipe.cases {
            let of_case: Vec<&Spot> = spots.iter().filter(|spot| spot.case.name == case.name).collect();
            record.charts.push(scaling(&format!("{title}: {}", case.name), &of_case, found));
        }
    } else {
        record.charts.push(found.rates.bars(title, "queries a second", &places, false));
        record.charts.push(found.shares.bars("Share of the echo server's rate", "share", &places, false));
    }
    for (values, part) in [(&found.user, "in the program (user)"), (&found.system, "in the kernel (system)")]
    {
        let title = format!("Processor time an answer, {part}");
        record.charts.push(values.bars(&title, "microseconds", &places, false));
    }
    found.latencies.iter().for_each(|latency| latency::report(lab, latency));
}

fn rate_table(spot: &Spot, found: &Found) -> Table {
    let rates = found.rates.figures("", "", true);
    let shares = found.shares.figures("", "", true);
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
            format!("{:.1}", median(&found.pss, who) / f64::from(1 << 20)),
        ]
    };
    let rows = rates.iter().filter(|figure| figure.at == spot.at).map(row).collect();
    let title = if spot.at.is_empty() { spot.case.name.clone() } else { spot.at.clone() };
    let columns = ["server", "rate/s", "of echo", "95 %", "user us", "system us", "PSS MiB"];
    table(&title, &columns, rows, "Processor time is by answer; memory is that at the end of a block.")
}

/// Rates over workers, with the line that the paper drew: half the rate of one worker for each one more.
fn scaling(title: &str, spots: &[&Spot], found: &Found) -> Chart {
    let mut series = Vec::new();
    for name in found.rates.contenders() {
        let points =
            spots.iter().filter_map(|spot| point(spot.workers as f64, found.rates.of(name, &spot.at)));
        let points: Vec<Point> = points.collect();
        if let Some(first) = points.first().filter(|first| first.x == 1.0 && name == Name::Zonda.text()) {
            let goal = |point: &Point| Point {
                y: first.y * (1.0 + TARGET_SHARE * (point.x - 1.0)),
                low: None,
                high: None,
                ..*point
            };
            let points = points.iter().map(goal).collect();
            series.push(Series {
                name: "zonda's one worker, +50 % for each more".to_owned(),
                role: Role::Target,
                points,
            });
        }
        series.push(Series { name: name.to_owned(), role: Role::Measured, points });
    }
    Chart {
        title: title.to_owned(),
        kind: ChartKind::Lines,
        x_label: "workers".to_owned(),
        y_label: "queries a second".to_owned(),
        y_log: false,
        categories: Vec::new(),
        series,
    }
}
