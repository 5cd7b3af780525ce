//! Shapes: what a name has, apart from the data. Names of a zone share few of them.
//!
//! ```text
//! header, 8 octets:  flags u16 | RRsets u16 | octets of references u16 | zero u16
//! row, 8 octets:     type (network order) u16 | storage u8 | zero u8 | TTL (network order) u32
//! ```
//!
//! Rows stand in the order of types. A row with its storage octets replaced by the class is what stands on
//! the wire between an owner and its RDLENGTH.

use crate::contents::Flags;
use crate::section::u16_at;

/// Octets of the header and of each row.
pub const ROW_OCTETS: usize = 8;

/// How an RRset of a name is stored; the number is what stands in the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Storage {
    /// One A record without signature: its four octets stand in the name's references.
    A = 0,
    /// One AAAA record without signature: its sixteen octets.
    Aaaa = 1,
    /// A fragment in the pool: four octets that say where.
    Pool = 2,
    /// A fragment among the node's own octets, in a delta only: four octets that say where, counted from the references.
    Own = 3,
}

impl Storage {
    /// Octets it takes among the references.
    #[inline(always)]
    pub fn octets(self) -> usize {
        match self {
            Storage::A | Storage::Pool | Storage::Own => 4,
            Storage::Aaaa => 16,
        }
    }

    #[inline(always)]
    fn of(octet: u8) -> Option<Storage> {
        match octet {
            0 => Some(Storage::A),
            1 => Some(Storage::Aaaa),
            2 => Some(Storage::Pool),
            3 => Some(Storage::Own),
            _ => None,
        }
    }
}

/// A shape in the section of shapes.
#[derive(Clone, Copy)]
pub struct Shape<'p> {
    /// Header and rows; checked to be that long.
    octets: &'p [u8],
}

/// One row: an RRset's type, TTL and storage.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    octets: [u8; ROW_OCTETS],
}

impl Row {
    /// Makes a row.
    pub fn new(rtype: u16, storage: Storage, ttl: u32) -> Row {
        let mut octets = [0; ROW_OCTETS];
        octets[..2].copy_from_slice(&rtype.to_be_bytes());
        octets[2] = storage as u8;
        octets[4..].copy_from_slice(&ttl.to_be_bytes());
        Row { octets }
    }

    /// The type.
    #[inline(always)]
    pub fn rtype(&self) -> u16 {
        u16::from_be_bytes([self.octets[0], self.octets[1]])
    }

    /// The TTL.
    pub fn ttl(&self) -> u32 {
        u32::from_be_bytes([self.octets[4], self.octets[5], self.octets[6], self.octets[7]])
    }

    /// How the data is stored; `None` in a damaged pack.
    #[inline(always)]
    pub fn storage(&self) -> Option<Storage> {
        Storage::of(self.octets[2])
    }

    /// Type, class IN and TTL as on the wire.
    #[inline(always)]
    pub fn wire(&self) -> [u8; 8] {
        let mut octets = self.octets;
        octets[2] = 0;
        octets[3] = 1;
        octets
    }

    /// As stored.
    pub fn octets(&self) -> &[u8; ROW_OCTETS] {
        &self.octets
    }
}

impl<'p> Shape<'p> {
    /// The shape that begins at `octets`; `None` when it would reach beyond them.
    #[inline(always)]
    pub fn at(octets: &'p [u8]) -> Option<Shape<'p>> {
        let count = u16_at(octets, 2) as usize;
        octets.get(..ROW_OCTETS * (1 + count)).map(|octets| Shape { octets })
    }

    /// What the name is.
    #[inline(always)]
    pub fn flags(&self) -> Flags {
        Flags(u16_at(self.octets, 0))
    }

    /// Octets of references that stand before a name's suffix.
    #[inline(always)]
    pub fn reference_octets(&self) -> usize {
        u16_at(self.octets, 4) as usize
    }

    /// The rows.
    #[inline(always)]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row> + use<'p> {
        let (rows, _) = self.octets[ROW_OCTETS..].as_chunks::<ROW_OCTETS>();
        rows.iter().map(|octets| Row { octets: *octets })
    }

    /// The stored octets.
    pub fn octets(&self) -> &'p [u8] {
        self.octets
    }
}

/// The stored form of a shape. `reference_octets` as [`Shape::reference_octets`].
pub fn encode(flags: Flags, reference_octets: usize, rows: &[Row], out: &mut Vec<u8>) {
    out.extend_from_slice(&flags.0.to_le_bytes());
    out.extend_from_slice(&(rows.len() as u16).to_le_bytes());
    out.extend_from_slice(&(reference_octets as u16).to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    for row in rows {
        out.extend_from_slice(&row.octets);
    }
}
