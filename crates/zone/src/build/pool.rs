//! The pool: octets stored once, however often they are asked for.

use crate::fragment::POOL_ALIGNMENT;
use crate::section::fold_multiply;

/// The pool while it grows, with a table of what it holds. Everything in it delimits itself, so that
/// equal beginnings mean equal contents.
pub(super) struct Pool {
    octets: Vec<u8>,
    /// Open addressing: hash, place. The hash selects the slot, so that growing needs no contents.
    table: Vec<(u32, u32)>,
    entries: usize,
    seed: u64,
}

const EMPTY: u32 = u32::MAX;

impl Pool {
    pub(super) fn new(seed: u64) -> Pool {
        Pool { octets: Vec::new(), table: vec![(0, EMPTY); 1024], entries: 0, seed }
    }

    /// The place of `octets`, which are stored if they are not there yet.
    pub(super) fn place_of(&mut self, octets: &[u8]) -> u32 {
        let hash = self.hash(octets);
        let mask = self.table.len() - 1;
        let tag = (hash >> 32) as u32;
        let mut at = tag as usize & mask;
        loop {
            let (found, place) = self.table[at];
            if place == EMPTY {
                break;
            }
            if found == tag && self.octets[place as usize * POOL_ALIGNMENT..].starts_with(octets) {
                return place;
            }
            at = (at + 1) & mask;
        }
        let place = self.push(octets);
        self.table[at] = (tag, place);
        self.entries += 1;
        if self.entries * 4 > self.table.len() * 3 {
            self.grow();
        }
        place
    }

    /// Stores octets without looking whether they are there: for those that cannot occur twice.
    pub(super) fn push(&mut self, octets: &[u8]) -> u32 {
        self.octets.resize(self.octets.len().next_multiple_of(POOL_ALIGNMENT), 0);
        let place = (self.octets.len() / POOL_ALIGNMENT) as u32;
        self.octets.extend_from_slice(octets);
        place
    }

    /// Whether places have run out of 32 bits.
    pub(super) fn is_full(&self) -> bool {
        self.octets.len() >= (EMPTY as usize - 1) * POOL_ALIGNMENT
    }

    /// Octets so far.
    pub(super) fn len(&self) -> usize {
        self.octets.len()
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.octets
    }

    /// Doubles the table.
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.table);
        let mask = old.len() * 2 - 1;
        self.table = vec![(0, EMPTY); old.len() * 2];
        for (tag, place) in old.into_iter().filter(|(_, place)| *place != EMPTY) {
            let mut at = tag as usize & mask;
            while self.table[at].1 != EMPTY {
                at = (at + 1) & mask;
            }
            self.table[at] = (tag, place);
        }
    }

    fn hash(&self, octets: &[u8]) -> u64 {
        let (words, rest) = octets.as_chunks::<8>();
        let mut hash = self.seed ^ octets.len() as u64;
        for word in words {
            hash = fold_multiply(hash ^ u64::from_le_bytes(*word), 0x9e37_79b9_7f4a_7c15);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        fold_multiply(hash ^ u64::from_le_bytes(last), 0xc2b2_ae3d_27d4_eb4f)
    }
}
