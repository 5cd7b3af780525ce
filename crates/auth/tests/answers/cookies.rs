//! DNS cookies through the responder: RFC 7873 5.2, 5.4 and RFC 9018.
use crate::kit::{Kit, rcode};
use auth::inspect::{self, Response};
use auth::{Client, Responder, Server, Transport};
use std::net::{IpAddr, SocketAddr};
use wire::NameBuf;
use wire::cookie::Secrets;
use wire::iana::rtype;

const ZONE: &str = "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\nwww 60 A 192.0.2.2\n";
const CLIENT: &[u8; 8] = b"client--";
const NOW: u64 = 1_800_000_000;

fn kit(demands_cookies: bool) -> Kit {
    let server = Server { cookies: Secrets::new(&[[5; 16]]), demands_cookies, ..Server::default() };
    Kit { server, ..Kit::new(&[("example.", ZONE)]) }
}

/// A query for the address of www.example with a COOKIE option that holds `data`.
fn query(data: &[u8]) -> Vec<u8> {
    let mut query =
        inspect::query(0, &"www.example".parse::<NameBuf>().unwrap(), rtype::A, Some((1232, false)));
    let length = query.len();
    query[length - 1] = data.len() as u8 + 4;
    query.extend([0, 10, 0, data.len() as u8]);
    query.extend(data);
    query
}

/// Asks from `address` at `now`.
fn ask(kit: &Kit, query: &[u8], transport: Transport, address: &str, now: u64) -> Response {
    let address = SocketAddr::from((address.parse::<IpAddr>().unwrap(), 5353)).into();
    let client = Client { transport, address: &address, is_proved: transport.is_stream(), now };
    let mut buffer = vec![0; 4096];
    let octets = kit
        .catalog
        .reader()
        .with(|view| Responder::new().answer(query, view, &kit.server, &client, &mut buffer));
    inspect::read(&buffer[..octets]).unwrap()
}

/// What the COOKIE option of a response holds.
fn cookie(response: &Response) -> Option<Vec<u8>> {
    let (_, _, options) = response.opt.as_ref().unwrap();
    let (head, data) = options.split_at_checked(4)?;
    assert_eq!(head, [0, 10, 0, data.len() as u8]);
    Some(data.to_vec())
}

#[test]
fn a_client_gets_a_cookie_and_keeps_it() {
    let kit = kit(false);
    for transport in [Transport::Udp, Transport::Tcp] {
        let first = ask(&kit, &query(CLIENT), transport, "192.0.2.7", NOW);
        let given = cookie(&first).unwrap();
        assert_eq!((first.rcode, first.sections[0].len(), given.len()), (rcode::NOERROR, 1, 24));
        assert_eq!(given[..8], *CLIENT);
        let again = |address, now| cookie(&ask(&kit, &query(&given), transport, address, now)).unwrap();
        assert_eq!(again("192.0.2.7", NOW + 1800), given);
        // Half an hour is over, another address, as good as expired: a new one each time, and data all the same.
        assert_ne!(again("192.0.2.7", NOW + 1801), given);
        assert_ne!(again("192.0.2.8", NOW), given);
        assert_ne!(again("192.0.2.7", NOW + 3601), given);
        assert_eq!(again("::ffff:192.0.2.7", NOW), given);
    }
}

#[test]
fn wrong_lengths_are_malformed_and_not_echoed() {
    let kit = kit(false);
    for length in [0, 1, 7, 9, 15, 41, 60] {
        let response = ask(&kit, &query(&vec![1; length]), Transport::Udp, "192.0.2.7", NOW);
        assert_eq!((response.rcode, cookie(&response)), (rcode::FORMERR, None), "{length}");
    }
    for length in [8, 16, 24, 40] {
        let response = ask(&kit, &query(&vec![1; length]), Transport::Udp, "192.0.2.7", NOW);
        assert_eq!((response.rcode, cookie(&response).unwrap().len()), (rcode::NOERROR, 24), "{length}");
    }
}

#[test]
fn a_cookie_alone_can_be_asked_for() {
    let mut query = query(CLIENT);
    let end = 12 + b"\x03www\x07example\0\0\x01\0\x01".len();
    query.drain(12..end);
    query[5] = 0;
    let response = ask(&kit(false), &query, Transport::Udp, "192.0.2.7", NOW);
    assert_eq!((response.rcode, response.question.as_deref()), (rcode::NOERROR, None));
    assert!(response.sections.iter().all(Vec::is_empty) && cookie(&response).is_some());
    let without = Kit::new(&[("example.", ZONE)]);
    assert_eq!(ask(&without, &query, Transport::Udp, "192.0.2.7", NOW).rcode, rcode::FORMERR);
}

#[test]
fn cookies_can_be_demanded() {
    let kit = kit(true);
    let first = ask(&kit, &query(CLIENT), Transport::Udp, "192.0.2.7", NOW);
    assert_eq!((first.rcode, first.sections[0].len()), (rcode::BADCOOKIE, 0));
    let second = ask(&kit, &query(&cookie(&first).unwrap()), Transport::Udp, "192.0.2.7", NOW);
    assert_eq!((second.rcode, second.sections[0].len()), (rcode::NOERROR, 1));
    let over_tcp = ask(&kit, &query(CLIENT), Transport::Tcp, "192.0.2.7", NOW);
    assert_eq!((over_tcp.rcode, over_tcp.sections[0].len()), (rcode::NOERROR, 1));
    // Who knows no cookies is answered.
    let plain = inspect::query(0, &"www.example".parse::<NameBuf>().unwrap(), rtype::A, Some((1232, false)));
    assert_eq!(ask(&kit, &plain, Transport::Udp, "192.0.2.7", NOW).rcode, rcode::NOERROR);
}

#[test]
fn without_secrets_a_cookie_is_an_option_like_others() {
    let kit = Kit::new(&[("example.", ZONE)]);
    let response = ask(&kit, &query(CLIENT), Transport::Udp, "192.0.2.7", NOW);
    assert_eq!((response.rcode, cookie(&response)), (rcode::NOERROR, None));
}
