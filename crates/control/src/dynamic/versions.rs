//! What is made of updates: those that wait for a zone become one version of it, which waits for the disk.

use std::collections::VecDeque;
use std::sync::Arc;

use change::draft::NoChange;
use change::{Applied, Draft, Failure, Request, Terms};
use wire::Name;
use wire::iana::{ede, rcode};
use zone::catalog::View;
use zone::delta::Refused;

use super::changer::{Changer, wall};
use super::checkpoint;
use super::group::{Commit, Payload, entry};
use super::log::Log;
use super::update::{Said, Update};
use super::zone::DynamicZone;

/// Differences that one zone makes of what waits for it, at most: each is a version. What is left waits for the next turn.
const VERSIONS_A_TURN: usize = 64;

/// What waits for one zone.
pub(super) type Waiting = VecDeque<(Request, Update)>;

impl Changer {
    /// Works out what waits for a zone, and has it wait for the disk; what cannot be done is replied to at once.
    pub(super) fn work_out(&mut self, name: &Name, requests: &mut Waiting) {
        let all = |requests: &mut Waiting| requests.drain(..).map(|(_, update)| update).collect::<Vec<_>>();
        if let Err(said) = self.open_log() {
            return self.reply_all(all(requests), said);
        }
        if self.controller.is_secondary(name) {
            tracing::info!(zone = %name, "zone {name}: updates refused: it is transferred from others, and `forward-updates` is not set");
            // Its primary is to be told.
            let said = Said { rcode: rcode::REFUSED, ede: Some(ede::PROHIBITED) };
            return self.reply_all(all(requests), said);
        }
        if self.controller.texts.of(name).is_frozen {
            // Its operator edits the text, and thaws it.
            let updates = requests.len();
            tracing::info!(zone = %name, updates, "zone {name}: updates refused, as it is frozen");
            let said = Said { rcode: rcode::REFUSED, ede: Some(ede::PROHIBITED) };
            return self.reply_all(all(requests), said);
        }
        if let Err(said) = self.enter(name) {
            return self.reply_all(all(requests), said);
        }
        if self.is_full() {
            self.say_full(name);
            return self.reply_all(all(requests), Said::not_now());
        }
        if !self.end_age(name) {
            return self.reply_all(all(requests), Said::not_now());
        }
        // So many of the next ones are versions of their own.
        let mut alone = 0_usize;
        for _ in 0..VERSIONS_A_TURN {
            if requests.is_empty() {
                return;
            }
            match self.make_version(name, requests, if alone > 0 { 1 } else { usize::MAX }) {
                Ok(()) => alone = alone.saturating_sub(1),
                Err(NotMade::Together(count)) => alone = count,
                Err(NotMade::Alone(said, replies)) => {
                    alone = alone.saturating_sub(1);
                    self.reply_all(replies, said);
                }
                Err(NotMade::Any(said, replies)) => {
                    self.reply_all(replies, said);
                    return self.reply_all(all(requests), said);
                }
            }
        }
    }

