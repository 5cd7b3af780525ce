//! The HTTP process as the server sees it: its listeners, when it is started, and what it is told.
//!
//! ```text
//! bind (rights) --> listeners --> watch: a thread --> child, again after 1, 2, 4 ... 60 s when it dies
//!                       |                              ^ numbers when it asks, a beat a second
//!                       '--> the successor             leave: at the end, or when another server has taken over
//! ```
//!
//! * `child`: one such process; `watch`: the thread that has one after the other.
//!
//! What strangers send this server never reads: [`web`] does, in the child. Design: `docs/design/observing.md` 5.

mod child;
mod watch;

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::{BindError, Handed, Listener, Transport};
use nix::unistd::Uid;
use rustix::process::Signal;
use sync::Mutex;
use web::pair::{Beat, Terms};

use crate::child::END_PAUSE;
use crate::controller::Controller;
use crate::settings::Settings;

pub(crate) use child::{Started, start};
pub(crate) use watch::watch;

/// How far the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// Zones load; none of them is served.
    Starting,
    /// Something is served.
    Ready,
    /// It stops, and answers who has asked; probes are told not to send others.
    Stopping,
    /// It has stopped, or another one has taken over.
    Over,
}

/// The process, its listeners and what it is told.
pub(crate) struct Http {
    phase: AtomicU8,
    listeners: OnceLock<Vec<Listening>>,
    /// What the process is told at its start.
    terms: OnceLock<Terms>,
    /// The end of the pipe that beats are written to, while there is a process.
    pipe: Mutex<Option<File>>,
    /// The process, to be ended whatever the thread waits for.
    process: Mutex<Option<OwnedFd>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A socket that connections come to.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    socket: OwnedFd,
}

/// The listeners that settings ask for, and what the process is told at its start.
#[derive(Debug)]
pub(crate) struct Bound {
    listening: Vec<Listening>,
    terms: Terms,
}

impl Http {
    pub(crate) fn new() -> Http {
        Http {
            phase: AtomicU8::new(Phase::Starting as u8),
            listeners: OnceLock::new(),
            terms: OnceLock::new(),
            process: Mutex::named("the HTTP process", None),
            pipe: Mutex::named("pipe of the HTTP process", None),
            thread: Mutex::named("thread of the HTTP process", None),
        }
    }

    /// From now on probes are told that queries are answered.
    pub(crate) fn ready(&self) {
        let (from, to) = (Phase::Starting as u8, Phase::Ready as u8);
        // Not where it has ended meanwhile.
        let _ = self.phase.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    }

    /// From now on probes are told that the server stops.
    pub(crate) fn stopping(&self) {
        self.phase.store(Phase::Stopping as u8, Ordering::Release);
    }

    fn is_in(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Acquire) == phase as u8
    }

    /// Has the process answer what was asked, and end. Waits for that, `wait` at the longest: what was not answered then is cut off, and a process that has not
    /// ended is killed, as it would keep the listeners.
    pub(crate) fn leave(&self, wait: Duration) {
        self.phase.store(Phase::Over as u8, Ordering::Release);
        let Some(thread) = self.thread.lock().take() else { return };
        // Who has asked already is not to act on the end: it is wanted, or another server goes on.
        self.beat(Beat { is_well: true, is_ready: false, is_over: true });
        thread.thread().unpark();
        let until = Instant::now() + wait;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(END_PAUSE);
        }
        drop(self.pipe.lock().take());
        let process = self.process.lock().take();
        if let Some(process) = process.filter(|_| !thread.is_finished()) {
            let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
        }
    }

    /// Says how the server is. A process that does not read what was said before is not told more.
    fn beat(&self, beat: Beat) {
        if let Some(pipe) = &mut *self.pipe.lock() {
            let _ = pipe.write(&[beat.octet()]);
        }
    }

    /// The listeners once more, for the server that is to take over.
    pub(crate) fn hand(&self) -> std::io::Result<Vec<Handed>> {
        hand(self.listeners.get().map_or(&[][..], Vec::as_slice))
    }
}

