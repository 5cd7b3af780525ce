//! One connection of plain DNS over a stream: octets in, octets out; it knows no socket.
//!
//! ```text
//!            receive: whole queries are answered            the worker's output area
//!   Open ----------------------------------------> Open ---------------------------> written by whoever has the socket;
//!    |  |                                                                            what is not taken becomes `unsent`
//!    |  `-- end of input --> Ended: no more queries; gone once everything asked for is answered and sent
//!    |  malformed, worn out, leaving, stopping: Closing: the same, then
//!    v
//!   Lingering: FIN sent, the rest of what the client sends is thrown away until it closes too
//! ```
//!
//! Queries of one read are answered in their order and leave in one write; late replies leave as they come (RFC 7766 7).
//! While something is unsent, or as many queries are open as may be, nothing more is read: who does not read is not
//! read from.

use std::time::{Duration, Instant};

use super::frame::{Front, LENGTH_OCTETS, MESSAGE_OCTETS_MAX, front};
use super::pool::{HELD_OCTETS_MAX, Pool};
use crate::admit::Admission;
use crate::context::{Address, Context, Now, PLAIN, Transport, idle_tenths};
use crate::counters::Counters;
use crate::driver::Source;
use crate::host::Serve;
use crate::later::{LATER_PER_CONNECTION_MAX, Open};
use crate::queries::{Batch, DROPPED, Outcome, Rooms, Span, octets_of};
use crate::token::ConnectionId;

/// Octets read at a time. It bounds the work of one turn: 292 queries of the shortest kind. Long queries take
/// several turns.
pub(super) const READ_OCTETS: usize = 4096;

/// Queries of one batch: those of a read.
const BATCH_MAX: usize = READ_OCTETS / (LENGTH_OCTETS + 12);

/// Space for responses: one of maximal length beside as much of others, which are written out before that.
const WRITE_OCTETS: usize = 2 * (LENGTH_OCTETS + MESSAGE_OCTETS_MAX);

/// Octets a slow client must take to count as making progress. A client that takes one octet now and then, to hold
/// a connection and its memory, does not.
const PROGRESS_OCTETS: usize = 4096;

/// Octets that may be unsent for a stream to go on: enough to keep a path of 5 Mbit/s and 100 ms busy beside what the
/// system holds.
const STREAM_ROOM_OCTETS: usize = 64 << 10;

/// Octets thrown away after we closed our side; a client that sends more than this after our FIN is not reading.
const LINGER_OCTETS_MAX: usize = 256 << 10;

/// The areas that all connections of a worker use in turn.
pub(super) struct Scratch {
    pub(super) input: Box<[u8]>,
    output: Box<[u8]>,
    /// How much of `output` waits to be written.
    filled: usize,
    spans: Vec<Span>,
    outcomes: Vec<Outcome>,
    pub(super) pool: Pool,
}

/// Octets of the areas of one worker.
pub(crate) const SCRATCH_OCTETS: usize = READ_OCTETS + WRITE_OCTETS;

impl Scratch {
    pub(super) fn new() -> Self {
        let zeros = |octets| vec![0; octets].into_boxed_slice();
        Self {
            input: zeros(READ_OCTETS),
            output: zeros(WRITE_OCTETS),
            filled: 0,
            spans: Vec::with_capacity(BATCH_MAX),
            outcomes: Vec::with_capacity(BATCH_MAX),
            pool: Pool::new(HELD_OCTETS_MAX),
        }
    }

    /// The responses that wait to be written.
    pub(super) fn output(&self) -> &[u8] {
        &self.output[..self.filled]
    }

    /// Says that so many octets of the output are written: the rest is kept by `connection`, and the area is free.
    pub(super) fn written(&mut self, octets: usize, connection: &mut Connection) {
        connection.keep(&self.output[octets..self.filled], &mut self.pool);
        self.filled = 0;
    }

    /// Room for a message of a stream, of which the output area is free for the time.
    pub(super) fn stream_room(&mut self) -> &mut [u8] {
        debug_assert_eq!(self.filled, 0, "the output area is in use");
        &mut self.output[LENGTH_OCTETS..][..MESSAGE_OCTETS_MAX]
    }

    /// The message of so many octets in that room is complete.
    pub(super) fn frame_stream(&mut self, octets: usize) {
        self.output[..LENGTH_OCTETS].copy_from_slice(&(octets as u16).to_be_bytes());
        self.filled = LENGTH_OCTETS + octets;
    }

    /// Forgets what a connection that ended left in the output area.
    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }
}

