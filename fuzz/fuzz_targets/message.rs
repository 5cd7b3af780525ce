//! Any octets as a query to a server of small zones of every kind: no panic, and whatever is answered is a sound message.
//!
//! The first octet chooses transport and settings, the rest is the message.

#![no_main]

use std::cell::RefCell;

use auth::{Responder, Server, Transport};
use libfuzzer_sys::fuzz_target;
use zone::Catalog;

const CORNERS: &str = include_str!("../../tests/data/zones/corners.zone");
const NSEC: &str = include_str!("../../tests/data/zones/nsec.test.zone");
const OPT_OUT: &str = include_str!("../../tests/data/zones/optout.test.zone");
const PARENT: &str = include_str!("../../tests/data/zones/test.zone");

struct Fixture {
    catalog: Catalog,
    responder: Responder,
    response: Vec<u8>,
}

thread_local! {
    static FIXTURE: RefCell<Fixture> = RefCell::new(Fixture {
        catalog: auth::inspect::catalog(&[
            ("test.", PARENT),
            ("corners.test.", CORNERS),
            ("nsec.test.", NSEC),
            ("optout.test.", OPT_OUT),
        ])
        .expect("sound zones"),
        responder: Responder::new(),
        response: vec![0; 65535],
    });
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, query)) = data.split_first() else { return };
    let server = Server {
        nsid: (choice & 2 != 0).then(|| Box::from(&b"nsid"[..])),
        version: (choice & 4 != 0).then(|| Box::from(&b"version"[..])),
        minimal_responses: choice & 8 != 0,
        full_any_over_tcp: choice & 16 != 0,
        ..Server::default()
    };
    let transport = if choice & 1 != 0 { Transport::Tcp } else { Transport::Udp };
    FIXTURE.with_borrow_mut(|fixture| {
        let Fixture { catalog, responder, response } = fixture;
        let octets = responder.answer(query, catalog, &server, transport, response);
        let answer = &response[..octets];
        if octets == 0 {
            return;
        }
        assert!(query.len() >= 12 && query[2] & 0x80 == 0, "an answer to what must not be answered");
        assert_eq!(answer[..2], query[..2], "message ID");
        assert!(transport == Transport::Tcp || octets <= 1232, "{octets} octets over UDP");
        if let Err(fault) = auth::inspect::read(answer) {
            panic!("{fault}: {answer:02x?}");
        }
    });
});
