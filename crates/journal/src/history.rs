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

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sync::Mutex;
use wire::{Name, NameBuf};

use crate::disk::{Disk, File};
use crate::record::{Body, Entry};
use crate::sum::{Identity, Key};

mod files;
mod later;
mod mark;
#[cfg(test)]
mod tests;
mod versions;

use files::{Place, ZoneFiles};
pub use later::{Found, Later};
pub use versions::{Difference, Versions};

/// Octets of changes that may wait to be written. A history that is so far behind begins anew.
pub const QUEUE_OCTETS_MAX: usize = 64 << 20;
/// Differences that wait to be found: each keeps two versions of a zone, most of which share their packs. What comes beyond begins anew.
pub const LATER_MAX: usize = 16_384;
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

impl Bound {
    /// Most octets of one difference: of a larger one nothing would be left beside it.
    pub fn difference_octets_max(&self) -> u64 {
        self.octets.max(BOUND_OCTETS_MIN) / 2
    }
}

/// Something that waits to be written.
#[derive(Clone)]
struct Pushed {
    zone: u64,
    group: u64,
    what: What,
    /// It is said once more, by a start: it begins nothing anew.
    is_again: bool,
}

#[derive(Clone)]
enum What {
    Entry(Arc<Entry>),
    Later(Arc<Later>),
}

impl Pushed {
    fn octets(&self) -> usize {
        match &self.what {
            What::Entry(entry) => entry.octets(),
            What::Later(_) => 0,
        }
    }

