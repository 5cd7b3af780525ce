//! A worker's resolver without sockets: queries that miss, one after the other, each answered by one question to a server that says an address at once.
//!
//! ```text
//! query -> Responder: miss -> Waiters -> Resolver -> World::send: the question is kept -> its answer -> Resolver -> World::done -> Responder: octets
//! ```
//!
//! The zones of the names are delegated: root, `bed.example.`, and a hundred below it, on one server. TTLs of the answers are 1 s, and each question comes two seconds after
//! the one before, so all of them miss.
#![allow(clippy::unwrap_used)] // tools and tests

use cache::{Cache, Entry, Key, Kind, Moment, Rank, Security, Servers, Subject};
use recursive::policy::Clients;
use recursive::waiting::{Room, Waiters, Who};
use recursive::{Client, Policy, Replied, Responder, Served};
use resolve::{
    Outcome, Path, Received, Resolver, Settings, StreamId, StreamSecurity, Time, Unsent, Waiter, World,
};
use std::net::SocketAddr;
use wire::header::{HEADER_OCTETS, QR};
use wire::iana::rtype;
use wire::rrset::{RdataList, RdataListBuf, Rrset, RrsetListBuf};
use wire::{Address, NameBuf, Transport};

/// Zones below `bed.example.`.
const ZONES: usize = 100;
/// Names that are asked for in turn, all different.
const NAMES: usize = 2_000;

struct Bench {
    time: Time,
    random: u64,
    cache: Cache,
    policy: Policy,
    responder: Responder,
    waiters: Waiters<()>,
    question: Vec<u8>,
    to: Option<SocketAddr>,
    room: Vec<u8>,
    octets: usize,
}

impl World for Bench {
    fn time(&self) -> Time {
        self.time
    }
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.random ^ self.random >> 33
    }
    fn cache(&self) -> &Cache {
        &self.cache
    }
    fn servers(&self) -> &Servers {
        self.cache.servers()
    }
    fn send(&mut self, to: SocketAddr, octets: &[u8], _: bool) -> Result<Path, Unsent> {
        self.question.clear();
        self.question.extend_from_slice(octets);
        self.to = Some(to);
        Ok(Path(7))
    }
    fn settle(&mut self, _: Path) {}
    fn connect(&mut self, _: SocketAddr, _: StreamSecurity<'_>) -> Result<StreamId, Unsent> {
        Err(Unsent::Unreachable)
    }
    fn write(&mut self, _: StreamId, _: &[u8]) -> Result<(), Unsent> {
        Err(Unsent::Gone)
    }
    fn close(&mut self, _: StreamId) {}
    fn authoritative(&mut self, _: &[u8], _: &mut Vec<u8>) -> bool {
        false
    }
    fn has_zones(&self) -> bool {
        false
    }
    fn done(&mut self, waiter: Waiter, outcome: &Outcome) {
        let mut taken = self.waiters.take(waiter, self.time.now).unwrap();
        let known = (&self.policy, &self.cache);
        match self.responder.reply(&mut taken.waiting, outcome, known, self.time, &mut self.room) {
            Replied::Octets(octets) => {
                self.octets += octets;
                self.waiters.replied(&taken, octets, self.time.now);
            }
            Replied::Ask => panic!("there is no DNS64 here"),
        }
    }
}

/// See the module.
pub struct Misses {
    resolver: Resolver,
    bench: Bench,
    queries: Vec<Vec<u8>>,
    next: usize,
}

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn put_cut(cache: &Cache, zone: &str, parent_labels: u8, now: Moment) {
    let server = name(&format!("ns.{}", zone.trim_start_matches('.')));
    let rdatas: RdataListBuf = [server.octets()].into_iter().collect();
    let address: RdataListBuf = [&[192, 0, 9, 1][..]].into_iter().collect();
    let glue: RrsetListBuf = [Rrset {
        owner: &server,
        rtype: rtype::A,
        ttl: 86_400,
        rdatas: address.list(),
        signatures: RdataList::EMPTY,
    }]
    .into_iter()
    .collect();
    let entry = Entry {
        kind: Kind::Cut,
        rank: Rank::Referral,
        security: Security::Insecure,
        ede: None,
        stored: now,
        ttl: 86_400,
        zone_labels: parent_labels,
        rdatas: rdatas.list(),
        signatures: RdataList::EMPTY,
        beside: glue.list(),
    };
    assert!(cache.put(&Key { name: &name(zone), subject: Subject::Cut }, &entry, now, now));
}

