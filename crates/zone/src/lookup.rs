//! Finding names in a zone: the exact match, the cut or DNAME above it, or the closest encloser.
//!
//! The walk goes from the apex down, one index probe a label, and stops at the first zone cut (RFC 1034
//! 4.3.2 step 3b), at a DNAME (RFC 6672 3.2) or where the name ends to exist (RFC 4592 3.3.1).

use crate::block::{Block, DIRECTORY_ROW_OCTETS, NAMES_MAX, sorting_word};
use crate::contents::Flags;
use crate::fragment::{Fragment, Glue};
use crate::index::{self, Hash};
use crate::pack::{NOWHERE, NSEC3_ROW_OCTETS, Pack, ZoneRow};
use crate::section::{Section, u16_at, u32_at, u64_at};
use crate::shape::{Row, Shape, Storage};
use std::cmp::Ordering;
use wire::{Key, Name};

/// One zone of a pack.
#[derive(Clone, Copy)]
pub struct Zone<'p> {
    pack: &'p Pack,
    row: ZoneRow,
    number: u32,
    apex: &'p Name,
    apex_key: &'p [u8],
    apex_labels: usize,
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

/// Result of [`Zone::walk`].
#[derive(Clone, Copy)]
pub struct Match<'p> {
    /// The node it ended at.
    pub node: Node<'p>,
    /// How many labels the node's name has, counted from the root.
    pub labels: usize,
    /// Why it ended there.
    pub kind: MatchKind,
    /// The hash there, from which [`Zone::wildcard_below`] goes on.
    pub hash: Hash,
}

impl<'p> Zone<'p> {
    /// Zone `number` of `pack`; `None` when there is none.
    #[inline(always)]
    pub fn new(pack: &'p Pack, number: u32) -> Option<Zone<'p>> {
        if number >= pack.zone_count() {
            return None;
        }
        let row = pack.zone_row(number);
        let (apex, apex_key) = pack.apex(&row)?;
        Some(Zone { pack, row, number, apex, apex_key, apex_labels: apex.label_count() })
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

    /// Numbers and bits of the zone.
    #[inline(always)]
    pub fn row(&self) -> &ZoneRow {
        &self.row
    }

    /// The apex's node; `None` in a damaged pack.
    #[inline(always)]
    pub fn apex_node(&self) -> Option<Node<'p>> {
        self.node(self.row.first_block * NAMES_MAX as u32)
    }

    /// Walks from the apex towards the name whose key is `key`; the name must be at or below the apex.
    /// `None` in a damaged pack. Cost: an index probe for each label below the apex that exists, and one more.
    #[inline(always)]
    pub fn walk(&self, key: &Key) -> Option<Match<'p>> {
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
        let mut key = [0; wire::key::KEY_OCTETS_MAX + 2];
        let length = encloser.node.copy_key(&mut key);
        key[length..length + 2].copy_from_slice(b"*\0");
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
        let number = (reference / NAMES_MAX as u32).wrapping_sub(self.row.first_block);
        if number >= self.row.block_count {
            return None;
        }
        let block = self.block(number)?;
        self.node_in(&block, number, reference as usize % NAMES_MAX)
    }

