//! What the HTTP API has changed: RRsets of one zone or of several that are to be so, all of them or none, in one commit.
//!
//! ```text
//! ask, key --queue--> of each zone: whose, policy, condition -> Draft::alter over the newest state -> Change -> log, with all that waits -> publish -> told
//!                          `-- no: why, of which zone, once the state is durable that it was told of
//! ```
//!
//! Each has versions and records of the log of its own, which no group parts; all that wait in a turn are written together. Of a turn they have as much time as one zone
//! has ([`ZONE_TIME`]), whoever asks: what is left waits for the next, in order. [`work`]: what one changes; [`together`]: what is kept of it; [`store`]: of zones that stores have. Design: `docs/design/api.md` 5.

mod store;
mod together;
mod work;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::tag::{Condition, Tag};
use wire::{Name, NameBuf};
use zone::Change;

use super::changer::Changer;
use super::handle::Job;
use super::once::{Once, WhyNot};
use super::repeats::Repeat;
use super::rounds::ZONE_TIME;
use crate::api::Key;

pub(super) use store::Stored;
pub(super) use together::Together;

/// How long several zones wait for those of them that cannot be changed now: changes of each that come later wait behind them.
const TOGETHER_WAIT: Duration = Duration::from_secs(2);

/// RRsets of zones that are to be so.
pub(crate) struct Alter {
    /// The zones, lower-case, in the order of the ask: each once.
    pub(crate) zones: Arc<[NameBuf]>,
    /// The ask.
    pub(crate) ask: Box<[u8]>,
    /// How it is known, if it may come again.
    pub(crate) repeat: Option<Repeat>,
    /// Whose it is; that it may was looked at.
    pub(crate) key: Arc<Key>,
    /// The keys among which that one is.
    pub(crate) keys: u64,
    /// When it came.
    pub(crate) since: Instant,
    /// Whether it is written into a store by itself, as others beside it were refused.
    pub(crate) is_single: bool,
    /// Who is told what became of it.
    pub(crate) done: AlterDone,
}

/// Told once what became of it; `Ok`: of each zone, in their order; all is durable, or changes nothing. `None`: that zone was removed meanwhile, and is not served any more.
pub(crate) type AlterDone = Once<NotAltered, Vec<Option<Outcome>>>;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotAltered {
    /// This is said, of this zone, at this RRset.
    Said {
        /// Status of HTTP.
        status: u16,
        /// Why.
        words: String,
        /// Which zone of the ask, from 0 on.
        zone: usize,
        /// Which RRset of the zone, likewise.
        set: Option<usize>,
    },
    /// Another request was made under its key of repeats.
    OtherRequest,
    /// Keys are others since: it is to be looked at whether it may, once more.
    OtherKeys,
    /// Nothing can be kept now, or a zone is being moved.
    NotNow,
}

impl WhyNot for NotAltered {
    const GIVEN_UP: NotAltered = NotAltered::NotNow;
}

impl NotAltered {
    /// This, of an ask of one zone.
    pub(crate) fn said(status: u16, words: impl Into<String>) -> NotAltered {
        NotAltered::Said { status, words: words.into(), zone: 0, set: None }
    }

    /// The same of the zone with this number.
    fn of(self, number: usize) -> NotAltered {
        match self {
            NotAltered::Said { status, words, set, .. } => {
                NotAltered::Said { status, words, zone: number, set }
            }
            other => other,
        }
    }
}

impl Alter {
    /// Octets that it takes while it waits.
    pub(super) fn octets(&self) -> usize {
        let names: usize = self.zones.iter().map(|zone| zone.octets().len()).sum();
        size_of::<Alter>() + self.ask.len() + names
    }

    /// Whether it does not wait any more.
    fn is_late(&self) -> bool {
        self.zones.len() > 1 && self.since.elapsed() > TOGETHER_WAIT
    }
}

