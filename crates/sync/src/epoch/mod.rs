//! Reclamation by epochs: who replaces something that others may be reading neither waits for them nor frees it.
//!
//! ```text
//!  cells, words            Domain                                       lines, one a reader, 128 octets each
//!  | value 4 |     .-> waiting: value 3, slot 17          collect()      | 17 odd: in batch 9
//!  | value 9 |     |   groups:  {value 1, 2: until | 17 | moves on}      |  8 even: between batches
//!       `- replace '                                                     | 24 even
//! ```
//!
//! A [`Domain`] is a set of readers and the garbage that they may still use. A [`Reader`] belongs to one thread; between
//! [`Reader::begin`] and [`Reader::end`] it reads any number of [`Cell`]s and [`Word`]s of its domain. Whoever replaces a
//! value stores the new one and hands the old one to the domain. [`Domain::collect`], called by a [`Collector`] or by
//! somebody else who may take the time, takes all that waits as a group, notes the readers that are in a batch, and frees
//! the group once each of them has moved on. Domains are apart: garbage and slow readers of one do not delay another.
//!
//! Who touches what: a line is stored by its reader alone and loaded by collectors; it is odd from `begin` to `end` and
//! never takes the same odd value twice. `waiting` and the counts are under one short lock, which publishers take; the
//! groups and the list of lines have locks of their own, which they do not.
//!
//! Why it is right. `begin` makes the line odd, fences, and then loads what is published. What is in a group was unpublished
//! before the collector took the group, which then fences and loads the lines. The fences are such that one of the two sees
//! the other's store: either the reader finds the new value and has nothing to do with the old one, or the collector finds
//! the line odd and keeps the group until the line has another value, which the reader stores with release ordering after
//! its last use. A reader that is registered after the list was read has taken the list's lock after the collector, and
//! finds the new value too. A reader that sleeps between batches is even and holds up nothing.
//!
//! Costs: `begin` is one store to the reader's own line and a fence that is free where the system has `membarrier(2)`, `end`
//! one store, `load` one load and a comparison. No read-modify-write, no loop. Publishing is a store and a push under a
//! short lock. A collection is one `membarrier` for the whole group; freeing never happens on a reader's thread, but for
//! what is left when the last part of a domain is dropped.

mod bell;
mod cell;
mod collector;
mod garbage;
mod word;

use std::{
    any::Any,
    sync::PoisonError,
    time::{Duration, Instant},
};

use crate::primitives::{Arc, AtomicU64, Condvar, Duty, Mutex, Ordering, heavy, is_left_out, light, prepare};

pub use cell::Cell;
pub use collector::Collector;
pub use word::{Held, Word};

use garbage::{Freeing, Garbage, Group, Piece, Thing};

/// Pieces of garbage of a domain beyond which publishers wait: six seconds of a reader that does not move on, at 10,000
/// publications a second. More would let a stuck reader take memory for longer; fewer would make publishers wait for a
/// reader that lost its processor for a moment.
pub const GARBAGE_MAX: usize = 65_536;
/// Octets of garbage of a domain beyond which publishers wait: a few large zones that are replaced at once.
pub const GARBAGE_OCTETS_MAX: usize = 1 << 30;
/// Pieces that wait for a collection and are worth one at once. Fewer would make the system's fence a part of each
/// publication; more would only make one collection longer, as it frees them all.
pub const COLLECT_AT: usize = 4096;
/// How long garbage is gathered before it is collected as a group.
pub const COLLECT_EVERY: Duration = Duration::from_millis(2);
/// Groups that wait for readers; beyond, the last two become one, which waits no longer than the later of them. Bounds what a
/// collection looks at beside a reader that does not move on.
const GROUPS_MAX: usize = 64;

/// A set of readers and the garbage that they may still use; see the module. A handle: clones are the same domain, which lasts as
/// long as one of them, a reader or a cell; garbage that contains one of these and is never collected keeps it for ever.
#[derive(Clone)]
pub struct Domain {
    shared: Arc<Shared>,
}

struct Shared {
    garbage: Mutex<Garbage>,
    /// Signalled when garbage was freed.
    room: Condvar,
    /// Held during a collection, but not while anything is freed. Taken before the other two, which are never held together.
    groups: Mutex<Vec<Group>>,
    lines: Mutex<Vec<Arc<Line>>>,
}

/// A reader's mark: odd within a batch. 128 octets, since processors fetch cache lines in pairs.
#[repr(align(128))]
struct Line(AtomicU64);

/// What [`Domain::collect`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Pieces that it freed.
    pub freed: usize,
    /// Pieces that readers may still use or that were retired meanwhile.
    pub left: usize,
    /// Octets of these.
    pub octets_left: usize,
}

impl Default for Domain {
    fn default() -> Domain {
        Domain::new()
    }
}

impl Domain {
    /// A domain without readers and garbage, with the bounds [`GARBAGE_MAX`] and [`GARBAGE_OCTETS_MAX`].
    pub fn new() -> Domain {
        Domain::with_bounds(GARBAGE_MAX, GARBAGE_OCTETS_MAX)
    }

    /// A domain in which publishers wait when `pieces` pieces or `octets` octets of garbage are there.
    pub fn with_bounds(pieces: usize, octets: usize) -> Domain {
        prepare();
        let shared = Shared {
            garbage: Mutex::new(Garbage::new(pieces, octets)),
            room: Condvar::new(),
            groups: Mutex::new(Vec::new()),
            lines: Mutex::new(Vec::new()),
        };
        Domain { shared: Arc::new(shared) }
    }

