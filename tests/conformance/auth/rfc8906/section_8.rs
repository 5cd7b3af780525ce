//! The tests that the section gives, in its order: each must be answered, and this is how.

use zonda_tests::message::{DO, Edns, Query, flag};
use zonda_tests::response::Response;
use zonda_tests::rtype;

use crate::kit::{corners, rcode, tcp, udp};

const ZONE: &str = "nsec.test.";

/// A SOA record in the answer section, no error.
fn assert_soa(response: &Response) {
    assert_eq!(response.rcode(), rcode::NOERROR, "{response:#?}");
    assert!(response.answer.iter().any(|record| record.rtype == rtype::SOA), "{response:#?}");
    assert!(response.has(flag::AA));
}

#[test]
fn s8_1_1_the_server_is_configured_for_the_zone() {
    let response = udp(corners(), &Query::new(ZONE, rtype::SOA));
    assert_soa(&response);
    assert!(response.edns.is_none() && !response.has(flag::RA) && !response.has(flag::AD));
}

#[test]
fn s8_1_2_unknown_types() {
    let response = udp(corners(), &Query::new(ZONE, 1000));
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.answer.is_empty() && response.has(flag::AA) && response.edns.is_none());
}

#[test]
fn s8_1_3_header_bits() {
    for (set, may_return) in [(flag::CD, flag::CD), (flag::AD, flag::AD), (flag::Z, 0), (flag::RD, flag::RD)]
    {
        let response = udp(corners(), &Query::new(ZONE, rtype::SOA).flags(set));
        assert_soa(&response);
        assert_eq!(response.flags & (flag::Z | flag::RA | flag::TC), 0);
        assert_eq!(response.flags & set & !may_return, 0, "flag {set:04x} came back");
    }
}

#[test]
fn s8_1_4_unknown_opcodes() {
    let mut query = Query::new(ZONE, rtype::SOA).opcode(15);
    query.flags &= !flag::RD;
    let response = udp(corners(), &query);
    assert_eq!(response.rcode(), rcode::NOTIMP);
    assert_eq!(response.flags >> 11 & 0xf, 15);
    assert!(response.answer.is_empty());
}

#[test]
fn s8_1_5_tcp() {
    assert_soa(&tcp(corners(), &Query::new(ZONE, rtype::SOA)));
}

#[test]
fn s8_2_1_minimal_edns() {
    let response = udp(corners(), &Query::new(ZONE, rtype::SOA).edns(4096));
    assert_soa(&response);
    assert_eq!(response.edns.expect("an OPT record").version, 0);
}

#[test]
fn s8_2_2_edns_version() {
    let response = udp(corners(), &Query::new(ZONE, rtype::SOA).version(1));
    assert_eq!(response.rcode(), rcode::BADVERS);
    assert!(response.answer.is_empty());
    assert_eq!(response.edns.expect("an OPT record").version, 0);
}

#[test]
fn s8_2_3_edns_options() {
    let response = udp(corners(), &Query::new(ZONE, rtype::SOA).option(100, b""));
    assert_soa(&response);
    assert_eq!(response.option(100), None);
}

#[test]
fn s8_2_4_edns_flags() {
    let mut query = Query::new(ZONE, rtype::SOA);
    query.edns = Some(Edns { flags: 0x0040, ..Edns::default() });
    let response = udp(corners(), &query);
    assert_soa(&response);
    assert_eq!(response.edns.expect("an OPT record").flags, 0);
}

#[test]
fn s8_2_5_edns_version_with_flags() {
    let mut query = Query::new(ZONE, rtype::SOA);
    query.edns = Some(Edns { flags: 0x0040, version: 1, ..Edns::default() });
    let response = udp(corners(), &query);
    assert_eq!(response.rcode(), rcode::BADVERS);
    assert_eq!(response.edns.expect("an OPT record").flags, 0);
}

#[test]
fn s8_2_6_edns_version_with_options() {
    let response = udp(corners(), &Query::new(ZONE, rtype::SOA).version(1).option(100, b""));
    assert_eq!(response.rcode(), rcode::BADVERS);
    assert_eq!(response.option(100), None);
}

#[test]
fn s8_2_7_truncated_responses() {
    let response = udp(corners(), &Query::new(ZONE, rtype::DNSKEY).edns(512).dnssec());
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.edns.is_some());
}

#[test]
fn s8_2_8_do_is_preserved() {
    let response = udp(corners(), &Query::new(ZONE, rtype::SOA).edns(4096).dnssec());
    assert_soa(&response);
    assert_eq!(response.edns.expect("an OPT record").flags, DO);
}

#[test]
fn s8_2_9_several_defined_options() {
    // NSID, cookie, client subnet, expire: all may be ignored, none may spoil the answer.
    let query = Query::new(ZONE, rtype::SOA)
        .option(3, b"")
        .option(8, b"\0\x01\0\0")
        .option(9, b"")
        .option(10, b"\x01\x02\x03\x04\x05\x06\x07\x08");
    assert_soa(&udp(corners(), &query));
}
