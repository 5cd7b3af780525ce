//! All that is known of one name, looked for once: who wants more than one thing of a name hashes it once, and looks through its slots once.
//!
//! ```text
//! name --hash--> shard, bucket a, bucket b        seen: of each bucket a bit for each slot whose tag has the name's lower half, from the first look on
//! subject -----> upper half of the tag: only those slots are compared
//! ```
//!
//! It is for a moment. What is put after the first look at a bucket may not be found; what is found is as fresh as of [`Cache::get`], for the slots themselves are
//! read anew each time, and an entry that moves stays in its slot.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use wire::Name;

use crate::entry::{self, Copied, Entry, Kind, Stamp};
use crate::index::{BUCKET_SLOTS, Home, Slot};
use crate::layout::position_of;
use crate::shard::{READS_MAX, Shard};
use crate::{Cache, Key, NameHash, Subject};

/// That a bucket was looked at: beside the bits of its slots.
const LOOKED: u16 = 1 << 15;

const _: () = assert!(BUCKET_SLOTS < 15, "a bit for each slot, and one more");

/// All that the cache has of one name: its hash, and which of its sixteen slots may be the name's.
pub struct Named<'c, 'n> {
    cache: &'c Cache,
    name: &'n Name,
    shard: Cell<&'c Shard>,
    home: Cell<Home>,
    seen: [Cell<u16>; 2],
}

impl Cache {
    /// What is known of `name`, in lower case.
    #[inline(always)]
    pub fn named<'n>(&self, name: &'n Name) -> Named<'_, 'n> {
        self.named_by(name, self.name_hash(name))
    }

    /// The same for whoever has hashed the name before.
    #[inline(always)]
    pub fn named_by<'n>(&self, name: &'n Name, NameHash(hash): NameHash) -> Named<'_, 'n> {
        debug_assert_eq!(self.core.shared.secret.hash(name.octets()), hash, "the hash is the name's");
        let shard = self.shard_at(hash);
        let home = Cell::new(shard.index.home(hash));
        Named { cache: self, name, shard: Cell::new(shard), home, seen: [const { Cell::new(0) }; 2] }
    }
}