/// Those that wait, in order. As many as the API lets in.
#[derive(Default)]
pub(super) struct Alters {
    /// Each with when it is looked at, if not at once.
    waiting: VecDeque<(Option<Instant>, Alter)>,
    /// Zones whose stores are asked for a change.
    in_stores: HashSet<NameBuf>,
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
        let waits = |(_, alter): &(Option<Instant>, Alter)| alter.zones.iter().any(|own| **own == *zone);
        self.in_stores.contains(zone) || self.waiting.iter().any(waits)
    }
}

/// What became of one in this turn.
enum Turn {
    /// Told, or to be told.
    Over,
    /// It comes again.
    Later(Alter, Duration),
}

/// Why there is nothing to be kept of one.
enum Why {
    /// It comes again: a zone cannot be changed in this moment.
    Later(Duration),
    /// It is not done.
    No(NotAltered),
    /// Nothing changes, or is to: this is told.
    Told(Vec<Option<Outcome>>),
}

impl From<NotAltered> for Why {
    fn from(why: NotAltered) -> Why {
        Why::No(why)
    }
}

impl Changer {
    /// Does what waits, as much as there is time for. Says whether something is to be written.
    pub(super) fn alter_some(&mut self) -> bool {
        let began = Instant::now();
        if self.alters.due(began).is_none_or(|due| due > began) {
            return false;
        }
        let mut later: VecDeque<(Option<Instant>, Alter)> = VecDeque::new();
        // Until when those wait, by their zones.
        let mut held: HashMap<NameBuf, Instant> = HashMap::new();
        while began.elapsed() < ZONE_TIME
            && let Some((at, alter)) = self.alters.waiting.pop_front()
        {
            // Those of one zone in their order: behind one that waits they wait as long.
            let behind = alter.zones.iter().filter_map(|zone| held.get(zone).copied()).max();
            let (until, alter) = match behind.max(at.filter(|at| *at > began)) {
                Some(until) => (until, alter),
                None => match self.alter(alter) {
                    Turn::Over => continue,
                    Turn::Later(alter, pause) => (began + pause, alter),
                },
            };
            held.extend(alter.zones.iter().map(|zone| (zone.clone(), until)));
            later.push_back((Some(until), alter));
        }
        // What was not looked at has its turn next.
        while let Some(waits) = later.pop_back() {
            self.alters.waiting.push_front(waits);
        }
        true
    }

    fn alter(&mut self, alter: Alter) -> Turn {
        if self.is_for_store(&alter) {
            return self.alter_in_store(alter);
        }
        let told = match self.work_out_alter(&alter) {
            Ok(parts) => {
                self.keep_together(Together { parts, repeat: alter.repeat, done: alter.done });
                return Turn::Over;
            }
            Err(Why::Later(pause)) if !alter.is_late() => return Turn::Later(alter, pause),
            Err(Why::Later(_)) => Err(NotAltered::NotNow),
            Err(Why::No(why)) => Err(why),
            Err(Why::Told(outcomes)) => Ok(outcomes),
        };
        alter.done.tell(told);
        Turn::Over
    }

    /// Has what waits of zones be written, as something is to be told that is true of their newest states. False: it waits on, was taken back, or a zone is another one.
    fn settle_before_telling<'n>(&mut self, names: impl IntoIterator<Item = &'n Name>) -> bool {
        let newest = |changer: &Changer, name: &Name| Some(changer.zones.get(name)?.newest_box().state());
        let is_waiting =
            |changer: &Changer, name: &Name| changer.zones.get(name).is_some_and(|zone| zone.is_waiting());
        // All before anything is written: what cannot be takes others back with it.
        let told_of: Vec<_> = names.into_iter().map(|name| (name, newest(self, name))).collect();
        if told_of.iter().any(|(name, _)| is_waiting(self, name)) {
            self.commit();
        }
        let is_so = |(name, state): &(&Name, Option<u32>)| {
            state.is_some() && newest(self, name) == *state && !is_waiting(self, name)
        };
        told_of.iter().all(is_so)
    }

    /// The tag of what is served of a zone, where there is a condition.
    pub(super) fn tag(&self, name: &Name, condition: Condition) -> Option<Tag> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
