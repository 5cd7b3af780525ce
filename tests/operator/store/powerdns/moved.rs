//! An installation of PowerDNS that is moved into a store of ours.

use super::*;

#[test]
fn zones_are_moved_into_a_store() {
    let bed = Bed::with(&["a.test", "b.test", "keys.test", "alias.test", "bare.test", "slave.test"]);
    bed.tool(&["secure-zone", "keys.test"]);
    bed.tool(&["set-kind", "slave.test", "slave"]);
    bed.sql(
        "INSERT INTO records (domain_id, name, type, content, ttl, disabled) SELECT id, 'off.a.test', 'A', '192.0.2.7', 60, true FROM domains WHERE name = 'a.test';
         INSERT INTO records (domain_id, name, type, content, ttl) SELECT id, 'www.alias.test', 'ALIAS', 'a.example', 60 FROM domains WHERE name = 'alias.test';
         DELETE FROM records WHERE name = 'bare.test' AND type = 'NS'",
    );
    let store = text(&bed.home.path().join("zones.db")).to_owned();
    zonda(&["store", "init", &store]).assert_fine();
    let file = text(&bed.path()).to_owned();
    let import =
        |more: &[&str]| zonda(&[&["store", "import", &store, "--from-powerdns", &file], more].concat());
    let said = import(&["--why", "moved"]);
    said.assert_fails(1, &["2 zones put in, 0 as before; 3 refused, 1 left out"]);
    said.assert_fails(1, &["zone a.test.: serial 1, all of it"]);
    said.assert_fails(1, &["zone a.test.: 1 row disabled: left out"]);
    said.assert_fails(1, &["zone keys.test.: refused: PowerDNS signs it with 1 active key"]);
    said.assert_fails(1, &["zone alias.test.: refused: www.alias.test ALIAS"]);
    said.assert_fails(1, &["zone bare.test.:", "NS"]);
    said.assert_fails(1, &["zone slave.test.: left out: a zone of another server"]);
    let exported = zonda(&["store", "export", &store, "a.test"]).assert_fine().output.clone();
    assert!(exported.contains("ns1.a.test.") && !exported.contains("off.a.test."), "{exported}");
    let history = zonda(&["store", "history", &store, "a.test", "--json"]).assert_fine().output.clone();
    assert!(history.contains("\"why\":\"moved\""), "{history}");
    zonda(&["store", "export", &store, "keys.test"]).assert_fails(1, &["no such zone"]);
    // Once more, with what was mended, and without what nobody needs.
    bed.tool(&["disable-dnssec", "keys.test"]);
    bed.sql("INSERT INTO records (domain_id, name, type, content, ttl) SELECT id, name, 'NS', 'ns1.bare.test', 60 FROM domains WHERE name = 'bare.test'");
    bed.add("b.test", "new");
    let said = import(&["--unknown-types", "skip"]);
    assert_eq!(said.status, 0, "{said:#?}");
    assert!(said.output.contains("zone b.test.: serial 2, 3 rows\n"), "{said:#?}");
    assert!(said.output.contains("zone alias.test.: 1 row of type ALIAS: left out\n"), "{said:#?}");
    assert!(
        said.output
            .ends_with("4 zones put in, 1 as before; 0 refused, 1 left out as they are of other servers\n"),
        "{said:#?}"
    );
    let objects = import(&["--json"]);
    let objects: Vec<serde_json::Value> =
        objects.output.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let of = |zone: &str| objects.iter().find(|object| object["zone"] == zone).expect("a zone");
    assert_eq!((objects.len(), &of("a.test.")["version"]), (6, &serde_json::Value::Null));
    assert_eq!(of("a.test.")["left_out"][0], "1 row disabled: left out");
    assert!(of("alias.test.")["refused"].as_str().is_some_and(|why| why.contains("ALIAS")), "{objects:?}");
    assert_eq!(of("slave.test.")["of_others"], true);
}

#[test]
fn what_is_no_database_of_powerdns_changes_nothing() {
    let scratch = Scratch::with_zone();
    let absent = text(&scratch.path("absent")).to_owned();
    let store = scratch.store();
    let import = |file: &str| zonda(&["store", "import", &store, "--from-powerdns", file]);
    import(&absent).assert_fails(1, &["absent: cannot open: no such file"]);
    import(&absent).assert_fails(1, &["zones.db: nothing was changed"]);
    import(&store).assert_fails(1, &["a database, but none of PowerDNS"]);
    assert_eq!(scratch.history(&[]).len(), 1);
    zonda(&["store", "import", &store, "example.=x", "--from-powerdns", &absent])
        .assert_fails(2, &["cannot be used with"]);
    zonda(&["store", "import", &store, "example.=x", "--direct-dnskey"])
        .assert_fails(2, &["cannot be used with"]);
}
