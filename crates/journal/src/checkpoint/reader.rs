//! Reading checkpoints: entry after entry, each chunk checked before it is given.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::NameBuf;

use super::{
    ALIGNMENT, CHUNK_HEAD_OCTETS, CHUNK_OCTETS, CheckpointError, END_OCTETS, ENTRY_HEAD_OCTETS,
    FILE_HEAD_OCTETS, FORMAT_VERSION, Head, MAGIC, key, read_head,
};
use crate::anchor::FileMark;
use crate::disk::{Disk, File};
use crate::octets::Reader as Octets;
use crate::sum::{Identity, Key};

/// A checkpoint that is read.
pub struct Checkpoint {
    path: PathBuf,
    file: Arc<dyn File>,
    key: Key,
    octets: u64,
    /// Where the next entry begins; `None`: the end was read, or what follows is damaged.
    next: Option<u64>,
    entries: u64,
    checksum: u64,
}

/// An entry that is read: its octets through [`Read`], whose errors of kind `InvalidData` say that it is damaged. Those of another are the
/// disk's.
pub struct Reading<'c> {
    checkpoint: &'c mut Checkpoint,
    /// What the entry says.
    pub head: Head,
    end: u64,
    at: u64,
    chunk: Vec<u8>,
    /// Octets of the chunk that were given.
    given: usize,
    is_last: bool,
    head_sum: u64,
    is_ended: bool,
}

impl Checkpoint {
    /// Opens the file that `mark` names in `folder`.
    pub fn open(
        disk: &dyn Disk,
        folder: &Path,
        mark: &FileMark,
        identity: &Identity,
    ) -> Result<Checkpoint, CheckpointError> {
        let path = folder.join(super::file_name(mark.number));
        let io = |error| CheckpointError::Io(path.clone(), error);
        let file = disk.open(&path).map_err(io)?;
        let octets = file.octets().map_err(io)?;
        if octets < (FILE_HEAD_OCTETS + END_OCTETS) as u64 {
            return Err(CheckpointError::Rest { path, octet: octets });
        }
        let mut head = [0; FILE_HEAD_OCTETS];
        file.read_at(&mut head, 0).map_err(io)?;
        let key = key(identity, mark.number);
        let mut reader = Octets::new(&head);
        let is_right = reader.take(8) == Some(&MAGIC) && reader.u32() == Some(FORMAT_VERSION);
        let sum = Octets::new(&head[56..]).u64();
        if !is_right || sum != Some(key.at(0).sum(&head[..56])) {
            return Err(CheckpointError::Foreign(path));
        }
        let checksum = sum.unwrap_or_default();
        Ok(Checkpoint { path, file, key, octets, next: Some(FILE_HEAD_OCTETS as u64), entries: 0, checksum })
    }

