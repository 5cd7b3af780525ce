#![allow(clippy::unwrap_used)]

use super::*;
use dnssec::key::Dnskey;
use dnssec::verify::{Fault as Wrong, Rrsig};
use std::collections::BTreeMap;

/// A zone with every kind of name: cuts with and without DS, glue, an empty non-terminal, a wildcard, a DNAME.
const ZONE: &str = "\
@ 3600 SOA ns host 1 2 3 4 300
@ 3600 NS ns
ns 60 A 192.0.2.1
www 300 A 192.0.2.80
www 300 AAAA 2001:db8::80
Mixed 300 MX 10 Mail.Example.
*.wild 60 TXT wild
a.empty 60 TXT deep
child 600 NS ns.child
ns.child 600 A 192.0.2.2
safe 600 NS ns.safe
safe 600 DS 1 15 2 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
ns.safe 600 A 192.0.2.3
only.below 600 NS elsewhere.test.
moved 60 DNAME other.test.
";

fn zone() -> Records {
    Records::from_text("example.", ZONE).unwrap()
}

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

/// Verifies every RRset that has signatures, by the product's own arithmetic; returns how many, and what is wrong.
fn verify(signed: &Records, now: u32) -> (usize, Vec<(String, Wrong)>) {
    let mut sets: BTreeMap<(Vec<u8>, u16), Vec<&zonefile::RecordBuf>> = BTreeMap::new();
    let mut signatures = Vec::new();
    for record in &signed.list {
        match record.rtype {
            rtype::RRSIG => signatures.push(record),
            other => {
                sets.entry((record.owner.to_lowercase().octets().to_vec(), other)).or_default().push(record)
            }
        }
    }
    let keys: Vec<&[u8]> = signed.of(&signed.apex, rtype::DNSKEY).map(|record| &record.rdata[..]).collect();
    let mut faults = Vec::new();
    for signature in &signatures {
        let rrsig = Rrsig::parse(&signature.rdata).unwrap();
        let owner = signature.owner.to_lowercase();
        let set = &sets[&(owner.octets().to_vec(), rrsig.covered)];
        let mut canonical = CanonicalSet::new();
        canonical.fill(rrsig.covered, set.iter().map(|record| &record.rdata[..]));
        let mut result = rrsig.check(&owner, rrsig.covered, now).map(drop);
        if result.is_ok() {
            let verified: Vec<_> = keys
                .iter()
                .map(|rdata| {
                    rrsig.verify(&owner, &canonical, &Dnskey::parse(rdata).unwrap(), &mut Vec::new())
                })
                .filter(|result| *result != Err(Wrong::WrongKey))
                .collect();
            let any = verified.iter().find(|result| result.is_ok()).or(verified.first());
            result = any.copied().unwrap_or(Err(Wrong::WrongKey));
        }
        if let Err(wrong) = result {
            faults.push((format!("{owner} {}", rtype::Text(rrsig.covered)), wrong));
        }
    }
    (signatures.len(), faults)
}

/// What `zone::check` finds.
fn findings(signed: &Records) -> Vec<String> {
    let options = zone::check::Options { now: Some(BEGIN_UNIX_SECONDS.into()), ..Default::default() };
    let mut found = Vec::new();
    // These two are choices, and said of what was chosen here.
    let is_choice = |text: &str| text.contains("Nsec3Iterations") || text.contains("Nsec3Salt");
    zone::check::check(&signed.contents().unwrap(), &options, &mut |finding| {
        found.push(format!("{finding:?}"))
    });
    found.retain(|text: &String| !is_choice(text));
    found
}

#[test]
fn signatures_verify() {
    for algorithms in [vec![15], vec![13], vec![14], vec![8], vec![10], vec![8, 13]] {
        let signing = Signing { algorithms, ..Signing::new(1) };
        let signed = sign(&zone(), &signing).unwrap();
        let (count, faults) = verify(&signed, BEGIN_UNIX_SECONDS);
        assert_eq!(faults, []);
        // 10 authoritative sets, DNSKEY, DS, NSEC of 9 names.
        assert_eq!(count, 21 * signing.algorithms.len(), "{}", signed.text());
    }
}

#[test]
fn chain_of_nsec() {
    let signed = sign(&zone(), &Signing::new(1)).unwrap();
    let text = signed.text();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" IN NSEC ")).collect();
    assert_eq!(
        lines,
        [
            "example. 300 IN NSEC only.below.example. NS SOA RRSIG NSEC DNSKEY",
            "only.below.example. 300 IN NSEC child.example. NS RRSIG NSEC",
            "child.example. 300 IN NSEC a.empty.example. NS RRSIG NSEC",
            "a.empty.example. 300 IN NSEC mixed.example. TXT RRSIG NSEC",
            "mixed.example. 300 IN NSEC moved.example. MX RRSIG NSEC",
            "moved.example. 300 IN NSEC ns.example. DNAME RRSIG NSEC",
            "ns.example. 300 IN NSEC safe.example. A RRSIG NSEC",
            "safe.example. 300 IN NSEC *.wild.example. NS DS RRSIG NSEC",
            "*.wild.example. 300 IN NSEC www.example. TXT RRSIG NSEC",
            "www.example. 300 IN NSEC example. A AAAA RRSIG NSEC",
        ]
    );
}

#[test]
fn the_checker_finds_nothing_more() {
    let nsec3 = |opt_out| Denial::Nsec3 { iterations: 3, salt: vec![0xab, 0xcd], opt_out };
    for denial in [Denial::Nsec, nsec3(false), nsec3(true)] {
        let signing = Signing { denial, has_standby: true, has_revoked: true, ..Signing::new(2) };
        let signed = sign(&zone(), &signing).unwrap();
        assert_eq!(findings(&signed), findings(&zone()), "{}", signed.text());
        assert_eq!(verify(&signed, BEGIN_UNIX_SECONDS).1, []);
        let again = sign(&signed, &signing).unwrap();
        assert_eq!(again, signed, "signing again is the same");
    }
}

