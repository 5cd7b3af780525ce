//! All tasks of a resolver: found by what they find out, in order of what is due, dropped when there are too many.
//!
//! ```text
//! slots:  [ generation | Box<Task> | due | list: before, after ]     TaskId: slot, generation: an old number finds nothing
//! index:  keyed hash of (name, type, CD) -> slot
//! ready:  [ TaskId, ... ]        what has something to do now
//! due:    { (moment, slot) }     one of each task at most
//! zones, clients: lists of those that may be given up (lists.rs)
//! ```
//!
//! A task is taken out while it takes a step, so that it and all else can be changed; its slot stays.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasher;

use cache::{Moment, Secret};
use wire::Name;

use crate::limits::WALK_MAX;
use crate::lists::Lists;
use crate::task::Task;

/// The number of a task. After its end it finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId {
    slot: u32,
    generation: u32,
}

struct Slot {
    generation: u32,
    /// `None`: free, or taken out for a step.
    task: Option<Box<Task>>,
    is_used: bool,
    /// Its place in the index.
    hash: u64,
    due: Option<Moment>,
}

/// See the module.
pub(crate) struct Mesh {
    slots: Vec<Slot>,
    free: Vec<u32>,
    index: HashMap<u64, u32, Secret>,
    /// Its key is random: nobody can make lists or places of the index long on purpose.
    hasher: Secret,
    ready: VecDeque<TaskId>,
    due: BTreeSet<(Moment, u32)>,
    zones: Lists,
    clients: Lists,
}

impl Mesh {
    pub(crate) fn new() -> Mesh {
        Mesh {
            slots: Vec::new(),
            free: Vec::new(),
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
        self.slots.len() - self.free.len()
    }

    /// The task that finds this out.
    pub(crate) fn find(&self, name: &Name, rtype: u16, cd: bool) -> Option<TaskId> {
        let slot = *self.index.get(&self.hash(name, rtype, cd))?;
        let held = &self.slots[slot as usize];
        let task = held.task.as_deref()?;
        let is_it = task.rtype == rtype && task.is_unchecked == cd && *task.name == *name;
        is_it.then_some(TaskId { slot, generation: held.generation })
    }

    /// Puts a new task in. It is ready.
    pub(crate) fn insert(&mut self, task: Box<Task>) -> TaskId {
        let hash = self.hash(&task.name, task.rtype, task.is_unchecked);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, task: None, is_used: false, hash: 0, due: None });
            self.slots.len() as u32 - 1
        });
        let held = &mut self.slots[slot as usize];
        (held.task, held.is_used, held.hash, held.due) = (Some(task), true, hash, None);
        let id = TaskId { slot, generation: held.generation };
        self.index.entry(hash).or_insert(slot);
        self.ready.push_back(id);
        id
    }

    /// Whether there is such a task.
    pub(crate) fn has(&self, id: TaskId) -> bool {
        self.slots.get(id.slot as usize).is_some_and(|slot| slot.is_used && slot.generation == id.generation)
    }

    /// A task that is not taken out.
    pub(crate) fn get(&self, id: TaskId) -> Option<&Task> {
        let slot = self.slots.get(id.slot as usize).filter(|slot| slot.generation == id.generation)?;
        slot.task.as_deref()
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation)?;
        slot.task.as_deref_mut()
    }

    /// Takes a task out for a step.
    pub(crate) fn take(&mut self, id: TaskId) -> Option<Box<Task>> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation)?;
        slot.task.take()
    }

    /// Puts it back after.
    pub(crate) fn put(&mut self, id: TaskId, task: Box<Task>) {
        let slot = &mut self.slots[id.slot as usize];
        debug_assert!(slot.is_used && slot.generation == id.generation && slot.task.is_none());
        slot.task = Some(task);
    }

    /// Frees the slot of a task, taken out or not.
    pub(crate) fn remove(&mut self, id: TaskId) -> Option<Box<Task>> {
        if !self.has(id) {
            return None;
        }
        self.set_due(id, None);
        self.protect(id);
        let slot = &mut self.slots[id.slot as usize];
        let task = slot.task.take();
        slot.is_used = false;
        slot.generation = slot.generation.wrapping_add(1);
        if self.index.get(&slot.hash) == Some(&id.slot) {
            self.index.remove(&slot.hash);
        }
        self.free.push(id.slot);
        task
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
        let slot = &mut self.slots[id.slot as usize];
        if slot.due == due {
            return;
        }
        if let Some(old) = std::mem::replace(&mut slot.due, due) {
            self.due.remove(&(old, id.slot));
        }
        if let Some(due) = due {
            self.due.insert((due, id.slot));
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
        let held = &mut self.slots[slot as usize];
        held.due = None;
        Some(TaskId { slot, generation: held.generation })
    }

    /// It is counted under this zone and this client from now on, the youngest of both.
    pub(crate) fn count_under(&mut self, id: TaskId, zone: &Name, client: u64) {
        self.zones.append(id.slot, self.hasher.hash_one(zone.octets()));
        self.clients.append(id.slot, self.hasher.hash_one(client));
    }

    /// It is never given up: other tasks wait for it.
    pub(crate) fn protect(&mut self, id: TaskId) {
        self.zones.remove(id.slot);
        self.clients.remove(id.slot);
    }

    /// The one to give up when there is no room: the one of the fullest zone or client, the fuller of the two, for which nothing came for the longest
    /// time.
    pub(crate) fn oldest_of_fullest(&self) -> Option<TaskId> {
        let of = [self.zones.fullest(), self.clients.fullest()];
        let (_, slot) = of.into_iter().flatten().max_by_key(|(count, _)| *count)?;
        Some(TaskId { slot, generation: self.slots[slot as usize].generation })
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
        TaskId { slot: 7, generation: 1 }
    }

    /// All tasks, for people.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.slots.iter().enumerate().filter_map(|(slot, held)| {
            let id = TaskId { slot: slot as u32, generation: held.generation };
            Some((id, held.task.as_deref()?))
        })
    }

    fn hash(&self, name: &Name, rtype: u16, cd: bool) -> u64 {
        self.hasher.hash_one((name.octets(), rtype, cd))
    }
}

#[cfg(test)]
mod tests;
