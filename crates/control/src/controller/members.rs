//! Zones that catalogs list (RFC 9432): they come and go while the server runs, as their catalogs say.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

use wire::{Name, NameBuf};
use zone::catalog::{Absence, SlotNumber, ViewSource};

use super::arrange::ZONES_A_BATCH;
use super::said::{By, Said, serial};
use super::zones::{Awaited, is_below_data};
use super::{Changing, Controller};
use crate::command::ByCommand;
use crate::sources::{Listing, SourceId};
use crate::wanted::WantedZones;

/// What becomes of a zone because of its catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// It is served from now on, and comes from there.
    Add(SourceId),
    /// It is served no more; its data are forgotten.
    Remove,
    /// Its data are forgotten, then it is as added.
    Reset(SourceId),
    /// Its data stay; rules and primaries are others.
    Become(SourceId),
}

impl Act {
    /// Whether data are forgotten.
    fn is_loss(self) -> bool {
        matches!(self, Act::Remove | Act::Reset(_))
    }

    /// Where a zone comes from that is added.
    fn added(self) -> Option<SourceId> {
        match self {
            Act::Add(source) | Act::Reset(source) => Some(source),
            Act::Remove | Act::Become(_) => None,
        }
    }
}

impl Controller {
    /// Carries out what becomes of some zones, each once; at most as many as one batch has. Nobody else makes a change meanwhile.
    pub(crate) fn carry_out(&self, acts: &[(NameBuf, Act)], said: &mut Said) {
        let losses: Vec<&NameBuf> =
            acts.iter().filter(|(_, act)| act.is_loss()).map(|(name, _)| name).collect();
        if !losses.is_empty() {
            self.forget_members(losses.iter().map(|name| &***name), said);
            let lower = losses.iter().map(|name| name.to_lowercase()).collect();
            // First: what is asked for anew begins without data.
            self.secondaries.forget(lower);
        }
        let added: Vec<(&Name, SourceId)> =
            acts.iter().filter_map(|(name, act)| Some((&**name, act.added()?))).collect();
        if !added.is_empty() {
            self.enter_members(&added);
        }
        let mut zones = self.zones.write();
        for (name, act) in acts {
            if let Act::Become(source) = act {
                self.become_member(&mut zones, name, *source);
            }
        }
        // A zone that went may have hidden those below it.
        self.arrange_awaited(&mut zones);
        drop(zones);
        self.is_untidy.store(true, Ordering::SeqCst);
    }

    /// Adds the zones of stores and the members of catalogs to what settings and commands want.
    pub(super) fn add_members(&self, changing: &Changing, wanted: &mut WantedZones, said: &mut Said) {
        self.settle_stores(changing, wanted, said);
        let reset = self.settle_catalogs(changing, wanted);
        if !reset.is_empty() {
            self.forget_members(reset.iter().map(|name| &**name), said);
            self.secondaries.forget(reset.iter().map(|name| name.to_lowercase()).collect());
        }
    }

