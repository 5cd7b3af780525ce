//! What keeps a database of PowerDNS from being read, in words for the operator. No fault names the file: who opened it does.

use std::fmt;

/// Why nothing was read.
#[derive(Debug)]
pub enum Fault {
    /// The system refuses the file.
    File(std::io::Error),
    /// Something else than a file proper.
    NotAFile,
    /// A file that SQLite does not read, or reads and finds broken.
    NotADatabase(String),
    /// A database without this table, or with one that lacks this column.
    NotPowerDns(&'static str, Option<&'static str>),
    /// Somebody else writes, for longer than [`super::sqlite::WAIT_MAX`].
    Busy,
    /// Files of SQLite's beside it that cannot be opened.
    Beside,
    /// A file that nobody had open, and that somebody has opened while it was read; or another server that answers in the place of the one that was asked. It is to be opened anew.
    Woken,
    /// What a writer left that has ended in the midst of a transaction.
    Unfinished,
    /// No zone has this name.
    NoZone,
    /// The zone was another one each time that it was read.
    Moving,
    /// What the client of a server says.
    Server(Box<crate::Fault>),
    /// Anything else that the database says.
    Said(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::File(error) => {
                let words = error.to_string();
                write!(f, "cannot open: {}", words.split(" (os error").next().unwrap_or_default().to_lowercase())
            }
            Fault::NotAFile => f.write_str("expected a file with a database"),
            Fault::NotADatabase(said) => write!(f, "no database of SQLite, or a damaged one: {said}"),
            Fault::NotPowerDns(table, None) => {
                write!(f, "a database, but none of PowerDNS: it has no table `{table}`")
            }
            Fault::NotPowerDns(table, Some(column)) => write!(
                f,
                "not as PowerDNS has it from 3.4 on: table `{table}` has no column `{column}`; PowerDNS's own statements bring an older database up to date"
            ),
            Fault::Busy => f.write_str("somebody else writes, for longer than one waits: nothing was read"),
            Fault::Beside => f.write_str("cannot open the files beside it (`-wal`, `-shm`): they have to be readable for this user too"),
            Fault::Woken => f.write_str("opened by somebody else while it was read"),
            Fault::Unfinished => f.write_str(
                "a writer has ended in the midst of what it wrote, which is taken back when PowerDNS, or `sqlite3`, opens the file: nothing is written here",
            ),
            Fault::NoZone => f.write_str("there is no such zone"),
            Fault::Moving => f.write_str("changes while it is read"),
            Fault::Server(fault) => fault.fmt(f),
            Fault::Said(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Fault {}