impl Misses {
    /// Nothing is known but where the zones are.
    pub fn new() -> Misses {
        let cache = Cache::new();
        let now = Moment(1_000_000);
        put_cut(&cache, ".", 0, now);
        put_cut(&cache, "bed.example.", 0, now);
        (0..ZONES).for_each(|zone| put_cut(&cache, &format!("zone{zone}.bed.example."), 2, now));
        let queries = (0..NAMES).map(|number| {
            let mut octets = b"id\x01\0\0\x01\0\0\0\0\0\0".to_vec();
            octets.extend(name(&format!("host{number}.zone{}.bed.example.", number % ZONES)).octets());
            octets.extend([0, 1, 0, 1]);
            octets
        });
        let settings = Settings {
            is_validating: false,
            hints: vec![[192, 0, 9, 1].into()],
            not_servers: Vec::new(),
            ..Settings::default()
        };
        Misses {
            resolver: Resolver::new(settings, 1),
            queries: queries.collect(),
            bench: Bench {
                time: Time { now, wall: 0 },
                random: 4711,
                cache,
                policy: Policy { clients: Clients::All, ..Policy::default() },
                responder: Responder::new(1),
                waiters: Waiters::new(16_384),
                question: Vec::new(),
                to: None,
                room: vec![0; 65_535],
                octets: 0,
            },
            next: 0,
        }
    }

    /// So many queries: the octets of all answers.
    pub fn run(&mut self, count: usize) -> usize {
        let before = self.bench.octets;
        let mut answer = Vec::with_capacity(1024);
        for _ in 0..count {
            let number = self.next % NAMES;
            if number == 0 {
                self.bench.time.now = self.bench.time.now.plus_ms(2_000);
            }
            self.next += 1;
            self.ask(number);
            answer_to(&self.bench.question, &mut answer);
            let from = self.bench.to.take().unwrap();
            let received = Received { path: Path(7), from, octets: &answer, is_cut: false };
            self.resolver.datagram(&received, &mut self.bench);
        }
        self.bench.octets - before
    }

    fn ask(&mut self, number: usize) {
        let address = Address::v4([192, 0, 2, 1], 1024 + number as u16);
        let client =
            Client { transport: Transport::Udp, address: &address, is_proved: false, is_of_ours: false };
        let Bench { responder, policy, cache, time, room, waiters, .. } = &mut self.bench;
        let served = responder.serve(&self.queries[number], &client, (policy, cache), *time, room);
        assert_eq!(served, Served::Miss);
        let waiting = responder.waiting();
        let who = Who { address: &address, is_proved: responder.is_proved() };
        assert!(matches!(waiters.make_room(&who, &waiting), Room::Free));
        let waiter = waiters.insert(&who, waiting, (), time.now);
        let asked = responder.ask(1);
        // As the worker does it, who cannot lend the name meanwhile.
        let lower = asked.name.to_owned();
        let ask = resolve::Ask { name: &lower, ..asked };
        self.resolver.ask(&ask, Some(waiter), &mut self.bench).unwrap();
    }
}

/// What a server says to a question for an address: one, for a second, with OPT.
fn answer_to(question: &[u8], answer: &mut Vec<u8>) {
    let end = HEADER_OCTETS + question[HEADER_OCTETS..].iter().position(|octet| *octet == 0).unwrap() + 5;
    answer.clear();
    answer.extend_from_slice(&question[..2]);
    answer.extend((QR | 0x0400).to_be_bytes());
    answer.extend([0, 1, 0, 1, 0, 0, 0, 1]);
    answer.extend_from_slice(&question[HEADER_OCTETS..end]);
    answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 192, 0, 2, 1]);
    answer.extend([0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
}
