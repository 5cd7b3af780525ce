//! Records of several zones that are one payload's: all of them are on the disk, or none is.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::*;
use crate::disk::Disk;
use crate::record::{Asked, Body};

/// Records of zones 10, 11 and so on, so long each.
fn of_zones(zones: usize, octets: usize) -> Vec<Arc<Entry>> {
    (10..10 + zones).map(|zone| Arc::new(entry(zone, 0, 1, &vec![7; octets]))).collect()
}

fn queue_together(committer: &Committer<u32>, entries: Vec<Arc<Entry>>, number: u32) -> Result<(), Refusal> {
    let queued = committer.enqueue_together(committer.generation(), entries, number);
    queued.map(drop).map_err(|refused| refused.why)
}

fn prepare(committer: &Committer<u32>) {
    committer.with_log(|log| while log.prepare().expect("room") {});
}

/// How many of these zones a start finds. What is torn is no damage.
fn zones_found(disk: &Simulated) -> usize {
    let recovery = open(disk, Start::default());
    assert!(recovery.lost().is_empty(), "{:?}", recovery.lost());
    let first = crate::log::tests::name(1).to_string();
    records(&recovery).iter().filter(|record| record.1 != first).count()
}

/// A segment that a commit has written to.
struct Written {
    path: PathBuf,
    /// All of it, and where it differs from what was there.
    now: Vec<u8>,
    differs: RangeInclusive<usize>,
}

/// Segments that differ, in the order in which they were written: by the first group of each.
fn written(before: &Simulated, after: &Simulated) -> Vec<Written> {
    let names = after.names(&folder()).expect("names");
    let of = |path: PathBuf| {
        let (now, then) = (after.content(&path)?, before.content(&path)?);
        let differs = |at: &usize| now[*at] != then[*at];
        let (first, last) = ((0..now.len()).find(differs)?, (0..now.len()).rev().find(differs)?);
        Some(Written { path, now, differs: first..=last })
    };
    let mut written: Vec<Written> = names.iter().filter_map(|name| of(folder().join(name))).collect();
    written.sort_by_key(|segment| u64::from_le_bytes(*segment.now[16..24].first_chunk().expect("a head")));
    written
}

/// A commit of so many zones, and what a start makes of its first octets, for each of some counts of them. Returns to how many segments it was written.
fn cut_everywhere(zones: usize, octets: usize, step: usize) -> usize {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    queue(&committer, 1).expect("room");
    committer.run();
    ear.take();
    queue_together(&committer, of_zones(zones, octets), 2).expect("it may wait");
    let mut before = disk.kill();
    committer.run();
    let mut told = ear.take();
    if told.is_empty() {
        // What is larger than what is free has more made first.
        prepare(&committer);
        before = disk.kill();
        committer.tick(at(1));
        told = ear.take();
    }
    assert_eq!(told, [Told::Committed(vec![2])]);
    let written = written(&before, &disk);
    for (number, segment) in written.iter().enumerate() {
        let end = *segment.differs.end();
        for octets in segment.differs.clone().step_by(step).chain([end, end + 1]) {
            let disk = before.kill();
            for whole in &written[..number] {
                disk.damage(&whole.path, 0, |seen| seen.copy_from_slice(&whole.now));
            }
            disk.damage(&segment.path, 0, |seen| seen[..octets].copy_from_slice(&segment.now[..octets]));
            let is_all = number + 1 == written.len() && octets > end;
            let expected = if is_all { zones } else { 0 };
            assert_eq!(zones_found(&disk), expected, "{octets} octets of segment {number}");
        }
    }
    assert_eq!(zones_found(&disk.crash()), zones);
    written.len()
}

#[test]
fn all_or_none_cut_at_any_octet() {
    assert_eq!(cut_everywhere(3, 20, 1), 1);
    assert!(cut_everywhere(40, 600, 97) > 2, "a part in each of some segments");
}

