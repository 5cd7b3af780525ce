//! Which zones are others than at the look before: by their SOA content, as nothing else in the tables says that a zone has changed.
//!
//! A look is as long as its caller lets it: what is left of the list is looked at by the next one. Known of a zone are its name, its number, and marks of its row of the
//! list and of its rows, so that a million of them are some 150 MiB.

use std::collections::HashMap;

use wire::{Name, NameBuf};

use super::client::Client;
use super::fault::Fault;
use super::list::Listed;
use super::mark::Mark;
use super::read::{BEFORE_ALL, Page, Stamp, Tables};

/// What a look finds.
#[derive(Debug)]
pub enum Seen<'s> {
    /// A zone that was not there before, or is another one: SOA content, kind, or what hinders it.
    Other(&'s Listed),
    /// A zone that is not there any more.
    Gone(&'s NameBuf),
}

/// What is known of zones.
#[derive(Default)]
pub struct Look {
    known: HashMap<NameBuf, Known>,
    /// The number of the round through the list that is on its way, and beyond which zone it goes on.
    round: u32,
    after: Option<i64>,
    /// That of the database when the round began, and when the last whole one did.
    stamp: Option<Stamp>,
    looked_at: Option<Stamp>,
}

/// What is known of a zone.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its number.
    pub id: i64,
    /// The serial that its SOA record has; 0: none that can be read.
    pub serial: u32,
    /// The mark of its rows when they were read last; `None`: they were not since it is as it is.
    pub rows: Option<Mark>,
    /// That of its row of the list; `None`: it is to be another one.
    mark: Option<Mark>,
    round: u32,
}

impl Look {
    /// Before anything is known.
    #[must_use]
    pub fn new() -> Look {
        Look::default()
    }

    /// Goes on with the list until all of it was looked at, or `is_late` says after a page that it was enough, and says whether it was all. A database that says
    /// of itself that nothing has changed is not looked at.
    ///
    /// Zones whose name is none, or not as PowerDNS looks for it, are passed over: they cannot be served.
    pub fn look<C: Client>(
        &mut self,
        tables: &mut Tables<C>,
        is_late: &mut dyn FnMut() -> bool,
        each: &mut dyn FnMut(Seen<'_>),
    ) -> Result<bool, Fault> {
        if self.after.is_none() {
            self.stamp = tables.stamp()?;
            if self.stamp.is_some() && self.stamp == self.looked_at {
                return Ok(true);
            }
            self.round = self.round.wrapping_add(1);
        }
        loop {
            let page =
                tables.list(self.after.unwrap_or(BEFORE_ALL), &mut |listed| self.meet(&listed, each))?;
            match page {
                Page::More(id) => self.after = Some(id),
                Page::Last => break,
            }
            if is_late() {
                return Ok(false);
            }
        }
        self.after = None;
        self.looked_at = self.stamp;
        let round = self.round;
        self.known.retain(|name, known| {
            let is_there = known.round == round;
            if !is_there {
                each(Seen::Gone(name));
            }
            is_there
        });
        Ok(true)
    }

    fn meet(&mut self, listed: &Listed, each: &mut dyn FnMut(Seen<'_>)) {
        let Some(name) = listed.name() else { return };
        let (mark, round) = (Some(listed.mark()), self.round);
        let (id, serial) = (listed.id, listed.serial().unwrap_or(0));
        let same = self.known.get(&name).filter(|known| known.mark == mark);
        let (rows, is_same) = (same.and_then(|known| known.rows), same.is_some());
        self.known.insert(name, Known { id, serial, rows, mark, round });
        if !is_same {
            each(Seen::Other(listed));
        }
    }

    /// What is known of a zone; `None`: there is none of that name.
    #[must_use]
    pub fn known(&self, zone: &Name) -> Option<Known> {
        self.known.get(zone).copied()
    }

    /// All zones.
    pub fn zones(&self) -> impl Iterator<Item = (&NameBuf, Known)> {
        self.known.iter().map(|(zone, known)| (zone, *known))
    }

    /// Keeps the mark of rows that were read; `None`: they are others by now.
    pub fn note_rows(&mut self, zone: &Name, rows: Option<Mark>) {
        if let Some(known) = self.known.get_mut(zone) {
            known.rows = rows;
        }
    }

    /// Has the next round find a zone to be another one, also where the database has not changed since: it could not be read.
    pub fn again(&mut self, zone: &Name) {
        if let Some(known) = self.known.get_mut(zone) {
            known.mark = None;
        }
        (self.stamp, self.looked_at) = (None, None);
    }
}
