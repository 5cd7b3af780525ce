//! Networks: an address and how many of its bits count.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network. An IPv6 one inside the mapped IPv4 addresses (RFC 4291 2.5.5.2) is that IPv4 one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// Why an address and a length are no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixFault {
    /// The length is more than this, the bits that the address has.
    Length(u8),
    /// Bits after the prefix are set; with these zero it would be this one.
    HostBits(Prefix),
}

/// Bits before the IPv4 address in a mapped one.
const MAPPED_BITS: u8 = 96;

impl Prefix {
    /// The network of the first `length` bits of `address`, the others of which are zero.
    pub fn new(address: IpAddr, length: u8) -> Result<Prefix, PrefixFault> {
        let (address, length) = match (address, address.to_canonical()) {
            (IpAddr::V6(_), mapped @ IpAddr::V4(_)) if length >= MAPPED_BITS => {
                (mapped, length - MAPPED_BITS)
            }
            _ => (address, length),
        };
        let bits = if address.is_ipv4() { 32 } else { 128 };
        if length > bits {
            return Err(PrefixFault::Length(bits));
        }
        let first = match address {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & !below(length, 32) as u32)),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !below(length, 128))),
        };
        let prefix = Prefix { address: first, length };
        if first == address { Ok(prefix) } else { Err(PrefixFault::HostBits(prefix)) }
    }

    /// That of `length` bits which `address` is in; `None` where an address does not have so many.
    #[must_use]
    pub fn of(address: IpAddr, length: u8) -> Option<Prefix> {
        match Prefix::new(address, length) {
            Ok(prefix) | Err(PrefixFault::HostBits(prefix)) => Some(prefix),
            Err(PrefixFault::Length(_)) => None,
        }
    }

    /// Its first address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Bits that count.
    #[must_use]
    pub fn length(&self) -> u8 {
        self.length
    }

    /// The first and the last address of an IPv4 one.
    #[must_use]
    pub fn v4(&self) -> Option<(u32, u32)> {
        let IpAddr::V4(first) = self.address else { return None };
        Some((first.to_bits(), first.to_bits() | below(self.length, 32) as u32))
    }

    /// The same of an IPv6 one.
    #[must_use]
    pub fn v6(&self) -> Option<(u128, u128)> {
        let IpAddr::V6(first) = self.address else { return None };
        Some((first.to_bits(), first.to_bits() | below(self.length, 128)))
    }
}

/// The bits after the first `length` of `bits`.
fn below(length: u8, bits: u8) -> u128 {
    // A shift by all bits there are is none.
    u128::MAX.checked_shr(u32::from(length) + u32::from(128 - bits)).unwrap_or(0)
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}
