//! How the catalog changes: one writer at a time, under a short lock.

use super::depths::DepthCounts;
use super::groups::Group;
use super::growth::{Growth, label_count};
use super::numbered::{List, Numbers, PackNumber, StatesNumber};
use super::partition::{Owners, PartSet, block_of, word_of as word_of_block};
use super::slots::{
    Absence, Absent, CHUNK_SLOTS, NOWHERE_SLOTS, Named, Slot, SlotNumber, word_of, word_of_state,
};
use super::states::States;
use super::table::{Table, Tag};
use super::view::{CatalogView, View, nowhere};
use super::{Catalog, Inner, Parts, ZONES_MAX, for_each_ancestor, new_chunk, next_version, root_hash};
use crate::index::Hash;
use crate::lookup::ZoneView;
use crate::pack::Pack;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use sync::Mutex;
use sync::epoch::{Held, Reader};
use wire::{Name, SortKey};

/// Zones that are added together: about as many misses of the memory caches as a core has in flight, times two.
const ADDED_TOGETHER: usize = 32;
/// Zones that are added before others who change something have their turn: 0.1 ms, and up to 4 ms while the table grows.
const ADDED_AT_A_TIME: usize = 4 * ADDED_TOGETHER;

/// The lock, held.
type Locked<'i> = sync::Guard<MutexGuard<'i, Writer>>;

/// What a slot is to show.
#[derive(Clone, Copy, Debug)]
pub enum ViewSource {
    /// A zone of a pack.
    Pack(PackNumber, u32),
    /// A zone that changes, in one of its states.
    States(StatesNumber, u32),
    /// No data: answers are SERVFAIL.
    Absent(Absence),
}

/// What a slot showed, to be told from what it shows later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The view word. A merge exchanges it, and packs have the numbers of others that are gone; hence the version beside it.
    word: u64,
    /// As readers take note of it: of a zone that changes by parts its state.
    version: u64,
}

/// A slot shows something else than its publisher expected: somebody else has published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed;

/// What only who holds the lock uses.
pub(super) struct Writer {
    reader: Reader,
    growth: Growth,
    zones: usize,
    depths: DepthCounts,
    shown: Shown,
    owners: Owners,
    /// Slots below this have been used.
    slots_used: u32,
    /// Of these, the ones that can be used again.
    free: Arc<Mutex<Vec<SlotNumber>>>,
}

/// What view words name by number.
struct Shown {
    packs: Numbers<Pack>,
    states: Numbers<States>,
}

impl Shown {
    /// One more view word that shows this: the word.
    fn use_of(&mut self, source: ViewSource, apex: &Name, key: &[u8]) -> Held<Box<Absent>> {
        match source {
            ViewSource::Pack(number, zone) => {
                let pack = self.packs.get(number.0);
                // One that was lost since it was looked at shows as lost.
                let is_it = ZoneView::key_in(pack, zone) == Some(key) || pack.is_damaged();
                assert!(is_it, "a pack has another zone");
                self.packs.use_again(number.0);
                Held::Number(word_of(number, zone))
            }
            ViewSource::States(number, state) => {
                let states = self.states.get(number.0);
                assert!(states.apex_key() == key, "states of another zone");
                assert!(states.get(state).is_some(), "a zone has no such state");
                self.states.use_again(number.0);
                Held::Number(word_of_state(number, state))
            }
            ViewSource::Absent(why) => Held::Value(Box::new(Absent::new(apex, why))),
        }
    }

    /// One view word less names this.
    fn let_go(&mut self, named: Option<Named>, parts: &Parts, inner: &Arc<Inner>) {
        match named {
            Some(Named::Pack(number)) => self.packs.let_go(number.0, &parts.packs, inner),
            Some(Named::States(number)) => self.states.let_go(number.0, &parts.states, inner),
            None => {}
        }
    }
}

/// A pack that was added, which stays as long as this does or a slot shows a zone of it.
pub struct PackHold {
    inner: Arc<Inner>,
    number: PackNumber,
}

impl PackHold {
    /// Its number.
    pub fn number(&self) -> PackNumber {
        self.number
    }
}

impl Drop for PackHold {
    fn drop(&mut self) {
        let directory = self.inner.parts.current();
        self.inner.lock().shown.packs.let_go(self.number.0, &directory.packs, &self.inner);
    }
}

/// States that were added, which stay as long as this does or a slot shows one of them.
pub struct StatesHold {
    inner: Arc<Inner>,
    number: StatesNumber,
}

impl StatesHold {
    /// Their number.
    pub fn number(&self) -> StatesNumber {
        self.number
    }
}

