//! Members in little room: a table of entries that are found by the name of their zone, in any case of letters.
//!
//! ```text
//! cells, u64, open addressing:   hash u32 | entry number + 1    (0: free)     hash -> first cell, then one after the other
//! entries, 12 octets:            place u32 | catalog u16 | template u16 | coo u16 | holds u8
//! octets:                        label length u8 | label, lower case | zone name in wire form, as its catalog writes it
//! ```
//!
//! One zone can have several entries, one a catalog. Numbers of entries stay until they are removed, and are used again then.

use std::hash::{BuildHasher, RandomState};

use wire::Name;
use wire::name::{LABEL_OCTETS_MAX, NAME_OCTETS_MAX};

/// Most octets of labels and names: their places have 32 bits.
const OCTETS_MAX: usize = u32::MAX as usize;
/// Cells of a table that has its first entry; a power of two, as all their numbers are.
const CELLS_MIN: usize = 16;
/// Octets that nothing refers to before they are cleared away, at least: small tables are not worth it.
const GARBAGE_MIN: usize = 4_096;
/// Place of an entry that is not in use.
const FREE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    at: u32,
    pub(super) catalog: u16,
    pub(super) template: u16,
    pub(super) coo: u16,
    pub(super) holds: bool,
}

/// What a new entry has.
#[derive(Clone, Copy, Debug)]
pub(super) struct New<'n> {
    /// At most 63 octets; stored in lower case.
    pub(super) label: &'n [u8],
    pub(super) zone: &'n Name,
    pub(super) catalog: u16,
    pub(super) template: u16,
    pub(super) coo: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    hasher: RandomState,
    cells: Vec<u64>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    octets: Vec<u8>,
    garbage: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table::with(RandomState::new())
    }
}

impl Table {
    fn with(hasher: RandomState) -> Table {
        Table {
            hasher,
            cells: Vec::new(),
            entries: Vec::new(),
            free: Vec::new(),
            octets: Vec::new(),
            garbage: 0,
        }
    }

    /// An empty one in which hashes are the same.
    pub(super) fn new_alike(&self) -> Table {
        Table::with(self.hasher.clone())
    }

    pub(super) fn hash(&self, zone: &Name) -> u32 {
        let mut lower = [0; NAME_OCTETS_MAX];
        let lower = &mut lower[..zone.octets().len()];
        lower.copy_from_slice(zone.octets());
        lower.make_ascii_lowercase();
        self.hasher.hash_one(&*lower) as u32
    }

    /// How many entries are in use.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// One more than the highest number that an entry has.
    pub(super) fn end(&self) -> usize {
        self.entries.len()
    }

