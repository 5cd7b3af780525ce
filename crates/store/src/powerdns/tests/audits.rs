//! Which zones have other rows than when they were read.

use super::*;

/// What a turn finds, of so many zones at most.
fn go_on(audit: &mut Audit, tables: &mut Tables<Sqlite>, look: &Look, zones: usize) -> Vec<String> {
    let (mut found, mut left) = (Vec::new(), zones);
    let mut is_late = || {
        left -= 1;
        left == 0
    };
    audit.go_on(tables, look, &mut is_late, &mut |zone| found.push(zone.to_string())).unwrap();
    found.sort();
    found
}

/// Reads all zones.
fn read(tables: &mut Tables<Sqlite>, look: &mut Look) {
    assert!(look.look(tables, &mut || false, &mut |_| {}).unwrap());
    let zones: Vec<(wire::NameBuf, i64)> =
        look.zones().map(|(zone, known)| (zone.clone(), known.id)).collect();
    for (zone, id) in zones {
        let read = tables.zone(id, Rules::default(), &mut || ()).unwrap().unwrap();
        assert_eq!((read.mark, read.serial()), (tables.mark(id).unwrap(), Some(7)));
        look.note_rows(&zone, Some(read.mark));
    }
}

#[test]
fn rows_that_change_under_a_serial() {
    let scratch = Scratch::with(&["a.org", "b.org", "c.org", "d.org"]);
    let (mut tables, mut look, mut audit) = (scratch.tables(), Look::new(), Audit::new());
    read(&mut tables, &mut look);
    assert!(go_on(&mut audit, &mut tables, &look, usize::MAX).is_empty());
    scratch.run("UPDATE records SET ttl = 5 WHERE domain_id IN (2, 3) AND type = 'NS'; DELETE FROM domains WHERE id = 3");
    // A zone a turn; one that is gone is the look's to find.
    let found: Vec<String> = (0..4).flat_map(|_| go_on(&mut audit, &mut tables, &look, 1)).collect();
    assert_eq!(found, ["b.org."]);
    // What is known to be another one is not read again, and neither is anything while nothing changes.
    look.note_rows(&"b.org.".parse::<wire::NameBuf>().unwrap(), None);
    assert!(go_on(&mut audit, &mut tables, &look, usize::MAX).is_empty());
    scratch.run("UPDATE records SET content = 'ns2' WHERE domain_id = 4 AND type = 'NS'");
    assert_eq!(go_on(&mut audit, &mut tables, &look, usize::MAX), ["d.org."]);
    assert!(go_on(&mut audit, &mut tables, &look, usize::MAX).is_empty(), "said once");
}
