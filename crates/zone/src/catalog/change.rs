//! How the catalog changes: one writer at a time, under a short lock.

mod add;
mod publish;
mod shown;

use self::add::ADDED_AT_A_TIME;
use self::shown::Shown;
pub use self::shown::{PackHold, StatesHold};
use super::depths::DepthCounts;
use super::groups::Group;
use super::growth::Growth;
use super::numbered::{List, Numbers, PackNumber, StatesNumber};
use super::partition::{Owners, PartSet};
use super::slots::{Absence, NOWHERE_SLOTS, SlotNumber};
use super::states::States;
use super::view::CatalogView;
use super::{Catalog, Inner, Parts};
use crate::pack::Pack;
use std::ops::Deref;
use std::sync::{Arc, MutexGuard};
use sync::Mutex;
use sync::epoch::Reader;
use wire::Name;

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
}
