//! Who waits for the resolver: places, shares of them, ages.
//!
//! ```text
//! slot: ticket, Waiting, since | links:  by age       two chains, of clients with a proved address and of others, oldest first
//!                                        by prefix    16,384 chains by keyed hash of /24 or /56
//!                                        by zone      4,096 chains by keyed hash of the registered name
//!                                        by question  (address, port, ID, name, type): the same again joins the one before
//! ```
//!
//! Whoever is too many goes out at the old end: the oldest is the one that will be late. Newest-first would keep the seats for the dead: in a flood all that
//! sit are victims whose servers do not answer, and every honest newcomer would be sent away until they time out. Chains are of prefixes and zones by hash, those
//! with a proved address apart, so that forged ones cost them nothing: two that fall together share, which a key that nobody knows keeps anybody from choosing.
//!
//! All is O(1): chains are linked through the slots, and those of one length hang together (`groups`), so that the longest is known.

mod bounds;
mod groups;
mod keys;
mod links;
#[cfg(test)]
mod tests;

use crate::wishes::Waiting;
pub use bounds::*;
use cache::{Moment, Secret};
use groups::{Groups, NONE};
use keys::{PREFIXES, ZONES};
use resolve::Waiter;
use wire::Address;

/// Who waits.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// Where from.
    pub address: &'a Address,
    /// Whether it was seen to receive there: by a connection, or a good cookie.
    pub is_proved: bool,
}

/// Whether one more can wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Room<T> {
    /// There is a place.
    Free,
    /// There is one now; this one is gone.
    Evicted(Gone<T>),
    /// The client waits for this very answer already: the query was sent again.
    Joined,
}

/// One that waits no more.
#[derive(Debug, PartialEq, Eq)]
pub struct Gone<T> {
    /// Its number, for [`resolve`].
    pub waiter: Waiter,
    /// What it had.
    pub ticket: T,
    /// What it waited for.
    pub waiting: Waiting,
}

/// How a client is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// With what came.
    Reply,
    /// With TC: too much was held back for its prefix that comes at once now.
    Truncate,
    /// Not at all: it is too late.
    Late,
}

/// One that is answered now.
#[derive(Debug)]
pub struct Taken<T> {
    /// What it waits for.
    pub waiting: Waiting,
    /// What it has.
    pub ticket: T,
    /// How it is answered.
    pub fate: Fate,
    since: Moment,
    is_proved: bool,
    prefix: u32,
    zone: u32,
    question: u64,
}

/// How many there are, and what became of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// That wait now.
    pub waiting: u64,
    /// Most that ever did.
    pub most: u64,
    /// Gone because their prefix had its share.
    pub evicted_for_prefix: u64,
    /// Gone because their zone had its share.
    pub evicted_for_zone: u64,
    /// Gone because there was no place, of a prefix or zone with too many.
    pub evicted_culprits: u64,
    /// Gone because there was no place, as the oldest of all.
    pub evicted_oldest: u64,
    /// Queries that were sent again.
    pub joined: u64,
    /// Answers that came too late.
    pub late: u64,
    /// Answers of a pulse that were sent as TC.
    pub truncated: u64,
}

/// Which chain of a slot.
#[derive(Clone, Copy)]
enum By {
    Age,
    Prefix,
    Zone,
}

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

const UNLINKED: Link = Link { before: NONE, after: NONE };

struct Slot<T> {
    /// `None`: free.
    content: Option<(Waiting, T)>,
    links: [Link; 3],
    since: Moment,
    question: u64,
    /// Next of the same hash of the question; of a free slot the next free one.
    next: u32,
    generation: u32,
    prefix: u32,
    zone: u32,
    is_proved: bool,
}

const _: () =
    assert!(size_of::<Slot<u64>>() <= 184, "200 octets a client with its place in tables, and the name");

/// The clients of one worker.
pub struct Waiters<T> {
    slots: Vec<Slot<T>>,
    places: usize,
    free: u32,
    /// First and last of those whose address is not proved, and of those whose is.
    ages: [Ends; 2],
    prefixes: Groups,
    zones: Groups,
    /// First slot of each hash of a question.
    questions: Box<[u32]>,
    unproved: usize,
    keys: Secret,
    counts: Counts,
}

/// First and last of a chain.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    first: u32,
    last: u32,
}

impl Ends {
    const EMPTY: Ends = Ends { first: NONE, last: NONE };
}

impl<T> Waiters<T> {
    /// Nobody, and so many places, one at least. Memory is taken as it is needed.
    pub fn new(places: usize) -> Waiters<T> {
        let places = places.clamp(1, NONE as usize - 1);
        Waiters {
            slots: Vec::new(),
            places,
            free: NONE,
            ages: [Ends::EMPTY; 2],
            prefixes: Groups::new(PREFIXES, places),
            zones: Groups::new(ZONES, places),
            questions: vec![NONE; places.next_power_of_two()].into(),
            unproved: 0,
            keys: Secret::default(),
            counts: Counts::default(),
        }
    }

