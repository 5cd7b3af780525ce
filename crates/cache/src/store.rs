//! The cache: shards by the hash of names, and what belongs to all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use wire::Name;

use crate::denials::Denials;
use crate::dump::Restoring;
use crate::entry::{self, Copied, Entry, Kind, Stamp};
use crate::index::{Slot, Which};
use crate::limits::{Limits, LiveLimits};
use crate::marks::Marks;
use crate::servers::Servers;
use crate::shard::{Counts, Put, READS_MAX, Shape, Shard, Shared};
use crate::sweep::Sweeps;
use crate::{Key, Moment, Secret, Subject};

/// The least memory of a cache: less does not hold the largest entries of the small ring.
pub const OCTETS_MIN: usize = 1 << 20;
/// Octets of a shard, about. Writers of fewer shards would meet, more shards leave more slack.
const OCTETS_PER_SHARD: usize = 8 << 20;
/// Shards at most: with 64 workers that miss 5,000 times a second, one `put` in 400 finds the lock taken.
pub(crate) const SHARDS_MAX: usize = 64;
/// What is known of servers has one part of so many of the memory,
const SERVERS_PART: usize = 64;
/// and at most this: 120,000 servers.
const SERVERS_OCTETS_MAX: usize = 16 << 20;

/// Denials for names that nobody has asked for have one part of so many: what they do not need stands empty, and with the servers' part it is to be less than a twentieth.
const DENIALS_PART: usize = 40;
/// and at most this: a million spans.
const DENIALS_OCTETS_MAX: usize = 256 << 20;

/// How a cache is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Octets of memory for everything; at least [`OCTETS_MIN`].
    pub octets: usize,
    /// How long things are kept.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { octets: 8 << 20, limits: Limits::default() }
    }
}

/// What a resolver has learned; see `docs/design/cache.md`. All methods are for any thread at any time.
pub struct Cache {
    pub(crate) shared: Shared,
    pub(crate) shards: Box<[Shard]>,
    servers: Servers,
    denials: Denials,
    pub(crate) sweeps: Mutex<Sweeps>,
    /// Failures that were stored before count no more.
    pub(crate) outage_end: AtomicU64,
    /// What was dumped before, and is not taken in yet; and whether there is such, which is all that a miss looks at.
    pub(crate) restoring: RwLock<Option<Arc<Restoring>>>,
    pub(crate) is_restoring: AtomicBool,
    octets: usize,
}

impl Default for Cache {
    fn default() -> Cache {
        Cache::new()
    }
}

impl Cache {
    /// A small cache for tests and tools, whose secret is the standard library's.
    pub fn new() -> Cache {
        use std::hash::BuildHasher;
        let state = std::hash::RandomState::new();
        Cache::with(&Settings::default(), std::array::from_fn(|number| state.hash_one(number)))
    }

    /// How long things are kept, as it is now.
    pub fn limits(&self) -> Limits {
        self.shared.limits.load()
    }

    /// A cache; takes all its memory. `random`: from the system, nobody else may know it.
    pub fn with(settings: &Settings, random: [u64; 3]) -> Cache {
        let octets = settings.octets.max(OCTETS_MIN);
        let secret = Secret::new(random);
        let servers = Servers::new((octets / SERVERS_PART).min(SERVERS_OCTETS_MAX), secret.clone());
        let denials_octets = (octets / DENIALS_PART).min(DENIALS_OCTETS_MAX);
        let denials = Denials::new(denials_octets, secret.clone());
        let count = 1 << (octets / OCTETS_PER_SHARD).clamp(1, SHARDS_MAX).ilog2();
        let marks = Marks::new(count);
        let fixed = servers.octets()
            + denials_octets
            + Marks::octets(count)
            + size_of::<Cache>()
            + count * size_of::<Shard>();
        let shape = Shape::of((octets - fixed) / count);
        let shards: Box<[Shard]> = (0..count).map(|number| Shard::new(number, shape)).collect();
        Cache {
            shared: Shared {
                secret,
                limits: LiveLimits::new(&settings.limits),
                marks,
                clock: AtomicU64::new(0),
            },
            shards,
            servers,
            denials,
            sweeps: Mutex::default(),
            outage_end: AtomicU64::new(0),
            restoring: RwLock::default(),
            is_restoring: AtomicBool::new(false),
            octets: fixed + count * shape.octets(),
        }
    }

    /// How servers behave.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// What denies names that nobody has asked for yet.
    pub fn denials(&self) -> &Denials {
        &self.denials
    }

    /// What is known of `key`, expired or not: `copied` holds it. Counts as a use of it, which keeps it longer, from a second after it was stored.
    #[inline]
    pub fn get<'b>(&self, key: &Key<'_>, copied: &'b mut Copied) -> Option<Entry<'b>> {
        self.named(key.name).get(key.subject, copied)
    }

    /// The same, not counted as a use: for who has just stored it, and for operators.
    pub fn peek<'b>(&self, key: &Key<'_>, copied: &'b mut Copied) -> Option<Entry<'b>> {
        self.named(key.name).peek(key.subject, copied)
    }

    /// Has all there that was dumped of a name, where it is not taken in yet.
    pub(crate) fn see_to(&self, name: &Name) {
        if self.is_restoring.load(Ordering::Relaxed) {
            self.bring(name);
        }
    }

