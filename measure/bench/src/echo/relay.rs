//! The relay: the limit program of a caching server, which must ask another server for a share of its queries.
//!
//! ```text
//! asker -- ID 4711 --> echo -- ID of the table --> upstream
//!       <-- ID 4711 --      <-- the same ID ------
//! ```
//!
//! Each thread has a socket of its own to the upstream, connected, so that only replies from there come in.
//! Nothing of the reply is looked at but ID and QR.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    time::{Duration, Instant},
};

use super::{
    Counters, RECEIVE_OCTETS, SEND_OCTETS,
    mmsg::send_filled,
    pending::Pending,
    reply::{HEADER_OCTETS, QR},
};
use crate::{
    Error,
    mmsg::{self, Batch, SocketOptions, any_like},
    sizes::ANSWER_OCTETS_MAX,
};

/// Replies a system call moves at most.
const BATCH: usize = 64;
/// Batches taken from the upstream before the askers get their turn again.
const BATCHES_A_TURN: usize = 16;

/// Where a share of the queries goes.
#[derive(Clone, Copy, Debug)]
pub struct RelaySettings {
    /// The server that is asked.
    pub upstream: SocketAddr,
    /// Share of queries that go there, 0 to 1; the rest is echoed.
    pub share: f64,
    /// Of the numbers that choose.
    pub seed: u64,
    /// How long a reply is waited for.
    pub timeout: Duration,
}

/// A socket to the upstream.
pub(super) fn connect(upstream: SocketAddr) -> Result<UdpSocket, Error> {
    let options =
        SocketOptions { reuse_port: false, receive_octets: RECEIVE_OCTETS, send_octets: SEND_OCTETS };
    let connected = mmsg::bind(any_like(upstream), options).and_then(|socket| {
        socket.connect(upstream)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    connected.map_err(|cause| Error::Socket { address: upstream, action: "reach upstream", cause })
}

/// The relay of one thread.
pub(super) struct Relay<'a> {
    socket: &'a UdpSocket,
    pending: Pending,
    replies: Batch,
}

impl<'a> Relay<'a> {
    /// A relay over a socket made by [`connect`].
    pub(super) fn new(socket: &'a UdpSocket, timeout: Duration) -> Relay<'a> {
        Relay { socket, pending: Pending::new(timeout), replies: Batch::new(BATCH, ANSWER_OCTETS_MAX) }
    }

    /// Sends a query on, at least a header long; its ID is overwritten.
    pub(super) fn forward(&mut self, query: &mut [u8], asker: SocketAddr, counters: &mut Counters) {
        let id = u16::from_be_bytes([query[0], query[1]]);
        let (upstream_id, displaced) = self.pending.insert(id, asker, Instant::now());
        counters.expired += u64::from(displaced);
        query[..2].copy_from_slice(&upstream_id.to_be_bytes());
        match self.socket.send(query) {
            Ok(_) => counters.relayed += 1,
            Err(_) => {
                counters.dropped += 1;
                self.pending.take(upstream_id);
            }
        }
    }

    /// Passes what the upstream has answered back through the socket it was asked at, a bounded number of batches.
    pub(super) fn collect(&mut self, asked_at: &UdpSocket, counters: &mut Counters) {
        for _ in 0..BATCHES_A_TURN {
            match self.replies.receive(self.socket, false, false) {
                Ok(count) => {
                    for slot in 0..count {
                        self.restore(slot, counters);
                    }
                    send_filled(&mut self.replies, asked_at, count, counters);
                    if count < self.replies.count() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // An upstream that is not there says so on the socket: the queries will expire.
                Err(_) => {}
            }
        }
    }

    /// Gives a reply its asker and ID back, or empties its slot.
    fn restore(&mut self, slot: usize, counters: &mut Counters) {
        let reply = self.replies.datagram(slot);
        let is_reply = reply.len() >= HEADER_OCTETS && reply[2] & QR != 0;
        let upstream_id = if is_reply { u16::from_be_bytes([reply[0], reply[1]]) } else { 0 };
        let waiting = if is_reply { self.pending.take(upstream_id) } else { None };
        // Nobody waits for it any more, or ever did.
        let Some((id, asker)) = waiting else { return self.replies.set_length(slot, 0) };
        if self.replies.length(slot) > ANSWER_OCTETS_MAX {
            counters.dropped += 1;
            return self.replies.set_length(slot, 0);
        }
        counters.returned += 1;
        self.replies.slot_mut(slot)[..2].copy_from_slice(&id.to_be_bytes());
        self.replies.set_peer(slot, asker);
    }

    /// Forgets who has waited too long.
    pub(super) fn expire(&mut self, counters: &mut Counters) {
        counters.expired += self.pending.expire(Instant::now());
    }
}
