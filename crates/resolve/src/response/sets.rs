//! The RRsets of a message, gathered in one pass.
//!
//! ```text
//! sets     Set: section, type, TTL, owner --> octets,  data: first, last, count --> records, signatures: the same
//! records  Record: place of the RDATA (in the message, or in octets where names were expanded), hash, next of the set
//! octets   owners, RDATA with names expanded
//! ```
//!
//! What is not at or below the zone asked never gets in, nor what is not of class IN, nor meta types. All room is used again.

mod records;

use wire::edns::Edns;
use wire::iana::{class, rtype};
use wire::message::{self, Message};
use wire::name::NAME_OCTETS_MAX;
use wire::render::Section;
use wire::rrset::RdataListBuf;
use wire::{Name, header};

use super::Asked;
use super::limits::{ADDRESS_SETS_MAX, SETS_MAX};
use records::{NONE, Record, Run, hash};

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It cannot be read.
    Malformed,
    /// It has more than the limits say.
    Excess,
}

impl From<message::Error> for Fault {
    fn from(error: message::Error) -> Fault {
        match error {
            message::Error::Work(_) => Fault::Excess,
            _ => Fault::Malformed,
        }
    }
}

/// An RRset of one section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    pub(super) section: Section,
    /// RRSIG where these themselves were asked for.
    pub(super) rtype: u16,
    /// The smallest that one of its records has.
    pub(super) ttl: u32,
    owner: Span,
    data: Run,
    signatures: Run,
    /// The next in its bucket.
    next_alike: u16,
    /// Whether it was put out already.
    is_taken: bool,
}

impl Set {
    /// Whether there are records beside signatures.
    pub(super) fn has_data(&self) -> bool {
        self.data.count > 0
    }

    /// How many records beside signatures.
    pub(super) fn count(&self) -> u16 {
        self.data.count
    }

    /// Whether there are signatures.
    pub(super) fn is_signed(&self) -> bool {
        self.signatures.count > 0
    }
}

/// A name in [`Sets::octets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    at: u32,
    length: u8,
    hash: u32,
}

/// Places that records are looked for in, by their hash: a power of two. Messages of 64 KiB have a few in each.
const BUCKETS: usize = 1024;
/// The same of sets, of which there are at most [`SETS_MAX`] and [`ADDRESS_SETS_MAX`].
const SET_BUCKETS: usize = 256;

/// Records whose places are emptied one by one, for less than all of them take.
const FEW: usize = 64;

/// The RRsets of one message that may be believed, each record found in one look.
pub(super) struct Sets {
    /// What hashes begin with, so that nobody can choose records that fall together.
    key: u64,
    /// The record that was put there last.
    buckets: Box<[u16; BUCKETS]>,
    /// The set that was put there last.
    set_buckets: [u16; SET_BUCKETS],
    sets: Vec<Set>,
    records: Vec<Record>,
    octets: Vec<u8>,
    /// How many of [`Self::sets`] are addresses of the additional section.
    address_sets: usize,
    /// What was seen, and is not of the zone asked.
    pub(super) seen: Seen,
    data: RdataListBuf,
    signatures: RdataListBuf,
}

/// What stands in a message beside what is gathered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Its OPT record.
    pub(super) edns: Option<Edns>,
    /// The upper eight bits of its response code.
    pub(super) rcode_upper: u8,
    /// An NS record in the authority section above the zone asked.
    pub(super) has_upward_ns: bool,
    /// One elsewhere.
    pub(super) has_sideways_ns: bool,
    /// A record in the answer section, whatever it is.
    pub(super) has_answer: bool,
}

/// The owner of the record before: most have the same.
#[derive(Clone, Copy)]
struct Owner {
    /// Where it stands, pointers at the begin followed.
    at: usize,
    /// `None`: not of the zone.
    span: Option<Span>,
    is_above: bool,
}

impl Sets {
    /// Room for sets. `key`: any random number.
    pub(super) fn new(key: u64) -> Sets {
        Sets {
            key,
            buckets: Box::new([NONE; BUCKETS]),
            set_buckets: [NONE; SET_BUCKETS],
            sets: Vec::new(),
            records: Vec::new(),
            octets: Vec::new(),
            address_sets: 0,
            seen: Seen::default(),
            data: RdataListBuf::new(),
            signatures: RdataListBuf::new(),
        }
    }

