//! Echo servers: how rates vary with model, number of processes and cores.
//!
//! Runs are closed loops: so many queries outstanding, and answers counted.

use std::{fs, path::PathBuf};

use serde_json::json;

use super::{
    Lab, Subject, Values,
    runs::{self, Pair},
    table,
};
use crate::{
    Error,
    contender::{self, Bounds, EchoOptions},
    data::Zones,
    error, place,
    recipe::{EchoGroup, Name, Placement, Processes},
    record::{Chart, Point, Role, Series},
    statistics,
};

/// Queries of a run: enough that no two in flight are the same.
const QUERIES: usize = 10_000;

/// One kind of echo server.
struct Variant {
    group: String,
    at: String,
    /// Processes, where that is what varies.
    x: f64,
    subject: Subject,
}

/// Measures all echo servers of the recipe.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let queries = queries(lab)?;
    let variants = variants(lab);
    note_shared_cores(lab, &variants);
    let mut found = Values::default();
    let labels: Vec<String> =
        variants.iter().map(|variant| runs::echo_label(&variant.group, &variant.at)).collect();
    runs::alternate(lab, &labels, |lab, which, run| {
        let variant = &variants[which];
        let mut server = lab.start(&variant.subject, &Zones::default())?;
        lab.warm(&mut server, &queries)?;
        let before = server.process.cpu();
        let result = lab.load(&mut server, &queries, &closed_words(lab))?;
        let after = server.process.cpu();
        let outcome = &result["outcome"];
        found.push(&variant.group, &variant.at, outcome["answers_per_second"].as_f64().unwrap_or(0.0));
        lab.record.raw.push(json!({
            "echo": variant.group, "at": variant.at, "run": run, "outcome": outcome,
            "server_seconds": { "user": after.user - before.user, "system": after.system - before.system },
        }));
        Ok(())
    })?;
    let groups: Vec<String> = lab.recipe.echoes.iter().map(|group| group.name.clone()).collect();
    found.arrange(&groups);
    report(lab, &variants, &found);
    beside_blocking(lab, &found);
    Ok(())
}

/// Each model's rate with one process over that of `blocking` in the same round.
fn beside_blocking(lab: &mut Lab, found: &Values) {
    let at = count_text(1);
    let groups: Vec<EchoGroup> =
        lab.recipe.echoes.iter().filter(|group| group.cores == Placement::Server).cloned().collect();
    let Some(blocking) = groups.iter().find(|group| group.model == "blocking") else { return };
    let mut ratios = Values::default();
    for group in groups.iter().filter(|group| group.name != blocking.name) {
        let pair = Pair { one: &group.name, other: &blocking.name, at: &at };
        runs::divide(found, &pair, &group.name, &mut ratios);
        let values = ratios.of(&group.name, &at);
        if let Some(least) = group.over_blocking.filter(|_| !values.is_empty()) {
            let what = format!("rate of {} over {}, {at}", group.name, blocking.name);
            lab.record.targets.push(runs::target(what, values, least));
        }
    }
    lab.record.figures.extend(ratios.figures("rate over blocking", "", true));
}

fn closed_words(lab: &Lab) -> Vec<String> {
    let numbers =
        [lab.effort.window.to_string(), lab.effort.run_seconds.to_string(), lab.effort.flows.to_string()];
    let words = ["--closed", &numbers[0], "--seconds", &numbers[1], "--flows", &numbers[2], "--trains"];
    words.map(str::to_owned).to_vec()
}

/// A query file of names that no zone has to hold.
pub fn queries(lab: &Lab) -> Result<PathBuf, Error> {
    let path = lab.folder("queries")?.join("echo.queries");
    let lines: String = (0..QUERIES).map(|number| format!("name{number:05}.example. A\n")).collect();
    fs::write(&path, lines).map_err(error::file(&path, "write"))?;
    Ok(path)
}

/// All kinds that the recipe asks for on this machine.
fn variants(lab: &Lab) -> Vec<Variant> {
    lab.recipe.echoes.iter().flat_map(|group| of_group(group, &lab.server_cores)).collect()
}

