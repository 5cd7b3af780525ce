//! Kept answers while zones come, go and change: always what a responder says that remembers nothing.
use auth::{Client, Responder, Server, Transport, inspect};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::NameBuf;
use zone::catalog::{Absence, PackHold, PartSet, SlotNumber, ViewSource};
use zone::{Catalog, CatalogReader, Pack, PackBuilder, TextStamp, ZoneView};

/// Zones inside each other and beside each other, with aliases across. `G` is the generation.
const ZONES: [(&str, &str); 9] = [
    (".", "a NS ns.a.\ntest NS ns.test.\nns.test A 192.0.2.G\nother NS ns.other.\nzz A 192.0.2.G\n"),
    (
        "test",
        "www A 192.0.2.G\n@ MX 1 www\n@ MX 2 www.a\nto-a CNAME www.a\nto-other CNAME host.other.\nto-none CNAME x.elsewhere.\n\
         a NS ns.a\nns.a A 192.0.2.G\na DS 1 8 2 0000000000000000000000000000000000000000000000000000000000000000\n\
         *.w A 192.0.2.G\nd DNAME other.\ncut NS ns.cut\nns.cut A 192.0.2.G\nchain CNAME to-other\nb.d2 TXT \"G\"\n",
    ),
    ("a.test", "www A 192.0.2.G\nback CNAME www.test.\nb NS ns.b\nns.b A 192.0.2.G\n* TXT \"G\"\n"),
    ("b.a.test", "@ A 192.0.2.G\nx A 192.0.2.G\nround CNAME back.a.test.\n"),
    ("other", "host A 192.0.2.G\nback CNAME to-a.test.\nhost.back CNAME www.b.a.test.\n"),
    ("x.elsewhere", "@ A 192.0.2.G\n"),
    ("elsewhere", "@ A 192.0.2.G\ny A 192.0.2.G\n"),
    ("u.v.w.x.y.cut.test", "@ A 192.0.2.G\n"),
    ("nsec.test", include_str!("../../../../tests/data/zones/nsec.test.zone")),
];

const ASKED: [&str; 40] = [
    ".",
    "zz",
    "a",
    "x.a",
    "test",
    "www.test",
    "no.test",
    "x.no.test",
    "to-a.test",
    "to-other.test",
    "to-none.test",
    "a.test",
    "www.a.test",
    "back.a.test",
    "q.a.test",
    "b.a.test",
    "x.b.a.test",
    "y.b.a.test",
    "round.b.a.test",
    "host.other",
    "back.other",
    "host.back.other",
    "no.other",
    "q.no.other",
    "x.elsewhere",
    "y.elsewhere",
    "q.x.elsewhere",
    "elsewhere",
    "host.d.test",
    "m.w.test",
    "n.w.test",
    "cut.test",
    "k.cut.test",
    "l.cut.test",
    "u.v.w.x.y.cut.test",
    "chain.test",
    "www.nsec.test",
    "no.nsec.test",
    "nowhere",
    "x.nowhere",
];
const TYPES: [u16; 6] = [1, 2, 6, 15, 16, 43];

struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) as usize) % below
    }
}

/// A pack with some of the zones, each in a generation.
fn pack(zones: &[(usize, usize)], seed: u64) -> Arc<Pack> {
    let mut builder = PackBuilder::new(seed);
    for &(zone, generation) in zones {
        let (origin, text) = ZONES[zone];
        let text = match text.contains("SOA") {
            // More names make others numbers of the nodes.
            true => format!("{text}\naa{generation}.{origin}. 60 A 192.0.2.1\n"),
            false => {
                let text = text.replace('G', &generation.to_string());
                let records: String =
                    text.lines().map(|line| line.replacen(' ', " 60 IN ", 1) + "\n").collect();
                format!(
                    "@ 60 SOA ns h {generation} 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.{generation}\n{records}"
                )
            }
        };
        let origin: NameBuf = origin.parse().unwrap();
        let contents = inspect::contents(&origin, &text).unwrap_or_else(|error| panic!("{origin}: {error}"));
        builder.add_zone(&contents, TextStamp::default()).map_err(|_| "a zone").unwrap();
    }
    Arc::new(Pack::open(builder.finish().unwrap()).unwrap())
}

/// A catalog, and where each of the zones is.
struct World {
    catalog: Catalog,
    slots: BTreeMap<usize, SlotNumber>,
    /// Generation of those that have data.
    generations: BTreeMap<usize, usize>,
    packs: u64,
}

impl World {
    fn new() -> World {
        World { catalog: Catalog::new(5), slots: BTreeMap::new(), generations: BTreeMap::new(), packs: 0 }
    }

    fn hold(&mut self, zones: &[(usize, usize)]) -> PackHold {
        self.packs += 1;
        self.catalog.add_pack(pack(zones, self.packs))
    }

