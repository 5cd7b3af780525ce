//! One UDP socket to ask through: not connected, at a port of our choice, deaf to what routers say.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use sync::random::Unguessable;

use super::Unsent;
use super::settings::UpstreamSettings;
use crate::udp::option;

/// Ports that are drawn for one socket: with half of them in use, which is the most that is ours, all are so once in 65,536.
const OPEN_TRIES: usize = 16;

/// Room for some 50 datagrams (each is charged 768 octets and more), which is what a flood of forged ones must not fill before
/// the right one comes; not more, as thousands of sockets would take it at once.
const RECEIVE_BUFFER_OCTETS: usize = 64 << 10;

/// The family of a server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) fn of(server: SocketAddr) -> Self {
        if server.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    fn has(self, ip: &IpAddr) -> bool {
        ip.is_ipv4() == (self == Self::V4)
    }

    /// One of the source addresses at random, or what leaves the choice to the routing table.
    pub(super) fn source(self, settings: &UpstreamSettings, random: &mut Unguessable) -> IpAddr {
        let of_family = || settings.sources.iter().filter(|ip| self.has(ip));
        // None of them: 0 is drawn, and there is no such one.
        let chosen = random.below(of_family().count() as u32) as usize;
        of_family().nth(chosen).copied().unwrap_or(match self {
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Self::V6 => Ipv6Addr::UNSPECIFIED.into(),
        })
    }
}

/// Opens a socket at a port that is free.
///
/// Errors: [`Unsent::NoRoute`] where the host has no such family or none of the addresses tried, [`Unsent::Sockets`] where descriptors, memory or ports are short.
pub(super) fn open(
    family: Family,
    settings: &UpstreamSettings,
    random: &mut Unguessable,
) -> Result<UdpSocket, Unsent> {
    let socket = make(family).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::AFNOSUPPORT | Errno::PROTONOSUPPORT) => Unsent::NoRoute,
        _ => Unsent::Sockets,
    })?;
    let mut refused = Unsent::Sockets;
    for _ in 0..OPEN_TRIES {
        let local = SocketAddr::new(family.source(settings, random), settings.ports.draw(random));
        match rustix::net::bind(&socket, &local) {
            Ok(()) => return Ok(socket.into()),
            Err(Errno::ADDRINUSE | Errno::ACCESS) => refused = Unsent::Sockets,
            // Another of the addresses may be there.
            Err(Errno::ADDRNOTAVAIL) => refused = Unsent::NoRoute,
            Err(_) => return Err(Unsent::Sockets),
        }
    }
    Err(refused)
}

/// Bounds what others can have wait at a socket that takes datagrams from anybody.
pub(super) fn bound_buffer(socket: &UdpSocket) {
    // One that keeps the system's bound works as well.
    let _ = sockopt::set_socket_recv_buffer_size(socket, RECEIVE_BUFFER_OCTETS);
}

/// A socket with its options and without a port.
fn make(family: Family) -> io::Result<OwnedFd> {
    let ipv6 = family == Family::V6;
    let kind = if ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(kind, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
    if ipv6 {
        sockopt::set_ipv6_v6only(&socket, true)?;
        option::send_no_fragments(&socket)?;
    }
    option::ignore_path_mtu(&socket, ipv6)?;
    option::report_fragments(&socket, ipv6)?;
    Ok(socket)
}
