//! Files with what has changed of many zones since their packs: `docs/design/journal.md` 4. What is said of each is its caller's octets.
//!
//! ```text
//! head    0..8 ZONDACP\n | 8..12 version | 12..16 zero | 16..24 number | 24..40 identity of the log | 40..56 zero | 56..64 sum
//! entry   0..8 sum of the head | 8..16 octets of all, a multiple of 8 | 16..24 number of the pack | 24..32 its checksum | 32..40 group
//!         40..44 serial | 44 kind | 45 octets of the name | 46..48 zero | name, zeros | chunks
//! chunk   0..8 sum | 8..12 octets | 12..16 1: the last of the entry | octets, zeros
//! end     0..8 sum | 8..16 0 | 16..24 entries | 24..32 checksum of the file: over the sums of all heads and chunks
//! ```
//!
//! All checksums are keyed with the identity, the number of the file and the place. A file is written under another name, synced and renamed:
//! one that is there is whole, or damaged.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::{Name, NameBuf};

use crate::anchor::{FileMark, Kind};
use crate::disk::{Disk, File};
use crate::octets::{Reader as Octets, put};
use crate::sum::{Identity, Key};

mod reader;
#[cfg(test)]
mod tests;

pub use reader::{Checkpoint, Reading};

const MAGIC: [u8; 8] = *b"ZONDACP\n";
const FORMAT_VERSION: u32 = 1;
const FILE_HEAD_OCTETS: usize = 64;
const ENTRY_HEAD_OCTETS: usize = 48;
const CHUNK_HEAD_OCTETS: usize = 16;
const END_OCTETS: usize = 32;
const ALIGNMENT: usize = 8;
/// Octets of a chunk: what is checked, and held in memory, at a time.
const CHUNK_OCTETS: usize = 256 << 10;

/// Of which zone an entry is, and what it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The zone's apex.
    pub zone: NameBuf,
    /// What the octets are, as their writer counts.
    pub kind: u8,
    /// The pack that they lie over, and the checksum of its content.
    pub pack: u64,
    /// See `pack`.
    pub pack_checksum: u64,
    /// The last group of the log that is in them.
    pub group: u64,
    /// The serial of the zone with them.
    pub serial: u32,
}

/// The name of a checkpoint's file.
pub fn file_name(number: u64) -> String {
    format!("checkpoint-{number}.delta")
}

/// The number that the name of a checkpoint's file says.
pub fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("checkpoint-")?.strip_suffix(".delta")?.parse().ok()
}

/// What is wrong with a checkpoint.
#[derive(Debug)]
pub enum CheckpointError {
    /// It cannot be read.
    Io(PathBuf, io::Error),
    /// In a format that this program does not know, of another log, or under another's name.
    Foreign(PathBuf),
    /// An entry is damaged; the next one can be read.
    Entry {
        /// Where.
        path: PathBuf,
        /// Octets from the beginning of the file.
        octet: u64,
        /// Of which zone.
        zone: NameBuf,
    },
    /// The file is damaged, from there to its end.
    Rest {
        /// Where.
        path: PathBuf,
        /// Octets from the beginning of the file.
        octet: u64,
    },
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            CheckpointError::Foreign(path) => write!(f, "{}: no checkpoint of this log", path.display()),
            CheckpointError::Entry { path, octet, zone } => {
                write!(f, "{}, octet {octet}: what it has of {zone} is damaged", path.display())
            }
            CheckpointError::Rest { path, octet } => {
                write!(f, "{}: damaged from octet {octet} to its end", path.display())
            }
        }
    }
}

impl std::error::Error for CheckpointError {}

fn key(identity: &Identity, number: u64) -> Key {
    Key::new(identity).at(u64::from_le_bytes(MAGIC)).at(number)
}

/// Writes a checkpoint. One that is not finished leaves a file that no start looks at.
pub struct Writer {
    disk: Arc<dyn Disk>,
    file: Arc<dyn File>,
    folder: PathBuf,
    number: u64,
    key: Key,
    /// Where the next octets go.
    at: u64,
    entries: u64,
    checksum: u64,
    last_group: u64,
}

