//! Datagrams from other servers, a batch of them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use super::PathId;
use super::receive::{RECEIVE_MAX, Received, receive};

/// Datagrams of one event.
const ARRIVALS_MAX: usize = 64;

/// Longest datagram from a server; what is longer is cut, and says so.
pub const ARRIVAL_OCTETS_MAX: usize = 4_096;

/// Datagrams from other servers.
#[derive(Default)]
pub struct Arrivals {
    list: Vec<(PathId, Received)>,
    /// A room for each; empty until the first comes.
    area: Vec<u8>,
}

/// One datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// At which socket: as [`crate::Driver::ask`] said. Whoever comes by another path than the question went is not the one who was asked.
    pub path: PathId,
    /// From whom, as far as can be seen: anybody may forge it.
    pub sender: SocketAddr,
    /// At most [`ARRIVAL_OCTETS_MAX`].
    pub octets: &'a [u8],
    /// Whether it was longer than that.
    pub is_cut: bool,
    /// Whether the system put it together from fragments: all but the first may be another's, who need not know port or ID. To be treated as truncated.
    pub is_reassembled: bool,
}

impl Arrivals {
    /// Each in the order in which it came.
    pub fn iter(&self) -> impl Iterator<Item = Arrival<'_>> {
        let rooms = self.area.chunks_exact(ARRIVAL_OCTETS_MAX);
        self.list.iter().zip(rooms).map(|(&(path, received), room)| Arrival {
            path,
            sender: received.sender.into(),
            octets: &room[..received.octets],
            is_cut: received.is_cut,
            is_reassembled: received.is_reassembled,
        })
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Makes room for a batch, the first time.
    pub(super) fn prepare(&mut self) {
        if self.area.is_empty() {
            // Zeros of the system: rooms that nothing comes to are no memory.
            self.area = vec![0; ARRIVALS_MAX * ARRIVAL_OCTETS_MAX];
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        self.list.len() == ARRIVALS_MAX
    }

    /// Takes what waits at a socket, as much as one call brings and there is room for. Whether more may be there.
    pub(super) fn receive(&mut self, path: PathId, socket: BorrowedFd<'_>) -> io::Result<bool> {
        let rooms = &mut self.area[self.list.len() * ARRIVAL_OCTETS_MAX..];
        let most = (rooms.len() / ARRIVAL_OCTETS_MAX).min(RECEIVE_MAX);
        let list = &mut self.list;
        // All are kept, so that those after one without an address lie where the list says.
        let nobody =
            Received { sender: crate::Address::NONE, octets: 0, is_cut: false, is_reassembled: false };
        let taken = receive(socket, rooms, ARRIVAL_OCTETS_MAX, |received| {
            list.push((path, received.unwrap_or(nobody)));
        })?;
        Ok(taken == most)
    }
}