    /// A new reader, to be moved to its thread.
    pub fn reader(&self) -> Reader {
        let line = Arc::new(Line(AtomicU64::new(0)));
        lock(&self.shared.lines).push(Arc::clone(&line));
        Reader { shared: Arc::clone(&self.shared), line, turn: 0 }
    }

    /// Has `act` done once all readers have moved on that are in a batch now: for what is no pointer, such as a number that is
    /// to be used again. What told readers of it must be unpublished before. `octets`: memory that it gives back. Does not
    /// wait. An act that is left when the last part of the domain is dropped is dropped, not done.
    pub fn retire(&self, act: Box<dyn FnOnce() + Send>, octets: usize) {
        self.shared.push(|| Piece { thing: Thing::Act(act), octets });
    }

    /// Drops `value` once all readers have moved on that are in a batch now, as [`Domain::retire`].
    pub fn retire_value(&self, value: Box<dyn Any + Send>, octets: usize) {
        self.shared.push(|| Piece { thing: Thing::Owned(value), octets });
    }

    /// Frees what no reader can use any more. Takes the fence of the system once if there is new garbage, and the time to free
    /// what can be freed: not for threads that answer. A panic of what is freed goes on when all the
    /// rest is freed; one of the rest then ends the process.
    pub fn collect(&self) -> Collected {
        let free = {
            let mut groups = lock(&self.shared.groups);
            let waiting = lock(&self.shared.garbage).take();
            if !waiting.is_empty() {
                heavy();
                let waits_for = self.shared.in_batch();
                garbage::add(&mut groups, Group { pieces: waiting, waits_for }, GROUPS_MAX);
            }
            garbage::take_unused(&mut groups)
        };
        // Without a lock: freeing takes its time, and what is freed may retire something.
        let freed = free.len();
        Freeing::new(&self.shared, free).run();
        let (left, octets_left) = lock(&self.shared.garbage).left();
        Collected { freed, left, octets_left }
    }

    /// Pieces and octets of garbage that are not freed yet.
    pub fn garbage(&self) -> (usize, usize) {
        lock(&self.shared.garbage).left()
    }

    /// Waits until there is less garbage than the bounds of the domain, at most until `deadline`; says whether there is. For
    /// publishers, before they publish and while they hold no lock.
    pub fn wait_for_room(&self, deadline: Instant) -> bool {
        let mut garbage = lock(&self.shared.garbage);
        while !garbage.has_room() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.room.wait_timeout(garbage, left);
            garbage = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Shared {
    /// Adds what `unpublish` returns to the garbage, and wakes the collector if that makes it worth its while.
    fn push(&self, unpublish: impl FnOnce() -> Piece) {
        let ring = {
            let mut garbage = lock(&self.garbage);
            let piece = unpublish();
            garbage.push(piece)
        };
        if let Some((bell, reason)) = ring {
            bell.ring(reason);
        }
    }

    /// The lines of readers that are in a batch, and in which.
    fn in_batch(&self) -> Vec<(Arc<Line>, u64)> {
        if is_left_out(Duty::NoteReaders) {
            return Vec::new();
        }
        let lines = lock(&self.lines);
        let in_batch = lines.iter().filter_map(|line| {
            let turn = line.0.load(Ordering::Acquire);
            (turn % 2 == 1).then(|| (Arc::clone(line), turn))
        });
        in_batch.collect()
    }
}

/// A panic under one of these locks could come only from running out of memory, before anything is changed.
fn lock<T>(mutex: &Mutex<T>) -> crate::primitives::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One reader of a domain, owned by one thread. Ends with its batch when it is dropped.
pub struct Reader {
    shared: Arc<Shared>,
    line: Arc<Line>,
    /// The line's value, known here without loading it.
    turn: u64,
}

impl Reader {
    /// Begins a batch: what is read in it is from now or newer. A batch that was not ended, as its thread panicked and
    /// went on, is ended by it.
    #[inline]
    pub fn begin(&mut self) {
        self.turn = (self.turn + 1) | 1;
        // Release, as a collector may wait for the batch before this one and find this mark instead of its end.
        self.line.0.store(self.turn, Ordering::Release);
        light();
    }

    /// Ends the batch: what was read in it may be freed. Nothing happens between batches.
    #[inline]
    pub fn end(&mut self) {
        self.turn = (self.turn + 1) & !1;
        self.line.0.store(self.turn, Ordering::Release);
    }

    /// The right to read what the domain protects, within a batch.
    #[inline]
    pub fn guard(&self) -> Option<Guard<'_>> {
        (self.turn % 2 == 1).then_some(Guard { reader: self })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.end();
        let line = &self.line;
        lock(&self.shared.lines).retain(|other| !Arc::ptr_eq(other, line));
    }
}

/// The right to read in one batch of one reader. The batch lasts at least as long as `'g`: ending it or beginning another
/// borrows the reader exclusively.
#[derive(Clone, Copy)]
pub struct Guard<'g> {
    reader: &'g Reader,
}

impl Guard<'_> {
    /// Whether this guard's reader is one of `domain`.
    #[inline]
    pub fn is_of(&self, domain: &Domain) -> bool {
        Arc::ptr_eq(&self.reader.shared, &domain.shared)
    }
}
