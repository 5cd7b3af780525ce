//! The *limit program* of a name server: sets QR, sends each packet back, looks at nothing.
//!
//! What it reaches is what the socket interface allows. In its plainest form, one thread and the `mmsg` model, it
//! uses the same calls, batch size, buffers and socket options as a worker of the server. A reply is the query
//! with filler after it, cut where the answer is shorter, so that replies have the sizes of a server's answers.
//!
//! ```text
//! processes x threads -> worker    one UDP socket: reply (what becomes of a packet), relay (to an upstream)
//!                          |       blocking poll select epoll mmsg io_uring (how packets are waited for and moved)
//!                        tcp       one listener: connection (frames of two octets and a message)
//! ```

mod blocking;
mod connection;
mod epoll;
mod io_uring;
mod mmsg;
mod pending;
mod poll;
pub mod processes;
mod relay;
mod reply;
mod select;
mod sockets;
mod tcp;
mod trains;
mod worker;

use std::{
    fmt,
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

pub use relay::RelaySettings;
pub use reply::ReplySize;
use sockets::{Socket, Sockets};

use crate::{Error, cores::Cores};

/// Batch of a server's worker.
pub const BATCH: usize = 64;
/// Receive buffer, as a server asks for: 4 MiB hold some ten milliseconds of small queries at full rate.
pub const RECEIVE_OCTETS: usize = 4 << 20;
/// Send buffer: datagrams leave at once on loopback and veth, on a network card within a few milliseconds.
pub const SEND_OCTETS: usize = 1 << 20;
/// How often a thread looks whether it shall end.
const STOP_CHECK_MS: i32 = 100;

/// How packets are waited for and moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// A call that waits for one packet and takes it.
    Blocking,
    /// `poll`, then one packet a call.
    Poll,
    /// `select`, then one packet a call.
    Select,
    /// `epoll`, then one packet a call.
    Epoll,
    /// `epoll`, then batches.
    Mmsg,
    /// Rings shared with the kernel.
    IoUring,
}

impl Model {
    /// All there are, the oldest first.
    pub const ALL: [Model; 6] =
        [Model::Blocking, Model::Poll, Model::Select, Model::Epoll, Model::Mmsg, Model::IoUring];

    /// As options have it.
    pub fn name(self) -> &'static str {
        match self {
            Model::Blocking => "blocking",
            Model::Poll => "poll",
            Model::Select => "select",
            Model::Epoll => "epoll",
            Model::Mmsg => "mmsg",
            Model::IoUring => "io_uring",
        }
    }

    /// Packets of a call, or of a turn where one call moves one packet: a classic event loop takes one a turn.
    pub fn batch_default(self) -> usize {
        match self {
            Model::Mmsg | Model::IoUring => BATCH,
            Model::Blocking | Model::Poll | Model::Select | Model::Epoll => 1,
        }
    }
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Datagrams.
    Udp(Model),
    /// Connections; those without traffic for so long are closed.
    Tcp {
        /// From the last query that was complete, or the last octets that were sent.
        idle: Duration,
    },
}

/// Who has a socket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody: all threads of all processes serve the same.
    Shared,
    /// Every thread; the kernel deals packets and connections out by their addresses (`SO_REUSEPORT`).
    Each,
}

/// What an echo server shall be.
pub struct Settings {
    /// Where it answers.
    pub address: SocketAddr,
    /// What it answers.
    pub service: Service,
    /// With how much.
    pub sizes: ReplySize,
    /// Packets of a call or of a turn, 1 to [`crate::mmsg::BATCH_MAX`].
    pub batch: usize,
    /// Whether trains of packets are taken and sent as one ([`crate::mmsg::Batch`]); with [`Model::Mmsg`] only, and
    /// without a relay.
    pub trains: bool,
    /// What a UDP socket may hold.
    pub receive_octets: usize,
    /// Where a share of the queries goes; not with [`Model::Blocking`], which waits for one socket.
    pub relay: Option<RelaySettings>,
    /// Processes, at least one.
    pub processes: usize,
    /// Threads of each process, at least one.
    pub threads: usize,
    /// Who has a socket.
    pub sharing: Sharing,
    /// Where threads run, counted through all processes.
    pub cores: Option<Cores>,
}

/// What an echo server did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages received from askers.
    pub received: u64,
    /// Replies sent to askers.
    pub sent: u64,
    /// Messages the kernel refused to send.
    pub dropped: u64,
    /// Messages not answered: shorter than a header, or replies.
    pub ignored: u64,
    /// Queries sent on to the upstream.
    pub relayed: u64,
    /// Replies of the upstream passed back; they are sent ones too.
    pub returned: u64,
    /// Relayed queries given up: time-out, or table full.
    pub expired: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Connections closed at once, as there were too many.
    pub refused: u64,
}

impl Counters {
    /// All counters in their order.
    fn all_mut(&mut self) -> [&mut u64; 9] {
        [
            &mut self.received,
            &mut self.sent,
            &mut self.dropped,
            &mut self.ignored,
            &mut self.relayed,
            &mut self.returned,
            &mut self.expired,
            &mut self.connections,
            &mut self.refused,
        ]
    }

