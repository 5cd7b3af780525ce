//! Where the entries of a shard are: slots, by the hash of their names.
//!
//! ```text
//! hash of the name   63 .......... 32 | ... | 21 .. 16 | 15 .... 8 | 7 .... 0
//!                    bucket a           shard            tag, upper   tag, lower        bucket b: of the same, multiplied
//! slot   tag: upper ^ subject 8, lower 8 | ring 1 | place 47 |         8 slots a bucket: a line of the processor's cache
//! ```
//!
//! All that is known of a name is in its two buckets, and has the same lower half of the tag: what is of one name is found without the entries of others.
//! A key's slot is found free once, and then belongs to it until the key leaves: no reader misses what is there, whatever writers do.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crate::Subject;
use crate::words::{Lines, zeroed, zeroed_octets};

/// Slots of a bucket: a line of the processor's cache.
pub(crate) const BUCKET_SLOTS: usize = 8;
/// Slots of a name.
pub(crate) const NAME_SLOTS: usize = 2 * BUCKET_SLOTS;
/// Bits of a slot that are the place in its ring.
const PLACE_BITS: u32 = 47;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// Which ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Small = 0,
    Main = 1,
}

/// A slot's word: free, or where the entry of a key lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u64);

impl Slot {
    pub(crate) const FREE: Slot = Slot(0);

    pub(crate) fn new(tag: u16, ring: Which, place: u64) -> Slot {
        debug_assert!(place <= PLACE_MASK, "a place of 1 PiB");
        Slot(u64::from(tag) << 48 | (ring as u64) << PLACE_BITS | place & PLACE_MASK)
    }

    pub(crate) fn tag(self) -> u16 {
        (self.0 >> 48) as u16
    }

    pub(crate) fn ring(self) -> Which {
        if self.0 >> PLACE_BITS & 1 == 0 { Which::Small } else { Which::Main }
    }

    pub(crate) fn place(self) -> u64 {
        self.0 & PLACE_MASK
    }
}

/// Where a name's entries are in its shard.
#[derive(Clone, Copy)]
pub(crate) struct Home {
    /// The first slots of its two buckets.
    pub(crate) buckets: [usize; 2],
    hash: u64,
}

impl Home {
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// All its slots.
    pub(crate) fn slots(&self) -> impl Iterator<Item = usize> + use<> {
        self.buckets.into_iter().flat_map(|first| first..first + BUCKET_SLOTS)
    }

    /// The tag of one of its keys. Types below 256 of one subject have different ones.
    #[inline(always)]
    pub(crate) fn tag(&self, subject: Subject) -> u16 {
        let (code, rtype) = subject.code();
        let mixed = rtype.wrapping_mul(0x9d) ^ rtype >> 8 ^ u16::from(code).wrapping_mul(0x6d);
        self.hash as u16 ^ mixed << 8
    }

    /// Whether a slot may be of this name.
    pub(crate) fn may_be(&self, slot: Slot) -> bool {
        slot != Slot::FREE && slot.tag() as u8 == self.hash as u8
    }
}

/// Slots that share a bit of `used`: those of a page.
const PART_SLOTS: usize = 512;

/// Slots and their visited bits.
pub(crate) struct Index {
    slots: Lines,
    /// A bit for each slot of a bucket.
    visited: Box<[AtomicU8]>,
    /// A bit for each [`PART_SLOTS`]: whether one of them was ever written. Set by writers, before the slot.
    used: Box<[AtomicU64]>,
    /// Parts that have no bit yet: with none, which is soon so, no bit is looked at.
    unused: AtomicUsize,
}

impl Index {
    pub(crate) fn new(buckets: usize) -> Index {
        let slots = buckets * BUCKET_SLOTS;
        let parts = slots.div_ceil(PART_SLOTS);
        let (used, unused) = (zeroed(parts.div_ceil(64)), AtomicUsize::new(parts));
        Index { slots: Lines::new(slots), visited: zeroed_octets(buckets), used, unused }
    }

