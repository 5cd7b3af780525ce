//! Names in queries: pointers and labels that are wrong.

use zonda_tests::message::{Query, header};
use zonda_tests::rtype;

use crate::kit::{assert_formerr, corners, raw, rcode};

/// A query whose QNAME is these octets.
fn with_qname(qname: &[u8]) -> Vec<u8> {
    let mut message = header(0x0c0c, 0, [1, 0, 0, 0]);
    message.extend_from_slice(qname);
    message.extend_from_slice(&[0, 1, 0, 1]);
    message
}

#[test]
fn pointers_in_the_question_lead_nowhere() {
    // There is no prior name to point to: itself, the header, forward, beyond the end.
    for qname in
        [&b"\xc0\x0c"[..], b"\xc0\x00", b"\xc0\x0d", b"\xff\xff", b"\x01a\xc0\x0c", b"\x01a\xc0\x0e\x00"]
    {
        let response = raw(corners(), &with_qname(qname)).expect("an answer");
        assert_eq!(response.rcode(), rcode::FORMERR, "{qname:02x?}");
    }
}

#[test]
fn reserved_label_types_are_a_format_error() {
    for first in [0x40, 0x41, 0x7f, 0x80, 0xbf] {
        let mut qname = vec![first];
        qname.extend_from_slice(&[b'a'; 64]);
        qname.push(0);
        assert_formerr(corners(), &with_qname(&qname));
    }
}

#[test]
fn names_longer_than_255_octets_are_a_format_error() {
    let mut qname = Vec::new();
    for _ in 0..128 {
        qname.extend_from_slice(b"\x01a");
    }
    qname.push(0);
    assert_eq!(qname.len(), 257);
    assert_formerr(corners(), &with_qname(&qname));
}

#[test]
fn a_question_cut_short_is_a_format_error() {
    let whole = Query::new("www.corners.test.", rtype::A).octets();
    for octets in 12..whole.len() {
        assert_formerr(corners(), &whole[..octets]);
    }
}
