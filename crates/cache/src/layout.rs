//! Where the shards are, and how their octets come to be others while they are used.
//!
//! ```text
//! hash of a name -> position, 0 to 63 -> shard: as many as the memory wants, a power of two; the shard at a position has its lower bits
//!
//! resize   the shards of one class after the other (those that share the lower bits that old and new numbers have in common):
//!          new shards, empty -> old ones are left to them -> walk (`shard::hand`) -> the table has the new ones -> who has a table takes the new one -> the old memory goes
//! reshape  the same of one shard, where the mean length of its entries asks for more slots or for fewer
//! ```
//!
//! A [`Cache`](crate::Cache) is a table of shards. Each worker has one, and takes the one of now when it is told that there is another; until then it reads and writes where the
//! old one says, and is led on. So readers need neither a lock nor an epoch, and the memory of a shard that was left is given back when nobody has it any more; only then the next class is begun.
//!
//! Octets at any moment: of the larger of old and new, and one class of the smaller: 8 MiB, or a 64th.

use std::sync::{Arc, MutexGuard};

use crate::hash::Secret;
use crate::locks;
use crate::marks::Marks;
use crate::outline::Outline;
use crate::shard::{Counts, Excess, PER_SLOT_FIRST, Shape, Shard, Shared, Walk};
use crate::store::{Cache, Core, OCTETS_MIN};
use crate::{Moment, Servers};

/// Positions that shards are found at: so many shards at most. With 64 workers that miss 5,000 times a second, one `put` in 400 finds the lock taken.
pub(crate) const POSITIONS: usize = 64;
/// Octets of a shard, about. Writers of fewer shards would meet, more shards leave more slack.
const OCTETS_PER_SHARD: usize = 8 << 20;
/// What is known of servers has one part of so many of the memory,
const SERVERS_PART: usize = 64;
/// and at most this: 120,000 servers.
const SERVERS_OCTETS_MAX: usize = 16 << 20;
/// Denials for names that nobody has asked for have one part of so many: what they do not need stands empty, and with the servers' part it is to be less than a twentieth.
const DENIALS_PART: usize = 40;
/// and at most this: a million spans.
const DENIALS_OCTETS_MAX: usize = 256 << 20;
/// How often a shard is divided otherwise, one at a time: it is copied for that, 10 to 20 ms of a core, and all 64 of them in 13 s.
const RESHAPE_EACH_MS: u64 = 200;

/// The position that names of a hash have.
#[inline(always)]
pub(crate) fn position_of(hash: u64) -> usize {
    (hash >> 16) as usize % POSITIONS
}

/// How octets are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// All of them.
    octets: usize,
    pub(crate) servers: usize,
    pub(crate) denials: usize,
    /// How many shards, a power of two, and the octets of each.
    count: usize,
    shard: usize,
}

impl Sizes {
    pub(crate) fn of(octets: usize) -> Sizes {
        let octets = octets.max(OCTETS_MIN);
        let servers = Servers::octets_of((octets / SERVERS_PART).min(SERVERS_OCTETS_MAX));
        let denials = (octets / DENIALS_PART).min(DENIALS_OCTETS_MAX);
        let count = 1 << (octets / OCTETS_PER_SHARD).clamp(1, POSITIONS).ilog2();
        let fixed = servers + denials + Marks::OCTETS + size_of::<Core>() + count * size_of::<Shard>();
        Sizes { octets, servers, denials, count, shard: (octets - fixed) / count }
    }
}

/// Where shards and servers are, and what of it is moving.
pub(crate) struct Layout {
    table: Vec<Arc<Shard>>,
    servers: Arc<Servers>,
    wanted: Sizes,
    moving: Option<Moving>,
    /// Left by all that was in them, and still in somebody's table.
    leaving: Vec<Arc<Shard>>,
    /// What was counted in shards that are left, but for what was in them: it is counted elsewhere since.
    past: Counts,
    /// Others have not been told of it as it is now.
    is_untold: bool,
    /// Who looks at all shards one after the other: none is begun with meanwhile.
    frozen: usize,
    /// The position that is looked at next for its shape, and when one was changed last.
    turn: usize,
    reshaped: Moment,
}

/// The shards of one class on their way.
struct Moving {
    old: Vec<Arc<Shard>>,
    new: Vec<Arc<Shard>>,
    /// Which of the old ones is walked through.
    at: usize,
    walk: Walk,
    excess: Excess,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tended {
    /// There is nothing to do.
    Idle,
    /// There is more to do at once.
    More,
    /// Somebody still has a table from before: whoever has one shall take [`Cache::current`].
    Held,
}

/// Keeps the layout as it is.
pub(crate) struct Frozen<'c>(&'c Core);

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.0.layout().frozen -= 1;
    }
}

