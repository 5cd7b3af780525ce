//! Finding names in a zone: the exact match, the cut or DNAME above it, or the closest encloser.
//!
//! The walk goes from the apex down, one index probe a label, and stops at the first zone cut (RFC 1034
//! 4.3.2 step 3b), at a DNAME (RFC 6672 3.2) or where the name ends to exist (RFC 4592 3.3.1).

use crate::block::{Block, DIRECTORY_ROW_OCTETS, NAMES_MAX};
use crate::contents::Flags;
use crate::fragment::{Fragment, Glue};
use crate::index::{self, Hash};
use crate::pack::{NSEC_ROW_OCTETS, NSEC3_ROW_OCTETS, Pack, ZONE_ROW_OCTETS, ZoneRow};
use crate::section::{Section, u16_at, u32_at};
use crate::shape::{Row, Shape, Storage};
use std::cmp::Ordering;
use wire::{Name, SortKey};

/// What is seen of a zone, and all that answers are made from: where its names are, what proves their absence, a few numbers. Today it stands on
/// one pack.
#[derive(Clone, Copy)]
pub struct ZoneView<'p> {
    pack: &'p Pack,
    /// See [`ZoneRow`]: read where it is wanted, as few answers want much of it.
    row: &'p [u8; ZONE_ROW_OCTETS],
    number: u32,
    apex: &'p Name,
    apex_key: &'p [u8],
    apex_labels: usize,
}

/// What proves that names and types are absent from a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// Nothing.
    None,
    /// NSEC records (RFC 4035 3.1.3).
    Nsec,
    /// NSEC3 records, also where there are NSEC records (RFC 5155 7.2).
    Nsec3,
}

/// What the walk ended at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// The name exists and is authoritative (or is the apex).
    Exact,
    /// The node is a zone cut, at or above the name.
    Cut,
    /// The node has a DNAME and is above the name.
    Dname,
    /// The name does not exist; the node is its closest encloser.
    Encloser,
}

/// Result of [`ZoneView::walk`].
#[derive(Clone, Copy)]
pub struct Match<'p> {
    /// The node it ended at.
    pub node: Node<'p>,
    /// How many labels the node's name has, counted from the root.
    pub labels: usize,
    /// Why it ended there.
    pub kind: MatchKind,
    /// The hash there, from which [`ZoneView::wildcard_below`] goes on.
    pub hash: Hash,
}

impl<'p> ZoneView<'p> {
    /// Zone `number` of `pack`; `None` when there is none.
    #[inline(always)]
    pub fn new(pack: &'p Pack, number: u32) -> Option<ZoneView<'p>> {
        let mut view = ZoneView::with_labels(pack, number, 0)?;
        view.apex_labels = view.apex.label_count();
        Some(view)
    }

    /// The same for an apex of which it is known that it has so many labels.
    #[inline(always)]
    pub(crate) fn with_labels(pack: &'p Pack, number: u32, apex_labels: usize) -> Option<ZoneView<'p>> {
        let row = pack.zone_octets(number)?;
        let (apex, apex_key) = pack.apex_at(u32_at(row, 0))?;
        Some(ZoneView { pack, row, number, apex, apex_key, apex_labels })
    }

    /// Key of the apex of zone `number` of `pack`.
    #[inline(always)]
    pub(crate) fn key_in(pack: &'p Pack, number: u32) -> Option<&'p [u8]> {
        pack.apex_at(u32_at(pack.zone_octets(number)?, 0)).map(|(_, key)| key)
    }

    /// The apex's name, lower-case.
    #[inline(always)]
    pub fn apex(&self) -> &'p Name {
        self.apex
    }

    /// The apex's key.
    #[inline(always)]
    pub fn apex_key(&self) -> &'p [u8] {
        self.apex_key
    }

    /// Labels of the apex.
    #[inline(always)]
    pub fn apex_labels(&self) -> usize {
        self.apex_labels
    }

    /// Tells zones apart as long as their packs live: where the apex's name is.
    #[inline(always)]
    pub fn identity(&self) -> usize {
        self.apex.octets().as_ptr() as usize
    }

    /// What tells numbers of nodes apart: no two packs of a process ever have the same.
    #[inline(always)]
    pub fn pack_id(&self) -> u64 {
        self.pack.id()
    }

    /// What proves that names and types are absent.
    #[inline(always)]
    pub fn denial(&self) -> Denial {
        match self.bits() & (ZoneRow::NSEC | ZoneRow::NSEC3) {
            0 => Denial::None,
            ZoneRow::NSEC => Denial::Nsec,
            _ => Denial::Nsec3,
        }
    }

    /// Whether there are signatures.
    #[inline(always)]
    pub fn is_signed(&self) -> bool {
        self.bits() & ZoneRow::SIGNED != 0
    }

    /// TTL of negative answers (RFC 2308 5).
    #[inline(always)]
    pub fn negative_ttl(&self) -> u32 {
        u32_at(self.row, ZoneRow::NEGATIVE_TTL_AT)
    }

    /// Numbers and bits of the zone.
    #[inline(always)]
    pub fn row(&self) -> ZoneRow {
        ZoneRow::decode(self.row)
    }

    #[inline(always)]
    fn first_block(&self) -> u32 {
        u32_at(self.row, ZoneRow::FIRST_BLOCK_AT)
    }

    #[inline(always)]
    fn block_count(&self) -> u32 {
        u32_at(self.row, ZoneRow::BLOCK_COUNT_AT)
    }

    #[inline(always)]
    fn bits(&self) -> u32 {
        u32_at(self.row, ZoneRow::BITS_AT)
    }

    /// The apex's node; `None` in a damaged pack.
    #[inline(always)]
    pub fn apex_node(&self) -> Option<Node<'p>> {
        let first = self.node(self.first_block() * NAMES_MAX as u32)?;
        (first.prefix.is_empty() && first.suffix.is_empty()).then_some(first)
    }

