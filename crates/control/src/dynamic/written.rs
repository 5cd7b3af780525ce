//! What is written, and what comes of it: published and replied to, or taken back.

use std::sync::Arc;
use std::time::Instant;

use journal::Refusal;

use super::changer::{Changer, wall};
use super::checkpoint::Checkpoint;
use super::group::{Commit, Event, Payload};
use super::log::Log;
use super::origin::{Origin, sum_of};
use super::update::Said;

/// Replies of a group that the changer sends itself: the worker is not woken for them, which takes some 20 us of its core and of the client's time.
/// Each is a system call; more are cheaper in the worker's batches, on its core.
const REPLIES_AT_ONCE_MAX: usize = 4;

impl Changer {
    /// Has all that waits for the disk be written, and goes on with what came of it.
    pub(super) fn commit(&mut self) {
        let Log::Open(open) = &self.log else { return };
        let writing = self.controller.dynamic.outline.writing();
        open.committer.run();
        drop(writing);
        self.last = Some(Instant::now());
        self.look_at_events();
    }

    pub(super) fn look_at_events(&mut self) {
        let Log::Open(open) = &self.log else { return };
        for event in open.events.take() {
            match event {
                Event::Committed(group, payloads) => {
                    self.controller.historian.note_group(group);
                    let replies: usize = payloads.iter().map(Payload::replies).sum();
                    let is_few = replies <= REPLIES_AT_ONCE_MAX;
                    payloads.into_iter().for_each(|payload| self.committed(group, payload, is_few))
                }
                Event::Refused(payloads, why) => self.refused(payloads, &why),
                Event::Condition(condition) => self.note(condition),
            }
        }
    }

    /// Goes on with what is on the disk. `is_few`: see [`REPLIES_AT_ONCE_MAX`].
    pub(super) fn committed(&mut self, group: u64, payload: Payload, is_few: bool) {
        match payload {
            Payload::Commit(commit) => drop(self.serve(group, commit, is_few)),
            Payload::Together(together) => self.serve_together(group, *together),
            Payload::Gone(name) => drop(self.gone.remove(&name)),
            Payload::AgeEnds(name) => drop(self.ages.remove(&name)),
            Payload::Moved(moved) => {
                self.renewal.note_decided(1);
                self.moved(*moved, group);
            }
            Payload::Checkpoint(anew) => {
                self.said_anew(group, anew);
                self.checkpoint.iter_mut().for_each(Checkpoint::is_written);
            }
            Payload::Base(anew) => self.said_anew(group, anew),
            Payload::Checked => {}
        }
    }

    /// Publishes what is on the disk of one zone, and replies. False: the zone is not served any more as it had been.
    pub(super) fn serve(&mut self, group: u64, commit: Commit, is_few: bool) -> bool {
        let mut served = None;
        if let Some((changed, parts)) = commit.version {
            self.controller.make_room();
            if let Some(record) = &commit.record {
                self.controller.historian.push(group, Arc::clone(record));
            }
            let serial = changed.row().serial;
            served = self.zones.get_mut(&commit.zone).and_then(|zone| {
                zone.publish(&self.controller.catalog, changed, *parts).ok()?;
                Some((zone.slot()?, serial))
            });
            if served.is_none() {
                // The log is told once nothing of it waits any more.
                tracing::warn!(zone = %commit.zone, "zone {}: updated, and then it was not served any more as it had been", commit.zone);
                self.gone.entry(commit.zone.clone()).or_default();
                // Durable, and not served: who asks for it would not find it.
                self.reply_all(commit.replies.into_iter().map(|(update, _)| update), Said::not_now());
                return false;
            }
        }
        for (update, said) in commit.replies {
            self.recent.done(&update, said);
            update.reply_as_one_of(said, wall(), is_few);
        }
        // Who waits for an answer comes before those who are told.
        if let Some((slot, serial)) = served {
            if let Some(zone) = self.zones.get_mut(&commit.zone) {
                zone.say(commit.record.map(|record| Origin { group, sum: sum_of(&record.record()) }));
            }
            self.controller.tell_changed(slot, &commit.zone, serial);
            if let Some(told) = commit.told {
                told.done();
            }
        }
        true
    }

    fn refused(&mut self, payloads: Vec<Payload>, why: &Refusal) {
        for payload in payloads {
            match payload {
                Payload::Commit(commit) => self.take_back(commit),
                Payload::Together(together) => self.take_back_together(*together),
                Payload::Checked | Payload::AgeEnds(_) => {}
                Payload::Gone(name) => {
                    self.gone.insert(name, false);
                }
                // Which zone it was of is not known: all say once more what they begin from, with their next change.
                Payload::Base(_) | Payload::Moved(_) | Payload::Checkpoint(_) => {
                    if let Payload::Moved(moved) = &payload {
                        self.renewal.note_decided(1);
                        self.rests_no_more(&moved.zone);
                    }
                    self.checkpoint = None;
                    self.zones.values_mut().for_each(|zone| zone.is_based = false);
                }
            }
        }
        tracing::debug!("updates are refused: {why}");
    }

    /// Undoes what is not on the disk and never will be, and says so.
    pub(super) fn take_back(&mut self, commit: Commit) {
        if let Some((changed, _)) = &commit.version
            && let Some(zone) = self.zones.get_mut(&commit.zone)
        {
            zone.take_back(changed.state());
        }
        self.reply_all(commit.replies.into_iter().map(|(update, _)| update), Said::not_now());
    }
}
