//! Where runs of large zones are stored while these come in: a file without a name, which goes with whoever has it open.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sync::random::Unguessable;
use transfer::incoming::{NoStorage, Runs};

/// Files of one folder. Nothing is made before the first octets come, as most zones are small.
pub(crate) struct FileRuns {
    folder: Arc<Path>,
    file: Option<File>,
    octets: u64,
    share: Arc<Share>,
}

/// Octets that all files may have together.
pub(crate) struct Share(AtomicU64);

impl Share {
    /// So many.
    pub(crate) fn new(octets: u64) -> Share {
        Share(AtomicU64::new(octets))
    }

    /// Takes some; says whether there were as many.
    fn take(&self, octets: u64) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(octets)).is_ok()
    }

    fn give_back(&self, octets: u64) {
        self.0.fetch_add(octets, Ordering::Relaxed);
    }
}

impl Drop for FileRuns {
    fn drop(&mut self) {
        self.file = None;
        self.share.give_back(self.octets);
    }
}

impl FileRuns {
    /// In `folder`, with as many octets as are left of `share`.
    pub(crate) fn new(folder: Arc<Path>, share: Arc<Share>) -> FileRuns {
        FileRuns { folder, file: None, octets: 0, share }
    }
}

impl Runs for FileRuns {
    fn append(&mut self, octets: &[u8]) -> Result<(), NoStorage> {
        let count = octets.len() as u64;
        if !self.share.take(count) {
            return Err(NoStorage);
        }
        // Given back when it is dropped, written or not.
        let begin = self.octets;
        self.octets += count;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless(&self.folder).map_err(|_| NoStorage)?),
        };
        file.write_all_at(octets, begin).map_err(|_| NoStorage)
    }

    fn read(&mut self, at: u64, to: &mut [u8]) -> Result<(), NoStorage> {
        let file = self.file.as_ref().filter(|_| !to.is_empty());
        match file {
            Some(file) => file.read_exact_at(to, at).map_err(|_| NoStorage),
            None if to.is_empty() => Ok(()),
            None => Err(NoStorage),
        }
    }
}

/// A file that nobody else sees: its name is taken back at once. What a crash leaves between the two is empty.
fn nameless(folder: &Path) -> io::Result<File> {
    let random = Unguessable::from_system()?.next_u64();
    let path: PathBuf = folder.join(format!("transfer-{random:016x}"));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn octets_come_back_and_leave_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let share = Arc::new(Share::new(10));
        let mut runs = FileRuns::new(folder.path().into(), Arc::clone(&share));
        assert_eq!(runs.read(0, &mut []), Ok(()));
        assert_eq!(runs.read(0, &mut [0]), Err(NoStorage));
        runs.append(b"01234").unwrap();
        runs.append(b"56789").unwrap();
        assert_eq!(runs.append(b"x"), Err(NoStorage));
        let mut read = [0; 4];
        runs.read(3, &mut read).unwrap();
        assert_eq!(&read, b"3456");
        assert_eq!(runs.read(7, &mut read), Err(NoStorage));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // What one has no other gets, until it goes.
        let mut other = FileRuns::new(folder.path().into(), Arc::clone(&share));
        assert_eq!(other.append(b"x"), Err(NoStorage));
        drop(runs);
        assert_eq!(other.append(b"x"), Ok(()));
        let mut nowhere = FileRuns::new(folder.path().join("none").into(), share);
        assert_eq!(nowhere.append(b"x"), Err(NoStorage));
    }
}
