//! Kept answers while zones change by parts: always what a responder says that remembers nothing, and those of untouched names live on.
mod random_zone;

use auth::{Client, Responder, Server, Transport, inspect};
use random_zone::{OWNERS, Random, RandomZone};
use std::sync::Arc;
use wire::NameBuf;
use wire::iana::rtype;
use zone::catalog::{Absence, Group, PartSet, SlotNumber, ViewSource};
use zone::{Catalog, Pack, ZoneView};

/// Cases at random; `ZONDA_PARTS_CASES` sets another number.
const CASES: u64 = 30;
const STEPS: usize = 40;
const QUESTIONS: usize = 70;

const QTYPES: [u16; 16] = [
    rtype::A,
    rtype::A,
    rtype::AAAA,
    rtype::MX,
    rtype::MX,
    rtype::SRV,
    rtype::HTTPS,
    rtype::NAPTR,
    rtype::NS,
    rtype::SOA,
    rtype::TXT,
    rtype::DS,
    rtype::CNAME,
    rtype::DNAME,
    rtype::NSEC,
    rtype::ANY,
];

/// Two zones that refer to each other, and what is published of them.
struct World {
    catalog: Catalog,
    zones: [RandomZone; 2],
    packs: [Arc<Pack>; 2],
    slots: [SlotNumber; 2],
    /// A zone below the first, while there is one.
    below: Option<SlotNumber>,
    seed: u64,
}

impl World {
    fn new(random: &mut Random) -> World {
        let catalog = Catalog::new(random.next(1000) as u64);
        let zones = ["test", "other"].map(|apex| RandomZone::new(apex, random));
        let packs = [0, 1].map(|at| zones[at].pack(at as u64 + 1));
        let slots = [0, 1].map(|at| {
            let hold = catalog.add_pack(Arc::clone(&packs[at]));
            catalog.insert(&[(&*zones[at].apex, ViewSource::Pack(hold.number(), 0))])[0]
        });
        World { catalog, zones, packs, slots, below: None, seed: 10 }
    }

    /// Does something; says what, and which zone if a part of it was published.
    fn step(&mut self, random: &mut Random) -> (String, bool) {
        let at = random.next(2);
        let slot = self.slots[at];
        self.seed += 1;
        let said = match random.next(24) {
            // A merge.
            0 => {
                let pack = self.zones[at].pack(self.seed);
                let hold = self.catalog.add_pack(Arc::clone(&pack));
                let state = self.catalog.state_of(slot);
                self.catalog.move_view(slot, state, ViewSource::Pack(hold.number(), 0)).unwrap();
                self.packs[at] = pack;
                "a merge".into()
            }
            1 => {
                self.catalog.publish(slot, None, ViewSource::Absent(Absence::Expired)).unwrap();
                self.publish_all(at, random)
            }
            2 => self.publish_all(at, random),
            3 => match self.below.take() {
                Some(slot) => {
                    self.catalog.remove(&[slot]);
                    "the zone below goes".into()
                }
                None => {
                    let owner = OWNERS[random.next(OWNERS.len())];
                    let zone = RandomZone::new(&format!("{owner}.test"), random);
                    let hold = self.catalog.add_pack(zone.pack(self.seed));
                    let slots = self.catalog.insert(&[(&*zone.apex, ViewSource::Pack(hold.number(), 0))]);
                    self.below = Some(slots[0]);
                    format!("a zone {} below", zone.apex)
                }
            },
            4 => {
                self.catalog.set_group(slot, Group::default());
                "a group".into()
            }
            _ => return (self.publish_parts(at, random), true),
        };
        (said, false)
    }

    fn publish_all(&mut self, at: usize, random: &mut Random) -> String {
        let said = self.zones[at].change(random);
        self.packs[at] = self.zones[at].pack(self.seed);
        let hold = self.catalog.add_pack(Arc::clone(&self.packs[at]));
        self.catalog.publish(self.slots[at], None, ViewSource::Pack(hold.number(), 0)).unwrap();
        format!("all, with {said}")
    }

