//! Random updates, each compared with the words of RFC 2136 done on an ordered map; changes compared with what is different.
use crate::kit;
use crate::kit::{NOW, somebody, terms};
use change::{Applied, Draft, SerialStyle};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire::NameBuf;
use wire::iana::{class, rcode, rtype};
use zone::delta::DeltaWriter;

/// A record of a message: owner, type, class, TTL, RDATA.
type Entry = (NameBuf, u16, u16, u32, Vec<u8>);

/// The zone as RFC 2136 speaks of it: by name in lower case and type, TTL and RDATA.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    sets: BTreeMap<(String, u16), Set>,
}

type Set = (u32, Vec<Vec<u8>>);

fn lower(name: &NameBuf) -> String {
    name.to_string().to_ascii_lowercase()
}

/// Names in RDATA are the same in either case.
fn is_same(rtype: u16, a: &[u8], b: &[u8]) -> bool {
    folded(rtype, a) == folded(rtype, b)
}

fn serial(rdata: &[u8]) -> u32 {
    u32::from_be_bytes(rdata[rdata.len() - 20..][..4].try_into().unwrap())
}

impl Model {
    fn types(&self, owner: &str) -> Vec<u16> {
        self.sets.keys().filter(|(name, _)| name == owner).map(|(_, rtype)| *rtype).collect()
    }

    fn has(&self, owner: &str, rtype: u16) -> bool {
        self.sets.contains_key(&(owner.to_string(), rtype))
    }

    /// RFC 2136 3.2.5.
    fn prerequisites(&self, entries: &[Entry]) -> u16 {
        let mut temp: BTreeMap<(String, u16), Vec<Vec<u8>>> = BTreeMap::new();
        for (owner, rtype, class, ttl, rdata) in entries {
            let owner = lower(owner);
            if *ttl != 0 {
                return rcode::FORMERR;
            }
            if !owner.ends_with("example.") {
                return rcode::NOTZONE;
            }
            match *class {
                class::ANY if !rdata.is_empty() => return rcode::FORMERR,
                class::ANY if *rtype == rtype::ANY && self.types(&owner).is_empty() => {
                    return rcode::NXDOMAIN;
                }
                class::ANY if *rtype != rtype::ANY && !self.has(&owner, *rtype) => return rcode::NXRRSET,
                class::NONE if !rdata.is_empty() => return rcode::FORMERR,
                class::NONE if *rtype == rtype::ANY && !self.types(&owner).is_empty() => {
                    return rcode::YXDOMAIN;
                }
                class::NONE if *rtype != rtype::ANY && self.has(&owner, *rtype) => return rcode::YXRRSET,
                class::ANY | class::NONE => {}
                _ => temp.entry((owner, *rtype)).or_default().push(rdata.clone()),
            }
        }
        for (key, wanted) in temp {
            let Some((_, found)) = self.sets.get(&key) else { return rcode::NXRRSET };
            let within =
                |a: &[Vec<u8>], b: &[Vec<u8>]| a.iter().all(|a| b.iter().any(|b| is_same(key.1, a, b)));
            if !within(found, &wanted) || !within(&wanted, found) {
                return rcode::NXRRSET;
            }
        }
        rcode::NOERROR
    }

    /// RFC 2136 3.4.1.3; all classes and types of the entries are such as it takes.
    fn prescan(entries: &[Entry]) -> u16 {
        for (owner, rtype, class, ttl, rdata) in entries {
            if !lower(owner).ends_with("example.") {
                return rcode::NOTZONE;
            }
            let is_right = match *class {
                class::IN => *rtype != rtype::ANY,
                class::ANY => *ttl == 0 && rdata.is_empty(),
                _ => *ttl == 0 && *rtype != rtype::ANY,
            };
            if !is_right {
                return rcode::FORMERR;
            }
        }
        rcode::NOERROR
    }

