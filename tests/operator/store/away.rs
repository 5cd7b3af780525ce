//! Databases that are away, locked, older than they were, or broken: what is served stays, it is said why, and what is mended follows by itself.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{ctl, signal};
use zonda_tests::zone::transfer;

use super::served::{Bed, await_refused, await_serial, await_told, feeder, serial, stays, told};
use super::*;

/// How long a zone that went back is served as it was.
const SETTLE: Duration = Duration::from_secs(30);

#[test]
fn a_database_that_goes_away_and_comes_back() {
    let (bed, server) = Bed::with_zone();
    let (path, aside) = (bed.store.path("zones.db"), bed.store.path("aside.db"));
    std::fs::rename(&path, &aside).expect("another name");
    let text = await_told(&server, &["store"], "away for");
    assert!(text.contains("no such file"), "{text}");
    assert!(told(&server, &["zones", "example."]).1.contains("own, away"));
    assert!(!told(&server, &["store"]).0 && told(&server, &["status"]).1.contains("store own: away for"));
    stays(&server, "example.", 1);
    std::fs::rename(&aside, &path).expect("its name");
    await_told(&server, &["store"], "followed");
    assert!(told(&server, &["status"]).0);
    bed.store.import("example.", &format!("{SOUND}more A 192.0.2.7\n")).assert_fine();
    await_serial(&server, "example.", 2);
    // What is no database.
    std::fs::rename(&path, &aside).expect("another name");
    bed.store.write("zones.db", b"what is this?");
    await_told(&server, &["store"], "no database of SQLite");
    stays(&server, "example.", 2);
    std::fs::rename(&aside, &path).expect("its name");
    await_told(&server, &["store"], "followed");
}

/// Who holds the database for long keeps changes from being versions, and nothing else.
#[test]
fn a_database_that_is_locked_for_long() {
    let (bed, server) = Bed::with_zone();
    let mut holder = Command::new("sqlite3")
        .arg(bed.store.store())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program sqlite3");
    let mut stdin = holder.stdin.take().expect("a pipe");
    let mut say = |sql: &str| {
        use std::io::Write;
        stdin.write_all(sql.as_bytes()).and_then(|()| stdin.flush()).expect("a statement");
    };
    let insert = |owner: &str| {
        format!(
            "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, '{owner}.example.', 'A', 60, '192.0.2.9' FROM zone;\n"
        )
    };
    // The first is committed, and has the feeder look; then the lock is held.
    say(&format!("BEGIN IMMEDIATE; {} COMMIT; BEGIN IMMEDIATE; {}", insert("one"), insert("two")));
    await_that("the first or that it is said", || {
        serial(&server, "example.") == Some(Ok(2))
            || told(&server, &["store"]).1.contains("somebody else writes")
    });
    std::thread::sleep(Duration::from_secs(3));
    assert!(matches!(serial(&server, "example."), Some(Ok(1 | 2))), "{}", server.log());
    say("COMMIT;\n.quit\n");
    drop(stdin);
    holder.wait().expect("its end");
    let expect = |name: &str| {
        await_that("all that was written", || {
            bed.store.export("example.").contains(&format!("{name}.example."))
        });
    };
    ["one", "two"].into_iter().for_each(expect);
    await_that("the newest version", || {
        let newest = bed.store.history(&[]).last().and_then(|version| version["serial"].as_u64());
        serial(&server, "example.") == newest.map(|serial| Ok(serial as u32))
    });
    await_told(&server, &["store"], "followed");
    assert!(told(&server, &["store"]).0);
}

