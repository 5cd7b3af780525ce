//! How the octets of a shard are divided between slots and rings.

use crate::ghosts::Ghosts;
use crate::index::BUCKET_SLOTS;

/// Of the words of a shard one part of so many is the small ring (S3-FIFO: a tenth is best over many traces).
const SMALL_PART: usize = 10;
/// Octets of ring for each slot while nothing is known of entries: what the shortest usual ones take.
pub(crate) const PER_SLOT_FIRST: usize = 64;
/// The fewest: no entry that names one host is shorter.
const PER_SLOT_MIN: usize = 40;
/// The most: then slots and ghosts are a fiftieth of all, and there is no more to be had.
const PER_SLOT_MAX: usize = 512;
/// Entries before their mean length says something.
const ENTRIES_MIN: u64 = 512;

/// How many buckets and words a shard has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) buckets: usize,
    pub(crate) small_words: usize,
    pub(crate) main_words: usize,
}

/// How full a shard is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling {
    pub(crate) entries: u64,
    pub(crate) octets: u64,
    pub(crate) slots: u64,
    /// Words of both rings, and of these written at least once.
    pub(crate) words: u64,
    pub(crate) written: u64,
}

impl Shape {
    /// Of so many octets, a slot of 8, a bit of visited, and a ghost for each `per_slot` of ring.
    pub(crate) fn of(octets: usize, per_slot: usize) -> Shape {
        let bucket = BUCKET_SLOTS * per_slot + BUCKET_SLOTS * 8 + 1 + Ghosts::octets(BUCKET_SLOTS);
        let buckets = (octets / bucket).max(2);
        let words = buckets * per_slot * BUCKET_SLOTS / 8;
        Shape { buckets, small_words: words / SMALL_PART, main_words: words - words / SMALL_PART }
    }
}

impl Filling {
    /// Octets of ring for each slot.
    pub(crate) fn per_slot(&self) -> usize {
        (self.words * 8 / self.slots) as usize
    }

    /// Octets of ring for each slot that entries as long as those that are kept would have slots and rings full with; `None`: what there is is near that, or too little is kept to tell.
    pub(crate) fn per_slot_wanted(&self) -> Option<usize> {
        let is_half_full = self.entries * 2 > self.slots || self.written * 2 > self.words;
        if !is_half_full || self.entries < ENTRIES_MIN {
            return None;
        }
        // Buckets fill unevenly: with an eighth to spare one entry in a thousand finds both of its own full.
        let wanted = (self.octets / self.entries) as usize * 7 / 8;
        let wanted = wanted.clamp(PER_SLOT_MIN, PER_SLOT_MAX);
        let has = self.per_slot();
        // Too few slots leave ring empty, octet for octet; too many cost a sixth of that.
        (wanted * 20 < has * 17 || wanted * 2 > has * 3).then_some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_the_mean_length() {
        let shape = Shape::of(8 << 20, PER_SLOT_FIRST);
        let (slots, words) = (shape.buckets as u64 * 8, (shape.small_words + shape.main_words) as u64);
        let check = |entries: u64, octets: u64, expected: Option<usize>| {
            let filling = Filling { entries, octets: octets * entries, slots, words, written: words };
            assert_eq!(filling.per_slot_wanted(), expected, "{entries} of {octets}");
        };
        check(slots, 48, Some(42));
        check(slots, 24, Some(40));
        check(slots, 72, None);
        check(slots / 2, 104, None);
        check(slots / 8, 496, Some(434));
        check(slots / 100, 5_000, Some(512));
        check(100, 48, None);
        let few = Filling { entries: slots / 2, octets: slots * 24, slots, words, written: words / 3 };
        assert_eq!(few.per_slot_wanted(), None, "nothing is short of room");
    }

    #[test]
    fn takes_what_it_is_given() {
        for per_slot in [40, 64, 200, 512] {
            let shape = Shape::of(1 << 20, per_slot);
            let octets = (shape.small_words + shape.main_words) * 8 + shape.buckets * (64 + 1 + 16);
            assert!(octets <= 1 << 20 && octets > (1 << 20) - 8192, "{per_slot}: {octets}");
        }
    }
}
