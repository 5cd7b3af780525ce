//! Packs kept few: small and mostly dead ones are merged, those that nobody uses are removed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Controller;
use super::entry::Entry;
use super::zones::{Zone, job};
use crate::load::{Job, OWN_PACK_OCTETS, Origin, Outcome};
use crate::packs::Stored;
use crate::progress::Progress;
use crate::system::trim_memory;

/// Packs that may be in use before small ones are merged: each costs a few file handles' worth of memory and
/// a kilobyte of headers.
const PACKS_MAX: usize = 64;

impl Controller {
    /// Puts packs in order after changes; to be called once nobody waits for them any more. One thread does it
    /// at a time: others leave their work to it and return at once.
    pub(crate) fn tidy(&self) {
        while self.is_untidy.load(Ordering::SeqCst) {
            let Some(_tidying) = self.tidying.try_write() else { return };
            while self.is_untidy.swap(false, Ordering::SeqCst) {
                let _changing = self.change();
                self.merge();
                self.remove_unused_packs();
                // What a change needs beside the zones is as large as they are where they are small and many.
                trim_memory();
            }
        }
    }

    /// Joins the zones of small and of mostly dead packs in a new one, by reading their texts again. A zone
    /// whose text has changed stays where it is: nobody has asked for the new one yet.
    fn merge(&self) {
        let mut candidates = merge_candidates(&self.zones.read());
        // Locked for each by itself, as every look is a call into the file system.
        candidates.retain(|candidate| !self.zones.read()[candidate.at].is_changed());
        let packs: HashSet<u64> = candidates.iter().map(|candidate| candidate.seed).collect();
        if packs.len() < 2 && !candidates.iter().any(|candidate| candidate.is_mostly_dead) {
            return; // One pack would become one pack, again and again.
        }
        tracing::debug!(zones = candidates.len(), "merging packs");
        let jobs: Vec<Job> = {
            let zones = self.zones.read();
            candidates.iter().map(|candidate| job(candidate.at, &zones[candidate.at])).collect()
        };
        let (stored, progress) = (Stored::default(), Progress::default());
        let mut taken = |outcomes: Vec<(usize, Outcome)>| {
            let mut zones = self.zones.write();
            let mut moved = Vec::new();
            for (at, outcome) in outcomes {
                let zone = &mut zones[at];
                // It may have changed since it was looked at.
                if let Ok(loaded) = outcome
                    && zone.stamp.is_still(&loaded.stamp)
                    && *zone.includes() == *loaded.includes
                {
                    zone.entry = Entry::Loaded { pack: loaded.pack, number: loaded.number };
                    zone.origin = loaded.origin;
                    moved.push(at);
                }
            }
            self.show_moved(&zones, &moved);
        };
        progress.show_while(|| self.loader(&stored, &progress).load(&jobs, &mut taken));
    }

    pub(super) fn remove_unused_packs(&self) {
        let Some(folder) = &self.folder else { return };
        let zones = self.zones.read();
        let mut used = Vec::new();
        for zone in zones.iter() {
            if let Entry::Loaded { pack, .. } = &zone.entry
                && !used.last().is_some_and(|last| Arc::ptr_eq(last, pack))
            {
                used.push(Arc::clone(pack));
            }
        }
        drop(zones);
        folder.remove_unused(used.iter().map(|pack| &**pack));
    }
}

/// A zone to be read again so that packs become fewer.
struct MergeCandidate {
    at: usize,
    /// Which pack it is in.
    seed: u64,
    is_mostly_dead: bool,
}

/// Zones of packs of which less than half is served still, and if there are many packs, those of the packs with
/// few zones. Large zones have packs of their own for good, and packs that the operator made are not ours to
/// merge.
fn merge_candidates(zones: &[Zone]) -> Vec<MergeCandidate> {
    /// Zones served from a pack, and zones in it.
    type Use = (usize, usize);
    let pack_of = |zone: &Zone| match &zone.entry {
        Entry::Loaded { pack, .. }
            if zone.origin != Origin::PackFile && zone.stamp.octets < OWN_PACK_OCTETS =>
        {
            Some((pack.seed(), pack.zone_count() as usize))
        }
        _ => None,
    };
    let mut packs: HashMap<u64, Use> = HashMap::new();
    for (seed, count) in zones.iter().filter_map(pack_of) {
        packs.entry(seed).or_insert((0, count)).0 += 1;
    }
    let is_many = packs.len() > PACKS_MAX;
    let mean = packs.values().map(|(live, _)| live).sum::<usize>() / packs.len().max(1);
    let candidate = |(at, zone): (usize, &Zone)| {
        let (seed, _) = pack_of(zone)?;
        let (live, all) = *packs.get(&seed)?;
        let is_mostly_dead = live * 2 < all;
        (is_mostly_dead || (is_many && live <= mean)).then_some(MergeCandidate { at, seed, is_mostly_dead })
    };
    zones.iter().enumerate().filter_map(candidate).collect()
}
