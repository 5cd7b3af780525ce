//! An external sort: records of a whole zone in bounded memory, however many come and in whatever order.
//!
//! ```text
//! record -> arena, until it is full -> sorted: a run, appended to storage ... at the end: runs merged -> Builder -> Contents
//! record: octets of key u16 | type u16 | TTL u32 | octets of RDATA u16 | key relative to the apex | RDATA        little-endian
//! ```
//!
//! A transfer may take hours, and many run beside each other; what each of them holds meanwhile is one arena. Only when a zone is whole, and
//! confirmed, its records are brought together in memory, in canonical order and without the duplicates. A zone that fits the arena
//! never comes near the storage.

use std::collections::BinaryHeap;
use std::ops::Range;

use super::fault::Fault;
use super::sink::{Builder, Sink, Sizes};
use wire::name::NAME_OCTETS_MAX;
use wire::sort_key::write_labels;
use wire::{Name, NameBuf, SortKey};
use zone::Contents;

/// Where runs are stored: a file, as a rule. Whoever has it bounds how much it takes.
pub trait Runs {
    /// Appends octets.
    fn append(&mut self, octets: &[u8]) -> Result<(), NoStorage>;

    /// Reads octets that were appended, all of `to`, from offset `at`.
    fn read(&mut self, at: u64, to: &mut [u8]) -> Result<(), NoStorage>;
}

/// The storage is full, or does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStorage;

/// Storage in memory, up to a bound.
#[derive(Debug, Default)]
pub struct Memory {
    octets: Vec<u8>,
    octets_max: usize,
}

impl Memory {
    /// For so many octets at most.
    pub fn new(octets_max: usize) -> Memory {
        Memory { octets: Vec::new(), octets_max }
    }
}

impl Runs for Memory {
    fn append(&mut self, octets: &[u8]) -> Result<(), NoStorage> {
        if self.octets.len() + octets.len() > self.octets_max {
            return Err(NoStorage);
        }
        self.octets.extend_from_slice(octets);
        Ok(())
    }

    fn read(&mut self, at: u64, to: &mut [u8]) -> Result<(), NoStorage> {
        let from = usize::try_from(at).ok().and_then(|at| self.octets.get(at..at.checked_add(to.len())?));
        to.copy_from_slice(from.ok_or(NoStorage)?);
        Ok(())
    }
}

/// Octets of a record before its key.
const HEAD_OCTETS: usize = 10;
/// Octets that a run is read with at a time: the longest record, so that each read brings one at least.
const READ_OCTETS: usize = 128 << 10;
/// Octets that are appended at a time.
const WRITE_OCTETS: usize = 256 << 10;
/// Most runs: what their buffers take when they are merged is bounded by it.
const RUNS_MAX: usize = 1_024;

/// A record in an arena: the first octets of its key, and where it begins.
type Entry = (u64, u32);

/// See the module.
pub struct Spool<S> {
    apex: NameBuf,
    apex_key: Box<[u8]>,
    key: SortKey,
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// Octets of arena and entries.
    octets_max: usize,
    storage: S,
    /// Where runs are in the storage; each begins where the one before ends.
    runs: Vec<Range<u64>>,
    /// Of all records, those included that come again.
    sizes: Sizes,
}

impl<S: Runs> Spool<S> {
    /// For zone `apex`. `octets_max`: of memory before records go to the storage, at least a mebibyte and less than 4 GiB.
    pub fn new(apex: &Name, octets_max: usize, storage: S) -> Spool<S> {
        let key = SortKey::of(apex);
        Spool {
            apex: apex.to_owned(),
            apex_key: key.octets().into(),
            key,
            arena: Vec::new(),
            entries: Vec::new(),
            octets_max: octets_max.clamp(1 << 20, u32::MAX as usize),
            storage,
            runs: Vec::new(),
            sizes: Sizes::default(),
        }
    }

