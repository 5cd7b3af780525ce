//! What to listen on and how: the settings of a server.

use std::net::SocketAddr;

use sync::tap::RING_OCTETS;

use crate::admit::TcpLimits;
use crate::affinity::Pin;
use crate::udp::Backend;

/// Settings of a [`crate::Server`]. `Listen::default()` with addresses filled in is what most want.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Addresses to bind, each for UDP and TCP. Port 0 lets the system choose one port for both.
    pub addresses: Vec<SocketAddr>,
    /// Worker threads, each with sockets of its own for every address; 0: one per processor this process may use.
    pub workers: usize,
    /// Which processor each worker runs on.
    pub pin: Pin,
    /// System calls that carry datagrams.
    pub backend: Backend,
    /// How the system picks the worker of a packet.
    pub steer: Steer,
    /// Octets of queued datagrams per UDP socket. The system caps it at `net.core.rmem_max` unless the process may
    /// exceed that (CAP_NET_ADMIN). Too small drops bursts; too large lets a flood wait where it should be dropped.
    pub receive_buffer_octets: usize,
    /// Octets of unsent datagrams per UDP socket, capped likewise.
    pub send_buffer_octets: usize,
    /// Bind addresses that no interface has yet, for addresses that come up later.
    pub free_bind: bool,
    /// Connections that may bring data in their first packet and are not yet acknowledged (TCP Fast Open,
    /// RFC 7413); 0 switches it off.
    pub fast_open: u16,
    /// Limits of TCP; they can be changed while running.
    pub tcp: TcpLimits,
    /// Octets of each worker's ring of what its tap tells ([`crate::Running::taps`]), raised to a power of two; taken when the first reader comes. Too small
    /// loses records whenever the reader is held up.
    pub tap_octets: usize,
}

/// How the system picks the worker of a packet or connection among those that listen at its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steer {
    /// By a hash of both addresses and ports: even where clients are many.
    #[default]
    ByHash,
    /// By the processor that received the packet, which suits network cards with a queue per processor. On loopback
    /// that is the sender's processor, which leaves workers idle. Needs pinned workers.
    ByCpu,
}

/// 4 MiB hold some 5,000 small datagrams (each is charged about 800 octets), 10 ms at half a million a second:
/// longer than any reload or scheduling delay we tolerate.
const RECEIVE_BUFFER_OCTETS: usize = 4 << 20;

/// Responses are larger than queries, but leave at once; this holds a few batches for a slow link.
const SEND_BUFFER_OCTETS: usize = 1 << 20;

/// Half the usual listen backlog; what is beyond falls back to the ordinary handshake.
const FAST_OPEN_QUEUE: u16 = 256;

impl Default for Listen {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            workers: 0,
            pin: Pin::default(),
            backend: Backend::default(),
            steer: Steer::default(),
            receive_buffer_octets: RECEIVE_BUFFER_OCTETS,
            send_buffer_octets: SEND_BUFFER_OCTETS,
            free_bind: false,
            fast_open: FAST_OPEN_QUEUE,
            tcp: TcpLimits::default(),
            tap_octets: RING_OCTETS,
        }
    }
}
