//! The model of the cache: an ordered map under a lock, nothing bounded, nothing evicted.

use std::collections::BTreeMap;
use std::sync::RwLock;

use wire::Name;
use wire::name::NameBuf;

use crate::entry::{self, Copied, Entry};
use crate::{Key, Moment, Subject};

/// Octets of the name, and the subject.
type Place = (Vec<u8>, Subject);

/// See the module.
#[derive(Default)]
pub struct Naive {
    /// The octets of each entry.
    entries: RwLock<BTreeMap<Place, Vec<u8>>>,
}

/// What is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flush {
    /// All that is known of one name.
    Name(NameBuf),
    /// All of a name and of those below.
    Tree(NameBuf),
    /// Everything.
    All,
}

impl Naive {
    /// An empty cache.
    pub fn new() -> Naive {
        Naive::default()
    }

    /// What is known of `key`, expired or not: `copied` holds it.
    pub fn get<'b>(&self, key: &Key<'_>, copied: &'b mut Copied) -> Option<Entry<'b>> {
        let entries = self.entries.read().ok()?;
        let octets = entries.get(&(key.name.octets().to_vec(), key.subject))?;
        copied.octets.clone_from(octets);
        entry::read(&copied.octets)
    }

    /// Keeps `entry` from `now` on, unless what is kept and not expired is believed more, or it was asked for before it was flushed. `false`: that is so.
    pub fn put(&self, key: &Key<'_>, entry: &Entry<'_>, asked: Moment, now: Moment) -> bool {
        let _ = asked;
        let Ok(mut entries) = self.entries.write() else { return false };
        let place = (key.name.octets().to_vec(), key.subject);
        if let Some(kept) = entries.get(&place).and_then(|octets| entry::read(octets))
            && kept.ttl_left(now).is_some()
            && kept.is_believed_before(entry)
        {
            return false;
        }
        let mut octets = Vec::new();
        entry::write(&Entry { stored: now, ..*entry }, &mut octets);
        entries.insert(place, octets);
        true
    }

    /// Forgets `key`.
    pub fn remove(&self, key: &Key<'_>) {
        if let Ok(mut entries) = self.entries.write() {
            entries.remove(&(key.name.octets().to_vec(), key.subject));
        }
    }

    /// Forgets what `flush` says, at once for all readers. How many entries.
    pub fn flush(&self, flush: &Flush) -> usize {
        let Ok(mut entries) = self.entries.write() else { return 0 };
        let before = entries.len();
        entries.retain(|(name, _), _| match flush {
            Flush::Name(flushed) => !Name::trusted(name).eq_ignore_case(flushed),
            Flush::Tree(flushed) => !Name::trusted(name).is_at_or_below(flushed),
            Flush::All => false,
        });
        before - entries.len()
    }
}
