//! What the changer asks of the controller: where the data of zones are, and where these are stored.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use journal::history::{BOUND_OCTETS_MIN, Bound};
use transfer::outgoing::RECORD_OCTETS;
use wire::{Name, NameBuf};
use zone::Pack;
use zone::catalog::{CatalogView, SlotNumber, State, View, ViewSource};

use super::Controller;
use super::arrange::ZONES_A_BATCH;
use super::held::Kind;
use super::zones::Zones;
use crate::packs::{PackFolder, StoredPack};
use crate::settings::{IxfrRules, Names, UpdateTerms};
use crate::sources::SourceId;

impl Controller {
    /// The pack that a slot's zone is served from, and its number there. `None`: it has no data, or they are a file of the operator's, who replaces it.
    pub(crate) fn pack_of_slot(&self, view: &CatalogView<'_>, slot: SlotNumber) -> Option<(Arc<Pack>, u32)> {
        let View::Zone(zone) = view.view_of(slot)? else { return None };
        let zones = self.zones.read();
        let held = zones.packs.get(zone.pack_id())?;
        let is_ours = !matches!(held.kind, Kind::Operators(_));
        is_ours.then(|| (Arc::clone(&held.pack.pack), zone.number()))
    }

    /// Whether there is to be a zone of this name, shown or not.
    pub(crate) fn is_listed(&self, name: &Name) -> bool {
        let zones = self.zones.read();
        zones.awaited.contains_key(&name.to_lowercase())
            || self.catalog.reader().with(|view| view.slot_named(name).is_some())
    }

    /// What holds for updates of a zone. Where it is not known yet what its section says nobody may change anything.
    pub(crate) fn update_terms(&self, name: &Name) -> UpdateTerms {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        Self::terms_in(&zones, slot)
    }

    /// The same for the zone of a slot.
    pub(crate) fn update_terms_at(&self, slot: SlotNumber) -> UpdateTerms {
        Self::terms_in(&self.zones.read(), Some(slot))
    }

    fn terms_in(zones: &Zones, slot: Option<SlotNumber>) -> UpdateTerms {
        let source = slot.map(|slot| zones.kept(slot).source).filter(|source| *source != SourceId::UNKNOWN);
        let Some(source) = source else { return UpdateTerms::nobody() };
        zones.sources.update(source).map_or_else(UpdateTerms::default, |rules| zones.policies.terms(rules))
    }

