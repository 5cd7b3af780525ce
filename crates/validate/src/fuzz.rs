//! The fuzzer's way in: responses put together from the RRsets of three signed zones, with octets changed, validated from the root's key.
//!
//! ```text
//! octets 0 to 3: which name, type, RCODE is asked for; how DS and DNSKEY are answered
//! then, four octets each: which RRset | what is done with it | where | how
//! ```
//!
//! What must hold: no panic, an end, work within its bounds; and what comes out secure is so, by a naive look at the zones.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::OnceLock;

use dnssec::CanonicalSet;
use dnssec::verify::Rrsig;
use wire::iana::rtype;
use wire::rrset::{RdataListBuf, RrsetBuf, RrsetListBuf};
use wire::{Name, NameBuf};

use crate::facts::{Facts, Fetched, Standing};
use crate::limits::{FAILURES_MAX, FETCHES_MAX, HASH_ROUNDS_MAX, SIGNATURES_MAX};
use crate::response::{Ending, Response};
use crate::rfc5011::{self, Managed};
use crate::{Anchors, Context, Policy, Security, Step, Validation, Verifier};

/// Within the time that the signatures of the zones are valid: 2026-06-01 00:00 UTC.
const NOW: u64 = 1_780_272_000;

/// Names that are asked for, some of which exist.
const NAMES: [&str; 23] = [
    ".",
    "example.",
    "www.example.",
    "alias.example.",
    "x.wild.example.",
    "here.wild.example.",
    "*.wild.example.",
    "x.tree.example.",
    "ent.example.",
    "a.ent.example.",
    "sub.example.",
    "www.sub.example.",
    "nothing.example.",
    "hashed.",
    "www.hashed.",
    "x.wild.hashed.",
    "nothing.hashed.",
    "ent.hashed.",
    "www.plain.",
    "nothing.",
    "www.sub.hashed.",
    "sub.hashed.",
    "x.tree.hashed.",
];

const TYPES: [u16; 10] = [
    rtype::A,
    rtype::TXT,
    rtype::CNAME,
    rtype::DS,
    rtype::DNSKEY,
    rtype::SOA,
    rtype::NSEC,
    rtype::RRSIG,
    rtype::ANY,
    rtype::DNAME,
];

thread_local! {
    /// The genuine signatures are verified once: most of the time would go there.
    static VERIFIER: RefCell<Verifier> = RefCell::new(Verifier::new(1024));
}

struct Zones {
    sets: Vec<RrsetBuf>,
    anchors: Anchors,
}

fn zones() -> &'static Zones {
    static ZONES: OnceLock<Zones> = OnceLock::new();
    ZONES.get_or_init(|| {
        let parts = include_str!("fuzz/zones.txt").split("\n\n");
        let sets: Vec<RrsetBuf> = parts.flat_map(sets_of).collect();
        let mut anchors = Anchors::new();
        let root_keys = sets.iter().find(|set| set.rtype == rtype::DNSKEY && set.owner.is_root());
        root_keys.iter().flat_map(|set| set.rdatas.list()).for_each(|key| anchors.add_key(Name::root(), key));
        Zones { sets, anchors }
    })
}

/// The RRsets of one zone.
fn sets_of(text: &str) -> Vec<RrsetBuf> {
    let mut sets: Vec<RrsetBuf> = Vec::new();
    for record in &zonefile::records(text, Name::root()).expect("the kept zones are sound") {
        let rrsig = Rrsig::parse(&record.rdata).filter(|_| record.rtype == rtype::RRSIG);
        let rtype = rrsig.map_or(record.rtype, |rrsig| rrsig.covered);
        let found = sets.iter().position(|set| set.rtype == rtype && set.owner == record.owner);
        let at = found.unwrap_or_else(|| {
            let (rdatas, signatures) = (RdataListBuf::new(), RdataListBuf::new());
            sets.push(RrsetBuf { owner: record.owner.clone(), rtype, ttl: record.ttl, rdatas, signatures });
            sets.len() - 1
        });
        let list = if rrsig.is_some() { &mut sets[at].signatures } else { &mut sets[at].rdatas };
        list.push(&record.rdata);
    }
    sets
}

impl Zones {
    fn set(&self, owner: &Name, rtype: u16) -> Option<&RrsetBuf> {
        self.sets.iter().find(|set| set.rtype == rtype && set.owner.eq_ignore_case(owner))
    }

    /// Whether the name is there, with records or below it.
    fn exists(&self, name: &Name) -> bool {
        let is_data = |set: &&RrsetBuf| set.rtype != rtype::NSEC3;
        self.sets.iter().filter(is_data).any(|set| set.owner.is_at_or_below(name))
    }

    fn is_cut(&self, name: &Name) -> bool {
        self.set(name, rtype::NS).is_some() && self.set(name, rtype::SOA).is_none()
    }

    /// The owner whose records answer for a name: itself or a wildcard.
    fn source(&self, name: &Name) -> Option<NameBuf> {
        let mut encloser = name;
        if self.exists(name) {
            return Some(name.to_owned());
        }
        while !self.exists(encloser) {
            encloser = encloser.parent()?;
        }
        let wildcard = Name::from_wire(&[b"\x01*", encloser.octets()].concat()).ok()?.to_owned();
        self.exists(&wildcard).then_some(wildcard)
    }

