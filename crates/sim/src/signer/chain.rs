//! Chains of denial: NSEC (RFC 4034 4, RFC 4035 2.3) and NSEC3 (RFC 5155 7.1).

use super::tree::{Kind, Node, Set, Tree};
use dnssec::bitmap::write_types;
use dnssec::nsec3::{self, Nsec3Params};
use std::collections::{BTreeMap, BTreeSet};
use wire::iana::rtype;
use wire::{Name, NameBuf};

/// Types of a node as a bitmap names them, with `more`.
fn types_of(node: &Node, more: &[u16]) -> BTreeSet<u16> {
    let own = node.sets.keys().copied().filter(|rtype| match node.kind {
        Kind::Cut => matches!(*rtype, rtype::NS | rtype::DS),
        _ => true,
    });
    own.chain(more.iter().copied()).collect()
}

/// Adds an NSEC record to each name that has authoritative data or is a cut.
pub(super) fn add_nsec(tree: &mut Tree) {
    let ttl = tree.negative_ttl();
    let has_one = |node: &&Node| node.kind != Kind::Occluded && !node.sets.is_empty();
    let names: Vec<NameBuf> = tree.nodes().filter(has_one).map(|node| node.name.clone()).collect();
    let mut next = names.iter().cycle().skip(1);
    let nodes = tree.nodes_mut().filter(|node| node.kind != Kind::Occluded && !node.sets.is_empty());
    for (node, next) in nodes.zip(&mut next) {
        let mut rdata = next.octets().to_vec();
        write_types(types_of(node, &[rtype::RRSIG, rtype::NSEC]), &mut rdata);
        node.sets.insert(rtype::NSEC, Set { ttl, rdatas: vec![rdata] });
    }
}

/// Adds NSEC3PARAM and the NSEC3 records.
pub(super) fn add_nsec3(tree: &mut Tree, iterations: u16, salt: &[u8], opt_out: bool) -> Result<(), String> {
    let params = Nsec3Params::new(iterations, salt).map_err(|error| format!("NSEC3: {error:?}"))?;
    let (ttl, apex) = (tree.negative_ttl(), tree.apex.clone());
    let mut fields = vec![nsec3::ALGORITHM_SHA1, 0];
    fields.extend(iterations.to_be_bytes());
    fields.push(salt.len() as u8);
    fields.extend(salt);
    tree.put(&apex, rtype::NSEC3PARAM, Set { ttl: 0, rdatas: vec![fields.clone()] });
    fields[1] = if opt_out { nsec3::FLAG_OPT_OUT } else { 0 };

    let mut hashed: BTreeMap<nsec3::Hash, BTreeSet<u16>> = BTreeMap::new();
    let left_out = |node: &Node| node.kind == Kind::Cut && opt_out && !node.sets.contains_key(&rtype::DS);
    let taken: BTreeSet<NameBufKey> = tree
        .nodes()
        .filter(|node| node.kind != Kind::Occluded && !node.sets.is_empty() && !left_out(node))
        .flat_map(|node| with_ancestors(&node.name, &apex))
        .map(NameBufKey)
        .collect();
    for node in tree.nodes().filter(|node| taken.contains(&NameBufKey(node.name.clone()))) {
        let is_signed = match node.kind {
            Kind::Cut => node.sets.contains_key(&rtype::DS),
            _ => !node.sets.is_empty(),
        };
        let more: &[u16] = if is_signed { &[rtype::RRSIG] } else { &[] };
        hashed.insert(params.hash(&node.name), types_of(node, more));
    }
    let mut nexts: Vec<nsec3::Hash> = hashed.keys().copied().collect();
    nexts.rotate_left(1);
    for ((hash, types), next) in hashed.into_iter().zip(nexts) {
        let mut rdata = fields.clone();
        rdata.push(nsec3::HASH_OCTETS as u8);
        rdata.extend(next);
        write_types(types, &mut rdata);
        tree.put(&owner_of(&hash, &apex), rtype::NSEC3, Set { ttl, rdatas: vec![rdata] });
    }
    Ok(())
}

/// A name in lower case that can be ordered; the order is of no meaning.
#[derive(PartialEq, Eq, Clone)]
struct NameBufKey(NameBuf);

impl Ord for NameBufKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.octets().cmp(other.0.octets())
    }
}

impl PartialOrd for NameBufKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The name and all above it up to the apex.
fn with_ancestors(name: &Name, apex: &Name) -> Vec<NameBuf> {
    std::iter::successors(Some(name), |name| name.parent())
        .take_while(|name| name.is_at_or_below(apex))
        .map(Name::to_owned)
        .collect()
}

/// The owner of an NSEC3 record.
fn owner_of(hash: &nsec3::Hash, apex: &Name) -> NameBuf {
    let mut octets = vec![nsec3::LABEL_OCTETS as u8];
    octets.extend(nsec3::owner_label(hash));
    octets.extend(apex.octets());
    Name::trusted(&octets).to_owned()
}
