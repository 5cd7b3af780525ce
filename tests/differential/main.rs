//! The same queries to every server; every difference is explained in `EXPLAINED.md` or is a failure.
//!
//! * `ZONDA_DIFFERENTIAL=full` asks everything; without it a sample is asked, the same one each time.
//! * `ZONDA_DIFFERENTIAL_SEED=n` draws another sample.
//! * `ZONDA_DIFFERENTIAL_SERVERS=named,nsd,knot` leaves servers out, for example to see how the peers differ.

mod compare;
mod generate;
mod queries;
mod rules;
mod sets;

use std::collections::BTreeMap;
use std::time::Instant;

use compare::Findings;
use queries::{Case, Effort};
use rules::Rules;
use sets::ZoneSet;
use zonda_tests::exchange::{Transport, batch};
use zonda_tests::server::{Kind, Server};
use zonda_tests::zone::transfer;

/// Cases asked and compared at a time: bounds what is held in memory.
const CHUNK: usize = 8192;

/// Classes of unexplained differences that are written out.
const CLASSES_SHOWN: usize = 60;

/// Servers to ask, by `ZONDA_DIFFERENTIAL_SERVERS`.
fn servers() -> Vec<Kind> {
    let all = [Kind::Named, Kind::Nsd, Kind::Knot, Kind::Zonda];
    match std::env::var("ZONDA_DIFFERENTIAL_SERVERS") {
        Ok(list) => all.into_iter().filter(|kind| list.split(',').any(|name| name == kind.label())).collect(),
        Err(_) => all.to_vec(),
    }
}

#[test]
fn servers_agree_but_for_explained_differences() {
    let kinds = servers();
    let effort = Effort::from_environment();
    let mut findings = Findings::new(Rules::read());
    let only = std::env::var("ZONDA_DIFFERENTIAL_SETS").ok();
    for set in sets::all().into_iter().filter(|set| only.as_ref().is_none_or(|only| only.contains(set.name)))
    {
        let began = Instant::now();
        let asked = run(&set, &kinds, &effort, &mut findings);
        eprintln!(
            "{}: {asked} queries to {} servers in {:.1} s",
            set.name,
            kinds.len(),
            began.elapsed().as_secs_f32()
        );
    }
    eprintln!("{}", findings.summary());
    let unexplained = findings.unexplained(CLASSES_SHOWN);
    assert!(unexplained.is_empty(), "differences that no rule explains:\n{unexplained}");
    if only.is_none() && kinds.len() == 4 {
        let stale = findings.stale_rules(effort.full);
        assert!(stale.is_empty(), "rules that explained nothing, to be removed: {}", stale.join(", "));
    }
}

mod long {
    use super::*;

    /// Sets of zones, each from a seed of its own. With `ZONDA_DIFFERENTIAL_SEED` others.
    const SETS: u64 = 12;
    /// Queries to each zone.
    const SAMPLE: usize = 4000;

    #[test]
    #[ignore = "long: make test-long"]
    fn generated_zones_are_answered_alike() {
        let (kinds, effort) = (servers(), Effort::from_environment());
        let mut findings = Findings::new(Rules::read());
        let mut asked = 0;
        for number in 0..SETS {
            asked += run(&generate::set(effort.seed * SETS + number, SAMPLE), &kinds, &effort, &mut findings);
        }
        eprintln!("{asked} queries\n{}", findings.summary());
        let unexplained = findings.unexplained(CLASSES_SHOWN);
        assert!(unexplained.is_empty(), "differences that no rule explains:\n{unexplained}");
    }
}

#[test]
fn every_rule_is_explained_in_prose() {
    let prose = include_str!("EXPLAINED.md");
    let mut told: Vec<&str> = prose.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let rules = Rules::read();
    let mut named: Vec<&str> = rules.rules.iter().map(|rule| rule.name.as_str()).collect();
    told.sort_unstable();
    named.sort_unstable();
    named.dedup();
    assert_eq!(told, named, "headings of EXPLAINED.md and names in rules.toml");
}

/// Asks one set of zones from all servers. Returns the number of queries.
fn run(set: &ZoneSet, kinds: &[Kind], effort: &Effort, findings: &mut Findings) -> usize {
    let servers: Vec<Server> = std::thread::scope(|scope| {
        let starts: Vec<_> =
            kinds.iter().map(|&kind| scope.spawn(move || Server::start(kind, &set.zones))).collect();
        starts.into_iter().map(|start| start.join().expect("a server that starts")).collect()
    });
    let mut cases = Vec::new();
    for zone in &set.zones {
        let records = transfer(servers[0].address, &zone.origin);
        cases.extend(queries::of_zone(&zone.origin, &records, effort, set.sample));
    }
    for chunk in cases.chunks(CHUNK) {
        let answers: BTreeMap<Kind, Vec<Option<Vec<u8>>>> = std::thread::scope(|scope| {
            let asked: Vec<_> =
                servers.iter().map(|server| (server.kind, scope.spawn(|| ask_all(server, chunk)))).collect();
            asked
                .into_iter()
                .map(|(kind, answers)| (kind, answers.join().expect("a whole exchange")))
                .collect()
        });
        for (at, case) in chunk.iter().enumerate() {
            let of_case = answers.iter().map(|(kind, answers)| (*kind, answers[at].as_deref())).collect();
            findings.compare(case, &of_case);
        }
    }
    cases.len()
}

/// The answers of one server, in the order of the cases.
fn ask_all(server: &Server, cases: &[Case]) -> Vec<Option<Vec<u8>>> {
    let mut answers = vec![None; cases.len()];
    for transport in [Transport::Udp, Transport::Tcp] {
        let places: Vec<usize> = (0..cases.len()).filter(|&at| cases[at].transport == transport).collect();
        let messages: Vec<Vec<u8>> = places.iter().map(|&at| cases[at].query.octets()).collect();
        for (place, answer) in places.into_iter().zip(batch(server.address, transport, &messages)) {
            answers[place] = answer;
        }
    }
    answers
}
