//! Tables in scratch files, made here with the columns that PowerDNS's have. What it makes and answers itself is compared in the package's folder `tests`.

use std::path::PathBuf;

use rusqlite::Connection;

use super::*;

mod audits;
mod looks;
mod opened;
mod readings;
mod rows;

/// What is read of the tables, and all their indexes.
const TABLES: &str = "
CREATE TABLE domains (id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL COLLATE NOCASE, type VARCHAR(8) NOT NULL);
CREATE UNIQUE INDEX name_index ON domains(name);
CREATE TABLE records (id INTEGER PRIMARY KEY, domain_id INTEGER, name VARCHAR(255), type VARCHAR(10), content VARCHAR(65535), ttl INTEGER, prio INTEGER, disabled BOOLEAN DEFAULT 0, ordername VARCHAR(255));
CREATE INDEX records_lookup_idx ON records(name, type);
CREATE INDEX records_lookup_id_idx ON records(domain_id, name, type);
CREATE INDEX records_order_idx ON records(domain_id, ordername);
CREATE TABLE domainmetadata (id INTEGER PRIMARY KEY, domain_id INT NOT NULL, kind VARCHAR(32) COLLATE NOCASE, content TEXT);
CREATE INDEX domainmetaidindex ON domainmetadata(domain_id);
CREATE TABLE cryptokeys (id INTEGER PRIMARY KEY, domain_id INT NOT NULL, flags INT NOT NULL, active BOOL, content TEXT);
CREATE INDEX domainidindex ON cryptokeys(domain_id);
";

/// A database in a folder of its own.
struct Scratch {
    folder: tempfile::TempDir,
    sql: Connection,
}

impl Scratch {
    fn new() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let sql = Connection::open(folder.path().join("pdns.db")).unwrap();
        sql.execute_batch(TABLES).unwrap();
        Scratch { folder, sql }
    }

    /// One with these zones, of an SOA and an NS record each.
    fn with(zones: &[&str]) -> Scratch {
        let scratch = Scratch::new();
        for (at, zone) in zones.iter().enumerate() {
            scratch.zone(at as i64 + 1, zone, "NATIVE");
        }
        scratch
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("pdns.db")
    }

    fn run(&self, sql: &str) {
        self.sql.execute_batch(sql).unwrap();
    }

    fn zone(&self, id: i64, zone: &str, kind: &str) {
        let statement = "INSERT INTO domains VALUES (?1, ?2, ?3)";
        self.sql.prepare_cached(statement).unwrap().execute((id, zone, kind)).unwrap();
        self.record(id, zone, "SOA", &format!("ns1.{zone} host.{zone} 7 3600 600 86400 60"));
        self.record(id, zone, "NS", &format!("ns1.{zone}"));
    }

    fn record(&self, zone: i64, name: &str, rtype: &str, content: &str) {
        let statement =
            "INSERT INTO records (domain_id, name, type, content, ttl, prio) VALUES (?1, ?2, ?3, ?4, 300, 0)";
        self.sql.prepare_cached(statement).unwrap().execute((zone, name, rtype, content)).unwrap();
    }

    fn tables(&self) -> Tables<Sqlite> {
        Tables::of(Sqlite::open(&self.path()).unwrap()).unwrap()
    }

    /// Names of all files of the folder.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// All records of a zone as lines, sorted.
fn lines(contents: &::zone::Contents) -> Vec<String> {
    let mut lines = Vec::new();
    for node in contents.nodes() {
        for set in node.rrsets() {
            for record in set.records() {
                let mut line = Vec::new();
                zonefile::print::line(&node.name(), record.ttl, set.rtype(), record.rdata, &mut line);
                lines.push(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
        }
    }
    lines.sort();
    lines
}
