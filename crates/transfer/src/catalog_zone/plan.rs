//! What is done about a difference: who has a zone, and what waits for the operator.

use wire::{Name, NameBuf};

use super::claims::{CatalogNumber, ClaimNumber, Claims, Hour};
use super::compare::Difference;
use super::configured::RemoveMax;
use super::step::{Clash, Event, Step};
use super::table::{Entry, New};

/// Names of each kind that a report has, beside the count: a catalog of a million clashes is one line.
const NAMES_MAX: usize = 8;
/// Seconds for which losses are counted together: whether they come in one state or in a thousand is chance.
const HOUR: u64 = 3_600;

/// What a plan comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Zones to be served that were not.
    pub added: u32,
    /// Zones to be served no more.
    pub removed: u32,
    /// Zones whose data are forgotten and that are served again.
    pub reset: u32,
    /// Zones that another catalog has now, with or without reset.
    pub moved: u32,
    /// Those of them that are reset.
    pub moved_and_reset: u32,
    /// Zones with another template.
    pub regrouped: u32,
    /// Members that are new or changed and that somebody else has, or whose names are not allowed.
    pub clashes: u32,
    /// The first zones that lose their data.
    pub losses_named: Vec<NameBuf>,
    /// The first of those clashes.
    pub clashes_named: Vec<(NameBuf, Clash)>,
}

impl Counts {
    /// Zones whose data would be forgotten.
    pub fn losses(&self) -> u32 {
        self.removed + self.reset + self.moved_and_reset
    }

    fn count(&mut self, zone: &Name, event: Option<Event>, clash: Option<Clash>) {
        match event {
            Some(Event::Added) => self.added += 1,
            Some(Event::Removed) => self.removed += 1,
            Some(Event::Reset) => self.reset += 1,
            Some(Event::Moved { is_reset, .. }) => {
                self.moved += 1;
                self.moved_and_reset += u32::from(is_reset);
            }
            Some(Event::Regrouped) => self.regrouped += 1,
            Some(Event::Yielded) | None => {}
        }
        if event.is_some_and(Event::is_loss) && self.losses_named.len() < NAMES_MAX {
            self.losses_named.push(zone.to_owned());
        }
        if let Some(clash) = clash {
            self.clashes += 1;
            if self.clashes_named.len() < NAMES_MAX {
                self.clashes_named.push((zone.to_owned(), clash));
            }
        }
    }
}

/// What is done about a [`Difference`], zone by zone. The claims change with each step, and nobody else may change them meanwhile.
pub struct Plan<'r> {
    difference: Difference,
    is_configured: &'r dyn Fn(&Name) -> bool,
    /// Claims of the catalog that stay as they are, on zones that are offered to it.
    offered: Vec<u32>,
    counts: Counts,
    waits: bool,
    is_complete: bool,
    /// How many of all have been looked at.
    at: usize,
}

