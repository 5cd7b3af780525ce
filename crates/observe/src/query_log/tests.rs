use net::{TapEnd, Transport};
use wire::iana::opcode;
use wire::{Address, Name, NameBuf, header};

use super::*;
use crate::queue::{Item, queue};
use crate::told::{Asked, Outcome};

/// Every name below `example.` is in it.
struct Example;

impl Zones for Example {
    fn find(&mut self, name: &Name, _: u16, zone: &mut NameRoom) -> bool {
        let example = Name::from_wire(b"\x07example\0").unwrap();
        zone.set(example);
        name.is_at_or_below(example)
    }
}

fn told<'t>(query: &'t [u8], response: &'t [u8]) -> Told<'t> {
    Told {
        outcome: Outcome::Answered,
        transport: Transport::Udp,
        asked: Some(Asked {
            client: Address::v4([192, 0, 2, 7], 53_211),
            local: Address::NONE,
            at: 1_764_334_160_123_456_789,
        }),
        answered: 0,
        one_in: 1,
        query_octets: query.len() as u16,
        response_octets: response.len() as u16,
        query,
        response,
    }
}

fn terms(format: Format) -> Terms {
    Terms { format, one_in: 1, filter: Filter::default() }
}

fn lines(terms: Terms, told: &Told<'_>) -> String {
    let (filler, from, _to, _) = queue(1 << 20);
    let mut log = QueryLog::new(terms, filler, Box::new(Example));
    log.take(told);
    log.flush();
    let mut octets = Vec::new();
    for item in from.try_iter() {
        let Item::Block(block) = item else { continue };
        octets.extend(block.octets);
    }
    String::from_utf8(octets).unwrap()
}

/// A message with this head, name, type and class, and an OPT record with this TTL.
fn message(flags: u16, name: &[u8], opt: u32) -> Vec<u8> {
    let head = [[0, 7], flags.to_be_bytes(), [0, 1], [0; 2], [0; 2], [0, 1]].concat();
    [&head[..], name, b"\0\x01\0\x01\0\0\x29\x04\xd0", &opt.to_be_bytes(), b"\0\0"].concat()
}

const WWW: &[u8] = b"\x03www\x07example\0";

#[test]
fn a_line_of_text() {
    let (query, response) =
        (message(header::RD, WWW, DO), message(header::QR | header::AA | header::RD, WWW, DO));
    assert_eq!(
        lines(terms(Format::Text), &told(&query, &response)),
        "2025-11-28T12:49:20.123456Z 192.0.2.7#53211 udp www.example. A IN NOERROR aa,rd,do 40 40 zone=example.\n"
    );
}

/// DO, as a TTL has it.
const DO: u32 = 0x8000;

#[test]
fn an_object_of_json() {
    let (query, response) =
        (message(0, b"\x02\"\\\0", 0), message(header::QR | 3, b"\x02\"\\\0", 0x0100_0000));
    let line = lines(terms(Format::Json), &told(&query, &response));
    let object: serde_json::Value = serde_json::from_str(&line).unwrap();
    let expected = serde_json::json!({
        "time": "2025-11-28T12:49:20.123456Z", "client": "192.0.2.7", "port": 53_211, "transport": "udp",
        "name": "\\\"\\\\.", "type": "A", "class": "IN", "code": "BADMODE", "flags": [],
        "query_octets": 31, "response_octets": 31, "zone": null,
    });
    assert_eq!(object, expected, "{line}");
    assert_eq!(line.matches('\n').count(), 1);
}

#[test]
fn a_query_is_one_line_whatever_it_asks() {
    let query = message(0, b"\x05a\nb \x7f\x01.\0", 0);
    let line = lines(terms(Format::Text), &told(&query, &query));
    assert!(line.contains(" a\\010b\\032\\127.\\.. A IN "), "{line}");
    assert_eq!(line.matches('\n').count(), 1);
}

#[test]
fn what_is_no_query() {
    let of = |query: &[u8], outcome| {
        let line = lines(terms(Format::Text), &Told { outcome, ..told(query, &[]) });
        line.split_once("udp ").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
    };
    assert_eq!(of(b"short", Outcome::Dropped), "malformed - - dropped - 5 0 -\n");
    assert_eq!(of(&[0; 12], Outcome::Dropped), "- - - dropped - 12 0 -\n");
    let mut update = message(u16::from(opcode::UPDATE) << 11, WWW, 0);
    assert_eq!(of(&update, Outcome::Stream), "www.example. A IN stream update 40 0 zone=example.\n");
    assert_eq!(
        of(&update, Outcome::Ended(TapEnd::Gone)),
        "www.example. A IN gone update 40 0 zone=example.\n"
    );
    assert_eq!(of(&update, Outcome::Waits), "", "it is told what became of it");
    update.truncate(20);
    assert_eq!(of(&update, Outcome::Dropped), "malformed - - dropped update 20 0 -\n");
    let response = message(header::QR, WWW, 0);
    let alone = Told { outcome: Outcome::AnsweredLate, asked: None, ..told(&[], &response) };
    assert_eq!(
        lines(terms(Format::Text), &Told { answered: 1_764_334_160_000_001_000, ..alone }),
        "2025-11-28T12:49:20.000001Z - udp www.example. A IN NOERROR - 0 40 zone=example.\n"
    );
}

#[test]
fn filters() {
    let name = |text: &str| NameBuf::from_text(text).unwrap();
    let has = |zones: &[NameBuf], codes: &[&str], asks: &[u8], response: &[u8]| {
        let filter = Filter::new(zones, codes.iter().copied()).unwrap();
        let terms = Terms { filter, ..terms(Format::Text) };
        let outcome = if response.is_empty() { Outcome::Dropped } else { Outcome::Answered };
        !lines(terms, &Told { outcome, ..told(&message(0, asks, 0), response) }).is_empty()
    };
    let (fine, refused) = (message(header::QR, WWW, 0), message(header::QR | 5, WWW, 0));
    let upper = b"\x03WWW\x07EXAMPLE\0";
    for (zones, codes, asks, response, expected) in [
        (&[name("example.")][..], &[][..], &upper[..], &fine, true),
        (&[name("www.Example.")], &[], WWW, &fine, true),
        (&[name("a.www.example.")], &[], WWW, &fine, false),
        (&[name("ample.")], &[], WWW, &fine, false),
        (&[name(".")], &[], WWW, &fine, true),
        (&[], &["REFUSED"], WWW, &fine, false),
        (&[], &["NXDOMAIN", "REFUSED"], WWW, &refused, true),
        (&[], &["dropped"], WWW, &refused, false),
        (&[], &["dropped"], WWW, &Vec::new(), true),
        (&[], &["REFUSED"], WWW, &Vec::new(), false),
        (&[name("other.")], &["REFUSED"], WWW, &refused, false),
    ] {
        assert_eq!(has(zones, codes, asks, response), expected, "{zones:?} {codes:?}");
    }
    assert_eq!(Filter::new(&[], ["NXDOMAIN", "nothing"]), Err("nothing"));
}
