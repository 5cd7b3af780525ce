//! The NSEC chain (RFC 4034 4, RFC 4035 2.3): a record at every authoritative name and cut, each pointing at
//! the next.

use dnssec::nsec::Nsec;
use wire::SortKey;
use wire::iana::rtype;

use super::{At, Check, Detail, Facts, Reporter, is_authoritative, is_authoritative_set, nothing};
use crate::contents::{Flags, NodeRef};

/// Checks the chain, where the zone has one.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    if !facts.has_any_of(&[rtype::NSEC]) {
        if !facts.has_any_of(&[rtype::NSEC3]) {
            reporter.add(Check::DenialMissing, At::node(facts.apex()), nothing);
        }
        return;
    }
    let mut key = SortKey::new();
    let mut previous = None;
    for node in facts.contents.nodes() {
        if is_authoritative(node) && !node.flags().has(Flags::EMPTY) {
            if let Some(previous) = previous.replace(node) {
                check_node(facts, (previous, node), &mut key, reporter);
            }
        } else if let Some(set) = node.rrset(rtype::NSEC) {
            reporter.add(Check::NsecUnexpected, At::set(node, set), nothing);
        }
    }
    if let Some(last) = previous {
        check_node(facts, (last, facts.apex()), &mut key, reporter);
    }
}

/// Checks the NSEC record of `node`, after which `next` comes.
fn check_node<'c>(
    facts: &Facts<'c>,
    (node, next): (NodeRef<'c>, NodeRef<'c>),
    key: &mut SortKey,
    reporter: &mut Reporter<'_>,
) {
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
    key.set(nsec.next);
    if key.octets().strip_prefix(facts.contents.apex_key()) != Some(next.key()) {
        let names = || Detail::Names { found: nsec.next.to_owned(), expected: next.name() };
        reporter.add(Check::NsecNext, at, names);
    }
    if !is_bitmap_of(nsec.types.octets(), types_at(node)) && !nsec.types.types().eq(types_at(node)) {
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

/// Whether `octets` are the bitmap of these types, which ascend. `false` also where there are others than the first 256 types: few names have
/// any, and to compare octets is a tenth of the work.
fn is_bitmap_of(octets: &[u8], types: impl Iterator<Item = u16>) -> bool {
    let (mut bits, mut last) = ([0u8; 32], 0);
    for rtype in types {
        let Ok(rtype) = u8::try_from(rtype) else { return false };
        last = usize::from(rtype / 8);
        bits[last] |= 0x80 >> (rtype % 8);
    }
    octets.strip_prefix(&[0, last as u8 + 1]) == Some(&bits[..=last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitmaps() {
        assert!(is_bitmap_of(b"\0\x06\x40\x01\0\0\0\x03", [1, 15, 46, 47].into_iter()));
        assert!(!is_bitmap_of(b"\0\x06\x40\x01\0\0\0\x03", [1, 15, 47].into_iter()));
        assert!(!is_bitmap_of(b"\0\x06\x40\x01\0\0\0\x03", [1, 15, 46, 47, 48].into_iter()));
        assert!(!is_bitmap_of(b"\0\x01\x40\x01\x01\x40", [1, 257].into_iter()));
    }
}
