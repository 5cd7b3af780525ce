//! One TCP connection: reads, frames, has answered, writes, and never holds more than it must.
//!
//! ```text
//!            read                          all written
//!   Open ----------> answer ----> write --------------> Open
//!    |                              | the client does not read
//!    |                              v
//!    |                      unsent: not read from until all is written
//!    |  malformed, worn out: Closing (the same, then)
//!    v
//!   Lingering: FIN sent, the rest of what the client sends is thrown away until it closes too
//! ```
//!
//! Queries of one read are answered in their order and leave in one write. They could leave in any order (RFC 7766
//! 7); as each answer is made at once, there is none that another could overtake.
//!
//! A response of many messages (AXFR) has its place beside `unsent`: an iterator kept there and asked for the next
//! message whenever all before it is written gives it the same back-pressure.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Instant;

use super::frame::{Front, LENGTH_OCTETS, MESSAGE_OCTETS_MAX, front};
use super::pool::{HELD_OCTETS_MAX, Pool};
use crate::admit::{Admission, Seat};
use crate::counters::Counters;
use crate::handler::{Context, Handler, Transport};

/// Octets read at a time. It bounds the work of one turn: 292 queries of the shortest kind. Long queries take
/// several turns.
const READ_OCTETS: usize = 4096;

/// Space for responses: one of maximal length beside as much of others, which are written out before that.
const WRITE_OCTETS: usize = 2 * (LENGTH_OCTETS + MESSAGE_OCTETS_MAX);

/// Octets a slow client must take to count as making progress. A client that takes one octet now and then, to hold
/// a connection and its memory, does not.
const PROGRESS_OCTETS: usize = 4096;

/// Octets thrown away after we closed our side; a client that sends more than this after our FIN is not reading.
const LINGER_OCTETS_MAX: usize = 256 << 10;

/// What connections are made of: TCP in earnest, memory in tests.
pub(super) trait Stream: Read + Write {
    /// Tells the client that nothing more will come.
    fn finish(&self) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// The areas that all connections of a worker use in turn.
pub(super) struct Scratch {
    input: Box<[u8]>,
    output: Box<[u8]>,
    pub(super) pool: Pool,
}

impl Scratch {
    pub(super) fn new() -> Self {
        let zeros = |octets| vec![0; octets].into_boxed_slice();
        Self { input: zeros(READ_OCTETS), output: zeros(WRITE_OCTETS), pool: Pool::new(HELD_OCTETS_MAX) }
    }

    /// Makes the areas anew where a panic of the handler lost one, and forgets what was lent, after all connections
    /// are gone.
    pub(super) fn restore(&mut self) {
        if self.input.is_empty() || self.output.is_empty() {
            *self = Self::new();
        }
        self.pool.reset();
    }
}

/// What a connection needs from its worker to go on.
pub(super) struct WorkerParts<'a> {
    pub(super) now: Instant,
    pub(super) scratch: &'a mut Scratch,
    pub(super) admission: &'a Admission,
    pub(super) counters: &'a Counters,
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The client closed it, and everything it asked is answered.
    Client,
    /// The system reported an error, a reset for instance.
    Error,
    /// It lingered, and the client does not stop sending.
    Linger,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// From accepting on.
    Open,
    /// No more is to be read; what is unsent goes out first. After a malformed message, at the limit of queries or
    /// lifetime, and when the server stops.
    Closing,
    /// Our side is closed. Closing the socket at once would make the system answer unread queries with a reset,
    /// which discards responses that the client has not read yet (RFC 1122 4.2.2.13).
    Lingering {
        /// Octets thrown away so far.
        discarded: usize,
    },
}

#[derive(Debug)]
pub(super) struct Connection<S> {
    pub(super) socket: S,
    client: SocketAddr,
    local: SocketAddr,
    opened: Instant,
    /// When it was opened, last completed a query, or last made progress in taking a response.
    pub(super) active: Instant,
    queries: u64,
    /// Its share of the limits; given back by whoever removes the connection.
    pub(super) seat: Option<Seat>,
    /// The beginning of a query; while something is unsent also whole queries not yet answered.
    pending: Vec<u8>,
    /// Responses the system did not take, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// Octets sent since `active`.
    progress: usize,
    state: State,
    /// Whether epoll waits for it to be writable (else readable); kept by the worker.
    pub(super) waits_to_write: bool,
}

// With the entry around it and the counted prefix an idle connection takes below 512 octets.
const _: () = assert!(size_of::<Connection<TcpStream>>() <= 288);

