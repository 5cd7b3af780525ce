//! Digests of zones held against what is demanded: the real root zone, its parts changed one by one, and small zones.
use super::signer::{NOW, TestZone};
use super::*;
use crate::check::{Anchor, Demand, Verified, verify_digest};
use crate::delta::Rebuild;
use crate::{Change, DeltaWriter, Pack, PackBuilder, Records, TextStamp, ZoneView};
use std::sync::Arc;
use wire::RdataList;
use wire::rrset::RdataListBuf;

/// Key signing key 20326 of the root, as DS RDATA (<https://data.iana.org/root-anchors/root-anchors.xml>).
const ROOT_DS: &str = "4f660802e06d44b80b8f1d39a95c0b0d7c65d08458e880409bbc683457104237c7f8ec8d";
/// In the life of the signatures of the root zone that is in the project: 2026-08-02.
const ROOT_NOW: u64 = 1_785_628_800;

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// What comes of a zone, as a word or a finding.
fn found(contents: &Contents, is_required: bool, anchor: Option<Anchor<'_>>, now: u64) -> String {
    match verify_digest(contents, &Demand { is_required, anchor, now }) {
        Ok(Verified::Nothing) => "nothing".to_owned(),
        Ok(Verified::Digest { algorithm, is_signed: true }) => format!("signed {algorithm}"),
        Ok(Verified::Digest { algorithm, is_signed: false }) => format!("digest {algorithm}"),
        Err(finding) => {
            assert_eq!(finding.severity, Severity::Fatal);
            format!("{} {}", finding.check.id(), rtype::Text(finding.rtype.unwrap()))
        }
    }
}

#[test]
fn the_root_zone() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone");
    let text = std::fs::read_to_string(path).unwrap();
    let ds: RdataListBuf = [&octets(ROOT_DS)[..]].into_iter().collect();
    let anchor = Some(Anchor { ds: ds.list(), keys: RdataList::EMPTY });
    let check = |text: &str, anchor, now, expected: &str| {
        assert_eq!(found(&contents(".", text), true, anchor, now), expected);
    };
    check(&text, anchor, ROOT_NOW, "signed 1");
    check(&text, None, 0, "digest 1");
    // Long after that.
    check(&text, anchor, ROOT_NOW + 90 * 86_400, "zonemd-unproved DNSKEY");
    let other: RdataListBuf = [&octets(&ROOT_DS.replace("e06d", "e06e"))[..]].into_iter().collect();
    let other = Some(Anchor { ds: other.list(), keys: RdataList::EMPTY });
    check(&text, other, ROOT_NOW, "zonemd-unproved DNSKEY");
    // Glue has no signatures: the digest alone tells.
    let glue = text.replacen("198.41.0.4", "198.41.0.5", 1);
    assert_ne!(glue, text);
    check(&glue, anchor, ROOT_NOW, "zonemd-mismatch ZONEMD");
    check(&glue, None, ROOT_NOW, "zonemd-mismatch ZONEMD");
    let serial = text.replacen(" 2026073102 1800", " 2026073103 1800", 1);
    assert_ne!(serial, text);
    check(&serial, anchor, ROOT_NOW, "zonemd-unproved SOA");
    check(&serial, None, ROOT_NOW, "zonemd-serial ZONEMD");
    // Who takes the record out would have to take it out of the NSEC record, too.
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("\tZONEMD")).collect();
    check(&lines.join("\n"), anchor, ROOT_NOW, "zonemd-unproved ZONEMD");
    check(&lines.join("\n"), None, ROOT_NOW, "zonemd-missing ZONEMD");
}

