//! Answers that a worker gave before, kept as octets: most queries of a zone get one of few answers.
//!
//! Kept are the records after the question, OPT excluded, for queries of the plain kind and two kinds of answers:
//!
//! | answer | is the same for |
//! |---|---|
//! | referral, name error | all names with the same upper labels, one more than the zone's apex has, if no zone is below them |
//! | data, no data, an alias and what it leads to | the name and the type |
//!
//! and the same DO, with EDNS or without, whatever the options: OPT is written after them. `www.example.com` and `x.y.com` get the same from the root. So a query is answered by one comparison, one copy, and the shift of pointers: all names of
//! an answer end in the labels that it was decided by, its *anchor*, or in others of the answer. From the anchor to the end of
//! the question is always the same distance, so in another message all targets of compression pointers are shifted by one
//! and the same number:
//!
//! ```text
//! 12              anchor    question's end
//! | w w w . e x . | c o m . | type class | records with pointers to the anchor and among themselves
//!           | ... | c o m . | type class | the same records, each pointer + shift
//! ```
//!
//! Two slots, neighbours in memory, for each hash. An answer is kept when it is given a second time before another one with its
//! hash and tag, so that queries that never repeat cost next to nothing.
//!
//! A kept answer depends on the versions of the zones that it was made from, and stands beside them: it is given as long as the catalog has these.
//! A change of one zone costs the answers from that zone, or of one that changes by parts those from what changed, and nobody looks for them. Everything is forgotten when the
//! settings that answers depend on change.

mod key;
mod negative;
mod pointers;
mod ring;

use crate::answer::{Buffers, Outcome};
use crate::server::{Server, Style};
use crate::sources::Written;
pub(crate) use key::Asked;
use key::CacheKey;
pub(crate) use negative::{NegativeCache, NegativeKey, NegativeStart};
use ring::{Piece, Refused, Ring};
use wire::Places;
use wire::header::{self, HEADER_OCTETS};
use wire::query::PlainQuery;
use zone::CatalogView;

/// Pairs of slots. A busy minute of the root zone has some 5,000 different answers; half as many pairs as answers have one
/// answer in ten be the third of its pair, which is kept by turns only. 1 MiB a worker where all are used.
const PAIRS: usize = 8192;
/// Octets of all of them: what a busy minute of the root zone takes, signed. If less than what comes round again and again fits,
/// each answer is dropped shortly before it is wanted. Memory that is never written is never taken.
const RING_OCTETS: usize = 1 << 22;
/// Where more room makes no longer answer.
const NO_SHORTAGE: u16 = u16::MAX;

/// What a kept answer holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// This one query.
    Nothing,
    /// All names whose upper labels are those asked for, unless zones are below them; its anchor has so many.
    Upper(usize),
    /// The name and the type.
    Whole,
}

/// An answer that was written, as much of it as the cache wants to know.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub scope: Scope,
    pub outcome: Outcome,
    /// AA, TC and the response code.
    pub flags: u16,
    /// With so many octets of room after the question the answer would be longer; `usize::MAX` where it is whole.
    pub short_of: usize,
    /// How many upper labels of the name decided.
    pub key_labels: usize,
    /// How many records each section has, OPT excluded.
    pub counts: [u16; 3],
    /// Where these end in the response.
    pub end: usize,
}

