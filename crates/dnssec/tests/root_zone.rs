//! The signed root zone that ships with the project: every signature, the zone's digest, the trust anchors.
#![allow(clippy::unwrap_used)]

mod common;

use common::Zone;
use dnssec::digest::is_ds_digest;
use dnssec::key::{Dnskey, Ds};
use dnssec::verify::{Fault, Source};
use wire::Name;
use wire::iana::rtype;

/// 2026-08-02 00:00 UTC: signatures of this zone run from 2026-07-31 to 2026-08-13.
const NOW: u32 = 1_785_628_800;

fn root() -> Zone {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone");
    Zone::read(".", &std::fs::read_to_string(path).unwrap())
}

#[test]
fn all_signatures_verify() {
    let zone = root();
    let verdicts = zone.verify(NOW);
    assert_eq!(verdicts.len(), 2_792);
    let bad = verdicts.iter().filter(|verdict| **verdict != Ok(Source::Owner)).count();
    assert_eq!(bad, 0);
    let later = zone.verify(NOW + 30 * 86_400);
    assert!(later.iter().all(|verdict| *verdict == Err(Fault::Expired)));
}

#[test]
fn the_digest_is_that_of_the_zone() {
    let mut zone = root();
    assert_eq!(zone.digests(), [Some(true)]);
    let set = zone.sets.values_mut().next_back().unwrap();
    set.1[0].0 += 1; // a TTL
    assert_eq!(zone.digests(), [Some(false)]);
}

/// The digests that IANA publishes of the two key signing keys.
#[test]
fn trust_anchors() {
    let anchors = ". 1 DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D\n\
                   . 1 DS 38696 8 2 683D2D0ACB8C9B712A1948B27F741219298D0A450D612C483AF444A4C0FB2B16\n";
    let zone = root();
    for anchor in zonefile::records(anchors, Name::root()).unwrap() {
        let ds = Ds::parse(&anchor.rdata).unwrap();
        let keys = zone.rdatas(Name::root(), rtype::DNSKEY);
        let key = keys.iter().find(|key| Dnskey::parse(key).unwrap().tag == ds.key_tag).unwrap();
        assert_eq!(is_ds_digest(ds.digest_type, ds.digest, Name::root(), key), Ok(true));
        assert_eq!(is_ds_digest(ds.digest_type, ds.digest, Name::trusted(b"\x01a\0"), key), Ok(false));
    }
}
