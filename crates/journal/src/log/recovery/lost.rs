//! What was acknowledged and cannot be read, where it was, and which zones suffer by it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::PathBuf;

use wire::Name;

use super::Recovery;
use crate::log::format::ZONES_NAMED_MAX;
use crate::record::{Body, Record};
use crate::sum::Key;

/// A place in the log, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The segment's file.
    pub path: PathBuf,
    /// Octets from its beginning.
    pub octet: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, octet {}", self.path.display(), self.octet)
    }
}

/// Groups that were acknowledged and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The first of them.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// Where one of them begins, if that is known.
    pub place: Option<Place>,
    /// Hashes of the zones that had records there; `None`: unknown.
    pub(super) zones: Option<HashSet<u64>>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost { first, last, place, .. } = self;
        match (first == last, place) {
            (true, Some(place)) => write!(f, "group {first} is damaged: {place}"),
            (true, None) => write!(f, "group {first} is missing"),
            (false, Some(place)) => write!(f, "groups {first} to {last} are damaged or missing: {place}"),
            (false, None) => write!(f, "groups {first} to {last} are missing"),
        }
    }
}

impl Recovery {
    /// Reads all records once: which zones have which groups, and whose the lost ones were.
    pub(super) fn look_through(&mut self) -> io::Result<()> {
        let key = Key::new(&self.identity);
        let is_damaged = !self.lost.is_empty();
        let (mut zones, mut chains) = (HashMap::new(), HashMap::<u64, Vec<(u64, u64)>>::new());
        let mut last_zones = [Some(Vec::new()), Some(Vec::new())];
        let mut end = self.first;
        let mut octets = Vec::new();
        for commit in &self.commits {
            let mut here = HashSet::new();
            let (last, body) = (commit.last(), self.body(commit, &mut octets)?);
            for (record, _) in Record::all(body.records) {
                // What is not the first of its zone in a group says so.
                let is_first = record.group_before != last;
                if matches!(record.body, Body::Checked { .. }) || !is_first {
                    continue;
                }
                let zone = key.zone(record.zone);
                here.insert(zone);
                if is_damaged {
                    chains.entry(zone).or_default().push((last, record.group_before));
                }
            }
            zones.extend(here.iter().map(|zone| (*zone, last)));
            last_zones.swap(0, 1);
            if commit.first != end {
                last_zones[1] = None;
            }
            last_zones[0] = (here.len() <= ZONES_NAMED_MAX).then(|| here.into_iter().collect());
            end = commit.last() + 1;
        }
        if end <= self.last {
            last_zones = [None, None];
        }
        let named: Vec<_> = self.lost.iter().map(|lost| self.named_after(lost)).collect::<io::Result<_>>()?;
        for (lost, zones) in self.lost.iter_mut().zip(named) {
            lost.zones = zones;
        }
        (self.zones, self.chains, self.last_zones) = (zones, chains, last_zones);
        Ok(())
    }

    /// The zones of lost groups, if the group after names them.
    fn named_after(&self, lost: &Lost) -> io::Result<Option<HashSet<u64>>> {
        let Some(commit) = self.commits.iter().find(|commit| commit.first == lost.last + 1) else {
            return Ok(None);
        };
        let [before, one_more] = commit.parts[0].found.head.named;
        let count = match (lost.last - lost.first, before, one_more) {
            (0, Some(before), _) => usize::from(before),
            (1, Some(before), Some(one_more)) => usize::from(before) + usize::from(one_more),
            _ => return Ok(None),
        };
        let mut octets = Vec::new();
        let (zones, _) = self.body(commit, &mut octets)?.zones.as_chunks::<8>();
        Ok(zones.get(..count).map(|zones| zones.iter().map(|zone| u64::from_le_bytes(*zone)).collect()))
    }

    /// What was acknowledged and cannot be read: empty, if all is well.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// What a zone has lost, or may have lost, whose pack or checkpoint has its records up to group `group` (0: none).
    pub fn suffers(&self, zone: &Name, group: u64) -> Option<&Lost> {
        let zone = Key::new(&self.identity).zone(zone);
        self.lost.iter().filter(|lost| lost.last > group).find(|lost| match &lost.zones {
            Some(zones) => zones.contains(&zone),
            None => !self.is_proven(zone, lost),
        })
    }

    /// The same where that is certain: groups around those that are lost name the zone.
    pub fn is_named(&self, zone: &Name, group: u64) -> Option<&Lost> {
        let zone = Key::new(&self.identity).zone(zone);
        let is_named = |lost: &&Lost| lost.zones.as_ref().is_some_and(|zones| zones.contains(&zone));
        self.lost.iter().filter(|lost| lost.last > group).find(is_named)
    }

    /// Whether a record after lost groups says that the zone had none in them.
    fn is_proven(&self, zone: u64, lost: &Lost) -> bool {
        let chain = self.chains.get(&zone).map(Vec::as_slice).unwrap_or_default();
        let next = chain.iter().find(|(group, _)| *group > lost.last);
        next.is_some_and(|(_, before)| *before < lost.first)
    }
}
