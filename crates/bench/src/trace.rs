//! Reads captures, pcap and pcapng: each UDP datagram over IPv4 and IPv6, and the queries in them.
//!
//! Frames that are not understood (other protocols, fragments, cut ones) are counted, not errors: real captures
//! hold all of them. TCP streams are not put together here.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};
use wire::{Name, iana};

use crate::{
    Error, error,
    error::CaptureProblem,
    query::{Edns, Query},
};

/// Reading buffer: must hold the largest block, and captures cut packets at 256 KiB at most.
const BUFFER_OCTETS: usize = 1 << 20;
/// UDP port of the DNS.
const DNS_PORT: u16 = 53;

/// What a capture held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets of any kind.
    pub packets: u64,
    /// UDP datagrams from or to port 53.
    pub datagrams: u64,
    /// Queries handed on.
    pub queries: u64,
    /// Datagrams to port 53 that are no ordinary query: damaged, other opcodes or classes.
    pub other: u64,
}

/// Hands each ordinary query (opcode QUERY, class IN, one question) of a capture to `take`, in its order.
///
/// `path`: a file, or `-` for standard input. A capture that ends inside a block is an error.
pub fn each_query(path: &Path, mut take: impl FnMut(Query)) -> Result<Tally, Error> {
    let mut tally = Tally::default();
    each_frame(path, |link, frame| {
        tally.packets += 1;
        let Some((source, destination, payload)) = datagram(link, frame) else { return };
        if destination == DNS_PORT || source == DNS_PORT {
            tally.datagrams += 1;
        }
        if destination == DNS_PORT && payload.get(2).is_some_and(|flags| flags & 0x80 == 0) {
            match query(payload) {
                Some(query) => {
                    tally.queries += 1;
                    take(query);
                }
                None => tally.other += 1,
            }
        }
    })?;
    Ok(tally)
}

/// Hands each frame with its link layer to `take`.
fn each_frame(path: &Path, mut take: impl FnMut(Linktype, &[u8])) -> Result<(), Error> {
    let input: Box<dyn Read + Send> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).map_err(error::file(path, "open"))?),
    };
    let mut offset = 0;
    let fault = |offset, problem| Error::Capture { path: path.to_owned(), offset, problem };
    let mut reader =
        create_reader(BUFFER_OCTETS, input).map_err(|_| fault(0, CaptureProblem::NotACapture))?;
    let mut links = Vec::new();
    loop {
        match reader.next() {
            Ok((used, block)) => {
                match block {
                    PcapBlockOwned::LegacyHeader(header) => links = vec![header.network],
                    PcapBlockOwned::NG(Block::SectionHeader(_)) => links.clear(),
                    PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                        links.push(interface.linktype)
                    }
                    PcapBlockOwned::Legacy(packet) => frame(&links, 0, packet.data, &mut take),
                    PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                        let captured = packet.data.len().min(packet.caplen as usize);
                        frame(&links, packet.if_id as usize, &packet.data[..captured], &mut take);
                    }
                    PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                        frame(&links, 0, packet.data, &mut take)
                    }
                    PcapBlockOwned::NG(_) => {}
                }
                if links.iter().any(|&link| !is_known(link)) {
                    return Err(fault(offset, CaptureProblem::UnknownLink));
                }
                offset += used as u64;
                reader.consume(used);
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::Incomplete(_)) => {
                if reader.reader_exhausted() || reader.refill().is_err() {
                    return Err(fault(offset, CaptureProblem::Truncated));
                }
            }
            Err(PcapError::ReadError) => return Err(fault(offset, CaptureProblem::Truncated)),
            Err(_) if offset == 0 => return Err(fault(offset, CaptureProblem::NotACapture)),
            Err(_) => return Err(fault(offset, CaptureProblem::Truncated)),
        }
    }
}

fn frame(links: &[Linktype], interface: usize, data: &[u8], take: &mut impl FnMut(Linktype, &[u8])) {
    if let Some(&link) = links.get(interface) {
        take(link, data);
    }
}

fn is_known(link: Linktype) -> bool {
    link_header_octets(link).is_some()
}

/// Octets before the network layer, where the type of that is known to be IP; Ethernet may have VLAN tags more.
fn link_header_octets(link: Linktype) -> Option<usize> {
    match link {
        Linktype::ETHERNET => Some(14),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => Some(0),
        Linktype::NULL | Linktype::LOOP => Some(4),
        Linktype::LINUX_SLL => Some(16),
        _ => None,
    }
}

/// Source port, destination port and payload of the whole UDP datagram in a frame; `None` for all else.
fn datagram(link: Linktype, frame: &[u8]) -> Option<(u16, u16, &[u8])> {
    let mut start = link_header_octets(link)?;
    if link == Linktype::ETHERNET {
        // IEEE 802.1Q tags lie between the addresses and the type, two octets of it each time.
        while matches!(u16_at(frame, start - 2)?, 0x8100 | 0x88a8) {
            start += 4;
        }
    }
    let packet = frame.get(start..)?;
    let udp = match packet.first()? >> 4 {
        4 => ipv4_payload(packet)?,
        6 => ipv6_payload(packet)?,
        _ => return None,
    };
    let length = u16_at(udp, 4)? as usize;
    Some((u16_at(udp, 0)?, u16_at(udp, 2)?, udp.get(8..length)?))
}

