//! What operators have the changer do: edited texts put on top of what is served, all that came before waited for, lost changes accepted.
//!
//! ```text
//! text T1 held against T0 -> Edit --queue--> newest state -> Change -> log, with all that waits -> publish -> told: T0 is T1 now
//! ```
//!
//! Who is told of an edit runs on this thread, before any other request of the zone is looked at: what it stores is stored before anything can stand on
//! the edit (docs/design/texts.md 3).

use std::sync::Arc;
use std::time::{Duration, Instant};

use change::draft::NoChange;
use change::{Draft, Edit, EditFault};
use journal::{Body, Entry};
use wire::{Name, NameBuf};
use zone::Change;

use super::changer::{Changer, wall};
use super::checkpoint;
use super::group::{Commit, Payload, entry};
use super::handle::Job;
use super::incoming::Told;
use super::log::Log;
use super::once::{Once, WhyNot};
use super::storing::{NotBased, STORE_PAUSE};
use super::zone::DynamicZone;

/// When it is looked again whether nothing of any zone waits for the disk: as many zones are looked at as have changed.
const SETTLE_PAUSE: Duration = Duration::from_millis(20);

/// What was edited in the text of a zone.
pub(crate) struct EditJob {
    /// The zone, lower-case.
    pub(crate) zone: NameBuf,
    /// What.
    pub(crate) edit: Edit,
    /// Who is told what became of it.
    pub(crate) done: EditDone,
}

/// Why an edit is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotEdited {
    /// It does not go together with what is served.
    Fault(EditFault),
    /// It changes what a zone proves by, which needs all of the zone anew.
    Structure,
    /// It has more octets than a change.
    TooLarge,
    /// The zone has a fault, or nothing can be kept now.
    NotNow,
}

/// Told once what became of an edit; `Ok`: it is durable and served, or changes nothing.
pub(crate) type EditDone = Once<NotEdited>;

impl WhyNot for NotEdited {
    const GIVEN_UP: NotEdited = NotEdited::NotNow;
}

impl Changer {
    /// Puts what was edited on top of the newest state, and has it written at once.
    pub(super) fn take_edit(&mut self, job: EditJob) {
        let EditJob { zone: name, edit, done } = job;
        if self.open_log().is_err() || self.enter(&name).is_err() || !self.end_age(&name) {
            return;
        }
        match self.change_of(&name, &edit) {
            Err(why) => done.tell(Err(why)),
            Ok(None) => done.tell(Ok(())),
            Ok(Some(change)) => match self.write_base(&name) {
                Ok(()) => {
                    self.take_edited(&name, &change, done);
                    self.commit();
                }
                Err(NotBased::Later) => {
                    self.rounds
                        .again(Job::Edit(Box::new(EditJob { zone: name, edit, done })), Some(STORE_PAUSE));
                }
                Err(NotBased::NotNow) => {}
            },
        }
    }

    /// The change that an edit is over the newest state. `None`: all of it is so already.
    fn change_of(&self, name: &Name, edit: &Edit) -> Result<Option<Change>, NotEdited> {
        let view = self.zones.get(name).and_then(|zone| zone.newest()).ok_or(NotEdited::NotNow)?;
        let (style, now) = (self.controller.update_terms(name).serial, wall());
        let mut draft = Draft::new(view).map_err(|_| NotEdited::NotNow)?;
        draft.edit(edit, style, now).map_err(NotEdited::Fault)?;
        match draft.into_change(style, now) {
            Ok(change) => Ok(Some(change)),
            Err(NoChange::Nothing) => Ok(None),
            Err(NoChange::Damaged) => Err(NotEdited::NotNow),
        }
    }

