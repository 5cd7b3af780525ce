//! From a frame to what IP carries in it, and from that to a datagram or segment.
//!
//! ```text
//! Ethernet (tags, PPPoE, MPLS) | Linux cooked | FDDI | loopback | nothing  ->  IPv4 | IPv6, extension headers  ->  UDP | TCP
//! ```
//!
//! Checksums are not looked at: where the network card computes them, captures of the sender hold wrong ones.

use std::net::{IpAddr, SocketAddr};

use pcap_parser::Linktype;

/// VLAN tags and the like in one frame: networks stack two or three.
const TAGS_MAX: usize = 8;
/// IPv6 extension headers in one packet: RFC 8200 4.1 knows eight.
const EXTENSIONS_MAX: usize = 8;
/// IP packets inside of IP packets: one tunnel in another, and that is odd.
const TUNNELS_MAX: usize = 3;

/// Protocol numbers (RFC 9293, RFC 768 and the registry).
mod protocol {
    pub const HOP_BY_HOP: u8 = 0;
    pub const IPV4: u8 = 4;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const AUTHENTICATION: u8 = 51;
    pub const DESTINATION: u8 = 60;
    pub const MOBILITY: u8 = 135;
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried<'p> {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Of `octets`; of a fragment that of the whole.
    pub protocol: u8,
    /// As captured, without padding of the link.
    pub octets: &'p [u8],
    /// Octets that the capture cut off.
    pub cut: usize,
    /// The place in a whole, where this is a part.
    pub fragment: Option<Fragment>,
}

/// Place of a fragment (RFC 791 3.1, RFC 8200 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification; of IPv4 16 bits.
    pub id: u32,
    /// Octets of the whole before this one; a multiple of eight.
    pub offset: usize,
    /// This is not the last one.
    pub more: bool,
}

/// A UDP datagram or a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport<'p> {
    Udp { from: SocketAddr, to: SocketAddr, payload: &'p [u8], cut: usize },
    Tcp { from: SocketAddr, to: SocketAddr, segment: Segment<'p> },
}

/// A TCP segment (RFC 9293 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'p> {
    /// Number of the first octet of `data`, or of SYN.
    pub sequence: u32,
    pub flags: u8,
    pub data: &'p [u8],
    /// Octets of data that the capture cut off.
    pub cut: usize,
}

/// Flags of a segment.
pub mod flag {
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const RST: u8 = 4;
    #[cfg(test)]
    pub const ACK: u8 = 16;
}

/// Whether frames of this link layer are read.
pub fn is_known(link: Linktype) -> bool {
    known(link).is_some()
}

/// What a frame carries over IP; `None` for other protocols and damaged headers.
pub fn carried(link: Linktype, frame: &[u8]) -> Option<Carried<'_>> {
    let packet = match known(link)? {
        Layer::Typed { type_at, octets } => network(u16_at(frame, type_at)?, frame.get(octets..)?)?,
        Layer::Ip { octets } => frame.get(octets..)?,
    };
    ip(packet, TUNNELS_MAX)
}

/// The datagram or segment of an unfragmented or reassembled packet; `None` for other protocols and damaged headers.
pub fn transport<'p>(carried: &Carried<'p>) -> Option<Transport<'p>> {
    let (protocol, octets) = after_extensions(carried.protocol, carried.octets)?;
    let from = SocketAddr::new(carried.source, u16_at(octets, 0)?);
    let to = SocketAddr::new(carried.destination, u16_at(octets, 2)?);
    match protocol {
        protocol::UDP => {
            let rest = octets.get(8..)?;
            // 0 stands for a datagram that a card is to cut up, or a jumbogram (RFC 2675): up to the end.
            let length = match usize::from(u16_at(octets, 4)?) {
                0 => rest.len() + carried.cut,
                length => length.checked_sub(8)?,
            };
            let payload = &rest[..length.min(rest.len())];
            Some(Transport::Udp { from, to, payload, cut: length - payload.len() })
        }
        protocol::TCP => {
            let data = octets.get(usize::from(octets.get(12)? >> 4) * 4..)?;
            let (sequence, flags) = (u32_at(octets, 4)?, *octets.get(13)?);
            Some(Transport::Tcp { from, to, segment: Segment { sequence, flags, data, cut: carried.cut } })
        }
        _ => None,
    }
}

/// Where a link layer says what follows it.
enum Layer {
    /// An EtherType at an offset, and where the rest begins.
    Typed { type_at: usize, octets: usize },
    /// Always IP, whose first four bits are its version.
    Ip { octets: usize },
}

