//! Extended errors.

use zonda_tests::message::Query;
use zonda_tests::rtype;
use zonda_tests::server::Kind;

use crate::kit::{corners, rcode, udp};

/// INFO-CODE "Not Authoritative" (RFC 8914 4.21).
const NOT_AUTHORITATIVE: u16 = 20;

#[test]
fn a_refused_name_is_told_to_be_none_of_ours() {
    if Kind::under_test() == Kind::Named {
        return; // named 9.18 says nothing.
    }
    let response = udp(corners(), &Query::new("elsewhere.example.", rtype::A).edns(1232));
    assert_eq!(response.rcode(), rcode::REFUSED);
    assert_eq!(response.extended_error(), Some(NOT_AUTHORITATIVE));
}

#[test]
fn without_edns_there_is_no_extended_error() {
    let response = udp(corners(), &Query::new("elsewhere.example.", rtype::A));
    assert_eq!(response.rcode(), rcode::REFUSED);
    assert!(response.edns.is_none());
}

#[test]
fn answers_without_error_carry_none() {
    for name in ["www.corners.test.", "absent.cut.corners.test."] {
        let response = udp(corners(), &Query::new(name, rtype::A).edns(1232));
        assert_eq!(response.extended_error(), None, "{name}");
    }
}
