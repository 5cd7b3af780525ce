//! PowerDNS's tables in PostgreSQL: read alone, in the schema in which the role finds them.

use std::ops::ControlFlow;
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use super::link::{Beat, Link, Parameters};
use super::open::connect;
use super::read::each_fetched;
use super::target::Target;
use crate::fault::Fault;
use crate::powerdns;
use crate::powerdns::client::{Client, Each, Value, listed, rows};

/// Where the role finds the tables; its other schemas are of no use then.
const SCHEMA: &str = "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = pg_catalog.to_regclass('domains')";

/// Who answers, and what is another text whenever something was committed. The snapshots of a replica do not list what is at work; how far it has come says the same there.
const STAMP: &str = "SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()),
            pg_backend_pid(), CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text ELSE pg_current_snapshot()::text END";

/// Rows come in parts, of one moment.
const MOMENT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A database with the tables.
pub struct PowerDns {
    link: Link,
    /// Cluster and database, and the process of the connection.
    server: (String, i32),
    /// Whether it is a replica, which may not have heard yet of zones that its primary has.
    is_replica: bool,
}

impl PowerDns {
    /// Connects to it. `limit`: for each statement; `beat` is called while one is at work, and says whether to go on.
    pub fn open(target: &Target, limit: Duration, beat: Beat) -> Result<PowerDns, Fault> {
        let link = connect(target, limit, beat)?;
        link.batch("SET default_transaction_read_only = on; RESET search_path")?;
        let schema = link.query_opt(SCHEMA, &[])?.map(|row| row.try_get::<_, String>(0)).transpose()?;
        let schema = schema.map_or_else(String::new, |schema| format!(", {schema}"));
        link.batch(&format!("SET search_path = pg_catalog{schema}"))?;
        let (server, _) = stamp(&link)?;
        let is_replica = link.query_opt("SELECT pg_is_in_recovery()", &[])?;
        let is_replica = is_replica.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
        Ok(PowerDns { link, server, is_replica })
    }

    /// Whether it is a replica.
    #[must_use]
    pub fn is_replica(&self) -> bool {
        self.is_replica
    }

    /// Cluster and database, by which it is known.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.server.0
    }
}

fn stamp(link: &Link) -> Result<((String, i32), String), Fault> {
    let row = link.query_opt(STAMP, &[])?;
    let row = row.ok_or_else(|| Fault::Away("no row from the server".into()))?;
    Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?))
}

/// Why no more rows are handed over.
enum Ended {
    Fault(Fault),
    Enough,
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Ended {
        Ended::Fault(fault)
    }
}

impl From<Fault> for powerdns::Fault {
    fn from(fault: Fault) -> powerdns::Fault {
        powerdns::Fault::Server(Box::new(fault))
    }
}

impl Client for PowerDns {
    const COLUMNS: &'static str = "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.oid IN (to_regclass('domains'), to_regclass('records'), to_regclass('domainmetadata'), to_regclass('cryptokeys'))
           AND a.attnum > 0 AND NOT a.attisdropped";

    const ROWS: &'static str = rows!(" COLLATE \"C\"", "::bigint", "::text");

    const LIST: &'static str = listed!("d.id > $1::bigint ORDER BY d.id");

    const LISTED: &'static str = listed!("d.id = $1::bigint");

    fn few(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
        each: Each<'_>,
    ) -> Result<(), powerdns::Fault> {
        let handed = self.with(values, |link, parameters| {
            link.each_of(statement, parameters, &mut |row| hand_over(row, each)).map(drop)
        });
        all_or(handed)
    }

    fn rows(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
        each: Each<'_>,
    ) -> Result<(), powerdns::Fault> {
        let handed = self.with(values, |link, parameters| {
            link.within(MOMENT, || each_fetched(link, statement, parameters, |row| hand_over(row, each)))
        });
        all_or(handed)
    }

    fn stamp(&mut self) -> Result<Option<i64>, powerdns::Fault> {
        let (server, stamp) = stamp(&self.link)?;
        // A proxy has another server, or another connection, by now.
        if server != self.server {
            return Err(powerdns::Fault::Woken);
        }
        let mark = powerdns::mark::of_words(&[&stamp]);
        Ok(mark.first_chunk().map(|octets| i64::from_be_bytes(*octets)))
    }

    fn held_max(&self) -> Option<Duration> {
        None
    }
}

impl PowerDns {
    fn with<T>(&self, values: &[Value<'_>], act: impl FnOnce(&Link, Parameters<'_>) -> T) -> T {
        let owned = values.iter().map(|value| -> Box<dyn ToSql + Sync> {
            match *value {
                Value::Number(number) => Box::new(number),
                // Names as PowerDNS writes them are of ASCII.
                Value::Text(octets) => Box::new(String::from_utf8_lossy(octets).into_owned()),
            }
        });
        let owned: Vec<Box<dyn ToSql + Sync>> = owned.collect();
        let parameters: Vec<&(dyn ToSql + Sync)> = owned.iter().map(|value| &**value).collect();
        act(&self.link, &parameters)
    }
}

fn all_or(handed: Result<(), Ended>) -> Result<(), powerdns::Fault> {
    match handed {
        Ok(()) | Err(Ended::Enough) => Ok(()),
        Err(Ended::Fault(fault)) => Err(fault.into()),
    }
}

/// The most columns that a statement has.
const COLUMNS_MAX: usize = 8;

fn hand_over(row: &Row, each: Each<'_>) -> Result<(), Ended> {
    let count = row.len().min(COLUMNS_MAX);
    let mut numbers: [String; COLUMNS_MAX] = Default::default();
    let mut texts = [None; COLUMNS_MAX];
    for at in 0..count {
        match row.try_get::<_, Option<Column<'_>>>(at).map_err(Fault::from)? {
            None => {}
            Some(Column::Text(octets)) => texts[at] = Some(octets),
            Some(Column::Number(number)) => numbers[at] = number.to_string(),
        }
    }
    let column = |at: usize| match texts[at] {
        None if !numbers[at].is_empty() => Some(numbers[at].as_bytes()),
        text => text,
    };
    let columns: [Option<&[u8]>; COLUMNS_MAX] = std::array::from_fn(column);
    match each(&columns[..count]) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Ended::Enough),
    }
}

/// A column, whatever its type.
enum Column<'r> {
    Number(i64),
    Text(&'r [u8]),
}

impl<'r> FromSql<'r> for Column<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Column<'r>, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *ty {
            Type::INT2 => Column::Number(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Column::Number(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Column::Number(i64::from_sql(ty, raw)?),
            _ => Column::Text(raw),
        })
    }

    fn accepts(ty: &Type) -> bool {
        let texts = [Type::TEXT, Type::VARCHAR, Type::BPCHAR, Type::NAME];
        [Type::INT2, Type::INT4, Type::INT8].contains(ty) || texts.contains(ty)
    }
}
