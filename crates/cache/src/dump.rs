//! The store as octets, for a start that knows what was known before.
//!
//! ```text
//! header   magic 8 | version 4 | parts 4 | written: wall clock, seconds 8, moment, ms 8 | secret of names 24 | octets of about 8 | checksum 8 | about
//! part     number 4 | groups 4 | octets of its groups 8 | checksum 8 | end of each group 8 | groups                         all little-endian
//! group    checksum 8 | entries as in memory (`entry.rs`), one after the other
//! entry    octet 7, bit 6: it had proved to be of use
//!
//! name -> hash by the file's secret -> part (bits 16 up) -> group (upper half) -> some sixteen entries: all that is known of a name is in one group
//! ```
//!
//! A part is a shard of the store that was written, and its groups are in the order of that one's buckets, so that it is written by one walk. The secret is that of the store: who
//! can read the file could make names that meet in one group or bucket, so it is for the user that the server runs as alone, who can read the process as well.
//! No place or pointer is in it: what is read goes into a store of another size with another secret, `restore`. `about`: whatever the entries depend on beside time (anchors, points that are
//! configured), in words of the caller's, who compares. Failures, and what is bogus or unchecked, are left out. Which files, and who may read them, is for who writes them to say.

use std::io::{self, Write};

use crate::entry::{self, Entry, Security};
use crate::index::Which;
use crate::limits::Limits;
use crate::store::Cache;
use crate::{Key, Moment, Subject};

mod read;
mod restore;

pub use read::{Dump, Source};
pub(crate) use restore::Restoring;
pub use restore::{Loaded, Restored};

const MAGIC: [u8; 8] = *b"zondaRRs";
/// Changes with every change of the format: other versions are not read.
const VERSION: u32 = 2;
const HEADER_OCTETS: usize = 72;
const PART_OCTETS: usize = 24;
const SUM_OCTETS: usize = 8;
/// Octets of each end of a group.
const END_OCTETS: usize = 8;
/// Parts at most, as many as a store has shards; what says more is damaged.
const PARTS_MAX: usize = crate::store::SHARDS_MAX;
/// Entries of a group, about: whoever needs one takes in all, some 12 us. Fewer would make ends and checksums more than a fiftieth of the file.
const GROUP_ENTRIES: usize = 16;
/// Octets of a group at most. Sixteen entries as large as can be are a quarter; what says more is damaged.
const GROUP_OCTETS_MAX: usize = 1 << 20;
/// What the caller says about it, at most: some thousand points.
pub const ABOUT_OCTETS_MAX: usize = 1 << 20;
/// The octet of an entry that has bits free, and the one that says that it was read before it was written.
const FLAGS_AT: usize = 7;
const IS_PROVEN: u8 = 0x40;
/// Entries that are copied under one taking of a lock: about 20 us.
const STEP_ENTRIES: usize = 128;

/// When something is written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// The clock of ages.
    pub now: Moment,
    /// Seconds since 1970.
    pub wall: u64,
}

/// Why octets are no dump that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpError {
    /// They are no dump, or their beginning is damaged.
    NotADump,
    /// Of another version.
    Version(u32),
    /// The wall clock says that it is still to be written: no ages can be told.
    ClockWentBack,
    /// They could not be read.
    Unreadable,
}

/// The entries of one shard, on their way out.
#[derive(Default)]
struct Collected {
    /// One after the other, as the rings have them.
    octets: Vec<u8>,
    /// Of each entry its group, and where it is.
    places: Vec<(u32, usize)>,
}

impl Cache {
    /// Writes all that is worth it; what changes meanwhile may be in it or not. Locks of writers are taken for some microseconds each. `about`: see the module; what is longer than
    /// [`ABOUT_OCTETS_MAX`] is an error. Memory: the octets of a shard. How many entries.
    pub fn write_dump(&self, to: &mut dyn Write, situation: &Situation, about: &[u8]) -> io::Result<usize> {
        if about.len() > ABOUT_OCTETS_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut header = Vec::with_capacity(HEADER_OCTETS);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend((self.shards.len() as u32).to_le_bytes());
        let [point, first, second] = self.shared.secret.words();
        [situation.wall, situation.now.0, point, first, second, about.len() as u64]
            .iter()
            .for_each(|field| header.extend(field.to_le_bytes()));
        header.extend(checksum_of(&header, about).to_le_bytes());
        to.write_all(&header)?;
        to.write_all(about)?;
        let (mut collected, mut all) = (Collected::default(), 0);
        for number in 0..self.shards.len() {
            all += self.write_part(number, situation.now, &mut collected, to)?;
        }
        Ok(all)
    }

