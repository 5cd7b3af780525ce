#![allow(clippy::unwrap_used)]

use std::thread;

use super::*;
use crate::{Mutex as Plain, RwLock};

/// The profiler is one for the whole program, so all is in one test.
#[test]
fn lines_counts_and_times() {
    let lock = RwLock::new(0);
    drop(lock.write());
    assert!(!report().locks.iter().any(|found| found.made.file == file!()), "it is off");
    set(true);
    let hold = Duration::from_millis(20);
    let (made, other) = (line!() + 1, line!() + 2);
    let lock = RwLock::named("zone data", 0);
    let plain = Plain::named("memory", 0);
    let write_line = line!() + 4;
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let _number = lock.write();
                thread::sleep(hold);
            });
        }
    });
    let read_line = line!() + 1;
    let reader = lock.read();
    drop(reader.try_upgrade().ok().unwrap().downgrade());
    *plain.lock() += 1;
    let report = report();
    set(false);
    let own: Vec<&Lock> = report.locks.iter().filter(|found| found.made.file == file!()).collect();
    let [zone, memory] = own[..] else { panic!("{own:?}") };
    assert_eq!((zone.name, zone.made.line, zone.made.count), ("zone data", made, 6));
    assert_eq!((memory.name, memory.made.line, memory.made.count), ("memory", other, 1));
    let [writers, reader] = &zone.lockers[..] else { panic!("{zone:?}") };
    assert_eq!((writers.line, writers.count), (write_line, 3));
    assert_eq!((reader.line, reader.count), (read_line, 3), "reader, writer, reader again");
    assert!(writers.held >= 3 * hold, "{writers:?}");
    assert!(writers.waited >= 2 * hold, "the second waited for the first, the third for both: {writers:?}");
    assert!(report.share_waited(Duration::from_secs(1)) >= 0.04);
    assert_eq!(report.causes()[0].0, "zone data");
    let text = report.to_string();
    let header = text.lines().find(|line| line.ends_with("zone data")).unwrap();
    assert!(header.starts_with("tests.rs ") && header.contains(&format!(" {made}: ")), "{text}");
    assert!(text.contains(&format!("\n  tests.rs                 {write_line:>4}:          3 ")), "{text}");
    assert!(text.lines().last().unwrap().starts_with("waiting: "), "{text}");
    clear();
    assert!(!super::report().locks.iter().any(|found| found.made.file == file!()));
}
