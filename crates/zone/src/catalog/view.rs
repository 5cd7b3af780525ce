//! The catalog as workers see it within a batch.

use super::depths::KeyLabels;
use super::groups::Group;
use super::numbered::List;
use super::partition::{KeptParts, PartSet, is_partitioned};
use super::pins::Pins;
use super::slots::{Absence, Absent, NOWHERE_SLOTS, Seen, Slot, SlotNumber, Version, pack_of, state_of_word};
use super::states::States;
use super::table::Tag;
use super::{Inner, Parts, root_hash};
use crate::index::Hash;
use crate::lookup::ZoneView;
use crate::pack::Pack;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sync::Domain;
use sync::epoch::{Guard, Held};
use wire::{Name, SortKey};

/// The zones within one batch of one reader.
#[derive(Clone, Copy)]
pub struct CatalogView<'g> {
    inner: &'g Inner,
    guard: Guard<'g>,
    parts: &'g Parts,
    /// Those that were over before the parts were loaded.
    additions: u64,
}

/// What a name was found in. Means something within the batch in which it was found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    version: u64,
    seen: Seen,
    slot: SlotNumber,
    /// Labels of the zone's apex.
    pub labels: u8,
}

/// The same with what it was found in.
#[derive(Clone, Copy, Default)]
pub struct Hit<'g> {
    /// What was found.
    pub found: Found,
    pack: Option<&'g Pack>,
    /// Of a zone that changes, instead of the pack.
    states: Option<&'g States>,
}

impl<'g> Hit<'g> {
    /// The zone, if it is there and has data.
    #[inline(always)]
    pub fn zone(&self) -> Option<ZoneView<'g>> {
        let Some((_, zone)) = self.found.seen.zone() else { return self.in_state() };
        ZoneView::with_labels(self.pack?, zone, self.found.labels as usize)
    }

    #[cold]
    fn in_state(&self) -> Option<ZoneView<'g>> {
        let (_, state) = self.found.seen.states()?;
        self.states?.view(state)
    }

    /// Why there are no data of a zone that is there.
    pub fn absence(&self) -> Option<Absence> {
        match self.found.seen.zone().is_some() || self.found.seen.states().is_some() {
            true => Some(Absence::NotLoaded),
            false => self.found.seen.absence(),
        }
    }
}

impl Found {
    /// The zone's slot and version; or, where there is none, a slot that stands for the lack of a zone above names such as this.
    #[inline(always)]
    pub fn version(&self) -> Version {
        Version { slot: self.slot, number: self.version }
    }

    /// What was seen of it.
    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    /// Whether there is no zone.
    #[inline(always)]
    pub fn is_nothing(&self) -> bool {
        self.seen.is_nothing()
    }
}

/// What there is of a zone.
#[derive(Clone, Copy)]
pub enum View<'g> {
    /// Data to answer from.
    Zone(ZoneView<'g>),
    /// The server is responsible for it and has no data: answers are SERVFAIL.
    Absent(Absence),
    /// It had data in the pack of this [id](Pack::id), of which nothing can be read any more, its name neither. Answers are SERVFAIL.
    Lost(u64),
}

