//! A record of the tap, as words and as read.
//!
//! Numbers are in little-endian order:
//!
//! ```text
//!  0 outcome   1 transport   2 flags (1: proved, 2: early, 4: the client has IPv4, 8: so has the local address)   3 how a row ended
//!  4 row of the ticket: joins a query that is answered later with its response; all ones for none   8 its generation
//! 12 one query in so many was told
//! 16 nanoseconds of the wall clock since 1970 (8 octets)   24 nanoseconds from there until the response was rendered
//! 28 octets of the query   30 of the response   32 how many of the query follow   34 of the response
//! 36 port of the client   38 local port   40 address of the client (16), of IPv4 the first four   56 local address, likewise
//! 72 query, response, each padded to words of 8 octets
//! ```

use crate::Context;
use crate::context::{Address, Transport};
use crate::later::RowId;

/// Words of the ring before the query.
pub(super) const HEAD_WORDS: usize = 9;
/// Octets of a word.
const WORD: usize = size_of::<u64>();

/// No row.
const NONE: u32 = u32::MAX;

/// What became of a query, in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tapped {
    /// No response was sent.
    Dropped,
    /// The response is in the record.
    Answered,
    /// A record of the same row is to come: its response, or that it has ended without one.
    Later,
    /// It is answered by many messages, which are not recorded.
    Stream,
    /// The record is that of a response made later.
    LateResponse,
    /// The query of the row gets no response in a record: see [`TapRecord::end`].
    Ended,
    /// The service asks another server, [`TapRecord::local`]: the question is the query of the record.
    Question,
    /// Something came from another server, [`TapRecord::local`], which anybody may have forged: it is the response of the record.
    Arrival,
}

/// How a query that was to be answered later ended without a response in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapEnd {
    /// No response was sent: the service had none, or made room for others, or too many replies waited at the worker.
    Dropped,
    /// Its client was gone: its connection was closed, it had waited for too long, or the worker ended.
    Gone,
    /// It is answered by many messages, which are not recorded.
    Stream,
}

/// Which query it is that is answered later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TapRow {
    /// Below [`crate::LATER_PER_WORKER_MAX`]; used again once the query has ended.
    pub index: u32,
    /// Tells it from others of that index. It begins again after 4,294,967,296 of them.
    pub generation: u32,
}

/// A record as read.
#[derive(Clone, Copy, Debug)]
pub struct TapRecord<'r> {
    /// What it is about.
    pub outcome: Tapped,
    /// How it ended, of [`Tapped::Ended`]; `None` of all others.
    pub end: Option<TapEnd>,
    /// How the query came.
    pub transport: Transport,
    /// See [`Context::is_proved`]; `false` of late responses and ends.
    pub is_proved: bool,
    /// See [`Context::is_early`]; `false` of late responses and ends.
    pub is_early: bool,
    /// Joins a query with its late response or its end: there is one of these for each query, unless the ring had no room for it. One whose query this reader was
    /// not told of belongs to a reader before.
    pub row: Option<TapRow>,
    /// One query in so many was told when this one was, 1 and up; a late response or an end has that of its query.
    pub one_in: u32,
    /// Nanoseconds of the wall clock since 1970: when the batch of the query was taken off its socket. Of a late response when it was sent, of an end when it came.
    pub taken: u64,
    /// Nanoseconds from there until the responses of the batch were rendered, at most [`u32::MAX`]; 0 of [`Tapped::Later`], late responses and ends.
    pub took: u32,
    /// Who asked; [`Address::NONE`] of late responses and ends, and of what has to do with other servers.
    pub client: Address,
    /// Where it was sent to; [`Address::NONE`] of late responses and ends.
    pub local: Address,
    /// How long the query is; 0 of late responses and ends.
    pub query_octets: u16,
    /// How long the response is; 0 for none.
    pub response_octets: u16,
    /// As much of the query as was wanted.
    pub query: &'r [u8],
    /// As much of the response as was wanted.
    pub response: &'r [u8],
}

