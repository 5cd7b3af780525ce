//! A lock among simulated cores: who has it, who waits, and who is next.

use std::collections::VecDeque;

use crate::{
    line::{Costs, Line, Time},
    model::{Handover, Kind},
};

/// Who has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nobody,
    Readers(u32),
    Writer,
}

/// A core that waits.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    core: usize,
    is_reader: bool,
    /// Until then it spins, from then on it goes to sleep.
    sleeps_at: Time,
}

/// A core that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    pub core: usize,
    pub at: Time,
    /// Whether it has the lock; else it tries again.
    pub has_lock: bool,
}

/// A lock of any kind.
#[derive(Clone, Debug)]
pub struct Lock {
    kind: Kind,
    line: Line,
    held: Held,
    waiting: VecDeque<Waiter>,
    /// Writers in a row while readers waited.
    streak: u32,
    /// One that was woken has not tried yet: no other needs to be woken.
    is_one_woken: bool,
}

impl Lock {
    pub fn new(kind: Kind) -> Lock {
        let (held, waiting) = (Held::Nobody, VecDeque::new());
        Lock { kind, line: Line::default(), held, waiting, streak: 0, is_one_woken: false }
    }

    /// A change of the line alone.
    pub fn change(&mut self, core: usize, now: Time, costs: &Costs) -> Time {
        self.line.change(core, now, costs)
    }

    /// A core wants it. When it has it; `None`: it waits. `is_again`: it was woken to try.
    pub fn acquire(
        &mut self,
        core: usize,
        now: Time,
        is_reader: bool,
        is_again: bool,
        costs: &Costs,
    ) -> Option<Time> {
        let done = self.line.change(core, now, costs);
        if is_again {
            self.is_one_woken = false;
        }
        let is_writer_waiting = || self.waiting.iter().any(|waiter| !waiter.is_reader);
        let next = match (is_reader, self.held) {
            (false, Held::Nobody) => Some(Held::Writer),
            (true, Held::Nobody) if !is_writer_waiting() => Some(Held::Readers(1)),
            (true, Held::Readers(count)) if !is_writer_waiting() => Some(Held::Readers(count + 1)),
            _ => None,
        };
        match next {
            Some(held) => self.held = held,
            // It has spun before it slept the first time; to its old place in the row.
            None if is_again => self.waiting.push_front(Waiter { core, is_reader, sleeps_at: done }),
            None => self.waiting.push_back(Waiter { core, is_reader, sleeps_at: done + costs.spin }),
        }
        next.map(|_| done)
    }

    /// A core gives it back. When it goes on itself; who else does is added to `woken`.
    pub fn release(&mut self, core: usize, now: Time, costs: &Costs, woken: &mut Vec<Woken>) -> Time {
        let done = self.line.change(core, now, costs);
        let was_writer = self.held == Held::Writer;
        self.held = match self.held {
            Held::Readers(count) if count > 1 => Held::Readers(count - 1),
            _ => Held::Nobody,
        };
        if self.held != Held::Nobody {
            return done;
        }
        match self.kind {
            Kind::Counter => done,
            Kind::Mutex(Handover::Direct) => self.give_to_first(done, costs, woken),
            Kind::Mutex(Handover::Barging) => self.leave_to_all(done, costs, woken),
            Kind::ReaderWriter { quota } => self.give_by_quota(was_writer, quota, done, costs, woken),
        }
    }

    fn give_to_first(&mut self, done: Time, costs: &Costs, woken: &mut Vec<Woken>) -> Time {
        match self.waiting.pop_front() {
            Some(waiter) => self.give(waiter, done, costs, woken),
            None => done,
        }
    }

    /// The lock becomes the waiter's. When the one that gives it goes on.
    fn give(&mut self, waiter: Waiter, done: Time, costs: &Costs, woken: &mut Vec<Woken>) -> Time {
        self.held = match (waiter.is_reader, self.held) {
            (false, _) => Held::Writer,
            (true, Held::Readers(count)) => Held::Readers(count + 1),
            (true, _) => Held::Readers(1),
        };
        let (core, has_lock) = (waiter.core, true);
        if waiter.sleeps_at >= done {
            // It sees the change as soon as the line comes to it.
            woken.push(Woken { core, at: self.line.change(core, done, costs), has_lock });
            return done;
        }
        let (wake, resume) = self.in_crowd(costs);
        let after = done + wake;
        woken.push(Woken { core, at: after.max(waiter.sleeps_at + costs.sleep) + resume, has_lock });
        after
    }

    /// What waking and coming back cost with as many others asleep.
    fn in_crowd(&self, costs: &Costs) -> (Time, Time) {
        let factor = 1.0 + costs.crowd * self.waiting.len() as f64;
        let more = |time: Time| (time as f64 * factor) as Time;
        (more(costs.wake), more(costs.resume))
    }

