//! What is kept of each of very many zones, by name.
//!
//! ```text
//! index    four octets a place, which says where the entry of a hash is; a half to seven eighths of the places are taken
//! entries  where the name begins, and the value; when one goes, the last takes its place
//! names    as on the wire, in lower case, one after the other; what is left of those that went is dropped when it is a half of all
//! ```
//!
//! A map of owned names takes more: an allocation for each name, and room for a name and a value in each place that is free.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::HashTable;
use wire::Name;
use wire::name::NAME_OCTETS_MAX;

/// Vectors grow by so much of their length: by doubling, a half of them could be free.
const GROWTH: usize = 4;

/// See the module. Letters of names are the same in either case.
pub struct ByName<V> {
    names: Vec<u8>,
    /// Octets of names that went.
    left: usize,
    entries: Vec<Entry<V>>,
    index: HashTable<u32>,
    hasher: RandomState,
}

struct Entry<V> {
    start: usize,
    value: V,
}

impl<V> Default for ByName<V> {
    fn default() -> ByName<V> {
        ByName {
            names: Vec::new(),
            left: 0,
            entries: Vec::new(),
            index: HashTable::new(),
            hasher: RandomState::new(),
        }
    }
}

/// A name in lower case, for the time of a look.
struct Folded {
    octets: [u8; NAME_OCTETS_MAX],
    length: usize,
}

impl Folded {
    fn of(name: &Name) -> Folded {
        let mut folded = Folded { octets: [0; NAME_OCTETS_MAX], length: name.octets().len() };
        for (folded, octet) in folded.octets.iter_mut().zip(name.octets()) {
            // Lengths of labels are below all letters.
            *folded = octet.to_ascii_lowercase();
        }
        folded
    }

    fn octets(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

/// The name that begins there.
fn name_at(names: &[u8], start: usize) -> &Name {
    // Each was put in as a whole; the root stands in for what cannot be.
    names.get(start..).and_then(|octets| Name::split_from(octets).ok()).map_or(Name::root(), |(name, _)| name)
}

fn grow<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.len() / GROWTH));
    }
}

