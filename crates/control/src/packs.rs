//! The folder where packs made from text are kept, so that the next start reads no text.
//!
//! ```text
//! zones-TIME-N.zpack   packs, newest first by TIME and N; a zone is served from the newest that has it
//! .zones-….tmp         being written; left over only by a crash, removed at the next start
//! NAME.damaged         was found damaged
//! lock                 held by the server that uses the folder
//! ```
//!
//! A pack is written under a temporary name, synced, renamed, and the folder synced: after a crash it is there
//! as a whole or not at all. It is removed once no zone is served from it.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wire::{Name, SortKey};
use zone::{Pack, ZoneView};

use crate::stamp::{Stamp, now_ns};
use crate::system::map_pack;
use crate::text::cannot;

const SUFFIX: &str = ".zpack";

/// A folder of packs, held by this process alone.
pub struct PackFolder {
    path: PathBuf,
    _lock: File,
    written: AtomicU32,
}

/// The zones of all packs in a folder; of each the newest.
#[derive(Default)]
pub struct Stored {
    packs: Vec<Arc<Pack>>,
    hasher: RandomState,
    /// Hash of the name, number of the pack, number of the zone there; in this order.
    zones: Vec<(u64, u32, u32)>,
}

impl Stored {
    /// The zones of packs, the oldest pack first.
    pub fn of(packs: &[Arc<Pack>]) -> Stored {
        let mut stored = Stored { packs: packs.to_vec(), ..Stored::default() };
        for (at, pack) in packs.iter().enumerate() {
            let zones = (0..pack.zone_count()).filter_map(|number| {
                let zone = ZoneView::new(pack, number)?;
                Some((stored.hasher.hash_one(zone.apex_key()), at as u32, number))
            });
            stored.zones.extend(zones);
        }
        stored.zones.sort_unstable();
        stored
    }

    /// The zone of this name: its pack and its number there.
    pub fn find(&self, name: &Name) -> Option<(&Arc<Pack>, u32)> {
        let key = SortKey::of(name);
        let hash = self.hasher.hash_one(key.octets());
        let end = self.zones.partition_point(|&(other, ..)| other <= hash);
        let same = self.zones[..end].iter().rev().take_while(|&&(other, ..)| other == hash);
        // The newest first.
        same.map(|&(_, pack, number)| (&self.packs[pack as usize], number)).find(|(pack, number)| {
            ZoneView::new(pack, *number).is_some_and(|zone| zone.apex_key() == key.octets())
        })
    }

    /// The zone of this name made from a text of this stamp.
    pub fn find_current(&self, name: &Name, stamp: &Stamp) -> Option<(&Arc<Pack>, u32)> {
        let (pack, number) = self.find(name)?;
        let row = pack.zone_row(number);
        (row.text_time != 0 && row.text_time == stamp.time && row.text_octets == stamp.octets)
            .then_some((pack, number))
    }
}

impl PackFolder {
    /// Takes a folder into use; it is made if it does not exist.
    pub fn open(path: &Path) -> Result<PackFolder, String> {
        let describe = |act: &str, error: &io::Error| {
            format!("pack-directory {}: {}", path.display(), cannot(act, error))
        };
        fs::create_dir_all(path).map_err(|error| describe("make it", &error))?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock"));
        let lock = lock.map_err(|error| describe("write into it", &error))?;
        if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
            return Err(format!("pack-directory {}: another server uses it", path.display()));
        }
        Ok(PackFolder { path: path.to_owned(), _lock: lock, written: AtomicU32::new(0) })
    }

    /// Maps all packs. One that is damaged is set aside with a warning: its zones are read from text.
    pub fn stored(&self) -> Stored {
        let mut packs = Vec::new();
        for name in self.names() {
            let path = self.path.join(&name);
            match map_pack(&path) {
                Ok((pack, _)) => packs.push(Arc::new(pack)),
                Err(problem) => {
                    let aside = self.path.join(format!("{name}.damaged"));
                    // If it cannot be set aside it is found again at the next start: no more than a repeated warning.
                    let _ = fs::rename(&path, &aside);
                    tracing::warn!(
                        "pack {}: {problem}; set aside as {name}.damaged, its zones are read from text",
                        path.display()
                    );
                }
            }
        }
        Stored::of(&packs)
    }

    /// Names of the packs, oldest first; leftovers of a crash are removed.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        for name in names.iter().filter(|name| name.starts_with(".zones-") && name.ends_with(".tmp")) {
            let _ = fs::remove_file(self.path.join(name));
        }
        names.retain(|name| name.starts_with("zones-") && name.ends_with(SUFFIX));
        names.sort();
        names
    }

    /// Stores a pack and maps the stored one in its stead.
    pub fn store(&self, pack: &Pack) -> Result<Pack, String> {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let name = format!("zones-{:016x}-{number:04}{SUFFIX}", now_ns());
        let path = self.path.join(&name);
        write_file(&path, &self.path.join(format!(".{name}.tmp")), pack.octets())?;
        let mapped = map_pack(&path).map_err(|problem| format!("{}: {problem}", path.display()))?;
        Ok(mapped.0)
    }

    /// Removes the packs from which no zone is served; `used` are those that are.
    pub fn remove_unused<'p>(&self, used: impl Iterator<Item = &'p Pack>) {
        let seeds: Vec<u64> = used.map(Pack::seed).collect();
        for name in self.names() {
            let path = self.path.join(&name);
            // The seed is random, and at the same place in every pack: it tells packs apart.
            let unused = seed_of(&path).is_ok_and(|seed| !seeds.contains(&seed));
            if unused && fs::remove_file(&path).is_ok() {
                tracing::debug!("pack {}: no zone is served from it any more, removed", path.display());
            }
        }
    }
}

fn seed_of(path: &Path) -> io::Result<u64> {
    use std::os::unix::fs::FileExt;
    let mut octets = [0; 8];
    File::open(path)?.read_exact_at(&mut octets, 24)?;
    Ok(u64::from_le_bytes(octets))
}

/// Writes a file such that it is there as a whole or not at all, whatever happens in between.
pub fn write_file(path: &Path, temporary: &Path, octets: &[u8]) -> Result<(), String> {
    let write = || -> io::Result<()> {
        let mut file = File::create(temporary)?;
        file.write_all(octets)?;
        file.sync_all()?;
        fs::rename(temporary, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| {
        let _ = fs::remove_file(temporary);
        format!("{}: {}", path.display(), cannot("write", &error))
    })
}
