//! All of a zone in place of what is there: what differs becomes a version.
//!
//! A new zone is written row by row. Of one that is there the new rows come into a table of their own first, beside the file, and then what differs is
//! deleted and inserted: in memory that does not depend on the zone.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use wire::Name;
use zone::Contents;

use super::close::{From, ZoneRow, close, close_above, read_row};
use super::open::Store;
use super::read::changes;
use super::version::newest;
use crate::fault::Fault;
use crate::put::{CHANGED_MAX, OwnSoa, Put, each_row, expect_mark};
use crate::read::What;
use crate::row::Row;
use crate::version::{Kind, Meta, Version};

/// The one who writes at present: what it does is there when it is committed, all of it or nothing. Dropped, it has done nothing, which is all that is left to
/// do after a fault.
pub struct Writer<'s> {
    transaction: Transaction<'s>,
    has_failed: bool,
    /// [`CHANGED_MAX`]; tests have less.
    pub(crate) changed_max: i64,
}

impl Store {
    /// Waits until nobody else writes.
    pub fn writer(&mut self) -> Result<Writer<'_>, Fault> {
        let transaction = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        Ok(Writer { transaction, has_failed: false, changed_max: CHANGED_MAX })
    }
}

impl Writer<'_> {
    /// Puts a zone in place of the one of that name, if there is one. `expected`: the mark that the zone is to have still; a zone that was changed since is
    /// left as it is.
    ///
    /// The serial is that of the SOA record if it is greater than what was there, else the next; an SOA record that differs in a serial that is not greater
    /// is the same.
    pub fn put(
        &mut self,
        contents: &Contents,
        expected: Option<&str>,
        meta: &Meta<'_>,
    ) -> Result<Put, Fault> {
        let put = self.try_put(contents, expected, meta);
        self.has_failed |= put.is_err();
        put
    }

    fn try_put(
        &mut self,
        contents: &Contents,
        expected: Option<&str>,
        meta: &Meta<'_>,
    ) -> Result<Put, Fault> {
        let name = contents.apex().to_lowercase().to_string();
        // What others changed is a version of theirs; where it can be none, an import that says all of the zone mends it.
        match self.close_others(&name, meta.at) {
            Err(fault) if !(fault.is_of_zone() && expected.is_none()) => return Err(fault),
            _ => {}
        }
        if let Some(expected) = expected {
            expect_mark(newest(&self.transaction, &name)?, &name, expected)?;
        }
        let database = &*self.transaction;
        let row = ZoneRow::find(database, &name)?;
        match row {
            None => insert(database, contents, &name)?,
            Some(row) => replace(database, contents, &name, row.id, self.changed_max)?,
        }
        let Some(version) = close(database, &name, From::Records, meta)? else {
            return Ok(if row.is_some_and(|row| !row.is_enabled) { Put::Disabled } else { Put::Same });
        };
        let newest = newest(database, &name)?.filter(|newest| newest.id == version);
        match newest {
            // A zone that is not enabled is closed as one that is gone.
            Some(newest) if newest.kind != Kind::Removed => Ok(Put::Made(newest)),
            _ => Ok(Put::Disabled),
        }
    }

    /// Makes a version of a zone that says that all of it is to be read, whatever triggers have noted.
    pub fn touch(&mut self, zone: &Name, meta: &Meta<'_>) -> Result<Version, Fault> {
        let touched = self.try_touch(zone, None, meta);
        self.has_failed |= touched.is_err();
        touched
    }

    /// The same with a serial above another one: of a database that is older than what was served of it.
    pub fn raise(&mut self, zone: &Name, above: u32, meta: &Meta<'_>) -> Result<Version, Fault> {
        let raised = self.try_touch(zone, Some(above), meta);
        self.has_failed |= raised.is_err();
        raised
    }

    fn try_touch(&mut self, zone: &Name, above: Option<u32>, meta: &Meta<'_>) -> Result<Version, Fault> {
        let name = zone.to_lowercase().to_string();
        self.close_others(&name, meta.at)?;
        let database = &*self.transaction;
        let no_zone = || Fault::NoZone(name.clone());
        if !ZoneRow::find(database, &name)?.ok_or_else(no_zone)?.is_enabled {
            return Err(Fault::NotEnabled(name));
        }
        note_whole(database, &name)?;
        close_above(database, &name, above, From::Anybody, meta)?;
        newest(database, &name)?.ok_or_else(no_zone)
    }

    /// Hands over what changes in a version, also in one that was not committed yet.
    pub fn changes(&self, version: i64, each: &mut dyn FnMut(What, &Row)) -> Result<(), Fault> {
        changes(&self.transaction, version, each)
    }

    /// Makes all that was done durable and visible.
    pub fn commit(self) -> Result<(), Fault> {
        // A zone may be half of one by now.
        assert!(!self.has_failed, "a writer that met a fault is dropped");
        Ok(self.transaction.commit()?)
    }

    pub(super) fn database(&self) -> &Connection {
        &self.transaction
    }

    /// Has it be dropped, and not committed, if something has failed.
    pub(super) fn failed_if(&mut self, has_failed: bool) {
        self.has_failed |= has_failed;
    }

    /// Closes what others have changed in a zone.
    fn close_others(&mut self, name: &str, at: u64) -> Result<(), Fault> {
        let savepoint = self.transaction.savepoint()?;
        close(&savepoint, name, From::Anybody, &Meta { at, ..Meta::default() })?;
        Ok(savepoint.commit()?)
    }
}

