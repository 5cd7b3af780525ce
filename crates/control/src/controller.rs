//! The zones that are served, and how that changes: at the start, on reload, by command.
//!
//! Rules. `changing` is held for the whole of a change, so there is one at a time. `zones` is locked for moments
//! only; between them its order does not change while `changing` is held, so a position stays valid. Workers
//! take no lock: they see what [`Published`] holds. Whatever fails leaves served what was served before.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use net::Running;
use sync::{Mutex, Published, RwLock};
use wire::{Name, NameBuf, SortKey};
use zone::Catalog;
use zone::catalog::{Absence, Entry};

use crate::handler::Served;
use crate::load::{Job, Loaded, Loader, OWN_PACK_OCTETS, Origin, Outcome};
use crate::order::in_order;
use crate::packs::{PackFolder, Stored};
use crate::parallel::map_on_threads;
use crate::progress::{Act, Progress};
use crate::read::stamp_of;
use crate::settings::Settings;
use crate::stamp::Stamp;
use crate::system::{random, trim_memory};
use crate::wanted::{Source, Wanted};

/// A zone that the server is to serve.
pub(crate) struct Zone {
    /// Its data, or its name without any. Shared with the catalog that is published.
    pub(crate) entry: Entry,
    /// Its name where its data are a file of the operator's: who writes into one instead of replacing it changes
    /// what is mapped, and zones must be found all the same.
    name: Option<Box<NameBuf>>,
    /// Where its data come from.
    pub(crate) source: Source,
    /// The state of the file that its data are from.
    stamp: Stamp,
    /// How its data came.
    origin: Origin,
    /// See [`Loaded::contents_hash`].
    contents_hash: Option<NonZeroU64>,
    /// What most zones have not.
    rare: Option<Box<Rare>>,
    /// Whether it came while the server ran: see [`hidden`].
    is_late: bool,
}

/// What most zones have not.
#[derive(Default)]
struct Rare {
    /// Files that its text includes, and their states.
    includes: Box<[(PathBuf, Stamp)]>,
    /// Why its file could not be loaded when that was tried last. `None`: it could.
    problem: Option<Box<[String]>>,
}

/// A server can have a million of them.
const _: () = assert!(size_of::<Zone>() <= 96);

impl Zone {
    fn absent(wanted: Wanted, is_late: bool) -> Zone {
        Zone {
            entry: Entry::absent(&wanted.name, Absence::NotLoaded),
            name: None,
            source: wanted.source,
            stamp: Stamp::default(),
            origin: Origin::Text,
            contents_hash: None,
            rare: None,
            is_late,
        }
    }

    /// Why its file could not be loaded when that was tried last, as lines. `None`: it could.
    pub(crate) fn problem(&self) -> Option<&[String]> {
        self.rare.as_ref()?.problem.as_deref()
    }

    /// Files that its text includes, and their states.
    fn includes(&self) -> &[(PathBuf, Stamp)] {
        self.rare.as_ref().map_or(&[], |rare| &rare.includes)
    }

    /// Its name.
    pub(crate) fn apex(&self) -> &Name {
        match &self.name {
            Some(name) => name,
            None => self.entry.apex(),
        }
    }

    /// Whether there are no data of it yet, although it came while the server ran.
    fn is_awaited(&self) -> bool {
        self.is_late && matches!(self.entry, Entry::Absent(_))
    }

    /// Whether its file, or one that it includes, is another than when it was loaded.
    fn is_changed(&self) -> bool {
        let is_still = |path: &PathBuf, stamp: &Stamp| stamp_of(path).is_ok_and(|now| stamp.is_still(&now));
        let main = match &self.source {
            Source::File(path) => is_still(&path.path(), &self.stamp),
            Source::Embedded(_) => self.entry.zone().is_some(),
        };
        self.problem().is_some()
            || !main
            || !self.includes().iter().all(|(path, stamp)| is_still(path, stamp))
    }
}

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
}

/// Which zones a change looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All: each whose files have changed is loaded again.
    All,
    /// Those that are new or come from elsewhere now.
    New,
}

