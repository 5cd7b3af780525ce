//! The clock that entries age by.

/// Milliseconds of a monotonic clock that never goes back and does not follow the wall clock; where it begins is the caller's. Enough for half a
/// billion years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// So many milliseconds later.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Moment {
        Moment(self.0.saturating_add(ms))
    }

    /// So many seconds later.
    #[must_use]
    pub fn plus_seconds(self, seconds: u32) -> Moment {
        self.plus_ms(u64::from(seconds) * 1000)
    }

    /// Milliseconds from `earlier` to this; 0 where that is not earlier.
    #[must_use]
    pub fn ms_since(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
