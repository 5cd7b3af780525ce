//! What an experiment leaves behind: one JSON file that explains itself.
//!
//! A record holds everything a report shows: where, with which programs and settings it was measured, the figures as
//! tables and charts, and beside them the figures that the recipe's source published. Raw results of single blocks are
//! kept as they came, for whoever wants to compute anew.

mod target;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use target::Target;

use crate::known::Known;

/// Format of the file; one that is greater was written by a later program. 2: intervals are those of order statistics, with
/// their coverage; figures say how quiet their runs were and where the generator was the limit; rules are counted.
pub const FORMAT: u32 = 2;
/// The first format, which is still read.
pub const FORMAT_FIRST: u32 = 1;

/// The record of one experiment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the recipe.
    pub recipe: String,
    /// What it is, in a line.
    pub title: String,
    /// What was done and how to read it, in a paragraph or two.
    pub method: String,
    /// When it began, RFC 3339, in UTC.
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// The command line, without paths.
    pub command: Vec<String>,
    /// Whether this was the short form, good to see that all works and for nothing else.
    pub quick: bool,
    /// The machine, as `zonda-bench host --json` and `load --json` describe it.
    pub machine: Value,
    /// Who took part.
    pub contenders: Vec<Contender>,
    /// Whether the contenders answered alike before they were timed.
    pub agreement: Vec<Agreement>,
    /// Blocks measured, and why some of them do not count.
    pub blocks: Blocks,
    /// By which rules runs were judged, and how many broke them.
    #[serde(default)]
    pub validity: Validity,
    /// The results that two records are compared by.
    pub figures: Vec<Figure>,
    /// What the recipe wants to be so many times as fast as something else, and is or is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// The results as tables.
    pub tables: Vec<Table>,
    /// The results as charts.
    pub charts: Vec<Chart>,
    /// What programs said, where its layout is part of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
    /// What the recipe's source published, to be shown beside ours.
    pub published: Vec<Published>,
    /// Warnings: what disturbed the run, what is missing, what the figures do not show.
    pub notes: Vec<String>,
    /// Raw results, one value a block or step.
    pub raw: Vec<Value>,
}

impl Record {
    /// The commit that it was made at, with `-dirty` behind it where the tree had changes; empty where it does not say.
    pub fn commit(&self) -> &str {
        self.machine["commit"].as_str().unwrap_or_default()
    }
}

/// A server that took part.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Contender {
    /// Short name: `zonda`, `named`, `nsd`, `knot`, `pdns`, `unbound`, `echo`.
    pub name: String,
    /// What the program says about its version.
    pub version: String,
    /// What it says about how it was built: options, libraries. Empty where it says nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// Its command line.
    pub command: Vec<String>,
    /// Its settings file, without the list of zones where that is long.
    pub settings: String,
}

/// How a contender's answers compare with those of the first contender.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Agreement {
    /// Who was asked.
    pub contender: String,
    /// Questions asked.
    pub asked: u64,
    /// Answers equal in response code, flags and records of answer and authority section, in any order.
    pub equal: u64,
    /// The first differences, one line each.
    pub differences: Vec<String>,
}

/// Blocks of a run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Blocks {
    /// Blocks that count.
    pub kept: usize,
    /// Why each of the others does not.
    pub discarded: Vec<String>,
}

/// What became of the rules that runs must obey to count.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Validity {
    /// Runs measured, those that were made again with their repetitions.
    pub runs: usize,
    /// The rules that applied.
    pub rules: Vec<RuleCount>,
    /// How quiet the machine was in runs that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quietness: Option<Quietness>,
    /// Who paid for receiving: time of each used core in soft interrupts, in runs that count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub softirq: Vec<Softirq>,
}

/// Time of a core in soft interrupts.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Softirq {
    /// The core's number.
    pub core: usize,
    /// Whose it is: `servers`, `generator`, `servers and generator`.
    pub of: String,
    /// Seconds.
    pub seconds: f64,
}

/// A rule, and how many runs broke it. A run that breaks several is counted by each.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RuleCount {
    /// Its name: `stolen`, `others`, `schedule`, `losses`, `failed`, `echoes`, `generator`.
    pub rule: String,
    /// Its bound with unit, in words: `2 % of the cores' time`; empty where it has none.
    pub bound: String,
    /// Runs that broke it.
    pub broken: usize,
    /// Of them, runs that were made again.
    pub again: usize,
    /// Of them, runs, or blocks, that do not count.
    pub discarded: usize,
}

/// How quiet the machine was, over some runs. Shares are from 0 to 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Quietness {
    /// Over how many runs.
    pub runs: usize,
    /// Share of the used cores' time that the hypervisor took: median and greatest.
    pub stolen: (f64, f64),
    /// Share of all cores' time that other programs took: median and greatest.
    pub others: (f64, f64),
}

impl Quietness {
    /// In a sentence.
    pub fn words(&self) -> String {
        let share = |(median, greatest): (f64, f64)| {
            format!("{:.2} % (at most {:.2} %)", median * 100.0, greatest * 100.0)
        };
        let (stolen, others) = (share(self.stolen), share(self.others));
        format!(
            "In half of the runs that count the hypervisor took {stolen} of the used cores' time, other programs {others} of all cores'."
        )
    }
}

