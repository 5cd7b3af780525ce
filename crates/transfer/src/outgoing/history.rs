//! What changed in zones, as IXFR wants it.

use wire::Name;
use zone::Change;

/// Who knows what changed in zones.
pub trait History: Send + Sync {
    /// The changes that lead from version `from` of `zone` to version `to`, which are not the same; `None` where they are not all there.
    /// May wait for a disk.
    fn changes(&self, zone: &Name, from: u32, to: u32) -> Option<Box<dyn Changes>>;

    /// Whether it never waits for a disk, and so may be asked by a worker, over UDP.
    fn is_in_memory(&self) -> bool {
        false
    }
}

/// Changes, one after another.
pub trait Changes: Send {
    /// Octets of all of them, those that were given already included: removed and added records in wire form.
    fn octets(&self) -> u64;

    /// The next one, which begins with the version that the one before ended with; `None` after the last. May wait for a disk.
    fn next(&mut self) -> Result<Option<Change>, HistoryLost>;
}

/// Changes that were there are not any more, or cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLost;

/// Nothing is known: every IXFR is an AXFR.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHistory;

impl History for NoHistory {
    fn changes(&self, _: &Name, _: u32, _: u32) -> Option<Box<dyn Changes>> {
        None
    }

    fn is_in_memory(&self) -> bool {
        true
    }
}
