//! Keys and digests of keys: DNSKEY, DS, CDS and CDNSKEY records.

use dnssec::digest::{ds_digest_octets, is_ds_digest};
use dnssec::key::{Dnskey, Ds, is_deprecated, is_supported};
use wire::iana::{algorithm, rtype};

use super::{At, Check, Detail, Facts, Level, Reporter, is_authoritative, nothing};
use crate::contents::{Flags, NodeRef, RRsetRef};

/// Digest type SHA-1 (RFC 3658).
const DIGEST_SHA1: u8 = 1;

/// Checks all records that hold keys or digests of keys.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let mut proof = None;
    // Keys below the apex are merely of no use.
    let is_apex_enough = facts.options.level == Level::Quick
        && facts.is_signed()
        && !facts.has_any_of(&[rtype::DS, rtype::CDS, rtype::CDNSKEY]);
    let looked_at = if is_apex_enough { 1 } else { facts.contents.node_count() };
    for node in facts.contents.nodes().take(looked_at) {
        for set in node.rrsets() {
            let is_apex = node.flags().has(Flags::APEX);
            match set.rtype() {
                rtype::DNSKEY if is_apex => check_keys(node, set, reporter),
                rtype::DNSKEY if is_authoritative(node) => {
                    reporter.add(Check::DnskeyBelowApex, At::set(node, set), nothing);
                }
                rtype::CDS | rtype::CDNSKEY if is_apex => check_request(facts, node, set, reporter),
                rtype::CDS | rtype::CDNSKEY if is_authoritative(node) => {
                    reporter.add(Check::CdsBelowApex, At::set(node, set), nothing);
                }
                rtype::DS => check_digests(node, set, reporter),
                rtype::RRSIG | rtype::NSEC | rtype::NSEC3 | rtype::NSEC3PARAM => {
                    proof = proof.or(Some(At::set(node, set)));
                }
                _ => {}
            }
        }
    }
    if let Some(at) = proof.filter(|_| !facts.is_signed()) {
        reporter.add(Check::DnskeyMissing, at, nothing);
    }
    if let Some(keys) = facts.apex().rrset(rtype::DNSKEY).filter(|_| !facts.has_proofs) {
        reporter.add(Check::DnskeyUnsigned, At::set(facts.apex(), keys), nothing);
    }
    check_pair(facts, reporter);
}

fn check_keys(node: NodeRef<'_>, set: RRsetRef<'_>, reporter: &mut Reporter<'_>) {
    for record in set.records() {
        let at = At::record(node, rtype::DNSKEY, record.position);
        let Some(key) = Dnskey::parse(record.rdata) else {
            reporter.add(Check::RdataMalformed, at, nothing);
            continue;
        };
        let detail = || Detail::Key { algorithm: key.algorithm, tag: key.tag };
        if !key.is_zone_key() && !key.is_revoked() {
            reporter.add(Check::DnskeyUnusable, at, detail);
        } else if is_deprecated(key.algorithm) {
            reporter.add(Check::DnskeyDeprecated, at, detail);
        } else if !is_supported(key.algorithm) {
            reporter.add(Check::DnskeyUnsupported, at, detail);
        }
    }
}

fn check_digests(node: NodeRef<'_>, set: RRsetRef<'_>, reporter: &mut Reporter<'_>) {
    for record in set.records() {
        let at = At::record(node, rtype::DS, record.position);
        let Some(ds) = Ds::parse(record.rdata) else {
            reporter.add(Check::RdataMalformed, at, nothing);
            continue;
        };
        match ds_digest_octets(ds.digest_type) {
            Some(octets) if octets != ds.digest.len() => {
                reporter.add(Check::DsDigestLength, at, || Detail::Number(u32::from(ds.digest_type)));
            }
            None => reporter.add(Check::DsDigestUnknown, at, || Detail::Number(u32::from(ds.digest_type))),
            Some(_) if ds.digest_type == DIGEST_SHA1 => {
                reporter.add(Check::DsDigestDeprecated, at, nothing);
            }
            Some(_) => {}
        }
        if is_deprecated(ds.algorithm) {
            let detail = || Detail::Key { algorithm: ds.algorithm, tag: ds.key_tag };
            reporter.add(Check::DsAlgorithmDeprecated, at, detail);
        }
    }
}

/// Checks CDS or CDNSKEY records: each stands for a key of the zone (RFC 7344 4), or there is one that asks
/// for deletion, with algorithm 0 (RFC 8078 4).
fn check_request(facts: &Facts<'_>, node: NodeRef<'_>, set: RRsetRef<'_>, reporter: &mut Reporter<'_>) {
    for record in set.records() {
        let at = At::record(node, set.rtype(), record.position);
        let parsed = match set.rtype() {
            rtype::CDS => Ds::parse(record.rdata).map(|ds| (ds.algorithm, has_key(facts, ds))),
            _ => Dnskey::parse(record.rdata).map(|key| (key.algorithm, facts.keys.contains(&key))),
        };
        match parsed {
            None => reporter.add(Check::RdataMalformed, at, nothing),
            Some((algorithm::DELETE, _)) if set.len() > 1 => {
                reporter.add(Check::CdsDeleteBesideOthers, at, nothing);
            }
            Some((algorithm::DELETE, _)) | Some((_, true)) => {}
            Some((_, false)) => reporter.add(Check::CdsMismatch, at, nothing),
        }
    }
}

/// Whether a DNSKEY of the zone has this digest. A digest type that is not known here gets the benefit of the
/// doubt.
fn has_key(facts: &Facts<'_>, ds: Ds<'_>) -> bool {
    let apex = facts.apex();
    let mut keys = apex.rrset(rtype::DNSKEY).into_iter().flat_map(|set| set.records());
    keys.any(|record| {
        Dnskey::parse(record.rdata).is_some_and(|key| {
            key.tag == ds.key_tag
                && key.algorithm == ds.algorithm
                && is_ds_digest(ds.digest_type, ds.digest, facts.contents.apex(), record.rdata)
                    .unwrap_or(true)
        })
    })
}

/// Parents read one or the other, so both are published (RFC 7344 5).
fn check_pair(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let apex = facts.apex();
    match (apex.rrset(rtype::CDS), apex.rrset(rtype::CDNSKEY)) {
        (Some(set), None) | (None, Some(set)) => {
            reporter.add(Check::CdsWithoutCdnskey, At::set(apex, set), nothing);
        }
        _ => {}
    }
}
