//! Which zones have other rows than when they were read, though their SOA records are the same: nothing in the list says so, so that all rows are read once more.
//!
//! Zone by zone, as long as the caller lets it, and round and round. A database that says of itself that nothing has changed since the last whole round is left alone.

use wire::NameBuf;

use super::client::Client;
use super::fault::Fault;
use super::look::Look;
use super::read::{BEFORE_ALL, Page, Stamp, Tables};

/// How far a round has come.
#[derive(Default)]
pub struct Audit {
    /// Zones of a page of the list that are still to be read.
    page: Vec<(i64, NameBuf)>,
    /// Beyond which zone the next page begins; `None`: there is none.
    after: Option<i64>,
    /// That of the database when the round began, and when the last whole one did.
    stamp: Option<Stamp>,
    audited: Option<Stamp>,
}

impl Audit {
    /// Before anything was read.
    #[must_use]
    pub fn new() -> Audit {
        Audit::default()
    }

    /// Goes on until all zones were read, or `is_late` says after a zone that it was enough. Hands over zones whose rows are not those that `look` knows; of those that
    /// were not read yet it knows none.
    pub fn go_on<C: Client>(
        &mut self,
        tables: &mut Tables<C>,
        look: &Look,
        is_late: &mut dyn FnMut() -> bool,
        each: &mut dyn FnMut(&NameBuf),
    ) -> Result<(), Fault> {
        if self.page.is_empty() && self.after.is_none() {
            self.stamp = tables.stamp()?;
            if self.stamp.is_some() && self.stamp == self.audited {
                return Ok(());
            }
            self.after = Some(BEFORE_ALL);
        }
        loop {
            while let Some((id, name)) = self.page.pop() {
                let known = look.known(&name).filter(|known| known.id == id);
                if let Some(rows) = known.and_then(|known| known.rows) {
                    match tables.mark(id) {
                        Ok(mark) if mark != rows => each(&name),
                        // It is gone, which the look sees; or its rows cannot be read, which who wants the zone hears.
                        Ok(_) | Err(Fault::NoZone | Fault::Said(_)) => {}
                        Err(fault) => {
                            self.page.push((id, name));
                            return Err(fault);
                        }
                    }
                }
                let is_over = self.page.is_empty() && self.after.is_none();
                if !is_over && is_late() {
                    return Ok(());
                }
            }
            let Some(after) = self.after.take() else { break };
            let mut page = Vec::new();
            let next = tables.list(after, &mut |listed| {
                page.extend(listed.name().map(|name| (listed.id, name)));
            });
            // What cannot be read now is read the next time.
            let next = next.inspect_err(|_| self.after = Some(after))?;
            self.page = page;
            if let Page::More(id) = next {
                self.after = Some(id);
            }
        }
        self.audited = self.stamp;
        Ok(())
    }
}
