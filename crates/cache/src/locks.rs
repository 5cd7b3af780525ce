//! The one place where locks of the cache are taken, so that tests can count them: looks at what is kept take none.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[cfg(debug_assertions)]
thread_local! {
    static TAKEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many locks of caches this thread has taken since it began; in builds without debug assertions none is counted.
#[must_use]
pub fn taken() -> u64 {
    #[cfg(debug_assertions)]
    return TAKEN.get();
    #[cfg(not(debug_assertions))]
    0
}

#[inline(always)]
fn count() {
    // A thread that ends takes locks when its count may be gone.
    #[cfg(debug_assertions)]
    let _ = TAKEN.try_with(|taken| taken.set(taken.get() + 1));
}

/// Whoever panicked while it had the lock left what it protects as another one may find it.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    count();
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same of a lock for readers.
#[inline]
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    count();
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// The same for a writer.
#[inline]
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    count();
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