/// What the command line says, which goes before the settings file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--listen`
    pub listen: Vec<std::net::SocketAddr>,
    /// `--workers`
    pub workers: Option<usize>,
    /// `--profile-locks`
    pub profile_locks: bool,
    /// `--zone`
    pub zones: Vec<Wanted>,
}

impl Overrides {
    /// Puts them into settings just read.
    pub fn apply(&self, settings: &mut Settings) {
        if !self.listen.is_empty() {
            settings.server.listen.clone_from(&self.listen);
        }
        if let Some(workers) = self.workers {
            settings.server.workers = workers;
        }
        settings.server.profile_locks |= self.profile_locks;
    }
}

/// Everything the server is made of, apart from sockets and threads.
pub struct Controller {
    pub(crate) published: Published<Served>,
    pub(crate) zones: RwLock<Vec<Zone>>,
    changing: Mutex<Changing>,
    file: Option<PathBuf>,
    folder: Option<PackFolder>,
    pub(crate) overrides: Overrides,
    pub(crate) started: SystemTime,
    /// What the workers count; filled when they are made.
    pub(crate) counts: RwLock<Vec<Arc<auth::LiveCounters>>>,
    pub(crate) running: Mutex<Option<Running>>,
    /// Whether packs may be in disorder since they were last tidied.
    is_untidy: AtomicBool,
    /// Held by the thread that tidies.
    tidying: RwLock<()>,
}

/// What only the thread that makes a change needs.
pub(crate) struct Changing {
    pub(crate) settings: Settings,
    /// Zones added by command, which no file has.
    pub(crate) added: Vec<Wanted>,
    /// Sort keys of zones removed by command, which some file may have.
    pub(crate) removed: Vec<Box<[u8]>>,
}

/// Packs that may be in use before small ones are merged: each costs a few file handles' worth of memory and
/// a kilobyte of headers.
const PACKS_MAX: usize = 64;

/// How long a change waits for workers to let go of what it replaced. A batch takes less than a millisecond.
const RECLAIM_WAIT: Duration = Duration::from_millis(100);

/// A change under way. The locks here go on after a panic: it leaves whole values behind, as they are replaced and
/// never changed in halves.
pub(crate) type ChangeGuard<'c> = sync::Guard<MutexGuard<'c, Changing>>;

impl Controller {
    /// A controller that serves nothing yet.
    pub fn new(settings: Settings, overrides: Overrides) -> Result<Controller, String> {
        let directory = &settings.server.pack_directory;
        let folder = match directory.as_os_str().is_empty() {
            true => None,
            false => Some(PackFolder::open(&settings.path(directory))?),
        };
        let served = Served { catalog: Catalog::new(Vec::new(), random()), facts: facts(&settings) };
        Ok(Controller {
            published: Published::new(Arc::new(served)),
            zones: RwLock::named("zones", Vec::new()),
            file: settings.file.clone(),
            changing: Mutex::named("change", Changing { settings, added: Vec::new(), removed: Vec::new() }),
            folder,
            overrides,
            started: SystemTime::now(),
            counts: RwLock::named("counts", Vec::new()),
            running: Mutex::named("workers", None),
            is_untidy: AtomicBool::new(false),
            tidying: RwLock::named("tidying", ()),
        })
    }

    /// The settings file, as the operator named it.
    pub(crate) fn settings_file(&self) -> Option<String> {
        self.file.as_ref().map(|file| file.display().to_string())
    }

    /// Makes the zones known without loading any, so that queries for them get SERVFAIL instead of REFUSED.
    pub fn announce(&self, wanted: Vec<Wanted>, progress: &Progress) {
        let _changing = self.change();
        progress.begin(Act::Arranging, wanted.len());
        let mut wanted = in_order(wanted);
        // Sources stay, names go once data are there: allocated one after the other, as a list made them, neither
        // would leave a page free. Copied in a run, a million sources take half the memory.
        let sources: Vec<Source> = wanted.iter().map(|wanted| wanted.source.clone()).collect();
        wanted.iter_mut().zip(sources).for_each(|(wanted, source)| wanted.source = source);
        let zones = wanted.into_iter().map(|wanted| Zone::absent(wanted, false)).collect();
        *self.zones.write() = zones;
        self.publish(None);
    }

