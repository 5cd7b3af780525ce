//! Finds the dots among sixteen octets of a name.
#![allow(unsafe_code)] // one load and three instructions of SSE2

/// One bit for each octet that is a dot, the first octet's lowest.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn dots(octets: &[u8; 16]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 belongs to every x86-64 machine; the load is of the sixteen octets of `octets` and needs
    // no alignment.
    unsafe {
        let loaded = _mm_loadu_si128(octets.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(loaded, _mm_set1_epi8(b'.' as i8))) as u32
    }
}

/// One bit for each octet that is a dot, the first octet's lowest.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn dots(octets: &[u8; 16]) -> u32 {
    reference(octets)
}

/// The same, octet by octet.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn reference(octets: &[u8; 16]) -> u32 {
    octets.iter().rev().fold(0, |bits, &octet| bits << 1 | (octet == b'.') as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_the_reference(octets in prop::array::uniform16(prop_oneof![Just(b'.'), any::<u8>()])) {
            prop_assert_eq!(dots(&octets), reference(&octets));
        }
    }
}
