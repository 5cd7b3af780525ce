//! What DO changes.

use zonda_tests::message::{DO, Query};
use zonda_tests::rtype;

use crate::kit::{assert_signed, corners, rcode, tcp, types, udp, words};

#[test]
fn without_do_there_are_no_signatures_and_proofs() {
    for (name, qtype) in
        [("www", rtype::A), ("absent.ent", rtype::A), ("www", rtype::MX), ("signed", rtype::A)]
    {
        for query in [
            Query::new(&format!("{name}.nsec.test."), qtype),
            Query::new(&format!("{name}.nsec.test."), qtype).edns(1232),
        ] {
            let response = udp(corners(), &query);
            for section in [&response.answer, &response.authority, &response.additional] {
                let found = types(section);
                let dnssec =
                    |name: &String| name.starts_with("RRSIG") || name.starts_with("NSEC") || name == "DS";
                assert!(!found.iter().any(dnssec), "{name}: {found:?}");
            }
        }
    }
}

#[test]
fn with_do_every_rrset_is_signed() {
    let response = udp(corners(), &Query::new("www.nsec.test.", rtype::A).dnssec());
    assert_eq!(types(&response.answer), words("A RRSIG(A)"));
    assert_signed(&response.authority, &[]);
    assert_signed(&response.additional, &[]);
}

#[test]
fn additional_data_of_a_wildcard_has_its_signatures() {
    // RFC 4592 2.1.1: `any.wild` does not exist, and has the addresses of `*.wild`.
    for origin in ["nsec.test.", "nsec3.test."] {
        let mut additional =
            tcp(corners(), &Query::new(&format!("mx.{origin}"), rtype::MX).dnssec()).additional;
        additional.retain(|record| record.owner.lower().to_string() == format!("any.wild.{origin}"));
        assert_eq!(types(&additional), words("A RRSIG(A)"));
    }
}

#[test]
fn do_is_copied_into_the_response() {
    for flags in [0, DO] {
        let mut query = Query::new("www.nsec.test.", rtype::A).edns(1232);
        query.edns.get_or_insert_default().flags = flags;
        let edns = udp(corners(), &query).edns.expect("an OPT record");
        assert_eq!(edns.flags, flags, "RFC 3225 3");
    }
}

#[test]
fn types_of_dnssec_are_served_when_asked_for() {
    let response = udp(corners(), &Query::new("www.nsec.test.", rtype::NSEC));
    assert_eq!(types(&response.answer), words("NSEC"));
    let response = udp(corners(), &Query::new("nsec.test.", rtype::DNSKEY).dnssec());
    assert_eq!(types(&response.answer), words("DNSKEY RRSIG(DNSKEY)"));
    let response = udp(corners(), &Query::new("nsec3.test.", rtype::NSEC3PARAM).dnssec());
    assert_eq!(types(&response.answer), words("NSEC3PARAM RRSIG(NSEC3PARAM)"));
}

#[test]
fn signatures_are_served_when_asked_for() {
    let response = udp(corners(), &Query::new("zero.nsec.test.", rtype::RRSIG).edns(1232));
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(!response.answer.is_empty());
    assert!(response.answer.iter().all(|record| record.rtype == rtype::RRSIG), "{response:#?}");
}
