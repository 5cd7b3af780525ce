//! Header: what is copied, what is cleared, what is not implemented.

use zonda_tests::message::{Query, flag, header, question};
use zonda_tests::name::Name;
use zonda_tests::rtype;

use crate::kit::{assert_formerr, corners, raw, rcode, udp};

#[test]
fn id_and_question_are_copied_and_qr_is_set() {
    for id in [0, 1, 0x8000, 0xffff] {
        let response = udp(corners(), &Query::new("www.corners.test.", rtype::A).id(id));
        assert_eq!(response.questions, [(Name::parse("www.corners.test."), rtype::A, 1)]);
        assert_eq!(response.rcode(), rcode::NOERROR);
    }
}

#[test]
fn rd_is_copied_and_ra_is_clear() {
    for flags in [0, flag::RD] {
        let response = udp(corners(), &Query::new("www.corners.test.", rtype::A).flags(flags));
        assert_eq!(response.flags & flag::RD, flags);
        assert!(!response.has(flag::RA), "an authoritative server offers no recursion");
    }
}

#[test]
fn flags_that_mean_nothing_in_a_query_are_not_copied() {
    let query =
        Query::new("cut.corners.test.", rtype::A).flags(flag::AA | flag::TC | flag::RA | flag::Z | 0xf);
    let response = udp(corners(), &query);
    assert_eq!(response.flags, flag::QR, "a referral: no AA, no TC, no RA, no Z, RCODE zero");
}

#[test]
fn a_response_is_never_answered() {
    let query = Query::new("www.corners.test.", rtype::A).flags(flag::QR);
    assert_eq!(raw(corners(), &query.octets()), None, "two servers would answer each other for ever");
}

#[test]
fn less_than_a_header_is_not_answered() {
    let whole = Query::new("www.corners.test.", rtype::A).octets();
    for octets in 0..12 {
        assert_eq!(raw(corners(), &whole[..octets]), None, "{octets} octets");
    }
}

#[test]
fn unknown_operations_are_not_implemented() {
    for opcode in [1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] {
        let query = Query::new("corners.test.", rtype::SOA).opcode(opcode).edns(1232);
        let response = udp(corners(), &query);
        assert_eq!(response.rcode(), rcode::NOTIMP, "operation {opcode}");
        assert_eq!(response.flags >> 11 & 0xf, opcode, "the operation is copied");
        assert!(!response.has(flag::AA));
    }
}

#[test]
fn notify_and_update_are_turned_down() {
    // NOTIMP, REFUSED or NOTAUTH (RFC 2136 2.2): all say that nothing was done.
    for opcode in [4, 5] {
        let response = udp(corners(), &Query::new("corners.test.", rtype::SOA).opcode(opcode));
        assert!([4, 5, 9].contains(&response.rcode()), "{response:#?}");
    }
}

#[test]
fn no_question_is_a_format_error() {
    assert_formerr(corners(), &header(7, 0, [0, 0, 0, 0]));
}

#[test]
fn two_questions_are_a_format_error() {
    let mut message = header(8, 0, [2, 0, 0, 0]);
    for name in ["www.corners.test.", "mail.corners.test."] {
        question(&mut message, &Name::parse(name), rtype::A, 1);
    }
    assert_formerr(corners(), &message);
}

#[test]
fn counts_that_promise_more_than_there_is_are_a_format_error() {
    for counts in [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [65535, 0, 0, 0], [1, 65535, 65535, 65535]] {
        let mut message = header(9, 0, counts);
        question(&mut message, &Name::parse("www.corners.test."), rtype::A, 1);
        assert_formerr(corners(), &message);
    }
}