/// Listeners once more, for the server that is to take over.
pub(crate) fn hand(listening: &[Listening]) -> std::io::Result<Vec<Handed>> {
    let hand = |one: &Listening| {
        Ok(Handed { listener: listener(one.address), sockets: vec![one.socket.try_clone()?] })
    };
    listening.iter().map(hand).collect()
}

fn listener(address: SocketAddr) -> Listener {
    Listener { address, transport: Transport::Tcp, inherited: false }
}

/// Opens the listeners that settings ask for; see [`open`].
pub(crate) fn bind(settings: &Settings, handed: Vec<Handed>) -> Result<Bound, BindError> {
    let listening = open(&settings.http.listen, settings.server.free_bind, handed)?;
    Ok(Bound { listening, terms: settings.http.terms() })
}

/// Opens listeners; those that the server before has handed over are taken as they are, and what of them is not wanted goes back.
pub(crate) fn open(
    addresses: &[SocketAddr],
    free_bind: bool,
    mut handed: Vec<Handed>,
) -> Result<Vec<Listening>, BindError> {
    let mut listening = Vec::new();
    for &address in addresses {
        let at = handed.iter().position(|group| group.listener.address == address);
        let group = at.map(|at| handed.swap_remove(at));
        if let Some(group) = &group {
            let transport = Transport::Tcp;
            group.check().map_err(|cause| BindError::Handed { address, transport, cause })?;
        }
        let socket = match group.and_then(|group| group.sockets.into_iter().next()) {
            Some(socket) => socket,
            None => net::listen_at(address, free_bind)?,
        };
        // Port 0 is whatever the system gave: the successor is told of that.
        let bound = rustix::net::getsockname(&socket).ok().and_then(|bound| bound.try_into().ok());
        listening.push(Listening { address: bound.unwrap_or(address), socket });
    }
    Ok(listening)
}

impl Controller {
    /// Takes the listeners, which the process is given when it is started. A server that is root has no such process: it would be root, too.
    pub(crate) fn listen_for_http(&self, Bound { listening, terms }: Bound) {
        if listening.is_empty() {
            return;
        }
        if Uid::effective().is_root() {
            tracing::warn!(
                "[http] listen: this server runs as root, so that nothing is told over HTTP; set `user` in [server]"
            );
            return;
        }
        let addresses: Vec<String> = listening.iter().map(|one| one.address.to_string()).collect();
        let address = addresses.join(", ");
        tracing::info!(address, "HTTP for monitoring and probes on {address}");
        let _ = self.http.terms.set(terms);
        let _ = self.http.listeners.set(listening);
    }

    /// How the server is.
    fn wellness(&self) -> Beat {
        let is_ready = self.http.is_in(Phase::Ready);
        // A worker that has ended is for the watchdog too; before there are any, and after, there is nothing to be said against the server.
        let is_serving = || self.running.lock().as_ref().is_some_and(net::Running::is_serving);
        Beat { is_well: !is_ready || is_serving(), is_ready, is_over: self.http.is_in(Phase::Over) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn listeners_go_to_the_next_server() {
        let mut settings = Settings::default();
        assert!(bind(&settings, Vec::new()).unwrap().listening.is_empty());
        settings.http.listen = vec!["127.0.0.1:0".parse().unwrap()];
        let first = bind(&settings, Vec::new()).unwrap().listening;
        let address = SocketAddr::try_from(rustix::net::getsockname(&first[0].socket).unwrap()).unwrap();
        settings.http.listen = vec![address];
        assert!(bind(&settings, Vec::new()).is_err(), "somebody has it");
        let http = Http::new();
        assert_eq!(first[0].address, address, "what the system gave");
        http.listeners.set(first).unwrap();
        assert_eq!(bind(&settings, http.hand().unwrap()).unwrap().listening.len(), 1);
        // What is not what it is said to be is refused.
        let other =
            Handed { listener: listener(address), sockets: vec![tempfile::tempfile().unwrap().into()] };
        assert!(bind(&settings, vec![other]).is_err());
    }

    #[test]
    fn once_over_it_is_not_ready_again() {
        let http = Http::new();
        http.leave(Duration::ZERO);
        http.ready();
        assert!(http.is_in(Phase::Over));
    }
}
