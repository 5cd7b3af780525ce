//! What comes into a shard: weighed against what is known of its name, then given a slot and a place.

use crate::entry::{self, Entry, Fixed, Kind};
use crate::index::{Home, NAME_SLOTS, Slot, Which};
use crate::limits::MINOR_MAX;
use crate::rank::{self, Effect};
use crate::shard::{MAIN_WORDS_MAX, Shard, Shared, Writer, ghost_hash};
use crate::sweep::KEY_WORDS;
use crate::{Key, Moment};

/// An entry that comes.
pub(crate) struct Put<'p> {
    pub(crate) shared: &'p Shared,
    pub(crate) home: Home,
    pub(crate) key: &'p Key<'p>,
    pub(crate) entry: &'p Entry<'p>,
    pub(crate) now: Moment,
}

/// What is known of a name when something is put: slots, by their number in the name's buckets.
#[derive(Default)]
struct Neighbours {
    /// The slot of the key, and what it has.
    present: Option<(usize, Entry<'static>)>,
    /// What goes: it is contradicted, or one too many.
    out: [Option<usize>; NAME_SLOTS],
    /// What does not leave for the entry.
    protected: [Option<usize>; NAME_SLOTS],
}

impl Shard {
    /// Keeps an entry that was asked for at `asked`, or says that it does not. Under the lock.
    pub(crate) fn put(&self, writer: &mut Writer, put: &Put<'_>, asked: Moment) -> bool {
        put.shared.note_time(put.now);
        let may_be = rank::is_kept(put.key, put.entry) && !put.shared.marks.refuse(put.key.name, asked);
        let is_kept = may_be && self.weigh(writer, put);
        self.counts.refused.add(u64::from(!is_kept));
        is_kept
    }

    fn weigh(&self, writer: &mut Writer, put: &Put<'_>) -> bool {
        let Some(neighbours) = self.look_around(writer, put) else { return false };
        let kept = neighbours.present.map(|(_, kept)| kept);
        let ttl = put.shared.limits().ttl_of(put.key.subject, put.entry, kept.as_ref(), put.now);
        self.write(writer, put, &Entry { ttl, ..*put.entry }, &neighbours)
    }

    /// Takes in an entry that was dumped, unless something newer is known of its name, or it was flushed since. `is_proven`: it was of use before. Under the lock.
    pub(crate) fn restore(&self, writer: &mut Writer, put: &Put<'_>, is_proven: bool) -> bool {
        let Some(neighbours) = self.look_around(writer, put) else { return false };
        let is_known = neighbours.present.is_some() || neighbours.out.iter().any(Option::is_some);
        if is_known || put.shared.marks.refuse(put.key.name, put.entry.stored) {
            return false;
        }
        if is_proven {
            writer.ghosts.insert(ghost_hash(&put.home, put.home.tag(put.key.subject)));
        }
        let is_kept = self.write(writer, put, put.entry, &neighbours);
        self.counts.restored.add(u64::from(is_kept));
        is_kept
    }

    /// What else is known of the name; `None`: something of that stands against the entry.
    fn look_around(&self, writer: &mut Writer, put: &Put<'_>) -> Option<Neighbours> {
        let (key, entry) = (put.key, put.entry);
        let mut neighbours = Neighbours::default();
        let mut minors = Minors::default();
        for (number, (slot, word)) in self.of_name(&put.home).enumerate() {
            let count = self.ring(word.ring()).copy_some(word.place(), KEY_WORDS, &mut writer.kept);
            let octets = &writer.kept[..count.unwrap_or(0)];
            let (Some(other), Some((fixed, _))) = (entry::key_of(octets), Fixed::of(octets)) else {
                continue;
            };
            let Some(known) = fixed.entry().filter(|_| other.name == key.name) else { continue };
            let effect = rank::effect(key.subject, other.subject);
            let is_own = other.subject == key.subject;
            let is_refused = match effect {
                Effect::OutUnlessStands => rank::contradicts(&known, entry, put.now),
                _ => is_own && rank::stands(&known, entry, put.now),
            };
            if is_refused {
                return None;
            }
            if is_own {
                neighbours.present = Some((slot, known));
            } else if effect != Effect::None {
                neighbours.out[number] = Some(slot);
            } else if rank::is_minor(other.subject, known.kind) {
                minors.add(slot, known.stored);
            } else if rank::is_protected(other.subject, known.kind)
                && !matches!(entry.kind, Kind::Data | Kind::Cut)
            {
                neighbours.protected[number] = Some(slot);
            }
        }
        if minors.count >= MINOR_MAX
            && neighbours.present.is_none()
            && rank::is_minor(key.subject, entry.kind)
        {
            let free = neighbours.out.iter_mut().find(|out| out.is_none());
            free.into_iter().for_each(|out| *out = minors.oldest.map(|(_, slot)| slot));
        }
        Some(neighbours)
    }

