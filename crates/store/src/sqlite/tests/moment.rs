//! What somebody sees who follows a store.

use zonefile::RecordBuf;

use super::*;

const NEXT: &str = "@ 60 SOA ns host 8 3600 600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.2\n";

fn line(record: &RecordBuf) -> String {
    let mut line = Vec::new();
    zonefile::print::line(&record.owner, record.ttl, record.rtype, &record.rdata, &mut line);
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

fn records(scratch: &mut Scratch, zone: &str) -> Result<Vec<String>, Fault> {
    let mut lines = Vec::new();
    let each = &mut |record: &RecordBuf| {
        lines.push(line(record));
        Ok::<_, Fault>(())
    };
    scratch.store.snapshot()?.records(zone, each)?;
    Ok(lines)
}

#[test]
fn newest_versions_and_what_led_to_them() {
    let mut scratch = Scratch::with_zone();
    scratch.put("other.", SOA).unwrap();
    let before = scratch.store.data_version().unwrap();
    assert_eq!(scratch.store.data_version().unwrap(), before);
    let own = scratch.versions("example.")[0].clone();
    let last = scratch.store.snapshot().unwrap().last().unwrap().unwrap();
    scratch.put("example.", NEXT).unwrap();
    scratch.sql().execute("DELETE FROM zone WHERE name = 'other.'", []).unwrap();
    assert_ne!(scratch.store.data_version().unwrap(), before, "somebody else has written");
    assert!(scratch.store.snapshot().unwrap().is_pending("other.").unwrap());
    scratch.close();
    let snapshot = scratch.store.snapshot().unwrap();
    assert!(!snapshot.is_pending("other.").unwrap());
    let mut heads = Vec::new();
    snapshot.heads(&mut |head| heads.push((head.zone.to_owned(), head.serial, head.is_removed))).unwrap();
    assert_eq!(heads, [("example.".into(), 8, false), ("other.".into(), 7, true)]);
    let mut changed = Vec::new();
    snapshot.changed_since(last.0, &mut |zone| changed.push(zone.to_owned())).unwrap();
    assert_eq!(changed, ["example.", "other."]);
    assert_eq!(snapshot.mark_of(last.0).unwrap(), Some(last.1));
    assert_eq!(snapshot.mark_of(99).unwrap(), None);
    let since = snapshot.since("example.", &own.mark).unwrap().unwrap();
    assert_eq!((since.len(), snapshot.since("example.", "no mark").unwrap()), (1, None));
    let mut changes = Vec::new();
    let count = snapshot.changed(&since[0], &mut |what, record| {
        changes.push(format!("{}{}", if what == What::Added { '+' } else { '-' }, line(record)));
        Ok::<_, Fault>(())
    });
    assert_eq!(count.unwrap(), since[0].rows);
    assert!(changes[0].starts_with("-example.") && changes[0].contains(" 7 "), "{changes:?}");
    assert!(changes[2].starts_with("+example.") && changes[2].contains(" 8 "), "{changes:?}");
}

#[test]
fn all_records_the_soa_record_first() {
    let mut scratch = Scratch::with_zone();
    // Names that come before the apex in the order of the index.
    scratch.put("example.", &format!("{SOA}a 60 A 192.0.2.9\n")).unwrap();
    let lines = records(&mut scratch, "example.").unwrap();
    assert!(lines.len() == 4 && lines[0].contains("SOA"), "{lines:?}");
    assert!(matches!(records(&mut scratch, "none."), Err(Fault::NoZone(_))));
    scratch.sql().execute("UPDATE record SET rdata = '192.0.2' WHERE owner = 'a.example.'", []).unwrap();
    assert!(matches!(records(&mut scratch, "example."), Err(Fault::Rows { count: 1, .. })));
    scratch.sql().execute("DELETE FROM record WHERE type = 'SOA'", []).unwrap();
    assert!(matches!(records(&mut scratch, "example."), Err(Fault::NoSoa(_))));
}

/// Of a copy that was put back: the data are what it has, and the serial is above what was served.
#[test]
fn a_version_above_what_was_served() {
    let mut scratch = Scratch::with_zone();
    let raise = |scratch: &mut Scratch, above| {
        let mut writer = scratch.store.writer().unwrap();
        let version = writer.raise(&name("example."), above, &Meta { at: AT, ..Meta::default() }).unwrap();
        writer.commit().unwrap();
        version
    };
    let version = raise(&mut scratch, 20);
    assert_eq!((version.serial, version.kind), (21, Kind::Whole));
    assert!(records(&mut scratch, "example.").unwrap()[0].contains(" 21 "));
    // What it has may be above that already.
    assert_eq!(raise(&mut scratch, 5).serial, 22);
    let mut writer = scratch.store.writer().unwrap();
    assert!(matches!(writer.raise(&name("none."), 5, &Meta::default()), Err(Fault::NoZone(_))));
}

#[test]
fn statements_say_that_they_are_at_work() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let store = &mut Scratch::new().store;
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    store.on_progress(move || count.fetch_add(1, Ordering::Relaxed) < 3).unwrap();
    let endless = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    let ended = store.database.query_row(endless, [], |row| row.get::<_, i64>(0));
    assert_eq!((ended.is_err(), calls.load(Ordering::Relaxed)), (true, 4));
}
