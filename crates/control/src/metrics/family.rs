//! A number, or one for each of some labels, as it is declared.

use std::fmt;

use super::readings::Readings;

/// What a number does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only grows, from the start of the server on.
    Counter,
    /// It is what it is now.
    Gauge,
    /// How many were how much, summed up from the least on, from the start of the server on: one label, `le`, of which `sum` and `count` are what they say.
    Histogram,
}

impl Kind {
    /// As both formats call it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A number that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// Most are.
    Count(u64),
    /// Times and shares.
    Real(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(count) => count.fmt(f),
            Value::Real(real) => real.fmt(f),
        }
    }
}

/// Takes the values of a family: that of each label, in the order in which they are declared, and the number.
pub(super) type Put<'p> = dyn FnMut(&[&str], Value) + 'p;

/// Where a number comes from.
pub(super) enum Read {
    /// By a look of its own, at one number or several.
    Each(fn(&Readings, &mut Put<'_>)),
    /// One of those that are declared elsewhere, by its place there. `None`: there are none now.
    At(fn(&Readings, usize) -> Option<u64>, usize),
}

/// What is declared of a number.
pub(crate) struct Family {
    /// Without the `_total` of counters.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// A sentence.
    pub(crate) help: String,
    /// Names of its labels; none: it is one number.
    pub(crate) labels: &'static [&'static str],
    /// Where it comes from, for the manual: the part of `zonda ctl stats` that has it, or what else.
    pub(crate) from: &'static str,
    pub(super) read: Read,
}

/// Units that names end with, base units all of them.
const UNITS: [&str; 2] = ["bytes", "seconds"];

impl Family {
    /// Its unit; none where it counts things.
    pub(crate) fn unit(&self) -> Option<&'static str> {
        UNITS.into_iter().find(|unit| self.name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_')))
    }

    /// The name of its values, of a histogram what these begin with.
    pub(crate) fn sample(&self) -> String {
        match self.kind {
            Kind::Counter => format!("{}_total", self.name),
            Kind::Gauge | Kind::Histogram => self.name.clone(),
        }
    }

    /// What follows that name where a value has these labels, and whether they are shown.
    pub(super) fn suffix(&self, labels: &[&str]) -> (&'static str, bool) {
        match (self.kind, labels) {
            (Kind::Histogram, ["sum"]) => ("_sum", false),
            (Kind::Histogram, ["count"]) => ("_count", false),
            (Kind::Histogram, _) => ("_bucket", true),
            _ => ("", true),
        }
    }

    /// Gives its values, none where there is nothing to be said.
    pub(super) fn each(&self, readings: &Readings, put: &mut Put<'_>) {
        match self.read {
            Read::Each(each) => each(readings, put),
            Read::At(at, place) => {
                at(readings, place).into_iter().for_each(|count| put(&[], Value::Count(count)));
            }
        }
    }
}