impl Default for Given {
    /// Nothing.
    fn default() -> Given {
        let scope = Scope::Nothing;
        Given {
            scope,
            outcome: Outcome::NotOurs,
            flags: 0,
            short_of: 0,
            key_labels: 0,
            counts: [0; 3],
            end: 0,
        }
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot {
    key: CacheKey,
    piece: Piece,
    /// See [`Given::short_of`].
    short_of: u16,
    /// Records of the three sections: so few octets hold fewer than 255.
    counts: [u8; 3],
    flags: u16,
    /// How many labels the anchor has.
    anchor_labels: u8,
    outcome: Outcome,
    /// Hash of the key that missed last, a part of it: of those that take this slot where both of the pair are taken.
    missed: u16,
}

const _: () = assert!(size_of::<Slot>() == 64, "a slot is a cache line");

impl Slot {
    const EMPTY: Slot = Slot {
        key: CacheKey::NONE,
        piece: Piece::EMPTY,
        short_of: 0,
        counts: [0; 3],
        flags: 0,
        anchor_labels: 0,
        outcome: Outcome::NotOurs,
        missed: 0,
    };
}

/// The answers of one worker.
pub(crate) struct Cache {
    pairs: Box<[[Slot; 2]]>,
    ring: Ring,
    /// What the slots were made from beside zones.
    style: Style,
    /// Slots of other epochs are empty.
    epoch: u32,
}

impl Default for Cache {
    fn default() -> Cache {
        Cache {
            pairs: vec![[Slot::EMPTY; 2]; PAIRS].into(),
            ring: Ring::new(RING_OCTETS),
            style: Style::default(),
            epoch: 1,
        }
    }
}

impl Cache {
    /// Forgets everything if the settings are others than before; returns whether they are.
    #[inline(always)]
    pub(crate) fn check(&mut self, server: &Server) -> bool {
        let is_other = self.style != server.style;
        if is_other {
            self.forget();
            self.style = server.style;
        }
        is_other
    }

    /// Octets of memory that it takes.
    pub(crate) fn octets(&self) -> usize {
        size_of_val(&*self.pairs) + self.ring.octets_written()
    }

    /// Forgets everything.
    #[cold]
    pub(crate) fn forget(&mut self) {
        self.ring.clear();
        self.epoch += 1;
        if self.epoch == u32::MAX {
            self.pairs.fill([Slot::EMPTY; 2]);
            self.epoch = 1;
        }
    }

    /// What to look for: the name's upper `labels`; `None` for names that are long. Call [`Cache::check`] first.
    #[inline(always)]
    pub(crate) fn asked(
        &self,
        message: &[u8],
        query: &PlainQuery,
        places: &Places,
        labels: usize,
    ) -> Option<Asked> {
        Asked::of(message, query, places, (labels, self.epoch))
    }

    /// Writes the answer after the question if it is here and is the one for this room: `limit` octets for the whole
    /// message, `opt` of them for OPT, which is counted. Returns where OPT is to be written, the flags, and what became of the question.
    /// The first two octets of the header, the question and OPT are the caller's.
    #[inline(always)]
    pub(crate) fn paste(
        &self,
        asked: &Asked,
        query: &PlainQuery,
        places: &Places,
        catalog: &CatalogView<'_>,
        (limit, opt): (usize, usize),
        response: &mut [u8],
    ) -> Option<(usize, u16, Outcome)> {
        let slot = self.find(asked, query.qtype, limit.checked_sub(query.end + opt)?)?;
        let end = query.end + slot.piece.octets();
        let after = response.get_mut(query.end..end)?;
        self.ring.write(&slot.piece, places.of_ancestor(slot.anchor_labels as usize), catalog, after)?;
        let flags = header::QR | (query.flags & header::RD) | slot.flags;
        let [answers, authorities, additionals] = slot.counts;
        let fields = response.get_mut(2..HEADER_OCTETS)?.first_chunk_mut::<10>()?;
        let [a, b] = flags.to_be_bytes();
        // A kept answer has less than 255 records.
        let additionals = additionals + u8::from(opt > 0);
        *fields = [a, b, 0, 1, 0, answers, 0, authorities, 0, additionals];
        Some((end, slot.flags, slot.outcome))
    }

    /// The slot that answers. `room`: what its octets may take.
    #[inline(always)]
    fn find(&self, asked: &Asked, qtype: u16, room: usize) -> Option<&Slot> {
        let here = |(key, hash): (CacheKey, u64)| {
            let pair = &self.pairs[hash as usize % PAIRS];
            let slot = match pair {
                [slot, _] if slot.key == key => slot,
                [_, slot] if slot.key == key => slot,
                _ => return None,
            };
            let fits = slot.piece.octets() <= room
                && (room < slot.short_of as usize || slot.short_of == NO_SHORTAGE);
            fits.then_some(slot)
        };
        // What parent and child say of DS at a cut differs; below the labels that are looked at it is a type like others.
        if qtype == wire::iana::rtype::DS
            && let Some(whole) = asked.whole()
        {
            return here(whole);
        }
        if let Some(slot) = here(asked.upper()) {
            return Some(slot);
        }
        if let Some(slot) = asked.upper_in(room).and_then(here) {
            return Some(slot);
        }
        here(asked.whole()?)
    }

    /// Takes note of an answer that was just written, and keeps it if it was the slot's last already: says whether what is kept may take more octets
    /// now. `response`: where the message stands; `opt`: octets of its OPT record. Of `buffers` what the answer left there is read.
    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        asked: &Asked,
        query: &PlainQuery,
        given: &Given,
        (limit, opt): (usize, usize),
        response: &[u8],
        (catalog, buffers): (&CatalogView<'_>, &mut Buffers),
    ) -> bool {
        let records_room = limit.saturating_sub(query.end + opt);
        let key = match given.scope {
            Scope::Upper(_) if given.short_of == usize::MAX => Some(asked.upper()),
            Scope::Upper(_) if given.short_of > 0 => {
                Some(asked.upper_in(records_room).unwrap_or(asked.upper()))
            }
            Scope::Whole if given.short_of == usize::MAX => asked.whole(),
            _ => None,
        };
        let Some(key) = key else { return false };
        let hash = key.1;
        let pair = &mut self.pairs[hash as usize % PAIRS];
        // What was kept and is outdated is asked for again and again.
        let is_outdated = pair.iter().any(|slot| slot.key == key.0 && self.ring.is_worth_again(&slot.piece));
        let slot = &mut pair[way(hash)];
        let missed = (hash >> 48) as u16;
        if slot.missed != missed && !is_outdated {
            slot.missed = missed;
            return false;
        }
        slot.missed = !missed;
        self.keep(key, asked, query, given, response, (catalog, buffers));
        true
    }

    #[cold]
    fn keep(
        &mut self,
        (mut key, mut hash): (CacheKey, u64),
        asked: &Asked,
        query: &PlainQuery,
        given: &Given,
        response: &[u8],
        (catalog, buffers): (&CatalogView<'_>, &mut Buffers),
    ) {
        if self.style.has(Style::ANEW) {
            return;
        }
        let [answers, authorities, _] = given.counts;
        let written = Written {
            message: &response[..given.end],
            start: query.end,
            counts: [answers, authorities],
            qtype: query.qtype,
            is_referral: given.outcome == Outcome::Referral,
            dnssec_ok: query.edns.is_some_and(|edns| edns.dnssec_ok),
        };
        let names = (&mut buffers.other_places, &mut buffers.other_key);
        let Some(sources) = buffers.sources.kept(&written, catalog, names) else { return };
        // After the versions were read, so that those after a change of groups are seen with the groups that they were raised for.
        if buffers.sources.are_for_some(catalog) {
            return;
        }
        // A whole name has all labels of its key, and begins where all questions do.
        let (mut anchor_labels, mut anchor) = (given.key_labels, HEADER_OCTETS as u16);
        if let Scope::Upper(labels) = given.scope {
            if !catalog.renewed().may_have_zones_below(&buffers.key, given.key_labels) {
                (anchor_labels, anchor) = (labels, buffers.places.of_ancestor(labels));
            } else {
                // Others with these labels may be in another zone. The name itself is not.
                let Some(whole) = asked.whole().filter(|_| given.short_of == usize::MAX) else { return };
                (key, hash) = whole;
            }
        }
        if catalog.has_new_zones() {
            let names = (&mut buffers.other_places, &mut buffers.other_key);
            if !buffers.sources.is_found_again(&catalog.renewed(), response, names) {
                return;
            }
        }
        let (response, counts) = (&response[..given.end], given.counts);
        let count = counts.iter().map(|&count| usize::from(count)).sum();
        let epoch = self.epoch;
        let pair = &mut self.pairs[hash as usize % PAIRS];
        // Where the key is already, if its answer was of no use; else where nothing is.
        let at = |wanted: &dyn Fn(&Slot) -> bool| pair.iter().position(wanted);
        let own = at(&|slot| slot.key == key);
        let place = own.or_else(|| at(&|slot| slot.key.epoch() != epoch)).unwrap_or(way(hash));
        let over = own.map(|own| pair[own].piece);
        let piece = match self.ring.keep(response, (query.end, count), anchor, sources, over) {
            Ok(piece) => piece,
            Err(Refused::Unfit) => return,
            Err(Refused::Worn) => return self.forget(),
        };
        pair[place] = Slot {
            key,
            piece,
            short_of: u16::try_from(given.short_of).unwrap_or(NO_SHORTAGE),
            counts: counts.map(|count| count as u8),
            flags: given.flags,
            anchor_labels: anchor_labels as u8,
            outcome: given.outcome,
            missed: 0,
        };
    }
}

/// Which slot of its pair a key takes where both are taken.
#[inline(always)]
fn way(hash: u64) -> usize {
    (hash >> 32) as usize & 1
}
