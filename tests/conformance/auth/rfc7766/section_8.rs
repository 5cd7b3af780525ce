//! Framing that is wrong ends the connection and nothing else.

use std::io::{Read, Write};

use zonda_tests::exchange::{read_framed, tcp_stream, write_framed};
use zonda_tests::message::Query;
use zonda_tests::response::Response;
use zonda_tests::rtype;

use crate::kit::{corners, rcode, udp};

#[test]
fn an_empty_or_tiny_message_does_no_harm() {
    for junk in [&b"\0\0"[..], b"\0\x01x", b"\0\x0bshort octets"] {
        let mut stream = tcp_stream(corners().address).expect("a connection");
        stream.write_all(junk).expect("junk");
        // The server may close or wait for more; it may not answer.
        write_framed(&mut stream, &Query::new("www.corners.test.", rtype::A).octets()).ok();
        let mut rest = Vec::new();
        stream.shutdown(std::net::Shutdown::Write).ok();
        stream.read_to_end(&mut rest).ok();
        let response = udp(corners(), &Query::new("www.corners.test.", rtype::A));
        assert_eq!(response.rcode(), rcode::NOERROR);
    }
}

#[test]
fn a_malformed_query_is_answered_and_the_next_one_too() {
    let mut stream = tcp_stream(corners().address).expect("a connection");
    let whole = Query::new("www.corners.test.", rtype::A).octets();
    write_framed(&mut stream, &whole[..20]).expect("part of a query");
    let answer = Response::parse(&read_framed(&mut stream).expect("an answer")).expect("a sound answer");
    assert_eq!(answer.rcode(), rcode::FORMERR);
    write_framed(&mut stream, &whole).expect("a query");
    let answer = Response::parse(&read_framed(&mut stream).expect("an answer")).expect("a sound answer");
    assert_eq!(answer.rcode(), rcode::NOERROR);
}

#[test]
fn half_a_length_does_not_stop_others() {
    let mut waiting: Vec<_> = (0..10).map(|_| tcp_stream(corners().address).expect("a connection")).collect();
    for stream in &mut waiting {
        stream.write_all(b"\0").expect("half a length");
    }
    let mut stream = tcp_stream(corners().address).expect("a connection");
    write_framed(&mut stream, &Query::new("www.corners.test.", rtype::A).octets()).expect("a query");
    assert!(read_framed(&mut stream).is_ok());
}
