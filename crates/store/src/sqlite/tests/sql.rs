//! Writers by plain SQL, who know nothing but the tables.

use super::*;

#[test]
fn rows_of_others_become_a_version() {
    let mut scratch = Scratch::with_zone();
    let sql = scratch.sql();
    sql.execute_batch(
        "BEGIN;
         INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'www.example.', 'A', 60, '192.0.2.2' FROM zone WHERE name = 'example.';
         UPDATE record SET ttl = 90 WHERE owner = 'ns.example.';
         UPDATE record SET rdata = 'ns2.example.' WHERE type = 'NS';
         COMMIT;",
    )
    .unwrap();
    assert_eq!(scratch.store.pending_count().unwrap(), 1);
    assert_eq!(scratch.close(), 1);
    let versions = scratch.versions("example.");
    let version = &versions[1];
    assert_eq!((version.serial, version.kind, version.who.as_deref()), (8, Kind::Change, None));
    assert_eq!(
        scratch.changes(version.id),
        [
            "-example. 60 IN SOA ns.example. host.example. 7 3600 600 86400 60",
            "-example. 60 IN NS ns.example.",
            "-ns.example. 60 IN A 192.0.2.1",
            "+example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "+example. 60 IN NS ns2.example.",
            "+ns.example. 90 IN A 192.0.2.1",
            "+www.example. 60 IN A 192.0.2.2",
        ]
    );
    assert_eq!(version.rows, 7);
    let serial: u32 = sql.query_row("SELECT serial FROM zone", [], |row| row.get(0)).unwrap();
    assert_eq!(serial, 8);
}

/// What comes and goes again between two looks is no change, nor is a row that is written as it was.
#[test]
fn what_ends_as_it_began_is_no_version() {
    let mut scratch = Scratch::with_zone();
    scratch
        .sql()
        .execute_batch(
            "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'a.example.', 'A', 60, '192.0.2.2' FROM zone;
             UPDATE record SET ttl = 5 WHERE owner = 'a.example.';
             DELETE FROM record WHERE owner = 'a.example.';
             UPDATE record SET ttl = 60;
             UPDATE record SET ttl = 61; UPDATE record SET ttl = 60;
             INSERT OR IGNORE INTO record (zone, owner, type, ttl, rdata) SELECT zone, owner, type, 7, rdata FROM record;",
        )
        .unwrap();
    assert_eq!(scratch.close(), 0);
    assert_eq!(scratch.store.pending_count().unwrap(), 0);
    assert_eq!(scratch.versions("example.").len(), 1);
}

/// REPLACE fires no trigger of deletion: what it replaced is known all the same, and so with every other form of the statement.
#[test]
fn rows_that_are_replaced() {
    for statement in [
        "INSERT OR REPLACE INTO record (zone, owner, type, ttl, rdata) SELECT id, 'ns.example.', 'A', 90, '192.0.2.1' FROM zone",
        "REPLACE INTO record (zone, owner, type, ttl, rdata) SELECT id, 'ns.example.', 'A', 90, '192.0.2.1' FROM zone",
        "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'ns.example.', 'A', 90, '192.0.2.1' FROM zone WHERE true
             ON CONFLICT DO UPDATE SET ttl = excluded.ttl",
        "INSERT OR REPLACE INTO record (zone, owner, type, ttl, rdata) SELECT id, 'ns.example.', 'A', 80, '192.0.2.1' FROM zone;
         INSERT OR REPLACE INTO record (zone, owner, type, ttl, rdata) SELECT id, 'ns.example.', 'A', 90, '192.0.2.1' FROM zone",
        "PRAGMA recursive_triggers = ON;
         REPLACE INTO record (zone, owner, type, ttl, rdata) SELECT id, 'ns.example.', 'A', 90, '192.0.2.1' FROM zone",
        "BEGIN; UPDATE record SET ttl = 90 WHERE owner = 'ns.example.';
         SAVEPOINT one; DELETE FROM record; DELETE FROM zone; ROLLBACK TO one; COMMIT",
        "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'x.example.', 'A', 90, '192.0.2.1' FROM zone;
         UPDATE OR REPLACE record SET owner = 'ns.example.' WHERE owner = 'x.example.'",
    ] {
        let mut scratch = Scratch::with_zone();
        scratch.sql().execute_batch(statement).unwrap();
        assert_eq!(scratch.close(), 1, "{statement}");
        let changes = scratch.changes(scratch.versions("example.")[1].id);
        let of_ns: Vec<&String> = changes.iter().filter(|line| line[1..].starts_with("ns.")).collect();
        assert_eq!(
            of_ns,
            ["-ns.example. 60 IN A 192.0.2.1", "+ns.example. 90 IN A 192.0.2.1"],
            "{statement}"
        );
        assert_eq!(changes.len(), 4, "{statement}: {changes:?}");
    }
}

