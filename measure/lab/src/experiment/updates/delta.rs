//! One update in a large zone, and a million changed records in it: what they take of memory, of the rate of queries, and of a start.
//!
//! ```text
//! each contender: updates one at a time
//! Zonda: a million changes -> memory -> rates, in turn with a server of the zone as it was -> killed, started
//! ```
//!
//! A merge puts what has changed into a new pack. The server is set to do so later than any of this; files of packs show whether one came all the same.

mod changing;
mod report;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bench::{query, transfer::drain};
use serde_json::json;
use wire::NameBuf;

use changing::changing;
use report::report;

use super::{Taker, failures, single, single::Single};
use crate::{
    Error,
    contender::{self, Bounds, Role, Server},
    data::Set,
    error::ServerProblem,
    experiment::{
        Lab, Mark, Marked, Values, runs,
        validity::{self, Gather, Heard},
    },
    known::Known,
    recipe::{Case, Name},
};

/// Messages in flight: 32,000 names in a commit, half of the most that one may have.
const WINDOW: &str = "64";
/// After many changes: what was allocated for commits is given back, and files of what has changed are written.
const SETTLED: Duration = Duration::from_secs(2);
/// Hundredths of a zone that have to change until a server merges: more than is changed here.
const MERGE_PERCENT: u8 = 100;
/// How often a server that is started again is asked.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// How long an answer is waited for that has to come.
const ANSWER: Duration = Duration::from_secs(5);

/// What the log says of a start that took what has changed from a file ready for that, not change by change.
const FROM_IMAGES: &str = "1 of them from images";

/// Metrics: name, unit, whether more is better.
const METRICS: [(&str, &str, bool); 12] = [
    ("update until the reply, p50", "ms", false),
    ("update until served, p50", "ms", false),
    ("update until served, worst", "ms", false),
    ("served after the reply, worst", "ms", false),
    ("memory of the first update", "KiB", false),
    ("memory of an update, worst", "KiB", false),
    ("memory of an update", "KiB", false),
    ("octets a changed record", "octets", false),
    ("rate over the delta", "/s", true),
    ("rate of the pack alone", "/s", true),
    ("rate over the pack alone", "", true),
    ("start that replays", "ms", false),
];

#[derive(Default)]
struct Found {
    by: Vec<(&'static str, Values)>,
}

impl Gather for Found {
    fn gather(&mut self, run: Found, mark: Mark) {
        for (metric, values) in run.by {
            self.values(metric).gather(values, mark);
        }
    }
}

impl Found {
    /// Adds what there is one of in a run of the recipe.
    fn push(&mut self, metric: &'static str, who: &str, at: &str, value: f64) {
        self.push_marked(metric, who, at, (value, Mark::default()));
    }

    fn push_marked(&mut self, metric: &'static str, who: &str, at: &str, (value, mark): Marked) {
        self.values(metric).push_marked(who, at, value, mark);
    }

    fn values(&mut self, metric: &'static str) -> &mut Values {
        let at = self.by.iter().position(|(known, _)| *known == metric).unwrap_or(self.by.len());
        if at == self.by.len() {
            self.by.push((metric, Values::default()));
        }
        &mut self.by[at].1
    }

    fn of(&self, metric: &str, who: &str, at: &str) -> &[f64] {
        let values = self.by.iter().find(|(known, _)| *known == metric);
        values.map_or(&[], |(_, values)| values.of(who, at))
    }

    fn known(&self, metric: &str, who: &str, at: &str) -> Known {
        let values = self.by.iter().find(|(known, _)| *known == metric);
        values.map_or(Known::Exactly, |(_, values)| values.known(who, at))
    }

