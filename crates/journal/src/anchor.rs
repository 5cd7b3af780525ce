//! Which files have the zones, and from which group on the log is needed: `docs/design/journal.md` 4.
//!
//! ```text
//! two pages of 4,096 octets in one file; the one with the higher number counts
//! 0..8 ZONDAAN\n | 8..12 version | 12..16 files | 16..24 number | 24..40 identity of the log | 40..48 first group that is needed
//! 48..56 last group of which a file has something | 56..60 epoch | 60..64 zero | 64..72 newest time | 72..: files of 40 octets | .. sum u64
//! file: kind u32 (1 pack, 2 checkpoint) | zero u32 | number u64 | checksum u64 | octets u64 | last group u64
//! ```
//!
//! Only one page is written at a time: never the one that is known to be on the disk. A page that was read may be in memory alone, so a start
//! writes it once more, octet for octet ([`Anchor::confirm`]), before anything is done that only it allows.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, File, PAGE_OCTETS};
use crate::log::Start;
use crate::octets::{Reader, put};
use crate::sum::{Identity, Key};

const MAGIC: [u8; 8] = *b"ZONDAAN\n";
const FORMAT_VERSION: u32 = 1;
/// The name of the file.
const FILE: &str = "anchor";
const HEAD_OCTETS: usize = 72;
const MARK_OCTETS: usize = 40;
const SUM_AT: usize = PAGE_OCTETS - 8;
/// Files that an anchor can name: what fits its page. Packs are at most 64, checkpoints are joined before they are more than 36.
pub const FILES_MAX: usize = (SUM_AT - HEAD_OCTETS) / MARK_OCTETS;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pack of zones.
    Pack,
    /// What has changed since.
    Checkpoint,
}

/// A file that a start needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMark {
    /// What it is.
    pub kind: Kind,
    /// Its number, which its name says.
    pub number: u64,
    /// The checksum of its content.
    pub checksum: u64,
    /// Its length.
    pub octets: u64,
    /// The last group of which it has something; 0: none.
    pub last_group: u64,
}

/// What an anchor says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The identity of the log.
    pub identity: Identity,
    /// The first group of the log that is needed. What is before it is void, whoever asks.
    pub first: u64,
    /// The last group of which a file has something.
    pub known: u64,
    /// The epoch of the log.
    pub epoch: u32,
    /// The newest time that was seen, in seconds since 1970: a clock that says less is wrong.
    pub time: u64,
    /// At most [`FILES_MAX`].
    pub files: Vec<FileMark>,
}

impl Content {
    /// What the log has to know of it.
    pub fn start(&self) -> Start {
        Start { identity: Some(self.identity), first: self.first, known: self.known, epoch: self.epoch }
    }

    fn write(&self, number: u64, page: usize) -> [u8; PAGE_OCTETS] {
        let mut octets = [0; PAGE_OCTETS];
        put(&mut octets, 0, &MAGIC);
        put(&mut octets, 8, &FORMAT_VERSION.to_le_bytes());
        put(&mut octets, 12, &(self.files.len() as u32).to_le_bytes());
        put(&mut octets, 16, &number.to_le_bytes());
        put(&mut octets, 24, &self.identity);
        put(&mut octets, 40, &self.first.to_le_bytes());
        put(&mut octets, 48, &self.known.to_le_bytes());
        put(&mut octets, 56, &self.epoch.to_le_bytes());
        put(&mut octets, 64, &self.time.to_le_bytes());
        for (file, at) in self.files.iter().zip((HEAD_OCTETS..).step_by(MARK_OCTETS)) {
            let kind: u32 = if file.kind == Kind::Pack { 1 } else { 2 };
            put(&mut octets, at, &kind.to_le_bytes());
            put(&mut octets, at + 8, &file.number.to_le_bytes());
            put(&mut octets, at + 16, &file.checksum.to_le_bytes());
            put(&mut octets, at + 24, &file.octets.to_le_bytes());
            put(&mut octets, at + 32, &file.last_group.to_le_bytes());
        }
        let sum = key(page).sum(&octets[..SUM_AT]);
        put(&mut octets, SUM_AT, &sum.to_le_bytes());
        octets
    }

