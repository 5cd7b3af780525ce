//! ZONEMD records (RFC 8976): shape, serial, and whether the digest is that of the zone.

use dnssec::CanonicalSet;
use dnssec::digest::{ZoneDigest, Zonemd};
use wire::iana::rtype;

use super::{At, Check, Detail, Facts, Level, Reporter, is_authoritative, nothing};
use crate::contents::{Contents, Flags, NodeRef, RRsetRef, served_ttl};

/// Checks the ZONEMD records of the apex and reports those elsewhere, which mean nothing.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    if !facts.has_any_of(&[rtype::ZONEMD]) {
        return;
    }
    // Elsewhere than at the apex they are merely of no use.
    let looked_at = if facts.options.level == Level::Quick { 1 } else { facts.contents.node_count() };
    for node in facts.contents.nodes().take(looked_at) {
        if let Some(set) = node.rrset(rtype::ZONEMD) {
            if node.flags().has(Flags::APEX) {
                check_records(facts, node, set, reporter);
            } else if is_authoritative(node) {
                reporter.add(Check::ZonemdBelowApex, At::set(node, set), nothing);
            }
        }
    }
}

fn check_records(facts: &Facts<'_>, node: NodeRef<'_>, set: RRsetRef<'_>, reporter: &mut Reporter<'_>) {
    let mut seen: Vec<(u8, u8)> = Vec::new();
    for record in set.records() {
        let at = At::record(node, rtype::ZONEMD, record.position);
        let Some(zonemd) = Zonemd::parse(record.rdata) else {
            reporter.add(Check::RdataMalformed, at, nothing);
            continue;
        };
        if seen.contains(&(zonemd.scheme, zonemd.algorithm)) {
            reporter.add(Check::ZonemdDuplicate, at, nothing); // RFC 8976 2.2.3: neither counts
            continue;
        }
        seen.push((zonemd.scheme, zonemd.algorithm));
        if let Some(soa) = facts.soa.filter(|soa| soa.serial != zonemd.serial) {
            let detail = || Detail::Numbers { found: zonemd.serial, expected: soa.serial };
            reporter.add(Check::ZonemdSerial, at, detail);
            continue;
        }
        match ZoneDigest::new(zonemd.scheme, zonemd.algorithm) {
            Err(_) => reporter.add(Check::ZonemdUnsupported, at, nothing),
            Ok(digest) if facts.options.level == Level::Full => {
                if !fill(digest, facts.contents).is(zonemd.digest) {
                    reporter.add(Check::ZonemdMismatch, at, nothing);
                }
            }
            Ok(_) => {}
        }
    }
}

/// Feeds the zone to the digest: all but the ZONEMD RRset of the apex and its signatures (RFC 8976 3.3.1).
pub(super) fn fill(mut digest: ZoneDigest, contents: &Contents) -> ZoneDigest {
    let mut canonical = CanonicalSet::new();
    let mut ttls = Vec::new();
    for node in contents.nodes() {
        let owner = node.name();
        let is_apex = node.flags().has(Flags::APEX);
        for set in node.rrsets() {
            if is_apex && set.rtype() == rtype::ZONEMD {
                continue;
            }
            let is_digested = |rdata: &[u8]| {
                !(is_apex && set.rtype() == rtype::RRSIG && rdata.starts_with(&rtype::ZONEMD.to_be_bytes()))
            };
            let records = || set.records().filter(|record| is_digested(record.rdata));
            canonical.fill(set.rtype(), records().map(|record| record.rdata));
            ttls.clear();
            ttls.extend(records().map(|record| served_ttl(record.ttl)));
            digest.add(&owner, set.rtype(), |source| ttls[source], &canonical);
        }
    }
    digest
}
