//! The product's resolver in the larger Internet: signed and bogus zones, lost answers, servers that die for hours. An answer may fail; it is never wrong,
//! and never called secure where it is not.

mod product;

use product::Product;
use sim::generated::{Generated, Wanted, generated, is_supported, names_seen};
use sim::tested::{Setup, Tested};
use sim::time::{MILLISECOND, Micros, SECOND, Time};
use sim::truth::Truth;
use sim::world::Question;
use sim::{Behaviour, Random, Reply, World};
use std::collections::HashMap;
use wire::iana::{rcode, rtype};
use wire::{Name, Transport, header};

const SIGNED: Wanted = Wanted {
    seed: 11,
    signed_percent: 40,
    bogus_percent: 10,
    has_ipv6: true,
    lame_percent: 0,
    now: sim::BEGIN_UNIX_SECONDS,
    addresses_a_group: 0,
    first_address: sim::generated::FIRST_ADDRESS,
};

/// What came of all questions of a run.
#[derive(Debug, Default)]
struct Counts {
    found: usize,
    failed: usize,
    secure: usize,
    unanswered: usize,
    /// Questions about names of bogus zones that failed, as they must.
    bogus: usize,
}

struct Run {
    world: World,
    resolver: Box<dyn Tested>,
    truth: Truth,
    generated: Generated,
    /// Whether a zone is signed, and all above it.
    secure: HashMap<String, bool>,
    counts: Counts,
}

impl Run {
    fn new(wanted: &Wanted, every: usize) -> Run {
        let seen: Vec<_> = names_seen().into_iter().step_by(every).collect();
        let generated = generated(wanted, &seen);
        let zones = generated.plan.complete().expect("zones");
        let internet = generated.plan.internet().expect("servers");
        let anchors = generated.plan.anchors();
        let setup = Setup {
            hints: internet.hints(),
            anchors,
            settings: Vec::new(),
            stored: None,
            time: Time::begin(),
        };
        let signed = generated
            .plan
            .zones
            .iter()
            .map(|zone| (zone.apex.to_string(), zone.signing.as_ref().is_some_and(is_supported)));
        let signed: HashMap<String, bool> = signed.collect();
        let is_secure = |zone: &String| {
            let apex: wire::NameBuf = zone.parse().expect("a name");
            let above = std::iter::successors(Some(&*apex), |name| name.parent());
            above.filter_map(|name| signed.get(&name.to_string())).all(|is_signed| *is_signed)
        };
        let secure = signed.keys().map(|zone| (zone.clone(), is_secure(zone))).collect();
        Run {
            world: World::new(internet, wanted.seed),
            resolver: Product::boxed(&setup).expect("no settings"),
            truth: Truth::of(&zones),
            generated,
            secure,
            counts: Counts::default(),
        }
    }

    /// What all servers do from now on.
    fn behave(&mut self, line: &str) {
        let names: Vec<String> =
            self.world.internet.servers().iter().map(|server| server.name.clone()).collect();
        let behaviour: Behaviour = line.parse().expect("a behaviour");
        names.iter().for_each(|name| self.world.internet.behave(name, behaviour.clone()).expect("a server"));
    }

    /// Asks, and looks at what comes until some seconds later. `names`: numbers of names, one every `gap`.
    fn ask(&mut self, names: &[usize], gap: Micros) {
        let mut tickets = Vec::new();
        for (at, &number) in (0..).zip(names) {
            let (name, _) = &self.generated.names[number];
            // Clients over TCP hear of failures however late they are.
            let question =
                Question { transport: Transport::Tcp, ..Question::new(&name.to_string(), rtype::A).dnssec() };
            tickets.push(self.world.ask_after(at * gap, &question));
        }
        let end = self.world.now() + names.len() as u64 * gap + 10 * SECOND;
        self.world.run_until(&mut *self.resolver, end).expect("no circle");
        for ticket in tickets {
            match &self.world.forget(ticket)[..] {
                [] => self.counts.unanswered += 1,
                [answer] => self.look_at(&Reply::read(&answer.octets).expect("an answer that can be read")),
                several => panic!("{} answers", several.len()),
            }
        }
        assert_eq!(self.world.rules.broken, Vec::<String>::new());
    }

