//! The exact index: from the hash of a name to where the name is, in one or two cache lines.
//!
//! ```text
//! bucket of 64 octets:  10 tags of 16 bits | used: u8 | overflow: u8 | zero: u16 | 10 references of 32 bits
//! ```
//!
//! A name goes to the bucket that its hash selects; when that is full, to others that the hash also selects, and each full
//! bucket that it passed gets its overflow mark. So a missing tag in a bucket without the mark proves that the name does not exist, without touching names: one line for most queries of names that
//! are not there. A tag is wrong once in 6,500 times (10 in 65,536), and then the name comparison finds out.
//!
//! The hash takes labels from the top down and continues from label to label, so that all ancestors of a
//! name cost no more than the name.

use crate::section::{fold_multiply, u32_at, u64_at};

/// Octets of a bucket: a cache line.
pub const BUCKET_OCTETS: usize = 64;
/// Slots of a bucket: what fits beside the control octets.
pub const SLOTS: usize = 10;
/// Names a bucket gets on average. At 8 of 10 slots a fifth of the buckets overflow, mostly by one name;
/// fuller saves little memory and costs second lines, emptier costs memory (8 octets a name here).
pub const LOAD: f64 = 8.0;
/// How many buckets a search reads at most. Each further one is full with a chance below one half, so 64 are
/// never needed but by names chosen against the seed; builders draw a new seed then.
pub const PROBES_MAX: usize = 64;

const USED_AT: usize = 20;
const OVERFLOW_AT: usize = 21;
const REFERENCES_AT: usize = 24;

/// Hash of a chain of labels; see [`Hash::extend`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(u64);

impl Hash {
    /// The hash of a zone's apex: the pack's seed and the zone's number.
    pub fn of_apex(seed: u64, zone: u32) -> Hash {
        Hash(fold_multiply(seed ^ u64::from(zone), 0x9e37_79b9_7f4a_7c15))
    }

