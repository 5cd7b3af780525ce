//! The same zones as snapshots: readers follow a pointer and take nothing; a change copies what it touches and publishes
//! the rest again.
//!
//! Sets that a cache learns are published together, once a millisecond: a copy for each would cost more
//! than the question that brought it.

use std::sync::Arc;

use crate::{
    content::{Content, ZoneContent},
    database::{Database, Sets, Walk, suffixes},
    locked::walk,
    rrset::RRset,
    tree::Tree,
};

/// What readers see.
#[derive(Clone)]
pub struct World {
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
        World { zones: content.zones.iter().map(Zone::new).collect() }
    }

    fn zone_index(&self, name: &[u8]) -> Option<usize> {
        let is_above =
            |zone: &Zone| name.ends_with(&zone.apex) && suffixes(name).any(|at| name[at..] == *zone.apex);
        let above = self.zones.iter().enumerate().filter(|(_, zone)| is_above(zone));
        above.max_by_key(|(_, zone)| zone.apex.len()).map(|(index, _)| index)
    }

    /// Puts sets in the places of those of their owners and types, of names that there are.
    pub fn replace(&mut self, sets: impl IntoIterator<Item = Arc<RRset>>) {
        for set in sets {
            let Some(zone) = self.zone_index(&set.owner) else { continue };
            let tree = &mut self.zones[zone].tree;
            let Some(node) = tree.get(&set.owner) else { continue };
            let others = node.sets.iter().filter(|other| other.rtype != set.rtype).cloned();
            let node = Node { sets: others.chain([Arc::clone(&set)]).collect(), is_cut: node.is_cut };
            tree.insert(&set.owner, Arc::new(node));
        }
    }

    /// Adds a name with a set.
    pub fn add(&mut self, set: Arc<RRset>) {
        if let Some(zone) = self.zone_index(&set.owner) {
            let owner = set.owner.clone();
            self.zones[zone].tree.insert(&owner, Arc::new(Node { sets: vec![set], is_cut: false }));
        }
    }

    /// Takes a name out.
    pub fn remove(&mut self, name: &[u8]) {
        if let Some(zone) = self.zone_index(name) {
            self.zones[zone].tree.remove(name);
        }
    }
}

impl Zone {
    fn new(content: &ZoneContent) -> Zone {
        let mut tree = Tree::new(content.nodes.len());
        for (name, sets) in &content.nodes {
            let sets = sets.iter().cloned().map(Arc::new).collect();
            tree.insert(name, Arc::new(Node { sets, is_cut: content.is_cut(name) }));
        }
        Zone { apex: content.apex.clone().into(), tree }
    }
}

impl<'s> Database for &'s World {
    type Zone = &'s Zone;
    type Node = &'s Node;
    type Set = &'s RRset;

    fn zone(&self, name: &[u8]) -> Option<&'s Zone> {
        let world: &'s World = self;
        world.zone_index(name).map(|index| &world.zones[index])
    }

    fn walk(&self, zone: &&'s Zone, name: &[u8]) -> Walk<&'s Node> {
        let zone: &'s Zone = zone;
        let (kind, node) = walk(&zone.tree, name, zone.apex.len(), |node| node.is_cut);
        Walk { kind, node: node.map(|node| &**node) }
    }

    fn node(&self, zone: &&'s Zone, name: &[u8]) -> Option<&'s Node> {
        let zone: &'s Zone = zone;
        zone.tree.get(name).map(|node| &**node)
    }

    fn sets(&self, _: &&'s Zone, node: &&'s Node, rtypes: &[u16], sets: &mut Sets<&'s RRset>) {
        let node: &'s Node = node;
        let wanted = node.sets.iter().filter(|set| rtypes.contains(&set.rtype));
        wanted.for_each(|set| sets.push(set));
    }

    fn apex<'z>(&self, zone: &'z &'s Zone) -> &'z [u8] {
        &zone.apex
    }
}