    fn take_edited(&mut self, name: &NameBuf, change: &Change, done: EditDone) {
        let Ok(record) = entry(change, wall()) else { return done.tell(Err(NotEdited::TooLarge)) };
        let Some(zone) = self.zones.get_mut(name) else { return };
        let Ok(applied) = zone.apply(change) else { return done.tell(Err(NotEdited::Structure)) };
        let told = Told::new(move |result| done.tell(result.map_err(|_| NotEdited::NotNow)));
        let version = Some((applied.changed, applied.parts));
        let record = Arc::new(record);
        let commit = Commit {
            zone: name.clone(),
            record: Some(Arc::clone(&record)),
            version,
            replies: Vec::new(),
            told: Some(told),
        };
        let Log::Open(open) = &self.log else { return self.take_back(commit) };
        let generation = open.committer.generation();
        let queued = open.committer.enqueue(generation, Some(record), Payload::Commit(commit));
        if let Err(refused) = queued.map(drop)
            && let Payload::Commit(commit) = refused.payload
        {
            self.take_back(commit);
        }
    }

    /// All that was asked of the changer before is done; tells whether what is served is all there is of the zone.
    pub(super) fn take_barrier(&self, zone: &Name, told: Told) {
        if self.zones.get(zone).is_none_or(|zone| !zone.is_waiting()) {
            told.done();
        }
    }

    /// Tells once nothing of any zone waits for the disk. What is not begun yet is not waited for.
    pub(super) fn take_settle(&mut self, told: Told, until: Instant, since: Instant) {
        // What a store was asked for may be done as long as its feeder has not said.
        let waits = |changer: &Changer| {
            changer.zones.values().any(DynamicZone::is_waiting)
                || changer.controller.stores.are_writing(since)
        };
        if waits(self) {
            self.commit();
        }
        if !waits(self) {
            told.done();
        } else if Instant::now() < until {
            self.rounds.again(Job::Settle(told, until, since), Some(SETTLE_PAUSE));
        }
    }

    /// Goes on with a zone whose changes in the log do not fit together, as it is served: the log says anew what it is.
    pub(super) fn accept_loss(&mut self, name: &Name, told: Told) {
        if self.open_log().is_err() {
            return;
        }
        if self.lost.contains_key(name) || !self.zones.contains_key(name) {
            return self.accept_nothing(name, told);
        }
        let Some(zone) = self.zones.get_mut(name) else { return };
        let fault = zone.fault.take();
        zone.is_based = false;
        if let Err(why) = self.write_base(name).and_then(|()| self.write_accepted(name)) {
            if let Some(zone) = self.zones.get_mut(name) {
                zone.fault = fault;
            }
            if why == NotBased::Later {
                self.rounds.again(Job::AcceptLoss(name.to_owned(), told), Some(STORE_PAUSE));
            }
            return;
        }
        self.commit();
        let is_kept = self.zones.get(name).is_some_and(|zone| zone.is_based);
        if is_kept && self.open_log().is_ok() {
            self.controller.set_fault(name, None);
            told.done();
        } else if let Some(zone) = self.zones.get_mut(name) {
            // It may be on the disk all the same; then the next start has no fault either.
            zone.fault = fault;
        }
    }

    /// Has the log say that what was lost of a zone is given up.
    fn write_accepted(&self, name: &Name) -> Result<(), NotBased> {
        let (Log::Open(open), Some(entry)) = (&self.log, checkpoint::damaged(name, "", wall())) else {
            return Err(NotBased::NotNow);
        };
        let generation = open.committer.generation();
        let queued = open.committer.enqueue(generation, Some(Arc::new(entry)), Payload::Base(None));
        queued.map(drop).map_err(|_| NotBased::NotNow)
    }

    /// The same of a zone of which the log has nothing that can be read: it begins anew from what is stored of it.
    fn accept_nothing(&mut self, name: &Name, told: Told) {
        let Ok(entry) = Entry::new(name, 0, 0, wall(), Body::Removed) else { return };
        let Log::Open(open) = &self.log else { return };
        let generation = open.committer.generation();
        if open.committer.enqueue(generation, Some(Arc::new(entry)), Payload::Base(None)).is_err() {
            return;
        }
        self.commit();
        if self.open_log().is_ok() {
            self.lost.remove(name);
            self.controller.accept_missing(name);
            told.done();
        }
    }
}
