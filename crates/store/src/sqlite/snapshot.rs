//! What a store has at one moment, for who follows it: newest versions, what led to them, rows as records. Whoever writes meanwhile is not held up.

use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use wire::NameBuf;
use zonefile::RecordBuf;

use super::close::{ZoneRow, read_row};
use super::open::Store;
use super::version::{COLUMNS, newest, of_row};
use crate::fault::Fault;
use crate::read::{Refused, What};
use crate::row::{Reader, Refusal};
use crate::version::{Kind, Version};

/// Steps of SQLite from call to call: some milliseconds.
const PROGRESS_STEPS: i32 = 100_000;

/// One moment of a store.
pub struct Snapshot<'s> {
    transaction: Transaction<'s>,
}

/// The newest version of a zone, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head<'h> {
    /// The zone.
    pub zone: &'h str,
    /// Its serial.
    pub serial: u32,
    /// Its mark.
    pub mark: &'h str,
    /// Whether the zone is gone.
    pub is_removed: bool,
}

impl Store {
    /// How long this connection waits for others that write, in the place of [`super::open::WAIT_MAX`].
    pub fn set_patience(&self, wait: Duration) -> Result<(), Fault> {
        Ok(self.database.busy_timeout(wait)?)
    }

    /// Has `each` be called again and again while statements of this connection are at work, so that it can be told that they are; it says whether they are to go on.
    pub fn on_progress(&mut self, mut each: impl FnMut() -> bool + Send + 'static) -> Result<(), Fault> {
        Ok(self.database.progress_handler(PROGRESS_STEPS, Some(move || !each()))?)
    }

    /// A number that is another one after each commit by somebody else. Asking costs next to nothing.
    pub fn data_version(&self) -> Result<i64, Fault> {
        Ok(self.database.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }

    /// What is there now.
    pub fn snapshot(&mut self) -> Result<Snapshot<'_>, Fault> {
        Ok(Snapshot { transaction: self.database.transaction_with_behavior(TransactionBehavior::Deferred)? })
    }
}

