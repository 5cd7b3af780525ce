//! The example responses.

use zonda_tests::message::{Query, flag};
use zonda_tests::response::Response;
use zonda_tests::rtype;

use crate::kit::{assert_records, assert_signed, owners, rcode, rfc4035, types, udp, words};

fn ask(name: &str, qtype: u16) -> Response {
    udp(rfc4035(), &Query::new(name, qtype).dnssec())
}

#[test]
fn b1_answer() {
    let response = ask("x.w.example.", rtype::MX);
    assert!(response.has(flag::AA));
    assert_records(&response.answer, "x.w.example. 3600 IN MX 1 xx.example.");
    assert_signed(&response.answer, &[]);
    assert_eq!(types(&response.additional), words("A RRSIG(A) AAAA RRSIG(AAAA)"));
}

#[test]
fn b2_name_error() {
    let response = ask("ml.example.", rtype::A);
    assert_eq!(response.rcode(), rcode::NXDOMAIN);
    assert_eq!(owners(&response.authority, rtype::NSEC), words("b.example. example."));
    assert_signed(&response.authority, &[]);
}

#[test]
fn b3_no_data() {
    let response = ask("ns1.example.", rtype::MX);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert_eq!(owners(&response.authority, rtype::NSEC), words("ns1.example."));
    assert_signed(&response.authority, &[]);
}

#[test]
fn b4_referral_to_a_signed_zone() {
    let response = ask("mc.a.example.", rtype::MX);
    assert!(!response.has(flag::AA));
    assert_eq!(types(&response.authority), words("NS DS RRSIG(DS)"));
    assert_records(
        &response.additional,
        "ns1.a.example. 3600 IN A 192.0.2.5\nns2.a.example. 3600 IN A 192.0.2.6",
    );
}

#[test]
fn b5_referral_to_an_unsigned_zone() {
    let response = ask("mc.b.example.", rtype::MX);
    assert_eq!(types(&response.authority), words("NS NSEC RRSIG(NSEC)"));
    assert_eq!(owners(&response.authority, rtype::NSEC), words("b.example."));
}

#[test]
fn b6_wildcard_expansion() {
    let response = ask("a.z.w.example.", rtype::MX);
    assert_records(&response.answer, "a.z.w.example. 3600 IN MX 1 ai.example.");
    let signature = response.answer.iter().find(|record| record.rtype == rtype::RRSIG).expect("a signature");
    assert_eq!(signature.rdata[3], 2, "labels of *.w.example without the asterisk");
    assert_eq!(owners(&response.authority, rtype::NSEC), words("x.y.w.example."));
}

#[test]
fn b7_wildcard_no_data() {
    let response = ask("a.z.w.example.", rtype::AAAA);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.answer.is_empty());
    assert_eq!(owners(&response.authority, rtype::NSEC), words("x.y.w.example. *.w.example."));
    assert_signed(&response.authority, &[]);
}

#[test]
fn b8_ds_child_zone_no_data() {
    let response = ask("example.", rtype::DS);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.has(flag::AA) && response.answer.is_empty());
    assert_eq!(owners(&response.authority, rtype::NSEC), words("example."));
}
