//! The signal that ends all workers: an eventfd that every worker waits on beside its sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};

/// Set once, seen by all: nobody reads the eventfd, so it stays ready.
#[derive(Debug)]
pub(crate) struct Stop {
    event: OwnedFd,
    deadline: OnceLock<Instant>,
}

impl Stop {
    pub(crate) fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { event, deadline: OnceLock::new() })
    }

    /// Asks all workers to end, and to have flushed their connections by `deadline`. The first call counts.
    pub(crate) fn request(&self, deadline: Instant) {
        let _ = self.deadline.set(deadline);
        // Fails only when the counter is full, and then it is ready anyway.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// By when to have ended; now, where nobody asked.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline.get().copied().unwrap_or_else(Instant::now)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
