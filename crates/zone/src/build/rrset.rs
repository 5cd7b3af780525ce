//! RRsets to fragments: finds the compression pointers that hold in any message.

use super::known::{self, Servers};
use super::zone::ZoneBuild;
use super::{PackBuilder, Problem};
use crate::contents::{Flags, NodeRef, RRsetRef};
use crate::fragment::{self, POINTERS_MAX, REACH_MAX, RECORD_HEAD_OCTETS, TO_APEX, TO_OWNER};
use crate::shape::{Row, Storage};
use wire::Name;
use wire::iana::rtype;
use wire::rdata::{Compressible, compressible};

/// How many earlier names of a fragment a name is compared with: enough for the largest sets of name
/// servers, a bound for the work on sets of thousands of records.
const NAMES_COMPARED_MAX: usize = 32;

/// Octets from the end of the first owner to its RDATA: type, class, TTL, RDLENGTH.
const FIRST_RDATA_AT: usize = RECORD_HEAD_OCTETS - 2;

/// Octets before the target in RDATA of SRV (RFC 2782), which does not leave compressed. In a zone that is like many others services are on hosts of the
/// same names below the apex: without it they are one fragment.
const SRV_TARGET_AT: usize = 6;

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
        if let Some(signatures) = signatures {
            self.note_signatures(signatures);
        }
        if rtype == rtype::NS && node.flags().has(Flags::OCCLUDED) {
            // What is above may go while the pack is served.
            self.note_servers(pack, node, set);
        }
        let place = match signatures {
            None if rtype == rtype::NS && node.flags().has(Flags::CUT) => self.servers(pack, node, set),
            _ => self.rrset.place(pack, set, signatures),
        };
        let Some(place) = place else {
            return self.problem(Problem::RRsetTooLarge { owner: node.name(), rtype });
        };
        if signatures.is_some() && rtype == rtype::NS && node.flags().has(Flags::CUT) {
            // Signed by mistake (RFC 4035 2.2); its servers need their glue all the same.
            self.glue = self.glue_of(pack, node, set);
        }
        self.rows.push(Row::new(rtype, Storage::Pool, set.ttl()));
        self.references.extend_from_slice(&place.to_le_bytes());
    }

    /// The place of the NS RRset of a zone cut; finds its glue too. Most delegations of a large zone name servers
    /// that others before them named: then the RDATA as read tells, and nothing is rendered or searched.
    fn servers(&mut self, pack: &mut PackBuilder, cut: NodeRef<'c>, set: RRsetRef<'c>) -> Option<u32> {
        // A wildcard's owner is kept out of fragments, so that the test of names cannot tell what is below it.
        if cut.flags().has(Flags::WILDCARD)
            || set.records().any(|record| self.rrset.ends_in_owner(record.rdata))
        {
            let place = self.rrset.place(pack, set, None)?;
            self.glue = self.glue_of(pack, cut, set);
            return Some(place);
        }
        // No server is at or below the cut, so fragment and glue depend on the servers alone.
        let hash = known::hash(self.secret, set.records().map(|record| record.rdata));
        if let Some(servers) = self.known.get(&hash) {
            self.glue = servers.glue;
            return Some(servers.place);
        }
        let place = self.rrset.place(pack, set, None)?;
        self.glue = self.glue_of(pack, cut, set);
        self.known.insert(hash, Servers { place, glue: self.glue });
        Some(place)
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
        if !fragment::encode_plain(orphans.iter().copied(), std::iter::empty(), &mut octets) {
            return self.problem(Problem::RRsetTooLarge { owner: node.name(), rtype: rtype::RRSIG });
        }
        self.rows.push(Row::new(rtype::RRSIG, Storage::Pool, set.ttl()));
        self.references.extend_from_slice(&pack.pool.push(&octets).to_le_bytes());
    }
}

/// Encodes RRsets; buffers are used again from set to set.
pub(crate) struct Encoder<'c> {
    apex: &'c [u8],
    owner_key: &'c [u8],
    /// Octets of the owner in wire form; 0 where nothing may point at it.
    owner_octets: usize,
    names: Vec<Written<'c>>,
    /// The owner in wire form, once it was asked for.
    owner: Vec<u8>,
    /// All rendered RDATA of the set, one after the other, and where each ends.
    rendered: Vec<u8>,
    ends: Vec<usize>,
    places: Vec<u16>,
    /// Whether the apex follows each.
    apex_follows: bool,
    out: Vec<u8>,
}

