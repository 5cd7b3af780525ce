//! Connections of one worker: accepted, served in turn, bounded in number, time and memory (RFC 7766, RFC 9210).

mod accept;
mod channel;
mod connection;
pub(crate) mod frame;
mod pool;
mod table;

use std::collections::VecDeque;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};
use sync::counters::Number;

use crate::admit::Admission;
use crate::bind::TcpPort;
use crate::context::Now;
use crate::counters::Counters;
use crate::host::Serve;
use crate::stream::{Pulled, StreamId};
use crate::token::{ConnectionId, Token};
use channel::Channel;
pub(crate) use connection::SCRATCH_OCTETS;
use connection::{Connection, Ending, Scratch, WorkerParts};
use table::Table;

/// Connections of the ready list served per turn; the others come in the next.
const READY_PER_TURN: usize = 64;

/// How long a connection lingers at the stop whose client sends nothing more: its last answers arrive meanwhile. Most
/// clients close when they see our FIN; the others do not hold up the end for longer.
const BRIEF_LINGER: Duration = Duration::from_secs(1);

/// Octets that a pull costs of the budget at least, as one that brings none costs time too.
const PULL_OCTETS_MIN: usize = 512;

/// What a turn of the worker lends to its connections.
pub(crate) struct Turn<'a> {
    pub(crate) now: Now,
    pub(crate) epoll: &'a OwnedFd,
    pub(crate) counters: &'a Counters,
    pub(crate) serve: &'a mut dyn Serve,
}

/// Listeners and connections of one worker.
pub(crate) struct Connections {
    listeners: Vec<accept::Listening>,
    /// Until when nothing is accepted, after descriptors or memory ran out.
    paused_until: Option<Instant>,
    table: Table<Channel<TcpStream>>,
    /// Connections that can go on though no socket says so.
    ready: VecDeque<ConnectionId>,
    /// Whether another process has the listeners: each connection ends with what it asks next.
    is_leaving: bool,
    /// Whether the end has come.
    is_draining: bool,
    /// Connections that linger since it has, and until when those may whose clients are silent. In order of time.
    brief: VecDeque<(Instant, ConnectionId)>,
    scratch: Scratch,
    /// Whose connections these are.
    worker: usize,
    admission: Arc<Admission>,
}

impl Connections {
    pub(crate) fn new(ports: Vec<TcpPort>, worker: usize, admission: Arc<Admission>) -> Self {
        Self {
            listeners: ports.into_iter().map(accept::Listening::new).collect(),
            paused_until: None,
            table: Table::new(),
            ready: VecDeque::new(),
            is_leaving: false,
            is_draining: false,
            brief: VecDeque::new(),
            scratch: Scratch::new(),
            worker,
            admission,
        }
    }

    /// Serves a connection whose socket is ready.
    pub(crate) fn turn(&mut self, id: ConnectionId, ready: EventFlags, turn: &mut Turn<'_>) {
        self.act(id, turn, |channel, parts| {
            if ready.intersects(EventFlags::ERR | EventFlags::HUP) {
                // Both sides are closed, or it was reset: nothing that is open or unsent can arrive any more.
                let is_quiet = !channel.connection.has_unsent() && !parts.open().is_any();
                return Err(if is_quiet { Ending::Client } else { Ending::Error });
            }
            channel.turn(ready, parts)
        });
    }

    /// Serves connections of the ready list, a bounded number.
    pub(crate) fn serve_ready(&mut self, turn: &mut Turn<'_>) {
        for _ in 0..READY_PER_TURN.min(self.ready.len()) {
            let Some(id) = self.ready.pop_front() else { return };
            self.act(id, turn, |channel, parts| {
                channel.is_ready = false;
                if channel.connection.has_unsent() && !channel.interest.contains(EventFlags::OUT) {
                    channel.send_unsent(parts)?;
                }
                channel.go_on(parts)?;
                channel.settle(parts)
            });
        }
    }

