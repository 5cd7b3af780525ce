//! One worker: a pinned thread that waits for its sockets and answers what they bring.
//!
//! Each turn of the loop handles every socket that is ready, but none of them for long: a UDP socket gets at most
//! [`BATCHES_PER_TURN`] batches, a connection one read, a listener a few connections. What is left over is still
//! ready in the next turn (epoll is level-triggered), so neither UDP nor TCP can starve the other.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, process};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::bind::Sockets;
use crate::counters::Counters;
use crate::handler::Handler;
use crate::stop::Stop;
use crate::tcp::Streams;
use crate::token::Token;
use crate::udp::{BATCH, Backend, Port, Receiver};

/// Batches one UDP socket gets per turn: 512 queries, some hundred microseconds during which TCP waits.
const BATCHES_PER_TURN: usize = 8;

/// A batch at least this full suggests that more datagrams have arrived meanwhile, so that asking again at once is
/// cheaper than asking epoll first.
const BATCH_WORTH_REPEATING: usize = BATCH / 4;

/// Sockets handled per turn; the others come in the next.
const EVENTS_PER_TURN: usize = 128;

/// Panics of the handler that a worker survives. Each costs one batch and all TCP connections of the worker; a
/// handler that fails this often is better replaced by the service manager.
const PANICS_MAX: u32 = 100;

/// Turns after the signal to stop that still answer what had arrived. A full receive buffer of 5,000 queries takes
/// ten; a client that goes on sending does not keep the worker from ending.
const LAST_TURNS_MAX: usize = 16;

/// What a turn saw.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// Sockets that were ready.
    sockets: usize,
    /// Whether the signal to stop was given.
    stop: bool,
}

/// Everything one worker owns.
pub(crate) struct Worker<H> {
    index: usize,
    handler: H,
    epoll: OwnedFd,
    udp: Vec<Port>,
    receiver: Receiver,
    streams: Streams,
    stop: Arc<Stop>,
    counters: Arc<Counters>,
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

impl<H: Handler> Worker<H> {
    pub(crate) fn new(
        index: usize,
        handler: H,
        prepared: Prepared,
        backend: Backend,
        streams: Streams,
        stop: Arc<Stop>,
        counters: Arc<Counters>,
    ) -> Self {
        let Prepared { sockets, epoll } = prepared;
        let receiver = Receiver::new(backend);
        Self { index, handler, epoll, udp: sockets.udp, receiver, streams, stop, counters }
    }

    /// Serves until told to stop.
    pub(crate) fn run(mut self) {
        let mut panics = 0;
        // The handler may be in any state after a panic, but it is memory safe, and the next `begin_batch` starts
        // over; connections are dropped because their framing may be lost.
        while catch_unwind(AssertUnwindSafe(|| self.serve())).is_err() {
            panics += 1;
            self.counters.handler_panics.add(1);
            tracing::error!(worker = self.index, panics, "the handler panicked; a batch of queries is lost");
            if panics == PANICS_MAX {
                tracing::error!(worker = self.index, "the handler panics again and again: giving up");
                process::abort();
            }
            self.streams.close_all(&self.counters);
        }
        self.streams.close_all(&self.counters);
    }

    /// Turns until told to stop, then until connections are flushed or the deadline is over.
    fn serve(&mut self) {
        while !self.turn(None).stop {}
        let deadline = self.stop.deadline();
        // What had arrived before is still answered, then only what is unsent goes out.
        for _ in 0..LAST_TURNS_MAX {
            if self.turn(Some(Instant::now())).sockets == 0 {
                break;
            }
        }
        self.streams.finish(&self.counters);
        self.udp.clear();
        while self.streams.has_unsent() && Instant::now() < deadline {
            self.turn(Some(deadline));
        }
    }

    /// Waits for sockets to be ready, until `deadline` at most, and handles them.
    fn turn(&mut self, deadline: Option<Instant>) -> Turn {
        let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS_PER_TURN];
        let timeout = self.timeout(deadline);
        let events = match epoll::wait(&self.epoll, &mut space, timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Turn::default(),
            // The instance and the memory are ours and valid: nothing else can go wrong.
            Err(errno) => panic!("waiting for sockets failed: {errno}"),
        };
        let now = Instant::now();
        let mut turn = Turn { sockets: events.len(), stop: false };
        for event in events {
            match Token::from(event.data) {
                Token::Udp(index) => self.answer_datagrams(index),
                Token::Listener(index) => self.streams.accept(index, now, &self.epoll, &self.counters),
                Token::Stream(id) => {
                    self.streams.turn(id, event.flags, now, &self.epoll, &mut self.handler, &self.counters);
                }
                Token::Stop => {
                    turn.sockets -= 1;
                    turn.stop = true;
                }
            }
        }
        self.streams.expire(now, &self.epoll, &self.counters);
        turn
    }

    fn timeout(&self, deadline: Option<Instant>) -> Option<Timespec> {
        let until = match (self.streams.next_deadline(), deadline) {
            (Some(one), Some(other)) => one.min(other),
            (one, other) => one.or(other)?,
        };
        // Rounded up to a millisecond, or the loop would spin through the last one.
        let wait = until.saturating_duration_since(Instant::now());
        let wait = if wait.is_zero() { wait } else { wait + Duration::from_millis(1) };
        Timespec::try_from(wait).ok()
    }

    /// Answers what waits at UDP socket `index`, a bounded number of batches.
    fn answer_datagrams(&mut self, index: usize) {
        let Some(port) = self.udp.get(index) else { return };
        for _ in 0..BATCHES_PER_TURN {
            let received = self.receiver.receive(port, &self.counters);
            if received.queries > 0 {
                self.handler.begin_batch();
                self.handler.handle_batch(&mut self.receiver.batch());
                self.handler.end_batch();
                self.receiver.send(port, &self.counters);
            }
            if received.datagrams < BATCH_WORTH_REPEATING {
                return;
            }
        }
    }
}
