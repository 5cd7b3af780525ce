//! Zones that a store has no more, or older ones of: they stay until it is clear that this is meant.

use std::time::{Duration, Instant};

use feed::frame::Frame;
use wire::NameBuf;

use super::session::Session;
use super::{Stands, StoreName};
use crate::controller::{Act, Controller};
use crate::text::count;

/// How long a zone that went back is served as it was: a database that was put back may be put back once more, or its followers be behind for a moment.
pub(super) const SETTLE: Duration = Duration::from_secs(30);
/// Zones that are removed within one batch of the catalog.
const ZONES_A_BATCH: usize = 1_000;

impl Session {
    /// A zone of the store is older than what is served, or another version of that serial. It is told again and again; the time counts from the first.
    pub(super) fn went_back(&self, zone: &NameBuf, serial: u32) {
        let is_new = self.about(|about| {
            let is_new = !about.back.contains_key(zone);
            about.back.entry(zone.clone()).or_insert_with(Instant::now);
            is_new
        });
        if is_new != Some(true) || !self.may_say() {
            return;
        }
        match self.terms.powerdns {
            None => {
                tracing::warn!(%zone, serial, "zone {zone}: store {} went back: it has serial {serial}, or another version of it, and what is served stays for {} s", self.key.0, SETTLE.as_secs())
            }
            Some(_) => {
                tracing::warn!(%zone, serial, "zone {zone}: store {} has other records, and serial {serial}, which is not greater than the one that is served: that stays until it has a greater one", self.key.0)
            }
        }
    }

    /// A look is over.
    pub(super) fn looked(&mut self) {
        self.flush();
        let gone = std::mem::take(&mut self.gone);
        self.about(|about| {
            about.gone.extend(gone);
            if !matches!(about.stands, Stands::Away(..)) {
                about.stands = Stands::Following;
            }
        });
        self.weigh();
    }

    /// Lets zones go that are gone, and those that went back be served as they are, as far as that is not more than may be.
    pub(super) fn weigh(&self) {
        let seconds = self.controller.stores.seconds();
        let weighed = self.controller.stores.with(self.key, |store, owned, _| {
            let held = store.number.map_or(0, |number| owned.count(number));
            let about = &mut store.about;
            // Of those that went back the ones that have done so for long enough; none of a store that cannot be written, as it gives them no other serials.
            let (now, may_raise) = (Instant::now(), !about.is_read_only);
            let is_settled = |since: &Instant| may_raise && now.saturating_duration_since(*since) >= SETTLE;
            let losses = about.gone.len() + about.back.values().filter(|since| is_settled(since)).count();
            if losses == 0 || about.losses.allow(store.terms.remove_max, losses, held, seconds) {
                about.waits = false;
                let gone: Vec<NameBuf> = std::mem::take(&mut about.gone).into_iter().collect();
                let back =
                    about.back.extract_if(|_, since| is_settled(since)).map(|(zone, _)| zone).collect();
                return Ok((gone, back));
            }
            Err((!std::mem::replace(&mut about.waits, true), losses, held))
        });
        match weighed {
            Some(Ok((gone, back))) => self.controller.let_go(self.key, gone, back),
            Some(Err((true, losses, held))) => {
                let name = self.key.0;
                tracing::error!(
                    losses,
                    "store {name}: {losses} of its {held} zones are gone or went back, which is more than `remove-max` lets go in an hour; they are served as they were until `zonda ctl store confirm {name}`"
                );
            }
            Some(Err(_)) | None => {}
        }
    }
}

impl Controller {
    /// Serves zones of a store no more, and has others, that went back, get a version above what is served.
    pub(super) fn let_go(&self, key: (StoreName, u64), gone: Vec<NameBuf>, back: Vec<NameBuf>) {
        let tell = self.stores.with(key, |store, _, _| store.about.tell.clone()).flatten();
        let reply = |frame: Frame| tell.iter().for_each(|tell| tell.say(frame.clone()));
        for zone in back {
            let serial = self.serial_of(&zone).unwrap_or_default();
            tracing::warn!(%zone, serial, "zone {zone}: store {} went back, and gets a version above serial {serial}", key.0);
            reply(Frame::Raise(zone, serial));
        }
        if gone.is_empty() {
            return;
        }
        let _changing = self.change();
        let _serving = self.stores.serving.read();
        if self.upgrade.handed_to().is_some() {
            return;
        }
        let lost = self.stores.with(key, |store, owned, followed| {
            let lost: Vec<NameBuf> = gone.into_iter().filter(|zone| store.owns(owned, zone)).collect();
            owned.strike(lost.iter().map(|zone| &**zone));
            followed.strike(lost.iter().map(|zone| &**zone));
            for zone in &lost {
                store.about.refused.remove(zone);
                store.about.without.remove(zone);
            }
            lost
        });
        let lost = lost.unwrap_or_default();
        let place = self.place_of_stores();
        self.stores.keep_owned(place.as_ref());
        self.stores.keep_followed(place.as_ref());
        let mut said = self.said_of_store();
        for some in lost.chunks(ZONES_A_BATCH) {
            let acts: Vec<(NameBuf, Act)> = some.iter().map(|zone| (zone.clone(), Act::Remove)).collect();
            self.carry_out(&acts, &mut said);
        }
        said.end();
        tracing::info!(
            zones = lost.len(),
            "{} of store {} served no more, as it has them no more",
            count(lost.len(), "zone"),
            key.0
        );
        lost.into_iter().for_each(|zone| reply(Frame::Left(zone)));
    }
}
