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

use std::fmt::Write;
use std::io;

use feed::by_name::ByName;
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
    zones: ByName<Versions>,
}

/// Serial and mark of each, the newest last.
#[derive(Clone, Copy)]
struct Versions {
    all: [(u32, Mark); VERSIONS_MAX],
    count: u8,
}

impl Default for Versions {
    fn default() -> Versions {
        Versions { all: [(0, Mark::NONE); VERSIONS_MAX], count: 0 }
    }
}

impl Versions {
    fn all(&self) -> &[(u32, Mark)] {
        &self.all[..usize::from(self.count)]
    }

    /// Adds one, in the place of one with its serial, or of the oldest where there is no room.
    fn put(&mut self, version: (u32, Mark)) {
        let before = *self;
        let others = before.all().iter().filter(|(serial, _)| *serial != version.0);
        let too_many = (others.clone().count() + 1).saturating_sub(VERSIONS_MAX);
        self.count = 0;
        for one in others.skip(too_many).chain([&version]) {
            self.all[usize::from(self.count)] = *one;
            self.count += 1;
        }
    }
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
            ("-", None) => {
                self.zones.remove(&NameBuf::from_text(second).ok()?);
            }
            (_, Some(mark)) if words.next().is_none() => {
                let (zone, version) =
                    (NameBuf::from_text(first).ok()?, (second.parse().ok()?, Mark::from_text(mark)?));
                self.zones.or_default(&zone).put(version);
            }
            _ => return None,
        }
        Some(())
    }

    /// The mark of a version of a zone, if that came from its store.
    pub(super) fn mark(&self, zone: &Name, serial: u32) -> Option<Mark> {
        let versions = self.zones.get(zone)?.all();
        versions.iter().find(|(own, _)| *own == serial).map(|(_, mark)| *mark)
    }

    /// Notes a version that is about to be served in the place of the one of serial `served`, which stays known however often that comes to nothing.
    pub(super) fn note(&mut self, (zone, served): (&Name, Option<u32>), (serial, mark): (u32, Mark)) {
        if self.mark(zone, serial) == Some(mark) {
            return;
        }
        let versions = self.zones.or_default(zone);
        let oldest = versions.all().first().filter(|_| versions.all().len() == VERSIONS_MAX).copied();
        let again = oldest.filter(|(oldest, _)| Some(*oldest) == served);
        for (serial, mark) in again.into_iter().chain([(serial, mark)]) {
            // Writing to a String cannot fail.
            let _ = writeln!(self.waiting, "{} {serial} {mark}", zone.to_lowercase());
            versions.put((serial, mark));
        }
    }

    /// Forgets zones.
    pub(super) fn strike<'n>(&mut self, zones: impl Iterator<Item = &'n Name>) {
        for zone in zones {
            if self.zones.remove(zone).is_some() {
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
        for (zone, versions) in self.zones.iter() {
            for (serial, mark) in versions.all() {
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
