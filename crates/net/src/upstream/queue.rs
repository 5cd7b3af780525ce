//! Datagrams to other servers that leave together, at the end of the event that asked for them.
//!
//! ```text
//!  ask -> socket taken, octets copied here        end of the event -> one send after the other -> what could not be sent
//! ```
//!
//! Each question has a socket of its own, so no system call sends several. But where they leave one right after the other, the system's part of the
//! work finds its code and data in the processor's caches, and the core that receives them is woken once for all of them: a miss costs a sixth
//! less than where each question is sent amid the work on the next (`upstream.md` 2).

use std::net::SocketAddr;

use super::{PathId, Unsent};

/// Questions that wait at most; the next one has them sent first. An event of 64 arrivals or queries has some more than as many.
const QUEUED_MAX: usize = 256;

/// Octets of them, at most, beside the last one.
const QUEUED_OCTETS_MAX: usize = 64 << 10;

/// A question that was taken and could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSent {
    /// The way that it was to go, to be settled as any.
    pub path: PathId,
    /// Whom it was for.
    pub server: SocketAddr,
    /// Its ID, or what stands there.
    pub id: u16,
    /// Why not.
    pub why: Unsent,
}

/// Where one waits.
#[derive(Clone, Copy, Debug)]
struct Queued {
    path: PathId,
    server: SocketAddr,
    /// Where its octets end; they begin where those before it do.
    end: u32,
}

/// Datagrams that wait for the end of the event, and what became of those that failed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    list: Vec<Queued>,
    octets: Vec<u8>,
    failed: Vec<NotSent>,
}

impl Queue {
    /// Whether those that wait are to be sent before one more is put in.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= QUEUED_MAX || self.octets.len() >= QUEUED_OCTETS_MAX
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Puts in a datagram of at most 65,507 octets.
    pub(super) fn push(&mut self, path: PathId, server: SocketAddr, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
        self.list.push(Queued { path, server, end: self.octets.len() as u32 });
    }

    /// Has `send` send each, in the order in which they came, and keeps what failed.
    pub(super) fn flush(&mut self, mut send: impl FnMut(PathId, SocketAddr, &[u8]) -> Result<(), Unsent>) {
        let mut start = 0;
        for &Queued { path, server, end } in &self.list {
            let octets = &self.octets[start..end as usize];
            if let Err(why) = send(path, server, octets) {
                let id = octets.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
                self.failed.push(NotSent { path, server, id, why });
            }
            start = end as usize;
        }
        self.list.clear();
        self.octets.clear();
    }

    /// Whether anything failed that nobody was told of.
    pub(super) fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// What failed since.
    pub(super) fn take_failed(&mut self) -> Vec<NotSent> {
        std::mem::take(&mut self.failed)
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.octets.clear();
        self.failed.clear();
    }
}
