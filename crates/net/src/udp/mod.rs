//! Datagrams in batches: receive up to [`BATCH`], have them answered, send the responses.
//!
//! ```text
//! recvmmsg -> Slots.queries, spans, contexts -> Service::queries -> Slots.responses, outcomes -> sendmmsg
//! ```
//!
//! One [`Receiver`] belongs to a worker and serves all its UDP sockets in turn. All memory is allocated when it is
//! made; a query costs no allocation and no lock. `mmsg` is the back end for Linux and the only part of this crate
//! that uses raw pointers; `portable` does the same with the standard library, one datagram per call, and is the
//! reference the tests compare with.

pub(crate) mod address;
pub(crate) mod arena;
mod held;
mod mmsg;
pub(crate) mod option;
mod outlet;
mod portable;
mod send;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::net::sockopt;

use crate::context::{Address, Context, NO_IDLE, Now, PLAIN, Transport};
use crate::counters::Counters;
use crate::driver::{Replies, Reply, Source};
use crate::later::Path;
use crate::queries::{Batch, DROPPED, Outcome, Rooms, Span, octets_of};
use arena::Arena;
use held::HELD_DATAGRAM_OCTETS_MAX;
pub(crate) use held::Held;
pub(crate) use outlet::Outlet;

/// Datagrams per system call. Below 16 the cost of the call shows in every query; above 64 the gain is lost in the
/// noise while the first query of a batch waits for the last and the buffers leave the first-level cache.
pub const BATCH: usize = 64;

/// Longest datagram accepted as a query. Queries with a signature (SIG(0) of a post-quantum kind apart) or an EDNS
/// option stay below 2 KiB; UPDATE messages that are longer belong on TCP.
pub const UDP_QUERY_OCTETS_MAX: usize = 4096;

/// Longest response over UDP: the largest payload size that operators ever configure. The handler goes by what the
/// client and the settings say, usually 1232.
pub const UDP_RESPONSE_OCTETS_MAX: usize = 4096;

/// Distance of two buffers. One cache line more than a power of two: at 4096 octets the first lines of all buffers,
/// which are the ones that every query touches, would compete for the same set of the first-level cache. The
/// excess also shows the portable back end that a datagram was too long.
const STRIDE: usize = 4096 + 64;

const _: () = assert!(UDP_QUERY_OCTETS_MAX < STRIDE && UDP_RESPONSE_OCTETS_MAX < STRIDE);

/// Failing receive calls in a row after which each further one costs a pause. An error of a datagram is reported
/// once; one that stays is of the socket, and epoll would wake the worker for it for ever.
const ERRORS_IN_A_ROW_MAX: u32 = 64;

/// That pause: long enough to leave the processor alone, short enough for the sockets that work.
const ERROR_PAUSE: Duration = Duration::from_millis(1);

/// Which system calls carry datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// `recvmmsg` and `sendmmsg`: a batch per call, and the right source address on wildcard sockets.
    #[default]
    Mmsg,
    /// One datagram per call through the standard library. On a wildcard socket the system picks the source address
    /// of a response, which is wrong on hosts with several addresses: for comparison and for other systems.
    Portable,
}

/// One UDP socket of a worker.
#[derive(Debug)]
pub(crate) struct Port {
    /// Non-blocking.
    pub(crate) socket: UdpSocket,
    /// The address it is bound to.
    pub(crate) local: Address,
    /// Whether `local` is a wildcard address, so that each datagram must say where it was sent to.
    pub(crate) wildcard: bool,
    /// The addresses that clients have.
    pub(crate) clients: Clients,
    /// What epoll is to wait for.
    pub(crate) flags: EventFlags,
    /// What a full send buffer did not take.
    pub(crate) held: Held,
    /// Whether epoll waits for room to send instead of datagrams; kept by the worker.
    pub(crate) waits_to_send: bool,
}

impl Port {
    /// Wraps a bound, non-blocking socket.
    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        let local = socket.local_addr()?;
        let wildcard = local.ip().is_unspecified();
        let clients = match local {
            SocketAddr::V4(_) => Clients::V4,
            // Only a service manager opens others.
            SocketAddr::V6(_) if sockopt::ipv6_v6only(&socket)? => Clients::V6,
            SocketAddr::V6(_) => Clients::Both,
        };
        Ok(Self {
            socket,
            local: local.into(),
            wildcard,
            clients,
            flags: EventFlags::IN,
            held: Held::default(),
            waits_to_send: false,
        })
    }

    /// Whether other workers receive from it too.
    pub(crate) fn is_shared(&self) -> bool {
        self.flags.contains(EventFlags::EXCLUSIVE)
    }
}

/// What addresses the clients of a socket have. Those of IPv4 at a socket of IPv6 are mapped ones.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clients {
    V4,
    V6,
    Both,
}

/// Receives and sends on behalf of one worker.
pub(crate) struct Receiver {
    slots: Slots,
    calls: Calls,
    errors_in_a_row: u32,
    /// What all ports hold.
    held_octets: usize,
}

