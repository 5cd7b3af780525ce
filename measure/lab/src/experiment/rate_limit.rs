//! Limits of the response rate: floods of queries whose sources are made up, and beside them a client that shows by a cookie who it is.
//!
//! ```text
//! made-up sources, 1 to 65,536 networks -- 0.8 and 2 x capacity --> server with its limits -- answers --> the dead end, which counts
//! a client with a cookie ---------------------------- 1,000/s -->                          -- answers --> the client, which counts
//! ```
//!
//! Capacity is what the server answers a second without limits, found first in each round by a closed loop of the same queries. Each flood meets a
//! server that was started for it. What the kernel had no room for nobody can answer: beyond the capacity the client's share is held against that of all
//! packets which the server read.

use std::{
    fs,
    net::{SocketAddr, SocketAddrV4},
    path::PathBuf,
    thread,
    time::Duration,
};

use bench::{
    flood::{self, Asked, Client, Flood, Sent, Sources},
    query::Query,
};
use serde_json::json;

use super::{
    Lab, Mark, Marked, Subject, Values, runs, table,
    validity::{self, Judged, Made},
};
use crate::{
    Error,
    bed::{Count, Crowd},
    contender::{Bounds, Resolving, Server},
    data::Set,
    error,
    known::Known,
    recipe::Name,
    statistics,
};

/// How many times what it can do a server is asked.
const TIMES: [f64; 2] = [0.8, 2.0];
/// What a flood asks: for the address of a name that exists, and of one that does not, with signatures.
const QUERIES: [&str; 2] = ["com. A do", "no-such-name-0. A do"];
/// What the client asks.
const QUERY: &str = "org. A do";
/// The client asks for this share of a flood's time, so that all its queries have the flood beside them.
const CLIENT_SHARE: f64 = 0.8;
/// What a server's socket may hold: a tenth of a second of queries at the rates of the slower ones. With much more all answers are too late for the client.
const RECEIVE_OCTETS: usize = 8 << 20;
/// Queries outstanding while the capacity is searched.
const WINDOW: &str = "1000";
/// A flood that is less than this share of what it was to be says so.
const KEPT_SHARE: f64 = 0.9;
/// Of addresses, ports and order.
const SEED: u64 = 6;
/// How often is looked whether answers still leave after a flood, and how often at most.
const LOOK: Duration = Duration::from_millis(200);
const LOOKS_MAX: usize = 20;

/// What a flood brought.
#[derive(Clone, Copy, Debug)]
struct Brought {
    sent: Sent,
    client: Asked,
    /// Packets that the server read, of flood and client.
    read: u64,
    /// Packets and octets of messages that left for made-up addresses.
    out: (u64, u64),
}

impl Brought {
    /// The share of all packets that the server read.
    fn delivered(&self) -> f64 {
        (self.read as f64 / (self.sent.packets + self.client.asked).max(1) as f64).min(1.0)
    }

    /// Octets that left over those that came, messages of DNS alone.
    fn octets_ratio(&self) -> f64 {
        self.out.1 as f64 / self.sent.octets.max(1) as f64
    }

    /// The share of its queries that the client was answered.
    fn answered(&self) -> f64 {
        self.client.answered as f64 / self.client.asked.max(1) as f64
    }

    /// Packets a second.
    fn rate(&self) -> f64 {
        self.sent.packets as f64 / self.sent.seconds.max(1e-3)
    }
}

/// What was found, by place.
#[derive(Default)]
struct Found {
    capacity: Values,
    times: Values,
    ratio: Values,
    delivered: Values,
    answered: Values,
    over: Values,
}

/// Measures all contenders under all floods.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let crowd = lab.bed.crowd()?;
    crowd.lead_away()?;
    lab.bed.receive_by_default(RECEIVE_OCTETS)?;
    let case = lab.recipe.cases[0].clone();
    let set = lab.set(&case)?;
    for name in std::mem::take(&mut lab.names) {
        match name.can_limit_answers() {
            true => lab.names.push(name),
            false => lab.note(format!("{} is left out: it does not limit answers by network", name.text())),
        }
    }
    let names = lab.names.clone();
    let labels: Vec<String> = names.iter().map(|name| name.text().to_owned()).collect();
    let mut found = Found::default();
    let takes_part = |lab: &Lab, which: usize, round| lab.takes_part(names[which], round);
    runs::alternate_some(lab, &labels, takes_part, |lab, which, round| {
        contender(lab, &crowd, &set, names[which], round, &mut found)
    })?;
    found.arrange(&labels);
    report(lab, &found);
    Ok(())
}

