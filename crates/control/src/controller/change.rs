//! One change: zones are loaded, and what came of each is shown to workers and kept.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wire::{Name, NameBuf};
use zone::ZoneView;
use zone::catalog::{CatalogView, Group, SlotNumber, View, ViewSource};

use super::arrange::Candidate;
use super::by_parts::{COMPARED_MAX, Compared};
use super::edited::Beside;
use super::held::{Kind, is_large};
use super::said::{Became, By, Said, ZONES_LOGGED_MAX, event};
use super::zones::{Rare, Zones};
use super::{Changing, Controller};
use crate::effort::Effort;
use crate::findings::{Digest, Room, Told};
use crate::load::{Job, Loaded, Loader, Origin, Outcome, SMALL_PACK_OCTETS};
use crate::packs::{PackFolder, Stored};
use crate::progress::{Act, Progress};
use crate::sources::Source;
use crate::wanted::{Wanted, WantedZones};

/// What a change did.
#[derive(Debug, Default)]
pub struct Change {
    /// Zones loaded anew.
    pub loaded: usize,
    /// Zones whose files had not changed.
    pub unchanged: usize,
    /// Zones that were not served before the change, the broken ones included.
    pub added: usize,
    /// Zones that are no longer served.
    pub removed: usize,
    /// Zones that could not be loaded: what was served of them before still is.
    pub failed: Vec<NameBuf>,
    /// What is wrong, as lines, and what is merely odd.
    pub errors: Vec<String>,
    /// What is merely odd, as lines.
    pub warnings: Vec<String>,
    pub(crate) said: Said,
    /// What was found in zones and is said of them.
    pub(crate) told: Told,
    /// Zones whose texts are others and that have changed in place since.
    pub(crate) beside: Vec<Beside>,
}

impl Change {
    /// A change that has done nothing yet.
    pub(super) fn new(by: By) -> Change {
        Change { said: Said::new(by), ..Change::default() }
    }
}

/// Which zones a change looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All: each whose files have changed is loaded again.
    All,
    /// All, whether their files have changed or not.
    Force,
    /// Those that are new or come from elsewhere now.
    New,
}

/// Zones that are taken within one batch of the catalog and one hold of the lock: less than a millisecond.
const ZONES_A_BATCH: usize = 1000;

/// Texts that are read at a time of zones that have changed beside them: each is in a pack of its own until what was edited is taken in.
const EDITS_A_BATCH: usize = 256;

/// How long publishing waits for readers before it is said.
const ROOM_WAIT: Duration = Duration::from_secs(1);

impl Controller {
    /// Changes the set of zones to `wanted` and loads those that `scope` covers and that have changed.
    /// `changing`: proof that nobody else makes a change.
    pub(crate) fn apply(
        &self,
        changing: &mut Changing,
        wanted: WantedZones,
        scope: Scope,
        progress: &Progress,
    ) -> Change {
        let mut change = Change::new(By::Reload);
        progress.begin(Act::Arranging, wanted.len());
        let candidates = self.arrange(changing, wanted, true, &mut change);
        self.load_changed(&candidates, scope, progress, &mut change, true);
        change.said.end();
        self.secondaries.look();
        change
    }

    /// Loads those of `candidates` that `scope` covers and that have changed.
    pub(super) fn load_changed(
        &self,
        candidates: &[Candidate],
        scope: Scope,
        progress: &Progress,
        change: &mut Change,
        keep_small: bool,
    ) {
        let jobs = self.look(candidates, scope, progress);
        change.unchanged = candidates.len() - jobs.len();
        self.load(&jobs, &Stored::default(), progress, change, keep_small);
        self.zones.write().packs.drop_unused();
        self.remove_unused_files();
    }

    /// Looks again at some zones, those that there are. Costs these alone.
    pub(crate) fn look_again(
        &self,
        _changing: &mut Changing,
        names: &[&Name],
        scope: Scope,
        by: By,
    ) -> Change {
        let candidates: Vec<Candidate> = names.iter().filter_map(|name| self.candidate(name)).collect();
        let (mut change, progress) = (Change::new(by), Progress::default());
        progress.show_while(|| {
            let jobs = self.look(&candidates, scope, &progress);
            change.unchanged = candidates.len() - jobs.len();
            self.load(&jobs, &Stored::default(), &progress, &mut change, true);
        });
        change.said.end();
        change
    }

