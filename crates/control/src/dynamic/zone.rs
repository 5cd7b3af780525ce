//! One zone that changes: its delta, and what its slot shows of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wire::{Name, NameBuf};
use zone::catalog::{CatalogView, PartSet, SlotNumber, State, States, StatesHold, View, ViewSource};
use zone::delta::image::Pinned;
use zone::delta::{Applied, Changed, DeltaWriter, Due, MergeFrom, NotRebuilt, Rebuild, Refused};
use zone::{Catalog, Change, Pack, ZoneView};

use super::images::{Chain, Loaded};
use super::origin::Origin;
use crate::controller::{Claim, Controller};
use crate::packs::StoredPack;

/// A zone that changes. Owned by the changer.
pub(super) struct DynamicZone {
    /// Its name, lower-case.
    name: NameBuf,
    writer: DeltaWriter,
    /// Where it is shown, and what was shown there last.
    place: Option<(SlotNumber, State)>,
    /// What the slot shows states of, or is to show.
    states: Option<(Arc<States>, StatesHold)>,
    /// Whether it does.
    is_published: bool,
    /// Until the slot does: control moves it to no other pack.
    claim: Option<Claim>,
    /// Whether the log has what its changes begin from.
    pub(super) is_based: bool,
    /// Whether its changes do not go to the log: a zone from a primary that is not to be kept.
    pub(super) is_passing: bool,
    /// States that are not published and not taken back.
    waiting: usize,
    /// The log is to say that it is at rest, and has not yet: what came then would have nothing there to begin from.
    pub(super) is_resting: bool,
    /// Why it takes no updates: what the log has of it does not fit together.
    pub(super) fault: Option<String>,
    /// When the first of its changes came since its pack was made, and the last.
    pub(super) began: Instant,
    /// See `began`.
    pub(super) changed: Instant,
    /// When it was merged last, and how long that took.
    pub(super) merged: Option<(Instant, Duration)>,
    /// Its pack is made of contents in the log, and in no file.
    pub(super) is_in_memory: bool,
    /// The record of the log that made what is published. `None`: it is not known, or not behind what a start begins from.
    said: Option<Origin>,
    /// How often the log has said anew what its changes begin from.
    beginnings: u32,
    /// Images of its delta, and rows of the delta that they have.
    chain: Option<Chain>,
    rows_imaged: u64,
    /// The beginning behind which the last of them is: a start knows none of before.
    imaged: u32,
}

/// Attempts to publish: each fails only as somebody gave the zone other access lists in that moment.
const PUBLISH_ATTEMPTS_MAX: usize = 8;

/// The slot shows something else than was published last: the zone was removed, or somebody else has published it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

impl DynamicZone {
    /// A zone as it is in a pack, not shown yet. `None`: it cannot be read there.
    pub(super) fn new(pack: Arc<Pack>, number: u32) -> Option<DynamicZone> {
        let writer = DeltaWriter::new(pack, number)?;
        let name = ZoneView::of_changed(writer.newest_box())?.apex().to_owned();
        Some(DynamicZone {
            name,
            writer,
            place: None,
            states: None,
            is_published: false,
            claim: None,
            is_based: false,
            is_passing: false,
            waiting: 0,
            is_resting: false,
            fault: None,
            began: Instant::now(),
            changed: Instant::now(),
            merged: None,
            is_in_memory: false,
            said: None,
            beginnings: 0,
            chain: None,
            rows_imaged: 0,
            imaged: 0,
        })
    }

    /// A zone as it is served now, from which it goes on. `pack`: finds where its data are. `None`: it has none, or it has changed already, which is another's.
    pub(super) fn adopt(
        catalog: &Catalog,
        name: &Name,
        pack: impl FnOnce(&CatalogView<'_>, SlotNumber) -> Option<(Arc<Pack>, u32)>,
    ) -> Option<DynamicZone> {
        let mut reader = catalog.reader();
        let slot = reader.with(|view| view.slot_named(name))?;
        // First, so that nothing older than it is changed.
        let state = catalog.state_of(slot)?;
        let (pack, number) = reader.with(|view| match view.view_of(slot)? {
            View::Zone(zone) if !zone.is_changed() => pack(view, slot),
            _ => None,
        })?;
        let mut zone = DynamicZone::new(pack, number)?;
        zone.place = Some((slot, state));
        Some(zone)
    }

    /// Its name, lower-case.
    pub(super) fn name(&self) -> &Name {
        &self.name
    }

    /// The newest state, which may not be published yet.
    pub(super) fn newest(&self) -> Option<ZoneView<'_>> {
        ZoneView::of_changed(self.writer.newest_box())
    }