#[test]
fn a_zone_of_others_and_its_serial() {
    let mut scratch = Scratch::new();
    let sql = scratch.sql();
    sql.execute_batch(
        "BEGIN; INSERT INTO zone (name) VALUES ('a.test.'), ('b.test.');
         INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, name, 'SOA', 60, 'ns.test. host.test. 0 3600 600 86400 60' FROM zone;
         INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, name, 'NS', 60, 'ns.test.' FROM zone; COMMIT;",
    )
    .unwrap();
    assert_eq!(scratch.close(), 2, "several zones of one transaction");
    let of = |scratch: &Scratch, zone: &str| -> Vec<(Kind, u32)> {
        scratch.versions(zone).iter().map(|version| (version.kind, version.serial)).collect()
    };
    assert_eq!(of(&scratch, "a.test."), [(Kind::Whole, 1)], "0 is passed over");
    assert!(scratch.lines("a.test.").iter().any(|line| line.contains(" 1 3600")));
    // A serial that the writer gives stands, if it is greater.
    let set = |serial: u32| {
        sql.execute(
            "UPDATE record SET rdata = ?1 WHERE type = 'SOA' AND owner = 'a.test.'",
            [format!("ns.test. host.test. {serial} 3600 600 86400 60")],
        )
        .unwrap();
    };
    set(2_000_000_000);
    scratch.close();
    set(5);
    scratch.close();
    assert_eq!(of(&scratch, "a.test.")[1..], [(Kind::Change, 2_000_000_000), (Kind::Change, 2_000_000_001)]);
    // Not enabled it is gone, and comes back as a whole.
    sql.execute("UPDATE zone SET enabled = 0 WHERE name = 'a.test.'", []).unwrap();
    scratch.close();
    sql.execute("DELETE FROM record WHERE type = 'NS' AND owner = 'a.test.'", []).unwrap();
    scratch.close();
    sql.execute("UPDATE zone SET enabled = 1 WHERE name = 'a.test.'", []).unwrap();
    scratch.close();
    assert_eq!(of(&scratch, "a.test.")[3..], [(Kind::Removed, 2_000_000_001), (Kind::Whole, 2_000_000_002)]);
    // Deleted and made anew before anybody looked: whole, above.
    sql.execute_batch(
        "DELETE FROM zone WHERE name = 'b.test.'; INSERT INTO zone (name) VALUES ('b.test.');
         INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, name, 'SOA', 60, 'ns.test. host.test. 1 3600 600 86400 60' FROM zone WHERE name = 'b.test.';",
    )
    .unwrap();
    scratch.close();
    assert_eq!(of(&scratch, "b.test."), [(Kind::Whole, 1), (Kind::Whole, 2)]);
    assert_eq!(scratch.lines("b.test.").len(), 1, "no record of before is left");
}