    fn write_part(
        &self,
        number: usize,
        now: Moment,
        collected: &mut Collected,
        to: &mut dyn Write,
    ) -> io::Result<usize> {
        let groups = (self.shards[number].counts().entries as usize / GROUP_ENTRIES).clamp(1, 1 << 30);
        self.collect(number, groups, now, collected);
        let Collected { octets, places } = collected;
        let entries =
            |of: &[(u32, usize)]| -> usize { of.iter().map(|(_, at)| entry_octets(&octets[*at..])).sum() };
        let group_of = |group: usize| {
            let first = places.partition_point(|(of, _)| (*of as usize) < group);
            let count = places[first..].partition_point(|(of, _)| *of as usize == group);
            &places[first..first + count]
        };
        let (mut ends, mut end) = (Vec::with_capacity(groups * END_OCTETS), 0);
        for group in 0..groups {
            end += match entries(group_of(group)) {
                0 => 0,
                octets => SUM_OCTETS + octets,
            };
            ends.extend((end as u64).to_le_bytes());
        }
        let mut fields = Vec::with_capacity(PART_OCTETS);
        fields.extend((number as u32).to_le_bytes());
        fields.extend((groups as u32).to_le_bytes());
        fields.extend((end as u64).to_le_bytes());
        fields.extend(checksum(&fields).to_le_bytes());
        to.write_all(&fields)?;
        to.write_all(&ends)?;
        let mut written = Vec::new();
        for group in 0..groups {
            written.clear();
            for (_, at) in group_of(group) {
                written.extend_from_slice(&octets[*at..*at + entry_octets(&octets[*at..])]);
            }
            if !written.is_empty() {
                to.write_all(&checksum_of_group(number, group, &written).to_le_bytes())?;
                to.write_all(&written)?;
            }
        }
        Ok(places.len())
    }

    /// Entries of one shard by group; within one those of the main ring first, which are older.
    fn collect(&self, number: usize, groups: usize, now: Moment, to: &mut Collected) {
        let limits = self.shared.limits();
        let Collected { octets, places } = to;
        octets.clear();
        places.clear();
        for ring in [Which::Main, Which::Small] {
            self.walk(number, ring, |entry, is_visited| {
                let (Some(key), Some(known)) = (entry::key_of(entry), entry::read(entry)) else { return };
                if is_worth_it(&limits, &key, &known, now) {
                    let group = group_of(self.shared.secret.hash(key.name.octets()), groups);
                    places.push((group as u32, octets.len()));
                    octets.extend_from_slice(entry);
                    if ring == Which::Main || is_visited {
                        let at = octets.len() - entry.len() + FLAGS_AT;
                        octets[at] |= IS_PROVEN;
                    }
                }
            });
        }
        places.sort_unstable();
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
}

fn is_worth_it(limits: &Limits, key: &Key<'_>, entry: &Entry<'_>, now: Moment) -> bool {
    let kind = matches!(key.subject, Subject::Rrset(_) | Subject::Existence | Subject::Cut);
    let end = entry.stored.plus_seconds(entry.ttl);
    kind && matches!(entry.security, Security::Secure | Security::Insecure)
        && limits.last_use(key.subject, end) > now
}

/// The part of so many, a power of two, that names of a hash are in; as a store has its shards.
fn part_of(hash: u64, parts: usize) -> usize {
    (hash >> 16) as usize & (parts - 1)
}

/// The group of so many of that part.
fn group_of(hash: u64, groups: usize) -> usize {
    (((hash >> 32) * groups as u64) >> 32) as usize
}

/// The octets of the entry that begins here.
fn entry_octets(octets: &[u8]) -> usize {
    octets.first_chunk().map_or(0, |words| usize::from(u16::from_le_bytes(*words)) * 8)
}

fn checksum_of(fields: &[u8], about: &[u8]) -> u64 {
    checksum(about) ^ checksum(fields).rotate_left(32)
}

/// Of one group: of another place it is wrong.
fn checksum_of_group(part: usize, group: usize, octets: &[u8]) -> u64 {
    checksum(octets) ^ ((part as u64) << 32 | group as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn half(octets: &[u8], at: usize) -> u32 {
    octets.get(at..).and_then(|octets| octets.first_chunk()).map_or(0, |octets| u32::from_le_bytes(*octets))
}

fn long(octets: &[u8], at: usize) -> u64 {
    octets.get(at..).and_then(|octets| octets.first_chunk()).map_or(0, |octets| u64::from_le_bytes(*octets))
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