impl Layout {
    pub(crate) fn new(sizes: Sizes, secret: &Secret) -> Layout {
        let shards: Vec<Arc<Shard>> =
            (0..sizes.count).map(|_| Arc::new(shard(&sizes, PER_SLOT_FIRST))).collect();
        Layout {
            table: (0..POSITIONS).map(|position| Arc::clone(&shards[position % sizes.count])).collect(),
            servers: Arc::new(Servers::new(sizes.servers, secret.clone())),
            wanted: sizes,
            moving: None,
            leaving: Vec::new(),
            past: Counts::default(),
            is_untold: false,
            frozen: 0,
            turn: 0,
            reshaped: Moment::default(),
        }
    }

    pub(crate) fn table(&self) -> Box<[Arc<Shard>]> {
        self.table.clone().into()
    }

    pub(crate) fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// The shard that what is at a position goes to in the end.
    pub(crate) fn newest(&self, position: usize) -> &Arc<Shard> {
        let mut shard = &self.table[position];
        while let Some(left) = shard.left() {
            shard = left.at(position);
        }
        shard
    }

    /// All shards that entries are in, each once.
    pub(crate) fn shards(&self) -> Vec<Arc<Shard>> {
        let moving = self.moving.iter().flat_map(|moving| &moving.new);
        let in_table = self.table.iter().enumerate();
        let once = in_table.filter(|(position, shard)| position % shard.count == *position);
        once.map(|(_, shard)| shard).chain(moving).map(Arc::clone).collect()
    }

    pub(crate) fn is_moving(&self) -> bool {
        self.moving.is_some()
    }

    /// The shard at a position.
    pub(crate) fn at(&self, position: usize) -> Option<&Arc<Shard>> {
        self.table.get(position)
    }

    /// What others are told of it.
    pub(crate) fn outline(&self) -> Outline {
        Outline {
            shards: self.shards(),
            past: self.past,
            left_octets: self.leaving.iter().map(|shard| shard.resident_octets()).sum(),
            servers_octets: self.servers.octets(),
            octets: self.wanted.octets,
            is_moving: self.is_moving(),
        }
    }

    /// The shards of the table, each once, with their positions: as many as the largest number of them.
    pub(crate) fn parts(&self) -> Vec<Arc<Shard>> {
        let count = self.table.iter().map(|shard| shard.count).max().unwrap_or(1);
        self.table[..count].to_vec()
    }

    /// The position of a shard that was not made for the octets that are wanted.
    fn unlike(&self) -> Option<usize> {
        let wanted = (self.wanted.count, self.wanted.shard);
        (0..POSITIONS).find(|position| {
            let shard = &self.table[*position];
            (shard.count, shard.octets) != wanted
        })
    }

    /// Has the class of a position begin to move, with a slot for each `per_slot` octets of ring.
    fn begin(&mut self, position: usize, per_slot: usize) {
        let common = self.table[position].count.min(self.wanted.count);
        let class = position % common;
        let of_class = |number: &usize| number % common == class;
        let old = (0..POSITIONS).filter(of_class).map(|position| (position, &self.table[position]));
        let old: Vec<Arc<Shard>> = old
            .filter(|(position, shard)| position % shard.count == *position)
            .map(|(_, shard)| Arc::clone(shard))
            .collect();
        let count = (0..self.wanted.count).filter(of_class).count();
        // Before the locks are taken: it may be cleared for us.
        let mut new: Vec<Shard> = (0..count).map(|_| shard(&self.wanted, per_slot)).collect();
        let writers: Vec<_> = old.iter().map(|shard| shard.lock()).collect();
        let heads = old.iter().map(|shard| shard.heads());
        let heads = heads.fold([0; 2], |all, heads| [all[0].max(heads[0]), all[1].max(heads[1])]);
        new.iter_mut().for_each(|shard| shard.begin_after(heads));
        let new: Vec<Arc<Shard>> = new.into_iter().map(Arc::new).collect();
        old.iter().for_each(|shard| shard.leave_to(new.clone().into(), common.ilog2()));
        drop(writers);
        let excess = Excess::of(&old, &new);
        self.moving = Some(Moving { old, new, at: 0, walk: Walk::BEGIN, excess });
        self.is_untold = true;
    }

    /// Moves some more: how many were flushed of those; nothing is left to move when `moving` is none.
    fn step(&mut self, shared: &Shared) -> usize {
        let Some(moving) = &mut self.moving else { return 0 };
        let is_over = moving.old[moving.at].hand_on(shared, &mut moving.walk, &mut moving.excess);
        let flushed = std::mem::take(&mut moving.excess.flushed);
        if is_over {
            (moving.at, moving.walk) = (moving.at + 1, Walk::BEGIN);
            if moving.at == moving.old.len() {
                self.end();
            }
        }
        flushed
    }

