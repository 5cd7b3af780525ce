//! An experiment on one screen of a terminal.

use std::path::Path;

use crate::{
    escape::terminal,
    figures::{self, Grid},
    file::REPORT,
    machine, number,
    record::{Figure, Record, Target},
    report,
};

/// Lines of a usual terminal; tables that would leave it are in the report only.
const LINES: usize = 24;
/// Warnings that are shown; the others are counted.
const NOTES_MAX: usize = 3;
/// Narrower than this no table fits.
const WIDTH_MIN: usize = 40;

/// The essential figures, what was discarded, and what warns. Lines are no longer than `width` characters.
pub fn text(record: &Record, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let mut lines = head(record, width);
    let foot = foot(record, width);
    let room = LINES.saturating_sub(lines.len() + foot.len() + 2);
    lines.push(String::new());
    lines.extend(tables(record, width, room));
    lines.push(String::new());
    lines.extend(foot);
    lines.join("\n") + "\n"
}

/// The same with a last line that says where the report is.
pub fn with_place(record: &Record, directory: &Path, width: usize) -> String {
    text(record, width) + &format!("report: {}\n", directory.join(REPORT).display())
}

fn head(record: &Record, width: usize) -> Vec<String> {
    let quick = if record.quick { " (QUICK: shows that all works, not how fast)" } else { "" };
    let title = format!("{}: {}{quick}", record.recipe, record.title);
    let when = format!("{}, {}", report::date(&record.started), report::duration(record.seconds));
    let machine = machine::line(&record.machine);
    [title, when, machine].into_iter().filter(|line| !line.is_empty()).map(|line| cut(&line, width)).collect()
}

fn foot(record: &Record, width: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        record.targets.iter().map(|target| cut(&target_line(target), width)).collect();
    let blocks = &record.blocks;
    let mut counted = format!("{} of {} blocks count", blocks.kept, blocks.kept + blocks.discarded.len());
    if let Some(first) = blocks.discarded.first() {
        counted += &format!("; first discarded: {first}");
    }
    lines.push(cut(&counted, width));
    lines.push(cut(&agreement(record), width));
    for note in record.notes.iter().take(NOTES_MAX) {
        lines.push(cut(&format!("! {note}"), width));
    }
    if record.notes.len() > NOTES_MAX {
        lines.push(format!("! {} more warnings in the report", record.notes.len() - NOTES_MAX));
    }
    lines
}

/// `met: 1.62 [1.58, 1.66] of 1.5: rate of a over b`: the figures first, as a long line is cut.
fn target_line(target: &Target) -> String {
    let interval = target.interval.map_or_else(String::new, |(low, high)| format!(" [{low:.2}, {high:.2}]"));
    let (verdict, (bound, words)) = (target.verdict(), target.bound());
    // Of what shall be at least so much, as most shall, the number alone.
    let bound = if target.least.is_some() { bound.to_string() } else { words };
    let sign = target.known().plain_sign();
    format!("{verdict}: {sign}{:.2}{interval} of {bound}: {}", target.median, target.what)
}

fn agreement(record: &Record) -> String {
    let differing: Vec<String> = record
        .agreement
        .iter()
        .filter(|agreement| agreement.equal < agreement.asked)
        .map(|agreement| {
            format!("{} {}", agreement.contender, agreement.asked.saturating_sub(agreement.equal))
        })
        .collect();
    let asked = record.agreement.iter().map(|agreement| agreement.asked).max();
    match (asked, differing.is_empty()) {
        (None, _) => "answers were not compared".to_owned(),
        (Some(asked), true) => format!("all gave equal answers to {asked} questions"),
        (Some(asked), false) => format!("different answers, of {asked}: {}", differing.join(", ")),
    }
}