    /// RFC 2136 3.4.2.7, with its text where the two differ: an SOA record of the same serial is ignored, and only the apex keeps its last NS.
    fn update(&mut self, (owner, rtype, class, ttl, rdata): &Entry) {
        let owner = lower(owner);
        let (is_apex, key) = (owner == "example.", (owner.clone(), *rtype));
        let types = self.types(&owner);
        match (*class, *rtype) {
            (class::IN, rtype::CNAME) if types.iter().any(|other| *other != rtype::CNAME) => {}
            (class::IN, other) if other != rtype::CNAME && types.contains(&rtype::CNAME) => {}
            (class::IN, rtype::SOA) => {
                if let Some((old_ttl, old)) = self.sets.get_mut(&key) {
                    let ahead = serial(rdata).wrapping_sub(serial(&old[0]));
                    if ahead != 0 && ahead < 1 << 31 {
                        (*old_ttl, *old) = (*ttl, vec![rdata.clone()]);
                    }
                }
            }
            (class::IN, _) => {
                let (old_ttl, records) = self.sets.entry(key).or_insert((*ttl, Vec::new()));
                *old_ttl = *ttl;
                if !records.iter().any(|old| is_same(*rtype, old, rdata)) {
                    if *rtype == rtype::CNAME {
                        records.clear();
                    }
                    records.push(rdata.clone());
                }
            }
            (class::ANY, rtype::ANY) => {
                let stays = |rtype: u16| is_apex && (rtype == rtype::SOA || rtype == rtype::NS);
                self.sets.retain(|(name, rtype), _| *name != owner || stays(*rtype));
            }
            (class::ANY, rtype::SOA | rtype::NS) if is_apex => {}
            (class::ANY, _) => drop(self.sets.remove(&key)),
            (_, rtype::SOA) => {}
            _ => {
                let Some((_, records)) = self.sets.get_mut(&key) else { return };
                if !(is_apex && *rtype == rtype::NS && records.len() == 1) {
                    records.retain(|old| !is_same(*rtype, old, rdata));
                }
                if records.is_empty() {
                    self.sets.remove(&key);
                }
            }
        }
    }

    /// All records, letters of RDATA in lower case where they do not count.
    fn records(&self) -> BTreeSet<(String, u16, u32, Vec<u8>)> {
        let records = |((owner, rtype), (ttl, rdatas)): (&(String, u16), &Set)| {
            let (owner, rtype, ttl) = (owner.clone(), *rtype, *ttl);
            let records: Vec<_> =
                rdatas.iter().map(move |rdata| (owner.clone(), rtype, ttl, folded(rtype, rdata))).collect();
            records
        };
        self.sets.iter().flat_map(records).collect()
    }
}

/// RDATA with the letters of its names in lower case, where case does not count. The numbers of an SOA record, behind its names, are none.
fn folded(rtype: u16, rdata: &[u8]) -> Vec<u8> {
    let names = match rtype {
        rtype::NS | rtype::CNAME | rtype::MX => rdata.len(),
        rtype::SOA => rdata.len().saturating_sub(20),
        _ => 0,
    };
    let mut folded = rdata.to_vec();
    folded[..names].make_ascii_lowercase();
    folded
}

/// What a change takes away and adds: each record that is in one of the two alone.
fn check_change(before: &Model, after: &Model, change: &zone::Change) {
    let fold = |records: &zone::Records| {
        let all: Vec<_> = records
            .iter()
            .map(|record| {
                let rdata = folded(record.rtype, record.rdata);
                (lower(&record.owner.to_owned()), record.rtype, record.ttl, rdata)
            })
            .collect();
        let set: BTreeSet<_> = all.iter().cloned().collect();
        assert_eq!(set.len(), all.len(), "each once");
        set
    };
    let (removed, added) = (fold(change.removed()), fold(change.added()));
    let (before, after) = (before.records(), after.records());
    assert_eq!(removed, before.difference(&after).cloned().collect());
    assert_eq!(added, after.difference(&before).cloned().collect());
}

fn pack_of(model: &Model) -> zone::Pack {
    let mut records = Vec::new();
    for ((owner, rtype), (ttl, rdatas)) in &model.sets {
        let owner = NameBuf::from_text(owner).unwrap();
        records.extend(rdatas.iter().map(|rdata| (owner.clone(), *rtype, *ttl, rdata.clone())));
    }
    kit::pack(&records)
}

fn first_model() -> Model {
    let mut model = Model { sets: BTreeMap::new() };
    for (owner, rtype, ttl, rdata) in kit::records(
        "@ 60 SOA ns hostmaster 7 3600 600 86400 60\n@ 60 NS ns\na 60 A 192.0.2.1\na 60 A 192.0.2.2\nb 60 CNAME A\nc.d 60 MX 1 a",
    ) {
        model.sets.entry((lower(&owner), rtype)).or_insert((ttl, Vec::new())).1.push(rdata);
    }
    model
}

const OWNERS: [&str; 9] = ["@", "a", "A", "b", "c.d", "d", "*.d", "x.c.d", "out.side."];
const TYPES: [u16; 7] = [rtype::A, rtype::TXT, rtype::CNAME, rtype::NS, rtype::MX, rtype::SOA, rtype::ANY];

/// RDATA number `number` of a type.
fn rdata(rtype: u16, number: u8) -> Vec<u8> {
    let host: &[u8] =
        [&b"\x01a\x07example\0"[..], b"\x01A\x07EXAMPLE\0", b"\x02ns\x07example\0"][usize::from(number % 3)];
    match rtype {
        rtype::A => vec![192, 0, 2, number % 4],
        rtype::TXT => vec![1, b'a' + number % 3],
        rtype::CNAME | rtype::NS => host.to_vec(),
        rtype::MX => [&[0, number / 3 % 2], host].concat(),
        rtype::SOA => {
            let serial = u32::from(number).wrapping_mul(0x0800_0001) + 5;
            [host, host, &serial.to_be_bytes(), &[0; 16]].concat()
        }
        _ => Vec::new(),
    }
}

