//! Entries that go to another shard: the cache is to be larger or smaller, or slots and rings are to be divided otherwise.
//!
//! ```text
//! shard --left--> next: one shard (also of others: the cache shrinks), or several (it grows)
//!
//! walk   main ring, small ring, oldest first, some entries under one taking of the lock: each is appended there to the same ring, then its slot here is freed
//! name   who writes to a name, or finds nothing of it, has what is here of it go there first
//! ```
//!
//! From when it is *left* nothing is put here. An entry has a slot there before it has none here, so a reader that looks here, then there, finds it; what readers find here is as
//! good as before. Places there begin after all places here: marks and stamps mean what they meant. What is there already is of other keys, as a key is put only after its name has gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wire::Name;

use super::shape::Filling;
use super::{Left, MAIN_WORDS_MAX, Shard, Shared, Writer, ghost_hash};
use crate::entry::{self, Fixed};
use crate::index::{Slot, Which};
use crate::layout::position_of;
use crate::sweep::KEY_WORDS;

/// Entries that go under one taking of the lock: about 60 us, which a worker that writes to the shard may have to wait.
const STEP_ENTRIES: usize = 128;

/// How far a walk is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    ring: Which,
    place: u64,
}

impl Walk {
    pub(crate) const BEGIN: Walk = Walk { ring: Which::Main, place: 0 };
}

/// What there is no room for where entries go: of those that were not read lately, or are of no use any more, so many leave, the oldest first, as they would for new ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Excess {
    entries: i64,
    octets: i64,
    /// Beside those: were flushed, and not swept yet.
    pub(crate) flushed: usize,
}

impl Excess {
    /// Of shards that all go to others.
    pub(crate) fn of(old: &[Arc<Shard>], new: &[Arc<Shard>]) -> Excess {
        let mut excess = Excess::default();
        for Filling { entries, octets, .. } in old.iter().map(|shard| shard.filling()) {
            excess.entries += entries as i64;
            excess.octets += octets as i64;
        }
        for Filling { slots, words, .. } in new.iter().map(|shard| shard.filling()) {
            // Buckets and shards fill unevenly, and the main ring keeps a place free.
            excess.entries -= slots as i64 / 8 * 7;
            excess.octets -= words as i64 * 8 / 20 * 19;
        }
        excess
    }

    /// Whether an entry of so many octets leaves that may.
    fn takes(&mut self, octets: usize) -> bool {
        let is_one = self.entries > 0 || self.octets > 0;
        self.entries -= i64::from(is_one);
        self.octets -= if is_one { octets as i64 } else { 0 };
        is_one
    }
}

impl Left {
    /// The shard that what is found at a position goes to.
    pub(crate) fn at(&self, position: usize) -> &Arc<Shard> {
        &self.next[position >> self.shift & (self.next.len() - 1)]
    }
}

impl Shard {
    /// Where its entries go, if they do.
    #[inline(always)]
    pub(crate) fn left(&self) -> Option<&Left> {
        self.left.get()
    }

    /// Has it begin after the places of others, of each ring. Before anybody has it.
    pub(crate) fn begin_after(&mut self, heads: [u64; 2]) {
        self.heads.set([0, 1].map(|ring| self.rings[ring].begin_after(heads[ring])));
    }

    /// From now on its entries go to these: one, or those at its positions, in order. Under its lock. `shift`: bits of a position that all have in common.
    pub(crate) fn leave_to(&self, next: Box<[Arc<Shard>]>, shift: u32) {
        let left = Left { next, shift, is_over: false.into() };
        assert!(self.left.set(left).is_ok(), "it is left once");
    }

    /// The shard that a name is found in by now: what is known of it here goes there first.
    pub(crate) fn follow<'s>(&'s self, left: &'s Left, shared: &Shared, name: &Name, hash: u64) -> &'s Shard {
        let next = left.at(position_of(hash));
        if !left.is_over.load(Ordering::Acquire) {
            let writer = &mut *self.lock();
            for slot in self.slots_of(writer, name, hash, |_| true) {
                self.hand(writer, (shared, next), slot, &mut Excess::default());
            }
        }
        next
    }

