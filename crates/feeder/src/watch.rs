//! Whether a file is the one that was opened: one that was put in its place is seen by nobody who has the old one open.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often it is looked.
const PAUSE: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Watch {
    path: PathBuf,
    opened: Option<(u64, u64)>,
    next: Instant,
}

impl Watch {
    /// To be made before the file is opened: what takes its place after that is noticed.
    pub(crate) fn new(path: &Path) -> Watch {
        Watch { path: path.to_owned(), opened: identity(path), next: Instant::now() + PAUSE }
    }

    /// Whether there is another file by that name now, or none; looked for once a second.
    pub(crate) fn is_another(&mut self) -> bool {
        if Instant::now() < self.next {
            return false;
        }
        self.next = Instant::now() + PAUSE;
        identity(&self.path) != self.opened
    }
}

/// Device and inode.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

impl Watch {
    /// Device and inode of the folder of a file.
    pub(crate) fn folder_of(path: &Path) -> Option<(u64, u64)> {
        identity(path.parent()?)
    }
}
