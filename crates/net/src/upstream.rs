//! UDP sockets of a worker's own: to ask other servers through.
//!
//! The ports of a resolver are shared by queries with other IDs or to other servers and given up after a while; that pool is
//! the service's. Here are sockets, and what arrives at them.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::epoll::{self, EventFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};

use crate::token::Token;

/// Sockets a worker may have: more ports than a resolver with 20,000 queries in flight wants, and a sixteenth of the
/// descriptors that systems allow a process.
pub const UPSTREAM_SOCKETS_MAX: usize = 4_096;

/// Datagrams of one event.
const ARRIVALS_MAX: usize = 64;

/// Longest datagram from upstream; what is longer is cut, and the service sees that by its length.
pub const ARRIVAL_OCTETS_MAX: usize = 4_096;

/// Datagrams taken from one socket in a turn; the others are still there in the next.
const ARRIVALS_PER_SOCKET: usize = 16;

/// Which socket. The generation tells it from an earlier one at the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UpstreamId {
    pub(crate) index: u32,
    /// Below [`crate::token::GENERATIONS`].
    pub(crate) generation: u32,
}

/// The sockets of one worker.
pub struct Upstream {
    epoll: Arc<OwnedFd>,
    sockets: Vec<(u32, Option<UdpSocket>)>,
    free: Vec<u32>,
    /// What arrived and the service was not told of: socket, sender, octets.
    arrived: Vec<(UpstreamId, SocketAddr, usize)>,
    /// Empty until the first socket is opened.
    area: Vec<u8>,
}

impl Upstream {
    pub(crate) fn new(epoll: Arc<OwnedFd>) -> Self {
        Self { epoll, sockets: Vec::new(), free: Vec::new(), arrived: Vec::new(), area: Vec::new() }
    }

    /// Opens a socket, bound to `local` (port 0: the system chooses) and connected to `remote` if there is one: it then takes
    /// datagrams from there only and hears of its being unreachable.
    pub fn open(&mut self, local: SocketAddr, remote: Option<SocketAddr>) -> io::Result<UpstreamId> {
        if self.sockets.len() - self.free.len() >= UPSTREAM_SOCKETS_MAX {
            return Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "a worker has as many sockets as it may",
            ));
        }
        let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
        rustix::net::bind(&socket, &local)?;
        let socket = UdpSocket::from(socket);
        if let Some(remote) = remote {
            socket.connect(remote)?;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.sockets.push((0, None));
            (self.sockets.len() - 1) as u32
        });
        let id = UpstreamId { index, generation: self.sockets[index as usize].0 };
        if let Err(error) = epoll::add(&*self.epoll, &socket, Token::Upstream(id).data(), EventFlags::IN) {
            self.free.push(index);
            return Err(error.into());
        }
        self.sockets[index as usize].1 = Some(socket);
        self.area.resize(ARRIVALS_MAX * ARRIVAL_OCTETS_MAX, 0);
        Ok(id)
    }

    /// Sends a datagram: to `remote`, or where the socket is connected to. Never waits; a full send buffer is an error
    /// (`WouldBlock`), as is a socket that is closed (`NotConnected`).
    pub fn send(&self, id: UpstreamId, octets: &[u8], remote: Option<SocketAddr>) -> io::Result<()> {
        let socket = self.get(id).ok_or(io::ErrorKind::NotConnected)?;
        match remote {
            Some(remote) => socket.send_to(octets, remote),
            None => socket.send(octets),
        }
        .map(drop)
    }

    /// The address it is bound to.
    pub fn local(&self, id: UpstreamId) -> io::Result<SocketAddr> {
        self.get(id).ok_or(io::ErrorKind::NotConnected)?.local_addr()
    }

    /// Closes a socket; what has arrived and was not taken is lost.
    pub fn close(&mut self, id: UpstreamId) {
        if self.get(id).is_some() {
            let (generation, socket) = &mut self.sockets[id.index as usize];
            *socket = None;
            *generation = (*generation + 1) % crate::token::GENERATIONS;
            self.free.push(id.index);
        }
    }

    fn get(&self, id: UpstreamId) -> Option<&UdpSocket> {
        let (generation, socket) = self.sockets.get(id.index as usize)?;
        if *generation == id.generation { socket.as_ref() } else { None }
    }

    /// Closes all sockets.
    pub(crate) fn close_all(&mut self) {
        for index in 0..self.sockets.len() as u32 {
            self.close(UpstreamId { index, generation: self.sockets[index as usize].0 });
        }
        self.arrived.clear();
    }

    /// Takes what waits at a socket. `true`: the batch is full and the service must be told before more is taken.
    pub(crate) fn receive(&mut self, id: UpstreamId) -> bool {
        for _ in 0..ARRIVALS_PER_SOCKET {
            let at = self.arrived.len();
            if at == ARRIVALS_MAX {
                return true;
            }
            let Some((_, Some(socket))) = self.sockets.get(id.index as usize) else { return false };
            if self.sockets[id.index as usize].0 != id.generation {
                return false;
            }
            let room = &mut self.area[at * ARRIVAL_OCTETS_MAX..][..ARRIVAL_OCTETS_MAX];
            match socket.recv_from(room) {
                Ok((octets, sender)) => self.arrived.push((id, sender, octets)),
                // What is not there, or an error about an earlier datagram, which is thereby told and cleared: the
                // service's own timers notice what does not come.
                Err(_) => return false,
            }
        }
        false
    }

    pub(crate) fn has_arrivals(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// What arrived, for the time of an event, in which the service may open and close sockets.
    pub(crate) fn take_arrivals(&mut self) -> Arrivals {
        Arrivals { list: std::mem::take(&mut self.arrived), area: std::mem::take(&mut self.area) }
    }

    /// The memory of a batch is free again.
    pub(crate) fn give_back(&mut self, mut arrivals: Arrivals) {
        arrivals.list.clear();
        (self.arrived, self.area) = (arrivals.list, arrivals.area);
        self.area.resize(ARRIVALS_MAX * ARRIVAL_OCTETS_MAX, 0);
    }
}

/// Datagrams from upstream.
pub struct Arrivals {
    list: Vec<(UpstreamId, SocketAddr, usize)>,
    area: Vec<u8>,
}

impl Arrivals {
    /// Each: at which socket, from whom, and its octets, at most [`ARRIVAL_OCTETS_MAX`].
    pub fn iter(&self) -> impl Iterator<Item = (UpstreamId, SocketAddr, &[u8])> {
        let octets = |index: usize, octets| &self.area[index * ARRIVAL_OCTETS_MAX..][..octets];
        self.list
            .iter()
            .enumerate()
            .map(move |(index, &(id, sender, count))| (id, sender, octets(index, count)))
    }
}
