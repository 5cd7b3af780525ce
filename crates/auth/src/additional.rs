//! Additional data: addresses that the client would ask for next (RFC 1035 3.3, RFC 2782, RFC 3403 4.1, RFC 9460 4.1).
//!
//! Only names of the zone that answered are looked up, glue below its cuts for NS alone; a wildcard stands in for a name
//! that does not exist (RFC 4592). What does not fit is left out without TC, and all of it where the server is set to
//! minimal responses.

use crate::answer::Session;
use crate::limits::TARGETS_MAX;
use crate::rrset;
use crate::server::Style;
use wire::SortKey;
use wire::iana::rtype;
use wire::places::same_name;
use wire::record::RecordView;
use wire::render::Section;
use wire::sort_key::KEY_OCTETS_MAX;
use zone::{Flags, MatchKind, Node, ZoneView};

/// The name that a record points at: where it begins in the RDATA, and the types wanted of it.
struct Target {
    offset: usize,
    types: [u16; 3],
}

const ADDRESSES: [u16; 3] = [rtype::A, rtype::AAAA, 0];

impl<'c> Session<'_, '_, 'c> {
    /// Adds data for the records of type `rtype` that stand from `start` on.
    #[inline(always)]
    pub(crate) fn additional(&mut self, zone: &ZoneView<'c>, rtype: u16, start: usize) {
        if rrset::has_targets(rtype) && !self.server.style.has(Style::MINIMAL) {
            let end = self.out.at();
            self.out.begin_section(Section::Additional);
            self.add_targets(zone, rtype, start..end);
        }
    }

    fn add_targets(&mut self, zone: &ZoneView<'c>, rtype: u16, answer: std::ops::Range<usize>) {
        let apex = self.buffers.places.of_ancestor(zone.apex_labels());
        let (mut at, mut count) = (answer.start, 0);
        // Node and place of the names that were looked at.
        let mut seen = [(0, 0); TARGETS_MAX];
        while at < answer.end && count < TARGETS_MAX {
            let Some(record) = RecordView::read(self.out.message(), at) else { return };
            at = record.end();
            if record.rtype != rtype {
                continue;
            }
            let Some(target) = target_of(rtype, record.rdata) else { continue };
            let (owner, place) = (record.owner, record.rdata_at + target.offset);
            let Some((node, name)) = self.look_up(zone, rtype, owner, place) else { continue };
            if self.is_among(&seen[..count], &node) {
                continue;
            }
            seen[count] = (node.number(), name);
            count += 1;
            let is_own = same_name(self.out.message(), &self.buffers.other_places, owner);
            let wanted = target.types.into_iter().filter(|&wanted| wanted != rtype || !is_own);
            for set in wanted.filter_map(|wanted| node.rrset(wanted)) {
                let dnssec_ok = self.dnssec_ok;
                if rrset::put(self.out, set.head(), set.data(), name, apex, dnssec_ok).is_err() {
                    self.short_of = 0;
                    return;
                }
            }
        }
    }

    /// Whether the name looked up last, whose data are those of `node`, was among these before. Two names are different
    /// with the same node where a wildcard stands in for them.
    fn is_among(&self, seen: &[(u32, u16)], node: &Node<'c>) -> bool {
        let (message, places) = (self.out.message(), &self.buffers.other_places);
        let is_wildcard = node.flags().has(Flags::WILDCARD);
        seen.iter().any(|&(number, place)| {
            number == node.number() && (!is_wildcard || same_name(message, places, place as usize))
        })
    }

