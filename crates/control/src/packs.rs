//! The folder where packs made from text are kept, so that the next start reads no text.
//!
//! ```text
//! zones-TIME-N.zpack   packs, newest first by TIME and N; a zone is served from the newest that has it
//! .zones-….tmp         being written; left over only by a crash, removed at the next start
//! NAME.damaged         was found damaged
//! restricted           there while zones have access lists of their own
//! removed              names of zones that packs have and that are no longer served, one a line
//! members              what catalogs list: see `catalogs::file`
//! owned, followed      which zones are of stores, and their versions: see `stores`
//! lock                 held by the server that uses the folder
//! ```
//!
//! A folder that cannot be made, written or locked is read all the same: what it has is served, and nothing in it is changed.
//!
//! A pack is written under a temporary name, synced, renamed, and the folder synced: after a crash it is there
//! as a whole or not at all. It is removed once no zone is served from it.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use journal::disk::{Disk, System};
use sync::Mutex;
use wire::{Name, NameBuf, SortKey};
use zone::Pack;

use crate::disk::{self, NotLocked, lock_folder};
use crate::read::read_bounded;
use crate::stamp::{Stamp, now_ns};
use crate::system::map_pack;
use crate::text::cannot;

const SUFFIX: &str = ".zpack";
/// Behind the name of a pack.
const DAMAGED: &str = ".damaged";
const REMOVED: &str = "removed";
/// See the module.
pub(crate) const LOCK: &str = "lock";
const RESTRICTED: &str = "restricted";
/// Names beyond this are served once more for a moment: more than the names of ten million zones.
const REMOVED_OCTETS_MAX: u64 = 1 << 28;

/// A folder of packs, held by this process alone if it can be written.
pub struct PackFolder {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    /// `None`: nothing in the folder may be changed.
    lock: Option<File>,
    written: AtomicU32,
    /// The time in the name of the newest pack, whatever a clock says that went back: a start goes by these names.
    newest: AtomicU64,
    /// Whether a damaged pack could not be set aside.
    was_left: AtomicBool,
    /// Whether there may be a pack that is not known here: see [`PackFolder::has_stray`].
    has_stray: AtomicBool,
    /// Of the last attempt to store a pack, if it failed.
    trouble: Mutex<Option<Trouble>>,
    /// Why nothing in the folder may be changed until the next start.
    closed: Option<String>,
    /// Whether another server writes it for now, as one hands over to the other.
    is_held: AtomicBool,
}

/// A pack could not be stored.
struct Trouble {
    line: String,
    at: Instant,
    /// How long the next attempt waits.
    pause: Duration,
}

/// Pause after a failed attempt to store a pack, in times of what that took: a full disk is written to for a twentieth of the time.
const PAUSE_FACTOR: u32 = 20;
/// The shortest and the longest such pause: who mends the folder and reloads need not wait, nor an hour after a large pack.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// A pack, and the file that it is stored in if there is one of ours.
pub struct StoredPack {
    /// The pack.
    pub pack: Arc<Pack>,
    /// Its file in the pack folder.
    pub file: Option<PathBuf>,
}

impl StoredPack {
    /// A pack that is nowhere but in memory, or that the operator made.
    pub fn elsewhere(pack: Pack) -> Arc<StoredPack> {
        Arc::new(StoredPack { pack: Arc::new(pack), file: None })
    }

    /// Key of the apex of a zone.
    pub(crate) fn key(&self, number: u32) -> &[u8] {
        self.pack.apex(&self.pack.zone_row(number)).map_or(&[], |(_, key)| key)
    }
}

/// The zones of some packs; of each the newest.
#[derive(Default)]
pub struct Stored {
    packs: Vec<Arc<StoredPack>>,
    hasher: RandomState,
    /// Hash of the name, number of the pack and number of the zone in it; sorted.
    zones: Vec<(u64, u32, u32)>,
}