    /// All of a class has moved.
    fn end(&mut self) {
        let Some(Moving { old, .. }) = self.moving.take() else { return };
        self.past = old.iter().fold(self.past, |past, shard| past.sum(shard.counts().past()));
        for position in 0..POSITIONS {
            let newest = Arc::clone(self.newest(position));
            self.table[position] = newest;
        }
        self.leaving.extend(old);
        self.is_untold = true;
    }

    /// A shard that is short of slots or has too many for its entries: how many octets of ring each is to have.
    fn misshapen(&mut self, now: Moment) -> Option<(usize, usize)> {
        if now.ms_since(self.reshaped) < RESHAPE_EACH_MS {
            return None;
        }
        let order = (0..POSITIONS).map(|step| (self.turn + step) % POSITIONS);
        let mut wanting =
            order.filter_map(|position| Some((position, self.table[position].filling().per_slot_wanted()?)));
        let found = wanting.next()?;
        (self.turn, self.reshaped) = ((found.0 + 1) % POSITIONS, now);
        Some(found)
    }
}

fn shard(sizes: &Sizes, per_slot: usize) -> Shard {
    Shard::new(sizes.count, sizes.shard, Shape::of(sizes.shard, per_slot))
}

impl Core {
    pub(crate) fn layout(&self) -> MutexGuard<'_, Layout> {
        locks::lock(&self.layout)
    }

    /// Ends what moves, and has nothing else begin to.
    pub(crate) fn freeze(&self) -> Frozen<'_> {
        self.layout().frozen += 1;
        while self.step_of_move().is_some() {}
        Frozen(self)
    }

    /// Moves some more of what moves: how many were flushed of those, and did not. `None`: nothing moves.
    pub(crate) fn step_of_move(&self) -> Option<usize> {
        let layout = &mut *self.layout();
        let flushed = layout.is_moving().then(|| layout.step(&self.shared));
        self.tell(layout);
        flushed
    }

    /// Tells others how the layout is now, where that is new.
    fn tell(&self, layout: &mut Layout) {
        if std::mem::take(&mut layout.is_untold) {
            self.outline.set(layout.outline());
        }
    }
}

impl Cache {
    /// The cache as it lies now. Whoever keeps one takes another when it is told that something has moved: it costs less then, and what was left can go.
    pub fn current(&self) -> Cache {
        Cache::of(Arc::clone(&self.core))
    }

    /// Has it take so many octets, at least [`OCTETS_MIN`], as [`Cache::tend`] has what is kept move. Nothing is forgotten that there is room for; else what would leave for
    /// something new.
    pub fn resize(&self, octets: usize) {
        let sizes = Sizes::of(octets);
        let layout = &mut *self.core.layout();
        (layout.wanted, layout.is_untold) = (sizes, true);
        self.core.tell(layout);
        self.core.denials.set_octets(sizes.denials);
    }

    /// Does some of what is to be done from time to time: moves what is kept as its size was changed, and has slots be as many as entries ask for. Whoever writes waits for a step of
    /// it at most, some 60 us; the caller also for memory that the system clears. Called a few times a second, and again as long as there is [`Tended::More`] to do, by one thread.
    pub fn tend(&self, now: Moment) -> Tended {
        let layout = &mut *self.core.layout();
        let tended = self.tend_to(layout, now);
        self.core.tell(layout);
        tended
    }

    fn tend_to(&self, layout: &mut Layout, now: Moment) -> Tended {
        let core = &self.core;
        if layout.moving.is_some() {
            layout.step(&core.shared);
            return Tended::More;
        }
        let left = layout.leaving.len();
        layout.leaving.retain(|shard| Arc::strong_count(shard) > 1);
        layout.is_untold |= layout.leaving.len() != left;
        if !layout.leaving.is_empty() {
            return Tended::Held;
        }
        if layout.frozen > 0 {
            return Tended::Idle;
        }
        if let Some(position) = layout.unlike() {
            let filling = layout.table[position].filling();
            let per_slot = filling.per_slot_wanted().unwrap_or(filling.per_slot());
            layout.begin(position, per_slot);
            return Tended::More;
        }
        if layout.servers.octets() != layout.wanted.servers {
            let servers = Servers::new(layout.wanted.servers, core.shared.secret.clone());
            layout.servers.copy_to(&servers);
            (layout.servers, layout.is_untold) = (Arc::new(servers), true);
            return Tended::Held;
        }
        if core.denials.trim() {
            return Tended::More;
        }
        match layout.misshapen(now) {
            Some((position, per_slot)) => {
                layout.begin(position, per_slot);
                Tended::More
            }
            None => Tended::Idle,
        }
    }
}
