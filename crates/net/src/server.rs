//! A server: bound sockets, then running workers.
//!
//! ```text
//! Listen -> Server::bind -> (privileges dropped) -> Server::start -> Running -> stop
//! ```

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, iter};

use rustix::event::epoll;
use rustix::net::sockopt;

use crate::admit::{Admission, TcpLimits};
use crate::affinity;
use crate::bind::{self, Bound, Given, Listener, Sockets};
use crate::bind_error::BindError;
use crate::counters::{Counters, WorkerCounters};
use crate::driver::Core;
use crate::handed::Handed;
use crate::host::{Factory, Host};
use crate::inbox::{Inbox, Sink};
use crate::listen::Listen;
use crate::service::Service;
use crate::stop::{Leave, Stop};
use crate::systemd::Activated;
use crate::tap::Tap;
use crate::tcp::Connections;
use crate::token::Token;
use crate::udp::{Backend, option};
use crate::upstream::Upstream;
use crate::worker::{Prepared, Worker};

/// More workers than any machine has processors; beyond that a number is a typing error.
pub const WORKERS_MAX: usize = 1024;

/// Longest wait for clients at the end; no service manager waits longer.
const PATIENCE_MAX: Duration = Duration::from_secs(3600);

/// All sockets bound, no thread started.
pub struct Server {
    prepared: Vec<Prepared>,
    /// Per worker: second descriptors of its UDP sockets, to read what the system dropped there.
    watched: Vec<Vec<Watched>>,
    listeners: Vec<Listener>,
    groups: Vec<Handed>,
    cpus: Vec<Option<usize>>,
    backend: Backend,
    admission: Arc<Admission>,
    stop: Arc<Stop>,
    tap_octets: usize,
}

impl Server {
    /// Binds every address of `listen` for UDP and TCP, for each worker.
    pub fn bind(listen: &Listen) -> Result<Self, BindError> {
        Self::bind_with(listen, Vec::new())
    }

    /// As [`Server::bind`], and serves the sockets a service manager opened too; an address of `listen` that one of
    /// them has is not bound again. Unix sockets among them are ignored (and closed): take those out first.
    pub fn bind_with(listen: &Listen, inherited: Vec<Activated>) -> Result<Self, BindError> {
        Self::bind_given(listen, Given { activated: inherited, handed: Vec::new() })
    }

    /// As [`Server::bind`], but takes over the sockets of the server before, which has them too: [`Running::hand`]. Those of addresses that
    /// are not in `listen` are given back; those that a service manager opened are served whatever `listen` says. To be called when workers can
    /// start at once: what arrives at a socket that is added for one more worker waits for it.
    pub fn bind_handed(listen: &Listen, handed: Vec<Handed>) -> Result<Self, BindError> {
        Self::bind_given(listen, Given { activated: Vec::new(), handed })
    }

    fn bind_given(listen: &Listen, given: Given) -> Result<Self, BindError> {
        let workers = if listen.workers == 0 { affinity::worker_count_default() } else { listen.workers };
        if workers > WORKERS_MAX {
            return Err(BindError::Workers { asked: workers, most: WORKERS_MAX });
        }
        let cpus = affinity::plan(&listen.pin, workers).map_err(|cpu| BindError::Processor { cpu })?;
        let Bound { workers: sockets, listeners, groups } = bind::bind_all(listen, &cpus, given)?;
        let event = |cause| BindError::Event { cause };
        let watched = watched(&sockets).map_err(event)?;
        let stop = Arc::new(Stop::new().map_err(event)?);
        let prepare = |sockets| Prepared::new(sockets, &stop).map_err(event);
        let prepared = sockets.into_iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        let admission = Arc::new(Admission::new(&listen.tcp, workers));
        Ok(Self {
            prepared,
            watched,
            listeners,
            groups,
            cpus,
            backend: listen.backend,
            admission,
            stop,
            tap_octets: listen.tap_octets,
        })
    }

    /// What is listened on.
    #[must_use]
    pub fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// How many workers there will be.
    #[must_use]
    pub fn worker_count(&self) -> usize {
        self.prepared.len()
    }

