//! What a change does beside the names that it is about: glue that packs have listed, intervals of chains, versions of parts, numbers of the zone.

use super::Refused;
use super::held::Held;
use super::plan::{Pending, Plan, hash_of, is_wildcard, parent_of};
use crate::build::{is_before, soa_numbers_of};
use crate::catalog::{PartSet, without_serial};
use crate::contents::Flags;
use crate::lookup::{Node, ZoneView};
use crate::pack::{Pack, ZoneRow, server_hash};
use dnssec::nsec3::Nsec3Params;
use std::collections::HashSet;
use wire::iana::rtype;
use wire::{Name, SortKey};

/// More octets than any label has, all as great as can be: with them a key is behind all names below it.
const BEHIND_ALL: [u8; 64] = [0xff; 64];

/// See the module.
pub(super) struct Effect {
    pub(super) parts: PartSet,
    pub(super) glue_differs: bool,
    /// Rows of the pack's section of denial whose intervals change, from and to.
    pub(super) intervals: Vec<(u32, u32)>,
    /// Hashes of name servers of new cuts.
    pub(super) servers: Vec<u32>,
    pub(super) row: ZoneRow,
}

impl Effect {
    pub(super) fn new(row: ZoneRow) -> Effect {
        Effect { parts: PartSet::NONE, glue_differs: false, intervals: Vec::new(), servers: Vec::new(), row }
    }
}

/// Whether a node is a cut or has a DNAME, wherever it stands.
pub(crate) fn hides(node: Option<&Node<'_>>) -> (bool, bool) {
    node.map_or((false, false), |node| {
        (node.has(rtype::NS) && !node.stored_flags().has(Flags::APEX), node.has(rtype::DNAME))
    })
}

/// The whole hash of a name given by its key relative to the apex.
pub(crate) fn server_hash_of(zone: &ZoneView<'_>, key: &[u8]) -> u32 {
    server_hash(&[zone.apex_key(), key].concat())
}

/// The rows of section nsec from the one at or before `key` to the last of those below it.
pub(crate) fn rows_below(zone: &ZoneView<'_>, key: &[u8]) -> Option<(u32, u32)> {
    let first = zone.nsec_row(key)?;
    let last = zone.nsec_row(&[key, &BEHIND_ALL].concat()).unwrap_or(first);
    Some((first, last))
}

/// The hashes of those of the name servers of a cut that are in the zone, but not below the cut: what these have is in the part of the cut.
fn servers_beside(zone: &ZoneView<'_>, cut: &[u8], servers: &[Vec<u8>], to: &mut Vec<u32>) {
    let names = servers.iter().filter_map(|rdata| Name::from_wire(rdata).ok());
    for name in names.filter(|name| name.is_at_or_below(zone.apex())) {
        let key = SortKey::of(name);
        if !key.octets()[zone.apex_key().len()..].starts_with(cut) {
            to.push(server_hash(key.octets()));
        }
    }
}

impl<'v> Plan<'v> {
    /// Adds what one name does. `servers`: those of the delta's cuts so far.
    pub(super) fn effect(
        &self,
        key: &[u8],
        pending: &Pending<'v>,
        pack: &Pack,
        servers: &HashSet<u32>,
        effect: &mut Effect,
    ) -> Result<(), Refused> {
        let (zone, held, is_apex) = (&self.view, &pending.held, key.is_empty());
        let is_name = pending.is_name(key);
        if let (true, Some(set)) = (!is_apex, held.set(rtype::NS).filter(|set| set.kept.is_none())) {
            servers_beside(zone, key, &set.records, &mut effect.servers);
        }
        let is_hiding = (held.has(rtype::NS) && !is_apex, held.has(rtype::DNAME));
        let hides_other = hides(held.old.as_ref()) != is_hiding;
        let moves_addresses = || {
            let hash = server_hash_of(zone, key);
            is_wildcard(key) || pack.has_server(hash) || servers.contains(&hash)
        };
        let has_other_addresses = held.is_other(rtype::A) || held.is_other(rtype::AAAA);
        // Names that were below a cut or a DNAME and still are belong to the zone now, or did before; of those that come or go each counts for itself.
        let is_parent =
            held.old.is_some_and(|old| old.stored_flags().has(Flags::PARENT)) && pending.has_child;
        let has_addresses = held.has(rtype::A) || held.has(rtype::AAAA);
        effect.glue_differs |= hides_other && (is_parent || has_addresses && moves_addresses())
            || has_other_addresses && moves_addresses()
            || pending.was_name != is_name && (is_wildcard(key) || self.is_beside_wildcard(key));
        self.intervals(key, pending, hides_other, effect)?;
        self.signatures(held, &mut effect.row);
        effect.parts |= self.part_of(key, pending);
        Ok(())
    }

