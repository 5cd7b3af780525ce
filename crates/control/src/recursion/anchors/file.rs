//! The file of the states of trust anchors: what outlives the process.
//!
//! ```text
//! trust-anchors          title | `# begun with` what the settings said | states of zones     (validate::rfc5011)
//! trust-anchors.new      the same while it is written
//! trust-anchors.damaged  what could not be read at a start: kept for people, and never read
//! ```
//!
//! Half of a state could trust what was revoked: nothing is taken of a file that cannot be read as a whole. It is set aside rather than written over; where
//! that does not work either, it stays, and what is learned goes on in memory.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use validate::rfc5011::{self, Managed};

/// Name of the file in the folder of the settings.
const FILE: &str = "trust-anchors";
/// The same while it is written.
const TEMPORARY: &str = "trust-anchors.new";
/// One that could not be read.
const DAMAGED: &str = "trust-anchors.damaged";
/// Longer than this it is none of ours: the text of a hundred zones.
const FILE_OCTETS_MAX: u64 = 1 << 20;
/// Before lines that say what the states began with: comments to who reads states.
const BEGUN: &str = "# begun with ";

/// What the states began with, and the states.
type Known = (Vec<Managed>, Vec<Managed>);

/// The file of the states of trust anchors.
pub(super) struct StateFile {
    path: PathBuf,
    /// It could not be written the last time, which is said once.
    is_unwritable: AtomicBool,
    /// What is there cannot be read, nor set aside: it is not written over.
    is_in_the_way: AtomicBool,
}

/// Why a file is not taken.
enum Unread {
    /// The system does not give it.
    Io(io::Error),
    /// It is no whole state.
    Damaged(String),
}

impl StateFile {
    /// The one in the folder of what outlives the process.
    pub(super) fn in_folder(folder: &Path) -> StateFile {
        let path = folder.join(FILE);
        StateFile { path, is_unwritable: AtomicBool::new(false), is_in_the_way: AtomicBool::new(false) }
    }

    /// What was kept; nothing where there is none. What cannot be read is set aside, and the log says so.
    pub(super) fn read(&self) -> Known {
        let (fault, aside) = match read(&self.path) {
            Ok(known) => return known,
            Err(Unread::Io(error)) => (error.to_string(), None),
            Err(Unread::Damaged(fault)) => (fault, self.set_aside()),
        };
        self.is_in_the_way.store(aside.is_none(), Ordering::Relaxed);
        let fate = match aside {
            Some(aside) => format!("it is {} now", aside.display()),
            None => "it stays as it is, and what is learned is kept in memory alone".into(),
        };
        tracing::error!(
            error = fault,
            "{}: {fault}; {fate}; the trust anchors of the settings, or those that are built in, hold",
            self.path.display()
        );
        Known::default()
    }

    fn set_aside(&self) -> Option<PathBuf> {
        let aside = self.path.with_file_name(DAMAGED);
        fs::rename(&self.path, &aside).ok().map(|()| aside)
    }

    /// Writes the file, as a whole or not at all. That it cannot be written is said once, until it can.
    pub(super) fn write(&self, seeds: &[Managed], zones: &[Managed]) {
        if self.is_in_the_way.load(Ordering::Relaxed) {
            return;
        }
        let written = replace(&self.path, TEMPORARY, &text(seeds, zones));
        let was_unwritable = self.is_unwritable.swap(written.is_err(), Ordering::Relaxed);
        if let Err(error) = &written
            && !was_unwritable
        {
            tracing::warn!(
                error = error.to_string(),
                "cannot write {}: {error}; trust anchors are renewed in memory, and the next start knows nothing of it",
                self.path.display()
            );
        }
    }
}

