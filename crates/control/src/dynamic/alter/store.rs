//! Zones of stores: what waits for one becomes one difference over what is served, which its database is asked for; it is told once that is served.
//!
//! ```text
//! asks of a zone --one draft--> difference --> store --served--> told
//!        ^                                      |--not known--> told so, 504
//!        '---- later, over what is served then -'--another version there, or held by somebody: for 5 s
//! ```
//!
//! One write of a zone at a time; what comes meanwhile waits, in order, and is the next one together. One with a condition, with a key of repeats, or with an SOA record is a write of its own. Nothing of it
//! goes to the log here: what the store makes of it comes as all that is new there. Design: `docs/design/store.md` 5.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::frame::{Ask, Asked};
use api::tag::Condition;
use change::alteration::{Altered, Fault};
use change::draft::NoChange;
use change::{Draft, SerialStyle};
use feed::frame::WRITE_OCTETS_MAX;
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::Change;

use super::work::{READ_OCTETS_MAX, Wanted, may_alter};
use super::{Alter, NotAltered, Outcome, Turn, Why};
use crate::api::words;
use crate::dynamic::Dynamic;
use crate::dynamic::changer::{Changer, wall};
use crate::findings::Digest;
use crate::stores::{NotWritten, StoreWrite, WriteDone};

/// How long one waits until its store is asked, or asked again.
const ASK_WAIT: Duration = Duration::from_secs(5);
/// When a zone is looked at again whose store is asked, unless that is told before.
const ASKED_PAUSE: Duration = Duration::from_millis(100);
/// The same of one that has another version in its store, which is on its way, or that somebody holds.
const AGAIN_PAUSE: Duration = Duration::from_millis(20);
/// Asks that are one write: as many as one change of a zone may be for.
const JOINED_MAX: usize = 256;

/// What is told of one that may be done.
const UNKNOWN: &str = "the zone's database has not said whether it is done";
const DIGEST: &str =
    "this zone has to have a digest (ZONEMD), which would be wrong: it is changed in its database";

/// What became of a write, and who is to be told.
pub(in crate::dynamic) struct Stored {
    pub(in crate::dynamic) zone: NameBuf,
    asks: Asks,
    /// Of what was only looked for: what is told if it was not done before.
    otherwise: Option<Otherwise>,
    result: Result<(u32, u32), NotWritten>,
}

/// What is told of one.
type Otherwise = Result<Vec<Option<Outcome>>, NotAltered>;

/// Asks that are one write, in order, each with its condition. Who asked is told that nobody knows where nobody tells what became of it.
struct Asks(Vec<(Alter, Condition)>);

impl Drop for Asks {
    fn drop(&mut self) {
        for (alter, _) in self.0.drain(..) {
            alter.done.tell(Err(NotAltered::said(504, UNKNOWN)));
        }
    }
}

/// What is read of an ask of one zone.
struct Read<'a> {
    condition: Condition,
    sets: Vec<Altered<'a>>,
    is_dry: bool,
}

fn read(alter: &Alter) -> Option<Read<'_>> {
    let Ok(Ask { asked: Asked::Change { is_dry, zones, .. }, .. }) = Ask::read(&alter.ask) else {
        return None;
    };
    let zone = zones.iter().next()?;
    Some(Read { condition: zone.condition, sets: zone.sets.iter().map(words::altered).collect(), is_dry })
}

impl Read<'_> {
    /// Whether it is a write of its own.
    fn is_single(&self, alter: &Alter) -> bool {
        let has_soa = || self.sets.iter().any(|set| set.rtype == rtype::SOA);
        self.is_dry || alter.repeat.is_some() || alter.is_single || self.condition.is_some() || has_soa()
    }
}

impl Changer {
    /// Whether an ask is to be written into a store.
    pub(super) fn is_for_store(&self, alter: &Alter) -> bool {
        match &*alter.zones {
            [zone] => {
                let is_of_store = self.controller.stores.is_any() && self.controller.stores.may_write(zone);
                is_of_store && read(alter).is_some_and(|read| !read.is_dry)
            }
            _ => false,
        }
    }