#[test]
fn no_group_parts_them() {
    let disk = Simulated::new(1);
    let options = Options { segment_octets: 2 << 20, log_octets: 32 << 20 };
    let recover = |disk: &Simulated| {
        Recovery::open(Arc::new(disk.clone()), &folder(), options, Start::default()).expect("a log")
    };
    let ear = Ear::default();
    let committer = Committer::new(begin(recover(&disk)), Box::new(ear.clone()));
    let large = Arc::new(entry(1, 0, 1, &vec![7; 700 << 10]));
    let _ = committer.enqueue(committer.generation(), Some(large), 1).expect("room");
    queue_together(&committer, of_zones(2, 300 << 10), 2).expect("room");
    let _ = committer.enqueue(committer.generation(), Some(Arc::new(entry(2, 0, 1, b"x"))), 3).expect("room");
    committer.run();
    // One of the two would have fitted into the first.
    assert_eq!(ear.take(), [Told::Committed(vec![1]), Told::Committed(vec![2, 3])]);
    let groups: Vec<u64> = records(&recover(&disk.kill())).iter().map(|record| record.0).collect();
    assert!(groups[0] < groups[1] && groups[1..].iter().all(|group| *group == groups[1]), "{groups:?}");
}

/// What a client may ask for again stands behind all that changes, whosever it is: a program that does not know it reads all of that. It is no record of its zone's data.
#[test]
fn what_was_asked_stands_last() {
    let disk = Simulated::new(1);
    let (committer, _) = committer(&disk);
    let body = Body::Asked(Asked { key: [1; 16], repeat: [2; 16], request: [3; 16], status: 204, zones: 2 });
    let asked = Entry::new(&crate::log::tests::name(1), 1, 2, 9, body).expect("small");
    let first = entry(1, 1, 2, b"x");
    queue_together(&committer, vec![Arc::new(asked), Arc::new(first)], 1).expect("room");
    let last = Arc::new(entry(1, 2, 3, b"x"));
    let _ = committer.enqueue(committer.generation(), Some(last), 2).expect("room");
    committer.run();
    let mut kinds = Vec::new();
    let mut visit = |_, record: &crate::Record<'_>| {
        kinds.push((record.body.is_change(), record.serial_after, record.group_before > 0));
    };
    open(&disk.kill(), Start::default()).replay(&mut visit).expect("readable");
    assert_eq!(kinds, [(true, 2, false), (true, 3, true), (false, 2, false)]);
}

#[test]
fn a_failed_sync_takes_all_of_them_back_as_one() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    disk.set_faults(failing());
    queue_together(&committer, of_zones(3, 20), 1).expect("room");
    committer.run();
    assert_eq!(ear.take(), [Told::Condition("undecided")]);
    assert_eq!(queue_together(&committer, of_zones(3, 20), 2), Err(Refusal::Failed));
    disk.set_faults(Faults::default());
    prepare(&committer);
    committer.tick(at(0));
    assert_eq!(ear.take(), [Told::Refused(vec![1], Refusal::Failed), Told::Condition("ready")]);
    assert_eq!([zones_found(&disk.kill()), zones_found(&disk.crash())], [0, 0]);
    queue_together(&committer, of_zones(3, 20), 3).expect("room");
    committer.run();
    assert_eq!((ear.take(), zones_found(&disk.crash())), (vec![Told::Committed(vec![3])], 3));
}

#[test]
fn a_full_log_has_them_wait_and_go_as_one() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    disk.set_room(disk.used());
    let mut number = 1;
    while committer.condition().0 == Condition::Ready {
        queue_together(&committer, of_zones(3, 20), number).expect("room");
        committer.run();
        number += 1;
        assert!(number < 100, "it fills");
    }
    let written = zones_found(&disk.kill());
    assert_eq!(written, 3 * (number as usize - 2), "the last of them waits, with all of its zones");
    ear.take();
    committer.tick(at(0));
    // What a checkpoint says goes before it, and takes none of its zones along.
    let urgent = Arc::new(entry(1, 0, 1, b"urgent"));
    committer.enqueue_urgent(committer.generation(), urgent, 777).expect("room").commit();
    assert_eq!((ear.take(), zones_found(&disk.kill())), (vec![Told::Committed(vec![777])], written));
    committer.release(committer.status().next);
    assert_eq!(ear.take(), [Told::Committed(vec![number - 1])]);
    // Not in time: it is refused as one.
    while committer.condition().0 == Condition::Ready {
        queue_together(&committer, of_zones(3, 20), number).expect("room");
        committer.run();
        number += 1;
    }
    ear.take();
    committer.tick(at(100));
    committer.tick(at(121));
    assert_eq!(ear.take(), [Told::Refused(vec![number - 1], Refusal::Full), Told::Condition("full")]);
}
