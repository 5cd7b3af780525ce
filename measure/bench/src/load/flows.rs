//! The client sockets of a worker, each connected to the server from a source port of its own.
//!
//! Ports are those the system gives, or of a range. With [`Ports::Random`] they do not stay: whenever so many queries
//! went out, the socket whose turn is next is closed and another opened in its place, at a port that the system draws
//! at random. A socket with queries in flight keeps its port until they are answered or given up.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
};

use super::{Settings, pace::Share};
use crate::{
    Error,
    mmsg::{self, SocketOptions},
};

/// Most flows: beyond that the range of local ports (32768 to 60999 by default) runs out.
pub const FLOWS_MAX: usize = 28_000;
/// Buffers of a flow's socket: a burst of 64 large replies fits several times.
const BUFFER_OCTETS: usize = 1 << 20;

/// Source ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// As the system gives them, kept for good.
    Kept,
    /// Drawn anew by the system all the time.
    Random {
        /// A socket is renewed after so many queries of all, at least 1. One renewal costs about as much as sending
        /// ten packets.
        each: u64,
    },
    /// From the first to the last, in turn.
    Range {
        /// The lowest, above 0.
        first: u16,
        /// The highest, not below.
        last: u16,
    },
}

impl Ports {
    /// Flows that can be told apart from so many addresses.
    pub fn flows_max(self, addresses: usize) -> usize {
        match self {
            Ports::Range { first, last } => (usize::from(last - first) + 1) * addresses.max(1),
            Ports::Kept | Ports::Random { .. } => FLOWS_MAX,
        }
    }
}

/// All sockets of a worker.
pub struct Flows {
    server: SocketAddr,
    ports: Ports,
    sources: Vec<IpAddr>,
    share: Share,
    sockets: Vec<UdpSocket>,
    /// Queries sent since a socket was renewed.
    since_renewal: u64,
}

impl Flows {
    /// This worker's sockets, connected to the server, at least one.
    pub fn open(settings: &Settings, share: Share) -> Result<Flows, Error> {
        let Settings { server, ports, .. } = *settings;
        let fault = |cause| Error::Socket { address: server, action: "make sockets towards", cause };
        mmsg::raise_descriptor_limit().map_err(fault)?;
        let all = settings.flows.min(ports.flows_max(settings.sources.len())).min(FLOWS_MAX);
        let count = share.of(all as u64).max(1) as usize;
        let sources = settings.sources.clone();
        let mut flows = Flows { server, ports, sources, share, sockets: Vec::new(), since_renewal: 0 };
        for flow in 0..count {
            let socket = flows.socket_for(flow).map_err(|cause| flows.fault(flow, cause))?;
            flows.sockets.push(socket);
        }
        Ok(flows)
    }

    /// How many flows there are.
    pub fn count(&self) -> usize {
        self.sockets.len()
    }

    /// The socket of a flow.
    pub fn socket(&self, flow: usize) -> &UdpSocket {
        &self.sockets[flow]
    }

    /// Notes that so many queries went out; returns whether a socket is to be renewed.
    pub fn is_renewal_due(&mut self, sent: usize) -> bool {
        let Ports::Random { each } = self.ports else { return false };
        self.since_renewal += sent as u64;
        self.since_renewal >= each
    }

    /// Opens another socket in the place of one.
    pub fn renew(&mut self, flow: usize) -> Result<&UdpSocket, Error> {
        self.since_renewal = 0;
        self.sockets[flow] = self.socket_for(flow).map_err(|cause| self.fault(flow, cause))?;
        Ok(&self.sockets[flow])
    }

    fn socket_for(&self, flow: usize) -> io::Result<UdpSocket> {
        let options =
            SocketOptions { reuse_port: false, receive_octets: BUFFER_OCTETS, send_octets: BUFFER_OCTETS };
        let socket = mmsg::bind(self.local(flow), options)?;
        socket.connect(self.server)?;
        Ok(socket)
    }

    /// Where a flow is bound. Flows are counted through all workers: first the addresses go round, then the ports.
    fn local(&self, flow: usize) -> SocketAddr {
        let number = flow * self.share.workers + self.share.worker;
        let mut local = mmsg::any_like(self.server);
        let addresses = self.sources.len().max(1);
        if let Some(&address) = self.sources.get(number % addresses) {
            local.set_ip(address);
        }
        if let Ports::Range { first, last } = self.ports {
            let ports = usize::from(last - first) + 1;
            // Below 65,536, as both ends are.
            local.set_port(first + (number / addresses % ports) as u16);
        }
        local
    }

    fn fault(&self, flow: usize, cause: io::Error) -> Error {
        let local = self.local(flow);
        match local.port() == 0 && local.ip().is_unspecified() {
            true => Error::unreachable(self.server, "make sockets towards", cause),
            false => Error::Socket { address: local, action: "send queries from", cause },
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn settings(ports: Ports, flows: usize) -> Settings {
        Settings { ports, flows, ..Settings::new("127.0.0.1:9".parse().unwrap()) }
    }

    fn locals(flows: &Flows) -> Vec<SocketAddr> {
        (0..flows.count()).map(|flow| flows.socket(flow).local_addr().unwrap()).collect()
    }

    #[test]
    fn ports_of_a_range_and_addresses_in_turn() {
        // A port that is free now, and with it most likely the one after.
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().min(65_000);
        let range = Ports::Range { first: free, last: free + 1 };
        let mut settings = settings(range, 1000);
        settings.sources = ["127.0.0.2", "127.0.0.3"].map(|address| address.parse().unwrap()).to_vec();
        let flows = [0, 1].map(|worker| Flows::open(&settings, Share { worker, workers: 2 }).unwrap());
        let all: BTreeSet<_> = flows.iter().flat_map(locals).map(|local| local.to_string()).collect();
        let expected = ["127.0.0.2", "127.0.0.3"]
            .iter()
            .flat_map(|address| [free, free + 1].map(|port| format!("{address}:{port}")))
            .collect();
        assert_eq!(all, expected);
        settings.sources = vec!["192.0.2.1".parse().unwrap()];
        let refused = Flows::open(&settings, Share { worker: 0, workers: 1 });
        let complaint = refused.err().unwrap().to_string();
        assert!(complaint.starts_with("cannot send queries from 192.0.2.1:"), "{complaint}");
    }

    #[test]
    fn renewed_sockets_have_other_ports() {
        let settings = settings(Ports::Random { each: 10 }, 4);
        let mut flows = Flows::open(&settings, Share { worker: 0, workers: 1 }).unwrap();
        assert!(!flows.is_renewal_due(9));
        assert!(flows.is_renewal_due(1));
        let before = locals(&flows);
        let ports: BTreeSet<_> =
            (0..50).map(|_| flows.renew(2).unwrap().local_addr().unwrap().port()).collect();
        assert!(ports.len() > 40, "{ports:?}");
        assert!(!flows.is_renewal_due(9));
        let after = locals(&flows);
        assert_eq!((before[0], before[1], before[3]), (after[0], after[1], after[3]));
    }
}