    fn is(&self, other: &Pushed) -> bool {
        match (&self.what, &other.what) {
            (What::Entry(one), What::Entry(other)) => Arc::ptr_eq(one, other),
            (What::Later(one), What::Later(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

#[derive(Default)]
struct State {
    queue: VecDeque<Pushed>,
    queue_octets: usize,
    /// How many of those that wait are [`Later`].
    later: usize,
    /// By the hash of the name.
    known: HashMap<u64, ZoneFiles>,
    /// Zones that have files or something that waits, by the hash of the name, and whether what they have was found to go with what the log has.
    zones: HashMap<u64, bool>,
    /// Zones of which something fell out of the queue: what is in their files leads nowhere.
    ended: HashSet<u64>,
    /// Files that were written since the last sync.
    unsynced: BTreeSet<PathBuf>,
    log: LogPlace,
    appended: u64,
    begun: u64,
}

/// Which log it is of.
#[derive(Default)]
struct LogPlace {
    identity: Identity,
    /// The last group that the log had when that was opened: an entry of a later one is of another life.
    newest: u64,
    /// The newest group that was pushed.
    pushed: u64,
    /// What the mark says, and its file, if that is of this log.
    marked: u64,
    mark: Option<Arc<dyn File>>,
    /// What is there is of another log, and goes with the next flush.
    is_void: bool,
    is_begun: bool,
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

    /// Writes what waits, up to a difference that is not found yet. `bound_of`: how much of a zone is kept. The error: one could not be written, and its
    /// zone's history ends there; others go on. To be called every 100 ms or so by a thread of low priority.
    pub fn flush(&self, bound_of: &dyn Fn(&Name) -> Bound) -> io::Result<()> {
        let _writing = self.files.lock();
        if !self.queue.lock().log.is_begun {
            return Ok(());
        }
        self.make_valid()?;
        let mut result = Ok(());
        // What comes meanwhile is for the next time.
        let count = self.queue.lock().queue.len();
        let mut group = 0;
        for _ in 0..count {
            let (next, known) = {
                let mut state = self.queue.lock();
                let Some(next) = state.queue.front().cloned() else { break };
                if matches!(&next.what, What::Later(later) if later.found().is_none()) {
                    break;
                }
                let known = state.known.remove(&next.zone);
                (next, known)
            };
            group = group.max(next.group);
            let written = self.write(&next, known, bound_of);
            let mut state = self.queue.lock();
            // It leaves the queue when it can be read from the file. It is gone if the queue was too long.
            if state.queue.front().is_some_and(|front| front.is(&next)) {
                state.leave();
            }
            match written {
                Ok(files) => state.keep(next.zone, files),
                Err(error) => result = Err(error),
            }
        }
        result.and(if count > 0 { self.raise_mark(group) } else { Ok(()) })
    }

    /// Removes what is of another log.
    fn make_valid(&self) -> io::Result<()> {
        if !self.queue.lock().log.is_void {
            return Ok(());
        }
        for folder in self.folders()? {
            for name in self.disk.names(&folder)? {
                self.disk.remove(&folder.join(name))?;
            }
            self.disk.sync_folder(&folder)?;
        }
        self.queue.lock().log.is_void = false;
        Ok(())
    }

    /// Says how far the history is: `group` was the last that was written, of which more may come.
    fn raise_mark(&self, group: u64) -> io::Result<()> {
        let (identity, marked, file) = {
            let log = &self.queue.lock().log;
            (log.identity, log.marked, log.mark.clone())
        };
        if group <= marked && file.is_some() {
            return Ok(());
        }
        let file = match file {
            Some(file) => file,
            None => mark::make(&*self.disk, &self.folder, &identity)?,
        };
        mark::raise(&*file, group)?;
        let log = &mut self.queue.lock().log;
        if log.identity == identity {
            (log.marked, log.mark) = (group, Some(file));
        }
        Ok(())
    }

    /// Writes one change, if it is new. A history that it does not follow begins anew.
    fn write(
        &self,
        next: &Pushed,
        known: Option<ZoneFiles>,
        bound_of: &dyn Fn(&Name) -> Bound,
    ) -> io::Result<ZoneFiles> {
        let (name, entry) = match &next.what {
            What::Entry(entry) => (entry.record().zone, Some(entry)),
            What::Later(later) => (later.zone(), later.found().and_then(|found| found.ok().flatten())),
        };
        let is_same = matches!(&next.what, What::Later(later) if matches!(later.found(), Some(Ok(None))));
        let mut files = match known {
            Some(files) => files,
            None => ZoneFiles::load(&*self.disk, &self.folder, name)?.counted()?,
        };
        self.check_life(next.zone, &mut files)?;
        if is_same {
            return Ok(files);
        }
        let Some(entry) = entry else {
            self.end(&mut files)?;
            return Ok(files);
        };
        let record = entry.record();
        let Body::Difference { removed, added } = record.body else {
            // Said again, it is the end of what was before it.
            let is_behind = next.is_again && files.last().is_some_and(|last| last.group >= next.group);
            if !matches!(record.body, Body::Checked { .. }) && !is_behind {
                self.end(&mut files)?;
            }
            return Ok(files);
        };
        // A group may have several versions of a zone: one of the last group is new if it goes on from there.
        let is_old = |last: files::Last| {
            next.group < last.group || next.group == last.group && record.serial_before != last.after
        };
        if next.group != 0 && files.last().is_some_and(is_old) {
            return Ok(files);
        }
        // A serial that is not greater is that of another life, and comes by again.
        let is_forward = is_forward(entry);
        if !is_forward || files.last().is_some_and(|last| last.after != record.serial_before) {
            if next.is_again {
                return Ok(files);
            }
            self.end(&mut files)?;
        }
        let bound = bound_of(record.zone);
        let bound = Bound { octets: bound.octets.max(BOUND_OCTETS_MIN), ..bound };
        let octets = files::entry(next.group, &record, removed, added);
        if !is_forward || octets.len() as u64 > bound.difference_octets_max() - files.head_octets() {
            self.end(&mut files)?;
            return Ok(files);
        }
        let path = files.append(&*self.disk, octets, bound)?;
        let mut state = self.queue.lock();
        state.appended += 1;
        state.unsynced.insert(path);
        Ok(files)
    }

    /// What is there of a zone from before must not be newer than the log: then the log has lost something, and the same serials come by again.
    fn check_life(&self, zone: u64, files: &mut ZoneFiles) -> io::Result<()> {
        let newest = {
            let mut state = self.queue.lock();
            if state.ended.remove(&zone) {
                drop(state);
                return self.end(files);
            }
            if state.zones.get(&zone).is_some_and(|is_checked| *is_checked) {
                return Ok(());
            }
            state.log.newest
        };
        if files.last().is_some_and(|last| last.group > newest) {
            self.end(files)?;
        }
        Ok(())
    }

    fn end(&self, files: &mut ZoneFiles) -> io::Result<()> {
        if files.last().is_some() {
            self.queue.lock().begun += 1;
        }
        files.remove(&*self.disk)
    }

    /// The differences that lead from the version with serial `from` to that with serial `to`, which is served or was a moment ago, oldest first. `None`:
    /// they are not all there. Reads some octets for each; their records are read later, from `Versions`.
    pub fn since(&self, zone: &Name, from: u32, to: u32) -> io::Result<Option<Versions>> {
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

    /// What is wrong with the history of a zone, and where: each entry is read. For people.
    pub fn verify(&self, zone: &Name) -> io::Result<Vec<String>> {
        let _reading = self.files.lock();
        ZoneFiles::load(&*self.disk, &self.folder, zone)?.verify(&*self.disk)
    }

    /// The zones that have files whose heads can be read. For people.
    pub fn zones(&self) -> io::Result<Vec<NameBuf>> {
        let _reading = self.files.lock();
        let mut zones: Vec<NameBuf> = Vec::new();
        for folder in self.folders()? {
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

/// Whether a difference leads to a serial that is greater (RFC 1982 3.2); what is none does not lead back either.
fn is_forward(entry: &Entry) -> bool {
    let record = entry.record();
    let is_difference = matches!(record.body, Body::Difference { .. });
    !is_difference || record.serial_after.wrapping_sub(record.serial_before) as i32 > 0
}

impl Pushed {
    /// As a reader has it: its group, and the difference, or `None` where nothing leads on. Nothing: it is no version.
    fn as_version(&self) -> Option<(u64, Option<Arc<Entry>>)> {
        let entry = match &self.what {
            What::Entry(entry) => Some(Arc::clone(entry)),
            What::Later(later) => match later.found() {
                Some(Ok(None)) => return None,
                Some(Ok(Some(entry))) => Some(Arc::clone(entry)),
                Some(Err(_)) | None => None,
            },
        };
        // A difference that leads back is the end of a life.
        Some((self.group, entry.filter(|entry| is_forward(entry))))
    }
}

impl State {
    /// The first that waits leaves. Says of which zone it was.
    fn leave(&mut self) -> Option<u64> {
        let gone = self.queue.pop_front()?;
        self.queue_octets -= gone.octets();
        self.later -= usize::from(matches!(gone.what, What::Later(_)));
        Some(gone.zone)
    }

    /// Keeps the files of a zone open that was written, and knows whether it has any.
    fn keep(&mut self, zone: u64, files: ZoneFiles) {
        if files.last().is_none() && !self.queue.iter().any(|pushed| pushed.zone == zone) {
            self.zones.remove(&zone);
            return;
        }
        self.zones.insert(zone, true);
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(zone, files);
    }
}
