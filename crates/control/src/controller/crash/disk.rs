//! The simulated disk of the journal, and a folder of this machine that has the same files as long as there is power: packs are mapped
//! from there, and the simulated disk says what a crash leaves of them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::disk::simulated::{Faults, Simulated};
use journal::disk::{Disk, File, System};

/// See the module. All is in one folder; what is above it is not simulated. Clones are the same disk.
#[derive(Clone)]
pub(super) struct Mirrored {
    simulated: Simulated,
}

/// A file on both.
struct Both {
    simulated: Arc<dyn File>,
    real: Arc<dyn File>,
}

/// What a file is called on the simulated disk.
fn name(path: &Path) -> &Path {
    path.file_name().map(Path::new).unwrap_or(path)
}

impl Mirrored {
    /// A disk with the files of a folder, all of which are synced.
    pub(super) fn of(folder: &Path, seed: u64, faults: Faults) -> io::Result<Mirrored> {
        let simulated = Simulated::new(seed);
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let file = simulated.create(name(&path))?;
            file.write_at(&fs::read(&path)?, 0)?;
            file.sync()?;
        }
        simulated.sync_folder(Path::new(""))?;
        simulated.set_faults(faults);
        Ok(Mirrored { simulated })
    }

    /// See [`Simulated::fail_after`].
    pub(super) fn fail_after(&self, calls: usize) {
        self.simulated.fail_after(calls);
    }

    /// Whether the power has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.simulated.has_failed()
    }

    /// Puts into a folder what the disk has after the power has failed.
    pub(super) fn put_what_is_left(&self, folder: &Path) -> io::Result<()> {
        let left = self.simulated.crash();
        left.names(Path::new(""))?.into_iter().try_for_each(|name| {
            let octets = left.content(Path::new(&name)).unwrap_or_default();
            fs::write(folder.join(name), octets)
        })
    }

    fn both(
        &self,
        path: &Path,
        open: impl Fn(&dyn Disk, &Path) -> io::Result<Arc<dyn File>>,
    ) -> io::Result<Arc<dyn File>> {
        let simulated = open(&self.simulated, name(path))?;
        Ok(Arc::new(Both { simulated, real: open(&System, path)? }))
    }
}

/// The simulated disk first: what fails there is not done to the folder either.
impl Disk for Mirrored {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.both(path, |disk, path| disk.create(path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.both(path, |disk, path| disk.open(path))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        System.names(folder)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        System.make_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.simulated.rename(name(from), name(to))?;
        System.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.simulated.remove(name(path))?;
        System.remove(path)
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        self.simulated.sync_folder(Path::new(""))
    }

    fn sync_all(&self, _: &Path) -> io::Result<()> {
        self.simulated.sync_all(Path::new(""))
    }
}

impl File for Both {
    fn read_at(&self, octets: &mut [u8], at: u64) -> io::Result<()> {
        self.real.read_at(octets, at)
    }

    fn write_at(&self, octets: &[u8], at: u64) -> io::Result<()> {
        self.simulated.write_at(octets, at)?;
        self.real.write_at(octets, at)
    }

    fn octets(&self) -> io::Result<u64> {
        self.real.octets()
    }

    fn set_octets(&self, octets: u64) -> io::Result<()> {
        self.simulated.set_octets(octets)?;
        self.real.set_octets(octets)
    }

    fn reserve(&self, octets: u64) -> io::Result<()> {
        self.simulated.reserve(octets)?;
        self.real.reserve(octets)
    }

    fn sync(&self) -> io::Result<()> {
        self.simulated.sync()
    }
}

/// A folder for a disk.
pub(super) fn folder(parent: &Path, number: usize) -> PathBuf {
    let folder = parent.join(format!("packs{number}"));
    let _ = fs::create_dir(&folder);
    folder
}
