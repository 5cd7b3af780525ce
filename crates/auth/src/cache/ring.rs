//! Where the octets of answers are: a ring, in which the newest take the place of the oldest.

use super::pointers::{self, POINTERS_MAX};
use crate::sources::{SOURCES_KEPT_MAX, Source};
use wire::name::NAME_OCTETS_MAX;
use wire::render::POINTER_MAX;
use zone::CatalogView;
use zone::catalog::{KeptParts, SlotNumber, Version};

/// Most octets of records that are kept: UDP's 1,232 and no less than any answer of that size has after its question.
const OCTETS_MAX: usize = 1232;

/// Octets of many answers.
pub(super) struct Ring {
    octets: Box<[u8]>,
    /// Octets that were ever written, those skipped at the end of the ring included.
    head: u32,
}

/// The version that an answer depends on, records, their pointers, other versions: one after the other in the ring. After a version with parts
/// stand these, as another version, with the place of the serial that has to be written in place of a slot.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    start: u32,
    /// Octets of the records.
    octets: u16,
    /// Octets of all, or more where a longer one was here before.
    room: u16,
    /// Where the anchor stood.
    anchor: u16,
    /// How many pointers, two octets each.
    pointers: u8,
    /// How many versions, [`VERSION_OCTETS`] each, sets of parts not counted.
    versions: u8,
}

/// Octets of a slot's number (u32).
const SLOT_OCTETS: usize = 4;
/// The same with its version (u64).
const VERSION_OCTETS: usize = SLOT_OCTETS + 8;
/// Most versions of a piece, with their sets of parts.
const VERSIONS_MAX: usize = 2 * SOURCES_KEPT_MAX;

const _: () = assert!(size_of::<Piece>() == 12 && POINTERS_MAX <= u8::MAX as usize);

/// Why records are not kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// They are too large, or other names than the anchor and theirs end in pointers.
    Unfit,
    /// The ring was filled so often that places would come again: everything in it must be forgotten first.
    Worn,
}

impl Piece {
    pub(super) const EMPTY: Piece =
        Piece { start: 0, octets: 0, room: 0, anchor: 0, pointers: 0, versions: 0 };

    /// Octets of the records.
    #[inline(always)]
    pub(super) fn octets(&self) -> usize {
        self.octets as usize
    }

    /// Octets of records and pointers.
    #[inline(always)]
    fn body_octets(&self) -> usize {
        self.octets() + 2 * self.pointers as usize
    }
}

impl Ring {
    /// A ring of `octets` octets, a power of two. Memory that is never written is never taken.
    pub(super) fn new(octets: usize) -> Ring {
        Ring { octets: vec![0; octets].into(), head: 0 }
    }

    /// Octets of memory that were ever written.
    pub(super) fn octets_written(&self) -> usize {
        self.octets.len().min(self.head as usize)
    }

    /// Writes a piece that was kept with at least one version, in a message where its anchor stands at `anchor`; `to` has its octets. `None` if
    /// newer ones took its place, or what it depends on has changed.
    #[inline(always)]
    pub(super) fn write(
        &self,
        piece: &Piece,
        anchor: u16,
        catalog: &CatalogView<'_>,
        to: &mut [u8],
    ) -> Option<()> {
        let length = VERSION_OCTETS + piece.body_octets();
        let (first, body) = self.get(piece.start, length)?.split_first_chunk::<VERSION_OCTETS>()?;
        // Mostly an answer is made from one zone, whose only version this is.
        if !catalog.is_current(read_version(first)) || piece.versions > 1 {
            return self.write_of_many(piece, anchor, catalog, to);
        }
        let (records, pointers) = body.split_at_checked(piece.octets())?;
        to.copy_from_slice(records);
        shift(to, pointers, anchor.wrapping_sub(piece.anchor));
        Some(())
    }

