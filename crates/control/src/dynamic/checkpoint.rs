//! The log kept short: zones say anew what their changes begin from, and what is before that goes.
//!
//! ```text
//! log a third full --> of each zone in it: contents | pack and all that differs from it, as few changes   some a turn, between groups
//!                          what is too much for that is merged first (`renewal`)
//!                      all of them on the disk --> anchor: the first group of these --> segments before are free
//! ```
//!
//! A zone's difference from its pack grows until that is made anew (docs/design/delta.md 5).

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use journal::anchor::{Anchor, AnchorError, Content};
use journal::commit::Condition;
use journal::disk::Disk;
use journal::log::Status;
use journal::{Body, Entry, Identity};
use wire::{Name, NameBuf};
use zone::{Changed, ZoneView};

use super::base;
use super::changer::{Changer, wall};
use super::group::{Payload, entry};
use super::log::Log;
use super::origin::Sums;
use super::renewal::Rules;
use super::zone::DynamicZone;
use crate::controller::Controller;

/// Time of a turn that zones are written in: updates wait for it.
pub(super) const TURN: Duration = Duration::from_millis(2);
/// A checkpoint takes at most one in so many parts of the time.
const REST: u32 = 4;

/// Records of requests that a checkpoint writes at a time: fewer than may wait.
const REPEATS_A_GROUP: usize = 2_048;

/// Where the log begins.
pub(super) struct Floor {
    anchor: Anchor,
    /// Whether what it says is on the disk.
    is_sure: bool,
}

impl Floor {
    /// Reads the anchor of a folder.
    pub(super) fn open(disk: Arc<dyn Disk>, folder: &Path) -> Result<Floor, AnchorError> {
        let mut anchor = Anchor::open(disk, folder)?;
        // What was read may be in memory alone. If that cannot be mended now nothing is freed either.
        let is_sure = anchor.confirm().is_ok();
        Ok(Floor { anchor, is_sure })
    }

    /// What it says.
    pub(super) fn content(&self) -> Option<&Content> {
        self.anchor.content()
    }

    /// Says, durably, that no group before `first` is needed.
    pub(super) fn raise(
        &mut self,
        identity: Identity,
        first: u64,
        status: &Status,
        time: u64,
    ) -> io::Result<()> {
        let content = Content {
            identity,
            first,
            known: first.saturating_sub(1),
            epoch: status.epoch,
            time,
            files: Vec::new(),
        };
        self.is_sure = self.is_sure || self.anchor.confirm().is_ok();
        self.anchor.write(&content)
    }
}

/// A checkpoint under way.
pub(super) struct Checkpoint {
    /// The first group that has what zones say anew.
    pub(super) first: u64,
    /// Zones that have not said it.
    left: Vec<NameBuf>,
    /// Zones of which too much has changed to say it, or whose packs cannot be stored: each says it once it is merged.
    awaited: HashSet<NameBuf>,
    /// Records that are not on the disk yet.
    outstanding: usize,
    /// Octets of all of them.
    octets: u64,
    began: Instant,
}

/// The checkpoint that ended last.
pub(super) struct Ended {
    at: Instant,
    /// How long it took, merges that it waited for included.
    time: Duration,
    /// Segments that were in use then.
    used: usize,
}

/// Segments that are left when a checkpoint begins whatever the one before has left.
const LAST_SEGMENTS: usize = 4;

impl Checkpoint {
    /// Whether one is to begin: a third of the segments there may be is in use, and a good part of these came since the last one, or there are few left. What
    /// zones say anew may be as much as that: then no checkpoint makes it less.
    fn is_due(status: &Status, last: Option<&Ended>) -> bool {
        let (used, max) = (status.segments_used, status.segments_max);
        let is_long = used * 3 > max && status.next > status.first;
        let is_longer = last.is_none_or(|last| used >= last.used + (max / 6).max(1));
        let is_last = used + LAST_SEGMENTS >= max;
        let is_rested = last.is_none_or(|last| last.at.elapsed() > last.time.saturating_mul(REST));
        is_long && is_rested && (is_longer || is_last)
    }

    fn begin(status: &Status, zones: impl Iterator<Item = NameBuf>) -> Checkpoint {
        Checkpoint {
            first: status.next,
            left: zones.collect(),
            awaited: HashSet::new(),
            outstanding: 0,
            octets: 0,
            began: Instant::now(),
        }
    }

    /// Whether there are zones to go on with.
    pub(super) fn has_work(&self) -> bool {
        self.outstanding == 0 && (!self.left.is_empty() || self.awaited.is_empty())
    }

    /// A zone has said it.
    pub(super) fn said(&mut self, zone: &NameBuf) {
        self.awaited.remove(zone);
    }