    /// Writes an entry for which there is nothing in the way. `false`: it is too large, or its name has no slot for it.
    fn write(&self, writer: &mut Writer, put: &Put<'_>, entry: &Entry<'_>, neighbours: &Neighbours) -> bool {
        let mut octets = std::mem::take(&mut writer.put);
        octets.clear();
        let fits = entry::write(put.key, entry, &mut octets) && octets.len() / 8 <= self.entry_words_max();
        let is_kept = fits && self.place(writer, put, neighbours, &octets);
        writer.put = octets;
        is_kept
    }

    /// Puts the octets of an entry where they belong.
    fn place(&self, writer: &mut Writer, put: &Put<'_>, neighbours: &Neighbours, octets: &[u8]) -> bool {
        neighbours.out.iter().flatten().for_each(|slot| self.take_out(writer, *slot));
        let (words, present) = (octets.len() / 8, neighbours.present.map(|(slot, _)| slot));
        let tag = put.home.tag(put.key.subject);
        let is_main =
            |slot: Option<usize>| slot.is_some_and(|slot| self.index.load(slot).ring() == Which::Main);
        let was_main = is_main(present);
        let is_ghost = present.is_none() && writer.ghosts.take(ghost_hash(&put.home, tag));
        let which = if is_ghost && words <= MAIN_WORDS_MAX { Which::Main } else { Which::Small };
        (writer.survivors, writer.surviving_words) = (0, 0);
        self.make_room(writer, put.shared, which, words, put.now);
        // The room may have been made of the key's own old copy; then its slot is free, and still its own. Or that was moved.
        let was_main = was_main || is_main(present);
        let free = present.or_else(|| self.index.free_slot(&put.home));
        let may_go = |slot| !neighbours.protected.contains(&Some(slot));
        let Some(slot) = free.or_else(|| self.make_slot(writer, &put.home, may_go)) else { return false };
        if present.is_some() {
            self.count_out(self.index.load(slot));
        }
        let place = self.append(writer, which, octets);
        self.index.store(slot, Slot::new(tag, which, place));
        if present.is_none() || was_main {
            self.index.set_visited(slot, was_main);
        }
        self.counts.puts.add(1);
        self.counts.entries.add(1);
        self.counts.octets.add(octets.len() as u64);
        true
    }

    /// A slot of buckets that are full, of those that `may_go`.
    pub(super) fn make_slot(
        &self,
        writer: &mut Writer,
        home: &Home,
        may_go: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        writer.turn = writer.turn.wrapping_add(1);
        let slot = self.index.victim(home, writer.turn, may_go)?;
        self.take_out(writer, slot);
        self.counts.evicted_index.add(1);
        Some(slot)
    }
}

/// Entries of a name that only some of may stay.
#[derive(Default)]
struct Minors {
    count: usize,
    oldest: Option<(Moment, usize)>,
}

impl Minors {
    fn add(&mut self, slot: usize, stored: Moment) {
        self.count += 1;
        if self.oldest.is_none_or(|(oldest, _)| stored < oldest) {
            self.oldest = Some((stored, slot));
        }
    }
}
