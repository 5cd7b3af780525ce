//! Zones copied from pack to pack answer as the originals do, and packs made to deceive do no harm.
use crate::kit::{Denial, apex, contents_of, drafts, labels, questions, relative_key, zone_of};
use proptest::prelude::*;
use wire::{Name, NameBuf, SortKey};
use zone::build::Problem;
use zone::lookup::Damaged;
use zone::section::{HEADER_OCTETS, checksum, decode_header, encode_header};
use zone::{Backing, Crawl, Data, Node, Pack, PackBuilder, RRset, TextStamp, ZoneView};

const STAMP: TextStamp = TextStamp { mark: 77, errors: 9, warnings: 99, is_beside: false, is_digested: true };

/// All that an RRset says, octet for octet.
#[derive(Debug, PartialEq)]
struct SaidOfSet {
    head: [u8; 8],
    /// The address; or whether there are signatures, and rendered octets.
    numbers: Vec<u8>,
    records: Vec<Vec<u8>>,
    signatures: Vec<Vec<u8>>,
    places: Vec<usize>,
}

fn said_of_set(set: &RRset<'_>) -> SaidOfSet {
    let none = Vec::new;
    let head = set.head();
    match set.data() {
        Data::Inline(octets) => SaidOfSet {
            head,
            numbers: octets.to_vec(),
            records: none(),
            signatures: none(),
            places: Vec::new(),
        },
        Data::Fragment(fragment) => SaidOfSet {
            head,
            numbers: [&[fragment.is_signed().into()][..], &fragment.rendered_octets().to_le_bytes()].concat(),
            records: fragment.records().map(<[u8]>::to_vec).collect(),
            signatures: fragment.signatures().map(<[u8]>::to_vec).collect(),
            places: fragment.places().collect(),
        },
    }
}

/// All that a name says, its number within the zone included.
fn said_of_node(zone: &ZoneView<'_>, node: &Node<'_>) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut key = vec![0; 600];
    let octets = node.copy_key(&mut key);
    key.truncate(octets);
    let glue: Vec<_> = node
        .glue()
        .into_iter()
        .flatten()
        .map(|group| {
            (
                group.server,
                group.rtype,
                group.in_domain,
                group.authoritative,
                group.ttl,
                group.addresses.to_vec(),
            )
        })
        .collect();
    let sets: Vec<_> = node.rrsets().map(|set| said_of_set(&set)).collect();
    (key, node.number() - zone.row().first_block * 16, node.flags().0, node.nsec3_rank(), glue, sets)
}

/// Compares what both zones say about a name.
fn check_question(old: &ZoneView<'_>, new: &ZoneView<'_>, key: &SortKey, relative: &[u8]) {
    let of = |zone: &ZoneView<'_>| {
        let found = zone.walk(key).unwrap();
        let said = |node: Option<Node<'_>>| node.map(|node| said_of_node(zone, &node));
        (
            said(Some(found.node)),
            (found.labels, found.kind),
            said(zone.wildcard_below(&found)),
            said(zone.find(relative)),
            said(zone.nsec_at_or_before(relative)),
            said(zone.at_or_before(relative)),
        )
    };
    assert_eq!(of(old), of(new));
}

/// Compares everything that can be read of two zones; `names` are asked for too.
fn check_same(old: &ZoneView<'_>, new: &ZoneView<'_>, names: &[NameBuf]) {
    let numbers = |zone: &ZoneView<'_>| {
        let row = zone.row();
        let text = (row.text_mark, row.first_expiry, row.errors, row.warnings);
        (row.node_count, row.denial_count, row.bits, row.serial, row.record_count, row.negative_ttl, text)
    };
    assert_eq!((old.apex(), old.apex_key(), numbers(old)), (new.apex(), new.apex_key(), numbers(new)));
    assert_eq!(old.nsec3_parameters(), new.nsec3_parameters());
    assert_eq!(old.nodes().count(), new.nodes().count());
    for (a, b) in old.nodes().zip(new.nodes()) {
        assert_eq!(said_of_node(old, &a), said_of_node(new, &b));
    }
    let chain = |zone: &ZoneView<'_>| -> Vec<_> {
        (0..zone.row().denial_count)
            .map_while(|rank| zone.nsec3(rank))
            .map(|row| (row.rank, *row.hash, row.ttl, said_of_set(&row.rrset().unwrap())))
            .collect()
    };
    assert_eq!(chain(old), chain(new));
    for name in names {
        check_question(old, new, &SortKey::of(name), &relative_key(name, old.apex()));
    }
}