/// All floods against one contender.
fn contender(
    lab: &mut Lab,
    crowd: &Crowd,
    set: &Set,
    name: Name,
    round: usize,
    found: &mut Found,
) -> Result<(), Error> {
    let subject = |lab: &Lab, limits_answers| {
        let resolving = Resolving { receive_octets: RECEIVE_OCTETS, ..Resolving::default() };
        let bounds = Bounds { limits_answers, resolving, ..Bounds::default() };
        Subject { bounds, ..lab.subject_as(name, 1, crate::contender::Role::Static) }
    };
    let capacity = capacity(lab, set, &subject(lab, false))?;
    lab.say(&format!("{}: {capacity:.0} answers a second without limits", name.text()));
    found.capacity.push_at(name.text(), "", round, capacity);
    for networks in lab.recipe.sources.clone() {
        for times in TIMES {
            lab.go_on()?;
            let at = place(&networks.name, times);
            let label = format!("{}, {at}, round {round}", name.text());
            let sources = Sources { networks: networks.networks, apart: networks.apart };
            let judged = validity::judged(lab, &label, |lab| {
                let mut server = lab.start(&subject(lab, true), &set.zones)?;
                let brought = one(lab, crowd, &mut server, sources, times * capacity)?;
                Ok(made(brought, name, &at, capacity, times))
            })?;
            let Some(Judged { value, conditions }) = judged else { continue };
            let mark = Mark::of(round, &conditions);
            // Of the flood alone it is so that a faster generator would have made it more.
            let at_least = mark.known(Known::at_least_if(conditions.is_limited));
            found.times.push_marked(name.text(), &at, value.rate() / capacity.max(1.0), at_least);
            for (values, value) in [
                (&mut found.ratio, value.octets_ratio()),
                (&mut found.delivered, value.delivered()),
                (&mut found.answered, value.answered()),
                (&mut found.over, value.answered() / value.delivered().max(1e-3)),
            ] {
                values.push_marked(name.text(), &at, value, mark);
            }
        }
    }
    Ok(())
}

/// A place in what varies.
fn place(networks: &str, times: f64) -> String {
    format!("{networks}, {times} x")
}

/// What the record has of a flood, and what it says of the generator.
fn made(brought: Brought, name: Name, at: &str, capacity: f64, times: f64) -> Made<Brought> {
    let Brought { sent, client, read, out } = brought;
    let is_behind = (sent.packets as f64) < sent.planned as f64 * KEPT_SHARE;
    let raw = json!({
        "flood_of": name.text(), "at": at, "capacity": capacity, "times": times, "planned": sent.planned, "sent": sent.packets,
        "octets_in": sent.octets, "seconds": sent.seconds, "read": read, "out": out.0, "octets_out": out.1,
        "client": { "asked": client.asked, "answered": client.answered, "refused": client.refused },
    });
    let outcome = json!({ "workers_limited": u8::from(is_behind) });
    Made { value: brought, raw, outcome, answers_all: false }
}

/// Answers a second without limits, in a closed loop.
fn capacity(lab: &mut Lab, set: &Set, subject: &Subject) -> Result<f64, Error> {
    let mut server = lab.start(subject, &set.zones)?;
    let queries = query_file(lab)?;
    let (flows, seconds) = (lab.effort.flows.to_string(), lab.effort.warm_seconds.to_string());
    let words = ["--closed", WINDOW, "--seconds", &seconds, "--flows", &flows, "--trains"].map(str::to_owned);
    let outcome = lab.load(&mut server, &queries, &words)?["outcome"].take();
    let of = |name: &str| outcome[name].as_f64().unwrap_or(0.0);
    Ok(of("received") / of("seconds").max(1e-3))
}