    /// Adds zones or has those that are there show something new.
    fn load(&mut self, zones: &[usize], generation: usize) {
        let mut zones: Vec<_> = zones.iter().map(|&zone| (zone, generation)).collect();
        zones.sort_unstable();
        zones.dedup();
        let hold = self.hold(&zones);
        let names: Vec<NameBuf> = zones.iter().map(|(zone, _)| ZONES[*zone].0.parse().unwrap()).collect();
        let sources = (0..).map(|number| ViewSource::Pack(hold.number(), number));
        let shown: Vec<_> = names.iter().map(|name| &**name).zip(sources).collect();
        let slots = self.catalog.insert(&shown);
        for ((zone, generation), slot) in zones.into_iter().zip(slots) {
            self.slots.insert(zone, slot);
            self.generations.insert(zone, generation);
        }
    }

    fn step(&mut self, random: &mut Random) {
        let zone = random.next(ZONES.len());
        let generation = 1 + random.next(200);
        match (random.next(8), self.slots.get(&zone).copied()) {
            (0, Some(slot)) => {
                self.catalog.remove(&[slot]);
                self.slots.remove(&zone);
                self.generations.remove(&zone);
            }
            (1, Some(slot)) => {
                self.catalog.publish(slot, None, ViewSource::Absent(Absence::Expired)).unwrap();
                self.generations.remove(&zone);
            }
            (2 | 3, Some(slot)) if self.generations.contains_key(&zone) => {
                // A merge: beside another zone, so that numbers of nodes differ.
                let zones = [((zone + 1) % ZONES.len(), 9), (zone, self.generations[&zone])];
                let hold = self.hold(&zones);
                let state = self.catalog.state_of(slot);
                self.catalog.move_view(slot, state, ViewSource::Pack(hold.number(), 1)).unwrap();
            }
            (4, Some(slot)) => {
                let hold = self.hold(&[(zone, generation)]);
                self.catalog.publish(slot, None, ViewSource::Pack(hold.number(), 0)).unwrap();
                self.generations.insert(zone, generation);
            }
            (5, _) => self.load(&[zone, random.next(ZONES.len())], generation),
            _ => self.load(&[zone], generation),
        }
        if random.next(3) == 0 {
            self.catalog.domain().collect();
        }
    }
}

fn queries() -> Vec<Vec<u8>> {
    let types = TYPES.iter().flat_map(|&qtype| [(qtype, None), (qtype, Some((1232, true)))]);
    let asked = ASKED.iter().map(|name| name.parse::<NameBuf>().unwrap());
    asked
        .flat_map(|name| types.clone().map(move |(qtype, edns)| inspect::query(0, &name, qtype, edns)))
        .collect()
}

#[test]
fn kept_answers_are_fresh_ones() {
    let (queries, server) = (queries(), Server::default());
    let (mut buffer, mut expected) = (vec![0; 65535], vec![0; 65535]);
    let mut fresh = Responder::new();
    let (mut given, mut repeated) = (0, 0);
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut world = World::new();
        let mut reader = world.catalog.reader();
        let mut used = Responder::new();
        let few: Vec<_> = (0..60).map(|_| &queries[random.next(queries.len())]).collect();
        world.load(&[1, 2, 4], 1);
        for step in 0..60 {
            world.step(&mut random);
            for query in few.iter().chain(&few) {
                fresh.forget();
                let octets = reader.with(|view| {
                    fresh.answer(query, view, &server, &Client::unknown(Transport::Udp), &mut expected)
                });
                let again = reader.with(|view| {
                    used.answer(query, view, &server, &Client::unknown(Transport::Udp), &mut buffer)
                });
                let read = |message: &[u8]| inspect::read(message).unwrap();
                assert!(
                    expected[..octets] == buffer[..again],
                    "seed {seed} step {step}, zones {:?}: {:#?} expected, {:#?} kept",
                    world.slots.keys().map(|zone| ZONES[*zone].0).collect::<Vec<_>>(),
                    read(&expected[..octets]),
                    read(&buffer[..again]),
                );
                given += 1;
            }
        }
        repeated += used.repeated();
    }
    assert!(repeated * 2 > given, "{repeated} of {given} were kept ones: too few to show anything");
}

