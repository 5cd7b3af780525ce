//! Packs: zones as one immutable, position-independent range of octets, mapped from a file or in memory.
//!
//! A pack is checked when it is opened: header, bounds of sections and zones, and the checksum of every
//! section. Beyond that readers check every reference that they follow, so that even a pack made to
//! deceive gives no more than wrong or missing answers.
#![allow(unsafe_code)] // `Pack` keeps slices of the octets that it owns, see `Pack::open`

use crate::fragment::POOL_ALIGNMENT;
use crate::index::Hash;
use crate::section::{self, Header, PackError, Section, u16_at, u32_at, u64_at};
use std::sync::atomic::{AtomicU64, Ordering};
use wire::{Name, SortKey};

/// Octets of a row in the section of zones.
pub const ZONE_ROW_OCTETS: usize = 64;
/// Octets of a row in the section of NSEC records: first eight octets of the owner's key as a number that sorts as they do
/// (u64), and number of the owner (u32).
pub const NSEC_ROW_OCTETS: usize = 12;
/// Octets of a row in the section of NSEC3 records: hash, place of the fragment, TTL.
pub const NSEC3_ROW_OCTETS: usize = 28;
/// Among the hashes of servers: there are cuts whose servers are not listed, so every name may be one.
pub(crate) const ANY_SERVER: u32 = 0;

/// The hash of a name server's whole key. It is the same in all packs, so that zones can be copied.
pub(crate) fn server_hash(key: &[u8]) -> u32 {
    Hash::of_apex(0, 0).extend(key, 0, key.len()).word()
}

/// A reference that points nowhere.
pub const NOWHERE: u32 = u32::MAX;

/// Where the octets of a pack live.
pub enum Backing {
    /// In memory, right after a load from text.
    Memory(Vec<u8>),
    /// Anonymous pages, for large packs in memory.
    Anonymous(memmap2::MmapMut),
    /// A mapped file. The file must not be changed while it is mapped: replace it by renaming a new one.
    Mapped(Mapped),
}

/// A mapped file, and what is known of it beside its octets.
pub struct Mapped {
    // Dropped in this order.
    mapping: Box<dyn Mapping>,
    map: memmap2::Mmap,
}

impl Mapped {
    /// Takes a map over; `mapping` is dropped before it.
    pub fn new(map: memmap2::Mmap, mapping: Box<dyn Mapping>) -> Mapped {
        Mapped { mapping, map }
    }

    /// The octets of the file.
    pub fn octets(&self) -> &[u8] {
        &self.map
    }

    /// What is known beside them.
    pub fn mapping(&self) -> &dyn Mapping {
        &*self.mapping
    }
}

/// What whoever maps a file knows of it.
pub trait Mapping: Send + Sync {
    /// Where the file is, or was.
    fn path(&self) -> &std::path::Path;

    /// Whether nothing that is read from it can be believed any more, as the file was cut off or cannot be read: it is all zeros then. If not, what was
    /// read before this was asked was good.
    fn is_damaged(&self) -> bool;

    /// Looks whether the file is shorter now, and has it be damaged if so.
    fn look(&self);
}

impl Backing {
    fn octets(&self) -> &[u8] {
        match self {
            Backing::Memory(octets) => octets,
            Backing::Anonymous(map) => map,
            Backing::Mapped(mapped) => mapped.octets(),
        }
    }
}