    /// The hash of a name one label below: `octets[from..to]` is the label as it stands in a key, end mark
    /// included. Octets after `to` may exist; they are not part of it.
    #[inline(always)]
    pub fn extend(self, octets: &[u8], from: usize, to: usize) -> Hash {
        const K: u64 = 0xc2b2_ae3d_27d4_eb4f;
        let mut hash = self.0;
        let mut at = from;
        while at < to {
            let word = match octets.get(at..at + 8) {
                Some(&[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
                _ => tail_word(octets, at, to),
            };
            let rest = to - at;
            let word = if rest < 8 { word & ((1 << (8 * rest)) - 1) } else { word };
            hash = fold_multiply(hash ^ word, K ^ rest as u64);
            at += 8;
        }
        Hash(hash)
    }

    fn tag(self) -> u16 {
        self.0 as u16
    }

    #[inline(always)]
    fn bucket(self, buckets: usize) -> usize {
        ((u128::from(self.0) * buckets as u128) >> 64) as usize
    }

    /// The bucket to look into when `probe` (1 the first) others were full.
    #[cold]
    fn other_bucket(self, probe: usize, buckets: usize) -> usize {
        Hash(fold_multiply(self.0 ^ probe as u64, 0x1656_67b1_9e37_79f9)).bucket(buckets)
    }

    /// 32 bits for small tables.
    pub fn word(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// All bits, for tables outside packs.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0
    }
}

#[cold]
fn tail_word(octets: &[u8], at: usize, to: usize) -> u64 {
    let mut word = [0; 8];
    let end = to.min(octets.len()).min(at + 8);
    word[..end - at].copy_from_slice(&octets[at..end]);
    u64::from_le_bytes(word)
}

/// Finds the reference whose tag fits `hash` and for which `is_it` says yes. Reads at most
/// [`PROBES_MAX`] buckets, nearly always one. `index`: the index section, whole buckets.
#[inline(always)]
pub fn find<T>(index: &[u8], hash: Hash, mut is_it: impl FnMut(u32) -> Option<T>) -> Option<T> {
    let (buckets, _) = index.as_chunks::<BUCKET_OCTETS>();
    if buckets.is_empty() {
        return None;
    }
    let mut at = hash.bucket(buckets.len());
    let tag = hash.tag();
    for probe in 1..=PROBES_MAX {
        let bucket = &buckets[at];
        let mut hits = matches(bucket, tag);
        while hits != 0 {
            let slot = hits.trailing_zeros() as usize;
            hits &= hits - 1;
            if slot < bucket[USED_AT] as usize
                && let Some(found) = is_it(u32_at(bucket, REFERENCES_AT + 4 * slot))
            {
                return Some(found);
            }
        }
        if bucket[OVERFLOW_AT] == 0 {
            return None;
        }
        at = hash.other_bucket(probe, buckets.len());
    }
    None
}

/// One bit a slot, set where the tag fits.
#[inline(always)]
fn matches(bucket: &[u8; BUCKET_OCTETS], tag: u16) -> u32 {
    let wanted = u64::from(tag) * 0x0001_0001_0001_0001;
    let first = zero_lanes(u64_at(bucket, 0) ^ wanted);
    let second = zero_lanes(u64_at(bucket, 8) ^ wanted);
    let third = zero_lanes(u64::from(u32_at(bucket, 16)) ^ (wanted & 0xffff_ffff) | !0 << 32);
    first | second << 4 | third << 8
}

/// Bit i set where lane i of four 16-bit lanes is zero; exact.
#[inline(always)]
fn zero_lanes(word: u64) -> u32 {
    const LOW: u64 = 0x7fff_7fff_7fff_7fff;
    let zero = !(((word & LOW) + LOW) | word | LOW);
    // Bits 0, 16, 32, 48 move to 48, 49, 50, 51; the other products fall elsewhere, without carries.
    const GATHER: u64 = 1 << 48 | 1 << 33 | 1 << 18 | 1 << 3;
    ((zero >> 15).wrapping_mul(GATHER) >> 48) as u32 & 15
}

/// How many names are best entered together: about as many misses as a core has in flight, times two.
pub const INSERT_TOGETHER: usize = 32;

/// Builds an index for a known number of names.
pub struct Builder {
    octets: Vec<u8>,
}

/// A name found no place within [`PROBES_MAX`] buckets: build again with another seed.
#[derive(Debug)]
pub struct Crowded;

impl Builder {
    /// Room for `names` names.
    pub fn new(names: usize) -> Builder {
        let buckets = (names as f64 / LOAD).ceil() as usize + usize::from(names > 0);
        Builder { octets: vec![0; buckets * BUCKET_OCTETS] }
    }

    /// Enters a name.
    pub fn insert(&mut self, hash: Hash, reference: u32) -> Result<(), Crowded> {
        let (buckets, _) = self.octets.as_chunks_mut::<BUCKET_OCTETS>();
        let count = buckets.len();
        let mut at = hash.bucket(count);
        for probe in 1..=PROBES_MAX {
            let bucket = &mut buckets[at];
            let used = bucket[USED_AT] as usize;
            if used < SLOTS {
                bucket[2 * used..2 * used + 2].copy_from_slice(&hash.tag().to_le_bytes());
                let to = REFERENCES_AT + 4 * used;
                bucket[to..to + 4].copy_from_slice(&reference.to_le_bytes());
                bucket[USED_AT] = used as u8 + 1;
                return Ok(());
            }
            bucket[OVERFLOW_AT] = 1;
            at = hash.other_bucket(probe, count);
        }
        Err(Crowded)
    }

    /// Enters many names, each with its reference. Their buckets are read together first, so that the misses of
    /// the memory caches overlap.
    pub fn insert_all(&mut self, names: &[(Hash, u32)]) -> Result<(), Crowded> {
        let (buckets, _) = self.octets.as_chunks::<BUCKET_OCTETS>();
        let touched: u32 =
            names.iter().map(|(hash, _)| u32::from(buckets[hash.bucket(buckets.len())][USED_AT])).sum();
        std::hint::black_box(touched);
        names.iter().try_for_each(|(hash, reference)| self.insert(*hash, *reference))
    }

    /// The section.
    pub fn finish(self) -> Vec<u8> {
        self.octets
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn hash(number: u32) -> Hash {
        let text = format!("name{number}\0");
        Hash::of_apex(99, 0).extend(text.as_bytes(), 0, text.len())
    }

    #[test]
    fn finds_all_and_no_others() {
        for count in [1, 2, 9, 10, 11, 1000, 50_000] {
            let mut builder = Builder::new(count as usize);
            for number in 0..count {
                builder.insert(hash(number), number).unwrap();
            }
            let index = builder.finish();
            let find = |number| find(&index, hash(number), |found| (found == number).then_some(found));
            for number in 0..count {
                assert_eq!(find(number), Some(number));
            }
            assert!((count..2 * count).all(|number| find(number).is_none()));
        }
        assert_eq!(find(&[], hash(1), Some), None);
    }

    #[test]
    fn lanes() {
        for lane in 0..4 {
            assert_eq!(zero_lanes(!(0xffff << (16 * lane))), 1 << lane);
            assert_eq!(zero_lanes(!(0xfffe << (16 * lane))), 0);
        }
        assert_eq!(zero_lanes(0), 15);
        assert_eq!(zero_lanes(0x0001_0000_8000_0000), 0b0101);
    }

    #[test]
    fn hash_depends_on_label_ends() {
        let chain = |octets: &[u8], ends: &[usize]| {
            let mut from = 0;
            ends.iter().fold(Hash::of_apex(1, 2), |hash, &to| {
                let next = hash.extend(octets, from, to);
                from = to;
                next
            })
        };
        assert_ne!(chain(b"ab\0c\0", &[3, 5]), chain(b"a\0bc\0", &[2, 5]));
        // What follows in the buffer does not matter.
        assert_eq!(chain(b"ab\0", &[3]), chain(b"ab\0xyzxyzxyz", &[3]));
        assert_ne!(chain(b"abcdefg\0", &[8]), chain(b"abcdefgh\0", &[9]));
    }
}
