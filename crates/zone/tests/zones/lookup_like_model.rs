//! Random zones: the pack finds what the reference model says is there.
use std::collections::BTreeSet;

use crate::kit::*;
use dnssec::nsec3::{Nsec3Params, covers, hash_of_label, owner_label};
use proptest::prelude::*;
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};
use zone::lookup::Owner;
use zone::naive::{NaiveMatch, NaiveZone};
use zone::{Crawl, Flags, MatchKind, Node, Pack, PackBuilder, TextStamp, ZoneView};

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

/// A crawl that is broken off after each step gives every RRset of the model once, in order, and then the chain.
fn check_crawl(zone: &ZoneView<'_>, model: &NaiveZone, apex: &Name) {
    let names = model.names();
    let mut expected = Vec::new();
    for owner in &names {
        expected.extend(
            model.sets(owner).keys().filter(|&&rtype| rtype != rtype::NSEC3).map(|&rtype| (owner, rtype)),
        );
    }
    let mut expected = expected.into_iter();
    let (mut crawl, mut chain, mut labels) = (Crawl::default(), 0, [0; 255]);
    loop {
        let before = crawl;
        let Some(step) = crawl.next(zone).unwrap() else { break };
        // A copy of before comes to the same.
        let again = { before }.next(zone).unwrap().unwrap();
        assert_eq!((again.rrset.rtype(), crawl == before), (step.rrset.rtype(), false));
        let length = step.owner.write_labels(&mut labels).unwrap();
        let owner = [&labels[..length], zone.apex().octets()].concat();
        let owner = Name::from_wire(&owner).unwrap();
        match step.owner {
            Owner::Name(node) => {
                let (name, rtype) = expected.next().unwrap();
                assert!(owner.eq_ignore_case(name), "{owner} for {name}");
                assert_eq!(step.rrset.rtype(), rtype, "{owner}");
                assert_eq!(key_of(&node), relative_key(name, apex));
            }
            Owner::Hash(hash) => {
                assert_eq!(*hash, *zone.nsec3(chain).unwrap().hash);
                assert_eq!(hash_of_label(&labels[1..length]), Some(*hash));
                assert_eq!(step.rrset.rtype(), rtype::NSEC3);
                chain += 1;
            }
        }
    }
    assert!(expected.next().is_none());
    assert_eq!(chain, if zone.has_nsec3_chain() { zone.row().denial_count } else { 0 });
    assert!(crawl.next(zone).unwrap().is_none(), "the end stays the end");
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
            NaiveMatch::Cut(_) => model.owner_of_glue(server).map(|owner| model.sets(&owner)),
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

/// Builds one pack of zones with these apexes and checks each against its model.
fn check_zones(zones: &[(NameBuf, Vec<Draft>, Denial)], seed: u64, more: &[Vec<u8>]) {
    let params = params();
    let mut builder = PackBuilder::new(seed);
    let mut models = Vec::new();
    for (apex, drafts, denial) in zones {
        let (records, model) = zone_of(drafts, apex, *denial);
        builder.add_zone(&contents_of(&records, apex), TextStamp::default()).unwrap();
        models.push(model);
    }
    let pack = Pack::open(builder.finish().unwrap()).unwrap();
    for (number, ((apex, _, denial), model)) in zones.iter().zip(&models).enumerate() {
        let zone = ZoneView::new(&pack, number as u32).unwrap();
        assert!(zone.apex().eq_ignore_case(apex));
        check_iteration(&zone, model, apex);
        check_crawl(&zone, model, apex);
        let names = model.names().iter().map(|name| relative_key(name, apex)).collect();
        for qname in questions(model, apex, more) {
            check_question(&zone, model, &names, apex, &qname);
        }
        if matches!(denial, Denial::Nsec3) {
            check_nsec3(&zone, model, params);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

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

/// An owner of an NSEC3 record that has an address too is a name, and comes once as that and once with the chain (RFC 5155 7.2.8).
#[test]
fn a_crawl_gives_a_name_that_is_a_hash_once() {
    let apex = apex(1);
    let (mut records, _) = zone_of(&[(vec![0], 0, vec![]), (vec![1], 8, vec![])], &apex, Denial::Nsec3);
    let hashed = records.iter().find(|record| record.1 == rtype::NSEC3).unwrap().0.clone();
    records.push((hashed, rtype::A, vec![192, 0, 2, 1]));
    let model = model_of(&records, &apex);
    let mut builder = PackBuilder::new(1);
    builder.add_zone(&contents_of(&records, &apex), TextStamp::default()).unwrap();
    let pack = Pack::open(builder.finish().unwrap()).unwrap();
    let zone = ZoneView::new(&pack, 0).unwrap();
    assert!(zone.nodes().any(|node| node.rrset(rtype::NSEC3).is_some()), "in both places of the pack");
    check_crawl(&zone, &model, &apex);
    let mut crawl = Crawl::default();
    let sets = std::iter::from_fn(|| crawl.next(&zone).unwrap());
    let given = sets.filter(|step| step.rrset.rtype() == rtype::NSEC3).count();
    assert_eq!(given, records.iter().filter(|record| record.1 == rtype::NSEC3).count());
}
