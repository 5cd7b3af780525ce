//! RFC 5155 B: the example responses from a zone with NSEC3 and opt-out, and chains with other parameters.

use crate::kit::{How, Kit, assert_signed, rcode};
use std::collections::BTreeSet;
use wire::iana::rtype;

const ZONE: &str = include_str!("../../../../tests/data/zones/rfc5155.signed.zone");
const FULL: &str = include_str!("../../../../tests/data/zones/nsec3.test.zone");
const OPT_OUT: &str = include_str!("../../../../tests/data/zones/optout.test.zone");
const SALTED: &str = include_str!("../../../../tests/data/zones/salted.test.zone");

const EXAMPLE: &str = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom";
const A: &str = "35mthgpgcu1qg68fab165klnsnk3dpvl";
const NS1: &str = "2t7b4g4vsa5smi47k61mv5bv1a22bojr";
const X_W: &str = "b4um86eghhds6nea196smvmlo4ors995";
const W: &str = "k8udemvp1j2f7eg6jebps17vp3n8i58h";
const Y_W: &str = "ji6neoaepv8b5o6k4ev33abha8ht9fgc";
const NS2: &str = "q04jkcevqvmu85r014c7dkba38o0ji5r";
const WILDCARD_W: &str = "r53bq7cc2uvmubfu5ocmm6pers9tk9en";
const HASH_OF_HASH: &str = "kohar7mbb8dc2ce8a9qvl8hon4k53uhi";

/// Asks with DO; compares RCODE and the hashes of the NSEC3 records in the authority section.
#[track_caller]
fn check(kit: &Kit, question: &str, rcode: u16, proofs: &[&str]) {
    let response = kit.ask(question, How::TcpDnssec);
    assert_eq!(response.rcode, rcode, "{question}");
    let owners: BTreeSet<String> = response.sections[1]
        .iter()
        .filter(|record| record.rtype == rtype::NSEC3)
        .map(|record| record.owner.to_string())
        .collect();
    let expected: BTreeSet<String> = proofs.iter().map(|hash| format!("{hash}.example.")).collect();
    assert_eq!(owners, expected, "{question}");
    assert_signed(&response, 1, &[rtype::NS]);
}

#[test]
fn appendix_b() {
    let kit = Kit::new(&[("example", ZONE)]);
    check(&kit, "a.c.x.w.example A", rcode::NXDOMAIN, &[EXAMPLE, X_W, A]);
    check(&kit, "ns1.example MX", rcode::NOERROR, &[NS1]);
    check(&kit, "y.w.example A", rcode::NOERROR, &[Y_W]);
    check(&kit, "mc.c.example MX", rcode::NOERROR, &[A, EXAMPLE]);
    check(&kit, "a.z.w.example MX", rcode::NOERROR, &[NS2]);
    check(&kit, "a.z.w.example AAAA", rcode::NOERROR, &[W, NS2, WILDCARD_W]);
    check(&kit, "example DS", rcode::NOERROR, &[EXAMPLE]);
}

#[test]
fn beyond_the_examples() {
    let kit = Kit::new(&[("example", ZONE)]);
    // An opted-out delegation asked for DS.
    check(&kit, "c.example DS", rcode::NOERROR, &[A, EXAMPLE]);
    // A hash is no name of the zone (7.2.8); one that is a name too has its own hash.
    let hash_alone = format!("{EXAMPLE}.example NSEC3");
    assert_eq!(kit.ask(&hash_alone, How::Plain).rcode, rcode::NXDOMAIN);
    check(&kit, &format!("{NS1}.example MX"), rcode::NOERROR, &[HASH_OF_HASH]);
    assert_eq!(kit.ask(&format!("{NS1}.example A"), How::Plain).types(0), "A");
}

/// Every answer that has a proof carries exactly what RFC 5155 7.2 lists, checked by hashing all over again.
#[test]
fn proofs_prove() {
    let zones = [("nsec3.test", FULL), ("optout.test", OPT_OUT), ("salted.test", SALTED)];
    let kit = Kit::new(&zones);
    for (origin, _) in zones {
        for name in [
            "absent",
            "x.y.z",
            "a.www",
            "ent",
            "b.c.d.deep",
            "q.wild",
            "x.host.wild",
            "q.walias",
            "cut",
            "x.cut",
            "signed",
            "x.signed",
            "www",
            "q.wns.went",
            "x.v",
            "deep",
            "went",
            "absent.ent",
            "a.b.mail",
        ] {
            for qtype in ["A", "TXT", "DS", "SVCB"] {
                let question = format!("{name}.{origin} {qtype}");
                let response = kit.ask(&question, How::TcpDnssec);
                if response.sections[0].is_empty() {
                    prove(&response, &format!("{name}.{origin}"), origin, &question);
                }
            }
        }
    }
}

/// Checks the closest encloser proof, or the match, of an answer without data.
fn prove(response: &auth::inspect::Response, name: &str, origin: &str, question: &str) {
    use dnssec::nsec3::{Nsec3, covers, hash_of_label};
    let records: Vec<_> = response.sections[1].iter().filter(|record| record.rtype == rtype::NSEC3).collect();
    if response.types(1).starts_with("NS ") && records.is_empty() {
        assert!(response.types(1).contains("DS"), "{question}: a referral without DS and without proof");
        return;
    }
    assert!(!records.is_empty(), "{question}: no proof");
    let proves = |name: &str, is_match: bool| {
        let name: wire::NameBuf = name.parse().unwrap_or_else(|_| unreachable!());
        records.iter().any(|record| {
            let label = record.owner.labels().next().unwrap_or_default();
            let (Some(owner), Ok(nsec3)) = (hash_of_label(label), Nsec3::parse(&record.rdata)) else {
                return false;
            };
            let hash = nsec3.params.hash(&name);
            if is_match { hash == owner } else { covers(&owner, nsec3.next, &hash) }
        })
    };
    let ancestors: Vec<&str> = std::iter::successors(Some(name), |name| {
        (*name != origin).then(|| name.split_once('.').map_or(origin, |(_, rest)| rest))
    })
    .collect();
    let encloser = ancestors.iter().position(|ancestor| proves(ancestor, true));
    let Some(encloser) = encloser else { panic!("{question}: no closest encloser in {response:#?}") };
    if encloser > 0 {
        // The name, or the delegation above it, does not exist or is opted out: its next closer name is covered.
        let is_below_cut = response.types(1).starts_with("NS ") && proves(ancestors[encloser], true);
        assert!(
            proves(ancestors[encloser - 1], false) || is_below_cut,
            "{question}: next closer name not covered"
        );
    }
    let wildcard = format!("*.{}", ancestors[encloser]);
    let is_needed = response.rcode == rcode::NXDOMAIN;
    assert!(!is_needed || proves(&wildcard, false), "{question}: {wildcard} not covered");
}
