//! The outward side of a worker, as its service sees it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sync::random::Unguessable;

use crate::admit::Admission;
use crate::context::{Address, Context, Now, Transport};
use crate::counters::Counters;
use crate::inbox::{Inbox, Sink, Waker};
use crate::later::{Asker, Found, GivenUp, Later, Mark, Path, RowId};
use crate::stream::{Messages, STREAMS_PER_CONNECTION_MAX, STREAMS_PER_WORKER_MAX, Streams};
use crate::tap::{Tap, TapEnd};
use crate::ticket::{Refused, Ticket};
use crate::timer::{TimerId, Timers};
use crate::token::ConnectionId;
use crate::upstream::{Need, PathId, StreamId, Unsent, Upstream};

/// Replies to tickets in one event. One arrival may answer 16,384 clients: the service goes on in the next turn.
pub const REPLIES_PER_EVENT: usize = 512;

/// Room for the replies of one event: all of them of 1,232 octets, or a few of the longest.
const REPLY_AREA_OCTETS: usize = 1 << 20;

/// Where a batch came from: the way back of its items.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// UDP socket of this number.
    Datagrams(u16),
    /// A connection.
    Connection(ConnectionId),
}

/// A reply that is made and not sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) path: Path,
    /// The mark of its row, if the tap was told of the query.
    pub(crate) mark: Option<Mark>,
    pub(crate) start: u32,
    pub(crate) octets: u32,
}

/// The replies of one event.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    /// Empty until the first reply.
    area: Vec<u8>,
    filled: usize,
    list: Vec<Reply>,
}

impl Replies {
    fn has_room(&self, octets: usize) -> bool {
        self.list.len() < REPLIES_PER_EVENT && self.filled + octets <= REPLY_AREA_OCTETS
    }

    fn room(&mut self, octets: usize) -> &mut [u8] {
        if self.area.is_empty() {
            // Zeros of the system: what no reply needs is no memory, and the first one does not write it all.
            self.area = vec![0; REPLY_AREA_OCTETS];
        }
        &mut self.area[self.filled..][..octets]
    }

    fn push(&mut self, path: Path, mark: Option<Mark>, octets: usize) {
        self.list.push(Reply { path, mark, start: self.filled as u32, octets: octets as u32 });
        self.filled += octets;
    }

    pub(crate) fn list(&self) -> &[Reply] {
        &self.list
    }

    pub(crate) fn octets(&self, reply: &Reply) -> &[u8] {
        &self.area[reply.start as usize..][..reply.octets as usize]
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.filled = 0;
    }
}

/// An item of a batch that is to be answered later.
pub(crate) struct Postponed<'q> {
    /// Of the batch.
    pub(crate) index: usize,
    pub(crate) query: &'q [u8],
    pub(crate) context: &'q Context,
    pub(crate) peer: Address,
    pub(crate) source: Source,
    /// Octets that its response may have.
    pub(crate) room: usize,
}

/// A stream that is to begin.
pub(crate) struct Start {
    pub(crate) connection: ConnectionId,
    pub(crate) messages: Box<dyn Messages>,
}

/// What a worker keeps for its service.
pub(crate) struct Core<M> {
    pub(crate) now: Now,
    worker: usize,
    /// Of all workers.
    inboxes: Arc<[Arc<Inbox<M>>]>,
    sink: Arc<dyn Sink>,
    admission: Arc<Admission>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) later: Later,
    pub(crate) replies: Replies,
    pub(crate) starts: Vec<Start>,
    /// Keys of rows whose clients are gone, of which the service is not told yet.
    pub(crate) gone: Vec<u64>,
    pub(crate) timers: Timers,
    pub(crate) streams: Streams,
    pub(crate) upstream: Upstream,
    pub(crate) tap: Tap,
    random: Unguessable,
    /// Whether the service wants another turn.
    pub(crate) again: bool,
}

