//! The records of one zone in canonical order, each name classified: the step between text and pack.
//!
//! ```text
//! records in any order --ContentsBuilder--> Contents --check--> findings
//!                                              `------build--> pack
//! ```
//!
//! Everything is columns, not objects: one arena of keys, one of RDATA, rows that point into them. A
//! zone of eight million records costs a few allocations. Names are kept as sort keys (see [`wire::sort_key`])
//! relative to the apex; the apex itself is the empty key and always node 0.

use wire::sort_key::name_of;
use wire::{Name, NameBuf, SortKey};

mod classify;
mod order;

/// Where a record was read: which file of the load, which line (1 the first, 0 unknown).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// Number of the file, in the order in which the reader met them.
    pub file: u16,
    /// Line of the record's first field.
    pub line: u32,
}

/// Facts about a node, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// The apex of the zone.
    pub const APEX: Flags = Flags(1);
    /// A zone cut: NS records below the apex (RFC 1034 4.2.1).
    pub const CUT: Flags = Flags(2);
    /// Has a DNAME record that redirects what is below (RFC 6672).
    pub const DNAME: Flags = Flags(4);
    /// Below a zone cut or a DNAME: not part of the zone's authoritative data (RFC 9499, occluded name).
    pub const OCCLUDED: Flags = Flags(8);
    /// No records of its own, but names below it (RFC 4592 2.2.2, empty non-terminal).
    pub const EMPTY: Flags = Flags(16);
    /// Has a child named `*`: a source of synthesis (RFC 4592 3.3.1).
    pub const WILDCARD_CHILD: Flags = Flags(32);
    /// Has names below it.
    pub const PARENT: Flags = Flags(64);
    /// Its first label is `*`.
    pub const WILDCARD: Flags = Flags(128);
    /// Holds nothing but NSEC3 records and their signatures: not a name of the zone (RFC 5155 7.2.8).
    pub const NSEC3: Flags = Flags(256);
    /// Has a CNAME record.
    pub const CNAME: Flags = Flags(512);
    /// In packs: has an NSEC record, so that it can cover names.
    pub const NSEC: Flags = Flags(1024);
    /// In packs: the references begin with the number of the NSEC3 record that matches or covers the name.
    pub const HASHED: Flags = Flags(2048);
    /// In packs: then follows the place of its glue list in the pool.
    pub const GLUE: Flags = Flags(4096);
    /// Below a DNAME and no zone cut: whatever it has, its name means another (RFC 6672 2.4).
    pub const REDIRECTED: Flags = Flags(8192);

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    pub fn has_any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// Sets the bits of `other`.
    pub fn set(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// Why a record was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The owner is not at or below the apex.
    OutOfZone,
    /// The zone has more names or records than 32-bit numbers can count.
    TooMany,
}

/// One name: a row of [`Contents`]. 24 octets, since a zone can have 10^8 of them.
#[derive(Clone, Copy, Debug)]
struct NodeRow {
    key_at: u64,
    /// Number of the node one label up; the apex points at itself.
    parent: u32,
    /// Number of its first record; those of the next node end them.
    first_record: u32,
    key_octets: u16,
    flags: Flags,
}

/// One record: 24 octets.
#[derive(Clone, Copy, Debug)]
struct RecordRow {
    rdata_at: u64,
    ttl: u32,
    line: u32,
    rdata_octets: u16,
    rtype: u16,
    file: u16,
}

/// Takes records in any order.
pub struct ContentsBuilder {
    apex: NameBuf,
    apex_key: Box<[u8]>,
    key: SortKey,
    keys: Vec<u8>,
    rdata: Vec<u8>,
    runs: Vec<Run>,
    records: Vec<RecordRow>,
}

/// Room at first, of a zone of some records: most zones of a hosting server have no more, and growing to that took a third of the
/// allocations.
const RECORDS_MIN: usize = 8;
const NAMES_MIN: usize = 8;
const KEYS_OCTETS_MIN: usize = 64;
const RDATA_OCTETS_MIN: usize = 256;

/// Consecutive records of one owner.
#[derive(Clone, Copy)]
struct Run {
    key_at: u64,
    first_record: u32,
    key_octets: u16,
}

