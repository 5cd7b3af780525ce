//! A file of lines in the folder of packs that is appended to, and written anew when most of it is old.
//!
//! ```text
//! head          by which it is known to be ours, and of this version; another file is set aside
//! lines         printable ASCII, each by itself
//! ```
//!
//! Half a line at the end is of a crash, and nobody acted on it; nor did anybody on a line that cannot be read. Where there is either, and where the file could not
//! be appended to, it is written anew before more is put behind it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use journal::disk::{Disk, File};

use crate::disk::{read_whole, replace};

/// Octets of a file beyond which it is none of ours: the lines of ten million zones.
const OCTETS_MAX: u64 = 1 << 30;
/// Lines that may be old in any case: a short file is not worth writing anew.
const OLD_LINES_MIN: usize = 1_024;

/// A file that cannot be written anew is left alone for so long: on a full disk each line that is to be kept would have all others be written in vain.
const AGAIN: Duration = Duration::from_secs(5);

/// What a file is called, and how it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    pub(super) name: &'static str,
    pub(super) temporary: &'static str,
    pub(super) aside: &'static str,
    /// The first line, without its end.
    pub(super) head: &'static str,
}

/// What a file was found to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Lines that say something.
    pub(super) lines: usize,
    /// Lines that say nothing, as they are damaged or contradict others.
    pub(super) unreadable: usize,
    /// Whether it was none of ours, and set aside.
    pub(super) is_aside: bool,
}

/// Where such files are.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
}

/// The file, as it is written.
pub(super) struct LinesFile {
    names: Names,
    /// Open since the first line that this process wrote.
    file: Option<Arc<dyn File>>,
    octets: u64,
    lines: usize,
    /// Whether it must be written anew, as it does not have what it should.
    is_torn: bool,
    /// When that could not be done last, and why.
    failed: Option<(Instant, io::ErrorKind)>,
}

impl LinesFile {
    /// One that is not there.
    pub(super) fn new(names: Names) -> LinesFile {
        LinesFile { names, file: None, octets: 0, lines: 0, is_torn: false, failed: None }
    }

    /// Hands over each line; `each` says whether it is one.
    pub(super) fn read(
        names: Names,
        place: &Place,
        mut each: impl FnMut(&str) -> bool,
    ) -> io::Result<(LinesFile, Found)> {
        let (mut lines, mut found) = (LinesFile::new(names), Found::default());
        let octets = match read_whole(&*place.disk, &place.folder.join(names.name), OCTETS_MAX) {
            Ok(octets) => octets,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((lines, found)),
            // What was not read is not written over, nor into.
            Err(error) => {
                tracing::error!(%error, "{}: {}", names.name, crate::text::cannot("read", &error));
                lines.is_torn = true;
                return lines.set_aside(place);
            }
        };
        let mut parts = octets.split_inclusive(|octet| *octet == b'\n');
        match parts.next() {
            Some(first) if first.strip_suffix(b"\n") == Some(names.head.as_bytes()) => {}
            // Of a crash while it was made.
            first
                if first.unwrap_or_default()
                    == &names.head.as_bytes()[..first.unwrap_or_default().len().min(names.head.len())] =>
            {
                lines.is_torn = true;
                return Ok((lines, found));
            }
            // Of another version, or none at all: not ours to write over.
            _ => return lines.set_aside(place),
        }
        for part in parts {
            let Some(line) = part.strip_suffix(b"\n") else {
                lines.is_torn = true;
                break;
            };
            lines.lines += 1;
            let text = std::str::from_utf8(line)
                .ok()
                .filter(|text| text.bytes().all(|octet| matches!(octet, b' '..=b'~')));
            match text.is_some_and(&mut each) {
                true => found.lines += 1,
                false => found.unreadable += 1,
            }
        }
        lines.is_torn |= found.unreadable > 0;
        lines.octets = octets.len() as u64;
        Ok((lines, found))
    }

    fn set_aside(self, place: &Place) -> io::Result<(LinesFile, Found)> {
        place.disk.rename(&place.folder.join(self.names.name), &place.folder.join(self.names.aside))?;
        Ok((self, Found { is_aside: true, ..Found::default() }))
    }

    /// Notes that the file does not have what it should.
    pub(super) fn tear(&mut self) {
        self.is_torn = true;
    }

    /// Why nothing can be kept for now, as it could not be a moment ago.
    pub(super) fn is_given_up(&self) -> Option<io::Error> {
        self.failed.filter(|(at, _)| at.elapsed() < AGAIN).map(|(_, kind)| kind.into())
    }

    /// Whether it is to be written anew; `live`: lines that it would have then.
    pub(super) fn is_due(&self, live: usize) -> bool {
        self.is_torn || self.lines > 2 * live + OLD_LINES_MIN
    }

    /// Appends whole lines; they are on the disk when this returns if `is_synced`.
    pub(super) fn append(&mut self, place: &Place, lines: &str, is_synced: bool) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let written = self.try_append(place, lines, is_synced);
        // Half a line may be there.
        self.is_torn |= written.is_err();
        written
    }

    fn try_append(&mut self, place: &Place, lines: &str, is_synced: bool) -> io::Result<()> {
        if self.file.is_none() {
            self.open(place)?;
        }
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        match is_synced {
            true => file.write_synced(lines.as_bytes(), self.octets)?,
            false => file.write_at(lines.as_bytes(), self.octets)?,
        }
        self.octets += lines.len() as u64;
        self.lines += lines.bytes().filter(|octet| *octet == b'\n').count();
        Ok(())
    }

    fn open(&mut self, place: &Place) -> io::Result<()> {
        let path = place.folder.join(self.names.name);
        match place.disk.open(&path) {
            Ok(file) => self.file = Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let head = format!("{}\n", self.names.head);
                replace(&*place.disk, &path, &place.folder.join(self.names.temporary), head.as_bytes())?;
                self.file = Some(place.disk.open(&path)?);
                (self.octets, self.lines) = (head.len() as u64, 0);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Has what was appended be on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.sync())
    }

    /// Writes these lines into a file that takes the place of the old one.
    pub(super) fn write_anew(&mut self, place: &Place, lines: &str) -> io::Result<()> {
        let text = format!("{}\n{lines}", self.names.head);
        let (path, temporary) = (place.folder.join(self.names.name), place.folder.join(self.names.temporary));
        let written = replace(&*place.disk, &path, &temporary, text.as_bytes());
        if let Err(error) = &written {
            (self.is_torn, self.failed) = (true, Some((Instant::now(), error.kind())));
        }
        written?;
        *self = LinesFile {
            octets: text.len() as u64,
            lines: lines.bytes().filter(|octet| *octet == b'\n').count(),
            ..LinesFile::new(self.names)
        };
        Ok(())
    }
}
