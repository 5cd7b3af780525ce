//! What a zone has of a name: RRsets with signatures, orphan signatures, NSEC3 records, as sets of records.

use super::{Damaged, Place};
use crate::set::{Set, SetId};
use dnssec::nsec3::hash_of_label;
use wire::iana::rtype;
use wire::sort_key::name_of;
use zone::{Data, RRset, ZoneView};

/// The NSEC3 RRset at a name: zones keep those by their hashes.
pub(super) fn nsec3<'z>(view: &ZoneView<'z>, relative: &[u8]) -> Option<RRset<'z>> {
    let (0, label) = relative.split_last()? else { return None };
    let (record, is_it) = view.nsec3_for(&hash_of_label(label)?)?;
    if is_it { record.rrset() } else { None }
}

/// Which RRsets the zone has at a name, in no order.
pub(super) fn ids(place: &Place<'_>) -> Result<Vec<SetId>, Damaged> {
    let mut ids = Vec::new();
    for rrset in rrsets(place) {
        if rrset.rtype() == rtype::RRSIG {
            ids.extend(orphans(&rrset)?.iter().map(|rdata| SetId::of_record(rtype::RRSIG, rdata)));
            continue;
        }
        ids.push(SetId::of(rrset.rtype()));
        if rrset.is_signed() {
            ids.push(SetId::signatures(rrset.rtype()));
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Whether the zone has signatures over an RRset of a name.
pub(super) fn is_signed(place: &Place<'_>, covered: u16) -> Result<bool, Damaged> {
    let id = SetId::signatures(covered);
    for rrset in rrsets(place) {
        let is_over = match rrset.rtype() {
            rtype::RRSIG => orphans(&rrset)?.iter().any(|rdata| SetId::of_record(rtype::RRSIG, rdata) == id),
            rtype => rtype == covered && rrset.is_signed(),
        };
        if is_over {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An RRset as the zone has it.
pub(super) fn set(view: &ZoneView<'_>, place: &Place<'_>, id: SetId) -> Result<Set, Damaged> {
    let wanted = if id.rtype == rtype::RRSIG { id.covered } else { id.rtype };
    let found = rrsets(place).find(|rrset| rrset.rtype() == wanted && wanted != rtype::RRSIG);
    if id.rtype != rtype::RRSIG {
        let Some(rrset) = found else { return Ok(Set::default()) };
        let owner = name_of(view.apex_key(), &place.key).map_err(|_| Damaged)?;
        let rdatas = rrset.rdata(&owner, view.apex()).ok_or(Damaged)?;
        return Ok(Set::of(id.rtype, rrset.ttl(), rdatas));
    }
    if let Some(rrset) = found {
        return Ok(Set::of(id.rtype, rrset.ttl(), rrset.signature_rdata()));
    }
    let Some(rrset) = rrsets(place).find(|rrset| rrset.rtype() == rtype::RRSIG) else {
        return Ok(Set::default());
    };
    let covering = orphans(&rrset)?.into_iter().filter(|rdata| SetId::of_record(rtype::RRSIG, rdata) == id);
    Ok(Set::of(id.rtype, rrset.ttl(), covering))
}

/// How many records an RRset has.
pub(super) fn len(rrset: &RRset<'_>) -> usize {
    match rrset.data() {
        Data::Inline(_) => 1,
        Data::Fragment(fragment) => fragment.len(),
    }
}

/// The RRsets at a name; those of NSEC3 come from the chain, where the name is in both.
fn rrsets<'z>(place: &Place<'z>) -> impl Iterator<Item = RRset<'z>> {
    let nsec3 = place.nsec3;
    let of_node = place.node.into_iter().flat_map(|node| node.rrsets());
    of_node.filter(move |rrset| nsec3.is_none() || rrset.rtype() != rtype::NSEC3).chain(nsec3)
}

/// Signatures that cover no RRset of their owner: the RDATA has no names that are stored as pointers.
fn orphans(rrset: &RRset<'_>) -> Result<Vec<Vec<u8>>, Damaged> {
    rrset.rdata(wire::Name::root(), wire::Name::root()).ok_or(Damaged)
}
