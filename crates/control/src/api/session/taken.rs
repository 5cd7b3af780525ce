//! What other threads have to tell of asks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use api::frame::{Ask, Done, Item, Piece, Run, Version};
use wire::NameBuf;

use super::change::pieces_of;
use super::{ATTEMPTS_MAX, Around, Entry, Session, State, full, not_now, wall};
use crate::api::Keys;
use crate::api::explain::{Explaining, Question, Terms};
use crate::api::inbox::Event;
use crate::api::judge::{At, NO_KEY, No};
use crate::api::look::{Listed, Look, NotPinned, Pinned};
use crate::api::make::Worked;
use crate::api::reading::{Reading, frame, row, rows_frame};
use crate::api::words::NO_ZONE;
use crate::dynamic::{NotAltered, Outcome};

/// What is said of a key of repeats that was another request's.
const OTHER_REQUEST: &str = "`Idempotency-Key`: another request was made with it";

impl Session {
    /// Takes what another thread has to tell of an ask.
    pub(in crate::api) fn take(&mut self, around: &Around, keys: &Keys, event: Event) {
        match event {
            Event::Altered(of, result) if of.session == self.number => {
                self.altered(around, keys, of.ask, result);
            }
            Event::Worked(of, result) if of.session == self.number => {
                self.worked(around, keys, of.ask, result);
            }
            Event::Pinned(of, pinned) if of.session == self.number => self.pinned(around, of.ask, pinned),
            Event::Pinned(_, Ok(pinned)) => drop(around.looks.push(Look::Unpin(pinned.zone), 0)),
            Event::Listed(of, listed) if of.session == self.number => self.listed(around, of.ask, listed),
            Event::Acted(of, result) if of.session == self.number => match result {
                Ok(words) => {
                    let done = Done { status: 200, retry_after: 0, is_cut: false, next: None, words };
                    self.done(around, of.ask, &done);
                }
                Err((status, words)) => self.refuse(around, of.ask, &No::new(status, words)),
            },
            Event::Explained(of, told) if of.session == self.number => self.explained(around, of.ask, told),
            Event::Versions(of, versions) if of.session == self.number => {
                let of_all = |versions: Vec<Version>| {
                    let mut octets = Vec::new();
                    versions.iter().for_each(|version| version.write(&mut octets));
                    let piece = Run::read(&octets).and_then(|run| frame(of.ask, Piece::Versions(run)));
                    piece.into_iter().collect()
                };
                self.ready(around, of.ask, versions.map(of_all));
            }
            Event::Undo(of, frames) if of.session == self.number => self.ready(around, of.ask, frames),
            Event::Told(of, frames) if of.session == self.number => self.ready(around, of.ask, frames),
            Event::Numbers(of, octets) if of.session == self.number => {
                let piece = Run::read(&octets).and_then(|run| frame(of.ask, Piece::Numbers(run)));
                self.ready(around, of.ask, Ok(piece.into_iter().collect()));
            }
            Event::Sought(of, sought) if of.session == self.number => self.sought(around, of.ask, sought),
            Event::Keys(_) => self.look_at_keys(around, keys),
            Event::Shown(certificate) => self.show(&certificate),
            _ => {}
        }
    }

    /// Ends what is told to keys that are none any more. What they change is looked at by who changes it; what is changed is told as such.
    fn look_at_keys(&mut self, around: &Around, keys: &Keys) {
        let now = wall();
        let is_gone = |entry: &Entry| {
            let is_told = !entry.is_done && !matches!(entry.state, State::Changing { .. } | State::Long(..));
            is_told && !entry.is_silent && entry.key.as_ref().is_some_and(|key| keys.same(key, now).is_none())
        };
        let gone: Vec<u32> =
            self.asks.iter().filter(|(_, entry)| is_gone(entry)).map(|(number, _)| *number).collect();
        for number in gone {
            let is_awaited = self.asks.get(&number).is_some_and(|entry| match &entry.state {
                State::Pinning(..) | State::Acting => true,
                State::Listing(listing) => listing.is_looking,
                State::Seeking(seeking) => seeking.is_under_way(),
                _ => false,
            });
            // What is awaited comes to nobody.
            match is_awaited {
                true => {
                    self.say_done(around, number, &No::new(401, NO_KEY));
                    self.stop(around, number);
                }
                false => self.refuse(around, number, &No::new(401, NO_KEY)),
            }
        }
    }

