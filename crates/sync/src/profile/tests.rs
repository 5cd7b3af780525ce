#![allow(clippy::unwrap_used)]

use std::{sync::Barrier, thread};

use super::*;
use crate::{Mutex as Plain, RwLock};

/// The profiler is one for the whole program, so all is in one test.
#[test]
fn lines_counts_and_times() {
    let lock = RwLock::new(0);
    drop(lock.write());
    assert!(!report().locks.iter().any(|found| found.made.file == file!()), "it is off");
    set(true);
    assert!(FREE_NS.load(Ordering::Relaxed) > 0);
    // Long beside what a thread of a busy machine waits for a core: all three must ask while the first holds it.
    let hold = Duration::from_millis(200);
    let together = Barrier::new(3);
    let (made, other) = (line!() + 1, line!() + 2);
    let lock = RwLock::named("zone data", 0);
    let plain = Plain::named("memory", 0);
    let write_line = line!() + 10;
    let waits: u128 = thread::scope(|scope| {
        let threads = [true, true, false].map(|is_worker| {
            let (lock, together) = (&lock, &together);
            scope.spawn(move || {
                if is_worker {
                    begin_worker();
                }
                together.wait();
                let before = waited_here();
                let _number = lock.write();
                thread::sleep(hold);
                (waited_here() - before).as_nanos()
            })
        });
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    let read_line = line!() + 1;
    let reader = lock.read();
    drop(reader.try_upgrade().ok().unwrap().downgrade());
    *plain.lock() += 1;
    let mut report = report();
    let of_workers = report_of(Threads::Workers);
    set(false);
    let on = on_for();
    assert!(on >= 3 * hold && on == on_for(), "{on:?}");
    let [workers] = &of_workers.locks[..] else { panic!("{of_workers:?}") };
    assert_eq!((workers.made.line, workers.made.count), (made, 2));
    // Other tests take locks at the same time.
    report.locks.retain(|found| found.made.file == file!());
    let [zone, memory] = &report.locks[..] else { panic!("{report:?}") };
    assert_eq!((&*zone.name, zone.made.line, zone.made.count), ("zone data", made, 6));
    assert_eq!((&*memory.name, memory.made.line, memory.made.count), ("memory", other, 1));
    let [writers, reader] = &zone.lockers[..] else { panic!("{zone:?}") };
    assert_eq!((writers.line, writers.count), (write_line, 3));
    assert_eq!((reader.line, reader.count), (read_line, 3), "reader, writer, reader again");
    assert!(writers.held >= 3 * hold, "{writers:?}");
    assert!(writers.waited >= 2 * hold, "the second waited for the first, the third for both: {writers:?}");
    assert_eq!(writers.waited.as_nanos(), waits, "what each thread was told that it waited");
    assert!(report.share_waited(Duration::from_secs(1)) >= 0.04);
    assert_eq!(report.causes()[0].name, "zone data");
    let text = report.to_string();
    let header = text.lines().find(|line| line.ends_with("zone data")).unwrap();
    assert!(header.starts_with("tests.rs ") && header.contains(&format!(" {made}: ")), "{text}");
    assert!(text.contains(&format!("\n  tests.rs                 {write_line:>4}:          3 ")), "{text}");
    assert!(text.lines().last().unwrap().starts_with("waiting: "), "{text}");
    as_data(report);
    clear();
    assert!(!super::report().locks.iter().any(|found| found.made.file == file!()));
    assert_eq!((report_of(Threads::Workers), on_for()), (Report::default(), Duration::ZERO));
}

/// Names and kinds of the fields are what others read.
fn as_data(report: Report) {
    let working = Duration::from_secs(2);
    let summary = report.summary(working);
    let share = summary.waited.as_secs_f64() / 2.0;
    let last = summary.to_string().lines().last().unwrap().to_owned();
    let waited = summary.waited.as_secs_f64();
    let begin = format!("waiting: {waited:.6} s of 2.000000 s ({:.1} %), of which ", share * 100.0);
    assert!(last.starts_with(&begin), "{last}");
    let data = serde_json::to_value(&summary).unwrap();
    assert_eq!((data["working_s"].as_f64(), data["share_waited"].as_f64()), (Some(2.0), Some(share)));
    assert_eq!(data["causes"][0]["name"], "zone data");
    assert!(data["causes"][0]["share"].as_f64().unwrap() > 0.9, "{data}");
    let lock = &data["locks"][0];
    assert_eq!((&lock["name"], &lock["count"]), (&"zone data".into(), &6.into()));
    assert!(lock["file"].as_str().unwrap().ends_with("profile/tests.rs") && lock["line"].is_u64());
    let locker = &lock["lockers"][0];
    assert!(locker["held_s"].as_f64().unwrap() >= 0.06 && locker["waited_s"].as_f64().unwrap() >= 0.04);
    assert_eq!((&locker["count"], locker.get("name")), (&3.into(), None));
    let back: Summary = serde_json::from_value(data).unwrap();
    assert_eq!(back, summary);
    let wrong = serde_json::from_str::<Locker>(r#"{"file":"a","line":1,"count":1,"held_s":-1,"waited_s":0}"#);
    assert!(wrong.is_err());
}

/// The mean distance of the acquisitions that are timed is what was asked for, and each distance comes up.
#[test]
fn draws_are_as_many_as_wished() {
    let gaps: Vec<u32> = (0..100_000).map(|_| gap(8)).collect();
    let mean = gaps.iter().map(|&gap| f64::from(gap) + 1.0).sum::<f64>() / gaps.len() as f64;
    assert!((7.9..8.1).contains(&mean), "{mean}");
    assert!((0..15).all(|gap| gaps.contains(&gap)) && gaps.iter().all(|&gap| gap < 15));
}

/// What any acquisition takes is no waiting.
#[test]
fn free_locks_are_not_waited_for() {
    assert!((1..1_000_000_000).contains(&free_ns()));
    let waited = |taken| beyond(Duration::from_nanos(taken), 50).as_nanos();
    assert_eq!([0, 50, 51, 1050].map(waited), [0, 0, 1, 1000]);
}
