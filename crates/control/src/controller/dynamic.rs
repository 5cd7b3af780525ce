//! What the changer asks of the controller: where the data of zones are, and where these are stored.

use std::collections::HashMap;
use std::sync::Arc;

use zone::Pack;
use zone::catalog::{CatalogView, SlotNumber, View};

use super::Controller;
use super::held::Kind;
use crate::packs::{PackFolder, StoredPack};

impl Controller {
    /// The pack that a slot's zone is served from, and its number there. `None`: it has no data, or they are a file of the operator's, who replaces it.
    pub(crate) fn pack_of_slot(&self, view: &CatalogView<'_>, slot: SlotNumber) -> Option<(Arc<Pack>, u32)> {
        let View::Zone(zone) = view.view_of(slot)? else { return None };
        let zones = self.zones.read();
        let held = zones.packs.get(zone.pack_id())?;
        let is_ours = !matches!(held.kind, Kind::Operators(_));
        is_ours.then(|| (Arc::clone(&held.pack.pack), zone.number()))
    }

    /// Makes sure that a pack is on the disk. `None`: it is not, and cannot be.
    pub(crate) fn store_base(&self, pack: &Arc<Pack>) -> Option<Arc<Pack>> {
        if self.zones.read().packs.get(pack.id()).is_some_and(|held| held.pack.file.is_some()) {
            return Some(Arc::clone(pack));
        }
        self.writable_folder()?.store(pack).ok().map(|stored| Arc::clone(&stored.pack))
    }

    /// The packs of the folder by their checksums: those in use, or all there are, where none is yet.
    pub(crate) fn packs_by_checksum(&self) -> HashMap<u64, Arc<Pack>> {
        let used: Vec<Arc<StoredPack>> =
            self.zones.read().packs.iter().map(|held| Arc::clone(&held.pack)).collect();
        let all =
            if used.is_empty() { self.folder().map(PackFolder::stored).unwrap_or_default() } else { used };
        all.iter().map(|stored| (stored.pack.checksum(), Arc::clone(&stored.pack))).collect()
    }

    /// A zone is shown as the log has it. `is_new`: it was not shown before. `pack`: what it begins from, whose file is needed as long as it is served.
    pub(crate) fn note_recovered(&self, is_new: bool, pack: &Arc<Pack>) {
        let mut zones = self.zones.write();
        zones.bases.insert(pack.checksum());
        if is_new {
            zones.shown += 1;
            zones.loaded += 1;
        }
    }
}
