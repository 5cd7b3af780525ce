//! Frames of a capture file, pcap or pcapng, in its order.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use super::packet;
use crate::{Error, error, error::CaptureProblem};

/// Reading buffer: must hold the largest block, and captures cut packets at 256 KiB at most.
const BUFFER_OCTETS: usize = 1 << 20;
/// Interfaces of one section: more than a host has; a damaged file could otherwise fill memory with them.
const INTERFACES_MAX: usize = 65_536;
/// Units of a second in a pcapng file that does not say.
const MICROSECONDS: u8 = 6;

/// A moment, in nanoseconds since 1970-01-01 UTC; a 64-bit count ends in 2554.
pub type Nanoseconds = u64;
/// Of a second.
pub const SECOND: Nanoseconds = 1_000_000_000;

/// Whole seconds from `start` to `time`, below 0 where `time` is earlier.
pub fn seconds_between(start: Nanoseconds, time: Nanoseconds) -> i64 {
    (i128::from(time) - i128::from(start)).div_euclid(SECOND.into()) as i64
}

/// A frame as captured.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'f> {
    /// When it was captured; of a block without time that of the one before.
    pub time: Nanoseconds,
    /// What its octets begin with.
    pub link: Linktype,
    /// Its octets, perhaps fewer than were on the wire.
    pub octets: &'f [u8],
}

/// What a file has of an interface.
struct Interface {
    link: Linktype,
    /// As in pcapng: a power of ten, or of two with the upper bit set.
    resolution: u8,
    offset_seconds: i64,
}

/// The octets of a file, or of standard input for `-`.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>, Error> {
    Ok(match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).map_err(error::file(path, "open"))?),
    })
}

/// Hands each frame to `take`; frames of unknown link layers are only counted.
///
/// `path`: names the input in errors. A capture that ends inside a block is an error, after its whole frames were handed
/// on, and so is one in which no frame has a link layer that is read. Returns the frames of unknown link layers.
pub fn each_frame(
    input: impl Read + Send,
    path: &Path,
    mut take: impl FnMut(Frame<'_>),
) -> Result<u64, Error> {
    let fault = |offset, problem| Error::Capture { path: path.to_owned(), offset, problem };
    let mut reader =
        create_reader(BUFFER_OCTETS, Full(input)).map_err(|_| fault(0, CaptureProblem::NotACapture))?;
    let (mut offset, mut time) = (0, 0);
    let (mut known, mut unknown, mut first_unknown) = (0u64, 0u64, 0);
    let mut interfaces = Vec::new();
    loop {
        match reader.next() {
            Ok((used, block)) => {
                if let Some(frame) = frame(&mut interfaces, &mut time, block) {
                    if packet::is_known(frame.link) {
                        known += 1;
                        take(frame);
                    } else {
                        first_unknown = if unknown == 0 { offset } else { first_unknown };
                        unknown += 1;
                    }
                }
                offset += used as u64;
                reader.consume(used);
            }
            Err(PcapError::Eof) if known == 0 && unknown > 0 => {
                return Err(fault(first_unknown, CaptureProblem::UnknownLink));
            }
            Err(PcapError::Eof) => return Ok(unknown),
            Err(PcapError::Incomplete(_)) => {
                if reader.reader_exhausted() || reader.refill().is_err() {
                    return Err(fault(offset, CaptureProblem::Truncated));
                }
            }
            Err(_) if offset == 0 => return Err(fault(offset, CaptureProblem::NotACapture)),
            Err(_) => return Err(fault(offset, CaptureProblem::Truncated)),
        }
    }
}

/// The frame in a block, if it has one; notes interfaces. `time` is that of the frame before, and then of this one.
fn frame<'b>(
    interfaces: &mut Vec<Interface>,
    time: &mut Nanoseconds,
    block: PcapBlockOwned<'b>,
) -> Option<Frame<'b>> {
    let (interface, octets) = match block {
        PcapBlockOwned::LegacyHeader(header) => {
            // The upper half of the field holds other things than the link layer.
            let link = Linktype(header.network.0 & 0xffff);
            let resolution = if header.is_nanosecond_precision() { 9 } else { MICROSECONDS };
            *interfaces = vec![Interface { link, resolution, offset_seconds: 0 }];
            return None;
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            return None;
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
            if interfaces.len() < INTERFACES_MAX {
                let (resolution, offset_seconds) = (block.if_tsresol, block.if_tsoffset);
                interfaces.push(Interface { link: block.linktype, resolution, offset_seconds });
            }
            return None;
        }
        PcapBlockOwned::Legacy(packet) => {
            let interface = interfaces.first()?;
            let fraction = u64::from(packet.ts_usec);
            let nanoseconds = if interface.resolution == 9 { fraction } else { fraction * 1000 };
            *time = u64::from(packet.ts_sec) * SECOND + nanoseconds;
            (interface, packet.data)
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let interface = interfaces.get(packet.if_id as usize)?;
            *time = interface.time(u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low));
            (interface, &packet.data[..packet.data.len().min(packet.caplen as usize)])
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            (interfaces.first()?, &packet.data[..packet.data.len().min(packet.origlen as usize)])
        }
        PcapBlockOwned::NG(_) => return None,
    };
    Some(Frame { time: *time, link: interface.link, octets })
}

