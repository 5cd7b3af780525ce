//! What a pack is put together from at the end: its different shapes, and the sections behind the header.

use crate::pack::Backing;
use crate::section::{self, HEADER_OCTETS, Header, SECTION_ALIGNMENT, Section};
use std::collections::HashMap;

/// Packs of more octets than this live in pages of their own, which the system can join to large ones.
const ANONYMOUS_OCTETS_MIN: usize = 1 << 20;

/// Lays the sections out behind the header.
pub(super) fn assemble(seed: u64, sections: [Vec<u8>; Section::COUNT]) -> Backing {
    let mut at = HEADER_OCTETS.next_multiple_of(SECTION_ALIGNMENT);
    let places = sections.each_ref().map(|section| {
        let range = at..at + section.len();
        at = range.end.next_multiple_of(SECTION_ALIGNMENT);
        (range, section::checksum(section))
    });
    let header = Header { seed, octets: at as u64, sections: places };
    let fill = |out: &mut [u8]| {
        out[..HEADER_OCTETS].copy_from_slice(&section::encode_header(&header));
        for (section, (range, _)) in sections.into_iter().zip(&header.sections) {
            out[range.clone()].copy_from_slice(&section);
        }
    };
    if at >= ANONYMOUS_OCTETS_MIN
        && let Ok(mut map) = memmap2::MmapMut::map_anon(at)
    {
        // Lookups touch pages at random: large ones spare most of the address translation. Systems that know none
        // refuse, which changes nothing.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        fill(&mut map);
        return Backing::Anonymous(map);
    }
    let mut octets = vec![0; at];
    fill(&mut octets);
    Backing::Memory(octets)
}

/// The different shapes of a pack.
#[derive(Default)]
pub(super) struct Shapes {
    pub(super) octets: Vec<u8>,
    pub(super) offsets: Vec<u32>,
    numbers: HashMap<Vec<u8>, u32>,
    last: u32,
}

impl Shapes {
    /// The number of a shape, new or known.
    pub(super) fn number(&mut self, encoded: &[u8]) -> usize {
        // Neighbours mostly have the same shape.
        if let Some(&offset) = self.offsets.get(self.last as usize)
            && self.octets[offset as usize..].starts_with(encoded)
        {
            return self.last as usize;
        }
        self.last = match self.numbers.get(encoded) {
            Some(&number) => number,
            None => {
                let number = self.offsets.len() as u32;
                self.offsets.push(self.octets.len() as u32);
                self.octets.extend_from_slice(encoded);
                self.numbers.insert(encoded.to_vec(), number);
                number
            }
        };
        self.last as usize
    }
}
