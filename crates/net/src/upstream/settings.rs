//! What an operator may say about asking other servers.

use std::net::IpAddr;
use std::time::Duration;

use super::ports::Ports;

/// Fewest sockets that a question is given one of at random: 10 bits beside the 16 of its ID, where all ports are known.
pub const POOL_FLOOR: usize = 1_024;

/// Sockets a worker may have, those of both families and those that are given up: a sixteenth of the descriptors that systems allow a process.
pub const UPSTREAM_SOCKETS_MAX: usize = 4_096;

/// Live sockets of one family: with those of the other at the floor the worker has as many as it may.
const SOCKETS_MAX: usize = UPSTREAM_SOCKETS_MAX - POOL_FLOOR;

/// How a worker asks other servers. `UpstreamSettings::default()` is what most want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Addresses to ask from, one of the family at random for each socket; none of a family: as the routing table says.
    pub sources: Vec<IpAddr>,
    /// Ports that datagrams may leave from.
    pub ports: Ports,
    /// Live UDP sockets of a family; [`POOL_FLOOR`] to 3,072, taken as the next that is. Fewer where workers are so many that
    /// they would take more than half of the ports.
    pub sockets: usize,
    /// Sockets that a worker opens in a second, beyond those, to ask through a port that nobody has seen.
    pub fresh_per_second: u32,
    /// Streams of a worker, at most.
    pub streams: usize,
    /// Of these to one address and port.
    pub streams_per_server: usize,
    /// Time to connect, with the handshake of TLS.
    pub handshake: Duration,
    /// Time in which a stream that owes an answer must complete one, and take what is sent.
    pub stall: Duration,
    /// Time after which a stream that owes nothing is closed.
    pub idle: Duration,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            ports: Ports::default(),
            // One bit more than must be, for 5 MiB of the system's memory.
            sockets: 2 * POOL_FLOOR,
            // Six system calls a socket, some 6 us: 0.6 % of a processor.
            fresh_per_second: 1_000,
            // 256 servers that truncate at the same time.
            streams: 256,
            // RFC 7766 6.2.2 asks for one; a second where the first has stalled. Forwarders have all workers' streams.
            streams_per_server: 4,
            // Three times the longest round trip there is, for the handshakes of TCP and TLS.
            handshake: Duration::from_secs(3),
            // No client waits longer than that (RFC 8767 5 gives up at 10 s).
            stall: Duration::from_secs(10),
            // What servers grant idle clients (RFC 7766 6.2.3); Knot has 10 s.
            idle: Duration::from_secs(10),
        }
    }
}

impl UpstreamSettings {
    /// Live sockets of a family for each of so many workers: not more than half of the ports of one address are open.
    pub(super) fn pool_size(&self, workers: usize) -> usize {
        let asked = self.sockets.clamp(POOL_FLOOR, SOCKETS_MAX);
        // With several source addresses there are more, but one of them may be all that works.
        let share = self.ports.count() as usize / (2 * workers.max(1));
        asked.min(share).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_workers_leave_half_of_the_ports() {
        let settings = UpstreamSettings::default();
        let size = |workers| settings.pool_size(workers);
        assert_eq!([size(0), size(1), size(15), size(16), size(64)], [2048, 2048, 2048, 2015, 503]);
        let few = UpstreamSettings { sockets: 7, ..UpstreamSettings::default() };
        assert_eq!([few.pool_size(1), few.pool_size(31), few.pool_size(32)], [1024, 1024, 1007]);
        let many = UpstreamSettings { sockets: usize::MAX, ..UpstreamSettings::default() };
        assert_eq!(many.pool_size(1), SOCKETS_MAX);
    }
}