/// The system calls in use. Boxed: the first is a few kilobytes of preset headers.
enum Calls {
    Mmsg(Box<mmsg::Mmsg>),
    Portable,
}

/// What one receive call brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// Datagrams taken from the socket, those dropped at once included.
    pub(crate) datagrams: usize,
    /// Queries among them that are to be answered.
    pub(crate) queries: usize,
}

impl Receiver {
    pub(crate) fn new(backend: Backend) -> Self {
        let slots = Slots::new();
        let calls = match backend {
            Backend::Mmsg => Calls::Mmsg(Box::new(mmsg::Mmsg::new(&slots))),
            Backend::Portable => Calls::Portable,
        };
        Self { slots, calls, errors_in_a_row: 0, held_octets: 0 }
    }

    /// Which system calls it makes.
    pub(crate) fn backend(&self) -> Backend {
        match self.calls {
            Calls::Mmsg(_) => Backend::Mmsg,
            Calls::Portable => Backend::Portable,
        }
    }

    /// Takes up to [`BATCH`] datagrams that wait at `port`. Never blocks. An error is counted and reads as nothing
    /// received: errors of UDP sockets are about earlier datagrams, and the socket stays usable.
    pub(crate) fn receive(&mut self, port: &Port, counters: &Counters) -> Received {
        self.slots.queries_held = 0;
        let outcome = match &mut self.calls {
            Calls::Mmsg(mmsg) => mmsg.receive(port, &mut self.slots, counters),
            Calls::Portable => portable::receive(port, &mut self.slots, counters),
        };
        match outcome {
            Ok(0) => {}
            Ok(_) => {
                counters.udp_batches.add(1);
                self.errors_in_a_row = 0;
            }
            Err(ref error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => {
                counters.udp_receive_errors.add(1);
                self.errors_in_a_row = self.errors_in_a_row.saturating_add(1);
                if self.errors_in_a_row > ERRORS_IN_A_ROW_MAX {
                    std::thread::sleep(ERROR_PAUSE);
                }
            }
        }
        counters.udp_queries.add(self.slots.queries_held as u64);
        match port.clients {
            Clients::V4 => {}
            Clients::V6 => counters.udp_ipv6_queries.add(self.slots.queries_held as u64),
            Clients::Both => counters.udp_ipv6_queries.add(self.slots.queries_from_ipv6() as u64),
        }
        Received { datagrams: outcome.unwrap_or(0), queries: self.slots.queries_held }
    }

    /// The queries received last, for the service.
    pub(crate) fn batch(&mut self, now: Now, source: Source) -> Batch<'_> {
        self.slots.batch(now, source)
    }

    /// Sends the replies among `replies` that go to clients of datagrams, through the sockets that they came by.
    pub(crate) fn send_late(
        &mut self,
        ports: &mut [Port],
        replies: &Replies,
        now: Instant,
        counters: &Counters,
    ) {
        for (index, port) in ports.iter_mut().enumerate() {
            let to_port = |reply: &Reply| match reply.path {
                Path::Datagram { port, peer, local } if usize::from(port) == index => {
                    Some(Datagram { peer, local, octets: replies.octets(reply) })
                }
                _ => None,
            };
            let datagrams = || replies.list().iter().filter_map(to_port);
            let count = datagrams().count();
            let mut done = 0;
            while done < count {
                // Nothing overtakes what waits already.
                if !port.held.is_empty() {
                    hold(&mut self.held_octets, port, datagrams().skip(done), now, counters);
                    break;
                }
                let outcome = self.send_to(port, datagrams().skip(done), counters);
                done += outcome.sent + outcome.failed;
                if outcome.left > 0 {
                    hold(&mut self.held_octets, port, datagrams().skip(done), now, counters);
                    break;
                }
            }
        }
    }

    /// Sends up to a batch of `datagrams`.
    fn send_to<'d>(
        &mut self,
        port: &Port,
        datagrams: impl Iterator<Item = Datagram<'d>>,
        counters: &Counters,
    ) -> send::Outcome {
        let outcome = match &mut self.calls {
            Calls::Mmsg(mmsg) => mmsg.send_to(port, datagrams.take(BATCH)),
            Calls::Portable => portable::send_to(port, datagrams.take(BATCH)),
        };
        outcome.count(counters);
        outcome
    }

    /// Sends what `port` holds, now that it takes more, or drops it where that came too late.
    pub(crate) fn flush(&mut self, port: &mut Port, now: Instant, counters: &Counters) {
        let mut held = std::mem::take(&mut port.held);
        let before = held.octets();
        while !held.is_empty() {
            let outcome = self.send_to(port, held.iter(), counters);
            held.remove(outcome.sent + outcome.failed);
            if outcome.left > 0 {
                break;
            }
        }
        if held.deadline().is_some_and(|deadline| deadline <= now) {
            counters.udp_send_overflows.add(held.drop_all() as u64);
        }
        self.held_octets -= before - held.octets();
        port.held = held;
    }

    /// Leaves the queries received last unanswered.
    pub(crate) fn forget(&mut self) {
        self.slots.queries_held = 0;
    }

    /// Sends the responses to the queries received last. Never waits: what a full send buffer does not take `port` holds.
    pub(crate) fn send(&mut self, port: &mut Port, now: Instant, counters: &Counters) {
        let outcome = match &mut self.calls {
            Calls::Mmsg(mmsg) => mmsg.send(port, &mut self.slots, counters),
            Calls::Portable => portable::send(port, &self.slots, counters),
        };
        outcome.count(counters);
        if outcome.left > 0 {
            let rest = self.slots.responses_from(outcome.sent + outcome.failed);
            hold(&mut self.held_octets, port, rest, now, counters);
        }
        self.slots.queries_held = 0;
    }
}

