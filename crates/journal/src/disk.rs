//! What is done to the disk, behind two traits: the disk of this machine, and for tests one that loses, tears and lies.
//!
//! | promised | after |
//! |---|---|
//! | the content of a file | [`File::sync`]; of what was written, [`File::write_synced`] |
//! | that it is there, under this name, or gone | [`Disk::sync_folder`] |
//!
//! What is not synced may be on the disk or not, or in part, whatever was written before or after it. After a sync that failed nobody can
//! say what of that file is on the disk, also if a later sync succeeds: errors are told once.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

#[cfg(any(test, feature = "simulated"))]
pub mod simulated;
mod system;

pub use system::System;

/// Octets that the system writes at a time: what is in one page is written again when any of it changes.
pub const PAGE_OCTETS: usize = 4096;

/// A folder and the files in it. Clones of what it opens are the same file.
pub trait Disk: Send + Sync {
    /// Makes a file, empty. An error if one has this name.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// Opens a file to read and write.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// Names of the files and folders in a folder, in no order.
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Makes a folder and those above it; nothing if it is there.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;

    /// Gives a file another name in the same folder, which one that has it loses.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a file away. Who has it open may go on.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names of a folder are on the disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Waits until all that was written to files at or below a folder is on the disk, and their names. Costs as much as all that waits to
    /// be written on that file system.
    fn sync_all(&self, folder: &Path) -> io::Result<()>;
}

/// An open file. All places are octets from its beginning.
pub trait File: Send + Sync {
    /// Fills `octets` from `at` on. An error of kind `UnexpectedEof` if the file is shorter.
    fn read_at(&self, octets: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes all of `octets` from `at` on; the file grows where needed.
    fn write_at(&self, octets: &[u8], at: u64) -> io::Result<()>;

    /// How long it is.
    fn octets(&self) -> io::Result<u64>;

    /// Cuts it off, or has it grow with zeros that need no room yet.
    fn set_octets(&self, octets: u64) -> io::Result<()>;

    /// Takes room on the disk for the first `octets`, so that writing there does not fail for want of it.
    fn reserve(&self, octets: u64) -> io::Result<()>;

    /// Waits until content and length are on the disk.
    fn sync(&self) -> io::Result<()>;

    /// Writes as [`File::write_at`] and waits until that is on the disk, with the length. What was written before otherwise may not be.
    fn write_synced(&self, octets: &[u8], at: u64) -> io::Result<()> {
        self.write_at(octets, at)?;
        self.sync()
    }

    /// What is on the disk need not stay in memory: nobody is going to read it soon.
    fn forget(&self) {}
}

#[cfg(test)]
mod tests;