/// One result: a metric of one contender at one place of what varies.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Figure {
    /// Who.
    pub contender: String,
    /// Where in what varies, such as `2 workers`; empty where nothing does.
    pub at: String,
    /// What: `rate`, `share of echo`, `user CPU`, `PSS`, …
    pub metric: String,
    /// Unit of the values: `/s`, `us`, `octets/RR`, `s`, or empty for a ratio.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// One value a block or run, in order.
    pub values: Vec<f64>,
    /// Median (for ratios: of logarithms).
    pub median: f64,
    /// Lower and upper end of the interval of the median by order statistics; absent with fewer than six values.
    pub interval: Option<(f64, f64)>,
    /// What the interval covers, 0.95 or more; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// Of how many values it is known only that they are at least so much: the generator was the limit, queries were lost, or it was no longer waited.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_least: usize,
    /// Of how many it is known only that they are at most so much; what is not known at all counts as both.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_most: usize,
    /// How quiet the machine was in the runs of the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quietness: Option<Quietness>,
}

impl Figure {
    /// What is known of the median.
    pub fn known(&self) -> Known {
        Known::of(self.at_least, self.at_most)
    }
}

/// Whether there is nothing to write.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A table of the report.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// Column heads; the first column is text, the others numbers as text.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<String>>,
    /// A sentence below it, may be empty.
    pub note: String,
}

/// Lines of a program, to be shown as they are.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Text {
    /// Heading.
    pub title: String,
    /// The lines.
    pub text: String,
    /// A sentence below it, may be empty.
    pub note: String,
}

/// A chart of the report.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Whether x is a quantity or a list of names.
    pub kind: ChartKind,
    /// What x is, with its unit.
    pub x_label: String,
    /// What y is, with its unit.
    pub y_label: String,
    /// Logarithmic y axis.
    pub y_log: bool,
    /// Names along x, for [`ChartKind::Bars`]: `x` of a point is an index into them.
    pub categories: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
}

impl Chart {
    /// Lines over a quantity, with the labels of x and y.
    pub fn lines(title: impl Into<String>, [x_label, y_label]: [&str; 2], series: Vec<Series>) -> Chart {
        Chart {
            title: title.into(),
            kind: ChartKind::Lines,
            x_label: x_label.to_owned(),
            y_label: y_label.to_owned(),
            y_log: false,
            categories: Vec::new(),
            series,
        }
    }

    /// Groups of bars over names.
    pub fn bars(
        title: impl Into<String>,
        y_label: &str,
        categories: Vec<String>,
        series: Vec<Series>,
    ) -> Chart {
        Chart { kind: ChartKind::Bars, categories, ..Chart::lines(title, ["", y_label], series) }
    }

    /// The same with a logarithmic y axis, or without.
    pub fn log(self, y_log: bool) -> Chart {
        Chart { y_log, ..self }
    }
}

/// Kinds of charts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChartKind {
    /// Lines over a quantity.
    Lines,
    /// Groups of bars over names.
    Bars,
}

/// A line of a chart, or the bars of one colour.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// What role it plays, which decides how it is drawn.
    pub role: Role,
    /// Its points, in the order of x.
    pub points: Vec<Point>,
}

/// What a series is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Measured here.
    Measured,
    /// A goal, drawn dashed.
    Target,
    /// Published elsewhere, drawn faint.
    Published,
    /// Computed, drawn dotted with hollow marks.
    Simulated,
}

/// A point, with its spread where it has one.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Point {
    /// Quantity, or index of a category.
    pub x: f64,
    /// Mean or median.
    pub y: f64,
    /// Least value or lower end of an interval.
    pub low: Option<f64>,
    /// Greatest value or upper end of an interval.
    pub high: Option<f64>,
    /// What is known of `y`.
    #[serde(default, skip_serializing_if = "Known::is_exact")]
    pub known: Known,
}

impl Point {
    /// One without a spread.
    pub fn at(x: f64, y: f64) -> Point {
        Point { x, y, low: None, high: None, known: Known::Exactly }
    }

    /// The same between two ends.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> Point {
        Point { low: Some(low), high: Some(high), ..self }
    }
}

/// Figures that the recipe's source published.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Published {
    /// Where: authors, title, year, table or figure.
    pub source: String,
    /// What is to be said about comparing them with ours: other machines, other versions.
    pub note: String,
    /// Its tables.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// Its charts.
    #[serde(default)]
    pub charts: Vec<Chart>,
    /// Those of its values that figures of ours stand beside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
}

/// A value that was published, and which of our figures is the same thing.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Beside {
    /// What it is of, in the source's words.
    pub what: String,
    /// The value.
    pub value: f64,
    /// Its unit, as those of figures; where that of our figure is another, no ratio is made.
    pub unit: String,
    /// Metric of our figure.
    pub metric: String,
    /// Place of our figure.
    pub at: String,
    /// Whose figures of ours; all that have one where it is empty.
    pub contenders: Vec<String>,
}
