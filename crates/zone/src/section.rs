//! The layout of a pack file: header, section table, sections. `docs/design/zone-pack.md` has it to the octet.
//!
//! All numbers are little-endian, all references are offsets or ordinals, so that a pack is valid at any
//! address. Sections begin at multiples of 64 octets.

use std::ops::Range;

/// The first octets of every pack.
pub const MAGIC: [u8; 8] = *b"ZONDAPK\n";
/// Version of the format that is written.
pub const FORMAT_VERSION: u32 = 6;
/// The oldest that is read: its fragments have no apex that follows, and its blocks are full but for the last of a zone.
const OLDEST_VERSION: u32 = 5;
/// Sections begin at multiples of this: a cache line, so that an index bucket is one.
pub const SECTION_ALIGNMENT: usize = 64;
/// Octets of the header, section table included.
pub const HEADER_OCTETS: usize = 64 + 32 * Section::COUNT;

/// The sections in the order in which they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Section {
    /// One row a zone, see [`crate::pack::ZoneRow`].
    Zones,
    /// Buckets of the exact index, see [`crate::index`].
    Index,
    /// One row a block of names, see [`crate::block`].
    Directory,
    /// The blocks: names, shape numbers, references.
    Blocks,
    /// Offsets of shapes in the next section, four octets each.
    ShapeOffsets,
    /// What types a name has, with which TTLs; see [`crate::shape`].
    Shapes,
    /// RRset fragments, glue lists and names; see [`crate::fragment`].
    Pool,
    /// Names with NSEC records in order, for zones without NSEC3, see [`crate::ZoneView::nsec_at_or_before`].
    Nsec,
    /// Hashes of NSEC3 records in order, each with its RRset; see [`crate::lookup::Nsec3`].
    Nsec3,
    /// Hashes of the names that NS records of cuts point at, see [`crate::Pack::has_server`].
    Servers,
}

impl Section {
    /// How many there are.
    pub const COUNT: usize = 10;

    /// All, in stored order.
    pub const ALL: [Section; Section::COUNT] = [
        Section::Zones,
        Section::Index,
        Section::Directory,
        Section::Blocks,
        Section::ShapeOffsets,
        Section::Shapes,
        Section::Pool,
        Section::Nsec,
        Section::Nsec3,
        Section::Servers,
    ];

    /// Its name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Section::Zones => "zones",
            Section::Index => "index",
            Section::Directory => "directory",
            Section::Blocks => "blocks",
            Section::ShapeOffsets => "shape offsets",
            Section::Shapes => "shapes",
            Section::Pool => "pool",
            Section::Nsec => "nsec",
            Section::Nsec3 => "nsec3",
            Section::Servers => "servers",
        }
    }
}

/// Why octets are not a pack. Each names what was read, so that the message can say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackError {
    /// Shorter than a header.
    TooShort {
        /// Octets there are.
        octets: u64,
    },
    /// The first octets are others.
    NotAPack,
    /// A version this program does not read.
    Version {
        /// The version found.
        found: u32,
    },
    /// The header says another length than the file has.
    Length {
        /// What the header says.
        expected: u64,
        /// What there is.
        found: u64,
    },
    /// The header's checksum does not match.
    HeaderChecksum,
    /// A section lies outside the file, or its length is no multiple of its rows.
    SectionBounds {
        /// Which.
        section: &'static str,
    },
    /// A section's checksum does not match.
    SectionChecksum {
        /// Which.
        section: &'static str,
    },
    /// A zone's row points outside its sections.
    ZoneBounds {
        /// Number of the zone.
        zone: u32,
    },
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            PackError::TooShort { octets } => {
                write!(f, "truncated: {octets} octets, a pack header has {HEADER_OCTETS}")
            }
            PackError::NotAPack => f.write_str("not a zone pack: the magic octets are missing"),
            PackError::Version { found } => {
                write!(
                    f,
                    "pack format version {found}, this program reads versions {OLDEST_VERSION} and {FORMAT_VERSION}"
                )
            }
            PackError::Length { expected, found } => {
                write!(f, "truncated or extended: the header says {expected} octets, there are {found}")
            }
            PackError::HeaderChecksum => f.write_str("damaged: checksum of the header does not match"),
            PackError::SectionBounds { section } => {
                write!(f, "damaged: section `{section}` has impossible bounds")
            }
            PackError::SectionChecksum { section } => {
                write!(f, "damaged: checksum of section `{section}` does not match")
            }
            PackError::ZoneBounds { zone } => {
                write!(f, "damaged: the row of zone number {zone} points outside the pack")
            }
        }
    }
}