/// The next number of [`Pack::id`].
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A number that no pack and no delta of this process has or had. Never 0.
pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// An opened pack.
pub struct Pack {
    id: u64,
    header: Header,
    /// Slices of `backing`; their lifetime is not really static, so they leave only through methods that
    /// shorten it to the borrow of the pack.
    sections: [&'static [u8]; Section::COUNT],
    backing: Backing,
}

/// A row of the section of zones.
///
/// | octets | what |
/// |---|---|
/// | 0..4 | place of the apex's name in the pool: wire octets u8, wire form, key octets u16, key |
/// | 4..8, 8..12 | first block, number of blocks |
/// | 12..16 | names, the apex included |
/// | 16..20, 20..24 | first row of NSEC3 hashes or, without such, of NSEC owners; number of rows |
/// | 24..28 | place of the NSEC3 parameters in the pool: iterations u16, salt octets u8, salt; or nowhere |
/// | 28..32 | bits: 1 absence is proved with NSEC, 2 has NSEC3 hashes, 4 has signatures, 8 absence is proved with NSEC3, 16 the zone had changed since its text was read |
/// | 32..36 | serial of the SOA record |
/// | 36..44 | records |
/// | 44..48 | TTL of negative answers (RFC 2308 5) |
/// | 48..56 | mark of the text that it was made from, 0 none |
/// | 56..60 | when the first RRset has no signature left that has not expired, seconds modulo 2^32 (RFC 4034 3.1.5), 0 none |
/// | 60..62, 62..64 | errors and warnings found in it, 65,535 also for more |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneRow {
    /// Place of the apex's name in the pool.
    pub apex: u32,
    /// Number of the first block.
    pub first_block: u32,
    /// How many blocks.
    pub block_count: u32,
    /// How many names, empty non-terminals included.
    pub node_count: u32,
    /// First row of NSEC3 hashes or, without such, of NSEC owners.
    pub denial_first: u32,
    /// How many rows of these.
    pub denial_count: u32,
    /// Place of the NSEC3 parameters.
    pub nsec3_parameters: u32,
    /// [`ZoneRow::NSEC`], [`ZoneRow::NSEC3`], [`ZoneRow::SIGNED`], [`ZoneRow::NSEC3_PROVES`], [`ZoneRow::BESIDE_TEXT`], [`ZoneRow::DIGESTED`].
    pub bits: u32,
    /// Serial of the SOA record.
    pub serial: u32,
    /// How many records.
    pub record_count: u64,
    /// TTL of negative answers.
    pub negative_ttl: u32,
    /// See [`crate::TextStamp::mark`].
    pub text_mark: u64,
    /// When the first RRset has no signature left that has not expired, seconds modulo 2^32; 0: none is signed. Of two, the earlier is the one before in serial number arithmetic.
    pub first_expiry: u32,
    /// Errors found in the text.
    pub errors: u16,
    /// Warnings found in the text.
    pub warnings: u16,
}

impl ZoneRow {
    /// Bit: absence is proved with NSEC.
    pub const NSEC: u32 = 1;
    /// Bit: there is a chain of NSEC3 records, which the rows of denial are of.
    pub const NSEC3: u32 = 2;
    /// Bit: there are signatures.
    pub const SIGNED: u32 = 4;
    /// Bit: absence is proved with that chain, also where there are NSEC records.
    pub const NSEC3_PROVES: u32 = 8;
    /// Bit: the zone had changed in place since the text of the mark was read, so that the pack does not say what that text has.
    pub const BESIDE_TEXT: u32 = 16;
    /// Bit: the digest in the zone's ZONEMD record was found right when the pack was made. What has changed since is not meant: a pack that is merged has it no more.
    pub const DIGESTED: u32 = 32;

    pub(crate) const FIRST_BLOCK_AT: usize = 4;
    pub(crate) const BLOCK_COUNT_AT: usize = 8;
    pub(crate) const DENIAL_FIRST_AT: usize = 16;
    pub(crate) const DENIAL_COUNT_AT: usize = 20;
    pub(crate) const NSEC3_PARAMETERS_AT: usize = 24;
    pub(crate) const BITS_AT: usize = 28;
    pub(crate) const NEGATIVE_TTL_AT: usize = 44;

    /// The stored form.
    pub fn encode(&self) -> [u8; ZONE_ROW_OCTETS] {
        let mut out = [0; ZONE_ROW_OCTETS];
        let words = [
            self.apex,
            self.first_block,
            self.block_count,
            self.node_count,
            self.denial_first,
            self.denial_count,
            self.nsec3_parameters,
            self.bits,
            self.serial,
        ];
        for (to, word) in out.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        out[36..44].copy_from_slice(&self.record_count.to_le_bytes());
        out[44..48].copy_from_slice(&self.negative_ttl.to_le_bytes());
        out[48..56].copy_from_slice(&self.text_mark.to_le_bytes());
        out[56..60].copy_from_slice(&self.first_expiry.to_le_bytes());
        out[60..62].copy_from_slice(&self.errors.to_le_bytes());
        out[62..64].copy_from_slice(&self.warnings.to_le_bytes());
        out
    }

