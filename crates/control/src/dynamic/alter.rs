//! What the HTTP API has changed: RRsets of a zone that are to be so, all of them or none, as a version of its own.
//!
//! ```text
//! ask, key --queue--> whose, policy, condition -> Draft::alter over the newest state -> Change -> log, with all that waits -> publish -> told
//!                          `-- no: why, once the state is durable that it was told of
//! ```
//!
//! Each has its own version and its own record of the log; all that wait in a turn are written together. Of a turn they have as much time as one zone has ([`ZONE_TIME`]),
//! whoever asks: what is left waits for the next, in order. Design: `docs/design/api.md` 5.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::frame::{Ask, Asked, Set};
use api::tag::{Condition, Tag};
use change::alteration::{self, Altered};
use change::draft::NoChange;
use change::{Draft, SerialStyle};
use wire::iana::rcode;
use wire::{Name, NameBuf, SortKey};
use zone::Change;
use zone::delta::Refused;

use super::changer::{Changer, wall};
use super::group::{Commit, Payload, entry};
use super::handle::Job;
use super::incoming::Told;
use super::log::Log;
use super::once::{Once, WhyNot};
use super::rounds::ZONE_TIME;
use super::storing::{NotBased, STORE_PAUSE};
use crate::api::{Key, words};
use crate::settings::UpdateTerms;

/// RRsets of a zone that are to be so.
pub(crate) struct Alter {
    /// The zone, lower-case.
    pub(crate) zone: NameBuf,
    /// The ask: of one zone, which is this one.
    pub(crate) ask: Box<[u8]>,
    /// Whose it is; that it may was looked at.
    pub(crate) key: Arc<Key>,
    /// The keys among which that one is.
    pub(crate) keys: u64,
    /// When it came.
    pub(crate) since: Instant,
    /// Who is told what became of it.
    pub(crate) done: AlterDone,
}

/// Told once what became of it; `Ok`: it is durable and served, or changes nothing.
pub(crate) type AlterDone = Once<NotAltered, Outcome>;

/// What became of a zone.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Its serial before.
    pub(crate) before: u32,
    /// Its serial now.
    pub(crate) after: u32,
    /// Its version now, if there was a condition.
    pub(crate) tag: Option<Tag>,
    /// Of a dry run: what would change.
    pub(crate) would: Option<Change>,
}

/// Why it is not done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotAltered {
    /// This is said, at this RRset.
    Said {
        /// Status of HTTP.
        status: u16,
        /// Why.
        words: String,
        /// Which RRset, from 0 on.
        set: Option<usize>,
    },
    /// Keys are others since: it is to be looked at whether it may, once more.
    OtherKeys,
    /// Nothing can be kept now, or the zone is being moved.
    NotNow,
}

impl WhyNot for NotAltered {
    const GIVEN_UP: NotAltered = NotAltered::NotNow;
}

fn said(status: u16, words: impl Into<String>) -> NotAltered {
    NotAltered::Said { status, words: words.into(), set: None }
}

impl Alter {
    /// Octets that it takes while it waits.
    pub(super) fn octets(&self) -> usize {
        size_of::<Alter>() + self.ask.len()
    }
}

/// Those that wait, in order. As many as the API lets in.
#[derive(Default)]
pub(super) struct Alters {
    /// Each with when it is looked at, if not at once.
    waiting: VecDeque<(Option<Instant>, Alter)>,
}

impl Alters {
    pub(super) fn push(&mut self, alter: Alter) {
        self.waiting.push_back((None, alter));
    }

    /// When there is something to do.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        self.waiting.iter().map(|(at, _)| at.unwrap_or(now)).min()
    }

    /// Whether something of a zone waits.
    pub(super) fn has(&self, zone: &Name) -> bool {
        self.waiting.iter().any(|(_, alter)| *alter.zone == *zone)
    }
}

/// What became of one in this turn.
enum Turn {
    /// Told, or to be told.
    Over,
    /// It comes again.
    Later(Alter, Duration),
}

impl Changer {
    /// Does what waits, as much as there is time for. Says whether something is to be written.
    pub(super) fn alter_some(&mut self) -> bool {
        let began = Instant::now();
        if self.alters.due(began).is_none_or(|due| due > began) {
            return false;
        }
        let mut later: VecDeque<(Option<Instant>, Alter)> = VecDeque::new();
        while began.elapsed() < ZONE_TIME
            && let Some((at, alter)) = self.alters.waiting.pop_front()
        {
            // Those of one zone in their order: behind one that waits they wait as long.
            let before = later.iter().rev().find(|(_, other)| other.zone == alter.zone).map(|(at, _)| *at);
            if let Some(at) = before.or_else(|| at.filter(|at| *at > began).map(Some)) {
                later.push_back((at, alter));
            } else if let Turn::Later(alter, pause) = self.alter(alter) {
                later.push_back((Some(began + pause), alter));
            }
        }
        // What was not looked at has its turn next.
        while let Some(waits) = later.pop_back() {
            self.alters.waiting.push_front(waits);
        }
        true
    }

