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
//! There is no clock and no thread here: [`Committer::tick`] is called about once a [`TICK`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sync::Mutex;

use crate::log::{AppendError, GROUP_OCTETS_MAX, Log, Status, Urgency};
use crate::record::{Entry, RECORD_OCTETS_MAX};

#[cfg(test)]
mod tests;

/// Commits that may wait: a disk that is that far behind does not catch up in a client's patience.
pub const WAITING_MAX: usize = 4096;
/// Octets of theirs.
pub const WAITING_OCTETS_MAX: usize = RECORD_OCTETS_MAX;
/// How long commits wait for a segment that is free.
pub const FULL_PATIENCE: Duration = Duration::from_secs(2);
/// How often [`Committer::tick`] should be called.
pub const TICK: Duration = Duration::from_millis(100);
/// Between two attempts to make an undecided group void.
pub const DECIDE_PAUSE: Duration = Duration::from_secs(1);
/// Quiet for so long, an empty group shows that the last one was whole: else damage to it would look as if it had never been acknowledged.
pub const MARK_PAUSE: Duration = Duration::from_secs(1);

/// Why something was not committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A write or a sync has failed.
    Failed,
    /// The log has no room: a checkpoint is late, or the disk is full.
    Full,
    /// [`WAITING_MAX`] or [`WAITING_OCTETS_MAX`] wait already.
    Behind,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Failed => "the log cannot be written",
            Refusal::Full => "the log has no room",
            Refusal::Behind => "too many changes wait for the disk",
        })
    }
}

impl std::error::Error for Refusal {}

/// How the log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Changes are taken.
    Ready,
    /// A group is undecided, with what the system said; changes are refused.
    Undecided(String),
    /// No segment is free; with what the system said when one was to be made, if it did.
    Full(Option<String>),
}

/// Who is told what has become of payloads.
pub trait Outcome<T>: Send + Sync {
    /// These are on the disk, with all before them. In the order in which they were queued. `group`: the last of the log that is on the disk.
    fn committed(&self, group: u64, payloads: Vec<T>);

    /// These are not in the log and will never be: to be taken back in this order, newest first.
    fn refused(&self, payloads: Vec<T>, why: Refusal);

    /// The condition is another one; or an attempt to end it failed again. Called with nothing else on its way.
    fn condition(&self, condition: &Condition);
}

/// One that waits.
struct Waiting<T> {
    entry: Option<Arc<Entry>>,
    payload: T,
    is_urgent: bool,
}

struct Queue<T> {
    waiting: VecDeque<Waiting<T>>,
    /// Of the entries that wait.
    octets: usize,
    condition: Condition,
    /// Whether somebody is at it, who looks again before he leaves.
    is_committing: bool,
    /// Payloads of the group that is undecided, in order.
    undecided: Vec<T>,
    /// When the condition was seen first by `tick`, and when the next attempt is due.
    since: Option<Duration>,
    /// Whether the log is full for longer than anybody waits.
    is_refusing: bool,
    /// Whether the last group has records, and when it was seen first by `tick`.
    unmarked: Option<Option<Duration>>,
    last_group: u64,
}

/// See the module.
pub struct Committer<T> {
    queue: Mutex<Queue<T>>,
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

/// Something is queued. Nothing may happen before [`Queued::commit`] is called, which is done without the zone's lock.
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

/// The one who commits; others may when it is dropped.
struct Turn<'c, T>(&'c Committer<T>);

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.0.queue.lock().is_committing = false;
    }
}

impl<T> Committer<T> {
    /// For a log that was begun.
    pub fn new(log: Log, outcome: Box<dyn Outcome<T>>) -> Committer<T> {
        let queue = Queue {
            waiting: VecDeque::new(),
            octets: 0,
            condition: Condition::Ready,
            is_committing: false,
            undecided: Vec::new(),
            since: None,
            is_refusing: false,
            unmarked: Some(None),
            last_group: log.status().next - 1,
        };
        Committer { queue: Mutex::named("commits that wait", queue), log: Mutex::named("log", log), outcome }
    }

