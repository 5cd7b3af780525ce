//! An ask worked out: of each zone whether it may be changed, by this key, on this condition, and what that changes; all of them, or why not.
//!
//! A zone is there once, so that no draft stands on another: all are worked out before anything is put into a delta, and most of what can be wrong is found with nothing
//! to take back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::frame::{Ask, Asked};
use api::tag::Condition;
use change::alteration::{Altered, Fault};
use change::draft::NoChange;
use change::{Draft, SerialStyle};
use journal::Entry;
use journal::record::RECORD_OCTETS_MAX;
use wire::iana::rcode;
use wire::{Name, NameBuf, SortKey};
use zone::Change;

use super::together::Part;
use super::{Alter, NotAltered, Outcome, Why};
use crate::api::{Key, words};
use crate::controller::Controller;
use crate::dynamic::changer::{Changer, wall};
use crate::dynamic::group::entry;
use crate::dynamic::repeats::{Look, Repeat};
use crate::dynamic::storing::{NotBased, STORE_PAUSE};
use crate::settings::UpdateTerms;

/// Octets of records that are read and changed for all zones of an ask, and those of one zone more: twice what one zone's may be.
pub(super) const READ_OCTETS_MAX: usize = 4 << 20;

/// What is wanted of one of the zones.
pub(super) struct Wanted<'a> {
    pub(super) number: usize,
    pub(super) name: &'a NameBuf,
    pub(super) terms: UpdateTerms,
    pub(super) condition: Condition,
    pub(super) sets: Vec<Altered<'a>>,
}

/// What changes in a zone: its serial before, and the change with its record of the log, if there is one.
struct Worked {
    before: u32,
    change: Option<(Change, Entry)>,
}

/// What all zones of an ask have taken so far.
#[derive(Default)]
struct Taken {
    /// Octets that drafts have read and put in.
    read: usize,
    /// Octets of records of the log.
    written: usize,
}

impl Changer {
    /// Works out what changes in all of its zones, and puts that into their deltas.
    pub(super) fn work_out_alter(&mut self, alter: &Alter) -> Result<Vec<Part>, Why> {
        if self.controller.api.keys_number() != alter.keys {
            return Err(NotAltered::OtherKeys.into());
        }
        let Ok(Ask { asked: Asked::Change { is_dry, zones, .. }, .. }) = Ask::read(&alter.ask) else {
            return Err(NotAltered::said(422, "no change of zones").into());
        };
        if let Some(repeat) = &alter.repeat {
            self.look_at_repeat(&alter.zones, repeat)?;
        }
        let mut wanted = Vec::with_capacity(alter.zones.len());
        for (number, (name, zone)) in alter.zones.iter().zip(zones.iter()).enumerate() {
            if alter.zones.len() > 1 && self.controller.stores.may_write(name) {
                return Err(NotAltered::said(422, words::STORE_ALONE).of(number).into());
            }
            let terms = self.terms_of_altered(name).map_err(|why| why.of(number))?;
            // What is written is its store's to write: settings may be others since that was looked at.
            if !is_dry && self.controller.store_of(name).is_some() {
                return Err(NotAltered::NotNow.into());
            }
            let sets = zone.sets.iter().map(words::altered).collect();
            wanted.push(Wanted { number, name, terms, condition: zone.condition, sets });
        }
        let pause = wanted.iter().map(|zone| self.pause_of_altered(zone.name, alter.since)).max();
        if let Some(pause) = pause.filter(|pause| *pause > Duration::ZERO) {
            return Err(Why::Later(pause));
        }
        for zone in &wanted {
            may_alter(&alter.key, zone).map_err(|why| why.of(zone.number))?;
        }
        self.look_at_conditions(&wanted)?;
        let worked = self.work_out_each(&wanted)?;
        let is_nothing = worked.iter().all(|worked| worked.change.is_none());
        if is_dry || is_nothing {
            return Err(self.told_of(&wanted, worked, is_dry));
        }
        for (zone, _) in wanted.iter().zip(&worked).filter(|(_, worked)| worked.change.is_some()) {
            // What one begins from is no harm alone, should another one have to wait.
            self.write_base(zone.name).map_err(|why| match why {
                NotBased::Later => Why::Later(STORE_PAUSE),
                NotBased::NotNow => NotAltered::NotNow.into(),
            })?;
        }
        self.put_in_each(&wanted, worked)
    }