    /// Asks the store of a zone for what an ask wants, and those behind it that fit.
    pub(super) fn alter_in_store(&mut self, first: Alter) -> Turn {
        let zone = first.zones[0].clone();
        if first.since.elapsed() > ASK_WAIT {
            first.done.tell(Err(NotAltered::said(503, words::STORE_BUSY)));
            return Turn::Over;
        }
        if self.alters.in_stores.contains(&zone) {
            return Turn::Later(first, ASKED_PAUSE);
        }
        let joined = self.alters.take_joined(&zone, &first);
        let mut asks: Vec<Alter> = std::iter::once(first).chain(joined).collect();
        let worked = self.work_out_for_store(&zone, &asks);
        let (taken, worked) = match worked {
            Ok((taken, worked)) => (taken, Ok(worked)),
            Err(why) => (1, Err(why)),
        };
        // Those that did not fit beside the others are the next.
        let rest = asks.split_off(taken);
        rest.into_iter().rev().for_each(|alter| self.alters.waiting.push_front((None, alter)));
        match (worked, asks) {
            (Ok(Some(change)), asks) => self.ask_store(zone, asks, (Some(change), None)),
            // It may be so, or cannot be, as it was done before: that is for the database to say.
            (Ok(None), asks) if asks[0].repeat.is_some() => {
                let told = self.unchanged(&zone, &asks[0]);
                self.ask_store(zone, asks, (None, Some(Ok(told))));
            }
            (Err(Why::No(why @ NotAltered::Said { status: 412 | 413 | 422, .. })), asks)
                if asks[0].repeat.is_some() && self.serial_told(&zone).is_some() =>
            {
                self.ask_store(zone, asks, (None, Some(Err(why))));
            }
            (Ok(None), asks) => {
                for alter in asks {
                    let told = self.unchanged(&zone, &alter);
                    alter.done.tell(Ok(told));
                }
            }
            (Err(why), mut asks) => {
                let Some(alter) = asks.pop() else { return Turn::Over };
                match why {
                    Why::Later(pause) => return Turn::Later(alter, pause),
                    Why::No(why) => alter.done.tell(Err(why)),
                    Why::Told(outcomes) => alter.done.tell(Ok(outcomes)),
                }
            }
        }
        Turn::Over
    }

    /// What is told where nothing changes.
    fn unchanged(&self, zone: &Name, alter: &Alter) -> Vec<Option<Outcome>> {
        let condition = read(alter).map_or(Condition::None, |read| read.condition);
        let tag = self.tag(zone, condition);
        let outcome = |serial| Outcome { before: serial, after: serial, tag, would: None };
        vec![self.serial_told(zone).map(outcome)]
    }

    /// The serial of what is served of a zone; `None`: nothing is.
    fn serial_told(&self, zone: &Name) -> Option<u32> {
        self.zones.get(zone).and_then(|zone| Some(zone.newest()?.row().serial))
    }

