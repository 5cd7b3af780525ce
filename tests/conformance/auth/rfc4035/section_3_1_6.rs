//! AD and CD.

use zonda_tests::message::{Query, flag};
use zonda_tests::rtype;

use crate::kit::{corners, udp};

#[test]
fn ad_is_never_set() {
    for flags in [0, flag::AD] {
        for name in ["www.nsec.test.", "absent.nsec.test.", "www.corners.test."] {
            let response = udp(corners(), &Query::new(name, rtype::A).dnssec().flags(flags));
            assert!(!response.has(flag::AD), "an authoritative server validates nothing");
        }
    }
}

#[test]
fn cd_is_cleared() {
    let response = udp(corners(), &Query::new("www.nsec.test.", rtype::A).dnssec().flags(flag::CD));
    assert!(!response.has(flag::CD));
    assert!(!response.answer.is_empty());
}