impl Stored {
    /// The zones of packs, the oldest pack first.
    pub fn of(packs: Vec<Arc<StoredPack>>) -> Stored {
        let mut stored = Stored { packs, ..Stored::default() };
        stored.zones.reserve_exact(stored.packs.iter().map(|pack| pack.pack.zone_count() as usize).sum());
        for (at, pack) in (0..).zip(&stored.packs) {
            let hash = |number| stored.hasher.hash_one(pack.key(number));
            stored.zones.extend((0..pack.pack.zone_count()).map(|number| (hash(number), at, number)));
        }
        stored.zones.sort_unstable();
        stored
    }

    /// The packs, the oldest first.
    pub fn packs(&self) -> &[Arc<StoredPack>] {
        &self.packs
    }

    /// The zone of this name: its pack and its number there.
    pub fn find(&self, name: &Name) -> Option<(&Arc<StoredPack>, u32)> {
        if self.zones.is_empty() {
            return None;
        }
        let key = SortKey::of(name);
        let hash = self.hasher.hash_one(key.octets());
        let first = self.zones.partition_point(|(other, ..)| *other < hash);
        let same = self.zones[first..].iter().take_while(|(other, ..)| *other == hash);
        // The last one is in the newest pack.
        let (_, at, number) =
            same.filter(|(_, at, number)| self.packs[*at as usize].key(*number) == key.octets()).last()?;
        Some((&self.packs[*at as usize], *number))
    }