impl Writer {
    /// Begins the file of checkpoint `number`, which must not be there.
    pub fn create(
        disk: Arc<dyn Disk>,
        folder: &Path,
        number: u64,
        identity: &Identity,
    ) -> io::Result<Writer> {
        let new = folder.join(new_name(number));
        if let Err(error) = disk.remove(&new)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let file = disk.create(&new)?;
        let key = key(identity, number);
        let mut head = [0; FILE_HEAD_OCTETS];
        put(&mut head, 0, &MAGIC);
        put(&mut head, 8, &FORMAT_VERSION.to_le_bytes());
        put(&mut head, 16, &number.to_le_bytes());
        put(&mut head, 24, identity);
        let checksum = key.at(0).sum(&head[..56]);
        put(&mut head, 56, &checksum.to_le_bytes());
        file.write_at(&head, 0)?;
        let (at, folder) = (FILE_HEAD_OCTETS as u64, folder.to_owned());
        Ok(Writer { disk, file, folder, number, key, at, entries: 0, checksum, last_group: 0 })
    }

    /// Begins an entry; its octets are written to what is returned, and ended there.
    pub fn begin(&mut self, head: Head) -> EntryWriter<'_> {
        let start = self.at;
        self.at += (ENTRY_HEAD_OCTETS + head.zone.octets().len().next_multiple_of(ALIGNMENT)) as u64;
        EntryWriter { writer: self, head, start, chunk: vec![0; CHUNK_HEAD_OCTETS] }
    }

    /// Octets so far.
    pub fn octets(&self) -> u64 {
        self.at
    }

    fn add(&mut self, sum: u64) {
        self.checksum = self.key.at(self.checksum).sum(&sum.to_le_bytes());
    }

    /// Ends the file and waits until it is on the disk under its name.
    pub fn finish(mut self) -> io::Result<FileMark> {
        let mut end = [0; END_OCTETS];
        put(&mut end, 16, &self.entries.to_le_bytes());
        put(&mut end, 24, &self.checksum.to_le_bytes());
        let sum = self.key.at(self.at).sum(&end[8..]);
        put(&mut end, 0, &sum.to_le_bytes());
        self.file.write_at(&end, self.at)?;
        self.at += END_OCTETS as u64;
        self.file.sync()?;
        self.disk
            .rename(&self.folder.join(new_name(self.number)), &self.folder.join(file_name(self.number)))?;
        self.disk.sync_folder(&self.folder)?;
        Ok(FileMark {
            kind: Kind::Checkpoint,
            number: self.number,
            checksum: self.checksum,
            octets: self.at,
            last_group: self.last_group,
        })
    }
}

fn new_name(number: u64) -> String {
    format!("{}.new", file_name(number))
}

/// Takes the octets of an entry.
#[must_use = "an entry is ended by `end`"]
pub struct EntryWriter<'w> {
    writer: &'w mut Writer,
    head: Head,
    start: u64,
    /// A head, and the octets that wait.
    chunk: Vec<u8>,
}

