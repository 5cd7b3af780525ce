//! Rates as figures, tables and charts.

use super::{
    super::{Lab, latency, point, rated::COLUMNS, table},
    Found, Spot,
};
use crate::{
    recipe::Name,
    record::{Chart, Point, Role, Series, Table},
};

/// What one processor more shall bring, of the rate of one: the line that the paper drew.
const TARGET_SHARE: f64 = 0.5;

/// Adds all that was found to the record.
pub fn report(lab: &mut Lab, spots: &[Spot], found: &Found) {
    let record = &mut lab.record;
    record.figures.extend(found.rated.figures(Name::Echo.text()));
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
        record.charts.push(found.rated.rates.bars(title, "queries a second", &places, false));
        record.charts.push(found.rated.shares.bars(
            "Share of the echo server's rate",
            "share",
            &places,
            false,
        ));
    }
    record.charts.extend(found.rated.cpu_charts(&places));
    found.latencies.iter().for_each(|latency| latency::report(lab, latency));
}

fn rate_table(spot: &Spot, found: &Found) -> Table {
    let rows = found.rated.rows(&spot.at, |who| vec![found.rated.mib(who, &spot.at)]);
    let title = if spot.at.is_empty() { spot.case.name.clone() } else { spot.at.clone() };
    let columns = [&["server"][..], &COLUMNS, &["PSS MiB"]].concat();
    table(&title, &columns, rows, "Processor time is by answer; memory is that at the end of a block.")
}

/// Rates over workers, with the line that the paper drew: half the rate of one worker for each one more.
fn scaling(title: &str, spots: &[&Spot], found: &Found) -> Chart {
    let mut series = Vec::new();
    for name in found.rated.rates.contenders() {
        let points =
            spots.iter().filter_map(|spot| point(spot.workers as f64, found.rated.rates.of(name, &spot.at)));
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
    Chart::lines(title, ["workers", "queries a second"], series)
}
