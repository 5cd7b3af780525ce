//! Who commits: one write and one sync for all that waits, by whoever finds nobody at it. `docs/design/journal.md` 2.
//!
//! ```text
//! enqueue (under the zone's lock) --> queue --commit: all that waits, up to 1 MiB--> Log::append --> Outcome::committed, in order
//!                                       |                                               `-- failed: undecided, each second `decide`
//!                                       `-- after a failure, and on a full disk: Outcome::refused, newest first
//! ```
//!
//! | state | `enqueue` | what is queued |
//! |---|---|---|
//! | ready | queues | is committed |
//! | undecided, after a write or sync that failed | refuses | is refused at once; the payloads of the group that failed are kept, silent, until it is void, then refused |
//! | full | queues for [`FULL_PATIENCE`], then refuses, but for what is urgent | waits as long, then is refused |
//!
//! [`Outcome`] is called by one thread at a time, without any lock of this module held; so the order of its calls is that of the queue.
//! There is no clock and no thread here: [`Committer::tick`] is called about once a [`TICK`]. A sync may take long, and be somebody's who only
//! wanted to queue: nothing of this is called by a thread that answers queries.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sync::Mutex;

use crate::log::{AppendError, Log, Status, Urgency};
use crate::record::Entry;

mod queue;
#[cfg(test)]
mod tests;

pub use queue::{Generation, NOTES_OCTETS_MAX, WAITING_MAX, WAITING_OCTETS_MAX};
use queue::{Group, Queue, Waiting};

/// How long commits wait for a segment that is free.
pub const FULL_PATIENCE: Duration = Duration::from_secs(2);
/// How often [`Committer::tick`] should be called.
pub const TICK: Duration = Duration::from_millis(100);
/// Between two attempts to decide on a group.
pub const DECIDE_PAUSE: Duration = Duration::from_secs(1);
/// Quiet for so long, an empty group shows that the last one was whole: else damage to it would look as if it had never been acknowledged.
pub const MARK_PAUSE: Duration = Duration::from_secs(1);
/// How long what need not be synced waits for a group with which it goes.
pub const NOTE_PAUSE: Duration = Duration::from_secs(60);

/// Why something was not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A write or a sync has failed.
    Failed,
    /// The log has no room: a checkpoint is late, or the disk is full.
    Full,
    /// [`WAITING_MAX`] or [`WAITING_OCTETS_MAX`] wait already.
    Behind,
    /// It was worked out on something that has been taken back since: to be worked out again.
    Stale,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Failed => "the log cannot be written",
            Refusal::Full => "the log has no room",
            Refusal::Behind => "too many changes wait for the disk",
            Refusal::Stale => "what it stands on was taken back",
        })
    }
}

impl std::error::Error for Refusal {}

/// How the log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Changes are taken.
    Ready,
    /// A group is undecided, with what the system said; changes are refused. Also after a start, until [`Log::decide`] has succeeded.
    Undecided(String),
    /// No segment is free; with what the system said when one was to be made, if it did.
    Full(Option<String>),
}

/// Who is told what has become of payloads.
pub trait Outcome<T>: Send + Sync {
    /// These are on the disk, with all before them. In the order in which they were queued. `group`: the last of the log that is on the disk.
    fn committed(&self, group: u64, payloads: Vec<T>);

    /// These are not in the log and will never be: to be taken back in this order, newest first, before this returns.
    fn refused(&self, payloads: Vec<T>, why: Refusal);

    /// The condition is another one, or an attempt to end it failed again.
    fn condition(&self, condition: &Condition);
}

/// See the module.
pub struct Committer<T> {
    queue: Mutex<Queue<T>>,
    /// Never locked while the queue is.
    log: Mutex<Log>,
    outcome: Box<dyn Outcome<T>>,
}

/// Something was not queued: here it is again.
#[derive(Debug)]
pub struct Refused<T> {
    /// What was given.
    pub payload: T,
    /// Why.
    pub why: Refusal,
}

/// Something is queued. It is committed when [`Queued::commit`] is called, without the zone's lock, or with what others queue.
#[must_use = "what is queued is committed by `commit`"]
pub struct Queued<'c, T> {
    committer: &'c Committer<T>,
}

impl<T> Queued<'_, T> {
    /// Commits what waits, unless somebody is at it: then it is he who does it.
    pub fn commit(self) {
        self.committer.run();
    }
}

/// The one who commits; others may when it is dropped, or over.
struct Turn<'c, T>(&'c Committer<T>);

impl<T> Turn<'_, T> {
    /// The queue knows already.
    fn end(self) {
        std::mem::forget(self);
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.0.queue.lock().is_committing = false;
    }
}

