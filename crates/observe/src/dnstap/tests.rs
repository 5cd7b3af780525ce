use std::sync::mpsc::Receiver;

use proptest::prelude::*;
use prost::Message as _;
use wire::Name;

use super::*;
use crate::queue::{Item, queue};

/// `dnstap.proto`, as far as it is used here, for another's decoder.
#[derive(Clone, PartialEq, prost::Message)]
struct Theirs {
    #[prost(bytes = "vec", optional, tag = "1")]
    identity: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    version: Option<Vec<u8>>,
    #[prost(message, optional, tag = "14")]
    message: Option<TheirMessage>,
    #[prost(int32, required, tag = "15")]
    kind: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TheirMessage {
    #[prost(int32, required, tag = "1")]
    kind: i32,
    #[prost(int32, optional, tag = "2")]
    socket_family: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    socket_protocol: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "4")]
    query_address: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "5")]
    response_address: Option<Vec<u8>>,
    #[prost(uint32, optional, tag = "6")]
    query_port: Option<u32>,
    #[prost(uint32, optional, tag = "7")]
    response_port: Option<u32>,
    #[prost(uint64, optional, tag = "8")]
    query_time_sec: Option<u64>,
    #[prost(fixed32, optional, tag = "9")]
    query_time_nsec: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "10")]
    query_message: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "11")]
    query_zone: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "12")]
    response_time_sec: Option<u64>,
    #[prost(fixed32, optional, tag = "13")]
    response_time_nsec: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "14")]
    response_message: Option<Vec<u8>>,
}

/// Every name is in `example.`
struct Example;

impl Zones for Example {
    fn find(&mut self, name: &Name, _: u16, zone: &mut NameRoom) -> bool {
        let example = Name::from_wire(b"\x07example\0").unwrap();
        zone.set(example);
        name.is_at_or_below(example)
    }
}

fn terms() -> Terms {
    Terms {
        kinds: Kinds::ALL,
        identity: b"ns1".to_vec(),
        version: b"Zonda".to_vec(),
        one_in: 1,
        is_masked: false,
        has_resolver: true,
    }
}

/// What others read of what is written of this.
fn read(terms: Terms, told: &Told<'_>) -> Vec<Theirs> {
    let (filler, from, _to, _) = queue(1 << 20);
    let mut dnstap = Dnstap::new(terms, filler, Box::new(Example));
    dnstap.take(told);
    dnstap.flush();
    frames(&from)
}

fn frames(from: &Receiver<Item>) -> Vec<Theirs> {
    let mut frames = Vec::new();
    for item in from.try_iter() {
        let Item::Block(block) = item else { continue };
        let mut rest = &block.octets[..];
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let (frame, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
            frames.push(Theirs::decode(frame).unwrap());
            rest = behind;
        }
    }
    frames
}

fn told<'t>(query: &'t [u8], response: &'t [u8]) -> Told<'t> {
    Told {
        outcome: Outcome::Answered,
        transport: Transport::Udp,
        asked: Some(Asked {
            client: Address::v4([192, 0, 2, 77], 53_211),
            local: Address::v4([198, 51, 100, 1], 53),
            at: 1_764_334_160_123_456_789,
        }),
        answered: 1_764_334_160_123_999_999,
        one_in: 1,
        query_octets: query.len() as u16,
        response_octets: response.len() as u16,
        query,
        response,
    }
}

/// A head with these flags, and the question `www.example. A`.
fn message(flags: u16) -> Vec<u8> {
    let head = [[0, 7], flags.to_be_bytes(), [0, 1], [0; 2], [0; 2], [0; 2]].concat();
    [&head[..], b"\x03www\x07example\0\0\x01\0\x01"].concat()
}

fn kinds(terms: Terms, told: &Told<'_>) -> Vec<i32> {
    read(terms, told).into_iter().map(|frame| frame.message.unwrap().kind).collect()
}

