//! The signals that end workers: eventfds that every worker waits on beside its sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

/// Both are set once and seen by all: nobody reads the eventfds, so they stay ready.
#[derive(Debug)]
pub(crate) struct Stop {
    event: OwnedFd,
    deadline: OnceLock<Instant>,
    leave_event: OwnedFd,
    leave: OnceLock<Leave>,
}

/// How workers leave whose sockets another process reads from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leave {
    /// How long they go on serving the connections that they have.
    pub(crate) until: Instant,
    /// How long those that are left then may take for an orderly end.
    pub(crate) patience: Duration,
}

impl Stop {
    pub(crate) fn new() -> io::Result<Self> {
        let event = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Self { event: event()?, deadline: OnceLock::new(), leave_event: event()?, leave: OnceLock::new() })
    }

    /// Asks all workers to end, and to have flushed their connections by `deadline`. The first call counts.
    pub(crate) fn request(&self, deadline: Instant) {
        let _ = self.deadline.set(deadline);
        raise(&self.event);
    }

    /// Asks all workers to take nothing new, and to end once those whom they serve are done. The first call counts.
    pub(crate) fn request_leave(&self, leave: Leave) {
        let _ = self.leave.set(leave);
        raise(&self.leave_event);
    }

    /// By when to have ended; now, where nobody asked.
    pub(crate) fn deadline(&self) -> Instant {
        let left = || self.leave.get().map(|leave| leave.until.max(Instant::now()) + leave.patience);
        self.deadline.get().copied().or_else(left).unwrap_or_else(Instant::now)
    }

    /// Until when to go on serving whom there is; now, where nobody asked to leave.
    pub(crate) fn leaves_until(&self) -> Instant {
        self.leave.get().map_or_else(Instant::now, |leave| leave.until)
    }

    /// What is ready once workers are to leave.
    pub(crate) fn leave_event(&self) -> BorrowedFd<'_> {
        self.leave_event.as_fd()
    }
}

fn raise(event: &OwnedFd) {
    // Fails only when the counter is full, and then it is ready anyway.
    let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
