//! Echo servers: how rates vary with model, number of processes and cores.
//!
//! Runs are closed loops: so many queries outstanding, and answers counted.

use std::{fs, path::PathBuf};

use serde_json::json;

use super::{
    Lab, Mark, Subject, Values,
    runs::{self, Pair},
    table,
    validity::{self, Judged, Made},
    values,
};
use crate::{
    Error,
    bed::Steered,
    contender::{self, Bounds, EchoOptions},
    data::Zones,
    error,
    known::Known,
    place,
    recipe::{COMBINED_CORES_MAX, EchoGroup, Name, Placement, Processes, Receive},
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
    receive: Receive,
    subject: Subject,
}

/// Measures all echo servers of the recipe.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let queries = queries(lab)?;
    let variants = variants(lab);
    note_shared_cores(lab, &variants);
    note_left_out(lab, &variants);
    let mut found = Values::default();
    let labels: Vec<String> =
        variants.iter().map(|variant| runs::echo_label(&variant.group, &variant.at)).collect();
    runs::alternate(lab, &labels, |lab, which, run| {
        let variant = &variants[which];
        let _steered = receive(lab, variant.receive)?;
        let judged = validity::judged(lab, &format!("run {run}, {}", labels[which]), |lab| {
            let mut server = lab.start(&variant.subject, &Zones::default())?;
            lab.warm(&mut server, &queries)?;
            let before = server.process.cpu();
            let outcome = lab.load(&mut server, &queries, &closed_words(lab))?["outcome"].take();
            let after = server.process.cpu();
            let raw = json!({
                "echo": variant.group, "at": variant.at, "run": run, "outcome": outcome,
                "server_seconds": { "user": after.user - before.user, "system": after.system - before.system },
            });
            let value = outcome["answers_per_second"].as_f64().unwrap_or(0.0);
            Ok(Made { value, raw, outcome, answers_all: true })
        })?;
        if let Some(Judged { value, conditions }) = judged {
            let mark = Mark::of(run, &conditions).known(Known::at_least_if(conditions.is_limited));
            found.push_marked(&variant.group, &variant.at, value, mark);
        }
        Ok(())
    })?;
    let groups: Vec<String> = lab.recipe.echoes.iter().map(|group| group.name.clone()).collect();
    found.arrange(&groups);
    report(lab, &variants, &found);
    beside_blocking(lab, &found);
    Ok(())
}

/// Has packets received where a group says, until what comes back is dropped.
fn receive(lab: &Lab, receive: Receive) -> Result<Option<Steered>, Error> {
    match (receive, place::cores().last()) {
        (Receive::Last, Some(&core)) => lab.bed.receive_on(core),
        _ => Ok(None),
    }
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
        let values = ratios.marked(&group.name, &at);
        if let Some(least) = group.over_blocking.filter(|_| !values.is_empty()) {
            let what = format!("rate of {} over {}, {at}", group.name, blocking.name);
            lab.record.targets.push(runs::target(what, &values, least));
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
        receive: group.receive,
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
        placement => {
            let make = |(x, set): (usize, Vec<usize>)| variant(set_text(&set), x as f64, set.len(), &set);
            placement.sets(&all).into_iter().enumerate().map(make).collect()
        }
    }
}

/// `core 3`, or `cores 0+2`.
fn set_text(cores: &[usize]) -> String {
    let numbers: Vec<String> = cores.iter().map(usize::to_string).collect();
    format!("{} {}", if cores.len() == 1 { "core" } else { "cores" }, numbers.join("+"))
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

/// Says which groups this machine has no places for, and where not all sets of its cores are measured.
fn note_left_out(lab: &mut Lab, variants: &[Variant]) {
    let cores = place::cores().len();
    for group in lab.recipe.echoes.clone() {
        let is_combined = matches!(group.cores, Placement::EachPair | Placement::EachTriple);
        if !variants.iter().any(|variant| variant.group == group.name) {
            lab.note(format!("{}: not measured, {cores} cores are too few", group.name));
        } else if is_combined && cores > COMBINED_CORES_MAX {
            lab.note(format!("{}: of {cores} cores {COMBINED_CORES_MAX} are combined", group.name));
        }
        if group.receive == Receive::Last && lab.bed.name() == "loopback" {
            let name = &group.name;
            lab.note(format!("{name}: the sender's core receives, as the loopback interface has it"));
        }
    }
}

fn report(lab: &mut Lab, variants: &[Variant], found: &Values) {
    let record = &mut lab.record;
    record.figures.extend(found.figures("rate", "/s", true));
    let row = |variant: &Variant| {
        let values = found.of(&variant.group, &variant.at);
        let (least, most) = statistics::ends(values);
        let mut row = vec![variant.group.clone(), variant.at.clone()];
        row.extend(
            [statistics::median(values), statistics::mean(values), least, most]
                .map(|rate| format!("{rate:.0}")),
        );
        row.push(match values::one_sided(found.marks(&variant.group, &variant.at)) {
            (0, _) => String::new(),
            (limited, _) => format!("in {limited} of {} runs", values.len()),
        });
        row
    };
    let rows = variants.iter().map(row).collect();
    let columns = ["echo server", "where", "median/s", "mean/s", "least", "most", "generator the limit"];
    let note = "Of all runs that count; the mean is what the source published. Where the generator was the limit, the \
                server can do at least so much.";
    record.tables.push(table("Answers a second", &columns, rows, note));
    for group in &lab.recipe.echoes {
        let places: Vec<String> = variants
            .iter()
            .filter(|variant| variant.group == group.name)
            .map(|variant| variant.at.clone())
            .collect();
        if group.cores != Placement::Server && !places.is_empty() {
            let mut chart =
                found.bars(&format!("Answers a second: {}", group.name), "answers a second", &places, false);
            chart.series.retain(|series| series.name == group.name);
            record.charts.push(chart);
        }
    }
    let point = |variant: &Variant| {
        let values = found.of(&variant.group, &variant.at);
        let (low, high) = statistics::ends(values);
        Point::at(variant.x, statistics::mean(values)).between(low, high)
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
            receive: Receive::Bed,
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
            count.min(COMBINED_CORES_MAX) * (count.min(COMBINED_CORES_MAX) - 1) / 2
        );
        let sets = |placement: Placement, cores: usize| placement.sets(&(0..cores).collect::<Vec<_>>());
        assert_eq!(sets(Placement::EachTriple, 4), [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]);
        assert_eq!((sets(Placement::EachTriple, 2).len(), sets(Placement::EachTriple, 64).len()), (0, 56));
        assert_eq!(sets(Placement::EachPair, 64).last(), Some(&vec![48, 56]));
        assert_eq!((set_text(&[3]), set_text(&[0, 2])), ("core 3".to_owned(), "cores 0+2".to_owned()));
        let sweep = of_group(&group(Processes::EachToCores, Placement::Server), &[core]);
        assert_eq!(sweep.len(), count);
        assert!(sweep.iter().enumerate().all(|(at, variant)| variant.subject.cores.len() == at + 1));
    }
}