    /// The same of a piece with several versions, or one with parts.
    #[cold]
    #[inline(never)]
    fn write_of_many(
        &self,
        piece: &Piece,
        anchor: u16,
        catalog: &CatalogView<'_>,
        to: &mut [u8],
    ) -> Option<()> {
        let mut rows = self.versions(piece)?;
        let mut in_place = None;
        for _ in 0..piece.versions {
            let version = rows.next()?;
            if version.has_parts() {
                let Version { slot: serial_at, number } = rows.next()?;
                let serial = catalog.serial_of(version, KeptParts::from_bits(number))?;
                in_place = Some((serial_at.0 as usize, serial)).filter(|(at, _)| *at > 0).or(in_place);
            } else if !catalog.is_current(version) {
                return None;
            }
        }
        let body = self.get(piece.start, VERSION_OCTETS + piece.body_octets())?.get(VERSION_OCTETS..)?;
        let (records, pointers) = body.split_at_checked(piece.octets())?;
        to.copy_from_slice(records);
        if let Some((at, serial)) = in_place {
            *to.get_mut(at..)?.first_chunk_mut()? = serial.to_be_bytes();
        }
        shift(to, pointers, anchor.wrapping_sub(piece.anchor));
        Some(())
    }

    /// All versions of a piece, each that has parts followed by these.
    fn versions(&self, piece: &Piece) -> Option<impl Iterator<Item = Version>> {
        let (first, rest) = self.get(piece.start, piece.room as usize)?.split_first_chunk()?;
        let (others, _) = rest.get(piece.body_octets()..)?.as_chunks();
        Some(std::iter::once(first).chain(others).map(read_version))
    }

    /// Whether a piece that is outdated is worth to be made anew at once: what it was made from is a few names of a zone that changes by parts. What changes
    /// with the zone's every change may be outdated before it is asked for.
    #[cold]
    pub(super) fn is_worth_again(&self, piece: &Piece) -> bool {
        let Some(mut rows) = self.versions(piece) else { return false };
        let is_by_parts = piece.versions == 1 && rows.next().is_some_and(|version| version.has_parts());
        is_by_parts && rows.next().is_some_and(|row| !KeptParts::from_bits(row.number).has_serial())
    }

    /// The same for a piece that was kept without versions.
    #[inline(always)]
    pub(super) fn write_always(&self, piece: &Piece, anchor: u16, to: &mut [u8]) -> Option<()> {
        let (records, pointers) =
            self.get(piece.start, piece.body_octets())?.split_at_checked(piece.octets())?;
        to.copy_from_slice(records);
        shift(to, pointers, anchor.wrapping_sub(piece.anchor));
        Some(())
    }

    /// Keeps the records that stand from `start` to the end of `message`, `count` in number; all names end at or after
    /// `anchor`. `over`: what they replace, and are written over if they are no longer: so a zone that changes again and again does not take
    /// the place of others.
    pub(super) fn keep(
        &mut self,
        message: &[u8],
        (start, count): (usize, usize),
        anchor: u16,
        sources: impl Iterator<Item = Source>,
        over: Option<Piece>,
    ) -> Result<Piece, Refused> {
        let records = &message[start..];
        // Room for the shift to any other question: no target may leave 14 bits.
        if records.len() > OCTETS_MAX || message.len() + NAME_OCTETS_MAX > POINTER_MAX as usize {
            return Err(Refused::Unfit);
        }
        let mut found = [0; POINTERS_MAX];
        let pointers = pointers::collect(message, start, count, anchor, &mut found).ok_or(Refused::Unfit)?;
        let mut depends = [0; VERSION_OCTETS * VERSIONS_MAX];
        let mut depends_octets = 0;
        let mut versions = 0;
        let rows = &mut depends.as_chunks_mut().0.iter_mut();
        for Source { version, parts, serial_at } in sources.take(SOURCES_KEPT_MAX) {
            versions += 1;
            let set = Version { slot: SlotNumber(serial_at.into()), number: parts.bits() };
            let is_by_parts = version.has_parts();
            for (row, to) in [version, set].iter().zip(rows.take(1 + usize::from(is_by_parts))) {
                write_version(*row, to);
                depends_octets += VERSION_OCTETS;
            }
        }
        let (first, others) = depends[..depends_octets].split_at(depends_octets.min(VERSION_OCTETS));
        let length = depends_octets + records.len() + 2 * pointers;
        let over = over.filter(|over| {
            over.room as usize >= length && self.get(over.start, over.room as usize).is_some()
        });
        let (place, room) = match over {
            Some(over) => {
                let at = over.start as usize & (self.octets.len() - 1);
                (over.start, &mut self.octets[at..at + length])
            }
            None => self.push(length).ok_or(Refused::Worn)?,
        };
        let (to_first, room) = room.split_at_mut(first.len());
        let (to_records, room) = room.split_at_mut(records.len());
        let (to_pointers, to_others) = room.split_at_mut(2 * pointers);
        to_first.copy_from_slice(first);
        to_records.copy_from_slice(records);
        for (to, pointer) in to_pointers.as_chunks_mut().0.iter_mut().zip(&found[..pointers]) {
            *to = pointer.to_le_bytes();
        }
        to_others.copy_from_slice(others);
        Ok(Piece {
            start: place,
            octets: records.len() as u16,
            room: over.map_or(length as u16, |over| over.room),
            anchor,
            pointers: pointers as u8,
            versions,
        })
    }