    /// Whether a wildcard stands in for a name, or did, when it is not there.
    fn is_beside_wildcard(&self, key: &[u8]) -> bool {
        let mut key = key;
        while let Some(parent) = parent_of(key) {
            let flags = self.view.find(parent).map(|node| node.stored_flags());
            let was = flags.is_some_and(|flags| !flags.has(Flags::NSEC3));
            let had = flags.is_some_and(|flags| flags.has(Flags::WILDCARD_CHILD));
            let (is, has) = match self.names.get(parent) {
                Some(pending) => (pending.is_name(parent), pending.has_wildcard),
                None => (was, had),
            };
            if had || has {
                return true;
            }
            if was && is {
                return false;
            }
            key = parent;
        }
        false
    }

    /// The parts that answers from the name have in their sets.
    fn part_of(&self, key: &[u8], pending: &Pending<'v>) -> PartSet {
        let held = &pending.held;
        if !key.is_empty() {
            let is_of_chain = !pending.was_name && !pending.is_name(key) && held.old.is_none();
            return if is_of_chain && pending.is_in_chain(key, &self.view) {
                PartSet::NONE
            } else {
                PartSet::of_name(key)
            };
        }
        let is_other_set = |rtype: u16| !PartSet::is_of_serial(rtype) && held.is_other(rtype);
        let old = held.old.iter().flat_map(|node| node.shape_rows()).map(|row| row.rtype());
        let new = held.sets.iter().map(|set| set.rtype);
        let flags = held.old.map_or(Flags::default(), |node| node.stored_flags());
        let has_other_flags = flags.has(Flags::PARENT) != pending.has_child
            || flags.has(Flags::WILDCARD_CHILD) != pending.has_wildcard;
        let mut types = old.filter(|rtype| *rtype != rtype::RRSIG).chain(new);
        let is_everything = has_other_flags || types.any(is_other_set) || self.has_other_soa(held);
        if is_everything { PartSet::SHARED } else { PartSet::NONE }
    }

    /// Whether the apex has another SOA record than before, the serial apart.
    fn has_other_soa(&self, held: &Held<'_>) -> bool {
        let (zone, old) = (&self.view, held.old.and_then(|node| node.rrset(rtype::SOA)));
        let (Some(old), Some(new)) = (old, held.set(rtype::SOA)) else { return true };
        if new.kept.is_some() {
            return false;
        }
        let Some(records) = old.rdata(zone.apex(), zone.apex()) else { return true };
        // Letters of names do not tell records apart; lengths of labels and types are none.
        let is_same = |(one, other): (&Vec<u8>, &Vec<u8>)| {
            let ((names, numbers), (other_names, other_numbers)) =
                (without_serial(one), without_serial(other));
            names.eq_ignore_ascii_case(other_names) && numbers == other_numbers
        };
        old.ttl() != new.ttl
            || records.len() != new.records.len()
            || !records.iter().zip(&new.records).all(is_same)
    }

    /// Which intervals of the pack's chain have changed.
    fn intervals(
        &self,
        key: &[u8],
        pending: &Pending<'v>,
        hides_other: bool,
        effect: &mut Effect,
    ) -> Result<(), Refused> {
        let (zone, held) = (&self.view, &pending.held);
        if zone.has_nsec3_chain() {
            let record = held.old_record.is_some() || pending.is_in_chain(key, zone);
            let is_other = held.set(rtype::NSEC3).is_none_or(|set| set.kept.is_none());
            if let (true, Some(hash)) = (record && is_other, hash_of(key)) {
                let rank = zone.nsec3_rank(&hash).ok_or(Refused::Damaged)?;
                effect.intervals.push((rank, rank));
            }
        } else {
            if held.is_other(rtype::NSEC)
                && let Some(row) = zone.nsec_row(key)
            {
                effect.intervals.push((row, row));
            }
            if hides_other {
                effect.intervals.extend(rows_below(zone, key));
            }
        }
        Ok(())
    }

