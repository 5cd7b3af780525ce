//! Keys that have changed, each with the rows of its states: names, or hashes of NSEC3 records.
//!
//! ```text
//! cell --> entry: number and state of the newest row, place of its octets --> number of the row | gone | key | node
//!            |                `--> row: state 41, before --> row: state 17, before 0: as in the pack      (for older states)
//!            `-- in the list of all, and, with a record that proves something, in that of the owners
//! ```
//!
//! Order of the writer: octets, row, place (release), head (release), links, cell (release). Order of a reader: cell or link (acquire), head
//! (acquire), place (acquire), octets. So what can be reached can be read, and the number in the octets says whether place and head are of one row: if not, the
//! row is asked, which is never written again.

use super::cells::Cells;
use super::column::Column;
use super::list::List;
use super::slabs::{Slabs, push_key, split_key};
use crate::lookup::key_prefix;
use std::cmp::Ordering as Order;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A key that has changed: 24 octets, and 8 a list.
#[derive(Default)]
pub(super) struct Entry {
    /// First eight octets of the key, which decide most comparisons.
    pub(super) prefix: AtomicU64,
    /// Number of the newest row, and its state in the lower half; 0: as in the pack.
    pub(super) head: AtomicU64,
    /// Where the newest row's octets are, mostly: they say of which row they are. The key is there in any case.
    pub(super) place: AtomicU64,
}

const _: () = assert!(size_of::<Entry>() == 24);

/// What stands before the key in the octets of a row: the number of the row, and whether the key is gone.
const HEAD_OCTETS: usize = 5;

/// Appends the octets of a row but for its node, which follows.
pub(super) fn push_head(row: u32, is_gone: bool, key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&row.to_le_bytes());
    out.push(is_gone.into());
    push_key(key, out);
}

/// Slab and offset as one number.
pub(super) fn packed(slab: u32, offset: u32) -> u64 {
    u64::from(slab) << 32 | u64::from(offset)
}

/// What the octets of a row say.
#[inline(always)]
fn said_by(octets: &[u8], number: u32) -> Seen<'_> {
    let Some((&[_, _, _, _, is_gone], rest)) = octets.split_first_chunk::<HEAD_OCTETS>() else {
        return Seen::Gone;
    };
    if is_gone != 0 {
        return Seen::Gone;
    }
    let (key, node) = split_key(rest);
    Seen::Node(number, key, node)
}

/// What a key has from one state on: 20 octets.
#[derive(Default)]
pub(super) struct Row {
    pub(super) state: AtomicU32,
    pub(super) entry: AtomicU32,
    /// The row before; 0: as in the pack.
    pub(super) before: AtomicU32,
    /// Where its octets are.
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
        let place = entry.place.load(Ordering::Acquire);
        let octets = slabs.from((place >> 32) as u32, place as u32);
        octets.get(HEAD_OCTETS..).map_or(&[][..], |rest| split_key(rest).0)
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
        let Some(known) = self.entries.get(entry) else { return Seen::AsInPack };
        let head = known.head.load(Ordering::Acquire);
        let (number, since) = ((head >> 32) as u32, head as u32);
        if number != 0 && since <= state {
            let place = known.place.load(Ordering::Acquire);
            let octets = slabs.from((place >> 32) as u32, place as u32);
            // Else the next row is being put in.
            if octets.first_chunk() == Some(&number.to_le_bytes()) {
                return said_by(octets, number);
            }
        }
        self.row(slabs, self.visible(entry, state))
    }

    /// The number of the row that a state sees of an entry; 0 where it is as in the pack.
    pub(super) fn visible(&self, entry: u32, state: u32) -> u32 {
        let head = self.entries.get(entry).map_or(0, |entry| entry.head.load(Ordering::Acquire));
        let mut number = (head >> 32) as u32;
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

    /// What row `number` says; as in the pack if there is no such row.
    #[inline(always)]
    pub(super) fn row<'d>(&'d self, slabs: &'d Slabs, number: u32) -> Seen<'d> {
        match self.rows.get(number) {
            Some(row) if number != 0 => {
                let (slab, offset) = (row.slab.load(Ordering::Relaxed), row.offset.load(Ordering::Relaxed));
                said_by(slabs.from(slab, offset), number)
            }
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
