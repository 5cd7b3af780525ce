//! Zones that are no longer served and that packs of the folder still have: without their names the next start would serve them once
//! more, until it has read the lists.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use wire::{Name, NameBuf};

use super::Controller;
use crate::packs::Stored;

/// Names between two looks at which of them packs still have, beside those that were left at the last one.
const NAMES_A_LOOK: usize = 1024;

/// Zones that are looked up within one batch of the catalog and one hold of the lock.
const ZONES_A_BATCH: u32 = 1000;

/// The names, in lower case.
#[derive(Default)]
pub(super) struct Gone {
    names: HashSet<NameBuf>,
    /// Whether the folder has others.
    is_changed: bool,
    /// How many were left when it was last looked at which of them packs still have.
    looked_at: usize,
}

impl Gone {
    pub(super) fn new(names: Vec<NameBuf>) -> Gone {
        Gone { looked_at: names.len(), names: names.into_iter().collect(), is_changed: false }
    }

    pub(super) fn add(&mut self, name: &Name) {
        self.is_changed |= self.names.insert(name.to_lowercase());
    }

    /// The zone is served again.
    pub(super) fn remove(&mut self, name: &Name) {
        self.is_changed |= !self.names.is_empty() && self.names.remove(&name.to_lowercase());
    }

    /// Whether the folder has these names and no others.
    pub(super) fn is_stored(&self) -> bool {
        !self.is_changed
    }

    pub(super) fn has(&self, name: &Name) -> bool {
        !self.names.is_empty() && self.names.contains(&name.to_lowercase())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.names.iter().map(|name| &**name)
    }

    /// Keeps the names for which `keep` says so.
    pub(super) fn retain(&mut self, keep: impl Fn(&Name) -> bool) {
        let before = self.names.len();
        self.names.retain(|name| keep(name));
        self.is_changed |= self.names.len() < before;
        self.looked_at = self.names.len();
    }
}

impl Controller {
    /// Adds the zones of packs in use that nobody wants: those that a start passed over which served nothing before.
    pub(super) fn note_unwanted(&self, stored: &Stored) {
        let mut reader = self.catalog.reader();
        for pack in stored.packs().iter().map(|pack| &pack.pack) {
            let mut first = 0;
            while first < pack.zone_count() && self.zones.read().packs.get(pack.id()).is_some() {
                let end = pack.zone_count().min(first.saturating_add(ZONES_A_BATCH));
                let mut zones = self.zones.write();
                let apexes = (first..end).filter_map(|number| Some(pack.apex(&pack.zone_row(number))?.0));
                reader.with(|view| {
                    let unwanted = apexes.filter(|name| view.slot_named(name).is_none());
                    unwanted.for_each(|name| zones.gone.add(name));
                });
                first = end;
            }
        }
        self.is_untidy.store(true, Ordering::SeqCst);
    }

    /// Stores the names if they changed; says whether they are stored. Those that no pack has any more are left out, looked for now and then.
    pub(super) fn store_gone(&self) -> bool {
        let Some(folder) = &self.folder else { return true };
        // One after the other: the last file is the newest list, and whoever finds nothing to be stored finds it stored.
        let _storing = self.storing_gone.lock();
        // Nobody comes to rest who is in the list of before.
        let _making = self.make_packs();
        let zones = self.zones.read();
        if !zones.gone.is_changed {
            return true;
        }
        let is_due = zones.gone.names.len() > 2 * zones.gone.looked_at + NAMES_A_LOOK;
        let packs = zones.packs.iter().map(|held| held.pack.clone());
        let stored = is_due.then(|| Stored::of(packs.collect()));
        drop(zones);
        let names: Vec<NameBuf> = {
            let mut zones = self.zones.write();
            if let Some(stored) = stored {
                zones.gone.retain(|name| stored.find(name).is_some());
            }
            zones.gone.is_changed = false;
            zones.gone.iter().map(ToOwned::to_owned).collect()
        };
        let stored = folder.set_removed(names.iter().map(|name| &**name));
        if let Err(problem) = &stored {
            self.zones.write().gone.is_changed = true;
            tracing::warn!(
                error = problem,
                "{problem}; the next start serves zones that were removed for a moment"
            );
        }
        stored.is_ok()
    }
}