    /// Starts the workers, each with the service that `factory` makes for its number (0 and up), now and again after a
    /// panic of the one before.
    ///
    /// Fails if the system refuses a thread; workers already started are ended again.
    pub fn start<S: Service + 'static>(
        self,
        factory: impl Fn(usize) -> S + Send + Sync + 'static,
    ) -> io::Result<Running> {
        let factory: Factory<S> = Arc::new(factory);
        let mut inboxes = Vec::new();
        for prepared in &self.prepared {
            let inbox = Inbox::new()?;
            epoll::add(&*prepared.epoll, &inbox, Token::Inbox.data(), epoll::EventFlags::IN)?;
            inboxes.push(Arc::new(inbox));
        }
        let inboxes: Arc<[Arc<Inbox<S::Message>>]> = inboxes.into();
        let sinks = || inboxes.iter().map(|inbox| Arc::clone(inbox) as Arc<dyn Sink>).collect();
        self.admission.set_sinks(sinks());
        let mut running = Running {
            threads: Vec::new(),
            counters: Vec::new(),
            inboxes: sinks(),
            taps: Vec::new(),
            watched: self.watched,
            listeners: self.listeners,
            groups: self.groups,
            admission: self.admission,
            stop: self.stop,
        };
        let workers = self.prepared.len();
        for (index, (prepared, cpu)) in iter::zip(self.prepared, self.cpus).enumerate() {
            let counters = Arc::new(Counters::default());
            running.counters.push(Arc::clone(&counters));
            let (service, factory, backend) = (factory(index), Arc::clone(&factory), self.backend);
            let (writer, tap) = sync::tap::ring(self.tap_octets);
            running.taps.push(tap);
            let core = Core::new(
                index,
                Arc::clone(&inboxes),
                Arc::clone(&running.admission),
                Arc::clone(&counters),
                Upstream::new(Arc::clone(&prepared.epoll), workers, Arc::clone(&counters))?,
                Tap::new(writer)?,
            )?;
            let (admission, stop) = (Arc::clone(&running.admission), Arc::clone(&running.stop));
            let run = move || {
                sync::profile::begin_worker();
                if let Some(cpu) = cpu
                    && let Err(error) = affinity::pin_to(cpu)
                {
                    tracing::warn!(worker = index, cpu, %error, "worker {index} could not be tied to processor {cpu}: {error}");
                }
                // Made here, after pinning, so that the memory is on the worker's side of the machine.
                let mut prepared = prepared;
                let listeners = std::mem::take(&mut prepared.sockets.tcp);
                let connections = Connections::new(listeners, index, admission);
                let host = Host::new(index, service, factory, core);
                Worker::new(index, host, prepared, backend, connections, stop, counters).run();
            };
            let thread = thread::Builder::new().name(format!("worker-{index}")).spawn(run);
            match thread {
                Ok(thread) => running.threads.push(thread),
                Err(cause) => {
                    running.stop(Duration::ZERO);
                    return Err(cause);
                }
            }
        }
        Ok(running)
    }
}

/// Workers at work. Dropping it ends them without waiting for connections to be flushed.
pub struct Running {
    threads: Vec<JoinHandle<()>>,
    counters: Vec<Arc<Counters>>,
    inboxes: Vec<Arc<dyn Sink>>,
    taps: Vec<sync::tap::Tap>,
    watched: Vec<Vec<Watched>>,
    listeners: Vec<Listener>,
    groups: Vec<Handed>,
    admission: Arc<Admission>,
    stop: Arc<Stop>,
}

impl Running {
    /// What is listened on.
    #[must_use]
    pub fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// What each worker has counted so far.
    #[must_use]
    pub fn counters(&self) -> Vec<WorkerCounters> {
        let workers = iter::zip(iter::zip(&self.counters, &self.inboxes), &self.watched);
        let read = workers.map(|((counters, inbox), watched)| {
            let dropped = watched.iter().map(Watched::dropped).sum();
            // Before the others: none of them was sent before its ticket was counted.
            let sent = inbox.sent();
            let counted = counters.read().with_sent(sent);
            WorkerCounters { udp_receive_overflows: dropped, ..counted }
        });
        read.collect()
    }

    /// The tap of each worker: to attach a reader of [`crate::TapRecord`]s to. Records that find no room are counted there.
    #[must_use]
    pub fn taps(&self) -> &[sync::tap::Tap] {
        &self.taps
    }

    /// Whether every worker is at work. One that is not has met a fault of its own; the server is then better
    /// restarted, which is why a watchdog should ask this.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        !self.threads.is_empty() && !self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Octets of the buffers that workers read into and write from, of all. Those of connections are apart, and taken when one has something to keep.
    #[must_use]
    pub fn buffer_octets(&self) -> usize {
        self.counters.len() * (crate::udp::BUFFER_OCTETS + crate::tcp::SCRATCH_OCTETS)
    }