    /// One of its records is on the disk.
    pub(super) fn is_written(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    /// The records of some more zones, and zones that are to be merged first. `None`: all were given before.
    fn next<'z>(
        &mut self,
        controller: &Controller,
        zone_of: impl Fn(&NameBuf) -> Option<&'z DynamicZone>,
        rules: &Rules,
    ) -> Option<(Vec<Entry>, Vec<NameBuf>)> {
        if self.left.is_empty() {
            return None;
        }
        let until = Instant::now() + TURN;
        let (mut all, mut large) = (Vec::new(), Vec::new());
        while let Some(name) = self.left.pop() {
            if let Some(zone) = zone_of(&name) {
                match entries(controller, zone, rules, wall()) {
                    Ok(entries) => all.extend(entries),
                    Err(_) => large.push(name),
                }
            }
            if Instant::now() > until {
                break;
            }
        }
        self.awaited.extend(large.iter().cloned());
        Some((all, large))
    }
}

/// That changes of a zone were lost, which the next start is to know too; without words: that this was accepted.
pub(super) fn damaged(name: &Name, fault: &str, time: u64) -> Option<Entry> {
    Entry::new(name, 0, 0, time, Body::Damaged(fault.as_bytes())).ok()
}

/// Why it cannot be said what a zone's changes begin from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoBase {
    /// Its pack is not on the disk.
    NotStored,
    /// Too much has changed since; a merge is the remedy.
    TooMuch,
}

/// What stands for all that the log has of a zone: what the pack below has, which as a rule is what its text had (docs/design/texts.md 1), and the rest.
pub(super) fn entries(
    controller: &Controller,
    zone: &DynamicZone,
    rules: &Rules,
    time: u64,
) -> Result<Vec<Entry>, NoBase> {
    let sound = sound_entries(controller, zone, rules, time)?;
    // First, as the rest may be in later groups, of which a crash leaves some.
    let fault = match &zone.fault {
        Some(fault) => Some(damaged(zone.name(), fault, time).ok_or(NoBase::TooMuch)?),
        None => None,
    };
    Ok(fault.into_iter().chain(sound).collect())
}

fn sound_entries(
    controller: &Controller,
    zone: &DynamicZone,
    rules: &Rules,
    time: u64,
) -> Result<Vec<Entry>, NoBase> {
    let is_stored = controller.is_stored(zone.pack().id());
    let is_small = zone.octets() < base::CONTENTS_OCTETS_MAX as u64;
    let below = ZoneView::new(zone.pack(), zone.newest_box().number()).ok_or(NoBase::TooMuch)?;
    if !(is_stored && is_small)
        && let Some(contents) = base::contents(&below, time)
    {
        let limits = (rules.condensed_octets_max, rules.piece_names_max);
        return with_changes(contents, zone.newest_box(), limits, time).ok_or(NoBase::TooMuch);
    }
    if zone.octets() > rules.condensed_octets_max as u64 {
        return Err(NoBase::TooMuch);
    }
    if !is_stored {
        return Err(NoBase::NotStored);
    }
    let limits = (rules.condensed_octets_max, rules.piece_names_max);
    over_pack(zone.newest_box(), limits, time).ok_or(NoBase::TooMuch)
}

/// That a zone is in its pack, which is on the disk, and all that has changed since; it is one whole only with the last of these. `None`: it is more than these
/// octets, in changes of at most so many names.
pub(super) fn over_pack(zone: &Changed, limits: (usize, usize), time: u64) -> Option<Vec<Entry>> {
    let base = base::of_pack(zone.pack(), zone.number(), time)?;
    with_changes(base, zone, limits, time)
}

fn with_changes(base: Entry, zone: &Changed, limits: (usize, usize), time: u64) -> Option<Vec<Entry>> {
    let changes = zone.condensed(limits.0, limits.1).ok()?;
    let changes = changes.iter().map(|change| entry(change, time).ok());
    std::iter::once(Some(base)).chain(changes).collect()
}

