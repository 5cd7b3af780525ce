//! The tables in a file.

use rusqlite::{Connection, OptionalExtension};

use crate::fault::Fault;
use crate::schema::{READABLE_FROM, SCHEMA, expect_known};

/// Marks the file as ours for `file` and others (`PRAGMA application_id`): "Znda".
pub(crate) const APPLICATION_ID: i64 = 0x5a6e_6461;

/// The statements that make it.
pub const SQL: &str = include_str!("schema.sql");

/// Makes the tables, in a transaction of the caller.
pub(crate) fn make(database: &Connection) -> Result<(), Fault> {
    database.execute_batch(SQL)?;
    database.execute(
        "INSERT INTO store (one, written_by, readable_from, identity) VALUES (1, ?1, ?2, lower(hex(randomblob(16))))",
        [SCHEMA, READABLE_FROM],
    )?;
    database.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(())
}

/// Whether a database has no table of anybody.
pub(crate) fn is_empty(database: &Connection) -> Result<bool, Fault> {
    Ok(database.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?)
}

/// Looks whether we can read the tables, and write them if that is wanted. Returns the identity of the store.
pub(crate) fn look(database: &Connection, is_written: bool) -> Result<String, Fault> {
    let has_table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'store')";
    if !database.query_row(has_table, [], |row| row.get(0))? {
        return Err(Fault::NotAStore);
    }
    let numbers = "SELECT written_by, readable_from, identity FROM store";
    let row = database.query_row(numbers, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional();
    // A table `store` of somebody else has other columns.
    let (written_by, readable_from, identity): (i64, i64, String) = match row {
        Ok(row) => row.ok_or(Fault::NotAStore)?,
        Err(error) => match Fault::from(error) {
            Fault::Sqlite(_) => return Err(Fault::NotAStore),
            other => return Err(other),
        },
    };
    expect_known(written_by, readable_from, is_written)?;
    Ok(identity)
}