impl Drop for StatesHold {
    fn drop(&mut self) {
        let directory = self.inner.parts.current();
        self.inner.lock().shown.states.let_go(self.number.0, &directory.states, &self.inner);
    }
}

impl Catalog {
    /// Adds a pack, of which slots can then show zones. Costs nothing where the catalog has it already.
    pub fn add_pack(&self, pack: Arc<Pack>) -> PackHold {
        let inner = &self.inner;
        let mut writer = inner.lock();
        let parts = inner.parts.current();
        let number = writer.shown.packs.add(pack, &parts.packs, |packs| {
            inner.publish_parts(Parts { packs, ..Parts::clone(&parts) });
        });
        drop(writer);
        PackHold { inner: Arc::clone(inner), number: PackNumber(number) }
    }

    /// Adds states, of which slots can then show each. Costs nothing where the catalog has them already.
    pub fn add_states(&self, states: Arc<States>) -> StatesHold {
        let inner = &self.inner;
        let mut writer = inner.lock();
        let parts = inner.parts.current();
        let number = writer.shown.states.add(states, &parts.states, |states| {
            inner.publish_parts(Parts { states, ..Parts::clone(&parts) });
        });
        drop(writer);
        StatesHold { inner: Arc::clone(inner), number: StatesNumber(number) }
    }

    /// Adds zones; returns their slots in the same order. A zone that is there already shows what is given from now on.
    ///
    /// Order of stores: slots, counts of the names above them, cells, depths, the count of additions, and then the versions of their enclosers (the nearest zones above, or
    /// slots that stand for the lack of one) are raised: kept answers of these may be about names that now belong to the new zones. Many
    /// zones at once are one growth of the table; others who change something wait for some of them only, and readers see them come.
    ///
    /// # Panics
    ///
    /// If a pack or states are not held, do not have the zone or the state, or have another one under that number; with more than [`ZONES_MAX`] zones.
    pub fn insert<N: Deref<Target = Name>>(&self, zones: &[(N, ViewSource)]) -> Vec<SlotNumber> {
        self.insert_each(zones, |_| None)
    }

    /// The same for zones of groups: `group` is called with the place of a zone in the list. Whoever finds a zone finds its group.
    ///
    /// # Panics
    ///
    /// As [`Catalog::insert`].
    pub fn insert_in_groups<N: Deref<Target = Name>>(
        &self,
        zones: &[(N, ViewSource)],
        group: impl Fn(usize) -> Group,
    ) -> Vec<SlotNumber> {
        self.insert_each(zones, |at| Some(group(at)))
    }

    fn insert_each<N: Deref<Target = Name>>(
        &self,
        zones: &[(N, ViewSource)],
        group: impl Fn(usize) -> Option<Group>,
    ) -> Vec<SlotNumber> {
        let mut slots = Vec::with_capacity(zones.len());
        for some in zones.chunks(ADDED_AT_A_TIME) {
            let mut writer = self.inner.lock_with_room(zones.len() - slots.len());
            self.inner.add_some(&mut writer, some, &mut slots, &group);
        }
        slots
    }

    /// Has a slot show something else, in a new version: batches that begin after this returned see it. `expected`: what it must
    /// show until then, see [`Catalog::state_of`].
    ///
    /// # Panics
    ///
    /// As [`Catalog::insert`].
    pub fn publish(
        &self,
        slot: SlotNumber,
        expected: Option<State>,
        source: ViewSource,
    ) -> Result<(), Changed> {
        self.inner.set_view(&mut self.inner.lock(), slot, expected, source, Some(PartSet::SHARED))
    }

    /// The same where only `parts` of the zone differ between what it must show until then and what it is to show: answers that were made from
    /// others stay right, and are kept. With the first such publication, which costs all answers as any other does, the zone gets versions
    /// of its parts, if the catalog has any left ([`super::PARTITIONED_MAX`]).
    ///
    /// # Panics
    ///
    /// As [`Catalog::insert`].
    pub fn publish_parts(
        &self,
        slot: SlotNumber,
        expected: State,
        source: ViewSource,
        parts: PartSet,
    ) -> Result<(), Changed> {
        self.inner.set_view(&mut self.inner.lock(), slot, Some(expected), source, Some(parts))
    }

    /// Has a slot show the same zone in another pack: what answers say stays, and so does the version.
    ///
    /// # Panics
    ///
    /// As [`Catalog::insert`].
    pub fn move_view(
        &self,
        slot: SlotNumber,
        expected: Option<State>,
        source: ViewSource,
    ) -> Result<(), Changed> {
        self.inner.set_view(&mut self.inner.lock(), slot, expected, source, None)
    }