    /// Octets that the system may keep of datagrams that wait at the sockets, to be read or to be sent. They are no memory of this process.
    #[must_use]
    pub fn system_octets_max(&self) -> usize {
        let octets = |watched: &Watched| {
            let receive = sockopt::socket_recv_buffer_size(&watched.socket).unwrap_or(0);
            receive + sockopt::socket_send_buffer_size(&watched.socket).unwrap_or(0)
        };
        self.watched.iter().flatten().map(octets).sum()
    }

    /// Puts new limits of TCP in force, for connections that exist too.
    pub fn set_tcp_limits(&self, limits: &TcpLimits) {
        self.admission.set(limits);
    }

    /// Ends all workers: queries that have arrived are answered, connections are closed once what waits for their
    /// clients is sent, but after `patience` at the latest. Returns the last counts.
    pub fn stop(mut self, patience: Duration) -> Vec<WorkerCounters> {
        self.end(patience);
        self.counters()
    }

    /// All sockets, for the server that is to take over: the same open sockets, so that nothing is lost that waits at them.
    pub fn hand(&self) -> io::Result<Vec<Handed>> {
        self.groups.iter().map(Handed::try_clone).collect()
    }

    /// Leaves the sockets to the server that has taken over: nothing new is read or accepted, connections are closed once what was asked over them is
    /// answered, and those that are left at `until` as by [`Running::stop`], in `patience`. Returns at once; see [`Running::has_ended`].
    pub fn leave(&mut self, until: Instant, patience: Duration) {
        self.groups.clear();
        self.stop.request_leave(Leave { until, patience: patience.min(PATIENCE_MAX) });
    }

    /// Whether all workers have ended, as they do after [`Running::leave`].
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    fn end(&mut self, patience: Duration) {
        // Else listeners would be open, and take in connections, for as long as workers take.
        self.groups.clear();
        self.stop.request(Instant::now() + patience.min(PATIENCE_MAX));
        for thread in self.threads.drain(..) {
            // A worker catches panics of its service; one of its own has been printed already.
            let _ = thread.join();
        }
    }
}

/// A second descriptor of a UDP socket, to read what the system drops there.
struct Watched {
    socket: UdpSocket,
    /// What it had dropped when this server began to read from it.
    before: u32,
    /// What it has dropped since, when that was looked at last. Written by whoever looks.
    dropped: AtomicU64,
}

impl Watched {
    /// What the system has dropped here, of which it counts 32 bits: right if it is looked at once in so many.
    fn dropped(&self) -> u64 {
        // Before the other, which is no less then.
        let last = self.dropped.load(Ordering::Relaxed);
        let Ok(now) = option::dropped_datagrams(&self.socket) else { return last };
        let dropped = widened(last, now.wrapping_sub(self.before));
        // Others who look at the same time may have seen more.
        self.dropped.fetch_max(dropped, Ordering::Relaxed).max(dropped)
    }
}

/// The count that is `last` or more and has these as its lower 32 bits.
fn widened(last: u64, lower: u32) -> u64 {
    last + u64::from(lower.wrapping_sub(last as u32))
}

/// Second descriptors of each worker's UDP sockets. A socket that all share is the first worker's.
fn watched(sockets: &[Sockets]) -> io::Result<Vec<Vec<Watched>>> {
    let watch = |socket: &UdpSocket| -> io::Result<Watched> {
        let before = option::dropped_datagrams(socket).unwrap_or(0);
        Ok(Watched { socket: socket.try_clone()?, before, dropped: AtomicU64::new(0) })
    };
    let of = |(index, sockets): (usize, &Sockets)| {
        let own = sockets.udp.iter().filter(|port| index == 0 || !port.is_shared());
        own.map(|port| watch(&port.socket)).collect()
    };
    sockets.iter().enumerate().map(of).collect()
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::widened;

    #[test]
    fn counts_of_32_bits_go_on() {
        let all = [0, 7, u32::MAX, 3, 3, 2_000_000_000, 4_000_000_000, 1];
        let counts: Vec<u64> = all
            .into_iter()
            .scan(0, |last, lower| {
                *last = widened(*last, lower);
                Some(*last)
            })
            .collect();
        let around = 1_u64 << 32;
        let last = around + 4_000_000_000;
        assert_eq!(counts[..5], [0, 7, around - 1, around + 3, around + 3]);
        assert_eq!(counts[5..], [around + 2_000_000_000, last, 2 * around + 1]);
    }
}
