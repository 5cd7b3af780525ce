//! A comparison as text.

use std::fmt;

use super::{Compared, Comparison, Difference, Verdict};
use crate::{escape::terminal, number, report};

/// Longer texts of a difference are cut: settings may be pages.
const DIFFERENCE_MAX: usize = 120;
/// Figures of one record alone that are named; the others are counted.
const ONLY_MAX: usize = 6;

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            let quick = if side.quick { ", QUICK" } else { "" };
            let (recipe, date) = (terminal(&side.recipe), terminal(&report::date(&side.started)));
            writeln!(f, "{name}  {recipe}, {date}, {} blocks{quick}", side.blocks)?;
        }
        for obstacle in &self.obstacles {
            writeln!(f, "! nothing is claimed: {}", terminal(obstacle))?;
        }
        for Difference { what, a, b } in &self.differences {
            writeln!(f, "  {}: {} -> {}", terminal(what), cut(a), cut(b))?;
        }
        writeln!(f)?;
        table(f, &self.figures)?;
        for (name, only) in [("A", &self.only_a), ("B", &self.only_b)] {
            if !only.is_empty() {
                let named: Vec<_> = only.iter().take(ONLY_MAX).map(|figure| terminal(figure)).collect();
                write!(f, "only in {name}: {}", named.join("; "))?;
                match only.len().saturating_sub(ONLY_MAX) {
                    0 => writeln!(f)?,
                    more => writeln!(f, "; and {more} more")?,
                }
            }
        }
        let claimed = self.figures.iter().filter(|figure| figure.verdict != Verdict::NoClaim).count();
        write!(
            f,
            "B/A with its 95 % interval: {claimed} claims among {} figures, and of 20 that did not change one may seem to.\n\
             Rates of two runs differ with the hour of a shared machine; shares of the echo server less so.",
            self.figures.len()
        )
    }
}

fn table(f: &mut fmt::Formatter<'_>, figures: &[Compared]) -> fmt::Result {
    if figures.is_empty() {
        return writeln!(f, "no figure is in both records");
    }
    let mut rows =
        vec![["contender", "at", "metric", "A", "B", "B/A", "interval", "verdict"].map(str::to_owned)];
    if figures.iter().all(|figure| figure.at.is_empty()) {
        rows[0][1].clear();
    }
    rows.extend(figures.iter().map(row));
    let mut widths = [0; 8];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in &rows {
        let mut line = String::new();
        for (place, (cell, width)) in row.iter().zip(widths).enumerate().filter(|(_, (_, width))| *width > 0)
        {
            // Names to the left, numbers to the right, and what is said of them behind.
            let is_number = (3..7).contains(&place);
            let gap = if line.is_empty() { "" } else { "  " };
            line += &if is_number { format!("{gap}{cell:>width$}") } else { format!("{gap}{cell:width$}") };
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

fn row(figure: &Compared) -> [String; 8] {
    let unit = if figure.unit.is_empty() { String::new() } else { format!(", {}", figure.unit) };
    [
        terminal(&figure.contender),
        terminal(&figure.at),
        terminal(&format!("{}{unit}", figure.metric)),
        number::long(figure.a),
        number::long(figure.b),
        figure.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")),
        figure.interval.map_or_else(|| "too few".to_owned(), |(low, high)| format!("{low:.3} .. {high:.3}")),
        match figure.verdict {
            Verdict::Better => "better",
            Verdict::Worse => "WORSE",
            Verdict::NoClaim if figure.is_limited => "no claim: known from one side only",
            Verdict::NoClaim => "no claim",
        }
        .to_owned(),
    ]
}

fn cut(text: &str) -> String {
    let text = if text.is_empty() { "(nothing)" } else { text };
    let text = terminal(text);
    match text.chars().count() > DIFFERENCE_MAX {
        true => text.chars().take(DIFFERENCE_MAX - 1).chain(['…']).collect(),
        false => text,
    }
}