    /// Forgets zones and their data.
    fn forget_members<'n>(&self, names: impl Iterator<Item = &'n Name>, said: &mut Said) {
        let slots: Vec<SlotNumber> = {
            let mut zones = self.zones.write();
            let mut reader = self.catalog.reader();
            reader.with(|view| {
                let slot = |name: &Name| {
                    if !zones.awaited.is_empty() {
                        zones.awaited.remove(&name.to_lowercase());
                    }
                    zones.slot(view, name)
                };
                names.filter_map(slot).collect()
            })
        };
        self.remove_slots(&slots, said);
    }

    /// Enters zones that there are not, without data. One below a zone with data waits unseen.
    fn enter_members(&self, members: &[(&Name, SourceId)]) {
        self.make_room();
        let mut zones = self.zones.write();
        let (mut hidden, mut shown) = (Vec::new(), Vec::new());
        self.catalog.reader().with(|view| {
            for (name, source) in members {
                match is_below_data(view, name) {
                    true => hidden.push((*name, *source)),
                    false => shown.push((*name, *source)),
                }
            }
        });
        for (name, source) in hidden {
            let awaited = Awaited { name: name.to_owned(), source, problem: None, slot: None };
            zones.awaited.insert(name.to_lowercase(), awaited);
        }
        let absent = ViewSource::Absent(Absence::NotLoaded);
        let list: Vec<(&Name, ViewSource)> = shown.iter().map(|(name, _)| (*name, absent)).collect();
        let slots = self.catalog.insert_in_groups(&list, |at| zones.sources.group(shown[at].1));
        zones.shown += slots.len();
        for ((_, source), slot) in shown.iter().zip(slots) {
            zones.kept_mut(slot).source = *source;
        }
    }

    /// Gives a zone that stays another source.
    fn become_member(&self, zones: &mut super::Zones, name: &Name, source: SourceId) {
        zones.awaited.change(&name.to_lowercase(), |awaited| awaited.source = source);
        let found = self.catalog.reader().with(|view| {
            let slot = zones.slot(view, name)?;
            Some((slot, view.group_of(slot)))
        });
        let Some((slot, group)) = found else { return };
        zones.kept_mut(slot).source = source;
        if group != zones.sources.group(source) {
            self.catalog.set_group(slot, zones.sources.group(source));
        }
    }

    /// A test of whether the settings, or commands, have a zone: then no catalog does.
    pub(crate) fn taken(&self) -> impl Fn(&Name) -> bool {
        let reader = RefCell::new(self.catalog.reader());
        move |name| {
            let zones = self.zones.read();
            if zones.by_command(name) == Some(ByCommand::Removed) {
                return true;
            }
            let awaited = match zones.awaited.is_empty() {
                true => None,
                false => zones.awaited.get(&name.to_lowercase()).map(|awaited| awaited.source),
            };
            let slot = reader.borrow_mut().with(|view| zones.slot(view, name));
            let source = awaited.or_else(|| slot.map(|slot| zones.kept(slot).source));
            source.is_some_and(|source| zones.sources.member_of(source).is_none())
        }
    }

    /// The catalog because of which a zone is served, if it is one.
    pub(crate) fn member_of(&self, name: &Name) -> Option<NameBuf> {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        let awaited = zones.awaited.get(&name.to_lowercase()).map(|awaited| awaited.source);
        let source = awaited.or_else(|| slot.map(|slot| zones.kept(slot).source))?;
        zones.sources.member_of(source).map(ToOwned::to_owned)
    }

    /// Whether a zone is a catalog that is made here.
    pub(crate) fn is_made(&self, name: &Name) -> bool {
        let zones = self.zones.read();
        let slot = self.catalog.reader().with(|view| zones.slot(view, name));
        let awaited = zones.awaited.get(&name.to_lowercase()).map(|awaited| awaited.source);
        let source = awaited.or_else(|| slot.map(|slot| zones.kept(slot).source));
        source.is_some_and(|source| zones.sources.is_made(source))
    }

    /// Calls `each` once with each zone that catalogs made here list, in batches. Zones that are awaited come first: meanwhile they may come to be shown, which is looked
    /// at then, so that none is missed between the two.
    pub(crate) fn for_each_listing(&self, mut each: impl FnMut(&Name, &Listing)) {
        let mut awaited = HashSet::new();
        let zones = self.zones.read();
        for one in zones.awaited.values() {
            if let Some(listing) = zones.sources.listing(one.source) {
                each(&one.name, listing);
                awaited.insert(one.name.to_lowercase());
            }
        }
        drop(zones);
        let mut slots = Vec::new();
        self.for_each_slot(|slot, _| slots.push(slot));
        for batch in slots.chunks(ZONES_A_BATCH) {
            let zones = self.zones.read();
            self.catalog.reader().with(|view| {
                for slot in batch {
                    if let Some(listing) = zones.sources.listing(zones.kept(*slot).source)
                        && let Some(name) = zones.name(view, *slot)
                        && (awaited.is_empty() || !awaited.contains(&name.to_lowercase()))
                    {
                        each(name, listing);
                    }
                }
            });
        }
    }

    /// What is to be said of the zones of one state of a catalog.
    pub(crate) fn said_of_catalog(&self) -> Said {
        Said::new(By::Catalog)
    }

    /// The same of zones of a store.
    pub(crate) fn said_of_store(&self) -> Said {
        Said::new(By::Store)
    }

    /// Forgets the data of zones that are reset, and keeps on the disk that packs and log have others of the same name: before it is kept that they are new.
    pub(crate) fn forget_first(&self, acts: &[(NameBuf, Act)], said: &mut Said) {
        let reset: Vec<&Name> =
            acts.iter().filter(|(_, act)| matches!(act, Act::Reset(_))).map(|(name, _)| &**name).collect();
        if !reset.is_empty() {
            self.forget_members(reset.into_iter(), said);
            self.store_gone();
        }
    }

    /// Forgets the data of zones of which there will be others, also where nothing is shown of them yet, and keeps that on the disk.
    pub(crate) fn forget_data(&self, names: &HashSet<NameBuf>, said: &mut Said) {
        self.forget_members(names.iter().map(|name| &**name), said);
        self.secondaries.forget(names.iter().map(|name| name.to_lowercase()).collect());
        let mut zones = self.zones.write();
        names.iter().for_each(|name| zones.gone.add(name));
        drop(zones);
        self.is_untidy.store(true, Ordering::SeqCst);
        // As long as the folder is another server's it waits.
        if self.writable_folder().is_some() {
            self.store_gone();
        }
    }

    /// The serial of a zone that has data.
    pub(crate) fn serial_of(&self, name: &Name) -> Option<u32> {
        self.catalog.reader().with(|view| serial(view, view.slot_named(name)?))
    }

    /// The same of several zones.
    pub(crate) fn serials_of<'n>(&self, names: impl Iterator<Item = &'n Name>) -> Vec<Option<u32>> {
        let mut reader = self.catalog.reader();
        names.map(|name| reader.with(|view| serial(view, view.slot_named(name)?))).collect()
    }
}
