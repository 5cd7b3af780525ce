//! The records of the log that make states of zones, as images name them (`images`).
//!
//! ```text
//! change                               its own sum
//! base | piece | piece | last piece    the sum of all pieces, once the last is there: it makes the state that the base stands for
//! ```

use std::collections::HashMap;

use journal::{Body, Entry, Record};
use wire::NameBuf;
use zone::section::checksum;

/// The record that made a state of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// A group of the log that it is in, or one behind that the zone has no record up to.
    pub(super) group: u64,
    /// See [`Sums`].
    pub(super) sum: u64,
}

/// What a zone says anew, with its last record: the sum of the state that it is in.
pub(super) struct Anew {
    /// Lower-case.
    pub(super) zone: NameBuf,
    pub(super) sum: u64,
}

/// What tells a change in the log from others with the same serial.
pub(super) fn sum_of(record: &Record<'_>) -> u64 {
    let Body::Difference { removed, added } = record.body else { return 0 };
    let numbers = [record.serial_before.into(), record.serial_after.into(), record.time];
    joined(numbers.into_iter().chain([checksum(removed), checksum(added)]))
}

fn joined(numbers: impl Iterator<Item = u64>) -> u64 {
    checksum(&numbers.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
}

/// The sums of states, of records in their order. Pieces are known by their serials, which stay the same but for the last one's: so who reads a log
/// from anywhere on comes by the same sums as who wrote it.
#[derive(Default)]
pub(super) struct Sums(HashMap<NameBuf, Pieces>);

/// Pieces of one change without the last.
struct Pieces {
    serial: u32,
    sum: u64,
}

impl Sums {
    /// The sum of the state that a record of `zone` makes. `None`: it makes none, or is a piece of what does.
    pub(super) fn next(&mut self, zone: &NameBuf, record: &Record<'_>) -> Option<u64> {
        let (before, after) = (record.serial_before, record.serial_after);
        if !matches!(record.body, Body::Difference { .. }) {
            if record.body.is_change() && !self.0.is_empty() {
                self.0.remove(zone);
            }
            return None;
        }
        let own = sum_of(record);
        // What was not said to the end is followed by a change of another serial.
        let earlier = match self.0.is_empty() {
            true => None,
            false => self.0.remove(zone).filter(|pieces| pieces.serial == before),
        };
        let sum = earlier.map_or(own, |pieces| joined([pieces.sum, own].into_iter()));
        if before == after {
            self.0.insert(zone.clone(), Pieces { serial: before, sum });
            return None;
        }
        Some(sum)
    }

    /// The same of a record that is to be written.
    pub(super) fn anew(&mut self, entry: &Entry) -> Option<Box<Anew>> {
        let record = entry.record();
        let zone = record.zone.to_lowercase();
        let sum = self.next(&zone, &record)?;
        Some(Box::new(Anew { zone, sum }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Who reads from the base on, and who wrote it, have one sum of the pieces; what was left off counts for nothing.
    #[test]
    fn pieces_have_one_sum() {
        let [one, other]: [NameBuf; 2] = ["one.test".parse().unwrap(), "other.test".parse().unwrap()];
        let difference = |added: &'static [u8]| Body::Difference { removed: b"", added };
        let entry = |zone: &NameBuf, before, after, body| Entry::new(zone, before, after, 7, body).unwrap();
        let base = |zone| entry(zone, 0, 3, Body::Pack { number: 1, checksum: 2 });
        let pieces = |zone, last| {
            let piece = |before, after, body| entry(zone, before, after, difference(body));
            [piece(3, 3, b"a"), piece(3, 3, b"b"), piece(3, 9, last)]
        };
        let sums = |entries: &[&Entry]| -> Vec<Option<u64>> {
            let mut sums = Sums::default();
            entries.iter().map(|entry| Some(sums.anew(entry)?.sum)).collect()
        };
        let (base, [a, b, c], change) =
            (base(&one), pieces(&one, b"c"), entry(&one, 9, 10, difference(b"d")));
        let whole = sums(&[&base, &a, &b, &c, &change]);
        let [None, None, None, Some(of_base), Some(of_change)] = whole[..] else { panic!("{whole:?}") };
        assert_eq!(of_change, sum_of(&change.record()));
        assert_ne!(of_base, sum_of(&c.record()), "the pieces before count");
        assert_ne!(Some(of_base), sums(&[&base, &b, &a, &c])[3], "in their order");
        // Not to the end, and once more; beside another zone's.
        let others = pieces(&other, b"x");
        let again = sums(&[&base, &a, &change, &base, &a, &others[0], &b, &others[1], &c]);
        assert_eq!((again[2], again[8]), (Some(of_change), Some(of_base)));
        assert_eq!(sums(&[&base, &a, &base, &a, &b, &c])[5], Some(of_base));
    }
}