fn entry(is_update: bool) -> impl Strategy<Value = Entry> {
    let class = prop::sample::select(match is_update {
        true => vec![class::IN, class::IN, class::IN, class::ANY, class::NONE],
        false => vec![class::IN, class::ANY, class::ANY, class::NONE],
    });
    let owner = prop_oneof![40 => 0..8usize, 1 => Just(8)];
    let rtype = prop_oneof![10 => 0..5usize, 1 => 5..7usize];
    (owner, rtype, class, any::<u8>(), 0..40u8).prop_map(move |(owner, rtype, class, number, luck)| {
        let rtype = TYPES[rtype];
        // Mostly as RFC 2136 has it.
        let has_ttl = (class == class::IN && is_update) != (luck == 0);
        let has_rdata = (class == class::IN || class == class::NONE && is_update) && rtype != rtype::ANY;
        let ttl = if has_ttl { 60 + u32::from(number % 8 / 7) } else { 0 };
        let rdata = if has_rdata { rdata(rtype, number) } else { Vec::new() };
        // Meta types in a prerequisite with a value are for the table of forms.
        let class = if rtype == rtype::ANY && !is_update && class == class::IN { class::ANY } else { class };
        (kit::name(OWNERS[owner]), rtype, class, ttl, rdata)
    })
}

fn updates() -> impl Strategy<Value = Vec<(Vec<Entry>, Vec<Entry>, bool)>> {
    let one = (
        prop_oneof![2 => Just(0..1usize), 1 => Just(1..3usize)]
            .prop_flat_map(|count| prop::collection::vec(entry(false), count)),
        prop::collection::vec(entry(true), 0..6),
        prop::bool::weighted(0.3),
    );
    prop::collection::vec(one, 1..16)
}

fn check_one(model: &mut Model, draft: &mut Draft<'_>, prerequisites: &[Entry], updates: &[Entry]) -> bool {
    let mut message = kit::Message::new();
    for (section, entries) in [(1, prerequisites), (2, updates)] {
        for (owner, rtype, class, ttl, rdata) in entries {
            message.push(section, owner, (*rtype, *class, *ttl), rdata);
        }
    }
    let found = match draft.update(&message.request(), &somebody(), &terms(None)).unwrap() {
        Applied::Unproved | Applied::CommitFirst => return false,
        Applied::Done => rcode::NOERROR,
        Applied::Failed(failure) => failure.rcode(),
    };
    // Unlike in RFC 2136, what the update section has wrong is told first.
    let expected = match Model::prescan(updates) {
        rcode::NOERROR => model.prerequisites(prerequisites),
        other => other,
    };
    assert_eq!(found, expected, "{prerequisites:?} {updates:?}");
    if found == rcode::NOERROR {
        updates.iter().for_each(|entry| model.update(entry));
    }
    true
}

fn check(messages: &[(Vec<Entry>, Vec<Entry>, bool)]) {
    let mut model = first_model();
    let mut rest = messages;
    let mut writer = DeltaWriter::new(Arc::new(pack_of(&model)), 0).unwrap();
    while !rest.is_empty() {
        let before = model.clone();
        let mut draft = Draft::new(writer.newest()).unwrap();
        while let Some(((prerequisites, updates, commit), after)) = rest.split_first() {
            if !check_one(&mut model, &mut draft, prerequisites, updates) {
                assert!(!draft.is_unchanged());
                break;
            }
            rest = after;
            if *commit {
                break;
            }
        }
        let has_own_soa = draft.has_own_soa();
        match draft.into_change(SerialStyle::Increment, NOW) {
            Ok(change) => {
                if !has_own_soa {
                    // A new serial is not the model's business.
                    let soa = &mut model.sets.get_mut(&("example.".into(), rtype::SOA)).unwrap().1[0];
                    let at = soa.len() - 20;
                    let next = serial(soa).checked_add(1).unwrap_or(1);
                    soa[at..at + 4].copy_from_slice(&next.to_be_bytes());
                }
                check_change(&before, &model, &change);
                writer.apply(&change).unwrap();
                let state = writer.newest_box().state();
                writer.published(state);
            }
            Err(_) => assert_eq!(before.records(), model.records(), "no change"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn updates_do_what_the_rfc_says(messages in updates()) {
        check(&messages);
    }
}

mod long {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100_000, ..ProptestConfig::default() })]

        #[test]
        #[ignore = "long"]
        fn updates_do_what_the_rfc_says(messages in updates()) {
            check(&messages);
        }
    }
}
