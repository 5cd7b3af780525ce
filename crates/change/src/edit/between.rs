//! From two texts of a zone to what differs: both are walked over side by side, and only what is not the same octets is expanded.

use std::cmp::Ordering;

use super::{Edit, EditFault, Edited, Named, Soa};
use crate::draft::NAMES_MAX;
use crate::set::{Rdata, Set, SetId};
use dnssec::nsec3::owner_label;
use wire::iana::rtype;
use wire::sort_key::{KEY_OCTETS_MAX, name_of};
use zone::lookup::Owner;
use zone::{Crawl, Data, RRset, ZoneView};

/// One of the two, at a name.
struct Side<'z> {
    view: ZoneView<'z>,
    crawl: Crawl,
    /// The name that comes next, and its RRsets. `None`: there are no more.
    next: Option<Next<'z>>,
    /// The first RRset of the name after.
    ahead: Option<(Place, RRset<'z>)>,
}

/// Names come before hashes, each in their order.
type Place = (bool, Box<[u8]>);

struct Next<'z> {
    place: Place,
    rrsets: Vec<RRset<'z>>,
}

impl<'z> Side<'z> {
    fn new(view: ZoneView<'z>) -> Result<Side<'z>, EditFault> {
        let mut side = Side { view, crawl: Crawl::default(), next: None, ahead: None };
        side.ahead = side.read()?;
        side.step()?;
        Ok(side)
    }

    /// The next RRset and who owns it.
    fn read(&mut self) -> Result<Option<(Place, RRset<'z>)>, EditFault> {
        let step = self.crawl.next(&self.view).map_err(|_| EditFault::Damaged)?;
        let Some(step) = step else { return Ok(None) };
        let place = match step.owner {
            Owner::Name(node) => {
                let mut key = [0; KEY_OCTETS_MAX];
                let octets = node.copy_key(&mut key);
                (false, key[..octets].into())
            }
            Owner::Hash(hash) => (true, [&owner_label(hash)[..], &[0]].concat().into()),
        };
        Ok(Some((place, step.rrset)))
    }

    /// Goes to the next name.
    fn step(&mut self) -> Result<(), EditFault> {
        let Some((place, rrset)) = self.ahead.take() else {
            self.next = None;
            return Ok(());
        };
        let mut next = Next { place, rrsets: vec![rrset] };
        self.ahead = self.read()?;
        while let Some((place, rrset)) = self.ahead.take() {
            if place != next.place {
                self.ahead = Some((place, rrset));
                break;
            }
            next.rrsets.push(rrset);
            self.ahead = self.read()?;
        }
        self.next = Some(next);
        Ok(())
    }

    /// The RRsets of the name that comes next, as sets of records.
    fn sets(&self) -> Result<Vec<(SetId, Set)>, EditFault> {
        let Some(next) = &self.next else { return Ok(Vec::new()) };
        let owner = name_of(self.view.apex_key(), &next.place.1).map_err(|_| EditFault::Damaged)?;
        let mut sets = Vec::new();
        for rrset in &next.rrsets {
            let (rtype, ttl) = (rrset.rtype(), rrset.ttl());
            let rdatas = rrset.rdata(&owner, self.view.apex()).ok_or(EditFault::Damaged)?;
            if rtype == rtype::RRSIG {
                let mut covered: Vec<SetId> =
                    rdatas.iter().map(|rdata| SetId::of_record(rtype, rdata)).collect();
                covered.sort_unstable();
                covered.dedup();
                for id in covered {
                    let of = rdatas.iter().filter(|rdata| SetId::of_record(rtype, rdata) == id).cloned();
                    sets.push((id, Set::of(rtype, ttl, of)));
                }
                continue;
            }
            sets.push((SetId::of(rtype), Set::of(rtype, ttl, rdatas)));
            if rrset.is_signed() {
                let signatures = rrset.signature_rdata();
                sets.push((SetId::signatures(rtype), Set::of(rtype::RRSIG, ttl, signatures)));
            }
        }
        sets.sort_by_key(|(id, _)| *id);
        Ok(sets)
    }
}

impl Edit {
    /// What differs from `before` to `after`, two states of one zone. The fault: it would have more than `octets_max` octets of RDATA or more names than a change
    /// has, or one of them cannot be read. Costs a walk over both.
    pub fn between(
        before: &ZoneView<'_>,
        after: &ZoneView<'_>,
        octets_max: usize,
    ) -> Result<Edit, EditFault> {
        if before.apex_key() != after.apex_key() {
            return Err(EditFault::OtherZone);
        }
        let mut edit = Edit {
            names: Vec::new(),
            before: soa(before)?,
            after: soa(after)?,
            is_signed: after.is_signed() || before.is_signed(),
        };
        let (mut one, mut other, mut octets) = (Side::new(*before)?, Side::new(*after)?, 0);
        while let Some(order) = order(&one, &other) {
            if order != Ordering::Equal || !is_same_name(&one, &other) {
                let (has_one, has_other) = (order != Ordering::Greater, order != Ordering::Less);
                let old = if has_one { one.sets()? } else { Vec::new() };
                let new = if has_other { other.sets()? } else { Vec::new() };
                let place = if has_one { &one.next } else { &other.next };
                let key = place.as_ref().map(|next| next.place.1.clone()).unwrap_or_default();
                let sets = differing(&key, old, new);
                if !sets.is_empty() {
                    octets += sets.iter().map(octets_of).sum::<usize>();
                    edit.names.push(Named { key, sets });
                }
                if octets > octets_max || edit.names.len() >= NAMES_MAX {
                    return Err(EditFault::TooLarge);
                }
            }
            if order != Ordering::Greater {
                one.step()?;
            }
            if order != Ordering::Less {
                other.step()?;
            }
        }
        Ok(edit)
    }
}

/// Which side's name comes first; `None`: both are at their ends.
fn order(one: &Side<'_>, other: &Side<'_>) -> Option<Ordering> {
    match (&one.next, &other.next) {
        (None, None) => None,
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (Some(one), Some(other)) => Some(one.place.cmp(&other.place)),
    }
}

/// Whether all RRsets of a name are the same octets: then nothing need be expanded.
fn is_same_name(one: &Side<'_>, other: &Side<'_>) -> bool {
    match (&one.next, &other.next) {
        (Some(one), Some(other)) => {
            one.rrsets.len() == other.rrsets.len()
                && one.rrsets.iter().zip(&other.rrsets).all(|(one, other)| is_same_set(one, other))
        }
        _ => false,
    }
}

fn is_same_set(one: &RRset<'_>, other: &RRset<'_>) -> bool {
    one.head() == other.head()
        && match (one.data(), other.data()) {
            (Data::Inline(one), Data::Inline(other)) => one == other,
            (Data::Fragment(one), Data::Fragment(other)) => one.is_same(&other),
            _ => false,
        }
}

/// RRsets that are not the same before and after, SOA left out.
fn differing(key: &[u8], old: Vec<(SetId, Set)>, new: Vec<(SetId, Set)>) -> Vec<Edited> {
    let mut ids: Vec<SetId> = old.iter().chain(&new).map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    let of = |sets: &[(SetId, Set)], id: SetId| {
        sets.iter().find(|(other, _)| *other == id).map(|(_, set)| set.clone()).unwrap_or_default()
    };
    let is_soa = |id: &SetId| key.is_empty() && id.rtype == rtype::SOA;
    let edited = ids.into_iter().filter(|id| !is_soa(id)).map(|id| Edited {
        id,
        before: of(&old, id),
        after: of(&new, id),
    });
    edited.filter(|edited| !is_same(&edited.before, &edited.after)).collect()
}

fn is_same(one: &Set, other: &Set) -> bool {
    let is_none = one.records.is_empty() && other.records.is_empty();
    let records = one.records.iter().map(Rdata::folded).eq(other.records.iter().map(Rdata::folded));
    is_none || (records && one.ttl == other.ttl)
}

fn octets_of(edited: &Edited) -> usize {
    let both = edited.before.records.iter().chain(&edited.after.records);
    both.map(|rdata| rdata.written().len()).sum()
}

fn soa(view: &ZoneView<'_>) -> Result<Soa, EditFault> {
    let rrset = view.find(&[]).and_then(|apex| apex.rrset(rtype::SOA)).ok_or(EditFault::Damaged)?;
    let rdata = rrset.rdata(view.apex(), view.apex()).ok_or(EditFault::Damaged)?;
    Soa::new(rrset.ttl(), rdata.into_iter().next().unwrap_or_default()).ok_or(EditFault::Damaged)
}
