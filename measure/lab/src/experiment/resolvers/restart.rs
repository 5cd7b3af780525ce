//! Restart: a resolver that knows a million names is ended and started again.
//!
//! ```text
//! start, fill, ask: share of hits before | end, files written | start: a name every millisecond until the first hit, then asked for
//! seconds: share of hits after
//! ```
//!
//! A hit is told by its TTL: what a resolver has had for a while has less than the zone says. Which share of the queries are hits is told by
//! what arrives at the servers of the zones.

use std::{
    fs, io,
    net::UdpSocket,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use bench::query::Query;
use serde_json::json;
use wire::record::RecordView;

use super::{Clients, Said, authority, clients, each, fill, little, query_file, resolver, shuffled};
use crate::{
    Error,
    contender::{self, Resolving, Server, is_setting},
    data::{Little, Places, Shape},
    experiment::{
        Lab, Values,
        caching::authorities,
        runs, table,
        validity::{self, Heard, gather_fields},
    },
    place::Place,
    process,
    recipe::Name,
    statistics,
};

/// Zones that the names are in.
const ZONES: usize = 100;
/// TTL of the names: longer than any run, shorter than what any resolver cuts it to.
const TTL_SECONDS: u32 = 80_000;
/// Memory that a cache may take, by name: several times what the largest take.
const OCTETS_A_NAME: u64 = 4096;
/// How often a name is asked for until there is a hit.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// How long a hit is waited for, of those that keep something, and how long of those that do not: to be sure.
const HIT_WITHIN: Duration = Duration::from_secs(20);
const HIT_WITHIN_NOTHING: Duration = Duration::from_secs(3);
/// How long an operator's command may read what was kept. A server may answer nothing meanwhile: Unbound reads by the thread that answers.
const LOADED_WITHIN: Duration = Duration::from_secs(120);
/// Names that can be asked for one after the other: enough for that.
const PROBES: usize = 140_000;
/// How long clients wait.
const PATIENCE_MS: u64 = 1_000;
/// Where the record has it.
const AT: &str = "warm cache";

/// All that is needed for every contender.
struct Bed {
    little: Little,
    known: Server,
    _parent: Server,
    fill: PathBuf,
    before: PathBuf,
    after: PathBuf,
    probes: Vec<String>,
}

/// What was found.
#[derive(Default)]
struct Found {
    first_answer: Values,
    first_hit: Values,
    kept: Values,
    before: Values,
    after: Values,
    end: Values,
    written: Values,
    pss_before: Values,
    pss_after: Values,
}

gather_fields!(Found: first_answer, first_hit, kept, before, after, end, written, pss_before, pss_after);

/// Measures all contenders.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let [parent, known] = lab.bed.upstreams()?;
    let count = lab.effort.queries;
    let places =
        Places { parent, known, victims: known, slow: known, dead: |_| std::net::Ipv4Addr::LOCALHOST };
    let shape = Shape { known: ZONES, victims: 0, ttl_seconds: TTL_SECONDS, version: 1, is_signed: false };
    let little = little(lab, &shape, &places)?;
    lab.names = lab.able(little.role, "");
    let name = |number: usize| format!("n{number}.k{}.example.", number % ZONES);
    let asked = (lab.effort.run_seconds * rate(lab)) as usize + 1;
    let order = shuffled(count, 2);
    let part = |from: usize| order.iter().cycle().skip(from).take(asked).map(|&number| name(number));
    let bed = Bed {
        fill: query_file(lab, "fill", shuffled(count, 1).into_iter().map(name))?,
        before: query_file(lab, "before", part(0))?,
        after: query_file(lab, "after", part(asked))?,
        probes: shuffled(count, 3).into_iter().take(PROBES).map(name).collect(),
        known: authority(lab, "known", &little.known, known)?,
        _parent: authority(lab, "parent", &little.parent, parent)?,
        little,
    };
    lab.record.notes.push(format!("{count} names below {ZONES} zones"));
    let mut found = Found::default();
    each(lab, |lab, name, round| {
        let label = format!("{}, round {}", name.text(), round + 1);
        validity::gathered(lab, &label, round, &mut found, |lab, found| {
            measure(lab, &bed, (name, round), found)
        })
        .map(drop)
    })?;
    report(lab, &found);
    Ok(())
}

/// Queries a second beside which shares are taken: far below what any resolver can do.
fn rate(lab: &Lab) -> f64 {
    lab.effort.rate_start
}

