//! Rates without loss: blocks of staircases that take turns, bracketed by echo servers.
//!
//! What varies are cases and numbers of workers. In a block every server, and two echo servers with as many workers, walk
//! a staircase each; from trial to trial it is another's turn, in random order. Only ratios within a block count. Blocks
//! whose echoes differ too much, or with a staircase that the hypervisor left no trial that counts, are discarded.

use std::{path::PathBuf, time::Instant};

use bench::{machine::Steal, random::Random};
use serde_json::{Value, json};

use super::{Lab, Load, Subject, Values, interval_text, latency, table};
use crate::{
    Error,
    contender::{EchoOptions, Server},
    data::Set,
    process::Cpu,
    recipe::{Case, Name, Sockets},
    record::{Chart, ChartKind, Point, Role, Series},
    statistics,
};

/// Order of the turns.
const SEED: u64 = 1;
/// What one processor more shall bring, of the rate of one: the line that the paper drew.
const TARGET_SHARE: f64 = 0.5;
/// The second echo of a block.
const ECHO_AGAIN: &str = "echo again";
/// The echo server whose threads share a socket.
const ECHO_SHARED: &str = "echo, one socket";

/// One of the places that are measured: a case and a number of workers.
struct Spot {
    at: String,
    case: Case,
    workers: usize,
    set: Set,
    sizes: PathBuf,
}

/// Values of all blocks.
#[derive(Default)]
struct Found {
    rates: Values,
    shares: Values,
    user: Values,
    system: Values,
    pss: Values,
}

/// Measures all spots in blocks, then latencies.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let spots = spots(lab)?;
    let mut found = Found::default();
    let mut order = Random::new(SEED);
    let (began, all) = (Instant::now(), lab.effort.blocks * spots.len());
    for number in 0..all {
        lab.go_on()?;
        let (block, spot) = (number / spots.len() + 1, &spots[number % spots.len()]);
        let text = format!("block {block} of {} {}", lab.effort.blocks, spot.at);
        lab.say_left(text.trim_end(), began, number, all - number);
        match self::block(lab, spot, &mut order) {
            Ok(raw) => judge(lab, block, spot, raw, &mut found),
            Err(Error::Server { contender, problem, said }) => {
                drop_out(lab, block, &contender, problem, said)?
            }
            Err(error) => return Err(error),
        }
    }
    report(lab, &spots, &found);
    for spot in &spots {
        let held = lab.names.iter().map(|name| statistics::median(found.rates.of(name.text(), &spot.at)));
        let weakest = held.filter(|&rate| rate > 0.0).min_by(f64::total_cmp);
        if let Some(weakest) = weakest.filter(|_| lab.effort.latency_runs > 0) {
            latency::run(lab, &spot.at, spot.workers, &spot.set, &spot.sizes, weakest)?;
        }
    }
    Ok(())
}

/// Data of all cases, with contenders compared, for each number of workers that this machine has cores for.
fn spots(lab: &mut Lab) -> Result<Vec<Spot>, Error> {
    let (mut spots, cases) = (Vec::new(), lab.recipe.cases.clone());
    let cores = lab.server_cores.len();
    let workers: Vec<usize> =
        lab.recipe.workers.iter().copied().filter(|&workers| workers <= cores).collect();
    let workers = if workers.is_empty() { vec![1] } else { workers };
    if workers.len() < lab.recipe.workers.len() {
        lab.note(format!("at most {cores} workers: the servers have so many cores (--cpus-server)"));
    }
    let most = workers.iter().copied().max().unwrap_or(1);
    if lab.server_cores.iter().take(most).any(|core| lab.load_cores.contains(core)) {
        lab.note(format!(
            "with {most} workers the servers share a core with the generator, which costs them rate"
        ));
    }
    for case in cases {
        let set = match lab.set(&case) {
            Err(error @ Error::Missing { .. }) => {
                lab.note(format!("{} is left out: {error}", case.name));
                continue;
            }
            set => set?,
        };
        lab.record.notes.push(format!("{}: {} records, {}", case.name, set.zones.records, set.source));
        let sizes = lab.prepare(&case, &set)?;
        for &workers in &workers {
            let mut at = Vec::new();
            if lab.recipe.cases.len() > 1 {
                at.push(case.name.clone());
            }
            if lab.recipe.workers.len() > 1 {
                at.push(format!("{workers} {}", if workers == 1 { "worker" } else { "workers" }));
            }
            let (case, set, sizes) = (case.clone(), set.clone(), sizes.clone());
            spots.push(Spot { at: at.join(", "), case, workers, set, sizes });
        }
    }
    if spots.is_empty() { Err(Error::Nobody) } else { Ok(spots) }
}

