//! Builds packs: zones in, one after the other, each written front to back.
//!
//! ```text
//! Contents --names--> blocks, directory, shapes   --hashes--> index (at the end, when all are known)
//!     `-----RRsets--> fragments and glue lists --> pool (each different one once)
//! ```
//!
//! What a query would have to search for is found here: glue of each cut, the NSEC3 record of each name, the names with
//! NSEC records.

mod assemble;
mod copy;
mod denial;
mod glue;
mod known;
mod merge;
mod pool;
mod problem;
pub(crate) mod rrset;
mod zone;

use crate::block::{self, Block, DIRECTORY_ROW_OCTETS, NAMES_MAX};
use crate::contents::Contents;
use crate::index::{self, Hash};
use crate::lookup::key_prefix;
use crate::pack::{Backing, ZoneRow};
use crate::section::{HEADER_OCTETS, Section, u32_at};
use crate::shape::Row;
use assemble::{Shapes, assemble};
use pool::Pool;
pub(crate) use problem::REFERENCES_OCTETS_MAX;
pub use problem::{PROBLEMS_MAX, Problem};
use zone::ZoneBuild;
pub(crate) use zone::{is_before, soa_numbers_of};

/// Which text a zone was made from, and what was found in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextStamp {
    /// A number that the text's file does not have any more once it changes: the zone is current as long as it is the same. 0: unknown.
    pub mark: u64,
    /// Errors found, saturating.
    pub errors: u16,
    /// Warnings found, saturating.
    pub warnings: u16,
    /// Whether the zone has changed since that text was read: [`ZoneRow::BESIDE_TEXT`].
    pub is_beside: bool,
    /// Whether the zone was verified by its digest: [`ZoneRow::DIGESTED`].
    pub is_digested: bool,
}

/// Builds one pack.
pub struct PackBuilder {
    seed: u64,
    zones: Vec<u8>,
    zone_count: u32,
    directory: Vec<u8>,
    blocks: Vec<u8>,
    block: block::Builder,
    shapes: Shapes,
    pool: Pool,
    nsec: Vec<u8>,
    nsec3: Vec<u8>,
    /// Hashes of name servers of cuts, in any order.
    servers: Vec<u32>,
    /// Those of the zones that are entered: each once a zone.
    servers_entered: usize,
    /// Hash of every name, zone after zone.
    hashes: Vec<Hash>,
    moved: copy::Moved,
    room: Room,
}

/// Buffers of the work on one zone, used again for the next: a pack can have a million.
#[derive(Default)]
struct Room {
    path: Vec<(Hash, usize)>,
    rows: Vec<Row>,
    references: Vec<u8>,
    encoded: Vec<u8>,
    rrset: rrset::Room,
}

/// How long the parts of a pack were before a zone.
struct Mark {
    hashes: usize,
    directory: usize,
    blocks: usize,
    nsec: usize,
    nsec3: usize,
    servers: usize,
}

impl PackBuilder {
    /// An empty pack. `seed`: of the index, random so that nobody can choose names that crowd it.
    pub fn new(seed: u64) -> PackBuilder {
        PackBuilder {
            seed,
            zones: Vec::new(),
            zone_count: 0,
            directory: Vec::new(),
            blocks: Vec::new(),
            block: block::Builder::default(),
            shapes: Shapes::default(),
            pool: Pool::new(seed),
            nsec: Vec::new(),
            nsec3: Vec::new(),
            servers: Vec::new(),
            servers_entered: 0,
            hashes: Vec::new(),
            moved: copy::Moved::default(),
            room: Room::default(),
        }
    }

    /// How many zones were added.
    pub fn zone_count(&self) -> u32 {
        self.zone_count
    }

    /// Adds a zone; its number in the pack is the count before. When there are problems, all are returned
    /// (at most [`PROBLEMS_MAX`]) and the pack is as before, apart from data that nothing refers to.
    pub fn add_zone(&mut self, contents: &Contents, stamp: TextStamp) -> Result<(), Vec<Problem>> {
        let before = self.mark();
        let mut zone = ZoneBuild::new(contents, self.seed, std::mem::take(&mut self.room));
        zone.run(self);
        let result = if zone.problems.is_empty() {
            let row = zone.row(self, stamp);
            self.enter(&row);
            Ok(())
        } else {
            self.back_to(&before);
            Err(std::mem::take(&mut zone.problems))
        };
        self.room = zone.into_room();
        result
    }

    fn mark(&self) -> Mark {
        Mark {
            hashes: self.hashes.len(),
            directory: self.directory.len(),
            blocks: self.blocks.len(),
            nsec: self.nsec.len(),
            nsec3: self.nsec3.len(),
            servers: self.servers.len(),
        }
    }

    /// Takes back what was added of a zone that does not fit.
    fn back_to(&mut self, mark: &Mark) {
        self.hashes.truncate(mark.hashes);
        self.directory.truncate(mark.directory);
        self.blocks.truncate(mark.blocks);
        self.nsec.truncate(mark.nsec);
        self.nsec3.truncate(mark.nsec3);
        self.servers.truncate(mark.servers);
        self.block.clear();
    }

