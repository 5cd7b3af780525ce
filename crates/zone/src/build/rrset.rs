//! RRsets to fragments: finds the compression pointers that hold in any message.

use super::{PackBuilder, Problem, ZoneBuild};
use crate::contents::{Flags, NodeRef, RRsetRef};
use crate::fragment::{self, POINTERS_MAX, REACH_MAX, RECORD_HEAD_OCTETS, TO_APEX, TO_OWNER};
use crate::shape::{Row, Storage};
use wire::Name;
use wire::iana::rtype;

/// How many earlier names of a fragment a name is compared with: enough for the largest sets of name
/// servers, a bound for the work on sets of thousands of records.
const NAMES_COMPARED_MAX: usize = 32;

/// Octets from the end of the first owner to its RDATA: type, class, TTL, RDLENGTH.
const FIRST_RDATA_AT: usize = RECORD_HEAD_OCTETS - 2;

impl<'c> ZoneBuild<'c> {
    /// Enters one RRset with the signatures that cover it.
    pub(super) fn rrset(&mut self, pack: &mut PackBuilder, node: NodeRef<'c>, set: RRsetRef<'c>) {
        let rtype = set.rtype();
        if rtype == rtype::RRSIG {
            return self.orphan_signatures(pack, node, set);
        }
        let signatures = node.signatures(rtype);
        if signatures.is_none() && set.len() == 1 {
            let rdata = set.records().next().map_or(&[][..], |record| record.rdata);
            let storage = match (rtype, rdata.len()) {
                (rtype::A, 4) => Some(Storage::A),
                (rtype::AAAA, 16) => Some(Storage::Aaaa),
                _ => None,
            };
            if let Some(storage) = storage {
                self.rows.push(Row::new(rtype, storage, set.ttl()));
                return self.references.extend_from_slice(rdata);
            }
        }
        self.is_signed |= signatures.is_some();
        let Some(place) = self.rrset.place(pack, set, signatures) else {
            return self.problem(Problem::RRsetTooLarge { owner: node.name(), rtype });
        };
        self.rows.push(Row::new(rtype, Storage::Pool, set.ttl()));
        self.references.extend_from_slice(&place.to_le_bytes());
    }

    /// Signatures that cover no RRset of their owner: kept as records of their own, so that nothing of the
    /// zone is lost; they are part of no answer but to their own type.
    fn orphan_signatures(&mut self, pack: &mut PackBuilder, node: NodeRef<'c>, set: RRsetRef<'c>) {
        let covered = |rdata: &[u8]| rdata.first_chunk().map_or(0, |octets| u16::from_be_bytes(*octets));
        let is_orphan = |rdata: &&[u8]| node.rrset(covered(rdata)).is_none();
        let orphans: Vec<&[u8]> = set.records().map(|record| record.rdata).filter(is_orphan).collect();
        if orphans.is_empty() {
            return;
        }
        let mut octets = Vec::new();
        if !fragment::encode(&orphans, &[], &[], &mut octets) {
            return self.problem(Problem::RRsetTooLarge { owner: node.name(), rtype: rtype::RRSIG });
        }
        self.rows.push(Row::new(rtype::RRSIG, Storage::Pool, set.ttl()));
        self.references.extend_from_slice(&pack.pool.push(&octets).to_le_bytes());
    }
}

/// Encodes RRsets; buffers are used again from set to set.
pub(super) struct Encoder {
    apex: Box<[u8]>,
    owner: Vec<u8>,
    /// All rendered RDATA of the set, one after the other, and where each ends.
    rendered: Vec<u8>,
    ends: Vec<usize>,
    places: Vec<u16>,
    names: Vec<Written>,
    out: Vec<u8>,
}

/// A name that is already in the fragment.
struct Written {
    /// Its uncompressed octets.
    name: [u8; 255],
    octets: u8,
    /// Where it begins, counted as pointers do.
    at: usize,
    /// How many of its octets are there literally.
    literal: u8,
}

