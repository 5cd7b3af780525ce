//! The tap: what was asked and answered, told to one other thread, for logs and statistics.
//!
//! A query that is answered later is told when its ticket is made: then it is known whether its reply has to go by the worker. Its row is
//! *marked* if the ring had room for that, and each mark is taken once: by the response, a record of its own without the query and
//! the addresses, or by a record that says that there is none.
//!
//! What the service asks other servers, and what comes of it, is told where it is wanted. Of a sample both are told or none, as both have one ID, which is drawn by chance:
//! the lowest are told.

mod record;
mod sample;

use std::net::SocketAddr;

use sync::random::Random;
use sync::tap::{Wants, Writer};

use crate::context::{Address, NO_IDLE, Transport, wall_nanoseconds};
use crate::later::{Mark, RowId};
use crate::queries::{DROPPED, LATER, Place, STREAM};
use crate::{Context, Queries};
use record::Head;
pub use record::{TapEnd, TapRecord, TapRow, Tapped};
use sample::Sample;

/// A worker's side.
pub(crate) struct Tap {
    writer: Writer,
    /// What the reader wants, as it was when the turn or the batch at hand began, so that the marks of rows and the ways of their replies agree.
    wants: Option<Wants>,
    sample: Sample,
    /// Whether items of the batch at hand are told.
    tells: bool,
    /// The sample as far as it is known already: to the item of the batch at hand that asked for a ticket last.
    ahead: Sample,
    asked_last: usize,
    /// When the batch at hand was taken off its socket, if items of it are told: see [`TapRecord::taken`].
    taken: u64,
}

impl Tap {
    pub(crate) fn new(writer: Writer) -> std::io::Result<Self> {
        let sample = Sample::new(Random::from_system()?);
        Ok(Self { writer, wants: None, ahead: sample.clone(), asked_last: 0, sample, tells: false, taken: 0 })
    }

    /// Looks at what the reader wants.
    #[inline]
    pub(crate) fn look(&mut self) {
        self.wants = self.writer.wants();
    }

    /// What the reader wants, if there is one.
    #[inline]
    pub(crate) fn wants(&self) -> Option<Wants> {
        self.wants
    }

    /// A batch of so many items is about to be answered.
    #[inline]
    pub(crate) fn begin(&mut self, items: usize) {
        self.look();
        if let Some(wants) = self.wants
            && (wants.one_in != self.sample.one_in || self.sample.before < items as u64)
        {
            self.begin_telling(wants, items);
        }
    }

    #[cold]
    fn begin_telling(&mut self, wants: Wants, items: usize) {
        if wants.one_in != self.sample.one_in {
            self.sample.begin(wants.one_in);
        }
        self.tells = self.sample.before < items as u64;
        if self.tells {
            self.taken = wall_nanoseconds();
            (self.ahead, self.asked_last) = (self.sample.clone(), 0);
        }
    }

    /// Item `index` of the batch at hand is answered later: tells of it if it is to be told. The mark for its row, if it was.
    #[inline]
    pub(crate) fn later(
        &mut self,
        index: usize,
        row: RowId,
        context: &Context,
        query: &[u8],
    ) -> Option<Mark> {
        if self.tells { self.tell_later(index, row, context, query) } else { None }
    }

    #[cold]
    fn tell_later(&mut self, index: usize, row: RowId, context: &Context, query: &[u8]) -> Option<Mark> {
        if index < self.asked_last {
            // The batch was rewound.
            self.ahead = self.sample.clone();
        }
        self.asked_last = index;
        if !self.ahead.has(index as u64) {
            return None;
        }
        let (one_in, transport) = (self.sample.one_in, context.transport);
        let head = Head {
            outcome: Tapped::Later,
            end: None,
            context,
            row: Some(row),
            one_in,
            taken: self.taken,
            took: 0,
        };
        self.record(&head, (query, &[])).then_some(Mark { row, one_in, transport })
    }

    /// The batch is answered: tells of its items that are not told yet. Where none is to be told it is passed over as a whole.
    #[inline]
    pub(crate) fn end(&mut self, queries: &Queries<'_>) {
        if self.wants.is_none() {
            return;
        }
        if self.tells {
            self.tell(queries);
        } else {
            self.sample.before -= queries.offered().0 as u64;
        }
    }

