//! The reader-writer lock of BIND 9: writers in the order in which they came and before readers, readers after a
//! quota of writers; readers that become writers and writers that become readers.
//!
//! ```
//! let lock = sync::RwLock::new(1);
//! let mut one = lock.write();
//! *one += 1;
//! let reader = one.downgrade();
//! assert_eq!(*reader, 2);
//! assert!(lock.try_write().is_none());
//! ```
//!
//! *Panics.* A writer that panics releases the lock and marks it as poisoned. Everybody can go on: a name server that
//! answers with what it has is better than one that does not, and who cares asks [`RwLock::is_poisoned`]. A reader
//! that panics changes nothing.
//!
//! A thread that asks for a lock which it has, in whatever way, waits for itself for ever if a writer is involved, and
//! so may a reader that asks a second time, as a writer may have come between. In builds with debug assertions either
//! panics at once, writer or not, and so do two threads that ask for two locks in two orders.
#![allow(unsafe_code)] // a value that the lock protects

mod raw;

use std::{
    cell::UnsafeCell,
    fmt, mem,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

pub use raw::{QUOTA, Raw};

use crate::{
    event::{Event, Native},
    profile::{Began, Held, Origin},
    taken::{Taken, waits},
};

/// A value that many read or one changes; see the module. `E` is how threads sleep.
pub struct RwLock<T: ?Sized, E = Native> {
    raw: Raw<E>,
    origin: Origin,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock moves with its value and has no thread of its own.
unsafe impl<T: ?Sized + Send, E: Event> Send for RwLock<T, E> {}
// SAFETY: `&RwLock` gives `&T` to several threads at once (`T: Sync`), and `&mut T`, from which a value can be taken
// out, to one after the other (`T: Send`). That the two exclude each other is what `Raw` is model-checked for.
unsafe impl<T: ?Sized + Send + Sync, E: Event> Sync for RwLock<T, E> {}

/// A reader's part of a lock.
#[must_use = "the lock is released with it"]
pub struct ReadGuard<'l, T: ?Sized, E: Event = Native> {
    lock: &'l RwLock<T, E>,
    held: Held,
    _taken: Taken,
}

/// A writer's part of a lock.
#[must_use = "the lock is released with it"]
pub struct WriteGuard<'l, T: ?Sized, E: Event = Native> {
    lock: &'l RwLock<T, E>,
    held: Held,
    _taken: Taken,
    /// The thread was panicking when it got the lock: its end then is none of this guard's matter.
    was_panicking: bool,
}

impl<T> RwLock<T> {
    /// An unlocked value, with [`QUOTA`] and a name for the profiler that says what it is.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T> {
        RwLock::named("rwlock", value)
    }

    /// The same with a name for the profiler.
    #[track_caller]
    pub fn named(name: &'static str, value: T) -> RwLock<T> {
        RwLock::with_quota(name, value, QUOTA)
    }
}

impl<T, E: Event> RwLock<T, E> {
    /// The same with so many writers in a row, at least 1, before readers have their turn.
    #[track_caller]
    pub fn with_quota(name: &'static str, value: T, quota: u32) -> RwLock<T, E> {
        RwLock {
            raw: Raw::new(quota),
            origin: Origin::here(name),
            poisoned: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, as nobody else has the lock any more.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized, E: Event> RwLock<T, E> {
    /// Waits until no writer waits or is active, or readers have their turn.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> ReadGuard<'_, T, E> {
        waits(&self.raw, self.origin);
        let began = Began::now();
        self.raw.read();
        ReadGuard { lock: self, held: began.held(), _taken: Taken::now(&self.raw, self.origin) }
    }

    /// The same without waiting.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T, E>> {
        let began = Began::now();
        if !self.raw.try_read() {
            return None;
        }
        Some(ReadGuard { lock: self, held: began.held(), _taken: Taken::now(&self.raw, self.origin) })
    }

    /// Waits for all writers that came before, then until no reader is left.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> WriteGuard<'_, T, E> {
        waits(&self.raw, self.origin);
        let began = Began::now();
        self.raw.write();
        WriteGuard::new(self, began.held(), Taken::now(&self.raw, self.origin))
    }

    /// The same without waiting: if nobody has the lock, before writers that wait.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T, E>> {
        let began = Began::now();
        if !self.raw.try_write() {
            return None;
        }
        Some(WriteGuard::new(self, began.held(), Taken::now(&self.raw, self.origin)))
    }

    /// The value, as nobody else can have the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether a writer panicked, and may have left the value half changed.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Relaxed)
    }

    /// Says that the value is in order again.
    pub fn clear_poison(&self) {
        self.poisoned.store(false, Ordering::Relaxed);
    }

    /// Writers that asked so far and writers that are done, and readers that wait to be admitted: for those who watch.
    /// The lock itself is not handed out: who could release it without having it would let a writer in beside readers.
    pub fn counts(&self) -> (u32, u32, u32) {
        self.raw.counts()
    }
}

impl<'l, T: ?Sized, E: Event> ReadGuard<'l, T, E> {
    /// Makes the only reader a writer, before writers that wait; gives the guard back where it is not alone.
    pub fn try_upgrade(mut self) -> Result<WriteGuard<'l, T, E>, ReadGuard<'l, T, E>> {
        if !self.lock.raw.try_upgrade() {
            return Err(self);
        }
        let (lock, held) = (self.lock, self.held.again(self.lock.origin));
        mem::forget(self);
        Ok(WriteGuard::new(lock, held, Taken::still(&lock.raw)))
    }
}

impl<'l, T: ?Sized, E: Event> WriteGuard<'l, T, E> {
    fn new(lock: &'l RwLock<T, E>, held: Held, taken: Taken) -> WriteGuard<'l, T, E> {
        WriteGuard { lock, held, _taken: taken, was_panicking: thread::panicking() }
    }

    /// Becomes a reader without letting another writer in between; readers that wait have the lock with it.
    pub fn downgrade(mut self) -> ReadGuard<'l, T, E> {
        self.lock.raw.downgrade();
        let (lock, held) = (self.lock, self.held.again(self.lock.origin));
        mem::forget(self);
        ReadGuard { lock, held, _taken: Taken::still(&lock.raw) }
    }
}

impl<T: ?Sized, E: Event> Deref for ReadGuard<'_, T, E> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is a reader of the lock: nobody has a `WriteGuard` until it is dropped.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, E: Event> Deref for WriteGuard<'_, T, E> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the writer of the lock: nobody has another guard until it is dropped.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, E: Event> DerefMut for WriteGuard<'_, T, E> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` makes this the only reference that this guard gave out.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized, E: Event> Drop for ReadGuard<'_, T, E> {
    #[inline]
    fn drop(&mut self) {
        let done = self.held.done();
        self.lock.raw.read_unlock();
        done.count(self.lock.origin);
    }
}

impl<T: ?Sized, E: Event> Drop for WriteGuard<'_, T, E> {
    #[inline]
    fn drop(&mut self) {
        if !self.was_panicking && thread::panicking() {
            self.lock.poisoned.store(true, Ordering::Relaxed);
        }
        let done = self.held.done();
        self.lock.raw.write_unlock();
        done.count(self.lock.origin);
    }
}

impl<T: ?Sized + fmt::Debug, E: Event> fmt::Debug for RwLock<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(value) => f.debug_tuple("RwLock").field(&&*value).finish(),
            None => f.write_str("RwLock(locked)"),
        }
    }
}

#[cfg(test)]
mod tests;
