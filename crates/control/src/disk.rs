//! How a file gets onto the disk such that it survives a crash.
//!
//! ```text
//! write under another name, sync the file, rename, sync the folder
//! ```
//!
//! The calls are those of the journal, behind its trait, for tests with a disk that loses what was not synced.

use std::io;
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