fn measure(
    lab: &mut Lab,
    bed: &Bed,
    (name, round): (Name, usize),
    found: &mut Found,
) -> Result<Heard, Error> {
    let cache_octets = (lab.effort.queries as u64 * OCTETS_A_NAME).max(Resolving::default().cache_octets);
    let resolving = Resolving { keeps: true, cache_octets, ..Resolving::default() };
    let subject = resolver(lab, name, bed.little.role, resolving);
    let mut server = lab.start(&subject, &bed.little.nothing)?;
    let (filled, fill_seconds) = fill(lab, &mut server, &bed.fill)?;
    let arrived = authorities::counted(lab, &bed.known)?;
    let said = ask(lab, &mut server, &bed.before)?;
    let heard = said.heard;
    let before = share(&said, authorities::counted(lab, &bed.known)?.saturating_sub(arrived));
    let pss_before = server.process.pss();
    let ending = Instant::now();
    cache_command(lab, &server, false)?;
    server.end();
    let end_seconds = ending.elapsed().as_secs_f64();
    let written = written(&server.folder);
    let place = lab.bed.server().on(&subject.cores);
    let arrived = authorities::counted(lab, &bed.known)?;
    server.begin_again(&place)?;
    // The operator's command is given as soon as it can be: it runs beside the clients.
    let loads = name.cache_command(&server.folder, true);
    let mut first = first_hit(lab, &mut server, &bed.probes, loads.as_deref())?;
    // What was asked before the first hit was not known, and may arrive only now; without a hit all of it has.
    let (arrived, probes) = match first.hit_ms {
        Some(_) => (arrived, first.asked as u64),
        None => (authorities::counted(lab, &bed.known)?, 0),
    };
    let said = ask(lab, &mut server, &bed.after)?;
    let arrived = authorities::counted(lab, &bed.known)?.saturating_sub(arrived);
    let after = share(&said, arrived.saturating_sub(probes));
    if let Some(loading) = &mut first.loading {
        loading.wait(&lab.stop)?;
    }
    let loaded_seconds = server.began.elapsed().as_secs_f64();
    let pss_after = server.process.pss();
    let who = name.text();
    for (values, value) in [
        (&mut found.first_answer, first.answer_ms),
        (&mut found.first_hit, first.hit_ms),
        (&mut found.kept, Some(after / before.max(1e-9))),
        (&mut found.before, Some(before)),
        (&mut found.after, Some(after)),
        (&mut found.end, Some(end_seconds)),
        (&mut found.written, Some(written as f64)),
        (&mut found.pss_before, Some(pss_before as f64)),
        (&mut found.pss_after, Some(pss_after as f64)),
    ] {
        value.into_iter().for_each(|value| values.push_at(who, AT, round, value));
    }
    lab.record.raw.push(json!({
        "restart_of": who, "filled": filled, "fill_seconds": fill_seconds, "hits_before": before, "hits_after": after,
        "end_seconds": end_seconds, "written_octets": written, "first_answer_ms": first.answer_ms,
        "first_hit_ms": first.hit_ms, "asked_until_hit": first.asked, "pss_before": pss_before, "pss_after": pss_after,
        "arrived_after": arrived, "loaded_seconds": first.loading.is_some().then_some(loaded_seconds),
    }));
    Ok(heard.and(said.heard))
}

/// Clients that ask for names in a file.
fn ask(lab: &Lab, server: &mut Server, queries: &Path) -> Result<Said, Error> {
    let group = Clients {
        label: "clients",
        queries: queries.to_owned(),
        rate: rate(lab),
        seconds: lab.effort.run_seconds,
        after: Duration::ZERO,
        sources: Vec::new(),
        patience_ms: PATIENCE_MS,
        trains: false,
    };
    Ok(clients::together(lab, server, &[group], || Ok(0))?.said[0])
}

/// The share of queries that were answered, and did not arrive at the servers of the zones.
fn share(said: &Said, arrived: u64) -> f64 {
    said.found.saturating_sub(arrived) as f64 / said.sent.max(1) as f64
}

fn cache_command(lab: &Lab, server: &Server, reads: bool) -> Result<(), Error> {
    let Some(command) = server.name.cache_command(&server.folder, reads) else { return Ok(()) };
    process::run(&command, &Place::default(), &lab.folder("cache")?, &lab.stop).map(drop)
}

/// Octets of what a server has written, its settings apart.
fn written(folder: &Path) -> u64 {
    let mut sum = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        match entry.metadata() {
            Ok(file) if file.is_dir() => sum += written(&path),
            Ok(file) if file.is_file() && !is_setting(&name) => sum += file.len(),
            _ => {}
        }
    }
    sum
}

/// What came first.
#[derive(Default)]
struct First {
    answer_ms: Option<f64>,
    hit_ms: Option<f64>,
    asked: usize,
    /// An operator's command that reads what was kept, beside the clients.
    loading: Option<process::Process>,
}

