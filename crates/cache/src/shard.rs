//! A part of the store: an index, two rings, and what those who write to it have under their lock.
//!
//! ```text
//! put, new ----------> small ring --(at its tail, read since)--> main ring --(at its tail, read since)--> main ring again
//!   `- known as a ghost: main ring    `- else: out, a ghost                   `- else: out
//! put, refresh ------> small ring; counts as read if it was in the main ring
//! ```
//!
//! Order of every move: words, slot, tail. So a reader that finds a slot finds an entry, or finds the slot changed when it looks again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::entry::{self, Entry, Fixed};
use crate::ghosts::Ghosts;
use crate::index::{Home, Index, NAME_SLOTS, Slot, Which};
use crate::limits::{Limits, MINOR_MAX};
use crate::marks::Marks;
use crate::rank::{self, Effect};
use crate::ring::{ENTRY_WORDS_MAX, Ring};
use crate::sweep::KEY_WORDS;
use crate::{Key, Moment, Secret};

/// Of the words of a shard one part of so many is the small ring (S3-FIFO: a tenth is best over many traces).
const SMALL_PART: usize = 10;
/// Entries that one `put` appends to the main ring again; then what is at the tail leaves, read or not. 32 take about 5 us.
const SURVIVORS_MAX: usize = 32;
/// Words of those: copying them takes about 10 us, for which others wait.
const SURVIVING_WORDS_MAX: usize = 8192;
/// Larger entries stay in the small ring, however often they are read: in the main ring one would take the place of fifty.
const MAIN_WORDS_MAX: usize = 512;
/// A read counts from so long after an entry came: clients ask twice when they are impatient, a resolver reads what it has just stored, and who floods would as well.
const READ_COUNTS_AFTER_MS: u64 = 1_000;
/// Dead entries at the tail of the main ring that are passed for one that leaves the small ring unread.
const SPARE_STEPS_MAX: usize = 4;
/// How often a reader looks again when an entry was written over while it copied: each time it was off its core while a ring's slack was written.
pub(crate) const READS_MAX: usize = 4;

/// What all shards share.
pub(crate) struct Shared {
    pub(crate) secret: Secret,
    pub(crate) limits: Limits,
    pub(crate) marks: Marks,
    /// The latest time that something was put, to a second.
    pub(crate) clock: AtomicU64,
}

impl Shared {
    /// Whether a read of what was stored then counts.
    #[inline]
    pub(crate) fn counts(&self, stored: Moment) -> bool {
        stored.0 + READ_COUNTS_AFTER_MS <= self.clock.load(Ordering::Relaxed)
    }

    /// Written once a second, so that readers share it.
    fn note_time(&self, now: Moment) {
        if now.0 >= self.clock.load(Ordering::Relaxed) + 1_000 {
            self.clock.store(now.0, Ordering::Relaxed);
        }
    }
}

/// See the module. Lines of their own: what readers read of one is not next to what writers of another write.
#[repr(align(64))]
pub(crate) struct Shard {
    number: usize,
    pub(crate) index: Index,
    rings: [Ring; 2],
    writer: Mutex<Writer>,
    /// Reads that gave up: what was there was written over each time.
    overtaken: AtomicU64,
}

/// What is under the lock.
pub(crate) struct Writer {
    /// Where the next entry of each ring goes.
    pub(crate) heads: [u64; 2],
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
    pub(crate) counts: Counts,
}

/// What is known of a name when something is put: slots, by their number in the name's buckets.
#[derive(Default)]
pub(crate) struct Neighbours {
    /// The slot of the key, and what it has.
    present: Option<(usize, Option<Entry<'static>>)>,
    /// What goes: it is contradicted, or one too many.
    out: [Option<usize>; NAME_SLOTS],
    /// What does not leave for the entry.
    protected: [Option<usize>; NAME_SLOTS],
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
    /// Reads that found nothing as what was there was written over each time that they looked.
    pub overtaken: u64,
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
        self.overtaken += other.overtaken;
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
    /// Of so many octets: for each 64 of ring a slot of 8, a bit of visited, and a ghost.
    pub(crate) fn of(octets: usize) -> Shape {
        let bucket = 8 * OCTETS_PER_SLOT + 8 * 8 + 1 + Ghosts::octets(8);
        let buckets = (octets / bucket).max(2);
        let words = buckets * OCTETS_PER_SLOT;
        Shape { buckets, small_words: words / SMALL_PART, main_words: words - words / SMALL_PART }
    }

    /// Octets that a shard of this shape takes.
    pub(crate) fn octets(&self) -> usize {
        self.buckets * (8 * 8 + 1 + Ghosts::octets(8)) + (self.small_words + self.main_words) * 8
    }
}

impl Shard {
    pub(crate) fn new(number: usize, shape: Shape) -> Shard {
        let ((small, small_head), (main, main_head)) =
            (Ring::new(shape.small_words), Ring::new(shape.main_words));
        let writer = Writer {
            heads: [small_head, main_head],
            ghosts: Ghosts::new(shape.buckets * 8),
            turn: 0,
            survivors: 0,
            surviving_words: 0,
            put: Vec::new(),
            kept: Vec::new(),
            leaving: [const { Vec::new() }; 2],
            counts: Counts::default(),
        };
        Shard {
            number,
            index: Index::new(shape.buckets),
            rings: [small, main],
            writer: Mutex::new(writer),
            overtaken: AtomicU64::new(0),
        }
    }

