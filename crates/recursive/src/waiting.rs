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

mod groups;
#[cfg(test)]
mod tests;

use crate::wishes::Waiting;
use cache::Moment;
use groups::{Groups, NONE};
use resolve::Waiter;
use std::hash::{BuildHasher, Hasher, RandomState};
use wire::{Address, Name};

/// Age at which an answer to an address that was not proved is not sent any more, milliseconds. Held back longer, answers could be let loose on a victim at
/// a moment of an attacker's choice (DNSBomb, CVE-2024-33655); Unbound has 1.9 s. Stubs ask again after 1 to 5 s, and find it in the cache.
pub const AGE_MS_MAX: u64 = 2_000;
/// The same for clients who are where they say: more than the resolver takes for any question.
pub const PROVED_AGE_MS_MAX: u64 = 8_000;
/// A part of the places that those of one prefix have at most: one forwarder may be a city.
pub const PREFIX_PART: usize = 8;
/// A part of the places that those who wait for one zone have at most.
pub const ZONE_PART: usize = 2;
/// Quarters of the places that clients have whose address is not proved: floods with forged ones leave room for the others. As `net` has it.
pub const UNPROVED_QUARTERS: usize = 3;
/// Where all places are taken, a chain is a culprit only if it has more than such a part of the places ...
pub const CULPRIT_PART: usize = 64;
/// ... and more than so many times the mean of its kind: in a flood of names and addresses that are all different the longest chain is an honest forwarder, or a
/// large zone. Without a culprit the oldest of all goes.
pub const CULPRIT_MEANS: usize = 4;
/// Age from which on an answer counts as held back, milliseconds: servers far away take less.
pub const HELD_MS_MIN: u64 = 500;
/// Octets of answers that were held back which one prefix gets within [`PULSE_MS`], if its clients are not proved; the others get TC, of the size of their
/// query. That is 500 answers of DNSSEC's usual size, which a single /24 does not wait for at once unless somebody else asked for them.
pub const PULSE_OCTETS_MAX: u32 = 64 << 10;
/// What counts as at once, milliseconds: shorter than any queue of a link that would smooth it out.
pub const PULSE_MS: u64 = 100;

