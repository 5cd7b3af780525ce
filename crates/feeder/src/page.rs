//! What was read of many zones at once, until it is pushed.
//!
//! A page has a bound. Zones that have no room in it are none of it, and are read by themselves when their turn comes: their changes up to that bound, too, and beyond it, and all records, one after
//! the other as they are pushed.

use std::collections::HashMap;

use store::postgres::fetch::Told;
use store::read::What;
use store::source::{BeginWhole, Each, EachChange, Next};
use store::{Fault, Kind, Refusal, Version};
use wire::iana::rtype;
use zonefile::RecordBuf;

use crate::ended::Ended;
use crate::push::leads_on;

/// Octets of a page in memory, about: some of them are little beside what the process may have (512 MiB), and many small zones fit.
const OCTETS_MAX: usize = 32 << 20;
/// Records of a zone that is read together with others: of more, a statement of its own costs little beside them.
pub(crate) const ROWS_MAX: usize = 1_000;
/// What a record takes beside its owner and RDATA, about.
const RECORD_OCTETS: usize = 96;
/// What a version takes, about.
const VERSION_OCTETS: usize = 256;
/// Rows that are told of a zone: more of them are one mistake made often.
const REFUSALS_MAX: usize = 20;

/// See the module.
#[derive(Default)]
pub(crate) struct Page {
    /// Zones that are asked for, with the mark that is held of each.
    asked: HashMap<String, Option<String>>,
    zones: HashMap<String, Entry>,
    /// The zone that was read by itself last.
    alone: Option<String>,
    octets: usize,
}

/// What is known of a zone.
#[derive(Default)]
struct Entry {
    /// The version that is held, if the database has it.
    known: Option<Version>,
    /// Versions after it, oldest first, and what changed in each.
    since: Vec<(Version, Vec<(What, RecordBuf)>)>,
    /// The newest one.
    newest: Option<Version>,
    /// All records of that, the SOA record first; `None`: they are not here.
    records: Option<Vec<RecordBuf>>,
    /// Rows that are no records, the first of them, and how many.
    refusals: (Vec<Refusal>, usize),
    octets: usize,
}

