//! A value that lives as long as anybody holds it, with the counter of whichever [`Protection`](crate::protection::Protection).
//!
//! What `std::sync::Arc` is to atomic counters, this is to any of [`Count`]: the same pointer, so that counters alone differ.
#![allow(unsafe_code)] // a pointer to what the count keeps alive

use std::{marker::PhantomData, ops::Deref, ptr::NonNull};

use crate::protection::Count;

/// One holder of a value.
pub struct Counted<T, C: Count> {
    inner: NonNull<Inner<T, C>>,
    owns: PhantomData<Inner<T, C>>,
}

struct Inner<T, C> {
    holders: C,
    value: T,
}

// SAFETY: as `Arc`: a holder in another thread gets `&T` there and may be the one that drops it. Counts are `Sync`.
unsafe impl<T: Send + Sync, C: Count> Send for Counted<T, C> {}
// SAFETY: `&Counted` gives `&T` and new holders, no more.
unsafe impl<T: Send + Sync, C: Count> Sync for Counted<T, C> {}

impl<T, C: Count> Counted<T, C> {
    /// With one holder.
    #[track_caller]
    pub fn new(value: T) -> Counted<T, C> {
        let inner = Box::new(Inner { holders: C::new(1), value });
        Counted { inner: NonNull::from(Box::leak(inner)), owns: PhantomData }
    }

    fn inner(&self) -> &Inner<T, C> {
        // SAFETY: made by `new` from a box, and freed by the last holder alone, which `self` shows is not gone.
        unsafe { self.inner.as_ref() }
    }
}

impl<T, C: Count> Clone for Counted<T, C> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Counted<T, C> {
        self.inner().holders.hold();
        Counted { inner: self.inner, owns: PhantomData }
    }
}

impl<T, C: Count> Deref for Counted<T, C> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T, C: Count> Drop for Counted<T, C> {
    #[inline]
    fn drop(&mut self) {
        if self.inner().holders.release() {
            // SAFETY: the count says that no other holder is left (`Count` is implemented here alone, and its `release`
            // comes after all that other holders did), and this one is not used after `drop`.
            drop(unsafe { Box::from_raw(self.inner.as_ptr()) });
        }
    }
}