impl Changer {
    /// Has some more zones say anew what their changes begin from, where the log is long; once all have, what is before goes.
    pub(super) fn shorten(&mut self) {
        let Log::Open(open) = &self.log else { return };
        // What waits is of states that may be taken back; a log that is full has room for this all the same.
        let (condition, waiting) = open.committer.condition();
        if waiting > 0 || matches!(condition, Condition::Undecided(_)) {
            return;
        }
        if self.checkpoint.is_none() {
            let status = open.committer.status();
            if !Checkpoint::is_due(&status, self.shortened.as_ref()) {
                return;
            }
            let logged = self.zones.iter().filter(|(_, zone)| !zone.is_passing);
            self.checkpoint = Some(Checkpoint::begin(&status, logged.map(|(name, _)| name.clone())));
            let lost: Vec<Entry> =
                self.lost.iter().filter_map(|(name, fault)| damaged(name, fault, wall())).collect();
            if !self.write_for_checkpoint(lost) {
                return;
            }
            if !self.ages.is_empty() || !self.repeats.is_empty() {
                self.write_ages();
                return self.write_repeats();
            }
        }
        let zones = &self.zones;
        let Some(checkpoint) = &mut self.checkpoint else { return };
        checkpoint.awaited.retain(|name| zones.contains_key(name));
        match checkpoint.next(&self.controller, |name| zones.get(name), &self.renewal.rules) {
            Some((entries, large)) => {
                // Until all of it is on the disk there is nothing that an image could name.
                let mut said: Vec<NameBuf> =
                    entries.iter().map(|entry| entry.record().zone.to_lowercase()).collect();
                said.dedup();
                said.iter()
                    .for_each(|name| self.zones.get_mut(name).into_iter().for_each(DynamicZone::begins_anew));
                for zone in &large {
                    tracing::info!(%zone, "zone {zone} has changed too much for the log of changes to be shortened: it is stored anew first");
                }
                self.renewal.ask(large);
                if self.write_for_checkpoint(entries) {
                    self.commit();
                }
            }
            // The log stays as it is until all is on the disk, and those that are to be merged are.
            None if checkpoint.outstanding > 0 || !checkpoint.awaited.is_empty() => {}
            None => self.end_checkpoint(),
        }
    }

    /// Has the log say again what may be asked for again. Where that fails there is no checkpoint this time.
    fn write_repeats(&mut self) {
        let mut entries = self.repeats.entries(wall()).into_iter().peekable();
        while entries.peek().is_some() {
            let some = entries.by_ref().take(REPEATS_A_GROUP).collect();
            if !self.write_for_checkpoint(some) {
                return;
            }
            self.commit();
        }
    }

    /// Has records be written that a checkpoint needs. False: they cannot be, and there is no checkpoint this time.
    pub(super) fn write_for_checkpoint(&mut self, entries: Vec<Entry>) -> bool {
        let (Log::Open(open), Some(checkpoint)) = (&self.log, &mut self.checkpoint) else { return false };
        let mut sums = Sums::default();
        for entry in entries {
            let (generation, anew) = (open.committer.generation(), sums.anew(&entry));
            let octets = entry.octets() as u64;
            let payload = Payload::Checkpoint(anew);
            if open.committer.enqueue_urgent(generation, Arc::new(entry), payload).is_err() {
                self.checkpoint = None;
                return false;
            }
            checkpoint.outstanding += 1;
            checkpoint.octets += octets;
        }
        true
    }

    /// All that a start needs is on the disk: what was before goes.
    fn end_checkpoint(&mut self) {
        let Some(Checkpoint { first, began, octets, .. }) = self.checkpoint.take() else { return };
        let dynamic = &self.controller.dynamic;
        dynamic.checkpoints.fetch_add(1, Ordering::Relaxed);
        dynamic.checkpoint_octets.store(octets, Ordering::Relaxed);
        let Log::Open(open) = &mut self.log else { return };
        let (identity, status) = (open.committer.with_log(journal::Log::identity), open.committer.status());
        match open.floor.raise(identity, first, &status, wall()) {
            Ok(()) => open.committer.release(first),
            Err(error) => tracing::error!(%error, "the log of changes cannot be shortened: {error}"),
        }
        let used = open.committer.status().segments_used;
        self.shortened = Some(Ended { at: Instant::now(), time: began.elapsed(), used });
        self.look_at_events();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cannot be made less is not tried again before there is more, but for the last segments.
    #[test]
    fn a_checkpoint_that_gained_nothing_is_not_the_next_one() {
        let status =
            |used| Status { next: 9, first: 1, segments_used: used, segments_max: 60, ..Status::default() };
        let at = Instant::now();
        let ended = |used| Ended { at, time: Duration::ZERO, used };
        assert!(!Checkpoint::is_due(&status(20), None) && Checkpoint::is_due(&status(21), None));
        std::thread::sleep(Duration::from_millis(1));
        let is_due = |used, left| Checkpoint::is_due(&status(used), Some(&ended(left)));
        assert!(!is_due(40, 40) && !is_due(49, 40) && is_due(50, 40));
        assert!(is_due(56, 56), "there is nothing else that it could do");
        let slow = Ended { at, time: Duration::from_secs(60), used: 0 };
        assert!(!Checkpoint::is_due(&status(56), Some(&slow)));
    }
}