#[test]
fn a_query_and_its_response() {
    let (query, response) = (message(0), message(header::QR | header::AA));
    let frames = read(terms(), &told(&query, &response));
    let asked = TheirMessage {
        kind: 1,
        socket_family: Some(1),
        socket_protocol: Some(1),
        query_address: Some(vec![192, 0, 2, 77]),
        response_address: Some(vec![198, 51, 100, 1]),
        query_port: Some(53_211),
        response_port: Some(53),
        query_time_sec: Some(1_764_334_160),
        query_time_nsec: Some(123_456_789),
        query_message: Some(query.clone()),
        query_zone: Some(b"\x07example\0".to_vec()),
        response_time_sec: None,
        response_time_nsec: None,
        response_message: None,
    };
    let answered = TheirMessage {
        kind: 2,
        response_time_sec: Some(1_764_334_160),
        response_time_nsec: Some(123_999_999),
        response_message: Some(response),
        ..asked.clone()
    };
    let whole = |message| Theirs {
        identity: Some(b"ns1".to_vec()),
        version: Some(b"Zonda".to_vec()),
        message: Some(message),
        kind: 1,
    };
    assert_eq!(frames, [whole(asked), whole(answered)]);
}

#[test]
fn kinds_by_what_is_asked_and_what_becomes_of_it() {
    let response = message(header::QR);
    for (flags, expected) in [
        (0, [1, 2]),
        (header::RD, [5, 6]),
        (u16::from(opcode::UPDATE) << 11, [13, 14]),
        (u16::from(opcode::NOTIFY) << 11 | header::RD, [1, 2]),
    ] {
        assert_eq!(kinds(terms(), &told(&message(flags), &response)), expected, "{flags:x}");
    }
    let query = message(header::RD);
    let without = Terms { has_resolver: false, ..terms() };
    assert_eq!(kinds(without, &told(&query, &response)), [1, 2], "there is no resolver");
    assert_eq!(kinds(terms(), &told(b"no message", &response)), [1, 2]);
    for (outcome, expected) in [
        (Outcome::Dropped, &[5][..]),
        (Outcome::Stream, &[5]),
        (Outcome::Waits, &[5]),
        (Outcome::AnsweredLate, &[6]),
        (Outcome::Ended(net::TapEnd::Gone), &[]),
    ] {
        assert_eq!(kinds(terms(), &Told { outcome, ..told(&query, &response) }), expected, "{outcome:?}");
    }
    let only = Terms { kinds: Kinds::named(["client-response"]).unwrap(), ..terms() };
    assert_eq!(kinds(only, &told(&query, &response)), [6]);
    assert_eq!(Kinds::named(["auth-query", "stub-query"]), Err("stub-query"));
}

#[test]
fn a_response_whose_query_is_lost() {
    let response = message(header::QR | header::RD);
    let late = Told { outcome: Outcome::AnsweredLate, asked: None, ..told(&[], &response) };
    let [frame] = &read(terms(), &late)[..] else { panic!("one frame") };
    let message = frame.message.clone().unwrap();
    assert_eq!((message.kind, message.query_address, message.query_time_sec), (6, None, None));
    assert_eq!(message.response_message, Some(response));
}