/// A server that is told to keep none gives the same, each made anew; one that is told so later forgets.
#[test]
fn none_are_kept_where_so_wished() {
    let queries = queries();
    let keeping = Server::default();
    let anew = Server { style: auth::Style::ANEW, ..Server::default() };
    let mut world = World::new();
    world.load(&[1, 2, 4], 1);
    let mut reader = world.catalog.reader();
    let mut responders = [Responder::new(), Responder::new()];
    let (mut buffer, mut expected) = (vec![0; 65535], vec![0; 65535]);
    let mut give = |responder: &mut Responder, server: &Server, query: &[u8], room: &mut [u8]| {
        reader.with(|view| responder.answer(query, view, server, &Client::unknown(Transport::Udp), room))
    };
    for query in queries.iter().flat_map(|query| [query; 4]) {
        let [one, other] = &mut responders;
        let octets = give(one, &keeping, query, &mut expected);
        let again = give(other, &anew, query, &mut buffer);
        assert!(expected[..octets] == buffer[..again]);
    }
    let [one, other] = &mut responders;
    assert!(one.repeated() > 0 && other.repeated() == 0, "{} {}", one.repeated(), other.repeated());
    let before = one.repeated();
    queries.iter().flat_map(|query| [query; 4]).for_each(|query| {
        give(one, &anew, query, &mut buffer);
    });
    assert_eq!(one.repeated(), before);
}

/// What changes costs the answers from other zones nothing.
#[test]
fn others_keep_theirs() {
    let server = Server::default();
    let mut world = World::new();
    world.load(&[1, 4], 1);
    let (mut reader, mut responder, mut buffer) = (world.catalog.reader(), Responder::new(), vec![0; 1232]);
    let query = |name: &str| inspect::query(0, &name.parse::<NameBuf>().unwrap(), 1, None);
    let others: Vec<_> = ["host.other", "no.other", "q.no.other"].map(query).into();
    let mut ask = |reader: &mut CatalogReader, query: &[u8]| {
        let before = responder.repeated();
        reader.with(|view| {
            responder.answer(query, view, &server, &Client::unknown(Transport::Udp), &mut buffer)
        });
        responder.repeated() > before
    };
    for query in others.iter().chain(&others) {
        ask(&mut reader, query);
    }
    let to_other = query("to-other.test");
    for generation in 2..100 {
        world.load(&[1], generation);
        // Added, and removed again.
        world.load(&[5, 7], generation);
        let slots: Vec<_> = [5, 7].iter().map(|zone| world.slots[zone]).collect();
        world.catalog.remove(&slots);
        world.catalog.domain().collect();
        assert!(others.iter().all(|query| ask(&mut reader, query)), "generation {generation}");
        // This one is made from both, and kept again and again.
        assert!(!ask(&mut reader, &to_other) && !ask(&mut reader, &to_other) && ask(&mut reader, &to_other));
    }
}

/// One deep zone costs the answers of others nothing: names of all lengths have the keys that they had.
#[test]
fn a_deep_zone_costs_others_nothing() {
    let server = Server::default();
    let mut world = World::new();
    world.load(&[1, 4], 1);
    // The reverse zone of a /48.
    let deep: NameBuf = "1.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa".parse().unwrap();
    let absent = ViewSource::Absent(Absence::NotLoaded);
    world.catalog.insert(&[(&*deep, absent)]);
    let (mut reader, mut responder, mut buffer) = (world.catalog.reader(), Responder::new(), vec![0; 1232]);
    let mut ask = |name: &str| {
        let query = inspect::query(0, &name.parse::<NameBuf>().unwrap(), 1, None);
        let before = responder.repeated();
        reader.with(|view| {
            responder.answer(&query, view, &server, &Client::unknown(Transport::Udp), &mut buffer)
        });
        responder.repeated() > before
    };
    // The first two of each are made, all others are the same for all below.
    for (prefix, parent) in [("n", "no.other"), ("c", "cut.test"), ("q", "gone.test")] {
        let names = (0..200).map(|at| format!("{prefix}{at}.{}{parent}", "long.name.".repeat(at % 12)));
        assert_eq!(names.filter(|name| ask(name)).count(), 198, "{parent}");
    }
    let long = format!("{}www.test", "x.".repeat(60));
    assert_eq!([&*long, &*long, &*long].map(&mut ask), [false, false, false], "deeper than what decides");
}

