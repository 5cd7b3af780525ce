//! Accepting connections, and what to do when there is no room for another.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};

use super::{Channel, Connection, Connections, Turn};
use crate::admit::{Refused, Seat};
use crate::bind::TcpPort;
use crate::token::Token;

/// Connections accepted per turn and listener, so that a flood of them does not keep UDP waiting.
const ACCEPTS_PER_TURN: usize = 16;

/// Pause after descriptors or kernel memory ran out. The backlog stays ready meanwhile, so asking again at once
/// would spin; a tenth of a second is soon enough for clients and nothing for the processor.
const PAUSE: Duration = Duration::from_millis(100);

/// A socket that connections arrive at.
pub(super) struct Listening {
    socket: TcpListener,
    /// The address connections are made to; `None` on a wildcard socket, where each knows its own.
    local: Option<SocketAddr>,
    flags: EventFlags,
}

impl Listening {
    pub(super) fn new(port: TcpPort) -> Self {
        let local = port.socket.local_addr().ok().filter(|local| !local.ip().is_unspecified());
        Self { socket: port.socket, local, flags: port.flags }
    }
}

/// Why accepting stopped for this turn.
enum Stopped {
    /// There is nobody else.
    Empty,
    /// The process or the system has no descriptor or memory left.
    Exhausted,
    /// The listener itself has an error, which would come again at once.
    Failed,
}

impl Connections {
    /// Accepts what waits at listener `index`, a bounded number.
    pub(crate) fn accept(&mut self, index: usize, turn: &mut Turn<'_>) {
        for _ in 0..ACCEPTS_PER_TURN {
            if self.paused_until.is_some() {
                return;
            }
            match self.accept_one(index, turn) {
                Ok(()) => {}
                Err(Stopped::Empty) => return,
                Err(Stopped::Exhausted) => self.make_room(turn),
                Err(Stopped::Failed) => self.pause(turn),
            }
        }
    }

    fn accept_one(&mut self, index: usize, turn: &mut Turn<'_>) -> Result<(), Stopped> {
        let (now, counters) = (turn.now.instant, turn.counters);
        let Some(listening) = self.listeners.get(index) else { return Err(Stopped::Empty) };
        let (socket, client) =
            match acceptfrom_with(&listening.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok((socket, client)) => (TcpStream::from(socket), client),
                Err(Errno::AGAIN) => return Err(Stopped::Empty),
                // The system looks for a descriptor before it looks for a connection.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    return Err(if is_ready(&listening.socket) {
                        Stopped::Exhausted
                    } else {
                        Stopped::Empty
                    });
                }
                Err(errno) if is_about_the_connection(errno) => return Ok(()),
                Err(_) => return Err(Stopped::Failed),
            };
        let Some(client) = client.and_then(|client| SocketAddr::try_from(client).ok()) else { return Ok(()) };
        let Some(local) = listening.local.or_else(|| socket.local_addr().ok()) else { return Ok(()) };
        let Some(seat) = self.find_seat(client, turn) else { return Ok(()) };
        let id = self.table.insert(Channel::new(
            socket,
            Connection::new(client.into(), local.into(), now),
            Some(seat),
        ));
        counters.tcp_accepted.add(1);
        counters.tcp_open.add(1);
        let registered = self.table.value_mut(id).is_some_and(|channel| {
            epoll::add(turn.epoll, &channel.socket, Token::Stream(id).data(), EventFlags::IN).is_ok()
        });
        if !registered {
            self.close(id, &counters.tcp_errors, turn);
        }
        Ok(())
    }

    /// A seat within the limits for a connection of `client`, if need be that of the connection which has been idle longest:
    /// here it is closed, another worker is asked to close its.
    fn find_seat(&mut self, client: SocketAddr, turn: &mut Turn<'_>) -> Option<Seat> {
        match self.admission.enter(client.ip()) {
            Ok(seat) => Some(seat),
            Err(Refused::Prefix) => {
                turn.counters.tcp_limit_prefix.add(1);
                None
            }
            Err(Refused::All) => {
                turn.counters.tcp_limit_all.add(1);
                let elsewhere = self.admission.longest_idle().filter(|&(worker, _)| worker != self.worker);
                let elsewhere = elsewhere.filter(|_| !self.admission.is_far_over());
                if let Some(seat) = elsewhere.and_then(|asked| self.admission.enter_for(asked, client.ip())) {
                    return Some(seat);
                }
                let (oldest, _) = self.table.oldest()?;
                self.remove(oldest, turn);
                Some(self.admission.enter_instead(client.ip()))
            }
        }
    }

    /// Frees a descriptor by closing the connection that made no progress for longest; where there is none, others
    /// hold the descriptors, and accepting pauses.
    fn make_room(&mut self, turn: &mut Turn<'_>) {
        if let Some((oldest, _)) = self.table.oldest() {
            return self.close(oldest, &turn.counters.tcp_exhausted, turn);
        }
        self.pause(turn);
    }

    /// Accepts no more. Closing a listener is not enough: another process may have it open too, and epoll would tell of it as long.
    pub(crate) fn close_listeners(&mut self, epoll: &OwnedFd) {
        for listening in self.listeners.drain(..) {
            let _ = epoll::delete(epoll, &listening.socket);
        }
        self.paused_until = None;
    }

    /// Accepts nothing for a while.
    fn pause(&mut self, turn: &mut Turn<'_>) {
        turn.counters.tcp_accept_pauses.add(1);
        for listening in &self.listeners {
            let _ = epoll::delete(turn.epoll, &listening.socket);
        }
        self.paused_until = Some(turn.now.instant + PAUSE);
    }

    /// Accepts again after a pause.
    pub(super) fn resume(&mut self, now: Instant, epoll: &OwnedFd) {
        self.paused_until = None;
        for (index, listening) in self.listeners.iter().enumerate() {
            match epoll::add(epoll, &listening.socket, Token::Listener(index).data(), listening.flags) {
                Ok(()) | Err(Errno::EXIST) => {}
                // Still no memory: later.
                Err(_) => self.paused_until = Some(now + PAUSE),
            }
        }
    }
}

/// Whether an error belongs to the connection that was to be accepted and is gone: those that accept(2) lists, and
/// that of a packet filter.
fn is_about_the_connection(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::INTR
            | Errno::CONNABORTED
            | Errno::CONNRESET
            | Errno::PERM
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::OPNOTSUPP
            | Errno::NETDOWN
            | Errno::NETUNREACH
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NONET
    )
}

/// Whether a connection waits to be accepted.
fn is_ready(listener: &TcpListener) -> bool {
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
