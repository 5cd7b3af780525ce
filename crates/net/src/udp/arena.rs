//! Memory that the kernel writes through pointers kept in message headers.
//!
//! The headers for `recvmmsg` are set up once and hold pointers into buffers, addresses and control areas. Those
//! pointers must stay valid while safe code looks at the same memory through slices, so each area is owned through
//! a raw pointer, from which both the kept pointers and the short-lived slices derive.
#![allow(unsafe_code)] // Owned raw memory shared with preset message headers; listed in ARCHITECTURE.md.

use std::ptr::NonNull;

/// A fixed array of `T` that does not move.
///
/// Invariant "owned": `base` points to `length` initialised values from a boxed slice, freed only by `drop`.
pub(crate) struct Arena<T: Copy> {
    base: NonNull<T>,
    length: usize,
}

// SAFETY: by "owned" the memory belongs to this value alone, as a boxed slice would.
unsafe impl<T: Copy + Send> Send for Arena<T> {}

impl<T: Copy> Arena<T> {
    pub(crate) fn new(values: Vec<T>) -> Self {
        let values = Box::leak(values.into_boxed_slice());
        let length = values.len();
        Self { base: NonNull::from(values).cast(), length }
    }

    /// Pointer to value `index`. It stays valid as long as the arena lives; whoever reads or writes through it must
    /// not do so while a slice of the arena is in use.
    pub(crate) fn pointer(&self, index: usize) -> *mut T {
        assert!(index < self.length, "an index lies beyond its arena");
        // SAFETY: by "owned" and the assertion the result lies inside the allocation.
        unsafe { self.base.as_ptr().add(index) }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: by "owned" the range is initialised; the kernel writes only during system calls of `Mmsg`, which
        // hold no slice.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.length) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as for `as_slice`; `&mut self` excludes other slices.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.length) }
    }
}

impl<T: Copy> Drop for Arena<T> {
    fn drop(&mut self) {
        let values = std::ptr::slice_from_raw_parts_mut(self.base.as_ptr(), self.length);
        // SAFETY: by "owned" this is the pointer and length that `new` took from a boxed slice.
        drop(unsafe { Box::from_raw(values) });
    }
}
