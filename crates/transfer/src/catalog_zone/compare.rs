//! What a state of a catalog has that the claims have not.
//!
//! A state is read as a whole, or only where a change touched it: the labels of member nodes whose records are in the change are looked up in the
//! state after it. That is enough, and finds all that makes a catalog broken, as long as the claims are those of the state before.

use std::collections::BTreeSet;

use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, SortKey};
use zone::{Change, Crawl, ZoneView};

use super::broken::{Broken, Fault};
use super::claims::{CatalogNumber, Claims, MEMBERS_MAX};
use super::owner::{Place, place};
use super::read::{CatalogRecord, Member, Reader, below};
use super::table::{New, Table};

/// Of so many claims one may be touched by a change for it to be looked up; more are found faster by reading all in order.
const TOUCHED_PART: usize = 8;
/// Labels that are looked up in any case.
const TOUCHED_MIN: usize = 64;

/// Compares members with the claims of their catalog, one by one.
struct Comparison<'c> {
    claims: &'c Claims,
    catalog: u16,
    /// A bit for each claim: whether its zone is a member now.
    met: Vec<u64>,
    differing: Table,
    /// Labels of a change, in lower case; `None`: all members are read.
    touched: Option<BTreeSet<Vec<u8>>>,
}

/// What is different: members that are new or have changed, and claims whose members are gone.
#[derive(Debug)]
pub struct Difference {
    pub(super) catalog: CatalogNumber,
    pub(super) differing: Table,
    pub(super) left: Vec<u32>,
    pub(super) serial: u32,
}

impl Difference {
    /// The whole state `view` of a catalog against its claims. `serial`: that of the state.
    pub fn of_state(
        claims: &Claims,
        catalog: CatalogNumber,
        view: &ZoneView<'_>,
        serial: u32,
    ) -> Result<Difference, Broken> {
        let mut comparison = Comparison::new(claims, catalog);
        let mut reader = Reader::new(claims, catalog.0);
        let mut crawl = Crawl::default();
        let mut labels = [0; NAME_OCTETS_MAX];
        let damaged = || Broken::new(Fault::Damaged, view.apex());
        while let Some(step) = crawl.next(view).map_err(|_| damaged())? {
            let octets = step.owner.write_labels(&mut labels).ok_or_else(damaged)?;
            let owner = &labels[..octets];
            if !Reader::wants(place(owner), step.rrset.rtype()) {
                continue;
            }
            let name = below(owner, view.apex());
            for rdata in step.rrset.rdata(&name, view.apex()).ok_or_else(damaged)? {
                let record = CatalogRecord { owner, rtype: step.rrset.rtype(), rdata: &rdata };
                reader.record(&record, &mut |member| comparison.member(member))?;
            }
        }
        reader.finish(&mut |member| comparison.member(member))?;
        Ok(comparison.finish(serial))
    }

    /// The same from records of a catalog that stand in canonical order, owners complete: what is about to be published, for one.
    pub fn of_records<'r>(
        claims: &Claims,
        catalog: CatalogNumber,
        records: impl Iterator<Item = zone::Record<'r>>,
        serial: u32,
    ) -> Result<Difference, Broken> {
        let mut comparison = Comparison::new(claims, catalog);
        let mut reader = Reader::new(claims, catalog.0);
        let apex = claims.catalog_name(catalog);
        for record in records {
            let Some(owner) = labels_above(record.owner, apex) else { continue };
            let record = CatalogRecord { owner, rtype: record.rtype, rdata: record.rdata };
            reader.record(&record, &mut |member| comparison.member(member))?;
        }
        reader.finish(&mut |member| comparison.member(member))?;
        Ok(comparison.finish(serial))
    }

    /// What `change` makes of a catalog: `view` is the state after it. `None`: the claims are not those of the state before, or it touches so much that the
    /// whole state is compared faster.
    pub fn of_change(
        claims: &Claims,
        catalog: CatalogNumber,
        change: &Change,
        view: &ZoneView<'_>,
    ) -> Option<Result<Difference, Broken>> {
        if claims.serial(catalog) != Some(change.serial_before()) {
            return None;
        }
        let max = (claims.counts(catalog).0 as usize / TOUCHED_PART).max(TOUCHED_MIN);
        let touched = touched(change, claims.catalog_name(catalog), max)?;
        let comparison = Comparison { touched: Some(touched), ..Comparison::new(claims, catalog) };
        Some(comparison.look_up(change, view))
    }

    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.differing.len() == 0 && self.left.is_empty()
    }
}

