//! One update in a large zone, and a million changed records in it: what they take of memory, of the rate of queries, and of a start.
//!
//! ```text
//! each contender: updates one at a time
//! Zonda: some changes, until it has merged them -> a million -> memory -> rates, in turn with a server of the zone as it was -> killed, started
//! ```
//!
//! A merge puts what has changed into a new pack. The next one comes only after a rest of several times as long as the one before took, and
//! that is when all of this happens; files of packs show whether one came meanwhile.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bench::{query, transfer::drain};
use serde_json::json;
use wire::NameBuf;

use super::{Taker, failures, single, single::Single};
use crate::{
    Error,
    contender::{self, Bounds, Role, Server},
    data::Set,
    error,
    error::ServerProblem,
    experiment::{Lab, Values, interval_text, runs, table},
    recipe::{Case, Name},
    record::Figure,
    statistics,
};

/// Records that change in a message: some 40 KiB of the 64 that a stream takes.
const MESSAGE_RECORDS: usize = 500;
/// Messages in flight: 32,000 names in a commit, half of the most that one may have.
const WINDOW: &str = "64";
/// Records that change before, so that the server merges: as share of those that follow, and at least so many.
const BEFORE_SHARE: f64 = 0.2;
const BEFORE_MIN: usize = 40_000;
/// Octets of a delta from which a server merges at the earliest, and those of a changed record, about.
const MERGE_OCTETS: usize = 4 << 20;
const RECORD_OCTETS: usize = 130;
/// How long a merge is waited for.
const MERGE_SECONDS: u64 = 120;
/// How long packs must stay as they are, that a merge counts as over.
const SETTLED: Duration = Duration::from_secs(2);
/// Share of the rate of queries beside a merge that shall take longer, and for how long at a time.
const BUSY_SHARE: f64 = 0.75;
const BUSY_SECONDS: &str = "1";
/// Names that have changed which are asked for.
const ASKED_MAX: usize = 200_000;
/// How often a server that is started again is asked.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// How long an answer is waited for that has to come.
const ANSWER: Duration = Duration::from_secs(5);

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

impl Found {
    fn push(&mut self, metric: &'static str, who: &str, at: &str, value: f64) {
        match self.by.iter_mut().find(|(known, _)| *known == metric) {
            Some((_, values)) => values.push(who, at, value),
            None => {
                let mut values = Values::default();
                values.push(who, at, value);
                self.by.push((metric, values));
            }
        }
    }

    fn of(&self, metric: &str, who: &str, at: &str) -> &[f64] {
        let values = self.by.iter().find(|(known, _)| *known == metric);
        values.map_or(&[], |(_, values)| values.of(who, at))
    }
}

/// Measures all contenders with updates one at a time, and Zonda with many.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let names = lab.able(Role::Dynamic { is_signed: false }, "");
    let mut found = Found::default();
    for case in lab.recipe.cases.clone() {
        let set = lab.set(&case)?;
        lab.record.notes.push(format!("{}: {} records, {}", case.name, set.zones.records, set.source));
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
    if found.by.is_empty() {
        return Err(Error::Nobody);
    }
    for (metric, unit, more_is_better) in METRICS {
        if let Some((_, values)) = found.by.iter().find(|(known, _)| *known == metric) {
            lab.record.figures.extend(values.figures(metric, unit, more_is_better));
        }
    }
    runs::change_targets(lab, "rate over the pack alone", |metric, who, at| {
        found.of(metric, who, at).to_vec()
    });
    Ok(())
}

fn start(lab: &mut Lab, name: Name, set: &Set) -> Result<Server, Error> {
    let mut subject = lab.subject_as(name, 1, Role::Dynamic { is_signed: false });
    subject.bounds = Bounds {
        history_octets: lab.recipe.changes.history_octets.filter(|_| name == Name::Zonda),
        log_octets: lab.recipe.changes.log_octets,
    };
    lab.start(&subject, &set.zones)
}

