//! Floods: random names below zones that are attacked, at three times what a resolver can do, beside clients who ask for other things.
//!
//! ```text
//! attackers, 250 networks -- random names, 3 x capacity --> resolver --> zones attacked: deny, deny signed, slow, dead
//! clients, 60 networks    -- names that are known       -->          (from its cache)
//! clients, 60 networks    -- names never asked before   -->          --> known zones, which answer at once
//! ```
//!
//! Capacity is what a resolver answers a second when the names that it is asked for do not exist and their servers say so: found first, by a
//! closed loop. What its socket has no room for nobody can answer, so shares are those of what it was delivered.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    thread,
    time::Duration,
};

use bench::random::Random;
use serde_json::json;

use super::{Clients, Said, authority, clients, each, fill, little, query_file, resolver};
use crate::{
    Error,
    bed::{Crowd, DNS_PORT, Slow},
    contender::{Resolving, Server},
    data::{Little, Places, Shape},
    experiment::{Lab, Mark, Values, caching::authorities, runs, table, validity},
    known::Known,
    process::Cpu,
    recipe::{Flood, Name, VICTIMS_MAX, Victims},
    statistics,
};

/// Zones that clients ask for names of.
const KNOWN: usize = 300;
/// TTL of what clients ask for.
const TTL_SECONDS: u32 = 80_000;
/// How many times what it can do a resolver is asked.
const TIMES: f64 = 3.0;
/// How late the answers of slow servers are.
const SLOW: Duration = Duration::from_secs(1);
/// What a resolver's socket may hold: a tenth of a second of queries at the rate of the slower ones. With much more all answers are late.
const RECEIVE_OCTETS: usize = 1 << 20;
/// Networks of attackers, and of each group of clients.
const ATTACKERS: usize = 250;
const CLIENTS: usize = 60;
/// How long clients wait.
const PATIENCE_MS: u64 = 2_000;
/// Misses of clients, as share of their hits.
const MISSES: f64 = 0.2;
/// How long a flood lasts before clients begin, and after they have ended.
const LEAD: Duration = Duration::from_millis(500);
/// What a generator takes until it sends its first query, in seconds, about.
const START: f64 = 0.1;
/// Queries outstanding while the capacity is searched.
const WINDOW: usize = 500;
/// Names for that: more than any resolver can be asked for meanwhile.
const CAPACITY_NAMES: usize = 200_000;
/// Most queries of a flood that are made: what a longer one repeats, resolvers have forgotten by then.
const QUERIES_MAX: usize = 2_000_000;
/// Letters of a random label.
const LABEL: usize = 12;
/// How often is looked whether a resolver still asks after a flood, and how often at most: what nobody answers is asked for seconds.
const LOOK: Duration = Duration::from_millis(300);
const LOOKS_MAX: usize = 30;

/// All that is needed for every contender.
struct Bed {
    little: Little,
    crowd: Crowd,
    parent: Server,
    victims: Server,
    slow: Slow,
    _known: Server,
    known: PathBuf,
}

/// What was found, by flood.
#[derive(Default)]
struct Found {
    capacity: Values,
    rate: Values,
    dropped: Values,
    hits: Values,
    misses: Values,
    latency: Values,
    upstream: Values,
    cpu: Values,
    pss: Values,
    answered: Values,
}

/// Measures all contenders under all floods.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let crowd = lab.bed.crowd()?;
    lab.bed.receive_by_default(RECEIVE_OCTETS)?;
    let [parent, known, victims, slow] = [1, 2, 3, 4].map(Crowd::server);
    let places = Places { parent, known, victims, slow, dead: Crowd::dead };
    let shape =
        Shape { known: KNOWN, victims: VICTIMS_MAX, ttl_seconds: TTL_SECONDS, version: 1, is_signed: true };
    let little = little(lab, &shape, &places)?;
    lab.names = lab.able(little.role, "");
    let names = (0..lab.effort.queries).map(|number| format!("h{number}.k{}.example.", number % KNOWN));
    let bed = Bed {
        known: query_file(lab, "known", names)?,
        parent: authority(lab, "parent", &little.parent, parent)?,
        victims: authority(lab, "victims", &little.victims, victims)?,
        _known: authority(lab, "known", &little.known, known)?,
        slow: Slow::start(&lab.bed.load(), SocketAddr::from((slow, DNS_PORT)), SLOW)?,
        little,
        crowd,
    };
    let (mut found, mut random) = (Found::default(), Random::new(super::SEED));
    each(lab, |lab, name, round| contender(lab, &bed, (name, round), &mut random, &mut found))?;
    report(lab, &found);
    Ok(())
}

