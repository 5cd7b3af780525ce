//! What was learned, over a restart: written when the server ends and on demand, handed to the one that takes over, taken in while that answers from it already.
//!
//! ```text
//! cache.new --(whole, on the disk)--> cache        a server that dies while it writes leaves the file of before, and the start removes the other
//! ```
//!
//! For the server's user alone: it tells what clients asked for, and the secret that names are placed by.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cache::dump::{Dump, DumpError, Situation, Source};
use rustix::fs::MemfdFlags;

use super::Recursion;
use super::premises::Premises;
use crate::disk::{NotLocked, lock_folder};
use crate::settings::Settings;
use crate::text::{Span, cannot, count};

/// The file that is locked as long as a server uses the folder; not the one of packs, as both may be one folder.
const LOCK: &str = "resolver.lock";
/// Name of the file in the folder of the settings.
const FILE: &str = "cache";
/// The same while it is written.
const TEMPORARY: &str = "cache.new";
/// A file is as long as the cache at most, which may have been larger when it was written; one that is longer than so many is none of ours.
const FILE_TIMES_MAX: u64 = 16;
/// Octets that are written at once.
const BUFFER_OCTETS: usize = 1 << 20;

/// A file as it is read: where, by whom, and when does not matter to it.
struct Kept {
    file: File,
    octets: u64,
}

impl Source for Kept {
    fn octets(&self) -> u64 {
        self.octets
    }

    fn read(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(to, at)
    }
}

impl Recursion {
    fn situation(&self) -> Situation {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Situation { now: self.now(), wall }
    }

    /// Writes the cache to the folder of the settings, as a whole or not at all. How many entries; `None` where there is no folder.
    pub(crate) fn write(&self) -> Result<Option<usize>, String> {
        let Some(folder) = &self.folder else { return Ok(None) };
        // One at a time: they have one name.
        let _writing = self.writing.lock();
        let (path, temporary) = (folder.join(FILE), folder.join(TEMPORARY));
        let write = || -> io::Result<usize> {
            // A file of before, from wherever, may be another's.
            fs::remove_file(&temporary).or_else(absent)?;
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            let entries = self.write_to(&file)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(folder)?.sync_all()?;
            Ok(entries)
        };
        let written = write().inspect_err(|_| drop(fs::remove_file(&temporary)));
        written.map(Some).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    fn write_to(&self, file: &File) -> io::Result<usize> {
        // What is not taken in yet is to be in it.
        self.take_in_all();
        let premises = self.premises_text();
        let mut buffered = BufWriter::with_capacity(BUFFER_OCTETS, file);
        let entries = self.cache().write_dump(&mut buffered, &self.situation(), premises.as_bytes())?;
        buffered.flush()?;
        Ok(entries)
    }

    /// What the cache depends on, as lines.
    fn premises_text(&self) -> String {
        let negatives = self.negatives().into_iter().map(|(name, _)| name);
        self.current_terms().premises.text(negatives)
    }

    /// Says what became of writing at the end.
    pub(crate) fn write_at_end(&self) {
        let started = Instant::now();
        match self.write() {
            Ok(None) => {}
            Ok(Some(entries)) => {
                let after = Span(started.elapsed());
                tracing::info!(entries, "wrote {} of the cache in {after}", entries_text(entries));
            }
            Err(line) => tracing::error!(
                error = line,
                "{line}; the next start begins with the cache of before, or an empty one"
            ),
        }
    }

    /// The lock of the folder, for the server that takes over; `None` where there is none.
    pub(crate) fn lock(&self) -> io::Result<Option<File>> {
        self.lock.as_ref().map(File::try_clone).transpose()
    }

    /// What was learned until now, for the server that takes over: the file in the folder, or one in memory where there is no folder.
    pub(crate) fn hand(&self) -> Option<File> {
        let written = self.write().unwrap_or_else(|line| {
            tracing::warn!(error = line, "{line}; the cache is handed over in memory");
            None
        });
        let path = self.folder.as_ref().filter(|_| written.is_some()).map(|folder| folder.join(FILE));
        let file = path.map_or_else(|| self.write_in_memory(), File::open);
        let failed = |error: &io::Error| {
            tracing::warn!(%error, "the cache cannot be handed over, and begins empty: {error}");
        };
        file.inspect_err(failed).ok()
    }

    fn write_in_memory(&self) -> io::Result<File> {
        let file = File::from(rustix::fs::memfd_create("cache", MemfdFlags::CLOEXEC)?);
        self.write_to(&file)?;
        Ok(file)
    }

    /// Has all that the server before has written count as known from now on. `handed`: by the server that this one takes over from.
    pub(crate) fn restore(&self, handed: Option<File>) {
        let path = self.folder.as_ref().map(|folder| folder.join(FILE));
        let opened = match (handed, &path) {
            (Some(file), _) => sized(file).map(Some).map_err(|error| cannot("look at it", &error)),
            (None, Some(path)) => {
                // Of a server that died while it wrote.
                let _ = fs::remove_file(path.with_file_name(TEMPORARY));
                open(path)
            }
            (None, None) => return,
        };
        let restored = opened.and_then(|kept| kept.map_or(Ok(()), |kept| self.restore_from(kept)));
        if let Err(line) = restored {
            let of = path.map_or_else(|| "what was handed over".into(), |path| path.display().to_string());
            tracing::warn!(error = line, "{of}: {line}; the cache begins empty");
        }
    }

    fn restore_from(&self, kept: Kept) -> Result<(), String> {
        if kept.octets > (self.cache().octets() as u64).saturating_mul(FILE_TIMES_MAX) {
            return Err(format!("{} octets are more than such a cache has", kept.octets));
        }
        // Whoever looks for a name waits for the disk else.
        let _ = rustix::fs::fadvise(&kept.file, 0, None, rustix::fs::Advice::WillNeed);
        let dump = Dump::open(Box::new(kept), &self.situation()).map_err(reason)?;
        match dump.missing() {
            0 => {}
            parts => tracing::warn!(parts, "of the cache that was kept {} cut off", count(parts, "part is")),
        }
        if dump.missing() == 0 && dump.mended() > 0 {
            tracing::warn!(
                "the cache that was kept is damaged where its parts begin or at its end; nothing is lost by that"
            );
        }
        let premises = Premises::read(dump.about());
        // Before it is there: what does not hold any more never is.
        for flush in Premises::read(self.premises_text().as_bytes()).flushes_since(&premises) {
            tracing::info!(
                "of the cache that was kept {} is left out, as settings have changed",
                below(&flush)
            );
            self.cache().flush(&flush, self.now());
        }
        self.cache().restore(dump);
        Ok(())
    }

    /// Takes in what was restored, on a thread of its own: answers do not wait for it.
    pub(crate) fn take_in_on_a_thread(self: &Arc<Self>) -> io::Result<()> {
        let recursion = Arc::clone(self);
        thread::Builder::new().name("cache".into()).spawn(move || recursion.take_in_all()).map(drop)
    }

    fn take_in_all(&self) {
        let started = Instant::now();
        let restored = loop {
            let restored = self.cache().take_in(self.now());
            if restored.is_done {
                break restored;
            }
        };
        let cache::dump::Loaded { entries, spans, servers, passed_over, wrong, damaged } = restored.loaded;
        if damaged + wrong > 0 {
            let groups = count(damaged, "group is");
            tracing::warn!(
                damaged,
                wrong,
                "of the cache that was kept {groups} damaged, {wrong} entries are none"
            );
        }
        if entries + passed_over > 0 {
            let (after, taken) = (Span(started.elapsed()), entries_text(entries));
            tracing::info!(
                entries,
                spans,
                servers,
                passed_over,
                "took in {taken} of the cache that was kept in {after}"
            );
        }
    }
}

/// What a flush is about.
pub(super) fn below(flush: &cache::Flush) -> String {
    match flush {
        cache::Flush::All => "everything".into(),
        cache::Flush::Tree(name) => format!("{name} with all below"),
        cache::Flush::Name(name) => name.to_string(),
    }
}

fn sized(file: File) -> io::Result<Kept> {
    let octets = file.metadata()?.len();
    Ok(Kept { file, octets })
}

/// Opens a file that this server, and nobody else, has written; `None` where there is none.
fn open(path: &Path) -> Result<Option<Kept>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("open it", &error)),
    };
    let metadata = file.metadata().map_err(|error| cannot("look at it", &error))?;
    let own = rustix::process::geteuid().as_raw();
    if !metadata.is_file() || metadata.mode() & 0o022 != 0 || ![0, own].contains(&metadata.uid()) {
        return Err(
            "others may have written it: expected a file of the server's user that nobody else can write"
                .into(),
        );
    }
    Ok(Some(Kept { file, octets: metadata.len() }))
}

fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn reason(error: DumpError) -> String {
    match error {
        DumpError::NotADump => "it is no cache, or damaged at its beginning".into(),
        DumpError::Version(version) => format!("it is of format {version}, which is not known"),
        DumpError::ClockWentBack => "the clock says that it is still to be written".into(),
        DumpError::Unreadable => "it cannot be read".into(),
    }
}

fn entries_text(entries: usize) -> String {
    match entries {
        1 => "1 entry".into(),
        entries => format!("{} entries", crate::text::grouped(entries as u64)),
    }
}

/// The folder of the settings.
pub(super) fn folder(settings: &Settings) -> Option<PathBuf> {
    let folder = &settings.resolver.state_directory;
    (!folder.as_os_str().is_empty()).then(|| settings.path(folder))
}

/// Makes the folder if need be, and has no other server use it: each would write over what the other keeps. `None`: it cannot be locked,
/// as where nothing can be written. The error: it cannot be made, or another server uses it, as a line.
pub(super) fn lock(folder: &Path, handed: Option<File>) -> Result<Option<File>, String> {
    let line = |what: &str| format!("state-directory {}: {what}", folder.display());
    match lock_folder(folder, LOCK, handed) {
        Ok(lock) => Ok(Some(lock)),
        Err(NotLocked::Used) => Err(line("another server uses it; give each its own")),
        Err(NotLocked::Cannot(act, error)) if !folder.is_dir() => Err(line(&cannot(act, &error))),
        Err(NotLocked::Cannot(act, error)) => {
            let line = line(&cannot(act, &error));
            tracing::warn!("{line}; no other server is kept from it");
            Ok(None)
        }
    }
}
