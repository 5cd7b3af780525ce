//! Answers that a worker gave before, kept as octets: most of what clients ask for is asked for again and again.
//!
//! ```text
//! hash of name (the cache's) and type -> 4 slots, one line: { tag: of the hash 28, wishes 4 | octets | missed | place }       stamps: 4 a slot, beside
//! ring, the newest over the oldest, a piece:
//!   0   octets of the name u8, wishes u8, type u16 | flags and code u16 | counts 3 x u16 | extended errors 2 x u16
//!  16   fresh until u64 | due u64                                                     moments
//!  32   octets of records u16 | sets u8, stamps u8 | turn: begin u16, octets of a record u16, count u16, first u16
//!  44   name | for each set: expires u64, count of TTLs u16 | places of TTLs u16 each, in order | records, as after the question
//! ```
//!
//! Kept are the records after the question, OPT left out, of answers made from the cache alone. They hold as long as the stamps of the entries that they were made
//! from are current, so a flush, a refresh and an eviction end them at once, and none of their sets has expired. All pointers lead into the question or the records,
//! whose places are the same for every question of the same length: so a piece is given by a copy, the turn of addresses by two.
//!
//! An answer is kept when it is asked for a second time before another one with its hash, so that what never repeats costs next to nothing.

mod piece;
#[cfg(test)]
mod tests;

use crate::answer::Parts;
use crate::verdict::Verdict;
use crate::wishes::Wishes;
use crate::writer::{Marks, seconds_left};
use cache::{Cache, Moment, NameHash, Security, Stamp};
use piece::{Fixed, PIECE_OCTETS_MAX};
use std::hint::black_box;
use wire::Name;
use wire::header::{self, HEADER_OCTETS};

/// Sets of four slots, a power of two: as many answers as the ring has room for, of 500 octets each.
const LINES: usize = 4096;
/// Slots of a line: what a line of the processor's caches holds.
const WAYS: usize = 4;
/// Octets of all pieces: a power of two. A worker with a million questions a minute gives nine in ten again from so much. Memory that is never written is never
/// taken.
const RING_OCTETS: usize = 8 << 20;
/// Most entries that a kept answer is made from: a chain of three aliases.
pub(crate) const STAMPS_MAX: usize = 4;
/// Octets of the fixed fields.
const FIXED_OCTETS: usize = 44;
/// Octets of a set's fields.
const SET_OCTETS: usize = 10;
/// Beside the wishes: all parts are proved.
const SECURE: u8 = 0x80;
/// A line of the processor's cache.
const LINE_OCTETS: usize = 64;
/// No extended error.
const NO_EDE: u16 = u16::MAX;
/// Bits of a tag that are wishes.
const WISHES: u64 = 15;

#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    /// Octets of the piece; 0: none.
    octets: u16,
    /// Hash of the key that missed last, a part of it.
    missed: u16,
    /// Octets that were written to the ring before it.
    place: u64,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([Slot; WAYS]);

const _: () = assert!(size_of::<Line>() == 64, "a line is a cache line");

const EMPTY: Slot = Slot { tag: 0, octets: 0, missed: 0, place: 0 };

/// The answers of one worker.
pub(crate) struct Rendered {
    lines: Box<[Line]>,
    stamps: Box<[[Option<Stamp>; STAMPS_MAX]]>,
    ring: Box<[u8]>,
    /// Where a piece is made.
    made: Box<[u8; PIECE_OCTETS_MAX]>,
    /// Octets ever written to the ring, those skipped at its end included.
    head: u64,
    version: u64,
}

/// Where answers of a name and type are, whatever the wishes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spot(u64);

impl Spot {
    #[inline(always)]
    pub(crate) fn of(name: NameHash, qtype: u16) -> Spot {
        Spot(fold_multiply(name.bits() ^ u64::from(qtype) << 48) & !(WISHES << 32))
    }

    #[inline(always)]
    fn line(self) -> usize {
        self.0 as usize % LINES
    }
}

