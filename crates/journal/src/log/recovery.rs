//! What a start finds in the log: `docs/design/journal.md` 3.
//!
//! ```text
//! segments --scan--> groups that are as they were written --void ones go--> by number --parts together--> commits, and gaps between them
//! ```
//!
//! A group of epoch e with number n is void if there is an epoch above e that begins at n or before. An epoch of which no group can be read
//! says nothing: its beginning was never synced, and so never acknowledged.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sync::random::fill_from_system;
use wire::Name;

use super::format::{GROUP_HEAD_OCTETS, GroupHead, NoHead, SegmentHead, place};
use super::scan::{Found, scan};
use super::segments::{ASIDE, Segment, is_possible, number_of};
use super::{Options, Zones};
use crate::disk::{Disk, PAGE_OCTETS};
use crate::record::{Body, Record};
use crate::sum::{Identity, Key};

mod begin;

/// What a start knows of the log before it has read it: from the anchor, packs and checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The log's identity, as the anchor has it.
    pub identity: Option<Identity>,
    /// The first group that is needed: packs and checkpoints have all before. See [`super::Log::release`].
    pub first: u64,
    /// The last group of which a pack or a checkpoint has something; 0: none. New ones get higher numbers.
    pub known: u64,
    /// The last epoch that the anchor knows of; 0: none.
    pub epoch: u32,
}

/// A place in the log, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The segment's file.
    pub path: PathBuf,
    /// Octets from its beginning.
    pub octet: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, octet {}", self.path.display(), self.octet)
    }
}

/// A commit, for people.
pub(crate) struct Shown<'r> {
    /// The number of its last group.
    pub(crate) number: u64,
    pub(crate) octets: usize,
    /// Where it begins.
    pub(crate) place: Place,
    pub(crate) records: Vec<Record<'r>>,
}

/// Groups that were acknowledged and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The first of them.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// Where one of them begins, if that is known.
    pub place: Option<Place>,
    /// Hashes of the zones that had records there; `None`: unknown.
    zones: Option<HashSet<u64>>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost { first, last, place, .. } = self;
        match (first == last, place) {
            (true, Some(place)) => write!(f, "group {first} is damaged: {place}"),
            (true, None) => write!(f, "group {first} is missing"),
            (false, Some(place)) => write!(f, "groups {first} to {last} are damaged or missing: {place}"),
            (false, None) => write!(f, "groups {first} to {last} are missing"),
        }
    }
}

/// Why a log cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The folder or a file cannot be read at all.
    Io(PathBuf, io::Error),
    /// A segment of a log of another server.
    Foreign(PathBuf),
    /// A segment in a format that this program does not know.
    Version(PathBuf, u32),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            OpenError::Foreign(path) => write!(f, "{}: of another log than the rest", path.display()),
            OpenError::Version(path, version) => {
                write!(f, "{}: version {version} of the format is not known", path.display())
            }
        }
    }
}

impl std::error::Error for OpenError {}

/// A segment that was read.
struct Read {
    segment: Segment,
    head: Result<SegmentHead, NoHead>,
    term: Option<super::Term>,
    groups: Vec<Found>,
    /// The first page that the disk did not give.
    unreadable: Option<usize>,
    /// Longer or shorter than it was made.
    is_odd: bool,
}

/// A group among all segments.
#[derive(Clone, Copy)]
struct At {
    /// Index of the segment.
    read: usize,
    found: Found,
}

/// A commit of which all parts are there.
struct Commit {
    first: u64,
    parts: Vec<At>,
}

impl Commit {
    fn last(&self) -> u64 {
        self.first + self.parts.len() as u64 - 1
    }
}

/// A log that was read, before anything is written to it.
pub struct Recovery {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    options: Options,
    identity: Identity,
    first: u64,
    known: u64,
    epoch: u32,
    reads: Vec<Read>,
    next_segment: u32,
    commits: Vec<Commit>,
    lost: Vec<Lost>,
    /// The last group that was acknowledged, readable or not.
    last: u64,
    zones: HashMap<u64, u64>,
    /// Group and group before of each zone's records, where something is lost.
    chains: HashMap<u64, Vec<(u64, u64)>>,
    last_zones: [Zones; 2],
}

