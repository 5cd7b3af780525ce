//! From a log that was read to one that is written.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Commit, Read, Recovery};
use crate::log::format::{GROUP_HEAD_OCTETS, NoHead};
use crate::log::segments::{Fate, NEW, Segment, Segments};
use crate::log::{Log, Status, Used};

impl Recovery {
    /// Goes on with the log: in a new epoch, in which the last group is written again, as what was read may have been in memory alone. This is
    /// done by [`Log::decide`], before which nothing is appended; where that fails, what was read can be served, and it is tried again.
    pub fn begin(mut self) -> Log {
        for name in self.disk.names(&self.folder).unwrap_or_default() {
            if name.to_string_lossy().starts_with(NEW) {
                // It would be made anew, or is in nobody's way.
                let _ = self.disk.remove(&self.folder.join(name));
            }
        }
        let last = self.commits.last().filter(|commit| commit.last() == self.last);
        let last = last.and_then(|commit| commit.parts.last().copied());
        let again = last.and_then(|at| {
            let commit = Commit { first: at.found.head.number, parts: vec![at] };
            let mut octets = Vec::new();
            self.body(&commit, &mut octets).ok()?;
            Some((at.found.head, octets.split_off(GROUP_HEAD_OCTETS)))
        });
        let epochs = self.reads.iter().filter_map(|read| read.term).map(|term| term.epoch);
        let epoch = epochs.max().unwrap_or(0).max(self.epoch);
        let number = if again.is_some() { self.last } else { self.next() };
        let (free, used) = self.sort_segments(again.as_ref().map(|_| number));
        let disk = Arc::clone(&self.disk);
        let has_free = !free.is_empty();
        let segments = Segments::new(disk, &self.folder, self.options, free, used.len(), self.next_segment);
        if !has_free {
            // What fails is said by `Log::room_error`, and tried again.
            let _ = segments.prepare();
        }
        Log {
            segments: Arc::new(segments),
            identity: self.identity,
            epoch,
            current: None,
            used,
            first: self.first.min(number),
            next: number,
            undecided: true,
            again,
            zones: std::mem::take(&mut self.zones),
            named: std::mem::take(&mut self.last_zones),
            counted: Status::default(),
            buffer: Vec::new(),
            here: HashSet::new(),
        }
    }

    /// Segments that are free, and those that have groups which are needed. `again`: the group that is written again.
    fn sort_segments(&mut self, again: Option<u64>) -> (Vec<Segment>, Vec<Used>) {
        let mut needed: HashMap<usize, Vec<u64>> = HashMap::new();
        for at in self.commits.iter().flat_map(|commit| &commit.parts) {
            needed.entry(at.read).or_default().push(at.found.head.number);
        }
        let (mut free, mut used) = (Vec::new(), Vec::new());
        for (at, read) in std::mem::take(&mut self.reads).into_iter().enumerate() {
            let numbers = needed.remove(&at).unwrap_or_default();
            let is_damaged = self.is_damaged(&read, &numbers);
            let segment = read.segment;
            if is_damaged || read.is_odd {
                let fate = if is_damaged { Fate::PutAside } else { Fate::Remove };
                used.push(Used { segment, last: self.last, fate, is_superseded: false });
            } else if let Some(last) = numbers.iter().copied().max() {
                let is_superseded = numbers.iter().all(|number| Some(*number) == again);
                used.push(Used { segment, last, fate: Fate::Free, is_superseded });
            } else {
                free.push(segment);
            }
        }
        (free, used)
    }

    /// Whether a segment has, or may have had, something that is lost. `numbers`: the groups of it that are needed.
    fn is_damaged(&self, read: &Read, numbers: &[u64]) -> bool {
        let is_lost = |number: u64| self.lost.iter().any(|lost| (lost.first..=lost.last).contains(&number));
        let is_beside = |number: &u64| is_lost(number + 1) || is_lost(number - 1);
        read.unreadable.is_some()
            || read.groups.iter().any(|found| !found.is_whole && is_lost(found.head.number))
            || numbers.iter().any(is_beside)
            || matches!(read.head, Err(NoHead::Damaged)) && !self.lost.is_empty()
    }
}
