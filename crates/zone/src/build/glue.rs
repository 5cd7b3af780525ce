//! Glue of zone cuts, found once at build time (RFC 9471).

use super::PackBuilder;
use super::zone::ZoneBuild;
use crate::contents::{Contents, Flags, NodeRef, RRsetRef};
use crate::fragment::{GlueGroup, RECORDS_MAX, encode_glue};
use crate::lookup::key_prefix;
use crate::pack::server_hash;
use wire::iana::rtype;
use wire::{Name, SortKey};

/// How many names share an entry of the table that shortens searches: it is 64 times smaller than the names, so
/// that most of a search stays in the caches.
const NAMES_AN_ENTRY: usize = 64;

/// Finds names of a zone by key, faster than the contents alone can.
pub(super) struct NameTable {
    prefixes: Vec<u64>,
    key: SortKey,
}

impl NameTable {
    pub(super) fn new(contents: &Contents) -> NameTable {
        // In a small zone the search is as short without.
        let count = if contents.node_count() > NAMES_AN_ENTRY { contents.node_count() } else { 0 };
        let numbers = (0..count).step_by(NAMES_AN_ENTRY);
        let prefixes = numbers.map(|number| key_prefix(contents.node(number).key())).collect();
        NameTable { prefixes, key: SortKey::new() }
    }

    /// The node with this relative key.
    fn find<'c>(&self, contents: &'c Contents, relative: &[u8]) -> Option<NodeRef<'c>> {
        if self.prefixes.is_empty() {
            return contents.find(relative);
        }
        let prefix = key_prefix(relative);
        // Names with this prefix can begin in the entry before the first one that has it.
        let first = self.prefixes.partition_point(|other| *other < prefix).saturating_sub(1);
        let after = first + self.prefixes[first..].partition_point(|other| *other <= prefix);
        let end = (after * NAMES_AN_ENTRY).min(contents.node_count());
        contents.find_in(first * NAMES_AN_ENTRY..end, relative)
    }

    /// The node that answers for the name of `self.key`: its own, or the wildcard's that stands in for it (RFC 4592 3.3.1). At and
    /// below zone cuts that is glue, which is taken from wildcards too: it is what this zone knows of the server.
    fn find_or_synthesize<'c>(&self, contents: &'c Contents) -> Option<NodeRef<'c>> {
        let relative = self.key.octets().strip_prefix(contents.apex_key())?;
        if let Some(node) = self.find(contents, relative) {
            return (!node.flags().has(Flags::REDIRECTED)).then_some(node);
        }
        let labels = contents.apex().label_count()..self.key.label_count();
        let above = |labels| self.find(contents, &self.key.ancestor(labels)[contents.apex_key().len()..]);
        // Owners of NSEC3 records are no names (RFC 5155 7.2.8).
        let is_name = |node: &NodeRef<'c>| !node.flags().has(Flags::NSEC3);
        let encloser = labels.rev().filter_map(above).find(is_name)?;
        // Where names below the encloser are led elsewhere, nothing is synthesized.
        let flags = encloser.flags();
        let is_led_elsewhere =
            flags.has(Flags::REDIRECTED) || flags.has(Flags::DNAME) && !flags.has(Flags::CUT);
        if is_led_elsewhere || !flags.has(Flags::WILDCARD_CHILD) {
            return None;
        }
        let wildcard = self.find(contents, &[encloser.key(), b"*\0"].concat())?;
        (!wildcard.flags().has(Flags::CUT)).then_some(wildcard)
    }
}

impl<'c> ZoneBuild<'c> {
    /// The place of the glue list of a cut, if any of its servers has addresses in the zone.
    pub(super) fn glue_of(
        &mut self,
        pack: &mut PackBuilder,
        cut: NodeRef<'c>,
        servers: RRsetRef<'c>,
    ) -> Option<u32> {
        let contents = self.contents;
        let mut groups: Vec<(usize, bool, bool, RRsetRef<'c>)> = Vec::new();
        for (number, server) in servers.records().enumerate().take(RECORDS_MAX) {
            let Ok(name) = Name::from_wire(server.rdata) else { continue };
            if !ends_with_apex(name.octets(), contents.apex().octets()) {
                continue;
            }
            self.names.key.set(name);
            let Some(relative) = self.names.key.octets().strip_prefix(contents.apex_key()) else { continue };
            let in_domain = relative.starts_with(cut.key());
            if !in_domain {
                pack.servers.push(server_hash(self.names.key.octets()));
            }
            let Some(node) = self.names.find_or_synthesize(contents) else { continue };
            let addresses = [rtype::A, rtype::AAAA].into_iter().filter_map(|rtype| node.rrset(rtype));
            let authoritative = !node.flags().has_any(Flags(Flags::OCCLUDED.0 | Flags::CUT.0));
            groups.extend(addresses.map(|set| (number, in_domain, authoritative, set)));
        }
        let octets: Vec<Vec<u8>> = groups
            .iter()
            .map(|(_, _, _, set)| set.records().flat_map(|record| record.rdata).copied().collect())
            .collect();
        let groups: Vec<GlueGroup<'_>> = groups
            .iter()
            .zip(&octets)
            .map(|(&(server, in_domain, authoritative, set), addresses)| GlueGroup {
                server,
                rtype: set.rtype(),
                in_domain,
                authoritative,
                ttl: set.ttl().to_be_bytes(),
                addresses,
            })
            .collect();
        if groups.is_empty() {
            return None;
        }
        let mut list = Vec::new();
        encode_glue(&groups, &mut list);
        Some(pack.pool.place_of(&list))
    }
}

impl<'c> ZoneBuild<'c> {
    /// Takes note of those of the name servers of `cut` that are in the zone, but not below it.
    pub(super) fn note_servers(&mut self, pack: &mut PackBuilder, cut: NodeRef<'c>, servers: RRsetRef<'c>) {
        let apex = self.contents.apex().octets();
        for server in servers.records().filter(|server| ends_with_apex(server.rdata, apex)) {
            if let Ok(name) = Name::from_wire(server.rdata) {
                self.names.key.set(name);
                let relative = self.names.key.octets().strip_prefix(self.contents.apex_key());
                if relative.is_some_and(|relative| !relative.starts_with(cut.key())) {
                    pack.servers.push(server_hash(self.names.key.octets()));
                }
            }
        }
    }
}

/// A quick look at the last octets, before the work of making a key.
fn ends_with_apex(name: &[u8], apex: &[u8]) -> bool {
    name.len() >= apex.len() && name[name.len() - apex.len()..].eq_ignore_ascii_case(apex)
}
