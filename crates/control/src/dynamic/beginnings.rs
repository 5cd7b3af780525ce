//! Where in the log each zone begins: what is before stands in what it begins from, and need not be done again.
//!
//! ```text
//! contents | pack | changes ... | pack | all that differs | changes ...
//!                               '-- the last of which all is there: from here on
//! contents | changes ... | at rest | pack | changes ...
//!                                  '-- from here on, if anything came then
//! ```

use std::collections::HashMap;

use journal::{Body, Record};
use wire::NameBuf;

/// Finds them, in one look at all records.
#[derive(Default)]
pub(super) struct Beginnings {
    zones: HashMap<NameBuf, Beginning>,
    /// Of the record that was looked at last, from 1 on.
    number: u64,
}

/// Checksum of a pack, and the number of a zone in it.
type PackPlace = (u64, u32);

#[derive(Default)]
struct Beginning {
    /// The record that it begins with.
    number: u64,
    /// The pack that this names.
    pack: Option<PackPlace>,
    /// Its serial, as far as records were looked at.
    serial: u32,
    /// One that is not said to the end.
    next: Option<Next>,
    /// The record says that it is at rest: what comes then begins anew, whatever its serial.
    is_at_rest: bool,
    /// The last record that does not fit what is before it, or says that something is lost.
    broken: u64,
}

struct Next {
    number: u64,
    pack: Option<PackPlace>,
    /// The serial that is reached.
    serial: u32,
}

impl Beginnings {
    /// Takes note of the next record. `has_pack`: whether there is a pack with this checksum. Says whether it is a change that is part of what its zone
    /// begins from, and none of the zone.
    pub(super) fn look(&mut self, record: &Record<'_>, has_pack: &mut impl FnMut(u64) -> bool) -> bool {
        self.number += 1;
        let number = self.number;
        let name = record.zone.to_lowercase();
        let after = record.serial_after;
        let known = self.zones.get_mut(&name);
        let is_there = match &record.body {
            Body::Pack { checksum, .. } => has_pack(*checksum),
            _ => true,
        };
        let pack = match &record.body {
            Body::Pack { number, checksum } => Some((*checksum, *number as u32)),
            _ => None,
        };
        match (&record.body, known) {
            (Body::Contents(_) | Body::Pack { .. }, Some(zone))
                if !zone.is_at_rest && (zone.serial != after || !is_there) =>
            {
                // What is not there is passed over, with what follows it.
                let (number, pack) = if is_there { (number, pack) } else { (zone.number, zone.pack) };
                zone.next = Some(Next { number, pack, serial: after });
            }
            (Body::Contents(_) | Body::Pack { .. }, _) => {
                self.zones.insert(name, Beginning { number, pack, serial: after, ..Beginning::default() });
            }
            (Body::AtRest { .. }, _) => {
                let rests = Beginning { number, serial: after, is_at_rest: true, ..Beginning::default() };
                self.zones.insert(name, rests);
            }
            (Body::Difference { .. }, Some(zone)) => match zone.next.take() {
                Some(next) if next.serial == record.serial_before => {
                    match after == zone.serial {
                        true => (zone.number, zone.pack) = (next.number, next.pack),
                        false => zone.next = Some(Next { serial: after, ..next }),
                    }
                    return true;
                }
                _ => {
                    if record.serial_before != zone.serial {
                        zone.broken = number;
                    }
                    zone.serial = after;
                }
            },
            (Body::Damaged(_), Some(zone)) => zone.broken = number,
            (Body::Removed, _) => drop(self.zones.remove(&name)),
            (Body::Difference { .. } | Body::Damaged(_) | Body::Checked { .. } | Body::Asked(_), _) => {}
        }
        false
    }

    /// Whether record `number`, from 1 on, is before what its zone begins with.
    pub(super) fn is_past(&self, number: u64, record: &Record<'_>) -> bool {
        record.body.is_change()
            && self.zones.get(&*record.zone.to_lowercase()).is_some_and(|zone| number < zone.number)
    }

    /// The record that a zone begins with and the pack that this names, where all changes since follow each other.
    pub(super) fn sound(&self, zone: &NameBuf) -> Option<(u64, PackPlace)> {
        let zone = self.zones.get(zone).filter(|zone| zone.broken <= zone.number)?;
        Some((zone.number, zone.pack?))
    }

    /// Whether record `number`, from 1 on, is behind the one that its zone begins with.
    pub(super) fn is_behind(&self, number: u64, zone: &NameBuf) -> bool {
        self.zones.get(zone).is_some_and(|zone| number > zone.number)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use journal::Entry;

    fn entry((before, after): (u32, u32), body: Body<'_>) -> Entry {
        let zone: NameBuf = "z.test".parse().unwrap();
        Entry::new(&zone, before, after, 1, body).unwrap()
    }

    /// What comes after a zone was at rest begins anew, whatever its serial and whether what it was in is there still; what was before is past.
    #[test]
    fn a_zone_that_was_at_rest_begins_anew() {
        let change = Body::Difference { removed: b"", added: b"" };
        let entries = [
            entry((0, 5), Body::Pack { number: 0, checksum: 1 }),
            entry((5, 6), change),
            entry((6, 6), Body::AtRest { number: 3, checksum: 2 }),
            // It came whole meanwhile, with a lower serial.
            entry((0, 2), Body::Pack { number: 1, checksum: 4 }),
            entry((2, 3), change),
        ];
        let zone: NameBuf = "z.test".parse().unwrap();
        let look = |entries: &[Entry]| {
            let mut beginnings = Beginnings::default();
            let pieces = entries
                .iter()
                .filter(|entry| beginnings.look(&entry.record(), &mut |checksum| checksum == 4))
                .count();
            assert_eq!(pieces, 0, "nothing is part of what it begins from");
            beginnings
        };
        let past = |beginnings: &Beginnings| -> Vec<bool> {
            (1..).zip(&entries).map(|(number, entry)| beginnings.is_past(number, &entry.record())).collect()
        };
        let at_rest = look(&entries[..3]);
        assert_eq!(past(&at_rest)[..3], [true, true, false]);
        assert_eq!(at_rest.sound(&zone), None);
        let again = look(&entries);
        assert_eq!(past(&again), [true, true, true, false, false]);
        assert_eq!(again.sound(&zone), Some((4, (4, 1))));
    }
}
