//! One turn: a resolver from its start to its end.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Found, Internet, ROUND_TRIP, Spot, WRITTEN_MAX, counted, counted::Counts, median, write_questions,
};
use crate::{
    Error,
    agreement::{self, Answers, Ttls},
    bed::link::Book,
    experiment::{Lab, usage::Time},
    process::Cpu,
    recipe::Name,
};

/// How long nothing may be asked until a resolver counts as quiet: longer than it waits for a server before it asks again.
const QUIET: Duration = Duration::from_millis(500);
/// How long that is waited for: some ask for what is about to expire, and are never quiet.
const QUIET_MAX: Duration = Duration::from_secs(4);
/// Client sockets.
const FLOWS: &str = "64";

/// What came of it.
pub struct Turn {
    pub name: Name,
    /// The generator's result.
    pub outcome: Value,
    pub cpu: Cpu,
    pub book: Book,
    /// What it counted itself, where it tells.
    pub counts: Counts,
    pub signatures: Option<u64>,
    pub pss: u64,
    /// To the sample; in the first round only.
    pub answers: Option<Answers>,
}

/// Starts a resolver, asks it for all names, and ends it.
pub fn take(
    lab: &mut Lab,
    spot: &Spot<'_>,
    name: Name,
    internet: &Internet,
    round: usize,
) -> Result<Turn, Error> {
    let subject = lab.subject_as(name, 1, internet.role(spot.case.validate));
    let mut server = lab.start_resolver(&subject)?;
    await_quiet(internet);
    internet.link.turn_page(round == 1 && spot.names <= WRITTEN_MAX);
    let before = (Time::of(&server.process), counted::counts(lab, &server));
    let window = lab.effort.window.to_string();
    let words = ["--closed", &window, "--loops", "1", "--flows", FLOWS].map(str::to_owned);
    let mut result = lab.load(&mut server, &spot.queries, &words)?;
    // What it still finds out for itself belongs to the names.
    await_quiet(internet);
    let book = internet.link.book();
    let after = Time::of(&server.process);
    let now = counted::counts(lab, &server);
    let counts = counted::since(&before.1, &now);
    let signatures = counted::signatures(&now, &counts);
    let answers = match round {
        1 => Some(agreement::answers(&lab.bed, &server, &spot.sample, Ttls::Ignored)?),
        _ => None,
    };
    let cpu = after.since(before.0);
    let pss = server.process.pss();
    Ok(Turn { name, outcome: result["outcome"].take(), cpu, book, counts, signatures, pss, answers })
}

/// Waits until nothing is asked any more.
fn await_quiet(internet: &Internet) {
    let began = Instant::now();
    let (mut since, mut before) = (began, internet.link.arrived());
    while since.elapsed() < QUIET && began.elapsed() < QUIET_MAX {
        thread::sleep(ROUND_TRIP);
        let now = internet.link.arrived();
        if now != before {
            (since, before) = (Instant::now(), now);
        }
    }
}

impl Found {
    /// Adds what a turn brought, and says it.
    pub fn take(&mut self, lab: &mut Lab, spot: &Spot<'_>, turn: &Turn, internet: &Internet, round: usize) {
        let (who, at) = (turn.name.text(), spot.case.name.as_str());
        let Turn { outcome, cpu, book, .. } = turn;
        let names = outcome["sent"].as_f64().unwrap_or(0.0).max(1.0);
        let latency = |name: &str| outcome["latency_us"][name].as_f64().unwrap_or(0.0) / 1000.0;
        let codes = outcome["rcodes"].as_object();
        let found =
            ["NOERROR", "NXDOMAIN"].iter().filter_map(|code| codes?.get(*code)?.as_f64()).sum::<f64>();
        self.questions.push_at(who, at, round, book.total() as f64 / names);
        self.streams.push_at(who, at, round, book.streams() as f64 / names);
        self.trips.push_at(who, at, round, latency("mean") / (ROUND_TRIP.as_secs_f64() * 1000.0));
        self.median.push_at(who, at, round, latency("p50"));
        self.high.push_at(who, at, round, latency("p99"));
        self.user.push_at(who, at, round, cpu.user * 1e6 / names);
        self.system.push_at(who, at, round, cpu.system * 1e6 / names);
        self.failed.push_at(who, at, round, 1.0 - found / names);
        self.pss.push_at(who, at, round, turn.pss as f64);
        if let Some(signatures) = turn.signatures {
            self.signatures.push_at(who, at, round, signatures as f64 / names);
        }
        let all = self.codes.entry((who.to_owned(), at.to_owned())).or_default();
        for (code, count) in codes.into_iter().flatten() {
            *all.entry(code.clone()).or_default() += count.as_u64().unwrap_or(0);
        }
        *all.entry("no answer".to_owned()).or_default() += outcome["lost"].as_u64().unwrap_or(0);
        if round == 1 {
            self.take_kinds(who, at, names, book, internet);
            let file = format!("questions-{who}-{}.tsv", at.replace([' ', ','], "-"));
            if book.is_whole
                && let Some(folder) = lab.work.parent()
                && let Err(error) = write_questions(&folder.join(file), book, internet)
            {
                lab.note(error.to_string());
            }
        }
        lab.say(&format!(
            "{who}: {:.3} questions a name, {:.1} ms median, {:.2} round trips, {:.0} us user and {:.0} us system a name{}, {:.0} % failed",
            median(&self.questions, who, at),
            latency("p50"),
            median(&self.trips, who, at),
            cpu.user * 1e6 / names,
            cpu.system * 1e6 / names,
            turn.signatures.map_or_else(String::new, |count| format!(", {:.2} signatures", count as f64 / names)),
            (1.0 - found / names) * 100.0
        ));
        lab.record.raw.push(json!({
            "cold": who, "at": at, "round": round, "outcome": outcome, "user_seconds": cpu.user, "system_seconds": cpu.system,
            "questions": book.total(), "over_tcp": book.streams(), "signatures": turn.signatures, "counts": turn.counts, "pss_octets": turn.pss,
        }));
    }

    /// Adds where it asked, and for what.
    fn take_kinds(&mut self, who: &str, at: &str, names: f64, book: &Book, internet: &Internet) {
        let kinds = self.kinds.entry(at.to_owned()).or_default();
        for (way, qtype, [datagrams, streams]) in book.each() {
            let kind = (internet.link.ways()[way].label.clone(), wire::iana::rtype::Text(qtype).to_string());
            *kinds.entry(kind).or_default().entry(who.to_owned()).or_default() +=
                (datagrams + streams) as f64 / names;
        }
    }
}
