//! What waits to be committed, in order; nothing here writes or tells anybody.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::{Condition, MARK_PAUSE, NOTE_PAUSE, Refusal, Refused};
use crate::log::{GROUP_OCTETS_MAX, Urgency};
use crate::record::Entry;

/// Commits that may wait: a disk that is that far behind does not catch up in a client's patience.
pub const WAITING_MAX: usize = 4096;
/// Octets of theirs.
pub const WAITING_OCTETS_MAX: usize = 64 << 20;
/// Octets of records that nobody waits for: what a log of the usual size takes in some groups.
pub const NOTES_OCTETS_MAX: usize = 16 << 20;

/// Which changes stand: another one each time that some are taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u64);

/// One that waits.
pub(super) struct Waiting<T> {
    /// Its records, which no group has without each other; none: it waits for what is before it.
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) payload: T,
    pub(super) is_urgent: bool,
}

impl<T> Waiting<T> {
    fn octets(&self) -> usize {
        self.entries.iter().map(|entry| entry.octets()).sum()
    }
}

/// What is committed together.
pub(super) struct Group<T> {
    /// They go first.
    notes: Vec<Waiting<T>>,
    waiting: Vec<Waiting<T>>,
    pub(super) urgency: Urgency,
}

impl<T> Group<T> {
    pub(super) fn empty() -> Group<T> {
        Group { notes: Vec::new(), waiting: Vec::new(), urgency: Urgency::Ordinary }
    }

    /// In their order, but for those that stand behind all others.
    pub(super) fn entries(&self) -> Vec<&Entry> {
        let all = self.notes.iter().chain(&self.waiting).flat_map(|waiting| &waiting.entries);
        let mut entries: Vec<&Entry> = all.map(Arc::as_ref).collect();
        entries.sort_by_key(|entry| entry.is_last());
        entries
    }

    pub(super) fn into_payloads(self) -> Vec<T> {
        self.notes.into_iter().chain(self.waiting).map(|waiting| waiting.payload).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.waiting.is_empty()
    }
}

pub(super) struct Queue<T> {
    pub(super) waiting: VecDeque<Waiting<T>>,
    /// Of the entries that wait.
    octets: usize,
    notes: VecDeque<Waiting<T>>,
    notes_octets: usize,
    /// When `tick` saw that there are notes.
    noted: Option<Duration>,
    pub(super) condition: Condition,
    pub(super) generation: Generation,
    /// Whether somebody is at it, who leaves when nothing waits.
    pub(super) is_committing: bool,
    /// Payloads of the group that is undecided, in order.
    pub(super) undecided: Vec<T>,
    /// When `tick` saw that the log is full, or when the next attempt to decide is due.
    pub(super) since: Option<Duration>,
    /// Whether the log is full for longer than anybody waits.
    pub(super) is_refusing: bool,
    /// Whether the last group has records, and when `tick` saw that.
    unmarked: Option<Option<Duration>>,
    pub(super) last_group: u64,
}

impl<T> Queue<T> {
    pub(super) fn new(condition: Condition, last_group: u64) -> Queue<T> {
        Queue {
            waiting: VecDeque::new(),
            octets: 0,
            notes: VecDeque::new(),
            notes_octets: 0,
            noted: None,
            condition,
            generation: Generation(0),
            is_committing: false,
            undecided: Vec::new(),
            since: None,
            is_refusing: false,
            unmarked: Some(None),
            last_group,
        }
    }

    pub(super) fn push(&mut self, generation: Generation, waiting: Waiting<T>) -> Result<(), Refused<T>> {
        let octets = waiting.octets();
        let is_behind = self.waiting.len() >= WAITING_MAX
            || !self.waiting.is_empty() && self.octets + octets > WAITING_OCTETS_MAX;
        let why = match self.condition {
            Condition::Undecided(_) => Some(Refusal::Failed),
            _ if generation != self.generation => Some(Refusal::Stale),
            _ if waiting.is_urgent => None,
            Condition::Full(_) if self.is_refusing => Some(Refusal::Full),
            _ if is_behind => Some(Refusal::Behind),
            _ => None,
        };
        if let Some(why) = why {
            return Err(Refused { payload: waiting.payload, why });
        }
        self.octets += octets;
        self.waiting.push_back(waiting);
        Ok(())
    }

    pub(super) fn note(&mut self, note: Waiting<T>) -> Result<(), Refused<T>> {
        if self.notes_octets + note.octets() > NOTES_OCTETS_MAX {
            return Err(Refused { payload: note.payload, why: Refusal::Behind });
        }
        self.notes_octets += note.octets();
        self.notes.push_back(note);
        Ok(())
    }

    /// What goes into the next group, in order; `None`: nothing, or nothing can be written, and the turn is over.
    pub(super) fn take_group(&mut self) -> Option<Group<T>> {
        let group = match self.condition {
            _ if self.waiting.is_empty() => None,
            Condition::Undecided(_) => None,
            Condition::Full(_) => self.take_urgent(),
            Condition::Ready => Some(self.take_first()),
        };
        self.is_committing = group.is_some();
        group
    }

