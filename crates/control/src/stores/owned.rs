//! The file `owned`: which zones are of which store, so that they are served at a start before any database was asked.
//!
//! ```text
//! zonda owned 1
//! = NUMBER IDENTITY NAME URL     a store, and what its section was called last
//! + NUMBER ZONE                  the zone is of that store
//! - ZONE                         it is of none any more
//! ```
//!
//! Lines are synced before a zone is entered or removed. A store is known by the identity in its database; a section is that of a store by its name or,
//! where it was given another one, by its address.

use std::fmt::Write;
use std::io;

use feed::by_name::ByName;
use wire::{Name, NameBuf};

use super::StoreName;
use super::kept::Waiting;
use super::lines::{Found, LinesFile, Names, Place};

pub(super) const NAMES: Names =
    Names { name: "owned", temporary: ".owned.tmp", aside: "owned.damaged", head: "zonda owned 1" };

/// Stores that are known: those of the settings, and those that were there before and have zones still.
const KNOWN_MAX: usize = 64;

/// A store whose database was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) identity: Box<str>,
    /// What its section is called.
    pub(super) name: Box<str>,
    /// The address in that.
    pub(super) url: Box<str>,
}

/// See the module. What changes waits to be kept by [`super::Stores::keep_owned`].
pub(super) struct Owned {
    /// Lines that the file does not have yet.
    waiting: String,
    known: Vec<Known>,
    /// The number of the store of each.
    zones: ByName<u8>,
    counts: [usize; KNOWN_MAX],
    /// Why the file does not have what it should.
    problem: Option<String>,
}

impl Default for Owned {
    fn default() -> Owned {
        Owned {
            waiting: String::new(),
            known: Vec::new(),
            zones: ByName::default(),
            counts: [0; KNOWN_MAX],
            problem: None,
        }
    }
}

impl Owned {
    /// What the folder has.
    pub(super) fn read(place: &Place) -> io::Result<(Owned, LinesFile, Found)> {
        let mut owned = Owned::default();
        let (file, found) = LinesFile::read(NAMES, place, |line| owned.take_line(line).is_some())?;
        Ok((owned, file, found))
    }

