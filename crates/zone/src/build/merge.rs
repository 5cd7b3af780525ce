//! A zone that has changed, from a pack and the delta over it into another pack: names and records of its chain in order, each once.
//!
//! As in a copy no record is read that did not change: RRsets go over as fragments. What a pack knows ahead is found anew where the delta may have made it another:
//! flags by the way to a name, glue where its list may differ, ranks in intervals that have changed.

use super::copy::Copy;
use super::zone::is_full;
use super::{PackBuilder, Problem};
use crate::block::DIRECTORY_ROW_OCTETS;
use crate::contents::Flags;
use crate::fragment::{self, Fragment, GlueGroup, encode_glue};
use crate::lookup::{Data, Merged, Node, ZoneView};
use crate::pack::{NSEC_ROW_OCTETS, NSEC3_ROW_OCTETS, ZoneRow};
use crate::shape::{self, Row, Storage};
use dnssec::nsec3::Nsec3Params;
use wire::iana::rtype;
use wire::sort_key::name_of;

impl PackBuilder {
    /// Adds a zone in the state that `zone` shows; its number in this pack is the count before. What is seen of it in the new pack is what is seen
    /// of it now; the first expiry of its signatures is found anew. Errors as of [`PackBuilder::copy_zone`], which this is where the zone has not changed.
    pub fn merge_zone(&mut self, zone: &ZoneView<'_>) -> Result<(), Problem> {
        if zone.changed().is_none() {
            return self.copy_zone(zone.pack(), zone.number());
        }
        let before = self.mark();
        let merged = self.merge(zone);
        match &merged {
            Ok(row) => self.enter(row),
            Err(_) => self.back_to(&before),
        }
        merged.map(drop)
    }

    fn merge(&mut self, zone: &ZoneView<'_>) -> Result<ZoneRow, Problem> {
        let row = zone.row();
        let first_block = (self.directory.len() / DIRECTORY_ROW_OCTETS) as u32;
        if is_full(first_block, row.node_count as usize / crate::block::NAMES_MAX + 1) {
            return Err(Problem::PackFull);
        }
        let copy = Copy::new(self, zone.pack(), *zone);
        let mut merge = Merge {
            copy,
            zone: *zone,
            chain: 0..0,
            ranks: Vec::new(),
            nsec: (self.nsec.len() / NSEC_ROW_OCTETS) as u32,
            node_count: 0,
            has_nsec: false,
            is_signed: false,
            first_expiry: 0,
        };
        merge.chain(self).ok_or(Problem::Damaged)?;
        merge.names(self)?;
        let Merge { copy, chain, nsec, node_count, has_nsec, is_signed, first_expiry, .. } = merge;
        if node_count != row.node_count {
            return Err(Problem::Damaged);
        }
        let has_chain = zone.has_nsec3_chain();
        let nsec_count = (self.nsec.len() / NSEC_ROW_OCTETS) as u32 - nsec;
        let bit = |bit: u32, is_set: bool| if is_set { bit } else { 0 };
        let kept = ZoneRow::NSEC3 | ZoneRow::NSEC3_PROVES | ZoneRow::BESIDE_TEXT;
        let row = ZoneRow {
            apex: copy.apex_name(self).ok_or(Problem::Damaged)?,
            first_block,
            block_count: (self.directory.len() / DIRECTORY_ROW_OCTETS) as u32 - first_block,
            denial_first: if has_chain { chain.start } else { nsec },
            denial_count: if has_chain { chain.end - chain.start } else { nsec_count },
            nsec3_parameters: copy.parameters(self).ok_or(Problem::Damaged)?,
            bits: row.bits & kept
                | bit(ZoneRow::NSEC, has_nsec)
                | bit(ZoneRow::SIGNED, is_signed)
                | bit(ZoneRow::BESIDE_TEXT, zone.is_changed()),
            first_expiry,
            ..row
        };
        if self.is_full() { Err(Problem::PackFull) } else { Ok(row) }
    }
}