fn known(link: Linktype) -> Option<Layer> {
    match link {
        Linktype::ETHERNET => Some(Layer::Typed { type_at: 12, octets: 14 }),
        // Frame control, two addresses, LLC and SNAP before the type (RFC 1390).
        Linktype::FDDI => Some(Layer::Typed { type_at: 19, octets: 21 }),
        Linktype::LINUX_SLL => Some(Layer::Typed { type_at: 14, octets: 16 }),
        Linktype::LINUX_SLL2 => Some(Layer::Typed { type_at: 0, octets: 20 }),
        // 12 and 14 are what BSD systems write for raw IP.
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12 | 14) => Some(Layer::Ip { octets: 0 }),
        Linktype::NULL | Linktype::LOOP => Some(Layer::Ip { octets: 4 }),
        _ => None,
    }
}

/// The IP packet behind an EtherType, perhaps behind tags.
fn network(mut ether_type: u16, mut octets: &[u8]) -> Option<&[u8]> {
    for _ in 0..TAGS_MAX {
        match ether_type {
            0x0800 | 0x86dd => return Some(octets),
            // IEEE 802.1Q: two octets of tag, then the type.
            0x8100 | 0x88a8 | 0x9100 => {
                ether_type = u16_at(octets, 2)?;
                octets = octets.get(4..)?;
            }
            // PPPoE (RFC 2516): six octets, then the protocol of PPP.
            0x8864 => return matches!(u16_at(octets, 6)?, 0x21 | 0x57).then(|| octets.get(8..))?,
            // MPLS (RFC 3032): labels of four octets, the last one marked; what follows is most likely IP.
            0x8847 => {
                let is_last = octets.get(2)? & 1 == 1;
                octets = octets.get(4..)?;
                if is_last {
                    return Some(octets);
                }
            }
            _ => return None,
        }
    }
    None
}

fn ip(packet: &[u8], tunnels: usize) -> Option<Carried<'_>> {
    let carried = match packet.first()? >> 4 {
        4 => ipv4(packet)?,
        6 => ipv6(packet)?,
        _ => return None,
    };
    match carried.protocol {
        protocol::IPV4 | protocol::IPV6 if carried.fragment.is_none() => {
            tunnels.checked_sub(1).and_then(|tunnels| ip(carried.octets, tunnels))
        }
        _ => Some(carried),
    }
}

fn ipv4(packet: &[u8]) -> Option<Carried<'_>> {
    let header_octets = usize::from(packet[0] & 15) * 4;
    let (octets, cut) = body(packet, header_octets.max(20), usize::from(u16_at(packet, 2)?))?;
    let place = u16_at(packet, 6)?;
    let (offset, more) = (usize::from(place & 0x1fff) * 8, place & 0x2000 != 0);
    let fragment = Fragment { id: u16_at(packet, 4)?.into(), offset, more };
    Some(Carried {
        source: IpAddr::from(*packet.get(12..16)?.first_chunk::<4>()?),
        destination: IpAddr::from(*packet.get(16..20)?.first_chunk::<4>()?),
        protocol: packet[9],
        octets,
        cut,
        fragment: (more || offset > 0).then_some(fragment),
    })
}

fn ipv6(packet: &[u8]) -> Option<Carried<'_>> {
    let length = match usize::from(u16_at(packet, 4)?) {
        0 => 0,
        length => length + 40,
    };
    let (octets, cut) = body(packet, 40, length)?;
    let (mut protocol, mut octets) = after_extensions(packet[6], octets)?;
    let mut fragment = None;
    if protocol == protocol::FRAGMENT {
        let place = u16_at(octets, 2)?;
        let (offset, more) = (usize::from(place & 0xfff8), place & 1 == 1);
        // An atomic fragment is a whole (RFC 6946).
        fragment = (more || offset > 0).then_some(Fragment { id: u32_at(octets, 4)?, offset, more });
        protocol = octets[0];
        octets = octets.get(8..)?;
    }
    Some(Carried {
        source: IpAddr::from(*packet.get(8..24)?.first_chunk::<16>()?),
        destination: IpAddr::from(*packet.get(24..40)?.first_chunk::<16>()?),
        protocol,
        octets,
        cut,
        fragment,
    })
}

/// What follows a header of `header_octets` in a packet of `length` octets, and how much of that was cut off.
///
/// `length` 0 stands for all there is: a packet that a network card is to cut up, captured before it did.
fn body(packet: &[u8], header_octets: usize, length: usize) -> Option<(&[u8], usize)> {
    let length = if length == 0 { packet.len() } else { length };
    let end = length.min(packet.len());
    Some((packet.get(header_octets..end)?, length - end))
}

/// Skips the extension headers of IPv6 but the one of fragments (RFC 8200 4). IPv4 knows only the one of RFC 4302.
fn after_extensions(mut protocol: u8, mut octets: &[u8]) -> Option<(u8, &[u8])> {
    use self::protocol::{AUTHENTICATION, DESTINATION, HOP_BY_HOP, MOBILITY, ROUTING};
    for _ in 0..EXTENSIONS_MAX {
        let length = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => usize::from(*octets.get(1)?) * 8 + 8,
            AUTHENTICATION => usize::from(*octets.get(1)?) * 4 + 8,
            _ => break,
        };
        protocol = octets[0];
        octets = octets.get(length..)?;
    }
    Some((protocol, octets))
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().map(|field| u16::from_be_bytes(*field))
}

fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|field| u32::from_be_bytes(*field))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::trace::samples;

    fn payload(link: i32, frame: &[u8]) -> Option<(u16, u16, Vec<u8>, usize)> {
        match transport(&carried(Linktype(link), frame)?)? {
            Transport::Udp { from, to, payload, cut } => {
                Some((from.port(), to.port(), payload.to_vec(), cut))
            }
            Transport::Tcp { .. } => None,
        }
    }

    #[test]
    fn link_layers() {
        let expected = Some((4096, 53, b"question".to_vec(), 0));
        for version in [4, 6] {
            let ip = samples::udp(version, 4096, 53, b"question");
            let [high, low] = if version == 4 { [8, 0] } else { [0x86, 0xdd] };
            let behind = |head: &[u8]| [head, &ip[..]].concat();
            let ethernet = |middle: &[u8]| behind(&[&[0; 12], middle].concat());
            assert_eq!(payload(1, &ethernet(&[high, low])), expected);
            assert_eq!(payload(1, &ethernet(&[0x81, 0, 0, 1, high, low])), expected);
            assert_eq!(payload(1, &ethernet(&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, high, low])), expected);
            let ppp = if version == 4 { 0x21 } else { 0x57 };
            assert_eq!(payload(1, &ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 50, 0, ppp])), expected);
            assert_eq!(payload(1, &ethernet(&[0x88, 0x47, 0, 1, 0, 9, 0, 2, 1, 9])), expected);
            assert_eq!(payload(113, &behind(&[&[0; 14], &[high, low][..]].concat())), expected);
            assert_eq!(payload(276, &behind(&[&[high, low][..], &[0; 18]].concat())), expected);
            assert_eq!(payload(10, &behind(&[&[0; 19], &[high, low][..]].concat())), expected);
            for raw in [101, 228, 12] {
                assert_eq!(payload(raw, &ip), expected);
            }
            assert_eq!(payload(0, &behind(&[2, 0, 0, 0])), expected);
            assert_eq!(payload(1, &ethernet(&[8, 6])), None);
            assert_eq!(payload(1, &ethernet(&[0x81, 0, 0, 1].repeat(9))), None);
        }
    }

    #[test]
    fn padding_and_cuts() {
        let ip = samples::udp(4, 4096, 53, b"question");
        let padded = [&ip[..], &[0; 10]].concat();
        assert_eq!(payload(101, &padded), Some((4096, 53, b"question".to_vec(), 0)));
        assert_eq!(payload(101, &ip[..ip.len() - 3]), Some((4096, 53, b"quest".to_vec(), 3)));
        let mut offloaded = ip.clone();
        offloaded[2..4].fill(0);
        assert_eq!(payload(101, &offloaded), Some((4096, 53, b"question".to_vec(), 0)));
        for length in 0..28 {
            assert_eq!(payload(101, &ip[..length]), None, "{length}");
        }
    }

    #[test]
    fn extension_headers() {
        let udp = &samples::udp(6, 4096, 53, b"question")[40..];
        let extensions = [&[60, 0, 0, 0, 0, 0, 0, 0, 17, 1][..], &[0; 14]].concat();
        let ip = samples::ipv6(0, &[&extensions[..], udp].concat());
        assert_eq!(payload(101, &ip), Some((4096, 53, b"question".to_vec(), 0)));
        // Hop-by-hop for ever.
        assert_eq!(payload(101, &samples::ipv6(0, &[0; 200])), None);
    }

    #[test]
    fn tunnels() {
        let mut ip = samples::udp(4, 4096, 53, b"question");
        for _ in 0..2 {
            ip = samples::ipv4(4, &ip);
            assert_eq!(payload(101, &ip), Some((4096, 53, b"question".to_vec(), 0)));
        }
        assert_eq!(payload(101, &samples::ipv6(4, &samples::ipv4(41, &ip))), None);
    }

    #[test]
    fn fragments_of_both() {
        let four = samples::ipv4_fragment(17, 7, 8, true, b"12345678");
        let carried_of = |frame: &[u8]| carried(Linktype::RAW, frame).unwrap().fragment;
        assert_eq!(carried_of(&four), Some(Fragment { id: 7, offset: 8, more: true }));
        let six = samples::ipv6_fragment(17, 70_000, 16, false, b"1234");
        assert_eq!(carried_of(&six), Some(Fragment { id: 70_000, offset: 16, more: false }));
        assert_eq!(carried_of(&samples::ipv6_fragment(17, 1, 0, false, b"1234")), None);
    }
}
