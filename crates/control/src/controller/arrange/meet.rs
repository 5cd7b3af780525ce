//! All that is wanted is looked for once: what is there already and what is new; and what becomes of all else.

use std::collections::HashSet;

use wire::{Name, NameBuf};
use zone::catalog::{SlotNumber, View};

use super::{Candidate, Who, ZONES_A_BATCH};
use crate::controller::Controller;
use crate::controller::change::Change;
use crate::controller::said::Became;
use crate::controller::zones::Zones;
use crate::sources::{SourceId, Sources};
use crate::wanted::{Unread, WantedZones};

/// Slots that were met.
#[derive(Default)]
pub(super) struct Met(Vec<u64>);

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

/// What was found of what is wanted.
#[derive(Default)]
pub(super) struct Meeting {
    /// What is there.
    pub(super) candidates: Vec<Candidate>,
    /// Slots of these.
    pub(super) slots: Met,
    /// Names in lower case of those of them that came by themselves or late.
    pub(super) awaited: HashSet<NameBuf>,
    /// Numbers of what is not there, in the list of what is wanted.
    pub(super) new: Vec<usize>,
}

/// Where zones came from, where they come from, and lists that could not be read, so that what they may have named stays.
pub(super) struct Leaving<'u> {
    pub(super) old: Sources,
    pub(super) new: Sources,
    pub(super) unread: &'u [(&'u Unread, SourceId)],
}

impl Controller {
    /// Looks for all that is wanted. What is there has its new source and group from then on.
    pub(super) fn meet(&self, zones: &mut Zones, wanted: &WantedZones, sources: &Sources) -> Meeting {
        let mut met = Meeting { candidates: Vec::with_capacity(wanted.len()), ..Meeting::default() };
        let mut lost: Vec<(&Name, SlotNumber)> = Vec::new();
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
                    let mut is_new = awaited.is_some_and(|old| is_other(zones, old));
                    if let Some(lower) = &lower {
                        zones.awaited.change(lower, |awaited| awaited.source = source);
                    }
                    let who = match (slot, lower) {
                        (Some(slot), lower) => {
                            met.slots.add(slot);
                            if matches!(view.view_of(slot), Some(View::Lost(_))) {
                                lost.push((name, slot));
                            }
                            if awaited.is_some() {
                                met.awaited.extend(lower);
                            }
                            let old = zones.kept(slot).source;
                            is_new |= old != SourceId::UNKNOWN && is_other(zones, old);
                            zones.kept_mut(slot).source = source;
                            if view.group_of(slot) != sources.group(source) && sources.has_rules(source) {
                                self.catalog.set_group(slot, sources.group(source));
                            }
                            Who::Slot(slot)
                        }
                        (None, Some(lower)) if awaited.is_some() => {
                            met.awaited.insert(lower.clone());
                            Who::Hidden(lower)
                        }
                        _ => {
                            met.new.push(number);
                            continue;
                        }
                    };
                    met.candidates.push(Candidate { who, is_new });
                }
            });
        }
        lost.into_iter().for_each(|(name, slot)| self.empty_lost(zones, &mut reader, name, slot));
        met
    }

    /// The slots of zones that go: those that were not met, unless a list that could not be read may have named them.
    pub(super) fn leave_slots(
        &self,
        zones: &mut Zones,
        met: &mut Met,
        leaving: &mut Leaving<'_>,
    ) -> Vec<SlotNumber> {
        let mut gone = self.not_met(met);
        // Of packs that were written into, nothing may be found any more.
        gone.iter().for_each(|slot| met.add(*slot));
        gone.extend(zones.own_slots().filter(|slot| !met.has(*slot)));
        zones.left = 0;
        let mut reader = self.catalog.reader();
        gone.retain(|slot| {
            let Some((left, why)) = leaving.stays(zones.kept(*slot).source) else { return true };
            zones.kept_mut(*slot).source = left;
            if leaving.new.why_unread(left).is_none() && left != SourceId::UNKNOWN {
                // One whose pack was lost has none either.
                let is_absent = reader.with(|view| !matches!(view.view_of(*slot), Some(View::Zone(_))));
                zones.change_rare(*slot, |rare| {
                    rare.problem.get_or_insert_with(|| [why.to_owned()].into());
                    rare.is_absent = is_absent;
                });
            } else {
                zones.left += 1;
            }
            false
        });
        // What their sources were the new ones do not say.
        gone.iter().for_each(|slot| zones.kept_mut(*slot).source = SourceId::UNKNOWN);
        gone
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
}

/// The same with those that came by themselves or late. `met`: their names in lower case.
pub(super) fn leave_awaited(
    zones: &mut Zones,
    met: &HashSet<NameBuf>,
    leaving: &mut Leaving<'_>,
    change: &mut Change,
) {
    zones.awaited.retain(|lower, awaited| {
        let is_met = met.contains(lower);
        let left = if is_met { None } else { leaving.stays(awaited.source) };
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
}

impl<'u> Leaving<'u> {
    /// What becomes of the source of a zone that no list names if it stays because its list could not be read, and the reason; a zone of which it
    /// is not known yet where it came from may be of any. `None`: it goes.
    fn stays(&mut self, source: SourceId) -> Option<(SourceId, &'u str)> {
        let (first, _) = self.unread.first()?;
        if source == SourceId::UNKNOWN {
            return Some((source, &first.line));
        }
        let old = &self.old;
        let is_of = |(unread, _): &&(&Unread, SourceId)| {
            old.is_pattern(source, &unread.pattern)
                || unread.folder.as_deref().is_some_and(|folder| old.is_in(source, folder))
        };
        let (unread, id) = self.unread.iter().find(is_of)?;
        let left = match old.is_pattern(source, &unread.pattern) {
            true => *id,
            // Of the same folder, by a name that the pattern does not make.
            false => self.new.path(&old.path_of(source)?, unread.allowed),
        };
        Some((left, &unread.line))
    }
}
