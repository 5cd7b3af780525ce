//! Payload size.

use zonda_tests::message::{Query, flag};
use zonda_tests::rtype;

use crate::kit::{corners, tcp, udp};

#[test]
fn the_limit_of_the_client_is_kept() {
    for octets in [512, 513, 600, 800, 1000, 1200, 1231, 1232] {
        for name in ["t500", "t1000", "t1177", "t1200", "t4000"] {
            let response = udp(corners(), &Query::new(&format!("{name}.big.test."), rtype::TXT).edns(octets));
            assert!(response.octets <= usize::from(octets), "{name}: {} octets of {octets}", response.octets);
        }
    }
}

#[test]
fn less_than_512_means_512() {
    for octets in [0, 1, 100, 511] {
        let response = udp(corners(), &Query::new("t400.big.test.", rtype::TXT).edns(octets));
        assert!(!response.has(flag::TC), "payload {octets}");
        assert!(response.octets > 400);
    }
}

#[test]
fn no_answer_over_udp_needs_fragments() {
    for octets in [1232, 1452, 4096, 65535] {
        let response = udp(corners(), &Query::new("t4000.big.test.", rtype::TXT).edns(octets));
        assert!(response.octets <= 1232, "{} octets", response.octets);
        assert!(response.has(flag::TC));
    }
}

#[test]
fn over_tcp_the_payload_size_means_nothing() {
    let response = tcp(corners(), &Query::new("t4000.big.test.", rtype::TXT).edns(512));
    assert!(!response.has(flag::TC) && response.octets > 4000);
}

#[test]
fn a_truncated_response_keeps_its_opt() {
    let response = udp(corners(), &Query::new("t4000.big.test.", rtype::TXT).edns(512));
    assert!(response.has(flag::TC));
    assert!(response.edns.is_some(), "RFC 6891 7");
}
