//! A name of a zone and its RRsets.

use crate::contents::Flags;
use crate::fragment::{Fragment, Glue};
use crate::pack::Pack;
use crate::section::u32_at;
use crate::shape::{Row, Shape, Storage};
use std::cmp::Ordering;

/// One name of a zone in a pack.
#[derive(Clone, Copy)]
pub struct Node<'p> {
    pub(super) pack: &'p Pack,
    pub(super) shape: Shape<'p>,
    pub(super) references: &'p [u8],
    pub(super) prefix: &'p [u8],
    pub(super) suffix: &'p [u8],
    pub(super) reference: u32,
}

impl<'p> Node<'p> {
    /// What it is.
    #[inline(always)]
    pub fn flags(&self) -> Flags {
        self.shape.flags()
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
        let flags = self.flags();
        4 * (usize::from(flags.has(Flags::HASHED)) + usize::from(flags.has(Flags::GLUE)))
    }

    #[inline(always)]
    fn rrset_at(&self, row: Row, storage: Storage, at: usize) -> Option<RRset<'p>> {
        let octets = self.references.get(at..at + storage.octets())?;
        let data = match storage {
            Storage::A | Storage::Aaaa => Data::Inline(octets),
            Storage::Pool => Data::Fragment(Fragment::at(self.pack.pool(u32_at(octets, 0)))?),
        };
        Some(RRset { row, data })
    }

    /// The rank of the NSEC3 record that matches the name, or covers it where it has none of its own (RFC 5155
    /// 7.2.3, opt-out); `None` in zones without NSEC3.
    pub fn nsec3_rank(&self) -> Option<u32> {
        self.flags().has(Flags::HASHED).then(|| u32_at(self.references, 0))
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