    /// Whether a set is one of theirs, at its owner or made from a wildcard, but for case and TTL.
    fn is_genuine(&self, set: &RrsetBuf) -> bool {
        let source = self.source(&set.owner);
        let mut genuine = self.sets.iter().filter(|genuine| {
            let is_owner = |owner: &Name| genuine.owner.eq_ignore_case(owner);
            genuine.rtype == set.rtype && (is_owner(&set.owner) || source.as_deref().is_some_and(is_owner))
        });
        genuine.any(|genuine| canonical(genuine) == canonical(set))
    }
}

fn canonical(set: &RrsetBuf) -> Vec<Vec<u8>> {
    let mut canonical = CanonicalSet::new();
    canonical.fill(set.rtype, set.rdatas.list());
    canonical.records().map(|(_, rdata)| rdata.to_vec()).collect()
}

/// Answers what is fetched from the zones, or from the sets of the input.
struct Known<'k> {
    zones: &'k Zones,
    choice: u8,
    /// Changed DS and DNSKEY RRsets, in place of the genuine ones.
    changed: HashMap<(NameBuf, u16), RrsetBuf>,
    /// What was asked for last.
    name: NameBuf,
    answer: RrsetListBuf,
    authority: RrsetListBuf,
    asked: u32,
}

impl Facts for Known<'_> {
    fn standing(&mut self, _: &Name) -> Option<Standing<'_>> {
        None
    }

    fn fetched(&mut self, name: &Name, qtype: u16) -> Fetched<'_> {
        self.asked += 1;
        if self.choice & 1 != 0 && self.asked % 3 == 1 {
            return Fetched::Missing;
        }
        if self.choice & 2 != 0 && qtype == rtype::DNSKEY && !name.is_root() {
            return Fetched::Failed;
        }
        self.name = name.to_owned();
        self.answer.clear();
        self.authority.clear();
        let changed = self.changed.get(&(name.to_lowercase(), qtype));
        match changed.or_else(|| self.zones.set(name, qtype)) {
            Some(set) => self.answer.push(&set.rrset()),
            None => {
                let denials =
                    self.zones.sets.iter().filter(|set| matches!(set.rtype, rtype::NSEC | rtype::NSEC3));
                denials.for_each(|set| self.authority.push(&set.rrset()));
            }
        }
        let (answer, authority) = (self.answer.list(), self.authority.list());
        Fetched::Response(Response { qname: &self.name, qtype, rcode: 0, answer, authority })
    }

    fn keep(&mut self, _: &Name, _: Standing<'_>, until: u64) {
        assert!(until < NOW + 86_400);
    }
}

/// Changes an octet of RDATA, signature or owner of a set, or takes signatures away.
fn change(set: &mut RrsetBuf, what: u8, place: u8, how: u8) {
    let change_list = |list: &RdataListBuf| {
        let mut rdatas: Vec<Vec<u8>> = list.list().iter().map(<[u8]>::to_vec).collect();
        if let Some(octet) = rdatas.iter_mut().flatten().nth(usize::from(place)) {
            *octet ^= how;
        }
        rdatas.iter().map(Vec::as_slice).collect()
    };
    match what % 8 {
        0 => {}
        1 => set.rdatas = change_list(&set.rdatas),
        2 => set.signatures = change_list(&set.signatures),
        3 => set.signatures.clear(),
        4 => {
            let name = NAMES[usize::from(place) % NAMES.len()];
            set.owner = NameBuf::from_text(name).unwrap_or_else(|_| NameBuf::root());
        }
        5 => set.ttl = u32::from(place) << (how % 32),
        6 => {
            let rdatas = set.rdatas.clone();
            rdatas.list().iter().take(usize::from(how % 8)).for_each(|rdata| set.rdatas.push(rdata));
        }
        _ => set.rtype = TYPES[usize::from(place) % TYPES.len()],
    }
}

/// Validates a response made as `data` says.
pub fn check(data: &[u8]) {
    // Any text as a state of RFC 5011: read, or an error; what is read is written and read again.
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(read) = rfc5011::read(text)
    {
        assert_eq!(rfc5011::read(&rfc5011::write(&read)).as_ref(), Ok::<&Vec<Managed>, _>(&read));
    }
    let Some((&[qname, qtype, rcode, choice], operations)) = data.split_first_chunk() else { return };
    let zones = zones();
    let qname = NameBuf::from_text(NAMES[usize::from(qname) % NAMES.len()]).expect("a name");
    let qtype = TYPES[usize::from(qtype) % TYPES.len()];
    let (mut answer, mut authority) = (Vec::new(), Vec::new());
    let mut changed = HashMap::new();
    for &[which, what, place, how] in operations.as_chunks::<4>().0 {
        let mut set = zones.sets[usize::from(which) % zones.sets.len()].clone();
        change(&mut set, what, place, how);
        match what >> 6 {
            0 => answer.push(set),
            1 => {
                changed.insert((set.owner.to_lowercase(), set.rtype), set);
            }
            _ => authority.push(set),
        }
    }
    if choice & 4 != 0 {
        authority
            .extend(zones.sets.iter().filter(|set| matches!(set.rtype, rtype::NSEC | rtype::NSEC3)).cloned());
    }
    check_response(zones, (&qname, qtype, u16::from(rcode % 4)), &answer, &authority, changed, choice);
}

