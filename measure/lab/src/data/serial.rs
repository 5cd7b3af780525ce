//! Zone files whose serial is raised in place: of a large zone the write is as cheap as of a small one, and no server has to share
//! the disk with it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    ops::Range,
    os::unix::fs::FileExt,
    path::Path,
};

use crate::{Error, error};

/// The serial that copies begin with: of ten digits, as are all that follow, so that none is longer than the one before.
pub const FIRST: u32 = 2_000_000_000;
/// Within so many octets a file has its SOA record, which comes first but for `$ORIGIN`, `$TTL` and comments.
const HEAD_OCTETS: u64 = 4096;

/// Copies a zone file, with [`FIRST`] as its serial.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let mut file = File::open(from).map_err(error::file(from, "open"))?;
    let head = head(&mut file).map_err(error::file(from, "read"))?;
    let place = place(&head).ok_or_else(nowhere)?;
    let mut out = File::create(to).map_err(error::file(to, "create"))?;
    let first = [&head[..place.start], FIRST.to_string().as_bytes(), &head[place.end..]].concat();
    out.write_all(&first).map_err(error::file(to, "write"))?;
    io::copy(&mut file, &mut out).map(drop).map_err(error::file(to, "write"))
}

/// Raises the serial of such a copy by one, and returns it.
pub fn raise(path: &Path) -> Result<u32, Error> {
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(error::file(path, "open"))?;
    let head = head(&mut file).map_err(error::file(path, "read"))?;
    let place = place(&head).ok_or_else(nowhere)?;
    let serial = str::from_utf8(&head[place.clone()]).ok().and_then(|text| text.parse::<u32>().ok());
    let next = serial.and_then(|serial| serial.checked_add(1)).ok_or_else(nowhere)?;
    // In one call: a reader sees the old digits or the new ones.
    file.write_all_at(next.to_string().as_bytes(), place.start as u64).map_err(error::file(path, "write"))?;
    Ok(next)
}

fn head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(HEAD_OCTETS).read_to_end(&mut head)?;
    Ok(head)
}

fn nowhere() -> Error {
    Error::Output { program: "gen zone", wanted: "an SOA record at the beginning of the zone" }
}

/// Where the serial stands: the third word of the data of the SOA record, parentheses not counted.
fn place(head: &[u8]) -> Option<Range<usize>> {
    let mut words = words(head).skip_while(|word| !head[word.clone()].eq_ignore_ascii_case(b"SOA")).skip(1);
    let serial = words.by_ref().filter(|word| head[word.clone()] != *b"(").nth(2)?;
    head[serial.clone()].iter().all(u8::is_ascii_digit).then_some(serial)
}

/// Places of words.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].iter().position(|octet| !octet.is_ascii_whitespace())?;
        let length = text[at..].iter().position(u8::is_ascii_whitespace).unwrap_or(text.len() - at);
        at += length;
        Some(at - length..at)
    })
}

/// Removes the copies in a folder: those of large zones, one for each start of a server, would fill a disk.
pub fn remove(folder: &Path) -> Result<(), Error> {
    fs::remove_dir_all(folder).map_err(error::file(folder, "remove"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_serials_that_rise() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let rest = format!(" 1800 900 604800 86400\n@ NS ns\n{}", "a A 192.0.2.1\n".repeat(1000));
        let before = "$ORIGIN example.\n$TTL 60\n@ SOA ns host.example.";
        fs::write(&from, format!("{before} 7{rest}")).unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), format!("{before} 2000000000{rest}"));
        assert_eq!([raise(&to).unwrap(), raise(&to).unwrap()], [FIRST + 1, FIRST + 2]);
        assert_eq!(fs::read_to_string(&to).unwrap(), format!("{before} 2000000002{rest}"));
    }

    #[test]
    fn serials_are_found_in_lines_and_parentheses() {
        let found = |text: &str| place(text.as_bytes()).map(|place| text[place].to_owned());
        assert_eq!(found(". 86400 IN SOA a. b. 2026073102 1800"), Some("2026073102".to_owned()));
        assert_eq!(found("@ soa a. b. (\n\t12 1800"), Some("12".to_owned()));
        assert_eq!(found("@ SOA a. b. twelve 1800"), None);
        assert_eq!((found("@ NS a."), found("@ SOA a. b."), found("")), (None, None, None));
    }
}
