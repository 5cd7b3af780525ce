//! Datagrams that the system did not take because a send buffer is full: kept for a moment, then dropped.
//!
//! Only their own port waits: it is not read while it holds some, and epoll says when it takes more.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Datagram;
use crate::context::Address;

/// Octets that all ports of a worker may hold. It is for a moment in which an interface is behind, about 2 ms at 1 Gbit/s; what
/// is beyond would leave too late to be of use.
pub(crate) const HELD_DATAGRAM_OCTETS_MAX: usize = 256 << 10;

/// Longest that a port holds any. At 1 Gbit/s a buffer of 200 KiB drains in 2 ms.
pub(crate) const HOLD_MAX: Duration = Duration::from_millis(5);

#[derive(Debug)]
struct Kept {
    peer: Address,
    local: Address,
    octets: Box<[u8]>,
}

/// What one port holds.
#[derive(Debug, Default)]
pub(crate) struct Held {
    list: VecDeque<Kept>,
    octets: usize,
    /// When the first of those was kept.
    since: Option<Instant>,
}

impl Held {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    /// Keeps a datagram.
    pub(crate) fn push(&mut self, datagram: Datagram<'_>, now: Instant) {
        self.octets += datagram.octets.len();
        self.since.get_or_insert(now);
        self.list.push_back(Kept {
            peer: datagram.peer,
            local: datagram.local,
            octets: datagram.octets.into(),
        });
    }

    /// Those that wait, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Datagram<'_>> {
        self.list.iter().map(|kept| Datagram { peer: kept.peer, local: kept.local, octets: &kept.octets })
    }

    /// The first so many are sent, or lost.
    pub(crate) fn remove(&mut self, count: usize) {
        for kept in self.list.drain(..count.min(self.list.len())) {
            self.octets -= kept.octets.len();
        }
        if self.list.is_empty() {
            self.since = None;
        }
    }

    /// When they have waited for too long.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.since.map(|since| since + HOLD_MAX)
    }

    /// Drops all; returns how many.
    pub(crate) fn drop_all(&mut self) -> usize {
        let count = self.list.len();
        self.remove(count);
        count
    }
}
