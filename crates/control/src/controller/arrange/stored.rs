//! Zones as they were stored: served at a start before lists and texts are looked at, and where lists cannot be read.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use wire::{Name, NameBuf};
use zone::catalog::{View, ViewSource};
use zone::pack::ZoneRow;

use super::look::job;
use super::{Candidate, Who, ZONES_A_BATCH};
use crate::controller::change::{Change, Scope};
use crate::controller::held::Kind;
use crate::controller::said::{Became, Said};
use crate::controller::{Changing, Controller};
use crate::packs::{PackFolder, Stored};
use crate::progress::{Act, Progress};

impl Controller {
    /// Serves all zones of the pack folder as they were stored; says how many.
    pub fn serve_stored(&self, progress: &Progress) -> usize {
        let Some(folder) = &self.folder else { return 0 };
        progress.begin(Act::Mapping, 0);
        let packs = folder.stored();
        let mut zones = self.zones.write();
        for pack in &packs {
            let number = zones.packs.hold(&self.catalog, pack, Kind::Kept);
            let all = 0..pack.pack.zone_count();
            let list: Vec<(&Name, ViewSource)> = all
                .filter_map(|at| {
                    Some((pack.pack.apex(&pack.pack.zone_row(at))?.0, ViewSource::Pack(number, at)))
                })
                .collect();
            progress.begin(Act::Publishing, list.len());
            self.catalog.insert(&list);
        }
        let mut gone = Vec::new();
        self.catalog
            .reader()
            .with(|view| gone.extend(zones.gone.iter().filter_map(|name| view.slot_named(name))));
        self.catalog.remove(&gone);
        let count = self.catalog.zone_count();
        match &packs[..] {
            // One pack, all of it served, needs no walk.
            [pack] if count == pack.pack.zone_count() as usize => {
                zones.packs.add_many(pack.pack.id(), count as u32)
            }
            _ => self.for_each_slot(|_, view| {
                if let View::Zone(zone) = view {
                    zones.packs.add_many(zone.pack_id(), 1);
                }
            }),
        }
        zones.packs.drop_unused();
        (zones.loaded, zones.shown) = (count, count);
        drop(zones);
        self.remove_unused_files();
        count
    }

