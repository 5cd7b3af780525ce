//! A zone from its rows, and its history.

use rusqlite::{Connection, TransactionBehavior, params};
use wire::Name;
use zone::Contents;

use super::close::{ZoneRow, read_row};
use super::open::Store;
use super::version::{COLUMNS, newest, of_row};
use crate::fault::Fault;
use crate::read::{Collector, What};
use crate::row::Row;
use crate::version::{Kind, Version};

impl Store {
    /// The records of a zone and the version that they are, of one moment. No version: what is there is none yet.
    pub fn contents(&mut self, zone: &Name) -> Result<(Contents, Option<Version>), Fault> {
        let name = zone.to_lowercase().to_string();
        let transaction = self.database.transaction_with_behavior(TransactionBehavior::Deferred)?;
        let row = ZoneRow::find(&transaction, &name)?.ok_or_else(|| Fault::NoZone(name.clone()))?;
        let version = newest(&transaction, &name)?.filter(|newest| newest.kind != Kind::Removed);
        let contents = read(&transaction, zone, &name, row.id)?;
        Ok((contents, version))
    }

    /// Hands over all versions, oldest first, of one zone or of all.
    pub fn versions(
        &self,
        zone: Option<&Name>,
        each: &mut dyn FnMut(&Version) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let one = zone.map(|zone| zone.to_lowercase().to_string());
        // Two statements, so that the history of one zone is found by the index.
        let sql = match one {
            Some(_) => format!("SELECT {COLUMNS} FROM version WHERE zone = ?1 ORDER BY id"),
            None => format!("SELECT {COLUMNS} FROM version WHERE ?1 IS NULL ORDER BY id"),
        };
        let mut statement = self.database.prepare(&sql)?;
        let mut rows = statement.query(params![one])?;
        while let Some(row) = rows.next()? {
            each(&of_row(row)?)?;
        }
        Ok(())
    }

    /// Hands over what changed in a version: what went first.
    pub fn changes(&self, version: i64, each: &mut dyn FnMut(What, &Row)) -> Result<(), Fault> {
        changes(&self.database, version, each)
    }
}

pub(crate) fn changes(
    database: &Connection,
    version: i64,
    each: &mut dyn FnMut(What, &Row),
) -> Result<(), Fault> {
    let mut statement = database.prepare_cached(
        "SELECT owner, type, ttl, rdata, what FROM change WHERE version = ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([version])?;
    while let Some(row) = rows.next()? {
        let is_added = row.get_ref(4)?.as_str().is_ok_and(|word| word == "+");
        each(if is_added { What::Added } else { What::Removed }, &read_row(row)?);
    }
    Ok(())
}

fn read(database: &Connection, apex: &Name, name: &str, id: i64) -> Result<Contents, Fault> {
    let mut collector = Collector::of(apex, name);
    let mut statement =
        database.prepare_cached("SELECT owner, type, ttl, rdata FROM record WHERE zone = ?1")?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        collector.push(read_row(row)?)?;
    }
    collector.finish()
}