    /// Whether it is to be done at all, or was, as is told then.
    pub(super) fn look_at_repeat(&mut self, zones: &[NameBuf], repeat: &Repeat) -> Result<(), Why> {
        if self.repeats.look(repeat, wall()) == Look::UnderWay {
            // It is told what comes of the first.
            self.commit();
        }
        let done = match self.repeats.look(repeat, wall()) {
            Look::New => return Ok(()),
            Look::UnderWay => return Err(NotAltered::NotNow.into()),
            Look::Other => return Err(NotAltered::OtherRequest.into()),
            Look::Done(done) => done,
        };
        let of = |zone: &NameBuf| {
            let (_, (before, after)) = done.iter().find(|(name, _)| name == zone)?;
            Some(Outcome { before: *before, after: *after, tag: None, would: None })
        };
        Err(Why::Told(zones.iter().map(of).collect()))
    }

    /// How long a zone cannot be changed yet.
    pub(super) fn pause_of_altered(&self, name: &Name, since: Instant) -> Duration {
        match self.storing.is_awaited_by(name) {
            true => STORE_PAUSE,
            false => self.pause_of(name).saturating_sub(since.elapsed()),
        }
    }

    /// What holds for changes of a zone, if it can be changed now, by whomever.
    pub(super) fn terms_of_altered(&mut self, name: &Name) -> Result<UpdateTerms, NotAltered> {
        let controller = Arc::clone(&self.controller);
        let mut terms = controller.update_terms(name);
        controller.expect_alterable(name, &terms)?;
        if let Some(style) = controller.made.serial_style(name) {
            terms.serial = style;
        }
        self.open_log().map_err(|_| NotAltered::NotNow)?;
        self.enter(name).map_err(|why| match controller.expect_no_fault(name) {
            Err(fault) => fault,
            Ok(()) if why.rcode == rcode::NOTAUTH => NotAltered::said(404, words::NO_ZONE),
            Ok(()) => NotAltered::NotNow,
        })?;
        if self.is_full() {
            self.say_full(name);
            return Err(NotAltered::NotNow);
        }
        if self.end_age(name) { Ok(terms) } else { Err(NotAltered::NotNow) }
    }