/// Copies all zones of packs into one, the last first, and compares each with its original.
fn check_copies(packs: &[Pack], seed: u64, names: &[NameBuf]) -> Pack {
    let zones: Vec<(&Pack, u32)> = packs
        .iter()
        .flat_map(|pack| (0..pack.zone_count()).map(move |number| (pack, number)))
        .rev()
        .collect();
    let mut builder = PackBuilder::new(seed);
    for &(pack, number) in &zones {
        builder.copy_zone(pack, number).unwrap();
    }
    let expected = builder.octets();
    let copy = Pack::open(builder.finish().unwrap()).unwrap();
    let octets = copy.octets().len();
    assert!((expected..expected + 1024).contains(&octets), "{expected} and {octets}");
    for (at, &(pack, number)) in zones.iter().enumerate() {
        let (old, new) = (ZoneView::new(pack, number).unwrap(), ZoneView::new(&copy, at as u32).unwrap());
        let below: Vec<_> = names.iter().filter(|name| name.is_at_or_below(old.apex())).cloned().collect();
        check_same(&old, &new, &below);
    }
    copy
}

fn pack_of<'z>(zones: impl IntoIterator<Item = &'z zone::Contents>, seed: u64) -> Pack {
    let mut builder = PackBuilder::new(seed);
    zones.into_iter().for_each(|zone| builder.add_zone(zone, STAMP).unwrap());
    Pack::open(builder.finish().unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn copies_answer_as_originals(
        drafts in prop::collection::vec((drafts(), 0..5u8), 3),
        seeds in any::<[u64; 2]>(),
        more in prop::collection::vec(labels(), 0..40),
    ) {
        let denials = [Denial::None, Denial::Nsec, Denial::Nsec3];
        let (mut packs, mut names) = (Vec::new(), Vec::new());
        for ((drafts, number), denial) in drafts.iter().zip(denials) {
            let apex = apex(*number);
            let (records, model) = zone_of(drafts, &apex, denial);
            names.extend(questions(&model, &apex, &more).into_iter().take(150));
            let contents = contents_of(&records, &apex);
            packs.push(pack_of([&contents, &contents], seeds[0]));
        }
        let copy = check_copies(&packs, seeds[1], &names);
        check_copies(&[copy], seeds[0], &names);
    }
}

fn contents(apex: &str, text: &[u8]) -> zone::Contents {
    let apex: NameBuf = apex.parse().unwrap();
    let mut builder = zone::ContentsBuilder::new(&apex);
    let mut sink = |record: &zonefile::Record<'_>| {
        let position =
            zone::contents::SourcePosition { file: record.position.file, line: record.position.line };
        let pushed =
            builder.push(record.owner, record.same_owner, record.rtype, record.ttl, record.rdata, position);
        pushed.unwrap();
        Ok(())
    };
    let source = zonefile::Source { name: "zone".into(), input: Box::new(text) };
    zonefile::read(source, &zonefile::Options::new(&apex), &mut zonefile::NoIncludes, &mut sink).unwrap();
    builder.finish()
}

#[test]
fn real_zones_are_copied_whole() {
    let zones = [
        contents(".", include_bytes!("../../../../data/root.zone")),
        contents("nsec3.test", include_bytes!("../../../../tests/data/zones/nsec3.test.zone")),
        contents("optout.test", include_bytes!("../../../../tests/data/zones/optout.test.zone")),
        contents("corners.test", include_bytes!("../../../../tests/data/zones/corners.zone")),
    ];
    let names: Vec<NameBuf> = zones.iter().flat_map(|zone| zone.nodes().map(|node| node.name())).collect();
    let below =
        names.iter().step_by(7).filter_map(|name| format!("x.{name}").parse().ok()).collect::<Vec<_>>();
    let packs: Vec<Pack> = zones.iter().map(|zone| pack_of([zone], 3)).collect();
    let copy = check_copies(&packs, 4, &[names, below].concat());
    let parts: usize = packs.iter().map(|pack| pack.octets().len()).sum();
    assert!(copy.octets().len() < parts + parts / 50, "{} and {parts}", copy.octets().len());
    // A copy of a copy: octet for octet, as all is in the same order.
    let mut again = PackBuilder::new(4);
    (0..copy.zone_count()).for_each(|number| again.copy_zone(&copy, number).unwrap());
    assert!(Pack::open(again.finish().unwrap()).unwrap().octets() == copy.octets());
}

