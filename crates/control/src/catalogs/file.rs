//! The file `members` in the folder of packs: what catalogs claim, so that members are served at a start before their catalogs have arrived.
//!
//! ```text
//! zonda members 1
//! lines of steps, appended and synced before the steps are carried out          transfer::catalog_zone::kept
//! ```
//!
//! Written anew when more than half of its lines are old, when its end is torn, and where it could not be appended to before. A file that is none of ours is
//! set aside.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use transfer::catalog_zone::{Claims, kept};

use crate::text::cannot;

const NAME: &str = "members";
const TEMPORARY: &str = ".members.tmp";
const ASIDE: &str = "members.damaged";
/// Lines that may be old in any case: a short file is not worth writing anew.
const OLD_LINES_MIN: usize = 1_024;
/// Octets of lines that are put together before they are written.
const BUFFER_OCTETS: usize = 1 << 16;

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

/// The file, as it is written.
#[derive(Default)]
pub(super) struct MembersFile {
    /// Open since the first line that this process wrote.
    file: Option<File>,
    lines: usize,
    /// Whether it must be written anew, as it does not have what it should.
    is_torn: bool,
}

impl MembersFile {
    /// Takes what the file in `folder` has into the claims.
    pub(super) fn read(folder: &Path, claims: &mut Claims) -> io::Result<(MembersFile, Found)> {
        let path = folder.join(NAME);
        let (mut file, mut found) = (MembersFile::default(), Found::default());
        let mut reader = match File::open(&path) {
            Ok(file) => BufReader::with_capacity(BUFFER_OCTETS, file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((file, found)),
            Err(error) => return Err(error),
        };
        let mut line = Vec::new();
        let mut is_first = true;
        while let Some(is_whole) = next_line(&mut reader, &mut line)? {
            let text = std::str::from_utf8(&line).ok();
            if std::mem::take(&mut is_first) {
                if !is_whole && text.is_some_and(|text| kept::HEAD.starts_with(text)) {
                    file.is_torn = true;
                    break;
                }
                if text != kept::HEAD.strip_suffix('\n') {
                    // Of another version, or none at all: not ours to write over.
                    fs::rename(&path, folder.join(ASIDE))?;
                    found.is_aside = true;
                    return Ok((file, found));
                }
                continue;
            }
            if !is_whole {
                // Nobody acted on it.
                file.is_torn = true;
                break;
            }
            file.lines += 1;
            match text.map(|text| kept::read_line(claims, text)) {
                Some(Ok(())) => found.lines += 1,
                _ => found.unreadable += 1,
            }
        }
        file.is_torn |= found.unreadable > 0;
        Ok((file, found))
    }

    /// Notes that the file does not have what it should.
    pub(super) fn tear(&mut self) {
        self.is_torn = true;
    }

    /// Whether it is to be written anew.
    pub(super) fn is_due(&self, claims: &Claims) -> bool {
        self.is_torn || self.lines > 2 * claims.len() + OLD_LINES_MIN
    }

    /// Appends whole lines and syncs them.
    pub(super) fn append(&mut self, folder: &Path, lines: &str) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let written = self.try_append(folder, lines);
        // Half a line may be there.
        self.is_torn |= written.is_err();
        written
    }

    fn try_append(&mut self, folder: &Path, lines: &str) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let path = folder.join(NAME);
                let mut file = OpenOptions::new().create(true).append(true).open(path)?;
                if file.metadata()?.len() == 0 {
                    file.write_all(kept::HEAD.as_bytes())?;
                    File::open(folder)?.sync_all()?;
                }
                self.file.insert(file)
            }
        };
        file.write_all(lines.as_bytes())?;
        file.sync_data()?;
        self.lines += lines.bytes().filter(|octet| *octet == b'\n').count();
        Ok(())
    }

    /// Writes all claims into a file that takes the place of the old one.
    pub(super) fn write_anew(&mut self, folder: &Path, claims: &Claims) -> Result<(), String> {
        let (path, temporary) = (folder.join(NAME), folder.join(TEMPORARY));
        let written = write_all(folder, &path, &temporary, claims);
        match written {
            Ok(lines) => {
                *self = MembersFile { file: None, lines, is_torn: false };
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                self.is_torn = true;
                Err(format!("{}: {}", path.display(), cannot("write", &error)))
            }
        }
    }
}

/// Writes the whole file; says how many lines it has, the first not counted.
fn write_all(folder: &Path, path: &Path, temporary: &PathBuf, claims: &Claims) -> io::Result<usize> {
    let mut file = File::create(temporary)?;
    let (mut lines, mut buffer) = (0, String::from(kept::HEAD));
    for (number, _) in claims.iter() {
        kept::write_claim(claims, number, &mut buffer);
        lines += 1;
        if buffer.len() >= BUFFER_OCTETS {
            file.write_all(buffer.as_bytes())?;
            buffer.clear();
        }
    }
    file.write_all(buffer.as_bytes())?;
    file.sync_all()?;
    fs::rename(temporary, path)?;
    File::open(folder)?.sync_all()?;
    Ok(lines)
}

