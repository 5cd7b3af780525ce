//! dnstap: a copy of queries and responses, as messages of protocol buffers in Frame Streams.
//!
//! A query of opcode QUERY with RD, to a server that has a resolver, is CLIENT_QUERY and its response CLIENT_RESPONSE; an UPDATE is UPDATE_*, and all else
//! AUTH_*. A response has its query and the time of that beside it. What the resolver asks other servers is RESOLVER_*, and with RD, as forwarders are asked, FORWARDER_*:
//! each message by itself, with the server's address alone. Source: `dnstap.proto` of dnstap.info, whose numbers of fields and kinds these are.

use std::net::IpAddr;
use std::time::Instant;

use net::Transport;
use sync::tap::Wants;
use wire::Address;
use wire::header::{self, HEADER_OCTETS};
use wire::iana::opcode;
use wire::name::NameRoom;

use crate::Zones;
use crate::observer::Consumer;
use crate::protobuf::{fixed_32, number, octets};
use crate::queue::Filler;
use crate::seen::{Question, Seen};
use crate::told::{Asked, Exchanged, Outcome, Told};

/// Fields of `Dnstap`.
mod field {
    pub const IDENTITY: u32 = 1;
    pub const VERSION: u32 = 2;
    pub const MESSAGE: u32 = 14;
    pub const TYPE: u32 = 15;
}

/// Fields of `Message`.
mod message {
    pub const TYPE: u32 = 1;
    pub const SOCKET_FAMILY: u32 = 2;
    pub const SOCKET_PROTOCOL: u32 = 3;
    pub const QUERY_ADDRESS: u32 = 4;
    pub const RESPONSE_ADDRESS: u32 = 5;
    pub const QUERY_PORT: u32 = 6;
    pub const RESPONSE_PORT: u32 = 7;
    pub const QUERY_TIME_SEC: u32 = 8;
    pub const QUERY_TIME_NSEC: u32 = 9;
    pub const QUERY_MESSAGE: u32 = 10;
    pub const QUERY_ZONE: u32 = 11;
    pub const RESPONSE_TIME_SEC: u32 = 12;
    pub const RESPONSE_TIME_NSEC: u32 = 13;
    pub const RESPONSE_MESSAGE: u32 = 14;
}

/// The only type of `Dnstap`.
const DNSTAP_MESSAGE: u64 = 1;

/// Which kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    AuthQuery = 1,
    AuthResponse = 2,
    ResolverQuery = 3,
    ResolverResponse = 4,
    ClientQuery = 5,
    ClientResponse = 6,
    ForwarderQuery = 7,
    ForwarderResponse = 8,
    UpdateQuery = 13,
    UpdateResponse = 14,
}

/// Of each kind its word, as operators write it.
const KINDS: [(&str, Kind); 10] = [
    ("auth-query", Kind::AuthQuery),
    ("auth-response", Kind::AuthResponse),
    ("client-query", Kind::ClientQuery),
    ("client-response", Kind::ClientResponse),
    ("resolver-query", Kind::ResolverQuery),
    ("resolver-response", Kind::ResolverResponse),
    ("forwarder-query", Kind::ForwarderQuery),
    ("forwarder-response", Kind::ForwarderResponse),
    ("update-query", Kind::UpdateQuery),
    ("update-response", Kind::UpdateResponse),
];

/// Kinds of messages, as operators name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u16);

impl Kinds {
    /// Those of messages to other servers and from them.
    const OTHERS: [Kind; 4] =
        [Kind::ResolverQuery, Kind::ResolverResponse, Kind::ForwarderQuery, Kind::ForwarderResponse];

    /// All there are.
    pub const ALL: Kinds = Kinds(u16::MAX);

    /// Those of these words; the first that is none otherwise. No word: all.
    pub fn named<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Kinds, &'w str> {
        let mut named = Kinds(0);
        for word in words {
            let (_, kind) = KINDS.iter().find(|(known, _)| *known == word).ok_or(word)?;
            named.0 |= 1 << *kind as u16;
        }
        Ok(if named.0 == 0 { Kinds::ALL } else { named })
    }

    /// As they are written.
    pub fn words() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(word, _)| *word)
    }

    fn has(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u16 != 0
    }
}

