//! Packets and captures made by hand, for the tests of this folder.

use super::capture::{Nanoseconds, SECOND};

/// From 192.0.2.1 to 192.0.2.2.
pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_at(protocol, 1, 0, payload)
}

/// A fragment, likewise.
pub fn ipv4_fragment(protocol: u8, id: u16, offset: usize, more: bool, payload: &[u8]) -> Vec<u8> {
    ipv4_at(protocol, id, (offset / 8) as u16 | if more { 0x2000 } else { 0 }, payload)
}

fn ipv4_at(protocol: u8, id: u16, place: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    for field in [payload.len() as u16 + 20, id, place] {
        packet.extend_from_slice(&field.to_be_bytes());
    }
    packet.extend_from_slice(&[64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    [&packet, payload].concat()
}

/// From 2001:db8::1 to 2001:db8::2; `next`: protocol or extension header.
pub fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[next, 64]);
    for host in [1, 2] {
        packet.extend_from_slice(&[0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    [&packet, payload].concat()
}

/// A fragment, likewise.
pub fn ipv6_fragment(protocol: u8, id: u32, offset: usize, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![protocol, 0];
    header.extend_from_slice(&(offset as u16 | u16::from(more)).to_be_bytes());
    header.extend_from_slice(&id.to_be_bytes());
    ipv6(44, &[&header, payload].concat())
}

/// A datagram in an IP packet of this version.
pub fn udp(version: u8, from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    for field in [from, to, payload.len() as u16 + 8, 0] {
        datagram.extend_from_slice(&field.to_be_bytes());
    }
    datagram.extend_from_slice(payload);
    if version == 4 { ipv4(17, &datagram) } else { ipv6(17, &datagram) }
}

/// A segment in an IPv4 packet.
pub fn tcp(from: u16, to: u16, sequence: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    let mut segment = [from.to_be_bytes(), to.to_be_bytes()].concat();
    segment.extend_from_slice(&sequence.to_be_bytes());
    segment.extend_from_slice(&[0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend_from_slice(data);
    ipv4(6, &segment)
}

/// A capture in the old form, little-endian, in microseconds.
pub fn pcap(link: u32, frames: &[(Nanoseconds, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    for (time, frame) in frames {
        let (seconds, fraction) = ((time / SECOND) as u32, (time % SECOND / 1000) as u32);
        for field in [seconds, fraction, frame.len() as u32, frame.len() as u32] {
            file.extend_from_slice(&field.to_le_bytes());
        }
        file.extend_from_slice(frame);
    }
    file
}

/// A capture in the new form, all frames on the first of the interfaces; `resolution`: digits of a second.
pub fn pcapng(links: &[u16], resolution: u8, frames: &[(Nanoseconds, Vec<u8>)]) -> Vec<u8> {
    let mut file = block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat());
    for link in links {
        let option = [9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0];
        file.extend(block(1, &[&link.to_le_bytes()[..], &[0; 6], &option].concat()));
    }
    for (time, frame) in frames {
        let units = (u128::from(*time) * 10u128.pow(resolution.into()) / u128::from(SECOND)) as u64;
        let mut body = vec![0; 4];
        for field in [(units >> 32) as u32, units as u32, frame.len() as u32, frame.len() as u32] {
            body.extend_from_slice(&field.to_le_bytes());
        }
        body.extend_from_slice(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body));
    }
    file
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, body, &length].concat()
}
