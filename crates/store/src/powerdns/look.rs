//! Which zones are others than at the look before: by their SOA content, as nothing else in the tables says that a zone has changed.
//!
//! A look is as long as its caller lets it: what is left of the list is looked at by the next one. Known of a zone are its name and a mark of its row, so that a
//! million of them are some 100 MiB.

use std::collections::HashMap;

use wire::NameBuf;

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

struct Known {
    /// `None`: it is to be another one.
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
        let before = self.known.insert(name, Known { mark, round });
        if before.is_none_or(|known| known.mark != mark) {
            each(Seen::Other(listed));
        }
    }

    /// Has the next round find a zone to be another one, also where the database has not changed since: it could not be read.
    pub fn again(&mut self, zone: &NameBuf) {
        if let Some(known) = self.known.get_mut(zone) {
            known.mark = None;
        }
        (self.stamp, self.looked_at) = (None, None);
    }
}
