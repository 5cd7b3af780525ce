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
use crate::text::count;

/// The folder of the log, in that of packs.
const FOLDER: &str = "journal";

/// Reads the log, shows what it has, and starts the changer; nothing where nothing can be stored. To be called when what packs have is shown, and before
/// anybody is answered. The error: the log cannot be read at all.
pub(crate) fn start(controller: &Arc<Controller>) -> Result<(), String> {
    let Some((recovery, floor)) = read(controller)? else { return Ok(()) };
    let mut replay = Replay { controller, packs: None, zones: HashMap::new(), kept: HashMap::new() };
    recovery
        .replay(&mut |group, record| replay.take(&recovery, group, record))
        .map_err(|error| format!("the log of changes cannot be read: {error}"))?;
    for lost in recovery.lost() {
        tracing::error!("the log of changes is damaged: {lost}");
    }
    let (mut zones, kept) = (replay.zones, replay.kept);
    for zone in zones.values_mut() {
        if let Some(fault) = &zone.fault {
            tracing::error!(zone = %zone.name(), "zone {}: {fault}; it is served as it was before, and not updated until `zonda ctl thaw --accept-loss`", zone.name());
            controller.set_fault(zone.name(), Some(fault.clone()));
        }
        if let Some(is_new) = zone.show(&controller.catalog) {
            controller.note_recovered(is_new, zone.pack());
        }
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
    packs: Option<HashMap<u64, Arc<Pack>>>,
    zones: HashMap<NameBuf, DynamicZone>,
    /// When zones of others were checked.
    kept: HashMap<NameBuf, Kept>,
}

impl Replay<'_> {
    fn take(&mut self, recovery: &Recovery, group: u64, record: &Record<'_>) {
        let name = record.zone.to_lowercase();
        match record.body {
            Body::Contents(contents) => {
                self.begin(name, base::pack_of(record.zone, contents).map(|pack| (pack, 0)))
            }
            Body::Pack { number, checksum } => {
                let packs = self.packs.get_or_insert_with(|| self.controller.packs_by_checksum());
                let pack = packs.get(&checksum).cloned();
                self.begin(name, pack.map(|pack| (pack, number as u32)));
            }
            Body::Difference { removed, added } => {
                let Some(zone) = self.zones.get_mut(&name).filter(|zone| zone.fault.is_none()) else {
                    return;
                };
                let lost = recovery.suffers(record.zone, group.saturating_sub(1));
                zone.fault = lost.map(|lost| format!("the log lost changes of it ({lost})"));
                if zone.fault.is_none() {
                    zone.fault = apply(zone, record.serial_before, removed, added).err();
                }
            }
            // Its age stays: it may be that it came as a whole.
            Body::Removed => drop(self.zones.remove(&name)),
            Body::Checked { time, expiry } => {
                let expires = time.saturating_add(expiry.into());
                self.kept.insert(name, Kept { checked: time, expires });
            }
        }
    }

    /// A zone begins anew.
    fn begin(&mut self, name: NameBuf, pack: Option<(Arc<Pack>, u32)>) {
        let zone = pack.and_then(|(pack, number)| DynamicZone::new(pack, number));
        match zone {
            Some(mut zone) => {
                zone.is_based = true;
                self.zones.insert(name, zone);
            }
            None => {
                tracing::error!(zone = %name, "zone {name}: what its changes in the log begin from is not there; they are lost, and it is served as it is stored");
                self.zones.remove(&name);
            }
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