    /// The content of a page and its number.
    fn read(octets: &[u8; PAGE_OCTETS], page: usize) -> Option<(u64, Content)> {
        let (body, sum) = octets.split_at(SUM_AT);
        let mut reader = Reader::new(body);
        let (magic, version) = (reader.take(8)?, reader.u32()?);
        if magic != MAGIC || version != FORMAT_VERSION || Reader::new(sum).u64()? != key(page).sum(body) {
            return None;
        }
        let (count, number) = (reader.u32()? as usize, reader.u64()?);
        let identity = reader.take(16)?.try_into().ok()?;
        let (first, known, epoch, _, time) =
            (reader.u64()?, reader.u64()?, reader.u32()?, reader.u32()?, reader.u64()?);
        let mut files = Vec::new();
        for _ in 0..count.min(FILES_MAX) {
            let kind = match reader.u32()? {
                1 => Kind::Pack,
                2 => Kind::Checkpoint,
                _ => return None,
            };
            reader.u32()?;
            let (number, checksum) = (reader.u64()?, reader.u64()?);
            files.push(FileMark { kind, number, checksum, octets: reader.u64()?, last_group: reader.u64()? });
        }
        Some((number, Content { identity, first, known, epoch, time, files }))
    }
}

/// The key of a page: one that is copied to the other place is none.
fn key(page: usize) -> Key {
    Key::new(&MAGIC.repeat(2).try_into().unwrap_or_default()).at(page as u64)
}

/// Why there is no anchor, where there is a file.
#[derive(Debug)]
pub enum AnchorError {
    /// It cannot be read.
    Io(PathBuf, io::Error),
    /// Neither page is as it was written, or they are of another version of the format.
    Damaged(PathBuf),
}

