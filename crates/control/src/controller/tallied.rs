//! How many zones are in which state, known at any time without a look at them.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;

use super::zones::{Awaited, Rare, Zones};

/// How many of some zones are what is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Their file could not be loaded when that was tried last.
    pub(super) broken: usize,
    /// Of these, there are no data of them.
    pub(super) broken_absent: usize,
    /// The catalog does not show them.
    pub(super) hidden: usize,
}

/// What is counted.
pub(super) trait Counted {
    /// What it is counted as.
    fn tally(&self) -> Tally;
}

/// A map that knows what its values are counted as. Whoever changes one does it here, in [`Tallied::change`].
pub(super) struct Tallied<K, V> {
    map: HashMap<K, V>,
    tally: Tally,
}

impl<K, V> Default for Tallied<K, V> {
    fn default() -> Tallied<K, V> {
        Tallied { map: HashMap::new(), tally: Tally::default() }
    }
}

/// All that changes nothing.
impl<K, V> Deref for Tallied<K, V> {
    type Target = HashMap<K, V>;

    fn deref(&self) -> &HashMap<K, V> {
        &self.map
    }
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.broken += other.broken;
        self.broken_absent += other.broken_absent;
        self.hidden += other.hidden;
    }

    fn subtract(&mut self, other: Tally) {
        self.broken -= other.broken;
        self.broken_absent -= other.broken_absent;
        self.hidden -= other.hidden;
    }
}

impl<K: Eq + Hash, V: Counted> Tallied<K, V> {
    /// How many there are of each kind.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.tally.add(value.tally());
        let old = self.map.insert(key, value);
        old.iter().for_each(|old| self.tally.subtract(old.tally()));
        old
    }

    pub(super) fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        let old = self.map.remove(key);
        old.iter().for_each(|old| self.tally.subtract(old.tally()));
        old
    }

    /// Changes a value; `None`: there is none of this key.
    pub(super) fn change<Q: Eq + Hash + ?Sized, T>(
        &mut self,
        key: &Q,
        change: impl FnOnce(&mut V) -> T,
    ) -> Option<T>
    where
        K: std::borrow::Borrow<Q>,
    {
        let value = self.map.get_mut(key)?;
        let before = value.tally();
        let result = change(value);
        self.tally.add(value.tally());
        self.tally.subtract(before);
        Some(result)
    }

    /// Changes all values.
    pub(super) fn change_all(&mut self, mut change: impl FnMut(&K, &mut V)) {
        for (key, value) in &mut self.map {
            let before = value.tally();
            change(key, value);
            self.tally.add(value.tally());
            self.tally.subtract(before);
        }
    }

    /// Keeps, changed or not, those of which `stays` says so.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(&K, &mut V) -> bool) {
        let tally = &mut self.tally;
        self.map.retain(|key, value| {
            tally.subtract(value.tally());
            let is_kept = stays(key, value);
            if is_kept {
                tally.add(value.tally());
            }
            is_kept
        });
    }
}

impl Counted for Rare {
    fn tally(&self) -> Tally {
        let broken = usize::from(self.problem.is_some());
        Tally { broken, broken_absent: if self.is_absent { broken } else { 0 }, hidden: 0 }
    }
}

impl Counted for Awaited {
    fn tally(&self) -> Tally {
        let broken = usize::from(self.problem.is_some());
        Tally { broken, broken_absent: broken, hidden: usize::from(self.slot.is_none()) }
    }
}

/// Numbers of zones, and of what they are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZoneNumbers {
    /// They have data.
    pub(crate) served: u64,
    /// They have none.
    pub(crate) absent: u64,
    /// Their file could not be loaded when that was tried last, or their list not be read.
    pub(crate) broken: u64,
    /// Those that have data all the same, older ones.
    pub(crate) stale: u64,
    /// Packs that they are served from.
    pub(crate) packs: u64,
    /// Octets of these.
    pub(crate) pack_octets: u64,
    /// Octets of memory of what is kept of each zone.
    pub(crate) kept_octets: u64,
}

impl Zones {
    /// How many zones are in which state. Goes through none of them.
    pub(super) fn numbers(&self) -> ZoneNumbers {
        let (rare, awaited) = (self.rare.tally(), self.awaited.tally());
        let all = self.shown + awaited.hidden;
        let (packs, pack_octets) = self.packs.in_use();
        ZoneNumbers {
            served: self.loaded as u64,
            absent: all.saturating_sub(self.loaded) as u64,
            broken: (self.left + rare.broken + awaited.broken) as u64,
            stale: (self.left + rare.broken - rare.broken_absent) as u64,
            packs,
            pack_octets,
            kept_octets: self.kept_octets() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Zone(bool, bool);

    impl Counted for Zone {
        fn tally(&self) -> Tally {
            let (broken, absent) = (usize::from(self.0), usize::from(self.0 && self.1));
            Tally { broken, broken_absent: absent, hidden: usize::from(self.1) }
        }
    }

    /// However it is changed, the tally is what a look at all values gives.
    #[test]
    fn the_tally_is_that_of_the_values() {
        let mut zones: Tallied<u32, Zone> = Tallied::default();
        let mut random = 1_u32;
        for _ in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (key, zone) = (random >> 8 & 31, Zone(random >> 16 & 1 == 1, random >> 17 & 1 == 1));
            match random >> 28 {
                0..6 => drop(zones.insert(key, zone)),
                6..10 => drop(zones.remove(&key)),
                10..14 => drop(zones.change(&key, |value| *value = zone)),
                14 => zones.change_all(|key, value| value.0 ^= key % 2 == 0),
                _ => zones.retain(|key, value| {
                    value.1 = !value.1;
                    key % 7 != 0
                }),
            }
            let mut expected = Tally::default();
            zones.values().for_each(|zone| expected.add(zone.tally()));
            assert_eq!(zones.tally(), expected);
        }
    }
}
