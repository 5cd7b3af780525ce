//! The tap: what was asked and answered, told to one other thread, for logs and statistics.
//!
//! A record, numbers in little-endian order:
//!
//! ```text
//!  0 outcome   1 transport   2 flags (1: proved, 2: early)   3 zero
//!  4 row of the ticket: joins a query that is answered later with its response; all ones for none
//!  8 seconds of the wall clock since 1970 (8 octets)
//! 16 octets of the query   18 of the response   20 how many of the query follow   22 of the response
//! 24 client: 4 or 6, zero, port (2), address (16)     44 local address, likewise
//! 64 query, response
//! ```
//!
//! A response that is made later is a record of its own, without the query and the addresses.

use sync::tap::{Wants, Writer};

use crate::context::{Address, Transport};
use crate::later::Later;
use crate::queries::{DROPPED, STREAM, octets_of, row_of};
use crate::{Context, Now, Queries};

const HEAD_OCTETS: usize = 64;

/// No row.
const NONE: u32 = u32::MAX;

/// What became of a query, in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tapped {
    /// No response was sent.
    Dropped,
    /// The response is in the record.
    Answered,
    /// The response is in a record to come, of the same row, if its client waits until then.
    Later,
    /// It is answered by many messages, which are not recorded.
    Stream,
    /// The record is that of a response made later.
    LateResponse,
}

/// A record as read.
#[derive(Clone, Copy, Debug)]
pub struct TapRecord<'r> {
    /// What it is about.
    pub outcome: Tapped,
    /// How the query came.
    pub transport: Transport,
    /// See [`Context::is_proved`].
    pub is_proved: bool,
    /// See [`Context::is_early`].
    pub is_early: bool,
    /// The row that joins a query and its late response. Rows are used again: it is the last query of that row.
    pub row: Option<u32>,
    /// Seconds since 1970.
    pub wall: u64,
    /// Who asked.
    pub client: Address,
    /// Where it was sent to.
    pub local: Address,
    /// How long the query is.
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
        let (head, rest) = record.split_first_chunk::<HEAD_OCTETS>()?;
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let (query, rest) = rest.split_at_checked(usize::from(short(20)))?;
        let row = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let outcome = match head[0] {
            0 => Tapped::Dropped,
            1 => Tapped::Answered,
            2 => Tapped::Later,
            3 => Tapped::Stream,
            4 => Tapped::LateResponse,
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
            transport,
            is_proved: head[2] & 1 != 0,
            is_early: head[2] & 2 != 0,
            row: (row != NONE).then_some(row),
            wall: u64::from_le_bytes(std::array::from_fn(|index| head[8 + index])),
            client: read_address(&head[24..44]),
            local: read_address(&head[44..]),
            query_octets: short(16),
            response_octets: short(18),
            query,
            response: rest.get(..usize::from(short(22)))?,
        })
    }
}

fn read_address(octets: &[u8]) -> Address {
    let port = u16::from_le_bytes([octets[2], octets[3]]);
    match octets[0] {
        4 => Address::v4(std::array::from_fn(|index| octets[4 + index]), port),
        _ => Address::v6(std::array::from_fn(|index| octets[4 + index]), port, 0),
    }
}

fn write_address(address: Address, octets: &mut [u8]) {
    octets[2..4].copy_from_slice(&address.port().to_le_bytes());
    match address.ip() {
        std::net::IpAddr::V4(ip) => {
            octets[0] = 4;
            octets[4..8].copy_from_slice(&ip.octets());
        }
        std::net::IpAddr::V6(ip) => {
            octets[0] = 6;
            octets[4..20].copy_from_slice(&ip.octets());
        }
    }
}

/// A worker's side.
pub(crate) struct Tap {
    writer: Writer,
    /// Items until the next that is told.
    skip: u32,
}

impl Tap {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer, skip: 0 }
    }

    /// What the reader wants, if there is one.
    #[inline]
    pub(crate) fn wants(&self) -> Option<Wants> {
        self.writer.wants()
    }

    /// Tells of a batch that the service was called for. Rows of what is answered later are marked.
    #[cold]
    pub(crate) fn batch(&mut self, queries: &Queries<'_>, wants: Wants, later: &mut Later) {
        queries.for_each(|query, context, outcome, response| {
            if self.skip > 0 {
                self.skip -= 1;
                return;
            }
            self.skip = wants.one_in.saturating_sub(1);
            let row = row_of(outcome);
            if let Some(row) = row {
                later.mark_tapped(row);
            }
            let kind = match outcome {
                DROPPED => 0,
                STREAM => 3,
                _ if row.is_some() => 2,
                _ => 1,
            };
            debug_assert_eq!(octets_of(outcome), response.len(), "a response is as long as its outcome says");
            self.record(kind, context, row, queries.now(), wants, (query, response));
        });
        self.writer.publish();
    }

    /// Tells of a response that was made later.
    #[cold]
    pub(crate) fn late(&mut self, row: u32, transport: Transport, now: Now, wants: Wants, response: &[u8]) {
        let context = Context {
            client: Address::NONE,
            local: Address::NONE,
            transport,
            is_proved: false,
            is_early: false,
            idle_left: crate::context::NO_IDLE,
        };
        self.record(4, &context, Some(row), now, wants, (&[], response));
        self.writer.publish();
    }

    fn record(
        &mut self,
        kind: u8,
        context: &Context,
        row: Option<u32>,
        now: Now,
        wants: Wants,
        (query, response): (&[u8], &[u8]),
    ) {
        let kept_query = &query[..query.len().min(usize::from(wants.query_octets))];
        let kept_response = &response[..response.len().min(usize::from(wants.response_octets))];
        let mut head = [0; HEAD_OCTETS];
        head[0] = kind;
        head[4..8].copy_from_slice(&row.unwrap_or(NONE).to_le_bytes());
        head[8..16].copy_from_slice(&now.wall.to_le_bytes());
        for (at, octets) in [(16, query), (18, response), (20, kept_query), (22, kept_response)] {
            head[at..at + 2].copy_from_slice(&(octets.len() as u16).to_le_bytes());
        }
        head[1] = context.transport as u8;
        head[2] = u8::from(context.is_proved) | u8::from(context.is_early) << 1;
        write_address(context.client, &mut head[24..44]);
        write_address(context.local, &mut head[44..]);
        let octets = HEAD_OCTETS + kept_query.len() + kept_response.len();
        // One that does not fit is counted by the ring.
        if let Some(mut record) = self.writer.begin_record(octets) {
            record.write(&head);
            record.write(kept_query);
            record.write(kept_response);
        }
    }
}
