//! The statements, which are the same for every database that PowerDNS keeps such tables in, and what has to run them.
//!
//! Columns come as text in octets: names and content are octets to PowerDNS too, and a database without an encoding has any in them.

use std::ops::ControlFlow;
use std::time::Duration;

use super::fault::Fault;

/// The rows of zone `$1` beyond the one with name `$2`, type `$3` and number `$4`. In SQLite this is the order of an index, so that the first row comes at once
/// (tables of before PowerDNS 4.3.1 lack it: all rows of the zone are sorted for each page there). PowerDNS asks `disabled = 0`, so that NULL is disabled, and so are
/// words such as `f`; rows without a type are empty non-terminals, which come of themselves here. Behind names and types stands
/// what has the database compare octets, and behind values of what type they are, where a database has to know.
macro_rules! rows {
    ($collation:literal, $number:literal, $text:literal) => {
        concat!(
            "SELECT name, type, id, content, ttl, prio, CASE WHEN disabled = false THEN 0 ELSE 1 END
FROM records WHERE domain_id = $1",
            $number,
            " AND type IS NOT NULL AND (name",
            $collation,
            ", type",
            $collation,
            ", id) > ($2",
            $text,
            ", $3",
            $text,
            ", $4",
            $number,
            ")
ORDER BY name",
            $collation,
            ", type",
            $collation,
            ", id"
        )
    };
}

/// What the list says of zones. The SOA record is looked for as PowerDNS does, by the name in lower case: one that is found otherwise is none. Keys and metadata are here as
/// they change without the SOA record.
macro_rules! listed {
    ($which:literal) => {
        concat!(
            "SELECT d.id, d.name, d.type,
  (SELECT min(r.content) FROM records r WHERE r.domain_id = d.id AND r.name = lower(d.name) AND r.type = 'SOA' AND r.disabled = false),
  (SELECT count(*) FROM cryptokeys k WHERE k.domain_id = d.id AND k.active),
  (SELECT count(*) FROM domainmetadata m WHERE m.domain_id = d.id AND m.kind = 'PRESIGNED' AND m.content = '1'),
  (SELECT count(*) FROM domainmetadata m WHERE m.domain_id = d.id AND m.kind = 'NSEC3PARAM' AND m.content <> ''),
  (SELECT count(*) FROM domainmetadata m WHERE m.domain_id = d.id AND m.kind = 'SOA-EDIT' AND upper(m.content) NOT IN ('', 'NONE'))
FROM domains d WHERE ",
            $which
        )
    };
}
pub(crate) use {listed, rows};

/// A value in a statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'v> {
    /// A number of a row.
    Number(i64),
    /// A name, or a type.
    Text(&'v [u8]),
}

/// Takes a row, its columns as text, `None` for NULL, and says whether there should be more.
pub type Each<'e> = &'e mut dyn FnMut(&[Option<&[u8]>]) -> ControlFlow<()>;

/// A database.
pub trait Client {
    /// Which columns it has: the statement for it, which gives a row for each: name of the table, name of the column.
    const COLUMNS: &'static str;

    /// The rows of a zone beyond the one with name `$2`, type `$3` and number `$4`, in an order that is that of octets.
    const ROWS: &'static str = rows!("", "", "");

    /// A page of the list of zones: those whose number is greater than `$1`, in the order of numbers.
    const LIST: &'static str = listed!("d.id > $1 ORDER BY d.id");

    /// The zone with number `$1`, as the list has it.
    const LISTED: &'static str = listed!("d.id = $1");

    /// The same as [`Client::rows`], of few rows.
    fn few(&mut self, statement: &'static str, values: &[Value<'_>], each: Each<'_>) -> Result<(), Fault> {
        self.rows(statement, values, each)
    }

    /// Runs a statement, whose `$1`, `$2`, … are `values`, until there are no rows any more or `each` wants none. Some of them are in memory at a time.
    fn rows(&mut self, statement: &'static str, values: &[Value<'_>], each: Each<'_>) -> Result<(), Fault>;

    /// A number that is another one whenever others have changed something; `None` where there is none.
    fn stamp(&mut self) -> Result<Option<i64>, Fault>;

    /// How long a statement may go on giving rows; `None`: as long as it takes, as it holds up nobody.
    fn held_max(&self) -> Option<Duration>;
}

/// The number of a zone, by its name in lower case and without the last dot.
pub(super) const FIND: &str = "SELECT id FROM domains WHERE name = $1";

/// What of the tables is read.
pub(super) const NEEDED: [(&str, &[&str]); 4] = [
    ("domains", &["id", "name", "type"]),
    ("records", &["id", "domain_id", "name", "type", "content", "ttl", "prio", "disabled"]),
    ("domainmetadata", &["domain_id", "kind", "content"]),
    ("cryptokeys", &["domain_id", "active"]),
];

/// Looks whether the tables are PowerDNS's.
pub(super) fn recognise<C: Client>(client: &mut C) -> Result<(), Fault> {
    let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    client.few(C::COLUMNS, &[], &mut |columns| {
        if let [Some(table), Some(column)] = columns {
            found.push((table.to_ascii_lowercase(), column.to_ascii_lowercase()));
        }
        // Somebody's database of very many tables is none of PowerDNS.
        if found.len() < COLUMNS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    for (table, columns) in NEEDED {
        if !found.iter().any(|(name, _)| name == table.as_bytes()) {
            return Err(Fault::NotPowerDns(table, None));
        }
        let has = |column: &str| {
            found.iter().any(|(name, of_it)| name == table.as_bytes() && of_it == column.as_bytes())
        };
        if let Some(column) = columns.iter().find(|column| !has(column)) {
            return Err(Fault::NotPowerDns(table, Some(column)));
        }
    }
    Ok(())
}

/// PowerDNS has some 50; operators add tables of their own.
const COLUMNS_MAX: usize = 100_000;
