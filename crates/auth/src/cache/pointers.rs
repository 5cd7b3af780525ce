//! The compression pointers of an answer, which another question shifts.

use wire::header::{HEADER_OCTETS, u16_at};
use wire::rdata::{Compressible, compressible};
use wire::record::{RecordView, skip};
use wire::render::POINTER_MAX;

/// Most pointers of an answer: a referral to 13 servers with two addresses each has 13 owners, 13 names and 26 addresses.
pub(super) const POINTERS_MAX: usize = 64;

/// Finds the compression pointers of the records from `start` on, `records` in number, and puts where they are into
/// `places`, counted from `start`; returns how many. `None` when there are too many, or one points before `anchor`.
pub(super) fn collect(
    message: &[u8],
    start: usize,
    records: usize,
    anchor: u16,
    places: &mut [u16; POINTERS_MAX],
) -> Option<usize> {
    let mut pointers = Pointers { places, count: 0, anchor, start };
    let mut at = start;
    for _ in 0..records {
        let record = RecordView::read(message, at)?;
        pointers.name(message, at)?;
        let Compressible { before, names } = compressible(record.rtype);
        let mut name = record.rdata_at + before;
        for _ in 0..names {
            name = pointers.name(message, name)?;
        }
        at = record.end();
    }
    (at == message.len()).then_some(pointers.count)
}

struct Pointers<'s> {
    places: &'s mut [u16; POINTERS_MAX],
    count: usize,
    anchor: u16,
    start: usize,
}

impl Pointers<'_> {
    /// Takes note of the pointer of the name at `at`, if it ends in one; returns where it ends.
    fn name(&mut self, message: &[u8], at: usize) -> Option<usize> {
        let (end, has_pointer) = skip(message, at)?;
        if !has_pointer {
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