    /// What some asks together change in what is served of a zone, and how many of them that is; `None`: nothing. The error is of the first.
    fn work_out_for_store(&mut self, zone: &NameBuf, asks: &[Alter]) -> Result<(usize, Option<Change>), Why> {
        let keys = self.controller.api.keys_number();
        if asks[0].keys != keys {
            return Err(NotAltered::OtherKeys.into());
        }
        if let Some(repeat) = &asks[0].repeat {
            self.look_at_repeat(&asks[0].zones, repeat)?;
        }
        let terms = self.terms_of_altered(zone)?;
        if self.controller.digest_of(zone) != Digest::Ignore {
            return Err(NotAltered::said(422, DIGEST).into());
        }
        let pause = self.pause_of_altered(zone, asks[0].since);
        if pause > Duration::ZERO {
            return Err(Why::Later(pause));
        }
        let mut wanted = Vec::with_capacity(asks.len());
        for alter in asks.iter().take_while(|alter| alter.keys == keys) {
            let Some(Read { condition, sets, .. }) = read(alter) else { break };
            wanted.push(Wanted { number: 0, name: zone, terms: terms.clone(), condition, sets });
        }
        let Some(first) = wanted.get(..1) else {
            return Err(NotAltered::said(422, "no change of zones").into());
        };
        self.look_at_conditions(first)?;
        // The database knows what is served, and nothing that waits here.
        if !self.settle_before_telling([&**zone]) {
            return Err(Why::Later(AGAIN_PAUSE));
        }
        let damaged = || {
            tracing::error!(%zone, "zone {zone}: its pack cannot be read: not changed");
            Why::No(NotAltered::NotNow)
        };
        let view = self.zones.get(zone).and_then(|zone| zone.newest()).ok_or(NotAltered::NotNow)?;
        let (style, now): (SerialStyle, u64) = (terms.serial, wall());
        let mut draft = Draft::new(view).map_err(|_| damaged())?;
        let mut taken = 0;
        for (wanted, alter) in wanted.iter().zip(asks) {
            // What is refused behind others is looked at once these are there.
            let is_first = taken == 0;
            match may_alter(&alter.key, wanted) {
                Err(why) if is_first => return Err(why.into()),
                Err(_) => break,
                Ok(()) => {}
            }
            if draft.octets() >= READ_OCTETS_MAX {
                break;
            }
            match draft.alter(&wanted.sets, &terms.limits, (style, now)).map_err(|_| damaged())? {
                Err(refused) if is_first => {
                    let status = if refused.fault == Fault::TooMuch { 413 } else { 422 };
                    let words = refused.fault.to_string();
                    return Err(NotAltered::Said { status, words, zone: 0, set: refused.set }.into());
                }
                Err(_) => break,
                Ok(_) => taken += 1,
            }
        }
        match draft.into_change(style, now) {
            Ok(change) if change.octets() > WRITE_OCTETS_MAX => match taken {
                1 => Err(NotAltered::said(413, "more changes than a database is asked for at once").into()),
                // Each by itself, from here on.
                _ => self.work_out_for_store(zone, &asks[..1]),
            },
            Ok(change) => Ok((taken, Some(change))),
            Err(NoChange::Nothing) => Ok((taken, None)),
            Err(NoChange::Damaged) => Err(damaged()),
        }
    }

    /// Asks the store of a zone for a change; or, without, whether it was done before. `otherwise`: what is told if it was not.
    fn ask_store(
        &mut self,
        zone: NameBuf,
        asks: Vec<Alter>,
        (change, otherwise): (Option<Change>, Option<Otherwise>),
    ) {
        let over = self.serial_told(&zone).unwrap_or_default();
        let mut names: Vec<&str> = asks.iter().map(|alter| alter.key.name()).collect();
        names.sort_unstable();
        names.dedup();
        let who = names.iter().map(|name| format!("api:{name}")).collect::<Vec<String>>().join(", ");
        let once = asks.first().and_then(|alter| alter.repeat.as_ref());
        let until = asks.iter().map(|alter| alter.since + ASK_WAIT).min().unwrap_or_else(Instant::now);
        once.iter().for_each(|repeat| self.repeats.begin(repeat));
        let once = once.map(|repeat| repeat.once());
        let with_condition = |alter: Alter| {
            let condition = read(&alter).map_or(Condition::None, |read| read.condition);
            (alter, condition)
        };
        let asks = Asks(asks.into_iter().map(with_condition).collect());
        self.alters.in_stores.insert(zone.clone());
        let (dynamic, name) = (Arc::downgrade(&self.controller.dynamic), zone.clone());
        let done = WriteDone::new(move |result| {
            if let Some(dynamic) = dynamic.upgrade() {
                dynamic.stored(Stored { zone: name, asks, otherwise, result });
            }
        });
        self.controller.stores.write(StoreWrite { zone, over, change, who, once, until, done });
    }

