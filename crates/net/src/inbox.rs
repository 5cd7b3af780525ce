//! What other threads tell a worker: replies, wake-ups, messages; and how they wake it.
//!
//! Everything goes through one list without locks ([`sync::Mailbox`]), which the worker takes as a whole once a turn. It is
//! woken through an eventfd by whoever finds it asleep, and by nobody while it is awake.
//!
//! The list is bounded by what may be in it: one note a ticket, one a stream that waits, one wake-up, a few requests to
//! close, [`MESSAGES_MAX`] messages of services; and the octets of replies by [`INBOX_OCTETS_MAX`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use sync::mailbox::{Taken, Wake};
use sync::{Mailbox, Mutex};

use crate::later::{Path, RowId};
use crate::stream::{Messages, StreamId};
use crate::udp::{Datagram, Outlet};

/// Messages of services that wait at a worker. One that is so far behind does not catch up by being told more.
pub const MESSAGES_MAX: usize = 4096;

/// Octets of replies that wait at a worker: 500 of the longest, or one for every ticket there may be of 1,000 octets. Beyond
/// it replies are dropped, since the worker takes them slower than they come.
pub(crate) const INBOX_OCTETS_MAX: usize = 32 << 20;

/// What a worker is told, whatever its service.
pub(crate) enum Note {
    /// A ticket is replied to.
    Reply { row: RowId, octets: Box<[u8]> },
    /// A ticket is replied to by a stream.
    Stream { row: RowId, messages: Box<dyn Messages> },
    /// A ticket was replied to by who had it: see [`Sink::send`].
    Sent { row: RowId },
    /// A ticket was dropped.
    Dropped { row: RowId },
    /// A reply was dropped, as too many octets wait.
    Overflowed { row: RowId },
    /// A stream that waited can go on.
    StreamReady(StreamId),
    /// Somebody wakes the service.
    Woken,
    /// Another worker asks for the connection that has been idle since then, or for longer, to be closed.
    CloseIdle { since: u64 },
}

/// What a worker is told.
pub(crate) enum Entry<M> {
    Note(Note),
    Message(M),
}

/// The inbox of one worker.
pub(crate) struct Inbox<M> {
    list: Mailbox<Entry<M>>,
    event: OwnedFd,
    messages: AtomicUsize,
    octets: AtomicUsize,
    /// Whether a `Woken` is in the list.
    is_woken: AtomicBool,
    /// Whether the worker waits for the last of its tickets.
    is_ending: AtomicBool,
    /// What other threads send through, by the number of the worker's port; none before the worker begins and once it has ended.
    outlets: Mutex<Vec<Outlet>>,
    /// Replies that were sent past the worker, by anybody.
    sent: AtomicU64,
}

/// An inbox, whatever the messages of services.
pub(crate) trait Sink: Send + Sync {
    /// Puts a note in. `false`: the worker has ended.
    fn push(&self, note: Note) -> bool;

    /// Puts a note in that can wait until the worker is woken for something else; a worker that is about to end is woken for it too.
    fn push_quietly(&self, note: Note) {
        self.push(note);
    }

    /// Sends a reply to a client of datagrams past the worker. `false`: it is to go by the worker.
    fn send(&self, _path: &Path, _octets: &[u8]) -> bool {
        false
    }

    /// How many replies were sent so.
    fn sent(&self) -> u64 {
        0
    }

    /// Reserves room for the octets of a reply, or says that there is none.
    fn reserve(&self, octets: usize) -> bool;

    /// Wakes the service.
    fn wake_service(&self);
}

