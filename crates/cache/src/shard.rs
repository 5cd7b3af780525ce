//! A part of the store: an index, two rings, and what those who write to it have under their lock.
//!
//! ```text
//! put, new ----------> small ring --(at its tail, read since)--> main ring --(at its tail, read since)--> main ring again
//!   `- known as a ghost: main ring    `- else: out, a ghost                   `- else: out
//! put, refresh ------> small ring; counts as read if it was in the main ring
//! ```
//!
//! Order of every move: words, slot, tail. So a reader that finds a slot finds an entry, or finds the slot changed when it looks again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::entry::{self, Entry, Fixed};
use crate::ghosts::Ghosts;
use crate::index::{Home, Index, Slot, Which, candidates};
use crate::limits::Limits;
use crate::marks::Marks;
use crate::rank::{self, Effect};
use crate::ring::{ENTRY_WORDS_MAX, Ring};
use crate::sweep::KEY_WORDS;
use crate::{Key, Moment, Secret};

/// Of the words of a shard one part of so many is the small ring (S3-FIFO: a tenth is best over many traces).
const SMALL_PART: usize = 10;
/// Entries that one `put` appends to the main ring again; then what is at the tail leaves, read or not. 32 take about 5 us.
const SURVIVORS_MAX: usize = 32;
/// Dead entries at the tail of the main ring that are passed for one that leaves the small ring unread.
const SPARE_STEPS_MAX: usize = 4;
/// How often a reader looks again when an entry was written over while it copied: each time it was off its core while a ring's slack was written.
pub(crate) const READS_MAX: usize = 4;

/// What all shards share.
pub(crate) struct Shared {
    pub(crate) secret: Secret,
    pub(crate) limits: Limits,
    pub(crate) marks: Marks,
}

/// See the module. Lines of their own: what readers read of one is not next to what writers of another write.
#[repr(align(64))]
pub(crate) struct Shard {
    number: usize,
    pub(crate) index: Index,
    rings: [Ring; 2],
    writer: Mutex<Writer>,
}

/// What is under the lock.
pub(crate) struct Writer {
    /// Where the next entry of each ring goes.
    pub(crate) heads: [u64; 2],
    ghosts: Ghosts,
    /// Turns through the slots of full buckets.
    turn: usize,
    survivors: usize,
    /// Room for entries: what is put, what is compared with, what leaves each ring.
    put: Vec<u8>,
    kept: Vec<u8>,
    leaving: [Vec<u8>; 2],
    pub(crate) counts: Counts,
}

/// What writers count. All but `entries` and `octets` only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries that are kept now.
    pub entries: u64,
    /// Octets of those in the rings.
    pub octets: u64,
    /// Entries that were put, those that replaced others among them.
    pub puts: u64,
    /// Refused: what is kept is believed more, or was flushed since they were asked for, or they may not be kept.
    pub refused: u64,
    /// Of those that left for room: had never been read since they came.
    pub evicted_unread: u64,
    /// Had been read before, not lately.
    pub evicted: u64,
    /// Left as both buckets of their name were full.
    pub evicted_index: u64,
    /// Were there no longer of use when their turn came.
    pub expired: u64,
    /// Moved to the main ring, or appended to it again.
    pub kept_on: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        self.entries += other.entries;
        self.octets += other.octets;
        self.puts += other.puts;
        self.refused += other.refused;
        self.evicted_unread += other.evicted_unread;
        self.evicted += other.evicted;
        self.evicted_index += other.evicted_index;
        self.expired += other.expired;
        self.kept_on += other.kept_on;
    }
}

/// How the octets of a shard are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) buckets: usize,
    pub(crate) small_words: usize,
    pub(crate) main_words: usize,
}

/// Octets of ring for each slot: what the shortest usual entries take.
const OCTETS_PER_SLOT: usize = 64;

impl Shape {
    /// Of so many octets: for each 64 of ring a slot of 8, a bit of visited, and a ghost for every other.
    pub(crate) fn of(octets: usize) -> Shape {
        let bucket = 8 * OCTETS_PER_SLOT + 8 * 8 + 1 + Ghosts::octets(4);
        let buckets = (octets / bucket).max(2);
        let words = buckets * OCTETS_PER_SLOT;
        Shape { buckets, small_words: words / SMALL_PART, main_words: words - words / SMALL_PART }
    }

