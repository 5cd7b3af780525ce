//! Which zones there are: those that the settings ask for are found or entered, the others go.

mod look;
mod meet;
mod stored;

use std::sync::atomic::Ordering;

use wire::{Name, NameBuf};
use zone::catalog::{Absence, SlotNumber, View, ViewSource};

use self::meet::{Leaving, Meeting, leave_awaited};
use super::change::Change;
use super::said::{Became, Said, serial};
use super::zones::{Awaited, Zones, is_beside_text};
use super::{Changing, Controller};
use crate::progress::{Act, Progress};
use crate::sources::{Listing, Source, SourceId};
use crate::wanted::{Unread, WantedZones};

/// A zone that is perhaps to be loaded.
#[derive(Clone, Debug)]
pub struct Candidate {
    who: Who,
    /// Whether it is new or comes from elsewhere now.
    is_new: bool,
}

#[derive(Clone, Debug)]
enum Who {
    Slot(SlotNumber),
    /// One that the catalog does not show; its name in lower case.
    Hidden(NameBuf),
}

/// Zones that are found within one batch of the catalog.
pub(super) const ZONES_A_BATCH: usize = 1000;

impl Controller {
    /// Calls `each` with all slots that have zones, batch by batch.
    pub(crate) fn for_each_slot(&self, mut each: impl FnMut(SlotNumber, &View<'_>)) {
        let mut reader = self.catalog.reader();
        let mut from = zone::catalog::FIRST_SLOT;
        loop {
            let is_more = reader.with(|view| {
                let slots = view.slots(from, ZONES_A_BATCH as u32)?;
                for slot in slots {
                    if let Some(view) = view.view_of(slot) {
                        each(slot, &view);
                    }
                }
                Some(())
            });
            if is_more.is_none() {
                return;
            }
            from.0 += ZONES_A_BATCH as u32;
        }
    }

    /// Makes zones known without loading any, so that queries for them get SERVFAIL instead of REFUSED; those that are not wanted go.
    /// Returns what is to be loaded, or looked at.
    pub(crate) fn announce(
        &self,
        changing: &mut Changing,
        wanted: WantedZones,
        progress: &Progress,
    ) -> (Vec<Candidate>, Change) {
        progress.begin(Act::Arranging, wanted.len());
        let mut change = Change::default();
        let candidates = self.arrange(changing, wanted, false, &mut change);
        change.said.end();
        (candidates, change)
    }

    /// Makes the set of zones the one wanted; zones that stay keep their data. Returns, for each zone, whether it is new
    /// or comes from elsewhere now. `is_late`: whether new ones are [awaited](Awaited).
    pub(super) fn arrange(
        &self,
        changing: &mut Changing,
        mut wanted: WantedZones,
        is_late: bool,
        change: &mut Change,
    ) -> Vec<Candidate> {
        // First, as these keep what others want.
        let (faults, clashes) = self.settle_made(changing, &mut wanted);
        change.errors.extend(faults);
        change.warnings.extend(clashes);
        self.add_members(changing, &mut wanted, &mut change.said);
        let mut sources = std::mem::take(&mut wanted.sources);
        sources.set_groups(|names| changing.groups.group(names));
        let why: Vec<String> = wanted.unread.iter().map(|unread| unread.line.clone()).collect();
        let unread: Vec<(&Unread, SourceId)> = wanted
            .unread
            .iter()
            .map(|unread| {
                let why = std::slice::from_ref(&unread.line);
                (unread, sources.unread(&unread.pattern, unread.allowed, why))
            })
            .collect();
        let mut zones = self.zones.write();
        let Meeting { mut candidates, mut slots, awaited, new } = self.meet(&mut zones, &wanted, &sources);
        zones.unlisted = (!why.is_empty()).then(|| why.into());
        let mut leaving = Leaving { old: std::mem::take(&mut zones.sources), new: sources, unread: &unread };
        let gone = self.leave_slots(&mut zones, &mut slots, &mut leaving);
        change.removed += gone.len();
        leave_awaited(&mut zones, &awaited, &mut leaving, change);
        zones.sources = leaving.new;
        zones.is_arranged = true;
        drop(zones);
        self.remove_slots(&gone, &mut change.said);
        let mut zones = self.zones.write();
        change.added += new.len();
        candidates.extend(self.enter(&mut zones, &wanted, &new, is_late));
        if change.added + change.removed > 0 {
            self.is_untidy.store(true, Ordering::SeqCst);
        }
        drop(zones);
        self.settle_groups(changing);
        // Not before all zones are entered: catalogs that are made of them are looked at soon after, and not again.
        self.catalogs.start_if_any();
        if !new.is_empty() || !gone.is_empty() {
            self.recursion.iter().for_each(|recursion| recursion.zones_changed());
        }
        candidates
    }

    /// Enters new zones, without data.
    fn enter(&self, zones: &mut Zones, wanted: &WantedZones, new: &[usize], is_late: bool) -> Vec<Candidate> {
        if !is_late {
            let absent = ViewSource::Absent(Absence::NotLoaded);
            let list: Vec<(&Name, ViewSource)> =
                new.iter().map(|&number| (wanted.zone(number).0, absent)).collect();
            let group = |at: usize| zones.sources.group(wanted.zone(new[at]).1);
            let slots = self.catalog.insert_in_groups(&list, group);
            zones.shown += slots.len();
            for (&number, &slot) in new.iter().zip(&slots) {
                zones.kept_mut(slot).source = wanted.zone(number).1;
            }
            return slots.into_iter().map(|slot| Candidate { who: Who::Slot(slot), is_new: true }).collect();
        }
        for &number in new {
            let (name, source) = wanted.zone(number);
            let awaited = Awaited { name: name.to_owned(), source, problem: None, slot: None };
            zones.awaited.insert(name.to_lowercase(), awaited);
        }
        self.arrange_awaited(zones);
        let who = |&number: &usize| {
            let lower = wanted.zone(number).0.to_lowercase();
            zones.awaited.get(&lower).and_then(|awaited| awaited.slot).map_or(Who::Hidden(lower), Who::Slot)
        };
        new.iter().map(|number| Candidate { who: who(number), is_new: true }).collect()
    }

    /// Removes the zones of these slots. Waits for room, and so holds no lock meanwhile.
    pub(super) fn remove_slots(&self, slots: &[SlotNumber], said: &mut Said) {
        for batch in slots.chunks(ZONES_A_BATCH) {
            self.make_room();
            let mut locked = self.zones.write();
            let zones = &mut *locked;
            let mut changed = Vec::new();
            self.catalog.reader().with(|view| {
                for slot in batch {
                    if let Some(View::Zone(zone)) = view.view_of(*slot)
                        && (is_beside_text(&zone) || zones.fault(zone.apex()).is_some())
                    {
                        changed.push(zone.apex().to_lowercase());
                    }
                    if let Some(name) = zones.name(view, *slot) {
                        said.zone(Became::Removed, name, (serial(view, *slot), None), false, || None);
                        self.transfers.forget(name);
                        self.historian.begin_anew(name);
                        self.telling.forget(name);
                    }
                    if let Some(pack) = zones.pack_of(view, *slot) {
                        view.name_of(*slot).into_iter().for_each(|name| zones.gone.add(name));
                        zones.packs.subtract(pack);
                        zones.loaded -= 1;
                    }
                }
            });
            zones.shown -= batch.len();
            self.catalog.remove(batch);
            batch.iter().for_each(|slot| zones.forget(*slot));
            drop(locked);
            for name in changed {
                self.forget_text(&name);
                self.dynamic.removed(name);
            }
            said.tell();
        }
        self.remove_unused_files();
    }

    /// Enters a zone that came by itself, to be loaded.
    pub(super) fn await_zone(&self, name: &Name, source: &Source, listing: Option<&Listing>) {
        let mut zones = self.zones.write();
        let source = match listing {
            Some(listing) => zones.sources.add_listed(source, listing),
            None => zones.sources.add(source),
        };
        let awaited = Awaited { name: name.to_owned(), source, problem: None, slot: None };
        zones.awaited.insert(name.to_lowercase(), awaited);
        self.arrange_awaited(&mut zones);
    }

    /// How many zones have their files in `folder` itself.
    pub(crate) fn zones_in(&self, folder: &std::path::Path) -> usize {
        let mut slots = Vec::new();
        self.for_each_slot(|slot, _| slots.push(slot));
        let zones = self.zones.read();
        slots.into_iter().filter(|slot| zones.sources.is_in(zones.kept(*slot).source, folder)).count()
    }

    /// Whether there is a zone of this name, and data of it.
    pub(crate) fn has_data(&self, name: &Name) -> bool {
        let zones = self.zones.read();
        self.catalog
            .reader()
            .with(|view| zones.slot(view, name).is_some_and(|slot| zones.pack_of(view, slot).is_some()))
    }

    /// Whether there is a zone of this name.
    pub(crate) fn has_zone(&self, name: &Name) -> bool {
        self.candidate(name).is_some()
    }
}

impl Candidate {
    pub(super) fn of_slot(slot: SlotNumber) -> Candidate {
        Candidate { who: Who::Slot(slot), is_new: false }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::controller::Overrides;
    use crate::settings::Settings;
    use std::time::Duration;

    /// More pieces of garbage than the catalog's domain takes before publishers wait.
    const TOO_MANY: usize = 1 << 17;

    /// Who waits for a worker that does not move on holds no lock: others still see the zones.
    #[test]
    fn removing_waits_without_a_lock() {
        let controller = Controller::new(Settings::default(), Overrides::default()).unwrap();
        let name: NameBuf = "a.example".parse().unwrap();
        controller.await_zone(&name, &Source::File("none".into()), None);
        assert!(controller.has_zone(&name));
        let mut worker = controller.catalog.reader();
        worker.begin();
        (0..TOO_MANY).for_each(|_| controller.catalog.domain().retire(Box::new(|| ()), 0));
        std::thread::scope(|scope| {
            let removing = scope.spawn(|| controller.remove(&mut controller.change(), &name));
            std::thread::sleep(Duration::from_millis(200));
            let is_free = controller.zones.is_free();
            let is_waiting = !removing.is_finished();
            worker.end();
            assert!(is_waiting && is_free, "waits: {is_waiting}, without the lock: {is_free}");
        });
        assert!(!controller.has_zone(&name));
    }
}
