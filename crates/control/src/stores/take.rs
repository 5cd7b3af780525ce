//! Zones that a feeder pushes as a whole are served: by packs of many, or by what has changed in them ([`super::turn`]).

use std::sync::Arc;
use std::time::Instant;

use feed::frame::{Frame, Version};
use wire::NameBuf;
use zone::{Change, Contents};

use super::Done;
use super::batch::{BATCH_MAX, Batch, Whole};
use super::session::Session;
use super::turn::Coming;
use crate::controller::Act;
use crate::findings::{Digest, examine_transferred};
use crate::joined::pack;
use crate::load::store;
use crate::read::ZoneText;
use crate::text::{count, grouped};

/// Zones that are entered within one batch of the catalog.
const ZONES_A_BATCH: usize = 1_000;

/// What becomes of a zone that came as a whole.
enum Verdict {
    /// It is served.
    Serve,
    /// This leads to it from what is served.
    Change(Version, Change),
    /// It is what is served.
    Same,
    /// What is served is newer, or another version of that serial.
    Back,
    /// What is served cannot be looked at now.
    Later,
    /// It is not served, for this reason.
    Refuse(String),
}

impl Session {
    /// Takes all of a zone, to be served with others.
    pub(super) fn take_whole(
        &mut self,
        (zone, to): (NameBuf, Version),
        (contents, out_of_zone): (Contents, u64),
        octets: usize,
    ) {
        let text = ZoneText::transferred(contents, &format_args!("store {}", self.key.0), out_of_zone);
        let digest = self.controller.digest_of(&zone);
        let anchors = if digest == Digest::Ignore { Arc::default() } else { self.controller.anchors() };
        match examine_transferred(&text, (digest, &anchors)) {
            Ok(findings) => {
                if !self.batch.names.insert(zone.clone()) {
                    self.flush();
                    self.batch.names.insert(zone.clone());
                }
                self.batch.since.get_or_insert_with(Instant::now);
                self.batch.octets += octets;
                self.reply(Frame::Arrived(zone.clone()));
                self.batch.zones.push(Whole { zone, to, text, findings });
            }
            Err((_, lines)) => self.refused(zone, lines.into_iter().next().unwrap_or_default()),
        }
    }

    /// Serves all that has come: what has changed in zones, and then those that came as a whole.
    pub(super) fn flush(&mut self) {
        self.end_turn();
        let Batch { zones, .. } = std::mem::take(&mut self.batch);
        if zones.is_empty() {
            return;
        }
        for ((zone, to), from, change) in self.serve_whole(zones) {
            self.join_turn(Coming { zone, from, to, changes: vec![change] });
        }
        self.end_turn();
    }

    /// Serves zones that came as a whole; what is to be served by what leads to it is returned.
    fn serve_whole(&mut self, zones: Vec<Whole>) -> Vec<((NameBuf, Version), Version, Change)> {
        let controller = Arc::clone(&self.controller);
        // In this order, in which who hands over takes them too; and with both, as no such one may be in between.
        let changing = controller.change();
        let _serving = controller.stores.serving.read();
        if controller.upgrade.handed_to().is_some() {
            return Vec::new();
        }
        let (mut serving, mut changed, mut same) = (Vec::with_capacity(zones.len()), Vec::new(), Vec::new());
        let mut entering = 0;
        let verdicts: Vec<Verdict> = zones.iter().map(|whole| self.verdict(whole, &mut entering)).collect();
        for (whole, verdict) in zones.into_iter().zip(verdicts) {
            match verdict {
                Verdict::Serve => serving.push(whole),
                Verdict::Change(from, change) => changed.push(((whole.zone, whole.to), from, change)),
                Verdict::Same => same.push((whole.zone, whole.to)),
                Verdict::Back => {
                    self.went_back(&whole.zone, whole.to.serial);
                    self.reply(Frame::Refused(whole.zone));
                }
                Verdict::Later => self.reply(Frame::Refused(whole.zone)),
                Verdict::Refuse(why) => self.refused(whole.zone, why),
            }
        }
        self.are_served(same);
        self.enter(&serving);
        drop(changing);
        let number = serving.len();
        let last = serving.last().map(|whole| (whole.zone.clone(), whole.to.serial));
        self.serve(serving);
        match last {
            Some((zone, serial)) if number == 1 => {
                tracing::info!(%zone, serial, "zone {zone}: serial {serial} from store {}, all of it", self.key.0);
            }
            Some(_) => tracing::info!(
                zones = number,
                "{} from store {}, all of each",
                count(number, "zone"),
                self.key.0
            ),
            None => {}
        }
        crate::serve::tidy_on_a_thread(&controller);
        changed
    }

