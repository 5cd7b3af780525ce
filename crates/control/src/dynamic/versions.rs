//! What is made of updates: those that wait for a zone become one version of it, which waits for the disk.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use change::draft::NoChange;
use change::{Applied, Draft, Failure, Request, Terms};
use wire::Name;
use wire::iana::{ede, rcode};
use zone::catalog::View;
use zone::delta::Refused;

use super::changer::{Changer, wall};
use super::group::{Commit, Payload, entry};
use super::log::Log;
use super::prover::Verdict;
use super::proving::{Known, known};
use super::rounds::{ROUND_OCTETS_MAX, ZONE_TIME};
use super::storing::{NotBased, STORE_PAUSE};
use super::update::{Said, Update, Words};
use super::zone::DynamicZone;

/// Differences that one zone makes of what waits for it, at most: each is a version. What is left waits for the next turn.
const VERSIONS_A_TURN: usize = 64;

/// Its operator has frozen the zone, to edit its text.
const IS_FROZEN: Said =
    Said::with_ede(rcode::REFUSED, ede::PROHIBITED).because("the zone is frozen by its operator");
/// The zone is transferred from others.
const IS_SECONDARY: Said = Said::with_ede(rcode::REFUSED, ede::PROHIBITED)
    .because("the zone is transferred from its primary, which takes updates");
/// Its delta, or all of them, have as much as they may.
const IS_FULL: Said =
    Said::not_now().because("the zone has changed too much, and takes updates once it is stored");

/// What waits for one zone.
pub(super) type Waiting = VecDeque<Update>;

impl Changer {
    /// Works out what waits for a zone, as much as it has time for in a round, and has it wait for the disk; what cannot be done is replied to at once. Returns
    /// how many octets the records have.
    pub(super) fn work_out(&mut self, name: &Name, requests: &mut Waiting) -> usize {
        match self.may_change(name) {
            Ok(()) => self.make_versions(name, requests),
            Err(said) => {
                self.reply_all(requests.drain(..), said);
                0
            }
        }
    }

    /// Whether updates of a zone can be done now; what is said to them else.
    fn may_change(&mut self, name: &Name) -> Result<(), Said> {
        self.open_log()?;
        if let Some(store) = self.controller.store_of(name) {
            tracing::info!(zone = %name, "zone {name}: updates refused: it is of store {store}");
            let words = Words::OfStore(store);
            return Err(Said { words, ..Said::with_ede(rcode::REFUSED, ede::PROHIBITED) });
        }
        if self.controller.made.is_leaving(name) {
            return Err(Said::not_now());
        }
        if self.controller.is_secondary(name) {
            tracing::info!(zone = %name, "zone {name}: updates refused: it is transferred from others, and `forward-updates` is not set");
            // Its primary is to be told.
            return Err(IS_SECONDARY);
        }
        if self.controller.texts.of(name).is_frozen {
            // Its operator edits the text, and thaws it.
            tracing::info!(zone = %name, "zone {name}: updates refused, as it is frozen");
            return Err(IS_FROZEN);
        }
        self.enter(name)?;
        if self.is_full() {
            self.say_full(name);
            return Err(IS_FULL);
        }
        if self.end_age(name) { Ok(()) } else { Err(Said::not_now()) }
    }

    fn make_versions(&mut self, name: &Name, requests: &mut Waiting) -> usize {
        if self.storing.is_awaited_by(name) {
            self.put_off(name, requests);
            return 0;
        }
        let (until, mut octets) = (Instant::now() + ZONE_TIME, 0);
        for _ in 0..VERSIONS_A_TURN {
            if requests.is_empty() || octets > ROUND_OCTETS_MAX {
                break;
            }
            match self.make_version(name, requests, until) {
                Ok(own) => octets += own,
                Err(NotMade::Together) => {}
                Err(NotMade::Later) => {
                    self.put_off(name, requests);
                    break;
                }
                Err(NotMade::Alone(said, replies)) => self.reply_all(replies, said),
                Err(NotMade::Any(said, replies)) => {
                    self.reply_all(replies, said);
                    self.reply_all(requests.drain(..), said);
                    break;
                }
            }
            if Instant::now() >= until {
                break;
            }
        }
        octets
    }