/// What is told and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Which messages.
    pub kinds: Kinds,
    /// The server's name; empty: none.
    pub identity: Vec<u8>,
    /// Its version; empty: none.
    pub version: Vec<u8>,
    /// One query in so many.
    pub one_in: u32,
    /// Whether client addresses are cut to /24 and /48.
    pub is_masked: bool,
    /// Whether the server has a resolver.
    pub has_resolver: bool,
}

/// Writes messages.
pub struct Dnstap {
    terms: Terms,
    filler: Filler,
    zones: Box<dyn Zones>,
    zone: NameRoom,
    /// The message that is being written: its length goes before it.
    message: Vec<u8>,
}

impl Dnstap {
    /// One that fills this queue.
    pub fn new(terms: Terms, filler: Filler, zones: Box<dyn Zones>) -> Dnstap {
        Dnstap { terms, filler, zones, zone: NameRoom::new(), message: Vec::new() }
    }

    /// The kinds of a query's message and of its response's, by its head or that of the response.
    fn kinds(&self, head: &[u8]) -> (Kind, Kind) {
        if head.len() < HEADER_OCTETS {
            return (Kind::AuthQuery, Kind::AuthResponse);
        }
        let flags = header::u16_at(head, 2);
        match header::opcode(flags) {
            opcode::UPDATE => (Kind::UpdateQuery, Kind::UpdateResponse),
            opcode::QUERY if flags & header::RD != 0 && self.terms.has_resolver => {
                (Kind::ClientQuery, Kind::ClientResponse)
            }
            _ => (Kind::AuthQuery, Kind::AuthResponse),
        }
    }

    /// Finds the zone that the answer is from.
    fn find_zone(&mut self, head: &[u8]) -> bool {
        match Seen::of(head).map(|seen| seen.question) {
            Some(Question::Asks { name, qtype, .. }) => self.zones.find(name, qtype, &mut self.zone),
            _ => false,
        }
    }

    fn write(&mut self, kind: Kind, told: &Told<'_>, is_response: bool, has_zone: bool) {
        let Dnstap { terms, zone, message, .. } = self;
        message.clear();
        number(message::TYPE, kind as u64, message);
        if let Some(Asked { client, .. }) = &told.asked {
            number(message::SOCKET_FAMILY, socket_family(client), message);
        }
        number(message::SOCKET_PROTOCOL, socket_protocol(told.transport), message);
        if let Some(Asked { client, local, at }) = &told.asked {
            address(message::QUERY_ADDRESS, client.ip(), terms.is_masked, message);
            address(message::RESPONSE_ADDRESS, local.ip(), false, message);
            number(message::QUERY_PORT, u64::from(client.port()), message);
            number(message::RESPONSE_PORT, u64::from(local.port()), message);
            time(message::QUERY_TIME_SEC, message::QUERY_TIME_NSEC, *at, message);
            octets(message::QUERY_MESSAGE, told.query, message);
        }
        if has_zone {
            octets(message::QUERY_ZONE, zone.octets(), message);
        }
        if is_response {
            time(message::RESPONSE_TIME_SEC, message::RESPONSE_TIME_NSEC, told.answered, message);
            octets(message::RESPONSE_MESSAGE, told.response, message);
        }
        self.add();
    }

    /// Writes a message to another server or from it.
    fn write_exchanged(&mut self, kind: Kind, exchanged: &Exchanged<'_>) {
        let Exchanged { is_response, server, transport, at, message: told } = exchanged;
        let message = &mut self.message;
        message.clear();
        number(message::TYPE, kind as u64, message);
        number(message::SOCKET_FAMILY, socket_family(server), message);
        number(message::SOCKET_PROTOCOL, socket_protocol(*transport), message);
        address(message::RESPONSE_ADDRESS, server.ip(), false, message);
        number(message::RESPONSE_PORT, u64::from(server.port()), message);
        if *is_response {
            time(message::RESPONSE_TIME_SEC, message::RESPONSE_TIME_NSEC, *at, message);
            octets(message::RESPONSE_MESSAGE, told, message);
        } else {
            time(message::QUERY_TIME_SEC, message::QUERY_TIME_NSEC, *at, message);
            octets(message::QUERY_MESSAGE, told, message);
        }
        self.add();
    }

