//! The catalog as workers see it within a batch.

use super::depths::KeyLabels;
use super::slots::{Absence, NOWHERE_SLOTS, Seen, SlotNumber, Version, key_of};
use super::table::Tag;
use super::{Inner, Parts, root_hash};
use crate::index::Hash;
use crate::lookup::ZoneView;
use sync::epoch::{Guard, Held};
use wire::{Name, SortKey};

/// The zones within one batch of one reader.
#[derive(Clone, Copy)]
pub struct CatalogView<'g> {
    inner: &'g Inner,
    guard: Guard<'g>,
    parts: &'g Parts,
}

/// What a name was found in. Means something within the batch in which it was found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// The zone's slot and version; or, where there is none, a slot that stands for the lack of a zone above names such as this.
    pub version: Version,
    /// Labels of the zone's apex.
    pub labels: u8,
    pub(super) seen: Seen,
}

/// What there is of a zone.
#[derive(Clone, Copy)]
pub enum View<'g> {
    /// Data to answer from.
    Zone(ZoneView<'g>),
    /// The server is responsible for it and has no data: answers are SERVFAIL.
    Absent(Absence),
}

impl Found {
    /// Whether there is no zone.
    #[inline(always)]
    pub fn is_nothing(&self) -> bool {
        self.seen == Seen::Nothing
    }
}