/// Buffers of an [`Encoder`], to be used again.
#[derive(Default)]
pub(crate) struct Room {
    owner: Vec<u8>,
    rendered: Vec<u8>,
    ends: Vec<usize>,
    places: Vec<u16>,
    out: Vec<u8>,
}

/// A name that is already in the fragment.
struct Written<'c> {
    /// Its uncompressed octets.
    name: &'c [u8],
    /// Where it begins, counted as pointers do.
    at: usize,
    /// How many of its octets are there literally.
    literal: usize,
}

impl<'c> Encoder<'c> {
    /// An encoder for the zone `apex`.
    pub(crate) fn new(apex: &'c Name, room: Room) -> Encoder<'c> {
        let Room { owner, rendered, ends, places, out } = room;
        Encoder {
            apex: apex.octets(),
            owner_key: &[],
            owner_octets: 0,
            names: Vec::new(),
            owner,
            rendered,
            ends,
            places,
            apex_follows: false,
            out,
        }
    }

    pub(crate) fn into_room(self) -> Room {
        let Encoder { owner, rendered, ends, places, out, .. } = self;
        Room { owner, rendered, ends, places, out }
    }

    /// Says whose RRsets come next.
    pub(super) fn start_owner(&mut self, node: NodeRef<'c>) {
        self.start_name(node.key(), node.flags());
    }

    /// The same by the owner's key relative to the apex, and its flags.
    pub(crate) fn start_name(&mut self, key: &'c [u8], flags: Flags) {
        self.owner.clear();
        self.owner_octets = 0;
        // The owner of a wildcard's records is the query name when they are sent, so nothing may point at it;
        // pointers at the apex are written as such.
        if flags.has_any(Flags(Flags::WILDCARD.0 | Flags::APEX.0)) {
            return;
        }
        self.owner_key = key;
        // A label takes as many octets in a key as on the wire, but for escapes: 1 and the escaped octet.
        let escapes = escape_count(self.owner_key);
        self.owner_octets = self.owner_key.len() - escapes + self.apex.len();
    }

    /// Whether `name` is the owner.
    pub(super) fn is_owner(&mut self, name: &[u8]) -> bool {
        if name.len() != self.owner_octets {
            return false;
        }
        if self.owner.is_empty() {
            if wire::sort_key::key_to_wire(self.owner_key, &mut self.owner).is_err() {
                return false;
            }
            self.owner.extend_from_slice(self.apex);
        }
        name.eq_ignore_ascii_case(&self.owner)
    }

    /// Whether `name` is the owner or below it.
    fn ends_in_owner(&mut self, name: &[u8]) -> bool {
        if self.owner_octets == 0 || name.len() < self.owner_octets {
            return false;
        }
        let tail = &name[name.len() - self.owner_octets..];
        // The owner's first label is the last of its key: its first octet tells most names apart.
        let first = match self.owner_key {
            [head @ .., _] => head.iter().rposition(|&octet| octet == 0).map_or(0, |at| at + 1),
            [] => 0,
        };
        let may_be = tail.get(1).is_some_and(|octet| octet.to_ascii_lowercase() == self.owner_key[first])
            || self.owner_key[first] == 1;
        may_be && self.is_owner(tail)
    }

    /// The place of the fragment of `set`; `None` when it fits no message.
    pub(super) fn place(
        &mut self,
        pack: &mut PackBuilder,
        set: RRsetRef<'c>,
        signatures: Option<RRsetRef<'c>>,
    ) -> Option<u32> {
        let covering =
            signatures.iter().flat_map(|set| set.records()).filter_map(|record| record.rdata.get(2..));
        self.encode(set.rtype(), set.records().map(|record| record.rdata), covering)?;
        // Signed sets are different from each other: a signature covers the owner too.
        Some(if signatures.is_some() { pack.pool.push(&self.out) } else { pack.pool.place_of(&self.out) })
    }

    /// The fragment of these records, by octets of their RDATA in order, and signatures without the covered type; `None` when it fits no message.
    pub(crate) fn encode<'s>(
        &mut self,
        rtype: u16,
        records: impl Iterator<Item = &'c [u8]>,
        signatures: impl Iterator<Item = &'s [u8]> + Clone,
    ) -> Option<&[u8]> {
        self.render(rtype, records);
        self.out.clear();
        let apex = if self.apex_follows { self.apex.len() } else { 0 };
        let places = (&*self.places, apex);
        let fits = fragment::encode(&self.rendered, &self.ends, places, signatures, &mut self.out);
        fits.then_some(&*self.out)
    }

