//! Measured: what is kept of many zones of which each changed once, and how long a checkpoint is.
//!
//! `ZONDA_ZONES=1000000 cargo test --release -p control --lib -- --ignored --nocapture many_zones`; with `ZONDA_ZONES_KEPT=1` none rests, as it was before zones did. Some
//! minutes a million; the folder for temporary files takes a gigabyte.

use std::sync::atomic::Ordering;

use zone::contents::SourcePosition;
use zone::{ContentsBuilder, Pack, PackBuilder, TextStamp};

use super::*;
use crate::packs::PackFolder;

/// Changes that are under way at a time.
const WINDOW: usize = 1024;
/// Octets of the log for each zone: a third of it is less than what all say once.
const LOG_OCTETS: u64 = 450;

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// Octets of memory of the process that are in no file.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Puts packs of so many zones into a folder, as somebody has left them.
fn store(folder: &Path, zones: usize) {
    let packs = PackFolder::open(&folder.join("packs")).unwrap();
    for first in (0..zones).step_by(100_000) {
        let mut builder = PackBuilder::new(first as u64);
        for zone in first..zones.min(first + 100_000) {
            let apex = apex(zone);
            let mut contents = ContentsBuilder::new(&apex);
            let mut push = |owner: &Name, rtype, rdata: &[u8]| {
                contents.push(owner, false, rtype, 60, rdata, SourcePosition::default()).unwrap();
            };
            push(&apex, rtype::SOA, &soa(1));
            push(&apex, rtype::NS, b"\x02ns\0");
            (0..3_u8).for_each(|host| push(&name(zone, host.into()), rtype::A, &[192, 0, 2, host]));
            builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
        }
        packs.store(&Pack::open(builder.finish().unwrap()).unwrap()).unwrap();
    }
}

fn first_change(zone: usize) -> Change {
    let (mut removed, mut added) = (Records::default(), Records::default());
    removed.push(&apex(zone), rtype::SOA, 60, &soa(1));
    added.push(&apex(zone), rtype::SOA, 60, &soa(2));
    added.push(&name(zone, 7), rtype::A, 60, &[192, 0, 2, 7]);
    Change::new(removed, added).unwrap()
}

#[test]
#[ignore = "measured: see the head of this file"]
fn many_zones_of_which_each_changed_once() {
    let zones = number("ZONDA_ZONES", 100_000);
    let is_kept = number("ZONDA_ZONES_KEPT", 0) > 0;
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), zones);
    let log_octets = (LOG_OCTETS * zones as u64).max(SHORT_LOG_OCTETS);
    let usual = Rules::default();
    let bounds = if is_kept { (usize::MAX, u64::MAX) } else { (usual.zones_max, usual.small_octets_max) };
    let rules = Rules { zones_max: bounds.0, small_octets_max: bounds.1, octets_max: u64::MAX / 2, ..usual };
    let controller = start(folder.path(), rules, log_octets);
    let before = resident();
    let (began, mut most) = (Instant::now(), 0);
    let dynamic = &controller.dynamic;
    for first in (0..zones).step_by(WINDOW) {
        let (sender, receiver) = channel();
        let window = first..zones.min(first + WINDOW);
        for zone in window.clone() {
            let sender = sender.clone();
            let told = Told::new(move |result: Result<(), NotTaken>| {
                let _ = sender.send(result);
            });
            let what = What::Changes(vec![first_change(zone)], told);
            dynamic.incoming(Incoming { zone: apex(zone), what });
        }
        window.for_each(|_| assert_eq!(receiver.recv_timeout(3 * PATIENCE).unwrap(), Ok(())));
        most = most.max(dynamic.changed.load(Ordering::Relaxed));
    }
    let changed = began.elapsed();
    let at_once = resident();
    // What is too many is stored.
    while !is_kept && dynamic.changed.load(Ordering::Relaxed) > Rules::default().zones_max {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(5));
    // What is free is the system's again.
    crate::system::trim_memory();
    let (after, left) = (resident(), dynamic.changed.load(Ordering::Relaxed));
    let grown = after.saturating_sub(before);
    println!(
        "{zones} zones changed once in {:.1} s, {}; in the changer {most} at most, {left} in the end; memory {} MiB more at the last change, {} MiB in the end, {} octets a zone; \
         the last checkpoint {} octets of {} checkpoints",
        changed.as_secs_f64(),
        if is_kept { "none at rest" } else { "at rest once they are too many" },
        at_once.saturating_sub(before) >> 20,
        grown >> 20,
        grown / zones as u64,
        dynamic.checkpoint_octets.load(Ordering::Relaxed),
        dynamic.checkpoints.load(Ordering::Relaxed),
    );
    let began = Instant::now();
    dynamic.stop();
    drop(controller);
    let controller = start(folder.path(), Rules::default(), log_octets);
    println!("the next start {:.1} s, {} zones as changed", began.elapsed().as_secs_f64(), {
        std::thread::sleep(Duration::from_millis(100));
        controller.dynamic.changed.load(Ordering::Relaxed)
    });
    for zone in (0..zones).step_by(1 + zones / 1000) {
        let serial =
            controller.catalog.reader().with(|view| match view.view_of(view.slot_named(&apex(zone))?)? {
                View::Zone(zone) => Some(zone.row().serial),
                _ => None,
            });
        assert_eq!(serial, Some(2), "zone {zone}");
    }
    controller.dynamic.stop();
}