/// Who takes part in a block: an echo server, all contenders, another echo server.
fn subjects(lab: &Lab, spot: &Spot) -> Vec<Subject> {
    let contenders = lab.subjects(spot.workers);
    let echo = |label: &str, sockets| Subject {
        label: label.to_owned(),
        name: Name::Echo,
        workers: spot.workers,
        echo: EchoOptions {
            threads: spot.workers,
            sockets,
            sizes: Some(spot.sizes.clone()),
            ..EchoOptions::default()
        },
        cores: lab.server_cores.iter().copied().take(spot.workers).collect(),
    };
    let mut all = vec![echo(Name::Echo.text(), Sockets::Each)];
    all.extend(contenders);
    if lab.recipe.workers.len() > 1 {
        all.push(echo(ECHO_SHARED, Sockets::Shared));
    }
    all.push(echo(ECHO_AGAIN, Sockets::Each));
    all
}

/// One block: the raw results by label.
fn block(lab: &mut Lab, spot: &Spot, order: &mut Random) -> Result<Vec<(String, Value)>, Error> {
    let queries = &spot.set.queries;
    let (steal, mut servers) = (Steal::new(), Vec::new());
    for subject in subjects(lab, spot) {
        let mut server = lab.start(&subject, &spot.set.zones)?;
        lab.warm(&mut server, queries)?;
        servers.push((subject.label, server));
    }
    let before: Vec<Cpu> = servers.iter().map(|(_, server)| server.process.cpu()).collect();
    let mut loads: Vec<Load> = servers
        .iter()
        .map(|(label, server)| Load::start(lab, server, queries, label))
        .collect::<Result<_, _>>()?;
    take_turns(lab, &mut loads, order)?;
    let mut raw = Vec::new();
    for (((label, server), load), before) in servers.iter_mut().zip(loads).zip(before) {
        let mut result = load.finish(lab, server)?;
        add_use(&mut result, before, server);
        result["stolen_share"] = steal.share().into();
        raw.push((label.clone(), result));
    }
    Ok(raw)
}

/// Gives each load one trial after the other, in random order, until all have ended.
fn take_turns(lab: &Lab, loads: &mut [Load], order: &mut Random) -> Result<(), Error> {
    let mut running: Vec<usize> = (0..loads.len()).collect();
    while !running.is_empty() {
        order.shuffle(&mut running);
        lab.go_on()?;
        running.retain(|&at| loads[at].turn());
    }
    Ok(())
}

/// Adds what an answer cost the server's own processes (work that the kernel does for it in interrupts counts where it
/// happens to run), and what memory they hold.
fn add_use(result: &mut Value, before: Cpu, server: &Server) {
    let after = server.process.cpu();
    let steps = ["approach", "steps"].into_iter().filter_map(|part| result[part].as_array()).flatten();
    let count = |step: &Value| step["sent"].as_f64().unwrap_or(0.0) - step["lost"].as_f64().unwrap_or(0.0);
    let answered = steps.map(count).sum::<f64>().max(1.0);
    let micros = |spent: f64| spent * 1e6 / answered;
    result["cpu_us_per_answer"] =
        json!({ "user": micros(after.user - before.user), "system": micros(after.system - before.system) });
    result["pss_octets"] = server.process.pss().into();
}

/// Keeps or discards a block.
fn judge(lab: &mut Lab, number: usize, spot: &Spot, raw: Vec<(String, Value)>, found: &mut Found) {
    let rate = |result: &Value| result["rate"].as_f64().unwrap_or(0.0);
    let of =
        |label: &str| raw.iter().find(|(known, _)| known == label).map_or(0.0, |(_, result)| rate(result));
    let echoes = [of(Name::Echo.text()), of(ECHO_AGAIN)];
    let mean = f64::midpoint(echoes[0], echoes[1]);
    let mut why = Vec::new();
    if (echoes[0] - echoes[1]).abs() > lab.effort.echo_spread * mean {
        why.push(format!("the echoes differ, {:.0} and {:.0}/s", echoes[0], echoes[1]));
    }
    for (label, result) in &raw {
        if result["limit"] == "machine disturbed" {
            why.push(format!("{label} was disturbed all the time"));
        } else if rate(result) <= 0.0 {
            why.push(format!("{label} held no rate"));
        }
    }
    for (label, result) in &raw {
        let (rate, cpu) = (rate(result), &result["cpu_us_per_answer"]);
        let part = |name: &str| cpu[name].as_f64().unwrap_or(0.0);
        let limit = result["limit"].as_str().unwrap_or("");
        let (user, system) = (part("user"), part("system"));
        eprintln!("  {label}: {rate:.0}/s ({limit}), {user:.2} us user and {system:.2} us system an answer");
        if why.is_empty() {
            let who = if label == ECHO_AGAIN { Name::Echo.text() } else { label };
            found.rates.push(who, &spot.at, rate);
            found.user.push(who, &spot.at, user);
            found.system.push(who, &spot.at, system);
            found.pss.push(who, &spot.at, result["pss_octets"].as_f64().unwrap_or(0.0));
            if who != Name::Echo.text() {
                found.shares.push(who, &spot.at, rate / mean);
            }
        }
    }
    let results: serde_json::Map<String, Value> = raw.into_iter().collect();
    lab.record.raw.push(json!({ "block": number, "at": spot.at, "discarded": why, "results": results }));
    if why.is_empty() {
        lab.record.blocks.kept += 1;
    } else {
        let at = if spot.at.is_empty() { String::new() } else { format!(", {}", spot.at) };
        let text = format!("block {number}{at}: {}", why.join("; "));
        eprintln!("  discarded: {}", why.join("; "));
        lab.record.blocks.discarded.push(text);
    }
}

