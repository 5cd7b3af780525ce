//! Resolvers: rates by the share of queries that their caches answer (the paper's caching server, 6.1.5).
//!
//! ```text
//! generator -- queries --> resolver, or relay (the limit) -- misses --> server 1: 1,000 zones of 200 addresses, half with a TTL of 1 s
//!                                                         -- seldom --> server 2: root, and the parent of those zones
//! ```
//!
//! Both authoritative servers are this project's, at the generator's end and on cores beside those of the resolvers; on a machine with two
//! cores the generator's pays for them, for every contender alike. What they count tells how many queries of clients went on to them.
//!
//! The mix of names sets the share of hits whatever the rate: names that stay are asked for once before anything is measured, names
//! with a TTL of 1 s in rounds that take longer than two.
//!
//! Resolvers are started and settled once for each number of workers. A block has every case; in a case all walk a staircase each,
//! and so do two relays, which pass the same share on. From trial to trial it is another's turn.

pub(in crate::experiment) mod authorities;
mod beside;
mod block;
mod fit;
mod judge;
mod report;

use std::{collections::BTreeMap, path::PathBuf, time::Instant};

use authorities::Authorities;
use bench::random::Random;
use serde_json::Value;

use super::{Lab, Rounds, Running, Subject, Values, rated::Rated, rates};
use crate::{
    Error, agreement,
    agreement::Ttls,
    contender::{Bounds, EchoOptions, Role, Root, Server},
    data::{BED_SERVER, CachingBed, Store},
    place,
    recipe::{Case, Name, Row, Sockets},
    record::Text,
};

/// Order of the turns.
const SEED: u64 = 1;
/// The limit program's name in results: an echo server that passes on what a resolver would miss.
const RELAY: &str = "relay";
/// The second one of a block.
const RELAY_AGAIN: &str = "relay again";
/// Queries outstanding while caches settle: what every resolver has places for.
const SETTLE_WINDOW: usize = 200;
/// Rounds until they have: who cannot answer by then shows it in the blocks.
const SETTLE_ROUNDS_MAX: usize = 3;

/// A case with its queries, for so many workers.
struct Spot {
    at: String,
    case: Case,
    workers: usize,
    /// Share of hits.
    hits: f64,
    queries: PathBuf,
    sizes: PathBuf,
    /// Names that stay, for the warm-up: those of the case that do not stay would be hits in the first trial after it.
    settle: PathBuf,
}

/// Values of all blocks.
#[derive(Default)]
struct Found {
    rated: Rated,
    /// The mean of the two relays of each block.
    limits: Values,
    hits: Values,
    upstream: Values,
    /// How busy the resolvers' cores were in trials that held, and the generator's, in hundredths.
    busy: Values,
    busy_load: Values,
    /// Rates reached by label and place, whether the block counted or not; and by label and number of workers the last of any place.
    reached: BTreeMap<(String, String), f64>,
    reached_last: BTreeMap<(String, usize), f64>,
}

/// Measures all cases with all numbers of workers.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let upstreams = lab.bed.upstreams()?;
    let counts = rates::workers(lab);
    let (bed, all) = spots(lab, upstreams, &counts)?;
    let root = Root { server: BED_SERVER, address: upstreams[0] };
    let role = Role::Resolver { root, anchor: bed.anchor };
    lab.names = lab.able(role, "");
    let most = counts.iter().copied().max().unwrap_or(1);
    let mut authorities = Authorities::start(lab, &bed, upstreams, most)?;
    say_places(lab, &authorities, most);
    let (mut found, mut order) = (Found::default(), Random::new(SEED));
    let (began, mut blocks) = (Instant::now(), lab.effort.blocks * all.len());
    let mut done = 0;
    for &workers in &counts {
        let mut running = start(lab, &bed, role, workers)?;
        let spots: Vec<&Spot> = all.iter().filter(|spot| spot.workers == workers).collect();
        if workers == counts[0] {
            agree(lab, &running, &spots)?;
        }
        let mut rounds = Rounds::new(lab.effort.blocks);
        while let Some(number) = rounds.next(lab) {
            // A spare round is one more than was thought of.
            blocks += if number > lab.effort.blocks { spots.len() } else { 0 };
            for spot in &spots {
                if running.is_empty() {
                    break;
                }
                let text = format!("block {number} of {} {}", rounds.count(), spot.at);
                lab.say_left(text.trim_end(), began, done, blocks - done);
                block::measure(lab, number, spot, &mut running, &mut authorities, &mut order, &mut found)?;
                done += 1;
            }
        }
    }
    if lab.record.raw.is_empty() {
        return Err(Error::Nobody);
    }
    report::report(lab, &all, &found);
    Ok(())
}

/// Zones and queries of all cases.
fn spots(
    lab: &mut Lab,
    upstreams: [std::net::Ipv4Addr; 2],
    counts: &[usize],
) -> Result<(CachingBed, Vec<Spot>), Error> {
    let work = lab.folder("generator")?;
    let store = Store { folder: &lab.data, work: &work, bench: &lab.programs.bench, stop: &lab.stop };
    let cases = &lab.recipe.cases;
    let bed = store.caching(&cases[0], &lab.effort, upstreams)?;
    let mut all = Vec::new();
    for &workers in counts {
        for case in cases {
            let (queries, sizes) = store.caching_queries(&bed, case, &lab.effort)?;
            let mut at = Vec::new();
            if cases.len() > 1 {
                at.push(case.name.clone());
            }
            if lab.recipe.workers.len() > 1 {
                at.push(format!("{workers} {}", if workers == 1 { "worker" } else { "workers" }));
            }
            let (at, hits) = (at.join(", "), case.hits.unwrap_or(1.0));
            let settle = bed.settle.clone();
            all.push(Spot { at, case: case.clone(), workers, hits, queries, sizes, settle });
        }
    }
    let (zones, records) = (bed.children.list.len(), bed.children.records);
    lab.record
        .notes
        .push(format!("{zones} zones of {records} records in all below {}", bed.parent.list[0].0));
    Ok((bed, all))
}

