//! Builds packs: zones in, one after the other, each written front to back.
//!
//! ```text
//! Contents --names--> blocks, directory, shapes   --hashes--> index (at the end, when all are known)
//!     `-----RRsets--> fragments and glue lists --> pool (each different one once)
//! ```
//!
//! What a query would have to search for is found here: glue of each cut, the NSEC3 record of each name, the names with
//! NSEC records.

mod copy;
mod denial;
mod glue;
mod known;
mod merge;
mod pool;
pub(crate) mod rrset;

use crate::block::{self, DIRECTORY_ROW_OCTETS, NAMES_MAX};
use crate::contents::{Contents, Flags, NodeRef};
use crate::delta::OWN_NUMBERS;
use crate::index::{self, Hash};
use crate::lookup::key_prefix;
use crate::pack::{Backing, NSEC_ROW_OCTETS, ZoneRow};
use crate::section::{self, HEADER_OCTETS, Header, SECTION_ALIGNMENT, Section};
use crate::shape::{self, ROW_OCTETS, Row};
use pool::Pool;
use std::collections::HashMap;
use wire::iana::rtype;
use wire::sort_key::KEY_OCTETS_MAX;
use wire::{Name, NameBuf};

/// Packs of more octets than this live in pages of their own, which the system can join to large ones.
const ANONYMOUS_OCTETS_MIN: usize = 1 << 20;

/// Whether a time is before another, both in seconds modulo 2^32 (RFC 1982).
pub(crate) fn is_before(time: u32, other: u32) -> bool {
    (time.wrapping_sub(other) as i32) < 0
}

/// Which text a zone was made from, and what was found in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextStamp {
    /// A number that the text's file does not have any more once it changes: the zone is current as long as it is the same. 0: unknown.
    pub mark: u64,
    /// Errors found, saturating.
    pub errors: u16,
    /// Warnings found, saturating.
    pub warnings: u16,
    /// Whether the zone has changed since that text was read: [`ZoneRow::BESIDE_TEXT`].
    pub is_beside: bool,
}

/// Why a zone does not fit into a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An RRset with its signatures fits no message (RFC 1035 4.2.2: 65,535 octets).
    RRsetTooLarge {
        /// Owner of the RRset.
        owner: NameBuf,
        /// Its type.
        rtype: u16,
    },
    /// The zone has no SOA record at its apex, or one too short: nothing could be answered.
    NoSoa,
    /// An NSEC3PARAM record whose iterations pass the bound (RFC 9276 3.2), or of an unknown algorithm.
    Nsec3Parameters,
    /// A name has more types than a block has room for.
    TooManyTypes {
        /// The name.
        owner: NameBuf,
    },
    /// The pack would pass the reach of its references (16 GiB of names or of data, 2^31 names).
    PackFull,
    /// The pack that the zone is copied from is not sound.
    Damaged,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::RRsetTooLarge { owner, rtype } => {
                match rtype::mnemonic(*rtype) {
                    Some(mnemonic) => write!(f, "RRset {owner} {mnemonic}")?,
                    None => write!(f, "RRset {owner} TYPE{rtype}")?,
                }
                f.write_str(": more than 65,535 octets with its signatures, fits no message")
            }
            Problem::NoSoa => f.write_str("no SOA record at the apex"),
            Problem::Nsec3Parameters => {
                f.write_str("NSEC3 chain of unknown algorithm or of too many iterations")
            }
            Problem::TooManyTypes { owner } => {
                write!(f, "{owner}: too many types at one name, about {} fit", REFERENCES_OCTETS_MAX / 4)
            }
            Problem::PackFull => f.write_str("zone too large for one pack"),
            Problem::Damaged => f.write_str("damaged in the pack that it is in"),
        }
    }
}

/// Most octets of the references of one name: 16 names of this size with the longest keys have ends of 16 bits.
pub(crate) const REFERENCES_OCTETS_MAX: usize = 3500;
const _: () = assert!(NAMES_MAX * (REFERENCES_OCTETS_MAX + KEY_OCTETS_MAX + 4) <= u16::MAX as usize);