    /// When the first signature expires, see [`ZoneRow::first_expiry`]. Where the RRset goes that was the first nobody knows the next one: 0, until the
    /// pack is made anew.
    fn signatures(&self, held: &Held<'v>, row: &mut ZoneRow) {
        let old_sets = held.old.iter().flat_map(|node| node.rrsets()).filter(|set| set.is_signed());
        let record = held.old_record.and_then(|record| record.rrset());
        for set in
            old_sets.chain(record).filter(|set| held.set(set.rtype()).is_none_or(|set| set.kept.is_none()))
        {
            if expiry_of(set.signature_rdata().iter()) == Some(row.first_expiry) {
                row.first_expiry = 0;
            }
        }
        for set in held.sets.iter().filter(|set| set.kept.is_none()) {
            let Some(expiry) = expiry_of(set.signatures.iter()) else { continue };
            row.bits |= ZoneRow::SIGNED;
            if row.first_expiry != 0 && is_before(expiry, row.first_expiry) {
                row.first_expiry = expiry;
            }
        }
    }
}

/// When the last of these signatures expires (RFC 4034 3.1.5), 0 apart.
fn expiry_of<'s>(signatures: impl Iterator<Item = &'s Vec<u8>>) -> Option<u32> {
    let expiry = |rdata: &'s Vec<u8>| {
        let octets = rdata.get(8..12)?.first_chunk()?;
        Some(u32::from_be_bytes(*octets).max(1))
    };
    signatures.filter_map(expiry).reduce(|last, other| if is_before(last, other) { other } else { last })
}

/// Whether the apex, once changed, has the zone prove absence as it did; and the zone's serial and negative TTL.
pub(super) fn check_apex(
    pending: &Pending<'_>,
    zone: &ZoneView<'_>,
    row: &mut ZoneRow,
) -> Result<(), Refused> {
    let held = &pending.held;
    let old = held.old.ok_or(Refused::Damaged)?;
    let soa = held.set(rtype::SOA).ok_or(Refused::BadSoa)?;
    let [rdata] = &held.rdata(rtype::SOA)?[..] else { return Err(Refused::BadSoa) };
    (row.serial, row.negative_ttl) = soa_numbers_of(soa.ttl, rdata).ok_or(Refused::BadSoa)?;
    let was_signed = old.rrset(rtype::SOA).is_some_and(|set| set.is_signed());
    if soa.is_signed() != was_signed {
        return Err(Refused::NeedsPack);
    }
    let is_nsec = was_signed && zone.row().bits & (ZoneRow::NSEC | ZoneRow::NSEC3) == ZoneRow::NSEC;
    if is_nsec && old.has(rtype::NSEC) != held.has(rtype::NSEC) {
        return Err(Refused::NeedsPack);
    }
    if held.is_other(rtype::NSEC3PARAM) {
        let old_set = old.rrset(rtype::NSEC3PARAM).and_then(|set| set.rdata(zone.apex(), zone.apex()));
        if announced(&old_set.unwrap_or_default()) != announced(&held.rdata(rtype::NSEC3PARAM)?) {
            return Err(Refused::NeedsPack);
        }
    }
    Ok(())
}

/// The NSEC3PARAM record that says of a chain that it is complete (RFC 5155 4.1.2, 7.3): the first, as for builders of packs.
fn announced(records: &[Vec<u8>]) -> Option<&Vec<u8>> {
    let mut complete: Vec<&Vec<u8>> = records.iter().filter(|rdata| rdata.get(1) == Some(&0)).collect();
    complete.sort_unstable();
    complete.first().copied()
}

/// Whether the zone announces a chain of which it has no records yet, and this name brings one.
pub(super) fn begins_chain(pending: &Pending<'_>, key: &[u8], zone: &ZoneView<'_>) -> bool {
    if zone.has_nsec3_chain() || !pending.held.is_other(rtype::NSEC3) || hash_of(key).is_none() {
        return false;
    }
    let param = zone.apex_node().and_then(|apex| apex.rrset(rtype::NSEC3PARAM));
    let records = param.and_then(|set| set.rdata(zone.apex(), zone.apex())).unwrap_or_default();
    announced(&records).is_some_and(|rdata| Nsec3Params::parse(rdata).is_ok())
}
