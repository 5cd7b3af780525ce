//! The same zones as snapshots: readers follow a pointer and take nothing; a change copies what it touches and publishes
//! the rest again.
//!
//! Sets that a cache learns are published together, once a millisecond: a copy for each would cost more
//! than the question that brought it.

use std::sync::Arc;

use crate::{
    content::{Content, ZoneContent},
    database::{Database, Sets, Walk},
    locked::walk,
    rrset::RRset,
    table::Table,
    tree::Tree,
};

/// What readers see.
#[derive(Clone)]
pub struct World {
    table: Table,
    zones: Vec<Zone>,
}

/// A zone of it.
#[derive(Clone)]
pub struct Zone {
    apex: Arc<[u8]>,
    tree: Tree<Arc<Node>>,
}

/// A name of it.
pub struct Node {
    sets: Vec<Arc<RRset>>,
    is_cut: bool,
}

impl World {
    /// Of zones.
    pub fn new(content: &Content) -> World {
        World { table: content.table(), zones: content.zones.iter().map(Zone::new).collect() }
    }

    /// Puts sets in the places of those of their owners and types, of names that there are.
    pub fn replace(&mut self, sets: impl IntoIterator<Item = Arc<RRset>>) {
        for set in sets {
            let Some(zone) = self.table.closest(&set.owner) else { continue };
            let tree = &mut self.zones[zone].tree;
            let Some(node) = tree.get(&set.owner) else { continue };
            let node = node.with(Arc::clone(&set));
            tree.insert(&set.owner, Arc::new(node));
        }
    }

    /// Adds a name with a set.
    pub fn add(&mut self, set: Arc<RRset>) {
        if let Some(zone) = self.table.closest(&set.owner) {
            let owner = set.owner.clone();
            self.zones[zone].tree.insert(&owner, Arc::new(Node { sets: vec![set], is_cut: false }));
        }
    }

    /// Takes a name out.
    pub fn remove(&mut self, name: &[u8]) {
        if let Some(zone) = self.table.closest(name) {
            self.zones[zone].tree.remove(name);
        }
    }
}

impl Zone {
    fn new(content: &ZoneContent) -> Zone {
        let mut tree = Tree::new(content.nodes.len());
        for (name, sets) in &content.nodes {
            tree.insert(name, Arc::new(Node::new(sets, content.is_cut(name))));
        }
        Zone { apex: content.apex.clone().into(), tree }
    }
}

impl Node {
    /// Of sets.
    pub(crate) fn new(sets: &[RRset], is_cut: bool) -> Node {
        Node { sets: sets.iter().cloned().map(Arc::new).collect(), is_cut }
    }

    /// The same with a set in the place of the one of its type.
    pub(crate) fn with(&self, set: Arc<RRset>) -> Node {
        let others = self.sets.iter().filter(|other| other.rtype != set.rtype).cloned();
        Node { sets: others.chain([Arc::clone(&set)]).collect(), is_cut: self.is_cut }
    }

    /// Whether another zone begins here.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Sets of these types.
    pub(crate) fn sets(&self, rtypes: &[u16]) -> impl Iterator<Item = &RRset> {
        self.sets.iter().filter(|set| rtypes.contains(&set.rtype)).map(|set| &**set)
    }
}

impl<'s> Database for &'s World {
    type Zone = &'s Zone;
    type Node = &'s Node;
    type Set = &'s RRset;

    fn zone(&self, name: &[u8]) -> Option<&'s Zone> {
        let world: &'s World = self;
        world.table.closest(name).map(|index| &world.zones[index])
    }

    fn walk(&self, zone: &&'s Zone, name: &[u8]) -> Walk<&'s Node> {
        let zone: &'s Zone = zone;
        let (kind, node) = walk(|name| zone.tree.get(name), name, zone.apex.len(), |node| node.is_cut);
        Walk { kind, node: node.map(|node| &**node) }
    }

    fn node(&self, zone: &&'s Zone, name: &[u8]) -> Option<&'s Node> {
        let zone: &'s Zone = zone;
        zone.tree.get(name).map(|node| &**node)
    }

    fn sets(&self, _: &&'s Zone, node: &&'s Node, rtypes: &[u16], sets: &mut Sets<&'s RRset>) {
        let node: &'s Node = node;
        node.sets(rtypes).for_each(|set| sets.push(set));
    }

    fn apex<'z>(&self, zone: &'z &'s Zone) -> &'z [u8] {
        &zone.apex
    }
}
