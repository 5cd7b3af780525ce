//! Servers that the tests share, and what they say about responses.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use zonda_tests::exchange::{self, Transport, udp_within};
use zonda_tests::message::Query;
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server};
use zonda_tests::zone::{ZoneFile, data, records_of};

/// How long the absence of an answer is watched.
const SILENCE: Duration = Duration::from_millis(300);

/// What the server is told to say about itself.
const IDENTITY: &str = "nsid = \"ns7.zonda.test\"\nversion = \"zonda under test\"\nhostname = \"host.zonda.test\"\n\
                        id-server = \"id.zonda.test\"";

macro_rules! servers {
    ($($(#[$doc:meta])* $name:ident: $settings:expr, [$($origin:literal = $file:literal),*];)*) => {
        $($(#[$doc])* pub fn $name() -> &'static Server {
            static SERVER: OnceLock<Server> = OnceLock::new();
            let zones = [$(ZoneFile::new($origin, data().join("zones").join($file))),*];
            SERVER.get_or_init(|| Server::start_with(Kind::under_test(), &zones, $settings))
        })*
    };
}

servers! {
    /// The generated zones, identity told.
    corners: IDENTITY, ["test." = "test.zone", "corners.test." = "corners.zone", "nsec.test." = "nsec.test.zone",
        "nsec3.test." = "nsec3.test.zone", "optout.test." = "optout.test.zone", "big.test." = "big.zone",
        "types.test." = "types.zone"];
    /// One zone, default settings.
    plain: "", ["corners.test." = "corners.zone"];
    /// The example zone of RFC 4035.
    rfc4035: "", ["example." = "rfc4035.signed.zone"];
    /// The example zone of RFC 4592.
    rfc4592: "", ["example." = "rfc4592.zone"];
    /// The example zone of RFC 5155.
    rfc5155: "", ["example." = "rfc5155.signed.zone"];
}

/// Response codes.
pub mod rcode {
    pub const NOERROR: u16 = 0;
    pub const FORMERR: u16 = 1;
    pub const NXDOMAIN: u16 = 3;
    pub const NOTIMP: u16 = 4;
    pub const REFUSED: u16 = 5;
    pub const BADVERS: u16 = 16;
}

/// The answer over UDP.
pub fn udp(server: &Server, query: &Query) -> Response {
    exchange::ask(server.address, Transport::Udp, query)
}

/// The answer over TCP.
pub fn tcp(server: &Server, query: &Query) -> Response {
    exchange::ask(server.address, Transport::Tcp, query)
}

/// The answer to octets over UDP, `None` if there is none. It must be well-formed.
pub fn raw(server: &Server, message: &[u8]) -> Option<Response> {
    let answer = udp_within(server.address, message, SILENCE).expect("exchange by UDP")?;
    Some(Response::parse(&answer).unwrap_or_else(|fault| panic!("{fault}: {answer:02x?}")))
}

/// Octets that are answered with FORMERR, and nothing else in the message.
pub fn assert_formerr(server: &Server, message: &[u8]) {
    let response = raw(server, message).unwrap_or_else(|| panic!("no answer to {message:02x?}"));
    assert_eq!(response.rcode(), rcode::FORMERR, "{response:#?}");
    assert_eq!(response.id.to_be_bytes(), message[..2], "message ID");
    assert!(response.answer.is_empty() && response.authority.is_empty(), "{response:#?}");
}

/// The records of a section but RRSIG are these, in any order.
pub fn assert_records(section: &[Record], expected: &str) {
    let found: BTreeSet<Record> =
        section.iter().filter(|record| record.rtype != rtype::RRSIG).map(Record::folded).collect();
    let expected: BTreeSet<Record> = records_of(expected).iter().map(Record::folded).collect();
    assert_eq!(found, expected);
}

/// The types of the records of a section, each once, RRSIG as the type covered.
pub fn types(section: &[Record]) -> BTreeSet<String> {
    section
        .iter()
        .map(|record| match record.covered() {
            Some(covered) => format!("RRSIG({})", rtype::name(covered)),
            None => rtype::name(record.rtype),
        })
        .collect()
}

/// Owner names of the records of one type in a section.
pub fn owners(section: &[Record], rtype: u16) -> BTreeSet<String> {
    let records = section.iter().filter(|record| record.rtype == rtype);
    records.map(|record| record.owner.lower().to_string()).collect()
}

/// Every RRset of the section has a signature, but those of these types.
pub fn assert_signed(section: &[Record], but: &[u16]) {
    for record in section.iter().filter(|record| record.rtype != rtype::RRSIG && !but.contains(&record.rtype))
    {
        let covers = |other: &Record| {
            other.covered() == Some(record.rtype) && other.owner.lower() == record.owner.lower()
        };
        assert!(section.iter().any(covers), "{record:?} is not signed in {section:#?}");
    }
}

/// Text as a set of words, to compare with [`types`] and [`owners`].
pub fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
