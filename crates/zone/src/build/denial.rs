//! NSEC3 chains: rows in the order of hashes, and for each name the record that matches or covers it.

use super::pool::Pool;
use super::zone::ZoneBuild;
use super::{PackBuilder, Problem};
use crate::contents::{Contents, Flags, NodeRef};
use crate::fragment;
use crate::pack::{NOWHERE, NSEC3_ROW_OCTETS};
use dnssec::nsec3::{Hash, Nsec3, Nsec3Params, hash_of_label};
use wire::iana::rtype;

/// The chain of a zone.
#[derive(Default)]
pub(super) struct Denial {
    /// Hash and number of the node, in the order of hashes, which is that of the nodes.
    hashes: Vec<(Hash, u32)>,
    iterations: u16,
    salt: Vec<u8>,
    first_row: u32,
}

impl Denial {
    /// Finds the chain that the apex's NSEC3PARAM record announces (RFC 5155 7.3).
    pub(super) fn collect(contents: &Contents) -> Result<Denial, Problem> {
        let apex = contents.node(0);
        let Some(announced) = apex.rrset(rtype::NSEC3PARAM) else { return Ok(Denial::default()) };
        // Flags other than 0 announce a chain that is not complete (RFC 5155 4.1.2).
        let mut complete = announced.records().filter(|record| record.rdata.get(1) == Some(&0));
        let Some(record) = complete.next() else { return Ok(Denial::default()) };
        let (params, _) = Nsec3Params::parse(record.rdata).map_err(|_| Problem::Nsec3Parameters)?;
        let mut denial =
            Denial { iterations: params.iterations(), salt: params.salt().to_vec(), ..Denial::default() };
        // Not only nodes flagged so: a hash can be a name with data of its own too (RFC 5155 7.2.8).
        for node in contents.nodes() {
            if let Some(hash) = hash_of_node(node, &params) {
                denial.hashes.push((hash, node.number() as u32));
            }
        }
        denial.hashes.sort_unstable();
        Ok(denial)
    }

    /// Whether this node is one of the chain.
    pub(super) fn has(&self, node: usize) -> bool {
        // Nodes of the chain are in canonical order, and so are their numbers.
        self.hashes.binary_search_by_key(&(node as u32), |(_, number)| *number).is_ok()
    }

    /// The rank of the record that matches a name of the zone, or else covers it; `None` without a chain
    /// and for occluded names, which are not part of it.
    pub(super) fn rank(&self, node: NodeRef<'_>) -> Option<u32> {
        if self.hashes.is_empty() || node.flags().has(Flags::OCCLUDED) {
            return None;
        }
        let params = Nsec3Params::new(self.iterations, &self.salt).ok()?;
        let hash = params.hash(&node.name());
        Some(match self.hashes.partition_point(|(other, _)| *other <= hash) {
            0 => self.len() - 1,
            after => after as u32 - 1,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    pub(super) fn len(&self) -> u32 {
        self.hashes.len() as u32
    }

    pub(super) fn first_row(&self) -> u32 {
        self.first_row
    }

    /// Stores iterations and salt as [`crate::Zone::nsec3_parameters`] reads them.
    pub(super) fn parameters(&self, pool: &mut Pool) -> u32 {
        if self.is_empty() {
            return NOWHERE;
        }
        let mut octets = self.iterations.to_le_bytes().to_vec();
        octets.push(self.salt.len() as u8);
        octets.extend_from_slice(&self.salt);
        pool.place_of(&octets)
    }
}

/// The hash that owns an NSEC3 RRset, when that belongs to the chain.
fn hash_of_node(node: NodeRef<'_>, params: &Nsec3Params<'_>) -> Option<Hash> {
    let record = node.rrset(rtype::NSEC3)?.records().next()?;
    let own = Nsec3::parse(record.rdata).ok()?.params;
    let (_, label) = node.key().split_last()?;
    let same = own.iterations() == params.iterations() && own.salt() == params.salt();
    if same { hash_of_label(label) } else { None }
}

impl<'c> ZoneBuild<'c> {
    /// Writes the rows of the chain and its RRsets.
    pub(super) fn denial_rows(&mut self, pack: &mut PackBuilder) {
        self.denial.first_row = (pack.nsec3.len() / NSEC3_ROW_OCTETS) as u32;
        for number in 0..self.denial.hashes.len() {
            let (hash, node) = self.denial.hashes[number];
            let node = self.contents.node(node as usize);
            let Some(set) = node.rrset(rtype::NSEC3) else { continue };
            let signatures = node.signatures(rtype::NSEC3);
            let covering =
                signatures.iter().flat_map(|set| set.records()).filter_map(|record| record.rdata.get(2..));
            let mut octets = Vec::new();
            if !fragment::encode_plain(set.records().map(|record| record.rdata), covering, &mut octets) {
                self.problem(Problem::RRsetTooLarge { owner: node.name(), rtype: rtype::NSEC3 });
            }
            if let Some(signatures) = signatures {
                self.note_signatures(signatures);
            }
            pack.nsec3.extend_from_slice(&hash);
            pack.nsec3.extend_from_slice(&pack.pool.push(&octets).to_le_bytes());
            pack.nsec3.extend_from_slice(&set.ttl().to_le_bytes());
        }
    }
}
