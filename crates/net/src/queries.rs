//! The queries of one event: what each asks, where its response goes, and what became of it.
//!
//! ```text
//! datagrams    spans -> query   query   query       a room of its own for each, a stride apart
//!                        room    room    room
//! streams      spans -> query   query   query       all visible at once
//!              area  -> length|answer length|answer length|room ......    rooms come in order, each behind the last answer
//! ```
//!
//! Query and room are handed out item by item. No reference to all the memory of a back end ever leaves this module,
//! since in other back ends (UMEM of AF_XDP, rings of provided buffers) the kernel writes to neighbours meanwhile.

use crate::context::{Context, Now, Session};
use crate::driver::{Driver, Postponed, Source};
use crate::stream::Messages;
use crate::ticket::{Refused, Ticket};

/// What became of an item: the octets of its response (1 to 65,535), or one of those below.
pub(crate) type Outcome = u32;

/// Nothing is sent: the state an item begins in.
pub(crate) const DROPPED: Outcome = 0;
/// Somebody holds a ticket.
pub(crate) const LATER: Outcome = 1 << 31;
/// Messages are pulled.
pub(crate) const STREAM: Outcome = 1 << 30;

/// The octets to send of an item; 0 for none.
#[inline]
pub(crate) fn octets_of(outcome: Outcome) -> usize {
    if outcome <= 0xFFFF { outcome as usize } else { 0 }
}

/// Where a query lies within the octets received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) octets: u32,
}

/// Where rooms lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rooms {
    /// From one item's room to the next; 0 where they are cut one after another.
    pub(crate) stride: usize,
    /// Octets left free before each room, for the length of its message.
    pub(crate) prefix: usize,
    /// Octets of a room.
    pub(crate) octets: usize,
}

/// An item, and where the room of its response begins with the octets before it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    index: usize,
    start: usize,
}

/// The parts of a batch, as a back end has them.
pub(crate) struct Batch<'a> {
    pub(crate) now: Now,
    pub(crate) session: &'a Session,
    /// What `spans` lie in.
    pub(crate) received: &'a [u8],
    pub(crate) spans: &'a [Span],
    /// One for each item, or one for all.
    pub(crate) contexts: &'a [Context],
    pub(crate) area: &'a mut [u8],
    pub(crate) rooms: Rooms,
    /// One for each item, all `DROPPED`.
    pub(crate) outcomes: &'a mut [Outcome],
    pub(crate) source: Source,
}

/// The queries of an event.
pub struct Queries<'a> {
    batch: Batch<'a>,
    /// The item that comes next.
    next: usize,
    /// Where the next room and the octets before it begin.
    cursor: usize,
    /// Whether an item had to be put off since there was no room for its response.
    blocked: bool,
}

impl<'a> Queries<'a> {
    pub(crate) fn new(batch: Batch<'a>) -> Self {
        debug_assert_eq!(batch.spans.len(), batch.outcomes.len(), "an item has a span and an outcome");
        Self { batch, next: 0, cursor: 0, blocked: false }
    }

