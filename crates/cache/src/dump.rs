//! The store as octets, for a start that knows what was known before.
//!
//! ```text
//! header   magic 8 | version 4 | shards 4 | written: wall clock, seconds 8, moment, ms 8 | secret of names 24 | octets of about 8 | checksum 8 | about
//! part     head | end of each group 8 | groups               16 of spans that deny names, one of servers, one for each shard
//! heads    of all parts once more, so that one that is damaged costs nothing
//! head     number 4 | groups 4 | octets of its groups 8 | checksum 8                                                         all little-endian
//! group    checksum 8 | entries as in memory (`entry.rs`), one after the other; spans; servers (`beside.rs`)
//! entry    octet 7, bit 6: it had proved to be of use
//!
//! name -> hash by the file's secret -> part (bits 16 up) -> group (upper half) -> some sixteen entries: all that is known of a name is in one group
//! ```
//!
//! The part of a shard of the store that was written has its groups in the order of that one's buckets, so that it is written by one walk. The secret is that of the store: who
//! can read the file could make names that meet in one group or bucket, so it is for the user that the server runs as alone, who can read the process as well.
//! No place or pointer is in it: what is read goes into a store of another size with another secret, `restore`. `about`: whatever the entries depend on beside time (anchors, points that are
//! configured), in words of the caller's, who compares. Failures, and what is bogus or unchecked, are left out. Which files, and who may read them, is for who writes them to say.

use crate::denials;
use crate::entry::{Entry, Security};
use crate::limits::Limits;
use crate::{Key, Moment, Subject};

mod beside;
mod read;
mod restore;
mod write;

pub use read::{Dump, Source};
pub(crate) use restore::Restoring;
pub use restore::{Loaded, Restored};

const MAGIC: [u8; 8] = *b"zondaRRs";
/// Changes with every change of the format: other versions are not read.
const VERSION: u32 = 4;
const HEADER_OCTETS: usize = 72;
/// Octets of the head of a part.
const HEAD_OCTETS: usize = 24;
const SUM_OCTETS: usize = 8;
/// Octets of each end of a group.
const END_OCTETS: usize = 8;
/// Parts of shards at most, as many as a store has; what says more is damaged.
const SHARDS_MAX: usize = crate::layout::POSITIONS;
/// Parts before those: of spans, one for each group of zones, and of servers.
const BESIDE_PARTS: usize = denials::GROUPS + 1;
/// The part of servers.
const SERVERS_PART: usize = denials::GROUPS;
/// Entries of a group, about: whoever needs one takes in all, some 12 us. Fewer would make ends and checksums more than a fiftieth of the file.
const GROUP_ENTRIES: usize = 16;
/// Octets of a group at most. Sixteen entries as large as can be are a quarter; what says more is damaged.
const GROUP_OCTETS_MAX: usize = 1 << 20;
/// What the caller says about it, at most: some thousand points.
pub const ABOUT_OCTETS_MAX: usize = 1 << 20;
/// The octet of an entry that has bits free, and the one that says that it was read before it was written.
const FLAGS_AT: usize = 7;
const IS_PROVEN: u8 = 0x40;

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

fn is_worth_it(limits: &Limits, key: &Key<'_>, entry: &Entry<'_>, now: Moment) -> bool {
    let kind = matches!(key.subject, Subject::Rrset(_) | Subject::Existence | Subject::Cut);
    let end = entry.stored.plus_seconds(entry.ttl);
    // A delegation is what the parent zone says, unproved: whom to ask, and never what to believe.
    let is_settled = match key.subject {
        Subject::Cut => entry.security != Security::Bogus,
        _ => matches!(entry.security, Security::Secure | Security::Insecure),
    };
    kind && is_settled && limits.last_use(key.subject, end) > now
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
