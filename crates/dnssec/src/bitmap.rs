//! Type bitmaps of NSEC, NSEC3 and CSYNC (RFC 4034 4.1.2).
//!
//! ```text
//! +--------+--------+----------------------+
//! | window | octets | bitmap, 1..=32 octets|   once per window that has a type, windows ascending
//! +--------+--------+----------------------+
//! ```
//!
//! Type `t` is bit `t % 256` of window `t / 256`, counted from the most significant bit of the first octet.
//! The last octet of a window is not zero: trailing zeros are left out, and empty windows too.

/// The octets break one of the rules above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadBitmap;

/// A bitmap that was checked when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeBitmap<'a> {
    octets: &'a [u8],
}

impl<'a> TypeBitmap<'a> {
    /// Checks the shape of `octets`; no octets at all are the empty bitmap (an NSEC3 of an empty
    /// non-terminal).
    pub fn parse(octets: &'a [u8]) -> Result<TypeBitmap<'a>, BadBitmap> {
        let mut rest = octets;
        let mut last = None;
        while let Some((window, bits, after)) = split_window(rest) {
            if last >= Some(window) || bits.last() == Some(&0) {
                return Err(BadBitmap);
            }
            last = Some(window);
            rest = after;
        }
        if rest.is_empty() { Ok(TypeBitmap { octets }) } else { Err(BadBitmap) }
    }

    /// The octets as they stand in RDATA.
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Whether `rtype` is in the map.
    pub fn contains(&self, rtype: u16) -> bool {
        let [window, bit] = rtype.to_be_bytes();
        let mut rest = self.octets;
        while let Some((number, bits, after)) = split_window(rest) {
            if number == window {
                return bits.get(bit as usize / 8).is_some_and(|octet| octet & (0x80 >> (bit % 8)) != 0);
            }
            rest = after;
        }
        false
    }

    /// The types in ascending order.
    pub fn types(&self) -> impl Iterator<Item = u16> + use<'a> {
        let mut rest = self.octets;
        let windows = std::iter::from_fn(move || {
            let (window, bits, after) = split_window(rest)?;
            rest = after;
            Some((window, bits))
        });
        windows.flat_map(|(window, bits)| {
            bits.iter().enumerate().flat_map(move |(at, &octet)| {
                let set = (0..8u8).filter(move |bit| octet & (0x80 >> bit) != 0);
                set.map(move |bit| u16::from_be_bytes([window, 8 * at as u8 + bit]))
            })
        })
    }
}

/// Takes the first window: its number, its bits, what follows. `None` at the end or where the shape is wrong.
fn split_window(octets: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let &[window, length @ 1..=32, ref rest @ ..] = octets else { return None };
    let (bits, after) = rest.split_at_checked(length as usize)?;
    Some((window, bits, after))
}

/// Appends the bitmap of `types` to `rdata`. The types ascend; one that repeats counts once.
pub fn write_types(types: impl IntoIterator<Item = u16>, rdata: &mut Vec<u8>) {
    let mut start = None; // window number and where it starts in `rdata`
    for rtype in types {
        let [window, bit] = rtype.to_be_bytes();
        let at = match start {
            Some((open, at)) if open == window => at,
            _ => {
                debug_assert!(start.is_none_or(|(open, _)| open < window), "types ascend");
                let at = rdata.len();
                rdata.extend([window, 0]);
                start = Some((window, at));
                at
            }
        };
        let octets = bit / 8 + 1;
        if rdata[at + 1] < octets {
            rdata[at + 1] = octets;
            rdata.resize(at + 2 + octets as usize, 0);
        }
        rdata[at + 1 + octets as usize] |= 0x80 >> (bit % 8);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The NSEC record of RFC 4034 4.3: A MX RRSIG NSEC TYPE1234.
    #[test]
    fn example_of_the_rfc() {
        let mut expected = vec![0x00, 0x06, 0x40, 0x01, 0x00, 0x00, 0x00, 0x03, 0x04, 0x1b];
        expected.extend([0; 26]);
        expected.push(0x20);
        let types = [1, 15, 46, 47, 1234];
        let mut octets = Vec::new();
        write_types(types, &mut octets);
        assert_eq!(octets, expected);
        let bitmap = TypeBitmap::parse(&octets).unwrap();
        assert!(bitmap.types().eq(types));
        assert!((0..=u16::MAX).filter(|&rtype| bitmap.contains(rtype)).eq(types));
    }

    #[test]
    fn bad_shapes() {
        assert_eq!(TypeBitmap::parse(&[]).unwrap().types().count(), 0);
        for octets in [
            &[0u8][..],
            &[0, 0],
            &[0, 1],
            &[0, 1, 0],              // ends with a zero octet
            &[0, 2, 1, 0],           // the same
            &[0, 1, 1, 0, 1, 1],     // window twice
            &[1, 1, 1, 0, 1, 1],     // descending
            &[0, 33, 1, 1, 1, 1, 1], // too long a window
            &[0, 1, 1, 1],           // cut off
        ] {
            assert_eq!(TypeBitmap::parse(octets), Err(BadBitmap), "{octets:?}");
        }
    }
}