    /// Walks from the apex towards the name whose key is `key`; the name must be at or below the apex.
    /// `None` in a damaged pack. Cost: an index probe for each label below the apex that exists, and one more.
    #[inline(always)]
    pub fn walk(&self, key: &SortKey) -> Option<Match<'p>> {
        let mut node = self.apex_node()?;
        let mut hash = Hash::of_apex(self.pack.seed(), self.number);
        let mut labels = self.apex_labels;
        let wanted = key.label_count();
        while labels < wanted {
            if labels > self.apex_labels && node.flags().has(Flags::CUT) {
                return Some(Match { node, labels, kind: MatchKind::Cut, hash });
            }
            if node.flags().has(Flags::DNAME) {
                return Some(Match { node, labels, kind: MatchKind::Dname, hash });
            }
            let next = hash.extend(key.padded(), key.end(labels), key.end(labels + 1));
            let relative = key.ancestor(labels + 1).get(self.apex_key.len()..)?;
            let Some(child) = self.probe(next, relative) else {
                return Some(Match { node, labels, kind: MatchKind::Encloser, hash });
            };
            node = child;
            hash = next;
            labels += 1;
        }
        let is_cut = labels > self.apex_labels && node.flags().has(Flags::CUT);
        let kind = if is_cut { MatchKind::Cut } else { MatchKind::Exact };
        Some(Match { node, labels, kind, hash })
    }

    /// The wildcard below the node of a match, if there is one (RFC 4592, source of synthesis).
    pub fn wildcard_below(&self, encloser: &Match<'p>) -> Option<Node<'p>> {
        if !encloser.node.flags().has(Flags::WILDCARD_CHILD) {
            return None;
        }
        let mut key = [0; wire::sort_key::KEY_OCTETS_MAX + 2];
        let length = encloser.node.copy_key(&mut key);
        key.get_mut(length..length + 2)?.copy_from_slice(b"*\0");
        let hash = encloser.hash.extend(b"*\0\0\0\0\0\0\0", 0, 2);
        self.probe(hash, &key[..length + 2])
    }

    /// Finds the name with this key relative to the apex, whatever is above it.
    pub fn find(&self, relative: &[u8]) -> Option<Node<'p>> {
        if relative.is_empty() {
            return self.apex_node();
        }
        let mut hash = Hash::of_apex(self.pack.seed(), self.number);
        let mut from = 0;
        for (at, _) in relative.iter().enumerate().filter(|(_, octet)| **octet == 0) {
            hash = hash.extend(relative, from, at + 1);
            from = at + 1;
        }
        self.probe(hash, relative)
    }

    /// Asks the index for the name with this hash and relative key.
    #[inline(always)]
    fn probe(&self, hash: Hash, relative: &[u8]) -> Option<Node<'p>> {
        index::find(self.pack.section(Section::Index), hash, |reference| {
            let node = self.node(reference)?;
            let prefix = node.prefix;
            let is_it = relative.len() == prefix.len() + node.suffix.len()
                && relative[..prefix.len()] == *prefix
                && relative[prefix.len()..] == *node.suffix;
            is_it.then_some(node)
        })
    }

    /// Name number `reference` if it is one of this zone.
    #[inline(always)]
    pub fn node(&self, reference: u32) -> Option<Node<'p>> {
        let number = (reference / NAMES_MAX as u32).wrapping_sub(self.first_block());
        if number >= self.block_count() {
            return None;
        }
        let block = self.block(number)?;
        self.node_in(&block, number, reference as usize % NAMES_MAX)
    }

    /// Block `number` counted from the zone's first.
    #[inline(always)]
    pub(crate) fn block(&self, number: u32) -> Option<Block<'p>> {
        let at = (self.first_block() + number) as usize * DIRECTORY_ROW_OCTETS;
        let start =
            u32_at(self.pack.section(Section::Directory), at + 8) as usize * crate::block::BLOCK_ALIGNMENT;
        Block::at(self.pack.section(Section::Blocks).get(start..)?)
    }

    #[inline(always)]
    pub(crate) fn node_in(&self, block: &Block<'p>, number: u32, slot: usize) -> Option<Node<'p>> {
        let (shape, rest) = block.entry(slot)?;
        let offsets = self.pack.section(Section::ShapeOffsets);
        let offset = u32::from_le_bytes(*offsets.get(4 * shape..)?.first_chunk()?) as usize;
        let shape = Shape::at(self.pack.section(Section::Shapes).get(offset..)?)?;
        let (references, suffix) = rest.split_at_checked(shape.reference_octets())?;
        let reference = (self.first_block() + number) * NAMES_MAX as u32 + slot as u32;
        Some(Node { pack: self.pack, shape, references, prefix: block.prefix(), suffix, reference })
    }

    /// Finds the last name at or before `relative` in canonical order that has an NSEC record: the one that
    /// covers or matches it (RFC 4035 3.1.3.2). `None` in a zone that is not signed with NSEC.
    pub fn nsec_at_or_before(&self, relative: &[u8]) -> Option<Node<'p>> {
        let rows = rows::<NSEC_ROW_OCTETS>(self.denial_octets(Section::Nsec, NSEC_ROW_OCTETS)?);
        let found = last_at_or_before(rows, relative, |row| self.node(u32_at(&rows[row], 8)))?;
        self.node(u32_at(rows.get(found)?, 8))
    }

    /// Rows of one of the two sections about denial, if the zone has any.
    #[inline(always)]
    pub(crate) fn denial_octets(&self, section: Section, row_octets: usize) -> Option<&'p [u8]> {
        if (section == Section::Nsec3) != (self.bits() & ZoneRow::NSEC3 != 0) {
            return None;
        }
        let first = u32_at(self.row, ZoneRow::DENIAL_FIRST_AT) as usize * row_octets;
        self.pack
            .section(section)
            .get(first..first + u32_at(self.row, ZoneRow::DENIAL_COUNT_AT) as usize * row_octets)
    }

    /// Finds the last name at or before `relative` in canonical order. `None` in a damaged pack: the apex is before all.
    pub fn at_or_before(&self, relative: &[u8]) -> Option<Node<'p>> {
        let first = self.first_block() as usize * DIRECTORY_ROW_OCTETS;
        let octets = self.block_count() as usize * DIRECTORY_ROW_OCTETS;
        let rows =
            rows::<DIRECTORY_ROW_OCTETS>(self.pack.section(Section::Directory).get(first..first + octets)?);
        let number = last_at_or_before(rows, relative, |row| {
            self.block(row as u32).and_then(|block| self.node_in(&block, row as u32, 0))
        })? as u32;
        let block = self.block(number)?;
        let (mut low, mut high) = (1, block.count());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.node_in(&block, number, middle)?.compare(relative) == Ordering::Greater {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.node_in(&block, number, low - 1)
    }

    /// All names in canonical order, NSEC3 owners not among them.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'p>> + use<'p> {
        self.nodes_from(0, 0)
    }

    /// Names in canonical order, from `relative`, a key relative to the apex, or else the next one on: a stream that was
    /// interrupted goes on with the last name it has not sent. NSEC3 owners are not among them. Costs a search, then a step a name.
    pub fn cursor(&self, relative: &[u8]) -> impl Iterator<Item = Node<'p>> + use<'p> {
        let (block, slot) = match self.at_or_before(relative) {
            Some(node) => {
                let block = (node.reference / NAMES_MAX as u32).wrapping_sub(self.first_block());
                let is_before = node.compare(relative) == Ordering::Less;
                (block, node.reference as usize % NAMES_MAX + usize::from(is_before))
            }
            // Of a damaged pack, which has no order.
            None => (0, 0),
        };
        self.nodes_from(block, slot)
    }

    /// Names from the one with number `slot` of block `block` on.
    fn nodes_from(&self, block: u32, slot: usize) -> impl Iterator<Item = Node<'p>> + use<'p> {
        let zone = *self;
        (block..self.block_count()).flat_map(move |number| {
            let first = if number == block { slot } else { 0 };
            let block = zone.block(number);
            let count = block.map_or(0, |block| block.count());
            (first..count).filter_map(move |slot| zone.node_in(&block?, number, slot))
        })
    }

    /// NSEC3 record number `rank` of the zone, in the order of hashes.
    pub fn nsec3(&self, rank: u32) -> Option<Nsec3<'p>> {
        let rows = rows::<NSEC3_ROW_OCTETS>(self.denial_octets(Section::Nsec3, NSEC3_ROW_OCTETS)?);
        let row = rows.get(rank as usize)?;
        let hash = row.first_chunk::<20>()?;
        Some(Nsec3 { pack: self.pack, rank, hash, fragment: u32_at(row, 20), ttl: u32_at(row, 24) })
    }

    /// The NSEC3 record that matches `hash`, or else covers it: the last one at or before it, the chain being
    /// a ring (RFC 5155 7.1). Returns whether it matches. `None` in a zone without NSEC3.
    pub fn nsec3_for(&self, hash: &[u8; 20]) -> Option<(Nsec3<'p>, bool)> {
        let count = u32_at(self.row, ZoneRow::DENIAL_COUNT_AT);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.nsec3(middle)?.hash <= hash {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = self.nsec3(low.checked_sub(1).unwrap_or(count.checked_sub(1)?))?;
        Some((found, found.hash == hash))
    }

    /// Iterations and salt of the NSEC3 chain (RFC 5155 4); `None` without one.
    pub fn nsec3_parameters(&self) -> Option<(u16, &'p [u8])> {
        if self.bits() & ZoneRow::NSEC3 == 0 {
            return None;
        }
        let octets = self.pack.pool(u32_at(self.row, ZoneRow::NSEC3_PARAMETERS_AT));
        let salt = octets.get(3..3 + *octets.get(2)? as usize)?;
        Some((u16_at(octets, 0), salt))
    }
}

