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

mod published;
mod raw;

use std::{
    cell::UnsafeCell,
    fmt, mem,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

pub use published::Published;
pub use raw::{QUOTA, Raw};

use crate::{
    event::{Event, Native},
    profile::{Began, Held, Origin},
    taken::{Taken, waits},
};

mod sealed {
    /// A lock trusts an exclusion with its value, so that there are these and no others.
    pub trait Sealed {}
    impl<E: crate::event::Event> Sealed for super::Raw<E> {}
    impl Sealed for super::Published {}
}

/// Who may read and who may write, without what is read and written.
pub trait Exclusion: sealed::Sealed + Send + Sync {
    /// Unlocked; so many writers in a row before readers have their turn.
    fn new(quota: u32) -> Self;
    /// Waits until this thread may read.
    fn read(&self);
    /// Ends a reader.
    fn read_unlock(&self);
    /// Waits until this thread alone may write.
    fn write(&self);
    /// Ends a writer.
    fn write_unlock(&self);
}

impl<E: Event> Exclusion for Raw<E> {
    fn new(quota: u32) -> Raw<E> {
        Raw::new(quota)
    }

    #[inline]
    fn read(&self) {
        Raw::read(self);
    }

    #[inline]
    fn read_unlock(&self) {
        Raw::read_unlock(self);
    }

    #[inline]
    fn write(&self) {
        Raw::write(self);
    }

    #[inline]
    fn write_unlock(&self) {
        Raw::write_unlock(self);
    }
}

/// A value that many read or one changes; see the module. `R`: [`Raw`], or for comparison
/// [`Published`].
pub struct RwLock<T: ?Sized, R = Raw<Native>> {
    raw: R,
    origin: Origin,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock moves with its value and has no thread of its own.
unsafe impl<T: ?Sized + Send, R: Exclusion> Send for RwLock<T, R> {}
// SAFETY: `&RwLock` gives `&T` to several threads at once (`T: Sync`), and `&mut T`, from which a value can be taken
// out, to one after the other (`T: Send`). That the two exclude each other is what `Raw` is model-checked for.
unsafe impl<T: ?Sized + Send + Sync, R: Exclusion> Sync for RwLock<T, R> {}

/// A reader's part of a lock.
#[must_use = "the lock is released with it"]
pub struct ReadGuard<'l, T: ?Sized, R: Exclusion = Raw<Native>> {
    lock: &'l RwLock<T, R>,
    held: Held,
    _taken: Taken,
}

/// A writer's part of a lock.
#[must_use = "the lock is released with it"]
pub struct WriteGuard<'l, T: ?Sized, R: Exclusion = Raw<Native>> {
    lock: &'l RwLock<T, R>,
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

impl<T, R: Exclusion> RwLock<T, R> {
    /// The same with so many writers in a row, at least 1, before readers have their turn.
    #[track_caller]
    pub fn with_quota(name: &'static str, value: T, quota: u32) -> RwLock<T, R> {
        RwLock {
            raw: R::new(quota),
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

impl<T: ?Sized, R: Exclusion> RwLock<T, R> {
    /// Waits until no writer waits or is active, or readers have their turn.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> ReadGuard<'_, T, R> {
        waits(&self.raw, self.origin);
        let began = Began::now();
        self.raw.read();
        ReadGuard { lock: self, held: began.held(), _taken: Taken::now(&self.raw, self.origin) }
    }

    /// Waits for all writers that came before, then until no reader is left.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> WriteGuard<'_, T, R> {
        waits(&self.raw, self.origin);
        let began = Began::now();
        self.raw.write();
        WriteGuard::new(self, began.held(), Taken::now(&self.raw, self.origin))
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
}

impl<T: ?Sized, E: Event> RwLock<T, Raw<E>> {
    /// [`RwLock::read`] without waiting.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T, Raw<E>>> {
        let began = Began::now();
        if !self.raw.try_read() {
            return None;
        }
        Some(ReadGuard { lock: self, held: began.held(), _taken: Taken::now(&self.raw, self.origin) })
    }

    /// [`RwLock::write`] without waiting: if nobody has the lock, before writers that wait.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T, Raw<E>>> {
        let began = Began::now();
        if !self.raw.try_write() {
            return None;
        }
        Some(WriteGuard::new(self, began.held(), Taken::now(&self.raw, self.origin)))
    }

    /// Writers that asked so far and writers that are done, and readers that wait to be admitted: for those who watch.
    /// The lock itself is not handed out: who could release it without having it would let a writer in beside readers.
    pub fn counts(&self) -> (u32, u32, u32) {
        self.raw.counts()
    }
}

impl<'l, T: ?Sized, E: Event> ReadGuard<'l, T, Raw<E>> {
    /// Makes the only reader a writer, before writers that wait; gives the guard back where it is not alone.
    pub fn try_upgrade(mut self) -> Result<WriteGuard<'l, T, Raw<E>>, ReadGuard<'l, T, Raw<E>>> {
        if !self.lock.raw.try_upgrade() {
            return Err(self);
        }
        let (lock, held) = (self.lock, self.held.again(self.lock.origin));
        mem::forget(self);
        Ok(WriteGuard::new(lock, held, Taken::still(&lock.raw)))
    }
}

impl<'l, T: ?Sized, R: Exclusion> WriteGuard<'l, T, R> {
    fn new(lock: &'l RwLock<T, R>, held: Held, taken: Taken) -> WriteGuard<'l, T, R> {
        WriteGuard { lock, held, _taken: taken, was_panicking: thread::panicking() }
    }
}

impl<'l, T: ?Sized, E: Event> WriteGuard<'l, T, Raw<E>> {
    /// Becomes a reader without letting another writer in between; readers that wait have the lock with it.
    pub fn downgrade(mut self) -> ReadGuard<'l, T, Raw<E>> {
        self.lock.raw.downgrade();
        let (lock, held) = (self.lock, self.held.again(self.lock.origin));
        mem::forget(self);
        ReadGuard { lock, held, _taken: Taken::still(&lock.raw) }
    }
}

impl<T: ?Sized, R: Exclusion> Deref for ReadGuard<'_, T, R> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is a reader of the lock: nobody has a `WriteGuard` until it is dropped.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, R: Exclusion> Deref for WriteGuard<'_, T, R> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the writer of the lock: nobody has another guard until it is dropped.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, R: Exclusion> DerefMut for WriteGuard<'_, T, R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` makes this the only reference that this guard gave out.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized, R: Exclusion> Drop for ReadGuard<'_, T, R> {
    #[inline]
    fn drop(&mut self) {
        let done = self.held.done();
        self.lock.raw.read_unlock();
        done.count(self.lock.origin);
    }
}

impl<T: ?Sized, R: Exclusion> Drop for WriteGuard<'_, T, R> {
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

impl<T: ?Sized + fmt::Debug, E: Event> fmt::Debug for RwLock<T, Raw<E>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(value) => f.debug_tuple("RwLock").field(&&*value).finish(),
            None => f.write_str("RwLock(locked)"),
        }
    }
}

#[cfg(test)]
mod tests;