    /// Loads the zones announced, for the first time. `is_served`: whether there are zones already, as they were stored, which are looked
    /// at; otherwise all are new, and what the pack folder has of them is taken if it is current.
    pub(crate) fn load_first(
        &self,
        changing: &mut Changing,
        candidates: Vec<Candidate>,
        is_served: bool,
        progress: &Progress,
    ) -> Change {
        let mut change = Change::default();
        if is_served {
            self.load_changed(&candidates, Scope::All, progress, &mut change, false);
            change.said.end();
            self.secondaries.look();
            self.catalogs.loaded();
            self.stores.loaded();
            return change;
        }
        progress.begin(Act::Mapping, 0);
        let stored = Stored::of(self.folder.as_ref().map(PackFolder::stored).unwrap_or_default());
        // What may be half edited is not read where there is something better.
        for name in self.texts.frozen() {
            self.take_last_good(&mut self.zones.write(), &name, &stored);
        }
        let (mut beside, candidates): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|candidate| self.take_stored_beside(candidate, &stored));
        beside.iter_mut().for_each(|candidate| candidate.is_new = false);
        let mut jobs = Vec::with_capacity(candidates.len());
        for batch in candidates.chunks(ZONES_A_BATCH) {
            jobs.extend(self.looks(batch).into_iter().map(|(_, look)| job(look)));
            self.take_stored_secondaries(batch, &stored);
        }
        drop(candidates);
        jobs.extend(self.look(&beside, Scope::All, progress));
        (0..).zip(&mut jobs).for_each(|(id, job)| job.id = id);
        self.load(&jobs, &stored, progress, &mut change, false);
        if !self.is_log_unread.load(Ordering::SeqCst) {
            // What was shown just now was not when the log was read; else that is still to come.
            self.find_missing(&HashMap::new());
        }
        if self.zones.read().has_unread() {
            self.serve_unlisted(changing, &stored, &mut change.said);
        }
        change.said.end();
        self.note_unwanted(&stored);
        let mut zones = self.zones.write();
        for pack in stored.packs().iter().filter(|pack| pack.file.is_some()) {
            if zones.packs.get(pack.pack.id()).is_none() {
                zones.packs.add_unused(pack);
            }
        }
        drop(zones);
        self.remove_unused_files();
        self.secondaries.look();
        self.catalogs.loaded();
        self.stores.loaded();
        change
    }

    /// Shows what packs have of a zone if it has changed since its text was read: that is nowhere else, and its text is held against it as at any other time. Says whether
    /// that is so.
    fn take_stored_beside(&self, candidate: &Candidate, stored: &Stored) -> bool {
        let Who::Slot(slot) = candidate.who else { return false };
        let name = {
            let zones = self.zones.read();
            // Others have their own rules.
            let has_text = !zones.sources.is_without_file(zones.kept(slot).source);
            self.catalog.reader().with(|view| zones.name(view, slot).filter(|_| has_text).map(Name::to_owned))
        };
        let Some(name) = name else { return false };
        let is_beside = stored
            .find(&name)
            .is_some_and(|(pack, number)| pack.pack.zone_row(number).bits & ZoneRow::BESIDE_TEXT != 0);
        if is_beside {
            self.take_last_good(&mut self.zones.write(), &name, stored);
        }
        is_beside && self.has_data(&name)
    }

    /// Serves what packs have and no list that could be read: it may be of one that could not.
    fn serve_unlisted(&self, changing: &Changing, stored: &Stored, said: &mut Said) {
        if changing.groups.is_live {
            // Who may ask for them is in the list.
            return;
        }
        for pack in stored.packs() {
            for first in (0..pack.pack.zone_count()).step_by(ZONES_A_BATCH) {
                self.make_room();
                let mut zones = self.zones.write();
                let end = pack.pack.zone_count().min(first.saturating_add(ZONES_A_BATCH as u32));
                let mut reader = self.catalog.reader();
                let unlisted: Vec<(&Name, u32)> = reader.with(|view| {
                    let named = |at| Some((pack.pack.apex(&pack.pack.zone_row(at))?.0, at));
                    let is_newest = |name: &Name, at| {
                        stored
                            .find(name)
                            .is_some_and(|(newest, number)| Arc::ptr_eq(newest, pack) && number == at)
                    };
                    let is_unlisted = |(name, at): &(&Name, u32)| {
                        view.slot_named(name).is_none() && !zones.gone.has(name) && is_newest(name, *at)
                    };
                    (first..end).filter_map(named).filter(is_unlisted).collect()
                });
                if unlisted.is_empty() {
                    continue;
                }
                let number = zones.packs.hold(&self.catalog, pack, Kind::Kept);
                let list: Vec<(&Name, ViewSource)> =
                    unlisted.iter().map(|(name, at)| (*name, ViewSource::Pack(number, *at))).collect();
                let slots = self.catalog.insert(&list);
                zones.packs.add_many(pack.pack.id(), slots.len() as u32);
                zones.loaded += slots.len();
                zones.shown += slots.len();
                zones.left += slots.len();
                for (name, at) in unlisted {
                    let serial = pack.pack.zone_row(at).serial;
                    said.zone(Became::Loaded, name, (Some(serial), None), true, || None);
                }
                drop(zones);
                said.tell();
            }
        }
    }

    /// Shows what packs have of zones that are transferred from others, unless that is too old, of those of stores, and of catalogs that are made here.
    fn take_stored_secondaries(&self, candidates: &[Candidate], stored: &Stored) {
        let mut zones = self.zones.write();
        if !zones.sources.has_without_file() {
            return;
        }
        let mut names: Vec<(NameBuf, bool)> = Vec::new();
        self.catalog.reader().with(|view| {
            for candidate in candidates {
                if let Who::Slot(slot) = candidate.who
                    && zones.sources.is_without_file(zones.kept(slot).source)
                    && let Some(name) = zones.name(view, slot)
                    && zones.persists(name, Some(slot))
                {
                    let has_age = zones.sources.incoming(zones.kept(slot).source).is_none();
                    names.push((name.to_lowercase(), has_age));
                }
            }
        });
        let now = crate::expiry::now();
        for (name, has_age) in names {
            if !has_age || self.secondaries.kept(&name).is_none_or(|kept| kept.expires > now) {
                self.take_last_good(&mut zones, &name, stored);
            }
        }
    }

    /// Removes the files of packs that no zone is served from any more.
    pub(crate) fn remove_unused_files(&self) {
        if self.is_held() || self.is_log_unread.load(Ordering::SeqCst) {
            return;
        }
        let packs = self.zones.write().packs.take_unused();
        let Some(folder) = self.writable_folder() else { return };
        for file in packs.iter().filter_map(|pack| pack.file.as_ref()) {
            if folder.remove(file) {
                let source = file.display();
                tracing::debug!(%source, "pack {source}: no zone is served from it any more, removed");
            }
        }
    }
}
