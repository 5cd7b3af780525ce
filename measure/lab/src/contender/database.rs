//! PowerDNS with its records in a database, which its API over HTTP changes: one of SQLite, or of a server of PostgreSQL
//! ([`super::Postgresql`]).
//!
//! The tables are those that its packages bring. They hold as many zones and records as others serve, the records with names of
//! their own: what is measured is what a change costs, and nobody asks for the others.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use super::{API_ADDRESS, API_KEY, Job, Postgresql, Setup, named, pdns};
use crate::{
    data::Zones,
    peers::{self, Folder},
    process,
    recipe::Name,
};

/// The database of SQLite, in the server's folder.
const FILE: &str = "pdns.db";
/// What makes it.
const STATEMENTS: &str = "pdns.sql";
/// What runs statements of SQLite.
pub const SQLITE: &str = "sqlite3";
/// Records of an SOA and a server, which each zone has beside its addresses.
const MANDATORY_RECORDS: u64 = 2;

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    /// A file.
    Sqlite,
    /// A server of its own.
    Postgresql,
}

impl Database {
    /// Of a contender.
    pub fn of(name: Name) -> Option<Database> {
        match name {
            Name::PdnsSqlite | Name::ZondaSqlite => Some(Database::Sqlite),
            Name::PdnsPostgresql | Name::ZondaPostgresql => Some(Database::Postgresql),
            _ => None,
        }
    }

    /// The backend's name in settings, and in those of packages and files.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Database::Sqlite => ("gsqlite3", "sqlite3"),
            Database::Postgresql => ("gpgsql", "pgsql"),
        }
    }

    /// What is missing for PowerDNS with it, and for its statements alone; `None` where nothing is.
    pub fn missing(self) -> Option<String> {
        let (backend, package) = self.names();
        let module = format!("lib{backend}backend.so");
        let modules = peers::chosen().and_then(Folder::powerdns_modules);
        // The system's modules are where their tables are: in one package.
        let has_module = modules.is_none_or(|folder| folder.join(module).is_file());
        if self.tables().is_none() || !has_module {
            return Some(format!(
                "pdns-backend-{package} is missing: on Debian install it, or fetch packages once more: zonda-bench lab peers unstable --again"
            ));
        }
        match self {
            Database::Sqlite => process::find(SQLITE)
                .is_none()
                .then(|| format!("{SQLITE} is missing: on Debian install {SQLITE}")),
            Database::Postgresql => Postgresql::missing(),
        }
    }

    /// The file of statements that make the tables.
    fn tables(self) -> Option<PathBuf> {
        let (_, package) = self.names();
        let path = format!("/usr/share/pdns-backend-{package}/schema/schema.{package}.sql");
        let of_peers = peers::chosen().and_then(|folder| folder.file(&path));
        of_peers.or_else(|| Some(PathBuf::from(path)).filter(|path| path.is_file()))
    }

    /// Statements that make the tables and fill them. Without tables, which [`Database::missing`] says, they fail.
    pub fn statements(self, zones: &Zones) -> String {
        let tables = self.tables().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        format!("BEGIN;\n{tables}\n{}COMMIT;\n", rows(zones))
    }
}

/// Statements that fill the tables. Zones have numbers from 1 on; the serial rises with each change, as is so of zones that its API makes.
fn rows(zones: &Zones) -> String {
    let addresses = (zones.records / zones.list.len().max(1) as u64).saturating_sub(MANDATORY_RECORDS);
    let mut text = String::new();
    for ((apex, _), id) in zones.list.iter().zip(1..) {
        let apex = named::bare(apex);
        let _ = write!(
            text,
            "INSERT INTO domains (id, name, type) VALUES ({id}, '{apex}', 'NATIVE');\n\
             INSERT INTO domainmetadata (domain_id, kind, content) VALUES ({id}, 'SOA-EDIT-API', 'INCREASE');\n\
             INSERT INTO records (domain_id, name, type, content, ttl, prio) VALUES\n\
             ({id}, '{apex}', 'SOA', 'ns.{apex} host.{apex} 1 3600 600 86400 300', 300, 0),\n\
             ({id}, '{apex}', 'NS', 'ns.{apex}', 300, 0)"
        );
        for host in 0..addresses {
            let [.., high, low] = host.to_be_bytes();
            let _ = write!(text, ",\n({id}, 'host-{host}.{apex}', 'A', '192.0.{high}.{low}', 300, 0)");
        }
        text.push_str(";\n");
    }
    text
}

/// Settings of the server with one of them.
pub fn setup(database: Database, job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let mut before = Vec::new();
    let mut files = Vec::new();
    let place = match database {
        Database::Sqlite => {
            files.push((STATEMENTS, database.statements(job.zones)));
            before.push(sqlite(Path::new(FILE), STATEMENTS));
            format!("gsqlite3-database={folder}/{FILE}\n")
        }
        Database::Postgresql => Postgresql::powerdns_settings(job.folder),
    };
    let (backend, _) = database.names();
    let head = format!("launch={backend}\n{place}{}{}", pdns::common(job), api(job));
    let command = Setup::words(&["pdns_server", &format!("--config-dir={folder}")]);
    Setup { file: "pdns.conf", head, files, before, command, ..Setup::default() }
}

/// The command line that runs a file of statements.
pub fn sqlite(database: &Path, statements: &str) -> Vec<String> {
    Setup::words(&[SQLITE, "-batch", &database.to_string_lossy(), &format!(".read {statements}")])
}

/// Where its API is. Zones without signatures are not put in order after each change (`default-api-rectify`), as nothing asks for it and it
/// reads all of the zone.
fn api(job: &Job<'_>) -> String {
    format!(
        "webserver=yes\nwebserver-address={API_ADDRESS}\nwebserver-port={}\nwebserver-allow-from=127.0.0.0/8\nwebserver-loglevel=none\n\
         api=yes\napi-key={API_KEY}\ndefault-api-rectify=no\n",
        job.address.port()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_records_as_others_serve() {
        let list = ["a.test.", "b.test."].map(|apex| (apex.to_owned(), PathBuf::new())).to_vec();
        let text = rows(&Zones { list, records: 10, ..Zones::default() });
        let count = |part: &str| text.matches(part).count();
        assert_eq!(
            (count("INSERT INTO domains"), count("'SOA-EDIT-API'"), count("INSERT INTO records")),
            (2, 2, 2)
        );
        assert_eq!((count("'SOA'"), count("'NS'"), count("'A'")), (2, 2, 6));
        assert!(text.ends_with("(2, 'host-2.b.test', 'A', '192.0.0.2', 300, 0);\n"), "{text}");
    }
}
