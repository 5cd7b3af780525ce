//! A part of the store: an index, two rings, and what those who write to it have under their lock.
//!
//! ```text
//! put, new ----------> small ring --(at its tail, read since)--> main ring --(at its tail, read since)--> main ring again
//!   `- known as a ghost: main ring    `- else: out, a ghost                   `- else: out
//! put, refresh ------> small ring; counts as read if it was in the main ring
//! ```
//!
//! `put`: what comes; `leave`: what leaves for it; `hand`: all of it moves to other shards; `shape`: how many slots for how much ring. Order of every move: words, slot, tail. So a reader that finds a slot finds an entry, or finds the slot changed when it looks again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use sync::counters::Number;
use wire::Name;

use crate::entry;
use crate::ghosts::Ghosts;
use crate::index::{Home, Index, Slot, Which};
use crate::limits::{Limits, LiveLimits};
use crate::locks;
use crate::marks::Marks;
use crate::ring::{ENTRY_WORDS_MAX, Ring};
use crate::sweep::KEY_WORDS;
use crate::{Moment, Secret, Subject};

mod counts;
mod each;
mod hand;
mod leave;
mod put;
mod shape;

pub use counts::Counts;
use counts::LiveCounts;
pub(crate) use hand::{Excess, Walk};
pub(crate) use put::Put;
pub(crate) use shape::{PER_SLOT_FIRST, Shape};

/// Larger entries stay in the small ring, however often they are read: in the main ring one would take the place of fifty.
const MAIN_WORDS_MAX: usize = 512;
/// A read counts from so long after an entry came: clients ask twice when they are impatient, a resolver reads what it has just stored, and who floods would as well.
const READ_COUNTS_AFTER_MS: u64 = 1_000;
/// How often a reader looks again when an entry was written over while it copied: each time it was off its core while a ring's slack was written.
pub(crate) const READS_MAX: usize = 4;

/// What all shards share.
pub(crate) struct Shared {
    pub(crate) secret: Secret,
    pub(crate) limits: LiveLimits,
    pub(crate) marks: Marks,
    /// The latest time that something was put, to a second.
    pub(crate) clock: AtomicU64,
}

impl Shared {
    pub(crate) fn limits(&self) -> Limits {
        self.limits.load()
    }

    /// Whether a read of what was stored then counts.
    #[inline]
    pub(crate) fn counts(&self, stored: Moment) -> bool {
        stored.0 + READ_COUNTS_AFTER_MS <= self.clock.load(Ordering::Relaxed)
    }

    /// The present, to a second.
    pub(crate) fn latest(&self) -> Moment {
        Moment(self.clock.load(Ordering::Relaxed))
    }

    /// Written once a second, so that readers share it.
    fn note_time(&self, now: Moment) {
        if now.0 >= self.clock.load(Ordering::Relaxed) + 1_000 {
            self.clock.store(now.0, Ordering::Relaxed);
        }
    }
}

/// A part of the store. Lines of their own: what readers read of one is not next to what writers of another write.
#[repr(align(64))]
pub(crate) struct Shard {
    /// Of so many shards it is one, a power of two: at every position whose lower bits are its number.
    pub(crate) count: usize,
    /// It was made for so many octets.
    pub(crate) octets: usize,
    pub(crate) index: Index,
    rings: [Ring; 2],
    /// Octets of what ghosts are kept in.
    ghost_octets: usize,
    writer: Mutex<Writer>,
    counts: LiveCounts,
    heads: Heads,
    /// Reads that gave up: what was there was written over each time.
    overtaken: AtomicU64,
    /// Where its entries go, from when they begin to. Set under the lock.
    left: OnceLock<Left>,
}

/// Where the entries of a shard go: `hand`.
pub(crate) struct Left {
    /// One shard, which others may go to as well, or as many as this one is divided into.
    next: Box<[Arc<Shard>]>,
    /// Bits of a position that all of them have in common.
    shift: u32,
    /// None is here any more.
    is_over: AtomicBool,
}

/// Where the next entry of each ring goes. Stored by who has the lock, as counts are. On a line of their own: writers move them while others read the rest.
#[repr(align(64))]
struct Heads([Number; 2]);

/// What is under the lock.
pub(crate) struct Writer {
    ghosts: Ghosts,
    /// Turns through the slots of full buckets.
    turn: usize,
    /// Of this `put`: entries that were appended to the main ring again, and their words.
    survivors: usize,
    surviving_words: usize,
    /// Room for entries: what is put, what is compared with, what leaves each ring.
    put: Vec<u8>,
    kept: Vec<u8>,
    leaving: [Vec<u8>; 2],
}

/// Octets that the system gives at a time.
const PAGE_OCTETS: usize = 4096;