    /// How many there are, and what became of others.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Octets of memory, names apart.
    pub fn octets(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<T>>()
            + size_of_val(&*self.questions)
            + self.prefixes.octets()
            + self.zones.octets()
    }

    /// Makes room for one more, before anything is kept for it elsewhere. One goes at most: of its own prefix or zone where that has its share, else
    /// one of a culprit, else the oldest.
    pub fn make_room(&mut self, who: &Who<'_>, waiting: &Waiting) -> Room<T> {
        let question = self.question_of(who, waiting);
        if self.find(question, who).is_some() {
            self.counts.joined += 1;
            return Room::Joined;
        }
        let (prefix, zone) = (self.prefix_of(who), self.zone_number(who, waiting));
        let unproved_max = (self.places * UNPROVED_QUARTERS / 4).max(1);
        let is_full =
            self.counts.waiting as usize >= self.places || !who.is_proved && self.unproved >= unproved_max;
        let (victim, count) = if self.prefixes.length(prefix) >= share(self.places, PREFIX_PART) {
            (self.prefixes.ends(prefix).first, &mut self.counts.evicted_for_prefix)
        } else if self.zones.length(zone) >= share(self.places, ZONE_PART) {
            (self.zones.ends(zone).first, &mut self.counts.evicted_for_zone)
        } else if !is_full {
            return Room::Free;
        } else {
            match self.culprit(who.is_proved) {
                Some(victim) => (victim, &mut self.counts.evicted_culprits),
                None => {
                    let [unproved, proved] = self.ages;
                    let oldest = if unproved.first == NONE { proved } else { unproved };
                    (oldest.first, &mut self.counts.evicted_oldest)
                }
            }
        };
        *count += 1;
        match self.remove(victim) {
            Some(taken) => Room::Evicted(taken.1),
            None => Room::Free,
        }
    }

    /// The oldest of the prefix or zone that has far more than its kind; for clients without a proved address only one of theirs.
    fn culprit(&self, is_proved: bool) -> Option<u32> {
        let least = share(self.places, CULPRIT_PART);
        let excess = |groups: &Groups| {
            let (group, length) = groups.longest()?;
            let is_one = length > least && length > CULPRIT_MEANS * groups.mean();
            let victim = groups.ends(group).first;
            let is_theirs = is_proved || !self.slots.get(victim as usize)?.is_proved;
            (is_one && is_theirs).then_some((length, victim))
        };
        Some(excess(&self.prefixes).max(excess(&self.zones))?.1)
    }

    /// Has a client wait, after [`Waiters::make_room`].
    pub fn insert(&mut self, who: &Who<'_>, waiting: Waiting, ticket: T, now: Moment) -> Waiter {
        let (prefix, zone) = (self.prefix_of(who), self.zone_number(who, &waiting));
        let question = self.question_of(who, &waiting);
        let (fate, is_proved) = (Fate::Reply, who.is_proved);
        self.put_back(Taken { waiting, ticket, fate, since: now, is_proved, prefix, zone, question })
    }

    /// Has one that was taken wait again, for something else; its age stays.
    pub fn put_back(&mut self, taken: Taken<T>) -> Waiter {
        let Taken { waiting, ticket, since, is_proved, prefix, zone, question, .. } = taken;
        let at = self.free_slot();
        let bucket = self.bucket(question);
        let slot = &mut self.slots[at as usize];
        slot.content = Some((waiting, ticket));
        (slot.since, slot.is_proved, slot.question) = (since, is_proved, question);
        (slot.prefix, slot.zone) = (prefix, zone);
        slot.next = std::mem::replace(&mut self.questions[bucket], at);
        let waiter = Waiter(u64::from(slot.generation) << 32 | u64::from(at));
        self.link(By::Age, at);
        self.link(By::Prefix, at);
        self.link(By::Zone, at);
        self.unproved += usize::from(!is_proved);
        self.counts.waiting += 1;
        self.counts.most = self.counts.most.max(self.counts.waiting);
        waiter
    }

    /// Takes one out that is answered now; `None`: it has gone before.
    pub fn take(&mut self, waiter: Waiter, now: Moment) -> Option<Taken<T>> {
        let at = waiter.0 as u32;
        let slot = self.slots.get(at as usize)?;
        if u64::from(slot.generation) != waiter.0 >> 32 || slot.content.is_none() {
            return None;
        }
        let (since, is_proved, question) = (slot.since, slot.is_proved, slot.question);
        let (prefix, zone) = (slot.prefix, slot.zone);
        let fate = self.fate(at, now);
        let (_, Gone { waiting, ticket, .. }) = self.remove(at)?;
        match fate {
            Fate::Late => self.counts.late += 1,
            Fate::Truncate => self.counts.truncated += 1,
            Fate::Reply => {}
        }
        Some(Taken { waiting, ticket, fate, since, is_proved, prefix, zone, question })
    }

