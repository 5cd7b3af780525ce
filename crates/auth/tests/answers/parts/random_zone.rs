//! Zones at random, signed as if: the signatures are no signatures, and change when what they are of does.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use dnssec::nsec3::{Nsec3Params, owner_label};
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};
use zone::contents::SourcePosition;
use zone::{ContentsBuilder, Pack, PackBuilder, TextStamp};

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) as usize) % below
    }

    fn of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.next(some.len())]
    }
}

/// Owners below the apex: few, so that they are above, below and beside each other, and in several parts.
pub const OWNERS: [&str; 30] = [
    "a", "b", "c", "d", "ns", "mail", "*", "x.a", "y.a", "*.a", "x.y.a", "ns.a", "x.b", "*.b", "*.x.b",
    "ns.b", "w.w.c", "x.c", "*.w.c", "ns.d", "y.d", "x.y.d", "*.*", "x.*", "e", "f", "g", "0", "x.0", "z",
];
const TYPES: [u16; 12] = [
    rtype::A,
    rtype::A,
    rtype::AAAA,
    rtype::TXT,
    rtype::MX,
    rtype::SRV,
    rtype::HTTPS,
    rtype::NAPTR,
    rtype::CNAME,
    rtype::NS,
    rtype::NS,
    rtype::DNAME,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    No,
    Nsec,
    Nsec3,
    OptOut,
}

type Sets = BTreeMap<u16, (u32, Vec<Vec<u8>>)>;

#[derive(Clone)]
pub struct RandomZone {
    pub apex: NameBuf,
    /// By owner relative to the apex, which is the empty text.
    names: BTreeMap<String, Sets>,
    signed: Signed,
    /// How often the signatures of an owner were made anew.
    signings: BTreeMap<String, u32>,
    serial: u32,
}

impl RandomZone {
    pub fn new(apex: &str, random: &mut Random) -> RandomZone {
        let signed = random.of(&[Signed::No, Signed::Nsec, Signed::Nsec, Signed::Nsec3, Signed::OptOut]);
        let (names, signings) = (BTreeMap::new(), BTreeMap::new());
        let mut zone = RandomZone { apex: apex.parse().unwrap(), names, signed, signings, serial: 1 };
        let server = vec![zone.name("ns").octets().to_vec()];
        zone.names.entry(String::new()).or_default().insert(rtype::NS, (60, server));
        for _ in 0..5 + random.next(40) {
            zone.add(random);
        }
        zone
    }

    pub fn name(&self, relative: &str) -> NameBuf {
        match relative {
            "" => self.apex.clone(),
            _ => format!("{relative}.{}", self.apex).parse().unwrap(),
        }
    }

    /// A name that records point at: of this zone, of the other, or nobody's.
    fn target(&self, random: &mut Random) -> Vec<u8> {
        let owner = random.of(&OWNERS);
        let name: NameBuf = match random.next(8) {
            0 => self.apex.clone(),
            1 => format!("{owner}.other").parse().unwrap(),
            2 => format!("{owner}.test").parse().unwrap(),
            3 => "elsewhere.example".parse().unwrap(),
            _ => self.name(owner),
        };
        name.octets().to_vec()
    }

    fn rdata(&self, rtype: u16, random: &mut Random) -> Vec<u8> {
        let byte = random.next(250) as u8;
        let after = |head: &[u8], target: Vec<u8>| [head, &target].concat();
        match rtype {
            rtype::A => vec![192, 0, 2, byte],
            rtype::AAAA => [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[byte]].concat(),
            rtype::MX => after(&[0, byte % 4], self.target(random)),
            rtype::SRV => after(&[0, 1, 0, 1, 0, byte], self.target(random)),
            rtype::HTTPS => {
                let own = random.next(3) == 0;
                after(&[0, 1], if own { vec![0] } else { self.target(random) })
            }
            rtype::NAPTR => after(&[0, 1, 0, byte % 4, 1, b'A', 0, 0], self.target(random)),
            rtype::CNAME | rtype::NS | rtype::DNAME => self.target(random),
            rtype::DS => [&[0, byte, 13, 2][..], &[byte; 32]].concat(),
            _ => vec![1, byte],
        }
    }

