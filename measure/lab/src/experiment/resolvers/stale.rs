//! Stale: all authoritative servers gone, and back with other data.
//!
//! ```text
//! all names asked for -- they expire -- servers gone -- clients ask: from what has expired? -- servers back, data changed -- until all is fresh
//! ```
//!
//! Gone in three ways: ended, so that their hosts say that nobody listens; silent, as behind a broken link; and without a way to them, as where this
//! machine's own network is lost. Servers come back with other addresses at the names, by which fresh answers are told.

use std::{
    net::UdpSocket,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use bench::query::Query;
use serde_json::json;
use wire::record::RecordView;

use super::{Clients, authority, clients, each, fill, little, query_file, resolver, shuffled};
use crate::{
    Error,
    bed::{Crowd, Gone},
    contender::{self, Resolving, Server},
    data::{Little, Places, Shape},
    experiment::{Lab, Mark, Values, runs, table},
    known::Known,
    recipe::Name,
    statistics,
};

/// Zones that the names are in.
const ZONES: usize = 20;
/// TTL of the names, and how long is waited until all have expired.
const TTL_SECONDS: u32 = 1;
const EXPIRED: Duration = Duration::from_millis(2_500);
/// How long clients wait: as stub resolvers do.
const PATIENCE_MS: u64 = 5_000;
/// How often is asked whether an answer is fresh.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// So many fresh answers in a row are the end of it: the names are asked for in turn.
const FRESH: usize = 200;

/// Ways to be gone, with what they are called.
const WAYS: [(&str, Option<Gone>); 3] =
    [("ended", None), ("silent", Some(Gone::Silent)), ("no network", Some(Gone::Unreachable))];

/// The servers, with the data of a version.
struct Authorities {
    parent: Server,
    known: Server,
}

/// All that is needed for every contender.
struct Bed {
    /// By version of the data, the second after the first.
    little: [Little; 2],
    places: Places,
    crowd: Crowd,
    names: Vec<String>,
    queries: PathBuf,
    asked: PathBuf,
}

/// What was found, by way.
#[derive(Default)]
struct Found {
    share: Values,
    median: Values,
    p99: Values,
    upstream: Values,
    first_fresh: Values,
    all_fresh: Values,
}

/// Measures all contenders.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let crowd = lab.bed.crowd()?;
    let [parent, known] = [1, 2].map(Crowd::server);
    let places = Places { parent, known, victims: known, slow: known, dead: Crowd::dead };
    let of = |lab: &Lab, version| {
        let shape = Shape { known: ZONES, victims: 0, ttl_seconds: TTL_SECONDS, version, is_signed: false };
        little(lab, &shape, &places)
    };
    let littles = [of(lab, 1)?, of(lab, 2)?];
    lab.names = lab.able(littles[0].role, "");
    let count = lab.effort.queries;
    let names: Vec<String> =
        (0..count).map(|number| format!("n{number}.k{}.example.", number % ZONES)).collect();
    let order = shuffled(count, 4);
    let bed = Bed {
        little: littles,
        queries: query_file(lab, "names", names.iter().cloned())?,
        asked: query_file(lab, "asked", order.into_iter().map(|number| names[number].clone()))?,
        places,
        crowd,
        names,
    };
    let mut found = Found::default();
    each(lab, |lab, name, round| contender(lab, &bed, (name, round), &mut found))?;
    report(lab, &found);
    Ok(())
}

impl Authorities {
    fn start(lab: &Lab, bed: &Bed, version: usize) -> Result<Authorities, Error> {
        let little = &bed.little[version];
        Ok(Authorities {
            parent: authority(lab, "parent", &little.parent, bed.places.parent)?,
            known: authority(lab, "known", &little.known, bed.places.known)?,
        })
    }

    fn end(&mut self) {
        self.parent.end();
        self.known.end();
    }
}

