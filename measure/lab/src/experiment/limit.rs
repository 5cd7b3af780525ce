//! Settings of the generator, and other generators, against two echo servers, until the server is the limit: one that moves
//! single packets, as a name server does, and one that takes trains, which tells what the generator can do.

use std::{path::Path, time::Instant};

use serde_json::{Value, json};

use super::{
    Lab, Mark, Subject, Values, echo,
    foreign::{self, Counts},
    runs::{self, Pair},
    table,
    validity::{self, Judged, Made},
};
use crate::{
    Error,
    contender::{Bounds, EchoOptions, Role, Server},
    data::Zones,
    process::{self, Cpu, Process},
    recipe::{Generator, GeneratorProgram, Name},
    statistics,
};

/// A program that used this share of its cores' time was at its limit.
const BUSY_SHARE: f64 = 0.93;
/// The echo servers: where values are, and whether each takes trains.
const ECHOES: [(&str, bool); 2] = [("echo", false), ("echo with trains", true)];
/// What the other generator is called, on the path and as a package.
const DNSPERF: &str = "dnsperf";

/// Values of all runs.
#[derive(Default)]
struct Found {
    rates: Values,
    cpu: Values,
    server_busy: Values,
    load_busy: Values,
}

/// What a generator counted.
struct Counted {
    answers: f64,
    rate: f64,
    outcome: Value,
}

/// Measures all settings of the generator against both echo servers, and who was the limit.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let queries = echo::queries(lab)?;
    let generators = generators(lab);
    let mut servers = Vec::new();
    for (_, trains) in ECHOES {
        let subject = subject(lab, trains);
        servers.push(lab.start(&subject, &Zones::default())?);
    }
    let mut found = Found::default();
    // Kind `n`: generator `n / 2` against server `n % 2`.
    let kinds = generators.iter().flat_map(|generator| ECHOES.map(|(at, _)| (generator, at)));
    let labels: Vec<String> = kinds.map(|(generator, at)| format!("{}, {at}", generator.name)).collect();
    runs::alternate(lab, &labels, |lab, which, run| {
        let (generator, echo) = (&generators[which / ECHOES.len()], which % ECHOES.len());
        measure(lab, generator, (&mut servers[echo], ECHOES[echo].0), (&queries, run), &mut found)
    })?;
    let names: Vec<String> = generators.iter().map(|generator| generator.name.clone()).collect();
    for values in [&mut found.rates, &mut found.cpu, &mut found.server_busy, &mut found.load_busy] {
        values.arrange(&names);
        values.arrange_places(&ECHOES.map(|(at, _)| at));
    }
    let record = &mut lab.record;
    record.figures.extend(found.rates.figures("rate", "/s", true));
    record.figures.extend(found.cpu.figures("generator CPU an answer", "us", false));
    record.figures.extend(found.server_busy.figures("server busy", "", false));
    record.figures.extend(found.load_busy.figures("generator busy", "", false));
    for (at, _) in ECHOES {
        report(lab, &generators, &found, at);
        compare(lab, &generators, &found, at);
    }
    Ok(())
}

/// Those of the recipe that this machine has.
fn generators(lab: &mut Lab) -> Vec<Generator> {
    let mut generators = lab.recipe.generators.clone();
    let has_dnsperf = process::find(DNSPERF).is_some();
    for left in generators.iter().filter(|generator| !has_dnsperf && generator.is_dnsperf()) {
        lab.note(format!("{} is left out: {DNSPERF} is missing: on Debian install {DNSPERF}", left.name));
    }
    generators.retain(|generator| has_dnsperf || !generator.is_dnsperf());
    generators
}

fn subject(lab: &Lab, trains: bool) -> Subject {
    Subject {
        label: Name::Echo.text().to_owned(),
        name: Name::Echo,
        workers: 1,
        echo: EchoOptions { trains, ..EchoOptions::default() },
        cores: lab.server_cores.iter().copied().take(1).collect(),
        role: Role::Static,
        bounds: Bounds::default(),
        under: Vec::new(),
    }
}

/// One run of a generator against a server.
fn measure(
    lab: &mut Lab,
    generator: &Generator,
    (server, at): (&mut Server, &str),
    (queries, run): (&Path, usize),
    found: &mut Found,
) -> Result<(), Error> {
    let name = generator.name.as_str();
    let judged = validity::judged(lab, &format!("run {run}, {name}, {at}"), |lab| {
        let (server_before, load_before) = (server.process.cpu(), Process::cpu_of_ended());
        let started = Instant::now();
        let counted = match generator.program {
            GeneratorProgram::Load => ours(lab, server, queries, generator)?,
            GeneratorProgram::Dnsperf => dnsperf(lab, server, queries, generator)?,
        };
        let seconds = started.elapsed().as_secs_f64();
        let server_used = used(server_before, server.process.cpu());
        let load_used = used(load_before, Process::cpu_of_ended());
        let busy = [server_used / seconds, load_used / seconds];
        let raw = json!({
            "generator": name, "server": at, "run": run, "outcome": counted.outcome,
            "server_busy": busy[0], "generator_busy": busy[1],
        });
        let value = (counted.rate, load_used * 1e6 / counted.answers.max(1.0), busy);
        // The generator is what is measured, to its limit: no rule is for what it says of itself.
        Ok(Made { value, raw, outcome: Value::Null, answers_all: false })
    })?;
    if let Some(Judged { value: (rate, cpu, [server_busy, load_busy]), conditions }) = judged {
        let mark = Mark::of(run, &conditions);
        found.rates.push_marked(name, at, rate, mark);
        found.cpu.push_marked(name, at, cpu, mark);
        found.server_busy.push_marked(name, at, server_busy, mark);
        found.load_busy.push_marked(name, at, load_busy, mark);
    }
    Ok(())
}