/// What is looked for, of the name its hash alone.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub name: NameHash,
    qtype: u16,
    wishes: u8,
    spot: Spot,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pasted {
    /// Where the records end.
    pub end: usize,
    /// Their counts by section.
    pub counts: [u16; 3],
    pub verdict: Verdict,
    /// A part is to be asked for anew.
    pub is_due: bool,
    /// All parts are proved.
    pub is_secure: bool,
}

impl Wanted {
    /// A hash of it.
    pub(crate) fn hash(&self) -> u64 {
        self.spot.0 | u64::from(self.wishes) << 32
    }

    fn tag(&self) -> u32 {
        (self.hash() >> 32) as u32
    }
}

impl Rendered {
    /// Nothing yet. Which names fall together is by the cache's secret.
    pub(crate) fn new() -> Rendered {
        Rendered {
            lines: vec![Line([EMPTY; WAYS]); LINES].into(),
            stamps: vec![[None; STAMPS_MAX]; LINES * WAYS].into(),
            ring: vec![0; RING_OCTETS].into(),
            made: Box::new([0; PIECE_OCTETS_MAX]),
            head: 0,
            version: 0,
        }
    }

    /// Forgets everything if the settings are others than before.
    #[inline(always)]
    pub(crate) fn check(&mut self, version: u64) {
        if self.version != version {
            self.forget();
            self.version = version;
        }
    }

    /// Forgets everything.
    #[cold]
    pub(crate) fn forget(&mut self) {
        self.lines.fill(Line([EMPTY; WAYS]));
    }

    /// What to look for.
    #[inline(always)]
    pub(crate) fn wanted(name: NameHash, wishes: &Wishes) -> Wanted {
        let bits = u8::from(wishes.dnssec_ok)
            | u8::from(wishes.checking_disabled()) << 1
            | u8::from(wishes.wants_ad()) << 2
            | u8::from(wishes.wants_dns64) << 3;
        Wanted { name, qtype: wishes.qtype, wishes: bits, spot: Spot::of(name, wishes.qtype) }
    }

    /// Writes the records after the question, which ends at `start`, if they are here and the room of `room` octets is enough. `turn`: which record of a set comes
    /// first; header, question and OPT are the caller's.
    #[inline(always)]
    pub(crate) fn paste(
        &self,
        (name, wanted): (&Name, &Wanted),
        (cache, now, turn): (&Cache, Moment, u32),
        (start, room): (usize, usize),
        out: &mut [u8],
    ) -> Option<Pasted> {
        let (at, piece) = self.find(name, wanted)?;
        let word = |at: usize| u16::from_le_bytes([piece[at], piece[at + 1]]);
        let moment = |at: usize| {
            piece.get(at..at + 8)?.first_chunk().map(|octets| Moment(u64::from_le_bytes(*octets)))
        };
        if now >= moment(16)? {
            return None;
        }
        let (octets, sets, stamps) = (usize::from(word(32)), usize::from(piece[34]), usize::from(piece[35]));
        if octets > room {
            return None;
        }
        let is_current = |stamp: &Option<Stamp>| stamp.as_ref().is_some_and(|stamp| cache.is_current(stamp));
        if !self.stamps.get(at)?.get(..stamps)?.iter().all(is_current) {
            return None;
        }
        let (expiries, rest) =
            piece.get(FIXED_OCTETS + usize::from(piece[0])..)?.split_at_checked(SET_OCTETS * sets)?;
        let (places, records) = rest.split_at_checked(rest.len().checked_sub(octets)?)?;
        let to = out.get_mut(start..start + octets)?;
        let turned = [word(36), word(38), word(40), word(42)].map(usize::from);
        copy_turned(records, turned, turn, to)?;
        let mut places = places.as_chunks::<2>().0.iter();
        for set in expiries.as_chunks::<SET_OCTETS>().0 {
            let [a, b, c, d, e, f, g, h, l, m] = *set;
            let ttl = seconds_left(Moment(u64::from_le_bytes([a, b, c, d, e, f, g, h])), now).to_be_bytes();
            for place in places.by_ref().take(u16::from_le_bytes([l, m]).into()) {
                *to.get_mut(usize::from(u16::from_le_bytes(*place))..)?.first_chunk_mut()? = ttl;
            }
        }
        let ede = |at: usize| Some(word(at)).filter(|code| *code != NO_EDE);
        let flags = word(4);
        Some(Pasted {
            end: start + octets,
            counts: [word(6), word(8), word(10)],
            verdict: Verdict { rcode: flags & 15, edes: [ede(12), ede(14)], flags: flags & !15 },
            is_due: now >= moment(24)?,
            is_secure: piece[1] & SECURE != 0,
        })
    }