/// Packs damaged in ways that their checksums do not see: an error and an unchanged builder, or a copy that opens.
#[test]
fn damaged_packs_are_refused_or_copied() {
    let origin: NameBuf = "example".parse().unwrap();
    let texts: [&[u8]; 2] = [
        include_bytes!("../../../../tests/data/zones/rfc5155.signed.zone"),
        include_bytes!("../../../../tests/data/zones/rfc4035.signed.zone"),
    ];
    let zones = texts.map(|text| contents("example", text));
    let sound = pack_of(&zones, 9);
    let mut random = 0x5eed_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % below
    };
    let (mut refused, mut copied, mut broken_off) = (0, 0, 0);
    for _ in 0..6000 {
        let mut octets = sound.octets().to_vec();
        let header = decode_header(&octets).unwrap();
        for _ in 0..=next(3) {
            // That of servers has nothing: no cut of these has one elsewhere in its zone.
            let (range, _) = &header.sections[next(header.sections.len() - 1)];
            octets[range.start + next(range.len())] = next(256) as u8;
        }
        let Ok(pack) = Pack::open(Backing::Memory(summed(octets))) else { continue };
        let crawled = (0..2).filter_map(|number| ZoneView::new(&pack, number)).all(|zone| crawl(&zone));
        broken_off += usize::from(!crawled);
        let mut builder = PackBuilder::new(5);
        builder.copy_zone(&sound, 0).unwrap();
        for number in 0..2 {
            match builder.copy_zone(&pack, number) {
                Ok(()) => copied += 1,
                Err(problem) => {
                    assert_eq!(problem, Problem::Damaged);
                    refused += 1;
                }
            }
        }
        builder.copy_zone(&sound, 1).unwrap();
        assert_eq!(builder.copy_zone(&sound, 2), Err(Problem::Damaged));
        let last = builder.zone_count() - 1;
        let copy = Pack::open(builder.finish().unwrap()).unwrap();
        for (old, new) in [(0, 0), (1, last)] {
            let (old, new) = (ZoneView::new(&sound, old).unwrap(), ZoneView::new(&copy, new).unwrap());
            assert!(
                old.nodes()
                    .map(|node| said_of_node(&old, &node))
                    .eq(new.nodes().map(|node| said_of_node(&new, &node)))
            );
        }
        for number in 0..copy.zone_count() {
            let zone = ZoneView::new(&copy, number).unwrap();
            let name = Name::from_wire(b"\x01a\x07example\0").unwrap();
            assert!(zone.apex().eq_ignore_case(&origin) && zone.walk(&SortKey::of(name)).is_some());
            zone.nodes().for_each(|node| drop(said_of_node(&zone, &node)));
        }
    }
    assert!(refused > 1000 && copied > 1000, "{refused} refused, {copied} copied");
    // Of what is damaged most is octets of names and data, which lead nowhere else.
    assert!(broken_off > 100, "{broken_off} crawls broken off");
}

/// Whether a crawl comes to its end; it takes no more steps than there are places.
fn crawl(zone: &ZoneView<'_>) -> bool {
    let mut crawl = Crawl::default();
    for _ in 0..1_000_000 {
        match crawl.next(zone) {
            Ok(Some(step)) => drop((step.owner.write_labels(&mut [0; 255]), said_of_set(&step.rrset))),
            Ok(None) => return true,
            Err(Damaged) => return false,
        }
    }
    panic!("a crawl without end");
}

/// One large fragment that a pack made to deceive refers to from everywhere does not become many.
#[test]
fn what_is_shared_is_not_multiplied() {
    let signature = |owner: &str| {
        let fields = "RRSIG TXT 13 2 60 20300101000000 20200101000000 1 example.";
        format!("{owner} TXT {owner}\n{owner} {fields} {}\n", "A".repeat(88))
    };
    let many: String = (0..2000).map(|number| signature(&format!("n{number}"))).collect();
    let big = format!("big TXT {}\n{}", "\"0123456789abcdef\" ".repeat(500), signature("big"));
    let text = format!("$TTL 60\n@ SOA ns host 1 2 3 4 5\n{big}{many}");
    let sound = pack_of([&contents("example", text.as_bytes())], 9);
    let zone = ZoneView::new(&sound, 0).unwrap();
    let mut octets = sound.octets().to_vec();
    // The place of the only RRset stands right before what is left of the key.
    let place_at = |key: &[u8]| {
        let (_, suffix) = zone.find(key).unwrap().key_parts();
        suffix.as_ptr() as usize - sound.octets().as_ptr() as usize - 4
    };
    let big = place_at(b"big\0");
    let place = sound.octets()[big..big + 4].to_vec();
    for number in 0..2000 {
        let at = place_at(format!("n{number}\0").as_bytes());
        octets[at..at + 4].copy_from_slice(&place);
    }
    let pack = Pack::open(Backing::Memory(summed(octets))).unwrap();
    let deceived = ZoneView::new(&pack, 0).unwrap().find(b"n7\0").unwrap().rrsets().next().unwrap();
    assert!(
        deceived.is_signed() && matches!(deceived.data(), Data::Fragment(it) if it.rendered_octets() > 8000)
    );
    let mut builder = PackBuilder::new(5);
    assert_eq!(builder.copy_zone(&pack, 0), Err(Problem::Damaged));
    assert!(builder.octets() < 2 * pack.octets().len(), "{}", builder.octets());
}

/// The octets of a pack with sums that are right.
fn summed(mut octets: Vec<u8>) -> Vec<u8> {
    let mut header = decode_header(&octets).unwrap();
    for (range, sum) in &mut header.sections {
        *sum = checksum(&octets[range.clone()]);
    }
    octets[..HEADER_OCTETS].copy_from_slice(&encode_header(&header));
    octets
}