    /// The zone of this name made from a text of this stamp.
    pub fn find_current(&self, name: &Name, stamp: &Stamp) -> Option<(&Arc<StoredPack>, u32)> {
        let (pack, number) = self.find(name)?;
        let row = pack.pack.zone_row(number);
        (row.text_mark != 0 && row.text_mark == stamp.mark).then_some((pack, number))
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Leaves the names of packs, the oldest first.
fn retain_packs(names: &mut Vec<String>) {
    names.retain(|name| name.starts_with("zones-") && name.ends_with(SUFFIX));
    names.sort();
}

/// The time in the name of the newest pack of a folder; 0: it has none.
fn newest_in(folder: &Path) -> u64 {
    let mut names = names_in(folder);
    retain_packs(&mut names);
    let time = |name: &String| u64::from_str_radix(name.split('-').nth(1)?, 16).ok();
    names.iter().filter_map(time).max().unwrap_or_default()
}

/// The packs of a folder that can be read, the oldest first. Nothing in it is changed.
pub(crate) fn stored_in(folder: &Path) -> Vec<Arc<StoredPack>> {
    let mut names = names_in(folder);
    retain_packs(&mut names);
    let stored = names.iter().map(|name| folder.join(name)).filter_map(|path| {
        let (pack, _) = map_pack(&path).ok()?;
        Some(Arc::new(StoredPack { pack: Arc::new(pack), file: Some(path) }))
    });
    stored.collect()
}

impl PackFolder {
    /// Takes a folder into use; it is made if it does not exist. One that cannot be is [read](PackFolder::is_writable) only, with a
    /// warning. The error: another server uses it, and each would remove what the other needs.
    pub fn open(path: &Path) -> Result<PackFolder, String> {
        PackFolder::open_with(path, None)
    }

    /// As [`PackFolder::open`], with the lock of the server that hands over, if it is that of this folder; nothing is written then until
    /// [`PackFolder::hold`] is told otherwise.
    pub(crate) fn open_with(path: &Path, handed: Option<File>) -> Result<PackFolder, String> {
        PackFolder::open_on(Arc::new(System), path, handed)
    }

    /// The same where changes of the folder are `disk`'s.
    pub(crate) fn open_on(
        disk: Arc<dyn Disk>,
        path: &Path,
        handed: Option<File>,
    ) -> Result<PackFolder, String> {
        let is_held = AtomicBool::new(handed.is_some());
        let opened = match lock_folder(path, LOCK, handed) {
            Ok(lock) => Ok(lock),
            Err(NotLocked::Used) => {
                return Err(format!("pack-directory {}: another server uses it", path.display()));
            }
            Err(NotLocked::Cannot(act, error)) => Err((act, error)),
        };
        let closed = opened.as_ref().err().map(|(act, error)| {
            let (source, error) = (path.display(), cannot(act, error));
            let line = format!(
                "pack-directory {source}: {error}; packs there are used and none is stored, until the next start"
            );
            tracing::warn!(%source, error, "{line}");
            line
        });
        let trouble = Mutex::named("pack folder", None);
        let (written, newest) = (AtomicU32::new(0), AtomicU64::new(newest_in(path)));
        let (path, lock) = (path.to_owned(), opened.ok());
        let (was_left, has_stray) = <(AtomicBool, AtomicBool)>::default();
        let folder =
            PackFolder { path, disk, lock, written, newest, was_left, has_stray, trouble, closed, is_held };
        Ok(folder)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The disk that it is on.
    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.disk)
    }

    /// The lock, for the server that is to take over; `None` where the folder could not be locked.
    pub(crate) fn lock(&self) -> io::Result<Option<File>> {
        self.lock.as_ref().map(File::try_clone).transpose()
    }

    /// Says whether another server writes the folder for now: this one neither writes nor removes packs then.
    pub(crate) fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::SeqCst);
    }

    /// Whether another server writes the folder for now.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::SeqCst)
    }

    /// Whether no other server than this one, and the one it takes over from, uses it.
    pub(crate) fn is_ours(&self) -> bool {
        self.lock.is_some()
    }

    /// Whether packs can be stored and removed.
    pub fn is_writable(&self) -> bool {
        self.lock.is_some() && !self.is_held()
    }

    /// Removes the file of a pack that no zone is served from; says whether it is gone. What cannot be removed is found unused again at the
    /// next start.
    pub fn remove(&self, file: &Path) -> bool {
        if !self.is_writable() {
            return false;
        }
        let removed = self.disk.remove(file);
        let is_pack = file.extension().is_some_and(|extension| *extension == SUFFIX[1..]);
        self.has_stray.fetch_or(is_pack && is_left(&removed), Ordering::SeqCst);
        removed.is_ok()
    }

    /// Maps all packs, the oldest first. One that is damaged is set aside with a warning: its zones are read from text.
    pub fn stored(&self) -> Vec<Arc<StoredPack>> {
        let mut packs = Vec::new();
        for name in self.names() {
            let path = self.path.join(&name);
            match map_pack(&path) {
                Ok((pack, _)) => packs.push(Arc::new(StoredPack { pack: Arc::new(pack), file: Some(path) })),
                Err(problem) => {
                    let aside = self.path.join(format!("{name}{DAMAGED}"));
                    // If it cannot be set aside it is found again at the next start: no more than a repeated warning.
                    let is_aside = self.is_writable() && self.disk.rename(&path, &aside).is_ok();
                    self.was_left.fetch_or(!is_aside, Ordering::Relaxed);
                    let aside = if is_aside { format!("set aside as {name}.damaged") } else { "left".into() };
                    let (source, error) = (path.display(), problem);
                    tracing::warn!(
                        %source,
                        error,
                        "pack {source}: {error}; {aside}, its zones are read from text"
                    );
                }
            }
        }
        packs
    }

    /// Whether any pack was found damaged, by this start or one before.
    pub(crate) fn has_damaged(&self) -> bool {
        let is_damaged = |name: &String| name.starts_with("zones-") && name.ends_with(DAMAGED);
        names_in(&self.path).iter().any(is_damaged) || self.was_left.load(Ordering::Relaxed)
    }

    /// Names of the packs, oldest first; leftovers of a crash are removed.
    fn names(&self) -> Vec<String> {
        let mut names = names_in(&self.path);
        for name in names.iter().filter(|name| name.starts_with(".zones-") && name.ends_with(".tmp")) {
            self.remove(&self.path.join(name));
        }
        retain_packs(&mut names);
        names
    }

    /// Names of zones that are in packs and are not to be served: these are from before they were removed.
    pub fn removed(&self) -> Vec<NameBuf> {
        let text = read_bounded(&self.path.join(REMOVED), REMOVED_OCTETS_MAX).unwrap_or_default();
        text.lines().filter_map(|line| NameBuf::from_text(line).ok()).collect()
    }

    /// Stores these names; does nothing where nothing is stored.
    pub fn set_removed<'n>(&self, names: impl Iterator<Item = &'n Name>) -> Result<(), String> {
        if !self.is_writable() {
            return Ok(());
        }
        let text: String = names.map(|name| format!("{name}\n")).collect();
        self.write_file(REMOVED, ".removed.tmp", text.as_bytes())
    }

    /// Whether zones had access lists of their own when that was noted last. What cannot be looked at is there.
    pub fn is_restricted(&self) -> bool {
        self.path.join(RESTRICTED).try_exists().unwrap_or(true)
    }

    /// Notes it; does nothing where nothing is stored.
    pub fn set_restricted(&self, is_restricted: bool) -> Result<(), String> {
        let path = self.path.join(RESTRICTED);
        match is_restricted == self.is_restricted() {
            _ if self.lock.is_none() => Ok(()),
            true => Ok(()),
            false if is_restricted => self.write_file(RESTRICTED, ".restricted.tmp", b""),
            false => self
                .disk
                .remove(&path)
                .map_err(|error| format!("{}: {}", path.display(), cannot("remove", &error))),
        }
    }

    /// Why the last pack could not be stored; `None`: it could.
    pub fn failure(&self) -> Option<String> {
        self.trouble.lock().as_ref().map(|trouble| trouble.line.clone())
    }

    /// Why packs cannot be stored now; `None`: they can, or another server stores them.
    pub(crate) fn problem(&self) -> Option<String> {
        self.closed.clone().or_else(|| self.failure())
    }

    /// When packs that could not be stored are due to be tried again; `pause_min`: if nobody else comes before.
    pub fn retry(&self, pause_min: Duration) -> Option<Instant> {
        self.trouble.lock().as_ref().map(|trouble| trouble.at + trouble.pause.max(pause_min))
    }

    /// Stores a pack and maps the stored one in its stead. After a failure attempts pause for a while, and fail as that one did. Says
    /// failures in the log, the same one once.
    pub fn store(&self, pack: &Pack) -> Result<Arc<StoredPack>, String> {
        if let Some(trouble) = &*self.trouble.lock()
            && trouble.at.elapsed() < trouble.pause
        {
            return Err(trouble.line.clone());
        }
        let started = Instant::now();
        let stored = self.store_now(pack);
        let line = stored.as_ref().err().map(|problem| {
            format!("{problem}; zones are served from memory, and the next start reads their text unless it can be stored before")
        });
        // Not held while a pack is written, which takes long.
        let mut trouble = self.trouble.lock();
        let was = trouble.take().map(|trouble| trouble.line);
        match &line {
            Some(line) if was.as_ref() != Some(line) => tracing::warn!(error = line, "{line}"),
            None if was.is_some() => {
                let source = self.path.display();
                tracing::info!(%source, "pack-directory {source}: packs can be stored again");
            }
            _ => {}
        }
        let (at, pause) = (Instant::now(), started.elapsed() * PAUSE_FACTOR);
        *trouble = line.map(|line| Trouble { line, at, pause: pause.clamp(PAUSES.0, PAUSES.1) });
        stored
    }

    fn write_file(&self, name: &str, temporary: &str, octets: &[u8]) -> Result<(), String> {
        let path = self.path.join(name);
        disk::replace(&*self.disk, &path, &self.path.join(temporary), octets)
            .map_err(|error| format!("{}: {}", path.display(), cannot("write", &error)))
    }

    /// A time later than that of any pack.
    fn next_time(&self) -> u64 {
        let now = now_ns();
        let next = |newest: u64| now.max(newest.saturating_add(1));
        let raised =
            self.newest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |newest| Some(next(newest)));
        next(raised.unwrap_or_default())
    }

    /// Removes a pack that was not stored to the end: a start would take it for the newest.
    fn remove_stray(&self, path: &Path) {
        self.has_stray.fetch_or(is_left(&self.disk.remove(path)), Ordering::SeqCst);
    }

    /// Whether there may be a pack that nobody here knows: a start would take zones from there, so none is to be in another pack alone.
    pub(crate) fn has_stray(&self) -> bool {
        self.has_stray.load(Ordering::SeqCst)
    }

    fn store_now(&self, pack: &Pack) -> Result<Arc<StoredPack>, String> {
        let describe = |problem: String| format!("pack-directory {}: {problem}", self.path.display());
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let name = format!("zones-{:016x}-{number:04}{SUFFIX}", self.next_time());
        let path = self.path.join(&name);
        let temporary = self.path.join(format!(".{name}.tmp"));
        let stored = disk::replace(&*self.disk, &path, &temporary, pack.octets())
            .map_err(|error| describe(cannot("store a pack", &error)))
            .and_then(|()| map_pack(&path).map_err(describe));
        let mapped = stored.inspect_err(|_| self.remove_stray(&path))?;
        Ok(Arc::new(StoredPack { pack: Arc::new(mapped.0), file: Some(path) }))
    }
}

