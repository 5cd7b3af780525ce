//! All of a zone in place of what is there: triggers make a version of what differs.
//!
//! A new zone is copied in. Of one that is there the new rows come into a table of their own first, and then what differs is deleted and inserted.

use wire::Name;
use zone::Contents;

use super::link::Link;
use super::open::Store;
use super::read::{changes, read_row};
use super::version::newest;
use crate::fault::Fault;
use crate::put::{CHANGED_MAX, OwnSoa, Put, each_row, expect_mark};
use crate::read::What;
use crate::row::Row;
use crate::version::{Kind, Meta, Version};

/// Somebody who writes: what it does is there when it is committed, all of it or nothing. Dropped, it has done nothing, which is all that is left to do after a
/// fault. Others write at the same time, other zones.
pub struct Writer<'s> {
    link: &'s Link,
    is_open: bool,
    has_failed: bool,
    /// [`CHANGED_MAX`]; tests have less.
    pub(super) changed_max: i64,
}

impl Store {
    /// Begins to write.
    pub fn writer(&mut self) -> Result<Writer<'_>, Fault> {
        // Whatever is the default there: what others committed while a zone was waited for is to be seen.
        self.link.batch("BEGIN ISOLATION LEVEL READ COMMITTED")?;
        Ok(Writer { link: &self.link, is_open: true, has_failed: false, changed_max: CHANGED_MAX })
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // If that fails the connection is of no use, and its end is the end of the transaction.
            let _ = self.link.batch("ROLLBACK");
        }
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

    fn try_put(&self, contents: &Contents, expected: Option<&str>, meta: &Meta<'_>) -> Result<Put, Fault> {
        let (name, link) = (contents.apex().to_lowercase().to_string(), self.link);
        let before = self.lock(&name, meta)?;
        let last = before.as_ref().map(|before| before.id);
        if let Some(expected) = expected {
            expect_mark(before, &name, expected)?;
        }
        let row = ZoneRow::find(link, &name)?;
        match row {
            None => insert(link, contents, &name)?,
            Some(row) => replace(link, contents, &name, row.id, self.changed_max)?,
        }
        self.close()?;
        match newest(link, &name)?.filter(|newest| Some(newest.id) != last) {
            Some(newest) if newest.kind != Kind::Removed => Ok(Put::Made(newest)),
            Some(_) => Ok(Put::Disabled),
            None => Ok(if row.is_some_and(|row| !row.is_enabled) { Put::Disabled } else { Put::Same }),
        }
    }

    /// Makes a version of a zone that says that all of it is to be read, whatever triggers have noted.
    pub fn touch(&mut self, zone: &Name, meta: &Meta<'_>) -> Result<Version, Fault> {
        self.raise(zone, 0, meta)
    }

    /// The same with a serial above another one: of a database that is older than what was served of it.
    pub fn raise(&mut self, zone: &Name, above: u32, meta: &Meta<'_>) -> Result<Version, Fault> {
        let raised = self.try_raise(zone, above, meta);
        self.has_failed |= raised.is_err();
        raised
    }

    fn try_raise(&self, zone: &Name, above: u32, meta: &Meta<'_>) -> Result<Version, Fault> {
        let name = zone.to_lowercase().to_string();
        self.lock(&name, meta)?;
        let no_zone = || Fault::NoZone(name.clone());
        if !ZoneRow::find(self.link, &name)?.ok_or_else(no_zone)?.is_enabled {
            return Err(Fault::NotEnabled(name));
        }
        self.link.query("SELECT zonda.touch($1, $2)", &[&name, &i64::from(above)])?;
        self.close()?;
        newest(self.link, &name)?.ok_or_else(no_zone)
    }

    /// Hands over what changes in a version, also in one that was not committed yet.
    pub fn changes(&self, version: i64, each: &mut dyn FnMut(What, &Row)) -> Result<(), Fault> {
        changes(self.link, version, each)
    }

    /// Makes all that was done durable and visible.
    pub fn commit(mut self) -> Result<(), Fault> {
        // PostgreSQL would take this for ROLLBACK, and say nothing of it.
        assert!(!self.has_failed, "a writer that met a fault is dropped");
        self.link.batch("COMMIT")?;
        self.is_open = false;
        Ok(())
    }

    /// Locks a zone, says who changes it, and which version it has.
    fn lock(&self, name: &str, meta: &Meta<'_>) -> Result<Option<Version>, Fault> {
        self.link.query("SELECT zonda.lock($1)", &[&name])?;
        let (who, why) = (meta.who.unwrap_or_default(), meta.why.unwrap_or_default());
        self.link.query(
            "SELECT set_config('zonda.who', $1, true), set_config('zonda.why', $2, true)",
            &[&who, &why],
        )?;
        newest(self.link, name)
    }

    /// Has what was written become a version now, as it does at the end of a transaction.
    fn close(&self) -> Result<(), Fault> {
        self.link.batch("SET CONSTRAINTS zonda.version_close IMMEDIATE")
    }
}

