//! The owner names of zone files, to draw queries from.
//!
//! The reader takes what this tool and the publishers of large zones write: one RR a line, the owner first,
//! `$ORIGIN`, comments; lines that begin with a blank carry on the owner before and add nothing. It is no full
//! master file parser and needs none: an owner missed or a continuation taken for one costs a query, not a fault.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use crate::{Error, error, random::Random};

/// Most owners kept to draw from; a sample of that size is as good as all.
const OWNERS_MAX: usize = 1_000_000;
/// Longest line looked at; the rest of longer ones (keys, signatures) is skipped.
const LINE_OCTETS_MAX: u64 = 1 << 16;

/// Owners of the zone file `path`, or of all files of that folder: absolute, lower case; a sample where there are many.
///
/// `origin`: the apex, where the file does not begin with `$ORIGIN`.
pub fn read(path: &Path, origin: Option<&str>, random: &mut Random) -> Result<Vec<String>, Error> {
    let mut owners = Reservoir::new();
    for file in files(path)? {
        read_owners(&file, origin, &mut owners, random)?;
    }
    if owners.kept.is_empty() {
        return Err(Error::Empty { path: path.to_owned(), wanted: "owner names" });
    }
    Ok(owners.kept)
}

/// The file itself, or the files of a folder and of those in it by name, so that the result does not depend on the disk.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(error::file(path, "read"))?;
    let mut files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    if let Ok(files) = &mut files {
        files.sort();
    }
    let mut all = Vec::new();
    for entry in files.map_err(error::file(path, "read"))? {
        match entry.is_dir() {
            true => all.extend(self::files(&entry)?),
            false if entry.is_file() => all.push(entry),
            false => {}
        }
    }
    Ok(all)
}

/// A sample of owners, each as likely as any other (Vitter's algorithm R).
struct Reservoir {
    kept: Vec<String>,
    seen: u64,
}

impl Reservoir {
    fn new() -> Reservoir {
        Reservoir { kept: Vec::new(), seen: 0 }
    }

    fn offer(&mut self, owner: String, random: &mut Random) {
        self.seen += 1;
        if self.kept.len() < OWNERS_MAX {
            self.kept.push(owner);
        } else if let Some(slot) = self.kept.get_mut(random.below(self.seen) as usize) {
            *slot = owner;
        }
    }
}

fn read_owners(
    path: &Path,
    origin: Option<&str>,
    owners: &mut Reservoir,
    random: &mut Random,
) -> Result<(), Error> {
    let mut reader = BufReader::with_capacity(1 << 18, File::open(path).map_err(error::file(path, "open"))?);
    let mut origin = origin.unwrap_or(".").trim_end_matches('.').to_ascii_lowercase() + ".";
    let mut line = Vec::new();
    let mut previous = Vec::new();
    let mut at_line_start = true;
    loop {
        line.clear();
        let read = std::io::Read::take(&mut reader, LINE_OCTETS_MAX).read_until(b'\n', &mut line);
        if read.map_err(error::file(path, "read"))? == 0 {
            return Ok(());
        }
        let is_start = std::mem::replace(&mut at_line_start, line.ends_with(b"\n"));
        let first = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if !is_start || first.is_empty() || first[0] == b';' || first == previous {
            continue;
        }
        if first.eq_ignore_ascii_case(b"$ORIGIN") {
            let given = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(1);
            origin = String::from_utf8_lossy(given.unwrap_or(b".")).to_ascii_lowercase();
        } else if first[0] != b'$' {
            let text = String::from_utf8_lossy(first).to_ascii_lowercase();
            let owner = match text.as_str() {
                "@" => origin.clone(),
                absolute if absolute.ends_with('.') => absolute.to_owned(),
                relative if origin == "." => format!("{relative}."),
                relative => format!("{relative}.{origin}"),
            };
            previous = first.to_owned();
            owners.offer(owner, random);
        }
    }
}
