//! One stream between the worker, which takes its messages, and the thread, which makes them.
//!
//! ```text
//!  worker                                                     thread
//!  slot is full?                                              slot is empty?
//!   yes: copy; empty it; was it queued? if not: queue it       yes: render; fill it; does the stream wait? if so: wake it
//!   no:  say that it waits; full now? if not: wait             no:  say that it is not queued; empty now? if not: leave the ring
//! ```
//!
//! What is said (`waits`, `is_queued`) is exchanged by both sides: the later exchange finds what the earlier put there, and all that was done before
//! it. So no stream waits with a message ready, and none is left out of the ring with an empty slot. `tests/model_ahead.rs` has it in
//! all orders.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use sync::Mutex;

use super::renderer::{Counts, Seat};
use super::{AHEAD_MESSAGES, Render, Rendered};
use crate::stream::{Pull, StreamWaker};

/// See the module.
pub(super) struct Job {
    slots: [Slot; AHEAD_MESSAGES],
    side: Mutex<Side>,
    waker: OnceLock<StreamWaker>,
    /// Whether the thread has it in its ring, or is about to find it; stays so once nothing more is rendered.
    is_queued: AtomicBool,
    /// Whether the stream found nothing and wants to be woken.
    waits: AtomicBool,
    /// Whether the stream is gone.
    is_gone: AtomicBool,
    seat: Seat,
}

/// A message that is rendered, or room for one.
struct Slot {
    is_full: AtomicBool,
    /// Never waited for: only the side that `is_full` says takes it.
    made: Mutex<Made>,
}

struct Made {
    rendered: Rendered,
    /// The message, in as much memory as the longest so far needed.
    octets: Vec<u8>,
}

/// What is the thread's alone.
struct Side {
    /// `None` once nothing more is rendered.
    source: Option<Box<dyn Render>>,
    /// The slot that is filled next.
    next: usize,
}

/// Whether the thread has something to do for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It stays in the ring.
    Again,
    /// Out of the ring; who wants it there queues it.
    Done,
}

impl Job {
    pub(super) fn new(source: Box<dyn Render>, seat: Seat) -> Arc<Self> {
        let slot = || Slot {
            is_full: AtomicBool::new(false),
            made: Mutex::named("message ahead", Made { rendered: Rendered::Abort, octets: Vec::new() }),
        };
        Arc::new(Self {
            slots: std::array::from_fn(|_| slot()),
            side: Mutex::named("source", Side { source: Some(source), next: 0 }),
            waker: OnceLock::new(),
            is_queued: AtomicBool::new(false),
            waits: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            seat,
        })
    }

    /// Whether it was not queued, and is from now on: the caller has to do it.
    pub(super) fn claim(&self) -> bool {
        !self.is_queued.swap(true, Ordering::AcqRel)
    }

    /// The stream begins.
    pub(super) fn start(&self, waker: StreamWaker) {
        // A stream begins once.
        let _ = self.waker.set(waker);
    }

    /// The stream is gone.
    pub(super) fn leave(&self) {
        self.is_gone.store(true, Ordering::Release);
    }

    /// Whether slot `slot` has something to take. If not, the stream is woken once it has, or once nothing is rendered any more.
    pub(super) fn is_ready(&self, slot: usize) -> bool {
        let is_full = || self.slots[slot].is_full.load(Ordering::Acquire);
        if is_full() {
            return true;
        }
        self.waits.swap(true, Ordering::AcqRel);
        // Ready meanwhile: at worst the stream is woken for nothing.
        is_full()
    }

    /// Takes what is in a slot that is ready.
    pub(super) fn take(&self, slot: usize, room: &mut [u8]) -> Pull {
        let slot = &self.slots[slot];
        let pull = {
            let made = slot.made.lock();
            match made.rendered {
                Rendered::Message(_) => match room.get_mut(..made.octets.len()) {
                    Some(room) => {
                        room.copy_from_slice(&made.octets);
                        Pull::Message(made.octets.len())
                    }
                    None => Pull::Abort,
                },
                Rendered::End => Pull::End,
                Rendered::Abort => Pull::Abort,
            }
        };
        if let Pull::Message(_) = pull {
            slot.is_full.store(false, Ordering::Release);
        }
        pull
    }

    /// Wakes the stream if it waits.
    pub(super) fn wake(&self) {
        if self.waits.swap(false, Ordering::AcqRel)
            && let Some(waker) = self.waker.get()
        {
            waker.wake();
        }
    }

    /// Renders the next message, if there is room for it and somebody to take it. `room`: [`super::ROOM_OCTETS`]. The thread's.
    pub(super) fn turn(&self, room: &mut [u8], counts: &Counts) -> Turn {
        let mut side = self.side.lock();
        let slot = &self.slots[side.next];
        let can_go_on = || !slot.is_full.load(Ordering::Acquire) || self.is_gone.load(Ordering::Acquire);
        if !can_go_on() {
            self.is_queued.swap(false, Ordering::AcqRel);
            return if can_go_on() && self.claim() { Turn::Again } else { Turn::Done };
        }
        if self.is_gone.load(Ordering::Acquire) {
            drop_source(&mut side.source);
            return Turn::Done;
        }
        let Some(source) = &mut side.source else { return Turn::Done };
        let rendered = catch_unwind(AssertUnwindSafe(|| source.render(room))).unwrap_or_else(|_| {
            counts.panicked();
            Rendered::Abort
        });
        let rendered = self.fill(slot, rendered, room, counts);
        side.next = (side.next + 1) % AHEAD_MESSAGES;
        let is_over = !matches!(rendered, Rendered::Message(_));
        if is_over {
            drop_source(&mut side.source);
        }
        // Last: who is told that it is over finds all that the source had given back.
        slot.is_full.store(true, Ordering::Release);
        self.wake();
        if is_over { Turn::Done } else { Turn::Again }
    }

    /// Puts what was rendered into an empty slot; a message that cannot be is a fault of the source.
    fn fill(&self, slot: &Slot, rendered: Rendered, room: &[u8], counts: &Counts) -> Rendered {
        let mut made = slot.made.lock();
        made.rendered = rendered;
        if let Rendered::Message(octets) = rendered {
            match room.get(..octets).filter(|octets| !octets.is_empty()) {
                Some(message) => {
                    let before = made.octets.capacity();
                    made.octets.clear();
                    made.octets.reserve_exact(message.len());
                    made.octets.extend_from_slice(message);
                    self.seat.took(made.octets.capacity() - before);
                    counts.rendered();
                }
                None => made.rendered = Rendered::Abort,
            }
        }
        made.rendered
    }

    /// Renders nothing more. The thread's, at its end.
    pub(super) fn end(&self) {
        drop_source(&mut self.side.lock().source);
        self.wake();
    }
}

/// It is the code of whoever made it that runs here.
fn drop_source(source: &mut Option<Box<dyn Render>>) {
    let source = source.take();
    let _ = catch_unwind(AssertUnwindSafe(|| drop(source)));
}
