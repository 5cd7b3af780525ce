//! Locks for many things that are too small for one each: a thing takes the lock that its hash chooses.
//!
//! More buckets make it less likely that two threads meet at one; what one thread after the other wants all the time,
//! such as the name that a quarter of all queries ask for, has one bucket however many there are.
//!
//! ```
//! use sync::{Buckets, RwLock, bucket};
//! let setting: Option<usize> = None;
//! let buckets = Buckets::new(setting.unwrap_or(bucket::OF_A_CACHE), |_| RwLock::named("bucket", 0));
//! *buckets.of(0x1234).write() += 1;
//! assert_eq!((*buckets.of(0x1234).read(), buckets.count()), (1, 1009));
//! ```

use std::ops::Index;

/// Buckets of a zone in BIND 9, a prime.
pub const OF_A_ZONE: usize = 7;
/// Buckets of a cache in BIND 9, a prime.
pub const OF_A_CACHE: usize = 1009;

/// Most buckets: 8 MiB of them, far beyond where threads still meet at one by chance. A number from a setting that is
/// larger is a typing error.
pub const BUCKETS_MAX: usize = 1 << 16;

/// A lock with room around it: processors fetch cache lines in pairs, and a neighbour's lock must not come along.
#[repr(align(128))]
struct Padded<L>(L);

/// See the module. `L` is the lock, with what it protects.
pub struct Buckets<L>(Box<[Padded<L>]>);

impl<L> Buckets<L> {
    /// So many buckets, from 1 to [`BUCKETS_MAX`]; `make` is given the number of each.
    pub fn new(count: usize, make: impl FnMut(usize) -> L) -> Buckets<L> {
        Buckets((0..count.clamp(1, BUCKETS_MAX)).map(make).map(Padded).collect())
    }

    /// Of what has such a hash.
    #[inline]
    pub fn of(&self, hash: u64) -> &L {
        &self.0[(hash % self.0.len() as u64) as usize].0
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &L> {
        self.0.iter().map(|bucket| &bucket.0)
    }
}

impl<L> Index<usize> for Buckets<L> {
    type Output = L;

    fn index(&self, number: usize) -> &L {
        &self.0[number].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hash_has_one() {
        for (count, made) in [(0, 1), (1, 1), (OF_A_ZONE, 7), (OF_A_CACHE, 1009), (usize::MAX, BUCKETS_MAX)] {
            let buckets = Buckets::new(count, |number| number);
            assert_eq!(buckets.count(), made);
            for hash in [0, 6, 7, 1008, 1009, u64::MAX] {
                assert_eq!(*buckets.of(hash), (hash % buckets.count() as u64) as usize);
            }
            assert!(buckets.iter().copied().eq(0..made));
            assert_eq!(buckets[buckets.count() - 1], buckets.count() - 1);
        }
        assert!(size_of::<Padded<u8>>() == 128);
    }
}