    /// The piece of a key, and the number of its slot.
    #[inline(always)]
    fn find(&self, name: &Name, wanted: &Wanted) -> Option<(usize, &[u8])> {
        let (line, tag) = (wanted.spot.line(), wanted.tag());
        let way = self.lines[line].0.iter().position(|slot| slot.tag == tag && slot.octets > 0)?;
        let piece = self.piece(&self.lines[line].0[way])?;
        let &[length, wishes, t, y, ..] = piece else { return None };
        let own = piece.get(FIXED_OCTETS..FIXED_OCTETS + usize::from(length))?;
        let is_it = own == name.octets()
            && wishes & !SECURE == wanted.wishes
            && u16::from_le_bytes([t, y]) == wanted.qtype;
        is_it.then_some((line * WAYS + way, piece))
    }

    /// Reads of what is kept for these names and types what a look for them reads, of all together ([`Cache::read_ahead`]). Left of them are those of which nothing
    /// is kept; `kept` is room for slots.
    pub(crate) fn read_ahead(&self, asked: &mut Vec<(NameHash, Spot)>, kept: &mut Vec<usize>, cache: &Cache) {
        let mut read = 0;
        for (_, spot) in &*asked {
            read ^= self.lines[spot.line()].0[0].tag;
        }
        kept.clear();
        asked.retain(|(_, spot)| {
            let (line, upper) = (spot.line(), spot.0 >> 32);
            let slots = &self.lines[line].0;
            let is_of = |slot: &Slot| u64::from(slot.tag) & !WISHES == upper && slot.octets > 0;
            let Some(way) = slots.iter().position(is_of) else { return true };
            let (at, slot) = (slots[way].place as usize % RING_OCTETS, line * WAYS + way);
            let octet = |at: usize| u32::from(self.ring.get(at).copied().unwrap_or_default());
            read ^= octet(at) ^ octet(at + LINE_OCTETS) ^ u32::from(self.stamps[slot][0].is_some());
            kept.push(slot);
            false
        });
        for slot in kept {
            let stamp = self.stamps[*slot][0].as_ref();
            read ^= u32::from(stamp.is_some_and(|stamp| cache.is_current(stamp)));
        }
        black_box(read);
    }

    /// The octets of a slot, if nothing newer is there.
    #[inline(always)]
    fn piece(&self, slot: &Slot) -> Option<&[u8]> {
        if self.head.wrapping_sub(slot.place) > RING_OCTETS as u64 {
            return None;
        }
        let at = slot.place as usize % RING_OCTETS;
        self.ring.get(at..at + usize::from(slot.octets))
    }

