//! Question: class, and types that are questions only.

use zonda_tests::message::Query;
use zonda_tests::rtype;

use crate::kit::{corners, rcode, udp};

#[test]
fn other_classes_are_refused() {
    for class in [2, 4, 254, 4096] {
        let response = udp(corners(), &Query::new("www.corners.test.", rtype::A).class(class));
        assert_eq!(response.rcode(), rcode::REFUSED, "class {class}");
        assert!(response.answer.is_empty());
    }
}

#[test]
fn whole_transfers_are_not_made_over_udp() {
    // RFC 5936 4.2: AXFR over UDP is not defined. Whatever the RCODE, no zone comes back.
    let response = udp(corners(), &Query::new("corners.test.", rtype::AXFR));
    assert_ne!(response.rcode(), rcode::NOERROR, "{response:#?}");
    assert!(response.answer.is_empty());
}

#[test]
fn meta_types_find_no_data() {
    // MAILB, MAILA (RFC 1035 3.2.3) and TYPE0 exist nowhere.
    for qtype in [0, 253, 254] {
        let response = udp(corners(), &Query::new("www.corners.test.", qtype));
        assert!(response.answer.is_empty(), "TYPE{qtype}: {response:#?}");
    }
}

#[test]
fn opt_and_tsig_are_no_types_to_ask_for() {
    for qtype in [rtype::OPT, rtype::TSIG, 249] {
        let response = udp(corners(), &Query::new("www.corners.test.", qtype));
        assert!(response.answer.is_empty(), "TYPE{qtype}: {response:#?}");
    }
}