impl<M: Send + 'static> Core<M> {
    pub(crate) fn new(
        worker: usize,
        inboxes: Arc<[Arc<Inbox<M>>]>,
        admission: Arc<Admission>,
        counters: Arc<Counters>,
        upstream: Upstream,
        tap: Tap,
    ) -> std::io::Result<Self> {
        let sink: Arc<dyn Sink> = Arc::clone(&inboxes[worker]) as Arc<dyn Sink>;
        Ok(Self {
            now: Now::read(),
            worker,
            inboxes,
            sink,
            admission,
            counters,
            later: Later::new(),
            replies: Replies::default(),
            starts: Vec::new(),
            gone: Vec::new(),
            timers: Timers::default(),
            streams: Streams::default(),
            upstream,
            tap,
            random: Unguessable::from_system()?,
            again: false,
        })
    }
}

impl<M> Core<M> {
    pub(crate) fn inbox(&self) -> &Arc<Inbox<M>> {
        &self.inboxes[self.worker]
    }

    pub(crate) fn sink(&self) -> &Arc<dyn Sink> {
        &self.sink
    }

    /// Sends what was asked of other servers in the event, and hands over what was told of that.
    #[inline]
    pub(crate) fn flush_questions(&mut self) {
        self.upstream.flush();
        if self.tap.wants().is_some() {
            self.tap.publish();
        }
    }

    /// Whether an event left something to be sent.
    #[inline]
    pub(crate) fn has_output(&self) -> bool {
        !self.replies.list.is_empty() || !self.starts.is_empty()
    }

    /// The client of a row was replied to past the worker, and that is counted: `WorkerCounters::with_sent`.
    pub(crate) fn sent_row(&mut self, row: RowId) {
        self.later.end(row);
    }

    /// Ends a row and counts how; the way back if its client waits.
    pub(crate) fn end(&mut self, row: RowId) -> Option<Path> {
        let found = self.later.end(row)?;
        self.counters.later_open.subtract(1);
        match found {
            Found::Waiting(path) => Some(path),
            Found::Gone => {
                self.counters.later_gone.add(1);
                None
            }
        }
    }

    /// As `end`, for a row that gets no response in a record of the tap.
    pub(crate) fn end_unanswered(&mut self, row: RowId, end: TapEnd) -> Option<Path> {
        self.tap.ended(self.later.take_mark(row), end);
        self.end(row)
    }

    /// A ticket is dropped, or replied to with nothing.
    pub(crate) fn drop_row(&mut self, row: RowId) {
        if self.end_unanswered(row, TapEnd::Dropped).is_some() {
            self.counters.later_dropped.add(1);
        }
    }

    /// The connection at `index` is closed: its rows are gone.
    pub(crate) fn abandon(&mut self, index: u32) {
        let Self { later, tap, gone, .. } = self;
        later.abandon(index, |row| {
            gone.push(row.key);
            tap.ended(row.mark, TapEnd::Gone);
        });
    }

    /// The oldest row, if it is too old, is gone.
    pub(crate) fn expire_row(&mut self, now: Instant) -> Option<GivenUp> {
        let row = self.later.expire(now)?;
        self.counters.later_expired.add(1);
        self.gone.push(row.key);
        self.tap.ended(row.mark, TapEnd::Gone);
        Some(row)
    }

    /// The worker ends, and answers none of those who still wait.
    pub(crate) fn end_rows(&mut self) {
        while let Some(row) = self.later.give_up_oldest() {
            self.tap.ended(row.mark, TapEnd::Gone);
        }
    }

    /// Begins a stream in the place of a row; closes the connection where there may be no other.
    pub(crate) fn stream_row(&mut self, row: RowId, messages: Box<dyn Messages>) -> Option<ConnectionId> {
        let mark = self.later.take_mark(row);
        let Some(Path::Connection { id, .. }) = self.end(row) else { return None };
        self.counters.later_streamed.add(1);
        let is_begun = self.begin_stream(id, messages).is_ok();
        self.tap.ended(mark, if is_begun { TapEnd::Stream } else { TapEnd::Dropped });
        (!is_begun).then_some(id)
    }

