//! Databases that die, say nothing, go back, are copied, or have rows and tables that are none: what is served stays, it is said why, and what is mended follows by itself.

use zonda_tests::server::signal;

use super::*;
use crate::store::postgres::server;
use crate::store::served::{feeder, kill};

#[test]
fn a_database_that_dies_or_says_nothing() {
    let bed = Bed::of(server::Scratch::alone());
    let home = Home::new();
    // A second for a statement, and five for the word that it took too long.
    let start = || home.start(&bed.database.address(), "statement-timeout-seconds = 1");
    let server = start();
    await_serial(&server, "example.", 1);
    let pid = feeder(&server);
    // Killed: it ends all connections, and starts anew by itself.
    signal(backend(&bed), "KILL");
    await_told(&server, &["store"], "away for");
    await_that("the database", || bed.database.try_sql(&add("example.", "killed.example.")).is_ok());
    await_serial(&server, "example.", 2);
    await_told(&server, &["store"], "followed");
    // Stopped: nobody closes the connection.
    let stopped = backend(&bed);
    signal(stopped, "STOP");
    bed.database.sql(&add("example.", "stopped.example."));
    stays(&server, "example.", 2);
    let said = await_told(&server, &["store"], "no word from the server");
    assert!(said.contains("away for"), "{said}");
    await_serial(&server, "example.", 3);
    signal(stopped, "CONT");
    // Ended and started again, with a server that starts meanwhile.
    bed.database.stop();
    let said = await_told(&server, &["store"], "away for");
    assert!(said.contains("cannot be asked"), "{said}");
    stays(&server, "example.", 3);
    assert_eq!(feeder(&server), pid, "the same one all the time: {}", server.log());
    kill(server);
    let server = start();
    await_serial(&server, "example.", 3);
    await_told(&server, &["store"], "away for");
    bed.database.start();
    bed.database.sql(&add("example.", "started.example."));
    await_serial(&server, "example.", 4);
    server.await_log("serial 4 from store own, was 3");
    assert!(!server.log().contains("all of it"), "nothing was pushed again: {}", server.log());
    assert_eq!(transfer(server.address, "example.").len(), 7);
}

/// A dump that is put back is older; one that was written on is another history with the same serials.
#[test]
fn a_dump_is_put_back() {
    let (bed, _home, server) = served("");
    let change = |number: u32| {
        bed.database.sql(&format!("UPDATE zonda.record SET ttl = {number} WHERE owner = 'www.example.'"));
    };
    let restore = |dump: &str| {
        let path = bed.write(dump);
        let sql = format!("BEGIN; DROP SCHEMA zonda CASCADE;\n\\i {path}\nCOMMIT;");
        let mut session = bed.database.session();
        session.sql(&sql);
    };
    change(2);
    await_serial(&server, "example.", 2);
    let dump = bed.database.dumped();
    (3..6).for_each(change);
    await_serial(&server, "example.", 5);
    restore(&dump);
    await_told(&server, &["store"], "1 went back: example.");
    stays(&server, "example.", 5);
    // As after the time that it stays by itself.
    assert!(told(&server, &["store", "confirm", "own"]).1.contains("1 went back"));
    await_serial(&server, "example.", 6);
    let answer = ask(server.address, Transport::Udp, &Query::new("www.example.", rtype::A));
    assert_eq!(answer.answer[0].ttl, 2);
    let history = bed.history(&[]);
    assert_eq!(
        history.last().map(|last| (&last["serial"], &last["kind"])),
        Some((&6.into(), &"whole".into()))
    );
    await_that("all is well", || told(&server, &["store"]).0);
    // Written on beyond what is served, before anybody looks: its data, at once.
    let more: String = (102..108)
        .map(|ttl| {
            format!("UPDATE zonda.record SET ttl = {ttl} WHERE owner = 'www.example.';\nCOMMIT;\nBEGIN;\n")
        })
        .collect();
    let pid = feeder(&server);
    signal(pid, "STOP");
    restore(&format!("{dump}\nSET search_path = public;\nCOMMIT;\nBEGIN;\n{more}"));
    signal(pid, "CONT");
    await_serial(&server, "example.", 8);
    let answer = ask(server.address, Transport::Udp, &Query::new("www.example.", rtype::A));
    assert_eq!(answer.answer[0].ttl, 107);
    // And what comes is differences again.
    change(9);
    await_serial(&server, "example.", 9);
    server.await_log("serial 9 from store own, was 8");
}

