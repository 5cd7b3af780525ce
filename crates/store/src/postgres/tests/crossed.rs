//! Several who write at once.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::*;

/// Runs statements of one connection beside those of another: `first` stays open until `second` waits for it, and is then committed.
fn beside(bed: &Bed, first: &str, second: &str) -> Result<(), Fault> {
    let (one, two) = (other(&bed.database), other(&bed.database));
    one.link.batch(first).unwrap();
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    std::thread::scope(|scope| {
        let second = scope.spawn(move || {
            let done = two.link.batch(second);
            if done.is_err() {
                let _ = two.link.batch("ROLLBACK");
            }
            done
        });
        let begun = Instant::now();
        while bed.database.sql(waits) == "0" && !second.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody waits");
        }
        assert!(!second.is_finished(), "it did not wait");
        one.link.batch("COMMIT").unwrap();
        second.join().unwrap()
    })
}

#[test]
fn writers_of_one_zone_wait_for_each_other() {
    let bed = Bed::with_zone();
    let insert = |host: u8| {
        format!(
            "INSERT INTO zonda.record SELECT id, 'h{host}.example.', 'A', 60, '192.0.2.{host}' FROM zonda.zone"
        )
    };
    beside(&bed, &format!("BEGIN; {}", insert(1)), &format!("BEGIN; {}; COMMIT", insert(2))).unwrap();
    assert_eq!(bed.after("example.", 1), [(Kind::Change, 8), (Kind::Change, 9)]);
    assert_eq!(
        bed.newest_changes(),
        [
            "-example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "+example. 60 IN SOA ns.example. host.example. 9 3600 600 86400 60",
            "+h2.example. 60 IN A 192.0.2.2",
        ]
    );
    // One that has an older snapshot has to begin again.
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM zonda.zone;";
    let fault = beside(&bed, &format!("BEGIN; {}", insert(3)), &format!("{begin} {}; COMMIT", insert(4)))
        .unwrap_err();
    assert!(matches!(fault, Fault::Crossed(_)), "{fault:?}");
    assert_eq!(bed.versions("example.").len(), 4);
    // The zone goes while somebody writes into it, and comes back.
    let fault =
        beside(&bed, "BEGIN; DELETE FROM zonda.zone", &format!("BEGIN; {}; COMMIT", insert(5))).unwrap_err();
    assert!(fault.to_string().contains("no zone has this id"), "{fault:?}");
    assert_eq!(bed.after("example.", 4), [(Kind::Removed, 10)]);
}

/// A zone that goes while somebody has written into it: what was written goes, too.
#[test]
fn a_zone_that_goes_after_others_wrote() {
    let bed = Bed::with_zone();
    let insert =
        "BEGIN; INSERT INTO zonda.record SELECT id, 'h.example.', 'A', 60, '192.0.2.1' FROM zonda.zone";
    beside(&bed, insert, "DELETE FROM zonda.zone").unwrap();
    assert_eq!(bed.after("example.", 1), [(Kind::Change, 8), (Kind::Removed, 8)]);
    assert_eq!(bed.database.sql("SELECT count(*) FROM zonda.record"), "0");
}

/// Who has not seen that a zone went and came gives no serial twice.
#[test]
fn one_history_whatever_is_seen() {
    let bed = Bed::with_zone();
    let old = other(&bed.database);
    old.link.batch("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM zonda.zone").unwrap();
    bed.database.sql("UPDATE zonda.record SET ttl = 5; DELETE FROM zonda.zone");
    let again = "INSERT INTO zonda.zone (name) VALUES ('example.')";
    let fault = old.link.batch(&format!("{again}; COMMIT")).unwrap_err();
    assert!(matches!(fault, Fault::Postgres { .. } | Fault::Crossed(_)), "{fault:?}");
    old.link.batch("ROLLBACK").unwrap();
    assert_eq!(bed.after("example.", 1), [(Kind::Removed, 7)]);
}

/// Of two who put in the same new zone, which neither can lock, the second one is told to begin again, and finds it.
#[test]
fn a_new_zone_by_two() {
    let mut bed = Bed::with_zone();
    let insert = "BEGIN; INSERT INTO zonda.zone (name) VALUES ('b.test.')";
    let fault = beside(&bed, insert, &format!("{insert}; COMMIT")).unwrap_err();
    assert!(matches!(&fault, Fault::Crossed(said) if said.contains("zone_name")), "{fault:?}");
    assert!(matches!(bed.put("b.test.", SOA), Ok(Put::Made(_))));
    // What is no matter of who comes first stays what it is.
    let twice = "INSERT INTO zonda.record SELECT * FROM zonda.record LIMIT 1";
    assert!(matches!(bed.store.link.batch(twice), Err(Fault::Postgres { .. })));
}

/// Ours take the zone first, so that no two wait for each other; strangers may, and one of them is told to begin again.
#[test]
fn two_who_wait_for_each_other() {
    let bed = Bed::with_zone();
    bed.database.sql("UPDATE zonda.record SET ttl = 5");
    let ours = "SELECT zonda.lock('example.'); UPDATE zonda.record SET ttl = ttl + 1 WHERE type = 'A'";
    let count = 20;
    let (barrier, database) = (Barrier::new(4), &bed.database);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = other(database);
                barrier.wait();
                for _ in 0..count {
                    store.link.batch(&format!("BEGIN; {ours}; COMMIT")).unwrap();
                }
            });
        }
    });
    assert_eq!(bed.versions("example.").len(), 2 + 4 * count);
    let serials: Vec<u32> = bed.after("example.", 1).iter().map(|(_, serial)| *serial).collect();
    assert!(serials.windows(2).all(|pair| pair[1] == pair[0] + 1), "{serials:?}");
    // By plain SQL: the row first, then the zone.
    let failed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let (store, mut failed) = (other(database), 0);
                    for _ in 0..count {
                        match store.link.batch("BEGIN; UPDATE zonda.record SET ttl = ttl + 1 WHERE type = 'A'; UPDATE zonda.record SET ttl = ttl + 1 WHERE type = 'NS'; COMMIT") {
                            Ok(()) => {}
                            Err(Fault::Crossed(_)) => {
                                failed += 1;
                                store.link.batch("ROLLBACK").unwrap();
                            }
                            Err(fault) => panic!("{fault:?}"),
                        }
                    }
                    failed
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(bed.versions("example.").len(), 2 + 8 * count - failed);
}
