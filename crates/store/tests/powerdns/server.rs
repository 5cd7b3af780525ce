//! PowerDNS with a file of SQLite in a scratch folder: its tool, its server, and what it transfers.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use wire::Name;
use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, free_address};
use zone::contents::SourcePosition;
use zone::{Contents, ContentsBuilder};

/// The tables as PowerDNS's package makes them.
const TABLES: &str = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";

/// A folder with tables, and who changes them.
pub struct Tables {
    pub folder: TempDir,
}

impl Tables {
    /// Made as the package does.
    pub fn new() -> Tables {
        let tables = std::fs::read_to_string(TABLES).unwrap_or_else(|_| {
            panic!("{TABLES} is not there: run tests/setup.sh, or install the Debian package pdns-backend-sqlite3")
        });
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().unwrap();
        let made = Tables { folder };
        made.sql(&tables);
        made.write_settings(None, "");
        made
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("pdns.db")
    }

    /// Changes tables by plain SQL, as scripts do.
    pub fn sql(&self, statements: &str) {
        let database = Connection::open(self.path()).unwrap();
        database.busy_timeout(Duration::from_secs(10)).unwrap();
        database.execute_batch(statements).unwrap();
    }

    fn write_settings(&self, address: Option<SocketAddr>, more: &str) {
        let (home, file) = (self.folder.path().display(), self.path());
        let mut text = format!(
            "launch=gsqlite3\ngsqlite3-database={}\ngsqlite3-dnssec=yes\nsocket-dir={home}\ndaemon=no\nguardian=no\ndisable-syslog=yes\n\
             security-poll-suffix=\nzone-cache-refresh-interval=0\ndisable-axfr=no\nallow-axfr-ips=127.0.0.0/8\n{more}",
            file.display()
        );
        if let Some(address) = address {
            text += &format!("local-address={}\nlocal-port={}\n", address.ip(), address.port());
        }
        std::fs::write(self.folder.path().join("pdns.conf"), text).unwrap();
    }

    fn settings(&self) -> String {
        format!("--config-dir={}", self.folder.path().display())
    }

    /// Has PowerDNS's tool do something; it must go well.
    pub fn tool(&self, arguments: &[&str]) {
        let output = self.try_tool(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "pdnsutil {arguments:?}: {said}");
    }

    fn try_tool(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(require("pdnsutil", "pdns-server"));
        command.arg(self.settings()).args(arguments).output().unwrap()
    }

    /// Starts the server and waits until it answers.
    pub fn serve(&self, more: &str) -> Served {
        let address = free_address();
        self.write_settings(Some(address), more);
        let mut command = Command::new(require("pdns_server", "pdns-server"));
        command.arg(self.settings());
        let process = Guarded::spawn(command, self.folder.path());
        let query = Query::new("nothing.test.", 1).octets();
        let log = self.folder.path().join("log");
        await_that("an answer of pdns_server", || {
            let said = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(process.is_running(), "pdns_server has ended: {}", said());
            udp_within(address, &query, Duration::from_millis(200)).ok().flatten().is_some()
        });
        Served { address, _process: process }
    }
}

/// A server that answers.
pub struct Served {
    address: SocketAddr,
    _process: Guarded,
}

impl Served {
    /// What it transfers of a zone; `None`: nothing, or not all of it.
    pub fn transferred(&self, zone: &Name) -> Option<Contents> {
        let mut command = Command::new(require("dig", "bind9-dnsutils"));
        command.args([
            "+nocmd",
            "+nocomments",
            "+nostats",
            "+noidnin",
            "+noidnout",
            "+tries=1",
            "+time=10",
            "+onesoa",
        ]);
        command.arg(format!("@{}", self.address.ip())).arg("-p").arg(self.address.port().to_string());
        let output = command.arg("-q").arg(zone.to_string()).args(["-t", "AXFR"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let is_whole = output.status.success() && !text.lines().any(|line| line.starts_with(';'));
        is_whole.then(|| contents(zone, &text))
    }
}

/// Records of a text as a zone.
pub fn contents(zone: &Name, text: &str) -> Contents {
    let mut builder = ContentsBuilder::new(zone);
    for record in zonefile::records(text, Name::root()).unwrap_or_else(|report| panic!("{report}\n{text}")) {
        let (owner, rdata) = (&record.owner, &record.rdata);
        builder.push(owner, false, record.rtype, record.ttl, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

/// All records of a zone as lines, sorted, with the TTL of their RRset, and names in lower case where these are compared so.
pub fn lines(contents: &Contents) -> Vec<String> {
    let mut lines = Vec::new();
    for node in contents.nodes() {
        for set in node.rrsets() {
            for record in set.records() {
                let (mut line, mut rdata) = (Vec::new(), record.rdata.to_vec());
                wire::rdata::fold(set.rtype(), &mut rdata);
                zonefile::print::line(&node.name(), set.ttl(), set.rtype(), &rdata, &mut line);
                lines.push(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
        }
    }
    lines.sort();
    lines
}

/// Writes a file into the folder.
pub fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}