    /// Queues a change, or with no `entry` something that only waits for all that was queued before. Changes of one zone are queued in the
    /// order of their serials: under the zone's lock. The error: it is refused, nothing was done with it.
    pub fn enqueue(&self, entry: Option<Arc<Entry>>, payload: T) -> Result<Queued<'_, T>, Refused<T>> {
        self.enqueue_as(Waiting { entry, payload, is_urgent: false })
    }

    /// Queues what a checkpoint needs to go on: it may take the log's last segments, and go before others. No change of its zone may wait.
    pub fn enqueue_urgent(&self, entry: Arc<Entry>, payload: T) -> Result<Queued<'_, T>, Refused<T>> {
        self.enqueue_as(Waiting { entry: Some(entry), payload, is_urgent: true })
    }

    fn enqueue_as(&self, waiting: Waiting<T>) -> Result<Queued<'_, T>, Refused<T>> {
        let octets = waiting.octets();
        let mut queue = self.queue.lock();
        let is_behind = queue.waiting.len() >= WAITING_MAX
            || !queue.waiting.is_empty() && queue.octets + octets > WAITING_OCTETS_MAX;
        let why = match queue.condition {
            Condition::Undecided(_) => Some(Refusal::Failed),
            _ if waiting.is_urgent => None,
            Condition::Full(_) if queue.is_refusing => Some(Refusal::Full),
            _ if is_behind => Some(Refusal::Behind),
            _ => None,
        };
        match why {
            Some(why) => Err(Refused { payload: waiting.payload, why }),
            None => {
                queue.octets += octets;
                queue.waiting.push_back(waiting);
                Ok(Queued { committer: self })
            }
        }
    }

    /// Commits what waits until nothing does, unless somebody is at it.
    pub fn run(&self) {
        if let Some(turn) = self.turn() {
            self.run_in(&turn);
            drop(turn);
            // What was queued between the last look and the end of the turn.
            self.run_left();
        }
    }

    fn turn(&self) -> Option<Turn<'_, T>> {
        let mut queue = self.queue.lock();
        if std::mem::replace(&mut queue.is_committing, true) { None } else { Some(Turn(self)) }
    }

    /// To be called about once a [`TICK`]. `now`: time since anything, that does not go back.
    pub fn tick(&self, now: Duration) {
        let Some(turn) = self.turn() else { return };
        let condition = self.queue.lock().condition.clone();
        match condition {
            Condition::Undecided(_) => self.decide(now),
            Condition::Full(_) => self.be_full(now),
            Condition::Ready => self.mark(now),
        }
        self.run_in(&turn);
        drop(turn);
        self.run_left();
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

    fn run_left(&self) {
        while self.is_work_left() {
            let Some(turn) = self.turn() else { return };
            self.run_in(&turn);
        }
    }

    fn is_work_left(&self) -> bool {
        let queue = self.queue.lock();
        let is_possible = match queue.condition {
            Condition::Ready => !queue.waiting.is_empty(),
            // The next `tick` goes on, or `release`.
            Condition::Undecided(_) | Condition::Full(_) => false,
        };
        is_possible && !queue.is_committing
    }

    /// Commits group after group.
    fn run_in(&self, _: &Turn<'_, T>) {
        self.leave_full();
        while let Some((group, urgency)) = self.take_group() {
            let entries: Vec<&Entry> = group.iter().filter_map(|waiting| waiting.entry.as_deref()).collect();
            if entries.is_empty() {
                let last = self.queue.lock().last_group;
                self.outcome.committed(last, group.into_iter().map(|waiting| waiting.payload).collect());
                continue;
            }
            let appended = self.log.lock().append(&entries, urgency);
            match appended {
                Ok(number) => {
                    {
                        let mut queue = self.queue.lock();
                        queue.last_group = number;
                        queue.unmarked = Some(None);
                    }
                    self.outcome
                        .committed(number, group.into_iter().map(|waiting| waiting.payload).collect());
                }
                Err(AppendError::Full) => {
                    self.put_back(group);
                    // Those that may take the last segments go on.
                    if urgency == Urgency::Last {
                        return;
                    }
                }
                Err(error) => {
                    self.fail(&error, group.into_iter().map(|waiting| waiting.payload).collect());
                    return;
                }
            }
        }
    }

    /// What goes into the next group, in order; `None`: nothing, or nothing can be written.
    fn take_group(&self) -> Option<(Vec<Waiting<T>>, Urgency)> {
        let mut queue = self.queue.lock();
        if queue.waiting.is_empty() {
            return None;
        }
        let is_full = match queue.condition {
            Condition::Ready => false,
            Condition::Full(_) => true,
            Condition::Undecided(_) => return None,
        };
        if is_full {
            return queue.take_urgent().map(|group| (group, Urgency::Last));
        }
        let mut octets = 0;
        let mut count = 0;
        for waiting in &queue.waiting {
            if count > 0 && octets + waiting.octets() > GROUP_OCTETS_MAX {
                break;
            }
            (octets, count) = (octets + waiting.octets(), count + 1);
        }
        queue.octets -= octets;
        let group: Vec<Waiting<T>> = queue.waiting.drain(..count).collect();
        let is_urgent = group.iter().all(|waiting| waiting.is_urgent);
        Some((group, if is_urgent { Urgency::Last } else { Urgency::Ordinary }))
    }

    /// The log had no room for a group: it waits, in its place.
    fn put_back(&self, group: Vec<Waiting<T>>) {
        let error = self.log.lock().room_error();
        let mut queue = self.queue.lock();
        for waiting in group.into_iter().rev() {
            queue.octets += waiting.octets();
            queue.waiting.push_front(waiting);
        }
        if queue.condition == Condition::Ready {
            (queue.since, queue.is_refusing) = (None, false);
            queue.condition = Condition::Full(error);
        }
    }

    /// A group may be on the disk or not: its payloads are kept, all that is queued is refused.
    fn fail(&self, error: &AppendError, payloads: Vec<T>) {
        let condition = Condition::Undecided(error.to_string());
        let queued = {
            let mut queue = self.queue.lock();
            queue.condition = condition.clone();
            (queue.since, queue.undecided) = (None, payloads);
            queue.take_all()
        };
        if !queued.is_empty() {
            self.outcome.refused(queued, Refusal::Failed);
        }
        self.outcome.condition(&condition);
    }

    /// Tries to make the group void that is undecided.
    fn decide(&self, now: Duration) {
        {
            let mut queue = self.queue.lock();
            if *queue.since.get_or_insert(now) > now {
                return;
            }
            queue.since = Some(now + DECIDE_PAUSE);
        }
        let decided = self.log.lock().decide();
        if let Err(error) = decided {
            let condition = Condition::Undecided(error.to_string());
            self.queue.lock().condition = condition.clone();
            return self.outcome.condition(&condition);
        }
        let last = self.log.lock().status().next - 1;
        let payloads = {
            let mut queue = self.queue.lock();
            (queue.last_group, queue.since) = (last, None);
            std::mem::take(&mut queue.undecided)
        };
        if !payloads.is_empty() {
            self.outcome.refused(payloads.into_iter().rev().collect(), Refusal::Failed);
        }
        // Only now may others come: they are worked out on what is left.
        self.queue.lock().condition = Condition::Ready;
        self.outcome.condition(&Condition::Ready);
    }

    /// Goes on if there is room again.
    fn leave_full(&self) {
        if !matches!(self.queue.lock().condition, Condition::Full(_)) || !self.log.lock().has_room() {
            return;
        }
        let was_said = {
            let mut queue = self.queue.lock();
            (queue.condition, queue.since) = (Condition::Ready, None);
            std::mem::take(&mut queue.is_refusing)
        };
        if was_said {
            self.outcome.condition(&Condition::Ready);
        }
    }

    /// Refuses what waits for too long.
    fn be_full(&self, now: Duration) {
        self.leave_full();
        let error = self.log.lock().room_error();
        let mut queue = self.queue.lock();
        if queue.condition == Condition::Ready {
            return;
        }
        if now.saturating_sub(*queue.since.get_or_insert(now)) < FULL_PATIENCE {
            return;
        }
        let condition = Condition::Full(error);
        let is_new = !std::mem::replace(&mut queue.is_refusing, true) || queue.condition != condition;
        queue.condition = condition.clone();
        let queued = queue.take_all();
        drop(queue);
        if !queued.is_empty() {
            self.outcome.refused(queued, Refusal::Full);
        }
        if is_new {
            self.outcome.condition(&condition);
        }
    }

    /// Writes an empty group after a while of quiet.
    fn mark(&self, now: Duration) {
        {
            let mut queue = self.queue.lock();
            let Some(seen) = &mut queue.unmarked else { return };
            let seen = *seen.get_or_insert(now);
            if !queue.waiting.is_empty() || now.saturating_sub(seen) < MARK_PAUSE {
                return;
            }
            queue.unmarked = None;
        }
        let appended = self.log.lock().append(&[], Urgency::Ordinary);
        match appended {
            Ok(number) => self.queue.lock().last_group = number,
            // It is worth no segment that others may need.
            Err(AppendError::Full) => {}
            Err(error) => self.fail(&error, Vec::new()),
        }
    }
}

impl<T> Waiting<T> {
    fn octets(&self) -> usize {
        self.entry.as_ref().map_or(0, |entry| entry.octets())
    }
}

impl<T> Queue<T> {
    /// All payloads that wait, newest first.
    fn take_all(&mut self) -> Vec<T> {
        self.octets = 0;
        self.waiting.drain(..).rev().map(|waiting| waiting.payload).collect()
    }

    /// Those that are urgent, in order.
    fn take_urgent(&mut self) -> Option<Vec<Waiting<T>>> {
        let (urgent, rest): (VecDeque<_>, VecDeque<_>) =
            self.waiting.drain(..).partition(|waiting| waiting.is_urgent);
        self.waiting = rest;
        self.octets -= urgent.iter().map(Waiting::octets).sum::<usize>();
        (!urgent.is_empty()).then(|| urgent.into())
    }
}
