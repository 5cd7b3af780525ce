//! Several changes as one: what comes and goes between the first version and the last is left out (RFC 1995 5).
//!
//! ```text
//! 1 -> 2: - a A 1   + a A 2          of each record: whether the first version had it, whether the last has it
//! 2 -> 3: - a A 2   + a A 3, b A 1   -> 1 -> 4: - a A 1   + a A 3
//! 3 -> 4: - b A 1
//! ```

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use wire::NameBuf;
use wire::record::FIXED_OCTETS;
use wire::sort_key::{SortKey, name_of};

use super::{Change, Record, Records};

/// Why changes are not made one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCondensed {
    /// It would have more octets than it may.
    TooLong,
    /// A change does not begin with the version that the one before ended with, adds what is there or removes what is not; or there was none.
    Broken,
}

/// Changes of a zone that become one. It keeps what differs between the first version and the last that it was given, and nothing of what came and went.
pub struct Condenser {
    /// By owner in canonical order, type and RDATA.
    records: BTreeMap<Key, Net>,
    /// Octets that they would have as a change, SOA records left out.
    octets: usize,
    octets_max: usize,
    ends: Option<Ends>,
}

/// A record, by what makes it the same as another (RFC 4034 6.2; the TTL does not count, RFC 2136 1.1.1).
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The owner's sort key.
    owner: Box<[u8]>,
    rtype: u16,
    /// With letters of names folded, as far as these do not count.
    rdata: Box<[u8]>,
}

/// What became of a record. Not both are none.
struct Net {
    /// As the first version had it; `None`: it had not.
    before: Option<Written>,
    /// As the last has it; `None`: it has not.
    after: Option<Written>,
}

/// What is written of a record and does not make it another one.
#[derive(PartialEq, Eq)]
struct Written {
    ttl: u32,
    /// The RDATA, where letters of it are not as in the key.
    rdata: Option<Box<[u8]>>,
}

/// The versions that it leads from and to.
struct Ends {
    zone: NameBuf,
    soa_before: Records,
    soa_after: Records,
    after: u32,
}

impl Condenser {
    /// Of no changes yet. `octets_max`: of the change that comes of them, at each step, SOA records left out. In memory a record takes three times its octets at most, and some 150.
    #[must_use]
    pub fn new(octets_max: usize) -> Condenser {
        Condenser { records: BTreeMap::new(), octets: 0, octets_max, ends: None }
    }

    /// Adds the next change. After an error nothing comes of them any more. Cost: of each record a look among those that differ.
    pub fn add(&mut self, change: &Change) -> Result<(), NotCondensed> {
        match &mut self.ends {
            Some(ends) if ends.after != change.serial_before() => return Err(NotCondensed::Broken),
            Some(ends) if !ends.zone.eq_ignore_case(change.zone()) => return Err(NotCondensed::Broken),
            Some(ends) => {
                (ends.soa_after, ends.after) = (soa(change.added()), change.serial_after());
            }
            none => {
                *none = Some(Ends {
                    zone: change.zone().to_owned(),
                    soa_before: soa(change.removed()),
                    soa_after: soa(change.added()),
                    after: change.serial_after(),
                });
            }
        }
        let mut sort_key = SortKey::new();
        for record in change.removed().iter().skip(1) {
            self.remove(&mut sort_key, &record)?;
        }
        for record in change.added().iter().skip(1) {
            self.put(&mut sort_key, &record)?;
        }
        Ok(())
    }

    fn remove(&mut self, sort_key: &mut SortKey, record: &Record<'_>) -> Result<(), NotCondensed> {
        let (key, written) = key(sort_key, record);
        let octets = octets(record);
        match self.records.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Net { before: Some(written), after: None });
                self.grow(octets)
            }
            Entry::Occupied(mut entry) => {
                if entry.get_mut().after.take().is_none() {
                    return Err(NotCondensed::Broken);
                }
                self.octets -= octets;
                if entry.get().before.is_none() {
                    entry.remove();
                }
                Ok(())
            }
        }
    }

    fn put(&mut self, sort_key: &mut SortKey, record: &Record<'_>) -> Result<(), NotCondensed> {
        let (key, written) = key(sort_key, record);
        let octets = octets(record);
        match self.records.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Net { before: None, after: Some(written) });
            }
            Entry::Occupied(entry) if entry.get().after.is_some() => return Err(NotCondensed::Broken),
            Entry::Occupied(entry) if entry.get().before.as_ref() == Some(&written) => {
                entry.remove();
                self.octets -= octets;
                return Ok(());
            }
            Entry::Occupied(mut entry) => entry.get_mut().after = Some(written),
        }
        self.grow(octets)
    }

    fn grow(&mut self, octets: usize) -> Result<(), NotCondensed> {
        self.octets += octets;
        if self.octets > self.octets_max { Err(NotCondensed::TooLong) } else { Ok(()) }
    }

    /// Octets that the change would have by now, SOA records left out.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// The change from the first version to the last: the SOA records of these, then names in canonical order. Owners are in lower case.
    pub fn into_change(self) -> Result<Change, NotCondensed> {
        let Some(Ends { soa_before: mut removed, soa_after: mut added, .. }) = self.ends else {
            return Err(NotCondensed::Broken);
        };
        for (Key { owner, rtype, rdata }, Net { before, after }) in self.records {
            let owner = name_of(&[], &owner).map_err(|_| NotCondensed::Broken)?;
            for (written, to) in [(before, &mut removed), (after, &mut added)] {
                if let Some(Written { ttl, rdata: letters }) = written {
                    to.push(&owner, rtype, ttl, letters.as_deref().unwrap_or(&rdata));
                }
            }
        }
        Change::new(removed, added).map_err(|_| NotCondensed::Broken)
    }
}

/// The SOA record alone, which is the first.
fn soa(records: &Records) -> Records {
    let mut alone = Records::default();
    records.iter().take(1).for_each(|record| alone.push_record(&record));
    alone
}

/// Octets of a record on the wire, which are the same however its letters are written.
fn octets(record: &Record<'_>) -> usize {
    record.owner.octets().len() + FIXED_OCTETS + record.rdata.len()
}

fn key(sort_key: &mut SortKey, record: &Record<'_>) -> (Key, Written) {
    sort_key.set(record.owner);
    let mut rdata: Box<[u8]> = record.rdata.into();
    wire::rdata::fold(record.rtype, &mut rdata);
    let letters = (*rdata != *record.rdata).then(|| record.rdata.into());
    let key = Key { owner: sort_key.octets().into(), rtype: record.rtype, rdata };
    (key, Written { ttl: record.ttl, rdata: letters })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
