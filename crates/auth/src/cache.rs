//! Answers that a worker gave before, kept as octets: most queries of a zone get one of few answers.
//!
//! Kept is what stands between the question and OPT, for answers that do not depend on more than a few numbers:
//!
//! | answer | depends on |
//! |---|---|
//! | referral | zone cut, DO |
//! | name error, with NSEC or without proof | closest encloser, covering NSEC record, DO |
//! | data with additional data | name, type, DO |
//! | referral, name error | upper labels of the name, as many as the walk looked at, DO |
//!
//! The last is what spares the walk: `www.example.com` and `x.y.com` get the same from the root.
//!
//! All names of such an answer end in the octets of the cut, the encloser or the name, its *anchor*, or in others of
//! the answer. From the anchor to the end of the question is always the same distance, so in another message all
//! targets of compression pointers are shifted by one and the same number:
//!
//! ```text
//! 12              anchor    question's end
//! | w w w . e x . | c o m . | type class | records with pointers to the anchor and among themselves
//!           | ... | c o m . | type class | the same records, each pointer + shift
//! ```
//!
//! Direct-mapped: one slot for each hash. An answer is kept when it is given a second time in a row for its slot, so that
//! queries that never repeat cost next to nothing. Everything is forgotten when the catalog or the facts change.

use crate::server::Server;
use wire::header::{HEADER_OCTETS, u16_at};
use wire::iana::rtype;
use wire::record::RecordView;
use wire::render::{POINTER_MAX, Renderer};
use wire::{Key, Places};

/// How many answers are kept: with 1.3 KiB each, a few MiB, most of it never touched between
/// two queries; the root zone has some 6,000 different answers. Memory that is never written is never taken.
const SLOTS: usize = 2048;
/// Most octets of an answer: UDP's 1,232 less header, the shortest question and OPT.
const OCTETS_MAX: usize = 1200;
/// Most pointers of an answer: a referral to 13 servers with two addresses each has 13 owners, 13 names and 26 addresses.
const POINTERS_MAX: usize = 64;

/// What an answer depends on.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheKey {
    /// Address of the zone's apex in its pack: tells zones apart as long as the catalog lives.
    pub zone: usize,
    /// Number of the cut, encloser or name.
    pub node: u32,
    /// Number of the covering name, or the type.
    pub other: u32,
    /// Kind of answer and DO bit.
    pub kind: Kind,
    pub dnssec_ok: bool,
    /// Of referrals: see [`CacheKey::room_class`].
    pub room: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    #[default]
    Nothing,
    Referral,
    NameError,
    Answer,
    Name,
}

/// Most octets of upper labels that an answer is kept for.
const NAME_OCTETS_MAX: usize = 32;

impl CacheKey {
    /// Which of several answers to the same question fits into `octets`: glue is left out where that is short.
    #[inline(always)]
    pub(crate) fn room_class(octets: usize) -> u8 {
        // Sixteen octets are the smallest record of glue, so in a class there are few different answers.
        if octets < 512 { (octets >> 4) as u8 | 0x80 } else { 0 }
    }

    /// The key of the answers for names with these upper labels, the beginning of `padded`; `None` when they are long.
    #[inline(always)]
    fn of_name(key: &Key, dnssec_ok: bool) -> Option<CacheKey> {
        let length = key.octets().len();
        if length > NAME_OCTETS_MAX {
            return None;
        }
        let mut hash = length as u64;
        for at in (0..length).step_by(8) {
            let octets = key.padded().get(at..).and_then(|octets| octets.first_chunk())?;
            let word = u64::from_le_bytes(*octets);
            let word = if length - at < 8 { word & ((1 << (8 * (length - at))) - 1) } else { word };
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 32;
        }
        let (node, other) = (hash as u32, (hash >> 32) as u32);
        Some(CacheKey { zone: 0, node, other, kind: Kind::Name, dnssec_ok, room: 0 })
    }

