//! The historian: versions of zones kept for IXFR, off the way on which changes become durable.
//!
//! ```text
//! changer: a synced group ------------ push --.                                    .--> files, each 100 ms, on a thread of its own
//! controller: a zone came whole ------ later --+--> queue of journal::History -----+
//!             nothing leads on ------- anew --'                                    '--> IXFR: queue and files as one sequence
//! ```
//!
//! The thread starts with the first thing that comes. Without a folder for packs there is no history, and every IXFR is an AXFR.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use journal::disk::Disk;
use journal::history::{Bound, Difference, Found, HistoryStatus, Later, Listed, Versions};
use journal::{Entry, History, Recovery};
use sync::Mutex;
use transfer::outgoing::{Changes, History as Known, HistoryLost};
use wire::Name;
use zone::catalog::PinnedZone;
use zone::change::{Condenser, NotCondensed};
use zone::difference::{NoDifference, difference};
use zone::{Change, Pack, Records, ZoneView};

use super::changer::wall;
use super::condensed::{Condensing, READ_OCTETS_MAX};
use super::group::entry;
use crate::command::Count;
use crate::controller::Controller;
use crate::repeated::REPEAT_PAUSE;

/// What waits is written so often: some changes of a zone come together, and few are brought again after a kill.
const PAUSE: Duration = Duration::from_millis(500);
/// Files are synced so long after they were written: a power failure costs the history of a minute, and zones whose history ends there are sent whole once.
const SYNC_PAUSE: Duration = Duration::from_secs(60);
/// Names of a zone that are compared at once by who asks for the difference: some milliseconds.
const QUICK_NAMES_MAX: u32 = 20_000;

/// How far behind others the thread is: whoever asks for the history waits while it writes, so it is not the last.
const PRIORITY: i32 = 10;

