//! Random zones: the pack finds what the reference model says is there.
//!
//! Labels are drawn from a small set, so that names collide, nest and stand beside each other; it has case,
//! escaped octets, octets 0 and 1 (which keys escape), wildcards in odd places, labels of 63 octets and names
//! of 255.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use dnssec::bitmap::write_types;
use dnssec::nsec3::{Nsec3Params, covers, hash_of_label, owner_label};
use proptest::prelude::*;
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};
use zone::contents::SourcePosition;
use zone::naive::{NaiveMatch, NaiveZone};
use zone::{Contents, ContentsBuilder, Flags, MatchKind, Node, Pack, PackBuilder, TextStamp, ZoneView};

const LABELS: [&[u8]; 18] = [
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
fn labels() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        40 => prop::collection::vec(0..LABELS.len() as u8, 0..5),
        1 => prop::collection::vec(prop::sample::select(vec![9u8, 10, 17]), 3..60),
        1 => prop::collection::vec(0..4u8, 30..127),
    ]
}

/// The name of these labels below `apex`; those that do not fit are left out.
fn name(labels: &[u8], apex: &Name) -> NameBuf {
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
type Draft = (Vec<u8>, u8, Vec<u8>);

fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    prop::collection::vec((labels(), 0..14u8, labels()), 0..70)
}

/// One record to be: owner, type, RDATA.
type Record = (NameBuf, u16, Vec<u8>);

