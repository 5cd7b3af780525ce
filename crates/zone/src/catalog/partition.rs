//! Versions of the parts of a zone: a zone that changes again and again would otherwise cost all answers that were made from it each time.
//!
//! ```text
//! version word of a slot          what a reader takes note of                     what is kept with an answer
//! | 0  version 63 |               the same                                        the same
//! | 11 number of a block |        | 10 state 62 |: the block's word SERIAL        that, and the set of parts that it was made from
//!      `--> 64 words: the version in which each part changed last; chunks that never move
//! ```
//!
//! | part | what it has |
//! |---|---|
//! | 0 to 61 | names below the apex, by a hash of the first label there: with a name all that is below it, so cuts, DNAMEs, wildcards and empty non-terminals above a name are in its part |
//! | [`PartSet::SHARED`] | what any name can come to: the apex but for its serial, names below the wildcard of the apex, the kind of proofs, whether there are signatures. In every set |
//! | [`PartSet::SERIAL`] | SOA, and what proves absence. Changed by each publication: its version is the state of the whole zone |
//!
//! Versions are of one count, so an answer of state v holds as long as none of its parts has a version above v; none of them need be read
//! while the answer is made. Order of the writer: view word, versions of the parts, that of SERIAL last. Order of a reader: slot's word, that of SERIAL,
//! view word. As with plain versions, an answer can be made of something newer than it says, never of something older.
//!
//! Words of a block only grow, whosever the block is. So who still follows the word of a slot that had the block before takes an answer for
//! outdated that is not, or takes note of a state that no later check accepts: the slot has another word, or, partitioned anew,
//! a version of SHARED above.

use std::ops::{BitOr, BitOrAssign};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use wire::iana::rtype;

use super::slots::SlotNumber;

/// Zones that are partitioned at a time: half a megabyte of versions. A server has few zones that change many times a second; with more than
/// these their turns come and go (`Owners`), and each change of one costs all of its answers, as that of any other zone does.
pub const PARTITIONED_MAX: usize = CHUNK_BLOCKS * CHUNKS;
/// Blocks of a chunk: 32 KiB, which a server with one such zone takes.
const CHUNK_BLOCKS: usize = 64;
const CHUNKS: usize = 16;

/// Parts of names: the two others make 64.
const NAME_PARTS: u64 = 62;
const SHARED_BIT: u32 = 62;
const SERIAL_BIT: u32 = 63;

/// Upper bits of words and of versions that are no plain versions.
const PARTITIONED: u64 = 1 << 63;
const BLOCK: u64 = 3 << 62;

/// Some of the parts of a zone: what a publication changes, or what an answer was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSet(u64);

impl PartSet {
    /// No part: a publication of the same data, with another serial perhaps.
    pub const NONE: PartSet = PartSet(0);
    /// What all names depend on. A change of it is one of everything.
    pub const SHARED: PartSet = PartSet(1 << SHARED_BIT);
    /// What each publication changes.
    pub const SERIAL: PartSet = PartSet(1 << SERIAL_BIT);

    /// The part of a name, given by its key relative to the apex.
    #[inline(never)]
    pub fn of_name(relative: &[u8]) -> PartSet {
        match relative {
            // The wildcard of the apex stands in for names of all parts. What the apex has changes seldom, but for its serial.
            [] | [b'*', 0, ..] => PartSet::SHARED,
            _ => {
                let label = relative.iter().take_while(|octet| **octet != 0);
                let mix = |hash: u64, octet: &u8| (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
                let hash = label.fold(0xcbf2_9ce4_8422_2325, mix);
                // Of short labels the lower half says nearly all; the product carries it up.
                let spread = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                PartSet(1 << (((spread >> 32) * NAME_PARTS) >> 32))
            }
        }
    }

    /// Of what the apex has, what changes with each change of the zone: kept apart from all else there.
    pub fn is_of_serial(rtype: u16) -> bool {
        matches!(rtype, rtype::SOA | rtype::NSEC | rtype::ZONEMD)
    }

    /// Whether all answers made from the zone are concerned.
    pub fn is_everything(self) -> bool {
        self.0 & PartSet::SHARED.0 != 0
    }

    /// Whether all parts of `others` are among these.
    pub fn has(self, others: PartSet) -> bool {
        self.0 & others.0 == others.0
    }

    /// As a number, to be kept.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The set of such a number.
    pub fn from_bits(bits: u64) -> PartSet {
        PartSet(bits)
    }

    /// Numbers of the parts.
    fn each(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = (left != 0).then(|| left.trailing_zeros() as usize);
            left &= left.wrapping_sub(1);
            next
        })
    }
}