    fn altered(
        &mut self,
        around: &Around,
        keys: &Keys,
        number: u32,
        result: Result<Vec<Option<Outcome>>, NotAltered>,
    ) {
        if let (Ok(outcomes), Some(entry)) = (&result, self.asks.get_mut(&number)) {
            let serials =
                |outcome: &Option<Outcome>| outcome.as_ref().map(|outcome| (outcome.before, outcome.after));
            entry.about.iter_mut().for_each(|about| about.serials = outcomes.iter().map(serials).collect());
        }
        self.changed(around, keys, number, result, |number, zones, is_dry, outcomes| {
            for (zone, outcome) in zones.iter().zip(outcomes) {
                if let Some(Outcome { before, after, .. }) = outcome {
                    tracing::debug!(zone = %zone, "zone {zone}: changed over the API, {before} to {after}");
                }
            }
            // What became of several has to be told.
            let status = if is_dry || zones.len() > 1 { 200 } else { 204 };
            (pieces_of(number, zones, is_dry, outcomes), status)
        });
    }

    fn worked(&mut self, around: &Around, keys: &Keys, number: u32, result: Result<Worked, NotAltered>) {
        if let (Ok(Worked::Made(serial, _)), Some(entry)) = (&result, self.asks.get_mut(&number)) {
            entry.about.iter_mut().for_each(|about| about.serial = Some(*serial));
        }
        self.changed(around, keys, number, result, |number, zones, _, worked| match (worked, zones) {
            (Worked::Made(serial, made), [zone]) => {
                let mut octets = Vec::new();
                row(zone, *serial, (false, false), Some(made), None).write(&mut octets);
                (rows_frame(number, &octets).into_iter().collect(), 201)
            }
            _ => (VecDeque::new(), 204),
        });
    }

    /// What was asked for was done, or not. `told`: the pieces and the status by which that is told.
    fn changed<T>(
        &mut self,
        around: &Around,
        keys: &Keys,
        number: u32,
        result: Result<T, NotAltered>,
        told: impl FnOnce(u32, &[NameBuf], bool, &T) -> (VecDeque<Vec<u8>>, u16),
    ) {
        let Some(Entry { state: State::Changing { zones, ask, is_dry, attempts }, is_silent, .. }) =
            self.asks.get(&number)
        else {
            return;
        };
        let (zones, is_dry) = (Arc::clone(zones), *is_dry);
        if *is_silent && !matches!(result, Err(NotAltered::OtherKeys)) {
            // What is written down of a change that nobody hears of.
            let (status, words) = match &result {
                Ok(done) => (told(number, &zones, is_dry, done).1, ""),
                Err(NotAltered::Said { status, words, .. }) => (*status, words.as_str()),
                Err(NotAltered::OtherRequest) => (422, OTHER_REQUEST),
                Err(NotAltered::OtherKeys | NotAltered::NotNow) => (503, "not now"),
            };
            self.audit(around, number, status, words);
            return self.remove(around, number);
        }
        match result {
            Ok(done) => {
                let (pieces, status) = told(number, &zones, is_dry, &done);
                // It is done, whether its process waits to hear of it or not.
                self.audit(around, number, status, "");
                if let Some(entry) = self.asks.get_mut(&number) {
                    (entry.state, entry.is_done) = (State::Ready(pieces, status), !is_dry);
                    self.turns.push_back(number);
                }
            }
            Err(NotAltered::OtherKeys) if *attempts < ATTEMPTS_MAX => {
                let (ask, attempts) = (ask.clone(), attempts + 1);
                if let Ok(ask) = Ask::read(&ask) {
                    self.begin(around, keys, number, &ask, attempts);
                }
            }
            Err(NotAltered::OtherRequest) => {
                self.refuse(around, number, &No::new(422, OTHER_REQUEST));
            }
            Err(NotAltered::OtherKeys | NotAltered::NotNow) => self.refuse(around, number, &not_now()),
            Err(NotAltered::Said { status, words, zone, set }) => {
                let general = match set {
                    None => words.clone(),
                    Some(_) if status == 403 => "some RRsets are not for this key to change".to_owned(),
                    Some(_) => "some RRsets cannot be so".to_owned(),
                };
                let no = No { faults: vec![(At { zone, set }, words)], ..No::new(status, general) };
                let no = if set.is_none() { no.of_some(&zones) } else { no };
                self.refuse(around, number, &no);
            }
        }
    }

