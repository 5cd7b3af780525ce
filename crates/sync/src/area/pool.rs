//! Things that are expensive to make, and each of which one thread has at a time.
//!
//! Thing number `n` waits at place `n` while it is idle, so that it is given back with one store. A thread looks first
//! where it found something last, which is likely to be there again and in its cache. Who may touch what: a place that
//! is not null belongs to whoever makes it null, a thing to whoever took it.
#![allow(unsafe_code)] // boxes that wait as pointers

use std::{ops::Deref, ptr};

use crate::primitives::{AtomicPtr, AtomicU32, LAST_PLACE, Ordering};

/// Most things of a pool, as in BIND 9: many more than threads that work at once, and 25 MB of work areas.
pub const AREAS_MAX: usize = 100;

/// See the module.
pub(super) struct Pool<T> {
    idle: Box<[AtomicPtr<T>]>,
    made: AtomicU32,
}

/// A thing taken out of a pool.
pub(super) struct Taken<T> {
    thing: Box<T>,
    place: usize,
}

impl<T> Pool<T> {
    pub(super) fn new(count_max: usize) -> Pool<T> {
        let count = count_max.clamp(1, AREAS_MAX);
        let idle = (0..count).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        Pool { idle, made: AtomicU32::new(0) }
    }

    /// An idle thing, or one that is made; `None` where as many as there may be are taken.
    pub(super) fn take(&self, make: impl FnOnce() -> T) -> Option<Taken<T>> {
        let (count, last) = (self.idle.len(), LAST_PLACE.get());
        let place = (0..count).map(|step| (last + step) % count).find_map(|place| self.take_at(place));
        if let Some(taken) = place {
            LAST_PLACE.set(taken.place);
            return Some(taken);
        }
        let mut made = self.made.load(Ordering::Relaxed);
        while (made as usize) < count {
            match self.made.compare_exchange(made, made + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    LAST_PLACE.set(made as usize);
                    return Some(Taken { thing: Box::new(make()), place: made as usize });
                }
                Err(now) => made = now,
            }
        }
        None
    }

    fn take_at(&self, place: usize) -> Option<Taken<T>> {
        let thing = self.idle[place].load(Ordering::Relaxed);
        if thing.is_null() {
            return None;
        }
        let taken =
            self.idle[place].compare_exchange(thing, ptr::null_mut(), Ordering::Acquire, Ordering::Relaxed);
        // SAFETY: the pointer of a box that `put` left here, and made null by this thread and no other. That the same
        // box may have been taken and put back since we looked does not matter: it is here, and now ours.
        taken.ok().map(|thing| Taken { thing: unsafe { Box::from_raw(thing) }, place })
    }

    /// Gives back what was taken from this pool.
    pub(super) fn put(&self, taken: Taken<T>) {
        let Taken { thing, place } = taken;
        self.idle[place].store(Box::into_raw(thing), Ordering::Release);
    }

    /// How many were made.
    pub(super) fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed) as usize
    }
}

impl<T> Deref for Taken<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.thing
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        // Those that are taken are dropped by who took them: nobody, as they borrow the pool.
        (0..self.idle.len()).for_each(|place| drop(self.take_at(place)));
    }
}

// SAFETY: it owns boxes of `T` that it hands from thread to thread.
unsafe impl<T: Send> Send for Pool<T> {}
// SAFETY: of a thing that several threads see the place, one gets it.
unsafe impl<T: Send> Sync for Pool<T> {}