    /// Octets that a shard of this shape takes.
    pub(crate) fn octets(&self) -> usize {
        self.buckets * (8 * 8 + 1 + Ghosts::octets(4)) + (self.small_words + self.main_words) * 8
    }
}

impl Shard {
    pub(crate) fn new(number: usize, shape: Shape) -> Shard {
        let ((small, small_head), (main, main_head)) =
            (Ring::new(shape.small_words), Ring::new(shape.main_words));
        let writer = Writer {
            heads: [small_head, main_head],
            ghosts: Ghosts::new(shape.buckets * 4),
            turn: 0,
            survivors: 0,
            put: Vec::new(),
            kept: Vec::new(),
            leaving: [const { Vec::new() }; 2],
            counts: Counts::default(),
        };
        Shard { number, index: Index::new(shape.buckets), rings: [small, main], writer: Mutex::new(writer) }
    }

    pub(crate) fn ring(&self, which: Which) -> &Ring {
        &self.rings[which as usize]
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        // A panic in here is a fault of ours; what it leaves is at worst an entry that is not found.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the entry of `key`: its slot, what that says, and how many octets.
    #[inline]
    pub(crate) fn copy(&self, home: &Home, key: &Key<'_>, to: &mut Vec<u8>) -> Option<(usize, Slot, usize)> {
        for _ in 0..READS_MAX {
            let mut has_moved = false;
            for (slot, word) in candidates(&self.index, home, key) {
                match self.ring(word.ring()).copy(word.place(), to) {
                    Some(octets) if entry::is_of(&to[..octets], key) => return Some((slot, word, octets)),
                    Some(_) => {}
                    None => has_moved = true,
                }
            }
            if !has_moved {
                return None;
            }
        }
        None
    }

    /// Keeps an entry, or says that it does not. `entry` is stored since now.
    pub(crate) fn put(
        &self,
        shared: &Shared,
        home: &Home,
        key: &Key<'_>,
        entry: &Entry<'_>,
        asked: Moment,
        now: Moment,
    ) -> bool {
        let writer = &mut *self.lock();
        let is_kept = self.put_locked(writer, shared, home, key, entry, asked, now);
        writer.counts.refused += u64::from(!is_kept);
        is_kept
    }

    #[allow(clippy::too_many_arguments)] // what `put` has, and the lock
    fn put_locked(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        home: &Home,
        key: &Key<'_>,
        entry: &Entry<'_>,
        asked: Moment,
        now: Moment,
    ) -> bool {
        if !rank::is_kept(key, entry)
            || shared.marks.refuse(key.name, asked)
            || self.is_refused_by_others(writer, home, key, entry, now)
        {
            return false;
        }
        let present = self.copy(home, key, &mut writer.kept);
        let kept = present.and_then(|(_, _, octets)| entry::read(&writer.kept[..octets]));
        if kept.as_ref().is_some_and(|kept| rank::stands(kept, entry, now)) {
            return false;
        }
        let ttl = shared.limits.ttl_of(entry, kept.as_ref(), now);
        writer.put.clear();
        if !entry::write(key, &Entry { ttl, ..*entry }, &mut writer.put) {
            return false;
        }
        self.take_out_others(writer, home, key);
        let octets = std::mem::take(&mut writer.put);
        let is_kept = self.place(writer, shared, home, key, present.map(|(slot, _, _)| slot), &octets, now);
        writer.put = octets;
        is_kept
    }

    /// Puts octets of an entry where they belong. `present`: the slot of the key.
    #[allow(clippy::too_many_arguments)] // the parts of one `put`
    pub(crate) fn place(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        home: &Home,
        key: &Key<'_>,
        present: Option<usize>,
        octets: &[u8],
        now: Moment,
    ) -> bool {
        let words = octets.len() / 8;
        if words > self.entry_words_max() {
            return false;
        }
        let tag = home.tag(key.subject);
        let is_main =
            |slot: Option<usize>| slot.is_some_and(|slot| self.index.load(slot).ring() == Which::Main);
        let was_main = is_main(present);
        let is_ghost = present.is_none() && writer.ghosts.take(ghost_hash(home, tag));
        let which = if is_ghost { Which::Main } else { Which::Small };
        writer.survivors = 0;
        self.make_room(writer, shared, which, words, now);
        // The room may have been made of the key's own old copy; then its slot is free, and still its own. Or that was moved.
        let was_main = was_main || is_main(present);
        let slot =
            present.or_else(|| self.index.free_slot(home)).unwrap_or_else(|| self.make_slot(writer, home));
        self.count_out(writer, self.index.load(slot));
        let place = self.ring(which).append(&mut writer.heads[which as usize], octets);
        self.index.store(slot, Slot::new(tag, which, place));
        if present.is_none() || was_main {
            self.index.set_visited(slot, was_main);
        }
        writer.counts.puts += 1;
        writer.counts.entries += 1;
        writer.counts.octets += octets.len() as u64;
        true
    }

    /// Most words of an entry: four of them fit into the small ring, so that no one throws out all that is there on probation.
    fn entry_words_max(&self) -> usize {
        ENTRY_WORDS_MAX.min(self.ring(Which::Small).len() / 4)
    }

    /// Whether something else of the name stands against the entry.
    fn is_refused_by_others(
        &self,
        writer: &mut Writer,
        home: &Home,
        key: &Key<'_>,
        entry: &Entry<'_>,
        now: Moment,
    ) -> bool {
        let kept = &mut writer.kept;
        self.of_name(home).any(|(_, slot)| {
            let Some(octets) = self.ring(slot.ring()).copy(slot.place(), kept) else { return false };
            let (Some(other), Some(found)) = (entry::key_of(&kept[..octets]), entry::read(&kept[..octets]))
            else {
                return false;
            };
            other.name == key.name
                && rank::effect(key.subject, other.subject) == Effect::OutUnlessStands
                && rank::stands(&found, entry, now)
        })
    }

    fn take_out_others(&self, writer: &mut Writer, home: &Home, key: &Key<'_>) {
        for (number, slot) in self.of_name(home) {
            let Some(octets) = self.ring(slot.ring()).copy(slot.place(), &mut writer.kept) else { continue };
            let Some(other) = entry::key_of(&writer.kept[..octets]) else { continue };
            if other.name == key.name && rank::effect(key.subject, other.subject) != Effect::None {
                self.take_out(writer, number);
            }
        }
    }

    /// Slots that may be of the name. Under the lock, or for those who look again.
    pub(crate) fn of_name(&self, home: &Home) -> impl Iterator<Item = (usize, Slot)> + use<'_> {
        let home = *home;
        home.slots().map(|slot| (slot, self.index.load(slot))).filter(move |(_, word)| home.may_be(*word))
    }

