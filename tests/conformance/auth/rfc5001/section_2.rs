//! NSID: told when it is set and asked for.

use zonda_tests::message::Query;
use zonda_tests::rtype;
use zonda_tests::server::Kind;

use crate::kit::{corners, plain, rcode, udp};

/// Option code of NSID.
const NSID: u16 = 3;

#[test]
fn the_identifier_is_told_when_asked_for() {
    if Kind::under_test() != Kind::Zonda {
        return; // The peers are given no identifier.
    }
    for name in ["www.corners.test.", "absent.corners.test.", "elsewhere.example."] {
        let response = udp(corners(), &Query::new(name, rtype::A).option(NSID, b""));
        assert_eq!(response.option(NSID), Some(&b"ns7.zonda.test"[..]), "{name}");
    }
}

#[test]
fn nobody_is_told_unasked() {
    let response = udp(corners(), &Query::new("www.corners.test.", rtype::A).edns(1232));
    assert_eq!(response.option(NSID), None);
}

#[test]
fn without_an_identifier_the_option_is_ignored() {
    let response = udp(plain(), &Query::new("www.corners.test.", rtype::A).option(NSID, b""));
    assert_eq!(response.rcode(), rcode::NOERROR);
    if Kind::under_test() == Kind::Zonda {
        assert_eq!(response.option(NSID), None);
    }
}