/// What the tables refuse at once, with words.
#[test]
fn statements_that_are_refused() {
    let scratch = Scratch::with_zone();
    let sql = scratch.sql();
    let record = |values: &str| {
        format!("INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, {values} FROM zone")
    };
    for (statement, words) in [
        ("UPDATE zone SET name = 'other.'".into(), "its name and id stay"),
        ("UPDATE zone SET id = 77".into(), "its name and id stay"),
        ("UPDATE zone SET rowid = 77".into(), "its name and id stay"),
        ("UPDATE OR REPLACE zone SET _rowid_ = 77, enabled = 0".into(), "its name and id stay"),
        ("INSERT OR REPLACE INTO zone (oid, name) SELECT id, 'b.' FROM zone".into(), "never replaced"),
        ("INSERT INTO zone (id, name) VALUES (-1, 'b.')".into(), "CHECK"),
        ("UPDATE zone SET serial = 9".into(), "change the SOA record"),
        ("INSERT INTO zone (name, serial) VALUES ('b.', 5)".into(), "leave it out"),
        ("INSERT OR REPLACE INTO zone (name) VALUES ('example.')".into(), "never replaced"),
        ("INSERT INTO zone (name) VALUES ('Example.')".into(), "CHECK"),
        ("INSERT INTO zone (name) VALUES ('b')".into(), "CHECK"),
        ("INSERT INTO record (zone, owner, type, ttl, rdata) VALUES (99, 'a.example.', 'A', 60, '192.0.2.1')".into(), "no zone has this id"),
        ("UPDATE record SET zone = 99".into(), "stays in its zone"),
        ("UPDATE record SET owner = 'a.org.'".into(), "at or below"),
        (record("'a.org.', 'A', 60, '192.0.2.1'"), "at or below"),
        (record("'aexample.', 'A', 60, '192.0.2.1'"), "at or below"),
        (record("'A.example.', 'A', 60, '192.0.2.1'"), "CHECK"),
        (record("'a.example.', 'a', 60, '192.0.2.1'"), "CHECK"),
        (record("'a.example.', 'A', -1, '192.0.2.1'"), "CHECK"),
        (record("'a.example.', 'A', 4294967295, '192.0.2.1'"), "CHECK"),
        (record("'a.example.', 'A', 'x', '192.0.2.1'"), "INTEGER"),
        (record("'a.example.', 'A', 60, '192.0.2.1' || char(10)"), "CHECK"),
        (record("'a.example.', 'TXT', 60, '\"\u{e4}\"'"), "CHECK"),
        (record("'a.example.', 'TXT', 60, '\"' || CAST(x'ff' AS TEXT) || '\"'"), "CHECK"),
        (record("'a.example.', 'TXT', 60, '\"x\"' || char(0)"), "CHECK"),
        (record("'a' || char(0) || '.example.', 'A', 60, '192.0.2.1'"), "at or below"),
        (record("'a b.example.', 'A', 60, '192.0.2.1'"), "CHECK"),
        ("INSERT INTO zone (name) VALUES (CAST(x'ff2e' AS TEXT))".into(), "CHECK"),
        (record("'ns.example.', 'A', 60, '192.0.2.1'"), "UNIQUE"),
    ] {
        let said = sql.execute_batch(&statement).unwrap_err().to_string();
        assert!(said.contains(words), "{statement}: {said}");
    }
    assert_eq!(scratch.store.pending_count().unwrap(), 0, "nothing of it is left");
}

/// What only the reader of records can tell is told when a version would be made; other zones go on.
#[test]
fn rows_that_are_no_records() {
    for (owner, rtype, rdata, words) in [
        ("a.example.", "AAAA", "2001:DB8::1", "there is one text for it: 2001:db8::1"),
        ("a.example.", "NS", "ns", "there is one text for it: ns.example."),
        ("a.example.", "A", "192.0.2.300", "192.0.2.300"),
        ("a.example.", "NOSUCH", "x", "expected the type"),
        ("a\\.example.", "A", "192.0.2.1", "at or below"),
        ("a.example.", "SOA", "a. b. 1 2 3 4 5", "below the apex"),
        ("example.", "SOA", "a. b. 1 2 3 4 5", "a second one"),
    ] {
        let mut scratch = Scratch::with_zone();
        scratch.put("other.", SOA).unwrap();
        let sql = scratch.sql();
        sql.execute(
            "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, ?1, ?2, 60, ?3 FROM zone WHERE name = 'example.'",
            [owner, rtype, rdata],
        )
        .unwrap();
        sql.execute("UPDATE record SET ttl = 5 WHERE owner = 'ns.other.'", []).unwrap();
        let said = scratch.refused();
        assert!(said.contains(words) && said.contains("zone example.: "), "{said}");
        assert_eq!((scratch.versions("example.").len(), scratch.versions("other.").len()), (1, 2));
        // Mended by whoever wrote it, or by an import that says what the zone is.
        let mend = "DELETE FROM record WHERE owner = ?1 AND type = ?2 AND rdata = ?3";
        if rtype == "A" {
            sql.execute(mend, [owner, rtype, rdata]).unwrap();
            assert_eq!(scratch.close(), 0);
        } else {
            let put = scratch.put("example.", &format!("{SOA}b 60 A 192.0.2.2\n")).unwrap();
            assert!(matches!(put, Put::Made(Version { serial: 8, rows: 3, .. })), "{put:?}");
        }
        assert_eq!(scratch.store.pending_count().unwrap(), 0);
    }
}

