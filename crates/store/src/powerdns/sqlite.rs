//! A file of SQLite with PowerDNS's tables: opened to read alone. Nothing is written, also not beside it.
//!
//! In rollback mode a reader locks writers out when they commit, and PowerDNS and who changes its tables wait for that. So no statement gives rows for longer
//! than [`HELD_MAX`]: whoever reads ends it then and asks anew for what is beyond the last row, by the index that has the rows in this order, and each statement is a
//! transaction of its own. A writer that waits has its turn in between: SQLite lets no new reader in before it.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};

use super::client::{Client, Each, Value};
use super::fault::Fault;

/// How long a reader waits for a writer. PowerDNS writes a zone that it was given in one transaction, of which the commit alone locks readers out.
pub const WAIT_MAX: Duration = Duration::from_secs(5);

/// How long a statement may lock writers out once it has its first row: what a commit takes on a disk, so that a writer is not held up for longer than by another one.
pub const HELD_MAX: Duration = Duration::from_millis(50);

/// Steps of SQLite from call to call of who is told that statements are at work: some milliseconds.
const PROGRESS_STEPS: i32 = 100_000;

/// A database in a file. One of a file in a process: when a second one is closed, the locks of the first are gone (POSIX).
pub struct Sqlite {
    database: Connection,
    /// What the head was read from. It is kept for as long as the connection, and closed after it, for the same reason.
    head: File,
    /// Where its `-wal` is, if there is one.
    wal: OsString,
    /// Of a file that is read without locks: what says whether somebody has opened it since.
    resting: Option<Resting>,
}

/// A file in WAL mode that nobody has open, as there is no `-wal` beside it. SQLite would make one, and `-shm`, for which the folder has to be writable; told that
/// the file does not change, it reads it without. So whatever was read counts only if that still holds afterwards.
struct Resting {
    changed: (i64, i64, u64),
}

impl Sqlite {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Sqlite, Fault> {
        // Before it is opened: that of a pipe waits.
        if !std::fs::metadata(path).map_err(Fault::File)?.is_file() {
            return Err(Fault::NotAFile);
        }
        // Links are followed by SQLite too before it looks for `-wal`: beside the link there is none, whoever writes.
        let path = &std::fs::canonicalize(path).map_err(Fault::File)?;
        let head = File::open(path).map_err(Fault::File)?;
        let (wal, shm) = (beside(path, "-wal"), beside(path, "-shm"));
        let resting = match (is_wal(&head).map_err(Fault::File)?, Path::new(&wal).exists()) {
            (true, true) if !Path::new(&shm).exists() => return Err(Fault::Unfinished),
            (true, false) => Some(Resting { changed: changed(&head).map_err(Fault::File)? }),
            _ => None,
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let uri = uri(path, resting.is_some());
        let database = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
        database.busy_timeout(WAIT_MAX)?;
        // What is sorted, where an index is missing, has no place on the disk.
        database.pragma_update(None, "temp_store", "MEMORY")?;
        // A file of others may have views and triggers with functions that do things, and pages that lie about their length.
        database.pragma_update(None, "trusted_schema", false)?;
        database.pragma_update(None, "cell_size_check", true)?;
        Ok(Sqlite { database, head, wal, resting })
    }

    /// Has `each` be called again and again while statements are at work, so that it can be told that they are; it says whether they are to go on.
    pub fn on_progress(&mut self, mut each: impl FnMut() -> bool + Send + 'static) -> Result<(), Fault> {
        Ok(self.database.progress_handler(PROGRESS_STEPS, Some(move || !each()))?)
    }

