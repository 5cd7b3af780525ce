//! The delta: what has changed in a zone since its pack was made. `docs/design/delta.md` is its design.
//!
//! ```text
//! Change --DeltaWriter::apply--> rows of the next state in the Delta, and a Changed box for the catalog's slot
//!                                     `- append-only: readers of older states see what they saw
//! ZoneView::of_changed(&Changed)  --> all that is seen of the zone in that state, rendered as from a pack
//! ```
//!
//! * [`column`], [`slabs`], [`list`], [`cells`], [`intervals`]: memory that one writes and many read, without locks and without unsafe code.
//! * [`keys`]: names, or hashes, with the rows of their states.
//! * [`writer`]: from changes to rows; [`copy`]: into a delta without what is past, and onto a new pack.
//!
//! Readers are in `lookup`: a view of a zone that has not changed does not look here.

mod cells;
mod column;
mod condense;
mod copy;
pub mod image;
mod intervals;
mod keys;
mod list;
mod slabs;
mod writer;

pub use condense::{NotCondensed, PIECE_NAMES_MAX};
pub(crate) use condense::{Sides, records_of};
pub use copy::{NotRebuilt, Rebuild};
pub use writer::{
    Applied, COMMIT_NAMES_MAX, DeltaWriter, Due, MERGE_OCTETS_MIN, MERGE_PERCENT, MergeFrom, PAST_OCTETS_MIN,
    Refused,
};

pub(crate) use keys::Seen;

use crate::index::Hash;
use crate::pack::{Pack, ZONE_ROW_OCTETS, ZoneRow};
use crate::section::{fold_multiply, u64_at};
use cells::Cells;
use intervals::Intervals;
use keys::Keys;
use list::HEAD;
use slabs::Slabs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of nodes and of NSEC3 records from here on are rows of a delta: no pack has so many names.
pub(crate) const OWN_NUMBERS: u32 = 1 << 31;

/// The changes of one zone since its pack. It only grows; who holds the zone's change lock writes it through a [`DeltaWriter`], anybody reads it.
pub struct Delta {
    id: u64,
    names: Keys,
    hashes: Keys,
    slabs: Slabs,
    /// Octets of all slabs.
    slab_octets: AtomicU64,
    /// Of the zone's rows in section nsec3 or, without such, nsec.
    intervals: Intervals,
}

impl Delta {
    fn new(rows: u32) -> Delta {
        Delta {
            id: crate::pack::next_id(),
            names: Keys::default(),
            hashes: Keys::default(),
            slabs: Slabs::default(),
            slab_octets: AtomicU64::new(0),
            intervals: Intervals::new(rows),
        }
    }

    /// Octets of memory that it takes, tables of cells apart.
    pub fn octets(&self) -> usize {
        let slabs = self.slab_octets.load(Ordering::Relaxed) as usize + self.slabs.list_octets();
        self.names.octets() + self.hashes.octets() + self.intervals.octets() + slabs
    }
}

/// A zone in one of its states: what the slot of the catalog shows. A box of it is published with each commit.
#[derive(Clone)]
pub struct Changed {
    pack: Arc<Pack>,
    delta: Arc<Delta>,
    names: Arc<Cells>,
    hashes: Arc<Cells>,
    /// As the pack's row of the zone, with serial, records and negative TTL of this state. Ranks of denial are those of the pack.
    row: [u8; ZONE_ROW_OCTETS],
    number: u32,
    state: u32,
    /// The row of the apex, which every walk begins at; 0: as in the pack.
    apex: u32,
    /// Lists of glue in the pack may say something else than the zone does now.
    glue_may_differ: bool,
}

impl Changed {
    /// The pack below the delta.
    pub fn pack(&self) -> &Arc<Pack> {
        &self.pack
    }

    /// The zone's number in the pack.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The changes since.
    pub fn delta(&self) -> &Arc<Delta> {
        &self.delta
    }

    /// Octets of the tables of cells that this state has.
    pub fn cells_octets(&self) -> usize {
        self.names.octets() + self.hashes.octets()
    }

    /// Which of the delta's states it is: more than those before, 0 as in the pack.
    pub fn state(&self) -> u32 {
        self.state
    }

    /// The zone's row in this state.
    pub fn row(&self) -> ZoneRow {
        ZoneRow::decode(&self.row)
    }

    #[inline(always)]
    pub(crate) fn row_octets(&self) -> &[u8; ZONE_ROW_OCTETS] {
        &self.row
    }

    /// What tells numbers of nodes apart: no pack and no other delta of this process has or had the same.
    #[inline(always)]
    pub(crate) fn id(&self) -> u64 {
        self.delta.id
    }

    #[inline(always)]
    pub(crate) fn glue_may_differ(&self) -> bool {
        self.glue_may_differ
    }