    /// Frees a slot.
    pub(crate) fn take_out(&self, writer: &mut Writer, slot: usize) {
        self.count_out(writer, self.index.load(slot));
        self.index.store(slot, Slot::FREE);
    }

    fn count_out(&self, writer: &mut Writer, slot: Slot) {
        if slot != Slot::FREE {
            writer.counts.entries -= 1;
            writer.counts.octets -= 8 * self.ring(slot.ring()).words_at(slot.place()) as u64;
        }
    }

    /// A slot of buckets that are full.
    fn make_slot(&self, writer: &mut Writer, home: &Home) -> usize {
        writer.turn = writer.turn.wrapping_add(1);
        let slot = self.index.victim(home, writer.turn);
        self.take_out(writer, slot);
        writer.counts.evicted_index += 1;
        slot
    }

    /// Has entries leave a ring until so many words are free; of the main ring as many more as the largest entry has, for what is appended again.
    fn make_room(&self, writer: &mut Writer, shared: &Shared, which: Which, words: usize, now: Moment) {
        let slack = if which == Which::Main { self.entry_words_max() } else { 0 };
        while self.ring(which).free(writer.heads[which as usize]) < words + slack {
            self.pass_tail(writer, shared, which, now);
        }
    }

    /// Decides on the entry at the tail of a ring, and moves the tail beyond it.
    fn pass_tail(&self, writer: &mut Writer, shared: &Shared, which: Which, now: Moment) {
        let ring = self.ring(which);
        let place = ring.tail();
        let words = ring.words_at(place);
        let mut leaving = std::mem::take(&mut writer.leaving[which as usize]);
        let octets = ring.copy(place, &mut leaving).expect("the tail is at an entry");
        self.decide(writer, shared, (which, place), &leaving[..octets], now);
        writer.leaving[which as usize] = leaving;
        ring.advance_tail(ring.beyond(place, words));
    }

