//! A name of a zone and its RRsets.

use crate::contents::Flags;
use crate::delta::OWN_NUMBERS;
use crate::fragment::{Fragment, Glue};
use crate::pack::Pack;
use crate::section::u32_at;
use crate::shape::{Row, Shape, Storage};
use std::cmp::Ordering;

/// One name of a zone, in a pack or in a delta over it.
#[derive(Clone, Copy)]
pub struct Node<'p> {
    pub(super) pack: &'p Pack,
    pub(super) shape: Shape<'p>,
    /// To the end of its octets: of a node in a delta its own fragments follow.
    pub(super) references: &'p [u8],
    pub(super) prefix: &'p [u8],
    pub(super) suffix: &'p [u8],
    pub(super) reference: u32,
    /// Those of its shape; where a cut or a DNAME above has come or gone since it was stored, as they are now.
    pub(super) flags: Flags,
}

impl<'p> Node<'p> {
    /// What it is.
    #[inline(always)]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Whether it is in a delta.
    #[inline(always)]
    pub(crate) fn is_own(&self) -> bool {
        self.reference >= OWN_NUMBERS
    }

    /// Its number, with which [`ZoneView::node`] finds it again.
    pub fn number(&self) -> u32 {
        self.reference
    }

    /// Its key relative to the apex, in two parts.
    #[inline(always)]
    pub fn key_parts(&self) -> (&'p [u8], &'p [u8]) {
        (self.prefix, self.suffix)
    }