impl ContentsBuilder {
    /// An empty zone named `apex`.
    pub fn new(apex: &Name) -> ContentsBuilder {
        let key = SortKey::of(apex);
        ContentsBuilder {
            apex: apex.to_owned(),
            apex_key: key.octets().into(),
            key,
            keys: Vec::with_capacity(KEYS_OCTETS_MIN),
            rdata: Vec::with_capacity(RDATA_OCTETS_MIN),
            runs: Vec::with_capacity(NAMES_MIN),
            records: Vec::with_capacity(RECORDS_MIN),
        }
    }

    /// Makes room for so many records more, of so many owners, with so many octets of keys and RDATA: columns that grow step by step
    /// take up to twice as much, and for a moment thrice. Where there is no memory for it at once they grow all the same.
    pub fn reserve(&mut self, records: usize, owners: usize, key_octets: usize, rdata_octets: usize) {
        let _ = self.records.try_reserve_exact(records);
        let _ = self.runs.try_reserve_exact(owners);
        let _ = self.keys.try_reserve_exact(key_octets);
        let _ = self.rdata.try_reserve_exact(rdata_octets);
    }

    /// Adds a record. `same_owner` promises that `owner` equals that of the record before, which saves
    /// the work on it; `rdata`: uncompressed wire form, at most 65,535 octets.
    pub fn push(
        &mut self,
        owner: &Name,
        same_owner: bool,
        rtype: u16,
        ttl: u32,
        rdata: &[u8],
        position: SourcePosition,
    ) -> Result<(), Refusal> {
        if self.records.len() >= u32::MAX as usize {
            return Err(Refusal::TooMany);
        }
        if !same_owner || self.runs.is_empty() {
            self.key.set(owner);
            let relative = self.key.octets().strip_prefix(&*self.apex_key).ok_or(Refusal::OutOfZone)?;
            start_run(&mut self.runs, &mut self.keys, self.records.len(), relative);
        }
        self.add(rtype, ttl, rdata, position);
        Ok(())
    }

    /// Adds a record whose owner is given by its key relative to the apex: as [`ContentsBuilder::push`], for who has keys already.
    pub fn push_key(
        &mut self,
        relative_key: &[u8],
        same_owner: bool,
        rtype: u16,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), Refusal> {
        if self.records.len() >= u32::MAX as usize {
            return Err(Refusal::TooMany);
        }
        if !same_owner || self.runs.is_empty() {
            start_run(&mut self.runs, &mut self.keys, self.records.len(), relative_key);
        }
        self.add(rtype, ttl, rdata, SourcePosition::default());
        Ok(())
    }

    fn add(&mut self, rtype: u16, ttl: u32, rdata: &[u8], position: SourcePosition) {
        self.records.push(RecordRow {
            rdata_at: self.rdata.len() as u64,
            ttl,
            line: position.line,
            rdata_octets: rdata.len() as u16,
            rtype,
            file: position.file,
        });
        self.rdata.extend_from_slice(rdata);
    }

    /// How many records were taken so far.
    pub fn record_count(&self) -> usize {
        self.records.len()
    }

    /// Sorts, joins records into RRsets, drops duplicates, adds empty non-terminals, classifies names.
    pub fn finish(self) -> Contents {
        let mut contents = order::sort(self);
        classify::classify(&mut contents);
        contents
    }
}

/// Begins a run of records of one owner, unless it is that of the run before.
fn start_run(runs: &mut Vec<Run>, keys: &mut Vec<u8>, records: usize, relative: &[u8]) {
    if let Some(last) = runs.last() {
        let at = last.key_at as usize;
        if keys[at..at + last.key_octets as usize] == *relative {
            return;
        }
    }
    let run =
        Run { key_at: keys.len() as u64, first_record: records as u32, key_octets: relative.len() as u16 };
    runs.push(run);
    keys.extend_from_slice(relative);
}

/// The records of one zone; see the module.
pub struct Contents {
    apex: NameBuf,
    apex_key: Box<[u8]>,
    keys: Vec<u8>,
    rdata: Vec<u8>,
    nodes: Vec<NodeRow>,
    records: Vec<RecordRow>,
    duplicates: Vec<Duplicate>,
    duplicate_count: u64,
}