    /// Begins a change: nobody else makes one until the guard is dropped.
    #[track_caller]
    pub(crate) fn change(&self) -> ChangeGuard<'_> {
        self.changing.lock()
    }

    /// Loads the zones announced, for the first time.
    pub fn load_first(&self) -> Change {
        let changing = self.change();
        let mut change = Change::default();
        let progress = Progress::default();
        progress.show_while(|| {
            progress.begin(Act::Mapping, 0);
            let stored = self.folder.as_ref().map(PackFolder::stored).unwrap_or_default();
            let zones = self.zones.read();
            let jobs: Vec<Job> = zones.iter().enumerate().map(|(id, zone)| job(id, zone)).collect();
            drop(zones);
            self.load(&jobs, &stored, &progress, &mut change);
        });
        self.remove_unused_packs();
        drop(changing);
        change
    }

    /// Changes the set of zones to `wanted` and loads those that `scope` covers and that have changed.
    /// `changing`: proof that nobody else makes a change.
    pub(crate) fn apply(
        &self,
        _changing: &mut Changing,
        wanted: Vec<Wanted>,
        scope: Scope,
        progress: &Progress,
    ) -> Change {
        let mut change = Change::default();
        progress.begin(Act::Arranging, wanted.len());
        let looks = self.arrange(wanted, &mut change);
        if change.added + change.removed > 0 {
            self.is_untidy.store(true, Ordering::SeqCst);
            self.publish(None);
        }
        let jobs = self.look(&looks, scope, progress);
        change.unchanged = looks.len() - jobs.len();
        self.load(&jobs, &Stored::default(), progress, &mut change);
        change
    }

    /// Looks again at one zone. `None`: there is none of that name.
    pub(crate) fn look_again(&self, _changing: &mut Changing, name: &Name) -> Option<Change> {
        let at = self.position(name)?;
        let mut change = Change::default();
        let zones = self.zones.read();
        let jobs = match zones[at].is_changed() {
            true => vec![job(at, &zones[at])],
            false => {
                change.unchanged += 1;
                Vec::new()
            }
        };
        drop(zones);
        let progress = Progress::default();
        progress.show_while(|| self.load(&jobs, &Stored::default(), &progress, &mut change));
        Some(change)
    }

    /// Puts packs in order after changes; to be called once nobody waits for them any more. One thread does it
    /// at a time: others leave their work to it and return at once.
    pub(crate) fn tidy(&self) {
        while self.is_untidy.load(Ordering::SeqCst) {
            let Some(_tidying) = self.tidying.try_write() else { return };
            while self.is_untidy.swap(false, Ordering::SeqCst) {
                let _changing = self.change();
                self.merge();
                self.remove_unused_packs();
                // What a change needs beside the zones is as large as they are where they are small and many.
                trim_memory();
            }
        }
    }

    /// Where a zone is. Holds only while nobody makes a change.
    pub(crate) fn position(&self, name: &Name) -> Option<usize> {
        position(&self.zones.read(), name)
    }

    /// Makes the list of zones the one wanted; zones that stay keep their data. Returns, for each zone, whether it is new
    /// or comes from elsewhere now.
    fn arrange(&self, wanted: Vec<Wanted>, change: &mut Change) -> Vec<Look> {
        let wanted = in_order(wanted);
        let mut looks = Vec::with_capacity(wanted.len());
        let mut zones = self.zones.write();
        let mut old = std::mem::take(&mut *zones).into_iter().peekable();
        let (mut key, mut old_key) = (SortKey::new(), SortKey::new());
        if let Some(first) = old.peek() {
            old_key.set(first.apex());
        }
        for wanted in wanted {
            key.set(&wanted.name);
            let mut same = None;
            while let Some(zone) = old.next_if(|_| same.is_none() && old_key.octets() <= key.octets()) {
                match old_key.octets() == key.octets() {
                    true => same = Some(zone),
                    false => change.removed += 1,
                }
                if let Some(next) = old.peek() {
                    old_key.set(next.apex());
                }
            }
            let mut is_new = true;
            let zone = match same {
                Some(mut zone) => {
                    is_new = zone.source != wanted.source;
                    zone.source = wanted.source;
                    zone
                }
                None => {
                    change.added += 1;
                    Zone::absent(wanted, true)
                }
            };
            looks.push(Look { at: zones.len(), is_new });
            zones.push(zone);
        }
        change.removed += old.count();
        looks
    }

    /// Which zones are to be loaded: those that are new, and if `scope` says so those whose files have changed.
    fn look(&self, looks: &[Look], scope: Scope, progress: &Progress) -> Vec<Job> {
        progress.begin(Act::Looking, looks.len());
        let jobs = map_on_threads(net::worker_count_default(), looks, |look| {
            progress.count(1);
            // Locked for each by itself, as every look is a call into the file system.
            let zone = &self.zones.read()[look.at];
            let is_wanted = look.is_new || (scope == Scope::All && zone.is_changed());
            is_wanted.then(|| job(look.at, zone))
        });
        jobs.into_iter().flatten().collect()
    }

    fn load(&self, jobs: &[Job], stored: &Stored, progress: &Progress, change: &mut Change) {
        self.loader(stored, progress).load(jobs, &mut |mut outcomes| {
            let mut zones = self.zones.write();
            let failed: Vec<_> = outcomes.extract_if(.., |(_, outcome)| outcome.is_err()).collect();
            outcomes.into_iter().for_each(|(at, outcome)| take(&mut zones[at], outcome, false, change));
            if !failed.is_empty() {
                let hidden = hidden(&zones);
                failed
                    .into_iter()
                    .for_each(|(at, outcome)| take(&mut zones[at], outcome, hidden[at], change));
            }
            drop(zones);
            self.is_untidy.store(true, Ordering::SeqCst);
            self.publish(None);
        });
    }

    fn loader<'l>(&'l self, stored: &'l Stored, progress: &'l Progress) -> Loader<'l> {
        Loader { threads: net::worker_count_default(), folder: self.folder.as_ref(), stored, progress }
    }

    /// Publishes the zones as they are, and `facts` or those published before.
    pub(crate) fn publish(&self, facts: Option<auth::Server>) {
        let entries = {
            let zones = self.zones.read();
            let shown = zones.iter().zip(hidden(&zones)).filter(|(_, hidden)| !hidden);
            shown.map(|(zone, _)| zone.entry.clone()).collect()
        };
        let facts = facts.unwrap_or_else(|| self.published.current().facts.clone());
        self.published.replace(Arc::new(Served { catalog: Catalog::new(entries, random()), facts }));
        let until = Instant::now() + RECLAIM_WAIT;
        while self.published.reclaim() > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Joins the zones of small and of mostly dead packs in a new one, by reading their texts again. A zone
    /// whose text has changed stays where it is: nobody has asked for the new one yet.
    fn merge(&self) {
        let mut poor = poor_zones(&self.zones.read());
        // Locked for each by itself, as every look is a call into the file system.
        poor.retain(|poor| !self.zones.read()[poor.at].is_changed());
        let packs: HashSet<u64> = poor.iter().map(|poor| poor.seed).collect();
        if packs.len() < 2 && !poor.iter().any(|poor| poor.is_mostly_dead) {
            return; // One pack would become one pack, again and again.
        }
        tracing::debug!(zones = poor.len(), "merging packs");
        let jobs: Vec<Job> = {
            let zones = self.zones.read();
            poor.iter().map(|poor| job(poor.at, &zones[poor.at])).collect()
        };
        let (stored, progress) = (Stored::default(), Progress::default());
        let mut taken = |outcomes: Vec<(usize, Outcome)>| {
            let mut zones = self.zones.write();
            for (at, outcome) in outcomes {
                let zone = &mut zones[at];
                // It may have changed since it was looked at.
                if let Ok(loaded) = outcome
                    && zone.stamp.is_still(&loaded.stamp)
                    && *zone.includes() == *loaded.includes
                {
                    zone.entry = Entry::Loaded { pack: loaded.pack, number: loaded.number };
                    zone.origin = loaded.origin;
                }
            }
            drop(zones);
            self.publish(None);
        };
        progress.show_while(|| self.loader(&stored, &progress).load(&jobs, &mut taken));
    }

    fn remove_unused_packs(&self) {
        let Some(folder) = &self.folder else { return };
        let zones = self.zones.read();
        let mut used = Vec::new();
        for zone in zones.iter() {
            if let Entry::Loaded { pack, .. } = &zone.entry
                && !used.last().is_some_and(|last| Arc::ptr_eq(last, pack))
            {
                used.push(Arc::clone(pack));
            }
        }
        drop(zones);
        folder.remove_unused(used.iter().map(|pack| &**pack));
    }
}

