//! Who asks: an address and a port, smaller than the standard one.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// An address and port in 24 octets, which a standard one takes 32 for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// IPv4: the first four.
    ip: [u8; 16],
    /// The interface of a link-local address; 0 for others.
    scope: u32,
    port: u16,
    is_v4: bool,
}

const _: () = assert!(size_of::<Address>() == 24);

impl Address {
    /// Nobody.
    pub const NONE: Self = Self { ip: [0; 16], scope: 0, port: 0, is_v4: true };

    /// An IPv4 address.
    #[inline]
    pub fn v4(octets: [u8; 4], port: u16) -> Self {
        let mut ip = [0; 16];
        ip[..4].copy_from_slice(&octets);
        Self { ip, scope: 0, port, is_v4: true }
    }

    /// An IPv6 address; `scope`: see [`Address::scope`].
    #[inline]
    pub fn v6(ip: [u8; 16], port: u16, scope: u32) -> Self {
        Self { ip, scope, port, is_v4: false }
    }

    /// The address alone. Only on a dual-stack socket that a service manager opened is an IPv4 address a mapped one.
    pub fn ip(&self) -> IpAddr {
        if self.is_v4 {
            IpAddr::V4(Ipv4Addr::new(self.ip[0], self.ip[1], self.ip[2], self.ip[3]))
        } else {
            IpAddr::V6(Ipv6Addr::from(self.ip))
        }
    }

    /// The octets of the address alone: of an IPv4 one the first four, and zeros.
    #[inline]
    pub fn octets(&self) -> [u8; 16] {
        self.ip
    }

    /// Whether [`Address::ip`] is an IPv4 address; a mapped one is not.
    #[inline]
    pub fn is_v4(&self) -> bool {
        self.is_v4
    }

    /// Whether it is an IPv4 address, and the first 64 bits: those of an IPv4 one in the upper half, the others zero. A mapped one is IPv4.
    #[inline(always)]
    pub fn leading_bits(&self) -> (bool, u64) {
        let [a, b, c, d, e, f, g, h, ..] = self.ip;
        let bits = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        if self.is_v4 || bits != 0 { (self.is_v4, bits) } else { self.leading_bits_of_mapped() }
    }

    #[cold]
    fn leading_bits_of_mapped(&self) -> (bool, u64) {
        match self.ip().to_canonical() {
            IpAddr::V4(v4) => (true, u64::from(v4.to_bits()) << 32),
            IpAddr::V6(_) => (false, 0),
        }
    }

    /// Whether the client has IPv6; one with a mapped address has IPv4.
    #[inline]
    pub fn is_ipv6(&self) -> bool {
        !self.leading_bits().0
    }

    /// The port.
    #[inline]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The interface of a link-local address; 0 for others.
    pub fn scope(&self) -> u32 {
        self.scope
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(at) => Self::v4(at.ip().octets(), at.port()),
            SocketAddr::V6(at) => Self::v6(at.ip().octets(), at.port(), at.scope_id()),
        }
    }
}

impl From<Address> for SocketAddr {
    fn from(address: Address) -> Self {
        match address.ip() {
            IpAddr::V4(ip) => (ip, address.port).into(),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, address.port, 0, address.scope).into(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(out)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_they_were() {
        for text in
            ["192.0.2.1:53", "[2001:db8::1]:65535", "[fe80::1%7]:1", "[::ffff:192.0.2.1]:53", "0.0.0.0:0"]
        {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(SocketAddr::from(Address::from(address)), address);
            assert_eq!(Address::from(address).to_string(), text);
            assert_eq!(
                (Address::from(address).ip(), Address::from(address).port()),
                (address.ip(), address.port())
            );
        }
        let bits = |text: &str| Address::from(text.parse::<SocketAddr>().unwrap()).leading_bits();
        assert_eq!(bits("192.0.2.1:5"), (true, 0xc000_0201_0000_0000));
        assert_eq!(bits("[::ffff:192.0.2.1]:5"), bits("192.0.2.1:5"));
        assert_eq!(bits("[2001:db8:1:2:3::1]:5"), (false, 0x2001_0db8_0001_0002));
        assert_eq!((bits("[::1]:5"), bits("0.0.0.0:5")), ((false, 0), (true, 0)));
        let is_ipv6 = |text: &str| Address::from(text.parse::<SocketAddr>().unwrap()).is_ipv6();
        assert_eq!(["[::1]:5", "192.0.2.1:5", "[::ffff:192.0.2.1]:5"].map(is_ipv6), [true, false, false]);
        assert_eq!(Address::NONE, "0.0.0.0:0".parse::<SocketAddr>().unwrap().into());
    }
}
