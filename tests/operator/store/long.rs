//! Databases that are killed, slow, full, put back older, or have other tables, again and again, while somebody writes: what is served stays as it was, is told, and follows by itself, version
//! by version, until it is what the database has.
//!
//! `ZONDA_FAULTS=5` has each fault come so often, instead of [`FAULTS`] times.

mod file;
mod follower;
mod server;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zonda_tests::patience::{PATIENCE, await_that};
use zonda_tests::server::Server;
use zonda_tests::zone::{records_of, transfer};

use self::follower::Follower;
use super::served::{await_serial, serial, told};
use super::*;

/// How often each fault comes.
const FAULTS: usize = 100;
/// Zones that are written.
const ZONES: usize = 20;
/// One that only says whether all is well again.
const PROBE: &str = "probe.test.";
/// By which a change is known that is to be lost.
const LOST_TTL: usize = 70_000;
/// How long is written between a fault and the next.
const WRITING: Duration = Duration::from_millis(700);

/// What is done to a database.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    Slow,
    Full,
    PutBack,
    Altered,
}

const ALL: [Fault; 5] = [Fault::Killed, Fault::Slow, Fault::Full, Fault::PutBack, Fault::Altered];

/// A database, and what goes wrong with it.
trait Base: Sync {
    /// Runs statements, in which `@` is before the names of tables; what came. The error: what was said.
    fn sql(&self, sql: &str) -> Result<String, String>;

    /// Does something to it while a server reads it, and looks what that says; mends it. `round`: how often that was done before.
    fn suffer(&self, fault: Fault, round: usize, bench: &Bench<'_>);
}

/// What goes on meanwhile.
struct Bench<'b> {
    server: &'b Server,
    /// Who writes has it for each statement.
    writing: &'b Mutex<()>,
}

impl Bench<'_> {
    /// Has a change be served that a copy of before does not have.
    fn lose(&self, base: &dyn Base, round: usize) {
        await_probe(base, self.server, LOST_TTL + round);
        // What the others lose.
        std::thread::sleep(WRITING);
    }

    /// Lets losses go on that wait for an operator, until there are none, and what was lost is served no more.
    fn confirm(&self, base: &dyn Base) {
        await_that("no losses", || {
            let text = told(self.server, &["store"]).1;
            if text.contains("went back") || text.contains("losses wait") {
                told(self.server, &["store", "confirm", "own"]);
                return false;
            }
            text.contains("followed") && records_of_server(self.server, PROBE) == records_in(base, PROBE)
        });
    }
}

/// A zone as `zonda store` has them.
fn zone_sql(zone: &str) -> String {
    let insert = |owner: &str, rtype: &str, rdata: &str| {
        format!(
            "INSERT INTO @record (zone, owner, type, ttl, rdata) SELECT id, '{owner}{zone}', '{rtype}', 60, '{rdata}' FROM @zone WHERE name = '{zone}';"
        )
    };
    format!(
        "BEGIN; INSERT INTO @zone (name) VALUES ('{zone}'); {} {} {} COMMIT;",
        insert("", "SOA", "ns. host. 1 3 2 5 5"),
        insert("", "NS", "ns."),
        insert("a.", "A", "192.0.2.1")
    )
}

/// Some change, another one for each number.
fn change_sql(number: usize) -> String {
    // Numbers that are not in a row, and the same each time.
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let (zone, owner, ttl) = (random % ZONES, random / ZONES % 30, number % 100_000);
    match random / 1_000 % 3 {
        0 => format!("UPDATE @record SET ttl = {ttl} WHERE owner = 'a.z{zone}.test.'"),
        1 => format!(
            "INSERT INTO @record (zone, owner, type, ttl, rdata) SELECT z.id, 'h{owner}.z{zone}.test.', 'A', {ttl}, '192.0.2.2' FROM @zone z
              WHERE z.name = 'z{zone}.test.' AND NOT EXISTS (SELECT 1 FROM @record r WHERE r.zone = z.id AND r.owner = 'h{owner}.z{zone}.test.')"
        ),
        _ => format!("DELETE FROM @record WHERE owner = 'h{owner}.z{zone}.test.'"),
    }
}

/// All of a zone, in an order of its own.
fn records_in(base: &dyn Base, zone: &str) -> Vec<String> {
    let sql = format!(
        "SELECT r.owner || ' ' || r.ttl || ' IN ' || r.type || ' ' || r.rdata FROM @record r JOIN @zone z ON z.id = r.zone WHERE z.name = '{zone}'"
    );
    let text = base.sql(&sql).expect("the records of a zone");
    let mut records: Vec<String> =
        records_of(&text).iter().map(|record| format!("{:?}", record.folded())).collect();
    records.sort();
    records
}

