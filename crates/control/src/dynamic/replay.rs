//! The records of the log, one after another: what each zone begins from, and the changes since.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use journal::{Body, Entry, Record, Recovery};
use transfer::refresh::Kept;
use wire::NameBuf;
use zone::{Change, Records};

use super::base;
use super::images::Loaded;
use super::incoming::NO_AGE;
use super::origin::{Origin, Sums};
use super::shares::Way;
use super::zone::DynamicZone;
use crate::controller::Controller;
use crate::packs::StoredPack;

/// What was read so far.
pub(super) struct Replay<'c> {
    controller: &'c Controller,
    /// The first group that the history may not have.
    from: u64,
    /// Packs that are on the disk, by checksum, once any is asked for.
    packs: Option<HashMap<u64, Arc<StoredPack>>>,
    pub(super) zones: HashMap<NameBuf, Begun>,
    /// Zones that begin anew, and have not yet come to where they were.
    next: HashMap<NameBuf, Next>,
    /// Zones of which nothing can be read, or not what they begin from: why.
    pub(super) lost: HashMap<NameBuf, String>,
    /// Zones of which the log says that changes were lost, as a start before found: why. It holds until the log says that it does no more, or that there is no such
    /// zone: what they begin from is said anew without an end of that.
    said: HashMap<NameBuf, String>,
    /// Zones that are at rest, of which the log has nothing since: with which serial.
    pub(super) rested: HashMap<NameBuf, u32>,
    /// The group in which each had its last record.
    last: HashMap<NameBuf, u64>,
    /// Changes that the history must not have one by one.
    pieces: Pieces,
    sums: Sums,
    /// When zones of others were checked.
    pub(super) kept: HashMap<NameBuf, Kept>,
}

/// A zone, and the pack that it began from.
pub(super) struct Begun {
    pub(super) zone: DynamicZone,
    pub(super) base: Arc<StoredPack>,
}

/// A zone that begins anew: it takes the place of the other once it has the same serial, as what says so may be in more than one group, and the last
/// of these not on the disk.
struct Next {
    serial: u32,
    /// `None`: what it begins from is not there, or damaged.
    begun: Option<Begun>,
}

/// Zones of which one change comes in pieces, as it stands for many and is large: all but the last say that the serial stays. None of them alone leads from
/// one version to another.
#[derive(Default)]
struct Pieces(HashSet<NameBuf>);

impl Pieces {
    /// Whether the next change of a zone, with these serials before and after, is a piece of one.
    fn take(&mut self, zone: &NameBuf, (before, after): (u32, u32)) -> bool {
        if before == after {
            self.0.insert(zone.clone());
            return true;
        }
        !self.0.is_empty() && self.0.remove(zone)
    }
}

impl Begun {
    fn serial(&self) -> Option<u32> {
        Some(self.zone.newest()?.row().serial)
    }
}

impl<'c> Replay<'c> {
    pub(super) fn new(controller: &'c Controller, from: u64) -> Replay<'c> {
        let (zones, next, lost, said, last, pieces, sums, kept) = Default::default();
        let rested = HashMap::new();
        Replay { controller, from, packs: None, zones, next, lost, said, rested, last, pieces, sums, kept }
    }

    /// So many that have nothing yet, for the zones of which each is given all records.
    pub(super) fn shares(&mut self, count: usize) -> Vec<Replay<'c>> {
        let (controller, from, packs) = (self.controller, self.from, self.packs().clone());
        (0..count).map(|_| Replay { packs: Some(packs.clone()), ..Replay::new(controller, from) }).collect()
    }

    /// Takes what another has read, of other zones.
    pub(super) fn join(&mut self, other: Replay<'c>) {
        let Replay { zones, next, lost, said, rested, last, kept, .. } = other;
        self.zones.extend(zones);
        self.next.extend(next);
        self.lost.extend(lost);
        self.said.extend(said);
        self.rested.extend(rested);
        self.last.extend(last);
        self.kept.extend(kept);
    }

    /// Does with a record what is to be done with it.
    pub(super) fn step(&mut self, recovery: &Recovery, group: u64, way: Way, record: &Record<'_>) {
        match way {
            Way::Take => self.take(recovery, group, record),
            Way::Aside => {}
            Way::Pass(is_piece) => self.pass(group, record, is_piece),
            Way::Imaged(is_piece, image) => {
                self.pass_imaged(group, record, is_piece);
                if let Some(image) = image {
                    self.take_image(&record.zone.to_lowercase(), *image);
                }
            }
        }
    }

