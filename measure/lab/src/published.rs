//! What the sources of the recipes published, to be shown beside what is measured here.
//!
//! Values are those of tables and of texts. Where a source only draws a value, its text is all there is: nothing is read
//! off a plot.
//!
//! Of what is the same thing as a figure of ours a `[[published.beside]]` says which: the report has both in a row, with
//! their ratio. Its value is named by the cells that it comes from, so that it stands in the file once.

use serde::Deserialize;

use crate::{
    number,
    record::{Beside, Chart, Published, Record, Table},
};

/// Files by the names of their recipes; some have several.
const FILES: [(&str, &str); 27] = [
    ("allocators", include_str!("../published/allocators.toml")),
    ("cache-hits", include_str!("../published/caching.toml")),
    ("caching", include_str!("../published/caching.toml")),
    ("caching-signed", include_str!("../published/caching.toml")),
    ("caching-threads", include_str!("../published/caching.toml")),
    ("client-limit", include_str!("../published/client-limit.toml")),
    ("ddns-rate", include_str!("../published/updates.toml")),
    ("dynamic", include_str!("../published/updates.toml")),
    ("echo-pin", include_str!("../published/echo-pin.toml")),
    ("echo-sweep", include_str!("../published/echo-sweep.toml")),
    ("figure-3", include_str!("../published/figure-3.toml")),
    ("ixfr-secondary", include_str!("../published/ixfr-secondary.toml")),
    ("lock-profile", include_str!("../published/lock-profile.toml")),
    ("locks", include_str!("../published/locks.toml")),
    ("locks-net", include_str!("../published/locks.toml")),
    ("many", include_str!("../published/many.toml")),
    ("memory", include_str!("../published/memory.toml")),
    ("net", include_str!("../published/net.toml")),
    ("root", include_str!("../published/root.toml")),
    ("scaling", include_str!("../published/smp-2004.toml")),
    ("signed", include_str!("../published/signed.toml")),
    ("smp-2004", include_str!("../published/smp-2004.toml")),
    ("start", include_str!("../published/start.toml")),
    ("store-load", include_str!("../published/store-load.toml")),
    ("threads", include_str!("../published/figure-3.toml")),
    ("threads", include_str!("../published/smp-2004.toml")),
    ("threads-zones", include_str!("../published/figure-3.toml")),
];

/// A cell of a row of ours where nothing is the same.
const NOTHING: &str = "-";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    published: Vec<Source>,
    /// Rows that this machine adds.
    #[serde(default)]
    here: Vec<Here>,
}

/// A row of a published table for what was measured here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Here {
    /// Title of the table.
    table: String,
    /// Whose figures, and where.
    contender: String,
    at: String,
    /// Which, for each column but the first; empty: nothing here is the same.
    metrics: Vec<String>,
    /// What else the first column says.
    #[serde(default)]
    what: String,
}

/// A source as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    source: String,
    note: String,
    #[serde(default)]
    tables: Vec<Table>,
    #[serde(default)]
    charts: Vec<Chart>,
    #[serde(default)]
    beside: Vec<Key>,
}

/// A value of a source with the key of our figure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    what: String,
    /// The number, as it stands in a table or in the note of the source.
    cell: String,
    /// What it is divided by, likewise.
    over: Option<String>,
    /// What it is multiplied with, for the unit: 0.01 of percents.
    #[serde(default = "one")]
    factor: f64,
    #[serde(default)]
    unit: String,
    metric: String,
    at: String,
    #[serde(default)]
    contenders: Vec<String>,
}

fn one() -> f64 {
    1.0
}

/// What was published about the matter of `recipe`; nothing for recipes that no source has.
pub fn of(recipe: &str) -> Vec<Published> {
    FILES.iter().filter(|(name, _)| *name == recipe).flat_map(|(_, text)| parse(text)).collect()
}

fn parse(text: &str) -> Vec<Published> {
    file(text).published.into_iter().map(published).collect()
}

fn file(text: &str) -> File {
    toml::from_str(text).expect("the files are part of the program, and a test reads all")
}

/// Adds this machine as a row to the published tables that have one for it, where its figure was measured.
pub fn add_here(record: &mut Record) {
    let files = FILES.iter().filter(|(name, _)| *name == record.recipe);
    for here in files.flat_map(|(_, text)| file(text).here) {
        let cell = |metric: &String| {
            let mut figures = record.figures.iter();
            let figure = figures.find(|figure| {
                figure.contender == here.contender && figure.metric == *metric && figure.at == here.at
            });
            figure.map_or_else(|| NOTHING.to_owned(), |figure| number::long(figure.median))
        };
        let cells: Vec<String> = here.metrics.iter().map(cell).collect();
        if cells.iter().all(|cell| cell == NOTHING) {
            continue;
        }
        let version = record.contenders.iter().find(|contender| contender.name == here.contender);
        let version = version.map_or(here.contender.as_str(), |contender| contender.version.as_str());
        let first = format!("{}here, {}: {}", here.what, system(&record.machine), short(version));
        let row: Vec<String> = [first].into_iter().chain(cells).collect();
        let tables = record.published.iter_mut().flat_map(|published| &mut published.tables);
        tables.filter(|table| table.title == here.table).for_each(|table| table.rows.push(row.clone()));
    }
}

/// The system and processor of a record, as rows of published tables have theirs.
fn system(machine: &serde_json::Value) -> String {
    let of = |key: &str| machine[key].as_str().unwrap_or("unknown");
    format!("Linux {}, {}", of("kernel"), of("cpu"))
}

