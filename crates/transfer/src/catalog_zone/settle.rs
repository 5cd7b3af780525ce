//! What becomes of zones after a start or after the settings changed: catalogs that went, zones that the settings have or have no more, names that may be
//! members or may not. All of it at once: the settings are the confirmation.

use wire::{Name, NameBuf};

use super::claims::{CatalogNumber, ClaimNumber, Claims};
use super::plan::{leave, of_left, successor, take_hold};
use super::step::{Clash, Event, Step};

/// Looks at all claims, one after the other; claims may change only by its steps meanwhile.
pub struct Settle<'r> {
    is_configured: &'r dyn Fn(&Name) -> bool,
    at: u32,
}

impl<'r> Settle<'r> {
    /// `is_configured`: whether the settings, or commands, have a zone themselves.
    pub fn new(is_configured: &'r dyn Fn(&Name) -> bool) -> Settle<'r> {
        Settle { is_configured, at: 0 }
    }

    /// Makes the next step. Cost of all: a look or two for each claim.
    pub fn next_step(&mut self, claims: &mut Claims) -> Option<Step> {
        while (self.at as usize) < claims.table.end() {
            self.at += 1;
            let step = self.claim(claims, self.at - 1);
            if step.is_some() {
                return step;
            }
        }
        None
    }

    fn claim(&self, claims: &mut Claims, number: u32) -> Option<Step> {
        let entry = claims.table.entry(number)?;
        let (catalog, holds) = (entry.catalog, entry.holds);
        let zone = claims.table.names(entry).1;
        if !claims.is_configured(CatalogNumber(catalog)) {
            let zone = zone.to_owned();
            let verdict = of_left(claims, number, self.is_configured);
            leave(claims, number, verdict.successor);
            let (left, claim) = (Some(CatalogNumber(catalog)), verdict.successor.map(ClaimNumber));
            return Some(Step { zone, event: verdict.event, claim, left, clash: None });
        }
        let (is_configured, is_allowed) = ((self.is_configured)(zone), claims.is_allowed(catalog, zone));
        if holds && (is_configured || !is_allowed) {
            let zone = zone.to_owned();
            return Some(self.let_go(claims, number, zone, is_configured));
        }
        if holds || is_configured || !is_allowed || claims.holder(zone).is_some() {
            return None;
        }
        let zone = zone.to_owned();
        let next = successor(claims, &zone, None)?;
        take_hold(claims, next, &zone);
        let claim = Some(ClaimNumber(next));
        Some(Step { zone, event: Some(Event::Added), claim, left: None, clash: None })
    }

    /// The claim holds its zone no more, and stays.
    fn let_go(&self, claims: &mut Claims, number: u32, zone: NameBuf, is_configured: bool) -> Step {
        let catalog = CatalogNumber(claims.entry(number).catalog);
        claims.set_holds(number, false);
        if is_configured {
            let (claim, clash) = (Some(ClaimNumber(number)), Some(Clash::Settings));
            return Step { zone, event: Some(Event::Yielded), claim, left: None, clash };
        }
        let next = successor(claims, &zone, Some(catalog.0));
        let event = match next {
            Some(next) => {
                claims.set_holds(next, true);
                Event::Moved { from: catalog, is_reset: true }
            }
            None => Event::Removed,
        };
        // What holds is said of the claim that takes over, else that this one does not.
        let claim = Some(ClaimNumber(next.unwrap_or(number)));
        Step { zone, event: Some(event), claim, left: None, clash: Some(Clash::NotAllowed) }
    }
}
