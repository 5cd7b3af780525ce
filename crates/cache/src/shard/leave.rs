//! What leaves the rings of a shard for what comes, and what of it stays on.

use crate::Moment;
use crate::entry::{self, Fixed};
use crate::index::{Slot, Which};
use crate::shard::{MAIN_WORDS_MAX, Shard, Shared, Writer, ghost_hash};
use crate::sweep::KEY_WORDS;

/// Entries that one `put` appends to the main ring again; then what is at the tail leaves, read or not. 32 take about 5 us.
const SURVIVORS_MAX: usize = 32;
/// Words of those: copying them takes about 10 us, for which others wait.
const SURVIVING_WORDS_MAX: usize = 8192;
/// Dead entries at the tail of the main ring that are passed for one that leaves the small ring unread.
const SPARE_STEPS_MAX: usize = 4;

impl Shard {
    /// Has entries leave a ring until so many words are free; of the main ring as many more as the largest entry has, for what is appended again.
    pub(super) fn make_room(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        which: Which,
        words: usize,
        now: Moment,
    ) {
        let slack = if which == Which::Main { self.entry_words_max() } else { 0 };
        while self.ring(which).free(self.head(which)) < words + slack {
            self.pass_tail(writer, shared, which, now);
        }
    }

    /// Decides on the entry at the tail of a ring, and moves the tail beyond it.
    fn pass_tail(&self, writer: &mut Writer, shared: &Shared, which: Which, now: Moment) {
        let ring = self.ring(which);
        let place = ring.tail();
        let words = ring.words_at(place);
        let mut leaving = std::mem::take(&mut writer.leaving[which as usize]);
        let octets = ring.copy(place, &mut leaving).expect("the tail is at an entry");
        self.decide(writer, shared, (which, place), &leaving[..octets], now);
        writer.leaving[which as usize] = leaving;
        ring.advance_tail(ring.beyond(place, words));
    }

    fn decide(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        (which, place): (Which, u64),
        octets: &[u8],
        now: Moment,
    ) {
        let key = entry::key_of(octets).expect("entries have keys");
        let (fixed, _) = Fixed::of(octets).expect("entries have fixed fields");
        let home = self.index.home(shared.secret.hash(key.name.octets()));
        let word = Slot::new(home.tag(key.subject), which, place);
        let Some(slot) = self.index.find(&home, word) else { return };
        if shared.limits().last_use(key.subject, fixed.end()) <= now
            || shared.marks.hide(&shared.secret, key.name, word)
        {
            self.counts.expired.add(1);
            return self.take_out(writer, slot);
        }
        let is_visited = self.index.is_visited(slot);
        let words = octets.len() / 8;
        let may_survive = match which {
            Which::Small => words <= MAIN_WORDS_MAX,
            Which::Main => writer.survivors < SURVIVORS_MAX && writer.surviving_words < SURVIVING_WORDS_MAX,
        };
        if is_visited && may_survive {
            writer.survivors += usize::from(which == Which::Main);
            writer.surviving_words += if which == Which::Main { words } else { 0 };
            return self.keep_on(writer, shared, (slot, word, which), octets, now);
        }
        match which {
            Which::Small if words <= MAIN_WORDS_MAX && self.has_spare(writer, shared, words, now) => {
                return self.keep_on(writer, shared, (slot, word, which), octets, now);
            }
            Which::Small => {
                writer.ghosts.insert(ghost_hash(&home, word.tag()));
                self.counts.evicted_unread.add(1);
            }
            Which::Main => self.counts.evicted.add(1),
        }
        self.take_out(writer, slot);
    }

    /// Whether the main ring has room for so many words without anything of use leaving it: it has not been full yet, or what is at its tail is dead or
    /// has expired. Then what was not read stays too.
    fn has_spare(&self, writer: &mut Writer, shared: &Shared, words: usize, now: Moment) -> bool {
        let ring = self.ring(Which::Main);
        for _ in 0..SPARE_STEPS_MAX {
            if ring.free(self.head(Which::Main)) >= words + self.entry_words_max() {
                return true;
            }
            let mut octets = std::mem::take(&mut writer.leaving[Which::Main as usize]);
            let is_of_use = self.is_of_use(shared, ring.tail(), &mut octets, now);
            writer.leaving[Which::Main as usize] = octets;
            if is_of_use {
                return false;
            }
            self.pass_tail(writer, shared, Which::Main, now);
        }
        false
    }

    /// Whether the entry at a place of the main ring is in the index, and has not expired for good.
    fn is_of_use(&self, shared: &Shared, place: u64, octets: &mut Vec<u8>, now: Moment) -> bool {
        let Some(count) = self.ring(Which::Main).copy_some(place, KEY_WORDS, octets) else { return false };
        let (Some(key), Some((fixed, _))) = (entry::key_of(&octets[..count]), Fixed::of(&octets[..count]))
        else {
            return false;
        };
        let home = self.index.home(shared.secret.hash(key.name.octets()));
        let word = Slot::new(home.tag(key.subject), Which::Main, place);
        self.index.find(&home, word).is_some() && shared.limits().last_use(key.subject, fixed.end()) > now
    }

    /// Appends an entry to the main ring, its visited bit clear.
    fn keep_on(
        &self,
        writer: &mut Writer,
        shared: &Shared,
        (slot, word, from): (usize, Slot, Which),
        octets: &[u8],
        now: Moment,
    ) {
        if from == Which::Small {
            self.make_room(writer, shared, Which::Main, octets.len() / 8, now);
        }
        let place = self.append(writer, Which::Main, octets);
        self.index.set_visited(slot, false);
        self.index.store(slot, Slot::new(word.tag(), Which::Main, place));
        self.counts.kept_on.add(1);
    }
}
