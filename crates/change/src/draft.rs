//! The state of a zone with what this commit has changed so far laid over it.
//!
//! ```text
//! key of the name -> Place: node of the zone, RRsets that were asked for (expanded, with what changed since)
//! steps: one a record or TTL, so that an update that fails is undone backwards to its mark
//! ```
//!
//! RRsets nobody asked for stay in the zone and are not read. So an update costs what it touches, whatever the size of zone and names.

mod difference;
mod stored;

use crate::set::{Rdata, Set, SetId, is_replacing, replaces};
use std::collections::BTreeMap;
use std::ops::Bound;
use wire::iana::rtype;
use zone::change::soa_serial;
use zone::{Node, RRset, ZoneView};

pub use difference::NoChange;

/// The zone cannot be read: its pack is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Most names of a draft, as a commit of the delta has no more (docs/design/delta.md 4). Who is beyond commits first.
pub(crate) const NAMES_MAX: usize = 65_536;

/// Most octets of records that a draft reads and changes, and one update more: messages whose names are pointers are longer once they are read, some fifty times.
pub(crate) const OCTETS_MAX: usize = 4 << 20;

/// A zone with changes that are not committed yet.
pub struct Draft<'z> {
    view: ZoneView<'z>,
    /// Positions in `places` by key relative to the apex, which is the canonical order.
    names: BTreeMap<Box<[u8]>, usize>,
    places: Vec<Place<'z>>,
    steps: Vec<Step>,
    /// Octets of records that were read or put in, undone or not.
    octets: usize,
    serial: u32,
    /// Whether an update brought the SOA record that the zone has now.
    brought_soa: bool,
    /// Whether the zone is signed: its SOA record is.
    is_signed: bool,
}

/// A name that was asked for.
struct Place<'z> {
    key: Box<[u8]>,
    /// What the zone has there.
    node: Option<Node<'z>>,
    /// The NSEC3 record that the zone has there, as those are not at nodes.
    nsec3: Option<RRset<'z>>,
    /// By type.
    sets: Vec<Touched>,
}

/// An RRset that was asked for.
struct Touched {
    id: SetId,
    now: Set,
    /// Whether anything was ever done to it in this draft, undone or not.
    is_changed: bool,
}

/// How to undo what was done.
struct Step {
    place: usize,
    id: SetId,
    what: What,
}

enum What {
    /// A record came at this position.
    Added(usize),
    /// This one went from it.
    Removed(usize, Rdata),
    /// The TTL was this.
    Ttl(u32),
}

/// Where a draft was.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    steps: usize,
    serial: u32,
    brought_soa: bool,
}

impl<'z> Draft<'z> {
    /// A draft of a zone in the state given.
    pub fn new(view: ZoneView<'z>) -> Result<Draft<'z>, Damaged> {
        let mut draft = Draft {
            view,
            names: BTreeMap::new(),
            places: Vec::new(),
            steps: Vec::new(),
            octets: 0,
            serial: 0,
            brought_soa: false,
            is_signed: false,
        };
        let soa = draft.rrset(&[], rtype::SOA)?.ok_or(Damaged)?;
        draft.serial = soa.first().and_then(|rdata| soa_serial(rdata)).ok_or(Damaged)?;
        draft.is_signed = stored::is_signed(&draft.places[0], rtype::SOA)?;
        Ok(draft)
    }

    /// The zone as it was.
    pub fn view(&self) -> &ZoneView<'z> {
        &self.view
    }

    /// Whether the zone is signed, which is: its SOA record. Single signatures that were left somewhere make no signed zone.
    pub fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// The serial that the zone has or was brought.
    pub fn serial(&self) -> u32 {
        self.serial
    }

    /// Whether an update brought an SOA record: then this is a version of its own, and takes no more.
    pub fn has_own_soa(&self) -> bool {
        self.brought_soa
    }

    /// Whether nothing was done yet that was not undone.
    pub fn is_unchanged(&self) -> bool {
        self.steps.is_empty()
    }