    /// Has a slot's zone be of a group from now on, in a new version if it was of another: what is kept of it is right no longer. A slot without a zone
    /// is passed over.
    pub fn set_group(&self, slot: SlotNumber, group: Group) {
        let _writer = self.inner.lock();
        let parts = self.inner.parts.current();
        if let Some(place) = parts.slot(slot)
            && place.word() != 0
            && self.inner.groups.set(slot, group)
        {
            self.inner.raise(place, PartSet::SHARED);
        }
    }

    /// Removes the zones of slots; others of these numbers are passed over. A number is used again once no reader can have it.
    ///
    /// The enclosers need no raise: what depends on the zone that goes has its slot, whose version becomes a new one.
    pub fn remove(&self, slots: &[SlotNumber]) {
        let mut writer = self.inner.lock();
        for &slot in slots {
            self.inner.remove(&mut writer, slot);
        }
        self.inner.depths.publish(&writer.depths);
    }

    /// What a slot shows now; `None` if it has no zone.
    pub fn state_of(&self, slot: SlotNumber) -> Option<State> {
        let _writer = self.inner.lock();
        let parts = self.inner.parts.current();
        let slot = parts.slot(slot)?;
        let word = slot.word();
        (word != 0).then(|| State { word, version: self.inner.state(slot) })
    }

    /// How many zones there are.
    pub fn zone_count(&self) -> usize {
        self.inner.lock().zones
    }
}

impl Writer {
    pub(super) fn new(reader: Reader, packs: Arc<List<Pack>>, states: Arc<List<States>>) -> Writer {
        Writer {
            reader,
            growth: Growth::default(),
            zones: 0,
            depths: DepthCounts::default(),
            shown: Shown {
                packs: Numbers::new(packs, "free packs"),
                states: Numbers::new(states, "free states"),
            },
            owners: Owners::default(),
            slots_used: NOWHERE_SLOTS,
            free: Arc::new(Mutex::named("free slots", Vec::new())),
        }
    }
}

impl Inner {
    /// Has `act` read what slots show: what the writer itself has not changed stays.
    fn read<R>(&self, reader: &mut Reader, act: impl FnOnce(&CatalogView<'_>) -> R) -> R {
        reader.begin();
        let guard = reader.guard().expect("a batch has begun");
        let result = act(&CatalogView::new(self, guard));
        reader.end();
        result
    }

    fn publish_parts(&self, parts: Parts) {
        let octets = size_of_val(&*parts.slots) + parts.table.octets();
        self.parts.replace(Arc::new(parts), octets);
    }

    /// The lock of those who change something, in turn: whoever releases it and wants it again comes after those who wait.
    #[track_caller]
    fn lock(&self) -> Locked<'_> {
        let _turn = self.turn.lock();
        self.writer.lock()
    }