/// Where a zone is among all.
pub(crate) fn position(zones: &[Zone], name: &Name) -> Option<usize> {
    let key = SortKey::of(name);
    zones.binary_search_by(|zone| SortKey::of(zone.apex()).octets().cmp(key.octets())).ok()
}

/// A zone that is perhaps to be loaded.
struct Look {
    at: usize,
    /// Whether it is new or comes from elsewhere now.
    is_new: bool,
}

fn job(id: usize, zone: &Zone) -> Job {
    Job { id, name: zone.apex().to_owned(), source: zone.source.clone() }
}

/// Which zones the catalog leaves out: those that came while the server ran, have no data yet, and are below a
/// zone that is served. Their names are answered from there as before, until they are loaded; an entry without
/// data would make SERVFAIL of answers that were good.
fn hidden(zones: &[Zone]) -> Vec<bool> {
    if !zones.iter().any(Zone::is_awaited) {
        return vec![false; zones.len()];
    }
    // Zones are in canonical order, so those above one are before it: `above` is the way down to it.
    let mut above: Vec<&Name> = Vec::new();
    let mut hidden = Vec::with_capacity(zones.len());
    for zone in zones {
        let apex = zone.apex();
        while above.last().is_some_and(|last| !apex.is_at_or_below(last)) {
            above.pop();
        }
        hidden.push(zone.is_awaited() && !above.is_empty());
        if zone.entry.zone().is_some() {
            above.push(apex);
        }
    }
    hidden
}