    /// Reads the stored form.
    pub fn decode(row: &[u8]) -> ZoneRow {
        ZoneRow {
            apex: u32_at(row, 0),
            first_block: u32_at(row, ZoneRow::FIRST_BLOCK_AT),
            block_count: u32_at(row, ZoneRow::BLOCK_COUNT_AT),
            node_count: u32_at(row, 12),
            denial_first: u32_at(row, ZoneRow::DENIAL_FIRST_AT),
            denial_count: u32_at(row, ZoneRow::DENIAL_COUNT_AT),
            nsec3_parameters: u32_at(row, ZoneRow::NSEC3_PARAMETERS_AT),
            bits: u32_at(row, ZoneRow::BITS_AT),
            serial: u32_at(row, 32),
            record_count: u64_at(row, 36),
            negative_ttl: u32_at(row, ZoneRow::NEGATIVE_TTL_AT),
            text_mark: u64_at(row, 48),
            first_expiry: u32_at(row, 56),
            errors: u16_at(row, 60),
            warnings: u16_at(row, 62),
        }
    }
}

/// Whether `name` is a name in lower case, and `key` is its key: lookups cut names by the lengths of both.
fn has_key(name: &Name, key: &[u8]) -> bool {
    Name::from_wire(name.octets()).is_ok()
        && !name.octets().iter().any(u8::is_ascii_uppercase)
        && SortKey::of(name).octets() == key
}

