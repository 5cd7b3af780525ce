//! Any octets as a query to a server of small zones of every kind; what must hold is said in `auth::fuzz`.
//!
//! The first octet chooses settings of the server, the rest is the message.

use std::sync::OnceLock;

use auth::{Server, Style};
use zone::Catalog;

const ZONES: [(&str, &str); 4] = [
    ("test.", include_str!("../../tests/data/zones/test.zone")),
    ("corners.test.", include_str!("../../tests/data/zones/corners.zone")),
    ("nsec.test.", include_str!("../../tests/data/zones/nsec.test.zone")),
    ("optout.test.", include_str!("../../tests/data/zones/optout.test.zone")),
];

/// One input.
pub fn run(data: &[u8]) {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| auth::inspect::catalog(&ZONES).expect("sound zones"));
    let Some((choice, query)) = data.split_first() else { return };
    let server = Server {
        nsid: (choice & 2 != 0).then(|| Box::from(&b"nsid"[..])),
        version: (choice & 4 != 0).then(|| Box::from(&b"version"[..])),
        style: Style::MINIMAL.when(choice & 8 != 0).and(Style::WITHIN_ZONE.when(choice & 32 != 0)),
        full_any_over_tcp: choice & 16 != 0,
        ..Server::default()
    };
    auth::fuzz::check_message(query, catalog, &server);
}