/// A zone whose name is written in another way than it is printed is told so: no record can be put into it.
#[test]
fn a_zone_in_other_words() {
    let mut scratch = Scratch::new();
    scratch.sql().execute("INSERT INTO zone (name) VALUES ('\\097.')", []).unwrap();
    let said = scratch.refused();
    assert!(said.contains("name: there is one text for it: a."), "{said}");
    scratch.sql().execute("DELETE FROM zone", []).unwrap();
    assert_eq!(scratch.close(), 0);
    assert_eq!(scratch.store.pending_count().unwrap(), 0);
}

#[test]
fn a_zone_without_soa_is_no_version() {
    let mut scratch = Scratch::with_zone();
    scratch.sql().execute("DELETE FROM record WHERE type = 'SOA'", []).unwrap();
    assert!(scratch.refused().contains("no SOA record"));
    scratch.sql().execute("INSERT INTO zone (name) VALUES ('new.')", []).unwrap();
    assert_eq!(scratch.store.close_pending(None, AT).unwrap().refused.len(), 2);
    // One zone alone is closed where one is asked for.
    scratch.put("other.", SOA).unwrap();
    scratch.sql().execute("UPDATE record SET ttl = 5 WHERE owner = 'ns.other.'", []).unwrap();
    let closing = scratch.store.close_pending(Some(&name("other.")), AT).unwrap();
    assert_eq!((closing.versions, closing.refused.len()), (1, 0));
}

/// Whoever switches the constraints off harms no zone but the one that they write.
#[test]
fn without_constraints() {
    let mut scratch = Scratch::with_zone();
    scratch.put("other.", SOA).unwrap();
    let insert = "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'a.example.', 'TXT', 60";
    scratch
        .sql()
        .execute_batch(&format!(
            "PRAGMA ignore_check_constraints = ON;
             {insert}, CAST(x'22ff22' AS TEXT) FROM zone WHERE name = 'example.';
             {insert}, '\"x\"' || char(0, 10) || '$INCLUDE /etc/passwd' FROM zone WHERE name = 'example.';
             UPDATE record SET ttl = -7 WHERE owner = 'ns.example.';
             UPDATE record SET ttl = 5 WHERE owner = 'ns.other.';"
        ))
        .unwrap();
    let said = scratch.refused();
    assert_eq!(said.matches("a.example. TXT").count(), 2, "{said}");
    assert!(said.contains("ns.example. A") && said.contains("ttl: expected at most"), "{said}");
    assert_eq!(scratch.versions("other.").len(), 2);
    assert!(matches!(scratch.store.contents(&name("example.")), Err(Fault::Rows { .. })));
}

/// More zones than one transaction closes.
#[test]
fn many_zones() {
    let mut scratch = Scratch::new();
    scratch
        .sql()
        .execute_batch(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
             INSERT INTO zone (name) SELECT 'z' || i || '.' FROM n;
             INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, name, 'SOA', 60, 'ns.test. host.test. 1 2 3 4 5' FROM zone WHERE name <> 'z7.';",
        )
        .unwrap();
    let closing = scratch.store.close_pending(None, AT).unwrap();
    assert_eq!((closing.versions, closing.refused.len()), (249, 1));
}

/// Two who write at once wait for each other, and readers for nobody.
#[test]
fn writers_wait_for_each_other() {
    let mut scratch = Scratch::with_zone();
    let path = scratch.folder.path().join("zones.db");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut store = Store::open(path, Access::Write).unwrap();
                for number in 0..10 {
                    let text = format!("{SOA}t{thread} 60 A 192.0.2.{number}\n");
                    let mut writer = store.writer().unwrap();
                    writer.put(&contents_of("example.", &text), None, &Meta::default()).unwrap();
                    writer.commit().unwrap();
                    store.contents(&name("example.")).unwrap();
                }
            });
        }
    });
    assert_eq!(scratch.lines("example.").len(), 4);
    let serials: Vec<u32> = scratch.versions("example.").iter().map(|version| version.serial).collect();
    assert_eq!(serials, (7..=47).collect::<Vec<u32>>());
}
