//! Differences of catalogs on their way to the changer: what has come of a catalog since its claims were those of a state, so that only what they touch is
//! looked up in the state after them.

use std::collections::{HashMap, HashSet};

use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::{Change, Records};

/// Changes of one catalog that are noted: more come together only where the changer is far behind, and then all of the catalog is read.
const CHANGES_MAX: usize = 256;
/// Octets of their records: a larger change touches more than is looked up.
const OCTETS_MAX: usize = 4 << 20;

/// By catalog, in lower case; each list in the order of its versions, without a gap.
#[derive(Default)]
pub(super) struct Noted {
    changes: HashMap<NameBuf, Vec<Change>>,
    /// Catalogs of which all is another, whatever their serials.
    replaced: HashSet<NameBuf>,
}

impl Noted {
    /// Notes what leads from one version of a catalog to the next ones.
    pub(super) fn note(&mut self, catalog: &Name, changes: &[Change]) {
        let list = self.changes.entry(catalog.to_lowercase()).or_default();
        for change in changes {
            if list.last().is_some_and(|last| last.serial_after() != change.serial_before()) {
                list.clear();
            }
            list.push(change.clone());
        }
        if list.len() > CHANGES_MAX || list.iter().map(Change::octets).sum::<usize>() > OCTETS_MAX {
            list.clear();
        }
    }

    /// All of a catalog is another: no difference leads there.
    pub(super) fn replace(&mut self, catalog: &Name) {
        self.changes.remove(&catalog.to_lowercase());
        self.replaced.insert(catalog.to_lowercase());
    }

    /// Whether all of a catalog has become another since this was asked last.
    pub(super) fn take_replaced(&mut self, catalog: &Name) -> bool {
        self.replaced.remove(&catalog.to_lowercase())
    }

    /// What leads from one serial to the other, as one change. What is older is forgotten, as nobody asks for it again.
    pub(super) fn take(&mut self, catalog: &Name, from: Option<u32>, to: u32) -> Option<Change> {
        let list = self.changes.get_mut(&catalog.to_lowercase())?;
        let Some(last) = list.iter().position(|change| change.serial_after() == to) else {
            // Of versions that are not served yet, or that never will be: what does not fit in the end is of no use.
            return None;
        };
        let all: Vec<Change> = list.drain(..=last).collect();
        let first = all.iter().position(|change| Some(change.serial_before()) == from)?;
        joined(&all[first..])
    }

    /// Forgets what is of no catalog.
    pub(super) fn retain(&mut self, is_catalog: impl Fn(&Name) -> bool) {
        self.changes.retain(|name, _| is_catalog(name));
        self.replaced.retain(|name| is_catalog(name));
    }
}

/// Changes one after the other, as one that touches what they touch: what they do one after the other to one record stays in both parts.
fn joined(changes: &[Change]) -> Option<Change> {
    let (first, last) = (changes.first()?, changes.last()?);
    let (mut removed, mut added) = (Records::default(), Records::default());
    removed.push_record(&first.removed().iter().next()?);
    added.push_record(&last.added().iter().next()?);
    for change in changes {
        let rest = |records: &Records, to: &mut Records| {
            let rest = records.iter().filter(|record| record.rtype != rtype::SOA);
            rest.for_each(|record| to.push_record(&record));
        };
        rest(change.removed(), &mut removed);
        rest(change.added(), &mut added);
    }
    Change::new(removed, added).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn change(before: u32, after: u32, octets: usize) -> Change {
        let apex: NameBuf = "catalog.example".parse().unwrap();
        let of = |serial: u32, octet| {
            let mut records = Records::default();
            let soa = [&[0, 0][..], &serial.to_be_bytes(), &[0; 16]].concat();
            records.push(&apex, rtype::SOA, 0, &soa);
            records.push(&apex, rtype::TXT, 0, &vec![octet; octets]);
            records
        };
        Change::new(of(before, before as u8), of(after, after as u8)).unwrap()
    }

    fn texts(records: &Records) -> Vec<u8> {
        records.iter().filter(|record| record.rtype == rtype::TXT).map(|record| record.rdata[0]).collect()
    }

    #[test]
    fn what_leads_from_one_serial_to_another() {
        let name: NameBuf = "Catalog.example".parse().unwrap();
        let mut noted = Noted::default();
        noted.note(&name, &[change(1, 2, 1), change(2, 3, 1)]);
        noted.note(&name, &[change(3, 5, 1), change(5, 6, 1)]);
        let found = noted.take(&name, Some(2), 5).unwrap();
        assert_eq!((found.serial_before(), found.serial_after()), (2, 5));
        assert_eq!((texts(found.removed()), texts(found.added())), (vec![2, 3], vec![3, 5]));
        // What is older is gone; what is newer is not.
        assert_eq!(noted.take(&name, Some(3), 5), None);
        assert_eq!(noted.take(&name, Some(5), 7), None);
        assert_eq!(noted.take(&name, Some(5), 6).unwrap().serial_before(), 5);
        // A gap, a claim of another state, none at all.
        noted.note(&name, &[change(6, 7, 1), change(9, 10, 1)]);
        assert_eq!(noted.take(&name, Some(6), 10), None);
        noted.note(&name, &[change(10, 11, 1)]);
        assert_eq!(noted.take(&name, None, 11), None);
        // All of it is another.
        noted.note(&name, &[change(11, 12, 1)]);
        noted.replace(&name);
        assert_eq!(noted.take(&name, Some(11), 12), None);
        assert_eq!((noted.take_replaced(&name), noted.take_replaced(&name)), (true, false));
        let other: NameBuf = "other.example".parse().unwrap();
        assert_eq!(noted.take(&other, Some(10), 11), None);
    }

    #[test]
    fn bounded() {
        let name: NameBuf = "catalog.example".parse().unwrap();
        let mut noted = Noted::default();
        for serial in 0..2 * CHANGES_MAX as u32 {
            noted.note(&name, &[change(serial, serial + 1, 1)]);
        }
        assert!(noted.changes[&name.to_lowercase()].len() <= CHANGES_MAX);
        for serial in 1_000..1_100 {
            noted.note(&name, &[change(serial, serial + 1, 60_000)]);
        }
        assert!(noted.changes[&name.to_lowercase()].len() < OCTETS_MAX / 60_000);
        noted.retain(|_| false);
        assert!(noted.changes.is_empty());
    }
}