    /// The same, with room for as many of the `coming` zones as are added at a time.
    fn lock_with_room(&self, coming: usize) -> Locked<'_> {
        let at_a_time = coming.min(ADDED_AT_A_TIME);
        let mut next = None;
        loop {
            let mut writer = self.lock();
            assert!(writer.zones + coming <= ZONES_MAX, "more zones than slot numbers");
            let present = Arc::clone(&self.parts.current().table);
            if writer.growth.is_due(&present, coming) {
                let Some(table) = next.take() else {
                    // Without the lock, as the system has to find memory for it.
                    let zones = writer.zones + coming;
                    drop(writer);
                    next = Some(Table::with_room(zones));
                    continue;
                };
                writer.growth.begin(table);
            }
            let Writer { reader, growth, .. } = &mut *writer;
            self.read(reader, |view| {
                growth.go_on(&present, at_a_time, self.seed, |slot| view.key_of(SlotNumber(slot)));
            });
            let table = growth.finish(&present).unwrap_or(present);
            let has_room = growth.has_room(&table, at_a_time);
            self.make_room(&writer, table, at_a_time);
            if has_room {
                return writer;
            }
        }
    }

    /// Publishes the table, and a list of slots that is large enough for `more` zones.
    fn make_room(&self, writer: &Writer, table: Arc<Table>, more: usize) {
        let parts = self.parts.current();
        let unused = parts.slots.len() * CHUNK_SLOTS - writer.slots_used as usize;
        let wanted = more.saturating_sub(unused + writer.free.lock().len());
        let chunks = wanted.div_ceil(CHUNK_SLOTS);
        if chunks == 0 && Arc::ptr_eq(&table, &parts.table) {
            return;
        }
        let slots = parts.slots.iter().cloned().chain((0..chunks).map(|_| new_chunk())).collect();
        self.publish_parts(Parts { table, slots, ..Parts::clone(&parts) });
    }

    /// Adds zones, for which there is room, and their slots to `slots`.
    fn add_some<N: Deref<Target = Name>>(
        self: &Arc<Self>,
        writer: &mut Writer,
        zones: &[(N, ViewSource)],
        slots: &mut Vec<SlotNumber>,
        group: &impl Fn(usize) -> Option<Group>,
    ) {
        let parts = self.parts.current();
        let mut added = Vec::new();
        let mut keys: [SortKey; ADDED_TOGETHER] = std::array::from_fn(|_| SortKey::new());
        let mut tags = [Tag::default(); ADDED_TOGETHER];
        for some in zones.chunks(ADDED_TOGETHER) {
            for ((key, tag), (apex, _)) in keys.iter_mut().zip(&mut tags).zip(some) {
                key.set(apex);
                *tag = tag_of(self.seed, key.octets());
            }
            parts.table.touch(&tags);
            for ((key, tag), (apex, source)) in keys.iter().zip(tags).zip(some) {
                let (slot, is_new) =
                    self.add(writer, &parts, apex, (key, tag), (*source, group(slots.len())));
                if is_new {
                    added.push(slot);
                }
                slots.push(slot);
            }
        }
        if !added.is_empty() {
            self.depths.publish(&writer.depths);
            self.additions.fetch_add(1, Ordering::Release);
            self.raise_enclosers(writer, &added);
        }
    }

    /// Adds a zone, for which there is room; says whether it is new. Nobody else's version is raised yet.
    fn add(
        self: &Arc<Self>,
        writer: &mut Writer,
        parts: &Parts,
        apex: &Name,
        (key, tag): (&SortKey, Tag),
        (source, group): (ViewSource, Option<Group>),
    ) -> (SlotNumber, bool) {
        let there = self.read(&mut writer.reader, |view| {
            view.probe(tag, key.octets(), key.label_count()).map(|hit| hit.found.version())
        });
        if let Some(version) = there {
            if let Some(group) = group {
                self.groups.set(version.slot, group);
            }
            // What was lost has no name of its own any more.
            let named = Some((apex, key.octets()));
            let set = self.set_named_view(writer, (version.slot, named), None, source, Some(PartSet::SHARED));
            set.expect("a zone that is there, and nothing is expected of it");
            return (version.slot, false);
        }
        let number = writer.free.lock().pop().unwrap_or_else(|| {
            writer.slots_used += 1;
            SlotNumber(writer.slots_used - 1)
        });
        let slot = parts.slot(number).expect("room was made");
        self.groups.set(number, group.unwrap_or_default());
        slot.set(writer.shown.use_of(source, apex, key.octets()), &self.domain);
        slot.raise(next_version());
        writer.growth.add(&parts.table, self.seed, (key.octets(), tag), number.0);
        writer.depths.add(key.label_count());
        writer.zones += 1;
        (number, true)
    }

    /// Raises the version of what names at and below these zones were found in before.
    fn raise_enclosers(&self, writer: &mut Writer, added: &[SlotNumber]) {
        let mut enclosers: HashMap<SlotNumber, PartSet> = HashMap::new();
        let mut raise = |slot, parts| *enclosers.entry(slot).or_default() |= parts;
        self.read(&mut writer.reader, |view| {
            let mut key = SortKey::new();
            for name in added.iter().filter_map(|slot| view.name_of(*slot)) {
                key.set(name);
                let labels = key.label_count();
                let above = if labels > 0 { Some(view.find(&key, labels - 1).found) } else { None };
                match above.filter(|above| !above.is_nothing()) {
                    Some(encloser) => {
                        let relative = &key.octets()[key.end(encloser.labels as usize)..];
                        raise(encloser.version().slot, PartSet::of_name(relative));
                    }
                    None if labels < 2 => {
                        (0..NOWHERE_SLOTS).for_each(|slot| raise(SlotNumber(slot), PartSet::NONE));
                    }
                    None => raise(nowhere(upper_hash(self.seed, &key)), PartSet::NONE),
                }
            }
        });
        let parts = self.parts.current();
        for (slot, changed) in enclosers {
            if let Some(slot) = parts.slot(slot) {
                self.raise(slot, changed);
            }
        }
    }

    /// Publishes that parts of a slot's zone are others, or all of it where it has no versions of parts.
    fn raise(&self, slot: &Slot, parts: PartSet) {
        match block_of(slot.version()) {
            Some(block) => self.blocks.raise(block, parts, next_version()),
            None => slot.raise(next_version()),
        }
    }

    /// The same, which gives it versions of parts, if there are any left.
    fn raise_by_parts(&self, owners: &mut Owners, all: &Parts, number: SlotNumber, parts: PartSet) {
        let Some(slot) = all.slot(number) else { return };
        let is_new = block_of(slot.version()).is_none() && !parts.is_everything();
        let Some(taken) = is_new.then(|| owners.take(number, &self.blocks)).flatten() else {
            return self.raise(slot, parts);
        };
        // In this order: who follows the word that it had sees what is newer than both.
        if let Some(before) = taken.from.and_then(|before| all.slot(before)) {
            before.raise(next_version());
        }
        self.blocks.raise(taken.block, PartSet::SHARED, next_version());
        slot.raise(word_of_block(taken.block));
    }

    /// What readers take note of as the version of a slot.
    fn state(&self, slot: &Slot) -> u64 {
        let word = slot.version();
        if block_of(word).is_some() { self.blocks.state(word) } else { word }
    }

    /// Has a slot show something else, in which `changed` is other than before; `None`: nothing is.
    fn set_view(
        self: &Arc<Self>,
        writer: &mut Writer,
        number: SlotNumber,
        expected: Option<State>,
        source: ViewSource,
        changed: Option<PartSet>,
    ) -> Result<(), Changed> {
        self.set_named_view(writer, (number, None), expected, source, changed)
    }

    /// The same for a zone of which the caller knows name and key, where what it shows may not say them any more.
    fn set_named_view(
        self: &Arc<Self>,
        writer: &mut Writer,
        (number, named): (SlotNumber, Option<(&Name, &[u8])>),
        expected: Option<State>,
        source: ViewSource,
        changed: Option<PartSet>,
    ) -> Result<(), Changed> {
        let parts = self.parts.current();
        let slot = parts.slot(number).ok_or(Changed)?;
        let now = State { word: slot.word(), version: self.state(slot) };
        if now.word == 0 || expected.is_some_and(|expected| expected != now) {
            return Err(Changed);
        }
        let Writer { reader, shown, .. } = writer;
        let held = self.read(reader, |view| {
            let own = || Some((view.name_of(number)?, view.key_of(number)?));
            let (name, key) = named.or_else(own)?;
            Some(shown.use_of(source, name, key))
        });
        let old = slot.set(held.ok_or(Changed)?, &self.domain);
        if let Some(changed) = changed {
            self.raise_by_parts(&mut writer.owners, &parts, number, changed);
            if block_of(slot.version()).is_some() {
                let serial = self.read(&mut writer.reader, |view| match view.view_of(number)? {
                    View::Zone(zone) => Some(zone.row().serial),
                    View::Absent(_) | View::Lost(_) => None,
                });
                self.blocks.set_serial(slot.version(), serial.unwrap_or_default());
            }
        }
        writer.shown.let_go(old, &parts, self);
        Ok(())
    }

    fn remove(self: &Arc<Self>, writer: &mut Writer, number: SlotNumber) {
        let parts = self.parts.current();
        let Some(slot) = parts.slot(number).filter(|slot| slot.word() != 0) else { return };
        let key = self.read(&mut writer.reader, |view| view.key_of(number).map(Box::<[u8]>::from));
        // Of what was lost the table alone knows what it was; the counts stay as they are, which costs answers that are shared less and is never wrong.
        let cells = || parts.table.zones_in(0..parts.table.cell_count());
        let found = || cells().find(|(_, slot)| *slot == number.0).map(|(tag, _)| tag);
        let Some(tag) = key.as_ref().map(|key| tag_of(self.seed, key)).or_else(found) else { return };
        writer.growth.remove(&parts.table, self.seed, (key.as_deref(), tag), number.0);
        let old = slot.set(Held::Nothing, &self.domain);
        if let Some(block) = block_of(slot.version()) {
            writer.owners.let_go(block);
        }
        slot.raise(next_version());
        writer.shown.let_go(old, &parts, self);
        if let Some(key) = key {
            writer.depths.subtract(label_count(&key));
        }
        writer.zones -= 1;
        let free = Arc::clone(&writer.free);
        self.domain.retire(Box::new(move || free.lock().push(number)), 0);
    }
}

fn tag_of(seed: u64, key: &[u8]) -> Tag {
    let mut last = None;
    for_each_ancestor(seed, key, |_, tag| last = Some(tag));
    last.expect("the root at least")
}

/// Hash of the two upper labels of a name that has as many.
fn upper_hash(seed: u64, key: &SortKey) -> Hash {
    let upper = root_hash(seed).extend(key.padded(), 0, key.end(1));
    upper.extend(key.padded(), key.end(1), key.end(2))
}