/// A version without what programs say of their builds behind it.
fn short(version: &str) -> &str {
    version.split(['(', '<']).next().unwrap_or(version).trim_end()
}

fn published(source: Source) -> Published {
    let Source { source, note, tables, charts, beside } = source;
    Published { source, note, tables, charts, beside: beside.into_iter().map(Key::resolved).collect() }
}

impl Key {
    fn resolved(self) -> Beside {
        let parsed = |cell: &str| number::parsed(cell).expect("a test reads all cells that are named");
        let value = parsed(&self.cell) / self.over.as_deref().map_or(1.0, parsed) * self.factor;
        let Key { what, unit, metric, at, contenders, .. } = self;
        Beside { what, value, unit, metric, at, contenders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::data;

    #[test]
    fn all_are_whole() {
        for (recipe, _) in FILES {
            let all = of(recipe);
            assert!(!all.is_empty(), "{recipe}");
            for published in &all {
                assert!(published.source.contains("20") && !published.note.is_empty(), "{recipe}");
                for table in &published.tables {
                    assert!(!table.rows.is_empty(), "{recipe}: {}", table.title);
                    for row in &table.rows {
                        assert_eq!(row.len(), table.columns.len(), "{recipe}: {row:?}");
                    }
                }
                for chart in &published.charts {
                    assert_eq!(data::drawn(chart).len(), chart.series.len(), "{recipe}: {}", chart.title);
                }
            }
        }
        assert!(of("my-own").is_empty());
    }

    #[test]
    fn this_machine_has_its_row() {
        let mut record = crate::sample::record();
        (record.recipe, record.published) = ("signed".to_owned(), of("signed"));
        let (contender, metric, at) = ("named".to_owned(), "rate".to_owned(), "unsigned".to_owned());
        record.figures[0] = crate::record::Figure { contender, metric, at, ..record.figures[0].clone() };
        let rows = |record: &Record| {
            let tables = record.published.iter().flat_map(|published| &published.tables);
            tables
                .filter(|table| table.title == "Server capacity at breaking point")
                .map(|table| table.rows.len())
                .sum::<usize>()
        };
        assert_eq!(rows(&record), 10);
        record.machine = serde_json::json!({ "kernel": "6.18", "cpu": "AMD EPYC" });
        for contender in &mut record.contenders {
            contender.name = "named".to_owned();
            contender.version = "BIND 9.20.30-1-Debian (Stable Release) <id:>".to_owned();
        }
        add_here(&mut record);
        assert_eq!(rows(&record), 11);
        let octets = |record: &Record| record.published[0].tables[0].rows.len();
        assert_eq!(octets(&record), 2, "nothing was measured for it");
        let (contender, metric, at) =
            ("zonda".to_owned(), "octets a reply".to_owned(), "signed, DO=1".to_owned());
        let figure =
            crate::record::Figure { contender, metric, at, median: 345.6, ..record.figures[0].clone() };
        record.figures.push(figure);
        add_here(&mut record);
        assert_eq!(octets(&record), 3);
        assert_eq!(record.published[0].tables[0].rows[2][1..], ["-", "-", "-", "346"]);
        let mut cells = record.published[0].tables.iter().flat_map(|table| table.rows.iter().flatten());
        let row = "here, Linux 6.18, AMD EPYC: BIND 9.20.30-1-Debian";
        assert!(cells.any(|cell| cell == row));
        for (name, text) in FILES {
            for here in file(text).here {
                let tables = parse(text).into_iter().flat_map(|published| published.tables);
                let found: Vec<_> = tables.filter(|table| table.title == here.table).collect();
                assert!(
                    found.len() == 1 && found[0].columns.len() == here.metrics.len() + 1,
                    "{name}: {}",
                    here.table
                );
            }
        }
    }

    /// A chart of published values shows what the tables beside it say.
    #[test]
    fn charts_hold_values_of_their_tables() {
        for published in FILES.iter().flat_map(|(recipe, _)| of(recipe)) {
            let cells: Vec<_> =
                published.tables.iter().flat_map(|table| table.rows.iter().flatten()).collect();
            let series = published.charts.iter().flat_map(|chart| &chart.series);
            for point in series
                .filter(|series| series.role == crate::record::Role::Published)
                .flat_map(|series| &series.points)
            {
                let text = crate::number::long(point.y);
                assert!(cells.contains(&&text), "{}: {text} is in no table", published.source);
            }
        }
    }

    /// Each value that ours stands beside is in its source's tables or note, in the cells that it names.
    #[test]
    fn values_beside_ours_are_those_of_their_sources() {
        let mut count = 0;
        for source in FILES.iter().flat_map(|(_, text)| file(text).published) {
            let cells = source.tables.iter().flat_map(|table| table.rows.iter().flatten());
            let words: Vec<&str> =
                cells.chain([&source.note]).flat_map(|text| text.split([' ', '\n'])).collect();
            for key in &source.beside {
                for cell in [Some(&key.cell), key.over.as_ref()].into_iter().flatten() {
                    assert!(words.contains(&&**cell), "{}: {cell} is nowhere", key.what);
                    assert!(number::parsed(cell).is_some_and(|value| value > 0.0), "{}: {cell}", key.what);
                }
                count += 1;
            }
        }
        assert!(count > 20, "{count}");
    }
}
