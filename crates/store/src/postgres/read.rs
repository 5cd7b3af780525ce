//! A zone from its rows, and its history.

use wire::Name;
use zone::Contents;

use super::link::{Link, Parameters};
use super::open::Store;
use super::version::{columns, newest, of_row};
use crate::fault::Fault;
use crate::read::{Collector, What};
use crate::row::Row;
use crate::version::{Kind, Version};

/// Rows of one statement, which has its limit of time.
pub(super) const ROWS_MAX: usize = 10_000;

/// One moment of all tables. They are locked before its snapshot is taken: a table that was rewritten in between is empty for an older one.
pub(super) const MOMENT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    LOCK TABLE zonda.zone, zonda.record, zonda.version, zonda.change IN ACCESS SHARE MODE";

impl Store {
    /// The records of a zone and the version that they are, of one moment. No version: what is there is none yet.
    pub fn contents(&mut self, zone: &Name) -> Result<(Contents, Option<Version>), Fault> {
        let (name, link) = (zone.to_lowercase().to_string(), &self.link);
        link.within(MOMENT, || {
            let id = zone_id(link, &name)?.ok_or_else(|| Fault::NoZone(name.clone()))?;
            let version = newest(link, &name)?.filter(|newest| newest.kind != Kind::Removed);
            let mut collector = Collector::of(zone, &name);
            each_fetched(
                link,
                "SELECT owner, type, ttl, rdata FROM zonda.record WHERE zone = $1",
                &[&id],
                |row| collector.push(read_row(row, 0)?),
            )?;
            Ok((collector.finish()?, version))
        })
    }

    /// Hands over all versions, oldest first, of one zone or of all.
    pub fn versions(
        &self,
        zone: Option<&Name>,
        each: &mut dyn FnMut(&Version) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // Two statements, so that the history of one zone is found by the index.
        const ALL: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM zonda.version v WHERE $1::text IS NULL AND v.id > $2 AND NOT v.open ORDER BY v.id LIMIT 1000"
        );
        const ONE: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM zonda.version v WHERE v.zone = $1 AND v.id > $2 AND NOT v.open ORDER BY v.id LIMIT 1000"
        );
        let one = zone.map(|zone| zone.to_lowercase().to_string());
        let (sql, mut last) = (if one.is_some() { ONE } else { ALL }, 0_i64);
        loop {
            let rows = self.link.query(sql, &[&one, &last])?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in &rows {
                let version = of_row(row)?;
                last = version.id;
                each(&version)?;
            }
        }
    }

    /// Hands over what changed in a version: what went first.
    pub fn changes(&self, version: i64, each: &mut dyn FnMut(What, &Row)) -> Result<(), Fault> {
        self.link.within("BEGIN READ ONLY", || changes(&self.link, version, each))
    }
}

/// In a transaction of the caller.
pub(super) fn changes(link: &Link, version: i64, each: &mut dyn FnMut(What, &Row)) -> Result<(), Fault> {
    let sql = "SELECT owner, type, ttl, rdata, what FROM zonda.change WHERE version = $1
                ORDER BY what DESC, type <> 'SOA', owner, type, rdata";
    each_fetched(link, sql, &[&version], |row| {
        each(what(row, 4)?, &read_row(row, 0)?);
        Ok(())
    })
}

/// The number of the zone with this name in lower case.
pub(super) fn zone_id(link: &Link, name: &str) -> Result<Option<i64>, Fault> {
    let row = link.query_opt("SELECT id FROM zonda.zone WHERE name = $1", &[&name])?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Hands over the rows of a statement, of which some are in memory at a time; what takes them asks nothing else by this connection. In a transaction of the
/// caller.
pub(super) fn each_fetched<E: From<Fault>>(
    link: &Link,
    sql: &str,
    parameters: Parameters<'_>,
    mut each: impl FnMut(&tokio_postgres::Row) -> Result<(), E>,
) -> Result<(), E> {
    link.query_once(&format!("DECLARE fetched NO SCROLL CURSOR FOR {sql}"), parameters)?;
    let fetch = format!("FETCH {ROWS_MAX} FROM fetched");
    loop {
        if link.each(&fetch, &mut each)? < ROWS_MAX {
            return Ok(link.batch("CLOSE fetched")?);
        }
    }
}

/// Owner, type, TTL and RDATA from this column on.
pub(super) fn read_row(row: &tokio_postgres::Row, first: usize) -> Result<Row, Fault> {
    // Of numbers that are no TTL, where somebody switched the constraints off, one that is refused as well.
    let ttl = u32::try_from(row.try_get::<_, i32>(first + 2)?).unwrap_or(u32::MAX);
    let text = |column: usize| row.try_get::<_, String>(first + column);
    Ok(Row { owner: text(0)?, rtype: text(1)?, ttl, rdata: text(3)? })
}

/// Whether a row of `change` came or went.
pub(super) fn what(row: &tokio_postgres::Row, column: usize) -> Result<What, Fault> {
    Ok(if row.try_get::<_, &str>(column)? == "+" { What::Added } else { What::Removed })
}