#[test]
fn zones_without_digest() {
    const TEXT: &str = "@ 300 SOA ns1 admin 1 3600 900 604800 300\n@ 3600 NS ns1\nns1 3600 A 192.0.2.1\n";
    let key =
        |zone: &TestZone| zone.records.iter().find(|one| one.rtype == rtype::DNSKEY).unwrap().rdata.clone();
    let zones = [TestZone::new(TEXT).nsec().sign(), TestZone::new(TEXT).nsec3(0, &[], false).sign()];
    for mut zone in zones {
        let keys: RdataListBuf = [&key(&zone)[..]].into_iter().collect();
        let anchor = Some(Anchor { ds: RdataList::EMPTY, keys: keys.list() });
        assert_eq!(found(&zone.contents(), false, anchor, NOW), "nothing");
        assert_eq!(found(&zone.contents(), true, anchor, NOW), "zonemd-missing ZONEMD");
        // One that nobody has signed.
        zone.add("example.", rtype::ZONEMD, 300, &[&[0, 0, 0, 1, 1, 1][..], &[0; 48]].concat());
        assert_eq!(found(&zone.contents(), false, anchor, NOW), "zonemd-unproved ZONEMD");
        zone.remove("example.", |rtype, _| matches!(rtype, rtype::ZONEMD | rtype::NSEC | rtype::NSEC3PARAM));
        assert_eq!(found(&zone.contents(), false, anchor, NOW), "zonemd-unproved ZONEMD");
        zone.remove("example.", |rtype, rdata| {
            rtype == rtype::RRSIG && rdata.starts_with(&rtype::SOA.to_be_bytes())
        });
        assert_eq!(found(&zone.contents(), false, anchor, NOW), "zonemd-unproved SOA");
        assert_eq!(found(&zone.contents(), false, None, NOW), "nothing");
    }
}

/// The example of RFC 8976 A.1, and records beside its own.
#[test]
fn several_records() {
    const TEXT: &str = "example. 86400 IN SOA ns1 admin 2018031900 1800 900 604800 86400
example. 86400 IN NS ns1
example. 86400 IN NS ns2
ns1 3600 IN A 203.0.113.63
ns2 3600 IN AAAA 2001:db8::63
";
    const DIGEST: &str =
        "c68090d90a7aed716bc459f9340e3d7c1370d4d24b7e2fc3a1ddc0b9a87153b9a9713b3c9ae5cc27777f98b8e730044c";
    let check = |records: &[(&str, &str)], is_required, expected: &str| {
        let lines =
            records.iter().map(|(numbers, digest)| format!("@ 86400 ZONEMD 2018031900 {numbers} {digest}\n"));
        let text = lines.fold(TEXT.to_owned(), |text, line| text + &line);
        assert_eq!(found(&contents("example.", &text), is_required, None, 0), expected);
    };
    let wrong = "ff".repeat(48);
    check(&[("1 1", DIGEST)], true, "digest 1");
    check(&[("1 1", &wrong)], false, "zonemd-mismatch ZONEMD");
    // Of two of a kind none counts, whatever the other is.
    check(&[("1 1", DIGEST), ("1 1", &wrong)], false, "zonemd-duplicate ZONEMD");
    // One that fits is enough.
    check(&[("1 1", DIGEST), ("1 2", &"ff".repeat(64))], true, "digest 1");
    check(&[("241 1", DIGEST), ("1 240", DIGEST), ("1 1", DIGEST)], true, "digest 1");
    check(&[("241 1", DIGEST)], false, "nothing");
    check(&[("241 1", DIGEST)], true, "zonemd-missing ZONEMD");
}

