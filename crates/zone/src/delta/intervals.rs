//! Which intervals of a chain have changed: a bit for each row of the pack's sections nsec and nsec3.
//!
//! An interval is that from one owner to the next. Its bit says that something in it may be other than in the pack: its record, or an owner that came or
//! went. Bits are set before the state that they are about is published, and never cleared.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a chunk: 512 octets, made when one of them is set.
const CHUNK_BITS: usize = 4096;

/// Octets of a chunk and its number.
pub(super) const CHUNK_OCTETS: usize = 4 + CHUNK_BITS / 8;

/// Bits for the rows of one zone.
pub(super) struct Intervals {
    chunks: Box<[OnceLock<Box<[AtomicU64; CHUNK_BITS / 64]>>]>,
}

impl Intervals {
    pub(super) fn new(rows: u32) -> Intervals {
        let chunks = (rows as usize).div_ceil(CHUNK_BITS);
        Intervals { chunks: (0..chunks).map(|_| OnceLock::new()).collect() }
    }

    /// Whether row `number` has changed; so do rows that there are not.
    #[inline(always)]
    pub(super) fn has(&self, number: u32) -> bool {
        let Some(chunk) = self.chunks.get(number as usize / CHUNK_BITS) else { return true };
        let Some(words) = chunk.get() else { return false };
        let at = number as usize % CHUNK_BITS;
        words[at / 64].load(Ordering::Acquire) & 1 << (at % 64) != 0
    }

    /// Sets the bit of row `number`.
    pub(super) fn set(&self, number: u32) {
        let Some(chunk) = self.chunks.get(number as usize / CHUNK_BITS) else { return };
        let words = chunk.get_or_init(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0))));
        let at = number as usize % CHUNK_BITS;
        words[at / 64].fetch_or(1 << (at % 64), Ordering::Release);
    }

    /// Sets the bits of the rows from `first` to `last`.
    pub(super) fn set_all(&self, first: u32, last: u32) {
        (first..=last).for_each(|row| self.set(row));
    }

    /// The chunks that were made, with their numbers, in octets.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (u32, Vec<u8>)> {
        let made = self.chunks.iter().enumerate().filter_map(|(number, chunk)| Some((number, chunk.get()?)));
        made.map(|(number, words)| {
            (
                number as u32,
                words.iter().flat_map(|word| word.load(Ordering::Acquire).to_le_bytes()).collect(),
            )
        })
    }

    /// Sets the bits of a chunk, which its number comes before.
    pub(super) fn put_chunk(&self, octets: &[u8; CHUNK_OCTETS]) {
        let (words, _) = octets[4..].as_chunks();
        let number = u32::from_le_bytes([octets[0], octets[1], octets[2], octets[3]]) as usize;
        let Some(chunk) = self.chunks.get(number) else { return };
        let own = chunk.get_or_init(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0))));
        for (own, word) in own.iter().zip(words) {
            own.fetch_or(u64::from_le_bytes(*word), Ordering::Release);
        }
    }

    /// Octets of the chunks that were made, and of their list.
    pub(super) fn octets(&self) -> usize {
        let made = self.chunks.iter().filter(|chunk| chunk.get().is_some()).count();
        size_of_val(&*self.chunks) + made * CHUNK_BITS / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_one_by_one() {
        let intervals = Intervals::new(10_000);
        assert!((0..10_000).all(|row| !intervals.has(row)) && intervals.has(20_000));
        for row in [0, 63, 64, 4095, 4096, 9999] {
            intervals.set(row);
            assert!(intervals.has(row) && !intervals.has(row ^ 2));
        }
        intervals.set(1 << 30);
        assert_eq!(intervals.octets(), 3 * 512 + 3 * 16);
    }
}