impl<V> ByName<V> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where the entry of a name is, and its hash.
    fn find(&self, folded: &Folded) -> (u64, Option<usize>) {
        let hash = self.hasher.hash_one(folded.octets());
        let is_it = |at: &u32| self.octets_of(*at) == folded.octets();
        (hash, self.index.find(hash, is_it).map(|at| *at as usize))
    }

    fn octets_of(&self, at: u32) -> &[u8] {
        self.entries.get(at as usize).map_or(&[], |entry| name_at(&self.names, entry.start).octets())
    }

    /// What is kept of a name.
    #[must_use]
    pub fn get(&self, name: &Name) -> Option<&V> {
        if self.is_empty() {
            return None;
        }
        let (_, at) = self.find(&Folded::of(name));
        Some(&self.entries.get(at?)?.value)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &Name) -> Option<&mut V> {
        let (_, at) = self.find(&Folded::of(name));
        Some(&mut self.entries.get_mut(at?)?.value)
    }

    /// Keeps something of a name, and returns what was kept before.
    pub fn insert(&mut self, name: &Name, value: V) -> Option<V> {
        let folded = Folded::of(name);
        let (hash, at) = self.find(&folded);
        match at.and_then(|at| self.entries.get_mut(at)) {
            Some(entry) => Some(std::mem::replace(&mut entry.value, value)),
            None => {
                self.push(hash, &folded, value);
                None
            }
        }
    }

    /// What is kept of a name, or what is to be kept where nothing is.
    pub fn or_default(&mut self, name: &Name) -> &mut V
    where
        V: Default,
    {
        let folded = Folded::of(name);
        let (hash, at) = self.find(&folded);
        let at = at.unwrap_or_else(|| self.push(hash, &folded, V::default()));
        &mut self.entries[at].value
    }

    /// Adds what is not there; where its entry is.
    fn push(&mut self, hash: u64, folded: &Folded, value: V) -> usize {
        let (start, at) = (self.names.len(), self.entries.len());
        grow(&mut self.names, folded.length);
        self.names.extend_from_slice(folded.octets());
        grow(&mut self.entries, 1);
        self.entries.push(Entry { start, value });
        let (names, entries, hasher) = (&self.names, &self.entries, &self.hasher);
        // Four thousand million entries are more than any memory has.
        self.index.insert_unique(hash, at as u32, |at| {
            hasher.hash_one(name_at(names, entries[*at as usize].start).octets())
        });
        at
    }

    /// Keeps nothing of a name any more, and returns what was kept.
    pub fn remove(&mut self, name: &Name) -> Option<V> {
        let (hash, at) = self.find(&Folded::of(name));
        let at = at?;
        self.index.find_entry(hash, |other| *other as usize == at).ok()?.remove();
        self.left += self.octets_of(at as u32).len();
        let gone = self.entries.swap_remove(at);
        if at < self.entries.len() {
            let (last, moved) = (self.entries.len(), self.hasher.hash_one(self.octets_of(at as u32)));
            if let Some(place) = self.index.find_mut(moved, |other| *other as usize == last) {
                *place = at as u32;
            }
        }
        self.tidy();
        Some(gone.value)
    }

    /// Drops what is left of names that went, once it is worth that.
    fn tidy(&mut self) {
        if 2 * self.left < self.names.len() {
            return;
        }
        let mut names = Vec::with_capacity(self.names.len() - self.left);
        for entry in &mut self.entries {
            let start = names.len();
            names.extend_from_slice(name_at(&self.names, entry.start).octets());
            entry.start = start;
        }
        (self.names, self.left) = (names, 0);
        self.entries.shrink_to_fit();
        let (names, entries, hasher) = (&self.names, &self.entries, &self.hasher);
        self.index.shrink_to_fit(|at| hasher.hash_one(name_at(names, entries[*at as usize].start).octets()));
    }

    /// All names, in lower case, with what is kept of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &V)> {
        self.entries.iter().map(|entry| (name_at(&self.names, entry.start), &entry.value))
    }

    /// What is kept of all, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|entry| &mut entry.value)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use wire::NameBuf;

    fn name(number: u32) -> NameBuf {
        // Lengths differ, so that what is dropped is no whole number of others.
        NameBuf::from_text(&format!("z{number}.{}example.", "x.".repeat(number as usize % 7))).unwrap()
    }

    fn all(kept: &ByName<u32>) -> HashMap<NameBuf, u32> {
        kept.iter().map(|(name, value)| (name.to_owned(), *value)).collect()
    }

    /// As a map has it, whatever comes and goes.
    #[test]
    fn is_a_map() {
        let (mut kept, mut map) = (ByName::default(), HashMap::new());
        let mut random = 1_u64;
        for turn in 0..40_000_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Many come, then most of them go.
            let (number, act) = ((random >> 33) as u32 % 2_000, (random >> 60) as u32);
            let is_time_to_come = turn / 8_000 % 2 == 0;
            let name = name(number);
            match act {
                0..=2 => assert_eq!(kept.get(&name), map.get(&name)),
                3 => {
                    *kept.or_default(&name) += 1;
                    *map.entry(name).or_default() += 1;
                }
                _ if is_time_to_come => assert_eq!(kept.insert(&name, turn), map.insert(name, turn)),
                _ => assert_eq!(kept.remove(&name), map.remove(&name)),
            }
            assert_eq!((kept.len(), kept.is_empty()), (map.len(), map.is_empty()));
            if turn % 1_000 == 0 {
                assert_eq!(all(&kept), map);
                let octets: usize = map.keys().map(|name| name.octets().len()).sum();
                assert!(kept.names.len() - kept.left == octets && kept.names.len() <= 2 * octets + 255);
            }
        }
        assert_eq!(all(&kept), map);
        kept.values_mut().for_each(|value| *value = 7);
        assert!(kept.iter().all(|(_, value)| *value == 7));
        for name in map.keys() {
            assert!(kept.remove(name).is_some());
        }
        assert!(kept.is_empty() && kept.names.is_empty() && kept.index.is_empty());
    }

    #[test]
    fn letters_are_the_same_in_either_case() {
        let of = |text: &str| NameBuf::from_text(text).unwrap();
        let mut kept = ByName::default();
        assert_eq!(kept.insert(&of("A.Example."), 1), None);
        assert_eq!(kept.insert(&of("a.eXAMPLE."), 2), Some(1));
        assert_eq!(kept.get(&of("A.EXAMPLE.")), Some(&2));
        *kept.get_mut(&of("a.example.")).unwrap() = 3;
        assert_eq!(all(&kept), HashMap::from([(of("a.example."), 3)]));
        // The shortest and the longest, neither of which is a part of another.
        let long = of(&format!("{0}.{0}.{0}.{1}.", "y".repeat(63), "y".repeat(61)));
        assert_eq!((kept.insert(&NameBuf::root(), 4), kept.insert(&long, 5)), (None, None));
        assert_eq!(
            (kept.get(&NameBuf::root()), kept.get(&long), kept.get(&of("example."))),
            (Some(&4), Some(&5), None)
        );
        assert_eq!(kept.remove(&of("a.Example.")), Some(3));
        assert_eq!((kept.get(&NameBuf::root()), kept.get(&long), kept.len()), (Some(&4), Some(&5), 2));
    }
}
