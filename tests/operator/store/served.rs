//! Zones of a store that a server serves: what is in the database is served, and what changes there follows.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask, tcp_stream, udp_within, write_framed};
use zonda_tests::message::{Query, header, question};
use zonda_tests::name::Name;
use zonda_tests::patience::await_that;
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::{
    Guarded, Kind, Server, ctl, free_address, program_command, settings, signal, write,
};
use zonda_tests::zone::transfer;

use super::*;

/// Time within which what must not happen would have happened: a change is served some ten milliseconds after it.
pub(super) const MOMENT: Duration = Duration::from_millis(700);
const REFUSED: u16 = 5;
const NOTIFY: u16 = 4;
const UPDATE: u16 = 5;

/// A store, and a server of it whose settings and packs outlive it.
pub(super) struct Bed {
    pub(super) store: Scratch,
    address: SocketAddr,
}

impl Bed {
    pub(super) fn new(store: Scratch) -> Bed {
        Bed { store, address: free_address() }
    }

    /// A server with the store, and the small sound zone `example.` in that.
    pub(super) fn with_zone() -> (Bed, Server) {
        let bed = Bed::new(Scratch::with_zone());
        let server = bed.start("");
        await_serial(&server, "example.", 1);
        (bed, server)
    }

    /// `more`: further settings, of the store first.
    pub(super) fn start(&self, more: &str) -> Server {
        start_in(self.store.folder.path(), self.address, &self.settings(more))
    }

    fn settings(&self, more: &str) -> String {
        format!(
            "pack-directory = \"packs\"\n[access]\ntransfer = \"all\"\nupdate = \"all\"\n\
             [[store]]\nname = \"own\"\nurl = \"sqlite:zones.db\"\nzones = [\"*.\"]\n{more}\n"
        )
    }

    /// Gives a server that runs other settings.
    fn reconfigure(&self, server: &Server, more: &str) {
        let text = settings(self.store.folder.path(), self.address, &[], &self.settings(more));
        write(self.store.folder.path(), "zonda.toml", &text);
        assert!(ctl(server, &["reconfigure"]).status.success(), "{}", server.log());
    }
}

/// A server whose settings and packs are in a folder that outlives it.
pub(super) fn start_in(home: &Path, address: SocketAddr, more: &str) -> Server {
    let text = settings(home, address, &[], more);
    let mut command = program_command(&["serve", "--config"]);
    let scratch = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
    write(scratch.path(), "zonda.toml", &text);
    command.arg(write(home, "zonda.toml", &text)).current_dir(home);
    let process = Guarded::spawn(command, scratch.path());
    let server = Server { kind: Kind::Zonda, address, scratch, process };
    server.await_zones();
    server
}

/// What a server says of the SOA record of a zone: its serial, or the response code.
pub(super) fn serial(server: &Server, zone: &str) -> Option<Result<u32, u16>> {
    let query = Query::new(zone, rtype::SOA).octets();
    let answer = udp_within(server.address, &query, Duration::from_millis(500)).ok().flatten()?;
    let response = Response::parse(&answer).ok()?;
    let Some(record) = response.answer.first() else { return Some(Err(response.rcode())) };
    let rdata = &record.rdata;
    Some(Ok(u32::from_be_bytes(rdata[rdata.len() - 20..][..4].try_into().ok()?)))
}

#[track_caller]
pub(super) fn await_serial(server: &Server, zone: &str, expected: u32) {
    await_that(&format!("serial {expected} of {zone}"), || {
        assert!(server.process.is_running(), "{}", server.log());
        serial(server, zone) == Some(Ok(expected))
    });
}

#[track_caller]
pub(super) fn await_refused(server: &Server, zone: &str) {
    await_that(&format!("no {zone}"), || serial(server, zone) == Some(Err(REFUSED)));
}