    fn alter(&mut self, alter: Alter) -> Turn {
        if self.controller.api.keys_number() != alter.keys {
            alter.done.tell(Err(NotAltered::OtherKeys));
            return Turn::Over;
        }
        let Ok(Ask { asked: Asked::Change { is_dry, zones, .. }, .. }) = Ask::read(&alter.ask) else {
            alter.done.tell(Err(said(422, "not one zone")));
            return Turn::Over;
        };
        let Some(zone) = zones.iter().next() else {
            alter.done.tell(Err(said(422, "not one zone")));
            return Turn::Over;
        };
        let name = alter.zone.clone();
        let terms = match self.terms_of_altered(&name) {
            Ok(terms) => terms,
            Err(why) => {
                alter.done.tell(Err(why));
                return Turn::Over;
            }
        };
        let waits = self.storing.is_awaited_by(&name).then_some(STORE_PAUSE);
        let left = self.pause_of(&name).saturating_sub(alter.since.elapsed());
        if let Some(pause) = waits.or((left > Duration::ZERO).then_some(left)) {
            return Turn::Later(alter, pause);
        }
        let worked_out = self.work_out_alter(&name, (&alter.key, &terms), zone.condition, zone.sets.iter());
        let (before, change) = match worked_out {
            Ok(worked_out) => worked_out,
            Err(why) => {
                // What it says is true of a state that may not be durable yet.
                let is_so = self.settle_before_telling(&name);
                alter.done.tell(Err(if is_so { why } else { NotAltered::NotNow }));
                return Turn::Over;
            }
        };
        let Some(change) = change else {
            let told = match self.settle_before_telling(&name) {
                true => {
                    Ok(Outcome { before, after: before, tag: self.tag(&name, zone.condition), would: None })
                }
                false => Err(NotAltered::NotNow),
            };
            alter.done.tell(told);
            return Turn::Over;
        };
        if is_dry {
            // The tag is of the state that it was worked out over.
            let after = change.serial_after();
            let told = match self.settle_before_telling(&name) {
                true => {
                    Ok(Outcome { before, after, tag: self.tag(&name, Condition::Any), would: Some(change) })
                }
                false => Err(NotAltered::NotNow),
            };
            alter.done.tell(told);
            return Turn::Over;
        }
        match self.write_base(&name) {
            Ok(()) => {}
            Err(NotBased::Later) => return Turn::Later(alter, STORE_PAUSE),
            // Dropped, and so told.
            Err(NotBased::NotNow) => return Turn::Over,
        }
        let condition = zone.condition;
        self.take_altered(&name, &change, condition, alter.done);
        Turn::Over
    }

    /// What holds for changes of a zone, if it can be changed now, by whomever.
    fn terms_of_altered(&mut self, name: &Name) -> Result<UpdateTerms, NotAltered> {
        let controller = Arc::clone(&self.controller);
        if !controller.is_listed(name) {
            return Err(said(404, words::NO_ZONE));
        }
        if let Some(store) = controller.store_of(name) {
            return Err(said(422, format!("this zone is of store {store}: change it there")));
        }
        if controller.is_secondary(name) {
            return Err(said(
                422,
                "this zone is transferred from others, or is a catalog: it is changed where it comes from",
            ));
        }
        let mut terms = controller.update_terms(name);
        if let Some(style) = controller.made.serial_style(name) {
            terms.serial = style;
        }
        if controller.made.is_leaving(name) {
            return Err(NotAltered::NotNow);
        }
        if terms.policy.is_none() {
            return Err(said(
                422,
                "this zone has no `update-policy` in the settings, by which it could be changed",
            ));
        }
        if controller.texts.of(name).is_frozen {
            return Err(said(409, "the zone is frozen by its operator"));
        }
        self.open_log().map_err(|_| NotAltered::NotNow)?;
        self.enter(name).map_err(|why| match controller.fault_of(name) {
            Some(fault) => said(409, format!("the zone takes no changes: {fault}")),
            None if why.rcode == rcode::NOTAUTH => said(404, words::NO_ZONE),
            None => NotAltered::NotNow,
        })?;
        if self.is_full() {
            self.say_full(name);
            return Err(NotAltered::NotNow);
        }
        if self.end_age(name) { Ok(terms) } else { Err(NotAltered::NotNow) }
    }

