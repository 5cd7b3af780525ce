//! What has changed in zones, of one turn: all that came at once goes to the changer together.
//!
//! ```text
//! frames of one read of the pair --> changes, each of another zone --> each looked at, apart from what is served
//!     --> their marks: noted under one lock, in the file by one write --> changer, in the order in which they came
//! ```
//!
//! A mark is in the file before anybody can serve its version. The second change of a zone begins another turn: it is looked at once the first is the changer's, and unless that is served by
//! then all of the zone is asked for, as it leads on from what nobody has. A feeder has one of each zone on its way.

use std::collections::HashSet;
use std::sync::Arc;

use feed::frame::{Frame, Version};
use wire::{Name, NameBuf};
use zone::Change;

use super::check::Before;
use super::outcome::Outcome;
use super::session::Session;
use crate::dynamic::{Incoming, Told, What};
use crate::findings::Digest;
use crate::joined::one;

/// Changes of a turn, and octets of them: as many as a feeder reads at a time. The first waits until the last is looked at, which is some milliseconds; with fewer each costs more.
pub(super) const TURN_MAX: (usize, usize) = (256, 4 << 20);

/// What has changed in a zone.
pub(super) struct Coming {
    pub(super) zone: NameBuf,
    pub(super) from: Version,
    pub(super) to: Version,
    pub(super) changes: Vec<Change>,
}

