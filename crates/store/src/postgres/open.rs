//! A database with a store: its schema made, opened, refused with words, adopted.

use std::time::Duration;

use tokio_postgres::Row;

use super::link::{Beat, Link};
use super::target::Target;
use crate::fault::Fault;
use crate::open::Access;
use crate::schema::{READABLE_FROM, SCHEMA, expect_known};

/// The statements that make it.
const SQL: [&str; 3] = [include_str!("schema.sql"), include_str!("triggers.sql"), include_str!("close.sql")];

/// How long one statement may take of who follows a store: it holds back what is new of all zones.
const READ_MAX: Duration = Duration::from_secs(60);

/// And of who writes: a million records are copied in some ten seconds, and compared with those that are there in as many.
const WRITE_MAX: Duration = Duration::from_secs(600);

/// The oldest server that has `xid8`, which numbers transactions without wrapping, as it numbers itself.
const SERVER_MIN: i32 = 130_000;

/// A store of zones in PostgreSQL.
pub struct Store {
    pub(super) link: Link,
    identity: String,
}

impl Store {
    /// Makes a store in a database without a schema `zonda`.
    pub fn create(target: &Target) -> Result<Store, Fault> {
        let link = connect(target, WRITE_MAX, Box::new(|| true))?;
        let exists = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'zonda')";
        if link.query(exists, &[])?.iter().any(|row| row.get(0)) {
            return Err(Fault::Exists);
        }
        let identity = link.within("BEGIN", || {
            SQL.iter().try_for_each(|sql| link.batch(sql))?;
            link.execute(
                "INSERT INTO zonda.store (one, written_by, readable_from, cluster) VALUES (1, $1, $2, zonda.cluster())",
                &[&SCHEMA, &READABLE_FROM],
            )?;
            look(&link, Some(Access::Write))
        })?;
        Ok(Store { link, identity })
    }

    /// Opens the store of a database.
    pub fn open(target: &Target, access: Access) -> Result<Store, Fault> {
        let limit = if access == Access::Read { READ_MAX } else { WRITE_MAX };
        Store::open_within(target, access, limit)
    }

    /// The same; each statement may take so long.
    pub fn open_within(target: &Target, access: Access, limit: Duration) -> Result<Store, Fault> {
        Store::open_with(target, access, limit, Box::new(|| true))
    }

    /// The same; `beat` is called while a statement is at work, and says whether to go on.
    pub(super) fn open_with(
        target: &Target,
        access: Access,
        limit: Duration,
        beat: Beat,
    ) -> Result<Store, Fault> {
        let link = connect(target, limit, beat)?;
        if access == Access::Read {
            link.batch("SET default_transaction_read_only = on")?;
        }
        let identity = look(&link, Some(access))?;
        Ok(Store { link, identity })
    }

    /// Has a copy of a store, or one that was moved, be the store from here on.
    pub fn adopt(target: &Target) -> Result<Store, Fault> {
        let link = connect(target, WRITE_MAX, Box::new(|| true))?;
        let identity = link.within("BEGIN", || {
            look(&link, None)?;
            link.execute("UPDATE zonda.store SET cluster = zonda.cluster() WHERE cluster <> zonda.cluster()", &[])?;
            // Numbers of another cluster's transactions: those that are still to come here would be new in each look until then.
            link.execute(
                "UPDATE zonda.version SET transaction = pg_current_xact_id() WHERE transaction >= pg_snapshot_xmin(pg_current_snapshot())",
                &[],
            )?;
            look(&link, Some(Access::Write))
        })?;
        Ok(Store { link, identity })
    }

    /// 32 hexadecimal digits by which it is known, wherever it is.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

pub(super) fn connect(target: &Target, limit: Duration, beat: Beat) -> Result<Link, Fault> {
    let link = Link::open(target, limit, beat)?;
    let version = link.query("SELECT current_setting('server_version_num')::integer", &[])?;
    match version.first().map(|row| row.try_get::<_, i32>(0)).transpose()? {
        Some(version) if version < SERVER_MIN => Err(Fault::TooOld { version }),
        _ => Ok(link),
    }
}

/// Looks whether we can read the tables, and write them if that is wanted. Returns the identity of the store. `None`: whether it is a copy is no matter.
fn look(link: &Link, access: Option<Access>) -> Result<String, Fault> {
    let sql = "SELECT written_by, readable_from, identity, cluster, zonda.cluster() FROM zonda.store";
    let row = match link.query_opt(sql, &[]) {
        // A schema or table that is not there, or somebody else's with other columns.
        Err(Fault::Postgres { code, .. })
            if code.starts_with("3F") || matches!(&*code, "42P01" | "42703" | "42883") =>
        {
            return Err(Fault::NotAStore);
        }
        other => other?.ok_or(Fault::NotAStore)?,
    };
    let text = |row: &Row, column: usize| row.try_get::<_, String>(column);
    expect_known(row.try_get(0)?, row.try_get(1)?, access != Some(Access::Read))?;
    let (noted, found) = (text(&row, 3)?, text(&row, 4)?);
    if access.is_some() && noted != found {
        return Err(Fault::Elsewhere { noted, found });
    }
    Ok(text(&row, 2)?)
}
