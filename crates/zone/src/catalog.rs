//! The catalog: all zones that a server answers for, and which of them a name belongs to.
//!
//! A catalog never changes; a new one shares the packs of the old. Workers read one for a whole batch.

use crate::index::Hash;
use crate::lookup::Zone;
use crate::pack::Pack;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::{Name, NameBuf, SortKey};

/// Why a zone that the server is to serve cannot be answered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It was never loaded: its text is being read, or is broken.
    NotLoaded,
    /// A secondary zone whose time without contact to its primary is over (RFC 1035 3.3.13, EXPIRE).
    Expired,
}

/// One zone of the catalog.
#[derive(Clone)]
pub enum Entry {
    /// Data to answer from.
    Loaded {
        /// The pack.
        pack: Arc<Pack>,
        /// The zone's number in it.
        number: u32,
    },
    /// The server is responsible for it and has no data: answers are SERVFAIL.
    Absent(Arc<Absent>),
}

/// A zone without data. Elsewhere than in its entry, which a server can have a million of, nearly all of them loaded.
pub struct Absent {
    /// Its name.
    apex: NameBuf,
    /// Sort key of its name.
    key: Box<[u8]>,
    /// Why there are none.
    pub why: Absence,
}

const _: () = assert!(size_of::<Entry>() == 16);

impl Entry {
    /// An entry without data.
    pub fn absent(apex: &Name, why: Absence) -> Entry {
        Entry::Absent(Arc::new(Absent { apex: apex.to_owned(), key: SortKey::of(apex).octets().into(), why }))
    }

    /// The zone's key.
    #[inline(always)]
    pub fn key(&self) -> &[u8] {
        match self {
            Entry::Loaded { pack, number } => pack.apex(&pack.zone_row(*number)).map_or(&[], |(_, key)| key),
            Entry::Absent(absent) => &absent.key,
        }
    }

    /// The zone's name, lower-case if it is loaded.
    pub fn apex(&self) -> &Name {
        match self {
            Entry::Loaded { pack, number } => {
                pack.apex(&pack.zone_row(*number)).map_or(Name::root(), |(name, _)| name)
            }
            Entry::Absent(absent) => &absent.apex,
        }
    }

    /// The zone's data, if there are any.
    #[inline(always)]
    pub fn zone(&self) -> Option<Zone<'_>> {
        match self {
            Entry::Loaded { pack, number } => Zone::new(pack, *number),
            Entry::Absent(_) => None,
        }
    }
}

/// Slots a zone: at most half of the table is used, so that runs of used slots stay short.
const SLOTS_PER_ZONE: usize = 2;
const EMPTY: u32 = u32::MAX;
const SEED_ZONE: u32 = 0;

/// The set of all zones; see the module.
pub struct Catalog {
    entries: Vec<Entry>,
    /// Open addressing, numbers of entries.
    slots: Box<[u32]>,
    /// Bit i set: some apex has i labels.
    depths: u128,
    seed: u64,
    id: u64,
}

/// The next number of [`Catalog::id`].
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Catalog {
    /// A catalog of `entries`, of which no two have the same name; the later one wins where they do.
    /// `seed` makes the places of zones unpredictable.
    pub fn new(entries: Vec<Entry>, seed: u64) -> Catalog {
        let count = (entries.len() * SLOTS_PER_ZONE).next_power_of_two();
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let mut catalog = Catalog { entries, slots: vec![EMPTY; count].into(), depths: 0, seed, id };
        for number in 0..catalog.entries.len() {
            let key = catalog.entries[number].key();
            let (hash, labels) = hash_of(seed, key);
            let mut at = hash.word() as usize & (count - 1);
            while catalog.slots[at] != EMPTY && catalog.entries[catalog.slots[at] as usize].key() != key {
                at = (at + 1) & (count - 1);
            }
            catalog.slots[at] = number as u32;
            // A name has at most 127 labels (RFC 1035 2.3.4); a hostile pack may claim more, and is never found then.
            catalog.depths |= 1u128.checked_shl(labels as u32).unwrap_or(0);
        }
        catalog
    }

    /// A number that no other catalog of this process has: what was made from one catalog can be told from
    /// what was made from another, even at the same address. Never 0.
    #[inline(always)]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Labels of the deepest apex; 0 without zones. [`Catalog::find`] looks at no more labels than these.
    #[inline(always)]
    pub fn apex_labels_max(&self) -> usize {
        self.depths.checked_ilog2().unwrap_or(0) as usize
    }

    /// All zones.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The zone named exactly `apex`.
    pub fn zone_named(&self, apex: &Name) -> Option<&Entry> {
        let key = SortKey::of(apex);
        let (hash, _) = hash_of(self.seed, key.octets());
        self.probe(hash, key.octets())
    }

    /// The zone with the longest name that `key`, cut to `labels_max` labels, is at or below.
    #[inline(always)]
    pub fn find(&self, key: &SortKey, labels_max: usize) -> Option<&Entry> {
        let mut best = None;
        let mut hash = Hash::of_apex(self.seed, SEED_ZONE);
        // Bits that are left: depths that still can have an apex.
        let mut left = self.depths;
        for labels in 0..=labels_max.min(key.label_count()) {
            if labels > 0 {
                hash = hash.extend(key.padded(), key.end(labels - 1), key.end(labels));
            }
            if left & 1 != 0
                && let Some(entry) = self.probe(hash, key.ancestor(labels))
            {
                best = Some(entry);
            }
            left >>= 1;
            if left == 0 {
                break;
            }
        }
        best
    }

    #[inline(always)]
    fn probe(&self, hash: Hash, key: &[u8]) -> Option<&Entry> {
        let mask = self.slots.len() - 1;
        let mut at = hash.word() as usize & mask;
        // Ends: at least half of the slots are empty.
        loop {
            let number = *self.slots.get(at)?;
            let entry = self.entries.get(number as usize)?;
            if entry.key() == key {
                return Some(entry);
            }
            at = (at + 1) & mask;
        }
    }
}

fn hash_of(seed: u64, key: &[u8]) -> (Hash, usize) {
    let mut hash = Hash::of_apex(seed, SEED_ZONE);
    let (mut from, mut labels) = (0, 0);
    for (at, _) in key.iter().enumerate().filter(|(_, octet)| **octet == 0) {
        hash = hash.extend(key, from, at + 1);
        from = at + 1;
        labels += 1;
    }
    (hash, labels)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn longest_apex_wins() {
        let names = ["com", "example.com", "a.b.c.example.com", "org"];
        let entries =
            names.iter().map(|name| Entry::absent(&name.parse::<NameBuf>().unwrap(), Absence::NotLoaded));
        let catalog = Catalog::new(entries.collect(), 5);
        let find = |name: &str, labels| {
            let key = SortKey::of(&name.parse::<NameBuf>().unwrap());
            catalog.find(&key, labels).map(|entry| entry.apex().to_string())
        };
        assert_eq!(find("www.Example.COM", 127).as_deref(), Some("example.com."));
        assert_eq!(find("example.com", 127).as_deref(), Some("example.com."));
        assert_eq!(find("example.com", 1).as_deref(), Some("com."));
        assert_eq!(find("x.a.b.c.example.com", 127).as_deref(), Some("a.b.c.example.com."));
        assert_eq!(find("b.c.example.com", 127).as_deref(), Some("example.com."));
        assert_eq!(find("net", 127), None);
        assert!(catalog.zone_named(&"org".parse::<NameBuf>().unwrap()).is_some());
        assert!(Catalog::new(Vec::new(), 1).find(&SortKey::new(), 1).is_none());
    }
}