    /// Adds the message that was written.
    fn add(&mut self) {
        let Dnstap { terms, filler, message, .. } = self;
        filler.add(|block| {
            let start = block.len();
            block.extend([0; 4]);
            for (field, text) in [(field::IDENTITY, &terms.identity), (field::VERSION, &terms.version)] {
                if !text.is_empty() {
                    octets(field, text, block);
                }
            }
            octets(field::MESSAGE, message, block);
            number(field::TYPE, DNSTAP_MESSAGE, block);
            let length = (block.len() - start - 4) as u32;
            block[start..start + 4].copy_from_slice(&length.to_be_bytes());
        });
    }
}

impl Consumer for Dnstap {
    fn wants(&self) -> Wants {
        let Terms { one_in, kinds, has_resolver, .. } = self.terms;
        let others = has_resolver && Kinds::OTHERS.into_iter().any(|kind| kinds.has(kind));
        Wants { one_in, query_octets: u16::MAX, response_octets: u16::MAX, others }
    }

    /// Whole, it is evidence: the observer is not to fall behind.
    fn is_urgent(&self) -> bool {
        self.terms.one_in <= 1
    }

    fn take(&mut self, told: &Told<'_>) {
        let (has_query, has_response) = match told.outcome {
            Outcome::Answered => (true, true),
            Outcome::Dropped | Outcome::Stream | Outcome::Waits => (true, false),
            Outcome::AnsweredLate => (false, true),
            // Its query was told already.
            Outcome::Ended(_) => return,
        };
        let head = if told.query.is_empty() { told.response } else { told.query };
        let (query, response) = self.kinds(head);
        let wanted =
            (has_query && self.terms.kinds.has(query), has_response && self.terms.kinds.has(response));
        if wanted == (false, false) {
            return;
        }
        let has_zone = self.find_zone(head);
        if wanted.0 {
            self.write(query, told, false, has_zone);
        }
        if wanted.1 {
            self.write(response, told, true, has_zone);
        }
    }

    fn take_exchanged(&mut self, exchanged: &Exchanged<'_>) {
        let head = exchanged.message;
        let is_forwarded = head.len() >= HEADER_OCTETS && header::u16_at(head, 2) & header::RD != 0;
        let kind = match (is_forwarded, exchanged.is_response) {
            (false, false) => Kind::ResolverQuery,
            (false, true) => Kind::ResolverResponse,
            (true, false) => Kind::ForwarderQuery,
            (true, true) => Kind::ForwarderResponse,
        };
        if self.terms.kinds.has(kind) {
            self.write_exchanged(kind, exchanged);
        }
    }

    fn hand_over(&mut self, now: Instant) {
        self.filler.hand_over(now);
    }

    fn flush(&mut self) {
        self.filler.flush();
    }
}

/// The numbers of `SocketFamily`.
fn socket_family(address: &Address) -> u64 {
    if address.ip().is_ipv4() { 1 } else { 2 }
}

/// The numbers of `SocketProtocol`.
fn socket_protocol(transport: Transport) -> u64 {
    match transport {
        Transport::Udp => 1,
        Transport::Tcp => 2,
        Transport::Tls => 3,
        Transport::Https => 4,
        Transport::Quic => 7,
    }
}

/// An address, of which a masked one has the first 24 or 48 bits.
fn address(field: u32, ip: IpAddr, is_masked: bool, message: &mut Vec<u8>) {
    let kept = |all: usize, masked: usize| if is_masked { masked } else { all };
    match ip {
        IpAddr::V4(ip) => {
            let mut address = ip.octets();
            address[kept(4, 3)..].fill(0);
            octets(field, &address, message);
        }
        IpAddr::V6(ip) => {
            let mut address = ip.octets();
            address[kept(16, 6)..].fill(0);
            octets(field, &address, message);
        }
    }
}

const NANOSECONDS: u64 = 1_000_000_000;

fn time(seconds: u32, nanoseconds: u32, at: u64, message: &mut Vec<u8>) {
    number(seconds, at / NANOSECONDS, message);
    fixed_32(nanoseconds, (at % NANOSECONDS) as u32, message);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
