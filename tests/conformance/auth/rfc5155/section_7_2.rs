//! Name server behaviour beyond the examples.

use zonda_tests::message::{Query, flag};
use zonda_tests::rtype;

use crate::kit::{assert_records, corners, owners, rcode, rfc5155, types, udp, words};

#[test]
fn a_hashed_owner_name_does_not_exist_by_itself() {
    // RFC 5155 7.2.8: the owner of an NSEC3 record with no other data is answered as if it were not there.
    let name = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example.";
    for qtype in [rtype::A, rtype::NSEC3] {
        let response = udp(rfc5155(), &Query::new(name, qtype).edns(4096).dnssec());
        assert_eq!(response.rcode(), rcode::NXDOMAIN, "{response:#?}");
        assert!(response.answer.is_empty());
    }
}

#[test]
fn a_hashed_owner_name_with_data_has_that_data() {
    // This name of the zone happens to be the hash of ns1.example.
    let name = "2t7b4g4vsa5smi47k61mv5bv1a22bojr.example.";
    let response = udp(rfc5155(), &Query::new(name, rtype::A).dnssec());
    assert_records(&response.answer, &format!("{name} 3600 IN A 192.0.2.127"));
    let response = udp(rfc5155(), &Query::new(name, rtype::MX).edns(4096).dnssec());
    assert_eq!(response.rcode(), rcode::NOERROR);
    // Proved by the NSEC3 record of that name's own hash.
    assert_eq!(owners(&response.authority, rtype::NSEC3), words("kohar7mbb8dc2ce8a9qvl8hon4k53uhi.example."));
}

#[test]
fn ds_of_an_opted_out_delegation() {
    let response = udp(rfc5155(), &Query::new("c.example.", rtype::DS).edns(4096).dnssec());
    assert!(response.has(flag::AA) && response.answer.is_empty());
    assert_eq!(response.rcode(), rcode::NOERROR);
    let proof = words("0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example. 35mthgpgcu1qg68fab165klnsnk3dpvl.example.");
    assert_eq!(owners(&response.authority, rtype::NSEC3), proof);
}

#[test]
fn parameters_are_served_and_proofs_follow_them() {
    let response = udp(corners(), &Query::new("absent.ent.nsec3.test.", rtype::A).edns(4096).dnssec());
    assert_eq!(response.rcode(), rcode::NXDOMAIN);
    assert_eq!(types(&response.authority), words("SOA RRSIG(SOA) NSEC3 RRSIG(NSEC3)"));
    assert!((2..=3).contains(&owners(&response.authority, rtype::NSEC3).len()));
}
