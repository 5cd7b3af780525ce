//! Base32 with the extended hex alphabet, without padding (RFC 4648 7, RFC 5155 3.3), in both cases.

use super::NONE;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
const DIGITS: [u8; 256] = super::digits(ALPHABET, true);

/// Decodes to at most 255 octets; `None` when `text` is no base32 or longer. Bits left over must be zero.
#[inline]
pub(crate) fn decode(text: &[u8], out: &mut [u8; 256]) -> Option<usize> {
    let length = text.len() * 5 / 8;
    if length > 255 || !matches!(text.len() % 8, 0 | 2 | 4 | 5 | 7) {
        return None;
    }
    let mut at = 0;
    let (groups, rest) = text.as_chunks::<8>();
    for group in groups {
        let mut bad = 0;
        let mut bits = 0u64;
        for &octet in group {
            let digit = DIGITS[octet as usize];
            bad |= digit;
            bits = bits << 5 | (digit & 31) as u64;
        }
        if bad == NONE {
            return None;
        }
        out[at..at + 5].copy_from_slice(&bits.to_be_bytes()[3..]);
        at += 5;
    }
    let (mut bits, mut count) = (0u64, 0);
    for &octet in rest {
        let digit = DIGITS[octet as usize];
        if digit == NONE {
            return None;
        }
        bits = bits << 5 | digit as u64;
        count += 5;
    }
    while count >= 8 {
        count -= 8;
        out[at] = (bits >> count) as u8;
        at += 1;
    }
    (bits & ((1 << count) - 1) == 0).then_some(at)
}

/// Appends the base32 of `octets`, in upper case.
pub(crate) fn encode(octets: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u32, 0);
    for &octet in octets {
        bits = bits << 8 | octet as u32;
        count += 8;
        while count >= 5 {
            count -= 5;
            out.push(ALPHABET[(bits >> count & 31) as usize]);
        }
    }
    if count > 0 {
        out.push(ALPHABET[(bits << (5 - count) & 31) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        // RFC 4648 10, padding left out.
        for (plain, text) in [
            ("", ""),
            ("f", "CO"),
            ("fo", "CPNG"),
            ("foo", "CPNMU"),
            ("foob", "CPNMUOG"),
            ("fooba", "CPNMUOJ1"),
            ("foobar", "CPNMUOJ1E8"),
        ] {
            let mut encoded = Vec::new();
            encode(plain.as_bytes(), &mut encoded);
            assert_eq!(encoded, text.as_bytes());
            let mut out = [0; 256];
            let length = decode(text.to_ascii_lowercase().as_bytes(), &mut out);
            assert_eq!(length.map(|length| &out[..length]), Some(plain.as_bytes()));
        }
        for text in ["C", "CPN", "CPNMUO", "CP", "CW", "CPNMUOJW", "CO======"] {
            assert_eq!(decode(text.as_bytes(), &mut [0; 256]), None, "{text}");
        }
        assert_eq!(decode(&[b'0'; 408], &mut [0; 256]), Some(255));
        assert_eq!(decode(&[b'0'; 416], &mut [0; 256]), None);
    }
}
