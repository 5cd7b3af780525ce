//! What is known by zone, in many small tables: one table of a million zones moves all of them when it grows, and who adds the zone at which it does, a worker,
//! would make all its clients wait for that, most of a second.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use wire::{Name, NameBuf};

/// Tables: with a million zones each has a thousand, which are moved in less than a millisecond.
const TABLES: usize = 1024;

/// Values by the name of a zone, in lower case.
pub(super) struct Spread<V> {
    hasher: RandomState,
    /// None before the first zone.
    tables: Vec<HashMap<NameBuf, V, RandomState>>,
    count: usize,
}

impl<V> Default for Spread<V> {
    fn default() -> Spread<V> {
        Spread { hasher: RandomState::new(), tables: Vec::new(), count: 0 }
    }
}

impl<V: Default> Spread<V> {
    /// How many zones there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The table that a zone is in. Bits of the hash that tables themselves use least.
    fn table(&self, zone: &Name) -> usize {
        (self.hasher.hash_one(zone) >> 32) as usize % TABLES
    }

    pub(super) fn get(&self, zone: &Name) -> Option<&V> {
        self.tables.get(self.table(zone))?.get(zone)
    }

    pub(super) fn get_mut(&mut self, zone: &Name) -> Option<&mut V> {
        let table = self.table(zone);
        self.tables.get_mut(table)?.get_mut(zone)
    }

    /// What is known of a zone; of one that there is not, nothing yet.
    pub(super) fn or_default(&mut self, zone: &Name) -> &mut V {
        if self.tables.is_empty() {
            self.tables.resize_with(TABLES, || HashMap::with_hasher(self.hasher.clone()));
        }
        let table = self.table(zone);
        let table = &mut self.tables[table];
        self.count += usize::from(!table.contains_key(zone));
        table.entry(zone.to_owned()).or_default()
    }

    pub(super) fn remove(&mut self, zone: &Name) {
        let table = self.table(zone);
        let gone = self.tables.get_mut(table).and_then(|table| table.remove(zone));
        self.count -= usize::from(gone.is_some());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn is_one_table_to_others() {
        let name = |number: usize| format!("z{number}.example.").parse::<NameBuf>().unwrap();
        let mut spread: Spread<usize> = Spread::default();
        assert!(spread.is_empty() && spread.get(&name(1)).is_none());
        spread.remove(&name(1));
        for number in 0..5000 {
            *spread.or_default(&name(number)) += number;
            *spread.or_default(&name(number)) += 1;
        }
        assert_eq!(spread.len(), 5000);
        assert!((0..5000).all(|number| spread.get(&name(number)) == Some(&(number + 1))));
        (0..4000).for_each(|number| spread.remove(&name(number)));
        spread.remove(&name(7));
        assert_eq!((spread.len(), spread.get(&name(7))), (1000, None));
        assert_eq!(spread.get_mut(&name(4000)), Some(&mut 4001));
        assert!(spread.tables.iter().map(HashMap::len).max().unwrap() < 50, "in many");
    }
}
