//! Zones that come to rest: they are in a pack of the folder and nowhere else, so a start has to take them from there, and from no other pack.
//!
//! ```text
//! a start takes each zone from the pack with the newest name that has it
//! a pack of zones as they are now --made, stored: some seconds--> newest name        the zone of before, if it has changed and was stored meanwhile
//!      `-- Controller::make_packs: nobody comes to rest --'       packs with newer names, or without one yet, are looked through for who is to rest
//! ```
//!
//! So a zone rests only while no pack is being made, and if no other pack has it that is newer, or could be stored later. What is made from then on has it as it
//! is at rest, or has nothing of it: texts of zones that are beside them are read into packs of their own, which are in no file (`change`).

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use sync::rwlock::WriteGuard;
use wire::NameBuf;
use zone::catalog::{SlotNumber, State, ViewSource};

use super::Controller;
use super::held::Kind;
use crate::packs::{PackFolder, StoredPack};

/// Packs that were looked through for zones that are to rest in another one.
#[derive(Default)]
pub(crate) struct LookedThrough {
    /// By [`zone::Pack::id`].
    packs: HashSet<u64>,
    /// Zones, lower-case, that one of them has, or that are not to be taken from packs: a start might not take them from there.
    elsewhere: HashSet<NameBuf>,
}

impl LookedThrough {
    /// Whether none of them has a zone.
    pub(crate) fn has_not(&self, zone: &NameBuf) -> bool {
        !self.elsewhere.contains(zone)
    }
}

/// No pack is being made as long as this lives.
pub(crate) struct Still<'c> {
    controller: &'c Controller,
    _nobody: WriteGuard<'c, ()>,
}

impl Controller {
    /// As long as what this gives lives packs are made of zones as they are, or stored: nobody comes to rest. From before it is looked which zones these are until the
    /// packs are known, or dropped.
    pub(crate) fn make_packs(&self) -> impl Sized + '_ {
        self.making.read()
    }

    /// Has zones come to rest. `None`: packs are being made.
    pub(crate) fn still(&self) -> Option<Still<'_>> {
        Some(Still { controller: self, _nobody: self.making.try_write()? })
    }

    /// Looks through the packs that a start might take zones from before it takes them from `pack`. Cost: all their zones.
    pub(crate) fn look_through_newer<'z>(
        &self,
        pack: &StoredPack,
        zones: impl Iterator<Item = &'z NameBuf>,
    ) -> LookedThrough {
        let newer = self.newer_than(pack);
        let mut looked = LookedThrough::default();
        looked.packs.extend(newer.iter().map(|newer| newer.pack.id()));
        let wanted: HashMap<Vec<u8>, &NameBuf> =
            zones.map(|zone| (wire::SortKey::of(zone).octets().to_vec(), zone)).collect();
        looked.elsewhere.extend(self.take_from_gone(wanted.values().copied()));
        for newer in &newer {
            let keys = (0..newer.pack.zone_count()).map(|number| newer.key(number));
            looked.elsewhere.extend(keys.filter_map(|key| wanted.get(key)).map(|zone| (*zone).clone()));
        }
        looked
    }

    /// Zones of which a start would take nothing from packs, as they were not to be kept: from the next time on that is written they are.
    fn take_from_gone<'z>(&self, names: impl Iterator<Item = &'z NameBuf>) -> Vec<NameBuf> {
        let mut zones = self.zones.write();
        let gone: Vec<NameBuf> = names.filter(|name| zones.gone.has(name)).cloned().collect();
        gone.iter().for_each(|name| zones.gone.remove(name));
        gone
    }

    /// The packs that have a newer name than another, or could get one.
    fn newer_than(&self, pack: &StoredPack) -> Vec<Arc<StoredPack>> {
        let zones = self.zones.read();
        let file = pack.file.as_deref().and_then(Path::file_name);
        zones.packs.newer_than(file).filter(|newer| newer.pack.id() != pack.pack.id()).cloned().collect()
    }
}

impl Still<'_> {
    /// Whether all packs that are newer than this one, or could be, were looked through, and the folder knows of which zones nothing is to be taken.
    pub(crate) fn is_known(&self, pack: &StoredPack, looked: &LookedThrough) -> bool {
        let has_stray = self.controller.folder().is_some_and(PackFolder::has_stray);
        if has_stray || !self.controller.zones.read().gone.is_stored() {
            return false;
        }
        let is_looked_through = |newer: &Arc<StoredPack>| looked.packs.contains(&newer.pack.id());
        pack.file.is_some() && self.controller.newer_than(pack).iter().all(is_looked_through)
    }
}

impl Controller {
    /// Has a slot show zone `number` of a pack, which is what it shows as a state of a delta. `from`: the number of the pack below that. Says whether it showed `expected`
    /// until now.
    pub(crate) fn show_at_rest(
        &self,
        (slot, expected): (SlotNumber, State),
        from: u64,
        (to, number): (&Arc<StoredPack>, u32),
    ) -> bool {
        self.make_room();
        let mut zones = self.zones.write();
        let source = ViewSource::Pack(zones.packs.hold(&self.catalog, to, Kind::Kept), number);
        if self.catalog.move_view(slot, Some(expected), source).is_err() {
            return false;
        }
        zones.packs.replace(from, to.pack.id());
        true
    }
}
