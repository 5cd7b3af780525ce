//! Zones that are read by parts, and twice.

use std::time::{Duration, Instant};

use super::*;

/// More rows than two parts have.
const ROWS_OF_PARTS: usize = 2 * read::PAGE_MAX + 5;

#[test]
fn a_zone_of_several_parts() {
    let scratch = Scratch::with(&["other.org", "example.org"]);
    scratch.run("BEGIN");
    for at in 0..ROWS_OF_PARTS {
        // In another order than that of the index, and many of one name.
        let at = at * 7919 % ROWS_OF_PARTS;
        scratch.record(
            2,
            &format!("a{}.example.org", at % 100),
            "A",
            &format!("10.0.{}.{}", at / 250, at % 250),
        );
    }
    scratch.run("UPDATE records SET type = NULL WHERE name = 'a5.example.org'; COMMIT");
    let of_none = ROWS_OF_PARTS / 100;
    let mut tables = scratch.tables();
    let zone = tables.zone(2, Rules::default(), &mut || ()).unwrap().unwrap();
    assert_eq!(zone.contents.record_count(), ROWS_OF_PARTS - of_none + 2);
    assert_eq!(zone.left_out, LeftOut::default());
    let again = tables.zone(2, Rules::default(), &mut || ()).unwrap().unwrap();
    assert_eq!(again.mark, zone.mark);
    scratch.run("UPDATE records SET ttl = 301 WHERE id = 1000");
    let other = tables.zone(2, Rules::default(), &mut || ()).unwrap().unwrap();
    assert_ne!(other.mark, zone.mark);
}

/// How SQLite is going to run a statement, in its words.
fn plan(scratch: &Scratch, statement: &str) -> Vec<String> {
    let mut plan = scratch.sql.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    for at in 1..=plan.parameter_count() {
        plan.raw_bind_parameter(at, 1).unwrap();
    }
    let mut rows = plan.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    steps
}

/// Parts are read in the order of an index: else each would sort all rows of the zone, for longer than writers may be held up. Also where SQLite knows
/// (`ANALYZE`) that there are many zones, or that one has nearly all rows.
#[test]
fn no_statement_sorts() {
    let scratch = Scratch::new();
    for zones in [0, 1, 500] {
        scratch.run("BEGIN");
        (1..=zones).for_each(|at| scratch.zone(at + zones, &format!("z{at}.x{zones}"), "NATIVE"));
        (0..zones * 10).for_each(|at| scratch.record(zones, &format!("a{at}.z.x"), "A", "192.0.2.1"));
        scratch.run("COMMIT; ANALYZE");
        for statement in [Sqlite::LIST, Sqlite::ROWS] {
            let steps = plan(&scratch, statement);
            // A list of one zone is read from its begin.
            let is_scan = |step: &String| step.starts_with("SCAN") && zones != 1;
            let is_fine = |step: &String| !step.contains("TEMP B-TREE") && !is_scan(step);
            assert!(!steps.is_empty() && steps.iter().all(is_fine), "{steps:?}");
        }
        let steps = plan(&scratch, Sqlite::ROWS);
        assert!(
            steps[0].contains("INDEX records_lookup_id_idx (domain_id=? AND (name,type)>(?,?)"),
            "{steps:?}"
        );
    }
}