/// Builds one pack.
pub struct PackBuilder {
    seed: u64,
    zones: Vec<u8>,
    zone_count: u32,
    directory: Vec<u8>,
    blocks: Vec<u8>,
    block: block::Builder,
    shapes: Shapes,
    pool: Pool,
    nsec: Vec<u8>,
    nsec3: Vec<u8>,
    /// Hashes of name servers of cuts, in any order.
    servers: Vec<u32>,
    /// Those of the zones that are entered: each once a zone.
    servers_entered: usize,
    /// Hash of every name, zone after zone.
    hashes: Vec<Hash>,
    /// For each zone: the number of its first name, and how many it has.
    numbers: Vec<(u32, u32)>,
    moved: copy::Moved,
    room: Room,
}

/// Buffers of the work on one zone, used again for the next: a pack can have a million.
#[derive(Default)]
struct Room {
    path: Vec<(Hash, usize)>,
    rows: Vec<Row>,
    references: Vec<u8>,
    encoded: Vec<u8>,
    rrset: rrset::Room,
}

/// How long the parts of a pack were before a zone.
struct Mark {
    hashes: usize,
    directory: usize,
    blocks: usize,
    nsec: usize,
    nsec3: usize,
    servers: usize,
}

impl PackBuilder {
    /// An empty pack. `seed`: of the index, random so that nobody can choose names that crowd it.
    pub fn new(seed: u64) -> PackBuilder {
        PackBuilder {
            seed,
            zones: Vec::new(),
            zone_count: 0,
            directory: Vec::new(),
            blocks: Vec::new(),
            block: block::Builder::default(),
            shapes: Shapes::default(),
            pool: Pool::new(seed),
            nsec: Vec::new(),
            nsec3: Vec::new(),
            servers: Vec::new(),
            servers_entered: 0,
            hashes: Vec::new(),
            numbers: Vec::new(),
            moved: copy::Moved::default(),
            room: Room::default(),
        }
    }

    /// How many zones were added.
    pub fn zone_count(&self) -> u32 {
        self.zone_count
    }

    /// Adds a zone; its number in the pack is the count before. When there are problems, all are returned
    /// (at most [`PROBLEMS_MAX`]) and the pack is as before, apart from data that nothing refers to.
    pub fn add_zone(&mut self, contents: &Contents, stamp: TextStamp) -> Result<(), Vec<Problem>> {
        let before = self.mark();
        let mut zone = ZoneBuild::new(contents, self.seed, std::mem::take(&mut self.room));
        zone.run(self);
        let result = if zone.problems.is_empty() {
            let row = zone.row(self, stamp);
            self.enter(&row);
            Ok(())
        } else {
            self.back_to(&before);
            Err(std::mem::take(&mut zone.problems))
        };
        self.room = zone.into_room();
        result
    }

    fn mark(&self) -> Mark {
        Mark {
            hashes: self.hashes.len(),
            directory: self.directory.len(),
            blocks: self.blocks.len(),
            nsec: self.nsec.len(),
            nsec3: self.nsec3.len(),
            servers: self.servers.len(),
        }
    }

    /// Takes back what was added of a zone that does not fit.
    fn back_to(&mut self, mark: &Mark) {
        self.hashes.truncate(mark.hashes);
        self.directory.truncate(mark.directory);
        self.blocks.truncate(mark.blocks);
        self.nsec.truncate(mark.nsec);
        self.nsec3.truncate(mark.nsec3);
        self.servers.truncate(mark.servers);
        self.block.clear();
    }

    /// Enters the row of a zone, all else of which is there.
    fn enter(&mut self, row: &ZoneRow) {
        self.zones.extend_from_slice(&row.encode());
        self.numbers.push((row.first_block * NAMES_MAX as u32, row.node_count));
        self.zone_count += 1;
        let mut own = self.servers.split_off(self.servers_entered);
        own.sort_unstable();
        own.dedup();
        self.servers.append(&mut own);
        self.servers_entered = self.servers.len();
    }

