//! What recipes of `measure = "engine"` are made of: variants of `zonda-bench engine`, panels that let one thing vary, and
//! what is expected of them.

mod cells;
mod options;

use serde::Deserialize;

pub use self::{
    cells::{Cell, cells},
    options::{Count, CountWord, EngineOptions},
};
use super::Recipe;

/// A way to run the engine: a line or bar of a chart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variant {
    /// Its name in tables and charts.
    pub name: String,
    /// How it differs.
    #[serde(default)]
    pub options: EngineOptions,
}

/// What varies within a panel.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Threads that answer.
    #[default]
    Threads,
    /// Changes a second.
    Writes,
    /// Writers in a row before readers are let in.
    Quota,
    /// Locks of a zone or cache.
    Buckets,
}

/// What of a run is shown.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// Answers a second.
    Rate,
    /// The rate over the baseline's in the same round.
    Ratio,
    /// Processor time of the threads by query.
    Cpu,
    /// 99.9 % of the queries wait no longer for locks.
    Wait,
    /// 99.9 % of the queries take no longer.
    Query,
    /// 99 % of the changes take no longer.
    Write,
    /// Changes a second that were made.
    Written,
    /// Share of the threads' time that they waited for locks; from the profiler.
    Waited,
    /// The profiler's lines, in BIND's layout.
    Lines,
}

/// Variants side by side over something that varies: one measurement of a recipe, with its charts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Panel {
    /// Heading of its charts.
    pub name: String,
    /// First words of its places: `root`, for `root, 2 threads`.
    pub at: String,
    /// Options of all its variants; what a variant says itself counts.
    #[serde(default)]
    pub options: EngineOptions,
    /// Names of its variants; all without.
    #[serde(default)]
    pub variants: Vec<String>,
    /// What varies.
    #[serde(default)]
    pub axis: Axis,
    /// Its values.
    pub values: Vec<Count>,
    /// Its values in the quick form and the self-check, which may be none.
    pub quick_values: Option<Vec<Count>>,
    /// What is shown.
    pub shows: Vec<Shown>,
    /// The variant that ratios are over.
    pub baseline: Option<String>,
    /// Rounds at most, where fewer will do.
    pub runs: Option<usize>,
    /// Whether to warn where more threads answer less than one.
    #[serde(default)]
    pub alarm: bool,
}

/// What is expected of the rates of two variants.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// The first answers more.
    Faster,
    /// The first answers at least as much.
    NotSlower,
    /// Hardly any difference.
    Alike,
}

/// An order that somebody found and that is looked for here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Order {
    /// The panel's `at`.
    pub panel: String,
    /// Where on its axis; the number of cores without.
    pub value: Option<Count>,
    /// The first variant.
    pub one: String,
    /// The other.
    pub other: String,
    /// What was found of them.
    pub expected: Expected,
    /// In whose words.
    pub said: String,
    /// The panel with the profiles of both.
    pub profile: Option<String>,
}

/// A ratio of two rates of a panel that shall be at least so much.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EngineTarget {
    /// The panel's `at`.
    pub panel: String,
    /// Variant and place on the axis.
    pub of: (String, Count),
    /// Those that it is divided by.
    pub over: (String, Count),
    /// What it shall be at least.
    pub least: f64,
}

impl Axis {
    /// Options with this value of what varies.
    fn set(self, options: &mut EngineOptions, value: u64) {
        match self {
            Axis::Threads => options.threads = Some(Count::Number(value)),
            Axis::Writes => options.writes = Some(value),
            Axis::Quota => options.quota = Some(value),
            Axis::Buckets => options.buckets = Some(value),
        }
    }

    /// What its values are, with their unit.
    pub fn label(self) -> &'static str {
        match self {
            Axis::Threads => "threads",
            Axis::Writes => "writes a second",
            Axis::Quota => "writers in a row (Q)",
            Axis::Buckets => "lock buckets",
        }
    }

    /// One of its values in words.
    pub fn place(self, value: u64) -> String {
        match (self, value) {
            (Axis::Threads, 0) => "no threads".to_owned(),
            (Axis::Threads, 1) => "1 thread".to_owned(),
            (Axis::Threads, _) => format!("{value} threads"),
            // From 100 on that has no decimals.
            (Axis::Writes, 100..) => format!("{} writes/s", crate::number::long(value as f64)),
            (Axis::Writes, _) => format!("{value} writes/s"),
            (Axis::Quota, _) => format!("Q = {value}"),
            (Axis::Buckets, _) => format!("{value} buckets"),
        }
    }
}

impl Panel {
    /// The values of its axis, in rising order.
    pub fn numbers(&self, is_quick: bool, cores: usize) -> Vec<u64> {
        let values = self.quick_values.as_ref().filter(|_| is_quick).unwrap_or(&self.values);
        let mut all: Vec<u64> = values.iter().flat_map(|value| value.numbers(cores)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The place of a value.
    pub fn place(&self, value: u64) -> String {
        format!("{}, {}", self.at, self.axis.place(value))
    }
}

/// What names something that is not there, or cannot be measured.
pub fn fault(recipe: &Recipe) -> Option<String> {
    if recipe.panels.is_empty() || recipe.variants.is_empty() {
        return Some("a [[variant]] and a [[panel]] are needed".to_owned());
    }
    let has_variant = |name: &String| recipe.variants.iter().any(|variant| variant.name == *name);
    let panel = |at: &str| recipe.panels.iter().find(|panel| panel.at == at);
    for (place, panel) in recipe.panels.iter().enumerate() {
        let mut named = panel.variants.iter().chain(&panel.baseline);
        if let Some(unknown) = named.find(|name| !has_variant(name)) {
            return Some(format!("panel {}: no variant {unknown}", panel.at));
        }
        if recipe.panels[..place].iter().any(|other| other.at == panel.at) {
            return Some(format!("panel {}: another one has the same `at`", panel.at));
        }
        if panel.values.is_empty() || panel.shows.is_empty() {
            return Some(format!("panel {}: values and shows are needed", panel.at));
        }
        if panel.shows.contains(&Shown::Ratio) && panel.baseline.is_none() {
            return Some(format!("panel {}: a ratio needs a baseline", panel.at));
        }
    }
    let orders = recipe.orders.iter().map(|order| (&order.panel, &order.one, &order.other));
    let targets = recipe.targets.iter().map(|target| (&target.panel, &target.of.0, &target.over.0));
    for (at, one, other) in orders.chain(targets) {
        if panel(at).is_none() {
            return Some(format!("an order or target of {one} and {other}: no panel {at}"));
        }
        if let Some(unknown) = [one, other].into_iter().find(|name| !has_variant(name)) {
            return Some(format!("an order or target in panel {at}: no variant {unknown}"));
        }
    }
    let mut profiles = recipe.orders.iter().filter_map(|order| order.profile.as_deref());
    profiles.find(|at| panel(at).is_none()).map(|at| format!("an order: no panel {at} with profiles"))
}

#[cfg(test)]
mod tests;
