//! What the log has at a start: each zone as it was acknowledged last.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use journal::anchor::Content;
use journal::disk::System;
use journal::log::Options;
use journal::{Body, Record, Recovery};
use transfer::refresh::Kept;
use wire::NameBuf;
use zone::{Change, Pack, Records};

use super::base;
use super::changer::{Changer, wall};
use super::checkpoint::Floor;
use super::zone::DynamicZone;
use crate::controller::Controller;
use crate::packs::StoredPack;
use crate::text::count;

/// The folder of the log, in that of packs.
const FOLDER: &str = "journal";

/// Reads the log, shows what it has, and starts the changer; nothing where nothing can be stored. To be called when what packs have is shown, and before
/// anybody is answered. `are_listed`: the catalog has all zones that there are to be. The error: the log cannot be read at all.
pub(crate) fn start(controller: &Arc<Controller>, are_listed: bool) -> Result<(), String> {
    let started = start_now(controller, are_listed);
    controller.set_log_unread(false);
    controller.remove_unused_files();
    started
}

fn start_now(controller: &Arc<Controller>, are_listed: bool) -> Result<(), String> {
    let Some((recovery, floor)) = read(controller)? else { return Ok(()) };
    let mut replay = Replay::new(controller);
    recovery
        .replay(&mut |group, record| replay.take(&recovery, group, record))
        .map_err(|error| format!("the log of changes cannot be read: {error}"))?;
    for lost in recovery.lost() {
        tracing::error!("the log of changes is damaged: {lost}");
    }
    replay.end(&recovery);
    let Replay { mut zones, kept, lost, packs, .. } = replay;
    let mut removed = Vec::new();
    for (name, zone) in &mut zones {
        // Who is in no list any more was taken out while there was no server, and may have been for some only.
        if are_listed && !controller.is_listed(name) {
            removed.push(name.clone());
            continue;
        }
        let stored = packs.as_ref().and_then(|packs| packs.get(&zone.pack().checksum()));
        if let Some(before) = zone.show(&controller.catalog) {
            controller.note_recovered(before, zone.pack(), stored);
        }
    }
    removed.iter().for_each(|name| drop(zones.remove(name)));
    for (name, fault) in
        zones.iter().filter_map(|(name, zone)| Some((name, zone.fault.as_ref()?))).chain(&lost)
    {
        tracing::error!(zone = %name, "zone {name}: {fault}; it is served as it was before, and not updated");
    }
    let now = wall();
    for (name, _) in kept.iter().filter(|(_, kept)| kept.expires <= now) {
        controller.expire(name);
    }
    controller.secondaries.set_kept(kept);
    if !zones.is_empty() {
        let changed = count(zones.len(), "zone");
        tracing::info!(zones = zones.len(), "{changed} as changed by updates");
    }
    let found = Found { zones, lost, removed, recovery, floor };
    let changer = Changer::new(controller, found);
    controller.dynamic.start(changer).map_err(|error| format!("cannot start the changer: {error}"))
}

/// What a start found in the log.
pub(super) struct Found {
    pub(super) zones: HashMap<NameBuf, DynamicZone>,
    /// Zones of which nothing can be read: why.
    pub(super) lost: HashMap<NameBuf, String>,
    /// Zones that are no more.
    pub(super) removed: Vec<NameBuf>,
    pub(super) recovery: Recovery,
    pub(super) floor: Floor,
}

/// Reads the log. `None`: there can be none, as nothing is stored.
pub(super) fn read(controller: &Controller) -> Result<Option<(Recovery, Floor)>, String> {
    let Some(folder) = controller.folder().filter(|folder| folder.is_ours()) else { return Ok(None) };
    let path: PathBuf = folder.path().join(FOLDER);
    let floor = Floor::open(&path).map_err(|error| format!("the log of changes cannot be read: {error}"))?;
    let start = floor.content().map(Content::start).unwrap_or_default();
    let options = Options { log_octets: controller.journal_octets, ..Options::default() };
    let recovery = Recovery::open(Arc::new(System), &path, options, start);
    let recovery = recovery.map_err(|error| format!("the log of changes cannot be read: {error}"))?;
    Ok(Some((recovery, floor)))
}

