//! The NSEC chain (RFC 4034 4, RFC 4035 2.3): a record at every authoritative name and cut, each pointing at
//! the next.

use dnssec::nsec::Nsec;
use wire::iana::rtype;

use super::{At, Check, Detail, Facts, Reporter, is_authoritative, is_authoritative_set, nothing};
use crate::contents::{Flags, NodeRef};

/// Checks the chain, where the zone has one.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let has = |rtype| facts.contents.nodes().any(|node| node.rrset(rtype).is_some());
    if !has(rtype::NSEC) {
        if !has(rtype::NSEC3) {
            reporter.add(Check::DenialMissing, At::node(facts.apex()), nothing);
        }
        return;
    }
    let mut previous = None;
    for node in facts.contents.nodes() {
        if is_authoritative(node) && !node.flags().has(Flags::EMPTY) {
            if let Some(previous) = previous.replace(node) {
                check_node(facts, previous, node, reporter);
            }
        } else if let Some(set) = node.rrset(rtype::NSEC) {
            reporter.add(Check::NsecUnexpected, At::set(node, set), nothing);
        }
    }
    if let Some(last) = previous {
        check_node(facts, last, facts.apex(), reporter);
    }
}

/// Checks the NSEC record of `node`, after which `next` comes.
fn check_node<'c>(facts: &Facts<'c>, node: NodeRef<'c>, next: NodeRef<'c>, reporter: &mut Reporter<'_>) {
    let Some(set) = node.rrset(rtype::NSEC) else {
        reporter.add(Check::NsecMissing, At::absent(node, rtype::NSEC), nothing);
        return;
    };
    let at = At::set(node, set);
    if set.len() > 1 {
        reporter.add(Check::NsecMultiple, at, nothing);
    }
    facts.check_denial_ttl(node, set, reporter);
    let Some(nsec) = set.records().next().and_then(|record| Nsec::parse(record.rdata)) else {
        reporter.add(Check::RdataMalformed, at, nothing);
        return;
    };
    let expected = next.name();
    if !nsec.next.eq_ignore_case(&expected) {
        reporter.add(Check::NsecNext, at, || Detail::Names { found: nsec.next.to_owned(), expected });
    }
    if !nsec.types.types().eq(types_at(node)) {
        let found = nsec.types.types().collect();
        reporter.add(Check::NsecBitmap, at, || Detail::Types { found, expected: types_at(node).collect() });
    }
}

/// The types a denial record of this name lists, in ascending order: those of the parent side at a zone cut
/// (RFC 4035 2.3), else all; with RRSIG where one of them is signed.
pub(super) fn types_at<'c>(node: NodeRef<'c>) -> impl Iterator<Item = u16> + use<'c> {
    let types = node.rrsets().map(|set| set.rtype());
    types.filter(move |&rtype| {
        rtype == rtype::RRSIG || rtype == rtype::NS || is_authoritative_set(node, rtype)
    })
}