    /// Whether the bucket that begins at a slot is free, as nothing was ever written near it. Memory that was never written is not to be read either: the system
    /// would have to give a page of zeros for each look, and one more when it is written. A question with forty labels looked at fifty.
    #[inline(always)]
    fn is_unused(&self, first: usize) -> bool {
        if self.unused.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let part = first / PART_SLOTS;
        self.used.get(part / 64).is_none_or(|word| word.load(Ordering::Relaxed) & 1 << (part % 64) == 0)
    }

    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    #[inline(always)]
    pub(crate) fn home(&self, hash: u64) -> Home {
        let buckets = self.visited.len() as u64;
        let bucket = |hash: u64| (((hash >> 32) * buckets) >> 32) as usize;
        let first = bucket(hash);
        let second = bucket(hash.rotate_left(32).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let second = if second == first { (first + 1) % self.visited.len() } else { second };
        Home { buckets: [first * BUCKET_SLOTS, second * BUCKET_SLOTS], hash }
    }

    #[inline]
    pub(crate) fn load(&self, slot: usize) -> Slot {
        self.slots.get(slot).map_or(Slot::FREE, |word: &AtomicU64| Slot(word.load(Ordering::Acquire)))
    }

    /// A word of the bucket that begins here, if any was written there.
    #[inline(always)]
    pub(crate) fn touch(&self, first: usize) -> u64 {
        if self.is_unused(first) { 0 } else { self.load(first).0 }
    }

    /// Which slots of a bucket have the lower half of the tag of a name with this hash: a bit each. Free ones have a tag of 0.
    #[inline(always)]
    pub(crate) fn of_name(&self, first: usize, hash: u64) -> u16 {
        if self.is_unused(first) {
            return 0;
        }
        let Some(bucket) = self.slots.get(first..).and_then(|slots| slots.first_chunk::<BUCKET_SLOTS>())
        else {
            return 0;
        };
        let is_of =
            |at: usize| u16::from((bucket[at].load(Ordering::Relaxed) >> 48) as u8 == hash as u8) << at;
        (0..BUCKET_SLOTS).fold(0, |slots, at| slots | is_of(at))
    }

    /// For the writer: all words of the entry were stored before.
    pub(crate) fn store(&self, slot: usize, value: Slot) {
        if self.is_unused(slot) {
            let word = &self.used[slot / PART_SLOTS / 64];
            word.store(word.load(Ordering::Relaxed) | 1 << (slot / PART_SLOTS % 64), Ordering::Relaxed);
            self.unused.store(self.unused.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        }
        self.slots[slot].store(value.0, Ordering::Release);
    }

    /// The slots of a name with what they say, but for those that were never written.
    pub(crate) fn written(&self, home: &Home) -> impl Iterator<Item = (usize, Slot)> + use<'_> {
        let written = home.buckets.into_iter().filter(|first| !self.is_unused(*first));
        written.flat_map(|first| first..first + BUCKET_SLOTS).map(|slot| (slot, self.load(slot)))
    }

    /// The slot with exactly this word.
    pub(crate) fn find(&self, home: &Home, value: Slot) -> Option<usize> {
        home.slots().find(|slot| self.load(*slot) == value)
    }

    /// Counts a read. A store only where it changes something: entries that are read all the time are written never.
    #[inline(always)]
    pub(crate) fn visit(&self, slot: usize) {
        let Some(bits) = self.visited.get(slot / BUCKET_SLOTS) else { return };
        let (known, bit) = (bits.load(Ordering::Relaxed), 1 << (slot % BUCKET_SLOTS));
        if known & bit == 0 {
            bits.store(known | bit, Ordering::Relaxed);
        }
    }

    /// The bits of a bucket.
    #[inline(always)]
    pub(crate) fn visits(&self, first: usize) -> u8 {
        self.visited.get(first / BUCKET_SLOTS).map_or(0, |bits| bits.load(Ordering::Relaxed))
    }

    pub(crate) fn is_visited(&self, slot: usize) -> bool {
        self.visited[slot / BUCKET_SLOTS].load(Ordering::Relaxed) & 1 << (slot % BUCKET_SLOTS) != 0
    }

    pub(crate) fn set_visited(&self, slot: usize, is_visited: bool) {
        let bits = &self.visited[slot / BUCKET_SLOTS];
        let (known, bit) = (bits.load(Ordering::Relaxed), 1 << (slot % BUCKET_SLOTS));
        bits.store(if is_visited { known | bit } else { known & !bit }, Ordering::Relaxed);
    }

    /// A free slot of the emptier bucket.
    pub(crate) fn free_slot(&self, home: &Home) -> Option<usize> {
        let used = |first: usize| match self.is_unused(first) {
            true => 0,
            false => (first..first + BUCKET_SLOTS).filter(|slot| self.load(*slot) != Slot::FREE).count(),
        };
        let [a, b] = home.buckets;
        let first = if used(b) < used(a) { b } else { a };
        if self.is_unused(first) {
            return Some(first);
        }
        (first..first + BUCKET_SLOTS).find(|slot| self.load(*slot) == Slot::FREE)
    }

    /// Which slot gives way where none is free, of those that `may_go`: one not visited before one visited, of the small ring before the main; of equals
    /// by `turn`.
    pub(crate) fn victim(&self, home: &Home, turn: usize, may_go: impl Fn(usize) -> bool) -> Option<usize> {
        let weight = |slot: usize| (self.is_visited(slot), self.load(slot).ring() == Which::Main);
        let nth = |number: usize| home.buckets[number / BUCKET_SLOTS % 2] + number % BUCKET_SLOTS;
        let slots = (0..NAME_SLOTS).map(|number| nth(turn.wrapping_add(number)));
        slots.filter(|slot| may_go(*slot)).min_by_key(|slot| weight(*slot))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Wherever names lie: what is stored is found, also where it is the first in its page; once all pages have something no bit is looked at.
    #[test]
    fn slots_that_were_never_written() {
        let index = Index::new(1_000);
        let parts = (1_000 * BUCKET_SLOTS).div_ceil(PART_SLOTS);
        assert_eq!(index.unused.load(Ordering::Relaxed), parts);
        let mut stored = Vec::new();
        for number in 1..=2_000_u64 {
            let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let home = index.home(hash);
            let Some(slot) = index.free_slot(&home) else { continue };
            assert!(home.slots().any(|one| one == slot), "{number}");
            let word = Slot::new(home.tag(Subject::Cut), Which::Small, number);
            index.store(slot, word);
            stored.push((home, slot, word));
            let found = home
                .buckets
                .map(|first| (index.of_name(first, hash) != 0, slot - slot % BUCKET_SLOTS == first));
            assert!(found.into_iter().any(|found| found == (true, true)), "{number}");
        }
        assert_eq!(index.unused.load(Ordering::Relaxed), 0);
        for (home, slot, word) in &stored {
            assert!(index.written(home).any(|one| one == (*slot, *word)));
            index.store(*slot, Slot::FREE);
        }
        assert_eq!(index.unused.load(Ordering::Relaxed), 0, "what was written once stays so");
    }
}