impl std::error::Error for PackError {}

/// What the header says: where each section is, and the seed of the index.
#[derive(Clone, Debug)]
pub struct Header {
    /// Seed of the index hash, drawn anew for each pack.
    pub seed: u64,
    /// Octets of the whole pack.
    pub octets: u64,
    /// Range and checksum of each section.
    pub sections: [(Range<usize>, u64); Section::COUNT],
}

/// Writes `header` in its stored form:
///
/// | octets | what |
/// |---|---|
/// | 0..8 | magic |
/// | 8..12 | version |
/// | 12..16 | number of sections |
/// | 16..24 | octets of the whole pack |
/// | 24..32 | seed of the index |
/// | 32..40 | checksum of the header with this field zero |
/// | 40..64 | zero |
/// | 64.. | a row of 32 octets a section: offset, octets, checksum, zero |
pub fn encode_header(header: &Header) -> [u8; HEADER_OCTETS] {
    let mut octets = [0; HEADER_OCTETS];
    octets[..8].copy_from_slice(&MAGIC);
    octets[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    octets[12..16].copy_from_slice(&(Section::COUNT as u32).to_le_bytes());
    octets[16..24].copy_from_slice(&header.octets.to_le_bytes());
    octets[24..32].copy_from_slice(&header.seed.to_le_bytes());
    for (row, (range, sum)) in octets[64..].chunks_exact_mut(32).zip(&header.sections) {
        row[..8].copy_from_slice(&(range.start as u64).to_le_bytes());
        row[8..16].copy_from_slice(&(range.len() as u64).to_le_bytes());
        row[16..24].copy_from_slice(&sum.to_le_bytes());
    }
    let sum = checksum(&octets);
    octets[32..40].copy_from_slice(&sum.to_le_bytes());
    octets
}

/// Reads and checks the header of a whole pack; section checksums are left to the caller.
pub fn decode_header(pack: &[u8]) -> Result<Header, PackError> {
    let Some(octets) = pack.get(..HEADER_OCTETS) else {
        let not_a_pack = pack.len() >= 8 && pack[..8] != MAGIC;
        return Err(if not_a_pack {
            PackError::NotAPack
        } else {
            PackError::TooShort { octets: pack.len() as u64 }
        });
    };
    if octets[..8] != MAGIC {
        return Err(PackError::NotAPack);
    }
    let version = u32_at(octets, 8);
    if !(OLDEST_VERSION..=FORMAT_VERSION).contains(&version) {
        return Err(PackError::Version { found: version });
    }
    let mut unsummed = [0; HEADER_OCTETS];
    unsummed.copy_from_slice(octets);
    unsummed[32..40].fill(0);
    if checksum(&unsummed) != u64_at(octets, 32) || u32_at(octets, 12) != Section::COUNT as u32 {
        return Err(PackError::HeaderChecksum);
    }
    let length = u64_at(octets, 16);
    if length != pack.len() as u64 {
        return Err(PackError::Length { expected: length, found: pack.len() as u64 });
    }
    let mut sections = std::array::from_fn(|_| (0..0, 0));
    let mut written = HEADER_OCTETS;
    for (section, row) in Section::ALL.iter().zip(octets[64..].chunks_exact(32)) {
        let bounds = PackError::SectionBounds { section: section.name() };
        let start = usize::try_from(u64_at(row, 0)).map_err(|_| bounds)?;
        let octets = usize::try_from(u64_at(row, 8)).map_err(|_| bounds)?;
        let end = start.checked_add(octets).ok_or(bounds)?;
        // Sections follow one another; what fills up to the alignment is zero, so that no bit is unaccounted for.
        let filled =
            end <= pack.len() && start >= written && pack[written..start].iter().all(|octet| *octet == 0);
        if !filled || !start.is_multiple_of(SECTION_ALIGNMENT) {
            return Err(bounds);
        }
        written = end;
        sections[*section as usize] = (start..end, u64_at(row, 16));
    }
    if pack[written..].iter().any(|octet| *octet != 0) {
        return Err(PackError::SectionBounds { section: Section::Servers.name() });
    }
    Ok(Header { seed: u64_at(octets, 24), octets: length, sections })
}

/// Checksum of a section: four independent multiply-and-fold lanes over 32 octets a step, so that it runs
/// at memory speed. It finds damage, not malice: readers check every bound whatever the sum says.
pub fn checksum(octets: &[u8]) -> u64 {
    const K: [u64; 4] =
        [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0xd6e8_feb8_6659_fd93];
    let mut lanes = K;
    let mut steps = octets.chunks_exact(64);
    for step in &mut steps {
        for (lane, key) in lanes.iter_mut().zip(0..) {
            let a = u64_at(step, 16 * key);
            let b = u64_at(step, 16 * key + 8);
            *lane = fold_multiply(*lane ^ a, K[key] ^ b).wrapping_add(*lane);
        }
    }
    let mut sum = octets.len() as u64;
    for chunk in steps.remainder().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = fold_multiply(sum ^ u64::from_le_bytes(word), K[0]).wrapping_add(sum.rotate_left(23));
    }
    lanes.iter().fold(sum, |sum, lane| fold_multiply(sum ^ lane, K[1]).wrapping_add(sum.rotate_left(29)))
}

