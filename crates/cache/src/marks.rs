//! What is flushed: at once for readers, in time from memory; and what was asked for before that comes too late.
//!
//! ```text
//! count of marks | mark: hash of a name | of each position and ring: the place before which entries at or below the name are flushed
//! latest flush   | recent flushes: name, moment    (under a lock; looked at by those who put what was asked for before the latest)
//! ```
//!
//! A name is known by its keyed hash. Another with the same one is hidden for as long: a miss.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use wire::Name;
use wire::name::NameBuf;

use crate::Moment;
use crate::hash::Secret;
use crate::index::{Slot, Which};
use crate::layout::{POSITIONS, position_of};
use crate::locks;

/// Flushes that are not swept yet. More are swept first, by whoever flushes: operators do not have as many at once.
pub(crate) const MARKS_MAX: usize = 8;
/// Flushes that late answers are compared with, one by one; of older ones only the time is known, and all answers asked for before it are refused.
/// A resolver's task ends within 10 s, so those are few.
const RECENT_MAX: usize = 64;

struct Mark {
    /// Of the name; 0: no mark.
    hash: AtomicU64,
    /// For each position its rings' heads at that time. Where its shard is moved to another, places only grow.
    before: Box<[AtomicU64]>,
}

pub(crate) struct Marks {
    count: AtomicU64,
    marks: [Mark; MARKS_MAX],
    /// Milliseconds and one of the latest flush; 0: there was none.
    latest: AtomicU64,
    recent: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    flushes: VecDeque<Recently>,
    /// What was asked for until then is refused, whatever it is.
    all_until: Option<Moment>,
}

struct Recently {
    name: NameBuf,
    is_tree: bool,
    at: Moment,
}

impl Marks {
    pub(crate) fn new() -> Marks {
        let mark = |_| Mark { hash: AtomicU64::new(0), before: crate::words::zeroed(POSITIONS * 2) };
        let (count, latest) = (AtomicU64::new(0), AtomicU64::new(0));
        Marks { count, marks: std::array::from_fn(mark), latest, recent: Mutex::default() }
    }

    /// Octets that it takes.
    pub(crate) const OCTETS: usize = MARKS_MAX * POSITIONS * 16;

    /// Whether there are no marks: one load.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Whether an entry of `name` that is where `slot` says is flushed.
    #[inline]
    pub(crate) fn hide(&self, secret: &Secret, name: &Name, slot: Slot) -> bool {
        !self.is_empty() && self.hide_slowly(secret, name, slot)
    }

    #[cold]
    fn hide_slowly(&self, secret: &Secret, name: &Name, slot: Slot) -> bool {
        let position = position_of(secret.hash(name.octets()));
        let mut ancestor = Some(name);
        while let Some(name) = ancestor {
            let hash = hash_of(secret, name);
            let hidden = |mark: &Mark| {
                mark.hash.load(Ordering::Acquire) == hash
                    && slot.place() < mark.place(position, slot.ring()).load(Ordering::Relaxed)
            };
            if self.marks.iter().any(hidden) {
                return true;
            }
            ancestor = name.parent();
        }
        false
    }

    /// Whether an entry may be flushed, whatever its name is: it was there before something was.
    #[inline]
    pub(crate) fn may_hide(&self, position: usize, slot: Slot) -> bool {
        let is_before = |mark: &Mark| {
            mark.hash.load(Ordering::Acquire) != 0
                && slot.place() < mark.place(position, slot.ring()).load(Ordering::Relaxed)
        };
        !self.is_empty() && self.marks.iter().any(is_before)
    }

    /// Says that a flush is at hand: what was asked for until `at` is refused from now on.
    pub(crate) fn register(&self, name: &Name, is_tree: bool, at: Moment) {
        let mut recent = self.recent();
        recent.flushes.push_back(Recently { name: name.to_lowercase(), is_tree, at });
        if recent.flushes.len() > RECENT_MAX {
            let oldest = recent.flushes.pop_front();
            recent.all_until = recent.all_until.max(oldest.map(|oldest| oldest.at));
        }
        self.latest.fetch_max(at.0.saturating_add(1), Ordering::Release);
    }

    /// Whether what was asked for at `asked` comes too late. Under the lock of a shard: a flush that is not seen here finds the entry there.
    #[inline]
    pub(crate) fn refuse(&self, name: &Name, asked: Moment) -> bool {
        asked.0 < self.latest.load(Ordering::Acquire) && self.refuse_slowly(name, asked)
    }

    #[cold]
    fn refuse_slowly(&self, name: &Name, asked: Moment) -> bool {
        let recent = self.recent();
        let covers = |flush: &Recently| match flush.is_tree {
            true => name.is_at_or_below(&flush.name),
            false => name.eq_ignore_case(&flush.name),
        };
        recent.all_until.is_some_and(|until| asked <= until)
            || recent.flushes.iter().any(|flush| asked <= flush.at && covers(flush))
    }

    /// Whether something of a zone was flushed since `at`, or all that is above it: what denies names of it is not known any more.
    pub(crate) fn refuse_zone(&self, zone: &Name, at: Moment) -> bool {
        if at.0 >= self.latest.load(Ordering::Acquire) {
            return false;
        }
        let recent = self.recent();
        let touches = |flush: &Recently| zone.is_at_or_below(&flush.name) || flush.name.is_at_or_below(zone);
        recent.all_until.is_some_and(|until| at <= until)
            || recent.flushes.iter().any(|flush| at <= flush.at && touches(flush))
    }

    /// Hides all at and below `name`, old and new, until [`Marks::hide_before`] says which; the mark's number. `None`: there are too many.
    pub(crate) fn set(&self, secret: &Secret, name: &Name) -> Option<usize> {
        let _one_at_a_time = self.recent();
        let number = self.marks.iter().position(|mark| mark.hash.load(Ordering::Relaxed) == 0)?;
        let mark = &self.marks[number];
        mark.before.iter().for_each(|place| place.store(u64::MAX, Ordering::Relaxed));
        mark.hash.store(hash_of(secret, name), Ordering::Release);
        self.count.fetch_add(1, Ordering::Release);
        Some(number)
    }

    /// Of a position what is before the `heads` of its shard. Under the lock of the shard.
    pub(crate) fn hide_before(&self, number: usize, position: usize, heads: [u64; 2]) {
        for (place, head) in self.marks[number].before[position * 2..].iter().zip(heads) {
            place.store(head, Ordering::Relaxed);
        }
    }

    /// The heads of the shard at a position when the mark was set.
    pub(crate) fn heads(&self, number: usize, position: usize) -> [u64; 2] {
        std::array::from_fn(|ring| self.marks[number].before[position * 2 + ring].load(Ordering::Relaxed))
    }

    /// All that it hid is gone.
    pub(crate) fn unset(&self, number: usize) {
        let _one_at_a_time = self.recent();
        self.marks[number].hash.store(0, Ordering::Release);
        self.count.fetch_sub(1, Ordering::Release);
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        locks::lock(&self.recent)
    }
}

impl Mark {
    fn place(&self, position: usize, ring: Which) -> &AtomicU64 {
        &self.before[position * 2 + ring as usize]
    }
}

/// Never 0, which no mark has.
fn hash_of(secret: &Secret, name: &Name) -> u64 {
    secret.hash(name.octets()).max(1)
}