    /// Serves one more zone, if it can be loaded. There is none of that name.
    #[cfg(test)]
    pub(crate) fn add(&self, changing: &mut Changing, name: &Name, source: &Source) -> Change {
        self.add_wanted(changing, &Wanted { name: name.to_owned(), source: source.clone(), listing: None })
    }

    /// Serves one more zone, if it can be loaded. There is none of that name.
    pub(crate) fn add_wanted(&self, _changing: &mut Changing, wanted: &Wanted) -> Change {
        let Wanted { name, source, listing } = wanted;
        let (mut change, progress) = (Change { added: 1, ..Change::new(By::Command) }, Progress::default());
        let jobs = [Job {
            id: 0,
            name: name.clone(),
            source: source.clone(),
            refuse: self.zones.read().refuse.severity(),
            digest: Digest::Ignore,
        }];
        self.await_zone(name, source, listing.as_ref());
        progress.show_while(|| self.load(&jobs, &Stored::default(), &progress, &mut change, true));
        if !change.failed.is_empty() {
            // It has not come, and so does not go.
            self.take_out(name, &mut Said::default());
        }
        self.recursion.iter().for_each(|recursion| recursion.zones_changed());
        change.said.end();
        change
    }

    /// Serves a zone no longer.
    pub(crate) fn remove(&self, _changing: &mut Changing, name: &Name) {
        let mut said = Said::new(By::Command);
        self.take_out(name, &mut said);
        self.recursion.iter().for_each(|recursion| recursion.zones_changed());
        said.end();
    }

    fn take_out(&self, name: &Name, said: &mut Said) {
        let slot = {
            let mut zones = self.zones.write();
            zones.awaited.remove(&name.to_lowercase());
            self.catalog.reader().with(|view| zones.slot(view, name))
        };
        self.remove_slots(&Vec::from_iter(slot), said);
        self.arrange_awaited(&mut self.zones.write());
        self.is_untidy.store(true, Ordering::SeqCst);
        self.secondaries.look_at(vec![name.to_owned()]);
    }

    /// Loads zones and takes what comes of them.
    pub(super) fn load(
        &self,
        jobs: &[Job],
        stored: &Stored,
        progress: &Progress,
        change: &mut Change,
        keep_small: bool,
    ) {
        let (effort, folder) = (self.effort(), self.writable_folder());
        let loader = Loader {
            effort,
            folder,
            stored,
            progress,
            keep_small,
            anchors: self.anchors(),
            room: Room::default(),
        };
        change.told.begin(jobs.len());
        let mut take = |outcomes| self.take_all(jobs, outcomes, (stored, effort), change);
        // What these have been changed by is in their packs alone: no pack of the folder is to have their texts, which a start would take for what is newest.
        let beside = self.jobs_beside(jobs);
        {
            let _making = self.make_packs();
            let is_beside = |job: &&Job| beside.binary_search(&job.id).is_ok();
            match beside.is_empty() {
                true => loader.load(jobs, &mut take),
                false => {
                    let others: Vec<Job> = jobs.iter().filter(|job| !is_beside(job)).cloned().collect();
                    loader.load(&others, &mut take);
                }
            }
        }
        let apart = Loader { folder: None, ..loader };
        for some in beside.chunks(EDITS_A_BATCH) {
            let making = self.make_packs();
            let mut take = |outcomes| self.take_all(jobs, outcomes, (stored, effort), change);
            apart.load_each(some.iter().map(|id| &jobs[*id]), &mut take);
            drop(making);
            self.take_edits(change);
        }
        self.take_edits(change);
        change.told.end(&mut change.warnings);
        // Also of what an earlier change left to be stored.
        change.warnings.extend(self.writable_folder().and_then(PackFolder::failure));
    }

