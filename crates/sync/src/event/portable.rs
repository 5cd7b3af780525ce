//! Sleeping with a mutex and a condition variable, as the paper does: for systems without a futex.

use std::sync::PoisonError;

use super::Event;
use crate::primitives::{AtomicU32, Condvar, Mutex, Ordering, Step, ordered};

/// See [`Event`].
pub struct Portable {
    sleepers: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Event for Portable {
    fn new() -> Portable {
        Portable { sleepers: AtomicU32::new(0), lock: Mutex::new(()), changed: Condvar::new() }
    }

    #[inline]
    fn wake_all(&self) {
        ordered(Step::Wakes);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // Whoever has looked but does not sleep yet holds the lock.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.changed.notify_all();
        }
    }

    #[cold]
    fn sleep_while(&self, mut is_early: impl FnMut() -> bool) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            ordered(Step::Sleeps);
            if !is_early() {
                break;
            }
            guard = self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}
