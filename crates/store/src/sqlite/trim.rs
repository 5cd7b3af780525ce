//! History that is dropped, in a file.

use rusqlite::{OptionalExtension, TransactionBehavior};

use super::open::Store;
use crate::fault::Fault;
use crate::trim::{Bounds, Trimmed};

/// Versions up to a number that are not the newest of their zone.
const OLD: &str =
    "id <= ?1 AND EXISTS (SELECT 1 FROM version n WHERE n.zone = version.zone AND n.id > version.id)";

/// Versions before a time, and those of the same zone before them (a clock may have been set back), but for the newest of each zone. What bounds each zone is
/// found once: looked for with each version it takes minutes for 20,000 of them, and nobody writes meanwhile.
const AGED: &str = "id IN (SELECT v.id
     FROM (SELECT zone, max(id) AS newest, max(id) FILTER (WHERE at < ?1) AS aged FROM version GROUP BY zone) bound
     JOIN version v ON v.zone = bound.zone AND v.id <= bound.aged AND v.id < bound.newest)";

impl Store {
    /// Drops what is beyond the bounds.
    pub fn trim(&mut self, bounds: &Bounds) -> Result<Trimmed, Fault> {
        let transaction = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut trimmed = Trimmed::default();
        let mut drop = |which: &str, limit: i64| -> Result<(), Fault> {
            let rows = format!("DELETE FROM change WHERE version IN (SELECT id FROM version WHERE {which})");
            trimmed.rows += transaction.execute(&rows, [limit])? as u64;
            let versions = format!("DELETE FROM version WHERE {which}");
            trimmed.versions += transaction.execute(&versions, [limit])? as u64;
            Ok(())
        };
        if let Some(before) = bounds.before {
            drop(AGED, limit(before))?;
        }
        if let Some(max) = bounds.octets_max {
            let over = "SELECT id FROM (SELECT id, sum(octets) OVER (ORDER BY id DESC) AS total FROM version)
                WHERE total > ?1 ORDER BY id DESC LIMIT 1";
            let last: Option<i64> = transaction.query_row(over, [limit(max)], |row| row.get(0)).optional()?;
            if let Some(last) = last {
                drop(OLD, last)?;
                // Newest versions of their zones: without their rows all of the zone is to be read.
                let without = "UPDATE version SET kind = 'whole', rows = 0, octets = 0 WHERE id <= ?1 AND kind = 'change'";
                let rows = "DELETE FROM change WHERE version <= ?1";
                trimmed.rows += transaction.execute(rows, [last])? as u64;
                transaction.execute(without, [last])?;
            }
        }
        transaction.commit()?;
        Ok(trimmed)
    }
}

/// Numbers of SQLite have a sign; what is beyond them is no bound.
fn limit(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
