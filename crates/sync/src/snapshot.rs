//! A value that is replaced as a whole: readers load one pointer a batch and never wait; a replaced value
//! is freed once every reader that may have seen it has moved on.
//!
//! ```text
//!              Published ---- current ---> value 3          slots, one a reader, a cache line each
//!  writer:  replace(value 4)                                 | 17 odd: in batch 9, may hold value 3
//!              swap current, fence,                          |  8 even: between batches, holds nothing
//!              note the odd slots: value 3 waits for them    | 24 even
//! ```
//!
//! Who touches what: `current` is stored by writers, which hold the lock of `retired`, and loaded by all.
//! A slot is stored by its reader alone and loaded by writers. It is odd from [`Reader::begin`] to
//! [`Reader::end`], and never takes the same odd value twice.
//!
//! Why it is right. `begin` makes the slot odd, fences, loads `current`; `replace` stores `current`, fences,
//! loads the slots. The fences are such that one of the two sees the other's store. Either the reader loads
//! the new value and has nothing to do with the old one, or the writer finds the slot odd and keeps the old
//! value until the slot has another value, which the reader stores with release ordering after its last use.
//! A reader that sleeps between batches is even and holds up nothing.
//!
//! Costs: `begin` one store to the reader's own line, one load and a fence that is free where the system
//! has `membarrier(2)`; `end` one store. No read-modify-write, no loop.
#![allow(unsafe_code)] // pointers to values that the protocol above keeps alive

use crate::primitives::{Arc, AtomicPtr, AtomicU64, Mutex, Ordering, heavy, light, prepare};
use std::sync::Arc as Value;
use std::sync::PoisonError;

/// A shared value; see the module. `Published` is the writers' side, [`Published::reader`] makes the others.
pub struct Published<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    /// Always points to `writers.current`.
    current: AtomicPtr<T>,
    writers: Mutex<Writers<T>>,
}

struct Writers<T> {
    current: Value<T>,
    slots: Vec<Arc<Slot>>,
    retired: Vec<Retired<T>>,
}

/// A reader's mark: odd within a batch. 128 octets, since processors fetch cache lines in pairs.
#[repr(align(128))]
struct Slot(AtomicU64);

/// A value that was replaced, and the batches that may still use it.
struct Retired<T> {
    value: Value<T>,
    waits_for: Vec<(Arc<Slot>, u64)>,
}

/// One reader, owned by one thread.
pub struct Reader<T> {
    shared: Arc<Shared<T>>,
    slot: Arc<Slot>,
    /// The slot's value, known here without loading it.
    turn: u64,
    /// Null between batches.
    value: *const T,
}

// SAFETY: the pointer is used only through `&self` methods that give out `&T`, and only between `begin` and
// `end`; sending the reader sends the right to read `T` from another thread, hence `T: Sync`, and it may come
// to drop the last `Shared<T>` with the values in it, hence `T: Send`.
unsafe impl<T: Send + Sync> Send for Reader<T> {}

impl<T: Send + Sync> Published<T> {
    /// Publishes the first value.
    pub fn new(value: Value<T>) -> Published<T> {
        prepare();
        let current = AtomicPtr::new(Value::as_ptr(&value).cast_mut());
        let writers = Mutex::new(Writers { current: value, slots: Vec::new(), retired: Vec::new() });
        Published { shared: Arc::new(Shared { current, writers }) }
    }

    /// A new reader, to be moved to its thread.
    pub fn reader(&self) -> Reader<T> {
        let slot = Arc::new(Slot(AtomicU64::new(0)));
        self.shared.change(|writers| writers.slots.push(Arc::clone(&slot)));
        Reader { shared: Arc::clone(&self.shared), slot, turn: 0, value: std::ptr::null() }
    }

    /// The present value, kept alive for the caller. Takes the writers' lock: not for the query path.
    pub fn current(&self) -> Value<T> {
        self.shared.change(|writers| Value::clone(&writers.current))
    }

    /// Publishes `value`. Batches that begin after this returns see it; the old one is freed by this call
    /// or a later one of [`Published::reclaim`], when no batch uses it any more. Never waits for readers.
    pub fn replace(&self, value: Value<T>) {
        let freed = self.shared.change(|writers| {
            self.shared.current.store(Value::as_ptr(&value).cast_mut(), Ordering::Release);
            let old = std::mem::replace(&mut writers.current, value);
            heavy();
            let waits_for = writers.slots.iter().filter_map(|slot| {
                let turn = slot.0.load(Ordering::Acquire);
                (turn % 2 == 1).then(|| (Arc::clone(slot), turn))
            });
            let waits_for = waits_for.collect();
            writers.retired.push(Retired { value: old, waits_for });
            writers.take_unused()
        });
        // Outside of the lock: freeing a large value takes its time.
        drop(freed);
    }

    /// Frees replaced values that no batch uses any more; returns how many are left.
    pub fn reclaim(&self) -> usize {
        let (freed, left) = self.shared.change(|writers| {
            let freed = writers.take_unused();
            (freed, writers.retired.len())
        });
        drop(freed);
        left
    }
}

impl<T> Shared<T> {
    fn change<R>(&self, act: impl FnOnce(&mut Writers<T>) -> R) -> R {
        // A panic in here could come only from running out of memory, before anything is changed.
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut writers)
    }
}

impl<T> Writers<T> {
    /// Takes out the retired values that can be freed.
    fn take_unused(&mut self) -> Vec<Value<T>> {
        for retired in &mut self.retired {
            // Acquire: what the reader did before it ended the batch is over before the value is freed.
            retired.waits_for.retain(|(slot, turn)| slot.0.load(Ordering::Acquire) == *turn);
        }
        let (free, used) =
            std::mem::take(&mut self.retired).into_iter().partition(|retired| retired.waits_for.is_empty());
        self.retired = used;
        let free: Vec<Retired<T>> = free;
        free.into_iter().map(|retired| retired.value).collect()
    }
}

impl<T> Reader<T> {
    /// Begins a batch with the value published last. A batch that was not ended (its thread panicked and
    /// went on) is ended first.
    #[inline]
    pub fn begin(&mut self) {
        self.end();
        self.turn += 1;
        // Release, as a writer may wait for the batch before this one and find this mark instead of its end.
        self.slot.0.store(self.turn, Ordering::Release);
        light();
        self.value = self.shared.current.load(Ordering::Acquire);
    }

    /// The value of this batch; `None` between batches.
    #[inline]
    pub fn value(&self) -> Option<&T> {
        // SAFETY: null, or set by `begin` of the batch that is not ended yet: its slot is odd, so that no
        // writer frees what the slot's owner loaded after making it odd (see the module). The borrow of
        // `self` ends before `begin` or `end` can be called, as both take `&mut self`.
        unsafe { self.value.as_ref() }
    }

    /// Ends the batch: its value may be freed.
    #[inline]
    pub fn end(&mut self) {
        if self.value.is_null() {
            return;
        }
        self.value = std::ptr::null();
        self.turn += 1;
        self.slot.0.store(self.turn, Ordering::Release);
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        self.end();
        let slot = &self.slot;
        self.shared.change(|writers| writers.slots.retain(|other| !Arc::ptr_eq(other, slot)));
    }
}
