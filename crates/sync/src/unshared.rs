//! What one thread has for itself, in the shape of locks and counters: a server without threads pays for neither.
//!
//! Any other thread that touches it panics, so that code which is written once for all protections stays safe.
#![allow(unsafe_code)] // a cell that is shared between threads of which one alone gets in

use std::{
    cell::{Cell, RefCell},
    sync::atomic::{AtomicU64, Ordering},
};

static NEXT: AtomicU64 = AtomicU64::new(1);

std::thread_local! {
    /// Never given twice, unlike the addresses of what threads have.
    static THREAD: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// A value for the thread that made it.
pub struct Unshared<T> {
    maker: u64,
    value: RefCell<T>,
}

/// A count for the thread that made it.
pub struct UnsharedCounter {
    maker: u64,
    holders: Cell<u32>,
}

// SAFETY: every access compares the thread with the maker first, and only the maker goes on (`check`). Dropping it, in
// whatever thread, needs the only reference to it.
unsafe impl<T: Send> Sync for Unshared<T> {}
// SAFETY: as above.
unsafe impl Sync for UnsharedCounter {}

#[inline]
fn check(maker: u64) {
    assert!(THREAD.with(|thread| *thread) == maker, "made for one thread, used in another");
}

impl<T> Unshared<T> {
    /// For the calling thread.
    pub fn new(value: T) -> Unshared<T> {
        Unshared { maker: THREAD.with(|thread| *thread), value: RefCell::new(value) }
    }

    /// Lets `act` read.
    #[inline]
    pub fn read<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        check(self.maker);
        act(&self.value.borrow())
    }

    /// Lets `act` change.
    #[inline]
    pub fn write<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        check(self.maker);
        act(&mut self.value.borrow_mut())
    }
}

impl UnsharedCounter {
    /// With so many holders, for the calling thread.
    pub fn new(holders: u32) -> UnsharedCounter {
        UnsharedCounter { maker: THREAD.with(|thread| *thread), holders: Cell::new(holders) }
    }

    /// One more.
    #[inline]
    pub fn hold(&self) {
        check(self.maker);
        self.holders.set(self.holders.get().checked_add(1).expect("fewer holders than numbers"));
    }

    /// One less; true where that was the last.
    #[inline]
    pub fn release(&self) -> bool {
        check(self.maker);
        self.holders.set(self.holders.get().checked_sub(1).expect("released more often than held"));
        self.holders.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_do_not_get_in() {
        let (value, count) = (Unshared::new(7), UnsharedCounter::new(1));
        value.write(|value| *value += 1);
        assert_eq!(value.read(|value| *value), 8);
        std::thread::scope(|scope| {
            assert!(scope.spawn(|| value.read(|value| *value)).join().is_err());
            assert!(scope.spawn(|| count.hold()).join().is_err());
        });
        assert!(count.release());
    }
}