    fn publish_parts(&mut self, at: usize, random: &mut Random) -> String {
        let said: Vec<String> = (0..random.next(3)).map(|_| self.zones[at].change(random)).collect();
        let pack = self.zones[at].pack(self.seed);
        let hold = self.catalog.add_pack(Arc::clone(&pack));
        let [old, new] = [&self.packs[at], &pack].map(|pack| ZoneView::new(pack, 0).unwrap());
        let changed = PartSet::changed(&old, &new);
        let state = self.catalog.state_of(self.slots[at]).unwrap();
        let source = ViewSource::Pack(hold.number(), 0);
        self.catalog.publish_parts(self.slots[at], state, source, changed).unwrap();
        self.packs[at] = pack;
        format!("parts {changed:x?} of {}: {said:?}", self.zones[at].apex)
    }
}

/// Questions for names of both zones, those that are not there too.
fn questions(random: &mut Random) -> Vec<Vec<u8>> {
    let one = |_| {
        let zone = if random.next(4) == 0 { "other" } else { "test" };
        let owner = OWNERS[random.next(OWNERS.len())].replace('*', "any");
        let text = match random.next(8) {
            0 => zone.to_owned(),
            1 => format!("no{}.{zone}", random.next(4)),
            2 => format!("no.{owner}.{zone}"),
            3 => format!("{}.{zone}", OWNERS[random.next(OWNERS.len())]),
            _ => format!("{owner}.{zone}"),
        };
        let name: NameBuf = text.parse().unwrap();
        let edns = [None, Some((1232, false)), Some((1232, true)), Some((1232, true)), Some((512, true))];
        inspect::query(0, &name, QTYPES[random.next(QTYPES.len())], edns[random.next(5)])
    };
    (0..QUESTIONS).map(one).collect()
}

/// What was seen in all cases.
#[derive(Debug, Default)]
struct Seen {
    given: u64,
    /// Kept answers that were given after their zones had changed by parts.
    outlived: u64,
}

fn case(seed: u64, seen: &mut Seen) {
    let mut random = Random(seed);
    let (mut world, server) = (World::new(&mut random), Server::default());
    let questions = questions(&mut random);
    let mut reader = world.catalog.reader();
    let (mut used, mut fresh) = (Responder::new(), Responder::new());
    let (mut buffer, mut expected) = (vec![0; 4096], vec![0; 4096]);
    let client = Client::unknown(Transport::Udp);
    let mut said = vec![];
    for step in 0..STEPS {
        let (text, is_by_parts) = world.step(&mut random);
        said.push(text);
        let before = used.repeated();
        for round in 0..3 {
            for query in &questions {
                fresh.forget();
                let octets = reader.with(|view| fresh.answer(query, view, &server, &client, &mut expected));
                let again = reader.with(|view| used.answer(query, view, &server, &client, &mut buffer));
                let show = |message: &[u8]| inspect::read(message).unwrap();
                assert!(
                    expected[..octets] == buffer[..again],
                    "seed {seed} step {step} {:?}: {:#?} expected, {:#?} kept; {}",
                    said,
                    show(&expected[..octets]),
                    show(&buffer[..again]),
                    world.zones[0].text(),
                );
                seen.given += 1;
            }
            if round == 0 && is_by_parts {
                seen.outlived += used.repeated() - before;
            }
        }
        if random.next(4) == 0 {
            world.catalog.domain().collect();
        }
    }
}

#[test]
fn kept_answers_are_fresh_ones() {
    let cases = std::env::var("ZONDA_PARTS_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let mut seen = Seen::default();
    let first = std::env::var("ZONDA_PARTS_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    (first..first + cases).for_each(|seed| case(seed, &mut seen));
    let rounds = seen.given / 3;
    println!("{seen:?}");
    assert!(seen.outlived * 6 > rounds, "{seen:?}: too few outlive a change to show anything");
}
