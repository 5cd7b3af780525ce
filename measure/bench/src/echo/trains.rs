//! Replies as trains: those of one size to one asker, one after the other, leave as one (`UDP_SEGMENT`).
//!
//! The other half of it is to take trains as they come (`UDP_GRO`). What this saves is the way of each packet through
//! the kernel, far more than the call: the limit of a server whose clients ask in trains, such as a load balancer.

use std::net::{SocketAddr, UdpSocket};

use super::{Counters, mmsg::send_filled, reply::QR};
use crate::mmsg::{Batch, TRAIN_MAX, TRAIN_OCTETS_MAX};

/// Octets that the datagrams of a train may have: each must fit the link, as none of a train is cut into fragments.
/// The largest payload recommended for DNS over UDP (RFC 9715 3.1).
const SEGMENT_OCTETS_MAX: usize = 1400;

/// Trains that wait to be sent.
pub(super) struct Trains {
    batch: Batch,
    /// Trains begun; the last is the one that grows.
    count: usize,
    last: Last,
}

/// The train that grows.
struct Last {
    asker: SocketAddr,
    /// Octets of each of its replies.
    size: usize,
    replies: usize,
}

impl Trains {
    /// Sends up to `count` trains with a call.
    pub(super) fn new(count: usize) -> Trains {
        let nobody = SocketAddr::from(([0; 4], 0));
        let last = Last { asker: nobody, size: 0, replies: 0 };
        Trains { batch: Batch::with_controls(count, TRAIN_OCTETS_MAX), count: 0, last }
    }

    /// Adds a reply of `size` octets to a query.
    pub(super) fn add(
        &mut self,
        socket: &UdpSocket,
        asker: SocketAddr,
        query: &[u8],
        size: usize,
        counters: &mut Counters,
    ) {
        if !self.has_room(asker, size) {
            if self.count == self.batch.count() {
                self.send(socket, counters);
            }
            self.batch.set_peer(self.count, asker);
            self.count += 1;
            self.last = Last { asker, size, replies: 0 };
        }
        let slot = self.count - 1;
        let start = self.last.replies * size;
        let reply = &mut self.batch.slot_mut(slot)[start..start + size];
        let same = size.min(query.len());
        reply[..same].copy_from_slice(&query[..same]);
        reply[same..].fill(b'z');
        reply[2] |= QR;
        self.last.replies += 1;
        self.batch.set_length(slot, start + size);
        // No larger than SEGMENT_OCTETS_MAX where there is more than one.
        self.batch.set_segment(slot, if self.last.replies > 1 { size as u16 } else { 0 });
    }

    /// Whether the last train takes such a reply.
    fn has_room(&self, asker: SocketAddr, size: usize) -> bool {
        let Last { asker: last, size: segment, replies } = self.last;
        self.count > 0
            && (last, segment) == (asker, size)
            && size <= SEGMENT_OCTETS_MAX
            && replies < TRAIN_MAX
            && (replies + 1) * size <= TRAIN_OCTETS_MAX
    }

    /// Sends all; what the kernel refuses is counted and left.
    pub(super) fn send(&mut self, socket: &UdpSocket, counters: &mut Counters) {
        send_filled(&mut self.batch, socket, self.count, counters);
        self.count = 0;
    }
}
