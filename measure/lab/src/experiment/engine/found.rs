//! Runs that count, and values drawn from them.

use super::{
    super::{Mark, Marked, runs},
    outcome::Outcome,
};
use crate::recipe::{Cell, Shown};

/// A run that counts.
pub struct Run {
    /// Index of its cell.
    pub cell: usize,
    /// In which round; ratios are within one.
    pub round: usize,
    /// What it said.
    pub outcome: Outcome,
    /// What the machine did meanwhile.
    pub mark: Mark,
}

/// All that was found.
pub struct Found {
    /// What was run.
    pub cells: Vec<Cell>,
    /// Runs in the order in which they ended.
    pub runs: Vec<Run>,
}

impl Found {
    /// Nothing yet.
    pub fn new(cells: Vec<Cell>) -> Found {
        Found { cells, runs: Vec::new() }
    }

    /// Index of a cell.
    pub fn cell(&self, panel: usize, variant: &str, value: u64) -> Option<usize> {
        let is_it = |cell: &Cell| cell.panel == panel && cell.variant == variant && cell.value == value;
        self.cells.iter().position(is_it)
    }

    /// Runs of a cell, in order of rounds.
    pub fn of(&self, cell: usize) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.cell == cell)
    }

    /// Values of a cell, one a round.
    pub fn values(&self, cell: usize, shown: Shown) -> Vec<f64> {
        self.of(cell).filter_map(|run| run.outcome.value(shown)).collect()
    }

    /// The same with what is known of the runs.
    pub fn marked(&self, cell: usize, shown: Shown) -> Vec<(f64, Mark)> {
        self.of(cell).filter_map(|run| Some((run.outcome.value(shown)?, run.mark))).collect()
    }

    /// Rates of one cell over those of another, one for each round that has both.
    pub fn ratios(&self, one: usize, other: usize) -> Vec<f64> {
        self.marked_ratios(one, other).into_iter().map(|(ratio, _)| ratio).collect()
    }

    /// The same with what is known of the runs of the first.
    pub fn marked_ratios(&self, one: usize, other: usize) -> Vec<Marked> {
        let rates = |cell| {
            let runs = self.of(cell);
            runs.map(|run| (run.outcome.rate, Mark { round: run.round, ..run.mark })).collect::<Vec<_>>()
        };
        runs::over(&rates(one), &rates(other))
    }
}
