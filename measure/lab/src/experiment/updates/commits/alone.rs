//! The statements of a change alone, without a server that takes it over HTTP: what PowerDNS has its database do for one PATCH, in one
//! transaction, with the same tables and as many records.
//!
//! | | how |
//! |---|---|
//! | SQLite | `sqlite3`, a process that does one transaction after the other, with the journal and the syncs that PowerDNS has by itself |
//! | PostgreSQL | `pgbench` with prepared statements, so many connections that stay |
//!
//! Found with `log_statement = 'all'` of PostgreSQL under PowerDNS 4.7. What it asks for within the transaction is asked for here too, and of
//! what it asks for before it the zone, once. It makes a connection of its own to the database for each request, which is not done here.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Error,
    contender::{Database, Postgresql, sqlite},
    error,
    experiment::{Lab, updates::Place},
    process::{self, Process},
};

/// Columns of a record that is looked for.
const COLUMNS: &str = "content, ttl, prio, type, domain_id, disabled, name, auth";
/// How long the statements of a run may take: they are as many as the disk does writes in a run.
const SECONDS_MAX: f64 = 120.0;
/// How PowerDNS has SQLite keep what it does: the journal by its own default, the syncs by that of SQLite.
const PRAGMAS: &str = "PRAGMA journal_mode = WAL;\nPRAGMA synchronous = FULL;\n";

/// What came of it: changes a second, and microseconds of a processor for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub rate: f64,
    pub cpu_us: f64,
}

/// A change: the zone by what has its name and number, the record's name and its new address, all as expressions of SQL.
struct Change<'a> {
    zone: &'a str,
    id: &'a str,
    name: &'a str,
    address: &'a str,
}

impl Change<'_> {
    /// The transaction.
    fn statements(&self) -> String {
        let Change { zone, id, name, address } = self;
        let setting = |kind: &str| {
            format!(
                "SELECT content FROM domains, domainmetadata WHERE domainmetadata.domain_id = domains.id AND name = {zone} AND \
                 domainmetadata.kind = '{kind}';\n"
            )
        };
        let replace = |name: &str, rtype: &str, content: &str| {
            format!(
                "DELETE FROM records WHERE domain_id = {id} AND name = {name} AND type = '{rtype}';\n\
                 INSERT INTO records (content, ttl, prio, type, domain_id, disabled, name, ordername, auth) VALUES ({content}, 300, 0, \
                 '{rtype}', {id}, false, {name}, NULL, true);\n"
            )
        };
        let soa = format!("'ns.' || {zone} || ' host.' || {zone} || ' 2 3600 600 86400 300'");
        [
            "BEGIN;\n".to_owned(),
            setting("SOA-EDIT-API"),
            setting("SOA-EDIT"),
            format!("SELECT {COLUMNS} FROM records WHERE disabled = false AND name = {name} AND domain_id = {id};\n"),
            replace(name, "A", address),
            format!(
                "SELECT {COLUMNS} FROM records WHERE disabled = false AND type = 'SOA' AND name = {zone} AND domain_id = {id};\n"
            ),
            replace(zone, "SOA", &soa),
            setting("API-RECTIFY"),
            "COMMIT;\n".to_owned(),
        ]
        .concat()
    }
}

/// What asks for a zone first, outside of the transaction.
fn zone_by(condition: &str) -> String {
    format!(
        "SELECT id, name, master, last_check, notified_serial, type, options, catalog, account FROM domains WHERE {condition}"
    )
}

/// So many changes in SQLite, in a database that is made for them.
pub fn in_sqlite(lab: &mut Lab, place: &Place, count: usize) -> Result<Rate, Error> {
    let folder = lab.folder("sqlite")?;
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let _ = fs::remove_file(entry.path());
    }
    let database = Path::new("alone.db");
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(error::file(&path, "write"))
    };
    write("tables.sql", Database::Sqlite.statements(&place.set.zones))?;
    write("changes.sql", sqlite_changes(place, count))?;
    let server = lab.bed.server().on(&lab.server_cores[..1]);
    process::run(&sqlite(database, "tables.sql"), &server, &folder, &lab.stop)?;
    let before = Process::cpu_of_ended();
    let said =
        process::run_within(&sqlite(database, "changes.sql"), &server, &folder, &lab.stop, SECONDS_MAX)?;
    let cpu = Process::cpu_of_ended();
    let wanted = "the time that the statements took";
    let seconds: f64 = said
        .lines()
        .last()
        .and_then(|line| line.trim().parse().ok())
        .filter(|&time| time > 0.0)
        .ok_or(Error::Output { program: "sqlite3", wanted })?;
    let used = cpu.user + cpu.system - before.user - before.system;
    Ok(Rate { rate: count as f64 / seconds, cpu_us: used * 1e6 / count as f64 })
}