/// See the module.
pub(crate) struct Historian {
    history: Option<History>,
    condensing: Arc<Condensing>,
    controller: OnceLock<Weak<Controller>>,
    /// Whether the thread knows that something waits.
    is_woken: AtomicBool,
    is_stopped: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Historian {
    /// Before anything is known of the log. `folder`: of the journal, if there is one, on this disk.
    pub(crate) fn new(disk: Arc<dyn Disk>, folder: Option<&Path>) -> Historian {
        let history = folder.map(|folder| History::new(disk, &folder.join(journal::show::HISTORY_FOLDER)));
        Historian {
            history,
            condensing: Arc::default(),
            controller: OnceLock::new(),
            is_woken: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            thread: Mutex::named("historian", None),
        }
    }

    /// Goes on with what is there, as far as it goes with what the log has. Returns the first group that the log is to bring again.
    pub(super) fn begin(&self, controller: &Arc<Controller>, recovery: &Recovery) -> u64 {
        let Some(history) = &self.history else { return u64::MAX };
        let _ = self.controller.set(Arc::downgrade(controller));
        let (identity, newest) = match recovery.is_new() {
            true => Default::default(),
            false => (recovery.identity(), recovery.next().saturating_sub(1)),
        };
        history.begin(&identity, newest).unwrap_or_else(|error| {
            tracing::warn!(%error, "the history of zones cannot be read: {error}; secondaries get whole zones");
            u64::MAX
        })
    }

    /// The log is written from now on.
    pub(super) fn log_begins(&self, log: &journal::Identity) {
        self.history.iter().for_each(|history| history.log_begins(log));
    }

    /// The log has groups up to this one: what comes later is newer.
    pub(super) fn note_group(&self, group: u64) {
        self.history.iter().for_each(|history| history.note_group(group));
    }

    /// Takes a version that a synced group has. Before it is told of: who asks at once gets it.
    pub(super) fn push(self: &Arc<Historian>, group: u64, version: Arc<Entry>) {
        let Some(history) = &self.history else { return };
        history.push(group, version);
        self.wake();
    }

    /// Takes a version that a start found in the log.
    pub(super) fn again(self: &Arc<Historian>, group: u64, version: Entry) {
        let Some(history) = &self.history else { return };
        history.again(group, Arc::new(version));
        self.wake();
    }

    /// Whether what leads from one whole version of a zone to the next is worth finding: it has a history.
    pub(crate) fn has(&self, zone: &Name) -> bool {
        self.history.as_ref().is_some_and(|history| history.has(zone))
    }

    /// Whether the history of a zone has a version that one of these groups of the log made.
    pub(super) fn has_version_of(&self, zone: &Name, groups: RangeInclusive<u64>) -> bool {
        self.history.as_ref().is_some_and(|history| history.has_version_of(zone, groups))
    }

    /// The serial that the history of a zone ends with, as far as it is in files.
    pub(crate) fn last_serial(&self, zone: &Name) -> Option<u32> {
        self.history.as_ref()?.last_serial(zone)
    }

    /// The versions of a zone that lead to the one with this serial, oldest first. May wait for the disk.
    pub(crate) fn versions(&self, zone: &Name, to: u32) -> io::Result<Vec<Listed>> {
        let Some(history) = &self.history else { return Ok(Vec::new()) };
        let versions = history.all(zone, to)?;
        Ok(versions.iter().flat_map(Versions::list).collect())
    }

    /// What led from one version of a zone to another, as one change of so many octets at most. May wait for the disk.
    pub(crate) fn between(
        &self,
        zone: &Name,
        (from, to): (u32, u32),
        octets_max: usize,
    ) -> Result<Change, NotKnown> {
        let unreadable = |error: io::Error| {
            tracing::warn!(%zone, %error, "zone {zone}: its history cannot be read: {error}");
            NotKnown::Unreadable
        };
        let history = self.history.as_ref().ok_or(NotKnown::Version)?;
        let mut versions = history.since(zone, from, to).map_err(unreadable)?.ok_or(NotKnown::Version)?;
        if versions.octets() > READ_OCTETS_MAX {
            return Err(NotKnown::TooLong);
        }
        let why = |not: NotCondensed| match not {
            NotCondensed::TooLong => NotKnown::TooLong,
            NotCondensed::Broken => NotKnown::Unreadable,
        };
        let mut condenser = Condenser::new(octets_max);
        while let Some(difference) = versions.next() {
            let change = change_of(difference.map_err(unreadable)?).ok_or(NotKnown::Unreadable)?;
            condenser.add(&change).map_err(why)?;
        }
        condenser.into_change().map_err(why)
    }

    /// Whether there is a history at all.
    pub(crate) fn is_kept(&self) -> bool {
        self.history.is_some()
    }

    /// A zone came whole: what leads there from what was served is found later. `pack`, `number`: where it is.
    pub(crate) fn replaced(
        self: &Arc<Historian>,
        zone: &Name,
        old: Option<PinnedZone>,
        pack: &Arc<Pack>,
        number: u32,
    ) {
        let Some(history) = &self.history else { return };
        let names = |view: Option<ZoneView<'_>>| view.map_or(0, |view| view.row().node_count);
        let Some(old) = old else { return self.begin_anew(zone) };
        let count = names(old.view()).max(names(ZoneView::new(pack, number)));
        let (pack, owner) = (Arc::clone(pack), Arc::clone(self));
        let find = move || owner.find(&old, &pack, number);
        history.push_later(Arc::new(Later::new(zone, count <= QUICK_NAMES_MAX, find)));
        self.wake();
    }

    /// Nothing is known of what led to what is served, or the zone is not served any more.
    pub(crate) fn begin_anew(self: &Arc<Historian>, zone: &Name) {
        let Some(history) = self.history.as_ref().filter(|history| history.has(zone)) else { return };
        history.begin_anew(zone);
        self.wake();
    }

    /// Finds what leads from one to the other.
    fn find(&self, old: &PinnedZone, pack: &Pack, number: u32) -> Found {
        let (Some(before), Some(after)) = (old.view(), ZoneView::new(pack, number)) else {
            return Found::Nothing;
        };
        let octets_max = usize::try_from(self.bound(after.apex()).difference_octets_max());
        let found = difference(&before, &after, octets_max.unwrap_or(usize::MAX));
        // Somebody may have written into the file of either meanwhile.
        if old.view().is_none() || pack.is_damaged() {
            return Found::Nothing;
        }
        match found {
            Ok(change) => entry(&change, wall()).map_or(Found::Nothing, Found::Difference),
            Err(NoDifference::Same) => Found::Same,
            Err(NoDifference::TooLong | NoDifference::Damaged) => Found::Nothing,
        }
    }

    /// How much of a zone is kept.
    fn bound(&self, zone: &Name) -> Bound {
        let controller = self.controller.get().and_then(Weak::upgrade);
        controller.map_or(Bound { octets: 0, versions: 1 }, |controller| controller.history_bound(zone))
    }

    /// What is counted.
    pub(crate) fn counts(&self) -> [Count; 5] {
        let HistoryStatus { waiting_octets, zones, appended, begun, .. } =
            self.history.as_ref().map(History::status).unwrap_or_default();
        let count = |name: &str, help: &str, count| Count { name: name.into(), count, help: help.into() };
        [
            count(
                "history-zones",
                "Zones of which it is kept what led from version to version.",
                zones as u64,
            ),
            count("history-versions", "Versions of zones that were written there.", appended),
            count("history-begun-anew", "Times that nothing was known of what led to a version.", begun),
            count(
                "history-waiting-octets",
                "Octets of versions that are not written yet.",
                waiting_octets as u64,
            ),
            count(
                "history-condensed",
                "Times that several versions were sent as one difference.",
                self.condensing.count(),
            ),
        ]
    }

    /// Has the thread look, and starts it if there is none.
    fn wake(self: &Arc<Historian>) {
        if self.is_woken.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut thread = self.thread.lock();
        if let Some(thread) = &*thread {
            return thread.thread().unpark();
        }
        if self.is_stopped.load(Ordering::Acquire) {
            return;
        }
        let historian = Arc::clone(self);
        match std::thread::Builder::new().name("historian".into()).spawn(move || historian.run()) {
            Ok(started) => *thread = Some(started),
            Err(error) => {
                // The next version tries again; what waits is bounded, and offered meanwhile.
                self.is_woken.store(false, Ordering::Release);
                tracing::warn!(%error, "cannot start the thread that keeps the history of zones: {error}");
            }
        }
    }

    fn run(&self) {
        let Some(history) = &self.history else { return };
        // Where that cannot be it takes as much as others, and never more.
        let usual = rustix::process::getpriority_process(None).unwrap_or(0);
        let _ = rustix::process::setpriority_process(None, PRIORITY.max(usual));
        let mut written: Option<Instant> = None;
        let mut said: Option<Instant> = None;
        loop {
            if !self.is_woken.load(Ordering::Acquire) {
                match written {
                    Some(at) if at.elapsed() >= SYNC_PAUSE => {
                        written = None;
                        say(history.sync(), &mut said);
                    }
                    Some(at) => std::thread::park_timeout(SYNC_PAUSE.saturating_sub(at.elapsed())),
                    None => std::thread::park(),
                }
                if self.is_stopped.load(Ordering::Acquire) {
                    return;
                }
                continue;
            }
            while !self.is_stopped.load(Ordering::Acquire)
                && let Some(later) = history.to_find()
            {
                later.find();
            }
            if !self.is_stopped.load(Ordering::Acquire) {
                std::thread::sleep(PAUSE);
            }
            self.is_woken.store(false, Ordering::Release);
            if self.may_write() {
                say(self.flush(), &mut said);
                written = written.or(Some(Instant::now()));
            }
            // What could not be written yet, or waits behind what is to be found: nobody says so once more.
            if history.status().waiting > 0 {
                self.is_woken.store(true, Ordering::Release);
            }
            if self.is_stopped.load(Ordering::Acquire) {
                return;
            }
        }
    }

    /// Whether no other server has the folder, or is about to.
    fn may_write(&self) -> bool {
        let controller = self.controller.get().and_then(Weak::upgrade);
        controller.is_some_and(|controller| !controller.is_held() && !controller.dynamic.is_held())
    }

    /// Writes what waits now.
    pub(super) fn flush(&self) -> std::io::Result<()> {
        let Some(history) = &self.history else { return Ok(()) };
        history.flush(&|zone| self.bound(zone))
    }

    /// Ends the thread once what waits is written; waits for that.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.is_woken.store(true, Ordering::Release);
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            // What it had to say of a panic it has said.
            let _ = thread.join();
        }
    }
}

