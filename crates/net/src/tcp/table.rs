//! The connections of one worker: found by index, and kept in the order of their last progress.
//!
//! ```text
//! entries   [ conn 0 | free   | conn 2 | conn 3 ]      slab; free entries form a list
//! order     oldest -> 2 <-> 0 <-> 3 <- newest          doubly linked through the entries
//! ```
//!
//! All connections share one idle time, so the oldest is the first to expire and the first to make room; opening,
//! closing and moving to the end cost a few writes, however many there are.

use crate::token::{ConnectionId, GENERATIONS};

/// No entry.
const NONE: u32 = u32::MAX;

/// `older` of an entry that is not in the order.
const PARKED: u32 = u32::MAX - 1;

#[derive(Debug)]
pub(super) struct Table<T> {
    entries: Vec<Entry<T>>,
    free: u32,
    oldest: u32,
    newest: u32,
    count: usize,
}

#[derive(Debug)]
struct Entry<T> {
    /// `None` in free entries, whose `newer` is the next free one.
    value: Option<T>,
    generation: u32,
    older: u32,
    newer: u32,
}

impl<T> Table<T> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), free: NONE, oldest: NONE, newest: NONE, count: 0 }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Adds a value as the newest.
    pub(super) fn insert(&mut self, value: T) -> ConnectionId {
        let index = if self.free == NONE {
            self.entries.push(Entry { value: None, generation: 0, older: NONE, newer: NONE });
            (self.entries.len() - 1) as u32
        } else {
            let index = self.free;
            self.free = self.entries[index as usize].newer;
            index
        };
        self.count += 1;
        let entry = &mut self.entries[index as usize];
        entry.value = Some(value);
        let id = ConnectionId { index, generation: entry.generation };
        self.link_newest(index);
        id
    }

    pub(super) fn value_mut(&mut self, id: ConnectionId) -> Option<&mut T> {
        let entry = self.entries.get_mut(id.index as usize)?;
        if entry.generation == id.generation { entry.value.as_mut() } else { None }
    }

    /// Takes a value out; its ID is never valid again (before 2^30 others had the index).
    pub(super) fn remove(&mut self, id: ConnectionId) -> Option<T> {
        let entry = self.entries.get_mut(id.index as usize)?;
        if entry.generation != id.generation {
            return None;
        }
        let value = entry.value.take()?;
        entry.generation = (entry.generation + 1) % GENERATIONS;
        self.park_index(id.index);
        self.entries[id.index as usize].newer = self.free;
        self.free = id.index;
        self.count -= 1;
        Some(value)
    }

    /// Makes a value the newest.
    pub(super) fn touch(&mut self, id: ConnectionId) {
        if self.value_mut(id).is_some() && self.newest != id.index {
            self.park_index(id.index);
            self.link_newest(id.index);
        }
    }

    /// Takes a value out of the order until it is touched: it neither expires nor makes room.
    pub(super) fn park(&mut self, id: ConnectionId) {
        if self.value_mut(id).is_some() {
            self.park_index(id.index);
        }
    }

    /// Whether a value is in the order.
    pub(super) fn is_parked(&self, id: ConnectionId) -> bool {
        self.entries.get(id.index as usize).is_some_and(|entry| entry.older == PARKED)
    }

    /// The IDs of all values, parked ones included.
    pub(super) fn ids(&self) -> Vec<ConnectionId> {
        let used = self.entries.iter().enumerate().filter(|(_, entry)| entry.value.is_some());
        used.map(|(index, entry)| ConnectionId { index: index as u32, generation: entry.generation })
            .collect()
    }

    /// The value that has not been touched for longest.
    pub(super) fn oldest(&self) -> Option<(ConnectionId, &T)> {
        self.at(self.oldest)
    }

    /// The values of the order, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ConnectionId, &T)> {
        std::iter::successors(self.at(self.oldest), |(id, _)| self.at(self.entries[id.index as usize].newer))
    }

    fn at(&self, index: u32) -> Option<(ConnectionId, &T)> {
        let entry = self.entries.get(index as usize)?;
        Some((ConnectionId { index, generation: entry.generation }, entry.value.as_ref()?))
    }

    fn link_newest(&mut self, index: u32) {
        let older = std::mem::replace(&mut self.newest, index);
        let entry = &mut self.entries[index as usize];
        (entry.older, entry.newer) = (older, NONE);
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = index,
            None => self.oldest = index,
        }
    }

    fn park_index(&mut self, index: u32) {
        let Entry { older, newer, .. } = self.entries[index as usize];
        if older == PARKED {
            return;
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        self.entries[index as usize].older = PARKED;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert,
        Remove(usize),
        Touch(usize),
        Stale(usize),
        Park(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => Just(Step::Insert),
            2 => any::<usize>().prop_map(Step::Remove),
            3 => any::<usize>().prop_map(Step::Touch),
            1 => any::<usize>().prop_map(Step::Stale),
            2 => any::<usize>().prop_map(Step::Park),
        ]
    }

    proptest! {
        /// The table agrees with a plain list that is kept in order.
        #[test]
        fn agrees_with_a_list(steps in proptest::collection::vec(step(), 0..200)) {
            let mut table = Table::new();
            let (mut list, mut gone): (Vec<(ConnectionId, usize)>, Vec<ConnectionId>) = (Vec::new(), Vec::new());
            let mut parked: Vec<(ConnectionId, usize)> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert => list.push((table.insert(number), number)),
                    Step::Remove(which) if !list.is_empty() => {
                        let (id, value) = list.remove(which % list.len());
                        prop_assert_eq!(table.remove(id), Some(value));
                        gone.push(id);
                    }
                    Step::Touch(which) if !list.is_empty() => {
                        let item = list.remove(which % list.len());
                        list.push(item);
                        table.touch(item.0);
                    }
                    Step::Park(which) if !list.is_empty() => {
                        let item = list.remove(which % list.len());
                        parked.push(item);
                        table.park(item.0);
                        prop_assert!(table.is_parked(item.0));
                    }
                    // One that is parked is touched, or removed.
                    Step::Park(which) if !parked.is_empty() => {
                        let item = parked.remove(which % parked.len());
                        if which % 2 == 0 {
                            list.push(item);
                            table.touch(item.0);
                        } else {
                            prop_assert_eq!(table.remove(item.0), Some(item.1));
                            gone.push(item.0);
                        }
                    }
                    Step::Stale(which) if !gone.is_empty() => {
                        let id = gone[which % gone.len()];
                        table.touch(id);
                        prop_assert_eq!(table.value_mut(id), None);
                        prop_assert_eq!(table.remove(id), None);
                    }
                    _ => {}
                }
                let seen: Vec<_> = table.iter().map(|(id, &value)| (id, value)).collect();
                prop_assert_eq!(&seen, &list);
                prop_assert_eq!(table.count(), list.len() + parked.len());
                prop_assert_eq!(table.ids().len(), table.count());
                prop_assert_eq!(table.oldest().map(|(id, _)| id), list.first().map(|item| item.0));
            }
        }
    }
}
