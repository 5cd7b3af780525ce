//! Keys that have changed, each with the rows of its states: names, or hashes of NSEC3 records.
//!
//! ```text
//! cell --> entry: key, newest row --> row: state 41, before --> row: state 17, before 0: as in the pack
//!            `-- in the list of all, and, with a record that proves something, in that of the owners
//! ```
//!
//! Order of the writer: octets, row, entry, newest row (release), links, cell (release). Order of a reader: cell or link (acquire), newest row
//! (acquire), row, octets. So what can be reached can be read.

use super::cells::Cells;
use super::column::Column;
use super::list::List;
use super::slabs::{NOWHERE, Slabs, key_at};
use crate::lookup::key_prefix;
use std::cmp::Ordering as Order;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A key that has changed: 24 octets, and 8 a list.
#[derive(Default)]
pub(super) struct Entry {
    /// First eight octets of the key, which decide most comparisons.
    pub(super) prefix: AtomicU64,
    /// Where the key is.
    pub(super) slab: AtomicU32,
    pub(super) offset: AtomicU32,
    /// Number of the newest row; 0: as in the pack.
    pub(super) newest: AtomicU32,
    /// Hash of the key, as in the cells.
    pub(super) word: AtomicU32,
}

const _: () = assert!(size_of::<Entry>() == 24);

/// What a key has from one state on: 20 octets.
#[derive(Default)]
pub(super) struct Row {
    pub(super) state: AtomicU32,
    pub(super) entry: AtomicU32,
    /// The row before; 0: as in the pack.
    pub(super) before: AtomicU32,
    /// Where its node is; the slab is [`NOWHERE`] where the key is gone.
    pub(super) slab: AtomicU32,
    pub(super) offset: AtomicU32,
}

const _: () = assert!(size_of::<Row>() == 20);

/// What is seen of an entry in some state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen<'d> {
    /// It has not changed yet.
    AsInPack,
    /// There is nothing of it.
    Gone,
    /// The number of its row, its key, and where its node begins.
    Node(u32, &'d [u8], &'d [u8]),
}

/// See the module. Entries and rows have numbers from 1 on.
#[derive(Default)]
pub(crate) struct Keys {
    pub(super) entries: Column<Entry>,
    pub(super) rows: Column<Row>,
    /// All entries.
    pub(super) all: List,
    /// Those that have a record which proves something in the newest state.
    pub(super) owners: List,
    /// Of owners: the one before it in the state before the commit that brought it. For states before that, which do not see any of those
    /// that the commit brought.
    pub(super) jumps: Column<AtomicU32>,
}

impl Keys {
    /// The entry with this key.
    #[inline(always)]
    pub(super) fn find(&self, cells: &Cells, slabs: &Slabs, word: u32, key: &[u8]) -> Option<u32> {
        cells.find(word, |entry| self.key(slabs, entry) == key)
    }

    /// The key of an entry.
    #[inline(always)]
    pub(super) fn key<'d>(&self, slabs: &'d Slabs, entry: u32) -> &'d [u8] {
        let Some(entry) = self.entries.get(entry) else { return &[] };
        key_at(slabs.from(entry.slab.load(Ordering::Relaxed), entry.offset.load(Ordering::Relaxed)))
    }

    /// The order of an entry's key and another one, of which `prefix` are the first octets.
    #[inline(always)]
    pub(super) fn compare(&self, slabs: &Slabs, entry: u32, prefix: u64, key: &[u8]) -> Order {
        let own = self.entries.get(entry).map_or(0, |entry| entry.prefix.load(Ordering::Relaxed));
        own.cmp(&prefix).then_with(|| self.key(slabs, entry).cmp(key))
    }

    /// The last entry of a list at `key` or, if not `inclusive`, before it; the head if none is.
    #[inline(always)]
    pub(super) fn last(&self, list: &List, slabs: &Slabs, key: &[u8], inclusive: bool) -> u32 {
        let prefix = key_prefix(key);
        list.last(|entry| match self.compare(slabs, entry, prefix, key) {
            Order::Less => true,
            Order::Equal => inclusive,
            Order::Greater => false,
        })
    }

    /// What is seen of an entry in a state. As many steps as it has newer rows: none but for pinned views and for a commit on its way.
    #[inline(always)]
    pub(super) fn seen<'d>(&'d self, slabs: &'d Slabs, entry: u32, state: u32) -> Seen<'d> {
        let number = self.visible(entry, state);
        match self.rows.get(number) {
            Some(row) if number != 0 => self.node_of(slabs, number, row, entry),
            _ => Seen::AsInPack,
        }
    }

    /// The number of the row that a state sees of an entry; 0 where it is as in the pack.
    #[inline(always)]
    pub(super) fn visible(&self, entry: u32, state: u32) -> u32 {
        let mut number = self.entries.get(entry).map_or(0, |entry| entry.newest.load(Ordering::Acquire));
        // Rows before have smaller numbers, so this ends.
        while number != 0 {
            let Some(row) = self.rows.get(number) else { break };
            if row.state.load(Ordering::Relaxed) <= state {
                return number;
            }
            number = row.before.load(Ordering::Relaxed);
        }
        0
    }

    #[inline(always)]
    fn node_of<'d>(&self, slabs: &'d Slabs, number: u32, row: &Row, entry: u32) -> Seen<'d> {
        match row.slab.load(Ordering::Relaxed) {
            NOWHERE => Seen::Gone,
            slab => {
                let octets = slabs.from(slab, row.offset.load(Ordering::Relaxed));
                Seen::Node(number, self.key(slabs, entry), octets)
            }
        }
    }

    /// What row `number` says; as in the pack if there is no such row.
    pub(super) fn row<'d>(&'d self, slabs: &'d Slabs, number: u32) -> Seen<'d> {
        match self.rows.get(number) {
            Some(row) if number != 0 => self.node_of(slabs, number, row, row.entry.load(Ordering::Relaxed)),
            _ => Seen::AsInPack,
        }
    }

    /// Octets of its columns.
    pub(super) fn octets(&self) -> usize {
        self.entries.octets()
            + self.rows.octets()
            + self.all.octets()
            + self.owners.octets()
            + self.jumps.octets()
    }
}
