//! Decimal numbers and TTLs.

/// A decimal number up to `max`; digits only.
#[inline]
pub(crate) fn decimal(text: &[u8], max: u64) -> Option<u64> {
    // Twenty digits may overflow 64 bits; leading zeros in such a number help nobody.
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let mut value = 0;
    for &octet in text {
        let digit = octet.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + digit as u64;
    }
    (value <= max).then_some(value)
}

/// A TTL or time span: seconds, or numbers each with a unit w, d, h, m or s in any case and order, as in
/// `1h30m`. At most 2^32 - 1 seconds: what a TTL above 2^31 - 1 means is for others to say (RFC 2181 8).
#[inline]
pub(crate) fn ttl(text: &[u8]) -> Option<u32> {
    if let Some(seconds) = decimal(text, u32::MAX as u64) {
        return Some(seconds as u32);
    }
    with_units(text)
}

fn with_units(text: &[u8]) -> Option<u32> {
    let (mut total, mut value, mut digits) = (0u64, 0u64, 0);
    let mut has_unit = false;
    for &octet in text {
        let unit = match octet.to_ascii_lowercase() {
            digit @ b'0'..=b'9' => {
                value = value * 10 + (digit - b'0') as u64;
                digits += 1;
                if digits > 10 {
                    return None;
                }
                continue;
            }
            b'w' => 604_800,
            b'd' => 86_400,
            b'h' => 3_600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        if digits == 0 || total > u32::MAX as u64 {
            return None;
        }
        total += value * unit;
        (value, digits, has_unit) = (0, 0, true);
    }
    // A number must have its unit once there are units at all.
    (digits == 0 && has_unit && total <= u32::MAX as u64).then_some(total as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        assert_eq!(decimal(b"0", 255), Some(0));
        assert_eq!(decimal(b"255", 255), Some(255));
        assert_eq!(decimal(b"256", 255), None);
        assert_eq!(decimal(b"", 255), None);
        assert_eq!(decimal(b"-1", 255), None);
        assert_eq!(decimal(b"1:", 255), None);
        assert_eq!(decimal(b"9999999999999999999", u64::MAX), Some(9_999_999_999_999_999_999));
        assert_eq!(decimal(b"18446744073709551616", u64::MAX), None);
    }

    #[test]
    fn ttls() {
        for (text, seconds) in [
            ("0", 0),
            ("2147483648", 1 << 31),
            ("4294967295", u32::MAX),
            ("4000w", 2_419_200_000),
            ("1h30m", 5_400),
            ("2W", 1_209_600),
            ("1w2d3h4m5s", 604_800 + 2 * 86_400 + 3 * 3_600 + 4 * 60 + 5),
            ("30m1h", 5_400),
            ("0s", 0),
        ] {
            assert_eq!(ttl(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in ["", "h", "1h30", "4294967296", "8000w", "1x", "-1", "99999999999s", "1 h"] {
            assert_eq!(ttl(text.as_bytes()), None, "{text}");
        }
    }
}
