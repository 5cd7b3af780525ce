//! The write-ahead log of all zones: `docs/design/journal.md` 1 to 3.
//!
//! ```text
//! Recovery::open  reads what is there --replay--> records in order     suffers: zones that lost some
//!      `-begin--> Log --decide--> the last group is on the disk for sure
//!                      `-append--> a group, written and synced          an error: undecided, until `decide` has made it void
//!                      `-release--> segments before a group are free
//! ```
//!
//! One group is on its way at a time: the next is written after the one before is synced. So a group that is missing before one that is
//! there was on the disk and is lost, and one that is missing at the end was never acknowledged.

mod format;
mod recovery;
mod scan;
mod segments;
#[cfg(test)]
pub(crate) mod tests;
mod write;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use format::{GroupHead, Term};
pub use recovery::{Lost, OpenError, Place, Recovery, Start};
#[doc(hidden)]
pub use scan::{fuzz_segment, mend_segment};
pub use segments::Preparer;
use segments::{Fate, Segment, Segments};

use crate::disk::PAGE_OCTETS;
use crate::record::Entry;
use crate::sum::Identity;

/// Octets of a segment.
pub const SEGMENT_OCTETS: usize = 4 << 20;
/// Octets of a group that is written at once; a record that is larger is a group of its own, as are records that no group may have without each other.
pub const GROUP_OCTETS_MAX: usize = 1 << 20;

/// How large a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Octets of a segment: whole pages, at least two. [`SEGMENT_OCTETS`], less in tests.
    pub segment_octets: usize,
    /// Octets of all segments.
    pub log_octets: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { segment_octets: SEGMENT_OCTETS, log_octets: 256 << 20 }
    }
}

/// Which segments a group may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// All but those that are kept for what follows.
    Ordinary,
    /// The last ones too: what a checkpoint says, and what ends a failure.
    Last,
}

/// Why a group was not appended.
#[derive(Debug)]
pub enum AppendError {
    /// No segment is free. Nothing was written; it may go again.
    Full,
    /// A write or a sync failed: the group is on the disk or not. Nothing can be appended until [`Log::decide`] has succeeded.
    Undecided(io::Error),
    /// A group before this one is undecided. Nothing was written.
    NotDecided,
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppendError::Full => f.write_str("the log has no room"),
            AppendError::Undecided(error) => write!(f, "the log could not be written: {error}"),
            AppendError::NotDecided => f.write_str("the log could not be written, and no other segment yet"),
        }
    }
}

impl std::error::Error for AppendError {}

/// The segment that is written to.
struct Current {
    segment: Segment,
    term: Term,
    /// Where the next group begins.
    page: usize,
}

/// A segment that is written to no more.
struct Used {
    segment: Segment,
    /// The last group that it may have.
    last: u64,
    fate: Fate,
    /// Whether it has nothing that is needed once the group is decided that a start writes again.
    is_superseded: bool,
}

/// Zones of a commit, as hashes; `None`: unknown, or too many to name.
type Zones = Option<Vec<u64>>;

/// What a log has done since it was opened, and what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Its present epoch.
    pub epoch: u32,
    /// The first group that is needed, and the one that comes next.
    pub first: u64,
    /// See `first`.
    pub next: u64,
    /// Segments in use, those that are free, and how many there may be.
    pub segments_used: usize,
    /// See `segments_used`.
    pub segments_free: usize,
    /// See `segments_used`.
    pub segments_max: usize,
    /// Whether a group is undecided.
    pub is_undecided: bool,
    /// Groups and records appended, octets written for them.
    pub groups: u64,
    /// See `groups`.
    pub records: u64,
    /// See `groups`.
    pub octets: u64,
    /// How long writes with their syncs took: all, and the longest.
    pub time: Duration,
    /// See `time`.
    pub time_max: Duration,
}

/// See the module. Belongs to one thread at a time, see [`crate::Committer`].
pub struct Log {
    segments: Arc<Segments>,
    identity: Identity,
    epoch: u32,
    current: Option<Current>,
    used: Vec<Used>,
    /// The first group that is needed.
    first: u64,
    next: u64,
    undecided: bool,
    /// The group that a start writes again, until it has done so.
    again: Option<(GroupHead, Vec<u8>)>,
    /// The last group of each zone since the checkpoint before, by the hash of its name.
    zones: HashMap<u64, u64>,
    /// Zones of the two commits before the next.
    named: [Zones; 2],
    counted: Status,
    /// Groups are put together here.
    buffer: Vec<u8>,
    /// Zones of the group that is being put together.
    here: HashSet<u64>,
}

