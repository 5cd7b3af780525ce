//! A tap: a ring of records through which one thread tells another what it does, and never waits for it.
//!
//! ```text
//!   writer, a worker                 words of 8 octets                    reader, who logs or counts
//!   write ..               -->  | .. | 21 | octets ..        | 9 | ..  -->  read
//!   publish, once a batch           ^ tail: stored by the reader   ^ head: stored by the writer
//! ```
//!
//! A record is its length in words, words, and parts of octets of which each is padded with zeros to whole words, so that they are copied by words
//! whatever is before them. One that does not fit is dropped as a whole and counted. It is in a row: one that begins near the end of the ring goes on in words
//! behind it, and those at the beginning that it would be in otherwise rest. Who touches what: words from `tail` to `head` are the reader's, all others the writer's; each side hands words over by
//! a store with release ordering that the other loads with acquire. So the words themselves need no ordering, and no code here is
//! unsafe. Without a reader nothing is written: whether there is one, and what it wants, is one relaxed load of a word that
//! changes only when one comes or goes. The ring takes no memory until the first reader comes.

use std::iter;
use std::sync::OnceLock;

use crate::primitives::{Arc, AtomicU32, AtomicU64, Ordering};

/// Octets of a ring: four milliseconds of a worker that answers a million queries a second and tells 256 octets of each. Less
/// would drop records when the reader loses its processor for a turn; more is memory a worker, and no longer fits in a cache.
pub const RING_OCTETS: usize = 1 << 20;

/// Octets of a word.
const WORD: usize = size_of::<u64>();

/// Words of a record at most: its length, two parts of 65,535 octets, and a head that is shorter than what is left.
const RECORD_WORDS_MAX: usize = (1 << 14) + 64;

/// Words that are stored without a step of a loop in between, which compilers leave there for atomics. With four a record of 300 octets takes 15 instructions more, and more
/// than eight are in a row in responses alone.
const WORDS_AT_ONCE: usize = 8;

/// What a reader wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// One item in so many, of [`ONE_IN_MAX`] at most; 0 is taken for 1.
    pub one_in: u32,
    /// Octets of each query, at most.
    pub query_octets: u16,
    /// Octets of each response, at most.
    pub response_octets: u16,
    /// Whether it wants to be told also of what is asked of others, and of what they say.
    pub others: bool,
}

/// The rarest item of which a reader can be told: the rest of its word says more.
pub const ONE_IN_MAX: u32 = u32::MAX >> 1;

impl Wants {
    /// Never 0, which says that there is no reader.
    fn to_word(self) -> u64 {
        u64::from(self.others) << 63
            | u64::from(self.one_in.clamp(1, ONE_IN_MAX)) << 32
            | u64::from(self.query_octets) << 16
            | u64::from(self.response_octets)
    }

    fn of_word(word: u64) -> Option<Wants> {
        let wants = Wants {
            one_in: (word >> 32) as u32 & ONE_IN_MAX,
            query_octets: (word >> 16) as u16,
            response_octets: word as u16,
            others: word >> 63 != 0,
        };
        (word != 0).then_some(wants)
    }
}

/// Where readers come to: a handle, of which there may be many.
#[derive(Clone)]
pub struct Tap {
    shared: Arc<Shared>,
}

struct Shared {
    /// Of the ring; a power of two.
    words_max: usize,
    /// Made by the first reader: these, and behind them as many as a record may have.
    words: OnceLock<Box<[AtomicU64]>>,
    /// See [`Wants::to_word`]; stored by readers.
    wants: AtomicU64,
    /// 1 while there is a reader.
    is_attached: AtomicU32,
    head: Head,
    tail: Tail,
}

/// What the writer stores, apart from what others do.
#[repr(align(128))]
struct Head {
    /// Words published since the beginning.
    head: AtomicU64,
    /// Records dropped since the beginning.
    dropped: AtomicU64,
}

/// Words read since the beginning, or skipped as there was no reader.
#[repr(align(128))]
struct Tail(AtomicU64);

/// A ring of at least `octets` octets without a reader.
pub fn ring(octets: usize) -> (Writer, Tap) {
    let shared = Arc::new(Shared {
        words_max: octets.div_ceil(WORD).max(1).next_power_of_two(),
        words: OnceLock::new(),
        wants: AtomicU64::new(0),
        is_attached: AtomicU32::new(0),
        head: Head { head: AtomicU64::new(0), dropped: AtomicU64::new(0) },
        tail: Tail(AtomicU64::new(0)),
    });
    let writer = Writer { shared: Arc::clone(&shared), position: 0, published: 0, tail: 0, dropped: 0 };
    (writer, Tap { shared })
}

impl Tap {
    /// Becomes the reader, which sees records that are published from now on; the first may still be as long as the reader before
    /// wanted. `None` while there is another.
    pub fn attach(&self, wants: Wants) -> Option<Reader> {
        let shared = &self.shared;
        // Acquire: the reader before is done with the ring.
        if shared.is_attached.swap(1, Ordering::AcqRel) != 0 {
            return None;
        }
        let words = shared.words_max + shared.words_max.min(RECORD_WORDS_MAX);
        shared.words.get_or_init(|| (0..words).map(|_| AtomicU64::new(0)).collect());
        let head = shared.head.head.load(Ordering::Acquire);
        shared.tail.0.store(head, Ordering::Release);
        shared.wants.store(wants.to_word(), Ordering::Relaxed);
        let dropped_before = self.dropped();
        Some(Reader { shared: Arc::clone(shared), position: head, head, dropped_before })
    }

    /// Records that found no room, since the beginning.
    pub fn dropped(&self) -> u64 {
        self.shared.head.dropped.load(Ordering::Relaxed)
    }
}