impl<'c> Comparison<'c> {
    fn new(claims: &'c Claims, catalog: CatalogNumber) -> Comparison<'c> {
        Comparison {
            claims,
            catalog: catalog.0,
            met: Vec::new(),
            differing: claims.table.new_alike(),
            touched: None,
        }
    }

    /// Takes a member of the state.
    fn member(&mut self, member: &Member<'_>) -> Result<(), Broken> {
        let hash = self.claims.table.hash(member.zone);
        let known = self.claims.of_catalog(self.catalog, hash, member.zone);
        if let Some(number) = known {
            let entry = self.claims.entry(number);
            let label = self.claims.table.names(entry).0;
            let is_at_both = self.touched.as_ref().is_some_and(|touched| !touched.contains(label));
            if self.meet(number) || (is_at_both && label != member.label) {
                return Err(self.broken(Fault::Twice, member));
            }
            if label == member.label && entry.template == member.template && entry.coo == member.coo {
                return Ok(());
            }
        } else if self.differing.find(hash, member.zone).next().is_some() {
            return Err(self.broken(Fault::Twice, member));
        }
        let Member { label, zone, template, coo } = *member;
        let is_room = known.is_some() || self.claims.len() + self.differing.len() < MEMBERS_MAX;
        let new = New { label, zone, catalog: self.catalog, template, coo };
        match is_room.then(|| self.differing.insert(hash, &new)).flatten() {
            Some(_) => Ok(()),
            None => Err(self.broken(Fault::TooMany, member)),
        }
    }

    /// Notes that the zone of a claim is a member; says whether it was noted before.
    fn meet(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.met.is_empty() {
            self.met.resize(self.claims.table.end().div_ceil(64), 0);
        }
        let was = self.met[word] & bit != 0;
        self.met[word] |= bit;
        was
    }

    fn is_met(&self, number: u32) -> bool {
        self.met.get(number as usize / 64).is_some_and(|word| word & 1 << (number % 64) != 0)
    }

    fn broken(&self, fault: Fault, member: &Member<'_>) -> Broken {
        let mut labels = vec![member.label.len() as u8];
        labels.extend_from_slice(member.label);
        labels.extend_from_slice(b"\x05zones");
        let apex = &self.claims.catalogs[usize::from(self.catalog)].zone;
        Broken::of_zone(fault, &below(&labels, apex), member.zone)
    }

    /// Claims whose members were not met are those of members that left.
    fn finish(self, serial: u32) -> Difference {
        let is_left = |number: &u32| {
            let entry = self.claims.table.entry(*number);
            entry.is_some_and(|entry| entry.catalog == self.catalog) && !self.is_met(*number)
        };
        let left = (0..self.claims.table.end() as u32).filter(is_left).collect();
        Difference { catalog: CatalogNumber(self.catalog), differing: self.differing, left, serial }
    }

    /// Reads the touched labels in the state after a change.
    fn look_up(mut self, change: &Change, view: &ZoneView<'_>) -> Result<Difference, Broken> {
        let mut reader = Reader::new(self.claims, self.catalog);
        let touched = self.touched.clone().unwrap_or_default();
        let mut to = |member: &Member<'_>| self.member(member);
        read_node(view, b"\x07version", rtype::TXT, &mut reader, &mut to)?;
        for label in &touched {
            let mut labels = Vec::with_capacity(80);
            for (property, rtype) in [("", rtype::PTR), ("coo", rtype::PTR), ("group", rtype::TXT)] {
                labels.clear();
                for part in [property.as_bytes(), label, b"zones"].into_iter().filter(|part| !part.is_empty())
                {
                    labels.push(part.len() as u8);
                    labels.extend_from_slice(part);
                }
                read_node(view, &labels, rtype, &mut reader, &mut to)?;
            }
        }
        reader.finish(&mut to)?;
        let mut left = Vec::new();
        for record in change.removed().iter().filter(|record| record.rtype == rtype::PTR) {
            let (Some(labels), Ok(zone)) =
                (labels_above(record.owner, change.zone()), Name::from_wire(record.rdata))
            else {
                continue;
            };
            let Place::Member(label) = place(labels) else { continue };
            let known = self.claims.of_catalog(self.catalog, self.claims.table.hash(zone), zone);
            let is_at = |number: &u32| {
                let (at, _) = self.claims.table.names(self.claims.entry(*number));
                at.eq_ignore_ascii_case(label)
            };
            left.extend(known.filter(is_at).filter(|number| !self.is_met(*number)));
        }
        left.sort_unstable();
        left.dedup();
        let catalog = CatalogNumber(self.catalog);
        Ok(Difference { catalog, differing: self.differing, left, serial: change.serial_after() })
    }
}

/// Gives the RRset of one name of a catalog to the reader.
fn read_node(
    view: &ZoneView<'_>,
    labels: &[u8],
    rtype: u16,
    reader: &mut Reader<'_>,
    to: &mut impl FnMut(&Member<'_>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let name = below(labels, view.apex());
    let key = SortKey::of(&name);
    let relative = key.octets().get(view.apex_key().len()..).unwrap_or_default();
    let Some(rrset) = view.find(relative).and_then(|node| node.rrset(rtype)) else { return Ok(()) };
    let rdatas = rrset.rdata(&name, view.apex());
    for rdata in rdatas.ok_or_else(|| Broken::new(Fault::Damaged, &name))? {
        reader.record(&CatalogRecord { owner: labels, rtype, rdata: &rdata }, to)?;
    }
    Ok(())
}

/// Labels of the member nodes whose records are in a change, in lower case; `None` if they are more than `max`.
fn touched(change: &Change, apex: &Name, max: usize) -> Option<BTreeSet<Vec<u8>>> {
    let mut touched = BTreeSet::new();
    for record in change.removed().iter().chain(change.added().iter()) {
        let Some(labels) = labels_above(record.owner, apex) else { continue };
        let place = place(labels);
        if !Reader::wants(place, record.rtype) {
            continue;
        }
        touched.extend(place.label().map(<[u8]>::to_ascii_lowercase));
        if touched.len() > max {
            return None;
        }
    }
    Some(touched)
}

/// The labels of `name` above `apex`, without a root label; `None` if it is not below.
fn labels_above<'n>(name: &'n Name, apex: &Name) -> Option<&'n [u8]> {
    let octets = name.octets().len().checked_sub(apex.octets().len())?;
    name.is_at_or_below(apex).then(|| &name.octets()[..octets])
}
