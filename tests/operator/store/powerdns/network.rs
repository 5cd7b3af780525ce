//! The same tables in PostgreSQL, which a role that may read reads.

use super::*;

/// The role.
pub(super) const READER: &str = "reader";

/// What somebody does once who has PowerDNS in PostgreSQL.
const GRANTS: &str = "DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
    GRANT SELECT ON domains, records, domainmetadata, cryptokeys TO reader";

fn bed(database: postgres::Scratch, zones: &[&str]) -> Bed {
    let bed = Bed::of(Some(database));
    bed.sql(GRANTS);
    bed.and(zones)
}

#[test]
fn what_powerdns_has_is_served_and_what_changes_there_follows() {
    follows(&bed(postgres::Scratch::new(), &["a.test", "b.test"]));
}

#[test]
fn zones_that_cannot_be_served_are_said_and_others_go_on() {
    refuses(&bed(postgres::Scratch::new(), &SOME));
}

/// What is served stays while the database is away, or gives nothing.
#[test]
fn a_database_that_goes_away_and_comes_back() {
    let bed = bed(postgres::Scratch::alone(), &["a.test"]);
    let server = bed.start("statement-timeout-seconds = 2");
    await_serial(&server, "a.test.", 1);
    await_told(&server, &["store"], "followed");
    let database = bed.database.as_ref().expect("one of PostgreSQL");
    // Somebody holds a table for long, and somebody else commits, so that there is something to look at.
    let mut holder = database.session();
    holder.sql("BEGIN; LOCK TABLE records; UPDATE records SET content = replace(content, ' 1 ', ' 2 ') WHERE type = 'SOA'");
    bed.sql("UPDATE domains SET account = 'x'");
    await_told(&server, &["store"], "away for");
    stays(&server, "a.test.", 1);
    holder.sql("COMMIT");
    await_serial(&server, "a.test.", 2);
    database.stop();
    await_told(&server, &["store"], "away for");
    stays(&server, "a.test.", 2);
    kill(server);
    let server = bed.start("");
    await_serial(&server, "a.test.", 2);
    database.start();
    await_told(&server, &["store"], "followed");
    bed.add("a.test", "new");
    await_serial(&server, "a.test.", 3);
    // A role that may not read, and tables that are none of PowerDNS.
    bed.sql("REVOKE SELECT ON records FROM reader");
    bed.sql("UPDATE domains SET account = 'y'");
    await_told(&server, &["store"], "permission denied");
    bed.sql(GRANTS);
    bed.sql("ALTER TABLE cryptokeys RENAME TO others");
    await_told(&server, &["store"], "away for");
    stays(&server, "a.test.", 3);
    bed.sql("ALTER TABLE others RENAME TO cryptokeys");
    await_told(&server, &["store"], "followed");
}

/// A zone of more rows than are fetched at a time, with names that other languages put in another order than octets have.
#[test]
fn a_large_zone() {
    let bed = bed(postgres::Scratch::new(), &["large.test"]);
    bed.sql(
        "INSERT INTO records (domain_id, name, type, content, ttl) SELECT d.id, CASE n % 3 WHEN 0 THEN 'a-' WHEN 1 THEN 'b_' ELSE 'c' END || n || '.large.test', 'A', '192.0.2.1', 60
         FROM domains d, generate_series(1, 25000) n",
    );
    let server = bed.start("");
    await_serial(&server, "large.test.", 1);
    assert_eq!(transfer(server.address, "large.test.").len(), 25_003);
    bed.add("large.test", "new");
    await_serial(&server, "large.test.", 2);
    await_that("a difference", || {
        ixfr(&server, "large.test.", 1) == [rtype::SOA, rtype::SOA, rtype::SOA, rtype::A, rtype::SOA]
    });
}

#[test]
fn zones_are_moved_into_a_store() {
    let bed = bed(postgres::Scratch::new(), &["a.test", "keys.test"]);
    bed.tool(&["secure-zone", "keys.test"]);
    let store = text(&bed.home.path().join("zones.db")).to_owned();
    zonda(&["store", "init", &store]).assert_fine();
    let tables = bed.database.as_ref().expect("one of PostgreSQL").address_of(READER);
    let said = zonda(&["store", "import", &store, "--from-powerdns", &tables]);
    said.assert_fails(1, &["1 zone put in, 0 as before; 1 refused, 0 left out"]);
    said.assert_fails(1, &["zone keys.test.: refused: PowerDNS signs it"]);
    assert!(zonda(&["store", "export", &store, "a.test"]).assert_fine().output.contains("ns1.a.test."));
    let absent = tables.replace("postgres://reader", "postgres://nobody");
    zonda(&["store", "import", &store, "--from-powerdns", &absent])
        .assert_fails(1, &["nobody", "does not exist"]);
}
