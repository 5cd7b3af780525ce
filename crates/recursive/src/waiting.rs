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
mod clients;
mod groups;
mod keys;
mod links;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::wishes::Waiting;
pub use bounds::*;
use cache::{Moment, Secret};
pub use clients::{Comer, Counts, Fate, Gone, LiveCounts, Room, Taken, WAITED_MS, Who};
use groups::{Groups, NONE};
use keys::{PREFIXES, ZONES};
use resolve::Waiter;
use resolve::slab::{Key, Slab};

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
    waiting: Waiting,
    ticket: T,
    links: [Link; 3],
    since: Moment,
    question: u64,
    /// Next of the same hash of the question.
    next: u32,
    prefix: u32,
    zone: u32,
    is_proved: bool,
}

const _: () = assert!(
    Slab::<Slot<u64>>::SLOT_OCTETS <= 184,
    "200 octets a client with its place in tables, and the name"
);

/// The clients of one worker.
pub struct Waiters<T> {
    slots: Slab<Slot<T>>,
    places: usize,
    /// First and last of those whose address is not proved, and of those whose is.
    ages: [Ends; 2],
    prefixes: Groups,
    zones: Groups,
    /// First slot of each hash of a question.
    questions: Box<[u32]>,
    unproved: usize,
    keys: Secret,
    counts: Arc<LiveCounts>,
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
            slots: Slab::default(),
            places,
            ages: [Ends::EMPTY; 2],
            prefixes: Groups::new(PREFIXES, places),
            zones: Groups::new(ZONES, places),
            questions: vec![NONE; places.next_power_of_two()].into(),
            unproved: 0,
            keys: Secret::default(),
            counts: Arc::default(),
        }
    }

    /// How many there are, and what became of others.
    pub fn counts(&self) -> Counts {
        self.counts.read()
    }

    /// Counts in these words from now on, which others read. Before anybody waits: of who counted there before, nobody does any more.
    pub fn count_in(&mut self, counts: Arc<LiveCounts>) {
        counts.waiting.write(0);
        self.counts = counts;
    }

    /// Octets of memory, names apart.
    pub fn octets(&self) -> usize {
        self.slots.octets() + size_of_val(&*self.questions) + self.prefixes.octets() + self.zones.octets()
    }

    /// A client that is to wait, with the chains that it belongs to.
    pub fn comer(&self, who: &Who<'_>, waiting: Waiting) -> Comer {
        Comer {
            question: self.question_of(who, &waiting),
            prefix: self.prefix_of(who),
            zone: self.zone_number(who, &waiting),
            is_proved: who.is_proved,
            waiting,
        }
    }

    /// Makes room for one more, before anything is kept for it elsewhere. One goes at most: of its own prefix or zone where that has its share, else
    /// one of a culprit, else the oldest.
    pub fn make_room(&mut self, comer: &Comer) -> Room<T> {
        let Comer { question, prefix, zone, is_proved, .. } = *comer;
        if self.find(question, is_proved).is_some() {
            self.counts.joined.add(1);
            return Room::Joined;
        }
        let unproved_max = (self.places * UNPROVED_QUARTERS / 4).max(1);
        let is_full =
            self.counts.waiting.read() as usize >= self.places || !is_proved && self.unproved >= unproved_max;
        let (victim, count) = if self.prefixes.length(prefix) >= share(self.places, PREFIX_PART) {
            (self.prefixes.ends(prefix).first, &self.counts.evicted_for_prefix)
        } else if self.zones.length(zone) >= share(self.places, ZONE_PART) {
            (self.zones.ends(zone).first, &self.counts.evicted_for_zone)
        } else if !is_full {
            return Room::Free;
        } else {
            match self.culprit(is_proved) {
                Some(victim) => (victim, &self.counts.evicted_culprits),
                None => {
                    let [unproved, proved] = self.ages;
                    let oldest = if unproved.first == NONE { proved } else { unproved };
                    (oldest.first, &self.counts.evicted_oldest)
                }
            }
        };
        count.add(1);
        match self.remove(victim) {
            Some(gone) => Room::Evicted(gone),
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
            let is_theirs = is_proved || !self.slots.at(victim)?.is_proved;
            (is_one && is_theirs).then_some((length, victim))
        };
        Some(excess(&self.prefixes).max(excess(&self.zones))?.1)
    }

    /// Has a client wait, after [`Waiters::make_room`].
    pub fn insert(&mut self, comer: Comer, ticket: T, now: Moment) -> Waiter {
        let Comer { question, prefix, zone, is_proved, waiting } = comer;
        let fate = Fate::Reply;
        self.put_back(Taken { waiting, ticket, fate, since: now, is_proved, prefix, zone, question })
    }

    /// Has one that was taken wait again, for something else; its age stays.
    pub fn put_back(&mut self, taken: Taken<T>) -> Waiter {
        let Taken { waiting, ticket, since, is_proved, prefix, zone, question, .. } = taken;
        let bucket = self.bucket(question);
        let next = self.questions[bucket];
        let links = [UNLINKED; 3];
        let key = self.slots.insert(Slot {
            waiting,
            ticket,
            links,
            since,
            question,
            next,
            prefix,
            zone,
            is_proved,
        });
        let (at, waiter) = (key.slot, waiter_of(key));
        self.questions[bucket] = at;
        self.link(By::Age, at);
        self.link(By::Prefix, at);
        self.link(By::Zone, at);
        self.unproved += usize::from(!is_proved);
        let waiting = self.counts.waiting.read() + 1;
        self.counts.waiting.write(waiting);
        self.counts.most.write(self.counts.most.read().max(waiting));
        waiter
    }

    /// Takes one out that is answered now; `None`: it has gone before.
    pub fn take(&mut self, waiter: Waiter, now: Moment) -> Option<Taken<T>> {
        let fate = self.fate(self.slots.get(key_of(waiter))?, now);
        let Slot { waiting, ticket, since, is_proved, question, prefix, zone, .. } =
            self.remove_slot(key_of(waiter))?;
        match fate {
            Fate::Late => self.counts.late.add(1),
            Fate::Truncate => self.counts.truncated.add(1),
            Fate::Reply => {}
        }
        Some(Taken { waiting, ticket, fate, since, is_proved, prefix, zone, question })
    }

    fn fate(&self, slot: &Slot<T>, now: Moment) -> Fate {
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
        let waited = now.ms_since(taken.since);
        self.counts.waited(waited);
        if !taken.is_proved && waited > HELD_MS_MIN {
            self.prefixes.add_pulse(taken.prefix, octets as u32, now);
        }
    }

    /// Takes one out that waits no more: its client is gone.
    pub fn forget(&mut self, waiter: Waiter) -> Option<Gone<T>> {
        let Slot { waiting, ticket, .. } = self.remove_slot(key_of(waiter))?;
        Some(Gone { waiter, ticket, waiting })
    }

    /// One that has waited for as long as anybody may, to be taken and told so; called until there is none. `is_out`: there seems to be no network.
    pub fn overdue(&self, now: Moment, is_out: bool) -> Option<Waiter> {
        let is_over = |kind: &usize| {
            self.oldest(*kind).is_some_and(|oldest| oldest.since.plus_ms(patience_ms(*kind, is_out)) <= now)
        };
        let at = self.ages[(0..2).find(is_over)?].first;
        self.slots.key_at(at).map(waiter_of)
    }

    /// When to look at those who have waited too long: also when somebody has who would be told that there is no network. Not before a millisecond
    /// from now: those that are too many for a turn are for the next, after what has come meanwhile.
    pub fn deadline(&self, now: Moment) -> Option<Moment> {
        let of_kind = |kind: usize| {
            let since = self.oldest(kind)?.since;
            let outage = since.plus_ms(OUTAGE_MS_MAX);
            Some(if outage > now { outage } else { since.plus_ms(patience_ms(kind, false)) })
        };
        (0..2).filter_map(of_kind).min().map(|at| at.max(now.plus_ms(1)))
    }

    /// The oldest of those without and with a proved address.
    fn oldest(&self, kind: usize) -> Option<&Slot<T>> {
        self.slots.at(self.ages[kind].first)
    }

    /// Every one that waits, the oldest first of those without, then of those with a proved address: for operators.
    pub fn each(&self) -> impl Iterator<Item = (Waiter, &Waiting, Moment)> {
        let follow = |first: u32| {
            std::iter::successors(self.slots.at(first).map(|slot| (first, slot)), |(_, slot)| {
                let next = slot.links[By::Age as usize].after;
                Some((next, self.slots.at(next)?))
            })
        };
        let all = self.ages.into_iter().flat_map(move |ends| follow(ends.first));
        all.filter_map(|(at, slot)| Some((waiter_of(self.slots.key_at(at)?), &slot.waiting, slot.since)))
    }

    /// Takes out the one at a place.
    fn remove(&mut self, at: u32) -> Option<Gone<T>> {
        let key = self.slots.key_at(at)?;
        let Slot { waiting, ticket, .. } = self.remove_slot(key)?;
        Some(Gone { waiter: waiter_of(key), ticket, waiting })
    }

    fn remove_slot(&mut self, key: Key) -> Option<Slot<T>> {
        let question = self.slots.get(key)?.question;
        self.unlink(By::Age, key.slot);
        self.unlink(By::Prefix, key.slot);
        self.unlink(By::Zone, key.slot);
        self.unlink_question(question, key.slot);
        let slot = self.slots.remove(key)?;
        self.unproved -= usize::from(!slot.is_proved);
        self.counts.waiting.subtract(1);
        Some(slot)
    }

    /// One that is linked somewhere.
    fn slot(&self, at: u32) -> &Slot<T> {
        self.slots.at(at).expect("what is linked is there")
    }

    fn slot_mut(&mut self, at: u32) -> &mut Slot<T> {
        self.slots.at_mut(at).expect("what is linked is there")
    }
}

/// The number of a client for the resolver.
fn waiter_of(key: Key) -> Waiter {
    Waiter(u64::from(key.generation) << 32 | u64::from(key.slot))
}

fn key_of(waiter: Waiter) -> Key {
    Key { slot: waiter.0 as u32, generation: (waiter.0 >> 32) as u32 }
}

/// How long those without and with a proved address wait for an answer.
fn patience_ms(kind: usize, is_out: bool) -> u64 {
    if is_out { OUTAGE_MS_MAX } else { [SILENCE_MS_MAX, PROVED_AGE_MS_MAX][kind] }
}

/// A part of the places, one at least.
fn share(places: usize, part: usize) -> usize {
    (places / part).max(1)
}
