//! The table: from the hash of an apex to its slot, and how many apexes may be below a name.
//!
//! ```text
//! cells   | hash 38 | slot 26 |  open addressing, one after the other; 0: never used; slot 0 with any hash: a tombstone
//! above   | u8 |                 as many, or 4,096; apexes below the names with this hash, saturating
//! ```
//!
//! The place of a hash is taken from the 38 bits that the cell has, so a new table is made by one pass over the old one and reads no
//! name. Written by the one writer of the catalog, read by all.

use crate::index::Hash;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bits of a slot's number: [`super::ZONES_MAX`] of them.
const SLOT_BITS: u32 = 26;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// A cell that was never used: searches end here.
const EMPTY: u64 = 0;
/// A cell whose zone was removed: searches go on.
const TOMBSTONE: u64 = 1 << SLOT_BITS;
/// Used cells in ten at most. Fuller tables cost a search that finds nothing a second line, emptier ones memory.
const USED_MAX: usize = 7;
/// A new table has room for a quarter more zones than there are: 11.4 to 14.3 octets a zone.
const GROWTH: (usize, usize) = (5, 4);
/// Cells of the smallest table: a cache line.
const CELLS_MIN: usize = 8;
/// Least number of counts: with fewer, one deep zone, which counts at a dozen names, would keep answers below many other names from being
/// shared. A page.
const ABOVE_COUNT_MIN: usize = 4096;
/// Apexes below a name that are counted: with more, the count stays for good, and answers below the name are not shared.
const ABOVE_MAX: u8 = u8::MAX;

/// What of a hash decides: the 38 bits that a cell has, where the cell has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tag(u64);

impl Tag {
    #[inline(always)]
    pub(super) fn of(hash: Hash) -> Tag {
        Tag(hash.bits() & !SLOT_MASK)
    }

    /// Where it belongs among `count` cells.
    #[inline(always)]
    fn place(self, count: usize) -> usize {
        ((u128::from(self.0) * count as u128) >> 64) as usize
    }
}

/// Where a slot was added.
pub(super) struct Added {
    /// The cell.
    pub(super) at: usize,
    /// Whether that was never used before.
    pub(super) is_first: bool,
}

/// See the module.
pub(super) struct Table {
    cells: Box<[AtomicU64]>,
    above: Box<[AtomicU8]>,
}

impl Table {
    /// An empty table with room for `zones` and some more.
    pub(super) fn with_room(zones: usize) -> Table {
        let count = (zones * GROWTH.0 / GROWTH.1 * 10).div_ceil(USED_MAX).max(CELLS_MIN);
        Table {
            cells: (0..count).map(|_| AtomicU64::new(EMPTY)).collect(),
            above: (0..count.max(ABOVE_COUNT_MIN)).map(|_| AtomicU8::new(0)).collect(),
        }
    }

    /// Whether it takes so many used cells.
    pub(super) fn has_room(&self, used: usize) -> bool {
        used * 10 <= self.cells.len() * USED_MAX
    }

    /// Octets that it takes.
    pub(super) fn octets(&self) -> usize {
        size_of_val(&*self.cells) + size_of_val(&*self.above)
    }

    /// The slots whose cells have this hash.
    #[inline(always)]
    pub(super) fn hits(&self, tag: Tag) -> Hits<'_> {
        Hits { cells: &self.cells, tag, at: tag.place(self.cells.len()) }
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.cells.len() { 0 } else { at + 1 }
    }

    /// Reads the cells of hashes that are to be added, together, so that the misses of the memory caches overlap.
    pub(super) fn touch(&self, tags: &[Tag]) {
        let cells = tags.iter().filter_map(|tag| self.cells.get(tag.place(self.cells.len())));
        let touched = cells.fold(0, |bits, cell| bits | cell.load(Ordering::Relaxed));
        std::hint::black_box(touched);
    }

    /// Adds a slot, which is not there yet.
    pub(super) fn add(&self, tag: Tag, slot: u32) -> Added {
        let mut at = tag.place(self.cells.len());
        loop {
            let cell = self.cells[at].load(Ordering::Relaxed);
            if cell & SLOT_MASK == 0 {
                // Release: who finds the slot finds in it what was stored before.
                self.cells[at].store(tag.0 | u64::from(slot), Ordering::Release);
                return Added { at, is_first: cell == EMPTY };
            }
            at = self.after(at);
        }
    }

    /// Takes a slot out; says which cell it was in.
    pub(super) fn remove(&self, tag: Tag, slot: u32) -> Option<usize> {
        let mut at = tag.place(self.cells.len());
        loop {
            match self.cells[at].load(Ordering::Relaxed) {
                EMPTY => return None,
                cell if cell == tag.0 | u64::from(slot) => {
                    self.cells[at].store(TOMBSTONE, Ordering::Release);
                    return Some(at);
                }
                _ => at = self.after(at),
            }
        }
    }

    /// How many cells there are.
    pub(super) fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// Hash and slot of each zone whose cell is one of these.
    pub(super) fn zones_in(&self, cells: Range<usize>) -> impl Iterator<Item = (Tag, u32)> {
        let zones = self.cells[cells].iter().map(|cell| cell.load(Ordering::Relaxed));
        zones
            .filter(|cell| cell & SLOT_MASK != 0)
            .map(|cell| (Tag(cell & !SLOT_MASK), (cell & SLOT_MASK) as u32))
    }

    /// Whether there may be apexes below the name with this hash. False is certain.
    pub(super) fn is_above(&self, tag: Tag) -> bool {
        self.above_at(tag).load(Ordering::Acquire) > 0
    }

    /// Counts one more apex below the name with this hash.
    pub(super) fn count_above(&self, tag: Tag) {
        let count = self.above_at(tag);
        count.store(count.load(Ordering::Relaxed).saturating_add(1), Ordering::Release);
    }

    /// Counts as many below every name as are counted at all.
    #[cold]
    pub(super) fn count_above_all(&self) {
        self.above.iter().for_each(|count| count.store(ABOVE_MAX, Ordering::Release));
    }

    /// Counts one less.
    pub(super) fn count_not_above(&self, tag: Tag) {
        let count = self.above_at(tag);
        match count.load(Ordering::Relaxed) {
            0 | ABOVE_MAX => {}
            some => count.store(some - 1, Ordering::Release),
        }
    }

    fn above_at(&self, tag: Tag) -> &AtomicU8 {
        &self.above[tag.place(self.above.len())]
    }
}

