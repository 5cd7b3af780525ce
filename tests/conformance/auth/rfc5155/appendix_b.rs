//! The example responses. Hashes are those of the RFC: salt aabbccdd, 12 iterations, opt-out.

use zonda_tests::message::{Query, flag};
use zonda_tests::response::Response;
use zonda_tests::rtype;

use crate::kit::{assert_records, assert_signed, owners, rcode, rfc5155, types, udp, words};

const EXAMPLE: &str = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example.";
const A: &str = "35mthgpgcu1qg68fab165klnsnk3dpvl.example.";
const NS1: &str = "2t7b4g4vsa5smi47k61mv5bv1a22bojr.example.";
const X_W: &str = "b4um86eghhds6nea196smvmlo4ors995.example.";
const W: &str = "k8udemvp1j2f7eg6jebps17vp3n8i58h.example.";
const Y_W: &str = "ji6neoaepv8b5o6k4ev33abha8ht9fgc.example.";
const NS2: &str = "q04jkcevqvmu85r014c7dkba38o0ji5r.example.";
const WILDCARD_W: &str = "r53bq7cc2uvmubfu5ocmm6pers9tk9en.example.";

fn ask(name: &str, qtype: u16) -> Response {
    udp(rfc5155(), &Query::new(name, qtype).edns(4096).dnssec())
}

/// Owners of the NSEC3 records of the response, all of them signed.
fn assert_proof(response: &Response, expected: &[&str]) {
    let expected = expected.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(owners(&response.authority, rtype::NSEC3), expected);
    assert_signed(&response.authority, &[rtype::NS]);
}

#[test]
fn b1_name_error() {
    let response = ask("a.c.x.w.example.", rtype::A);
    assert_eq!(response.rcode(), rcode::NXDOMAIN);
    // Covers c.x.w; matches x.w; covers *.x.w.
    assert_proof(&response, &[EXAMPLE, X_W, A]);
}

#[test]
fn b2_no_data() {
    let response = ask("ns1.example.", rtype::MX);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert_proof(&response, &[NS1]);
}

#[test]
fn b2_1_no_data_at_an_empty_non_terminal() {
    let response = ask("y.w.example.", rtype::A);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.has(flag::AA) && response.answer.is_empty());
    assert_proof(&response, &[Y_W]);
}

#[test]
fn b3_referral_to_an_opt_out_unsigned_zone() {
    let response = ask("mc.c.example.", rtype::MX);
    assert!(!response.has(flag::AA));
    assert_eq!(types(&response.authority), words("NS NSEC3 RRSIG(NSEC3)"));
    // Covers c with opt-out; matches the closest provable encloser, the apex.
    assert_proof(&response, &[A, EXAMPLE]);
    assert_records(
        &response.additional,
        "ns1.c.example. 3600 IN A 192.0.2.7\nns2.c.example. 3600 IN A 192.0.2.8",
    );
}

#[test]
fn b4_wildcard_expansion() {
    let response = ask("a.z.w.example.", rtype::MX);
    assert_records(&response.answer, "a.z.w.example. 3600 IN MX 1 ai.example.");
    // Covers z.w, the next closer name.
    assert_proof(&response, &[NS2]);
}

#[test]
fn b5_wildcard_no_data() {
    let response = ask("a.z.w.example.", rtype::AAAA);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.answer.is_empty());
    // Matches w; covers z.w; matches *.w.
    assert_proof(&response, &[W, NS2, WILDCARD_W]);
}

#[test]
fn b6_ds_child_zone_no_data() {
    let response = ask("example.", rtype::DS);
    assert!(response.has(flag::AA) && response.answer.is_empty());
    assert_proof(&response, &[EXAMPLE]);
}
