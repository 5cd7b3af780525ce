//! The same batches with the standard library alone, one datagram per system call.
//!
//! Reference for `mmsg` and fallback for systems without it. It cannot learn which address of a wildcard socket a
//! query was sent to, so there the context carries the wildcard address and the system chooses the source.

use std::io;
use std::net::SocketAddr;

use super::{BATCH, Datagram, Port, STRIDE, Slots, send};
use crate::counters::Counters;
use crate::queries::DROPPED;

/// As `Mmsg::receive`.
pub(super) fn receive(port: &Port, slots: &mut Slots, counters: &Counters) -> io::Result<usize> {
    let mut datagrams = 0;
    while datagrams < BATCH {
        let buffer = &mut slots.queries.as_mut_slice()[datagrams * STRIDE..][..STRIDE];
        match port.socket.recv_from(buffer) {
            // A datagram longer than the limit fills the excess of the buffer too, which `admit` sees.
            Ok((octets, client)) => slots.admit(datagrams, octets, client.into(), port.local, counters),
            Err(error) if datagrams == 0 => return Err(error),
            Err(_) => break,
        }
        datagrams += 1;
    }
    Ok(datagrams)
}

/// As `Mmsg::send`.
pub(super) fn send(port: &Port, slots: &Slots, counters: &Counters) -> send::Outcome {
    let outcomes = &slots.outcomes[..slots.queries_held];
    let unanswered = outcomes.iter().filter(|&&outcome| outcome == DROPPED).count();
    counters.udp_unanswered.add(unanswered as u64);
    send_to(port, slots.responses_from(0))
}

/// As `Mmsg::send_to`; the system chooses the source.
pub(super) fn send_to<'a>(port: &Port, datagrams: impl Iterator<Item = Datagram<'a>>) -> send::Outcome {
    let mut sum = send::Outcome::default();
    for datagram in datagrams {
        // In order: what comes after one that was not taken is not tried.
        if sum.left > 0 {
            sum.left += 1;
            continue;
        }
        let peer = SocketAddr::from(datagram.peer);
        let one = send::drain(1, |_| port.socket.send_to(datagram.octets, peer).map(|_| 1));
        sum.sent += one.sent;
        sum.failed += one.failed;
        sum.left += one.left;
    }
    sum
}