/// Writes a small file as a whole or not at all, by way of another name in its folder.
pub(in crate::recursion) fn replace(path: &Path, temporary: &str, text: &str) -> io::Result<()> {
    let temporary = path.with_file_name(temporary);
    let mut made = File::create(&temporary)?;
    made.write_all(text.as_bytes())?;
    made.sync_all()?;
    fs::rename(&temporary, path)?;
    // The new name, too.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The text of the file.
fn text(seeds: &[Managed], zones: &[Managed]) -> String {
    let states = rfc5011::write(zones);
    let (title, states) = states.split_once('\n').unwrap_or((&states, ""));
    let begun: String = rfc5011::write(seeds).lines().map(|line| format!("{BEGUN}{line}\n")).collect();
    format!("{title}\n{begun}{states}")
}

fn read(path: &Path) -> Result<Known, Unread> {
    let mut octets = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Known::default()),
        opened => opened.and_then(|opened| opened.take(FILE_OCTETS_MAX + 1).read_to_end(&mut octets)),
    }
    .map_err(Unread::Io)?;
    if octets.len() as u64 > FILE_OCTETS_MAX {
        return Err(Unread::Damaged(format!("it has more than {FILE_OCTETS_MAX} octets")));
    }
    let text = std::str::from_utf8(&octets).map_err(|_| Unread::Damaged("it is no text".into()))?;
    parse(text).map_err(Unread::Damaged)
}

fn parse(text: &str) -> Result<Known, String> {
    let states = rfc5011::read(text).map_err(|error| error.to_string())?;
    let begun: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(BEGUN)).collect();
    let begun = rfc5011::read(&begun.join("\n"))
        .map_err(|error| format!("what it was begun with cannot be read ({error})"))?;
    Ok((begun, states))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::recursion::anchors::tests::followed;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::in_folder(folder.path());
        assert_eq!(file.read(), Known::default(), "no file");
        let (seeds, zones) = followed();
        file.write(&seeds, &zones);
        assert!(!folder.path().join(TEMPORARY).exists());
        assert_eq!(file.read(), (seeds, zones));
    }

    #[test]
    fn of_a_damaged_file_nothing_is_taken_and_it_is_set_aside() {
        let (seeds, zones) = followed();
        let whole = text(&seeds, &zones);
        #[track_caller]
        fn check(text: &[u8], expected: &str) {
            let folder = tempfile::tempdir().unwrap();
            let file = StateFile::in_folder(folder.path());
            fs::write(&file.path, text).unwrap();
            let Err(Unread::Damaged(fault)) = read(&file.path) else { panic!("read") };
            assert!(fault.starts_with(expected), "{fault}");
            assert_eq!(file.read(), Known::default());
            // Another one takes its place, and it is there for people yet.
            let (seeds, zones) = followed();
            file.write(&seeds, &zones);
            assert_eq!(fs::read(folder.path().join(DAMAGED)).unwrap(), text);
            assert_eq!(file.read(), (seeds, zones));
        }
        check(b"", "line 1: expected `zonda-managed-keys 1`");
        check(whole.replace("key pending", "key trusted").as_bytes(), "line 13: expected `valid`");
        check(whole.replace(BEGUN, "# ").as_bytes(), "what it was begun with cannot be read");
        check(b"\xff\xfe", "it is no text");
        check("#".repeat(FILE_OCTETS_MAX as usize + 1).as_bytes(), "it has more than");
    }

    /// A folder in its place: it can neither be read nor be set aside where such a folder is, too.
    #[test]
    fn what_cannot_be_read_nor_set_aside_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::in_folder(folder.path());
        fs::create_dir(&file.path).unwrap();
        assert_eq!(file.read(), Known::default());
        let (seeds, zones) = followed();
        file.write(&seeds, &zones);
        assert!(file.path.is_dir() && !folder.path().join(TEMPORARY).exists());
    }

    #[test]
    fn what_cannot_be_written_goes_on_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::in_folder(&folder.path().join("gone"));
        file.write(&[], &[]);
        assert!(file.is_unwritable.load(Ordering::Relaxed));
        fs::create_dir(folder.path().join("gone")).unwrap();
        file.write(&[], &[]);
        assert!(!file.is_unwritable.load(Ordering::Relaxed) && file.path.exists());
    }
}
