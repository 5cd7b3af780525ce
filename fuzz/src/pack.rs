//! A sound pack with octets changed and its checksums made right again: it is refused, or read without panic.
//!
//! The input is a list of changes of five octets: place (32 bits, little-endian, taken modulo the length), new octet.
//! An input that begins with `raw` is taken as a whole pack instead.

use std::sync::{Arc, OnceLock};

use auth::{Client, Responder, Server, Transport};
use zone::catalog::ViewSource;
use zone::section::{checksum, decode_header, encode_header};
use zone::{Backing, Catalog, Crawl, Pack, PackBuilder, TextStamp, ZoneView};

const ZONES: [(&str, &str); 2] = [
    ("corners.test.", include_str!("../../tests/data/zones/corners.zone")),
    ("optout.test.", include_str!("../../tests/data/zones/optout.test.zone")),
];

/// Names and types that lead through every part of a pack.
const QUERIES: [(&[u8], u16); 9] = [
    (b"\x03www\x07corners\x04test\0", 1),
    (b"\x01x\x04wild\x07corners\x04test\0", 16),
    (b"\x01x\x05dname\x07corners\x04test\0", 1),
    (b"\x01x\x03cut\x07corners\x04test\0", 28),
    (b"\x02mx\x07corners\x04test\0", 15),
    (b"\x06absent\x03ent\x06optout\x04test\0", 1),
    (b"\x01x\x06signed\x06optout\x04test\0", 1),
    (b"\x06optout\x04test\0", 255),
    (b"\x04_sip\x04_udp\x07corners\x04test\0", 33),
];

/// The octets of a sound pack.
fn sound() -> &'static [u8] {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let mut builder = PackBuilder::new(7);
        for (origin, text) in ZONES {
            let origin: wire::NameBuf = origin.parse().expect("a name");
            let contents = auth::inspect::contents(&origin, text).expect("a sound zone");
            builder.add_zone(&contents, TextStamp::default()).expect("a zone that fits");
        }
        Pack::open(builder.finish().expect("a pack")).expect("a sound pack").octets().to_vec()
    })
}

/// Applies the changes and mends the checksums, as far as there is still a header to go by.
fn changed(changes: &[u8]) -> Vec<u8> {
    let mut pack = sound().to_vec();
    let header = decode_header(&pack).expect("a sound header");
    for change in changes.chunks_exact(5) {
        let place = u32::from_le_bytes([change[0], change[1], change[2], change[3]]) as usize % pack.len();
        pack[place] = change[4];
    }
    let mut mended = header.clone();
    for (range, sum) in &mut mended.sections {
        *sum = checksum(&pack[range.clone()]);
    }
    let octets = encode_header(&mended);
    pack[..octets.len()].copy_from_slice(&octets);
    pack
}

/// One input.
pub fn run(data: &[u8]) {
    let octets = match data.strip_prefix(b"raw") {
        Some(raw) => raw.to_vec(),
        None => changed(data),
    };
    let Ok(pack) = Pack::open(Backing::Memory(octets)) else { return };
    let pack = Arc::new(pack);
    let catalog = Catalog::new(1);
    let hold = catalog.add_pack(Arc::clone(&pack));
    for number in 0..pack.zone_count() {
        let Some(zone) = ZoneView::new(&pack, number) else { continue };
        for node in zone.nodes() {
            for rrset in node.rrsets() {
                std::hint::black_box((rrset.rtype(), rrset.ttl(), rrset.is_signed()));
            }
            std::hint::black_box((node.glue().is_some(), node.nsec3_rank()));
        }
        let mut crawl = Crawl::default();
        while let Ok(Some(step)) = crawl.next(&zone) {
            std::hint::black_box((step.owner.write_labels(&mut [0; 255]), step.rrset.rtype()));
        }
        catalog.insert(&[(zone.apex(), ViewSource::Pack(hold.number(), number))]);
    }
    let mut reader = catalog.reader();
    let (mut responder, mut response) = (Responder::new(), vec![0; 65535]);
    for (name, qtype) in QUERIES {
        let mut query = b"\0\x07\0\0\0\x01\0\0\0\0\0\x01".to_vec();
        query.extend_from_slice(name);
        query.extend_from_slice(&qtype.to_be_bytes());
        query.extend_from_slice(b"\0\x01\0\0\x29\x04\xd0\0\0\x80\0\0\0");
        for transport in [Transport::Udp, Transport::Tcp] {
            let server = Server::default();
            let octets = reader.with(|view| responder.answer(&query, view, &server, &Client::unknown(transport), &mut response));
            std::hint::black_box(octets);
        }
    }
}