    /// Adds what another thread or process did.
    pub fn add(&mut self, mut other: Counters) {
        for (sum, part) in self.all_mut().into_iter().zip(other.all_mut()) {
            *sum += *part;
        }
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counters { received, sent, dropped, ignored, .. } = self;
        write!(f, "received {received}, sent {sent}, dropped {dropped}, ignored {ignored}")?;
        if self.relayed > 0 {
            let Counters { relayed, returned, expired, .. } = self;
            write!(f, ", relayed {relayed}, returned {returned}, expired {expired}")?;
        }
        if self.connections > 0 {
            write!(f, ", connections {}, refused {}", self.connections, self.refused)?;
        }
        Ok(())
    }
}

/// An echo server, bound and not yet running.
pub struct Echo {
    settings: Settings,
    sockets: Sockets,
    /// Number of the first thread among those of all processes.
    thread_first: usize,
}

impl Echo {
    /// The plain form, of one thread with the `mmsg` model, bound to `address`; `batch` is how many datagrams a call
    /// moves, `receive_octets` what the socket may hold.
    pub fn bind(
        address: SocketAddr,
        sizes: ReplySize,
        batch: usize,
        receive_octets: usize,
    ) -> Result<Echo, Error> {
        Echo::new(Settings { batch, receive_octets, ..Settings::plain(address, sizes) })
    }

    /// Binds the sockets of all threads of all processes. Where there are cores to run on, the calling thread stays
    /// on one of them.
    pub fn new(mut settings: Settings) -> Result<Echo, Error> {
        let takes_trains = settings.service == Service::Udp(Model::Mmsg) && settings.relay.is_none();
        if settings.trains && !takes_trains {
            let rule = "goes with --model mmsg, without --relay";
            return Err(Error::Option { option: "--trains", rule });
        }
        match settings.service {
            Service::Udp(Model::IoUring) => io_uring::probe()?,
            Service::Udp(Model::Blocking) if settings.relay.is_some() => {
                let rule = "does not go with --model blocking, which waits for one socket only";
                return Err(Error::Option { option: "--relay", rule });
            }
            _ => {}
        }
        // A core that is not there is found before anything begins.
        (0..settings.processes * settings.threads).try_for_each(|thread| settings.pin(thread))?;
        let sockets = Sockets::bind(&settings)?;
        settings.address = sockets.address();
        Ok(Echo { settings, sockets, thread_first: 0 })
    }

    /// The address bound, with its port where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.settings.address
    }

    /// Echoes with the threads of one process until `stop`, which is set at the end in any case; returns what was
    /// done. The calling thread is the first of them and stays where it was pinned.
    pub fn run(self, stop: &AtomicBool) -> Result<Counters, Error> {
        let (settings, first) = (&self.settings, self.thread_first);
        let serve = |thread| {
            let _ended = SetAtEnd(stop);
            let socket = self.sockets.of_thread(thread);
            match (socket, settings.service) {
                (Socket::Udp(socket), Service::Udp(model)) => {
                    worker::run(settings, model, socket, first + thread, stop)
                }
                (Socket::Tcp(listener), Service::Tcp { idle }) => tcp::run(settings, listener, idle, stop),
                _ => unreachable!("sockets are bound for the service"),
            }
        };
        // A new thread starts on the core of the one that makes it, so that a core that is not there is found here.
        let pin = |thread| settings.pin(first + thread).inspect_err(|_| stop.store(true, Ordering::Relaxed));
        thread::scope(|scope| {
            let mut others = Vec::new();
            for thread in 1..settings.threads {
                pin(thread)?;
                others.push(scope.spawn(move || serve(thread)));
            }
            pin(0)?;
            let mut sum = serve(0);
            for other in others {
                let done = other.join().expect("a thread that panics has said so");
                sum = sum.and_then(|mut sum| {
                    sum.add(done?);
                    Ok(sum)
                });
            }
            sum
        })
    }
}

/// Ends all threads with the first that ends, for whatever reason.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Settings {
    /// One thread as a server's worker has it, anywhere.
    pub fn plain(address: SocketAddr, sizes: ReplySize) -> Settings {
        Settings {
            address,
            service: Service::Udp(Model::Mmsg),
            sizes,
            batch: BATCH,
            trains: false,
            receive_octets: RECEIVE_OCTETS,
            relay: None,
            processes: 1,
            threads: 1,
            sharing: Sharing::Each,
            cores: None,
        }
    }

    /// Keeps the calling thread where thread number `thread` of all shall run.
    fn pin(&self, thread: usize) -> Result<(), Error> {
        let Some(core) = self.cores.as_ref().map(|cores| cores.of_thread(thread)) else { return Ok(()) };
        crate::mmsg::pin(core)
            .map_err(|cause| Error::System { action: "run on a core of --cpu or --cpus", cause })
    }
}

#[cfg(test)]
mod tests;
