//! The same batches with the standard library alone, one datagram per system call.
//!
//! Reference for `mmsg` and fallback for systems without it. It cannot learn which address of a wildcard socket a
//! query was sent to, so there the context carries the wildcard address and the system chooses the source.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

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
pub(super) fn send(port: &Port, slots: &mut Slots, counters: &Counters) {
    let outcomes = &slots.outcomes[..slots.queries_held];
    let unanswered = outcomes.iter().filter(|&&outcome| outcome == DROPPED).count();
    counters.udp_unanswered.add(unanswered as u64);
    for index in 0..slots.queries_held {
        let response = slots.response(index);
        if response.is_empty() {
            continue;
        }
        let client = SocketAddr::from(slots.contexts[index].client);
        send_one(port, response, client).count(counters);
    }
}

/// As `Mmsg::send_to`; the system chooses the source.
pub(super) fn send_to<'a>(port: &Port, datagrams: impl Iterator<Item = &'a Datagram<'a>>) -> send::Outcome {
    datagrams.fold(send::Outcome::default(), |sum, datagram| {
        let one = send_one(port, datagram.octets, datagram.peer.into());
        send::Outcome {
            sent: sum.sent + one.sent,
            failed: sum.failed + one.failed,
            overflowed: sum.overflowed + one.overflowed,
        }
    })
}

fn send_one(port: &Port, octets: &[u8], peer: SocketAddr) -> send::Outcome {
    send::drain(
        1,
        |_| port.socket.send_to(octets, peer).map(|_| 1),
        || {
            std::thread::sleep(Duration::from_millis(1));
            true
        },
    )
}
