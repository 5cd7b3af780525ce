//! What secondary zones get from their primaries, as far as the changer has to do with it: differences, and when they were checked.
//!
//! ```text
//! differences -> delta: next state each -> log, with all that waits -> publish -> told
//!        `-- does not fit what is held: told, and all of the zone is asked for
//! checked, until when -> log
//! ```
//!
//! A version that is served is on the disk: whoever has it from us never sees an older one after a crash.

use std::sync::Arc;

use journal::{Body, Entry};
use transfer::refresh::Kept;
use wire::NameBuf;
use zone::Change;

use super::changer::{Changer, wall};
use super::checkpoint;
use super::group::{Commit, Payload, entry};
use super::log::Log;

/// Ages that a checkpoint writes at a time.
const AGES_A_GROUP: usize = 4096;

/// Something from a primary.
pub(crate) struct Incoming {
    /// The zone, lower-case.
    pub(crate) zone: NameBuf,
    /// What.
    pub(crate) what: What,
}

/// What came.
pub(crate) enum What {
    /// Differences, one after the other, and who is told when the last is served.
    Changes(Vec<Change>, Told),
    /// The zone with this serial is current.
    Checked(u32, Kept),
}

/// Why differences are not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// They do not lead on from what is held.
    DoesNotFit,
    /// They cannot be kept, or the zone is not there any more.
    NotNow,
}

/// Tells what became of differences, once; dropped, it says that they are not served.
pub(crate) struct Told(Option<Tell>);

/// What is called with what became of them.
type Tell = Box<dyn FnOnce(Result<(), NotTaken>) + Send>;

impl Told {
    pub(crate) fn new(tell: impl FnOnce(Result<(), NotTaken>) + Send + 'static) -> Told {
        Told(Some(Box::new(tell)))
    }

    /// The last is served.
    pub(super) fn done(self) {
        self.tell(Ok(()));
    }

    fn tell(mut self, result: Result<(), NotTaken>) {
        if let Some(tell) = self.0.take() {
            tell(result);
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err(NotTaken::NotNow));
        }
    }
}

impl Incoming {
    /// Octets that it takes while it waits.
    pub(crate) fn octets(&self) -> usize {
        let changes = match &self.what {
            What::Changes(changes, _) => &changes[..],
            What::Checked(..) => &[],
        };
        let of = |change: &Change| change.removed().octets().len() + change.added().octets().len();
        size_of::<Incoming>() + changes.iter().map(of).sum::<usize>()
    }
}

impl Changer {
    /// Takes something from a primary, and has it wait for the disk.
    pub(super) fn take_incoming(&mut self, incoming: Incoming) {
        let Incoming { zone, what } = incoming;
        if self.open_log().is_err() {
            // Dropped, and so told, where somebody is.
            return;
        }
        match what {
            What::Changes(changes, told) => self.take_changes(&zone, changes, told),
            What::Checked(serial, kept) => {
                let Log::Open(open) = &self.log else { return };
                let Some(entry) = age(&zone, serial, kept) else { return };
                // Refused, the next start takes the zone for older than it is.
                let _ = open.committer.enqueue(
                    open.committer.generation(),
                    Some(Arc::new(entry)),
                    Payload::Checked,
                );
                self.ages.insert(zone, (serial, kept));
            }
        }
    }

    /// Has the log say all ages anew, as what is before a checkpoint goes. Where that fails there is none this time.
    pub(super) fn write_ages(&mut self) {
        let controller = Arc::clone(&self.controller);
        self.ages.retain(|zone, _| controller.is_secondary(zone));
        let entries: Vec<Entry> =
            self.ages.iter().filter_map(|(zone, (serial, kept))| age(zone, *serial, *kept)).collect();
        let mut entries = entries.into_iter().peekable();
        while entries.peek().is_some() {
            let some = entries.by_ref().take(AGES_A_GROUP).collect();
            if !self.write_for_checkpoint(some) {
                return;
            }
            self.commit();
        }
    }

    fn take_changes(&mut self, name: &NameBuf, changes: Vec<Change>, told: Told) {
        if self.enter(name).is_err() || self.is_full() {
            return;
        }
        let (mut told, last, now) = (Some(told), changes.len().saturating_sub(1), wall());
        for (at, change) in changes.into_iter().enumerate() {
            let Some(zone) = self.zones.get_mut(name) else { return };
            let Log::Open(open) = &self.log else { return };
            let held = zone.newest().map(|zone| zone.row().serial);
            let does_not_fit = |told: Option<Told>| told.map(|told| told.tell(Err(NotTaken::DoesNotFit)));
            if held != Some(change.serial_before()) {
                does_not_fit(told);
                return;
            }
            // Larger than the log takes in one: all of the zone comes as a pack.
            let Ok(record) = entry(&change, now) else {
                does_not_fit(told);
                return;
            };
            if !zone.is_based {
                let names_max = self.renewal.rules.piece_names_max;
                let Some(base) = checkpoint::entries(&self.controller, zone, names_max, now) else {
                    self.renewal.asked.insert(name.clone());
                    return;
                };
                for entry in base {
                    let generation = open.committer.generation();
                    if open.committer.enqueue(generation, Some(Arc::new(entry)), Payload::Base).is_err() {
                        return;
                    }
                }
                zone.is_based = true;
            }
            let Ok(applied) = zone.apply(&change) else {
                does_not_fit(told);
                return;
            };
            let told = if at == last { told.take() } else { None };
            let version = Some((applied.changed, applied.parts));
            let record = Arc::new(record);
            let commit = Commit {
                zone: name.clone(),
                record: Some(Arc::clone(&record)),
                version,
                replies: Vec::new(),
                told,
            };
            let generation = open.committer.generation();
            let queued = open.committer.enqueue(generation, Some(record), Payload::Commit(commit)).map(drop);
            if let Err(refused) = queued
                && let Payload::Commit(commit) = refused.payload
            {
                return self.take_back(commit);
            }
        }
    }
}

/// The record that says when a zone was checked. `None`: none is so long.
fn age(zone: &NameBuf, serial: u32, kept: Kept) -> Option<Entry> {
    let expiry = u32::try_from(kept.expires.saturating_sub(kept.checked)).unwrap_or(u32::MAX);
    Entry::new(zone, serial, serial, wall(), Body::Checked { time: kept.checked, expiry }).ok()
}
