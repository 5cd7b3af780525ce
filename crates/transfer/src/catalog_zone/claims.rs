//! Which catalog has which members, and which of them holds each zone.
//!
//! A member of a catalog is a *claim* on a zone. Zones have one claim for each catalog that lists them, and at most one that *holds* the zone: as
//! that catalog says, the zone is served. What is claimed is what was carried out of each catalog's states; it differs from the latest state
//! while that is broken, or while losses wait.

use std::collections::BTreeSet;

use wire::{Name, NameBuf};

use super::configured::{CatalogSettings, TooManyCatalogs};
use super::table::{Entry, New, Table};

/// Most catalogs that are taken from others: a zone that all of them claim is as many entries in a row.
pub const CATALOGS_MAX: usize = 256;
/// Most templates, numbers of 16 bits with much to spare: one a kind of customer.
pub const TEMPLATES_MAX: usize = 1_024;
/// Most members of all catalogs together. Each is a zone to be served; a million are 80 MB here.
pub const MEMBERS_MAX: usize = 1 << 24;

/// Number of no catalog.
pub(super) const NONE: u16 = u16::MAX;

/// A catalog among [`Claims`]: the same as long as the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatalogNumber(pub(super) u16);

/// A claim among [`Claims`], until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimNumber(pub(super) u32);

/// A member of a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'c> {
    /// The catalog.
    pub catalog: CatalogNumber,
    /// The label of the member node, in lower case.
    pub label: &'c [u8],
    /// The zone, as the catalog writes it.
    pub zone: &'c Name,
    /// The template that its groups mean.
    pub template: &'c str,
    /// The catalog that may take it over.
    pub coo: Option<CatalogNumber>,
    /// Whether the zone is served as this catalog says.
    pub holds: bool,
}

/// A catalog, its settings and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Catalog {
    pub(super) zone: NameBuf,
    /// `None`: it is not in the settings any more.
    pub(super) settings: Option<CatalogSettings>,
    /// Numbers of the settings' templates.
    pub(super) templates: Vec<u16>,
    /// The serial of the state that the claims are those of; `None`: of none.
    pub(super) serial: Option<u32>,
    pub(super) claims: u32,
    pub(super) held: u32,
    pub(super) hour: Hour,
}

/// What a catalog lost in an hour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hour {
    /// Second in which it began.
    pub(super) began: Option<u64>,
    /// Members that it held then.
    pub(super) members: u32,
    pub(super) lost: u32,
}

/// All claims of all catalogs.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    pub(super) table: Table,
    pub(super) catalogs: Vec<Catalog>,
    templates: Vec<Box<str>>,
    /// Claims that hold, by the catalog that may take their zones over.
    pub(super) offers: BTreeSet<(u16, u32)>,
}

impl Claims {
    /// Says which catalogs there are now. Claims of others stay until [`Claims::settle`] has removed them; each catalog is to be compared as a whole again, as
    /// groups may mean something else.
    pub fn configure(&mut self, settings: Vec<CatalogSettings>) -> Result<(), TooManyCatalogs> {
        let is_new = |one: &&CatalogSettings| self.catalog(&one.zone).is_none();
        let catalogs = self.catalogs.len() + settings.iter().filter(is_new).count();
        let names = settings.iter().flat_map(|one| &one.templates);
        let new: BTreeSet<&Box<str>> = names.filter(|name| !self.templates.contains(name)).collect();
        // One more: that without a name.
        let templates = self.templates.len() + new.len() + 1;
        if settings.len() > CATALOGS_MAX || catalogs >= usize::from(NONE) || templates > TEMPLATES_MAX {
            return Err(TooManyCatalogs);
        }
        for catalog in &mut self.catalogs {
            (catalog.settings, catalog.serial) = (None, None);
        }
        for one in settings {
            let names = if one.templates.is_empty() { vec!["".into()] } else { one.templates.clone() };
            let templates = names.iter().filter_map(|name| self.enter_template(name)).collect();
            let number = self.enter_catalog(&one.zone);
            let catalog = &mut self.catalogs[usize::from(number.0)];
            catalog.templates = templates;
            catalog.settings = Some(one);
        }
        Ok(())
    }

    /// The catalog of this name.
    pub fn catalog(&self, zone: &Name) -> Option<CatalogNumber> {
        let at = self.catalogs.iter().position(|catalog| catalog.zone.eq_ignore_case(zone))?;
        Some(CatalogNumber(at as u16))
    }

    /// The name of a catalog.
    pub fn catalog_name(&self, number: CatalogNumber) -> &Name {
        &self.catalogs[usize::from(number.0)].zone
    }

    /// Whether the settings have it.
    pub fn is_configured(&self, number: CatalogNumber) -> bool {
        self.catalogs[usize::from(number.0)].settings.is_some()
    }

    /// How many members it has, and of how many of them it holds the zone.
    pub fn counts(&self, number: CatalogNumber) -> (u32, u32) {
        let catalog = &self.catalogs[usize::from(number.0)];
        (catalog.claims, catalog.held)
    }

    /// The serial of the state that was carried out as a whole; `None`: the next comparison must be one of everything.
    pub fn serial(&self, number: CatalogNumber) -> Option<u32> {
        self.catalogs[usize::from(number.0)].serial
    }

