//! One word that says a number or points at a value: for tables of many millions of small things, which cannot spend the
//! 16 octets of a [`super::Cell`] on each.
#![allow(unsafe_code)] // pointers to values that the domain keeps alive; see the head of `epoch`

use std::marker::PhantomData;

use super::{
    Domain, Guard,
    garbage::{Piece, Thing},
};
use crate::primitives::{AtomicU64, Ordering};

/// Set in a word that says a number. No address has it: those of processes have the upper bit clear on all systems that we run on,
/// and [`Word`] asserts so.
const NUMBER: u64 = 1 << 63;

/// Eight octets: 0 for nothing, the upper bit and 63 bits of a number, or the address of a `T` of its own.
///
/// Does not know its domain, which its owner has; hence what [`Word::load`] demands.
pub struct Word<T: Send + Sync + 'static> {
    bits: AtomicU64,
    owns: PhantomData<Box<T>>,
}

/// What a word says: with `&T` to readers, with `Box<T>` from writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held<V> {
    /// Nothing.
    Nothing,
    /// A number below 2^63.
    Number(u64),
    /// A value.
    Value(V),
}

impl<T: Send + Sync + 'static> Default for Word<T> {
    fn default() -> Word<T> {
        Word::new(Held::Nothing)
    }
}

impl<T: Send + Sync + 'static> Word<T> {
    /// A word that says `held`.
    ///
    /// # Panics
    ///
    /// If a number is 2^63 or more, here and wherever one is given.
    pub fn new(held: Held<Box<T>>) -> Word<T> {
        Word { bits: AtomicU64::new(bits_of(held)), owns: PhantomData }
    }

    /// The word as it is, to compare it with what it was. The same bits may say something else once readers that saw the first have
    /// moved on.
    #[inline]
    pub fn bits(&self) -> u64 {
        self.bits.load(Ordering::Acquire)
    }

    /// What the word says, now or when the guard's batch began.
    ///
    /// # Safety
    ///
    /// The guard is of the domain that every [`Word::replace`] of this word is given, and the word itself is dropped only when
    /// no reader of that domain can use what it loaded from it: by the domain, or by whoever has waited for its readers.
    #[inline]
    pub unsafe fn load<'g>(&self, _guard: &Guard<'g>) -> Held<&'g T> {
        let bits = self.bits.load(Ordering::Acquire);
        match bits {
            0 => Held::Nothing,
            bits if bits & NUMBER != 0 => Held::Number(bits & !NUMBER),
            // SAFETY: the address of a box that was published in this word. It was loaded in a batch of the guard's reader, which
            // lasts for `'g`; who takes the box out hands it to the reader's domain, and the word is not dropped meanwhile (both
            // the caller's duty), so that nobody drops it before the batch is over (head of `epoch`).
            address => Held::Value(unsafe { &*std::ptr::with_exposed_provenance::<T>(address as usize) }),
        }
    }

    /// Has the word say `held`: batches that begin after this returns see it. A value that it held before goes to `domain`, as
    /// garbage of `octets` octets. Neither waits nor frees. Returns the bits of before.
    pub fn replace(&self, held: Held<Box<T>>, domain: &Domain, octets: usize) -> u64 {
        let old = self.bits.swap(bits_of(held), Ordering::AcqRel);
        // After the swap: a collection may take the piece at once.
        if let Some(value) = owned::<T>(old) {
            domain.shared.push(|| Piece { thing: Thing::Owned(value), octets });
        }
        old
    }
}

impl<T: Send + Sync + 'static> Drop for Word<T> {
    fn drop(&mut self) {
        drop(owned::<T>(self.bits.load(Ordering::Acquire)));
    }
}

fn bits_of<T>(held: Held<Box<T>>) -> u64 {
    match held {
        Held::Nothing => 0,
        Held::Number(number) => {
            assert!(number & NUMBER == 0, "a number of 63 bits");
            number | NUMBER
        }
        Held::Value(value) => {
            let address = Box::into_raw(value).expose_provenance() as u64;
            assert!(address & NUMBER == 0, "addresses have the upper bit clear");
            address
        }
    }
}

/// The value of a word that nobody can load these bits from any more.
fn owned<T>(bits: u64) -> Option<Box<T>> {
    // SAFETY: what is neither 0 nor a number comes from `Box::into_raw` in `bits_of`, and each was taken out of its word once, by
    // the swap or the drop that calls this.
    (bits != 0 && bits & NUMBER == 0)
        .then(|| unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<T>(bits as usize)) })
}