/// All floods against one contender.
fn contender(
    lab: &mut Lab,
    bed: &Bed,
    (name, round): (Name, usize),
    random: &mut Random,
    found: &mut Found,
) -> Result<(), Error> {
    let resolving = Resolving { receive_octets: RECEIVE_OCTETS, ..Resolving::default() };
    let subject = resolver(lab, name, bed.little.role, resolving);
    let mut server = lab.start(&subject, &bed.little.nothing)?;
    fill(lab, &mut server, &bed.known)?;
    let (capacity, known) = capacity(lab, &mut server, random)?;
    lab.say(&format!("{}: {capacity:.0} answers a second that deny", name.text()));
    let is_quick = lab.record.quick;
    for flood in lab.recipe.floods.clone() {
        lab.go_on()?;
        if is_quick && flood.full_only {
            continue;
        }
        quiet(lab, bed)?;
        one(lab, bed, (&mut server, round), &flood, capacity, random, found)?;
        let mark = Mark::in_round(round).known(known);
        found.capacity.push_marked(name.text(), &flood.name, capacity, mark);
    }
    Ok(())
}

/// Answers a second to random names of zones whose server denies them.
fn capacity(lab: &Lab, server: &mut Server, random: &mut Random) -> Result<(f64, Known), Error> {
    let names = names(random, Victims::Deny, VICTIMS_MAX, CAPACITY_NAMES);
    let queries = query_file(lab, "capacity", names)?;
    let (window, seconds) = (WINDOW.to_string(), lab.effort.warm_seconds.to_string());
    let words = ["--closed", &window, "--seconds", &seconds, "--flows", "64"].map(str::to_owned);
    let outcome = lab.load(server, &queries, &words)?["outcome"].take();
    let said = Said::of(&outcome);
    Ok((said.answered as f64 / said.seconds.max(1e-3), validity::known_of(&outcome)))
}

/// Random names below zones of a kind.
fn names(random: &mut Random, kind: Victims, victims: usize, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| {
        let label: String = (0..LABEL).map(|_| char::from(b'a' + random.index(26) as u8)).collect();
        format!("{label}.{}{}.example.", kind.letter(), number % victims.max(1))
    })
}

/// Questions that arrived at servers of a kind, and at that of the delegations.
fn asked(lab: &Lab, bed: &Bed, kind: Victims) -> Result<u64, Error> {
    let parent = authorities::counted(lab, &bed.parent)?;
    Ok(parent
        + match kind {
            Victims::None => 0,
            Victims::Deny | Victims::Signed => authorities::counted(lab, &bed.victims)?,
            Victims::Slow => bed.slow.arrived(),
            Victims::Dead => bed.crowd.vanished()?,
        })
}

/// Waits until nobody is asked any more.
fn quiet(lab: &Lab, bed: &Bed) -> Result<(), Error> {
    let all = |lab: &Lab| -> Result<u64, Error> {
        Ok(asked(lab, bed, Victims::Deny)? + bed.slow.arrived() + bed.crowd.vanished()?)
    };
    let mut before = all(lab)?;
    for _ in 0..LOOKS_MAX {
        lab.go_on()?;
        thread::sleep(LOOK);
        let after = all(lab)?;
        if after == before {
            break;
        }
        before = after;
    }
    Ok(())
}