/// The example of RFC 8976 A.3, which has digests of both algorithms and a private one: each alone is enough, whatever stands beside it.
#[test]
fn both_algorithms() {
    const TEXT: &str = "example. 86400 IN SOA ns1 admin 2018031900 1800 900 604800 86400
example. 86400 IN NS ns1
example. 86400 IN NS ns2
ns1 3600 IN A 203.0.113.63
ns2 86400 IN TXT \"This example has multiple digests\"
NS2 3600 IN AAAA 2001:db8::63
";
    const SHA384: &str = "1 1 62e6cf51b02e54b9b5f967d547ce43136792901f9f88e637493daaf401c92c279dd10f0edb1c56f8080211f8480ee306";
    const SHA512: &str = "1 2 08cfa1115c7b948c4163a901270395ea226a930cd2cbcf2fa9a5e6eb85f37c8a4e114d884e66f176eab121cb02db7d652e0cc4827e7a3204f166b47e5613fd27";
    const PRIVATE: &str = "1 240 e2d523f654b9422a96c5a8f44607bbee";
    const PRIVATE_SCHEME: &str = "241 200 e1846540e33a9e4189792d18d5d131f605fc283eaaaaaaaa";
    let wrong = |right: &str| right.replace("cf", "d0");
    let check = |records: &[&str], is_required, expected: &str| {
        let lines = records.iter().map(|record| format!("@ 86400 ZONEMD 2018031900 {record}\n"));
        let text = lines.fold(TEXT.to_owned(), |text, line| text + &line);
        let contents = contents("example.", &text);
        assert_eq!(found(&contents, is_required, None, 0), expected, "{records:?}");
        let pack = packed(&contents);
        let again = ZoneView::new(&pack, 0).unwrap().contents().unwrap();
        assert_eq!(found(&again, is_required, None, 0), expected, "stored: {records:?}");
    };
    check(&[SHA384, SHA512, PRIVATE, PRIVATE_SCHEME], true, "digest 1");
    check(&[SHA512, PRIVATE, PRIVATE_SCHEME], true, "digest 2");
    check(&[SHA512], false, "digest 2");
    check(&[&wrong(SHA512)], false, "zonemd-mismatch ZONEMD");
    check(&[&wrong(SHA384), SHA512], true, "digest 2");
    check(&[&wrong(SHA384), &wrong(SHA512), PRIVATE], false, "zonemd-mismatch ZONEMD");
    check(&[SHA512, &wrong(SHA512)], false, "zonemd-duplicate ZONEMD");
    // Those of a kind count as none, those of another as ever (RFC 8976 2.2.3).
    check(&[SHA512, &wrong(SHA512), SHA384], true, "digest 1");
    check(&[PRIVATE, PRIVATE_SCHEME], false, "nothing");
    check(&[PRIVATE, PRIVATE_SCHEME], true, "zonemd-missing ZONEMD");
}

fn packed(contents: &Contents) -> Pack {
    let mut builder = PackBuilder::new(7);
    builder.add_zone(contents, TextStamp::default()).unwrap();
    Pack::open(builder.finish().unwrap()).unwrap()
}

/// What is stored and changed is digested as what was read: the root zone from its pack, with differences put in apart from those who are served, back and forth.
#[test]
fn the_root_zone_as_it_changes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone");
    let text = std::fs::read_to_string(path).unwrap();
    let root = contents(".", &text);
    let pack = Arc::new(packed(&root));
    let writer = DeltaWriter::new(Arc::clone(&pack), 0).unwrap();
    let of = |view: &ZoneView<'_>| found(&view.contents().unwrap(), true, None, 0);
    assert_eq!(of(&writer.newest()), "digest 1");
    let soa = root.node(0).rrset(rtype::SOA).unwrap().records().next().unwrap();
    let address = |last: u8| [198, 41, 0, last];
    let difference = |from: u8, to: u8| {
        let side = |last| {
            let mut side = Records::default();
            side.push(wire::Name::root(), rtype::SOA, soa.ttl, soa.rdata);
            side.push(&NameBuf::from_text("a.root-servers.net").unwrap(), rtype::A, 518_400, &address(last));
            side
        };
        Change::new(side(from), side(to)).unwrap()
    };
    let mut published = writer.newest_box().clone();
    for (from, to, expected) in
        [(4, 5, "zonemd-mismatch ZONEMD"), (5, 4, "digest 1"), (4, 6, "zonemd-mismatch ZONEMD")]
    {
        let mut apart = Rebuild::apart(&published).unwrap();
        let before = of(&ZoneView::of_changed(&published).unwrap());
        let applied = apart.apply(&difference(from, to)).unwrap();
        assert_eq!(of(&apart.newest()), expected);
        assert_eq!(of(&ZoneView::of_changed(&published).unwrap()), before, "nobody else sees it");
        assert!(apart.apply(&difference(from, to)).is_err(), "it is of another state");
        apart.published(applied.changed.state());
        published = applied.changed;
    }
    assert_eq!(of(&writer.newest()), "digest 1");
}
