//! What goes wrong with a store, in words for the operator. No fault names the file: who opened it does.

use std::fmt;

use rusqlite::ErrorCode;

use crate::row::Refusal;
use crate::schema::{READABLE_FROM, SCHEMA};

/// Why something was not done. Nothing of it was, then.
#[derive(Debug)]
pub enum Fault {
    /// The system refuses the file.
    File(&'static str, std::io::Error),
    /// Something else than a file proper.
    NotAFile(&'static str),
    /// A file that has something in it already.
    Exists,
    /// A file that SQLite does not read, or reads and finds broken.
    NotADatabase(String),
    /// A database without our tables.
    NotAStore,
    /// Written by a later program, which says that we cannot read it.
    TooNew {
        /// The number of its schema.
        written_by: i64,
        /// The least that a program has to know.
        readable_from: i64,
    },
    /// Written by a later program: we can read it and must not write.
    NotOurs {
        /// The number of its schema.
        written_by: i64,
    },
    /// Somebody else writes, for longer than [`crate::sqlite::open::WAIT_MAX`].
    Busy,
    /// File, folder or file system cannot be written.
    ReadOnly,
    /// What SQLite needs beside the file (`-wal`, `-shm`) can be neither opened nor made.
    Beside,
    /// No room.
    Full,
    /// Anything else that SQLite says.
    Sqlite(rusqlite::Error),
    /// An address of no form that is known, or with something that does not belong there.
    Address(String),
    /// A server of PostgreSQL that cannot be asked at present: what it or the client says.
    Away(String),
    /// Two transactions that wait for each other, or one that has not seen what another one has changed. The same once more may go well.
    Crossed(String),
    /// A copy of a store, or a store that was moved: another cluster or database than it notes.
    Elsewhere {
        /// Where it says that it is.
        noted: String,
        /// Where it is.
        found: String,
    },
    /// A server of PostgreSQL of before this version.
    TooOld {
        /// Its number.
        version: i32,
    },
    /// Anything else that PostgreSQL says.
    Postgres {
        /// Its code (SQLSTATE).
        code: String,
        /// Its words.
        words: String,
    },
    /// A zone that can be no version, in the words of the tables' functions, which name it.
    Refused {
        /// The zone.
        zone: String,
        /// The words.
        words: String,
    },
    /// A zone whose rows are not those of its newest version.
    NotItsRows(String),
    /// No zone has this name.
    NoZone(String),
    /// The zone is not enabled.
    NotEnabled(String),
    /// Rows of a zone that are no records, or not in their one form; the first [`REFUSALS_MAX`], and how many there are.
    Rows {
        /// The zone.
        zone: String,
        /// The first of them.
        refusals: Vec<Refusal>,
        /// How many.
        count: usize,
    },
    /// A zone without an SOA record.
    NoSoa(String),
    /// A signed zone, whose serial cannot be chosen here: it needs one greater than this.
    Signed {
        /// The zone.
        zone: String,
        /// Its serial.
        serial: u32,
    },
    /// The zone is at another version than the one that was read.
    Moved {
        /// The zone.
        zone: String,
        /// Its serial now; `None`: it is gone.
        serial: Option<u32>,
        /// Who made that; `None`: somebody by plain SQL.
        who: Option<String>,
    },
    /// Too many names or records for one zone.
    TooMany(String),
    /// Tables of PowerDNS, into which nothing is written.
    Theirs,
    /// What keeps tables of PowerDNS from being read.
    PowerDns(crate::powerdns::Fault),
}

impl From<crate::powerdns::Fault> for Fault {
    fn from(fault: crate::powerdns::Fault) -> Fault {
        match fault {
            crate::powerdns::Fault::Server(fault) => *fault,
            fault => Fault::PowerDns(fault),
        }
    }
}

/// What PostgreSQL calls a statement that it ended, as it took too long, or waited too long for a lock.
const QUERY_CANCELED: &str = "57014";
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// How many rows of a zone are shown: more of them are one mistake made often.
pub const REFUSALS_MAX: usize = 20;

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Busy,
            Some(ErrorCode::ReadOnly) => Fault::ReadOnly,
            Some(ErrorCode::CannotOpen) => Fault::Beside,
            Some(ErrorCode::DiskFull) => Fault::Full,
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Fault::NotADatabase(words(&error)),
            _ => Fault::Sqlite(error),
        }
    }
}

/// SQLite's words without the name of its number.
fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    }
}