    fn look_at(&mut self, reply: &Reply) {
        let asked = reply.question.as_ref().expect("a question");
        if let Some(fault) = self.truth.fault_of(reply) {
            panic!("{fault}");
        }
        let owners = reply.sections[0].iter().filter(|one| one.rtype != rtype::RRSIG).map(|one| &one.owner);
        let zones: Vec<String> = owners.map(|owner| self.zone_of(owner)).collect();
        let is_bogus = zones.iter().any(|zone| self.generated.bogus.contains(zone) && self.secure[zone]);
        assert!(!is_bogus, "bogus, and answered: {}", reply.line());
        if reply.flags & header::AD != 0 {
            self.counts.secure += 1;
            assert!(zones.iter().all(|zone| self.secure[zone]), "called secure: {}", reply.line());
        }
        let zone = self.zone_of(&asked.qname);
        match reply.rcode {
            rcode::SERVFAIL if self.generated.bogus.contains(&zone) => self.counts.bogus += 1,
            rcode::SERVFAIL => self.counts.failed += 1,
            _ => self.counts.found += 1,
        }
    }

    fn zone_of(&self, name: &Name) -> String {
        let above = std::iter::successors(Some(name), |name| name.parent());
        above
            .map(Name::to_string)
            .find(|zone| self.secure.contains_key(zone))
            .unwrap_or_else(|| ".".to_owned())
    }

    /// Nothing is left open a while after the last question.
    fn is_at_rest(&mut self) {
        let end = self.world.now() + 60 * SECOND;
        self.world.run_until(&mut *self.resolver, end).expect("no circle");
        assert_eq!((self.resolver.open_count(), self.world.open_streams()), (0, 0), "{:?}", self.counts);
    }
}

#[test]
fn every_name_is_found() {
    let mut run = Run::new(&SIGNED, 20);
    let all: Vec<usize> = (0..run.generated.names.len()).collect();
    run.ask(&all, 10 * MILLISECOND);
    run.is_at_rest();
    let counts = &run.counts;
    eprintln!("{counts:?}, {} questions to servers", run.world.internet.query_count());
    assert_eq!((counts.failed, counts.unanswered), (0, 0), "{counts:?}");
    assert!(counts.found > 300 && counts.secure > 30 && counts.bogus > 0, "{counts:?}");
}

#[test]
fn nothing_is_wrong_where_much_is_lost() {
    let mut run = Run::new(&SIGNED, 40);
    run.behave("drop share 10%");
    run.behave("delay 0..200");
    let all: Vec<usize> = (0..run.generated.names.len()).collect();
    run.ask(&all, 50 * MILLISECOND);
    run.is_at_rest();
    let counts = &run.counts;
    eprintln!("{counts:?}");
    assert!(counts.found > 20 * counts.failed && counts.unanswered == 0, "{counts:?}");
}

mod long {
    use super::*;

    /// What servers do all the time: lost and late answers, lies.
    const TROUBLES: [&str; 7] = [
        "drop share 5%",
        "delay 0..300",
        "wrong id share 1%",
        "rcode servfail share 1%",
        "truncate share 2%",
        "drop over tcp share 10%",
        "twice 40 share 1%",
    ];

    /// Days of virtual time in an Internet of a seed, in which servers die for hours as well. Nothing is wrong, nothing left open.
    fn days(count: u64, seed: u64) {
        let mut run = Run::new(&Wanted { seed, ..SIGNED }, 20);
        run.world.transcript = sim::transcript::Transcript::off();
        TROUBLES.iter().for_each(|line| run.behave(line));
        let mut random = Random::new(seed ^ 8);
        let names: Vec<String> =
            run.world.internet.servers().iter().map(|server| server.name.clone()).collect();
        let hour = 3600 * SECOND;
        for turn in 0..count * 24 {
            for _ in 0..10 {
                let (from, until) = (turn * 3600, turn * 3600 + 600 + random.below(7200));
                let behaviour: Behaviour = format!("drop from {from} until {until}").parse().expect("a line");
                let name = &names[random.index(names.len())];
                run.world.internet.behave(name, behaviour).expect("a server");
            }
            let count = run.generated.names.len();
            let some: Vec<usize> = (0..120).map(|_| random.index(count)).collect();
            run.ask(&some, SECOND);
            let next = (turn + 1) * hour;
            run.world.run_until(&mut *run.resolver, next).expect("no circle");
        }
        run.is_at_rest();
        let queries = run.world.internet.query_count();
        eprintln!("{count} days of seed {seed}: {:?}, {queries} questions to servers", run.counts);
        assert!(run.counts.found > 10 * run.counts.failed && run.counts.unanswered == 0, "{:?}", run.counts);
    }

    #[test]
    #[ignore = "half a minute of processor time"]
    fn a_week() {
        days(7, 11);
    }

    #[test]
    #[ignore = "half a minute of processor time"]
    fn another_week() {
        days(7, 12);
    }

    #[test]
    #[ignore = "a minute of processor time"]
    fn ten_days_of_ten() {
        (101..111).for_each(|seed| days(1, seed));
    }
}
