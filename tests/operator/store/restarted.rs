//! Servers of a store that are killed and replaced: what was served goes on, and no change is lost or comes twice.

use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{Server, ctl, signal};
use zonda_tests::zone::transfer;

use super::served::{Bed, add_by_sql, await_serial, await_told, feeder, kill, serial, stays, told};
use super::*;

/// Ends whichever server has the control socket.
struct Ends<'s>(&'s Server);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let _ = ctl(self.0, &["stop"]);
    }
}

#[test]
fn a_restart_needs_no_database() {
    let (bed, server) = Bed::with_zone();
    for number in 0..20 {
        bed.store.import(&format!("z{number}.test."), SOUND).assert_fine();
    }
    add_by_sql(&bed, "example.", "sql.example.");
    await_serial(&server, "example.", 2);
    (0..20).for_each(|number| await_serial(&server, &format!("z{number}.test."), 1));
    kill(server);
    let (path, aside) = (bed.store.path("zones.db"), bed.store.path("aside.db"));
    std::fs::rename(&path, &aside).expect("another name");
    let server = bed.start("");
    await_serial(&server, "example.", 2);
    (0..20).for_each(|number| await_serial(&server, &format!("z{number}.test."), 1));
    assert_eq!(ask(server.address, Transport::Udp, &Query::new("sql.example.", rtype::A)).answer.len(), 1);
    let text = await_told(&server, &["store"], "away for");
    assert!(text.contains("no such file"), "{text}");
    assert!(!told(&server, &["status"]).0);
    // It comes back, and what changes is served, as differences of what was served all the time.
    std::fs::rename(&aside, &path).expect("its name");
    await_told(&server, &["store"], "followed");
    add_by_sql(&bed, "example.", "late.example.");
    await_serial(&server, "example.", 3);
    server.await_log("serial 3 from store own, was 2");
    assert!(!server.log().contains("all of it"), "nothing was pushed again: {}", server.log());
    // In order, too.
    assert!(ctl(&server, &["stop"]).status.success());
    await_that("the end", || !server.process.is_running());
    drop(server);
    let server = bed.start("");
    await_serial(&server, "example.", 3);
    await_told(&server, &["store"], "followed");
    assert!(!server.log().contains("all of it"), "{}", server.log());
    // Where lists say who may ask, what is stored is shown once these are read.
    kill(server);
    std::fs::rename(&path, &aside).expect("another name");
    let server = bed.start("template = \"open\"\n[[template]]\nname = \"open\"\nallow-query = \"all\"\n");
    await_serial(&server, "example.", 3);
    await_serial(&server, "z7.test.", 1);
}

#[test]
fn the_next_server_goes_on() {
    let (bed, server) = Bed::with_zone();
    let _ends = Ends(&server);
    let first = feeder(&server);
    let output = ctl(&server, &["upgrade"]);
    assert!(output.status.success(), "{output:?}\n{}", server.log());
    await_that("another feeder", || feeder(&server) != first);
    await_told(&server, &["store"], "followed");
    bed.store.import("example.", &format!("{SOUND}more A 192.0.2.7\n")).assert_fine();
    await_that("the next version", || serial(&server, "example.") == Some(Ok(2)));
    // The line is the next server's, which has the log of this one.
    await_that("a line", || server.log().contains("serial 2 from store own, was 1"));
}

/// A feeder that hangs holds up nothing but what is new, and not the server's end.
#[test]
fn a_feeder_that_is_stopped() {
    let (bed, server) = Bed::with_zone();
    let pid = feeder(&server);
    signal(pid, "STOP");
    bed.store.import("example.", &format!("{SOUND}more A 192.0.2.7\n")).assert_fine();
    stays(&server, "example.", 1);
    assert!(ctl(&server, &["reconfigure"]).status.success());
    signal(pid, "CONT");
    await_serial(&server, "example.", 2);
    assert_eq!(feeder(&server), pid);
    signal(pid, "STOP");
    assert!(ctl(&server, &["stop"]).status.success());
    await_that("the end", || !server.process.is_running());
    await_that("its end", || !std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn killed_in_the_midst_of_changes() {
    let bed = Bed::new(Scratch::with_zone());
    for round in 1..=6u64 {
        let server = bed.start("");
        await_serial(&server, "example.", (5 * (round - 1) + 1) as u32);
        for number in 1..=5 {
            let line = format!("{SOUND}r{round} A 192.0.2.{number}\n");
            bed.store.import("example.", &line).assert_fine();
        }
        std::thread::sleep(Duration::from_millis(7 * round));
        kill(server);
    }
    let server = bed.start("");
    await_serial(&server, "example.", 31);
    let served = transfer(server.address, "example.").len();
    assert_eq!(served, bed.store.export("example.").lines().count());
    await_told(&server, &["store"], "followed");
    assert!(!server.log().contains("went back"), "{}", server.log());
}

#[test]
fn many_zones_at_the_first_start() {
    const ZONES: usize = 1_500;
    let bed = Bed::new(Scratch::new());
    let folder = bed.store.path("zones");
    std::fs::create_dir(&folder).expect("a folder");
    for number in 0..ZONES {
        std::fs::write(folder.join(format!("z{number}.test.zone")), SOUND).expect("a file");
    }
    zonda(&["store", "import", &bed.store.store(), "--folder", text(&folder)]).assert_fine();
    let server = bed.start(EACH_LINE);
    await_told(&server, &["store"], "followed");
    let all = format!("{ZONES} zones").replace("1500", "1,500");
    await_told(&server, &["store"], &all);
    await_serial(&server, "z1499.test.", 1);
    let packs = || {
        let files = std::fs::read_dir(bed.store.path("packs")).expect("the folder").filter_map(Result::ok);
        files.filter(|file| file.file_name().to_string_lossy().ends_with(".zpack")).count()
    };
    assert!(packs() < 40, "{} packs", packs());
    // All of them change at once, by plain SQL.
    bed.store.sqlite3("UPDATE record SET ttl = 61 WHERE owner LIKE 'www.%'").assert_fine();
    (0..ZONES).step_by(100).for_each(|number| await_serial(&server, &format!("z{number}.test."), 2));
    await_that("all is well", || told(&server, &["store"]).0);
    await_serial(&server, "z1499.test.", 2);
    // The last of them, too.
    await_that("all changes", || server.log().matches("serial 2 from store own, was 1").count() == ZONES);
    kill(server);
    let server = bed.start("");
    for number in (0..ZONES).step_by(100) {
        assert_eq!(serial(&server, &format!("z{number}.test.")), Some(Ok(2)), "{}", server.log());
    }
    await_told(&server, &["store"], "followed");
    assert!(!server.log().contains("all of"), "nothing is pushed again: {}", server.log());
}

/// Who ends all processes by a signal (Ctrl-C, a service manager) means the server, and its feeder goes with it: nothing is wrong with that.
#[test]
fn signals_that_are_meant_for_the_server() {
    let (bed, server) = Bed::with_zone();
    let pid = feeder(&server);
    for name in ["HUP", "INT", "TERM", "USR1"] {
        signal(pid, name);
    }
    add_by_sql(&bed, "example.", "sql.example.");
    await_serial(&server, "example.", 2);
    assert_eq!(feeder(&server), pid, "the same one: {}", server.log());
    signal(pid, "TERM");
    signal(server.process.pid(), "TERM");
    await_that("the end", || !server.process.is_running());
    await_that("the feeder's end", || !std::path::Path::new(&format!("/proc/{pid}")).exists());
    let log = server.log();
    assert!(log.contains("stopped") && !log.contains("ERROR") && !log.contains("its feeder has"), "{log}");
}