impl<T> Committer<T> {
    /// For a log that was begun. If it is not decided yet ([`Log::decide`]), ticks do it.
    pub fn new(log: Log, outcome: Box<dyn Outcome<T>>) -> Committer<T> {
        let queue = Queue::new(condition_of(&log), log.status().next - 1);
        Committer { queue: Mutex::named("commits that wait", queue), log: Mutex::named("log", log), outcome }
    }

    /// To be asked for under the zone's lock, before a change is worked out: it says which changes before it stand.
    pub fn generation(&self) -> Generation {
        self.queue.lock().generation
    }

    /// Queues a change, or with no `entry` something that only waits for all that was queued before. Changes of one zone are queued in the
    /// order of their serials: under the zone's lock. The error: it is refused, nothing was done with it.
    pub fn enqueue(
        &self,
        generation: Generation,
        entry: Option<Arc<Entry>>,
        payload: T,
    ) -> Result<Queued<'_, T>, Refused<T>> {
        self.enqueue_together(generation, entry.into_iter().collect(), payload)
    }

    /// The same of records that are on the disk together or not at all, whenever the power fails: changes of several zones, of which `payload` is the one for all.
    /// They have [`RECORD_OCTETS_MAX`](crate::record::RECORD_OCTETS_MAX) octets together at most, as one of them may, or a small log would have no room for them.
    pub fn enqueue_together(
        &self,
        generation: Generation,
        entries: Vec<Arc<Entry>>,
        payload: T,
    ) -> Result<Queued<'_, T>, Refused<T>> {
        let waiting = Waiting { entries, payload, is_urgent: false };
        self.queue.lock().push(generation, waiting).map(|()| Queued { committer: self })
    }

    /// Queues what a checkpoint needs to go on: it may take the log's last segments, and go before others. No change of its zone may wait.
    pub fn enqueue_urgent(
        &self,
        generation: Generation,
        entry: Arc<Entry>,
        payload: T,
    ) -> Result<Queued<'_, T>, Refused<T>> {
        let waiting = Waiting { entries: vec![entry], payload, is_urgent: true };
        self.queue.lock().push(generation, waiting).map(|()| Queued { committer: self })
    }

    /// Has a record written that nobody waits for: with the next group, or after [`NOTE_PAUSE`]. It goes before all that is queued later, and
    /// is not taken back when a group fails, but written again: what it says may be published at once. `payload` comes back when it is on the
    /// disk. The error: there is no room for it, see [`NOTES_OCTETS_MAX`].
    pub fn note(&self, entry: Arc<Entry>, payload: T) -> Result<(), Refused<T>> {
        self.queue.lock().note(Waiting { entries: vec![entry], payload, is_urgent: false })
    }

    /// Commits what waits until nothing does, unless somebody is at it.
    pub fn run(&self) {
        if let Some(turn) = self.turn() {
            self.run_in(turn);
        }
    }

    /// To be called about once a [`TICK`]. `now`: time since anything, that does not go back.
    pub fn tick(&self, now: Duration) {
        let Some(turn) = self.turn() else { return };
        let condition = self.queue.lock().condition.clone();
        match condition {
            Condition::Undecided(_) => self.decide(now),
            Condition::Full(_) => self.be_full(now),
            Condition::Ready => self.be_quiet(now),
        }
        self.run_in(turn);
    }

    /// Says that no group before `first` is needed any more, see [`Log::release`].
    pub fn release(&self, first: u64) {
        self.log.lock().release(first);
        self.run();
    }

    /// What the log has done and has.
    pub fn status(&self) -> Status {
        self.log.lock().status()
    }

    /// How the log is, and how many commits wait.
    pub fn condition(&self) -> (Condition, usize) {
        let queue = self.queue.lock();
        (queue.condition.clone(), queue.waiting.len() + queue.undecided.len())
    }

    /// The log itself, between two groups. Groups are appended through the queue alone.
    pub fn with_log<R>(&self, with: impl FnOnce(&Log) -> R) -> R {
        with(&self.log.lock())
    }

    /// Goes on in a log that was opened anew, as another program may have written to it: after an upgrade that did not come about. `None`:
    /// somebody commits, or something waits or is undecided; then it is as before.
    pub fn exchange(&self, log: Log) -> Option<Log> {
        let turn = self.turn()?;
        if self.condition() != (Condition::Ready, 0) {
            self.run_in(turn);
            return None;
        }
        let (condition, last) = (condition_of(&log), log.status().next - 1);
        let old = std::mem::replace(&mut *self.log.lock(), log);
        {
            let mut queue = self.queue.lock();
            (queue.condition, queue.last_group) = (condition, last);
        }
        self.run_in(turn);
        Some(old)
    }

    fn turn(&self) -> Option<Turn<'_, T>> {
        let mut queue = self.queue.lock();
        if std::mem::replace(&mut queue.is_committing, true) { None } else { Some(Turn(self)) }
    }

    /// Commits group after group. Whoever queues something finds the turn over, or the one who has it finds what was queued: that nothing is
    /// left, and that the turn is over, is one step.
    fn run_in(&self, turn: Turn<'_, T>) {
        self.leave_full();
        loop {
            let group = self.queue.lock().take_group();
            let Some(group) = group else { return turn.end() };
            if !self.commit(group) {
                // Nothing can be written, and what comes is refused, or waits for the next `tick` or `release`.
                return;
            }
        }
    }

    /// Commits a group. Whether there may be more to do.
    fn commit(&self, group: Group<T>) -> bool {
        let entries = group.entries();
        if entries.is_empty() {
            let last = self.queue.lock().last_group;
            self.outcome.committed(last, group.into_payloads());
            return true;
        }
        let urgency = group.urgency;
        let appended = self.log.lock().append(&entries, urgency);
        match appended {
            Ok(number) => {
                self.queue.lock().note_group(number);
                self.outcome.committed(number, group.into_payloads());
                true
            }
            Err(AppendError::Full) => {
                let error = self.log.lock().room_error();
                self.queue.lock().put_back(group, error);
                // Those that may take the last segments go on.
                urgency == Urgency::Ordinary
            }
            Err(error) => {
                self.fail(&error, group);
                false
            }
        }
    }

    /// A group may be on the disk or not: its payloads are kept, all that is queued is refused.
    fn fail(&self, error: &AppendError, group: Group<T>) {
        let condition = Condition::Undecided(error.to_string());
        let queued = self.queue.lock().fail(condition.clone(), group);
        if !queued.is_empty() {
            self.outcome.refused(queued, Refusal::Failed);
        }
        self.outcome.condition(&condition);
    }

    /// Tries to decide on the group that is undecided.
    fn decide(&self, now: Duration) {
        {
            let mut queue = self.queue.lock();
            if *queue.since.get_or_insert(now) > now {
                return;
            }
            queue.since = Some(now + DECIDE_PAUSE);
        }
        let (decided, last) = {
            let mut log = self.log.lock();
            (log.decide(), log.status().next - 1)
        };
        if let Err(error) = decided {
            let condition = Condition::Undecided(error.to_string());
            self.queue.lock().condition = condition.clone();
            return self.outcome.condition(&condition);
        }
        let payloads: Vec<T> = {
            let mut queue = self.queue.lock();
            (queue.last_group, queue.since) = (last, None);
            std::mem::take(&mut queue.undecided)
        };
        if !payloads.is_empty() {
            self.outcome.refused(payloads.into_iter().rev().collect(), Refusal::Failed);
        }
        // Only now may others come: they are worked out on what is left.
        self.queue.lock().become_ready();
        self.outcome.condition(&Condition::Ready);
    }

    /// Goes on if there is room again.
    fn leave_full(&self) {
        let is_full = matches!(self.queue.lock().condition, Condition::Full(_));
        if !is_full || !self.log.lock().has_room() {
            return;
        }
        let was_said = self.queue.lock().become_ready();
        if was_said {
            self.outcome.condition(&Condition::Ready);
        }
    }

    /// Refuses what waits for too long.
    fn be_full(&self, now: Duration) {
        self.leave_full();
        let error = self.log.lock().room_error();
        let (queued, condition, is_new) = {
            let mut queue = self.queue.lock();
            if queue.condition == Condition::Ready
                || now.saturating_sub(*queue.since.get_or_insert(now)) < FULL_PATIENCE
            {
                return;
            }
            let condition = Condition::Full(error);
            let is_new = !std::mem::replace(&mut queue.is_refusing, true) || queue.condition != condition;
            queue.condition = condition.clone();
            (queue.take_all(), condition, is_new)
        };
        if !queued.is_empty() {
            self.log.lock().give_up_room();
            self.outcome.refused(queued, Refusal::Full);
        }
        if is_new {
            self.outcome.condition(&condition);
        }
    }

    /// After a while of quiet: writes notes, and an empty group behind the last one that has records.
    fn be_quiet(&self, now: Duration) {
        let group = {
            let mut queue = self.queue.lock();
            if queue.is_note_due(now) {
                queue.take_notes()
            } else if queue.is_mark_due(now) {
                Group::empty()
            } else {
                return;
            }
        };
        let appended = self.log.lock().append(&group.entries(), Urgency::Ordinary);
        match appended {
            Ok(number) if group.is_empty() => self.queue.lock().last_group = number,
            Ok(number) => {
                self.queue.lock().note_group(number);
                self.outcome.committed(number, group.into_payloads());
            }
            // It is worth no segment that others may need.
            Err(AppendError::Full) => self.queue.lock().put_back_notes(group),
            Err(error) => self.fail(&error, group),
        }
    }
}

fn condition_of(log: &Log) -> Condition {
    if log.is_undecided() {
        Condition::Undecided("the last group is to be written again".to_owned())
    } else {
        Condition::Ready
    }
}