    /// Enters the row of a zone, all else of which is there.
    fn enter(&mut self, row: &ZoneRow) {
        self.zones.extend_from_slice(&row.encode());
        self.zone_count += 1;
        let mut own = self.servers.split_off(self.servers_entered);
        own.sort_unstable();
        own.dedup();
        self.servers.append(&mut own);
        self.servers_entered = self.servers.len();
    }

    /// Enters the next name of a zone in canonical order. Its hash is entered by itself, in the same order. `is_nsec`: with a row in section nsec.
    fn enter_name(&mut self, key: &[u8], shape: usize, references: &[u8], is_nsec: bool) {
        self.block.push(key, shape, references, is_nsec);
        if self.block.len() == block::COLLECTED_MAX {
            self.end_block(self.block.best());
        }
    }

    /// Ends the blocks of a zone.
    fn end_blocks(&mut self) {
        while !self.block.is_empty() {
            self.end_block(self.block.best());
        }
    }

    /// Ends a block, of so many names.
    fn end_block(&mut self, names: usize) {
        // Of too many blocks numbers are none, as is found when the zone is entered.
        let first = (self.block_count() as u32).wrapping_mul(NAMES_MAX as u32);
        for (slot, key) in self.block.nsec_names(names) {
            self.nsec.extend_from_slice(&key_prefix(key).to_le_bytes());
            self.nsec.extend_from_slice(&first.wrapping_add(slot as u32).to_le_bytes());
        }
        let at = self.blocks.len().div_ceil(block::BLOCK_ALIGNMENT);
        self.directory.extend_from_slice(&key_prefix(self.block.first_key()).to_le_bytes());
        self.directory.extend_from_slice(&(at as u32).to_le_bytes());
        self.block.finish(names, &mut self.blocks);
    }

    /// How many names a block has; none where there is no such block.
    fn names_of(&self, block: usize) -> u32 {
        let row = self.directory.as_chunks::<DIRECTORY_ROW_OCTETS>().0.get(block);
        let at = row.map(|row| u32_at(row, 8) as usize * block::BLOCK_ALIGNMENT);
        let block = at.and_then(|at| Block::at(self.blocks.get(at..)?));
        block.map_or(0, |block| block.count() as u32)
    }

    fn block_count(&self) -> usize {
        self.directory.len() / DIRECTORY_ROW_OCTETS
    }

    /// Whether references have run out of their 32 bits, names or shapes of their numbers.
    fn is_full(&self) -> bool {
        self.blocks.len() > u32::MAX as usize * block::BLOCK_ALIGNMENT
            || zone::is_full(0, self.block_count())
            || self.shapes.offsets.len() > block::VARINT_MAX
            || self.shapes.octets.len() > u32::MAX as usize
            || self.pool.is_full()
    }

    /// Octets that the pack would have if it were finished now, but for the fill between its sections.
    pub fn octets(&self) -> usize {
        let index = self.hashes.len().div_ceil(index::LOAD as usize) * index::BUCKET_OCTETS;
        let names = self.directory.len()
            + self.blocks.len()
            + self.nsec.len()
            + self.nsec3.len()
            + 4 * self.servers.len();
        let shapes = self.shapes.octets.len() + 4 * self.shapes.offsets.len();
        HEADER_OCTETS + self.zones.len() + index + names + shapes + self.pool.len()
    }

    /// Builds the index and puts the sections together. The only failure is an index in which some name found
    /// no place, which another seed mends.
    pub fn finish(self) -> Result<Backing, index::Crowded> {
        let mut index = index::Builder::new(self.hashes.len());
        let mut hashes = self.hashes.iter();
        let mut names = Vec::with_capacity(index::INSERT_TOGETHER);
        for block in 0..self.block_count() {
            let first = block as u32 * NAMES_MAX as u32;
            for number in first..first + self.names_of(block) {
                names.extend(hashes.next().map(|hash| (*hash, number)));
                if names.len() == index::INSERT_TOGETHER {
                    index.insert_all(&names)?;
                    names.clear();
                }
            }
        }
        index.insert_all(&names)?;
        drop(self.hashes);
        let mut offsets = Vec::with_capacity(4 * self.shapes.offsets.len());
        self.shapes.offsets.iter().for_each(|offset| offsets.extend_from_slice(&offset.to_le_bytes()));
        let mut servers = self.servers;
        servers.sort_unstable();
        servers.dedup();
        let sections: [Vec<u8>; Section::COUNT] = [
            self.zones,
            index.finish(),
            self.directory,
            self.blocks,
            offsets,
            self.shapes.octets,
            self.pool.finish(),
            self.nsec,
            self.nsec3,
            servers.iter().flat_map(|hash| hash.to_le_bytes()).collect(),
        ];
        Ok(assemble(self.seed, sections))
    }
}

#[cfg(test)]
mod tests;