impl Generator {
    fn is_dnsperf(&self) -> bool {
        self.program == GeneratorProgram::Dnsperf
    }
}

fn used(before: Cpu, after: Cpu) -> f64 {
    after.user + after.system - before.user - before.system
}

fn ours(lab: &Lab, server: &mut Server, queries: &Path, generator: &Generator) -> Result<Counted, Error> {
    let mut words = generator.options.clone();
    words.extend(["--seconds".to_owned(), lab.effort.run_seconds.to_string()]);
    let outcome = lab.load(server, queries, &words)?["outcome"].take();
    let number = |name: &str| outcome[name].as_f64().unwrap_or(0.0);
    Ok(Counted { answers: number("received"), rate: number("answers_per_second"), outcome })
}

fn dnsperf(lab: &Lab, server: &Server, queries: &Path, generator: &Generator) -> Result<Counted, Error> {
    let folder = lab.folder("dnsperf")?;
    let (ip, port) = (server.address.ip().to_string(), server.address.port().to_string());
    let (queries, seconds) = (queries.display().to_string(), lab.effort.run_seconds.to_string());
    let words = [DNSPERF, "-s", &ip, "-p", &port, "-d", &queries, "-l", &seconds];
    let mut command = words.map(str::to_owned).to_vec();
    command.extend_from_slice(&generator.options);
    let said = process::run(&command, &lab.load_place(), &folder, &lab.stop)?;
    let Counts { sent, answered, seconds, .. } = foreign::dnsperf::read(&said)
        .ok_or(Error::Output { program: DNSPERF, wanted: "queries sent and completed, and run time" })?;
    let outcome = json!({ "received": answered, "lost": sent - answered, "seconds": seconds });
    Ok(Counted { answers: answered, rate: answered / seconds, outcome })
}

fn report(lab: &mut Lab, generators: &[Generator], found: &Found, at: &str) {
    let record = &mut lab.record;
    let row = |generator: &Generator| {
        let rates = found.rates.of(&generator.name, at);
        let median = |values: &Values| statistics::median(values.of(&generator.name, at));
        let (server, load) = (median(&found.server_busy), median(&found.load_busy));
        let (least, most) = statistics::ends(rates);
        let program = if generator.is_dnsperf() { "dnsperf " } else { "" };
        let mut row = vec![generator.name.clone(), program.to_owned() + &generator.options.join(" ")];
        row.extend([statistics::mean(rates), least, most].map(|rate| format!("{rate:.0}")));
        row.push(format!("{:.2}", median(&found.cpu)));
        row.extend([server, load].map(|busy| format!("{:.0} %", busy * 100.0)));
        row.push(limit(server, load).to_owned());
        row
    };
    let rows = generators.iter().map(row).collect();
    let columns = [
        "generator",
        "options",
        "mean/s",
        "least",
        "most",
        "CPU us an answer",
        "server busy",
        "generator busy",
        "limit",
    ];
    let note = "Busy is the share of one core's time; on a veth pair the sender of a packet does much of the receiver's work.";
    record.tables.push(table(
        &format!("Answers a second by settings of the generator: {at}"),
        &columns,
        rows,
        note,
    ));
    let places = [at.to_owned()];
    record.charts.push(found.rates.bars("Answers a second", "answers a second", &places, false));
}

/// Our best setting over each row that is there to be compared with, round by round.
fn compare(lab: &mut Lab, generators: &[Generator], found: &Found, at: &str) {
    let median = |name: &str| statistics::median(found.rates.of(name, at));
    let (ours, others): (Vec<&Generator>, Vec<&Generator>) =
        generators.iter().partition(|generator| generator.best_over.is_none() && !generator.is_dnsperf());
    let best = ours.into_iter().max_by(|one, other| median(&one.name).total_cmp(&median(&other.name)));
    let Some(best) = best else { return };
    let [mut rates, mut per_core] = [(); 2].map(|()| Values::default());
    for generator in others.into_iter().filter(|generator| !found.rates.of(&generator.name, at).is_empty()) {
        let label = format!("best over {}", generator.name);
        runs::divide(&found.rates, &Pair { one: &best.name, other: &generator.name, at }, &label, &mut rates);
        // Processor time an answer, the other way round: answers a second of processor time.
        runs::divide(
            &found.cpu,
            &Pair { one: &generator.name, other: &best.name, at },
            &label,
            &mut per_core,
        );
        let Some(least) = generator.best_over.filter(|_| !rates.of(&label, at).is_empty()) else { continue };
        let targets = [("rate", &rates), ("answers a second of its core's time", &per_core)];
        for (what, values) in targets {
            let what = format!("{at}: best {what} over {}", generator.name);
            // Processor time is counted in ticks: of a run that is too short it is 0, and says nothing.
            let mut values = values.marked(&label, at);
            values.retain(|&(ratio, _)| ratio > 0.0);
            if !values.is_empty() {
                lab.record.targets.push(runs::target(what, &values, least));
            }
        }
    }
    if !rates.contenders().is_empty() {
        lab.note(format!("{at}: the best setting of ours is: {}", best.name));
    }
    lab.record.figures.extend(rates.figures("rate ratio", "", true));
    lab.record.figures.extend(per_core.figures("answers by core time, ratio", "", true));
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

    #[test]
    fn who_was_the_limit() {
        assert_eq!(limit(0.99, 0.5), "server");
        assert_eq!(limit(0.5, 0.99), "generator");
    }
}