    fn decide(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        (which, place): (Which, u64),
        octets: &[u8],
        now: Moment,
    ) {
        let key = entry::key_of(octets).expect("entries have keys");
        let (fixed, _) = Fixed::of(octets).expect("entries have fixed fields");
        let home = self.index.home(shared.secret.hash(key.name.octets()));
        let word = Slot::new(home.tag(key.subject), which, place);
        let Some(slot) = self.index.find(&home, word) else { return };
        if shared.limits.last_use(key.subject, fixed.end()) <= now
            || shared.marks.hide(&shared.secret, key.name, self.number, word)
        {
            writer.counts.expired += 1;
            return self.take_out(writer, slot);
        }
        let is_visited = self.index.is_visited(slot);
        if is_visited && (which == Which::Small || writer.survivors < SURVIVORS_MAX) {
            writer.survivors += usize::from(which == Which::Main);
            return self.keep_on(writer, shared, (slot, word, which), octets, now);
        }
        match which {
            Which::Small if self.has_spare(writer, shared, octets.len() / 8, now) => {
                return self.keep_on(writer, shared, (slot, word, which), octets, now);
            }
            Which::Small => {
                writer.ghosts.insert(ghost_hash(&home, word.tag()));
                writer.counts.evicted_unread += 1;
            }
            Which::Main => writer.counts.evicted += 1,
        }
        self.take_out(writer, slot);
    }

    /// Whether the main ring has room for so many words without anything of use leaving it: it has not been full yet, or what is at its tail is dead or
    /// has expired. Then what was not read stays too.
    fn has_spare(&self, writer: &mut Writer, shared: &Shared, words: usize, now: Moment) -> bool {
        let ring = self.ring(Which::Main);
        for _ in 0..SPARE_STEPS_MAX {
            if ring.free(writer.heads[Which::Main as usize]) >= words + self.entry_words_max() {
                return true;
            }
            let mut octets = std::mem::take(&mut writer.leaving[Which::Main as usize]);
            let is_of_use = self.is_of_use(shared, ring.tail(), &mut octets, now);
            writer.leaving[Which::Main as usize] = octets;
            if is_of_use {
                return false;
            }
            self.pass_tail(writer, shared, Which::Main, now);
        }
        false
    }

    /// Whether the entry at a place of the main ring is in the index, and has not expired for good.
    fn is_of_use(&self, shared: &Shared, place: u64, octets: &mut Vec<u8>, now: Moment) -> bool {
        let Some(count) = self.ring(Which::Main).copy_some(place, KEY_WORDS, octets) else { return false };
        let (Some(key), Some((fixed, _))) = (entry::key_of(&octets[..count]), Fixed::of(&octets[..count]))
        else {
            return false;
        };
        let home = self.index.home(shared.secret.hash(key.name.octets()));
        let word = Slot::new(home.tag(key.subject), Which::Main, place);
        self.index.find(&home, word).is_some() && shared.limits.last_use(key.subject, fixed.end()) > now
    }

    /// Appends an entry to the main ring, its visited bit clear.
    fn keep_on(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        (slot, word, from): (usize, Slot, Which),
        octets: &[u8],
        now: Moment,
    ) {
        if from == Which::Small {
            self.make_room(writer, shared, Which::Main, octets.len() / 8, now);
        }
        let place = self.ring(Which::Main).append(&mut writer.heads[Which::Main as usize], octets);
        self.index.set_visited(slot, false);
        self.index.store(slot, Slot::new(word.tag(), Which::Main, place));
        writer.counts.kept_on += 1;
    }
}

/// What ghosts know a key by.
fn ghost_hash(home: &Home, tag: u16) -> u64 {
    home.hash() ^ u64::from(tag >> 8)
}