/// Chains by prefix: a power of two.
const PREFIXES: usize = 1 << 14;
/// Chains by zone: a power of two.
const ZONES: usize = 1 << 12;

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
    keys: RandomState,
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
            keys: RandomState::new(),
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
        let (prefix, zone) = (self.prefix_of(who), self.zone_of(who, waiting));
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
        let (prefix, zone) = (self.prefix_of(who), self.zone_of(who, &waiting));
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

    /// Takes out one that has waited too long; to be called until there is none.
    pub fn expire(&mut self, now: Moment) -> Option<Gone<T>> {
        let is_over = |deadline: &Moment| *deadline < now;
        let at = (0..2).find(|kind| self.deadline_of(*kind).as_ref().is_some_and(is_over))?;
        self.counts.late += 1;
        self.remove(self.ages[at].first).map(|(_, gone)| gone)
    }

    /// When somebody will have waited too long.
    pub fn deadline(&self) -> Option<Moment> {
        let deadlines = (0..2).filter_map(|kind| self.deadline_of(kind));
        deadlines.min().map(|last| last.plus_ms(1))
    }

    /// The last moment for the oldest of those without and with a proved address.
    fn deadline_of(&self, kind: usize) -> Option<Moment> {
        let oldest = self.slots.get(self.ages[kind].first as usize)?;
        Some(oldest.since.plus_ms([AGE_MS_MAX, PROVED_AGE_MS_MAX][kind]))
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

    /// The ends of the chain of a slot.
    fn ends(&mut self, by: By, at: u32) -> &mut Ends {
        let slot = &self.slots[at as usize];
        match by {
            By::Age => &mut self.ages[usize::from(slot.is_proved)],
            By::Prefix => self.prefixes.ends_mut(slot.prefix),
            By::Zone => self.zones.ends_mut(slot.zone),
        }
    }

    /// Puts a slot at the end of its chain; by age where it belongs, which is the end but for those that were put back.
    fn link(&mut self, by: By, at: u32) {
        let since = self.slots[at as usize].since;
        let mut before = self.ends(by, at).last;
        if let By::Age = by {
            // Those that were put back go before what came since: few, and only for questions of DNS64.
            let mut steps = 0;
            while let Some(slot) = self.slots.get(before as usize)
                && slot.since > since
                && steps < PUT_BACK_STEPS_MAX
            {
                (before, steps) = (slot.links[By::Age as usize].before, steps + 1);
            }
        }
        let after = match self.slots.get(before as usize) {
            Some(slot) => slot.links[by as usize].after,
            None => self.ends(by, at).first,
        };
        self.slots[at as usize].links[by as usize] = Link { before, after };
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.links[by as usize].after = at,
            None => self.ends(by, at).first = at,
        }
        match self.slots.get_mut(after as usize) {
            Some(slot) => slot.links[by as usize].before = at,
            None => self.ends(by, at).last = at,
        }
        let slot = &self.slots[at as usize];
        match by {
            By::Age => {}
            By::Prefix => self.prefixes.grow(slot.prefix),
            By::Zone => self.zones.grow(slot.zone),
        }
    }

    fn unlink(&mut self, by: By, at: u32) {
        let Link { before, after } = self.slots[at as usize].links[by as usize];
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.links[by as usize].after = after,
            None => self.ends(by, at).first = after,
        }
        match self.slots.get_mut(after as usize) {
            Some(slot) => slot.links[by as usize].before = before,
            None => self.ends(by, at).last = before,
        }
        let slot = &mut self.slots[at as usize];
        slot.links[by as usize] = UNLINKED;
        match by {
            By::Age => {}
            By::Prefix => self.prefixes.shrink(slot.prefix),
            By::Zone => self.zones.shrink(slot.zone),
        }
    }

    /// The slot of the same client and question, if it waits.
    fn find(&self, question: u64, who: &Who<'_>) -> Option<u32> {
        let mut at = self.questions[self.bucket(question)];
        while let Some(slot) = self.slots.get(at as usize) {
            if slot.question == question && slot.is_proved == who.is_proved {
                return Some(at);
            }
            at = slot.next;
        }
        None
    }

    fn unlink_question(&mut self, question: u64, at: u32) {
        let bucket = self.bucket(question);
        let next = self.slots[at as usize].next;
        let mut before = self.questions[bucket];
        if before == at {
            self.questions[bucket] = next;
            return;
        }
        while let Some(slot) = self.slots.get_mut(before as usize) {
            if slot.next == at {
                slot.next = next;
                return;
            }
            before = slot.next;
        }
    }

    fn bucket(&self, question: u64) -> usize {
        question as usize & (self.questions.len() - 1)
    }

    /// Keyed, 64 bits: that two questions of one client are taken for one is nothing that anybody can bring about.
    fn question_of(&self, who: &Who<'_>, waiting: &Waiting) -> u64 {
        let mut hasher = self.keys.build_hasher();
        let (is_v4, bits) = who.address.leading_bits();
        hasher.write_u64(bits);
        hasher.write_u8(u8::from(is_v4));
        if let std::net::IpAddr::V6(address) = who.address.ip() {
            hasher.write_u64(address.to_bits() as u64);
        }
        hasher.write_u16(who.address.port());
        hasher.write_u16(waiting.id());
        hasher.write_u16(waiting.qtype());
        hasher.write(waiting.name().octets());
        hasher.finish()
    }

    fn prefix_of(&self, who: &Who<'_>) -> u32 {
        let (is_v4, bits) = who.address.leading_bits();
        // /24, /56.
        let prefix = if is_v4 { bits >> 40 } else { bits >> 8 | 1 << 63 };
        self.keys.hash_one((prefix, who.is_proved)) as u32 & (PREFIXES as u32 - 1)
    }

    fn zone_of(&self, who: &Who<'_>, waiting: &Waiting) -> u32 {
        let mut hasher = self.keys.build_hasher();
        hasher.write_u8(u8::from(who.is_proved));
        for label in zone_labels(waiting.name()) {
            for octet in label {
                hasher.write_u8(octet.to_ascii_lowercase());
            }
            hasher.write_u8(0);
        }
        hasher.finish() as u32 & (ZONES as u32 - 1)
    }
}

/// Most that one that is put back is moved before those that came since it came: a second of them. Where there are more it counts as younger than it is.
const PUT_BACK_STEPS_MAX: usize = 64;

/// A part of the places, one at least.
fn share(places: usize, part: usize) -> usize {
    (places / part).max(1)
}

/// The labels of a name that are likely those of a zone that somebody registered: two, three where the second has at most three letters (`co.uk`), those of a
/// /16 below `in-addr.arpa`, of a /32 below `ip6.arpa`. It only has to be the same for all names of a flood, before anything is known of them.
fn zone_labels(name: &Name) -> impl Iterator<Item = &[u8]> {
    let count = name.label_count();
    let mut end = name.labels().skip(count.saturating_sub(2));
    let kept = match (end.next(), end.next()) {
        (Some(second), Some(last)) if last.eq_ignore_ascii_case(b"arpa") => {
            if second.eq_ignore_ascii_case(b"ip6") { 10 } else { 4 }
        }
        (Some(second), Some(_)) if second.len() <= 3 => 3,
        _ => 2,
    };
    name.labels().skip(count.saturating_sub(kept))
}
