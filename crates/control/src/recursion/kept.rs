//! What was learned, over a restart: written when the server ends and on demand, taken in while it answers already.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cache::dump::{Dump, Situation};

use super::Recursion;
use crate::settings::Settings;
use crate::text::{Span, count};

/// Name of the file in the folder of the settings.
const FILE: &str = "cache";
/// The same while it is written.
const TEMPORARY: &str = "cache.new";
/// The file is as long as the cache at most; what is longer than this part more is none of ours.
const FILE_PART_MORE: u64 = 4;
/// Octets that are written at once.
const BUFFER_OCTETS: usize = 1 << 20;

/// What kept data depend on beside time, as one number: where trust begins and ends, and whom else than the DNS names is asked.
pub(super) fn world(settings: &Settings) -> u64 {
    let resolver = &settings.resolver;
    let mut hasher = DefaultHasher::new();
    (resolver.validate, format!("{:?}", resolver.insecure)).hash(&mut hasher);
    format!("{:?} {:?}", settings.forwards, settings.stubs).hash(&mut hasher);
    let anchors = fs::read(settings.path(&resolver.trust_anchor_file)).unwrap_or_default();
    anchors.hash(&mut hasher);
    hasher.finish()
}

impl Recursion {
    fn situation(&self) -> Situation {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Situation { now: self.now(), wall, world: self.terms.lock().world }
    }

    /// Writes the cache to the folder of the settings, as a whole or not at all. How many entries; `None` where there is no folder.
    pub(crate) fn write(&self) -> Result<Option<usize>, String> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let (path, temporary) = (folder.join(FILE), folder.join(TEMPORARY));
        let failed = |error: io::Error| format!("cannot write {}: {error}", path.display());
        let write = || -> io::Result<usize> {
            let mut file = BufWriter::with_capacity(BUFFER_OCTETS, File::create(&temporary)?);
            let entries = self.cache.write_dump(&mut file, &self.situation())?;
            file.flush()?;
            file.get_ref().sync_all()?;
            fs::rename(&temporary, &path)?;
            Ok(entries)
        };
        let written = write().inspect_err(|_| drop(fs::remove_file(&temporary)));
        written.map(Some).map_err(failed)
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
            Err(line) => tracing::error!(error = line, "{line}; the next start begins with an empty cache"),
        }
    }

    /// Takes in what the server before has written, on a thread of its own: answers do not wait for it.
    pub(crate) fn read_on_a_thread(self: &Arc<Self>) -> io::Result<()> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let recursion = Arc::clone(self);
        let read = move || recursion.read(&folder.join(FILE));
        thread::Builder::new().name("cache".into()).spawn(read).map(drop)
    }

    fn read(&self, path: &Path) {
        let started = Instant::now();
        let line = match self.read_file(path) {
            Ok(None) => return,
            Ok(Some((entries, 0))) => {
                let after = Span(started.elapsed());
                return tracing::info!(
                    entries,
                    "took in {} of {} in {after}",
                    entries_text(entries),
                    path.display()
                );
            }
            Ok(Some((entries, damaged))) => {
                format!("took in {}; {} damaged", entries_text(entries), count(damaged, "part is"))
            }
            Err(line) => format!("{line}; the cache begins empty"),
        };
        tracing::warn!(error = line, "{}: {line}", path.display());
    }

    /// Entries that were taken in, and parts that are damaged; `None` where there is no file.
    fn read_file(&self, path: &Path) -> Result<Option<(usize, usize)>, String> {
        let longest = self.cache.octets() as u64 + self.cache.octets() as u64 / FILE_PART_MORE;
        let octets = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(metadata) if metadata.len() > longest => {
                return Err(format!("{} octets are more than such a cache has", metadata.len()));
            }
            _ => fs::read(path).map_err(|error| error.to_string())?,
        };
        let dump = Dump::open(&octets, &self.situation()).map_err(|error| format!("{error:?}"))?;
        let (mut entries, mut damaged) = (0, dump.missing());
        for part in 0..dump.parts() {
            match self.cache.load(&dump, part, self.now()) {
                Ok(loaded) => entries += loaded.entries,
                Err(_) => damaged += 1,
            }
        }
        Ok(Some((entries, damaged)))
    }
}

fn entries_text(entries: usize) -> String {
    match entries {
        1 => "1 entry".into(),
        entries => format!("{} entries", crate::text::grouped(entries as u64)),
    }
}

/// The folder of the settings, made if need be.
pub(super) fn folder(settings: &Settings) -> Result<Option<PathBuf>, String> {
    let folder = &settings.resolver.state_directory;
    if folder.as_os_str().is_empty() {
        return Ok(None);
    }
    let folder = settings.path(folder);
    match fs::create_dir_all(&folder) {
        Ok(()) => Ok(Some(folder)),
        Err(error) => Err(format!("state-directory {}: {error}", folder.display())),
    }
}
