//! Queries drawn from the records of a zone: its names, names beside, above and below them, every type of interest.

use std::collections::{BTreeMap, BTreeSet};

use zonda_tests::exchange::Transport;
use zonda_tests::message::{Query, flag};
use zonda_tests::mutate::Random;
use zonda_tests::name::Name;
use zonda_tests::response::Record;
use zonda_tests::rtype;

/// Types asked of every name of a zone besides those it has.
const TYPES: [u16; 15] = [
    rtype::A,
    rtype::AAAA,
    rtype::NS,
    rtype::SOA,
    rtype::CNAME,
    rtype::DNAME,
    rtype::MX,
    rtype::TXT,
    rtype::SRV,
    rtype::DS,
    rtype::DNSKEY,
    rtype::NSEC,
    rtype::NSEC3PARAM,
    rtype::HTTPS,
    65399,
];

/// Types asked of names that are made up.
const FEW_TYPES: [u16; 5] = [rtype::A, rtype::NS, rtype::DS, rtype::CNAME, rtype::TXT];

/// How much is asked.
pub struct Effort {
    /// Everything instead of a sample.
    pub full: bool,
    /// Seed of the sample.
    pub seed: u64,
}

impl Effort {
    /// By `ZONDA_DIFFERENTIAL` and `ZONDA_DIFFERENTIAL_SEED`.
    pub fn from_environment() -> Effort {
        let seed =
            std::env::var("ZONDA_DIFFERENTIAL_SEED").map(|text| text.parse().expect("a number as seed"));
        Effort {
            full: std::env::var("ZONDA_DIFFERENTIAL").is_ok_and(|value| value == "full"),
            seed: seed.unwrap_or(1),
        }
    }
}

/// One query with its transport.
#[derive(Clone, Debug)]
pub struct Case {
    /// Origin of the zone it was drawn from.
    pub zone: String,
    /// The query; its message ID is set when it is sent.
    pub query: Query,
    /// How it is sent.
    pub transport: Transport,
}

impl Case {
    /// The largest response that the client takes, as far as servers go along (all stop at 1,232 octets by UDP).
    pub fn limit(&self) -> usize {
        match (self.transport, &self.query.edns) {
            (Transport::Tcp, _) => 65535,
            (Transport::Udp, None) => 512,
            (Transport::Udp, Some(edns)) => usize::from(edns.payload_octets).min(1232),
        }
    }

    /// Whether DO is set.
    pub fn dnssec(&self) -> bool {
        self.query.edns.as_ref().is_some_and(|edns| edns.flags != 0)
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Query { name, qtype, flags, edns, .. } = &self.query;
        write!(out, "{name} {} {:?} flags={flags:04x}", rtype::name(*qtype), self.transport)?;
        match edns {
            None => Ok(()),
            Some(edns) => write!(out, " edns={} do={}", edns.payload_octets, u8::from(edns.flags != 0)),
        }
    }
}

/// Ways to ask: transport, EDNS payload size if any, DO.
const WAYS: [(Transport, Option<u16>, bool); 7] = [
    (Transport::Udp, None, false),
    (Transport::Udp, Some(512), true),
    (Transport::Udp, Some(1232), false),
    (Transport::Udp, Some(1232), true),
    (Transport::Udp, Some(4096), true),
    (Transport::Tcp, None, false),
    (Transport::Tcp, Some(1232), true),
];

/// The queries for one zone, about `sample` of them unless everything is asked.
pub fn of_zone(origin: &str, records: &[Record], effort: &Effort, sample: usize) -> Vec<Case> {
    let mut random = Random::new(
        effort.seed ^ origin.bytes().fold(7u64, |sum, octet| sum.wrapping_mul(31) ^ u64::from(octet)),
    );
    let questions = questions(&Name::parse(origin), records, &mut random);
    let mut cases = Vec::new();
    let wanted = if effort.full { questions.len() * WAYS.len() } else { sample };
    for (name, qtype) in &questions {
        for way in WAYS {
            if random.below(questions.len() * WAYS.len()) < wanted {
                cases.push(case(origin, name, *qtype, way, &mut random));
            }
        }
    }
    cases
}