impl Log {
    /// Writes a group of records, all or nothing, and waits until it is on the disk. Returns its number.
    ///
    /// `entries`: at least one, no more than [`GROUP_OCTETS_MAX`] octets together unless it is one, or they are committed together. An empty
    /// group is written where there are none: it shows that those before it were whole.
    pub fn append(&mut self, entries: &[&Entry], urgency: Urgency) -> Result<u64, AppendError> {
        if self.undecided {
            return Err(AppendError::NotDecided);
        }
        self.put_together(entries);
        let began = Instant::now();
        let result = self.write(entries.len() as u32, urgency);
        let took = began.elapsed();
        self.counted.time += took;
        self.counted.time_max = self.counted.time_max.max(took);
        let last = match result {
            Ok(last) => last,
            Err(error) => {
                self.undecided = matches!(error, AppendError::Undecided(_));
                return Err(error);
            }
        };
        self.counted.groups += 1;
        self.counted.records += entries.len() as u64;
        for zone in &self.here {
            self.zones.insert(*zone, last);
        }
        self.next = last + 1;
        let zones = self.take_named();
        self.note_commit(zones);
        Ok(last)
    }

    /// Decides on the group that is undecided: a segment of a new epoch says that it begins with its number. After a failed write it is void;
    /// after a start, it is the last group once more. An error: it is as undecided as before; to be tried again after a while. Where nothing
    /// is undecided it does nothing.
    pub fn decide(&mut self) -> Result<(), AppendError> {
        if !self.undecided {
            return Ok(());
        }
        let number = self.next;
        let again = self.again.take();
        if let Err(error) = self.begin_epoch(number, again.as_ref()) {
            self.again = again;
            return Err(error);
        }
        (self.undecided, self.next) = (false, number + 1);
        if again.is_none() {
            self.note_commit(Some(Vec::new()));
        }
        let segments = &self.segments;
        for used in self.used.extract_if(.., |used| used.is_superseded) {
            segments.give_back(used.segment, used.fate);
        }
        Ok(())
    }

    /// Whether a group is undecided.
    pub fn is_undecided(&self) -> bool {
        self.undecided
    }

    /// Whether the group that found no room last finds it now; if there is none, an ordinary one of at most [`GROUP_OCTETS_MAX`].
    pub fn has_room(&self) -> bool {
        let most = GROUP_OCTETS_MAX.min(self.capacity());
        let left =
            self.current.as_ref().map_or(0, |current| self.segments.octets() - current.page * PAGE_OCTETS);
        let is_in_current = !self.segments.is_missing() && left >= most;
        is_in_current || self.segments.has_room()
    }

    /// What found no room does not wait any more.
    pub fn give_up_room(&self) {
        self.segments.give_up();
    }

    /// Says that no group before `first` is needed any more: packs and checkpoints that are on the disk have all of them, and the anchor
    /// says so. It is one more than a number that `append` returned: a commit may have several. Their segments are free, those of failures are removed and damaged ones are put aside.
    pub fn release(&mut self, first: u64) {
        self.first = self.first.max(first.min(self.next));
        let first = self.first;
        self.zones.retain(|_, last| *last >= first);
        let segments = &self.segments;
        for used in self.used.extract_if(.., |used| used.last < first) {
            segments.give_back(used.segment, used.fate);
        }
    }

    /// What it has done and has.
    pub fn status(&self) -> Status {
        let (segments_free, count) = self.segments.counts();
        let Status { groups, records, octets, time, time_max, .. } = self.counted;
        Status {
            epoch: self.epoch,
            first: self.first,
            next: self.next,
            segments_used: count.saturating_sub(segments_free),
            segments_free,
            segments_max: self.segments.count_max(),
            is_undecided: self.undecided,
            groups,
            records,
            octets,
            time,
            time_max,
        }
    }

    /// Why no segment could be made ahead, as long as that is so.
    pub fn room_error(&self) -> Option<String> {
        self.segments.error()
    }

    /// The octets that all its checksums are keyed with: the anchor has them too.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Starts the thread that makes segments ahead. It calls `after` when it has made one, as commits may wait for that.
    pub fn start_preparer(&self, after: impl Fn() + Send + 'static) -> io::Result<Preparer> {
        Preparer::start(Arc::clone(&self.segments), after)
    }

    /// Makes one segment, if more are wanted: what that thread does. Whether it made one.
    pub fn prepare(&self) -> io::Result<bool> {
        self.segments.prepare()
    }
}