/// The two halves of a 128-bit product, folded together: the mixing step of the index hash and the checksum.
#[inline(always)]
pub(crate) fn fold_multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Two octets at `at`; 0 beyond the end.
#[inline(always)]
pub(crate) fn u16_at(octets: &[u8], at: usize) -> u16 {
    match octets.get(at..at + 2) {
        Some(&[a, b]) => u16::from_le_bytes([a, b]),
        _ => 0,
    }
}

/// Four octets at `at`; 0 beyond the end.
#[inline(always)]
pub(crate) fn u32_at(octets: &[u8], at: usize) -> u32 {
    match octets.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    }
}

/// Eight octets at `at`; 0 beyond the end.
#[inline(always)]
pub(crate) fn u64_at(octets: &[u8], at: usize) -> u64 {
    match octets.get(at..at + 8) {
        Some(&[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_counts() {
        let mut octets: Vec<u8> = (0..200u8).collect();
        let sum = checksum(&octets);
        for bit in 0..octets.len() * 8 {
            octets[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(&octets), sum, "bit {bit}");
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        assert_ne!(checksum(&octets[..199]), sum);
        assert_ne!(checksum(&[]), checksum(&[0]));
    }

    #[test]
    fn header_round_trip() {
        let mut pack = vec![0; 1024];
        let sections = std::array::from_fn(|at| (384 + 64 * at..384 + 64 * at + at, at as u64));
        let header = Header { seed: 7, octets: 1024, sections };
        pack[..HEADER_OCTETS].copy_from_slice(&encode_header(&header));
        let read = decode_header(&pack).unwrap();
        assert_eq!((read.seed, read.sections), (7, header.sections));
        assert_eq!(
            decode_header(&pack[..1000]).unwrap_err(),
            PackError::Length { expected: 1024, found: 1000 }
        );
        assert_eq!(decode_header(b"; a zone").unwrap_err(), PackError::NotAPack);
        pack[70] ^= 1;
        assert_eq!(decode_header(&pack).unwrap_err(), PackError::HeaderChecksum);
    }
}
