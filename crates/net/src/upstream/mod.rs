//! Asking other servers: datagrams through sockets whose ports nobody can foretell, and streams.
//!
//! What is asked, with which ID, and what an answer is worth is the service's: here are octets, where they left and where they
//! arrived. All of it belongs to one worker. `docs/design/upstream.md` has the whole, and what an attacker must guess.
//!
//! ```text
//!  ask -> pool -> socket -> server        connect, send -> streams -> (tls) -> frame -> TCP -> server
//!  arrivals <- receive <----'             connected, message, closed <-----------------'
//! ```

mod arrivals;
mod fresh;
mod pool;
mod ports;
mod queue;
mod receive;
mod settings;
mod socket;
mod stream;
mod streams;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use sync::random::Unguessable;

pub use arrivals::{ARRIVAL_OCTETS_MAX, Arrival, Arrivals};
pub use fresh::Need;
pub use pool::PathId;
pub use ports::{PORTS_MIN, Ports, TooFewPorts};
pub use queue::NotSent;
pub use settings::{POOL_FLOOR, UPSTREAM_SOCKETS_MAX, UpstreamSettings};
pub use stream::UNSENT_OCTETS_MAX;
pub use streams::{Closed, Protocol, SERVER_STREAMS_MAX, StreamId};
pub use tls::{Authentication, Roots, TlsFault, TlsServer};

use crate::context::Transport;
use crate::counters::Counters;
use pool::{Means, Pool};
use streams::{Brought, Streams};

/// Datagrams of other servers in a turn: some half a millisecond, after which clients have their turn. Who floods open ports takes no more.
const ARRIVALS_PER_TURN: usize = 512;

/// Octets of streams in a turn: a few of the longest messages. Servers that send much take no more from clients.
const STREAM_OCTETS_PER_TURN: usize = 256 << 10;

/// The longest datagram over IPv4; over IPv6 it is 20 octets more.
const DATAGRAM_OCTETS_MAX: usize = 65_507;

/// Calls for one socket in a turn; what is left is there in the next.
const RECEIVES_PER_SOCKET: usize = 4;

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The host has no way there: no address of that family, no route, an interface that is down, a rule of its own. It says nothing of the server.
    NoRoute,
    /// The system's buffer is full, or the stream's: it may be tried again.
    Busy,
    /// No socket could be had: descriptors, memory or ports are short, or a bound is reached.
    Sockets,
    /// There are as many streams as may be, and none to displace.
    Full,
    /// The message is empty or longer than can be sent.
    Length,
    /// The stream is over.
    Closed,
}

/// How a failed call is told.
fn unsent(error: &io::Error) -> Unsent {
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => Unsent::Busy,
        Some(Errno::MSGSIZE) => Unsent::Length,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Unsent::Sockets,
        Some(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Unsent::Closed,
        // ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, EPERM of a firewall, EINVAL for an address that cannot be sent to, and whatever else.
        _ => Unsent::NoRoute,
    }
}

/// Descriptors that this process may have.
fn descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// How one worker asks other servers.
pub struct Upstream {
    settings: Arc<UpstreamSettings>,
    random: Unguessable,
    workers: usize,
    counters: Arc<Counters>,
    /// Of the turn.
    now: Instant,
    /// Datagrams that may be taken yet in this turn.
    arrivals_left: usize,
    /// Octets of streams that may be taken yet; one read may exceed it.
    octets_left: usize,
    pool: Pool,
    streams: Streams,
    /// What came and the service was not told of.
    arrivals: Arrivals,
}

impl Upstream {
    /// `workers`: how many share the ports. Opens nothing. Fails if the system gives no random numbers.
    pub(crate) fn new(epoll: Arc<OwnedFd>, workers: usize, counters: Arc<Counters>) -> io::Result<Self> {
        let (settings, now) = (Arc::new(UpstreamSettings::default()), Instant::now());
        Ok(Self {
            pool: Pool::new(Arc::clone(&epoll), settings.share(workers, descriptors()), &settings, now),
            streams: Streams::new(epoll),
            settings,
            random: Unguessable::from_system()?,
            workers,
            counters,
            now,
            arrivals_left: ARRIVALS_PER_TURN,
            octets_left: STREAM_OCTETS_PER_TURN,
            arrivals: Arrivals::default(),
        })
    }

    pub(crate) fn set_now(&mut self, now: Instant) {
        (self.now, self.arrivals_left, self.octets_left) = (now, ARRIVALS_PER_TURN, STREAM_OCTETS_PER_TURN);
    }

    /// Goes by other settings from here on. Questions and streams that are open stay so.
    pub fn configure(&mut self, settings: Arc<UpstreamSettings>) {
        let share = settings.share(self.workers, descriptors());
        if share.size < share.floor {
            let most = share.most;
            tracing::warn!(
                most,
                "too few descriptors to ask more than {most} questions at once: each must have a socket of its own"
            );
        }
        self.pool.configure(share, &settings, self.now, &self.counters);
        self.settings = settings;
    }

    /// See [`crate::Driver::ask`].
    pub(crate) fn ask(&mut self, server: SocketAddr, octets: &[u8], need: Need) -> Result<PathId, Unsent> {
        if octets.is_empty() || octets.len() > DATAGRAM_OCTETS_MAX {
            return Err(Unsent::Length);
        }
        let (settings, random, now, counters) =
            (&*self.settings, &mut self.random, self.now, &*self.counters);
        self.pool.ask(server, octets, need, &mut Means { settings, random, now, counters })
    }