/// Keeps what a full send buffer did not take, as much as may be kept.
fn hold<'d>(
    held_octets: &mut usize,
    port: &mut Port,
    datagrams: impl Iterator<Item = Datagram<'d>>,
    now: Instant,
    counters: &Counters,
) {
    for datagram in datagrams {
        if *held_octets + datagram.octets.len() > HELD_DATAGRAM_OCTETS_MAX {
            counters.udp_send_overflows.add(1);
        } else {
            *held_octets += datagram.octets.len();
            port.held.push(datagram, now);
        }
    }
}

/// A datagram to be sent to somebody who is not in the batch received last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) peer: Address,
    /// The address that it leaves from, of a wildcard socket.
    pub(crate) local: Address,
    pub(crate) octets: &'a [u8],
}

/// Octets of the buffers of one worker.
pub(crate) const BUFFER_OCTETS: usize = 2 * BATCH * STRIDE;

/// Buffers of one batch. Query number `i` has span, context and response `i`; its octets lie in the receive buffer
/// `origins[i]`, which differs where datagrams before it were dropped.
struct Slots {
    /// `BATCH` receive buffers, `STRIDE` apart.
    queries: Arena<u8>,
    /// `BATCH` response buffers, `STRIDE` apart.
    responses: Arena<u8>,
    spans: Box<[Span; BATCH]>,
    contexts: Box<[Context; BATCH]>,
    origins: Box<[u16; BATCH]>,
    outcomes: Box<[Outcome; BATCH]>,
    /// How many queries the first entries of the arrays describe.
    queries_held: usize,
}

impl Slots {
    fn new() -> Self {
        let context = datagram(Address::NONE, Address::NONE);
        Self {
            queries: Arena::new(vec![0; BATCH * STRIDE]),
            responses: Arena::new(vec![0; BATCH * STRIDE]),
            spans: Box::new([Span::default(); BATCH]),
            contexts: Box::new([context; BATCH]),
            origins: Box::new([0; BATCH]),
            outcomes: Box::new([DROPPED; BATCH]),
            queries_held: 0,
        }
    }

    /// How many queries are from clients with IPv6.
    fn queries_from_ipv6(&self) -> usize {
        self.contexts[..self.queries_held].iter().filter(|context| context.client.is_ipv6()).count()
    }

    /// Admits the datagram of `octets` octets in receive buffer `origin` as the next query, or drops it.
    #[inline]
    fn admit(&mut self, origin: usize, octets: usize, client: Address, local: Address, counters: &Counters) {
        if octets > UDP_QUERY_OCTETS_MAX {
            return counters.udp_truncated.add(1);
        }
        if client.port() == 0 {
            // Nothing can be sent to port 0; it says that the sender wants no response (RFC 768).
            return counters.udp_port_zero.add(1);
        }
        let index = self.queries_held;
        debug_assert!(index < BATCH, "a receive call brings a batch at most");
        self.spans[index] = Span { start: (origin * STRIDE) as u32, octets: octets as u32 };
        self.contexts[index] = datagram(client, local);
        self.origins[index] = origin as u16;
        self.queries_held = index + 1;
    }

    fn batch(&mut self, now: Now, source: Source) -> Batch<'_> {
        let held = self.queries_held;
        self.outcomes[..held].fill(DROPPED);
        Batch {
            now,
            session: &PLAIN,
            received: self.queries.as_slice(),
            spans: &self.spans[..held],
            contexts: &self.contexts[..held],
            area: self.responses.as_mut_slice(),
            rooms: Rooms { stride: STRIDE, prefix: 0, octets: UDP_RESPONSE_OCTETS_MAX },
            outcomes: &mut self.outcomes[..held],
            source,
        }
    }

    /// The responses that are to be sent, without the first so many.
    fn responses_from(&self, first: usize) -> impl Iterator<Item = Datagram<'_>> {
        let responses = (0..self.queries_held).filter_map(|index| {
            let octets = octets_of(self.outcomes[index]);
            let Context { client, local, .. } = self.contexts[index];
            let octets = &self.responses.as_slice()[index * STRIDE..][..octets];
            (!octets.is_empty()).then_some(Datagram { peer: client, local, octets })
        });
        responses.skip(first)
    }
}

/// What is known of a datagram.
#[inline]
fn datagram(client: Address, local: Address) -> Context {
    let transport = Transport::Udp;
    Context { client, local, transport, is_proved: false, is_early: false, idle_left: NO_IDLE }
}

#[cfg(test)]
mod tests;
