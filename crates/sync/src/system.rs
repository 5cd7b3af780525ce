//! The locks of the standard library, as the others here have it: named, profiled, and without poisoning (see
//! [`crate::rwlock`]).

use std::{
    ops::{Deref, DerefMut},
    sync::{self, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use crate::{
    profile::{Began, Held, Origin},
    taken::{Taken, waits},
};

/// One at a time.
pub struct Mutex<T: ?Sized> {
    origin: Origin,
    inner: sync::Mutex<T>,
}

/// Many that read or one that writes, by the rules of the system.
pub struct SystemRwLock<T: ?Sized> {
    origin: Origin,
    inner: sync::RwLock<T>,
}

/// A part of one of these locks. `G` is the guard of the standard library.
#[must_use = "the lock is released with it"]
pub struct Guard<G> {
    origin: Origin,
    held: Held,
    _taken: Taken,
    /// `None` only while it is dropped.
    inner: Option<G>,
}

impl<T> Mutex<T> {
    /// With a name for the profiler that says what it is.
    #[track_caller]
    pub fn new(value: T) -> Mutex<T> {
        Mutex::named("mutex", value)
    }

    /// With a name for the profiler.
    #[track_caller]
    pub fn named(name: &'static str, value: T) -> Mutex<T> {
        Mutex { origin: Origin::here(name), inner: sync::Mutex::new(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until nobody has it.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> Guard<sync::MutexGuard<'_, T>> {
        waits(&self.inner, self.origin);
        let began = Began::now();
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Guard {
            origin: self.origin,
            held: began.held(),
            _taken: Taken::now(&self.inner, self.origin),
            inner: Some(inner),
        }
    }

    /// Takes it unless somebody has it for so long: for who can do without.
    #[track_caller]
    pub fn lock_within(&self, patience: Duration) -> Option<Guard<sync::MutexGuard<'_, T>>> {
        /// From try to try.
        const PAUSE: Duration = Duration::from_millis(1);
        let until = Instant::now() + patience;
        loop {
            match self.try_lock() {
                None if Instant::now() < until => std::thread::sleep(PAUSE),
                taken => return taken,
            }
        }
    }

    /// Takes it unless somebody has it.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<Guard<sync::MutexGuard<'_, T>>> {
        let began = Began::now();
        let inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Guard {
            origin: self.origin,
            held: began.held(),
            _taken: Taken::now(&self.inner, self.origin),
            inner: Some(inner),
        })
    }
}

impl<T> SystemRwLock<T> {
    /// With a name for the profiler that says what it is.
    #[track_caller]
    pub fn new(value: T) -> SystemRwLock<T> {
        SystemRwLock::named("system rwlock", value)
    }

    /// With a name for the profiler.
    #[track_caller]
    pub fn named(name: &'static str, value: T) -> SystemRwLock<T> {
        SystemRwLock { origin: Origin::here(name), inner: sync::RwLock::new(value) }
    }
}

impl<T: ?Sized> SystemRwLock<T> {
    /// Waits until nobody writes.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> Guard<sync::RwLockReadGuard<'_, T>> {
        waits(&self.inner, self.origin);
        let began = Began::now();
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        Guard {
            origin: self.origin,
            held: began.held(),
            _taken: Taken::now(&self.inner, self.origin),
            inner: Some(inner),
        }
    }

    /// Waits until nobody has it.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> Guard<sync::RwLockWriteGuard<'_, T>> {
        waits(&self.inner, self.origin);
        let began = Began::now();
        let inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        Guard {
            origin: self.origin,
            held: began.held(),
            _taken: Taken::now(&self.inner, self.origin),
            inner: Some(inner),
        }
    }
}

impl<'m, T> Guard<sync::MutexGuard<'m, T>> {
    /// Lets go of the mutex, sleeps until `condition` is told, and takes it again, as another acquisition by `self`.
    #[track_caller]
    pub(crate) fn wait(&mut self, condition: &sync::Condvar) {
        let Some(inner) = self.inner.take() else { return };
        self.held.done().count(self.origin);
        self.inner = Some(condition.wait(inner).unwrap_or_else(PoisonError::into_inner));
        self.held = Began::now().held();
    }
}

impl<G: Deref> Deref for Guard<G> {
    type Target = G::Target;

    #[inline]
    fn deref(&self) -> &G::Target {
        self.inner.as_ref().expect("not dropped yet")
    }
}

impl<G: DerefMut> DerefMut for Guard<G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        self.inner.as_mut().expect("not dropped yet")
    }
}

impl<G> Drop for Guard<G> {
    #[inline]
    fn drop(&mut self) {
        let done = self.held.done();
        drop(self.inner.take());
        done.count(self.origin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn who_can_do_without_does_not_wait_for_long() {
        let lock = Mutex::new(1);
        thread::scope(|scope| {
            let held = lock.lock();
            let tried = scope.spawn(|| lock.lock_within(Duration::from_millis(20)).map(|guard| *guard));
            assert_eq!(tried.join().ok(), Some(None));
            let waits = scope.spawn(|| lock.lock_within(Duration::from_secs(60)).map(|guard| *guard));
            thread::sleep(Duration::from_millis(5));
            drop(held);
            assert_eq!(waits.join().ok(), Some(Some(1)));
        });
    }
}