/// Octets as rows of `N`.
#[inline(always)]
fn rows<const N: usize>(octets: &[u8]) -> &[[u8; N]] {
    octets.as_chunks().0
}

/// The last row whose key is at or before `relative`; rows are in the order of their keys, whose first eight octets they begin
/// with. `node`: of a row, asked where those are the same.
#[inline(always)]
fn last_at_or_before<'p, const N: usize>(
    rows: &[[u8; N]],
    relative: &[u8],
    node: impl Fn(usize) -> Option<Node<'p>>,
) -> Option<usize> {
    let wanted = key_prefix(relative);
    let (mut low, mut high) = (0, rows.len());
    // Rows before `low` are at or before the key, those from `high` on after it.
    while low < high {
        let middle = low + (high - low) / 2;
        let word = u64::from_le_bytes(*rows[middle].first_chunk()?);
        let is_before = if word == wanted { is_at_or_before(node(middle), relative) } else { word < wanted };
        if is_before {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low.checked_sub(1)
}

#[cold]
fn is_at_or_before(node: Option<Node<'_>>, relative: &[u8]) -> bool {
    node.is_none_or(|node| node.compare(relative) != Ordering::Greater)
}

/// The first eight octets of a key as a number that sorts as they do; shorter keys are filled with zeros.
#[inline(always)]
pub fn key_prefix(key: &[u8]) -> u64 {
    if let Some(octets) = key.first_chunk::<8>() {
        return u64::from_be_bytes(*octets);
    }
    key.iter().fold(0, |word, &octet| word << 8 | u64::from(octet)) << (8 * (8 - key.len()) % 64)
}

/// One name of a zone in a pack.
#[derive(Clone, Copy)]
pub struct Node<'p> {
    pack: &'p Pack,
    shape: Shape<'p>,
    references: &'p [u8],
    prefix: &'p [u8],
    suffix: &'p [u8],
    reference: u32,
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
    pub(crate) fn shape_rows(&self) -> impl Iterator<Item = Row> + use<'p> {
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
    fn compare(&self, relative: &[u8]) -> Ordering {
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
    row: Row,
    data: Data<'p>,
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

/// An NSEC3 record of a zone; its owner is the hash in base32hex below the apex.
#[derive(Clone, Copy)]
pub struct Nsec3<'p> {
    pack: &'p Pack,
    /// Its number among those of the zone, in the order of hashes.
    pub rank: u32,
    /// The hash.
    pub hash: &'p [u8; 20],
    fragment: u32,
    /// The TTL.
    pub ttl: u32,
}

impl<'p> Nsec3<'p> {
    /// The RRset.
    pub fn rrset(&self) -> Option<RRset<'p>> {
        let data = Data::Fragment(Fragment::at(self.pack.pool(self.fragment))?);
        Some(RRset { row: Row::new(wire::iana::rtype::NSEC3, Storage::Pool, self.ttl), data })
    }
}
