//! The file `followed`: marks of the versions that came of each zone, so that what is served is known to be a certain version of the database, and not another one
//! of the same serial.
//!
//! ```text
//! zonda followed 1
//! ZONE SERIAL MARK      written before that version is served
//! - ZONE                the zone is of no store any more
//! ```
//!
//! It is not synced: the entry of the serial that is served counts, and where there is none the zone is compared as a whole.

use std::collections::HashMap;
use std::fmt::Write;
use std::io;

use feed::frame::Mark;
use wire::{Name, NameBuf};

use super::kept::Waiting;
use super::lines::{Found, LinesFile, Names, Place};

pub(super) const NAMES: Names = Names {
    name: "followed",
    temporary: ".followed.tmp",
    aside: "followed.damaged",
    head: "zonda followed 1",
};

/// Versions of a zone that are remembered: the one that is served, and the one that is on its way.
const VERSIONS_MAX: usize = 2;

/// See the module. What changes waits to be kept by [`super::Stores::keep_followed`].
#[derive(Default)]
pub(super) struct Followed {
    /// Lines that the file does not have yet.
    waiting: String,
    /// By name in lower case; the newest last.
    zones: HashMap<NameBuf, Vec<(u32, Mark)>>,
}

impl Followed {
    /// What the folder has.
    pub(super) fn read(place: &Place) -> io::Result<(Followed, LinesFile, Found)> {
        let mut followed = Followed::default();
        let (file, found) = LinesFile::read(NAMES, place, |line| followed.take_line(line).is_some())?;
        Ok((followed, file, found))
    }