/// One flood against a contender.
fn one(
    lab: &mut Lab,
    bed: &Bed,
    (server, round): (&mut Server, usize),
    flood: &Flood,
    capacity: f64,
    random: &mut Random,
    found: &mut Found,
) -> Result<(), Error> {
    let seconds = lab.effort.run_seconds;
    let has_flood = flood.servers != Victims::None;
    let rate = if has_flood { (capacity * TIMES).max(1.0) } else { 1.0 };
    let count = ((rate * (seconds + 2.0 * LEAD.as_secs_f64())) as usize).clamp(1, QUERIES_MAX);
    let attack = match has_flood {
        true => query_file(lab, "flood", names(random, flood.servers, flood.victims, count))?,
        false => bed.known.clone(),
    };
    let hits = lab.effort.rate_start;
    let (unseen, number) = ((hits * MISSES * (seconds + 1.0)) as usize + 1, random.next_u64());
    let elsewhere = (0..unseen).map(|name| format!("m{number:x}-{name}.k{}.example.", name % KNOWN));
    let group = |label, queries: PathBuf, rate, is_attack: bool, sources: Vec<Ipv4Addr>| Clients {
        label,
        queries,
        rate,
        seconds: if is_attack { seconds + 2.0 * LEAD.as_secs_f64() } else { seconds },
        after: if is_attack { Duration::ZERO } else { LEAD },
        sources,
        patience_ms: PATIENCE_MS,
        trains: is_attack,
    };
    let groups = [
        group("attackers", attack, rate, true, Crowd::clients(0, ATTACKERS)),
        group("hits", bed.known.clone(), hits, false, Crowd::clients(1, CLIENTS)),
        group(
            "misses",
            query_file(lab, "unseen", elsewhere)?,
            hits * MISSES,
            false,
            Crowd::clients(2, CLIENTS),
        ),
    ];
    let port = server.address.port();
    let (before, drops, cpu) =
        (asked(lab, bed, flood.servers)?, bed.crowd.dropped(port)?, server.process.cpu());
    let together = clients::together(lab, server, &groups, || bed.crowd.dropped(port))?;
    let (said, pss_most) = (&together.said, together.pss_most);
    let (drops, cpu) = (bed.crowd.dropped(port)?.saturating_sub(drops), since(server.process.cpu(), cpu));
    quiet(lab, bed)?;
    let upstream = asked(lab, bed, flood.servers)?.saturating_sub(before);
    let sent: u64 = said.iter().map(|said| said.sent).sum();
    let delivered = 1.0 - drops as f64 / sent.max(1) as f64;
    // Beside the clients: a flood fills the room of the socket first, and more is lost then than at its begin and end.
    let a_second: f64 = said.iter().map(|said| said.sent as f64 / said.seconds.max(1e-3)).sum();
    let lead = LEAD.as_secs_f64();
    let beside = 1.0 - together.growth(lead + START, lead + START + seconds) / a_second.max(1.0);
    let of_delivered = |said: &Said| (said.share() / beside.clamp(1e-3, 1.0)).min(1.0);
    let (who, at) = (server.name.text(), flood.name.as_str());
    let flood_delivered = (said[0].sent as f64 * delivered).max(1.0);
    for (values, value) in [
        (&mut found.rate, rate),
        (&mut found.dropped, 1.0 - beside),
        (&mut found.hits, of_delivered(&said[1])),
        (&mut found.misses, of_delivered(&said[2])),
        (&mut found.latency, said[1].p99_ms),
        (&mut found.upstream, if has_flood { upstream as f64 / flood_delivered } else { 0.0 }),
        (&mut found.cpu, (cpu.user + cpu.system) * 1e6 / (sent as f64 * delivered).max(1.0)),
        (&mut found.pss, pss_most as f64),
        (&mut found.answered, said[0].answered as f64 / flood_delivered),
    ] {
        values.push_at(who, at, round, value);
    }
    let told = |said: &Said| {
        json!({ "sent": said.sent, "answered": said.answered, "found": said.found, "failed": said.failed, "late": said.late,
                "median_ms": said.median_ms, "p99_ms": said.p99_ms })
    };
    lab.record.raw.push(json!({
        "flood_of": who, "at": at, "capacity": capacity, "rate": rate, "dropped": drops, "delivered_beside_clients": beside,
        "upstream": upstream,
        "user_seconds": cpu.user, "system_seconds": cpu.system, "pss_most": pss_most,
        "attackers": told(&said[0]), "hits": told(&said[1]), "misses": told(&said[2]),
        "receive_octets": lab.bed.receive_octets(port),
    }));
    Ok(())
}