impl<'c, 'n> Named<'c, 'n> {
    /// The name.
    #[inline]
    pub fn name(&self) -> &'n Name {
        self.name
    }

    /// What [`Cache::get`] gives for this subject of the name.
    #[inline]
    pub fn get<'b>(&self, subject: Subject, copied: &'b mut Copied) -> Option<Entry<'b>> {
        let (entry, slot) = self.look(subject, copied)?;
        if self.cache.core.shared.counts(entry.stored) {
            self.shard.get().index.visit(slot);
        }
        Some(entry)
    }

    /// The same, not counted as a use.
    pub fn peek<'b>(&self, subject: Subject, copied: &'b mut Copied) -> Option<Entry<'b>> {
        self.look(subject, copied).map(|(entry, _)| entry)
    }

    #[inline(always)]
    fn look<'b>(&self, subject: Subject, copied: &'b mut Copied) -> Option<(Entry<'b>, usize)> {
        copied.stamp = None;
        let (slot, word, octets) = match self.copy(subject, &mut copied.octets) {
            None if self.may_be_elsewhere() => self.copy_again(subject, copied),
            found => found,
        }?;
        let shared = &self.cache.core.shared;
        if shared.marks.hide(&shared.secret, self.name, word) {
            return None;
        }
        let position = position_of(self.home.get().hash()) as u16;
        copied.stamp = Some(Stamp { slot: slot as u32, position, word: word.0 });
        let entry = entry::read(&copied.octets[..octets])?;
        let is_void = entry.kind == Kind::Failure
            && entry.stored.0 < self.cache.core.outage_end.load(Ordering::Relaxed);
        (!is_void).then_some((entry, slot))
    }

    /// Copies the entry of a subject: its slot, what that says, and how many octets.
    #[inline(always)]
    fn copy(&self, subject: Subject, to: &mut Vec<u8>) -> Option<(usize, Slot, usize)> {
        let (shard, home) = (self.shard.get(), self.home.get());
        let (tag, key) = (home.tag(subject), Key { name: self.name, subject });
        for _ in 0..READS_MAX {
            let mut has_moved = false;
            for bucket in 0..2 {
                let mut left = self.slots_of_name(bucket, shard, &home);
                while left != 0 {
                    let slot = home.buckets[bucket] + left.trailing_zeros() as usize;
                    left &= left - 1;
                    let word = shard.index.load(slot);
                    if word.tag() != tag || word == Slot::FREE {
                        continue;
                    }
                    match shard.ring(word.ring()).copy(word.place(), to) {
                        Some(octets) if entry::is_of(&to[..octets], &key) => {
                            return Some((slot, word, octets));
                        }
                        Some(_) => {}
                        None => has_moved = true,
                    }
                }
            }
            if !has_moved {
                return None;
            }
        }
        shard.note_overtaken();
        None
    }

    /// Whether what is not found may be in another shard, or in a dump.
    #[inline(always)]
    fn may_be_elsewhere(&self) -> bool {
        self.shard.get().left().is_some() || self.cache.core.is_restoring.load(Ordering::Relaxed)
    }

    /// The same where the name has gone to, and after what was dumped of it has been taken in, by whomever: so its buckets are looked at anew.
    #[cold]
    fn copy_again(&self, subject: Subject, copied: &mut Copied) -> Option<(usize, Slot, usize)> {
        if self.cache.core.is_restoring.load(Ordering::Relaxed) {
            self.cache.bring(self.name);
        }
        let hash = self.home.get().hash();
        while let Some(left) = self.shard.get().left() {
            let shard = self.shard.get().follow(left, &self.cache.core.shared, self.name, hash);
            self.shard.set(shard);
            self.home.set(shard.index.home(hash));
        }
        self.seen.iter().for_each(|seen| seen.set(0));
        self.copy(subject, &mut copied.octets)
    }

    /// The slots of a bucket that may be of the name, a bit each.
    #[inline(always)]
    fn slots_of_name(&self, bucket: usize, shard: &Shard, home: &Home) -> u16 {
        let seen = self.seen[bucket].get();
        if seen & LOOKED != 0 {
            return seen & !LOOKED;
        }
        let found = shard.index.of_name(home.buckets[bucket], home.hash());
        self.seen[bucket].set(found | LOOKED);
        found
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Moment, Rank};
    use wire::NameBuf;
    use wire::rrset::RdataListBuf;

    /// Whatever is kept of names that share buckets, a look by name says of each subject what a look by key says.
    #[test]
    fn the_same_as_by_key() {
        let cache = Cache::new();
        let names: Vec<NameBuf> =
            (0..3_000).map(|number| NameBuf::from_text(&format!("n{number}.example.")).unwrap()).collect();
        let subjects = [
            Subject::Rrset(1),
            Subject::Rrset(28),
            Subject::Rrset(257),
            Subject::Unchecked(1),
            Subject::Failure(1),
            Subject::Existence,
            Subject::Cut,
        ];
        let mut put = 0;
        for (number, name) in names.iter().enumerate() {
            for (at, subject) in subjects.iter().enumerate().filter(|(at, _)| (number >> at) % 3 == 0) {
                let list: RdataListBuf = [&[number as u8, at as u8, 0, 0][..]].into_iter().collect();
                let kind = match subject {
                    Subject::Rrset(_) | Subject::Unchecked(_) => Kind::Data,
                    Subject::Failure(_) => Kind::Failure,
                    Subject::Existence => Kind::NameError,
                    Subject::Cut => Kind::Cut,
                };
                let entry = Entry {
                    kind,
                    rank: Rank::Referral,
                    zone_labels: 1,
                    ..Entry::data(list.list(), Moment(1), 60)
                };
                put += u32::from(cache.put(&Key { name, subject: *subject }, &entry, Moment(1), Moment(1)));
            }
        }
        assert!(put > 5_000, "{put}");
        let (mut one, mut other, mut found) = (Copied::new(), Copied::new(), 0);
        for name in &names {
            let named = cache.named(name);
            for subject in subjects {
                let by_name = named.get(subject, &mut one);
                let by_key = cache.get(&Key { name, subject }, &mut other);
                assert_eq!(by_name, by_key, "{name} {subject:?}");
                found += u32::from(by_key.is_some());
                assert_eq!(one.stamp(), other.stamp());
            }
        }
        assert!(found > put / 2, "{found} of {put}");
    }

    /// What replaces an entry, and what takes it out, is seen at once: slots are read anew.
    #[test]
    fn changes_are_seen() {
        let (cache, name) = (Cache::new(), NameBuf::from_text("www.example.").unwrap());
        let put = |last: u8| {
            let list: RdataListBuf = [&[192, 0, 2, last][..]].into_iter().collect();
            let entry = Entry { zone_labels: 1, ..Entry::data(list.list(), Moment(1), 60) };
            assert!(cache.put(&Key::rrset(&name, 1), &entry, Moment(1), Moment(1)));
        };
        put(1);
        let (named, mut copied) = (cache.named(&name), Copied::new());
        let mut last = |named: &Named<'_, '_>| {
            let entry = named.get(Subject::Rrset(1), &mut copied)?;
            entry.rdatas.iter().next().map(|rdata| rdata[3])
        };
        assert_eq!(last(&named), Some(1));
        put(2);
        assert_eq!(last(&named), Some(2));
        cache.remove(&Key::rrset(&name, 1));
        assert_eq!(last(&named), None);
    }
}
