//! Numbered places that come and go, in pages that are given back when they are empty.
//!
//! ```text
//! pages: [ slots: used | free -> next free ... | first free | used ] [ ... ] [ not there ]        a page: 256 KiB or more
//! roomy: a bit for each page that has a free slot, or is not there; the lowest of them takes what comes
//! ```
//!
//! What comes goes to the lowest page with room, so that after a flood the pages above run empty. One empty page at most is kept, for what comes next. A page is
//! a block of its own for the allocator (`control` sets it up so from 256 KiB on), whose memory the system has back at once.
//!
//! A key has the number of its place, and a generation: what was there before is not found under it.

/// Octets of a page, at least.
const PAGE_OCTETS: usize = 256 << 10;
/// No slot.
const NONE: u32 = u32::MAX;

/// Where something is, and which of all that were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Its place.
    pub slot: u32,
    /// Another one for each that comes.
    pub generation: u32,
}

enum Slot<T> {
    Used {
        generation: u32,
        content: T,
    },
    /// With the next free one of its page.
    Free(u32),
}

struct Page<T> {
    /// None where the page is not there; else as many as were ever used at once.
    slots: Vec<Slot<T>>,
    first_free: u32,
    used: u32,
}

/// Places for values that come and go, found by keys that are good for one value only.
pub struct Slab<T> {
    pages: Vec<Page<T>>,
    roomy: Vec<u64>,
    /// An empty page that is kept.
    empty: Option<u32>,
    count: usize,
    generation: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { pages: Vec::new(), roomy: Vec::new(), empty: None, count: 0, generation: 0 }
    }
}

impl<T> Slab<T> {
    /// Octets of one.
    pub const SLOT_OCTETS: usize = size_of::<Slot<T>>();
    /// Slots of a page, a power of two.
    const SLOTS: usize = PAGE_OCTETS.div_ceil(size_of::<Slot<T>>()).next_power_of_two();

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Octets of the pages that are there.
    pub fn octets(&self) -> usize {
        self.pages.iter().map(|page| page.slots.capacity() * size_of::<Slot<T>>()).sum()
    }

    /// Puts something in.
    pub fn insert(&mut self, content: T) -> Key {
        let number = self.lowest_roomy();
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let used = Slot::Used { generation, content };
        let page = &mut self.pages[number];
        let at = match page.slots.get_mut(page.first_free as usize) {
            Some(slot) => {
                let at = page.first_free;
                if let Slot::Free(next) = std::mem::replace(slot, used) {
                    page.first_free = next;
                }
                at as usize
            }
            None => {
                if page.slots.is_empty() {
                    page.slots.reserve_exact(Slab::<T>::SLOTS);
                }
                page.slots.push(used);
                page.slots.len() - 1
            }
        };
        page.used += 1;
        if page.used as usize == Slab::<T>::SLOTS {
            self.roomy[number / 64] &= !(1 << (number % 64));
        }
        self.empty.take_if(|empty| *empty as usize == number);
        self.count += 1;
        Key { slot: (number * Slab::<T>::SLOTS + at) as u32, generation }
    }

    /// The lowest page that has a free slot, or can be made.
    fn lowest_roomy(&mut self) -> usize {
        for (word, bits) in self.roomy.iter().enumerate() {
            if *bits != 0 {
                return word * 64 + bits.trailing_zeros() as usize;
            }
        }
        let number = self.pages.len();
        self.pages.push(Page { slots: Vec::new(), first_free: NONE, used: 0 });
        if number.is_multiple_of(64) {
            self.roomy.push(0);
        }
        self.roomy[number / 64] |= 1 << (number % 64);
        number
    }

    /// What is there.
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.slot(key.slot)? {
            Slot::Used { generation, content } if *generation == key.generation => Some(content),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.slot_mut(key.slot)? {
            Slot::Used { generation, content } if *generation == key.generation => Some(content),
            _ => None,
        }
    }