/// What a connection needs from its worker to go on.
pub(super) struct WorkerParts<'a> {
    pub(super) now: Now,
    pub(super) scratch: &'a mut Scratch,
    pub(super) admission: &'a Admission,
    pub(super) counters: &'a Counters,
    pub(super) serve: &'a mut dyn Serve,
    /// Which connection it is.
    pub(super) id: ConnectionId,
    /// Whether it is to end with what it asks next.
    pub(super) is_leaving: bool,
}

impl WorkerParts<'_> {
    /// What the connection has open.
    pub(super) fn open(&self) -> Open {
        self.serve.open(self.id.index)
    }
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The client closed it, and everything it asked is answered; or the server did, and the client knows.
    Client,
    /// The system reported an error, a reset for instance.
    Error,
    /// It lingered, and the client does not stop sending.
    Linger,
    /// The service panicked over its queries.
    Panic,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// From accepting on.
    Open,
    /// The client has closed its side.
    Ended,
    /// No more is to be read; what is open or unsent goes out first. After a malformed message, at the limit of queries
    /// or lifetime, once another process has the listeners, and when the server stops.
    Closing,
    /// Our side is closed. Closing the socket at once would make the system answer unread queries with a reset,
    /// which discards responses that the client has not read yet (RFC 1122 4.2.2.13).
    Lingering {
        /// Octets thrown away so far.
        discarded: usize,
    },
}

/// What a connection waits for; each by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) read: bool,
    pub(super) write: bool,
}

#[derive(Debug)]
pub(super) struct Connection {
    client: Address,
    local: Address,
    opened: Instant,
    /// When it was opened, last completed a query, or last made progress in taking a response.
    pub(super) active: Instant,
    queries: u64,
    /// The beginning of a query; while something is unsent or too much is open also whole queries not yet answered.
    pending: Vec<u8>,
    /// Responses that were not taken, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// Octets sent since `active`.
    progress: usize,
    state: State,
    /// Whether there may be whole queries in `pending`.
    is_put_off: bool,
}

impl Connection {
    pub(super) fn new(client: Address, local: Address, now: Instant) -> Self {
        Self {
            client,
            local,
            opened: now,
            active: now,
            queries: 0,
            pending: Vec::new(),
            unsent: Vec::new(),
            sent: 0,
            progress: 0,
            state: State::Open,
            is_put_off: false,
        }
    }

    /// What it waits for.
    pub(super) fn wants(&self) -> Wants {
        let write = self.has_unsent();
        let read = match self.state {
            State::Open => !write && !self.is_put_off,
            State::Ended | State::Closing => false,
            State::Lingering { .. } => true,
        };
        Wants { read, write }
    }

    /// Whether responses wait for the client to read.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// The responses that wait.
    pub(super) fn unsent(&self) -> &[u8] {
        &self.unsent[self.sent..]
    }

    /// Whether it holds lent memory.
    pub(super) fn holds_memory(&self) -> bool {
        self.pending.capacity() + self.unsent.capacity() > 0
    }

    /// Whether it lingers.
    pub(super) fn is_lingering(&self) -> bool {
        matches!(self.state, State::Lingering { .. })
    }

    /// Whether it lingers and its client sends nothing.
    pub(super) fn is_silent(&self) -> bool {
        self.state == State::Lingering { discarded: 0 }
    }

    /// Whether queries that it has can be answered now.
    pub(super) fn can_go_on(&self, open: Open) -> bool {
        self.is_put_off && self.takes_queries() && !self.has_unsent() && has_room(open)
    }

    /// Whether there is nothing more to do for it but to close; whether at once or after lingering.
    pub(super) fn is_over(&self, open: Open) -> Option<Over> {
        if self.has_unsent() || self.is_put_off || open.is_any() {
            return None;
        }
        match self.state {
            State::Ended => Some(Over::AtOnce),
            State::Closing => Some(Over::Linger),
            State::Open | State::Lingering { .. } => None,
        }
    }

    fn takes_queries(&self) -> bool {
        matches!(self.state, State::Open | State::Ended)
    }

    /// The client sends no more. A query that it left unfinished is none.
    pub(super) fn end_of_input(&mut self) {
        if self.state == State::Open {
            self.state = State::Ended;
        }
    }

    /// Takes no more queries, those not yet answered included, and ends once everything open is answered and sent.
    pub(super) fn drain(&mut self, pool: &mut Pool) {
        if self.takes_queries() {
            self.state = State::Closing;
            self.is_put_off = false;
            pool.take_back(&mut self.pending);
        }
    }