    #[inline(always)]
    fn hash(&self) -> u64 {
        let numbers = u64::from(self.node) << 32 | u64::from(self.other);
        let rest = (self.zone as u64) << 12
            | u64::from(self.room) << 4
            | (self.kind as u64) << 1
            | u64::from(self.dnssec_ok);
        let mixed = (numbers ^ rest.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }
}

#[derive(Clone, Default)]
struct Slot {
    key: CacheKey,
    /// Hash of the key that missed last.
    seen: u64,
    octets: u16,
    /// With so many octets of room the answer would be longer.
    short_of: usize,
    is_truncated: bool,
    pointers: u16,
    counts: [u16; 3],
    anchor: u16,
    /// Of [`Kind::Name`]: the upper labels, labels of the anchor, and whether it is a referral.
    name: [u8; NAME_OCTETS_MAX],
    name_octets: u8,
    anchor_labels: u8,
    is_referral: bool,
}

/// The answers of one worker.
pub(crate) struct Cache {
    slots: Box<[Slot]>,
    /// For each slot its octets, and the places of pointers in them.
    records: Box<[[u8; OCTETS_MAX]]>,
    places: Box<[[u16; POINTERS_MAX]]>,
    /// Catalog and facts that the slots were made from.
    catalog: u64,
    minimal_responses: bool,
}

impl Default for Cache {
    fn default() -> Cache {
        Cache {
            slots: vec![Slot::default(); SLOTS].into(),
            records: vec![[0; OCTETS_MAX]; SLOTS].into(),
            places: vec![[0; POINTERS_MAX]; SLOTS].into(),
            catalog: 0,
            minimal_responses: false,
        }
    }
}

impl Cache {
    /// Forgets everything if the catalog or the facts are others than before.
    #[inline(always)]
    pub(crate) fn check(&mut self, catalog: u64, server: &Server) {
        if self.catalog != catalog || self.minimal_responses != server.minimal_responses {
            self.forget();
            self.catalog = catalog;
            self.minimal_responses = server.minimal_responses;
        }
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        self.slots.iter_mut().for_each(|slot| (slot.key, slot.seen) = (CacheKey::default(), 0));
    }

    /// Appends the answer to the question in `out`, if it is here and the one for this room; returns the room that
    /// it is short of and whether it has TC. `anchor`: where the anchor stands.
    #[inline(always)]
    pub(crate) fn paste(&self, key: &CacheKey, anchor: u16, out: &mut Renderer<'_>) -> Option<(usize, bool)> {
        let at = key.hash() as usize % SLOTS;
        let slot = &self.slots[at];
        if slot.key != *key || out.room_left() >= slot.short_of {
            return None;
        }
        let records = &self.records[at][..slot.octets as usize];
        let places = &self.places[at][..slot.pointers as usize];
        out.paste(records, slot.counts, places, anchor.wrapping_sub(slot.anchor)).ok()?;
        Some((slot.short_of, slot.is_truncated))
    }

    /// Appends the answer for names with the upper labels `key`, if it is here and fits; returns whether it is a referral.
    #[inline(always)]
    pub(crate) fn paste_by_name(
        &self,
        name: &Key,
        dnssec_ok: bool,
        places: &Places,
        out: &mut Renderer<'_>,
    ) -> Option<bool> {
        let key = CacheKey::of_name(name, dnssec_ok)?;
        let slot = &self.slots[key.hash() as usize % SLOTS];
        if slot.key != key || slot.name[..slot.name_octets as usize] != *name.octets() {
            return None;
        }
        self.paste(&key, places.of_ancestor(slot.anchor_labels as usize), out).map(|_| slot.is_referral)
    }

    /// Takes note of an answer for all names with the upper labels `name`; `labels`: of its anchor. See [`Cache::note`].
    #[inline(always)]
    pub(crate) fn note_name(
        &mut self,
        name: &Key,
        dnssec_ok: bool,
        (labels, is_referral): (usize, bool),
        (anchor, start): (u16, usize),
        out: &Renderer<'_>,
    ) {
        let Some(key) = CacheKey::of_name(name, dnssec_ok) else { return };
        // The octets of the name tell it from others of the same hash, so they change together with the answer.
        if self.note(&key, anchor, (start, usize::MAX, false), out) {
            let slot = &mut self.slots[key.hash() as usize % SLOTS];
            let octets = name.octets();
            slot.name[..octets.len()].copy_from_slice(octets);
            slot.name_octets = octets.len() as u8;
            (slot.anchor_labels, slot.is_referral) = (labels as u8, is_referral);
        }
    }