    /// Brings the records together: only of a transfer that is whole. `zone_octets`: memory for that.
    pub fn finish(mut self, zone_octets: u64) -> Result<Contents, Fault> {
        let builder = Builder::with_room(&self.apex, zone_octets, &self.sizes);
        let mut to = Ordered { builder, apex: &self.apex, last: Vec::new() };
        if self.runs.is_empty() {
            sort(&self.arena, &mut self.entries);
            for &(_, at) in &self.entries {
                to.take(whole(&self.arena, at))?;
            }
            return Ok(to.builder.finish());
        }
        spill(&mut self.arena, &mut self.entries, &mut self.runs, &mut self.storage)?;
        (self.arena, self.entries) = (Vec::new(), Vec::new());
        let mut heads = BinaryHeap::with_capacity(self.runs.len());
        for run in self.runs {
            let mut head = Head { run, buffer: Vec::new(), at: 0 };
            if head.advance(0, &mut self.storage)? {
                heads.push(head);
            }
        }
        while let Some(mut head) = heads.peek_mut() {
            let octets = head.record().octets();
            to.take(head.record())?;
            if !head.advance(octets, &mut self.storage)? {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
        Ok(to.builder.finish())
    }

    /// How many runs went to the storage.
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }
}

impl<S: Runs> Sink for Spool<S> {
    fn record(
        &mut self,
        owner: &Name,
        same_owner: bool,
        rtype: u16,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), Fault> {
        if !same_owner {
            self.key.set(owner);
        }
        let key = self.key.octets().strip_prefix(&*self.apex_key).ok_or(Fault::Full)?;
        let octets = HEAD_OCTETS + key.len() + rdata.len();
        let held = self.arena.len() + (self.entries.len() + 1) * size_of::<Entry>();
        if held + octets > self.octets_max {
            spill(&mut self.arena, &mut self.entries, &mut self.runs, &mut self.storage)?;
        }
        self.entries.push((prefix(key), self.arena.len() as u32));
        let [a, b] = (key.len() as u16).to_le_bytes();
        let [c, d] = rtype.to_le_bytes();
        let [e, f, g, h] = ttl.to_le_bytes();
        let [i, j] = (rdata.len() as u16).to_le_bytes();
        self.arena.extend_from_slice(&[a, b, c, d, e, f, g, h, i, j]);
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(rdata);
        self.sizes.records += 1;
        self.sizes.rdata_octets += rdata.len();
        if !same_owner {
            self.sizes.owners += 1;
            self.sizes.key_octets += key.len();
        }
        Ok(())
    }
}

/// Makes a run of the arena.
fn spill(
    arena: &mut Vec<u8>,
    entries: &mut Vec<Entry>,
    runs: &mut Vec<Range<u64>>,
    storage: &mut impl Runs,
) -> Result<(), Fault> {
    if runs.len() == RUNS_MAX {
        return Err(Fault::Full);
    }
    sort(arena, entries);
    let begin = runs.last().map_or(0, |run| run.end);
    let mut out = Vec::with_capacity(WRITE_OCTETS + READ_OCTETS);
    for &(_, at) in &*entries {
        let at = at as usize;
        out.extend_from_slice(&arena[at..at + whole(arena, at as u32).octets()]);
        if out.len() >= WRITE_OCTETS {
            storage.append(&out).map_err(|NoStorage| Fault::Full)?;
            out.clear();
        }
    }
    storage.append(&out).map_err(|NoStorage| Fault::Full)?;
    runs.push(begin..begin + arena.len() as u64);
    arena.clear();
    entries.clear();
    Ok(())
}

/// Brings entries into the order of owner, type, RDATA, TTL.
fn sort(arena: &[u8], entries: &mut [Entry]) {
    entries.sort_unstable_by(|a, b| {
        let tie = || whole(arena, a.1).order().cmp(&whole(arena, b.1).order());
        a.0.cmp(&b.0).then_with(tie)
    });
}

/// The first eight octets of a key as a number that sorts as they do.
fn prefix(key: &[u8]) -> u64 {
    let mut octets = [0; 8];
    let length = key.len().min(8);
    octets[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(octets)
}

/// A record as it is stored.
#[derive(Clone, Copy)]
struct Stored<'o> {
    rtype: u16,
    ttl: u32,
    key: &'o [u8],
    rdata: &'o [u8],
}

impl<'o> Stored<'o> {
    /// The record that begins here, if all of it is there.
    fn read(octets: &'o [u8]) -> Option<Stored<'o>> {
        let (&[a, b, c, d, e, f, g, h, i, j], rest) = octets.split_first_chunk::<HEAD_OCTETS>()?;
        let (key, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([a, b])))?;
        let rdata = rest.get(..usize::from(u16::from_le_bytes([i, j])))?;
        Some(Stored { rtype: u16::from_le_bytes([c, d]), ttl: u32::from_le_bytes([e, f, g, h]), key, rdata })
    }

