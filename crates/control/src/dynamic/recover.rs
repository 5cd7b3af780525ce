//! What the log has at a start: each zone as it was acknowledged last.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use journal::anchor::Content;
use journal::log::Options;
use journal::{Body, Record, Recovery};
use wire::NameBuf;

use super::beginnings::Beginnings;
use super::changer::{Changer, wall};
use super::checkpoint::Floor;
use super::images::Images;
use super::repeats::{Reading, Repeats};
use super::replay::{Begun, Replay};
use super::shares::{Way, replay_on};
use super::zone::DynamicZone;
use crate::controller::Controller;
use crate::effort::Effort;
use crate::findings::Digest;
use crate::text::count;

/// The folder of the log, in that of packs.
const FOLDER: &str = "journal";

/// Where log and history of a folder of packs are.
pub(crate) fn journal_of(packs: &Path) -> PathBuf {
    packs.join(FOLDER)
}

/// Reads the log, shows what it has, and starts the changer; without a log where nothing can be stored. To be called when what packs have is shown, and before
/// anybody is answered. `are_listed`: the catalog has all zones that there are to be. The error: the log cannot be read at all.
pub(crate) fn start(controller: &Arc<Controller>, are_listed: bool) -> Result<(), String> {
    let started = begin(controller, are_listed);
    if started.is_ok() {
        controller.note_log_is_read();
    }
    started
}

/// Whether a folder of packs has a log.
pub(crate) fn has_log(packs: &Path) -> bool {
    packs.join(FOLDER).exists()
}

/// What a start found in the log.
pub(super) struct Found {
    pub(super) zones: HashMap<NameBuf, DynamicZone>,
    /// Zones of which nothing can be read: why.
    pub(super) lost: HashMap<NameBuf, String>,
    /// Zones that are no more.
    pub(super) removed: Vec<NameBuf>,
    /// Requests that may be made again.
    pub(super) repeats: Repeats,
    pub(super) recovery: Recovery,
    pub(super) floor: Floor,
}

