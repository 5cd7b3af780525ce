//! Settings of the generator, and other generators, against one echo server, until the server is the limit.

use std::time::Instant;

use serde_json::{Value, json};

use super::{
    Lab, Subject, Values, echo,
    runs::{self, Pair},
    table,
};
use crate::{
    Error,
    contender::{EchoOptions, Server},
    data::Zones,
    process::{self, Cpu, Process},
    recipe::{Generator, GeneratorProgram, Name},
    statistics,
};

/// A program that used this share of its cores' time was at its limit.
const BUSY_SHARE: f64 = 0.93;
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

/// Measures all settings of the generator against one echo server, and who was the limit.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let queries = echo::queries(lab)?;
    let subject = Subject {
        label: Name::Echo.text().to_owned(),
        name: Name::Echo,
        workers: 1,
        echo: EchoOptions::default(),
        cores: lab.server_cores.iter().copied().take(1).collect(),
    };
    let mut generators = lab.recipe.generators.clone();
    let has_dnsperf = process::find(DNSPERF).is_some();
    for left in generators.iter().filter(|generator| !has_dnsperf && generator.is_dnsperf()) {
        lab.note(format!("{} is left out: {DNSPERF} is missing: on Debian install {DNSPERF}", left.name));
    }
    generators.retain(|generator| has_dnsperf || !generator.is_dnsperf());
    let mut server = lab.start(&subject, &Zones::default())?;
    let mut found = Found::default();
    let labels: Vec<String> = generators.iter().map(|generator| generator.name.clone()).collect();
    runs::alternate(lab, &labels, |lab, which, run| {
        let generator = &generators[which];
        let (server_before, load_before) = (server.process.cpu(), Process::cpu_of_ended());
        let started = Instant::now();
        let counted = match generator.program {
            GeneratorProgram::Load => ours(lab, &mut server, &queries, generator)?,
            GeneratorProgram::Dnsperf => dnsperf(lab, &server, &queries, generator)?,
        };
        let seconds = started.elapsed().as_secs_f64();
        let server_used = used(server_before, server.process.cpu());
        let load_used = used(load_before, Process::cpu_of_ended());
        let name = generator.name.as_str();
        found.rates.push(name, "", counted.rate);
        found.cpu.push(name, "", load_used * 1e6 / counted.answers.max(1.0));
        found.server_busy.push(name, "", server_used / seconds);
        found.load_busy.push(name, "", load_used / seconds);
        lab.record.raw.push(json!({
            "generator": name, "run": run, "outcome": counted.outcome, "server_busy": server_used / seconds,
            "generator_busy": load_used / seconds,
        }));
        Ok(())
    })?;
    for values in [&mut found.rates, &mut found.cpu, &mut found.server_busy, &mut found.load_busy] {
        values.arrange(&labels);
    }
    report(lab, &generators, &found);
    compare(lab, &generators, &found);
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

fn ours(
    lab: &Lab,
    server: &mut Server,
    queries: &std::path::Path,
    generator: &Generator,
) -> Result<Counted, Error> {
    let mut words = generator.options.clone();
    words.extend(["--seconds".to_owned(), lab.effort.run_seconds.to_string()]);
    let outcome = lab.load(server, queries, &words)?["outcome"].take();
    let number = |name: &str| outcome[name].as_f64().unwrap_or(0.0);
    Ok(Counted { answers: number("received"), rate: number("answers_per_second"), outcome })
}

fn dnsperf(
    lab: &Lab,
    server: &Server,
    queries: &std::path::Path,
    generator: &Generator,
) -> Result<Counted, Error> {
    let folder = lab.folder("dnsperf")?;
    let (ip, port) = (server.address.ip().to_string(), server.address.port().to_string());
    let (queries, seconds) = (queries.display().to_string(), lab.effort.run_seconds.to_string());
    let words = [DNSPERF, "-s", &ip, "-p", &port, "-d", &queries, "-l", &seconds];
    let mut command = words.map(str::to_owned).to_vec();
    command.extend_from_slice(&generator.options);
    let said = process::run(&command, &lab.load_place(), &folder, &lab.stop)?;
    read_dnsperf(&said).ok_or(Error::Output { program: DNSPERF, wanted: "queries completed and run time" })
}