    /// Adds an RRset, or exchanges it.
    fn add(&mut self, random: &mut Random) {
        let owner = random.of(&OWNERS);
        let mut rtype = random.of(&TYPES);
        // Else nearly all is below a DNAME or a cut.
        if rtype == rtype::DNAME && random.next(3) > 0 {
            rtype = rtype::A;
        }
        let owner =
            if random.next(12) == 0 && !matches!(rtype, rtype::CNAME | rtype::NS) { "" } else { owner };
        if owner.is_empty() && rtype == rtype::DNAME && random.next(4) > 0 {
            return;
        }
        let mut records: Vec<_> = (0..1 + random.next(3)).map(|_| self.rdata(rtype, random)).collect();
        if matches!(rtype, rtype::CNAME | rtype::DNAME) {
            records.truncate(1);
        }
        let ttl = 60 + random.next(3) as u32;
        let ds = (ttl, vec![self.rdata(rtype::DS, random)]);
        let sets = self.names.entry(owner.to_owned()).or_default();
        match rtype {
            rtype::CNAME => sets.clear(),
            rtype::NS => {
                sets.clear();
                if random.next(2) == 0 {
                    sets.insert(rtype::DS, ds);
                }
            }
            _ => drop(sets.remove(&rtype::CNAME)),
        }
        sets.insert(rtype, (ttl, records));
    }

    /// Changes something; says what.
    pub fn change(&mut self, random: &mut Random) -> String {
        if random.next(8) > 0 {
            self.serial += 1;
        }
        let owners: Vec<String> = self.names.keys().cloned().collect();
        let owner = owners[random.next(owners.len())].clone();
        match random.next(16) {
            0..3 if !owner.is_empty() => drop(self.names.remove(&owner)),
            3 | 4 => *self.signings.entry(owner.clone()).or_default() += 1,
            5 => {
                let sets = self.names.get_mut(&owner).unwrap();
                let types: Vec<u16> = sets.keys().copied().collect();
                if let Some(rtype) = types.get(random.next(types.len().max(1)))
                    && !(owner.is_empty() && *rtype == rtype::NS)
                {
                    sets.remove(rtype);
                }
            }
            6 => {
                for (ttl, _) in self.names.get_mut(&owner).unwrap().values_mut() {
                    *ttl = 60 + random.next(5) as u32;
                }
            }
            7 if random.next(4) == 0 => {
                self.signed = random.of(&[Signed::No, Signed::Nsec, Signed::Nsec3, Signed::OptOut])
            }
            8 => {}
            _ => {
                self.add(random);
                return "an RRset more, or another".into();
            }
        }
        owner
    }

    /// All records: owner, type, TTL, RDATA.
    fn records(&self) -> Vec<(NameBuf, u16, u32, Vec<u8>)> {
        let mut all: BTreeMap<Vec<u8>, (String, Sets)> = BTreeMap::new();
        for (owner, sets) in self.names.iter().filter(|(owner, sets)| owner.is_empty() || !sets.is_empty()) {
            all.insert(SortKey::of(&self.name(owner)).octets().to_vec(), (owner.clone(), sets.clone()));
        }
        let (mut soa, server) = (Vec::new(), self.name("ns"));
        soa.extend([server.octets(), server.octets()].concat());
        [self.serial, 2, 3, 4, 5].iter().for_each(|number| soa.extend(number.to_be_bytes()));
        let apex = SortKey::of(&self.apex).octets().to_vec();
        let sets = &mut all.get_mut(&apex).unwrap().1;
        sets.insert(rtype::SOA, (60, vec![soa]));
        if matches!(self.signed, Signed::Nsec3 | Signed::OptOut) {
            sets.insert(rtype::NSEC3PARAM, (0, vec![vec![1, 0, 0, 0, 0]]));
        }
        if self.signed != Signed::No {
            self.prove(&mut all);
        }
        let each = all.values().flat_map(|(owner, sets)| {
            let owner = self.name(owner);
            sets.iter().flat_map(move |(rtype, (ttl, records))| {
                let owner = owner.clone();
                records.iter().map(move |rdata| (owner.clone(), *rtype, *ttl, rdata.clone()))
            })
        });
        let mut records: Vec<_> = each.collect();
        if self.signed != Signed::No {
            self.sign(&all, &mut records);
        }
        records
    }

    /// Whether the name with this key is below a cut or a DNAME.
    fn is_occluded(&self, all: &BTreeMap<Vec<u8>, (String, Sets)>, key: &[u8]) -> bool {
        all.iter().any(|(above, (owner, sets))| {
            let ends = sets.contains_key(&rtype::DNAME) || sets.contains_key(&rtype::NS) && !owner.is_empty();
            ends && key.len() > above.len() && key.starts_with(above)
        })
    }

