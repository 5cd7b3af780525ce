//! Serials of zones (RFC 1982).

/// Whether serial `a` is newer than `b`. Of two that are 2^31 apart neither is.
pub fn is_newer(a: u32, b: u32) -> bool {
    matches!(a.wrapping_sub(b), 1..0x8000_0000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order() {
        assert!(is_newer(1, 0) && is_newer(0, u32::MAX) && is_newer(0x7fff_ffff, 0));
        assert!(!is_newer(0, 0) && !is_newer(0, 1) && !is_newer(0x8000_0000, 0) && !is_newer(0, 0x8000_0000));
    }
}
