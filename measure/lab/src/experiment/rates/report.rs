//! Rates as figures, tables and charts.

use super::{
    super::{Lab, Values, latency, rated::COLUMNS, table},
    Found, Spot, beyond, cross, distribution, loss_free,
};
use crate::{
    recipe::Name,
    record::{Chart, Point, Role, Series, Table},
};

/// What one processor more shall bring, of the rate of one: the line that the paper drew.
const TARGET_SHARE: f64 = 0.5;

/// What the usual way of asking is called beside others.
const USUAL: &str = "UDP, IPv4, trains, even pace";

/// Adds all that was found to the record.
pub fn report(lab: &mut Lab, spots: &[Spot], found: &Found) {
    let record = &mut lab.record;
    record.figures.extend(found.rated.figures(Name::Echo.text()));
    record.figures.extend(found.loss_free.figures("rate without loss", "/s", true));
    record.figures.extend(beyond::figures(&found.beyond));
    for spot in spots {
        record.tables.push(rate_table(spot, found));
    }
    let all = spots;
    let (usual, ways): (Vec<&Spot>, Vec<&Spot>) = spots.iter().partition(|spot| spot.row.name.is_empty());
    let spots = &usual[..];
    let places: Vec<String> = spots.iter().map(|spot| spot.at.clone()).collect();
    let title = "Rate that half of all trials hold";
    if spots.iter().any(|spot| spot.workers > 1) {
        for case in &lab.recipe.cases {
            let of_case: Vec<&Spot> =
                spots.iter().copied().filter(|spot| spot.case.name == case.name).collect();
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
    for spot in spots.iter().filter(|_| !ways.is_empty()) {
        let of_case = ways.iter().copied().filter(|way| way.case.name == spot.case.name);
        let of_case: Vec<&Spot> = [*spot].into_iter().chain(of_case).collect();
        record.charts.push(by_way(&of_case, found));
    }
    let order = found.rated.rates.contenders();
    for spot in spots {
        record.tables.extend(loss_free::report(spot, found));
        if let Some((table, chart)) = beyond::report(spot, &found.beyond, &order) {
            record.tables.push(table);
            record.charts.push(chart);
        }
    }
    found.latencies.iter().for_each(|latency| latency::report(lab, latency));
    found.octets.report(lab);
    cross::report(lab, all, &found.cross);
    let record = &mut lab.record;
    for spot in spots {
        record.charts.extend(distribution::charts(&record.raw, &spot.at, &order));
    }
}

/// Rates of a case by the way of asking, the usual one first.
fn by_way(spots: &[&Spot], found: &Found) -> Chart {
    let name = |spot: &Spot| if spot.row.name.is_empty() { USUAL.to_owned() } else { spot.row.name.clone() };
    let mut rates = Values::default();
    for spot in spots {
        for who in found.rated.rates.contenders() {
            let values = found.rated.rates.of(who, &spot.at);
            values.iter().for_each(|&rate| rates.push(who, &name(spot), rate));
        }
    }
    let places: Vec<String> = spots.iter().map(|spot| name(spot)).collect();
    rates.bars("Rate that half of all trials hold, by the way of asking", "queries a second", &places, false)
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
            spots.iter().filter_map(|spot| found.rated.rates.point(spot.workers as f64, name, &spot.at));
        let points: Vec<Point> = points.collect();
        if let Some(first) = points.first().filter(|first| first.x == 1.0 && name == Name::Zonda.text()) {
            let goal = |point: &Point| Point::at(point.x, first.y * (1.0 + TARGET_SHARE * (point.x - 1.0)));
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