/// A zone to be read again so that packs become fewer.
struct Poor {
    at: usize,
    /// Which pack it is in.
    seed: u64,
    is_mostly_dead: bool,
}

/// Zones of packs of which less than half is served still, and if there are many packs, those of the packs with
/// few zones. Large zones have packs of their own for good, and packs that the operator made are not ours to
/// merge.
fn poor_zones(zones: &[Zone]) -> Vec<Poor> {
    /// Zones served from a pack, and zones in it.
    type Use = (usize, usize);
    let pack_of = |zone: &Zone| match &zone.entry {
        Entry::Loaded { pack, .. }
            if zone.origin != Origin::PackFile && zone.stamp.octets < OWN_PACK_OCTETS =>
        {
            Some((pack.seed(), pack.zone_count() as usize))
        }
        _ => None,
    };
    let mut packs: HashMap<u64, Use> = HashMap::new();
    for (seed, count) in zones.iter().filter_map(pack_of) {
        packs.entry(seed).or_insert((0, count)).0 += 1;
    }
    let is_many = packs.len() > PACKS_MAX;
    let mean = packs.values().map(|(live, _)| live).sum::<usize>() / packs.len().max(1);
    let poor = |(at, zone): (usize, &Zone)| {
        let (seed, _) = pack_of(zone)?;
        let (live, all) = *packs.get(&seed)?;
        let is_mostly_dead = live * 2 < all;
        (is_mostly_dead || (is_many && live <= mean)).then_some(Poor { at, seed, is_mostly_dead })
    };
    zones.iter().enumerate().filter_map(poor).collect()
}

