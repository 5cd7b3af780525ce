//! A line: what it says, as text or as JSON.
//!
//! ```text
//! 2026-11-28T12:49:20.123456Z 192.0.2.7#53211 udp example.org. A IN NOERROR aa,rd,do 39 71 zone=example.org.
//! time, client, transport, name, type, class, code | dropped | stream | gone, flags, octets of query and response, zone or -
//! ```
//!
//! Names are escaped as in zone files (RFC 1035 5.1), so that a query is one line whatever is asked. What has no question has `-` in the places of name, type
//! and class, and what is no message `malformed` in that of the name. A message that is not a query of opcode QUERY has its opcode before the flags.

use std::fmt::{self, Write as _};
use std::io::Write as _;

use net::Transport;
use serde::{Serialize, Serializer};
use wire::Name;
use wire::header;
use wire::iana::{class, opcode, rtype};
use zone::check::Timestamp;

use super::code::Code;
use crate::seen::{Question, Seen};
use crate::told::Told;

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Fields with spaces between.
    Text,
    /// An object of JSON.
    Json,
}

/// Flags of the response, or of the query where there is none, and DO of the query.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    flags: u16,
    is_dnssec_ok: bool,
    /// Where it is not QUERY.
    opcode: Option<u8>,
}

impl Flags {
    pub(super) fn of(query: Option<&Seen<'_>>, response: Option<&Seen<'_>>) -> Flags {
        let flags = response.or(query).map_or(0, |seen| seen.flags);
        let is_dnssec_ok = query.or(response).is_some_and(|seen| seen.extended().1);
        let opcode = Some(header::opcode(flags)).filter(|opcode| *opcode != opcode::QUERY);
        Flags { flags, is_dnssec_ok, opcode }
    }

    fn each(self) -> impl Iterator<Item = &'static str> {
        let opcode = self.opcode.map(|opcode| match opcode {
            opcode::NOTIFY => "notify",
            opcode::UPDATE => "update",
            opcode::STATUS => "status",
            _ => "opcode",
        });
        let flags = [
            (header::AA, "aa"),
            (header::TC, "tc"),
            (header::RD, "rd"),
            (header::RA, "ra"),
            (header::AD, "ad"),
            (header::CD, "cd"),
        ];
        let set = flags.into_iter().filter(move |(flag, _)| self.flags & flag != 0).map(|(_, word)| word);
        opcode.into_iter().chain(set).chain(self.is_dnssec_ok.then_some("do"))
    }
}

/// The time in words, of which seconds are kept: thousands of lines are of the same.
#[derive(Default)]
pub(super) struct Clock {
    second: Option<u32>,
    text: String,
}

impl Clock {
    /// `2026-11-28T12:49:20`
    pub(super) fn second(&mut self, second: u32) -> &str {
        if self.second != Some(second) {
            self.second = Some(second);
            self.text.clear();
            // Into a text nothing fails.
            let _ = write!(self.text, "{:#}", Timestamp(second));
            self.text.pop();
        }
        &self.text
    }
}

/// The time of a line.
pub(super) struct Time<'c> {
    pub(super) second: &'c str,
    pub(super) microseconds: u32,
}

impl fmt::Display for Time<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}Z", self.second, self.microseconds)
    }
}

/// What a line says.
pub(super) struct Line<'l> {
    pub(super) time: Time<'l>,
    pub(super) told: &'l Told<'l>,
    pub(super) question: Question<'l>,
    pub(super) code: Code,
    pub(super) flags: Flags,
    pub(super) zone: Option<&'l Name>,
}

impl Line<'_> {
    pub(super) fn write(&self, format: Format, block: &mut Vec<u8>) {
        // Into memory nothing fails.
        let _ = match format {
            Format::Text => writeln!(block, "{self}"),
            Format::Json => serde_json::to_writer(&mut *block, &self.object())
                .map(|()| block.push(b'\n'))
                .map_err(Into::into),
        };
    }

    fn object(&self) -> Object<'_> {
        let (name, qtype, qclass) = match &self.question {
            Question::Asks { name, qtype, qclass } => {
                (Some(Shown(name)), Some(Type(*qtype)), Some(Class(*qclass)))
            }
            Question::None => (None, None, None),
            Question::Malformed => (Some(Shown(&"malformed")), None, None),
        };
        let client = self.told.asked.map(|asked| asked.client);
        Object {
            time: Shown(&self.time),
            client: client.map(|client| client.ip()),
            port: client.map(|client| client.port()),
            transport: transport_word(self.told.transport),
            name,
            qtype,
            qclass,
            code: Shown(&self.code),
            flags: self.flags.each().collect(),
            query_octets: self.told.query_octets,
            response_octets: self.told.response_octets,
            zone: self.zone.as_ref().map(|zone| Shown(zone)),
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.time)?;
        match self.told.asked.map(|asked| asked.client) {
            Some(client) => write!(f, "{}#{}", client.ip(), client.port())?,
            None => f.write_str("-")?,
        }
        write!(f, " {} ", transport_word(self.told.transport))?;
        match self.question {
            Question::Asks { name, qtype, qclass } => write!(f, "{name} {} {}", Type(qtype), Class(qclass))?,
            Question::None => f.write_str("- - -")?,
            Question::Malformed => f.write_str("malformed - -")?,
        }
        write!(f, " {} ", self.code)?;
        let mut separator = "";
        for word in self.flags.each() {
            write!(f, "{separator}{word}")?;
            separator = ",";
        }
        let none = if separator.is_empty() { "-" } else { "" };
        write!(f, "{none} {} {} ", self.told.query_octets, self.told.response_octets)?;
        match self.zone {
            Some(zone) => write!(f, "zone={zone}"),
            None => f.write_str("-"),
        }
    }
}

/// A line as JSON.
#[derive(Serialize)]
struct Object<'l> {
    time: Shown<'l>,
    client: Option<std::net::IpAddr>,
    port: Option<u16>,
    transport: &'static str,
    name: Option<Shown<'l>>,
    #[serde(rename = "type")]
    qtype: Option<Type>,
    #[serde(rename = "class")]
    qclass: Option<Class>,
    code: Shown<'l>,
    flags: Vec<&'static str>,
    query_octets: u16,
    response_octets: u16,
    zone: Option<Shown<'l>>,
}

/// What is shown as text.
struct Shown<'s>(&'s dyn fmt::Display);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

struct Type(u16);

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&rtype::Text(self.0), f)
    }
}

/// A class by its name, or by its number (RFC 3597 5).
struct Class(u16);

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match class::mnemonic(self.0) {
            Some(mnemonic) => f.write_str(mnemonic),
            None => write!(f, "CLASS{}", self.0),
        }
    }
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// As access lists have them.
fn transport_word(transport: Transport) -> &'static str {
    match transport {
        Transport::Udp => "udp",
        Transport::Tcp => "tcp",
        Transport::Tls => "tls",
        Transport::Https => "https",
        Transport::Quic => "quic",
    }
}
