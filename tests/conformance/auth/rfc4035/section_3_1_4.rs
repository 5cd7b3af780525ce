//! Referrals: DS, or proof that there is none.

use zonda_tests::message::{Query, flag};
use zonda_tests::rtype;

use crate::kit::{corners, owners, tcp, types, udp, words};

#[test]
fn a_signed_delegation_carries_ds() {
    let response = udp(corners(), &Query::new("www.signed.nsec.test.", rtype::A).dnssec());
    assert!(!response.has(flag::AA));
    assert_eq!(types(&response.authority), words("NS DS RRSIG(DS)"));
}

#[test]
fn an_unsigned_delegation_carries_nsec() {
    let response = udp(corners(), &Query::new("www.cut.nsec.test.", rtype::A).dnssec());
    assert_eq!(types(&response.authority), words("NS NSEC RRSIG(NSEC)"));
    assert_eq!(owners(&response.authority, rtype::NSEC), words("cut.nsec.test."));
}

#[test]
fn ds_of_a_delegation_is_answered_by_the_parent() {
    // The server holds both sides of this cut.
    let response = udp(corners(), &Query::new("nsec.test.", rtype::DS).dnssec());
    assert!(response.has(flag::AA));
    assert_eq!(types(&response.answer), words("DS RRSIG(DS)"));
    // The other side has the keys.
    let response = udp(corners(), &Query::new("nsec.test.", rtype::DNSKEY).dnssec());
    assert_eq!(types(&response.answer), words("DNSKEY RRSIG(DNSKEY)"));
}

#[test]
fn no_ds_is_proved_by_the_parent() {
    let response = udp(corners(), &Query::new("corners.test.", rtype::DS).dnssec());
    assert!(response.has(flag::AA) && response.answer.is_empty());
    assert_eq!(types(&response.authority), words("SOA RRSIG(SOA) NSEC RRSIG(NSEC)"));
    assert_eq!(owners(&response.authority, rtype::SOA), words("test."));
}

#[test]
fn a_zone_that_is_not_signed_tells_no_ds_unasked() {
    let response = udp(corners(), &Query::new("www.signed.corners.test.", rtype::A).dnssec());
    assert_eq!(types(&response.authority), words("NS"), "DS without a signature proves nothing");
    let response = udp(corners(), &Query::new("signed.corners.test.", rtype::DS).dnssec());
    assert_eq!(types(&response.answer), words("DS"));
}

#[test]
fn addresses_of_the_zone_itself_are_signed_in_referrals() {
    let response = tcp(corners(), &Query::new("www.under.ent3.nsec.test.", rtype::A).dnssec());
    for record in
        response.additional.iter().filter(|record| record.owner.lower().to_string() == "ns1.nsec.test.")
    {
        let signed = |other: &zonda_tests::response::Record| other.covered() == Some(record.rtype);
        assert!(
            record.rtype == rtype::RRSIG || response.additional.iter().any(signed),
            "RFC 4035 3.1.1: {record:?}"
        );
    }
}