/// See [`Table::hits`].
pub(super) struct Hits<'t> {
    cells: &'t [AtomicU64],
    tag: Tag,
    at: usize,
}

impl Iterator for Hits<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        // Ends: three cells in ten are empty.
        loop {
            let cell = self.cells.get(self.at)?.load(Ordering::Acquire);
            if cell == EMPTY {
                return None;
            }
            self.at = if self.at + 1 == self.cells.len() { 0 } else { self.at + 1 };
            if (cell ^ self.tag.0) <= SLOT_MASK && cell & SLOT_MASK != 0 {
                return Some((cell & SLOT_MASK) as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// The tag of a number; none is zero, which is that of an empty cell.
    fn tag(number: u64) -> Tag {
        Tag::of(Hash::of_apex(number + 1, 0))
    }

    #[test]
    fn what_was_added_and_not_removed_is_found() {
        let table = Table::with_room(1000);
        // Few hashes, so that many zones share one.
        for slot in 1..=1000 {
            table.add(tag(u64::from(slot) % 300), slot);
        }
        let find = |slot: u32| table.hits(tag(u64::from(slot) % 300)).find(|found| *found == slot);
        assert!((1..=1000).all(|slot| find(slot).is_some()));
        for slot in (1..=1000).step_by(3) {
            table.remove(tag(u64::from(slot) % 300), slot);
        }
        assert!((1..=1000).all(|slot| find(slot).is_some() == (slot % 3 != 1)));
        assert!(!table.add(tag(1), 1).is_first && find(1).is_some(), "a tombstone is used again");
        assert_eq!(table.hits(Tag(0)).next(), None, "an empty cell is no zone");
        assert_eq!(table.hits(Tag(TOMBSTONE)).next(), None, "a tombstone is no zone");
    }

    #[test]
    fn a_copy_reads_no_name() {
        let (small, large) = (Table::with_room(10), Table::with_room(500));
        (1..=10).for_each(|slot| assert!(small.add(tag(u64::from(slot)), slot).is_first));
        small.remove(tag(4), 4);
        small.zones_in(0..small.cell_count()).for_each(|(tag, slot)| assert!(large.add(tag, slot).is_first));
        for slot in 1..=10 {
            let found = large.hits(tag(u64::from(slot))).find(|found| *found == slot);
            assert_eq!(found.is_some(), slot != 4);
        }
    }

    #[test]
    fn a_table_costs_what_is_said() {
        for zones in [4000, 10_007, 1_000_000] {
            let table = Table::with_room(zones);
            let octets = table.octets() as f64 / zones as f64;
            assert!((9.0 * 1.78..9.0 * 1.79).contains(&octets), "{octets}");
            assert!(table.has_room(zones * 5 / 4) && !table.has_room(zones * 5 / 4 + zones / 100));
        }
    }

    #[test]
    fn counts_are_never_too_low() {
        let table = Table::with_room(100);
        let mut exact: HashMap<u64, u32> = HashMap::new();
        for step in 0..3000u64 {
            let number = step * step % 37;
            if step % 5 < 3 {
                table.count_above(tag(number));
                *exact.entry(number).or_default() += 1;
            } else if exact.get(&number).is_some_and(|count| *count > 0) {
                table.count_not_above(tag(number));
                exact.entry(number).and_modify(|count| *count -= 1);
            }
            assert!(exact.iter().all(|(number, count)| *count == 0 || table.is_above(tag(*number))));
        }
    }
}
