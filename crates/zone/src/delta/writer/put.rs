//! Putting rows in, and taking them out again: the only place that writes what readers read.

use crate::delta::cells::Growing;
use crate::delta::column::ROWS_MAX;
use crate::delta::keys::{Keys, packed};
use crate::delta::list::{Finger, HEAD, LEVELS, Linker};
use crate::delta::slabs::Slabs;
use crate::lookup::key_prefix;
use std::cmp::Ordering as Order;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// Octets of an entry with its two places and four links, and of its cells.
pub(crate) const ENTRY_OCTETS: usize = 24 + 2 * 8 + 4 * 4 + 32;
/// Octets of a row.
pub(crate) const ROW_OCTETS: usize = 20;

/// The writer's part of [`Keys`].
pub(crate) struct KeysWriter {
    /// Entries and rows that are given out; numbers begin with 1.
    pub(crate) entries: u32,
    pub(crate) rows: u32,
    all: Linker,
    owners: Linker,
    pub(crate) growing: Growing,
}

/// Where the last of keys was put in that come in order.
#[derive(Default)]
pub(crate) struct Fingers {
    all: Finger,
    owners: Finger,
}

/// What a key gets.
pub(crate) struct Put<'k> {
    pub(crate) key: &'k [u8],
    pub(crate) word: u32,
    /// Where its octets are, as [`push_head`] begins them.
    pub(crate) at: (u32, u32),
    /// Whether it has a record that proves something: whether it had one is asked of the writer.
    pub(crate) is_owner: bool,
    pub(crate) was_owner: bool,
}

/// What has to be undone if a state is taken back: rows up to a number, and changes of the list of owners, each an entry and whether it was put in.
#[derive(Default)]
pub(crate) struct Undo {
    pub(super) rows: u32,
    pub(super) owners: Vec<(u32, bool)>,
    /// Entries that came into the list of owners with this state.
    came: HashSet<u32>,
}

impl KeysWriter {
    pub(crate) fn new() -> KeysWriter {
        KeysWriter { entries: 0, rows: 0, all: Linker::new(), owners: Linker::new(), growing: Growing::new() }
    }

    /// With room for so many keys in its first table.
    pub(crate) fn with_room(keys: usize) -> KeysWriter {
        KeysWriter { growing: Growing::with_room(keys), ..KeysWriter::new() }
    }

    /// Whether there is room for so many more keys.
    pub(crate) fn has_room(&self, count: usize) -> bool {
        let links = (ROWS_MAX / 4 - LEVELS) as usize;
        self.entries as usize + count < links && self.rows as usize + count < ROWS_MAX as usize
    }

    pub(super) fn undo(&self) -> Undo {
        Undo { rows: self.rows, ..Undo::default() }
    }

    /// The entry with this key.
    pub(crate) fn find(&self, keys: &Keys, slabs: &Slabs, word: u32, key: &[u8]) -> Option<u32> {
        keys.find(self.growing.cells(), slabs, word, key)
    }

    /// Gives a key a row of `state`; returns the row's number. The octets of its node, and of its key if it is new, are there. There is room for it.
    /// `finger`: that of the state, of which a new key may be the next in order.
    pub(crate) fn put(
        &mut self,
        keys: &Keys,
        slabs: &Slabs,
        state: u32,
        put: &Put<'_>,
        fingers: &mut Fingers,
        undo: &mut Undo,
    ) -> Option<u32> {
        let known = self.find(keys, slabs, put.word, put.key);
        let number = known.unwrap_or(self.entries + 1);
        self.put_row(keys, state, put, number)?;
        let prefix = key_prefix(put.key);
        let is_before = |other: u32| keys.compare(slabs, other, prefix, put.key) == Order::Less;
        if known.is_none() {
            let last = fingers.all.last();
            if last != HEAD && !is_before(last) {
                fingers.all = Finger::default();
            }
            self.all.insert_behind(&keys.all, number, &mut fingers.all, is_before);
            self.growing.insert(put.word, number);
        }
        if put.is_owner && !put.was_owner {
            self.come(keys, slabs, number, put.key, undo);
        } else if put.was_owner && !put.is_owner {
            self.owners.remove(&keys.owners, number, is_before);
            undo.owners.push((number, false));
        }
        Some(self.rows)
    }

