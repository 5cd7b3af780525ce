//! Sets of networks: clients of DNS64, private addresses, excluded ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks, ranges of addresses in order; a mapped IPv4 address (RFC 4291 2.5.5.2) counts as the IPv4 address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    v4: Box<[(u32, u32)]>,
    v6: Box<[(u128, u128)]>,
}

impl Networks {
    /// Of addresses and how many of their bits count; those after these are passed over, more than an address has mean all.
    pub fn new(prefixes: &[(IpAddr, u8)]) -> Networks {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for &(address, length) in prefixes {
            match address {
                IpAddr::V4(at) => {
                    let host = u32::MAX.checked_shr(length.into()).unwrap_or(0);
                    v4.push((at.to_bits() & !host, at.to_bits() | host));
                }
                IpAddr::V6(at) => {
                    let host = u128::MAX.checked_shr(length.into()).unwrap_or(0);
                    v6.push((at.to_bits() & !host, at.to_bits() | host));
                }
            }
        }
        Networks { v4: merged(v4), v6: merged(v6) }
    }

    /// From text such as `10.0.0.0/8`, for what is built in; others are passed over.
    pub(crate) fn built_in(texts: &[&str]) -> Networks {
        let prefix = |text: &&str| {
            let (address, length) = text.split_once('/')?;
            Some((address.parse().ok()?, length.parse().ok()?))
        };
        Networks::new(&texts.iter().filter_map(prefix).collect::<Vec<_>>())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    /// Whether an address is in one of them: a search in order.
    pub fn has(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(at) => self.has_v4(at),
            IpAddr::V6(at) => is_in(&self.v6, at.to_bits()),
        }
    }

    /// The same of an IPv4 address.
    pub fn has_v4(&self, address: Ipv4Addr) -> bool {
        is_in(&self.v4, address.to_bits())
    }

    /// The same of an IPv6 address as it is, mapped or not: whether an IPv6 network has it.
    pub fn has_v6(&self, address: Ipv6Addr) -> bool {
        is_in(&self.v6, address.to_bits())
    }
}

/// In order, those that overlap as one.
fn merged<N: Copy + Ord>(mut ranges: Vec<(N, N)>) -> Box<[(N, N)]> {
    ranges.sort_unstable();
    let mut all: Vec<(N, N)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match all.last_mut() {
            Some(before) if before.1 >= first => before.1 = before.1.max(last),
            _ => all.push((first, last)),
        }
    }
    all.into()
}

fn is_in<N: Copy + Ord>(ranges: &[(N, N)], address: N) -> bool {
    let after = ranges.partition_point(|range| range.0 <= address);
    after.checked_sub(1).is_some_and(|at| ranges[at].1 >= address)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_networks() {
        let networks = Networks::built_in(&[
            "10.0.0.0/8",
            "10.1.0.0/16",
            "192.0.2.7/32",
            "fd00::/8",
            "::/128",
            "0.0.0.0/33",
        ]);
        for (address, expected) in [
            ("9.255.255.255", false),
            ("10.0.0.0", true),
            ("10.255.255.255", true),
            ("11.0.0.0", false),
            ("::ffff:10.2.3.4", true),
            ("192.0.2.7", true),
            ("192.0.2.8", false),
            ("0.0.0.0", true),
            ("0.0.0.1", false),
            ("fdff::1", true),
            ("fe00::", false),
            ("::", true),
            ("::1", false),
        ] {
            assert_eq!(networks.has(address.parse().unwrap()), expected, "{address}");
        }
        assert!(Networks::default().is_empty() && !networks.is_empty());
        let all = Networks::built_in(&["0.0.0.0/0", "::/0"]);
        assert!(all.has("255.255.255.255".parse().unwrap()) && all.has("ffff::".parse().unwrap()));
    }
}