impl Encoder {
    pub(super) fn new(apex: &Name) -> Encoder {
        Encoder {
            apex: apex.octets().into(),
            owner: Vec::new(),
            rendered: Vec::new(),
            ends: Vec::new(),
            places: Vec::new(),
            names: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Says whose RRsets come next.
    pub(super) fn start_owner(&mut self, node: NodeRef<'_>) {
        self.owner.clear();
        // The owner of a wildcard's records is the query name when they are sent, so nothing may point at it;
        // pointers at the apex are written as such.
        if node.flags().has_any(Flags(Flags::WILDCARD.0 | Flags::APEX.0)) {
            return;
        }
        if wire::key::key_to_wire(node.key(), &mut self.owner).is_err() {
            // Never so for a key in contents; without owner nothing points at it.
            self.owner.clear();
            return;
        }
        self.owner.extend_from_slice(&self.apex);
    }

    /// The owner in wire form; empty where nothing may point at it.
    pub(super) fn owner(&self) -> &[u8] {
        &self.owner
    }

    /// The place of the fragment of `set`; `None` when it fits no message.
    pub(super) fn place(
        &mut self,
        pack: &mut PackBuilder,
        set: RRsetRef<'_>,
        signatures: Option<RRsetRef<'_>>,
    ) -> Option<u32> {
        self.render(set);
        let mut start = 0;
        let records: Vec<&[u8]> = self
            .ends
            .iter()
            .map(|&end| {
                let rdata = &self.rendered[start..end];
                start = end;
                rdata
            })
            .collect();
        let signatures: Vec<&[u8]> = signatures
            .iter()
            .flat_map(|set| set.records())
            .filter_map(|record| record.rdata.get(2..))
            .collect();
        self.out.clear();
        if !fragment::encode(&records, &self.places, &signatures, &mut self.out) {
            return None;
        }
        // Signed sets are different from each other: a signature covers the owner too.
        Some(if signatures.is_empty() { pack.pool.place_of(&self.out) } else { pack.pool.push(&self.out) })
    }

    /// Renders all RDATA of a set, names compressed where RFC 3597 4 lets senders do it.
    fn render(&mut self, set: RRsetRef<'_>) {
        self.rendered.clear();
        self.ends.clear();
        self.places.clear();
        self.names.clear();
        let (before, names) = match set.rtype() {
            rtype::NS | rtype::CNAME | rtype::PTR => (0, 1),
            rtype::MX => (2, 1),
            rtype::SOA => (0, 2),
            _ => (0, 0),
        };
        for (number, record) in set.records().enumerate() {
            let heads = FIRST_RDATA_AT + number * RECORD_HEAD_OCTETS;
            let mut rest = record.rdata;
            if let Some((head, tail)) = rest.split_at_checked(before) {
                self.rendered.extend_from_slice(head);
                rest = tail;
                for _ in 0..names {
                    let Ok((name, tail)) = Name::split_from(rest) else { break };
                    self.name(name, heads);
                    rest = tail;
                }
            }
            self.rendered.extend_from_slice(rest);
            self.ends.push(self.rendered.len());
        }
    }

    /// Renders a name. `heads`: octets of record heads before it.
    fn name(&mut self, name: &Name, heads: usize) {
        let at = heads + self.rendered.len();
        let octets = name.octets();
        let mut label = 0;
        let mut target = None;
        if self.places.len() < POINTERS_MAX && at + octets.len() < REACH_MAX {
            while octets[label] != 0 {
                target = self.target(&octets[label..]);
                if target.is_some() {
                    break;
                }
                label += 1 + octets[label] as usize;
            }
        }
        self.rendered.extend_from_slice(&octets[..label]);
        match target {
            Some(target) => {
                self.places.push((at + label) as u16);
                self.rendered.extend_from_slice(&target.to_be_bytes());
            }
            None => self.rendered.push(0),
        }
        if self.names.len() < NAMES_COMPARED_MAX && at < REACH_MAX {
            let mut written =
                Written { name: [0; 255], octets: octets.len() as u8, at, literal: label as u8 };
            written.name[..octets.len()].copy_from_slice(octets);
            self.names.push(written);
        }
    }

    /// What a pointer can point at that reads `suffix`.
    fn target(&self, suffix: &[u8]) -> Option<u16> {
        if suffix.len() == self.owner.len() && suffix.eq_ignore_ascii_case(&self.owner) {
            return Some(TO_OWNER);
        }
        if suffix.len() == self.apex.len() && suffix.eq_ignore_ascii_case(&self.apex) {
            return Some(TO_APEX);
        }
        self.names.iter().find_map(|written| {
            let skipped = (written.octets as usize).checked_sub(suffix.len())?;
            let same = skipped < written.literal as usize
                && written.name[skipped..written.octets as usize] == *suffix
                && begins_label(&written.name, skipped);
            same.then_some((written.at + skipped) as u16)
        })
    }
}

/// Whether a label of `name` begins at `at`.
fn begins_label(name: &[u8], at: usize) -> bool {
    let mut label = 0;
    while label < at && name[label] != 0 {
        label += 1 + name[label] as usize;
    }
    label == at
}
