//! A history as a table: a line a record, below the name of each contender and place.

use std::fmt;

use super::{History, Line, Of, Problem, Value};
use crate::{escape::terminal, figures, number, report};

/// Digits of a commit that are shown: enough for any repository of this size.
const COMMIT_SHOWN: usize = 10;
/// Names that an error lists; more are counted.
const NAMED_MAX: usize = 30;

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = figures::unit_name(&self.unit);
        let unit = if unit.is_empty() { String::new() } else { format!(", {}", terminal(unit)) };
        let direction = figures::direction(self.more_is_better);
        writeln!(f, "{}: {}{unit}, {direction}", terminal(&self.recipe), terminal(&self.metric))?;
        for line in &self.lines {
            write!(f, "\n{}\n{}", heading(line), table(self, line))?;
        }
        if !self.others.is_empty() {
            writeln!(f, "\nother metrics (--metric): {}", terminal(&self.others.join("; ")))?;
        }
        for unread in &self.unread {
            writeln!(f, "! left out: {}", terminal(unread))?;
        }
        f.write_str("Records differ by more than the program; `lab compare A B` says what may be claimed.")
    }
}

/// The name of a line.
pub fn heading(line: &Line) -> String {
    match line.at.is_empty() {
        true => terminal(&line.contender),
        false => terminal(&format!("{}, {}", line.contender, line.at)),
    }
}

fn table(history: &History, line: &Line) -> String {
    let rows: Vec<[String; 6]> =
        history.records.iter().zip(&line.values).filter_map(|(of, value)| Some(row(of, (*value)?))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let mut said = String::from(" ");
        for (place, (cell, width)) in row.iter().zip(widths).enumerate().filter(|(_, (_, width))| *width > 0)
        {
            // The medians stand below each other by their ends.
            said += &if place == 2 { format!(" {cell:>width$}") } else { format!(" {cell:width$}") };
            said.push(' ');
        }
        text += said.trim_end();
        text.push('\n');
    }
    text
}

fn row(of: &Of, value: Value) -> [String; 6] {
    let interval = value
        .interval
        .map_or_else(String::new, |(low, high)| format!("[{}, {}]", number::long(low), number::long(high)));
    [
        terminal(&report::date(&of.started)),
        terminal(&commit(&of.commit)),
        value.text(),
        interval,
        terminal(&of.name),
        marks(of),
    ]
}

/// The first digits of a commit, and whether the tree had changes beside it.
pub fn commit(commit: &str) -> String {
    let (digits, dirty) = match commit.strip_suffix("-dirty") {
        Some(digits) => (digits, "+"),
        None => (commit, ""),
    };
    digits.chars().take(COMMIT_SHOWN).collect::<String>() + dirty
}

/// What makes a record no neighbour of the others.
pub fn marks(of: &Of) -> String {
    let marks = [(of.quick, "quick"), (!of.is_same_machine, "other machine")];
    let said: Vec<_> = marks.into_iter().filter(|(holds, _)| *holds).map(|(_, mark)| mark).collect();
    said.join(", ")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Folder(error) => error.fmt(f),
            Problem::NoRecord { recipe, folders, unread } => {
                let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
                write!(f, "no record of {} in {}", terminal(recipe), terminal(&folders.join(", ")))?;
                unread.iter().try_for_each(|unread| write!(f, "\n  left out: {}", terminal(unread)))
            }
            Problem::NoFigure { wanted, known } => {
                let named: Vec<_> = known.iter().take(NAMED_MAX).map(|name| format!("`{name}`")).collect();
                write!(f, "no {}; there are: {}", terminal(wanted), terminal(&named.join(", ")))?;
                match known.len().saturating_sub(NAMED_MAX) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
        }
    }
}

impl std::error::Error for Problem {}
