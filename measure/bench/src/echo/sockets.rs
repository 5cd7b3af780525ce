//! Sockets of all threads: bound once, by the first process, and handed to the others.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    net::{SocketAddr, TcpListener, UdpSocket},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sockopt,
};

use super::{SEND_OCTETS, Service, Settings, Sharing};
use crate::{
    Error,
    mmsg::{self, SocketOptions},
};

/// Connections that wait to be accepted at most; the system's own limit is 4,096 on common kernels.
const BACKLOG: i32 = 4096;

/// Sockets that every system lets a process have.
const DESCRIPTORS_USUAL: usize = 200;

/// One socket.
pub(super) enum Socket {
    Udp(UdpSocket),
    Tcp(TcpListener),
}

/// One for all threads, or one for each.
pub(super) struct Sockets(Vec<Socket>);

impl Sockets {
    /// Binds all that the threads of all processes need.
    pub(super) fn bind(settings: &Settings) -> Result<Sockets, Error> {
        let count = match settings.sharing {
            Sharing::Shared => 1,
            Sharing::Each => settings.processes * settings.threads,
        };
        if count > DESCRIPTORS_USUAL {
            // Where it cannot be raised far enough, binding says so.
            let _ = mmsg::raise_descriptor_limit();
        }
        let first = Socket::bind(settings, settings.address)?;
        // The others take the port that the first was given.
        let address = first.address();
        let mut sockets = vec![first];
        for _ in 1..count {
            sockets.push(Socket::bind(settings, address)?);
        }
        Ok(Sockets(sockets))
    }

    /// Where they are bound.
    pub(super) fn address(&self) -> SocketAddr {
        self.0[0].address()
    }

    /// The socket of a thread of this process.
    pub(super) fn of_thread(&self, thread: usize) -> &Socket {
        &self.0[thread % self.0.len()]
    }

    /// Sends a process of `threads` the sockets that its threads need.
    pub(super) fn hand_over(&self, to: &UnixStream, process: usize, threads: usize) -> io::Result<()> {
        let first = process * threads % self.0.len();
        for socket in &self.0[first..first + threads.min(self.0.len())] {
            let descriptors = [socket.as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            let _ = control.push(SendAncillaryMessage::ScmRights(&descriptors));
            // One octet goes with each, as a message must not be empty.
            rustix::net::sendmsg(to, &[IoSlice::new(b"s")], &mut control, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }

    /// Receives what [`Sockets::hand_over`] sent.
    pub(super) fn receive(from: &UnixStream, settings: &Settings) -> io::Result<Sockets> {
        let count = match settings.sharing {
            Sharing::Shared => 1,
            Sharing::Each => settings.threads,
        };
        (0..count)
            .map(|_| Ok(Socket::from_fd(receive(from)?, settings.service)))
            .collect::<io::Result<_>>()
            .map(Sockets)
    }
}

fn receive(from: &UnixStream) -> io::Result<OwnedFd> {
    let mut octet = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut room = [IoSliceMut::new(&mut octet)];
    rustix::net::recvmsg(from, &mut room, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptor.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

impl Socket {
    fn bind(settings: &Settings, address: SocketAddr) -> Result<Socket, Error> {
        let bound = match settings.service {
            Service::Udp(_) => {
                let receive_octets = settings.receive_octets;
                let options = SocketOptions { reuse_port: true, receive_octets, send_octets: SEND_OCTETS };
                mmsg::bind(address, options).map(Socket::Udp)
            }
            Service::Tcp { .. } => listen(address).map(Socket::Tcp),
        };
        let socket = bound.map_err(|cause| Error::Socket { address, action: "listen on", cause })?;
        Ok(socket)
    }

    fn from_fd(fd: OwnedFd, service: Service) -> Socket {
        match service {
            Service::Udp(_) => Socket::Udp(fd.into()),
            Service::Tcp { .. } => Socket::Tcp(fd.into()),
        }
    }

    fn address(&self) -> SocketAddr {
        match self {
            Socket::Udp(socket) => socket.local_addr(),
            Socket::Tcp(listener) => listener.local_addr(),
        }
        .expect("a bound IP socket has an address")
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Udp(socket) => socket.as_fd(),
            Socket::Tcp(listener) => listener.as_fd(),
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}
