//! Which state of a file was read, so that only what changed is read again.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

/// Time, length and identity of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Modification time, nanoseconds since 1970; 0: not to be trusted, the file counts as changed.
    pub time: u64,
    /// Its octets.
    pub octets: u64,
    /// A mark of its inode: a file that was replaced by renaming has another, but for one in four thousand million. 0: not known.
    pub inode: u32,
}

/// File systems stamp with the kernel's tick, up to 10 ms. A file that changed this shortly before it was read
/// could change again without another stamp.
const TICK_NS: u64 = 10_000_000;

impl Stamp {
    /// The stamp of a file.
    pub fn of(metadata: &Metadata) -> Stamp {
        let time = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        Stamp { time: u64::try_from(time).unwrap_or(0), octets: metadata.len(), inode: mark(metadata.ino()) }
    }

    /// This stamp of a file that is about to be read: without a time if the file is so fresh that its stamp
    /// could stay the same while it changes.
    pub fn before_reading(self) -> Stamp {
        if self.time.saturating_add(TICK_NS) > now_ns() { Stamp { time: 0, ..self } } else { self }
    }

    /// Whether a file of stamp `now` is still what was read.
    pub fn is_still(&self, now: &Stamp) -> bool {
        let is_same_file = self.inode == 0 || self.inode == now.inode;
        self.time != 0 && (self.time, self.octets) == (now.time, now.octets) && is_same_file
    }
}

/// An inode in 32 bits, of which file systems rarely use more; never 0.
fn mark(inode: u64) -> u32 {
    ((inode ^ inode >> 32) as u32).max(1)
}

/// The time in nanoseconds since 1970.
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
