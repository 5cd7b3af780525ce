//! The client sockets of a worker, each connected to the server from a source port of its own.

use std::net::{SocketAddr, UdpSocket};

use crate::{
    Error,
    mmsg::{self, SocketOptions},
};

/// Most flows: beyond that the range of local ports (32768 to 60999 by default) runs out.
pub const FLOWS_MAX: usize = 28_000;
/// Buffers of a flow's socket: a burst of 64 large replies fits several times.
const BUFFER_OCTETS: usize = 1 << 20;

/// All sockets of a worker.
pub struct Flows {
    sockets: Vec<UdpSocket>,
}

impl Flows {
    /// `count` sockets connected to `server`, at least one and at most [`FLOWS_MAX`].
    pub fn open(server: SocketAddr, count: usize) -> Result<Flows, Error> {
        let count = count.clamp(1, FLOWS_MAX);
        let fault = |cause| Error::Socket { address: server, action: "make sockets towards", cause };
        mmsg::raise_descriptor_limit().map_err(fault)?;
        let options =
            SocketOptions { reuse_port: false, receive_octets: BUFFER_OCTETS, send_octets: BUFFER_OCTETS };
        let open = |_| {
            let socket = mmsg::bind(mmsg::any_like(server), options)?;
            socket.connect(server)?;
            Ok(socket)
        };
        let sockets = (0..count).map(open).collect::<Result<Vec<_>, _>>().map_err(fault)?;
        Ok(Flows { sockets })
    }

    /// How many flows there are.
    pub fn count(&self) -> usize {
        self.sockets.len()
    }

    /// The socket of a flow.
    pub fn socket(&self, flow: usize) -> &UdpSocket {
        &self.sockets[flow]
    }
}