    /// What was asked through `path` is answered or given up; once for each question. A socket that is to be replaced is kept for answers until
    /// then, or for 30 s.
    pub fn settle(&mut self, path: PathId) {
        self.pool.settle(path, &self.counters);
    }

    /// The address that questions of `path` leave from, while it is open.
    pub fn local(&self, path: PathId) -> io::Result<SocketAddr> {
        let socket = self.pool.socket(path).ok_or(io::ErrorKind::NotConnected)?;
        let address = rustix::net::getsockname(socket)?;
        address.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Begins a stream to `server`, which is open when the service is told `connected`; messages may be sent at once. Never waits.
    ///
    /// Errors: [`Unsent::NoRoute`], [`Unsent::Sockets`], [`Unsent::Full`]. All that goes wrong later is told by `closed`.
    pub fn connect(&mut self, server: SocketAddr, protocol: &Protocol) -> Result<StreamId, Unsent> {
        let (settings, counters) = (&self.settings, &self.counters);
        self.streams.connect(server, protocol, settings, &mut self.random, self.now, counters)
    }

    /// See [`crate::Driver::send`]. To which server, and how.
    pub(crate) fn send(
        &mut self,
        stream: StreamId,
        octets: &[u8],
    ) -> Result<(SocketAddr, Transport), Unsent> {
        self.streams.send(stream, octets, &self.settings, self.now)?;
        self.streams.to(stream).ok_or(Unsent::Closed)
    }

    /// Has the stream closed as idle after `idle` instead of the time of the settings: what the server grants (RFC 7828), or a forwarder is worth.
    pub fn keep(&mut self, stream: StreamId, idle: Duration) {
        self.streams.keep(stream, idle, &self.settings);
    }

    /// Closes a stream, of which nothing more is told. One that is over already stays so.
    pub fn close(&mut self, stream: StreamId) {
        self.streams.remove(stream, &self.counters);
    }

    /// Which server an open stream leads to, and how.
    pub(crate) fn to(&mut self, stream: StreamId) -> Option<(SocketAddr, Transport)> {
        self.streams.to(stream)
    }

    /// Goes on with a stream that is ready; what it brought is to be told and given back. `None`: this turn has brought enough.
    pub(crate) fn turn(&mut self, stream: StreamId) -> Option<Brought> {
        if self.octets_left == 0 {
            return None;
        }
        let brought = self.streams.turn(stream, &self.settings, self.now);
        self.octets_left = self.octets_left.saturating_sub(brought.read);
        Some(brought)
    }

    /// A message was told.
    pub(crate) fn told(&mut self, stream: StreamId) {
        self.streams.told(stream, self.now, &self.counters);
    }

    /// All that a stream brought was told.
    pub(crate) fn give_back_stream(&mut self, stream: StreamId, brought: Brought) {
        self.streams.give_back(stream, brought, &self.counters);
    }

    /// Streams that have ended since, for the service to be told.
    pub(crate) fn take_ended(&mut self) -> Vec<(StreamId, Closed)> {
        self.streams.take_ended()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.streams.has_ended()
    }

    /// Closes everything; nothing of it is told.
    pub(crate) fn close_all(&mut self) {
        self.pool.close_all(&self.counters);
        self.streams.close_all(&self.counters);
        self.arrivals.clear();
    }

    /// Takes what waits at a socket. `true`: the batch is full, and the service must be told before more is taken.
    pub(crate) fn receive(&mut self, path: PathId) -> bool {
        self.arrivals.prepare();
        for _ in 0..RECEIVES_PER_SOCKET {
            if self.arrivals.is_full() {
                return true;
            }
            let Some(socket) = self.pool.socket(path).filter(|_| self.arrivals_left > 0) else {
                return false;
            };
            let before = self.arrivals.count();
            let outcome = self.arrivals.receive(path, socket);
            let taken = self.arrivals.count() - before;
            self.arrivals_left = self.arrivals_left.saturating_sub(taken);
            self.counters.upstream_arrivals.add(taken as u64);
            match outcome {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // What a router says of an earlier datagram, which anybody can forge: it ends nothing, and what waits behind it is read.
                Err(_) => {}
            }
        }
        false
    }

    /// Whether this turn took as many datagrams as it may, so that some may be left.
    pub(crate) fn leaves_arrivals(&self) -> bool {
        self.arrivals_left == 0
    }

    /// Sends what was asked in the event.
    #[inline]
    pub(crate) fn flush(&mut self) {
        if self.pool.has_queued() {
            self.pool.flush(&self.counters);
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.pool.has_failed()
    }

    /// What could not be sent, for the service to be told.
    pub(crate) fn take_failed(&mut self) -> Vec<NotSent> {
        self.pool.take_failed()
    }

    pub(crate) fn has_arrivals(&self) -> bool {
        self.arrivals.count() > 0
    }

    /// What arrived, for the time of an event, in which the service may ask again.
    pub(crate) fn take_arrivals(&mut self) -> Arrivals {
        std::mem::take(&mut self.arrivals)
    }

    /// The memory of a batch is free again.
    pub(crate) fn give_back(&mut self, mut arrivals: Arrivals) {
        arrivals.clear();
        self.arrivals = arrivals;
    }

    /// When something is too old next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        [self.pool.next_deadline(), self.streams.next_deadline()].into_iter().flatten().min()
    }

    /// Ends what is too old.
    pub(crate) fn sweep(&mut self) {
        self.pool.sweep(self.now, &self.counters);
        self.streams.sweep(&self.settings, self.now, &self.counters);
    }
}

#[cfg(test)]
mod tests;
