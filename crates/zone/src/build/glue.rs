//! Glue of zone cuts, found once at build time (RFC 9471).

use super::rrset::HashedHasher;
use super::{PackBuilder, ZoneBuild};
use crate::contents::{Flags, NodeRef, RRsetRef};
use crate::fragment::{GlueGroup, encode_glue};
use crate::section::u32_at;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use wire::iana::rtype;
use wire::{Key, Name};

/// Glue lists of NS RRsets that many cuts share: by place of the fragment, the place of the list or none.
#[derive(Default)]
pub(super) struct GlueCache {
    lists: HashMap<u64, Option<u32>, BuildHasherDefault<HashedHasher>>,
    key: Key,
}

impl<'c> ZoneBuild<'c> {
    /// The place of the glue list of a cut, if any of its servers has addresses in the zone. `fixed`: where
    /// the references of its RRsets begin.
    pub(super) fn glue_of(&mut self, pack: &mut PackBuilder, cut: NodeRef<'c>, fixed: usize) -> Option<u32> {
        let servers = cut.rrset(rtype::NS)?;
        // Where nothing is below the cut, equal sets of servers have equal addresses; thousands of cuts can share one.
        let number = self.rows.iter().position(|row| row.rtype() == rtype::NS)?;
        let mut at = fixed;
        for row in &self.rows[..number] {
            at += row.storage()?.octets();
        }
        let fragment = u32_at(&self.references, at);
        let has_names_below = cut.flags().has(Flags::PARENT) || self.is_own_server(servers);
        if !has_names_below && let Some(&known) = self.glue.lists.get(&spread(fragment)) {
            return known;
        }
        let list = self.collect(cut, servers).map(|octets| pack.pool.place_of(&octets));
        if !has_names_below {
            self.glue.lists.insert(spread(fragment), list);
        }
        list
    }

    /// Whether the cut itself is one of its name servers.
    fn is_own_server(&mut self, servers: RRsetRef<'c>) -> bool {
        servers.records().any(|record| self.rrset.is_owner(record.rdata))
    }

    fn collect(&mut self, cut: NodeRef<'c>, servers: RRsetRef<'c>) -> Option<Vec<u8>> {
        let contents = self.contents;
        let mut groups: Vec<(usize, bool, RRsetRef<'c>)> = Vec::new();
        for (number, server) in servers.records().enumerate().take(256) {
            let Ok(name) = Name::from_wire(server.rdata) else { continue };
            if !ends_with_apex(name.octets(), contents.apex().octets()) {
                continue;
            }
            self.glue.key.set(name);
            let Some(relative) = self.glue.key.octets().strip_prefix(contents.apex_key()) else { continue };
            let in_domain = relative.starts_with(cut.key());
            let Some(node) = contents.find(relative) else { continue };
            let addresses = [rtype::A, rtype::AAAA].into_iter().filter_map(|rtype| node.rrset(rtype));
            groups.extend(addresses.map(|set| (number, in_domain, set)));
        }
        let octets: Vec<Vec<u8>> = groups
            .iter()
            .map(|(_, _, set)| set.records().flat_map(|record| record.rdata).copied().collect())
            .collect();
        let groups: Vec<GlueGroup<'_>> = groups
            .iter()
            .zip(&octets)
            .map(|(&(server, in_domain, set), addresses)| GlueGroup {
                server,
                rtype: set.rtype(),
                in_domain,
                ttl: set.ttl().to_be_bytes(),
                addresses,
            })
            .collect();
        if groups.is_empty() {
            return None;
        }
        let mut list = Vec::new();
        encode_glue(&groups, &mut list);
        Some(list)
    }
}

/// Places are different from each other by nature and chosen by nobody outside; this spreads them.
fn spread(place: u32) -> u64 {
    u64::from(place).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A quick look at the last octets, before the work of making a key.
fn ends_with_apex(name: &[u8], apex: &[u8]) -> bool {
    name.len() >= apex.len() && name[name.len() - apex.len()..].eq_ignore_ascii_case(apex)
}
