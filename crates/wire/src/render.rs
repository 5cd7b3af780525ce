//! Writing a message into a caller's buffer, record by record, within a limit.
//!
//! ```text
//! 0       12         question      records ...            reserve        limit
//! | header | name type class | answer | authority | additional | OPT ... |
//! ```
//!
//! The renderer checks once a record that it fits before the reserve, which is kept for what must come last. A caller
//! that wants a whole RRset or nothing takes a [`Mark`] first and goes back to it. Counts and flags are
//! written by [`Renderer::finish`].

use crate::header::{HEADER_OCTETS, u16_at};
use crate::iana::{class, rtype};

/// The message is full: what was to be written is not there, or only its beginning; go back to a [`Mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Compression pointers reach up to here (RFC 1035 4.1.4: 14 bits).
pub const POINTER_MAX: u16 = 0x3fff;
/// The two upper bits of a pointer.
const POINTER: u16 = 0xc000;

/// The sections that records go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Records that answer the question.
    Answer,
    /// Referrals, SOA and proofs.
    Authority,
    /// Addresses, OPT, TSIG.
    Additional,
}

/// A point to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    at: usize,
    section: usize,
    counts: [u16; 3],
}

/// A message being written; see the module.
pub struct Renderer<'b> {
    octets: &'b mut [u8],
    at: usize,
    reserve: usize,
    section: usize,
    counts: [u16; 3],
}

