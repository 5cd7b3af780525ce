//! The two files of a zone.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::{Name, NameBuf};

use super::{Bound, Listed, hash};
use crate::disk::{Disk, File};
use crate::octets::{Reader, put};
use crate::record::{RECORD_OCTETS_MAX, Record};
use crate::sum::Key;

const MAGIC: [u8; 8] = *b"ZONDAHI\n";
const MAGIC_TEXT: &[u8] = &MAGIC;
const FORMAT_VERSION: u32 = 1;
const FILE_HEAD_OCTETS: usize = 32;
pub(super) const ENTRY_HEAD_OCTETS: usize = 48;
const TRAILER_OCTETS: usize = 8;
const ALIGNMENT: usize = 8;
/// Nothing that is longer is an entry.
const ENTRY_OCTETS_MAX: usize = RECORD_OCTETS_MAX + 1024;

/// An entry that is in a file.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) file: Arc<dyn File>,
    pub(super) at: u64,
    pub(super) group: u64,
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) time: u64,
    pub(super) removed: usize,
    pub(super) added: usize,
    sum: u64,
}

impl Place {
    pub(super) fn listed(&self) -> Listed {
        let Place { group, before, after, time, removed, added, .. } = *self;
        Listed { group, before, after, time, octets: (removed + added) as u64 }
    }

    /// Octets of the whole entry.
    fn octets(&self) -> u64 {
        entry_octets(self.removed, self.added) as u64
    }

    /// Reads its records. `None`: they are damaged.
    pub(super) fn read(&self, zone: &Name) -> io::Result<Option<Vec<u8>>> {
        let mut octets = vec![0; self.removed + self.added];
        self.file.read_at(&mut octets, self.at + ENTRY_HEAD_OCTETS as u64)?;
        Ok((key(zone).sum(&octets) == self.sum).then_some(octets))
    }
}

fn key(zone: &Name) -> Key {
    Key::new(b"zonda's history ").at(hash(zone))
}

fn entry_octets(removed: usize, added: usize) -> usize {
    ENTRY_HEAD_OCTETS + (removed + added).next_multiple_of(ALIGNMENT) + TRAILER_OCTETS
}

/// An entry in octets. Its head's checksum is made again for its place.
pub(super) fn entry(group: u64, record: &Record<'_>, removed: &[u8], added: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; ENTRY_HEAD_OCTETS];
    octets.extend_from_slice(removed);
    octets.extend_from_slice(added);
    let sum = key(record.zone).sum(&octets[ENTRY_HEAD_OCTETS..]);
    put(&mut octets, 8, &sum.to_le_bytes());
    put(&mut octets, 16, &group.to_le_bytes());
    put(&mut octets, 24, &record.serial_before.to_le_bytes());
    put(&mut octets, 28, &record.serial_after.to_le_bytes());
    put(&mut octets, 32, &record.time.to_le_bytes());
    put(&mut octets, 40, &(removed.len() as u32).to_le_bytes());
    put(&mut octets, 44, &(added.len() as u32).to_le_bytes());
    octets.resize(entry_octets(removed.len(), added.len()) - TRAILER_OCTETS, 0);
    let length = (octets.len() + TRAILER_OCTETS) as u32;
    octets.extend(u64::from(length).to_le_bytes());
    octets
}

/// The zone that a file is of, by its head.
pub(super) fn zone_of(disk: &dyn Disk, path: &Path) -> io::Result<Option<NameBuf>> {
    let file = disk.open(path)?;
    let mut head = vec![0; (file.octets()? as usize).min(FILE_HEAD_OCTETS + wire::name::NAME_OCTETS_MAX)];
    file.read_at(&mut head, 0)?;
    let mut reader = Reader::new(&head);
    let (Some(MAGIC_TEXT), Some(_), Some(octets)) = (reader.take(8), reader.u32(), reader.u32()) else {
        return Ok(None);
    };
    let name = head.get(FILE_HEAD_OCTETS..).and_then(|rest| rest.get(..octets as usize));
    Ok(name.and_then(|name| Name::from_wire(name).ok()).map(Name::to_owned))
}