    /// Whether references have run out of their 32 bits, or shapes of their numbers.
    fn is_full(&self) -> bool {
        self.blocks.len() > u32::MAX as usize * block::BLOCK_ALIGNMENT
            || self.shapes.offsets.len() > block::VARINT_MAX
            || self.shapes.octets.len() > u32::MAX as usize
            || self.pool.is_full()
    }

    /// Octets that the pack would have if it were finished now, but for the fill between its sections.
    pub fn octets(&self) -> usize {
        let index = self.hashes.len().div_ceil(index::LOAD as usize) * index::BUCKET_OCTETS;
        let names = self.directory.len()
            + self.blocks.len()
            + self.nsec.len()
            + self.nsec3.len()
            + 4 * self.servers.len();
        let shapes = self.shapes.octets.len() + 4 * self.shapes.offsets.len();
        HEADER_OCTETS + self.zones.len() + index + names + shapes + self.pool.len()
    }

    /// Builds the index and puts the sections together. The only failure is an index in which some name found
    /// no place, which another seed mends.
    pub fn finish(self) -> Result<Backing, index::Crowded> {
        let mut index = index::Builder::new(self.hashes.len());
        let mut hashes = self.hashes.iter();
        let mut names = Vec::with_capacity(index::INSERT_TOGETHER);
        for (first, count) in self.numbers {
            for number in first..first + count {
                names.extend(hashes.next().map(|hash| (*hash, number)));
                if names.len() == index::INSERT_TOGETHER {
                    index.insert_all(&names)?;
                    names.clear();
                }
            }
        }
        index.insert_all(&names)?;
        drop(self.hashes);
        let mut offsets = Vec::with_capacity(4 * self.shapes.offsets.len());
        self.shapes.offsets.iter().for_each(|offset| offsets.extend_from_slice(&offset.to_le_bytes()));
        let mut servers = self.servers;
        servers.sort_unstable();
        servers.dedup();
        let sections: [Vec<u8>; Section::COUNT] = [
            self.zones,
            index.finish(),
            self.directory,
            self.blocks,
            offsets,
            self.shapes.octets,
            self.pool.finish(),
            self.nsec,
            self.nsec3,
            servers.iter().flat_map(|hash| hash.to_le_bytes()).collect(),
        ];
        Ok(assemble(self.seed, sections))
    }
}

/// Whether names of so many more blocks would have numbers that are those of a delta.
fn is_full(first_block: u32, blocks: usize) -> bool {
    u64::from(first_block) + blocks as u64 >= u64::from(OWN_NUMBERS) / NAMES_MAX as u64
}

/// How many problems of one zone are reported.
pub const PROBLEMS_MAX: usize = 100;

/// Lays the sections out behind the header.
fn assemble(seed: u64, sections: [Vec<u8>; Section::COUNT]) -> Backing {
    let mut at = HEADER_OCTETS.next_multiple_of(SECTION_ALIGNMENT);
    let places = sections.each_ref().map(|section| {
        let range = at..at + section.len();
        at = range.end.next_multiple_of(SECTION_ALIGNMENT);
        (range, section::checksum(section))
    });
    let header = Header { seed, octets: at as u64, sections: places };
    let fill = |out: &mut [u8]| {
        out[..HEADER_OCTETS].copy_from_slice(&section::encode_header(&header));
        for (section, (range, _)) in sections.into_iter().zip(&header.sections) {
            out[range.clone()].copy_from_slice(&section);
        }
    };
    if at >= ANONYMOUS_OCTETS_MIN
        && let Ok(mut map) = memmap2::MmapMut::map_anon(at)
    {
        // Lookups touch pages at random: large ones spare most of the address translation. Systems that know none
        // refuse, which changes nothing.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        fill(&mut map);
        return Backing::Anonymous(map);
    }
    let mut octets = vec![0; at];
    fill(&mut octets);
    Backing::Memory(octets)
}

