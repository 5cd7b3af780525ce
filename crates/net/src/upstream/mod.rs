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
mod pool;
mod ports;
mod receive;
mod settings;
mod socket;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use sync::random::Unguessable;

pub use arrivals::{ARRIVAL_OCTETS_MAX, Arrival, Arrivals};
pub use pool::PathId;
pub use ports::{PORTS_MIN, Ports, TooFewPorts};
pub use settings::{POOL_FLOOR, UPSTREAM_SOCKETS_MAX, UpstreamSettings};

use crate::counters::Counters;
use pool::Pool;

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

/// How one worker asks other servers.
pub struct Upstream {
    settings: Arc<UpstreamSettings>,
    random: Unguessable,
    counters: Arc<Counters>,
    /// Of the turn.
    now: Instant,
    pool: Pool,
    /// What came and the service was not told of.
    arrivals: Arrivals,
}

impl Upstream {
    /// `workers`: how many share the ports. Opens nothing. Fails if the system gives no random numbers.
    pub(crate) fn new(epoll: Arc<OwnedFd>, workers: usize, counters: Arc<Counters>) -> io::Result<Self> {
        let (settings, now) = (Arc::new(UpstreamSettings::default()), Instant::now());
        Ok(Self {
            pool: Pool::new(epoll, workers, &settings, now),
            settings,
            random: Unguessable::from_system()?,
            counters,
            now,
            arrivals: Arrivals::default(),
        })
    }

    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// Goes by other settings from here on. Questions and streams that are open stay so.
    pub fn configure(&mut self, settings: Arc<UpstreamSettings>) {
        self.pool.configure(&settings, self.now, &self.counters);
        self.settings = settings;
    }

    /// Sends `octets`, 1 to 65,507, to `server` from a port that an attacker cannot foretell. Never waits. The path is part of what an answer must
    /// agree in, beside sender, ID and question; [`Upstream::settle`] says that it is no longer needed.
    ///
    /// Errors: [`Unsent::NoRoute`], [`Unsent::Busy`], [`Unsent::Sockets`], [`Unsent::Length`]. What becomes of the datagram later nobody says: messages of
    /// routers, which anybody can forge, are not listened to.
    pub fn ask(&mut self, server: SocketAddr, octets: &[u8]) -> Result<PathId, Unsent> {
        if octets.is_empty() {
            return Err(Unsent::Length);
        }
        self.pool.ask(server, octets, &self.settings, &mut self.random, self.now, &self.counters)
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

    /// Closes everything; nothing of it is told.
    pub(crate) fn close_all(&mut self) {
        self.pool.close_all(&self.counters);
        self.arrivals.clear();
    }

    /// Takes what waits at a socket. `true`: the batch is full, and the service must be told before more is taken.
    pub(crate) fn receive(&mut self, path: PathId) -> bool {
        self.arrivals.prepare();
        for _ in 0..RECEIVES_PER_SOCKET {
            if self.arrivals.is_full() {
                return true;
            }
            let Some(socket) = self.pool.socket(path) else { return false };
            let before = self.arrivals.count();
            // An error is of the socket alone, as there is none about datagrams sent: the service's timers notice what does not come.
            let more = self.arrivals.receive(path, socket).unwrap_or(false);
            self.counters.upstream_arrivals.add((self.arrivals.count() - before) as u64);
            if !more {
                return false;
            }
        }
        false
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
        self.pool.next_deadline()
    }

    /// Ends what is too old.
    pub(crate) fn sweep(&mut self) {
        self.pool.sweep(self.now, &self.counters);
    }
}

#[cfg(test)]
mod tests;
