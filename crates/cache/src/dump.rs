//! The store as octets, and back: for a start that knows what was known before.
//!
//! ```text
//! header   magic 8 | version 4 | parts 4 | written: wall clock, seconds 8, moment, ms 8 | world 8 | checksum 8        all little-endian
//! part     number 4 | entries 4 | octets 8 | checksum 8 | entries as in memory (`entry.rs`), one after the other
//! entry    octet 7, bit 6: it had proved to be of use
//! ```
//!
//! No place, hash or pointer is in it: any part can be read by itself, by any thread, into a store of another size. What is read is checked as if a stranger had written it. Ages go on by the wall
//! clock. `world`: whatever the entries depend on beside time (anchors, points that are configured), as one number of the caller's: of another world nothing is taken.
//! Failures, and what is bogus or unchecked, are left out. Which files, and who may read them, is for who writes them to say.

use std::io::{self, Write};

use wire::Name;
use wire::rrset::RrsetList;

use crate::entry::{self, Entry, Security};
use crate::index::Which;
use crate::limits::Limits;
use crate::shard::Put;
use crate::store::Cache;
use crate::{Key, Moment, Subject, rank};

const MAGIC: [u8; 8] = *b"zondaRRs";
/// Changes with every change of the format: other versions are not read.
const VERSION: u32 = 1;
const HEADER_OCTETS: usize = 48;
const PART_OCTETS: usize = 24;
/// Parts at most, as many as a store has shards; what says more is damaged.
const PARTS_MAX: usize = 64;
/// The octet of an entry that has bits free, and the one that says that it was read before it was written.
const FLAGS_AT: usize = 7;
const IS_PROVEN: u8 = 0x40;
/// Entries that are copied under one taking of a lock: about 20 us.
const STEP_ENTRIES: usize = 128;

/// When and where something is written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// The clock of ages.
    pub now: Moment,
    /// Seconds since 1970.
    pub wall: u64,
    /// See the module.
    pub world: u64,
}

/// Why octets are no dump that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpError {
    /// They are no dump, or their beginning is damaged.
    NotADump,
    /// Of another version.
    Version(u32),
    /// It was written with other anchors or settings.
    OtherWorld,
    /// The wall clock says that it is still to be written: no ages can be told.
    ClockWentBack,
    /// A part is damaged: checksum or lengths are wrong.
    Damaged,
}

/// A dump whose header was checked.
#[derive(Clone, Debug)]
pub struct Dump<'d> {
    parts: Vec<Part<'d>>,
    /// When it was written, by the clock of ages of then.
    then: Moment,
    /// Milliseconds since.
    since_ms: u64,
    /// Parts that the header speaks of and that are not there.
    missing: usize,
}

#[derive(Clone, Copy, Debug)]
struct Part<'d> {
    fields: &'d [u8; PART_OCTETS],
    octets: &'d [u8],
}

/// What became of the entries of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Are there now.
    pub entries: usize,
    /// Had expired, or something newer is known.
    pub passed_over: usize,
    /// Were no entries.
    pub wrong: usize,
}