    /// How many claims there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All claims.
    pub fn iter(&self) -> impl Iterator<Item = (ClaimNumber, Claim<'_>)> {
        (0..self.table.end() as u32).filter_map(|number| {
            let number = ClaimNumber(number);
            Some((number, self.claim(number)?))
        })
    }

    /// A claim.
    pub fn claim(&self, number: ClaimNumber) -> Option<Claim<'_>> {
        let entry = self.table.entry(number.0)?;
        let (label, zone) = self.table.names(entry);
        Some(Claim {
            catalog: CatalogNumber(entry.catalog),
            label,
            zone,
            template: &self.templates[usize::from(entry.template)],
            coo: (entry.coo != NONE).then_some(CatalogNumber(entry.coo)),
            holds: entry.holds,
        })
    }

    /// The claims on a zone.
    pub fn of_zone<'c>(&'c self, zone: &'c Name) -> impl Iterator<Item = (ClaimNumber, Claim<'c>)> + 'c {
        let found = self.table.find(self.table.hash(zone), zone).map(ClaimNumber);
        found.filter_map(|number| Some((number, self.claim(number)?)))
    }

    /// The claim that holds a zone.
    pub fn holder(&self, zone: &Name) -> Option<ClaimNumber> {
        self.of_zone(zone).find(|(_, claim)| claim.holds).map(|(number, _)| number)
    }

    /// Octets of memory that the claims take.
    pub fn memory_octets(&self) -> usize {
        self.table.memory_octets()
    }

    pub(super) fn entry(&self, number: u32) -> &Entry {
        self.table.entry(number).expect("number of a claim that is there")
    }

    /// The claim of one catalog on a zone.
    pub(super) fn of_catalog(&self, catalog: u16, hash: u32, zone: &Name) -> Option<u32> {
        self.table.find(hash, zone).find(|number| self.entry(*number).catalog == catalog)
    }

    /// Whether the settings let a catalog have a zone.
    pub(super) fn is_allowed(&self, catalog: u16, zone: &Name) -> bool {
        let settings = &self.catalogs[usize::from(catalog)].settings;
        settings.as_ref().is_some_and(|settings| settings.members.allows(zone))
    }

    /// Adds a claim or changes the one of that catalog on that zone. `None`: there is no room.
    pub(super) fn set(&mut self, new: &New<'_>) -> Option<u32> {
        let hash = self.table.hash(new.zone);
        let Some(number) = self.of_catalog(new.catalog, hash, new.zone) else {
            let number = if self.len() < MEMBERS_MAX { self.table.insert(hash, new)? } else { return None };
            self.catalogs[usize::from(new.catalog)].claims += 1;
            return Some(number);
        };
        self.withdraw_offer(number);
        let (label, zone) = self.table.names(self.entry(number));
        if (!label.eq_ignore_ascii_case(new.label) || zone != new.zone)
            && !self.table.rename(number, new.label, new.zone)
        {
            return None;
        }
        let entry = self.table.entry_mut(number)?;
        (entry.template, entry.coo) = (new.template, new.coo);
        self.make_offer(number);
        Some(number)
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.set_holds(number, false);
        let catalog = usize::from(self.entry(number).catalog);
        self.catalogs[catalog].claims -= 1;
        self.table.remove(number);
    }

    /// Says whether a claim holds its zone; that no other does is the caller's care.
    pub(super) fn set_holds(&mut self, number: u32, holds: bool) {
        let Some(entry) = self.table.entry_mut(number).filter(|entry| entry.holds != holds) else { return };
        let catalog = usize::from(entry.catalog);
        if holds {
            entry.holds = true;
            self.catalogs[catalog].held += 1;
            self.make_offer(number);
        } else {
            self.withdraw_offer(number);
            self.catalogs[catalog].held -= 1;
            if let Some(entry) = self.table.entry_mut(number) {
                entry.holds = false;
            }
        }
    }

    fn make_offer(&mut self, number: u32) {
        let entry = self.entry(number);
        if entry.holds && entry.coo != NONE {
            self.offers.insert((entry.coo, number));
        }
    }

    fn withdraw_offer(&mut self, number: u32) {
        let entry = self.entry(number);
        self.offers.remove(&(entry.coo, number));
    }

    pub(super) fn enter_catalog(&mut self, zone: &Name) -> CatalogNumber {
        if let Some(number) = self.catalog(zone) {
            return number;
        }
        self.catalogs.push(Catalog {
            zone: zone.to_owned(),
            settings: None,
            templates: Vec::new(),
            serial: None,
            claims: 0,
            held: 0,
            hour: Hour::default(),
        });
        CatalogNumber(self.catalogs.len() as u16 - 1)
    }

    /// The number of a template; `None`: there are too many.
    pub(super) fn enter_template(&mut self, name: &str) -> Option<u16> {
        if let Some(number) = self.templates.iter().position(|known| **known == *name) {
            return Some(number as u16);
        }
        if self.templates.len() == TEMPLATES_MAX {
            return None;
        }
        self.templates.push(name.into());
        Some(self.templates.len() as u16 - 1)
    }
}

const _: () = assert!(TEMPLATES_MAX < NONE as usize);
const _: () = assert!(2 * CATALOGS_MAX < NONE as usize);