impl<'b> Renderer<'b> {
    /// Begins after the header. At most `limit` octets are written, 65,535 in any case, the last `reserve` of them
    /// only after [`Renderer::release`]. `None` when the header does not fit.
    #[inline(always)]
    pub fn new(octets: &'b mut [u8], limit: usize, reserve: usize) -> Option<Renderer<'b>> {
        let limit = limit.min(octets.len()).min(u16::MAX as usize);
        if limit < HEADER_OCTETS + reserve {
            return None;
        }
        let octets = &mut octets[..limit];
        Some(Renderer { octets, at: HEADER_OCTETS, reserve, section: 0, counts: [0; 3] })
    }

    /// Copies the first octets of a query: its header, and its question if `end` is where that ends.
    #[inline(always)]
    pub fn copy_query(&mut self, query: &[u8], end: usize) -> Result<(), Full> {
        let from = query.get(..end).ok_or(Full)?;
        self.octets.get_mut(..end).ok_or(Full)?.copy_from_slice(from);
        self.at = end;
        Ok(())
    }

    /// Where the next octet goes.
    #[inline(always)]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Most octets of the message.
    pub fn limit(&self) -> usize {
        self.octets.len()
    }

    /// What was written so far.
    #[inline(always)]
    pub fn message(&self) -> &[u8] {
        &self.octets[..self.at]
    }

    /// How many records were written to a section.
    pub fn count(&self, section: Section) -> u16 {
        self.counts[section as usize]
    }

    /// Says where the next records go. Sections come in their order.
    #[inline(always)]
    pub fn begin_section(&mut self, section: Section) {
        debug_assert!(self.section <= section as usize);
        self.section = section as usize;
    }

    /// A point to go back to.
    #[inline(always)]
    pub fn mark(&self) -> Mark {
        Mark { at: self.at, section: self.section, counts: self.counts }
    }

    /// Takes back what was written since `mark`.
    pub fn rollback(&mut self, mark: Mark) {
        self.at = mark.at;
        self.section = mark.section;
        self.counts = mark.counts;
    }

    /// Opens the reserve.
    #[inline(always)]
    pub fn release(&mut self) {
        self.reserve = 0;
    }

    /// The next `octets` octets of the buffer, when they fit before the reserve; moves on.
    #[inline(always)]
    fn room(&mut self, octets: usize) -> Result<&mut [u8], Full> {
        let room = self.octets.get_mut(self.at..self.at + octets + self.reserve).ok_or(Full)?;
        self.at += octets;
        Ok(&mut room[..octets])
    }

    /// Writes octets as they are.
    #[inline(always)]
    pub fn octets(&mut self, octets: &[u8]) -> Result<(), Full> {
        self.room(octets.len())?.copy_from_slice(octets);
        Ok(())
    }

    /// Writes a compression pointer; `place` is at most [`POINTER_MAX`].
    #[inline(always)]
    pub fn pointer(&mut self, place: u16) -> Result<(), Full> {
        debug_assert!(place <= POINTER_MAX);
        self.octets(&(POINTER | place).to_be_bytes())
    }

    /// Counts a record in the present section.
    #[inline(always)]
    pub fn count_one(&mut self) {
        self.counts[self.section] += 1;
    }

    /// Writes a record whose owner has just been written. `head`: type, class and TTL.
    #[inline(always)]
    pub fn body(&mut self, head: [u8; 8], rdata: &[u8]) -> Result<(), Full> {
        let room = self.room(10 + rdata.len())?;
        let (fixed, rest) = room.split_first_chunk_mut::<10>().ok_or(Full)?;
        let [a, b, c, d, e, f, g, h] = head;
        let [l, m] = (rdata.len() as u16).to_be_bytes();
        *fixed = [a, b, c, d, e, f, g, h, l, m];
        rest.copy_from_slice(rdata);
        self.count_one();
        Ok(())
    }

    /// The same of RDATA in two parts.
    pub fn body_of(&mut self, head: [u8; 8], parts: [&[u8]; 2]) -> Result<(), Full> {
        let [first, second] = parts;
        let room = self.room(10 + first.len() + second.len())?;
        let (fixed, rest) = room.split_at_mut(10);
        fixed[..8].copy_from_slice(&head);
        fixed[8..].copy_from_slice(&((first.len() + second.len()) as u16).to_be_bytes());
        rest[..first.len()].copy_from_slice(first);
        rest[first.len()..].copy_from_slice(second);
        self.count_one();
        Ok(())
    }

    /// Writes a record whose owner is a pointer to `owner`.
    #[inline(always)]
    pub fn record(&mut self, owner: u16, head: [u8; 8], rdata: &[u8]) -> Result<(), Full> {
        debug_assert!(owner <= POINTER_MAX);
        let room = self.room(12 + rdata.len())?;
        let (fixed, rest) = room.split_first_chunk_mut::<12>().ok_or(Full)?;
        let [o, p] = (POINTER | owner).to_be_bytes();
        let [a, b, c, d, e, f, g, h] = head;
        let [l, m] = (rdata.len() as u16).to_be_bytes();
        *fixed = [o, p, a, b, c, d, e, f, g, h, l, m];
        rest.copy_from_slice(rdata);
        self.count_one();
        Ok(())
    }

    /// Writes the rest of an RRSIG record whose owner has just been written: it covers the RRset with head `head`, whose TTL
    /// it has (RFC 4034 3), and `rdata` is what follows the covered type.
    #[inline(always)]
    pub fn signature(&mut self, head: [u8; 8], rdata: &[u8]) -> Result<(), Full> {
        let room = self.room(12 + rdata.len())?;
        let (fixed, rest) = room.split_first_chunk_mut::<12>().ok_or(Full)?;
        let [t, y] = rtype::RRSIG.to_be_bytes();
        let [i, n] = class::IN.to_be_bytes();
        let [a, b, _, _, e, f, g, h] = head;
        let [l, m] = (rdata.len() as u16 + 2).to_be_bytes();
        *fixed = [t, y, i, n, e, f, g, h, l, m, a, b];
        rest.copy_from_slice(rdata);
        self.count_one();
        Ok(())
    }

    /// The two octets at `at`, written before.
    #[inline(always)]
    pub fn u16_at(&self, at: usize) -> u16 {
        u16_at(self.message(), at)
    }

    /// Makes the two octets at `at`, written before, a pointer to `place`.
    #[inline(always)]
    pub fn set_pointer(&mut self, at: usize, place: u16) {
        debug_assert!(place <= POINTER_MAX);
        self.set_u16(at, POINTER | place);
    }

    /// Sets the two octets at `at`, written before.
    #[inline(always)]
    pub fn set_u16(&mut self, at: usize, value: u16) {
        if let Some(octets) = self.octets.get_mut(at..at + 2) {
            octets.copy_from_slice(&value.to_be_bytes());
        }
    }

    /// Room for `octets` octets that the caller fills with `records` records of the present section.
    #[inline(always)]
    pub fn append(&mut self, octets: usize, records: u16) -> Result<&mut [u8], Full> {
        let room = self.octets.get_mut(self.at..self.at + octets + self.reserve).ok_or(Full)?;
        self.at += octets;
        self.counts[self.section] += records;
        Ok(&mut room[..octets])
    }

    /// How many records the three sections have.
    pub fn counts(&self) -> [u16; 3] {
        self.counts
    }

    /// Writes the flags and the counts; `questions` is 0 or 1. Returns the octets of the message.
    #[inline(always)]
    pub fn finish(&mut self, flags: u16, questions: u16) -> usize {
        let [answers, authorities, additionals] = self.counts;
        if let Some((header, _)) = self.octets.split_first_chunk_mut::<HEADER_OCTETS>() {
            let fields = [flags, questions, answers, authorities, additionals];
            for (to, field) in header[2..].chunks_exact_mut(2).zip(fields) {
                to.copy_from_slice(&field.to_be_bytes());
            }
        }
        self.at
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::RecordView;

    const HEAD: [u8; 8] = [0, 1, 0, 1, 0, 0, 0, 9];

    #[test]
    fn records_stand_as_written() {
        let mut octets = [0xee; 100];
        let mut out = Renderer::new(&mut octets, 200, 0).unwrap();
        out.copy_query(b"ID----------\x01a\0\0\x01\0\x01", 19).unwrap();
        out.record(12, HEAD, b"abcd").unwrap();
        out.begin_section(Section::Additional);
        out.pointer(12).unwrap();
        out.signature(HEAD, b"xyz").unwrap();
        assert_eq!(out.message()[..2], *b"ID");
        let length = out.finish(0x8400, 1);
        assert_eq!(octets[2..12], [0x84, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
        let first = RecordView::read(&octets, 19).unwrap();
        assert_eq!((first.rtype, first.ttl, first.rdata), (1, 9, &b"abcd"[..]));
        let second = RecordView::read(&octets, first.end()).unwrap();
        assert_eq!((second.rtype, second.ttl, second.rdata), (46, 9, &b"\0\x01xyz"[..]));
        assert_eq!(second.end(), length);
    }

    #[test]
    fn limit_and_reserve() {
        let mut octets = [0; 100];
        assert!(Renderer::new(&mut octets, 15, 4).is_none());
        let mut out = Renderer::new(&mut octets, 12 + 16 + 11, 11).unwrap();
        let mark = out.mark();
        out.pointer(0).unwrap();
        assert_eq!(out.body(HEAD, b"abcde"), Err(Full));
        out.body(HEAD, b"abcd").unwrap();
        assert_eq!((out.octets(b"1"), out.count(Section::Answer)), (Err(Full), 1));
        out.release();
        out.octets(&[0; 11]).unwrap();
        assert_eq!(out.octets(b"1"), Err(Full));
        out.rollback(mark);
        assert_eq!((out.at(), out.count(Section::Answer)), (12, 0));
    }
}