/// The work on one zone.
struct Merge<'p> {
    copy: Copy<'p>,
    zone: ZoneView<'p>,
    /// Rows of the new chain.
    chain: std::ops::Range<u32>,
    /// For each rank of the old pack the rank in the new one, or that of the record before if it has gone.
    ranks: Vec<u32>,
    /// The first row of section nsec.
    nsec: u32,
    node_count: u32,
    has_nsec: bool,
    is_signed: bool,
    first_expiry: u32,
}

impl<'p> Merge<'p> {
    /// Writes the rows of the chain.
    fn chain(&mut self, to: &mut PackBuilder) -> Option<()> {
        let first = (to.nsec3.len() / NSEC3_ROW_OCTETS) as u32;
        if !self.zone.has_nsec3_chain() {
            self.chain = first..first;
            return Some(());
        }
        let mut rank = 0;
        for record in self.zone.chain()? {
            let record = record.ok()?;
            let octets = record.octets();
            let octets = octets.get(..fragment::fragment_octets(octets)?)?;
            self.note(&Fragment::at(octets)?);
            to.nsec3.extend_from_slice(record.hash);
            to.nsec3.extend_from_slice(&to.pool.push(octets).to_le_bytes());
            to.nsec3.extend_from_slice(&record.ttl.to_le_bytes());
            if let Some(old) = self.zone.rank_in_pack(record.hash) {
                let old = old as usize;
                self.ranks.resize(self.ranks.len().max(old), rank.max(1) - 1);
                self.ranks.push(rank);
            }
            rank += 1;
        }
        self.chain = first..first + rank;
        Some(())
    }

    fn names(&mut self, to: &mut PackBuilder) -> Result<(), Problem> {
        let Some(changed) = self.zone.changed() else { return Err(Problem::Damaged) };
        for node in Merged::all(self.zone, changed) {
            self.name(to, &node).ok_or(Problem::Damaged)?;
            if to.is_full() {
                return Err(Problem::PackFull);
            }
        }
        to.end_blocks();
        Ok(())
    }

    fn name(&mut self, to: &mut PackBuilder, node: &Node<'p>) -> Option<()> {
        let hash = self.copy.next_key(node, self.node_count == 0)?;
        let mut flags = Flags(node.flags().0 & !(Flags::HASHED.0 | Flags::GLUE.0));
        let mut references = Vec::new();
        if let Some(rank) = self.rank(to, node) {
            flags.set(Flags::HASHED);
            references.extend_from_slice(&rank.to_le_bytes());
        }
        if flags.has(Flags::CUT)
            && let Some(place) = self.glue(to, node)?
        {
            flags.set(Flags::GLUE);
            references.extend_from_slice(&place.to_le_bytes());
        }
        let mut rows = Vec::new();
        for (row, storage, octets) in node.stored_sets() {
            if row.rtype() == rtype::NS && !flags.has(Flags::APEX) {
                self.servers(to, node)?;
            }
            let place = match storage {
                Storage::A | Storage::Aaaa => {
                    rows.push(row);
                    references.extend_from_slice(octets);
                    continue;
                }
                Storage::Pool => {
                    let place = crate::section::u32_at(octets, 0);
                    self.note(&Fragment::at(self.zone.pack().pool(place))?);
                    self.copy.fragment(to, place)?
                }
                Storage::Own => {
                    let octets = octets.get(..fragment::fragment_octets(octets)?)?;
                    let fragment = Fragment::at(octets)?;
                    self.note(&fragment);
                    if fragment.is_signed() { to.pool.push(octets) } else { to.pool.place_of(octets) }
                }
            };
            rows.push(Row::new(row.rtype(), Storage::Pool, row.ttl()));
            references.extend_from_slice(&place.to_le_bytes());
        }
        let mut encoded = Vec::new();
        shape::encode(flags, references.len(), &rows, &mut encoded);
        let shape = to.shapes.number(&encoded);
        to.hashes.push(hash);
        let is_nsec = flags.has(Flags::NSEC);
        self.has_nsec |= is_nsec;
        to.enter_name(self.copy.key(), shape, &references, is_nsec && !self.zone.has_nsec3_chain());
        self.node_count += 1;
        Some(())
    }

