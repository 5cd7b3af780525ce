//! Responses of many messages that are rendered on a thread of their own, a few messages before they are asked for.
//!
//! What renders messages from a mapped file may wait for a disk, and who waits on a worker makes all its clients wait. So it
//! waits on the thread of a [`Renderer`], and the worker copies what is ready.
//!
//! ```text
//!            RenderQueue::ahead(source)                              one thread
//!  worker --------------------------------> Ahead: Messages          ring: -> a -> b -> c ->    a message of each in turn
//!    | pulls: ready -> a copy of it, and the job is queued again             |
//!    |        not yet -> Wait, until the thread wakes the stream             `- two are ready, it is over, or its stream is gone: out of the ring
//!    `- is closed: the thread drops the source
//! ```
//!
//! Who touches what ([`job`]): a slot belongs to the thread while it is empty and to the worker while it is full, so its lock is
//! free whenever one of them takes it; the source is the thread's. Neither waits for the other.

mod job;
mod renderer;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::stream::{Messages, Pull, StreamWaker};
use job::Job;
use renderer::Shared;

pub use renderer::{RenderCounts, RenderQueue, RenderRefused, Renderer};

/// Messages of a stream that are rendered before they are asked for: while one is copied the next is there, and more would only
/// take memory of those who read slowly.
pub const AHEAD_MESSAGES: usize = 2;

/// Streams that are rendered ahead: as many zones as may be pinned. Each keeps [`AHEAD_MESSAGES`] of its longest messages, of up to 64 KiB: 128 MiB in all at
/// the very most, and a quarter of it with the 16 KiB of transfers.
pub const AHEAD_STREAMS_MAX: usize = 1024;

/// Octets of the room for a message.
const ROOM_OCTETS: usize = 65_535;

/// What renders the messages of a stream, and owns all it needs for that. It may wait for a disk.
pub trait Render: Send {
    /// Writes the next message to `room`, which has 65,535 octets.
    fn render(&mut self, room: &mut [u8]) -> Rendered;
}

/// What came of rendering the next message. After the last two, and after a panic, nothing more is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendered {
    /// A message of so many octets, 1 to 65,535.
    Message(usize),
    /// The last one was the last.
    End,
    /// It cannot be completed: see [`Pull::Abort`].
    Abort,
}

/// The messages of a [`Render`], as a connection pulls them.
pub struct Ahead {
    job: Arc<Job>,
    shared: Arc<Shared>,
    /// The slot of the next message.
    next: usize,
    /// Whether the thread is known to have ended.
    is_left: bool,
}

impl Ahead {
    fn new(job: Arc<Job>, shared: Arc<Shared>) -> Self {
        Self { job, shared, next: 0, is_left: false }
    }

    fn queue(&mut self) {
        self.is_left |= !self.shared.queue(&self.job);
    }
}

impl Messages for Ahead {
    fn start(&mut self, waker: StreamWaker) {
        self.job.start(waker);
        self.queue();
    }

    fn next(&mut self, room: &mut [u8]) -> Pull {
        if !self.job.is_ready(self.next) {
            // The thread ends what it has, and wakes it, after it has seen that it is to end.
            return if self.is_left || self.shared.is_closed() { Pull::Abort } else { Pull::Wait };
        }
        let pull = self.job.take(self.next, room);
        if let Pull::Message(_) = pull {
            self.next = (self.next + 1) % AHEAD_MESSAGES;
            self.queue();
        }
        pull
    }
}

impl Drop for Ahead {
    /// The source is dropped where it rendered, as it may take its time too.
    fn drop(&mut self) {
        self.job.leave();
        self.queue();
    }
}
