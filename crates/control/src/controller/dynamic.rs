//! What the changer asks of the controller: where the data of zones are, and where these are stored.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use wire::Name;
use zone::Pack;
use zone::catalog::{CatalogView, SlotNumber, View};

use super::Controller;
use super::held::Kind;
use crate::packs::{PackFolder, StoredPack};
use crate::settings::UpdateTerms;

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

    /// What holds for updates of a zone.
    pub(crate) fn update_terms(&self, name: &Name) -> UpdateTerms {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        let rules = slot.and_then(|slot| zones.sources.update(zones.kept(slot).source));
        rules.map_or_else(UpdateTerms::default, |rules| zones.policies.terms(rules))
    }

    /// A zone is published with another serial: those are told that are to be.
    pub(crate) fn tell_changed(&self, name: &Name, serial: u32) {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        let remotes: Vec<Box<str>> =
            slot.map(|slot| zones.sources.notify(zones.kept(slot).source).to_vec()).unwrap_or_default();
        drop(zones);
        self.telling.publish(name, serial, &remotes);
    }

    /// Makes sure that a pack is on the disk. `None`: it is not, and cannot be.
    pub(crate) fn store_base(&self, pack: &Arc<Pack>) -> Option<Arc<Pack>> {
        if self.zones.read().packs.get(pack.id()).is_some_and(|held| held.pack.file.is_some()) {
            return Some(Arc::clone(pack));
        }
        self.writable_folder()?.store(pack).ok().map(|stored| Arc::clone(&stored.pack))
    }

    /// The packs of the folder by their checksums: those in use and those that were, or all there are, where none is yet.
    pub(crate) fn packs_by_checksum(&self) -> HashMap<u64, Arc<StoredPack>> {
        let used: Vec<Arc<StoredPack>> = self.zones.read().packs.all().cloned().collect();
        let all =
            if used.is_empty() { self.folder().map(PackFolder::stored).unwrap_or_default() } else { used };
        all.into_iter().map(|stored| (stored.pack.checksum(), stored)).collect()
    }

    /// Says whether the log is still to be read: which packs it needs is not known until then, and none is removed.
    pub(crate) fn set_log_unread(&self, is_unread: bool) {
        self.is_log_unread.store(is_unread, Ordering::SeqCst);
    }

    /// A zone is shown as the log has it. `before`: what was shown there. `base`: what its changes begin from, whose file is needed as long as the log
    /// says so.
    pub(crate) fn note_recovered(&self, before: Before, base: &Pack, stored: Option<&Arc<StoredPack>>) {
        let mut zones = self.zones.write();
        if let Some(stored) = stored {
            zones.bases.insert(base.checksum());
            zones.packs.hold(&self.catalog, stored, Kind::Kept);
        }
        match before.pack {
            Some(before) => zones.packs.replace(before, base.id()),
            None => {
                zones.packs.add(base.id());
                zones.loaded += 1;
            }
        }
        if !before.has_slot {
            zones.shown += 1;
        }
    }
}

/// What a slot showed before a zone of the log was shown there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub(crate) has_slot: bool,
    pub(crate) pack: Option<u64>,
}
