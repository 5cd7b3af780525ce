//! From a draft to the change: what was there and is not, and the reverse.

use super::{Damaged, Draft, Place, stored};
use crate::serial::SerialStyle;
use crate::set::{Set, SetId};
use wire::Name;
use wire::iana::rtype;
use wire::sort_key::name_of;
use zone::{Change, Records, ZoneView};

/// Why there is no change to commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoChange {
    /// All is as it was.
    Nothing,
    /// The zone cannot be read.
    Damaged,
}

impl From<Damaged> for NoChange {
    fn from(_: Damaged) -> NoChange {
        NoChange::Damaged
    }
}

impl Draft<'_> {
    /// What all updates together change: SOA records first, then names in canonical order, types ascending, records in canonical order. A serial that was
    /// not brought follows `style`; `now`: seconds since 1970. Nothing changed: no new serial (RFC 2136 3.6).
    pub fn into_change(mut self, style: SerialStyle, now: u64) -> Result<Change, NoChange> {
        let (mut removed, mut added) = self.soa_records(style, now)?;
        let soa_octets = removed.octets().len();
        let is_same_soa = removed == added;
        for &at in self.names.values() {
            let place = &self.places[at];
            if place.sets.iter().any(|set| set.is_changed) {
                compare(&self.view, place, &mut removed, &mut added)?;
            }
        }
        let is_nothing = removed.octets().len() == soa_octets && added.octets().len() == soa_octets;
        if is_nothing && (!self.brought_soa || is_same_soa) {
            return Err(NoChange::Nothing);
        }
        Change::new(removed, added).map_err(|_| NoChange::Damaged)
    }

    /// The SOA record of the zone, and the one that comes.
    fn soa_records(&mut self, style: SerialStyle, now: u64) -> Result<(Records, Records), Damaged> {
        let apex = self.place(&[])?;
        let id = SetId::of(rtype::SOA);
        // What no update has brought is as it was.
        let before = if self.brought_soa { self.stored(apex, id)? } else { self.set(apex, id)?.clone() };
        let (mut removed, mut added) = (Records::default(), Records::default());
        let owner = self.view.apex();
        let rdata = before.records.first().ok_or(Damaged)?.written();
        removed.push(owner, rtype::SOA, before.ttl, rdata);
        if self.brought_soa {
            let now = self.set(apex, id)?;
            added.push(owner, rtype::SOA, now.ttl, now.records.first().ok_or(Damaged)?.written());
        } else {
            let mut rdata = rdata.to_vec();
            let at = rdata.len().checked_sub(20).ok_or(Damaged)?;
            rdata[at..at + 4].copy_from_slice(&style.after(self.serial, now).to_be_bytes());
            added.push(owner, rtype::SOA, before.ttl, &rdata);
        }
        Ok((removed, added))
    }
}

/// Adds what differs at a name, the SOA record left out.
fn compare(
    view: &ZoneView<'_>,
    place: &Place<'_>,
    removed: &mut Records,
    added: &mut Records,
) -> Result<(), Damaged> {
    let owner = name_of(view.apex_key(), &place.key).map_err(|_| Damaged)?;
    for id in concerned(place) {
        let before = stored::set(view, place, id)?;
        let expanded;
        let now = match place.touched(id) {
            Some(touched) => &touched.now,
            None => {
                expanded = before.clone();
                &expanded
            }
        };
        // A signature has the TTL of what it covers.
        let ttl = match place.touched(SetId::of(id.covered)) {
            Some(covered) if id.rtype == rtype::RRSIG && !covered.now.records.is_empty() => covered.now.ttl,
            Some(_) if id.rtype == rtype::RRSIG => now.ttl,
            None if id.rtype == rtype::RRSIG => covered_ttl(view, place, id.covered)?.unwrap_or(now.ttl),
            _ => now.ttl,
        };
        push_missing(&owner, id.rtype, (&before, before.ttl), (now, ttl), removed);
        push_missing(&owner, id.rtype, (now, ttl), (&before, before.ttl), added);
    }
    Ok(())
}

/// The TTL of an RRset of the zone.
fn covered_ttl(view: &ZoneView<'_>, place: &Place<'_>, covered: u16) -> Result<Option<u32>, Damaged> {
    let set = stored::set(view, place, SetId::of(covered))?;
    Ok((!set.records.is_empty()).then_some(set.ttl))
}

/// RRsets of a name that may differ: those that were changed, and signatures over them.
fn concerned(place: &Place<'_>) -> Vec<SetId> {
    let changed = place.sets.iter().filter(|set| set.is_changed).map(|set| set.id);
    let mut all: Vec<SetId> = changed
        .flat_map(|id| [id, if id.rtype == rtype::RRSIG { id } else { SetId::signatures(id.rtype) }])
        .filter(|id| !(id.rtype == rtype::SOA && place.key.is_empty()))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Adds the records of one set that another has not, or has with another TTL.
fn push_missing(owner: &Name, rtype: u16, from: (&Set, u32), other: (&Set, u32), to: &mut Records) {
    for rdata in &from.0.records {
        if from.1 != other.1 || other.0.find(rdata).is_err() {
            to.push(owner, rtype, from.1, rdata.written());
        }
    }
}
