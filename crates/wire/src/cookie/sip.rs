//! SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF"): a keyed hash of 64 bits for short inputs.

/// A key from its octets, two words in little-endian order.
pub(super) fn key(octets: &[u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(*octets);
    [both as u64, (both >> 64) as u64]
}

/// Hashes octets: `words` in little-endian order, the upper octet of the last of which is the number of octets, see [`last`].
#[inline(always)]
pub(super) fn hash<const N: usize>([k0, k1]: [u64; 2], words: [u64; N]) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    for word in words {
        v[3] ^= word;
        round(&mut v);
        round(&mut v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

/// The last word of `octets` octets: those that make no whole word.
#[inline(always)]
pub(super) fn last(rest: u64, octets: usize) -> u64 {
    rest | (octets as u64) << 56
}

#[inline(always)]
fn round(v: &mut [u64; 4]) {
    let [a, b, c, d] = v;
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference implementation: key 00 01 … 0f, inputs of 0, 1, … octets 00 01 02 ….
    #[test]
    fn vectors() {
        let key = key(&std::array::from_fn(|at| at as u8));
        for (octets, expected) in [
            (0, 0x726f_db47_dd0e_0e31),
            (1, 0x74f8_39c5_93dc_67fd),
            (7, 0xab02_00f5_8b01_d137),
            (8, 0x93f5_f579_9a93_2462),
            // Of the paper, appendix A.
            (15, 0xa129_ca61_49be_45e5_u64),
        ] {
            let input: Vec<u8> = (0..octets as u8).collect();
            let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, &octet| word << 8 | u64::from(octet));
            let whole = input.len() / 8 * 8;
            let words: Vec<u64> = input[..whole].chunks(8).map(word).collect();
            let last = last(word(&input[whole..]), octets);
            let found = match words[..] {
                [] => hash(key, [last]),
                [first] => hash(key, [first, last]),
                _ => unreachable!(),
            };
            assert_eq!(found, expected, "{octets}");
        }
    }
}