    /// Tells what became of writes; what is to be tried again waits for its turn.
    pub(in crate::dynamic) fn take_stored(&mut self) {
        for Stored { zone, mut asks, otherwise, result } in self.controller.dynamic.take_stored() {
            self.alters.in_stores.remove(&zone);
            self.alters.look_at(&zone);
            let asks = std::mem::take(&mut asks.0);
            asks.iter()
                .filter_map(|(alter, _)| alter.repeat.as_ref())
                .for_each(|repeat| self.repeats.give_up(repeat));
            match (result, otherwise) {
                (Ok((before, after)), Some(otherwise)) if before == after => {
                    // One alone, as it has a key of repeats.
                    let mut otherwise = Some(otherwise);
                    let each = asks.into_iter().zip(std::iter::from_fn(|| otherwise.take()));
                    each.for_each(|((alter, _), told)| alter.done.tell(told));
                }
                (Ok(serials), _) => asks.into_iter().for_each(|ask| self.tell_stored(&zone, serials, ask)),
                (Err(why), _) => self.not_stored(asks, why),
            }
        }
    }

    fn tell_stored(&self, zone: &Name, (before, after): (u32, u32), (alter, condition): (Alter, Condition)) {
        // Others may have come since: who had a condition is told of no version but that one.
        let is_it = self.controller.serial_of(zone) == Some(after);
        let tag = if is_it { self.tag(zone, condition) } else { None };
        alter.done.tell(Ok(vec![Some(Outcome { before, after, tag, would: None })]));
    }

    fn not_stored(&mut self, asks: Vec<(Alter, Condition)>, why: NotWritten) {
        let is_one = asks.len() == 1;
        let told = match why {
            NotWritten::OtherRequest => NotAltered::OtherRequest,
            NotWritten::Denied(words) => NotAltered::said(503, words),
            NotWritten::Unfit(words) => NotAltered::said(409, words),
            NotWritten::Unknown => NotAltered::said(504, UNKNOWN),
            // One of several is at fault: each by itself.
            NotWritten::Refused(words) if is_one => NotAltered::said(422, words),
            NotWritten::Refused(_) => {
                let single = |(alter, _): (Alter, Condition)| (None, Alter { is_single: true, ..alter });
                return asks.into_iter().rev().for_each(|ask| self.alters.waiting.push_front(single(ask)));
            }
            NotWritten::Moved | NotWritten::NotNow(_) => {
                let at = Some(Instant::now() + AGAIN_PAUSE);
                return asks
                    .into_iter()
                    .rev()
                    .for_each(|(alter, _)| self.alters.waiting.push_front((at, alter)));
            }
        };
        asks.into_iter().for_each(|(alter, _)| alter.done.tell(Err(told.clone())));
    }
}

impl super::Alters {
    /// Those that may be one write with an ask of a zone, in order, up to the first one that may not.
    fn take_joined(&mut self, zone: &Name, first: &Alter) -> Vec<Alter> {
        let is_single = |alter: &Alter| read(alter).is_none_or(|read| read.is_single(alter));
        if is_single(first) {
            return Vec::new();
        }
        let (mut joined, mut rest) = (Vec::new(), Vec::with_capacity(self.waiting.len()));
        let mut is_over = false;
        for (at, alter) in self.waiting.drain(..) {
            let is_of = alter.zones.iter().any(|own| **own == *zone);
            is_over |=
                is_of && (joined.len() + 1 >= JOINED_MAX || alter.zones.len() > 1 || is_single(&alter));
            match is_of && !is_over {
                true => joined.push(alter),
                false => rest.push((at, alter)),
            }
        }
        self.waiting.extend(rest);
        joined
    }

    /// What waits of a zone has its turn now.
    fn look_at(&mut self, zone: &Name) {
        let of_zone =
            |(_, alter): &&mut (Option<Instant>, Alter)| alter.zones.iter().any(|own| **own == *zone);
        self.waiting.iter_mut().filter(of_zone).for_each(|(at, _)| *at = None);
    }
}

impl Dynamic {
    /// Takes what became of a write; there is always room for it.
    fn stored(&self, stored: Stored) {
        self.stored.lock().push(stored);
        self.queue.wake();
    }

    /// What became of writes since this was asked last.
    fn take_stored(&self) -> Vec<Stored> {
        std::mem::take(&mut *self.stored.lock())
    }
}
