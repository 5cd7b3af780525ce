//! Zones of a store in PostgreSQL that servers serve: what is there, what follows, and what stays while the database is away, older or another one.

mod faults;
mod held;
mod measured;
mod notices;

use std::net::SocketAddr;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::{await_some, await_that};
use zonda_tests::rtype;
use zonda_tests::server::{Server, free_address, write};
use zonda_tests::zone::transfer;

use super::postgres::Bed;
use super::served::{await_refused, await_serial, await_told, ixfr, serial, start_in, stays, told};
use super::*;

/// A server of a database, whose settings and packs outlive it.
pub(super) struct Home {
    folder: tempfile::TempDir,
    address: SocketAddr,
}

impl Home {
    pub(super) fn new() -> Home {
        Home { folder: folder(&[]), address: free_address() }
    }

    /// Of the store at this address. `more`: further settings of it.
    pub(super) fn start(&self, url: &str, more: &str) -> Server {
        let text = format!(
            "pack-directory = \"packs\"\n[access]\ntransfer = \"all\"\n[[store]]\nname = \"own\"\nurl = \"{url}\"\nzones = [\"*.\"]\n{more}\n"
        );
        start_in(self.folder.path(), self.address, &text)
    }
}

/// A store with the small sound zone `example.`, and a server that serves it.
fn served(more: &str) -> (Bed, Home, Server) {
    let (bed, home) = (Bed::with_zone(), Home::new());
    let server = home.start(&bed.database.address(), more);
    await_serial(&server, "example.", 1);
    (bed, home, server)
}

/// The process of the database that serves the feeder, which may just be connecting anew.
pub(super) fn backend(bed: &Bed) -> u32 {
    let pid = || {
        bed.database.sql(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'zonda' AND datname = current_database() ORDER BY backend_start DESC LIMIT 1",
        )
    };
    await_some(|| "waited for a connection of the feeder".to_owned(), || pid().parse().ok())
}

/// A statement that adds a name with an address to a zone.
fn add(zone: &str, owner: &str) -> String {
    format!(
        "INSERT INTO zonda.record (zone, owner, type, ttl, rdata) SELECT id, '{owner}', 'A', 60, '192.0.2.9' FROM zonda.zone WHERE name = '{zone}'"
    )
}

/// How often a server has served a version that led to this serial of a zone.
fn times(server: &Server, zone: &str, to: u32) -> usize {
    let words = format!("serial {to} from store own");
    server
        .log()
        .lines()
        .filter(|line| line.contains(&format!("zone {zone}")) && line.contains(&words))
        .count()
}

/// How many changes a server has told by lines of their own, to who does not ask for more than is usual, and how many in all.
fn said_of_changes(server: &Server) -> (usize, usize) {
    let log = server.log();
    let usual = || log.lines().filter(|line| line.contains(" INFO "));
    let own = usual().filter(|line| line.contains("from store own, was")).count();
    let others = usual().filter_map(|line| {
        let (before, _) = line.split_once(" more change")?;
        before.rsplit(' ').next()?.replace(',', "").parse::<usize>().ok()
    });
    (own, own + others.sum::<usize>())
}

/// Two servers have the same data by the same serials, and changes are differences for others.
#[test]
fn what_is_committed_is_served_by_all() {
    let (bed, _home, server) = served("");
    let (_other_home, other) = {
        let home = Home::new();
        let server = home.start(&bed.database.address(), "");
        (home, server)
    };
    await_serial(&other, "example.", 1);
    assert_eq!(transfer(server.address, "example.").len(), 4, "all records");
    bed.database.sql(&add("example.", "sql.example."));
    let serials =
        |expected| [&server, &other].iter().for_each(|server| await_serial(server, "example.", expected));
    serials(2);
    for server in [&server, &other] {
        let response = ask(server.address, Transport::Udp, &Query::new("sql.example.", rtype::A));
        assert_eq!(response.answer[0].rdata, [192, 0, 2, 9]);
        await_that("a difference", || {
            ixfr(server, "example.", 1) == [rtype::SOA, rtype::SOA, rtype::SOA, rtype::A, rtype::SOA]
        });
    }
    // One that stays open while others commit, and one that comes to nothing.
    let mut long = bed.database.session();
    bed.database.sql("BEGIN; INSERT INTO zonda.zone (name) VALUES ('long.test.'); INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 3 2 5 5' FROM zonda.zone WHERE name = 'long.test.'; INSERT INTO zonda.record SELECT id, name, 'NS', 60, 'ns.' FROM zonda.zone WHERE name = 'long.test.'; COMMIT");
    await_serial(&server, "long.test.", 1);
    long.sql(&format!("BEGIN; {}", add("long.test.", "a.long.test.")));
    bed.database.sql(&format!("BEGIN; {}; ROLLBACK", add("example.", "no.example.")));
    for number in 3..6 {
        bed.database.sql(&add("example.", &format!("n{number}.example.")));
    }
    serials(5);
    assert_eq!(serial(&server, "long.test."), Some(Ok(1)));
    long.sql("COMMIT");
    await_serial(&server, "long.test.", 2);
    assert_eq!(ask(server.address, Transport::Udp, &Query::new("no.example.", rtype::A)).rcode(), 3);
    // Zones that come and go, by our commands too; one of that name that comes later begins above its serial.
    bed.import(&format!("{SOUND}more A 192.0.2.77\n")).assert_fine();
    serials(6);
    bed.database.sql("DELETE FROM zonda.zone WHERE name = 'long.test.'");
    await_refused(&server, "long.test.");
    await_refused(&other, "long.test.");
    let (is_well, text) = told(&server, &["store"]);
    assert!(is_well && text.contains("followed") && text.contains("1 zone"), "{text}");
    for to in [2, 6] {
        await_that("a line", || times(&server, "example.", to) > 0);
        assert_eq!(times(&server, "example.", to), 1, "{}", server.log());
    }
}

