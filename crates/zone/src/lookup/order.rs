//! Names and hashes of a zone in their order: neighbours that prove absence, and walks over all.

use super::{Data, Merged, MergedBack, Node, RRset, ZoneView};
use crate::block::{DIRECTORY_ROW_OCTETS, NAMES_MAX};
use crate::fragment::Fragment;
use crate::pack::{NSEC_ROW_OCTETS, NSEC3_ROW_OCTETS, ZoneRow};
use crate::section::{Section, u16_at, u32_at};
use crate::shape::{Row, Storage};
use std::cmp::Ordering;
use wire::sort_key::KEY_OCTETS_MAX;

impl<'p> ZoneView<'p> {
    /// Finds the last name at or before `relative` in canonical order that has an NSEC record: the one that
    /// covers or matches it (RFC 4035 3.1.3.2). `None` in a zone that is not signed with NSEC.
    pub fn nsec_at_or_before(&self, relative: &[u8]) -> Option<Node<'p>> {
        let rows = rows::<NSEC_ROW_OCTETS>(self.denial_octets(Section::Nsec, NSEC_ROW_OCTETS)?);
        let found = last_at_or_before(rows, relative, |row| self.node(u32_at(&rows[row], 8)));
        if let Some(changed) = self.changed {
            return self.nsec_changed(changed, relative, found);
        }
        self.node(u32_at(rows.get(found?)?, 8))
    }

    /// The row of section nsec that is the last at or before `relative`; `None` where none is, and in zones without such rows.
    pub(crate) fn nsec_row(&self, relative: &[u8]) -> Option<u32> {
        let rows = rows::<NSEC_ROW_OCTETS>(self.denial_octets(Section::Nsec, NSEC_ROW_OCTETS)?);
        last_at_or_before(rows, relative, |row| self.node(u32_at(&rows[row], 8))).map(|row| row as u32)
    }

    /// The name that row `row` of section nsec was made of, as it is in the pack.
    pub(super) fn nsec_owner(&self, row: u32) -> Option<Node<'p>> {
        let rows = rows::<NSEC_ROW_OCTETS>(self.denial_octets(Section::Nsec, NSEC_ROW_OCTETS)?);
        self.node(u32_at(rows.get(row as usize)?, 8))
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
        let Some(changed) = self.changed else { return self.at_or_before_in_pack(relative) };
        let node = MergedBack::new(*self, changed, relative, true).next()?;
        let mut key = [0; KEY_OCTETS_MAX];
        let octets = node.copy_key(&mut key);
        self.find_changed(changed, &key[..octets])
    }

    /// The same among the names of the pack, whatever has changed since.
    pub(super) fn at_or_before_in_pack(&self, relative: &[u8]) -> Option<Node<'p>> {
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
        match self.changed {
            Some(changed) => Names::Merged(Merged::all(*self, changed)),
            None => Names::OfPack(self.nodes_from(0, 0)),
        }
    }

    /// Names in canonical order, from `relative`, a key relative to the apex, or else the next one on: a stream that was
    /// interrupted goes on with the last name it has not sent. NSEC3 owners are not among them. Costs a search, then a step a name.
    pub fn cursor(&self, relative: &[u8]) -> impl Iterator<Item = Node<'p>> + use<'p> {
        if let Some(changed) = self.changed {
            return Names::Merged(Merged::new(*self, changed, relative, true));
        }
        let (block, slot) = match self.at_or_before(relative) {
            Some(node) => {
                let block = (node.reference / NAMES_MAX as u32).wrapping_sub(self.first_block());
                let is_before = node.compare(relative) == Ordering::Less;
                (block, node.reference as usize % NAMES_MAX + usize::from(is_before))
            }
            // Of a damaged pack, which has no order.
            None => (0, 0),
        };
        Names::OfPack(self.nodes_from(block, slot))
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

    /// NSEC3 record number `rank` of the zone, in the order of hashes; numbers that [`Nsec3::rank`] gave of records that have changed are others.
    pub fn nsec3(&self, rank: u32) -> Option<Nsec3<'p>> {
        self.nsec3_in_pack(rank).or_else(|| self.own_nsec3(rank))
    }

    /// The same of the pack's, whatever has changed since.
    #[inline(always)]
    pub(crate) fn nsec3_in_pack(&self, rank: u32) -> Option<Nsec3<'p>> {
        let rows = rows::<NSEC3_ROW_OCTETS>(self.denial_octets(Section::Nsec3, NSEC3_ROW_OCTETS)?);
        let row = rows.get(rank as usize)?;
        let hash = row.first_chunk::<20>()?;
        Some(Nsec3 { fragment: self.pack.pool(u32_at(row, 20)), rank, hash, ttl: u32_at(row, 24) })
    }

    /// The NSEC3 record that matches `hash`, or else covers it: the last one at or before it, the chain being
    /// a ring (RFC 5155 7.1). Returns whether it matches. `None` in a zone without NSEC3.
    pub fn nsec3_for(&self, hash: &[u8; 20]) -> Option<(Nsec3<'p>, bool)> {
        let rank = self.nsec3_rank(hash)?;
        if let Some(changed) = self.changed {
            return self.nsec3_changed(changed, hash, rank);
        }
        let found = self.nsec3_in_pack(rank)?;
        Some((found, found.hash == hash))
    }

    /// The rank of the pack's last record at or before `hash`, or of the last of all where there is none.
    #[inline(always)]
    pub(crate) fn nsec3_rank(&self, hash: &[u8; 20]) -> Option<u32> {
        let rows = rows::<NSEC3_ROW_OCTETS>(self.denial_octets(Section::Nsec3, NSEC3_ROW_OCTETS)?);
        let count = u32_at(self.row, ZoneRow::DENIAL_COUNT_AT);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if rows.get(middle as usize)?.first_chunk::<20>()? <= hash {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.checked_sub(1).or(count.checked_sub(1))
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

/// Names of a zone in order.
enum Names<'p, I> {
    OfPack(I),
    Merged(Merged<'p>),
}

impl<'p, I: Iterator<Item = Node<'p>>> Iterator for Names<'p, I> {
    type Item = Node<'p>;

    fn next(&mut self) -> Option<Node<'p>> {
        match self {
            Names::OfPack(names) => names.next(),
            Names::Merged(names) => names.next(),
        }
    }
}

/// An NSEC3 record of a zone; its owner is the hash in base32hex below the apex.
#[derive(Clone, Copy)]
pub struct Nsec3<'p> {
    /// Begins with the fragment of its RRset.
    pub(super) fragment: &'p [u8],
    /// Its number among those of the pack, in the order of hashes; of one that has changed since a number apart from these, which tells no order.
    pub rank: u32,
    /// The hash.
    pub hash: &'p [u8; 20],
    /// The TTL.
    pub ttl: u32,
}

impl<'p> Nsec3<'p> {
    /// Octets that begin with the fragment of its RRset.
    pub(crate) fn octets(&self) -> &'p [u8] {
        self.fragment
    }

    /// The RRset.
    pub fn rrset(&self) -> Option<RRset<'p>> {
        let data = Data::Fragment(Fragment::at(self.fragment)?);
        Some(RRset { row: Row::new(wire::iana::rtype::NSEC3, Storage::Pool, self.ttl), data })
    }
}