/// Writes a zone that is not there.
fn insert(database: &Connection, contents: &Contents, name: &str) -> Result<(), Fault> {
    let id = database.prepare_cached("INSERT INTO zone (name) VALUES (?1)")?.insert([name])?;
    let mut statement = database
        .prepare_cached("INSERT INTO record (zone, owner, type, ttl, rdata) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    each_row(contents, |row| {
        statement.execute(params![id, row.owner, row.rtype, row.ttl, row.rdata])?;
        Ok(())
    })
}

/// Makes the rows of a zone those of `contents`, touching only what differs.
fn replace(
    database: &Connection,
    contents: &Contents,
    name: &str,
    id: i64,
    changed_max: i64,
) -> Result<(), Fault> {
    database.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS incoming (
             owner TEXT NOT NULL, type TEXT NOT NULL, ttl INTEGER NOT NULL, rdata TEXT NOT NULL,
             PRIMARY KEY (owner, type, rdata)) WITHOUT ROWID;
         DELETE FROM temp.incoming;",
    )?;
    let own = own_soa(database, contents.apex(), name, id)?;
    let mut statement = database
        .prepare_cached("INSERT INTO temp.incoming (owner, type, ttl, rdata) VALUES (?1, ?2, ?3, ?4)")?;
    each_row(contents, |row| {
        let row = match &own {
            Some(own) if own.says_all_of(&row, contents.apex()) => own.row.clone(),
            _ => row,
        };
        statement.execute(params![row.owner, row.rtype, row.ttl, row.rdata])?;
        Ok(())
    })?;
    for those in [COMING, GOING] {
        let count = format!("SELECT count(*) FROM (SELECT 1 {those} LIMIT ?2)");
        let limit = params![id, changed_max.saturating_add(1)];
        if database.prepare_cached(&count)?.query_row(limit, |row| row.get::<_, i64>(0))? > changed_max {
            note_whole(database, name)?;
        }
    }
    database.prepare_cached(&format!("DELETE {GOING}"))?.execute([id])?;
    let insert =
        "INSERT OR REPLACE INTO record (zone, owner, type, ttl, rdata) SELECT ?1, owner, type, ttl, rdata";
    database.prepare_cached(&format!("{insert} {COMING}"))?.execute([id])?;
    database.execute_batch("DELETE FROM temp.incoming")?;
    Ok(())
}

/// Rows that come in, and are not there or have another TTL there.
const COMING: &str = "FROM temp.incoming i WHERE NOT EXISTS (SELECT 1 FROM record r
    WHERE r.zone = ?1 AND r.owner = i.owner AND r.type = i.type AND r.rdata = i.rdata AND r.ttl = i.ttl)";

/// Rows that are there, and do not come in.
const GOING: &str = "FROM record WHERE zone = ?1 AND NOT EXISTS (SELECT 1 FROM temp.incoming i
    WHERE i.owner = record.owner AND i.type = record.type AND i.rdata = record.rdata)";

/// Has the next version of a zone say that all of it is to be read. From here on triggers note no row of it.
fn note_whole(database: &Connection, name: &str) -> Result<(), Fault> {
    database
        .prepare_cached("INSERT OR REPLACE INTO pending_zone (name, whole) VALUES (?1, 1)")?
        .execute([name])?;
    Ok(())
}

/// `None`: it has none that can be read.
fn own_soa(database: &Connection, apex: &Name, name: &str, id: i64) -> Result<Option<OwnSoa>, Fault> {
    let mut statement = database.prepare_cached(
        "SELECT owner, type, ttl, rdata FROM record WHERE zone = ?1 AND owner = ?2 AND type = 'SOA' LIMIT 1",
    )?;
    let mut rows = statement.query(params![id, name])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(OwnSoa::of(read_row(row)?, apex))
}