    /// Entry `number`, if it is in use.
    pub(super) fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize).filter(|entry| entry.at != FREE)
    }

    pub(super) fn entry_mut(&mut self, number: u32) -> Option<&mut Entry> {
        self.entries.get_mut(number as usize).filter(|entry| entry.at != FREE)
    }

    /// Label and zone of an entry in use.
    pub(super) fn names(&self, entry: &Entry) -> (&[u8], &Name) {
        let rest = &self.octets[entry.at as usize..];
        let (label, rest) = rest[1..].split_at(usize::from(rest[0]));
        // Stored as a whole; the root stands in for what cannot be.
        (label, Name::split_from(rest).map_or(Name::root(), |(name, _)| name))
    }

    /// Numbers of the entries of a zone; `hash`: of its name.
    pub(super) fn find<'t>(&'t self, hash: u32, zone: &'t Name) -> impl Iterator<Item = u32> + 't {
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = hash as usize;
        std::iter::from_fn(move || {
            // Ends: cells are never all in use.
            while !self.cells.is_empty() {
                let (other, number) = split(self.cells[at & mask])?;
                at += 1;
                if other == hash && self.names(&self.entries[number as usize]).1.eq_ignore_case(zone) {
                    return Some(number);
                }
            }
            None
        })
    }

    /// Adds an entry; `None`: there is no room for its names, or for its number.
    pub(super) fn insert(&mut self, hash: u32, new: &New<'_>) -> Option<u32> {
        let at = self.store(new.label, new.zone)?;
        let entry = Entry { at, catalog: new.catalog, template: new.template, coo: new.coo, holds: false };
        // Three quarters of the cells are used at most.
        if self.cells.len() / 4 * 3 <= self.len() {
            self.grow();
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.entries.push(entry);
                u32::try_from(self.entries.len() - 1).ok()?
            }
        };
        self.entries[number as usize] = entry;
        self.enter(hash, number);
        Some(number)
    }

    /// Removes an entry that is in use.
    pub(super) fn remove(&mut self, number: u32) {
        let entry = self.entries[number as usize];
        self.drop_names(&entry);
        let mask = self.cells.len() - 1;
        let hash = self.hash(self.names(&entry).1);
        let mut hole = hash as usize & mask;
        while self.cells[hole] != cell(hash, number) {
            hole = (hole + 1) & mask;
        }
        // What was pushed beyond the hole moves into it, so that no search ends before its entry.
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let Some((home, _)) = split(self.cells[at]) else { break };
            if at.wrapping_sub(home as usize) & mask >= at.wrapping_sub(hole) & mask {
                self.cells[hole] = self.cells[at];
                hole = at;
            }
        }
        self.cells[hole] = 0;
        self.entries[number as usize].at = FREE;
        self.free.push(number);
        self.clear_away();
    }

    /// Gives an entry another label, and the zone's name as it is written now. False: there is no room.
    pub(super) fn rename(&mut self, number: u32, label: &[u8], zone: &Name) -> bool {
        let Some(at) = self.store(label, zone) else { return false };
        let entry = self.entries[number as usize];
        self.drop_names(&entry);
        self.entries[number as usize].at = at;
        self.clear_away();
        true
    }

    fn store(&mut self, label: &[u8], zone: &Name) -> Option<u32> {
        let at = self.octets.len();
        debug_assert!((1..=LABEL_OCTETS_MAX).contains(&label.len()));
        if at + 1 + label.len() + zone.octets().len() >= OCTETS_MAX {
            return None;
        }
        self.octets.push(label.len() as u8);
        self.octets.extend(label.iter().map(u8::to_ascii_lowercase));
        self.octets.extend_from_slice(zone.octets());
        Some(at as u32)
    }

    fn drop_names(&mut self, entry: &Entry) {
        let (label, zone) = self.names(entry);
        self.garbage += 1 + label.len() + zone.octets().len();
    }

    /// Copies the names in use once most of the octets are of none.
    fn clear_away(&mut self) {
        if self.garbage < GARBAGE_MIN || self.garbage <= self.octets.len() / 2 {
            return;
        }
        let old = std::mem::take(&mut self.octets);
        self.octets.reserve_exact(old.len() - self.garbage);
        for entry in self.entries.iter_mut().filter(|entry| entry.at != FREE) {
            let rest = &old[entry.at as usize..];
            let names = 1 + usize::from(rest[0]);
            let zone = Name::split_from(&rest[names..]).map_or(1, |(zone, _)| zone.octets().len());
            entry.at = self.octets.len() as u32;
            self.octets.extend_from_slice(&rest[..names + zone]);
        }
        self.garbage = 0;
    }

    fn grow(&mut self) {
        let cells = vec![0; (2 * self.cells.len()).max(CELLS_MIN)];
        for (hash, number) in std::mem::replace(&mut self.cells, cells).into_iter().filter_map(split) {
            self.enter(hash, number);
        }
    }

    fn enter(&mut self, hash: u32, number: u32) {
        let mask = self.cells.len() - 1;
        let mut at = hash as usize & mask;
        while self.cells[at] != 0 {
            at = (at + 1) & mask;
        }
        self.cells[at] = cell(hash, number);
    }

    /// Octets of memory that it takes.
    pub(super) fn memory_octets(&self) -> usize {
        self.octets.capacity()
            + self.entries.capacity() * size_of::<Entry>()
            + 8 * self.cells.capacity()
            + 4 * self.free.capacity()
    }
}

/// The cell of an entry.
fn cell(hash: u32, number: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(number + 1)
}

/// Hash and entry of a cell that is in use.
fn split(cell: u64) -> Option<(u32, u32)> {
    Some(((cell >> 32) as u32, (cell as u32).checked_sub(1)?))
}

const _: () = assert!(size_of::<Entry>() == 12);