struct Replay<'c> {
    controller: &'c Controller,
    /// Packs that are on the disk, by checksum, once any is asked for.
    packs: Option<HashMap<u64, Arc<StoredPack>>>,
    zones: HashMap<NameBuf, DynamicZone>,
    /// See [`Found`].
    lost: HashMap<NameBuf, String>,
    /// The group in which each had its last record.
    last: HashMap<NameBuf, u64>,
    /// When zones of others were checked.
    kept: HashMap<NameBuf, Kept>,
}

impl<'c> Replay<'c> {
    fn new(controller: &'c Controller) -> Replay<'c> {
        let (zones, lost, last, kept) = Default::default();
        Replay { controller, packs: None, zones, lost, last, kept }
    }

    fn take(&mut self, recovery: &Recovery, group: u64, record: &Record<'_>) {
        let name = record.zone.to_lowercase();
        match record.body {
            Body::Contents(contents) => {
                self.begin(&name, base::pack_of(record.zone, contents).map(|pack| (pack, 0)))
            }
            Body::Pack { number, checksum } => {
                let packs = self.packs.get_or_insert_with(|| self.controller.packs_by_checksum());
                let pack = packs.get(&checksum).map(|stored| Arc::clone(&stored.pack));
                self.begin(&name, pack.map(|pack| (pack, number as u32)));
            }
            Body::Difference { removed, added } => {
                let last = self.last.get(&name).copied().unwrap_or_default();
                let lost = recovery.suffers(record.zone, last).filter(|lost| lost.last < group);
                let lost = lost.map(|lost| format!("the log lost changes of it ({lost})"));
                match self.zones.get_mut(&name) {
                    Some(zone) if zone.fault.is_some() => return,
                    Some(zone) => {
                        zone.fault = match lost {
                            Some(lost) => Some(lost),
                            None => apply(zone, record.serial_before, removed, added).err(),
                        }
                    }
                    None => {
                        let none = || "the log has changes of it, and not what they begin from".to_owned();
                        self.lost.entry(name.clone()).or_insert_with(|| lost.unwrap_or_else(none));
                    }
                }
            }
            // Its age stays: it may be that it came as a whole.
            Body::Removed => {
                self.zones.remove(&name);
                self.lost.remove(&name);
            }
            Body::Damaged(fault) => {
                let fault = String::from_utf8_lossy(fault).into_owned();
                match self.zones.get_mut(&name) {
                    Some(zone) => zone.fault = Some(fault),
                    None => drop(self.lost.insert(name.clone(), fault)),
                }
            }
            Body::Checked { time, expiry } => {
                let expires = time.saturating_add(expiry.into());
                self.kept.insert(name, Kept { checked: time, expires });
                return;
            }
        }
        self.last.insert(name, group);
    }

    /// A zone begins anew.
    fn begin(&mut self, name: &NameBuf, pack: Option<(Arc<Pack>, u32)>) {
        match pack.and_then(|(pack, number)| DynamicZone::new(pack, number)) {
            Some(mut zone) => {
                zone.is_based = true;
                self.zones.insert(name.clone(), zone);
                self.lost.remove(name);
            }
            None => {
                self.zones.remove(name);
                self.lost.insert(name.clone(), "what its changes in the log begin from is not there".into());
            }
        }
    }

    /// There are no more records: whose last ones are lost is known now.
    fn end(&mut self, recovery: &Recovery) {
        for (name, zone) in self.zones.iter_mut().filter(|(_, zone)| zone.fault.is_none()) {
            let last = self.last.get(name).copied().unwrap_or_default();
            let lost = recovery.suffers(name, last);
            zone.fault = lost.map(|lost| format!("the log lost changes of it ({lost})"));
        }
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