    /// Takes what came of jobs.
    fn take_all(
        &self,
        jobs: &[Job],
        outcomes: Vec<(usize, Outcome)>,
        (stored, effort): (&Stored, Effort),
        change: &mut Change,
    ) {
        let (sound, broken): (Vec<_>, Vec<_>) =
            outcomes.into_iter().partition(|(_, outcome)| outcome.is_ok());
        let mut sound = sound.into_iter().filter_map(|(id, outcome)| Some((&jobs[id], outcome.ok()?)));
        loop {
            let batch: Vec<(&Job, Loaded)> = sound.by_ref().take(ZONES_A_BATCH).collect();
            if batch.is_empty() {
                break;
            }
            self.make_room();
            let compared = match jobs.len() <= COMPARED_MAX {
                true => self.compare(&batch, effort),
                false => Vec::new(),
            };
            let mut compared = compared.into_iter();
            let mut zones = self.zones.write();
            for (job, loaded) in batch {
                self.take(&mut zones, job, loaded, compared.next().flatten(), change);
            }
            drop(zones);
            change.said.tell();
            change.told.tell(&mut change.warnings);
        }
        let mut zones = self.zones.write();
        // Data where there were none can hide zones below.
        self.arrange_awaited(&mut zones);
        for (id, outcome) in broken {
            self.take_last_good(&mut zones, &jobs[id].name, stored);
            self.take_broken(&mut zones, &jobs[id], outcome, change);
        }
        self.is_untidy.store(true, Ordering::SeqCst);
        drop(zones);
        self.remove_unused_files();
    }

    /// Numbers of the jobs whose zones have been changed since their texts were read.
    fn jobs_beside(&self, jobs: &[Job]) -> Vec<usize> {
        let mut beside = Vec::new();
        for batch in jobs.chunks(ZONES_A_BATCH) {
            let zones = self.zones.read();
            self.catalog.reader().with(|view| {
                let is_beside = |job: &&Job| zones.mark_of_changed(view, &job.name).is_some();
                beside.extend(batch.iter().filter(is_beside).map(|job| job.id));
            });
        }
        beside.sort_unstable();
        beside
    }

    /// Waits until garbage of the catalog is less than its bounds; with a reader that does not move on that can be long.
    pub(crate) fn make_room(&self) {
        let domain = self.catalog.domain();
        if domain.wait_for_room(Instant::now() + ROOM_WAIT) {
            return;
        }
        tracing::warn!("a worker does not come to the end of its batch; changes of zones wait for it");
        while !domain.wait_for_room(Instant::now() + ROOM_WAIT) {}
    }

    /// Shows a zone that was loaded. `compared`: see [`Controller::compare`].
    pub(super) fn take(
        &self,
        zones: &mut Zones,
        job: &Job,
        loaded: Loaded,
        compared: Option<Compared>,
        change: &mut Change,
    ) {
        let pack = &loaded.pack.pack;
        if !pack.apex(&pack.zone_row(loaded.number)).is_some_and(|(name, _)| name.eq_ignore_case(&job.name)) {
            let line = format!("{}: was written into while it was read", job.source);
            return self.take_broken(zones, job, Err(vec![line]), change);
        }
        let mut reader = self.catalog.reader();
        // What a primary sent as a whole is what is served from now on, whatever the zone was.
        if !matches!(job.source, Source::Primaries(_))
            && let Some(mark) = reader.with(|view| zones.mark_of_changed(view, &job.name))
        {
            let is_same = loaded.origin == Origin::Stored || (mark != 0 && loaded.stamp.mark == mark);
            // A start must not take it for what is newest.
            zones.packs.add_unused(&loaded.pack);
            match is_same {
                true => change.unchanged += 1,
                false => change.beside.push(Beside { job: job.clone(), loaded }),
            }
            return;
        }
        drop(reader);
        if self.dynamic.is_running() {
            self.look_for_missing(zones, job);
        }
        self.take_whole(zones, job, loaded, compared, change);
    }

