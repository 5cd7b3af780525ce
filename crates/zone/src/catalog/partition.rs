//! Versions of the parts of a zone: a zone that changes again and again would otherwise cost all answers that were made from it each time.
//!
//! ```text
//! version word of a slot          what a reader takes note of                     what is kept with an answer
//! | 0  version 63 |               the same                                        the same
//! | 11 number of a block |        | 10 state 62 |: the block's word SERIAL        that, and the parts that it was made from
//!      `--> 64 words: the version in which each part changed last; chunks that never move
//!           4,096 words: the same of finer parts, once the zone was published again and again
//!           the serial of the newest state
//! ```
//!
//! | part | what it has |
//! |---|---|
//! | 0 to 61 | names below the apex, by a hash of the first label there: with a name all that is below it, so cuts, DNAMEs, wildcards and empty non-terminals above a name are in its part |
//! | [`PartSet::SHARED`] | what any name can come to: the apex but for its serial, names below the wildcard of the apex, the kind of proofs, whether there are signatures. In every set |
//! | [`PartSet::SERIAL`] | SOA, and what proves absence. Changed by each publication: its version is the state of the whole zone |
//!
//! Each of the parts of names is divided once more, into some 66 *finer parts*: an answer that comes from a few of those depends on them alone.
//!
//! Versions are of one count, so an answer of state v holds as long as none of its parts has a version above v; none of them need be read
//! while the answer is made. Order of the writer: view word, versions of the parts, that of SERIAL last. Order of a reader: slot's word, that of SERIAL,
//! view word. As with plain versions, an answer can be made of something newer than it says, never of something older.
//!
//! An answer without signatures that has the zone's SOA record does not depend on SERIAL: whoever gives it again writes the present serial into it. A change
//! of anything else of that record is one of everything. The serial is stored after the versions and loaded before them: an answer
//! that says a serial is as of the state with that serial, or of one before in which nothing that it says was other.
//!
//! Words of a block only grow, whosever the block is. So who still follows the word of a slot that had the block before takes an answer for
//! outdated that is not, or takes note of a state that no later check accepts: the slot has another word, or, partitioned anew,
//! a version of SHARED above.

use std::ops::{BitOr, BitOrAssign};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use wire::iana::rtype;

use super::slots::SlotNumber;

/// Zones that are partitioned at a time: half a megabyte of versions, and 32 KiB more of each that is published again and again. A server has few zones
/// that change many times a second; with more than these their turns come and go (`Owners`), and each change of one costs all of its answers, as that
/// of any other zone does.
pub const PARTITIONED_MAX: usize = CHUNK_BLOCKS * CHUNKS;
/// Blocks of a chunk: 32 KiB, which a server with one such zone takes.
const CHUNK_BLOCKS: usize = 64;
const CHUNKS: usize = 16;

/// Parts of names: the two others make 64.
const NAME_PARTS: u64 = 62;
/// Finer parts. With a thousand names that change each second, one of them changes every four seconds, which costs few of the answers that are worth
/// keeping. Half as many would cost twice as many; more would take room in the memory caches that answers want.
const FINE_PARTS: u64 = 1 << FINE_BITS;
const FINE_BITS: u32 = 12;
const FINE_WORDS: usize = FINE_PARTS as usize / u64::BITS as usize;
/// Publications after which a zone has finer parts: one that changes seldom loses few answers without.
const FINE_AT: u32 = 16;
/// Finer parts that an answer can depend on; with more names it depends on parts.
const FINE_KEPT_MAX: usize = 5;
const SHARED_BIT: u32 = 62;
const SERIAL_BIT: u32 = 63;

/// Upper bits of words and of versions that are no plain versions.
const PARTITIONED: u64 = 1 << 63;
const BLOCK: u64 = 3 << 62;

/// Some of the parts of a zone: what a publication changes, or what an answer was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSet {
    parts: u64,
    /// The finer ones, a bit each: all are of `parts`.
    fine: [u64; FINE_WORDS],
}