    /// Keeps `entry` from `now` on; `asked`: when it was asked for. `false`, and nothing: what is kept and not expired is believed more (RFC 2181 5.4.1), or it
    /// was flushed since it was asked for, or it is of a kind or size that is not kept.
    pub fn put(&self, key: &Key<'_>, entry: &Entry<'_>, asked: Moment, now: Moment) -> bool {
        self.see_to(key.name);
        let hash = self.shared.secret.hash(key.name.octets());
        let (_, shard) = self.shard_of(hash);
        let entry = &Entry { stored: now, ..*entry };
        shard.put(&Put { shared: &self.shared, home: shard.index.home(hash), key, entry, now }, asked)
    }

    /// Forgets `key`.
    pub fn remove(&self, key: &Key<'_>) {
        self.see_to(key.name);
        let named = self.named(key.name);
        let mut writer = named.shard.lock();
        if let Some(slot) = named.slot(key.subject) {
            named.shard.take_out(&mut writer, slot);
        }
    }

    /// The stamp of the entry of `key`: what is made of the entry holds as long as the stamp is current.
    pub fn stamp(&self, key: &Key<'_>, copied: &mut Copied) -> Option<Stamp> {
        self.peek(key, copied)?;
        copied.stamp
    }

    /// Whether what a stamp was taken of is still the entry of its key. Counts as a use of it. One load, and one of the flushes.
    #[inline]
    pub fn is_current(&self, stamp: &Stamp) -> bool {
        let Some((number, shard, slot)) = self.slot(stamp) else { return false };
        let word = Slot(stamp.word);
        let is_current = shard.index.load(slot) == word && !self.shared.marks.may_hide(number, word);
        if is_current {
            shard.index.visit(slot);
        }
        is_current
    }

    /// Failures that were stored before `now` count no more: nothing could be asked of anybody then. Back-offs of servers neither.
    pub fn outage_ended(&self, now: Moment) {
        self.outage_end.fetch_max(now.0, Ordering::Relaxed);
        self.servers.outage_ended(now);
    }

    /// What was asked for until `now` is not kept any more when it comes: other settings hold, or other anchors. What is kept already stays, but for what
    /// [`Cache::flush`] takes out.
    pub fn refuse_asked_until(&self, now: Moment) {
        self.shared.marks.refuse_all(now);
    }

    /// Goes by other limits from now on: what is kept stays as long as it was to stay.
    pub fn set_limits(&self, limits: &Limits) {
        self.shared.limits.set(limits);
    }

    /// What is known of a name, whatever the subject: `each` gets every entry, expired or not.
    pub fn show(&self, name: &Name, mut each: impl FnMut(Subject, &Entry<'_>)) {
        self.see_to(name);
        let hash = self.shared.secret.hash(name.octets());
        let (number, shard) = self.shard_of(hash);
        let mut octets = Vec::new();
        let home = shard.index.home(hash);
        for slot in home.slots() {
            for _ in 0..READS_MAX {
                let word = shard.index.load(slot);
                if !home.may_be(word) || self.shared.marks.hide(&self.shared.secret, name, number, word) {
                    break;
                }
                let Some(count) = shard.ring(word.ring()).copy(word.place(), &mut octets) else { continue };
                if let (Some(key), Some(entry)) =
                    (entry::key_of(&octets[..count]), entry::read(&octets[..count]))
                    && key.name == name
                {
                    each(key.subject, &entry);
                }
                break;
            }
        }
    }

    /// What there is, and what came of it.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.shards.iter().for_each(|shard| counts.add(&shard.counts()));
        counts
    }

    /// How many entries of each kind there are, expired ones among them, and their octets. Looks at all of them, in steps: for operators.
    pub fn kinds(&self) -> [(Kind, u64, u64); 5] {
        let all = [Kind::Data, Kind::NoData, Kind::NameError, Kind::Failure, Kind::Cut];
        let mut kinds = all.map(|kind| (kind, 0, 0));
        for number in 0..self.shards.len() {
            for ring in [Which::Main, Which::Small] {
                self.walk(number, ring, |octets, _| {
                    let kind = entry::read(octets).map(|entry| entry.kind);
                    if let Some(counted) = kinds.iter_mut().find(|counted| Some(counted.0) == kind) {
                        *counted = (counted.0, counted.1 + 1, counted.2 + octets.len() as u64);
                    }
                });
            }
        }
        kinds
    }

    /// Octets that all of it takes at most, however much is kept.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Octets of these that have been written so far, and so are memory of the process, at most: what is known of servers counts as a whole.
    pub fn resident_octets(&self) -> usize {
        let shards: usize = self.shards.iter().map(Shard::resident_octets).sum();
        let others = self.servers.octets() + Marks::octets(self.shards.len()) + self.denials.octets();
        (shards + others).min(self.octets)
    }

    #[inline]
    pub(crate) fn shard_of(&self, hash: u64) -> (usize, &Shard) {
        // As many as a power of two.
        let number = (hash >> 16) as usize & (self.shards.len() - 1);
        (number, &self.shards[number])
    }

    #[inline]
    fn slot(&self, stamp: &Stamp) -> Option<(usize, &Shard, usize)> {
        let each = self.shards[0].index.slot_count();
        let (shard, slot) = (stamp.slot as usize / each, stamp.slot as usize % each);
        Some((shard, self.shards.get(shard)?, slot))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