fn query_file(lab: &Lab) -> Result<PathBuf, Error> {
    let path = lab.folder("generator")?.join("flood.queries");
    fs::write(&path, QUERIES.map(|query| format!("{query}\n")).concat())
        .map_err(error::file(&path, "write"))?;
    Ok(path)
}

/// A query of this file.
fn query(line: &str) -> Query {
    Query::from_line(line.as_bytes()).ok().flatten().expect("queries of this file can be read")
}

/// One flood at a rate, and the client beside it.
fn one(lab: &Lab, crowd: &Crowd, server: &mut Server, sources: Sources, rate: f64) -> Result<Brought, Error> {
    let SocketAddr::V4(address) = server.address else { return Err(Error::Nobody) };
    let (load, stop) = (lab.bed.load(), &*lab.stop);
    let mut client = load.enter(|| Client::new(address.into(), &query(QUERY)))?;
    let mut flood = load.enter(|| Flood::new(&settings(address, sources)))?;
    let before = (crowd.count(Count::Read)?, crowd.count(Count::Vanished)?, crowd.count(Count::Octets)?);
    let length = Duration::from_secs_f64(lab.effort.run_seconds);
    let (sent, asked) = thread::scope(|scope| {
        let sending = scope.spawn(|| load.enter(|| flood.send(rate, length, stop)));
        let asked = load.enter(|| client.ask(lab.effort.rate_start, length.mul_f64(CLIENT_SHARE), stop));
        (sending.join(), asked)
    });
    let panicked =
        |_| Error::System { action: "send a flood", cause: std::io::Error::other("a thread panicked") };
    let (sent, client) = (sent.map_err(panicked)??, asked?);
    lab.go_on()?;
    let vanished = settled(crowd)?;
    if let Some(status) = server.process.ended() {
        return Err(server.fault(error::ServerProblem::Ended(status.code())));
    }
    let (packets, octets) = (vanished - before.1, crowd.count(Count::Octets)? - before.2);
    let read = crowd.count(Count::Read)?.saturating_sub(before.0);
    Ok(Brought { sent, client, read, out: (packets, octets.saturating_sub(packets * HEADS_OCTETS)) })
}

/// What a link counts of a packet beside its message: heads of Ethernet, IP and UDP.
const HEADS_OCTETS: u64 = 14 + 20 + 8;

fn settings(server: SocketAddrV4, sources: Sources) -> flood::Settings {
    let message = |line: &str| {
        let mut message = Vec::new();
        query(line).write(&mut message);
        message
    };
    flood::Settings { server, sources, messages: QUERIES.map(message).to_vec(), seed: SEED }
}

/// Packets for made-up addresses so far, once no more of them leave: a server may have some seconds of queries in its socket.
fn settled(crowd: &Crowd) -> Result<u64, Error> {
    let mut before = crowd.count(Count::Vanished)?;
    for _ in 0..LOOKS_MAX {
        thread::sleep(LOOK);
        let after = crowd.count(Count::Vanished)?;
        if after == before {
            break;
        }
        before = after;
    }
    Ok(before)
}

impl Found {
    /// Contenders in the recipe's order.
    fn arrange(&mut self, labels: &[String]) {
        let Found { capacity, times, ratio, delivered, answered, over } = self;
        [capacity, times, ratio, delivered, answered, over]
            .into_iter()
            .for_each(|values| values.arrange(labels));
    }
}

