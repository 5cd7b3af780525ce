//! Figures laid out as grids, for the report and for the screen.

use crate::record::{Figure, Record};

/// Figures in rows and columns.
pub struct Grid<'a> {
    /// What all of them are or where; may be empty.
    pub title: String,
    /// Whether columns are metrics and rows contenders; else columns are contenders, and rows places.
    pub by_contender: bool,
    /// Heads of the columns.
    pub columns: Vec<Column>,
    /// Heads of the rows with their figures, one a column.
    pub rows: Vec<(String, Vec<Option<&'a Figure>>)>,
}

/// Head of a column.
pub struct Column {
    /// A metric or a contender.
    pub name: String,
    /// Unit and direction, where the column is a metric.
    pub metric: Option<(String, bool)>,
}

/// All figures: those of metrics that are known at one place only side by side, the others in a grid a metric. Order is
/// that of the record.
pub fn grids(record: &Record) -> Vec<Grid<'_>> {
    let figures = &record.figures;
    let metrics = distinct(figures.iter().map(|figure| &*figure.metric));
    let mut grids: Vec<Grid> = Vec::new();
    for metric in metrics {
        let of_metric: Vec<&Figure> = figures.iter().filter(|figure| figure.metric == metric).collect();
        let places = distinct(of_metric.iter().map(|figure| &*figure.at));
        match places.as_slice() {
            [place] => join(&mut grids, place, metric, &of_metric),
            _ => grids.push(by_place(metric, &places, &of_metric)),
        }
    }
    grids
}

/// The metric as a further column of the grid of its one place.
fn join<'a>(grids: &mut Vec<Grid<'a>>, place: &str, metric: &str, figures: &[&'a Figure]) {
    let found = grids.iter().position(|grid| grid.by_contender && grid.title == place);
    let index = found.unwrap_or_else(|| {
        grids.push(Grid {
            title: place.to_owned(),
            by_contender: true,
            columns: Vec::new(),
            rows: Vec::new(),
        });
        grids.len() - 1
    });
    let grid = &mut grids[index];
    let first = figures[0];
    let column = grid.columns.len();
    grid.columns
        .push(Column { name: metric.to_owned(), metric: Some((first.unit.clone(), first.more_is_better)) });
    for &figure in figures {
        if !grid.rows.iter().any(|(name, _)| *name == figure.contender) {
            grid.rows.push((figure.contender.clone(), Vec::new()));
        }
    }
    for (name, cells) in &mut grid.rows {
        cells.resize(column, None);
        cells.push(figures.iter().copied().find(|figure| figure.contender == *name));
    }
}

fn by_place<'a>(metric: &str, places: &[&str], figures: &[&'a Figure]) -> Grid<'a> {
    let contenders = distinct(figures.iter().map(|figure| &*figure.contender));
    let find = |place: &str, contender: &str| {
        figures.iter().copied().find(|figure| figure.at == place && figure.contender == contender)
    };
    let rows = places.iter().map(|&place| {
        let cells = contenders.iter().map(|contender| find(place, contender)).collect();
        (place.to_owned(), cells)
    });
    Grid {
        title: match unit_and_direction(figures[0]) {
            ("", direction) => format!("{metric}, {direction}"),
            (unit, direction) => format!("{metric}, {unit}, {direction}"),
        },
        by_contender: false,
        columns: contenders.iter().map(|&name| Column { name: name.to_owned(), metric: None }).collect(),
        rows: rows.collect(),
    }
}

/// The unit in words, and which direction is better.
fn unit_and_direction(figure: &Figure) -> (&str, &'static str) {
    (unit_name(&figure.unit), direction(figure.more_is_better))
}

/// `/s` as people say it.
pub fn unit_name(unit: &str) -> &str {
    match unit {
        "/s" => "a second",
        unit => unit,
    }
}

/// Which direction is better.
pub fn direction(more_is_better: bool) -> &'static str {
    if more_is_better { "more is better" } else { "less is better" }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}
