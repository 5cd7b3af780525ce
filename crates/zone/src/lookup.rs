//! Finding names in a zone: the exact match, the cut or DNAME above it, or the closest encloser.
//!
//! The walk goes from the apex down, one index probe a label, and stops at the first zone cut (RFC 1034
//! 4.3.2 step 3b), at a DNAME (RFC 6672 3.2) or where the name ends to exist (RFC 4592 3.3.1).

mod changed;
mod crawl;
mod glue;
mod merged;
mod node;
mod order;
mod proof;

pub use crawl::{Crawl, Damaged, Owner, Step};
pub use glue::{LiveGlue, LiveGroup};
pub(crate) use glue::{server_beside, server_name};
pub use node::{Data, Node, RRset};
pub use order::{Nsec3, key_prefix};
pub use proof::Ranked;

pub(crate) use changed::Standing;
pub(crate) use merged::{Merged, MergedBack};

use crate::block::{Block, DIRECTORY_ROW_OCTETS, NAMES_MAX};
use crate::contents::Flags;
use crate::delta::Changed;
use crate::index::{self, Hash};
use crate::pack::{Pack, ZONE_ROW_OCTETS, ZoneRow};
use crate::section::{Section, u32_at};
use crate::shape::Shape;
use wire::{Name, SortKey};

/// What is seen of a zone, and all that answers are made from: where its names are, what proves their absence, a few numbers. It stands on
/// a pack, and where the zone has changed since, on a delta over it: which of the two is decided once a walk.
#[derive(Clone, Copy)]
pub struct ZoneView<'p> {
    pack: &'p Pack,
    /// See [`ZoneRow`]: read where it is wanted, as few answers want much of it.
    row: &'p [u8; ZONE_ROW_OCTETS],
    number: u32,
    apex: &'p Name,
    apex_key: &'p [u8],
    apex_labels: usize,
    /// What has changed since the pack was made.
    changed: Option<&'p Changed>,
}

/// What proves that names and types are absent from a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// Nothing: the zone is not signed, whatever NSEC and NSEC3 records it has.
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
        Some(ZoneView { pack, row, number, apex, apex_key, apex_labels, changed: None })
    }

    /// A zone in a state of its delta.
    pub fn of_changed(changed: &'p Changed) -> Option<ZoneView<'p>> {
        let view = ZoneView::new(changed.pack(), changed.number())?;
        Some(ZoneView { row: changed.row_octets(), changed: Some(changed), ..view })
    }

    /// The state of the delta that this shows; `None`: the zone is as in its pack.
    pub fn changed(&self) -> Option<&'p Changed> {
        self.changed
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

    /// Which pack it stands on, see [`Pack::id`].
    #[inline(always)]
    pub fn pack_id(&self) -> u64 {
        self.pack.id()
    }

    /// What tells numbers of nodes and of NSEC3 records apart: no two packs, and no two deltas, of a process ever have the same.
    #[inline(always)]
    pub fn numbers_id(&self) -> u64 {
        self.changed.map_or(self.pack.id(), Changed::id)
    }

    /// Whether something has changed in it since its pack was made, or may.
    pub fn is_changed(&self) -> bool {
        self.changed.is_some()
    }

    /// Whether it is read from a mapped file, and so may wait for a disk.
    pub fn is_mapped(&self) -> bool {
        self.pack.is_mapped()
    }

    pub(crate) fn pack(&self) -> &'p Pack {
        self.pack
    }

    /// Its number in the pack.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What proves that names and types are absent.
    #[inline(always)]
    pub fn denial(&self) -> Denial {
        match self.bits() & (ZoneRow::NSEC | ZoneRow::NSEC3_PROVES) {
            0 => Denial::None,
            ZoneRow::NSEC => Denial::Nsec,
            _ => Denial::Nsec3,
        }
    }

    /// Whether it has the NSEC3 records of a chain, also if these prove nothing as it is not signed.
    pub fn has_nsec3_chain(&self) -> bool {
        self.bits() & ZoneRow::NSEC3 != 0
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
        if let Some(changed) = self.changed {
            return self.apex_changed(changed);
        }
        self.apex_in_pack()
    }

    #[inline(always)]
    fn apex_in_pack(&self) -> Option<Node<'p>> {
        let first = self.node(self.first_block() * NAMES_MAX as u32)?;
        (first.prefix.is_empty() && first.suffix.is_empty()).then_some(first)
    }

    /// Walks from the apex towards the name whose key is `key`; the name must be at or below the apex.
    /// `None` in a damaged pack. Cost: an index probe for each label below the apex that exists, and one more.
    #[inline(always)]
    pub fn walk(&self, key: &SortKey) -> Option<Match<'p>> {
        if let Some(changed) = self.changed {
            return self.walk_changed(changed, key);
        }
        let mut node = self.apex_in_pack()?;
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
        if let Some(changed) = self.changed {
            let standing = Standing::below(encloser.node.flags);
            return self.child_changed(changed, hash, &key[..length + 2], standing);
        }
        self.probe(hash, &key[..length + 2])
    }

    /// Finds the name with this key relative to the apex, whatever is above it; its flags say what that is.
    pub fn find(&self, relative: &[u8]) -> Option<Node<'p>> {
        if let Some(changed) = self.changed {
            return self.find_changed(changed, relative);
        }
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

    /// Name number `reference` if it is one of this zone. Where the zone has changed since the pack was made, its flags are as they were stored.
    #[inline(always)]
    pub fn node(&self, reference: u32) -> Option<Node<'p>> {
        let number = (reference / NAMES_MAX as u32).wrapping_sub(self.first_block());
        if number >= self.block_count() {
            return self.own_node(reference);
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
        let flags = shape.flags();
        Some(Node { pack: self.pack, shape, references, prefix: block.prefix(), suffix, reference, flags })
    }
}
