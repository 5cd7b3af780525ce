//! Files of PowerDNS that are away, locked, replaced, or that nobody has open.

use std::process::{Child, Stdio};

use super::*;

/// Somebody who has a file open, and does with it what is said.
struct Holder(Child);

impl Holder {
    fn of(bed: &Bed, sql: &str) -> Holder {
        let mut command = Command::new("sqlite3");
        command.arg(bed.path()).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut holder = Holder(command.spawn().expect("the program sqlite3"));
        holder.say(sql);
        holder
    }

    fn say(&mut self, sql: &str) {
        use std::io::Write;
        let stdin = self.0.stdin.as_mut().expect("a pipe");
        stdin.write_all(sql.as_bytes()).and_then(|()| stdin.flush()).expect("a statement");
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("its end");
    }
}

#[test]
fn a_file_that_goes_away_and_comes_back() {
    let bed = Bed::with(&["a.test"]);
    let server = bed.start("");
    await_serial(&server, "a.test.", 1);
    let aside = bed.home.path().join("aside.db");
    std::fs::rename(bed.path(), &aside).expect("another name");
    let text = await_told(&server, &["store"], "away for");
    assert!(text.contains("cannot open: no such file"), "{text}");
    stays(&server, "a.test.", 1);
    // So it is after a start, too.
    kill(server);
    let server = bed.start("");
    await_serial(&server, "a.test.", 1);
    await_told(&server, &["store"], "away for");
    // What is no database, and one of others.
    write(&bed.home.path().join("pdns"), "pdns.db", &"what is this? ".repeat(100));
    await_told(&server, &["store"], "no database of SQLite");
    std::fs::remove_file(bed.path()).expect("another one");
    bed.sql("CREATE TABLE domains (x)");
    await_told(&server, &["store"], "PowerDNS");
    stays(&server, "a.test.", 1);
    std::fs::rename(&aside, bed.path()).expect("its name");
    await_told(&server, &["store"], "followed");
    bed.add("a.test", "new");
    await_serial(&server, "a.test.", 2);
}

/// In rollback mode who writes keeps readers out.
#[test]
fn a_file_that_is_locked_for_long() {
    let bed = Bed::with(&["a.test"]);
    bed.sql("PRAGMA journal_mode = DELETE");
    let server = bed.start("");
    await_serial(&server, "a.test.", 1);
    await_told(&server, &["store"], "followed");
    let mut holder = Holder::of(
        &bed,
        "PRAGMA busy_timeout = 10000; BEGIN EXCLUSIVE; UPDATE records SET content = replace(content, ' 1 ', ' 2 ') WHERE type = 'SOA';\n",
    );
    await_told(&server, &["store"], "somebody else writes");
    stays(&server, "a.test.", 1);
    holder.say("COMMIT;\n");
    holder.end();
    await_serial(&server, "a.test.", 2);
    await_that("all well", || told(&server, &["store"]).0);
}

/// An empty one, or one of others, takes nothing away that is served.
#[test]
fn a_file_that_is_replaced() {
    let zones = ["a.test", "b.test", "c.test"];
    let bed = Bed::with(&zones);
    let server = bed.start("remove-max = \"1\"");
    zones.iter().for_each(|zone| await_serial(&server, &format!("{zone}."), 1));
    let aside = bed.home.path().join("aside.db");
    std::fs::rename(bed.path(), &aside).expect("another name");
    bed.make_tables();
    await_told(&server, &["store"], "losses wait");
    zones.iter().for_each(|zone| assert_eq!(serial(&server, &format!("{zone}.")), Some(Ok(1))));
    bed.create("other.test");
    await_serial(&server, "other.test.", 1);
    stays(&server, "a.test.", 1);
    // The right one again, without what is beside the one before.
    for beside in ["pdns.db-wal", "pdns.db-shm"] {
        drop(std::fs::remove_file(bed.path().with_file_name(beside)));
    }
    std::fs::rename(&aside, bed.path()).expect("its name");
    bed.add("a.test", "new");
    await_serial(&server, "a.test.", 2);
    await_refused(&server, "other.test.");
    await_that("all well", || told(&server, &["store"]).0);
}

/// Whoever writes has the file open for that moment alone, so that it is read without locks in between.
#[test]
fn a_file_that_nobody_has_open() {
    let bed = Bed::with(&["a.test"]);
    let server = bed.start("");
    await_serial(&server, "a.test.", 1);
    for expected in 2..5 {
        bed.add("a.test", &format!("n{expected}"));
        await_serial(&server, "a.test.", expected);
    }
    assert!(!server.log().contains("opened by somebody else"), "{}", server.log());
}