fn begin(controller: &Arc<Controller>, are_listed: bool) -> Result<(), String> {
    let started = Instant::now();
    let Some((recovery, floor)) = read(controller)? else { return start_changer(controller, None) };
    let cannot = |error| format!("the log of changes cannot be read: {error}");
    let mut replay = Replay::new(controller, controller.historian.begin(controller, &recovery));
    let opened = started.elapsed();
    let folder = controller.folder().map(|folder| journal_of(folder.path())).unwrap_or_default();
    let mut images = Images::find(&folder, recovery.identity());
    let mut has_pack = |checksum| replay.packs().contains_key(&checksum);
    let beginnings = images.look_through(&recovery, &mut has_pack).map_err(cannot)?;
    let looked = started.elapsed();
    // Of a log that has lost something it is not known what the images are of.
    let is_whole = recovery.lost().is_empty();
    let mut loaded = if is_whole { images.load(&beginnings, replay.packs()) } else { HashMap::new() };
    let (from_images, put) = (loaded.len(), started.elapsed());
    let packs: HashSet<u64> = replay.packs().keys().copied().collect();
    let (mut again, mut repeats) = (Beginnings::default(), Reading::default());
    let mut way_of = |number, record: &Record<'_>| {
        let is_piece = again.look(record, &mut |checksum| packs.contains(&checksum));
        if let Body::Asked(asked) = &record.body {
            repeats.take(record, asked);
            return Way::Aside;
        }
        if beginnings.is_past(number, record) {
            return Way::Pass(is_piece);
        }
        if !loaded.is_empty() && record.body.is_change() {
            let name = record.zone.to_lowercase();
            if let Some(image) = loaded.get(&name)
                && beginnings.is_behind(number, &name)
            {
                let is_last = number == image.at;
                return Way::Imaged(is_piece, is_last.then(|| loaded.remove(&name)).flatten().map(Box::new));
            }
        }
        Way::Take
    };
    let rules = controller.dynamic.rules.get().cloned().unwrap_or_default();
    let threads = (recovery.octets() / rules.octets_a_thread) as usize;
    let threads = threads.min(Effort::all().threads());
    let mut replay = replay_on(threads, &recovery, replay, &mut way_of).map_err(cannot)?;
    let (octets, applied) = (recovery.octets(), started.elapsed());
    tracing::debug!(
        octets,
        from_images,
        "the log of changes: {octets} octets read in {} ms and looked through in {} ms, {from_images} zones from images in {} ms, changes applied in {} ms",
        opened.as_millis(),
        (looked - opened).as_millis(),
        (put - looked).as_millis(),
        (applied - put).as_millis()
    );
    controller.dynamic.from_images.store(from_images, Ordering::Relaxed);
    for lost in recovery.lost() {
        tracing::error!("the log of changes is damaged: {lost}");
    }
    replay.end(&recovery);
    let Replay { zones: begun, mut lost, rested, kept, .. } = replay;
    let (mut zones, mut removed) = (HashMap::with_capacity(begun.len()), Vec::new());
    for (name, Begun { mut zone, base }) in begun {
        // Who is in no list any more was taken out while there was no server, and may have been for some only.
        // The same of what a store had to say of a zone that is not its own any more.
        if are_listed && !controller.is_listed(&name) || controller.stores.was_taken(&name) {
            removed.push(name);
            continue;
        }
        let digest = controller.digest_of(&name);
        if digest == Digest::Require
            && !zone.newest().is_some_and(|zone| {
                controller.is_as_required((&name, !controller.is_secondary(&name)), &zone, digest)
            })
        {
            // What it was before comes from its pack, if that is as it has to be, and else anew.
            removed.push(name);
            continue;
        }
        if let Some(fault) = &zone.fault {
            tracing::error!(zone = %name, "zone {name}: {fault}; it is served as it was before, and not updated until `zonda ctl thaw --accept-loss {name}`");
            controller.set_fault(&name, Some(fault.clone()));
        }
        zone.is_in_memory = base.file.is_none();
        controller.show_recovered(&name, &base, || zone.show(&controller.catalog));
        zones.insert(name, zone);
    }
    for (name, fault) in &lost {
        tracing::error!(zone = %name, "zone {name}: {fault}; its changes are lost, it is served as it is stored, and not updated until `zonda ctl thaw --accept-loss {name}`");
        controller.set_fault(name, Some(fault.clone()));
    }
    lost.extend(controller.find_missing(&rested));
    let now = wall();
    for (name, _) in kept.iter().filter(|(_, kept)| kept.expires <= now) {
        // What has come from a store since has no age.
        let has_age = match are_listed {
            true => !controller.primaries_of(name).is_empty(),
            false => controller.has_no_text(name),
        };
        if has_age && controller.expire(name) && zones.remove(name).is_some() {
            // What comes next is not to be changed back by what the log has of it.
            removed.push(name.clone());
        }
    }
    controller.secondaries.set_kept(kept);
    if !zones.is_empty() {
        let changed = count(zones.len(), "zone");
        tracing::info!(
            zones = zones.len(),
            from_images,
            "{changed} as changed by updates, {from_images} of them from images, in {} ms",
            started.elapsed().as_millis()
        );
    }
    let repeats = repeats.end();
    start_changer(controller, Some(Found { zones, lost, removed, repeats, recovery, floor }))
}

fn start_changer(controller: &Arc<Controller>, found: Option<Found>) -> Result<(), String> {
    let changer = Changer::new(controller, found);
    controller.dynamic.start(changer).map_err(|error| format!("cannot start the changer: {error}"))
}

/// Reads the log. `None`: there can be none, as nothing is stored.
pub(super) fn read(controller: &Controller) -> Result<Option<(Recovery, Floor)>, String> {
    let Some(folder) = controller.folder().filter(|folder| folder.is_ours()) else { return Ok(None) };
    let path: PathBuf = journal_of(folder.path());
    let floor = Floor::open(folder.disk(), &path)
        .map_err(|error| format!("the log of changes cannot be read: {error}"))?;
    let start = floor.content().map(Content::start).unwrap_or_default();
    let options = Options { log_octets: controller.journal_octets, ..Options::default() };
    let recovery = Recovery::open(folder.disk(), &path, options, start);
    let recovery = recovery.map_err(|error| format!("the log of changes cannot be read: {error}"))?;
    Ok(Some((recovery, floor)))
}
