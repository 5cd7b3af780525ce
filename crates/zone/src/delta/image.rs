//! The image of a delta: one of its states in the octets that it has in memory. A start puts it in again without a search, a look into the pack, or a record taken
//! apart: docs/design/delta.md 6.
//!
//! ```text
//! first image: every name that differs from the pack | later ones: names with rows since, each a row more
//!
//! block   kind u32 | rows u32 | octets u32 | rows before u32 | a row: hash of the key u32, place u32 with bit 31: it proves something | octets of a slab
//! end     kind u32 | servers u32 | chunks of intervals u32 | names u32 | rows of names, of hashes, glue u32 | owners u64 | row of the zone, 64
//!         | servers u32 each | chunks: number u32, 512 octets
//! ```
//!
//! Little-endian. Kinds: 1 names, 2 hashes, 3 the end. Names are in canonical order, hashes by their octets. Who writes the octets to a file adds the checksums, by
//! which whoever reads them knows that they are as they were written: what is wrong all the same is an error and no harm.

mod load;
#[cfg(test)]
mod tests;

use super::copy::{octets_of_record, servers_of};
use super::keys::{Keys, Seen, push_head};
use super::writer::{ROW_OCTETS, octets_of, word_of};
use super::{Changed, DeltaWriter, HEAD, InOrder, hash_word};
use crate::contents::Flags;
use crate::lookup::ZoneView;
use std::io;
use std::sync::atomic::Ordering;

pub use load::{Block, Loader, NotLoaded};

/// Octets of the head of a block.
const HEAD_OCTETS: usize = 16;
/// Octets of a row in a block, beside those of the slab.
const INDEX_OCTETS: usize = 8;
/// Octets of the end before servers and chunks.
const END_OCTETS: usize = 36 + crate::pack::ZONE_ROW_OCTETS;
const NAMES: u32 = 1;
const HASHES: u32 = 2;
const END: u32 = 3;
/// The bit of a place that says that the row has a record which proves something.
const OWNER: u32 = 1 << 31;
/// Octets of a slab from which on a block ends: few are made, and one is put in while the next is read.
const BLOCK_OCTETS: usize = 512 << 10;

/// Rows of a delta, of names and of hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rows {
    names: u32,
    hashes: u32,
}

/// Up to where images of a delta go that are there: the next one has what came since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    delta: u64,
    /// Rows of the delta that they have.
    source: Rows,
    /// Rows that they have themselves: fewer, as each has only the newest of a name.
    written: Rows,
}

impl Mark {
    /// Whether images of this delta go on behind it.
    pub fn is_of(&self, changed: &Changed) -> bool {
        self.delta == changed.id()
    }

    /// Rows that the images have.
    pub fn rows(&self) -> u64 {
        u64::from(self.written.names) + u64::from(self.written.hashes)
    }
}

/// A state that an image is made of. It keeps pack and delta in memory.
pub struct Pinned {
    changed: Changed,
    owners: u64,
    rows: Rows,
    entries: u64,
}

/// Why there is no image.
#[derive(Debug)]
pub enum NotWritten {
    /// What is below is damaged, or the mark is of another delta.
    Damaged,
    /// It cannot be written.
    Io(io::Error),
}

impl DeltaWriter {
    /// The newest state for an image of it. `None`: there are states that are neither published nor taken back.
    pub fn pin(&self) -> Option<Pinned> {
        let rows = Rows { names: self.names.rows, hashes: self.hashes.rows };
        let entries = u64::from(self.names.entries) + u64::from(self.hashes.entries);
        self.is_settled().then(|| Pinned { changed: self.newest.clone(), owners: self.owners, rows, entries })
    }

    /// Rows that it has made, each some microseconds of a start that applies changes one by one.
    pub fn rows(&self) -> u64 {
        u64::from(self.names.rows) + u64::from(self.hashes.rows)
    }
}

impl Pinned {
    /// Rows of the delta up to the state.
    pub fn all_rows(&self) -> u64 {
        u64::from(self.rows.names) + u64::from(self.rows.hashes)
    }

    /// Names and hashes that the delta has: the rows of an image of all.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The state.
    pub fn changed(&self) -> &Changed {
        &self.changed
    }