impl io::Write for EntryWriter<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let room = CHUNK_HEAD_OCTETS + CHUNK_OCTETS - self.chunk.len();
        let taken = octets.len().min(room);
        self.chunk.extend_from_slice(&octets[..taken]);
        if taken == room {
            self.write_chunk(false)?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl EntryWriter<'_> {
    fn write_chunk(&mut self, is_last: bool) -> io::Result<()> {
        let octets = (self.chunk.len() - CHUNK_HEAD_OCTETS) as u32;
        put(&mut self.chunk, 8, &octets.to_le_bytes());
        put(&mut self.chunk, 12, &u32::from(is_last).to_le_bytes());
        let sum = self.writer.key.at(self.writer.at).sum(&self.chunk[8..]);
        put(&mut self.chunk, 0, &sum.to_le_bytes());
        self.chunk.resize(self.chunk.len().next_multiple_of(ALIGNMENT), 0);
        self.writer.file.write_at(&self.chunk, self.writer.at)?;
        self.writer.at += self.chunk.len() as u64;
        self.writer.add(sum);
        self.chunk.truncate(CHUNK_HEAD_OCTETS);
        Ok(())
    }

    /// Ends the entry.
    pub fn end(mut self) -> io::Result<()> {
        self.write_chunk(true)?;
        let EntryWriter { writer, head, start, .. } = self;
        let name = head.zone.octets();
        let mut octets = vec![0; ENTRY_HEAD_OCTETS + name.len().next_multiple_of(ALIGNMENT)];
        put(&mut octets, 8, &(writer.at - start).to_le_bytes());
        put(&mut octets, 16, &head.pack.to_le_bytes());
        put(&mut octets, 24, &head.pack_checksum.to_le_bytes());
        put(&mut octets, 32, &head.group.to_le_bytes());
        put(&mut octets, 40, &head.serial.to_le_bytes());
        put(&mut octets, 44, &[head.kind, name.len() as u8]);
        put(&mut octets, ENTRY_HEAD_OCTETS, name);
        let sum = writer.key.at(start).sum(&octets[8..]);
        put(&mut octets, 0, &sum.to_le_bytes());
        writer.file.write_at(&octets, start)?;
        writer.add(sum);
        writer.entries += 1;
        writer.last_group = writer.last_group.max(head.group);
        Ok(())
    }
}

/// Reads the head of an entry at `at`: of it, octets of all of it, and its checksum.
fn read_head(key: Key, at: u64, octets: &[u8]) -> Option<(Head, u64, u64)> {
    let mut reader = Octets::new(octets);
    let sum = reader.u64()?;
    let (length, pack, pack_checksum, group, serial) =
        (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?, reader.u32()?);
    let (kind, name_octets, _) = (reader.u8()?, usize::from(reader.u8()?), reader.u16()?);
    let name = reader.take(name_octets)?;
    let whole = octets.get(8..ENTRY_HEAD_OCTETS + name_octets.next_multiple_of(ALIGNMENT))?;
    if key.at(at).sum(whole) != sum {
        return None;
    }
    let zone = Name::from_wire(name).ok()?.to_owned();
    Some((Head { zone, kind, pack, pack_checksum, group, serial }, length, sum))
}

/// Makes the checksums of a file right again, as far as its lengths lead. For fuzzing.
#[cfg(any(test, feature = "simulated"))]
pub(crate) fn mend(octets: &mut [u8], number: u64, identity: &Identity) {
    let key = key(identity, number);
    let seal = |octets: &mut [u8], at: usize, end: usize| {
        if let Some(part) = octets.get(at + 8..end) {
            let sum = key.at(at as u64).sum(part);
            put(octets, at, &sum.to_le_bytes());
        }
    };
    let number_at = |octets: &[u8], at: usize| Octets::new(octets.get(at..).unwrap_or_default()).u64();
    let sum = key.at(0).sum(&octets[..56]);
    put(octets, 56, &sum.to_le_bytes());
    let mut at = FILE_HEAD_OCTETS;
    while let Some(length) = number_at(octets, at + 8) {
        if length == 0 {
            return seal(octets, at, at + END_OCTETS);
        }
        let name = octets.get(at + 45).copied().unwrap_or_default();
        let body = at + ENTRY_HEAD_OCTETS + usize::from(name).next_multiple_of(ALIGNMENT);
        seal(octets, at, body);
        let end = at.saturating_add(length as usize).min(octets.len());
        let mut chunk = body;
        while chunk + CHUNK_HEAD_OCTETS <= end {
            let count = number_at(octets, chunk + 8).unwrap_or_default() as u32 as usize;
            seal(octets, chunk, chunk + CHUNK_HEAD_OCTETS + count);
            chunk += CHUNK_HEAD_OCTETS + count.next_multiple_of(ALIGNMENT);
        }
        at = end.max(body);
    }
}
