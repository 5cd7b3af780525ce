//! Tables of PowerDNS that a server serves: what its own programs write there is served, what cannot be is said, and what becomes of the file changes nothing that is served.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::response::Record;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, Server, ctl, free_address, settings, write};
use zonda_tests::zone::transfer;

use super::postgres::server as postgres;
use super::served::{await_refused, await_serial, await_told, ixfr, kill, serial, start_in, stays, told};
use super::*;

mod away;
mod moved;
mod network;

/// Tables in a folder of their own, or in PostgreSQL, and a server of them.
pub(super) struct Bed {
    pub(super) home: tempfile::TempDir,
    address: SocketAddr,
    /// Where the tables are in PostgreSQL.
    pub(super) database: Option<postgres::Scratch>,
}

impl Bed {
    /// With the tables alone.
    pub(super) fn new() -> Bed {
        Bed::of(None)
    }

    pub(super) fn of(database: Option<postgres::Scratch>) -> Bed {
        let bed = Bed { home: folder(&[]), address: free_address(), database };
        std::fs::create_dir(bed.home.path().join("pdns")).expect("a folder");
        bed.make_tables();
        bed.write_settings(None);
        bed
    }

    /// With zones that PowerDNS's tool has made, each of serial 1.
    pub(super) fn with(zones: &[&str]) -> Bed {
        Bed::new().and(zones)
    }

    pub(super) fn and(self, zones: &[&str]) -> Bed {
        zones.iter().for_each(|zone| self.create(zone));
        self
    }

    pub(super) fn path(&self) -> PathBuf {
        self.home.path().join("pdns").join("pdns.db")
    }

    /// The tables as PowerDNS's packages make them.
    pub(super) fn make_tables(&self) {
        let name = if self.database.is_some() { "pgsql" } else { "sqlite3" };
        let path = format!("/usr/share/pdns-backend-{name}/schema/schema.{name}.sql");
        let tables = std::fs::read_to_string(&path).unwrap_or_else(|_| {
            panic!(
                "{path} is not there: run tests/setup.sh, or install the Debian package pdns-backend-{name}"
            )
        });
        self.sql(&tables);
    }