    /// The pack below.
    pub(super) fn pack(&self) -> &Arc<Pack> {
        self.writer.newest_box().pack()
    }

    /// The newest state, see [`DynamicZone::newest`].
    pub(super) fn newest_box(&self) -> &Changed {
        self.writer.newest_box()
    }

    /// Where it is shown, as far as is known.
    pub(super) fn slot(&self) -> Option<SlotNumber> {
        self.place.map(|(slot, _)| slot)
    }

    /// Whether its slot was made to show a state of it.
    pub(super) fn is_published(&self) -> bool {
        self.is_published
    }

    /// Octets of its delta.
    pub(super) fn octets(&self) -> u64 {
        self.writer.octets()
    }

    /// Octets that its delta may have.
    pub(super) fn octets_max(&self) -> u64 {
        self.writer.octets_max()
    }

    /// Octets that it has in its pack.
    pub(super) fn share(&self) -> u64 {
        self.writer.share()
    }

    /// See [`DeltaWriter::due`].
    pub(super) fn due(&self, merge_from: MergeFrom, past_octets_min: u64) -> Option<Due> {
        self.writer.due(merge_from, past_octets_min)
    }

    /// Whether so much of its delta is past that a copy is due.
    pub(super) fn is_past(&self, past_octets_min: u64) -> bool {
        let never = MergeFrom { octets_min: u64::MAX, percent: 0 };
        self.writer.due(never, past_octets_min) == Some(Due::Copy)
    }

    /// The writer of a delta that is being made from its own, once that has all. The error: it cannot be now.
    pub(super) fn finish(&self, rebuild: Rebuild) -> Result<DeltaWriter, NotRebuilt> {
        rebuild.finish(&self.writer).map_err(|failed| failed.1)
    }

    /// Goes on with another delta, which shows the same. `to`: the pack below it, if it is another one.
    pub(super) fn exchange(
        &mut self,
        controller: &Controller,
        writer: DeltaWriter,
        to: Option<&Arc<StoredPack>>,
    ) -> Result<(), Gone> {
        let catalog = &controller.catalog;
        let states = States::new(writer.newest_box().clone()).ok_or(Gone)?;
        let hold = catalog.add_states(Arc::clone(&states));
        let source = ViewSource::States(hold.number(), 0);
        for _ in 0..PUBLISH_ATTEMPTS_MAX {
            if !self.is_shown(catalog) {
                return Err(Gone);
            }
            let (slot, expected) = self.place.ok_or(Gone)?;
            if controller.move_changed(slot, expected, source, (self.pack().id(), to)) {
                // What it has since its last image it has still, in fewer rows perhaps; over another pack there is none.
                let imaged = writer.rows().saturating_sub(self.rows_since_image());
                (self.chain, self.rows_imaged) = match to {
                    Some(_) => (None, 0),
                    None => (self.chain.take(), imaged),
                };
                self.writer = writer;
                (self.states, self.is_published) = (Some((states, hold)), true);
                self.place = catalog.state_of(slot).map(|state| (slot, state));
                self.began = Instant::now();
                return Ok(());
            }
        }
        Err(Gone)
    }

    /// Has its slot show it as a pack has it, where it is the same: nothing of its delta is needed any more. False: it shows something else.
    pub(super) fn show_at_rest(
        &mut self,
        controller: &Controller,
        to: &Arc<StoredPack>,
        number: u32,
    ) -> bool {
        for _ in 0..PUBLISH_ATTEMPTS_MAX {
            if !self.is_shown(&controller.catalog) {
                return false;
            }
            let Some(place) = self.place else { return false };
            if controller.show_at_rest(place, self.pack().id(), (to, number)) {
                return true;
            }
        }
        false
    }

