//! Base 32 with the extended hex alphabet and without padding (RFC 4648 7), as owner labels of NSEC3 use it.

const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

/// Writes `octets` as text in lower case; `text` holds eight characters for every five octets.
pub(crate) fn encode(octets: &[u8], text: &mut [u8]) {
    debug_assert!(octets.len().is_multiple_of(5) && text.len() == octets.len() / 5 * 8);
    for (from, to) in octets.chunks_exact(5).zip(text.chunks_exact_mut(8)) {
        let group = from.iter().fold(0u64, |group, &octet| group << 8 | octet as u64);
        for (at, to) in to.iter_mut().enumerate() {
            *to = DIGITS[(group >> (35 - 5 * at)) as usize & 31];
        }
    }
}

/// Reads text of either case; false, and `octets` of no meaning, when it does not fill `octets` exactly or
/// has other characters.
pub(crate) fn decode(text: &[u8], octets: &mut [u8]) -> bool {
    debug_assert!(octets.len().is_multiple_of(5));
    if text.len() != octets.len() / 5 * 8 {
        return false;
    }
    for (from, to) in text.chunks_exact(8).zip(octets.chunks_exact_mut(5)) {
        let mut group = 0u64;
        for &digit in from {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'v' => digit - b'a' + 10,
                b'A'..=b'V' => digit - b'A' + 10,
                _ => return false,
            };
            group = group << 5 | value as u64;
        }
        to.copy_from_slice(&group.to_be_bytes()[3..]);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648 10 whose length needs no padding.
    #[test]
    fn both_ways() {
        let mut text = [0; 8];
        encode(b"fooba", &mut text);
        assert_eq!(&text, b"cpnmuoj1".map(|digit| digit.to_ascii_lowercase()).as_slice());
        let mut octets = [0; 5];
        assert!(decode(b"CPNMUOJ1", &mut octets));
        assert_eq!(&octets, b"fooba");
        assert!(!decode(b"CPNMUOJW", &mut octets));
        assert!(!decode(b"CPNMUOJ", &mut octets));
        assert!(!decode(b"CPNMUOJ1C", &mut octets));
    }
}
