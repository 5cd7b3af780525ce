//! A figure over all records of a recipe, by time and commit.
//!
//! * here: which records, which figures. * `text`: as a table. * `page`: as a page with charts.
//!
//! Nothing is claimed of the way from one record to the next: that takes both whole, with settings, versions and machine
//! ([`compare`](mod@crate::compare)). What makes two neighbours differ beside the program is marked.

mod page;
mod text;

use std::path::PathBuf;

use serde::Serialize;

use crate::{
    file::Error,
    known::Known,
    machine, number,
    record::{Figure, Record},
    records::{self, Records},
};

pub use page::page;

/// Which figures of which records.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The recipe.
    pub recipe: String,
    /// The metric; the first one of the newest record without.
    pub metric: Option<String>,
    /// The contender; all without.
    pub contender: Option<String>,
    /// Where in what varies; everywhere without.
    pub at: Option<String>,
    /// Folders of results, or folders with such.
    pub folders: Vec<PathBuf>,
}

/// The history of a recipe.
#[derive(Debug, Serialize)]
pub struct History {
    /// The recipe.
    pub recipe: String,
    /// The metric.
    pub metric: String,
    /// Its unit, empty for a ratio.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// The records, oldest first.
    pub records: Vec<Of>,
    /// A line for each contender and place, in the order of the newest record.
    pub lines: Vec<Line>,
    /// Other metrics that the newest record has.
    pub others: Vec<String>,
    /// Records that could not be read, in words.
    pub unread: Vec<String>,
}

/// A record of the history.
#[derive(Debug, Serialize)]
pub struct Of {
    /// Name of its folder.
    pub name: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// The commit that it was made at; empty where it does not say.
    pub commit: String,
    /// Whether it was a quick run.
    pub quick: bool,
    /// Whether its machine is that of the newest record.
    pub is_same_machine: bool,
}

/// A figure over time.
#[derive(Debug, Serialize)]
pub struct Line {
    /// Who.
    pub contender: String,
    /// Where in what varies.
    pub at: String,
    /// What each record has of it, as long as [`History::records`].
    pub values: Vec<Option<Value>>,
}

/// A figure of one record.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Value {
    /// Median.
    pub median: f64,
    /// Its interval, where it has one.
    pub interval: Option<(f64, f64)>,
    /// Values that it is of.
    pub values: usize,
    /// Of how many of them it is known only that they are at least so much, as where the generator was the limit.
    pub at_least: usize,
    /// Of how many that they are at most so much.
    pub at_most: usize,
}

/// Why there is no history.
#[derive(Debug)]
pub enum Problem {
    /// A folder could not be read.
    Folder(Error),
    /// No record of the recipe is there.
    NoRecord {
        /// The recipe.
        recipe: String,
        /// Where it was looked for.
        folders: Vec<PathBuf>,
        /// Records that could not be read, in words.
        unread: Vec<String>,
    },
    /// Records are there, but no such figure.
    NoFigure {
        /// What was asked for.
        wanted: String,
        /// What there is in its place.
        known: Vec<String>,
    },
}

/// Finds the records and puts the figure's values beside each other.
pub fn history(wanted: &Wanted) -> Result<History, Problem> {
    let Records { found, unread } = records::of(&wanted.recipe, &wanted.folders).map_err(Problem::Folder)?;
    let Some(newest) = found.last().map(|found| &found.record) else {
        let (recipe, folders) = (wanted.recipe.clone(), wanted.folders.clone());
        return Err(Problem::NoRecord { recipe, folders, unread });
    };
    let figures = || found.iter().rev().flat_map(|found| &found.record.figures);
    let metrics = distinct(figures().map(|figure| &*figure.metric));
    let metric = wanted.metric.as_deref().or(metrics.first().copied());
    let first = figures().find(|figure| Some(&*figure.metric) == metric);
    let Some(first) = first else {
        return Err(lacking("metric", metric.unwrap_or_default(), metrics));
    };
    let of_metric = || figures().filter(|figure| figure.metric == first.metric && figure.unit == first.unit);
    let is_wanted = |figure: &&Figure| {
        wanted.contender.as_ref().is_none_or(|contender| *contender == figure.contender)
            && wanted.at.as_ref().is_none_or(|at| *at == figure.at)
    };
    let places = distinct(of_metric().filter(is_wanted).map(|figure| (&*figure.contender, &*figure.at)));
    if places.is_empty() {
        return Err(nowhere(wanted, of_metric()));
    }
    let line = |&(contender, at): &(&str, &str)| Line {
        contender: contender.to_owned(),
        at: at.to_owned(),
        values: found.iter().map(|found| value(&found.record, first, contender, at)).collect(),
    };
    Ok(History {
        recipe: wanted.recipe.clone(),
        metric: first.metric.clone(),
        unit: first.unit.clone(),
        more_is_better: first.more_is_better,
        lines: places.iter().map(line).collect(),
        others: metrics
            .iter()
            .filter(|&&metric| metric != first.metric)
            .map(|&metric| metric.to_owned())
            .collect(),
        records: found.iter().map(|found| of(&found.name, &found.record, newest)).collect(),
        unread,
    })
}

/// Which of contender and place is not there.
fn nowhere<'a>(wanted: &Wanted, figures: impl Iterator<Item = &'a Figure> + Clone) -> Problem {
    let contenders = distinct(figures.clone().map(|figure| &*figure.contender));
    match &wanted.contender {
        Some(contender) if !contenders.contains(&&**contender) => lacking("contender", contender, contenders),
        _ => {
            let places = distinct(figures.map(|figure| &*figure.at));
            lacking("place", wanted.at.as_deref().unwrap_or_default(), places)
        }
    }
}

fn lacking(what: &str, name: &str, known: Vec<&str>) -> Problem {
    let known = known.into_iter().map(str::to_owned).collect();
    Problem::NoFigure { wanted: format!("{what} `{name}`"), known }
}

fn of(name: &str, record: &Record, newest: &Record) -> Of {
    Of {
        name: name.to_owned(),
        started: record.started.clone(),
        commit: record.commit().to_owned(),
        quick: record.quick,
        is_same_machine: machine::identity(&record.machine) == machine::identity(&newest.machine),
    }
}

fn value(record: &Record, like: &Figure, contender: &str, at: &str) -> Option<Value> {
    let is_it = |figure: &&Figure| {
        figure.contender == contender
            && figure.at == at
            && figure.metric == like.metric
            && figure.unit == like.unit
    };
    let figure = record.figures.iter().find(is_it)?;
    Some(Value {
        median: figure.median,
        interval: figure.interval,
        values: figure.values.len(),
        at_least: figure.at_least,
        at_most: figure.at_most,
    })
}

fn distinct<T: PartialEq>(names: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

impl Value {
    /// The median in words, with a mark where it is known from one side only.
    fn text(&self) -> String {
        format!("{}{}", Known::of(self.at_least, self.at_most).sign(), number::long(self.median))
    }
}

impl History {
    /// As one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts, numbers and lists have a form in JSON")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