    /// Adds the chain.
    fn prove(&self, all: &mut BTreeMap<Vec<u8>, (String, Sets)>) {
        let mut chain: BTreeMap<Vec<u8>, (String, Vec<u16>)> = BTreeMap::new();
        for (key, (owner, sets)) in all.iter().filter(|(key, _)| !self.is_occluded(all, key)) {
            let is_cut = sets.contains_key(&rtype::NS) && !owner.is_empty();
            if self.signed == Signed::OptOut && is_cut && !sets.contains_key(&rtype::DS) {
                continue;
            }
            let mut types: Vec<u16> =
                sets.keys().copied().filter(|t| !is_cut || matches!(*t, rtype::NS | rtype::DS)).collect();
            types.push(rtype::RRSIG);
            if self.signed == Signed::Nsec {
                types.push(rtype::NSEC);
            }
            types.sort_unstable();
            chain.insert(key.clone(), (owner.clone(), types));
        }
        if self.signed == Signed::Nsec {
            let links: Vec<_> = chain.into_iter().collect();
            for (at, (key, (_, types))) in links.iter().enumerate() {
                let next = &links[(at + 1) % links.len()].1.0;
                let mut rdata = self.name(next).octets().to_vec();
                dnssec::bitmap::write_types(types.iter().copied(), &mut rdata);
                all.get_mut(key).unwrap().1.insert(rtype::NSEC, (60, vec![rdata]));
            }
            return;
        }
        // Empty non-terminals have records too.
        let owners: Vec<String> = chain.values().map(|(owner, _)| owner.clone()).collect();
        for owner in owners {
            let mut rest = &*owner;
            while let Some((_, above)) = rest.split_once('.') {
                let key = SortKey::of(&self.name(above)).octets().to_vec();
                let entry = (above.to_owned(), Vec::new());
                chain.entry(key).or_insert(entry);
                rest = above;
            }
        }
        let parameters = Nsec3Params::new(0, &[]).unwrap();
        let mut hashes: Vec<_> =
            chain.into_values().map(|(owner, types)| (parameters.hash(&self.name(&owner)), types)).collect();
        hashes.sort();
        for (at, (hash, types)) in hashes.iter().enumerate() {
            let flags = u8::from(self.signed == Signed::OptOut);
            let mut rdata = vec![1, flags, 0, 0, 0, 20];
            rdata.extend(hashes[(at + 1) % hashes.len()].0);
            dnssec::bitmap::write_types(types.iter().copied(), &mut rdata);
            let label = String::from_utf8(owner_label(hash).to_vec()).unwrap();
            let key = SortKey::of(&self.name(&label)).octets().to_vec();
            all.entry(key).or_insert((label, Sets::new())).1.insert(rtype::NSEC3, (60, vec![rdata]));
        }
    }

    /// Adds what stands for signatures.
    fn sign(&self, all: &BTreeMap<Vec<u8>, (String, Sets)>, records: &mut Vec<(NameBuf, u16, u32, Vec<u8>)>) {
        for (key, (owner, sets)) in all.iter().filter(|(key, _)| !self.is_occluded(all, key)) {
            let is_cut = sets.contains_key(&rtype::NS) && !owner.is_empty();
            for (rtype, (ttl, set)) in sets {
                if is_cut && !matches!(*rtype, rtype::DS | rtype::NSEC) {
                    continue;
                }
                let mut hasher = DefaultHasher::new();
                (key, rtype, ttl, set, self.signings.get(owner)).hash(&mut hasher);
                let labels = self.name(owner).label_count() as u8 - u8::from(owner.starts_with('*'));
                let mut rdata = rtype.to_be_bytes().to_vec();
                rdata.extend([13, labels]);
                rdata.extend(ttl.to_be_bytes());
                rdata.extend([0x70, 0, 0, 0, 0x60, 0, 0, 0, 1, 2]);
                rdata.extend(self.apex.octets());
                rdata.extend(hasher.finish().to_be_bytes());
                records.push((self.name(owner), rtype::RRSIG, *ttl, rdata));
            }
        }
    }

    pub fn pack(&self, seed: u64) -> Arc<Pack> {
        let mut contents = ContentsBuilder::new(&self.apex);
        for (owner, rtype, ttl, rdata) in self.records() {
            contents.push(&owner, false, rtype, ttl, &rdata, SourcePosition::default()).unwrap();
        }
        let mut builder = PackBuilder::new(seed);
        let added = builder.add_zone(&contents.finish(), TextStamp::default());
        added.unwrap_or_else(|problems| panic!("{problems:?}"));
        Arc::new(Pack::open(builder.finish().unwrap()).unwrap())
    }

    /// As text, to be read by whoever looks for a mistake.
    pub fn text(&self) -> String {
        let line = |(owner, rtype, ttl, rdata): (NameBuf, u16, u32, Vec<u8>)| {
            let mut line = Vec::new();
            zonefile::print::line(&owner as &Name, ttl, rtype, &rdata, &mut line);
            String::from_utf8_lossy(&line).into_owned()
        };
        self.records().into_iter().map(line).collect()
    }
}