impl Coming {
    fn octets(&self) -> usize {
        self.changes.iter().map(Change::octets).sum()
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Turn {
    coming: Vec<Coming>,
    zones: HashSet<NameBuf>,
    octets: usize,
}

impl Turn {
    /// Whether it goes to the changer before this one comes.
    fn is_over_before(&self, coming: &Coming) -> bool {
        self.coming.len() >= TURN_MAX.0 || self.octets >= TURN_MAX.1 || self.zones.contains(&coming.zone)
    }

    fn push(&mut self, coming: Coming) {
        self.octets += coming.octets();
        self.zones.insert(coming.zone.clone());
        self.coming.push(coming);
    }
}

impl Session {
    /// Takes what has changed in a zone, to go to the changer with the turn.
    pub(super) fn take_changes(&mut self, coming: Coming) {
        // What came of it before goes before.
        if !self.batch.is_empty() {
            self.flush();
        }
        self.join_turn(coming);
    }

    /// The same of what a zone that came as a whole has others than before.
    pub(super) fn join_turn(&mut self, coming: Coming) {
        if self.turn.is_over_before(&coming) {
            self.end_turn();
        }
        self.turn.push(coming);
    }

    /// Hands to the changer what has come.
    pub(super) fn end_turn(&mut self) {
        let Turn { coming, .. } = std::mem::take(&mut self.turn);
        if coming.is_empty() {
            return;
        }
        let controller = Arc::clone(&self.controller);
        // Who hands over to another server waits until all of it is the changer's.
        let _serving = controller.stores.serving.read();
        if controller.upgrade.handed_to().is_some() {
            return;
        }
        let lead_on = self.lead_on(&coming);
        let looked: Vec<(Coming, Told)> = coming
            .into_iter()
            .zip(lead_on)
            .filter_map(|(coming, leads_on)| self.look(coming, leads_on))
            .collect();
        self.hand_over(looked);
    }

    /// Of each whether it is of this store's, and leads on from what is served.
    fn lead_on(&self, coming: &[Coming]) -> Vec<bool> {
        let controller = &self.controller;
        let served = controller.serials_of(coming.iter().map(|coming| &*coming.zone));
        let lead_on = controller.stores.with(self.key, |store, owned, followed| {
            let leads_on = |(coming, served): (&Coming, Option<u32>)| {
                let Coming { zone, from, .. } = coming;
                store.owns(owned, zone)
                    && served == Some(from.serial)
                    && followed.mark(zone, from.serial) == Some(from.mark)
            };
            coming.iter().zip(served).map(leads_on).collect()
        });
        // The settings have no such store any more.
        lead_on.unwrap_or_else(|| vec![false; coming.len()])
    }

    /// What can be served as far as is known before the changer has it, and who hears from that; else the feeder is told what comes of it.
    fn look(&self, coming: Coming, leads_on: bool) -> Option<(Coming, Told)> {
        let (controller, zone) = (&self.controller, coming.zone.clone());
        // The digest of a zone is looked at with all of it, and all of it mends one of which the log has lost changes.
        let is_wanted_whole = || {
            controller.digest_of(&zone) != Digest::Ignore
                || controller.fault_of(&zone.to_lowercase()).is_some()
        };
        if !leads_on || is_wanted_whole() {
            self.reply(Frame::Whole(zone));
            return None;
        }
        // It keeps to that by itself, unless it was taken over: what waits for the changer is to have room for what others ask for.
        if !self.under_way.has_room() {
            self.reply(Frame::Refused(zone));
            return None;
        }
        let octets = coming.octets();
        match self.try_changes(&zone, coming.changes) {
            Ok(changes) => {
                let told = self.told(&zone, (coming.from, coming.to), octets);
                Some((Coming { changes, ..coming }, told))
            }
            Err(None) => {
                self.about(|about| about.unled.insert(zone.clone()));
                self.reply(Frame::Whole(zone));
                None
            }
            Err(Some(why)) => {
                self.refused(zone, why);
                None
            }
        }
    }

    /// Looks what changes make of the zone, apart from what is served. Where a version on the way cannot be served they are one change. The error: why what they lead to
    /// cannot be served; none: they do not fit.
    fn try_changes(&self, zone: &Name, changes: Vec<Change>) -> Result<Vec<Change>, Option<String>> {
        match self.look_at(zone, &changes) {
            Ok(()) => Ok(changes),
            Err(Some(_)) if changes.len() > 1 => {
                let change = [one(changes).ok_or(None)?];
                self.look_at(zone, &change).map(|()| change.into())
            }
            Err(why) => Err(why),
        }
    }

    fn look_at(&self, zone: &Name, changes: &[Change]) -> Result<(), Option<String>> {
        let mut apart = self.controller.apart(zone).ok_or(None)?;
        for change in changes {
            let before = Before::of(&apart.newest(), change)?;
            apart.apply(change).map_err(|_| None)?;
            before.check(&apart.newest(), change)?;
        }
        Ok(())
    }

    /// Who hears from the changer.
    fn told(&self, zone: &Name, (from, to): (Version, Version), octets: usize) -> Told {
        let (under_way, tell, own) = (Arc::clone(&self.under_way), self.tell.clone(), zone.to_owned());
        under_way.add(octets);
        let told = Told::new(move |result| {
            under_way.take(octets);
            // The feeder may be gone, and hears at its next start what is served.
            tell.outcome(Outcome { zone: own, from, to, result });
        });
        let (stores, key, zone) = (Arc::clone(&self.controller.stores), self.key, zone.to_owned());
        told.while_wanted(move || stores.is_of(key, &zone))
    }

    /// Has the file have the marks of all that is to be served, and then the changer have that. Of zones that are another owner's by now nothing is noted, and nothing comes.
    fn hand_over(&self, looked: Vec<(Coming, Told)>) {
        let controller = &self.controller;
        let noted = controller.stores.with(self.key, |store, owned, followed| {
            let note = |(Coming { zone, from, to, .. }, _): &(Coming, Told)| {
                let is_ours = store.owns(owned, zone);
                if is_ours {
                    followed.note((zone, Some(from.serial)), (to.serial, to.mark));
                }
                is_ours
            };
            looked.iter().map(note).collect::<Vec<bool>>()
        });
        // What is dropped is told that it is not served.
        let Some(noted) = noted.filter(|noted| noted.contains(&true)) else { return };
        controller.stores.keep_followed(controller.place_of_stores().as_ref());
        for ((Coming { zone, changes, .. }, told), is_ours) in looked.into_iter().zip(noted) {
            if is_ours {
                controller.catalogs.coming(&zone, &changes);
                let what = What::Changes(changes, told);
                controller.dynamic.incoming(Incoming { zone: zone.to_lowercase(), what });
            }
        }
    }
}