impl Default for PartSet {
    fn default() -> PartSet {
        PartSet::NONE
    }
}

impl PartSet {
    /// No part: a publication of the same data, with another serial perhaps.
    pub const NONE: PartSet = PartSet { parts: 0, fine: [0; FINE_WORDS] };
    /// What all names depend on. A change of it is one of everything.
    pub const SHARED: PartSet = PartSet { parts: 1 << SHARED_BIT, ..PartSet::NONE };
    /// What each publication changes.
    pub const SERIAL: PartSet = PartSet { parts: 1 << SERIAL_BIT, ..PartSet::NONE };

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
                let number = (spread >> (u64::BITS - FINE_BITS)) as u16;
                let mut fine = [0; FINE_WORDS];
                fine[usize::from(number) / 64] = 1 << (number % 64);
                PartSet { parts: 1 << part_of_fine(number), fine }
            }
        }
    }

    /// Whether a type is one of those at the apex that belong to [`PartSet::SERIAL`].
    pub fn is_of_serial(rtype: u16) -> bool {
        matches!(rtype, rtype::SOA | rtype::NSEC | rtype::ZONEMD)
    }

    /// Whether all answers made from the zone are concerned.
    pub fn is_everything(self) -> bool {
        self.parts & PartSet::SHARED.parts != 0
    }

    /// Whether all of `others` are among these.
    pub fn has(self, others: PartSet) -> bool {
        self.words().zip(others.words()).all(|(own, other)| own & other == other)
    }

    /// Whether any part is among these and `others`, of names a finer one.
    pub fn meets(self, others: PartSet) -> bool {
        const NAMES: u64 = (1 << NAME_PARTS) - 1;
        let mut fine = self.fine.iter().zip(others.fine);
        self.parts & others.parts & !NAMES != 0 || fine.any(|(own, other)| own & other != 0)
    }

    /// The same with all finer parts of its parts.
    #[must_use]
    pub fn whole(mut self) -> PartSet {
        let of = |number: u64| u64::from(self.parts & 1 << part_of_fine(number as u16) != 0);
        for (at, word) in self.fine.iter_mut().enumerate() {
            *word = (0..64).fold(0, |word, bit| word | of(64 * at as u64 + bit) << bit);
        }
        self
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        std::iter::once(self.parts).chain(self.fine)
    }

    /// Numbers of the finer parts.
    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.fine.iter().enumerate().flat_map(|(at, word)| each(*word).map(move |bit| 64 * at + bit))
    }

    /// The same for an answer that is kept.
    pub fn kept(self) -> KeptParts {
        let (mut numbers, mut count) = (0, 0);
        for number in self.numbers().take(FINE_KEPT_MAX + 1) {
            numbers = numbers << FINE_BITS | number as u64;
            count += 1;
        }
        if !(1..=FINE_KEPT_MAX).contains(&count) {
            return KeptParts(self.parts & !PartSet::SHARED.parts);
        }
        // What is left is filled with the last of them, which changes nothing.
        let last = numbers % FINE_PARTS;
        let all = (count..FINE_KEPT_MAX).fold(numbers, |all, _| all << FINE_BITS | last);
        KeptParts(all | KeptParts::FINE | self.parts & PartSet::SERIAL.parts)
    }
}

/// The part that a finer part is of.
fn part_of_fine(number: u16) -> u32 {
    ((u64::from(number) * NAME_PARTS) >> FINE_BITS) as u32
}

/// What an answer that is kept was made from: a number.
///
/// | bits | |
/// |---|---|
/// | 63 | SERIAL |
/// | 62 | whether the others are finer parts |
/// | 0 to 61 | parts; or the numbers of five finer parts, 12 bits each |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptParts(u64);

const _: () = assert!(FINE_KEPT_MAX as u32 * FINE_BITS <= SHARED_BIT);

impl KeptParts {
    const FINE: u64 = 1 << SHARED_BIT;

