//! The fuzzer's way in: any octets as a query, to zones with every corner.

use crate::inspect;
use crate::limits::UDP_OCTETS_MIN;
use crate::{Client, Responder, Server, Transport};
use std::cell::RefCell;
use std::sync::OnceLock;
use zone::{Catalog, CatalogView};

/// Zones with referrals, aliases, wildcards and both kinds of proofs; kept apart from the tests so that a finding
/// stays one.
const ZONES: [(&str, &str); 3] = [
    ("example", include_str!("../../../tests/data/zones/rfc4035.signed.zone")),
    ("nsec.test", include_str!("../../../tests/data/zones/nsec.test.zone")),
    ("optout.test", include_str!("../../../tests/data/zones/optout.test.zone")),
];

/// Octets of a bad response that a failure shows.
const SHOWN_OCTETS: usize = 512;
/// How often a query is asked again: the second time its answer is kept, the third it comes from memory.
const REPEATS: usize = 2;

fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| inspect::catalog(&ZONES).expect("the zones of the tests are sound"))
}

/// Answers `data` as a query over both transports and checks what comes out: within its limit, readable by a strict
/// reader, of the same ID, and never an answer to a response.
pub fn fuzz_message(data: &[u8]) {
    check_message(data, catalog(), &Server::default());
}

/// The same with other zones and settings.
pub fn check_message(data: &[u8], catalog: &Catalog, server: &Server) {
    thread_local! {
        static RESPONDER: RefCell<Responder> = RefCell::default();
    }
    let mut reader = catalog.reader();
    reader.with(|view| RESPONDER.with_borrow_mut(|responder| check_with(responder, data, view, server)));
}

/// The same with a responder that has answered others before: what it remembers must make no difference.
fn check_with(responder: &mut Responder, data: &[u8], catalog: &CatalogView<'_>, server: &Server) {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let mut again = vec![0; usize::from(u16::MAX)];
    for transport in [Transport::Udp, Transport::Tcp] {
        responder.forget();
        let length = responder.answer(data, catalog, server, &Client::unknown(transport), &mut buffer);
        for _ in 0..REPEATS {
            let length_again =
                responder.answer(data, catalog, server, &Client::unknown(transport), &mut again);
            assert!(buffer[..length] == again[..length_again], "the answer to {data:02x?} changes");
        }
        let is_answered = data.len() >= 12 && data[2] & 0x80 == 0;
        assert_eq!(length > 0, is_answered);
        if !is_answered {
            continue;
        }
        let limit = match transport {
            Transport::Udp => usize::from(server.udp_payload_octets).max(UDP_OCTETS_MIN),
            _ => buffer.len(),
        };
        assert!(length <= limit, "{length} octets of {limit}");
        let response = match inspect::read(&buffer[..length]) {
            Ok(response) => response,
            Err(error) => {
                let shown = &buffer[..length.min(SHOWN_OCTETS)];
                panic!("{error} in a response of {length} octets {shown:02x?} to {data:02x?}")
            }
        };
        assert_eq!((buffer[..2] == data[..2], response.flags >> 15), (true, 1));
    }
}
