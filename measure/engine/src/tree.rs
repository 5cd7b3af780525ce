//! Names and what belongs to each, in small pages that are shared by copies until they change.
//!
//! ```text
//! Tree -> branches -> pages -> entries (hash, name, value)      some eight names a page
//! ```
//!
//! A copy costs one count a branch; a change copies one branch and one page where others still use them, and changes in
//! place where not. So that the same structure serves locks, which change in place, and snapshots, which copy.

use std::sync::Arc;

/// Names of a page, about: enough to make pages few, not so many that a copy takes long.
const NAMES_A_PAGE: usize = 8;

/// See the module.
#[derive(Clone)]
pub struct Tree<V> {
    branches: Vec<Arc<Vec<Arc<Page<V>>>>>,
    /// Bits of a hash that choose the page of a branch.
    page_bits: u32,
    branch_bits: u32,
}

type Page<V> = Vec<Entry<V>>;

#[derive(Clone)]
struct Entry<V> {
    hash: u64,
    name: Arc<[u8]>,
    value: V,
}

/// A hash of a name in lower case.
#[inline]
pub fn hash_of(name: &[u8]) -> u64 {
    let (words, rest) = name.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut hash = name.len() as u64;
    for word in words.iter().chain([&last]) {
        let product = u128::from(hash ^ u64::from_le_bytes(*word)) * 0x9e37_79b9_7f4a_7c15;
        hash = (product >> 64) as u64 ^ product as u64;
    }
    hash ^ (hash >> 32)
}

impl<V: Clone> Tree<V> {
    /// An empty one, with pages for so many names.
    pub fn new(names: usize) -> Tree<V> {
        let bits = (names / NAMES_A_PAGE).max(1).next_power_of_two().ilog2();
        let (page_bits, branch_bits) = (bits / 2, bits - bits / 2);
        // All share the one empty page until they change.
        let page = Arc::new(Vec::new());
        let branch = Arc::new(vec![page; 1 << page_bits]);
        Tree { branches: vec![branch; 1 << branch_bits], page_bits, branch_bits }
    }

    fn place(&self, hash: u64) -> (usize, usize) {
        let branch = hash & ((1 << self.branch_bits) - 1);
        let page = (hash >> self.branch_bits) & ((1 << self.page_bits) - 1);
        (branch as usize, page as usize)
    }

    /// What belongs to a name in lower case.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<&V> {
        let hash = hash_of(name);
        let (branch, page) = self.place(hash);
        let entries = &self.branches[branch][page];
        entries.iter().find(|entry| entry.hash == hash && *entry.name == *name).map(|entry| &entry.value)
    }

    /// Puts a value in; returns what was there.
    pub fn insert(&mut self, name: &[u8], value: V) -> Option<V> {
        let hash = hash_of(name);
        let entries = self.page_mut(hash);
        match entries.iter_mut().find(|entry| entry.hash == hash && *entry.name == *name) {
            Some(entry) => Some(std::mem::replace(&mut entry.value, value)),
            None => {
                entries.push(Entry { hash, name: name.into(), value });
                None
            }
        }
    }

    /// Takes a name out.
    pub fn remove(&mut self, name: &[u8]) -> Option<V> {
        let hash = hash_of(name);
        let entries = self.page_mut(hash);
        let at = entries.iter().position(|entry| entry.hash == hash && *entry.name == *name)?;
        Some(entries.swap_remove(at).value)
    }

    fn page_mut(&mut self, hash: u64) -> &mut Page<V> {
        let (branch, page) = self.place(hash);
        Arc::make_mut(&mut Arc::make_mut(&mut self.branches[branch])[page])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn finds_what_a_map_has_and_copies_stay() {
        for names in [0, 1, 20, 3000] {
            let mut tree = Tree::new(names);
            let mut map = BTreeMap::new();
            let mut random = bench::random::Random::new(3);
            let mut old = None;
            for turn in 0..4000u64 {
                let name = format!("n{}", random.below(500)).into_bytes();
                if random.chance(0.7) {
                    assert_eq!(tree.insert(&name, turn), map.insert(name, turn));
                } else {
                    assert_eq!(tree.remove(&name), map.remove(&name));
                }
                if turn == 2000 {
                    old = Some((tree.clone(), map.clone()));
                }
            }
            for (tree, map) in old.into_iter().chain([(tree, map)]) {
                for number in 0..500 {
                    let name = format!("n{number}").into_bytes();
                    assert_eq!(tree.get(&name), map.get(&name));
                }
            }
        }
    }
}