/// A record that was dropped because the RRset held it already.
#[derive(Clone, Copy, Debug)]
pub struct Duplicate {
    /// The node it belongs to.
    pub node: u32,
    /// Its type.
    pub rtype: u16,
    /// Its TTL as read.
    pub ttl: u32,
    /// The TTL of the record that is kept, as it was before.
    pub kept_ttl: u32,
    /// Where it stood.
    pub position: SourcePosition,
}

/// How many dropped duplicates are kept with their position; more are only counted.
pub const DUPLICATES_KEPT_MAX: usize = 100;

impl Contents {
    /// The name of the zone.
    pub fn apex(&self) -> &Name {
        &self.apex
    }

    /// The key of the apex; a node's full key is this followed by its own.
    pub fn apex_key(&self) -> &[u8] {
        &self.apex_key
    }

    /// How many names, empty non-terminals and NSEC3 owners included. At least 1: the apex.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many records, duplicates dropped.
    pub fn record_count(&self) -> usize {
        self.records.len()
    }

    /// Dropped duplicates, the first [`DUPLICATES_KEPT_MAX`] of them.
    pub fn duplicates(&self) -> &[Duplicate] {
        &self.duplicates
    }

    /// How many duplicates were dropped.
    pub fn duplicate_count(&self) -> u64 {
        self.duplicate_count
    }

    /// Which of the first 256 types the zone has, a bit each. One look at each record.
    pub fn types(&self) -> [u64; 4] {
        let mut types = [0; 4];
        for row in self.records.iter().filter(|row| row.rtype < 256) {
            types[usize::from(row.rtype / 64)] |= 1 << (row.rtype % 64);
        }
        types
    }

    /// Node number `number` in canonical order; 0 is the apex.
    pub fn node(&self, number: usize) -> NodeRef<'_> {
        NodeRef { contents: self, row: &self.nodes[number], number: number as u32 }
    }

    /// All nodes in canonical order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeRef<'_>> + DoubleEndedIterator + Clone {
        (0..self.nodes.len()).map(|number| self.node(number))
    }

    /// The node with this relative key, by binary search.
    pub fn find(&self, relative_key: &[u8]) -> Option<NodeRef<'_>> {
        self.find_in(0..self.nodes.len(), relative_key)
    }

    /// The node with this relative key among those of a range.
    pub(crate) fn find_in(&self, range: std::ops::Range<usize>, relative_key: &[u8]) -> Option<NodeRef<'_>> {
        let nodes = &self.nodes[range.clone()];
        let number = nodes.binary_search_by(|row| self.key(row).cmp(relative_key)).ok()?;
        Some(self.node(range.start + number))
    }

    /// The node named `name`, if it is in the zone.
    pub fn find_name(&self, name: &Name) -> Option<NodeRef<'_>> {
        let key = SortKey::of(name);
        self.find(key.octets().strip_prefix(&*self.apex_key)?)
    }

    fn key(&self, row: &NodeRow) -> &[u8] {
        &self.keys[row.key_at as usize..][..row.key_octets as usize]
    }

    fn record_range(&self, number: usize) -> std::ops::Range<usize> {
        let end = self.nodes.get(number + 1).map_or(self.records.len(), |next| next.first_record as usize);
        self.nodes[number].first_record as usize..end
    }

    fn rdata_of(&self, row: &RecordRow) -> &[u8] {
        &self.rdata[row.rdata_at as usize..][..row.rdata_octets as usize]
    }
}

/// One name of the zone.
#[derive(Clone, Copy)]
pub struct NodeRef<'c> {
    contents: &'c Contents,
    row: &'c NodeRow,
    number: u32,
}

impl<'c> NodeRef<'c> {
    /// Its number in canonical order.
    pub fn number(&self) -> usize {
        self.number as usize
    }

