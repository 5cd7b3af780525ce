//! Figures laid out as grids, for the report and for the screen.

use crate::record::{Figure, Record};

/// Contenders beside each other, where there are several places; more stand below each other.
const BESIDE_MAX: usize = 8;

/// Unit of what is counted for each answer: instructions, calls.
pub const AN_ANSWER: &str = "an answer";

/// Whether a figure is counted: it is the same on another day, and where code lies otherwise. All else is measured, memory too, of which a program
/// took 6 % less from one run to the next.
pub fn is_counted(figure: &Figure) -> bool {
    figure.unit == AN_ANSWER
}

/// Figures in rows and columns.
pub struct Grid<'a> {
    /// What all of them are or where; may be empty.
    pub title: String,
    /// Whether columns are metrics and rows contenders; else all is of one metric, and contenders and places are rows and
    /// columns, whichever are fewer to a side.
    pub by_contender: bool,
    /// Heads of the columns.
    pub columns: Vec<Column>,
    /// Heads of the rows with their figures, one a column.
    pub rows: Vec<(String, Vec<Option<&'a Figure>>)>,
}

/// Head of a column.
pub struct Column {
    /// A metric, a contender or a place.
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
    let is_turned = contenders.len() > BESIDE_MAX.max(places.len());
    let (down, across) = if is_turned { (&contenders[..], places) } else { (places, &contenders[..]) };
    let cell = |row, column| if is_turned { find(column, row) } else { find(row, column) };
    let rows = down.iter().map(|&row| {
        let cells = across.iter().map(|&column| cell(row, column)).collect();
        (row.to_owned(), cells)
    });
    Grid {
        title: match unit_and_direction(figures[0]) {
            ("", direction) => format!("{metric}, {direction}"),
            (unit, direction) => format!("{metric}, {unit}, {direction}"),
        },
        by_contender: false,
        columns: across.iter().map(|&name| Column { name: name.to_owned(), metric: None }).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn many_contenders_stand_below_each_other() {
        let mut record = sample::record();
        let one = record.figures[0].clone();
        for (contenders, columns) in [(8, 8), (9, 2)] {
            let figures = (0..contenders).flat_map(|number| ["here", "there"].map(|at| (number, at)));
            record.figures = figures
                .map(|(number, at)| Figure {
                    contender: format!("c{number}"),
                    at: at.to_owned(),
                    ..one.clone()
                })
                .collect();
            let grids = grids(&record);
            assert_eq!((grids.len(), grids[0].columns.len()), (1, columns));
            let (name, cells) = &grids[0].rows[1];
            assert_eq!(name, if columns == 2 { "c1" } else { "there" });
            let last = cells.last().copied().flatten().map(|figure| (&*figure.contender, &*figure.at));
            assert_eq!(last, Some(if columns == 2 { ("c1", "there") } else { ("c7", "there") }));
        }
    }
}
