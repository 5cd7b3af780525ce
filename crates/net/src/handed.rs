//! Sockets that one server hands to the next, and how they are dealt to workers.
//!
//! ```text
//! sockets of an address   workers   worker k has
//! n                       n         socket k
//! n                       fewer     socket k; those left over are shared by all, as closing one would lose what waits at it
//! n                       more      its own, if others may join the group; else all share all
//! 1 of a service manager  any       the one, shared
//! ```

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::EventFlags;
use rustix::net::{SocketType, sockopt};

use crate::bind::{Listener, Sockets, TcpPort, prepare_udp};
use crate::context::Transport;
use crate::udp::Port;

/// The sockets of one address and transport, in the order in which they were bound.
#[derive(Debug)]
pub struct Handed {
    /// What they are; those that a service manager opened stay so.
    pub listener: Listener,
    /// One or more. Whoever is given them has the same open sockets as the giver, with what waits at them.
    pub sockets: Vec<OwnedFd>,
}

impl Handed {
    /// Second descriptors of the same sockets.
    pub(crate) fn try_clone(&self) -> io::Result<Handed> {
        let sockets = self.sockets.iter().map(OwnedFd::try_clone).collect::<io::Result<_>>()?;
        Ok(Handed { listener: self.listener, sockets })
    }

    /// Checks that each is what it is said to be: kind, address, listening. The error says what it is not.
    pub fn check(&self) -> io::Result<()> {
        let wrong = |what: &'static str| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        for socket in &self.sockets {
            let kind = sockopt::socket_type(socket)?;
            let is_listening = sockopt::socket_acceptconn(socket)?;
            match self.listener.transport {
                Transport::Udp if kind != SocketType::DGRAM => return wrong("it is no UDP socket"),
                Transport::Tcp if kind != SocketType::STREAM => return wrong("it is no TCP socket"),
                Transport::Tcp if !is_listening => return wrong("it does not listen"),
                Transport::Udp | Transport::Tcp => {}
                _ => return wrong("its transport is not known"),
            }
            let at = rustix::net::getsockname(socket)?;
            if SocketAddr::try_from(at).ok() != Some(self.listener.address) {
                return wrong("it is bound to another address");
            }
        }
        if self.sockets.is_empty() { wrong("there is none") } else { Ok(()) }
    }
}

/// Gives the sockets of one address to workers: a socket each, and to all of them those that are left over; where they are fewer than workers, all to all.
pub(crate) fn deal(listener: &Listener, sockets: &[OwnedFd], workers: &mut [Sockets]) -> io::Result<()> {
    let own = if sockets.len() < workers.len() { 0 } else { workers.len() };
    for (worker, socket) in workers.iter_mut().zip(&sockets[..own]) {
        give(listener, socket, worker, EventFlags::IN)?;
    }
    // One socket for several workers: wake one of them, not all.
    let is_shared = workers.len() > 1;
    let flags = if is_shared { EventFlags::IN | EventFlags::EXCLUSIVE } else { EventFlags::IN };
    for socket in &sockets[own..] {
        for worker in &mut *workers {
            give(listener, socket, worker, flags)?;
        }
    }
    Ok(())
}

fn give(listener: &Listener, socket: &OwnedFd, worker: &mut Sockets, flags: EventFlags) -> io::Result<()> {
    let socket = socket.try_clone()?;
    match listener.transport {
        Transport::Udp | Transport::Quic => {
            let port = Port::new(UdpSocket::from(socket))?;
            worker.udp.push(Port { flags, ..port });
        }
        Transport::Tcp | Transport::Tls | Transport::Https => {
            worker.tcp.push(TcpPort { socket: TcpListener::from(socket), flags });
        }
    }
    Ok(())
}

/// Sets the options that a socket opened by somebody else may lack.
pub(crate) fn prepare(listener: &Listener, socket: &impl AsFd) -> io::Result<()> {
    rustix::io::ioctl_fionbio(socket, true)?;
    match listener.transport {
        Transport::Udp | Transport::Quic => prepare_udp(socket, listener.address),
        _ => Ok(sockopt::set_tcp_nodelay(socket, true)?),
    }
}

/// Gives addresses without a port (0) those that were chosen for them before: the same address may not move when it is bound anew.
pub(crate) fn with_ports(addresses: &[SocketAddr], handed: &[Handed]) -> Vec<SocketAddr> {
    let mut found = addresses.to_vec();
    for at in 0..found.len() {
        if found[at].port() != 0 {
            continue;
        }
        let chosen =
            handed.iter().filter(|group| !group.listener.inherited).map(|group| group.listener.address);
        let free = |chosen: &SocketAddr| chosen.ip() == found[at].ip() && !found.contains(chosen);
        if let Some(chosen) = chosen.into_iter().find(free) {
            found[at] = chosen;
        }
    }
    found
}

/// Whether `address` and one that was handed over exclude each other in the eyes of the system: the same port, and one of them all addresses.
pub(crate) fn is_overlapping(address: SocketAddr, transport: Transport, handed: &[Handed]) -> bool {
    handed.iter().map(|group| group.listener).any(|other| {
        let is_any = other.address.ip().is_unspecified() || address.ip().is_unspecified();
        other.transport == transport
            && other.address.port() == address.port()
            && other.address.is_ipv4() == address.is_ipv4()
            && is_any
    })
}
