//! The list of zones: in canonical order, changed as a whole, each with what is known of its data.

use std::num::NonZeroU64;
use std::path::PathBuf;

use wire::{Name, NameBuf, SortKey};
use zone::catalog::SlotNumber;

use super::Controller;
use super::change::{Change, Scope};
use super::entry::Entry;
use super::publish::Changed;
use crate::load::{Job, Origin};
use crate::order::in_order;
use crate::parallel::map_on_threads;
use crate::progress::{Act, Progress};
use crate::read::stamp_of;
use crate::stamp::Stamp;
use crate::wanted::{Source, Wanted};

/// A zone that the server is to serve.
pub(crate) struct Zone {
    /// Its data, or its name without any.
    pub(crate) entry: Entry,
    /// Its name where its data are a file of the operator's: who writes into one instead of replacing it changes
    /// what is mapped, and zones must be found all the same.
    pub(super) name: Option<Box<NameBuf>>,
    /// Where its data come from.
    pub(crate) source: Source,
    /// The state of the file that its data are from.
    pub(super) stamp: Stamp,
    /// How its data came.
    pub(super) origin: Origin,
    /// See [`crate::load::Loaded::contents_hash`].
    pub(super) contents_hash: Option<NonZeroU64>,
    /// What most zones have not.
    pub(super) rare: Option<Box<Rare>>,
    /// Where the catalog shows it; 0 where it does not.
    pub(super) slot: SlotNumber,
    /// Whether it came while the server ran: see [`hidden`].
    is_late: bool,
}

/// What most zones have not.
#[derive(Default)]
pub(super) struct Rare {
    /// Files that its text includes, and their states.
    pub(super) includes: Box<[(PathBuf, Stamp)]>,
    /// Why its file could not be loaded when that was tried last. `None`: it could.
    pub(super) problem: Option<Box<[String]>>,
}

/// A server can have a million of them.
const _: () = assert!(size_of::<Zone>() <= 96);

impl Zone {
    fn absent(wanted: Wanted, is_late: bool) -> Zone {
        Zone {
            entry: Entry::Absent(Box::new(wanted.name)),
            name: None,
            source: wanted.source,
            stamp: Stamp::default(),
            origin: Origin::Text,
            contents_hash: None,
            rare: None,
            slot: SlotNumber::default(),
            is_late,
        }
    }

    /// Why its file could not be loaded when that was tried last, as lines. `None`: it could.
    pub(crate) fn problem(&self) -> Option<&[String]> {
        self.rare.as_ref()?.problem.as_deref()
    }

    /// Files that its text includes, and their states.
    pub(super) fn includes(&self) -> &[(PathBuf, Stamp)] {
        self.rare.as_ref().map_or(&[], |rare| &rare.includes)
    }

    /// Its name.
    pub(crate) fn apex(&self) -> &Name {
        match &self.name {
            Some(name) => name,
            None => self.entry.apex(),
        }
    }

    /// Whether there are no data of it yet, although it came while the server ran.
    pub(super) fn is_awaited(&self) -> bool {
        self.is_late && matches!(self.entry, Entry::Absent(_))
    }

    /// Whether its file, or one that it includes, is another than when it was loaded.
    pub(super) fn is_changed(&self) -> bool {
        let is_still = |path: &PathBuf, stamp: &Stamp| stamp_of(path).is_ok_and(|now| stamp.is_still(&now));
        let main = match &self.source {
            Source::File(path) => is_still(&path.path(), &self.stamp),
            Source::Embedded(_) => self.entry.zone().is_some(),
        };
        self.problem().is_some()
            || !main
            || !self.includes().iter().all(|(path, stamp)| is_still(path, stamp))
    }
}

impl Controller {
    /// Makes the zones known without loading any, so that queries for them get SERVFAIL instead of REFUSED.
    pub fn announce(&self, wanted: Vec<Wanted>, progress: &Progress) {
        let _changing = self.change();
        progress.begin(Act::Arranging, wanted.len());
        let mut wanted = in_order(wanted);
        // Sources stay, names go once data are there: allocated one after the other, as a list made them, neither
        // would leave a page free. Copied in a run, a million sources take half the memory.
        let sources: Vec<Source> = wanted.iter().map(|wanted| wanted.source.clone()).collect();
        wanted.iter_mut().zip(sources).for_each(|(wanted, source)| wanted.source = source);
        let mut zones: Vec<Zone> = wanted.into_iter().map(|wanted| Zone::absent(wanted, false)).collect();
        self.show(&mut zones, &Changed::ZonesAndList(&[]));
        *self.zones.write() = zones;
    }

