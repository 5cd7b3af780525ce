//! A value that is replaced as a whole, of a domain.
#![allow(unsafe_code)] // pointers to values that the domain keeps alive; see the head of `epoch`

use std::{marker::PhantomData, sync::Arc as Value};

use super::{
    Domain, Guard,
    garbage::{Piece, Thing},
    lock,
};
use crate::primitives::{AtomicPtr, Ordering};

/// A published value of a domain; never empty.
///
/// The pointer comes from [`Value::into_raw`] and owns one count. It is changed under the lock of the domain's garbage, together
/// with handing over what it pointed to, and loaded by readers without.
pub struct Cell<T: Send + Sync + 'static> {
    pointer: AtomicPtr<T>,
    domain: Domain,
    owns: PhantomData<Value<T>>,
}

impl<T: Send + Sync + 'static> Cell<T> {
    /// Publishes the first value, to readers of `domain`.
    pub fn new(domain: &Domain, value: Value<T>) -> Cell<T> {
        let pointer = AtomicPtr::new(Value::into_raw(value).cast_mut());
        Cell { pointer, domain: domain.clone(), owns: PhantomData }
    }

    /// The value published last when the guard's batch began, or a later one. It may be read as long as the batch lasts, even
    /// when the cell is gone; two loads in a batch may find two values.
    ///
    /// # Panics
    ///
    /// If the guard is of another domain.
    #[inline]
    pub fn load<'g>(&self, guard: &Guard<'g>) -> &'g T {
        assert!(guard.is_of(&self.domain), "a guard of another domain");
        // SAFETY: the pointer was published by this cell and comes from `Value::into_raw`. It was loaded in a batch of a reader of
        // the cell's domain, which the guard proves to last for `'g`. Who takes the value out of the cell hands its count to that
        // domain afterwards, so that no collection drops it before the batch is over (head of `epoch`).
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// The present value, kept alive for the caller. Takes a lock of the domain: not for threads that answer.
    pub fn current(&self) -> Value<T> {
        let _garbage = lock(&self.domain.shared.garbage);
        let pointer = self.pointer.load(Ordering::Acquire);
        // SAFETY: the cell owns a count of the value, and does not give it away while the lock is held.
        unsafe {
            Value::increment_strong_count(pointer);
            Value::from_raw(pointer)
        }
    }

    /// Publishes `value`: batches that begin after this returns see it. The old value goes to the domain, as garbage of `octets`
    /// octets. Neither waits nor frees.
    pub fn replace(&self, value: Value<T>, octets: usize) {
        let new = Value::into_raw(value).cast_mut();
        self.domain.shared.push(|| {
            // Acquire: the one that is dropped in the end was made by another thread.
            let old = self.pointer.swap(new, Ordering::AcqRel);
            // SAFETY: the count that the cell owned; readers that still use the value keep the domain from dropping it.
            Piece { thing: Thing::Shared(unsafe { Value::from_raw(old) }), octets }
        });
    }

    /// The domain whose readers may read this.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }
}

impl<T: Send + Sync + 'static> Drop for Cell<T> {
    /// Readers may still use the value: it goes to the domain too.
    fn drop(&mut self) {
        let pointer = self.pointer.load(Ordering::Acquire);
        // SAFETY: the count that the cell owned; nobody uses the cell any more, and no reader can find the pointer in it.
        let thing = Thing::Shared(unsafe { Value::from_raw(pointer) });
        self.domain.shared.push(|| Piece { thing, octets: size_of::<T>() });
    }
}
