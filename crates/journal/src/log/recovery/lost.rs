//! What was acknowledged and cannot be read, where it was, and which zones suffer by it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::PathBuf;

use wire::Name;

use super::Recovery;
use crate::log::format::ZONES_NAMED_MAX;
use crate::record::Record;
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
    /// Hashes of zones that had records there, as the group after says.
    pub(super) zones: HashSet<u64>,
    /// Whether these are all.
    pub(super) has_all: bool,
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
                if !record.body.is_change() || !is_first {
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
        for (lost, (zones, has_all)) in self.lost.iter_mut().zip(named) {
            (lost.zones, lost.has_all) = (zones, has_all);
        }
        (self.zones, self.chains, self.last_zones) = (zones, chains, last_zones);
        Ok(())
    }

    /// The zones of lost groups, as far as the group after names them: those of the last two. And whether these are all.
    fn named_after(&self, lost: &Lost) -> io::Result<(HashSet<u64>, bool)> {
        let Some(commit) = self.commits.iter().find(|commit| commit.first == lost.last + 1) else {
            return Ok((HashSet::new(), false));
        };
        let [before, one_more] = commit.parts[0].found.head.named;
        // Of one group what is named of the one before it is not lost.
        let is_one = lost.first == lost.last;
        let named = [before, one_more.filter(|_| !is_one)];
        let has_all = before.is_some() && (is_one || one_more.is_some() && lost.last - lost.first == 1);
        let count: usize = named.iter().flatten().map(|count| usize::from(*count)).sum();
        let mut octets = Vec::new();
        let (zones, _) = self.body(commit, &mut octets)?.zones.as_chunks::<8>();
        let zones = zones.get(..count).unwrap_or_default();
        Ok((zones.iter().map(|zone| u64::from_le_bytes(*zone)).collect(), has_all))
    }

    /// What was acknowledged and cannot be read: empty, if all is well.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// What a zone has lost, or may have lost, whose pack or checkpoint has its records up to group `group` (0: none).
    pub fn suffers(&self, zone: &Name, group: u64) -> Option<&Lost> {
        let zone = Key::new(&self.identity).zone(zone);
        self.lost.iter().filter(|lost| lost.last > group).find(|lost| match lost.has_all {
            true => lost.zones.contains(&zone),
            false => !self.is_proven(zone, lost),
        })
    }

    /// The same where that is certain: groups around those that are lost name the zone.
    pub fn is_named(&self, zone: &Name, group: u64) -> Option<&Lost> {
        let zone = Key::new(&self.identity).zone(zone);
        let is_named =
            |lost: &&Lost| lost.zones.contains(&zone) && (lost.has_all || !self.is_proven(zone, lost));
        self.lost.iter().filter(|lost| lost.last > group).find(is_named)
    }

    /// Groups above `group` of which it is not known whose records all of them had.
    pub fn unnamed(&self, group: u64) -> impl Iterator<Item = &Lost> {
        self.lost.iter().filter(move |lost| lost.last > group && !lost.has_all)
    }

    /// Whether a record after lost groups says that the zone had none in them.
    fn is_proven(&self, zone: u64, lost: &Lost) -> bool {
        let chain = self.chains.get(&zone).map(Vec::as_slice).unwrap_or_default();
        let next = chain.iter().find(|(group, _)| *group > lost.last);
        next.is_some_and(|(_, before)| *before < lost.first)
    }
}
