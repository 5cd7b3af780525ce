//! Two records beside each other: what changed from A to B, and what cannot be said.
//!
//! A ratio says that B is better or worse only if its 95 % interval leaves 1, and only if both records are of the same recipe on
//! the same machine, and neither was a quick run. The interval has two parts, of which the wider counts at either end:
//!
//! | part | from | is of |
//! |---|---|---|
//! | rounds | seven values or more of each | what comes and goes within a run |
//! | runs | other records of unchanged programs ([`between`]) | what holds for a whole run |
//!
//! What is measured must leave 1 by 3 % besides, and by 15 % where nothing is known of runs; what is counted by nothing
//! ([`figures::is_counted`]). All else is shown and claims nothing.

mod between;
mod differences;
mod text;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Serialize;

pub use between::Between;
pub use differences::Difference;

use crate::{
    figures,
    file::{self, Error},
    known::Known,
    record::{Figure, Record},
    records::{self, Records},
    statistics,
};

/// By how much what is measured must differ at least: what is less comes and goes with the placement of code and data, which runs of one
/// program have in common.
const MARGIN: f64 = 1.03;
/// The same of what is counted: two copies of one program were a thousandth apart in the median of seven rounds (`lab self --of instructions`), as
/// queries come in other batches.
const COUNTED_MARGIN: f64 = 1.003;

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
    /// How many other records tell of the spread between runs.
    pub runs: usize,
    /// Those that could not be read, in words.
    pub unread: Vec<String>,
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
    /// 95 % interval of the ratio, of rounds and, where that is known, of runs; absent where neither is there.
    pub interval: Option<(f64, f64)>,
    /// The spread between runs, where other records tell it.
    pub between: Option<Between>,
    /// By what factor the interval must leave 1, either way, so that something is claimed.
    pub margin: f64,
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

/// Reads two records and compares them. `a`, `b`: directories of results, or the records in them. `history`: folders of other records,
/// which tell how runs of unchanged programs differ; those beside A and B and the project's own without. The text, or with `json`
/// one object, has a line end at its end.
pub fn run(a: &Path, b: &Path, history: &[PathBuf], json: bool) -> Result<String, Error> {
    let (of_a, of_b) = (file::read(a)?, file::read(b)?);
    let folders = if history.is_empty() { beside(a, b) } else { history.to_vec() };
    let Records { found, unread } = records::of(&of_a.recipe, &folders)?;
    let others: Vec<Record> = found.into_iter().map(|found| found.record).collect();
    let comparison = Comparison { unread, ..compare(&of_a, &of_b, &others) };
    Ok(if json { comparison.json() } else { comparison.to_string() } + "\n")
}

/// The folders that hold the results, and that of the project's own records where it is there.
fn beside(a: &Path, b: &Path) -> Vec<PathBuf> {
    let holding = |result: &Path| {
        let result = fs::canonicalize(result).ok()?;
        let folder = if result.is_dir() { &*result } else { result.parent()? };
        folder.parent().map(Path::to_owned)
    };
    let kept = fs::canonicalize(records::KEPT).ok();
    let mut folders: Vec<PathBuf> = [holding(a), holding(b), kept].into_iter().flatten().collect();
    folders.sort();
    folders.dedup();
    folders
}

/// Compares two records. `others`: records that tell how runs of unchanged programs differ; those that cannot are left out.
pub fn compare(a: &Record, b: &Record, others: &[Record]) -> Comparison {
    let obstacles = differences::obstacles(a, b);
    let may_claim = obstacles.is_empty();
    let runs = between::fit(others, a, b);
    let pair = |figure| Some((figure, find(b, figure)?));
    let pairs = a.figures.iter().filter_map(pair);
    let compared = |(figure, other)| compared(figure, other, between::between(&runs, figure), may_claim);
    Comparison {
        a: side(a),
        b: side(b),
        obstacles,
        differences: differences::differences(a, b),
        figures: pairs.map(compared).collect(),
        runs: runs.len(),
        unread: Vec::new(),
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

fn compared(a: &Figure, b: &Figure, between: Option<Between>, may_claim: bool) -> Compared {
    let ratio = (a.median > 0.0 && b.median > 0.0).then(|| b.median / a.median);
    let ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let interval = widest(interval(&a.values, &b.values), ratio.zip(between));
    let is_limited = [a, b].iter().any(|figure| figure.known() != Known::Exactly);
    let margin = match between {
        _ if figures::is_counted(a) => COUNTED_MARGIN,
        Some(_) => MARGIN,
        None => between::factor_presumed(),
    };
    Compared {
        contender: a.contender.clone(),
        at: a.at.clone(),
        metric: a.metric.clone(),
        unit: a.unit.clone(),
        more_is_better: a.more_is_better,
        a: a.median,
        b: b.median,
        ratio,
        interval,
        between,
        margin,
        is_limited,
        verdict: match interval.filter(|_| may_claim && !is_limited) {
            Some(interval) => verdict(interval, margin, a.more_is_better),
            None => Verdict::NoClaim,
        },
    }
}

/// The interval of rounds, and that of runs around the ratio: at either end the wider one.
fn widest(rounds: Option<(f64, f64)>, runs: Option<(f64, Between)>) -> Option<(f64, f64)> {
    let runs = runs.map(|(ratio, between)| (ratio / between.factor(), ratio * between.factor()));
    match (rounds, runs) {
        (Some(rounds), Some(runs)) => Some((rounds.0.min(runs.0), rounds.1.max(runs.1))),
        (rounds, runs) => rounds.or(runs),
    }
}

fn verdict((low, high): (f64, f64), margin: f64, more_is_better: bool) -> Verdict {
    match (low > margin, high < 1.0 / margin) {
        (true, _) if more_is_better => Verdict::Better,
        (_, true) if more_is_better => Verdict::Worse,
        (true, _) => Verdict::Worse,
        (_, true) => Verdict::Better,
        (false, false) => Verdict::NoClaim,
    }
}

/// The interval of the ratio of medians, B over A, at 95 % or more, by their rounds. The two have no rounds in common, so each median has its
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
