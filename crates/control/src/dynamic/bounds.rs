//! What deltas may have: where a zone changes faster than it is merged its updates wait, and at the bound they are refused. Queries are answered as ever.
//!
//! ```text
//! octets of the zone's delta, or of all:   0 ------ half: none waits, up to ------ bound: a second ---> refused
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use wire::{Name, NameBuf};

use super::changer::Changer;
use super::queue::REQUESTS_MAX;
use super::update::Said;
use super::versions::Waiting;

/// How long an update waits at most: clients that wait for each one send one a second then, and none gives up.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// Between two lines that say that the bound is met.
const SAY_PAUSE: Duration = Duration::from_secs(60);

/// Updates that are held back.
#[derive(Default)]
pub(super) struct Delayed {
    /// By when they are due, those of each zone in the order in which they came.
    waiting: BTreeMap<(Instant, u64), (NameBuf, Waiting)>,
    /// How many of these each zone has.
    zones: HashMap<NameBuf, usize>,
    number: u64,
    requests: usize,
    said: Option<Instant>,
}

impl Delayed {
    /// When the first of them is to go on.
    pub(super) fn due(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// Holds updates of a zone back, behind others of it. The error: too many are.
    pub(super) fn push(&mut self, due: Instant, zone: NameBuf, requests: Waiting) -> Result<(), Waiting> {
        if self.requests + requests.len() > REQUESTS_MAX {
            return Err(requests);
        }
        let last = self.waiting.iter().rev().find(|(_, (other, _))| *other == zone).map(|((due, _), _)| *due);
        self.requests += requests.len();
        self.number += 1;
        *self.zones.entry(zone.clone()).or_default() += 1;
        self.waiting.insert((due.max(last.unwrap_or(due)), self.number), (zone, requests));
        Ok(())
    }

    /// The next that are due.
    fn pop(&mut self, now: Option<Instant>) -> Option<(NameBuf, Waiting)> {
        let first = self.waiting.first_entry().filter(|first| now.is_none_or(|now| first.key().0 <= now))?;
        let (zone, requests) = first.remove();
        self.requests -= requests.len();
        if let Some(count) = self.zones.get_mut(&zone) {
            *count -= 1;
            if *count == 0 {
                self.zones.remove(&zone);
            }
        }
        Some((zone, requests))
    }
}

/// How long updates wait where so many octets of so many are in use.
fn delay(octets: u64, octets_max: u64) -> Duration {
    let over = octets.saturating_sub(octets_max / 2) as f64 / (octets_max / 2).max(1) as f64;
    DELAY_MAX.mul_f64(over.clamp(0.0, 1.0))
}

impl Changer {
    /// Whether all deltas together have as much as they may.
    pub(super) fn is_full(&self) -> bool {
        self.renewal.octets >= self.renewal.rules.octets_max
    }

    /// How long what changes a zone is to wait, by what has changed in it and in all.
    pub(super) fn pause_of(&self, zone: &Name) -> Duration {
        let all = delay(self.renewal.octets, self.renewal.rules.octets_max);
        let own = self.zones.get(zone).map(|zone| delay(zone.octets(), zone.octets_max()));
        own.map_or(Duration::ZERO, |own| own.max(all))
    }

    /// Says that a zone takes no updates for now, once a while.
    pub(super) fn say_full(&mut self, zone: &Name) {
        let now = Instant::now();
        if self.delayed.said.is_some_and(|said| now - said < SAY_PAUSE) {
            return;
        }
        self.delayed.said = Some(now);
        tracing::error!(%zone, "zone {zone}: changes faster than it can be stored anew, and too much has changed; updates get SERVFAIL until it is stored");
    }

    /// Takes from what is to be worked out what is to wait, and adds what has waited.
    pub(super) fn hold_back(&mut self, waiting: &mut HashMap<NameBuf, Waiting>, order: &mut Vec<NameBuf>) {
        let now = Instant::now();
        let mut refused = Vec::new();
        for name in &*order {
            let pause = self.pause_of(name);
            if (pause > Duration::ZERO || self.delayed.zones.contains_key(name))
                && let Some(requests) = waiting.remove(name)
            {
                refused.extend(self.delayed.push(now + pause, name.clone(), requests).err());
            }
        }
        for requests in refused {
            self.reply_all(requests, Said::not_now());
        }
        let known: HashSet<NameBuf> = order.iter().cloned().collect();
        while let Some((name, requests)) = self.delayed.pop(Some(now)) {
            if !known.contains(&name) && !waiting.contains_key(&name) {
                order.push(name.clone());
            }
            waiting.entry(name).or_default().extend(requests);
        }
        self.take_proved(waiting, order);
    }

    /// What is left at the end is refused, and the log told of zones that went.
    pub(super) fn end(&mut self) {
        self.leave();
        self.end_proving();
        while let Some((_, requests)) = self.delayed.pop(None) {
            self.reply_all(requests, Said::not_now());
        }
    }
}