    /// What is to become of a zone; while nobody else makes a change. `entering`: zones before it that the store did not have.
    fn verdict(&self, whole: &Whole, entering: &mut usize) -> Verdict {
        let Whole { zone, to, .. } = whole;
        let controller = &self.controller;
        let is_ours = controller.stores.with(self.key, |store, owned, _| {
            let held = store.number.map_or(0, |number| owned.count(number));
            let is_full = (held + *entering >= store.terms.zones_max).then_some(store.terms.zones_max);
            (store.owns(owned, zone), owned.of(zone).is_some(), is_full)
        });
        match is_ours {
            Some((true, ..)) => {}
            Some((false, true, _)) => return Verdict::Refuse("another store has it".into()),
            None => return Verdict::Refuse("the settings have no such store any more".into()),
            Some((false, false, is_full)) => {
                if let Some(catalog) = controller.member_of(zone) {
                    return Verdict::Refuse(format!("it is a member of catalog {catalog}, which was first"));
                }
                if controller.made.has(zone) {
                    return Verdict::Refuse("it was made over the API".into());
                }
                if controller.taken()(zone) {
                    return Verdict::Refuse("the settings or a command have it".into());
                }
                if let Some(max) = is_full {
                    let max = grouped(max as u64);
                    return Verdict::Refuse(format!("the store has {max} zones, which is its `zones-max`"));
                }
                *entering += 1;
            }
        }
        match controller.serial_of(zone) {
            None => Verdict::Serve,
            Some(serial) if serial == to.serial => match self.is_same(whole) {
                Some(true) => Verdict::Same,
                Some(false) => Verdict::Back,
                None => Verdict::Later,
            },
            Some(serial) if change::serial::is_greater(to.serial, serial) => self
                .lead(whole, serial)
                .map_or(Verdict::Serve, |(from, change)| Verdict::Change(from, change)),
            Some(_) => Verdict::Back,
        }
    }

    /// Enters zones that are new, once it is on the disk whose they are.
    fn enter(&self, serving: &[Whole]) {
        let served = self.controller.serials_of(serving.iter().map(|whole| &*whole.zone));
        let entered = self.controller.stores.with(self.key, |store, owned, followed| {
            for (whole, served) in serving.iter().zip(served) {
                followed.note((&whole.zone, served), (whole.to.serial, whole.to.mark));
            }
            let number = store.number?;
            let new = serving.iter().map(|whole| &whole.zone).filter(|zone| owned.of(zone) != Some(number));
            let new: Vec<NameBuf> = new.cloned().collect();
            owned.add(number, new.iter().map(|zone| &**zone));
            Some((new, store.source))
        });
        let Some((new, source)) = entered.flatten() else { return };
        let place = self.controller.place_of_stores();
        self.controller.stores.keep_followed(place.as_ref());
        self.controller.stores.keep_owned(place.as_ref());
        let mut said = self.controller.said_of_store();
        for some in new.chunks(ZONES_A_BATCH) {
            let acts: Vec<(NameBuf, Act)> =
                some.iter().map(|zone| (zone.clone(), Act::Add(source))).collect();
            self.controller.carry_out(&acts, &mut said);
        }
        said.end();
    }

    /// Puts zones into packs, which are stored before anybody sees them, and serves them.
    fn serve(&self, zones: Vec<Whole>) {
        let controller = &self.controller;
        let folder = controller.writable_folder();
        let mut rest = zones;
        while !rest.is_empty() {
            let packed = pack(rest.iter().map(|whole| (&whole.text.contents, &whole.findings)), BATCH_MAX.1);
            let later = rest.split_off(packed.taken);
            let stored = packed.pack.map(|pack| store(folder, pack));
            let mut served = Vec::with_capacity(rest.len());
            for (Whole { zone, to, findings, .. }, number) in rest.into_iter().zip(packed.numbers) {
                let is_served = stored.as_ref().zip(number).is_some_and(|(pack, number)| {
                    controller.take_transferred(
                        (&zone, Some(self.key.0)),
                        (Arc::clone(pack), number),
                        findings,
                        true,
                    )
                });
                match is_served {
                    true => served.push((zone, to)),
                    false => self
                        .refused(zone, "it cannot be put into a pack, or is another owner's by now".into()),
                }
            }
            self.are_served(served);
            rest = later;
        }
    }

    /// Notes that these versions are served, and has their feeder be told.
    fn are_served(&self, served: Vec<(NameBuf, Version)>) {
        if served.is_empty() {
            return;
        }
        let done = self.controller.stores.with(self.key, |store, _, followed| {
            let mut done = Vec::new();
            for (zone, to) in &served {
                // Of one that is the same the mark was not known.
                followed.note((zone, None), (to.serial, to.mark));
                done.extend(store.about.served(zone, to.serial));
            }
            done
        });
        done.unwrap_or_default().into_iter().for_each(Done::tell);
        self.controller.stores.keep_followed(self.controller.place_of_stores().as_ref());
        served.into_iter().for_each(|(zone, to)| self.reply(Frame::Served(zone, to)));
    }
}