    fn begin_stream(
        &mut self,
        connection: ConnectionId,
        messages: Box<dyn Messages>,
    ) -> Result<(), (Refused, Box<dyn Messages>)> {
        let refused = if self.streams.count() + self.starts.len() >= STREAMS_PER_WORKER_MAX {
            Refused::Worker
        } else if usize::from(self.later.open(connection.index).streams) >= STREAMS_PER_CONNECTION_MAX {
            Refused::Connection
        } else {
            self.later.open_mut(connection.index).streams += 1;
            self.starts.push(Start { connection, messages });
            return Ok(());
        };
        self.counters.streams_refused.add(1);
        Err((refused, messages))
    }

    /// Puts a reply of another thread among those to be sent. `false`: there is no room for another before those are sent.
    pub(crate) fn reply_row(&mut self, row: RowId, octets: &[u8]) -> bool {
        if !self.replies.has_room(octets.len()) {
            return false;
        }
        let mark = self.later.take_mark(row);
        if let Some(path) = self.end(row) {
            self.counters.later_replied.add(1);
            self.replies.room(octets.len()).copy_from_slice(octets);
            self.replies.push(path, mark, octets.len());
        }
        true
    }
}

/// What a service can do beside answering at once. Borrowed for the time of one event.
pub struct Driver<'a, M> {
    core: &'a mut Core<M>,
}

impl<'a, M> Driver<'a, M> {
    pub(crate) fn new(core: &'a mut Core<M>) -> Self {
        Self { core }
    }

    /// The time at which the turn began.
    #[must_use]
    pub fn now(&self) -> Now {
        self.core.now
    }

    /// 64 random bits, good enough for IDs, ports and secrets.
    pub fn random(&mut self) -> u64 {
        self.core.random.next_u64()
    }

    /// This worker's number, 0 and up.
    #[must_use]
    pub fn worker(&self) -> usize {
        self.core.worker
    }

    /// The prefix that limits of clients count `client` under, as those of TCP do: its first address.
    #[must_use]
    pub fn prefix_of(&self, client: IpAddr) -> IpAddr {
        self.core.admission.prefix_of(client)
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.core.inboxes.len()
    }

    /// Has the service told `messages` this one, on worker `worker`; gives it back where too many wait there, where that worker
    /// has ended, and where there is none of that number.
    pub fn tell(&self, worker: usize, message: M) -> Result<(), M> {
        match self.core.inboxes.get(worker) {
            Some(inbox) => inbox.tell(message),
            None => Err(message),
        }
    }