    /// What is seen of the name with this hash in the pack's index and this relative key.
    #[inline(always)]
    pub(crate) fn name(&self, hash: Hash, relative: &[u8]) -> Seen<'_> {
        let delta = &*self.delta;
        match delta.names.find(&self.names, &delta.slabs, hash.word(), relative) {
            Some(entry) => delta.names.seen(&delta.slabs, entry, self.state),
            None => Seen::AsInPack,
        }
    }

    /// What is seen of the apex.
    #[inline(always)]
    pub(crate) fn apex(&self) -> Seen<'_> {
        self.delta.names.row(&self.delta.slabs, self.apex)
    }

    /// What is seen of the NSEC3 record with this hash.
    pub(crate) fn hash(&self, hash: &[u8; 20]) -> Seen<'_> {
        let delta = &*self.delta;
        match delta.hashes.find(&self.hashes, &delta.slabs, hash_word(&self.pack, hash), hash) {
            Some(entry) => delta.hashes.seen(&delta.slabs, entry, self.state),
            None => Seen::AsInPack,
        }
    }

    /// What the row of names says that is the node of this number.
    pub(crate) fn name_row(&self, number: u32) -> Seen<'_> {
        self.delta.names.row(&self.delta.slabs, number.saturating_sub(OWN_NUMBERS))
    }

    /// What the row of hashes says that is the NSEC3 record of this number.
    pub(crate) fn hash_row(&self, number: u32) -> Seen<'_> {
        self.delta.hashes.row(&self.delta.slabs, number.saturating_sub(OWN_NUMBERS))
    }

    /// Whether something may have changed in the interval that begins with row `rank` of the zone's section of denial.
    #[inline(always)]
    pub(crate) fn has_changed_in(&self, rank: u32) -> bool {
        self.delta.intervals.has(rank)
    }

    /// Names that have changed, in order.
    pub(crate) fn names_in_order(&self) -> InOrder<'_> {
        InOrder { changed: self, keys: &self.delta.names, is_of_owners: false }
    }

    /// Names that have an NSEC record now, in order.
    pub(crate) fn owners_in_order(&self) -> InOrder<'_> {
        InOrder { changed: self, keys: &self.delta.names, is_of_owners: true }
    }

    /// Hashes of NSEC3 records that have changed, in order.
    pub(crate) fn hashes_in_order(&self) -> InOrder<'_> {
        InOrder { changed: self, keys: &self.delta.hashes, is_of_owners: false }
    }

    /// Hashes of NSEC3 records that are there now, in order.
    pub(crate) fn hash_owners_in_order(&self) -> InOrder<'_> {
        InOrder { changed: self, keys: &self.delta.hashes, is_of_owners: true }
    }
}

/// The cell hash of an NSEC3 hash: the pack's seed is in it, so that names cannot be chosen to crowd a table.
fn hash_word(pack: &Pack, hash: &[u8]) -> u32 {
    (fold_multiply(u64_at(hash, 0) ^ pack.seed(), 0x9e37_79b9_7f4a_7c15) >> 16) as u32
}

/// Entries of one of the lists of a delta, as one state sees them. An entry is its number; 0 is before the first and behind the last.
#[derive(Clone, Copy)]
pub(crate) struct InOrder<'d> {
    changed: &'d Changed,
    keys: &'d Keys,
    is_of_owners: bool,
}

impl<'d> InOrder<'d> {
    fn list(&self) -> &'d list::List {
        if self.is_of_owners { &self.keys.owners } else { &self.keys.all }
    }

    /// The last entry at `key` or, if not `inclusive`, before it.
    pub(crate) fn last(&self, key: &[u8], inclusive: bool) -> u32 {
        self.keys.last(self.list(), &self.changed.delta.slabs, key, inclusive)
    }

    /// The last entry of all.
    pub(crate) fn end(&self) -> u32 {
        self.list().last(|_| true)
    }

    pub(crate) fn next(&self, entry: u32) -> u32 {
        self.list().next(entry)
    }

    /// An owner before `entry`, which this state does not see as one; none is passed over that it sees.
    pub(crate) fn previous_owner(&self, entry: u32) -> u32 {
        self.keys.jumps.get(entry).map_or(HEAD, |jump| jump.load(Ordering::Acquire))
    }

    pub(crate) fn previous(&self, entry: u32) -> u32 {
        if entry == HEAD { HEAD } else { self.list().previous(entry) }
    }

    pub(crate) fn key(&self, entry: u32) -> &'d [u8] {
        self.keys.key(&self.changed.delta.slabs, entry)
    }

    pub(crate) fn seen(&self, entry: u32) -> Seen<'d> {
        self.keys.seen(&self.changed.delta.slabs, entry, self.changed.state)
    }
}
