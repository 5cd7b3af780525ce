//! History that is dropped.

use super::*;
use crate::{Bounds, Trimmed};

/// A store with versions of `example.` at times 100 to 105, and of `gone.`, which was there at 100 and removed at 101.
fn with_history() -> Scratch {
    let mut scratch = Scratch::new();
    for at in 100..=105 {
        let mut writer = scratch.store.writer().unwrap();
        let meta = Meta { at, ..Meta::default() };
        writer.put(&contents_of("example.", &format!("{SOA}a 60 A 192.0.2.{at}\n")), None, &meta).unwrap();
        if at == 100 {
            writer.put(&contents_of("gone.", SOA), None, &meta).unwrap();
        }
        writer.commit().unwrap();
        if at == 100 {
            scratch.sql().execute("DELETE FROM zone WHERE name = 'gone.'", []).unwrap();
            scratch.store.close_pending(None, 101).unwrap();
        }
    }
    scratch
}

fn serials(scratch: &Scratch, zone: &str) -> Vec<u32> {
    scratch.versions(zone).iter().map(|version| version.serial).collect()
}

/// All rows in the history.
fn rows(scratch: &Scratch) -> i64 {
    scratch.sql().query_row("SELECT count(*) FROM change", [], |row| row.get(0)).unwrap()
}

#[test]
fn what_is_old_goes() {
    let mut scratch = with_history();
    assert_eq!((serials(&scratch, "example."), rows(&scratch)), ((7..=12).collect(), 20));
    let none = scratch.store.trim(&Bounds { before: Some(100), octets_max: None }).unwrap();
    assert_eq!(none, Trimmed::default());
    let trimmed = scratch.store.trim(&Bounds { before: Some(103), octets_max: None }).unwrap();
    assert_eq!(trimmed, Trimmed { versions: 4, rows: 8 });
    assert_eq!((serials(&scratch, "example."), rows(&scratch)), (vec![10, 11, 12], 12));
    scratch.store.trim(&Bounds { before: Some(1000), octets_max: None }).unwrap();
    assert_eq!(serials(&scratch, "example."), [12], "the newest stays");
    assert_eq!(serials(&scratch, "gone."), [7], "also of what is gone");
    assert!(matches!(scratch.put("gone.", SOA), Ok(Put::Made(Version { serial: 8, .. }))));
}

#[test]
fn what_is_too_much_goes() {
    let mut scratch = with_history();
    scratch.store.trim(&Bounds { before: None, octets_max: Some(u64::MAX) }).unwrap();
    assert_eq!(rows(&scratch), 20);
    let octets: i64 =
        scratch.sql().query_row("SELECT max(octets) FROM version", [], |row| row.get(0)).unwrap();
    scratch.store.trim(&Bounds { before: None, octets_max: Some(2 * octets.unsigned_abs()) }).unwrap();
    assert_eq!((serials(&scratch, "example."), rows(&scratch)), (vec![11, 12], 8));
    // Less than one version has: the newest stays, without its rows, and says so.
    scratch.store.trim(&Bounds { before: None, octets_max: Some(octets.unsigned_abs() / 2) }).unwrap();
    assert_eq!((serials(&scratch, "example."), rows(&scratch)), (vec![12], 0));
    let newest = &scratch.versions("example.")[0];
    assert_eq!((newest.kind, newest.rows), (Kind::Whole, 0));
    let sum: i64 = scratch.sql().query_row("SELECT sum(octets) FROM version", [], |row| row.get(0)).unwrap();
    assert_eq!(sum, 0);
}

/// A clock that was set back leaves no gap in what stays.
#[test]
fn what_stays_leads_on() {
    let mut scratch = with_history();
    scratch.sql().execute("UPDATE version SET at = 5 WHERE serial = 10 AND zone = 'example.'", []).unwrap();
    scratch.store.trim(&Bounds { before: Some(50), octets_max: None }).unwrap();
    assert_eq!(serials(&scratch, "example."), [11, 12]);
}

/// What bounds a zone is found once, not once more with each of its versions.
#[test]
fn many_versions_of_one_zone() {
    let mut scratch = Scratch::with_zone();
    scratch
        .sql()
        .execute_batch(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
             INSERT INTO version (zone, serial, mark, kind, rows, octets, at) SELECT 'other.', i, '', 'change', 0, 0, i FROM n",
        )
        .unwrap();
    let begin = std::time::Instant::now();
    let trimmed = scratch.store.trim(&Bounds { before: Some(5000), octets_max: None }).unwrap();
    assert_eq!(trimmed.versions, 4999);
    // It takes a fraction of a second, and took minutes.
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}
