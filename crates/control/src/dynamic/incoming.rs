//! What secondary zones get from their primaries, as far as the changer has to do with it: differences, and when they were checked.
//!
//! ```text
//! differences -> delta: next state each -> log, with all that waits -> publish -> told
//!        `-- does not fit what is held: told, and all of the zone is asked for
//! checked, until when -> log
//! ```
//!
//! A version that is served is on the disk: whoever has it from us never sees an older one after a crash. Zones that are not to be kept, and all where
//! there is no folder, never come near the log: they change in memory, and have nothing after a start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use journal::{Body, Entry};
use transfer::refresh::Kept;
use wire::NameBuf;
use zone::Change;

use super::changer::{Changer, wall};
use super::group::{Commit, Payload, entry};
use super::handle::Job;
use super::log::Log;
use super::rounds::{ROUND_OCTETS_MAX, ZONE_TIME};
use super::storing::{NotBased, STORE_PAUSE};

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
        if !self.controller.persists(&zone) {
            if let What::Changes(changes, told) = what {
                self.take_passing(&zone, changes, told);
            }
            return;
        }
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

    /// Shows differences of a zone that is not to be kept.
    fn take_passing(&mut self, name: &NameBuf, changes: Vec<Change>, told: Told) {
        if self.enter(name).is_err() || self.is_full() || !self.pass(name) {
            return;
        }
        let until = Instant::now() + ZONE_TIME;
        let mut changes = changes.into_iter();
        while let Some(change) = changes.next() {
            // Not served any more as it had been: told, as what is dropped.
            let Some(zone) = self.zones.get_mut(name) else { return };
            let is_next = zone.newest().is_some_and(|zone| zone.row().serial == change.serial_before());
            let Some(applied) = is_next.then(|| zone.apply(&change).ok()).flatten() else {
                return told.tell(Err(NotTaken::DoesNotFit));
            };
            let version = Some((applied.changed, applied.parts));
            let commit =
                Commit { zone: name.clone(), record: None, version, replies: Vec::new(), told: None };
            // Of no group, and without record.
            self.committed(0, Payload::Commit(commit));
            if changes.len() > 0 && Instant::now() >= until {
                return self.put_off_changes(name, changes.collect(), told, None);
            }
        }
        if self.zones.contains_key(name) {
            told.done();
        }
    }

    /// From now on a zone does not go to the log, which forgets what it has of it: otherwise a start would begin with that. Says whether that is so.
    fn pass(&mut self, name: &NameBuf) -> bool {
        let is_logged = self.zones.get(name).is_some_and(|zone| zone.is_based);
        if is_logged {
            if self.open_log().is_err() {
                return false;
            }
            let serial = self.zones.get(name).and_then(|zone| Some(zone.newest()?.row().serial));
            if !self.write_gone(name, serial.unwrap_or_default()) {
                return false;
            }
            // What waits of the zone goes before.
            self.commit();
        }
        if let Some(zone) = self.zones.get_mut(name)
            && !zone.is_passing
        {
            if self.controller.give_up_stored(name) {
                crate::serve::tidy_on_a_thread(&self.controller);
            }
            (zone.is_passing, zone.is_based) = (true, false);
            // What is not to be kept has no history either.
            self.controller.historian.begin_anew(name);
        }
        true
    }

    fn take_changes(&mut self, name: &NameBuf, changes: Vec<Change>, told: Told) {
        if self.enter(name).is_err() || self.is_full() {
            return;
        }
        let (now, until) = (wall(), Instant::now() + ZONE_TIME);
        let (mut told, mut changes, mut octets) = (Some(told), changes.into_iter(), 0);
        while let Some(change) = changes.next() {
            match self.write_base(name) {
                Ok(()) => {}
                Err(NotBased::NotNow) => return,
                Err(NotBased::Later) => {
                    let all = std::iter::once(change).chain(changes).collect();
                    return told.map_or((), |told| self.put_off_changes(name, all, told, Some(STORE_PAUSE)));
                }
            }
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
            zone.is_passing = false;
            let Ok(applied) = zone.apply(&change) else {
                does_not_fit(told);
                return;
            };
            let own_told = if changes.len() == 0 { told.take() } else { None };
            let version = Some((applied.changed, applied.parts));
            let record = Arc::new(record);
            let commit = Commit {
                zone: name.clone(),
                record: Some(Arc::clone(&record)),
                version,
                replies: Vec::new(),
                told: own_told,
            };
            let generation = open.committer.generation();
            let queued = open.committer.enqueue(generation, Some(record), Payload::Commit(commit)).map(drop);
            if let Err(refused) = queued
                && let Payload::Commit(commit) = refused.payload
            {
                return self.take_back(commit);
            }
            octets += change.removed().octets().len() + change.added().octets().len();
            if let Some(told) = told.take_if(|_| octets > ROUND_OCTETS_MAX || Instant::now() >= until) {
                return self.put_off_changes(name, changes.collect(), told, None);
            }
        }
    }

    /// Goes on with the rest of what came in a later turn.
    fn put_off_changes(&mut self, zone: &NameBuf, rest: Vec<Change>, told: Told, pause: Option<Duration>) {
        let incoming = Incoming { zone: zone.clone(), what: What::Changes(rest, told) };
        self.rounds.again(Job::Incoming(incoming), pause);
    }
}

/// The record that says when a zone was checked. `None`: none is so long.
fn age(zone: &NameBuf, serial: u32, kept: Kept) -> Option<Entry> {
    let expiry = u32::try_from(kept.expires.saturating_sub(kept.checked)).unwrap_or(u32::MAX);
    Entry::new(zone, serial, serial, wall(), Body::Checked { time: kept.checked, expiry }).ok()
}