    /// Whether zones are in the versions that are asked for.
    pub(super) fn look_at_conditions(&mut self, wanted: &[Wanted<'_>]) -> Result<(), NotAltered> {
        let conditions = wanted.iter().filter(|zone| matches!(zone.condition, Condition::OneOf(_)));
        // Nobody can have the tag of a state that waits for the disk.
        if !self.settle_before_telling(conditions.clone().map(|zone| &**zone.name)) {
            return Err(NotAltered::NotNow);
        }
        for zone in conditions {
            if !self.tag(zone.name, zone.condition).is_some_and(|tag| zone.condition.holds(tag)) {
                return Err(NotAltered::said(412, "the zone is in another version").of(zone.number));
            }
        }
        Ok(())
    }

    /// Works out what changes in each zone, over its newest state.
    fn work_out_each(&mut self, wanted: &[Wanted<'_>]) -> Result<Vec<Worked>, NotAltered> {
        let (mut all, mut taken) = (Vec::with_capacity(wanted.len()), Taken::default());
        for zone in wanted {
            match self.work_out_one(zone, &mut taken) {
                Ok(worked) => all.push(worked),
                // What it says is true of a state that may not be durable yet.
                Err(why) if self.settle_before_telling([&**zone.name]) => return Err(why.of(zone.number)),
                Err(_) => return Err(NotAltered::NotNow),
            }
        }
        Ok(all)
    }

    /// The same of one.
    fn work_out_one(&self, zone: &Wanted<'_>, taken: &mut Taken) -> Result<Worked, NotAltered> {
        let Wanted { name, terms, sets, .. } = zone;
        if taken.read >= READ_OCTETS_MAX {
            return Err(NotAltered::said(413, Fault::TooMuch.to_string()));
        }
        let damaged = || {
            tracing::error!(zone = %name, "zone {name}: its pack cannot be read: not changed");
            NotAltered::NotNow
        };
        let view = self.zones.get(*name).and_then(|zone| zone.newest()).ok_or(NotAltered::NotNow)?;
        let before = view.row().serial;
        let (style, now): (SerialStyle, u64) = (terms.serial, wall());
        let mut draft = Draft::new(view).map_err(|_| damaged())?;
        let altered = draft.alter(sets, &terms.limits, (style, now)).map_err(|_| damaged())?;
        taken.read += draft.octets();
        if let Err(refused) = altered {
            let status = if refused.fault == Fault::TooMuch { 413 } else { 422 };
            let words = refused.fault.to_string();
            return Err(NotAltered::Said { status, words, zone: 0, set: refused.set });
        }
        let change = match draft.into_change(style, now) {
            Ok(change) => change,
            Err(NoChange::Nothing) => return Ok(Worked { before, change: None }),
            Err(NoChange::Damaged) => return Err(damaged()),
        };
        let too_large = || NotAltered::said(413, "more changes than the log takes in one");
        let record = entry(&change, now).map_err(|_| too_large())?;
        taken.written += record.octets();
        if taken.written > RECORD_OCTETS_MAX {
            return Err(too_large());
        }
        Ok(Worked { before, change: Some((change, record)) })
    }

    /// What is told where nothing changes, or is to: true of states that are durable.
    fn told_of(&mut self, wanted: &[Wanted<'_>], worked: Vec<Worked>, is_dry: bool) -> Why {
        if !self.settle_before_telling(wanted.iter().map(|zone| &**zone.name)) {
            return NotAltered::NotNow.into();
        }
        let told = wanted.iter().zip(worked).map(|(zone, Worked { before, change })| {
            let would = change.map(|(change, _)| change);
            let after = would.as_ref().map_or(before, Change::serial_after);
            // Of a dry run the tag is of the state that it was worked out over.
            let tag = self.tag(zone.name, if is_dry { Condition::Any } else { zone.condition });
            Some(Outcome { before, after, tag, would })
        });
        Why::Told(told.collect())
    }

    /// Puts what changes into the deltas of all zones, or of none.
    fn put_in_each(&mut self, wanted: &[Wanted<'_>], worked: Vec<Worked>) -> Result<Vec<Part>, Why> {
        let mut parts = Vec::with_capacity(wanted.len());
        for (zone, Worked { before, change }) in wanted.iter().zip(worked) {
            let Wanted { name, condition, .. } = zone;
            let after = change.as_ref().map_or(before, |(change, _)| change.serial_after());
            let commit = change.map(|(change, record)| self.put_in(name, &change, record)).transpose();
            match commit {
                Ok(commit) => {
                    let outcome = Outcome { before, after, tag: None, would: None };
                    parts.push(Part { zone: (*name).clone(), condition: *condition, outcome, commit });
                }
                Err(why) => {
                    self.take_back_parts(parts);
                    return Err(why.of(zone.number).into());
                }
            }
        }
        Ok(parts)
    }
}

impl Controller {
    /// Whether RRsets of a zone can be changed over the API, whoever asks, as far as that is known without its data. `name`: lower-case; `terms`: those of its updates.
    pub(crate) fn expect_alterable(&self, name: &Name, terms: &UpdateTerms) -> Result<(), NotAltered> {
        if !self.is_listed(name) {
            return Err(NotAltered::said(404, words::NO_ZONE));
        }
        self.expect_store_takes(name).map_err(|words| NotAltered::said(422, words))?;
        if self.is_secondary(name) && self.store_of(name).is_none() {
            return Err(NotAltered::said(
                422,
                "this zone is transferred from others, or is a catalog: it is changed where it comes from",
            ));
        }
        if self.made.is_leaving(name) {
            return Err(NotAltered::NotNow);
        }
        if terms.policy.is_none() {
            return Err(NotAltered::said(
                422,
                "this zone has no `update-policy` in the settings, by which it could be changed",
            ));
        }
        if self.texts.of(name).is_frozen {
            return Err(NotAltered::said(409, "the zone is frozen by its operator"));
        }
        Ok(())
    }

    /// The error: the log has lost changes of a zone. `name`: lower-case.
    pub(crate) fn expect_no_fault(&self, name: &Name) -> Result<(), NotAltered> {
        let fault = self.fault_of(name);
        fault
            .map_or(Ok(()), |fault| Err(NotAltered::said(409, format!("the zone takes no changes: {fault}"))))
    }
}

/// Whether the policy of a zone has the key change all that it asks for.
pub(super) fn may_alter(key: &Key, zone: &Wanted<'_>) -> Result<(), NotAltered> {
    let policy = zone.terms.policy.as_deref().map(|policy| policy.of_api(key.name()));
    for (number, set) in zone.sets.iter().enumerate() {
        let owner = SortKey::of(set.owner);
        let decision = policy.as_ref().map(|policy| policy.decide(owner.octets(), set.rtype));
        if decision.is_none_or(|decision| !decision.is_granted) {
            let words = match decision.and_then(|decision| decision.rule) {
                Some(rule) => format!("denied by rule {rule} of the zone's update-policy"),
                None => format!("no rule of the zone's update-policy grants this to api:{}", key.name()),
            };
            return Err(NotAltered::Said { status: 403, words, zone: 0, set: Some(number) });
        }
    }
    Ok(())
}
