//! Asks a responder and reads what it says, strictly.
#![allow(dead_code, unused_imports, clippy::unwrap_used)] // each test file uses its part

use auth::inspect::{self, Response};
use auth::{Client, Responder, Server, Transport};
use wire::NameBuf;
use wire::iana::rtype;
use zone::Catalog;

pub use wire::header::AA;
pub use wire::iana::rcode;

/// Zones under test, and what asks them.
pub struct Kit {
    pub catalog: Catalog,
    pub server: Server,
}

/// How a question is asked.
#[derive(Clone, Copy)]
pub enum How {
    Plain,
    Edns(u16),
    Dnssec,
    Tcp,
    TcpDnssec,
}

impl Kit {
    /// Serves zones given as origin and text.
    pub fn new(zones: &[(&str, &str)]) -> Kit {
        Kit { catalog: inspect::catalog(zones).unwrap(), server: Server::default() }
    }

    /// Asks `name type`.
    pub fn ask(&self, question: &str, how: How) -> Response {
        let (name, qtype) = question.split_once(' ').unwrap();
        let name: NameBuf = name.parse().unwrap();
        let qtype = rtype::from_text(qtype.as_bytes()).unwrap();
        let (edns, transport) = match how {
            How::Plain => (None, Transport::Udp),
            How::Edns(octets) => (Some((octets, false)), Transport::Udp),
            How::Dnssec => (Some((4096, true)), Transport::Udp),
            How::Tcp => (None, Transport::Tcp),
            How::TcpDnssec => (Some((4096, true)), Transport::Tcp),
        };
        let query = inspect::query(0, &name, qtype, edns);
        let response = self.raw(&query, transport).unwrap();
        assert_eq!(response.question.as_deref(), Some(&*format!("{name} {} 1", rtype::Text(qtype))));
        assert_eq!(response.opt.is_some(), edns.is_some());
        response
    }

    /// Sends octets; `None` when they are not answered.
    pub fn raw(&self, query: &[u8], transport: Transport) -> Option<Response> {
        let mut buffer = vec![0xee; if transport == Transport::Tcp { 65535 } else { 4096 }];
        let mut reader = self.catalog.reader();
        let octets = reader.with(|view| {
            Responder::new().answer(query, view, &self.server, &Client::unknown(transport), &mut buffer)
        });
        if octets == 0 {
            return None;
        }
        assert!(buffer[octets..].iter().all(|&octet| octet == 0xee) || octets > 0);
        assert_eq!(buffer[..2], query[..2], "the ID");
        Some(inspect::read(&buffer[..octets]).unwrap())
    }

    /// Asks with DO and compares: RCODE, AA, and the lines of answer and authority section without signatures.
    #[track_caller]
    pub fn check(
        &self,
        question: &str,
        how: How,
        rcode: u16,
        aa: bool,
        answer: &str,
        authority: &str,
    ) -> Response {
        let response = self.ask(question, how);
        assert_eq!(response.rcode, rcode, "{question}: {response:#?}");
        assert_eq!(response.flags & AA != 0, aa, "{question}: AA");
        assert_lines(&response, 0, answer, question);
        assert_lines(&response, 1, authority, question);
        response
    }
}

/// Compares a section with lines of text, blanks at their ends aside.
#[track_caller]
pub fn assert_lines(response: &Response, section: usize, expected: &str, question: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(response.lines(section), expected, "{question}, section {section}");
}

/// Every RRset of a section has a signature right behind it, but for those of these types.
#[track_caller]
pub fn assert_signed(response: &Response, section: usize, except: &[u16]) {
    let types = response.types(section);
    let records = &response.sections[section];
    for record in
        records.iter().filter(|record| record.rtype != rtype::RRSIG && !except.contains(&record.rtype))
    {
        let is_signed = records.iter().any(|signature| {
            signature.rtype == rtype::RRSIG
                && signature.rdata[..2] == record.rtype.to_be_bytes()
                && signature.owner.eq_ignore_case(&record.owner)
                && signature.ttl == record.ttl
        });
        assert!(is_signed, "{record} has no signature in {types}");
    }
}
