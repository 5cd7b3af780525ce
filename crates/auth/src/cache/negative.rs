//! Name errors, for names that were not asked for before: names that do not exist rarely come twice.
//!
//! All name errors below one name begin with the same *start*, the SOA record and what proves that no wildcard stands in for
//! the name asked for. What proves that the name itself does not exist is the same for all names that one record covers. So
//! both are kept: the start alone, and the answers with the covers that are needed again and again.

use super::ring::{Piece, Refused, Ring};
use crate::server::Style;
use wire::render::Renderer;
use zone::catalog::Version;
use zone::{Match, ZoneView};

/// How many are kept at most: as many covers as the root zone has.
const SLOTS: usize = 2048;
/// Octets of all of them: as many of 1,000 octets, which two NSEC records have with signatures of RSA.
const RING_OCTETS: usize = 1 << 21;
/// No cover: a start.
const NO_COVER: u32 = u32::MAX;
/// What a start depends on, settings apart; in words, since keys are compared with each name error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct NegativeKey {
    /// The version of the zone; of one that changes by parts its state, which each publication changes: so does the SOA record that all starts have.
    version: u64,
    /// What the numbers of nodes belong to, see [`ZoneView::numbers_id`]: a merge leaves the version and exchanges the numbers.
    pack: u64,
    /// Number of the closest encloser, and of the record that covers the name.
    node_cover: u64,
    /// The zone's slot, and whether DNSSEC records are wanted.
    slot_wanted: u64,
}

impl NegativeKey {
    const NONE: NegativeKey = NegativeKey { version: 0, pack: 0, node_cover: 0, slot_wanted: 0 };

    /// The key of the start for names below `encloser`.
    #[inline(always)]
    pub(crate) fn of(
        source: Version,
        zone: &ZoneView<'_>,
        encloser: &Match<'_>,
        dnssec_ok: bool,
    ) -> NegativeKey {
        NegativeKey {
            version: source.number,
            pack: zone.numbers_id(),
            node_cover: u64::from(encloser.node.number()) << 32 | u64::from(NO_COVER),
            slot_wanted: u64::from(source.slot.0) << 1 | u64::from(dnssec_ok),
        }
    }

    /// The key of answers with the cover of this number.
    #[inline(always)]
    pub(crate) fn with_cover(self, cover: u32) -> NegativeKey {
        NegativeKey { node_cover: self.node_cover & !u64::from(u32::MAX) | u64::from(cover), ..self }
    }

    /// The version has no part in it, so that what is made of a zone's next state takes the place of what was made before.
    #[inline(always)]
    fn hash(&self) -> u64 {
        const K: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.slot_wanted.wrapping_mul(K) ^ self.node_cover).wrapping_mul(K);
        mixed ^ mixed >> 32
    }
}

/// A start as its reader wants it.
#[derive(Clone, Copy)]
pub(crate) struct NegativeStart {
    /// Numbers of the records in it that prove something.
    pub proofs: [u32; NegativeStart::PROOFS_MAX],
    /// How many.
    pub proofs_count: u8,
    /// The answer still needs the proof that the name does not exist.
    pub needs_cover: bool,
}

impl NegativeStart {
    /// Most records that prove something in a start: two for the closest provable encloser, one for the wildcard.
    pub(crate) const PROOFS_MAX: usize = 3;
}

#[derive(Clone, Copy)]
struct Slot {
    key: NegativeKey,
    epoch: u32,
    piece: Piece,
    records: u16,
    start: NegativeStart,
    /// Hash of the key that missed last, a part of it.
    missed: u32,
}

/// How name errors began that a worker gave before.
pub(crate) struct NegativeCache {
    slots: Box<[Slot]>,
    ring: Ring,
    /// Slots of other epochs are empty.
    epoch: u32,
    /// Nothing is kept: what is looked for is never here.
    is_off: bool,
}

impl Default for NegativeCache {
    fn default() -> NegativeCache {
        let empty = Slot {
            key: NegativeKey::NONE,
            epoch: 0,
            piece: Piece::EMPTY,
            records: 0,
            start: NegativeStart {
                proofs: [0; NegativeStart::PROOFS_MAX],
                proofs_count: 0,
                needs_cover: false,
            },
            missed: 0,
        };
        NegativeCache {
            slots: vec![empty; SLOTS].into(),
            ring: Ring::new(RING_OCTETS),
            epoch: 1,
            is_off: false,
        }
    }
}

impl NegativeCache {
    /// Forgets everything, and keeps nothing from now on if the style says so.
    #[cold]
    pub(crate) fn restyle(&mut self, style: Style) {
        self.forget();
        self.is_off = style.has(Style::ANEW);
    }

    /// Forgets everything.
    #[cold]
    pub(crate) fn forget(&mut self) {
        self.ring.clear();
        self.epoch = self.epoch.wrapping_add(1).max(1);
        if self.epoch == 1 {
            self.slots.iter_mut().for_each(|slot| slot.epoch = 0);
        }
    }

    /// What is kept under a key.
    #[inline(always)]
    pub(crate) fn start(&self, key: &NegativeKey) -> Option<NegativeStart> {
        self.slot(key).map(|slot| slot.start)
    }

    #[inline(always)]
    fn slot(&self, key: &NegativeKey) -> Option<&Slot> {
        let slot = &self.slots[key.hash() as usize % SLOTS];
        (slot.key == *key && slot.epoch == self.epoch).then_some(slot)
    }

    /// Writes what is kept under a key if it fits; nothing may stand after the question yet. `anchor`: where the name of the
    /// encloser stands.
    #[inline(always)]
    pub(crate) fn paste(&self, key: &NegativeKey, anchor: u16, out: &mut Renderer<'_>) -> Option<()> {
        let slot = self.slot(key)?;
        let mark = out.mark();
        let room = out.append(slot.piece.octets(), slot.records).ok()?;
        if self.ring.write_always(&slot.piece, anchor, room).is_none() {
            out.rollback(mark);
            return None;
        }
        Some(())
    }

    /// Takes note of records that were just written from `from` on, and keeps it if it was the slot's last to miss.
    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        key: &NegativeKey,
        anchor: u16,
        start: NegativeStart,
        from: usize,
        out: &Renderer<'_>,
    ) {
        let hash = key.hash();
        let slot = &mut self.slots[hash as usize % SLOTS];
        let missed = (hash >> 32) as u32;
        if slot.missed != missed {
            slot.missed = missed;
            return;
        }
        if self.is_off {
            return;
        }
        let records: u16 = out.counts().iter().sum();
        let over =
            (slot.epoch == self.epoch && slot.key.slot_wanted == key.slot_wanted).then_some(slot.piece);
        // What it depends on is in the key.
        match self.ring.keep(out.message(), (from, records as usize), anchor, std::iter::empty(), over) {
            Ok(piece) => {
                *slot = Slot { key: *key, epoch: self.epoch, piece, records, start, missed: 0 };
            }
            Err(Refused::Unfit) => {}
            Err(Refused::Worn) => self.forget(),
        }
    }
}
