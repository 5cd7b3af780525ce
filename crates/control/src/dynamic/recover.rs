//! What the log has at a start: each zone as it was acknowledged last.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::anchor::Content;
use journal::disk::System;
use journal::log::Options;
use journal::{Body, Record, Recovery};
use transfer::refresh::Kept;
use wire::NameBuf;
use zone::{Change, Records};

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
/// anybody is answered. The error: the log cannot be read at all.
pub(crate) fn start(controller: &Arc<Controller>) -> Result<(), String> {
    let started = begin(controller);
    if started.is_ok() {
        controller.note_log_is_read();
    }
    started
}

/// Whether a folder of packs has a log.
pub(crate) fn has_log(packs: &Path) -> bool {
    packs.join(FOLDER).exists()
}

fn begin(controller: &Arc<Controller>) -> Result<(), String> {
    let Some((recovery, floor)) = read(controller)? else { return Ok(()) };
    let mut replay = Replay::new(controller);
    recovery
        .replay(&mut |group, record| replay.take(&recovery, group, record))
        .map_err(|error| format!("the log of changes cannot be read: {error}"))?;
    for lost in recovery.lost() {
        tracing::error!("the log of changes is damaged: {lost}");
    }
    replay.say_missing();
    let kept = replay.kept;
    let mut zones = HashMap::with_capacity(replay.zones.len());
    for (name, Begun { mut zone, base }) in replay.zones {
        if let Some(fault) = &zone.fault {
            tracing::error!(zone = %name, "zone {name}: {fault}; it is served as it was before, and not updated");
        }
        zone.is_in_memory = base.file.is_none();
        controller.show_recovered(&name, &base, || zone.show(&controller.catalog));
        zones.insert(name, zone);
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
    controller
        .dynamic
        .start(Changer::new(controller, zones, (recovery, floor)))
        .map_err(|error| format!("cannot start the changer: {error}"))
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
    zones: HashMap<NameBuf, Begun>,
    /// Zones that begin anew, and have not yet come to where they were.
    next: HashMap<NameBuf, Next>,
    /// Zones whose beginning is not there.
    missing: HashSet<NameBuf>,
    /// When zones of others were checked.
    kept: HashMap<NameBuf, Kept>,
}

/// A zone, and the pack that it began from.
struct Begun {
    zone: DynamicZone,
    base: Arc<StoredPack>,
}

/// A zone that begins anew: it takes the place of the other once it has the same serial, as what says so may be in more than one group, and the last
/// of these not on the disk.
struct Next {
    serial: u32,
    /// `None`: what it begins from is not there, or damaged.
    begun: Option<Begun>,
}

impl Begun {
    fn serial(&self) -> Option<u32> {
        Some(self.zone.newest()?.row().serial)
    }
}

impl<'c> Replay<'c> {
    fn new(controller: &'c Controller) -> Replay<'c> {
        let (zones, next, missing, kept) = Default::default();
        Replay { controller, packs: None, zones, next, missing, kept }
    }

    fn take(&mut self, recovery: &Recovery, group: u64, record: &Record<'_>) {
        let name = record.zone.to_lowercase();
        match record.body {
            Body::Contents(contents) => {
                let base = base::pack_of(record.zone, contents);
                let base = base.map(|pack| (Arc::new(StoredPack { pack, file: None }), 0));
                self.begin(name, record.serial_after, base);
            }
            Body::Pack { number, checksum } => {
                let packs = self.packs.get_or_insert_with(|| self.controller.packs_by_checksum());
                let base = packs.get(&checksum).cloned().map(|pack| (pack, number as u32));
                self.begin(name, record.serial_after, base);
            }
            Body::Difference { removed, added } => {
                let lost = recovery.suffers(record.zone, group.saturating_sub(1));
                let fault = lost.map(|lost| format!("the log lost changes of it ({lost})"));
                let serials = (record.serial_before, record.serial_after);
                if !self.goes_to_next(&name, serials, fault.is_some(), (removed, added)) {
                    let Some(begun) = self.zones.get_mut(&name).filter(|begun| begun.zone.fault.is_none())
                    else {
                        return;
                    };
                    begun.zone.fault =
                        fault.or_else(|| apply(&mut begun.zone, serials.0, removed, added).err());
                }
            }
            // Its age stays: it may be that it came as a whole.
            Body::Removed => {
                self.zones.remove(&name);
                self.next.remove(&name);
                self.missing.remove(&name);
            }
            Body::Checked { time, expiry } => {
                let expires = time.saturating_add(expiry.into());
                self.kept.insert(name, Kept { checked: time, expires });
            }
        }
    }

    /// A zone begins anew.
    fn begin(&mut self, name: NameBuf, serial: u32, base: Option<(Arc<StoredPack>, u32)>) {
        let begun = base.and_then(|(base, number)| {
            let mut zone = DynamicZone::new(Arc::clone(&base.pack), number)?;
            zone.is_based = true;
            Some(Begun { zone, base })
        });
        let serial = begun.as_ref().and_then(Begun::serial).unwrap_or(serial);
        self.next.remove(&name);
        match (self.zones.get(&name).and_then(Begun::serial), begun) {
            (Some(now), begun) if now != serial => drop(self.next.insert(name, Next { serial, begun })),
            (_, Some(begun)) => {
                self.missing.remove(&name);
                self.zones.insert(name, begun);
            }
            // It is the same as what is there.
            (Some(_), None) => {}
            (None, None) => drop(self.missing.insert(name)),
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

    fn say_missing(&self) {
        for name in self.missing.iter().filter(|name| !self.zones.contains_key(*name)) {
            tracing::error!(zone = %name, "zone {name}: what its changes in the log begin from is not there; they are lost, and it is served as it is stored");
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
