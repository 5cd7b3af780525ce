//! A question in one of the ways in which clients ask, and asking it.

use std::net::SocketAddr;
use std::time::Duration;

use zonda_tests::exchange::{read_framed, tcp_stream, udp_within, write_framed};
use zonda_tests::message::{Query, flag};
use zonda_tests::response::Response;
use zonda_tests::rtype;

/// How long an answer may take: servers that lame zones are delegated to are tried again and again.
const WAIT: Duration = Duration::from_secs(10);
/// How often a question is sent to which nothing came, and how much later each time.
const TRIES: u32 = 5;
const STREAM_WAIT: Duration = Duration::from_millis(200);
/// What fits into one packet everywhere.
const PAYLOAD_OCTETS: u16 = 1232;
/// The operation that no server does (RFC 1035 4.1.1).
const STATUS: u16 = 2;
/// Class CHAOS.
const CHAOS: u16 = 3;

/// A question as it is sent. Which of the ways it is comes of its number, by numbers without common divisor: so all go together, some seldom.
pub struct Question {
    pub query: Query,
    /// Over TCP at once.
    is_stream: bool,
}

impl Question {
    /// Question number `number`: with DO, CD and AD by turns, some without EDNS or RD, few of what is to be refused.
    pub fn of(name: &str, qtype: u16, number: usize) -> Question {
        let is_each = |of: usize| number % of == of - 1;
        let mut query = Query::new(name, qtype).id(number as u16);
        if !is_each(23) {
            query = query.flags(flag::RD);
        }
        if !is_each(7) {
            query = query.edns(PAYLOAD_OCTETS);
            if is_each(2) {
                query = query.dnssec();
            }
        }
        if is_each(5) {
            query = query.flags(flag::CD);
        }
        if is_each(3) {
            query = query.flags(flag::AD);
        }
        // BIND answers three a second of another class, by UDP.
        let is_chaos = is_each(227);
        query = match () {
            () if is_each(211) => query.version(1),
            () if is_each(223) => query.opcode(STATUS),
            () if is_chaos => query.class(CHAOS),
            () => query,
        };
        Question { query, is_stream: is_each(31) || is_chaos }
    }

    /// The same to a resolver that is to check, by a client that wants to know.
    pub fn checked(&self) -> Question {
        let mut query = self.query.clone();
        query.flags = query.flags & !flag::CD | flag::AD;
        Question { query, is_stream: self.is_stream }
    }

    /// The same with CD turned round.
    pub fn turned(&self) -> Question {
        let mut query = self.query.clone();
        query.flags ^= flag::CD;
        Question { query, is_stream: self.is_stream }
    }

    /// The same with EDNS.
    pub fn with_edns(&self) -> Question {
        Question { query: self.query.clone().edns(PAYLOAD_OCTETS), is_stream: self.is_stream }
    }

    /// The same for another type.
    pub fn about(&self, rtype: u16) -> Question {
        let mut query = self.query.clone();
        query.qtype = rtype;
        Question { query, is_stream: self.is_stream }
    }

    /// Whether it has this flag.
    pub fn has(&self, flag: u16) -> bool {
        self.query.flags & flag != 0
    }

    /// Name, type and how it is asked.
    pub fn words(&self) -> String {
        format!("{} {}{}", self.query.name, rtype::name(self.query.qtype), self.marks().concat())
    }

    /// How it is asked.
    pub fn marks(&self) -> Vec<&'static str> {
        let edns = self.query.edns.as_ref();
        let marks = [
            (self.has(flag::CD), " cd"),
            (self.has(flag::AD), " ad"),
            (!self.has(flag::RD), " no-rd"),
            (edns.is_none(), " no-edns"),
            (edns.is_some_and(|edns| edns.flags != 0), " do"),
            (edns.is_some_and(|edns| edns.version != 0), " version-1"),
            (self.query.flags >> 11 & 0xf != 0, " status"),
            (self.query.qclass != 1, " chaos"),
            (self.is_stream, " tcp"),
        ];
        marks.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect()
    }

    /// Asks as clients do: over UDP, again where nothing comes, over TCP where it was too long. `None`: nothing came.
    pub fn ask(&self, address: &str) -> Option<Response> {
        let server: SocketAddr = format!("{address}:53").parse().expect("an address");
        let octets = self.query.octets();
        let parse = |answer: &[u8]| {
            Response::parse(answer).unwrap_or_else(|fault| panic!("{address} {}: {fault}", self.words()))
        };
        let mut is_stream = self.is_stream;
        for turn in 1..=TRIES {
            if !is_stream {
                let Some(answer) = udp_within(server, &octets, WAIT).expect("a socket") else { continue };
                let response = parse(&answer);
                if !response.has(flag::TC) {
                    return Some(response);
                }
                is_stream = true;
            }
            // A server may close a stream on which nothing came for long.
            let Ok(mut stream) = tcp_stream(server) else { continue };
            stream.set_read_timeout(Some(WAIT)).expect("a limit");
            if write_framed(&mut stream, &octets).is_ok()
                && let Ok(answer) = read_framed(&mut stream)
            {
                return Some(parse(&answer));
            }
            // What was in its way goes by.
            std::thread::sleep(STREAM_WAIT * turn);
        }
        None
    }
}