    /// Runs statements by the program that the database comes with.
    pub(super) fn sql(&self, sql: &str) {
        if let Some(database) = &self.database {
            database.sql(sql);
            return;
        }
        let output =
            Command::new("sqlite3").args([text(&self.path()), sql]).output().expect("sqlite3 starts");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn write_settings(&self, address: Option<SocketAddr>) {
        let home = self.home.path();
        let database = match &self.database {
            None => {
                format!("launch=gsqlite3\ngsqlite3-database={}\ngsqlite3-dnssec=yes\n", self.path().display())
            }
            Some(database) => database.powerdns_settings(),
        };
        let mut lines = format!(
            "{database}socket-dir={}\ndaemon=no\nguardian=no\ndisable-syslog=yes\nsecurity-poll-suffix=\n\
             zone-cache-refresh-interval=0\ndisable-axfr=no\nallow-axfr-ips=127.0.0.0/8\n",
            home.display()
        );
        if let Some(address) = address {
            lines += &format!("local-address={}\nlocal-port={}\n", address.ip(), address.port());
        }
        write(home, "pdns.conf", &lines);
    }

    /// Has PowerDNS's tool do something.
    pub(super) fn tool(&self, arguments: &[&str]) {
        let mut command = Command::new(require("pdnsutil", "pdns-server"));
        command.arg(format!("--config-dir={}", self.home.path().display())).args(arguments);
        let output = command.output().expect("pdnsutil starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "pdnsutil {arguments:?}: {said}");
    }

    /// Makes a zone of serial 1 that can be served, whatever the tool's version begins with.
    pub(super) fn create(&self, zone: &str) {
        self.tool(&["create-zone", zone, &format!("ns1.{zone}")]);
        self.tool(&["add-record", zone, "ns1", "A", "192.0.2.1"]);
        self.sql(&format!(
            "UPDATE records SET content = 'ns1.{zone} host.{zone} 1 3600 600 86400 60' WHERE name = '{zone}' AND type = 'SOA'"
        ));
    }

    /// Adds an address, and raises the serial as operators do.
    pub(super) fn add(&self, zone: &str, name: &str) {
        self.tool(&["add-record", zone, name, "A", "192.0.2.9"]);
        self.tool(&["increase-serial", zone]);
    }

    /// PowerDNS's own server of the tables.
    fn pdns_server(&self) -> (SocketAddr, Guarded) {
        let address = free_address();
        self.write_settings(Some(address));
        let mut command = Command::new(require("pdns_server", "pdns-server"));
        command.arg(format!("--config-dir={}", self.home.path().display()));
        let process = Guarded::spawn(command, self.home.path());
        let query = Query::new("nothing.test.", rtype::A).octets();
        await_that("an answer of pdns_server", || {
            assert!(process.is_running(), "pdns_server has ended");
            udp_within(address, &query, Duration::from_millis(200)).ok().flatten().is_some()
        });
        (address, process)
    }

    /// `more`: further settings, of the store first.
    pub(super) fn start(&self, more: &str) -> Server {
        start_in(self.home.path(), self.address, &self.settings(more))
    }

    /// Gives a server that runs other settings.
    fn reconfigure(&self, server: &Server, more: &str) {
        let text = settings(self.home.path(), self.address, &[], &self.settings(more));
        write(self.home.path(), "zonda.toml", &text);
        assert!(ctl(server, &["reconfigure"]).status.success(), "{}", server.log());
    }

    fn settings(&self, more: &str) -> String {
        let url = self.database.as_ref().map(|database| database.address_of(network::READER));
        let url = url.unwrap_or_else(|| "sqlite:pdns/pdns.db".into());
        format!(
            "pack-directory = \"packs\"\n[access]\ntransfer = \"all\"\n\
             [[store]]\nname = \"own\"\nurl = \"{url}\"\nschema = \"powerdns\"\nzones = [\"*.\"]\n{more}\n"
        )
    }
}

/// Records in an order of their own.
fn sorted(mut records: Vec<Record>) -> Vec<String> {
    records.sort_by_key(|record| format!("{record:?}"));
    records.iter().map(|record| format!("{record:?}")).collect()
}

#[test]
fn what_powerdns_has_is_served_and_what_changes_there_follows() {
    follows(&Bed::with(&["a.test", "b.test"]));
}

/// Beside PowerDNS's own server, which has the same database open.
fn follows(bed: &Bed) {
    let (pdns, _process) = bed.pdns_server();
    let server = bed.start("");
    await_serial(&server, "a.test.", 1);
    await_serial(&server, "b.test.", 1);
    assert_eq!(sorted(transfer(server.address, "a.test.")), sorted(transfer(pdns, "a.test.")));
    bed.add("a.test", "new");
    await_serial(&server, "a.test.", 2);
    assert_eq!(sorted(transfer(server.address, "a.test.")), sorted(transfer(pdns, "a.test.")));
    // It is a difference for others: SOA, then what went, then what came, then SOA.
    await_that("a difference", || {
        ixfr(&server, "a.test.", 1) == [rtype::SOA, rtype::SOA, rtype::SOA, rtype::A, rtype::SOA]
    });
    server.await_log("zone a.test.: serial 2 from store own, was 1");
    // Rows that are disabled are no records.
    bed.sql("UPDATE records SET disabled = true WHERE name = 'new.a.test'");
    bed.tool(&["increase-serial", "a.test"]);
    await_serial(&server, "a.test.", 3);
    assert_eq!(ask(server.address, Transport::Udp, &Query::new("new.a.test.", rtype::A)).rcode(), 3);
    assert_eq!(sorted(transfer(server.address, "a.test.")), sorted(transfer(pdns, "a.test.")));
    await_told(&server, &["zones", "a.test."], "own has more than is served: 1 row disabled: left out");
    // Zones come and go.
    bed.create("c.test");
    await_serial(&server, "c.test.", 1);
    bed.tool(&["delete-zone", "c.test"]);
    await_refused(&server, "c.test.");
    let (is_well, text) = told(&server, &["store", "show", "own"]);
    assert!(is_well && text.contains("followed") && text.contains("2 zones"), "{text}");
    assert!(!text.contains("read-only"), "{text}");
    assert!(text.contains("a.test.: 1 row disabled: left out"), "{text}");
    assert!(told(&server, &["status"]).0);
    // It is served by the next start as it was, and the database is not read anew for nothing.
    kill(server);
    let server = bed.start("");
    await_serial(&server, "a.test.", 3);
    await_told(&server, &["store"], "followed");
    bed.add("a.test", "more");
    await_serial(&server, "a.test.", 4);
    await_that("a difference from before the start", || {
        ixfr(&server, "a.test.", 3) == [rtype::SOA, rtype::SOA, rtype::SOA, rtype::A, rtype::SOA]
    });
}

/// Zones of which some cannot be served.
const SOME: [&str; 6] = ["fine.test", "keys.test", "signed.test", "alias.test", "bad.test", "slave.test"];

#[test]
fn zones_that_cannot_be_served_are_said_and_others_go_on() {
    refuses(&Bed::with(&SOME));
}

fn refuses(bed: &Bed) {
    bed.tool(&["secure-zone", "keys.test"]);
    bed.tool(&["set-presigned", "signed.test"]);
    bed.sql(
        "INSERT INTO records (domain_id, name, type, content, ttl) SELECT id, 'www.alias.test', 'ALIAS', 'a.example', 60 FROM domains WHERE name = 'alias.test';
         INSERT INTO records (domain_id, name, type, content, ttl) SELECT id, 'www.bad.test', 'A', '192.0.2', 60 FROM domains WHERE name = 'bad.test'",
    );
    bed.tool(&["set-kind", "slave.test", "slave"]);
    let server = bed.start("");
    await_serial(&server, "fine.test.", 1);
    let refusals = [
        ("keys.test.", "refused: PowerDNS signs it with 1 active key"),
        ("signed.test.", "refused: it was signed elsewhere (PRESIGNED)"),
        ("alias.test.", "refused: www.alias.test ALIAS `a.example`: a type of PowerDNS's own"),
        ("bad.test.", "refused: www.bad.test A `192.0.2`:"),
        ("slave.test.", "left out: a zone of another server"),
    ];
    for (zone, words) in refusals {
        await_told(&server, &["store", "show", "own"], &format!("{zone}: {words}"));
        server.await_log(&format!("zone {zone}: store own: {words}"));
        assert_eq!(serial(&server, zone), Some(Err(5)), "{zone}");
    }
    assert!(told(&server, &["store"]).1.contains("5 not served as it has them"));
    assert!(!told(&server, &["status"]).0);
    bed.add("fine.test", "new");
    await_serial(&server, "fine.test.", 2);
    // What is mended follows by itself; what was served and cannot be any more stays.
    bed.tool(&["disable-dnssec", "keys.test"]);
    await_serial(&server, "keys.test.", 1);
    bed.tool(&["secure-zone", "fine.test"]);
    bed.add("fine.test", "newer");
    await_told(&server, &["store", "show", "own"], "fine.test.: refused: PowerDNS signs it");
    stays(&server, "fine.test.", 2);
    assert!(server.log().contains("serial 2 stays"), "{}", server.log());
    bed.tool(&["disable-dnssec", "fine.test"]);
    await_serial(&server, "fine.test.", 3);
    // A zone of others that settings have by now is no matter of this store.
    let more = format!(
        "[[remote]]\nname = \"there\"\naddresses = [\"{}\"]\n[[zone]]\nname = \"slave.test.\"\nprimaries = [\"there\"]\n",
        free_address()
    );
    kill(server);
    let server = bed.start(&more);
    await_told(&server, &["store"], "3 not served as it has them");
    assert!(!told(&server, &["store", "show", "own"]).1.contains("slave.test."));
}

/// Where that is asked for.
#[test]
fn zones_are_served_without_rows_of_types_of_powerdns() {
    let bed = Bed::with(&["alias.test"]);
    bed.sql("INSERT INTO records (domain_id, name, type, content, ttl) SELECT id, 'www.alias.test', 'ALIAS', 'a.example', 60 FROM domains");
    let server = bed.start("unknown-types = \"skip\"");
    await_serial(&server, "alias.test.", 1);
    assert_eq!(ask(server.address, Transport::Udp, &Query::new("www.alias.test.", rtype::A)).rcode(), 3);
    let text = await_told(&server, &["store", "show", "own"], "alias.test.: 1 row of type ALIAS: left out");
    assert!(told(&server, &["store"]).0, "{text}");
    // Also after a start, when nothing of it has changed.
    kill(server);
    let server = bed.start("unknown-types = \"skip\"");
    await_told(&server, &["zones", "alias.test."], "1 row of type ALIAS: left out");
    // Other rules are those of a reload, and what was served stays where it cannot be served by them.
    bed.reconfigure(&server, "");
    await_told(&server, &["store", "show", "own"], "alias.test.: refused: www.alias.test ALIAS");
    stays(&server, "alias.test.", 1);
    bed.reconfigure(&server, "unknown-types = \"skip\"");
    await_that("all well", || told(&server, &["store"]).0);
}

/// `pdnsutil add-record` leaves the serial as it is.
#[test]
fn rows_that_change_under_a_serial_are_said() {
    let bed = Bed::with(&["a.test", "b.test"]);
    let server = bed.start("");
    await_serial(&server, "a.test.", 1);
    await_told(&server, &["store"], "followed");
    bed.tool(&["add-record", "a.test", "new", "A", "192.0.2.9"]);
    let text = await_told(&server, &["store"], "0 gone, 1 went back: a.test.");
    assert!(text.contains("no serial that is greater"), "{text}");
    server.await_log("zone a.test.: store own has other records, and serial 1, which is not greater");
    stays(&server, "a.test.", 1);
    bed.tool(&["increase-serial", "a.test"]);
    await_serial(&server, "a.test.", 2);
    assert_eq!(ask(server.address, Transport::Udp, &Query::new("new.a.test.", rtype::A)).rcode(), 0);
    await_that("all well", || told(&server, &["store"]).0);
    // A lower one, as of a database that was put back.
    bed.sql(
        "UPDATE records SET content = replace(content, ' 2 ', ' 1 ') WHERE name = 'a.test' AND type = 'SOA'",
    );
    await_told(&server, &["store"], "1 went back: a.test.");
    stays(&server, "a.test.", 2);
}
