//! What an operator may say about asking other servers.

use std::net::IpAddr;
use std::time::Duration;

use super::ports::Ports;

/// Fewest sockets of all workers together that a question is given one of at random: 10 bits beside the 16 of its ID, where all ports are known.
pub const POOL_FLOOR: usize = 1_024;

/// The same of one worker, where many share: who knows which worker asks has 6 bits to guess, and that follows from a hash with a secret.
const WORKER_FLOOR: usize = 64;

/// Sockets a worker may have, of the pools of both families and fresh ones: 20 MiB of the system's memory. Fewer where descriptors are short.
pub const UPSTREAM_SOCKETS_MAX: usize = 8_192;

/// Sockets of the pool of one family: with those of the other half of all that a worker may have.
const SOCKETS_MAX: usize = UPSTREAM_SOCKETS_MAX / 4;

/// More fresh sockets a second than a processor can open.
pub(super) const FRESH_PER_SECOND_MAX: u32 = 100_000;

/// How a worker asks other servers. `UpstreamSettings::default()` is what most want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Addresses to ask from, one of the family at random for each socket; none of a family: as the routing table says.
    pub sources: Vec<IpAddr>,
    /// Ports that datagrams may leave from.
    pub ports: Ports,
    /// UDP sockets of the pool of a family; [`POOL_FLOOR`] to 2,048, taken as the next that is. Fewer where workers are so many that
    /// they would take more than half of the ports or descriptors.
    pub sockets: usize,
    /// Sockets that a worker opens in a second for one question each, through a port that nobody has seen.
    pub fresh_per_second: u32,
    /// Streams of a worker, at most.
    pub streams: usize,
    /// Of these to one address and port.
    pub streams_per_server: usize,
    /// Of these to one network (/24, /48).
    pub streams_per_prefix: usize,
    /// Time to connect, with the handshake of TLS.
    pub handshake: Duration,
    /// Time in which a stream that owes an answer, and has given one before, must complete one and take what is sent.
    pub stall: Duration,
    /// The same of a stream that has never given one.
    pub first_answer: Duration,
    /// Time after which a stream that owes nothing is closed.
    pub idle: Duration,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            ports: Ports::default(),
            // One bit more than must be, for 10 MiB of the system's memory.
            sockets: 2 * POOL_FLOOR,
            // Seven system calls more for a question, some 8 us: 0.8 % of a processor.
            fresh_per_second: 1_000,
            // Servers that truncate at the same time. Who would keep others from theirs must open so many within two round trips.
            streams: 512,
            // RFC 7766 6.2.2 asks for one; a second where the first has stalled. Forwarders have all workers' streams.
            streams_per_server: 2,
            // One network that holds its streams open leaves seven parts of eight.
            streams_per_prefix: 64,
            // Three times the longest round trip there is, for the handshakes of TCP and TLS.
            handshake: Duration::from_secs(3),
            // No client waits longer than that (RFC 8767 5 gives up at 10 s).
            stall: Duration::from_secs(10),
            // Longer than a server that is alive takes for a question that it has chosen to have asked over TCP.
            first_answer: Duration::from_secs(3),
            // What servers grant idle clients (RFC 7766 6.2.3); Knot has 10 s.
            idle: Duration::from_secs(10),
        }
    }
}

/// What a worker has of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// All that it may have.
    pub(super) most: usize,
    /// The pool of a family.
    pub(super) size: usize,
    /// Fewest of the pool that a question is given one of.
    pub(super) floor: usize,
}

impl UpstreamSettings {
    /// The share of one of so many workers, in a process that may have so many descriptors: half of them, and half of the ports of one address.
    pub(super) fn share(&self, workers: usize, descriptors: usize) -> Share {
        let workers = workers.max(1);
        let most = (descriptors / (2 * workers)).min(UPSTREAM_SOCKETS_MAX);
        let asked = self.sockets.clamp(POOL_FLOOR, SOCKETS_MAX);
        // With several source addresses there are more, but one of them may be all that works.
        let ports = self.ports.count() as usize / (2 * workers);
        let floor = POOL_FLOOR.div_ceil(workers).max(WORKER_FLOOR);
        Share { most, size: asked.min(ports).min(most / 4), floor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most, size and floor of each of so many workers.
    fn check(workers: usize, descriptors: usize, expected: (usize, usize, usize)) {
        let Share { most, size, floor } = UpstreamSettings::default().share(workers, descriptors);
        assert_eq!((most, size, floor), expected, "{workers} workers, {descriptors} descriptors");
        let all = UpstreamSettings::default().ports.count() as usize;
        assert!(workers * size <= all / 2 && workers * most <= descriptors / 2);
    }

    #[test]
    fn workers_share_ports_and_descriptors() {
        check(1, 1 << 20, (8_192, 2_048, 1_024));
        check(16, 1 << 20, (8_192, 2_015, 64));
        check(64, 1 << 20, (8_192, 503, 64));
        check(64, 65_536, (512, 128, 64));
        check(4, 20_000, (2_500, 625, 256));
        // Too few for a pool: each question has a fresh one or none.
        check(1, 1_024, (512, 128, 1_024));
    }

    #[test]
    fn what_is_asked_for_is_bounded() {
        let with =
            |sockets| UpstreamSettings { sockets, ..UpstreamSettings::default() }.share(1, 1 << 20).size;
        assert_eq!([with(0), with(1_500), with(usize::MAX)], [1_024, 1_500, SOCKETS_MAX]);
    }
}
