//! Zones in the shape of BIND 9, under whichever protection.
//!
//! ```text
//! zone table (lock) -> zone (count) -> tree of names (lock) -> node: bucket and place in it
//!                                      buckets (lock each)  -> RRsets of their nodes (count each)
//! ```
//!
//! A query takes the lock of the table and holds the zone; for each name the lock of the tree and then that of the node's
//! bucket, and holds the sets it found there until the answer is written.
//!
//! Source: Jinmei and Vixie (USENIX 2006), sections 2, 4.3 and 5.1.

use sync::{
    Buckets, Counted,
    protection::{Lock, Protection},
};

use crate::{
    content::{Content, ZoneContent},
    database::{Database, Kind, Sets, Walk, suffixes},
    rrset::RRset,
    table::Table,
    tree::{Tree, hash_of},
};

/// See the module.
pub struct Locked<P: Protection> {
    zones: P::Lock<Zones<P>>,
}

struct Zones<P: Protection> {
    table: Table,
    all: Vec<Held<Zone<P>, P>>,
}

type Held<T, P> = Counted<T, <P as Protection>::Count>;

/// A zone.
pub struct Zone<P: Protection> {
    apex: Box<[u8]>,
    tree: P::Lock<Tree<Node>>,
    buckets: Buckets<P::Lock<Bucket<P>>>,
}

/// Where the sets of a name are.
#[derive(Clone, Copy)]
pub struct Node {
    hash: u64,
    place: u32,
    /// Which of the nodes that had the place one after the other.
    turn: u32,
    is_cut: bool,
}

/// Sets of the nodes that share a lock.
struct Bucket<P: Protection> {
    places: Vec<Place<P>>,
    free: Vec<u32>,
}

struct Place<P: Protection> {
    turn: u32,
    sets: Vec<Held<RRset, P>>,
}

impl<P: Protection> Locked<P> {
    /// Of zones; so many buckets each; so many writers in a row.
    pub fn new(content: &Content, buckets: usize, quota: u32) -> Locked<P> {
        let all = content.zones.iter().map(|zone| Counted::new(Zone::new(zone, buckets, quota))).collect();
        let zones = Zones { table: content.table(), all };
        Locked { zones: P::Lock::with_quota("zone table", zones, quota) }
    }

    fn with_zone<R>(&self, name: &[u8], act: impl FnOnce(&Zone<P>) -> R) -> Option<R> {
        self.zone(name).map(|zone| act(&zone))
    }

    /// Puts a set in the place of the one of its owner and type.
    pub fn replace(&self, set: &RRset) {
        self.with_zone(&set.owner, |zone| {
            let node = zone.tree.read(|tree| tree.get(&set.owner).copied());
            let new = Counted::new(set.clone());
            // The old one is freed, where nobody holds it, when the bucket is free again.
            let _old = node.and_then(|node| zone.bucket(&node).write(|bucket| bucket.replace(&node, new)));
        });
    }

    /// Adds a name with a set.
    pub fn add(&self, set: &RRset) {
        self.with_zone(&set.owner, |zone| zone.add(&set.owner, false, vec![Counted::new(set.clone())]));
    }

    /// Takes a name out.
    pub fn remove(&self, name: &[u8]) {
        self.with_zone(name, |zone| {
            let node = zone.tree.write(|tree| tree.remove(name));
            let _old = node.map(|node| zone.bucket(&node).write(|bucket| bucket.remove(&node)));
        });
    }
}

impl<P: Protection> Zone<P> {
    fn new(content: &ZoneContent, buckets: usize, quota: u32) -> Zone<P> {
        let bucket =
            |_| P::Lock::with_quota("bucket", Bucket { places: Vec::new(), free: Vec::new() }, quota);
        let zone = Zone {
            apex: content.apex.clone(),
            tree: P::Lock::with_quota("zone data", Tree::new(content.nodes.len()), quota),
            buckets: Buckets::new(buckets, bucket),
        };
        for (name, sets) in &content.nodes {
            zone.add(name, content.is_cut(name), sets.iter().map(|set| Counted::new(set.clone())).collect());
        }
        zone
    }

