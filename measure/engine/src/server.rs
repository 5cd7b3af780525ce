//! Servers under locks and with snapshots, as threads use them.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use sync::{Cell, Domain, epoch::Reader, protection::Protection};
use wire::iana::rtype;

use crate::{
    content::Content,
    copied::World,
    database::{Database, SETS_MAX, answer},
    few::Few,
    locked::Locked,
    memory::{Piece, Place},
    message::Query,
    rrset::RRset,
};

/// Octets of what BIND 9 keeps of each RRset of an answer that it builds (`dns_rdataset`).
const RDATASET_OCTETS: usize = 96;
/// How often what caches have learned becomes visible.
pub const PUBLISH_EVERY: Duration = Duration::from_millis(1);
/// Sets that were learned and not published yet, of a thread: some milliseconds' worth. Beyond, they are not kept.
const LEARNED_MAX: usize = 1 << 14;

/// Zones that threads answer from and change.
pub trait Server: Sync {
    /// Whether [`Server::publish`] has something to do.
    const PUBLISHES: bool;
    /// What one thread answers with.
    fn session(&self) -> impl Session;
    /// Puts a set in the place of another.
    fn replace(&self, set: &RRset);
    /// Adds a name.
    fn add(&self, set: &RRset);
    /// Removes a name.
    fn remove(&self, name: &[u8]);
    /// Makes visible what threads learned.
    fn publish(&self) {}
}

/// What one thread answers with.
pub trait Session {
    /// A batch of queries begins.
    fn begin(&mut self) {}
    /// It ends.
    fn end(&mut self) {}
    /// Builds a response and hands it to `send`; false where memory ran out.
    fn answer(&mut self, query: &Query<'_>, place: &Place<'_>, send: impl FnOnce(&[u8])) -> bool;
    /// Keeps the answer to a question, as if another server had sent it.
    fn learn(&mut self, query: &Query<'_>, number: u32);
    /// How many of those were not kept, as more came than could be made visible.
    fn unlearned(&self) -> u64 {
        0
    }
}

/// Builds a response with what a query takes of memory.
pub(crate) fn respond<D: Database>(
    database: &D,
    query: &Query<'_>,
    place: &Place<'_>,
    send: impl FnOnce(&[u8]),
) -> bool {
    let Some(mut name) = place.take(query.name.octets().len()) else { return false };
    name.copy_from_slice(query.name.octets());
    name.make_ascii_lowercase();
    let answer = answer(database, &name, query.qtype, place);
    let mut rdatasets = Few::<Piece<'_>, SETS_MAX>::new();
    for _ in answer.sets.iter() {
        match place.take(RDATASET_OCTETS) {
            Some(piece) => rdatasets.push(piece),
            None => return false,
        }
    }
    let Some(mut message) = place.take(query.limit()) else { return false };
    let octets = query.respond(&answer, &mut message);
    send(&message[..octets]);
    true
}

/// What another server would have answered.
pub(crate) fn learned(query: &Query<'_>, number: u32) -> RRset {
    let owner = query.name.to_owned().to_lowercase();
    let [a, b, c, d] = number.to_be_bytes();
    match query.qtype {
        rtype::AAAA => {
            let address = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d];
            RRset::new(owner.octets(), rtype::AAAA, 1, [&address[..]])
        }
        _ => RRset::new(owner.octets(), rtype::A, 1, [&[192, b, c, d][..]]),
    }
}

impl<P: Protection> Server for Locked<P> {
    const PUBLISHES: bool = false;

    fn session(&self) -> impl Session {
        self
    }

    fn replace(&self, set: &RRset) {
        Locked::replace(self, set);
    }

    fn add(&self, set: &RRset) {
        Locked::add(self, set);
    }

    fn remove(&self, name: &[u8]) {
        Locked::remove(self, name);
    }
}

impl<P: Protection> Session for &Locked<P> {
    fn answer(&mut self, query: &Query<'_>, place: &Place<'_>, send: impl FnOnce(&[u8])) -> bool {
        respond(*self, query, place, send)
    }

    fn learn(&mut self, query: &Query<'_>, number: u32) {
        Locked::replace(self, &learned(query, number));
    }
}

/// Sets that a thread learned and nobody sees yet.
type Learned = Arc<std::sync::Mutex<Vec<Arc<RRset>>>>;

/// Snapshots, and what waits to be in the next.
pub struct Snapshots {
    published: Arc<Cell<World>>,
    learned: std::sync::Mutex<Vec<Learned>>,
    /// Held by whoever makes the next snapshot of the present one.
    changing: std::sync::Mutex<()>,
}

/// Of one thread.
struct Reading {
    published: Arc<Cell<World>>,
    reader: Reader,
    here: Vec<Arc<RRset>>,
    learned: Learned,
    unlearned: u64,
}

impl Snapshots {
    /// Of zones.
    pub fn new(content: &Content) -> Snapshots {
        let published = Arc::new(Cell::new(&Domain::new(), Arc::new(World::new(content))));
        Snapshots { published, learned: std::sync::Mutex::default(), changing: std::sync::Mutex::default() }
    }

    /// Publishes what `change` makes of the present zones.
    fn change(&self, change: impl FnOnce(&mut World)) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut world = World::clone(&self.published.current());
        change(&mut world);
        self.published.replace(Arc::new(world), size_of::<World>());
        self.published.domain().collect();
    }
}

impl Server for Snapshots {
    const PUBLISHES: bool = true;

    fn session(&self) -> impl Session {
        let learned = Learned::default();
        self.learned.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&learned));
        let reader = self.published.domain().reader();
        let published = Arc::clone(&self.published);
        Reading { published, reader, here: Vec::new(), learned, unlearned: 0 }
    }

    fn replace(&self, set: &RRset) {
        self.change(|world| world.replace([Arc::new(set.clone())]));
    }

    fn add(&self, set: &RRset) {
        self.change(|world| world.add(Arc::new(set.clone())));
    }

    fn remove(&self, name: &[u8]) {
        self.change(|world| world.remove(name));
    }

    fn publish(&self) {
        let threads = self.learned.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let take =
            |learned: &Learned| std::mem::take(&mut *learned.lock().unwrap_or_else(PoisonError::into_inner));
        let sets: Vec<Arc<RRset>> = threads.iter().flat_map(take).collect();
        if !sets.is_empty() {
            self.change(|world| world.replace(sets));
        }
        self.published.domain().collect();
    }
}

impl Session for Reading {
    fn begin(&mut self) {
        self.reader.begin();
    }

    fn end(&mut self) {
        self.reader.end();
        // Where the publisher takes them at the moment, the next batch hands them over.
        if let (false, Ok(mut learned)) = (self.here.is_empty(), self.learned.try_lock()) {
            learned.append(&mut self.here);
            self.unlearned += learned.len().saturating_sub(LEARNED_MAX) as u64;
            learned.truncate(LEARNED_MAX);
        }
    }

    fn answer(&mut self, query: &Query<'_>, place: &Place<'_>, send: impl FnOnce(&[u8])) -> bool {
        self.reader.guard().is_some_and(|guard| respond(&self.published.load(&guard), query, place, send))
    }

    fn learn(&mut self, query: &Query<'_>, number: u32) {
        if self.here.len() < LEARNED_MAX {
            self.here.push(Arc::new(learned(query, number)));
        } else {
            self.unlearned += 1;
        }
    }

    fn unlearned(&self) -> u64 {
        self.unlearned
    }
}