    fn marked(&self, metric: &str, who: &str, at: &str) -> Vec<Marked> {
        let values = self.by.iter().find(|(known, _)| *known == metric);
        values.map_or_else(Vec::new, |(_, values)| values.marked(who, at))
    }
}

/// Measures all contenders with updates one at a time, and Zonda with many.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let names = lab.able(Role::Dynamic { is_signed: false }, "");
    let mut found = Found::default();
    for case in lab.recipe.cases.clone() {
        let set = lab.set(&case)?;
        for &name in &names {
            lab.go_on()?;
            lab.say(&format!("{}, {}", name.text(), case.name));
            match measure(lab, name, &case, &set, &mut found) {
                Err(error @ (Error::Server { .. } | Error::Program { .. } | Error::Output { .. })) => {
                    lab.note(format!("{} is left out: {error}", name.text()));
                }
                result => result?,
            }
        }
        report(lab, &case, &found);
    }
    if lab.record.raw.is_empty() {
        return Err(Error::Nobody);
    }
    for (metric, unit, more_is_better) in METRICS {
        if let Some((_, values)) = found.by.iter().find(|(known, _)| *known == metric) {
            lab.record.figures.extend(values.figures(metric, unit, more_is_better));
        }
    }
    runs::change_targets(lab, "rate over the pack alone", |metric, who, at| found.marked(metric, who, at));
    Ok(())
}

fn start(lab: &mut Lab, name: Name, set: &Set) -> Result<Server, Error> {
    let mut subject = lab.subject_as(name, 1, Role::Dynamic { is_signed: false });
    let is_zonda = name.of_zonda(&lab.programs).is_some();
    subject.bounds = Bounds {
        history_octets: lab.recipe.changes.history_octets.filter(|_| is_zonda),
        log_octets: lab.recipe.changes.log_octets,
        merge_percent: is_zonda.then_some(MERGE_PERCENT),
        ..Bounds::default()
    };
    lab.start(&subject, &set.zones)
}

fn measure(lab: &mut Lab, name: Name, case: &Case, set: &Set, found: &mut Found) -> Result<(), Error> {
    let apex = set.zones.list.first().map_or(".", |(apex, _)| apex.as_str()).to_owned();
    let mut kept = None;
    let label = format!("{}, single updates, {}", name.text(), case.name);
    let counts = validity::gathered(lab, &label, 0, found, |lab, found| {
        // Anew for each attempt, as a name can be added only once; the one before gives its memory back first.
        drop(kept.take());
        let server = start(lab, name, set)?;
        server.process.settle(lab.effort.load_seconds);
        let single = single::run(lab, &server, &apex, lab.effort.updates)?;
        push_single(name, case, &single, found);
        kept = Some(server);
        Ok(Heard::default())
    })?;
    lab.record.blocks.kept += usize::from(counts);
    match kept {
        Some(server) if name == Name::Zonda => many(lab, server, (&apex, case), set, found),
        _ => Ok(()),
    }
}

fn push_single(name: Name, case: &Case, single: &Single, found: &mut Found) {
    let (who, at) = (name.text(), case.name.as_str());
    let [replied, ..] = Single::summary(&single.replied);
    let [served, _, served_worst] = Single::summary(&single.served);
    let [_, _, after] = Single::summary(&single.after_reply);
    let kibibytes = |octets: f64| octets / 1024.0;
    for (metric, value) in [
        ("update until the reply, p50", replied),
        ("update until served, p50", served),
        ("update until served, worst", served_worst),
        ("served after the reply, worst", after),
        ("memory of the first update", kibibytes(single.memory_first as f64)),
        ("memory of an update, worst", kibibytes(single.memory_worst as f64)),
        ("memory of an update", kibibytes(single.memory_each)),
    ] {
        found.push(metric, who, at, value);
    }
}