/// What SQLite says where a write fails that is no lack of room: a limit of the file's length, a disk with faults.
fn is_output(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::File(act, error) => {
                let words = error.to_string();
                write!(f, "cannot {act}: {}", words.split(" (os error").next().unwrap_or_default().to_lowercase())
            }
            Fault::NotAFile(found) => write!(f, "expected a file, found {found}"),
            Fault::Exists => f.write_str("there is something already: a store is made where there is nothing"),
            Fault::NotADatabase(said) => write!(f, "no database of SQLite, or a damaged one: {said}"),
            Fault::NotAStore => f.write_str("a database, but no store of zones: it has no table `store` with a row (`zonda store init` makes a new one)"),
            Fault::TooNew { written_by, readable_from } => write!(
                f,
                "written by a later version of this program (schema {written_by}, to be read from {readable_from} on; this one knows {SCHEMA})"
            ),
            Fault::NotOurs { written_by } => write!(
                f,
                "written by a later version of this program (schema {written_by}): this one, which knows {SCHEMA}, can read it and not write"
            ),
            Fault::Busy => write!(f, "somebody else writes, for more than {} s: nothing was changed", crate::sqlite::open::WAIT_MAX.as_secs()),
            Fault::ReadOnly => f.write_str("cannot write: the file, its folder or the file system is read-only for this user"),
            Fault::Beside => f.write_str("cannot open the files beside it (-wal, -shm): its folder has to be writable for this user, also to read"),
            Fault::Theirs => f.write_str(
                "nothing is written into PowerDNS's tables: give the zone a greater serial there",
            ),
            Fault::Full => f.write_str("no room on the disk: nothing was changed"),
            Fault::Sqlite(error) if is_output(error) => write!(f, "cannot read or write ({}): nothing was changed", words(error)),
            Fault::Sqlite(error) => f.write_str(&words(error)),
            Fault::Address(why) => f.write_str(why),
            Fault::Away(said) => write!(f, "the server cannot be asked: {said}"),
            Fault::Crossed(said) => write!(f, "somebody else writes the same: {said}; nothing was changed"),
            Fault::Elsewhere { noted, found } => write!(
                f,
                "a store that was copied or moved: it notes the database {noted}, and this is {found} (`zonda store adopt`, once no other one is in use)"
            ),
            Fault::TooOld { version } => write!(f, "expected PostgreSQL 13 or later, found {}", version / 10_000),
            Fault::Postgres { code, words } => write!(f, "{words} ({code})"),
            Fault::Refused { words, .. } => f.write_str(words),
            Fault::NotItsRows(zone) => write!(
                f,
                "zone {zone}: its rows are not those of its newest version, as somebody has changed them past its triggers: `zonda store touch` makes a version of what there is"
            ),
            Fault::NoZone(zone) => write!(f, "zone {zone}: there is no such zone"),
            Fault::NotEnabled(zone) => write!(f, "zone {zone}: it is not enabled, and has no version while that is so"),
            Fault::Rows { zone, refusals, count } => {
                for refusal in refusals {
                    writeln!(f, "zone {zone}: {refusal}")?;
                }
                match count - refusals.len() {
                    0 => write!(f, "zone {zone}: what has changed is no version until that is mended"),
                    more => write!(f, "zone {zone}: and {more} rows more; what has changed is no version until that is mended"),
                }
            }
            Fault::NoSoa(zone) => write!(f, "zone {zone}: it has no SOA record at its apex, and can be no version without"),
            Fault::Signed { zone, serial } => write!(
                f,
                "zone {zone}: it is signed, so that its serial cannot be chosen here: expected an SOA record with one greater than {serial}"
            ),
            Fault::Moved { zone, serial, who } => {
                write!(f, "zone {zone}: it has changed since it was read")?;
                match (serial, who) {
                    (Some(serial), Some(who)) => write!(f, ": {who} made serial {serial}"),
                    (Some(serial), None) => write!(f, ": serial {serial}, by plain SQL"),
                    (None, _) => f.write_str(": it is gone"),
                }
            }
            Fault::TooMany(zone) => write!(f, "zone {zone}: more than 2^32 records"),
            Fault::PowerDns(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// Lines for the operator.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.to_string().lines().map(str::to_owned).collect()
    }

    /// The zone that it is about, if it is about one.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        match self {
            Fault::NoZone(zone)
            | Fault::NotItsRows(zone)
            | Fault::NotEnabled(zone)
            | Fault::NoSoa(zone)
            | Fault::TooMany(zone) => Some(zone),
            Fault::Rows { zone, .. }
            | Fault::Signed { zone, .. }
            | Fault::Moved { zone, .. }
            | Fault::Refused { zone, .. } => Some(zone),
            _ => None,
        }
    }

    /// Whether it is about one zone, so that others may go on.
    #[must_use]
    pub fn is_of_zone(&self) -> bool {
        self.zone().is_some()
    }

    /// Whether somebody else holds what it was about: the same may go well later.
    #[must_use]
    pub fn is_held(&self) -> bool {
        match self {
            Fault::Busy | Fault::Crossed(_) => true,
            Fault::Postgres { code, .. } => code == LOCK_NOT_AVAILABLE,
            _ => false,
        }
    }

    /// Whether a statement has taken longer than it may.
    #[must_use]
    pub fn is_late(&self) -> bool {
        matches!(self, Fault::Postgres { code, .. } if code == QUERY_CANCELED)
    }
}

const _: () = assert!(READABLE_FROM <= SCHEMA, "we read what we write");
