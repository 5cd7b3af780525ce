//! The age of a zone across a restart, in time of day: the only clock that is the same before and after.

/// When a zone was last known to be current, and when it expires: seconds since 1970. Kind 5 of the journal's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// When a primary last said that it is current, or sent it.
    pub checked: u64,
    /// When it is not served any more.
    pub expires: u64,
}

/// What that means at a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Age {
    /// Seconds since it was checked.
    pub(super) age: u32,
    /// Seconds until it expires; 0: it has.
    pub(super) left: u32,
    /// Whether the clock says less than when it was checked, so that nobody knows.
    pub(super) is_unknown: bool,
}

impl Kept {
    /// The age at `unix`. `expire`: the zone's own interval, beyond which no clock can lead.
    pub(super) fn age(&self, unix: u64, expire: u32) -> Age {
        let is_unknown = unix < self.checked;
        let from = unix.max(self.checked);
        Age {
            age: u32::try_from(from - self.checked).unwrap_or(u32::MAX),
            left: u32::try_from(self.expires.saturating_sub(from)).unwrap_or(u32::MAX).min(expire),
            is_unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_jump() {
        let kept = Kept { checked: 1_000_000, expires: 1_600_000 };
        let of = |unix| {
            let Age { age, left, is_unknown } = kept.age(unix, 604_800);
            (age, left, is_unknown)
        };
        assert_eq!(of(1_000_100), (100, 599_900, false));
        // Back: nothing is known to have passed. Forwards: all of it may have.
        assert_eq!(of(0), (0, 600_000, true));
        assert_eq!(of(1_600_000), (600_000, 0, false));
        assert_eq!(of(u64::MAX), (u32::MAX, 0, false));
        // What was kept by a clock far ahead leads no further than the interval.
        let ahead = Kept { checked: 1_000, expires: u64::MAX };
        assert_eq!(ahead.age(2_000, 604_800).left, 604_800);
    }
}