/// The next line, without its end, and whether it has one; of a line that is too long the beginning, which no reader takes. `None`: there is none.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let most = kept::LINE_OCTETS_MAX as u64 + 2;
    if reader.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(true));
    }
    if (line.len() as u64) < most {
        return Ok(Some(false));
    }
    // The rest of it is passed over.
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(Some(false));
        }
        let end = available.iter().position(|octet| *octet == b'\n');
        let octets = end.map_or(available.len(), |end| end + 1);
        reader.consume(octets);
        if end.is_some() {
            return Ok(Some(true));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use transfer::catalog_zone::CatalogSettings;
    use wire::NameBuf;

    const LINES: &str =
        "+ catalog.example. aa one.example. - - holds\n+ catalog.example. bb two.example. plain - holds\n";

    fn claims() -> Claims {
        let mut claims = Claims::default();
        let settings = CatalogSettings {
            zone: "catalog.example".parse().unwrap(),
            templates: vec!["plain".into()],
            members: Default::default(),
            remove_max: Default::default(),
        };
        claims.configure(vec![settings]).unwrap();
        claims
    }

    fn zones(claims: &Claims) -> Vec<String> {
        let mut zones: Vec<String> = claims.iter().map(|(_, claim)| claim.zone.to_string()).collect();
        zones.sort();
        zones
    }

    #[test]
    fn what_is_appended_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let (mut file, found) = MembersFile::read(folder.path(), &mut claims()).unwrap();
        assert_eq!(found, Found::default());
        file.append(folder.path(), LINES).unwrap();
        file.append(folder.path(), "- catalog.example. one.example.\n").unwrap();
        let mut after = claims();
        let (file, found) = MembersFile::read(folder.path(), &mut after).unwrap();
        assert_eq!((zones(&after), found.lines, found.unreadable), (vec!["two.example.".into()], 3, 0));
        assert!(!file.is_due(&after));
    }

    /// Whatever of the file a crash leaves: what is whole counts, and what is appended later is a line of its own.
    #[test]
    fn a_torn_end_and_damaged_lines() {
        let text = format!("{}{LINES}", kept::HEAD);
        for octets in (0..20).chain((20..text.len()).step_by(9)) {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(NAME), &text.as_bytes()[..octets]).unwrap();
            let mut after = claims();
            let (mut file, found) = MembersFile::read(folder.path(), &mut after).unwrap();
            let whole = text[..octets].matches('\n').count().saturating_sub(1);
            assert_eq!((found.lines, after.len()), (whole, whole), "{octets}");
            if file.is_due(&after) {
                file.write_anew(folder.path(), &after).unwrap();
            }
            file.append(folder.path(), "+ catalog.example. cc three.example. - - holds\n").unwrap();
            let mut again = claims();
            MembersFile::read(folder.path(), &mut again).unwrap();
            assert_eq!(again.len(), whole + 1, "{octets}");
        }
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(3 * kept::LINE_OCTETS_MAX);
        fs::write(folder.path().join(NAME), format!("{}{long}\n\u{fffd}\n{LINES}", kept::HEAD)).unwrap();
        let mut after = claims();
        let (file, found) = MembersFile::read(folder.path(), &mut after).unwrap();
        assert_eq!((after.len(), found.unreadable, file.is_due(&after)), (2, 2, true));
    }

    #[test]
    fn what_is_not_ours_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), "zonda members 2\n? what\n").unwrap();
        let (mut file, found) = MembersFile::read(folder.path(), &mut claims()).unwrap();
        assert!(found.is_aside);
        file.append(folder.path(), LINES).unwrap();
        assert!(fs::read_to_string(folder.path().join(ASIDE)).unwrap().ends_with("? what\n"));
        let mut after = claims();
        MembersFile::read(folder.path(), &mut after).unwrap();
        assert_eq!(after.len(), 2);
    }

    /// A member whose label changes a thousand times is some lines, not a thousand.
    #[test]
    fn the_file_stays_short() {
        let folder = tempfile::tempdir().unwrap();
        let (mut claims, zone) = (claims(), "one.example".parse::<NameBuf>().unwrap());
        let (mut file, _) = MembersFile::read(folder.path(), &mut claims).unwrap();
        for number in 0..5_000 {
            let line = format!("+ catalog.example. l{number} {zone} - - holds\n");
            kept::read_line(&mut claims, line.trim_end()).unwrap();
            // Synced by the last.
            file.lines += 1;
            if file.is_due(&claims) {
                file.write_anew(folder.path(), &claims).unwrap();
            }
        }
        assert!(file.lines <= OLD_LINES_MIN + 4, "{}", file.lines);
        let mut after = self::claims();
        MembersFile::read(folder.path(), &mut after).unwrap();
        assert_eq!(after.len(), 1);
    }
}
