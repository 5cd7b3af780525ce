//! UDP sockets and their options.
#![allow(unsafe_code)] // socket options without a safe form in the standard library

use std::{
    io, mem,
    net::{SocketAddr, UdpSocket},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use super::{address::to_sockaddr, check};

/// What a socket is made with.
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketOptions {
    /// `SO_REUSEPORT`, as servers with a socket for each worker set it.
    pub reuse_port: bool,
    /// `SO_RCVBUF`; 0 leaves the system's default. Beyond the system's limit where rights allow.
    pub receive_octets: usize,
    /// `SO_SNDBUF`, likewise.
    pub send_octets: usize,
}

/// Has the system tell when it got each datagram that a socket receives (`SO_TIMESTAMPNS`): see [`super::Batch::time`].
pub fn stamp(socket: &impl AsRawFd) -> io::Result<()> {
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Lets a socket receive trains whole (`UDP_GRO`), into slots of 65,535 octets: see [`super::Batch::datagrams`].
pub fn take_trains(socket: &impl AsRawFd) -> io::Result<()> {
    set_option(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Makes a UDP socket bound to `address`.
pub fn bind(address: SocketAddr, options: SocketOptions) -> io::Result<UdpSocket> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: takes three integers; the result is checked and, being new, owned by nobody else.
    let socket = unsafe {
        let fd = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let fd = socket.as_raw_fd();
    if options.reuse_port {
        set_option(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
    }
    if address.is_ipv6() {
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
    }
    buffer(fd, options.receive_octets, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
    buffer(fd, options.send_octets, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
    let (name, octets) = to_sockaddr(address);
    // SAFETY: `name` is an initialised sockaddr_storage, at least `octets` long, and outlives the call.
    check(unsafe { libc::bind(fd, (&raw const name).cast(), octets) })?;
    Ok(UdpSocket::from(socket))
}

/// Sets a buffer size with the option that needs rights, else with the ordinary one; 0 sets nothing.
fn buffer(fd: RawFd, octets: usize, forced: i32, ordinary: i32) -> io::Result<()> {
    if octets == 0 {
        return Ok(());
    }
    let octets = i32::try_from(octets).unwrap_or(i32::MAX);
    set_option(fd, libc::SOL_SOCKET, forced, octets)
        .or_else(|_| set_option(fd, libc::SOL_SOCKET, ordinary, octets))
}

fn set_option(fd: RawFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let octets = mem::size_of::<i32>() as u32;
    // SAFETY: `value` is an initialised i32 that outlives the call, and `octets` is its size.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), octets) })
}