    /// Gives the octets of an image to `write`: of all, or of what came since `after`. Returns the mark for the next one.
    pub fn write(
        &self,
        after: Option<&Mark>,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Mark, NotWritten> {
        if after.is_some_and(|mark| !mark.is_of(&self.changed)) {
            return Err(NotWritten::Damaged);
        }
        let zone = ZoneView::of_changed(&self.changed).ok_or(NotWritten::Damaged)?;
        let delta = self.changed.delta();
        let mark = after.copied();
        let first = |rows: fn(&Rows) -> u32| mark.map(|mark| rows(&mark.source) + 1);
        let names = self.since(self.changed.names_in_order(), first(|rows| rows.names), self.rows.names);
        let hashes = self.since(self.changed.hashes_in_order(), first(|rows| rows.hashes), self.rows.hashes);
        let mut written = mark.map_or(Rows::default(), |mark| mark.written);
        let has_owners = zone.is_secure() && !zone.has_nsec3_chain();
        let mut servers = Vec::new();
        let order = self.changed.names_in_order();
        let mut block = Blocks::new(NAMES, &mut written.names, write);
        for entry in &names {
            let (key, seen) = (order.key(*entry), order.seen(*entry));
            let word = word_of(self.changed.pack(), self.changed.number(), key);
            let Seen::Node(row, _, octets) = seen else {
                block.push(key, word, None, false)?;
                continue;
            };
            let node = zone.own(row, key, octets).ok_or(NotWritten::Damaged)?;
            servers_of(&zone, &node, &mut servers);
            let own = octets_of(&node) as usize - ROW_OCTETS;
            let octets = octets.get(..own).ok_or(NotWritten::Damaged)?;
            block.push(key, word, Some(octets), has_owners && node.stored_flags().has(Flags::NSEC))?;
        }
        block.cut()?;
        let order = self.changed.hashes_in_order();
        let mut block = Blocks::new(HASHES, &mut written.hashes, write);
        for entry in &hashes {
            let key = order.key(*entry);
            let octets = match order.seen(*entry) {
                Seen::Node(_, _, octets) => Some(octets_of_record(octets).ok_or(NotWritten::Damaged)?),
                _ => None,
            };
            block.push(key, hash_word(self.changed.pack(), key), octets, octets.is_some())?;
        }
        block.cut()?;
        servers.sort_unstable();
        servers.dedup();
        write(&self.end(written, &servers)).map_err(NotWritten::Io)?;
        Ok(Mark { delta: delta.id, source: self.rows, written })
    }

    /// Entries that differ from the pack, or have rows from `since` on, in the order of their keys.
    fn since(&self, order: InOrder<'_>, since: Option<u32>, rows: u32) -> Vec<u32> {
        let state = self.changed.state();
        let Some(since) = since else {
            let mut at = HEAD;
            let all = std::iter::from_fn(|| {
                at = order.next(at);
                (at != HEAD).then_some(at)
            });
            return all.filter(|entry| order.keys.visible(*entry, state) != 0).collect();
        };
        let of_row = |number: u32| Some(order.keys.rows.get(number)?.entry.load(Ordering::Acquire));
        let newest = (since..=rows)
            .filter_map(|number| Some((number, of_row(number)?)))
            .filter(|(number, entry)| *entry != HEAD && order.keys.visible(*entry, state) == *number);
        let mut entries: Vec<u32> = newest.map(|(_, entry)| entry).collect();
        entries.sort_unstable_by(|one, other| order.key(*one).cmp(order.key(*other)));
        entries
    }

    /// The octets of the end.
    fn end(&self, written: Rows, servers: &[u32]) -> Vec<u8> {
        let chunks: Vec<(u32, Vec<u8>)> = self.changed.delta().intervals.chunks().collect();
        let glue = u32::from(self.changed.glue_may_differ());
        let mut octets = Vec::with_capacity(END_OCTETS + servers.len() * 4 + chunks.len() * 516);
        let numbers = [END, servers.len() as u32, chunks.len() as u32, written.names + written.hashes];
        for number in numbers.into_iter().chain([written.names, written.hashes, glue]) {
            octets.extend_from_slice(&number.to_le_bytes());
        }
        octets.extend_from_slice(&self.owners.to_le_bytes());
        octets.extend_from_slice(self.changed.row_octets());
        servers.iter().for_each(|hash| octets.extend_from_slice(&hash.to_le_bytes()));
        for (number, bits) in chunks {
            octets.extend_from_slice(&number.to_le_bytes());
            octets.extend_from_slice(&bits);
        }
        octets
    }
}

/// Puts rows into blocks.
struct Blocks<'w> {
    kind: u32,
    /// The number of the last row.
    rows: &'w mut u32,
    before: u32,
    index: Vec<u8>,
    slab: Vec<u8>,
    write: &'w mut dyn FnMut(&[u8]) -> io::Result<()>,
}

impl<'w> Blocks<'w> {
    fn new(kind: u32, rows: &'w mut u32, write: &'w mut dyn FnMut(&[u8]) -> io::Result<()>) -> Blocks<'w> {
        Blocks { kind, before: *rows, rows, index: Vec::new(), slab: Vec::new(), write }
    }

    fn push(&mut self, key: &[u8], word: u32, node: Option<&[u8]>, is_owner: bool) -> Result<(), NotWritten> {
        *self.rows += 1;
        let place = self.slab.len() as u32 | if is_owner { OWNER } else { 0 };
        self.index.extend_from_slice(&word.to_le_bytes());
        self.index.extend_from_slice(&place.to_le_bytes());
        push_head(*self.rows, node.is_none(), key, &mut self.slab);
        self.slab.extend_from_slice(node.unwrap_or(&[]));
        if self.slab.len() >= BLOCK_OCTETS { self.cut() } else { Ok(()) }
    }

    /// Ends a block.
    fn cut(&mut self) -> Result<(), NotWritten> {
        if self.index.is_empty() {
            return Ok(());
        }
        let rows = (self.index.len() / INDEX_OCTETS) as u32;
        let head = [self.kind, rows, self.slab.len() as u32, self.before].map(u32::to_le_bytes);
        for octets in [head.as_flattened(), &self.index, &self.slab] {
            (self.write)(octets).map_err(NotWritten::Io)?;
        }
        self.before = *self.rows;
        self.index.clear();
        self.slab.clear();
        Ok(())
    }
}

/// The key that a slab has at a place, and the number of its row.
fn row_at(slab: &[u8], place: usize) -> Option<(u32, &[u8])> {
    let (number, rest) = slab.get(place..)?.split_first_chunk()?;
    let (_, rest) = rest.split_first()?;
    Some((u32::from_le_bytes(*number), super::slabs::split_key(rest).0))
}

/// Whether an entry of `keys` has a row that is not gone.
fn is_there(keys: &Keys, slabs: &super::slabs::Slabs, entry: u32) -> bool {
    matches!(keys.seen(slabs, entry, u32::MAX), Seen::Node(..))
}