/// Puts what became of a job into its zone. `is_hidden`: see [`hidden`].
fn take(zone: &mut Zone, outcome: Outcome, is_hidden: bool, change: &mut Change) {
    match outcome {
        Ok(loaded) => {
            if is_written_into(zone, &loaded) {
                let line = format!(
                    "{}: has another time or length and is no new file: a pack that is written into while it is \
                     served can give wrong answers or end the server; replace it with mv, install or rsync",
                    zone.source
                );
                tracing::warn!("{line}");
                change.warnings.push(line);
            } else {
                warn_of_serial(zone, &loaded, change);
            }
            zone.name = (loaded.origin == Origin::PackFile).then(|| Box::new(zone.apex().to_owned()));
            let Loaded { pack, number, stamp, includes, warnings, origin, contents_hash } = loaded;
            for line in warnings {
                tracing::warn!("{line}");
                change.warnings.push(line);
            }
            zone.entry = Entry::Loaded { pack, number };
            zone.stamp = stamp;
            zone.origin = origin;
            zone.contents_hash = contents_hash;
            zone.rare = (!includes.is_empty()).then(|| Box::new(Rare { includes, problem: None }));
            change.loaded += 1;
        }
        Err(lines) => {
            for line in &lines {
                tracing::error!("{line}");
            }
            let apex = zone.apex();
            let line = match zone.entry.zone() {
                Some(_) => format!("zone {apex} not loaded; what was loaded before is served still"),
                None if is_hidden => {
                    format!("zone {apex} not loaded; its names are answered from the zone above it still")
                }
                None => format!("zone {apex} not loaded; queries for it get SERVFAIL"),
            };
            tracing::error!("{line}");
            change.failed.push(apex.to_owned());
            change.errors.extend(lines.iter().cloned());
            change.errors.push(line);
            zone.rare.get_or_insert_default().problem = Some(lines.into());
        }
    }
}

/// Whether the pack that a zone is served from has become another without being replaced, so that nothing of what
/// is mapped can be believed. A file put in its place has another inode, as the map keeps the old one.
fn is_written_into(zone: &Zone, loaded: &Loaded) -> bool {
    // Without a time it was too fresh to tell.
    let (old, new) = (&zone.stamp, &loaded.stamp);
    zone.origin == Origin::PackFile && old.time != 0 && old.inode == new.inode && !old.is_still(new)
}

/// Secondaries take a zone only if its serial grows (RFC 1034 4.3.5, RFC 1982).
fn warn_of_serial(zone: &Zone, loaded: &Loaded, change: &mut Change) {
    let Entry::Loaded { pack, number } = &zone.entry else { return };
    if loaded.origin == Origin::Stored || loaded.stamp.is_still(&zone.stamp) {
        return;
    }
    // Touched, or with other comments: the zone is what it was, and so may its serial be.
    if zone.contents_hash.is_some() && zone.contents_hash == loaded.contents_hash {
        return;
    }
    let (old, new) = (pack.zone_row(*number).serial, loaded.pack.zone_row(loaded.number).serial);
    let how = match new.wrapping_sub(old) {
        0 => "did not change, though the zone did",
        1..=0x7fff_ffff => return,
        _ => "went backwards",
    };
    let line = format!("zone {}: serial {how} ({old}, now {new})", zone.apex());
    tracing::warn!("{line}");
    change.warnings.push(line);
}

/// What the settings let the server say about itself.
pub fn facts(settings: &Settings) -> auth::Server {
    let server = &settings.server;
    let text = |text: &str| (!text.is_empty()).then(|| text.as_bytes().into());
    auth::Server {
        nsid: crate::settings::hexadecimal(&server.nsid).or_else(|| text(&server.nsid)),
        version: text(&server.version),
        hostname: text(&server.hostname),
        id_server: text(&server.id_server),
        udp_payload_octets: server.udp_payload_octets,
        minimal_responses: server.minimal_responses,
        full_any_over_tcp: server.full_any_over_tcp,
    }
}