impl Recovery {
    /// Reads the log in `folder`, which is made if it is not there. Changes nothing else.
    pub fn open(
        disk: Arc<dyn Disk>,
        folder: &Path,
        options: Options,
        start: Start,
    ) -> Result<Recovery, OpenError> {
        assert!(is_possible(options.segment_octets), "whole pages, one for the head");
        let io = |error| OpenError::Io(folder.to_owned(), error);
        disk.make_folder(folder).map_err(io)?;
        let mut numbers: Vec<u32> = Vec::new();
        let mut next_segment = 1;
        for name in disk.names(folder).map_err(io)? {
            let name = name.to_string_lossy();
            numbers.extend(number_of(&name));
            next_segment = number_of(name.trim_start_matches(ASIDE))
                .map_or(next_segment, |number| next_segment.max(number + 1));
        }
        numbers.sort_unstable();
        let mut recovery = Recovery {
            disk,
            folder: folder.to_owned(),
            options,
            identity: start.identity.unwrap_or_default(),
            first: start.first.max(1),
            known: start.known,
            reads: Vec::new(),
            next_segment,
            epoch: start.epoch,
            commits: Vec::new(),
            lost: Vec::new(),
            last: 0,
            zones: HashMap::new(),
            chains: HashMap::new(),
            last_zones: [Some(Vec::new()), Some(Vec::new())],
        };
        recovery.find_identity(&numbers, start.identity)?;
        let mut octets = Vec::new();
        for number in numbers {
            let read = recovery.read_segment(number, &mut octets)?;
            recovery.reads.push(read);
        }
        recovery.arrange();
        recovery.look_through().map_err(io)?;
        Ok(recovery)
    }

    /// The identity that all heads have.
    fn find_identity(&mut self, numbers: &[u32], given: Option<Identity>) -> Result<(), OpenError> {
        let mut known = given;
        for number in numbers {
            let path = self.path(*number);
            let mut page = [0; PAGE_OCTETS];
            let is_read = self.disk.open(&path).and_then(|file| file.read_at(&mut page, 0)).is_ok();
            match SegmentHead::read(&page, *number) {
                Ok(head) if is_read => match known {
                    Some(known) if known != head.identity => return Err(OpenError::Foreign(path)),
                    _ => known = Some(head.identity),
                },
                Err(NoHead::Version(version)) => return Err(OpenError::Version(path, version)),
                _ => {}
            }
        }
        match known {
            Some(known) => self.identity = known,
            None => fill_from_system(&mut self.identity)
                .map_err(|error| OpenError::Io(self.folder.clone(), error))?,
        }
        Ok(())
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(super::segments::file_name(number))
    }