/// A zone as its row has it.
#[derive(Clone, Copy)]
struct ZoneRow {
    id: i64,
    is_enabled: bool,
}

impl ZoneRow {
    /// That of a name in lower case.
    fn find(link: &Link, name: &str) -> Result<Option<ZoneRow>, Fault> {
        let row = link.query_opt("SELECT id, enabled FROM zonda.zone WHERE name = $1", &[&name])?;
        row.map(|row| Ok(ZoneRow { id: row.try_get(0)?, is_enabled: row.try_get(1)? })).transpose()
    }
}

/// Writes a zone that is not there.
fn insert(link: &Link, contents: &Contents, name: &str) -> Result<(), Fault> {
    let row = link.query_opt("INSERT INTO zonda.zone (name) VALUES ($1) RETURNING id", &[&name])?;
    let id: i64 = row.ok_or_else(|| Fault::NoZone(name.to_owned()))?.try_get(0)?;
    let id = id.to_string();
    let mut copying = link.copy("COPY zonda.record (zone, owner, type, ttl, rdata) FROM STDIN")?;
    each_row(contents, |row| copying.push(&[&id, &row.owner, &row.rtype, &row.ttl.to_string(), &row.rdata]))?;
    copying.finish()?;
    Ok(())
}

/// Makes the rows of a zone those of `contents`, touching only what differs.
fn replace(link: &Link, contents: &Contents, name: &str, id: i64, changed_max: i64) -> Result<(), Fault> {
    link.batch(
        "CREATE TEMP TABLE IF NOT EXISTS incoming (
             owner text COLLATE \"C\" NOT NULL, type text COLLATE \"C\" NOT NULL, ttl integer NOT NULL, rdata text COLLATE \"C\" NOT NULL) ON COMMIT DROP;
         TRUNCATE pg_temp.incoming",
    )?;
    let own = own_soa(link, contents.apex(), name, id)?;
    let mut copying = link.copy("COPY pg_temp.incoming (owner, type, ttl, rdata) FROM STDIN")?;
    each_row(contents, |row| {
        let row = match &own {
            Some(own) if own.says_all_of(&row, contents.apex()) => own.row.clone(),
            _ => row,
        };
        copying.push(&[&row.owner, &row.rtype, &row.ttl.to_string(), &row.rdata])
    })?;
    copying.finish()?;
    // So that it is known how many rows it has: a plan for few takes hours for a million.
    link.batch("ANALYZE pg_temp.incoming")?;
    for those in [COMING, GOING] {
        let count = format!("SELECT count(*) FROM (SELECT 1 {those} LIMIT $2) those");
        let rows = link.query_once(&count, &[&id, &changed_max.saturating_add(1)])?;
        if rows
            .first()
            .map(|row| row.try_get::<_, i64>(0))
            .transpose()?
            .is_some_and(|count| count > changed_max)
        {
            link.query("SELECT zonda.touch($1)", &[&name])?;
        }
    }
    link.query_once(&format!("DELETE {GOING}"), &[&id])?;
    let insert = "INSERT INTO zonda.record (zone, owner, type, ttl, rdata) SELECT $1::bigint, i.owner, i.type, i.ttl, i.rdata";
    let conflict = "ON CONFLICT (zone, owner, type, zonda.key(rdata)) DO UPDATE SET ttl = excluded.ttl";
    link.query_once(&format!("{insert} {COMING} {conflict}"), &[&id])?;
    Ok(())
}

/// Rows that come in, and are not there or have another TTL there.
const COMING: &str = "FROM pg_temp.incoming i WHERE NOT EXISTS (SELECT 1 FROM zonda.record r
    WHERE r.zone = $1 AND r.owner = i.owner AND r.type = i.type AND zonda.key(r.rdata) = zonda.key(i.rdata) AND r.rdata = i.rdata AND r.ttl = i.ttl)";

/// Rows that are there, and do not come in.
const GOING: &str = "FROM zonda.record r WHERE r.zone = $1 AND NOT EXISTS (SELECT 1 FROM pg_temp.incoming i
    WHERE i.owner = r.owner AND i.type = r.type AND i.rdata = r.rdata)";

/// `None`: it has none that can be read.
fn own_soa(link: &Link, apex: &Name, name: &str, id: i64) -> Result<Option<OwnSoa>, Fault> {
    let sql = "SELECT owner, type, ttl, rdata FROM zonda.record WHERE zone = $1 AND owner = $2 AND type = 'SOA' LIMIT 1";
    let row = link.query_opt(sql, &[&id, &name])?;
    Ok(row.map(|row| read_row(&row, 0)).transpose()?.and_then(|row| OwnSoa::of(row, apex)))
}
