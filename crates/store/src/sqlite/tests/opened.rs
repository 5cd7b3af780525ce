//! Files that are a store, and files that are none.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_store_is_made_once_and_found_again() {
    let scratch = Scratch::new();
    let path = scratch.folder.path().join("zones.db");
    assert!(matches!(Store::create(&path), Err(Fault::Exists)));
    let again = Store::open(&path, Access::Write).unwrap();
    assert_eq!(again.identity(), scratch.store.identity());
    assert_eq!(again.identity().len(), 32);
    assert_ne!(again.identity(), Scratch::new().store.identity());
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o137, 0, "{mode:o}: nobody but the user writes, others do not read");
    let journal: String = scratch.sql().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(journal, "wal");
    let level: i64 = again.database.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
    assert_eq!(level, 2, "FULL");
}

/// An empty file, as it is left by a crash between making it and its tables, is taken.
#[test]
fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zones.db");
    std::fs::write(&path, "").unwrap();
    assert!(matches!(Store::open(&path, Access::Write), Err(Fault::NotAStore)));
    Store::create(&path).unwrap();
    Store::open(&path, Access::Read).unwrap();
}

#[test]
fn what_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zones.db");
    let fault = |access| Store::open(&path, access).err().unwrap();
    assert!(matches!(fault(Access::Write), Fault::File("open", _)));
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(fault(Access::Read), Fault::NotAFile("a folder")));
    assert!(matches!(Store::create(&path), Err(Fault::NotAFile(_))));
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, "example. 60 IN A 192.0.2.1\n".repeat(1000)).unwrap();
    assert!(matches!(fault(Access::Write), Fault::NotADatabase(_)), "{}", fault(Access::Write));
    assert!(matches!(Store::create(&path), Err(Fault::Exists)));
    std::fs::remove_file(&path).unwrap();
    // Tables of others, also one of the same name.
    for table in ["domains (id INTEGER)", "store (name TEXT)"] {
        let other = Connection::open(&path).unwrap();
        other.execute_batch(&format!("CREATE TABLE {table}")).unwrap();
        assert!(matches!(fault(Access::Write), Fault::NotAStore), "{}", fault(Access::Write));
        assert!(matches!(Store::create(&path), Err(Fault::Exists)));
        std::fs::remove_file(&path).unwrap();
    }
}

/// The numbers of the schema say whether it is read, and whether it is written.
#[test]
fn later_schemas() {
    let scratch = Scratch::new();
    let path = scratch.folder.path().join("zones.db");
    let sql = scratch.sql();
    sql.execute("UPDATE store SET written_by = 9, readable_from = 1", []).unwrap();
    Store::open(&path, Access::Read).unwrap();
    let fault = Store::open(&path, Access::Write).err().unwrap();
    assert!(matches!(fault, Fault::NotOurs { written_by: 9 }), "{fault}");
    sql.execute("UPDATE store SET readable_from = 8", []).unwrap();
    let fault = Store::open(&path, Access::Read).err().unwrap();
    assert!(matches!(fault, Fault::TooNew { written_by: 9, readable_from: 8 }));
    assert!(fault.to_string().contains("later version") && fault.to_string().contains("knows 1"), "{fault}");
}

/// Pages that are overwritten are found out, not believed.
#[test]
fn a_damaged_file() {
    let mut scratch = Scratch::with_zone();
    let text: String = (0..5000).map(|number| format!("n{number} 60 TXT \"{number:0200}\"\n")).collect();
    scratch.put("example.", &format!("{SOA}{text}")).unwrap();
    let path = scratch.folder.path().join("zones.db");
    let Scratch { folder, store } = scratch;
    drop(store);
    let mut octets = std::fs::read(&path).unwrap();
    let length = octets.len();
    octets[length / 2..].fill(0x5a);
    std::fs::write(&path, octets).unwrap();
    let mut store = Store::open(&path, Access::Write).unwrap();
    let fault = store.contents(&name("example.")).err().unwrap();
    assert!(matches!(fault, Fault::NotADatabase(_)), "{fault}");
    drop(folder);
}

/// A copy that lost the kind of its journal gets it back from whoever opens it to write.
#[test]
fn copies_have_the_journal_of_the_first() {
    let scratch = Scratch::with_zone();
    let path = scratch.folder.path().join("copy.db");
    scratch.sql().execute("VACUUM INTO ?1", [path.to_str().unwrap()]).unwrap();
    let mut copy = Store::open(&path, Access::Write).unwrap();
    let journal: String = copy.database.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(journal, "wal");
    assert_eq!(lines(&copy.contents(&name("example.")).unwrap().0), lines(&contents_of("example.", SOA)));
}

/// Opening a store takes no lock from another connection of this process: where it did, the last one to close it elsewhere would remove the journal.
#[test]
fn connections_of_one_process_keep_their_locks() {
    let scratch = Scratch::with_zone();
    let path = scratch.folder.path().join("zones.db");
    drop(Store::open(&path, Access::Read).unwrap());
    assert!(Store::create(&path).is_err());
    let closed = std::process::Command::new("sqlite3").arg(&path).arg("UPDATE record SET ttl = 61").status();
    assert!(closed.unwrap().success());
    assert!(scratch.folder.path().join("zones.db-wal").exists(), "somebody has it open");
}