    /// Whether its slot still shows what was published last, in whatever version: access lists of the zone may have become others.
    pub(super) fn is_shown(&mut self, catalog: &Catalog) -> bool {
        let Some((slot, published)) = self.place else { return false };
        // First, so that what is looked at is of this state or a newer one.
        let Some(state) = catalog.state_of(slot) else { return false };
        // The number of our states is nobody else's as long as we have them: nobody has published anything since.
        if self.states.is_some() && state == published {
            return true;
        }
        let own = self.newest().map(|zone| (zone.numbers_id(), zone.pack_id()));
        let shown = catalog.reader().with(|view| match view.view_of(slot)? {
            View::Zone(zone) => Some((zone.is_changed(), zone.numbers_id(), zone.pack_id())),
            _ => None,
        });
        let is_own = match (own, shown) {
            (Some((numbers, _)), Some((true, shown, _))) => numbers == shown,
            (Some((_, pack)), Some((false, _, shown))) => pack == shown && !self.is_published,
            _ => false,
        };
        if is_own {
            self.place = Some((slot, state));
        }
        is_own
    }

    /// The same, and that nobody moves it to another pack before it is published, or [let go](DynamicZone::let_go): changes are made over the one that it is in.
    pub(super) fn is_claimed(&mut self, controller: &Arc<Controller>) -> bool {
        if !self.is_published
            && self.claim.is_none()
            && let Some((slot, _)) = self.place
        {
            self.claim = Some(controller.claim(slot));
        }
        self.is_shown(&controller.catalog)
    }

    /// May be moved, unless something of it waits; says whether it may.
    pub(super) fn let_go(&mut self) -> bool {
        if !self.is_waiting() {
            self.claim = None;
        }
        self.claim.is_none()
    }

    /// Makes the next state, which nobody sees yet.
    pub(super) fn apply(&mut self, change: &Change) -> Result<Applied, Refused> {
        let is_first = self.octets() == 0;
        let applied = self.writer.apply(change)?;
        self.waiting += 1;
        self.changed = Instant::now();
        if is_first {
            self.began = self.changed;
        }
        Ok(applied)
    }

    /// The record of the log that made what is published, see [`DynamicZone::say`].
    pub(super) fn said(&self) -> Option<Origin> {
        self.said
    }

    /// Takes note of the record of the log that made what is published now.
    pub(super) fn say(&mut self, said: Option<Origin>) {
        self.said = said;
    }

    /// The log says anew what its changes begin from: a start takes an image of before no more, but one behind that lies over it.
    pub(super) fn begins_anew(&mut self) {
        (self.said, self.beginnings) = (None, self.beginnings.wrapping_add(1));
    }

    /// See [`DynamicZone::imaged`].
    pub(super) fn beginnings(&self) -> u32 {
        self.beginnings
    }

    /// Rows of its delta that a start makes of changes, as there is no image that it takes for them.
    pub(super) fn rows_to_apply(&self) -> u64 {
        if self.imaged == self.beginnings { self.rows_since_image() } else { self.writer.rows() }
    }

    /// Rows of its delta that no image has.
    pub(super) fn rows_since_image(&self) -> u64 {
        self.writer.rows().saturating_sub(self.rows_imaged)
    }

    /// The images of its delta.
    pub(super) fn chain(&self) -> Option<&Chain> {
        self.chain.as_ref()
    }

    /// What is published, for an image of it. `None`: something waits.
    pub(super) fn pin(&self) -> Option<Pinned> {
        self.writer.pin()
    }

    /// An image of so many rows of its delta is stored, unless that is another one now. `beginnings`: those there were when it was begun.
    pub(super) fn imaged(&mut self, chain: Chain, rows: u64, beginnings: u32) {
        if chain.mark.is_of(self.newest_box()) {
            (self.chain, self.rows_imaged, self.imaged) = (Some(chain), rows, beginnings);
        }
    }

    /// Goes on with what images have, which the log is at now.
    pub(super) fn take_image(&mut self, loaded: Loaded) {
        (self.rows_imaged, self.imaged) = (loaded.writer.rows(), self.beginnings);
        (self.writer, self.chain, self.said) = (loaded.writer, Some(loaded.chain), Some(loaded.said));
    }

