//! A disk that loses what was not synced when the power fails. For tests.
//!
//! ```text
//! content   written -- sync --> kept        not synced: nothing, a part, holes, or all of it
//! names     changed -- sync of the folder --> kept      not synced: the first of the changes, or any of them
//! ```
//!
//! All is done to a folder of this machine too, where it can be read as long as the power is there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, System};

/// What of a file is lost or kept together.
const SECTOR_OCTETS: usize = 512;

/// Random numbers of a seed.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }

    pub(crate) fn is_one_of(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// A mistake that is planted: what the program could have forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// To sync a file before it is renamed.
    UnsyncedFile,
    /// To sync the folder after that.
    UnsyncedFolder,
}

#[derive(Clone)]
struct Content {
    octets: Vec<u8>,
    is_synced: bool,
}

/// A change of names.
#[derive(Clone)]
enum Change {
    Add(OsString, usize),
    Rename(OsString, OsString, usize),
    Remove(OsString),
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<OsString, usize>) {
        match self {
            Change::Add(name, file) => drop(names.insert(name.clone(), *file)),
            Change::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
            Change::Remove(name) => drop(names.remove(name)),
        }
    }
}

#[derive(Default)]
struct State {
    files: Vec<Content>,
    /// As the program sees them.
    names: BTreeMap<OsString, usize>,
    /// As the folder was when it was synced.
    kept: BTreeMap<OsString, usize>,
    /// Since then.
    changes: Vec<Change>,
    /// Calls until the power fails.
    left: Option<usize>,
}

impl State {
    /// One call more. The error: the power has failed.
    fn call(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) => Err(io::Error::other("the power has failed")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.changes.push(change);
    }

    /// What is left of a file.
    fn torn(content: &Content, random: &mut Random) -> Vec<u8> {
        let mut octets = content.octets.clone();
        if content.is_synced {
            return octets;
        }
        match random.below(4) {
            0 => octets.clear(),
            1 => octets.truncate(random.below(content.octets.len() + 1)),
            2 => {
                let lose = |sector: &mut [u8]| {
                    if random.is_one_of(2) {
                        sector.fill(0);
                    }
                };
                octets.chunks_mut(SECTOR_OCTETS).for_each(lose);
            }
            _ => {}
        }
        octets
    }
}

/// See the module. Clones are the same disk.
#[derive(Clone)]
pub(crate) struct Simulated {
    state: Arc<Mutex<State>>,
    fault: Fault,
}

impl Simulated {
    /// A disk with the files of a folder, all of which are synced.
    pub(crate) fn of(folder: &Path, fault: Fault) -> Simulated {
        let mut state = State::default();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let octets = fs::read(entry.path()).unwrap_or_default();
            state.names.insert(entry.file_name(), state.files.len());
            state.files.push(Content { octets, is_synced: true });
        }
        state.kept = state.names.clone();
        Simulated { state: Arc::new(Mutex::new(state)), fault }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the power fail after so many calls.
    pub(crate) fn fail_after(&self, calls: usize) {
        self.locked().left = Some(calls);
    }

    /// Whether it has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.locked().left == Some(0)
    }

    /// Puts into a folder what the disk has after the power has failed.
    pub(crate) fn put_what_is_left(&self, folder: &Path, random: &mut Random) -> io::Result<()> {
        let state = self.locked();
        let mut names = state.kept.clone();
        let (is_in_order, first) = (random.is_one_of(2), random.below(state.changes.len() + 1));
        for (at, change) in state.changes.iter().enumerate() {
            if if is_in_order { at < first } else { random.is_one_of(2) } {
                change.apply(&mut names);
            }
        }
        for (name, file) in &names {
            fs::write(folder.join(name), State::torn(&state.files[*file], random))?;
        }
        Ok(())
    }
}

fn name(path: &Path) -> OsString {
    path.file_name().map(OsString::from).unwrap_or_default()
}

impl Disk for Simulated {
    fn write(&self, path: &Path, octets: &[u8]) -> io::Result<File> {
        let mut state = self.locked();
        state.call()?;
        let content = Content { octets: octets.to_vec(), is_synced: false };
        match state.names.get(&name(path)).copied() {
            Some(file) => state.files[file] = content,
            None => {
                let file = state.files.len();
                state.files.push(content);
                state.change(Change::Add(name(path), file));
            }
        }
        System.write(path, octets)
    }

    fn sync(&self, path: &Path, _: &File) -> io::Result<()> {
        let mut state = self.locked();
        state.call()?;
        if self.fault != Fault::UnsyncedFile
            && let Some(file) = state.names.get(&name(path)).copied()
        {
            state.files[file].is_synced = true;
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.locked();
        state.call()?;
        if let Some(file) = state.names.get(&name(from)).copied() {
            state.change(Change::Rename(name(from), name(to), file));
        }
        System.rename(from, to)
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        let mut state = self.locked();
        state.call()?;
        if self.fault != Fault::UnsyncedFolder {
            state.kept = state.names.clone();
            state.changes.clear();
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.locked();
        state.call()?;
        state.change(Change::Remove(name(path)));
        System.remove(path)
    }
}

/// A folder for a disk.
pub(crate) fn folder(parent: &Path, number: usize) -> PathBuf {
    let folder = parent.join(format!("packs{number}"));
    let _ = fs::create_dir(&folder);
    folder
}
