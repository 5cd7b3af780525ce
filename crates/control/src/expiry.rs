//! When signatures expire, as the rows of zones have it.

use std::time::SystemTime;

/// Seconds from `now` until a zone's [first expiry](zone::pack::ZoneRow::first_expiry), negative if that is over; `None`: there is none. Right within 68 years
/// (RFC 4034 3.1.5).
pub(crate) fn remaining(first_expiry: u32, now: u64) -> Option<i64> {
    (first_expiry != 0).then(|| i64::from(first_expiry.wrapping_sub(now as u32) as i32))
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time that is `remaining` seconds from `now`, in seconds since 1970.
pub(crate) fn time(now: u64, remaining: i64) -> u64 {
    now.saturating_add_signed(remaining)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_round() {
        assert_eq!(remaining(0, 7), None);
        assert_eq!(remaining(100, 90), Some(10));
        assert_eq!(remaining(100, (1 << 32) + 90), Some(10));
        assert_eq!(remaining(10, (1 << 32) - 10), Some(20));
        assert_eq!(remaining(u32::MAX, (1 << 32) + 1), Some(-2));
        assert_eq!(time((1 << 32) - 10, 20), (1 << 32) + 10);
    }
}