impl fmt::Display for AnchorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnchorError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            AnchorError::Damaged(path) => {
                write!(
                    f,
                    "{}: neither page is whole, or of a version that this program knows",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for AnchorError {}

/// See the module.
pub struct Anchor {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    file: Option<Arc<dyn File>>,
    /// Number, content and page of the newest that was written or read.
    newest: Option<(u64, Content, usize)>,
}

impl Anchor {
    /// Reads the anchor of a folder, which is made if it is not there.
    pub fn open(disk: Arc<dyn Disk>, folder: &Path) -> Result<Anchor, AnchorError> {
        let path = folder.join(FILE);
        let io = |error| AnchorError::Io(path.clone(), error);
        disk.make_folder(folder).map_err(io)?;
        let mut anchor = Anchor { disk, folder: folder.to_owned(), file: None, newest: None };
        let file = match anchor.disk.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(anchor),
            Err(error) => return Err(io(error)),
        };
        for page in 0..2 {
            let mut octets = [0; PAGE_OCTETS];
            // A page that cannot be read is one that is damaged.
            if file.read_at(&mut octets, (page * PAGE_OCTETS) as u64).is_err() {
                continue;
            }
            let Some((number, content)) = Content::read(&octets, page) else { continue };
            if anchor.newest.as_ref().is_none_or(|newest| newest.0 < number) {
                anchor.newest = Some((number, content, page));
            }
        }
        anchor.file = Some(file);
        if anchor.newest.is_none() { Err(AnchorError::Damaged(path)) } else { Ok(anchor) }
    }

    /// What it says; `None`: there is none yet.
    pub fn content(&self) -> Option<&Content> {
        self.newest.as_ref().map(|(_, content, _)| content)
    }

    /// Has what was read on the disk for sure. Before it has succeeded nothing may be removed or used again that another anchor would need.
    pub fn confirm(&mut self) -> io::Result<()> {
        let (Some((number, content, page)), Some(file)) = (&self.newest, &self.file) else { return Ok(()) };
        file.write_at(&content.write(*number, *page), (page * PAGE_OCTETS) as u64)?;
        file.sync()?;
        self.disk.sync_folder(&self.folder)
    }

    /// Writes another one and waits until it is on the disk. The error: it may be there or not; what the one before needs is still needed, and
    /// what this one needs too. Panics if it names more than [`FILES_MAX`] files.
    pub fn write(&mut self, content: &Content) -> io::Result<()> {
        assert!(content.files.len() <= FILES_MAX, "checkpoints are joined before they are too many");
        let (number, page) = match &self.newest {
            Some((number, _, page)) => (number + 1, 1 - page),
            None => (1, 0),
        };
        let octets = content.write(number, page);
        match &self.file {
            Some(file) => {
                file.write_at(&octets, (page * PAGE_OCTETS) as u64)?;
                file.sync()?;
            }
            None => self.file = Some(self.make(&octets)?),
        }
        self.newest = Some((number, content.clone(), page));
        Ok(())
    }

    /// Makes the file with its first page.
    fn make(&self, octets: &[u8]) -> io::Result<Arc<dyn File>> {
        let new = self.folder.join(format!("{FILE}.new"));
        if let Err(error) = self.disk.remove(&new)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let file = self.disk.create(&new)?;
        file.write_at(&[0; 2 * PAGE_OCTETS], 0)?;
        file.write_at(octets, 0)?;
        file.sync()?;
        self.disk.rename(&new, &self.folder.join(FILE))?;
        self.disk.sync_folder(&self.folder)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::simulated::{Faults, Simulated};
    use sync::Random;

    fn content(first: u64) -> Content {
        let file = |number| FileMark {
            kind: if number % 2 == 0 { Kind::Pack } else { Kind::Checkpoint },
            number,
            checksum: number * 7,
            octets: 100,
            last_group: first,
        };
        Content {
            identity: [3; 16],
            first,
            known: first,
            epoch: 4,
            time: 5,
            files: (0..first % 20).map(file).collect(),
        }
    }

    fn open(disk: &Simulated) -> Result<Anchor, AnchorError> {
        Anchor::open(Arc::new(disk.clone()), Path::new("base"))
    }

    /// What was written stays until something newer is there, through crashes and failed syncs; what a start has confirmed too.
    #[test]
    fn the_newest_that_was_written_is_found() {
        let (mut failed, mut newer) = (0, 0);
        for seed in 0..150 {
            let mut random = Random::new(seed);
            let mut disk = Simulated::new(seed);
            let (mut written, mut tried) = (0, 0);
            for _ in 0..12 {
                disk.set_faults(Faults::default());
                let mut anchor = open(&disk).expect("an anchor or none");
                let found = anchor.content().map_or(0, |content| content.first);
                assert!((written..=tried).contains(&found), "seed {seed}: {found} of {written} to {tried}");
                newer += usize::from(found > written);
                assert!(anchor.content().is_none_or(|content| *content == self::content(found)));
                disk.set_faults(Faults { sync: 0.1, write: 0.05, names: 0.05, ..Faults::default() });
                disk.fail_after(random.index(25));
                if anchor.confirm().is_ok() {
                    written = found;
                    for _ in 0..random.index(6) {
                        tried += 1;
                        match anchor.write(&content(tried)) {
                            Ok(()) => written = tried,
                            Err(_) => failed += 1,
                        }
                    }
                }
                disk = if random.chance(0.7) { disk.crash() } else { disk.kill() };
            }
        }
        assert!(failed > 100 && newer > 20, "{failed} {newer}");
    }

    #[test]
    fn one_page_may_be_damaged_and_not_both() {
        let disk = Simulated::new(1);
        let mut anchor = open(&disk).expect("none");
        anchor.write(&content(1)).expect("written");
        anchor.write(&content(2)).expect("written");
        let path = Path::new("base/anchor");
        disk.damage(path, PAGE_OCTETS as u64 + 50, |octets| octets[0] ^= 1);
        assert_eq!(open(&disk).expect("the other").content(), Some(&content(1)));
        disk.damage(path, 4000, |octets| octets[0] ^= 1);
        assert!(matches!(open(&disk), Err(AnchorError::Damaged(_))));
    }

    #[test]
    fn as_many_files_as_fit() {
        let disk = Simulated::new(1);
        let mark = FileMark { kind: Kind::Pack, number: 1, checksum: 2, octets: 3, last_group: 4 };
        let many = Content { files: vec![mark; FILES_MAX], ..content(1) };
        open(&disk).expect("none").write(&many).expect("written");
        assert_eq!(open(&disk).expect("written").content(), Some(&many));
    }
}
