//! Zones that change: states made of drafts, with chains and signatures that fit them, and what leads from one to the next.

use super::{Draft, Record, authoritative, model_of, params, records};
use dnssec::bitmap::write_types;
use dnssec::nsec3::{covers, owner_label};
use std::collections::{BTreeMap, BTreeSet};
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::change::Records;
use zone::contents::SourcePosition;
use zone::naive::NaiveZone;
use zone::{Change, Contents, ContentsBuilder, Pack, PackBuilder, TextStamp};

use super::Denial;

/// All records of a state: by owner in lower case and type, TTL and RDATA.
pub type State = BTreeSet<(NameOrder, u16, u32, Vec<u8>)>;

/// A name in lower case that sorts by its octets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameOrder(pub Vec<u8>);

impl NameOrder {
    pub fn name(&self) -> NameBuf {
        Name::from_wire(&self.0).unwrap().to_owned()
    }
}

fn hash_of(octets: &[u8]) -> u64 {
    octets
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3))
}

/// The records of a state. `salt`: what else is other in each state, TTLs and data of some names.
pub fn state(drafts: &[Draft], apex: &Name, denial: Denial, serial: u32, salt: u64) -> State {
    let apex = apex.to_lowercase();
    let mut base: Vec<Record> = records(drafts, &apex);
    base[0].2[2..6].copy_from_slice(&serial.to_be_bytes());
    for (owner, rtype, rdata) in &mut base {
        *owner = owner.to_lowercase();
        wire::rdata::fold(*rtype, rdata);
    }
    let model = model_of(&base, &apex);
    match denial {
        Denial::None => {}
        Denial::Nsec => add_chain(&mut base, &model),
        Denial::Nsec3 => add_hashes(&mut base, &model, &apex, salt),
    }
    let signed = match denial {
        Denial::None => Vec::new(),
        _ => signatures(&base, &model, &apex),
    };
    base.extend(signed);
    let mut state = State::new();
    for (owner, rtype, rdata) in base {
        let covered = if rtype == rtype::RRSIG { u16::from_be_bytes([rdata[0], rdata[1]]) } else { rtype };
        let spread = hash_of(&[owner.octets(), &covered.to_be_bytes()].concat());
        let ttl = 60 + if spread.is_multiple_of(7) { (salt % 3) as u32 } else { 0 };
        state.insert((NameOrder(owner.octets().to_vec()), rtype, ttl, rdata));
    }
    state
}

/// An NSEC record at every owner that the zone answers for, and at every cut, that says the next one.
fn add_chain(records: &mut Vec<Record>, model: &NaiveZone) {
    let owners: Vec<NameBuf> =
        authoritative(model).into_iter().filter(|owner| !model.sets(owner).is_empty()).collect();
    for (at, owner) in owners.iter().enumerate() {
        let mut rdata = owners[(at + 1) % owners.len()].octets().to_vec();
        let types: BTreeSet<u16> = model.sets(owner).keys().copied().chain([rtype::NSEC]).collect();
        write_types(types, &mut rdata);
        records.push((owner.clone(), rtype::NSEC, rdata));
    }
}

/// An NSEC3 record for every name; now and then those of insecure delegations are left out (RFC 5155 6, opt-out).
fn add_hashes(records: &mut Vec<Record>, model: &NaiveZone, apex: &Name, salt: u64) {
    let opts_out = salt % 2 == 1;
    let params = params();
    let fields = |flags: u8| {
        let mut rdata = vec![1, flags];
        rdata.extend(params.iterations().to_be_bytes());
        rdata.push(params.salt().len() as u8);
        rdata.extend(params.salt());
        rdata
    };
    let is_insecure = |owner: &NameBuf| {
        let sets = model.sets(owner);
        !owner.eq_ignore_case(apex) && sets.contains_key(&rtype::NS) && !sets.contains_key(&rtype::DS)
    };
    let owners: Vec<NameBuf> =
        authoritative(model).into_iter().filter(|owner| !opts_out || !is_insecure(owner)).collect();
    let hashes: BTreeMap<_, _> = owners.iter().map(|owner| (params.hash(owner), owner)).collect();
    for (hash, name) in &hashes {
        let next = hashes.range(*hash..).nth(1).or(hashes.iter().next()).unwrap().0;
        assert!(hashes.len() == 1 || !hashes.keys().any(|other| covers(hash, next, other)));
        let mut rdata = [&fields(u8::from(opts_out))[..], &[20], next].concat();
        write_types(model.sets(name).keys().copied(), &mut rdata);
        let owner = [&[32][..], &owner_label(hash), apex.octets()].concat();
        records.push((Name::from_wire(&owner).unwrap().to_owned(), rtype::NSEC3, rdata));
    }
    records.push((apex.to_owned(), rtype::NSEC3PARAM, fields(0)));
}

