//! The laboratory's own test: a server beside a copy of itself, or beside one that is known to be dearer, again and again.
//!
//! Of a copy of itself 1 must be within the interval of the ratio in nearly all runs; of a dearer one outside, on the right
//! side. What an interval claims is measured that way, on the machine it is used on.

use std::fmt;

use crate::{
    Error,
    known::Known,
    recipe::{Name, Recipe},
    record::{Blocks, Figure, Record, Table, Target},
    statistics,
};

/// Name of the recipes that are run again and again, and their texts: none of those that are listed, as alone they say nothing.
const NAME: &str = "self";
const RATES: &str = include_str!("../self/rates.toml");
const INSTRUCTIONS: &str = include_str!("../self/instructions.toml");

/// What is compared in each run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum What {
    /// The rate that half of all trials hold.
    Rate,
    /// Processor time an answer, in the program and in the kernel.
    Cpu,
    /// Instructions an answer.
    Instructions,
}

impl What {
    /// The metrics of a record whose values are added up.
    fn metrics(self) -> &'static [&'static str] {
        match self {
            What::Rate => &["rate"],
            What::Cpu => &["user CPU", "system CPU"],
            What::Instructions => &["instructions"],
        }
    }

    /// What the ratio is called.
    pub fn text(self) -> &'static str {
        match self {
            What::Rate => "rate over the other copy's",
            What::Cpu => "CPU an answer over the other copy's",
            What::Instructions => "instructions over the other copy's",
        }
    }
}

/// What is run for it: short staircases, or counts of instructions.
pub fn recipe(what: What) -> Result<Recipe, Error> {
    let text = match what {
        What::Rate | What::Cpu => RATES,
        What::Instructions => INSTRUCTIONS,
    };
    Recipe::from_text(NAME, NAME, text)
}

/// The ratio of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Median of the ratios within its rounds, this server's over the other one's.
    pub ratio: f64,
    /// Its interval, where there are rounds enough.
    pub interval: Option<(f64, f64)>,
}

/// On which side of 1 a run's interval is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// All of it is below.
    Below,
    /// 1 is in it.
    Within,
    /// All of it is above.
    Above,
    /// There are too few rounds for an interval, or the generator was the limit.
    Unknown,
}

impl Run {
    /// The ratio that a record has; `None` where one of the two has no value that counts.
    pub fn of(record: &Record, what: What) -> Option<Run> {
        let ((ours, known), (others, known_of_others)) =
            (summed(record, Name::Zonda, what)?, summed(record, Name::Before, what)?);
        // Both have a value in each round that counts, in the order of rounds.
        let ratios: Vec<f64> = ours.iter().zip(&others).map(|(ours, other)| ours / other).collect();
        let is_fit =
            ours.len() == others.len() && ratios.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0);
        (is_fit && !ratios.is_empty()).then(|| Run {
            ratio: statistics::median(&ratios),
            // The ratio of what the generator limited says nothing of the two.
            interval: statistics::interval(&ratios).filter(|_| known.over(known_of_others) == Known::Exactly),
        })
    }

    /// On which side of 1 it is.
    pub fn side(&self) -> Side {
        match self.interval {
            None => Side::Unknown,
            Some((low, _)) if low > 1.0 => Side::Above,
            Some((_, high)) if high < 1.0 => Side::Below,
            Some(_) => Side::Within,
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", self.ratio)?;
        match self.interval {
            Some((low, high)) => write!(f, " [{low:.4}, {high:.4}], {}", self.side().text()),
            None => write!(f, ", {}", self.side().text()),
        }
    }
}

impl Side {
    fn text(self) -> &'static str {
        match self {
            Side::Below => "below 1",
            Side::Within => "1 is within",
            Side::Above => "above 1",
            Side::Unknown => "too few rounds, or limited",
        }
    }
}

/// Sums of the values of all metrics, one a round, at the first place that has them, and what is known of their median.
fn summed(record: &Record, name: Name, what: What) -> Option<(Vec<f64>, Known)> {
    let metrics = what.metrics();
    let is_of = |figure: &&Figure, metric: &str| figure.contender == name.text() && figure.metric == metric;
    let first = record.figures.iter().find(|figure| is_of(figure, metrics[0]))?;
    let (mut sums, mut known) = (first.values.clone(), first.known());
    for metric in &metrics[1..] {
        let next = record.figures.iter().find(|figure| is_of(figure, metric) && figure.at == first.at)?;
        sums.iter_mut().zip(&next.values).for_each(|(sum, value)| *sum += value);
        known = known.and(next.known());
    }
    Some((sums, known))
}

/// How many runs are on which side.
#[must_use]
pub fn count(runs: &[Run], side: Side) -> usize {
    runs.iter().filter(|run| run.side() == side).count()
}