    /// Gives lent memory back, before the connection is dropped.
    pub(super) fn release(&mut self, pool: &mut Pool) {
        pool.take_back(&mut self.pending);
        pool.take_back(&mut self.unsent);
    }

    /// Takes what the client sent and has whole queries answered, into the output area. `true`: the area is full; once it
    /// is written, [`Connection::go_on`] goes on.
    pub(super) fn receive(&mut self, octets: usize, parts: &mut WorkerParts<'_>) -> Result<bool, Ending> {
        if !self.pending.is_empty() {
            parts.scratch.pool.append(&mut self.pending, &parts.scratch.input[..octets]);
            return self.go_on(parts);
        }
        // Out of the shared area for the time of the call: `parts` is needed as a whole.
        let input = std::mem::take(&mut parts.scratch.input);
        let outcome = self.answer(&input[..octets], parts);
        if let Ok((used, _)) = outcome {
            parts.scratch.pool.append(&mut self.pending, &input[used..octets]);
        }
        parts.scratch.input = input;
        outcome.map(|(_, is_full)| is_full)
    }

    /// Answers the queries in `pending` and keeps the rest of it. As [`Connection::receive`].
    pub(super) fn go_on(&mut self, parts: &mut WorkerParts<'_>) -> Result<bool, Ending> {
        let mut pending = std::mem::take(&mut self.pending);
        let outcome = self.answer(&pending, parts);
        if let Ok((used, _)) = outcome {
            pending.drain(..used);
        }
        if pending.is_empty() || outcome.is_err() {
            parts.scratch.pool.take_back(&mut pending);
        }
        self.pending = pending;
        outcome.map(|(_, is_full)| is_full)
    }

    /// Answers the whole queries at the front of `octets` until there is no other, the output area is full, or a limit
    /// is reached; returns how many octets they took and whether it was the area.
    fn answer(&mut self, octets: &[u8], parts: &mut WorkerParts<'_>) -> Result<(usize, bool), Ending> {
        let limit = self.query_limit(parts);
        let context = self.context(parts);
        let mut used = 0;
        self.is_put_off = false;
        while self.takes_queries() {
            if parts.scratch.output.len() - parts.scratch.filled < LENGTH_OCTETS + MESSAGE_OCTETS_MAX {
                self.is_put_off = true;
                return Ok((used, true));
            }
            let open = parts.open();
            if !has_room(open) {
                self.is_put_off = true;
                break;
            }
            // Each may have to be answered later.
            let may_open = LATER_PER_CONNECTION_MAX - usize::from(open.tickets);
            let left =
                usize::try_from(limit - self.queries).unwrap_or(usize::MAX).min(BATCH_MAX).min(may_open);
            let is_malformed = find(&octets[used..], left, &mut parts.scratch.spans);
            if parts.scratch.spans.is_empty() {
                if is_malformed {
                    parts.counters.tcp_malformed.add(1);
                    self.state = State::Closing;
                }
                break;
            }
            let answered = serve(&octets[used..], &context, parts)?;
            let spans = &parts.scratch.spans[..answered];
            used += spans.last().map_or(0, |last| (last.start + last.octets) as usize);
            self.queries += answered as u64;
            (self.active, self.progress) = (parts.now.instant, 0);
            if self.queries >= limit {
                parts.counters.tcp_worn_out.add(1);
                self.state = State::Closing;
            }
        }
        if parts.is_leaving && used > 0 && !self.is_put_off && self.takes_queries() {
            self.state = State::Closing;
        }
        Ok((if self.takes_queries() { used } else { octets.len() }, false))
    }

    /// How many queries it may have sent in all: past its lifetime, one more.
    fn query_limit(&self, parts: &WorkerParts<'_>) -> u64 {
        let age = parts.now.instant.saturating_duration_since(self.opened);
        if age >= parts.admission.lifetime() { self.queries + 1 } else { parts.admission.queries() }
    }

    /// What is known of its queries besides.
    fn context(&self, parts: &WorkerParts<'_>) -> Context {
        Context {
            client: self.client,
            local: self.local,
            transport: Transport::Tcp,
            is_proved: true,
            is_early: false,
            idle_left: if parts.is_leaving { 0 } else { idle_tenths(parts.admission.idle()) },
        }
    }

    /// Keeps what was not taken of `octets`; of an empty output nothing.
    pub(super) fn keep(&mut self, octets: &[u8], pool: &mut Pool) {
        pool.append(&mut self.unsent, octets);
    }