/// Of an older copy that was put back the data are served in the end, with a serial above what was served before.
#[test]
fn an_older_copy_is_put_back() {
    let (bed, server) = Bed::with_zone();
    bed.store.import("other.test.", SOUND).assert_fine();
    await_serial(&server, "other.test.", 1);
    bed.store.sqlite3(&format!("VACUUM INTO '{}'", text(&bed.store.path("copy.db")))).assert_fine();
    for number in 2..5 {
        bed.store.import("example.", &format!("{SOUND}more A 192.0.2.{number}\n")).assert_fine();
    }
    await_serial(&server, "example.", 4);
    let put_back = Instant::now();
    for name in ["zones.db-wal", "zones.db-shm"] {
        let _ = std::fs::remove_file(bed.store.path(name));
    }
    std::fs::rename(bed.store.path("copy.db"), bed.store.path("zones.db")).expect("the copy in its place");
    await_told(&server, &["zones", "example."], "own went back");
    stays(&server, "example.", 4);
    assert!(told(&server, &["store"]).1.contains("1 went back: example."));
    await_serial(&server, "example.", 5);
    assert!(put_back.elapsed() >= SETTLE, "{:?}", put_back.elapsed());
    assert!(!bed.store.export("example.").contains("more"));
    let history = bed.store.history(&["example."]);
    assert_eq!(history.last().map(|last| &last["kind"]), Some(&"whole".into()), "{history:?}");
    assert_eq!(serial(&server, "other.test."), Some(Ok(1)));
    assert!(told(&server, &["store"]).0, "{}", told(&server, &["store"]).1);
}

/// A row that is no record keeps its zone from having a version, and no other zone.
#[test]
fn rows_and_zones_that_cannot_be_served() {
    let (bed, server) = Bed::with_zone();
    bed.store.import("other.test.", SOUND).assert_fine();
    await_serial(&server, "other.test.", 1);
    let set = |rdata: &str| format!("UPDATE record SET rdata = '{rdata}' WHERE owner = 'www.example.'");
    bed.store.sqlite3(&set("192.0.2")).assert_fine();
    let text = await_told(&server, &["store", "show", "own"], "example.: zone example.: www.example. A");
    assert!(text.contains("1 not served as it has them"), "{text}");
    assert!(told(&server, &["zones", "example."]).1.contains("www.example. A"));
    bed.store.import("other.test.", &format!("{SOUND}more A 192.0.2.7\n")).assert_fine();
    await_serial(&server, "other.test.", 2);
    assert_eq!(serial(&server, "example."), Some(Ok(1)));
    bed.store.sqlite3(&set("192.0.2.3")).assert_fine();
    await_serial(&server, "example.", 2);
    await_that("that all is well", || told(&server, &["store"]).0);
    // Records that are right each by itself, and no zone together.
    let alias = "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'www.example.', 'CNAME', 60, 'ns.example.' FROM zone WHERE name = 'example.'";
    bed.store.sqlite3(alias).assert_fine();
    await_told(&server, &["store", "show", "own"], "www.example. CNAME: A records beside it");
    stays(&server, "example.", 2);
    bed.store.sqlite3("DELETE FROM record WHERE owner = 'www.example.' AND type = 'A'").assert_fine();
    await_serial(&server, "example.", 4);
    await_that("that all is well", || told(&server, &["store"]).0);
}

/// All zones that go at once are more than may go without an operator's word; so is another database.
#[test]
fn losses_wait_for_an_operator() {
    let (bed, server) = Bed::with_zone();
    let zones: Vec<String> = (0..30).map(|number| format!("z{number}.test.")).collect();
    for zone in &zones {
        bed.store.import(zone, SOUND).assert_fine();
    }
    zones.iter().for_each(|zone| await_serial(&server, zone, 1));
    bed.store.sqlite3("DELETE FROM zone WHERE name LIKE 'z%'").assert_fine();
    let text = await_told(&server, &["store"], "losses wait");
    assert!(text.contains("30 gone") && text.contains("zonda ctl store confirm own"), "{text}");
    zones.iter().for_each(|zone| assert_eq!(serial(&server, zone), Some(Ok(1))));
    assert!(told(&server, &["status"]).1.contains("losses wait"));
    // One that comes back is a loss no more.
    bed.store.import("z7.test.", SOUND).assert_fine();
    await_serial(&server, "z7.test.", 2);
    let (is_well, text) = told(&server, &["store", "confirm", "own"]);
    assert!(is_well && text.contains("29 gone"), "{text}");
    await_refused(&server, "z8.test.");
    assert_eq!(serial(&server, "z7.test."), Some(Ok(2)));
    assert!(told(&server, &["store"]).0);
    assert!(told(&server, &["store", "confirm", "own"]).1.contains("nothing waits"));
    // Another database at the same address.
    let aside = bed.store.path("aside.db");
    bed.store.sqlite3("PRAGMA wal_checkpoint(TRUNCATE)").assert_fine();
    std::fs::rename(bed.store.path("zones.db"), &aside).expect("another name");
    zonda(&["store", "init", &bed.store.store()]).assert_fine();
    bed.store.import("new.test.", SOUND).assert_fine();
    await_told(&server, &["store"], "another database is at its address");
    stays(&server, "example.", 1);
    assert_eq!(serial(&server, "new.test."), Some(Err(5)));
    assert!(ctl(&server, &["store", "confirm", "own"]).status.success());
    await_serial(&server, "new.test.", 1);
    // What that does not have are losses as others.
    await_refused(&server, "z7.test.");
}