fn check_response(
    zones: &Zones,
    (qname, qtype, rcode): (&Name, u16, u16),
    answer: &[RrsetBuf],
    authority: &[RrsetBuf],
    changed: HashMap<(NameBuf, u16), RrsetBuf>,
    choice: u8,
) -> Security {
    let list = |sets: &[RrsetBuf]| sets.iter().map(RrsetBuf::rrset).collect::<RrsetListBuf>();
    let (answers, authorities) = (list(answer), list(authority));
    let response = Response { qname, qtype, rcode, answer: answers.list(), authority: authorities.list() };
    let mut facts = Known {
        zones,
        choice,
        changed,
        name: NameBuf::root(),
        answer: RrsetListBuf::new(),
        authority: RrsetListBuf::new(),
        asked: 0,
    };
    let policy = Policy::default();
    let context = Context { anchors: &zones.anchors, policy: &policy, now: NOW };
    let mut validation = Validation::new().explained();
    let verdict = loop {
        let step =
            VERIFIER.with_borrow_mut(|verifier| validation.step(&response, &mut facts, verifier, &context));
        match step {
            Step::Need(_) => assert!(facts.asked < 4096, "no end"),
            Step::Done(verdict) => break verdict,
        }
    };
    let work = verdict.work;
    assert!(work.signatures <= SIGNATURES_MAX && work.failures <= FAILURES_MAX);
    assert!(work.hash_rounds <= HASH_ROUNDS_MAX && work.fetches <= FETCHES_MAX);
    assert_eq!(verdict.rrsets.len(), answer.len() + authority.len());
    validation.trail().iter().for_each(|link| assert!(!link.to_string().is_empty()));
    assert_eq!(verdict.reason.is_none(), verdict.security == Security::Secure);
    if let Some(reason) = &verdict.reason {
        assert!(!reason.to_string().is_empty());
    }
    for (found, set) in verdict.rrsets.iter().zip(answer.iter().chain(authority)) {
        // A CNAME that a DNAME makes is no record of the zone.
        if found.security == Security::Secure
            && !(set.rtype == rtype::CNAME && set.signatures.list().is_empty())
        {
            assert!(zones.is_genuine(set), "{set:?}");
        }
    }
    if verdict.security != Security::Secure {
        return verdict.security;
    }
    let source = zones.source(&verdict.last);
    let is_below_cut = |name: &Name| {
        let mut above = std::iter::successors(name.parent(), |name| name.parent());
        above.any(|name| zones.is_cut(name))
    };
    match verdict.ending {
        Ending::NameError => assert!(source.is_none() && !is_below_cut(&verdict.last), "{verdict:?}"),
        // NSEC records are the parent's where the child has none; RRSIG and ANY are no types of records here.
        Ending::NoData if !matches!(qtype, rtype::RRSIG | rtype::ANY | rtype::NSEC) => {
            let has_type = source.is_some_and(|source| zones.set(&source, qtype).is_some());
            assert!(!has_type && !is_below_cut(&verdict.last), "{verdict:?}");
        }
        Ending::NoData | Ending::Answer | Ending::Elsewhere => {}
    }
    verdict.security
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What the seeds are: sound questions and answers, with what is changed in them.
    #[test]
    fn seeds() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/validate");
        let mut count = 0;
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            check(&std::fs::read(file.path()).unwrap());
            count += 1;
        }
        assert!(count > 5, "{count} seeds in {folder}");
    }

    /// The harness finds sound responses secure, so that what it says of others means something.
    #[test]
    fn sound_responses_are_secure() {
        let zones = zones();
        let denials: Vec<RrsetBuf> = zones
            .sets
            .iter()
            .filter(|set| matches!(set.rtype, rtype::NSEC | rtype::NSEC3 | rtype::SOA))
            .cloned()
            .collect();
        let mut secure = 0;
        for text in NAMES {
            let qname = NameBuf::from_text(text).unwrap();
            for qtype in TYPES {
                let answer: Vec<RrsetBuf> = zones.set(&qname, qtype).cloned().into_iter().collect();
                for (rcode, choice) in [(3, 0), (0, 1)] {
                    let asked = (&*qname, qtype, rcode);
                    let found = check_response(zones, asked, &answer, &denials, HashMap::new(), choice);
                    secure += usize::from(found == Security::Secure);
                }
            }
        }
        assert!(secure > 200, "{secure}");
    }

    /// Inputs at random: as many as are quick.
    #[test]
    fn random_inputs() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..4000 {
            let mut data = Vec::new();
            for _ in 0..4 + 4 * (state % 8) {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                data.push((state >> 56) as u8);
            }
            check(&data);
        }
    }
}
