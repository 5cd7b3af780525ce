//! Replies sent by the thread that made them, past the worker: it is not woken for that, which takes longer than to send.
//!
//! A reply of its own takes a system call of its own: where many are to go the worker sends them in batches.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use super::{Backend, Datagram, Port, mmsg, send};

/// A second descriptor of a worker's UDP socket, to send from any thread.
#[derive(Debug)]
pub(crate) struct Outlet {
    port: Port,
    backend: Backend,
}

impl Outlet {
    /// Of a port of a worker with this back end.
    pub(crate) fn new(port: &Port, backend: Backend) -> io::Result<Self> {
        let socket: UdpSocket = port.socket.try_clone()?;
        Ok(Self { port: Port::new(socket)?, backend })
    }

    /// Sends one datagram, without waiting. `false`: the system did not take it.
    pub(crate) fn send(&self, datagram: Datagram<'_>) -> bool {
        let outcome = match self.backend {
            Backend::Mmsg => mmsg::send_one(&self.port, datagram),
            Backend::Portable => {
                let peer = SocketAddr::from(datagram.peer);
                send::drain(1, |_| self.port.socket.send_to(datagram.octets, peer).map(|_| 1))
            }
        };
        outcome.sent == 1
    }
}
