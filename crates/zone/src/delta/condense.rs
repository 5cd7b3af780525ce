//! All that differs between a pack and a state of the zone over it, as one change: what stands for many in the log once they are behind.

use super::{Changed, HEAD, InOrder, Seen};
use crate::change::{Change, Records};
use crate::lookup::{RRset, ZoneView};
use dnssec::nsec3::owner_label;
use wire::iana::rtype;
use wire::sort_key::name_of;
use wire::{Name, NameBuf};

/// Records of one name: type, RDATA, TTL.
pub(crate) type All = Vec<(u16, Vec<u8>, u32)>;

/// What differs is too much for one change, or cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotCondensed;

impl Changed {
    /// The change from the pack to this state; `None` within: it is as the pack has it. The error: it would have more than `octets_max` octets, or the pack cannot
    /// be read. Costs what the delta has, not what the zone has.
    pub fn condensed(&self, octets_max: usize) -> Result<Option<Change>, NotCondensed> {
        let is_unchanged = self.state() == 0;
        if is_unchanged {
            return Ok(None);
        }
        self.condense(octets_max).map(Some).ok_or(NotCondensed)
    }

    fn condense(&self, octets_max: usize) -> Option<Change> {
        let (before, after) = (ZoneView::new(self.pack(), self.number())?, ZoneView::of_changed(self)?);
        let apex = after.apex();
        let mut sides = Sides::default();
        let (old, new) = (records_at(&before, &[])?, records_at(&after, &[])?);
        let (soa_before, soa_after) = (soa(&old)?, soa(&new)?);
        sides.removed.push(apex, rtype::SOA, soa_before.2, &soa_before.1);
        sides.added.push(apex, rtype::SOA, soa_after.2, &soa_after.1);
        for key in keys(self.names_in_order()) {
            let owner = name_of(after.apex_key(), key).ok()?;
            sides.add(&owner, records_at(&before, key)?, records_at(&after, key)?);
            if sides.octets() > octets_max {
                return None;
            }
        }
        for key in keys(self.hashes_in_order()) {
            let hash = key.first_chunk()?;
            let mut owner = vec![owner_label(hash).len() as u8];
            owner.extend(owner_label(hash));
            owner.extend(apex.octets());
            let owner = Name::from_wire(&owner).ok()?;
            let of = |zone: &ZoneView<'_>| match zone.nsec3_for(hash) {
                Some((record, true)) => records_of([record.rrset()?].into_iter(), owner, zone.apex()),
                _ => Some(All::new()),
            };
            sides.add(owner, of(&before)?, of(&after)?);
            if sides.octets() > octets_max {
                return None;
            }
        }
        Change::new(sides.removed, sides.added).ok()
    }
}

/// What goes and what comes.
#[derive(Default)]
pub(crate) struct Sides {
    pub(crate) removed: Records,
    pub(crate) added: Records,
}

impl Sides {
    /// Adds what is on one side alone; the SOA record is there already.
    pub(crate) fn add(&mut self, owner: &Name, mut old: All, mut new: All) {
        let is_counted = |record: &(u16, Vec<u8>, u32)| record.0 != rtype::SOA;
        old.retain(is_counted);
        new.retain(is_counted);
        old.sort();
        new.sort();
        let only = |these: &All, others: &All, to: &mut Records| {
            let alone = these.iter().filter(|record| others.binary_search(record).is_err());
            alone.for_each(|(rtype, rdata, ttl)| to.push(owner, *rtype, *ttl, rdata));
        };
        only(&old, &new, &mut self.removed);
        only(&new, &old, &mut self.added);
    }

    /// Octets of both.
    pub(crate) fn octets(&self) -> usize {
        self.removed.octets().len() + self.added.octets().len()
    }
}

/// The keys of entries that the state sees as changed.
fn keys<'d>(entries: InOrder<'d>) -> impl Iterator<Item = &'d [u8]> {
    let mut at = HEAD;
    std::iter::from_fn(move || {
        at = entries.next(at);
        (at != HEAD).then_some(at)
    })
    .filter(move |entry| !matches!(entries.seen(*entry), Seen::AsInPack))
    .map(move |entry| entries.key(entry))
}

fn soa(records: &All) -> Option<&(u16, Vec<u8>, u32)> {
    records.iter().find(|record| record.0 == rtype::SOA)
}

/// All records of a name; those of NSEC3 come by their hashes. `None`: they cannot be read.
fn records_at(zone: &ZoneView<'_>, relative: &[u8]) -> Option<All> {
    let Some(node) = zone.find(relative) else { return Some(All::new()) };
    let owner: NameBuf = name_of(zone.apex_key(), relative).ok()?;
    let rrsets = node.rrsets().filter(|rrset| rrset.rtype() != rtype::NSEC3);
    records_of(rrsets, &owner, zone.apex())
}

/// All records of RRsets of an owner, signatures among them. `None`: they cannot be read.
pub(crate) fn records_of<'z>(
    rrsets: impl Iterator<Item = RRset<'z>>,
    owner: &Name,
    apex: &Name,
) -> Option<All> {
    let mut all = All::new();
    for rrset in rrsets {
        let ttl = rrset.ttl();
        all.extend(rrset.rdata(owner, apex)?.into_iter().map(|rdata| (rrset.rtype(), rdata, ttl)));
        all.extend(rrset.signature_rdata().into_iter().map(|rdata| (rtype::RRSIG, rdata, ttl)));
    }
    Some(all)
}
