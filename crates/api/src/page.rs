//! The page to look at: its files, which are parts of the program and the same for everybody.
//!
//! ```text
//! /                      index.html, with the hash of all files in it
//! /page/HASH/NAME        a file: never another one at that address
//! ```
//!
//! What is read in `page/` is what is served: there is no build and no library. Who serves them puts the heads around; of this server nothing is in them. Design: `docs/design/page.md` 5.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Octets of all files: a second over 1 Mbit/s, once.
pub const OCTETS_MAX: usize = 96 << 10;

/// Where the hash stands in `index.html`.
const PLACE: &str = "HASH";

/// Octets of the digest that name the files: what differs by chance is told apart, and nobody gains by two that do not.
const HASH_OCTETS: usize = 8;

/// A file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// What it is, as `Content-Type` has it.
    pub kind: &'static str,
    /// What is in it.
    pub octets: &'static [u8],
}

const MODULE: &str = "text/javascript; charset=utf-8";

const INDEX: &str = include_str!("../page/index.html");

/// What `/` is, as `Content-Type` has it.
pub const INDEX_KIND: &str = "text/html; charset=utf-8";

macro_rules! files {
    ($($name:literal is $kind:expr;)+) => {
        /// All files but `index.html`.
        pub const FILES: &[File] = &[$(File { name: $name, kind: $kind, octets: include_bytes!(concat!("../page/", $name)) }),+];
    };
}

files! {
    "style.css" is "text/css; charset=utf-8";
    "icon.svg" is "image/svg+xml";
    "main.js" is MODULE;
    "api.js" is MODULE;
    "asked.js" is MODULE;
    "chart.js" is MODULE;
    "dom.js" is MODULE;
    "inside.js" is MODULE;
    "keys.js" is MODULE;
    "now.js" is MODULE;
    "pause.js" is MODULE;
    "poll.js" is MODULE;
    "signin.js" is MODULE;
    "text.js" is MODULE;
    "why.js" is MODULE;
    "zones.js" is MODULE;
}

/// The page as it is served.
#[derive(Clone, Debug)]
pub struct Page {
    /// By what its files are known: 16 digits.
    pub hash: String,
    /// What `/` is.
    pub index: String,
}

impl Page {
    /// Of these files.
    #[must_use]
    pub fn new() -> Page {
        let mut digest = Sha256::new();
        for (name, octets) in [("index.html", INDEX.as_bytes())]
            .into_iter()
            .chain(FILES.iter().map(|file| (file.name, file.octets)))
        {
            digest.update((name.len() as u64).to_be_bytes());
            digest.update(name);
            digest.update((octets.len() as u64).to_be_bytes());
            digest.update(octets);
        }
        let mut hash = String::new();
        for octet in &digest.finalize()[..HASH_OCTETS] {
            // Writing to memory does not fail.
            let _ = write!(hash, "{octet:02x}");
        }
        Page { index: INDEX.replace(PLACE, &hash), hash }
    }

    /// The file at a path, if there is one.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&'static File> {
        let name = path.strip_prefix("/page/")?.strip_prefix(&*self.hash)?.strip_prefix('/')?;
        FILES.iter().find(|file| file.name == name)
    }
}

impl Default for Page {
    fn default() -> Page {
        Page::new()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