    /// Works out what changes over the newest state: the serial before, and the change, if there is one.
    fn work_out_alter<'a>(
        &mut self,
        name: &Name,
        (key, terms): (&Key, &UpdateTerms),
        condition: Condition,
        sets: impl Iterator<Item = Set<'a>>,
    ) -> Result<(u32, Option<Change>), NotAltered> {
        let sets: Vec<Altered<'_>> = sets.map(words::altered).collect();
        let policy = terms.policy.as_deref().map(|policy| policy.of_api(key.name()));
        for (number, set) in sets.iter().enumerate() {
            let owner = SortKey::of(set.owner);
            let decision = policy.as_ref().map(|policy| policy.decide(owner.octets(), set.rtype));
            if decision.is_none_or(|decision| !decision.is_granted) {
                let words = match decision.and_then(|decision| decision.rule) {
                    Some(rule) => format!("denied by rule {rule} of the zone's update-policy"),
                    None => format!("no rule of the zone's update-policy grants this to api:{}", key.name()),
                };
                return Err(NotAltered::Said { status: 403, words, set: Some(number) });
            }
        }
        if condition != Condition::None && condition != Condition::Any {
            // Nobody can have the tag of a state that waits for the disk.
            if !self.settle_before_telling(name) {
                return Err(NotAltered::NotNow);
            }
            if !self.tag(name, condition).is_some_and(|tag| condition.holds(tag)) {
                return Err(said(412, "the zone is in another version"));
            }
        }
        let damaged = || {
            tracing::error!(zone = %name, "zone {name}: its pack cannot be read: not changed");
            NotAltered::NotNow
        };
        let view = self.zones.get(name).and_then(|zone| zone.newest()).ok_or(NotAltered::NotNow)?;
        let before = view.row().serial;
        let (style, now): (SerialStyle, u64) = (terms.serial, wall());
        let mut draft = Draft::new(view).map_err(|_| damaged())?;
        if let Err(refused) = draft.alter(&sets, &terms.limits, (style, now)).map_err(|_| damaged())? {
            let alteration::Refused { set, fault } = refused;
            let status = if fault == alteration::Fault::TooMuch { 413 } else { 422 };
            return Err(NotAltered::Said { status, words: fault.to_string(), set });
        }
        match draft.into_change(style, now) {
            Ok(change) => Ok((before, Some(change))),
            Err(NoChange::Nothing) => Ok((before, None)),
            Err(NoChange::Damaged) => Err(damaged()),
        }
    }

    /// Has a change wait for the disk.
    fn take_altered(&mut self, name: &NameBuf, change: &Change, condition: Condition, done: AlterDone) {
        let Ok(record) = entry(change, wall()) else {
            return done.tell(Err(said(413, "more changes than the log takes in one")));
        };
        let Some(zone) = self.zones.get_mut(name) else { return };
        let applied = match zone.apply(change) {
            Ok(applied) => applied,
            Err(Refused::Full) => return self.say_full(name),
            Err(Refused::Damaged) => return,
            Err(refused) => {
                tracing::error!(zone = %name, "zone {name}: a change that was worked out does not fit: {refused:?}");
                return done.tell(Err(said(422, "this cannot be changed in place")));
            }
        };
        let (before, after) = (change.serial_before(), change.serial_after());
        let (owner, served) = (Arc::downgrade(&self.controller), name.clone());
        let told = Told::new(move |result| {
            let outcome = result.map_err(|_| NotAltered::NotNow).map(|()| {
                // It has just been published, on this thread.
                let controller = condition.is_some().then(|| owner.upgrade()).flatten();
                let tag = controller.and_then(|controller| controller.api.tag_of(&controller, &served));
                Outcome { before, after, tag, would: None }
            });
            done.tell(outcome);
        });
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
        let queued =
            open.committer.enqueue(open.committer.generation(), Some(record), Payload::Commit(commit));
        if let Err(refused) = queued.map(drop)
            && let Payload::Commit(commit) = refused.payload
        {
            self.take_back(commit);
        }
    }

    /// Has what waits of a zone be written, as something is to be told that is true of its newest state. False: it waits on, was taken back, or the zone is another one.
    fn settle_before_telling(&mut self, name: &Name) -> bool {
        let newest = |changer: &Changer| Some(changer.zones.get(name)?.newest_box().state());
        let told_of = newest(self);
        if self.zones.get(name).is_some_and(|zone| zone.is_waiting()) {
            self.commit();
        }
        // What waited and could not be written is gone: then nothing waits either.
        told_of.is_some()
            && newest(self) == told_of
            && self.zones.get(name).is_some_and(|zone| !zone.is_waiting())
    }

    /// The tag of what is served of a zone, where there is a condition.
    fn tag(&self, name: &Name, condition: Condition) -> Option<Tag> {
        condition.is_some().then(|| self.controller.api.tag_of(&self.controller, name)).flatten()
    }
}

impl super::Dynamic {
    /// Takes RRsets that are to be so. What is refused is told so.
    pub(crate) fn alter(&self, alter: Alter) {
        let octets = alter.octets();
        if self.is_running() {
            // What comes back says that it is not done when it is dropped.
            drop(self.queue.push(Job::Alter(Box::new(alter)), octets));
        }
    }
}
