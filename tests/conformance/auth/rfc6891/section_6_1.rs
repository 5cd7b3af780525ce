//! The OPT record: where it may be, what it may look like.

use zonda_tests::message::{DO, Edns, Query, header, opt, question, record};
use zonda_tests::name::Name;
use zonda_tests::rtype;

use crate::kit::{assert_formerr, corners, raw, rcode, udp};

/// Header and question, with this many records promised in the additional section.
fn begun(additional: u16) -> Vec<u8> {
    let mut message = header(0x0e0e, 0, [1, 0, 0, additional]);
    question(&mut message, &Name::parse("www.corners.test."), rtype::A, 1);
    message
}

#[test]
fn opt_is_answered_with_opt_and_nothing_with_nothing() {
    let query = Query::new("www.corners.test.", rtype::A);
    assert!(udp(corners(), &query).edns.is_none());
    for name in ["www.corners.test.", "absent.cut.corners.test.", "elsewhere.example."] {
        let edns = udp(corners(), &Query::new(name, rtype::A).edns(1232)).edns.expect("an OPT record");
        assert_eq!(edns.version, 0);
        assert!(edns.payload_octets >= 512, "{}", edns.payload_octets);
    }
}

#[test]
fn two_opt_records_are_a_format_error() {
    let mut message = begun(2);
    opt(&mut message, &Edns::default());
    opt(&mut message, &Edns::default());
    assert_formerr(corners(), &message);
}

#[test]
fn an_owner_other_than_the_root_is_a_format_error() {
    let mut message = begun(1);
    record(&mut message, &Name::parse("a."), rtype::OPT, 1232, 0, b"");
    assert_formerr(corners(), &message);
}

#[test]
fn options_that_run_out_of_the_record_are_a_format_error() {
    for rdata in [&b"\0"[..], b"\0\x03", b"\0\x03\0", b"\0\x03\0\x01", b"\0\x03\xff\xff", b"\0\x03\0\0\0"] {
        let mut message = begun(1);
        record(&mut message, &Name::root(), rtype::OPT, 1232, 0, rdata);
        assert_formerr(corners(), &message);
    }
}

#[test]
fn a_record_cut_short_is_a_format_error() {
    let whole = Query::new("www.corners.test.", rtype::A).option(65001, b"0123456789").octets();
    let bare = Query::new("www.corners.test.", rtype::A).octets().len();
    for octets in bare..whole.len() {
        assert_formerr(corners(), &whole[..octets]);
    }
}

#[test]
fn unknown_options_are_ignored_and_not_sent_back() {
    let query = Query::new("www.corners.test.", rtype::A).option(65001, b"anything").option(100, b"");
    let response = udp(corners(), &query);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(!response.answer.is_empty());
    assert_eq!(response.edns.expect("an OPT record").options, []);
}

#[test]
fn reserved_flags_are_ignored_and_cleared() {
    let mut query = Query::new("www.corners.test.", rtype::A);
    query.edns = Some(Edns { flags: 0x7fff, ..Edns::default() });
    let response = udp(corners(), &query);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert_eq!(response.edns.expect("an OPT record").flags & !DO, 0);
}

#[test]
fn a_query_as_long_as_a_datagram_may_be_is_read() {
    let query = Query::new("www.corners.test.", rtype::A).option(65001, &[0; 1100]);
    let response = raw(corners(), &query.octets()).expect("an answer");
    assert_eq!(response.rcode(), rcode::NOERROR);
}
