//! Where in the log each zone begins: what is before stands in what it begins from, and need not be done again.
//!
//! ```text
//! contents | pack | changes ... | pack | all that differs | changes ...
//!                               '-- the last of which all is there: from here on
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
            (Body::Contents(_) | Body::Pack { .. }, Some(zone)) if zone.serial != after || !is_there => {
                // What is not there is passed over, with what follows it.
                let (number, pack) = if is_there { (number, pack) } else { (zone.number, zone.pack) };
                zone.next = Some(Next { number, pack, serial: after });
            }
            (Body::Contents(_) | Body::Pack { .. }, _) => {
                let (next, broken) = (None, 0);
                self.zones.insert(name, Beginning { number, pack, serial: after, next, broken });
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
            (Body::Difference { .. } | Body::Damaged(_) | Body::Checked { .. }, _) => {}
        }
        false
    }

    /// Whether record `number`, from 1 on, is before what its zone begins with.
    pub(super) fn is_past(&self, number: u64, record: &Record<'_>) -> bool {
        let is_of_data = !matches!(record.body, Body::Checked { .. });
        is_of_data && self.zones.get(&*record.zone.to_lowercase()).is_some_and(|zone| number < zone.number)
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
