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

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sync::Mutex;
use wire::{Name, NameBuf};

use crate::disk::Disk;
use crate::record::{Body, Entry};
use crate::sum::Key;

mod files;
#[cfg(test)]
mod tests;
mod versions;

use files::{Place, ZoneFiles};
pub use versions::{Difference, Versions};

/// Octets of changes that may wait to be written. A history that is so far behind begins anew.
pub const QUEUE_OCTETS_MAX: usize = 64 << 20;
/// Zones whose files are open between two changes: two descriptors each.
const KNOWN_MAX: usize = 256;
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

/// A change that waits to be written.
struct Pushed {
    zone: u64,
    group: u64,
    entry: Arc<Entry>,
    bound: Bound,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Pushed>,
    queue_octets: usize,
    /// By the hash of the name.
    known: HashMap<u64, ZoneFiles>,
    /// Files that were written since the last sync.
    unsynced: BTreeSet<PathBuf>,
    appended: u64,
    begun: u64,
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
    /// Changes written.
    pub appended: u64,
    /// How often the history of a zone began anew, other than when it was new.
    pub begun: u64,
}

/// The hash of a zone's name, which its files are named by. Whose they are is said in them.
fn hash(zone: &Name) -> u64 {
    Key::new(b"zonda's history ").zone(zone)
}

impl History {
    /// The history in `folder`, which is made when it is needed.
    pub fn new(disk: Arc<dyn Disk>, folder: &Path) -> History {
        let queue = Mutex::named("history that waits", State::default());
        History { disk, folder: folder.to_owned(), queue, files: Mutex::named("history files", ()) }
    }

    /// Takes a change that is on the disk with group `group`. What is no difference begins the zone's history anew. Changes of a zone come in
    /// the order of their groups; what was there before is passed over, so that a replay may bring them again.
    pub fn push(&self, group: u64, entry: Arc<Entry>, bound: Bound) {
        let zone = hash(entry.record().zone);
        let mut state = self.queue.lock();
        state.queue_octets += entry.octets();
        state.queue.push_back(Pushed { zone, group, entry, bound });
        while state.queue_octets > QUEUE_OCTETS_MAX {
            // The next one of that zone does not follow what is in its files, and begins anew.
            let Some(dropped) = state.queue.pop_front() else { break };
            state.queue_octets -= dropped.entry.octets();
        }
    }