    /// Has updates come again once the pack of their zone may be stored.
    fn put_off(&mut self, name: &Name, requests: &mut Waiting) {
        let (due, all) = (Instant::now() + STORE_PAUSE, std::mem::take(requests));
        if let Err(refused) = self.delayed.push(due, name.to_owned(), all) {
            self.reply_all(refused, Said::not_now());
        }
    }

    /// Makes one version of a zone of what waits for it, as much as can be done until then, and has it wait for the disk. Returns how many octets its record has.
    fn make_version(
        &mut self,
        name: &Name,
        requests: &mut Waiting,
        until: Instant,
    ) -> Result<usize, NotMade> {
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
        let own = match zone.slot() {
            Some(slot) => self.controller.update_terms_at(slot),
            None => self.controller.update_terms(name),
        };
        let Ok(mut draft) = Draft::new(view) else { return Err(damaged(replies)) };
        let mut is_unproved = false;
        let goes_on = |replies: &[Replied], next: &Update| match replies.last() {
            None => true,
            Some((last, _)) => !last.is_alone && !next.is_alone && Instant::now() < until,
        };
        while requests.front().is_some_and(|next| goes_on(&replies, next))
            && let Some(update) = requests.pop_front()
        {
            let over = draft.is_unchanged().then(|| zone.newest_box());
            let proof = match known(&update, over) {
                Known::Proof(proof) => proof,
                Known::Said(Verdict::Wrong(failure)) => {
                    say_failure(name, &update, &failure);
                    replies.push((update, Said::from(&failure)));
                    continue;
                }
                Known::Said(_) => {
                    replies.push((update, Said::not_now()));
                    continue;
                }
            };
            let terms = Terms { policy: own.policy.as_deref(), limits: own.limits, now, proof };
            let request = match Request::read(&update.message) {
                Ok(request) => request,
                Err(failure) => {
                    replies.push((update, Said::from(&failure)));
                    continue;
                }
            };
            match draft.update(&request, &update.asker(), &terms) {
                Ok(Applied::Done) => replies.push((update, Said::DONE)),
                Ok(Applied::Failed(failure)) => {
                    say_failure(name, &update, &failure);
                    replies.push((update, Said::from(&failure)));
                }
                Ok(Applied::CommitFirst) => {
                    requests.push_front(update);
                    break;
                }
                Ok(Applied::Unproved) => {
                    requests.push_front(update);
                    is_unproved = true;
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
        if is_unproved {
            // Nothing has changed before it, and nothing of it is in the draft.
            self.hold_for_proof(name, requests);
            if replies.is_empty() {
                return Ok(0);
            }
        }
        let failed = |replies: Vec<Replied>| NotMade::Any(Said::FAILED, updates(replies));
        if change.is_some() {
            match self.write_base(name) {
                Ok(()) => {}
                Err(NotBased::NotNow) => return Err(failed(replies)),
                Err(NotBased::Later) => {
                    put_back(replies, requests);
                    return Err(NotMade::Later);
                }
            }
        }
        let (Some(zone), Log::Open(open)) = (self.zones.get_mut(name), &self.log) else {
            return Err(failed(replies));
        };
        let mut commit =
            Commit { zone: name.to_owned(), record: None, version: None, replies: Vec::new(), told: None };
        if let Some(change) = &change {
            // Larger than the log takes, as what the delta refuses, may be the fault of one of them.
            let Ok(entry) = entry(change, now) else { return Err(refuse(replies, requests)) };
            commit.record = Some(Arc::new(entry));
            match zone.apply(change) {
                Ok(applied) => commit.version = Some((applied.changed, applied.parts)),
                Err(Refused::Full) => {
                    self.say_full(name);
                    return Err(NotMade::Any(IS_FULL, updates(replies)));
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
        commit.replies = replies;
        let octets_of =
            |change: &zone::Change| change.removed().octets().len() + change.added().octets().len();
        let octets = change.as_ref().map_or(0, octets_of);
        let record = commit.record.clone();
        match open.committer.enqueue(open.committer.generation(), record, Payload::Commit(commit)) {
            // It is committed with all that waits.
            Ok(_queued) => Ok(octets),
            Err(refused) => {
                if let Payload::Commit(commit) = refused.payload {
                    self.take_back(commit);
                }
                Ok(0)
            }
        }
    }

    /// Makes sure that the zone is one that changes, as its slot shows it.
    pub(super) fn enter(&mut self, name: &Name) -> Result<(), Said> {
        if self.lost.contains_key(name) {
            return Err(Said::not_now());
        }
        if let Some(zone) = self.zones.get_mut(name) {
            if zone.fault.is_some() || zone.is_resting {
                return Err(Said::not_now());
            }
            if zone.is_waiting() || zone.is_claimed(&self.controller) {
                if !zone.is_published() {
                    self.claimed.insert(name.to_owned());
                }
                return Ok(());
            }
            // What was found missing stays so, whatever the log is told.
            let fault = self.controller.fault_of(name);
            self.drop_zone(name);
            self.controller.set_fault(name, fault);
        }
        if let Some(fault) = self.controller.fault_of(name) {
            // Found missing as its text was read.
            self.lost.insert(name.to_owned(), fault);
            return Err(Said::not_now());
        }
        // The log says first that what it has is over, or what begins now would not be told from that.
        if self.gone.get(name) == Some(&false) && !self.write_gone(name, 0) {
            return Err(Said::not_now());
        }
        let catalog = &self.controller.catalog;
        match DynamicZone::adopt(catalog, name, |view, slot| self.controller.pack_of_slot(view, slot)) {
            Some(mut zone) => {
                // Else it has moved just now: it comes again.
                let is_claimed = zone.is_claimed(&self.controller);
                zone.merged = self.renewal.rested.remove(name);
                self.claimed.insert(name.to_owned());
                self.zones.insert(name.to_owned(), zone);
                if is_claimed { Ok(()) } else { Err(Said::not_now()) }
            }
            None => {
                let absent = catalog.reader().with(|view| {
                    view.slot_named(name)
                        .is_some_and(|slot| !matches!(view.view_of(slot), Some(View::Zone(_))))
                });
                Err(if absent {
                    Said::not_now()
                } else {
                    Said::with_ede(rcode::NOTAUTH, ede::NOT_AUTHORITATIVE)
                })
            }
        }
    }
}

/// A request, and what will be said to it.
type Replied = (Update, Said);

/// Why there is no version. Whoever is named hears this.
enum NotMade {
    /// It is the fault of none of those that wait: all of them hear the same.
    Any(Said, Vec<Update>),
    /// It is the fault of this one.
    Alone(Said, Vec<Update>),
    /// One of several is at fault, which wait again: each is to be a version of its own.
    Together,
    /// They wait again, for what the zone changes from to be stored.
    Later,
}

fn updates(replies: Vec<Replied>) -> Vec<Update> {
    replies.into_iter().map(|(update, _)| update).collect()
}

/// What was made of these is refused: the only one is, several are tried one by one.
fn refuse(mut replies: Vec<Replied>, requests: &mut Waiting) -> NotMade {
    if replies.len() == 1 {
        return NotMade::Alone(Said::FAILED, updates(replies));
    }
    // Rounds may end before all of them had their turn.
    replies.iter_mut().for_each(|(update, _)| update.is_alone = true);
    put_back(replies, requests);
    NotMade::Together
}

/// These wait again, before all others.
fn put_back(replies: Vec<Replied>, requests: &mut Waiting) {
    replies.into_iter().rev().for_each(|(update, _)| requests.push_front(update));
}

/// What is said of an update that is not done.
fn say_failure(zone: &Name, update: &Update, failure: &Failure) {
    let (address, key) = (update.client, update.key_name().map(ToString::to_string));
    let by = key.as_ref().map_or_else(|| address.to_string(), |key| format!("{address}, key {key}"));
    tracing::info!(zone = %zone, address = %address, "zone {zone}: update of {by} not done: {failure}");
}
