#![allow(clippy::unwrap_used)]
use super::*;
use wire::iana::rtype;

fn build(apex: &str, records: &[(&str, u16, &[u8])]) -> Contents {
    let mut builder = ContentsBuilder::new(&NameBuf::from_text(apex).unwrap());
    for (owner, rtype, rdata) in records {
        let owner = NameBuf::from_text(owner).unwrap();
        builder.push(&owner, false, *rtype, 60, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

fn names(contents: &Contents) -> Vec<(String, u16)> {
    contents.nodes().map(|node| (node.name().to_string(), node.flags().0)).collect()
}

#[test]
fn sorts_and_classifies() {
    let contents = build(
        "example.",
        &[
            ("www.a.example.", rtype::A, b"\x01\x02\x03\x04"),
            ("ns.sub.example.", rtype::A, b"\x01\x02\x03\x04"),
            ("sub.example.", rtype::NS, b"\x02ns\x03sub\x07example\0"),
            ("*.w.example.", rtype::A, b"\x01\x02\x03\x04"),
            ("example.", rtype::NS, b"\x01x\0"),
            ("deep.d.example.", rtype::A, b"\x01\x02\x03\x04"),
            ("d.example.", rtype::DNAME, b"\x01x\0"),
            ("www.a.example.", rtype::A, b"\x01\x02\x03\x03"),
            ("www.a.example.", rtype::A, b"\x01\x02\x03\x04"),
        ],
    );
    let flags = |list: &[Flags]| list.iter().fold(0, |all, flag| all | flag.0);
    assert_eq!(
        names(&contents),
        [
            ("example.".into(), flags(&[Flags::APEX, Flags::PARENT])),
            ("a.example.".into(), flags(&[Flags::EMPTY, Flags::PARENT])),
            ("www.a.example.".into(), 0),
            ("d.example.".into(), flags(&[Flags::DNAME, Flags::PARENT])),
            ("deep.d.example.".into(), flags(&[Flags::OCCLUDED, Flags::REDIRECTED])),
            ("sub.example.".into(), flags(&[Flags::CUT, Flags::PARENT])),
            ("ns.sub.example.".into(), flags(&[Flags::OCCLUDED])),
            ("w.example.".into(), flags(&[Flags::EMPTY, Flags::PARENT, Flags::WILDCARD_CHILD])),
            ("*.w.example.".into(), flags(&[Flags::WILDCARD])),
        ]
    );
    let www = contents.find_name(&NameBuf::from_text("WWW.a.example").unwrap()).unwrap();
    assert_eq!(www.rrset(rtype::A).unwrap().len(), 2);
    assert_eq!(contents.duplicate_count(), 1);
    assert_eq!(contents.duplicates()[0].node, 2);
    assert_eq!(www.parent().name().to_string(), "a.example.");
}

#[test]
fn refuses_names_of_other_zones() {
    let mut builder = ContentsBuilder::new(&NameBuf::from_text("example").unwrap());
    let owner = NameBuf::from_text("www.example.com").unwrap();
    assert_eq!(builder.push(&owner, false, 1, 0, &[], SourcePosition::default()), Err(Refusal::OutOfZone));
}

#[test]
fn an_empty_zone_has_its_apex() {
    let contents = build("example", &[("a.b.example", 1, b"")]);
    let expected = ["example.", "b.example.", "a.b.example."];
    assert!(contents.nodes().map(|node| node.name().to_string()).eq(expected));
    assert_eq!(contents.node(0).rrsets().count(), 0);
}

#[test]
fn denial_records_are_not_names() {
    let hash = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example";
    let contents = build(
        "example",
        &[("example", 6, b""), (hash, rtype::NSEC3, b"\x01"), (hash, rtype::RRSIG, b"\0\x32")],
    );
    assert_eq!(contents.node(1).flags(), Flags::NSEC3);
    assert!(!contents.node(0).flags().has(Flags::PARENT));
}

#[test]
fn signatures_by_covered_type() {
    let contents = build(
        "e",
        &[("e", 46, b"\0\x06a"), ("e", 46, b"\0\x02b"), ("e", 46, b"\0\x02c"), ("e", 2, b"\x01x\0")],
    );
    assert_eq!(contents.node(0).signatures(2).unwrap().len(), 2);
    assert_eq!(contents.node(0).signatures(6).unwrap().len(), 1);
    assert!(contents.node(0).signatures(1).is_none());
}

/// Names in RDATA are the same whatever the case of their letters; other octets are not, though they look like letters.
#[test]
fn case_tells_no_records_apart() {
    let contents = build(
        "example.",
        &[
            ("example.", rtype::NS, b"\x01b\0"),
            ("example.", rtype::NS, b"\x01A\0"),
            ("example.", rtype::NS, b"\x01a\0"),
            ("example.", rtype::NS, b"\x01B\0"),
            ("m.example.", rtype::MX, b"\0A\x01m\0"),
            ("m.example.", rtype::MX, b"\0a\x01m\0"),
            ("m.example.", rtype::MX, b"\0a\x01M\0"),
            ("m.example.", rtype::TXT, b"\x01m"),
            ("m.example.", rtype::TXT, b"\x01M"),
        ],
    );
    let count = |node: usize, rtype| contents.node(node).rrset(rtype).unwrap().records().count();
    assert_eq!((count(0, rtype::NS), count(1, rtype::MX), count(1, rtype::TXT)), (2, 2, 2));
    assert_eq!((contents.duplicate_count(), contents.duplicates().len()), (3, 3));
}
