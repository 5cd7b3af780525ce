//! From the groups of all segments to commits in order, and the gaps between them.

use std::collections::BTreeMap;

use super::Recovery;
use super::lost::{Lost, Place};
use crate::disk::PAGE_OCTETS;
use crate::log::format::GroupHead;
use crate::log::scan::Found;

/// A group among all segments.
#[derive(Clone, Copy)]
pub(super) struct At {
    /// Index of the segment.
    pub(super) read: usize,
    pub(super) found: Found,
}

/// A commit of which all parts are there.
pub(super) struct Commit {
    pub(super) first: u64,
    pub(super) parts: Vec<At>,
}

impl Commit {
    pub(super) fn last(&self) -> u64 {
        self.first + self.parts.len() as u64 - 1
    }
}

impl Recovery {
    /// For each epoch, the number from which on an epoch above makes its groups void.
    fn void_from(&self) -> BTreeMap<u32, u64> {
        let mut begins: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
        for read in &self.reads {
            let Some(term) = read.term else { continue };
            let (first, is_said) = begins.entry(term.epoch).or_insert((u64::MAX, false));
            *first = (*first).min(term.first);
            *is_said |= read.groups.iter().any(|found| found.is_whole);
        }
        let mut bound = u64::MAX;
        let mut void = BTreeMap::new();
        for (epoch, (first, is_said)) in begins.into_iter().rev() {
            void.insert(epoch, bound);
            if is_said {
                bound = bound.min(first);
            }
        }
        void
    }

    /// Puts groups into commits and finds what is missing.
    pub(super) fn arrange(&mut self) {
        let void = self.void_from();
        let mut groups: BTreeMap<u64, At> = BTreeMap::new();
        for (read, segment) in self.reads.iter().enumerate() {
            for found in &segment.groups {
                let GroupHead { number, term, .. } = found.head;
                let is_void = void.get(&term.epoch).is_some_and(|bound| number >= *bound);
                if number < self.first || is_void || !found.is_whole {
                    continue;
                }
                let at = At { read, found: *found };
                let kept = groups.entry(number).or_insert(at);
                if kept.found.head.term < term {
                    *kept = at;
                }
            }
        }
        let end = groups.last_key_value().map_or(0, |(number, _)| *number);
        let mut number = self.first;
        let mut missing: Vec<(u64, u64)> = Vec::new();
        self.last = self.first - 1;
        while number <= end {
            match commit_from(&groups, number) {
                Ok(commit) => {
                    number = commit.last() + 1;
                    self.commits.push(commit);
                }
                Err(last) if last > end => break,
                Err(last) => {
                    // What is missing may be much: the next group that is there ends it.
                    let next = groups.range(last + 1..).next();
                    let last = if groups.contains_key(&number) {
                        last
                    } else {
                        next.map_or(last, |(next, _)| next - 1)
                    };
                    missing.push((number, last));
                    number = last + 1;
                }
            }
            self.last = number - 1;
        }
        if let Some(lost) = self.unreadable_tail() {
            missing.push((lost, lost));
            self.last = lost;
        }
        if !self.is_new() && self.known > self.last {
            missing.push((self.last + 1, self.known));
            self.last = self.known;
        }
        self.note_lost(missing);
    }

    /// The group that could be in a page behind the last one which the disk did not give.
    fn unreadable_tail(&self) -> Option<u64> {
        let last_segment = self.commits.last().and_then(|commit| commit.parts.last());
        let is_after = |read: usize, page: usize| match last_segment {
            Some(at) if at.read == read => page >= at.found.page + at.found.head.pages(),
            Some(at) => self.reads[read].term > self.reads[at.read].term,
            None => true,
        };
        let mut reads = self.reads.iter().enumerate();
        reads
            .any(|(at, read)| read.unreadable.is_some_and(|page| is_after(at, page)))
            .then_some(self.last + 1)
    }

    /// Joins what is missing side by side, and says where and whose it is as far as that is known.
    fn note_lost(&mut self, missing: Vec<(u64, u64)>) {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (first, last) in missing {
            match ranges.last_mut() {
                Some(range) if range.1 + 1 == first => range.1 = last,
                _ => ranges.push((first, last)),
            }
        }
        for (first, last) in ranges {
            let place = self.reads.iter().find_map(|read| {
                let is_it = |found: &&Found| !found.is_whole && (first..=last).contains(&found.head.number);
                let page = read.groups.iter().find(is_it).map(|found| found.page)?;
                Some(Place { path: self.path(read.segment.number), octet: (page * PAGE_OCTETS) as u64 })
            });
            let place = place.or_else(|| self.place_behind(first - 1));
            let (zones, has_all) = Default::default();
            self.lost.push(Lost { first, last, place, zones, has_all });
        }
    }

    /// Where the group after this one would be, if it is in the same segment.
    fn place_behind(&self, number: u64) -> Option<Place> {
        let commit = self.commits.iter().find(|commit| commit.last() == number)?;
        let At { read, found } = commit.parts.last()?;
        let octet = (found.page + found.head.pages()) * PAGE_OCTETS;
        let path = self.path(self.reads[*read].segment.number);
        (octet < self.options.segment_octets).then_some(Place { path, octet: octet as u64 })
    }
}

/// The commit that begins with group `number`. The error: the last number that is missing with it.
fn commit_from(groups: &BTreeMap<u64, At>, number: u64) -> Result<Commit, u64> {
    let Some(at) = groups.get(&number) else { return Err(number) };
    let GroupHead { part, parts, .. } = at.found.head;
    let last = number - u64::from(part) + u64::from(parts) - 1;
    let has_all = part == 0
        && (number..=last).all(|each| {
            let head = groups.get(&each).map(|at| at.found.head);
            head.is_some_and(|head| head.parts == parts && head.commit() == number)
        });
    if !has_all {
        return Err(last.max(number));
    }
    Ok(Commit { first: number, parts: groups.range(number..=last).map(|(_, at)| *at).collect() })
}
