//! The log kept short: zones say anew what their changes begin from, and what is before that goes.
//!
//! ```text
//! log a third full --> of each zone in it: contents | pack and all that differs from it, as one change   some a turn, between groups
//!                      all of them on the disk --> anchor: the first group of these --> segments before are free
//! ```
//!
//! A zone's difference from its pack grows until that is made anew (docs/design/delta.md 5).

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use journal::anchor::{Anchor, AnchorError, Content};
use journal::commit::Condition;
use journal::disk::System;
use journal::log::Status;
use journal::{Body, Entry, Identity};
use wire::NameBuf;

use super::base;
use super::changer::{Changer, wall};
use super::group::{Payload, entry};
use super::log::Log;
use super::zone::DynamicZone;
use crate::controller::Controller;

/// Time of a turn that zones are written in: updates wait for it.
pub(super) const TURN: Duration = Duration::from_millis(2);
/// Octets of one change that says all that differs from a pack. What is more is a new pack's.
const CONDENSED_OCTETS_MAX: usize = 16 << 20;

/// Where the log begins.
pub(super) struct Floor {
    anchor: Anchor,
    /// Whether what it says is on the disk.
    is_sure: bool,
}

impl Floor {
    /// Reads the anchor of a folder.
    pub(super) fn open(folder: &Path) -> Result<Floor, AnchorError> {
        let mut anchor = Anchor::open(Arc::new(System), folder)?;
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
}

impl Checkpoint {
    /// Whether one is to begin: a third of the segments there may be is in use.
    pub(super) fn is_due(status: &Status) -> bool {
        status.segments_used * 3 > status.segments_max && status.next > status.first
    }

    pub(super) fn begin(status: &Status, zones: impl Iterator<Item = NameBuf>) -> Checkpoint {
        Checkpoint { first: status.next, left: zones.collect() }
    }

    /// The records of some more zones. `None`: all were given before. The error: what stands for this zone is too much, or cannot be had.
    pub(super) fn next<'z>(
        &mut self,
        controller: &Controller,
        zone_of: impl Fn(&NameBuf) -> Option<&'z DynamicZone>,
        time: u64,
    ) -> Result<Option<Vec<Entry>>, NameBuf> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let until = Instant::now() + TURN;
        let mut all = Vec::new();
        while let Some(name) = self.left.pop() {
            if let Some(zone) = zone_of(&name) {
                all.extend(entries(controller, zone, time).ok_or(name)?);
            }
            if Instant::now() > until {
                break;
            }
        }
        Ok(Some(all))
    }
}

/// That changes of a zone were lost, which the next start is to know too.
pub(super) fn damaged(name: &NameBuf, fault: &str, time: u64) -> Option<Entry> {
    Entry::new(name, 0, 0, time, Body::Damaged(fault.as_bytes())).ok()
}

/// What stands for all that the log has of a zone.
pub(super) fn entries(controller: &Controller, zone: &DynamicZone, time: u64) -> Option<Vec<Entry>> {
    let mut entries = sound_entries(controller, zone, time)?;
    if let Some(fault) = &zone.fault {
        entries.push(damaged(&zone.name().to_owned(), fault, time)?);
    }
    Some(entries)
}

fn sound_entries(controller: &Controller, zone: &DynamicZone, time: u64) -> Option<Vec<Entry>> {
    if let Some(contents) = base::contents(&zone.newest()?, time) {
        return Some(vec![contents]);
    }
    let stored = controller.store_base(zone.pack())?;
    let base = base::of_pack(&stored, zone.number(), time)?;
    let change = zone.condensed(CONDENSED_OCTETS_MAX).ok()?;
    let change = change.map(|change| entry(&change, time)).transpose().ok()?;
    Some(std::iter::once(base).chain(change).collect())
}

impl Changer {
    /// Has some more zones say anew what their changes begin from, where the log is long; once all have, what is before goes.
    pub(super) fn shorten(&mut self) {
        if self.condition != Condition::Ready {
            return;
        }
        let Log::Open(open) = &mut self.log else { return };
        if self.checkpoint.is_none() {
            let status = open.committer.status();
            if !Checkpoint::is_due(&status) {
                return;
            }
            self.checkpoint = Some(Checkpoint::begin(&status, self.zones.keys().cloned()));
            for entry in self.lost.iter().filter_map(|(name, fault)| damaged(name, fault, wall())) {
                let generation = open.committer.generation();
                if open.committer.enqueue_urgent(generation, Arc::new(entry), Payload::Base).is_err() {
                    self.checkpoint = None;
                    return;
                }
            }
            if !self.ages.is_empty() {
                return self.write_ages();
            }
        }
        let Some(checkpoint) = &mut self.checkpoint else { return };
        let (zones, first) = (&self.zones, checkpoint.first);
        match checkpoint.next(&self.controller, |name| zones.get(name), wall()) {
            Ok(Some(entries)) => {
                for entry in entries {
                    let generation = open.committer.generation();
                    if open.committer.enqueue_urgent(generation, Arc::new(entry), Payload::Base).is_err() {
                        self.checkpoint = None;
                        return;
                    }
                }
                self.commit();
            }
            Ok(None) => {
                self.checkpoint = None;
                let (identity, status) =
                    (open.committer.with_log(journal::Log::identity), open.committer.status());
                match open.floor.raise(identity, first, &status, wall()) {
                    Ok(()) => open.committer.release(first),
                    Err(error) => tracing::error!(%error, "the log of changes cannot be shortened: {error}"),
                }
                self.look_at_events();
            }
            Err(zone) => {
                self.checkpoint = None;
                tracing::error!(%zone, "the log of changes cannot be shortened: zone {zone} differs too much from what is stored of it, or that cannot be stored");
            }
        }
    }
}