#[test]
fn clients_are_masked() {
    let query = message(0);
    let masked = Terms { is_masked: true, ..terms() };
    let of = |client| {
        let asked = told(&query, &[]).asked.map(|asked| Asked { client, ..asked });
        let frames = read(masked.clone(), &Told { outcome: Outcome::Dropped, asked, ..told(&query, &[]) });
        frames[0].message.clone().unwrap().query_address.unwrap()
    };
    assert_eq!(of(Address::v4([192, 0, 2, 77], 1)), [192, 0, 2, 0]);
    let v6 = Address::v6([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], 1, 0);
    assert_eq!(of(v6), [1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// Each by itself, with the address of the server alone.
#[test]
fn what_is_asked_of_other_servers() {
    let server = Address::v6([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], 853, 0);
    let of = |terms: Terms, is_response, flags| {
        let (filler, from, _to, _) = queue(1 << 20);
        let mut dnstap = Dnstap::new(terms, filler, Box::new(Example));
        let message = message(flags);
        dnstap.take_exchanged(&Exchanged {
            is_response,
            server,
            transport: Transport::Tls,
            at: 1_764_334_160_123_456_789,
            message: &message,
        });
        dnstap.flush();
        frames(&from).into_iter().map(|frame| frame.message.unwrap()).collect::<Vec<_>>()
    };
    let asked = TheirMessage {
        kind: 3,
        socket_family: Some(2),
        socket_protocol: Some(3),
        response_address: Some((1..=16).collect()),
        response_port: Some(853),
        query_time_sec: Some(1_764_334_160),
        query_time_nsec: Some(123_456_789),
        query_message: Some(message(0)),
        ..TheirMessage::default()
    };
    let came = TheirMessage {
        kind: 4,
        query_time_sec: None,
        query_time_nsec: None,
        query_message: None,
        response_time_sec: Some(1_764_334_160),
        response_time_nsec: Some(123_456_789),
        response_message: Some(message(header::QR)),
        ..asked.clone()
    };
    assert_eq!(of(terms(), false, 0), [asked]);
    assert_eq!(of(Terms { is_masked: true, ..terms() }, true, header::QR), [came], "no client");
    let kinds = [false, true].map(|is_response| of(terms(), is_response, header::RD)[0].kind);
    assert_eq!(kinds, [7, 8], "a forwarder");
    let some = Terms { kinds: Kinds::named(["resolver-response"]).unwrap(), ..terms() };
    assert_eq!((of(some.clone(), false, 0).len(), of(some.clone(), true, 0).len()), (0, 1));
    let wants = |terms| Dnstap::new(terms, queue(1 << 20).0, Box::new(Example)).wants().others;
    assert!(wants(some.clone()) && wants(terms()));
    assert!(!wants(Terms { has_resolver: false, ..some }));
    assert!(!wants(Terms { kinds: Kinds::named(["client-query"]).unwrap(), ..terms() }));
}

fn any_address() -> impl Strategy<Value = Address> {
    let v4 = (any::<[u8; 4]>(), any::<u16>()).prop_map(|(ip, port)| Address::v4(ip, port));
    let v6 = (any::<[u8; 16]>(), any::<u16>()).prop_map(|(ip, port)| Address::v6(ip, port, 0));
    prop_oneof![v4, v6]
}

proptest! {
    /// Whatever is told, another's decoder reads as it was.
    #[test]
    fn others_read_what_is_written(
        query in proptest::collection::vec(any::<u8>(), 0..600),
        response in proptest::collection::vec(any::<u8>(), 0..600),
        (client, local) in (any_address(), any_address()),
        (at, answered) in any::<(u64, u64)>(),
        identity in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let asked = Asked { client, local, at };
        let told = Told { asked: Some(asked), answered, ..told(&query, &response) };
        let frames = read(Terms { identity: identity.clone(), ..terms() }, &told);
        prop_assert_eq!(frames.len(), 2);
        for frame in &frames {
            prop_assert_eq!(frame.identity.clone().unwrap_or_default(), identity.clone());
            let message = frame.message.clone().unwrap();
            prop_assert_eq!(message.query_port, Some(u32::from(client.port())));
            let octets = match client.ip() {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            prop_assert_eq!(message.query_address, Some(octets));
            let time = message.query_time_sec.unwrap() * NANOSECONDS + u64::from(message.query_time_nsec.unwrap());
            prop_assert_eq!(time, at);
            prop_assert_eq!(message.query_message.as_ref(), Some(&query));
        }
        let last = frames[1].message.clone().unwrap();
        let time = last.response_time_sec.unwrap() * NANOSECONDS + u64::from(last.response_time_nsec.unwrap());
        prop_assert_eq!((time, last.response_message), (answered, Some(response)));
    }
}