    /// As a number.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Those of such a number.
    pub fn from_bits(bits: u64) -> KeptParts {
        KeptParts(bits)
    }

    /// Whether it changes with every publication of the zone.
    pub fn has_serial(self) -> bool {
        self.0 & PartSet::SERIAL.parts != 0
    }

    /// Numbers of the finer parts, some of them more than once; `None`: it has parts.
    fn fine(self) -> Option<[u16; FINE_KEPT_MAX]> {
        let number = |at: usize| (self.0 >> (at as u32 * FINE_BITS)) as u16 % FINE_PARTS as u16;
        (self.0 & KeptParts::FINE != 0).then(|| std::array::from_fn(number))
    }
}

impl BitOr for PartSet {
    type Output = PartSet;

    fn bitor(mut self, other: PartSet) -> PartSet {
        self |= other;
        self
    }
}

impl BitOrAssign for PartSet {
    fn bitor_assign(&mut self, other: PartSet) {
        self.parts |= other.parts;
        self.fine.iter_mut().zip(other.fine).for_each(|(own, other)| *own |= other);
    }
}

/// Numbers of the bits that are set.
fn each(bits: u64) -> impl Iterator<Item = usize> {
    let mut left = bits;
    std::iter::from_fn(move || {
        let next = (left != 0).then(|| left.trailing_zeros() as usize);
        left &= left.wrapping_sub(1);
        next
    })
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
pub(super) struct Block {
    parts: [AtomicU64; 64],
    fine: OnceLock<Box<[AtomicU64]>>,
    /// Of the newest state.
    serial: AtomicU32,
    /// How often it was published by parts: the writer's.
    published: AtomicU32,
}

impl Block {
    fn new() -> Block {
        Block {
            parts: std::array::from_fn(|_| AtomicU64::new(0)),
            fine: OnceLock::new(),
            serial: AtomicU32::new(0),
            published: AtomicU32::new(0),
        }
    }

    /// What a reader takes note of before it loads the view word.
    fn state(&self) -> u64 {
        PARTITIONED | self.parts[SERIAL_BIT as usize].load(Ordering::Acquire)
    }

    /// Publishes that these parts are as of `version`, which is above all before; the view word is stored before, the serial after.
    fn raise(&self, set: PartSet, version: u64) {
        let store = |word: &AtomicU64| word.store(version, Ordering::Release);
        // Who depends on any part depends on what is shared.
        let set = if set.is_everything() { PartSet::SHARED } else { set };
        if let Some(fine) = self.fine_parts() {
            set.numbers().filter_map(|number| fine.get(number)).for_each(store);
        }
        // That of SERIAL is the last bit.
        each(set.parts | PartSet::SERIAL.parts).for_each(|part| store(&self.parts[part]));
    }

    /// The versions of finer parts, if it has any by now: new ones are those of the parts that they are of.
    fn fine_parts(&self) -> Option<&[AtomicU64]> {
        let published = self.published.load(Ordering::Relaxed).saturating_add(1);
        self.published.store(published, Ordering::Relaxed);
        let of = |number: u64| self.parts[part_of_fine(number as u16) as usize].load(Ordering::Relaxed);
        let made = || (0..FINE_PARTS).map(|number| AtomicU64::new(of(number))).collect();
        (published >= FINE_AT).then(|| &**self.fine.get_or_init(made))
    }

    /// Whether none of these parts has changed since the state, nor what is shared.
    fn is_current(&self, parts: KeptParts, state: u64) -> bool {
        let state = state & !PARTITIONED;
        let is_old = |word: &AtomicU64| word.load(Ordering::Acquire) <= state;
        let beside = parts.0 & PartSet::SERIAL.parts | PartSet::SHARED.parts;
        let names = match (parts.fine(), self.fine.get()) {
            (None, _) => parts.0 & !beside,
            (Some(numbers), None) => numbers.iter().fold(0, |bits, number| bits | 1 << part_of_fine(*number)),
            (Some(numbers), Some(fine)) => {
                if !numbers.iter().all(|number| fine.get(*number as usize).is_some_and(is_old)) {
                    return false;
                }
                0
            }
        };
        each(names | beside).all(|part| is_old(&self.parts[part]))
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

    /// Whether an answer of this state, made from these parts, is as the zone with this word is: then the serial to say.
    pub(super) fn is_current(&self, word: u64, state: u64, parts: KeptParts) -> Option<u32> {
        let block = block_of(word).and_then(|block| self.get(block))?;
        // Before the versions: see the module.
        let serial = block.serial.load(Ordering::Acquire);
        block.is_current(parts, state).then_some(serial)
    }

    /// Says the serial of the state that the zone with this word shows, if it has a block. Its versions are raised before.
    pub(super) fn set_serial(&self, word: u64, serial: u32) {
        if let Some(block) = block_of(word).and_then(|block| self.get(block)) {
            block.serial.store(serial, Ordering::Release);
        }
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
        assert_eq!(all.parts, PartSet::SHARED.parts - 1, "62 parts of names");
        assert!((800..1000).contains(&all.numbers().count()), "one each, or nearly");
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
        // Without finer parts, and with them.
        for published in [0, FINE_AT] {
            let block = Block::new();
            block.published.store(published, Ordering::Relaxed);
            block.raise(PartSet::SHARED, 10);
            let [one, other] = [b"a\0", b"b\0"].map(|key| PartSet::of_name(key));
            assert_ne!(one.parts, other.parts);
            let is_current = |parts: PartSet, state| block.is_current(parts.kept(), state);
            let state = block.state();
            block.raise(other, 11);
            assert!(is_current(one, state) && !is_current(one | other, state));
            assert!(!is_current(one | PartSet::SERIAL, state));
            let state = block.state();
            assert!(is_current(one | other | PartSet::SERIAL, state));
            block.raise(PartSet::SHARED | one, 12);
            assert!(!is_current(other, state) && !is_current(PartSet::NONE, state));
        }
    }

    /// Sets of names beside plain sets of their finer parts, while a zone comes to have these.
    #[test]
    fn finer_parts() {
        let name = |number: u64| PartSet::of_name(format!("n{number}\0").as_bytes());
        let block = Block::new();
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 33) % below
        };
        block.raise(PartSet::SHARED, 1);
        let (mut kept, mut lived) = (Vec::<(PartSet, Vec<usize>, u64, bool)>::new(), [0, 0]);
        // Of the last so many states, as what has more names than are kept depends on parts.
        const STATES: u64 = 20;
        for version in 2..400 {
            let mut some = |most: u64| {
                let names: Vec<PartSet> = (0..random(most)).map(|_| name(random(3000))).collect();
                let mut numbers: Vec<usize> = names.iter().flat_map(|name| name.numbers().next()).collect();
                numbers.sort_unstable();
                numbers.dedup();
                (names.iter().fold(PartSet::NONE, |all, name| all | *name), numbers)
            };
            let (changed, numbers) = some(if version % 40 == 0 { 60 } else { 4 });
            assert!(changed.numbers().eq(numbers.iter().copied()));
            block.raise(changed, version);
            for (set, own, state, is_right) in &mut kept {
                let is_touched = own.iter().any(|number| numbers.contains(number));
                assert!(!is_touched || changed.meets(*set));
                *is_right &= !is_touched;
                let is_kept = block.is_current(set.kept(), *state);
                assert!(*is_right || !is_kept, "{own:?} of state {state} at {version}");
                lived[usize::from(is_kept)] += usize::from(*is_right);
            }
            kept.retain(|(_, _, state, _)| (state & !PARTITIONED) + STATES > version);
            for most in [2, 5, 9] {
                let (set, own) = some(most);
                assert!(block.is_current(set.kept(), block.state()));
                kept.push((set, own, block.state(), true));
            }
        }
        assert!(lived[1] > lived[0], "{lived:?}: few live on");
    }
}
