//! Texts that were edited while their zones changed in place, as a change takes them.

use std::sync::atomic::Ordering;

use wire::Name;
use zone::catalog::{SlotNumber, View};
use zone::pack::ZoneRow;

use super::Controller;
use super::change::Change;
use super::zones::{Look, Zones};
use crate::command::Changes;
use crate::load::{Job, Loaded};
use crate::sources::Source;
use crate::texts::Edited;

/// A zone that was loaded and has changed in place since its text was read.
pub(crate) struct Beside {
    pub(super) job: Job,
    pub(super) loaded: Loaded,
}

impl std::fmt::Debug for Beside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} from {}", self.job.name, self.job.source)
    }
}

impl Controller {
    /// Takes what was edited in texts whose zones have changed in place. Without a lock of zones: it waits for the disk.
    pub(super) fn take_edits(&self, change: &mut Change) {
        for Beside { job, loaded } in std::mem::take(&mut change.beside) {
            let name = job.name.to_lowercase();
            let held = match &job.source {
                Source::File(path) => self.hold_against(&name, path, &loaded),
                _ => Err("is another, and the zone has been changed by updates".into()),
            };
            match held {
                Ok(Edited::Same) => {
                    self.note_read(&name, &loaded);
                    change.unchanged += 1;
                }
                Ok(Edited::Taken(names)) => {
                    self.note_read(&name, &loaded);
                    let names = crate::text::count(names, "name");
                    let (zone, source) =
                        (tracing::field::display(&name), tracing::field::display(&job.source));
                    tracing::info!(
                        zone,
                        source,
                        "zone {name}: {source} was edited; {names} changed on top of what updates have done"
                    );
                    change.told.zone(&job.name, &loaded.findings);
                    change.loaded += 1;
                }
                Ok(Edited::Whole) => {
                    // Before it is served: a start must not go back to what was there.
                    self.dynamic.replaced(name.clone());
                    let mut zones = self.zones.write();
                    self.take_whole(&mut zones, &job, loaded, None, change);
                    self.arrange_awaited(&mut zones);
                    drop(zones);
                    self.is_untidy.store(true, Ordering::SeqCst);
                    self.dynamic.removed(name.clone());
                    self.forget_text(&name);
                }
                Err(why) => {
                    let line = format!(
                        "{}: was edited, and the zone has been changed by updates since: {why}; zone and text stay as they are",
                        job.source
                    );
                    self.take_broken(&mut self.zones.write(), &job, Err(vec![line]), change);
                }
            }
        }
    }

    /// The text of a zone was read, and is what is known of it.
    fn note_read(&self, name: &Name, loaded: &Loaded) {
        let mut zones = self.zones.write();
        let Some(slot) = self.catalog.reader().with(|view| zones.slot(view, name)) else { return };
        zones.change_rare(slot, |rare| {
            rare.problem = None;
            rare.includes = (!loaded.includes.is_empty()).then(|| (loaded.stamp, loaded.includes.clone()));
        });
        if zones.rare.get(&slot).is_some_and(|rare| rare.includes.is_none() && rare.own.is_none()) {
            zones.rare.remove(&slot);
        }
    }

    /// The text of a zone was written: it includes nothing any more, and is no longer broken.
    pub(crate) fn note_written(&self, name: &Name) {
        let mut zones = self.zones.write();
        let Some(slot) = self.catalog.reader().with(|view| zones.slot(view, name)) else { return };
        if zones.rare.get(&slot).is_some_and(|rare| rare.own.is_none()) {
            zones.rare.remove(&slot);
        }
    }

    /// A zone is what its text says again, or gone: nothing else is known of the text than whether it is frozen.
    pub(crate) fn forget_text(&self, name: &Name) {
        let name = name.to_lowercase();
        if self.texts.of(&name).base.is_some() || self.texts.of(&name).next.is_some() {
            // What stays is not looked at, and goes with the next.
            let _ = self.texts.change(&name, |text| (text.base, text.next) = (None, None));
        }
    }

    /// Notes why a zone takes no updates, or that it does again. `name`: lower-case.
    pub(crate) fn set_fault(&self, name: &Name, fault: Option<String>) {
        let mut zones = self.zones.write();
        match fault {
            Some(fault) => drop(zones.faults.insert(name.to_owned(), fault)),
            None => drop(zones.faults.remove(name)),
        }
    }

    /// Why a zone takes no updates: the log has lost changes of it. `name`: lower-case.
    pub(crate) fn fault_of(&self, name: &Name) -> Option<String> {
        self.zones.read().faults.get(name).cloned()
    }
}

impl Zones {
    /// As [`Zones::look`], of a zone whose text may be being edited.
    pub(crate) fn look_at_text(&self, view: &zone::CatalogView<'_>, slot: SlotNumber) -> Option<Look> {
        self.look_anyway(view, slot)
    }

    /// What has changed in a slot's zone since its text was read or written; `None`: nothing, since its pack was made.
    pub(crate) fn changes(&self, view: &zone::CatalogView<'_>, slot: SlotNumber) -> Option<Changes> {
        let View::Zone(zone) = view.view_of(slot)? else { return None };
        let changed = zone.changed()?;
        let below = changed.pack().zone_row(changed.number());
        let is_text = below.bits & ZoneRow::BESIDE_TEXT == 0;
        let base = self.texts.of(&zone.apex().to_lowercase()).base;
        Some(Changes {
            text_serial: base.map(|base| base.serial).or(is_text.then_some(below.serial)),
            versions: changed.state(),
            octets: (changed.delta().octets() + changed.cells_octets()) as u64,
        })
    }

    /// Whether a zone takes no updates, as its text is being edited.
    pub(crate) fn is_frozen(&self, name: &Name) -> bool {
        self.texts.has_any() && self.texts.of(&name.to_lowercase()).is_frozen
    }

    /// Why a zone takes no updates that the log has lost changes of.
    pub(crate) fn fault(&self, name: &Name) -> Option<String> {
        if self.faults.is_empty() { None } else { self.faults.get(&name.to_lowercase()).cloned() }
    }

    /// Whether a slot's data are a file of the operator's.
    pub(crate) fn is_operators_pack(&self, view: &zone::CatalogView<'_>, slot: SlotNumber) -> bool {
        let pack = self.pack_of(view, slot).and_then(|pack| self.packs.get(pack));
        pack.is_some_and(|held| matches!(held.kind, super::held::Kind::Operators(_)))
    }

    /// Whether the text of a slot's zone is not to be read: there are data, and somebody may be editing it.
    pub(super) fn is_being_edited(&self, view: &zone::CatalogView<'_>, slot: SlotNumber) -> bool {
        self.texts.has_any()
            && matches!(view.view_of(slot), Some(View::Zone(_)))
            && self.name(view, slot).is_some_and(|name| self.texts.is_being_edited(&name.to_lowercase()))
    }
}