    fn take_line(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "=" => {
                let mut words = rest.splitn(4, ' ');
                let number: usize = words.next()?.parse().ok()?;
                let [identity, name, url] = [(); 3].map(|()| words.next().map(Box::from));
                let known = Known { identity: identity?, name: name?, url: url? };
                match number {
                    _ if number < self.known.len() => self.known[number] = known,
                    _ if number == self.known.len() && number < KNOWN_MAX => self.known.push(known),
                    _ => return None,
                }
            }
            "+" => {
                let (number, zone) = rest.split_once(' ')?;
                let number = number.parse().ok().filter(|number| usize::from(*number) < self.known.len())?;
                self.put(&NameBuf::from_text(zone).ok()?, number);
            }
            "-" => {
                self.take(&NameBuf::from_text(rest).ok()?);
            }
            _ => return None,
        }
        Some(())
    }

    fn put(&mut self, zone: &Name, number: u8) {
        if let Some(before) = self.zones.insert(zone, number) {
            self.counts[usize::from(before)] -= 1;
        }
        self.counts[usize::from(number)] += 1;
    }

    fn take(&mut self, zone: &Name) -> Option<u8> {
        let number = self.zones.remove(zone)?;
        self.counts[usize::from(number)] -= 1;
        Some(number)
    }

    /// The store of a zone.
    pub(super) fn of(&self, zone: &Name) -> Option<u8> {
        self.zones.get(zone).copied()
    }

    /// How many zones a store has.
    pub(super) fn count(&self, number: u8) -> usize {
        self.counts.get(usize::from(number)).copied().unwrap_or(0)
    }

    /// How many zones all stores have together.
    pub(super) fn len(&self) -> usize {
        self.zones.len()
    }

    /// All zones, in lower case, and the store of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Name, u8)> {
        self.zones.iter().map(|(zone, number)| (zone, *number))
    }

    /// The stores that sections are of, each of one at most: by their addresses and, where nothing was at that, by their names; those that have zones first.
    pub(super) fn sections(&self, sections: &[(StoreName, String)]) -> Vec<Option<u8>> {
        let mut numbers = vec![None; sections.len()];
        for has_zones in [true, false] {
            let is_meant = |number| has_zones == (self.count(number) > 0);
            self.find(&mut numbers, |at, (number, known)| is_meant(number) && *known.url == *sections[at].1);
            self.find(&mut numbers, |at, (number, known)| {
                is_meant(number) && *known.name == *sections[at].0.as_str()
            });
        }
        numbers
    }

    /// Gives sections that have no store the first, of those that no section has, of which `is_it` says that it is theirs.
    fn find(&self, numbers: &mut [Option<u8>], is_it: impl Fn(usize, (u8, &Known)) -> bool) {
        for at in 0..numbers.len() {
            if numbers[at].is_none() {
                let mut known = (0..).zip(&self.known);
                let own = known.find(|known| !numbers.contains(&Some(known.0)) && is_it(at, *known));
                numbers[at] = own.map(|(number, _)| number);
            }
        }
    }

    /// The number of the store with this identity.
    pub(super) fn with_identity(&self, identity: &str) -> Option<u8> {
        (0..).zip(&self.known).find(|(_, known)| *known.identity == *identity).map(|(number, _)| number)
    }

    pub(super) fn known(&self, number: u8) -> Option<&Known> {
        self.known.get(usize::from(number))
    }

    /// Notes what a store is, in the place of `number` where its section was that of one before. Returns its number; `None`: there are too many.
    pub(super) fn note(&mut self, number: Option<u8>, known: Known) -> Option<u8> {
        let number = match number {
            Some(number) => number,
            None => match self.known.len() {
                len if len < KNOWN_MAX => len as u8,
                // One that has no zones is forgotten.
                _ => (0..KNOWN_MAX as u8).find(|number| self.count(*number) == 0)?,
            },
        };
        if self.known.get(usize::from(number)) == Some(&known) {
            return Some(number);
        }
        self.waiting.push_str(&known_line(number, &known));
        match self.known.get_mut(usize::from(number)) {
            Some(old) => *old = known,
            None => self.known.push(known),
        }
        Some(number)
    }

    /// Notes that zones are of a store from now on.
    pub(super) fn add<'n>(&mut self, number: u8, zones: impl Iterator<Item = &'n Name>) {
        for zone in zones {
            // Writing to a String cannot fail.
            let _ = writeln!(self.waiting, "+ {number} {}", zone.to_lowercase());
            self.put(zone, number);
        }
    }

    /// Notes that zones are of no store any more.
    pub(super) fn strike<'n>(&mut self, zones: impl Iterator<Item = &'n Name>) {
        for zone in zones {
            if self.take(zone).is_some() {
                let _ = writeln!(self.waiting, "- {}", zone.to_lowercase());
            }
        }
    }

    /// What is to be kept.
    pub(super) fn take_waiting(&mut self) -> Waiting {
        Waiting { lines: std::mem::take(&mut self.waiting), live: self.known.len() + self.zones.len() }
    }

    /// Notes what came of keeping it. Where it could not be zones are served all the same, and the whole file is written as soon as it can.
    pub(super) fn kept(&mut self, place: &Place, kept: io::Result<()>) {
        let problem = kept.err().map(|error| {
            let path = place.folder.join(NAMES.name);
            format!(
                "{}: {}; zones of stores that are new since are not served after a start before their database is there",
                path.display(),
                crate::text::cannot("write", &error)
            )
        });
        match &problem {
            Some(line) if self.problem.is_none() => tracing::error!("{line}"),
            None if self.problem.is_some() => tracing::info!("zones of stores are kept again"),
            _ => {}
        }
        self.problem = problem;
    }

    /// Why the file does not have what it should.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// All of it, as lines.
    pub(super) fn lines(&self) -> String {
        let mut lines: String =
            (0..).zip(&self.known).map(|(number, known)| known_line(number, known)).collect();
        for (zone, number) in self.iter() {
            let _ = writeln!(lines, "+ {number} {zone}");
        }
        lines
    }
}

fn known_line(number: u8, known: &Known) -> String {
    format!("= {number} {} {} {}\n", known.identity, known.name, known.url)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
