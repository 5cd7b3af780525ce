//! What the values say: orders that others found and whether they are found here, targets, and where more threads answer
//! less than one.

use super::{
    super::{Lab, Values, runs, table},
    found::{Found, Run},
};
use crate::{
    number,
    recipe::{Axis, Count, CountWord, Expected, Order, Panel, Recipe, Shown},
    record::Table,
    statistics,
};

/// Rates that differ by less than this are hardly different.
const ALIKE: f64 = 0.1;
/// Changes made, of those asked for, below which it is said that there were fewer.
const WRITTEN_LEAST: f64 = 0.95;

/// Adds orders, targets, alarms and complaints of too few changes.
pub fn report(lab: &mut Lab, found: &Found) {
    let recipe = lab.recipe.clone();
    let cores = lab.server_cores.len();
    lab.record.tables.extend(orders(&recipe, found, cores));
    targets(lab, &recipe, found, cores);
    alarms(lab, &recipe, found);
    too_few_writes(lab, &recipe, found);
}

/// What came of an order.
pub fn verdict(expected: Expected, ratios: &[f64]) -> &'static str {
    let median = statistics::median(ratios);
    let Some((low, high)) = statistics::interval(ratios) else { return "not decided, by too few runs" };
    match expected {
        Expected::Faster if low > 1.0 => "reproduced",
        Expected::Faster if high < 1.0 => "differs: the first is slower",
        Expected::Faster => "differs: not told apart",
        Expected::NotSlower if median >= 1.0 - ALIKE => "reproduced",
        Expected::NotSlower => "differs: the first is slower",
        Expected::Alike if (1.0 - ALIKE..=1.0 / (1.0 - ALIKE)).contains(&median) => "reproduced",
        Expected::Alike if median > 1.0 => "differs: the first is faster",
        Expected::Alike => "differs: the first is slower",
    }
}

/// Where the other one is, if not where the first is.
fn elsewhere(panel: &Panel, value: u64, other_value: u64) -> String {
    if value == other_value { String::new() } else { format!(" with {}", panel.axis.place(other_value)) }
}

/// `elsewhere`: what is said behind the other's name.
fn expected_words(order: &Order, elsewhere: &str) -> String {
    let Order { one, other, expected, .. } = order;
    let other = format!("{other}{elsewhere}");
    match expected {
        Expected::Faster => format!("{one} faster than {other}"),
        Expected::NotSlower => format!("{one} no slower than {other}"),
        Expected::Alike => format!("{one} and {other} hardly differ"),
    }
}

/// The orders as tables, one a panel and place.
fn orders(recipe: &Recipe, found: &Found, cores: usize) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for order in &recipe.orders {
        let Some((place, panel)) = find(recipe, &order.panel) else { continue };
        let value = order.value.unwrap_or(Count::Word(CountWord::Cores)).number(cores);
        let other_value = order.other_value.map_or(value, |count| count.number(cores));
        let cells = (found.cell(place, &order.one, value), found.cell(place, &order.other, other_value));
        let (Some(one), Some(other)) = cells else { continue };
        let ratios = found.ratios(one, other);
        if ratios.is_empty() {
            continue;
        }
        let ratio = number::long(statistics::median(&ratios));
        let interval = statistics::interval(&ratios)
            .map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
        let row = vec![
            format!("{}. {}", expected_words(order, &elsewhere(panel, value, other_value)), order.said),
            ratio + &interval,
            verdict(order.expected, &ratios).to_owned(),
            reason(recipe, found, order),
        ];
        let title = format!("What others found, and what is found here: {}", panel.place(value));
        match tables.iter_mut().find(|table| table.title == title) {
            Some(table) => table.rows.push(row),
            None => {
                let columns = ["found by others", "rates here (95 %)", "verdict", "measured beside it"];
                tables.push(table(&title, &columns, vec![row], &ranking(recipe, found, place, value)));
            }
        }
    }
    tables
}

/// All variants at a place from the fastest to the slowest; those that are not told apart have `≈` between them.
fn ranking(recipe: &Recipe, found: &Found, place: usize, value: u64) -> String {
    let cells = recipe.variants.iter().filter_map(|variant| {
        let cell = found.cell(place, &variant.name, value)?;
        let rates = found.values(cell, Shown::Rate);
        (!rates.is_empty()).then(|| (variant.name.as_str(), cell, statistics::median(&rates)))
    });
    let mut cells: Vec<(&str, usize, f64)> = cells.collect();
    cells.sort_by(|one, other| other.2.total_cmp(&one.2));
    let mut text = "From the fastest to the slowest: ".to_owned();
    for (index, (name, cell, rate)) in cells.iter().enumerate() {
        if index > 0 {
            let ratios = found.ratios(cells[index - 1].1, *cell);
            let is_apart = statistics::interval(&ratios).is_some_and(|(low, _)| low > 1.0);
            text += if is_apart { " > " } else { " ≈ " };
        }
        text += &format!("{name} {}/s", number::short(*rate));
    }
    text + "; ≈ are not told apart by these runs."
}

