use super::*;
use crate::contents::SourcePosition;
use crate::{ContentsBuilder, Pack, PackBuilder, TextStamp};
use wire::NameBuf;

const SOA: &str = "@ 60 SOA ns h 1 2 3 4 5\n@ 60 NS ns\n@ 60 TXT a\n";
const ZONE: &str = "ns 60 A 192.0.2.1\na 60 A 192.0.2.1\na 60 MX 1 ns\nx.a 60 A 192.0.2.1\ncut 60 NS ns.cut\ncut 60 NS ns\n\
                    ns.cut 60 A 192.0.2.1\n*.w 60 TXT a\nc 60 CNAME a\n";

fn pack(text: &str, seed: u64) -> Pack {
    let origin: NameBuf = "test".parse().unwrap();
    let mut contents = ContentsBuilder::new(&origin);
    for record in zonefile::records(text, &origin).unwrap() {
        let place = SourcePosition::default();
        contents.push(&record.owner, false, record.rtype, record.ttl, &record.rdata, place).unwrap();
    }
    let mut builder = PackBuilder::new(seed);
    builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
    Pack::open(builder.finish().unwrap()).unwrap()
}

fn changed(old: &str, new: &str) -> PartSet {
    let packs = [pack(old, 1), pack(new, 2)];
    let [old, new] = packs.each_ref().map(|pack| ZoneView::new(pack, 0).unwrap());
    let forth = PartSet::changed(&old, &new);
    assert_eq!(forth, PartSet::changed(&new, &old));
    forth
}

/// What a change of the zone's text changes, given as first labels.
fn check(from: &str, to: &str, labels: &[&str]) {
    let (old, text) = (format!("{SOA}{ZONE}"), format!("{SOA}{ZONE}").replace(from, to));
    let expected = labels
        .iter()
        .fold(PartSet::NONE, |all, label| all | PartSet::of_name(format!("{label}\0").as_bytes()));
    assert_eq!(changed(&old, &text), expected, "{from:?} becomes {to:?}");
}

#[test]
fn the_parts_of_names_that_differ() {
    check("", "", &[]);
    check("h 1 2", "h 2 2", &[]);
    check("a 60 MX 1", "a 60 MX 2", &["a"]);
    check("x.a 60", "x.a 61", &["a"]);
    check("x.a 60", "x.b 60", &["a", "b"]);
    check("*.w", "*.v", &["v", "w"]);
    check("c 60 CNAME a\n", "", &["c"]);
    check("c 60 CNAME a\n", "c 60 NS a\n", &["c"]);
    check("ns.cut 60 A 192.0.2.1", "ns.cut 60 A 192.0.2.2", &["cut"]);
    // Glue stands with the cut.
    check("ns 60 A 192.0.2.1", "ns 60 A 192.0.2.2", &["ns", "cut"]);
    check("c 60", "e.e.e.e 60 A 192.0.2.1\nc 60", &["e"]);
}

#[test]
fn what_concerns_all_names() {
    check("@ 60 TXT a", "@ 60 TXT b", &["*"]);
    check("@ 60 TXT a", "@ 60 DNAME a.", &["*"]);
    // All of the SOA record but the serial.
    for (from, to) in
        [("@ 60 SOA", "@ 61 SOA"), ("h 1 2 3 4 5", "h 1 2 3 4 6"), ("h 1 2", "h 1 3"), ("SOA ns", "SOA a")]
    {
        check(from, to, &["*"]);
    }
    check("c 60", "* 60 A 192.0.2.1\nc 60", &["*"]);
    check("c 60", "b.* 60 A 192.0.2.1\nc 60", &["*"]);
    // Records that would prove something do not in a zone without signatures.
    check("c 60", "q 60 NSEC c A\nc 60", &["q"]);
    let signed = format!("{SOA}@ 60 RRSIG SOA 13 1 60 20380101000000 20260101000000 1 test. AAAA\n{ZONE}");
    // The first record of another kind of proof, and the first signature, wherever they are.
    assert!(changed(&signed, &format!("{signed}q 60 NSEC c A\n")).is_everything());
    check(
        "c 60",
        "q 60 RRSIG A 13 2 60 20380101000000 20260101000000 1 test. AAAA\nq 60 A 192.0.2.1\nc 60",
        &["*"],
    );
}

#[test]
fn many_names_are_everything() {
    let zone = |last: u8, count: usize| {
        (0..count).fold(SOA.to_owned(), |text, at| {
            text + &format!("same{} 60 A 192.0.2.{last}\nn{at} 60 A 192.0.2.7\n", at % 50)
        })
    };
    assert!(!changed(&zone(1, 200), &zone(2, 200)).is_everything());
    assert!(changed(&zone(1, 200), &zone(1, 200 + CHANGED_NAMES_MAX + 1)).is_everything());
}
