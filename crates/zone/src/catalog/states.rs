//! States of a zone that changes, by number: what a slot shows of it, one after the other.
//!
//! ```text
//! view word: number of the States 30 | number in it 32 --> Changed: pack, delta, row ...
//! chunks:    8 | 8 | 16 | 32 | ...                         written once, before a slot shows it; never moved
//! ```
//!
//! So what was found in a batch is two numbers, as with packs, and a commit frees nothing: states of before go with the whole. After [`STATES_MAX`] of them
//! its zone goes on in another one.

use crate::delta::Changed;
use crate::lookup::ZoneView;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use wire::{Name, NameBuf};

/// Most states: half a megabyte, which a zone with a thousand changes a second gives back every four seconds.
pub const STATES_MAX: u32 = 1 << 12;
/// The first two chunks have so many places, each later one as many as all before it.
const FIRST: u32 = 8;
const CHUNKS: usize = (STATES_MAX / FIRST).trailing_zeros() as usize + 1;

/// See the module.
pub struct States {
    id: u64,
    /// The zone's name and its key, also once its pack cannot be read any more.
    apex: NameBuf,
    apex_key: Box<[u8]>,
    count: AtomicU32,
    chunks: [OnceLock<Box<[OnceLock<Changed>]>>; CHUNKS],
}

/// The chunk and the place in it of a number.
fn place(number: u32) -> (usize, usize) {
    if number < FIRST {
        return (0, number as usize);
    }
    let chunk = (number / FIRST).ilog2() + 1;
    (chunk as usize, (number - (FIRST << (chunk - 1))) as usize)
}

/// How many places a chunk has.
fn places(chunk: usize) -> usize {
    (FIRST as usize) << chunk.saturating_sub(1)
}

impl States {
    /// The states of a zone from this one on, which has number 0. `None`: its pack cannot be read.
    pub fn new(first: Changed) -> Option<Arc<States>> {
        let zone = ZoneView::of_changed(&first)?;
        let states = States {
            id: super::next_version(),
            apex: zone.apex().to_owned(),
            apex_key: zone.apex_key().into(),
            count: AtomicU32::new(0),
            chunks: [const { OnceLock::new() }; CHUNKS],
        };
        states.add(first);
        Some(Arc::new(states))
    }

    /// Adds the next state, for a slot to show; returns its number. `None`: there are [`STATES_MAX`]. One thread at a time adds.
    pub fn add(&self, changed: Changed) -> Option<u32> {
        let number = self.count.load(Ordering::Relaxed);
        if number == STATES_MAX {
            return None;
        }
        let (chunk, at) = place(number);
        let chunk = self.chunks[chunk].get_or_init(|| (0..places(chunk)).map(|_| OnceLock::new()).collect());
        assert!(chunk[at].set(changed).is_ok(), "one thread adds states");
        self.count.store(number + 1, Ordering::Release);
        Some(number)
    }

    /// The state of this number.
    pub fn get(&self, number: u32) -> Option<&Changed> {
        let (chunk, at) = place(number);
        self.chunks.get(chunk)?.get()?.get(at)?.get()
    }

    /// The newest state, which all have.
    pub(super) fn newest(&self) -> Option<&Changed> {
        self.get(self.count.load(Ordering::Acquire).checked_sub(1)?)
    }

    /// The zone in the state of this number.
    pub fn view(&self, number: u32) -> Option<ZoneView<'_>> {
        ZoneView::of_changed(self.get(number)?)
    }

    /// The zone's name, lower-case.
    pub fn apex(&self) -> &Name {
        &self.apex
    }

    /// Key of the same.
    pub(super) fn apex_key(&self) -> &[u8] {
        &self.apex_key
    }

    /// A number that no other one has.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Octets that it takes, what its states share apart.
    pub fn octets(&self) -> usize {
        let made = self.chunks.iter().filter_map(|chunk| chunk.get());
        size_of_val(self) + made.map(|chunk| size_of_val(&**chunk)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_place() {
        let mut expected = (0..CHUNKS).flat_map(|chunk| (0..places(chunk)).map(move |at| (chunk, at)));
        for number in 0..STATES_MAX {
            assert_eq!(expected.next(), Some(place(number)));
        }
        assert_eq!(expected.next(), None);
    }
}