    /// Renders all RDATA of a set, names compressed where RFC 3597 4 lets senders do it.
    fn render(&mut self, rtype: u16, records: impl Iterator<Item = &'c [u8]>) {
        self.rendered.clear();
        self.ends.clear();
        self.places.clear();
        self.apex_follows = false;
        self.names.clear();
        let Compressible { before, names } = compressible(rtype);
        for (number, rdata) in records.enumerate() {
            let heads = FIRST_RDATA_AT + number * RECORD_HEAD_OCTETS;
            let mut rest = rdata;
            if let Some((head, tail)) = rest.split_at_checked(before) {
                self.rendered.extend_from_slice(head);
                rest = tail;
                for _ in 0..names {
                    let Ok((name, tail)) = Name::split_from(rest) else { break };
                    self.name(name.octets(), heads);
                    rest = tail;
                }
            }
            self.rendered.extend_from_slice(rest);
            self.ends.push(self.rendered.len());
        }
        if rtype == rtype::SRV && self.have_targets_here() {
            self.leave_apex_out();
        }
    }

    /// Whether the targets of all records, which are SRV records, are at or below the apex.
    fn have_targets_here(&self) -> bool {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut records = starts.zip(&self.ends).map(|(start, &end)| &self.rendered[start..end]);
        !self.ends.is_empty()
            && self.apex.len() > 1
            && records.all(|rdata| {
                let target = rdata.get(SRV_TARGET_AT..).unwrap_or_default();
                let host = target.len().checked_sub(self.apex.len());
                host.is_some_and(|host| {
                    target[host..].eq_ignore_ascii_case(self.apex) && begins_label(target, host)
                })
            })
    }

    /// Leaves the apex out, in which the RDATA of all records ends.
    fn leave_apex_out(&mut self) {
        let (mut from, mut to) = (0, 0);
        for end in &mut self.ends {
            let host = *end - self.apex.len();
            self.rendered.copy_within(from..host, to);
            to += host - from;
            (from, *end) = (*end, to);
        }
        self.rendered.truncate(to);
        self.apex_follows = true;
    }

    /// Renders a name. `heads`: octets of record heads before it.
    fn name(&mut self, name: &'c [u8], heads: usize) {
        let at = heads + self.rendered.len();
        // Without a pointer, all labels but the root's.
        let mut label = name.len() - 1;
        let mut target = None;
        if self.places.len() < POINTERS_MAX && at + name.len() < REACH_MAX {
            label = 0;
            while name[label] != 0 {
                target = self.target(&name[label..]);
                if target.is_some() {
                    break;
                }
                label += 1 + name[label] as usize;
            }
        }
        self.rendered.extend_from_slice(&name[..label]);
        match target {
            Some(target) => {
                self.places.push((at + label) as u16);
                self.rendered.extend_from_slice(&target.to_be_bytes());
            }
            None => self.rendered.push(0),
        }
        if self.names.len() < NAMES_COMPARED_MAX && at < REACH_MAX {
            self.names.push(Written { name, at, literal: label });
        }
    }

    /// What a pointer can point at that reads `suffix`.
    fn target(&mut self, suffix: &[u8]) -> Option<u16> {
        if suffix.len() == self.apex.len() && suffix.eq_ignore_ascii_case(self.apex) {
            return Some(TO_APEX);
        }
        if self.is_owner(suffix) {
            return Some(TO_OWNER);
        }
        self.names.iter().find_map(|written| {
            let skipped = written.name.len().checked_sub(suffix.len())?;
            let same = skipped < written.literal
                && written.name[skipped..] == *suffix
                && begins_label(written.name, skipped);
            same.then_some((written.at + skipped) as u16)
        })
    }
}

/// How many octets of a key stand for another one that follows.
fn escape_count(key: &[u8]) -> usize {
    if !key.contains(&1) {
        return 0;
    }
    let mut octets = key.iter();
    let mut count = 0;
    while let Some(octet) = octets.next() {
        if *octet == 1 {
            count += 1;
            octets.next();
        }
    }
    count
}

/// Whether a label of `name` begins at `at`.
fn begins_label(name: &[u8], at: usize) -> bool {
    let mut label = 0;
    while label < at && name[label] != 0 {
        label += 1 + name[label] as usize;
    }
    label == at
}