/// A copy that was written on is another history with the same serials: where its serial is greater it is taken at once.
#[test]
fn a_copy_that_was_written_on_is_put_back() {
    let (bed, server) = Bed::with_zone();
    let more = |number: u32| format!("{SOUND}more A 192.0.2.{number}\n");
    bed.store.sqlite3(&format!("VACUUM INTO '{}'", text(&bed.store.path("copy.db")))).assert_fine();
    for number in 2..4 {
        bed.store.import("example.", &more(number)).assert_fine();
    }
    await_serial(&server, "example.", 3);
    let copy = text(&bed.store.path("copy.db")).to_owned();
    for number in 102..106 {
        let file = bed.store.write("other.zone", more(number).as_bytes());
        zonda(&["store", "import", &copy, &format!("example.={file}")]).assert_fine();
    }
    for name in ["zones.db-wal", "zones.db-shm"] {
        let _ = std::fs::remove_file(bed.store.path(name));
    }
    std::fs::rename(copy, bed.store.path("zones.db")).expect("the copy in its place");
    await_serial(&server, "example.", 5);
    let answer = ask(server.address, Transport::Udp, &Query::new("more.example.", rtype::A));
    assert_eq!(answer.answer[0].rdata, [192, 0, 2, 105]);
    assert!(told(&server, &["store"]).0);
    // And what comes is differences again.
    bed.store.import("example.", &more(7)).assert_fine();
    await_serial(&server, "example.", 6);
    server.await_log("serial 6 from store own, was 5");
}

/// Tables that are changed under it, and a feeder that cannot write: what is served stays, and goes on once that is mended.
#[test]
fn tables_that_are_altered_and_writes_that_fail() {
    let (bed, server) = Bed::with_zone();
    bed.store.sqlite3("ALTER TABLE version RENAME COLUMN mark TO other").assert_fine();
    let text = await_told(&server, &["store"], "away for");
    assert!(text.contains("no such column"), "{text}");
    stays(&server, "example.", 1);
    bed.store.sqlite3("ALTER TABLE version RENAME COLUMN other TO mark").assert_fine();
    await_told(&server, &["store"], "followed");
    bed.store.import("example.", &format!("{SOUND}more A 192.0.2.7\n")).assert_fine();
    await_serial(&server, "example.", 2);
    let pid = feeder(&server).to_string();
    let limited = Command::new("prlimit").args(["--pid", &pid, "--fsize=1:1"]).status().expect("prlimit");
    assert!(limited.success());
    let change = "UPDATE record SET ttl = 77 WHERE owner = 'ns.example.'";
    bed.store.sqlite3(change).assert_fine();
    // It ends by that, or says that it cannot write; the next one can.
    await_that("an end", || {
        told(&server, &["store"]).1.contains("away for") || feeder(&server).to_string() != pid
    });
    if feeder(&server).to_string() == pid {
        signal(pid.parse().expect("a number"), "KILL");
    }
    await_serial(&server, "example.", 3);
}

/// All of a real zone, signed.
#[test]
fn a_real_zone() {
    let bed = Bed::new(Scratch::new());
    let gov = zonda_tests::zone::unpack(&zonda_tests::zone::data().join("gov-20260822.zone.zst"));
    let given = format!("gov.={}", bed.store.write("gov.zone", &gov));
    zonda(&["store", "import", &bed.store.store(), &given, "--now", "none", "--level", "semantic"])
        .assert_fine();
    let server = bed.start("");
    await_that("the zone", || matches!(serial(&server, "gov."), Some(Ok(_))));
    assert_eq!(transfer(server.address, "gov.").len(), bed.store.export("gov.").lines().count());
}
