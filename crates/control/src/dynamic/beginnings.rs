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

#[derive(Default)]
struct Beginning {
    /// The record that it begins with.
    number: u64,
    /// Its serial, as far as records were looked at.
    serial: u32,
    /// One that is not said to the end: its number, and the serial that is reached.
    next: Option<(u64, u32)>,
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
        match (&record.body, known) {
            (Body::Contents(_) | Body::Pack { .. }, Some(zone)) if zone.serial != after || !is_there => {
                // What is not there is passed over, with what follows it.
                zone.next = Some((if is_there { number } else { zone.number }, after));
            }
            (Body::Contents(_) | Body::Pack { .. }, _) => {
                self.zones.insert(name, Beginning { number, serial: after, next: None });
            }
            (Body::Difference { .. }, Some(zone)) => match zone.next {
                Some((begin, serial)) if serial == record.serial_before => {
                    zone.next = Some((begin, after));
                    if after == zone.serial {
                        (zone.number, zone.next) = (begin, None);
                    }
                    return true;
                }
                _ => (zone.serial, zone.next) = (after, None),
            },
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
}