    /// Whether states of it wait for the disk.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Takes back the newest state, which was not published.
    pub(super) fn take_back(&mut self, state: u32) {
        let is_back = self.writer.take_back(state);
        debug_assert!(is_back, "newest first");
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// The newest state is durable already: it is what the log has.
    pub(super) fn replayed(&mut self) {
        self.writer.published(self.writer.newest_box().state());
        self.waiting = 0;
    }

    /// Has the slot show a state from now on, in which `parts` differ from what it shows.
    pub(super) fn publish(&mut self, catalog: &Catalog, newest: Changed, parts: PartSet) -> Result<(), Gone> {
        let number = newest.state();
        let (mut attempts, mut newest, mut source) = (0, Some(newest), None);
        let slot = loop {
            if !self.is_shown(catalog) || attempts == PUBLISH_ATTEMPTS_MAX {
                return Err(Gone);
            }
            attempts += 1;
            let (slot, expected) = self.place.ok_or(Gone)?;
            if let Some(newest) = newest.take() {
                source = self.source(catalog, newest);
            }
            let source = source.ok_or(Gone)?;
            if catalog.publish_parts(slot, expected, source, parts).is_ok() {
                break slot;
            }
        };
        (self.is_published, self.claim) = (true, None);
        self.writer.published(number);
        self.waiting = self.waiting.saturating_sub(1);
        self.place = catalog.state_of(slot).map(|state| (slot, state));
        Ok(())
    }

    /// Shows the newest state of a zone that is not shown yet, in whatever slot it has, or in a new one: says whether that.
    pub(super) fn show(&mut self, catalog: &Catalog) -> Option<bool> {
        let newest = self.writer.newest_box().clone();
        let source = self.source(catalog, newest)?;
        let there = catalog.reader().with(|view| view.slot_named(&self.name));
        let slot = catalog.insert(&[(&*self.name, source)])[0];
        self.is_published = true;
        self.place = catalog.state_of(slot).map(|state| (slot, state));
        Some(there.is_none())
    }

    /// What a slot shows for this state.
    fn source(&mut self, catalog: &Catalog, newest: Changed) -> Option<ViewSource> {
        let added = self
            .states
            .as_ref()
            .and_then(|(states, hold)| Some((states.add(newest.clone())?, hold.number())));
        if let Some((state, number)) = added {
            return Some(ViewSource::States(number, state));
        }
        // The first, or there are as many as may be.
        let states = States::new(newest)?;
        let hold = catalog.add_states(Arc::clone(&states));
        let source = ViewSource::States(hold.number(), 0);
        self.states = Some((states, hold));
        Some(source)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::iana::rtype;
    use zone::catalog::Group;
    use zone::change::Records;
    use zone::contents::SourcePosition;
    use zone::{ContentsBuilder, PackBuilder, TextStamp};

    /// Somebody gives a zone other access lists just as its first change is published, which is tried again.
    #[test]
    fn the_first_change_is_published_over_another_group() {
        let apex: NameBuf = "z.example".parse().unwrap();
        let mut contents = ContentsBuilder::new(&apex);
        contents.push(&apex, false, rtype::SOA, 9, &[0; 22], SourcePosition::default()).unwrap();
        let mut builder = PackBuilder::new(1);
        builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
        let pack = Arc::new(Pack::open(builder.finish().unwrap()).unwrap());
        let catalog = Catalog::new(1);
        let hold = catalog.add_pack(Arc::clone(&pack));
        let slot = catalog.insert(&[(&*apex, ViewSource::Pack(hold.number(), 0))])[0];
        let mut zone = DynamicZone::adopt(&catalog, &apex, |_, _| Some((pack, 0))).unwrap();
        let mut sections = [Records::default(), Records::default()];
        for (serial, records) in sections.iter_mut().enumerate() {
            let mut rdata = [0; 22];
            rdata[5] = serial as u8;
            records.push(&apex, rtype::SOA, 9, &rdata);
        }
        let [removed, added] = sections;
        let applied = zone.apply(&Change::new(removed, added).unwrap()).unwrap();
        // What an attempt leaves behind that was too late.
        assert!(zone.source(&catalog, applied.changed.clone()).is_some());
        catalog.set_group(slot, Group::new(1, true));
        assert!(!zone.is_published());
        assert_eq!(zone.publish(&catalog, applied.changed, *applied.parts), Ok(()));
        assert!(zone.is_published());
    }
}