/// What the profiler and the processor time say of both.
fn reason(recipe: &Recipe, found: &Found, order: &Order) -> String {
    let Some((place, panel)) = order.profile.as_deref().and_then(|at| find(recipe, at)) else {
        return String::new();
    };
    let of = |variant: &str| {
        let cells = found.cells.iter().enumerate();
        let mut cells = cells.filter(|(_, cell)| cell.panel == place && cell.variant == variant);
        let run = cells.find_map(|(which, _)| found.of(which).last())?;
        let locks = run.outcome.locks.as_ref()?;
        let share = locks.share_waited * 100.0;
        let cause = locks.causes.iter().max_by(|one, other| one.share.total_cmp(&other.share));
        let cause = cause.filter(|cause| cause.share > 0.0).map_or_else(String::new, |cause| {
            format!(", {:.0} % of it for {}", cause.share * 100.0, cause.name)
        });
        Some(format!("{variant} waits {share:.1} % of its time{cause}"))
    };
    let parts: Vec<String> = [&order.one, &order.other].into_iter().filter_map(|name| of(name)).collect();
    if parts.is_empty() { format!("no profile ({})", panel.at) } else { parts.join("; ") }
}

fn find<'a>(recipe: &'a Recipe, at: &str) -> Option<(usize, &'a Panel)> {
    recipe.panels.iter().enumerate().find(|(_, panel)| panel.at == at)
}

fn targets(lab: &mut Lab, recipe: &Recipe, found: &Found, cores: usize) {
    for target in &recipe.targets {
        let Some((place, panel)) = find(recipe, &target.panel) else { continue };
        let [of, over] = [&target.of, &target.over].map(|(variant, count)| {
            let value = count.number(cores);
            (format!("{variant}, {}", panel.axis.place(value)), found.cell(place, variant, value))
        });
        let (Some(one), Some(other)) = (of.1, over.1) else { continue };
        let ratios = found.marked_ratios(one, other);
        if !ratios.is_empty() {
            let what = format!("{}: rate of {} over {}", panel.at, of.0, over.0);
            lab.record.targets.push(runs::target(what, &ratios, target.least));
        }
    }
}

/// Rates of several threads over that of one, and a warning where they are lower.
fn alarms(lab: &mut Lab, recipe: &Recipe, found: &Found) {
    let mut values = Values::default();
    let mut alarms = Vec::new();
    let panels = recipe.panels.iter().enumerate();
    for (place, panel) in panels.filter(|(_, panel)| panel.alarm && panel.axis == Axis::Threads) {
        for variant in &recipe.variants {
            let Some(one) = found.cell(place, &variant.name, 1) else { continue };
            let mut slower = Vec::new();
            let cells = found.cells.iter().enumerate();
            for (which, cell) in cells
                .filter(|(_, cell)| cell.panel == place && cell.variant == variant.name && cell.value > 1)
            {
                let marked = found.marked_ratios(which, one);
                let ratios: Vec<f64> = marked.iter().map(|(ratio, _)| *ratio).collect();
                let median = statistics::median(&ratios);
                if statistics::interval(&ratios).is_some_and(|(_, high)| high < 1.0) {
                    slower.push(format!("{} {median:.2}", panel.axis.place(cell.value)));
                }
                for (ratio, mark) in marked {
                    values.push_marked(&variant.name, &panel.place(cell.value), ratio, mark);
                }
            }
            if !slower.is_empty() {
                let (at, name, slower) = (&panel.at, &variant.name, slower.join(", "));
                alarms.push(format!(
                    "ALARM, {at}: {name} answers less with more threads than with one: {slower}"
                ));
            }
        }
    }
    lab.record.figures.extend(values.figures("rate over one thread", "", true));
    alarms.into_iter().for_each(|alarm| lab.note(alarm));
}

/// Says where a variant did not make the changes asked for: its readers then had an easier time.
fn too_few_writes(lab: &mut Lab, recipe: &Recipe, found: &Found) {
    let mut notes = Vec::new();
    for (which, cell) in found.cells.iter().enumerate() {
        // In a short run the count is off by one either way.
        let share = |run: &Run| {
            let writes = run.outcome.writes.as_ref().filter(|writes| writes.asked > 0.0)?;
            Some((writes.done + 1.0) / writes.asked)
        };
        let shares: Vec<f64> = found.of(which).filter_map(share).collect();
        let share = statistics::median(&shares);
        if !shares.is_empty() && share < WRITTEN_LEAST {
            let (at, percent) = (recipe.panels[cell.panel].place(cell.value), share * 100.0);
            notes.push(format!("{}, {at}: {percent:.0} % of the changes asked for were made", cell.variant));
        }
    }
    notes.into_iter().for_each(|note| lab.note(note));
}
