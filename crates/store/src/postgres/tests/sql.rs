//! Writers by plain SQL, who know nothing but the tables.

use super::*;

const INSERT: &str = "INSERT INTO zonda.record (zone, owner, type, ttl, rdata)";

#[test]
fn a_transaction_is_a_version_of_each_zone() {
    let bed = Bed::with_zone();
    bed.database.sql(&format!(
        "BEGIN;
         INSERT INTO zonda.zone (name) VALUES ('b.test.'), ('a.test.');
         {INSERT} SELECT id, name, 'SOA', 60, 'ns.test. host.test. 0 3600 600 86400 60' FROM zonda.zone WHERE name LIKE '%test.';
         {INSERT} SELECT id, 'www.' || name, 'A', 60, '192.0.2.2' FROM zonda.zone;
         UPDATE zonda.record SET ttl = 90 WHERE owner = 'ns.example.';
         UPDATE zonda.record SET rdata = 'ns2.example.' WHERE type = 'NS';
         COMMIT;"
    ));
    assert_eq!(bed.after("a.test.", 0), [(Kind::Whole, 1)], "0 is passed over");
    assert_eq!(bed.after("b.test.", 0), [(Kind::Whole, 1)]);
    assert_eq!(bed.after("example.", 1), [(Kind::Change, 8)]);
    assert_eq!(
        bed.newest_changes(),
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
    assert_eq!(bed.database.sql("SELECT serial FROM zonda.zone WHERE name = 'example.'"), "8");
    let newest = bed.versions("example.").pop().unwrap();
    assert_eq!((newest.who.as_deref(), newest.why), (Some("owner"), None));
    assert!(newest.at > 1_790_000_000, "{}", newest.at);
}

/// What comes and goes again is no change, nor is a row that is written as it was: at COMMIT, after a savepoint, and with nothing at all.
#[test]
fn what_ends_as_it_began_is_no_version() {
    let bed = Bed::with_zone();
    for sql in [
        format!(
            "BEGIN; {INSERT} SELECT id, 'a.example.', 'A', 60, '192.0.2.2' FROM zonda.zone;
             UPDATE zonda.record SET ttl = 5 WHERE owner = 'a.example.';
             DELETE FROM zonda.record WHERE owner = 'a.example.';
             UPDATE zonda.record SET ttl = 61; UPDATE zonda.record SET ttl = 60; COMMIT"
        ),
        "UPDATE zonda.record SET ttl = 60".into(),
        format!("{INSERT} SELECT zone, owner, type, 7, rdata FROM zonda.record ON CONFLICT DO NOTHING"),
        "DELETE FROM zonda.record WHERE owner = 'no.example.'".into(),
        "BEGIN; SAVEPOINT one; DELETE FROM zonda.zone; ROLLBACK TO one; COMMIT".into(),
        "BEGIN; UPDATE zonda.record SET ttl = 5; ROLLBACK".into(),
        "BEGIN; UPDATE zonda.zone SET enabled = false; COMMIT; BEGIN; ROLLBACK; UPDATE zonda.zone SET enabled = true".into(),
    ] {
        let count = if sql.contains("enabled") { 3 } else { 1 };
        bed.database.sql(&sql);
        assert_eq!(bed.versions("example.").len(), count, "{sql}");
    }
    assert_eq!(bed.after("example.", 1), [(Kind::Removed, 7), (Kind::Whole, 8)]);
    assert_eq!(bed.database.sql("SELECT count(*) FROM zonda.version WHERE open"), "0");
    assert_eq!(bed.database.sql("SELECT count(*) FROM zonda.change"), "0");
}

#[test]
fn rows_that_are_replaced_copied_and_moved() {
    let of_ns = ["-ns.example. 60 IN A 192.0.2.1", "+ns.example. 90 IN A 192.0.2.1"];
    let key = "(zone, owner, type, zonda.key(rdata))";
    for sql in [
        format!(
            "{INSERT} SELECT id, 'ns.example.', 'A', 90, '192.0.2.1' FROM zonda.zone ON CONFLICT {key} DO UPDATE SET ttl = excluded.ttl"
        ),
        "UPDATE zonda.record SET ttl = 90 WHERE type = 'A'".into(),
        format!(
            "BEGIN; DELETE FROM zonda.record WHERE type = 'A'; SAVEPOINT one; DELETE FROM zonda.record; ROLLBACK TO one;
             {INSERT} SELECT id, 'ns.example.', 'A', 90, '192.0.2.1' FROM zonda.zone; COMMIT"
        ),
        format!(
            "BEGIN; {INSERT} SELECT id, 'x.example.', 'A', 90, '192.0.2.1' FROM zonda.zone; DELETE FROM zonda.record WHERE owner = 'ns.example.';
             UPDATE zonda.record SET owner = 'ns.example.' WHERE owner = 'x.example.'; COMMIT"
        ),
        format!(
            "CREATE TABLE more AS SELECT id AS zone, 'ns.example.' AS owner, 'A' AS type, 90 AS ttl, '192.0.2.1' AS rdata FROM zonda.zone;
             WITH gone AS (DELETE FROM zonda.record WHERE type = 'A' RETURNING 1) SELECT 1 FROM gone;
             {INSERT} SELECT * FROM more"
        ),
    ] {
        let bed = Bed::with_zone();
        // As one transaction, whatever it is.
        bed.database.sql(&format!("BEGIN; {} ; COMMIT", sql.trim_start_matches("BEGIN;").trim_end_matches("COMMIT")));
        let changes = bed.newest_changes();
        let found: Vec<&String> = changes.iter().filter(|line| line[1..].starts_with("ns.")).collect();
        assert_eq!(found, of_ns, "{sql}");
        assert_eq!((changes.len(), bed.versions("example.").len()), (4, 2), "{sql}: {changes:?}");
    }
}

/// COPY, into a zone that is there, is noted row by row as INSERT is; and it is refused as a whole.
#[test]
fn rows_from_a_file() {
    let bed = Bed::with_zone();
    let id = bed.database.sql("SELECT id FROM zonda.zone");
    let copy =
        |rows: &str| format!("COPY zonda.record FROM PROGRAM 'printf \"{}\"'", rows.replace("ID", &id));
    bed.database.sql(&copy(r"ID\th1.example.\tA\t60\t192.0.2.1\nID\th2.example.\tA\t60\t192.0.2.2\n"));
    assert_eq!(
        bed.newest_changes()[1..],
        [
            "+example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "+h1.example. 60 IN A 192.0.2.1",
            "+h2.example. 60 IN A 192.0.2.2",
        ]
    );
    let said =
        bed.database.refused(&copy(r"ID\th3.example.\tA\t60\t192.0.2.1\nID\th3.test.\tA\t60\t192.0.2.2\n"));
    assert!(said.contains("at or below"), "{said}");
    assert_eq!(bed.versions("example.").len(), 2);
}

#[test]
fn zones_that_go_come_and_rest() {
    let bed = Bed::with_zone();
    let soa = format!(
        "{INSERT} SELECT id, name, 'SOA', 60, 'ns.example. host.example. 3 3600 600 86400 60' FROM zonda.zone"
    );
    // Away, without a word of its records; and back above its serial.
    bed.database.sql("DELETE FROM zonda.zone");
    assert_eq!(bed.database.sql("SELECT count(*) FROM zonda.record"), "0");
    bed.database.sql("INSERT INTO zonda.zone (name) VALUES ('example.')");
    assert_eq!(bed.after("example.", 1), [(Kind::Removed, 7)], "no version without an SOA record");
    bed.database.sql(&format!("{INSERT} SELECT id, 'www.example.', 'A', 60, '192.0.2.2' FROM zonda.zone"));
    bed.database.sql(&soa);
    assert_eq!(bed.after("example.", 2), [(Kind::Whole, 8)]);
    // Both in one transaction: whole, with nothing noted row by row.
    bed.database.sql(&format!("BEGIN; DELETE FROM zonda.zone; INSERT INTO zonda.zone (name) VALUES ('example.'); {soa}; UPDATE zonda.record SET ttl = 7; COMMIT"));
    assert_eq!(bed.after("example.", 3), [(Kind::Whole, 9)]);
    // There for nobody to see.
    bed.database.sql("BEGIN; INSERT INTO zonda.zone (name) VALUES ('b.test.'); DELETE FROM zonda.zone WHERE name = 'b.test.'; COMMIT");
    assert_eq!(bed.versions("b.test.").len(), 0);
    bed.database.sql("INSERT INTO zonda.zone (name, enabled) VALUES ('c.test.', false)");
    assert_eq!(bed.versions("c.test.").len(), 0);
    // At rest it has no versions, and comes back as a whole.
    bed.database.sql("UPDATE zonda.zone SET enabled = false WHERE name = 'example.'");
    bed.database.sql("UPDATE zonda.record SET ttl = 8");
    bed.database.sql("UPDATE zonda.zone SET enabled = true WHERE name = 'example.'");
    assert_eq!(bed.after("example.", 4), [(Kind::Removed, 9), (Kind::Whole, 10)]);
    // What is served does not lose its SOA record, nor get a second one.
    let said = bed.database.refused("DELETE FROM zonda.record WHERE type = 'SOA'");
    assert!(said.contains("zone example.: it has no SOA record"), "{said}");
    let said = bed.database.refused(&format!("{INSERT} SELECT zone, owner, type, ttl, replace(rdata, '3600', '3601') FROM zonda.record WHERE type = 'SOA'"));
    assert!(said.contains("zone example.: expected one SOA record"), "{said}");
    let said = bed.database.refused("UPDATE zonda.record SET rdata = 'word' WHERE type = 'SOA'");
    assert!(said.contains("expected two names and five numbers"), "{said}");
    assert_eq!(bed.after("example.", 6), []);
}

#[test]
fn serials_of_writers() {
    let bed = Bed::with_zone();
    let set = |serial: u32| {
        bed.database.sql(&format!(
            "UPDATE zonda.record SET rdata = 'ns.example. host.example. {serial} 3600 600 86400 60' WHERE type = 'SOA'"
        ));
        bed.versions("example.").pop().unwrap().serial
    };
    for (given, made) in [
        (20, 20),
        (5, 21),
        (0, 22),
        (2_000_000_000, 2_000_000_000),
        (4_000_000_000, 4_000_000_000),
        // Around the end (RFC 1982), and 2^31 ahead, where greater is undefined.
        (u32::MAX, u32::MAX),
        (0, 1),
        (1 + (1 << 31), 2),
        (u32::MAX, 3),
    ] {
        assert_eq!(set(given), made, "{given}");
    }
    // A zone that is signed with its SOA record has to bring one.
    bed.database.sql(&format!(
        "BEGIN; UPDATE zonda.record SET rdata = 'ns.example. host.example. 2000000000 3600 600 86400 60' WHERE type = 'SOA';
         {INSERT} SELECT id, name, 'RRSIG', 60, 'SOA 13 1 60 20300101000000 20200101000000 1 example. AA==' FROM zonda.zone; COMMIT"
    ));
    let said = bed.database.refused("UPDATE zonda.record SET ttl = 5");
    assert!(said.contains("signed") && said.contains("greater than 2000000000"), "{said}");
    assert_eq!(set(2_000_000_007), 2_000_000_007);
    let said = bed.database.refused(
        "UPDATE zonda.record SET rdata = 'ns.example. host.example. 9 3600 600 86400 60' WHERE type = 'SOA'",
    );
    assert!(said.contains("greater than 2000000007"), "{said}");
}

/// Who wants to know early has versions early: each once, and what comes later is one more.
#[test]
fn constraints_at_once() {
    let bed = Bed::with_zone();
    bed.database.sql(
        "BEGIN; UPDATE zonda.record SET ttl = 1 WHERE type = 'A'; SET CONSTRAINTS ALL IMMEDIATE;
         UPDATE zonda.record SET ttl = 2 WHERE type = 'A'; UPDATE zonda.record SET ttl = 3 WHERE type = 'A'; COMMIT",
    );
    assert_eq!(bed.after("example.", 1), [(Kind::Change, 8), (Kind::Change, 9)]);
    assert_eq!(bed.newest_changes().len(), 4);
    bed.database.sql("BEGIN; SET CONSTRAINTS ALL IMMEDIATE; UPDATE zonda.record SET ttl = 4 WHERE type = 'A'; DELETE FROM zonda.zone; COMMIT");
    assert_eq!(bed.after("example.", 3), [(Kind::Removed, 9)]);
}

/// What the tables refuse at once, with words.
#[test]
fn what_is_refused() {
    let bed = Bed::with_zone();
    let record = |owner: &str, rtype: &str, ttl: &str, rdata: &str| {
        format!("{INSERT} SELECT id, '{owner}', '{rtype}', {ttl}, '{rdata}' FROM zonda.zone")
    };
    for (sql, word) in [
        ("TRUNCATE zonda.record".into(), "TRUNCATE"),
        ("TRUNCATE zonda.zone, zonda.record".into(), "TRUNCATE"),
        ("UPDATE zonda.zone SET name = 'other.'".into(), "its name and id stay"),
        ("UPDATE zonda.zone SET id = 99".into(), "its name and id stay"),
        ("UPDATE zonda.zone SET serial = 99".into(), "change the SOA record"),
        ("INSERT INTO zonda.zone (name, serial) VALUES ('a.', 5)".into(), "leave it out"),
        ("INSERT INTO zonda.zone (name) VALUES ('A.')".into(), "check constraint"),
        ("INSERT INTO zonda.zone (name) VALUES ('a')".into(), "check constraint"),
        ("INSERT INTO zonda.zone (name) VALUES (E'a\\n.')".into(), "check constraint"),
        ("INSERT INTO zonda.zone (name) VALUES ('\u{e9}.')".into(), "check constraint"),
        ("INSERT INTO zonda.zone (name) VALUES ('example.')".into(), "unique"),
        (format!("{INSERT} VALUES (99, 'a.', 'A', 5, '192.0.2.1')"), "no zone has this id"),
        (record("other.", "A", "5", "192.0.2.1"), "at or below"),
        (record("anexample.", "A", "5", "192.0.2.1"), "at or below"),
        (record("A.example.", "A", "5", "192.0.2.1"), "check constraint"),
        (record("a.example.", "a", "5", "192.0.2.1"), "check constraint"),
        (record("a.example.", "A", "-1", "192.0.2.1"), "check constraint"),
        (record("a.example.", "A", "2147483648", "192.0.2.1"), "out of range"),
        (record("a.example.", "TXT", "5", "\"\u{e9}\""), "check constraint"),
        (record("a.example.", "SOA", "5", "ns. host. 1 2 3 4 5"), "below the apex"),
        (record("ns.example.", "A", "5", "192.0.2.1"), "record_once"),
        ("UPDATE zonda.record SET zone = 99 WHERE type = 'A'".into(), "stays in its zone"),
        ("UPDATE zonda.record SET owner = 'other.' WHERE type = 'A'".into(), "at or below"),
    ] {
        let said = bed.database.refused(&sql);
        assert!(said.contains(word), "{sql}: {said}");
    }
    assert_eq!(bed.versions("example.").len(), 1);
    // What an index takes no more of is a record like any other, once.
    let long = format!("\"{}\" ", "x".repeat(250)).repeat(40);
    let sql = record("long.example.", "TXT", "5", long.trim_end());
    bed.database.sql(&sql);
    assert!(bed.database.refused(&sql).contains("record_once"));
    assert_eq!(bed.newest_changes().len(), 3);
}

/// A role with rights on `zone` and `record` alone writes, and has versions of it; the history is not its.
#[test]
fn a_role_that_may_write() {
    let bed = Bed::with_zone();
    bed.database.sql(
        "DO $$ BEGIN CREATE ROLE keeper LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
         GRANT USAGE ON SCHEMA zonda TO keeper;
         GRANT SELECT, INSERT (name, enabled), UPDATE (enabled), DELETE ON zonda.zone TO keeper;
         GRANT SELECT, INSERT, UPDATE, DELETE ON zonda.record TO keeper",
    );
    let by = |sql: &str| bed.database.try_sql(&format!("SET SESSION AUTHORIZATION keeper; {sql}"));
    by("UPDATE zonda.record SET ttl = 5 WHERE type = 'A'").unwrap();
    by("INSERT INTO zonda.zone (name) VALUES ('b.test.')").unwrap();
    by(&format!("{INSERT} SELECT id, name, 'SOA', 60, 'ns. host. 3 3600 600 86400 60' FROM zonda.zone WHERE name = 'b.test.'")).unwrap();
    by("DELETE FROM zonda.zone WHERE name = 'b.test.'").unwrap();
    by("UPDATE zonda.zone SET enabled = false").unwrap();
    assert_eq!(bed.after("example.", 1), [(Kind::Change, 8), (Kind::Removed, 8)]);
    assert_eq!(bed.after("b.test.", 0), [(Kind::Whole, 3), (Kind::Removed, 3)]);
    assert_eq!(bed.versions("example.")[1].who.as_deref(), Some("keeper"));
    for sql in [
        "UPDATE zonda.zone SET serial = 99",
        "UPDATE zonda.version SET serial = 99",
        "DELETE FROM zonda.version",
        "INSERT INTO zonda.change (version, what, owner, type, ttl, rdata) VALUES (1, '+', 'a.', 'A', 5, '192.0.2.1')",
        "INSERT INTO zonda.version (zone, follows, kind) VALUES ('a.', 0, 'whole')",
        "UPDATE zonda.store SET identity = 'x'",
        "SELECT zonda.net(1, NULL)",
        "SELECT zonda.open(ARRAY[1])",
        "SELECT zonda.open_whole(ARRAY['example.'])",
        "SELECT zonda.finish(1, 'whole', 5)",
        "SELECT zonda.touch('example.')",
        "SELECT zonda.lock('example.')",
    ] {
        let said = by(sql).unwrap_err();
        assert!(said.contains("permission denied"), "{sql}: {said}");
    }
    bed.database.sql("GRANT EXECUTE ON FUNCTION zonda.lock(text), zonda.touch(text, bigint) TO keeper");
    by("SELECT zonda.lock('example.')").unwrap();
    // Functions of somebody who puts himself before ours find nothing of his.
    bed.database.sql("UPDATE zonda.zone SET enabled = true; CREATE SCHEMA evil AUTHORIZATION keeper; GRANT CREATE ON DATABASE postgres TO keeper");
    by("CREATE FUNCTION evil.count(text) RETURNS bigint LANGUAGE sql AS 'SELECT 1/0::bigint';
        CREATE FUNCTION evil.length(text) RETURNS integer LANGUAGE sql AS 'SELECT 1/0';
        CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE sql AS 'SELECT (1/0)::text';
        SET search_path = evil, pg_catalog; UPDATE zonda.record SET ttl = 6 WHERE type = 'A'")
    .unwrap();
    assert_eq!(bed.after("example.", 3), [(Kind::Whole, 9), (Kind::Change, 10)]);
}

/// What somebody calls himself, and why, is read with each version, by all who follow: it has a bound.
#[test]
fn words_without_end() {
    let bed = Bed::with_zone();
    bed.database.sql(
        "BEGIN; SELECT set_config('zonda.who', repeat('w', 100000), true), set_config('zonda.why', repeat('y', 100000), true);
         UPDATE zonda.record SET ttl = 5 WHERE type = 'A'; COMMIT",
    );
    let newest = bed.versions("example.").pop().unwrap();
    let who = newest.who.unwrap();
    assert!(who.starts_with("www") && who.ends_with("w as owner"), "the role is said, whatever else is");
    assert_eq!(who.len(), 1024 + " as owner".len());
    assert_eq!(newest.why.map(|why| why.len()), Some(1024));
}