    pub(crate) fn ring(&self, which: Which) -> &Ring {
        &self.rings[which as usize]
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        // A panic in here is a fault of ours; what it leaves is at worst an entry that is not found.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts { overtaken: self.overtaken.load(Ordering::Relaxed), ..self.lock().counts }
    }

    /// Copies the entry of `key`: its slot, what that says, and how many octets.
    #[inline(always)]
    pub(crate) fn copy(&self, home: &Home, key: &Key<'_>, to: &mut Vec<u8>) -> Option<(usize, Slot, usize)> {
        let tag = home.tag(key.subject);
        for _ in 0..READS_MAX {
            let mut has_moved = false;
            for first in home.buckets {
                let mut matches = self.index.matches(first, tag);
                while matches != 0 {
                    let slot = first + matches.trailing_zeros() as usize;
                    matches &= matches - 1;
                    let word = self.index.load(slot);
                    if word.tag() != tag || word == Slot::FREE {
                        continue;
                    }
                    match self.ring(word.ring()).copy(word.place(), to) {
                        Some(octets) if entry::is_of(&to[..octets], key) => {
                            return Some((slot, word, octets));
                        }
                        Some(_) => {}
                        None => has_moved = true,
                    }
                }
            }
            if !has_moved {
                return None;
            }
        }
        self.overtaken.fetch_add(1, Ordering::Relaxed);
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
        shared.note_time(now);
        if !rank::is_kept(key, entry) || shared.marks.refuse(key.name, asked) {
            return false;
        }
        let Some(neighbours) = self.look_around(writer, home, key, entry, now) else { return false };
        let kept = neighbours.present.and_then(|(_, kept)| kept);
        let ttl = shared.limits.ttl_of(key.subject, entry, kept.as_ref(), now);
        writer.put.clear();
        if !entry::write(key, &Entry { ttl, ..*entry }, &mut writer.put)
            || writer.put.len() / 8 > self.entry_words_max()
        {
            return false;
        }
        neighbours.out.iter().flatten().for_each(|slot| self.take_out(writer, *slot));
        let octets = std::mem::take(&mut writer.put);
        let is_kept = self.place(writer, shared, home, key, &neighbours, &octets, now);
        writer.put = octets;
        is_kept
    }

    /// What else is known of the name; `None`: something of that stands against the entry.
    fn look_around(
        &self,
        writer: &mut Writer,
        home: &Home,
        key: &Key<'_>,
        entry: &Entry<'_>,
        now: Moment,
    ) -> Option<Neighbours> {
        let mut neighbours = Neighbours::default();
        let (mut minors, mut oldest_minor) = (0, None);
        for (number, (slot, word)) in self.of_name(home).enumerate() {
            let Some(count) = self.ring(word.ring()).copy_some(word.place(), KEY_WORDS, &mut writer.kept)
            else {
                continue;
            };
            let octets = &writer.kept[..count];
            let (Some(other), Some((fixed, _))) = (entry::key_of(octets), Fixed::of(octets)) else {
                continue;
            };
            let Some(known) = fixed.entry().filter(|_| other.name == key.name) else { continue };
            let effect = rank::effect(key.subject, other.subject);
            let is_own = other.subject == key.subject;
            if (is_own || effect == Effect::OutUnlessStands) && rank::stands(&known, entry, now) {
                return None;
            }
            if is_own {
                neighbours.present = Some((slot, Some(known)));
            } else if effect != Effect::None {
                neighbours.out[number] = Some(slot);
            } else if rank::is_minor(other.subject, known.kind) {
                minors += 1;
                oldest_minor = oldest_minor.min(Some((known.stored, slot))).or(Some((known.stored, slot)));
            } else if rank::is_protected(other.subject, known.kind)
                && !matches!(entry.kind, entry::Kind::Data | entry::Kind::Cut)
            {
                neighbours.protected[number] = Some(slot);
            }
        }
        if minors >= MINOR_MAX && neighbours.present.is_none() && rank::is_minor(key.subject, entry.kind) {
            let free = neighbours.out.iter_mut().find(|out| out.is_none());
            free.into_iter().for_each(|out| *out = oldest_minor.map(|(_, slot)| slot));
        }
        Some(neighbours)
    }