    /// The same, whatever is served of it.
    pub(super) fn take_whole(
        &self,
        zones: &mut Zones,
        job: &Job,
        loaded: Loaded,
        compared: Option<Compared>,
        change: &mut Change,
    ) {
        let pack = &loaded.pack.pack;
        let mut reader = self.catalog.reader();
        let (slot, old) = reader.with(|view| {
            let slot = zones.slot(view, &job.name);
            let old = slot.map(|slot| warn(zones, view, slot, job, &loaded, change));
            (slot, old)
        });
        if !are_known(zones, slot, job, &loaded) {
            change.told.zone(&job.name, &loaded.findings);
        }
        let became = match &old {
            Some(Old { pack: Some(_), .. }) => Became::Changed,
            _ => Became::Loaded,
        };
        let serials = (Some(pack.zone_row(loaded.number).serial), old.as_ref().and_then(|old| old.serial));
        let is_stored = loaded.origin == Origin::Stored;
        // Who asked the primary says which, and how much came.
        if !matches!(job.source, Source::Primaries(_)) {
            change.said.zone(became, &job.name, serials, is_stored, || Some(job.source.to_string()));
        }
        // Stored, it is what was served before; what is not to be kept has no history.
        let is_passing = loaded.origin == Origin::Passing;
        let leads_on = self.historian.is_kept() && !is_stored && !is_passing;
        let before = slot.filter(|slot| leads_on && self.is_followed(zones, *slot, &job.name));
        let before = before.and_then(|slot| reader.with(|view| view.keep(slot)));
        let source = ViewSource::Pack(
            zones.packs.hold(&self.catalog, &loaded.pack, self.kind_of(&loaded)),
            loaded.number,
        );
        zones.gone.remove(&job.name);
        let awaited = match zones.awaited.is_empty() {
            true => None,
            false => zones.awaited.remove(&job.name.to_lowercase()),
        };
        let file =
            awaited.map_or_else(|| slot.map(|slot| zones.kept(slot).source), |awaited| Some(awaited.source));
        let group = file.map_or(Group::default(), |file| zones.sources.group(file));
        let is_named = old.as_ref().is_some_and(|old| old.is_named);
        let place = slot.map(|slot| (slot, is_named, compared));
        let is_lost = old.as_ref().is_some_and(|old| old.is_lost);
        let slot = match is_lost {
            // In its place, as no name can be read there.
            true => self.catalog.insert(&[(&*job.name, source)])[0],
            false => self.show(zones, place, (&job.name, group), source),
        };
        if leads_on {
            self.historian.replaced(&job.name, before, pack, loaded.number);
        } else if is_passing {
            self.historian.begin_anew(&job.name);
        }
        match old.and_then(|old| old.pack) {
            Some(old) => zones.packs.replace(old, pack.id()),
            None => {
                zones.packs.add(pack.id());
                zones.loaded += 1;
            }
        }
        let kept = zones.kept_mut(slot);
        if let Some(file) = file {
            kept.source = file;
        }
        kept.contents = loaded.contents_hash.map_or(0, |hash| hash.get() as u32);
        // What was stored is what others were told of before.
        if serials.0 != serials.1
            && !is_stored
            && let Some(serial) = serials.0
        {
            self.telling.publish(&job.name, serial, zones.sources.notify(zones.kept(slot).source));
        }
        self.catalogs.replaced(&job.name);
        note(zones, slot, job, loaded);
        change.loaded += 1;
    }

    /// What becomes of the pack of what was loaded.
    fn kind_of(&self, loaded: &Loaded) -> Kind {
        let pack = &loaded.pack.pack;
        let is_to_wait = pack.octets().len() < SMALL_PACK_OCTETS || (self.is_held() && !is_large(pack));
        let is_small = is_to_wait && loaded.pack.file.is_none();
        match loaded.origin {
            Origin::PackFile => Kind::Operators(loaded.stamp),
            Origin::Passing => Kind::Passing,
            Origin::Text if is_small => Kind::Waiting(Instant::now()),
            _ => Kind::Kept,
        }
    }

    /// Whether others may want to know what led from one version of a zone to the next: it has a history, or they were given it, or are told of it.
    fn is_followed(&self, zones: &Zones, slot: SlotNumber, name: &Name) -> bool {
        self.historian.has(name)
            || !zones.sources.notify(zones.kept(slot).source).is_empty()
            || self.transfers.is_known(name)
    }