    /// Those that wait longest, and notes with them. Notes that are too many go first, alone.
    fn take_first(&mut self) -> Group<T> {
        let first_entry = self.waiting.iter().take_while(|waiting| waiting.entries.is_empty()).count();
        if first_entry > 0 {
            let waiting = self.waiting.drain(..first_entry).collect();
            return Group { waiting, ..Group::empty() };
        }
        let mut group = self.take_notes();
        if !self.notes.is_empty() {
            return group;
        }
        let mut octets: usize = group.notes.iter().map(|note| note.octets()).sum();
        let mut count = 0;
        for waiting in &self.waiting {
            if count > 0 && octets + waiting.octets() > GROUP_OCTETS_MAX {
                break;
            }
            octets += waiting.octets();
            count += 1;
        }
        group.waiting.extend(self.waiting.drain(..count));
        self.octets -= group.waiting.iter().map(Waiting::octets).sum::<usize>();
        if group.notes.is_empty() && group.waiting.iter().all(|waiting| waiting.is_urgent) {
            group.urgency = Urgency::Last;
        }
        group
    }

    /// Those that are urgent, in order.
    fn take_urgent(&mut self) -> Option<Group<T>> {
        let (urgent, rest): (VecDeque<_>, VecDeque<_>) =
            self.waiting.drain(..).partition(|waiting| waiting.is_urgent);
        self.waiting = rest;
        self.octets -= urgent.iter().map(Waiting::octets).sum::<usize>();
        let group = Group { notes: Vec::new(), waiting: urgent.into(), urgency: Urgency::Last };
        (!group.waiting.is_empty()).then_some(group)
    }

    /// Notes for one group.
    pub(super) fn take_notes(&mut self) -> Group<T> {
        let mut group = Group::empty();
        let mut octets = 0;
        while let Some(note) =
            self.notes.pop_front_if(|note| octets == 0 || octets + note.octets() <= GROUP_OCTETS_MAX)
        {
            octets += note.octets();
            group.notes.push(note);
        }
        self.notes_octets -= octets;
        if self.notes.is_empty() {
            self.noted = None;
        }
        group
    }

    pub(super) fn put_back_notes(&mut self, group: Group<T>) {
        for note in group.notes.into_iter().rev() {
            self.notes_octets += note.octets();
            self.notes.push_front(note);
        }
    }

    /// The log had no room for a group: it waits, in its place.
    pub(super) fn put_back(&mut self, mut group: Group<T>, error: Option<String>) {
        for waiting in std::mem::take(&mut group.waiting).into_iter().rev() {
            self.octets += waiting.octets();
            self.waiting.push_front(waiting);
        }
        self.put_back_notes(group);
        if self.condition == Condition::Ready {
            (self.since, self.is_refusing) = (None, false);
            self.condition = Condition::Full(error);
        }
    }

    /// A group is undecided: its payloads are kept, its notes go again. Returns all that waits, newest first.
    pub(super) fn fail(&mut self, condition: Condition, mut group: Group<T>) -> Vec<T> {
        self.undecided =
            std::mem::take(&mut group.waiting).into_iter().map(|waiting| waiting.payload).collect();
        self.put_back_notes(group);
        (self.condition, self.since, self.is_refusing) = (condition, None, false);
        self.take_all()
    }

    /// All payloads that wait, newest first. They are to be taken back.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        self.generation.0 += 1;
        self.octets = 0;
        self.waiting.drain(..).rev().map(|waiting| waiting.payload).collect()
    }

    /// All is taken back that had to be. What was worked out meanwhile may stand on some of it. Whether the condition before was said.
    pub(super) fn become_ready(&mut self) -> bool {
        let was_said = self.is_refusing || matches!(self.condition, Condition::Undecided(_));
        if was_said {
            self.generation.0 += 1;
        }
        (self.condition, self.since, self.is_refusing) = (Condition::Ready, None, false);
        was_said
    }

    pub(super) fn note_group(&mut self, number: u64) {
        (self.last_group, self.unmarked) = (number, Some(None));
    }

    /// Whether notes have waited for long enough.
    pub(super) fn is_note_due(&mut self, now: Duration) -> bool {
        if self.notes.is_empty() {
            return false;
        }
        let noted = *self.noted.get_or_insert(now);
        self.waiting.is_empty()
            && (now.saturating_sub(noted) >= NOTE_PAUSE || self.notes_octets > NOTES_OCTETS_MAX / 2)
    }

    /// Whether the last group has waited for long enough for one behind it. It is said once.
    pub(super) fn is_mark_due(&mut self, now: Duration) -> bool {
        let Some(seen) = &mut self.unmarked else { return false };
        let seen = *seen.get_or_insert(now);
        let is_due = self.waiting.is_empty() && now.saturating_sub(seen) >= MARK_PAUSE;
        if is_due {
            self.unmarked = None;
        }
        is_due
    }
}