    /// Octets of records that were read of the zone or put in, undone or not: what working it out took.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// The RDATA of an RRset as it is now, in canonical order; `None` where there is none. `relative`: key of the name relative to the apex. Signatures
    /// are not asked for here.
    pub fn rrset(&mut self, relative: &[u8], rtype: u16) -> Result<Option<Vec<&[u8]>>, Damaged> {
        let place = self.place(relative)?;
        let set = self.set(place, SetId::of(rtype))?;
        let records = &set.records;
        Ok((!records.is_empty()).then(|| records.iter().map(Rdata::written).collect()))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.places.len() >= NAMES_MAX || self.octets >= OCTETS_MAX
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { steps: self.steps.len(), serial: self.serial, brought_soa: self.brought_soa }
    }

    /// Undoes all since a mark.
    pub(crate) fn rollback(&mut self, mark: Mark) {
        while self.steps.len() > mark.steps
            && let Some(step) = self.steps.pop()
        {
            let Some(touched) = self.places[step.place].touched_mut(step.id) else { continue };
            match step.what {
                What::Added(at) => drop(touched.now.records.remove(at)),
                What::Removed(at, rdata) => touched.now.records.insert(at, rdata),
                What::Ttl(ttl) => touched.now.ttl = ttl,
            }
        }
        (self.serial, self.brought_soa) = (mark.serial, mark.brought_soa);
    }

