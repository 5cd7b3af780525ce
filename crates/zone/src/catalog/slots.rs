//! Slots, one a zone: what workers see of it, and in which version.
//!
//! ```text
//! | view word u64 | version u64 |      nothing; or 2, pack number 30, zone number 32; or 3, states number 30, state 32; or the address of an `Absent`
//!                       `-- of a zone that changes by parts: where its versions are, see `partition`
//! ```
//!
//! Order of the writer: view word, then version. Order of a reader: version, then view word. So an answer that says it was made from
//! version v was made from v or from something newer; that is harmless, as it is given up when the version arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sync::Domain;
use sync::epoch::{Guard, Held, Word};
use wire::{Name, NameBuf, SortKey};

use super::numbered::{PackNumber, StatesNumber};
use super::partition::is_partitioned;

/// Slots that stand for no zone: their versions are those of what is not there, see [`super::CatalogView::find`].
pub(super) const NOWHERE_SLOTS: u32 = 1024;
/// The first slot that can have a zone: where walks over all begin.
pub const FIRST_SLOT: SlotNumber = SlotNumber(NOWHERE_SLOTS);
/// Slots of a chunk: 64 KiB, so that few are made in vain, and a million zones have a list of 245 chunks.
pub(super) const CHUNK_SLOTS: usize = 1 << CHUNK_SHIFT;
const CHUNK_SHIFT: u32 = 12;

/// The number of a slot. Below [`NOWHERE_SLOTS`] it is no zone's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotNumber(pub u32);

/// A slot in one of its versions. No two states of any two zones ever have the same. Of a zone that changes by parts it is the state of the whole
/// zone, which parts may outlive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// The slot.
    pub slot: SlotNumber,
    /// From one count of the process, which only grows. 0 is nobody's.
    pub number: u64,
}

impl Version {
    /// Whether an answer of it may outlive it: it depends on parts of the zone alone.
    #[inline(always)]
    pub fn has_parts(self) -> bool {
        is_partitioned(self.number)
    }
}

/// Why a zone that the server is to serve cannot be answered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It was never loaded: its text is being read, or is broken.
    NotLoaded,
    /// A secondary zone whose time without contact to its primary is over (RFC 1035 3.3.13, EXPIRE).
    Expired,
}

/// A zone without data.
pub(super) struct Absent {
    /// Its name.
    pub(super) apex: NameBuf,
    /// Sort key of its name.
    pub(super) key: Box<[u8]>,
    /// Why there are none.
    pub(super) why: Absence,
}

impl Absent {
    pub(super) fn new(apex: &Name, why: Absence) -> Absent {
        Absent { apex: apex.to_owned(), key: SortKey::of(apex).octets().into(), why }
    }
}

/// What a view word says, without what it points at: as long as the batch lasts in which it was read it means the same.
/// 0: nothing; the word of a zone of a pack or of a state, whose numbers are never 0; or below 2^32 why there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen(u64);

/// In the number of a view word: it says states and one of them. Numbers of packs are below 2^30, as there are no more packs than zones.
const STATES: u64 = 1 << 62;
/// Packs' numbers are below.
const PACKS: u32 = 1 << 30;

impl Seen {
    const NOT_LOADED: Seen = Seen(1);
    const EXPIRED: Seen = Seen(2);

    /// What the number of a view word says.
    #[inline(always)]
    pub(super) fn number(word: u64) -> Seen {
        Seen(word)
    }

    pub(super) fn absent(why: Absence) -> Seen {
        match why {
            Absence::NotLoaded => Seen::NOT_LOADED,
            Absence::Expired => Seen::EXPIRED,
        }
    }

    #[inline(always)]
    pub(super) fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// The zone, if there is one, by the pack's number and its own.
    #[inline(always)]
    pub(super) fn zone(self) -> Option<(PackNumber, u32)> {
        let (pack, zone) = pack_of(self.0);
        (pack.0.wrapping_sub(1) < PACKS - 1).then_some((pack, zone))
    }

    /// The states and which of them, if it is one.
    pub(super) fn states(self) -> Option<(StatesNumber, u32)> {
        state_of_word(self.0)
    }

    /// Why there is none.
    pub(super) fn absence(self) -> Option<Absence> {
        match self {
            Seen::NOT_LOADED => Some(Absence::NotLoaded),
            Seen::EXPIRED => Some(Absence::Expired),
            _ => None,
        }
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Slot {
    view: Word<Absent>,
    version: AtomicU64,
}

const _: () = assert!(size_of::<Slot>() == 16);

/// The number that a view word says for a zone of a pack.
pub(super) fn word_of(pack: PackNumber, zone: u32) -> u64 {
    u64::from(pack.0) << 32 | u64::from(zone)
}

/// The number that a view word says for one of a zone's states.
pub(super) fn word_of_state(states: StatesNumber, state: u32) -> u64 {
    STATES | u64::from(states.0) << 32 | u64::from(state)
}

/// The pack and the zone that the number of a view word says; for one of states the number of no pack.
#[inline(always)]
pub(super) fn pack_of(word: u64) -> (PackNumber, u32) {
    (PackNumber((word >> 32) as u32), word as u32)
}

/// The states and which of them the number of a view word says, if it does.
pub(super) fn state_of_word(word: u64) -> Option<(StatesNumber, u32)> {
    (word & STATES != 0).then_some((StatesNumber(((word & !STATES) >> 32) as u32), word as u32))
}

/// What a view word named by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Pack(PackNumber),
    States(StatesNumber),
}

impl Slot {
    /// The version word.
    #[inline(always)]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Publishes that what depends on the slot is as of `version`; the view word is stored before.
    pub(super) fn raise(&self, version: u64) {
        self.version.store(version, Ordering::Release);
    }

    /// What workers see; the version is loaded before.
    #[inline(always)]
    #[allow(unsafe_code)] // the duty of `Word::load`
    pub(super) fn view<'g>(&self, guard: &Guard<'g>) -> Held<&'g Absent> {
        // SAFETY: `Slot` is private to the catalog, which calls `set` with its own domain alone and makes its guards from readers of that; slots
        // are dropped with the catalog's last reader.
        unsafe { self.view.load(guard) }
    }

    /// The view word as it is.
    pub(super) fn word(&self) -> u64 {
        self.view.bits()
    }

    /// Stores the view word; the version is stored after. Returns what the word of before named.
    pub(super) fn set(&self, held: Held<Box<Absent>>, domain: &Domain) -> Option<Named> {
        const NUMBER: u64 = 1 << 63;
        let old = self.view.replace(held, domain, size_of::<Absent>());
        let named = |word| match state_of_word(word) {
            Some((states, _)) => Named::States(states),
            None => Named::Pack(pack_of(word).0),
        };
        (old & NUMBER != 0).then(|| named(old & !NUMBER))
    }
}

/// All slots: chunks that never move, of which a longer list is published when more are needed.
pub(super) type SlotDirectory = Box<[Arc<[Slot; CHUNK_SLOTS]>]>;

/// The slot of this number.
#[inline(always)]
pub(super) fn slot(directory: &[Arc<[Slot; CHUNK_SLOTS]>], number: SlotNumber) -> Option<&Slot> {
    directory.get((number.0 >> CHUNK_SHIFT) as usize).map(|chunk| &chunk[number.0 as usize % CHUNK_SLOTS])
}
