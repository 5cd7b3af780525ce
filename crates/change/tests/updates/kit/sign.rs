//! A small signer of zones, and one of messages.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part

use super::{NOW, name};
use dnssec::CanonicalSet;
use dnssec::bitmap::write_types;
use dnssec::key::key_tag;
use dnssec::nsec3::{Nsec3Params, owner_label};
use ring::signature::{Ed25519KeyPair, KeyPair};
use wire::NameBuf;
use wire::iana::{algorithm, class, rtype};
use zone::contents::{NodeRef, RRsetRef, SourcePosition};
use zone::{Contents, ContentsBuilder, Flags};

/// Owner, type, TTL, RDATA.
pub type Record = (NameBuf, u16, u32, Vec<u8>);

pub const INCEPTION: u32 = NOW as u32 - 1_000;
pub const EXPIRATION: u32 = NOW as u32 + 100_000;
const DENIAL_TTL: u32 = 60;

/// What proves absence in a zone to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    Nsec,
    Nsec3 { opt_out: bool },
}

pub struct Signer {
    pair: Ed25519KeyPair,
    dnskey: Vec<u8>,
    tag: u16,
}

pub fn contents(records: &[Record]) -> Contents {
    let mut builder = ContentsBuilder::new(&name("@"));
    for (owner, rtype, ttl, rdata) in records {
        builder.push(owner, false, *rtype, *ttl, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

impl Signer {
    /// With a key made of `seed`; `flags` of its record.
    pub fn new(seed: u8, flags: u16) -> Signer {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let mut dnskey = flags.to_be_bytes().to_vec();
        dnskey.extend([3, algorithm::ED25519]);
        dnskey.extend_from_slice(pair.public_key().as_ref());
        let tag = key_tag(&dnskey);
        Signer { pair, dnskey, tag }
    }

    /// RDATA of its DNSKEY or KEY record.
    pub fn key(&self) -> &[u8] {
        &self.dnskey
    }

    pub fn tag(&self) -> u16 {
        self.tag
    }

    pub fn sign_octets(&self, octets: &[u8]) -> Vec<u8> {
        self.pair.sign(octets).as_ref().to_vec()
    }

    /// The zone with key, proofs and signatures.
    pub fn zone(&self, records: &[Record], proof: Proof) -> Vec<Record> {
        let mut all = records.to_vec();
        all.push((name("@"), rtype::DNSKEY, 60, self.dnskey.clone()));
        match proof {
            Proof::Nsec => all.extend(nsec(&contents(&all))),
            Proof::Nsec3 { opt_out } => {
                all.push((name("@"), rtype::NSEC3PARAM, 0, vec![1, 0, 0, 0, 1, 0xab]));
                all.extend(nsec3(&contents(&all), opt_out));
            }
        }
        self.sign(all)
    }

    /// Adds signatures.
    pub fn sign(&self, mut all: Vec<Record>) -> Vec<Record> {
        all.extend(self.signatures(&contents(&all)));
        all
    }

    fn signatures(&self, zone: &Contents) -> Vec<Record> {
        let mut signatures = Vec::new();
        for node in zone.nodes().filter(|node| !node.flags().has(Flags::OCCLUDED)) {
            let is_cut = node.flags().has(Flags::CUT);
            for set in node.rrsets().filter(|set| !is_cut || matches!(set.rtype(), rtype::DS | rtype::NSEC)) {
                let rdata = self.signature(&node.name(), set);
                signatures.push((node.name(), rtype::RRSIG, set.ttl(), rdata));
            }
        }
        signatures
    }

    fn signature(&self, owner: &NameBuf, set: RRsetRef<'_>) -> Vec<u8> {
        let mut rdata = set.rtype().to_be_bytes().to_vec();
        rdata.push(algorithm::ED25519);
        rdata.push((owner.label_count() - usize::from(owner.is_wildcard())) as u8);
        for number in [set.ttl(), EXPIRATION, INCEPTION] {
            rdata.extend(number.to_be_bytes());
        }
        rdata.extend(self.tag.to_be_bytes());
        rdata.extend(name("@").octets());
        let mut data = rdata.clone();
        let mut canonical = CanonicalSet::new();
        canonical.fill(set.rtype(), set.records().map(|record| record.rdata));
        for (_, record) in canonical.records() {
            data.extend(owner.octets());
            data.extend(set.rtype().to_be_bytes());
            data.extend(class::IN.to_be_bytes());
            data.extend(set.ttl().to_be_bytes());
            data.extend((record.len() as u16).to_be_bytes());
            data.extend(record);
        }
        rdata.extend(self.pair.sign(&data).as_ref());
        rdata
    }
}

/// Types that the parent's side has at a name.
fn types_of(node: NodeRef<'_>) -> Vec<u16> {
    let types = node.rrsets().map(|set| set.rtype());
    let is_cut = node.flags().has(Flags::CUT);
    types.filter(|rtype| !is_cut || matches!(*rtype, rtype::NS | rtype::DS)).collect()
}

fn nsec(zone: &Contents) -> Vec<Record> {
    let left_out = Flags(Flags::OCCLUDED.0 | Flags::EMPTY.0);
    let nodes: Vec<_> = zone.nodes().filter(|node| !node.flags().has_any(left_out)).collect();
    let record = |(at, node): (usize, &NodeRef<'_>)| {
        let mut types = types_of(*node);
        types.extend([rtype::RRSIG, rtype::NSEC]);
        types.sort_unstable();
        let mut rdata = nodes[(at + 1) % nodes.len()].name().octets().to_vec();
        write_types(types, &mut rdata);
        (node.name(), rtype::NSEC, DENIAL_TTL, rdata)
    };
    nodes.iter().enumerate().map(record).collect()
}

fn nsec3(zone: &Contents, opt_out: bool) -> Vec<Record> {
    let params = Nsec3Params::new(0, &[0xab]).unwrap();
    let is_insecure = |node: NodeRef<'_>| node.flags().has(Flags::CUT) && node.rrset(rtype::DS).is_none();
    let mut hashes: Vec<_> = zone
        .nodes()
        .filter(|node| !node.flags().has(Flags::OCCLUDED))
        .filter(|node| !opt_out || !is_insecure(*node))
        .map(|node| (params.hash(&node.name()), node))
        .collect();
    hashes.sort_by_key(|(hash, _)| *hash);
    let record = |(at, (hash, node)): (usize, &([u8; 20], NodeRef<'_>))| {
        let mut rdata = vec![1, u8::from(opt_out), 0, 0, 1, 0xab, 20];
        rdata.extend(hashes[(at + 1) % hashes.len()].0);
        let mut types = types_of(*node);
        if !types.is_empty() && types != [rtype::NS] {
            types.push(rtype::RRSIG);
        }
        types.sort_unstable();
        write_types(types, &mut rdata);
        (name(std::str::from_utf8(&owner_label(hash)).unwrap()), rtype::NSEC3, DENIAL_TTL, rdata)
    };
    hashes.iter().enumerate().map(record).collect()
}
