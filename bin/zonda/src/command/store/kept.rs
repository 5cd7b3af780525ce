//! The text that somebody edits: a file that stays until it is of no use any more.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use control::text::cannot;
use wire::Name;

/// How many names are tried: of an editor that was left open, and of who wants to be in the way.
const TRIES: u32 = 10;

/// More of the zone's name would make one that no file system takes.
const NAME_OCTETS_MAX: usize = 60;

/// A file for one edit, readable for its user alone.
pub struct Kept {
    path: PathBuf,
}

impl Kept {
    /// Makes an empty one in the folder for such files.
    pub fn new(zone: &Name) -> Result<(Kept, File), String> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
        let name: String = zone
            .to_string()
            .chars()
            .take(NAME_OCTETS_MAX)
            .map(|c| if is_plain(c) { c } else { '_' })
            .collect();
        let folder = std::env::temp_dir();
        let mut last = None;
        for number in 0..TRIES {
            let path =
                folder.join(format!("zonda-{}-{}-{number}.zone", name.trim_matches('.'), std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok((Kept { path }, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
                Err(error) => return Err(format!("{}: {}", path.display(), cannot("make it", &error))),
            }
        }
        let why = last.map_or_else(String::new, |error| cannot("make a file there", &error));
        Err(format!("{}: {why}", folder.display()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it: what is in it is committed, or nobody's work.
    pub fn remove(self) {
        // Whoever finds it later has lost nothing.
        let _ = std::fs::remove_file(&self.path);
    }

    /// A line that says where it is.
    pub fn line(&self) -> String {
        format!("the text is kept: {}", self.path.display())
    }
}