impl<'g> CatalogView<'g> {
    #[inline(always)]
    pub(super) fn new(inner: &'g Inner, guard: Guard<'g>) -> CatalogView<'g> {
        CatalogView { inner, guard, parts: inner.parts.load(&guard) }
    }

    /// The same as it is now: with a table that was published after the batch began.
    #[inline(always)]
    pub fn renewed(&self) -> CatalogView<'g> {
        CatalogView::new(self.inner, self.guard)
    }

    /// A number that no other catalog of this process has. Never 0.
    #[inline(always)]
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// Labels of the deepest apex; 0 without zones. [`CatalogView::find`] looks at no more labels than these.
    #[inline(always)]
    pub fn apex_labels_max(&self) -> usize {
        self.inner.depths.bits().checked_ilog2().unwrap_or(0) as usize
    }

    /// How many upper labels of a name kept answers can be under.
    #[inline(always)]
    pub fn key_labels(&self) -> KeyLabels {
        self.inner.depths.key_labels()
    }

    /// The zone with the longest name that `key`, cut to `labels_max` labels, is at or below.
    ///
    /// The version of each zone on the way down is loaded before anything deeper is looked for, and that of the lack of a zone first of all. A
    /// zone that is added is put into the table first, and then the version of what was found before it is raised. So an answer that
    /// says it was made from a raised version may not know the new zone only if the table is an old one: who keeps answers asks a
    /// [renewed](CatalogView::renewed) view again before.
    #[inline(always)]
    pub fn find(&self, key: &SortKey, labels_max: usize) -> Found {
        let labels_max = labels_max.min(key.label_count());
        let upper = self.upper_hashes(key, labels_max);
        let nowhere = nowhere(upper[2]);
        let mut found = Found { version: self.version(nowhere), labels: 0, seen: Seen::Nothing };
        let mut hash = upper[2];
        // Bits that are left: depths that can still have an apex.
        let mut left = self.inner.depths.bits();
        for labels in 0..=labels_max {
            hash = match labels {
                0 | 1 => upper[labels],
                2 => upper[2],
                _ => hash.extend(key.padded(), key.end(labels - 1), key.end(labels)),
            };
            if left & 1 != 0
                && let Some((version, seen)) = self.probe(Tag::of(hash), key.ancestor(labels))
            {
                found = Found { version, labels: labels as u8, seen };
            }
            left >>= 1;
            if left == 0 {
                break;
            }
        }
        found
    }

    /// Hashes of the ancestors with no, one and two labels, of which the name cut to `labels_max` may have fewer.
    #[inline(always)]
    fn upper_hashes(&self, key: &SortKey, labels_max: usize) -> [Hash; 3] {
        let mut hashes = [root_hash(self.inner.seed); 3];
        if labels_max > 0 {
            hashes[1] = hashes[0].extend(key.padded(), 0, key.end(1));
            hashes[2] = hashes[1];
        }
        if labels_max > 1 {
            hashes[2] = hashes[1].extend(key.padded(), key.end(1), key.end(2));
        }
        hashes
    }

    /// The zone whose apex has exactly this key.
    #[inline(always)]
    pub(super) fn probe(&self, tag: Tag, key: &[u8]) -> Option<(Version, Seen)> {
        self.parts.table.find(tag, |number| {
            let number = SlotNumber(number);
            let slot = self.parts.slot(number)?;
            let version = slot.version();
            let (apex, seen) = key_of(slot.view(&self.guard), &self.parts.packs, &self.guard)?;
            (apex == key).then_some((Version { slot: number, number: version }, seen))
        })
    }

    /// The version that a slot has; 0 for a slot that was never made.
    #[inline(always)]
    fn version(&self, slot: SlotNumber) -> Version {
        Version { slot, number: self.parts.slot(slot).map_or(0, |slot| slot.version()) }
    }

    /// Whether a slot still has the version.
    #[inline(always)]
    pub fn is_current(&self, version: Version) -> bool {
        self.version(version.slot) == version
    }

    /// What there is of a zone that was found in this batch: always the same, whatever is published meanwhile.
    #[inline(always)]
    pub fn view(&self, found: &Found) -> View<'g> {
        match found.seen {
            Seen::Pack(number, zone) => {
                let pack = self.parts.packs.pack(number, &self.guard);
                match pack.and_then(|pack| ZoneView::new(pack, zone)) {
                    Some(zone) => View::Zone(zone),
                    None => View::Absent(Absence::NotLoaded),
                }
            }
            Seen::Absent(why) => View::Absent(why),
            Seen::Nothing => View::Absent(Absence::NotLoaded),
        }
    }

    /// Whether there may be zones below the name that is `key` cut to `labels` labels. False is certain, and holds as long as the version of the
    /// zone that was found for the name.
    pub fn may_have_zones_below(&self, key: &SortKey, labels: usize) -> bool {
        let mut hash = root_hash(self.inner.seed);
        for label in 0..labels.min(key.label_count()) {
            hash = hash.extend(key.padded(), key.end(label), key.end(label + 1));
        }
        self.parts.table.is_above(Tag::of(hash))
    }

    /// The slot of the zone named exactly `apex`.
    pub fn slot_named(&self, apex: &Name) -> Option<SlotNumber> {
        let key = SortKey::of(apex);
        let mut found = None;
        super::for_each_ancestor(self.inner.seed, key.octets(), |labels, tag| {
            if labels == key.label_count() {
                found = self.probe(tag, key.octets());
            }
        });
        found.map(|(version, _)| version.slot)
    }

    /// The name of a slot's zone, lower-case if it has data.
    pub fn name_of(&self, slot: SlotNumber) -> Option<&'g Name> {
        match self.parts.slot(slot)?.view(&self.guard) {
            Held::Number(_) => match self.view_of(slot)? {
                View::Zone(zone) => Some(zone.apex()),
                View::Absent(_) => None,
            },
            Held::Value(absent) => Some(&absent.apex),
            Held::Nothing => None,
        }
    }

    /// What there is of a slot's zone. `None`: it has none.
    pub fn view_of(&self, slot: SlotNumber) -> Option<View<'g>> {
        let held = self.parts.slot(slot)?.view(&self.guard);
        let (_, seen) = key_of(held, &self.parts.packs, &self.guard)?;
        Some(self.view(&Found { version: Version::default(), labels: 0, seen }))
    }

    /// Slots that have a zone among the `count` ones from `from` on, which is at most where the walk before ended; `None` at the end of all. So who
    /// walks over all zones does it batch by batch, and sees those that stay meanwhile.
    pub fn slots(&self, from: SlotNumber, count: u32) -> Option<impl Iterator<Item = SlotNumber>> {
        let from = from.0.max(NOWHERE_SLOTS);
        let made = (self.parts.slots.len() * super::CHUNK_SLOTS) as u32;
        let is_used = |slot: &SlotNumber| self.view_of(*slot).is_some();
        (from < made).then(|| (from..from.saturating_add(count).min(made)).map(SlotNumber).filter(is_used))
    }

    /// Key of a slot's apex.
    pub(super) fn key_of(&self, slot: SlotNumber) -> Option<&'g [u8]> {
        let held = self.parts.slot(slot)?.view(&self.guard);
        key_of(held, &self.parts.packs, &self.guard).map(|(key, _)| key)
    }
}

/// The slot that stands for the lack of a zone above names whose two upper labels have this hash.
#[inline(always)]
pub(super) fn nowhere(upper: Hash) -> SlotNumber {
    SlotNumber((upper.bits() >> 32) as u32 % NOWHERE_SLOTS)
}
