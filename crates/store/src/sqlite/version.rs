//! Rows of versions.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::version::{Kind, Meta, Version};

/// The columns that [`of_row`] reads.
pub(crate) const COLUMNS: &str = "id, zone, serial, mark, kind, rows, at, who, why";

/// Reads a row of [`COLUMNS`].
pub(crate) fn of_row(row: &Row<'_>) -> rusqlite::Result<Version> {
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
pub(crate) fn newest(database: &Connection, zone: &str) -> rusqlite::Result<Option<Version>> {
    let sql = format!("SELECT {COLUMNS} FROM version WHERE zone = ?1 ORDER BY id DESC LIMIT 1");
    database.prepare_cached(&sql)?.query_row([zone], of_row).optional()
}

/// Enters one without rows, with a mark of its own, and returns its number.
pub(crate) fn enter(
    database: &Connection,
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
