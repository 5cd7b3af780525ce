//! How a file gets onto the disk such that it survives a crash.
//!
//! ```text
//! write under another name, sync the file, rename, sync the folder
//! ```
//!
//! The calls are those of the journal, behind its trait, for tests with a disk that loses what was not synced. And how a folder is one server's alone.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use journal::disk::Disk;

/// Writes a file such that it is there as a whole or not at all, whatever happens in between.
pub(crate) fn replace(disk: &dyn Disk, path: &Path, temporary: &Path, octets: &[u8]) -> io::Result<()> {
    let write = || -> io::Result<()> {
        // One that a crash left.
        match disk.remove(temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.create(temporary)?;
        file.write_at(octets, 0)?;
        file.sync()?;
        disk.rename(temporary, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        disk.sync_folder(folder)
    };
    write().inspect_err(|_| drop(disk.remove(temporary)))
}

/// All of a file of the server's own, which has so many octets at most.
pub(crate) fn read_whole(disk: &dyn Disk, path: &Path, octets_max: u64) -> io::Result<Vec<u8>> {
    let file = disk.open(path)?;
    let octets = file.octets()?;
    if octets > octets_max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut all = vec![0; octets as usize];
    file.read_at(&mut all, 0)?;
    Ok(all)
}

/// The locks of the folders of a server, as it hands them over; none of a folder that it does not have, or could not lock.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    /// Of the folder of packs, with the journal in it.
    pub(crate) packs: Option<File>,
    /// Of the folder of what the resolver keeps.
    pub(crate) state: Option<File>,
}

/// Why a folder is not this server's alone.
#[derive(Debug)]
pub(crate) enum NotLocked {
    /// Another server uses it.
    Used,
    /// What cannot be done, and why.
    Cannot(&'static str, io::Error),
}

/// Takes the lock of a folder: a file of this name in it, which stays; both are made if need be. The lock is of the open file and goes with the last who has it open, by
/// a crash too. `handed`: what a server that hands over has open; if it is this file it is as good as one of our own.
pub(crate) fn lock_folder(folder: &Path, name: &str, handed: Option<File>) -> Result<File, NotLocked> {
    std::fs::create_dir_all(folder).map_err(|error| NotLocked::Cannot("make it", error))?;
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(name));
    let lock = lock.map_err(|error| NotLocked::Cannot("write into it", error))?;
    if let Some(handed) = handed.filter(|handed| is_same(handed, &lock)) {
        return Ok(handed);
    }
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(NotLocked::Used),
        Err(TryLockError::Error(error)) => Err(NotLocked::Cannot("lock it", error)),
    }
}

/// Whether these are one file.
fn is_same(one: &File, other: &File) -> bool {
    let identity = |file: &File| file.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(one).is_some() && identity(one) == identity(other)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_locked_by_one() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [folder, other] = folders.each_ref().map(|folder| folder.path().join("made"));
        let lock = |handed| lock_folder(&folder, "lock", handed);
        let first = lock(None).unwrap();
        assert!(matches!(lock(None), Err(NotLocked::Used)));
        // What was handed over is as good as the lock itself, and no other file is.
        let handed = first.try_clone().unwrap();
        assert!(matches!(lock(Some(lock_folder(&other, "lock", None).unwrap())), Err(NotLocked::Used)));
        let second = lock(Some(handed)).unwrap();
        drop(first);
        assert!(matches!(lock(None), Err(NotLocked::Used)), "the second has it still");
        drop(second);
        lock(None).unwrap();
        std::fs::write(other.join("file"), "").unwrap();
        let is_a_file = lock_folder(&other.join("file"), "lock", None);
        assert!(matches!(is_a_file, Err(NotLocked::Cannot("make it", _))), "{is_a_file:?}");
    }
}