/// A million changes, and what comes of them.
fn many(
    lab: &mut Lab,
    server: Server,
    (apex, case): (&str, &Case),
    set: &Set,
    found: &mut Found,
) -> Result<(), Error> {
    let changing = changing(lab, apex, set)?;
    let mut alone = start(lab, server.name, set)?;
    let mut taker = Taker::Server(server);
    let (packs_before, allocated) = (packs(&taker)?, resident(&taker)?);
    let began = Instant::now();
    let accepted = change(lab, &mut taker, &changing.messages)?;
    let took = began.elapsed().as_secs_f64();
    std::thread::sleep(SETTLED);
    let records = (accepted * changing.records as f64).max(1.0);
    let octets = resident(&taker)?.saturating_sub(allocated) as f64 / records;
    let at = case.name.as_str();
    found.push("octets a changed record", Name::Zonda.text(), at, octets);
    lab.record.raw.push(json!({
        "delta_of": Name::Zonda.text(), "at": at, "records": records, "seconds": took, "octets_a_record": octets,
    }));
    let Taker::Server(mut server) = taker else { return Err(Error::Nobody) };
    server.process.settle(lab.effort.load_seconds);
    rates(lab, (&mut server, &mut alone), &packs_before, case, (&set.queries, &changing.queries), found)?;
    drop(alone);
    starts(lab, server, &packs_before, (apex, case), found)
}

/// Sends all messages of a file and returns the share of them that was accepted.
fn change(lab: &mut Lab, taker: &mut Taker, file: &Path) -> Result<f64, Error> {
    let seconds = lab.effort.load_seconds.to_string();
    let timeout = (lab.effort.load_seconds * 1e3).to_string();
    let words = ["--update-rate", "max", "--update-window", WINDOW, "--update-tcp", "--seconds", &seconds];
    let mut words = words.map(str::to_owned).to_vec();
    words.extend(["--update-timeout-ms".to_owned(), timeout]);
    let result = lab.update(taker, file, &words)?;
    let failed = failures(&result);
    if failed > 0 {
        lab.note(format!("{failed} of the messages with many changes were refused or not answered"));
    }
    Ok(result["accepted"].as_f64().unwrap_or(0.0) / result["planned"].as_f64().unwrap_or(1.0).max(1.0))
}

/// Files of packs.
fn packs(taker: &Taker) -> Result<BTreeSet<PathBuf>, Error> {
    match taker {
        Taker::Server(server) => Ok(packs_of(server)),
        Taker::Limit(..) => Err(Error::Nobody),
    }
}

fn packs_of(server: &Server) -> BTreeSet<PathBuf> {
    let files = fs::read_dir(server.folder.join("packs")).into_iter().flatten().flatten();
    let is_pack = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "zpack");
    files.map(|file| file.path()).filter(is_pack).collect()
}

/// What a server has allocated.
fn resident(taker: &Taker) -> Result<u64, Error> {
    match taker {
        Taker::Server(server) => Ok(server.process.resident().1),
        Taker::Limit(..) => Err(Error::Nobody),
    }
}

/// Rates of both servers in turn, with names of the whole zone and with such as have changed.
fn rates(
    lab: &mut Lab,
    (delta, alone): (&mut Server, &mut Server),
    packs: &BTreeSet<PathBuf>,
    case: &Case,
    (all, changed): (&Path, &Path),
    found: &mut Found,
) -> Result<(), Error> {
    let sets = [("all names", all), ("changed names", changed)];
    for (_, queries) in sets {
        lab.warm(delta, queries)?;
        lab.warm(alone, queries)?;
    }
    let who = Name::Zonda.text();
    for pair in 1..=lab.effort.pairs {
        let (mut merged, label) = (false, format!("pair {pair} of {}, {}", lab.effort.pairs, case.name));
        let counts = validity::gathered(lab, &label, pair, found, |lab, found| {
            for (what, queries) in sets {
                // Now one is first, now the other.
                let (over, pack) = if pair % 2 == 1 {
                    let over = rate(lab, delta, pair, queries)?;
                    (over, rate(lab, alone, pair, queries)?)
                } else {
                    let pack = rate(lab, alone, pair, queries)?;
                    (rate(lab, delta, pair, queries)?, pack)
                };
                merged |= packs_of(delta) != *packs;
                if merged {
                    // What was found before in this pair is of the delta, and is compared with nothing else.
                    break;
                }
                let at = format!("{}, {what}", case.name);
                found.push_marked("rate over the delta", who, &at, over);
                found.push_marked("rate of the pack alone", who, &at, pack);
                for ratio in runs::over(&[over], &[pack]) {
                    found.push_marked("rate over the pack alone", who, &at, ratio);
                }
                lab.record.raw.push(json!({ "pair": pair, "at": at, "delta": over.0, "pack": pack.0 }));
            }
            // Closed loops have no schedule.
            Ok(Heard::default())
        })?;
        if merged {
            discard_merged(lab, &format!("in pair {pair} of {}", lab.effort.pairs));
            return Ok(());
        }
        lab.record.blocks.kept += usize::from(counts);
    }
    Ok(())
}

