//! Groups of zones: a number a zone for what its operator decides beside its data, such as who may ask. What it means is known to whoever gives it.
//!
//! ```text
//! slot number -> chunk of 4,096 u16, made when the first zone of them gets a group      nothing made: group 0
//! ```
//!
//! Order of the writer: group, then version of the slot. Who keeps what was found read the version first, so that with the version after a
//! change of group it sees the group. A slot that is given up keeps its group until it is used again: readers may still see its zone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use super::ZONES_MAX;
use super::slots::{CHUNK_SLOTS, NOWHERE_SLOTS, SlotNumber};

/// A group. 0 is of zones of which nothing was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group(u16);

impl Group {
    /// Most groups beside group 0.
    pub const NUMBERS_MAX: usize = MIRRORED as usize - 1;

    /// Group `number`, at most [`Group::NUMBERS_MAX`]. `is_for_some`: answers from its zones are not for everybody who may ask elsewhere, so that
    /// nobody may keep them for others.
    ///
    /// # Panics
    ///
    /// With a greater number, and with number 0 for some.
    #[must_use]
    pub fn new(number: usize, is_for_some: bool) -> Group {
        assert!(number <= Group::NUMBERS_MAX && (number > 0 || !is_for_some), "no such group");
        Group(number as u16 | if is_for_some { KEPT_FOR_NOBODY } else { 0 })
    }

    /// The same, of zones that are copies for a resolver: nobody is answered from them. Answers that looked there are for nobody else, either.
    ///
    /// # Panics
    ///
    /// If answers from the group are for everybody.
    #[must_use]
    pub fn mirrored(self) -> Group {
        assert!(self.is_for_some(), "a mirror is for somebody");
        Group(self.0 | MIRRORED)
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> usize {
        usize::from(self.0 & !(KEPT_FOR_NOBODY | MIRRORED))
    }

    /// See [`Group::mirrored`].
    #[must_use]
    pub fn is_mirror(self) -> bool {
        self.0 & MIRRORED != 0
    }

    /// See [`Group::new`].
    #[must_use]
    pub fn is_for_some(self) -> bool {
        self.0 & KEPT_FOR_NOBODY != 0
    }
}

/// The bit of groups whose answers are not kept.
const KEPT_FOR_NOBODY: u16 = 1 << 15;
/// The bit of groups of mirrors.
const MIRRORED: u16 = 1 << 14;
/// Chunks that slots can have.
const CHUNKS: usize = (ZONES_MAX + NOWHERE_SLOTS as usize).div_ceil(CHUNK_SLOTS);

/// The groups of [`CHUNK_SLOTS`] slots.
type Chunk = Box<[AtomicU16; CHUNK_SLOTS]>;

/// The groups of all slots; see the module. Nothing is taken back: a list of chunks takes 256 KiB, a chunk 8 KiB.
#[derive(Default)]
pub(super) struct Groups {
    chunks: OnceLock<Box<[OnceLock<Chunk>]>>,
}

impl Groups {
    fn place(slot: SlotNumber) -> (usize, usize) {
        (slot.0 as usize / CHUNK_SLOTS, slot.0 as usize % CHUNK_SLOTS)
    }

    /// The group of a slot's zone.
    pub(super) fn get(&self, slot: SlotNumber) -> Group {
        let (chunk, at) = Self::place(slot);
        let made = self.chunks.get().and_then(|chunks| chunks.get(chunk)?.get());
        Group(made.map_or(0, |made| made[at].load(Ordering::Acquire)))
    }

    /// Stores it, with the lock of writers held; a version is raised after, if the slot is used. Returns whether it was another.
    pub(super) fn set(&self, slot: SlotNumber, group: Group) -> bool {
        if self.get(slot) == group {
            return false;
        }
        let (chunk, at) = Self::place(slot);
        let chunks = self.chunks.get_or_init(|| (0..CHUNKS).map(|_| OnceLock::new()).collect());
        let made = chunks[chunk].get_or_init(|| Box::new([const { AtomicU16::new(0) }; CHUNK_SLOTS]));
        made[at].store(group.0, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_slots() {
        let groups = Groups::default();
        let last = SlotNumber((ZONES_MAX + NOWHERE_SLOTS as usize - 1) as u32);
        assert!(!groups.set(last, Group::default()) && groups.chunks.get().is_none());
        let (some, others) = (Group::new(7, true), Group::new(Group::NUMBERS_MAX, false));
        assert!(groups.set(last, some) && !groups.set(last, some) && groups.set(SlotNumber(5), others));
        assert_eq!((groups.get(last), groups.get(SlotNumber(5))), (some, others));
        assert_eq!(groups.get(SlotNumber(6)), Group::default());
        assert_eq!((some.number(), some.is_for_some()), (7, true));
        assert_eq!(
            (others.number(), others.is_for_some(), others.is_mirror()),
            (Group::NUMBERS_MAX, false, false)
        );
        let mirror = Group::new(Group::NUMBERS_MAX, true).mirrored();
        assert!(groups.set(last, mirror) && groups.get(last) == mirror);
        assert_eq!(
            (mirror.number(), mirror.is_for_some(), mirror.is_mirror()),
            (Group::NUMBERS_MAX, true, true)
        );
        assert!(groups.set(last, Group::default()) && groups.get(last) == Group::default());
    }
}
