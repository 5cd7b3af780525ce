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
use std::collections::binary_heap::PeekMut;

use super::fault::Fault;
use super::sink::{Builder, Sink, Sizes};
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

/// A run in the storage: what is not read of it.
#[derive(Clone, Copy, Debug)]
struct Run {
    begin: u64,
    end: u64,
    /// The sum of the hashes of its records.
    sum: u64,
}

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
    runs: Vec<Run>,
    /// Of all records in runs, those included that come again in another.
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
        if self.runs.is_empty() {
            sort(&self.arena, &mut self.entries);
            let mut sizes = Sizes::default();
            distinct(&self.arena, &self.entries).for_each(|(octets, same)| add(&mut sizes, octets, same));
            let mut to = Ordered::new(Builder::with_room(&self.apex, zone_octets, &sizes));
            for (octets, _) in distinct(&self.arena, &self.entries) {
                to.take(octets)?;
            }
            return Ok(to.builder.finish());
        }
        self.spill()?;
        let mut to = Ordered::new(Builder::with_room(&self.apex, zone_octets, &self.sizes));
        (self.arena, self.entries) = (Vec::new(), Vec::new());
        let mut heads = BinaryHeap::with_capacity(self.runs.len());
        for run in self.runs {
            let mut head = Head { run, buffer: Vec::new(), at: 0, end: 0 };
            if head.advance(&mut self.storage)? {
                heads.push(head);
            }
        }
        while let Some(mut head) = heads.peek_mut() {
            to.take(head.octets())?;
            if !head.advance(&mut self.storage)? {
                PeekMut::pop(head);
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
            self.spill()?;
        }
        let key = self.key.octets().strip_prefix(&*self.apex_key).ok_or(Fault::Full)?;
        self.entries.push((prefix(key), self.arena.len() as u32));
        let [a, b] = (key.len() as u16).to_le_bytes();
        let [c, d] = rtype.to_le_bytes();
        let [e, f, g, h] = ttl.to_le_bytes();
        let [i, j] = (rdata.len() as u16).to_le_bytes();
        self.arena.extend_from_slice(&[a, b, c, d, e, f, g, h, i, j]);
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(rdata);
        Ok(())
    }
}

impl<S: Runs> Spool<S> {
    /// Makes a run of the arena, without what is there twice: of one record that comes again and again one is left.
    fn spill(&mut self) -> Result<(), Fault> {
        if self.runs.len() == RUNS_MAX {
            return Err(Fault::Full);
        }
        sort(&self.arena, &mut self.entries);
        let begin = self.runs.last().map_or(0, |run| run.end);
        let mut run = Run { begin, end: begin, sum: 0 };
        let mut out = Vec::with_capacity(WRITE_OCTETS + READ_OCTETS);
        for (octets, same_owner) in distinct(&self.arena, &self.entries) {
            add(&mut self.sizes, octets, same_owner);
            run.sum = run.sum.wrapping_add(hash(octets));
            run.end += octets.len() as u64;
            out.extend_from_slice(octets);
            if out.len() >= WRITE_OCTETS {
                self.storage.append(&out).map_err(|NoStorage| Fault::Full)?;
                out.clear();
            }
        }
        self.storage.append(&out).map_err(|NoStorage| Fault::Full)?;
        self.runs.push(run);
        self.arena.clear();
        self.entries.clear();
        Ok(())
    }
}

fn add(sizes: &mut Sizes, octets: &[u8], same_owner: bool) {
    if let Some(record) = Stored::read(octets) {
        sizes.count(record.key.len(), record.rdata.len(), same_owner);
    }
}

/// The records of sorted entries, each once, and whether it has the owner of the one before.
fn distinct<'a>(arena: &'a [u8], entries: &'a [Entry]) -> impl Iterator<Item = (&'a [u8], bool)> {
    let mut last: Option<&[u8]> = None;
    entries.iter().filter_map(move |&(_, at)| {
        let octets = octets_at(arena, at);
        if last == Some(octets) {
            return None;
        }
        let key = |octets| Stored::read(octets).map(|record| record.key);
        let same_owner = last.is_some_and(|last| key(last) == key(octets));
        last = Some(octets);
        Some((octets, same_owner))
    })
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

/// Its octets.
fn octets_at(arena: &[u8], at: u32) -> &[u8] {
    &arena[at as usize..][..whole(arena, at).octets()]
}

/// A hash against storage that loses what it was given, not against somebody who chooses it.
fn hash(octets: &[u8]) -> u64 {
    let fold = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
        product as u64 ^ (product >> 64) as u64
    };
    let (words, rest) = octets.as_chunks::<8>();
    let hash =
        words.iter().fold(octets.len() as u64 | 1 << 32, |hash, word| fold(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(hash, u64::from_le_bytes(last))
}

/// Where the reading of a run is; in a heap, the least record first.
struct Head {
    run: Run,
    buffer: Vec<u8>,
    /// The present record in it: there is one, as heads without leave the heap.
    at: usize,
    end: usize,
}

impl Head {
    fn octets(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    fn record(&self) -> Stored<'_> {
        Stored::read(self.octets()).unwrap_or(Stored { rtype: 0, ttl: 0, key: &[], rdata: &[] })
    }

    /// Goes on to the next record; `false` at the end of the run, where all of it must have been what was written.
    fn advance(&mut self, storage: &mut impl Runs) -> Result<bool, Fault> {
        self.at = self.end;
        if Stored::read(&self.buffer[self.at..]).is_none() {
            self.fill(storage)?;
        }
        let Some(record) = Stored::read(&self.buffer[self.at..]) else {
            let is_whole = self.buffer.is_empty() && self.run.sum == 0;
            return if is_whole { Ok(false) } else { Err(Fault::Full) };
        };
        self.end = self.at + record.octets();
        self.run.sum = self.run.sum.wrapping_sub(hash(self.octets()));
        Ok(true)
    }

    /// Reads on.
    fn fill(&mut self, storage: &mut impl Runs) -> Result<(), Fault> {
        self.buffer.drain(..self.at);
        (self.at, self.end) = (0, 0);
        let held = self.buffer.len();
        let more = (self.run.end - self.run.begin).min(READ_OCTETS.saturating_sub(held) as u64);
        self.buffer.resize(held + more as usize, 0);
        storage.read(self.run.begin, &mut self.buffer[held..]).map_err(|NoStorage| Fault::Full)?;
        self.run.begin += more;
        Ok(())
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
struct Ordered {
    builder: Builder,
    /// The record before, as it is stored.
    last: Vec<u8>,
}

impl Ordered {
    fn new(builder: Builder) -> Ordered {
        Ordered { builder, last: Vec::new() }
    }

    /// `octets`: a record as it is stored.
    fn take(&mut self, octets: &[u8]) -> Result<(), Fault> {
        let Some(record) = Stored::read(octets) else { return Ok(()) };
        let last = Stored::read(&self.last);
        let same_owner = last.is_some_and(|last| last.key == record.key);
        if same_owner && self.last == octets {
            return Ok(());
        }
        self.builder.record_of_key(record.key, same_owner, (record.rtype, record.ttl), record.rdata)?;
        self.last.clear();
        self.last.extend_from_slice(octets);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