/// A server that has merged is another one.
fn discard_merged(lab: &mut Lab, when: &str) {
    let text = format!("the server merged {when}: it and what follows do not count");
    lab.record.blocks.discarded.push(text.clone());
    lab.note(text);
}

/// Answers a second, in a pair of runs.
fn rate(lab: &Lab, server: &mut Server, pair: usize, queries: &Path) -> Result<Marked, Error> {
    let numbers =
        [lab.effort.window.to_string(), lab.effort.run_seconds.to_string(), lab.effort.flows.to_string()];
    let words = ["--closed", &numbers[0], "--seconds", &numbers[1], "--flows", &numbers[2], "--trains"];
    let result = lab.load(server, queries, &words.map(str::to_owned))?;
    let outcome = &result["outcome"];
    let mark = Mark::in_round(pair).known(validity::known_of(outcome));
    Ok((outcome["answers_per_second"].as_f64().unwrap_or(0.0), mark))
}

/// Kills the server and starts it again, as often as there are runs.
fn starts(
    lab: &mut Lab,
    mut server: Server,
    packs: &BTreeSet<PathBuf>,
    (apex, case): (&str, &Case),
    found: &mut Found,
) -> Result<(), Error> {
    let apex: NameBuf = query::name_from_text(apex).ok_or(Error::Nobody)?;
    let socket = contender::socket(&lab.bed, server.address)?;
    let cause = |cause| Error::System { action: "set a time-out", cause };
    socket.set_read_timeout(Some(ANSWER)).map_err(cause)?;
    let silent = || server.fault(ServerProblem::Silent(ANSWER.as_secs_f64()));
    let last = drain::serial(&socket, &apex).ok_or_else(silent)?;
    for run in 1..=lab.effort.runs {
        lab.go_on()?;
        if packs_of(&server) != *packs {
            discard_merged(lab, &format!("before start {run} of {}", lab.effort.runs));
            return Ok(());
        }
        let label = format!("start {run} of {}, {}", lab.effort.runs, case.name);
        validity::gathered(lab, &label, run, found, |lab, found| {
            let took = start_again(lab, &mut server, (apex.clone(), last))?;
            let cpu = server.process.cpu_fine();
            let is_from_image = server.process.said().contains(FROM_IMAGES);
            if !is_from_image {
                lab.note(format!("start {run} of {} took no image of what has changed", lab.effort.runs));
            }
            found.push("start that replays", Name::Zonda.text(), &case.name, took * 1e3);
            lab.record.raw.push(json!({
                "start": run, "at": case.name, "seconds": took, "cpu_seconds": cpu, "from_image": is_from_image,
            }));
            Ok(Heard::default())
        })?;
    }
    Ok(())
}

/// Kills a server and starts it again; seconds until it has that serial.
fn start_again(lab: &Lab, server: &mut Server, wanted: (NameBuf, u32)) -> Result<f64, Error> {
    let cores = lab.server_cores.clone();
    server.restart(&lab.bed.server().on(&cores[..1]))?;
    // One of its own: replies to what was asked of the server before lie in the old one still.
    let socket = contender::socket(&lab.bed, server.address)?;
    while !drain::reached(&socket, std::slice::from_ref(&wanted), ASK_EVERY)[0] {
        lab.go_on()?;
        if let Some(status) = server.process.ended() {
            return Err(server.fault(ServerProblem::Ended(status.code())));
        }
        if server.began.elapsed().as_secs_f64() > lab.effort.load_seconds {
            return Err(server.fault(ServerProblem::Silent(lab.effort.load_seconds)));
        }
    }
    Ok(server.began.elapsed().as_secs_f64())
}