impl<S: Stream> Connection<S> {
    pub(super) fn new(
        socket: S,
        client: SocketAddr,
        local: SocketAddr,
        seat: Option<Seat>,
        now: Instant,
    ) -> Self {
        Self {
            socket,
            client,
            local,
            opened: now,
            active: now,
            queries: 0,
            seat,
            pending: Vec::new(),
            unsent: Vec::new(),
            sent: 0,
            progress: 0,
            state: State::Open,
            waits_to_write: false,
        }
    }

    /// Goes on after the socket became ready: at most one read, or one write of what is unsent and then the queries
    /// that waited for it. An `Err` says to drop the connection.
    pub(super) fn advance<H: Handler>(
        &mut self,
        parts: &mut WorkerParts<'_>,
        handler: &mut H,
    ) -> Result<(), Ending> {
        if self.has_unsent() {
            self.send_unsent(parts)?;
            if self.has_unsent() {
                return Ok(());
            }
            if self.state == State::Closing {
                return self.linger();
            }
            let pending = std::mem::take(&mut self.pending);
            return self.answer_held(pending, parts, handler);
        }
        match self.state {
            State::Open => self.read(parts, handler),
            State::Closing => self.linger(),
            State::Lingering { discarded } => self.discard(discarded, parts),
        }
    }

    /// Whether responses wait for the client to read.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Whether it holds lent memory.
    pub(super) fn holds_memory(&self) -> bool {
        self.pending.capacity() + self.unsent.capacity() > 0
    }

    /// Reads no more; ends once everything is sent.
    pub(super) fn close_when_sent(&mut self) {
        if self.state == State::Open {
            self.state = State::Closing;
        }
    }

    /// Gives lent memory back, before the connection is dropped.
    pub(super) fn release(&mut self, pool: &mut Pool) {
        pool.take_back(&mut self.pending);
        pool.take_back(&mut self.unsent);
    }

    fn read<H: Handler>(&mut self, parts: &mut WorkerParts<'_>, handler: &mut H) -> Result<(), Ending> {
        let octets = match self.socket.read(&mut parts.scratch.input) {
            // A half-closed client has had all its answers: nothing is unsent. A query it left unfinished is none.
            Ok(0) => return Err(Ending::Client),
            Ok(octets) => octets,
            Err(error) if is_transient(&error) => return Ok(()),
            Err(_) => return Err(Ending::Error),
        };
        if self.pending.is_empty() {
            // Out of the shared area for the time of the call: `parts` is needed as a whole.
            let input = std::mem::take(&mut parts.scratch.input);
            let outcome = self.answer(&input[..octets], parts, handler);
            if let Ok(used) = outcome {
                parts.scratch.pool.append(&mut self.pending, &input[used..octets]);
            }
            parts.scratch.input = input;
            return self.settle(outcome);
        }
        parts.scratch.pool.append(&mut self.pending, &parts.scratch.input[..octets]);
        let pending = std::mem::take(&mut self.pending);
        self.answer_held(pending, parts, handler)
    }

    /// Answers the queries in `pending`, which was held for this connection, and keeps the rest of it.
    fn answer_held<H: Handler>(
        &mut self,
        mut pending: Vec<u8>,
        parts: &mut WorkerParts<'_>,
        handler: &mut H,
    ) -> Result<(), Ending> {
        let outcome = self.answer(&pending, parts, handler);
        if let Ok(used) = outcome {
            pending.drain(..used);
        }
        if pending.is_empty() {
            parts.scratch.pool.take_back(&mut pending);
        }
        self.pending = pending;
        self.settle(outcome)
    }

    /// After answering: starts to linger if it is to close and all is sent.
    fn settle(&mut self, outcome: Result<usize, Ending>) -> Result<(), Ending> {
        outcome?;
        if self.state == State::Closing && !self.has_unsent() { self.linger() } else { Ok(()) }
    }

