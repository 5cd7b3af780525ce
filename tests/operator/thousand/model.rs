//! What a zone should have: a set of records, and random changes of it.

use std::collections::BTreeMap;

use zonda_tests::message::{header, question, record};
use zonda_tests::mutate::Random;
use zonda_tests::name::Name;
use zonda_tests::response::Record;
use zonda_tests::rtype;

/// RRsets with their TTL, the SOA record left out.
#[derive(Clone)]
pub struct Model {
    origin: Name,
    sets: BTreeMap<(Name, u16), (u32, Vec<Vec<u8>>)>,
}

/// Names that come and go.
const NAMES: usize = 60;

/// Records that go and that come: what an update says.
#[derive(Debug, Default)]
pub struct Change {
    removed: Vec<Record>,
    added: Vec<Record>,
}

impl Model {
    /// A zone to begin with.
    pub fn new(origin: &str) -> Model {
        let mut model = Model { origin: Name::parse(origin), sets: BTreeMap::new() };
        let apex = model.origin.clone();
        model.insert(&apex, rtype::NS, 60, model.below("ns").wire().to_vec());
        model.insert(&model.below("ns"), rtype::A, 60, vec![192, 0, 2, 1]);
        for number in 0..20 {
            model.insert(&model.below(&format!("n{number}")), rtype::A, 60, vec![192, 0, 2, number]);
        }
        model
    }

    fn below(&self, labels: &str) -> Name {
        let labels = labels.split('.').rev();
        labels.fold(self.origin.clone(), |name, label| name.child(label.as_bytes()).expect("a short name"))
    }

    fn insert(&mut self, owner: &Name, rtype: u16, ttl: u32, rdata: Vec<u8>) {
        let (_, all) = self.sets.entry((owner.clone(), rtype)).or_insert((ttl, Vec::new()));
        all.push(rdata);
        all.sort();
    }

    /// All records, sorted as those of a transfer.
    pub fn records(&self) -> Vec<Record> {
        let sets = self.sets.iter().flat_map(|((owner, rtype), (ttl, all))| {
            all.iter().map(|rdata| record_of(owner, *rtype, *ttl, rdata))
        });
        let mut records: Vec<Record> = sets.collect();
        records.sort();
        records
    }

    /// Text of the zone, for servers that read one.
    pub fn text(&self, serial: usize) -> String {
        let mut text = format!("{0} 60 IN SOA ns.{0} host.{0} {serial} 3600 600 86400 60\n", self.origin);
        for Record { owner, rtype, ttl, rdata, .. } in self.records() {
            let data = match (rtype, &rdata[..]) {
                (rtype::A, _) | (rtype::NS, _) | (rtype::CNAME, _) => rtype::rdata_text(rtype, &rdata),
                (rtype::MX, [_, preference, ..]) => {
                    format!("{preference} {}", rtype::rdata_text(rtype, &rdata))
                }
                (rtype::TXT, [_, text @ ..]) => format!("\"{}\"", String::from_utf8_lossy(text)),
                _ => {
                    let digits: String = rdata.iter().map(|octet| format!("{octet:02x}")).collect();
                    format!("\\# {} {digits}", rdata.len())
                }
            };
            text += &format!("{owner} {ttl} IN {} {data}\n", rtype::name(rtype));
        }
        text
    }

    /// A random change, made here; never none.
    pub fn change(&mut self, random: &mut Random) -> Change {
        let mut change = Change::default();
        for _ in 0..=random.below(3) {
            self.step(random, &mut change);
        }
        if change.removed.is_empty() && change.added.is_empty() {
            return self.change(random);
        }
        change
    }

