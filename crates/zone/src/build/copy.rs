//! A zone from one pack into another by its octets: no text, no records, nothing computed anew but the hashes of the index.
//!
//! ```text
//! names       key, shape, references: into blocks of the same bounds, so that a name keeps its number within the zone
//! references  addresses and ranks as they are; places in the pool: what is there, by its length, to this pool
//! NSEC rows   numbers of names, moved        NSEC3 rows  hash and TTL as they are, the fragment to this pool
//! ```
//!
//! Everything that is followed is checked: a pack made to deceive gives an error, or a copy that is as wrong as it is.

use super::zone::is_full;
use super::{PackBuilder, Problem, REFERENCES_OCTETS_MAX};
use crate::block::{DIRECTORY_ROW_OCTETS, NAMES_MAX};
use crate::contents::Flags;
use crate::fragment;
use crate::index::Hash;
use crate::lookup::{Node, ZoneView, server_beside, server_name};
use crate::pack::{ANY_SERVER, NOWHERE, NSEC_ROW_OCTETS, NSEC3_ROW_OCTETS, Pack, ZoneRow};
use crate::section::{Section, u32_at};
use crate::shape::Storage;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::sort_key::KEY_OCTETS_MAX;

/// Places remembered of what was copied last: delegations beside each other name the same servers. A power of two;
/// eight kilobytes stay in the nearest cache.
const REMEMBERED: usize = 1024;

/// Name servers of a cut that are listed: to uncompress names of a set takes time that grows with its square.
const SERVERS_LISTED_MAX: usize = 128;

/// Octets by which a block can grow: numbers of shapes have up to three octets more, its ends twice as many, its fill three.
const GROWTH_MAX: usize = NAMES_MAX * 4 + 3;

/// Where what stood at a place of the other pool stands in this one; of the zone that is being copied.
#[derive(Default)]
pub(super) struct Moved {
    /// By the lower bits of the place: number of the copy, old place, new place.
    places: Vec<(u32, u32, u32)>,
    copy: u32,
}

impl Moved {
    fn start(&mut self) {
        self.places.resize(REMEMBERED, (0, 0, 0));
        self.copy = self.copy.wrapping_add(1);
        if self.copy == 0 {
            self.places.fill((0, 0, 0));
            self.copy = 1;
        }
    }

    fn find(&self, old: u32) -> Option<u32> {
        let (copy, place, new) = self.places[old as usize % REMEMBERED];
        (copy == self.copy && place == old).then_some(new)
    }

    fn remember(&mut self, old: u32, new: u32) {
        self.places[old as usize % REMEMBERED] = (self.copy, old, new);
    }
}

impl PackBuilder {
    /// Adds zone `number` of another pack as it is there, its numbers and the stamp of its text included; its number in this
    /// pack is the count before. Answers from the copy are those from the original, octet for octet. Cost: a pass over its
    /// names and data. Errors: [`Problem::PackFull`]; [`Problem::Damaged`] when what is read is no sound zone, or there is none
    /// of that number. This pack is then as before, apart from data that nothing refers to.
    pub fn copy_zone(&mut self, from: &Pack, number: u32) -> Result<(), Problem> {
        let before = self.mark();
        let copied = self.copy(from, number);
        match &copied {
            Ok(row) => self.enter(row),
            Err(_) => self.back_to(&before),
        }
        copied.map(drop)
    }

    fn copy(&mut self, from: &Pack, number: u32) -> Result<ZoneRow, Problem> {
        let zone = ZoneView::new(from, number).ok_or(Problem::Damaged)?;
        let row = zone.row();
        let first_block = (self.directory.len() / DIRECTORY_ROW_OCTETS) as u32;
        if is_full(first_block, row.block_count as usize) {
            return Err(Problem::PackFull);
        }
        let mut copy = Copy::new(self, from, zone);
        let names = copy.names(self)?;
        if names != row.node_count {
            return Err(Problem::Damaged);
        }
        let denial_first =
            if row.bits & ZoneRow::NSEC3 == 0 { copy.nsec(self, first_block) } else { copy.nsec3(self) };
        let row = ZoneRow {
            denial_first: denial_first.ok_or(Problem::Damaged)?,
            nsec3_parameters: copy.parameters(self).ok_or(Problem::Damaged)?,
            apex: copy.apex_name(self).ok_or(Problem::Damaged)?,
            first_block,
            ..row
        };
        if self.is_full() { Err(Problem::PackFull) } else { Ok(row) }
    }
}

/// The work on one zone.
pub(super) struct Copy<'p> {
    from: &'p Pack,
    zone: ZoneView<'p>,
    /// Hash of the apex.
    apex: Hash,
    /// Hash of each name on the way from the apex to the present one, and the length of its key.
    path: Vec<(Hash, usize)>,
    key: Vec<u8>,
    /// The key before.
    last: Vec<u8>,
    references: Vec<u8>,
    /// Octets that were stored without looking whether they are there.
    pushed: usize,
}