    /// Takes in an entry that was dumped, unless something newer is known of its name. `is_proven`: it was of use before.
    pub(crate) fn restore(
        &self,
        shared: &Shared,
        home: &Home,
        key: &Key<'_>,
        entry: &Entry<'_>,
        is_proven: bool,
        now: Moment,
    ) -> bool {
        let writer = &mut *self.lock();
        let Some(neighbours) = self.look_around(writer, home, key, entry, now) else { return false };
        if neighbours.present.is_some() || neighbours.out.iter().any(Option::is_some) {
            return false;
        }
        writer.put.clear();
        if !entry::write(key, entry, &mut writer.put) || writer.put.len() / 8 > self.entry_words_max() {
            return false;
        }
        if is_proven {
            writer.ghosts.insert(ghost_hash(home, home.tag(key.subject)));
        }
        let octets = std::mem::take(&mut writer.put);
        let is_kept = self.place(writer, shared, home, key, &neighbours, &octets, now);
        writer.put = octets;
        is_kept
    }

    /// Whether the entry at a place is in the index and not flushed: then, whether it was read lately. Under the lock.
    pub(crate) fn is_live(&self, shared: &Shared, which: Which, place: u64, octets: &[u8]) -> Option<bool> {
        let key = entry::key_of(octets)?;
        let home = self.index.home(shared.secret.hash(key.name.octets()));
        let word = Slot::new(home.tag(key.subject), which, place);
        let slot = self.index.find(&home, word)?;
        (!shared.marks.hide(&shared.secret, key.name, self.number, word)).then(|| self.index.is_visited(slot))
    }

    /// Puts octets of an entry where they belong.
    #[allow(clippy::too_many_arguments)] // the parts of one `put`
    pub(crate) fn place(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        home: &Home,
        key: &Key<'_>,
        neighbours: &Neighbours,
        octets: &[u8],
        now: Moment,
    ) -> bool {
        let (words, present) = (octets.len() / 8, neighbours.present.map(|(slot, _)| slot));
        let tag = home.tag(key.subject);
        let is_main =
            |slot: Option<usize>| slot.is_some_and(|slot| self.index.load(slot).ring() == Which::Main);
        let was_main = is_main(present);
        let is_ghost = present.is_none() && writer.ghosts.take(ghost_hash(home, tag));
        let which = if is_ghost && words <= MAIN_WORDS_MAX { Which::Main } else { Which::Small };
        (writer.survivors, writer.surviving_words) = (0, 0);
        self.make_room(writer, shared, which, words, now);
        // The room may have been made of the key's own old copy; then its slot is free, and still its own. Or that was moved.
        let was_main = was_main || is_main(present);
        let free = present.or_else(|| self.index.free_slot(home));
        let Some(slot) = free.or_else(|| self.make_slot(writer, home, neighbours)) else { return false };
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

    /// A slot of buckets that are full; `None`: all are of the same name, and worth more.
    fn make_slot(&self, writer: &mut Writer, home: &Home, neighbours: &Neighbours) -> Option<usize> {
        writer.turn = writer.turn.wrapping_add(1);
        let slot =
            self.index.victim(home, writer.turn, |slot| !neighbours.protected.contains(&Some(slot)))?;
        self.take_out(writer, slot);
        writer.counts.evicted_index += 1;
        Some(slot)
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
        let words = octets.len() / 8;
        let may_survive = match which {
            Which::Small => words <= MAIN_WORDS_MAX,
            Which::Main => writer.survivors < SURVIVORS_MAX && writer.surviving_words < SURVIVING_WORDS_MAX,
        };
        if is_visited && may_survive {
            writer.survivors += usize::from(which == Which::Main);
            writer.surviving_words += if which == Which::Main { words } else { 0 };
            return self.keep_on(writer, shared, (slot, word, which), octets, now);
        }
        match which {
            Which::Small if words <= MAIN_WORDS_MAX && self.has_spare(writer, shared, words, now) => {
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