/// The different shapes of a pack.
#[derive(Default)]
struct Shapes {
    octets: Vec<u8>,
    offsets: Vec<u32>,
    numbers: HashMap<Vec<u8>, u32>,
    last: u32,
}

impl Shapes {
    /// The number of a shape, new or known.
    fn number(&mut self, encoded: &[u8]) -> usize {
        // Neighbours mostly have the same shape.
        if let Some(&offset) = self.offsets.get(self.last as usize)
            && self.octets[offset as usize..].starts_with(encoded)
        {
            return self.last as usize;
        }
        self.last = match self.numbers.get(encoded) {
            Some(&number) => number,
            None => {
                let number = self.offsets.len() as u32;
                self.offsets.push(self.octets.len() as u32);
                self.octets.extend_from_slice(encoded);
                self.numbers.insert(encoded.to_vec(), number);
                number
            }
        };
        self.last as usize
    }
}

/// The work on one zone.
struct ZoneBuild<'c> {
    contents: &'c Contents,
    problems: Vec<Problem>,
    names: glue::NameTable,
    known: known::Known,
    secret: [u64; 2],
    /// Place of the glue list of the present name.
    glue: Option<u32>,
    denial: denial::Denial,
    first_block: u32,
    node_count: u32,
    first_nsec: u32,
    has_nsec: bool,
    /// There are signatures.
    is_signed: bool,
    /// The SOA record has one: without, as in a zone whose signatures were left out, nothing is proved to anybody.
    is_secure: bool,
    /// See [`ZoneRow::first_expiry`].
    first_expiry: u32,
    /// Hash of each name on the way from the apex to the present one, and the length of its key.
    path: Vec<(Hash, usize)>,
    rows: Vec<Row>,
    references: Vec<u8>,
    encoded: Vec<u8>,
    rrset: rrset::Encoder<'c>,
}