    /// Reads the records of `message`: those at or below the zone asked, and addresses of the additional section. `asks_signatures`: RRSIG records are
    /// data, as they were asked for.
    pub(super) fn gather(
        &mut self,
        message: &Message<'_>,
        asked: &Asked<'_>,
        asks_signatures: bool,
    ) -> Result<(), Fault> {
        self.clear();
        let mut before: Option<Owner> = None;
        for record in message.records()? {
            let record = record?;
            let view = record.view;
            if view.rtype == rtype::OPT {
                self.opt(message, &record)?;
                continue;
            }
            self.seen.has_answer |= record.section == Section::Answer;
            let is_unwanted = record.section == Section::Additional
                && (!matches!(view.rtype, rtype::A | rtype::AAAA) || !self.wants_addresses(message, asked));
            if view.class != class::IN || rtype::is_meta(view.rtype) || is_unwanted {
                continue;
            }
            let at = begin_of_name(message.octets(), view.owner);
            let owner = match before {
                Some(owner) if owner.at == at => owner,
                _ => self.owner(&record, at, asked)?,
            };
            before = Some(owner);
            let Some(span) = owner.span else {
                if view.rtype == rtype::NS && record.section == Section::Authority {
                    self.seen.has_upward_ns |= owner.is_above;
                    self.seen.has_sideways_ns |= !owner.is_above;
                }
                continue;
            };
            self.record(message.octets(), &record, span, asks_signatures)?;
        }
        Ok(())
    }

    /// Whether addresses of the additional section can be of use: beside an authoritative answer only those of the root's servers are.
    fn wants_addresses(&self, message: &Message<'_>, asked: &Asked<'_>) -> bool {
        let is_answer = self.seen.has_answer && message.flags() & header::AA != 0;
        !is_answer || asked.qtype == rtype::NS && asked.qname.is_root()
    }

    fn clear(&mut self) {
        // Of most messages only a few places were written to.
        if self.records.len() < FEW {
            for record in &self.records {
                self.buckets[record.bucket()] = NONE;
            }
            for set in &self.sets {
                self.set_buckets[set_bucket(set.owner, set.rtype)] = NONE;
            }
        } else {
            self.buckets.fill(NONE);
            self.set_buckets.fill(NONE);
        }
        self.sets.clear();
        self.records.clear();
        self.octets.clear();
        self.address_sets = 0;
        self.seen = Seen::default();
    }

    /// Reads the OPT record: the only one, at the root, its options whole (RFC 6891 6.1.1).
    fn opt(&mut self, message: &Message<'_>, record: &message::Record<'_, '_>) -> Result<(), Fault> {
        let (edns, is_whole) = Edns::read(message.octets(), &record.view);
        let is_root = message.octets().get(record.view.owner) == Some(&0);
        if self.seen.edns.is_some() || !is_whole || !is_root || record.section != Section::Additional {
            return Err(Fault::Malformed);
        }
        self.seen.edns = Some(edns);
        self.seen.rcode_upper = (record.view.ttl >> 24) as u8;
        Ok(())
    }

    /// Copies the owner of a record, unless it is not of the zone.
    fn owner(
        &mut self,
        record: &message::Record<'_, '_>,
        at: usize,
        asked: &Asked<'_>,
    ) -> Result<Owner, Fault> {
        let mut room = [0; NAME_OCTETS_MAX];
        let name = record.owner_name(&mut room)?;
        if !name.is_at_or_below(asked.zone) {
            return Ok(Owner { at, span: None, is_above: asked.zone.is_at_or_below(name) });
        }
        let (start, length) = (self.octets.len() as u32, name.octets().len());
        // The case that we have sent QNAME in is nobody's.
        let is_qname = name.eq_ignore_case(asked.qname);
        self.octets.extend_from_slice(name.octets());
        room.make_ascii_lowercase();
        if is_qname {
            self.octets[start as usize..].copy_from_slice(&room[..length]);
        }
        let span = Span { at: start, length: length as u8, hash: hash(self.key, &room[..length]) };
        Ok(Owner { at, span: Some(span), is_above: false })
    }