    /// Where a zone is. Holds only while nobody makes a change.
    pub(crate) fn position(&self, name: &Name) -> Option<usize> {
        position(&self.zones.read(), name)
    }

    /// Makes the list of zones the one wanted; zones that stay keep their data. Returns, for each zone, whether it is new
    /// or comes from elsewhere now.
    pub(super) fn arrange(&self, wanted: Vec<Wanted>, change: &mut Change) -> Vec<Candidate> {
        let wanted = in_order(wanted);
        let mut candidates = Vec::with_capacity(wanted.len());
        let mut gone = Vec::new();
        let mut zones = self.zones.write();
        let mut old = std::mem::take(&mut *zones).into_iter().peekable();
        let (mut key, mut old_key) = (SortKey::new(), SortKey::new());
        if let Some(first) = old.peek() {
            old_key.set(first.apex());
        }
        for wanted in wanted {
            key.set(&wanted.name);
            let mut same = None;
            while let Some(zone) = old.next_if(|_| same.is_none() && old_key.octets() <= key.octets()) {
                match old_key.octets() == key.octets() {
                    true => same = Some(zone),
                    false => gone.push(zone.slot),
                }
                if let Some(next) = old.peek() {
                    old_key.set(next.apex());
                }
            }
            let mut is_new = true;
            let zone = match same {
                Some(mut zone) => {
                    is_new = zone.source != wanted.source;
                    zone.source = wanted.source;
                    zone
                }
                None => {
                    change.added += 1;
                    Zone::absent(wanted, true)
                }
            };
            candidates.push(Candidate { at: zones.len(), is_new });
            zones.push(zone);
        }
        gone.extend(old.map(|zone| zone.slot));
        change.removed += gone.len();
        self.hide(&gone);
        self.show(&mut zones, &Changed::ZonesAndList(&[]));
        candidates
    }

    /// Which zones are to be loaded: those that are new, and if `scope` says so those whose files have changed.
    pub(super) fn look(&self, candidates: &[Candidate], scope: Scope, progress: &Progress) -> Vec<Job> {
        progress.begin(Act::Looking, candidates.len());
        let jobs = map_on_threads(net::worker_count_default(), candidates, |candidate| {
            progress.count(1);
            // Locked for each by itself, as every look is a call into the file system.
            let zone = &self.zones.read()[candidate.at];
            let is_wanted = candidate.is_new || (scope == Scope::All && zone.is_changed());
            is_wanted.then(|| job(candidate.at, zone))
        });
        jobs.into_iter().flatten().collect()
    }
}

/// Where a zone is among all.
pub(crate) fn position(zones: &[Zone], name: &Name) -> Option<usize> {
    let key = SortKey::of(name);
    zones.binary_search_by(|zone| SortKey::of(zone.apex()).octets().cmp(key.octets())).ok()
}

/// A zone that is perhaps to be loaded.
pub(super) struct Candidate {
    at: usize,
    /// Whether it is new or comes from elsewhere now.
    is_new: bool,
}

pub(super) fn job(id: usize, zone: &Zone) -> Job {
    Job { id, name: zone.apex().to_owned(), source: zone.source.clone() }
}

/// Which zones the catalog leaves out: those that came while the server ran, have no data yet, and are below a
/// zone that is served. Their names are answered from there as before, until they are loaded; an entry without
/// data would make SERVFAIL of answers that were good.
pub(super) fn hidden(zones: &[Zone]) -> Vec<bool> {
    if !zones.iter().any(Zone::is_awaited) {
        return vec![false; zones.len()];
    }
    // Zones are in canonical order, so those above one are before it: `above` is the way down to it.
    let mut above: Vec<&Name> = Vec::new();
    let mut hidden = Vec::with_capacity(zones.len());
    for zone in zones {
        let apex = zone.apex();
        while above.last().is_some_and(|last| !apex.is_at_or_below(last)) {
            above.pop();
        }
        hidden.push(zone.is_awaited() && !above.is_empty());
        if zone.entry.zone().is_some() {
            above.push(apex);
        }
    }
    hidden
}
