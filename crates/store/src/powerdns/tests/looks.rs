//! Which zones are others than at the look before.

use super::*;

/// All that a look finds, and whether it was all.
fn look(look: &mut Look, tables: &mut Tables<Sqlite>, pages: usize) -> (Vec<String>, bool) {
    let (mut found, mut left) = (Vec::new(), pages);
    let mut is_late = || {
        left -= 1;
        left == 0
    };
    let is_all = look
        .look(tables, &mut is_late, &mut |seen| {
            found.push(match seen {
                Seen::Other(listed) => format!("+{}", listed.name().unwrap()),
                Seen::Gone(name) => format!("-{name}"),
            });
        })
        .unwrap();
    found.sort();
    (found, is_all)
}

#[test]
fn zones_come_change_and_go() {
    let scratch = Scratch::with(&["a.org", "b.org", "c.org"]);
    let (mut tables, mut known) = (scratch.tables(), Look::new());
    let mut expect = |sql: &str, expected: &[&str]| {
        scratch.run(sql);
        let (found, is_all) = look(&mut known, &mut tables, usize::MAX);
        assert!(is_all);
        assert_eq!(found, expected, "{sql}");
    };
    expect("", &["+a.org.", "+b.org.", "+c.org."]);
    expect("", &[]);
    // What is not the SOA record is not seen.
    expect(
        "INSERT INTO records (domain_id, name, type, content) VALUES (1, 'x.a.org', 'A', '192.0.2.1')",
        &[],
    );
    expect(
        "UPDATE records SET content = 'ns1.x host.x 8 1 2 3 4' WHERE domain_id = 2 AND type = 'SOA'",
        &["+b.org."],
    );
    expect("UPDATE domains SET type = 'SLAVE' WHERE id = 1", &["+a.org."]);
    expect("INSERT INTO cryptokeys (domain_id, flags, active) VALUES (3, 257, 0)", &[]);
    expect("UPDATE cryptokeys SET active = 1", &["+c.org."]);
    expect("INSERT INTO domainmetadata (domain_id, kind, content) VALUES (2, 'PRESIGNED', '0')", &[]);
    expect("UPDATE domainmetadata SET content = '1'", &["+b.org."]);
    expect("INSERT INTO domainmetadata (domain_id, kind, content) VALUES (3, 'SOA-EDIT', 'NONE')", &[]);
    expect("UPDATE domainmetadata SET content = 'EPOCH' WHERE domain_id = 3", &["+c.org."]);
    expect("UPDATE records SET disabled = 1 WHERE domain_id = 1", &["+a.org."]);
    expect("DELETE FROM domains WHERE id = 1", &["-a.org."]);
    // The same name, another zone.
    expect("INSERT INTO domains VALUES (9, 'A.org', 'NATIVE')", &["+a.org."]);
    expect("UPDATE domains SET id = 10 WHERE id = 9", &["+a.org."]);
}

#[test]
fn a_look_that_has_to_end() {
    let scratch = Scratch::new();
    scratch.run("BEGIN");
    let zones = 2 * read::PAGE_MAX + 5;
    (1..=zones).for_each(|at| scratch.zone(at as i64, &format!("z{at}.org"), "NATIVE"));
    scratch.run("COMMIT");
    let (mut tables, mut known) = (scratch.tables(), Look::new());
    let (mut found, mut looks) = (0, 0);
    loop {
        let (some, is_all) = look(&mut known, &mut tables, 1);
        (found, looks) = (found + some.len(), looks + 1);
        if is_all {
            break;
        }
    }
    assert!(found == zones && looks >= 3, "{found} in {looks}");
    // A zone that goes while the list is looked at is there still, or gone.
    scratch.run("UPDATE records SET ttl = 1 WHERE id = 1");
    look(&mut known, &mut tables, 1);
    scratch.run("DELETE FROM domains WHERE id IN (1, 20004)");
    let mut rest = Vec::new();
    loop {
        let (some, is_all) = look(&mut known, &mut tables, 1);
        rest.extend(some);
        if is_all {
            break;
        }
    }
    assert_eq!(rest, ["-z20004.org."]);
    assert_eq!(look(&mut known, &mut tables, usize::MAX), (vec!["-z1.org.".to_owned()], true));
}

#[test]
fn a_zone_that_could_not_be_read() {
    let scratch = Scratch::with(&["a.org", "b.org"]);
    let (mut tables, mut known) = (scratch.tables(), Look::new());
    look(&mut known, &mut tables, usize::MAX);
    known.again(&"a.org".parse::<wire::NameBuf>().unwrap());
    assert_eq!(look(&mut known, &mut tables, usize::MAX).0, ["+a.org."]);
    assert!(look(&mut known, &mut tables, usize::MAX).0.is_empty());
}

/// Numbers of one connection say nothing about those of another.
#[test]
fn a_database_that_was_opened_anew() {
    let scratch = Scratch::with(&["a.org"]);
    let mut known = Look::new();
    assert_eq!(look(&mut known, &mut scratch.tables(), usize::MAX).0, ["+a.org."]);
    scratch.run("UPDATE records SET content = 'ns1.x host.x 8 1 2 3 4' WHERE type = 'SOA'");
    assert_eq!(look(&mut known, &mut scratch.tables(), usize::MAX).0, ["+a.org."]);
}

/// Two rows of one name would be others than before at each look.
#[test]
fn a_zone_that_is_there_twice() {
    let scratch = Scratch::with(&["a.org", "a.org."]);
    let (mut tables, mut known) = (scratch.tables(), Look::new());
    assert_eq!(look(&mut known, &mut tables, usize::MAX).0, ["+a.org."]);
    scratch.run("UPDATE records SET ttl = 1");
    assert!(look(&mut known, &mut tables, usize::MAX).0.is_empty());
}
