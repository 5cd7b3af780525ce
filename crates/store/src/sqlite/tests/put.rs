//! Zones put in as a whole.

use super::*;

fn made(put: Result<Put, Fault>) -> Version {
    match put.unwrap() {
        Put::Made(version) => version,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_zone_that_is_new_comes_out_as_it_went_in() {
    let mut scratch = Scratch::new();
    let text = format!(
        "{SOA}WWW 300 A 192.0.2.7\nwww 300 A 192.0.2.8\nm 60 MX 10 Mail.Example.\nt 60 TXT \"a \\\"b\\\" \\200\" \"\"\n\
         * 60 TYPE65280 \\# 2 ab12\nh 60 HTTPS 1 . alpn=h2\ne 60 APL\nz\\.z 60 A 192.0.2.9\n\
         c 60 TYPE65281 \\# 0\n@ 60 CAA 0 issue \"ca.example\"\n"
    );
    let version = made(scratch.put("Example.", &text));
    assert_eq!((version.serial, version.kind, version.rows), (7, Kind::Whole, 0));
    assert_eq!((version.at, version.who.as_deref(), version.why.as_deref()), (AT, Some("me"), Some("test")));
    assert_eq!(version.mark.len(), 32);
    // The mail server's name is in lower case, as all that DNSSEC compares without case; nothing else differs.
    assert_eq!(
        scratch.lines("example."),
        lines(&contents_of("example.", &text.replace("Mail.Example.", "mail.example.")))
    );
    assert_eq!(scratch.put("example.", &text).unwrap(), Put::Same);
    assert_eq!(scratch.versions("example.").len(), 1);
    assert_eq!(scratch.store.pending_count().unwrap(), 0);
    assert!(matches!(scratch.store.contents(&name("other.")), Err(Fault::NoZone(_))));
}

#[test]
fn what_differs_is_a_version() {
    let mut scratch = Scratch::with_zone();
    let next = format!("{}www 60 A 192.0.2.2\n", SOA.replace("ns 60 A 192.0.2.1", "ns 90 A 192.0.2.1"));
    let version = made(scratch.put("example.", &next));
    assert_eq!((version.serial, version.kind, version.rows), (8, Kind::Change, 5));
    assert_eq!(
        scratch.changes(version.id),
        [
            "-example. 60 IN SOA ns.example. host.example. 7 3600 600 86400 60",
            "-ns.example. 60 IN A 192.0.2.1",
            "+example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "+ns.example. 90 IN A 192.0.2.1",
            "+www.example. 60 IN A 192.0.2.2",
        ]
    );
    // A serial that is not greater and nothing else: as it was. A greater one alone is a version.
    assert_eq!(scratch.put("example.", &next.replace("host 7", "host 3")).unwrap(), Put::Same);
    let version = made(scratch.put("example.", &next.replace("host 7", "host 20")));
    assert_eq!((version.serial, version.rows), (20, 2));
    // Something else in the SOA record, and a serial that is not greater: the next.
    let version = made(scratch.put("example.", &next.replace("3600", "3601")));
    assert_eq!((version.serial, version.rows), (21, 2));
    let marks: std::collections::BTreeSet<String> =
        scratch.versions("example.").into_iter().map(|version| version.mark).collect();
    assert_eq!(marks.len(), 4, "each version has a mark of its own");
}

#[test]
fn who_read_another_version_changes_nothing() {
    let mut scratch = Scratch::with_zone();
    let (_, version) = scratch.store.contents(&name("example.")).unwrap();
    let mark = version.unwrap().mark;
    let mine = format!("{SOA}mine 60 A 192.0.2.2\n");
    scratch.put("example.", &format!("{SOA}theirs 60 A 192.0.2.2\n")).unwrap();
    let fault = scratch.put_at("example.", &mine, Some(&mark)).unwrap_err();
    assert!(matches!(&fault, Fault::Moved { serial: Some(8), who: Some(who), .. } if who == "me"), "{fault}");
    assert!(!scratch.lines("example.").iter().any(|line| line.starts_with("mine")));
    // Changes by SQL count too, also where nobody closed them yet.
    let mark = scratch.versions("example.")[1].mark.clone();
    scratch.sql().execute("DELETE FROM record WHERE owner = 'theirs.example.'", []).unwrap();
    let fault = scratch.put_at("example.", &mine, Some(&mark)).unwrap_err();
    assert!(matches!(fault, Fault::Moved { serial: Some(9), who: None, .. }), "{fault}");
    assert_eq!(scratch.close(), 1);
    let mark = scratch.versions("example.")[2].mark.clone();
    made(scratch.put_at("example.", &mine, Some(&mark)));
    scratch.sql().execute("DELETE FROM zone", []).unwrap();
    let mark = scratch.versions("example.")[3].mark.clone();
    let fault = scratch.put_at("example.", &mine, Some(&mark)).unwrap_err();
    assert!(matches!(fault, Fault::Moved { serial: None, .. }), "{fault}");
}

/// The serial of a signed zone is signed: it is never chosen here.
#[test]
fn signed_zones_bring_their_serial() {
    let mut scratch = Scratch::new();
    let signed = format!("{SOA}@ 60 RRSIG SOA 13 1 60 20300101000000 20200101000000 1 example. AAAA\n");
    made(scratch.put("example.", &signed));
    let next = format!("{signed}www 60 A 192.0.2.2\n");
    let fault = scratch.put("example.", &next).unwrap_err();
    assert!(matches!(fault, Fault::Signed { serial: 7, .. }), "{fault}");
    assert_eq!(scratch.versions("example.").len(), 1);
    assert_eq!(made(scratch.put("example.", &next.replace("host 7", "host 8"))).serial, 8);
}

#[test]
fn a_zone_that_comes_back_begins_above_its_serial() {
    let mut scratch = Scratch::with_zone();
    scratch.sql().execute("DELETE FROM zone WHERE name = 'example.'", []).unwrap();
    assert_eq!(scratch.close(), 1);
    let versions = scratch.versions("example.");
    assert_eq!((versions[1].kind, versions[1].serial), (Kind::Removed, 7));
    let version = made(scratch.put("example.", SOA));
    assert_eq!((version.kind, version.serial), (Kind::Whole, 8));
    assert!(scratch.lines("example.")[1].contains(" 8 3600"), "{:?}", scratch.lines("example."));
}

/// So many rows that noting each takes longer than reading the zone.
#[test]
fn what_is_mostly_another_zone_is_whole() {
    let mut scratch = Scratch::with_zone();
    let text = |range: std::ops::Range<u8>| {
        let lines = range.map(|number| format!("n{number} 60 A 192.0.2.{number}\n"));
        format!("{SOA}{}", lines.collect::<String>())
    };
    for (range, kind, rows) in
        [(0..10, Kind::Change, 12), (0..21, Kind::Whole, 0), (0..22, Kind::Change, 3), (0..1, Kind::Whole, 0)]
    {
        let mut writer = scratch.store.writer().unwrap();
        writer.changed_max = 10;
        let put = writer.put(&contents_of("example.", &text(range.clone())), None, &Meta::default());
        let version = made(put);
        writer.commit().unwrap();
        assert_eq!((version.kind, version.rows), (kind, rows), "{range:?}");
        assert_eq!(scratch.lines("example.").len(), 3 + range.len());
        assert_eq!(scratch.store.pending_count().unwrap(), 0);
    }
}

/// Nothing of a writer that was not committed is there, its versions neither.
#[test]
fn all_or_nothing() {
    let mut scratch = Scratch::with_zone();
    let mut writer = scratch.store.writer().unwrap();
    writer
        .put(&contents_of("example.", &format!("{SOA}a 60 A 192.0.2.2\n")), None, &Meta::default())
        .unwrap();
    writer.put(&contents_of("other.", SOA), None, &Meta::default()).unwrap();
    drop(writer);
    assert_eq!(scratch.versions("example.").len(), 1);
    assert!(scratch.versions("other.").is_empty());
    assert_eq!(scratch.lines("example."), lines(&contents_of("example.", SOA)));
}

#[test]
fn a_touched_zone_is_to_be_read_whole() {
    let mut scratch = Scratch::with_zone();
    // What goes by no trigger is in no version.
    let sql = scratch.sql();
    sql.execute_batch("DROP TRIGGER record_insert; INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'x.example.', 'A', 5, '192.0.2.3' FROM zone;").unwrap();
    assert_eq!(scratch.close(), 0);
    let mut writer = scratch.store.writer().unwrap();
    let version = writer.touch(&name("example."), &Meta::default()).unwrap();
    writer.commit().unwrap();
    assert_eq!((version.kind, version.serial), (Kind::Whole, 8));
    // And rows that went by are looked at.
    sql.execute("UPDATE record SET rdata = '192.0.2.03' WHERE owner = 'x.example.'", []).unwrap();
    sql.execute_batch("DELETE FROM pending; DELETE FROM pending_zone;").unwrap();
    let mut writer = scratch.store.writer().unwrap();
    assert!(matches!(writer.touch(&name("example."), &Meta::default()), Err(Fault::Rows { .. })));
    assert!(matches!(writer.touch(&name("other."), &Meta::default()), Err(Fault::NoZone(_))));
    drop(writer);
    sql.execute("UPDATE zone SET enabled = 0", []).unwrap();
    let mut writer = scratch.store.writer().unwrap();
    assert!(matches!(writer.touch(&name("example."), &Meta::default()), Err(Fault::NotEnabled(_))));
}

/// The longest texts that records have fit into a row.
#[test]
fn the_longest_records() {
    let mut scratch = Scratch::new();
    let types: String = (1..=u16::MAX).map(|number| format!(" TYPE{number}")).collect();
    let strings = format!("\"{}\" ", "\\000".repeat(255)).repeat(255);
    let text = format!("{SOA}nsec 60 NSEC ns{types}\ntxt 60 TXT {strings}\n");
    made(scratch.put("example.", &text));
    assert!(scratch.lines("example.").iter().any(|line| line.len() > 600_000));
    assert_eq!(scratch.put("example.", &text).unwrap(), Put::Same);
}
