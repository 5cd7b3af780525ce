//! Versions.

use zonda_tests::message::Query;
use zonda_tests::rtype;

use crate::kit::{corners, rcode, udp};

#[test]
fn other_versions_are_badvers() {
    for version in [1, 2, 100, 255] {
        let response = udp(corners(), &Query::new("www.corners.test.", rtype::A).version(version));
        assert_eq!(response.rcode(), rcode::BADVERS, "version {version}");
        assert!(response.answer.is_empty() && response.authority.is_empty(), "{response:#?}");
        assert_eq!(response.edns.expect("an OPT record").version, 0, "the version that the server speaks");
    }
}

#[test]
fn the_version_is_judged_before_the_options() {
    let response = udp(corners(), &Query::new("www.corners.test.", rtype::A).version(1).option(65001, b"x"));
    assert_eq!(response.rcode(), rcode::BADVERS);
    assert_eq!(response.edns.expect("an OPT record").options, []);
}