    /// What is at a place now, whatever was there before.
    pub fn at(&self, slot: u32) -> Option<&T> {
        match self.slot(slot)? {
            Slot::Used { content, .. } => Some(content),
            Slot::Free(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        match self.slot_mut(slot)? {
            Slot::Used { content, .. } => Some(content),
            Slot::Free(_) => None,
        }
    }

    /// The key of what is at a place now.
    pub fn key_at(&self, slot: u32) -> Option<Key> {
        match self.slot(slot)? {
            Slot::Used { generation, .. } => Some(Key { slot, generation: *generation }),
            Slot::Free(_) => None,
        }
    }

    /// Takes something out.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let (number, at) = (key.slot as usize / Slab::<T>::SLOTS, key.slot as usize % Slab::<T>::SLOTS);
        let page = &mut self.pages[number];
        let taken = std::mem::replace(&mut page.slots[at], Slot::Free(page.first_free));
        page.first_free = at as u32;
        page.used -= 1;
        let is_empty = page.used == 0;
        self.roomy[number / 64] |= 1 << (number % 64);
        self.count -= 1;
        // Of two empty pages the lower one is kept; an empty one above a page with room is not needed.
        if is_empty && let Some(other) = self.empty.replace(number as u32) {
            self.empty = Some(other.min(number as u32));
            self.drop_page(other.max(number as u32));
        }
        match taken {
            Slot::Used { content, .. } => Some(content),
            Slot::Free(_) => None,
        }
    }

    fn drop_page(&mut self, number: u32) {
        if let Some(page) = self.pages.get_mut(number as usize) {
            *page = Page { slots: Vec::new(), first_free: NONE, used: 0 };
        }
    }

    /// All that is there, in the order of places.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        let pages = self.pages.iter().enumerate();
        let slots =
            pages.flat_map(|(number, page)| page.slots.iter().enumerate().map(move |slot| (number, slot)));
        slots.filter_map(|(number, (at, slot))| match slot {
            Slot::Used { generation, content } => {
                let slot = (number * Slab::<T>::SLOTS + at) as u32;
                Some((Key { slot, generation: *generation }, content))
            }
            Slot::Free(_) => None,
        })
    }

    #[inline]
    fn slot(&self, slot: u32) -> Option<&Slot<T>> {
        let slot = slot as usize;
        self.pages.get(slot / Slab::<T>::SLOTS)?.slots.get(slot % Slab::<T>::SLOTS)
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> Option<&mut Slot<T>> {
        let slot = slot as usize;
        self.pages.get_mut(slot / Slab::<T>::SLOTS)?.slots.get_mut(slot % Slab::<T>::SLOTS)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Three pages of them.
    type Wide = [u64; 512];
    const SLOTS: usize = Slab::<Wide>::SLOTS;

    #[test]
    fn as_a_map_would() {
        let (mut slab, mut naive) = (Slab::<Wide>::default(), HashMap::new());
        let mut gone = Vec::new();
        let mut random = 4711u64;
        for step in 0..20_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Waves: it fills three pages, then empties.
            let fills = step / 500 % 2 == 0;
            if random >> 60 < if fills { 12 } else { 4 } && naive.len() < 3 * SLOTS {
                let key = slab.insert([step; 512]);
                assert!(naive.insert(key, step).is_none(), "keys are not given twice");
            } else if let Some(key) = naive.keys().nth((random >> 32) as usize % naive.len().max(1)).copied()
            {
                assert_eq!(slab.remove(key).map(|wide| wide[0]), naive.remove(&key));
                gone.push(key);
            }
            assert_eq!(slab.count(), naive.len());
            if step % 100 == 0 {
                assert!(naive.iter().all(|(key, step)| slab.get(*key).is_some_and(|wide| wide[0] == *step)));
                assert!(gone.iter().all(|key| slab.get(*key).is_none()));
                let mut all: Vec<_> = slab.iter().map(|(key, wide)| (key, wide[0])).collect();
                all.retain(|(key, step)| naive.get(key) != Some(step));
                assert!(all.is_empty(), "{all:?}");
            }
        }
    }

    /// After a flood the pages above are given back, though what was there before goes on.
    #[test]
    fn pages_are_given_back() {
        let mut slab = Slab::<Wide>::default();
        let page = SLOTS * size_of::<Slot<Wide>>();
        let first: Vec<_> = (0..10).map(|_| slab.insert([0; 512])).collect();
        let flood: Vec<_> = (0..3 * SLOTS).map(|_| slab.insert([1; 512])).collect();
        assert_eq!(slab.octets(), 4 * page);
        flood.into_iter().for_each(|key| assert!(slab.remove(key).is_some()));
        assert!(slab.octets() <= 2 * page, "{} pages", slab.octets() / page);
        first.into_iter().for_each(|key| assert!(slab.remove(key).is_some()));
        assert_eq!((slab.octets(), slab.count()), (page, 0));
        // One more or less at the border of a page makes and drops none.
        let mut held: Vec<_> = (0..SLOTS).map(|_| slab.insert([2; 512])).collect();
        for _ in 0..3 {
            held.push(slab.insert([3; 512]));
            assert_eq!(slab.octets(), 2 * page);
            slab.remove(held.pop().unwrap());
            assert_eq!(slab.octets(), 2 * page);
        }
        slab.remove(held.pop().unwrap());
        assert!((slab.insert([4; 512]).slot as usize) < SLOTS, "the lowest page takes what comes");
    }
}
