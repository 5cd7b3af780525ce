//! Records that go and come, over a version that is still the newest.

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::close::{From, ZoneRow, close};
use super::open::Store;
use super::version::newest;
use crate::alter::{AGE_MAX, NotCommitted, Once, VERSIONS_LOOKED_MAX, Write, Wrote, rows};
use crate::fault::Fault;
use crate::version::{Kind, Meta};

impl Store {
    /// Changes zones, all of them in one transaction or none: one flush is for many. `at`: the time, in seconds since 1970.
    pub fn write(&mut self, writes: &[Write], at: u64) -> Result<Vec<Wrote>, NotCommitted> {
        let mut writer = self.writer()?;
        let wrote = writes.iter().map(|write| writer.alter(write, at)).collect::<Result<_, Fault>>()?;
        match writer.commit() {
            Ok(()) => Ok(wrote),
            // Before anything is in the journal; of what else a disk says nobody knows what it has by now.
            Err(fault @ (Fault::Busy | Fault::Full | Fault::ReadOnly)) => Err(NotCommitted::Nothing(fault)),
            Err(fault) => Err(NotCommitted::Unknown(fault)),
        }
    }
}

impl super::write::Writer<'_> {
    /// Changes a zone. After a fault all that the writer did is to be dropped.
    fn alter(&mut self, write: &Write, at: u64) -> Result<Wrote, Fault> {
        let altered = alter(self.database(), write, at);
        self.failed_if(altered.is_err());
        altered
    }
}

fn alter(database: &Connection, write: &Write, at: u64) -> Result<Wrote, Fault> {
    let name = write.name();
    // What others changed is a version of theirs, which nobody has seen who asks for this.
    close(database, &name, From::Anybody, &Meta { at, ..Meta::default() })?;
    if let Some(once) = &write.once
        && let Some(known) = known(database, &name, once, at)?
    {
        return Ok(known);
    }
    let before = newest(database, &name)?;
    let is_it = before.is_some_and(|before| before.kind != Kind::Removed && before.mark == write.over.1);
    let row = ZoneRow::find(database, &name)?.filter(|row| is_it && row.is_enabled);
    let Some(ZoneRow { id, .. }) = row else { return Ok(Wrote::Moved) };

    let mut delete = database
        .prepare_cached("DELETE FROM record WHERE zone = ?1 AND owner = ?2 AND type = ?3 AND rdata = ?4")?;
    for row in rows(&write.removed) {
        let deleted = delete.execute(params![id, row.owner, row.rtype, row.rdata]);
        if deleted.map_err(|error| refused(write, error.into()))? != 1 {
            return Err(Fault::NotItsRows(name));
        }
    }
    let mut insert = database
        .prepare_cached("INSERT INTO record (zone, owner, type, ttl, rdata) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for row in rows(&write.added) {
        let inserted = insert.execute(params![id, row.owner, row.rtype, row.ttl, row.rdata]);
        inserted.map_err(|error| refused(write, error.into()))?;
    }
    let why = write.why();
    let meta = Meta { at, who: Some(&write.who), why: why.as_deref() };
    match close(database, &name, From::Records, &meta).map_err(|fault| refused(write, fault))? {
        Some(_) => Ok(newest(database, &name)?.map_or(Wrote::Moved, Wrote::Made)),
        None => Ok(Wrote::Same),
    }
}

/// What a constraint says, of the tables or of somebody's own trigger, is about the zone.
fn refused(write: &Write, fault: Fault) -> Fault {
    match fault {
        Fault::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            let zone = write.name();
            Fault::Refused { words: format!("zone {zone}: {}", Fault::Sqlite(error)), zone }
        }
        fault => fault,
    }
}

/// What is known of a request.
fn known(database: &Connection, zone: &str, once: &Once, at: u64) -> Result<Option<Wrote>, Fault> {
    let begin = once.begin();
    let mut statement = database.prepare_cached(
        "SELECT serial, why FROM (SELECT serial, why, at FROM version WHERE zone = ?1 ORDER BY id DESC LIMIT ?2)
          WHERE substr(why, 1, ?3) = ?4 AND at > ?5 LIMIT 1",
    )?;
    let parameters =
        params![zone, VERSIONS_LOOKED_MAX, begin.len() as i64, begin, at.saturating_sub(AGE_MAX) as i64];
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?));
    let found = statement.query_row(parameters, read).optional()?;
    Ok(found.map(|(serial, why)| once.known(serial, &why)))
}