/// Asks for another name every millisecond from the start of a server on, until an answer has less than the whole TTL; `loads` runs from the
/// first answer on. As long as nobody listens it is the same name: a server that takes its time is not to find all names asked for. Where they were
/// all asked for, their answers are still waited for.
fn first_hit(
    lab: &Lab,
    server: &mut Server,
    names: &[String],
    loads: Option<&[String]>,
) -> Result<First, Error> {
    let socket = contender::socket(&lab.bed, server.address)?;
    let system = |cause| Error::System { action: "ask a resolver", cause };
    socket.set_nonblocking(true).map_err(system)?;
    let (mut first, mut packet) = (First::default(), Vec::new());
    let within = if server.name.keeps() { HIT_WITHIN } else { HIT_WITHIN_NOTHING };
    let mut waits_since = server.began;
    let mut names = names.iter();
    let mut next_name = names.next();
    loop {
        lab.go_on()?;
        let mut is_refused = false;
        if first.loading.as_mut().is_some_and(|loading| loading.ended().is_none()) {
            waits_since = Instant::now();
        }
        if waits_since.elapsed() > within || server.began.elapsed() > LOADED_WITHIN + within {
            break;
        }
        let line = next_name.map(|name| format!("{name} A rd"));
        if let Some(query) = line.and_then(|line| Query::from_line(line.as_bytes()).ok().flatten()) {
            packet.clear();
            query.write(&mut packet);
            is_refused |= socket.send(&packet).is_err_and(|error| is_refusal(&error));
            first.asked += 1;
        }
        let next = Instant::now() + ASK_EVERY;
        while Instant::now() < next {
            let ttl = match answered(&socket) {
                Ok(Some(ttl)) => ttl,
                waits => {
                    is_refused |= waits.is_err_and(|error| is_refusal(&error));
                    thread::sleep(ASK_EVERY / 10);
                    continue;
                }
            };
            let since = server.began.elapsed().as_secs_f64() * 1000.0;
            first.answer_ms.get_or_insert(since);
            if ttl < TTL_SECONDS {
                first.hit_ms = Some(since);
                break;
            }
        }
        if first.hit_ms.is_some() {
            break;
        }
        match is_refused {
            true => first.asked -= 1,
            false => next_name = names.next(),
        }
        if let (Some(_), Some(command), None) = (first.answer_ms, loads, &first.loading) {
            let folder = lab.folder("cache")?;
            first.loading = Some(process::Process::start(command, &Place::default(), &folder)?);
        }
    }
    Ok(first)
}

/// Whether nobody listens yet.
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// The TTL of an answer, where one came.
fn answered(socket: &UdpSocket) -> io::Result<Option<u32>> {
    let mut room = [0; 1024];
    let octets = socket.recv(&mut room)?;
    Ok(ttl_of(&room[..octets]))
}

/// The TTL of the first record of an answer, if it is one.
fn ttl_of(reply: &[u8]) -> Option<u32> {
    if reply.len() < 12 || reply[3] & 15 != 0 || reply[6..8] == [0, 0] {
        return None;
    }
    let question = wire::record::skip_name(reply, 12)? + 4;
    RecordView::read(reply, question).map(|record| record.ttl)
}

fn report(lab: &mut Lab, found: &Found) {
    let row = |who: &str| {
        let median = |values: &Values, digits: usize, by: f64| {
            let values = values.of(who, AT);
            if values.is_empty() {
                "-".to_owned()
            } else {
                format!("{:.digits$}", statistics::median(values) / by)
            }
        };
        let mib = f64::from(1 << 20);
        let keeps = Name::from_text(who).map_or("", Name::keeps_by);
        vec![
            who.to_owned(),
            keeps.to_owned(),
            median(&found.first_answer, 1, 1.0),
            median(&found.first_hit, 1, 1.0),
            median(&found.before, 4, 1.0),
            median(&found.after, 4, 1.0),
            median(&found.kept, 4, 1.0),
            median(&found.end, 2, 1.0),
            median(&found.written, 1, mib),
            median(&found.pss_before, 1, mib),
            median(&found.pss_after, 1, mib),
        ]
    };
    let names: Vec<String> = found.kept.contenders().into_iter().map(str::to_owned).collect();
    let rows = names.iter().map(|who| row(who)).collect();
    let columns = [
        "resolver",
        "keeps",
        "first answer ms",
        "first hit ms",
        "hits before",
        "hits after",
        "after / before",
        "end s",
        "written MiB",
        "PSS MiB",
        "PSS after",
    ];
    let note = "Times are from the start of the process; hits are shares of what clients asked for; who keeps nothing has no first hit.";
    lab.record.tables.push(table("A warm cache, ended and started", &columns, rows, note));
    for (values, metric, unit, more_is_better) in [
        (&found.first_answer, "first answer", "ms", false),
        (&found.first_hit, "first hit", "ms", false),
        (&found.kept, "hits after over before", "", true),
        (&found.end, "time to end", "s", false),
        (&found.written, "written", "octets", false),
        (&found.pss_after, "PSS after", "octets", false),
    ] {
        lab.record.figures.extend(values.figures(metric, unit, more_is_better));
    }
    let places = [AT.to_owned()];
    lab.record.charts.push(found.kept.bars(
        "Hits after the start, as share of those before",
        "share",
        &places,
        false,
    ));
    lab.record.charts.push(found.first_hit.bars(
        "From the start to the first hit",
        "milliseconds",
        &places,
        true,
    ));
    runs::change_targets(lab, "first hit", |metric, who, at| match metric {
        "first hit" => found.first_hit.marked(who, at),
        "hits after over before" => found.kept.marked(who, at),
        _ => Vec::new(),
    });
}
