//! From the list of zones to the catalog that workers see: zone by zone, only what changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zone::catalog::{Absence, PackHold, SlotNumber, ViewSource};

use super::Controller;
use super::entry::Entry;
use super::zones::{Zone, hidden};

/// Publications between two looks whether there is room for their garbage, of which each makes a piece or two.
const WITHOUT_LOOKING: usize = 1024;
/// How long a publisher waits for room before it says so.
const PATIENCE: Duration = Duration::from_secs(1);

/// What of the list the catalog does not show yet.
pub(super) enum Changed<'c> {
    /// The data of these zones.
    Zones(&'c [usize]),
    /// The same, and perhaps which zones are shown at all: see [`hidden`].
    ZonesAndList(&'c [usize]),
}

/// Packs that zones are shown from, so that they stay until they are.
#[derive(Default)]
struct Holds(HashMap<u64, PackHold>);

impl Controller {
    /// Has the catalog show the zones that changed.
    pub(super) fn show(&self, zones: &mut [Zone], changed: &Changed<'_>) {
        let mut holds = Holds::default();
        let (Changed::Zones(changed_at) | Changed::ZonesAndList(changed_at)) = changed;
        for (count, &at) in changed_at.iter().enumerate() {
            if count % WITHOUT_LOOKING == 0 {
                self.wait_for_room();
            }
            if zones[at].slot != SlotNumber::default() {
                let source = holds.source(self, &zones[at].entry);
                // Nobody else changes slots.
                let _ = self.catalog.publish(zones[at].slot, None, source);
            }
        }
        match changed {
            Changed::Zones(at) => self.insert(zones, at, &mut holds),
            Changed::ZonesAndList(_) => self.show_list(zones, &mut holds),
        }
    }

    /// Shows the zones that are to be seen and are not, and hides those that are not to be seen.
    fn show_list(&self, zones: &mut [Zone], holds: &mut Holds) {
        let hidden = hidden(zones);
        let mut gone = Vec::new();
        for (zone, _) in zones.iter_mut().zip(&hidden).filter(|(_, hidden)| **hidden) {
            gone.push(std::mem::take(&mut zone.slot));
        }
        let missing: Vec<usize> = (0..zones.len()).filter(|&at| !hidden[at]).collect();
        self.insert(zones, &missing, holds);
        self.catalog.remove(&gone);
    }

    /// Has those of these zones shown that have no slot.
    fn insert(&self, zones: &mut [Zone], at: &[usize], holds: &mut Holds) {
        let new: Vec<usize> =
            at.iter().copied().filter(|&at| zones[at].slot == SlotNumber::default()).collect();
        if new.is_empty() {
            return;
        }
        let shown: Vec<_> =
            new.iter().map(|&at| (zones[at].apex(), holds.source(self, &zones[at].entry))).collect();
        let slots = self.catalog.insert(&shown);
        new.into_iter().zip(slots).for_each(|(at, slot)| zones[at].slot = slot);
    }

    /// Has the catalog show zones in the packs that they were moved to.
    pub(super) fn show_moved(&self, zones: &[Zone], moved: &[usize]) {
        let mut holds = Holds::default();
        for (count, &at) in moved.iter().enumerate() {
            if count % WITHOUT_LOOKING == 0 {
                self.wait_for_room();
            }
            // Nobody else changes slots; one that is hidden has none.
            let _ = self.catalog.move_view(zones[at].slot, None, holds.source(self, &zones[at].entry));
        }
    }

    /// Takes zones that are no longer served out of the catalog.
    pub(super) fn hide(&self, slots: &[SlotNumber]) {
        for some in slots.chunks(WITHOUT_LOOKING) {
            self.wait_for_room();
            self.catalog.remove(some);
        }
    }

    /// Waits until garbage of what was published before is collected, if there is very much. Workers never wait.
    fn wait_for_room(&self) {
        while !self.catalog.domain().wait_for_room(Instant::now() + PATIENCE) {
            tracing::warn!("a worker holds what was replaced: publishing waits for it");
        }
    }

    /// Publishes what the server says of itself.
    pub(crate) fn publish_identity(&self, identity: auth::Server) {
        self.identity.replace(Arc::new(identity));
        let until = Instant::now() + RECLAIM_WAIT;
        while self.identity.reclaim() > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// How long a change waits for workers to let go of what it replaced. A batch takes less than a millisecond.
const RECLAIM_WAIT: Duration = Duration::from_millis(100);

impl Holds {
    fn source(&mut self, controller: &Controller, entry: &Entry) -> ViewSource {
        match entry {
            Entry::Loaded { pack, number } => {
                let hold = self.0.entry(pack.id());
                let hold = hold.or_insert_with(|| controller.catalog.add_pack(Arc::clone(pack)));
                ViewSource::Pack(hold.number(), *number)
            }
            Entry::Absent(_) => ViewSource::Absent(Absence::NotLoaded),
        }
    }
}