    /// Begins anew: places may come again.
    pub(super) fn clear(&mut self) {
        self.head = 0;
    }

    /// The `length` octets that were written at `start`, if nothing newer is there.
    #[inline(always)]
    fn get(&self, start: u32, length: usize) -> Option<&[u8]> {
        if self.head.wrapping_sub(start) as usize > self.octets.len() {
            return None;
        }
        let at = start as usize & (self.octets.len() - 1);
        self.octets.get(at..at + length)
    }

    /// Room for `length` octets, far fewer than the ring has, and where that begins. `None` when it is worn.
    fn push(&mut self, length: usize) -> Option<(u32, &mut [u8])> {
        let size = self.octets.len();
        let at = self.head as usize % size;
        let skipped = if at + length > size { size - at } else { 0 };
        let start = self.head.checked_add(skipped as u32)?;
        self.head = start.checked_add(length as u32)?;
        let at = start as usize % size;
        Some((start, &mut self.octets[at..at + length]))
    }
}

#[inline(always)]
fn read_version(octets: &[u8; VERSION_OCTETS]) -> Version {
    let (slot, number) = octets.split_at(SLOT_OCTETS);
    let slot = slot.first_chunk().map_or(0, |octets| u32::from_le_bytes(*octets));
    let number = number.first_chunk().map_or(0, |octets| u64::from_le_bytes(*octets));
    Version { slot: SlotNumber(slot), number }
}

fn write_version(version: Version, to: &mut [u8; VERSION_OCTETS]) {
    to[..SLOT_OCTETS].copy_from_slice(&version.slot.0.to_le_bytes());
    to[SLOT_OCTETS..].copy_from_slice(&version.number.to_le_bytes());
}

/// Adds `shift` to each of the compression pointers at `places`, two octets each.
#[inline(always)]
fn shift(records: &mut [u8], places: &[u8], shift: u16) {
    if shift == 0 {
        return;
    }
    let (places, _) = places.as_chunks::<2>();
    for place in places {
        let at = u16::from_le_bytes(*place) as usize;
        // One comparison: most answers have ten of them and more.
        if let Some([high, low]) = records.get_mut(at..at + 2) {
            [*high, *low] = u16::from_be_bytes([*high, *low]).wrapping_add(shift).to_be_bytes();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const OCTETS: usize = 1 << 16;

    #[test]
    fn the_newest_stay() {
        let mut ring = Ring::new(OCTETS);
        let mut starts = Vec::new();
        for number in 0..3 * OCTETS / 1000 {
            let (start, octets) = ring.push(1000).unwrap();
            octets.fill(number as u8);
            starts.push((start, number as u8));
        }
        let kept = |&&(start, number): &&(u32, u8)| {
            ring.get(start, 1000).is_some_and(|octets| octets.iter().all(|&octet| octet == number))
        };
        let whole = starts.iter().filter(kept).count();
        let readable = starts.iter().filter(|(start, _)| ring.get(*start, 1000).is_some()).count();
        assert_eq!(whole, readable);
        assert!((OCTETS / 1000 - 2..=OCTETS / 1000).contains(&whole), "{whole}");
        assert!(kept(&starts.last().unwrap()));
    }

    #[test]
    fn places_never_come_again_unseen() {
        let mut ring = Ring::new(OCTETS);
        ring.head = u32::MAX - 1500;
        let (start, _) = ring.push(1000).unwrap();
        assert!(ring.push(1000).is_none() && ring.get(start, 1000).is_some());
        ring.clear();
        assert_eq!(ring.push(1000).unwrap().0, 0);
    }
}
