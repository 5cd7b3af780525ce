//! Chains of clients that have something in common, and which of them is the longest.
//!
//! ```text
//! by length:  0: (not linked)    1: group <-> group <-> ...    2: group    ...    longest: group
//! ```
//!
//! A length changes by one, so a group moves to the list beside; the longest list is found again by looking downwards, a step for each client that came.

use super::Ends;
use super::{PULSE_MS, share};
use cache::Moment;

/// No slot, no group.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Group {
    ends: Ends,
    length: u32,
    before: u32,
    after: u32,
    /// The present pulse: which part of time, and octets sent in it.
    pulse: (u32, u32),
}

const EMPTY: Group = Group { ends: Ends::EMPTY, length: 0, before: NONE, after: NONE, pulse: (0, 0) };

/// Chains of clients by a hash, the longest of which is known.
pub(super) struct Groups {
    groups: Box<[Group]>,
    /// First group of each length.
    by_length: Box<[u32]>,
    longest: usize,
    /// Clients, and groups that have some.
    clients: usize,
    used: usize,
}

impl Groups {
    /// So many groups, for so many clients.
    pub(super) fn new(count: usize, clients: usize) -> Groups {
        Groups {
            groups: vec![EMPTY; count].into(),
            by_length: vec![NONE; clients + 1].into(),
            longest: 0,
            clients: 0,
            used: 0,
        }
    }

    pub(super) fn octets(&self) -> usize {
        size_of_val(&*self.groups) + size_of_val(&*self.by_length)
    }

    pub(super) fn length(&self, group: u32) -> usize {
        self.groups[group as usize].length as usize
    }

    pub(super) fn ends(&self, group: u32) -> Ends {
        self.groups[group as usize].ends
    }

    pub(super) fn ends_mut(&mut self, group: u32) -> &mut Ends {
        &mut self.groups[group as usize].ends
    }

    /// The longest group and its length; `None` where all are empty.
    pub(super) fn longest(&self) -> Option<(u32, usize)> {
        let group = self.by_length[self.longest];
        (group != NONE).then_some((group, self.longest))
    }

    /// The mean length of those that are not empty.
    pub(super) fn mean(&self) -> usize {
        share(self.clients, self.used.max(1))
    }

    /// One more.
    pub(super) fn grow(&mut self, group: u32) {
        self.move_to(group, self.length(group) + 1);
        self.clients += 1;
    }

    /// One less.
    pub(super) fn shrink(&mut self, group: u32) {
        self.move_to(group, self.length(group).saturating_sub(1));
        self.clients -= 1;
    }

    fn move_to(&mut self, group: u32, length: usize) {
        let Group { before, after, length: old, .. } = self.groups[group as usize];
        if old > 0 {
            match self.groups.get_mut(before as usize) {
                Some(other) => other.after = after,
                None => self.by_length[old as usize] = after,
            }
            if let Some(other) = self.groups.get_mut(after as usize) {
                other.before = before;
            }
        }
        self.used += usize::from(old == 0);
        self.used -= usize::from(length == 0);
        let row = &mut self.groups[group as usize];
        (row.length, row.before, row.after) = (length as u32, NONE, NONE);
        // As many lengths as there are places: a client more than that would be a fault of ours.
        if length > 0
            && let Some(first) = self.by_length.get_mut(length)
        {
            row.after = std::mem::replace(first, group);
            let after = row.after;
            if let Some(other) = self.groups.get_mut(after as usize) {
                other.before = group;
            }
            self.longest = self.longest.max(length);
        }
        while self.longest > 0 && self.by_length[self.longest] == NONE {
            self.longest -= 1;
        }
    }

    /// Octets sent in the present pulse.
    pub(super) fn pulse(&self, group: u32, now: Moment) -> u32 {
        let (part, octets) = self.groups[group as usize].pulse;
        if part == part_of(now) { octets } else { 0 }
    }

    /// Adds to it.
    pub(super) fn add_pulse(&mut self, group: u32, octets: u32, now: Moment) {
        let before = self.pulse(group, now);
        self.groups[group as usize].pulse = (part_of(now), before.saturating_add(octets));
    }
}

fn part_of(now: Moment) -> u32 {
    (now.0 / PULSE_MS) as u32
}