    /// The RRsets that something was done to since a mark, each once.
    pub(crate) fn changed_since(&self, mark: Mark) -> Vec<(usize, SetId)> {
        let mut all: Vec<_> = self.steps[mark.steps..].iter().map(|step| (step.place, step.id)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The name with this key relative to the apex.
    pub(crate) fn place(&mut self, relative: &[u8]) -> Result<usize, Damaged> {
        if let Some(&place) = self.names.get(relative) {
            return Ok(place);
        }
        let place = self.places.len();
        self.places.push(Place {
            key: relative.into(),
            node: self.view.find(relative),
            nsec3: stored::nsec3(&self.view, relative),
            sets: Vec::new(),
        });
        self.names.insert(relative.into(), place);
        Ok(place)
    }

    /// Key of a name relative to the apex.
    pub(crate) fn key(&self, place: usize) -> &[u8] {
        &self.places[place].key
    }

    /// An RRset as it is now.
    pub(crate) fn set(&mut self, place: usize, id: SetId) -> Result<&Set, Damaged> {
        Ok(&self.touch(place, id)?.now)
    }

    /// Which RRsets a name has now, by type.
    pub(crate) fn ids(&self, place: usize) -> Result<Vec<SetId>, Damaged> {
        let place = &self.places[place];
        let mut ids = stored::ids(place)?;
        ids.retain(|id| place.touched(*id).is_none());
        ids.extend(place.sets.iter().filter(|set| !set.now.records.is_empty()).map(|set| set.id));
        ids.sort_unstable();
        Ok(ids)
    }

    /// How many records a name has now, signatures not counted.
    pub(crate) fn record_count(&self, place: usize) -> usize {
        let place = &self.places[place];
        let touched = place.sets.iter().filter(|set| set.id.rtype != rtype::RRSIG);
        let stored = place.node.iter().flat_map(Node::rrsets).filter(|rrset| {
            rrset.rtype() != rtype::RRSIG && place.touched(SetId::of(rrset.rtype())).is_none()
        });
        touched.map(|set| set.now.records.len()).sum::<usize>()
            + stored.map(|rrset| stored::len(&rrset)).sum::<usize>()
    }

    /// Adds a record, which takes the place of others where its type says so ([`replaces`]), and sets the TTL of the RRset. A record that is there keeps
    /// its letters.
    pub(crate) fn add(&mut self, place: usize, id: SetId, ttl: u32, rdata: &[u8]) -> Result<(), Damaged> {
        let new = Rdata::new(id.rtype, rdata);
        self.octets += new.octets();
        let set = self.set(place, id)?;
        let (old_ttl, is_there) = (set.ttl, set.find(&new).is_ok());
        let others = if is_replacing(id.rtype) { set.records.len() } else { 0 };
        let takes_place_of = |at: &usize| {
            let old = set.records[*at].folded();
            old != new.folded() && replaces(id.rtype, new.folded(), old)
        };
        let replaced: Vec<usize> = (0..others).rev().filter(takes_place_of).collect();
        for at in replaced {
            self.remove(place, id, at)?;
        }
        if !is_there {
            let set = &mut self.change(place, id)?.now;
            let at = set.find(&new).unwrap_or_else(|at| at);
            set.records.insert(at, new);
            self.steps.push(Step { place, id, what: What::Added(at) });
        }
        if old_ttl != ttl {
            self.change(place, id)?.now.ttl = ttl;
            self.steps.push(Step { place, id, what: What::Ttl(old_ttl) });
        }
        Ok(())
    }

    /// Removes the record at a position of an RRset.
    pub(crate) fn remove(&mut self, place: usize, id: SetId, at: usize) -> Result<(), Damaged> {
        let rdata = self.change(place, id)?.now.records.remove(at);
        self.steps.push(Step { place, id, what: What::Removed(at, rdata) });
        Ok(())
    }

    /// Removes all records of an RRset.
    pub(crate) fn clear(&mut self, place: usize, id: SetId) -> Result<(), Damaged> {
        for at in (0..self.set(place, id)?.records.len()).rev() {
            self.remove(place, id, at)?;
        }
        Ok(())
    }

    /// Whether an RRset has other records or another TTL than in the zone.
    pub(crate) fn differs(&mut self, place: usize, id: SetId) -> Result<bool, Damaged> {
        let before = self.stored(place, id)?;
        let now = self.set(place, id)?;
        let is_same = before.records.iter().map(Rdata::folded).eq(now.records.iter().map(Rdata::folded));
        Ok(!is_same || (before.ttl != now.ttl && !now.records.is_empty()))
    }

    /// An RRset as the zone has it.
    pub(crate) fn stored(&self, place: usize, id: SetId) -> Result<Set, Damaged> {
        stored::set(&self.view, &self.places[place], id)
    }

    /// Keys of the names of the draft that have this RRset now, in order.
    pub(crate) fn drafted_with(&self, id: SetId) -> Vec<Box<[u8]>> {
        let has = |place: &Place<'_>| place.touched(id).is_some_and(|set| !set.now.records.is_empty());
        self.names.iter().filter(|(_, at)| has(&self.places[**at])).map(|(key, _)| key.clone()).collect()
    }

    /// Keys of the names of the draft below one.
    pub(crate) fn drafted_below(&self, key: &[u8]) -> Vec<Box<[u8]>> {
        let range = (Bound::Excluded(key), Bound::Unbounded);
        let names = self.names.range::<[u8], _>(range).map(|(name, _)| name);
        names.take_while(|name| name.starts_with(key)).cloned().collect()
    }

    /// Whether a name is in the draft.
    pub(crate) fn is_drafted(&self, key: &[u8]) -> bool {
        self.names.contains_key(key)
    }

    /// Says that the update has brought an SOA record.
    pub(crate) fn set_serial(&mut self, serial: u32) {
        (self.serial, self.brought_soa) = (serial, true);
    }

    fn change(&mut self, place: usize, id: SetId) -> Result<&mut Touched, Damaged> {
        let touched = self.touch(place, id)?;
        touched.is_changed = true;
        Ok(touched)
    }

    /// An RRset, expanded if it was not yet.
    fn touch(&mut self, place: usize, id: SetId) -> Result<&mut Touched, Damaged> {
        let (view, octets) = (&self.view, &mut self.octets);
        let place = &mut self.places[place];
        let at = match place.sets.binary_search_by_key(&id, |set| set.id) {
            Ok(at) => at,
            Err(at) => {
                let now = stored::set(view, place, id)?;
                *octets += now.records.iter().map(Rdata::octets).sum::<usize>();
                place.sets.insert(at, Touched { id, now, is_changed: false });
                at
            }
        };
        Ok(&mut place.sets[at])
    }
}

impl Place<'_> {
    fn touched(&self, id: SetId) -> Option<&Touched> {
        let at = self.sets.binary_search_by_key(&id, |set| set.id).ok()?;
        Some(&self.sets[at])
    }

    fn touched_mut(&mut self, id: SetId) -> Option<&mut Touched> {
        let at = self.sets.binary_search_by_key(&id, |set| set.id).ok()?;
        Some(&mut self.sets[at])
    }
}
