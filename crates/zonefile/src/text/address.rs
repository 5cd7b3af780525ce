//! IPv4 and IPv6 addresses, hardware addresses, node identifiers.

use super::hex;

/// Four decimal numbers up to 255 with dots between (RFC 1035 3.4.1); no leading zeros, which elsewhere
/// mean octal.
#[inline]
pub(crate) fn ipv4(text: &[u8]) -> Option<[u8; 4]> {
    let mut address = [0; 4];
    let mut rest = text.iter();
    for (at, octet) in address.iter_mut().enumerate() {
        let mut value = rest.next()?.wrapping_sub(b'0') as u32;
        if value > 9 {
            return None;
        }
        let first = value;
        loop {
            match rest.next() {
                Some(&digit @ b'0'..=b'9') if first != 0 && value < 100 => {
                    value = value * 10 + (digit - b'0') as u32
                }
                Some(b'.') if at < 3 => break,
                None if at == 3 => break,
                _ => return None,
            }
        }
        *octet = u8::try_from(value).ok()?;
    }
    Some(address)
}

/// An IPv6 address (RFC 4291 2.2), without scope.
#[inline]
pub(crate) fn ipv6(text: &[u8]) -> Option<[u8; 16]> {
    let mut groups = [0u16; 8];
    let mut count = 0;
    let mut gap = None; // how many groups stand before `::`
    let mut at = 0;
    if text.starts_with(b"::") {
        gap = Some(0);
        at = 2;
    }
    while at < text.len() {
        let start = at;
        let mut value = 0u32;
        while let Some(digit) = text.get(at).and_then(|&octet| hex::digit(octet)) {
            value = value << 4 | digit as u32;
            at += 1;
            if at - start > 4 {
                return None;
            }
        }
        if text.get(at) == Some(&b'.') {
            // The last 32 bits as an IPv4 address.
            let [a, b, c, d] = ipv4(&text[start..])?;
            *groups.get_mut(count + 1)? = u16::from_be_bytes([c, d]);
            groups[count] = u16::from_be_bytes([a, b]);
            count += 2;
            break;
        }
        if at == start {
            return None;
        }
        *groups.get_mut(count)? = value as u16;
        count += 1;
        match (text.get(at), text.get(at + 1)) {
            (None, _) => break,
            (Some(b':'), Some(b':')) if gap.is_none() => {
                gap = Some(count);
                at += 2;
            }
            (Some(b':'), Some(next)) if *next != b':' => at += 1,
            _ => return None,
        }
    }
    match gap {
        // `::` stands for at least one group of zero.
        Some(before) if count < 8 => {
            groups.copy_within(before..count, 8 - (count - before));
            groups[before..8 - (count - before)].fill(0);
        }
        None if count == 8 => {}
        _ => return None,
    }
    let mut address = [0; 16];
    for (octets, group) in address.chunks_exact_mut(2).zip(groups) {
        octets.copy_from_slice(&group.to_be_bytes());
    }
    Some(address)
}

/// `N` octets as pairs of digits with hyphens between: EUI-48, EUI-64 (RFC 7043 3.2, 4.2).
pub(crate) fn hyphenated<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != 3 * N - 1 {
        return None;
    }
    let mut address = [0; N];
    for (at, octet) in address.iter_mut().enumerate() {
        *octet = hex::digit(text[3 * at])? << 4 | hex::digit(text[3 * at + 1])?;
        if text.get(3 * at + 2).is_some_and(|&hyphen| hyphen != b'-') {
            return None;
        }
    }
    Some(address)
}

/// Four groups of one to four hexadecimal digits with colons between: NID and L64 (RFC 6742 2.1.2).
pub(crate) fn locator(text: &[u8]) -> Option<[u8; 8]> {
    let mut locator = [0; 8];
    let mut groups = text.split(|&octet| octet == b':');
    for octets in locator.chunks_exact_mut(2) {
        let group = groups.next()?;
        if !(1..=4).contains(&group.len()) {
            return None;
        }
        let value =
            group.iter().try_fold(0u16, |value, &octet| Some(value << 4 | hex::digit(octet)? as u16))?;
        octets.copy_from_slice(&value.to_be_bytes());
    }
    groups.next().is_none().then_some(locator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn check6(text: &str) {
        assert_eq!(
            ipv6(text.as_bytes()),
            text.parse::<Ipv6Addr>().ok().map(|address| address.octets()),
            "{text}"
        );
    }

    #[test]
    fn addresses() {
        for text in ["1.2.3.4", "255.255.255.255", "0.0.0.0"] {
            assert_eq!(ipv4(text.as_bytes()), text.parse::<Ipv4Addr>().ok().map(|address| address.octets()));
        }
        for text in
            ["1.2.3", "1.2.3.4.", "1.2.3.256", "01.2.3.4", "1..2.3", "", "1.2.3.4.5", "1.2.3.a", "1.2.3.1000"]
        {
            assert_eq!(ipv4(text.as_bytes()), None, "{text}");
        }
        for text in [
            "::",
            "::1",
            "1::",
            "2001:db8::1",
            "1:2:3:4:5:6:7:8",
            "::ffff:1.2.3.4",
            "1:2:3:4:5:6:1.2.3.4",
            "1::8",
            "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8",
            "1:2:3:4:5:6:7:8::",
            "1:2:3:4:5:6:7:8:9",
            "1:2",
            ":1",
            "1:",
            ":::",
            "1::2::3",
            "12345::",
            "g::",
            "1:2:3:4:5:6:7:1.2.3.4",
            "::1.2.3",
            "",
            ":",
            "1:::2",
            "::1:",
            "1::2:3:4:5:6:7:8",
        ] {
            check6(text);
        }
    }

    #[test]
    fn other_addresses() {
        assert_eq!(hyphenated(b"00-00-5e-00-53-2A"), Some([0, 0, 0x5e, 0, 0x53, 0x2a]));
        assert_eq!(hyphenated::<6>(b"00-00-5e-00-53-2"), None);
        assert_eq!(hyphenated::<6>(b"00:00:5e:00:53:2a"), None);
        assert_eq!(locator(b"2001:DB8:1140:1000"), Some([0x20, 1, 0xd, 0xb8, 0x11, 0x40, 0x10, 0]));
        for text in ["1:2:3", "1:2:3:4:5", "1:2:3:12345", "1:2:3:", "1::3:4"] {
            assert_eq!(locator(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn as_the_standard_library(text in "[0-9a-f:.]{0,24}") {
            check6(&text);
            let expected = text.parse::<Ipv4Addr>().ok().map(|address| address.octets());
            prop_assert_eq!(ipv4(text.as_bytes()), expected);
        }
    }
}
