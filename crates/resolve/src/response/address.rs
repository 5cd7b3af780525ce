//! Addresses that no name server of the Internet has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses with the same upper bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// The addresses that have the upper `bits` bits of `address`; more bits than an address has are as many as it has.
    pub const fn new(address: IpAddr, bits: u8) -> Prefix {
        Prefix { address, bits }
    }

    const fn v4(a: u8, b: u8, bits: u8) -> Prefix {
        Prefix::new(IpAddr::V4(Ipv4Addr::new(a, b, 0, 0)), bits)
    }

    const fn v6(words: [u16; 8], bits: u8) -> Prefix {
        let [a, b, c, d, e, f, g, h] = words;
        Prefix::new(IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), bits)
    }

    /// Whether an address is one of them.
    pub fn has(&self, address: IpAddr) -> bool {
        let differing = match (self.address, address) {
            (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
            (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
            _ => return false,
        };
        let width = if address.is_ipv4() { 32 } else { 128 };
        differing >= u32::from(self.bits).min(width)
    }
}

/// Addresses that lead nowhere, to ourselves or to many at once (RFC 6890). Private ones are not among them: servers inside of a network
/// have such.
pub const NEVER_SERVERS: &[Prefix] = &[
    Prefix::v4(0, 0, 8),
    Prefix::v4(127, 0, 8),
    Prefix::v4(169, 254, 16),
    // Multicast, reserved, broadcast.
    Prefix::v4(224, 0, 3),
    // Unspecified, loopback; IPv4-compatible ones lead nowhere either.
    Prefix::v6([0; 8], 96),
    // IPv4 addresses in another coat.
    Prefix::v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96),
    Prefix::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    Prefix::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
];

/// Whether a server can have this address: RDATA of A or AAAA.
pub fn is_server(rdata: &[u8], never: &[Prefix]) -> bool {
    let address: IpAddr = match (<[u8; 4]>::try_from(rdata), <[u8; 16]>::try_from(rdata)) {
        (Ok(octets), _) => octets.into(),
        (_, Ok(octets)) => octets.into(),
        _ => return false,
    };
    !never.iter().any(|prefix| prefix.has(address))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        let found = match text.parse().unwrap() {
            IpAddr::V4(address) => is_server(&address.octets(), NEVER_SERVERS),
            IpAddr::V6(address) => is_server(&address.octets(), NEVER_SERVERS),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn servers() {
        for text in [
            "198.41.0.4",
            "10.1.2.3",
            "192.168.0.1",
            "2001:503:ba3e::2:30",
            "fd00::1",
            "1.0.0.0",
            "223.255.255.255",
        ] {
            check(text, true);
        }
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.0.9",
            "169.254.1.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
        ] {
            check(text, false);
        }
        for text in
            ["255.255.255.255", "::", "::1", "::7f00:1", "::ffff:192.0.2.1", "fe80::1", "febf::1", "ff02::1"]
        {
            check(text, false);
        }
        assert!(is_server(&[127, 0, 0, 1], &[]) && !is_server(&[1, 2, 3], &[]));
        let host = Prefix::new("192.0.2.1".parse().unwrap(), 200);
        assert!(host.has("192.0.2.1".parse().unwrap()) && !host.has("192.0.2.0".parse().unwrap()));
        assert!(!host.has("::".parse().unwrap()));
    }
}
