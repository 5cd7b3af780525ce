//! All tasks of a resolver: found by what they find out, in order of what is due, dropped when there are too many.
//!
//! ```text
//! slots:  [ Box<Task> | due | list: before, after ]     TaskId: its key in the slab; an old one finds nothing
//! index:  keyed hash of (name, type, CD) -> slot
//! ready:  [ TaskId, ... ]        what has something to do now
//! due:    { (moment, slot) }     one of each task at most
//! zones, clients: lists of those that may be given up (lists.rs)
//! ```
//!
//! A task is taken out while it takes a step, so that it and all else can be changed; its slot stays.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasher;

use cache::{Hashed, Moment, Secret};
use wire::Name;

use crate::limits::WALK_MAX;
use crate::slab::{Key, Slab};
use crate::task::Task;
use crate::task::lists::Lists;

/// The number of a task. After its end it finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId(Key);

struct Slot {
    /// `None`: taken out for a step.
    task: Option<Box<Task>>,
    /// Its place in the index.
    hash: u64,
    due: Option<Moment>,
}

/// All tasks of a worker, by what they find out and by when they are due.
pub(crate) struct Mesh {
    slots: Slab<Slot>,
    pub(crate) index: HashMap<u64, u32, Hashed>,
    /// Its key is random: nobody can make lists or places of the index long on purpose.
    hasher: Secret,
    pub(crate) ready: VecDeque<TaskId>,
    due: BTreeSet<(Moment, u32)>,
    pub(crate) zones: Lists,
    pub(crate) clients: Lists,
}

impl Mesh {
    pub(crate) fn new() -> Mesh {
        Mesh {
            slots: Slab::default(),
            index: HashMap::default(),
            hasher: Secret::default(),
            ready: VecDeque::new(),
            due: BTreeSet::new(),
            zones: Lists::new(),
            clients: Lists::new(),
        }
    }

    /// How many tasks there are.
    pub(crate) fn count(&self) -> usize {
        self.slots.count()
    }

    /// The task that finds this out.
    pub(crate) fn find(&self, name: &Name, rtype: u16, cd: bool) -> Option<TaskId> {
        let slot = *self.index.get(&self.hash(name, rtype, cd))?;
        let task = self.slots.at(slot)?.task.as_deref()?;
        let is_it = task.rtype == rtype && task.is_unchecked == cd && *task.name == *name;
        if is_it { self.slots.key_at(slot).map(TaskId) } else { None }
    }

    /// Puts a new task in. It is ready.
    pub(crate) fn insert(&mut self, task: Box<Task>) -> TaskId {
        let hash = self.hash(&task.name, task.rtype, task.is_unchecked);
        let key = self.slots.insert(Slot { task: Some(task), hash, due: None });
        let id = TaskId(key);
        self.index.entry(hash).or_insert(key.slot);
        self.ready.push_back(id);
        id
    }

    /// Whether there is such a task.
    pub(crate) fn has(&self, id: TaskId) -> bool {
        self.slots.get(id.0).is_some()
    }

    /// A task that is not taken out.
    pub(crate) fn get(&self, id: TaskId) -> Option<&Task> {
        self.slots.get(id.0)?.task.as_deref()
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.slots.get_mut(id.0)?.task.as_deref_mut()
    }

    /// Takes a task out for a step.
    pub(crate) fn take(&mut self, id: TaskId) -> Option<Box<Task>> {
        self.slots.get_mut(id.0)?.task.take()
    }

    /// Puts it back after.
    pub(crate) fn put(&mut self, id: TaskId, task: Box<Task>) {
        let slot = self.slots.get_mut(id.0);
        debug_assert!(slot.as_ref().is_some_and(|slot| slot.task.is_none()));
        if let Some(slot) = slot {
            slot.task = Some(task);
        }
    }

    /// Frees the slot of a task, taken out or not.
    pub(crate) fn remove(&mut self, id: TaskId) -> Option<Box<Task>> {
        if !self.has(id) {
            return None;
        }
        self.set_due(id, None);
        self.protect(id);
        let slot = self.slots.remove(id.0)?;
        if self.index.get(&slot.hash) == Some(&id.0.slot) {
            self.index.remove(&slot.hash);
        }
        slot.task
    }

    /// It has something to do.
    pub(crate) fn make_ready(&mut self, id: TaskId) {
        self.ready.push_back(id);
    }

    /// The next that has something to do.
    pub(crate) fn next_ready(&mut self) -> Option<TaskId> {
        self.ready.pop_front()
    }

    /// When it is to be looked at.
    pub(crate) fn set_due(&mut self, id: TaskId, due: Option<Moment>) {
        let Some(slot) = self.slots.get_mut(id.0).filter(|slot| slot.due != due) else { return };
        if let Some(old) = std::mem::replace(&mut slot.due, due) {
            self.due.remove(&(old, id.0.slot));
        }
        if let Some(due) = due {
            self.due.insert((due, id.0.slot));
        }
    }

    /// The soonest of all.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.due.first().map(|(moment, _)| *moment)
    }

    /// Takes one that is due.
    pub(crate) fn next_due(&mut self, now: Moment) -> Option<TaskId> {
        let &(moment, slot) = self.due.first()?;
        if moment > now {
            return None;
        }
        self.due.pop_first();
        self.slots.at_mut(slot)?.due = None;
        self.slots.key_at(slot).map(TaskId)
    }

    /// It is counted under this zone and this client from now on, the youngest of both.
    pub(crate) fn count_under(&mut self, id: TaskId, zone: &Name, client: u64) {
        self.zones.append(id.0.slot, self.hasher.hash_one(zone.octets()));
        self.clients.append(id.0.slot, self.hasher.hash_one(client));
    }

    /// It is never given up: other tasks wait for it.
    pub(crate) fn protect(&mut self, id: TaskId) {
        self.zones.remove(id.0.slot);
        self.clients.remove(id.0.slot);
    }

    /// The one to give up when there is no room: the one of the fullest zone or client, the fuller of the two, for which nothing came for the longest
    /// time.
    pub(crate) fn oldest_of_fullest(&self) -> Option<TaskId> {
        let of = [self.zones.fullest(), self.clients.fullest()];
        let (_, slot) = of.into_iter().flatten().max_by_key(|(count, _)| *count)?;
        self.slots.key_at(slot).map(TaskId)
    }

    /// Whether `from` waits for `wanted`, over any number of tasks, or so many that it is taken for granted.
    pub(crate) fn waits_for(&self, from: TaskId, wanted: TaskId) -> bool {
        let mut open = [from; WALK_MAX];
        let (mut at, mut count) = (0, 1);
        while at < count {
            if open[at] == wanted {
                return true;
            }
            for child in self.get(open[at]).map(|task| &task.children[..]).unwrap_or_default() {
                if open[..count].contains(child) {
                    continue;
                }
                if count == WALK_MAX {
                    return true;
                }
                open[count] = *child;
                count += 1;
            }
            at += 1;
        }
        false
    }

    /// Some number.
    #[cfg(test)]
    pub(crate) fn test_id() -> TaskId {
        TaskId(Key { slot: 7, generation: 1 })
    }

    /// All tasks, for people.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.slots.iter().filter_map(|(key, slot)| Some((TaskId(key), slot.task.as_deref()?)))
    }

    fn hash(&self, name: &Name, rtype: u16, cd: bool) -> u64 {
        self.hasher.hash_one((name.octets(), rtype, cd))
    }
}

#[cfg(test)]
mod tests;
