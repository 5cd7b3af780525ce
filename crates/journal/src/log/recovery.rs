//! What a start finds in the log: `docs/design/journal.md` 3.
//!
//! ```text
//! segments --scan--> groups that are as they were written --void ones go--> by number --parts together--> commits, and gaps between them
//! ```
//!
//! A group of epoch e with number n is void if there is an epoch above e that begins at n or before. An epoch of which no group can be read
//! says nothing: its beginning was never synced, and so never acknowledged.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sync::random::fill_from_system;

use super::format::{GROUP_HEAD_OCTETS, NoHead, SegmentHead, place};
use super::scan::{Found, scan};
use super::segments::{ASIDE, Segment, is_possible, number_of};
use super::{Options, Zones};
use crate::disk::{Disk, PAGE_OCTETS};
use crate::record::Record;
use crate::sum::Identity;

mod arrange;
mod begin;
mod lost;

use arrange::{At, Commit};
pub use lost::{Lost, Place};

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

/// A commit, for people.
pub(crate) struct Shown<'r> {
    /// The number of its last group.
    pub(crate) number: u64,
    pub(crate) octets: usize,
    /// Where it begins.
    pub(crate) place: Place,
    pub(crate) records: Vec<Record<'r>>,
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