/// The side of the thread that tells.
pub struct Writer {
    shared: Arc<Shared>,
    /// Words written, of which those beyond `published` are not the reader's yet.
    position: u64,
    published: u64,
    /// As it was when it was looked at last.
    tail: u64,
    dropped: u64,
}

impl Writer {
    /// What the reader wants; `None` without one. One relaxed load.
    #[inline]
    pub fn wants(&self) -> Option<Wants> {
        Wants::of_word(self.shared.wants.load(Ordering::Relaxed))
    }

    /// Writes a record of the words of a head, and the octets of all parts, each from a word on. `false` if it does not fit, which is counted.
    #[inline]
    pub fn write<const H: usize, const N: usize>(&mut self, head: [u64; H], parts: [&[u8]; N]) -> bool {
        let words = H + parts.iter().map(|part| part.len().div_ceil(WORD)).sum::<usize>();
        let words_max = self.shared.words_max as u64;
        let end = self.position + 1 + words as u64;
        if end - self.tail > words_max {
            // Acquire: the reader is done with the words before.
            self.tail = self.shared.tail.0.load(Ordering::Acquire);
        }
        let at = self.position as usize & (self.shared.words_max - 1);
        let ring = self.shared.words.get().filter(|_| end - self.tail <= words_max);
        let Some(places) = ring.and_then(|ring| ring.get(at..at + 1 + words)) else {
            self.dropped += 1;
            self.shared.head.dropped.store(self.dropped, Ordering::Relaxed);
            return false;
        };
        put(places, words, head, parts);
        self.position = end;
        true
    }

    /// Hands the records since the last call to the reader. One store; once a batch.
    #[inline]
    pub fn publish(&mut self) {
        if self.published != self.position {
            self.published = self.position;
            self.shared.head.head.store(self.position, Ordering::Release);
        }
    }
}

/// Stores a record in the places for it.
#[inline(always)] // What is known of the head is so in registers: in memory a record of 300 octets cost 100 instructions more.
fn put<const H: usize, const N: usize>(
    places: &[AtomicU64],
    words: usize,
    head: [u64; H],
    parts: [&[u8]; N],
) {
    let (length, places) = places.split_at(1);
    length[0].store(words as u64, Ordering::Relaxed);
    let (heads, mut places) = places.split_at(H);
    iter::zip(heads, head).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    for part in parts {
        let (whole, rest) = part.as_chunks::<WORD>();
        let (now, left) = places.split_at(whole.len());
        store(now, whole);
        places = match left.split_first() {
            Some((place, left)) if !rest.is_empty() => {
                place.store(last_word(part, rest), Ordering::Relaxed);
                left
            }
            _ => left,
        };
    }
}

/// The octets of a part that make no whole word, with zeros behind them.
#[inline(always)]
fn last_word(part: &[u8], rest: &[u8]) -> u64 {
    match part.last_chunk::<WORD>() {
        // All at once: those of the last eight that are in a word already are shifted out.
        Some(last) => u64::from_le_bytes(*last) >> (8 * (WORD - rest.len())),
        None => padded(rest),
    }
}

fn padded(octets: &[u8]) -> u64 {
    let mut word = [0; WORD];
    word[..octets.len()].copy_from_slice(octets);
    u64::from_le_bytes(word)
}

/// Stores words at as many places, most of them [`WORDS_AT_ONCE`] in a row.
#[inline(always)]
fn store(places: &[AtomicU64], words: &[[u8; WORD]]) {
    let one = |(place, word): (&AtomicU64, &[u8; WORD])| {
        place.store(u64::from_le_bytes(*word), Ordering::Relaxed);
    };
    let (places, places_left) = places.as_chunks::<WORDS_AT_ONCE>();
    let (words, words_left) = words.as_chunks::<WORDS_AT_ONCE>();
    iter::zip(places, words).for_each(|(places, words)| iter::zip(places, words).for_each(one));
    iter::zip(places_left, words_left).for_each(one);
}

/// The side of the thread that is told. Detaches when it is dropped.
pub struct Reader {
    shared: Arc<Shared>,
    position: u64,
    /// As it was when it was looked at last.
    head: u64,
    dropped_before: u64,
}

impl Reader {
    /// Puts the octets of the next record in `record`, in place of what is there: those of its head, from the lower end of each word, and of its parts with what they are
    /// padded with. `false` if there is none yet. Never waits.
    pub fn read(&mut self, record: &mut Vec<u8>) -> bool {
        if self.position == self.head {
            // Acquire: what the writer wrote before it published.
            self.head = self.shared.head.head.load(Ordering::Acquire);
        }
        let ring = self.shared.words.get().filter(|_| self.position != self.head);
        let Some(ring) = ring else { return false };
        let at = self.position as usize & (self.shared.words_max - 1);
        let words = ring[at].load(Ordering::Relaxed) as usize;
        record.clear();
        record.reserve(words * WORD);
        for word in &ring[at + 1..][..words] {
            record.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        self.position += 1 + words as u64;
        self.shared.tail.0.store(self.position, Ordering::Release);
        true
    }

    /// Wants something else; records that are on their way are as before.
    pub fn change(&mut self, wants: Wants) {
        self.shared.wants.store(wants.to_word(), Ordering::Relaxed);
    }

    /// Records that found no room since this reader came.
    pub fn dropped(&self) -> u64 {
        self.shared.head.dropped.load(Ordering::Relaxed) - self.dropped_before
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.wants.store(0, Ordering::Relaxed);
        self.shared.is_attached.store(0, Ordering::Release);
    }
}