    /// The rank of the record that matches a name, or covers it.
    fn rank(&self, to: &PackBuilder, node: &Node<'p>) -> Option<u32> {
        let is_proved = self.zone.row().bits & ZoneRow::NSEC3_PROVES != 0;
        if !is_proved || node.flags().has(Flags::OCCLUDED) || self.chain.is_empty() {
            return None;
        }
        let changed = self.zone.changed()?;
        if let Some(old) = node.stored_rank().filter(|rank| !changed.has_changed_in(*rank)) {
            return self.ranks.get(old as usize).copied();
        }
        let (iterations, salt) = self.zone.nsec3_parameters()?;
        let name = name_of(self.zone.apex_key(), self.copy.key()).ok()?;
        let hash = Nsec3Params::new(iterations, salt).ok()?.hash(&name);
        let rows = to.nsec3.as_chunks::<NSEC3_ROW_OCTETS>().0;
        let rows = rows.get(self.chain.start as usize..self.chain.end as usize)?;
        let after = rows.partition_point(|row| row[..hash.len()] <= hash[..]);
        Some(after.checked_sub(1).unwrap_or(rows.len() - 1) as u32)
    }

    /// The place of the glue list of a cut, if it has one.
    fn glue(&mut self, to: &mut PackBuilder, cut: &Node<'p>) -> Option<Option<u32>> {
        let Some(live) = self.zone.whole_glue(cut) else {
            let place = cut.glue_place().map(|place| self.copy.shared(to, place, fragment::glue_octets));
            return match place {
                Some(None) => None,
                Some(place) => Some(place),
                None => Some(None),
            };
        };
        let groups: Vec<_> = live.collect();
        let addresses: Vec<Vec<u8>> = groups
            .iter()
            .map(|group| match group.set.data() {
                Data::Inline(octets) => octets.to_vec(),
                Data::Fragment(fragment) => fragment.records().flatten().copied().collect(),
            })
            .collect();
        let list: Vec<GlueGroup<'_>> = groups
            .iter()
            .zip(&addresses)
            .map(|(group, addresses)| GlueGroup {
                server: group.server,
                rtype: group.set.rtype(),
                in_domain: group.in_domain,
                authoritative: group.authoritative,
                ttl: group.set.ttl().to_be_bytes(),
                addresses,
            })
            .collect();
        if list.is_empty() {
            return Some(None);
        }
        let mut octets = Vec::new();
        encode_glue(&list, &mut octets);
        Some(Some(to.pool.place_of(&octets)))
    }

    /// Takes note of the name servers of a node in this zone.
    fn servers(&self, to: &mut PackBuilder, node: &Node<'p>) -> Option<()> {
        match node.rrset(rtype::NS)?.data() {
            Data::Fragment(servers) => self.copy.note_servers(to, node, &servers),
            Data::Inline(_) => {}
        }
        Some(())
    }

    /// Takes note of signatures, see [`ZoneRow::first_expiry`].
    fn note(&mut self, fragment: &Fragment<'_>) {
        if !fragment.is_signed() {
            return;
        }
        self.is_signed = true;
        let expiry = |rdata: &[u8]| Some(u32::from_be_bytes(*rdata.get(6..10)?.first_chunk()?).max(1));
        let later = |last, other| if super::is_before(last, other) { other } else { last };
        let Some(last) = fragment.signatures().filter_map(expiry).reduce(later) else { return };
        if self.zone.is_secure() && (self.first_expiry == 0 || super::is_before(last, self.first_expiry)) {
            self.first_expiry = last;
        }
    }
}