/// As many grids as there is room for, the most telling first; what is left out is said.
fn tables(record: &Record, width: usize, room: usize) -> Vec<String> {
    let mut grids = figures::grids(record);
    grids.sort_by_key(|grid| {
        !is_telling(&grid.title) && !grid.columns.iter().any(|column| is_telling(&column.name))
    });
    let mut lines = Vec::new();
    let mut left_out = 0;
    for grid in &grids {
        let (grid, dropped) = table(grid, width);
        // The first is shown at any length: it is what the reader came for.
        let gap = usize::from(!lines.is_empty());
        if lines.is_empty() || lines.len() + gap + grid.len() < room {
            lines.extend((0..gap).map(|_| String::new()));
            lines.extend(grid);
            left_out += dropped;
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        lines.push(format!("({left_out} more in the report)"));
    }
    lines
}

/// Rates and what they are beside the limit come first.
fn is_telling(name: &str) -> bool {
    name.contains("echo") || name.starts_with("rate")
}

/// A grid in lines, and how many columns had no room.
fn table(grid: &Grid, width: usize) -> (Vec<String>, usize) {
    let mut order: Vec<usize> = (0..grid.columns.len()).collect();
    if grid.by_contender {
        order.sort_by_key(|&column| !is_telling(&grid.columns[column].name));
    }
    let names: Vec<String> = grid.rows.iter().map(|(name, _)| terminal(name)).collect();
    let first = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(width / 3);
    let mut lines: Vec<String> = vec![" ".repeat(first)];
    lines.extend(names.iter().map(|name| padded(name, first)));
    let (mut used, mut shown) = (first, 0);
    for &column in &order {
        let head = &grid.columns[column];
        let unit = head.metric.as_ref().map_or("", |(unit, _)| unit);
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        let mut cells = vec![terminal(&format!("{}{unit}", head.name))];
        cells.extend(aligned(&grid.rows.iter().map(|(_, cells)| cells[column]).collect::<Vec<_>>()));
        let wide = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0) + 2;
        if used + wide > width {
            continue;
        }
        for (line, cell) in lines.iter_mut().zip(&cells) {
            line.push_str(&" ".repeat(wide - cell.chars().count()));
            line.push_str(cell);
        }
        (used, shown) = (used + wide, shown + 1);
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    if !grid.title.is_empty() {
        lines.insert(0, cut(&grid.title, width));
    }
    (lines, order.len() - shown)
}

/// Medians below each other, and intervals below each other.
fn aligned(figures: &[Option<&Figure>]) -> Vec<String> {
    let parts = figures.iter().map(|figure| match figure {
        Some(figure) => {
            let ends = |(low, high)| format!(" [{}, {}]", number::long(low), number::long(high));
            (
                figure.known().plain_sign().to_owned() + &number::long(figure.median),
                figure.interval.map_or_else(String::new, ends),
            )
        }
        None => ("-".to_owned(), String::new()),
    });
    let parts: Vec<_> = parts.collect();
    let widest = parts.iter().map(|(_, interval)| interval.chars().count()).max().unwrap_or(0);
    parts.into_iter().map(|(median, interval)| format!("{median}{interval:>widest$}")).collect()
}

/// A harmless line of at most `width` characters.
fn cut(line: &str, width: usize) -> String {
    let line = terminal(&line.replace('\n', " "));
    match line.chars().count() > width {
        true => line.chars().take(width - 1).chain(['…']).collect(),
        false => line,
    }
}

fn padded(name: &str, width: usize) -> String {
    let name = cut(name, width.max(2));
    format!("{name:width$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn one_screen() {
        let record = sample::record();
        for width in [40, 80, 100] {
            let text = with_place(&record, Path::new("result"), width);
            assert!(text.lines().count() <= LINES + 1, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.ends_with("report: result/report.html\n"));
        }
        let text = text(&record, 100);
        for part in ["share of echo", "0.9120 [0.9010, 0.9190]", "12 of 14 blocks count", "QUICK", "! "] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn terminals_are_safe() {
        let mut record = sample::record();
        record.title = "\u{1b}]0;owned\u{7}".to_owned();
        record.figures[0].contender = "\u{1b}[2J".to_owned();
        record.notes = vec!["a\nb\u{1b}".to_owned()];
        assert!(!text(&record, 80).contains('\u{1b}'));
    }

    #[test]
    fn targets() {
        let mut record = sample::record();
        let target = |low, median, high| Target {
            what: "a over b".to_owned(),
            median,
            interval: Some((low, high)),
            coverage: Some(0.969),
            at_least: 0,
            at_most: 0,
            least: Some(1.5),
            most: None,
        };
        record.targets = vec![target(1.5, 1.6, 1.7), target(1.0, 1.2, 1.4), target(1.4, 1.6, 1.7)];
        let most = |median| Target { least: None, most: Some(1.5), ..target(1.4, median, 1.6) };
        record.targets.extend([most(1.45), most(1.55)]);
        record.targets.push(Target { interval: None, ..target(1.4, 1.65, 1.7) });
        record.targets.push(Target { at_least: 1, ..target(1.7, 1.8, 1.9) });
        record.targets.push(Target { at_most: 1, ..target(1.7, 1.9, 2.1) });
        let text = text(&record, 80);
        for line in [
            "met by the median only: 1.45 [1.40, 1.60] of at most 1.5: a over b\n",
            "missed by the median: 1.55 [1.40, 1.60] of at most 1.5: a over b\n",
            "not decided: 1.65 of 1.5: a over b\n",
            "met: >= 1.80 [1.70, 1.90] of 1.5: a over b\n",
            "not decided: <= 1.90 [1.70, 2.10] of 1.5: a over b\n",
            "met: 1.60 [1.50, 1.70] of 1.5: a over b\n",
            "missed: 1.20 [1.00, 1.40] of 1.5: a over b\n",
            "met by the median only: 1.60 [1.40, 1.70] of 1.5: a over b\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn nothing_measured() {
        let mut record = sample::record();
        record.figures.clear();
        record.agreement.clear();
        assert!(text(&record, 80).contains("answers were not compared"));
    }
}
