//! Random zones. Labels are drawn from a small set, so that names collide, nest and stand beside each other; it has case,
//! escaped octets, octets 0 and 1 (which keys escape), wildcards in odd places, labels of 63 octets and names of 255.
#![allow(dead_code)] // Each of the tests takes what it needs.

use std::collections::BTreeSet;

pub mod change;
pub mod said;

use dnssec::bitmap::write_types;
use dnssec::nsec3::{Nsec3Params, owner_label};
use proptest::prelude::*;
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};
use zone::contents::SourcePosition;
use zone::naive::{NaiveMatch, NaiveZone};
use zone::{Contents, ContentsBuilder};

pub const LABELS: [&[u8]; 18] = [
    b"a",
    b"A",
    b"b",
    b"aa",
    b"ab",
    b"*",
    b"*",
    b"**",
    b"\0",
    b"\x01",
    b"\x01\0",
    b"a\0",
    b"\x01\x01a",
    b"\xff",
    b"a.b",
    b"-",
    b"ns",
    &[b'x'; 63],
];

/// Label numbers below an apex, bottom first.
pub fn labels() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        40 => prop::collection::vec(0..LABELS.len() as u8, 0..5),
        1 => prop::collection::vec(prop::sample::select(vec![9u8, 10, 17]), 3..60),
        1 => prop::collection::vec(0..4u8, 30..127),
    ]
}

/// The name of these labels below `apex`; those that do not fit are left out.
pub fn name(labels: &[u8], apex: &Name) -> NameBuf {
    let mut octets = Vec::new();
    for &number in labels {
        let label = LABELS[number as usize];
        if octets.len() + 1 + label.len() + apex.octets().len() <= 255 {
            octets.push(label.len() as u8);
            octets.extend_from_slice(label);
        }
    }
    octets.extend_from_slice(apex.octets());
    Name::from_wire(&octets).unwrap().to_owned()
}

/// Owner, kind and target or content of one record.
pub type Draft = (Vec<u8>, u8, Vec<u8>);

pub fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    prop::collection::vec((labels(), 0..14u8, labels()), 0..70)
}

/// One record to be: owner, type, RDATA.
pub type Record = (NameBuf, u16, Vec<u8>);

/// Makes records that may stand together: an SOA, one CNAME or DNAME, nothing beside a CNAME.
pub fn records(drafts: &[Draft], apex: &Name) -> Vec<Record> {
    let mut soa = b"\0\0".to_vec();
    soa.extend([0; 20]);
    let mut records: Vec<Record> =
        vec![(apex.to_owned(), rtype::SOA, soa), (apex.to_owned(), rtype::NS, b"\x02ns\0".to_vec())];
    for (owner, kind, target) in drafts {
        let owner = name(owner, apex);
        // Services are on hosts of the zone and elsewhere.
        let is_below = kind % 2 == 0 || (*kind == 11 && target.len() % 2 == 0);
        let target = name(target, if is_below { apex } else { Name::root() }).octets().to_vec();
        let (rtype, rdata) = match kind {
            0 | 1 => (rtype::A, vec![192, 0, 2, target.len() as u8]),
            2 => (rtype::AAAA, [&[0x20; 15][..], &[target.len() as u8]].concat()),
            3 | 4 => (rtype::NS, target),
            5 => (rtype::CNAME, target),
            6 => (rtype::DNAME, target),
            7 => (rtype::MX, [&[0, 1], &target[..]].concat()),
            8 => (rtype::TXT, [&[target.len() as u8], &target[..]].concat()),
            9 => (rtype::DS, [&[0, 1, 13, 2], &target[..]].concat()),
            10 => (65_400, target),
            11 => (rtype::SRV, [&[0; 6], &target[..]].concat()),
            _ => (rtype::NS, name(&[16], if *kind == 12 { &owner } else { apex }).octets().to_vec()),
        };
        if *kind >= 12 {
            // A name server with an address, below its own cut or elsewhere in the zone.
            records.push((Name::trusted(&rdata).to_owned(), rtype::A, vec![192, 0, 2, 99]));
        }
        let is_same = |other: &&Record| other.0.eq_ignore_case(&owner);
        let beside: Vec<u16> = records.iter().filter(is_same).map(|other| other.1).collect();
        let fits = match rtype {
            rtype::CNAME => beside.is_empty(),
            rtype::DNAME => !beside.contains(&rtype::DNAME) && !beside.contains(&rtype::CNAME),
            _ => !beside.contains(&rtype::CNAME),
        };
        if fits {
            records.push((owner, rtype, rdata));
        }
    }
    records
}

/// Adds an NSEC record at every name the zone answers for, and at every cut.
pub fn add_nsec(records: &mut Vec<Record>, model: &NaiveZone) {
    for owner in authoritative(model) {
        if !model.sets(&owner).is_empty() {
            let mut rdata = owner.octets().to_vec(); // where it points does not matter here
            write_types([rtype::NSEC], &mut rdata);
            records.push((owner, rtype::NSEC, rdata));
        }
    }
}