    /// Puts a record into its set.
    fn record(
        &mut self,
        message: &[u8],
        record: &message::Record<'_, '_>,
        owner: Span,
        asks_signatures: bool,
    ) -> Result<(), Fault> {
        let view = record.view;
        let is_data = asks_signatures && record.section == Section::Answer;
        let is_signature = view.rtype == rtype::RRSIG && !is_data;
        let rtype = match (is_signature, view.rdata) {
            (false, _) => view.rtype,
            (true, &[high, low, ..]) => u16::from_be_bytes([high, low]),
            (true, _) => return Err(Fault::Malformed),
        };
        let Some(number) = self.set(record.section, owner, rtype)? else { return Ok(()) };
        let place = self.rdata(record)?;
        let set = &mut self.sets[number];
        set.ttl = set.ttl.min(ttl(view.ttl));
        self.append(message, number, is_signature, place)
    }

    /// The number of the set, a new one where there was none. `None`: addresses beyond the limit.
    fn set(&mut self, section: Section, owner: Span, rtype: u16) -> Result<Option<usize>, Fault> {
        let bucket = set_bucket(owner, rtype);
        let mut at = self.set_buckets[bucket];
        while let Some(set) = self.sets.get(usize::from(at)) {
            let is_alike = set.rtype == rtype && set.section == section;
            if is_alike && (set.owner == owner || self.is_same(set.owner, owner)) {
                return Ok(Some(usize::from(at)));
            }
            at = set.next_alike;
        }
        if section == Section::Additional {
            if self.address_sets == ADDRESS_SETS_MAX {
                return Ok(None);
            }
            self.address_sets += 1;
        } else if self.sets.len() - self.address_sets == SETS_MAX {
            return Err(Fault::Excess);
        }
        let new = self.sets.len();
        let next_alike = std::mem::replace(&mut self.set_buckets[bucket], new as u16);
        let (data, signatures) = (Run::EMPTY, Run::EMPTY);
        self.sets.push(Set {
            section,
            rtype,
            ttl: u32::MAX,
            owner,
            data,
            signatures,
            next_alike,
            is_taken: false,
        });
        Ok(Some(new))
    }

    fn is_same(&self, one: Span, other: Span) -> bool {
        one.hash == other.hash && self.span(one).eq_ignore_case(self.span(other))
    }

    fn span(&self, span: Span) -> &Name {
        Name::trusted(&self.octets[span.at as usize..][..usize::from(span.length)])
    }

    /// The numbers of the sets of a section that have data.
    pub(super) fn of(&self, section: Section) -> impl Iterator<Item = usize> + '_ {
        (0..self.sets.len()).filter(move |number| {
            let set = &self.sets[*number];
            set.section == section && set.has_data()
        })
    }

    /// The set of `owner` and `rtype` in `section`, if it has data.
    pub(super) fn find(&self, section: Section, owner: &Name, rtype: u16) -> Option<usize> {
        self.of(section)
            .find(|number| self.sets[*number].rtype == rtype && self.owner_of(*number).eq_ignore_case(owner))
    }

    /// How many sets there are, those without data included.
    pub(super) fn count(&self) -> usize {
        self.sets.len()
    }

    /// A set.
    pub(super) fn set_at(&self, number: usize) -> &Set {
        &self.sets[number]
    }

    /// Its owner, as it came.
    pub(super) fn owner_of(&self, number: usize) -> &Name {
        self.span(self.sets[number].owner)
    }
}

/// The place of a set.
fn set_bucket(owner: Span, rtype: u16) -> usize {
    (owner.hash ^ u32::from(rtype).wrapping_mul(0x9e37_79b1)) as usize % SET_BUCKETS
}

/// A TTL as it is meant: 31 bits, and nothing where the upper one is set (RFC 2181 8).
pub(super) fn ttl(field: u32) -> u32 {
    if field > i32::MAX as u32 { 0 } else { field }
}

/// Where the labels of the name at `at` begin: most owners are a pointer to where the name stood first.
fn begin_of_name(message: &[u8], at: usize) -> usize {
    match message.get(at..at + 2) {
        Some(&[high @ 0xc0..=0xff, low]) => usize::from(u16::from_be_bytes([high & 0x3f, low])),
        _ => at,
    }
}
