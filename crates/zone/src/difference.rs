//! What leads from one version of a zone to another where nobody said what was changed: a text that was read again, a zone that came whole.
//!
//! ```text
//! old: a.  b.  c.        both crawled side by side, in canonical order, then the NSEC3 chains in the order of hashes
//! new: a.  c'. d.        -> removed: SOA, b., what c. had     added: SOA, what c. has, d.
//! ```
//!
//! What is the same on both sides is compared as it is stored, and read no further.

use std::cmp::Ordering;

use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, NameBuf};

use crate::catalog::is_same_set;
use crate::change::{Change, soa_serial};
use crate::delta::{Sides, records_of};
use crate::lookup::{Crawl, Damaged, Owner, RRset, Step, ZoneView};

/// Why there is no change that leads from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDifference {
    /// They have the same records.
    Same,
    /// It would have more octets than it may.
    TooLong,
    /// One of them cannot be read, or they are of different names.
    Damaged,
}

impl From<Damaged> for NoDifference {
    fn from(_: Damaged) -> NoDifference {
        NoDifference::Damaged
    }
}

/// The change from `old` to `new`, two versions of a zone. Its SOA records are those of the two, whatever their serials. A walk over both, which
/// ends once the change has more than `octets_max` octets.
pub fn difference(old: &ZoneView<'_>, new: &ZoneView<'_>, octets_max: usize) -> Result<Change, NoDifference> {
    if old.apex_key() != new.apex_key() {
        return Err(NoDifference::Damaged);
    }
    let mut sides = Sides::default();
    let is_same_soa = begin(old, new, &mut sides)?;
    let soa_octets = sides.octets();
    let (mut before, mut after) = (Walk::new(old)?, Walk::new(new)?);
    loop {
        let order = match (&before.ahead, &after.ahead) {
            (Some(one), Some(other)) => compare(&one.owner, &other.owner),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let (mut one, mut other) = (None, None);
        if order != Ordering::Greater {
            one = before.take_owner()?;
        }
        if order != Ordering::Less {
            other = after.take_owner()?;
        }
        add(&one, &other, old.apex(), &mut sides)?;
        if sides.octets() > octets_max {
            return Err(NoDifference::TooLong);
        }
    }
    if is_same_soa && sides.octets() == soa_octets {
        return Err(NoDifference::Same);
    }
    Change::new(sides.removed, sides.added).map_err(|_| NoDifference::Damaged)
}

/// The SOA records of both, which come first. Says whether they are the same.
fn begin(old: &ZoneView<'_>, new: &ZoneView<'_>, sides: &mut Sides) -> Result<bool, NoDifference> {
    let mut push = |zone: &ZoneView<'_>, is_old: bool| {
        let soa = zone.apex_node()?.rrset(rtype::SOA)?;
        let rdata = soa.rdata(zone.apex(), zone.apex())?.into_iter().next()?;
        soa_serial(&rdata)?;
        let to = if is_old { &mut sides.removed } else { &mut sides.added };
        to.push(zone.apex(), rtype::SOA, soa.ttl(), &rdata);
        Some(())
    };
    push(old, true).and_then(|()| push(new, false)).ok_or(NoDifference::Damaged)?;
    Ok(sides.removed == sides.added)
}

/// All RRsets of one owner.
struct Owned<'p> {
    owner: Owner<'p>,
    rrsets: Vec<RRset<'p>>,
}

/// A crawl that stops at owners.
struct Walk<'v, 'p> {
    zone: &'v ZoneView<'p>,
    crawl: Crawl,
    /// The first RRset of the next owner.
    ahead: Option<Step<'p>>,
}

impl<'v, 'p> Walk<'v, 'p> {
    fn new(zone: &'v ZoneView<'p>) -> Result<Walk<'v, 'p>, Damaged> {
        let mut crawl = Crawl::default();
        let ahead = crawl.next(zone)?;
        Ok(Walk { zone, crawl, ahead })
    }

    /// The next owner.
    fn take_owner(&mut self) -> Result<Option<Owned<'p>>, Damaged> {
        let Some(first) = self.ahead.take() else { return Ok(None) };
        let mut owned = Owned { owner: first.owner, rrsets: vec![first.rrset] };
        while let Some(step) = self.crawl.next(self.zone)? {
            if compare(&step.owner, &owned.owner) != Ordering::Equal {
                self.ahead = Some(step);
                break;
            }
            owned.rrsets.push(step.rrset);
        }
        Ok(Some(owned))
    }
}

/// The order of a crawl: names, then hashes.
fn compare(one: &Owner<'_>, other: &Owner<'_>) -> Ordering {
    match (one, other) {
        (Owner::Name(one), Owner::Name(other)) => {
            let ((a, b), (c, d)) = (one.key_parts(), other.key_parts());
            match a.len() == c.len() {
                true => a.cmp(c).then_with(|| b.cmp(d)),
                false => a.iter().chain(b).cmp(c.iter().chain(d)),
            }
        }
        (Owner::Hash(one), Owner::Hash(other)) => one.cmp(other),
        (Owner::Name(_), Owner::Hash(_)) => Ordering::Less,
        (Owner::Hash(_), Owner::Name(_)) => Ordering::Greater,
    }
}

/// Adds what one owner has on one side alone.
fn add(
    one: &Option<Owned<'_>>,
    other: &Option<Owned<'_>>,
    apex: &Name,
    sides: &mut Sides,
) -> Result<(), NoDifference> {
    if let (Some(one), Some(other)) = (one, other)
        && one.rrsets.len() == other.rrsets.len()
        && one.rrsets.iter().zip(&other.rrsets).all(|(one, other)| is_same_set(one, other))
    {
        return Ok(());
    }
    let Some(owner) = one.as_ref().or(other.as_ref()).and_then(|owned| name(&owned.owner, apex)) else {
        return Err(NoDifference::Damaged);
    };
    let records = |owned: &Option<Owned<'_>>| {
        let rrsets = owned.iter().flat_map(|owned| owned.rrsets.iter().copied());
        records_of(rrsets, &owner, apex).ok_or(NoDifference::Damaged)
    };
    sides.add(&owner, records(one)?, records(other)?);
    Ok(())
}

fn name(owner: &Owner<'_>, apex: &Name) -> Option<NameBuf> {
    let mut octets = [0; NAME_OCTETS_MAX];
    let length = owner.write_labels(&mut octets)?;
    let end = length.checked_add(apex.octets().len())?;
    octets.get_mut(length..end)?.copy_from_slice(apex.octets());
    Some(Name::from_wire(octets.get(..end)?).ok()?.to_owned())
}
