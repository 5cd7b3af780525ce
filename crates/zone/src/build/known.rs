//! Sets of name servers that were met before, by a hash of what was read.
//!
//! The hash alone decides: 128 bits, keyed with the seed of the pack, which nobody outside knows. Comparing the sets
//! would touch memory in four more places for each of millions of delegations.

use crate::section::fold_multiply;

/// Where the RRset of a set of servers is in the pool, and where their glue, if they have any.
#[derive(Clone, Copy)]
pub(super) struct Servers {
    pub(super) place: u32,
    pub(super) glue: Option<u32>,
}

/// Hash of the RDATA of a set, in their order.
pub(super) fn hash<'r>(secret: [u64; 2], records: impl Iterator<Item = &'r [u8]>) -> [u64; 2] {
    let [mut a, mut b] = secret;
    let mut step = |word: u64| {
        a = fold_multiply(a ^ word, 0x9e37_79b9_7f4a_7c15);
        b = fold_multiply(b ^ word, 0xc2b2_ae3d_27d4_eb4f);
    };
    for rdata in records {
        let (words, rest) = rdata.as_chunks::<8>();
        words.iter().for_each(|word| step(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        step(u64::from_le_bytes(last));
        step(rdata.len() as u64);
    }
    [fold_multiply(a, secret[1] | 1), fold_multiply(b, secret[0] | 1)]
}

/// Open addressing; a search reads one place of memory in most cases.
pub(super) struct Known {
    slots: Vec<([u64; 2], Servers)>,
    used: usize,
}

/// A place that no fragment can have: the pool is full before.
const EMPTY: u32 = u32::MAX;
const EMPTY_SLOT: ([u64; 2], Servers) = ([0; 2], Servers { place: EMPTY, glue: None });
/// Slots at first: a few kilobytes, since most zones are small. Those without delegations, and these are more still, have none.
const SLOTS_MIN: usize = 64;

impl Known {
    pub(super) fn new() -> Known {
        Known { slots: Vec::new(), used: 0 }
    }

    pub(super) fn get(&self, hash: &[u64; 2]) -> Option<Servers> {
        if self.slots.is_empty() {
            return None;
        }
        let (found, servers) = &self.slots[self.slot_of(hash)];
        (servers.place != EMPTY && found == hash).then_some(*servers)
    }

    /// Enters a set that is not there yet.
    pub(super) fn insert(&mut self, hash: [u64; 2], servers: Servers) {
        if 3 * self.used >= 2 * self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![EMPTY_SLOT; (2 * old.len()).max(SLOTS_MIN)];
            for slot in old.into_iter().filter(|(_, servers)| servers.place != EMPTY) {
                let at = self.slot_of(&slot.0);
                self.slots[at] = slot;
            }
        }
        let at = self.slot_of(&hash);
        self.slots[at] = (hash, servers);
        self.used += 1;
    }

    /// The slot that has this hash, or the empty one where it belongs. Ends: a third of the slots, of which there are some, are empty.
    fn slot_of(&self, hash: &[u64; 2]) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash[0] as usize & mask;
        while self.slots[at].1.place != EMPTY && self.slots[at].0 != *hash {
            at = (at + 1) & mask;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_entered() {
        let mut known = Known::new();
        let hash_of = |number: u32| hash([1, 2], [&number.to_le_bytes()[..], b"servers"].into_iter());
        for number in 0..10_000 {
            assert!(known.get(&hash_of(number)).is_none());
            known.insert(hash_of(number), Servers { place: number, glue: None });
        }
        assert!(
            (0..10_000).all(|number| known.get(&hash_of(number)).is_some_and(|found| found.place == number))
        );
    }

    #[test]
    fn record_ends_count() {
        let hash_of = |records: &[&[u8]]| hash([3, 4], records.iter().copied());
        assert_ne!(hash_of(&[b"ab", b"c"]), hash_of(&[b"a", b"bc"]));
        assert_ne!(hash_of(&[b"ab"]), hash_of(&[b"ab", b""]));
        assert_ne!(hash_of(&[b"12345678"]), hash_of(&[b"12345678\0"]));
    }
}