/// A signature for each RRset that would have one, which is another when the RRset is.
fn signatures(base: &[Record], model: &NaiveZone, apex: &Name) -> Vec<Record> {
    let own: BTreeSet<Vec<u8>> = authoritative(model).iter().map(|name| name.octets().to_vec()).collect();
    let mut sets: BTreeMap<(Vec<u8>, u16), Vec<&[u8]>> = BTreeMap::new();
    for (owner, rtype, rdata) in base {
        sets.entry((owner.octets().to_vec(), *rtype)).or_default().push(rdata);
    }
    let mut signatures = Vec::new();
    for ((owner, rtype), rdata) in &sets {
        let is_cut = *owner != apex.octets() && sets.contains_key(&(owner.clone(), rtype::NS));
        let is_signed = *rtype == rtype::NSEC3
            || own.contains(owner) && (!is_cut || [rtype::DS, rtype::NSEC].contains(rtype));
        // Some have none, as of a signer that is half done.
        if !is_signed || *rtype != rtype::SOA && hash_of(owner).is_multiple_of(5) && *rtype == rtype::TXT {
            continue;
        }
        let mut digest: Vec<&[u8]> = rdata.clone();
        digest.sort_unstable();
        let digest = hash_of(&digest.concat());
        let mut signature = [&rtype.to_be_bytes()[..], &[15, 1, 0, 0, 0, 60]].concat();
        signature.extend((1_900_000_000 + (digest % 1000) as u32).to_be_bytes());
        signature.extend(1_700_000_000u32.to_be_bytes());
        signature.extend([0, 7]);
        signature.extend(apex.octets());
        signature.extend(digest.to_be_bytes());
        signatures.push((Name::from_wire(owner).unwrap().to_owned(), rtype::RRSIG, signature));
    }
    signatures
}

/// What leads from one state to another.
pub fn change(before: &State, after: &State) -> Change {
    let part = |one: &State, other: &State| {
        let mut records = Records::default();
        let gone: Vec<_> = one.difference(other).collect();
        let (soa, rest): (Vec<_>, Vec<_>) =
            gone.into_iter().partition(|(_, rtype, _, _)| *rtype == rtype::SOA);
        for (owner, rtype, ttl, rdata) in soa.into_iter().chain(rest) {
            records.push(&owner.name(), *rtype, *ttl, rdata);
        }
        records
    };
    Change::new(part(before, after), part(after, before)).unwrap()
}

pub fn contents(state: &State, apex: &Name) -> Contents {
    let mut builder = ContentsBuilder::new(apex);
    for (owner, rtype, ttl, rdata) in state {
        builder.push(&owner.name(), false, *rtype, *ttl, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

/// A pack of the state alone, after a zone that makes its numbers and ranks begin elsewhere.
pub fn pack(state: &State, apex: &Name, seed: u64) -> Pack {
    let mut builder = PackBuilder::new(seed);
    let other: NameBuf = "other.zone".parse().unwrap();
    let drafts: Vec<Draft> = (0..20).map(|at| (vec![at % 5, at / 5], 0, vec![])).collect();
    let first = super::change::state(&drafts, &other, Denial::Nsec3, 1, 0);
    builder.add_zone(&contents(&first, &other), TextStamp::default()).unwrap();
    builder.add_zone(&contents(state, apex), TextStamp::default()).unwrap();
    Pack::open(builder.finish().unwrap()).unwrap()
}
