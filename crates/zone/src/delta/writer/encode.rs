//! Nodes of a delta: shape, references, fragments of their own.

use super::Refused;
use super::held::{Held, HeldSet};
use crate::build::REFERENCES_OCTETS_MAX;
use crate::build::rrset::{Encoder, Room};
use crate::contents::Flags;
use crate::fragment;
use crate::shape::{self, Row, Storage};
use std::ops::Range;
use wire::Name;
use wire::iana::rtype;

/// A node as it is put together.
#[derive(Default)]
pub(crate) struct NodeBuilder {
    rows: Vec<Row>,
    references: Vec<u8>,
    /// Fragments, one after another, and where among the references it is said where each begins.
    fragments: Vec<u8>,
    own: Vec<(usize, usize)>,
}

impl NodeBuilder {
    /// An empty node; `rank`: of the NSEC3 record that matches or covers it in the pack.
    pub(crate) fn new(rank: Option<u32>) -> NodeBuilder {
        let mut node = NodeBuilder::default();
        if let Some(rank) = rank {
            node.references.extend_from_slice(&rank.to_le_bytes());
        }
        node
    }

    /// Adds an RRset that is stored as `row` says, in the order of types. `octets`: address, place in the pool, or a whole fragment.
    pub(crate) fn push(&mut self, row: Row, storage: Storage, octets: &[u8]) {
        self.rows.push(Row::new(row.rtype(), storage, row.ttl()));
        if storage == Storage::Own {
            self.own.push((self.references.len(), self.fragments.len()));
            self.references.extend_from_slice(&[0; 4]);
            self.fragments.extend_from_slice(octets);
        } else {
            self.references.extend_from_slice(octets);
        }
    }

    /// Appends the node to `out`; returns where it is there. `flags`: but for those that its references follow from.
    pub(crate) fn finish(
        mut self,
        flags: Flags,
        has_rank: bool,
        out: &mut Vec<u8>,
    ) -> Result<Range<u32>, Refused> {
        // A pack has two numbers more perhaps: a rank, and the place of a list of glue.
        if self.references.len() + 8 > REFERENCES_OCTETS_MAX {
            return Err(Refused::TooManyTypes);
        }
        let end = self.references.len();
        for (at, fragment) in self.own {
            self.references[at..at + 4].copy_from_slice(&((end + fragment) as u32).to_le_bytes());
        }
        let mut flags = flags;
        if has_rank {
            flags.set(Flags::HASHED);
        }
        let start = u32::try_from(out.len()).map_err(|_| Refused::Full)?;
        shape::encode(flags, end, &self.rows, out);
        out.extend_from_slice(&self.references);
        out.extend_from_slice(&self.fragments);
        Ok(start..u32::try_from(out.len()).map_err(|_| Refused::Full)?)
    }
}

/// Appends the node of a name to `out`; returns where it is.
pub(super) fn node(
    held: &Held<'_>,
    key: &[u8],
    flags: Flags,
    apex: &Name,
    room: &mut Room,
    out: &mut Vec<u8>,
) -> Result<Range<u32>, Refused> {
    let rank = held.old.and_then(|node| node.stored_rank());
    let mut node = NodeBuilder::new(rank);
    let mut encoder = Encoder::new(apex, std::mem::take(room));
    encoder.start_name(key, flags);
    let mut orphans = (!held.orphans.is_empty()).then_some(());
    for set in &held.sets {
        if set.rtype > rtype::RRSIG && orphans.take().is_some() {
            push_orphans(held, &mut node)?;
        }
        push_set(set, &mut encoder, &mut node)?;
    }
    if orphans.is_some() {
        push_orphans(held, &mut node)?;
    }
    *room = encoder.into_room();
    node.finish(flags, rank.is_some(), out)
}

fn push_set<'c>(
    set: &'c HeldSet<'_>,
    encoder: &mut Encoder<'c>,
    node: &mut NodeBuilder,
) -> Result<(), Refused> {
    if let Some(kept) = &set.kept {
        let octets = match kept.storage {
            Storage::Own => kept.fragment().ok_or(Refused::Damaged)?,
            _ => kept.octets,
        };
        node.push(kept.row, kept.storage, octets);
        return Ok(());
    }
    if let ([address], true) = (&set.records[..], set.signatures.is_empty()) {
        let storage = match (set.rtype, address.len()) {
            (rtype::A, 4) => Some(Storage::A),
            (rtype::AAAA, 16) => Some(Storage::Aaaa),
            _ => None,
        };
        if let Some(storage) = storage {
            node.push(Row::new(set.rtype, storage, set.ttl), storage, address);
            return Ok(());
        }
    }
    let records = set.records.iter().map(|rdata| &rdata[..]);
    let signatures = set.signatures.iter().filter_map(|rdata| rdata.get(2..));
    let fragment = encoder.encode(set.rtype, records, signatures).ok_or(Refused::TooLarge(set.rtype))?;
    node.push(Row::new(set.rtype, Storage::Own, set.ttl), Storage::Own, fragment);
    Ok(())
}

fn push_orphans(held: &Held<'_>, node: &mut NodeBuilder) -> Result<(), Refused> {
    let mut fragment = Vec::new();
    let records = held.orphans.iter().map(|rdata| &rdata[..]);
    if !fragment::encode_plain(records, std::iter::empty(), &mut fragment) {
        return Err(Refused::TooLarge(rtype::RRSIG));
    }
    node.push(Row::new(rtype::RRSIG, Storage::Own, held.orphans_ttl), Storage::Own, &fragment);
    Ok(())
}

/// Appends the node of an NSEC3 record of the chain, which has one RRset, to `out`; returns where it is. `pool`: of the pack.
pub(super) fn record<'p>(
    set: &HeldSet<'_>,
    pool: impl Fn(u32) -> &'p [u8],
    out: &mut Vec<u8>,
) -> Result<Range<u32>, Refused> {
    let mut node = NodeBuilder::new(None);
    let mut encoded = Vec::new();
    let fragment = match &set.kept {
        Some(kept) => {
            let octets = match kept.storage {
                Storage::Pool => pool(crate::section::u32_at(kept.octets, 0)),
                _ => kept.octets,
            };
            let end = fragment::fragment_octets(octets).ok_or(Refused::Damaged)?;
            &octets[..end]
        }
        None => {
            let records = set.records.iter().map(|rdata| &rdata[..]);
            let signatures = set.signatures.iter().filter_map(|rdata| rdata.get(2..));
            if !fragment::encode_plain(records, signatures, &mut encoded) {
                return Err(Refused::TooLarge(rtype::NSEC3));
            }
            &encoded[..]
        }
    };
    node.push(Row::new(rtype::NSEC3, Storage::Own, set.ttl), Storage::Own, fragment);
    node.finish(Flags::NSEC3, false, out)
}
