//! What is written, and what comes of it: published and replied to, or taken back.

use std::time::Instant;

use journal::Refusal;

use super::changer::Changer;
use super::checkpoint::Checkpoint;
use super::group::{Commit, Event, Payload};
use super::images::{Origin, sum_of};
use super::log::Log;
use super::update::Said;

impl Changer {
    /// Has all that waits for the disk be written, and goes on with what came of it.
    pub(super) fn commit(&mut self) {
        let Log::Open(open) = &self.log else { return };
        open.committer.run();
        self.last = Some(Instant::now());
        self.look_at_events();
    }

    pub(super) fn look_at_events(&mut self) {
        let Log::Open(open) = &self.log else { return };
        for event in open.events.take() {
            match event {
                Event::Committed(group, payloads) => {
                    self.controller.historian.note_group(group);
                    payloads.into_iter().for_each(|payload| self.committed(group, payload))
                }
                Event::Refused(payloads, why) => self.refused(payloads, &why),
                Event::Condition(condition) => self.note(condition),
            }
        }
    }

    /// Publishes what is on the disk, and replies.
    pub(super) fn committed(&mut self, group: u64, payload: Payload) {
        let commit = match payload {
            Payload::Commit(commit) => commit,
            Payload::Gone(name) => {
                self.gone.remove(&name);
                return;
            }
            Payload::AgeEnds(name) => {
                self.ages.remove(&name);
                return;
            }
            Payload::Moved(moved) => return self.moved(*moved),
            Payload::Checkpoint => {
                return self.checkpoint.iter_mut().for_each(Checkpoint::is_written);
            }
            Payload::Base | Payload::Checked => return,
        };
        if let Some((changed, parts)) = commit.version {
            self.controller.make_room();
            let serial = changed.row().serial;
            let said = commit.record.as_ref().map(|record| Origin { group, sum: sum_of(&record.record()) });
            if let Some(record) = commit.record {
                self.controller.historian.push(group, record);
            }
            let zone = self.zones.get_mut(&commit.zone);
            if zone.is_none_or(|zone| zone.publish(&self.controller.catalog, changed, *parts).is_err()) {
                // The log is told once nothing of it waits any more.
                tracing::warn!(zone = %commit.zone, "zone {}: updated, and then it was not served any more as it had been", commit.zone);
                self.gone.entry(commit.zone.clone()).or_default();
                // Durable, and not served: who asks for it would not find it.
                return self.reply_all(commit.replies.into_iter().map(|(update, _)| update), Said::not_now());
            } else {
                if let Some(zone) = self.zones.get_mut(&commit.zone) {
                    zone.say(said);
                }
                self.controller.tell_changed(&commit.zone, serial);
                if let Some(told) = commit.told {
                    told.done();
                }
            }
        }
        for (update, said) in commit.replies {
            self.reply(update, said);
        }
    }

    fn refused(&mut self, payloads: Vec<Payload>, why: &Refusal) {
        for payload in payloads {
            match payload {
                Payload::Commit(commit) => self.take_back(commit),
                Payload::Checked | Payload::AgeEnds(_) => {}
                Payload::Gone(name) => {
                    self.gone.insert(name, false);
                }
                // Which zone it was of is not known: all say once more what they begin from, with their next change.
                Payload::Base | Payload::Moved(_) | Payload::Checkpoint => {
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