#[test]
fn tables_and_rows() {
    let (bed, _home, server) = served("");
    bed.database.sql("ALTER TABLE zonda.version RENAME COLUMN mark TO other");
    // The list of zones is asked for it, or what has changed.
    let _ = bed.database.try_sql(&add("example.", "x.example."));
    bed.database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'zonda' AND datname = current_database()");
    let said = await_told(&server, &["store"], "column v.mark does not exist");
    assert!(said.contains("away for"), "{said}");
    stays(&server, "example.", 1);
    bed.database.sql("ALTER TABLE zonda.version RENAME COLUMN other TO mark");
    await_told(&server, &["store"], "followed");
    let of_database = || bed.database.sql("SELECT serial FROM zonda.zone WHERE name = 'example.'");
    let base: u32 = of_database().parse().expect("a number");
    await_serial(&server, "example.", base);
    // A row that is no record keeps its zone back, and no other one.
    bed.database.sql("BEGIN; INSERT INTO zonda.zone (name) VALUES ('b.test.'); INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 3 2 5 5' FROM zonda.zone WHERE name = 'b.test.'; INSERT INTO zonda.record SELECT id, name, 'NS', 60, 'ns.' FROM zonda.zone WHERE name = 'b.test.'; COMMIT");
    await_serial(&server, "b.test.", 1);
    bed.database.sql("INSERT INTO zonda.record SELECT id, 'bad.example.', 'AAAA', 60, '2001:DB8::1' FROM zonda.zone WHERE name = 'example.'");
    let said = await_told(&server, &["store", "show", "own"], "there is one text for it: 2001:db8::1");
    assert!(said.contains("bad.example. AAAA") && said.contains("1 not served as it has them"), "{said}");
    bed.database.sql(&add("b.test.", "a.b.test."));
    await_serial(&server, "b.test.", 2);
    assert_eq!(serial(&server, "example."), Some(Ok(base)));
    bed.database.sql("DELETE FROM zonda.record WHERE owner = 'bad.example.'");
    await_serial(&server, "example.", base + 2);
    await_that("all is well", || told(&server, &["store"]).0);
}

/// A copy in its place is read once it is adopted.
#[test]
fn copies() {
    let (bed, _home, server) = served("");
    bed.database.replace(&bed.database.restored());
    await_told(&server, &["store"], "a store that was copied or moved");
    stays(&server, "example.", 1);
    bed.run("adopt", &[]).assert_fine();
    await_told(&server, &["store"], "followed");
    bed.database.sql(&add("example.", "sql.example."));
    await_serial(&server, "example.", 2);
    server.await_log("serial 2 from store own, was 1");
}

/// Another store at its address is read once an operator says so; what that does not have are losses.
#[test]
fn another_store() {
    let (bed, _home, server) = served("");
    bed.database.sql("DROP SCHEMA zonda CASCADE");
    bed.run("init", &[]).assert_fine();
    let zone = bed.write(SOUND);
    bed.run("import", &[&format!("new.test.={zone}")]).assert_fine();
    await_told(&server, &["store"], "another database is at its address");
    stays(&server, "example.", 1);
    assert_eq!(serial(&server, "new.test."), Some(Err(5)));
    assert!(told(&server, &["store", "confirm", "own"]).0);
    await_serial(&server, "new.test.", 1);
    await_refused(&server, "example.");
}