    /// Shows what the pack folder has of a zone whose file could not be loaded and that has no data: better than none.
    pub(super) fn take_last_good(&self, zones: &mut Zones, name: &Name, stored: &Stored) {
        // One that was removed meanwhile has nothing good there, whichever way a start begins.
        let Some((pack, number)) = stored.find(name).filter(|_| !zones.gone.has(name)) else { return };
        let slot = self.catalog.reader().with(|view| {
            let slot = zones.slot(view, name)?;
            zones.pack_of(view, slot).is_none().then_some(slot)
        });
        // Where it is not clear who may ask nobody is answered.
        let Some(slot) = slot.filter(|slot| zones.sources.has_rules(zones.kept(*slot).source)) else {
            return;
        };
        let digest = zones.digest(name, Some(slot));
        let has_text = !zones.sources.is_without_file(zones.kept(slot).source);
        let view = ZoneView::new(&pack.pack, number);
        if !view.is_some_and(|view| self.is_as_required((name, has_text), &view, digest)) {
            return;
        }
        let source = ViewSource::Pack(zones.packs.hold(&self.catalog, pack, Kind::Kept), number);
        if self.catalog.publish(slot, None, source).is_ok() {
            zones.packs.add(pack.pack.id());
            zones.loaded += 1;
            zones.rare.change(&slot, |rare| rare.is_absent = false);
        }
    }

    /// Shows a zone in its slot, or in a new one. `place`: the slot, whether what is shown in it still has the zone's name, and how
    /// what it shows differs.
    fn show(
        &self,
        zones: &mut Zones,
        place: Option<(SlotNumber, bool, Option<Compared>)>,
        (name, group): (&Name, Group),
        source: ViewSource,
    ) -> SlotNumber {
        if let Some((slot, is_named, compared)) = place {
            if is_named
                && let Some(Compared { state, parts }) = compared
                && self.catalog.publish_parts(slot, state, source, parts).is_ok()
            {
                return slot;
            }
            if is_named && self.catalog.publish(slot, None, source).is_ok() {
                return slot;
            }
            // A pack that was written into has another name there now: nobody finds the slot by the zone's.
            self.catalog.remove(&[slot]);
            zones.forget(slot);
            zones.shown -= 1;
        }
        zones.shown += 1;
        self.catalog.insert_in_groups(&[(name, source)], |_| group)[0]
    }

    /// Notes why a zone could not be loaded; what was served of it still is.
    pub(super) fn take_broken(&self, zones: &mut Zones, job: &Job, outcome: Outcome, change: &mut Change) {
        let Err(lines) = outcome else { return };
        let (apex, level) = (&job.name, change.said.failure());
        let (zone, source) = (tracing::field::display(apex), tracing::field::display(&job.source));
        lines.iter().for_each(|error| event!(level, zone, source, error, "{error}"));
        let mut reader = self.catalog.reader();
        let (slot, has_data) = reader.with(|view| {
            let slot = zones.slot(view, apex);
            (slot, slot.is_some_and(|slot| zones.pack_of(view, slot).is_some()))
        });
        let line = match slot {
            Some(_) if has_data => format!("zone {apex} not loaded; what was loaded before is served still"),
            None => format!("zone {apex} not loaded; its names are answered from the zone above it still"),
            Some(_) => format!("zone {apex} not loaded; queries for it get SERVFAIL"),
        };
        event!(level, zone, source, "{line}");
        change.failed.push(apex.to_owned());
        // A reply of a million zones is read by nobody.
        if change.failed.len() <= ZONES_LOGGED_MAX {
            change.errors.extend(lines.iter().cloned());
            change.errors.push(line);
        } else if change.failed.len() == ZONES_LOGGED_MAX + 1 {
            change.errors.push("more zones are not loaded; `zonda ctl zones` shows them".into());
        }
        let problem = Some(lines.into());
        let lower = apex.to_lowercase();
        match slot {
            _ if zones.awaited.contains_key(&lower) => {
                zones.awaited.change(&lower, |awaited| awaited.problem = problem);
            }
            Some(slot) => zones.change_rare(slot, |rare| {
                rare.problem = problem;
                rare.is_absent = !has_data;
            }),
            None => {}
        }
    }
}

/// What a zone was before it was loaded again.
struct Old {
    /// [`zone::Pack::id`] of what it was served from, if it was.
    pack: Option<u64>,
    /// The serial of that.
    serial: Option<u32>,
    /// Whether the slot still has the zone's name.
    is_named: bool,
    /// Whether its pack is damaged.
    is_lost: bool,
}