    /// Writes what waits. The error: one could not be written, and its zone's history ends there; others go on. To be called every 100 ms or
    /// so by a thread of low priority.
    pub fn flush(&self) -> io::Result<()> {
        let _writing = self.files.lock();
        let mut result = Ok(());
        // What comes meanwhile is for the next time.
        let count = self.queue.lock().queue.len();
        for _ in 0..count {
            let (next, known) = {
                let mut state = self.queue.lock();
                let Some(next) = state.queue.front().map(Pushed::copy) else { break };
                let known = state.known.remove(&next.zone);
                (next, known)
            };
            let written = self.write(&next, known);
            let mut state = self.queue.lock();
            // It leaves the queue when it can be read from the file. It is gone if the queue was too long.
            if state.queue.front().is_some_and(|front| Arc::ptr_eq(&front.entry, &next.entry)) {
                state.queue.pop_front();
                state.queue_octets -= next.entry.octets();
            }
            match written {
                Ok(files) => {
                    if state.known.len() >= KNOWN_MAX {
                        state.known.clear();
                    }
                    state.known.insert(next.zone, files);
                }
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// Writes one change, if it is new. A history that it does not follow begins anew.
    fn write(&self, next: &Pushed, known: Option<ZoneFiles>) -> io::Result<ZoneFiles> {
        let record = next.entry.record();
        let mut files = match known {
            Some(files) => files,
            None => ZoneFiles::load(&*self.disk, &self.folder, record.zone)?.counted()?,
        };
        // A group may have several versions of a zone: one of the last group is new if it goes on from there.
        let is_old = |last: files::Last| {
            next.group < last.group || next.group == last.group && record.serial_before != last.after
        };
        if next.group != 0 && files.last().is_some_and(is_old) {
            return Ok(files);
        }
        let Body::Difference { removed, added } = record.body else {
            if !matches!(record.body, Body::Checked { .. }) {
                self.begin_anew(&mut files)?;
            }
            return Ok(files);
        };
        if files.last().is_some_and(|last| last.after != record.serial_before) {
            self.begin_anew(&mut files)?;
        }
        let bound = Bound { octets: next.bound.octets.max(BOUND_OCTETS_MIN), ..next.bound };
        let octets = files::entry(next.group, &record, removed, added);
        if octets.len() as u64 > bound.octets / 2 - files.head_octets() {
            self.begin_anew(&mut files)?;
            return Ok(files);
        }
        let path = files.append(&*self.disk, octets, bound)?;
        let mut state = self.queue.lock();
        state.appended += 1;
        state.unsynced.insert(path);
        Ok(files)
    }

    fn begin_anew(&self, files: &mut ZoneFiles) -> io::Result<()> {
        if files.last().is_some() {
            self.queue.lock().begun += 1;
        }
        files.remove(&*self.disk)
    }

    /// The differences that lead from the version with serial `from` to that with serial `to`, oldest first. `None`: they are not all there.
    /// Reads some octets for each; their records are read later, from `Versions`.
    pub fn since(&self, zone: &Name, from: u32, to: u32) -> io::Result<Option<Versions>> {
        let number = hash(zone);
        // A flush moves entries from the queue to files: it is not between the two while this looks.
        let _reading = self.files.lock();
        let queued: Vec<(u64, Arc<Entry>)> = {
            let state = self.queue.lock();
            let of_zone = state.queue.iter().filter(|pushed| pushed.zone == number);
            of_zone.map(|pushed| (pushed.group, Arc::clone(&pushed.entry))).collect()
        };
        let known = self.queue.lock().known.get(&number).cloned();
        let files = match known {
            Some(files) => files,
            None => ZoneFiles::load(&*self.disk, &self.folder, zone)?,
        };
        versions::collect(&*self.disk, &files, queued, zone, from, to)
    }

    /// Removes the history of a zone: that of one which is no longer served, or which a reader has found damaged.
    pub fn forget(&self, zone: &Name) -> io::Result<()> {
        let _writing = self.files.lock();
        let number = hash(zone);
        {
            let mut state = self.queue.lock();
            let State { queue, queue_octets, known, .. } = &mut *state;
            queue.retain(|pushed| pushed.zone != number);
            *queue_octets = queue.iter().map(|pushed| pushed.entry.octets()).sum();
            known.remove(&number);
        }
        ZoneFiles::load(&*self.disk, &self.folder, zone)?.remove(&*self.disk)
    }

    /// Syncs the files that were written since this was called last, one after the other.
    pub fn sync(&self) -> io::Result<()> {
        let unsynced = std::mem::take(&mut self.queue.lock().unsynced);
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
        let State { queue, queue_octets, appended, begun, .. } = &*self.queue.lock();
        HistoryStatus {
            waiting: queue.len(),
            waiting_octets: *queue_octets,
            appended: *appended,
            begun: *begun,
        }
    }

    /// What is wrong with the history of a zone, and where: each entry is read. For people.
    pub fn verify(&self, zone: &Name) -> io::Result<Vec<String>> {
        let _reading = self.files.lock();
        ZoneFiles::load(&*self.disk, &self.folder, zone)?.verify(&*self.disk)
    }

    /// The zones that have files whose heads can be read. For people.
    pub fn zones(&self) -> io::Result<Vec<NameBuf>> {
        let _reading = self.files.lock();
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let mut zones: Vec<NameBuf> = Vec::new();
        let folders = match self.disk.names(&self.folder) {
            Ok(folders) => folders,
            Err(error) if is_missing(&error) => return Ok(zones),
            Err(error) => return Err(error),
        };
        for folder in folders.iter().map(|name| self.folder.join(name)) {
            for name in self.disk.names(&folder)? {
                zones.extend(files::zone_of(&*self.disk, &folder.join(name))?);
            }
        }
        zones.sort_unstable_by(|one, other| one.octets().cmp(other.octets()));
        zones.dedup_by(|one, other| one.octets() == other.octets());
        Ok(zones)
    }

    /// The versions that the files of a zone have, oldest first: group, serials before and after, time, octets. For people.
    pub fn list(&self, zone: &Name) -> io::Result<Vec<Listed>> {
        let _reading = self.files.lock();
        let files = ZoneFiles::load(&*self.disk, &self.folder, zone)?;
        let mut places: Vec<Place> = files.backwards(&*self.disk)?.collect::<io::Result<_>>()?;
        places.reverse();
        Ok(places.iter().map(Place::listed).collect())
    }
}

/// A version, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The group of the log that it was in.
    pub group: u64,
    /// The serial before and after.
    pub before: u32,
    /// See `before`.
    pub after: u32,
    /// When it was committed, in seconds since 1970.
    pub time: u64,
    /// Octets of its records.
    pub octets: u64,
}

impl Pushed {
    fn copy(&self) -> Pushed {
        Pushed { entry: Arc::clone(&self.entry), ..*self }
    }
}