impl<'r> TapRecord<'r> {
    /// Reads a record; `None` if it is none.
    #[must_use]
    pub fn read(record: &'r [u8]) -> Option<Self> {
        let (head, rest) = record.split_first_chunk::<{ HEAD_WORDS * WORD }>()?;
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|index| head[at + index]));
        let (query_octets, response_octets) = (usize::from(short(32)), usize::from(short(34)));
        let (query, rest) = rest.split_at_checked(query_octets.next_multiple_of(WORD))?;
        if rest.len() != response_octets.next_multiple_of(WORD) {
            return None;
        }
        let row = TapRow { index: number(4), generation: number(8) };
        let (outcome, end) = match (head[0], head[3]) {
            (0, 0) => (Tapped::Dropped, None),
            (1, 0) => (Tapped::Answered, None),
            (2, 0) => (Tapped::Later, None),
            (3, 0) => (Tapped::Stream, None),
            (4, 0) => (Tapped::LateResponse, None),
            (5, 0) => (Tapped::Ended, Some(TapEnd::Dropped)),
            (5, 1) => (Tapped::Ended, Some(TapEnd::Gone)),
            (5, 2) => (Tapped::Ended, Some(TapEnd::Stream)),
            (6, 0) => (Tapped::Question, None),
            (7, 0) => (Tapped::Arrival, None),
            _ => return None,
        };
        let transport = match head[1] {
            0 => Transport::Udp,
            1 => Transport::Tcp,
            2 => Transport::Tls,
            3 => Transport::Https,
            4 => Transport::Quic,
            _ => return None,
        };
        Some(Self {
            outcome,
            end,
            transport,
            is_proved: head[2] & 1 != 0,
            is_early: head[2] & 2 != 0,
            row: (row.index != NONE).then_some(row),
            one_in: number(12),
            taken: u64::from_le_bytes(std::array::from_fn(|index| head[16 + index])),
            took: number(24),
            client: read_address(head[2] & 4 != 0, &head[40..56], short(36)),
            local: read_address(head[2] & 8 != 0, &head[56..], short(38)),
            query_octets: short(28),
            response_octets: short(30),
            query: &query[..query_octets],
            response: &rest[..response_octets],
        })
    }
}

fn read_address(is_v4: bool, octets: &[u8], port: u16) -> Address {
    match is_v4 {
        true => Address::v4(std::array::from_fn(|index| octets[index]), port),
        false => Address::v6(std::array::from_fn(|index| octets[index]), port, 0),
    }
}

/// What a record says besides query and response.
pub(super) struct Head<'c> {
    pub(super) outcome: Tapped,
    pub(super) end: Option<TapEnd>,
    pub(super) context: &'c Context,
    pub(super) row: Option<RowId>,
    pub(super) one_in: u32,
    pub(super) taken: u64,
    pub(super) took: u32,
}

impl Head<'_> {
    /// As it is in the ring, with the octets of the query, of the response, and how many of each follow. Made in registers: an array of octets is
    /// written and then read again.
    #[inline(always)]
    pub(super) fn words(&self, [query, response, kept_query, kept_response]: [u16; 4]) -> [u64; HEAD_WORDS] {
        let Context { client, local, transport, is_proved, is_early, .. } = self.context;
        let flags = u8::from(*is_proved)
            | u8::from(*is_early) << 1
            | u8::from(client.is_v4()) << 2
            | u8::from(local.is_v4()) << 3;
        let end = self.end.map_or(0, |end| end as u8);
        let kinds = u32::from_le_bytes([self.outcome as u8, *transport as u8, flags, end]);
        let (row, generation) = self.row.map_or((NONE, 0), |row| (row.index(), row.generation()));
        let [client_low, client_high] = address_words(client);
        let [local_low, local_high] = address_words(local);
        [
            two(kinds, row),
            two(generation, self.one_in),
            self.taken,
            two(self.took, u32::from(query) | u32::from(response) << 16),
            two(
                u32::from(kept_query) | u32::from(kept_response) << 16,
                u32::from(client.port()) | u32::from(local.port()) << 16,
            ),
            client_low,
            client_high,
            local_low,
            local_high,
        ]
    }
}

/// A word of two numbers, the first in its lower half.
#[inline]
fn two(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

#[inline]
fn address_words(address: &Address) -> [u64; 2] {
    let bits = u128::from_le_bytes(address.octets());
    [bits as u64, (bits >> 64) as u64]
}
