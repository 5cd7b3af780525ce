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
use sim::signer::{Signing, sign_set};
use std::net::SocketAddr;
use std::sync::Arc;
use sync::Areas;
use validate::Anchors;
use wire::header::{HEADER_OCTETS, QR};
use wire::iana::{algorithm, rtype};
use wire::name::NameRooms;
use wire::rrset::{RdataList, RdataListBuf, Rrset, RrsetListBuf};
use wire::{Address, NameBuf, Transport};

/// Zones below `bed.example.`.
const ZONES: usize = 100;
/// Names that are asked for in turn, all different.
const NAMES: usize = 2_000;

/// How the answers are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Not validated: validation is off.
    Plain,
    /// Validated, and no anchor says that they have to be signed.
    Unanchored,
    /// Signed, and each zone has an anchor: a signature an answer, which is remembered from the second time on.
    Signed,
    /// There is no such name, says the zone's SOA; validation is off.
    Absent,
    /// There is no such name, by the one NSEC record of a zone that has an anchor, which is known: nobody is asked (RFC 8198).
    Denied,
}

impl Answers {
    /// All, with their names.
    pub const ALL: [(&'static str, Answers); 5] = [
        ("plain", Answers::Plain),
        ("unanchored", Answers::Unanchored),
        ("signed", Answers::Signed),
        ("absent", Answers::Absent),
        ("denied", Answers::Denied),
    ];
}

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
    rooms: NameRooms,
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
    fn authoritative(&mut self, _: &[u8], _: &mut Vec<u8>) -> resolve::Held {
        resolve::Held::Nothing
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
                self.responder.put_by(taken.waiting);
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
    /// RDATA of the RRSIG record of each answer.
    signatures: Vec<Vec<u8>>,
    answers: Answers,
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
        zone_labels: parent_labels,
        beside: glue.list(),
        ..Entry::data(rdatas.list(), now, 86_400)
    };
    assert!(cache.put(&Key { name: &name(zone), subject: Subject::Cut }, &entry, now, now));
}

impl Misses {
    /// Nothing is known but where the zones are.
    pub fn new(answers: Answers) -> Misses {
        // Of small ones the denials of a hundred zones do not fit into their part.
        let octets = if answers == Answers::Denied { 64 << 20 } else { 8 << 20 };
        let cache = Cache::with(&cache::Settings { octets, ..Default::default() }, [1, 2, 3]);
        let now = Moment(1_000_000);
        let mut settings = Settings {
            is_validating: !matches!(answers, Answers::Plain | Answers::Absent),
            anchors: Anchors::new(),
            hints: vec![[192, 0, 9, 1].into()],
            not_servers: Vec::new(),
            ..Settings::default()
        };
        let signatures = match answers {
            Answers::Signed => sign(&cache, &mut settings.anchors, now),
            Answers::Denied => {
                deny(&cache, &mut settings.anchors, now);
                Vec::new()
            }
            _ => Vec::new(),
        };
        put_cut(&cache, ".", 0, now);
        put_cut(&cache, "bed.example.", 0, now);
        (0..ZONES).for_each(|zone| put_cut(&cache, &format!("zone{zone}.bed.example."), 2, now));
        let queries = (0..NAMES).map(|number| {
            let mut octets = b"id\x01\0\0\x01\0\0\0\0\0\0".to_vec();
            octets.extend(name(&format!("host{number}.zone{}.bed.example.", number % ZONES)).octets());
            octets.extend([0, 1, 0, 1]);
            octets
        });
        Misses {
            resolver: Resolver::new(settings, 1),
            queries: queries.collect(),
            signatures,
            answers,
            bench: Bench {
                time: Time { now, wall: u64::from(sim::BEGIN_UNIX_SECONDS) },
                random: 4711,
                cache,
                policy: Policy { clients: Clients::All, ..Policy::default() },
                responder: Responder::new(1),
                waiters: Waiters::new(16_384),
                question: Vec::new(),
                to: None,
                room: vec![0; 65_535],
                octets: 0,
                rooms: NameRooms::default(),
            },
            next: 0,
        }
    }

    /// Has what lives for one event cut from work areas. Without, all of it comes from the system's allocator.
    pub fn work_in(&mut self, areas: Arc<Areas>) {
        self.resolver.work_in(areas);
    }

    /// Pieces of memory for one event that the system's allocator gave.
    pub fn system_pieces(&self) -> u64 {
        self.resolver.counters().system_pieces
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
            // What is denied is answered by now.
            let Some(from) = self.bench.to.take() else { continue };
            match self.answers {
                Answers::Absent => denial_of(&self.bench.question, &mut answer),
                _ => answer_to(&self.bench.question, self.signatures.get(number), &mut answer),
            }
            let received = Received { path: Path(7), from, octets: &answer, is_cut: false };
            self.resolver.datagram(&received, &mut self.bench);
        }
        self.bench.octets - before
    }

    fn ask(&mut self, number: usize) {
        let address = Address::v4([192, 0, 2, 1], 1024 + number as u16);
        let client = Client {
            transport: Transport::Udp,
            address: &address,
            is_proved: false,
            is_of_ours: false,
            ours: None,
            ahead: None,
        };
        let Bench { responder, policy, cache, time, room, waiters, rooms, .. } = &mut self.bench;
        let served = responder.serve(&self.queries[number], &client, (policy, cache), *time, room);
        assert_eq!(served, Served::Miss);
        let waiting = responder.waiting();
        let who = Who { address: &address, is_proved: responder.is_proved() };
        let comer = waiters.comer(&who, waiting);
        assert!(matches!(waiters.make_room(&comer), Room::Free));
        let waiter = waiters.insert(comer, (), time.now);
        let asked = responder.ask(1);
        // As the worker does it, who cannot lend the name meanwhile.
        let name = rooms.copy(asked.name);
        let ask = resolve::Ask { name: &name, ..asked };
        self.resolver.ask(&ask, Some(waiter), &mut self.bench).unwrap();
        self.bench.rooms.put(name);
    }
}

