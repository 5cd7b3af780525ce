//! Flushes: marked at once, then swept along the rings in steps.
//!
//! ```text
//! flush -> late answers are refused -> Name: its two buckets, done
//!                                   -> Tree, All: mark: all below hidden -> heads, shard by shard: only older ones hidden -> sweeps -> no mark
//! ```

use std::collections::VecDeque;

use wire::Name;
use wire::name::NameBuf;

use crate::Moment;
use crate::entry;
use crate::index::{Slot, Which};
use crate::layout::POSITIONS;
use crate::locks;
use crate::store::Cache;

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

/// Entries that are looked at under one taking of a lock: about 20 us, which a worker may have to wait.
const STEP_ENTRIES: usize = 128;

/// What is not swept yet.
#[derive(Default)]
pub(crate) struct Sweeps {
    waiting: VecDeque<Sweep>,
}

/// One mark, and how far its sweep is.
struct Sweep {
    mark: usize,
    name: NameBuf,
    /// The position of the shard.
    shard: usize,
    ring: Which,
    /// The next entry to look at, or from before the tail.
    place: u64,
    forgotten: usize,
}

/// How a sweep goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Entries that it forgot.
    pub forgotten: usize,
    /// Whether there is no more to sweep.
    pub is_done: bool,
}

impl Cache {
    /// Forgets what `flush` says: at once for all readers, and before it returns from memory. How many entries. What was asked for until `now` and comes later is not
    /// kept. Takes up to a second for each GiB: not for a worker.
    pub fn flush(&self, flush: &Flush, now: Moment) -> usize {
        let mut forgotten = self.hide(flush, now);
        loop {
            let swept = self.sweep(usize::MAX);
            forgotten += swept.forgotten;
            if swept.is_done {
                return forgotten;
            }
        }
    }

    /// The same, but leaves it to calls of [`Cache::sweep`] to take it from memory. How many entries it forgot already.
    pub fn hide(&self, flush: &Flush, now: Moment) -> usize {
        let (name, is_tree) = match flush {
            Flush::Name(name) => (name.to_lowercase(), false),
            Flush::Tree(name) => (name.to_lowercase(), true),
            Flush::All => (NameBuf::root(), true),
        };
        if !is_tree {
            // So that it is counted; of what is not taken in nothing comes later.
            self.see_to(&name);
        }
        self.core.shared.marks.register(&name, is_tree, now);
        self.denials().flush(&name);
        if !is_tree {
            return self.forget_name(&name);
        }
        let mut forgotten = 0;
        loop {
            let mut sweeps = locks::lock(&self.core.sweeps);
            if let Some(mark) = self.core.shared.marks.set(&self.core.shared.secret, &name) {
                let layout = self.core.layout();
                for position in 0..POSITIONS {
                    let (shard, marks) = (layout.newest(position), &self.core.shared.marks);
                    let heads = match position % shard.count {
                        first if first == position => {
                            let _writing = shard.lock();
                            shard.heads()
                        }
                        first => marks.heads(mark, first),
                    };
                    marks.hide_before(mark, position, heads);
                }
                drop(layout);
                sweeps.waiting.push_back(Sweep {
                    mark,
                    name,
                    shard: 0,
                    ring: Which::Small,
                    place: 0,
                    forgotten: 0,
                });
                return forgotten;
            }
            drop(sweeps);
            forgotten += self.sweep(usize::MAX).forgotten;
        }
    }

    /// Looks at about `entries` more of what was hidden, and forgets it.
    pub fn sweep(&self, entries: usize) -> Swept {
        let mut sweeps = locks::lock(&self.core.sweeps);
        let (mut forgotten, mut looked_at) = (0, 0);
        while let Some(sweep) = sweeps.waiting.front_mut() {
            if looked_at >= entries {
                return Swept { forgotten, is_done: false };
            }
            looked_at += STEP_ENTRIES;
            let before = sweep.forgotten;
            let has_more = self.step(sweep);
            forgotten += sweep.forgotten - before;
            if !has_more {
                self.core.shared.marks.unset(sweep.mark);
                sweeps.waiting.pop_front();
            }
        }
        Swept { forgotten, is_done: true }
    }

    /// One taking of a lock; whether there is more.
    fn step(&self, sweep: &mut Sweep) -> bool {
        // What is hidden goes with what moves: it has come where it is to be looked for first.
        if let Some(flushed) = self.core.step_of_move() {
            sweep.forgotten += flushed;
            return true;
        }
        let layout = self.core.layout();
        let Some(shard) = layout.at(sweep.shard) else { return false };
        if sweep.shard % shard.count != sweep.shard {
            // It was swept at an earlier position.
            sweep.shard += 1;
            return sweep.shard < POSITIONS;
        }
        let mut writer = shard.lock();
        let (ring, until) = (
            shard.ring(sweep.ring),
            self.core.shared.marks.heads(sweep.mark, sweep.shard)[sweep.ring as usize],
        );
        let mut place = sweep.place.max(ring.tail());
        let mut octets = Vec::new();
        for _ in 0..STEP_ENTRIES {
            if place >= until {
                (sweep.shard, sweep.ring, sweep.place) = match sweep.ring {
                    Which::Small => (sweep.shard, Which::Main, 0),
                    Which::Main => (sweep.shard + 1, Which::Small, 0),
                };
                return sweep.shard < POSITIONS;
            }
            let count =
                ring.copy_some(place, KEY_WORDS, &mut octets).expect("places before the head have entries");
            if let Some(key) =
                entry::key_of(&octets[..count]).filter(|key| key.name.is_at_or_below(&sweep.name))
            {
                let home = shard.index.home(self.core.shared.secret.hash(key.name.octets()));
                if let Some(slot) =
                    shard.index.find(&home, Slot::new(home.tag(key.subject), sweep.ring, place))
                {
                    shard.take_out(&mut writer, slot);
                    sweep.forgotten += 1;
                }
            }
            place = ring.beyond(place, ring.words_at(place));
        }
        sweep.place = place;
        true
    }

    fn forget_name(&self, name: &Name) -> usize {
        let hash = self.core.shared.secret.hash(name.octets());
        let (shard, mut writer) = self.writing(name, hash);
        let found = shard.slots_of(&mut writer, name, hash, |_| true);
        found.iter().for_each(|slot| shard.take_out(&mut writer, *slot));
        found.len()
    }
}

/// Words that hold the fixed fields and any name.
pub(crate) const KEY_WORDS: usize = (entry::FIXED_OCTETS + wire::name::NAME_OCTETS_MAX).div_ceil(8);
