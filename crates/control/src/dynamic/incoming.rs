//! What zones get from their primaries or their stores, as far as the changer has to do with it: differences, and when they were checked.
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
use wire::{Name, NameBuf};
use zone::Change;

use super::changer::{Changer, wall};
use super::group::{Commit, Payload, entry};
use super::handle::Job;
use super::log::Log;
use super::once::{Once, WhyNot};
use super::rounds::ZONE_TIME;
use super::storing::{NotBased, STORE_PAUSE};

/// Ages that a checkpoint writes at a time.
const AGES_A_GROUP: usize = 4096;
/// What is put in before it is written, differences and octets of them: more than may wait for the disk comes at once.
const CHANGES_A_COMMIT: (usize, usize) = (1024, 8 << 20);

/// Something from a primary, or a store.
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
pub(crate) struct Told {
    once: Once<NotTaken>,
    is_wanted: Option<IsWanted>,
}

/// Whether whoever asked for them wants them still.
type IsWanted = Box<dyn Fn() -> bool + Send>;

impl WhyNot for NotTaken {
    const GIVEN_UP: NotTaken = NotTaken::NotNow;
}

impl Told {
    pub(crate) fn new(tell: impl FnOnce(Result<(), NotTaken>) + Send + 'static) -> Told {
        Told { once: Once::new(tell), is_wanted: None }
    }

    /// The same of what is not to be served if nobody wants it any more by then.
    pub(crate) fn while_wanted(mut self, is_wanted: impl Fn() -> bool + Send + 'static) -> Told {
        self.is_wanted = Some(Box::new(is_wanted));
        self
    }

    fn is_wanted(&self) -> bool {
        self.is_wanted.as_ref().is_none_or(|is_wanted| is_wanted())
    }

    /// The last is served.
    pub(super) fn done(self) {
        self.tell(Ok(()));
    }

    fn tell(self, result: Result<(), NotTaken>) {
        self.once.tell(result);
    }
}

impl Incoming {
    /// Octets that it takes while it waits.
    pub(crate) fn octets(&self) -> usize {
        let changes = match &self.what {
            What::Changes(changes, _) => &changes[..],
            What::Checked(..) => &[],
        };
        size_of::<Incoming>() + changes.iter().map(Change::octets).sum::<usize>()
    }
}

impl Changer {
    /// Takes something from a primary, and has it wait for the disk.
    pub(super) fn take_incoming(&mut self, incoming: Incoming) {
        let Incoming { zone, what } = incoming;
        let is_ours = || self.renewal.rules.takes_from_anybody || self.controller.is_secondary(&zone);
        if let What::Changes(_, told) = &what
            && !(told.is_wanted() && is_ours())
        {
            return;
        }
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

    /// Has the log say that a zone has no age any more, as it is changed here: at a start it would be given up, with what it was changed by. To be called before
    /// anything of it is written. False: the log cannot be written.
    pub(super) fn end_age(&mut self, zone: &Name) -> bool {
        if !self.ages.contains_key(zone) {
            return true;
        }
        let Log::Open(open) = &self.log else { return false };
        let Some(entry) = age(zone, 0, NO_AGE) else { return false };
        let payload = Payload::AgeEnds(zone.to_owned());
        open.committer.enqueue(open.committer.generation(), Some(Arc::new(entry)), payload).is_ok()
    }

    /// Has the log say all ages anew, as what is before a checkpoint goes. Where that fails there is none this time.
    pub(super) fn write_ages(&mut self) {
        self.forget_ages();
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

    /// Zones without primaries have no age.
    fn forget_ages(&mut self) {
        let controller = Arc::clone(&self.controller);
        self.ages.retain(|zone, _| controller.may_have_primaries(zone));
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
            self.committed(0, Payload::Commit(commit), false);
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
            zone.begins_anew();
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
        let (mut told, mut changes, mut waiting) = (Some(told), changes.into_iter(), (0, 0));
        while let Some(change) = changes.next() {
            if waiting.0 >= CHANGES_A_COMMIT.0 || waiting.1 >= CHANGES_A_COMMIT.1 {
                self.commit();
                waiting = (0, 0);
            }
            waiting.0 += 1;
            waiting.1 += change.octets();
            let does_not_fit = |told: Option<Told>| told.map(|told| told.tell(Err(NotTaken::DoesNotFit)));
            let held = self.zones.get(name).and_then(|zone| Some(zone.newest()?.row().serial));
            if held != Some(change.serial_before()) {
                does_not_fit(told);
                return;
            }
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
            if let Some(told) = told.take_if(|_| Instant::now() >= until) {
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

/// What a zone has that has none: nothing was checked so early, and nothing expires so late. As it is read it has its time until then.
pub(super) const NO_AGE: Kept = Kept { checked: 0, expires: u32::MAX as u64 };

/// The record that says when a zone was checked. `None`: none is so long.
fn age(zone: &Name, serial: u32, kept: Kept) -> Option<Entry> {
    let expiry = u32::try_from(kept.expires.saturating_sub(kept.checked)).unwrap_or(u32::MAX);
    Entry::new(zone, serial, serial, wall(), Body::Checked { time: kept.checked, expiry }).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::controller::{Controller, Overrides};
    use crate::progress::Progress;
    use crate::serve::all_wanted;
    use crate::settings::Settings;

    /// Which zones are transferred from others is known once lists have been read: a checkpoint before that leaves no age out.
    #[test]
    fn ages_before_lists_are_read() {
        let controller = Arc::new(Controller::new(Settings::default(), Overrides::default()).unwrap());
        let mut changer = Changer::new(&controller, None);
        changer.ages.insert("a.test".parse().unwrap(), (1, Kept::default()));
        changer.forget_ages();
        assert_eq!(changer.ages.len(), 1);
        let progress = Progress::default();
        let mut changing = controller.change();
        let wanted = all_wanted(&changing.settings, &controller.overrides, &progress).unwrap();
        controller.announce(&mut changing, wanted, &progress);
        changer.forget_ages();
        assert_eq!(changer.ages.len(), 0);
    }
}
