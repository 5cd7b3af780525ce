//! The cache: shards by the hash of names, and what belongs to all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use wire::Name;

use crate::denials::Denials;
use crate::dump::Restoring;
use crate::entry::{self, Copied, Entry, Kind, Stamp};
use crate::index::{Slot, Which};
use crate::layout::{Layout, Sizes, position_of};
use crate::limits::{Limits, LiveLimits};
use crate::marks::Marks;
use crate::outline::Told;
use crate::servers::Servers;
use crate::shard::{Counts, Put, READS_MAX, Shard, Shared, Writer};
use crate::sweep::Sweeps;
use crate::{Key, Moment, Secret, Subject};

/// The least memory of a cache: less does not hold the largest entries of the small ring.
pub const OCTETS_MIN: usize = 1 << 20;
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

/// What a resolver has learned; see `docs/design/cache.md`. All methods are for any thread at any time. It is a table of where things lie: as long as somebody has one, it is
/// good; [`Cache::current`] is the newest.
pub struct Cache {
    pub(crate) core: Arc<Core>,
    /// By position.
    table: Box<[Arc<Shard>]>,
    servers: Arc<Servers>,
}

/// What all tables share.
pub(crate) struct Core {
    pub(crate) shared: Shared,
    pub(crate) denials: Denials,
    pub(crate) sweeps: Mutex<Sweeps>,
    /// Failures that were stored before count no more.
    pub(crate) outage_end: AtomicU64,
    /// What was dumped before, and is not taken in yet; and whether there is such, which is all that a miss looks at.
    pub(crate) restoring: RwLock<Option<Arc<Restoring>>>,
    pub(crate) is_restoring: AtomicBool,
    pub(crate) layout: Mutex<Layout>,
    pub(crate) outline: Told,
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

    /// How long things are kept.
    pub fn limits(&self) -> Limits {
        self.core.shared.limits.load()
    }

    /// A cache; takes all its memory. `random`: from the system, nobody else may know it.
    pub fn with(settings: &Settings, random: [u64; 3]) -> Cache {
        let (sizes, secret) = (Sizes::of(settings.octets), Secret::new(random));
        let layout = Layout::new(sizes, &secret);
        Cache::of(Arc::new(Core {
            denials: Denials::new(sizes.denials, secret.clone()),
            outline: Told::new(layout.outline()),
            layout: Mutex::new(layout),
            shared: Shared {
                secret,
                limits: LiveLimits::new(&settings.limits),
                marks: Marks::new(),
                clock: AtomicU64::new(0),
            },
            sweeps: Mutex::default(),
            outage_end: AtomicU64::new(0),
            restoring: RwLock::default(),
            is_restoring: AtomicBool::new(false),
        }))
    }

    /// With the table of now.
    pub(crate) fn of(core: Arc<Core>) -> Cache {
        let layout = core.layout();
        let (table, servers) = (layout.table(), Arc::clone(layout.servers()));
        drop(layout);
        Cache { core, table, servers }
    }

    /// How servers behave.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// What denies names that nobody has asked for yet.
    pub fn denials(&self) -> &Denials {
        &self.core.denials
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
        if self.core.is_restoring.load(Ordering::Relaxed) {
            self.bring(name);
        }
    }

    /// Keeps `entry` from `now` on; `asked`: when it was asked for. `false`, and nothing: what is kept and not expired is believed more (RFC 2181 5.4.1), or it
    /// was flushed since it was asked for, or it is of a kind or size that is not kept.
    pub fn put(&self, key: &Key<'_>, entry: &Entry<'_>, asked: Moment, now: Moment) -> bool {
        self.see_to(key.name);
        let hash = self.core.shared.secret.hash(key.name.octets());
        let (shard, mut writer) = self.writing(key.name, hash);
        let entry = &Entry { stored: now, ..*entry };
        let put = Put { shared: &self.core.shared, home: shard.index.home(hash), key, entry, now };
        shard.put(&mut writer, &put, asked)
    }

    /// Forgets `key`.
    pub fn remove(&self, key: &Key<'_>) {
        self.see_to(key.name);
        let hash = self.core.shared.secret.hash(key.name.octets());
        let (shard, mut writer) = self.writing(key.name, hash);
        for slot in shard.slots_of(&mut writer, key.name, hash, |subject| subject == key.subject) {
            shard.take_out(&mut writer, slot);
        }
    }