impl Pack {
    /// Checks octets and takes them over.
    pub fn open(backing: Backing) -> Result<Pack, PackError> {
        let octets = backing.octets();
        let header = section::decode_header(octets)?;
        let mut sections: [&'static [u8]; Section::COUNT] = [&[]; Section::COUNT];
        for (section, (range, sum)) in Section::ALL.into_iter().zip(&header.sections) {
            let slice = &octets[range.clone()];
            if section::checksum(slice) != *sum {
                return Err(PackError::SectionChecksum { section: section.name() });
            }
            // SAFETY: the slice points into heap memory or pages that `backing` owns. They do not move when
            // the `Backing` value moves, are never written by this process while the pack exists (pages of a file that was cut off
            // become zeros, see `Mapping`), and are freed only with it; the slice leaves this struct only with the lifetime of a borrow of it (`Pack::section`).
            sections[section as usize] = unsafe { std::slice::from_raw_parts(slice.as_ptr(), slice.len()) };
        }
        let pack = Pack { id: next_id(), header, sections, backing };
        pack.check_bounds()?;
        Ok(pack)
    }

    fn check_bounds(&self) -> Result<(), PackError> {
        let rows = [
            (Section::Zones, ZONE_ROW_OCTETS),
            (Section::Index, crate::index::BUCKET_OCTETS),
            (Section::Directory, crate::block::DIRECTORY_ROW_OCTETS),
            (Section::ShapeOffsets, 4),
            (Section::Nsec, NSEC_ROW_OCTETS),
            (Section::Nsec3, NSEC3_ROW_OCTETS),
            (Section::Servers, 4),
        ];
        for (section, octets) in rows {
            if !self.section(section).len().is_multiple_of(octets) {
                return Err(PackError::SectionBounds { section: section.name() });
            }
        }
        let blocks = (self.section(Section::Directory).len() / crate::block::DIRECTORY_ROW_OCTETS) as u64;
        let owners = (self.section(Section::Nsec).len() / NSEC_ROW_OCTETS) as u64;
        let hashes = (self.section(Section::Nsec3).len() / NSEC3_ROW_OCTETS) as u64;
        for number in 0..self.zone_count() {
            let row = self.zone_row(number);
            let rows = if row.bits & ZoneRow::NSEC3 == 0 { owners } else { hashes };
            let fits = u64::from(row.first_block) + u64::from(row.block_count) <= blocks
                && row.block_count > 0
                && u64::from(row.node_count) <= u64::from(row.block_count) * crate::block::NAMES_MAX as u64
                && u64::from(row.denial_first) + u64::from(row.denial_count) <= rows
                && self.apex(&row).is_some_and(|(name, key)| has_key(name, key));
            if !fits {
                return Err(PackError::ZoneBounds { zone: number });
            }
        }
        Ok(())
    }

    /// A number that no other pack of this process has or had: numbers of nodes mean nothing without it. Never 0.
    #[inline(always)]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The checksum of its header, which has those of all sections: what it has, told from all others by chance alone.
    pub fn checksum(&self) -> u64 {
        u64_at(self.octets(), 32)
    }

    /// A section's octets.
    #[inline(always)]
    pub fn section(&self, section: Section) -> &[u8] {
        self.sections[section as usize]
    }

    /// All octets, to be written to a file.
    pub fn octets(&self) -> &[u8] {
        self.backing.octets()
    }

    /// Whether a file backs it.
    pub fn is_mapped(&self) -> bool {
        self.mapping().is_some()
    }

    /// What is known of the file that backs it.
    pub fn mapping(&self) -> Option<&dyn Mapping> {
        match &self.backing {
            Backing::Mapped(mapped) => Some(mapped.mapping()),
            Backing::Memory(_) | Backing::Anonymous(_) => None,
        }
    }

    /// Whether nothing in it can be believed any more: see [`Mapping::is_damaged`]. Whoever makes something lasting of what it reads here asks after.
    pub fn is_damaged(&self) -> bool {
        self.mapping().is_some_and(Mapping::is_damaged)
    }

    /// Whether an NS record of a zone cut points at the name with this [hash](server_hash), be it there or not. Other names have the same hash once in a
    /// while.
    pub(crate) fn has_server(&self, hash: u32) -> bool {
        let hashes = self.section(Section::Servers).as_chunks::<4>().0;
        let has =
            |hash: u32| hashes.binary_search_by_key(&hash, |octets| u32::from_le_bytes(*octets)).is_ok();
        has(hash) || has(ANY_SERVER)
    }

    /// The seed of the index.
    #[inline(always)]
    pub fn seed(&self) -> u64 {
        self.header.seed
    }

    /// How many zones.
    pub fn zone_count(&self) -> u32 {
        (self.section(Section::Zones).len() / ZONE_ROW_OCTETS) as u32
    }

    /// The row of zone `number`, which must be less than [`Pack::zone_count`].
    #[inline(always)]
    pub fn zone_row(&self, number: u32) -> ZoneRow {
        let at = number as usize * ZONE_ROW_OCTETS;
        ZoneRow::decode(&self.section(Section::Zones)[at..at + ZONE_ROW_OCTETS])
    }

    /// The octets of a zone's row.
    #[inline(always)]
    pub(crate) fn zone_octets(&self, number: u32) -> Option<&[u8; ZONE_ROW_OCTETS]> {
        self.section(Section::Zones).as_chunks().0.get(number as usize)
    }

    /// Octets of the pool from place `place` on; empty for a place outside.
    #[inline(always)]
    pub fn pool(&self, place: u32) -> &[u8] {
        self.section(Section::Pool).get(place as usize * POOL_ALIGNMENT..).unwrap_or(&[])
    }

    /// Name and key of a zone's apex; `None` in a damaged pack.
    #[inline(always)]
    pub fn apex(&self, row: &ZoneRow) -> Option<(&Name, &[u8])> {
        self.apex_at(row.apex)
    }

    /// Name and key that stand at `place` of the pool.
    #[inline(always)]
    pub(crate) fn apex_at(&self, place: u32) -> Option<(&Name, &[u8])> {
        let (&wire_octets, rest) = self.pool(place).split_first()?;
        let (wire, rest) = rest.split_at_checked(wire_octets as usize)?;
        let key = rest.get(2..2 + u16_at(rest, 0) as usize)?;
        if wire.is_empty() {
            return None;
        }
        Some((Name::trusted(wire), key))
    }
}
