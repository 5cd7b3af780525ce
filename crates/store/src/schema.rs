//! By which numbers programs know whether they can read the tables. SQLite's and PostgreSQL's change together.

use crate::fault::Fault;

/// Number of the schema that this program makes and writes. One more with each change of the tables.
pub const SCHEMA: i64 = 1;

/// The lowest number that a program has to know to read what we write.
pub const READABLE_FROM: i64 = 1;

/// Refuses what a later program has written so that we cannot read it, or write it if that is wanted.
pub(crate) fn expect_known(written_by: i64, readable_from: i64, is_written: bool) -> Result<(), Fault> {
    if readable_from > SCHEMA {
        return Err(Fault::TooNew { written_by, readable_from });
    }
    if is_written && written_by > SCHEMA {
        return Err(Fault::NotOurs { written_by });
    }
    Ok(())
}
