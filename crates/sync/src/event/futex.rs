//! Sleeping in the kernel on one word: nothing is locked on either side, and nothing called where nobody sleeps.

use super::Event;
use crate::primitives::{AtomicU32, Ordering, Step, futex_wait, futex_wake, ordered};

/// See [`Event`].
pub struct Futex {
    /// Changes with each wake-up; who sleeps, sleeps on a value of it.
    turn: AtomicU32,
    sleepers: AtomicU32,
}

impl Event for Futex {
    fn new() -> Futex {
        Futex { turn: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
    }

    #[inline]
    fn wake_all(&self) {
        ordered(Step::Wakes);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            self.turn.fetch_add(1, Ordering::SeqCst);
            futex_wake(&self.turn);
        }
    }

    #[cold]
    fn sleep_while(&self, mut is_early: impl FnMut() -> bool) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        loop {
            // Before the look: a change after it comes with another turn, on which the kernel does not let us sleep.
            let turn = self.turn.load(Ordering::SeqCst);
            ordered(Step::Sleeps);
            if !is_early() {
                break;
            }
            futex_wait(&self.turn, turn);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}