/// What follows the header of an unfragmented IPv4 packet of protocol UDP.
fn ipv4_payload(packet: &[u8]) -> Option<&[u8]> {
    let fragment = u16_at(packet, 6)? & 0x3fff;
    let header_octets = usize::from(packet[0] & 15) * 4;
    (fragment == 0 && *packet.get(9)? == 17).then(|| packet.get(header_octets..))?
}

/// What follows the header of an IPv6 packet of protocol UDP without extension headers.
fn ipv6_payload(packet: &[u8]) -> Option<&[u8]> {
    (*packet.get(6)? == 17).then(|| packet.get(40..))?
}

/// The ordinary query in `message`, if it is one.
fn query(message: &[u8]) -> Option<Query> {
    let flags = u16_at(message, 2)?;
    let opcode = flags >> 11 & 15;
    let counts = [4, 6, 8].map(|at| u16_at(message, at));
    if opcode != 0 || counts != [Some(1), Some(0), Some(0)] {
        return None;
    }
    let (name, rest) = Name::split_from(message.get(12..)?).ok()?;
    if u16_at(rest, 2)? != iana::class::IN {
        return None;
    }
    let edns = (u16_at(message, 10)? > 0).then(|| opt(&rest[4..])).flatten();
    let (rd, cd) = (flags & 0x0100 != 0, flags & 0x0010 != 0);
    Some(Query { name: name.to_owned(), rtype: u16_at(rest, 0)?, edns, rd, cd })
}

/// The OPT at the start of an additional section (RFC 6891 6.1.2); signed queries (TSIG) come after it.
fn opt(additional: &[u8]) -> Option<Edns> {
    let is_opt = additional.first() == Some(&0) && u16_at(additional, 1)? == iana::rtype::OPT;
    let dnssec_ok = additional.get(7)? & 0x80 != 0;
    is_opt.then_some(Edns { payload_octets: u16_at(additional, 3)?, dnssec_ok })
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*octets.get(at)?, *octets.get(at + 1)?]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A capture in the old form with one Ethernet frame for each payload.
    fn capture(payloads: &[&[u8]], ipv6: bool) -> Vec<u8> {
        let mut file = Vec::new();
        for field in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1] {
            file.extend_from_slice(&field.to_le_bytes());
        }
        for payload in payloads {
            let udp_octets = (payload.len() + 8) as u16;
            let mut frame = vec![0; 12];
            frame.extend_from_slice(if ipv6 { &[0x86, 0xdd] } else { &[0x81, 0, 0, 1, 8, 0] });
            let mut header = if ipv6 { vec![0x60; 40] } else { vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17] };
            header.resize(if ipv6 { 40 } else { 20 }, 0);
            if ipv6 {
                header[6] = 17;
            }
            frame.extend_from_slice(&header);
            for field in [4096u16, 53, udp_octets, 0] {
                frame.extend_from_slice(&field.to_be_bytes());
            }
            frame.extend_from_slice(payload);
            for field in [0, 0, frame.len() as u32, frame.len() as u32] {
                file.extend_from_slice(&field.to_le_bytes());
            }
            file.extend_from_slice(&frame);
        }
        file
    }

    fn read(octets: &[u8]) -> Result<(Vec<String>, Tally), Error> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), octets).unwrap();
        let mut lines = Vec::new();
        let tally = each_query(file.path(), |query| lines.push(query.to_string()))?;
        Ok((lines, tally))
    }

    fn packet(line: &str) -> Vec<u8> {
        let mut packet = Vec::new();
        Query::from_line(line.as_bytes()).unwrap().unwrap().write(&mut packet);
        packet
    }

    #[test]
    fn queries_of_a_capture() {
        let lines = ["Www.example. A", ". NS do=4096 rd", "x. TYPE999 edns=512 cd"];
        let packets = lines.map(packet);
        let mut update = packets[0].clone();
        update[2] |= 5 << 3;
        let payloads = [&packets[0][..], &packets[1], &packets[2], &update, b"junk"];
        for ipv6 in [false, true] {
            let (found, tally) = read(&capture(&payloads, ipv6)).unwrap();
            assert_eq!(found, lines);
            assert_eq!(tally, Tally { packets: 5, datagrams: 5, queries: 3, other: 2 });
        }
    }

    #[test]
    fn damaged_captures() {
        let good = capture(&[&packet("a. A")], false);
        for length in 0..good.len() {
            let result = read(&good[..length]);
            let whole_blocks = length == 24;
            assert_eq!(result.is_ok(), whole_blocks, "{length}: {result:?}");
        }
        assert!(matches!(read(b"no capture at all, just text"), Err(Error::Capture { .. })));
        let mut link = good.clone();
        link[20] = 201;
        assert!(matches!(read(&link), Err(Error::Capture { problem: CaptureProblem::UnknownLink, .. })));
    }

    #[test]
    fn any_octets_in_frames() {
        let mut random = crate::random::Random::new(9);
        let message = packet("www.example. AAAA do");
        for _ in 0..20_000 {
            let mut damaged = message.clone();
            let at = random.index(damaged.len());
            damaged[at] = random.next_u64() as u8;
            damaged.truncate(random.index(damaged.len() + 1));
            let _ = query(&damaged);
            let _ = datagram(Linktype::ETHERNET, &damaged);
            let _ = datagram(Linktype::RAW, &damaged);
        }
    }
}