/// Whether there is no need to tell what is wrong with a zone: what comes with the program nobody here can mend, and what comes from a primary again and again is
/// said once; `ctl zones` shows it.
fn are_known(zones: &Zones, slot: Option<SlotNumber>, job: &Job, loaded: &Loaded) -> bool {
    match job.source {
        Source::Embedded(_) => true,
        Source::Primaries(_) => slot.is_some_and(|slot| zones.findings.of(slot) == &*loaded.findings.lines),
        _ => false,
    }
}

/// Notes what is wrong with a zone that is shown, and what few have.
fn note(zones: &mut Zones, slot: SlotNumber, job: &Job, loaded: Loaded) {
    let own = (loaded.origin == Origin::PackFile).then(|| (job.name.clone(), loaded.pack.pack.id()));
    let includes = (!loaded.includes.is_empty()).then_some((loaded.stamp, loaded.includes));
    let is_rare = own.is_some() || includes.is_some();
    zones.set_rare(slot, is_rare.then_some(Rare { includes, own, ..Rare::default() }));
    zones.findings.set(slot, loaded.findings.lines);
}

/// Warns of what the operator should know about the new data of a slot's zone.
fn warn(
    zones: &Zones,
    view: &CatalogView<'_>,
    slot: SlotNumber,
    job: &Job,
    loaded: &Loaded,
    change: &mut Change,
) -> Old {
    let is_named = view.name_of(slot).is_some_and(|name| name.eq_ignore_case(&job.name));
    let is_lost = matches!(view.view_of(slot), Some(View::Lost(_)));
    let Some(pack) = zones.pack_of(view, slot) else {
        return Old { pack: None, serial: None, is_named, is_lost };
    };
    let line = match written_into(zones, pack, job, loaded) {
        Some(line) => Some(line),
        None => serial_line(zones, view, slot, job, loaded),
    };
    if let Some(line) = line {
        tracing::warn!(zone = %job.name, source = %job.source, "{line}");
        change.warnings.push(line);
    }
    let serial = match view.view_of(slot) {
        Some(View::Zone(zone)) if is_named => Some(zone.row().serial),
        _ => None,
    };
    Old { pack: Some(pack), serial, is_named, is_lost }
}

/// A line if the pack that a zone is served from has become another without being replaced, so that nothing of what
/// is mapped can be believed. A file put in its place has another inode, as the map keeps the old one.
fn written_into(zones: &Zones, pack: u64, job: &Job, loaded: &Loaded) -> Option<String> {
    let Kind::Operators(old) = zones.packs.get(pack)?.kind else { return None };
    // Without a mark it was too fresh to tell.
    let is_written_into = old.mark != 0
        && old.inode == loaded.stamp.inode
        && (old.time, old.octets) != (loaded.stamp.time, loaded.stamp.octets);
    is_written_into.then(|| {
        format!(
            "{}: has another time or length and is no new file: a pack that is written into while it is \
             served can give wrong answers or end the server; replace it with mv, install or rsync",
            job.source
        )
    })
}

/// Secondaries take a zone only if its serial grows (RFC 1034 4.3.5, RFC 1982).
fn serial_line(
    zones: &Zones,
    view: &CatalogView<'_>,
    slot: SlotNumber,
    job: &Job,
    loaded: &Loaded,
) -> Option<String> {
    let Some(View::Zone(zone)) = view.view_of(slot) else { return None };
    let is_still = zones.stamp(view, slot).is_some_and(|old| loaded.stamp.is_still(&old));
    if loaded.origin == Origin::Stored || is_still {
        return None;
    }
    // Touched, or with other comments: the zone is what it was, and so may its serial be.
    let contents = loaded.contents_hash.map_or(0, |hash| hash.get() as u32);
    if contents != 0 && zones.kept(slot).contents == contents {
        return None;
    }
    let (old, new) = (zone.row().serial, loaded.pack.pack.zone_row(loaded.number).serial);
    let how = match new.wrapping_sub(old) {
        // All of it was transferred once more: mostly it is what it was, and nobody has compared them.
        0 if matches!(job.source, Source::Primaries(_)) => return None,
        0 => "did not change, though the zone did",
        1..=0x7fff_ffff => return None,
        _ => "went backwards",
    };
    Some(format!("zone {}: serial {how} ({old}, now {new})", zone.apex()))
}
