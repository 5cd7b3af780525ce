//! Echo servers: how rates vary with model, number of processes and cores; and settings of the generator, until the
//! server is the limit.
//!
//! Runs are closed loops: so many queries outstanding, and answers counted. The runs of one kind are not made one after
//! the other but alternate with those of all others, in random order, so that a slower minute of the machine slows all.

use std::{fs, path::PathBuf, time::Instant};

use bench::random::Random;
use serde_json::json;

use super::{Lab, Subject, Values, table};
use crate::{
    Error,
    contender::EchoOptions,
    data::Zones,
    error, place,
    process::Process,
    recipe::{EchoGroup, Name, Placement, Processes},
    record::{Chart, ChartKind, Point, Role, Series},
    statistics,
};

/// Order of the runs.
const SEED: u64 = 4;
/// Queries of a run: enough that no two in flight are the same.
const QUERIES: usize = 10_000;
/// A program that used this share of its cores' time was at its limit.
const BUSY_SHARE: f64 = 0.93;

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
    let mut order: Vec<usize> = (0..variants.len()).collect();
    let mut random = Random::new(SEED);
    let (began, runs) = (Instant::now(), lab.effort.runs);
    for run in 0..runs {
        lab.say_left(
            &format!("run {} of {runs} of each of {}", run + 1, variants.len()),
            began,
            run,
            runs - run,
        );
        random.shuffle(&mut order);
        for &which in &order {
            lab.go_on()?;
            let variant = &variants[which];
            let mut server = lab.start(&variant.subject, &Zones::default())?;
            lab.warm(&mut server, &queries)?;
            let before = server.process.cpu();
            let result = lab.load(&mut server, &queries, &closed_words(lab))?;
            let after = server.process.cpu();
            let outcome = &result["outcome"];
            found.push(&variant.group, &variant.at, outcome["answers_per_second"].as_f64().unwrap_or(0.0));
            lab.record.raw.push(json!({
                "echo": variant.group, "at": variant.at, "run": run + 1, "outcome": outcome,
                "server_seconds": { "user": after.user - before.user, "system": after.system - before.system },
            }));
        }
        lab.record.blocks.kept += 1;
    }
    report(lab, &variants, &found);
    Ok(())
}

fn closed_words(lab: &Lab) -> Vec<String> {
    let numbers =
        [lab.effort.window.to_string(), lab.effort.run_seconds.to_string(), lab.effort.flows.to_string()];
    let words = ["--closed", &numbers[0], "--seconds", &numbers[1], "--flows", &numbers[2], "--trains"];
    words.map(str::to_owned).to_vec()
}

/// A query file of names that no zone has to hold.
fn queries(lab: &Lab) -> Result<PathBuf, Error> {
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
                processes,
                threads: group.threads,
                sockets: group.sockets,
                cores: cores.to_vec(),
                sizes: None,
            },
            cores: cores.to_vec(),
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
            let text = |count: usize| format!("{count} {}", if count == 1 { "process" } else { "processes" });
            (1..=most)
                .map(|count| variant(text(count), count as f64, count, &cores[..count.min(cores.len())]))
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
        record.charts.push(Chart {
            title: "Answers a second by processes: mean, least and most".to_owned(),
            kind: ChartKind::Lines,
            x_label: "processes".to_owned(),
            y_label: "answers a second".to_owned(),
            y_log: false,
            categories: Vec::new(),
            series: lines,
        });
    }
}

/// Measures all settings of the generator against one echo server, and who was the limit.
pub fn run_generators(lab: &mut Lab) -> Result<(), Error> {
    let queries = queries(lab)?;
    let subject = Subject {
        label: "echo".to_owned(),
        name: Name::Echo,
        workers: 1,
        echo: EchoOptions::default(),
        cores: lab.server_cores.iter().copied().take(1).collect(),
    };
    let generators = lab.recipe.generators.clone();
    let mut server = lab.start(&subject, &Zones::default())?;
    let [mut rates, mut server_busy, mut load_busy] = [(); 3].map(|()| Values::default());
    let mut order: Vec<usize> = (0..generators.len()).collect();
    let mut random = Random::new(SEED);
    let (began, runs) = (Instant::now(), lab.effort.runs);
    for run in 0..runs {
        lab.say_left(
            &format!("run {} of {runs} of each of {}", run + 1, generators.len()),
            began,
            run,
            runs - run,
        );
        random.shuffle(&mut order);
        for &which in &order {
            lab.go_on()?;
            let generator = &generators[which];
            let mut words = generator.options.clone();
            words.extend(["--seconds".to_owned(), lab.effort.run_seconds.to_string()]);
            let (server_before, load_before, started) =
                (server.process.cpu(), Process::cpu_of_ended(), Instant::now());
            let result = lab.load(&mut server, &queries, &words)?;
            let seconds = started.elapsed().as_secs_f64();
            let (server_after, load_after) = (server.process.cpu(), Process::cpu_of_ended());
            let busy = |before: crate::process::Cpu, after: crate::process::Cpu| {
                (after.user + after.system - before.user - before.system) / seconds
            };
            rates.push(&generator.name, "", result["outcome"]["answers_per_second"].as_f64().unwrap_or(0.0));
            server_busy.push(&generator.name, "", busy(server_before, server_after));
            load_busy.push(&generator.name, "", busy(load_before, load_after));
            lab.record.raw.push(json!({
                "generator": generator.name, "run": run + 1, "outcome": result["outcome"],
                "server_busy": busy(server_before, server_after), "generator_busy": busy(load_before, load_after),
            }));
        }
        lab.record.blocks.kept += 1;
    }
    lab.record.figures.extend(rates.figures("rate", "/s", true));
    lab.record.figures.extend(server_busy.figures("server busy", "", false));
    lab.record.figures.extend(load_busy.figures("generator busy", "", false));
    let row = |generator: &crate::recipe::Generator| {
        let median = |values: &Values| statistics::median(values.of(&generator.name, ""));
        let (server, load) = (median(&server_busy), median(&load_busy));
        let (least, most) = statistics::ends(rates.of(&generator.name, ""));
        let mut row = vec![generator.name.clone(), generator.options.join(" ")];
        row.extend(
            [statistics::mean(rates.of(&generator.name, "")), least, most].map(|rate| format!("{rate:.0}")),
        );
        row.extend([server, load].map(|busy| format!("{:.0} %", busy * 100.0)));
        row.push(limit(server, load).to_owned());
        row
    };
    let rows = lab.recipe.generators.iter().map(row).collect();
    let columns =
        ["generator", "options", "mean/s", "least", "most", "server busy", "generator busy", "limit"];
    let note = "Busy is the share of one core's time; on a veth pair the sender of a packet does much of the receiver's work.";
    lab.record.tables.push(table("Answers a second by settings of the generator", &columns, rows, note));
    lab.record.charts.push(rates.bars("Answers a second", "answers a second", &[String::new()], false));
    Ok(())
}

/// Who was at the limit.
fn limit(server: f64, load: f64) -> &'static str {
    match (server >= BUSY_SHARE, load >= BUSY_SHARE) {
        (true, true) => "both",
        (true, false) => "server",
        (false, true) => "generator",
        (false, false) => "neither: too few outstanding",
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
            processes,
            threads: 1,
            sockets: Sockets::Each,
            cores,
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
