#![allow(clippy::unwrap_used)]
use super::*;
use crate::contents::{ContentsBuilder, SourcePosition};
use crate::lookup::{Data, MatchKind, ZoneView, key_prefix};
use crate::pack::Pack;
use wire::iana::rtype;
use wire::{NameBuf, SortKey};

const SOA: &[u8] = b"\x02ns\x07example\0\x01h\x07example\0\0\0\0\x07\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x09";
const ADDRESS: &[u8] = &[192, 0, 2, 1];

fn wire(text: &str) -> Vec<u8> {
    text.parse::<NameBuf>().unwrap().octets().to_vec()
}

fn contents(apex: &str, records: &[(&str, u16, Vec<u8>)]) -> Contents {
    let mut builder = ContentsBuilder::new(&apex.parse::<NameBuf>().unwrap());
    for (owner, rtype, rdata) in records {
        let owner = owner.parse::<NameBuf>().unwrap();
        builder.push(&owner, false, *rtype, 300, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

fn pack(zones: &[Contents]) -> Pack {
    let mut builder = PackBuilder::new(77);
    for zone in zones {
        builder.add_zone(zone, TextStamp::default()).unwrap();
    }
    Pack::open(builder.finish().unwrap()).unwrap()
}

fn example() -> Contents {
    contents(
        "example",
        &[
            ("example", rtype::SOA, SOA.to_vec()),
            ("example", rtype::NS, wire("ns.example")),
            ("ns.example", rtype::A, ADDRESS.to_vec()),
            ("a.b.example", rtype::AAAA, vec![1; 16]),
            ("*.w.example", rtype::A, ADDRESS.to_vec()),
            ("sub.example", rtype::NS, wire("ns1.sub.example")),
            ("sub.example", rtype::NS, wire("ns.example")),
            ("ns1.sub.example", rtype::A, ADDRESS.to_vec()),
            ("d.example", rtype::DNAME, wire("other")),
        ],
    )
}

#[test]
fn walks_end_where_they_should() {
    let pack = pack(&[example()]);
    let zone = ZoneView::new(&pack, 0).unwrap();
    let walk = |name: &str| {
        let found = zone.walk(&SortKey::of(&name.parse::<NameBuf>().unwrap())).unwrap();
        (found.kind, found.labels)
    };
    assert_eq!(walk("example"), (MatchKind::Exact, 1));
    assert_eq!(walk("NS.Example"), (MatchKind::Exact, 2));
    assert_eq!(walk("b.example"), (MatchKind::Exact, 2));
    assert_eq!(walk("a.b.example"), (MatchKind::Exact, 3));
    assert_eq!(walk("x.a.b.example"), (MatchKind::Encloser, 3));
    assert_eq!(walk("x.example"), (MatchKind::Encloser, 1));
    assert_eq!(walk("sub.example"), (MatchKind::Cut, 2));
    assert_eq!(walk("ns1.sub.example"), (MatchKind::Cut, 2));
    assert_eq!(walk("d.example"), (MatchKind::Exact, 2));
    assert_eq!(walk("x.y.d.example"), (MatchKind::Dname, 2));
    let found = zone.walk(&SortKey::of(&"q.w.example".parse::<NameBuf>().unwrap())).unwrap();
    assert!(zone.wildcard_below(&found).unwrap().rrset(rtype::A).is_some());
    assert_eq!((zone.row().serial, zone.row().negative_ttl), (7, 9));
}

#[test]
fn glue_is_found_and_marked() {
    let pack = pack(&[example()]);
    let zone = ZoneView::new(&pack, 0).unwrap();
    let cut = zone.walk(&SortKey::of(&"sub.example".parse::<NameBuf>().unwrap())).unwrap().node;
    let glue: Vec<_> = cut.glue().unwrap().map(|group| (group.server, group.in_domain)).collect();
    // Servers in the order of RDATA: ns.example, ns1.sub.example.
    assert_eq!(glue, [(1, true), (0, false)]);
    let Data::Fragment(fragment) = cut.rrset(rtype::NS).unwrap().data() else { panic!() };
    let stored: Vec<_> = fragment.records().collect();
    assert_eq!(stored, [&b"\x02ns\x3f\xfe"[..], b"\x03ns1\x3f\xff"]);
    assert!(fragment.places().eq([10 + 3, 10 + 5 + 12 + 4]));
}

#[test]
fn glue_comes_from_wildcards_too() {
    let glue_of = |servers: &[&str]| -> Vec<(usize, bool)> {
        let mut records = vec![
            ("example", rtype::SOA, SOA.to_vec()),
            ("*.example", rtype::A, ADDRESS.to_vec()),
            ("host.example", rtype::TXT, vec![0]),
            ("d.example", rtype::DNAME, wire("example")),
            ("other.example", rtype::NS, wire("ns.elsewhere")),
            ("*.other.example", rtype::A, ADDRESS.to_vec()),
        ];
        records.extend(servers.iter().map(|server| ("sub.example", rtype::NS, wire(server))));
        let pack = pack(&[contents("example", &records)]);
        let zone = ZoneView::new(&pack, 0).unwrap();
        let cut = zone.walk(&SortKey::of(&"sub.example".parse::<NameBuf>().unwrap())).unwrap().node;
        cut.glue().into_iter().flatten().map(|group| (group.server, group.authoritative)).collect()
    };
    assert_eq!(glue_of(&["a.example", "a.b.example"]), [(0, true), (1, true)]);
    assert_eq!(glue_of(&["a.host.example", "a.d.example", "a.sub.example"]), []);
    // Below a zone cut they are glue.
    assert_eq!(glue_of(&["a.other.example", "a.b.other.example"]), [(0, false), (1, false)]);
}

/// Cuts with the same servers share what was found for the first of them, unless the servers are below it.
#[test]
fn a_cut_at_a_wildcard_keeps_its_glue_to_itself() {
    let records = [
        ("example", rtype::SOA, SOA.to_vec()),
        ("*.example", rtype::NS, wire("ns.*.example")),
        ("a.example", rtype::NS, wire("ns.*.example")),
        ("ns.*.example", rtype::A, ADDRESS.to_vec()),
    ];
    let pack = pack(&[contents("example", &records)]);
    let zone = ZoneView::new(&pack, 0).unwrap();
    let in_domain: Vec<_> =
        zone.nodes().filter_map(|node| node.glue()?.next()).map(|group| group.in_domain).collect();
    assert_eq!(in_domain, [true, false], "*.example and a.example");
}

#[test]
fn equal_sets_are_stored_once() {
    let records = |host: &str| -> Vec<(String, u16, Vec<u8>)> {
        (0..100)
            .flat_map(|number| {
                ["a", "b"].map(|server| {
                    (format!("{host}{number}.example"), rtype::NS, wire(&format!("{server}.provider.net")))
                })
            })
            .collect()
    };
    let build = |list: &[(String, u16, Vec<u8>)]| {
        let mut all = vec![("example", rtype::SOA, SOA.to_vec())];
        all.extend(list.iter().map(|(owner, rtype, rdata)| (owner.as_str(), *rtype, rdata.clone())));
        contents("example", &all)
    };
    let one = pack(&[build(&records("x")[..2])]);
    let many = pack(&[build(&records("x"))]);
    assert_eq!(one.section(Section::Pool).len(), many.section(Section::Pool).len());
}

#[test]
fn many_zones_share_a_pack() {
    let zones: Vec<Contents> = (0..50)
        .map(|number| {
            let apex = format!("z{number}");
            let host = format!("www.z{number}");
            contents(&apex, &[(&apex, rtype::SOA, SOA.to_vec()), (&host, rtype::A, vec![10, 0, 0, number])])
        })
        .collect();
    let pack = pack(&zones);
    for number in 0..50u8 {
        let zone = ZoneView::new(&pack, u32::from(number)).unwrap();
        let node =
            zone.walk(&SortKey::of(&format!("www.z{number}").parse::<NameBuf>().unwrap())).unwrap().node;
        let Data::Inline(address) = node.rrset(rtype::A).unwrap().data() else { panic!() };
        assert_eq!(address, [10, 0, 0, number]);
        assert_eq!(zone.nodes().count(), 2);
    }
}

/// Services of zones that are alike are on hosts of the same names, and stored once; whoever reads them finds each zone's own.
#[test]
fn services_of_many_zones_are_stored_once() {
    let zone = |apex: &str| {
        let of = |host: &str| [&[0, 0, 0, 0, 2, 0x4b][..], &wire(host)].concat();
        let mut records = vec![(apex.to_owned(), rtype::SOA, SOA.to_vec())];
        for (service, host) in [("_a", "mail.shop."), ("_b", "Mail.Shop."), ("_c", ""), ("_d", "xx")] {
            records.push((format!("{service}.{apex}"), rtype::SRV, of(&format!("{host}{apex}"))));
        }
        records.push((format!("_e.{apex}"), rtype::SRV, of("mail.provider.net")));
        records.push((format!("_e.{apex}"), rtype::SRV, of(&format!("mail.{}", apex.to_uppercase()))));
        let all = records.iter().map(|(owner, rtype, rdata)| (owner.as_str(), *rtype, rdata.clone()));
        contents(apex, &all.collect::<Vec<_>>())
    };
    let targets = |pack: &Pack, number: u32, apex: &str, service: &str| -> Vec<String> {
        let (zone, apex) = (ZoneView::new(pack, number).unwrap(), apex.parse::<NameBuf>().unwrap());
        let owner: NameBuf = format!("{service}.{apex}").parse().unwrap();
        let set = zone.walk(&SortKey::of(&owner)).unwrap().node.rrset(rtype::SRV).unwrap();
        let names = set.rdata(&owner, &apex).unwrap().into_iter();
        names.map(|rdata| wire::Name::from_wire(&rdata[6..]).unwrap().to_string()).collect()
    };
    let apexes = ["alpha.test", "beta.test", "gamma.test"];
    let pools = [1, 3].map(|count| {
        let pack = pack(&apexes[..count].iter().map(|apex| zone(apex)).collect::<Vec<_>>());
        for (number, apex) in (0..).zip(&apexes[..count]) {
            let of = |service| targets(&pack, number, apex, service);
            assert_eq!(of("_a"), [format!("mail.shop.{apex}.")]);
            assert_eq!(of("_b"), [format!("Mail.Shop.{apex}.")]);
            assert_eq!(of("_c"), [format!("{apex}.")]);
            // That ends in the same octets, and is another zone's.
            assert_eq!(of("_d"), [format!("xx{apex}.")]);
            // Where one leads elsewhere all are as they were read.
            let mut both = of("_e");
            both.sort();
            assert_eq!(both, [format!("mail.{}.", apex.to_uppercase()), "mail.provider.net.".to_owned()]);
        }
        pack.section(Section::Pool).len()
    });
    // Two apexes and two mixed sets more.
    assert!(pools[1] - pools[0] < 2 * 120, "{pools:?}");
}

/// What fits a message without its apex, and not with it, fits none.
#[test]
fn services_that_fit_no_message() {
    let apex = format!("{}.example", vec!["a".repeat(50); 4].join("."));
    let zone = |count: u16| {
        let target = wire(&format!("b.{apex}"));
        let records = (0..count).map(|port| {
            (format!("s.{apex}"), rtype::SRV, [&[0; 4][..], &port.to_be_bytes(), &target].concat())
        });
        let all: Vec<_> = records.collect();
        let mut list = vec![(apex.as_str(), rtype::SOA, SOA.to_vec())];
        list.extend(all.iter().map(|(owner, rtype, rdata)| (owner.as_str(), *rtype, rdata.clone())));
        contents(&apex, &list)
    };
    let mut builder = PackBuilder::new(1);
    assert!(builder.add_zone(&zone(250), TextStamp::default()).is_ok());
    let problems = builder.add_zone(&zone(400), TextStamp::default()).unwrap_err();
    assert!(problems[0].to_string().contains("fits no message"), "{problems:?}");
}

#[test]
fn zones_that_do_not_fit_leave_the_pack_as_it_was() {
    let mut builder = PackBuilder::new(1);
    let empty = contents("example", &[]);
    assert_eq!(builder.add_zone(&empty, TextStamp::default()), Err(vec![Problem::NoSoa]));
    let records: Vec<_> = (0..300)
        .map(|_| ())
        .zip(0u16..)
        .map(|(_, n)| [vec![250; 251], n.to_be_bytes().to_vec()].concat())
        .collect();
    let mut all = vec![("example", rtype::SOA, SOA.to_vec())];
    all.extend(records.into_iter().map(|rdata| ("t.example", rtype::TXT, rdata)));
    let problems = builder.add_zone(&contents("example", &all), TextStamp::default()).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "RRset t.example. TXT: more than 65,535 octets with its signatures, fits no message"
    );
    builder.add_zone(&example(), TextStamp::default()).unwrap();
    let pack = Pack::open(builder.finish().unwrap()).unwrap();
    assert_eq!(ZoneView::new(&pack, 0).unwrap().nodes().count(), 9);
}

#[test]
fn damage_is_found() {
    let mut builder = PackBuilder::new(3);
    builder.add_zone(&example(), TextStamp::default()).unwrap();
    let Backing::Memory(octets) = builder.finish().unwrap() else { panic!() };
    for bit in 0..octets.len() * 8 {
        let mut damaged = octets.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Pack::open(Backing::Memory(damaged)).is_err(), "bit {bit}");
    }
    for end in 0..octets.len() {
        assert!(Pack::open(Backing::Memory(octets[..end].to_vec())).is_err());
    }
}

#[test]
fn prefixes_sort_as_keys() {
    let keys: [&[u8]; 8] =
        [b"", b"\x01", b"a\0", b"a\0b\0", b"abcdefg\0", b"abcdefgh\0", b"abcdefgi\0", b"b\0"];
    assert!(keys.is_sorted_by_key(|key| key_prefix(key)));
    assert_eq!((key_prefix(b"a\0"), key_prefix(b"")), (0x61 << 56, 0));
    assert!(key_prefix(b"abcdefgh\0") < key_prefix(b"abcdefgi\0"));
}

#[test]
fn too_many_types_at_a_name() {
    let types = |count: u16| -> Contents {
        let mut records =
            vec![("example", rtype::SOA, SOA.to_vec()), ("z.example", rtype::A, ADDRESS.to_vec())];
        records.extend((0..count).map(|number| ("m.example", 1000 + number, vec![0])));
        contents("example", &records)
    };
    let most = REFERENCES_OCTETS_MAX as u16 / 4;
    let pack = pack(&[types(most)]);
    let zone = ZoneView::new(&pack, 0).unwrap();
    let node = zone.find(b"m\0").unwrap();
    assert!((0..most).all(|number| node.rrset(1000 + number).is_some()) && zone.find(b"z\0").is_some());
    let problems = PackBuilder::new(1).add_zone(&types(most + 1), TextStamp::default()).unwrap_err();
    assert!(problems[0].to_string().starts_with("m.example.: too many types"), "{}", problems[0]);
}

/// The first name of a zone is the apex, whatever a pack says: keys have room for a label below it.
#[test]
fn the_first_name_is_the_apex() {
    use crate::section::{HEADER_OCTETS, checksum, decode_header, encode_header};
    let sound = pack(&[example()]);
    let mut octets = sound.octets().to_vec();
    let mut header = decode_header(&octets).unwrap();
    let block = header.sections[Section::Blocks as usize].0.start;
    assert_eq!((octets[block] & 0x80, octets[block + 1]), (0, 0), "narrow ends, no prefix");
    octets[block + 2] = octets[block + 2 + 1];
    for (range, sum) in &mut header.sections {
        *sum = checksum(&octets[range.clone()]);
    }
    octets[..HEADER_OCTETS].copy_from_slice(&encode_header(&header));
    let damaged = Pack::open(Backing::Memory(octets)).unwrap();
    let zone = ZoneView::new(&damaged, 0).unwrap();
    assert!(
        zone.apex_node().is_none()
            && zone.walk(&SortKey::of(&"q.example".parse::<NameBuf>().unwrap())).is_none()
    );
}

/// Of the signatures of an RRset the last counts, of RRsets the first that loses it; times go round after 2106.
#[test]
fn first_expiry() {
    let signature = |covered: u16, expiration: u32| {
        let covered = covered.to_be_bytes();
        let rest = [&expiration.to_be_bytes()[..], &[0; 4], &[0, 7], &wire("example"), &[1]].concat();
        ("example", rtype::RRSIG, [&covered[..], &[15, 1, 0, 0, 1, 44], &rest].concat())
    };
    let first = |signatures: &[(u16, u32)]| {
        let mut records =
            vec![("example", rtype::SOA, SOA.to_vec()), ("example", rtype::NS, wire("ns.example"))];
        records.extend(signatures.iter().map(|(covered, expiration)| signature(*covered, *expiration)));
        pack(&[contents("example", &records)]).zone_row(0).first_expiry
    };
    assert_eq!(first(&[]), 0);
    assert_eq!(first(&[(rtype::SOA, 100), (rtype::NS, 90)]), 90);
    assert_eq!(first(&[(rtype::SOA, 100), (rtype::NS, 90), (rtype::NS, 120)]), 100);
    assert_eq!(first(&[(rtype::SOA, 100), (rtype::NS, u32::MAX - 50)]), u32::MAX - 50);
    assert_eq!(first(&[(rtype::SOA, 100), (rtype::SOA, u32::MAX - 50)]), 100);
    assert_eq!(first(&[(rtype::SOA, 0)]), 1, "0 is none");
    assert_eq!(first(&[(rtype::NS, 90)]), 0, "nothing is proved where the SOA record is not signed");
}