    fn octets(&self) -> usize {
        HEAD_OCTETS + self.key.len() + self.rdata.len()
    }

    fn order(&self) -> (&'o [u8], u16, &'o [u8], u32) {
        (self.key, self.rtype, self.rdata, self.ttl)
    }
}

/// The record at an entry's place.
fn whole(arena: &[u8], at: u32) -> Stored<'_> {
    Stored::read(&arena[at as usize..]).expect("entries are made with their records")
}

/// Where the reading of a run is; in a heap, the least record first.
struct Head {
    /// What is not read yet.
    run: Range<u64>,
    buffer: Vec<u8>,
    at: usize,
}

impl Head {
    /// The present record: there is one, as heads without leave the heap.
    fn record(&self) -> Stored<'_> {
        Stored::read(&self.buffer[self.at..]).unwrap_or(Stored { rtype: 0, ttl: 0, key: &[], rdata: &[] })
    }

    /// Goes on by so many octets; `false` at the end of the run.
    fn advance(&mut self, octets: usize, storage: &mut impl Runs) -> Result<bool, Fault> {
        self.at += octets;
        if Stored::read(&self.buffer[self.at..]).is_some() {
            return Ok(true);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let held = self.buffer.len();
        let more = (self.run.end - self.run.start).min((READ_OCTETS - held.min(READ_OCTETS)) as u64);
        self.buffer.resize(held + more as usize, 0);
        storage.read(self.run.start, &mut self.buffer[held..]).map_err(|NoStorage| Fault::Full)?;
        self.run.start += more;
        match Stored::read(&self.buffer) {
            Some(_) => Ok(true),
            None if self.buffer.is_empty() => Ok(false),
            // What was written comes back otherwise.
            None => Err(Fault::Full),
        }
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> std::cmp::Ordering {
        other.record().order().cmp(&self.record().order())
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

/// Takes records in order and leaves out those that come again.
struct Ordered<'a> {
    builder: Builder,
    apex: &'a Name,
    /// The record before, as it is stored.
    last: Vec<u8>,
}

impl Ordered<'_> {
    fn take(&mut self, record: Stored<'_>) -> Result<(), Fault> {
        let last = Stored::read(&self.last);
        if last.is_some_and(|last| last.order() == record.order()) {
            return Ok(());
        }
        let same_owner = last.is_some_and(|last| last.key == record.key);
        let mut owner = [0; NAME_OCTETS_MAX];
        let labels = write_labels(record.key, &mut owner).unwrap_or(0);
        let apex = self.apex.octets();
        let octets = labels + apex.len();
        // The key was made from a name of the zone, which is no longer than this.
        owner.get_mut(labels..octets).ok_or(Fault::Full)?.copy_from_slice(apex);
        let owner = Name::trusted(&owner[..octets]);
        self.builder.record(owner, same_owner, record.rtype, record.ttl, record.rdata)?;
        self.last.clear();
        let head = [record.key.len() as u16, record.rtype].map(u16::to_le_bytes);
        self.last.extend_from_slice(head.as_flattened());
        self.last.extend_from_slice(&record.ttl.to_le_bytes());
        self.last.extend_from_slice(&(record.rdata.len() as u16).to_le_bytes());
        self.last.extend_from_slice(record.key);
        self.last.extend_from_slice(record.rdata);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
