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

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use format::{GROUP_HEAD_OCTETS, GroupHead, SegmentHead, Term, ZONES_NAMED_MAX, place};
pub use recovery::{Lost, OpenError, Place, Recovery, Start};
#[doc(hidden)]
pub use scan::{fuzz_segment, mend_segment};
pub use segments::Preparer;
use segments::{Fate, RESERVED, Segment, Segments};

use crate::disk::PAGE_OCTETS;
use crate::record::Entry;
use crate::sum::{Identity, Key};

/// Octets of a segment.
pub const SEGMENT_OCTETS: usize = 4 << 20;
/// Octets of a group that is written at once; a record that is larger is a group of its own.
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
    /// `entries`: at least one, no more than [`GROUP_OCTETS_MAX`] octets together unless it is one. An empty group is written where there
    /// are none: it shows that those before it were whole.
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

    /// Octets of a group that a segment has room for.
    fn capacity(&self) -> usize {
        self.segments.octets() - PAGE_OCTETS
    }

    /// Head, zones named again and records, in the buffer; zones of this group in `here`.
    fn put_together(&mut self, entries: &[&Entry]) {
        let key = Key::new(&self.identity);
        self.buffer.clear();
        self.buffer.resize(GROUP_HEAD_OCTETS, 0);
        for zone in self.named.iter().flatten().flatten() {
            self.buffer.extend_from_slice(&zone.to_le_bytes());
        }
        self.here.clear();
        for entry in entries {
            if !entry.is_change() {
                entry.write(0, &mut self.buffer);
                continue;
            }
            let zone = key.zone(entry.record().zone);
            // A zone that has several records in a group names the group itself.
            let is_first = self.here.insert(zone);
            let before = if is_first { self.zones.get(&zone).copied().unwrap_or(0) } else { self.next };
            entry.write(before, &mut self.buffer);
        }
    }

    /// The zones of the group that was put together, as the next two name them.
    fn take_named(&self) -> Zones {
        (self.here.len() <= ZONES_NAMED_MAX).then(|| self.here.iter().copied().collect())
    }

    fn note_commit(&mut self, zones: Zones) {
        self.named.swap(0, 1);
        self.named[0] = zones;
    }

    fn head(&self, number: u64, records: u32, term: Term) -> GroupHead {
        let named = [0, 1].map(|each: usize| self.named[each].as_ref().map(|zones| zones.len() as u16));
        GroupHead { number, body_sum: 0, octets: 0, part: 0, parts: 1, named, records, term }
    }

    /// Writes and syncs what was put together. Returns the number of the last group of it.
    fn write(&mut self, records: u32, urgency: Urgency) -> Result<u64, AppendError> {
        let octets = self.buffer.len().next_multiple_of(PAGE_OCTETS);
        if octets > self.capacity() {
            return self.write_parts(records, urgency);
        }
        let left =
            self.current.as_ref().map_or(0, |current| self.segments.octets() - current.page * PAGE_OCTETS);
        if octets > left {
            let mut taken = self.take(1, urgency)?;
            if let Some(segment) = taken.pop() {
                self.go_on_in(segment)?;
            }
        }
        let number = self.next;
        let term = self.current.as_ref().map(|current| current.term).unwrap_or_default();
        let head = self.head(number, records, term);
        self.write_group(head)?;
        Ok(number)
    }

    fn take(&self, count: usize, urgency: Urgency) -> Result<Vec<Segment>, AppendError> {
        let left = if urgency == Urgency::Last { 0 } else { RESERVED };
        self.segments.take(count, left).ok_or(AppendError::Full)
    }

    /// A commit that no segment has room for: a part in each of some. Each part is synced before the next is written.
    fn write_parts(&mut self, records: u32, urgency: Urgency) -> Result<u64, AppendError> {
        let body = self.buffer.split_off(GROUP_HEAD_OCTETS);
        let parts: Vec<&[u8]> = body.chunks(self.capacity() - GROUP_HEAD_OCTETS).collect();
        let mut segments = self.take(parts.len(), urgency)?.into_iter();
        for (part, octets) in parts.iter().enumerate() {
            let Some(segment) = segments.next() else { return Err(AppendError::Full) };
            let result = self.write_part(segment, octets, (part as u16, parts.len() as u16), records);
            if let Err(error) = result {
                segments.for_each(|segment| self.segments.give_back(segment, Fate::Free));
                return Err(error);
            }
        }
        Ok(self.next + parts.len() as u64 - 1)
    }

    fn write_part(
        &mut self,
        segment: Segment,
        octets: &[u8],
        (part, parts): (u16, u16),
        records: u32,
    ) -> Result<(), AppendError> {
        self.buffer.truncate(GROUP_HEAD_OCTETS);
        self.buffer.extend_from_slice(octets);
        let number = self.next + u64::from(part);
        self.go_on_in_at(segment, number)?;
        let term = Term { epoch: self.epoch, first: number };
        let head = GroupHead { part, parts, ..self.head(number, records, term) };
        // Zones are named in the first part alone.
        self.write_group(if part == 0 { head } else { GroupHead { named: [Some(0); 2], ..head } })
    }

    fn go_on_in(&mut self, segment: Segment) -> Result<(), AppendError> {
        self.go_on_in_at(segment, self.next)
    }

    /// Writes the head of a free segment, in which the log goes on with group `first`.
    fn go_on_in_at(&mut self, segment: Segment, first: u64) -> Result<(), AppendError> {
        let term = Term { epoch: self.epoch, first };
        if let Some(Current { segment, .. }) = self.current.take() {
            self.used.push(Used { segment, last: first - 1, fate: Fate::Free, is_superseded: false });
        }
        let head = SegmentHead { term, identity: self.identity }.write(segment.number);
        let result = segment.file.write_at(&head, 0);
        self.current = Some(Current { segment, term, page: 1 });
        result.map_err(|error| self.give_up(error, first))
    }

    /// Seals what is in the buffer, writes it where the current segment goes on, and syncs.
    fn write_group(&mut self, head: GroupHead) -> Result<(), AppendError> {
        let Some(current) = &mut self.current else {
            return Err(AppendError::Undecided(io::Error::other("no segment")));
        };
        head.seal(place(&self.identity, current.segment.number, current.page), &mut self.buffer);
        let file = &current.segment.file;
        let result =
            file.write_at(&self.buffer, (current.page * PAGE_OCTETS) as u64).and_then(|()| file.sync());
        self.counted.octets += self.buffer.len() as u64;
        current.page += self.buffer.len() / PAGE_OCTETS;
        result.map_err(|error| self.give_up(error, head.number))
    }

    /// After a failure nothing is written to the current segment any more. `last`: the group that it may have.
    fn give_up(&mut self, error: io::Error, last: u64) -> AppendError {
        if let Some(Current { segment, .. }) = self.current.take() {
            self.used.push(Used { segment, last, fate: Fate::Remove, is_superseded: false });
        }
        AppendError::Undecided(error)
    }

    /// Begins a segment of a new epoch with group `number`: this one, or an empty one. What an epoch before has from that number on is void
    /// when this is on the disk.
    fn begin_epoch(&mut self, number: u64, group: Option<&(GroupHead, Vec<u8>)>) -> Result<(), AppendError> {
        let mut taken = self.segments.take(1, 0).ok_or(AppendError::Full)?;
        let Some(segment) = taken.pop() else { return Err(AppendError::Full) };
        self.epoch += 1;
        let term = Term { epoch: self.epoch, first: number };
        self.put_together(&[]);
        let head = match group {
            Some((head, body)) => {
                self.buffer.truncate(GROUP_HEAD_OCTETS);
                self.buffer.extend_from_slice(body);
                GroupHead { term, ..*head }
            }
            None => self.head(number, 0, term),
        };
        head.seal(place(&self.identity, segment.number, 1), &mut self.buffer);
        let segment_head = SegmentHead { term, identity: self.identity }.write(segment.number);
        let result = segment
            .file
            .write_at(&segment_head, 0)
            .and_then(|()| segment.file.write_at(&self.buffer, PAGE_OCTETS as u64))
            .and_then(|()| segment.file.sync())
            .and_then(|()| self.segments.sync_folder());
        self.counted.octets += self.buffer.len() as u64;
        if let Err(error) = result {
            // It says no more than what is undecided, whether it is found again or not.
            self.segments.give_back(segment, Fate::Remove);
            return Err(AppendError::Undecided(error));
        }
        if let Some(Current { segment, .. }) = self.current.take() {
            self.used.push(Used { segment, last: number, fate: Fate::Free, is_superseded: false });
        }
        self.current = Some(Current { segment, term, page: 1 + self.buffer.len() / PAGE_OCTETS });
        Ok(())
    }
}
