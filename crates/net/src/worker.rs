//! One worker: a pinned thread that waits for its sockets and answers what they bring.
//!
//! Each turn of the loop handles every socket that is ready, but none of them for long: a UDP socket gets at most
//! [`BATCHES_PER_TURN`] batches, a connection one read, a listener a few connections. What is left over is still
//! ready in the next turn (epoll is level-triggered), so neither UDP nor TCP can starve the other.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, process};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::bind::Sockets;
use crate::context::Now;
use crate::counters::Counters;
use crate::host::{Host, Panicked};
use crate::queries::Queries;
use crate::service::Service;
use crate::stop::Stop;
use crate::tcp::{Connections, Turn};
use crate::token::Token;
use crate::udp::{BATCH, Backend, Port, Receiver};

/// Batches one UDP socket gets per turn: 512 queries, some hundred microseconds during which TCP waits.
const BATCHES_PER_TURN: usize = 8;

/// A batch at least this full suggests that more datagrams have arrived meanwhile, so that asking again at once is
/// cheaper than asking epoll first.
const BATCH_WORTH_REPEATING: usize = BATCH / 4;

/// Sockets handled per turn; the others come in the next.
const EVENTS_PER_TURN: usize = 128;

/// Panics of the service that a worker survives at once. Each costs one batch; a service that fails more often is better
/// replaced by the service manager.
const PANICS_BURST: u32 = 100;

/// One more panic is forgiven each such time.
const PANIC_PAUSE: Duration = Duration::from_secs(60);

/// Turns after the signal to stop that still answer what had arrived. A full receive buffer of 5,000 queries takes
/// ten; a client that goes on sending does not keep the worker from ending.
const LAST_TURNS_MAX: usize = 16;

/// What a turn saw.
#[derive(Clone, Copy, Debug, Default)]
struct Events {
    /// Sockets that were ready.
    sockets: usize,
    /// Whether the signal to stop was given.
    stop: bool,
}

/// Everything one worker owns.
pub(crate) struct Worker<S: Service> {
    index: usize,
    host: Host<S>,
    epoll: OwnedFd,
    udp: Vec<Port>,
    receiver: Receiver,
    connections: Connections,
    stop: Arc<Stop>,
    counters: Arc<Counters>,
    /// Panics that are not forgiven yet.
    panics: Rate,
}

/// The parts of a worker that are made before its thread starts, so that a failure is reported at once.
pub(crate) struct Prepared {
    pub(crate) sockets: Sockets,
    pub(crate) epoll: OwnedFd,
}

impl Prepared {
    /// Registers the sockets and the stop signal with a new epoll instance.
    pub(crate) fn new(sockets: Sockets, stop: &Stop) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, port) in sockets.udp.iter().enumerate() {
            epoll::add(&epoll, &port.socket, Token::Udp(index).data(), port.flags)?;
        }
        for (index, port) in sockets.tcp.iter().enumerate() {
            epoll::add(&epoll, &port.socket, Token::Listener(index).data(), port.flags)?;
        }
        epoll::add(&epoll, stop.as_fd(), Token::Stop.data(), epoll::EventFlags::IN)?;
        Ok(Self { sockets, epoll })
    }
}

impl<S: Service> Worker<S> {
    pub(crate) fn new(
        index: usize,
        host: Host<S>,
        prepared: Prepared,
        backend: Backend,
        connections: Connections,
        stop: Arc<Stop>,
        counters: Arc<Counters>,
    ) -> Self {
        let Prepared { sockets, epoll } = prepared;
        let receiver = Receiver::new(backend);
        let panics = Rate::new(PANICS_BURST, PANIC_PAUSE, Instant::now());
        Self { index, host, epoll, udp: sockets.udp, receiver, connections, stop, counters, panics }
    }

    /// Serves until told to stop, then until everything asked for is answered and sent, or the deadline is over.
    pub(crate) fn run(mut self) {
        while !self.turn(None).stop {}
        let deadline = self.stop.deadline();
        // Nobody reads it, so that all workers see it; it would be ready in each turn from here on.
        let _ = epoll::delete(&self.epoll, self.stop.as_fd());
        // What had arrived before is still answered.
        for _ in 0..LAST_TURNS_MAX {
            if self.turn(Some(Instant::now())).sockets == 0 {
                break;
            }
        }
        self.drain();
        while !self.connections.is_empty() && Instant::now() < deadline {
            self.turn(Some(deadline));
        }
        self.connections.close_all(&self.counters);
    }

    /// Takes no more queries.
    fn drain(&mut self) {
        for port in &self.udp {
            let _ = epoll::delete(&self.epoll, &port.socket);
        }
        let now = Now::read();
        let mut turn = Turn { now, epoll: &self.epoll, counters: &self.counters, serve: &mut self.host };
        self.connections.drain(&mut turn);
    }

