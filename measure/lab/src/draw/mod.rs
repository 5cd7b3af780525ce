//! What the project's README shows, drawn from records: one chart of what a newcomer asks first, and a picture of a report.

mod picture;

use std::path::PathBuf;

pub use picture::picture;

use crate::{
    chart::sheet,
    file::Error,
    known::Known,
    record::{Chart, Figure, Point, Record, Role, Series},
    records::{self, Found},
    report,
};

/// Not servers: what they are measured against.
const LIMITS: [&str; 3] = ["echo", "relay", "limit"];

/// A chart of the sheet: which figures of the newest record of which recipe.
struct Panel {
    title: &'static str,
    recipe: &'static str,
    /// Metrics whose medians are added up.
    metrics: &'static [&'static str],
    label: &'static str,
}

/// What a newcomer asks first.
const PANELS: [Panel; 4] = [
    Panel {
        title: "Memory after the load",
        recipe: "memory",
        metrics: &["PSS after load"],
        label: "octets a record, less is better",
    },
    Panel {
        title: "From start to the first answer",
        recipe: "start",
        metrics: &["time to first answer"],
        label: "seconds, less is better",
    },
    Panel {
        title: "Rate that half of all trials hold",
        recipe: "root",
        metrics: &["rate"],
        label: "queries a second with one worker, more is better",
    },
    Panel {
        title: "Processor time an answer",
        recipe: "root",
        metrics: &["user CPU", "system CPU"],
        label: "us in program and kernel, less is better",
    },
];

/// The chart, and what it lacks.
#[derive(Debug)]
pub struct Drawn {
    /// One SVG file.
    pub svg: String,
    /// Panels that are left out, with the reason.
    pub left_out: Vec<String>,
}

