//! Keys that were revoked by a command, in a file beside the packs, so that a start knows them.
//!
//! ```text
//! zonda revoked 1
//! HASH TIME SUM     a key, by its hash as the settings have it; seconds since 1970
//! = COUNT SUM       the end: so many keys
//! ```
//!
//! Sums are of all that stands before them in their line. The file is written as a whole, and is there as a whole or as it was before. One that is not whole may lack a key that somebody
//! revoked: what can be read of it is taken, and nobody is let in until an operator has said that this is all.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use journal::disk::Disk;
use zone::section::checksum;

use super::keys::{HASH_OCTETS, hash_from_text, text_of_hash};
use crate::disk::{read_whole, replace};
use crate::text::cannot;

const NAME: &str = "revoked";
const TEMPORARY: &str = ".revoked.tmp";

/// The first line, without its end.
const HEAD: &str = "zonda revoked 1";

/// Octets of the file: the settings have a thousand keys at most, each a line of a hundred octets.
const OCTETS_MAX: u64 = 1 << 20;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Revoked {
    /// When each was, in seconds since 1970.
    pub(super) keys: BTreeMap<[u8; HASH_OCTETS], u64>,
    /// Why nobody is let in: the file is not whole, as a line.
    pub(super) problem: Option<String>,
}

impl Revoked {
    /// What the file in a folder has. Where there is none nothing was revoked.
    pub(super) fn read(disk: &dyn Disk, folder: &Path) -> Revoked {
        let path = folder.join(NAME);
        let (keys, problem) = match read_whole(disk, &path, OCTETS_MAX) {
            Ok(octets) => {
                let (keys, is_whole) = parse(&octets);
                (keys, (!is_whole).then(|| "is damaged, or of a later version".to_owned()))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Revoked::default();
            }
            Err(error) => (BTreeMap::new(), Some(cannot("read", &error))),
        };
        let line = |problem: String| {
            format!(
                "{}: {problem}; no key of the API is let in, as one that was revoked may not be in it: `zonda ctl api-key revoke NAME` for each, or `zonda ctl api-key confirm`",
                path.display()
            )
        };
        Revoked { keys, problem: problem.map(line) }
    }

    /// Writes the file, durable once this returns. The error is a line.
    pub(super) fn write(&self, disk: &dyn Disk, folder: &Path) -> Result<(), String> {
        let path = folder.join(NAME);
        replace(disk, &path, &folder.join(TEMPORARY), self.text().as_bytes())
            .map_err(|error| format!("{}: {}", path.display(), cannot("write", &error)))
    }

    fn text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for (hash, time) in &self.keys {
            text += &ended(&format!("{} {time}", text_of_hash(hash)));
        }
        text + &ended(&format!("= {}", self.keys.len()))
    }
}

fn ended(line: &str) -> String {
    format!("{line} {:016x}\n", checksum(line.as_bytes()))
}

/// The keys that can be read, and whether that is all.
fn parse(octets: &[u8]) -> (BTreeMap<[u8; HASH_OCTETS], u64>, bool) {
    let mut keys = BTreeMap::new();
    let mut lines = octets.split_inclusive(|octet| *octet == b'\n');
    let mut is_whole = lines.next() == Some(format!("{HEAD}\n").as_bytes());
    let (mut count, mut end) = (0, None);
    for line in lines {
        // Nothing stands behind the end.
        is_whole &= end.is_none();
        match read_line(line) {
            Some(Line::Key(hash, time)) => {
                keys.insert(hash, time);
                count += 1;
            }
            Some(Line::End(count)) => end = Some(count),
            None => is_whole = false,
        }
    }
    (keys, is_whole && end == Some(count))
}

enum Line {
    Key([u8; HASH_OCTETS], u64),
    End(usize),
}

/// What a line says; `None`: it is damaged.
fn read_line(line: &[u8]) -> Option<Line> {
    let line = std::str::from_utf8(line).ok()?;
    let (said, sum) = line.strip_suffix('\n')?.rsplit_once(' ')?;
    (sum == format!("{:016x}", checksum(said.as_bytes()))).then_some(())?;
    match said.split_once(' ')? {
        ("=", count) => count.parse().ok().map(Line::End),
        (hash, time) => Some(Line::Key(hash_from_text(hash)?, time.parse().ok()?)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use journal::disk::simulated::Simulated;

    fn folder() -> &'static Path {
        Path::new("/packs")
    }

    fn disk() -> Simulated {
        let disk = Simulated::new(7);
        disk.make_folder(folder()).unwrap();
        disk
    }

    fn revoked(hashes: &[u8]) -> Revoked {
        let keys = hashes.iter().map(|octet| ([*octet; HASH_OCTETS], u64::from(*octet)));
        Revoked { keys: keys.collect(), problem: None }
    }

    #[test]
    fn what_is_written_is_read() {
        let disk = disk();
        assert_eq!(Revoked::read(&disk, folder()), Revoked::default());
        for hashes in [&[][..], &[1], &[1, 2, 0xff]] {
            revoked(hashes).write(&disk, folder()).unwrap();
            assert_eq!(Revoked::read(&disk, folder()), revoked(hashes));
        }
    }

    /// Whenever the power fails it is as it was or as it was to be; once it was written, the latter.
    #[test]
    fn it_is_there_as_a_whole_or_as_before() {
        let (before, after) = (revoked(&[1]), revoked(&[1, 2]));
        let (mut old, mut new) = (0, 0);
        for calls in 0..20 {
            let disk = disk();
            before.write(&disk, folder()).unwrap();
            disk.fail_after(calls);
            let is_written = after.write(&disk, folder()).is_ok();
            let read = Revoked::read(&disk.crash(), folder());
            assert!(read == after || (!is_written && read == before), "{calls}: {read:?}");
            (old, new) = (old + usize::from(read == before), new + usize::from(read == after));
        }
        assert!(old > 2 && new > 2, "{old} {new}");
    }

    /// Whatever is wrong with it, it does not pass for all; and what can be read is taken.
    #[test]
    fn what_is_not_whole_is_known() {
        let whole = revoked(&[1, 2]).text().into_bytes();
        assert_eq!(parse(&whole), (revoked(&[1, 2]).keys, true));
        for at in 0..whole.len() {
            assert!(!parse(&whole[..at]).1, "{at}");
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(!parse(&changed).1, "{at}");
        }
        let lines: Vec<&[u8]> = whole.split_inclusive(|octet| *octet == b'\n').collect();
        for left_out in 0..lines.len() {
            let rest: Vec<&[u8]> =
                lines.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, line)| *line).collect();
            assert!(!parse(&rest.concat()).1, "{left_out}");
        }
        assert!(!parse(&[&whole[..], &whole[..]].concat()).1 && !parse(b"").1);
        // The first key is damaged, the second is read.
        let mut changed = whole.clone();
        changed[HEAD.len() + 20] ^= 1;
        assert_eq!(parse(&changed).0, revoked(&[2]).keys);
        let disk = disk();
        revoked(&[1, 2]).write(&disk, folder()).unwrap();
        disk.damage(&folder().join(NAME), HEAD.len() as u64 + 20, |octets| octets[0] ^= 1);
        let read = Revoked::read(&disk, folder());
        assert!(read.problem.is_some_and(|line| line.contains("api-key confirm")) && read.keys.len() == 1);
    }
}
