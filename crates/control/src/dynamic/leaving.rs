//! Zones that are served no more as they had changed: the log says so, or the next start would show them again.

use std::sync::Arc;

use journal::{Body, Entry};
use wire::{Name, NameBuf};

use super::changer::{Changer, wall};
use super::group::Payload;
use super::handle::Leaving;
use super::log::Log;
use super::zone::DynamicZone;

impl Changer {
    /// Knows a zone no more that is not served as it had been; the log says so with the next group, or later where it cannot be written.
    pub(super) fn drop_zone(&mut self, name: &Name) {
        let zone = self.zones.remove(name);
        // It has not changed, or is not to be kept.
        let is_of_log = |zone: &DynamicZone| !zone.is_passing && (zone.is_based || zone.is_published());
        if !zone.as_ref().is_some_and(is_of_log) {
            return;
        }
        let serial = zone.and_then(|zone| Some(zone.newest()?.row().serial)).unwrap_or_default();
        if !self.write_gone(name, serial) {
            self.gone.entry(name.to_owned()).or_default();
        }
    }

    /// Has the log say of zones that went that they did. Where it cannot be written that is tried again each turn.
    pub(super) fn leave(&mut self) {
        let leaving = self.controller.dynamic.take_leaving();
        for zone in &leaving {
            let of_log = self.zones.get(&zone.zone).is_some_and(|zone| !zone.is_passing);
            if of_log || self.lost.contains_key(&zone.zone) || self.controller.fault_of(&zone.zone).is_some()
            {
                self.gone.entry(zone.zone.clone()).or_default();
            }
            if zone.is_replaced && self.zones.get(&zone.zone).is_some_and(|zone| !zone.is_waiting()) {
                self.zones.remove(&zone.zone);
            }
        }
        if !self.gone.is_empty() && self.open_log().is_ok() {
            let unsaid = self.gone.iter().filter(|(_, is_queued)| !**is_queued);
            let names: Vec<NameBuf> = unsaid.map(|(name, _)| name.clone()).collect();
            let is_any = names.iter().filter(|name| self.say_gone(name)).count() > 0;
            if is_any {
                self.commit();
            }
        }
        for Leaving { zone, done, .. } in leaving {
            if let Some(done) = done {
                // Who waited may have gone on.
                let _ = done.try_send(!self.gone.contains_key(&zone));
            }
        }
    }

    /// Has the log say that a zone went, unless it is there and the log has what it begins from: nothing of before is left then. Says whether anything waits
    /// for the disk now.
    fn say_gone(&mut self, name: &NameBuf) -> bool {
        let mut serial = 0;
        if let Some(zone) = self.zones.get_mut(name) {
            if zone.is_waiting() {
                return false;
            }
            serial = zone.newest().map(|zone| zone.row().serial).unwrap_or_default();
            match (zone.is_shown(&self.controller.catalog), zone.is_based) {
                (true, true) => {
                    self.gone.remove(name);
                    return false;
                }
                (true, false) => {}
                (false, _) => drop(self.zones.remove(name)),
            }
        }
        self.write_gone(name, serial)
    }

    /// Has the log say that a zone went. False: it cannot.
    pub(super) fn write_gone(&mut self, name: &Name, serial: u32) -> bool {
        let Log::Open(open) = &self.log else { return false };
        let Ok(entry) = Entry::new(name, serial, serial, wall(), Body::Removed) else { return false };
        let generation = open.committer.generation();
        let payload = Payload::Gone(name.to_owned());
        if open.committer.enqueue(generation, Some(Arc::new(entry)), payload).is_err() {
            return false;
        }
        self.lost.remove(name);
        // What was lost of it is nobody's any more.
        if self.controller.fault_of(name).is_some() {
            self.controller.set_fault(name, None);
        }
        self.gone.insert(name.to_owned(), true);
        true
    }
}
