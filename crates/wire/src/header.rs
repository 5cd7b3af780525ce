//! The header of a message (RFC 1035 4.1.1): ID, flags, four counts, twelve octets in all.

/// Octets of the header.
pub const HEADER_OCTETS: usize = 12;

/// The message is a response.
pub const QR: u16 = 0x8000;
/// The answer is authoritative.
pub const AA: u16 = 0x0400;
/// The message is truncated.
pub const TC: u16 = 0x0200;
/// Recursion desired; copied into the response.
pub const RD: u16 = 0x0100;
/// Recursion available.
pub const RA: u16 = 0x0080;
/// Authentic data (RFC 4035 3.2.3).
pub const AD: u16 = 0x0020;
/// Checking disabled; copied into the response (RFC 4035 3.1.6).
pub const CD: u16 = 0x0010;
/// Where the operation code is.
pub const OPCODE_MASK: u16 = 0x7800;

/// The operation code in `flags`.
#[inline(always)]
pub fn opcode(flags: u16) -> u8 {
    ((flags & OPCODE_MASK) >> 11) as u8
}

/// Two octets in network order; 0 beyond the end.
#[inline(always)]
pub fn u16_at(octets: &[u8], at: usize) -> u16 {
    match octets.get(at..at + 2) {
        Some(&[a, b]) => u16::from_be_bytes([a, b]),
        _ => 0,
    }
}

/// Four octets in network order; 0 beyond the end.
#[inline(always)]
pub fn u32_at(octets: &[u8], at: usize) -> u32 {
    match octets.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        assert_eq!(opcode(0x2800 | RD), 5);
        assert_eq!(u16_at(&[1, 2, 3], 1), 0x0203);
        assert_eq!(u16_at(&[1, 2, 3], 2), 0);
        assert_eq!(u32_at(&[1, 2, 3, 4], 0), 0x0102_0304);
    }
}