impl Snapshot<'_> {
    /// Hands over the newest version of each zone, in the order of their names.
    pub fn heads(&self, each: &mut dyn FnMut(&Head<'_>)) -> Result<(), Fault> {
        let mut statement = self.transaction.prepare_cached(
            // By the index alone, without a sort: a join with what that finds, in its order.
            "SELECT v.zone, v.serial, v.mark, v.kind
               FROM (SELECT zone, max(id) AS newest FROM version GROUP BY zone) n CROSS JOIN version v ON v.id = n.newest",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(&Head {
                zone: row.get_ref(0)?.as_str().unwrap_or_default(),
                serial: row.get(1)?,
                mark: row.get_ref(2)?.as_str().unwrap_or_default(),
                is_removed: row.get_ref(3)?.as_str().is_ok_and(|kind| kind == Kind::Removed.word()),
            });
        }
        Ok(())
    }

    /// Number and mark of the newest version of all; `None`: there is none.
    pub fn last(&self) -> Result<Option<(i64, String)>, Fault> {
        let sql = "SELECT id, mark FROM version ORDER BY id DESC LIMIT 1";
        let mut statement = self.transaction.prepare_cached(sql)?;
        Ok(statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// The mark of the version with this number.
    pub fn mark_of(&self, id: i64) -> Result<Option<String>, Fault> {
        let mut statement = self.transaction.prepare_cached("SELECT mark FROM version WHERE id = ?1")?;
        Ok(statement.query_row([id], |row| row.get(0)).optional()?)
    }

    /// Hands over the zone of each version beyond this number.
    pub fn changed_since(&self, id: i64, each: &mut dyn FnMut(&str)) -> Result<(), Fault> {
        let mut statement = self.transaction.prepare_cached("SELECT zone FROM version WHERE id > ?1")?;
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            each(row.get_ref(0)?.as_str().unwrap_or_default());
        }
        Ok(())
    }

    /// The newest version of a zone.
    pub fn newest(&self, zone: &str) -> Result<Option<Version>, Fault> {
        Ok(newest(&self.transaction, zone)?)
    }

    /// The versions of a zone after the one with this mark, oldest first; `None`: there is none with it.
    pub fn since(&self, zone: &str, mark: &str) -> Result<Option<Vec<Version>>, Fault> {
        let mut statement =
            self.transaction.prepare_cached("SELECT id FROM version WHERE zone = ?1 AND mark = ?2")?;
        let id: Option<i64> = statement.query_row([zone, mark], |row| row.get(0)).optional()?;
        let Some(id) = id else { return Ok(None) };
        let sql = format!("SELECT {COLUMNS} FROM version WHERE zone = ?1 AND id > ?2 ORDER BY id");
        let mut statement = self.transaction.prepare_cached(&sql)?;
        let versions = statement.query_map(params![zone, id], of_row)?;
        Ok(Some(versions.collect::<Result<_, _>>()?))
    }

    /// Hands over what changed in a version, what went first, and each time the SOA record first. Says how many records that were.
    pub fn changed<E: From<Fault>>(
        &self,
        version: &Version,
        each: &mut dyn FnMut(What, &RecordBuf) -> Result<(), E>,
    ) -> Result<u64, E> {
        let apex = apex_of(&version.zone)?;
        let sql = "SELECT owner, type, ttl, rdata, what FROM change WHERE version = ?1 ORDER BY number";
        let mut statement = self.transaction.prepare_cached(sql).map_err(Fault::from)?;
        let mut rows = statement.query([version.id]).map_err(Fault::from)?;
        let (mut reader, mut count) = (Reader::of(&apex), 0);
        while let Some(row) = rows.next().map_err(Fault::from)? {
            let is_added = row.get_ref(4).is_ok_and(|what| what.as_str().is_ok_and(|word| word == "+"));
            let row = read_row(row).map_err(Fault::from)?;
            let record = reader.read(&row).map_err(|why| Fault::Rows {
                zone: version.zone.clone(),
                refusals: vec![Refusal { row, why }],
                count: 1,
            })?;
            each(if is_added { What::Added } else { What::Removed }, &record)?;
            count += 1;
        }
        Ok(count)
    }

    /// Whether a zone has changes by plain SQL that are no version yet: its rows are not those of its newest version then.
    pub fn is_pending(&self, zone: &str) -> Result<bool, Fault> {
        let sql = "SELECT EXISTS (SELECT 1 FROM pending_zone WHERE name = ?1)";
        Ok(self.transaction.prepare_cached(sql)?.query_row([zone], |row| row.get(0))?)
    }

    /// Hands over all records of a zone, the SOA record first. What is wrong is known once all rows were read.
    pub fn records<E: From<Fault>>(
        &self,
        zone: &str,
        each: &mut dyn FnMut(&RecordBuf) -> Result<(), E>,
    ) -> Result<(), E> {
        let row = ZoneRow::find(&self.transaction, zone)?.ok_or_else(|| Fault::NoZone(zone.to_owned()))?;
        let apex = apex_of(zone)?;
        let (mut reader, mut refused, mut records) = (Reader::of(&apex), Refused::default(), 0);
        for which in ["owner = ?2 AND type = 'SOA'", "NOT (owner = ?2 AND type = 'SOA')"] {
            let sql = format!("SELECT owner, type, ttl, rdata FROM record WHERE zone = ?1 AND {which}");
            let mut statement = self.transaction.prepare_cached(&sql).map_err(Fault::from)?;
            let mut rows = statement.query(params![row.id, zone]).map_err(Fault::from)?;
            while let Some(row) = rows.next().map_err(Fault::from)? {
                let row = read_row(row).map_err(Fault::from)?;
                match reader.read(&row) {
                    Ok(record) => each(&record)?,
                    Err(why) => refused.push(Refusal { row, why }),
                }
                records += 1;
            }
            if records == 0 {
                return Err(Fault::NoSoa(zone.to_owned()).into());
            }
        }
        Ok(refused.none_of(zone)?)
    }
}

/// A zone's name.
fn apex_of(zone: &str) -> Result<NameBuf, Fault> {
    NameBuf::from_text(zone).map_err(|_| Fault::NoZone(zone.to_owned()))
}
