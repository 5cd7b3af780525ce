//! One worker: a pinned thread that waits for its sockets and answers what they bring.
//!
//! Each turn of the loop handles every socket that is ready, but none of them for long: a UDP socket gets at most
//! [`BATCHES_PER_TURN`] batches, a connection one read, a listener a few connections. What is left over is still
//! ready in the next turn (epoll is level-triggered), so neither UDP nor TCP can starve the other.

mod rate;

use std::collections::VecDeque;
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
use crate::driver::{Driver, Source};
use crate::host::{Host, Panicked, Serve};
use crate::inbox::Note;
use crate::service::Service;
use crate::stop::Stop;
use crate::stream::STREAM_OCTETS_PER_TURN;
use crate::tcp::{Connections, Turn};
use crate::timer::TIMERS_PER_TURN;
use crate::token::Token;
use crate::udp::{BATCH, Backend, Outlet, Port, Receiver};
pub(crate) use rate::Rate;

/// Batches one UDP socket gets per turn: 512 queries, some hundred microseconds during which TCP waits.
const BATCHES_PER_TURN: usize = 8;

/// A batch at least this full suggests that more datagrams have arrived meanwhile, so that asking again at once is
/// cheaper than asking epoll first.
const BATCH_WORTH_REPEATING: usize = BATCH / 4;

/// Sockets handled per turn; the others come in the next. As many as datagrams of other servers may be taken, most of which come by a socket of their own: with
/// fewer, what had arrived in time was read turns later, when its question had timed out and was sent again.
const EVENTS_PER_TURN: usize = 512;

/// Turns in a row in which timers wait for what has arrived and was not read: a tenth of a second at the most.
const TIMERS_WAIT_MAX: u8 = 4;

/// Panics of the service that a worker survives at once. Each costs one batch; a service that fails more often is better
/// replaced by the service manager.
const PANICS_BURST: u32 = 100;

/// One more panic is forgiven each such time.
const PANIC_PAUSE: Duration = Duration::from_secs(60);

/// Turns after the signal to stop that still answer what had arrived. A full receive buffer of 5,000 queries takes
/// ten; a client that goes on sending does not keep the worker from ending.
const LAST_TURNS_MAX: usize = 16;

/// How long a connection may bring one more query once another process has the sockets: what is on its way, one try later too, is answered instead of cut off.
const LEAVE_GRACE: Duration = Duration::from_secs(1);

/// What a turn saw.
#[derive(Clone, Copy, Debug, Default)]
struct Events {
    /// Sockets that were ready.
    sockets: usize,
    /// Whether the signal to stop was given.
    stop: bool,
    /// Whether the signal to leave was given.
    leave: bool,
}

/// Everything one worker owns.
pub(crate) struct Worker<S: Service> {
    index: usize,
    host: Host<S>,
    epoll: Arc<OwnedFd>,
    udp: Vec<Port>,
    receiver: Receiver,
    connections: Connections,
    stop: Arc<Stop>,
    counters: Arc<Counters>,
    /// Panics that are not forgiven yet.
    panics: Rate,
    /// Whether datagrams are still read.
    reads: bool,
    /// Until when, once no more queries are taken.
    draining: Option<Instant>,
    /// Turns in a row in which timers have waited.
    timers_waited: u8,
    /// Replies of other threads for which the last event had no room.
    put_off: VecDeque<Note>,
    /// Messages of other workers' services, for the time of an event.
    messages: Vec<S::Message>,
}

/// The parts of a worker that are made before its thread starts, so that a failure is reported at once.
pub(crate) struct Prepared {
    pub(crate) sockets: Sockets,
    pub(crate) epoll: Arc<OwnedFd>,
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
        epoll::add(&epoll, stop.leave_event(), Token::Leave.data(), epoll::EventFlags::IN)?;
        Ok(Self { sockets, epoll: Arc::new(epoll) })
    }
}