fn measure(lab: &mut Lab, name: Name, case: &Case, set: &Set, found: &mut Found) -> Result<(), Error> {
    let server = start(lab, name, set)?;
    let apex = set.zones.list.first().map_or(".", |(apex, _)| apex.as_str()).to_owned();
    server.process.settle(lab.effort.load_seconds);
    let single = single::run(lab, &server, &apex, lab.effort.updates)?;
    push_single(name, case, &single, found);
    lab.record.blocks.kept += 1;
    if name == Name::Zonda { many(lab, server, (&apex, case), set, found) } else { Ok(()) }
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

/// Files of what changes, and of queries for it.
struct Changing {
    before: PathBuf,
    before_records: usize,
    after: PathBuf,
    records: usize,
    queries: PathBuf,
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
    if changing.before_records * RECORD_OCTETS >= MERGE_OCTETS {
        let packs = packs(&taker)?;
        change(lab, &mut taker, &changing.before)?;
        let Taker::Server(server) = &mut taker else { return Err(Error::Nobody) };
        await_merge(lab, server, &packs, &set.queries)?;
    }
    let (packs_before, allocated) = (packs(&taker)?, resident(&taker)?);
    let began = Instant::now();
    let accepted = change(lab, &mut taker, &changing.after)?;
    let took = began.elapsed().as_secs_f64();
    // What was allocated for the commits themselves is given back.
    std::thread::sleep(SETTLED);
    let records = (accepted * changing.records as f64).max(1.0);
    let octets = resident(&taker)?.saturating_sub(allocated) as f64 / records;
    let at = case.name.as_str();
    found.push("octets a changed record", Name::Zonda.text(), at, octets);
    lab.record.raw.push(json!({
        "delta_of": Name::Zonda.text(), "at": at, "records": records, "seconds": took, "octets_a_record": octets,
    }));
    let Taker::Server(mut server) = taker else { return Err(Error::Nobody) };
    rates(lab, (&mut server, &mut alone), &packs_before, case, (&set.queries, &changing.queries), found)?;
    drop(alone);
    starts(lab, server, &packs_before, (apex, case), found)
}

/// Messages that change addresses, evenly spread over the zone, and queries for what they change.
fn changing(lab: &Lab, apex: &str, set: &Set) -> Result<Changing, Error> {
    let Some((_, zone)) = set.zones.list.first() else { return Err(Error::Nobody) };
    let folder = lab.folder("updates")?;
    let [before, after, queries] = ["before", "after", "changed.queries"].map(|name| folder.join(name));
    let hosts = set.zones.records as usize;
    let records = ((lab.recipe.changes.records as f64 * lab.effort.scale) as usize).clamp(1, hosts / 2);
    let earlier = ((records as f64 * BEFORE_SHARE) as usize).max(BEFORE_MIN).min(hosts / 4);
    let create = |path: &PathBuf| File::create(path).map_err(error::file(path, "create")).map(BufWriter::new);
    let mut files = [Message::new(create(&before)?, apex), Message::new(create(&after)?, apex)];
    let mut asked = create(&queries)?;
    let reader = BufReader::new(File::open(zone).map_err(error::file(zone, "open"))?);
    let failed = error::file(zone, "read the addresses of");
    let is_of = |host: usize, part: usize| (host + 1) * part / hosts > host * part / hosts;
    let (mut host, mut asked_count) = (0, 0);
    let each = || -> std::io::Result<()> {
        for line in reader.lines() {
            let line = line?;
            let mut words = line.split_ascii_whitespace();
            let (Some(label), Some("A")) = (words.next(), words.next()) else { continue };
            let is_after = is_of(host, records);
            if is_after || is_of(host, earlier) {
                files[usize::from(is_after)].change(label, apex, host)?;
            }
            if is_after && asked_count < ASKED_MAX {
                writeln!(asked, "{label}.{apex} A")?;
                asked_count += 1;
            }
            host += 1;
        }
        files.iter_mut().try_for_each(Message::end)?;
        asked.flush()
    };
    each().map_err(failed)?;
    let [first, second] = files.map(|file| file.records);
    Ok(Changing { before, before_records: first, after, records: second, queries })
}

/// A file of messages with many changes each.
struct Message {
    file: BufWriter<File>,
    open: usize,
    records: usize,
    head: String,
}

impl Message {
    fn new(file: BufWriter<File>, apex: &str) -> Message {
        Message { file, open: 0, records: 0, head: format!("zone {apex}\n") }
    }

    /// Another address of a host, which no other has: the first octet is one of no generated zone.
    fn change(&mut self, label: &str, apex: &str, host: usize) -> std::io::Result<()> {
        self.file.write_all(std::mem::take(&mut self.head).as_bytes())?;
        let [_, a, b, c] = (host as u32).to_be_bytes();
        writeln!(
            self.file,
            "update delete {label}.{apex} A\nupdate add {label}.{apex} 3600 A 240.{a}.{b}.{c}"
        )?;
        (self.open, self.records) = (self.open + 1, self.records + 1);
        if self.open == MESSAGE_RECORDS { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> std::io::Result<()> {
        self.open = 0;
        self.file.write_all(b"send\n")
    }

    fn end(&mut self) -> std::io::Result<()> {
        if self.open > 0 {
            self.send()?;
        }
        self.file.flush()
    }
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

/// Waits until there are other packs than these, and stay as they are. The server is asked meanwhile, which leaves the merge, of the lowest priority, a
/// part of the core: so the rest after it is long enough for all that follows.
fn await_merge(
    lab: &mut Lab,
    server: &mut Server,
    before: &BTreeSet<PathBuf>,
    queries: &Path,
) -> Result<(), Error> {
    let (began, mut last, mut since) = (Instant::now(), before.clone(), Instant::now());
    let pace = (rate(lab, server, queries)? * BUSY_SHARE).max(1.0).to_string();
    let flows = lab.effort.flows.to_string();
    let words = ["--rate", &pace, "--seconds", BUSY_SECONDS, "--flows", &flows].map(str::to_owned);
    while last == *before || since.elapsed() < SETTLED {
        lab.go_on()?;
        if last == *before {
            lab.load(server, queries, &words)?;
        }
        if began.elapsed() > Duration::from_secs(MERGE_SECONDS) {
            lab.note(format!(
                "no merge came within {MERGE_SECONDS} s: one may come while rates are measured"
            ));
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
        let now = packs_of(server);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(())
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
        for (what, queries) in sets {
            // Now one is first, now the other.
            let (over, pack) = if pair % 2 == 1 {
                let over = rate(lab, delta, queries)?;
                (over, rate(lab, alone, queries)?)
            } else {
                let pack = rate(lab, alone, queries)?;
                (rate(lab, delta, queries)?, pack)
            };
            if packs_of(delta) != *packs {
                let text = format!(
                    "the server merged in pair {pair} of {}: it and what follows do not count",
                    lab.effort.pairs
                );
                lab.record.blocks.discarded.push(text.clone());
                lab.note(text);
                return Ok(());
            }
            let at = format!("{}, {what}", case.name);
            found.push("rate over the delta", who, &at, over);
            found.push("rate of the pack alone", who, &at, pack);
            if pack > 0.0 {
                found.push("rate over the pack alone", who, &at, over / pack);
            }
            lab.record.raw.push(json!({ "pair": pair, "at": at, "delta": over, "pack": pack }));
        }
        lab.record.blocks.kept += 1;
    }
    Ok(())
}

fn rate(lab: &Lab, server: &mut Server, queries: &Path) -> Result<f64, Error> {
    let numbers =
        [lab.effort.window.to_string(), lab.effort.run_seconds.to_string(), lab.effort.flows.to_string()];
    let words = ["--closed", &numbers[0], "--seconds", &numbers[1], "--flows", &numbers[2], "--trains"];
    let result = lab.load(server, queries, &words.map(str::to_owned))?;
    Ok(result["outcome"]["answers_per_second"].as_f64().unwrap_or(0.0))
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
    let silent = |server: &Server, seconds| server.fault(ServerProblem::Silent(seconds));
    let last = drain::serial(&socket, &apex).ok_or_else(|| silent(&server, ANSWER.as_secs_f64()))?;
    for run in 1..=lab.effort.runs {
        lab.go_on()?;
        if packs_of(&server) != *packs {
            let text = format!(
                "the server merged before start {run} of {}: it and what follows do not count",
                lab.effort.runs
            );
            lab.record.blocks.discarded.push(text.clone());
            lab.note(text);
            return Ok(());
        }
        let cores = lab.server_cores.clone();
        server.restart(&lab.bed.server().on(&cores[..1]))?;
        let wanted = [(apex.clone(), last)];
        while !drain::reached(&socket, &wanted, ASK_EVERY)[0] {
            lab.go_on()?;
            if let Some(status) = server.process.ended() {
                return Err(server.fault(ServerProblem::Ended(status.code())));
            }
            if server.began.elapsed().as_secs_f64() > lab.effort.load_seconds {
                return Err(silent(&server, lab.effort.load_seconds));
            }
        }
        let (took, cpu) = (server.began.elapsed().as_secs_f64(), server.process.cpu_fine());
        found.push("start that replays", Name::Zonda.text(), &case.name, took * 1e3);
        lab.record.raw.push(json!({ "start": run, "at": case.name, "seconds": took, "cpu_seconds": cpu }));
    }
    Ok(())
}

fn report(lab: &mut Lab, case: &Case, found: &Found) {
    let at = case.name.as_str();
    let order: Vec<String> = lab.names.iter().map(|name| name.text().to_owned()).collect();
    let cell = |metric: &str, who: &str, digits: usize| {
        let values = found.of(metric, who, at);
        if values.is_empty() { String::new() } else { format!("{:.digits$}", statistics::median(values)) }
    };
    let row = |who: &String| {
        let times = METRICS[..4].iter().map(|(metric, ..)| cell(metric, who, 3));
        let memory = METRICS[4..7].iter().map(|(metric, ..)| cell(metric, who, 1));
        [who.clone()].into_iter().chain(times).chain(memory).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = order.iter().map(row).filter(|row| !row[1].is_empty()).collect();
    let columns = [
        "server",
        "until the reply ms",
        "until served ms",
        "worst",
        "served after reply, worst ms",
        "memory: first KiB",
        "next nine, worst KiB",
        "all the others, each KiB",
    ];
    let note = "Medians and the worst of all updates, one at a time, each of which adds a name. Served after the reply: 0 where the first query sent after the reply had the name, \
                else from the reply until one had it. Memory: what has no file, after each of the first ten.";
    lab.record.tables.push(table(&format!("One update: {at}"), &columns, rows, note));
    let who = Name::Zonda.text();
    let figures = |metric: &str| {
        let values = found.by.iter().find(|(known, _)| *known == metric);
        values.map_or_else(Vec::new, |(_, values)| values.figures(metric, "", true))
    };
    let rows: Vec<Vec<String>> = figures("rate over the pack alone")
        .iter()
        .filter(|figure| figure.at.starts_with(at))
        .map(|figure: &Figure| {
            let of = |metric: &str| format!("{:.0}", statistics::median(found.of(metric, who, &figure.at)));
            vec![
                figure.at.clone(),
                of("rate of the pack alone"),
                of("rate over the delta"),
                format!("{:.3}", figure.median),
                interval_text(figure, 3),
                figure.values.len().to_string(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let columns = ["queries", "pack alone /s", "over the delta /s", "ratio", "95 %", "pairs"];
        let note =
            "Two servers on the same core in turn, one with the changes, one without; through the network.";
        lab.record.tables.push(table(&format!("Queries over a delta: {at}"), &columns, rows, note));
    }
    let (octets, starts) =
        (found.of("octets a changed record", who, at), found.of("start that replays", who, at));
    if !octets.is_empty() {
        let text =
            |values: &[f64]| values.iter().map(|value| format!("{value:.0}")).collect::<Vec<_>>().join(", ");
        let row = vec![text(octets), text(starts)];
        let note = "Memory that the server allocated for the changes, divided by them. Start: from exec until the last serial is served, killed before.";
        lab.record.tables.push(table(
            &format!("Many changed records: {at}"),
            &["octets a record", "starts ms"],
            vec![row],
            note,
        ));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_full_and_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes");
        let mut file = Message::new(BufWriter::new(File::create(&path).unwrap()), "z.");
        (0..MESSAGE_RECORDS + 1).for_each(|host| file.change(&format!("h{host}"), "z.", host).unwrap());
        file.end().unwrap();
        let script = bench::update::Script::read(&path, None).unwrap();
        assert_eq!((script.count(), script.changes(0), script.changes(1)), (2, 1000, 2));
        assert!(fs::read_to_string(&path).unwrap().contains("add h500.z. 3600 A 240.0.1.244"));
    }
}
