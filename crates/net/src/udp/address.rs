//! Socket addresses and packet information as the kernel writes them, to and from the standard types.
//!
//! Everything is read from octets by position, so that nothing depends on the alignment of what the kernel wrote.
//! Linux lays these structures out alike on every architecture; ports and addresses are in network order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::context::Address;

/// Room for a `sockaddr_in6`, the longest address a UDP socket of ours meets.
pub(crate) const NAME_OCTETS: usize = 28;
/// `sockaddr_in`.
const NAME_V4_OCTETS: usize = 16;
/// `struct in_pktinfo`: interface (4), address the response should leave from (4), address in the header (4).
pub(super) const INFO_V4_OCTETS: usize = 12;
/// `struct in6_pktinfo`: address (16), interface (4).
pub(super) const INFO_V6_OCTETS: usize = 20;

/// A socket address as the kernel sees it; aligned as `sockaddr_in6` is.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Name(pub(crate) [u8; NAME_OCTETS]);

/// The address in the first `octets` octets of `name`; `None` for another family or a short one.
pub(crate) fn decode(name: &[u8], octets: usize) -> Option<Address> {
    let name = name.get(..octets)?;
    let family = i32::from(u16::from_ne_bytes([*name.first()?, *name.get(1)?]));
    let port = u16::from_be_bytes([*name.get(2)?, *name.get(3)?]);
    match family {
        libc::AF_INET if name.len() >= NAME_V4_OCTETS => Some(Address::v4(take(name, 4), port)),
        libc::AF_INET6 if name.len() >= NAME_OCTETS => {
            Some(Address::v6(take(name, 8), port, u32::from_ne_bytes(take(name, 24))))
        }
        _ => None,
    }
}

/// Writes `address` as the kernel wants it; returns how many octets that takes.
pub(crate) fn encode(address: Address, name: &mut [u8; NAME_OCTETS]) -> usize {
    name.fill(0);
    name[2..4].copy_from_slice(&address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => {
            name[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
            name[4..8].copy_from_slice(&ip.octets());
            NAME_V4_OCTETS
        }
        IpAddr::V6(ip) => {
            name[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            name[8..24].copy_from_slice(&ip.octets());
            name[24..].copy_from_slice(&address.scope().to_ne_bytes());
            NAME_OCTETS
        }
    }
}

/// The packet information that makes a datagram leave from `local`: its level, kind and octets. `ipv6`: of an IPv6 socket.
pub(super) fn encode_info(local: Address, ipv6: bool) -> (i32, i32, [u8; INFO_V6_OCTETS], usize) {
    let mut info = [0; INFO_V6_OCTETS];
    match local.ip() {
        IpAddr::V4(ip) if !ipv6 => {
            info[4..8].copy_from_slice(&ip.octets());
            (libc::IPPROTO_IP, libc::IP_PKTINFO, info, INFO_V4_OCTETS)
        }
        ip => {
            let ip = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            info[..16].copy_from_slice(&ip.octets());
            info[16..].copy_from_slice(&local.scope().to_ne_bytes());
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info, INFO_V6_OCTETS)
        }
    }
}

/// The local address that `in_pktinfo` names, and the same structure made ready for sending from there.
///
/// For sending, the interface is left to the routing table: the way back need not be the way the query came.
pub(super) fn decode_info_v4(info: &[u8; INFO_V4_OCTETS]) -> (IpAddr, [u8; INFO_V4_OCTETS]) {
    let source: [u8; 4] = take(info, 4);
    let mut reply = [0; INFO_V4_OCTETS];
    reply[4..8].copy_from_slice(&source);
    (Ipv4Addr::from(source).into(), reply)
}

/// The local address and interface that `in6_pktinfo` names, and the structure for sending from there.
///
/// A link-local address means nothing without its interface, which is therefore kept for those alone.
pub(super) fn decode_info_v6(info: &[u8; INFO_V6_OCTETS]) -> (Ipv6Addr, u32, [u8; INFO_V6_OCTETS]) {
    let source = Ipv6Addr::from(take::<16>(info, 0));
    let mut reply = *info;
    if !source.is_unicast_link_local() {
        reply[16..].fill(0);
    }
    (source, u32::from_ne_bytes(take(&reply, 16)), reply)
}

fn take<const N: usize>(octets: &[u8], at: usize) -> [u8; N] {
    let mut taken = [0; N];
    taken.copy_from_slice(&octets[at..at + N]);
    taken
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, SocketAddrV6};

    use super::*;

    #[test]
    fn addresses_of_both_families() {
        let mut name = [0; NAME_OCTETS];
        name[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        name[2..8].copy_from_slice(&[0, 53, 192, 0, 2, 1]);
        assert_eq!(decode(&name, 16), Some(SocketAddr::from(([192, 0, 2, 1], 53)).into()));
        assert_eq!(decode(&name, 15), None);

        name = [0; NAME_OCTETS];
        name[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        name[2..4].copy_from_slice(&[0x14, 0xB4]);
        name[8..10].copy_from_slice(&[0xFE, 0x80]);
        name[23] = 1;
        name[24..].copy_from_slice(&2_u32.to_ne_bytes());
        let address: SocketAddr = decode(&name, 28).unwrap().into();
        assert_eq!(address, SocketAddrV6::new("fe80::1".parse().unwrap(), 5300, 0, 2).into());
        assert_eq!(decode(&name, 27), None);
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for text in ["192.0.2.1:53", "[2001:db8::1]:5353", "[fe80::1%3]:53"] {
            let address: Address = text.parse::<SocketAddr>().unwrap().into();
            let mut name = [9; NAME_OCTETS];
            let octets = encode(address, &mut name);
            assert_eq!(decode(&name, octets), Some(address));
            let (_, _, info, octets) = encode_info(address, !text.starts_with('1'));
            match octets {
                INFO_V4_OCTETS => {
                    // Sent as the source, received as the destination.
                    assert_eq!(info[4..8], [192, 0, 2, 1]);
                }
                _ => {
                    let (ip, scope, _) = decode_info_v6(&info);
                    assert_eq!(Address::v6(ip.octets(), address.port(), scope), address);
                }
            }
        }
    }

    #[test]
    fn other_families_and_lengths_are_refused() {
        let name = [0; NAME_OCTETS];
        for octets in 0..NAME_OCTETS + 2 {
            assert_eq!(decode(&name, octets), None, "{octets} octets of family 0");
        }
    }

    #[test]
    fn the_interface_is_kept_for_link_local_sources_only() {
        let mut info = [0; INFO_V6_OCTETS];
        info[0] = 0xFE;
        info[1] = 0x80;
        info[16..].copy_from_slice(&7_u32.to_ne_bytes());
        assert_eq!(decode_info_v6(&info).1, 7);
        info[0] = 0x20;
        info[1] = 0x01;
        assert_eq!(decode_info_v6(&info).1, 0);
        assert_eq!(decode_info_v6(&info).2[16..], [0; 4]);

        let info = [9, 0, 0, 0, 127, 0, 0, 2, 127, 255, 255, 255];
        let (source, reply) = decode_info_v4(&info);
        assert_eq!(source, "127.0.0.2".parse::<IpAddr>().unwrap());
        assert_eq!(reply, [0, 0, 0, 0, 127, 0, 0, 2, 0, 0, 0, 0]);
    }
}