    /// The access lists that a zone's section names for updates; `None`: it names none.
    pub(crate) fn own_update_lists(&self, name: &Name) -> Option<Names> {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name))?;
        let lists = zones.sources.lists(zones.kept(slot).source)?;
        let (_, names) = lists.kinds().find(|(kind, _)| *kind == auth::access::Kind::Update as usize)?;
        (!names.is_empty()).then(|| names.clone())
    }

    /// The name of the policy that a zone's section names for updates; empty: none.
    pub(crate) fn update_policy_name(&self, name: &Name) -> String {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        let rules = slot.and_then(|slot| zones.sources.update(zones.kept(slot).source));
        rules.map_or_else(String::new, |rules| rules.policy.to_string())
    }

    /// Whether the text of a zone is to be written at the end.
    pub(crate) fn writes_text(&self, name: &Name) -> bool {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        slot.and_then(|slot| zones.sources.update(zones.kept(slot).source))
            .is_some_and(|rules| rules.writes_text)
    }

    /// The zone of a slot is published with another serial: those are told that are to be.
    pub(crate) fn tell_changed(&self, slot: SlotNumber, name: &Name, serial: u32) {
        let zones = self.zones.read();
        let remotes = zones.sources.notify(zones.kept(slot).source).to_vec();
        drop(zones);
        self.telling.publish(name, serial, &remotes);
        self.catalogs.published(name);
    }

    /// How much of a zone is kept for IXFR: as its section says, and no more than can be sent, as the whole zone is shorter than what is more.
    pub(crate) fn history_bound(&self, name: &Name) -> Bound {
        let zones = self.zones.read();
        let (slot, records) = self.catalog.reader().with(|view| {
            let slot = zones.slot(view, name);
            let records = match slot.and_then(|slot| view.view_of(slot)) {
                Some(View::Zone(zone)) => zone.row().record_count,
                _ => 0,
            };
            (slot, records)
        });
        let own = ixfr_rules(&zones, slot);
        // Half of it is there at the least.
        let of_zone = records.saturating_mul(2 * RECORD_OCTETS).max(BOUND_OCTETS_MIN);
        Bound { octets: own.octets.min(of_zone), versions: own.versions }
    }

    /// What the section of a zone says of IXFR.
    pub(crate) fn ixfr_rules(&self, name: &Name) -> IxfrRules {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        ixfr_rules(&zones, slot)
    }

    /// Whether a pack is in a file, which stays as long as a zone is served from it.
    pub(crate) fn is_stored(&self, pack: u64) -> bool {
        self.zones.read().packs.get(pack).is_some_and(|held| held.pack.file.is_some())
    }

    /// Makes sure that a pack in use is on the disk; says whether it is.
    pub(crate) fn store_base(&self, pack: &Pack) -> bool {
        if self.is_stored(pack.id()) {
            return true;
        }
        let _making = self.make_packs();
        let Some(stored) = self.writable_folder().and_then(|folder| folder.store(pack).ok()) else {
            return false;
        };
        self.zones.write().packs.stored(pack.id(), &stored)
    }

    /// Keeps a pack in use, and its file, until [`Controller::let_go_of`]. `is_passing`: it is to have none.
    pub(crate) fn keep(&self, pack: &Arc<StoredPack>, is_passing: bool) {
        let mut zones = self.zones.write();
        let kind = if is_passing { Kind::Passing } else { Kind::Kept };
        zones.packs.hold(&self.catalog, pack, kind);
        zones.packs.add(pack.pack.id());
    }

    /// A pack that was kept is needed only as long as zones are served from it.
    pub(crate) fn let_go_of(&self, pack: u64) {
        self.zones.write().packs.subtract(pack);
        self.remove_unused_files();
    }

    /// Has a slot show the same zone in another way: from pack `to` instead of the pack with number `from`, or over the same one. Says whether it showed `expected` until now.
    pub(crate) fn move_changed(
        &self,
        slot: SlotNumber,
        expected: State,
        source: ViewSource,
        (from, to): (u64, Option<&Arc<StoredPack>>),
    ) -> bool {
        self.make_room();
        let mut zones = self.zones.write();
        if self.catalog.move_view(slot, Some(expected), source).is_err() {
            return false;
        }
        if let Some(to) = to {
            zones.packs.hold(&self.catalog, to, Kind::Kept);
            zones.packs.replace(from, to.pack.id());
        }
        true
    }

    /// Zones have gone from packs: others may be joined now, and files removed.
    pub(crate) fn tidy_soon(self: &Arc<Self>) {
        self.is_untidy.store(true, Ordering::SeqCst);
        crate::serve::tidy_on_a_thread(self);
    }

    /// The packs of the folder by their checksums: those that were found at the start, or all there are, where none was yet.
    pub(crate) fn packs_by_checksum(&self) -> HashMap<u64, Arc<StoredPack>> {
        let known = self.zones.read().packs.known();
        let all =
            if known.is_empty() { self.folder().map(PackFolder::stored).unwrap_or_default() } else { known };
        all.into_iter().map(|stored| (stored.pack.checksum(), stored)).collect()
    }

    /// Has `show` show a zone as the log has it, which says whether the zone was not shown before. `base`: what it begins from, whose file is needed as long as
    /// it is served.
    pub(crate) fn show_recovered(
        &self,
        name: &Name,
        base: &Arc<StoredPack>,
        show: impl FnOnce() -> Option<bool>,
    ) {
        let mut zones = self.zones.write();
        let before = self.catalog.reader().with(|view| {
            let slot = zones.slot(view, name)?;
            zones.pack_of(view, slot)
        });
        let Some(is_new) = show() else { return };
        let kind = if base.file.is_some() { Kind::Kept } else { Kind::Contents };
        zones.packs.hold(&self.catalog, base, kind);
        match before {
            Some(before) => zones.packs.replace(before, base.pack.id()),
            None => {
                zones.packs.add(base.pack.id());
                zones.loaded += 1;
                let slot = self.catalog.reader().with(|view| zones.slot(view, name));
                slot.and_then(|slot| zones.rare.change(&slot, |rare| rare.is_absent = false));
            }
        }
        zones.shown += usize::from(is_new);
    }

    /// Calls `each` with the names of all zones that are shown, with data or without, in batches.
    pub(crate) fn for_each_name(&self, mut each: impl FnMut(&Name)) {
        let mut slots = Vec::new();
        self.for_each_slot(|slot, _| slots.push(slot));
        for batch in slots.chunks(ZONES_A_BATCH) {
            let zones = self.zones.read();
            self.catalog.reader().with(|view| {
                batch.iter().filter_map(|slot| zones.name(view, *slot)).for_each(&mut each);
            });
        }
    }

    /// The log was read: which packs it needs is known, and others go.
    pub(crate) fn note_log_is_read(&self) {
        self.is_log_unread.store(false, Ordering::SeqCst);
        self.remove_unused_files();
    }

    /// Has the changer merge zones that change, as the packs below them are to be given up.
    pub(super) fn ask_to_merge(&self, zones: Vec<NameBuf>) {
        if !zones.is_empty() {
            self.dynamic.give_up(zones);
        }
    }
}

/// What the section of the zone of a slot says of IXFR.
fn ixfr_rules(zones: &Zones, slot: Option<SlotNumber>) -> IxfrRules {
    slot.and_then(|slot| zones.sources.ixfr(zones.kept(slot).source)).copied().unwrap_or_default()
}
