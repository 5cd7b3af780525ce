//! Rows of versions.

use tokio_postgres::Row;

use super::link::Link;
use crate::fault::Fault;
use crate::version::{Kind, Version};

/// The columns that [`of_row`] reads.
macro_rules! columns {
    () => {
        "v.id, v.zone, v.serial, replace(v.mark::text, '-', '') AS mark, v.kind, v.rows, v.at, v.who, v.why"
    };
}
pub(super) use columns;

/// The same without who made it and why, which have a thousand characters each, and stand beside each row of it.
macro_rules! columns_in_short {
    () => {
        "v.id, v.zone, v.serial, replace(v.mark::text, '-', '') AS mark, v.kind, v.rows, v.at, NULL::text, NULL::text"
    };
}
pub(super) use columns_in_short;

/// Reads a row that begins with `columns!()`.
pub(super) fn of_row(row: &Row) -> Result<Version, Fault> {
    Ok(Version {
        id: row.try_get(0)?,
        zone: row.try_get(1)?,
        // A constraint keeps it within a serial.
        serial: u32::try_from(row.try_get::<_, i64>(2)?).unwrap_or_default(),
        mark: row.try_get(3)?,
        kind: Kind::of_word(row.try_get(4)?),
        rows: row.try_get::<_, i64>(5)?.unsigned_abs(),
        at: row.try_get::<_, i64>(6)?.unsigned_abs(),
        who: row.try_get(7)?,
        why: row.try_get(8)?,
    })
}

/// The newest of a zone, also of one that is gone.
pub(super) fn newest(link: &Link, zone: &str) -> Result<Option<Version>, Fault> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM zonda.version v WHERE v.zone = $1 AND NOT v.open ORDER BY v.follows DESC LIMIT 1"
    );
    link.query_opt(sql, &[&zone])?.as_ref().map(of_row).transpose()
}
