//! All that differs between a pack and a state of the zone over it, as few changes: what stands for many in the log once they are behind.

use super::{Changed, HEAD, InOrder, Seen};
use crate::change::{Change, Records};
use crate::lookup::{RRset, ZoneView};
use dnssec::nsec3::owner_label;
use wire::iana::rtype;
use wire::sort_key::name_of;
use wire::{Name, NameBuf};

/// Records of one name: type, RDATA, TTL.
pub(crate) type All = Vec<(u16, Vec<u8>, u32)>;

/// What differs is more than was asked for, or cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotCondensed;

/// Names of one piece: with those above them no more than one commit takes.
pub const PIECE_NAMES_MAX: usize = super::COMMIT_NAMES_MAX / 4;
/// Octets of one piece, but for what its last name has: half of a record of the log.
const PIECE_OCTETS_MAX: usize = 8 << 20;

impl Changed {
    /// What leads from the pack to this state: changes in this order, of which the last has the serial of this state, and those before it that of the pack. None: it is
    /// as the pack has it. `names_max`: in one of them, [`PIECE_NAMES_MAX`] but in tests. The error: they would have more than `octets_max` octets, or the pack
    /// cannot be read. Costs what the delta has, not what the zone has.
    pub fn condensed(&self, octets_max: usize, names_max: usize) -> Result<Vec<Change>, NotCondensed> {
        let is_unchanged = self.state() == 0;
        if is_unchanged {
            return Ok(Vec::new());
        }
        self.condense(octets_max, names_max).ok_or(NotCondensed)
    }

    fn condense(&self, octets_max: usize, names_max: usize) -> Option<Vec<Change>> {
        let (before, after) = (ZoneView::new(self.pack(), self.number())?, ZoneView::of_changed(self)?);
        let apex = after.apex();
        let (old, new) = (records_at(&before, &[])?, records_at(&after, &[])?);
        let (soa_before, soa_after) = (soa(&old)?, soa(&new)?);
        let mut pieces = Pieces { apex, soa_before, sides: Sides::default(), made: Vec::new(), octets: 0 };
        pieces.begin();
        for key in keys(self.names_in_order()) {
            let owner = name_of(after.apex_key(), key).ok()?;
            pieces.sides.add(&owner, records_at(&before, key)?, records_at(&after, key)?);
            pieces.cut(octets_max, names_max)?;
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
            pieces.sides.add(owner, of(&before)?, of(&after)?);
            pieces.cut(octets_max, names_max)?;
        }
        pieces.end(soa_after)?;
        Some(pieces.made)
    }
}

/// Changes that are being made, one after the other.
struct Pieces<'r> {
    apex: &'r Name,
    soa_before: &'r (u16, Vec<u8>, u32),
    sides: Sides,
    made: Vec<Change>,
    /// Of those that are made.
    octets: usize,
}

impl Pieces<'_> {
    fn begin(&mut self) {
        self.sides.removed.push(self.apex, rtype::SOA, self.soa_before.2, &self.soa_before.1);
    }

    /// Ends a piece that is large enough. `None`: all of them are more than `octets_max`.
    fn cut(&mut self, octets_max: usize, names_max: usize) -> Option<()> {
        let octets = self.sides.octets();
        if self.octets + octets > octets_max {
            return None;
        }
        if self.sides.names >= names_max || octets > PIECE_OCTETS_MAX.min(octets_max) {
            self.end(self.soa_before)?;
            self.begin();
        }
        Some(())
    }

    /// Ends the present piece, which has this SOA record then.
    fn end(&mut self, soa: &(u16, Vec<u8>, u32)) -> Option<()> {
        self.octets += self.sides.octets();
        let Sides { removed, added, .. } = std::mem::take(&mut self.sides);
        let mut with_soa = Records::default();
        with_soa.push(self.apex, rtype::SOA, soa.2, &soa.1);
        with_soa.append(added);
        self.made.push(Change::new(removed, with_soa).ok()?);
        Some(())
    }
}

/// What goes and what comes.
#[derive(Default)]
pub(crate) struct Sides {
    pub(crate) removed: Records,
    pub(crate) added: Records,
    names: usize,
}

impl Sides {
    /// Adds what is on one side alone; the SOA record is there already, or comes at the end.
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
        self.names += 1;
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