    /// How many there are, those taken already included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.spans.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch.spans.is_empty()
    }

    /// When they came.
    #[must_use]
    pub fn now(&self) -> Now {
        self.batch.now
    }

    /// What is the same for all of them.
    #[must_use]
    pub fn session(&self) -> &'a Session {
        self.batch.session
    }

    /// The octets of query `index`, which is below `len()`.
    #[must_use]
    pub fn query(&self, index: usize) -> &[u8] {
        let span = self.batch.spans[index];
        &self.batch.received[span.start as usize..][..span.octets as usize]
    }

    /// What is known of query `index` besides.
    #[must_use]
    pub fn context(&self, index: usize) -> &Context {
        &self.batch.contexts[index.min(self.batch.contexts.len() - 1)]
    }

    /// The next item with its room. `None` after the last, or where there is no room for another response: the items
    /// that are left then come again in a batch of their own.
    #[inline]
    #[allow(clippy::should_implement_trait)] // Items borrow from this, which an iterator's cannot.
    pub fn next(&mut self) -> Option<Item<'_>> {
        self.next_query()?;
        self.current()
    }

    /// The next item without what few need, for a service that most queries are answered by at once: then [`Queries::answer`] says so, and
    /// [`Queries::current`] gives the whole item otherwise. `None` as of [`Queries::next`].
    #[inline]
    pub fn next_query(&mut self) -> Option<Asked<'_, 'a>> {
        let batch = &mut self.batch;
        let index = self.next;
        let span = *batch.spans.get(index)?;
        let start = self.cursor + batch.rooms.prefix;
        let Some(room) = batch.area.get_mut(start..start + batch.rooms.octets) else {
            self.blocked = true;
            return None;
        };
        self.next = index + 1;
        self.cursor += batch.rooms.stride;
        let query = &batch.received[span.start as usize..][..span.octets as usize];
        Some(Asked { query, context: &batch.contexts[index.min(batch.contexts.len() - 1)], room })
    }

    /// The item that came last, of which nothing is said yet. `None` before the first.
    #[inline]
    pub fn current(&mut self) -> Option<Item<'_>> {
        let batch = &mut self.batch;
        let index = self.next.checked_sub(1)?;
        let span = *batch.spans.get(index)?;
        let start = self.cursor - batch.rooms.stride + batch.rooms.prefix;
        Some(Item {
            index,
            query: &batch.received[span.start as usize..][..span.octets as usize],
            context: &batch.contexts[index.min(batch.contexts.len() - 1)],
            room: batch.area.get_mut(start..start + batch.rooms.octets)?,
            session: batch.session,
            source: batch.source,
            outcome: batch.outcomes.get_mut(index)?,
            cursor: &mut self.cursor,
            rooms: batch.rooms,
        })
    }

    /// Says of the item that came last what [`Item::answer`] says.
    #[inline]
    pub fn answer(&mut self, octets: usize) {
        let Some(outcome) = self.batch.outcomes.get_mut(self.next.wrapping_sub(1)) else { return };
        answer(outcome, &mut self.cursor, self.batch.rooms, octets);
    }

    /// Has all items come again, and takes back what was said of them: nothing is sent of those that are not answered then. For who finds that what
    /// it has answered from was not as it should be. What was promised stays: items with a ticket or a stream come too, and whatever is said of them then is nothing.
    #[cold]
    pub fn rewind(&mut self) {
        (self.next, self.cursor, self.blocked) = (0, 0, false);
        self.batch
            .outcomes
            .iter_mut()
            .filter(|outcome| **outcome < STREAM)
            .for_each(|outcome| *outcome = DROPPED);
    }

    /// The service panicked, and nothing is sent but what was promised: takes back what was said of all other items. How many those are.
    #[cold]
    pub(crate) fn lose(&mut self) -> usize {
        self.rewind();
        self.batch.outcomes.iter().filter(|outcome| **outcome < STREAM).count()
    }

    /// The place of item `index`, from that of one before it; that of the first is the default.
    pub(crate) fn place(&self, index: usize, before: Place) -> Place {
        let rooms = self.batch.rooms;
        let passed = &self.batch.outcomes[before.index..index];
        let octets = if rooms.stride > 0 {
            passed.len() * rooms.stride
        } else {
            let responses = passed.iter().map(|outcome| octets_of(*outcome)).filter(|octets| *octets > 0);
            responses.map(|octets| rooms.prefix + octets).sum()
        };
        Place { index, start: before.start + octets }
    }

    /// Outcome and response of the item at `place`.
    pub(crate) fn outcome(&self, place: Place) -> (Outcome, &[u8]) {
        let outcome = self.batch.outcomes[place.index];
        let response = match octets_of(outcome) {
            // Behind the last response there may be no octet left.
            0 => &[],
            octets => &self.batch.area[place.start + self.batch.rooms.prefix..][..octets],
        };
        (outcome, response)
    }

    /// How many items the service was offered, and how many octets of the area it has used.
    pub(crate) fn offered(&self) -> (usize, usize) {
        (if self.blocked { self.next } else { self.batch.spans.len() }, self.cursor)
    }
}