fn of_group(group: &EchoGroup, server_cores: &[usize]) -> Vec<Variant> {
    let all = place::cores();
    let variant = |at: String, x: f64, processes: usize, cores: &[usize]| Variant {
        group: group.name.clone(),
        at,
        x,
        subject: Subject {
            label: "echo".to_owned(),
            name: Name::Echo,
            workers: 1,
            echo: EchoOptions {
                model: group.model.clone(),
                trains: group.trains,
                tcp: false,
                processes,
                threads: group.threads,
                sockets: group.sockets,
                cores: cores.to_vec(),
                sizes: None,
                relay: None,
            },
            cores: cores.to_vec(),
            role: contender::Role::Static,
            bounds: Bounds::default(),
            under: Vec::new(),
        },
    };
    let most = match group.processes {
        Processes::One => 1,
        Processes::EachToCores => all.len(),
    };
    match group.cores {
        Placement::Server => {
            // Beyond the server's cores the others of the machine are used, the generator's last.
            let mut cores = server_cores.to_vec();
            cores.extend(all.iter().filter(|core| !server_cores.contains(core)));
            (1..=most)
                .map(|count| {
                    variant(count_text(count), count as f64, count, &cores[..count.min(cores.len())])
                })
                .collect()
        }
        Placement::EachCore => all
            .iter()
            .enumerate()
            .map(|(x, &core)| variant(format!("core {core}"), x as f64, 1, &[core]))
            .collect(),
        Placement::EachPair => {
            let pairs = all
                .iter()
                .enumerate()
                .flat_map(|(at, &one)| all[at + 1..].iter().map(move |&other| [one, other]));
            let make = |(x, pair): (usize, [usize; 2])| {
                variant(format!("cores {}+{}", pair[0], pair[1]), x as f64, 2, &pair)
            };
            pairs.enumerate().map(make).collect()
        }
    }
}

fn count_text(count: usize) -> String {
    format!("{count} {}", if count == 1 { "process" } else { "processes" })
}

fn note_shared_cores(lab: &mut Lab, variants: &[Variant]) {
    let shares = |variant: &&Variant| variant.subject.cores.iter().any(|core| lab.load_cores.contains(core));
    let mut shared: Vec<&str> = variants.iter().filter(shares).map(|variant| variant.at.as_str()).collect();
    shared.dedup();
    if !shared.is_empty() {
        let text = format!("the echo server shares a core with the generator at: {}", shared.join("; "));
        lab.note(text);
    }
}

fn report(lab: &mut Lab, variants: &[Variant], found: &Values) {
    let record = &mut lab.record;
    record.figures.extend(found.figures("rate", "/s", true));
    let row = |variant: &Variant| {
        let values = found.of(&variant.group, &variant.at);
        let (least, most) = statistics::ends(values);
        let mut row = vec![variant.group.clone(), variant.at.clone()];
        row.extend([statistics::mean(values), least, most].map(|rate| format!("{rate:.0}")));
        row
    };
    let rows = variants.iter().map(row).collect();
    let columns = ["echo server", "where", "mean/s", "least", "most"];
    record.tables.push(table("Answers a second", &columns, rows, "Mean, least and most of all runs."));
    for group in &lab.recipe.echoes {
        let places: Vec<String> = variants
            .iter()
            .filter(|variant| variant.group == group.name)
            .map(|variant| variant.at.clone())
            .collect();
        if group.cores != Placement::Server {
            let mut chart =
                found.bars(&format!("Answers a second: {}", group.name), "answers a second", &places, false);
            chart.series.retain(|series| series.name == group.name);
            record.charts.push(chart);
        }
    }
    let point = |variant: &Variant| {
        let values = found.of(&variant.group, &variant.at);
        let (low, high) = statistics::ends(values);
        Point { x: variant.x, y: statistics::mean(values), low: Some(low), high: Some(high) }
    };
    let line = |group: &EchoGroup| Series {
        name: group.name.clone(),
        role: Role::Measured,
        points: variants.iter().filter(|variant| variant.group == group.name).map(point).collect(),
    };
    let lines: Vec<Series> =
        lab.recipe.echoes.iter().filter(|group| group.cores == Placement::Server).map(line).collect();
    if !lines.is_empty() {
        record.charts.push(Chart::lines(
            "Answers a second by processes: mean, least and most",
            ["processes", "answers a second"],
            lines,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Sockets;

    fn group(processes: Processes, cores: Placement) -> EchoGroup {
        EchoGroup {
            name: "g".into(),
            model: "mmsg".into(),
            trains: false,
            processes,
            threads: 1,
            sockets: Sockets::Each,
            cores,
            over_blocking: None,
        }
    }

    #[test]
    fn every_core_and_every_pair_once() {
        let count = place::cores().len();
        let core = place::cores()[0];
        assert_eq!(of_group(&group(Processes::One, Placement::EachCore), &[core]).len(), count);
        assert_eq!(
            of_group(&group(Processes::One, Placement::EachPair), &[core]).len(),
            count * (count - 1) / 2
        );
        let sweep = of_group(&group(Processes::EachToCores, Placement::Server), &[core]);
        assert_eq!(sweep.len(), count);
        assert!(sweep.iter().enumerate().all(|(at, variant)| variant.subject.cores.len() == at + 1));
    }
}