/// Signs all answers, and has each zone's keys in the cache, where its anchor leads to them.
fn sign(cache: &Cache, anchors: &mut Anchors, now: Moment) -> Vec<Vec<u8>> {
    let signing = Signing { has_single_key: true, algorithms: vec![algorithm::ED25519], ..Signing::new(1) };
    let zones: Vec<NameBuf> = (0..ZONES).map(|zone| name(&format!("zone{zone}.bed.example."))).collect();
    for zone in &zones {
        signing.ds(zone).iter().for_each(|ds| anchors.add_ds(zone, ds));
        let keys: Vec<Vec<u8>> = signing.keys(zone).iter().map(|key| key.dnskey.clone()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let signatures = sign_set(zone, &signing, zone, rtype::DNSKEY, 86_400, &keys);
        let (rdatas, signatures): (RdataListBuf, RdataListBuf) =
            (keys.into_iter().collect(), signatures.iter().map(Vec::as_slice).collect());
        let entry = Entry {
            security: Security::Unchecked,
            zone_labels: 3,
            signatures: signatures.list(),
            ..Entry::data(rdatas.list(), now, 86_400)
        };
        let key = Key { name: zone, subject: Subject::Unchecked(rtype::DNSKEY) };
        assert!(cache.put(&key, &entry, now, now));
    }
    let one = |number: usize| {
        let zone = &zones[number % ZONES];
        let owner = name(&format!("host{number}.{zone}"));
        sign_set(zone, &signing, &owner, rtype::A, 1, &[&ADDRESS]).remove(0)
    };
    (0..NAMES).map(one).collect()
}

/// Has it known of each zone that it has no name but its own.
fn deny(cache: &Cache, anchors: &mut Anchors, now: Moment) {
    let signing = Signing { has_single_key: true, algorithms: vec![algorithm::ED25519], ..Signing::new(1) };
    for zone in (0..ZONES).map(|zone| name(&format!("zone{zone}.bed.example."))) {
        signing.ds(&zone).iter().for_each(|ds| anchors.add_ds(&zone, ds));
        let types = [0, 7, 0x22, 0, 0, 0, 0, 3, 0x80];
        for (rtype, rdata) in [(rtype::SOA, SOA.to_vec()), (rtype::NSEC, [zone.octets(), &types].concat())] {
            let signatures = sign_set(&zone, &signing, &zone, rtype, 86_400, &[&rdata]);
            let (rdatas, signatures): (RdataListBuf, RdataListBuf) =
                ([&rdata[..]].into_iter().collect(), signatures.iter().map(Vec::as_slice).collect());
            let (rdatas, signatures) = (rdatas.list(), signatures.list());
            assert!(cache.denials().put(
                &zone,
                &Rrset { owner: &zone, rtype, ttl: 86_400, rdatas, signatures },
                now
            ));
        }
    }
}

/// RDATA: names of one octet, then five numbers; denials count for a second.
const SOA: [u8; 22] = {
    let mut rdata = [0; 22];
    rdata[21] = 1;
    rdata
};

/// What all names have.
const ADDRESS: [u8; 4] = [192, 0, 2, 1];

/// What a server says to a question for an address: one, for a second, with OPT; and its signature.
fn answer_to(question: &[u8], signature: Option<&Vec<u8>>, answer: &mut Vec<u8>) {
    let end = HEADER_OCTETS + question[HEADER_OCTETS..].iter().position(|octet| *octet == 0).unwrap() + 5;
    answer.clear();
    answer.extend_from_slice(&question[..2]);
    answer.extend((QR | 0x0400).to_be_bytes());
    answer.extend([0, 1, 0, 1 + u8::from(signature.is_some()), 0, 0, 0, 1]);
    answer.extend_from_slice(&question[HEADER_OCTETS..end]);
    answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
    answer.extend(ADDRESS);
    if let Some(signature) = signature {
        answer.extend([0xc0, 12, 0, 46, 0, 1, 0, 0, 0, 1]);
        answer.extend((signature.len() as u16).to_be_bytes());
        answer.extend(signature);
    }
    answer.extend([0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
}

/// What a server says of a name that its zone, whose name is one label shorter, does not have: its SOA, for a second, with OPT.
fn denial_of(question: &[u8], answer: &mut Vec<u8>) {
    let end = HEADER_OCTETS + question[HEADER_OCTETS..].iter().position(|octet| *octet == 0).unwrap() + 5;
    let zone = HEADER_OCTETS as u8 + 1 + question[HEADER_OCTETS];
    answer.clear();
    answer.extend_from_slice(&question[..2]);
    answer.extend((QR | 0x0403).to_be_bytes());
    answer.extend([0, 1, 0, 0, 0, 1, 0, 1]);
    answer.extend_from_slice(&question[HEADER_OCTETS..end]);
    answer.extend([0xc0, zone, 0, 6, 0, 1, 0, 0, 0, 1, 0, 22]);
    answer.extend(SOA);
    answer.extend([0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
}
