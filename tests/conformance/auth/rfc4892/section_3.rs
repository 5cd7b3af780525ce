//! Who are you: TXT in class CH.

use zonda_tests::message::Query;
use zonda_tests::rtype;
use zonda_tests::server::Kind;

use crate::kit::{corners, plain, rcode, udp};

const NAMES: [(&str, &str); 3] = [
    ("version.bind.", "zonda under test"),
    ("hostname.bind.", "host.zonda.test"),
    ("id.server.", "id.zonda.test"),
];

#[test]
fn what_is_set_is_told() {
    if Kind::under_test() != Kind::Zonda {
        return; // The peers are not told what to say.
    }
    for (name, text) in NAMES {
        let response = udp(corners(), &Query::new(name, rtype::TXT).class(3));
        assert_eq!(response.rcode(), rcode::NOERROR, "{name}");
        assert_eq!(response.answer.len(), 1);
        assert_eq!(response.answer[0].class, 3);
        assert_eq!(response.answer[0].rdata[1..], *text.as_bytes());
    }
}

#[test]
fn what_is_not_set_is_refused() {
    if Kind::under_test() != Kind::Zonda {
        return; // The peers tell their version by default.
    }
    for (name, _) in NAMES {
        let response = udp(plain(), &Query::new(name, rtype::TXT).class(3));
        assert_eq!(response.rcode(), rcode::REFUSED, "{name}");
        assert!(response.answer.is_empty());
    }
}

#[test]
fn other_names_in_class_ch_are_refused() {
    for name in ["www.corners.test.", "authors.test.", "."] {
        let response = udp(corners(), &Query::new(name, rtype::TXT).class(3));
        assert_eq!(response.rcode(), rcode::REFUSED, "{name}");
    }
}