/// Makes records that may stand together: an SOA, one CNAME or DNAME, nothing beside a CNAME.
fn records(drafts: &[Draft], apex: &Name) -> Vec<Record> {
    let mut soa = b"\0\0".to_vec();
    soa.extend([0; 20]);
    let mut records: Vec<Record> =
        vec![(apex.to_owned(), rtype::SOA, soa), (apex.to_owned(), rtype::NS, b"\x02ns\0".to_vec())];
    for (owner, kind, target) in drafts {
        let owner = name(owner, apex);
        let target = name(target, if kind % 2 == 0 { apex } else { Name::root() }).octets().to_vec();
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
fn add_nsec(records: &mut Vec<Record>, model: &NaiveZone) {
    for owner in authoritative(model) {
        if !model.sets(&owner).is_empty() {
            let mut rdata = owner.octets().to_vec(); // where it points does not matter here
            write_types([rtype::NSEC], &mut rdata);
            records.push((owner, rtype::NSEC, rdata));
        }
    }
}

/// Adds NSEC3PARAM and an NSEC3 record for every name the zone answers for, cuts and empty non-terminals too.
fn add_nsec3(records: &mut Vec<Record>, model: &NaiveZone, apex: &Name, params: Nsec3Params<'_>) {
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
fn authoritative(model: &NaiveZone) -> Vec<NameBuf> {
    let mut names = model.names();
    names.retain(|name| match model.find(name) {
        NaiveMatch::Exact => true,
        NaiveMatch::Cut(cut) => cut.eq_ignore_case(name),
        _ => false,
    });
    names
}

fn model_of(records: &[Record], apex: &Name) -> NaiveZone {
    let mut model = NaiveZone::new(apex);
    for (owner, rtype, rdata) in records.iter().filter(|record| record.1 != rtype::NSEC3) {
        assert!(model.add(owner, *rtype, 60, rdata));
    }
    model
}

fn contents_of(records: &[Record], apex: &Name) -> Contents {
    let mut builder = ContentsBuilder::new(apex);
    for (owner, rtype, rdata) in records {
        builder.push(owner, false, *rtype, 60, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

/// The names to ask for: all that exist, each with something before, after and below it, and some more.
fn questions(model: &NaiveZone, apex: &Name, more: &[Vec<u8>]) -> Vec<NameBuf> {
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
const QUESTIONS_MAX: usize = 700;

fn relative_key(name: &Name, apex: &Name) -> Vec<u8> {
    SortKey::of(name).octets()[SortKey::of(apex).octets().len()..].to_vec()
}

fn key_of(node: &Node<'_>) -> Vec<u8> {
    let (prefix, suffix) = node.key_parts();
    [prefix, suffix].concat()
}

/// Compares what the pack finds for one name with the model.
fn check_question(
    zone: &ZoneView<'_>,
    model: &NaiveZone,
    names: &BTreeSet<Vec<u8>>,
    apex: &Name,
    qname: &Name,
) {
    let found = zone.walk(&SortKey::of(qname)).unwrap();
    let (kind, at) = match model.find(qname) {
        NaiveMatch::Exact => (MatchKind::Exact, qname.to_owned()),
        NaiveMatch::Cut(cut) => (MatchKind::Cut, cut),
        NaiveMatch::Dname(owner) => (MatchKind::Dname, owner),
        NaiveMatch::Missing { closest_encloser, source_of_synthesis } => {
            let wildcard = zone.wildcard_below(&found).map(|node| key_of(&node));
            let expected = source_of_synthesis.map(|name| relative_key(&name, apex));
            assert_eq!(wildcard, expected, "wildcard for {qname}");
            (MatchKind::Encloser, closest_encloser)
        }
        NaiveMatch::Elsewhere => panic!("{qname} is not in {apex}"),
    };
    assert_eq!((found.kind, found.labels), (kind, at.label_count()), "{qname}");
    assert_eq!(key_of(&found.node), relative_key(&at, apex), "{qname}");
    let nsec = zone.nsec_at_or_before(&relative_key(qname, apex)).map(|node| key_of(&node));
    let expected = model.nsec_at_or_before(qname).map(|name| relative_key(&name, apex));
    assert_eq!(nsec, expected, "NSEC for {qname}");
    let before = zone.at_or_before(&relative_key(qname, apex)).map(|node| key_of(&node));
    assert_eq!(before.as_ref(), names.range(..=relative_key(qname, apex)).next_back(), "before {qname}");
    let exists = names.contains(&relative_key(qname, apex));
    assert_eq!(zone.find(&relative_key(qname, apex)).is_some(), exists, "{qname}");
}

/// Compares all names and their RRsets, in canonical order.
fn check_iteration(zone: &ZoneView<'_>, model: &NaiveZone, apex: &Name) {
    let names = model.names();
    assert_eq!(zone.nodes().count(), names.len());
    for (node, owner) in zone.nodes().zip(&names) {
        assert_eq!(key_of(&node), relative_key(owner, apex));
        let sets = model.sets(owner);
        assert!(node.rrsets().map(|set| set.rtype()).eq(sets.keys().copied()), "{owner}");
        for set in node.rrsets() {
            // Names that end in the owner or the apex come back in lower case.
            let lower = |rdatas: &[Vec<u8>]| {
                let mut lower: Vec<_> = rdatas.iter().map(|rdata| rdata.to_ascii_lowercase()).collect();
                lower.sort();
                lower
            };
            let found = set.rdata(owner, apex).unwrap();
            assert_eq!(lower(&found), lower(&sets[&set.rtype()]), "{owner} TYPE{}", set.rtype());
            assert_eq!(Some(set.ttl()), model.ttl(owner, set.rtype()));
        }
        if node.flags().has(Flags::CUT) {
            check_glue(&node, model, owner, apex);
        }
        for absent in [rtype::LOC, rtype::CAA, 0, 65_535] {
            assert!(node.rrset(absent).is_none());
        }
    }
}

/// Compares the addresses a cut carries with those the zone has for its servers (RFC 9471), of a wildcard where one stands in
/// for a server that does not exist.
fn check_glue(node: &Node<'_>, model: &NaiveZone, cut: &Name, apex: &Name) {
    let servers: Vec<_> = node.rrset(rtype::NS).unwrap().rdata(cut, apex).unwrap();
    let servers: Vec<_> = servers.iter().map(|server| Name::from_wire(server).unwrap()).collect();
    let mut expected = BTreeSet::new();
    for server in &servers {
        let sets = match model.find(server) {
            // A wildcard that owns NS records is a zone cut.
            NaiveMatch::Missing { source_of_synthesis, .. } => source_of_synthesis
                .map(|wildcard| model.sets(&wildcard))
                .filter(|sets| !sets.contains_key(&rtype::NS)),
            // What stands there means another name (RFC 6672 2.4).
            NaiveMatch::Dname(_) => None,
            _ => Some(model.sets(server)),
        }
        .unwrap_or_default();
        for rtype in [rtype::A, rtype::AAAA] {
            if let Some(addresses) = sets.get(&rtype) {
                let octets = server.octets().to_ascii_lowercase();
                expected.insert((octets, rtype, server.is_at_or_below(cut), addresses.concat()));
            }
        }
    }
    let groups: Vec<_> = node.glue().into_iter().flatten().collect();
    assert!(groups.is_sorted_by_key(|group| !group.in_domain), "in-domain servers come first at {cut}");
    let found: BTreeSet<_> = groups
        .iter()
        .map(|group| {
            let octets = servers[group.server].octets().to_ascii_lowercase();
            (octets, group.rtype, group.in_domain, group.addresses.to_vec())
        })
        .collect();
    assert_eq!(found, expected, "glue of {cut}");
}

/// Compares the rank that each name carries, and the search by hash, with the hashes of all names.
fn check_nsec3(zone: &ZoneView<'_>, model: &NaiveZone, params: Nsec3Params<'_>) {
    let hashes: BTreeSet<_> = authoritative(model).iter().map(|owner| params.hash(owner)).collect();
    let ring: Vec<_> = hashes.iter().collect();
    assert_eq!(zone.row().denial_count as usize, ring.len());
    for owner in authoritative(model) {
        let hash = params.hash(&owner);
        let node = zone.find(&relative_key(&owner, zone.apex())).unwrap();
        assert_eq!(*zone.nsec3(node.nsec3_rank().unwrap()).unwrap().hash, hash, "{owner}");
    }
    for number in 0..40u8 {
        let wanted = params.hash(&name(&[number % 17], &name(&[number / 5], zone.apex())));
        let (found, is_match) = zone.nsec3_for(&wanted).unwrap();
        assert_eq!(is_match, hashes.contains(&wanted));
        let at = ring.iter().position(|hash| **hash == *found.hash).unwrap();
        let next = ring[(at + 1) % ring.len()];
        assert!(is_match || covers(found.hash, next, &wanted));
        assert_eq!(hash_of_label(&owner_label(found.hash)), Some(*found.hash));
    }
}

#[derive(Clone, Copy, Debug)]
enum Denial {
    None,
    Nsec,
    Nsec3,
}

const SALT: [u8; 3] = [0, 0xff, 7];

/// Builds one pack of zones with these apexes and checks each against its model.
fn check_zones(zones: &[(NameBuf, Vec<Draft>, Denial)], seed: u64, more: &[Vec<u8>]) {
    let params = Nsec3Params::new(2, &SALT).unwrap();
    let mut builder = PackBuilder::new(seed);
    let mut models = Vec::new();
    for (apex, drafts, denial) in zones {
        let mut records = records(drafts, apex);
        let model = model_of(&records, apex);
        match denial {
            Denial::None => {}
            Denial::Nsec => add_nsec(&mut records, &model),
            Denial::Nsec3 => add_nsec3(&mut records, &model, apex, params),
        }
        builder.add_zone(&contents_of(&records, apex), TextStamp::default()).unwrap();
        models.push(model_of(&records, apex));
    }
    let pack = Pack::open(builder.finish().unwrap()).unwrap();
    for (number, ((apex, _, denial), model)) in zones.iter().zip(&models).enumerate() {
        let zone = ZoneView::new(&pack, number as u32).unwrap();
        assert!(zone.apex().eq_ignore_case(apex));
        check_iteration(&zone, model, apex);
        let names = model.names().iter().map(|name| relative_key(name, apex)).collect();
        for qname in questions(model, apex, more) {
            check_question(&zone, model, &names, apex, &qname);
        }
        if matches!(denial, Denial::Nsec3) {
            check_nsec3(&zone, model, params);
        }
    }
}

fn apex(number: u8) -> NameBuf {
    let text = [".", "example.", "Sub.example.", "\\000.\\001\\001.a.", "b.b.b.b.b.b.b.b.b.b."];
    NameBuf::from_text(text[number as usize]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_pack_finds_what_the_model_says(
        drafts in drafts(),
        apex_number in 0..5u8,
        denial in prop::sample::select(vec![Denial::None, Denial::Nsec, Denial::Nsec3]),
        seed in any::<u64>(),
        more in prop::collection::vec(labels(), 0..40),
    ) {
        check_zones(&[(apex(apex_number), drafts, denial)], seed, &more);
    }

    #[test]
    fn zones_of_one_pack_keep_apart(
        first in drafts(),
        second in drafts(),
        third in drafts(),
        seed in any::<u64>(),
        more in prop::collection::vec(labels(), 0..10),
    ) {
        let zones =
            [(apex(1), first, Denial::Nsec), (apex(2), second, Denial::Nsec3), (apex(0), third, Denial::None)];
        check_zones(&zones, seed, &more);
    }
}

/// Corners that random zones meet rarely.
#[test]
fn corners() {
    let deep: Vec<u8> = vec![9; 126]; // 127 labels of one octet that keys escape: the longest key
    let long: Vec<u8> = vec![17, 17, 17, 10]; // labels of 63 octets
    let both = |kind: u8| vec![(deep.clone(), kind, long.clone()), (long.clone(), kind, deep.clone())];
    for denial in [Denial::None, Denial::Nsec, Denial::Nsec3] {
        for kind in 0..12 {
            check_zones(&[(apex(0), both(kind), denial)], 1, &[deep.clone(), long.clone()]);
        }
        // Only an apex; a DNAME at the apex above everything; a wildcard alone, one below another, one at a
        // cut.
        check_zones(&[(apex(1), vec![], denial)], 2, &[vec![5], vec![0, 5]]);
        let at_apex = vec![(vec![], 6, vec![0]), (vec![0], 0, vec![]), (vec![5], 0, vec![])];
        check_zones(&[(apex(1), at_apex, denial)], 3, &[vec![0, 0]]);
        let wildcards = vec![(vec![5, 5], 8, vec![]), (vec![0, 5], 3, vec![]), (vec![5, 1, 2], 6, vec![])];
        check_zones(&[(apex(1), wildcards, denial)], 4, &[vec![0, 0, 5], vec![2, 2, 1, 2]]);
    }
}
