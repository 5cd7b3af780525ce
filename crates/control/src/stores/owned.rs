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

use std::collections::HashMap;
use std::fmt::Write;
use std::io;

use wire::{Name, NameBuf};

use super::StoreName;
use super::lines::{Found, LinesFile, Names, Place};

const NAMES: Names =
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

/// See the module.
pub(super) struct Owned {
    file: LinesFile,
    known: Vec<Known>,
    /// By name in lower case; the number of the store.
    zones: HashMap<NameBuf, u8>,
    counts: [usize; KNOWN_MAX],
    /// Why the file does not have what it should.
    problem: Option<String>,
}

impl Default for Owned {
    fn default() -> Owned {
        Owned {
            file: LinesFile::new(NAMES),
            known: Vec::new(),
            zones: HashMap::new(),
            counts: [0; KNOWN_MAX],
            problem: None,
        }
    }
}

impl Owned {
    /// What the folder has.
    pub(super) fn read(place: &Place) -> io::Result<(Owned, Found)> {
        let mut owned = Owned::default();
        let (file, found) = LinesFile::read(NAMES, place, |line| owned.take_line(line).is_some())?;
        owned.file = file;
        Ok((owned, found))
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
                self.put(NameBuf::from_text(zone).ok()?.to_lowercase(), number);
            }
            "-" => {
                self.take(&NameBuf::from_text(rest).ok()?);
            }
            _ => return None,
        }
        Some(())
    }

    fn put(&mut self, zone: NameBuf, number: u8) {
        if let Some(before) = self.zones.insert(zone, number) {
            self.counts[usize::from(before)] -= 1;
        }
        self.counts[usize::from(number)] += 1;
    }

    fn take(&mut self, zone: &Name) -> Option<u8> {
        let number = self.zones.remove(&zone.to_lowercase())?;
        self.counts[usize::from(number)] -= 1;
        Some(number)
    }

    /// The store of a zone.
    pub(super) fn of(&self, zone: &Name) -> Option<u8> {
        if self.zones.is_empty() { None } else { self.zones.get(&zone.to_lowercase()).copied() }
    }

    /// How many zones a store has.
    pub(super) fn count(&self, number: u8) -> usize {
        self.counts.get(usize::from(number)).copied().unwrap_or(0)
    }

    /// All zones, in lower case, and the store of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&NameBuf, u8)> {
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
    pub(super) fn note(&mut self, place: Option<&Place>, number: Option<u8>, known: Known) -> Option<u8> {
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
        let line = known_line(number, &known);
        match self.known.get_mut(usize::from(number)) {
            Some(old) => *old = known,
            None => self.known.push(known),
        }
        self.keep(place, &line);
        Some(number)
    }

    /// Notes that zones are of a store from now on.
    pub(super) fn add<'n>(
        &mut self,
        place: Option<&Place>,
        number: u8,
        zones: impl Iterator<Item = &'n Name>,
    ) {
        let mut lines = String::new();
        for zone in zones {
            let zone = zone.to_lowercase();
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "+ {number} {zone}");
            self.put(zone, number);
        }
        self.keep(place, &lines);
    }

    /// Notes that zones are of no store any more.
    pub(super) fn strike<'n>(&mut self, place: Option<&Place>, zones: impl Iterator<Item = &'n Name>) {
        let mut lines = String::new();
        for zone in zones {
            if self.take(zone).is_some() {
                let _ = writeln!(lines, "- {}", zone.to_lowercase());
            }
        }
        self.keep(place, &lines);
    }

    /// Keeps lines. Where that cannot be zones are served all the same, and the whole file is written as soon as it can. `place`: none where the folder is another server's for now.
    fn keep(&mut self, place: Option<&Place>, lines: &str) {
        let Some(place) = place else {
            if !lines.is_empty() {
                self.file.tear();
            }
            return;
        };
        let kept = match (self.file.is_given_up(), self.file.is_due(self.known.len() + self.zones.len())) {
            (Some(error), _) => Err(error),
            (None, true) => {
                let lines = self.lines();
                self.file.write_anew(place, &lines)
            }
            (None, false) => self.file.append(place, lines, true),
        };
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

    /// Writes the file anew where it does not have what it should.
    pub(super) fn mend(&mut self, place: Option<&Place>) {
        if place.is_some() && self.file.is_due(self.known.len() + self.zones.len()) {
            self.keep(place, "");
        }
    }

    /// Why the file does not have what it should.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    fn lines(&self) -> String {
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
mod tests {
    use super::*;
    use journal::disk::Disk;
    use journal::disk::simulated::Simulated;
    use std::path::PathBuf;
    use std::sync::Arc;

    fn place(disk: &Simulated) -> Place {
        Place { disk: Arc::new(disk.clone()), folder: PathBuf::from("packs") }
    }

    fn known(name: &str) -> Known {
        let identity = "0123456789abcdef0123456789abcdef".into();
        Known { identity, name: name.into(), url: format!("sqlite:/a path/{name}").into() }
    }

    fn name(number: usize) -> NameBuf {
        NameBuf::from_text(&format!("z{number}.example")).unwrap()
    }

    fn zones(owned: &Owned) -> Vec<String> {
        let mut zones: Vec<String> = owned.iter().map(|(zone, number)| format!("{number} {zone}")).collect();
        zones.sort();
        zones
    }

    #[test]
    fn what_is_noted_is_found_again() {
        let disk = Simulated::new(1);
        let place = place(&disk);
        let (mut owned, found) = Owned::read(&place).unwrap();
        assert_eq!(found, Found::default());
        assert_eq!(owned.note(Some(&place), None, known("a")), Some(0));
        assert_eq!(owned.note(Some(&place), None, Known { identity: "f".into(), ..known("b") }), Some(1));
        owned.add(Some(&place), 0, [name(1), name(2)].iter().map(|name| &**name));
        owned.add(Some(&place), 1, [name(3)].iter().map(|name| &**name));
        owned.strike(Some(&place), [name(2), name(9)].iter().map(|name| &**name));
        let (again, found) = Owned::read(&place).unwrap();
        assert_eq!(zones(&again), ["0 z1.example.", "1 z3.example."]);
        assert_eq!((found.lines, found.unreadable), (6, 0));
        assert_eq!((again.count(0), again.count(1), again.of(&name(3))), (1, 1, Some(1)));
        assert_eq!(again.with_identity("f"), Some(1));
        // By their addresses, or by their names.
        let section =
            |(name, path): &(&str, &str)| (StoreName::new(name).unwrap(), format!("sqlite:/{path}"));
        let sections = |all: &[(&str, &str)]| again.sections(&all.iter().map(section).collect::<Vec<_>>());
        assert_eq!(
            sections(&[("a", "other"), ("renamed", "a path/b"), ("c", "c")]),
            [Some(0), Some(1), None]
        );
        assert_eq!(
            sections(&[("a", "a path/b"), ("b", "a path/a")]),
            [Some(1), Some(0)],
            "names that were exchanged"
        );
        assert_eq!(
            sections(&[("a", "new"), ("old", "a path/a")]),
            [None, Some(0)],
            "one that has the name of another"
        );
        assert_eq!(sections(&[("a", "a path/b")]), [Some(1)]);
        owned.note(Some(&place), None, Known { identity: "c".into(), ..known("c") });
        assert_eq!(
            owned.sections(&[section(&("a", "a path/c"))]),
            [Some(0)],
            "nothing is left of what was there"
        );
    }

    /// Whatever a crash leaves, at any call: what was acknowledged is there, and of what was not nothing but whole lines.
    #[test]
    fn power_that_fails() {
        for calls in 0..60 {
            let disk = Simulated::new(calls as u64);
            let before = place(&disk);
            let mut owned = Owned::default();
            disk.fail_after(calls);
            let mut acknowledged = Vec::new();
            owned.note(Some(&before), None, known("a"));
            for number in 0..12 {
                match number % 4 {
                    3 => owned.strike(Some(&before), [&*name(number - 1)].into_iter()),
                    _ => owned.add(Some(&before), 0, [&*name(number)].into_iter()),
                }
                if owned.problem().is_none() && !disk.has_failed() {
                    acknowledged = zones(&owned);
                }
            }
            let left = disk.crash();
            let after = place(&left);
            let (mut again, found) = Owned::read(&after).unwrap();
            assert!(!found.is_aside, "{calls}");
            let found = zones(&again);
            let last = found.len().abs_diff(acknowledged.len());
            let is_next = found != acknowledged && last <= 1;
            assert!(found == acknowledged || is_next, "{calls}: {found:?}, acknowledged {acknowledged:?}");
            // And it goes on.
            again.note(Some(&after), again.with_identity(&known("a").identity), known("a"));
            again.add(Some(&after), 0, [&*name(99)].into_iter());
            let expected = zones(&again);
            let (once_more, found) = Owned::read(&after).unwrap();
            assert_eq!((zones(&once_more), found.unreadable), (expected, 0), "{calls}");
        }
    }

    #[test]
    fn damaged_lines_and_files_of_others() {
        let put = |text: &str| {
            let disk = Simulated::new(3);
            let file = disk.create("packs/owned".as_ref()).unwrap();
            file.write_at(text.as_bytes(), 0).unwrap();
            disk
        };
        let disk = put(
            "zonda owned 1\n= 0 id a url\n+ 0 one.example.\n+ 7 two.example.\n+ 0 a..b\n\u{7}\n= 9 x y z\n+ 0 two.example.\n+ 0 half",
        );
        let (mut owned, found) = Owned::read(&place(&disk)).unwrap();
        assert_eq!((found.lines, found.unreadable), (3, 4));
        assert_eq!(zones(&owned), ["0 one.example.", "0 two.example."]);
        owned.mend(Some(&place(&disk)));
        let (_, found) = Owned::read(&place(&disk)).unwrap();
        assert_eq!((found.lines, found.unreadable), (3, 0));
        let disk = put("zonda owned 2\n? what\n");
        let (owned, found) = Owned::read(&place(&disk)).unwrap();
        assert!(found.is_aside && zones(&owned).is_empty());
        assert!(disk.content("packs/owned.damaged".as_ref()).unwrap().ends_with(b"? what\n"));
        let (_, found) = Owned::read(&place(&put("zonda ow"))).unwrap();
        assert_eq!(found, Found::default());
    }
}