    fn take(&mut self, recovery: &Recovery, group: u64, record: &Record<'_>) {
        let name = record.zone.to_lowercase();
        let made = self.sums.next(&name, record);
        match record.body {
            Body::Contents(contents) => {
                let base = base::pack_of(record.zone, contents);
                let base = base.map(|pack| (Arc::new(StoredPack { pack, file: None }), 0));
                self.begin(&name, record.serial_after, base);
            }
            Body::Pack { number, checksum } => {
                let base = self.packs().get(&checksum).cloned().map(|pack| (pack, number as u32));
                self.begin(&name, record.serial_after, base);
            }
            Body::Difference { removed, added } => {
                let last = self.last.get(&name).copied().unwrap_or_default();
                let lost = recovery.suffers(record.zone, last).filter(|lost| lost.last < group);
                let fault = lost.map(|lost| format!("the log lost changes of it ({lost})"));
                let serials = (record.serial_before, record.serial_after);
                let is_piece = self.pieces.take(&name, serials);
                if !self.goes_to_next(&name, serials, fault.is_some(), (removed, added)) {
                    match self.zones.get_mut(&name).map(|begun| &mut begun.zone) {
                        Some(zone) if zone.fault.is_some() => return,
                        Some(zone) => {
                            zone.fault = fault.or_else(|| apply(zone, serials.0, removed, added).err())
                        }
                        None => {
                            let none =
                                || "the log has changes of it, and not what they begin from".to_owned();
                            self.lost.entry(name.clone()).or_insert_with(|| fault.unwrap_or_else(none));
                        }
                    }
                    if !is_piece && self.zones.get(&name).is_some_and(|begun| begun.zone.fault.is_none()) {
                        self.say_again(group, record);
                    }
                }
                if let (Some(sum), Some(begun)) = (made, self.zones.get_mut(&name)) {
                    begun.zone.say(Some(Origin { group, sum }));
                }
            }
            // It is served as packs have it. That changes of it were lost holds on: who has said so takes that back.
            Body::AtRest { .. } => {
                self.rests(&name);
                self.rested.insert(name.clone(), record.serial_after);
            }
            // Its age stays: it may be that it came as a whole.
            Body::Removed => {
                self.zones.remove(&name);
                self.next.remove(&name);
                self.lost.remove(&name);
                self.rested.remove(&name);
                self.said.remove(&name);
                self.say_again(group, record);
            }
            Body::Damaged(fault) => self.hear(&name, fault),
            Body::Checked { time, expiry } => {
                let kept = Kept { checked: time, expires: time.saturating_add(expiry.into()) };
                match kept == NO_AGE {
                    true => drop(self.kept.remove(&name)),
                    false => drop(self.kept.insert(name, kept)),
                }
                return;
            }
            // Whoever reads the log has taken it.
            Body::Asked(_) => return,
        }
        self.last.insert(name, group);
    }

    /// The log has nothing more of a zone.
    fn rests(&mut self, name: &NameBuf) {
        self.zones.remove(name);
        self.next.remove(name);
        self.lost.remove(name);
        self.pieces.0.remove(name);
    }

    pub(super) fn packs(&mut self) -> &HashMap<u64, Arc<StoredPack>> {
        self.packs.get_or_insert_with(|| self.controller.packs_by_checksum())
    }

    /// The log says that changes of a zone were lost, or without words that this was accepted.
    fn hear(&mut self, name: &NameBuf, fault: &[u8]) {
        match fault.is_empty() {
            true => drop(self.said.remove(name)),
            false => drop(self.said.insert(name.clone(), String::from_utf8_lossy(fault).into_owned())),
        }
    }

    /// A record that what comes later stands for: the history may need it. `is_piece`: it is part of what a zone begins from.
    fn pass(&mut self, group: u64, record: &Record<'_>, is_piece: bool) {
        let name = record.zone.to_lowercase();
        match record.body {
            Body::Difference { .. } if !is_piece => self.say_again(group, record),
            Body::Removed => {
                self.said.remove(&name);
                self.say_again(group, record);
            }
            Body::Damaged(fault) => self.hear(&name, fault),
            _ => {}
        }
        self.last.insert(name, group);
    }

    /// A record that an image of its zone has.
    fn pass_imaged(&mut self, group: u64, record: &Record<'_>, is_piece: bool) {
        let serials = (record.serial_before, record.serial_after);
        let is_change = matches!(record.body, Body::Difference { .. });
        let is_piece = is_change && self.pieces.take(&record.zone.to_lowercase(), serials) || is_piece;
        self.pass(group, record, is_piece);
    }

    /// The log has come to where an image of a zone is.
    fn take_image(&mut self, name: &NameBuf, loaded: Loaded) {
        if let Some(begun) = self.zones.get_mut(name) {
            begun.zone.take_image(loaded);
        }
    }

    /// A zone begins anew.
    fn begin(&mut self, name: &NameBuf, serial: u32, base: Option<(Arc<StoredPack>, u32)>) {
        let begun = base.and_then(|(base, number)| {
            let mut zone = DynamicZone::new(Arc::clone(&base.pack), number)?;
            zone.is_based = true;
            Some(Begun { zone, base })
        });
        let serial = begun.as_ref().and_then(Begun::serial).unwrap_or(serial);
        self.next.remove(name);
        self.rested.remove(name);
        self.pieces.0.remove(name);
        match (self.zones.get(name).and_then(Begun::serial), begun) {
            (Some(now), begun) if now != serial => {
                drop(self.next.insert(name.clone(), Next { serial, begun }))
            }
            (_, Some(begun)) => {
                self.lost.remove(name);
                self.zones.insert(name.clone(), begun);
            }
            // It is the same as what is there.
            (Some(_), None) => {}
            (None, None) => {
                let why = "what its changes in the log begin from is not there";
                self.lost.insert(name.clone(), why.to_owned());
            }
        }
    }

