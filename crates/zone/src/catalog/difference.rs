//! What differs between two states of a zone, as parts of it.

use std::cmp::Ordering;

use wire::iana::rtype;

use crate::delta::Changed;
use crate::lookup::{Data, Node, RRset, ZoneView};

use super::partition::PartSet;

/// Names that are compared at most: less than a tenth of a second. The text of a larger zone takes so long to be read that it cannot change often.
const COMPARED_NAMES_MAX: u32 = 1 << 18;
/// Names that may differ: they hit two thirds of the finer parts.
const CHANGED_NAMES_MAX: usize = 4096;

impl PartSet {
    /// The parts of a zone that answers made from `old` depend on and that are others in `new`. Walks over both side by side.
    pub fn changed(old: &ZoneView<'_>, new: &ZoneView<'_>) -> PartSet {
        let names = old.row().node_count.max(new.row().node_count);
        let is_other_kind = old.denial() != new.denial() || old.is_signed() != new.is_signed();
        // Nodes do not say the glue of cuts then.
        let is_glue_elsewhere =
            [old, new].iter().any(|zone| zone.changed().is_some_and(Changed::glue_may_differ));
        if is_other_kind
            || is_glue_elsewhere
            || names > COMPARED_NAMES_MAX
            || old.apex_key() != new.apex_key()
        {
            return PartSet::SHARED;
        }
        let (mut before, mut after) = (old.nodes(), new.nodes());
        let (mut one, mut other) = (before.next(), after.next());
        let (mut changed, mut count) = (PartSet::NONE, 0);
        while one.is_some() || other.is_some() {
            let order = match (&one, &other) {
                (Some(one), Some(other)) => compare(one, other),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            let is_same = match (&one, &other) {
                (Some(one), Some(other)) => order == Ordering::Equal && is_same(one, other),
                _ => false,
            };
            if !is_same && let Some(name) = if order == Ordering::Greater { other } else { one } {
                changed |= part_of(&name, other.filter(|_| order == Ordering::Equal));
                count += 1;
            }
            if changed.is_everything() || count > CHANGED_NAMES_MAX {
                return PartSet::SHARED;
            }
            if order != Ordering::Greater {
                one = before.next();
            }
            if order != Ordering::Less {
                other = after.next();
            }
        }
        changed
    }
}

/// The part of a name that differs from its `other` state, or has none.
fn part_of(name: &Node<'_>, other: Option<Node<'_>>) -> PartSet {
    let (prefix, suffix) = name.key_parts();
    if prefix.is_empty() && suffix.is_empty() {
        let is_still = other.is_some_and(|other| is_same_apex(name, &other));
        return if is_still { PartSet::NONE } else { PartSet::SHARED };
    }
    // The first label, with the mark at its end and the first octets of what follows.
    let mut label = [0; 2 * wire::name::LABEL_OCTETS_MAX + 2];
    let octets = name.copy_key(&mut label);
    PartSet::of_name(&label[..octets])
}

/// The canonical order of two names.
fn compare(one: &Node<'_>, other: &Node<'_>) -> Ordering {
    let ((a, b), (c, d)) = (one.key_parts(), other.key_parts());
    match a.len() == c.len() {
        true => a.cmp(c).then_with(|| b.cmp(d)),
        false => a.iter().chain(b).cmp(c.iter().chain(d)),
    }
}

/// Whether answers made from two nodes are the same.
fn is_same(one: &Node<'_>, other: &Node<'_>) -> bool {
    let is_same_glue = || match (one.glue(), other.glue()) {
        (Some(one), Some(other)) => one.eq(other),
        (None, None) => true,
        _ => false,
    };
    one.flags() == other.flags() && is_same_list(one.rrsets(), other.rrsets()) && is_same_glue()
}

/// The same for apexes, leaving out what has a part of its own, and the serial.
fn is_same_apex(one: &Node<'_>, other: &Node<'_>) -> bool {
    let is_counted = |set: &RRset<'_>| !PartSet::is_of_serial(set.rtype());
    is_same_list(one.rrsets().filter(is_counted), other.rrsets().filter(is_counted))
        && is_same_soa(one, other)
}

/// Whether the SOA records of two apexes are the same but for the serial; signatures are not looked at.
fn is_same_soa(one: &Node<'_>, other: &Node<'_>) -> bool {
    let (Some(one), Some(other)) = (one.rrset(rtype::SOA), other.rrset(rtype::SOA)) else { return false };
    let is_same_data = match (one.data(), other.data()) {
        (Data::Fragment(one), Data::Fragment(other)) => {
            one.places().eq(other.places())
                && one.records().map(without_serial).eq(other.records().map(without_serial))
        }
        _ => false,
    };
    one.head() == other.head() && is_same_data
}

/// What stands before and after the serial in the RDATA of an SOA record (RFC 1035 3.3.13).
pub(crate) fn without_serial(rdata: &[u8]) -> (&[u8], &[u8]) {
    // Refresh, retry, expire, minimum; the serial before them.
    let (before, after) = rdata.split_at(rdata.len().saturating_sub(4 * 4));
    (&before[..before.len().saturating_sub(4)], after)
}

fn is_same_list<'a, 'b>(
    mut one: impl Iterator<Item = RRset<'a>>,
    mut other: impl Iterator<Item = RRset<'b>>,
) -> bool {
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if is_same_set(&one, &other) => {}
            _ => return false,
        }
    }
}

/// Whether two RRsets of the same owner have the same records.
pub(crate) fn is_same_set(one: &RRset<'_>, other: &RRset<'_>) -> bool {
    let is_same_data = || match (one.data(), other.data()) {
        (Data::Inline(one), Data::Inline(other)) => one == other,
        (Data::Fragment(one), Data::Fragment(other)) => one.is_same(&other),
        _ => false,
    };
    one.head() == other.head() && is_same_data()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
