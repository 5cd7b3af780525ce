//! What answering needs of stored zones, however they are protected; and one way to answer with it.

use std::ops::Deref;

use wire::iana::rtype;

use crate::{few::Few, memory::Place, rrset::RRset};

/// RRsets of an answer at most: 13 servers with two kinds of addresses each, and what is asked for.
pub const SETS_MAX: usize = 32;
/// Servers whose addresses are looked for, as many as the root has.
const TARGETS_MAX: usize = 13;

/// Sets of an answer, held until it is sent.
pub type Sets<S> = Few<S, SETS_MAX>;

/// Where a name is in a zone.
pub struct Walk<N> {
    /// How it ended.
    pub kind: Kind,
    /// Of the cut or the name.
    pub node: Option<N>,
}

/// What a walk found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The name.
    Exact,
    /// A zone cut at or above it.
    Cut,
    /// No such name.
    Missing,
}

/// Stored zones. Each method is one or more acquisitions of a lock, where there are locks.
pub trait Database {
    /// A zone, held.
    type Zone;
    /// A node of a zone.
    type Node;
    /// An RRset, held.
    type Set: Deref<Target = RRset>;

    /// The zone that is closest above a name in lower case.
    fn zone(&self, name: &[u8]) -> Option<Self::Zone>;
    /// From the apex down to a name in lower case.
    fn walk(&self, zone: &Self::Zone, name: &[u8]) -> Walk<Self::Node>;
    /// The node of exactly this name, wherever it is.
    fn node(&self, zone: &Self::Zone, name: &[u8]) -> Option<Self::Node>;
    /// Adds the sets of these types.
    fn sets(&self, zone: &Self::Zone, node: &Self::Node, rtypes: &[u16], sets: &mut Sets<Self::Set>);
    /// The apex.
    fn apex<'z>(&self, zone: &'z Self::Zone) -> &'z [u8];
}

/// An answer before it is written: the sets of its sections, one after the other.
pub struct Answer<S> {
    /// RCODE.
    pub rcode: u8,
    /// Whether it is a referral, which is not authoritative.
    pub is_referral: bool,
    /// All sets.
    pub sets: Sets<S>,
    /// Sets of the answer section, and of the answer and authority sections.
    pub ends: [usize; 2],
}

/// Answers a question; `name` in lower case. (RFC 1034 4.3.2, without aliases and wildcards: the root zone has none.)
pub fn answer<D: Database>(database: &D, name: &[u8], qtype: u16, place: &Place<'_>) -> Answer<D::Set> {
    let mut answer = Answer { rcode: 0, is_referral: false, sets: Few::new(), ends: [0, 0] };
    let Some(zone) = database.zone(name) else {
        answer.rcode = wire::iana::rcode::REFUSED as u8;
        return answer;
    };
    let walk = database.walk(&zone, name);
    let sets = &mut answer.sets;
    match (walk.kind, walk.node) {
        (Kind::Cut, Some(node)) => {
            answer.is_referral = true;
            database.sets(&zone, &node, &[rtype::NS], sets);
            answer.ends = [0, sets.len()];
            additional(database, &zone, place, sets);
            return answer;
        }
        (Kind::Exact, Some(node)) => database.sets(&zone, &node, &[qtype], sets),
        _ => answer.rcode = wire::iana::rcode::NXDOMAIN as u8,
    }
    answer.ends[0] = sets.len();
    if sets.is_empty() {
        if let Some(apex) = database.node(&zone, database.apex(&zone)) {
            database.sets(&zone, &apex, &[rtype::SOA], sets);
        }
    } else if qtype == rtype::NS {
        answer.ends[1] = sets.len();
        additional(database, &zone, place, sets);
        return answer;
    }
    answer.ends[1] = sets.len();
    answer
}

/// Adds the addresses of the servers that the last set names.
fn additional<D: Database>(database: &D, zone: &D::Zone, place: &Place<'_>, sets: &mut Sets<D::Set>) {
    let mut names = Few::<_, TARGETS_MAX>::new();
    if let Some(servers) = sets.last() {
        for target in servers.targets().take(TARGETS_MAX) {
            if let Some(mut name) = place.take(target.octets().len()) {
                name.copy_from_slice(target.octets());
                name.make_ascii_lowercase();
                names.push(name);
            }
        }
    }
    for name in names.iter() {
        if let Some(node) = database.node(zone, name) {
            database.sets(zone, &node, &[rtype::A, rtype::AAAA], sets);
        }
    }
}

/// A name and its ancestors, from the root down: each where it begins.
pub fn suffixes(name: &[u8]) -> impl Iterator<Item = usize> {
    let mut starts = [0u8; 128];
    let (mut count, mut at) = (0, 0);
    while let Some(&length) = name.get(at) {
        starts[count] = at as u8;
        count += 1;
        if length == 0 || count == starts.len() {
            break;
        }
        at += 1 + length as usize;
    }
    (0..count).rev().map(move |index| starts[index] as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_root_down() {
        assert!(suffixes(b"\x01a\x02bc\0").eq([5, 2, 0]));
        assert!(suffixes(b"\0").eq([0]));
        let longest = [&b"\x01a".repeat(127)[..], b"\0"].concat();
        assert_eq!(suffixes(&longest).count(), 128);
    }
}