fn since(after: Cpu, before: Cpu) -> Cpu {
    Cpu { user: after.user - before.user, system: after.system - before.system }
}

fn report(lab: &mut Lab, found: &Found) {
    let who: Vec<String> = found.hits.contenders().into_iter().map(str::to_owned).collect();
    let floods = lab.recipe.floods.iter().filter(|flood| !(lab.record.quick && flood.full_only));
    let places: Vec<String> = floods.map(|flood| flood.name.clone()).collect();
    let columns = [
        "resolver",
        "capacity/s",
        "flood/s",
        "dropped %",
        "hits %",
        "misses %",
        "hits p99 ms",
        "upstream",
        "CPU us",
        "PSS MiB",
        "told %",
    ];
    for at in &places {
        let row = |who: &String| {
            let text = |values: &Values, digits: usize, by: f64| {
                format!("{:.digits$}", statistics::median(values.of(who, at)) * by)
            };
            vec![
                who.clone(),
                found.capacity.known(who, at).sign().to_owned() + &text(&found.capacity, 0, 1.0),
                text(&found.rate, 0, 1.0),
                text(&found.dropped, 1, 100.0),
                text(&found.hits, 1, 100.0),
                text(&found.misses, 1, 100.0),
                text(&found.latency, 1, 1.0),
                text(&found.upstream, 3, 1.0),
                text(&found.cpu, 1, 1.0),
                text(&found.pss, 0, 1.0 / f64::from(1 << 20)),
                text(&found.answered, 1, 100.0),
            ]
        };
        let rows = who.iter().filter(|who| !found.hits.of(who, at).is_empty()).map(row).collect();
        let note = "Hits and misses: of what the socket was delivered, what clients got within 2 s. Upstream: questions for a query of the flood. CPU: \
                    for each query delivered. Told: queries of the flood that were answered at all.";
        lab.record.tables.push(table(at, &columns, rows, note));
    }
    for (values, metric, unit, more_is_better) in [
        (&found.hits, "hits answered", "", true),
        (&found.misses, "misses answered", "", true),
        (&found.upstream, "upstream questions a flood query", "", false),
        (&found.cpu, "CPU a query", "us", false),
        (&found.pss, "most PSS", "octets", false),
        (&found.capacity, "capacity", "/s", true),
    ] {
        lab.record.figures.extend(values.figures(metric, unit, more_is_better));
    }
    for (values, title) in
        [(&found.hits, "Names that are known"), (&found.misses, "Names elsewhere that are not")]
    {
        let title = format!("{title}: share answered beside a flood");
        lab.record.charts.push(values.bars(&title, "share", &places, false));
    }
    runs::change_targets(lab, "hits answered", |metric, who, at| match metric {
        "hits answered" => found.hits.marked(who, at),
        "misses answered" => found.misses.marked(who, at),
        "upstream questions a flood query" => found.upstream.marked(who, at),
        "CPU a query" => found.cpu.marked(who, at),
        _ => Vec::new(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_below_all_victims_in_turn() {
        let mut random = Random::new(1);
        let all: Vec<String> = names(&mut random, Victims::Dead, 2, 4).collect();
        let zones: Vec<&str> =
            all.iter().filter_map(|name| name.split_once('.')).map(|(_, zone)| zone).collect();
        assert_eq!(zones, ["d0.example.", "d1.example.", "d0.example.", "d1.example."]);
        assert!(all.iter().all(|name| name.find('.') == Some(LABEL)) && all[0] != all[2]);
    }
}