/// What dnsperf counted: `Queries completed: N (…)` and `Run time (s): T`.
fn read_dnsperf(said: &str) -> Option<Counted> {
    let number = |name: &str| {
        let line = said.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse::<f64>().ok()
    };
    let (answers, seconds) = (number("Queries completed")?, number("Run time (s)")?);
    let outcome = json!({ "received": answers, "lost": number("Queries lost"), "seconds": seconds });
    (seconds > 0.0).then(|| Counted { answers, rate: answers / seconds, outcome })
}

fn report(lab: &mut Lab, generators: &[Generator], found: &Found) {
    let record = &mut lab.record;
    record.figures.extend(found.rates.figures("rate", "/s", true));
    record.figures.extend(found.cpu.figures("generator CPU an answer", "us", false));
    record.figures.extend(found.server_busy.figures("server busy", "", false));
    record.figures.extend(found.load_busy.figures("generator busy", "", false));
    let row = |generator: &Generator| {
        let rates = found.rates.of(&generator.name, "");
        let median = |values: &Values| statistics::median(values.of(&generator.name, ""));
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
    record.tables.push(table("Answers a second by settings of the generator", &columns, rows, note));
    record.charts.push(found.rates.bars("Answers a second", "answers a second", &[String::new()], false));
}

/// Our best setting over each row that is there to be compared with, round by round.
fn compare(lab: &mut Lab, generators: &[Generator], found: &Found) {
    let median = |name: &str| statistics::median(found.rates.of(name, ""));
    let ours = generators.iter().filter(|generator| generator.best_over.is_none() && !generator.is_dnsperf());
    let Some(best) = ours.max_by(|one, other| median(&one.name).total_cmp(&median(&other.name))) else {
        return;
    };
    let text = format!("the best setting of ours is: {}", best.name);
    let [mut rates, mut cpu] = [(); 2].map(|()| Values::default());
    for generator in generators {
        let is_compared = generator.best_over.is_some() || generator.is_dnsperf();
        if !is_compared || found.rates.of(&generator.name, "").is_empty() {
            continue;
        }
        let pair = Pair { one: &best.name, other: &generator.name, at: "" };
        let label = format!("best over {}", generator.name);
        runs::divide(&found.rates, &pair, &label, &mut rates);
        runs::divide(&found.cpu, &pair, &label, &mut cpu);
        if let Some(least) = generator.best_over.filter(|_| !rates.of(&label, "").is_empty()) {
            let what = format!("best rate over {}", generator.name);
            lab.record.targets.push(runs::target(what, rates.of(&label, ""), least));
            // Processor time is counted in ticks: of a run that is too short it is 0, and says nothing.
            let measured = cpu.of(&label, "").iter().filter(|ratio| **ratio > 0.0);
            let per_core: Vec<f64> = measured.map(|ratio| 1.0 / ratio).collect();
            let what = format!("answers a second of its core's time over {}", generator.name);
            if !per_core.is_empty() {
                lab.record.targets.push(runs::target(what, &per_core, least));
            }
        }
    }
    if !rates.contenders().is_empty() {
        lab.note(text);
    }
    lab.record.figures.extend(rates.figures("rate ratio", "", true));
    lab.record.figures.extend(cpu.figures("generator CPU ratio", "", false));
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_dnsperf_says() {
        let said = "Statistics:\n\n  Queries sent:         2000\n  Queries completed:    1990 (99.50%)\n  Queries lost:         \
                    10 (0.50%)\n\n  Response codes:       NOERROR 1990 (100.00%)\n  Run time (s):         0.500000\n  \
                    Queries per second:   3980.0\n";
        let counted = read_dnsperf(said).unwrap();
        assert_eq!((counted.answers, counted.rate), (1990.0, 3980.0));
        assert!(read_dnsperf("Queries completed: many").is_none() && read_dnsperf("").is_none());
    }

    #[test]
    fn who_was_the_limit() {
        assert_eq!(limit(0.99, 0.5), "server");
        assert_eq!(limit(0.5, 0.99), "generator");
    }
}