/// Hands over what is told.
type TellEach<'e> = &'e mut dyn FnMut(Told<'_>) -> Result<(), Ended>;

impl Page {
    /// Without anything, of these zones.
    pub(crate) fn of(next: &[Next]) -> Page {
        let asked = next.iter().map(|next| (next.zone.clone(), next.held.clone())).collect();
        Page { asked, ..Page::default() }
    }

    /// Whether a zone was read.
    pub(crate) fn has(&self, zone: &str) -> bool {
        self.zones.contains_key(zone)
    }

    /// Whether all that is pushed of a zone was read.
    pub(crate) fn has_all(&self, zone: &str) -> bool {
        self.zones.get(zone).is_some_and(|entry| entry.records.is_some() || !self.wants_whole(zone))
    }

    /// The mark that is held of a zone.
    pub(crate) fn asked(&self, zone: &str) -> Option<String> {
        self.asked.get(zone).cloned().flatten()
    }

    /// Takes what changed in zones since the marks that are held.
    pub(crate) fn take_changes(
        &mut self,
        asked: &[(&str, Option<&str>)],
        tell: impl FnOnce(TellEach<'_>) -> Result<(), Ended>,
    ) -> Result<(), Fault> {
        let mut last = None;
        let told = tell(&mut |told| {
            self.take_change(&mut last, told);
            if self.octets > OCTETS_MAX { Err(Ended::Enough) } else { Ok(()) }
        });
        if self.is_all(told, last)? {
            self.close(asked);
        }
        Ok(())
    }

    /// The same of one zone, in place of the one that was asked for alone before. Its versions are there in any case, and what changed as far as there is room.
    pub(crate) fn take_alone(
        &mut self,
        asked: &[(&str, Option<&str>); 1],
        tell: impl FnOnce(TellEach<'_>) -> Result<(), Ended>,
    ) -> Result<(), Fault> {
        if let Some(before) = self.alone.take() {
            self.zones.remove(&before);
        }
        (self.octets, self.alone) = (0, Some(asked[0].0.to_owned()));
        let mut last = None;
        let told = tell(&mut |told| {
            if self.octets <= OCTETS_MAX || matches!(told, Told::Version(..)) {
                self.take_change(&mut last, told);
            }
            Ok(())
        });
        self.is_all(told, last)?;
        self.close(asked);
        Ok(())
    }

    fn take_change(&mut self, last: &mut Option<String>, told: Told<'_>) {
        if let Told::Known(version) | Told::Version(version, _) = &told {
            *last = Some(version.zone.clone());
            self.zones.entry(version.zone.clone()).or_default();
        }
        if let Some(entry) = last.as_ref().and_then(|zone| self.zones.get_mut(zone)) {
            let before = entry.octets;
            entry.take(told);
            self.octets = self.octets + entry.octets - before;
        }
    }

    /// All of these zones were told of: of what is not there nothing is known, and what does not lead on is not pushed.
    fn close(&mut self, asked: &[(&str, Option<&str>)]) {
        for (zone, mark) in asked {
            self.asked.insert((*zone).to_owned(), mark.map(ToOwned::to_owned));
            let entry = self.zones.entry((*zone).to_owned()).or_default();
            if !leads_on(entry.since.iter().map(|(version, _)| version)) {
                entry.since.iter_mut().for_each(|(_, changes)| *changes = Vec::new());
            }
        }
    }

    /// Takes all records of zones.
    pub(crate) fn take_wholes(
        &mut self,
        tell: impl FnOnce(TellEach<'_>) -> Result<(), Ended>,
    ) -> Result<(), Fault> {
        let mut last = None;
        let told = tell(&mut |told| {
            if let Told::Version(version, _) = &told {
                let entry = self.zones.entry(version.zone.clone()).or_default();
                (entry.records, entry.refusals) = (Some(Vec::new()), Default::default());
            }
            self.take_change(&mut last, told);
            if self.octets > OCTETS_MAX { Err(Ended::Enough) } else { Ok(()) }
        });
        self.is_all(told, last).map(drop)
    }

    /// Whether all was told; where there was no room for the zone that was told last it is not there.
    fn is_all(&mut self, told: Result<(), Ended>, last: Option<String>) -> Result<bool, Fault> {
        match told {
            Ok(()) => Ok(true),
            Err(Ended::Fault(fault)) => Err(fault),
            Err(Ended::Enough) => {
                let cut = last.and_then(|zone| self.zones.remove(&zone));
                self.octets -= cut.map_or(0, |cut| cut.octets);
                Ok(false)
            }
        }
    }

    /// Keeps which version is the newest of a zone, and nothing else of it.
    pub(crate) fn put_newest(&mut self, zone: &str, newest: Option<Version>) {
        self.zones.insert(zone.to_owned(), Entry { newest, ..Entry::default() });
    }

    /// Whether all of a zone is to be read: nothing is held, or what is held does not lead to what there is.
    pub(crate) fn wants_whole(&self, zone: &str) -> bool {
        match self.zones.get(zone) {
            None => self.asked(zone).is_none(),
            Some(entry) => {
                let is_there = entry.newest.as_ref().is_some_and(|newest| newest.kind != Kind::Removed);
                is_there
                    && (entry.known.is_none() || !leads_on(entry.since.iter().map(|(version, _)| version)))
            }
        }
    }

    /// The newest version of a zone.
    pub(crate) fn newest(&self, zone: &str) -> Option<Version> {
        self.zones.get(zone)?.newest.clone()
    }

    /// The versions after the one that is held; `None`: that is not there.
    pub(crate) fn since(&self, zone: &str) -> Option<Vec<Version>> {
        let entry = self.zones.get(zone).filter(|entry| entry.known.is_some())?;
        Some(entry.since.iter().map(|(version, _)| version.clone()).collect())
    }

    /// Hands over what changed in a version; how many records that were.
    pub(crate) fn changed(&self, version: &Version, each: EachChange<'_>) -> Result<u64, Fault> {
        let Some(entry) = self.zones.get(&version.zone) else { return Ok(0) };
        entry.expect_records(&version.zone)?;
        let changes = entry.since.iter().find(|(known, _)| known.id == version.id);
        let mut count = 0;
        for (what, record) in changes.map_or(&[][..], |(_, changes)| changes) {
            count += 1;
            if each(*what, record).is_break() {
                break;
            }
        }
        Ok(count)
    }

    /// Hands over all records of a zone, if they are here, and before them the version that they are.
    pub(crate) fn records(
        &self,
        zone: &str,
        begin: BeginWhole<'_>,
        each: Each<'_>,
    ) -> Option<Result<(), Fault>> {
        let entry = self.zones.get(zone)?;
        let records = entry.records.as_ref()?;
        if let Err(fault) = entry.expect_records(zone) {
            return Some(Err(fault));
        }
        if records.first().is_none_or(|first| first.rtype != rtype::SOA) {
            return Some(Err(Fault::NoSoa(zone.to_owned())));
        }
        // Who wants no more has said why elsewhere.
        if entry.newest.as_ref().is_some_and(|newest| begin(newest).is_continue()) {
            let _ = records.iter().try_for_each(each);
        }
        Some(Ok(()))
    }
}

impl Entry {
    fn take(&mut self, told: Told<'_>) {
        self.octets += match &told {
            Told::Known(_) | Told::Version(..) => VERSION_OCTETS,
            // With the right text, where there is one.
            Told::Unfit(refusal) if self.refusals.0.len() < REFUSALS_MAX => {
                RECORD_OCTETS + 2 * (refusal.row.owner.len() + refusal.row.rdata.len())
            }
            _ => 0,
        };
        match told {
            Told::Known(version) => {
                (self.known, self.newest) = (Some(version.clone()), Some(version.clone()))
            }
            Told::Version(version, leads_on) => {
                if leads_on {
                    self.since.push((version.clone(), Vec::new()));
                }
                self.newest = Some(version.clone());
            }
            Told::Changed(what, record) => {
                self.octets += octets_of(record);
                if let Some((_, changes)) = self.since.last_mut() {
                    changes.push((what, record.clone()));
                }
            }
            Told::Record(record) => self.take_record(record),
            Told::Unfit(refusal) => {
                self.refusals.1 += 1;
                if self.refusals.0.len() < REFUSALS_MAX {
                    self.refusals.0.push(refusal);
                }
            }
        }
    }

    /// One of all: the SOA record comes first. Of a zone that has too many for a page none is kept.
    fn take_record(&mut self, record: &RecordBuf) {
        let Some(records) = &mut self.records else { return };
        if records.len() >= ROWS_MAX {
            self.octets -= records.iter().map(octets_of).sum::<usize>();
            self.records = None;
            return;
        }
        self.octets += octets_of(record);
        records.push(record.clone());
        // The triggers of the tables see to it that there is one, at the apex.
        if record.rtype == rtype::SOA {
            let last = records.len() - 1;
            records.swap(0, last);
        }
    }

    /// An error if rows are no records.
    fn expect_records(&self, zone: &str) -> Result<(), Fault> {
        match &self.refusals {
            (_, 0) => Ok(()),
            (refusals, count) => {
                Err(Fault::Rows { zone: zone.to_owned(), refusals: refusals.clone(), count: *count })
            }
        }
    }
}

fn octets_of(record: &RecordBuf) -> usize {
    record.owner.octets().len() + record.rdata.len() + RECORD_OCTETS
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