    /// Whether a connection can go on though no socket says so, so that the worker must not sleep.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Does something with a connection and what follows from it. One that was closed earlier in this turn is left out.
    fn act(
        &mut self,
        id: ConnectionId,
        turn: &mut Turn<'_>,
        action: impl FnOnce(&mut Channel<TcpStream>, &mut WorkerParts<'_>) -> Result<(), Ending>,
    ) {
        let Some(channel) = self.table.value_mut(id) else { return };
        let mut parts = WorkerParts {
            now: turn.now,
            scratch: &mut self.scratch,
            admission: &self.admission,
            counters: turn.counters,
            serve: turn.serve,
            id,
            is_leaving: self.is_leaving,
        };
        let outcome = action(channel, &mut parts);
        let counters = turn.counters;
        if outcome.is_err() {
            // Responses that its client did not take are nobody else's.
            self.scratch.clear();
        }
        match outcome {
            Ok(()) => self.arrange(id, turn),
            Err(Ending::Error) => self.close(id, &counters.tcp_errors, turn),
            Err(Ending::Client | Ending::Linger | Ending::Panic) => self.remove(id, turn),
        }
    }

    /// After a connection went on: waits for what it wants now, and puts it where it belongs.
    fn arrange(&mut self, id: ConnectionId, turn: &mut Turn<'_>) {
        let Some(channel) = self.table.value_mut(id) else { return };
        if rearm(channel, id, turn.epoll).is_err() {
            return self.close(id, &turn.counters.tcp_errors, turn);
        }
        let (now, open) = (turn.now.instant, turn.serve.open(id.index));
        if channel.connection.can_go_on(open) && !channel.is_ready {
            channel.is_ready = true;
            self.ready.push_back(id);
        }
        if open.streams > 0 && channel.connection.has_stream_room() {
            turn.serve.streams().unblock(id);
        }
        if self.is_draining && channel.connection.is_lingering() && !channel.is_brief {
            channel.is_brief = true;
            self.brief.push_back((now + BRIEF_LINGER, id));
        }
        let is_timed = channel.connection.is_timed(open);
        let is_touched = channel.connection.active == now;
        match (is_timed, self.table.is_parked(id)) {
            (false, false) => self.table.park(id),
            (true, true) => {
                if let Some(channel) = self.table.value_mut(id) {
                    channel.connection.touch(now);
                }
                self.table.touch(id);
            }
            (true, false) if is_touched => self.table.touch(id),
            _ => {}
        }
        self.shed(turn);
    }

    /// Adds a message that was made later to what connection `id` is to be sent; it leaves at the end of the turn.
    pub(crate) fn reply(&mut self, id: ConnectionId, octets: &[u8], turn: &mut Turn<'_>) {
        let Some(channel) = self.table.value_mut(id) else { return };
        channel.connection.answer_later(octets, turn.now.instant, &mut self.scratch.pool);
        turn.counters.tcp_responses.add(1);
        self.stir(id);
        self.shed(turn);
    }

    /// Something that connection `id` had open is over: it is looked at in this turn.
    pub(crate) fn stir(&mut self, id: ConnectionId) {
        if let Some(channel) = self.table.value_mut(id)
            && !channel.is_ready
        {
            channel.is_ready = true;
            self.ready.push_back(id);
        }
    }

    /// Pulls messages of streams in turn, up to a budget of octets, but one at least.
    pub(crate) fn pull(&mut self, budget: usize, turn: &mut Turn<'_>) {
        let mut left = budget;
        while let Some((stream, id)) = turn.serve.streams().next() {
            let octets = self.pull_one(stream, id, turn).max(PULL_OCTETS_MIN);
            left = left.saturating_sub(octets);
            // Another one like it would be too many.
            if left < octets {
                return;
            }
        }
    }

    fn pull_one(&mut self, stream: StreamId, id: ConnectionId, turn: &mut Turn<'_>) -> usize {
        let Some(channel) = self.table.value_mut(id) else { return 0 };
        if !channel.connection.has_stream_room() {
            turn.serve.streams().block(stream);
            return 0;
        }
        let pulled = turn.serve.streams().pull(stream, self.scratch.stream_room(), turn.now.instant);
        match pulled {
            Pulled::Message(octets) => {
                self.scratch.frame_stream(octets);
                let now = turn.now.instant;
                self.act(id, turn, |channel, parts| {
                    if !channel.connection.has_unsent() {
                        channel.connection.touch(now);
                    }
                    channel.write(parts)
                });
                octets
            }
            Pulled::Nothing => 0,
            Pulled::End => {
                turn.serve.stream_ended(id.index);
                turn.counters.streams_completed.add(1);
                self.stir(id);
                0
            }
            Pulled::Abort => {
                self.close(id, &turn.counters.streams_aborted, turn);
                0
            }
            Pulled::Panic => {
                turn.counters.service_panics.add(1);
                tracing::error!("a response of many messages panicked; its connection is closed");
                self.close(id, &turn.counters.streams_aborted, turn);
                0
            }
        }
    }

    /// Closes a connection with a stream that cannot go on.
    pub(crate) fn abort(&mut self, id: ConnectionId, reason: &Number, turn: &mut Turn<'_>) {
        if self.table.value_mut(id).is_some() {
            self.close(id, reason, turn);
        }
    }

    /// Closes connections that made no progress for the idle time, and accepts again after a pause.
    pub(crate) fn expire(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.instant;
        if self.paused_until.is_some_and(|until| until <= now) {
            self.resume(now, turn.epoll);
        }
        while let Some(&(_, id)) = self.brief.front().filter(|(until, _)| *until <= now) {
            self.brief.pop_front();
            if self.table.value_mut(id).is_some_and(|channel| channel.connection.is_silent()) {
                self.remove(id, turn);
            }
        }
        self.close_late(turn);
        self.admission
            .show_idle(self.worker, self.table.oldest().map(|(_, channel)| channel.connection.active));
    }

    /// Closes the connection that has been idle longest, if that is since `since`, for another worker that has a newcomer.
    pub(crate) fn close_idle(&mut self, since: u64, turn: &mut Turn<'_>) {
        if let Some((id, channel)) = self.table.oldest()
            && self.admission.since(channel.connection.active) <= since
        {
            self.remove(id, turn);
            self.admission.done();
        } else {
            self.admission.pass_on(turn.now.instant);
        }
    }

    fn close_late(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.instant;
        let idle = self.admission.idle();
        while let Some((id, channel)) = self.table.oldest() {
            if channel.connection.deadline(idle).is_none_or(|deadline| now < deadline) {
                return;
            }
            let reason = if channel.connection.has_unsent() {
                &turn.counters.tcp_slow_reader_closed
            } else {
                &turn.counters.tcp_idle_closed
            };
            self.close(id, reason, turn);
        }
    }

    /// When `expire` has something to do next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let idle = self.admission.idle();
        let oldest = self.table.oldest().and_then(|(_, channel)| channel.connection.deadline(idle));
        let brief = self.brief.front().map(|(until, _)| *until);
        [oldest, self.paused_until, brief].into_iter().flatten().min()
    }