/// What the worker lends to its connections for a turn. A macro, as it borrows some fields and leaves the others.
macro_rules! lend {
    ($worker:ident, $now:expr) => {
        Turn { now: $now, epoll: &$worker.epoll, counters: &$worker.counters, serve: &mut $worker.host }
    };
}

// After the macro, which they use.
mod notes;
mod output;
mod servers;

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
        Self {
            index,
            host,
            epoll: prepared.epoll,
            udp: prepared.sockets.udp,
            receiver: Receiver::new(backend),
            connections,
            stop,
            counters,
            panics: Rate::new(PANICS_BURST, PANIC_PAUSE, Instant::now()),
            reads: true,
            draining: None,
            timers_waited: 0,
            put_off: VecDeque::new(),
            messages: Vec::new(),
        }
    }

    /// Serves until told to stop, then until everything asked for is answered and sent, or the deadline is over.
    pub(crate) fn run(mut self) {
        // Without them, as where descriptors are short, this thread sends all replies.
        let backend = self.receiver.backend();
        let outlets: io::Result<Vec<Outlet>> =
            self.udp.iter().map(|port| Outlet::new(port, backend)).collect();
        self.host.core.inbox().set_outlets(outlets.unwrap_or_default());
        // What was read when the worker was made may be long ago.
        self.host.core.now = Now::read();
        self.host.core.upstream.set_now(self.host.core.now.instant);
        self.event(Service::started);
        let mut seen = Events::default();
        while !seen.stop && !seen.leave {
            seen = self.turn(None);
        }
        self.host.core.inbox().end();
        if !seen.stop {
            self.leave();
        }
        let deadline = self.stop.deadline();
        // Nobody reads it, so that all workers see it; it would be ready in each turn from here on.
        let _ = epoll::delete(&*self.epoll, self.stop.as_fd());
        let _ = epoll::delete(&*self.epoll, self.stop.leave_event());
        self.answer_what_came();
        self.drain(deadline);
        while self.has_clients() && Instant::now() < deadline {
            self.turn(Some(deadline));
        }
        // Later pushes fail, and drop what they carry.
        self.host.core.inbox().close();
        self.host.core.end_rows();
        self.connections.close_all(&mut lend!(self, Now::read()));
    }

    /// Leaves the sockets to the process that has them too, and goes on with those who wait for an answer or a transfer: until there is
    /// none, the time for it is over, or the end is asked for.
    fn leave(&mut self) {
        let until = self.stop.leaves_until();
        let _ = epoll::delete(&*self.epoll, self.stop.leave_event());
        // The other one reads what comes later; what came to an address that it did not take is answered here.
        self.answer_what_came();
        self.stop_reading();
        // What is asked from now on is the other one's to answer: here zones change no more. Who has a connection makes another.
        self.connections.leave(&self.epoll);
        let last = until.min(Instant::now() + LEAVE_GRACE);
        while self.has_clients() && Instant::now() < last {
            if self.turn(Some(last)).stop {
                return;
            }
        }
        self.connections.drain(&mut lend!(self, Now::read()));
        while self.has_clients() && Instant::now() < until {
            if self.turn(Some(until)).stop {
                return;
            }
        }
    }

    /// What had arrived before is still answered.
    fn answer_what_came(&mut self) {
        for _ in 0..LAST_TURNS_MAX {
            if self.turn(Some(Instant::now())).sockets == 0 {
                break;
            }
        }
    }

    /// Reads no more datagrams. The sockets stay, for late answers.
    fn stop_reading(&mut self) {
        self.reads = false;
        for port in self.udp.iter().filter(|port| !port.waits_to_send) {
            let _ = epoll::delete(&*self.epoll, &port.socket);
        }
    }

    /// Whether somebody still waits for an answer.
    fn has_clients(&self) -> bool {
        let holds = self.udp.iter().any(|port| !port.held.is_empty());
        holds || !self.connections.is_empty() || self.host.core.later.datagrams() > 0
    }

    /// Takes no more queries.
    fn drain(&mut self, deadline: Instant) {
        self.stop_reading();
        self.draining = Some(deadline);
        let now = Now::read();
        self.event(|service, driver| service.stopping(deadline, driver));
        self.connections.drain(&mut lend!(self, now));
    }

    /// Waits for something to do, until `deadline` at most, and does it.
    fn turn(&mut self, deadline: Option<Instant>) -> Events {
        let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS_PER_TURN];
        // Nothing waits while the worker sleeps, whatever asked for it.
        self.host.core.flush_questions();
        let timeout = self.timeout(deadline);
        let waited = epoll::wait(&*self.epoll, &mut space, timeout.as_ref());
        self.host.core.inbox().awake();
        let events: &[epoll::Event] = match waited {
            Ok((events, _)) => events,
            Err(Errno::INTR) => &[],
            // The instance and the memory are ours and valid: nothing else can go wrong.
            Err(errno) => panic!("waiting for sockets failed: {errno}"),
        };
        let now = Now::read();
        self.host.core.now = now;
        self.host.core.upstream.set_now(now.instant);
        self.host.core.tap.look();
        let mut seen = Events::default();
        // What finishes work comes before what brings more.
        for event in events {
            match Token::from(event.data) {
                Token::Upstream(path) => self.take_arrivals(path),
                Token::Server(id) => self.turn_stream(id),
                Token::Inbox => self.host.core.inbox().clear(),
                Token::Stop => seen.stop = true,
                Token::Leave => seen.leave = true,
                Token::Udp(_) | Token::Listener(_) | Token::Stream(_) => seen.sockets += 1,
            }
        }
        let has_more = events.len() == EVENTS_PER_TURN || self.host.core.upstream.leaves_arrivals();
        self.finish_work(now, has_more);
        for event in events {
            match Token::from(event.data) {
                Token::Udp(index) => self.answer_datagrams(index, now),
                Token::Listener(index) => self.connections.accept(index, &mut lend!(self, now)),
                Token::Stream(id) => self.connections.turn(id, event.flags, &mut lend!(self, now)),
                Token::Upstream(_) | Token::Server(_) | Token::Inbox | Token::Stop | Token::Leave => continue,
            }
            self.after_event();
        }
        self.go_on(now);
        seen
    }

    /// Arrivals, replies of other threads, timers, what was put off. `has_more`: something has arrived, perhaps, that this turn has no room for; what is awaited until
    /// now may be among it.
    fn finish_work(&mut self, now: Now, has_more: bool) {
        if self.host.core.upstream.has_arrivals() {
            self.tell_arrivals();
        }
        self.tell_ended();
        self.tell_unsent();
        if !self.put_off.is_empty() || !self.host.core.inbox().is_empty() {
            self.open_inbox(now);
        }
        let waits = has_more && self.timers_waited < TIMERS_WAIT_MAX;
        self.timers_waited = if waits { self.timers_waited + 1 } else { 0 };
        if !waits && self.host.core.timers.next().is_some_and(|at| at <= now.instant) {
            for _ in 0..TIMERS_PER_TURN {
                let Some(key) = self.host.core.timers.take_due(now.instant) else { break };
                self.event(|service, driver| service.timer(key, driver));
            }
        }
        if std::mem::take(&mut self.host.core.again) {
            self.event(Service::again);
        }
    }

    /// The ready list, streams, what is too old.
    fn go_on(&mut self, now: Now) {
        if self.connections.has_ready() {
            self.connections.serve_ready(&mut lend!(self, now));
            self.after_event();
        }
        if self.host.core.streams.has_ready() {
            self.connections.pull(STREAM_OCTETS_PER_TURN, &mut lend!(self, now));
            self.connections.serve_ready(&mut lend!(self, now));
        }
        self.connections.expire(&mut lend!(self, now));
        self.host.core.upstream.sweep();
        self.expire_held(now);
        if self.host.core.streams.count() > 0 {
            for id in self.host.core.streams.expire(now.instant) {
                self.connections.abort(id, &self.counters.streams_too_slow, &mut lend!(self, now));
            }
        }
        while let Some(row) = self.host.core.expire_row(now.instant) {
            if let Some(id) = row.connection {
                self.connections.stir(id);
            }
        }
        if !self.host.core.gone.is_empty() {
            let gone = std::mem::take(&mut self.host.core.gone);
            self.event(|service, driver| service.gone(&gone, driver));
        }
    }

    /// Tells the service of something, and sends what it says.
    fn event(&mut self, event: impl FnOnce(&mut S, &mut Driver<'_, S::Message>)) {
        // A panic shows in `after_event`.
        let _ = self.host.call(event);
        self.after_event();
    }

    /// Sends what an event left to be sent, and replaces a service that panicked.
    #[inline]
    fn after_event(&mut self) {
        if self.host.core.has_output() {
            self.deliver();
        }
        // After the replies: clients whose answers are known do not wait for what others are asked.
        self.host.core.flush_questions();
        if self.host.has_panicked() {
            self.restart();
        }
    }

    #[cold]
    fn restart(&mut self) {
        self.counters.service_panics.add(1);
        let worker = self.index;
        tracing::error!(worker, "worker {worker}: the service panicked; a batch of queries is lost");
        if !self.panics.take(Instant::now()) {
            tracing::error!(worker, "worker {worker}: the service panics again and again: giving up");
            process::abort();
        }
        self.host.restart();
        // The new one has not heard. If that panics too, the next event shows it.
        let _ = self.host.call(Service::started);
        if let Some(deadline) = self.draining {
            let _ = self.host.call(|service, driver| service.stopping(deadline, driver));
        }
    }

    /// How long to wait for sockets; from then on other threads wake the worker, unless it does not wait at all.
    fn timeout(&self, deadline: Option<Instant>) -> Option<Timespec> {
        const AT_ONCE: Option<Timespec> = Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        let core = &self.host.core;
        let has_more = self.connections.has_ready()
            || core.streams.has_ready()
            || core.upstream.has_ended()
            || core.upstream.has_failed()
            || core.again;
        if has_more || !self.put_off.is_empty() || !core.inbox().prepare_to_sleep() {
            return AT_ONCE;
        }
        let deadlines = [
            self.connections.next_deadline(),
            deadline,
            core.timers.next(),
            core.later.next_deadline(),
            core.streams.next_deadline(),
            core.upstream.next_deadline(),
            self.udp.iter().filter_map(|port| port.held.deadline()).min(),
        ];
        let until = deadlines.into_iter().flatten().min()?;
        // Rounded up to a millisecond, or the loop would spin through the last one.
        let wait = until.saturating_duration_since(Instant::now());
        let wait = if wait.is_zero() { wait } else { wait + Duration::from_millis(1) };
        Timespec::try_from(wait).ok()
    }

    /// Answers what waits at UDP socket `index`, a bounded number of batches.
    fn answer_datagrams(&mut self, index: usize, now: Now) {
        let Some(port) = self.udp.get_mut(index) else { return };
        if port.waits_to_send {
            self.receiver.flush(port, now.instant, &self.counters);
            return self.rearm(index);
        }
        for _ in 0..BATCHES_PER_TURN {
            let received = self.receiver.receive(port, &self.counters);
            if received.queries > 0 {
                let source = Source::Datagrams(index as u16);
                match self.host.serve(self.receiver.batch(now, source)) {
                    Ok(_) => self.receiver.send(port, now.instant, &self.counters),
                    Err(Panicked) => return self.receiver.forget(),
                }
                if !port.held.is_empty() {
                    return self.rearm(index);
                }
                // Late replies leave before questions to other servers: `after_event`.
                if self.host.core.has_output() {
                    return;
                }
                self.host.core.flush_questions();
            }
            if received.datagrams < BATCH_WORTH_REPEATING {
                return;
            }
        }
    }
}