    fn fate(&self, at: u32, now: Moment) -> Fate {
        let slot = &self.slots[at as usize];
        let age = now.ms_since(slot.since);
        match slot.is_proved {
            true if age > PROVED_AGE_MS_MAX => Fate::Late,
            true => Fate::Reply,
            false if age > AGE_MS_MAX => Fate::Late,
            false if age > HELD_MS_MIN && self.prefixes.pulse(slot.prefix, now) >= PULSE_OCTETS_MAX => {
                Fate::Truncate
            }
            false => Fate::Reply,
        }
    }

    /// Says that one that was taken got so many octets. To be called where its fate was [`Fate::Reply`].
    pub fn replied(&mut self, taken: &Taken<T>, octets: usize, now: Moment) {
        if !taken.is_proved && now.ms_since(taken.since) > HELD_MS_MIN {
            self.prefixes.add_pulse(taken.prefix, octets as u32, now);
        }
    }

    /// Takes one out that waits no more: its client is gone.
    pub fn forget(&mut self, waiter: Waiter) -> Option<Gone<T>> {
        let at = waiter.0 as u32;
        let is_it = self.slots.get(at as usize)?.generation == (waiter.0 >> 32) as u32;
        if !is_it {
            return None;
        }
        self.remove(at).map(|(_, gone)| gone)
    }

    /// One that has waited for as long as anybody may, to be taken and told so; called until there is none. `is_out`: there seems to be no network.
    pub fn overdue(&self, now: Moment, is_out: bool) -> Option<Waiter> {
        let is_over = |kind: &usize| {
            self.oldest(*kind).is_some_and(|oldest| oldest.since.plus_ms(patience_ms(*kind, is_out)) <= now)
        };
        let at = self.ages[(0..2).find(is_over)?].first;
        Some(Waiter(u64::from(self.slots[at as usize].generation) << 32 | u64::from(at)))
    }

    /// When to look at those who have waited too long: also when somebody has who would be told that there is no network.
    pub fn deadline(&self, now: Moment) -> Option<Moment> {
        let of_kind = |kind: usize| {
            let since = self.oldest(kind)?.since;
            let outage = since.plus_ms(OUTAGE_MS_MAX);
            Some(if outage > now { outage } else { since.plus_ms(patience_ms(kind, false)) })
        };
        (0..2).filter_map(of_kind).min()
    }

    /// The oldest of those without and with a proved address.
    fn oldest(&self, kind: usize) -> Option<&Slot<T>> {
        self.slots.get(self.ages[kind].first as usize)
    }

    /// Every one that waits, the oldest first of those without, then of those with a proved address: for operators.
    pub fn each(&self) -> impl Iterator<Item = (Waiter, &Waiting, Moment)> {
        let follow = |first: u32| {
            std::iter::successors(self.slots.get(first as usize).map(|slot| (first, slot)), |(_, slot)| {
                let next = slot.links[By::Age as usize].after;
                Some((next, self.slots.get(next as usize)?))
            })
        };
        let all = self.ages.into_iter().flat_map(move |ends| follow(ends.first));
        all.filter_map(|(at, slot)| {
            let waiter = Waiter(u64::from(slot.generation) << 32 | u64::from(at));
            Some((waiter, &slot.content.as_ref()?.0, slot.since))
        })
    }

    fn free_slot(&mut self) -> u32 {
        if let Some(slot) = self.slots.get_mut(self.free as usize) {
            return std::mem::replace(&mut self.free, slot.next);
        }
        self.slots.push(Slot {
            content: None,
            links: [UNLINKED; 3],
            since: Moment(0),
            question: 0,
            next: NONE,
            generation: 0,
            prefix: 0,
            zone: 0,
            is_proved: false,
        });
        self.slots.len() as u32 - 1
    }

    fn remove(&mut self, at: u32) -> Option<(u32, Gone<T>)> {
        let slot = self.slots.get_mut(at as usize)?;
        let (waiting, ticket) = slot.content.take()?;
        let waiter = Waiter(u64::from(slot.generation) << 32 | u64::from(at));
        slot.generation = slot.generation.wrapping_add(1);
        let (question, is_proved) = (slot.question, slot.is_proved);
        self.unlink(By::Age, at);
        self.unlink(By::Prefix, at);
        self.unlink(By::Zone, at);
        self.unlink_question(question, at);
        self.slots[at as usize].next = std::mem::replace(&mut self.free, at);
        self.unproved -= usize::from(!is_proved);
        self.counts.waiting -= 1;
        Some((at, Gone { waiter, ticket, waiting }))
    }
}

/// How long those without and with a proved address wait for an answer.
fn patience_ms(kind: usize, is_out: bool) -> u64 {
    if is_out { OUTAGE_MS_MAX } else { [SILENCE_MS_MAX, PROVED_AGE_MS_MAX][kind] }
}

/// A part of the places, one at least.
fn share(places: usize, part: usize) -> usize {
    (places / part).max(1)
}