/// Draws the chart from the newest records in `folders`; full ones before quick ones, which the chart says they are.
pub fn draw(folders: &[PathBuf]) -> Result<Drawn, Error> {
    let (mut charts, mut foot, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for panel in &PANELS {
        let chart = match records::newest(panel.recipe, folders)? {
            None => Err(format!("no record of {}", panel.recipe)),
            Some(found) => chart(panel, &found.record).map(|(chart, at)| {
                let line = source(&found, &at);
                if !foot.contains(&line) {
                    foot.push(line);
                }
                chart
            }),
        };
        match chart {
            Ok(chart) => charts.push(chart),
            Err(why) => left_out.push(format!("{}: {why}", panel.title)),
        }
    }
    Ok(Drawn { svg: sheet("Zonda beside other name servers", &charts, &foot), left_out })
}

/// Bars of all servers at the first place of the record, the best above.
fn chart(panel: &Panel, record: &Record) -> Result<(Chart, String), String> {
    let of = |metric: &str| record.figures.iter().find(|figure| figure.metric == metric);
    let missing = || format!("the record of {} has no {}", panel.recipe, panel.metrics.join(" and "));
    let first =
        panel.metrics.iter().map(|metric| of(metric)).collect::<Option<Vec<_>>>().ok_or_else(missing)?;
    let (at, more_is_better) = (first[0].at.clone(), first[0].more_is_better);
    let is_bar = |figure: &&Figure| {
        figure.metric == panel.metrics[0] && figure.at == at && !LIMITS.contains(&&*figure.contender)
    };
    let bar = |figure: &Figure| Some((named(record, &figure.contender), summed(panel, record, figure)?));
    let mut bars: Vec<(String, Point)> = record.figures.iter().filter(is_bar).filter_map(bar).collect();
    bars.sort_by(|(_, a), (_, b)| if more_is_better { b.y.total_cmp(&a.y) } else { a.y.total_cmp(&b.y) });
    let points = bars.iter().enumerate().map(|(place, (_, point))| Point { x: place as f64, ..*point });
    let series = Series { name: String::new(), role: Role::Measured, points: points.collect() };
    let names = bars.into_iter().map(|(name, _)| name).collect();
    let chart = Chart::bars(panel.title, panel.label, names, vec![series]);
    Ok((chart, at))
}

/// The sum of a contender's medians at the place of `first`, with the interval where it is of one metric alone: that of a
/// sum cannot be had from those of its parts.
fn summed(panel: &Panel, record: &Record, first: &Figure) -> Option<Point> {
    let of = |metric: &&str| {
        let is_it = |figure: &&Figure| {
            figure.metric == **metric && figure.at == first.at && figure.contender == first.contender
        };
        record.figures.iter().find(is_it)
    };
    let all: Vec<&Figure> = panel.metrics.iter().map(of).collect::<Option<_>>()?;
    let interval = if all.len() == 1 { first.interval } else { None };
    let (low, high) = interval.unzip();
    let sum: f64 = all.iter().map(|figure| figure.median).sum();
    let known = all.iter().fold(Known::Exactly, |known, figure| known.and(figure.known()));
    Some(Point { low, high, known, ..Point::at(0.0, sum) })
}

/// `knot 3.5.1` of contender `knot` whose version is `Knot DNS 3.5.1 (...)`; a label such as `zonda, pack` stays.
fn named(record: &Record, contender: &str) -> String {
    let version = record.contenders.iter().find(|known| known.name == contender);
    let digits = version.and_then(|known| {
        let is_version =
            |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.');
        known.version.split([' ', ',', '-', '+', '(', ')']).find(is_version)
    });
    digits.map_or_else(|| contender.to_owned(), |digits| format!("{contender} {digits}"))
}

/// Where the bars are from: `root-20261121: the root zone ..., 2026-11-21 18:14 UTC`.
fn source(found: &Found, at: &str) -> String {
    let Record { title, started, quick, .. } = &found.record;
    let at = if at.is_empty() { String::new() } else { format!(", {at}") };
    let quick = if *quick { ", QUICK RUN: no figures" } else { "" };
    format!("{}: {title}{at}; {}{quick}", found.name, report::date(started))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{file, sample};

    fn folder(change: impl FnOnce(&mut Record)) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut record = sample::record();
        for figure in record.figures.clone().iter().filter(|figure| figure.metric == "user CPU") {
            record.figures.push(Figure { metric: "system CPU".to_owned(), ..figure.clone() });
        }
        change(&mut record);
        file::write_record(folder.path(), &record).unwrap();
        folder
    }

    #[test]
    fn from_what_is_there() {
        let folder = folder(|record| record.quick = false);
        let drawn = draw(&[folder.path().to_owned()]).unwrap();
        assert!(drawn.svg.contains(">zonda 1.2.3<") && drawn.svg.contains("Processor time an answer"));
        assert!(drawn.svg.contains("<title>zonda 1.2.3: "), "what a pointer over a bar shows");
        assert!(!drawn.svg.contains(">echo") && !drawn.svg.contains("QUICK"), "the limit is no server");
        assert!(drawn.svg.contains("prefers-color-scheme: dark"));
        let told = [
            "Memory after the load: no record of memory",
            "From start to the first answer: no record of start",
        ];
        assert_eq!(drawn.left_out, told);
        // The sum of both, and each server in its own colour.
        assert!(drawn.svg.contains(": 824</title>") || drawn.svg.contains(": 825</title>"), "{}", drawn.svg);
        assert!(drawn.svg.contains("c-series c0 measured") && drawn.svg.contains("c-series c3 measured"));
    }

    #[test]
    fn what_is_known_from_one_side_is_marked() {
        let folder = folder(|record| {
            for figure in record.figures.iter_mut().filter(|figure| figure.contender == "zonda") {
                figure.at_least = 1;
            }
        });
        let drawn = draw(&[folder.path().to_owned()]).unwrap();
        let marked = |text: &str| drawn.svg.matches(text).count();
        // A bar's number and its hint, in the panels of the rate and of the processor time.
        assert_eq!((marked(">≥ "), marked(": ≥ ")), (2, 2), "{}", drawn.svg);
    }

    #[test]
    fn a_quick_run_is_said_and_no_markup_comes_through() {
        let folder = folder(|record| record.title = "<script>".to_owned());
        let drawn = draw(&[folder.path().to_owned()]).unwrap();
        assert!(drawn.svg.contains("QUICK RUN") && !drawn.svg.contains("<script>"));
    }
}