    /// Makes one version of a zone of what waits for it, of so many requests at most, and has it wait for the disk.
    fn make_version(
        &mut self,
        name: &Name,
        requests: &mut Waiting,
        requests_max: usize,
    ) -> Result<(), NotMade> {
        let now = wall();
        let damaged = |replies: Vec<Replied>| {
            tracing::error!(zone = %name, "zone {name}: its pack cannot be read: not updated");
            NotMade::Any(Said::not_now(), updates(replies))
        };
        let Some(zone) = self.zones.get_mut(name) else {
            return Err(NotMade::Any(Said::not_now(), Vec::new()));
        };
        let mut replies: Vec<Replied> = Vec::new();
        let Some(view) = zone.newest() else { return Err(damaged(replies)) };
        let own = self.controller.update_terms(name);
        let terms = Terms { policy: own.policy.as_deref(), limits: own.limits, now };
        let Ok(mut draft) = Draft::new(view) else { return Err(damaged(replies)) };
        while replies.len() < requests_max
            && let Some((request, update)) = requests.pop_front()
        {
            match draft.update(&request, &update.asker(), &terms) {
                Ok(Applied::Done) => replies.push((request, update, Said::DONE)),
                Ok(Applied::Failed(failure)) => {
                    say_failure(name, &update, &failure);
                    replies.push((request, update, Said::from(&failure)));
                }
                Ok(Applied::CommitFirst) => {
                    requests.push_front((request, update));
                    break;
                }
                Err(change::draft::Damaged) => {
                    replies.push((request, update, Said::not_now()));
                    return Err(damaged(replies));
                }
            }
        }
        let change = match draft.into_change(own.serial, now) {
            Ok(change) => Some(change),
            Err(NoChange::Nothing) => None,
            Err(NoChange::Damaged) => return Err(damaged(replies)),
        };
        let failed = |replies: Vec<Replied>| NotMade::Any(Said::FAILED, updates(replies));
        let Log::Open(open) = &self.log else { return Err(failed(replies)) };
        let mut commit =
            Commit { zone: name.to_owned(), record: None, version: None, replies: Vec::new(), told: None };
        if let Some(change) = &change {
            if !zone.is_based {
                let Some(base) = checkpoint::entries(&self.controller, zone, &self.renewal.rules, now) else {
                    self.renewal.ask([name.to_owned()]);
                    return Err(failed(replies));
                };
                for entry in base {
                    let generation = open.committer.generation();
                    if open.committer.enqueue(generation, Some(Arc::new(entry)), Payload::Base).is_err() {
                        return Err(failed(replies));
                    }
                }
                zone.is_based = true;
                zone.begins_anew();
            }
            // Larger than the log takes, as what the delta refuses, may be the fault of one of them.
            let Ok(entry) = entry(change, now) else { return Err(refuse(replies, requests)) };
            commit.record = Some(Arc::new(entry));
            match zone.apply(change) {
                Ok(applied) => commit.version = Some((applied.changed, applied.parts)),
                Err(Refused::Full) => {
                    self.say_full(name);
                    return Err(NotMade::Any(Said::not_now(), updates(replies)));
                }
                Err(Refused::Damaged) => return Err(damaged(replies)),
                Err(refused) => {
                    if replies.len() == 1 {
                        tracing::error!(zone = %name, "zone {name}: an update that was worked out does not fit: {refused:?}");
                    }
                    return Err(refuse(replies, requests));
                }
            }
        }
        commit.replies = replies.into_iter().map(|(_, update, said)| (update, said)).collect();
        let record = commit.record.clone();
        match open.committer.enqueue(open.committer.generation(), record, Payload::Commit(commit)) {
            // It is committed with all that waits.
            Ok(_queued) => Ok(()),
            Err(refused) => {
                if let Payload::Commit(commit) = refused.payload {
                    self.take_back(commit);
                }
                Ok(())
            }
        }
    }

    /// Makes sure that the zone is one that changes, as its slot shows it.
    pub(super) fn enter(&mut self, name: &Name) -> Result<(), Said> {
        if self.lost.contains_key(name) {
            return Err(Said::not_now());
        }
        if let Some(zone) = self.zones.get_mut(name) {
            if zone.fault.is_some() {
                return Err(Said::not_now());
            }
            if zone.is_waiting() || zone.is_shown(&self.controller.catalog) {
                return Ok(());
            }
            self.drop_zone(name);
        }
        // The log says first that what it has is over, or what begins now would not be told from that.
        if self.gone.get(name) == Some(&false) && !self.write_gone(name, 0) {
            return Err(Said::not_now());
        }
        let catalog = &self.controller.catalog;
        match DynamicZone::adopt(catalog, name, |view, slot| self.controller.pack_of_slot(view, slot)) {
            Some(zone) => {
                self.zones.insert(name.to_owned(), zone);
                Ok(())
            }
            None => {
                let absent = catalog.reader().with(|view| {
                    view.slot_named(name)
                        .is_some_and(|slot| !matches!(view.view_of(slot), Some(View::Zone(_))))
                });
                Err(if absent {
                    Said::not_now()
                } else {
                    Said { rcode: rcode::NOTAUTH, ede: Some(ede::NOT_AUTHORITATIVE) }
                })
            }
        }
    }
}

/// A request, and what will be said to it.
type Replied = (Request, Update, Said);

/// Why there is no version. Whoever is named hears this.
enum NotMade {
    /// It is the fault of none of those that wait: all of them hear the same.
    Any(Said, Vec<Update>),
    /// It is the fault of this one.
    Alone(Said, Vec<Update>),
    /// One of these is at fault, which wait again: each is to be a version of its own.
    Together(usize),
}

fn updates(replies: Vec<Replied>) -> Vec<Update> {
    replies.into_iter().map(|(_, update, _)| update).collect()
}

/// What was made of these is refused: the only one is, several are tried one by one.
fn refuse(replies: Vec<Replied>, requests: &mut Waiting) -> NotMade {
    if replies.len() == 1 {
        return NotMade::Alone(Said::FAILED, updates(replies));
    }
    let count = replies.len();
    replies.into_iter().rev().for_each(|(request, update, _)| requests.push_front((request, update)));
    NotMade::Together(count)
}

/// What is said of an update that is not done.
fn say_failure(zone: &Name, update: &Update, failure: &Failure) {
    let (address, key) = (update.client, update.key_name().map(ToString::to_string));
    let by = key.as_ref().map_or_else(|| address.to_string(), |key| format!("{address}, key {key}"));
    tracing::info!(zone = %zone, address = %address, "zone {zone}: update of {by} not done: {failure}");
}