    /// Gives a key its first row, of the first state that there is: all keys come in order, and none twice. No other state ever sees an owner before it that this one
    /// does not, so it needs no way past.
    pub(crate) fn put_first(
        &mut self,
        keys: &Keys,
        state: u32,
        put: &Put<'_>,
        fingers: &mut Fingers,
    ) -> Option<u32> {
        let number = self.entries + 1;
        self.put_row(keys, state, put, number)?;
        // What is there is before it.
        let is_before = |_: u32| true;
        self.all.insert_behind(&keys.all, number, &mut fingers.all, is_before);
        self.growing.insert(put.word, number);
        if put.is_owner {
            keys.jumps.make(number)?;
            self.owners.insert_behind(&keys.owners, number, &mut fingers.owners, is_before);
        }
        Some(self.rows)
    }

    /// Makes the next row that of entry `number`, which is new or not.
    fn put_row(&mut self, keys: &Keys, state: u32, put: &Put<'_>, number: u32) -> Option<()> {
        let entry = keys.entries.make(number)?;
        if number > self.entries {
            self.entries = number;
            entry.prefix.store(key_prefix(put.key), Ordering::Relaxed);
        }
        self.rows += 1;
        let row = keys.rows.make(self.rows)?;
        let (slab, offset) = put.at;
        row.state.store(state, Ordering::Relaxed);
        row.before.store((entry.head.load(Ordering::Relaxed) >> 32) as u32, Ordering::Relaxed);
        row.slab.store(slab, Ordering::Relaxed);
        row.offset.store(offset, Ordering::Relaxed);
        // Who goes through the rows as they come takes one whose entry is set for whole.
        row.entry.store(number, Ordering::Release);
        entry.place.store(packed(slab, offset), Ordering::Release);
        entry.head.store(packed(self.rows, state), Ordering::Release);
        Some(())
    }

    /// Puts an entry into the list of owners. Of those that come with one state each leads behind all of them.
    fn come(&mut self, keys: &Keys, slabs: &Slabs, entry: u32, key: &[u8], undo: &mut Undo) {
        let previous = keys.last(&keys.owners, slabs, key, false);
        let load = |entry: u32| keys.jumps.get(entry).map_or(0, |jump| jump.load(Ordering::Relaxed));
        let jump = if undo.came.contains(&previous) { load(previous) } else { previous };
        if let Some(place) = keys.jumps.make(entry) {
            place.store(jump, Ordering::Release);
        }
        let is_before = |other: u32| keys.compare(slabs, other, key_prefix(key), key) == Order::Less;
        if self.owners.insert(&keys.owners, entry, is_before) {
            undo.came.insert(entry);
            undo.owners.push((entry, true));
        }
    }

    /// Takes the rows of a state back, which is the newest.
    pub(super) fn take_back(&mut self, keys: &Keys, slabs: &Slabs, undo: Undo) {
        for number in (undo.rows + 1..=self.rows).rev() {
            let Some(row) = keys.rows.get(number) else { continue };
            let Some(entry) = keys.entries.get(row.entry.load(Ordering::Relaxed)) else { continue };
            let before = row.before.load(Ordering::Relaxed);
            let state = match keys.rows.get(before) {
                Some(row) if before != 0 => {
                    let (slab, offset) = (&row.slab, &row.offset);
                    let place = packed(slab.load(Ordering::Relaxed), offset.load(Ordering::Relaxed));
                    entry.place.store(place, Ordering::Release);
                    row.state.load(Ordering::Relaxed)
                }
                // Its octets still have the key.
                _ => 0,
            };
            entry.head.store(packed(before, state), Ordering::Release);
        }
        for (entry, came) in undo.owners.into_iter().rev() {
            let key = keys.key(slabs, entry);
            if came {
                let is_before = |other: u32| keys.compare(slabs, other, key_prefix(key), key) == Order::Less;
                self.owners.remove(&keys.owners, entry, is_before);
            } else {
                self.come(keys, slabs, entry, key, &mut Undo::default());
            }
        }
    }
}
