//! Captures as DNS messages, and what they are made of as a whole (ISC-TN-2008-1 section 5).
//!
//! ```text
//! file -> capture: frames -> packet: IP, UDP, TCP -> fragments, tcp: whole again -> Message
//!      -> message: what counts of it -> tally -> report (text, JSON), rates by time
//! ```
//!
//! Real captures hold damage of every kind. A file that cannot be read on is an error with its offset; all else is
//! counted and left away.

mod capture;
mod fragments;
pub mod fuzz;
mod json;
pub mod message;
mod packet;
pub mod queries;
pub mod rates;
pub mod report;
#[cfg(test)]
pub(crate) mod samples;
pub mod tally;
mod tcp;
#[cfg(test)]
mod tests;

use std::{io::Read, net::SocketAddr, path::Path};

use crate::{Error, query::Query};
use capture::{Frame, Nanoseconds, each_frame};
use fragments::Fragments;
use packet::{Carried, Transport};
use tcp::Streams;

/// Port of the DNS.
pub const DNS_PORT: u16 = 53;

/// A DNS message of a capture, or something that came where one was to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'m> {
    /// When the first packet of the trace was captured.
    pub start: Nanoseconds,
    /// When the last octet of this message was.
    pub time: Nanoseconds,
    /// How it came.
    pub source: Source,
    /// The message without the length of TCP; may be anything at all.
    pub octets: &'m [u8],
    /// The capture has all of it.
    pub is_whole: bool,
}

/// How a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Source {
    Udp { from: SocketAddr, to: SocketAddr },
    Tcp { from: SocketAddr, to: SocketAddr },
}

/// Takes messages.
pub type Take<'t> = &'t mut dyn FnMut(&Message<'_>);

/// Packets of a trace, those of all its files together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Of any kind.
    pub all: u64,
    /// Of link layers that are not read.
    pub unknown_link: u64,
    /// UDP datagrams from or to a port of the DNS, fragmented ones as one.
    pub datagrams: u64,
    /// Time of the first one read: seconds are counted from here.
    pub origin: Option<Nanoseconds>,
    /// The earliest time; captures are not always in order.
    pub first: Nanoseconds,
    /// The latest time.
    pub last: Nanoseconds,
}

/// Reads captures one after the other as one trace: streams and fragments go on from one file to the next.
pub struct Reader {
    ports: Vec<u16>,
    /// Those that were read so far.
    pub packets: Packets,
    fragments: Fragments,
    streams: Streams,
}

impl Reader {
    /// `ports`: those of the DNS.
    pub fn new(ports: &[u16]) -> Reader {
        let (fragments, streams) = (Fragments::default(), Streams::default());
        Reader { ports: ports.to_vec(), packets: Packets::default(), fragments, streams }
    }

    /// Hands the messages of a file, or of `-` for standard input, to `take`.
    ///
    /// In the order of their last packets, but for those beyond octets that the capture lost. With an error what was
    /// read before it has been handed on.
    pub fn read(&mut self, path: &Path, take: Take<'_>) -> Result<(), Error> {
        self.read_from(capture::open(path)?, path, take)
    }

    /// The same for octets from anywhere; `path` names them in errors.
    pub fn read_from(&mut self, input: impl Read + Send, path: &Path, take: Take<'_>) -> Result<(), Error> {
        self.packets.unknown_link += each_frame(input, path, |frame| self.frame(&frame, take))?;
        Ok(())
    }

    /// Ends what is open: hands on messages beyond lost octets.
    pub fn end(&mut self, take: Take<'_>) {
        self.fragments.end();
        self.streams.end(take);
    }

    fn frame(&mut self, frame: &Frame<'_>, take: Take<'_>) {
        self.packets.all += 1;
        let origin = *self.packets.origin.get_or_insert(frame.time);
        self.streams.start = origin;
        let earliest = if self.packets.all == 1 { origin } else { self.packets.first };
        self.packets.first = earliest.min(frame.time);
        self.packets.last = self.packets.last.max(frame.time);
        let Some(carried) = packet::carried(frame.link, frame.octets) else { return };
        match carried.fragment {
            None => self.carried(frame.time, &carried, take),
            Some(fragment) => {
                if let Some(octets) = self.fragments.add(frame.time, &carried, fragment) {
                    let whole = Carried { octets: &octets, fragment: None, ..carried };
                    self.carried(frame.time, &whole, take);
                }
            }
        }
    }

    fn carried(&mut self, time: Nanoseconds, carried: &Carried<'_>, take: Take<'_>) {
        match packet::transport(carried) {
            Some(Transport::Udp { from, to, payload, cut }) if self.is_dns(from, to) => {
                self.packets.datagrams += 1;
                let (start, source) = (self.packets.origin.unwrap_or(time), Source::Udp { from, to });
                take(&Message { start, time, source, octets: payload, is_whole: cut == 0 });
            }
            Some(Transport::Tcp { from, to, segment }) if self.is_dns(from, to) => {
                self.streams.segment(time, from, to, &segment, take);
            }
            _ => {}
        }
    }

    /// One of the ends is at a port of the DNS.
    fn is_dns(&self, from: SocketAddr, to: SocketAddr) -> bool {
        self.ports.contains(&from.port()) || self.ports.contains(&to.port())
    }
}

/// What [`each_query`] saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueriesSeen {
    /// Packets of any kind.
    pub packets: u64,
    /// UDP datagrams from or to port 53.
    pub datagrams: u64,
    /// Queries handed on.
    pub queries: u64,
    /// Datagrams to port 53 that are no ordinary query: damaged, other opcodes or classes.
    pub other: u64,
}

/// Hands each ordinary query over UDP (opcode QUERY, class IN, one question) of a capture to `take`, in its order.
/// Those over TCP are left away: most repeat one over UDP whose answer was cut.
///
/// `path`: a file, or `-` for standard input. A capture that ends inside a block is an error.
pub fn each_query(path: &Path, mut take: impl FnMut(Query)) -> Result<QueriesSeen, Error> {
    let mut seen = QueriesSeen::default();
    let mut reader = Reader::new(&[DNS_PORT]);
    reader.read(path, &mut |message| {
        let Source::Udp { to, .. } = message.source else { return };
        if to.port() != DNS_PORT || message.octets.get(2).is_none_or(|flags| flags & 0x80 != 0) {
            return;
        }
        match message::Parts::read(message).and_then(|parts| parts.query()) {
            Some(query) => {
                seen.queries += 1;
                take(query);
            }
            None => seen.other += 1,
        }
    })?;
    (seen.packets, seen.datagrams) = (reader.packets.all, reader.packets.datagrams);
    Ok(seen)
}

/// The keys of the quarter of entries that are longest without news, at least one: taking that many away at once
/// costs each entry little.
fn oldest_quarter<K>(entries: impl Iterator<Item = (Nanoseconds, K)>) -> Vec<K> {
    let mut entries: Vec<_> = entries.collect();
    if entries.is_empty() {
        return Vec::new();
    }
    let count = entries.len().div_ceil(4);
    entries.select_nth_unstable_by_key(count - 1, |entry| entry.0);
    entries.truncate(count);
    entries.into_iter().map(|entry| entry.1).collect()
}