    /// Accepts no more, and ends each connection once what it asks next is answered.
    pub(crate) fn leave(&mut self, epoll: &OwnedFd) {
        self.close_listeners(epoll);
        self.is_leaving = true;
    }

    /// Accepts no more, reads no more queries, and ends each connection once what is open or unsent is sent.
    pub(crate) fn drain(&mut self, turn: &mut Turn<'_>) {
        self.close_listeners(turn.epoll);
        self.is_draining = true;
        for id in self.table.ids() {
            self.act(id, turn, |channel, parts| {
                channel.connection.drain(&mut parts.scratch.pool);
                channel.settle(parts)
            });
        }
    }

    /// Whether there is no connection.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.count() == 0
    }

    /// Drops all connections.
    pub(crate) fn close_all(&mut self, turn: &mut Turn<'_>) {
        for id in self.table.ids() {
            self.remove(id, turn);
        }
    }

    /// Cuts off the clients that have been slow for longest while too much memory is lent.
    fn shed(&mut self, turn: &mut Turn<'_>) {
        while self.scratch.pool.is_exhausted() {
            let slowest = self.table.iter().find(|(_, channel)| channel.connection.holds_memory());
            let Some((id, _)) = slowest else { return };
            self.close(id, &turn.counters.tcp_memory_closed, turn);
        }
    }

    fn close(&mut self, id: ConnectionId, reason: &Number, turn: &mut Turn<'_>) {
        reason.add(1);
        self.remove(id, turn);
    }

    /// Drops a connection. Closing its only descriptor takes it out of epoll.
    fn remove(&mut self, id: ConnectionId, turn: &mut Turn<'_>) {
        let Some(mut channel) = self.table.remove(id) else { return };
        channel.connection.release(&mut self.scratch.pool);
        if let Some(seat) = channel.seat.take() {
            self.admission.leave(seat);
        }
        turn.serve.closed(id);
        turn.counters.tcp_open.subtract(1);
    }
}

/// Has epoll wait for what the connection wants now. EPOLLRDHUP is not asked for: a client that closes its sending side
/// still wants its answers. One that wants neither waits for its end, which the system always reports.
fn rearm(channel: &mut Channel<TcpStream>, id: ConnectionId, epoll: &OwnedFd) -> rustix::io::Result<()> {
    let wants = channel.connection.wants();
    let mut flags = EventFlags::empty();
    flags.set(EventFlags::IN, wants.read);
    flags.set(EventFlags::OUT, wants.write);
    if flags == channel.interest {
        return Ok(());
    }
    channel.interest = flags;
    epoll::modify(epoll, &channel.socket, Token::Stream(id).data(), flags)
}

#[cfg(test)]
mod tests;
