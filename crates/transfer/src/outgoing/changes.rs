//! What changed in a zone, change by change (RFC 1995 4).

use super::Broken;
use super::history::Changes;
use super::page::{Page, Stop};
use zone::{Change, RRset, Records};

/// Where in the changes it is.
pub(super) struct ChangesPlace {
    changes: Box<dyn Changes>,
    at: At,
    /// The serial that the next change begins with, and that of the last one's end.
    serial: u32,
    last: u32,
}

enum At {
    First,
    /// Before the next change.
    Between,
    /// Within one: whether what is removed has left, and octets of the part at hand that have.
    Within(Box<Change>, bool, usize),
    Last,
}

impl ChangesPlace {
    pub(super) fn new(changes: Box<dyn Changes>, from: u32, to: u32) -> ChangesPlace {
        ChangesPlace { changes, at: At::First, serial: from, last: to }
    }

    pub(super) fn fill(&mut self, page: &mut Page<'_, '_>, soa: &RRset<'_>) -> Result<(), Stop> {
        loop {
            match &mut self.at {
                At::First => {
                    page.rrset(&[], soa, false)?;
                    self.at = At::Between;
                }
                At::Between => {
                    let change = self.changes.next().map_err(|_| Stop::Broken(Broken::History))?;
                    self.at = match change {
                        Some(change) if change.serial_before() == self.serial => {
                            self.serial = change.serial_after();
                            At::Within(Box::new(change), false, 0)
                        }
                        None if self.serial == self.last => At::Last,
                        _ => return Err(Stop::Broken(Broken::History)),
                    };
                }
                At::Within(change, is_removed, at) => {
                    if !*is_removed {
                        put(change.removed(), at, page)?;
                        (*is_removed, *at) = (true, 0);
                    }
                    put(change.added(), at, page)?;
                    self.at = At::Between;
                }
                At::Last => return page.rrset(&[], soa, false),
            }
        }
    }
}

/// Writes records from octet `at` on, which moves with them.
fn put(records: &Records, at: &mut usize, page: &mut Page<'_, '_>) -> Result<(), Stop> {
    while let Some((record, end)) = records.at(*at) {
        page.record_of(record.owner, record.rtype, record.ttl, record.rdata)?;
        *at = end;
    }
    Ok(())
}