/// Several workers while one thread publishes, adds and removes: no answer is older than what was published before its batch, and an answer
/// given while nothing changes is the one of that state.
fn workers_during(steps: u64) {
    const WORKERS: usize = 3;
    let mut world = World::new();
    world.load(&[1, 2], 1);
    let catalog = Arc::new(std::mem::replace(&mut world.catalog, Catalog::new(9)));
    let slots = [world.slots[&1], world.slots[&2]];
    // Odd while something changes; generations of the two zones, and whether the one below them is there.
    let (changes, generations) = (AtomicU64::new(0), [AtomicU64::new(1), AtomicU64::new(1)]);
    let (is_below, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let compared = AtomicU64::new(0);
    let packs: Vec<Vec<Arc<Pack>>> = (1..3)
        .map(|zone| (0..200).map(|generation| pack(&[(zone, generation)], 77 + generation as u64)).collect())
        .collect();
    let below = pack(&[(3, 250)], 5);
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let mut reader = catalog.reader();
            let (changes, generations, is_below) = (&changes, &generations, &is_below);
            let (is_over, compared) = (&is_over, &compared);
            scope.spawn(move || {
                let (server, mut buffer) = (Server::default(), vec![0; 1232]);
                let mut responder = Responder::new();
                let names = ["www.test", "www.a.test", "to-a.test", "x.b.a.test", "back.a.test"];
                let queries = names.map(|name| inspect::query(0, &name.parse::<NameBuf>().unwrap(), 1, None));
                let mut at = worker;
                while !is_over.load(Ordering::Relaxed) {
                    at += 1;
                    let before = changes.load(Ordering::Acquire);
                    let least = [0, 1].map(|zone| generations[zone].load(Ordering::Acquire));
                    let octets = reader.with(|view| {
                        responder.answer(
                            &queries[at % 5],
                            view,
                            &server,
                            &Client::unknown(Transport::Udp),
                            &mut buffer,
                        )
                    });
                    let now = [0, 1].map(|zone| generations[zone].load(Ordering::Acquire));
                    let was_below = is_below.load(Ordering::Acquire);
                    let is_still = changes.load(Ordering::SeqCst) == before && before % 2 == 0;
                    let response = inspect::read(&buffer[..octets]).unwrap();
                    let addresses: Vec<u64> = response.sections[0]
                        .iter()
                        .filter(|record| record.rtype == 1)
                        .map(|record| u64::from(record.rdata[3]))
                        .collect();
                    if at % 5 == 3 {
                        // Answered by the zone below, or by a referral to it.
                        if is_still {
                            assert_eq!(!addresses.is_empty(), was_below, "{response:#?}");
                            compared.fetch_add(1, Ordering::Relaxed);
                        }
                        continue;
                    }
                    // Of the zone that the chain ends in; generations go round, so only that of a quiet moment says something.
                    let zone = [0, 1, 1, 1, 0][at % 5];
                    assert_eq!(addresses.len(), 1, "{response:#?}");
                    if is_still {
                        assert_eq!((least, addresses[0]), (now, now[zone]), "{}", names[at % 5]);
                        compared.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let mut slot_below = None;
        let mut shown: [Option<&Arc<Pack>>; 2] = [None; 2];
        for step in 1..=steps {
            changes.fetch_add(1, Ordering::SeqCst);
            let zone = (step % 2) as usize;
            if step % 5 == 0 {
                match slot_below.take() {
                    Some(slot) => catalog.remove(&[slot]),
                    None => {
                        let hold = catalog.add_pack(Arc::clone(&below));
                        let name: NameBuf = "b.a.test".parse().unwrap();
                        slot_below = Some(catalog.insert(&[(&*name, ViewSource::Pack(hold.number(), 0))])[0]);
                    }
                }
                is_below.store(slot_below.is_some(), Ordering::Release);
            } else {
                let generation = step % 200;
                let hold = catalog.add_pack(Arc::clone(&packs[zone][generation as usize]));
                let source = ViewSource::Pack(hold.number(), 0);
                let new = &packs[zone][generation as usize];
                // By turns as a whole and by parts.
                match shown[zone].replace(new).filter(|_| step % 3 > 0) {
                    Some(old) => {
                        let [old, new] = [old, new].map(|pack| ZoneView::new(pack, 0).unwrap());
                        let state = catalog.state_of(slots[zone]).unwrap();
                        let parts = PartSet::changed(&old, &new);
                        catalog.publish_parts(slots[zone], state, source, parts).unwrap();
                    }
                    None => catalog.publish(slots[zone], None, source).unwrap(),
                }
                generations[zone].store(generation, Ordering::Release);
            }
            changes.fetch_add(1, Ordering::SeqCst);
            if step % 16 == 0 {
                catalog.domain().collect();
            }
            // Until answers were kept, and compared: however busy the machine is.
            let (enough, started) = (compared.load(Ordering::Relaxed) + 2 * WORKERS as u64, Instant::now());
            while compared.load(Ordering::Relaxed) < enough {
                assert!(started.elapsed() < Duration::from_secs(60), "the workers stand still");
                std::thread::yield_now();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // Packs were let go of: what is left is in use.
    catalog.domain().collect();
    catalog.domain().collect();
    assert_eq!(catalog.domain().garbage(), (0, 0));
    assert!(packs.iter().flatten().filter(|pack| Arc::strong_count(pack) > 1).count() <= 2);
}

#[test]
fn many_workers() {
    workers_during(800);
}

mod long {
    #[test]
    #[ignore = "long: make test-long"]
    fn many_workers() {
        super::workers_during(8000);
    }
}
