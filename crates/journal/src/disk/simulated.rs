//! A disk in memory that loses what was not synced when the power fails, tears it, and whose syncs fail and lie. For tests.
//!
//! ```text
//! content   written -- sync --> kept     not synced: each sector old or new, one of them torn at any octet; the length old or new
//! names     changed -- sync of the folder --> kept     not synced: the first of the changes, or any of them
//! ```
//!
//! A sync that fails has written any of the sectors; the others are as if it had, as seen by the program: no later sync writes them.
//! So what is read is not what the disk has, until the power fails.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sync::Random;

use super::{Disk, File};

/// What of a file is lost or kept together, but for the one that is torn.
const SECTOR_OCTETS: usize = 512;

/// What goes wrong. Shares are of 0 to 1, of the calls of that kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Syncs of files that fail.
    pub sync: f64,
    /// Writes that fail, with a part of them done.
    pub write: f64,
    /// Changes of names, and syncs of folders, that fail.
    pub names: f64,
    /// A sync that does nothing and says that it did: what a program that forgets it would have.
    pub forget_sync: bool,
    /// The same for folders.
    pub forget_sync_folder: bool,
}

#[derive(Clone, Default)]
struct Content {
    /// As the program reads it.
    seen: Vec<u8>,
    /// As the disk has it.
    kept: Vec<u8>,
    /// Sectors that differ, and that the next sync writes.
    dirty: BTreeSet<usize>,
    is_length_dirty: bool,
}

#[derive(Clone)]
enum Change {
    Add(PathBuf, usize),
    Rename(PathBuf, PathBuf, usize),
    Remove(PathBuf),
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Change::Add(name, file) => drop(names.insert(name.clone(), *file)),
            Change::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
            Change::Remove(name) => drop(names.remove(name)),
        }
    }

    fn folder(&self) -> &Path {
        let (Change::Add(name, _) | Change::Rename(_, name, _) | Change::Remove(name)) = self;
        name.parent().unwrap_or(Path::new(""))
    }
}

struct State {
    files: Vec<Content>,
    names: BTreeMap<PathBuf, usize>,
    kept: BTreeMap<PathBuf, usize>,
    changes: Vec<Change>,
    folders: BTreeSet<PathBuf>,
    random: Random,
    faults: Faults,
    /// Calls that change something until the power fails.
    left: Option<usize>,
    calls: usize,
    syncs: usize,
    /// Octets of all files, at most.
    room: usize,
}

/// See the module. Clones are the same disk.
#[derive(Clone)]
pub struct Simulated {
    state: Arc<Mutex<State>>,
}

struct OpenFile {
    disk: Simulated,
    number: usize,
}

fn failed(what: &str) -> io::Error {
    io::Error::other(format!("simulated: {what} failed"))
}

