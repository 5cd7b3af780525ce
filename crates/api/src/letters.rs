//! Octets as letters that stand in addresses and headers as they are: base64 for URLs (RFC 4648 5), without padding.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Octets as letters.
#[must_use]
pub fn from_octets(octets: &[u8]) -> String {
    let mut text = String::new();
    for three in octets.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, octet| bits << 8 | u32::from(*octet)) << (8 * (3 - three.len()));
        for at in 0..=three.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * at)) as usize & 63]));
        }
    }
    text
}

/// The octets that letters are; `None`: they are none, or another number of octets. Of each octets there is one text.
#[must_use]
pub fn to_octets<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut octets = Vec::with_capacity(N + 2);
    if text.len() != (8 * N).div_ceil(6) {
        return None;
    }
    for four in text.chunks(4) {
        let mut bits = 0u32;
        for letter in four {
            bits = bits << 6 | LETTERS.iter().position(|known| known == letter)? as u32;
        }
        bits <<= 6 * (4 - four.len());
        octets.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    let octets: [u8; N] = octets.try_into().ok()?;
    // Bits that the last letter has too many are zero.
    (from_octets(&octets).as_bytes() == text).then_some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (octets, text) in
            [(&b""[..], ""), (b"f", "Zg"), (b"fo", "Zm8"), (b"foo", "Zm9v"), (b"\xff\xfe\xfd\xfc", "__79_A")]
        {
            assert_eq!(from_octets(octets), text);
        }
        assert_eq!(to_octets(b""), Some([]));
        assert_eq!(to_octets(b"Zg"), Some(*b"f"));
        assert_eq!(to_octets(b"__79_A"), Some(*b"\xff\xfe\xfd\xfc"));
        let half: [u8; 32] = std::array::from_fn(|at| (at * 37) as u8);
        assert_eq!(to_octets(from_octets(&half).as_bytes()), Some(half));
        // Another number of octets, other letters, bits beyond the end.
        assert_eq!(to_octets::<2>(b"Zm9v"), None);
        assert_eq!(to_octets::<1>(b"Z="), None);
        assert_eq!(to_octets::<1>(b"Z+"), None);
        assert_eq!(to_octets::<1>(b"Zh"), None);
    }
}