/// Adds NSEC3PARAM and an NSEC3 record for every name the zone answers for, cuts and empty non-terminals too.
pub fn add_nsec3(records: &mut Vec<Record>, model: &NaiveZone, apex: &Name, params: Nsec3Params<'_>) {
    let fields = |flags: u8| {
        let mut rdata = vec![1, flags];
        rdata.extend(params.iterations().to_be_bytes());
        rdata.push(params.salt().len() as u8);
        rdata.extend(params.salt());
        rdata
    };
    let hashes: BTreeSet<_> = authoritative(model).iter().map(|owner| params.hash(owner)).collect();
    for hash in &hashes {
        let next = hashes.range(*hash..).nth(1).or(hashes.first()).unwrap();
        let rdata = [&fields(0)[..], &[20], next, b"\0\x01\x40"].concat();
        let owner = [&[32][..], &owner_label(hash), apex.octets()].concat();
        records.push((Name::from_wire(&owner).unwrap().to_owned(), rtype::NSEC3, rdata));
    }
    records.push((apex.to_owned(), rtype::NSEC3PARAM, fields(0)));
}

/// Names that are neither below a cut nor below a DNAME.
pub fn authoritative(model: &NaiveZone) -> Vec<NameBuf> {
    let mut names = model.names();
    names.retain(|name| match model.find(name) {
        NaiveMatch::Exact => true,
        NaiveMatch::Cut(cut) => cut.eq_ignore_case(name),
        _ => false,
    });
    names
}

pub fn model_of(records: &[Record], apex: &Name) -> NaiveZone {
    let mut model = NaiveZone::new(apex);
    // Signatures are no RRsets of their own.
    let is_set = |record: &&Record| ![rtype::NSEC3, rtype::RRSIG].contains(&record.1);
    for (owner, rtype, rdata) in records.iter().filter(is_set) {
        assert!(model.add(owner, *rtype, 60, rdata));
    }
    model
}

pub fn contents_of(records: &[Record], apex: &Name) -> Contents {
    let mut builder = ContentsBuilder::new(apex);
    for (owner, rtype, rdata) in records {
        builder.push(owner, false, *rtype, 60, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

/// The names to ask for: all that exist, each with something before, after and below it, and some more.
pub fn questions(model: &NaiveZone, apex: &Name, more: &[Vec<u8>]) -> Vec<NameBuf> {
    let mut questions: Vec<NameBuf> = more.iter().map(|labels| name(labels, apex)).collect();
    for owner in model.names() {
        for first in [0, 5, 8, 9, 13] {
            questions.push(name(&[first], &owner));
        }
        if let Some(parent) = owner.parent().filter(|parent| parent.is_at_or_below(apex)) {
            questions.push(name(&[0], parent));
            questions.push(name(&[13], parent));
        }
        questions.push(owner);
    }
    // Zones of very deep names have thousands of empty non-terminals, all alike.
    let step = questions.len().div_ceil(QUESTIONS_MAX).max(1);
    questions.into_iter().step_by(step).collect()
}

/// Most names that are asked for in one zone, for the time it takes.
pub const QUESTIONS_MAX: usize = 700;

pub fn relative_key(name: &Name, apex: &Name) -> Vec<u8> {
    SortKey::of(name).octets()[SortKey::of(apex).octets().len()..].to_vec()
}

#[derive(Clone, Copy, Debug)]
pub enum Denial {
    None,
    Nsec,
    Nsec3,
}

pub const SALT: [u8; 3] = [0, 0xff, 7];

/// Parameters of the chains.
pub fn params() -> Nsec3Params<'static> {
    Nsec3Params::new(2, &SALT).unwrap()
}

/// The records of a zone, and its model.
pub fn zone_of(drafts: &[Draft], apex: &Name, denial: Denial) -> (Vec<Record>, NaiveZone) {
    let mut records = records(drafts, apex);
    let model = model_of(&records, apex);
    match denial {
        Denial::None => {}
        Denial::Nsec => add_nsec(&mut records, &model),
        Denial::Nsec3 => add_nsec3(&mut records, &model, apex, params()),
    }
    let model = model_of(&records, apex);
    // Without a signature of the SOA record nothing is proved.
    if !matches!(denial, Denial::None) {
        records.push((apex.to_owned(), rtype::RRSIG, rtype::SOA.to_be_bytes().to_vec()));
    }
    (records, model)
}

pub fn apex(number: u8) -> NameBuf {
    let text = [".", "example.", "Sub.example.", "\\000.\\001\\001.a.", "b.b.b.b.b.b.b.b.b.b."];
    NameBuf::from_text(text[number as usize]).unwrap()
}