impl State {
    /// One call more that changes something. The error: the power has failed.
    fn call(&mut self) -> io::Result<()> {
        self.calls += 1;
        match &mut self.left {
            Some(0) => Err(failed("the power")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn change(&mut self, change: Change) -> io::Result<()> {
        self.call()?;
        if self.random.chance(self.faults.names) {
            return Err(failed("a change of names"));
        }
        change.apply(&mut self.names);
        self.changes.push(change);
        Ok(())
    }

    fn used(&self) -> usize {
        let held: BTreeSet<usize> = self.names.values().copied().collect();
        held.iter().map(|file| self.files[*file].seen.len()).sum()
    }

    /// Brings sectors to the disk: all, or some.
    fn write_back(&mut self, number: usize, is_all: bool) {
        let State { files, random, .. } = self;
        let Content { seen, kept, dirty, is_length_dirty } = &mut files[number];
        if *is_length_dirty && (is_all || random.chance(0.5)) {
            kept.resize(seen.len(), 0);
        }
        for sector in std::mem::take(dirty) {
            if is_all || random.chance(0.5) {
                let start = sector * SECTOR_OCTETS;
                let end = (start + SECTOR_OCTETS).min(seen.len()).min(kept.len());
                if start < end {
                    kept[start..end].copy_from_slice(&seen[start..end]);
                }
            }
        }
        *is_length_dirty = false;
    }

    /// One of the sectors that the power failed on has its first octets only.
    fn tear(&mut self, number: usize) {
        let State { files, random, .. } = self;
        let Content { seen, kept, dirty, .. } = &mut files[number];
        let Some(sector) = dirty.iter().nth(random.index(dirty.len().max(1))).copied() else { return };
        let start = sector * SECTOR_OCTETS;
        let end = (start + random.index(SECTOR_OCTETS)).min(seen.len()).min(kept.len());
        if start < end {
            kept[start..end].copy_from_slice(&seen[start..end]);
        }
        dirty.remove(&sector);
    }
}

impl Default for Simulated {
    fn default() -> Simulated {
        Simulated::new(0)
    }
}

impl Simulated {
    /// An empty disk; what goes wrong follows from the seed.
    pub fn new(seed: u64) -> Simulated {
        let state = State {
            files: Vec::new(),
            names: BTreeMap::new(),
            kept: BTreeMap::new(),
            changes: Vec::new(),
            folders: BTreeSet::new(),
            random: Random::new(seed),
            faults: Faults::default(),
            left: None,
            calls: 0,
            syncs: 0,
            room: usize::MAX,
        };
        Simulated { state: Arc::new(Mutex::new(state)) }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.locked().faults = faults;
    }

    /// Has the power fail after so many calls that change something: all that comes then is an error.
    pub fn fail_after(&self, calls: usize) {
        self.locked().left = Some(calls);
    }

    /// Whether it has failed.
    pub fn has_failed(&self) -> bool {
        self.locked().left == Some(0)
    }

    /// Calls so far that change something, and how many of them were syncs of files.
    pub fn calls(&self) -> (usize, usize) {
        let state = self.locked();
        (state.calls, state.syncs)
    }

    /// Octets that all files may have together.
    pub fn set_room(&self, octets: usize) {
        self.locked().room = octets;
    }

    /// Octets that all files have.
    pub fn used(&self) -> usize {
        self.locked().used()
    }

    /// The program is killed, the machine goes on: what was written is seen by the next, synced or not.
    pub fn kill(&self) -> Simulated {
        let disk = Simulated::new(0);
        let state = self.locked();
        {
            let mut new = disk.locked();
            new.random = state.random.clone();
            new.files.clone_from(&state.files);
            new.names.clone_from(&state.names);
            new.kept.clone_from(&state.kept);
            new.changes.clone_from(&state.changes);
            new.folders.clone_from(&state.folders);
        }
        disk
    }

    /// The power fails: a disk with what is left. Files that are open go on with the old one.
    pub fn crash(&self) -> Simulated {
        let disk = self.kill();
        {
            let mut state = disk.locked();
            for number in 0..state.files.len() {
                if state.random.chance(0.5) {
                    state.tear(number);
                }
                state.write_back(number, false);
                let content = &mut state.files[number];
                content.seen = content.kept.clone();
            }
            let count = state.changes.len() + 1;
            let (is_in_order, first) = (state.random.chance(0.5), state.random.index(count));
            let mut names = state.kept.clone();
            for (at, change) in std::mem::take(&mut state.changes).iter().enumerate() {
                if if is_in_order { at < first } else { state.random.chance(0.5) } {
                    change.apply(&mut names);
                }
            }
            state.names.clone_from(&names);
            state.kept = names;
        }
        disk
    }

    /// Changes octets of a file, on the disk too: a fault of the medium.
    pub fn damage(&self, path: &Path, at: u64, change: impl FnOnce(&mut [u8])) {
        let mut state = self.locked();
        let Some(number) = state.names.get(path).copied() else { return };
        let content = &mut state.files[number];
        if let Some(octets) = content.seen.get_mut(at as usize..) {
            change(octets);
        }
        content.kept = content.seen.clone();
    }

    /// The content of a file as the program sees it.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.locked();
        state.names.get(path).map(|number| state.files[*number].seen.clone())
    }
}

impl Disk for Simulated {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut state = self.locked();
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let number = state.files.len();
        state.change(Change::Add(path.to_owned(), number))?;
        state.files.push(Content::default());
        Ok(Arc::new(OpenFile { disk: self.clone(), number }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let number = *self.locked().names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(OpenFile { disk: self.clone(), number }))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let state = self.locked();
        let in_folder = |path: &&PathBuf| path.parent() == Some(folder);
        let below = state.names.keys().chain(&state.folders).filter(in_folder);
        Ok(below.filter_map(|path| path.file_name()).map(OsString::from).collect())
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.locked();
        state.call()?;
        state.folders.extend(folder.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.locked();
        let number = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        state.change(Change::Rename(from.to_owned(), to.to_owned(), number))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.locked();
        if !state.names.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change(Change::Remove(path.to_owned()))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.locked();
        state.call()?;
        let share = state.faults.names;
        if state.random.chance(share) {
            return Err(failed("a sync of a folder"));
        }
        if !state.faults.forget_sync_folder {
            let (done, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.changes).into_iter().partition(|change| change.folder() == folder);
            let State { kept, .. } = &mut *state;
            done.iter().for_each(|change| change.apply(kept));
            state.changes = rest;
        }
        Ok(())
    }

    fn sync_all(&self, folder: &Path) -> io::Result<()> {
        let (numbers, folders): (BTreeSet<usize>, BTreeSet<PathBuf>) = {
            let state = self.locked();
            let below = || state.names.iter().filter(|(path, _)| path.starts_with(folder));
            let folders = state.changes.iter().map(|change| change.folder().to_owned());
            (
                below().map(|(_, number)| *number).collect(),
                folders.filter(|path| path.starts_with(folder)).collect(),
            )
        };
        for number in numbers {
            OpenFile { disk: self.clone(), number }.sync()?;
        }
        folders.iter().try_for_each(|folder| self.sync_folder(folder))
    }
}

impl File for OpenFile {
    fn read_at(&self, octets: &mut [u8], at: u64) -> io::Result<()> {
        let state = self.disk.locked();
        let content = &state.files[self.number].seen;
        let there = content.get(at as usize..).and_then(|rest| rest.get(..octets.len()));
        octets.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, octets: &[u8], at: u64) -> io::Result<()> {
        let mut state = self.disk.locked();
        state.call()?;
        let share = state.faults.write;
        let is_failing = state.random.chance(share);
        let done = if is_failing { state.random.index(octets.len() + 1) } else { octets.len() };
        let end = at as usize + done;
        let grown = end.saturating_sub(state.files[self.number].seen.len());
        if state.used().saturating_add(grown) > state.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let content = &mut state.files[self.number];
        if grown > 0 {
            content.seen.resize(end, 0);
            content.is_length_dirty = true;
        }
        content.seen[at as usize..end].copy_from_slice(&octets[..done]);
        content.dirty.extend(at as usize / SECTOR_OCTETS..end.div_ceil(SECTOR_OCTETS));
        if is_failing { Err(failed("a write")) } else { Ok(()) }
    }

    fn octets(&self) -> io::Result<u64> {
        Ok(self.disk.locked().files[self.number].seen.len() as u64)
    }

    fn set_octets(&self, octets: u64) -> io::Result<()> {
        let mut state = self.disk.locked();
        state.call()?;
        let content = &mut state.files[self.number];
        content.seen.resize(octets as usize, 0);
        content.is_length_dirty = true;
        let sectors = (octets as usize).div_ceil(SECTOR_OCTETS);
        content.dirty.retain(|sector| *sector < sectors);
        Ok(())
    }

    fn reserve(&self, octets: u64) -> io::Result<()> {
        let there = self.octets()?;
        if octets <= there {
            return Ok(());
        }
        let state = self.disk.locked();
        if state.used().saturating_add((octets - there) as usize) > state.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        drop(state);
        self.set_octets(octets)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.locked();
        state.call()?;
        state.syncs += 1;
        let share = state.faults.sync;
        if state.random.chance(share) {
            state.write_back(self.number, false);
            return Err(failed("a sync"));
        }
        if !state.faults.forget_sync {
            state.write_back(self.number, true);
        }
        Ok(())
    }
}