impl<'g> CatalogView<'g> {
    #[inline(always)]
    pub(super) fn new(inner: &'g Inner, guard: Guard<'g>) -> CatalogView<'g> {
        let additions = inner.additions.load(Ordering::Acquire);
        CatalogView { inner, guard, parts: inner.parts.load(&guard), additions }
    }

    #[inline(always)]
    pub(super) fn with_parts(
        inner: &'g Inner,
        guard: Guard<'g>,
        parts: &'g Parts,
        additions: u64,
    ) -> CatalogView<'g> {
        CatalogView { inner, guard, parts, additions }
    }

    /// Whether zones were added since the batch began. If not, all that was added before was in the table that was asked, and what was found is what
    /// its versions say: additions are counted when their zones can be found, and before any version is raised.
    #[inline(always)]
    pub fn has_new_zones(&self) -> bool {
        self.inner.additions.load(Ordering::Acquire) != self.additions
    }

    pub(super) fn parts(&self) -> &'g Parts {
        self.parts
    }

    /// What a pin is made of.
    pub(super) fn pinning(&self) -> (&'g Arc<Pins>, &'g List<Pack>, &'g List<States>, &'g Domain) {
        (&self.inner.pins, &self.inner.pack_list, &self.inner.states_list, &self.inner.domain)
    }

    /// The same as it is now: with a table that was published after the batch began.
    #[inline(always)]
    pub fn renewed(&self) -> CatalogView<'g> {
        CatalogView::new(self.inner, self.guard)
    }

    /// Whether there is no zone at all.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.inner.depths.halves() == [0, 0]
    }

    /// Labels of the deepest apex; 0 without zones. [`CatalogView::find`] looks at no more labels than these.
    #[inline(always)]
    pub fn apex_labels_max(&self) -> usize {
        self.inner.depths.deepest()
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
    /// [renewed](CatalogView::renewed) view again before, if zones were added meanwhile.
    #[inline(always)]
    pub fn find(&self, key: &SortKey, labels_max: usize) -> Hit<'g> {
        let labels_max = labels_max.min(key.label_count());
        // Depths that still can have an apex, and those beyond them.
        let [mut left, mut beyond] = self.inner.depths.halves();
        let root = root_hash(self.inner.seed);
        let (mut hash, mut labels, mut hit) = (root, 0, Hit::default());
        // With a zone of the root every name is in some zone.
        if left & 1 == 0 {
            let [one, two] = upper_hashes(root, key, labels_max);
            hit.found.slot = nowhere(two);
            hit.found.version = self.version(hit.found.slot).number;
            // Of names that have as many the first two hashes are known now.
            if labels_max >= 2 {
                if left & 2 != 0
                    && let Some(other) = self.probe(Tag::of(one), key.ancestor(1), 1)
                {
                    hit = other;
                }
                (hash, labels, left) = (two, 2, left >> 2);
            }
        }
        loop {
            if left & 1 != 0
                && let Some(other) = self.probe(Tag::of(hash), key.ancestor(labels), labels)
            {
                hit = other;
            }
            left >>= 1;
            if labels == labels_max {
                return hit;
            }
            if left == 0 {
                if beyond == 0 {
                    return hit;
                }
                if labels + 1 == u64::BITS as usize {
                    (left, beyond) = (beyond, 0);
                }
            }
            hash = hash.extend(key.padded(), key.end(labels), key.end(labels + 1));
            labels += 1;
        }
    }

    /// The zone whose apex has exactly this key, of so many labels.
    #[inline(always)]
    pub(super) fn probe(&self, tag: Tag, key: &[u8], labels: usize) -> Option<Hit<'g>> {
        let mut unseen = None;
        for number in self.parts.table.hits(tag) {
            let number = SlotNumber(number);
            let Some(slot) = self.parts.slot(number) else { continue };
            let version = slot.version();
            let Some((seen, pack, apex)) = self.see(slot.view(&self.guard)) else {
                match self.hit_in_state(number, key, labels) {
                    None => unseen = Some(number),
                    hit => return hit,
                }
                continue;
            };
            if apex == key {
                if is_partitioned(version) {
                    return self.hit_by_parts(number, key, labels);
                }
                return Some(Hit {
                    found: Found { version, seen, slot: number, labels: labels as u8 },
                    pack,
                    states: None,
                });
            }
        }
        self.hit_of_lost(unseen?, labels)
    }

    /// The zone of a slot that shows one of its states, if it has this key.
    #[cold]
    #[inline(never)]
    fn hit_in_state(&self, number: SlotNumber, key: &[u8], labels: usize) -> Option<Hit<'g>> {
        let slot = self.parts.slot(number)?;
        let version = self.state_version(slot);
        // It can have become one of a pack meanwhile.
        let Some((seen, states)) = self.see_state(slot.view(&self.guard)) else {
            let (seen, pack, apex) = self.see(slot.view(&self.guard))?;
            let found = Found { version, seen, slot: number, labels: labels as u8 };
            return (apex == key).then_some(Hit { found, pack, states: None });
        };
        let found = Found { version, seen, slot: number, labels: labels as u8 };
        (states.apex_key() == key).then_some(Hit { found, pack: None, states: Some(states) })
    }

    /// What is taken note of as the version of a slot; what it shows is loaded after.
    fn state_version(&self, slot: &Slot) -> u64 {
        let word = slot.version();
        if is_partitioned(word) { self.inner.blocks.state(word) } else { word }
    }

    /// A zone whose pack cannot be read any more, taken for the one that is looked for, as the hash is that: 38 bits of it are as good as a name where
    /// the answer is SERVFAIL, and the zone above would say that there is nothing.
    #[cold]
    #[inline(never)]
    fn hit_of_lost(&self, number: SlotNumber, labels: usize) -> Option<Hit<'g>> {
        self.lost(number)?;
        let version = self.state_version(self.parts.slot(number)?);
        let seen = Seen::absent(Absence::NotLoaded);
        let found = Found { version, seen, slot: number, labels: labels as u8 };
        Some(Hit { found, ..Hit::default() })
    }

    /// The pack of a slot's zone, if nothing can be read there.
    fn lost(&self, slot: SlotNumber) -> Option<&'g Pack> {
        let Held::Number(word) = self.parts.slot(slot)?.view(&self.guard) else { return None };
        let (number, zone) = pack_of(word);
        let pack = self.parts.packs.get(number.0, &self.guard)?;
        ZoneView::key_in(pack, zone).is_none().then_some(pack)
    }

    /// The zone in a slot whose version word says that it changes by parts: its state, and then what it shows, once more.
    #[cold]
    #[inline(never)]
    fn hit_by_parts(&self, number: SlotNumber, key: &[u8], labels: usize) -> Option<Hit<'g>> {
        let slot = self.parts.slot(number)?;
        // It can have become a plain version meanwhile.
        let version = self.state_version(slot);
        let Some((seen, pack, apex)) = self.see(slot.view(&self.guard)) else {
            return self.hit_in_state(number, key, labels).or_else(|| self.hit_of_lost(number, labels));
        };
        let found = Found { version, seen, slot: number, labels: labels as u8 };
        (apex == key).then_some(Hit { found, pack, states: None })
    }

    /// What a view word says, the pack, and the key of the apex. Of a pack that cannot be read any more, and of a zone that changes: nothing.
    #[inline(always)]
    fn see(&self, held: Held<&'g Absent>) -> Option<(Seen, Option<&'g Pack>, &'g [u8])> {
        match held {
            Held::Number(word) => {
                let (number, zone) = pack_of(word);
                let pack = match self.parts.packs.get(number.0, &self.guard) {
                    Some(pack) => pack,
                    None => self.late_pack(number.0)?,
                };
                Some((Seen::number(word), Some(pack), ZoneView::key_in(pack, zone)?))
            }
            Held::Value(absent) => Some((Seen::absent(absent.why), None, &absent.key)),
            Held::Nothing => None,
        }
    }

    /// The pack of a word that was published after the batch began, with a number that the list of packs did not have then: the longer list is published
    /// before such a word.
    #[cold]
    #[inline(never)]
    fn late_pack(&self, number: u32) -> Option<&'g Pack> {
        self.renewed().parts.packs.get(number, &self.guard)
    }

    /// What a view word says of a zone that changes, and its states.
    fn see_state(&self, held: Held<&'g Absent>) -> Option<(Seen, &'g States)> {
        let Held::Number(word) = held else { return None };
        let (number, _) = state_of_word(word)?;
        let states = self.parts.states.get(number.0, &self.guard);
        // As with packs.
        let states = states.or_else(|| self.renewed().parts.states.get(number.0, &self.guard))?;
        Some((Seen::number(word), states))
    }

    /// The version word that a slot has; 0 for a slot that was never made.
    #[inline(always)]
    fn version(&self, slot: SlotNumber) -> Version {
        Version { slot, number: self.parts.slot(slot).map_or(0, |slot| slot.version()) }
    }

    /// The group of a slot's zone. If it was changed before the version was read that the slot had, it is the changed one.
    #[must_use]
    pub fn group_of(&self, slot: SlotNumber) -> Group {
        self.inner.groups.get(slot)
    }

    /// Whether a slot still has the version, which is not one with parts.
    #[inline(always)]
    pub fn is_current(&self, version: Version) -> bool {
        self.version(version.slot).number == version.number
    }

    /// Whether what was made from these parts of a zone in this version, which is one with parts, is what its present version has there.
    /// What is shared is always among them.
    #[cold]
    pub fn are_current(&self, version: Version, parts: PartSet) -> bool {
        self.serial_of(version, parts.kept()).is_some()
    }

    /// The same of parts as they are kept; and if they are as they were, the serial that the zone's SOA record has now: all of it else is as it was,
    /// also of an answer that does not depend on [`PartSet::SERIAL`].
    pub fn serial_of(&self, version: Version, parts: KeptParts) -> Option<u32> {
        let word = self.version(version.slot).number;
        let serial = self.inner.blocks.is_current(word, version.number, parts);
        serial.filter(|_| version.has_parts())
    }

    /// The same again of what was found in this batch before, whatever is published meanwhile.
    pub fn hit(&self, found: &Found) -> Hit<'g> {
        let parts = self.renewed().parts;
        let pack = found.seen.zone().and_then(|(number, _)| parts.packs.get(number.0, &self.guard));
        let states = found.seen.states().and_then(|(number, _)| parts.states.get(number.0, &self.guard));
        Hit { found: *found, pack, states }
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
                found = self.probe(tag, key.octets(), labels);
            }
        });
        found.map(|hit| hit.found.slot)
    }

    /// The name of a slot's zone, lower-case if it has data.
    pub fn name_of(&self, slot: SlotNumber) -> Option<&'g Name> {
        match self.parts.slot(slot)?.view(&self.guard) {
            Held::Value(absent) => Some(&absent.apex),
            _ => match self.view_of(slot)? {
                View::Zone(zone) => Some(zone.apex()),
                View::Absent(_) | View::Lost(_) => None,
            },
        }
    }

    /// What there is of a slot's zone. `None`: it has none.
    pub fn view_of(&self, slot: SlotNumber) -> Option<View<'g>> {
        let held = self.parts.slot(slot)?.view(&self.guard);
        if let Some((seen, states)) = self.see_state(held) {
            let (_, state) = seen.states()?;
            let pack = states.get(state)?.pack();
            let zone = states.view(state).filter(|_| !pack.is_damaged());
            return Some(zone.map_or(View::Lost(pack.id()), View::Zone));
        }
        let Some((seen, pack, _)) = self.see(held) else {
            // One that was written into has data, of which nobody knows what they are.
            return self.lost(slot).filter(|pack| pack.is_damaged()).map(|pack| View::Lost(pack.id()));
        };
        match (seen.zone(), pack) {
            (Some((_, zone)), Some(pack)) => {
                Some(ZoneView::new(pack, zone).map_or(View::Lost(pack.id()), View::Zone))
            }
            _ => seen.absence().map(View::Absent),
        }
    }

    /// What there is of a slot's zone, as pins have it, and in which version.
    pub(super) fn seen_in(&self, slot: SlotNumber) -> Option<(Seen, Version)> {
        let version = self.version(slot);
        let held = self.parts.slot(slot)?.view(&self.guard);
        let seen = match self.see_state(held) {
            Some((seen, _)) => seen,
            None => self.see(held)?.0,
        };
        Some((seen, version))
    }

    /// See [`super::Catalog::octets`].
    pub(super) fn octets(&self) -> usize {
        let slots = self.parts.slots.iter().map(|chunk| size_of_val(&**chunk));
        self.parts.table.octets() + slots.sum::<usize>()
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
        match self.see_state(held) {
            Some((_, states)) => Some(states.apex_key()),
            None => self.see(held).map(|(.., key)| key),
        }
    }
}

/// Hashes of the ancestors with one and two labels, of which the name cut to `labels_max` may have fewer.
#[inline(always)]
fn upper_hashes(root: Hash, key: &SortKey, labels_max: usize) -> [Hash; 2] {
    let mut hashes = [root; 2];
    if labels_max > 0 {
        let one = root.extend(key.padded(), 0, key.end(1));
        hashes = [one; 2];
        if labels_max > 1 {
            hashes[1] = one.extend(key.padded(), key.end(1), key.end(2));
        }
    }
    hashes
}

/// The slot that stands for the lack of a zone above names whose two upper labels have this hash.
#[inline(always)]
pub(super) fn nowhere(upper: Hash) -> SlotNumber {
    SlotNumber((upper.bits() >> 32) as u32 % NOWHERE_SLOTS)
}
