//! The query log: a line for each query, for people (`text`) or programs (`json`).
//!
//! ```text
//! 2026-11-28T12:49:20.123456Z 192.0.2.7#53211 udp example.org. A IN NOERROR aa,rd,do 39 71 zone=example.org.
//! time, client, transport, name, type, class, code | dropped | stream | gone, flags, octets of query and response, zone or -
//! ```
//!
//! Names are escaped as in zone files (RFC 1035 5.1), so that a query is one line whatever is asked. What has no question has `-` in the places of name, type
//! and class, and what is no message `malformed` in that of the name. A message that is not a query of opcode QUERY has its opcode before the flags.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::time::Instant;

use net::{TapEnd, Transport};
use serde::{Serialize, Serializer};
use sync::tap::Wants;
use wire::header;
use wire::iana::{class, opcode, rcode, rtype};
use wire::name::NameRoom;
use wire::{Name, NameBuf};
use zone::check::Timestamp;

use crate::Zones;
use crate::observer::Consumer;
use crate::queue::Filler;
use crate::seen::{Question, Seen};
use crate::told::{Outcome, Told};

/// What became of a query, beside codes: words of lines and of filters.
const DROPPED: &str = "dropped";
const STREAM: &str = "stream";
const GONE: &str = "gone";

/// Which queries have a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names at and below these, in lower case. None: all.
    zones: HashSet<NameBuf>,
    /// Most labels of one of them.
    labels_max: usize,
    codes: HashSet<u16>,
    /// Of [`DROPPED`] and the others.
    words: HashSet<&'static str>,
}

impl Filter {
    /// One for these names, and for these codes by their mnemonics, `dropped`, `stream` and `gone`. The first that is no such otherwise.
    pub fn new<'w>(zones: &[NameBuf], codes: impl IntoIterator<Item = &'w str>) -> Result<Filter, &'w str> {
        let zones: HashSet<NameBuf> = zones.iter().map(|zone| zone.to_lowercase()).collect();
        let labels_max = zones.iter().map(|zone| zone.label_count()).max().unwrap_or(0);
        let mut filter = Filter { zones, labels_max, ..Filter::default() };
        for word in codes {
            if let Some(known) = [DROPPED, STREAM, GONE].into_iter().find(|known| *known == word) {
                filter.words.insert(known);
                continue;
            }
            let code = (0..=CODE_NAMED_MAX).find(|code| rcode::mnemonic(*code) == Some(word));
            filter.codes.insert(code.ok_or(word)?);
        }
        Ok(filter)
    }

    fn has_code(&self, code: Code) -> bool {
        match code {
            _ if self.codes.is_empty() && self.words.is_empty() => true,
            Code::Number(code) => self.codes.contains(&code),
            Code::Word(word) => self.words.contains(word),
        }
    }

    fn has_name(&self, question: &Question<'_>) -> bool {
        if self.zones.is_empty() {
            return true;
        }
        let Question::Asks { name, .. } = question else { return false };
        let lower = name.to_lowercase();
        let mut at = Some(&*lower);
        while let Some(name) = at {
            // Only where a name can be as long as one of these.
            if name.label_count() <= self.labels_max && self.zones.contains(name) {
                return true;
            }
            at = name.parent();
        }
        false
    }
}

/// No code above it has a name.
const CODE_NAMED_MAX: u16 = 23;

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Fields with spaces between.
    Text,
    /// An object of JSON.
    Json,
}

/// What is told and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How a line looks.
    pub format: Format,
    /// One query in so many.
    pub one_in: u32,
    /// Which of them.
    pub filter: Filter,
}

/// Writes lines.
pub struct QueryLog {
    terms: Terms,
    filler: Filler,
    zones: Box<dyn Zones>,
    zone: NameRoom,
    clock: Clock,
}

impl QueryLog {
    /// One that fills this queue.
    pub fn new(terms: Terms, filler: Filler, zones: Box<dyn Zones>) -> QueryLog {
        QueryLog { terms, filler, zones, zone: NameRoom::new(), clock: Clock::default() }
    }
}

impl Consumer for QueryLog {
    /// Query and response whole: EDNS is at the end of both.
    fn wants(&self) -> Wants {
        Wants { one_in: self.terms.one_in, query_octets: u16::MAX, response_octets: u16::MAX }
    }

    fn is_urgent(&self) -> bool {
        false
    }

    fn take(&mut self, told: &Told<'_>) {
        let Some(code) = Code::of(told) else { return };
        let query = Seen::of(told.query);
        let response = Seen::of(told.response).filter(|_| code.is_number());
        let question = match query.or(response) {
            Some(seen) => seen.question,
            None => Question::Malformed,
        };
        if !self.terms.filter.has_code(code) || !self.terms.filter.has_name(&question) {
            return;
        }
        let zone = match question {
            Question::Asks { name, qtype, .. } if self.zones.find(name, qtype, &mut self.zone) => {
                Some(&*self.zone)
            }
            _ => None,
        };
        let at = told.asked.map_or(told.answered, |asked| asked.at);
        let line = Line {
            time: Time {
                second: self.clock.second((at / NANOSECONDS) as u32),
                microseconds: (at % NANOSECONDS / 1000) as u32,
            },
            told,
            question,
            code,
            flags: Flags::of(query.as_ref(), response.as_ref()),
            zone,
        };
        let format = self.terms.format;
        self.filler.add(|block| line.write(format, block));
    }

    fn hand_over(&mut self, now: Instant) {
        self.filler.hand_over(now);
    }

    fn flush(&mut self) {
        self.filler.flush();
    }
}

const NANOSECONDS: u64 = 1_000_000_000;

/// What became of a query: a code or a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Number(u16),
    Word(&'static str),
}

impl Code {
    /// `None`: nothing yet.
    fn of(told: &Told<'_>) -> Option<Code> {
        Some(match told.outcome {
            Outcome::Waits => return None,
            Outcome::Answered | Outcome::AnsweredLate => {
                Code::Number(Seen::of(told.response).map_or(0, |seen| seen.extended().0))
            }
            Outcome::Dropped | Outcome::Ended(TapEnd::Dropped) => Code::Word(DROPPED),
            Outcome::Stream | Outcome::Ended(TapEnd::Stream) => Code::Word(STREAM),
            Outcome::Ended(TapEnd::Gone) => Code::Word(GONE),
        })
    }

    fn is_number(self) -> bool {
        matches!(self, Code::Number(_))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Code::Word(word) => f.write_str(word),
            Code::Number(code) => match rcode::mnemonic(code) {
                Some(mnemonic) => f.write_str(mnemonic),
                None => write!(f, "RCODE{code}"),
            },
        }
    }
}

/// Flags of the response, or of the query where there is none, and DO of the query.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    flags: u16,
    is_dnssec_ok: bool,
    /// Where it is not QUERY.
    opcode: Option<u8>,
}

impl Flags {
    fn of(query: Option<&Seen<'_>>, response: Option<&Seen<'_>>) -> Flags {
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
struct Clock {
    second: Option<u32>,
    text: String,
}

impl Clock {
    /// `2026-11-28T12:49:20`
    fn second(&mut self, second: u32) -> &str {
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

struct Time<'c> {
    second: &'c str,
    microseconds: u32,
}

impl fmt::Display for Time<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}Z", self.second, self.microseconds)
    }
}

struct Line<'l> {
    time: Time<'l>,
    told: &'l Told<'l>,
    question: Question<'l>,
    code: Code,
    flags: Flags,
    zone: Option<&'l Name>,
}

impl Line<'_> {
    fn write(&self, format: Format, block: &mut Vec<u8>) {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