/// For a moment what is served is this.
#[track_caller]
pub(super) fn stays(server: &Server, zone: &str, expected: u32) {
    let until = std::time::Instant::now() + MOMENT;
    while std::time::Instant::now() < until {
        assert_eq!(serial(server, zone), Some(Ok(expected)), "{}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What `zonda ctl` prints, and whether it says that all is well.
pub(super) fn told(server: &Server, arguments: &[&str]) -> (bool, String) {
    let output = ctl(server, arguments);
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Waits until `zonda ctl` prints these words.
#[track_caller]
pub(super) fn await_told(server: &Server, arguments: &[&str], words: &str) -> String {
    let mut last = String::new();
    await_that(&format!("{words:?} of {arguments:?}"), || {
        last = told(server, arguments).1;
        last.contains(words)
    });
    last
}

pub(super) fn kill(mut server: Server) {
    signal(server.process.pid(), "KILL");
    server.process.wait(Duration::from_secs(10)).expect("an end");
}

/// The feeder of a server.
pub(super) fn feeder(server: &Server) -> u32 {
    let mut pid = None;
    await_that("a feeder", || {
        let (_, text) = told(server, &["store", "--json"]);
        let line = text.lines().next().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        pid = line.and_then(|line| line["pid"].as_u64());
        pid.is_some()
    });
    pid.expect("a number") as u32
}

/// A name of an address, added by plain SQL.
pub(super) fn add_by_sql(bed: &Bed, zone: &str, owner: &str) {
    let sql = format!(
        "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, '{owner}', 'A', 60, '192.0.2.9' FROM zone WHERE name = '{zone}'"
    );
    bed.store.sqlite3(&sql).assert_fine();
}

/// The records of an IXFR from a serial on, as types in their order.
pub(super) fn ixfr(server: &Server, zone: &str, from: u32) -> Vec<u16> {
    let name = Name::parse(zone);
    let mut message = header(7, 0, [1, 0, 1, 0]);
    question(&mut message, &name, rtype::IXFR, 1);
    let rdata = [&[0, 0][..], &from.to_be_bytes(), &[0; 16]].concat();
    zonda_tests::message::record(&mut message, &name, rtype::SOA, 1, 0, &rdata);
    let mut stream = tcp_stream(server.address).expect("a connection");
    write_framed(&mut stream, &message).expect("a question");
    let answer = zonda_tests::exchange::read_framed(&mut stream).expect("an answer");
    Response::parse(&answer).expect("a response").answer.iter().map(|record| record.rtype).collect()
}

#[test]
fn what_is_in_a_store_is_served_and_what_changes_there_follows() {
    let (bed, server) = Bed::with_zone();
    assert_eq!(transfer(server.address, "example.").len(), 4, "all records");
    // By plain SQL, with the serial that the database gives.
    add_by_sql(&bed, "example.", "sql.example.");
    await_serial(&server, "example.", 2);
    let response = ask(server.address, Transport::Udp, &Query::new("sql.example.", rtype::A));
    assert_eq!(response.answer[0].rdata, [192, 0, 2, 9]);
    // It is a difference for others: SOA, then what went, then what came, then SOA.
    await_that("a difference", || {
        ixfr(&server, "example.", 1) == [rtype::SOA, rtype::SOA, rtype::SOA, rtype::A, rtype::SOA]
    });
    // By our own commands; zones that come and go.
    bed.store.import("example.", &format!("{SOUND}more A 192.0.2.77\n")).assert_fine();
    await_serial(&server, "example.", 3);
    assert_eq!(ask(server.address, Transport::Udp, &Query::new("sql.example.", rtype::A)).rcode(), 3);
    bed.store.import("other.test.", SOUND).assert_fine();
    await_serial(&server, "other.test.", 1);
    bed.store.sqlite3("DELETE FROM zone WHERE name = 'other.test.'").assert_fine();
    await_refused(&server, "other.test.");
    // One of that name that comes later begins above its serial.
    bed.store.import("other.test.", SOUND).assert_fine();
    await_serial(&server, "other.test.", 2);
    let (is_well, text) = told(&server, &["store"]);
    assert!(is_well && text.contains("followed") && text.contains("2 zones"), "{text}");
    let (_, text) = told(&server, &["zones", "example."]);
    assert!(text.contains("source    store own") && text.contains("store     own, followed"), "{text}");
    assert!(told(&server, &["status"]).0);
}

#[test]
fn a_feeder_that_dies_comes_back() {
    let (bed, server) = Bed::with_zone();
    let first = feeder(&server);
    signal(first, "KILL");
    server.await_log("store own: its feeder has ended (signal: 9 (SIGKILL)");
    stays(&server, "example.", 1);
    await_that("another feeder", || feeder(&server) != first);
    add_by_sql(&bed, "example.", "sql.example.");
    await_serial(&server, "example.", 2);
    // It has nothing of the server's environment, and ends with it. What SQLite needs for a moment is beside the file.
    let pid = feeder(&server);
    let path = format!("/proc/{pid}");
    let folder = std::fs::canonicalize(bed.store.folder.path()).expect("the folder");
    let environment = std::fs::read_to_string(format!("{path}/environ")).expect("an environment");
    assert_eq!(environment, format!("SQLITE_TMPDIR={}\0", folder.display()));
    let status = std::fs::read_to_string(format!("{path}/status")).expect("a status");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    kill(server);
    let stat = || std::fs::read_to_string(format!("{path}/stat")).unwrap_or_default();
    await_that("its end", || stat().is_empty() || stat().contains(") Z"));
    let by_hand =
        program_command(&["feed"]).stdin(std::process::Stdio::null()).output().expect("the program");
    assert!(String::from_utf8_lossy(&by_hand.stderr).contains("zonda serve"), "{by_hand:?}");
}

/// A zone of a store is changed there and nowhere else; who tries otherwise is told so.
#[test]
fn one_owner() {
    let (bed, server) = Bed::with_zone();
    let name = Name::parse("example.");
    let mut update = header(7, UPDATE << 11, [1, 0, 1, 0]);
    question(&mut update, &name, rtype::SOA, 1);
    zonda_tests::message::record(&mut update, &Name::parse("new.example."), rtype::A, 1, 60, &[192, 0, 2, 1]);
    let edns = zonda_tests::message::Edns { payload_octets: 1232, ..Default::default() };
    let mut with_edns = update.clone();
    with_edns[11] = 1;
    zonda_tests::message::opt(&mut with_edns, &edns);
    let response =
        Response::parse(&zonda_tests::exchange::tcp(server.address, &with_edns)).expect("a response");
    assert_eq!((response.rcode(), response.extended_error()), (REFUSED, Some(18)));
    let words = response.option(15).expect("an extended error")[2..].to_vec();
    assert_eq!(String::from_utf8_lossy(&words), "this zone is of store own: change it there");
    let mut notify = header(8, NOTIFY << 11, [1, 0, 0, 0]);
    question(&mut notify, &name, rtype::SOA, 1);
    let response = Response::parse(&zonda_tests::exchange::tcp(server.address, &notify)).expect("a response");
    assert_eq!(response.rcode(), REFUSED);
    for command in ["freeze", "thaw", "sync", "remove-zone", "retransfer", "refresh"] {
        let (is_well, text) = told(&server, &[command, "example."]);
        assert!(!is_well && text.contains("of store own: change it there"), "{command}: {text}");
    }
    let asked = ["explain-update", "example.", "--from", "127.0.0.1", "new.example.", "A"];
    assert!(told(&server, &asked).1.contains("of store own: change it there"));
    // What the settings have is not taken from the store, and what is the store's they get.
    bed.store.import("settings.test.", &SOUND.replace(" 1 3", " 9 3")).assert_fine();
    await_serial(&server, "settings.test.", 9);
    write(bed.store.folder.path(), "own.zone", &SOUND.replace(" 1 3", " 4 3"));
    let zone = "[[zone]]\nname = \"settings.test.\"\nfile = \"own.zone\"\n";
    bed.reconfigure(&server, zone);
    await_serial(&server, "settings.test.", 4);
    bed.store.import("settings.test.", &SOUND.replace(" 1 3", " 20 3")).assert_fine();
    await_told(&server, &["store", "show", "own"], "settings.test.: the settings or a command have it");
    stays(&server, "settings.test.", 4);
    assert!(
        told(&server, &["zones", "settings.test."])
            .1
            .contains("own has another version, which is not served")
    );
    // And the other way round.
    bed.reconfigure(&server, "");
    await_serial(&server, "settings.test.", 20);
}

#[test]
fn rules_of_a_template_and_names_that_are_wanted() {
    let bed = Bed::new(Scratch::new());
    for zone in ["a.customers.test.", "customers.test.", "other."] {
        bed.store.import(zone, SOUND).assert_fine();
    }
    let text = settings(
        bed.store.folder.path(),
        bed.address,
        &[],
        "pack-directory = \"packs\"\n[[store]]\nname = \"own\"\nurl = \"sqlite:zones.db\"\nzones = [\"*.customers.test.\"]\n\
         template = \"hosted\"\n[[template]]\nname = \"hosted\"\nallow-transfer = \"all\"\n",
    );
    let mut command = program_command(&["serve", "--config"]);
    command.arg(write(bed.store.folder.path(), "zonda.toml", &text)).current_dir(bed.store.folder.path());
    let scratch = tempfile::tempdir().expect("a scratch folder");
    write(scratch.path(), "zonda.toml", &text);
    let process = Guarded::spawn(command, scratch.path());
    let server = Server { kind: Kind::Zonda, address: bed.address, scratch, process };
    server.await_zones();
    await_serial(&server, "a.customers.test.", 1);
    assert_eq!(transfer(server.address, "a.customers.test.").len(), 4);
    await_told(&server, &["store"], "followed");
    assert_eq!([serial(&server, "customers.test."), serial(&server, "other.")], [Some(Err(REFUSED)); 2]);
    let (is_well, text) = told(&server, &["store"]);
    assert!(is_well && text.contains("1 zone"), "{text}");
}

#[test]
fn settings_that_are_wrong_are_told() {
    let folder = folder(&[]);
    let check = |store: &str, words: &[&str]| {
        let text = format!("[server]\npack-directory = \"packs\"\n[[store]]\nname = \"own\"\n{store}\n");
        let path = write(folder.path(), "zonda.toml", &text);
        zonda(&["check-config", text_of(&path)]).assert_fails(1, words);
    };
    check("url = \"postgres://10.0.0.5/dns\"", &["zonda.toml:5:", "found no user"]);
    check("url = \"zones.db\"", &["zonda.toml:5:", "expected \"sqlite:PATH\""]);
    let password = write(folder.path(), "password", "secret\n");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(password, std::fs::Permissions::from_mode(0o644)).expect("rights");
    let remote = "url = \"postgres://z@10.0.0.5/dns\"\npassword-file = \"password\"";
    check(remote, &["[[store]] own: password-file ", "closed to others, found mode 0644"]);
}

fn text_of(path: &Path) -> &str {
    text(path)
}

/// A zone whose name is not in its one form is not served, and that is said until it is mended.
#[test]
fn names_in_other_forms() {
    let (bed, server) = Bed::with_zone();
    for zone in ["\\097.test.", "a..test."] {
        bed.store
            .sqlite3(&format!(
                "BEGIN; INSERT INTO zone (name) VALUES ('{zone}');
                 INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, name, 'SOA', 60, 'ns. host. 1 3 2 5 5' FROM zone WHERE name = '{zone}'; COMMIT;"
            ))
            .assert_fine();
    }
    let words = "2 zones with names that are not in their one form: \\097.test. (expected a.test.), a..test. (no name)";
    await_told(&server, &["store", "show", "own"], words);
    assert!(told(&server, &["status"]).1.contains("2 zones not served as it has them"));
    assert!(
        server.log().contains("not served, as their names are not in their one form"),
        "{}",
        server.log()
    );
    add_by_sql(&bed, "example.", "sql.example.");
    await_serial(&server, "example.", 2);
    bed.store.sqlite3("DELETE FROM zone WHERE name <> 'example.'").assert_fine();
    await_that("all is well", || told(&server, &["store"]).0);
}
