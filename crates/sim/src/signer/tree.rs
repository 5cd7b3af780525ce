//! The names of a zone in canonical order with their RRsets, and what each name is.

use crate::Records;
use std::collections::BTreeMap;
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};

/// RDATA and TTL of one owner and type.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub ttl: u32,
    pub rdatas: Vec<Vec<u8>>,
}

/// What a name is to the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Authoritative data; an empty non-terminal too.
    Own,
    /// A zone cut.
    Cut,
    /// Below a cut or a DNAME.
    Occluded,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub name: NameBuf,
    pub kind: Kind,
    pub sets: BTreeMap<u16, Set>,
}

/// The names of a zone, with cuts, glue and empty non-terminals. Sort keys order names canonically (RFC 4034 6.1), an ancestor before what is below it.
pub(super) struct Tree {
    pub apex: NameBuf,
    nodes: BTreeMap<Vec<u8>, Node>,
}

impl Tree {
    /// All names of the zone and its empty non-terminals, without what signing adds.
    pub fn of(zone: &Records) -> Result<Tree, String> {
        let mut tree = Tree { apex: zone.apex.to_lowercase(), nodes: BTreeMap::new() };
        for record in &zone.list {
            use rtype::{DNSKEY, NSEC, NSEC3, NSEC3PARAM, RRSIG};
            if matches!(record.rtype, DNSKEY | NSEC | NSEC3 | NSEC3PARAM | RRSIG) {
                continue;
            }
            if !record.owner.is_at_or_below(&zone.apex) {
                return Err(format!("{} is not in the zone {}", record.owner, zone.apex));
            }
            let sets = &mut tree.node(&record.owner).sets;
            let set = sets.entry(record.rtype).or_insert(Set { ttl: record.ttl, rdatas: Vec::new() });
            set.ttl = set.ttl.min(record.ttl);
            if !set.rdatas.contains(&record.rdata) {
                set.rdatas.push(record.rdata.clone());
            }
        }
        tree.add_empty_non_terminals();
        tree.classify();
        if tree.soa().is_none() {
            return Err(format!("{} has no SOA record", zone.apex));
        }
        Ok(tree)
    }

    /// The set of SOA records.
    pub fn soa(&self) -> Option<&Set> {
        self.nodes.get(SortKey::of(&self.apex).octets())?.sets.get(&rtype::SOA)
    }

    /// The TTL of records of denial: the smaller of the SOA's and its MINIMUM (RFC 9077 3).
    pub fn negative_ttl(&self) -> u32 {
        let Some(soa) = self.soa() else { return 0 };
        let minimum = soa.rdatas.first().and_then(|rdata| rdata.last_chunk::<4>());
        minimum.map_or(soa.ttl, |octets| soa.ttl.min(u32::from_be_bytes(*octets)))
    }

    /// Adds a set; the name is authoritative if it is new.
    pub fn put(&mut self, owner: &Name, rtype: u16, set: Set) {
        self.node(owner).sets.insert(rtype, set);
    }

    /// In canonical order, the apex first.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    pub fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.nodes.values_mut()
    }

    fn node(&mut self, name: &Name) -> &mut Node {
        let key = SortKey::of(name).octets().to_vec();
        let name = name.to_lowercase();
        self.nodes.entry(key).or_insert(Node { name, kind: Kind::Own, sets: BTreeMap::new() })
    }

    fn add_empty_non_terminals(&mut self) {
        let names: Vec<NameBuf> = self.nodes.values().map(|node| node.name.clone()).collect();
        for name in names {
            let mut above = name.parent();
            while let Some(parent) = above.filter(|parent| parent.is_at_or_below(&self.apex)) {
                self.node(parent);
                above = parent.parent();
            }
        }
    }

    fn classify(&mut self) {
        let apex = self.apex.clone();
        // The last cut or DNAME in the order: what is below it follows at once.
        let mut closed: Option<NameBuf> = None;
        for node in self.nodes.values_mut() {
            let is_apex = node.name.eq_ignore_case(&apex);
            if closed.as_ref().is_some_and(|above| node.name.is_at_or_below(above)) {
                node.kind = Kind::Occluded;
                continue;
            }
            let is_cut = !is_apex && node.sets.contains_key(&rtype::NS);
            if is_cut {
                node.kind = Kind::Cut;
            }
            if is_cut || node.sets.contains_key(&rtype::DNAME) {
                closed = Some(node.name.clone());
            }
        }
    }
}