/// Pages of zones, whole and changed at once; a zone that is larger than a page takes.
#[test]
fn many_zones_and_a_large_one() {
    const ZONES: usize = 1_500;
    let bed = Bed::with_zone();
    bed.database.sql(&format!(
        "BEGIN; INSERT INTO zonda.zone (name) SELECT 'z' || n || '.test.' FROM generate_series(1, {ZONES}) n;
         INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 3 2 5 5' FROM zonda.zone WHERE name <> 'example.';
         INSERT INTO zonda.record SELECT id, name, 'NS', 60, 'ns.' FROM zonda.zone WHERE name <> 'example.';
         INSERT INTO zonda.record SELECT id, 'h' || n || '.' || name, 'A', 60, '192.0.2.1' FROM zonda.zone, generate_series(1, 25000) n WHERE name = 'example.'; COMMIT"
    ));
    let home = Home::new();
    let server = home.start(&bed.database.address(), EACH_LINE);
    await_told(&server, &["store"], "1,501 zones");
    await_told(&server, &["store"], "followed");
    await_serial(&server, "example.", 2);
    assert_eq!(transfer(server.address, "example.").len(), 25_004);
    bed.database.sql("UPDATE zonda.record SET ttl = 61 WHERE type = 'NS'");
    for number in (1..=ZONES).step_by(100) {
        await_serial(&server, &format!("z{number}.test."), 2);
    }
    await_that("all changes", || server.log().matches("serial 2 from store own, was 1").count() == ZONES);
    // Of more in a second than anybody reads it is said how many they are, once.
    await_that("all changes in numbers", || {
        let (own, all) = said_of_changes(&server);
        own < ZONES && all == ZONES + 1
    });
    assert!(told(&server, &["store"]).0);
    // All of the large one again, and one of its records.
    bed.database.sql("SELECT zonda.touch('example.')");
    await_serial(&server, "example.", 4);
    bed.database.sql("UPDATE zonda.record SET ttl = 62 WHERE owner = 'h7.example.'");
    await_serial(&server, "example.", 5);
}

/// A role that may read, by TCP with proof of who is there; a password that is wrong is told, and the right one taken by itself.
#[test]
fn roles_passwords_and_certificates() {
    use std::os::unix::fs::PermissionsExt;
    let (bed, home) = (Bed::with_zone(), Home::new());
    bed.database.sql(
        "DROP ROLE IF EXISTS locked; CREATE ROLE locked LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA zonda TO locked; GRANT SELECT ON ALL TABLES IN SCHEMA zonda TO locked",
    );
    let password = |text: &str| {
        let path = write(home.folder.path(), "password", text);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("rights");
    };
    password("wrong\n");
    let more = format!(
        "password-file = \"password\"\ntls = \"verify-full\"\ntls-authorities = \"{}\"",
        text(&bed.database.roots())
    );
    // Nobody listens at the first address.
    let url = bed.database.tcp_address("locked", "127.0.0.1");
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/')).map_or("", |(port, _)| port);
    let server = home.start(&url.replace("@", &format!("@127.0.0.2:{port},")), &more);
    let said = await_told(&server, &["store"], "away for");
    assert!(said.contains("password authentication failed"), "{said}");
    password("secret\n");
    await_serial(&server, "example.", 1);
    server.await_log("another address by now, or another password");
    bed.database.sql(&add("example.", "sql.example."));
    await_serial(&server, "example.", 2);
    // Serials are raised by whoever may.
    let said = told(&server, &["store"]).1;
    assert!(said.contains("read-only"), "{said}");
    // The feeder has nothing of the server's environment, and may no more than it needs.
    let status = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let pid = super::served::feeder(&server);
    assert!(status(pid).contains("NoNewPrivs:\t1") && status(pid).contains("Seccomp:\t2"), "{}", status(pid));
    assert_eq!(std::fs::read(format!("/proc/{pid}/environ")).expect("an environment"), b"");
    // Of another name than the certificate's nothing is read.
    drop(server);
    let home = Home::new();
    let more = more
        .replace("\"password\"", &format!("\"{}\"", write(home.folder.path(), "p", "secret\n").display()));
    std::fs::set_permissions(home.folder.path().join("p"), std::fs::Permissions::from_mode(0o600))
        .expect("rights");
    let server = home.start(&bed.database.tcp_address("locked", "localhost"), &more);
    let said = await_told(&server, &["store"], "away for");
    assert!(said.contains("certificate"), "{said}");
    drop(server);
    bed.database.sql("DROP OWNED BY locked; DROP ROLE locked");
}
