//! What a feeder pushes is served: differences by the changer, zones as a whole by packs of many.

use std::sync::Arc;
use std::time::Instant;

use feed::frame::{Frame, Version};
use wire::{Name, NameBuf};
use zone::{Change, Contents};

use super::batch::{BATCH_MAX, Batch, Whole};
use super::check::Before;
use super::session::Session;
use crate::controller::Act;
use crate::dynamic::{Incoming, NotTaken, Told, What};
use crate::findings::{Digest, examine_transferred};
use crate::joined::{one, pack};
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

fn octets_of(change: &Change) -> usize {
    change.removed().octets().len() + change.added().octets().len()
}

impl Session {
    /// Takes what has changed in a zone.
    pub(super) fn take_changes(
        &mut self,
        zone: NameBuf,
        (from, to): (Version, Version),
        changes: Vec<Change>,
    ) {
        // What came of it before goes before.
        self.flush();
        let controller = &self.controller;
        let served = controller.serial_of(&zone);
        let is_ours = controller.stores.with(self.key, |store, owned, followed| {
            store.owns(owned, &zone)
                && served == Some(from.serial)
                && followed.mark(&zone, from.serial) == Some(from.mark)
        });
        // The digest of a zone is looked at with all of it, and all of it mends one of which the log has lost changes.
        let is_wanted_whole = || {
            controller.digest_of(&zone) != Digest::Ignore
                || controller.fault_of(&zone.to_lowercase()).is_some()
        };
        if is_ours != Some(true) || is_wanted_whole() {
            return self.reply(Frame::Whole(zone));
        }
        // It keeps to that by itself, unless it was taken over: what waits for the changer is to have room for what others ask for.
        let octets = changes.iter().map(octets_of).sum();
        if !self.under_way.has_room() {
            return self.reply(Frame::Refused(zone));
        }
        let changes = match self.try_changes(&zone, changes) {
            Err(None) => {
                self.about(|about| about.unled.insert(zone.clone()));
                return self.reply(Frame::Whole(zone));
            }
            Err(Some(why)) => return self.refused(zone, why),
            Ok(changes) => changes,
        };
        let _serving = controller.stores.serving.read();
        if controller.upgrade.handed_to().is_some() {
            return;
        }
        controller
            .stores
            .with(self.key, |_, _, followed| followed.note((&zone, served), (to.serial, to.mark)));
        controller.stores.keep_followed(controller.place_of_stores().as_ref());
        controller.catalogs.coming(&zone, &changes);
        let told = self.told(&zone, (from, to), octets);
        let what = What::Changes(changes, told);
        controller.dynamic.incoming(Incoming { zone: zone.to_lowercase(), what });
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
        let under_way = Arc::clone(&self.under_way);
        under_way.add(octets);
        let (tell, key, zone) = (self.tell.clone(), self.key, zone.to_owned());
        let stores = Arc::clone(&self.controller.stores);
        let wanted = (Arc::clone(&stores), zone.clone());
        let told = Told::new(move |result| {
            under_way.take(octets);
            let frame = match result {
                Ok(()) => {
                    let (serial, before) = (to.serial, from.serial);
                    stores.with(key, |store, _, _| store.about.served(&zone, serial));
                    tracing::info!(%zone, serial, "zone {zone}: serial {serial} from store {}, was {before}", key.0);
                    Frame::Served(zone, to)
                }
                Err(NotTaken::DoesNotFit) => {
                    stores.with(key, |store, _, _| store.about.unled.insert(zone.clone()));
                    Frame::Whole(zone)
                }
                Err(NotTaken::NotNow) => Frame::Refused(zone),
            };
            // The feeder may be gone, and hears at its next start what is served.
            tell.say(frame);
        });
        let is_ours = move || {
            let (stores, zone) = &wanted;
            stores.with(key, |store, owned, _| store.owns(owned, zone)) == Some(true)
        };
        told.while_wanted(is_ours)
    }

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

    /// Serves the zones that have come as a whole.
    pub(super) fn flush(&mut self) {
        let Batch { zones, .. } = std::mem::take(&mut self.batch);
        if zones.is_empty() {
            return;
        }
        for ((zone, to), from, change) in self.serve_whole(zones) {
            self.take_changes(zone, (from, to), vec![change]);
        }
    }

    /// The same; what is to be served by what leads to it is returned.
    fn serve_whole(&mut self, zones: Vec<Whole>) -> Vec<((NameBuf, Version), Version, Change)> {
        let controller = Arc::clone(&self.controller);
        // In this order, in which who hands over takes them too; and with both, as no such one may be in between.
        let changing = controller.change();
        let _serving = controller.stores.serving.read();
        if controller.upgrade.handed_to().is_some() {
            return Vec::new();
        }
        let (mut serving, mut changed) = (Vec::with_capacity(zones.len()), Vec::new());
        let mut entering = 0;
        let verdicts: Vec<Verdict> = zones.iter().map(|whole| self.verdict(whole, &mut entering)).collect();
        for (whole, verdict) in zones.into_iter().zip(verdicts) {
            match verdict {
                Verdict::Serve => serving.push(whole),
                Verdict::Change(from, change) => changed.push(((whole.zone, whole.to), from, change)),
                Verdict::Same => self.is_served(&whole.zone, whole.to),
                Verdict::Back => {
                    self.went_back(&whole.zone, whole.to.serial);
                    self.reply(Frame::Refused(whole.zone));
                }
                Verdict::Later => self.reply(Frame::Refused(whole.zone)),
                Verdict::Refuse(why) => self.refused(whole.zone, why),
            }
        }
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
        let served: Vec<Option<u32>> =
            serving.iter().map(|whole| self.controller.serial_of(&whole.zone)).collect();
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
                    true => self.is_served(&zone, to),
                    false => self
                        .refused(zone, "it cannot be put into a pack, or is another owner's by now".into()),
                }
            }
            rest = later;
        }
    }

    fn is_served(&self, zone: &Name, to: Version) {
        self.controller.stores.with(self.key, |store, _, followed| {
            // Of one that is the same the mark was not known.
            followed.note((zone, None), (to.serial, to.mark));
            store.about.served(zone, to.serial);
        });
        self.controller.stores.keep_followed(self.controller.place_of_stores().as_ref());
        self.reply(Frame::Served(zone.to_owned(), to));
    }
}