    /// The next entry; `None` at the end. After an error of one entry the one behind it is next.
    pub fn next_entry(&mut self) -> Result<Option<Reading<'_>>, CheckpointError> {
        let Some(at) = self.next.take() else { return Ok(None) };
        let mut octets = vec![0; (ENTRY_HEAD_OCTETS + 256).min((self.octets - at.min(self.octets)) as usize)];
        self.file.read_at(&mut octets, at).map_err(|error| CheckpointError::Io(self.path.clone(), error))?;
        if Octets::new(octets.get(8..).unwrap_or_default()).u64() == Some(0) {
            return self.end(at, &octets).map(|()| None);
        }
        let read = read_head(self.key, at, &octets);
        let Some((head, length, head_sum)) = read else { return Err(self.rest(at)) };
        let body = (ENTRY_HEAD_OCTETS + head.zone.octets().len().next_multiple_of(ALIGNMENT)) as u64;
        let end = at.saturating_add(length);
        if length < body || end > self.octets {
            return Err(self.rest(at));
        }
        self.next = Some(end);
        self.entries += 1;
        let reading = Reading {
            checkpoint: self,
            head,
            end,
            at: at + body,
            chunk: Vec::new(),
            given: 0,
            is_last: false,
            head_sum,
            is_ended: false,
        };
        Ok(Some(reading))
    }

    fn rest(&self, octet: u64) -> CheckpointError {
        CheckpointError::Rest { path: self.path.clone(), octet }
    }

    /// The end says how many entries there are. Their checksum is compared where all octets were read.
    fn end(&self, at: u64, octets: &[u8]) -> Result<(), CheckpointError> {
        let end = octets.get(..END_OCTETS).ok_or_else(|| self.rest(at))?;
        let mut reader = Octets::new(end);
        let (sum, _, entries) = (reader.u64(), reader.u64(), reader.u64());
        let is_right = sum == Some(self.key.at(at).sum(&end[8..])) && entries == Some(self.entries);
        if is_right { Ok(()) } else { Err(self.rest(at)) }
    }

    /// The checksum of what was read, which is the file's once all octets of all entries were.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The checksum that the end of the file says it has; `None`: the end is damaged.
    pub fn file_checksum(&self) -> Option<u64> {
        let at = self.octets.checked_sub(END_OCTETS as u64)?;
        let mut end = [0; END_OCTETS];
        self.file.read_at(&mut end, at).ok()?;
        let mut reader = Octets::new(&end);
        let (sum, _, _, checksum) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        (sum == self.key.at(at).sum(&end[8..])).then_some(checksum)
    }

    fn add(&mut self, sum: u64) {
        self.checksum = self.key.at(self.checksum).sum(&sum.to_le_bytes());
    }
}

impl Reading<'_> {
    /// The error that says which entry is damaged, and where.
    pub fn damaged(&self) -> CheckpointError {
        CheckpointError::Entry { path: self.checkpoint.path.clone(), octet: self.at, zone: self.zone() }
    }

    fn zone(&self) -> NameBuf {
        self.head.zone.clone()
    }

    /// Reads and checks the next chunk. `None`: it is damaged.
    fn read_chunk(&mut self) -> io::Result<Option<()>> {
        let left = (self.end - self.at) as usize;
        let mut head = [0; CHUNK_HEAD_OCTETS];
        if left < CHUNK_HEAD_OCTETS {
            return Ok(None);
        }
        self.checkpoint.file.read_at(&mut head, self.at)?;
        let mut reader = Octets::new(&head);
        let (sum, octets, is_last) = (reader.u64(), reader.u32(), reader.u32());
        let octets = octets.unwrap_or_default() as usize;
        if octets > CHUNK_OCTETS || CHUNK_HEAD_OCTETS + octets.next_multiple_of(ALIGNMENT) > left {
            return Ok(None);
        }
        self.chunk.resize(CHUNK_HEAD_OCTETS + octets, 0);
        self.checkpoint.file.read_at(&mut self.chunk, self.at)?;
        if sum != Some(self.checkpoint.key.at(self.at).sum(&self.chunk[8..])) {
            return Ok(None);
        }
        self.at += (CHUNK_HEAD_OCTETS + octets.next_multiple_of(ALIGNMENT)) as u64;
        self.given = CHUNK_HEAD_OCTETS;
        self.is_last = is_last == Some(1);
        self.checkpoint.add(sum.unwrap_or_default());
        Ok(Some(()))
    }
}

impl Read for Reading<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.chunk.len() {
            if self.is_last {
                if !std::mem::replace(&mut self.is_ended, true) {
                    self.checkpoint.add(self.head_sum);
                }
                return Ok(0);
            }
            if self.read_chunk()?.is_none() {
                (self.chunk, self.given) = (Vec::new(), 0);
                return Err(io::Error::new(io::ErrorKind::InvalidData, self.damaged()));
            }
        }
        let count = into.len().min(self.chunk.len() - self.given);
        into[..count].copy_from_slice(&self.chunk[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
