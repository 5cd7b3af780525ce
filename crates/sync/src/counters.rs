//! Counters declared once: each worker writes its own, anyone reads them.
//!
//! Rule: only the thread of the worker that owns a [`Number`] changes it, so a plain load and store suffice and no atomic
//! read-modify-write is paid per query. Readers may see counts of one batch partly added; each count by itself only grows.
//!
//! [`counters!`](crate::counters!) makes two structures of one list: the live numbers, and the values read from them.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

/// One number that only its owner changes.
#[derive(Debug, Default)]
pub struct Number(AtomicU64);

impl Number {
    /// Nothing counted yet.
    #[must_use]
    pub const fn new() -> Number {
        Number(AtomicU64::new(0))
    }

    /// Adds `amount`. To be called by the owner only: two writers would lose counts.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// Takes `amount` away again, for counts of what exists now.
    pub fn subtract(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(amount), Ordering::Relaxed);
    }

    /// The number.
    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Puts another in its place, for owners that count elsewhere.
    #[inline]
    pub fn write(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// What a counter counts: a number, or one for each of a few kinds.
pub trait Value: Copy {
    /// The same, live.
    type Live;

    /// Reads it.
    fn read(live: &Self::Live) -> Self;

    /// Shows it.
    fn write(&self, live: &Self::Live);

    /// Adds that of another worker.
    #[must_use]
    fn sum(self, other: Self) -> Self;

    /// The number, if it is one.
    fn number(&self) -> Option<u64>;
}

impl Value for u64 {
    type Live = Number;

    fn read(live: &Number) -> u64 {
        live.read()
    }

    #[inline]
    fn write(&self, live: &Number) {
        live.write(*self);
    }

    fn sum(self, other: u64) -> u64 {
        self.wrapping_add(other)
    }

    fn number(&self) -> Option<u64> {
        Some(*self)
    }
}

impl<const N: usize> Value for [u64; N] {
    type Live = [Number; N];

    fn read(live: &[Number; N]) -> [u64; N] {
        array::from_fn(|kind| live[kind].read())
    }

    #[inline]
    fn write(&self, live: &[Number; N]) {
        self.iter().zip(live).for_each(|(value, live)| live.write(*value));
    }

    fn sum(self, other: [u64; N]) -> [u64; N] {
        array::from_fn(|kind| self[kind].wrapping_add(other[kind]))
    }

    fn number(&self) -> Option<u64> {
        None
    }
}

/// Declares counters, each with its help and its name, and one for each of a few kinds with their number in brackets:
///
/// ```
/// sync::counters! {
///     /// The live counters of a worker.
///     pub live Live;
///     /// What a worker has counted.
///     pub values Values;
///
///     /// Messages received.
///     received,
///     /// Messages by kind.
///     kinds: [3],
/// }
/// let live = Live::default();
/// live.received.add(2);
/// live.kinds[1].add(1);
/// let twice = live.read().sum(live.read());
/// assert_eq!((twice.received, twice.kinds), (4, [0, 2, 0]));
/// assert_eq!(twice.each().collect::<Vec<_>>(), [("received", "Messages received.", 4)]);
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[$about_live:meta])* $vis_live:vis live $live:ident;
        $(#[$about_values:meta])* $vis:vis values $values:ident;
        $($(#[doc = $help:literal])+ $name:ident $(: [$kinds:expr])?,)+
    ) => {
        $(#[$about_live])*
        // On cache lines of their own (128 octets: neighbours are fetched in pairs).
        #[derive(Debug, Default)]
        #[repr(align(128))]
        $vis_live struct $live {
            $($(#[doc = $help])+ pub $name: <$crate::counters!(@value $($kinds)?) as $crate::counters::Value>::Live,)+
        }

        $(#[$about_values])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $values {
            $($(#[doc = $help])+ pub $name: $crate::counters!(@value $($kinds)?),)+
        }

        #[allow(dead_code, reason = "some owners count live, some elsewhere")]
        impl $live {
            /// Reads all counters.
            $vis_live fn read(&self) -> $values {
                $values { $($name: $crate::counters::Value::read(&self.$name),)+ }
            }

            /// Shows values that were counted elsewhere. To be called by the owner only.
            #[inline]
            $vis_live fn write(&self, values: &$values) {
                $($crate::counters::Value::write(&values.$name, &self.$name);)+
            }
        }

        impl $values {
            /// Adds the counts of another worker.
            #[must_use]
            pub fn sum(self, other: Self) -> Self {
                Self { $($name: $crate::counters::Value::sum(self.$name, other.$name),)+ }
            }

            /// Name, help text and value of each counter that is one number, for whoever prints or exports them.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                let all = [$((
                    stringify!($name),
                    concat!($($help),+).trim_ascii(),
                    $crate::counters::Value::number(&self.$name),
                ),)+];
                all.into_iter().filter_map(|(name, help, value)| Some((name, help, value?)))
            }
        }
    };
    (@value) => { u64 };
    (@value $kinds:expr) => { [u64; $kinds] };
}

#[cfg(test)]
mod tests {
    crate::counters! {
        /// Of a worker.
        live Live;
        /// Read from it.
        values Values;
        /// Messages
        /// received.
        received,
        /// Connections open now.
        open,
        /// By kind.
        kinds: [2],
    }

    #[test]
    fn counts_are_read_summed_and_listed() {
        let live = Live::default();
        live.received.add(5);
        live.open.add(3);
        live.open.subtract(1);
        live.kinds[1].add(7);
        let twice = live.read().sum(live.read());
        assert_eq!(twice, Values { received: 10, open: 4, kinds: [0, 14] });
        let listed: Vec<_> = twice.each().collect();
        assert_eq!(listed, [("received", "Messages received.", 10), ("open", "Connections open now.", 4)]);
    }

    #[test]
    fn counts_made_elsewhere_arrive() {
        let (live, values) = (Live::default(), Values { received: 1, open: 2, kinds: [3, 4] });
        live.write(&values);
        assert_eq!(live.read(), values);
    }

    #[test]
    fn workers_do_not_share_cache_lines() {
        assert_eq!(align_of::<Live>(), 128);
    }
}
