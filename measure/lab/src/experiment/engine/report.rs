//! Values of all panels as figures and charts.

use super::{
    super::{Lab, Values, point},
    found::Found,
};
use crate::{
    recipe::{Axis, Panel, Recipe, Shown},
    record::{Chart, ChartKind, Point, Role, Series},
};

/// From so many values on, what varies is drawn as lines; fewer are groups of bars.
const LINES_FROM: usize = 3;

/// How something is called and drawn.
struct Words {
    /// In tables.
    metric: &'static str,
    unit: &'static str,
    /// Along the axis of a chart.
    label: &'static str,
    more_is_better: bool,
    is_log: bool,
}

/// In the order of the report.
const ALL: [Shown; 8] = [
    Shown::Rate,
    Shown::Ratio,
    Shown::Cpu,
    Shown::Wait,
    Shown::Query,
    Shown::Write,
    Shown::Written,
    Shown::Waited,
];

fn words(shown: Shown) -> Words {
    let words =
        |metric, unit, label, more_is_better, is_log| Words { metric, unit, label, more_is_better, is_log };
    match shown {
        Shown::Rate => words("rate", "/s", "answers a second", true, false),
        Shown::Ratio => words("rate over", "", "rate over that of", true, false),
        Shown::Cpu => words("CPU a query", "us", "processor time a query, microseconds", false, false),
        Shown::Wait => words("p99.9 wait", "us", "99.9 % wait no longer, microseconds", false, true),
        Shown::Query => words("p99.9 query", "us", "99.9 % take no longer, microseconds", false, true),
        Shown::Write => words("p99 write", "us", "99 % take no longer, microseconds", false, true),
        Shown::Written => words("writes", "/s", "changes a second", true, false),
        Shown::Waited => words("waiting", "", "share of the threads' time", false, false),
        Shown::Lines => words("", "", "", false, false),
    }
}

/// What a chart is of.
fn subject(shown: Shown) -> &'static str {
    match shown {
        Shown::Rate => "rate",
        Shown::Ratio => "ratio",
        Shown::Cpu => "processor time",
        Shown::Wait => "waiting for locks",
        Shown::Query => "time of a query",
        Shown::Write => "time of a change",
        Shown::Written => "changes made",
        Shown::Waited => "time waited",
        Shown::Lines => "lines",
    }
}

/// Adds all values to the record.
pub fn report(lab: &mut Lab, found: &Found) {
    let recipe = lab.recipe.clone();
    for shown in ALL {
        let words = words(shown);
        if shown == Shown::Ratio {
            for baseline in baselines(&recipe) {
                let metric = format!("{} {baseline}", words.metric);
                let values = all_values(&recipe, found, shown, Some(&baseline));
                lab.record.figures.extend(values.figures(&metric, words.unit, words.more_is_better));
            }
        } else {
            let values = all_values(&recipe, found, shown, None);
            lab.record.figures.extend(values.figures(words.metric, words.unit, words.more_is_better));
        }
    }
    for (place, panel) in recipe.panels.iter().enumerate() {
        let numbers = panel.numbers(lab.record.quick, lab.server_cores.len());
        for &shown in panel.shows.iter().filter(|&&shown| shown != Shown::Lines) {
            lab.record.charts.extend(chart(&recipe, found, (place, panel), &numbers, shown));
        }
    }
}

fn baselines(recipe: &Recipe) -> Vec<String> {
    let mut all: Vec<String> = recipe.panels.iter().filter_map(|panel| panel.baseline.clone()).collect();
    all.sort();
    all.dedup();
    all
}