/// All ways against one contender.
fn contender(lab: &mut Lab, bed: &Bed, (name, round): (Name, usize), found: &mut Found) -> Result<(), Error> {
    let mut version = 0;
    let mut authorities = Authorities::start(lab, bed, version)?;
    let resolving = Resolving { serves_stale: true, ..Resolving::default() };
    let subject = resolver(lab, name, bed.little[0].role, resolving);
    let servers = [bed.places.parent, bed.places.known];
    for (at, way) in WAYS {
        // Anew each time: some give what has expired for a while after a failure without asking anybody, and would do so in the next way still.
        let mut server = lab.start(&subject, &bed.little[0].nothing)?;
        fill(lab, &mut server, &bed.queries)?;
        thread::sleep(EXPIRED);
        if let Some(way) = way {
            bed.crowd.take_away(&servers, way)?;
        }
        authorities.end();
        let outage = outage(lab, bed, &mut server, way);
        version = 1 - version;
        authorities = Authorities::start(lab, bed, version)?;
        if way.is_some() {
            bed.crowd.put_back(&servers)?;
        }
        let (said, upstream) = outage?;
        let back = back(lab, bed, &server, version)?;
        let who = name.text();
        for (values, value) in [
            (&mut found.share, Some(said.share())),
            (&mut found.median, Some(said.median_ms)),
            (&mut found.p99, Some(said.p99_ms)),
            (&mut found.upstream, upstream.map(|count| count as f64 / said.sent.max(1) as f64)),
        ] {
            value.into_iter().for_each(|value| values.push_at(who, at, round, value));
        }
        for (values, value) in [(&mut found.first_fresh, back.first), (&mut found.all_fresh, back.all)] {
            let (value, known) = within(value, lab.effort.warm_seconds);
            values.push_marked(who, at, value, Mark::in_round(round).known(known));
        }
        lab.record.raw.push(json!({
            "stale_of": who, "at": at, "sent": said.sent, "found": said.found, "failed": said.failed, "late": said.late,
            "median_ms": said.median_ms, "p99_ms": said.p99_ms, "upstream": upstream,
            "first_fresh_seconds": back.first, "all_fresh_seconds": back.all, "not_fresh_after_first": back.others,
            "last_not_fresh_seconds": back.last_other,
        }));
    }
    Ok(())
}

/// Clients while all is gone; with how often servers were asked, where that can be counted.
fn outage(
    lab: &Lab,
    bed: &Bed,
    server: &mut Server,
    way: Option<Gone>,
) -> Result<(clients::Said, Option<u64>), Error> {
    let count = || -> Result<Option<u64>, Error> {
        match way {
            None => bed.crowd.refused().map(Some),
            Some(Gone::Silent) => bed.crowd.vanished().map(Some),
            // Nothing leaves this machine.
            Some(Gone::Unreachable) => Ok(None),
        }
    };
    let before = count()?;
    let group = Clients {
        label: "clients",
        queries: bed.asked.clone(),
        rate: lab.effort.rate_start,
        seconds: lab.effort.run_seconds,
        after: Duration::ZERO,
        sources: Crowd::clients(1, 20),
        patience_ms: PATIENCE_MS,
        trains: false,
    };
    let said = clients::together(lab, server, &[group], || Ok(0))?.said[0];
    let after = count()?;
    Ok((said, after.zip(before).map(|(after, before)| after.saturating_sub(before))))
}

/// How long it took after the servers had come back, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Back {
    first: Option<f64>,
    /// Until the last answer that was not fresh; `None` where there were such to the end.
    all: Option<f64>,
    /// Answers that were not fresh, after the first that was.
    others: usize,
    /// When the last of those came.
    last_other: f64,
}

/// What did not come to pass within a window took at least as long: it is a value as any other, not a gap.
fn within(value: Option<f64>, window_seconds: f64) -> (f64, Known) {
    value.map_or((window_seconds, Known::AtLeast), |value| (value, Known::Exactly))
}

