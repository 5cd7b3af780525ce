//! The files in which the kernel tells about a machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A machine by its files; below `/` for this one, below a folder in tests.
pub struct System {
    root: PathBuf,
}

impl System {
    /// This machine.
    pub fn this() -> System {
        System::below(Path::new("/"))
    }

    /// A machine whose `proc` and `sys` are in this folder.
    pub fn below(root: &Path) -> System {
        System { root: root.to_owned() }
    }

    /// A file whole; `None` where it is not there, may not be read or holds nothing.
    pub fn text(&self, path: &str) -> Option<String> {
        let octets = fs::read(self.root.join(path)).ok()?;
        let text = String::from_utf8_lossy(&octets).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The first line of a file.
    pub fn line(&self, path: &str) -> Option<String> {
        self.text(path)?.lines().next().map(str::to_owned)
    }

    /// A file that holds one number.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.line(path)?.parse().ok()
    }

    /// The names in a folder, sorted with numbers by their value; empty where there is none.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_by_key(|name| (number_at_end(name), name.clone()));
        names
    }

    /// Where a link leads.
    pub fn real(&self, path: &str) -> Option<PathBuf> {
        fs::canonicalize(self.root.join(path)).ok()
    }

    /// The chosen one of a list such as `always [madvise] never`.
    pub fn choice(&self, path: &str) -> Option<String> {
        let line = self.line(path)?;
        let (_, rest) = line.split_once('[')?;
        rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
    }
}

fn number_at_end(name: &str) -> u64 {
    let digits = name.trim_start_matches(|character: char| !character.is_ascii_digit());
    digits.parse().unwrap_or(u64::MAX)
}
