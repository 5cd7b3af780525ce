//! Connections: several queries on one, pipelined, in any pieces.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use zonda_tests::exchange::{read_framed, tcp_stream, write_framed};
use zonda_tests::message::Query;
use zonda_tests::response::Response;
use zonda_tests::rtype;

use crate::kit::corners;

/// Framed queries with these IDs, one behind the other.
fn framed(ids: std::ops::Range<u16>) -> Vec<u8> {
    let mut stream = Vec::new();
    for id in ids {
        write_framed(&mut stream, &Query::new("www.corners.test.", rtype::A).id(id).octets())
            .expect("a vector grows");
    }
    stream
}

/// Reads this many answers and returns their IDs.
fn ids(stream: &mut impl std::io::Read, count: usize) -> BTreeSet<u16> {
    let answer = |_| {
        let message = read_framed(stream).expect("an answer");
        let response = Response::parse(&message).expect("a sound answer");
        assert_eq!(response.answer.len(), 2, "{response:#?}");
        response.id
    };
    (0..count).map(answer).collect()
}

#[test]
fn queries_one_after_the_other() {
    let mut stream = tcp_stream(corners().address).expect("a connection");
    for id in 0..5 {
        stream.write_all(&framed(id..id + 1)).expect("a query");
        assert_eq!(ids(&mut stream, 1), [id].into());
    }
}

#[test]
fn pipelined_queries_are_all_answered() {
    let mut stream = tcp_stream(corners().address).expect("a connection");
    stream.write_all(&framed(0..200)).expect("queries");
    assert_eq!(ids(&mut stream, 200), (0..200).collect());
}

#[test]
fn queries_may_come_in_any_pieces() {
    let octets = framed(0..6);
    for piece in [1, 2, 3, 7, 33, 35, 50] {
        let mut stream = tcp_stream(corners().address).expect("a connection");
        for part in octets.chunks(piece) {
            stream.write_all(part).expect("part of a query");
            if piece < 8 {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        assert_eq!(ids(&mut stream, 6), (0..6).collect(), "pieces of {piece} octets");
    }
}

#[test]
fn a_client_that_sends_no_more_still_gets_its_answers() {
    let mut stream = tcp_stream(corners().address).expect("a connection");
    stream.write_all(&framed(0..10)).expect("queries");
    stream.shutdown(Shutdown::Write).expect("a half-closed connection");
    assert_eq!(ids(&mut stream, 10), (0..10).collect());
}
