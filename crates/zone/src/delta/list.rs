//! A skip list: entries in the order of their keys, one writer, readers that never wait.
//!
//! ```text
//! level 2   head ------------------------> c ----.
//! level 1   head ---------> b -----------> c ----+---.      an entry has half the chance of one more level
//! level 0   head --> a <--> b <----------> c <-> d   end    level 0 goes back too
//! ```
//!
//! Links only ever lead from a smaller key to a greater one, also those of entries that were taken out, so every walk ends; and entries are never
//! freed. A walk that passes an entry which is taken out, or put in again, may miss others that came or went meanwhile: what it finds is checked by who asks.

use super::column::Column;
use crate::section::fold_multiply;
use std::sync::atomic::{AtomicU32, Ordering};

/// Levels at most: half of the entries each, so that 20 are enough for a million.
pub(super) const LEVELS: u32 = 20;
/// The number of the head, which is before all entries; as a link, the end.
pub(super) const HEAD: u32 = 0;

/// Where an entry is in the list.
#[derive(Default)]
struct Place {
    /// Its link of level 0; those of higher levels follow. Of the head it is 0.
    first: AtomicU32,
    /// The entry before it.
    previous: AtomicU32,
}

/// See the module. Entries have numbers from 1 on; their keys are known to who asks.
#[derive(Default)]
pub(super) struct List {
    places: Column<Place>,
    links: Column<AtomicU32>,
    height: AtomicU32,
}

/// How many levels an entry has: the same each time it is put in.
fn levels_of(entry: u32) -> u32 {
    let random = fold_multiply(u64::from(entry) ^ 0x1656_67b1_9e37_79f9, 0x9e37_79b9_7f4a_7c15);
    (1 + random.trailing_zeros()).min(LEVELS)
}

impl List {
    /// The entry after `at` on level 0, [`HEAD`] at the end.
    #[inline(always)]
    pub(super) fn next(&self, at: u32) -> u32 {
        self.link(self.first(at))
    }

    /// The entry before `at`, [`HEAD`] before the first.
    pub(super) fn previous(&self, at: u32) -> u32 {
        self.places.get(at).map_or(HEAD, |place| place.previous.load(Ordering::Acquire))
    }

    #[inline(always)]
    fn first(&self, at: u32) -> u32 {
        if at == HEAD {
            0
        } else {
            self.places.get(at).map_or(0, |place| place.first.load(Ordering::Acquire))
        }
    }

    #[inline(always)]
    fn link(&self, number: u32) -> u32 {
        self.links.get(number).map_or(HEAD, |link| link.load(Ordering::Acquire))
    }

    /// The last entry of which `is_before` says so, which it says of all entries before that too; [`HEAD`] where it says so of none. About two
    /// questions a level.
    #[inline(always)]
    pub(super) fn last(&self, is_before: impl Fn(u32) -> bool) -> u32 {
        self.last_on_each(is_before, |_, _| ())
    }

    /// The same, telling for each level the last entry there.
    #[inline(always)]
    fn last_on_each(&self, is_before: impl Fn(u32) -> bool, mut found: impl FnMut(u32, u32)) -> u32 {
        let (mut at, mut first, mut bound) = (HEAD, 0, HEAD);
        for level in (0..self.height.load(Ordering::Acquire)).rev() {
            loop {
                let next = self.link(first + level);
                // The end first: it has no key, and may come where an entry was that is taken out now.
                if next == HEAD || next == bound || !is_before(next) {
                    bound = next;
                    break;
                }
                at = next;
                first = self.first(at);
            }
            found(level, at);
        }
        at
    }

    /// Octets of its columns.
    pub(super) fn octets(&self) -> usize {
        self.places.octets() + self.links.octets()
    }
}

/// Where the last of some entries was put in that come in the order of their keys: the next one is near. Only while nothing is taken out of the list.
#[derive(Default)]
pub(super) struct Finger {
    /// The last entry on each level that is not behind it.
    at: [u32; LEVELS as usize],
}

impl Finger {
    /// The entry that was put in last.
    pub(super) fn last(&self) -> u32 {
        self.at[0]
    }

    /// Goes on to the last entry on each level of which `is_before` says so: upwards as long as there is any, and down again. Costs the logarithm of the way.
    fn advance(&mut self, list: &List, is_before: impl Fn(u32) -> bool) {
        let next = |at: u32, level: usize| {
            let next = list.link(list.first(at) + level as u32);
            (next != HEAD && is_before(next)).then_some(next)
        };
        let height = list.height.load(Ordering::Relaxed) as usize;
        let mut level = 0;
        while level < height
            && let Some(entry) = next(self.at[level], level)
        {
            self.at[level] = entry;
            level += 1;
        }
        let mut at = level.checked_sub(1).map_or(HEAD, |top| self.at[top]);
        for level in (0..level).rev() {
            while let Some(entry) = next(at, level) {
                at = entry;
            }
            self.at[level] = at;
        }
    }
}

/// The writer's part of a list.
pub(super) struct Linker {
    /// Links that are given out.
    links: u32,
}

impl Linker {
    pub(super) fn new() -> Linker {
        // Those of the head.
        Linker { links: LEVELS }
    }

    /// Puts `entry` in, which is not in the list; `is_before` says of others whether they are before it. False when there is no room for it.
    pub(super) fn insert(&mut self, list: &List, entry: u32, is_before: impl Fn(u32) -> bool) -> bool {
        let mut before = [HEAD; LEVELS as usize];
        list.last_on_each(is_before, |level, at| before[level as usize] = at);
        self.link(list, entry, &before)
    }