impl<'d> Dump<'d> {
    /// Checks the header and finds the parts; looks at nothing else. `situation`: that of the reader.
    pub fn open(octets: &'d [u8], situation: &Situation) -> Result<Dump<'d>, DumpError> {
        let (header, mut rest) = octets.split_first_chunk::<HEADER_OCTETS>().ok_or(DumpError::NotADump)?;
        let (fields, sum) = header.split_at(HEADER_OCTETS - 8);
        if fields[..8] != MAGIC {
            return Err(DumpError::NotADump);
        }
        if half(fields, 8) != VERSION {
            return Err(DumpError::Version(half(fields, 8)));
        }
        if checksum(fields) != long(sum, 0) || half(fields, 12) as usize > PARTS_MAX {
            return Err(DumpError::NotADump);
        }
        let (count, wall, then, world) =
            (half(fields, 12) as usize, long(fields, 16), long(fields, 24), long(fields, 32));
        if world != situation.world {
            return Err(DumpError::OtherWorld);
        }
        let since = situation.wall.checked_sub(wall).ok_or(DumpError::ClockWentBack)?;
        let mut parts = Vec::new();
        while parts.len() < count {
            let Some((part, after)) = split_part(rest) else { break };
            parts.push(part);
            rest = after;
        }
        let missing = count - parts.len();
        Ok(Dump { parts, then: Moment(then), since_ms: since.saturating_mul(1000), missing })
    }

    /// How many parts it has.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// How many parts are cut off.
    pub fn missing(&self) -> usize {
        self.missing
    }
}

impl Cache {
    /// Writes all that is worth it; what changes meanwhile may be in it or not. Locks of writers are taken for some microseconds each. How many entries.
    pub fn write_dump(&self, to: &mut dyn Write, situation: &Situation) -> io::Result<usize> {
        let mut header = Vec::with_capacity(HEADER_OCTETS);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend((self.shards.len() as u32).to_le_bytes());
        [situation.wall, situation.now.0, situation.world]
            .iter()
            .for_each(|field| header.extend(field.to_le_bytes()));
        header.extend(checksum(&header).to_le_bytes());
        to.write_all(&header)?;
        let (mut octets, mut all) = (Vec::new(), 0);
        for number in 0..self.shards.len() {
            octets.clear();
            let count = self.collect_part(number, situation.now, &mut octets);
            let mut fields = Vec::with_capacity(PART_OCTETS);
            fields.extend((number as u32).to_le_bytes());
            fields.extend((count as u32).to_le_bytes());
            fields.extend((octets.len() as u64).to_le_bytes());
            fields.extend(checksum_of_part(&fields, &octets).to_le_bytes());
            to.write_all(&fields)?;
            to.write_all(&octets)?;
            all += count;
        }
        Ok(all)
    }

    /// Entries of one shard: of the main ring first, which are older.
    fn collect_part(&self, number: usize, now: Moment, octets: &mut Vec<u8>) -> usize {
        let mut count = 0;
        for ring in [Which::Main, Which::Small] {
            self.walk(number, ring, |entry, is_visited| {
                let (Some(key), Some(known)) = (entry::key_of(entry), entry::read(entry)) else { return };
                if is_worth_it(&self.shared.limits, &key, &known, now) {
                    let at = octets.len() + FLAGS_AT;
                    octets.extend_from_slice(entry);
                    if ring == Which::Main || is_visited {
                        octets[at] |= IS_PROVEN;
                    }
                    count += 1;
                }
            });
        }
        count
    }

    /// Shows `each` the octets of all entries of a ring that are in the index and not flushed, and whether they were read lately; in steps.
    pub(crate) fn walk(&self, number: usize, ring: Which, mut each: impl FnMut(&[u8], bool)) {
        let shard = &self.shards[number];
        let mut octets = Vec::new();
        let (mut place, until) = (0, shard.lock().heads[ring as usize]);
        while place < until {
            let _writing = shard.lock();
            place = shard.ring(ring).tail().max(place);
            for _ in 0..STEP_ENTRIES {
                if place >= until {
                    break;
                }
                let count =
                    shard.ring(ring).copy(place, &mut octets).expect("places before the head have entries");
                if let Some(is_visited) = shard.is_live(&self.shared, ring, place, &octets[..count]) {
                    each(&octets[..count], is_visited);
                }
                place = shard.ring(ring).beyond(place, count / 8);
            }
        }
    }

    /// Takes in a part. Parts may be taken in any order, by any threads.
    pub fn load(&self, dump: &Dump<'_>, part: usize, now: Moment) -> Result<Loaded, DumpError> {
        let Part { fields, octets } = dump.parts.get(part).ok_or(DumpError::Damaged)?;
        let (counted, sum) = fields.split_at(PART_OCTETS - 8);
        if half(counted, 0) as usize != part || checksum_of_part(counted, octets) != long(sum, 0) {
            return Err(DumpError::Damaged);
        }
        let (mut loaded, mut rest) = (Loaded::default(), *octets);
        let mut copy = Vec::new();
        for _ in 0..half(counted, 4) {
            let Some((octets, after)) = split_entry(rest) else { return Err(DumpError::Damaged) };
            rest = after;
            copy.clear();
            copy.extend_from_slice(octets);
            let is_proven = copy[FLAGS_AT] & IS_PROVEN != 0;
            copy[FLAGS_AT] &= !IS_PROVEN;
            match checked(&copy) {
                None => loaded.wrong += 1,
                Some((key, entry)) => match self.is_taken(dump, &key, &entry, is_proven, now) {
                    true => loaded.entries += 1,
                    false => loaded.passed_over += 1,
                },
            }
        }
        Ok(loaded)
    }

