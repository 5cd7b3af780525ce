//! Memory of atomic words.

use std::sync::atomic::{AtomicU8, AtomicU64};

/// So many words of zero. The system gives such memory page by page as it is written: an optimised build touches none of it here, as
/// the words stay where they are. (Only as a vector first: collected into a box at once, all of it was written. A test in `mod long` looks.)
pub(crate) fn zeroed(count: usize) -> Box<[AtomicU64]> {
    let words: Vec<AtomicU64> = vec![0_u64; count].into_iter().map(AtomicU64::new).collect();
    words.into_boxed_slice()
}

/// So many octets of zero, likewise.
pub(crate) fn zeroed_octets(count: usize) -> Box<[AtomicU8]> {
    let octets: Vec<AtomicU8> = vec![0_u8; count].into_iter().map(AtomicU8::new).collect();
    octets.into_boxed_slice()
}

/// Octets of a line of the processor's cache.
const LINE_OCTETS: usize = 64;

/// Words that begin where a line of the processor's cache does.
pub(crate) struct Lines {
    words: Box<[AtomicU64]>,
    begin: usize,
    count: usize,
}

impl Lines {
    pub(crate) fn new(count: usize) -> Lines {
        let words = zeroed(count + LINE_OCTETS / 8 - 1);
        let begin = (words.as_ptr() as usize).wrapping_neg() % LINE_OCTETS / 8;
        Lines { words, begin, count }
    }
}

impl std::ops::Deref for Lines {
    type Target = [AtomicU64];
    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        &self.words[self.begin..self.begin + self.count]
    }
}