    /// The node of the name at `place`, its own or the wildcard's that stands in for it, if it is one of the zone, and where
    /// the name stands. `owner`: of the record.
    pub(crate) fn look_up(
        &mut self,
        zone: &ZoneView<'c>,
        rtype: u16,
        owner: usize,
        place: usize,
    ) -> Option<(Node<'c>, u16)> {
        let message = self.out.message();
        let places = &mut self.buffers.other_places;
        places.follow(message, place).ok()?;
        if places.label_count() == 0 && matches!(rtype, rtype::SVCB | rtype::HTTPS) {
            // "." stands for the owner (RFC 9460 2.5).
            places.follow(message, owner).ok()?;
        }
        let key = &mut self.buffers.other_key;
        key.set_places(message, places.labels());
        let relative = key.octets().strip_prefix(zone.apex_key())?;
        let node = match zone.find(relative) {
            Some(node) => node,
            None => source_of_synthesis(zone, key, rtype)?,
        };
        if node.flags().has(Flags::REDIRECTED) {
            return None;
        }
        // What belongs to another zone is told for name servers alone, which nobody could ask otherwise (RFC 8109).
        if is_foreign(&node) && rtype != rtype::NS {
            return None;
        }
        Some((node, places.of_ancestor(places.label_count())))
    }
}

/// The wildcard that stands in for a name that does not exist (RFC 4592 3.3.1). `key`: of the name, at or below the apex; `rtype`: of
/// the record that names it, as glue is for NS alone. That the name does not exist is not proven to the client, as in no server's
/// additional section.
#[cold]
fn source_of_synthesis<'c>(zone: &ZoneView<'c>, key: &SortKey, rtype: u16) -> Option<Node<'c>> {
    let found = zone.walk(key)?;
    match found.kind {
        MatchKind::Encloser => zone.wildcard_below(&found).filter(|wildcard| !is_foreign(wildcard)),
        MatchKind::Cut if rtype == rtype::NS => glue_wildcard(zone, key, found.labels),
        _ => None,
    }
}

/// The wildcard below a zone cut, which has `cut` labels, that stands in for a name which does not exist: what this zone knows of a
/// server's address there.
fn glue_wildcard<'c>(zone: &ZoneView<'c>, key: &SortKey, cut: usize) -> Option<Node<'c>> {
    let start = zone.apex_key().len();
    let above = |labels: usize| zone.find(&key.ancestor(labels)[start..]);
    let encloser = (cut..key.label_count()).rev().find_map(above)?;
    if !encloser.flags().has(Flags::WILDCARD_CHILD) {
        return None;
    }
    let mut wildcard = [0; KEY_OCTETS_MAX + 2];
    let length = encloser.copy_key(&mut wildcard);
    wildcard.get_mut(length..length + 2)?.copy_from_slice(b"*\0");
    zone.find(&wildcard[..length + 2])
}

/// Whether a node of the zone holds data of another one: glue at or below a zone cut.
pub(crate) fn is_foreign(node: &Node<'_>) -> bool {
    node.flags().has_any(Flags(Flags::OCCLUDED.0 | Flags::CUT.0))
}

/// What a record of type `rtype` points at.
fn target_of(rtype: u16, rdata: &[u8]) -> Option<Target> {
    let (offset, types) = match rtype {
        rtype::NS => (0, ADDRESSES),
        rtype::MX => (2, ADDRESSES),
        rtype::SRV => (6, ADDRESSES),
        // Alias mode, priority 0, has "." for "not available" (RFC 9460 2.5.1).
        rtype::SVCB | rtype::HTTPS if rdata.get(..3) == Some(&[0, 0, 0]) => return None,
        rtype::SVCB | rtype::HTTPS if rdata.get(2) == Some(&0) => (2, ADDRESSES),
        rtype::SVCB | rtype::HTTPS => (2, [rtype::A, rtype::AAAA, rtype]),
        rtype::NAPTR => return naptr_target(rdata),
        _ => return None,
    };
    (offset < rdata.len()).then_some(Target { offset, types })
}

/// The replacement of a NAPTR record with flag A or S, of which addresses or services are wanted (RFC 3404 4.3).
fn naptr_target(rdata: &[u8]) -> Option<Target> {
    // Order and preference, then three strings: flags, services, regular expression.
    let mut offset = 4;
    let types = match rdata.get(5)? {
        b'a' | b'A' => ADDRESSES,
        b's' | b'S' => [rtype::SRV, 0, 0],
        _ => return None,
    };
    if rdata[4] != 1 {
        return None;
    }
    for _ in 0..3 {
        offset += 1 + *rdata.get(offset)? as usize;
    }
    (offset < rdata.len()).then_some(Target { offset, types })
}
