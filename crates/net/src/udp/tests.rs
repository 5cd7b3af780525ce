use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::queries::Queries;

/// A server's socket as `bind` makes it, and a client of it.
fn pair(wildcard: bool) -> (Port, UdpSocket) {
    let socket = UdpSocket::bind(if wildcard { "0.0.0.0:0" } else { "127.0.0.1:0" }).unwrap();
    socket.set_nonblocking(true).unwrap();
    if wildcard {
        option::report_local_address(&socket, false).unwrap();
    }
    let port = Port::new(socket).unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(("127.0.0.1", port.local.port())).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    (port, client)
}

/// Answers what waits: the query reversed, and nothing to an empty one. Returns how many queries came.
fn answer(receiver: &mut Receiver, port: &Port, counters: &Counters) -> usize {
    let received = receiver.receive(port, counters);
    let mut queries = Queries::new(receiver.batch(Now::read(), Source::Datagrams(0)));
    assert_eq!(queries.len(), received.queries);
    while let Some(item) = queries.next() {
        let octets = item.query.len();
        item.room[..octets].copy_from_slice(item.query);
        item.room[..octets].reverse();
        assert_eq!(item.room.len(), UDP_RESPONSE_OCTETS_MAX);
        item.answer(octets);
    }
    receiver.send(port, counters);
    received.queries
}

/// Sends datagrams of the given lengths and returns the answers and the counts.
fn exchange(backend: Backend, wildcard: bool, lengths: &[usize]) -> (Vec<Vec<u8>>, crate::WorkerCounters) {
    let (port, client) = pair(wildcard);
    let (mut receiver, counters) = (Receiver::new(backend), Counters::default());
    let mut answers = Vec::new();
    // As many as the smallest usual socket buffer, 208 KiB, holds of the longest.
    for (round, lengths) in lengths.chunks(10).enumerate() {
        for (index, &length) in lengths.iter().enumerate() {
            let datagram: Vec<u8> = (0..length).map(|octet| (octet + index + round) as u8).collect();
            client.send(&datagram).unwrap();
        }
        answer(&mut receiver, &port, &counters);
        let expected = lengths.iter().filter(|&&length| (1..=UDP_QUERY_OCTETS_MAX).contains(&length)).count();
        for _ in 0..expected {
            let mut buffer = [0; 65_536];
            let octets = client.recv(&mut buffer).unwrap();
            answers.push(buffer[..octets].to_vec());
        }
    }
    (answers, counters.read())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Both back ends answer, drop and count alike, with and without packet information.
    #[test]
    fn back_ends_agree(
        lengths in proptest::collection::vec(
            prop_oneof![0..600_usize, Just(UDP_QUERY_OCTETS_MAX), Just(UDP_QUERY_OCTETS_MAX + 1), 4000..7000_usize],
            0..60,
        ),
        wildcard: bool,
    ) {
        let (answers, counters) = exchange(Backend::Portable, wildcard, &lengths);
        let other = exchange(Backend::Mmsg, wildcard, &lengths);
        prop_assert_eq!(&answers, &other.0);
        prop_assert_eq!(counters, other.1);
        let long = lengths.iter().filter(|&&length| length > UDP_QUERY_OCTETS_MAX).count();
        prop_assert_eq!(counters.udp_truncated, long as u64);
        prop_assert_eq!(counters.udp_queries, (lengths.len() - long) as u64);
    }
}

#[test]
fn a_full_batch() {
    for backend in [Backend::Mmsg, Backend::Portable] {
        let (port, client) = pair(false);
        let (mut receiver, counters) = (Receiver::new(backend), Counters::default());
        for number in 0..BATCH as u8 + 10 {
            client.send(&[number, 1]).unwrap();
        }
        assert_eq!(answer(&mut receiver, &port, &counters), BATCH);
        assert_eq!(answer(&mut receiver, &port, &counters), 10);
        for number in 0..BATCH as u8 + 10 {
            let mut buffer = [0; 8];
            assert_eq!(client.recv(&mut buffer).unwrap(), 2);
            assert_eq!(buffer[..2], [1, number]);
        }
        assert_eq!(counters.read().udp_batches, 2);
    }
}

#[test]
fn nothing_to_receive_is_no_error() {
    for backend in [Backend::Mmsg, Backend::Portable] {
        let (port, _client) = pair(false);
        let counters = Counters::default();
        assert_eq!(Receiver::new(backend).receive(&port, &counters), Received::default());
        assert_eq!(counters.read(), crate::WorkerCounters::default());
    }
}

#[test]
fn port_zero_is_not_answered() {
    let mut slots = Slots::new();
    let counters = Counters::default();
    let local = Address::v4([127, 0, 0, 1], 53);
    slots.admit(0, 12, Address::v4([192, 0, 2, 1], 0), local, &counters);
    slots.admit(1, 12, Address::v6(Ipv6Addr::LOCALHOST.octets(), 0, 0), local, &counters);
    slots.admit(2, 12, Address::v4([192, 0, 2, 1], 1), local, &counters);
    assert_eq!((slots.queries_held, slots.origins[0]), (1, 2));
    assert_eq!(counters.read().udp_port_zero, 2);
}

#[test]
fn a_client_that_is_gone_costs_the_others_nothing() {
    for backend in [Backend::Mmsg, Backend::Portable] {
        let (port, client) = pair(false);
        let (mut receiver, counters) = (Receiver::new(backend), Counters::default());
        for _ in 0..3 {
            let gone = UdpSocket::bind("127.0.0.1:0").unwrap();
            gone.send_to(b"gone", SocketAddr::from(port.local)).unwrap();
            drop(gone);
            client.send(b"here").unwrap();
            assert_eq!(answer(&mut receiver, &port, &counters), 2);
            let mut buffer = [0; 64];
            assert_eq!(client.recv(&mut buffer).unwrap(), 4);
        }
        assert_eq!(counters.read().udp_responses, 6);
    }
}

#[test]
fn responses_are_sent_from_the_address_that_was_asked() {
    let (port, _) = pair(true);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (mut receiver, counters) = (Receiver::new(Backend::Mmsg), Counters::default());
    for address in ["127.0.0.2", "127.0.0.1", "127.9.9.9"] {
        let asked = SocketAddr::new(address.parse().unwrap(), port.local.port());
        client.send_to(b"query", asked).unwrap();
        receiver.receive(&port, &counters);
        let mut queries = Queries::new(receiver.batch(Now::read(), Source::Datagrams(0)));
        let item = queries.next().unwrap();
        assert_eq!(item.context.local, asked.into());
        assert_eq!(item.context.client, client.local_addr().unwrap().into());
        item.answer(1);
        receiver.send(&port, &counters);
        assert_eq!(client.recv_from(&mut [0; 64]).unwrap(), (1, asked));
    }
}
