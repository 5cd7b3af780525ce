//! UDP sockets and their options.
#![allow(unsafe_code)] // two options without a safe form

use std::{
    io, mem,
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd,
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

use super::check;

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
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
}

/// Lets a socket receive trains whole (`UDP_GRO`), into slots of 65,535 octets: see [`super::Batch::datagrams`].
pub fn take_trains(socket: &impl AsRawFd) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_GRO)
}

/// Makes a UDP socket bound to `address`; for port 0 to one that no other socket has.
pub fn bind(address: SocketAddr, options: SocketOptions) -> io::Result<UdpSocket> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // Of sockets that share, the system takes any free or shared port for 0, and so would join two strangers: who asks for any port
    // shares it once it has it.
    let is_any_port = address.port() == 0;
    if options.reuse_port && !is_any_port {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    // The option that goes beyond the system's limit needs rights; the ordinary one does not.
    if let Some(octets) = buffer(options.receive_octets) {
        sockopt::set_socket_recv_buffer_size_force(&socket, octets)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, octets))?;
    }
    if let Some(octets) = buffer(options.send_octets) {
        sockopt::set_socket_send_buffer_size_force(&socket, octets)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&socket, octets))?;
    }
    rustix::net::bind(&socket, &address)?;
    if options.reuse_port && is_any_port {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    Ok(UdpSocket::from(socket))
}

/// What an option of a buffer can hold of a size; none for 0.
fn buffer(octets: usize) -> Option<usize> {
    (octets > 0).then(|| octets.min(i32::MAX as usize))
}

/// Switches an option on.
fn set(socket: &impl AsRawFd, level: i32, option: i32) -> io::Result<()> {
    let (on, octets) = (1_i32, mem::size_of::<i32>() as u32);
    // SAFETY: `on` is an initialised i32 that outlives the call, and `octets` is its size.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const on).cast(), octets) })
}