/// Asks for one name after the other until all answers are of that version.
fn back(lab: &Lab, bed: &Bed, server: &Server, version: usize) -> Result<Back, Error> {
    let socket = contender::socket(&lab.bed, server.address)?;
    let system = |cause| Error::System { action: "ask a resolver", cause };
    socket.set_nonblocking(true).map_err(system)?;
    let fresh = bed_octet(version);
    let (began, mut back, mut in_a_row) = (Instant::now(), Back::default(), 0);
    let mut packet = Vec::new();
    for name in bed.names.iter().cycle() {
        lab.go_on()?;
        if began.elapsed().as_secs_f64() > lab.effort.warm_seconds {
            return Ok(back);
        }
        if let Some(query) = Query::from_line(format!("{name} A rd").as_bytes()).ok().flatten() {
            packet.clear();
            query.write(&mut packet);
            let _ = socket.send(&packet);
        }
        thread::sleep(ASK_EVERY);
        while let Some(octet) = answered(&socket) {
            let since = began.elapsed().as_secs_f64();
            if octet == Some(fresh) {
                back.first.get_or_insert(since);
                in_a_row += 1;
            } else {
                back.others += usize::from(back.first.is_some());
                (back.last_other, in_a_row) = (since, 0);
            }
        }
        if in_a_row >= FRESH {
            back.all = Some(back.last_other.max(back.first.unwrap_or(0.0)));
            return Ok(back);
        }
    }
    Ok(back)
}

/// The last octet of addresses of a version.
fn bed_octet(version: usize) -> u8 {
    version as u8 + 1
}

/// The last octet of the address in an answer, where one came; none in one without an address.
fn answered(socket: &UdpSocket) -> Option<Option<u8>> {
    let mut room = [0; 1024];
    let octets = socket.recv(&mut room).ok()?;
    let reply = &room[..octets];
    let address = || {
        if reply.len() < 12 || reply[6..8] == [0, 0] {
            return None;
        }
        let question = wire::record::skip_name(reply, 12)? + 4;
        RecordView::read(reply, question)?.rdata.last().copied()
    };
    Some(address())
}

fn report(lab: &mut Lab, found: &Found) {
    let who: Vec<String> = found.share.contenders().into_iter().map(str::to_owned).collect();
    let places: Vec<String> = WAYS.iter().map(|(at, _)| (*at).to_owned()).collect();
    for at in &places {
        let row = |who: &String| {
            let text = |values: &Values, digits: usize, by: f64| match values.of(who, at) {
                [] => "-".to_owned(),
                found => {
                    let known = values.known(who, at).sign();
                    format!("{known}{:.digits$}", statistics::median(found) * by)
                }
            };
            vec![
                who.clone(),
                text(&found.share, 1, 100.0),
                text(&found.median, 1, 1.0),
                text(&found.p99, 1, 1.0),
                text(&found.upstream, 2, 1.0),
                text(&found.first_fresh, 2, 1.0),
                text(&found.all_fresh, 2, 1.0),
            ]
        };
        let rows = who.iter().map(row).collect();
        let columns = [
            "resolver",
            "answered %",
            "median ms",
            "p99 ms",
            "upstream a query",
            "first fresh s",
            "all fresh s",
        ];
        let note = "Answered: with an address, of what had expired. Fresh: after the servers were back; ≥ where in some rounds it was not within the \
                    time that is waited for it, which counts as that time. `-`: nothing leaves the machine that could be counted.";
        lab.record.tables.push(table(&format!("Servers gone: {at}"), &columns, rows, note));
    }
    for (values, metric, unit, more_is_better) in [
        (&found.share, "answered", "", true),
        (&found.median, "median", "ms", false),
        (&found.p99, "p99", "ms", false),
        (&found.upstream, "upstream a query", "", false),
        (&found.first_fresh, "first fresh", "s", false),
        (&found.all_fresh, "all fresh", "s", false),
    ] {
        lab.record.figures.extend(values.figures(metric, unit, more_is_better));
    }
    lab.record.charts.push(found.share.bars("Answered from what has expired", "share", &places, false));
    runs::change_targets(lab, "answered", |metric, who, at| match metric {
        "answered" => found.share.marked(who, at),
        "upstream a query" => found.upstream.marked(who, at),
        "all fresh" => found.all_fresh.marked(who, at),
        _ => Vec::new(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_come_to_pass_took_at_least_the_window() {
        let mut values = Values::default();
        for (round, seconds) in [Some(0.5), None, Some(1.5)].into_iter().enumerate() {
            let (value, known) = within(seconds, 20.0);
            values.push_marked("named", "silent", value, Mark::in_round(round).known(known));
        }
        assert_eq!(values.of("named", "silent"), [0.5, 20.0, 1.5]);
        assert_eq!(values.known("named", "silent"), Known::AtLeast);
    }
}