    /// Looks whether a file that was read without locks is still the same.
    fn expect_rest(&self) -> Result<(), Fault> {
        let Some(resting) = &self.resting else { return Ok(()) };
        match changed(&self.head).map_err(Fault::File)? == resting.changed && !Path::new(&self.wal).exists() {
            true => Ok(()),
            false => Err(Fault::Woken),
        }
    }
}

impl Sqlite {
    fn data_version(&self) -> Result<i64, Fault> {
        let mut statement = self.database.prepare_cached("PRAGMA data_version")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    /// A file that somebody has put into WAL mode since it was opened, and has closed, is one that nobody has open: what SQLite needs beside it is not there, nor to be made.
    fn explained(&self, fault: Fault) -> Fault {
        let is_beside = matches!(fault, Fault::Beside | Fault::Unfinished);
        let is_at_rest = || !Path::new(&self.wal).exists() && is_wal(&self.head).is_ok_and(|is_wal| is_wal);
        if is_beside && is_at_rest() { Fault::Woken } else { fault }
    }
}

/// Whether the head of a file says that it is in WAL mode (SQLite's file format 1.3.3). One that is too short is a matter of SQLite's.
fn is_wal(file: &File) -> io::Result<bool> {
    let mut head = [0; HEAD_OCTETS];
    match file.read_exact_at(&mut head, 0) {
        Ok(()) => Ok(head[WRITE_VERSION_AT] == WAL),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

const HEAD_OCTETS: usize = 100;
const WRITE_VERSION_AT: usize = 18;
const WAL: u8 = 2;

/// When a file was written last, and how long it is.
fn changed(file: &File) -> io::Result<(i64, i64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

/// The name with this at its end.
fn beside(path: &Path, end: &str) -> OsString {
    let mut beside = OsString::from(path);
    beside.push(end);
    beside
}

/// An absolute path as SQLite takes it without taking any of it for something else.
fn uri(path: &Path, is_resting: bool) -> String {
    // With the two slashes none of it is a host.
    let mut uri = String::from("file://");
    for &octet in path.as_os_str().as_bytes() {
        match octet {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(octet))
            }
            // Writing to a String cannot fail.
            _ => drop(write!(uri, "%{octet:02X}")),
        }
    }
    if is_resting {
        uri.push_str("?immutable=1");
    }
    uri
}

/// The most columns that a statement has.
const COLUMNS_MAX: usize = 8;

impl Client for Sqlite {
    const COLUMNS: &'static str = "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type IN ('table', 'view') AND lower(m.name) IN ('domains', 'records', 'domainmetadata', 'cryptokeys')";

    fn rows(&mut self, statement: &'static str, values: &[Value<'_>], each: Each<'_>) -> Result<(), Fault> {
        let read = self.read(statement, values, each);
        // First: a file that has changed under it may look like a damaged one.
        self.expect_rest()?;
        read.map_err(|fault| self.explained(fault))
    }

    fn stamp(&mut self) -> Result<Option<i64>, Fault> {
        let version = self.data_version();
        self.expect_rest()?;
        version.map(Some).map_err(|fault| self.explained(fault))
    }

    fn held_max(&self) -> Option<Duration> {
        Some(HELD_MAX)
    }
}

impl Sqlite {
    fn read(&self, statement: &str, values: &[Value<'_>], each: Each<'_>) -> Result<(), Fault> {
        let mut statement = self.database.prepare_cached(statement)?;
        for (at, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(at + 1, value)?;
        }
        let count = statement.column_count().min(COLUMNS_MAX);
        let mut rows = statement.raw_query();
        let mut numbers: [String; COLUMNS_MAX] = Default::default();
        while let Some(row) = rows.next()? {
            for (at, number) in numbers.iter_mut().enumerate().take(count) {
                number.clear();
                // Writing to a String cannot fail.
                let _ = match row.get_ref(at)? {
                    ValueRef::Integer(value) => write!(number, "{value}"),
                    ValueRef::Real(value) => write!(number, "{value}"),
                    _ => Ok(()),
                };
            }
            let mut columns = [None; COLUMNS_MAX];
            for (at, column) in columns.iter_mut().enumerate().take(count) {
                *column = match row.get_ref(at)? {
                    ValueRef::Null => None,
                    ValueRef::Text(octets) | ValueRef::Blob(octets) => Some(octets),
                    ValueRef::Integer(_) | ValueRef::Real(_) => Some(numbers[at].as_bytes()),
                };
            }
            if each(&columns[..count]) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match *self {
            Value::Number(number) => ToSqlOutput::from(number),
            Value::Text(octets) => ToSqlOutput::Borrowed(ValueRef::Text(octets)),
        })
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        let words = match &error {
            rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
            other => other.to_string(),
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Busy,
            // Nothing is written or made here: it is a journal that has to be played back.
            Some(ErrorCode::ReadOnly) => Fault::Unfinished,
            Some(ErrorCode::CannotOpen) => Fault::Beside,
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Fault::NotADatabase(words),
            _ => Fault::Said(words),
        }
    }
}
