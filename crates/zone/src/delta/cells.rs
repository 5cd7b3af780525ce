//! Cells: from the hash of a key to its entry, by open addressing.
//!
//! ```text
//! cell u64:  32 bits of the hash | number of the entry, 0 none
//! ```
//!
//! The place comes from the upper of those 32 bits, so that a larger table is made of a smaller one without looking at any key. A reader has
//! the table that the box of its view names: it knows all entries of that state, and later ones do it no harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cells at first.
const FIRST_POWER: u32 = 4;
/// Most cells are 2^30: entries are at most 2^28.
const LAST_POWER: u32 = 30;
/// Cells that are carried over for each entry that comes while the next table is filled: with twice the cells it is filled long before it is
/// needed, at an eighth of the cells more.
const CARRIED: usize = 16;

/// One table.
pub(crate) struct Cells {
    cells: Box<[AtomicU64]>,
    shift: u32,
}

impl Cells {
    fn new(power: u32) -> Cells {
        Cells { cells: (0..1usize << power).map(|_| AtomicU64::new(0)).collect(), shift: 32 - power }
    }

    /// The entry of a key with this hash for which `is_it` says so.
    #[inline(always)]
    pub(super) fn find(&self, word: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.first(word);
        // Ends: at most half of the cells are used.
        for _ in 0..self.cells.len() {
            let cell = self.cells[at].load(Ordering::Acquire);
            if cell == 0 {
                return None;
            }
            if (cell >> 32) as u32 == word && is_it(cell as u32) {
                return Some(cell as u32);
            }
            at = (at + 1) & (self.cells.len() - 1);
        }
        None
    }

    #[inline(always)]
    fn first(&self, word: u32) -> usize {
        (word >> self.shift) as usize
    }

    /// Enters an entry, all of which can be read; returns its cell.
    fn insert(&self, word: u32, entry: u32) -> usize {
        let mut at = self.first(word);
        while self.cells[at].load(Ordering::Relaxed) != 0 {
            at = (at + 1) & (self.cells.len() - 1);
        }
        self.cells[at].store(u64::from(word) << 32 | u64::from(entry), Ordering::Release);
        at
    }

    /// Octets of the table.
    pub(super) fn octets(&self) -> usize {
        size_of_val(&*self.cells)
    }
}

/// The writer's part: the table of today, and the one that is being filled.
pub(super) struct Growing {
    cells: Arc<Cells>,
    used: usize,
    /// The next table, and how many cells were carried over.
    next: Option<(Arc<Cells>, usize)>,
}

impl Growing {
    pub(super) fn new() -> Growing {
        Growing { cells: Arc::new(Cells::new(FIRST_POWER)), used: 0, next: None }
    }

    /// With room for so many entries.
    pub(super) fn with_room(entries: usize) -> Growing {
        // As long as fewer than three eighths of the cells are used there is no next table.
        let power = (8 * entries / 3 + 1).next_power_of_two().ilog2().clamp(FIRST_POWER, LAST_POWER);
        Growing { cells: Arc::new(Cells::new(power)), used: 0, next: None }
    }

    /// The table for the next box.
    pub(super) fn cells(&self) -> &Arc<Cells> {
        &self.cells
    }

    /// Enters an entry, all of which can be read.
    pub(super) fn insert(&mut self, word: u32, entry: u32) {
        let at = self.cells.insert(word, entry);
        self.used += 1;
        let cells = self.cells.cells.len();
        if self.next.is_none() && 8 * self.used >= 3 * cells {
            let power = (33 - self.cells.shift).min(LAST_POWER);
            self.next = Some((Arc::new(Cells::new(power)), 0));
        }
        let Some((next, carried)) = &mut self.next else { return };
        if at < *carried {
            next.insert(word, entry);
        }
        let end = (*carried + CARRIED).min(cells);
        for cell in &self.cells.cells[*carried..end] {
            let cell = cell.load(Ordering::Relaxed);
            if cell != 0 {
                next.insert((cell >> 32) as u32, cell as u32);
            }
        }
        *carried = end;
        if end == cells
            && let Some((next, _)) = self.next.take()
        {
            self.cells = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_found_in_each_table() {
        let mut growing = Growing::new();
        let word = |entry: u32| entry.wrapping_mul(0x9e37_79b9);
        let mut tables = Vec::new();
        for entry in 1..=20_000u32 {
            growing.insert(word(entry), entry);
            let cells = growing.cells();
            assert!(2 * growing.used <= cells.cells.len(), "at most half of them are used");
            tables.push((Arc::clone(cells), entry));
        }
        for (cells, last) in tables.iter().step_by(997) {
            for entry in 1..=*last {
                assert_eq!(cells.find(word(entry), |found| found == entry), Some(entry));
            }
            assert_eq!(cells.find(word(30_000), |_| true), None);
        }
    }

    #[test]
    fn equal_hashes_are_told_apart() {
        let mut growing = Growing::new();
        (1..=100).for_each(|entry| growing.insert(u32::MAX, entry));
        assert!((1..=100).all(|entry| growing.cells().find(u32::MAX, |found| found == entry).is_some()));
    }
}
