//! Unknown types are served as they are.

use zonda_tests::message::Query;
use zonda_tests::rtype;

use crate::kit::{assert_records, corners, rcode, udp};

#[test]
fn data_of_unknown_types_is_opaque() {
    let response = udp(corners(), &Query::new("unknown.corners.test.", 65400));
    assert_records(&response.answer, "unknown.corners.test. 3600 IN TYPE65400 \\# 5 0102030405");
    let response = udp(corners(), &Query::new("unknown.corners.test.", 65401));
    assert_records(&response.answer, "unknown.corners.test. 3600 IN TYPE65401 \\# 0");
}

#[test]
fn unknown_types_that_are_not_there_are_no_data() {
    for qtype in [65402, 1000, 32770] {
        let response = udp(corners(), &Query::new("www.corners.test.", qtype));
        assert_eq!(response.rcode(), rcode::NOERROR);
        assert!(response.answer.is_empty());
        assert_eq!(response.authority.iter().filter(|record| record.rtype == rtype::SOA).count(), 1);
    }
}