    /// Reads a segment as far as the disk gives it. `octets` is used again.
    fn read_segment(&self, number: u32, octets: &mut Vec<u8>) -> Result<Read, OpenError> {
        let path = self.path(number);
        let io = |error| OpenError::Io(path.clone(), error);
        let file = self.disk.open(&path).map_err(io)?;
        let there = file.octets().map_err(io)?;
        let is_odd = there != self.options.segment_octets as u64;
        octets.clear();
        octets.resize(self.options.segment_octets, 0);
        let readable = (there as usize).min(octets.len());
        let mut unreadable = None;
        if file.read_at(&mut octets[..readable], 0).is_err() {
            for (page, octets) in octets[..readable].chunks_mut(PAGE_OCTETS).enumerate() {
                if file.read_at(octets, (page * PAGE_OCTETS) as u64).is_err() {
                    octets.fill(0);
                    unreadable = unreadable.or(Some(page));
                }
            }
        }
        let scanned = scan(octets, number, &self.identity);
        let (head, term, groups) = (scanned.head, scanned.term, scanned.groups);
        Ok(Read { segment: Segment { number, file }, head, term, groups, unreadable, is_odd })
    }

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
    fn arrange(&mut self) {
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
            self.lost.push(Lost { first, last, place, zones: None });
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

    /// Reads all records once: which zones have which groups, and whose the lost ones were.
    fn look_through(&mut self) -> io::Result<()> {
        let key = Key::new(&self.identity);
        let is_damaged = !self.lost.is_empty();
        let (mut zones, mut chains) = (HashMap::new(), HashMap::<u64, Vec<(u64, u64)>>::new());
        let mut last_zones = [Some(Vec::new()), Some(Vec::new())];
        let mut end = self.first;
        let mut octets = Vec::new();
        for commit in &self.commits {
            let mut here = HashSet::new();
            let (last, body) = (commit.last(), self.body(commit, &mut octets)?);
            for (record, _) in Record::all(body.records) {
                // What is not the first of its zone in a group says so.
                let is_first = record.group_before != last;
                if matches!(record.body, Body::Checked { .. }) || !is_first {
                    continue;
                }
                let zone = key.zone(record.zone);
                here.insert(zone);
                if is_damaged {
                    chains.entry(zone).or_default().push((last, record.group_before));
                }
            }
            zones.extend(here.iter().map(|zone| (*zone, last)));
            last_zones.swap(0, 1);
            if commit.first != end {
                last_zones[1] = None;
            }
            last_zones[0] = (here.len() <= super::ZONES_NAMED_MAX).then(|| here.into_iter().collect());
            end = commit.last() + 1;
        }
        if end <= self.last {
            last_zones = [None, None];
        }
        let named: Vec<_> = self.lost.iter().map(|lost| self.named_after(lost)).collect::<io::Result<_>>()?;
        for (lost, zones) in self.lost.iter_mut().zip(named) {
            lost.zones = zones;
        }
        (self.zones, self.chains, self.last_zones) = (zones, chains, last_zones);
        Ok(())
    }

    /// The zones of lost groups, if the group after names them.
    fn named_after(&self, lost: &Lost) -> io::Result<Option<HashSet<u64>>> {
        let Some(commit) = self.commits.iter().find(|commit| commit.first == lost.last + 1) else {
            return Ok(None);
        };
        let [before, one_more] = commit.parts[0].found.head.named;
        let count = match (lost.last - lost.first, before, one_more) {
            (0, Some(before), _) => usize::from(before),
            (1, Some(before), Some(one_more)) => usize::from(before) + usize::from(one_more),
            _ => return Ok(None),
        };
        let mut octets = Vec::new();
        let (zones, _) = self.body(commit, &mut octets)?.zones.as_chunks::<8>();
        Ok(zones.get(..count).map(|zones| zones.iter().map(|zone| u64::from_le_bytes(*zone)).collect()))
    }

    /// All that a commit has, read once more into `octets`.
    fn body<'o>(&self, commit: &Commit, octets: &'o mut Vec<u8>) -> io::Result<CommitBody<'o>> {
        octets.clear();
        for (part, At { read, found }) in commit.parts.iter().enumerate() {
            let Read { segment, .. } = &self.reads[*read];
            let start = octets.len();
            octets.resize(start + found.head.octets as usize, 0);
            segment.file.read_at(&mut octets[start..], (found.page * PAGE_OCTETS) as u64)?;
            let key = place(&self.identity, segment.number, found.page);
            if found.head.body(key, &octets[start..]).is_none() {
                return Err(io::Error::other(format!(
                    "group {} has changed while it was read",
                    found.head.number
                )));
            }
            // Only the first head stays in front.
            if part > 0 {
                octets.drain(start..start + GROUP_HEAD_OCTETS);
            }
        }
        let named = commit.parts.first().map_or(0, |at| at.found.head.named_octets());
        let (zones, records) = octets[GROUP_HEAD_OCTETS..].split_at(named);
        Ok(CommitBody { zones, records })
    }

    /// Calls `visit` with each record of each commit, in order: the number of its (last) group, and the record. Records of a zone whose pack
    /// or checkpoint has that group are in it; others are applied if their `serial_before` is the one that is there.
    pub fn replay(&self, visit: &mut dyn FnMut(u64, &Record<'_>)) -> io::Result<()> {
        let mut octets = Vec::new();
        for commit in &self.commits {
            let body = self.body(commit, &mut octets)?;
            for (record, _) in Record::all(body.records) {
                visit(commit.last(), &record);
            }
        }
        Ok(())
    }

    /// Calls `visit` with each commit that is there. For people.
    pub(crate) fn describe(&self, visit: &mut dyn FnMut(&Shown<'_>)) -> io::Result<()> {
        for commit in &self.commits {
            let mut octets = Vec::new();
            let body = self.body(commit, &mut octets)?;
            let At { read, found } = commit.parts[0];
            let path = self.path(self.reads[read].segment.number);
            let place = Place { path, octet: (found.page * PAGE_OCTETS) as u64 };
            let records = Record::all(body.records).map(|(record, _)| record).collect();
            visit(&Shown { number: commit.last(), octets: body.records.len(), place, records });
        }
        Ok(())
    }

    /// What was acknowledged and cannot be read: empty, if all is well.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// What a zone has lost, or may have lost, whose pack or checkpoint has its records up to group `group` (0: none).
    pub fn suffers(&self, zone: &Name, group: u64) -> Option<&Lost> {
        let zone = Key::new(&self.identity).zone(zone);
        self.lost.iter().filter(|lost| lost.last > group).find(|lost| match &lost.zones {
            Some(zones) => zones.contains(&zone),
            None => !self.is_proven(zone, lost),
        })
    }

    /// Whether a record after lost groups says that the zone had none in them.
    fn is_proven(&self, zone: u64, lost: &Lost) -> bool {
        let chain = self.chains.get(&zone).map(Vec::as_slice).unwrap_or_default();
        let next = chain.iter().find(|(group, _)| *group > lost.last);
        next.is_some_and(|(_, before)| *before < lost.first)
    }

    /// Whether there was no log. Then the anchor is to be written with [`Recovery::next`] as the first group that is needed, before
    /// anything is acknowledged.
    pub fn is_new(&self) -> bool {
        self.reads.iter().all(|read| matches!(read.head, Err(NoHead::Empty)) && read.groups.is_empty())
    }

    /// The number that the next group has. Where the last one is written again, that is the one after it.
    pub fn next(&self) -> u64 {
        self.last.max(self.known) + 1
    }

    /// See [`super::Log::identity`].
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Octets of the groups that are there: how much there is to replay.
    pub fn octets(&self) -> u64 {
        let parts = self.commits.iter().flat_map(|commit| &commit.parts);
        parts.map(|at| u64::from(at.found.head.octets)).sum()
    }
}

/// The octets of a commit.
struct CommitBody<'o> {
    /// Hashes of the zones that are named again.
    zones: &'o [u8],
    records: &'o [u8],
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
