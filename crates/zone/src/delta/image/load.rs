//! Images put in again: the first into an empty delta, the others over it.
//!
//! Blocks may be read by another thread than the one that puts them in.

use super::{END, END_OCTETS, HASHES, HEAD_OCTETS, INDEX_OCTETS, Mark, NAMES, OWNER, Rows, is_there, row_at};
use crate::delta::writer::{ENTRY_OCTETS, Fingers, KeysWriter, Put, ROW_OCTETS, Undo, is_owner};
use crate::delta::{DeltaWriter, intervals};
use crate::lookup::ZoneView;
use crate::pack::{Pack, ZONE_ROW_OCTETS, ZoneRow};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Octets of a block at most: a node with many large RRsets goes beyond what ends one.
const BLOCK_OCTETS_MAX: usize = 64 << 20;
/// Rows of a block at most, servers, and chunks of intervals: so many have more octets than a delta may.
const COUNT_MAX: usize = 1 << 26;

/// A part of an image.
pub struct Block {
    kind: u32,
    before: u32,
    index: Vec<u8>,
    slab: Box<[u8]>,
}

/// Why an image is not put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotLoaded {
    /// It is not as images are, or of another delta.
    Damaged,
    /// It has more than the delta may.
    Full,
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Reads so many octets, which are not more than there are.
fn take(from: &mut impl Read, octets: usize) -> io::Result<Vec<u8>> {
    // Room for all at once only where it is no more than a sound block has.
    let mut taken = Vec::with_capacity(octets.min(2 * super::BLOCK_OCTETS));
    from.take(octets as u64).read_to_end(&mut taken)?;
    if taken.len() == octets { Ok(taken) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn number_at(octets: &[u8], at: usize) -> u32 {
    octets.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u32::from_le_bytes(*octets))
}

impl Block {
    /// Reads the next part of an image. The error: there is none, or it is not as images are.
    pub fn read(from: &mut impl Read) -> io::Result<Block> {
        let mut head = [0; HEAD_OCTETS];
        from.read_exact(&mut head)?;
        let [kind, rows, octets, before] = [0, 4, 8, 12].map(|at| number_at(&head, at));
        let (rows, octets) = (rows as usize, octets as usize);
        let (index_octets, slab_octets) = match kind {
            NAMES | HASHES => (rows * INDEX_OCTETS, octets),
            // Servers and chunks.
            END if octets <= COUNT_MAX => (
                END_OCTETS - HEAD_OCTETS,
                rows.saturating_mul(4).saturating_add(octets * intervals::CHUNK_OCTETS),
            ),
            _ => return Err(invalid()),
        };
        if rows > COUNT_MAX || kind != END && slab_octets > BLOCK_OCTETS_MAX {
            return Err(invalid());
        }
        let index = take(from, index_octets)?;
        let slab = take(from, slab_octets)?.into_boxed_slice();
        Ok(Block { kind, before: if kind == END { rows as u32 } else { before }, index, slab })
    }

    /// Whether it is the last of an image.
    pub fn is_end(&self) -> bool {
        self.kind == END
    }
}

/// Makes a delta of images.
pub struct Loader {
    writer: DeltaWriter,
    /// The state that the present image makes; 1: it is the first.
    state: u32,
    apex: u32,
    names: Fingers,
    hashes: Fingers,
    /// Keys of the block before, of which the next is to be greater.
    last: Option<(u32, Vec<u8>)>,
    is_ended: bool,
    /// Whether names with NSEC records are kept in a list of their own.
    has_owners: bool,
}

impl Loader {
    /// An empty delta over zone `number` of `pack`, for images of so many names. `None` if there is no such zone.
    pub fn new(pack: Arc<Pack>, number: u32, names: usize) -> Option<Loader> {
        let mut writer = DeltaWriter::new(pack, number)?;
        let rows_max = (writer.octets_max() as usize / ROW_OCTETS).min(COUNT_MAX);
        writer.names = KeysWriter::with_room(names.min(rows_max));
        let zone = ZoneView::of_changed(&writer.newest)?;
        let has_owners = zone.is_secure() && !zone.has_nsec3_chain();
        let (names, hashes) = (Fingers::default(), Fingers::default());
        Some(Loader { writer, state: 1, apex: 0, names, hashes, last: None, is_ended: true, has_owners })
    }

    /// Puts the next part in.
    pub fn put(&mut self, block: Block) -> Result<(), NotLoaded> {
        if block.is_end() {
            return self.end(&block);
        }
        self.is_ended = false;
        let is_names = block.kind == NAMES;
        let delta = Arc::clone(&self.writer.newest.delta);
        let keys = if is_names { &delta.names } else { &delta.hashes };
        let own = if is_names { &mut self.writer.names } else { &mut self.writer.hashes };
        let rows = block.index.len() / INDEX_OCTETS;
        if own.rows != block.before {
            return Err(NotLoaded::Damaged);
        }
        let octets = (block.slab.len() + rows * ROW_OCTETS) as u64;
        let slab_octets = block.slab.len() as u64;
        let slab = self.writer.slabs;
        if !own.has_room(rows) || !delta.slabs.put(slab, block.slab) {
            return Err(NotLoaded::Full);
        }
        let (entries, octets_of_slab) = (own.entries, delta.slabs.from(slab, 0));
        let (is_first, fingers) =
            (self.state == 1, if is_names { &mut self.names } else { &mut self.hashes });
        let mut undo = Undo::default();
        let mut last = self.last.take().filter(|(kind, _)| *kind == block.kind).map(|(_, key)| key);
        let mut before: Option<&[u8]> = None;
        let is_chained = !is_names;
        for row in block.index.as_chunks::<INDEX_OCTETS>().0 {
            let (word, place) = (number_at(row, 0), number_at(row, 4));
            let at = (slab, place & !OWNER);
            let (number, key) = row_at(octets_of_slab, at.1 as usize).ok_or(NotLoaded::Damaged)?;
            let is_behind = before.or(last.as_deref()).is_none_or(|before| before < key);
            if number != own.rows + 1 || !is_behind {
                return Err(NotLoaded::Damaged);
            }
            (before, last) = (Some(key), None);
            let is_owner_now = place & OWNER != 0;
            let mut put = Put { key, word, at, is_owner: is_owner_now, was_owner: false };
            let made = if is_first {
                own.put_first(keys, self.state, &put, fingers)
            } else {
                let known = own.find(keys, &delta.slabs, word, key);
                put.was_owner = known.is_some_and(|entry| match is_chained {
                    true => is_there(keys, &delta.slabs, entry),
                    false => self.has_owners && is_owner(&delta, entry),
                });
                own.put(keys, &delta.slabs, self.state, &put, fingers, &mut undo)
            };
            let made = made.ok_or(NotLoaded::Full)?;
            if is_names && key.is_empty() {
                self.apex = made;
            }
        }
        self.last = before.map(|key| (block.kind, key.to_vec()));
        let entries = u64::from(own.entries - entries);
        let writer = &mut self.writer;
        writer.slabs += 1;
        delta.slab_octets.fetch_add(slab_octets, Ordering::Relaxed);
        writer.octets += octets + entries * ENTRY_OCTETS as u64;
        // What rows before had is not looked at: as much as these, on an average.
        writer.past_octets += octets * (rows as u64 - entries) / (rows as u64).max(1);
        if writer.octets > writer.octets_max() { Err(NotLoaded::Full) } else { Ok(()) }
    }

    /// Ends an image.
    fn end(&mut self, block: &Block) -> Result<(), NotLoaded> {
        let writer = &mut self.writer;
        let delta = Arc::clone(&writer.newest.delta);
        // Behind the head of 16 octets: rows of names, of hashes, glue, owners, row.
        let [names, hashes, glue] = [0, 4, 8].map(|at| number_at(&block.index, at));
        let owners = block.index.get(12..20).and_then(<[u8]>::first_chunk);
        let row: &[u8; ZONE_ROW_OCTETS] =
            block.index.get(20..).and_then(<[u8]>::first_chunk).ok_or(NotLoaded::Damaged)?;
        let (servers, chunks) =
            block.slab.split_at_checked(block.before as usize * 4).ok_or(NotLoaded::Damaged)?;
        let is_of_pack = same_zone(&ZoneRow::decode(row), &writer.newest.row());
        if (names, hashes) != (writer.names.rows, writer.hashes.rows) || self.apex == 0 || !is_of_pack {
            return Err(NotLoaded::Damaged);
        }
        writer.servers.extend(servers.as_chunks().0.iter().map(|hash| u32::from_le_bytes(*hash)));
        for chunk in chunks.as_chunks::<{ intervals::CHUNK_OCTETS }>().0 {
            delta.intervals.put_chunk(chunk);
        }
        writer.owners = owners.map_or(0, |owners| u64::from_le_bytes(*owners));
        let newest = &mut writer.newest;
        (newest.row, newest.glue_may_differ, newest.apex) = (*row, glue != 0, self.apex);
        newest.state = self.state;
        newest.names = Arc::clone(writer.names.growing.cells());
        newest.hashes = Arc::clone(writer.hashes.growing.cells());
        writer.last_state = self.state;
        self.state += 1;
        (self.names, self.hashes, self.last) = (Fingers::default(), Fingers::default(), None);
        self.is_ended = true;
        Ok(())
    }

    /// The serial of the last image that was put in whole.
    pub fn serial(&self) -> u32 {
        self.writer.newest.row().serial
    }

    /// The delta, and the mark behind which its next image begins. All its states are published.
    pub fn finish(self) -> Result<(DeltaWriter, Mark), NotLoaded> {
        let is_sound = self.is_ended && self.state > 1 && ZoneView::of_changed(&self.writer.newest).is_some();
        if !is_sound {
            return Err(NotLoaded::Damaged);
        }
        let rows = Rows { names: self.writer.names.rows, hashes: self.writer.hashes.rows };
        let mark = Mark { delta: self.writer.newest.id(), source: rows, written: rows };
        Ok((self.writer, mark))
    }
}

/// Whether two rows of a zone say the same of the pack.
fn same_zone(one: &ZoneRow, other: &ZoneRow) -> bool {
    let of_pack = |row: &ZoneRow| {
        let blocks = (row.apex, row.first_block, row.block_count);
        (blocks, row.denial_first, row.denial_count, row.nsec3_parameters, row.text_mark)
    };
    of_pack(one) == of_pack(other)
}
