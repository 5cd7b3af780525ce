//! Versions of zones for IXFR: `docs/design/journal.md` 5.
//!
//! ```text
//! push --> queue --flush, off the commit path--> history/3f/3fa4….a and .b, at most half of the bound each
//!             `--------- since: both as one sequence ---------'`--> differences from a serial on
//!
//! file   0..8 ZONDAHI\n | 8..12 version | 12..16 octets of the name | 16..24 sequence | 24..32 sum of these and the name | name, zeros | entries
//! entry  0..8 sum of the head | 8..16 sum of the octets | 16..24 group | 24..28, 28..32 serial before, after | 32..40 time
//!        40..44, 44..48 octets removed, added | removed, added, zeros | octets of the entry u32 (to read backwards), zero u32
//! ```
//!
//! The file with the higher sequence is in use; when it is full the other is made anew under another name and takes its place, so that who
//! reads it goes on. What is old goes without copying, and disk use stays.
//!
//! Nothing here is needed to be right: entries are taken if one leads to the next and the last to the version that is served, and all else
//! makes an IXFR an AXFR. So it is synced when there is time.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sync::Mutex;
use wire::Name;

use crate::disk::Disk;
use crate::record::{Body, Entry};
use crate::sum::{Identity, Key};

mod files;
mod flush;
mod later;
mod mark;
mod show;
#[cfg(test)]
mod tests;
mod versions;
mod waiting;

use files::ZoneFiles;
pub use later::{Found, Later};
pub use show::Listed;
pub use versions::{Difference, Versions};
use waiting::{LogPlace, Pushed, State, What};

/// Octets of changes that may wait to be written. A history that is so far behind begins anew.
pub const QUEUE_OCTETS_MAX: usize = 64 << 20;
/// Differences that wait to be found: each keeps two versions of a zone, most of which share their packs. What comes beyond begins anew.
pub const LATER_MAX: usize = 16_384;
/// The least bound of a zone's history: what one change of a signed zone may take.
pub const BOUND_OCTETS_MIN: u64 = 64 << 10;

/// How much of a zone is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Octets of both files, at least [`BOUND_OCTETS_MIN`]. Between half of it and all is there.
    pub octets: u64,
    /// Versions.
    pub versions: u32,
}

impl Bound {
    /// Most octets of one difference: of a larger one nothing would be left beside it.
    pub fn difference_octets_max(&self) -> u64 {
        self.octets.max(BOUND_OCTETS_MIN) / 2
    }
}

/// The history of all zones.
pub struct History {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// What waits, by itself: `push` never waits for a disk.
    queue: Mutex<State>,
    /// Who reads or writes files.
    files: Mutex<()>,
}

/// What it has and has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryStatus {
    /// Changes that wait to be written, and their octets.
    pub waiting: usize,
    /// See `waiting`.
    pub waiting_octets: usize,
    /// Zones that have a history.
    pub zones: usize,
    /// Changes written.
    pub appended: u64,
    /// How often the history of a zone began anew, other than when it was new.
    pub begun: u64,
}

