//! Files that are opened, or refused; nothing is written.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[track_caller]
fn refused(path: &std::path::Path, expected: &str) {
    let fault = Sqlite::open(path).and_then(Tables::of).map(drop).unwrap_err();
    assert!(fault.to_string().starts_with(expected), "{fault}");
}

#[test]
fn what_is_no_database_of_powerdns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    refused(&path, "cannot open: no such file");
    refused(folder.path(), "expected a file with a database");
    std::fs::write(&path, "").unwrap();
    refused(&path, "a database, but none of PowerDNS: it has no table `domains`");
    std::fs::write(&path, "x".repeat(5000)).unwrap();
    refused(&path, "no database of SQLite, or a damaged one: file is not a database");
    let scratch = Scratch::new();
    scratch.run("ALTER TABLE records DROP COLUMN disabled");
    refused(&scratch.path(), "not as PowerDNS has it from 3.4 on: table `records` has no column `disabled`");
    scratch.run("DROP TABLE cryptokeys; ALTER TABLE records ADD disabled BOOLEAN");
    refused(&scratch.path(), "a database, but none of PowerDNS: it has no table `cryptokeys`");
}

#[test]
fn nothing_is_written() {
    let scratch = Scratch::with(&["example.org"]);
    let before = std::fs::read(scratch.path()).unwrap();
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o440)).unwrap();
    let mut tables = scratch.tables();
    assert!(tables.zone(1, Rules::default(), &mut || ()).unwrap().is_ok());
    assert_eq!(scratch.files(), ["pdns.db"]);
    drop(tables);
    assert_eq!(
        (scratch.files(), std::fs::read(scratch.path()).unwrap()),
        (vec!["pdns.db".to_owned()], before)
    );
}

/// In WAL mode, as PowerDNS has it, it is read beside somebody who has it open, and by itself; files beside it are never made.
#[test]
fn wal_mode() {
    let scratch = Scratch::with(&["example.org"]);
    scratch.run("PRAGMA journal_mode = WAL");
    scratch.record(1, "a.example.org", "A", "192.0.2.1");
    assert_eq!(scratch.files(), ["pdns.db", "pdns.db-shm", "pdns.db-wal"]);
    let count = |tables: &mut Tables<Sqlite>| {
        let zone = tables.zone(1, Rules::default(), &mut || ());
        zone.map(|zone| zone.unwrap().contents.record_count())
    };
    let mut tables = scratch.tables();
    assert_eq!(count(&mut tables).unwrap(), 3);
    drop(tables);
    let Scratch { folder, sql } = scratch;
    drop(sql);
    let path = folder.path().join("pdns.db");
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files(), 1);
    let mut tables = Tables::of(Sqlite::open(&path).unwrap()).unwrap();
    assert_eq!((count(&mut tables).unwrap(), files()), (3, 1));
    // Somebody opens it, and writes: what is read without locks counts for nothing from then on.
    let sql = Connection::open(&path).unwrap();
    sql.execute_batch("UPDATE records SET ttl = 1").unwrap();
    assert!(matches!(count(&mut tables), Err(Fault::Woken)));
    drop(sql);
    assert_eq!(files(), 1);
    assert!(matches!(count(&mut tables), Err(Fault::Woken)));
    assert!(matches!(tables.stamp(), Err(Fault::Woken)));
}

#[test]
fn a_wal_without_its_index() {
    let scratch = Scratch::with(&["example.org"]);
    scratch.run("PRAGMA journal_mode = WAL; UPDATE records SET ttl = 1");
    let copy = tempfile::tempdir().unwrap();
    for file in ["pdns.db", "pdns.db-wal"] {
        std::fs::copy(scratch.folder.path().join(file), copy.path().join(file)).unwrap();
    }
    refused(&copy.path().join("pdns.db"), "a writer has ended in the midst of what it wrote");
    assert_eq!(std::fs::read_dir(copy.path()).unwrap().count(), 2);
}

#[test]
fn paths_that_look_like_something_else() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a b?mode=rwc#x%41", "file:x", "ü"] {
        let path = folder.path().join(name);
        let sql = Connection::open(&path).unwrap();
        sql.execute_batch(TABLES).unwrap();
        drop(sql);
        assert!(Sqlite::open(&path).and_then(Tables::of).is_ok(), "{name}");
    }
}

/// What a writer left in the midst of a transaction is not taken back here.
#[test]
fn a_journal_that_has_to_be_played_back() {
    let scratch = Scratch::with(&["example.org"]);
    scratch.run("PRAGMA cache_size = 1; BEGIN");
    (0..2000).for_each(|at| scratch.record(1, &format!("a{at}.example.org"), "A", "192.0.2.1"));
    let copy = tempfile::tempdir().unwrap();
    for file in scratch.files() {
        std::fs::copy(scratch.folder.path().join(&file), copy.path().join(&file)).unwrap();
    }
    assert!(copy.path().join("pdns.db-journal").exists());
    refused(&copy.path().join("pdns.db"), "a writer has ended in the midst of what it wrote");
    // Beside the writer it is as it was before.
    scratch.run("COMMIT");
    assert_eq!(
        scratch.tables().zone(1, Rules::default(), &mut || ()).unwrap().unwrap().contents.record_count(),
        2002
    );
}

#[test]
fn a_writer_is_waited_for() {
    let scratch = Scratch::with(&["example.org"]);
    let mut tables = scratch.tables();
    scratch.run("BEGIN EXCLUSIVE");
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || tables.zone(1, Rules::default(), &mut || ()).unwrap().is_ok());
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(!reader.is_finished());
        scratch.run("COMMIT");
        assert!(reader.join().unwrap());
    });
}

/// PowerDNS does not look at what operators have beside its tables.
#[test]
fn a_view_that_is_broken() {
    let scratch = Scratch::with(&["example.org"]);
    scratch.run("CREATE TABLE gone (x); CREATE VIEW broken AS SELECT x FROM gone; DROP TABLE gone");
    assert!(Sqlite::open(&scratch.path()).and_then(Tables::of).is_ok());
}

/// SQLite has its files beside the one that a link leads to.
#[test]
fn a_link_to_a_file_in_wal_mode() {
    let scratch = Scratch::with(&["example.org"]);
    scratch.run("PRAGMA journal_mode = WAL");
    scratch.record(1, "a.example.org", "A", "192.0.2.1");
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.db");
    std::os::unix::fs::symlink(scratch.path(), &link).unwrap();
    let mut tables = Tables::of(Sqlite::open(&link).unwrap()).unwrap();
    let zone = tables.zone(1, Rules::default(), &mut || ()).unwrap().unwrap();
    assert_eq!(zone.contents.record_count(), 3);
}