fn case(
    origin: &str,
    name: &Name,
    qtype: u16,
    (transport, payload, dnssec): (Transport, Option<u16>, bool),
    random: &mut Random,
) -> Case {
    let name = if random.one_in(4) { mixed_case(name, random) } else { name.clone() };
    let mut query = Query::of(name, qtype);
    for flag in [flag::RD, flag::CD, flag::AD] {
        if random.one_in(6) {
            query = query.flags(flag);
        }
    }
    if let Some(octets) = payload {
        query = query.edns(octets);
    }
    if dnssec {
        query = query.dnssec();
    }
    Case { zone: origin.to_owned(), query, transport }
}

/// The name with letters turned to the other case at random.
fn mixed_case(name: &Name, random: &mut Random) -> Name {
    let mut wire = name.wire().to_vec();
    let mut at = 0;
    while wire[at] != 0 {
        let end = at + 1 + wire[at] as usize;
        for octet in &mut wire[at + 1..end] {
            if octet.is_ascii_alphabetic() && random.one_in(2) {
                *octet ^= 0x20;
            }
        }
        at = end;
    }
    Name::from_wire(wire)
}

/// All questions: (name, type), sorted so that a seed gives the same sample everywhere.
fn questions(origin: &Name, records: &[Record], random: &mut Random) -> Vec<(Name, u16)> {
    let mut types: BTreeMap<Name, BTreeSet<u16>> = BTreeMap::new();
    let mut made_up: BTreeSet<Name> = BTreeSet::new();
    for record in records {
        let owner = record.owner.lower();
        made_up.extend(rtype::targets(record.rtype, &record.rdata).iter().map(Name::lower));
        types.entry(owner).or_default().insert(record.rtype);
    }
    for (owner, present) in &types {
        // Owner names of NSEC3 records do not exist as far as answers are concerned (RFC 5155 7.2.8): asked themselves,
        // they are test enough.
        if !present.contains(&rtype::NSEC3) {
            made_up.extend(near(owner, origin, random));
        }
    }
    made_up.retain(|name| !types.contains_key(name));
    let mut questions = BTreeSet::new();
    let more: &[u16] =
        if origin.is_at_or_below(&Name::parse(crate::generate::ORIGIN)) { &[rtype::KEY] } else { &[] };
    for (owner, present) in types {
        let asked = present.iter().chain(&TYPES).chain(more).filter(|rtype| **rtype != rtype::RRSIG);
        questions.extend(asked.map(|rtype| (owner.clone(), *rtype)));
        if random.one_in(8) {
            questions.insert((owner, rtype::ANY));
        }
    }
    for name in made_up {
        questions.extend(FEW_TYPES.map(|rtype| (name.clone(), rtype)));
    }
    questions.into_iter().collect()
}

/// Names around one: its ancestors, children, a literal asterisk, neighbours in canonical order.
fn near(owner: &Name, origin: &Name, random: &mut Random) -> Vec<Name> {
    let mut names = Vec::new();
    let mut above = owner.parent();
    while let Some(name) = above.filter(|name| name.is_at_or_below(origin)) {
        above = name.parent();
        names.push(name);
    }
    names.extend(owner.child(b"zz"));
    names.extend(owner.child(b"*"));
    names.extend(owner.child(b"a").and_then(|name| name.child(b"b")));
    // Long enough for a DNAME to make it too long (RFC 6672 2.2).
    names.extend(
        owner
            .child(&[b'l'; 60])
            .filter(|_| random.one_in(8) || owner.labels().first() == Some(&&b"long"[..])),
    );
    if let (Some(first), Some(parent)) = (owner.labels().first(), owner.parent())
        && owner != origin
    {
        names.extend(parent.child(&[first, &b"\0"[..]].concat()));
        let mut before = first.to_vec();
        let last = before.len() - 1;
        before[last] = before[last].wrapping_sub(1).to_ascii_lowercase();
        names.extend(parent.child(&before));
        let invented: Vec<u8> = (0..6).map(|_| b'a' + random.below(26) as u8).collect();
        names.extend(parent.child(&invented));
    }
    names
}
