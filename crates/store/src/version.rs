//! What a version of a zone is.

use std::fmt;

use change::serial::date;
use rusqlite::{Row, params};

/// What leads to a version from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its rows in `change`.
    Change,
    /// Nothing that is known: all of the zone is to be read.
    Whole,
    /// The zone is gone.
    Removed,
}

impl Kind {
    /// The word of it in the database.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Change => "change",
            Kind::Whole => "whole",
            Kind::Removed => "removed",
        }
    }

    /// A constraint of the table lets no other word in; were there one, all of the zone is read.
    fn of_word(word: &str) -> Kind {
        match word {
            "change" => Kind::Change,
            "removed" => Kind::Removed,
            _ => Kind::Whole,
        }
    }
}

/// A version of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its number among those of all zones, in the order of commits.
    pub id: i64,
    /// The zone's name.
    pub zone: String,
    /// Its serial.
    pub serial: u32,
    /// 32 hexadecimal digits that no other version has.
    pub mark: String,
    /// What leads to it.
    pub kind: Kind,
    /// How many rows it has in `change`.
    pub rows: u64,
    /// When it was closed, in seconds since 1970.
    pub at: u64,
    /// Who changed the zone; `None`: somebody by plain SQL.
    pub who: Option<String>,
    /// Why, in their words.
    pub why: Option<String>,
}

/// What a version says of itself beside what changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meta<'m> {
    /// Seconds since 1970.
    pub at: u64,
    /// Who changes.
    pub who: Option<&'m str>,
    /// Why.
    pub why: Option<&'m str>,
}

/// A time in seconds since 1970, as people read it: `2026-11-28 19:00:05 UTC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), second) = (date(self.0 / 86_400), self.0 % 86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

/// The columns that [`Version::of`] reads.
pub(crate) const COLUMNS: &str = "id, zone, serial, mark, kind, rows, at, who, why";

impl Version {
    /// Reads a row of [`COLUMNS`].
    pub(crate) fn of(row: &Row<'_>) -> rusqlite::Result<Version> {
        Ok(Version {
            id: row.get(0)?,
            zone: row.get(1)?,
            serial: row.get(2)?,
            mark: row.get(3)?,
            kind: Kind::of_word(row.get_ref(4)?.as_str()?),
            rows: row.get::<_, i64>(5)?.unsigned_abs(),
            at: row.get::<_, i64>(6)?.unsigned_abs(),
            who: row.get(7)?,
            why: row.get(8)?,
        })
    }

    /// The newest of a zone, also of one that is gone.
    pub(crate) fn newest(database: &rusqlite::Connection, zone: &str) -> rusqlite::Result<Option<Version>> {
        use rusqlite::OptionalExtension;
        let sql = format!("SELECT {COLUMNS} FROM version WHERE zone = ?1 ORDER BY id DESC LIMIT 1");
        database.prepare_cached(&sql)?.query_row([zone], Version::of).optional()
    }

    /// Enters one without rows, with a mark of its own, and returns its number.
    pub(crate) fn enter(
        database: &rusqlite::Connection,
        zone: &str,
        serial: u32,
        kind: Kind,
        meta: &Meta<'_>,
    ) -> rusqlite::Result<i64> {
        database
            .prepare_cached(
                "INSERT INTO version (zone, serial, mark, kind, rows, octets, at, who, why)
                 VALUES (?1, ?2, lower(hex(randomblob(16))), ?3, 0, 0, ?4, ?5, ?6)",
            )?
            .insert(params![zone, serial, kind.word(), meta.at as i64, meta.who, meta.why])
    }
}
