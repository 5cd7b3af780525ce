//! The thread that renders, its queue, and what it counts.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};

use sync::Mailbox;
use sync::mailbox::Wake;

use super::job::{Job, Turn};
use super::{AHEAD_STREAMS_MAX, Ahead, ROOM_OCTETS, Render};

/// A thread that renders the messages of streams; see [`RenderQueue`]. Ends when this is dropped, once the message under way is
/// rendered: streams that are not at their end are aborted.
pub struct Renderer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The way to a [`Renderer`], for services; clones lead to the same.
#[derive(Clone)]
pub struct RenderQueue {
    shared: Arc<Shared>,
}

/// There are [`AHEAD_STREAMS_MAX`] streams, or the renderer has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderRefused;

/// What a renderer has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderCounts {
    /// Streams now, those that are gone and not dropped yet included.
    pub streams: usize,
    /// The most streams at one time.
    pub streams_most: usize,
    /// Streams refused.
    pub refused: u64,
    /// Octets of memory for messages, now.
    pub octets: usize,
    /// Messages rendered.
    pub messages: u64,
    /// Sources that panicked.
    pub panics: u64,
}

/// What is counted; see [`RenderCounts`].
#[derive(Debug, Default)]
pub(super) struct Counts {
    streams: AtomicUsize,
    streams_most: AtomicUsize,
    refused: AtomicU64,
    octets: AtomicUsize,
    messages: AtomicU64,
    panics: AtomicU64,
}

/// What the thread shares with streams.
pub(super) struct Shared {
    /// Jobs with something to do that are not in the ring: one entry a stream at most.
    mailbox: Mailbox<Arc<Job>>,
    /// To be woken; set before anything is put in.
    thread: OnceLock<Thread>,
    is_closed: AtomicBool,
    counts: Arc<Counts>,
}

impl Renderer {
    /// Starts the thread, called `renderer`.
    ///
    /// # Errors
    ///
    /// What the system says when it gives no thread.
    pub fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            mailbox: Mailbox::new(),
            thread: OnceLock::new(),
            is_closed: AtomicBool::new(false),
            counts: Arc::default(),
        });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("renderer".to_owned()).spawn(move || own.serve())?;
        let _ = shared.thread.set(thread.thread().clone());
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The way to it.
    #[must_use]
    pub fn queue(&self) -> RenderQueue {
        RenderQueue { shared: Arc::clone(&self.shared) }
    }

    /// What it has counted.
    #[must_use]
    pub fn counts(&self) -> RenderCounts {
        self.shared.counts.read()
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        self.shared.unpark();
        if let Some(thread) = self.thread.take() {
            // It catches panics of sources; one of its own has been printed already.
            let _ = thread.join();
        }
    }
}

impl RenderQueue {
    /// Has the messages of `source` rendered ahead, from the moment that the stream begins; or gives it back.
    pub fn ahead<S: Render + 'static>(&self, source: S) -> Result<Ahead, (RenderRefused, S)> {
        if self.shared.is_closed() {
            return Err((RenderRefused, source));
        }
        match Seat::take(&self.shared.counts) {
            Some(seat) => Ok(Ahead::new(Job::new(Box::new(source), seat), Arc::clone(&self.shared))),
            None => Err((RenderRefused, source)),
        }
    }
}

impl Shared {
    /// Whether nothing is rendered any more.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Has the thread look at a job, if it does not anyway. Does not wait. `false`: the thread has ended, and whoever holds the job
    /// last drops it.
    pub(super) fn queue(&self, job: &Arc<Job>) -> bool {
        if !job.claim() {
            return true;
        }
        let pushed = self.mailbox.push(Arc::clone(job));
        if let Ok(Wake::Needed) = pushed {
            self.unpark();
        }
        pushed.is_ok()
    }

    fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// The thread: a message of each job of the ring in turn.
    fn serve(&self) {
        let mut room = vec![0; ROOM_OCTETS];
        let mut ring: VecDeque<Arc<Job>> = VecDeque::new();
        while !self.is_closed() {
            ring.extend(self.mailbox.take());
            if let Some(job) = ring.pop_front() {
                if job.turn(&mut room, &self.counts) == Turn::Again {
                    ring.push_back(job);
                }
                continue;
            }
            // Who closes it says so before it wakes the thread, which then does not sleep.
            if self.mailbox.prepare_to_sleep() {
                if !self.is_closed() {
                    thread::park();
                }
                self.mailbox.awake();
            }
        }
        // Whoever waits is among these: an empty slot has its job queued.
        for job in ring.into_iter().chain(self.mailbox.close()) {
            job.end();
        }
    }
}

impl Counts {
    fn read(&self) -> RenderCounts {
        RenderCounts {
            streams: self.streams.load(Ordering::Relaxed),
            streams_most: self.streams_most.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            octets: self.octets.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
            panics: self.panics.load(Ordering::Relaxed),
        }
    }

    pub(super) fn rendered(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn panicked(&self) {
        tracing::error!("what renders a response of many messages panicked; its connection is closed");
        self.panics.fetch_add(1, Ordering::Relaxed);
    }
}

/// One stream, and the memory of its messages, which count as long as this lives.
pub(super) struct Seat {
    counts: Arc<Counts>,
    octets: AtomicUsize,
}

impl Seat {
    fn take(counts: &Arc<Counts>) -> Option<Self> {
        let now = counts.streams.fetch_add(1, Ordering::Relaxed) + 1;
        let seat = Self { counts: Arc::clone(counts), octets: AtomicUsize::new(0) };
        if now > AHEAD_STREAMS_MAX {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        counts.streams_most.fetch_max(now, Ordering::Relaxed);
        Some(seat)
    }

    /// It has so much more memory.
    pub(super) fn took(&self, octets: usize) {
        self.octets.fetch_add(octets, Ordering::Relaxed);
        self.counts.octets.fetch_add(octets, Ordering::Relaxed);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.counts.octets.fetch_sub(self.octets.load(Ordering::Relaxed), Ordering::Relaxed);
        self.counts.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
