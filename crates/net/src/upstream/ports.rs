//! The source ports that questions may leave from: ranges without exceptions, each port equally likely.

use std::ops::RangeInclusive;

use sync::random::Unguessable;

/// Ports where UDP services of the same host would want to be. A socket of ours sits on a port for a minute, and a service that starts
/// meanwhile would fail to bind; those of TCP have ports of their own.
const PORTS_AVOIDED: [u16; 22] = [
    1194,  // OpenVPN
    1434,  // MS-SQL monitor
    1701,  // L2TP
    1812,  // RADIUS
    1813,  // RADIUS accounting
    1900,  // SSDP
    2049,  // NFS
    2123,  // GTP
    2152,  // GTP
    3478,  // STUN
    3784,  // BFD
    4500,  // IKE behind NAT
    4789,  // VXLAN
    5060,  // SIP
    5061,  // SIP
    5353,  // mDNS
    5355,  // LLMNR
    6081,  // Geneve
    8472,  // VXLAN of Linux
    10001, // discovery of access points
    11211, // memcached
    51820, // WireGuard
];

/// The lowest that is allowed by itself: below are the well-known ports, which belong to services (RFC 6335 6).
const PORT_MIN: u16 = 1024;

/// Fewest ports that may be allowed: so many sockets a pool must be able to open, and as many again, as not more than half of them are taken.
pub const PORTS_MIN: u32 = 2 * super::POOL_FLOOR as u32;

/// The ports that questions may leave from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// First and last of each range, in order, none touching another.
    ranges: Vec<(u16, u16)>,
    count: u32,
}

/// Fewer than [`PORTS_MIN`] ports are left; so many are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewPorts(pub u32);

impl Default for Ports {
    /// All but the well-known ones and those of services that are often on the same host.
    fn default() -> Self {
        let avoided = PORTS_AVOIDED.map(|port| port..=port);
        Self::new(&[PORT_MIN..=u16::MAX], &avoided).expect("all but a few are left")
    }
}

impl Ports {
    /// Those of `allowed` that are in no range of `excluded`; port 0 never is one. Ranges may overlap and may be empty.
    pub fn new(
        allowed: &[RangeInclusive<u16>],
        excluded: &[RangeInclusive<u16>],
    ) -> Result<Self, TooFewPorts> {
        let is_in = |ranges: &[RangeInclusive<u16>], port| ranges.iter().any(|range| range.contains(&port));
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        for port in (1..=u16::MAX).filter(|&port| is_in(allowed, port) && !is_in(excluded, port)) {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == port => *last = port,
                _ => ranges.push((port, port)),
            }
        }
        let count = ranges.iter().map(|&(first, last)| u32::from(last - first) + 1).sum();
        if count < PORTS_MIN { Err(TooFewPorts(count)) } else { Ok(Self { ranges, count }) }
    }

    /// How many there are, [`PORTS_MIN`] to 65,535.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// One of them at random.
    pub(super) fn draw(&self, random: &mut Unguessable) -> u16 {
        self.nth(random.below(self.count))
    }

    /// Number `index` of them, in order.
    fn nth(&self, mut index: u32) -> u16 {
        for &(first, last) in &self.ranges {
            let octets = u32::from(last - first) + 1;
            if index < octets {
                return first + index as u16;
            }
            index -= octets;
        }
        unreachable!("the ranges have as many ports as were counted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(ports: &Ports) -> Vec<u16> {
        (0..ports.count()).map(|index| ports.nth(index)).collect()
    }

    #[test]
    fn ranges_without_exceptions() {
        let ports = Ports::new(&[5_000..=7_000, 6_000..=8_000], &[0..=5_001, 7_999..=u16::MAX]).unwrap();
        assert_eq!(all(&ports), (5_002..=7_998).collect::<Vec<_>>());
        let ports = Ports::new(&[0..=u16::MAX], &[4..=4, 6..=60_000]).unwrap();
        assert_eq!(all(&ports)[..6], [1, 2, 3, 5, 60_001, 60_002]);
        assert_eq!(all(&ports).last(), Some(&u16::MAX));
    }

    #[test]
    fn too_few() {
        assert_eq!(Ports::new(&[], &[]), Err(TooFewPorts(0)));
        assert_eq!(Ports::new(&[1024..=3070], &[]), Err(TooFewPorts(2047)));
        assert_eq!(Ports::new(&[1024..=3071], &[]).unwrap().count(), 2048);
    }

    #[test]
    fn services_keep_their_ports() {
        let ports = all(&Ports::default());
        assert_eq!(ports.len(), 65_536 - 1_024 - PORTS_AVOIDED.len());
        assert!(ports.iter().all(|port| !PORTS_AVOIDED.contains(port) && *port >= PORT_MIN));
    }
}
