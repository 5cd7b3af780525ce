//! A ring of words that one writer at a time appends entries to, and that any number of readers copy from without waiting.
//!
//! ```text
//!          0            offset of the tail          offset of the head        words
//!          | free ..... | oldest | entry | ... | newest | ............ free |
//! place    lap << shift | offset: only grows, so a place is of one entry for ever; an entry may go round the end
//! ```
//!
//! The tail is the sequence lock of all entries: the writer moves it beyond an entry *before* it writes over it, readers look at it *after* they have copied one.
//! If a reader saw any word of what came later (Relaxed), then its fence (Acquire) after that and the writer's (Release) before it order the tail's store
//! before the reader's load of it, and the reader sees that the place is below the tail. Who writes: whoever holds the lock of the shard; the head is in there.
//!
//! The first word of an entry has its length in words in its lower 16 bits; the ring knows nothing else of entries.

use crate::primitives::{AtomicU64, Ordering, fence, zeroed};

/// Most words of an entry, in any ring: 16 KiB. Larger RRsets are no more than some in a million, and whoever makes many of them would turn over
/// the whole cache with some thousand answers.
pub(crate) const ENTRY_WORDS_MAX: usize = 2048;

/// Words of a line of the processor's cache.
const LINE_WORDS: usize = 8;

/// The words of one ring. The tail has a line of the processor's cache of its own: writers move it while others read the rest.
pub(crate) struct Ring {
    words: Box<[AtomicU64]>,
    /// Bits of a place that are an offset.
    shift: u32,
    /// Its first place.
    begin: u64,
    tail: Tail,
}

#[repr(align(64))]
struct Tail(AtomicU64);

impl Ring {
    /// A ring of so many words, and its head.
    pub(crate) fn new(count: usize) -> (Ring, u64) {
        let shift = usize::BITS - count.leading_zeros();
        // Laps begin at 1: no place is 0.
        let begin = 1 << shift;
        (Ring { words: zeroed(count), shift, begin, tail: Tail(AtomicU64::new(begin)) }, begin)
    }

    /// Has it begin later than `place`, of a ring that it stands in for: so no place of that one is ever one of this. Its head. Before anything is appended.
    pub(crate) fn begin_after(&mut self, place: u64) -> u64 {
        self.begin = ((place >> self.shift) + 1) << self.shift;
        self.tail.0.store(self.begin, Ordering::Relaxed);
        self.begin
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Where the oldest entry is. Of use to the writer only.
    pub(crate) fn tail(&self) -> u64 {
        self.tail.0.load(Ordering::Relaxed)
    }

    fn offset(&self, place: u64) -> usize {
        (place & ((1 << self.shift) - 1)) as usize
    }

    /// The place so many words on, at most the ring's length.
    pub(crate) fn beyond(&self, place: u64, count: usize) -> u64 {
        let offset = self.offset(place) + count;
        match offset.checked_sub(self.len()) {
            Some(round) => ((place >> self.shift) + 1) << self.shift | round as u64,
            None => place - self.offset(place) as u64 + offset as u64,
        }
    }

    /// Words from `from` to `to`, which is not before it.
    pub(crate) fn between(&self, from: u64, to: u64) -> usize {
        let laps = ((to >> self.shift) - (from >> self.shift)) as usize;
        laps * self.len() + self.offset(to) - self.offset(from)
    }

    /// How many of its words were written ever, by where the head is.
    pub(crate) fn written(&self, head: u64) -> usize {
        if head >> self.shift > self.begin >> self.shift { self.len() } else { self.offset(head) }
    }

    /// How many words can be appended at `head`.
    pub(crate) fn free(&self, head: u64) -> usize {
        self.len() - self.between(self.tail(), head)
    }

    /// Copies the entry at `place`: how many octets. `None`: it is not there any more.
    #[inline(always)]
    pub(crate) fn copy(&self, place: u64, to: &mut Vec<u8>) -> Option<usize> {
        self.copy_some(place, ENTRY_WORDS_MAX, to)
    }

    /// The same, at most the first `most` words of it.
    #[inline(always)]
    pub(crate) fn copy_some(&self, place: u64, most: usize, to: &mut Vec<u8>) -> Option<usize> {
        let offset = self.offset(place);
        let first = usize::from(self.words.get(offset)?.load(Ordering::Relaxed) as u16);
        // Of words that were written over already nothing is copied: they may say any length.
        if first == 0 || first > ENTRY_WORDS_MAX || place < self.tail.0.load(Ordering::Relaxed) {
            return None;
        }
        let count = first.min(most);
        if to.len() < count * 8 {
            to.resize(count * 8, 0);
        }
        let (octets, _) = to.as_chunks_mut::<8>();
        let until_end = count.min(self.len() - offset);
        let (straight, round) = octets.get_mut(..count)?.split_at_mut_checked(until_end)?;
        load_all(&self.words[offset..], straight);
        load_all(&self.words, round);
        fence(Ordering::Acquire);
        (place >= self.tail.0.load(Ordering::Relaxed)).then_some(count * 8)
    }

    /// A word of each of the first lines of the entry at `place`, if it is there.
    #[inline(always)]
    pub(crate) fn touch(&self, place: u64) -> u64 {
        let offset = self.offset(place);
        let word = |at: usize| self.words.get(at).map_or(0, |word| word.load(Ordering::Relaxed));
        word(offset) ^ word(offset + LINE_WORDS)
    }

    /// How many words the entry at `place` has. Of use to the writer only.
    pub(crate) fn words_at(&self, place: u64) -> usize {
        usize::from(self.words[self.offset(place)].load(Ordering::Relaxed) as u16)
    }

    /// Gives up all before `place`. From now on it may be written over.
    pub(crate) fn advance_tail(&self, place: u64) {
        self.tail.0.store(place, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Appends an entry of whole words at `head`, of which there are as many free: where it is.
    pub(crate) fn append(&self, head: &mut u64, octets: &[u8]) -> u64 {
        let (words, _) = octets.as_chunks::<8>();
        assert!(words.len() <= self.free(*head), "room was made");
        let place = *head;
        let offset = self.offset(place);
        let (straight, round) = words.split_at(words.len().min(self.len() - offset));
        store_all(&self.words[offset..], straight);
        store_all(&self.words, round);
        *head = self.beyond(place, words.len());
        place
    }
}

#[inline(always)]
fn load_all(words: &[AtomicU64], to: &mut [[u8; 8]]) {
    words.iter().zip(to).for_each(|(word, octets)| *octets = word.load(Ordering::Relaxed).to_le_bytes());
}

fn store_all(words: &[AtomicU64], from: &[[u8; 8]]) {
    words
        .iter()
        .zip(from)
        .for_each(|(word, octets)| word.store(u64::from_le_bytes(*octets), Ordering::Relaxed));
}