    /// Waits for sockets to be ready, until `deadline` at most, and handles them.
    fn turn(&mut self, deadline: Option<Instant>) -> Events {
        let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS_PER_TURN];
        let timeout = self.timeout(deadline);
        let events = match epoll::wait(&self.epoll, &mut space, timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Events::default(),
            // The instance and the memory are ours and valid: nothing else can go wrong.
            Err(errno) => panic!("waiting for sockets failed: {errno}"),
        };
        let now = Now::read();
        self.host.core.begin(now);
        let mut seen = Events { sockets: events.len(), stop: false };
        for event in events {
            match Token::from(event.data) {
                Token::Udp(index) => self.answer_datagrams(index, now),
                Token::Listener(index) => {
                    self.connections.accept(index, now.instant, &self.epoll, &self.counters);
                }
                Token::Stream(id) => {
                    let mut turn =
                        Turn { now, epoll: &self.epoll, counters: &self.counters, serve: &mut self.host };
                    self.connections.turn(id, event.flags, &mut turn);
                }
                Token::Stop => {
                    seen.sockets -= 1;
                    seen.stop = true;
                }
            }
            self.restart();
        }
        if self.connections.has_ready() {
            let mut turn = Turn { now, epoll: &self.epoll, counters: &self.counters, serve: &mut self.host };
            self.connections.serve_ready(&mut turn);
            self.restart();
        }
        self.connections.expire(now.instant, &self.epoll, &self.counters);
        seen
    }

    /// Replaces the service if it panicked; gives up if it does so too often.
    #[inline]
    fn restart(&mut self) {
        if self.host.has_panicked() {
            self.restart_now();
        }
    }

    #[cold]
    fn restart_now(&mut self) {
        self.counters.service_panics.add(1);
        tracing::error!(worker = self.index, "the service panicked; a batch of queries is lost");
        if !self.panics.take(Instant::now()) {
            tracing::error!(worker = self.index, "the service panics again and again: giving up");
            process::abort();
        }
        self.host.restart();
    }

    fn timeout(&self, deadline: Option<Instant>) -> Option<Timespec> {
        if self.connections.has_ready() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let until = match (self.connections.next_deadline(), deadline) {
            (Some(one), Some(other)) => one.min(other),
            (one, other) => one.or(other)?,
        };
        // Rounded up to a millisecond, or the loop would spin through the last one.
        let wait = until.saturating_duration_since(Instant::now());
        let wait = if wait.is_zero() { wait } else { wait + Duration::from_millis(1) };
        Timespec::try_from(wait).ok()
    }

    /// Answers what waits at UDP socket `index`, a bounded number of batches.
    fn answer_datagrams(&mut self, index: usize, now: Now) {
        let Some(port) = self.udp.get(index) else { return };
        for _ in 0..BATCHES_PER_TURN {
            let received = self.receiver.receive(port, &self.counters);
            if received.queries > 0 {
                let mut queries = Queries::new(self.receiver.batch(now));
                let outcome = self.host.call(|service, driver| service.queries(&mut queries, driver));
                match outcome {
                    Ok(()) => self.receiver.send(port, &self.counters),
                    Err(Panicked) => return self.receiver.forget(),
                }
            }
            if received.datagrams < BATCH_WORTH_REPEATING {
                return;
            }
        }
    }
}

/// So many at once, and one more each time.
#[derive(Debug)]
struct Rate {
    burst: u32,
    pause: Duration,
    left: u32,
    /// When `left` was last raised.
    raised: Instant,
}

impl Rate {
    fn new(burst: u32, pause: Duration, now: Instant) -> Self {
        Self { burst, pause, left: burst, raised: now }
    }

    /// Takes one; `false` if none is left.
    fn take(&mut self, now: Instant) -> bool {
        while self.left < self.burst && now.saturating_duration_since(self.raised) >= self.pause {
            self.left += 1;
            self.raised += self.pause;
        }
        if self.left == self.burst {
            self.raised = now;
        }
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => return false,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_a_rate() {
        let start = Instant::now();
        let mut rate = Rate::new(3, PANIC_PAUSE, start);
        assert_eq!([(); 4].map(|()| rate.take(start)), [true, true, true, false]);
        assert!(!rate.take(start + PANIC_PAUSE - Duration::from_millis(1)));
        assert!(rate.take(start + PANIC_PAUSE));
        assert!(!rate.take(start + PANIC_PAUSE + Duration::from_secs(1)));
        // No more than a burst is ever saved up.
        let late = start + PANIC_PAUSE * 1000;
        assert_eq!([(); 4].map(|()| rate.take(late)), [true, true, true, false]);
    }
}