/// Values of all panels that show this, by variant and place.
fn all_values(recipe: &Recipe, found: &Found, shown: Shown, baseline: Option<&str>) -> Values {
    let mut values = Values::default();
    let is_of = |panel: &Panel| match shown {
        // Where there is a baseline, ratios are of interest even where they have no chart.
        Shown::Ratio => panel.baseline.as_deref() == baseline,
        shown => panel.shows.contains(&shown),
    };
    for (which, cell) in found.cells.iter().enumerate() {
        let panel = &recipe.panels[cell.panel];
        if !is_of(panel) {
            continue;
        }
        let place = panel.place(cell.value);
        if shown == Shown::Ratio {
            for ratio in cell_values(found, panel, which, shown) {
                values.push(&cell.variant, &place, ratio);
            }
        } else {
            for (value, mark) in found.marked(which, shown) {
                values.push_marked(&cell.variant, &place, value, mark);
            }
        }
    }
    let names: Vec<String> = recipe.variants.iter().map(|variant| variant.name.clone()).collect();
    values.arrange(&names);
    values
}

fn cell_values(found: &Found, panel: &Panel, which: usize, shown: Shown) -> Vec<f64> {
    let cell = &found.cells[which];
    match (shown, &panel.baseline) {
        (Shown::Ratio, Some(baseline)) if cell.variant != *baseline => found
            .cell(cell.panel, baseline, cell.value)
            .map_or_else(Vec::new, |base| found.ratios(which, base)),
        (Shown::Ratio, _) => Vec::new(),
        (shown, _) => found.values(which, shown),
    }
}

/// A chart of a panel, where it has values.
fn chart(
    recipe: &Recipe,
    found: &Found,
    (place, panel): (usize, &Panel),
    numbers: &[u64],
    shown: Shown,
) -> Option<Chart> {
    let words = words(shown);
    let values = |variant: &str, number: u64| {
        let Some(cell) = found.cell(place, variant, number) else { return Vec::new() };
        // The baseline over itself has its place too, so that every variant has the colour that it has elsewhere.
        if shown == Shown::Ratio && panel.baseline.as_deref() == Some(variant) {
            return found.ratios(cell, cell);
        }
        cell_values(found, panel, cell, shown)
    };
    let names: Vec<&str> = recipe.variants.iter().map(|variant| variant.name.as_str()).collect();
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| numbers.iter().any(|&number| !values(name, number).is_empty()))
        .collect();
    let has_zero = words.is_log
        && names.iter().any(|name| numbers.iter().any(|&number| values(name, number).contains(&0.0)));
    let is_lines = numbers.len() >= LINES_FROM && panel.axis != Axis::Buckets;
    let line = |name: &&str| {
        let spots = numbers.iter().enumerate().filter_map(|(index, &number)| {
            point(if is_lines { number as f64 } else { index as f64 }, &values(name, number))
        });
        Series { name: (*name).to_owned(), role: Role::Measured, points: spots.collect() }
    };
    let (series, categories): (Vec<Series>, Vec<String>) = match numbers {
        [] => return None,
        // One place: a bar for each variant, with its name beside it.
        [number] => {
            let bars = names
                .iter()
                .enumerate()
                .filter_map(|(index, name)| point(index as f64, &values(name, *number)));
            let points: Vec<Point> = bars.collect();
            let series = Series { name: String::new(), role: Role::Measured, points };
            (vec![series], names.iter().map(|&name| name.to_owned()).collect())
        }
        numbers => {
            let places = numbers.iter().map(|&number| panel.axis.place(number));
            (names.iter().map(line).collect(), if is_lines { Vec::new() } else { places.collect() })
        }
    };
    let mut y_label = words.label.to_owned();
    if shown == Shown::Ratio {
        y_label += &format!(" {}", panel.baseline.as_deref().unwrap_or_default());
    }
    if has_zero {
        y_label += "; 0 is not drawn";
    }
    let at = if let [number] = numbers { format!(", {}", panel.axis.place(*number)) } else { String::new() };
    (!names.is_empty()).then(|| Chart {
        title: format!("{}{at}: {}", panel.name, subject(shown)),
        kind: if is_lines { ChartKind::Lines } else { ChartKind::Bars },
        x_label: if is_lines { panel.axis.label().to_owned() } else { String::new() },
        y_label,
        y_log: words.is_log,
        categories,
        series,
    })
}
