//! A file with a store: made, opened, or refused with words.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use nix::unistd::AccessFlags;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::schema;
use crate::fault::Fault;
use crate::open::Access;

/// How long a writer waits for another one. An import of a million records takes some ten seconds, and holds up other writers for most of that.
pub const WAIT_MAX: Duration = Duration::from_secs(30);

/// Memory for pages of the file, in KiB: an index of a million records has some 100 MiB, and with SQLite's usual 2 MiB an import that does not come in the
/// order of the index reads each page again and again.
const CACHE_KIB: i64 = 64 << 10;

/// Rights of a file that is made: who serves it need not be who writes it, and others have no use for it.
const MODE: u32 = 0o640;

/// A store of zones in a file.
pub struct Store {
    pub(crate) database: Connection,
    identity: String,
}

impl Store {
    /// Makes a store where there is no file, or one without any table.
    pub fn create(path: &Path) -> Result<Store, Fault> {
        match std::fs::metadata(path) {
            Ok(metadata) => {
                expect_file(&metadata)?;
                expect_readable(path)?;
            }
            Err(_) => make_file(path)?,
        }
        let mut database = connect(path, Access::Write)?;
        match schema::is_empty(&database) {
            Ok(true) => {}
            Ok(false) | Err(Fault::NotADatabase(_)) => return Err(Fault::Exists),
            Err(fault) => return Err(fault),
        }
        database.pragma_update(None, "journal_mode", "WAL")?;
        settle(&database)?;
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Somebody else may have been first.
        if !schema::is_empty(&transaction)? {
            return Err(Fault::Exists);
        }
        schema::make(&transaction)?;
        transaction.commit()?;
        let identity = schema::look(&database, true)?;
        Ok(Store { database, identity })
    }

    /// Opens the store in a file.
    pub fn open(path: &Path, access: Access) -> Result<Store, Fault> {
        expect_file(&std::fs::metadata(path).map_err(|error| Fault::File("open", error))?)?;
        expect_readable(path)?;
        let database = connect(path, access)?;
        let identity = schema::look(&database, access == Access::Write)?;
        settle(&database)?;
        if access == Access::Write {
            restore_journal(&database)?;
        }
        Ok(Store { database, identity })
    }

    /// 32 hexadecimal digits by which it is known, wherever its file is.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

fn connect(path: &Path, access: Access) -> Result<Connection, Fault> {
    let rights = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    // So that a path stays a path: SQLite takes `:memory:` for something else, and `file:` for a URI, as it is built so that no flag is needed for that.
    let path = Path::new(".").join(path);
    // Each connection is of one thread.
    let database = Connection::open_with_flags(path, rights | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    database.busy_timeout(WAIT_MAX)?;
    // Before anything is read: a file of others may have views and triggers with functions that do things, of which ours need none, and pages that lie about
    // their length.
    database.pragma_update(None, "trusted_schema", false)?;
    database.pragma_update(None, "cell_size_check", true)?;
    Ok(database)
}

/// Readers and one writer do not wait for each other with a journal of this kind. It stays with the file, but not with each copy: those of `VACUUM INTO` and
/// `.dump` lack it. Where it cannot be had at present, as somebody else reads or the file is read-only, all goes on without, slower.
fn restore_journal(database: &Connection) -> Result<(), Fault> {
    let mode: String = database.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" {
        let _ = database.pragma_update(None, "journal_mode", "WAL");
    }
    Ok(())
}

/// What holds for a connection, and is not kept in the file.
fn settle(database: &Connection) -> Result<(), Fault> {
    // What was committed survives a loss of power; NORMAL would keep the file whole and lose the last versions.
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)?;
    database.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // A zone that is put in place of another waits there.
    database.pragma_update(Some("temp"), "cache_size", -CACHE_KIB)?;
    database.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(())
}

/// Statements that are kept prepared: all that closing a version has, so that thousands of zones are closed without preparing any again.
const STATEMENTS_MAX: usize = 64;

fn make_file(path: &Path) -> Result<(), Fault> {
    match OpenOptions::new().write(true).create_new(true).mode(MODE).open(path) {
        Ok(_) => Ok(()),
        // Of somebody who was first, or a link to nowhere.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Fault::Exists),
        Err(error) => Err(Fault::File("make it", error)),
    }
}

fn expect_file(metadata: &std::fs::Metadata) -> Result<(), Fault> {
    let kind = metadata.file_type();
    match kind.is_file() {
        true => Ok(()),
        false if kind.is_dir() => Err(Fault::NotAFile("a folder")),
        false if kind.is_fifo() || kind.is_socket() => Err(Fault::NotAFile("a pipe or socket")),
        false => Err(Fault::NotAFile("a device")),
    }
}

/// Looks whether the file can be read: SQLite says of all that the system refuses that it is "unable to open". It is not opened for that, as closing it would
/// take away the locks of this process's other connections to it (POSIX), whom a third one could then pull the journal from under.
fn expect_readable(path: &Path) -> Result<(), Fault> {
    nix::unistd::access(path, AccessFlags::R_OK).map_err(|error| Fault::File("open", error.into()))
}