    /// Takes note of an answer that was just written from `start` on, and keeps it if it was the slot's last already.
    /// `short_of`: with so many octets of room it would be longer. Returns whether it is kept now.
    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        key: &CacheKey,
        anchor: u16,
        (start, short_of, is_truncated): (usize, usize, bool),
        out: &Renderer<'_>,
    ) -> bool {
        let hash = key.hash();
        let at = hash as usize % SLOTS;
        let is_kept = self.slots[at].seen == hash && self.keep(at, key, anchor, start, out);
        if is_kept {
            (self.slots[at].short_of, self.slots[at].is_truncated) = (short_of, is_truncated);
        }
        self.slots[at].seen = hash;
        is_kept
    }

    #[cold]
    fn keep(&mut self, at: usize, key: &CacheKey, anchor: u16, start: usize, out: &Renderer<'_>) -> bool {
        let message = out.message();
        let records = &message[start..];
        // Room for the shift to any other question: no target may leave 14 bits.
        if records.len() > OCTETS_MAX || message.len() + 512 > POINTER_MAX as usize {
            return false;
        }
        self.slots[at].key = CacheKey::default();
        let mut pointers = Pointers { places: &mut self.places[at], count: 0, anchor, start };
        if pointers.collect(message, out.counts()).is_none() {
            return false;
        }
        let (octets, pointers) = (records.len() as u16, pointers.count as u16);
        self.records[at][..records.len()].copy_from_slice(records);
        self.slots[at] =
            Slot { key: *key, seen: 0, octets, pointers, counts: out.counts(), anchor, ..Slot::default() };
        true
    }
}

/// Finds the compression pointers of an answer.
struct Pointers<'s> {
    places: &'s mut [u16; POINTERS_MAX],
    count: usize,
    anchor: u16,
    start: usize,
}

impl Pointers<'_> {
    /// `None` when there are too many, or one points before the anchor.
    fn collect(&mut self, message: &[u8], counts: [u16; 3]) -> Option<()> {
        let mut at = self.start;
        for _ in 0..counts.iter().map(|&count| usize::from(count)).sum() {
            let record = RecordView::read(message, at)?;
            self.name(message, at)?;
            let (before, names) = match record.rtype {
                rtype::NS | rtype::CNAME | rtype::PTR => (0, 1),
                rtype::MX => (2, 1),
                rtype::SOA => (0, 2),
                _ => (0, 0),
            };
            let mut name = record.rdata_at + before;
            for _ in 0..names {
                name = self.name(message, name)?;
            }
            at = record.end();
        }
        (at == message.len()).then_some(())
    }

    /// Takes note of the pointer of the name at `at`, if it ends in one; returns where it ends.
    fn name(&mut self, message: &[u8], at: usize) -> Option<usize> {
        let end = wire::record::skip_name(message, at)?;
        let is_plain = message[end - 1] == 0 && ends_with_root(message, at, end);
        if is_plain {
            return Some(end);
        }
        let target = u16_at(message, end - 2) & POINTER_MAX;
        if target < self.anchor || (target as usize) < HEADER_OCTETS {
            return None;
        }
        *self.places.get_mut(self.count)? = (end - 2 - self.start) as u16;
        self.count += 1;
        Some(end)
    }
}

/// Whether the name from `at` to `end` ends with the root label: the lower octet of a pointer can be 0 too.
fn ends_with_root(message: &[u8], at: usize, end: usize) -> bool {
    let mut label = at;
    while label < end {
        match message[label] {
            0 => return true,
            0xc0.. => return false,
            length => label += 1 + length as usize,
        }
    }
    false
}