/// A record of all runs: that of the last one, with the ratios in place of its figures. `wanted`: on which side they shall
/// be, and in what share of them at least.
pub fn record(last: Record, runs: &[Run], what: What, (side, least): (Side, f64)) -> Record {
    let ratios: Vec<f64> = runs.iter().map(|run| run.ratio).collect();
    let words = match side {
        Side::Within => "runs in whose interval 1 is",
        Side::Above => "runs whose interval is above 1",
        Side::Below => "runs whose interval is below 1",
        Side::Unknown => "runs without an interval",
    };
    let share = count(runs, side) as f64 / runs.len().max(1) as f64;
    let figure = Figure {
        contender: Name::Zonda.text().to_owned(),
        at: String::new(),
        metric: what.text().to_owned(),
        unit: String::new(),
        more_is_better: what == What::Rate,
        median: statistics::median(&ratios),
        interval: statistics::interval(&ratios),
        coverage: statistics::coverage(ratios.len()),
        at_least: 0,
        at_most: 0,
        quietness: None,
        values: ratios,
    };
    let target = Target {
        what: words.to_owned(),
        median: share,
        // A count, and no estimate of one.
        interval: Some((share, share)),
        coverage: None,
        at_least: 0,
        at_most: 0,
        least: Some(least),
        most: None,
    };
    Record {
        recipe: "self".to_owned(),
        title: format!("Two copies of the server: {}", what.text()),
        blocks: Blocks { kept: runs.len(), discarded: Vec::new() },
        figures: vec![figure],
        targets: vec![target],
        tables: vec![table(runs, words, share)],
        charts: Vec::new(),
        published: Vec::new(),
        agreement: Vec::new(),
        raw: Vec::new(),
        ..last
    }
}

fn table(runs: &[Run], words: &str, share: f64) -> Table {
    let row = |(number, run): (usize, &Run)| {
        let interval = run.interval.map_or_else(String::new, |(low, high)| format!("{low:.4} to {high:.4}"));
        vec![(number + 1).to_string(), format!("{:.4}", run.ratio), interval, run.side().text().to_owned()]
    };
    Table {
        title: "Runs".to_owned(),
        columns: ["run", "ratio", "interval", "side"].map(str::to_owned).to_vec(),
        rows: runs.iter().enumerate().map(row).collect(),
        note: format!("Share of {words}: {share:.3}."),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sample;

    /// A record in which the other copy's values are those of this one over `factor`.
    fn pair(metrics: &[&str], factor: f64) -> Record {
        let mut record = sample::record();
        let values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1];
        let figure = |name: Name, metric: &str, by: f64| Figure {
            contender: name.text().to_owned(),
            metric: metric.to_owned(),
            values: values
                .iter()
                .enumerate()
                .map(|(at, value)| value / by * (1.0 + at as f64 % 3.0 / 1000.0))
                .collect(),
            ..sample::record().figures[0].clone()
        };
        record.figures = metrics
            .iter()
            .flat_map(|metric| [figure(Name::Zonda, metric, 1.0), figure(Name::Before, metric, factor)])
            .collect();
        for figure in record.figures.iter_mut().filter(|figure| figure.contender == "before") {
            figure
                .values
                .iter_mut()
                .enumerate()
                .for_each(|(at, value)| *value *= 1.0 + (at as f64 - 3.5) / 500.0);
        }
        record
    }

    #[test]
    fn sides() {
        let side = |factor| Run::of(&pair(&["rate"], factor), What::Rate).unwrap().side();
        assert_eq!([side(0.9), side(1.0), side(1.1)], [Side::Below, Side::Within, Side::Above]);
        let cpu = Run::of(&pair(&["user CPU", "system CPU"], 1.05), What::Cpu).unwrap();
        assert!(cpu.side() == Side::Above && (cpu.ratio - 1.05).abs() < 0.01, "{cpu:?}");
        assert_eq!(Run::of(&sample::record(), What::Rate), None, "there is no copy");
        let counted = |factor| Run::of(&pair(&["instructions"], factor), What::Instructions).unwrap().side();
        assert_eq!([counted(0.97), counted(1.0), counted(1.03)], [Side::Below, Side::Within, Side::Above]);
        assert_eq!(Run { ratio: 2.0, interval: None }.side(), Side::Unknown);
        let mut limited = pair(&["rate"], 1.1);
        limited.figures[1].at_least = 1;
        assert_eq!(Run::of(&limited, What::Rate).unwrap().side(), Side::Unknown);
    }

    /// The patch of `dearer.sh` is about lines that the server still has.
    #[test]
    fn the_patch_still_applies() {
        let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let patch = std::fs::read_to_string(top.join("measure/lab/self/dearer.patch")).unwrap();
        let path = patch.lines().find_map(|line| line.strip_prefix("+++ b/")).unwrap();
        let hunk = patch.split_once("\n@@").and_then(|(_, hunk)| hunk.split_once('\n')).unwrap().1;
        let kept: Vec<&str> = hunk.lines().filter_map(|line| line.strip_prefix(' ')).collect();
        let text = std::fs::read_to_string(top.join(path)).unwrap();
        assert!(
            kept.len() >= 6 && text.contains(&kept.join("\n")),
            "{path} has changed: make the patch anew"
        );
    }

    #[test]
    fn recipes_are_read() {
        for what in [What::Rate, What::Cpu, What::Instructions] {
            let recipe = recipe(what).unwrap();
            assert_eq!((recipe.cases.len(), &*recipe.contenders), (1, &[Name::Zonda][..]));
        }
    }

    #[test]
    fn runs_are_counted() {
        let runs: Vec<Run> =
            [1.0, 1.0, 1.1, 0.9].iter().filter_map(|&by| Run::of(&pair(&["rate"], by), What::Rate)).collect();
        assert_eq!([Side::Below, Side::Within, Side::Above].map(|side| count(&runs, side)), [1, 2, 1]);
        let record = record(sample::record(), &runs, What::Rate, (Side::Within, 0.9));
        assert_eq!((record.targets[0].median, record.targets[0].verdict()), (0.5, "missed"));
        assert_eq!((record.figures[0].values.len(), record.tables[0].rows.len()), (4, 4));
    }
}