/// The hash of a zone's name, which its files are named by. Whose they are is said in them.
fn hash(zone: &Name) -> u64 {
    Key::new(b"zonda's history ").zone(zone)
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

impl History {
    /// The history in `folder`, which is made when it is needed. Nothing of it is offered before [`History::begin`].
    pub fn new(disk: Arc<dyn Disk>, folder: &Path) -> History {
        let queue = Mutex::named("history that waits", State::default());
        History { disk, folder: folder.to_owned(), queue, files: Mutex::named("history files", ()) }
    }

    /// Looks at what is there, and goes on with it if it is of this log, whose last group is `newest`; without a log both are zero. Returns the
    /// group from which on the log has to be brought again, with [`History::again`]. Writes nothing: another server may still.
    pub fn begin(&self, log: &Identity, newest: u64) -> io::Result<u64> {
        let _reading = self.files.lock();
        let mut zones = HashMap::new();
        for folder in self.folders()? {
            for name in self.disk.names(&folder)? {
                let number =
                    name.to_str().and_then(|name| u64::from_str_radix(name.split('.').next()?, 16).ok());
                zones.extend(number.map(|number| (number, false)));
            }
        }
        let mark = mark::read(&*self.disk, &self.folder)?.filter(|(identity, _)| identity == log);
        let is_void = mark.is_none() && !zones.is_empty();
        if is_void {
            zones.clear();
        }
        let marked = mark.map_or(0, |(_, group)| group);
        let mut state = self.queue.lock();
        zones.extend(state.queue.iter().map(|pushed| (pushed.zone, false)));
        (state.zones, state.known) = (zones, HashMap::new());
        let pushed = state.log.pushed.max(newest);
        state.log = LogPlace { identity: *log, newest, pushed, marked, mark: None, is_void, is_begun: true };
        Ok(marked)
    }

    /// There is a log from now on.
    pub fn log_begins(&self, log: &Identity) {
        let mut state = self.queue.lock();
        if state.log.identity != *log {
            (state.log.identity, state.log.mark, state.log.marked) = (*log, None, 0);
        }
    }

    /// The log has groups up to this one: what is pushed later without a group of its own is newer.
    pub fn note_group(&self, group: u64) {
        let log = &mut self.queue.lock().log;
        log.pushed = log.pushed.max(group);
    }

    /// Takes a change that is on the disk with group `group`. What is no difference begins the zone's history anew. Changes of a zone come in
    /// the order of their groups; what was there before is passed over.
    pub fn push(&self, group: u64, entry: Arc<Entry>) {
        let zone = hash(entry.record().zone);
        self.enqueue(Pushed { zone, group, what: What::Entry(entry), is_again: false });
    }

    /// Takes a change that a start found in the log: the history may have it already. If not, it is appended where it goes on from there.
    pub fn again(&self, group: u64, entry: Arc<Entry>) {
        let zone = hash(entry.record().zone);
        self.enqueue(Pushed { zone, group, what: What::Entry(entry), is_again: true });
    }

    /// Takes a difference that is found later.
    pub fn push_later(&self, later: Arc<Later>) {
        let (zone, group) = {
            let state = self.queue.lock();
            if state.later >= LATER_MAX {
                drop(state);
                return self.begin_anew(later.zone());
            }
            (hash(later.zone()), state.log.pushed)
        };
        self.enqueue(Pushed { zone, group, what: What::Later(later), is_again: false });
    }

    /// Begins the history of a zone anew, if it has one: nothing is known of what led to what is served.
    pub fn begin_anew(&self, zone: &Name) {
        let number = hash(zone);
        let group = {
            let state = self.queue.lock();
            if !state.zones.contains_key(&number) {
                return;
            }
            state.log.pushed
        };
        let Ok(entry) = Entry::new(zone, 0, 0, 0, Body::Removed) else { return };
        self.enqueue(Pushed { zone: number, group, what: What::Entry(Arc::new(entry)), is_again: false });
    }

    fn enqueue(&self, pushed: Pushed) {
        let mut state = self.queue.lock();
        state.log.pushed = state.log.pushed.max(pushed.group);
        state.zones.entry(pushed.zone).or_insert(false);
        state.queue_octets += pushed.octets();
        state.later += usize::from(matches!(pushed.what, What::Later(_)));
        state.queue.push_back(pushed);
        while state.queue_octets > QUEUE_OCTETS_MAX {
            // What comes of that zone next begins its history anew.
            let Some(zone) = state.leave() else { break };
            state.ended.insert(zone);
        }
    }

    /// Whether a zone has versions, or something that waits.
    pub fn has(&self, zone: &Name) -> bool {
        let state = self.queue.lock();
        !state.zones.is_empty() && state.zones.contains_key(&hash(zone))
    }

    /// Whether the history of a zone has a version that one of these groups of the log made, as far as files can be read.
    pub fn has_version_of(&self, zone: &Name, groups: RangeInclusive<u64>) -> bool {
        if !self.has(zone) {
            return false;
        }
        let _reading = self.files.lock();
        let Ok(files) = ZoneFiles::load(&*self.disk, &self.folder, zone) else { return false };
        let Ok(places) = files.backwards(&*self.disk) else { return false };
        let mut of_groups = places.map_while(Result::ok).map(|place| place.group);
        of_groups.any(|group| groups.contains(&group))
    }

    /// The serial that the history of a zone ends with, as far as it is in files that can be read.
    pub fn last_serial(&self, zone: &Name) -> Option<u32> {
        if !self.has(zone) {
            return None;
        }
        let _reading = self.files.lock();
        Some(ZoneFiles::load(&*self.disk, &self.folder, zone).ok()?.last()?.after)
    }

    /// A difference that is to be found before what comes behind it can be written.
    pub fn to_find(&self) -> Option<Arc<Later>> {
        let state = self.queue.lock();
        if state.later == 0 {
            return None;
        }
        state.queue.iter().find_map(|pushed| match &pushed.what {
            What::Later(later) if later.found().is_none() => Some(Arc::clone(later)),
            _ => None,
        })
    }

    /// The differences that lead from the version with serial `from` to that with serial `to`, which is served or was a moment ago, oldest first. `None`:
    /// they are not all there. Reads some octets for each; their records are read later, from `Versions`.
    pub fn since(&self, zone: &Name, from: u32, to: u32) -> io::Result<Option<Versions>> {
        self.versions(zone, Some(from), to)
    }

    /// All that leads to the version with serial `to`, as [`History::since`] has it, from as far back as there is anything; none, where nothing does.
    pub fn all(&self, zone: &Name, to: u32) -> io::Result<Option<Versions>> {
        self.versions(zone, None, to)
    }

    fn versions(&self, zone: &Name, from: Option<u32>, to: u32) -> io::Result<Option<Versions>> {
        let number = hash(zone);
        self.find_quick(number);
        // A flush moves entries from the queue to files: it is not between the two while this looks.
        let _reading = self.files.lock();
        let (queued, known, newest, is_ended) = {
            let state = self.queue.lock();
            let Some(is_checked) = state.zones.get(&number).filter(|_| state.log.is_begun) else {
                return Ok(None);
            };
            let of_zone = state.queue.iter().filter(|pushed| pushed.zone == number);
            let queued: Vec<_> = of_zone.filter_map(Pushed::as_version).collect();
            // Before anything came for it what is there must end with what is served.
            let newest = (!is_checked).then_some((state.log.newest, queued.is_empty()));
            let is_ended = state.log.is_void || state.ended.contains(&number);
            (queued, state.known.get(&number).cloned(), newest, is_ended)
        };
        let mut files = match known {
            _ if is_ended => ZoneFiles::none(&self.folder, zone),
            Some(files) => files,
            None => ZoneFiles::load(&*self.disk, &self.folder, zone)?,
        };
        if let (Some((newest, is_alone)), Some(last)) = (newest, files.last())
            && (last.group > newest || is_alone && last.after != to)
        {
            files = ZoneFiles::none(&self.folder, zone);
        }
        versions::collect(&*self.disk, &files, queued, zone, from, to)
    }

    /// Finds what is found quickly of a zone, so that who is told of a version and asks at once gets what leads there.
    fn find_quick(&self, zone: u64) {
        let quick: Vec<Arc<Later>> = {
            let state = self.queue.lock();
            if state.later == 0 {
                return;
            }
            let of_zone = state.queue.iter().filter(|pushed| pushed.zone == zone);
            of_zone
                .filter_map(|pushed| match &pushed.what {
                    What::Later(later) if later.is_quick() => Some(Arc::clone(later)),
                    _ => None,
                })
                .collect()
        };
        quick.iter().for_each(|later| later.find());
    }

    /// Removes the history of a zone at once: that of one which is no longer served, or which a reader has found damaged.
    pub fn forget(&self, zone: &Name) -> io::Result<()> {
        let _writing = self.files.lock();
        let number = hash(zone);
        {
            let mut state = self.queue.lock();
            let State { queue, queue_octets, later, known, zones, .. } = &mut *state;
            queue.retain(|pushed| pushed.zone != number);
            *queue_octets = queue.iter().map(Pushed::octets).sum();
            *later = queue.iter().filter(|pushed| matches!(pushed.what, What::Later(_))).count();
            known.remove(&number);
            zones.remove(&number);
        }
        ZoneFiles::load(&*self.disk, &self.folder, zone)?.remove(&*self.disk)
    }

    /// The folders that have files of zones.
    fn folders(&self) -> io::Result<Vec<PathBuf>> {
        let names = match self.disk.names(&self.folder) {
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            names => names?,
        };
        let is_folder = |name: &std::ffi::OsString| name.len() == files::FOLDER_NAME_OCTETS;
        Ok(names.into_iter().filter(is_folder).map(|name| self.folder.join(name)).collect())
    }

    /// Syncs the files that were written since this was called last, one after the other.
    pub fn sync(&self) -> io::Result<()> {
        let mut unsynced = std::mem::take(&mut self.queue.lock().unsynced);
        if !unsynced.is_empty() {
            unsynced.insert(mark::path(&self.folder));
        }
        for path in &unsynced {
            match self.disk.open(path) {
                Ok(file) => file.sync()?,
                // Removed since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let folders: BTreeSet<&Path> = unsynced.iter().filter_map(|path| path.parent()).collect();
        folders.into_iter().try_for_each(|folder| self.disk.sync_folder(folder))
    }

    /// What it has and has done.
    pub fn status(&self) -> HistoryStatus {
        let State { queue, queue_octets, zones, appended, begun, .. } = &*self.queue.lock();
        HistoryStatus {
            waiting: queue.len(),
            waiting_octets: *queue_octets,
            zones: zones.len(),
            appended: *appended,
            begun: *begun,
        }
    }
}
