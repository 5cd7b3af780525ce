//! A dump that is taken in while the store is used already.
//!
//! ```text
//! get: not there? -> is a dump taken in? (one load) -> group of the name -> begun? -- yes -> not there
//!                                                                            `- no --> its entries are put -> look again
//! thread: group after group, those that nobody has begun -> the end: no dump any more
//! ```
//!
//! So what was known is known from the first query on, and costs a hit nothing, a miss one load. A bit for each group says that somebody has begun with it; who comes while it is taken in, for some
//! microseconds, finds nothing yet. Nothing of it comes back that was flushed since, or that something newer is known of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wire::Name;
use wire::rrset::RrsetList;

use super::read::{Dump, Room};
use super::{BESIDE_PARTS, FLAGS_AT, IS_PROVEN, entry_octets, is_worth_it};
use crate::entry::{self, Entry};
use crate::locks;
use crate::primitives::{AtomicU64, zeroed};
use crate::shard::Put;
use crate::store::Cache;
use crate::{Key, Moment, rank};

/// Groups that the thread takes in one go: a thousand entries.
const RUN_GROUPS: usize = 64;

/// What became of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Are there now.
    pub entries: usize,
    /// Of the spans that deny names, are there now.
    pub spans: usize,
    /// Of servers something is known now.
    pub servers: usize,
    /// Had expired, or something newer is known.
    pub passed_over: usize,
    /// Were no entries.
    pub wrong: usize,
    /// Groups whose checksum is wrong, or that could not be read.
    pub damaged: usize,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// What became of it so far.
    pub loaded: Loaded,
    /// Whether it is over, or there was none.
    pub is_done: bool,
}

/// A dump that is taken in.
pub(crate) struct Restoring {
    dump: Dump,
    /// A bit for each group: somebody has begun with it.
    begun: Box<[AtomicU64]>,
    /// The next group that the thread looks at.
    next: AtomicUsize,
    /// As in [`Loaded`].
    counts: [AtomicUsize; 6],
}

impl Restoring {
    /// Whether a group is the caller's to take in.
    fn claim(&self, group: usize) -> bool {
        let (word, bit) = (&self.begun[group / 64], 1 << (group % 64));
        word.fetch_or(bit, Ordering::AcqRel) & bit == 0
    }

    fn loaded(&self) -> Loaded {
        let [entries, spans, servers, passed_over, wrong, damaged] =
            self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        Loaded { entries, spans, servers, passed_over, wrong, damaged }
    }

    fn add(&self, more: &Loaded) {
        let Loaded { entries, spans, servers, passed_over, wrong, damaged } = *more;
        let more = [entries, spans, servers, passed_over, wrong, damaged];
        for (count, more) in self.counts.iter().zip(more) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }
}

impl Cache {
    /// Has all of a dump count as known from now on, in place of one that is not taken in yet: what is looked for is taken in then, the rest by [`Cache::take_in`].
    pub fn restore(&self, dump: Dump) {
        let begun = zeroed(dump.groups().div_ceil(64));
        let (next, counts) = (AtomicUsize::new(0), Default::default());
        let restoring = Restoring { dump, begun, next, counts };
        *locks::write(&self.core.restoring) = Some(Arc::new(restoring));
        self.core.is_restoring.store(true, Ordering::Release);
    }

    /// Takes in some more of the dump. For a thread that has time; several may.
    pub fn take_in(&self, now: Moment) -> Restored {
        let Some(restoring) = self.being_restored() else {
            return Restored { loaded: Loaded::default(), is_done: true };
        };
        let all = restoring.dump.groups();
        let from = restoring.next.load(Ordering::Relaxed);
        let mut loaded = Loaded::default();
        let count = restoring.dump.read_some(
            from..all.min(from + RUN_GROUPS),
            &mut Room::default(),
            |part, group, octets| {
                if restoring.claim(group) {
                    self.take_in_group(&restoring.dump, (part, octets), now, &mut loaded);
                }
            },
        );
        restoring.add(&loaded);
        restoring.next.fetch_max(from + count, Ordering::Relaxed);
        let is_done = from + count >= all;
        if is_done {
            self.end_restoring(&restoring);
        }
        Restored { loaded: restoring.loaded(), is_done }
    }

