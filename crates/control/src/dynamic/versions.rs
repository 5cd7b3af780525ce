//! What is made of updates: those that wait for a zone become one version of it, which waits for the disk.

use std::collections::VecDeque;
use std::sync::Arc;

use change::draft::NoChange;
use change::{Applied, Draft, Failure, Request, Terms};
use wire::Name;
use wire::iana::{ede, rcode};
use zone::catalog::View;

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
        if let Err(said) = self.enter(name) {
            return self.reply_all(all(requests), said);
        }
        for _ in 0..VERSIONS_A_TURN {
            if requests.is_empty() {
                return;
            }
            if let Err((said, replies)) = self.make_version(name, requests) {
                self.reply_all(replies, said);
                return self.reply_all(all(requests), said);
            }
        }
    }

    /// Makes one version of a zone of what waits for it, and has it wait for the disk.
    fn make_version(&mut self, name: &Name, requests: &mut Waiting) -> Result<(), (Said, Vec<Update>)> {
        let now = wall();
        let damaged = |replies: Vec<(Update, Said)>| {
            tracing::error!(zone = %name, "zone {name}: its pack cannot be read: not updated");
            (Said::not_now(), replies.into_iter().map(|(update, _)| update).collect::<Vec<_>>())
        };
        let Some(zone) = self.zones.get_mut(name) else { return Err((Said::not_now(), Vec::new())) };
        let mut replies: Vec<(Update, Said)> = Vec::new();
        let Some(view) = zone.newest() else { return Err(damaged(replies)) };
        let own = self.controller.update_terms(name);
        let terms = Terms { policy: own.policy.as_deref(), limits: own.limits, now };
        let Ok(mut draft) = Draft::new(view) else { return Err(damaged(replies)) };
        while let Some((request, update)) = requests.pop_front() {
            match draft.update(&request, &update.asker(), &terms) {
                Ok(Applied::Done) => replies.push((update, Said::DONE)),
                Ok(Applied::Failed(failure)) => {
                    say_failure(name, &update, &failure);
                    replies.push((update, Said::from(&failure)));
                }
                Ok(Applied::CommitFirst) => {
                    requests.push_front((request, update));
                    break;
                }
                Err(change::draft::Damaged) => {
                    replies.push((update, Said::not_now()));
                    return Err(damaged(replies));
                }
            }
        }
        let change = match draft.into_change(own.serial, now) {
            Ok(change) => Some(change),
            Err(NoChange::Nothing) => None,
            Err(NoChange::Damaged) => return Err(damaged(replies)),
        };
        let failed = |replies: Vec<(Update, Said)>| {
            (Said::FAILED, replies.into_iter().map(|(update, _)| update).collect::<Vec<_>>())
        };
        let Log::Open(open) = &self.log else { return Err(failed(replies)) };
        let mut commit = Commit { zone: name.to_owned(), version: None, replies: Vec::new(), told: None };
        let mut record = None;
        if let Some(change) = &change {
            if !zone.is_based {
                let Some(base) = checkpoint::entries(&self.controller, zone, now) else {
                    return Err(failed(replies));
                };
                for entry in base {
                    let generation = open.committer.generation();
                    if open.committer.enqueue(generation, Some(Arc::new(entry)), Payload::Base).is_err() {
                        return Err(failed(replies));
                    }
                }
                zone.is_based = true;
            }
            let Ok(entry) = entry(change, now) else { return Err(failed(replies)) };
            record = Some(Arc::new(entry));
            match zone.apply(change) {
                Ok(applied) => commit.version = Some((applied.changed, applied.parts)),
                Err(refused) => {
                    tracing::error!(zone = %name, "zone {name}: an update that was worked out does not fit: {refused:?}");
                    return Err(failed(replies));
                }
            }
        }
        commit.replies = replies;
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
        let catalog = &self.controller.catalog;
        if self.lost.contains_key(name) {
            return Err(Said::not_now());
        }
        if let Some(zone) = self.zones.get_mut(name) {
            if zone.fault.is_some() {
                return Err(Said::not_now());
            }
            if zone.is_waiting() || zone.is_shown(catalog) {
                return Ok(());
            }
            self.zones.remove(name);
        }
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

/// What is said of an update that is not done.
fn say_failure(zone: &Name, update: &Update, failure: &Failure) {
    let (address, key) = (update.client, update.key_name().map(ToString::to_string));
    let by = key.as_ref().map_or_else(|| address.to_string(), |key| format!("{address}, key {key}"));
    tracing::info!(zone = %zone, address = %address, "zone {zone}: update of {by} not done: {failure}");
}