impl<'r> Plan<'r> {
    /// Plans what is done about `difference`, which was made from these claims as they are. `is_configured`: whether the settings, or commands, have a
    /// zone themselves. `is_confirmed`: losses need not wait. `seconds`: of a clock that only goes forwards.
    pub fn new(
        claims: &mut Claims,
        difference: Difference,
        is_configured: &'r dyn Fn(&Name) -> bool,
        is_confirmed: bool,
        seconds: u64,
    ) -> Plan<'r> {
        let mut plan = Plan {
            offered: offered(claims, &difference),
            difference,
            is_configured,
            counts: Counts::default(),
            waits: false,
            is_complete: true,
            at: 0,
        };
        let mut counts = Counts::default();
        for (zone, verdict) in (0..plan.len()).filter_map(|at| plan.verdict(claims, at)) {
            counts.count(zone, verdict.event, verdict.clash);
        }
        plan.counts = counts;
        let losses = plan.counts.losses();
        let catalog = &mut claims.catalogs[usize::from(plan.difference.catalog.0)];
        let hour = catalog.hour;
        if hour.began.is_none_or(|began| seconds.saturating_sub(began) >= HOUR) {
            catalog.hour = Hour { began: Some(seconds), members: catalog.held, lost: 0 };
        }
        let max = catalog.settings.as_ref().map_or(RemoveMax::Any, |settings| settings.remove_max);
        let hour = &mut catalog.hour;
        plan.waits = !is_confirmed && !max.allows(losses, hour.lost, hour.members, catalog.held);
        if !plan.waits && !is_confirmed {
            hour.lost = hour.lost.saturating_add(losses);
        }
        // Until the last step is made the claims are those of no state.
        catalog.serial = None;
        plan
    }

    /// What it comes to, with what waits.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether the losses are more than go on without confirmation: they are left out of the steps.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// The serial of the state.
    pub fn serial(&self) -> u32 {
        self.difference.serial
    }

    /// Makes the next step, whose lines are to be kept before its event is carried out.
    pub fn next_step(&mut self, claims: &mut Claims) -> Option<Step> {
        while self.at < self.len() {
            self.at += 1;
            let Some((zone, verdict)) = self.verdict(claims, self.at - 1) else { continue };
            if self.waits && verdict.event.is_some_and(Event::is_loss) {
                continue;
            }
            let zone = zone.to_owned();
            let step = self.make(claims, zone, &verdict);
            self.is_complete &= step.is_some();
            if step.is_some() {
                return step;
            }
        }
        let serial = (self.is_complete && !self.waits).then_some(self.difference.serial);
        claims.catalogs[usize::from(self.difference.catalog.0)].serial = serial;
        None
    }

    /// Members that differ, claims that left, claims on zones that are offered: one after the other.
    fn len(&self) -> usize {
        self.difference.differing.end() + self.difference.left.len() + self.offered.len()
    }

    /// What number `at` of them comes to.
    fn verdict<'p>(&'p self, claims: &'p Claims, at: usize) -> Option<(&'p Name, Verdict)> {
        let catalog = self.difference.catalog.0;
        let differing = &self.difference.differing;
        if at < differing.end() {
            let entry = differing.entry(at as u32)?;
            let (label, zone) = differing.names(entry);
            return Some((zone, self.of_member(claims, catalog, entry, label, zone)));
        }
        let at = at - differing.end();
        if let Some(number) = self.difference.left.get(at) {
            let zone = claims.table.names(claims.table.entry(*number)?).1;
            return Some((zone, of_left(claims, *number, self.is_configured)));
        }
        let number = *self.offered.get(at - self.difference.left.len())?;
        let entry = claims.table.entry(number)?;
        let (label, zone) = claims.table.names(entry);
        Some((zone, self.of_member(claims, catalog, entry, label, zone)))
    }

    fn of_member(&self, claims: &Claims, catalog: u16, member: &Entry, label: &[u8], zone: &Name) -> Verdict {
        let holder = claims.holder(zone).map(|number| claims.entry(number.0));
        let (event, clash) = match holder {
            Some(holder) if holder.catalog == catalog => {
                let is_same = claims.table.names(holder).0.eq_ignore_ascii_case(label);
                let is_regrouped = holder.template != member.template;
                (if is_same { is_regrouped.then_some(Event::Regrouped) } else { Some(Event::Reset) }, None)
            }
            _ if (self.is_configured)(zone) => (None, Some(Clash::Settings)),
            _ if !claims.is_allowed(catalog, zone) => (None, Some(Clash::NotAllowed)),
            None => (Some(Event::Added), None),
            Some(holder) if holder.coo == catalog => {
                let is_reset = !claims.table.names(holder).0.eq_ignore_ascii_case(label);
                (Some(Event::Moved { from: CatalogNumber(holder.catalog), is_reset }), None)
            }
            Some(holder) => (None, Some(Clash::Catalog(CatalogNumber(holder.catalog)))),
        };
        Verdict { event, clash, what: What::Member, successor: None }
    }

    /// Changes the claims; `None`: there is no room.
    fn make(&self, claims: &mut Claims, zone: NameBuf, verdict: &Verdict) -> Option<Step> {
        let catalog = self.difference.catalog;
        let (event, clash) = (verdict.event, verdict.clash);
        if let What::Left(number) = verdict.what {
            leave(claims, number, verdict.successor);
            let claim = verdict.successor.map(ClaimNumber);
            return Some(Step { zone, event, claim, left: Some(catalog), clash });
        }
        let hash = claims.table.hash(&zone);
        let number = match self.difference.differing.find(hash, &zone).next() {
            Some(number) => {
                let entry = self.difference.differing.entry(number)?;
                let (label, zone) = self.difference.differing.names(entry);
                let (template, coo) = (entry.template, entry.coo);
                claims.set(&New { label, zone, catalog: catalog.0, template, coo })?
            }
            None => claims.of_catalog(catalog.0, hash, &zone)?,
        };
        if matches!(event, Some(Event::Added | Event::Moved { .. })) {
            take_hold(claims, number, &zone);
        }
        Some(Step { zone, event, claim: Some(ClaimNumber(number)), left: None, clash })
    }
}