    /// Block `number` counted from the zone's first.
    #[inline(always)]
    fn block(&self, number: u32) -> Option<Block<'p>> {
        let at = (self.row.first_block + number) as usize * DIRECTORY_ROW_OCTETS;
        let start =
            u32_at(self.pack.section(Section::Directory), at + 8) as usize * crate::block::BLOCK_ALIGNMENT;
        Block::at(self.pack.section(Section::Blocks).get(start..)?)
    }

    #[inline(always)]
    fn node_in(&self, block: &Block<'p>, number: u32, slot: usize) -> Option<Node<'p>> {
        let (shape, rest) = block.entry(slot)?;
        let offsets = self.pack.section(Section::ShapeOffsets);
        let offset = u32_at(offsets.get(4 * shape..4 * shape + 4)?, 0) as usize;
        let shape = Shape::at(self.pack.section(Section::Shapes).get(offset..)?)?;
        let (references, suffix) = rest.split_at_checked(shape.reference_octets())?;
        let reference = (self.row.first_block + number) * NAMES_MAX as u32 + slot as u32;
        Some(Node { pack: self.pack, shape, references, prefix: block.prefix(), suffix, reference })
    }

    /// Finds the last name at or before `relative` in canonical order that has an NSEC record: the one that
    /// covers or matches it (RFC 4035 3.1.3.2). `None` in a zone without NSEC records.
    pub fn nsec_at_or_before(&self, relative: &[u8]) -> Option<Node<'p>> {
        let number = self.block_of(relative)?;
        let block = self.block(number)?;
        let mut slot = self.slot_at_or_before(&block, number, relative)?;
        loop {
            let node = self.node_in(&block, number, slot)?;
            if node.flags().has(Flags::NSEC) {
                return Some(node);
            }
            if slot == 0 {
                let row = (self.row.first_block + number) as usize * DIRECTORY_ROW_OCTETS;
                return match u32_at(self.pack.section(Section::Directory), row + 12) {
                    NOWHERE => None,
                    reference => self.node(reference),
                };
            }
            slot -= 1;
        }
    }

    /// The block in which `relative` is or would be.
    fn block_of(&self, relative: &[u8]) -> Option<u32> {
        let directory = self.pack.section(Section::Directory);
        let wanted = key_prefix(relative);
        let (mut low, mut high) = (0, self.row.block_count);
        // Invariant: blocks before `low` begin at or before the name, blocks from `high` on after it.
        while low < high {
            let middle = low + (high - low) / 2;
            let row = (self.row.first_block + middle) as usize * DIRECTORY_ROW_OCTETS;
            let order =
                u64_at(directory, row).cmp(&wanted).then_with(|| self.compare_first(middle, relative));
            match order {
                Ordering::Greater => high = middle,
                _ => low = middle + 1,
            }
        }
        low.checked_sub(1)
    }

    /// Compares the first name of a block with a key.
    #[cold]
    fn compare_first(&self, number: u32, relative: &[u8]) -> Ordering {
        let node = self.block(number).and_then(|block| self.node_in(&block, number, 0));
        node.map_or(Ordering::Less, |node| node.compare(relative))
    }

    /// The last slot of a block whose name is at or before `relative`; the first name is.
    #[inline(always)]
    fn slot_at_or_before(&self, block: &Block<'p>, number: u32, relative: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (1, block.count());
        // A name that does not begin as the whole block does comes after all of it, since the first is before.
        let Some(wanted) = relative.strip_prefix(block.prefix()) else { return Some(high - 1) };
        let wanted_word = key_prefix(wanted);
        while low < high {
            let middle = low + (high - low) / 2;
            let suffix = self.node_in(block, number, middle)?.suffix;
            let order = block.suffix_word(middle, suffix.len()).cmp(&wanted_word);
            match order.then_with(|| suffix.cmp(wanted)) {
                Ordering::Greater => high = middle,
                _ => low = middle + 1,
            }
        }
        Some(low - 1)
    }

    /// All names in canonical order, NSEC3 owners not among them.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'p>> + use<'p> {
        let zone = *self;
        (0..self.row.block_count).flat_map(move |number| {
            let block = zone.block(number);
            let count = block.map_or(0, |block| block.count());
            (0..count).filter_map(move |slot| zone.node_in(&block?, number, slot))
        })
    }

    /// NSEC3 record number `rank` of the zone, in the order of hashes.
    pub fn nsec3(&self, rank: u32) -> Option<Nsec3<'p>> {
        if rank >= self.row.nsec3_count {
            return None;
        }
        let at = (self.row.nsec3_first + rank) as usize * NSEC3_ROW_OCTETS;
        let row = self.pack.section(Section::Nsec3).get(at..at + NSEC3_ROW_OCTETS)?;
        let hash = row.first_chunk::<20>()?;
        Some(Nsec3 { pack: self.pack, hash, fragment: u32_at(row, 20), ttl: u32_at(row, 24) })
    }

    /// The NSEC3 record that matches `hash`, or else covers it: the last one at or before it, the chain being
    /// a ring (RFC 5155 7.1). Returns whether it matches. `None` in a zone without NSEC3.
    pub fn nsec3_for(&self, hash: &[u8; 20]) -> Option<(Nsec3<'p>, bool)> {
        let count = self.row.nsec3_count;
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
        if self.row.bits & ZoneRow::NSEC3 == 0 {
            return None;
        }
        let octets = self.pack.pool(self.row.nsec3_parameters);
        let salt = octets.get(3..3 + *octets.get(2)? as usize)?;
        Some((u16_at(octets, 0), salt))
    }
}

/// The first eight octets of a key as a number that sorts as they do; shorter keys are filled with zeros.
#[inline(always)]
pub fn key_prefix(key: &[u8]) -> u64 {
    sorting_word(key, 0, key.len())
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

    /// Its number, with which [`Zone::node`] finds it again.
    pub fn number(&self) -> u32 {
        self.reference
    }

    /// Its key relative to the apex, in two parts.
    #[inline(always)]
    pub fn key_parts(&self) -> (&'p [u8], &'p [u8]) {
        (self.prefix, self.suffix)
    }

    /// Copies its key relative to the apex; returns how many octets. Keys longer than the buffer are cut.
    pub fn copy_key(&self, to: &mut [u8]) -> usize {
        let mut length = 0;
        for (octet, slot) in self.prefix.iter().chain(self.suffix).zip(to) {
            *slot = *octet;
            length += 1;
        }
        length
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