    /// Applies a change to a zone that begins anew, if it is of that.
    fn goes_to_next(
        &mut self,
        name: &NameBuf,
        (before, after): (u32, u32),
        is_lost: bool,
        (removed, added): (&[u8], &[u8]),
    ) -> bool {
        let Some(next) = self.next.get_mut(name) else { return false };
        if next.serial != before {
            // It was not said to the end.
            self.next.remove(name);
            return false;
        }
        let is_applied =
            |begun: &mut Begun| !is_lost && apply(&mut begun.zone, before, removed, added).is_ok();
        next.begun = next.begun.take().and_then(|mut begun| is_applied(&mut begun).then_some(begun));
        next.serial = after;
        let is_there = self.zones.get(name).and_then(Begun::serial) == Some(after);
        if is_there && let Some(Next { begun: Some(begun), .. }) = self.next.remove(name) {
            self.zones.insert(name.clone(), begun);
        }
        true
    }

    /// Tells the history what it may not have.
    fn say_again(&self, group: u64, record: &Record<'_>) {
        if group < self.from {
            return;
        }
        let Record { zone, serial_before, serial_after, time, body, .. } = *record;
        if let Ok(version) = Entry::new(zone, serial_before, serial_after, time, body) {
            self.controller.historian.again(group, version);
        }
    }

    /// There are no more records: whose last ones are lost is known now.
    pub(super) fn end(&mut self, recovery: &Recovery) {
        for (name, begun) in self.zones.iter_mut().filter(|(_, begun)| begun.zone.fault.is_none()) {
            let last = self.last.get(name).copied().unwrap_or_default();
            let lost = recovery.suffers(name, last);
            begun.zone.fault = lost.map(|lost| format!("the log lost changes of it ({lost})"));
        }
        if !recovery.lost().is_empty() {
            self.find_nameless(recovery);
        }
        for (name, fault) in std::mem::take(&mut self.said) {
            match self.zones.get_mut(&name) {
                Some(begun) => drop(begun.zone.fault.get_or_insert(fault)),
                None => drop(self.lost.entry(name).or_insert(fault)),
            }
        }
    }
}

impl Replay<'_> {
    /// Zones of which the log has nothing else than that it lost changes of them. Where it cannot say of which zones it lost some the history may: it has versions
    /// that these groups made. Other zones without any record are taken to have had none: else some lost groups would stop all zones that were never changed.
    fn find_nameless(&mut self, recovery: &Recovery) {
        let Replay { controller, zones, lost, last, .. } = self;
        controller.for_each_name(|name| {
            let name = name.to_lowercase();
            let group = last.get(&name).copied().unwrap_or_default();
            let of_history = || {
                let historian = &controller.historian;
                recovery.unnamed(group).find(|lost| historian.has_version_of(&name, lost.first..=lost.last))
            };
            if !zones.contains_key(&name)
                && let Some(groups) = recovery.is_named(&name, group).or_else(of_history)
            {
                lost.entry(name).or_insert_with(|| format!("the log lost changes of it ({groups})"));
            }
        });
    }
}

/// Applies what the log says has changed. The error: it does not fit what is there.
fn apply(zone: &mut DynamicZone, serial_before: u32, removed: &[u8], added: &[u8]) -> Result<(), String> {
    let records = |octets: &[u8]| Records::from_octets(octets.to_vec()).map_err(|error| error.to_string());
    let change =
        Change::new(records(removed)?, records(added)?).map_err(|_| "a change without SOA".to_owned())?;
    let serial = zone.newest().ok_or("its pack cannot be read")?.row().serial;
    if change.serial_before() != serial || serial_before != serial {
        return Err(format!(
            "the log has a change of serial {}, and it has {serial}",
            change.serial_before()
        ));
    }
    zone.apply(&change).map_err(|refused| format!("a change in the log does not fit: {refused:?}"))?;
    zone.replayed();
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What stands for many in pieces is no version; the change behind it is.
    #[test]
    fn pieces_are_no_versions() {
        let mut pieces = Pieces::default();
        let [one, other]: [NameBuf; 2] = ["one.test".parse().unwrap(), "other.test".parse().unwrap()];
        let mut take = |zone, before, after| pieces.take(zone, (before, after));
        assert!(!take(&one, 1, 2));
        assert!(take(&one, 2, 2) && take(&one, 2, 2));
        assert!(!take(&other, 5, 6));
        assert!(take(&one, 2, 9), "the last");
        assert!(!take(&one, 9, 10));
    }
}
