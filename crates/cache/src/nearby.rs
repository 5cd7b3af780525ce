//! Reading ahead: what looks at some names will read is read before, of all of them together.
//!
//! ```text
//! names   hash of each                                    no memory but the names'
//! step 1  a word of each bucket a                         reads that do not wait for one another: the memory has them all at once
//! step 2  of each: bucket a has the name? its entry, the bucket's visited bits     else a word of bucket b
//! step 3  of the others: bucket b has the name? likewise
//! ```
//!
//! A look at a cache of gigabytes waits for memory two to four times, each time as long as some hundred instructions take; the looks for a batch of queries one after the other wait for the sum. Nothing is
//! said here of what is found: the look itself reads all anew, and most of it from the processor's own caches.

use std::hint::black_box;

use wire::Name;

use crate::Cache;
use crate::index::{BUCKET_SLOTS, Home};
use crate::shard::Shard;

/// The hash of a name, of use to the cache that gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameHash(pub(crate) u64);

impl NameHash {
    /// As a number: others may have their tables of names by it, with bits that nobody chooses.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl Cache {
    /// The hash of a name in lower case.
    #[inline(always)]
    pub fn name_hash(&self, name: &Name) -> NameHash {
        NameHash(self.core.shared.secret.hash(name.octets()))
    }

    /// Reads what looks at these names will read.
    pub fn read_ahead(&self, names: impl Iterator<Item = NameHash> + Clone) {
        let mut read = 0;
        for name in names.clone() {
            let (shard, home) = self.place_of(name);
            read ^= shard.index.touch(home.buckets[0]);
        }
        for name in names.clone() {
            let (shard, home) = self.place_of(name);
            read ^= match read_entry(shard, &home, 0) {
                Some(word) => word,
                None => shard.index.touch(home.buckets[1]),
            };
        }
        for name in names {
            let (shard, home) = self.place_of(name);
            if shard.index.of_name(home.buckets[0], home.hash()) == 0 {
                read ^= read_entry(shard, &home, 1).unwrap_or_default();
            }
        }
        black_box(read);
    }

    #[inline(always)]
    fn place_of(&self, name: NameHash) -> (&Shard, Home) {
        let shard = self.shard_at(name.0);
        (shard, shard.index.home(name.0))
    }
}

/// Reads the first entry in a bucket that seems to be of a name; `None`: none is.
#[inline(always)]
fn read_entry(shard: &Shard, home: &Home, bucket: usize) -> Option<u64> {
    let first = home.buckets[bucket];
    let of_name = shard.index.of_name(first, home.hash());
    let at = (of_name != 0).then(|| first + (of_name.trailing_zeros() as usize).min(BUCKET_SLOTS - 1))?;
    let word = shard.index.load(at);
    Some(shard.ring(word.ring()).touch(word.place()) ^ u64::from(shard.index.visits(first)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Copied, Entry, Key, Moment};
    use wire::NameBuf;
    use wire::rrset::RdataListBuf;

    /// Reading ahead changes nothing, and is well for names of which nothing is known.
    #[test]
    fn nothing_is_changed() {
        let cache = Cache::new();
        let names: Vec<NameBuf> =
            (0..5_000).map(|number| NameBuf::from_text(&format!("n{number}.example.")).unwrap()).collect();
        let rdatas: RdataListBuf = [&[192, 0, 2, 1][..]].into_iter().collect();
        let entry = Entry { zone_labels: 1, ..Entry::data(rdatas.list(), Moment(1), 60) };
        let hashes: Vec<NameHash> = names.iter().map(|name| cache.name_hash(name)).collect();
        cache.read_ahead(hashes.iter().copied());
        for name in names.iter().step_by(2) {
            assert!(cache.put(&Key::rrset(name, 1), &entry, Moment(1), Moment(1)));
        }
        let mut copied = Copied::new();
        let known = |copied: &mut Copied| -> Vec<bool> {
            names.iter().map(|name| cache.peek(&Key::rrset(name, 1), copied).is_some()).collect()
        };
        let before = known(&mut copied);
        hashes.chunks(64).for_each(|some| cache.read_ahead(some.iter().copied()));
        assert_eq!(known(&mut copied), before);
        assert!(before.iter().filter(|is_known| **is_known).count() > 2_400);
    }
}