/// Why it is not known what led from one version to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotKnown {
    /// Of the first version nothing is known.
    Version,
    /// It is more than is looked at.
    TooLong,
    /// It cannot be read.
    Unreadable,
}

/// Says what went wrong, now and then.
fn say(result: std::io::Result<()>, said: &mut Option<Instant>) {
    let Err(error) = result else { return };
    if said.is_none_or(|at| at.elapsed() >= REPEAT_PAUSE) {
        *said = Some(Instant::now());
        tracing::warn!(%error, "the history of zones cannot be written: {error}; secondaries get whole zones where it ends");
    }
}

impl Known for Historian {
    fn changes(&self, zone: &Name, from: u32, to: u32) -> Option<Box<dyn Changes>> {
        let history = self.history.as_ref()?;
        match history.since(zone, from, to) {
            Ok(versions) => {
                let controller = self.controller.get().cloned().unwrap_or_default();
                let versions = versions?;
                let is_condensed =
                    controller.upgrade().is_some_and(|controller| controller.ixfr_rules(zone).condense);
                if is_condensed && let Some(condensed) = self.condensing.condense(versions.clone()) {
                    return Some(Box::new(condensed));
                }
                let octets = versions.octets();
                Some(Box::new(Reading { versions, octets, controller, zone: zone.to_lowercase() }))
            }
            Err(error) => {
                tracing::warn!(%zone, %error, "zone {zone}: its history cannot be read: {error}; it is sent whole");
                None
            }
        }
    }

    fn is_in_memory(&self) -> bool {
        self.history.is_none()
    }
}

/// What a difference says; `None`: it is none.
pub(super) fn change_of(difference: Difference) -> Option<Change> {
    let (removed, added) = difference.into_parts();
    let parts = Records::from_octets(removed).ok().zip(Records::from_octets(added).ok());
    parts.and_then(|(removed, added)| Change::new(removed, added).ok())
}

/// Versions that are being sent.
struct Reading {
    versions: Versions,
    octets: u64,
    controller: Weak<Controller>,
    zone: wire::NameBuf,
}

impl Changes for Reading {
    fn octets(&self) -> u64 {
        self.octets
    }

    fn next(&mut self) -> Result<Option<Change>, HistoryLost> {
        let change = match self.versions.next() {
            None => return Ok(None),
            Some(Ok(difference)) => change_of(difference),
            Some(Err(error)) => {
                tracing::warn!(zone = %self.zone, %error, "zone {}: its history cannot be read: {error}; it begins anew", self.zone);
                None
            }
        };
        if change.is_none()
            && let Some(controller) = self.controller.upgrade()
        {
            // The client comes again, and gets all of the zone then.
            controller.historian.begin_anew(&self.zone);
        }
        change.map(Some).ok_or(HistoryLost)
    }
}