impl<'c> ZoneBuild<'c> {
    fn new(contents: &'c Contents, seed: u64, room: Room) -> ZoneBuild<'c> {
        let Room { mut path, rows, references, encoded, rrset } = room;
        path.clear();
        ZoneBuild {
            contents,
            problems: Vec::new(),
            names: glue::NameTable::new(contents),
            known: known::Known::new(),
            secret: [seed, section::fold_multiply(seed, 0x1656_67b1_9e37_79f9)],
            glue: None,
            denial: denial::Denial::default(),
            first_block: 0,
            node_count: 0,
            first_nsec: 0,
            has_nsec: false,
            is_signed: false,
            is_secure: contents.node(0).signatures(rtype::SOA).is_some(),
            first_expiry: 0,
            path,
            rows,
            references,
            encoded,
            rrset: rrset::Encoder::new(contents.apex(), rrset),
        }
    }

    fn into_room(self) -> Room {
        let ZoneBuild { path, rows, references, encoded, rrset, .. } = self;
        Room { path, rows, references, encoded, rrset: rrset.into_room() }
    }

    fn problem(&mut self, problem: Problem) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    fn run(&mut self, pack: &mut PackBuilder) {
        self.first_block = (pack.directory.len() / DIRECTORY_ROW_OCTETS) as u32;
        self.first_nsec = (pack.nsec.len() / NSEC_ROW_OCTETS) as u32;
        let names = self.contents.node_count();
        let full = is_full(self.first_block, names / NAMES_MAX + 1);
        if full || self.contents.node(0).rrset(rtype::SOA).is_none_or(|soa| soa_numbers(soa).is_none()) {
            return self.problem(if full { Problem::PackFull } else { Problem::NoSoa });
        }
        match denial::Denial::collect(self.contents) {
            Ok(denial) => self.denial = denial,
            Err(problem) if self.is_secure => return self.problem(problem),
            // What proves nothing can be left alone.
            Err(_) => {}
        }
        self.denial_rows(pack);
        let apex = Hash::of_apex(pack.seed, pack.zone_count);
        for node in self.contents.nodes() {
            if node.flags().has(Flags::NSEC3) && self.denial.has(node.number()) {
                continue;
            }
            self.hash(pack, apex, node);
            self.name(pack, node);
        }
        self.close_block(pack);
        if pack.is_full() {
            self.problem(Problem::PackFull);
        }
    }

    /// Enters the hash of the next name, going on from that of its parent.
    fn hash(&mut self, pack: &mut PackBuilder, apex: Hash, node: NodeRef<'c>) {
        let key = node.key();
        let from = node.parent().key().len();
        while self.path.last().is_some_and(|&(_, length)| length > from) {
            self.path.pop();
        }
        let hash = match self.path.last() {
            Some(&(parent, _)) => parent.extend(key, from, key.len()),
            None => apex,
        };
        self.path.push((hash, key.len()));
        pack.hashes.push(hash);
    }

    /// Enters one name: RRsets to the pool, what refers to them to the block.
    fn name(&mut self, pack: &mut PackBuilder, node: NodeRef<'c>) {
        self.rows.clear();
        self.references.clear();
        let mut flags = node.flags();
        if self.is_secure
            && let Some(rank) = self.denial.rank(node)
        {
            flags.set(Flags::HASHED);
            self.references.extend_from_slice(&rank.to_le_bytes());
        }
        let fixed = self.references.len();
        self.rrset.start_owner(node);
        for set in node.rrsets() {
            self.rrset(pack, node, set);
        }
        if let Some(place) = self.glue.take() {
            flags.set(Flags::GLUE);
            self.references.splice(fixed..fixed, place.to_le_bytes());
        }
        let number = self.first_block * NAMES_MAX as u32 + self.node_count;
        let may_be_nsec = self.is_secure && !flags.has(Flags::OCCLUDED);
        let is_nsec = may_be_nsec && self.rows.iter().any(|row| row.rtype() == rtype::NSEC);
        if is_nsec {
            flags.set(Flags::NSEC);
            self.has_nsec = true;
        }
        if self.references.len() > REFERENCES_OCTETS_MAX {
            return self.problem(Problem::TooManyTypes { owner: node.name() });
        }
        self.encoded.clear();
        shape::encode(flags, self.references.len(), &self.rows, &mut self.encoded);
        debug_assert_eq!(self.encoded.len(), ROW_OCTETS * (1 + self.rows.len()));
        if pack.block.is_empty() {
            self.open_block(pack, node.key());
        }
        let shape = pack.shapes.number(&self.encoded);
        self.node_count += 1;
        if pack.block.push(node.key(), shape, &self.references) {
            self.close_block(pack);
        }
        // A chain of NSEC3 goes before.
        if is_nsec && self.denial.is_empty() {
            pack.nsec.extend_from_slice(&key_prefix(node.key()).to_le_bytes());
            pack.nsec.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn open_block(&mut self, pack: &mut PackBuilder, key: &[u8]) {
        let at = pack.blocks.len().div_ceil(block::BLOCK_ALIGNMENT);
        self.encoded_row(pack, key, at as u32);
    }

    fn encoded_row(&mut self, pack: &mut PackBuilder, key: &[u8], at: u32) {
        pack.directory.extend_from_slice(&key_prefix(key).to_le_bytes());
        pack.directory.extend_from_slice(&at.to_le_bytes());
    }

    fn close_block(&mut self, pack: &mut PackBuilder) {
        if !pack.block.is_empty() {
            pack.block.finish(&mut pack.blocks);
        }
    }

    /// Notes that an RRset has signatures, and whether it is the first to lose the last of them (RFC 4034 3.1.5: octets 8 to 11 of the RDATA).
    /// One that expires beside another that does not is merely left over.
    fn note_signatures(&mut self, signatures: crate::contents::RRsetRef<'_>) {
        self.is_signed = true;
        let mut last = None;
        for record in signatures.records() {
            let Some(&[a, b, c, d]) = record.rdata.get(8..12) else { continue };
            // 0 stands for none: one second later is near enough.
            let expiry = u32::from_be_bytes([a, b, c, d]).max(1);
            last = Some(last.filter(|last| is_before(expiry, *last)).unwrap_or(expiry));
        }
        if let Some(last) = last.filter(|last| self.first_expiry == 0 || is_before(*last, self.first_expiry))
        {
            self.first_expiry = last;
        }
    }

    /// The zone's row.
    fn row(&self, pack: &mut PackBuilder, stamp: TextStamp) -> ZoneRow {
        let soa = self.contents.node(0).rrset(rtype::SOA);
        let (serial, negative_ttl) = soa.and_then(soa_numbers).unwrap_or((0, 0));
        let blocks = (pack.directory.len() / DIRECTORY_ROW_OCTETS) as u32 - self.first_block;
        let nsec_count = (pack.nsec.len() / NSEC_ROW_OCTETS) as u32 - self.first_nsec;
        let bit = |bit: u32, is_set: bool| if is_set { bit } else { 0 };
        let bits = bit(ZoneRow::NSEC, self.has_nsec)
            | bit(ZoneRow::NSEC3, !self.denial.is_empty())
            | bit(ZoneRow::NSEC3_PROVES, !self.denial.is_empty() && self.is_secure)
            | bit(ZoneRow::BESIDE_TEXT, stamp.is_beside)
            | bit(ZoneRow::SIGNED, self.is_signed);
        ZoneRow {
            apex: apex_place(pack, self.contents),
            first_block: self.first_block,
            block_count: blocks,
            node_count: self.node_count,
            denial_first: if self.denial.is_empty() { self.first_nsec } else { self.denial.first_row() },
            denial_count: if self.denial.is_empty() { nsec_count } else { self.denial.len() },
            nsec3_parameters: self.denial.parameters(&mut pack.pool),
            bits,
            serial,
            record_count: self.contents.record_count() as u64,
            negative_ttl,
            text_mark: stamp.mark,
            // Of what proves nothing nothing expires.
            first_expiry: if self.is_secure { self.first_expiry } else { 0 },
            errors: stamp.errors,
            warnings: stamp.warnings,
        }
    }
}

/// Stores the apex's name as [`crate::Pack::apex`] reads it.
fn apex_place(pack: &mut PackBuilder, contents: &Contents) -> u32 {
    let (wire, key) = (contents.apex().octets(), contents.apex_key());
    let mut octets = Vec::with_capacity(3 + wire.len() + key.len());
    octets.push(wire.len() as u8);
    octets.extend_from_slice(wire);
    octets[1..].make_ascii_lowercase();
    octets.extend_from_slice(&(key.len() as u16).to_le_bytes());
    octets.extend_from_slice(key);
    pack.pool.place_of(&octets)
}

/// Serial, and the TTL of negative answers: the lower of the record's own and its MINIMUM (RFC 2308 5).
fn soa_numbers(soa: crate::contents::RRsetRef<'_>) -> Option<(u32, u32)> {
    soa_numbers_of(soa.ttl(), soa.records().next()?.rdata)
}

/// The same of the TTL and the RDATA.
pub(crate) fn soa_numbers_of(ttl: u32, rdata: &[u8]) -> Option<(u32, u32)> {
    let (_, rest) = Name::split_from(rdata).ok()?;
    let (_, rest) = Name::split_from(rest).ok()?;
    let (words, []) = rest.as_chunks::<4>() else { return None };
    let [serial, _, _, _, minimum] = words else { return None };
    Some((u32::from_be_bytes(*serial), ttl.min(u32::from_be_bytes(*minimum))))
}

#[cfg(test)]
mod tests;
