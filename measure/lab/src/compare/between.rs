//! By how much two runs of unchanged programs differ: another day of the machine, memory laid out otherwise.
//!
//! Rounds within a run know nothing of it: what holds for a whole run moves all of them alike. It shows between records of the
//! same recipe on the same machine, of which those count together that are of one program under one kernel:
//!
//! ```text
//! program 1: a a a        deviations of the logarithms of medians from the mean of each group, squared and added;
//! program 2: b b          as many degrees of freedom as there are records less one, a group: 2 + 1
//! program 3: c            says nothing
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    known::Known,
    machine,
    recipe::Name,
    record::{Figure, Record},
    statistics,
};

/// Least degrees of freedom that count: with one the quantile is 12.7, and nothing could ever be claimed.
const DEGREES_MIN: usize = 2;
/// Spread of a run that is taken for granted where nothing is known of it: rates of one program went up and down by up to 3 %
/// with the placement of code alone, and by more with the hour of a shared machine.
const SPREAD_PRESUMED: f64 = 0.05;
/// Quantile of the normal distribution that 95 % are within, either way.
const NORMAL: f64 = 1.96;

/// The spread of a figure between runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Between {
    /// Standard deviation of the logarithm of a run's median.
    pub spread: f64,
    /// Degrees of freedom that it is known with, from [`DEGREES_MIN`].
    pub degrees: usize,
}

impl Between {
    /// By what factor two runs of unchanged programs differ at most in 95 of 100 cases, if medians are log-normal.
    pub fn factor(&self) -> f64 {
        (statistics::student(self.degrees) * self.spread * std::f64::consts::SQRT_2).exp()
    }
}

/// The same where nothing is known, from [`SPREAD_PRESUMED`]: 1.15.
pub fn factor_presumed() -> f64 {
    (NORMAL * SPREAD_PRESUMED * std::f64::consts::SQRT_2).exp()
}

/// The records of `all` that tell how runs differ: in full, of the recipe and the machine of both, each once, and neither of the two.
pub fn fit<'a>(all: &'a [Record], a: &Record, b: &Record) -> Vec<&'a Record> {
    let mut known = BTreeSet::from([key(a), key(b)]);
    let is_alike = |record: &&Record| {
        !record.quick
            && record.recipe == a.recipe
            && machine::identity(&record.machine) == machine::identity(&a.machine)
    };
    all.iter().filter(is_alike).filter(|record| known.insert(key(record))).collect()
}

/// What tells a record from every other: its seconds are known to the nanosecond.
fn key(record: &Record) -> (String, u64) {
    (record.started.clone(), record.seconds.to_bits())
}

/// The spread of a figure over records; `None` with fewer than [`DEGREES_MIN`] degrees of freedom.
pub fn between(records: &[&Record], figure: &Figure) -> Option<Between> {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for record in records {
        let Some(program) = program(record, &figure.contender) else { continue };
        if let Some(median) = super::find(record, figure).and_then(logarithm) {
            groups.entry(program).or_default().push(median);
        }
    }
    let (mut squares, mut degrees) = (0.0, 0);
    for medians in groups.values() {
        let mean = statistics::mean(medians);
        squares += medians.iter().map(|median| (median - mean).powi(2)).sum::<f64>();
        degrees += medians.len() - 1;
    }
    (degrees >= DEGREES_MIN).then(|| Between { spread: (squares / degrees as f64).sqrt(), degrees })
}

/// Of what is above 0, and not limited by the generator.
fn logarithm(figure: &Figure) -> Option<f64> {
    let is_fit = figure.median > 0.0 && figure.median.is_finite() && figure.known() == Known::Exactly;
    is_fit.then(|| figure.median.ln())
}

/// What was measured, as text that is equal where it was the same; `None` where the record does not tell.
fn program(record: &Record, contender: &str) -> Option<String> {
    let version = record.contenders.iter().find(|known| known.name == contender).map(|known| &*known.version);
    let kernel = machine::kernel_release(&record.machine);
    // Starts have a row of their own for each way: `zonda, pack`.
    let ours = match contender.split(',').next().and_then(Name::from_text) {
        Some(name) if name.is_this_build() => "zonda",
        Some(Name::Before) => return None,
        // What is no server by name is one of this program: an echo server, a lock.
        Some(Name::Echo | Name::Engine(_)) | None => "zonda-bench",
        Some(_) => return version.map(|version| format!("{kernel}\n{version}")),
    };
    let origin = &record.machine["programs"][ours];
    let commit = origin["commit"].as_str().or_else(|| record.machine["commit"].as_str());
    let is_clean = |commit: &&str| !commit.is_empty() && !commit.ends_with("-dirty");
    let built = commit.filter(is_clean).or_else(|| origin["sha256"].as_str())?;
    Some(format!("{kernel}\n{built}"))
}