    #[cold]
    fn tell(&mut self, queries: &Queries<'_>) {
        let taken = self.taken;
        let took = u32::try_from(wall_nanoseconds().saturating_sub(taken)).unwrap_or(u32::MAX);
        let (offered, mut place) = (queries.offered().0, Place::default());
        while self.sample.before < offered as u64 {
            let index = self.sample.before as usize;
            self.sample.take();
            place = queries.place(index, place);
            let (outcome, response) = queries.outcome(place);
            let outcome = match outcome {
                // Told when its ticket was made.
                LATER => continue,
                DROPPED => Tapped::Dropped,
                STREAM => Tapped::Stream,
                _ => Tapped::Answered,
            };
            let (context, one_in) = (queries.context(index), self.sample.one_in);
            let head = Head { outcome, end: None, context, row: None, one_in, taken, took };
            self.record(&head, (queries.query(index), response));
        }
        self.sample.before -= offered as u64;
        self.tells = false;
        self.writer.publish();
    }

    /// Tells of a response that was made later, and is sent at `taken`. To be published.
    #[cold]
    pub(crate) fn late(&mut self, mark: Mark, taken: u64, response: &[u8]) {
        self.record_of_row(Tapped::LateResponse, None, mark, taken, response);
    }

    /// Tells that a row has ended without a response, if it was marked.
    #[inline]
    pub(crate) fn ended(&mut self, mark: Option<Mark>, end: TapEnd) {
        if let Some(mark) = mark {
            self.tell_ended(mark, end);
        }
    }

    #[cold]
    fn tell_ended(&mut self, mark: Mark, end: TapEnd) {
        self.record_of_row(Tapped::Ended, Some(end), mark, wall_nanoseconds(), &[]);
        self.publish();
    }

    /// Hands what was told to the reader.
    #[inline]
    pub(crate) fn publish(&mut self) {
        self.writer.publish();
    }

    /// Whether what is asked of other servers is told.
    #[inline]
    pub(crate) fn tells_others(&self) -> bool {
        self.wants.is_some_and(|wants| wants.others)
    }

    /// Tells of a question to another server that was taken to be sent, if it is to be told. To be published.
    #[inline]
    pub(crate) fn question(&mut self, server: SocketAddr, transport: Transport, question: &[u8]) {
        if self.tells_others() {
            self.tell_other(Tapped::Question, server, transport, question);
        }
    }

    /// Tells of what came from another server, if it is to be told. To be published.
    #[inline]
    pub(crate) fn arrival(&mut self, server: SocketAddr, transport: Transport, message: &[u8]) {
        if self.tells_others() {
            self.tell_other(Tapped::Arrival, server, transport, message);
        }
    }

    #[cold]
    fn tell_other(&mut self, outcome: Tapped, server: SocketAddr, transport: Transport, message: &[u8]) {
        let one_in = self.wants.map_or(1, |wants| wants.one_in);
        if !is_in_sample(message, one_in) {
            return;
        }
        let (context, taken) = (Context { local: server.into(), ..nobody(transport) }, wall_nanoseconds());
        let head = Head { outcome, end: None, context: &context, row: None, one_in, taken, took: 0 };
        let parts = if outcome == Tapped::Question { (message, &[][..]) } else { (&[][..], message) };
        self.record(&head, parts);
    }

    fn record_of_row(
        &mut self,
        outcome: Tapped,
        end: Option<TapEnd>,
        mark: Mark,
        taken: u64,
        response: &[u8],
    ) {
        let Mark { row, one_in, transport } = mark;
        let context = nobody(transport);
        let head = Head { outcome, end, context: &context, row: Some(row), one_in, taken, took: 0 };
        self.record(&head, (&[], response));
    }

    /// Writes a record. `false`: there is no reader any more, or the ring has no room, which it counts.
    #[inline(always)] // What is the same for a batch, and the head, are in registers then: a call costs 45 instructions a record.
    fn record(&mut self, head: &Head<'_>, (query, response): (&[u8], &[u8])) -> bool {
        let Some(wants) = self.wants else { return false };
        let kept_query = &query[..query.len().min(usize::from(wants.query_octets))];
        let kept_response = &response[..response.len().min(usize::from(wants.response_octets))];
        let lengths = [query, response, kept_query, kept_response].map(|octets| octets.len() as u16);
        self.writer.write(head.words(lengths), [kept_query, kept_response])
    }
}

/// Of what has no client in its record.
fn nobody(transport: Transport) -> Context {
    Context {
        client: Address::NONE,
        local: Address::NONE,
        transport,
        is_proved: false,
        is_early: false,
        idle_left: NO_IDLE,
    }
}

/// Whether a message to another server, or from one, is told where one in so many is: by its ID, so that a question is with its answer, and a sample holds all that a smaller
/// one does. One without an ID is told where all are.
#[must_use]
pub fn is_in_sample(message: &[u8], one_in: u32) -> bool {
    const IDS: u32 = 1 << 16;
    one_in <= 1
        || message.first_chunk().is_some_and(|id| u32::from(u16::from_be_bytes(*id)) < IDS.div_ceil(one_in))
}

#[cfg(test)]
mod tests;