/// RFC 5155 6: with opt-out a delegation without DS has no NSEC3 record, nor has an empty non-terminal that only leads to it.
#[test]
fn opt_out() {
    let count = |opt_out| {
        let signing =
            Signing { denial: Denial::Nsec3 { iterations: 0, salt: Vec::new(), opt_out }, ..Signing::new(2) };
        let signed = sign(&zone(), &signing).unwrap();
        signed.list.iter().filter(|record| record.rtype == rtype::NSEC3).count()
    };
    assert_eq!((count(false), count(true)), (13, 10), "child., below. and only.below. are left out");
}

#[test]
fn ds_records() {
    let apex = name("Example.");
    let signing = Signing { ds_digests: vec![1, 2, 4, 3], has_standby: true, ..Signing::new(1) };
    let all = signing.ds(&apex);
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [24, 36, 52, 36].repeat(2));
    let keys = signing.keys(&apex);
    let ds = dnssec::key::Ds::parse(&all[1]).unwrap();
    assert_eq!(ds.key_tag, keys[0].tag);
    assert_eq!(dnssec::digest::is_ds_digest(2, ds.digest, &apex, &keys[0].dnskey), Ok(true));
    let strange = signing.with(FaultKind::StrangeDs(7, 99).everywhere());
    assert_eq!(strange.ds(&apex)[0][..4], [0, 7, 99, 2]);
    let wrong = Signing::new(1).with(FaultKind::WrongDigest.everywhere()).ds(&apex);
    assert_eq!(dnssec::digest::is_ds_digest(2, &wrong[0][4..], &apex, &keys[0].dnskey), Ok(false));
}

#[track_caller]
fn check_fault(kind: FaultKind, expected: Option<Wrong>) {
    let at = name("www.example.");
    let signing = Signing { has_revoked: true, ..Signing::new(1) }.with(kind.clone().at(&at, rtype::A));
    let signed = sign(&zone(), &signing).unwrap();
    let (count, faults) = verify(&signed, BEGIN_UNIX_SECONDS);
    let expected: Vec<_> = expected.map(|wrong| ("www.example. A".to_owned(), wrong)).into_iter().collect();
    assert_eq!(faults, expected, "{kind:?}");
    assert_eq!(count, if kind == FaultKind::Missing { 21 } else { 22 }, "{kind:?}");
}

#[test]
fn faults_of_signatures() {
    check_fault(FaultKind::Expired, Some(Wrong::Expired));
    check_fault(FaultKind::NotYetValid, Some(Wrong::NotYetValid));
    check_fault(FaultKind::Missing, None);
    check_fault(FaultKind::Broken, Some(Wrong::BadSignature));
    check_fault(FaultKind::Labels(3), Some(Wrong::TooManyLabels));
    // One label fewer is a signature of *.example., and right as one.
    check_fault(FaultKind::Labels(1), None);
    check_fault(FaultKind::Labels(0), None);
    check_fault(FaultKind::OriginalTtl(7), None);
    check_fault(FaultKind::SignerName(name("test.")), Some(Wrong::WrongSigner));
    check_fault(FaultKind::SignedBy(Name::root().to_owned()), Some(Wrong::WrongKey));
    check_fault(FaultKind::UnknownKey, Some(Wrong::WrongKey));
}

/// However small the table is that keys are taken from.
#[test]
fn an_unknown_key_is_none_of_the_zones() {
    for (seed, algorithm) in
        (0..24).flat_map(|seed| [(seed, algorithm::RSASHA256), (seed, algorithm::ECDSAP384SHA384)])
    {
        let signing = Signing { algorithms: vec![algorithm], has_standby: true, ..Signing::new(seed) };
        let signed = sign(&zone(), &signing.with(FaultKind::UnknownKey.at_type(rtype::SOA))).unwrap();
        let (_, faults) = verify(&signed, BEGIN_UNIX_SECONDS);
        assert_eq!(faults, [("example. SOA".to_owned(), Wrong::WrongKey)], "{seed} {algorithm}");
    }
}

#[test]
fn faults_of_keys_and_denial() {
    let signing = Signing::new(1).with(FaultKind::CollidingKeys(30).everywhere());
    let signed = sign(&zone(), &signing).unwrap();
    assert_eq!(signed.of(&signed.apex, rtype::DNSKEY).count(), 32);
    assert_eq!(verify(&signed, BEGIN_UNIX_SECONDS).1, [], "the right key is among them");

    let next = FaultKind::NextName(name("zzz.")).at(&name("www.example."), rtype::NSEC);
    let without = FaultKind::WithoutType(rtype::MX).at(&name("mixed.example."), rtype::NSEC);
    let signed = sign(&zone(), &Signing::new(1).with(next).with(without)).unwrap();
    assert!(signed.text().contains("www.example. 300 IN NSEC zzz. A AAAA RRSIG NSEC"));
    assert!(signed.text().contains("mixed.example. 300 IN NSEC moved.example. RRSIG NSEC"));
    assert_eq!(verify(&signed, BEGIN_UNIX_SECONDS).1, []);

    let many = FaultKind::Signatures(16).at(&name("www.example."), rtype::A);
    let signed = sign(&zone(), &Signing::new(1).with(many)).unwrap();
    assert_eq!(verify(&signed, BEGIN_UNIX_SECONDS).1.len(), 15);
}