/// Whether a file may still be there that was to be removed.
fn is_left(removed: &io::Result<()>) -> bool {
    removed.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
}

/// Writes a file such that it is there as a whole or not at all, whatever happens in between.
pub fn write_file(path: &Path, temporary: &Path, octets: &[u8]) -> Result<(), String> {
    disk::replace(&System, path, temporary, octets)
        .map_err(|error| format!("{}: {}", path.display(), cannot("write", &error)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::iana::rtype;
    use zone::contents::SourcePosition;
    use zone::{ContentsBuilder, PackBuilder, TextStamp};

    fn pack(names: impl Iterator<Item = String>, time: u64) -> Arc<StoredPack> {
        let mut builder = PackBuilder::new(time);
        for name in names {
            let apex: NameBuf = name.parse().unwrap();
            let mut contents = ContentsBuilder::new(&apex);
            contents.push(&apex, false, rtype::SOA, 9, &[0; 22], SourcePosition::default()).unwrap();
            builder.add_zone(&contents.finish(), TextStamp { mark: time, ..TextStamp::default() }).unwrap();
        }
        StoredPack::elsewhere(Pack::open(builder.finish().unwrap()).unwrap())
    }

    #[test]
    fn the_newest_of_each_is_found() {
        let name = |number: u32| format!("z{number}.example");
        let stored = Stored::of(vec![pack((0..3000).map(name), 1), pack((2000..4000).map(name), 2)]);
        let stamp = |mark| Stamp { mark, ..Stamp::default() };
        for number in 0..5000 {
            let name: NameBuf = name(number).to_uppercase().parse().unwrap();
            let found = stored.find(&name).map(|(pack, at)| {
                assert!(pack.pack.apex(&pack.pack.zone_row(at)).unwrap().0.eq_ignore_case(&name));
                pack.pack.zone_row(at).text_mark
            });
            let expected = if number < 2000 { Some(1) } else { (number < 4000).then_some(2) };
            assert_eq!(found, expected, "{name}");
            for time in 1..3 {
                assert_eq!(stored.find_current(&name, &stamp(time)).is_some(), expected == Some(time));
            }
        }
        assert!(Stored::default().find(Name::root()).is_none());
    }
}