/// The changes, and last the seconds that they took, as SQLite tells the time.
fn sqlite_changes(place: &Place, count: usize) -> String {
    let zones = &place.set.zones.list;
    let mut text =
        format!("{PRAGMAS}CREATE TEMP TABLE began AS SELECT julianday('now') AS at;\n.output /dev/null\n");
    for number in 0..count {
        let at = number % zones.len();
        let zone = format!("'{}'", zones[at].0.trim_end_matches('.'));
        let [.., high, middle, low] = number.to_be_bytes();
        let name = format!("'client-0.' || {zone}");
        let change = Change {
            zone: &zone,
            id: &(at + 1).to_string(),
            name: &name,
            address: &format!("'10.{high}.{middle}.{low}'"),
        };
        let _ = write!(text, "{};\n{}", zone_by(&format!("name = {zone}")), change.statements());
    }
    text + ".output stdout\nSELECT (julianday('now') - at) * 86400 FROM began;\n"
}

/// Changes in PostgreSQL with so many connections, in the database of a run.
pub fn in_postgresql(
    lab: &mut Lab,
    postgresql: &Postgresql,
    place: &Place,
    connections: u64,
) -> Result<Rate, Error> {
    let folder = lab.folder("pgbench")?;
    let script = folder.join("change.sql");
    fs::write(&script, pgbench_script()).map_err(error::file(&script, "write"))?;
    // It takes whole seconds.
    let seconds = lab.effort.run_seconds.ceil() as u64;
    let command = postgresql.bench(&script, connections, seconds, place.set.zones.list.len());
    let before = postgresql.process.cpu();
    let load = lab.bed.server().on(&lab.load_cores);
    let said = process::run_within(&command, &load, &folder, &lab.stop, SECONDS_MAX)?;
    let cpu = postgresql.process.cpu();
    let number = |head: &str| -> Option<f64> {
        let rest = said.lines().find_map(|line| line.trim().strip_prefix(head))?;
        rest.split([' ', '/']).next()?.parse().ok()
    };
    let wanted = "rate and number of transactions";
    let both = number("tps = ").zip(number("number of transactions actually processed: "));
    let (rate, count) =
        both.filter(|&(_, count)| count > 0.0).ok_or(Error::Output { program: "pgbench", wanted })?;
    let used = cpu.user + cpu.system - before.user - before.system;
    Ok(Rate { rate, cpu_us: used * 1e6 / count })
}

/// A change in the words of `pgbench`: each connection has a record of its own, in one of the zones by chance.
fn pgbench_script() -> String {
    // Prepared statements are to know what kind a variable is of.
    let zone = "CAST(:zone AS text)";
    let name = format!("'client-' || CAST(:client_id AS text) || '.' || {zone}");
    let address = "'10.0.' || CAST(:high AS text) || '.' || CAST(:low AS text)";
    let change = Change { zone, id: "CAST(:id AS int)", name: &name, address };
    format!(
        "\\set number random(1, :zones)\n\\set high random(0, 255)\n\\set low random(0, 255)\n\
         SELECT id, name AS zone FROM domains WHERE id = CAST(:number AS int) \\gset\n{}",
        change.statements()
    )
}

/// A file with the names of zones, one a line, as the generator reads them.
pub fn names(lab: &Lab, place: &Place, number: usize) -> Result<PathBuf, Error> {
    let path = lab.folder("commits")?.join(format!("zones-{number}"));
    let text: String = place.set.zones.list.iter().map(|(apex, _)| format!("{apex}\n")).collect();
    fs::write(&path, text).map_err(error::file(&path, "write"))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_one_transaction() {
        let text = pgbench_script();
        for part in ["BEGIN;", "COMMIT;", "type = 'SOA' AND name = CAST(:zone AS text)", "'SOA-EDIT-API'"] {
            assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
        }
        assert_eq!((text.matches("DELETE FROM").count(), text.matches("INSERT INTO").count()), (2, 2));
    }
}
