//! What a zone must have and must not have, name by name: SOA, NS, CNAME, DNAME, DS, TTLs, duplicates.

use dnssec::CanonicalSet;
use wire::iana::rtype;

use super::names::{is_host_name, is_mailbox};
use super::{At, Check, Detail, Facts, Level, Reporter, Soa, name_detail, nothing};
use crate::contents::{Contents, Flags, NodeRef, RRsetRef, TTL_MAX, served_ttl};

/// A day: RFC 2308 5 finds values above problematic.
const MINIMUM_MAX: u32 = 86_400;

/// What makes a zone impossible to serve.
pub(super) fn check(contents: &Contents, reporter: &mut Reporter<'_>) {
    let apex = contents.node(0);
    if apex.rrset(rtype::SOA).is_none() {
        reporter.add(Check::SoaMissing, At::absent(apex, rtype::SOA), nothing);
    }
    if apex.rrset(rtype::NS).is_none() {
        reporter.add(Check::NsMissing, At::absent(apex, rtype::NS), nothing);
    }
    for node in contents.nodes() {
        for set in node.rrsets() {
            match set.rtype() {
                rtype::SOA if !node.flags().has(Flags::APEX) => {
                    let is_twice = node.key().starts_with(contents.apex_key());
                    let detail = || if is_twice { Detail::OriginTwice } else { Detail::None };
                    reporter.add(Check::SoaBelowApex, At::set(node, set), detail);
                }
                rtype::SOA => check_single(Check::SoaMultiple, node, set, reporter),
                rtype::DNAME => check_single(Check::DnameMultiple, node, set, reporter),
                rtype::CNAME => {
                    check_single(Check::CnameMultiple, node, set, reporter);
                    check_beside_cname(node, reporter);
                }
                _ => {}
            }
        }
    }
}

fn check_single(check: Check, node: NodeRef<'_>, set: RRsetRef<'_>, reporter: &mut Reporter<'_>) {
    if let Some(second) = set.records().nth(1) {
        reporter.add(check, At::record(node, set.rtype(), second.position), nothing);
    }
}

/// Beside a CNAME only its proofs may stand (RFC 4034 3 and 4), and the KEY of RFC 3007 2.
fn check_beside_cname(node: NodeRef<'_>, reporter: &mut Reporter<'_>) {
    if let Some(other) = node.rrsets().find(|set| !rtype::may_be_at_cname(set.rtype())) {
        reporter.add(Check::CnameAndOther, At::set(node, other), nothing);
    }
}

/// What is wrong but can be served.
pub(super) fn check_sets(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    if let Some(soa) = &facts.soa {
        check_soa(facts, soa, reporter);
    }
    check_apex(facts, reporter);
    let mut canonical = CanonicalSet::new();
    for node in facts.contents.nodes() {
        check_node(node, reporter);
        for set in node.rrsets() {
            if !set.has_one_ttl() {
                check_ttl(node, set, reporter);
            }
            // A notice is not worth a look at each octet.
            if facts.options.level != Level::Quick {
                check_case_duplicates(node, set, &mut canonical, reporter);
            }
        }
    }
    for duplicate in facts.contents.duplicates() {
        let node = facts.contents.node(duplicate.node as usize);
        let at = At::record(node, duplicate.rtype, duplicate.position);
        reporter.add(Check::Duplicate, at, nothing);
        let (this, other) = (served_ttl(duplicate.ttl), served_ttl(duplicate.kept_ttl));
        if this != other && duplicate.rtype != rtype::RRSIG {
            let detail = || Detail::Numbers { found: this.max(other), expected: this.min(other) };
            reporter.add(Check::TtlMismatch, at, detail);
        }
    }
    let listed = facts.contents.duplicates().len() as u64;
    reporter.count(Check::Duplicate, facts.contents.duplicate_count() - listed);
}