/// What something comes to.
pub(super) struct Verdict {
    pub(super) event: Option<Event>,
    pub(super) clash: Option<Clash>,
    what: What,
    /// The claim that holds the zone from then on.
    pub(super) successor: Option<u32>,
}

enum What {
    Member,
    Left(u32),
}

/// What it comes to that the claim `number` goes.
pub(super) fn of_left(claims: &Claims, number: u32, is_configured: &dyn Fn(&Name) -> bool) -> Verdict {
    let entry = claims.entry(number);
    let (label, zone) = claims.table.names(entry);
    let what = What::Left(number);
    if !entry.holds {
        return Verdict { event: None, clash: None, what, successor: None };
    }
    if is_configured(zone) {
        return Verdict { event: Some(Event::Yielded), clash: None, what, successor: None };
    }
    let successor = successor(claims, zone, Some(entry.catalog));
    let event = match successor {
        None => Event::Removed,
        Some(next) => {
            let other = claims.entry(next);
            let is_same = claims.table.names(other).0 == label;
            let is_reset = entry.coo != other.catalog || !is_same;
            Event::Moved { from: CatalogNumber(entry.catalog), is_reset }
        }
    };
    Verdict { event: Some(event), clash: None, what, successor }
}

/// The claim on a zone that is next to hold it: of the catalog that was known first.
pub(super) fn successor(claims: &Claims, zone: &Name, except: Option<u16>) -> Option<u32> {
    let found = claims.table.find(claims.table.hash(zone), zone);
    found
        .map(|number| (claims.entry(number).catalog, number))
        .filter(|(catalog, _)| Some(*catalog) != except && claims.is_allowed(*catalog, zone))
        .min()
        .map(|(_, number)| number)
}

/// Removes a claim; `successor` holds its zone from then on.
pub(super) fn leave(claims: &mut Claims, number: u32, successor: Option<u32>) {
    claims.remove(number);
    if let Some(successor) = successor {
        claims.set_holds(successor, true);
    }
}

/// Makes a claim the one that holds its zone.
pub(super) fn take_hold(claims: &mut Claims, number: u32, zone: &Name) {
    if let Some(ClaimNumber(holder)) = claims.holder(zone) {
        claims.set_holds(holder, false);
    }
    claims.set_holds(number, true);
}

/// Claims of a catalog that the difference leaves as they are, and whose zones others offer to it.
fn offered(claims: &Claims, difference: &Difference) -> Vec<u32> {
    let catalog = difference.catalog.0;
    let offers = claims.offers.range((catalog, 0)..=(catalog, u32::MAX));
    offers
        .filter_map(|(_, number)| {
            let zone = claims.table.names(claims.entry(*number)).1;
            let hash = claims.table.hash(zone);
            let own = claims.of_catalog(catalog, hash, zone)?;
            let is_other = difference.differing.find(hash, zone).next().is_some()
                || difference.left.binary_search(&own).is_ok();
            (!is_other).then_some(own)
        })
        .collect()
}
