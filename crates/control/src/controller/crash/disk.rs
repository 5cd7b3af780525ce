//! The simulated disk of the journal, and a folder of this machine that has the same files as long as there is power: packs are mapped
//! from there, and the simulated disk says what a crash leaves of them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::disk::simulated::{Faults, Simulated};
use journal::disk::{Disk, File, System};
use sync::Mutex;

/// See the module. What is above its folder is not simulated. Clones are the same disk.
#[derive(Clone)]
pub(crate) struct Mirrored {
    simulated: Simulated,
    folder: PathBuf,
    /// Held by who stores a pack, as it gets its name.
    storing: Arc<Mutex<()>>,
}

/// A file on both.
struct Both {
    simulated: Arc<dyn File>,
    real: Arc<dyn File>,
}

impl Mirrored {
    /// A disk with the files of a folder and those below it, all of which are synced.
    pub(crate) fn of(folder: &Path, seed: u64, faults: Faults) -> io::Result<Mirrored> {
        let simulated = Simulated::new(seed);
        let storing = Arc::new(Mutex::named("packs that are stored", ()));
        let disk = Mirrored { simulated, folder: folder.to_owned(), storing };
        disk.take(folder)?;
        disk.simulated.set_faults(faults);
        Ok(disk)
    }

    fn take(&self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.simulated.make_folder(self.name(&path))?;
                self.take(&path)?;
                continue;
            }
            let file = self.simulated.create(self.name(&path))?;
            file.write_at(&fs::read(&path)?, 0)?;
            file.sync()?;
        }
        self.simulated.sync_folder(self.name(folder))
    }

    /// What a file is called on the simulated disk.
    fn name<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.folder).expect("a path in the folder")
    }

    /// See [`Simulated::fail_after`].
    pub(crate) fn fail_after(&self, calls: usize) {
        self.simulated.fail_after(calls);
    }

    /// See [`Simulated::set_faults`].
    pub(crate) fn set_faults(&self, faults: Faults) {
        self.simulated.set_faults(faults);
    }

    /// Has no octet more fit on it than there are; or as many as may be.
    pub(crate) fn fill(&self, is_full: bool) {
        self.simulated.set_room(if is_full { self.simulated.used() } else { usize::MAX });
    }

    /// Has packs not get their names as long as what this gives is there: who stores one waits.
    pub(crate) fn hold_packs(&self) -> impl Sized + '_ {
        self.storing.lock()
    }

    /// Whether the power has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.simulated.has_failed()
    }

    /// Puts into a folder what the disk has after the power has failed.
    pub(crate) fn put_what_is_left(&self, folder: &Path) -> io::Result<()> {
        put(&self.simulated.crash(), Path::new(""), folder)
    }

    fn both(
        &self,
        path: &Path,
        open: impl Fn(&dyn Disk, &Path) -> io::Result<Arc<dyn File>>,
    ) -> io::Result<Arc<dyn File>> {
        let simulated = open(&self.simulated, self.name(path))?;
        Ok(Arc::new(Both { simulated, real: open(&System, path)? }))
    }
}

/// Puts what a folder of a disk has into another one.
fn put(left: &Simulated, below: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for name in left.names(below)? {
        let (path, to) = (below.join(&name), folder.join(&name));
        match left.content(&path) {
            Some(octets) => fs::write(to, octets)?,
            None => put(left, &path, &to)?,
        }
    }
    Ok(())
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
        self.simulated.make_folder(self.name(folder))?;
        System.make_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _storing =
            to.extension().is_some_and(|extension| extension == "zpack").then(|| self.storing.lock());
        self.simulated.rename(self.name(from), self.name(to))?;
        System.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.simulated.remove(self.name(path))?;
        System.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.simulated.sync_folder(self.name(folder))
    }

    fn sync_all(&self, folder: &Path) -> io::Result<()> {
        self.simulated.sync_all(self.name(folder))
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
pub(crate) fn folder(parent: &Path, number: usize) -> PathBuf {
    let folder = parent.join(format!("packs{number}"));
    let _ = fs::create_dir(&folder);
    folder
}