fn check_soa(facts: &Facts<'_>, soa: &Soa<'_>, reporter: &mut Reporter<'_>) {
    let at = At::record(facts.apex(), rtype::SOA, soa.position);
    if soa.refresh == 0 || soa.retry == 0 || soa.expire == 0 {
        reporter.add(Check::SoaTimerZero, at, nothing);
    }
    let patience = soa.refresh.saturating_add(soa.retry);
    if soa.expire != 0 && soa.expire < patience {
        let detail = || Detail::Numbers { found: soa.expire, expected: patience };
        reporter.add(Check::SoaExpireShort, at, detail);
    }
    if soa.retry > soa.refresh {
        reporter.add(Check::SoaRetryLong, at, || Detail::Number(soa.retry));
    }
    if soa.minimum.min(soa.ttl) > MINIMUM_MAX {
        reporter.add(Check::SoaMinimumLong, at, || Detail::Number(soa.minimum.min(soa.ttl)));
    }
    if !is_host_name(soa.mname) {
        reporter.add(Check::HostNameTarget, at, name_detail(soa.mname));
    }
    if !is_mailbox(soa.rname) {
        reporter.add(Check::MailboxName, at, name_detail(soa.rname));
    }
}

fn check_apex(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let apex = facts.apex();
    if let Some(ds) = apex.rrset(rtype::DS) {
        reporter.add(Check::DsAtApex, At::set(apex, ds), nothing);
    }
    if let Some(ns) = apex.rrset(rtype::NS).filter(|set| set.len() == 1) {
        reporter.add(Check::NsSingle, At::set(apex, ns), nothing);
    }
    if apex.rrset(rtype::SOA).is_some() && facts.soa.is_none() {
        reporter.add(Check::RdataMalformed, At::absent(apex, rtype::SOA), nothing);
    }
}

fn check_node(node: NodeRef<'_>, reporter: &mut Reporter<'_>) {
    let flags = node.flags();
    if flags.has(Flags::CUT) {
        if flags.has(Flags::WILDCARD) {
            reporter.add(Check::WildcardNs, At::absent(node, rtype::NS), nothing);
        }
        if let Some(dname) = node.rrset(rtype::DNAME) {
            reporter.add(Check::DnameAndNs, At::set(node, dname), nothing);
        }
    } else if !flags.has_any(Flags(Flags::APEX.0 | Flags::OCCLUDED.0))
        && let Some(ds) = node.rrset(rtype::DS)
    {
        reporter.add(Check::DsWithoutNs, At::set(node, ds), nothing);
    }
}

fn check_ttl(node: NodeRef<'_>, set: RRsetRef<'_>, reporter: &mut Reporter<'_>) {
    let ttl = set.ttl();
    let mut records = set.records();
    // Signatures have the TTLs of the sets they cover, see `signature`.
    if set.rtype() != rtype::RRSIG
        && let Some(record) = records.clone().find(|record| served_ttl(record.ttl) != ttl)
    {
        let at = At::record(node, set.rtype(), record.position);
        reporter.add(Check::TtlMismatch, at, || Detail::Numbers { found: record.ttl, expected: ttl });
    }
    if let Some(record) = records.find(|record| record.ttl > TTL_MAX) {
        let at = At::record(node, set.rtype(), record.position);
        reporter.add(Check::TtlTooLarge, at, || Detail::Number(record.ttl));
    }
}

/// Records that differ in the case of names only: the contents keep both, DNSSEC counts one (RFC 4034 6.3).
fn check_case_duplicates(
    node: NodeRef<'_>,
    set: RRsetRef<'_>,
    canonical: &mut CanonicalSet,
    reporter: &mut Reporter<'_>,
) {
    let has_capitals = |rdata: &[u8]| rdata.iter().any(u8::is_ascii_uppercase);
    if set.len() < 2 || !set.records().any(|record| has_capitals(record.rdata)) {
        return;
    }
    canonical.fill(set.rtype(), set.records().map(|record| record.rdata));
    if canonical.duplicate_count() > 0 {
        reporter.add(Check::Duplicate, At::set(node, set), nothing);
    }
}