impl BitOr for PartSet {
    type Output = PartSet;

    fn bitor(self, other: PartSet) -> PartSet {
        PartSet(self.0 | other.0)
    }
}

impl BitOrAssign for PartSet {
    fn bitor_assign(&mut self, other: PartSet) {
        self.0 |= other.0;
    }
}

/// Whether a word of a slot, or the number of a version, is that of a partitioned zone.
#[inline(always)]
pub(super) fn is_partitioned(number: u64) -> bool {
    number & PARTITIONED != 0
}

/// The block that the word of a slot says.
pub(super) fn block_of(word: u64) -> Option<u32> {
    (word & BLOCK == BLOCK).then_some(word as u32)
}

/// The versions of one zone.
pub(super) struct Block([AtomicU64; 64]);

impl Block {
    fn new() -> Block {
        Block(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// What a reader takes note of before it loads the view word.
    fn state(&self) -> u64 {
        PARTITIONED | self.0[SERIAL_BIT as usize].load(Ordering::Acquire)
    }

    /// Publishes that these parts are as of `version`, which is above all before; the view word is stored before.
    fn raise(&self, parts: PartSet, version: u64) {
        // Who depends on any part depends on what is shared.
        let parts = if parts.is_everything() { PartSet::SHARED } else { parts };
        // That of SERIAL is the last bit.
        (parts | PartSet::SERIAL).each().for_each(|part| self.0[part].store(version, Ordering::Release));
    }

    /// Whether none of these parts has changed since the state, nor what is shared.
    fn is_current(&self, parts: PartSet, state: u64) -> bool {
        let state = state & !PARTITIONED;
        (parts | PartSet::SHARED).each().all(|part| self.0[part].load(Ordering::Acquire) <= state)
    }
}

/// All blocks, in chunks that are made when they are needed and stay.
#[derive(Default)]
pub(super) struct Blocks([OnceLock<Box<[Block]>>; CHUNKS]);

impl Blocks {
    fn get(&self, number: u32) -> Option<&Block> {
        let chunk = self.0.get(number as usize / CHUNK_BLOCKS)?.get()?;
        chunk.get(number as usize % CHUNK_BLOCKS)
    }

    /// The state of the zone with this word.
    pub(super) fn state(&self, word: u64) -> u64 {
        // A word says a block that was made.
        block_of(word).and_then(|block| self.get(block)).map_or(0, Block::state)
    }

    /// Whether an answer of this state, made from these parts, is as the zone with this word is.
    pub(super) fn is_current(&self, word: u64, state: u64, parts: PartSet) -> bool {
        let block = block_of(word).and_then(|block| self.get(block));
        block.is_some_and(|block| block.is_current(parts, state))
    }

    /// Raises parts of the zone that has a block.
    pub(super) fn raise(&self, block: u32, parts: PartSet, version: u64) {
        if let Some(block) = self.get(block) {
            block.raise(parts, version);
        }
    }
}

/// Who has which block: the writer's.
#[derive(Default)]
pub(super) struct Owners {
    /// By block: its slot, and the state when the hand passed last.
    blocks: Vec<(SlotNumber, u64)>,
    /// Blocks without a slot.
    free: Vec<u32>,
    hand: usize,
}

/// A block for a zone, and the slot of the zone that has it no longer.
pub(super) struct Taken {
    pub(super) block: u32,
    pub(super) from: Option<SlotNumber>,
}

impl Owners {
    /// Gives a zone a block. Where all are taken a hand goes on by one, and takes that of a zone that was not published since it passed before: so
    /// zones keep theirs that are published more often than the hand comes round, and nobody looks at all.
    pub(super) fn take(&mut self, slot: SlotNumber, blocks: &Blocks) -> Option<Taken> {
        if let Some(block) = self.free.pop() {
            self.blocks[block as usize].0 = slot;
            return Some(Taken { block, from: None });
        }
        let made = self.blocks.len();
        if made < PARTITIONED_MAX {
            let chunk = || (0..CHUNK_BLOCKS).map(|_| Block::new()).collect();
            blocks.0[made / CHUNK_BLOCKS].get_or_init(chunk);
            self.blocks.push((slot, 0));
            return Some(Taken { block: made as u32, from: None });
        }
        let at = self.hand;
        self.hand = (at + 1) % made;
        let state = blocks.get(at as u32).map_or(0, Block::state);
        let (owner, seen) = &mut self.blocks[at];
        if *seen != state {
            *seen = state;
            return None;
        }
        let from = Some(std::mem::replace(owner, slot));
        Some(Taken { block: at as u32, from })
    }

    /// A zone has its block no longer.
    pub(super) fn let_go(&mut self, block: u32) {
        self.free.push(block);
    }
}

/// What the word of a slot is that has a block.
pub(super) fn word_of(block: u32) -> u64 {
    BLOCK | u64::from(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_part_of_its_first_label() {
        let of = |key: &[u8]| PartSet::of_name(key);
        assert_eq!(of(b"www\0"), of(b"www\0a\0b\0"));
        assert_eq!((of(b""), of(b"*\0"), of(b"*\0a\0")), (PartSet::SHARED, PartSet::SHARED, PartSet::SHARED));
        assert!(!of(b"**\0").is_everything());
        let all = (0..1000).fold(PartSet::NONE, |all, at| all | of(format!("n{at}\0").as_bytes()));
        assert_eq!(all.0, PartSet::SHARED.0 - 1, "62 parts of names");
    }

    #[test]
    fn what_is_not_published_loses_its_block() {
        let (mut owners, blocks) = (Owners::default(), Blocks::default());
        for slot in 0..PARTITIONED_MAX as u32 {
            let taken = owners.take(SlotNumber(slot), &blocks).map(|taken| (taken.block, taken.from));
            assert_eq!(taken, Some((slot, None)));
            blocks.raise(slot, PartSet::SHARED, 1);
        }
        let mut lost = Vec::new();
        for step in 0..3 * PARTITIONED_MAX as u32 {
            // The first hundred are published all the time.
            (0..100).for_each(|slot| blocks.raise(slot, PartSet::NONE, 2 + u64::from(step)));
            lost.extend(owners.take(SlotNumber(5000 + step), &blocks).and_then(|taken| taken.from));
        }
        assert!(lost.iter().all(|slot| slot.0 >= 100), "{lost:?}");
        assert!((100..PARTITIONED_MAX as u32).all(|slot| lost.contains(&SlotNumber(slot))));
        owners.let_go(7);
        assert_eq!(owners.take(SlotNumber(1), &blocks).map(|taken| taken.block), Some(7));
    }

    #[test]
    fn an_answer_holds_until_one_of_its_parts_changes() {
        let block = Block::new();
        block.raise(PartSet::SHARED, 10);
        let [one, other] = [b"a\0", b"b\0"].map(|key| PartSet::of_name(key));
        assert_ne!(one, other);
        let state = block.state();
        block.raise(other, 11);
        assert!(block.is_current(one, state) && !block.is_current(one | other, state));
        assert!(!block.is_current(one | PartSet::SERIAL, state));
        let state = block.state();
        assert!(block.is_current(one | other | PartSet::SERIAL, state));
        block.raise(PartSet::SHARED | one, 12);
        assert!(!block.is_current(other, state) && !block.is_current(PartSet::NONE, state));
    }
}