/// Puts into the record which program runs on which core.
fn say_places(lab: &mut Lab, authorities: &Authorities, workers: usize) {
    let servers: Vec<usize> = lab.server_cores.iter().copied().take(workers).collect();
    let list = |cores: &[usize]| {
        let numbers: Vec<String> = cores.iter().map(usize::to_string).collect();
        format!("{} {}", if cores.len() == 1 { "core" } else { "cores" }, numbers.join(", "))
    };
    let mut names: Vec<&str> = lab.names.iter().map(|name| name.text()).collect();
    names.extend([RELAY, RELAY_AGAIN]);
    let all = [("generator", &lab.load_cores), ("resolvers", &servers), ("authorities", &authorities.cores)];
    let text = format!(
        "{:11} generator\n{:11} {}: all are started, one is asked at a time\n{:11} server 1 (the zones that are asked for), server 2 (root, parent)",
        list(&lab.load_cores),
        list(&servers),
        names.join(", "),
        list(&authorities.cores),
    );
    lab.record.machine["placement"] =
        all.into_iter().map(|(who, cores)| (who, serde_json::json!(cores))).collect();
    let note = if authorities.cores.iter().any(|core| lab.load_cores.contains(core)) {
        "A miss costs the generator's core too: what a resolver or a relay can do there may be bounded by that core, which the tables show."
    } else {
        ""
    };
    let title = "What ran where".to_owned();
    lab.record.texts.push(Text { title, text, note: note.to_owned() });
}

/// Starts all contenders and asks each for every name that stays, once. Those that fail are left out with a note.
fn start(lab: &mut Lab, bed: &CachingBed, role: Role, workers: usize) -> Result<Running, Error> {
    let at = if lab.recipe.workers.len() > 1 { format!("{workers} workers") } else { String::new() };
    let subjects = lab.names.iter().map(|&name| lab.subject_as(name, workers, role)).collect();
    let mut running = Running::new();
    lab.start_all(subjects, &bed.nothing, &mut running, &at)?;
    lab.check_buffers(&running);
    let mut failed = Vec::new();
    for (subject, server) in &mut running {
        failed.extend(settle(lab, subject, server, bed).err());
    }
    failed.into_iter().try_for_each(|error| lab.leave_out(&mut running, &at, error))?;
    lab.warm_all(&mut running, &bed.settle, &Row::default(), &at)?;
    Ok(running)
}

/// Asks a resolver for every name that stays, again where one was not answered: under so many questions at once about zones that it has
/// not heard of, some give up on a few.
fn settle(lab: &Lab, subject: &Subject, server: &mut Server, bed: &CachingBed) -> Result<(), Error> {
    let window = SETTLE_WINDOW.to_string();
    let words = ["--closed", &window, "--loops", "1", "--flows", "64"].map(str::to_owned);
    for round in 1..=SETTLE_ROUNDS_MAX {
        lab.go_on()?;
        let began = Instant::now();
        let result = lab.load(server, &bed.settle, &words)?;
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let outcome = &result["outcome"];
        let (sent, answered) = (count(&outcome["sent"]), count(&outcome["rcodes"]["NOERROR"]));
        let seconds = began.elapsed().as_secs_f64();
        let name = &subject.label;
        lab.say(&format!("{name}, round {round}: {answered} of {sent} names found in {seconds:.1} s"));
        if answered == sent {
            break;
        }
    }
    Ok(())
}

/// Compares answers to a sample of the first queries that miss.
fn agree(lab: &mut Lab, running: &Running, spots: &[&Spot]) -> Result<(), Error> {
    let Some(spot) = spots.iter().find(|spot| spot.hits < 1.0).or(spots.first()) else { return Ok(()) };
    let sample = agreement::sample(&spot.queries, lab.effort.agreement)?;
    lab.compare(running, &sample, Ttls::Ignored, &spot.case, "").map(drop)
}

impl Spot {
    /// A relay that passes on as much as misses here.
    fn relay(&self, lab: &Lab, label: &str, authorities: &Authorities) -> Subject {
        let share = ((1.0 - self.hits) * 1e6).round() / 1e6;
        Subject {
            label: label.to_owned(),
            name: Name::Echo,
            workers: self.workers,
            echo: EchoOptions {
                threads: self.workers,
                sockets: Sockets::Each,
                sizes: Some(self.sizes.clone()),
                relay: Some((authorities.children.address, share)),
                ..EchoOptions::default()
            },
            cores: lab.server_cores.iter().copied().take(self.workers).collect(),
            role: Role::Static,
            bounds: Bounds::default(),
            under: Vec::new(),
        }
    }
}

/// Cores for the authoritative servers: those that neither the resolvers nor the generator have; else the generator's.
fn spare_cores(lab: &Lab, workers: usize) -> Vec<usize> {
    let taken: Vec<usize> =
        lab.server_cores.iter().copied().take(workers).chain(lab.load_cores.clone()).collect();
    let spare: Vec<usize> = place::cores().into_iter().filter(|core| !taken.contains(core)).collect();
    if spare.is_empty() { lab.load_cores.clone() } else { spare }
}