fn records_of_server(server: &Server, zone: &str) -> Vec<String> {
    let mut records: Vec<String> =
        transfer(server.address, zone).iter().map(|record| format!("{:?}", record.folded())).collect();
    records.sort();
    records
}

/// Waits until a change is served.
fn await_probe(base: &dyn Base, server: &Server, number: usize) {
    let sql = format!("UPDATE @record SET ttl = {} WHERE owner = 'a.{PROBE}'", number + 100);
    await_that("a database that can be written", || base.sql(&sql).is_ok());
    let serial = base.sql(&format!("SELECT serial FROM @zone WHERE name = '{PROBE}'")).expect("a serial");
    // A file's version is made by who reads it.
    let expected = records_in(base, PROBE).into_iter().filter(|record| !record.contains(" SOA "));
    let expected: Vec<String> = expected.collect();
    await_that(&format!("the change after {serial}"), || {
        let served = records_of_server(server, PROBE);
        served.iter().filter(|record| !record.contains(" SOA ")).eq(&expected)
    });
}

/// No version of a zone is served twice.
fn expect_once(server: &Server) {
    let log = server.log();
    let mut seen = std::collections::HashSet::new();
    for line in log.lines().filter(|line| line.contains(" from store own, was ")) {
        let said = line.split("zone ").nth(1).and_then(|rest| rest.split(" from store").next());
        assert!(seen.insert(said.expect("a zone and a serial").to_owned()), "twice: {line}");
    }
}

fn faults() -> usize {
    std::env::var("ZONDA_FAULTS").map_or(FAULTS, |text| text.parse().expect("a number"))
}

/// All of it.
fn run(base: &dyn Base, start: impl FnOnce() -> Server) {
    let zones: Vec<String> = (0..ZONES).map(|number| format!("z{number}.test.")).collect();
    for zone in zones.iter().map(String::as_str).chain([PROBE]) {
        base.sql(&zone_sql(zone)).expect("a zone");
    }
    let server = start();
    zones.iter().for_each(|zone| await_serial(&server, zone, 1));
    await_serial(&server, PROBE, 1);
    let (is_over, written, writing) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(()));
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        let writer = scope.spawn(|| {
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                {
                    let _writing = writing.lock().expect("nobody has failed");
                    written.fetch_add(usize::from(base.sql(&change_sql(number)).is_ok()), Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let following = scope.spawn(|| {
            let mut follower = Follower::begin(server.address, &zones);
            while !is_over.load(Ordering::Relaxed) {
                follower.follow();
                std::thread::sleep(Duration::from_millis(50));
            }
            follower
        });
        let bench = Bench { server: &server, writing: &writing };
        let began = Instant::now();
        for round in 0..faults() {
            for fault in ALL {
                let (before, began) = (serial(&server, PROBE), Instant::now());
                assert!(matches!(before, Some(Ok(_))), "{fault:?} {round}: {before:?}");
                base.suffer(fault, round, &bench);
                assert!(matches!(serial(&server, PROBE), Some(Ok(_))), "{fault:?} {round}");
                await_probe(base, &server, round);
                assert!(!writer.is_finished() && !following.is_finished(), "{fault:?} {round}");
                println!("{fault:?} {round}: {:?}", began.elapsed());
                std::thread::sleep(WRITING);
            }
        }
        drop(over);
        writer.join().expect("a writer");
        let mut follower = following.join().expect("what is served is right");
        await_that("all is well", || told(&server, &["store"]).0);
        for zone in &zones {
            let expected = records_in(base, zone);
            await_that(zone, || records_of_server(&server, zone) == records_in(base, zone));
            assert!(expected.len() >= 3, "{expected:?}");
        }
        follower.follow();
        expect_once(&server);
        println!(
            "{} faults of each of {} kinds in {:?}: {} changes written, {} versions of {ZONES} zones seen",
            faults(),
            ALL.len(),
            began.elapsed(),
            written.load(Ordering::Relaxed),
            follower.versions()
        );
        assert!(follower.versions() > ZONES + faults());
    });
}

/// Has the others end, also where something is wrong.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits for words, as long as the pauses of a feeder may be; it is said how it stood with the store.
#[track_caller]
fn await_words(server: &Server, words: &[&str]) -> String {
    let (began, mut last) = (Instant::now(), String::new());
    while !words.iter().any(|words| last.contains(words)) {
        assert!(began.elapsed() < PATIENCE, "waited for {words:?}: {last}");
        last = told(server, &["store"]).1;
    }
    last
}
