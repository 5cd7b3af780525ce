//! Who waited for what: the profiler's reports, sorted as the paper sorted its own.

use super::{
    super::{Lab, table},
    found::Found,
    outcome::{Line, Locks},
};
use crate::{
    recipe::{Panel, Shown},
    record::{Chart, Point, Role, Series, Text},
    statistics,
};

/// The paper's reasons to wait, in charts and in tables, and what each is called by the engine.
const REASONS: [(&str, &str, &[&str]); 4] = [
    ("memory for building answers", "for memory", &["memory"]),
    ("reference counters", "for counters", &["counter"]),
    ("data of zones and records", "for zones, records", &["zone table", "zone data", "bucket"]),
    ("inside the reader-writer lock", "inside the rwlock", &["rwlock internals"]),
];
/// What none of them is.
const OTHER: (&str, &str) = ("other", "for others");
/// Lines of a report that are shown: those that tell.
const LINES: usize = 14;
/// Lines of one lock that are shown.
const LOCKERS: usize = 4;

/// Adds tables, charts and lines of panels with profiles.
pub fn report(lab: &mut Lab, found: &Found) {
    let recipe = lab.recipe.clone();
    for (place, panel) in recipe.panels.iter().enumerate() {
        let cells = found.cells.iter().enumerate().filter(|(_, cell)| cell.panel == place);
        let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
        let mut texts = Vec::new();
        let has_places = panel.numbers(lab.record.quick, lab.server_cores.len()).len() > 1;
        for (which, cell) in cells {
            let locks: Vec<&Locks> = found.of(which).filter_map(|run| run.outcome.locks.as_ref()).collect();
            let Some(last) = locks.last() else { continue };
            let at = panel.axis.place(cell.value);
            let name = if has_places { format!("{}, {at}", cell.variant) } else { cell.variant.clone() };
            if panel.shows.contains(&Shown::Lines) {
                texts.push(Text {
                    title: format!("{name}: the profiler's lines"),
                    text: lines(last),
                    note: NOTE.to_owned(),
                });
            }
            columns.push((name, shares(&locks)));
        }
        if columns.is_empty() {
            continue;
        }
        lab.record.tables.push(shares_table(panel, &columns));
        if panel.shows.contains(&Shown::Lines) {
            lab.record.charts.push(chart(panel, &columns));
        }
        lab.record.texts.extend(texts);
    }
}

/// Below the lines.
const NOTE: &str = "As BIND 9 wrote it: where the lock was made or taken, how often, seconds held, seconds waited for. The locks that were \
     waited for longest, in the last run.";

/// Medians of the shares of the threads' time: of all waiting, then by reason, then of what is none of these.
fn shares(locks: &[&Locks]) -> Vec<f64> {
    let by = |is_meant: &dyn Fn(&str) -> bool| {
        let of = |locks: &&Locks| {
            let causes = locks.causes.iter().filter(|cause| is_meant(&cause.name));
            // The sum of nothing is minus zero.
            locks.share_waited * (causes.map(|cause| cause.share).sum::<f64>() + 0.0)
        };
        statistics::median(&locks.iter().map(of).collect::<Vec<_>>())
    };
    let waited: Vec<f64> = locks.iter().map(|locks| locks.share_waited).collect();
    let mut all = vec![statistics::median(&waited)];
    all.extend(REASONS.iter().map(|(.., names)| by(&|name: &str| names.contains(&name))));
    all.push(by(&|name: &str| !REASONS.iter().any(|(.., names)| names.contains(&name))));
    all
}

/// Rows as the paper's; the last only where something is in it.
fn row_names(columns: &[(String, Vec<f64>)]) -> Vec<(&'static str, &'static str)> {
    let has_other = columns.iter().any(|(_, shares)| shares.last().is_some_and(|&share| share > 0.0));
    REASONS.iter().map(|(name, short, _)| (*name, *short)).chain(has_other.then_some(OTHER)).collect()
}

fn shares_table(panel: &Panel, columns: &[(String, Vec<f64>)]) -> crate::record::Table {
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let mut rows = vec![vec!["time waited".to_owned()]];
    rows[0].extend(columns.iter().map(|(_, shares)| percent(shares[0])));
    for (index, (_, name)) in row_names(columns).into_iter().enumerate() {
        let mut row = vec![format!("of it {name}")];
        row.extend(columns.iter().map(|(_, shares)| match shares[0] > 0.0 {
            true => percent(shares[index + 1] / shares[0]),
            false => "–".to_owned(),
        }));
        rows.push(row);
    }
    let mut heads = vec!["%"];
    heads.extend(columns.iter().map(|(name, _)| name.as_str()));
    let title = format!("Threads waiting for locks: {}", panel.name);
    table(
        &title,
        &heads,
        rows,
        "Share of the time of all threads, below it shares of the waiting; medians of all runs.",
    )
}

fn chart(panel: &Panel, columns: &[(String, Vec<f64>)]) -> Chart {
    let series = row_names(columns).into_iter().enumerate().map(|(index, (name, _))| Series {
        name: name.to_owned(),
        role: Role::Measured,
        points: columns
            .iter()
            .enumerate()
            .map(|(x, (_, shares))| Point::at(x as f64, shares[index + 1] * 100.0))
            .collect(),
    });
    Chart::bars(
        format!("{}: what threads wait for", panel.name),
        "% of the threads' time",
        columns.iter().map(|(name, _)| name.clone()).collect(),
        series.collect(),
    )
}

/// The locks waited for longest in BIND's layout, and below each the lines that took it.
fn lines(locks: &Locks) -> String {
    let mut sorted: Vec<_> = locks.locks.iter().collect();
    sorted.sort_by(|one, other| other.made.waited_s.total_cmp(&one.made.waited_s));
    let mut all = Vec::new();
    for lock in sorted {
        all.push(line("", &lock.made, &lock.name));
        all.extend(lock.lockers.iter().take(LOCKERS).map(|locker| line("  ", locker, "")));
    }
    let more = all.len().saturating_sub(LINES);
    all.truncate(LINES);
    if more > 0 {
        all.push(format!("… {more} more lines"));
    }
    all.join("\n")
}

fn line(indent: &str, line: &Line, name: &str) -> String {
    let file = line.file.rsplit('/').next().unwrap_or(&line.file);
    let Line { line, count, held_s, waited_s, .. } = line;
    let text = format!("{indent}{file:<16} {line:>4}: {count:>10} {held_s:>10.6} {waited_s:>10.6}  {name}");
    text.trim_end().to_owned()
}