    fn pinned(&mut self, around: &Around, number: u32, pinned: Result<Pinned, NotPinned>) {
        let Some(entry) = self.asks.get_mut(&number) else {
            return pinned
                .into_iter()
                .for_each(|pinned| drop(around.looks.push(Look::Unpin(pinned.zone), 0)));
        };
        let State::Pinning(wanted, with_dnssec) = &entry.state else { return };
        let (wanted, is_silent) = ((wanted.clone(), *with_dnssec), entry.is_silent);
        let pinned = match pinned {
            Ok(pinned) => pinned,
            Err(NotPinned::Nothing) => return self.refuse(around, number, &No::new(404, NO_ZONE)),
            Err(NotPinned::Full) => return self.refuse(around, number, &full()),
            Err(NotPinned::NotNow) => return self.refuse(around, number, &not_now()),
        };
        let (Some(controller), false) = (around.owner.upgrade(), is_silent) else {
            drop(around.looks.push(Look::Unpin(pinned.zone), 0));
            return self.remove(around, number);
        };
        let (version, made) = (pinned.zone.version(), pinned.made.clone());
        match Reading::new(number, pinned, wanted, |serial| {
            controller.api.tag(version, serial, made.as_ref())
        }) {
            Ok(reading) => {
                (entry.state, entry.since) = (State::Reading(Box::new(reading)), Instant::now());
                self.turns.push_back(number);
            }
            Err(zone) => {
                drop(around.looks.push(Look::Unpin(zone), 0));
                self.refuse(around, number, &not_now());
            }
        }
    }

    fn explained(&mut self, around: &Around, number: u32, told: Option<Vec<(Question, Terms)>>) {
        let Some(entry) = self.asks.get_mut(&number) else { return };
        if entry.is_silent {
            return self.remove(around, number);
        }
        let (Some(zones), Some(key)) = (told, entry.key.clone()) else {
            return self.refuse(around, number, &No::new(404, NO_ZONE));
        };
        let explaining = Explaining::new(number, key, zones);
        (entry.state, entry.since) = (State::Explaining(Box::new(explaining)), Instant::now());
        self.turns.push_back(number);
    }

    /// All of an answer is there, in frames, or there is none.
    fn ready(
        &mut self,
        around: &Around,
        number: u32,
        frames: Result<VecDeque<Vec<u8>>, (u16, &'static str)>,
    ) {
        let Some(entry) = self.asks.get_mut(&number) else { return };
        if entry.is_silent {
            return self.remove(around, number);
        }
        match frames {
            Ok(frames) => {
                (entry.state, entry.since) = (State::Ready(frames, 200), Instant::now());
                self.turns.push_back(number);
            }
            Err((status, words)) => self.refuse(around, number, &No::new(status, words)),
        }
    }

    fn listed(&mut self, around: &Around, number: u32, listed: Listed) {
        let Some(entry) = self.asks.get_mut(&number) else { return };
        let State::Listing(listing) = &mut entry.state else { return };
        listing.take(number, listed);
        // What the look took is nobody's who reads.
        entry.since = Instant::now();
        match entry.is_silent {
            true => self.remove(around, number),
            false => self.turns.push_back(number),
        }
    }
}