impl<'p> Copy<'p> {
    /// Begins with a zone of `from`, which is the next of `to`.
    pub(super) fn new(to: &mut PackBuilder, from: &'p Pack, zone: ZoneView<'p>) -> Copy<'p> {
        to.moved.start();
        Copy {
            apex: Hash::of_apex(to.seed, to.zone_count),
            from,
            zone,
            path: Vec::new(),
            key: Vec::new(),
            last: Vec::new(),
            references: Vec::new(),
            pushed: 0,
        }
    }

    /// Copies all blocks; returns how many names they have.
    fn names(&mut self, to: &mut PackBuilder) -> Result<u32, Problem> {
        let count = self.zone.row().block_count;
        let (mut names, before) = (0, to.blocks.len());
        for number in 0..count {
            let block = self.zone.block(number).ok_or(Problem::Damaged)?;
            for slot in 0..block.count() {
                let node = self.zone.node_in(&block, number, slot).ok_or(Problem::Damaged)?;
                self.name(to, &node, names == 0).ok_or(Problem::Damaged)?;
                names += 1;
            }
            to.end_block(block.count());
            if to.is_full() {
                return Err(Problem::PackFull);
            }
            // Blocks that lie in each other must not become many times what they are.
            let most = self.from.section(Section::Blocks).len() + (number as usize + 1) * GROWTH_MAX;
            if to.blocks.len() - before > most {
                return Err(Problem::Damaged);
            }
        }
        Ok(names)
    }

    fn name(&mut self, to: &mut PackBuilder, node: &Node<'p>, is_first: bool) -> Option<()> {
        let hash = self.next_key(node, is_first)?;
        self.references(to, node)?;
        let shape = to.shapes.number(node.shape_octets());
        // In a block of the same bounds; rows of section nsec are copied by themselves.
        to.block.push(&self.key, shape, &self.references, false);
        to.hashes.push(hash);
        Some(())
    }

    /// The key of the present name, relative to the apex.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Goes on to the next name; returns its hash. `None` if it is not the next in order.
    pub(super) fn next_key(&mut self, node: &Node<'p>, is_first: bool) -> Option<Hash> {
        std::mem::swap(&mut self.key, &mut self.last);
        let (prefix, suffix) = node.key_parts();
        self.key.clear();
        self.key.extend_from_slice(prefix);
        self.key.extend_from_slice(suffix);
        // Blocks share what the first and the last of their keys have in common: that needs their order.
        let is_next = if is_first { self.key.is_empty() } else { self.last < self.key };
        if !is_next || self.key.len() > KEY_OCTETS_MAX {
            return None;
        }
        self.hash()
    }

    /// Hash of the present key, going on from the longest part of whole labels that it shares with the one before.
    fn hash(&mut self) -> Option<Hash> {
        let shared = self.key.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        while self.path.last().is_some_and(|&(_, end)| end > shared) {
            self.path.pop();
        }
        let (mut hash, mut from) = self.path.last().copied().unwrap_or((self.apex, 0));
        while from < self.key.len() {
            let end = from + self.key[from..].iter().position(|octet| *octet == 0)? + 1;
            hash = hash.extend(&self.key, from, end);
            self.path.push((hash, end));
            from = end;
        }
        Some(hash)
    }

    /// Copies what a name refers to.
    fn references(&mut self, to: &mut PackBuilder, node: &Node<'p>) -> Option<()> {
        let old = node.reference_octets();
        let flags = node.flags();
        self.references.clear();
        if old.len() > REFERENCES_OCTETS_MAX {
            return None;
        }
        if flags.has(Flags::HASHED) {
            self.references.extend_from_slice(old.get(..4)?);
        }
        if flags.has(Flags::GLUE) {
            let at = self.references.len();
            let place = u32_at(old.get(at..at + 4)?, 0);
            let new = self.shared(to, place, fragment::glue_octets)?;
            self.references.extend_from_slice(&new.to_le_bytes());
        }
        for row in node.shape_rows() {
            let at = self.references.len();
            let storage = row.storage()?;
            let octets = old.get(at..at + storage.octets())?;
            match storage {
                Storage::A | Storage::Aaaa => {
                    self.references.extend_from_slice(octets);
                    continue;
                }
                Storage::Pool => {}
                // Of deltas alone.
                Storage::Own => return None,
            }
            if row.rtype() == rtype::NS && !flags.has(Flags::APEX) {
                self.servers(to, node, u32_at(octets, 0))?;
            }
            let place = self.fragment(to, u32_at(octets, 0))?;
            self.references.extend_from_slice(&place.to_le_bytes());
        }
        (self.references.len() == old.len()).then_some(())
    }

    /// Takes note of the name servers of a cut in this zone, unless those at this place were met before.
    fn servers(&self, to: &mut PackBuilder, cut: &Node<'p>, place: u32) -> Option<()> {
        if to.moved.find(place).is_some() {
            return Some(());
        }
        self.note_servers(to, cut, &fragment::Fragment::at(self.from.pool(place))?);
        Some(())
    }

    /// The same of the NS RRset `servers` of `cut`.
    pub(super) fn note_servers(
        &self,
        to: &mut PackBuilder,
        cut: &Node<'_>,
        servers: &fragment::Fragment<'_>,
    ) {
        if servers.len() > SERVERS_LISTED_MAX {
            return to.servers.push(ANY_SERVER);
        }
        let mut name = [0; NAME_OCTETS_MAX];
        for number in 0..servers.len() {
            let Some(name) = server_name(&self.zone, cut, servers, number, &mut name) else { continue };
            to.servers.extend(server_beside(&self.zone, cut, name));
        }
    }

    /// Copies the fragment at `place`; returns its new place.
    pub(super) fn fragment(&mut self, to: &mut PackBuilder, place: u32) -> Option<u32> {
        let octets = self.from.pool(place);
        if !fragment::Fragment::at(octets)?.is_signed() {
            return self.shared(to, place, fragment::fragment_octets);
        }
        // Signed sets are different from each other: a signature covers the owner too.
        self.own(to, place)
    }

    /// Copies a fragment that nothing else refers to.
    fn own(&mut self, to: &mut PackBuilder, place: u32) -> Option<u32> {
        let octets = self.from.pool(place);
        let octets = octets.get(..fragment::fragment_octets(octets)?)?;
        self.pushed += octets.len();
        // One that others refer to all the same must not become a hundred thousand.
        (self.pushed <= self.from.section(Section::Pool).len()).then(|| to.pool.push(octets))
    }

    /// Copies what begins at `place`, unless this pool has it; `length` says how long it is. Returns its new place.
    pub(super) fn shared(
        &mut self,
        to: &mut PackBuilder,
        place: u32,
        length: impl Fn(&[u8]) -> Option<usize>,
    ) -> Option<u32> {
        if let Some(new) = to.moved.find(place) {
            return Some(new);
        }
        let octets = self.from.pool(place);
        let new = to.pool.place_of(octets.get(..length(octets)?)?);
        to.moved.remember(place, new);
        Some(new)
    }

    /// Copies the rows of names with NSEC records; returns the number of the first.
    fn nsec(&self, to: &mut PackBuilder, first_block: u32) -> Option<u32> {
        let first = (to.nsec.len() / NSEC_ROW_OCTETS) as u32;
        let row = self.zone.row();
        let old_first = row.first_block.wrapping_mul(NAMES_MAX as u32);
        if row.denial_count == 0 {
            return Some(first);
        }
        let blocks = row.block_count;
        let rows = self.zone.denial_octets(Section::Nsec, NSEC_ROW_OCTETS)?;
        for row in rows.as_chunks::<NSEC_ROW_OCTETS>().0 {
            let number = u32_at(row, 8).wrapping_sub(old_first);
            if number / NAMES_MAX as u32 >= blocks {
                return None;
            }
            to.nsec.extend_from_slice(&row[..8]);
            to.nsec.extend_from_slice(&(first_block * NAMES_MAX as u32 + number).to_le_bytes());
        }
        Some(first)
    }

    /// Copies the rows of an NSEC3 chain; returns the number of the first.
    fn nsec3(&mut self, to: &mut PackBuilder) -> Option<u32> {
        let first = (to.nsec3.len() / NSEC3_ROW_OCTETS) as u32;
        let rows = self.zone.denial_octets(Section::Nsec3, NSEC3_ROW_OCTETS)?;
        for row in rows.as_chunks::<NSEC3_ROW_OCTETS>().0 {
            let place = self.own(to, u32_at(row, 20))?;
            to.nsec3.extend_from_slice(&row[..20]);
            to.nsec3.extend_from_slice(&place.to_le_bytes());
            to.nsec3.extend_from_slice(&row[24..]);
        }
        Some(first)
    }

    /// Copies iterations and salt of the chain; returns their place.
    pub(super) fn parameters(&self, to: &mut PackBuilder) -> Option<u32> {
        let row = self.zone.row();
        if row.bits & ZoneRow::NSEC3 == 0 {
            return Some(NOWHERE);
        }
        let octets = self.from.pool(row.nsec3_parameters);
        let salt = *octets.get(2)? as usize;
        Some(to.pool.place_of(octets.get(..3 + salt)?))
    }

    /// Copies the apex's name; returns its place.
    pub(super) fn apex_name(&self, to: &mut PackBuilder) -> Option<u32> {
        let octets = self.zone.apex().octets().len() + self.zone.apex_key().len() + 3;
        Some(to.pool.place_of(self.from.pool(self.zone.row().apex).get(..octets)?))
    }
}