impl Interface {
    /// The moment that `units` of this interface stand for; the nearest that can be expressed.
    fn time(&self, units: u64) -> Nanoseconds {
        let exponent = u32::from(self.resolution & 0x7f);
        let units_per_second = match self.resolution & 0x80 {
            0 => 10u128.checked_pow(exponent),
            _ => 1u128.checked_shl(exponent),
        };
        // An exponent that no clock has: then units are of no use.
        let Some(units_per_second) = units_per_second.filter(|&units| units > 0) else { return 0 };
        let nanoseconds = u128::from(units) * u128::from(SECOND) / units_per_second;
        let offset = i128::from(self.offset_seconds) * i128::from(SECOND);
        // At most 2^94: fits.
        (nanoseconds as i128 + offset).clamp(0, u64::MAX.into()) as u64
    }
}

/// Reads until the buffer is full: the capture reader looks for the first header in what one call gives, and a pipe
/// gives what it has.
struct Full<R>(R);

impl<R: Read> Read for Full<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(octets) => filled += octets,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if filled == 0 => return Err(error),
                // Seen again at the next call.
                Err(_) => break,
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::trace::samples;

    fn frames(octets: &[u8]) -> Result<Vec<(Nanoseconds, i32, Vec<u8>)>, Error> {
        let mut frames = Vec::new();
        each_frame(octets, Path::new("test"), |frame| {
            frames.push((frame.time, frame.link.0, frame.octets.to_vec()))
        })?;
        Ok(frames)
    }

    #[test]
    fn both_formats() {
        let expected = vec![(1_500_000_000_000_001_000, 1, b"one".to_vec()), (SECOND, 1, b"three".to_vec())];
        let list = [(1_500_000_000_000_001_000, b"one".to_vec()), (SECOND, b"three".to_vec())];
        assert_eq!(frames(&samples::pcap(1, &list)).unwrap(), expected);
        assert_eq!(frames(&samples::pcapng(&[1], MICROSECONDS, &list)).unwrap(), expected);
    }

    #[test]
    fn units_of_time() {
        let interface =
            |resolution, offset_seconds| Interface { link: Linktype(1), resolution, offset_seconds };
        assert_eq!(interface(6, 0).time(1_000_001), SECOND + 1000);
        assert_eq!(interface(9, 2).time(7), 2 * SECOND + 7);
        assert_eq!(interface(0x80 | 10, 0).time(1536), SECOND * 3 / 2);
        assert_eq!(interface(0, -10).time(3), 0);
        for resolution in 0..=255 {
            for offset in [i64::MIN, -1, 0, i64::MAX] {
                interface(resolution, offset).time(u64::MAX);
            }
        }
    }

    #[test]
    fn link_layers_that_are_not_read() {
        let list = [(SECOND, b"one".to_vec())];
        let unknown = samples::pcap(201, &list);
        assert!(matches!(
            frames(&unknown),
            Err(Error::Capture { problem: CaptureProblem::UnknownLink, offset: 24, .. })
        ));
        // The frame is of the first interface; the second is of no matter.
        assert_eq!(frames(&samples::pcapng(&[1, 201], 6, &list)).unwrap().len(), 1);
        assert!(frames(&samples::pcapng(&[201, 1], 6, &list)).is_err());
    }
}