    /// Hands on the entry of a slot. Under the lock.
    fn hand(&self, writer: &mut Writer, (shared, next): (&Shared, &Shard), slot: usize, excess: &mut Excess) {
        let word = self.index.load(slot);
        let mut octets = std::mem::take(&mut writer.kept);
        if let Some(count) = self.ring(word.ring()).copy(word.place(), &mut octets) {
            let is_visited = self.index.is_visited(slot);
            next.take(&mut next.lock(), shared, (word, is_visited), &octets[..count], excess);
        }
        writer.kept = octets;
        self.take_out(writer, slot);
    }

    /// Takes over an entry of another shard, as it was there, unless it is in excess. Under the lock, so that a flush finds it there or here.
    fn take(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        (word, is_visited): (Slot, bool),
        octets: &[u8],
        excess: &mut Excess,
    ) {
        let now = shared.latest();
        let (Some(key), Some((fixed, _))) = (entry::key_of(octets), Fixed::of(octets)) else { return };
        let words = octets.len() / 8;
        if shared.marks.hide(&shared.secret, key.name, word) {
            excess.flushed += 1;
            return;
        }
        let home = self.index.home(shared.secret.hash(key.name.octets()));
        let is_of_use = is_visited && shared.limits().last_use(key.subject, fixed.end()) > now;
        if words > self.entry_words_max() || !is_of_use && excess.takes(octets.len()) {
            self.counts.evicted.add(1);
            return;
        }
        let which = if words <= MAIN_WORDS_MAX { word.ring() } else { Which::Small };
        (writer.survivors, writer.surviving_words) = (0, 0);
        self.make_room(writer, shared, which, words, now);
        let free = self.index.free_slot(&home);
        let Some(slot) = free.or_else(|| self.make_slot(writer, &home, |_| true)) else {
            writer.ghosts.insert(ghost_hash(&home, word.tag()));
            self.counts.evicted_index.add(1);
            return;
        };
        let place = self.append(writer, which, octets);
        self.index.set_visited(slot, is_visited);
        self.index.store(slot, Slot::new(word.tag(), which, place));
        self.counts.taken.add(1);
        self.counts.entries.add(1);
        self.counts.octets.add(octets.len() as u64);
    }

    /// Hands on some more of what is here: whether that was the last.
    pub(crate) fn hand_on(&self, shared: &Shared, walk: &mut Walk, excess: &mut Excess) -> bool {
        let Some(left) = self.left() else { return true };
        let writer = &mut *self.lock();
        let mut octets = Vec::new();
        for _ in 0..STEP_ENTRIES {
            let ring = self.ring(walk.ring);
            let place = walk.place.max(ring.tail());
            if place >= self.head(walk.ring) {
                if walk.ring == Which::Small {
                    left.is_over.store(true, Ordering::Release);
                    return true;
                }
                *walk = Walk { ring: Which::Small, place: 0 };
                continue;
            }
            let count =
                ring.copy_some(place, KEY_WORDS, &mut octets).expect("places before the head have entries");
            let key = entry::key_of(&octets[..count]).expect("entries have keys");
            let hash = shared.secret.hash(key.name.octets());
            let home = self.index.home(hash);
            if let Some(slot) = self.index.find(&home, Slot::new(home.tag(key.subject), walk.ring, place)) {
                self.hand(writer, (shared, left.at(position_of(hash))), slot, excess);
            }
            walk.place = ring.beyond(place, ring.words_at(place));
        }
        false
    }

    /// How full it is. Waits for nobody.
    pub(crate) fn filling(&self) -> Filling {
        let written: usize = self.rings.iter().zip(self.heads()).map(|(ring, head)| ring.written(head)).sum();
        let counts = self.counts();
        Filling {
            entries: counts.entries,
            octets: counts.octets,
            slots: self.index.slot_count() as u64,
            words: self.rings.iter().map(|ring| ring.len() as u64).sum(),
            written: written as u64,
        }
    }
}
