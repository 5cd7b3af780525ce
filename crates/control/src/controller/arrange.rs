//! Which zones there are: those that the settings ask for are found or entered, the others go.

mod look;
mod stored;

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use wire::{Name, NameBuf};
use zone::catalog::{Absence, SlotNumber, View, ViewSource};

use super::change::Change;
use super::said::{Became, Said, serial};
use super::zones::{Awaited, Zones};
use super::{Changing, Controller};
use crate::progress::{Act, Progress};
use crate::sources::{Listing, Source, SourceId, Sources};
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

/// Slots that were met.
#[derive(Default)]
struct Met(Vec<u64>);

impl Met {
    fn add(&mut self, slot: SlotNumber) {
        let at = slot.0 as usize / 64;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (slot.0 % 64);
    }

    fn has(&self, slot: SlotNumber) -> bool {
        self.0.get(slot.0 as usize / 64).is_some_and(|bits| bits >> (slot.0 % 64) & 1 == 1)
    }
}

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
        let mut candidates = Vec::with_capacity(wanted.len());
        let (mut met, mut met_awaited, mut new) = (Met::default(), HashSet::new(), Vec::new());
        let mut lost: Vec<(&Name, SlotNumber)> = Vec::new();
        let mut zones = self.zones.write();
        let mut reader = self.catalog.reader();
        for first in (0..wanted.len()).step_by(ZONES_A_BATCH) {
            reader.with(|view| {
                for number in first..wanted.len().min(first + ZONES_A_BATCH) {
                    let (name, source) = wanted.zone(number);
                    let slot = zones.slot(view, name);
                    let lower = if zones.awaited.is_empty() { None } else { Some(name.to_lowercase()) };
                    let is_other = |zones: &Zones, old| !sources.is_same(source, &zones.sources, old, name);
                    let awaited =
                        lower.as_ref().and_then(|lower| zones.awaited.get(lower)).map(|zone| zone.source);
                    let mut is_new = awaited.is_some_and(|old| is_other(&zones, old));
                    if let Some(awaited) = lower.as_ref().and_then(|lower| zones.awaited.get_mut(lower)) {
                        awaited.source = source;
                    }
                    let who = match (slot, lower) {
                        (Some(slot), lower) => {
                            met.add(slot);
                            if matches!(view.view_of(slot), Some(View::Lost(_))) {
                                lost.push((name, slot));
                            }
                            if awaited.is_some() {
                                met_awaited.extend(lower);
                            }
                            let old = zones.kept(slot).source;
                            is_new |= old != crate::sources::SourceId::UNKNOWN && is_other(&zones, old);
                            zones.kept_mut(slot).source = source;
                            if view.group_of(slot) != sources.group(source) && sources.has_rules(source) {
                                self.catalog.set_group(slot, sources.group(source));
                            }
                            Who::Slot(slot)
                        }
                        (None, Some(lower)) if awaited.is_some() => {
                            met_awaited.insert(lower.clone());
                            Who::Hidden(lower)
                        }
                        _ => {
                            new.push(number);
                            continue;
                        }
                    };
                    candidates.push(Candidate { who, is_new });
                }
            });
        }
        lost.into_iter().for_each(|(name, slot)| self.empty_lost(&mut zones, &mut reader, name, slot));
        let old = std::mem::take(&mut zones.sources);
        let mut gone = self.not_met(&met);
        // Of packs that were written into, nothing may be found any more.
        gone.iter().for_each(|slot| met.add(*slot));
        gone.extend(zones.own_slots().filter(|slot| !met.has(*slot)));
        zones.unlisted = (!why.is_empty()).then(|| why.into());
        zones.left = 0;
        gone.retain(|slot| {
            let left = leave(&old, &mut sources, &unread, zones.kept(*slot).source);
            zones.left += usize::from(left.is_some());
            if let Some((left, why)) = left {
                zones.kept_mut(*slot).source = left;
                if sources.why_unread(left).is_none() && left != SourceId::UNKNOWN {
                    zones.left -= 1;
                    zones
                        .rare
                        .entry(*slot)
                        .or_default()
                        .problem
                        .get_or_insert_with(|| [why.to_owned()].into());
                }
            }
            left.is_none()
        });
        // What their sources were the new ones do not say.
        gone.iter().for_each(|slot| zones.kept_mut(*slot).source = crate::sources::SourceId::UNKNOWN);
        change.removed += gone.len();
        zones.awaited.retain(|lower, awaited| {
            let is_met = met_awaited.contains(lower);
            let left = if is_met { None } else { leave(&old, &mut sources, &unread, awaited.source) };
            if let Some((left, _)) = left {
                awaited.source = left;
            }
            let stays = is_met || left.is_some();
            if !stays && awaited.slot.is_none() {
                change.removed += 1;
                change.said.zone(Became::Removed, &awaited.name, (None, None), false, || None);
            }
            stays
        });
        zones.sources = sources;
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

    /// The slots of zones that were not met.
    fn not_met(&self, met: &Met) -> Vec<SlotNumber> {
        let mut gone = Vec::new();
        self.for_each_slot(|slot, _| {
            if !met.has(slot) {
                gone.push(slot);
            }
        });
        gone
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
                        && zone.is_changed()
                    {
                        changed.push(zone.apex().to_owned());
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

/// What becomes of the source of a zone that no list names if it stays because its list could not be read, and the reason; a zone of which it
/// is not known yet where it came from may be of any. `None`: it goes.
fn leave<'u>(
    old: &Sources,
    new: &mut Sources,
    unread: &[(&'u Unread, SourceId)],
    source: SourceId,
) -> Option<(SourceId, &'u str)> {
    let (first, _) = unread.first()?;
    if source == SourceId::UNKNOWN {
        return Some((source, &first.line));
    }
    let is_of = |(unread, _): &&(&Unread, SourceId)| {
        old.is_pattern(source, &unread.pattern)
            || unread.folder.as_deref().is_some_and(|folder| old.is_in(source, folder))
    };
    let (unread, id) = unread.iter().find(is_of)?;
    let left = match old.is_pattern(source, &unread.pattern) {
        true => *id,
        // Of the same folder, by a name that the pattern does not make.
        false => new.path(&old.path_of(source)?, unread.allowed),
    };
    Some((left, &unread.line))
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
            let is_free = controller.zones.try_write().is_some();
            let is_waiting = !removing.is_finished();
            worker.end();
            assert!(is_waiting && is_free, "waits: {is_waiting}, without the lock: {is_free}");
        });
        assert!(!controller.has_zone(&name));
    }
}
