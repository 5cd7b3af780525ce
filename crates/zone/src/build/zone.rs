//! The work on one zone: its names into blocks, its RRsets into the pool, and its row.

use super::problem::{PROBLEMS_MAX, Problem, REFERENCES_OCTETS_MAX};
use super::{PackBuilder, Room, TextStamp, denial, glue, known, rrset};
use crate::block::{DIRECTORY_ROW_OCTETS, NAMES_MAX};
use crate::contents::{Contents, Flags, NodeRef};
use crate::delta::OWN_NUMBERS;
use crate::index::Hash;
use crate::pack::{NSEC_ROW_OCTETS, ZoneRow};
use crate::section;
use crate::shape::{self, ROW_OCTETS, Row};
use wire::Name;
use wire::iana::rtype;

/// Whether a time is before another, both in seconds modulo 2^32 (RFC 1982).
pub(crate) fn is_before(time: u32, other: u32) -> bool {
    (time.wrapping_sub(other) as i32) < 0
}

/// Whether names of so many more blocks would have numbers that are those of a delta. Before a zone is entered it is known how many it has at the least.
pub(super) fn is_full(first_block: u32, blocks: usize) -> bool {
    u64::from(first_block) + blocks as u64 >= u64::from(OWN_NUMBERS) / NAMES_MAX as u64
}

/// The work on one zone.
pub(super) struct ZoneBuild<'c> {
    pub(super) contents: &'c Contents,
    pub(super) problems: Vec<Problem>,
    pub(super) names: glue::NameTable,
    pub(super) known: known::Known,
    pub(super) secret: [u64; 2],
    /// Place of the glue list of the present name.
    pub(super) glue: Option<u32>,
    pub(super) denial: denial::Denial,
    pub(super) first_block: u32,
    pub(super) node_count: u32,
    pub(super) first_nsec: u32,
    pub(super) has_nsec: bool,
    /// There are signatures.
    pub(super) is_signed: bool,
    /// The SOA record has one: without, as in a zone whose signatures were left out, nothing is proved to anybody.
    pub(super) is_secure: bool,
    /// See [`ZoneRow::first_expiry`].
    pub(super) first_expiry: u32,
    /// Hash of each name on the way from the apex to the present one, and the length of its key.
    pub(super) path: Vec<(Hash, usize)>,
    pub(super) rows: Vec<Row>,
    pub(super) references: Vec<u8>,
    pub(super) encoded: Vec<u8>,
    pub(super) rrset: rrset::Encoder<'c>,
}

impl<'c> ZoneBuild<'c> {
    pub(super) fn new(contents: &'c Contents, seed: u64, room: Room) -> ZoneBuild<'c> {
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

    pub(super) fn into_room(self) -> Room {
        let ZoneBuild { path, rows, references, encoded, rrset, .. } = self;
        Room { path, rows, references, encoded, rrset: rrset.into_room() }
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    pub(super) fn run(&mut self, pack: &mut PackBuilder) {
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
        pack.end_blocks();
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
        let shape = pack.shapes.number(&self.encoded);
        // A chain of NSEC3 goes before.
        pack.enter_name(node.key(), shape, &self.references, is_nsec && self.denial.is_empty());
        self.node_count += 1;
    }

    /// Notes that an RRset has signatures, and whether it is the first to lose the last of them (RFC 4034 3.1.5: octets 8 to 11 of the RDATA).
    /// One that expires beside another that does not is merely left over.
    pub(super) fn note_signatures(&mut self, signatures: crate::contents::RRsetRef<'_>) {
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
    pub(super) fn row(&self, pack: &mut PackBuilder, stamp: TextStamp) -> ZoneRow {
        let soa = self.contents.node(0).rrset(rtype::SOA);
        let (serial, negative_ttl) = soa.and_then(soa_numbers).unwrap_or((0, 0));
        let blocks = (pack.directory.len() / DIRECTORY_ROW_OCTETS) as u32 - self.first_block;
        let nsec_count = (pack.nsec.len() / NSEC_ROW_OCTETS) as u32 - self.first_nsec;
        let bit = |bit: u32, is_set: bool| if is_set { bit } else { 0 };
        let bits = bit(ZoneRow::NSEC, self.has_nsec)
            | bit(ZoneRow::NSEC3, !self.denial.is_empty())
            | bit(ZoneRow::NSEC3_PROVES, !self.denial.is_empty() && self.is_secure)
            | bit(ZoneRow::BESIDE_TEXT, stamp.is_beside)
            | bit(ZoneRow::DIGESTED, stamp.is_digested)
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