    /// The same for one whose key is behind that of the one that was put in last with this finger.
    pub(super) fn insert_behind(
        &mut self,
        list: &List,
        entry: u32,
        finger: &mut Finger,
        is_before: impl Fn(u32) -> bool,
    ) -> bool {
        finger.advance(list, is_before);
        let is_in = self.link(list, entry, &finger.at);
        finger.at[..levels_of(entry) as usize].fill(entry);
        is_in
    }

    /// Links `entry` behind the one that is before it on each level.
    fn link(&mut self, list: &List, entry: u32, before: &[u32; LEVELS as usize]) -> bool {
        let levels = levels_of(entry);
        let Some(place) = list.places.make(entry) else { return false };
        let mut first = place.first.load(Ordering::Relaxed);
        if first == 0 {
            if list.links.make(self.links + levels).is_none() {
                return false;
            }
            // Those of the head with the first of all.
            let heads = if self.links == LEVELS { 0..LEVELS } else { 0..0 };
            heads.chain(self.links..self.links + levels).for_each(|number| _ = list.links.make(number));
            first = self.links;
            self.links += levels;
        }
        let link = |number: u32, to: u32| {
            if let Some(link) = list.links.get(number) {
                link.store(to, Ordering::Release);
            }
        };
        for level in 0..levels {
            link(first + level, list.link(list.first(before[level as usize]) + level));
        }
        place.first.store(first, Ordering::Release);
        place.previous.store(before[0], Ordering::Release);
        // From below: whoever comes to it on a higher level can go on on all below.
        for level in 0..levels {
            link(list.first(before[level as usize]) + level, entry);
        }
        let next = list.next(entry);
        if next != HEAD
            && let Some(next) = list.places.get(next)
        {
            next.previous.store(entry, Ordering::Release);
        }
        list.height.fetch_max(levels, Ordering::AcqRel);
        true
    }

    /// Takes `entry` out, which is in the list. Its own links stay, for who is there now.
    pub(super) fn remove(&mut self, list: &List, entry: u32, is_before: impl Fn(u32) -> bool) {
        let levels = levels_of(entry);
        let mut before = [HEAD; LEVELS as usize];
        list.last_on_each(is_before, |level, at| before[level as usize] = at);
        let next = list.next(entry);
        let first = list.first(entry);
        for level in (0..levels).rev() {
            let number = list.first(before[level as usize]) + level;
            if list.link(number) == entry
                && let Some(link) = list.links.get(number)
            {
                link.store(list.link(first + level), Ordering::Release);
            }
        }
        if next != HEAD
            && let Some(next) = list.places.get(next)
        {
            next.previous.store(before[0], Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of entries in the order of their keys, near and far, among others that are there.
    #[test]
    fn entries_come_in_order() {
        let keys: Vec<u32> = (0..=1000u32).map(|entry| entry * 617 % 1009).collect();
        let (list, mut linker) = (List::default(), Linker::new());
        let mut expected = std::collections::BTreeSet::new();
        for part in [3, 2, 7, 1] {
            let mut entries: Vec<u32> = (1..=1000)
                .filter(|entry| entry % part == 0 && !expected.contains(&keys[*entry as usize]))
                .collect();
            entries.sort_by_key(|entry| keys[*entry as usize]);
            let mut finger = Finger::default();
            for entry in entries {
                let key = keys[entry as usize];
                assert!(linker.insert_behind(&list, entry, &mut finger, |other| keys[other as usize] < key));
                assert_eq!(finger.last(), entry);
                expected.insert(key);
            }
            check(&list, &keys, &expected);
        }
    }

    /// The list's order, forwards, and what it says going back.
    fn check(list: &List, keys: &[u32], expected: &std::collections::BTreeSet<u32>) {
        let (mut at, mut found, mut before) = (list.next(HEAD), Vec::new(), HEAD);
        while at != HEAD {
            assert_eq!(list.previous(at), before);
            before = at;
            found.push(keys[at as usize]);
            at = list.next(at);
        }
        assert!(found.iter().eq(expected));
        for wanted in 0..1200 {
            let last = list.last(|entry| keys[entry as usize] <= wanted);
            let last = (last != HEAD).then(|| keys[last as usize]);
            assert_eq!(last.as_ref(), expected.range(..=wanted).next_back());
        }
    }

    #[test]
    fn entries_come_go_and_come_again() {
        // Keys of entries 1 to 1000, in a disorder of their own.
        let keys: Vec<u32> = (0..=1000u32).map(|entry| entry * 617 % 1009).collect();
        let (list, mut linker) = (List::default(), Linker::new());
        let mut expected = std::collections::BTreeSet::new();
        for round in 0..4u32 {
            for entry in 1..=1000u32 {
                let (key, is_wanted) = (keys[entry as usize], (entry / 3 + round) % 3 != 0);
                let is_before = |other: u32| keys[other as usize] < key;
                if is_wanted && expected.insert(key) {
                    assert!(linker.insert(&list, entry, is_before));
                } else if !is_wanted && expected.remove(&key) {
                    linker.remove(&list, entry, is_before);
                }
            }
            check(&list, &keys, &expected);
        }
        assert!(linker.links < LEVELS + 2 * 1000 + 200, "two links an entry, given once");
    }
}
