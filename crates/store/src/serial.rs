//! Which serial a version gets (RFC 1982): never 0, always greater than that of the version before.

use change::serial::{SerialStyle, is_greater};

/// The serial after `before`, that of the newest version of a zone of this name, also of one that is gone; `None`: there was none. What the SOA record has
/// stands if it may.
#[must_use]
pub fn next(before: Option<u32>, soa: u32) -> u32 {
    match before {
        None if soa != 0 => soa,
        None => 1,
        Some(before) if soa != 0 && is_greater(soa, before) => soa,
        Some(before) => SerialStyle::Increment.after(before, 0),
    }
}

/// Whether a serial is greater than another.
pub(crate) fn is_above(serial: u32, other: u32) -> bool {
    is_greater(serial, other)
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn serials_grow_and_are_never_zero() {
        for (before, soa, expected) in [
            (None, 0, 1),
            (None, 7, 7),
            (None, u32::MAX, u32::MAX),
            (Some(7), 9, 9),
            (Some(7), 7, 8),
            (Some(7), 6, 8),
            (Some(7), 0, 8),
            (Some(u32::MAX), 0, 1),
            (Some(u32::MAX), 5, 5),
            // 2^31 apart: greater is undefined.
            (Some(1), 1 + (1 << 31), 2),
        ] {
            assert_eq!(next(before, soa), expected, "{before:?} {soa}");
        }
    }
}
