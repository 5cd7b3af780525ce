//! A file of SQLite with PowerDNS's tables.

use std::path::{Path, PathBuf};

use store::powerdns::{Sqlite, mark};

use super::{Opener, SharedBeat};
use crate::watch::Watch;

/// See the module.
pub(crate) struct File {
    path: PathBuf,
    watch: Watch,
}

impl File {
    /// The one at this path.
    pub(crate) fn of(path: &Path) -> File {
        File { path: path.to_owned(), watch: Watch::new(path) }
    }
}

impl Opener for File {
    type Client = Sqlite;

    /// The tables have nothing by which they are known, and a file is restored, or written anew beside its place, more often than another one is put there: so it is the path.
    fn identity(&self, _client: &mut Sqlite) -> Result<String, store::Fault> {
        Ok(mark::text(&mark::of_words(&["PowerDNS in SQLite", &self.path.to_string_lossy()])))
    }

    fn open(&mut self, beat: &SharedBeat) -> Result<Sqlite, store::Fault> {
        let mut client = Sqlite::open(&self.path)?;
        let beat = beat.clone();
        client.on_progress(move || beat.beat())?;
        Ok(client)
    }

    fn is_replica(&self, _client: &Sqlite) -> bool {
        false
    }

    fn is_another(&mut self) -> bool {
        self.watch.is_another()
    }
}