    fn bucket(&self, node: &Node) -> &P::Lock<Bucket<P>> {
        self.buckets.of(node.hash)
    }

    fn add(&self, name: &[u8], is_cut: bool, sets: Vec<Held<RRset, P>>) {
        let hash = hash_of(name);
        let (place, turn) = self.buckets.of(hash).write(|bucket| bucket.add(sets));
        let node = Node { hash, place, turn, is_cut };
        let old = self.tree.write(|tree| tree.insert(name, node));
        let _old = old.map(|old| self.bucket(&old).write(|bucket| bucket.remove(&old)));
    }
}

impl<P: Protection> Bucket<P> {
    fn add(&mut self, sets: Vec<Held<RRset, P>>) -> (u32, u32) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { turn: 0, sets: Vec::new() });
            (self.places.len() - 1) as u32
        });
        let here = &mut self.places[place as usize];
        here.sets = sets;
        (place, here.turn)
    }

    /// Sets of a node; none where it is gone.
    fn sets(&self, node: &Node) -> &[Held<RRset, P>] {
        match self.places.get(node.place as usize) {
            Some(place) if place.turn == node.turn => &place.sets,
            _ => &[],
        }
    }

    fn replace(&mut self, node: &Node, new: Held<RRset, P>) -> Option<Held<RRset, P>> {
        let place = self.places.get_mut(node.place as usize).filter(|place| place.turn == node.turn)?;
        match place.sets.iter_mut().find(|set| set.rtype == new.rtype) {
            Some(set) => Some(std::mem::replace(set, new)),
            None => {
                place.sets.push(new);
                None
            }
        }
    }

    fn remove(&mut self, node: &Node) -> Vec<Held<RRset, P>> {
        let place = &mut self.places[node.place as usize];
        if place.turn != node.turn {
            return Vec::new();
        }
        place.turn = place.turn.wrapping_add(1);
        self.free.push(node.place);
        std::mem::take(&mut place.sets)
    }
}

impl<P: Protection> Database for Locked<P> {
    type Zone = Held<Zone<P>, P>;
    type Node = Node;
    type Set = Held<RRset, P>;

    fn zone(&self, name: &[u8]) -> Option<Self::Zone> {
        self.zones.read(|zones| zones.table.closest(name).map(|number| zones.all[number].clone()))
    }

    fn walk(&self, zone: &Self::Zone, name: &[u8]) -> Walk<Node> {
        zone.tree.read(|tree| {
            let (kind, node) = walk(|name| tree.get(name), name, zone.apex.len(), |node| node.is_cut);
            Walk { kind, node: node.copied() }
        })
    }

    fn node(&self, zone: &Self::Zone, name: &[u8]) -> Option<Node> {
        zone.tree.read(|tree| tree.get(name).copied())
    }

    fn sets(&self, zone: &Self::Zone, node: &Node, rtypes: &[u16], sets: &mut Sets<Self::Set>) {
        zone.bucket(node).read(|bucket| {
            let wanted = bucket.sets(node).iter().filter(|set| rtypes.contains(&set.rtype));
            wanted.for_each(|set| sets.push(set.clone()));
        });
    }

    fn apex<'z>(&self, zone: &'z Self::Zone) -> &'z [u8] {
        &zone.apex
    }
}

/// From the apex, which has so many octets, down to a name; `get`: what a name has.
pub(crate) fn walk<'t, V>(
    get: impl Fn(&[u8]) -> Option<&'t V>,
    name: &[u8],
    apex_octets: usize,
    is_cut: impl Fn(&V) -> bool,
) -> (Kind, Option<&'t V>) {
    let below = suffixes(name).filter(|&at| name.len() - at > apex_octets);
    let mut node = get(&name[name.len() - apex_octets..]);
    for at in below {
        node = get(&name[at..]);
        match node {
            Some(found) if is_cut(found) => return (Kind::Cut, node),
            Some(_) => {}
            None => break,
        }
    }
    (if node.is_some() { Kind::Exact } else { Kind::Missing }, node)
}