    /// Its key relative to the apex.
    pub fn key(&self) -> &'c [u8] {
        self.contents.key(self.row)
    }

    /// Its name, lower-cased.
    pub fn name(&self) -> NameBuf {
        name_of(&self.contents.apex_key, self.key()).expect("keys in contents were made from names")
    }

    /// What it is.
    pub fn flags(&self) -> Flags {
        self.row.flags
    }

    /// The node one label up; the apex is its own parent.
    pub fn parent(&self) -> NodeRef<'c> {
        self.contents.node(self.row.parent as usize)
    }

    /// The RRsets, by ascending type; signatures are the RRset of type RRSIG, see [`NodeRef::signatures`].
    pub fn rrsets(&self) -> impl Iterator<Item = RRsetRef<'c>> + Clone + use<'c> {
        let contents = self.contents;
        let rows = &contents.records[contents.record_range(self.number as usize)];
        rows.chunk_by(|a, b| a.rtype == b.rtype).map(move |rows| RRsetRef { contents, rows })
    }

    /// The RRset of one type.
    pub fn rrset(&self, rtype: u16) -> Option<RRsetRef<'c>> {
        let rows = &self.contents.records[self.contents.record_range(self.number as usize)];
        // By ascending type: most names have none of the types that few have.
        rows.last().filter(|last| last.rtype >= rtype)?;
        let first = rows.iter().position(|row| row.rtype >= rtype)?;
        let count = rows[first..].iter().take_while(|row| row.rtype == rtype).count();
        (count > 0).then(|| RRsetRef { contents: self.contents, rows: &rows[first..first + count] })
    }

    /// The signatures that cover type `covered`.
    pub fn signatures(&self, covered: u16) -> Option<RRsetRef<'c>> {
        let all = self.rrset(wire::iana::rtype::RRSIG)?;
        // Records are sorted by RDATA, which begins with the covered type in network order.
        let covers = |row: &RecordRow| {
            let rdata = self.contents.rdata_of(row);
            rdata.get(..2).map_or(0, |octets| u16::from_be_bytes([octets[0], octets[1]]))
        };
        let first = all.rows.partition_point(|row| covers(row) < covered);
        let end = all.rows.partition_point(|row| covers(row) <= covered);
        (first < end).then(|| RRsetRef { contents: self.contents, rows: &all.rows[first..end] })
    }
}

/// Records of one name and type, sorted by RDATA as octets, without duplicates.
#[derive(Clone, Copy)]
pub struct RRsetRef<'c> {
    contents: &'c Contents,
    rows: &'c [RecordRow],
}

impl<'c> RRsetRef<'c> {
    /// The type.
    pub fn rtype(&self) -> u16 {
        self.rows[0].rtype
    }

    /// The lowest TTL of the set (RFC 2181 5.2), which is the one served.
    pub fn ttl(&self) -> u32 {
        self.rows.iter().map(|row| served_ttl(row.ttl)).min().unwrap_or(0)
    }

    /// Whether all records have the same TTL, and one that is served as it is.
    pub fn has_one_ttl(&self) -> bool {
        let first = self.rows[0].ttl;
        first <= TTL_MAX && self.rows.iter().all(|row| row.ttl == first)
    }

    /// How many records, at least 1.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Never: an RRset has records.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The records.
    pub fn records(&self) -> impl ExactSizeIterator<Item = RecordRef<'c>> + Clone + use<'c> {
        let contents = self.contents;
        self.rows.iter().map(move |row| RecordRef {
            ttl: row.ttl,
            rdata: contents.rdata_of(row),
            position: SourcePosition { file: row.file, line: row.line },
        })
    }
}

/// Greatest TTL; one with the top bit set counts as zero (RFC 2181 8).
pub const TTL_MAX: u32 = i32::MAX as u32;

/// The TTL that a record is served with which has this one in its text.
#[inline]
pub fn served_ttl(ttl: u32) -> u32 {
    if ttl > TTL_MAX { 0 } else { ttl }
}

/// One record of an RRset.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'c> {
    /// Its TTL as read, see [`served_ttl`]; the set is served with its lowest.
    pub ttl: u32,
    /// Uncompressed RDATA, case as read.
    pub rdata: &'c [u8],
    /// Where it was read.
    pub position: SourcePosition,
}

#[cfg(test)]
mod tests;
