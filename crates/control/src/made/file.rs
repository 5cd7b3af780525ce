//! The file `made` in the folder of packs: appended to and synced, so that each of its lines is a commit.
//!
//! Half a line at its end is one that nobody was told of: the file is written anew without it before the next. So it is when more than half of its lines are old. Any other line that is
//! damaged is damage of the disk: then nothing is written, so that nothing is lost that could be mended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use super::line::{self, HEAD, Line};
use crate::text::cannot;

pub(super) const NAME: &str = "made";
const TEMPORARY: &str = ".made.tmp";
/// Lines that may be old in any case: a short file is not worth writing anew.
const OLD_LINES_MIN: usize = 1_024;
/// Octets of lines that are put together before they are written.
const BUFFER_OCTETS: usize = 1 << 16;
/// Octets of a line: a name with each octet escaped, four texts of forty, each octet as three, and a request.
const LINE_OCTETS_MAX: u64 = 4_096;

/// What could not be written, in words.
pub(super) struct NotKept(pub(super) String);

/// Why a line could not be written.
pub(super) struct NotAppended {
    pub(super) problem: String,
    /// Whether nothing of it is left, for sure.
    pub(super) is_taken_back: bool,
}

/// The file, as it is written.
#[derive(Default)]
pub(super) struct MadeFile {
    /// Open since the first line that this process wrote.
    file: Option<File>,
    lines: usize,
    /// Whether it must be written anew, as it has what it should not.
    is_torn: bool,
    /// Whether there was none, or none that begins as one: what this program writes does before there is anything else.
    pub(super) is_missing: bool,
}

impl MadeFile {
    /// Gives each line of the file in `folder` to `each`. The error: it cannot be read, or has damage, in words.
    pub(super) fn read(folder: &Path, mut each: impl FnMut(Line)) -> Result<MadeFile, String> {
        let path = folder.join(NAME);
        let fault = |text: &str| format!("{}: {text}", path.display());
        let mut read = MadeFile::default();
        let mut reader = match File::open(&path) {
            Ok(file) => BufReader::with_capacity(BUFFER_OCTETS, file),
            // Or there is no folder, which is said where it is opened.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                read.is_missing = true;
                return Ok(read);
            }
            Err(error) => return Err(fault(&cannot("read", &error))),
        };
        let mut text = Vec::new();
        loop {
            text.clear();
            let octets = (&mut reader).take(LINE_OCTETS_MAX).read_until(b'\n', &mut text);
            if octets.map_err(|error| fault(&cannot("read", &error)))? == 0 {
                read.is_missing = read.lines == 0;
                return Ok(read);
            }
            let is_first = read.lines == 0;
            read.lines += 1;
            let known = std::str::from_utf8(&text).ok();
            if is_first && known == Some(HEAD) {
                continue;
            }
            let is_last = text.last() != Some(&b'\n') && text.len() < LINE_OCTETS_MAX as usize;
            if is_last && (!is_first || known.is_some_and(|text| HEAD.starts_with(text))) {
                // Nobody was told of it.
                (read.is_torn, read.is_missing) = (true, is_first);
                return Ok(read);
            }
            if is_first {
                return Err(fault("is none of this program's, or of a later version: restore it"));
            }
            match known.and_then(|text| line::read(text.strip_suffix('\n')?)) {
                Some(line) => each(line),
                None => {
                    let number = read.lines;
                    return Err(fault(&format!(
                        "line {number} is damaged: restore the file, or take that line out, which removes its zone"
                    )));
                }
            }
        }
    }

    /// Whether it is to be written anew. `count`: how many lines would be in it.
    pub(super) fn is_due(&self, count: usize) -> bool {
        self.is_torn || self.lines > 2 * count + OLD_LINES_MIN
    }

    /// Appends a whole line and syncs it.
    pub(super) fn append(&mut self, folder: &Path, line: &str) -> Result<(), NotAppended> {
        let mut octets = None;
        self.try_append(folder, line, &mut octets).map_err(|error| {
            let is_taken_back = octets.is_some_and(|octets| self.take_back(octets).is_ok());
            self.is_torn = !is_taken_back;
            let problem = format!("{}: {}", folder.join(NAME).display(), cannot("write", &error));
            NotAppended { problem, is_taken_back }
        })
    }

    /// `before`: gets how many octets there were.
    fn try_append(&mut self, folder: &Path, line: &str, before: &mut Option<u64>) -> io::Result<()> {
        let file = self.open(folder)?;
        *before = Some(file.metadata()?.len());
        file.write_all(line.as_bytes())?;
        file.sync_data()?;
        self.lines += 1;
        Ok(())
    }

    /// Cuts off what came behind so many octets, of a line that is whole but not synced too.
    fn take_back(&self, octets: u64) -> io::Result<()> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.set_len(octets)?;
        file.sync_data()
    }

    /// Sees to it that there is a file, durable with its name: texts without one are of a file that was lost.
    pub(super) fn begin(&mut self, folder: &Path) -> Result<(), String> {
        let opened = self.open(folder).map(drop);
        opened.map_err(|error| {
            self.is_torn = true;
            format!("{}: {}", folder.join(NAME).display(), cannot("write", &error))
        })
    }

    fn open(&mut self, folder: &Path) -> io::Result<&mut File> {
        if self.file.is_none() {
            let mut file = OpenOptions::new().create(true).append(true).open(folder.join(NAME))?;
            if file.metadata()?.len() == 0 {
                file.write_all(HEAD.as_bytes())?;
                self.lines = 1;
            }
            // Whoever wrote it may have come no further.
            file.sync_all()?;
            File::open(folder)?.sync_all()?;
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Writes all lines into a file that takes the place of the old one.
    pub(super) fn write_anew(
        &mut self,
        folder: &Path,
        lines: impl Iterator<Item = String>,
    ) -> Result<(), NotKept> {
        let temporary = folder.join(TEMPORARY);
        match write_all(folder, &temporary, lines) {
            Ok(lines) => {
                (self.file, self.lines, self.is_torn) = (None, lines, false);
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                self.is_torn = true;
                Err(NotKept(format!("{}: {}", folder.join(NAME).display(), cannot("write", &error))))
            }
        }
    }
}

/// Writes the whole file; says how many lines it has.
fn write_all(folder: &Path, temporary: &Path, lines: impl Iterator<Item = String>) -> io::Result<usize> {
    let mut file = File::create(temporary)?;
    let (mut count, mut buffer) = (1, String::from(HEAD));
    for line in lines {
        buffer.push_str(&line);
        count += 1;
        if buffer.len() >= BUFFER_OCTETS {
            file.write_all(buffer.as_bytes())?;
            buffer.clear();
        }
    }
    file.write_all(buffer.as_bytes())?;
    file.sync_all()?;
    fs::rename(temporary, folder.join(NAME))?;
    File::open(folder)?.sync_all()?;
    Ok(count)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_back() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, text) = (scratch.path(), || fs::read(scratch.path().join(NAME)).unwrap());
        let mut file = MadeFile::default();
        assert!(file.append(path, "one\n").is_ok());
        let before = text();
        assert!(file.append(path, "two\n").is_ok());
        file.take_back(before.len() as u64).unwrap();
        assert_eq!(text(), before);
        // The next stands behind what is left.
        assert!(file.append(path, "three\n").is_ok());
        assert_eq!(text(), [&before[..], b"three\n"].concat());
    }
}
