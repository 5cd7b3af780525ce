//! The model of the cache: an ordered map under a lock, nothing bounded, nothing evicted.

use std::collections::BTreeMap;
use std::sync::RwLock;

use wire::Name;

use crate::entry::{self, Copied, Entry, Kind};
use crate::limits::Limits;
use crate::rank::{self, Effect};
use crate::sweep::Flush;
use crate::{Key, Moment, Subject};

/// Octets of the name, and the subject.
type Place = (Vec<u8>, Subject);

/// A cache without bounds, which does what the real one promises.
#[derive(Default)]
pub struct Naive {
    known: RwLock<Known>,
    limits: Limits,
}

#[derive(Default)]
struct Known {
    /// The octets of each entry.
    entries: BTreeMap<Place, Vec<u8>>,
    flushes: Vec<(Flush, Moment)>,
    outage_end: Moment,
}

impl Naive {
    /// An empty cache.
    pub fn new() -> Naive {
        Naive::default()
    }

    /// An empty cache with limits.
    pub fn with(limits: Limits) -> Naive {
        Naive { limits, ..Naive::default() }
    }

    /// As [`Cache::get`](crate::Cache::get).
    pub fn get<'b>(&self, key: &Key<'_>, copied: &'b mut Copied) -> Option<Entry<'b>> {
        let known = self.known.read().ok()?;
        let octets = known.entries.get(&(key.name.octets().to_vec(), key.subject))?;
        copied.octets.clone_from(octets);
        let entry = entry::read(&copied.octets)?;
        (entry.kind != Kind::Failure || entry.stored >= known.outage_end).then_some(entry)
    }

    /// As [`Cache::put`](crate::Cache::put), but for room.
    pub fn put(&self, key: &Key<'_>, entry: &Entry<'_>, asked: Moment, now: Moment) -> bool {
        let Ok(mut known) = self.known.write() else { return false };
        if !rank::is_kept(key, entry)
            || known.flushes.iter().any(|(flush, at)| asked <= *at && is_in(flush, key.name))
        {
            return false;
        }
        let name = key.name.octets().to_vec();
        let of_name: Vec<Subject> =
            known.entries.keys().filter(|place| place.0 == name).map(|place| place.1).collect();
        let in_the_way = |subject: &Subject| {
            let kept = known.entries.get(&(name.clone(), *subject)).and_then(|octets| entry::read(octets));
            kept.is_some_and(|kept| match rank::effect(key.subject, *subject) {
                Effect::OutUnlessStands => rank::contradicts(&kept, entry, now),
                _ => *subject == key.subject && rank::stands(&kept, entry, now),
            })
        };
        if of_name.iter().any(in_the_way) {
            return false;
        }
        let kept = known.entries.get(&(name.clone(), key.subject)).and_then(|octets| entry::read(octets));
        let ttl = self.limits.ttl_of(key.subject, entry, kept.as_ref(), now);
        let mut octets = Vec::new();
        if !entry::write(key, &Entry { stored: now, ttl, ..*entry }, &mut octets) {
            return false;
        }
        known
            .entries
            .retain(|place, _| place.0 != name || rank::effect(key.subject, place.1) == Effect::None);
        known.entries.insert((name, key.subject), octets);
        true
    }

    /// Forgets `key`.
    pub fn remove(&self, key: &Key<'_>) {
        if let Ok(mut known) = self.known.write() {
            known.entries.remove(&(key.name.octets().to_vec(), key.subject));
        }
    }

    /// As [`Cache::flush`](crate::Cache::flush).
    pub fn flush(&self, flush: &Flush, now: Moment) -> usize {
        let Ok(mut known) = self.known.write() else { return 0 };
        let before = known.entries.len();
        known.entries.retain(|(name, _), _| !is_in(flush, Name::trusted(name)));
        known.flushes.push((flush.clone(), now));
        before - known.entries.len()
    }

    /// As [`Cache::outage_ended`](crate::Cache::outage_ended).
    pub fn outage_ended(&self, now: Moment) {
        if let Ok(mut known) = self.known.write() {
            known.outage_end = known.outage_end.max(now);
        }
    }
}

fn is_in(flush: &Flush, name: &Name) -> bool {
    match flush {
        Flush::Name(flushed) => name.eq_ignore_case(flushed),
        Flush::Tree(flushed) => name.is_at_or_below(flushed),
        Flush::All => true,
    }
}