    fn take_line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let (first, second) = (words.next()?, words.next()?);
        match (first, words.next()) {
            ("-", None) => drop(self.zones.remove(&NameBuf::from_text(second).ok()?.to_lowercase())),
            (_, Some(mark)) if words.next().is_none() => {
                let zone = NameBuf::from_text(first).ok()?.to_lowercase();
                self.put(zone, (second.parse().ok()?, Mark::from_text(mark)?));
            }
            _ => return None,
        }
        Some(())
    }

    fn put(&mut self, zone: NameBuf, version: (u32, Mark)) {
        let versions = self.zones.entry(zone).or_default();
        versions.retain(|(serial, _)| *serial != version.0);
        if versions.len() == VERSIONS_MAX {
            versions.remove(0);
        }
        versions.push(version);
    }

    /// The mark of a version of a zone, if that came from its store.
    pub(super) fn mark(&self, zone: &Name, serial: u32) -> Option<Mark> {
        let versions = self.zones.get(&zone.to_lowercase())?;
        versions.iter().find(|(own, _)| *own == serial).map(|(_, mark)| *mark)
    }

    /// Notes a version that is about to be served in the place of the one of serial `served`, which stays known however often that comes to nothing.
    pub(super) fn note(&mut self, (zone, served): (&Name, Option<u32>), (serial, mark): (u32, Mark)) {
        if self.mark(zone, serial) == Some(mark) {
            return;
        }
        let zone = zone.to_lowercase();
        let oldest = self
            .zones
            .get(&zone)
            .filter(|versions| versions.len() == VERSIONS_MAX)
            .map(|versions| versions[0]);
        let again = oldest.filter(|(oldest, _)| Some(*oldest) == served);
        for (serial, mark) in again.into_iter().chain([(serial, mark)]) {
            // Writing to a String cannot fail.
            let _ = writeln!(self.waiting, "{zone} {serial} {mark}");
            self.put(zone.clone(), (serial, mark));
        }
    }

    /// Forgets zones.
    pub(super) fn strike<'n>(&mut self, zones: impl Iterator<Item = &'n Name>) {
        for zone in zones {
            if self.zones.remove(&zone.to_lowercase()).is_some() {
                let _ = writeln!(self.waiting, "- {}", zone.to_lowercase());
            }
        }
    }

    /// What is to be kept.
    pub(super) fn take_waiting(&mut self) -> Waiting {
        Waiting { lines: std::mem::take(&mut self.waiting), live: VERSIONS_MAX * self.zones.len() }
    }

    /// All of it, as lines.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for (zone, versions) in &self.zones {
            for (serial, mark) in versions {
                // Writing to a String cannot fail.
                let _ = writeln!(lines, "{zone} {serial} {mark}");
            }
        }
        lines
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::kept::Kept;
    use super::*;
    use journal::disk::Disk;
    use journal::disk::simulated::Simulated;
    use std::path::PathBuf;
    use std::sync::Arc;

    /// What it is of, with its file: each change is kept at once.
    struct Beside {
        followed: Followed,
        file: Kept,
    }

    impl Beside {
        fn none() -> Beside {
            Beside {
                followed: Followed::default(),
                file: Kept::new("followed", LinesFile::new(NAMES), false),
            }
        }

        fn read(place: &Place) -> io::Result<(Beside, Found)> {
            let (followed, file, found) = Followed::read(place)?;
            Ok((Beside { followed, file: Kept::new("followed", file, false) }, found))
        }

        fn keep(&mut self, place: &Place) {
            let (waiting, lines) = (self.followed.take_waiting(), self.followed.lines());
            // What cannot be kept is not there later.
            let _ = self.file.keep(Some(place), || waiting, || lines);
        }

        fn note(&mut self, place: &Place, which: (&Name, Option<u32>), version: (u32, Mark)) {
            self.followed.note(which, version);
            self.keep(place);
        }

        fn mark(&self, zone: &Name, serial: u32) -> Option<Mark> {
            self.followed.mark(zone, serial)
        }
    }

    fn place(disk: &Simulated) -> Place {
        Place { disk: Arc::new(disk.clone()), folder: PathBuf::from("packs") }
    }

    fn mark(octet: u8) -> Mark {
        Mark([octet; 16])
    }

    #[test]
    fn the_entry_of_the_serial_counts() {
        let disk = Simulated::new(1);
        let place = place(&disk);
        let zone = NameBuf::from_text("A.example").unwrap();
        let (mut followed, _) = Beside::read(&place).unwrap();
        for serial in 1..=5 {
            followed.note(&place, (&zone, None), (serial, mark(serial as u8)));
        }
        // Another version of the same serial takes the place of the one before.
        followed.note(&place, (&zone, None), (5, mark(55)));
        let other = NameBuf::from_text("other.example").unwrap();
        followed.note(&place, (&other, None), (9, mark(9)));
        followed.followed.strike([&*other].into_iter());
        followed.keep(&place);
        let (again, found) = Beside::read(&place).unwrap();
        assert_eq!((found.unreadable, again.mark(&other, 9)), (0, None));
        let marks: Vec<_> = (1..=6).map(|serial| again.mark(&zone, serial)).collect();
        assert_eq!(marks, [None, None, None, Some(mark(4)), Some(mark(55)), None]);
    }

    /// What comes to nothing, again and again, leaves it known which version is served.
    #[test]
    fn what_is_served_stays_known() {
        let disk = Simulated::new(1);
        let place = place(&disk);
        let zone = NameBuf::from_text("a.example").unwrap();
        let mut followed = Beside::none();
        for serial in 1..=9 {
            followed.note(&place, (&zone, Some(1)), (serial, mark(serial as u8)));
        }
        let (again, _) = Beside::read(&place).unwrap();
        for followed in [followed, again] {
            assert_eq!((followed.mark(&zone, 1), followed.mark(&zone, 9)), (Some(mark(1)), Some(mark(9))));
        }
    }

    /// What was not synced may be gone or torn, and then nothing wrong is read.
    #[test]
    fn power_that_fails() {
        for seed in 0..40 {
            let disk = Simulated::new(seed);
            let before = place(&disk);
            let mut followed = Beside::none();
            for number in 0..200u32 {
                let zone = NameBuf::from_text(&format!("z{}.example", number % 20)).unwrap();
                followed.note(&before, (&zone, None), (number, mark(number as u8)));
                if number == 100 {
                    followed.file.sync().unwrap();
                }
            }
            let left = disk.crash();
            let (again, found) = Beside::read(&place(&left)).unwrap();
            assert!(!found.is_aside && found.lines >= 101, "{seed}: {found:?}");
            for number in 0..200u32 {
                let zone = NameBuf::from_text(&format!("z{}.example", number % 20)).unwrap();
                let read = again.mark(&zone, number);
                assert!(read.is_none_or(|read| read == mark(number as u8)), "{seed}: {number}");
            }
        }
    }

    #[test]
    fn the_file_stays_short() {
        let disk = Simulated::new(1);
        let place = place(&disk);
        let zone = NameBuf::from_text("a.example").unwrap();
        let mut followed = Beside::none();
        for serial in 0..10_000 {
            followed.note(&place, (&zone, None), (serial, mark(1)));
        }
        let lines =
            disk.content("packs/followed".as_ref()).unwrap().iter().filter(|octet| **octet == b'\n').count();
        assert!(lines < 1_200, "{lines}");
        let file = disk.open("packs/followed".as_ref()).unwrap();
        assert!(file.octets().unwrap() < 100_000);
    }
}
