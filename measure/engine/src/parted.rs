//! The same zones as snapshots in parts: each has some dozens of names and is published by itself, so that a change copies little
//! and whoever learned something publishes it at the end of its batch, where [`copied`](crate::copied) has one thread
//! publish for all.
//!
//! ```text
//! Parted -> zone -> parts by hash -> published tree of a part (readers follow the pointer, and take nothing)
//!                                    its latest state (a mutex, for those who change it)
//! ```
//!
//! Two parts that a reader looks into in one batch may be of different times. Of a cache that is no fault, as its names have
//! nothing to do with each other; a zone that is served must not be seen so.

use std::sync::{Arc, Mutex, PoisonError};

use sync::{
    Cell, Domain,
    epoch::{Guard, Reader},
};

use crate::{
    content::{Content, ZoneContent},
    copied::Node,
    database::{Database, Sets, Walk},
    locked::walk,
    memory::Place,
    message::Query,
    rrset::RRset,
    server::{Server, Session, learned, respond},
    table::Table,
    tree::{Tree, hash_of},
};

/// Names of a part, about: copying one costs less than the question that changed it.
const NAMES_A_PART: usize = 32;
/// What a replaced part weighs, about: a page of names and the pointers to the others.
const GARBAGE_OCTETS: usize = 1024;

/// Names of a part.
type Names = Tree<Arc<Node>>;

/// See the module.
pub struct Parted {
    table: Table,
    zones: Vec<Zone>,
    domain: Domain,
}

/// A zone of it.
pub struct Zone {
    apex: Box<[u8]>,
    /// A power of two.
    parts: Box<[Part]>,
}

struct Part {
    shown: Cell<Names>,
    latest: Mutex<Arc<Names>>,
}

impl Parted {
    /// Of zones.
    pub fn new(content: &Content) -> Parted {
        let domain = Domain::new();
        let zones = content.zones.iter().map(|zone| Zone::new(zone, &domain)).collect();
        Parted { table: content.table(), zones, domain }
    }

    fn zone_of(&self, name: &[u8]) -> Option<&Zone> {
        self.table.closest(name).map(|index| &self.zones[index])
    }

    /// Publishes what `change` makes of the part that a name is in.
    fn change(&self, name: &[u8], change: impl FnOnce(&mut Names)) {
        let Some(zone) = self.zone_of(name) else { return };
        let part = zone.part(name);
        let mut latest = part.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = Names::clone(&latest);
        change(&mut names);
        *latest = Arc::new(names);
        part.shown.replace(Arc::clone(&latest), GARBAGE_OCTETS);
    }

    fn put(&self, set: Arc<RRset>) {
        let owner = set.owner.clone();
        self.change(&owner, |names| {
            if let Some(node) = names.get(&owner).map(|node| node.with(set)) {
                names.insert(&owner, Arc::new(node));
            }
        });
    }
}

impl Zone {
    fn new(content: &ZoneContent, domain: &Domain) -> Zone {
        let count = (content.nodes.len() / NAMES_A_PART).max(1).next_power_of_two();
        let mut all: Vec<Names> = (0..count).map(|_| Tree::new(NAMES_A_PART)).collect();
        for (name, sets) in &content.nodes {
            let node = Node::new(sets, content.is_cut(name));
            all[place(name, count)].insert(name, Arc::new(node));
        }
        let part = |names: Names| {
            let latest = Arc::new(names);
            Part { shown: Cell::new(domain, Arc::clone(&latest)), latest: Mutex::new(latest) }
        };
        Zone { apex: content.apex.clone(), parts: all.into_iter().map(part).collect() }
    }

    fn part(&self, name: &[u8]) -> &Part {
        &self.parts[place(name, self.parts.len())]
    }
}

/// The part of so many that a name is in: by other bits of its hash than those that trees go by.
fn place(name: &[u8], count: usize) -> usize {
    (hash_of(name) >> 40) as usize & (count - 1)
}

impl Server for Parted {
    const PUBLISHES: bool = true;

    fn session(&self) -> impl Session {
        Reading { server: self, reader: self.domain.reader(), here: Vec::new() }
    }

    fn replace(&self, set: &RRset) {
        self.put(Arc::new(set.clone()));
        self.publish();
    }

    fn add(&self, set: &RRset) {
        let node = Arc::new(Node::new(std::slice::from_ref(set), false));
        self.change(&set.owner, |names| drop(names.insert(&set.owner, node)));
        self.publish();
    }

    fn remove(&self, name: &[u8]) {
        self.change(name, |names| drop(names.remove(name)));
        self.publish();
    }

    /// All is published; what it replaced is freed.
    fn publish(&self) {
        self.domain.collect();
    }
}

/// Of one thread.
struct Reading<'s> {
    server: &'s Parted,
    reader: Reader,
    /// Learned in this batch.
    here: Vec<Arc<RRset>>,
}

impl Session for Reading<'_> {
    fn begin(&mut self) {
        self.reader.begin();
    }

    fn end(&mut self) {
        self.reader.end();
        self.here.drain(..).for_each(|set| self.server.put(set));
    }

    fn answer(&mut self, query: &Query<'_>, memory: &Place<'_>, send: impl FnOnce(&[u8])) -> bool {
        let Some(guard) = self.reader.guard() else { return false };
        respond(&View { server: self.server, guard }, query, memory, send)
    }

    fn learn(&mut self, query: &Query<'_>, number: u32) {
        self.here.push(Arc::new(learned(query, number)));
    }
}

/// What a thread sees within a batch.
struct View<'v> {
    server: &'v Parted,
    guard: Guard<'v>,
}

impl<'v> View<'v> {
    fn get(&self, zone: &'v Zone, name: &[u8]) -> Option<&'v Node> {
        zone.part(name).shown.load(&self.guard).get(name).map(|node| &**node)
    }
}

impl<'v> Database for View<'v> {
    type Zone = &'v Zone;
    type Node = &'v Node;
    type Set = &'v RRset;

    fn zone(&self, name: &[u8]) -> Option<&'v Zone> {
        self.server.zone_of(name)
    }

    fn walk(&self, zone: &&'v Zone, name: &[u8]) -> Walk<&'v Node> {
        let (kind, node) = walk(|name| self.get(zone, name), name, zone.apex.len(), |node| node.is_cut());
        Walk { kind, node }
    }

    fn node(&self, zone: &&'v Zone, name: &[u8]) -> Option<&'v Node> {
        self.get(zone, name)
    }

    fn sets(&self, _: &&'v Zone, node: &&'v Node, rtypes: &[u16], sets: &mut Sets<&'v RRset>) {
        node.sets(rtypes).for_each(|set| sets.push(set));
    }

    fn apex<'z>(&self, zone: &'z &'v Zone) -> &'z [u8] {
        &zone.apex
    }
}
