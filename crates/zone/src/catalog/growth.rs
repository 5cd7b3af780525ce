//! How the table grows: the next one is filled while the present one still has room, some cells with each zone that is added, so that
//! nobody waits for all of them.
//!
//! ```text
//! present  | moved: their zones are in the next table too | not yet |     what readers ask until all is moved
//! next     | …                                                          |
//! ```
//!
//! A zone that comes or goes meanwhile does so in the present table, and in the next one too if its cell is among the moved.

use std::sync::Arc;

use super::for_each_ancestor;
use super::table::{Table, Tag};

/// Cells that each zone which is added moves: some thirty zones, whose names are read, 20 us for who adds one. The next table is begun when the
/// present one is full but for as many zones as that takes, a sixty-fourth of its cells.
const MOVED_A_ZONE: usize = 64;

/// What the writer knows of the table, beside what it says itself.
#[derive(Default)]
pub(super) struct Growth {
    /// Its cells that were ever used.
    used: usize,
    next: Option<Next>,
}

/// The next table.
struct Next {
    table: Table,
    used: usize,
    /// Cells of the present one whose zones it has.
    moved: usize,
}

impl Growth {
    /// Whether the next table has to be begun, as so many zones are to come.
    pub(super) fn is_due(&self, present: &Table, coming: usize) -> bool {
        let begun_before = present.cell_count().div_ceil(MOVED_A_ZONE);
        self.next.is_none() && !self.has_room(present, coming + begun_before)
    }

    /// Begins it.
    pub(super) fn begin(&mut self, table: Table) {
        self.next = Some(Next { table, used: 0, moved: 0 });
    }

    /// Moves what `zones` that are to be added have to. Readers see nothing of it.
    pub(super) fn go_on<'k>(
        &mut self,
        present: &Table,
        zones: usize,
        seed: u64,
        key_of: impl Fn(u32) -> Option<&'k [u8]>,
    ) {
        let Some(next) = &mut self.next else { return };
        let to = present.cell_count().min(next.moved + zones * MOVED_A_ZONE);
        for (tag, slot) in present.zones_in(next.moved..to) {
            next.used += usize::from(next.table.add(tag, slot).is_first);
            match key_of(slot) {
                Some(key) => each_above(seed, key, |above| next.table.count_above(above)),
                // Of a pack that cannot be read any more: it may be below any name.
                None => next.table.count_above_all(),
            }
        }
        next.moved = to;
    }

    /// The next table, if it has all: from now on it is the present one.
    pub(super) fn finish(&mut self, present: &Table) -> Option<Arc<Table>> {
        let next = self.next.take_if(|next| next.moved == present.cell_count())?;
        self.used = next.used;
        Some(Arc::new(next.table))
    }

    /// Whether the present table takes so many more.
    pub(super) fn has_room(&self, present: &Table, more: usize) -> bool {
        present.has_room(self.used + more)
    }

    /// Adds a zone, for which there is room: counts at the names above it, then its cell.
    pub(super) fn add(&mut self, present: &Table, seed: u64, (key, tag): (&[u8], Tag), slot: u32) {
        each_above(seed, key, |above| present.count_above(above));
        let added = present.add(tag, slot);
        self.used += usize::from(added.is_first);
        if let Some(next) = self.next.as_mut().filter(|next| added.at < next.moved) {
            each_above(seed, key, |above| next.table.count_above(above));
            next.used += usize::from(next.table.add(tag, slot).is_first);
        }
    }

    /// Takes a zone out: its cell, then the counts. Without a key these stay.
    pub(super) fn remove(&mut self, present: &Table, seed: u64, (key, tag): (Option<&[u8]>, Tag), slot: u32) {
        let key = key.unwrap_or_default();
        let at = present.remove(tag, slot);
        each_above(seed, key, |above| present.count_not_above(above));
        if let Some(next) = self.next.as_ref().filter(|next| at.is_some_and(|at| at < next.moved)) {
            next.table.remove(tag, slot);
            each_above(seed, key, |above| next.table.count_not_above(above));
        }
    }
}

/// Hashes of the names above an apex that count it. The root does not: nothing is ever kept for all names.
fn each_above(seed: u64, key: &[u8], mut each: impl FnMut(Tag)) {
    let depth = label_count(key);
    for_each_ancestor(seed, key, |labels, above| {
        if (1..depth).contains(&labels) {
            each(above);
        }
    });
}

/// Labels of the name with this key.
pub(super) fn label_count(key: &[u8]) -> usize {
    key.iter().filter(|octet| **octet == 0).count()
}
