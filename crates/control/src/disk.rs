//! What is done to the disk so that files survive a crash: in which order, and through which calls.
//!
//! ```text
//! write under another name, sync the file, rename, sync the folder
//! ```
//!
//! The calls are behind a trait, for tests with a disk that loses what was not synced.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Calls that change a folder.
pub(crate) trait Disk: Send + Sync {
    /// Makes a file with this content, or replaces that of one that is there.
    fn write(&self, path: &Path, octets: &[u8]) -> io::Result<File>;

    /// Waits until the content is on the disk.
    fn sync(&self, path: &Path, file: &File) -> io::Result<()>;

    /// Gives a file another name, which one that has it loses.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Waits until the names are on the disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Takes a file away.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The disk of this machine.
pub(crate) struct System;

impl Disk for System {
    fn write(&self, path: &Path, octets: &[u8]) -> io::Result<File> {
        let mut file = File::create(path)?;
        file.write_all(octets)?;
        Ok(file)
    }

    fn sync(&self, _: &Path, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Writes a file such that it is there as a whole or not at all, whatever happens in between.
pub(crate) fn replace(disk: &dyn Disk, path: &Path, temporary: &Path, octets: &[u8]) -> io::Result<()> {
    let write = || -> io::Result<()> {
        let file = disk.write(temporary, octets)?;
        disk.sync(temporary, &file)?;
        disk.rename(temporary, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        disk.sync_folder(folder)
    };
    write().inspect_err(|_| drop(disk.remove(temporary)))
}

#[cfg(test)]
pub(crate) mod simulated;