    fn step(&mut self, random: &mut Random, change: &mut Change) {
        let number = random.below(NAMES);
        // An owner that this change has something of already: the order of what an update says would count.
        let name = self.name(random, number);
        let is_told =
            |owner: &Name| change.removed.iter().chain(&change.added).any(|record| record.owner == *owner);
        if is_told(&name) {
            return;
        }
        let types: Vec<u16> =
            self.sets.keys().filter(|(owner, _)| *owner == name).map(|(_, rtype)| *rtype).collect();
        match random.below(6) {
            // All of a name goes.
            0 => types.iter().for_each(|rtype| self.remove(&name, *rtype, change)),
            // One RRset goes, or comes with another TTL.
            1 if !types.is_empty() => {
                let rtype = types[random.below(types.len())];
                let (_, all) = self.sets[&(name.clone(), rtype)].clone();
                self.remove(&name, rtype, change);
                if random.one_in(2) {
                    let ttl = 60 + random.below(600) as u32;
                    all.into_iter().for_each(|rdata| self.add(&name, rtype, ttl, rdata, change));
                }
            }
            _ => {
                let (rtype, rdata) = self.data(random, &name);
                let ttl = self
                    .sets
                    .get(&(name.clone(), rtype))
                    .map_or(60 + random.below(3) as u32 * 60, |(ttl, _)| *ttl);
                let is_there =
                    self.sets.get(&(name.clone(), rtype)).is_some_and(|(_, all)| all.contains(&rdata));
                let is_alone = rtype == rtype::CNAME && !types.is_empty();
                if !is_there && !is_alone && !types.contains(&rtype::CNAME) {
                    self.add(&name, rtype, ttl, rdata, change);
                }
            }
        }
    }

    /// Plain names, names below one another, wildcards, aliases, cuts and their glue.
    fn name(&self, random: &mut Random, number: usize) -> Name {
        match random.below(8) {
            0 => self.below(&format!("deep.down.n{number}")),
            1 => self.below(&format!("*.n{}", number % 10)),
            2 => self.below(&format!("c{}", number % 10)),
            3 => self.below(&format!("cut{}", number % 8)),
            4 => self.below(&format!("ns.cut{}", number % 8)),
            _ => self.below(&format!("n{number}")),
        }
    }

    fn data(&self, random: &mut Random, name: &Name) -> (u16, Vec<u8>) {
        let low = random.below(4) as u8;
        let first = name.labels()[0].to_vec();
        match first {
            label if label.starts_with(b"cut") => {
                (rtype::NS, name.child(b"ns").expect("a short name").wire().to_vec())
            }
            label if label.starts_with(b"c") => {
                (rtype::CNAME, self.below(&format!("n{low}")).wire().to_vec())
            }
            label if label == b"ns" => (rtype::A, vec![198, 51, 100, low]),
            _ => match random.below(4) {
                0 => (rtype::A, vec![192, 0, 2, random.below(256) as u8]),
                1 => (rtype::MX, [&[0, low][..], self.below("n1").wire()].concat()),
                2 => (65_280, vec![low; 1 + usize::from(low)]),
                _ => {
                    let text = vec![b'a' + low; 1 + random.below(250)];
                    (rtype::TXT, [&[text.len() as u8][..], &text].concat())
                }
            },
        }
    }

    fn remove(&mut self, owner: &Name, rtype: u16, change: &mut Change) {
        let Some((ttl, all)) = self.sets.remove(&(owner.clone(), rtype)) else { return };
        change.removed.extend(all.iter().map(|rdata| record_of(owner, rtype, ttl, rdata)));
    }

    fn add(&mut self, owner: &Name, rtype: u16, ttl: u32, rdata: Vec<u8>, change: &mut Change) {
        change.added.push(record_of(owner, rtype, ttl, &rdata));
        self.insert(owner, rtype, ttl, rdata);
    }

    /// The change as an UPDATE message.
    pub fn message(&self, id: u16, change: &Change) -> Vec<u8> {
        let count = (change.removed.len() + change.added.len()) as u16;
        let mut out = header(id, 5 << 11, [1, 0, count, 0]);
        question(&mut out, &self.origin, rtype::SOA, 1);
        for gone in &change.removed {
            record(&mut out, &gone.owner, gone.rtype, 254, 0, &gone.rdata);
        }
        for come in &change.added {
            record(&mut out, &come.owner, come.rtype, 1, come.ttl, &come.rdata);
        }
        out
    }
}

fn record_of(owner: &Name, rtype: u16, ttl: u32, rdata: &[u8]) -> Record {
    Record { owner: owner.clone(), rtype, class: 1, ttl, rdata: rdata.to_vec() }
}