    /// Takes in what the dump has of a name, unless somebody has begun with that.
    #[cold]
    pub(crate) fn bring(&self, name: &Name) {
        let Some(restoring) = self.being_restored() else { return };
        let group = restoring.dump.group_of(name).filter(|group| restoring.claim(*group));
        let Some(group) = group else { return };
        let now = restoring.dump.opened.max(Moment(self.core.shared.clock.load(Ordering::Relaxed)));
        let mut loaded = Loaded::default();
        restoring.dump.read_some(group..group + 1, &mut Room::default(), |part, _, octets| {
            self.take_in_group(&restoring.dump, (part, octets), now, &mut loaded);
        });
        restoring.add(&loaded);
    }

    fn being_restored(&self) -> Option<Arc<Restoring>> {
        locks::read(&self.core.restoring).clone()
    }

    fn end_restoring(&self, ended: &Arc<Restoring>) {
        let mut restoring = locks::write(&self.core.restoring);
        if restoring.as_ref().is_some_and(|current| Arc::ptr_eq(current, ended)) {
            *restoring = None;
            self.core.is_restoring.store(false, Ordering::Release);
        }
    }

    fn take_in_group(
        &self,
        dump: &Dump,
        (part, octets): (usize, Result<&[u8], ()>),
        now: Moment,
        loaded: &mut Loaded,
    ) {
        let Ok(mut rest) = octets else {
            loaded.damaged += 1;
            return;
        };
        if part < BESIDE_PARTS {
            return self.take_in_beside(dump, part, rest, loaded);
        }
        let mut copy = Vec::new();
        while !rest.is_empty() {
            let Some((octets, after)) = split_entry(rest) else {
                loaded.wrong += 1;
                return;
            };
            rest = after;
            copy.clear();
            copy.extend_from_slice(octets);
            let is_proven = copy[FLAGS_AT] & IS_PROVEN != 0;
            copy[FLAGS_AT] &= !IS_PROVEN;
            match checked(&copy) {
                None => loaded.wrong += 1,
                Some((key, entry)) => match self.is_taken(dump, &key, &entry, is_proven, now) {
                    true => loaded.entries += 1,
                    false => loaded.passed_over += 1,
                },
            }
        }
    }

    fn is_taken(&self, dump: &Dump, key: &Key<'_>, entry: &Entry<'_>, is_proven: bool, now: Moment) -> bool {
        // Whoever takes it in, and when: by the time at which it was opened.
        let age_ms = dump.then.ms_since(entry.stored).saturating_add(dump.since_ms);
        // What is older than the clock was stored when it began, with less to live.
        let before_clock_ms = age_ms.saturating_sub(dump.opened.0);
        let lost = u32::try_from(before_clock_ms.div_ceil(1000)).unwrap_or(u32::MAX);
        let limits = self.core.shared.limits();
        let ttl = limits.ttl_of(key.subject, entry, None, now).min(entry.ttl).saturating_sub(lost);
        let entry = Entry { stored: Moment(dump.opened.0.saturating_sub(age_ms)), ttl, ..*entry };
        if !is_worth_it(&limits, key, &entry, now) {
            return false;
        }
        let hash = self.core.shared.secret.hash(key.name.octets());
        let (shard, mut writer) = self.writing(key.name, hash);
        let put = Put { shared: &self.core.shared, home: shard.index.home(hash), key, entry: &entry, now };
        shard.restore(&mut writer, &put, is_proven)
    }
}

/// Key and entry of octets that anybody may have written.
pub(super) fn checked(octets: &[u8]) -> Option<(Key<'_>, Entry<'_>)> {
    let (key, entry) = (entry::key_of(octets)?, entry::read(octets)?);
    let name = Name::from_wire(key.name.octets()).ok()?;
    RrsetList::from_octets(entry.beside.octets())?;
    let is_lower = !name.octets().iter().any(u8::is_ascii_uppercase);
    (is_lower && rank::is_kept(&key, &entry)).then_some((key, entry))
}

/// The octets of one entry, whole words, and what follows.
fn split_entry(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    octets.split_at_checked(entry_octets(octets)).filter(|(entry, _)| entry.len() >= entry::FIXED_OCTETS)
}