    /// Wakes this service from any thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.core.sink))
    }

    /// Answers the query that `ticket` is of: `write` writes to a room of [`Ticket::room`] octets and returns how many to send,
    /// 0 for none. It is not called where the client is gone. Gives the ticket back where an event has had its replies: they
    /// go on in the next turn, which [`Driver::again`] asks for.
    pub fn reply(&mut self, ticket: Ticket, write: impl FnOnce(&mut [u8]) -> usize) -> Result<(), Ticket> {
        let room = ticket.room();
        if !ticket.is_of(Arc::as_ptr(&self.core.sink).cast()) {
            let mut octets = vec![0; room];
            let count = write(&mut octets);
            octets.truncate(count);
            ticket.reply(octets);
            return Ok(());
        }
        if !self.core.replies.has_room(room) {
            return Err(ticket);
        }
        if self.core.later.path(ticket.row()).is_none() {
            self.discard(ticket);
            return Ok(());
        }
        // The ticket lives on meanwhile: a panic of `write` drops it.
        let octets = write(self.core.replies.room(room));
        debug_assert!(octets <= room, "a reply is longer than its room");
        let row = ticket.use_up();
        if octets == 0 || octets > room {
            self.core.drop_row(row);
            return Ok(());
        }
        let mark = self.core.later.take_mark(row);
        if let Some(path) = self.core.end(row) {
            self.core.counters.later_replied.add(1);
            self.core.replies.push(path, mark, octets);
        }
        Ok(())
    }

    /// Drops a ticket at once, which makes room for another.
    pub fn discard(&mut self, ticket: Ticket) {
        if ticket.is_of(Arc::as_ptr(&self.core.sink).cast()) {
            let row = ticket.use_up();
            self.core.drop_row(row);
        }
    }

    /// Answers the query that `ticket` is of with many messages, or gives both back with the reason.
    pub fn stream(
        &mut self,
        ticket: Ticket,
        messages: Box<dyn Messages>,
    ) -> Result<(), (Refused, Ticket, Box<dyn Messages>)> {
        if !ticket.is_of(Arc::as_ptr(&self.core.sink).cast()) {
            return ticket
                .stream(messages)
                .map_err(|(ticket, messages)| (Refused::Transport, ticket, messages));
        }
        match self.core.later.path(ticket.row()) {
            None => {
                self.discard(ticket);
                Ok(())
            }
            Some(Path::Datagram { .. }) => Err((Refused::Transport, ticket, messages)),
            Some(Path::Connection { id, .. }) => match self.core.begin_stream(id, messages) {
                Ok(()) => {
                    let row = ticket.use_up();
                    self.core.end_unanswered(row, TapEnd::Stream);
                    self.core.counters.later_streamed.add(1);
                    Ok(())
                }
                Err((refused, messages)) => Err((refused, ticket, messages)),
            },
        }
    }

    /// Has the service told `again` in the next turn, before the worker sleeps.
    pub fn again(&mut self) {
        self.core.again = true;
    }

    /// Has the service told `timer` with this key at `at`, or as soon after as there is time. `None`: there are as many as there
    /// may be.
    pub fn set_timer(&mut self, at: Instant, key: u64) -> Option<TimerId> {
        self.core.timers.set(at, key)
    }

    /// As [`Driver::set_timer`], so long after now.
    pub fn set_timer_in(&mut self, after: Duration, key: u64) -> Option<TimerId> {
        self.set_timer(self.core.now.instant.checked_add(after)?, key)
    }

    /// Cancels a timer; its key, if it had not fired.
    pub fn cancel(&mut self, timer: TimerId) -> Option<u64> {
        self.core.timers.cancel(timer)
    }

    /// How other servers are asked. What is asked goes by [`Driver::ask`] and [`Driver::send`].
    pub fn upstream(&mut self) -> &mut Upstream {
        &mut self.core.upstream
    }

    /// Has `octets`, 1 to 65,507, sent to `server` from a port that an attacker cannot foretell: at the end of the event, or sooner where much waits. Never waits.
    /// The path is part of what an answer must agree in, beside sender, ID and question; [`Upstream::settle`] says that it is no longer needed.
    ///
    /// Errors: [`Unsent::NoRoute`], [`Unsent::Sockets`], [`Unsent::Length`]. What fails when it is sent is told by an event ([`crate::Service::unsent`]). What becomes
    /// of the datagram later nobody says: messages of routers, which anybody can forge, are not listened to.
    pub fn ask(&mut self, server: SocketAddr, octets: &[u8], need: Need) -> Result<PathId, Unsent> {
        let path = self.core.upstream.ask(server, octets, need)?;
        self.core.tap.question(server, Transport::Udp, octets);
        Ok(path)
    }

    /// Sends a message of 1 to 65,535 octets. Any number may be sent before the first answer, which may come in any order (RFC 7766 6.2.1.1).
    ///
    /// Errors: [`Unsent::Busy`] while the server does not take what is sent already ([`crate::UNSENT_OCTETS_MAX`]) or owes 128 answers, [`Unsent::Length`], [`Unsent::Closed`].
    pub fn send(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Unsent> {
        let (server, transport) = self.core.upstream.send(stream, octets)?;
        self.core.tap.question(server, transport, octets);
        Ok(())
    }

    /// A ticket for an item of a batch.
    pub(crate) fn later(
        &mut self,
        asked: &Postponed<'_>,
        key: u64,
        is_proved: bool,
    ) -> Result<Ticket, Refused> {
        let Postponed { index, query, context, peer, source, room } = *asked;
        let path = match source {
            Source::Datagrams(port) => Path::Datagram { port, peer, local: context.local },
            Source::Connection(id) => Path::Connection { id, tag: 0 },
        };
        let prefix = self.core.admission.prefix_of(context.client.ip());
        let asker = Asker { path, prefix, is_proved: is_proved || context.is_proved };
        match self.core.later.add(asker, key, self.core.now.instant) {
            Ok(row) => {
                self.core.counters.later_tickets.add(1);
                self.core.counters.later_open.add(1);
                let mark = self.core.tap.later(index, row, context, query);
                if let Some(mark) = mark {
                    self.core.later.mark(mark);
                }
                let is_stream = matches!(source, Source::Connection(_));
                // What the tap is told of goes by the worker.
                let path = (!is_stream && mark.is_none()).then_some(path);
                Ok(Ticket::new(Arc::clone(&self.core.sink), row, room, is_stream, path))
            }
            Err(refused) => {
                self.core.counters.later_refused.add(1);
                Err(refused)
            }
        }
    }

    /// A stream for an item of a batch.
    pub(crate) fn stream_item(
        &mut self,
        source: Source,
        messages: Box<dyn Messages>,
    ) -> Result<(), (Refused, Box<dyn Messages>)> {
        match source {
            Source::Datagrams(_) => Err((Refused::Transport, messages)),
            Source::Connection(id) => self.core.begin_stream(id, messages),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use rustix::event::epoll;
    use sync::tap::{Wants, ring};

    use super::*;
    use crate::admit::TcpLimits;
    use crate::later::LATER_AGE_MAX;
    use crate::tap::{TapRecord, Tapped};

    const WHOLE: Wants =
        Wants { one_in: 1, query_octets: u16::MAX, response_octets: u16::MAX, others: false };

    /// What comes of time and of the end, which no test waits for.
    #[test]
    fn the_tap_is_told_of_rows_that_nobody_answers() {
        let epoll: Arc<OwnedFd> = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
        let counters = Arc::new(Counters::default());
        let (writer, tap) = ring(4096);
        let mut core = Core::<()>::new(
            0,
            Arc::new([Arc::new(Inbox::new().unwrap())]),
            Arc::new(Admission::new(&TcpLimits::default(), 1)),
            Arc::clone(&counters),
            Upstream::new(epoll, 1, Arc::clone(&counters)).unwrap(),
            Tap::new(writer).unwrap(),
        )
        .unwrap();
        let mut reader = tap.attach(WHOLE).unwrap();
        core.tap.look();
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let rows = [0, 1, 2, 3].map(|age| {
            let row = core.later.add(Asker::of_test(1), 7, start + age * second).unwrap();
            if age != 1 {
                core.later.mark(Mark { row, one_in: 1, transport: crate::Transport::Udp });
            }
            row
        });
        let now = start + LATER_AGE_MAX + second;
        assert!(core.expire_row(now).is_some() && core.expire_row(now).is_some());
        assert_eq!((core.expire_row(now), &core.gone[..]), (None, &[7, 7][..]));
        core.drop_row(rows[2]);
        // Each of these has ended before.
        core.drop_row(rows[0]);
        core.drop_row(rows[2]);
        core.end_rows();
        core.end_rows();
        let mut octets = Vec::new();
        let records = std::iter::from_fn(|| reader.read(&mut octets).then(|| octets.clone()));
        let told: Vec<_> = records
            .map(|octets| {
                let record = TapRecord::read(&octets).unwrap();
                assert_eq!(record.outcome, Tapped::Ended);
                (record.row.unwrap().index, record.end.unwrap())
            })
            .collect();
        let of = |place: usize| rows[place].index();
        assert_eq!(told, [(of(0), TapEnd::Gone), (of(2), TapEnd::Dropped), (of(3), TapEnd::Gone)]);
        assert_eq!(counters.read().later_expired, 2);
    }
}