/// Notes that so many octets of a room are to be sent.
#[inline]
fn answer(outcome: &mut Outcome, cursor: &mut usize, rooms: Rooms, octets: usize) {
    debug_assert!(octets <= rooms.octets, "a response is longer than its room");
    // One comparison for 0 and what is beyond the room. Whoever took a ticket answers through that.
    if octets.wrapping_sub(1) >= rooms.octets || *outcome != DROPPED {
        return;
    }
    *outcome = octets as Outcome;
    if rooms.stride == 0 {
        *cursor += rooms.prefix + octets;
    }
}

/// One query and the room for its response: see [`Queries::next_query`].
pub struct Asked<'q, 'a> {
    /// See [`Item::query`].
    pub query: &'a [u8],
    /// See [`Item::context`].
    pub context: &'a Context,
    /// See [`Item::room`].
    pub room: &'q mut [u8],
}

/// One query, with the room for its response. It is dropped unless one of the other things is said of it.
pub struct Item<'q> {
    /// The message as received, never judged before: at most [`crate::UDP_QUERY_OCTETS_MAX`] octets over UDP, where it
    /// may be shorter than a header, and 65,535 otherwise.
    pub query: &'q [u8],
    /// What is known of it besides.
    pub context: &'q Context,
    /// Where to write the response. Its length is the most that may be sent, its content is left over from earlier
    /// queries.
    pub room: &'q mut [u8],
    index: usize,
    session: &'q Session,
    source: Source,
    outcome: &'q mut Outcome,
    cursor: &'q mut usize,
    rooms: Rooms,
}

impl Item<'_> {
    /// Says that the first `octets` octets of the room are to be sent; 0 sends nothing.
    ///
    /// A count beyond the room is a fault of the service and sends nothing.
    #[inline]
    pub fn answer(self, octets: usize) {
        answer(self.outcome, self.cursor, self.rooms, octets);
    }

    /// Whether somebody has a ticket for it, or a stream was begun: it comes again after [`Queries::rewind`].
    #[must_use]
    pub fn is_promised(&self) -> bool {
        *self.outcome >= STREAM
    }

    /// Sends nothing.
    pub fn drop(self) {}

    /// Takes the right to answer later. `key` is the service's, by which it is told if the client is gone; `is_proved`: that
    /// the query itself proves its sender's address, by a server cookie for instance. What is needed of the query has to
    /// be kept.
    ///
    /// An `Err` says which bound is reached; the item can still be answered.
    pub fn later<M>(
        &mut self,
        driver: &mut Driver<'_, M>,
        key: u64,
        is_proved: bool,
    ) -> Result<Ticket, Refused> {
        if *self.outcome >= STREAM {
            return Err(Refused::Connection);
        }
        let asked = Postponed {
            index: self.index,
            query: self.query,
            context: self.context,
            peer: self.context.peer(self.session),
            source: self.source,
            room: self.rooms.octets,
        };
        let ticket = driver.later(&asked, key, is_proved)?;
        *self.outcome = LATER;
        Ok(ticket)
    }

    /// Answers by many messages, or gives them back with the bound that is reached.
    pub fn stream<M>(
        &mut self,
        driver: &mut Driver<'_, M>,
        messages: Box<dyn Messages>,
    ) -> Result<(), (Refused, Box<dyn Messages>)> {
        if *self.outcome >= STREAM {
            return Err((Refused::Connection, messages));
        }
        driver.stream_item(self.source, messages)?;
        *self.outcome = STREAM;
        Ok(())
    }
}