    /// Its shape as it is stored.
    pub(crate) fn shape_octets(&self) -> &'p [u8] {
        self.shape.octets()
    }

    /// What its shape says of each RRset.
    pub(crate) fn shape_rows(&self) -> impl ExactSizeIterator<Item = Row> + use<'p> {
        self.shape.rows()
    }

    /// What it refers to, as it is stored.
    pub(crate) fn reference_octets(&self) -> &'p [u8] {
        self.references
    }

    /// Copies its key relative to the apex; returns how many octets. Keys longer than the buffer are cut.
    pub fn copy_key(&self, to: &mut [u8]) -> usize {
        let prefix = self.prefix.len().min(to.len());
        let suffix = self.suffix.len().min(to.len() - prefix);
        to[..prefix].copy_from_slice(&self.prefix[..prefix]);
        to[prefix..prefix + suffix].copy_from_slice(&self.suffix[..suffix]);
        prefix + suffix
    }

    /// Compares its key with one relative to the apex.
    #[inline(always)]
    pub(super) fn compare(&self, relative: &[u8]) -> Ordering {
        match relative.split_at_checked(self.prefix.len()) {
            Some((head, tail)) => self.prefix.cmp(head).then_with(|| self.suffix.cmp(tail)),
            None => self.prefix.iter().chain(self.suffix).cmp(relative),
        }
    }

    /// Whether it is below `other`.
    pub(super) fn is_below(&self, other: &Node<'_>) -> bool {
        let mut own = self.prefix.iter().chain(self.suffix);
        let is_under = other.prefix.iter().chain(other.suffix).all(|octet| own.next() == Some(octet));
        is_under && own.next().is_some()
    }

    /// What its shape says of each RRset, how it is stored, and the octets: among the references or, of a fragment of its own, that and what follows.
    pub(crate) fn stored_sets(&self) -> impl Iterator<Item = (Row, Storage, &'p [u8])> + use<'p> {
        let references = self.references;
        let mut at = self.fixed_octets();
        self.shape.rows().map_while(move |row| {
            let storage = row.storage()?;
            let octets = references.get(at..at + storage.octets())?;
            at += storage.octets();
            match storage {
                Storage::Own => Some((row, storage, references.get(u32_at(octets, 0) as usize..)?)),
                _ => Some((row, storage, octets)),
            }
        })
    }

    /// Its flags as they were stored, whatever has come or gone above it since.
    pub(crate) fn stored_flags(&self) -> Flags {
        self.shape.flags()
    }

    /// Octets of its references.
    pub(crate) fn shape_reference_octets(&self) -> usize {
        self.shape.reference_octets()
    }

    /// Whether it has an RRset of this type.
    pub(crate) fn has(&self, rtype: u16) -> bool {
        self.shape.rows().any(|row| row.rtype() == rtype)
    }

    /// The rank of its NSEC3 record as it was stored.
    pub(crate) fn stored_rank(&self) -> Option<u32> {
        self.shape.flags().has(Flags::HASHED).then(|| u32_at(self.references, 0))
    }

    /// The RRset of one type, signatures with it. There is no RRset of type RRSIG.
    #[inline(always)]
    pub fn rrset(&self, rtype: u16) -> Option<RRset<'p>> {
        let mut at = self.fixed_octets();
        for row in self.shape.rows() {
            let storage = row.storage()?;
            if row.rtype() == rtype {
                return self.rrset_at(row, storage, at);
            }
            at += storage.octets();
        }
        None
    }

    /// All RRsets in the order of their types.
    pub fn rrsets(&self) -> impl Iterator<Item = RRset<'p>> + use<'p> {
        let node = *self;
        let mut at = self.fixed_octets();
        self.shape.rows().map_while(move |row| {
            let storage = row.storage()?;
            let set = node.rrset_at(row, storage, at);
            at += storage.octets();
            set
        })
    }

    /// Octets of the references that belong to no RRset.
    #[inline(always)]
    fn fixed_octets(&self) -> usize {
        let flags = self.shape.flags();
        4 * (usize::from(flags.has(Flags::HASHED)) + usize::from(flags.has(Flags::GLUE)))
    }

    #[inline(always)]
    fn rrset_at(&self, row: Row, storage: Storage, at: usize) -> Option<RRset<'p>> {
        let octets = self.references.get(at..at + storage.octets())?;
        let data = match storage {
            Storage::A | Storage::Aaaa => Data::Inline(octets),
            Storage::Pool => Data::Fragment(Fragment::at(self.pack.pool(u32_at(octets, 0)))?),
            Storage::Own => Data::Fragment(Fragment::at(self.references.get(u32_at(octets, 0) as usize..)?)?),
        };
        Some(RRset { row, data })
    }

    /// The rank of the NSEC3 record that matches the name, or covers it where it has none of its own (RFC 5155
    /// 7.2.3, opt-out); `None` in zones without NSEC3.
    pub fn nsec3_rank(&self) -> Option<u32> {
        self.flags().has(Flags::HASHED).then(|| u32_at(self.references, 0))
    }

    /// The place of its glue list in the pool.
    pub(crate) fn glue_place(&self) -> Option<u32> {
        let at = 4 * usize::from(self.flags.has(Flags::HASHED));
        self.flags.has(Flags::GLUE).then(|| u32_at(self.references, at))
    }

    /// The glue of a zone cut.
    #[inline(always)]
    pub fn glue(&self) -> Option<Glue<'p>> {
        let flags = self.flags();
        if !flags.has(Flags::GLUE) {
            return None;
        }
        let at = 4 * usize::from(flags.has(Flags::HASHED));
        Some(Glue::at(self.pack.pool(u32_at(self.references, at))))
    }
}

/// An RRset of a name.
#[derive(Clone, Copy)]
pub struct RRset<'p> {
    pub(super) row: Row,
    pub(super) data: Data<'p>,
}

/// The data of an RRset.
#[derive(Clone, Copy)]
pub enum Data<'p> {
    /// The RDATA of the only record, an address; no signature.
    Inline(&'p [u8]),
    /// Everything else.
    Fragment(Fragment<'p>),
}

impl<'p> RRset<'p> {
    /// Its type.
    pub fn rtype(&self) -> u16 {
        self.row.rtype()
    }

    /// Its TTL.
    pub fn ttl(&self) -> u32 {
        self.row.ttl()
    }

    /// Type, class and TTL as on the wire.
    #[inline(always)]
    pub fn head(&self) -> [u8; 8] {
        self.row.wire()
    }

    /// Its data.
    #[inline(always)]
    pub fn data(&self) -> Data<'p> {
        self.data
    }

    /// Whether it has signatures.
    pub fn is_signed(&self) -> bool {
        matches!(self.data, Data::Fragment(fragment) if fragment.is_signed())
    }
}
