//! Records that go and come over a version.

use super::*;
use crate::alter::{Once, Write, Wrote};
use zone::change::Records;

pub(crate) fn records(text: &str) -> Records {
    let mut records = Records::default();
    // A text without any is refused.
    if text.is_empty() {
        return records;
    }
    for record in zonefile::records(text, &name("example.")).unwrap() {
        records.push(&record.owner, record.rtype, record.ttl, &record.rdata);
    }
    records
}

/// One over a version of `example.`, without SOA records: the next serial is the database's.
pub(crate) fn write(over: &Version, removed: &str, added: &str) -> Write {
    Write {
        zone: name("Example."),
        over: (over.serial, over.mark.clone()),
        removed: records(removed),
        added: records(added),
        who: "api:me".into(),
        once: None,
    }
}

fn newest(scratch: &Scratch) -> Version {
    scratch.versions("example.").pop().unwrap()
}

#[track_caller]
fn alter(scratch: &mut Scratch, write: Write) -> Wrote {
    scratch.store.write(&[write], AT).unwrap().pop().unwrap()
}

#[track_caller]
fn refused(scratch: &mut Scratch, write: Write) -> String {
    scratch.store.write(&[write], AT).unwrap_err().fault().to_string()
}

const WWW: &str = "WWW 60 MX 10 Mail.Example.\n";

#[test]
fn records_go_and_come() {
    let mut scratch = Scratch::with_zone();
    let first = newest(&scratch);
    let Wrote::Made(made) =
        alter(&mut scratch, write(&first, "ns 60 A 192.0.2.1\n", &format!("ns 90 A 192.0.2.1\n{WWW}")))
    else {
        panic!("nothing");
    };
    assert_eq!(
        (made.serial, made.kind, made.who.as_deref(), made.why.as_deref()),
        (8, Kind::Change, Some("api:me"), None)
    );
    assert_eq!(
        scratch.changes(made.id),
        [
            "-example. 60 IN SOA ns.example. host.example. 7 3600 600 86400 60",
            "-ns.example. 60 IN A 192.0.2.1",
            "+example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "+ns.example. 90 IN A 192.0.2.1",
            "+www.example. 60 IN MX 10 mail.example.",
        ]
    );
    // What goes and comes again is no change; and what goes is found by its record, whatever its letters and TTL.
    let same = alter(&mut scratch, write(&made, "www 7 MX 10 MAIL.example.\n", WWW));
    assert_eq!((same, newest(&scratch).serial), (Wrote::Same, 8));
    // A serial that is brought.
    let soa = |serial: u32| format!("@ 60 SOA ns host {serial} 3600 600 86400 60\n");
    let Wrote::Made(brought) = alter(&mut scratch, write(&made, &soa(8), &soa(20))) else {
        panic!("nothing")
    };
    assert_eq!((brought.serial, brought.rows), (20, 2));
}

#[test]
fn over_another_version_nothing_is_changed() {
    let mut scratch = Scratch::with_zone();
    let first = newest(&scratch);
    assert!(matches!(alter(&mut scratch, write(&first, "", WWW)), Wrote::Made(_)));
    assert_eq!(alter(&mut scratch, write(&first, "", "x 60 A 192.0.2.9\n")), Wrote::Moved);
    // What somebody has written by plain SQL is a version of his own first.
    let now = newest(&scratch);
    scratch.sql().execute_batch("INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'sql.example.', 'A', 60, '192.0.2.7' FROM zone").unwrap();
    assert_eq!(alter(&mut scratch, write(&now, "", "x 60 A 192.0.2.9\n")), Wrote::Moved);
    let theirs = newest(&scratch);
    assert_eq!((theirs.serial, &theirs.who), (9, &None));
    scratch.sql().execute_batch("UPDATE zone SET enabled = 0").unwrap();
    assert_eq!(alter(&mut scratch, write(&theirs, "", WWW)), Wrote::Moved);
    assert_eq!(alter(&mut scratch, Write { zone: name("other."), ..write(&theirs, "", WWW) }), Wrote::Moved);
    assert!(!scratch.lines("example.").iter().any(|line| line.starts_with("x.")));
}

/// Of several one that cannot be keeps all from being done, so that each may be tried by itself.
#[test]
fn all_or_none() {
    let mut scratch = Scratch::with_zone();
    scratch.put("other.", SOA).unwrap();
    let (first, other) = (newest(&scratch), scratch.versions("other.").pop().unwrap());
    let fine = write(&first, "", WWW);
    let unfit = Write { zone: name("other."), ..write(&other, "gone 60 A 192.0.2.9\n", "") };
    let why = scratch.store.write(&[fine.clone(), unfit.clone()], AT).unwrap_err();
    assert!(
        why.fault().zone() == Some("other.") && why.fault().to_string().contains("zonda store touch"),
        "{why:?}"
    );
    assert_eq!(newest(&scratch), first);
    assert!(matches!(alter(&mut scratch, fine), Wrote::Made(_)));
    // Somebody's own rule is about the zone, in its words.
    scratch
        .sql()
        .execute_batch("CREATE TRIGGER own BEFORE INSERT ON record BEGIN SELECT RAISE(ABORT, 'a rule'); END")
        .unwrap();
    let now = newest(&scratch);
    assert!(refused(&mut scratch, write(&now, "", "x 60 A 192.0.2.9\n")).contains("a rule"));
    assert_eq!(newest(&scratch), now);
}

#[test]
fn a_request_is_done_once() {
    let mut scratch = Scratch::with_zone();
    let first = newest(&scratch);
    let of = |over: &Version, request: u8| Write {
        once: Some(Once { name: [1; 16], request: [request; 16] }),
        ..write(over, "", WWW)
    };
    let Wrote::Made(made) = alter(&mut scratch, of(&first, 1)) else { panic!("nothing") };
    assert!(made.why.is_some_and(|why| why.starts_with("once ")));
    for over in [first.clone(), newest(&scratch)] {
        assert_eq!(alter(&mut scratch, of(&over, 1)), Wrote::Before(7, 8));
        assert_eq!(alter(&mut scratch, of(&over, 2)), Wrote::OtherRequest);
    }
    // A day later it is nobody's.
    let late = scratch.store.write(&[of(&first, 1)], AT + crate::alter::AGE_MAX).unwrap();
    assert_eq!(late, [Wrote::Moved]);
    assert_eq!(newest(&scratch).serial, 8);
}