impl<M> Inbox<M> {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            list: Mailbox::new(),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            messages: AtomicUsize::new(0),
            octets: AtomicUsize::new(0),
            is_woken: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            outlets: Mutex::named("outlets of a worker", Vec::new()),
            sent: AtomicU64::new(0),
        })
    }

    /// Puts a message of a service in, or gives it back: too many wait, or the worker has ended.
    pub(crate) fn tell(&self, message: M) -> Result<(), M> {
        if self.messages.fetch_add(1, Ordering::Relaxed) >= MESSAGES_MAX {
            self.messages.fetch_sub(1, Ordering::Relaxed);
            return Err(message);
        }
        match self.list.push(Entry::Message(message)) {
            Ok(wake) => {
                self.wake(wake);
                Ok(())
            }
            Err(Entry::Message(message)) => {
                self.messages.fetch_sub(1, Ordering::Relaxed);
                Err(message)
            }
            Err(Entry::Note(_)) => unreachable!("a message was pushed"),
        }
    }

    /// Whether the worker may sleep; from then on it is woken.
    pub(crate) fn prepare_to_sleep(&self) -> bool {
        self.list.prepare_to_sleep()
    }

    /// The worker is awake.
    pub(crate) fn awake(&self) {
        self.list.awake();
    }

    /// The worker was woken: the event is over.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All that is in it, in the order in which it came.
    pub(crate) fn take(&self) -> Taken<Entry<M>> {
        self.list.take()
    }

    /// The worker has taken `entry`.
    pub(crate) fn taken(&self, entry: &Entry<M>) {
        match entry {
            Entry::Message(_) => {
                self.messages.fetch_sub(1, Ordering::Relaxed);
            }
            Entry::Note(Note::Reply { octets, .. }) => {
                self.octets.fetch_sub(octets.len(), Ordering::Relaxed);
            }
            // Before the service is told: a wake-up from then on is about something new.
            Entry::Note(Note::Woken) => self.is_woken.store(false, Ordering::SeqCst),
            Entry::Note(_) => {}
        }
    }

    /// Replies can be sent through these from now on.
    pub(crate) fn set_outlets(&self, outlets: Vec<Outlet>) {
        *self.outlets.lock() = outlets;
    }

    /// The worker waits for the last of its tickets: it is woken for each.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
    }

    /// The worker ends: what is pushed from now on is dropped.
    pub(crate) fn close(&self) {
        // Else its sockets would be open, and take in datagrams that nobody reads.
        self.outlets.lock().clear();
        drop(self.list.close());
    }

    fn wake(&self, wake: Wake) {
        if wake == Wake::Needed {
            // Fails only when the counter is full, and then it is ready anyway.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }
}

impl<M: Send> Sink for Inbox<M> {
    fn push(&self, note: Note) -> bool {
        match self.list.push(Entry::Note(note)) {
            Ok(wake) => {
                self.wake(wake);
                true
            }
            Err(_) => false,
        }
    }

    fn push_quietly(&self, note: Note) {
        // Looked at once the note is in: either this sees that the worker is about to end, or the worker sees the note before it sleeps.
        if let Ok(wake) = self.list.push(Entry::Note(note))
            && self.is_ending.load(Ordering::SeqCst)
        {
            self.wake(wake);
        }
    }

    fn send(&self, path: &Path, octets: &[u8]) -> bool {
        let Path::Datagram { port, peer, local } = *path else { return false };
        let outlets = self.outlets.lock();
        let outlet = outlets.get(usize::from(port));
        let is_sent = outlet.is_some_and(|outlet| outlet.send(Datagram { peer, local, octets }));
        // After the ticket was counted as open, for who reads both.
        self.sent.fetch_add(u64::from(is_sent), Ordering::Release);
        is_sent
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    fn reserve(&self, octets: usize) -> bool {
        let before = self.octets.fetch_add(octets, Ordering::Relaxed);
        if before + octets > INBOX_OCTETS_MAX {
            self.octets.fetch_sub(octets, Ordering::Relaxed);
            return false;
        }
        true
    }

    fn wake_service(&self) {
        if !self.is_woken.swap(true, Ordering::SeqCst) {
            self.push(Note::Woken);
        }
    }
}

impl<M> AsFd for Inbox<M> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// Wakes the service of a worker from any thread: it is told `woken`, once for all wake-ups before.
#[derive(Clone)]
pub struct Waker(pub(crate) Arc<dyn Sink>);

impl Waker {
    /// Wakes it.
    pub fn wake(&self) {
        self.0.wake_service();
    }
}
