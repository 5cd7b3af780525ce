//! Zones that somebody holds while they are to be given other serials, and zones that nobody knows by their names.

use super::*;

/// Zones beside `example.`.
const ZONES: usize = 20;

/// A dump that is put back while somebody holds one of the zones: the others get their serials, and that one does as soon as it is free.
#[test]
fn a_zone_that_is_held() {
    let (bed, _home, server) = served("");
    bed.database.sql(&format!(
        "BEGIN; INSERT INTO zonda.zone (name) SELECT 'z' || n || '.test.' FROM generate_series(1, {ZONES}) n;
         INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 3 2 5 5' FROM zonda.zone WHERE name <> 'example.';
         INSERT INTO zonda.record SELECT id, name, 'NS', 60, 'ns.' FROM zonda.zone WHERE name <> 'example.'; COMMIT"
    ));
    let zones: Vec<String> = (1..=ZONES).map(|number| format!("z{number}.test.")).collect();
    zones.iter().for_each(|zone| await_serial(&server, zone, 1));
    let dump = bed.write(&bed.database.dumped());
    bed.database.sql("UPDATE zonda.record SET ttl = 61 WHERE type = 'NS' AND owner <> 'example.'");
    zones.iter().for_each(|zone| await_serial(&server, zone, 2));
    let mut session = bed.database.session();
    session.sql(&format!("BEGIN; DROP SCHEMA zonda CASCADE;\n\\i {dump}\nSET search_path = public;\nCOMMIT"));
    session.sql("BEGIN; DO $$ BEGIN PERFORM zonda.lock('z7.test.'); END $$");
    await_told(&server, &["store"], "20 went back");
    assert!(told(&server, &["store", "confirm", "own"]).0);
    for zone in &zones {
        await_serial(&server, zone, if zone == "z7.test." { 2 } else { 3 });
    }
    let said = await_told(&server, &["store", "show", "own"], "somebody holds it");
    assert!(said.contains("z7.test.: it is to have a serial above 2"), "{said}");
    // Tried again and again, and said once.
    std::thread::sleep(std::time::Duration::from_secs(5));
    stays(&server, "z7.test.", 2);
    session.sql("ROLLBACK");
    await_serial(&server, "z7.test.", 3);
    await_that("all is well", || told(&server, &["store"]).0);
    assert_eq!(server.log().matches("somebody holds it").count(), 1, "{}", server.log());
    assert_eq!(server.log().matches("zone z7.test.: store own went back: it has").count(), 1);
}

/// Zones of names that are not in their one form are not served, and that is said until it is mended.
#[test]
fn names_in_other_forms() {
    let (bed, _home, server) = served("");
    // As a dump has them that was made by something else.
    let insert = |zone: &str| {
        format!(
            "BEGIN; INSERT INTO zonda.zone (name) VALUES ('{zone}'); INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 3 2 5 5' FROM zonda.zone WHERE name = '{zone}';
             INSERT INTO zonda.record SELECT id, name, 'NS', 60, 'ns.' FROM zonda.zone WHERE name = '{zone}'; COMMIT"
        )
    };
    bed.database.sql(&insert("\\097.test."));
    let said = await_told(&server, &["store", "show", "own"], "\\097.test. (expected a.test.)");
    assert!(said.contains("1 zone with names that are not in their one form"), "{said}");
    bed.database.sql(&insert("a..test."));
    await_told(&server, &["store", "show", "own"], "\\097.test. (expected a.test.), a..test. (no name)");
    let said = told(&server, &["status"]);
    assert!(!said.0 && said.1.contains("2 zones not served as it has them"), "{said:?}");
    assert!(server.log().contains("2 zones not served, as their names are not in their one form"));
    // Seen by a list as well, and not said again.
    bed.database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'zonda' AND datname = current_database()");
    await_told(&server, &["store"], "away for");
    await_told(&server, &["store"], "2 not served as it has them");
    assert_eq!(server.log().matches("2 zones not served").count(), 1, "{}", server.log());
    bed.database.sql("DELETE FROM zonda.zone WHERE name = '\\097.test.'");
    await_told(
        &server,
        &["store", "show", "own"],
        "1 zone with names that are not in their one form: a..test. (no name)",
    );
    bed.database.sql("DELETE FROM zonda.zone WHERE name = 'a..test.'");
    await_that("all is well", || told(&server, &["store"]).0);
}