impl Shard {
    /// One of `count`, for so many octets.
    pub(crate) fn new(count: usize, octets: usize, shape: Shape) -> Shard {
        let ((small, small_head), (main, main_head)) =
            (Ring::new(shape.small_words), Ring::new(shape.main_words));
        let ghosts = Ghosts::new(shape.buckets * 8);
        let ghost_octets = ghosts.all_octets();
        let writer = Writer {
            ghosts,
            turn: 0,
            survivors: 0,
            surviving_words: 0,
            put: Vec::new(),
            kept: Vec::new(),
            leaving: [const { Vec::new() }; 2],
        };
        let heads = Heads([const { Number::new() }; 2]);
        heads.set([small_head, main_head]);
        Shard {
            count,
            octets,
            index: Index::new(shape.buckets),
            rings: [small, main],
            ghost_octets,
            writer: Mutex::new(writer),
            counts: LiveCounts::default(),
            heads,
            overtaken: AtomicU64::new(0),
            left: OnceLock::new(),
        }
    }

    pub(crate) fn ring(&self, which: Which) -> &Ring {
        &self.rings[which as usize]
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        // A panic in here is a fault of ours; what it leaves is at worst an entry that is not found.
        locks::lock(&self.writer)
    }

    /// Where the next entry of each ring goes: what was appended by then is below. Under the lock; without it some of that may not be seen yet.
    pub(crate) fn heads(&self) -> [u64; 2] {
        self.heads.read()
    }

    fn head(&self, which: Which) -> u64 {
        self.heads.0[which as usize].read()
    }

    /// Appends an entry to a ring: its place. Under the lock.
    fn append(&self, _writer: &mut Writer, which: Which, octets: &[u8]) -> u64 {
        let word = &self.heads.0[which as usize];
        let mut head = word.read();
        let place = self.ring(which).append(&mut head, octets);
        word.write(head);
        place
    }

    /// What there is, and what came of it. Waits for nobody.
    pub(crate) fn counts(&self) -> Counts {
        Counts { overtaken: self.overtaken.load(Ordering::Relaxed), ..self.counts.read() }
    }

    /// Octets that have been written, at most: of rings as far as they have been, of index and ghosts a page for each entry that came or left. Waits for nobody.
    pub(crate) fn resident_octets(&self) -> usize {
        let counts = self.counts();
        let rings: usize =
            self.rings.iter().zip(self.heads()).map(|(ring, head)| ring.written(head) * 8).sum();
        let pages = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(PAGE_OCTETS);
        let slots = (self.index.slot_count() * 8).min(pages(counts.puts + counts.taken));
        let left = counts.evicted_unread + counts.evicted_index + counts.restored;
        let ghosts = self.ghost_octets.min(pages(left));
        rings + slots + self.index.slot_count() / 8 + ghosts
    }

    /// A read gave up.
    #[cold]
    pub(crate) fn note_overtaken(&self) {
        self.overtaken.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the entry at a place is in the index and not flushed: then, whether it was read lately. Under the lock.
    pub(crate) fn is_live(&self, shared: &Shared, which: Which, place: u64, octets: &[u8]) -> Option<bool> {
        let key = entry::key_of(octets)?;
        let home = self.index.home(shared.secret.hash(key.name.octets()));
        let word = Slot::new(home.tag(key.subject), which, place);
        let slot = self.index.find(&home, word)?;
        (!shared.marks.hide(&shared.secret, key.name, word)).then(|| self.index.is_visited(slot))
    }

    /// Most words of an entry: four of them fit into the small ring, so that no one throws out all that is there on probation.
    fn entry_words_max(&self) -> usize {
        ENTRY_WORDS_MAX.min(self.ring(Which::Small).len() / 4)
    }

    /// Slots that may be of the name. Under the lock, or for those who look again.
    pub(crate) fn of_name(&self, home: &Home) -> impl Iterator<Item = (usize, Slot)> + use<'_> {
        let home = *home;
        self.index.written(&home).filter(move |(_, word)| home.may_be(*word))
    }

    /// Frees a slot.
    pub(crate) fn take_out(&self, _writer: &mut Writer, slot: usize) {
        self.count_out(self.index.load(slot));
        self.index.store(slot, Slot::FREE);
    }

    /// The slots of entries of `name` whose subject is `wanted`. Under the lock.
    pub(crate) fn slots_of(
        &self,
        writer: &mut Writer,
        name: &Name,
        hash: u64,
        wanted: impl Fn(Subject) -> bool,
    ) -> Vec<usize> {
        let kept = &mut writer.kept;
        let mut is_one = |slot: Slot| {
            let count = self.ring(slot.ring()).copy_some(slot.place(), KEY_WORDS, kept)?;
            entry::key_of(&kept[..count]).map(|key| key.name == name && wanted(key.subject))
        };
        let home = self.index.home(hash);
        self.of_name(&home).filter(|(_, word)| is_one(*word) == Some(true)).map(|(slot, _)| slot).collect()
    }

    /// Counts the entry of a slot as one that is there no more. Under the lock.
    fn count_out(&self, slot: Slot) {
        if slot != Slot::FREE {
            self.counts.entries.subtract(1);
            self.counts.octets.subtract(8 * self.ring(slot.ring()).words_at(slot.place()) as u64);
        }
    }
}

impl Heads {
    fn read(&self) -> [u64; 2] {
        self.0.each_ref().map(Number::read)
    }

    fn set(&self, heads: [u64; 2]) {
        self.0.iter().zip(heads).for_each(|(word, head)| word.write(head));
    }
}

/// What ghosts know a key by.
fn ghost_hash(home: &Home, tag: u16) -> u64 {
    home.hash() ^ u64::from(tag >> 8)
}
