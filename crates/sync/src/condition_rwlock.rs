//! A reader-writer lock made of a mutex and two conditions, as BIND 9 had it before the paper: what a reader does to enter
//! and to leave, it does with the mutex, so that readers wait for each other there.
//!
//! Readers enter beside readers unless a writer waits and [`READERS_IN_A_ROW`] have entered since it came. The profiler tells
//! waiting for the mutex (`rwlock internals`) from waiting for a writer.

use std::{
    ops::{Deref, DerefMut},
    sync::{self, Condvar, PoisonError},
};

use crate::{
    profile::{Began, Held, Origin},
    system::Mutex,
};

/// Readers that may enter although a writer waits, as in BIND 9.3.
const READERS_IN_A_ROW: u32 = 4;

/// See the module.
pub struct ConditionRwLock<T> {
    origin: Origin,
    state: Mutex<State>,
    readable: Condvar,
    writable: Condvar,
    /// Never waited for: `state` lets in those alone that get it at once.
    value: sync::RwLock<T>,
}

#[derive(Default)]
struct State {
    readers: u32,
    is_written: bool,
    writers_waiting: u32,
    readers_waiting: u32,
    /// Readers that entered while a writer waited.
    in_a_row: u32,
}

/// A part of the lock. `G` is the guard of the value.
#[must_use = "the lock is released with it"]
pub struct ConditionGuard<'l, T, G> {
    lock: &'l ConditionRwLock<T>,
    held: Held,
    /// `None` only while it is dropped.
    inner: Option<G>,
}

/// Of a reader.
pub type ConditionReadGuard<'l, T> = ConditionGuard<'l, T, sync::RwLockReadGuard<'l, T>>;
/// Of a writer.
pub type ConditionWriteGuard<'l, T> = ConditionGuard<'l, T, sync::RwLockWriteGuard<'l, T>>;

impl<T> ConditionRwLock<T> {
    /// With a name for the profiler.
    #[track_caller]
    pub fn named(name: &'static str, value: T) -> ConditionRwLock<T> {
        ConditionRwLock {
            origin: Origin::here(name),
            state: Mutex::named("rwlock internals", State::default()),
            readable: Condvar::new(),
            writable: Condvar::new(),
            value: sync::RwLock::new(value),
        }
    }

    /// Waits until nobody writes.
    #[track_caller]
    pub fn read(&self) -> ConditionReadGuard<'_, T> {
        let mut state = self.state.lock();
        let began = Began::now();
        while state.is_written || (state.writers_waiting > 0 && state.in_a_row >= READERS_IN_A_ROW) {
            state.readers_waiting += 1;
            state.wait(&self.readable);
            state.readers_waiting -= 1;
        }
        state.readers += 1;
        state.in_a_row += u32::from(state.writers_waiting > 0);
        drop(state);
        let inner = self.value.read().unwrap_or_else(PoisonError::into_inner);
        ConditionGuard { lock: self, held: began.held(), inner: Some(inner) }
    }

    /// Waits until nobody has it.
    #[track_caller]
    pub fn write(&self) -> ConditionWriteGuard<'_, T> {
        let mut state = self.state.lock();
        let began = Began::now();
        state.writers_waiting += 1;
        while state.is_written || state.readers > 0 {
            state.wait(&self.writable);
        }
        state.writers_waiting -= 1;
        state.is_written = true;
        state.in_a_row = 0;
        drop(state);
        let inner = self.value.write().unwrap_or_else(PoisonError::into_inner);
        ConditionGuard { lock: self, held: began.held(), inner: Some(inner) }
    }

    /// One reader or the writer is gone.
    fn leave(&self) {
        let mut state = self.state.lock();
        let was_written = state.is_written;
        state.is_written = false;
        state.readers = state.readers.saturating_sub(u32::from(!was_written));
        let (readers, wakes_writer) =
            (state.readers_waiting > 0, state.readers == 0 && state.writers_waiting > 0);
        // After a writer the readers that wait come first, else the writers would keep them out.
        let wakes_readers = was_written && readers;
        drop(state);
        if wakes_readers {
            self.readable.notify_all();
        }
        if wakes_writer {
            self.writable.notify_one();
        }
    }
}

impl<T, G: Deref> Deref for ConditionGuard<'_, T, G> {
    type Target = G::Target;

    #[inline]
    fn deref(&self) -> &G::Target {
        self.inner.as_ref().expect("not dropped yet")
    }
}

impl<T, G: DerefMut> DerefMut for ConditionGuard<'_, T, G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        self.inner.as_mut().expect("not dropped yet")
    }
}

impl<T, G> Drop for ConditionGuard<'_, T, G> {
    fn drop(&mut self) {
        let done = self.held.done();
        drop(self.inner.take());
        self.lock.leave();
        done.count(self.lock.origin);
    }
}