fn report(lab: &mut Lab, found: &Found) {
    let who: Vec<String> = found.capacity.contenders().into_iter().map(str::to_owned).collect();
    let sources = lab.recipe.sources.clone();
    let places: Vec<String> =
        sources.iter().flat_map(|networks| TIMES.map(|times| place(&networks.name, times))).collect();
    for at in &places {
        let row = |who: &String| {
            let text = |values: &Values, at: &str, digits: usize| {
                format!("{:.digits$}", statistics::median(values.of(who, at)))
            };
            vec![
                who.clone(),
                text(&found.capacity, "", 0),
                text(&found.times, at, 2),
                text(&found.ratio, at, 3),
                text(&found.delivered, at, 4),
                text(&found.answered, at, 4),
                text(&found.over, at, 4),
            ]
        };
        let rows = who.iter().filter(|who| !found.ratio.of(who, at).is_empty()).map(row).collect();
        let columns = [
            "server",
            "capacity/s",
            "flood x",
            "octets out/in",
            "delivered",
            "client answered",
            "over delivered",
        ];
        let note = "Medians. Capacity: without limits. Flood: what was sent, in capacities. Delivered: of all packets, those that the server read.";
        lab.record.tables.push(table(at, &columns, rows, note));
        for name in &who {
            let times = statistics::median(found.times.of(name, at));
            let wanted: Option<f64> =
                at.rsplit_once(", ").and_then(|(_, times)| times.strip_suffix(" x")?.parse().ok());
            if times > 0.0 && wanted.is_some_and(|wanted| times < wanted * KEPT_SHARE) {
                lab.note(format!(
                    "{at}: {name} was sent {times:.1} times its capacity: the generator's core sends no more"
                ));
            }
        }
    }
    let metrics = [
        (&found.ratio, "octets out over in", false),
        (&found.answered, "client answered", true),
        (&found.over, "client answered over delivered", true),
        (&found.delivered, "delivered", true),
        (&found.times, "flood over capacity", true),
    ];
    for (values, metric, more_is_better) in metrics {
        lab.record.figures.extend(values.figures(metric, "", more_is_better));
    }
    lab.record.figures.extend(found.capacity.figures("capacity", "/s", true));
    for (values, title, label) in [
        (&found.ratio, "Octets that leave for made-up addresses", "octets out over in"),
        (&found.answered, "A client with a cookie beside the flood", "share answered"),
    ] {
        lab.record.charts.push(values.bars(title, label, &places, false));
    }
    runs::change_targets(lab, "octets out over in", |metric, who, at| {
        let values = metrics.iter().find(|(_, name, _)| *name == metric);
        values.map_or_else(Vec::new, |(values, ..)| of_whole_floods(&found.times, values, who, at))
    });
}

/// Values of those floods that were what they should be: by others no target is met or missed.
fn of_whole_floods(times: &Values, values: &Values, who: &str, at: &str) -> Vec<Marked> {
    let floods = times.marks(who, at);
    let is_whole =
        |mark: &Mark| !floods.iter().any(|flood| flood.round == mark.round && flood.known != Known::Exactly);
    values.marked(who, at).into_iter().filter(|(_, mark)| is_whole(mark)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_was_sent() {
        let sent = Sent { planned: 1000, packets: 900, octets: 36_000, seconds: 2.0 };
        let client = Asked { asked: 100, answered: 40, refused: 10, seconds: 1.6 };
        let brought = Brought { sent, client, read: 500, out: (200, 9_000) };
        assert_eq!(
            (brought.delivered(), brought.octets_ratio(), brought.answered(), brought.rate()),
            (0.5, 0.25, 0.4, 450.0)
        );
        let made =
            |brought| made(brought, Name::Zonda, "1, 2 x", 150.0, 2.0).outcome["workers_limited"].as_u64();
        assert_eq!(made(brought), Some(0));
        let behind = Brought { sent: Sent { packets: 899, ..sent }, ..brought };
        assert_eq!(made(behind), Some(1));
    }

    #[test]
    fn targets_are_about_whole_floods() {
        let (mut times, mut values) = (Values::default(), Values::default());
        for (round, is_limited) in [(1, false), (2, true), (3, false)] {
            let known = Known::at_least_if(is_limited);
            times.push_marked("a", "x", 3.0, Mark::in_round(round).known(known));
            values.push_at("a", "x", round, round as f64);
        }
        let found: Vec<f64> =
            of_whole_floods(&times, &values, "a", "x").into_iter().map(|(value, _)| value).collect();
        assert_eq!(found, [1.0, 3.0]);
    }

    #[test]
    fn queries_can_be_read() {
        let server = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 53);
        let settings = settings(server, Sources { networks: 1, apart: 1 });
        assert!(settings.messages.len() == 2 && query(QUERY).edns.is_some_and(|edns| edns.dnssec_ok));
    }
}
