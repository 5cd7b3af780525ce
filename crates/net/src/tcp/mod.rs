//! Connections of one worker: accepted, served in turn, bounded in number, time and memory (RFC 7766, RFC 9210).

mod accept;
mod connection;
mod frame;
mod pool;
mod table;

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::epoll::{self, EventFlags};
use sync::counters::Number;

use crate::admit::Admission;
use crate::bind::TcpPort;
use crate::counters::Counters;
use crate::handler::Handler;
use crate::token::{Place, Token};
use connection::{Connection, Ending, Scratch, WorkerParts};
use table::Table;

/// Listeners and connections of one worker.
pub(crate) struct Streams {
    listeners: Vec<accept::Listening>,
    /// Until when nothing is accepted, after descriptors or memory ran out.
    paused_until: Option<Instant>,
    table: Table<Connection<TcpStream>>,
    scratch: Scratch,
    admission: Arc<Admission>,
}

impl Streams {
    pub(crate) fn new(ports: Vec<TcpPort>, admission: Arc<Admission>) -> Self {
        let listeners = ports.into_iter().map(accept::Listening::new).collect();
        Self { listeners, paused_until: None, table: Table::new(), scratch: Scratch::new(), admission }
    }

    /// Serves a connection whose socket is ready.
    pub(crate) fn turn<H: Handler>(
        &mut self,
        place: Place,
        ready: EventFlags,
        now: Instant,
        epoll: &OwnedFd,
        handler: &mut H,
        counters: &Counters,
    ) {
        // Closed earlier in this turn: the event is about its predecessor.
        let Some(connection) = self.table.value_mut(place) else { return };
        let broken = ready.intersects(EventFlags::ERR | EventFlags::HUP) && connection.has_unsent();
        let mut parts = WorkerParts { now, scratch: &mut self.scratch, admission: &self.admission, counters };
        let outcome = if broken { Err(Ending::Error) } else { connection.advance(&mut parts, handler) };
        match outcome {
            Ok(()) => {
                let touched = connection.active == now;
                if rearm(connection, place, epoll).is_err() {
                    return self.close(place, &counters.tcp_errors, counters);
                }
                if touched {
                    self.table.touch(place);
                }
                self.shed(counters);
            }
            Err(Ending::Error) => self.close(place, &counters.tcp_errors, counters),
            Err(Ending::Client | Ending::Linger) => self.remove(place, counters),
        }
    }

    /// Closes connections that made no progress for the idle time, and accepts again after a pause.
    pub(crate) fn expire(&mut self, now: Instant, epoll: &OwnedFd, counters: &Counters) {
        if self.paused_until.is_some_and(|until| until <= now) {
            self.resume(now, epoll);
        }
        let idle = self.admission.idle();
        while let Some((place, connection)) = self.table.oldest() {
            if now.saturating_duration_since(connection.active) < idle {
                return;
            }
            let reason = if connection.has_unsent() {
                &counters.tcp_slow_reader_closed
            } else {
                &counters.tcp_idle_closed
            };
            self.close(place, reason, counters);
        }
    }

    /// When `expire` has something to do next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        // An idle time too long to add is as good as none.
        let idle = self
            .table
            .oldest()
            .and_then(|(_, connection)| connection.active.checked_add(self.admission.idle()));
        match (idle, self.paused_until) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Accepts no more, closes what is idle, and lets the others send what waits for their clients.
    pub(crate) fn finish(&mut self, counters: &Counters) {
        self.listeners.clear();
        self.paused_until = None;
        let mut places = Vec::with_capacity(self.table.count());
        places.extend(self.table.iter().map(|(place, _)| place));
        for place in places {
            match self.table.value_mut(place) {
                Some(connection) if connection.has_unsent() => connection.close_when_sent(),
                _ => self.remove(place, counters),
            }
        }
    }

    /// Whether responses wait for a client to read.
    pub(crate) fn has_unsent(&self) -> bool {
        self.table.iter().any(|(_, connection)| connection.has_unsent())
    }

    /// Drops all connections.
    pub(crate) fn close_all(&mut self, counters: &Counters) {
        while let Some((place, _)) = self.table.oldest() {
            self.remove(place, counters);
        }
        self.scratch.restore();
    }

    /// Cuts off the clients that have been slow for longest while too much memory is lent.
    fn shed(&mut self, counters: &Counters) {
        while self.scratch.pool.is_exhausted() {
            let slowest = self.table.iter().find(|(_, connection)| connection.holds_memory());
            let Some((place, _)) = slowest else { return };
            self.close(place, &counters.tcp_memory_closed, counters);
        }
    }

    fn close(&mut self, place: Place, reason: &Number, counters: &Counters) {
        reason.add(1);
        self.remove(place, counters);
    }

    /// Drops a connection. Closing its only descriptor takes it out of epoll.
    fn remove(&mut self, place: Place, counters: &Counters) {
        let Some(mut connection) = self.table.remove(place) else { return };
        connection.release(&mut self.scratch.pool);
        if let Some(seat) = connection.seat.take() {
            self.admission.leave(seat);
        }
        counters.tcp_open.subtract(1);
    }
}

/// Waits for what the connection needs next: room to write while something is unsent, else something to read. That
/// is the back-pressure: who does not read is not read from. EPOLLRDHUP is not asked for: a client that closes its
/// sending side still wants its answers.
fn rearm(connection: &mut Connection<TcpStream>, place: Place, epoll: &OwnedFd) -> rustix::io::Result<()> {
    let write = connection.has_unsent();
    if write == connection.waits_to_write {
        return Ok(());
    }
    connection.waits_to_write = write;
    let flags = if write { EventFlags::OUT } else { EventFlags::IN };
    epoll::modify(epoll, &connection.socket, Token::Stream(place).data(), flags)
}

#[cfg(test)]
mod tests;