/// In rollback mode a commit waits for readers: for a part of the zone, not for all of it.
#[test]
fn a_writer_beside_a_zone_of_many_rows() {
    const ROWS: usize = 50_000;
    let scratch = Scratch::with(&["example.org", "other.org"]);
    scratch.run("PRAGMA synchronous = OFF; BEGIN");
    (0..ROWS).for_each(|at| scratch.record(1, &format!("a{at}.example.org"), "A", "192.0.2.1"));
    scratch.run("COMMIT");
    scratch.sql.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    let mut tables = scratch.tables();
    std::thread::scope(|scope| {
        let begun = Instant::now();
        let reader = scope.spawn(move || tables.zone(1, Rules::default(), &mut || ()).unwrap().is_ok());
        let (mut longest, mut commits) = (Duration::ZERO, 0);
        while !reader.is_finished() {
            let before = Instant::now();
            scratch.run("UPDATE records SET ttl = ttl + 1 WHERE domain_id = 2");
            longest = longest.max(before.elapsed());
            commits += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(reader.join().unwrap());
        let whole = begun.elapsed();
        assert!(longest < whole / 4 && commits > 4, "{longest:?} of {whole:?}, {commits} commits");
    });
}

#[test]
fn a_zone_that_changes_while_it_is_read() {
    let scratch = Scratch::with(&["example.org"]);
    let mut tables = scratch.tables();
    let mut changes = 0;
    let mut change = |most: usize| {
        if changes < most {
            changes += 1;
            scratch.record(1, "a.example.org", "A", &format!("192.0.2.{changes}"));
        }
    };
    let zone = tables.zone(1, Rules::default(), &mut || change(1)).unwrap().unwrap();
    assert_eq!(zone.contents.record_count(), 3);
    assert!(matches!(tables.zone(1, Rules::default(), &mut || change(100)), Err(Fault::Moving)));
    // Keys are no rows of `records`, and another zone all the same.
    let mut sign = || scratch.run("INSERT INTO cryptokeys (domain_id, flags, active) VALUES (1, 257, 1)");
    assert!(matches!(tables.zone(1, Rules::default(), &mut sign), Ok(Err(Refusal::Keys(1)))));
    // One that goes is one that is not there.
    scratch.run("DELETE FROM cryptokeys");
    let mut delete = || scratch.run("DELETE FROM domains");
    assert!(matches!(tables.zone(1, Rules::default(), &mut delete), Err(Fault::NoZone)));
}

/// Octets that are no text are beyond all text, and would come without end where parts are asked for.
#[test]
fn names_that_are_no_text() {
    let scratch = Scratch::with(&["example.org"]);
    let statement = "INSERT INTO records (domain_id, name, type, content, ttl) SELECT 1, x'61', 'A', '192.0.2.1', 60 FROM records";
    (0..14).for_each(|_| scratch.run(statement));
    let fault = scratch.tables().zone(1, Rules::default(), &mut || ()).map(drop).unwrap_err();
    assert_eq!(fault.to_string(), "rows of `records` whose `name` or `type` is no text");
}

/// PowerDNS asks for 0, which no text is: scripts write these words too.
#[test]
fn rows_that_are_disabled_by_a_word() {
    let scratch = Scratch::with(&["example.org"]);
    scratch.record(1, "a.example.org", "A", "192.0.2.1");
    for word in ["'f'", "'false'", "''", "NULL", "2"] {
        scratch.run(&format!("UPDATE records SET disabled = {word} WHERE type = 'A'"));
        let zone = scratch.tables().zone(1, Rules::default(), &mut || ()).unwrap().unwrap();
        assert_eq!((zone.contents.record_count(), zone.left_out.disabled), (2, 1), "{word}");
    }
    scratch.run("UPDATE records SET disabled = 'f' WHERE type = 'SOA'");
    assert!(matches!(scratch.tables().zone(1, Rules::default(), &mut || ()), Ok(Err(Refusal::NoSoa))));
}

/// A database that sorts before the first row.
struct Sorting {
    database: Sqlite,
    parts: usize,
}

impl Client for Sorting {
    const COLUMNS: &'static str = Sqlite::COLUMNS;

    fn rows(
        &mut self,
        statement: &'static str,
        values: &[client::Value<'_>],
        each: client::Each<'_>,
    ) -> Result<(), Fault> {
        if statement == Sorting::ROWS {
            self.parts += 1;
            std::thread::sleep(sqlite::HELD_MAX);
        }
        self.database.rows(statement, values, each)
    }

    fn stamp(&mut self) -> Result<Option<i64>, Fault> {
        self.database.stamp()
    }

    fn held_max(&self) -> Option<Duration> {
        self.database.held_max()
    }
}

/// Without the index each part costs a sort of the zone: it has to be worth it.
#[test]
fn a_part_has_rows_though_its_first_one_is_late() {
    let scratch = Scratch::with(&["example.org"]);
    scratch.run("BEGIN");
    (0..100).for_each(|at| scratch.record(1, &format!("a{at}.example.org"), "A", "192.0.2.1"));
    scratch.run("COMMIT");
    let database = Sqlite::open(&scratch.path()).unwrap();
    let mut tables = Tables::of(Sorting { database, parts: 0 }).unwrap();
    assert!(tables.zone(1, Rules::default(), &mut || ()).unwrap().is_ok());
    let parts = tables.client().parts;
    assert!(parts <= 4, "{parts}");
}

/// PowerDNS finds a zone by its name as it writes it, and no other text of it.
#[test]
fn names_of_zones_that_powerdns_does_not_look_for() {
    let scratch = Scratch::with(&["a.org", "a.org.", "\\097.org", "a b.org", "c\\032d.org", "e;f.org"]);
    // A name in a content has no semicolon.
    scratch.run("UPDATE records SET content = 'ns1.x host.x 7 1 2 3 4' WHERE type = 'SOA'; DELETE FROM records WHERE type = 'NS'");
    let mut found = Vec::new();
    zones(&scratch.path(), Rules::default(), &mut |listed, zone| match zone {
        Ok(_) => found.push(listed.id),
        Err(refusal) => assert_eq!(refusal, Refusal::Name),
    })
    .unwrap();
    assert_eq!(found, [1, 5, 6]);
    let mut tables = scratch.tables();
    for (name, id) in [("a.org", 1), ("c\\032d.org", 5), ("E\\;f.org", 6)] {
        assert_eq!(tables.find(&name.parse::<wire::NameBuf>().unwrap()).unwrap().id, id, "{name}");
    }
}

#[test]
fn all_zones_and_one_by_its_name() {
    let scratch = Scratch::with(&["a.org", "B.org", "."]);
    scratch.run(
        "UPDATE domains SET type = 'SLAVE' WHERE id = 1; UPDATE records SET name = lower(name);
         UPDATE records SET content = 'ns1.x host.x 0 1 2 3 4' WHERE domain_id = 2 AND type = 'SOA';
         UPDATE records SET content = 'ns1.x host.x 7 1 2 3 4' WHERE domain_id = 3 AND type = 'SOA';
         UPDATE records SET content = 'ns1.x' WHERE domain_id = 3 AND type = 'NS'",
    );
    let mut found = Vec::new();
    zones(&scratch.path(), Rules::default(), &mut |listed, zone| {
        let what = match zone {
            Ok(zone) => format!("{} records", zone.contents.record_count()),
            Err(refusal) => refusal.to_string().split(':').next().unwrap().to_owned(),
        };
        found.push(format!("{}: {what}", listed.name().unwrap()));
    })
    .unwrap();
    assert_eq!(found, ["a.org.: left out", "b.org.: refused", ".: 2 records"]);
    let mut tables = scratch.tables();
    for (name, id) in [("A.org.", 1), ("b.ORG", 2), (".", 3)] {
        assert_eq!(tables.find(&name.parse::<wire::NameBuf>().unwrap()).unwrap().id, id);
    }
    assert!(matches!(tables.find(&"org".parse::<wire::NameBuf>().unwrap()), Err(Fault::NoZone)));
}
