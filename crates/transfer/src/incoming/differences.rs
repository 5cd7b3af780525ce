//! The difference sequences of an incremental response (RFC 1995 4), collected until the end.

use super::fault::{Fault, Limit};
use crate::serial::is_newer;
use wire::Name;
use wire::iana::rtype;
use zone::{Change, Records};

/// Octets that a sequence takes beside its records: two vectors, the zone's name.
const SEQUENCE_OCTETS: usize = 256;

/// What was taken so far; `added` is there once the SOA record of the version after has come.
pub(super) struct Differences {
    done: Vec<Change>,
    removed: Records,
    added: Option<Records>,
    /// That of the last SOA record.
    serial: u32,
    /// Octets that may still be held.
    left: usize,
}

impl Differences {
    /// Begins with the SOA record of the version that is held.
    pub(super) fn new(serial: u32, owner: &Name, ttl: u32, rdata: &[u8], limit: usize) -> Differences {
        let removed = with_soa(owner, ttl, rdata);
        Differences { done: Vec::new(), removed, added: None, serial, left: limit }
    }

    /// Whether the SOA record of the last version may end it here.
    pub(super) fn may_end(&self, last: u32) -> bool {
        self.added.is_some() && self.serial == last
    }

    /// A record that is removed or added.
    pub(super) fn push(&mut self, owner: &Name, rtype: u16, ttl: u32, rdata: &[u8]) -> Result<(), Fault> {
        self.hold(owner.octets().len() + wire::record::FIXED_OCTETS + rdata.len())?;
        self.added.as_mut().unwrap_or(&mut self.removed).push(owner, rtype, ttl, rdata);
        Ok(())
    }

    /// An SOA record that does not end it. `last`: the serial to which it all leads.
    pub(super) fn soa(
        &mut self,
        serial: u32,
        last: u32,
        owner: &Name,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), Fault> {
        self.hold(SEQUENCE_OCTETS + rdata.len())?;
        let soa = with_soa(owner, ttl, rdata);
        if self.added.is_none() {
            if !is_newer(serial, self.serial) {
                return Err(Fault::Backwards { before: self.serial, after: serial });
            }
            self.added = Some(soa);
            self.serial = serial;
            return Ok(());
        }
        if serial != self.serial {
            return Err(Fault::Chain { found: serial, expected: self.serial });
        }
        if serial == last {
            return Err(Fault::OtherSoa { found: serial, first: last });
        }
        self.close()?;
        self.removed = soa;
        Ok(())
    }

    /// The changes, oldest first.
    pub(super) fn finish(mut self) -> Result<Vec<Change>, Fault> {
        self.close()?;
        Ok(self.done)
    }

    /// Ends a sequence.
    fn close(&mut self) -> Result<(), Fault> {
        let removed = std::mem::take(&mut self.removed);
        let added = self.added.take().unwrap_or_default();
        self.done.push(Change::new(removed, added).map_err(|_| Fault::NoSoa)?);
        Ok(())
    }

    fn hold(&mut self, octets: usize) -> Result<(), Fault> {
        self.left = self.left.checked_sub(octets).ok_or(Fault::Limit(Limit::Differences))?;
        Ok(())
    }
}

fn with_soa(owner: &Name, ttl: u32, rdata: &[u8]) -> Records {
    let mut records = Records::default();
    records.push(owner, rtype::SOA, ttl, rdata);
    records
}
