//! The journal of a pack folder as people look at it, without the server: what the log and the history of zones have, whether all of it is sound,
//! and the history of a zone removed.
//!
//! A server that runs has the lock of the folder. What it writes is read beside it as it is in that moment; nothing is judged or removed then.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::anchor::{Anchor, Content};
use journal::disk::{Disk, System};
use journal::log::Options;
use journal::show::{HISTORY_FOLDER, show_history, show_log, verify};
use journal::{History, Recovery};
use wire::Name;

use crate::dynamic::{journal_of, verify_images};
use crate::packs::{LOCK, stored_in};
use crate::settings::Settings;
use crate::text::cannot;

/// Takes lines of text.
pub type Lines<'l> = &'l mut dyn FnMut(String);

/// The journal of a folder.
pub struct Journal {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    options: Options,
    /// Keeps servers from starting as long as this is looked at; `None`: one runs.
    lock: Option<File>,
}

/// What a server that runs keeps from being done.
const RUNNING: &str = "a server uses it; stop that first";

impl Journal {
    /// The journal of the pack folder that settings name.
    ///
    /// # Errors
    ///
    /// They name none, or it has no journal, in words.
    pub fn of(settings: &Settings) -> Result<Journal, String> {
        let directory = &settings.server.pack_directory;
        if directory.as_os_str().is_empty() {
            return Err("which folder? The settings have no pack-directory; give --config or --folder".into());
        }
        Journal::open(&settings.path(directory), settings.server.journal_octets)
    }

    /// The journal of a pack folder. `log_octets`: how long the log may be, which says nothing of what is read.
    ///
    /// # Errors
    ///
    /// The folder has none, or it cannot be read, in words.
    pub fn open(packs: &Path, log_octets: u64) -> Result<Journal, String> {
        let folder = journal_of(packs);
        match folder.try_exists() {
            Ok(true) => {}
            Ok(false) => {
                return Err(format!("{}: there is no journal: no zone has been changed", folder.display()));
            }
            Err(error) => return Err(format!("{}: {}", folder.display(), cannot("read it", &error))),
        }
        let path = packs.join(LOCK);
        let options = OpenOptions::new().read(true).open(&path);
        let lock = options.map_err(|error| format!("{}: {}", path.display(), cannot("open", &error)))?;
        let lock = match lock.try_lock() {
            Ok(()) => Some(lock),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(error)) => {
                return Err(format!("{}: {}", path.display(), cannot("lock it", &error)));
            }
        };
        let options = Options { log_octets, ..Options::default() };
        Ok(Journal { folder, disk: Arc::new(System), options, lock })
    }

    /// Whether a server uses it now: what is shown is what it had written in some moment.
    pub fn is_in_use(&self) -> bool {
        self.lock.is_none()
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn history(&self) -> History {
        History::new(Arc::clone(&self.disk), &self.folder.join(HISTORY_FOLDER))
    }

    /// Shows what the log has, and the versions of zones that the history has; of one zone alone where one is given.
    ///
    /// # Errors
    ///
    /// They cannot be read, in words.
    pub fn show(&self, zone: Option<&Name>, lines: Lines<'_>) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.folder.display());
        let anchor = Anchor::open(Arc::clone(&self.disk), &self.folder).map_err(|error| failed(&error))?;
        let start = anchor.content().map(Content::start).unwrap_or_default();
        let recovery = Recovery::open(Arc::clone(&self.disk), &self.folder, self.options, start);
        let recovery = recovery.map_err(|error| failed(&error))?;
        lines(format!("log {}", self.folder.display()));
        show_log(&recovery, zone, lines).map_err(|error| failed(&error))?;
        let history = self.history();
        lines(format!("history {}", self.folder.join(HISTORY_FOLDER).display()));
        match zone {
            Some(zone) => show_history(&history, zone, lines).map_err(|error| failed(&error)),
            None => {
                for zone in history.zones().map_err(|error| failed(&error))? {
                    show_history(&history, &zone, lines).map_err(|error| failed(&error))?;
                }
                Ok(())
            }
        }
    }

    /// Reads all of it. `faults`: a line for each; none: all is well. `notes`: what a start takes of images of changes, a line for each zone that has any.
    ///
    /// # Errors
    ///
    /// A server uses it, or it cannot be read, in words.
    pub fn verify(&self, faults: Lines<'_>, notes: Lines<'_>) -> Result<(), String> {
        if self.is_in_use() {
            return Err(format!("{}: {RUNNING}", self.folder.display()));
        }
        let failed = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        verify(&self.disk, &self.folder, self.options, faults).map_err(failed)?;
        // What keeps these from being read was said just now.
        let Ok(anchor) = Anchor::open(Arc::clone(&self.disk), &self.folder) else { return Ok(()) };
        let start = anchor.content().map(Content::start).unwrap_or_default();
        let recovery = Recovery::open(Arc::clone(&self.disk), &self.folder, self.options, start);
        let Ok(recovery) = recovery else { return Ok(()) };
        let packs = self.folder.parent().map(stored_in).unwrap_or_default();
        verify_images(&self.folder, &recovery, packs, faults, notes).map_err(failed)
    }

    /// Removes the history of a zone; says whether it had any.
    ///
    /// # Errors
    ///
    /// A server uses it, or it cannot be removed, in words.
    pub fn prune(&self, zone: &Name) -> Result<bool, String> {
        if self.is_in_use() {
            return Err(format!("{}: {RUNNING}", self.folder.display()));
        }
        let failed = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        let history = self.history();
        let has = history.zones().map_err(failed)?.iter().any(|other| other.eq_ignore_case(zone));
        history.forget(zone).map_err(failed)?;
        Ok(has)
    }
}