/// A server failed within a block: the block is discarded and the server takes no further part.
fn drop_out(
    lab: &mut Lab,
    block: usize,
    contender: &str,
    problem: crate::error::ServerProblem,
    said: String,
) -> Result<(), Error> {
    let error = Error::Server { contender: contender.to_owned(), problem, said };
    if contender == Name::Echo.text() {
        return Err(error);
    }
    lab.names.retain(|name| name.text() != contender);
    lab.record.blocks.discarded.push(format!("block {block}: {contender} failed"));
    lab.note(format!("{contender} takes no further part: {error}"));
    if lab.names.is_empty() { Err(Error::Nobody) } else { Ok(()) }
}

fn report(lab: &mut Lab, spots: &[Spot], found: &Found) {
    let record = &mut lab.record;
    record.figures.extend(found.rates.figures("rate", "/s", true));
    record.figures.extend(found.shares.figures("share of echo", "", true));
    record.figures.extend(found.user.figures("user CPU", "us", false));
    record.figures.extend(found.system.figures("system CPU", "us", false));
    record.figures.extend(found.pss.figures("PSS", "octets", false));
    let places: Vec<String> = spots.iter().map(|spot| spot.at.clone()).collect();
    for spot in spots {
        record.tables.push(rate_table(spot, found));
    }
    let title = "Rate that half of all trials hold";
    if spots.iter().any(|spot| spot.workers > 1) {
        for case in &lab.recipe.cases {
            let of_case: Vec<&Spot> = spots.iter().filter(|spot| spot.case.name == case.name).collect();
            record.charts.push(scaling(&format!("{title}: {}", case.name), &of_case, found));
        }
    } else {
        record.charts.push(found.rates.bars(title, "queries a second", &places, false));
        record.charts.push(found.shares.bars("Share of the echo server's rate", "share", &places, false));
    }
    for (values, part) in [(&found.user, "in the program (user)"), (&found.system, "in the kernel (system)")]
    {
        let title = format!("Processor time an answer, {part}");
        record.charts.push(values.bars(&title, "microseconds", &places, false));
    }
}

fn rate_table(spot: &Spot, found: &Found) -> crate::record::Table {
    let rates = found.rates.figures("", "", true);
    let shares = found.shares.figures("", "", true);
    let median = |values: &Values, who: &str| statistics::median(values.of(who, &spot.at));
    let row = |figure: &crate::record::Figure| {
        let who = figure.contender.as_str();
        let share = shares.iter().find(|share| share.contender == who && share.at == spot.at);
        vec![
            who.to_owned(),
            format!("{:.0}", figure.median),
            share.map_or_else(|| "1".to_owned(), |share| format!("{:.3}", share.median)),
            share.map_or_else(String::new, |share| interval_text(share, 3)),
            format!("{:.2}", median(&found.user, who)),
            format!("{:.2}", median(&found.system, who)),
            format!("{:.1}", median(&found.pss, who) / f64::from(1 << 20)),
        ]
    };
    let rows = rates.iter().filter(|figure| figure.at == spot.at).map(row).collect();
    let title = if spot.at.is_empty() { spot.case.name.clone() } else { spot.at.clone() };
    let columns = ["server", "rate/s", "of echo", "95 %", "user us", "system us", "PSS MiB"];
    table(&title, &columns, rows, "Processor time is by answer; memory is that at the end of a block.")
}

/// Rates over workers, with the line that the paper drew: half the rate of one worker for each one more.
fn scaling(title: &str, spots: &[&Spot], found: &Found) -> Chart {
    let mut series = Vec::new();
    for name in found.rates.contenders() {
        let points =
            spots.iter().filter_map(|spot| super::point(spot.workers as f64, found.rates.of(name, &spot.at)));
        let points: Vec<Point> = points.collect();
        if let Some(first) = points.first().filter(|first| first.x == 1.0 && name == Name::Zonda.text()) {
            let goal = |point: &Point| Point {
                y: first.y * (1.0 + TARGET_SHARE * (point.x - 1.0)),
                low: None,
                high: None,
                ..*point
            };
            let points = points.iter().map(goal).collect();
            series.push(Series {
                name: "zonda's one worker, +50 % for each more".to_owned(),
                role: Role::Target,
                points,
            });
        }
        series.push(Series { name: name.to_owned(), role: Role::Measured, points });
    }
    Chart {
        title: title.to_owned(),
        kind: ChartKind::Lines,
        x_label: "workers".to_owned(),
        y_label: "queries a second".to_owned(),
        y_log: false,
        categories: Vec::new(),
        series,
    }
}