    /// Answers the whole queries at the front of `octets` until there is no other, the client does not take the
    /// responses, or a limit is reached; returns how many octets they took.
    fn answer<H: Handler>(
        &mut self,
        octets: &[u8],
        parts: &mut WorkerParts<'_>,
        handler: &mut H,
    ) -> Result<usize, Ending> {
        let limit = self.query_limit(parts);
        let context = Context { transport: Transport::Tcp, client: self.client, local: self.local };
        let mut output = std::mem::take(&mut parts.scratch.output);
        let (mut used, mut filled, mut begun) = (0, 0, false);
        let mut outcome = Ok(());
        loop {
            let query = match front(&octets[used..]) {
                Front::Message(query) => query,
                Front::Incomplete => break,
                Front::Malformed => {
                    parts.counters.tcp_malformed.add(1);
                    self.state = State::Closing;
                    break;
                }
            };
            if output.len() - filled < LENGTH_OCTETS + MESSAGE_OCTETS_MAX {
                outcome = self.write(&output[..filled], parts);
                filled = 0;
                if outcome.is_err() || self.has_unsent() {
                    break;
                }
            }
            if !begun {
                handler.begin_batch();
                begun = true;
            }
            let space = &mut output[filled + LENGTH_OCTETS..][..MESSAGE_OCTETS_MAX];
            filled += frame(handler.handle(query, &context, space), &mut output[filled..], parts.counters);
            used += LENGTH_OCTETS + query.len();
            self.queries += 1;
            if self.queries >= limit {
                parts.counters.tcp_worn_out.add(1);
                self.state = State::Closing;
                break;
            }
        }
        if begun {
            handler.end_batch();
            (self.active, self.progress) = (parts.now, 0);
        }
        if outcome.is_ok() && filled > 0 {
            outcome = self.write(&output[..filled], parts);
        }
        parts.scratch.output = output;
        outcome.map(|()| if self.state == State::Closing { octets.len() } else { used })
    }

    /// How many queries it may have sent in all: past its lifetime, one more.
    fn query_limit(&self, parts: &WorkerParts<'_>) -> u64 {
        let age = parts.now.saturating_duration_since(self.opened);
        if age >= parts.admission.lifetime() { self.queries + 1 } else { parts.admission.queries() }
    }

    /// Writes responses; what the system does not take becomes `unsent`, which was empty.
    fn write(&mut self, octets: &[u8], parts: &mut WorkerParts<'_>) -> Result<(), Ending> {
        let written = match self.socket.write(octets) {
            Ok(written) => written,
            Err(error) if is_transient(&error) => 0,
            Err(_) => return Err(Ending::Error),
        };
        self.sent = 0;
        parts.scratch.pool.append(&mut self.unsent, &octets[written..]);
        Ok(())
    }

    /// Writes more of what is unsent.
    fn send_unsent(&mut self, parts: &mut WorkerParts<'_>) -> Result<(), Ending> {
        let written = match self.socket.write(&self.unsent[self.sent..]) {
            Ok(0) => return Err(Ending::Error),
            Ok(written) => written,
            Err(error) if is_transient(&error) => return Ok(()),
            Err(_) => return Err(Ending::Error),
        };
        self.sent += written;
        self.progress += written;
        let all = self.sent == self.unsent.len();
        if all {
            parts.scratch.pool.take_back(&mut self.unsent);
            self.sent = 0;
        }
        if all || self.progress >= PROGRESS_OCTETS {
            (self.active, self.progress) = (parts.now, 0);
        }
        Ok(())
    }

    fn linger(&mut self) -> Result<(), Ending> {
        self.state = State::Lingering { discarded: 0 };
        self.socket.finish().map_err(|_| Ending::Error)
    }

    fn discard(&mut self, discarded: usize, parts: &mut WorkerParts<'_>) -> Result<(), Ending> {
        match self.socket.read(&mut parts.scratch.input) {
            Ok(0) => Err(Ending::Client),
            Ok(octets) if discarded + octets > LINGER_OCTETS_MAX => Err(Ending::Linger),
            Ok(octets) => {
                self.state = State::Lingering { discarded: discarded + octets };
                Ok(())
            }
            Err(error) if is_transient(&error) => Ok(()),
            Err(_) => Err(Ending::Error),
        }
    }
}

/// Puts the length before a response that the handler wrote behind it; returns the octets of both, 0 for none.
fn frame(response_octets: usize, output: &mut [u8], counters: &Counters) -> usize {
    counters.tcp_queries.add(1);
    debug_assert!(response_octets <= MESSAGE_OCTETS_MAX, "a response is longer than its buffer");
    match u16::try_from(response_octets) {
        Ok(octets @ 1..) => {
            output[..LENGTH_OCTETS].copy_from_slice(&octets.to_be_bytes());
            counters.tcp_responses.add(1);
            LENGTH_OCTETS + response_octets
        }
        _ => {
            counters.tcp_unanswered.add(1);
            0
        }
    }
}

/// Whether the socket is merely not ready.
fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests;