    /// Adds a message that was made later to what is unsent; what waits longer is activity.
    pub(super) fn answer_later(&mut self, octets: &[u8], now: Instant, pool: &mut Pool) {
        if !self.has_unsent() {
            (self.active, self.progress) = (now, 0);
        }
        pool.append(&mut self.unsent, &(octets.len() as u16).to_be_bytes());
        pool.append(&mut self.unsent, octets);
    }

    /// Something that kept it from being idle is over.
    pub(super) fn touch(&mut self, now: Instant) {
        (self.active, self.progress) = (now, 0);
    }

    /// Whether the idle time runs, or that in which its client must make progress.
    pub(super) fn is_timed(&self, open: Open) -> bool {
        self.has_unsent() || !open.is_any()
    }

    /// Whether a stream may write more.
    pub(super) fn has_stream_room(&self) -> bool {
        self.unsent().len() < STREAM_ROOM_OCTETS
    }

    /// Says that so many octets of `unsent` were taken.
    pub(super) fn sent(&mut self, octets: usize, now: Instant, pool: &mut Pool) {
        self.sent += octets;
        self.progress += octets;
        let all = self.sent == self.unsent.len();
        if all {
            pool.take_back(&mut self.unsent);
            self.sent = 0;
        }
        if all || self.progress >= PROGRESS_OCTETS {
            (self.active, self.progress) = (now, 0);
        }
    }

    /// Our side is closed.
    pub(super) fn linger(&mut self) {
        self.state = State::Lingering { discarded: 0 };
    }

    /// The client has sent so many octets after our side was closed.
    pub(super) fn discard(&mut self, octets: usize) -> Result<(), Ending> {
        let State::Lingering { discarded } = &mut self.state else { return Ok(()) };
        *discarded += octets;
        if *discarded > LINGER_OCTETS_MAX { Err(Ending::Linger) } else { Ok(()) }
    }

    /// How long without activity is too long: `None` while it has its own reasons to wait.
    pub(super) fn deadline(&self, idle: Duration) -> Option<Instant> {
        // An idle time too long to add is as good as none.
        self.active.checked_add(idle)
    }
}

/// Whether another query may be opened beside those that are.
fn has_room(open: Open) -> bool {
    usize::from(open.tickets) < LATER_PER_CONNECTION_MAX
}

/// How a connection that is over is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The client has closed its side too.
    AtOnce,
    /// The client may still send.
    Linger,
}

/// Finds up to `most` whole messages at the front of `octets`. Returns whether what follows the last is no message.
fn find(octets: &[u8], most: usize, spans: &mut Vec<Span>) -> bool {
    spans.clear();
    let mut at = 0;
    while spans.len() < most {
        match front(&octets[at..]) {
            Front::Message(message) => {
                spans.push(Span { start: (at + LENGTH_OCTETS) as u32, octets: message.len() as u32 });
                at += LENGTH_OCTETS + message.len();
            }
            Front::Incomplete => return false,
            Front::Malformed => return true,
        }
    }
    false
}

/// Has the messages that `find` found in `octets` answered, into the output area; returns how many were.
fn serve(octets: &[u8], context: &Context, parts: &mut WorkerParts<'_>) -> Result<usize, Ending> {
    let Scratch { output, filled, spans, outcomes, .. } = &mut *parts.scratch;
    outcomes.clear();
    outcomes.resize(spans.len(), DROPPED);
    let batch = Batch {
        now: parts.now,
        session: &PLAIN,
        received: octets,
        spans,
        contexts: std::slice::from_ref(context),
        area: &mut output[*filled..],
        rooms: Rooms { stride: 0, prefix: LENGTH_OCTETS, octets: MESSAGE_OCTETS_MAX },
        outcomes,
        source: Source::Connection(parts.id),
    };
    let (offered, _) = parts.serve.serve(batch).map_err(|_| Ending::Panic)?;
    let (mut responses, mut unanswered) = (0, 0);
    for &outcome in &outcomes[..offered] {
        let octets = octets_of(outcome);
        if octets > 0 {
            output[*filled..][..LENGTH_OCTETS].copy_from_slice(&(octets as u16).to_be_bytes());
            *filled += LENGTH_OCTETS + octets;
            responses += 1;
        } else if outcome == DROPPED {
            unanswered += 1;
        }
    }
    parts.counters.tcp_queries.add(offered as u64);
    if context.client.is_ipv6() {
        parts.counters.tcp_ipv6_queries.add(offered as u64);
    }
    parts.counters.tcp_responses.add(responses);
    parts.counters.tcp_unanswered.add(unanswered);
    Ok(offered)
}

#[cfg(test)]
mod tests;