    /// The shard that has all that is known of a name, whatever moves, locked.
    pub(crate) fn writing(&self, name: &Name, hash: u64) -> (&Shard, MutexGuard<'_, Writer>) {
        let mut shard = self.shard_at(hash);
        loop {
            let writer = shard.lock();
            // It may be left until the lock is taken, and not from then on.
            let Some(left) = shard.left() else { return (shard, writer) };
            drop(writer);
            shard = shard.follow(left, &self.core.shared, name, hash);
        }
    }

    /// The same, not locked: it may be left at any time.
    fn newest(&self, name: &Name, hash: u64) -> &Shard {
        let mut shard = self.shard_at(hash);
        while let Some(left) = shard.left() {
            shard = shard.follow(left, &self.core.shared, name, hash);
        }
        shard
    }

    /// The stamp of the entry of `key`: what is made of the entry holds as long as the stamp is current.
    pub fn stamp(&self, key: &Key<'_>, copied: &mut Copied) -> Option<Stamp> {
        self.peek(key, copied)?;
        copied.stamp
    }

    /// Whether what a stamp was taken of is still the entry of its key. Counts as a use of it. One load, and one of the flushes.
    #[inline]
    pub fn is_current(&self, stamp: &Stamp) -> bool {
        let (position, slot) = (usize::from(stamp.position), stamp.slot as usize);
        let Some(shard) = self.table.get(position) else { return false };
        let word = Slot(stamp.word);
        let is_current = shard.index.load(slot) == word && !self.core.shared.marks.may_hide(position, word);
        if is_current {
            shard.index.visit(slot);
        }
        is_current
    }

    /// Failures that were stored before `now` count no more: nothing could be asked of anybody then. Back-offs of servers neither.
    pub fn outage_ended(&self, now: Moment) {
        self.core.outage_end.fetch_max(now.0, Ordering::Relaxed);
        self.servers.outage_ended(now);
    }

    /// Goes by other limits from now on: what is kept stays as long as it was to stay.
    pub fn set_limits(&self, limits: &Limits) {
        self.core.shared.limits.set(limits);
    }

    /// What is known of a name, whatever the subject: `each` gets every entry, expired or not.
    pub fn show(&self, name: &Name, mut each: impl FnMut(Subject, &Entry<'_>)) {
        self.see_to(name);
        let hash = self.core.shared.secret.hash(name.octets());
        let shard = self.newest(name, hash);
        let mut octets = Vec::new();
        let home = shard.index.home(hash);
        for slot in home.slots() {
            for _ in 0..READS_MAX {
                let word = shard.index.load(slot);
                if !home.may_be(word) || self.core.shared.marks.hide(&self.core.shared.secret, name, word) {
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

    /// What there is, and what came of it. Waits for nobody who writes or has something move.
    pub fn counts(&self) -> Counts {
        self.core.outline.get().counts()
    }

    /// How many entries of each kind there are, expired ones among them, and their octets. Looks at all of them, in steps: for operators.
    pub fn kinds(&self) -> [(Kind, u64, u64); 5] {
        let all = [Kind::Data, Kind::NoData, Kind::NameError, Kind::Failure, Kind::Cut];
        let mut kinds = all.map(|kind| (kind, 0, 0));
        let _frozen = self.core.freeze();
        for shard in self.core.layout().shards() {
            for ring in [Which::Main, Which::Small] {
                shard.each(&self.core.shared, ring, |octets, _| {
                    let kind = entry::read(octets).map(|entry| entry.kind);
                    if let Some(counted) = kinds.iter_mut().find(|counted| Some(counted.0) == kind) {
                        *counted = (counted.0, counted.1 + 1, counted.2 + octets.len() as u64);
                    }
                });
            }
        }
        kinds
    }

    /// Octets that all of it takes at most, however much is kept; where it has just been resized, once all is moved.
    pub fn octets(&self) -> usize {
        self.core.outline.get().octets
    }

    /// Octets of these that have been written so far, and so are memory of the process, at most: what is known of servers counts as a whole. While something moves, what it
    /// leaves counts too. Waits for nobody.
    pub fn resident_octets(&self) -> usize {
        self.core.outline.get().resident_octets(self.core.denials.octets())
    }

    #[inline(always)]
    pub(crate) fn shard_at(&self, hash: u64) -> &Shard {
        &self.table[position_of(hash)]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
