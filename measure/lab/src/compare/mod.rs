//! Two records beside each other: what changed from A to B, and what cannot be said.
//!
//! A ratio says that B is better or worse only if its 95 % interval, from seven values or more of each, excludes 1 (for rates and shares of echo: leaves 1 by 3 %,
//! either way), and only if both records are of the same recipe on the same machine, and neither was a quick run. All
//! else is shown and claims nothing.

mod differences;
mod text;

use std::path::Path;

use serde::Serialize;

pub use differences::Difference;

use crate::{
    file::{self, Error},
    known::Known,
    record::{Figure, Record},
    statistics,
};

/// By how much a rate must differ: what is less comes and goes with the placement of code and data.
const RATE_MARGIN: f64 = 1.03;
/// A rate too, if in another unit.
const ECHO_SHARE: &str = "share of echo";

/// What comes of two records.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The older, or what is changed from.
    pub a: Side,
    /// The newer, or what is changed to.
    pub b: Side,
    /// Why nothing is claimed at all; empty if something may be.
    pub obstacles: Vec<String>,
    /// What else is not alike.
    pub differences: Vec<Difference>,
    /// Figures that both have.
    pub figures: Vec<Compared>,
    /// Figures that only A has, in words.
    pub only_a: Vec<String>,
    /// Figures that only B has, in words.
    pub only_b: Vec<String>,
}

/// A record in short.
#[derive(Debug, Serialize)]
pub struct Side {
    /// Its recipe.
    pub recipe: String,
    /// When it began.
    pub started: String,
    /// Whether it was a quick run.
    pub quick: bool,
    /// Blocks that count.
    pub blocks: usize,
}

/// A figure of both records.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// Who.
    pub contender: String,
    /// Where in what varies.
    pub at: String,
    /// What.
    pub metric: String,
    /// Unit of `a` and `b`.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Median of A.
    pub a: f64,
    /// Median of B.
    pub b: f64,
    /// B over A; absent where one of them is not above 0.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio; absent where one of them has too few values.
    pub interval: Option<(f64, f64)>,
    /// Whether one of them is known from one side only, as the generator was the limit: nothing is claimed of those.
    pub is_limited: bool,
    /// What is claimed.
    pub verdict: Verdict,
}

/// What is claimed of a figure.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// Nothing.
    NoClaim,
}

/// Reads two records and compares them. `a`, `b`: directories of results, or the records in them. The text, or with
/// `json` one object, has a line end at its end.
pub fn run(a: &Path, b: &Path, json: bool) -> Result<String, Error> {
    let comparison = compare(&file::read(a)?, &file::read(b)?);
    Ok(if json { comparison.json() } else { comparison.to_string() } + "\n")
}

/// Compares two records.
pub fn compare(a: &Record, b: &Record) -> Comparison {
    let obstacles = differences::obstacles(a, b);
    let may_claim = obstacles.is_empty();
    let pair = |figure| Some((figure, find(b, figure)?));
    let pairs = a.figures.iter().filter_map(pair);
    Comparison {
        a: side(a),
        b: side(b),
        obstacles,
        differences: differences::differences(a, b),
        figures: pairs.map(|(figure, other)| compared(figure, other, may_claim)).collect(),
        only_a: lacking(a, b),
        only_b: lacking(b, a),
    }
}

impl Comparison {
    /// As one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts, numbers and lists have a form in JSON")
    }
}

fn side(record: &Record) -> Side {
    Side {
        recipe: record.recipe.clone(),
        started: record.started.clone(),
        quick: record.quick,
        blocks: record.blocks.kept,
    }
}

/// The same figure in another record. Other units make another figure.
fn find<'a>(record: &'a Record, figure: &Figure) -> Option<&'a Figure> {
    let key = |figure: &'a Figure| (&figure.contender, &figure.at, &figure.metric, &figure.unit);
    let wanted = (&figure.contender, &figure.at, &figure.metric, &figure.unit);
    record.figures.iter().find(|other| key(other) == wanted)
}

fn lacking(record: &Record, other: &Record) -> Vec<String> {
    let only = record.figures.iter().filter(|figure| find(other, figure).is_none());
    only.map(|Figure { contender, at, metric, unit, .. }| {
        let at = if at.is_empty() { String::new() } else { format!(", {at}") };
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        format!("{contender}{at}: {metric}{unit}")
    })
    .collect()
}

fn compared(a: &Figure, b: &Figure, may_claim: bool) -> Compared {
    let ratio = (a.median > 0.0 && b.median > 0.0).then(|| b.median / a.median);
    let interval = interval(&a.values, &b.values);
    let is_limited = [a, b].iter().any(|figure| figure.known() != Known::Exactly);
    let is_rate = a.unit == "/s" || a.metric == ECHO_SHARE;
    Compared {
        contender: a.contender.clone(),
        at: a.at.clone(),
        metric: a.metric.clone(),
        unit: a.unit.clone(),
        more_is_better: a.more_is_better,
        a: a.median,
        b: b.median,
        ratio: ratio.filter(|ratio| ratio.is_finite()),
        interval,
        is_limited,
        verdict: match interval.filter(|_| may_claim && !is_limited) {
            Some(interval) => verdict(interval, is_rate, a.more_is_better),
            None => Verdict::NoClaim,
        },
    }
}

fn verdict((low, high): (f64, f64), is_rate: bool, more_is_better: bool) -> Verdict {
    let margin = if is_rate { RATE_MARGIN } else { 1.0 };
    match (low > margin, high < 1.0 / margin) {
        (true, _) if more_is_better => Verdict::Better,
        (_, true) if more_is_better => Verdict::Worse,
        (true, _) => Verdict::Worse,
        (_, true) => Verdict::Better,
        (false, false) => Verdict::NoClaim,
    }
}

/// The interval of the ratio of medians, B over A, at 95 % or more. The two have no rounds in common, so each median has its
/// own interval, at 97.5 % that both hold in 95 %: the least ratio is that of B's lower end over A's upper.
fn interval(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let of = |values: &[f64]| {
        let are_fit = values.iter().all(|value| value.is_finite() && *value > 0.0);
        statistics::interval_that_covers(values, statistics::COVERAGE_OF_TWO).filter(|_| are_fit)
    };
    let ((low_a, high_a), (low_b, high_b)) = (of(a)?, of(b)?);
    let (low, high) = (low_b / high_a, high_b / low_a);
    (low > 0.0 && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
