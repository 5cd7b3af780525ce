//! Zones put in as a whole, by this crate.

use super::*;
use crate::{Bounds, Trimmed};

fn made(put: Result<Put, Fault>) -> Version {
    match put.unwrap() {
        Put::Made(version) => version,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_zone_that_is_new_comes_out_as_it_went_in() {
    let mut bed = Bed::new();
    let text = format!(
        "{SOA}WWW 300 A 192.0.2.7\nwww 300 A 192.0.2.8\nm 60 MX 10 Mail.Example.\nt 60 TXT \"a \\\"b\\\" \\200 \\\\ c\" \"\"\n\
         * 60 TYPE65280 \\# 2 ab12\nh 60 HTTPS 1 . alpn=h2\ne 60 APL\nz\\.z 60 A 192.0.2.9\n\
         c 60 TYPE65281 \\# 0\n@ 60 CAA 0 issue \"ca.example\"\n"
    );
    let version = made(bed.put("Example.", &text));
    assert_eq!((version.serial, version.kind, version.rows), (7, Kind::Whole, 0));
    assert_eq!((version.who.as_deref(), version.why.as_deref()), (Some("me as owner"), Some("test")));
    assert_eq!(version.mark.len(), 32);
    assert_eq!(
        bed.lines("example."),
        lines(&contents_of("example.", &text.replace("Mail.Example.", "mail.example.")))
    );
    assert_eq!(bed.put("example.", &text).unwrap(), Put::Same);
    assert_eq!(bed.versions("example.").len(), 1);
    assert!(matches!(bed.store.contents(&name("other.")), Err(Fault::NoZone(_))));
}

#[test]
fn what_differs_is_a_version() {
    let mut bed = Bed::with_zone();
    let first = bed.versions("example.").pop().unwrap();
    let next = format!("{}www 60 A 192.0.2.2\n", SOA.replace("ns 60 A 192.0.2.1", "ns 90 A 192.0.2.1"));
    let version = made(bed.put_at("example.", &next, Some(&first.mark)));
    assert_eq!((version.serial, version.kind, version.rows), (8, Kind::Change, 5));
    assert_eq!(
        bed.changes(version.id),
        [
            "-example. 60 IN SOA ns.example. host.example. 7 3600 600 86400 60",
            "-ns.example. 60 IN A 192.0.2.1",
            "+example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "+ns.example. 90 IN A 192.0.2.1",
            "+www.example. 60 IN A 192.0.2.2",
        ]
    );
    // A serial that is not greater and nothing else: as it was. A greater one alone is a version.
    assert_eq!(bed.put("example.", &next.replace("host 7", "host 3")).unwrap(), Put::Same);
    assert_eq!(made(bed.put("example.", &next.replace("host 7", "host 20"))).serial, 20);
    assert_eq!(made(bed.put("example.", &next.replace("3600", "3601"))).serial, 21);
    // Somebody was first.
    match bed.put_at("example.", SOA, Some(&first.mark)) {
        Err(Fault::Moved { serial: Some(21), who: Some(who), .. }) => assert_eq!(who, "me as owner"),
        other => panic!("{other:?}"),
    }
    bed.database.sql("UPDATE zonda.zone SET enabled = false");
    assert_eq!(bed.put("example.", SOA).unwrap(), Put::Disabled);
    let mut writer = bed.store.writer().unwrap();
    assert!(matches!(writer.touch(&name("example."), &Meta::default()), Err(Fault::NotEnabled(_))));
    drop(writer);
    assert!(matches!(
        bed.store.writer().unwrap().touch(&name("no."), &Meta::default()),
        Err(Fault::NoZone(_))
    ));
}

/// What is not committed is nothing, and what can be no version is said with the zone.
#[test]
fn all_or_nothing() {
    let mut bed = Bed::with_zone();
    let mut writer = bed.store.writer().unwrap();
    let next = contents_of("example.", &format!("{SOA}www 60 A 192.0.2.2\n"));
    let Put::Made(version) = writer.put(&next, None, &Meta::default()).unwrap() else { panic!("not made") };
    let mut rows = 0;
    writer.changes(version.id, &mut |_, _| rows += 1).unwrap();
    assert_eq!(rows, 3);
    drop(writer);
    assert_eq!(bed.versions("example.").len(), 1);
    let mut writer = bed.store.writer().unwrap();
    let without = contents_of("example.", "@ 60 NS ns\n");
    match writer.put(&without, None, &Meta::default()) {
        Err(fault @ Fault::Refused { .. }) => {
            assert_eq!(fault.zone(), Some("example."));
            assert!(fault.to_string().contains("no SOA record"), "{fault}");
        }
        other => panic!("{other:?}"),
    }
    drop(writer);
    assert_eq!(bed.lines("example.").len(), 3);
}

#[test]
fn serials_above_what_was_served() {
    let mut bed = Bed::with_zone();
    let mut writer = bed.store.writer().unwrap();
    let raised = writer.raise(&name("example."), 100, &Meta::default()).unwrap();
    assert_eq!((raised.serial, raised.kind), (101, Kind::Whole));
    writer.commit().unwrap();
    let mut writer = bed.store.writer().unwrap();
    assert_eq!(writer.raise(&name("example."), 50, &Meta::default()).unwrap().serial, 102);
    assert_eq!(writer.touch(&name("example."), &Meta::default()).unwrap().serial, 103);
    writer.commit().unwrap();
    assert!(bed.lines("example.").iter().any(|line| line.contains(" 103 3600")));
}

#[test]
fn more_than_is_noted_is_a_whole() {
    let mut bed = Bed::with_zone();
    let hosts: String = (0..30).map(|host| format!("h{host} 60 A 192.0.2.{host}\n")).collect();
    let mut writer = bed.store.writer().unwrap();
    writer.changed_max = 10;
    let put = writer.put(&contents_of("example.", &format!("{SOA}{hosts}")), None, &Meta::default());
    let version = made(put);
    assert_eq!((version.kind, version.serial, version.rows), (Kind::Whole, 8, 0));
    writer.commit().unwrap();
    assert_eq!(bed.lines("example.").len(), 33);
}

/// Rows that SQL can check and that are no records all the same are found by who reads them.
#[test]
fn rows_that_are_no_records() {
    let mut bed = Bed::with_zone();
    bed.database
        .sql("INSERT INTO zonda.record SELECT id, 'a.example.', 'AAAA', 60, '2001:DB8::1' FROM zonda.zone");
    let fault = bed.store.contents(&name("example.")).map(|_| ()).unwrap_err();
    assert!(fault.to_string().contains("there is one text for it: 2001:db8::1"), "{fault}");
    bed.put("example.", SOA).unwrap();
    assert_eq!(bed.lines("example.").len(), 3);
}

#[test]
fn history_that_is_dropped() {
    let mut bed = Bed::with_zone();
    for ttl in 1..6 {
        bed.database.sql(&format!("UPDATE zonda.record SET ttl = {ttl} WHERE type = 'A'"));
    }
    bed.database.sql("UPDATE zonda.version SET at = id");
    let ids: Vec<i64> = bed.versions("example.").iter().map(|version| version.id).collect();
    let aged = Bounds { before: Some(ids[2] as u64), octets_max: None };
    assert_eq!(bed.store.trim(&aged).unwrap(), Trimmed { versions: 2, rows: 4 });
    assert_eq!(bed.after("example.", 0), (9..13).map(|serial| (Kind::Change, serial)).collect::<Vec<_>>());
    let none = Bounds { before: Some(u64::MAX), octets_max: Some(0) };
    assert_eq!(bed.store.trim(&none).unwrap(), Trimmed { versions: 3, rows: 16 });
    assert_eq!(bed.after("example.", 0), [(Kind::Whole, 12)]);
    bed.database.sql("UPDATE zonda.record SET ttl = 9 WHERE type = 'A'");
    assert_eq!(bed.after("example.", 1), [(Kind::Change, 13)]);
}