    /// Takes note of an answer that was just written from the cache, and keeps it if it was asked for before. `message`: its octets up to the end of the records,
    /// of which those after `start` are kept.
    pub(crate) fn note(
        &mut self,
        (name, wanted): (&Name, &Wanted),
        (message, start, counts, marks): (&[u8], usize, [u16; 3], &Marks),
        (verdict, parts): (&Verdict, &Parts),
        now: Moment,
    ) {
        // What nobody has validated gives way to what somebody has, which stands elsewhere.
        let is_checked = !matches!(parts.security, Security::Unchecked | Security::Bogus);
        if !is_checked || parts.is_stale || parts.until <= now || verdict.rcode > 15 {
            return;
        }
        let (Some(stamps), Some(_)) = (parts.stamps(), marks.sets()) else { return };
        let (line, tag, hash) = (wanted.spot.line(), wanted.tag(), wanted.hash());
        let missed = (hash >> 16) as u16;
        // Other wishes of the same name and type have other slots.
        let last = (hash >> 12 ^ hash >> 32) as usize % WAYS;
        let slots = &self.lines[line].0;
        let own = slots.iter().position(|slot| slot.tag == tag && slot.octets > 0);
        if own.is_none() && slots[last].missed != missed {
            self.lines[line].0[last].missed = missed;
            return;
        }
        let dead = slots.iter().position(|slot| slot.octets == 0 || self.piece(slot).is_none());
        let way = own.or(dead).unwrap_or(last);
        let fixed = Fixed { verdict, parts, counts, stamps: stamps.len() };
        let Some(octets) = piece::write((name, wanted), &fixed, marks, (message, start), &mut self.made)
        else {
            return;
        };
        let place = self.push(octets);
        let slot = &mut self.lines[line].0[way];
        *slot = Slot { tag, octets: octets as u16, missed: slot.missed, place };
        self.lines[line].0[last].missed = 0;
        let kept = &mut self.stamps[line * WAYS + way];
        *kept = [None; STAMPS_MAX];
        kept[..stamps.len()].copy_from_slice(stamps);
    }

    /// Writes the piece that was made, of so many octets, over the oldest; says where.
    fn push(&mut self, octets: usize) -> u64 {
        let at = self.head as usize % RING_OCTETS;
        let piece = &self.made[..octets];
        if at + piece.len() > RING_OCTETS {
            self.head += (RING_OCTETS - at) as u64;
        }
        let place = self.head;
        let at = place as usize % RING_OCTETS;
        self.ring[at..at + piece.len()].copy_from_slice(piece);
        self.head += octets as u64;
        place
    }
}

/// Copies records, those of the turning set beginning with another one. `turned`: where they begin, octets of each, how many, and which is the first.
#[inline(always)]
fn copy_turned(
    records: &[u8],
    [begin, each, count, first]: [usize; 4],
    turn: u32,
    to: &mut [u8],
) -> Option<()> {
    if count < 2 {
        to.copy_from_slice(records);
        return Some(());
    }
    let end = begin + each * count;
    let ahead = (turn as usize % count + count - first) % count;
    let (one, two) = records.get(begin..end)?.split_at_checked(ahead * each)?;
    to.get_mut(..begin)?.copy_from_slice(&records[..begin]);
    to.get_mut(begin..begin + two.len())?.copy_from_slice(two);
    to.get_mut(begin + two.len()..end)?.copy_from_slice(one);
    to.get_mut(end..)?.copy_from_slice(&records[end..]);
    Some(())
}

/// The flags of a response that was pasted: RD and CD are those of the query.
#[inline(always)]
pub(crate) fn header_of(pasted: &Pasted, wishes: &Wishes, opt: bool, out: &mut [u8]) -> Option<()> {
    let flags = crate::verdict::flags(&pasted.verdict, wishes, true, false);
    let [answers, authorities, additionals] = pasted.counts;
    let fields = [flags, 1, answers, authorities, additionals + u16::from(opt)];
    let (to, _) = out.get_mut(2..HEADER_OCTETS)?.as_chunks_mut::<2>();
    to.iter_mut().zip(fields).for_each(|(to, field)| *to = field.to_be_bytes());
    debug_assert!(flags & header::TC == 0);
    Some(())
}

/// The two halves of a product, folded together.
#[inline(always)]
fn fold_multiply(word: u64) -> u64 {
    let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15_u128;
    product as u64 ^ (product >> 64) as u64
}