    fn is_taken(
        &self,
        dump: &Dump<'_>,
        key: &Key<'_>,
        entry: &Entry<'_>,
        is_proven: bool,
        now: Moment,
    ) -> bool {
        let age_ms = dump.then.ms_since(entry.stored).saturating_add(dump.since_ms);
        // What is older than the clock was stored when it began, with less to live.
        let before_clock_ms = age_ms.saturating_sub(now.0);
        let lost = u32::try_from(before_clock_ms.div_ceil(1000)).unwrap_or(u32::MAX);
        let limits = &self.shared.limits;
        let ttl = limits.ttl_of(key.subject, entry, None, now).min(entry.ttl).saturating_sub(lost);
        let entry = Entry { stored: Moment(now.0.saturating_sub(age_ms)), ttl, ..*entry };
        if !is_worth_it(limits, key, &entry, now) {
            return false;
        }
        let hash = self.shared.secret.hash(key.name.octets());
        let (_, shard) = self.shard_of(hash);
        let put = Put { shared: &self.shared, home: shard.index.home(hash), key, entry: &entry, now };
        shard.restore(&put, is_proven)
    }
}

fn is_worth_it(limits: &Limits, key: &Key<'_>, entry: &Entry<'_>, now: Moment) -> bool {
    let kind = matches!(key.subject, Subject::Rrset(_) | Subject::Existence | Subject::Cut);
    let end = entry.stored.plus_seconds(entry.ttl);
    kind && matches!(entry.security, Security::Secure | Security::Insecure)
        && limits.last_use(key.subject, end) > now
}

/// Key and entry of octets that anybody may have written.
fn checked(octets: &[u8]) -> Option<(Key<'_>, Entry<'_>)> {
    let (key, entry) = (entry::key_of(octets)?, entry::read(octets)?);
    let name = Name::from_wire(key.name.octets()).ok()?;
    RrsetList::from_octets(entry.beside.octets())?;
    let is_lower = !name.octets().iter().any(u8::is_ascii_uppercase);
    (is_lower && rank::is_kept(&key, &entry)).then_some((key, entry))
}

/// The octets of one entry, whole words, and what follows.
fn split_entry(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let words = usize::from(u16::from_le_bytes(*octets.first_chunk()?));
    octets.split_at_checked(words * 8).filter(|(entry, _)| entry.len() >= entry::FIXED_OCTETS)
}

/// The first part, and what follows; its checksum is left to who takes it in.
fn split_part(octets: &[u8]) -> Option<(Part<'_>, &[u8])> {
    let (fields, rest) = octets.split_first_chunk::<PART_OCTETS>()?;
    let (octets, rest) = rest.split_at_checked(usize::try_from(long(fields, 8)).ok()?)?;
    Some((Part { fields, octets }, rest))
}

fn checksum_of_part(fields: &[u8], octets: &[u8]) -> u64 {
    checksum(octets) ^ checksum(fields).rotate_left(32)
}

fn half(octets: &[u8], at: usize) -> u32 {
    octets[at..].first_chunk().map_or(0, |octets| u32::from_le_bytes(*octets))
}

fn long(octets: &[u8], at: usize) -> u64 {
    octets[at..].first_chunk().map_or(0, |octets| u64::from_le_bytes(*octets))
}

/// Finds what disks and cut files do; it is no defence against who can write the file. Eight octets in four clocks.
fn checksum(octets: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (words, rest) = octets.as_chunks::<8>();
    let sum = words.iter().fold(octets.len() as u64, |sum, word| step(sum, u64::from_le_bytes(*word)));
    let last = rest.iter().fold(0, |word, octet| word << 8 | u64::from(*octet));
    let sum = step(step(sum, last), 0);
    sum ^ sum >> 32
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