/// One file of a zone.
#[derive(Clone)]
struct ZoneFile {
    file: Arc<dyn File>,
    /// Which of the two.
    which: usize,
    sequence: u64,
    /// Up to the end of its last entry.
    octets: u64,
    /// Entries in it, if they were counted.
    count: u32,
}

/// The files of a zone, as far as they are there and can be read.
#[derive(Clone)]
pub(super) struct ZoneFiles {
    zone: NameBuf,
    folder: PathBuf,
    /// The one in use first.
    files: Vec<ZoneFile>,
    last: Option<Last>,
}

/// The newest entry.
#[derive(Clone, Copy)]
pub(super) struct Last {
    pub(super) group: u64,
    pub(super) after: u32,
}

/// Octets of the names of folders: of the first octet of the hash.
pub(super) const FOLDER_NAME_OCTETS: usize = 2;
const LETTERS: [&str; 2] = ["a", "b"];

impl ZoneFiles {
    /// No files.
    pub(super) fn none(folder: &Path, zone: &Name) -> ZoneFiles {
        let folder = folder.join(format!("{:02x}", hash(zone) >> 56));
        ZoneFiles { zone: zone.to_owned(), folder, files: Vec::new(), last: None }
    }

    /// Looks at the files of a zone; those that are damaged, or another's, count as none.
    pub(super) fn load(disk: &dyn Disk, folder: &Path, zone: &Name) -> io::Result<ZoneFiles> {
        let mut files = ZoneFiles::none(folder, zone);
        for which in 0..2 {
            match disk.open(&files.path(which)) {
                Ok(file) => files.files.extend(files.open(file, which)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        files.files.sort_by_key(|file| std::cmp::Reverse(file.sequence));
        let newest = files.backwards(disk)?.next().transpose()?;
        files.last = newest.map(|place| Last { group: place.group, after: place.after });
        Ok(files)
    }

    fn path(&self, which: usize) -> PathBuf {
        self.folder.join(format!("{:016x}.{}", hash(&self.zone), LETTERS[which]))
    }

    pub(super) fn last(&self) -> Option<Last> {
        self.last
    }

    /// Octets before the first entry.
    pub(super) fn head_octets(&self) -> u64 {
        (FILE_HEAD_OCTETS + self.zone.octets().len().next_multiple_of(ALIGNMENT)) as u64
    }

    fn head(&self, sequence: u64) -> Vec<u8> {
        let name = self.zone.to_lowercase();
        let mut octets = vec![0; FILE_HEAD_OCTETS];
        put(&mut octets, 0, &MAGIC);
        put(&mut octets, 8, &FORMAT_VERSION.to_le_bytes());
        put(&mut octets, 12, &(name.octets().len() as u32).to_le_bytes());
        put(&mut octets, 16, &sequence.to_le_bytes());
        octets.extend_from_slice(name.octets());
        octets.resize(self.head_octets() as usize, 0);
        let sum = key(&self.zone).sum(&octets);
        put(&mut octets, 24, &sum.to_le_bytes());
        octets
    }

    /// A file with the right head, up to its last whole entry.
    fn open(&self, file: Arc<dyn File>, which: usize) -> io::Result<Option<ZoneFile>> {
        let length = file.octets()?;
        let mut octets = vec![0; self.head_octets() as usize];
        if length < octets.len() as u64 {
            return Ok(None);
        }
        file.read_at(&mut octets, 0)?;
        let sequence = Reader::new(&octets[16..]).u64().unwrap_or_default();
        if octets != self.head(sequence) {
            return Ok(None);
        }
        let mut found = ZoneFile { file, which, sequence, octets: length, count: 0 };
        if self.entry_before(&found, length)?.is_none() {
            self.cut_off(&mut found)?;
        }
        Ok(Some(found))
    }

    /// The end is torn: entries count from the beginning on as far as they are whole.
    fn cut_off(&self, file: &mut ZoneFile) -> io::Result<()> {
        let length = file.octets;
        file.octets = self.head_octets();
        while let Some(place) = self.entry_at(file, file.octets, length)? {
            if place.read(&self.zone)?.is_none() {
                break;
            }
            file.octets += place.octets();
        }
        Ok(())
    }

    /// The entry that begins at `at` and ends at `end` or before.
    fn entry_at(&self, file: &ZoneFile, at: u64, end: u64) -> io::Result<Option<Place>> {
        let mut head = [0; ENTRY_HEAD_OCTETS];
        if at < self.head_octets() || at + (ENTRY_HEAD_OCTETS + TRAILER_OCTETS) as u64 > end {
            return Ok(None);
        }
        file.file.read_at(&mut head, at)?;
        Ok(self.read_head(file, &head, at).filter(|place| at + place.octets() <= end))
    }

    fn read_head(&self, file: &ZoneFile, head: &[u8], at: u64) -> Option<Place> {
        let mut reader = Reader::new(head);
        if reader.u64()? != self.head_key(file, at).sum(&head[8..]) {
            return None;
        }
        let (sum, group, before, after, time) =
            (reader.u64()?, reader.u64()?, reader.u32()?, reader.u32()?, reader.u64()?);
        let (removed, added) = (reader.u32()? as usize, reader.u32()? as usize);
        Some(Place { file: Arc::clone(&file.file), at, group, before, after, time, removed, added, sum })
    }

    /// Heads are of one place of one use of a file.
    fn head_key(&self, file: &ZoneFile, at: u64) -> Key {
        key(&self.zone).at(file.sequence).at(at)
    }

    /// The entry that ends at `end`.
    fn entry_before(&self, file: &ZoneFile, end: u64) -> io::Result<Option<Place>> {
        let mut trailer = [0; TRAILER_OCTETS];
        if end < self.head_octets() + (ENTRY_HEAD_OCTETS + TRAILER_OCTETS) as u64 {
            return Ok(None);
        }
        file.file.read_at(&mut trailer, end - TRAILER_OCTETS as u64)?;
        let octets = u64::from_le_bytes(trailer);
        if octets > ENTRY_OCTETS_MAX as u64 || octets > end {
            return Ok(None);
        }
        let place = self.entry_at(file, end - octets, end)?;
        Ok(place.filter(|place| place.octets() == octets))
    }

    /// Entries from the newest on, as long as each leads to the one behind it.
    pub(super) fn backwards(&self, _: &dyn Disk) -> io::Result<Backwards<'_>> {
        let end = self.files.first().map_or(0, |file| file.octets);
        Ok(Backwards { files: self, which: 0, end, before: None })
    }

    /// Appends an entry; where the file in use has no room for it, to a new one in the other's place. Returns the path that was written.
    pub(super) fn append(
        &mut self,
        disk: &dyn Disk,
        mut octets: Vec<u8>,
        bound: Bound,
    ) -> io::Result<PathBuf> {
        let half = Bound { octets: bound.octets / 2, versions: (bound.versions / 2).max(1) };
        let is_full =
            |file: &ZoneFile| file.octets + octets.len() as u64 > half.octets || file.count >= half.versions;
        if self.files.first().is_none_or(is_full) {
            self.change_over(disk)?;
        }
        let Some(file) = self.files.first() else { return Err(io::Error::other("no file of the history")) };
        let sum = self.head_key(file, file.octets).sum(&octets[8..ENTRY_HEAD_OCTETS]);
        put(&mut octets, 0, &sum.to_le_bytes());
        file.file.write_at(&octets, file.octets)?;
        let mut reader = Reader::new(&octets[16..]);
        let (group, _, after) = (reader.u64(), reader.u32(), reader.u32());
        let path = self.path(file.which);
        if let Some(file) = self.files.first_mut() {
            file.octets += octets.len() as u64;
            file.count += 1;
        }
        self.last = group.zip(after).map(|(group, after)| Last { group, after });
        Ok(path)
    }

    /// Makes the older file anew. Who reads it has it open.
    fn change_over(&mut self, disk: &dyn Disk) -> io::Result<()> {
        disk.make_folder(&self.folder)?;
        let which = self.files.first().map_or(0, |file| 1 - file.which);
        let sequence = self.files.first().map_or(1, |file| file.sequence + 1);
        let path = self.path(which);
        let new = path.with_extension("new");
        if let Err(error) = disk.remove(&new)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let file = disk.create(&new)?;
        file.write_at(&self.head(sequence), 0)?;
        disk.rename(&new, &path)?;
        self.files.retain(|file| file.which != which);
        self.files.insert(0, ZoneFile { file, which, sequence, octets: self.head_octets(), count: 0 });
        Ok(())
    }

    /// Removes both, for good: what comes later may have the same serials.
    pub(super) fn remove(&mut self, disk: &dyn Disk) -> io::Result<()> {
        let mut has_removed = false;
        for which in 0..2 {
            match disk.remove(&self.path(which)) {
                Ok(()) => has_removed = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        (self.files, self.last) = (Vec::new(), None);
        if has_removed { disk.sync_folder(&self.folder) } else { Ok(()) }
    }

    /// With the number of entries of the file in use.
    pub(super) fn counted(mut self) -> io::Result<ZoneFiles> {
        let Some(file) = self.files.first() else { return Ok(self) };
        let (mut end, mut count) = (file.octets, 0);
        while let Some(place) = self.entry_before(file, end)? {
            (end, count) = (place.at, count + 1);
        }
        if let Some(file) = self.files.first_mut() {
            file.count = count;
        }
        Ok(self)
    }

    /// What is wrong, and where.
    pub(super) fn verify(&self, disk: &dyn Disk) -> io::Result<Vec<String>> {
        let mut faults = Vec::new();
        for which in 0..2 {
            let path = self.path(which);
            let there = match disk.open(&path) {
                Ok(file) => file.octets()?,
                Err(_) => continue,
            };
            let Some(file) = self.files.iter().find(|file| file.which == which) else {
                faults.push(format!("{}: its head is damaged, or it is of another zone", path.display()));
                continue;
            };
            let mut at = self.head_octets();
            while let Some(place) = self.entry_at(file, at, file.octets)? {
                if place.read(&self.zone)?.is_none() {
                    let (before, after) = (place.before, place.after);
                    faults.push(format!(
                        "{}, octet {at}: serial {before} to {after} is damaged",
                        path.display()
                    ));
                }
                at += place.octets();
            }
            if at < there {
                faults.push(format!("{}: damaged from octet {at} to its end", path.display()));
            }
        }
        Ok(faults)
    }
}

/// See [`ZoneFiles::backwards`].
pub(super) struct Backwards<'f> {
    files: &'f ZoneFiles,
    which: usize,
    end: u64,
    /// The serial that the next one leads to, and the group that it is before.
    before: Option<(u32, u64)>,
}

impl Iterator for Backwards<'_> {
    type Item = io::Result<Place>;

    fn next(&mut self) -> Option<io::Result<Place>> {
        let mut file = self.files.files.get(self.which)?;
        if self.end <= self.files.head_octets() {
            self.which += 1;
            file = self.files.files.get(self.which)?;
            self.end = file.octets;
        }
        let place = match self.files.entry_before(file, self.end) {
            Ok(place) => place?,
            Err(error) => return Some(Err(error)),
        };
        if self.before.is_some_and(|(serial, group)| place.after != serial || place.group > group) {
            return None;
        }
        self.end = place.at;
        self.before = Some((place.before, place.group));
        Some(Ok(place))
    }
}