    /// One that spins takes it at once; else one that sleeps is woken to try.
    fn leave_to_all(&mut self, done: Time, costs: &Costs, woken: &mut Vec<Woken>) -> Time {
        let spins = self.waiting.iter().position(|waiter| waiter.sleeps_at >= done);
        if let Some(waiter) = spins.and_then(|place| self.waiting.remove(place)) {
            return self.give(waiter, done, costs, woken);
        }
        if self.is_one_woken {
            return done;
        }
        let Some(waiter) = self.waiting.pop_front() else { return done };
        self.is_one_woken = true;
        let (wake, resume) = self.in_crowd(costs);
        let after = done + wake;
        let at = after.max(waiter.sleeps_at + costs.sleep) + resume;
        woken.push(Woken { core: waiter.core, at, has_lock: false });
        after
    }

    /// The next writer, or all readers that wait where the quota is used up or no writer waits.
    fn give_by_quota(
        &mut self,
        was_writer: bool,
        quota: u32,
        done: Time,
        costs: &Costs,
        woken: &mut Vec<Woken>,
    ) -> Time {
        let readers = self.waiting.iter().filter(|waiter| waiter.is_reader).count();
        let writer = self.waiting.iter().position(|waiter| !waiter.is_reader);
        self.streak = if was_writer && readers > 0 { self.streak + 1 } else { 0 };
        if let Some(place) = writer.filter(|_| readers == 0 || self.streak < quota) {
            let waiter = self.waiting.remove(place).expect("the place was found in the same row");
            return self.give(waiter, done, costs, woken);
        }
        self.streak = 0;
        let mut after = done;
        for waiter in std::mem::take(&mut self.waiting) {
            match waiter.is_reader {
                true => after = self.give(waiter, after, costs, woken),
                false => self.waiting.push_back(waiter),
            }
        }
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs =
        Costs { atomic: 10, transfer: 0, spin: 0, sleep: 5, wake: 20, resume: 100, crowd: 0.0 };

    fn release(lock: &mut Lock, core: usize, now: Time) -> (Time, Vec<Woken>) {
        let mut woken = Vec::new();
        (lock.release(core, now, &COSTS, &mut woken), woken)
    }

    #[test]
    fn first_come_first_served() {
        let mut lock = Lock::new(Kind::Mutex(Handover::Direct));
        assert_eq!(lock.acquire(0, 0, false, false, &COSTS), Some(10));
        assert_eq!(lock.acquire(1, 20, false, false, &COSTS), None);
        assert_eq!(lock.acquire(2, 40, false, false, &COSTS), None);
        assert_eq!(release(&mut lock, 0, 100), (130, vec![Woken { core: 1, at: 230, has_lock: true }]));
        assert_eq!(lock.acquire(3, 140, false, false, &COSTS), None, "it is kept for the one that wakes up");
        assert_eq!(release(&mut lock, 1, 300).1[0].core, 2);
    }

    #[test]
    fn barging() {
        let mut lock = Lock::new(Kind::Mutex(Handover::Barging));
        assert_eq!(lock.acquire(0, 0, false, false, &COSTS), Some(10));
        assert_eq!(lock.acquire(1, 20, false, false, &COSTS), None);
        assert_eq!(release(&mut lock, 0, 100), (130, vec![Woken { core: 1, at: 230, has_lock: false }]));
        assert_eq!(lock.acquire(2, 140, false, false, &COSTS), Some(150), "faster than the one woken");
        assert_eq!(lock.acquire(1, 230, false, true, &COSTS), None);
        assert_eq!(release(&mut lock, 2, 300).1[0].core, 1);
    }

    #[test]
    fn spinning_needs_no_waking() {
        let costs = Costs { spin: 1000, ..COSTS };
        for handover in [Handover::Direct, Handover::Barging] {
            let mut lock = Lock::new(Kind::Mutex(handover));
            lock.acquire(0, 0, false, false, &costs);
            lock.acquire(1, 20, false, false, &costs);
            let mut woken = Vec::new();
            assert_eq!(lock.release(0, 100, &costs, &mut woken), 110);
            assert_eq!(woken, [Woken { core: 1, at: 120, has_lock: true }]);
        }
    }

    #[test]
    fn readers_share_and_writers_come_first() {
        let mut lock = Lock::new(Kind::ReaderWriter { quota: 2 });
        assert_eq!(lock.acquire(0, 0, true, false, &COSTS), Some(10));
        assert_eq!(lock.acquire(1, 0, true, false, &COSTS), Some(20), "its turn at the line");
        assert_eq!(lock.acquire(2, 30, false, false, &COSTS), None);
        assert_eq!(lock.acquire(3, 50, true, false, &COSTS), None, "a writer waits");
        for writer in [4, 5, 6] {
            assert_eq!(lock.acquire(writer, 60, false, false, &COSTS), None);
        }
        assert_eq!(release(&mut lock, 0, 100).1, []);
        assert_eq!(release(&mut lock, 1, 120).1[0].core, 2);
        assert_eq!(release(&mut lock, 2, 400).1[0].core, 4, "the first of the quota");
        assert_eq!(release(&mut lock, 4, 800).1[0].core, 3, "the quota is used up");
        assert_eq!(release(&mut lock, 3, 1200).1[0].core, 5);
    }
}
